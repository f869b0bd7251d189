//! What the checks of one package have worked out so far, for those that come after them.
//!
//! It changes no answer: each of these is a function of the package alone.

use std::hash::Hash;
use std::sync::{Arc, Mutex};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::flow::meter;
use crate::index::{FuncId, ObjectId};
use crate::project::PackageId;
use crate::rules::context_not_propagated::Evidence as WaitEvidence;
use crate::rules::evidence::{Channels, Locks};
use crate::rules::{chain, locked, recurrence};
use crate::syntax::{ExprId, Node, Parents, Symbol};

/// The nodes of a declaration in order of source, and what stands around each.
pub type Tree = (Arc<[Node]>, Arc<Parents>);

/// By name the declarations of a package in which something is kept under it, by their places among
/// [`Package::declarations`](crate::index::Package::declarations).
pub type Kept = FxHashMap<Symbol, Vec<u32>>;

/// Where functions are named and called.
#[derive(Default)]
pub struct Uses {
    /// By function the expressions that name it, in order of the functions that they stand in.
    pub named: FxHashMap<FuncId, Vec<(FuncId, ExprId)>>,
    /// By function its calls by name, those in tests left out.
    pub calls: FxHashMap<FuncId, Vec<(FuncId, ExprId)>>,
    /// The calls of function values, with the value, those in tests left out.
    pub of_values: Vec<(FuncId, ExprId, ExprId)>,
}

type OfPackages<T> = FxHashMap<PackageId, Arc<T>>;

/// By interface and name the methods that stand for its own; nothing where nobody is known to implement it.
type Implementations = FxHashMap<(ObjectId, Symbol), Option<Arc<[FuncId]>>>;

/// What was worked out.
#[derive(Default)]
pub struct Memo {
    trees: Mutex<FxHashMap<FuncId, Tree>>,
    channels: Mutex<Option<Arc<Channels>>>,
    locks: Mutex<Option<Arc<Locks>>>,
    chains: Mutex<FxHashMap<FuncId, chain::WithFacts>>,
    programs: Mutex<FxHashMap<PackageId, bool>>,
    uses: Mutex<OfPackages<Uses>>,
    kept: Mutex<OfPackages<Kept>>,
    users: Mutex<FxHashMap<FuncId, Arc<recurrence::Users>>>,
    seen_to_end: Mutex<FxHashMap<(FuncId, u32), bool>>,
    implementations: Mutex<Implementations>,
    waits: Mutex<FxHashMap<(FuncId, u32, u32), Option<WaitEvidence>>>,
    given_nothing: Mutex<FxHashSet<FuncId>>,
    handing_on_nothing: Mutex<FxHashSet<(FuncId, u32)>>,
}

impl Memo {
    /// The tree of a function.
    pub(super) fn tree(&self, func: FuncId, make: impl FnOnce() -> Tree) -> Tree {
        once_for(&self.trees, func, make)
    }

    /// The channels of the package.
    pub(super) fn channels(&self, make: impl FnOnce() -> Channels) -> Arc<Channels> {
        once(&self.channels, make)
    }

    /// The locks of the package.
    pub(super) fn locks(&self, make: impl FnOnce() -> Locks) -> Arc<Locks> {
        once(&self.locks, make)
    }

    /// Where functions are named and called in this package or another.
    pub(super) fn uses(&self, package: PackageId, make: impl FnOnce() -> Uses) -> Arc<Uses> {
        once_for(&self.uses, package, || Arc::new(make()))
    }

    /// What is kept under which names in this package or another.
    pub(super) fn kept(&self, package: PackageId, make: impl FnOnce() -> Kept) -> Arc<Kept> {
        once_for(&self.kept, package, || Arc::new(make()))
    }

    /// Who uses a function, in this package and in those that import it.
    pub(super) fn users(
        &self,
        func: FuncId,
        make: impl FnOnce() -> recurrence::Users,
    ) -> Arc<recurrence::Users> {
        once_for(&self.users, func, || Arc::new(make()))
    }

    /// Whether somebody in sight ends a parameter of a function, a context.
    pub(super) fn seen_to_end(&self, param: (FuncId, u32), make: impl FnOnce() -> bool) -> bool {
        once_for(&self.seen_to_end, param, make)
    }

    /// The methods that stand for the one of a name of an interface.
    pub(super) fn implementations(
        &self,
        method: (ObjectId, Symbol),
        make: impl FnOnce() -> Option<Arc<[FuncId]>>,
    ) -> Option<Arc<[FuncId]>> {
        once_for(&self.implementations, method, make)
    }

    /// Whether a function waits on a parameter, as far as so many calls are followed.
    pub(super) fn waits(
        &self,
        param: (FuncId, u32, u32),
        make: impl FnOnce() -> Option<WaitEvidence>,
    ) -> Option<WaitEvidence> {
        once_for(&self.waits, param, make)
    }

    /// Whether a program of the run has a package.
    pub(super) fn is_of_program(&self, package: PackageId, make: impl FnOnce() -> bool) -> bool {
        once_for(&self.programs, package, make)
    }

    /// Whether it is known that no call of a function gives a thing that has to be ended, in any version
    /// of what is called.
    pub(super) fn is_given_nothing(&self, func: FuncId) -> bool {
        locked(&self.given_nothing).contains(&func)
    }

    /// See [`Memo::is_given_nothing`].
    pub(super) fn note_given_nothing(&self, func: FuncId) {
        locked(&self.given_nothing).insert(func);
    }

    /// Whether it is known that a function returns nothing that has to be ended, as far as so many calls
    /// that it returns the results of are followed.
    pub(super) fn is_handing_on_nothing(&self, func: FuncId, wrappers: u32) -> bool {
        locked(&self.handing_on_nothing).contains(&(func, wrappers))
    }

    /// See [`Memo::is_handing_on_nothing`].
    pub(super) fn note_handing_on_nothing(&self, func: FuncId, wrappers: u32) {
        locked(&self.handing_on_nothing).insert((func, wrappers));
    }

    /// The chains of filters that a function builds.
    pub(super) fn chains(
        &self,
        func: FuncId,
        make: impl FnOnce() -> chain::WithFacts,
    ) -> chain::WithFacts {
        once_for(&self.chains, func, make)
    }

    /// Drops what nobody will ask for again.
    pub fn forget(&self) {
        locked(&self.trees).clear();
        *locked(&self.channels) = None;
        *locked(&self.locks) = None;
        locked(&self.chains).clear();
        locked(&self.programs).clear();
        locked(&self.seen_to_end).clear();
        locked(&self.uses).clear();
        locked(&self.kept).clear();
        locked(&self.users).clear();
        locked(&self.implementations).clear();
        locked(&self.waits).clear();
        locked(&self.given_nothing).clear();
        locked(&self.handing_on_nothing).clear();
    }
}

/// What is known of a package or function, or is made now.
fn once_for<K: Eq + Hash, T: Clone>(
    known: &Mutex<FxHashMap<K, T>>,
    of: K,
    make: impl FnOnce() -> T,
) -> T {
    if let Some(known) = locked(known).get(&of) {
        return known.clone();
    }
    let made = meter::apart(make);
    locked(known).insert(of, made.clone());
    made
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
