//! The text of `vendor/modules.txt`: which versions the sources in `vendor` are of, and whether that
//! still agrees with go.mod.

use std::collections::BTreeMap;

use super::modfile::{BadLine, ModFile, Replacement};
use crate::catalog::Version;

/// What a modules.txt says.
#[derive(Clone, Debug, Default)]
pub(super) struct ModulesTxt {
    pub modules: Vec<VendoredModule>,
    /// Whether `go work vendor` wrote it.
    pub workspace: bool,
}

/// A module whose packages are in the vendor directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VendoredModule {
    pub path: String,
    pub version: Option<Version>,
    pub replacement: Option<Replacement>,
    /// Whether go.mod requires it.
    pub explicit: bool,
}

/// Reads a modules.txt. Lines that name packages or say what is not needed here are passed over.
pub(super) fn parse(text: &str) -> (ModulesTxt, Vec<BadLine>) {
    let mut file = ModulesTxt::default();
    let mut bad = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(marks) = line.strip_prefix("## ") {
            let marks: Vec<&str> = marks.split(';').map(str::trim).collect();
            match file.modules.last_mut() {
                Some(module) => module.explicit |= marks.contains(&"explicit"),
                None => file.workspace |= marks.contains(&"workspace"),
            }
        } else if let Some(module) = line.strip_prefix("# ") {
            match vendored(module) {
                Some(module) => file.modules.push(module),
                None => bad.push(BadLine {
                    line: number,
                    message: "a module line has the form `# example.com/path v1.2.3`".to_owned(),
                }),
            }
        }
    }
    (file, bad)
}

fn vendored(line: &str) -> Option<VendoredModule> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let arrow = words.iter().position(|&word| word == "=>").unwrap_or(words.len());
    let (path, version) = match words[..arrow] {
        [path] => (path, None),
        [path, version] => (path, Some(Version::parse(version)?)),
        _ => return None,
    };
    let replacement = match words.get(arrow + 1..) {
        Some([dir]) => Some(Replacement::Dir((*dir).to_owned())),
        Some([path, version]) => {
            Some(Replacement::Module((*path).to_owned(), Version::parse(version)))
        }
        _ => None,
    };
    Some(VendoredModule { path: path.to_owned(), version, replacement, explicit: false })
}

impl ModulesTxt {
    /// The version that the sources of each module are of. Modules replaced by a directory or by
    /// another module have none.
    pub fn versions(&self) -> BTreeMap<String, Version> {
        let version = |module: &VendoredModule| match &module.replacement {
            None => module.version.clone(),
            Some(Replacement::Module(path, version)) if *path == module.path => version.clone(),
            Some(_) => None,
        };
        let known = |module: &VendoredModule| Some((module.path.clone(), version(module)?));
        self.modules.iter().filter_map(known).collect()
    }

    /// Whether it lists what `file` requires and replaces, as the go command asks before it builds
    /// from the vendor directory.
    pub fn agrees_with(&self, file: &ModFile) -> bool {
        let entry = |path: &str, version: &Option<Version>| {
            self.modules.iter().find(|module| module.path == path && &module.version == version)
        };
        let required = file.require.iter().all(|(path, version)| {
            entry(path, version).is_some_and(|module| {
                module.explicit && module.replacement.as_ref() == replaced_by(file, path, version)
            })
        });
        let explicit = self.modules.iter().filter(|module| module.explicit);
        required
            && explicit.into_iter().all(|module| {
                file.require
                    .iter()
                    .any(|(path, version)| *path == module.path && *version == module.version)
            })
    }
}

/// What go.mod says stands in for a version of a module.
fn replaced_by<'a>(
    file: &'a ModFile,
    path: &str,
    version: &Option<Version>,
) -> Option<&'a Replacement> {
    let of_path = || file.replace.iter().filter(|replace| replace.path == path);
    let exact = of_path().find(|replace| replace.version.is_some() && replace.version == *version);
    exact.or_else(|| of_path().find(|replace| replace.version.is_none())).map(|found| &found.with)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::modfile::{self, Kind};

    const GO_MOD: &str = "module m\ngo 1.17\nrequire a.b/c v1.0.0\nrequire a.b/d v1.2.0\n\
                          replace a.b/d => ../d\n";
    const MODULES_TXT: &str = "# a.b/c v1.0.0\n## explicit; go 1.17\na.b/c\na.b/c/sub\n\
                               # a.b/d v1.2.0 => ../d\n## explicit\na.b/d\n\
                               # a.b/indirect v0.1.0\na.b/indirect\n# a.b/d => ../d\n";

    fn check(go_mod: &str, modules_txt: &str, agree: bool) {
        let (file, _) = modfile::parse(go_mod, Kind::Mod);
        assert_eq!(parse(modules_txt).0.agrees_with(&file), agree, "{go_mod}\n{modules_txt}");
    }

    #[test]
    fn agreement_with_go_mod() {
        check(GO_MOD, MODULES_TXT, true);
        check(&GO_MOD.replace("c v1.0.0", "c v1.0.1"), MODULES_TXT, false);
        check(&GO_MOD.replace("../d", "../e"), MODULES_TXT, false);
        check(&GO_MOD.replace("require a.b/c v1.0.0\n", ""), MODULES_TXT, false);
        check(GO_MOD, &MODULES_TXT.replace("## explicit; go 1.17\n", ""), false);
        check(GO_MOD, "", false);
    }

    #[test]
    fn workspace_mark() {
        assert!(parse("## workspace\n# a.b/c v1.0.0\n## explicit\n").0.workspace);
        assert!(!parse(MODULES_TXT).0.workspace);
    }
}
