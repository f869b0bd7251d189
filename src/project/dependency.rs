//! Sources of imported packages, read when they are first asked for.
//!
//! A look-up is a pure function of the importer and the import path, so what is memoised does not
//! depend on who asked first. Only the numbers of the files do, and, in a run that would read more
//! than the bounds of [`LoadOptions`], which packages were read before the bound was reached.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use super::header;
use super::modules::BuildList;
use super::origin::{Fixed, Gaps};
use super::path;
use super::read::Disk;
use super::view::{self, ListedFile, Tests};
use super::{LoadOptions, PackageId, Snapshot, SourceFile};
use crate::diagnostic::{Note, NoteKind};
use crate::source::{FileId, SourceText};
use crate::syntax::Symbol;

/// Who imports: decides in which module, version, vendor directory or standard library an import
/// path is looked up. Packages of one build list share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Importer(u32);

impl Importer {
    /// A package of the standard library.
    pub const STANDARD: Importer = Importer(0);
    /// A package that belongs to no module and no tree: only the standard library is looked up.
    pub(super) const LOOSE: Importer = Importer(1);

    /// A package with the build list of this number.
    pub(super) fn of_list(list: usize) -> Importer {
        Importer(list as u32 + 2)
    }

    pub(super) fn list(self) -> Option<usize> {
        (self.0 as usize).checked_sub(2)
    }
}

/// The sources that an import path denotes: base view, without tests.
#[derive(Debug)]
pub struct DependencySource {
    /// The import path. That of a package which the standard library vendors starts with
    /// `vendor/`, so it is never taken for the package of the same name in a module.
    pub import_path: Symbol,
    /// The name in its package clauses.
    pub name: Symbol,
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// The package of the run that this is, if it is one.
    pub package: Option<PackageId>,
    /// How its own imports are resolved.
    pub importer: Importer,
    /// Its files, by path.
    pub files: Vec<Arc<SourceFile>>,
}

/// Looks up dependencies, and remembers what was found.
#[derive(Debug)]
pub(super) struct Dependencies {
    pub(super) disk: Disk,
    pub(super) cwd: PathBuf,
    pub(super) goroot_src: Option<PathBuf>,
    pub(super) fixed: Arc<Fixed>,
    pub(super) build_lists: Arc<Vec<BuildList>>,
    /// The packages of the run that an import can denote, by directory.
    pub(super) imported: Arc<HashMap<PathBuf, PackageId>>,
    found: Memo<(Importer, Symbol), Found>,
    in_run: Mutex<InRun>,
    files: RwLock<Vec<Arc<SourceFile>>>,
    /// The number of the first file in `files`.
    first_free: u32,
    /// Files by path: several importers can reach one.
    by_path: Memo<PathBuf, Option<Arc<SourceFile>>>,
    bounds: Bounds,
    pub(super) gaps: OnceLock<Gaps>,
    note: Mutex<Option<Note>>,
}

type Found = Option<Arc<DependencySource>>;

/// The packages of the run by what can denote them.
type InRun = HashMap<(Importer, Symbol), Arc<[PackageId]>>;

/// Answers by question. The table is locked for a look alone: finding one answer may take another.
type Memo<Question, Answer> = Mutex<HashMap<Question, Arc<OnceLock<Answer>>>>;

/// How much is read for dependencies in one run.
#[derive(Debug)]
struct Bounds {
    max_packages: usize,
    max_bytes: u64,
    packages: AtomicUsize,
    bytes: AtomicU64,
}

impl Dependencies {
    pub fn new(
        options: &LoadOptions,
        disk: Disk,
        build_lists: Vec<BuildList>,
        imported: HashMap<PathBuf, PackageId>,
        first_free: u32,
    ) -> Dependencies {
        Dependencies {
            cwd: options.cwd.clone(),
            goroot_src: options.goroot.as_ref().map(|goroot| goroot.join("src")),
            fixed: Arc::new(Fixed::new(options, &disk)),
            disk,
            build_lists: Arc::new(build_lists),
            imported: Arc::new(imported),
            found: Mutex::default(),
            in_run: Mutex::default(),
            files: RwLock::default(),
            first_free,
            by_path: Mutex::default(),
            bounds: Bounds {
                max_packages: options.max_dependency_packages,
                max_bytes: options.max_dependency_bytes,
                packages: AtomicUsize::new(0),
                bytes: AtomicU64::new(0),
            },
            gaps: OnceLock::new(),
            note: Mutex::default(),
        }
    }

    /// The same for a snapshot with other texts in the files of the run: what was read before is
    /// known, and its files keep their numbers.
    pub fn of_edited(&self) -> Dependencies {
        let is_of_run = |answer: &Arc<OnceLock<Found>>| {
            answer.get().is_some_and(|found| found.as_ref().is_some_and(|it| it.package.is_some()))
        };
        let found = lock(&self.found);
        let lasting = found.iter().filter(|(_, answer)| !is_of_run(answer));
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        Dependencies {
            disk: self.disk.clone(),
            cwd: self.cwd.clone(),
            goroot_src: self.goroot_src.clone(),
            fixed: Arc::clone(&self.fixed),
            build_lists: Arc::clone(&self.build_lists),
            imported: Arc::clone(&self.imported),
            found: Mutex::new(lasting.map(|(key, answer)| (*key, Arc::clone(answer))).collect()),
            in_run: Mutex::new(lock(&self.in_run).clone()),
            files: RwLock::new(files.clone()),
            first_free: self.first_free,
            by_path: Mutex::new(lock(&self.by_path).clone()),
            bounds: Bounds {
                max_packages: self.bounds.max_packages,
                max_bytes: self.bounds.max_bytes,
                packages: AtomicUsize::new(self.bounds.packages.load(Ordering::Relaxed)),
                bytes: AtomicU64::new(self.bounds.bytes.load(Ordering::Relaxed)),
            },
            gaps: self.gaps.clone(),
            note: Mutex::new(lock(&self.note).clone()),
        }
    }

    /// A file that was read for a dependency.
    pub fn file(&self, id: FileId) -> Arc<SourceFile> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&files[(id.0 - self.first_free) as usize])
    }

    /// The import paths of the reported packages that are not found, sorted.
    pub fn missing(&self, snapshot: &Snapshot) -> Vec<String> {
        self.gaps(snapshot).missing.iter().cloned().collect()
    }

    /// What stands in the way of reading dependencies, by path.
    pub fn notes(&self, snapshot: &Snapshot) -> Vec<Note> {
        let bound = lock(&self.note).clone();
        let gaps = self.gaps(snapshot).notes.values().cloned();
        let mut notes: Vec<Note> = bound.into_iter().chain(gaps).collect();
        for (path, reason) in self.disk.failed() {
            let path = path::display(&path, &self.cwd);
            let message = format!("cannot be looked at: {reason}; the run goes on without it");
            if !snapshot.notes.iter().chain(&notes).any(|note| note.path == path) {
                let kind = NoteKind::Unreadable;
                notes.push(Note { path, line_column: None, kind, message });
            }
        }
        notes
    }

    /// Whether less was read for dependencies than was asked for.
    pub fn is_bounded(&self) -> bool {
        lock(&self.note).is_some()
    }

    pub fn find(&self, snapshot: &Snapshot, from: Importer, import_path: Symbol) -> Found {
        if is_no_package(import_path.as_str()) {
            return None;
        }
        let cell = Arc::clone(lock(&self.found).entry((from, import_path)).or_default());
        cell.get_or_init(|| self.look_up(snapshot, from, import_path)).clone()
    }

    fn look_up(&self, snapshot: &Snapshot, from: Importer, import_path: Symbol) -> Found {
        let dirs = self.candidates(from, import_path.as_str());
        dirs.into_iter().find_map(|dir| self.at(snapshot, from, import_path.as_str(), dir))
    }

    /// The packages of the run that an import path can denote. More than one if it is not known
    /// which directories hold Go files.
    pub fn in_run(&self, from: Importer, import_path: Symbol) -> Arc<[PackageId]> {
        if let Some(known) = lock(&self.in_run).get(&(from, import_path)) {
            return Arc::clone(known);
        }
        let dirs = self.candidates(from, import_path.as_str());
        let found: Arc<[PackageId]> =
            dirs.iter().filter_map(|dir| self.imported.get(dir).copied()).collect();
        lock(&self.in_run).insert((from, import_path), Arc::clone(&found));
        found
    }

    /// The directories that an import path can denote, in the order in which they are tried.
    pub(super) fn candidates(&self, from: Importer, path: &str) -> Vec<PathBuf> {
        // Relative and absolute imports are of the days before modules; `..` must not leave a module.
        let foreign = |element: &str| matches!(element, "" | "." | "..");
        if path.split('/').any(foreign) {
            return Vec::new();
        }
        let goroot_src = self.goroot_src.as_deref();
        match from {
            Importer::STANDARD => {
                let places = |src: &Path| vec![src.join("vendor").join(path), src.join(path)];
                goroot_src.map(places).unwrap_or_default()
            }
            _ => {
                let loose = BuildList::default();
                let list = from.list().map_or(&loose, |list| &self.build_lists[list]);
                list.candidates(path, goroot_src)
            }
        }
    }

    /// The package in `dir`, if there is one.
    fn at(&self, snapshot: &Snapshot, from: Importer, path: &str, dir: PathBuf) -> Found {
        if let Some(&id) = self.imported.get(&dir) {
            let package = snapshot.package(id);
            return Some(Arc::new(DependencySource {
                import_path: package.import_path,
                name: package.name,
                dir,
                package: Some(id),
                importer: package.importer,
                files: package.files.iter().map(|&id| snapshot.file(id)).collect(),
            }));
        }
        let below_goroot = self.goroot_src.as_ref().and_then(|src| dir.strip_prefix(src).ok());
        let (import_path, importer) = match below_goroot {
            Some(below) => (path::slashed(below), Importer::STANDARD),
            None => (path.to_owned(), from),
        };
        let mut paths = self.disk.go_files(&dir);
        paths.retain(|path| !view::is_test(&path.to_string_lossy()));
        if paths.is_empty() || self.is_exhausted() {
            return None;
        }
        self.bounds.packages.fetch_add(1, Ordering::Relaxed);
        let files: Vec<Arc<SourceFile>> =
            paths.into_iter().filter_map(|path| self.read(path)).collect();
        let listed: Vec<ListedFile> = files
            .iter()
            .map(|file| {
                let name = file.path.file_name().unwrap_or_default().to_string_lossy();
                ListedFile::new(&name, &header::scan(file.text.bytes()), false)
            })
            .collect();
        let plan = view::plan(&listed);
        let base = view::Build::base();
        let packages = plan
            .packages
            .iter()
            .filter(|package| package.view.tests == Tests::None && package.view.build == base);
        let chosen = packages.reduce(|best, other| {
            if view::is_rather_imported(&other.name, &best.name, &dir) { other } else { best }
        })?;
        Some(Arc::new(DependencySource {
            import_path: Symbol::new(&import_path),
            name: Symbol::new(&chosen.name),
            package: None,
            importer,
            files: chosen.files.iter().map(|&at| Arc::clone(&files[at])).collect(),
            dir,
        }))
    }

    /// A file that is read for a dependency; `None` if it cannot be.
    pub fn read(&self, path: PathBuf) -> Option<Arc<SourceFile>> {
        let cell = Arc::clone(lock(&self.by_path).entry(path.clone()).or_default());
        let file = cell.get_or_init(|| {
            let display = path::display(&path, &self.cwd);
            // One that is too large is told of where it is imported.
            let bytes = self.disk.read(&path).ok()?;
            self.bounds.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            let imports = header::scan(&bytes).imports;
            let text = SourceText::new(bytes);
            let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
            let file = Arc::new(SourceFile {
                id: FileId(self.first_free + files.len() as u32),
                display,
                imports: imports.iter().map(|path| Symbol::new(path)).collect(),
                test: false,
                text,
                path,
            });
            files.push(Arc::clone(&file));
            Some(file)
        });
        file.clone()
    }

    /// Whether enough was read for dependencies.
    fn is_exhausted(&self) -> bool {
        let Bounds { max_packages, max_bytes, packages, bytes } = &self.bounds;
        let exhausted = packages.load(Ordering::Relaxed) >= *max_packages
            || bytes.load(Ordering::Relaxed) >= *max_bytes;
        if exhausted {
            let message = format!(
                "the dependencies are more than {max_packages} packages or {max_bytes} bytes; \
                 the rest of them is not read"
            );
            *lock(&self.note) = Some(bound_note(String::new(), message));
        }
        exhausted
    }
}

/// Whether an import path names nothing that has files: cgo's, the compiler's own, or none.
pub(super) fn is_no_package(import_path: &str) -> bool {
    matches!(import_path, "C" | "unsafe" | "")
}

pub(super) fn bound_note(path: String, message: String) -> Note {
    Note { path, line_column: None, kind: NoteKind::DependencyBound, message }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
