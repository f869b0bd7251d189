//! What the checks of one package have worked out so far, for those that come after them.
//!
//! It changes no answer: each of these is a function of the package alone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::index::FuncId;
use crate::rules::chain;
use crate::rules::evidence::Channels;
use crate::syntax::{Node, Parents};

/// The nodes of a declaration in order of source, and what stands around each.
pub type Tree = (Arc<[Node]>, Arc<Parents>);

/// What was worked out.
#[derive(Default)]
pub struct Memo {
    trees: Mutex<FxHashMap<FuncId, Tree>>,
    channels: Mutex<Option<Arc<Channels>>>,
    chains: Mutex<FxHashMap<FuncId, chain::WithFacts>>,
}

impl Memo {
    /// The tree of a function.
    pub(super) fn tree(&self, func: FuncId, make: impl FnOnce() -> Tree) -> Tree {
        if let Some(tree) = held(&self.trees).get(&func) {
            return tree.clone();
        }
        let tree = make();
        held(&self.trees).insert(func, tree.clone());
        tree
    }

    /// The channels of the package.
    pub(super) fn channels(&self, make: impl FnOnce() -> Channels) -> Arc<Channels> {
        if let Some(channels) = &*held(&self.channels) {
            return Arc::clone(channels);
        }
        let channels = Arc::new(make());
        *held(&self.channels) = Some(Arc::clone(&channels));
        channels
    }

    /// The chains of filters that a function builds.
    pub(super) fn chains(
        &self,
        func: FuncId,
        make: impl FnOnce() -> chain::WithFacts,
    ) -> chain::WithFacts {
        if let Some(chains) = held(&self.chains).get(&func) {
            return Arc::clone(chains);
        }
        let chains = make();
        held(&self.chains).insert(func, Arc::clone(&chains));
        chains
    }

    /// Drops what nobody will ask for again.
    pub fn forget(&self) {
        held(&self.trees).clear();
        *held(&self.channels) = None;
        held(&self.chains).clear();
    }
}

fn held<T>(known: &Mutex<T>) -> MutexGuard<'_, T> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
