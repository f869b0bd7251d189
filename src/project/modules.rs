//! Which module a directory belongs to, and where the imports of a module are looked up.
//!
//! A directory belongs to the nearest go.mod at or above it. One without belongs to a *tree* of the
//! days before modules: the nearest directory with a vendor directory, a lock file or `.git`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::lockfile::{self, Lock};
use super::modfile::{self, BadLine, Kind, ModFile};
use super::path;
use super::read::{Disk, ReadError};
use super::selection::{self, ModuleCache, Root};
use super::vendored;
use super::{LoadOptions, Module, ModuleId, Workspaces};
use crate::catalog::{GoVersion, Version};
use crate::diagnostic::{Note, NoteKind};

/// Where the imports of a module, a workspace or a tree are looked up.
#[derive(Clone, Debug, Default)]
pub(super) struct BuildList {
    /// Directories of main modules by module path.
    mains: BTreeMap<String, PathBuf>,
    /// The vendor directory, and whether it goes before the module cache.
    vendor: Option<(PathBuf, bool)>,
    /// Directories of the other modules by module path.
    modules: BTreeMap<String, PathBuf>,
    /// Selected versions by module path.
    versions: Arc<BTreeMap<String, Version>>,
}

impl BuildList {
    /// The directories that an import path can denote, in the order in which they are tried.
    /// `goroot_src` is where the standard library is.
    pub fn candidates(&self, import_path: &str, goroot_src: Option<&Path>) -> Vec<PathBuf> {
        let in_modules = |modules: &BTreeMap<String, PathBuf>| -> Vec<PathBuf> {
            prefixes(import_path)
                .filter_map(|(prefix, rest)| Some(below(modules.get(prefix)?, rest)))
                .collect()
        };
        let vendored = |wanted: bool| {
            let (dir, first) = self.vendor.as_ref()?;
            (*first == wanted).then(|| dir.join(import_path))
        };
        let standard = goroot_src.filter(|_| is_standard(import_path));
        let mut dirs = in_modules(&self.mains);
        dirs.extend(standard.map(|src| src.join(import_path)));
        dirs.extend(vendored(true));
        dirs.extend(in_modules(&self.modules));
        dirs.extend(vendored(false));
        dirs
    }
}

/// A directory of a module. That of the module itself has one form, without a slash at its end.
fn below(dir: &Path, rest: &str) -> PathBuf {
    if rest.is_empty() { dir.to_owned() } else { dir.join(rest) }
}

/// Whether an import path can be one of the standard library: its first element has no dot
/// (`cmd/go/internal/search.IsStandardImportPath`).
fn is_standard(import_path: &str) -> bool {
    !import_path.split('/').next().unwrap_or_default().contains('.')
}

/// The prefixes of an import path at its slashes and what follows each, longest first, down to the
/// empty one.
fn prefixes(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let parted = path.rmatch_indices('/').map(|(at, _)| (&path[..at], &path[at + 1..]));
    std::iter::once((path, "")).chain(parted).chain(std::iter::once(("", path)))
}

/// Finds the root of each directory's module or tree. Remembers what it has found.
pub(super) struct Roots<'a> {
    disk: &'a Disk,
    marks: HashMap<PathBuf, Mark>,
    ignored: HashMap<PathBuf, Vec<String>>,
}

/// The root directory of a module or tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModuleRoot {
    pub dir: PathBuf,
    /// Whether it has a go.mod.
    pub is_module: bool,
}

/// What a directory holds that makes it a root, the clearest sign last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Nothing,
    /// A vendor directory.
    Vendor,
    /// A lock file or `.git`.
    Tree,
    /// A go.mod.
    Module,
}

impl<'a> Roots<'a> {
    pub fn new(disk: &'a Disk) -> Roots<'a> {
        Roots { disk, marks: HashMap::new(), ignored: HashMap::new() }
    }

    /// The root of the module or tree that holds `dir`. What is below a vendor directory belongs to
    /// what vendors it, even if it has a go.mod, as older tools leave there.
    pub fn of(&mut self, dir: &Path) -> Option<ModuleRoot> {
        let vendors = dir.ancestors().filter(|dir| dir.file_name().is_some_and(|n| n == "vendor"));
        let vendoring = vendors.filter_map(Path::parent).filter(|dir| self.mark(dir) >= Mark::Tree);
        let start = vendoring.last().unwrap_or(dir);
        let module = start.ancestors().find(|dir| self.mark(dir) == Mark::Module);
        let is_module = module.is_some();
        let root = module.or_else(|| start.ancestors().find(|dir| self.mark(dir) > Mark::Nothing));
        root.map(|dir| ModuleRoot { dir: dir.to_owned(), is_module })
    }

    fn mark(&mut self, dir: &Path) -> Mark {
        if let Some(&known) = self.marks.get(dir) {
            return known;
        }
        let is_file = |name: &str| self.disk.is_file(&dir.join(name));
        let mark = if is_file("go.mod") {
            Mark::Module
        } else if lockfile::LOCK_FILES.iter().any(|(name, _)| is_file(name))
            || self.disk.exists(&dir.join(".git"))
        {
            Mark::Tree
        } else if self.disk.is_dir(&dir.join("vendor")) {
            Mark::Vendor
        } else {
            Mark::Nothing
        };
        self.marks.insert(dir.to_owned(), mark);
        mark
    }

    /// Whether an `ignore` directive of its module makes patterns walk past `dir`.
    pub fn is_ignored(&mut self, dir: &Path) -> bool {
        let Some(root) = self.of(dir).filter(|root| root.is_module) else { return false };
        let disk = self.disk;
        let ignored = self.ignored.entry(root.dir.clone()).or_insert_with(|| {
            let bytes = disk.read(&root.dir.join("go.mod")).unwrap_or_default();
            modfile::parse(&String::from_utf8_lossy(&bytes), Kind::Mod).0.ignore
        });
        let below = dir.strip_prefix(&root.dir).expect("a module holds its directories");
        ignored.iter().any(|ignored| match ignored.strip_prefix("./") {
            Some(anchored) => below.starts_with(anchored),
            None => below.ancestors().any(|above| above.ends_with(ignored)),
        })
    }
}

/// The modules of a run and how their imports are looked up.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// By directory.
    pub modules: Vec<Module>,
    /// How imports are looked up: by the number of an importer.
    pub build_lists: Vec<BuildList>,
    /// Each root's build list.
    pub of_root: BTreeMap<PathBuf, (ModuleId, usize)>,
    pub notes: Vec<Note>,
}

/// Reads the module files of `roots` and selects versions. `imports` is what the files below each
/// root import.
pub(super) fn resolve(
    roots: &BTreeMap<ModuleRoot, BTreeSet<String>>,
    options: &LoadOptions,
    disk: &Disk,
) -> Resolved {
    let cache = ModuleCache::new(options.module_cache.as_deref(), disk);
    let reader = Reader { options, disk };
    let modules: Vec<(&ModuleRoot, Manifest)> = roots
        .par_iter()
        .map(|(root, imports)| match root.is_module {
            true => (root, reader.module(&root.dir)),
            false => (root, reader.tree(&root.dir, imports)),
        })
        .collect();

    let mut resolved = Resolved::default();
    let mut works: BTreeMap<PathBuf, Workspace> = BTreeMap::new();
    for (root, _) in modules.iter().filter(|(root, _)| root.is_module) {
        if let Some(path) = reader.work_file(&root.dir) {
            works.entry(path.clone()).or_insert_with(|| reader.workspace(&path));
        }
    }
    // The first build list of a run is that of its first workspace or module.
    let mut list_of_member: BTreeMap<&Path, usize> = BTreeMap::new();
    for workspace in works.values() {
        resolved.notes.extend(workspace.notes.iter().cloned());
        workspace.members.iter().for_each(|(dir, _)| {
            list_of_member.entry(dir).or_insert(resolved.build_lists.len());
        });
        resolved.build_lists.push(workspace.build_list(&cache));
    }
    let alone: Vec<(&Path, BuildList)> = modules
        .par_iter()
        .filter(|(root, _)| !list_of_member.contains_key(root.dir.as_path()))
        .map(|(root, manifest)| (root.dir.as_path(), manifest.build_list(&root.dir, &cache)))
        .collect();
    for (dir, list) in alone {
        list_of_member.insert(dir, resolved.build_lists.len());
        resolved.build_lists.push(list);
    }
    for (root, manifest) in modules {
        let id = ModuleId(resolved.modules.len() as u32);
        let list = list_of_member[root.dir.as_path()];
        resolved.notes.extend(manifest.notes);
        resolved.modules.push(Module {
            id,
            path: manifest.file.module.unwrap_or_default(),
            dir: root.dir.clone(),
            go: manifest.file.go,
            versions: Arc::clone(&resolved.build_lists[list].versions),
        });
        resolved.of_root.insert(root.dir.clone(), (id, list));
    }
    resolved
}

/// The directory of the go.work file that uses the module in `dir`, if that is at or above it.
pub(super) fn work_dir(dir: &Path, options: &LoadOptions, disk: &Disk) -> Option<PathBuf> {
    let reader = Reader { options, disk };
    let file = reader.work_file(dir)?;
    let used = reader.workspace(&file).members.iter().any(|(member, _)| member == dir);
    let work = file.parent()?;
    (used && dir.starts_with(work)).then(|| work.to_owned())
}

/// What is known of one module or tree by itself.
struct Manifest {
    file: ModFile,
    /// Versions and vendor directory of a tree without go.mod.
    lock: Option<Lock>,
    vendored: Option<vendored::ModulesTxt>,
    notes: Vec<Note>,
}

impl Manifest {
    fn build_list(&self, dir: &Path, cache: &ModuleCache<'_>) -> BuildList {
        let main = self.file.module.clone().map(|path| (main_path(path), dir.to_owned()));
        let vendor = dir.join("vendor");
        if let Some(lock) = &self.lock {
            let mut mains: BTreeMap<String, PathBuf> = main.into_iter().collect();
            mains.extend(gopath(&mains).map(|src| (String::new(), src)));
            return BuildList {
                mains,
                vendor: Some((vendor, true)),
                modules: BTreeMap::new(),
                versions: Arc::new(lock.versions.clone()),
            };
        }
        let since = GoVersion::language(1, 14);
        let vendored = self.vendored.as_ref().filter(|vendored| {
            self.file.go.is_some_and(|go| go >= since) && vendored.agrees_with(&self.file)
        });
        let list = selection::build_list(&[Root { dir, file: &self.file }], None, cache);
        let mut build_list = selected(list);
        if let Some(vendored) = vendored {
            build_list.versions = Arc::new(vendored.versions());
        }
        build_list.vendor = Some((vendor, vendored.is_some()));
        build_list.mains = main.into_iter().collect();
        build_list
    }
}

/// The prefix of the import paths of a module: the packages of the module `std` have none.
fn main_path(module: String) -> String {
    if module == "std" { String::new() } else { module }
}

/// The `src` directory of the GOPATH that a tree stands in, by its own path.
fn gopath(mains: &BTreeMap<String, PathBuf>) -> Option<PathBuf> {
    let (path, dir) = mains.first_key_value()?;
    let src = dir.ancestors().nth(path.split('/').count())?;
    (src.file_name()? == "src" && src.join(path) == *dir).then(|| src.to_owned())
}

fn selected(list: BTreeMap<String, selection::Selected>) -> BuildList {
    let mut build_list = BuildList::default();
    let mut versions = BTreeMap::new();
    for (path, selected) in list {
        versions.extend(selected.version.map(|version| (path.clone(), version)));
        build_list.modules.extend(selected.dir.map(|dir| (path, dir)));
    }
    build_list.versions = Arc::new(versions);
    build_list
}

/// A go.work file and the modules that it uses.
struct Workspace {
    dir: PathBuf,
    file: ModFile,
    members: Vec<(PathBuf, ModFile)>,
    vendored: Option<vendored::ModulesTxt>,
    notes: Vec<Note>,
}

impl Workspace {
    fn build_list(&self, cache: &ModuleCache<'_>) -> BuildList {
        let roots: Vec<Root<'_>> =
            self.members.iter().map(|(dir, file)| Root { dir, file }).collect();
        let work = Root { dir: &self.dir, file: &self.file };
        let mut build_list = selected(selection::build_list(&roots, Some(work), cache));
        let vendored = self.vendored.as_ref().filter(|vendored| vendored.workspace);
        if let Some(vendored) = vendored {
            build_list.versions = Arc::new(vendored.versions());
        }
        build_list.vendor = Some((self.dir.join("vendor"), vendored.is_some()));
        let main =
            |(dir, file): &(PathBuf, ModFile)| Some((main_path(file.module.clone()?), dir.clone()));
        build_list.mains = self.members.iter().filter_map(main).collect();
        build_list
    }
}

/// Reads module files and makes notes of what is wrong with them.
struct Reader<'a> {
    options: &'a LoadOptions,
    disk: &'a Disk,
}

impl Reader<'_> {
    fn module(&self, dir: &Path) -> Manifest {
        let mut notes = Vec::new();
        let file = self.mod_file(&dir.join("go.mod"), Kind::Mod, &mut notes);
        let vendored = self.modules_txt(dir, &mut notes);
        Manifest { file, lock: None, vendored, notes }
    }

    /// A tree without go.mod. Its import path is in a lock file, in the path of its directory below
    /// a `src`, or shown by what its own files import.
    fn tree(&self, dir: &Path, imports: &BTreeSet<String>) -> Manifest {
        let mut notes = Vec::new();
        let mut all = Lock::default();
        for (name, read) in lockfile::LOCK_FILES {
            let path = dir.join(name);
            if self.disk.is_file(&path) {
                let lock = self.text(&path, &mut notes).map(|text| read(&text)).unwrap_or_default();
                all.import_path = all.import_path.or(lock.import_path);
                all.versions.extend(lock.versions);
            }
        }
        let module = all
            .import_path
            .clone()
            .or_else(|| below_src(dir))
            .or_else(|| shown_by_imports(dir, imports));
        let file = ModFile { module, ..ModFile::default() };
        Manifest { file, lock: Some(all), vendored: None, notes }
    }

    /// The go.work file that holds for a module: the nearest at or above it.
    fn work_file(&self, module: &Path) -> Option<PathBuf> {
        match &self.options.workspaces {
            Workspaces::Off => None,
            Workspaces::File(path) => Some(path.clone()),
            Workspaces::Find => {
                let files = module.ancestors().map(|dir| dir.join("go.work"));
                files.into_iter().find(|path| self.disk.is_file(path))
            }
        }
    }

    fn workspace(&self, path: &Path) -> Workspace {
        let mut notes = Vec::new();
        let file = self.mod_file(path, Kind::Work, &mut notes);
        let dir = path.parent().unwrap_or(path).to_owned();
        let mut members = Vec::new();
        let mut without = Vec::new();
        for used in &file.uses {
            let member = path::clean(&dir.join(used));
            let go_mod = member.join("go.mod");
            if self.disk.is_file(&go_mod) {
                // A member of the run makes its notes itself; the others are none of its business.
                members.push((member, self.mod_file(&go_mod, Kind::Mod, &mut Vec::new())));
            } else {
                without.push(format!("`use {used}`"));
            }
        }
        if let Some((first, more)) = without.split_first() {
            let (others, verb) = match more.len() {
                0 => (String::new(), "names a directory"),
                count => (format!(" and {count} more"), "name directories"),
            };
            notes.push(Note {
                path: self.display(path),
                line_column: None,
                kind: NoteKind::BadModuleFile,
                message: format!("{first}{others} {verb} without a go.mod; left out"),
            });
        }
        let vendored = self.modules_txt(&dir, &mut notes);
        Workspace { dir, file, members, vendored, notes }
    }

    fn mod_file(&self, path: &Path, kind: Kind, notes: &mut Vec<Note>) -> ModFile {
        let text = self.text(path, notes).unwrap_or_default();
        let (file, bad) = modfile::parse(&text, kind);
        notes.extend(self.bad_lines(path, &bad));
        file
    }

    fn modules_txt(&self, dir: &Path, notes: &mut Vec<Note>) -> Option<vendored::ModulesTxt> {
        let path = dir.join("vendor/modules.txt");
        if !self.disk.is_file(&path) {
            return None;
        }
        let (file, bad) = vendored::parse(&self.text(&path, notes)?);
        notes.extend(self.bad_lines(&path, &bad));
        Some(file)
    }

    /// One note for a file, at its first wrong line.
    fn bad_lines(&self, path: &Path, bad: &[BadLine]) -> Option<Note> {
        let (first, more) = bad.split_first()?;
        let others = match more.len() {
            0 => String::new(),
            1 => " (and 1 more line is wrong)".to_owned(),
            count => format!(" (and {count} more lines are wrong)"),
        };
        Some(Note {
            path: self.display(path),
            line_column: Some((first.line, 1)),
            kind: NoteKind::BadModuleFile,
            message: format!("{}{others}; the other lines count", first.message),
        })
    }

    fn text(&self, path: &Path, notes: &mut Vec<Note>) -> Option<String> {
        match self.disk.read(path) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => {
                let kind = match error {
                    ReadError::Io(_) => NoteKind::Unreadable,
                    _ => NoteKind::BadModuleFile,
                };
                let message = format!("{error}; the run goes on without it");
                notes.push(Note { path: self.display(path), line_column: None, kind, message });
                None
            }
        }
    }

    fn display(&self, path: &Path) -> String {
        path::display(path, &self.options.cwd)
    }
}

/// The import path that the GOPATH layout gives a directory: what follows its last `src` element,
/// if that starts with a host name.
fn below_src(dir: &Path) -> Option<String> {
    let src = dir.ancestors().find(|above| above.file_name().is_some_and(|name| name == "src"))?;
    let below = path::slashed(dir.strip_prefix(src).expect("an ancestor"));
    below.split('/').next()?.contains('.').then_some(below)
}

/// How many packages of a tree must be imported by one prefix before it is taken for the tree's.
const ENOUGH_IMPORTS: usize = 2;

/// Hosts whose repositories are named by owner and name.
const HOSTS_WITH_OWNERS: &[&str] = &["github.com", "gitlab.com", "bitbucket.org"];

/// The import path of a tree as its own files show it: the prefix by which they import the most of
/// the tree's directories.
fn shown_by_imports(dir: &Path, imports: &BTreeSet<String>) -> Option<String> {
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for import in imports {
        if is_standard(import) || dir.join("vendor").join(import).is_dir() {
            continue;
        }
        // The shortest prefix that leaves a directory of the tree.
        let parted = import.match_indices('/').map(|(at, _)| (&import[..at], &import[at + 1..]));
        if let Some((prefix, _)) = parted.into_iter().find(|(_, rest)| dir.join(rest).is_dir()) {
            *shown.entry(prefix).or_default() += 1;
        }
    }
    let is_repository = |prefix: &str| {
        let host = prefix.split('/').next().unwrap_or_default();
        let elements = if HOSTS_WITH_OWNERS.contains(&host) { 3 } else { 2 };
        prefix.split('/').count() >= elements
    };
    let known = shown
        .into_iter()
        .filter(|(prefix, count)| *count >= ENOUGH_IMPORTS && is_repository(prefix));
    // Of equals the first: `max_by_key` would take the last.
    let best = known.rev().max_by_key(|(_, count)| *count);
    best.map(|(prefix, _)| prefix.to_owned())
}
