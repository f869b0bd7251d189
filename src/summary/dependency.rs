//! Functions of dependencies, read for one question.
//!
//! A run has thousands of functions of dependencies within reach and needs to know a few of them.
//! So none has a summary; whoever asks a question that leads into dependencies reads their functions
//! one by one, each by itself, and lets go of them afterwards.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::catalog::Versions;
use crate::index::FuncId;
use crate::project::PackageId;
use crate::summary::{Read, Summaries, components};

/// What can be read from a package of the run, dependencies included.
pub struct Below<'s, 'a> {
    summaries: &'s Summaries<'a>,
    versions: &'a (dyn Versions + Sync),
    reads: RefCell<FxHashMap<FuncId, Option<Arc<Read<'a>>>>>,
    most: usize,
    cut: Cell<bool>,
}

impl<'a> Summaries<'a> {
    /// For a question that a package of the run asks: reads at most `most` functions of
    /// dependencies. `None` for a package that is none of the run.
    pub fn below(&self, from: PackageId, most: usize) -> Option<Below<'_, 'a>> {
        let versions = self.versions(from)?;
        Some(Below {
            summaries: self,
            versions,
            reads: RefCell::default(),
            most,
            cut: Cell::new(false),
        })
    }
}

impl<'a> Below<'_, 'a> {
    /// A function from the inside; `None` if its body is not there, or enough was read. What a
    /// function of a dependency calls is not a part of what is known of it.
    pub fn read(&self, func: FuncId) -> Option<Arc<Read<'a>>> {
        if self.summaries.versions(func.package).is_some() {
            return self.summaries.read(func);
        }
        if let Some(known) = self.reads.borrow().get(&func) {
            return known.clone();
        }
        if self.reads.borrow().len() >= self.most {
            self.cut.set(true);
            return None;
        }
        let read = components::read(self.summaries, self.versions, func, None, &|_| None);
        self.reads.borrow_mut().insert(func, read.clone());
        read
    }

    /// Whether something was not read since enough had been.
    pub fn is_cut(&self) -> bool {
        self.cut.get()
    }

    /// Whether a package is one of a dependency.
    pub fn is_dependency(&self, package: PackageId) -> bool {
        self.summaries.versions(package).is_none()
    }
}
