//! The packages of the run, and those of dependencies as they are met.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::project::{DependencySource, Importer, PackageId, SourceFile};
use crate::source::SourceText;
use crate::syntax::{LazyFile, Symbol};

use super::package::Package;
use super::{Index, PackageSource, Tree};

/// The declarations of files of dependencies, which a later index need not read again where the
/// text is the same.
#[derive(Debug, Default)]
pub struct Declarations(Mutex<FxHashMap<PathBuf, (SourceText, Arc<LazyFile>)>>);

impl Declarations {
    fn of(&self, file: &SourceFile) -> Arc<LazyFile> {
        let known = || self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((text, tree)) = known().get(&file.path)
            && *text == file.text
        {
            return Arc::clone(tree);
        }
        let tree = Arc::new(LazyFile::new(file.text.clone()));
        known().insert(file.path.clone(), (file.text.clone(), Arc::clone(&tree)));
        tree
    }
}

/// Grows without moving what it holds: segment `n` holds `2^n` packages.
#[derive(Default)]
pub(super) struct Dependencies {
    segments: [OnceLock<Box<[OnceLock<Package>]>>; SEGMENTS],
    numbers: Mutex<FxHashMap<(Importer, PathBuf), u32>>,
}

const SEGMENTS: usize = 24;

/// How many packages of a module are followed from one of them.
const MAX_REACH: usize = 4096;

impl Index<'_> {
    /// Reads the declarations of a file of a dependency, which whoever asks for its package would
    /// otherwise do while all others that ask wait.
    pub fn read_ahead(&self, file: &SourceFile) {
        if let Some(declarations) = self.declarations {
            declarations.of(file);
        }
    }

    /// The package that an import of `path` in `from` denotes, if it is available. Reads the
    /// declarations of a dependency when it is first asked for.
    pub fn import(&self, from: PackageId, path: Symbol) -> Option<PackageId> {
        let importing = self.package(from);
        if let Some(known) = importing.imported(path) {
            return known;
        }
        let package = self.find_import(importing, path);
        importing.keep_import(path, package);
        package
    }

    /// The packages of the run that a package of the run can import. Reads nothing.
    pub fn imports_in_run(&self, from: PackageId) -> &[PackageId] {
        let Some(known) = self.in_run.get(from.0 as usize) else { return &[] };
        known.get_or_init(|| {
            let importing = self.snapshot.package(from);
            let mut all: Vec<PackageId> = importing.under_test.into_iter().collect();
            for &file in &importing.files {
                for &path in &self.snapshot.files[file.0 as usize].imports {
                    all.extend(self.snapshot.in_run(importing.importer, path).iter());
                }
            }
            all.into()
        })
    }

    /// The packages of its own module that a package of the run imports, directly or not, by path;
    /// of those that are not part of the run too, as far as they are there. Without itself, and
    /// nothing for a package of which no module is known.
    pub fn reach_in_module(&self, from: PackageId) -> &[PackageId] {
        self.package(from).reach.get_or_init(|| self.find_reach(from))
    }

    /// Whether an import path is one of the module that a package of the run belongs to, as far as that
    /// is known.
    pub fn is_of_module(&self, package: PackageId, path: Symbol) -> bool {
        self.module_path(package).is_some_and(|module| is_below(path.as_str(), module))
    }

    /// The import path of a package of the run below that of its module; the whole of it where no module is
    /// known.
    pub fn path_in_module(&self, package: PackageId) -> &'static str {
        let path = self.package(package).path.as_str();
        let below = self.module_path(package).and_then(|module| path.strip_prefix(module));
        below.map_or(path, |rest| rest.trim_start_matches('/'))
    }

    /// The path of the module that a package of the run belongs to, if one is known.
    fn module_path(&self, package: PackageId) -> Option<&str> {
        let module = self.snapshot.module(self.snapshot.package(package).module?);
        Some(&*module.path).filter(|path| !path.is_empty())
    }

    fn find_reach(&self, from: PackageId) -> Box<[PackageId]> {
        let Some(module) = self.module_path(from) else { return Box::default() };
        let mut met: FxHashSet<PackageId> = FxHashSet::from_iter([from]);
        let mut reach = vec![from];
        let mut next = 0;
        while let Some(&package) = reach.get(next) {
            next += 1;
            for path in self.package(package).imports() {
                if is_below(path.as_str(), module)
                    && let Some(imported) = self.import(package, path)
                    && reach.len() < MAX_REACH
                    && met.insert(imported)
                {
                    reach.push(imported);
                }
            }
        }
        let mut others = reach.split_off(1);
        others.sort_by_key(|&package| self.package(package).path.as_str());
        others.into()
    }

    fn find_import(&self, from: &Package, path: Symbol) -> Option<PackageId> {
        if let Some(under_test) = from.under_test
            && self.package(under_test).path == path
        {
            return Some(under_test);
        }
        let source = self.snapshot.dependency(from.importer, path)?;
        match source.package {
            Some(package) => Some(package),
            None => self.load(&source),
        }
    }

    fn load(&self, source: &DependencySource) -> Option<PackageId> {
        let key = (source.importer, source.dir.clone());
        let number = {
            let mut numbers =
                self.dependencies.numbers.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        };
        let id = PackageId(self.packages.len() as u32 + number);
        self.dependencies.slot(number)?.get_or_init(|| {
            let files: Vec<_> = source
                .files
                .iter()
                .map(|file| {
                    let read = || Arc::new(LazyFile::new(file.text.clone()));
                    let tree = self.declarations.map_or_else(read, |known| known.of(file));
                    (Arc::clone(file), Tree::Lazy(tree))
                })
                .collect();
            let clause = files.iter().find_map(|(_, tree)| tree.head().package);
            let sources = PackageSource {
                path: source.import_path,
                name: clause.map_or(Symbol::new("_"), |clause| clause.name),
                files,
                importer: source.importer,
                under_test: None,
                of_run: false,
            };
            Package::new(id, sources)
        });
        Some(id)
    }
}

/// Whether an import path belongs to a module, by its text.
fn is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Dependencies {
    /// The dependency with this number, which some import gave.
    pub(super) fn get(&self, number: u32) -> &Package {
        let package = self.slot(number).and_then(OnceLock::get);
        package.expect("numbers of packages are given out when the package is there")
    }

    fn slot(&self, number: u32) -> Option<&OnceLock<Package>> {
        let number = number as usize + 1;
        let segment = number.ilog2() as usize;
        let start = 1 << segment;
        let slots = self.segments.get(segment)?;
        let slots = slots.get_or_init(|| (0..start).map(|_| OnceLock::new()).collect());
        slots.get(number - start)
    }
}
