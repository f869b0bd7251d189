//! Sources of imported packages, read when they are first asked for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};

use super::{PackageId, Snapshot, SourceFile};
use crate::source::FileId;
use crate::syntax::Symbol;

/// Who imports: decides which module, version, vendor directory or standard library an import path
/// is looked up in. Packages of one build list share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Importer(pub(super) u32);

/// The sources that an import path denotes: base view, without tests.
#[derive(Debug)]
pub struct DependencySource {
    /// The import path.
    pub import_path: Symbol,
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// The package of the run that this is, if it is one.
    pub package: Option<PackageId>,
    /// How its own imports are resolved.
    pub importer: Importer,
    /// Its files, by path.
    pub files: Vec<Arc<SourceFile>>,
}

/// What has been looked up so far.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    first: u32,
    files: RwLock<Vec<Arc<SourceFile>>>,
    missing: Mutex<BTreeSet<String>>,
}

impl Dependencies {
    pub fn new(first: u32) -> Dependencies {
        Dependencies { first, ..Dependencies::default() }
    }

    /// A file that was read for a dependency.
    pub fn file(&self, id: FileId) -> Arc<SourceFile> {
        let files = self.files.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        Arc::clone(&files[(id.0 - self.first) as usize])
    }

    pub fn find(
        &self,
        snapshot: &Snapshot,
        from: Importer,
        import_path: Symbol,
    ) -> Option<Arc<DependencySource>> {
        let package = snapshot.packages.iter().find(|package| {
            package.importer == from
                && package.import_path == import_path
                && package.view.tests == super::Tests::None
        });
        let Some(package) = package else {
            let mut missing = self.missing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            missing.insert(import_path.to_string());
            return None;
        };
        Some(Arc::new(DependencySource {
            import_path,
            dir: package.dir.clone(),
            package: Some(package.id),
            importer: from,
            files: package.files.iter().map(|&id| snapshot.file(id)).collect(),
        }))
    }

    pub fn missing(&self) -> Vec<String> {
        let missing = self.missing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        missing.iter().cloned().collect()
    }
}
