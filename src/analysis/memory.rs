//! What one run leaves for the next.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::index::Declarations;
use crate::project::PackageId;
use crate::rules::stuck::Past;

use super::trees::Known;

/// What was read of files: the next run takes it where the text is still the same. It grows with
/// the files of a run and what they import, not with the number of runs.
#[derive(Debug, Default)]
pub struct Memory {
    pub(super) trees: Known,
    pub(super) declarations: Declarations,
    pub(super) explored: Explorations,
}

/// What was explored of the packages that are being edited.
#[derive(Debug, Default)]
pub(super) struct Explorations(Mutex<FxHashMap<PackageId, Arc<Past>>>);

impl Explorations {
    /// What the last run left of a package: one of another number is of no use, and does no harm.
    pub fn of(&self, package: PackageId) -> Option<Arc<Past>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&package).cloned()
    }

    /// Keeps it for the next.
    pub fn keep(&self, package: PackageId, past: Past) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(package, Arc::new(past));
    }
}
