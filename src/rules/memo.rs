//! What the checks of one package have worked out so far, for those that come after them.
//!
//! It changes no answer: each of these is a function of the package alone.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use crate::flow::meter;
use crate::index::FuncId;
use crate::rules::evidence::{Channels, Locks};
use crate::rules::{chain, locked};
use crate::syntax::{Node, Parents};

/// The nodes of a declaration in order of source, and what stands around each.
pub type Tree = (Arc<[Node]>, Arc<Parents>);

/// What was worked out.
#[derive(Default)]
pub struct Memo {
    trees: Mutex<FxHashMap<FuncId, Tree>>,
    channels: Mutex<Option<Arc<Channels>>>,
    locks: Mutex<Option<Arc<Locks>>>,
    chains: Mutex<FxHashMap<FuncId, chain::WithFacts>>,
}

impl Memo {
    /// The tree of a function.
    pub(super) fn tree(&self, func: FuncId, make: impl FnOnce() -> Tree) -> Tree {
        if let Some(tree) = locked(&self.trees).get(&func) {
            return tree.clone();
        }
        let tree = make();
        locked(&self.trees).insert(func, tree.clone());
        tree
    }

    /// The channels of the package.
    pub(super) fn channels(&self, make: impl FnOnce() -> Channels) -> Arc<Channels> {
        once(&self.channels, make)
    }

    /// The locks of the package.
    pub(super) fn locks(&self, make: impl FnOnce() -> Locks) -> Arc<Locks> {
        once(&self.locks, make)
    }

    /// The chains of filters that a function builds.
    pub(super) fn chains(
        &self,
        func: FuncId,
        make: impl FnOnce() -> chain::WithFacts,
    ) -> chain::WithFacts {
        if let Some(chains) = locked(&self.chains).get(&func) {
            return Arc::clone(chains);
        }
        let chains = meter::apart(make);
        locked(&self.chains).insert(func, Arc::clone(&chains));
        chains
    }

    /// Drops what nobody will ask for again.
    pub fn forget(&self) {
        locked(&self.trees).clear();
        *locked(&self.channels) = None;
        *locked(&self.locks) = None;
        locked(&self.chains).clear();
    }
}

/// What is known, or is made now.
fn once<T>(known: &Mutex<Option<Arc<T>>>, make: impl FnOnce() -> T) -> Arc<T> {
    if let Some(known) = &*locked(known) {
        return Arc::clone(known);
    }
    let made = Arc::new(meter::apart(make));
    *locked(known) = Some(Arc::clone(&made));
    made
}
