//! Where the environment says that Go's sources are. No program is run to find out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{LoadOptions, Workspaces};

impl LoadOptions {
    /// [`LoadOptions::new`] with what the variables of the environment say: `GOROOT`, `GOMODCACHE`,
    /// `GOPATH`, `HOME`, `GOWORK`, `PATH`. `goroot` is the option of that name and goes before all.
    pub fn from_env(
        cwd: impl Into<PathBuf>,
        paths: Vec<PathBuf>,
        goroot: Option<PathBuf>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> LoadOptions {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let options = LoadOptions::new(cwd, paths);
        let cwd = &options.cwd;
        LoadOptions {
            goroot: goroot.map(|dir| cwd.join(dir)).or_else(|| find_goroot(&variable)),
            module_cache: module_cache(&variable),
            workspaces: match variable("GOWORK") {
                None => Workspaces::Find,
                Some(off) if off == "off" => Workspaces::Off,
                Some(file) => Workspaces::File(cwd.join(file)),
            },
            ..options
        }
    }
}

/// Where Go is commonly installed on systems that have no variable for it.
const COMMON_GOROOTS: &[&str] = &["/usr/local/go", "/usr/lib/go"];

/// `GOROOT`, else the parent of the directory of the `go` on `PATH` (links resolved), else a common
/// place; the first that holds a standard library.
fn find_goroot(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).filter_map(|dir| {
        let go = dir.join(format!("go{}", std::env::consts::EXE_SUFFIX)).canonicalize().ok()?;
        go.parent()?.parent().map(Path::to_owned)
    });
    let common = COMMON_GOROOTS.iter().map(PathBuf::from);
    variable("GOROOT")
        .map(PathBuf::from)
        .into_iter()
        .chain(on_path)
        .chain(common)
        .find(|goroot| goroot.join("src").is_dir())
}

/// `GOMODCACHE`, else `pkg/mod` of the first `GOPATH`, else of `go` in the home directory.
fn module_cache(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(cache) = variable("GOMODCACHE") {
        return Some(cache.into());
    }
    let gopath = variable("GOPATH").and_then(|list| std::env::split_paths(&list).next());
    let home = || variable("HOME").or_else(|| variable("USERPROFILE"));
    let gopath = gopath.or_else(|| Some(Path::new(&home()?).join("go")))?;
    Some(gopath.join("pkg/mod"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_options(variables: &[(&str, &str)]) -> LoadOptions {
        LoadOptions::from_env("/cwd", Vec::new(), None, |name| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(value))
        })
    }

    #[test]
    fn the_module_cache() {
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            assert_eq!(load_options(variables).module_cache, expected.map(PathBuf::from));
        };
        check(&[("GOMODCACHE", "/c"), ("GOPATH", "/p")], Some("/c"));
        check(&[("GOMODCACHE", ""), ("GOPATH", "/p:/q")], Some("/p/pkg/mod"));
        check(&[("HOME", "/home/me")], Some("/home/me/go/pkg/mod"));
        check(&[], None);
    }

    #[test]
    fn workspaces() {
        let workspaces = |value| load_options(&[("GOWORK", value)]).workspaces;
        assert_eq!(workspaces("off"), Workspaces::Off);
        assert_eq!(workspaces(""), Workspaces::Find);
        assert_eq!(workspaces("w/go.work"), Workspaces::File("/cwd/w/go.work".into()));
    }

    #[test]
    fn a_goroot_holds_a_standard_library() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        let text = root.to_str().expect("UTF-8");
        assert_ne!(load_options(&[("GOROOT", text)]).goroot, Some(root.clone()));
        std::fs::create_dir_all(root.join("src")).expect("a directory");
        assert_eq!(load_options(&[("GOROOT", text)]).goroot, Some(root));
    }
}
