//! Paths of a command line (or an editor's workspace) to an immutable [`Snapshot`]: files, packages
//! as Go's build would form them, modules with their selected versions, and dependencies on demand.
//!
//! [`load`] is the only reading of sources, and this room the only one that knows the disk. It
//! cannot fail: what cannot be read becomes a [`Note`], and the rest of the run goes on. It runs no
//! program and uses no network. Of a file's syntax it knows the header alone (build constraint,
//! package clause, imports); it must never know what a declaration is, nor what is done with a file.
//!
//! ```text
//! paths, overlays --walk--> directories --read--> files --header--> views --> Snapshot
//!                                                        go.mod, go.work, vendor, cache --> dependency()
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::{GoVersion, Version, Versions};
use crate::diagnostic::Note;
use crate::source::{FileId, SourceText};
use crate::syntax::Symbol;

mod carry;
mod config_file;
mod constraint;
mod dependency;
mod environment;
mod header;
mod load;
mod lockfile;
mod modfile;
mod modules;
mod origin;
mod path;
mod read;
mod selection;
mod vendored;
mod view;
mod walk;
mod workspace;

pub use carry::{Files, carry, is_carried, is_walked_past, module_paths};
pub use config_file::{
    BASELINE, CONFIG, ConfigFile, find_baseline, find_config, read_baseline, read_config,
    read_extended, read_found_config,
};
pub use dependency::{DependencySource, Importer};
pub use origin::{Origin, SourcesOf};
pub use path::{clean, display};
pub use view::{Build, Tests, View};
pub use workspace::run_root;

/// What a run reads, and where it looks for the sources of dependencies. Holds everything of the
/// environment that matters, so that [`load`] itself asks for none of it.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The working directory, absolute: relative paths start here.
    pub cwd: PathBuf,
    /// What to analyse: files, directories (with all below them), `dir/...`, import paths of the
    /// module at `cwd`. Empty means `.`.
    pub paths: Vec<PathBuf>,
    /// What a directory among `paths` stands for.
    pub reach: Reach,
    /// Bytes that stand in for a file, by absolute path; the file need not exist.
    pub overlays: BTreeMap<PathBuf, Vec<u8>>,
    /// The root of a Go installation, for the sources of the standard library.
    pub goroot: Option<PathBuf>,
    /// The module cache.
    pub module_cache: Option<PathBuf>,
    /// Which go.work files hold.
    pub workspaces: Workspaces,
    /// Files larger than this are skipped, with a note.
    pub max_file_bytes: u64,
    /// When so many packages were read for dependencies, no more are, with a note.
    pub max_dependency_packages: usize,
    /// When so many bytes were read for dependencies, no more packages are, with a note.
    pub max_dependency_bytes: u64,
}

/// What a directory stands for when it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All directories at and below it.
    Below,
    /// Itself.
    Itself,
}

/// Which go.work files hold (the variable `GOWORK`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workspaces {
    /// The nearest at or above each module, if it uses the module.
    Find,
    /// None.
    Off,
    /// This one alone.
    File(PathBuf),
}

impl LoadOptions {
    /// Analyses `paths` as seen from `cwd`, without a standard library or module cache.
    pub fn new(cwd: impl Into<PathBuf>, paths: Vec<PathBuf>) -> LoadOptions {
        LoadOptions {
            cwd: cwd.into(),
            paths,
            reach: Reach::Below,
            overlays: BTreeMap::new(),
            goroot: None,
            module_cache: None,
            workspaces: Workspaces::Find,
            max_file_bytes: DEFAULT_MAX_FILE_BYTES,
            max_dependency_packages: DEFAULT_MAX_DEPENDENCY_PACKAGES,
            max_dependency_bytes: DEFAULT_MAX_DEPENDENCY_BYTES,
        }
    }
}

/// The default of [`LoadOptions::max_file_bytes`]: 4 MiB.
pub const DEFAULT_MAX_FILE_BYTES: u64 = 4 << 20;

/// The default of [`LoadOptions::max_dependency_packages`], ten times what Kubernetes has.
pub const DEFAULT_MAX_DEPENDENCY_PACKAGES: usize = 30_000;

/// The default of [`LoadOptions::max_dependency_bytes`]: 1 GiB.
pub const DEFAULT_MAX_DEPENDENCY_BYTES: u64 = 1 << 30;

/// A Go file and its text.
#[derive(Debug)]
pub struct SourceFile {
    /// Its number in the snapshot.
    pub id: FileId,
    /// Its absolute path, symbolic links not resolved.
    pub path: PathBuf,
    /// Its path as shown to people: relative to the working directory where that is shorter, `/`
    /// between elements.
    pub display: String,
    /// Its text.
    pub text: SourceText,
    /// The paths that it imports, in order.
    pub imports: Vec<Symbol>,
    /// Whether its name ends in `_test.go`.
    pub test: bool,
}

/// A package of the run: an index into [`Snapshot::packages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageId(pub u32);

/// A module of the run: an index into [`Snapshot::modules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub u32);

/// The files of one directory that one build configuration compiles together.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its number in the snapshot.
    pub id: PackageId,
    /// Its import path; that of external tests ends in `_test`, as `go list -test` has it.
    pub import_path: Symbol,
    /// The name in its package clauses; `_` if no file has one.
    pub name: Symbol,
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// The module that it belongs to.
    pub module: Option<ModuleId>,
    /// How its imports are resolved.
    pub importer: Importer,
    /// The build configuration.
    pub view: View,
    /// All files of the package in this view, by path.
    pub files: Vec<FileId>,
    /// The files whose functions are reported from this view: asked for by the user, and reported
    /// from no other view. May be empty.
    pub report: Vec<FileId>,
    /// For external tests: the package with its in-package tests, which an import of the
    /// package under test denotes here.
    pub under_test: Option<PackageId>,
}

impl Package {
    /// Whether an import can denote it: the base view, without tests.
    pub fn is_importable(&self) -> bool {
        self.view.tests == Tests::None && self.view.build == Build::base()
    }
}

/// What became of the files that were asked for: `found` = `analysed` + all that were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files that were named, or found below what was named.
    pub found: usize,
    /// Files that some package of the run reports from.
    pub analysed: usize,
    /// The others, by reason.
    pub skipped: BTreeMap<Skip, usize>,
}

/// Why a file is not analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skip {
    /// It is larger than the limit.
    TooLarge,
    /// It is not a regular file, or a symbolic link out of the module.
    NotRegular,
    /// It cannot be read.
    Unreadable,
    /// No build satisfies its constraints.
    NeverBuilt,
}

/// A module that holds files of the run; or a tree of the days before modules, whose import path and
/// versions come from where it stands, its lock file and its own imports.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its number in the snapshot.
    pub id: ModuleId,
    /// Its module path; empty if it is not known.
    pub path: String,
    /// The directory of its go.mod, absolute, or the root of the tree.
    pub dir: PathBuf,
    /// The language version of its `go` line.
    pub go: Option<GoVersion>,
    /// The selected version of each module in the build list; modules replaced by a directory, or
    /// by a module of another path, have none.
    versions: Arc<BTreeMap<String, Version>>,
}

impl Module {
    /// The version of the module `path` that a build of this module selects, where it is known.
    pub fn version(&self, path: &str) -> Option<&Version> {
        self.versions.get(path)
    }
}

impl Versions for Module {
    fn module(&self, path: &str) -> Option<&Version> {
        self.version(path)
    }

    fn go(&self) -> Option<GoVersion> {
        self.go
    }
}

/// What [`load`] read. Immutable; look-ups of dependencies are memoised inside.
#[derive(Debug)]
pub struct Snapshot {
    /// The files of the run, by path; [`FileId`] is the index. Files of dependencies are not here.
    pub files: Vec<Arc<SourceFile>>,
    /// The packages of the run, by directory, base views first.
    pub packages: Vec<Package>,
    /// The modules of the run, by directory.
    pub modules: Vec<Module>,
    /// What could not be read, by path.
    pub notes: Vec<Note>,
    /// What became of the files that were asked for.
    pub counts: Counts,
    dependencies: dependency::Dependencies,
}

impl Snapshot {
    /// The snapshot with these bytes in those of its files, without a look at the disk; its notes
    /// are those of before. `None` where more than a text would be another: a package clause, an
    /// import or a build constraint.
    pub fn edited(&self, overlays: &BTreeMap<PathBuf, Vec<u8>>) -> Option<Snapshot> {
        let mut files = self.files.clone();
        for (path, bytes) in overlays {
            // Files are in the order of their directories.
            let wanted = (path.parent(), path);
            let place = files.partition_point(|file| (file.path.parent(), &file.path) < wanted);
            let Some(before) = files.get(place).filter(|file| file.path == *path) else { continue };
            if before.text.bytes() == bytes.as_slice() {
                continue;
            }
            if header::scan(before.text.bytes()) != header::scan(bytes) {
                return None;
            }
            files[place] = Arc::new(SourceFile {
                id: before.id,
                path: path.clone(),
                display: before.display.clone(),
                text: SourceText::new(bytes.clone()),
                imports: before.imports.clone(),
                test: before.test,
            });
        }
        Some(Snapshot {
            files,
            packages: self.packages.clone(),
            modules: self.modules.clone(),
            notes: self.notes.clone(),
            counts: self.counts.clone(),
            dependencies: self.dependencies.of_edited(),
        })
    }

    /// A file of the run or of a dependency.
    ///
    /// Numbers of dependency files depend on the order in which they were asked for: nothing that
    /// is printed may be sorted by them.
    pub fn file(&self, id: FileId) -> Arc<SourceFile> {
        match self.files.get(id.0 as usize) {
            Some(file) => Arc::clone(file),
            None => self.dependencies.file(id),
        }
    }

    /// A package of the run.
    pub fn package(&self, id: PackageId) -> &Package {
        &self.packages[id.0 as usize]
    }

    /// A module of the run.
    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// The sources that `import_path` denotes in a file of `from`: base view, without tests.
    /// `None` if they are not there, and for `C` and `unsafe`. Read when first asked for.
    pub fn dependency(&self, from: Importer, import_path: Symbol) -> Option<Arc<DependencySource>> {
        self.dependencies.find(self, from, import_path)
    }

    /// The packages of the run that `import_path` can denote in a file of `from`. Reads nothing.
    pub fn in_run(&self, from: Importer, import_path: Symbol) -> Arc<[PackageId]> {
        self.dependencies.in_run(from, import_path)
    }

    /// A file of the run, or one that a dependency may consist of, by its absolute path.
    pub fn file_at(&self, path: &Path) -> Option<Arc<SourceFile>> {
        let wanted = (path.parent(), path);
        // Files are in the order of their directories.
        let place =
            self.files.partition_point(|file| (file.path.parent(), file.path.as_path()) < wanted);
        match self.files.get(place).filter(|file| file.path == path) {
            Some(file) => Some(Arc::clone(file)),
            None => self.dependencies.read(path.to_owned()),
        }
    }

    /// What stands in the way of reading dependencies: files that are too large in what the
    /// reported packages import, and a bound that was reached so far; by path.
    pub fn dependency_notes(&self) -> Vec<Note> {
        self.dependencies.notes(self)
    }

    /// The import paths in files of the packages that are reported of which there are no sources,
    /// sorted.
    pub fn missing_dependencies(&self) -> Vec<String> {
        self.dependencies.missing(self)
    }
}

/// Reads all that `options` names, and what that imports, directly or not, as far as a run on the
/// whole module, workspace or working directory reads it too: nothing in it is reported, but as much
/// is known of its functions, so that an answer does not depend on what else is asked for.
pub fn load(options: &LoadOptions) -> Snapshot {
    load::load(options)
}
