//! Which version of each module a build uses, and where its sources would be: minimal version
//! selection over the go.mod files that the module cache and `replace` directories hold.
//!
//! The graph is walked as the go command walks it, pruning included
//! (<https://go.dev/ref/mod#graph-pruning>), but a go.mod that is not there ends the walk instead of
//! being downloaded. So a version can be lower than the one a build selects, never higher, and for a
//! tidy go.mod of Go 1.17 or later, which lists all that matters, it is the one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::modfile::{self, Kind, ModFile, Replace, Replacement};
use super::path;
use super::read::Disk;
use crate::catalog::{GoVersion, Version};

/// A module cache, and the go.mod files that were read from it.
#[derive(Debug)]
pub(super) struct ModuleCache<'a> {
    root: Option<&'a Path>,
    disk: &'a Disk,
    /// Parsed files by path; `None` where there is none.
    files: Mutex<HashMap<PathBuf, Option<Arc<ModFile>>>>,
}

impl<'a> ModuleCache<'a> {
    pub fn new(root: Option<&'a Path>, disk: &'a Disk) -> ModuleCache<'a> {
        ModuleCache { root, disk, files: Mutex::default() }
    }

    /// Where the sources of a module version are if they were downloaded.
    fn dir(&self, path: &str, version: &Version) -> Option<PathBuf> {
        Some(self.root?.join(format!("{}@{}", escape(path), escape(&version.to_string()))))
    }

    /// The go.mod of a module version: the download cache's, else that among its sources.
    fn mod_file(&self, path: &str, version: &Version) -> Option<Arc<ModFile>> {
        let name = format!("{}/@v/{}.mod", escape(path), escape(&version.to_string()));
        let downloaded = self.root?.join("cache/download").join(name);
        self.read(&downloaded).or_else(|| self.read(&self.dir(path, version)?.join("go.mod")))
    }

    fn read(&self, path: &Path) -> Option<Arc<ModFile>> {
        let files = || self.files.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = files().get(path) {
            return known.clone();
        }
        let bytes = self.disk.read(path).ok();
        let file = bytes
            .map(|bytes| Arc::new(modfile::parse(&String::from_utf8_lossy(&bytes), Kind::Mod).0));
        files().insert(path.to_owned(), file.clone());
        file
    }
}

/// A path or version as the module cache spells it: `!` and the lower case letter for each upper
/// case letter (`golang.org/x/mod/module.EscapePath`).
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_uppercase() {
            escaped.push('!');
        }
        escaped.push(c.to_ascii_lowercase());
    }
    escaped
}

/// A main module.
pub(super) struct Root<'a> {
    pub dir: &'a Path,
    pub file: &'a ModFile,
}

/// A module of a build list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selected {
    /// Its version. `None` if it is replaced by a directory or by a module of another path, whose
    /// versions say nothing about this one, and if no version that is one is required.
    pub version: Option<Version>,
    /// Where its sources are, if they are there.
    pub dir: Option<PathBuf>,
}

/// The build list of the main modules, without themselves. `work` is the go.work file and its
/// directory; what it replaces goes before what the modules replace.
pub(super) fn build_list(
    roots: &[Root<'_>],
    work: Option<Root<'_>>,
    cache: &ModuleCache<'_>,
) -> BTreeMap<String, Selected> {
    let replaces: Vec<(&Path, &Replace)> = work
        .iter()
        .chain(roots)
        .flat_map(|root| root.file.replace.iter().map(|replace| (root.dir, replace)))
        .collect();
    let graph = Graph { replaces, cache };
    let mains: HashSet<&str> =
        roots.iter().filter_map(|root| root.file.module.as_deref()).collect();
    let excluded: HashSet<(&str, String)> = roots
        .iter()
        .flat_map(|root| &root.file.exclude)
        .map(|(path, version)| (path.as_str(), version.to_string()))
        .collect();
    let counts = |path: &str, version: &Option<Version>| {
        let excluded_version = |v: &Version| excluded.contains(&(path, v.to_string()));
        !mains.contains(path) && !version.as_ref().is_some_and(excluded_version)
    };

    let mut selected: BTreeMap<String, Option<Version>> = BTreeMap::new();
    // Requirements whose go.mod is still to be read, and whether all below them counts.
    let mut queue: Vec<(String, Option<Version>, Pruning)> = Vec::new();
    for root in roots {
        let pruning = Pruning::of(root.file);
        for (path, version) in root.file.require.iter().filter(|(path, v)| counts(path, v)) {
            raise(&mut selected, path, version);
            queue.push((path.clone(), version.clone(), pruning));
        }
    }
    let mut seen: HashSet<(String, String, Pruning)> = HashSet::new();
    while let Some((path, version, pruning)) = queue.pop() {
        let key = (path, version.as_ref().map(Version::to_string).unwrap_or_default(), pruning);
        if seen.contains(&key) {
            continue;
        }
        let file = graph.mod_file(&key.0, version.as_ref());
        seen.insert(key);
        let Some(file) = file else { continue };
        let own = Pruning::of(&file);
        let below = if pruning == Pruning::Unpruned { Pruning::Unpruned } else { own };
        for (path, version) in file.require.iter().filter(|(path, v)| counts(path, v)) {
            raise(&mut selected, path, version);
            if below == Pruning::Unpruned {
                queue.push((path.clone(), version.clone(), below));
            }
        }
    }
    selected.into_iter().map(|(path, version)| graph.locate(path, version)).collect()
}

/// Whether the requirements of what a module requires are left out of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pruning {
    Pruned,
    Unpruned,
}

impl Pruning {
    /// Modules of Go 1.17 and later list all that building them needs.
    fn of(file: &ModFile) -> Pruning {
        match file.go {
            Some(go) if go >= GoVersion::language(1, 17) => Pruning::Pruned,
            _ => Pruning::Unpruned,
        }
    }
}

fn raise(selected: &mut BTreeMap<String, Option<Version>>, path: &str, version: &Option<Version>) {
    let entry = selected.entry(path.to_owned()).or_default();
    if *version > *entry {
        entry.clone_from(version);
    }
}

struct Graph<'a> {
    /// `replace` directives and the directories they are relative to, the stronger ones first.
    replaces: Vec<(&'a Path, &'a Replace)>,
    cache: &'a ModuleCache<'a>,
}

impl Graph<'_> {
    /// What stands in for a version of a module: a directive for that version goes before one for
    /// all versions.
    fn replacement(&self, path: &str, version: Option<&Version>) -> Option<(&Path, &Replacement)> {
        let of_path = || self.replaces.iter().filter(|(_, replace)| replace.path == path);
        let exact = of_path()
            .find(|(_, replace)| replace.version.is_some() && replace.version.as_ref() == version);
        exact
            .or_else(|| of_path().find(|(_, replace)| replace.version.is_none()))
            .map(|(dir, replace)| (*dir, &replace.with))
    }

    fn mod_file(&self, path: &str, version: Option<&Version>) -> Option<Arc<ModFile>> {
        match self.replacement(path, version) {
            Some((base, Replacement::Dir(dir))) => {
                self.cache.read(&path::clean(&base.join(dir)).join("go.mod"))
            }
            Some((_, Replacement::Module(path, version))) => {
                self.cache.mod_file(path, version.as_ref()?)
            }
            None => self.cache.mod_file(path, version?),
        }
    }

    fn locate(&self, path: String, version: Option<Version>) -> (String, Selected) {
        let selected = match self.replacement(&path, version.as_ref()) {
            Some((base, Replacement::Dir(dir))) => {
                Selected { version: None, dir: Some(path::clean(&base.join(dir))) }
            }
            Some((_, Replacement::Module(with, with_version))) => Selected {
                version: with_version.clone().filter(|_| *with == path),
                dir: with_version.as_ref().and_then(|version| self.cache.dir(with, version)),
            },
            None => Selected {
                dir: version.as_ref().and_then(|version| self.cache.dir(&path, version)),
                version,
            },
        };
        (path, selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the list of a main module from a cache that holds the given go.mod files
    /// (`path@version: text`).
    fn check(main: &str, cached: &[&str], expected: &[&str]) {
        let root = Path::new("/cache");
        let overlays = cached.iter().map(|entry| {
            let (module, text) = entry.split_once(": ").expect("path@version: text");
            let (path, version) = module.split_once('@').expect("path@version");
            (root.join(format!("cache/download/{path}/@v/{version}.mod")), text.into())
        });
        let disk = Disk::with(overlays.collect(), 1 << 20);
        let (file, bad) = modfile::parse(main, Kind::Mod);
        assert_eq!(bad, []);
        let roots = [Root { dir: Path::new("/main"), file: &file }];
        let list = build_list(&roots, None, &ModuleCache::new(Some(root), &disk));
        let printed: Vec<String> = list
            .iter()
            .map(|(path, selected)| {
                let version = selected.version.as_ref().map_or("-".into(), Version::to_string);
                let dir = selected.dir.as_ref().map_or("-".into(), |dir| dir.display().to_string());
                format!("{path} {version} {dir}")
            })
            .collect();
        assert_eq!(printed, expected);
    }

    #[test]
    fn the_highest_of_the_minimal_versions() {
        check(
            "module m\nrequire a.b/x v1.0.0\nrequire a.b/y v1.0.0\n",
            &[
                "a.b/x@v1.0.0: module a.b/x\nrequire a.b/z v1.2.0\nrequire m v0.1.0\n",
                "a.b/y@v1.0.0: module a.b/y\nrequire a.b/z v1.10.0\n",
                "a.b/z@v1.10.0: module a.b/z\nrequire a.b/!upper v1.0.0\n",
            ],
            &[
                "a.b/!upper v1.0.0 /cache/a.b/!upper@v1.0.0",
                "a.b/x v1.0.0 /cache/a.b/x@v1.0.0",
                "a.b/y v1.0.0 /cache/a.b/y@v1.0.0",
                "a.b/z v1.10.0 /cache/a.b/z@v1.10.0",
            ],
        );
    }

    #[test]
    fn upper_case_letters_are_escaped() {
        check(
            "module m\nrequire github.com/Azure/X v1.0.0-RC1\n",
            &["github.com/!azure/!x@v1.0.0-!r!c1: module x\nrequire a.b/c v1.0.0\n"],
            &[
                "a.b/c v1.0.0 /cache/a.b/c@v1.0.0",
                "github.com/Azure/X v1.0.0-RC1 /cache/github.com/!azure/!x@v1.0.0-!r!c1",
            ],
        );
    }

    #[test]
    fn a_pruned_graph_ends_after_the_listed_modules() {
        let cached = [
            "a.b/x@v1.0.0: module a.b/x\ngo 1.17\nrequire a.b/y v1.1.0\n",
            "a.b/y@v1.1.0: module a.b/y\ngo 1.17\nrequire a.b/z v1.0.0\n",
        ];
        let x = "a.b/x v1.0.0 /cache/a.b/x@v1.0.0";
        let y = "a.b/y v1.1.0 /cache/a.b/y@v1.1.0";
        let z = "a.b/z v1.0.0 /cache/a.b/z@v1.0.0";
        check("module m\ngo 1.17\nrequire a.b/x v1.0.0\n", &cached, &[x, y]);
        check("module m\ngo 1.16\nrequire a.b/x v1.0.0\n", &cached, &[x, y, z]);
    }

    #[test]
    fn replaced_and_excluded_modules() {
        check(
            "module m\nrequire (\na.b/dir v1.0.0\na.b/fork v1.0.0\na.b/other v1.0.0\na.b/out v1.0.0\na.b/head main\n)\n\
             replace a.b/dir => ../dir\nreplace a.b/fork => x.y/fork v0.5.0\n\
             replace a.b/other v1.0.0 => a.b/other v1.0.7\nexclude a.b/out v1.0.0\n",
            &[],
            &[
                "a.b/dir - /dir",
                "a.b/fork - /cache/x.y/fork@v0.5.0",
                "a.b/head - -",
                "a.b/other v1.0.7 /cache/a.b/other@v1.0.7",
            ],
        );
    }
}
