//! What functions do, as their callers see it.
//!
//! A rule looks at one function and asks of the calls in it: may this one block, and who can end
//! that; does it stop what I give it, or keep it; does it ever come back? Here each function is
//! read once and answers that in a [`Summary`]; the summaries of what it calls are made first,
//! bottom-up over the strongly connected components of the static call graph, lazily, when
//! somebody asks. Functions that call each other are read again until nothing changes.
//!
//! [`Function`] is the same knowledge from the inside: the graphs of a body and of its literals,
//! what each variable stands for at each step ([`Place`]), and what each step does to which thing
//! ([`Effect`]).
//!
//! ```ignore
//! let function = summaries.function(func)?;
//! for effect in &function.effects(BodyId::OWN).effects {
//!     if effect.act == Act::Method(stop) && effect.place == watch { ... }
//! }
//! ```
//!
//! What is not known is never guessed: of a function whose body is not there, or whose package is
//! not part of the run, there is no summary (see [`Below`] for what is nevertheless known), and what is given to it counts as
//! [`Act::Passed`], which rules take as benign. No library is known here by name: that comes from
//! the catalog.

mod always;
mod arguments;
mod bound;
mod calls;
mod components;
mod context;
mod dependency;
mod effect;
mod effects;
mod function;
mod handoff;
mod order;
mod place;
mod print;
mod reaching;
mod resources;
mod results;
mod spawns;
mod starter;
mod unsettled;
mod waits;

use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::FxHashMap;

use crate::catalog::{Catalog, Versions};
use crate::flow::{CallEnd, meter};
use crate::index::reads::{self, Reads};
use crate::index::{FuncId, Index, Lately};
use crate::project::PackageId;
use crate::syntax::ExprId;
use effects::Surroundings;
use order::Order;

pub use calls::{covering, facts, named};
pub use components::ticks;
pub use context::{ContextOrigin, ContextRoot, operand};
pub use dependency::Below;
pub use effect::{Act, Deed, Effect, Guard, Mode};
pub use effects::BodyEffects;
pub use function::{At, BodyFlow, BodyId, Function};
pub use place::{Place, Places, Root};
pub use print::place_name;
pub use reaching::{Definition, Source};
pub use resources::Resource;
pub use results::{ContextFact, Origin};
pub use spawns::Spawn;
pub use waits::{Cancel, Hop, Wait, What};

/// What a function does, as its callers see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Whether a call of it comes back.
    pub ending: CallEnd,
    /// What it does to its receiver, its parameters and variables of package level, sorted.
    pub deeds: Vec<Deed>,
    /// What a call of it may wait for, the first ones in the text.
    pub waits: Vec<Wait>,
    /// What each result can be; empty if there are none, or none is returned by name.
    pub results: Vec<Vec<Origin>>,
    /// The results that are contexts of which the origin is known.
    pub contexts: Vec<ContextFact>,
}

/// The summaries of all functions of a run, made when they are asked for; shared by threads.
///
/// A summary is kept as long as the run lasts; the inside of a function only until its package is
/// [forgotten](Summaries::forget), and is read again if somebody asks after that.
pub struct Summaries<'a> {
    index: &'a Index<'a>,
    catalog: &'a Catalog,
    /// The packages of the run. Packages with higher numbers are dependencies, whose bodies are only
    /// looked into [for one question](Below).
    packages: Vec<OfPackage<'a>>,
    order: Order,
    /// The functions of forgotten packages that were read again last.
    again: Mutex<Lately<FuncId, Arc<Read<'a>>>>,
    former: Option<&'a dyn Former>,
}

/// What is known of functions.
pub type KnownOf<'b> = &'b dyn Fn(FuncId) -> Option<Known>;

/// What somebody has found out of functions before, so that they need not be read for it again.
pub trait Former: Sync {
    /// What is known of a function of the run; of functions that call each other it is known of all or
    /// of none. `None` where it must be read. `below` tells what is known of those that its package calls in
    /// others.
    fn known(&self, func: FuncId, below: KnownOf<'_>) -> Option<Known>;

    /// What that rests on, as far as it was asked for: see [`Summaries::rests_on`].
    fn rests_on(&self, package: PackageId) -> Reads;
}

/// So many functions of forgotten packages are kept, and as many of those before them.
const AGAIN: usize = 256;

/// What is known of the functions of a package.
struct OfPackage<'a> {
    /// What it is built with.
    versions: &'a (dyn Versions + Sync),
    /// Held by the one thread that reads functions of the package.
    reading: Mutex<()>,
    summaries: RwLock<FxHashMap<u32, Known>>,
    /// What was read; `None` once the package is forgotten.
    reads: RwLock<Option<FxHashMap<u32, Arc<Read<'a>>>>>,
    /// What was looked at to read its functions, by function.
    rests_on: Mutex<FxHashMap<u32, Reads>>,
}

/// What is known of a function that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// `None` if its body is not there.
    pub summary: Option<Arc<Summary>>,
    /// Whether it may return what it makes or what a call gives it.
    pub gives: bool,
    /// The first function of its component if nothing is known there of what the functions do
    /// that call each other.
    pub cut: Option<FuncId>,
}

/// A function that has been read.
pub struct Read<'a> {
    /// Its graphs and variables.
    pub function: Arc<Function<'a>>,
    /// What a call of it does.
    pub summary: Arc<Summary>,
    bodies: Vec<BodyEffects>,
    waits: Vec<Vec<(At, Wait)>>,
    /// The calls of which it was asked whether they come back, and the answers.
    ends: Arc<[(ExprId, CallEnd)]>,
}

impl<'a> Summaries<'a> {
    /// The summaries of the first `versions.len()` packages of the index, each with the versions
    /// that it is built with.
    pub fn new(
        index: &'a Index<'a>,
        catalog: &'a Catalog,
        versions: Vec<&'a (dyn Versions + Sync)>,
    ) -> Summaries<'a> {
        let package = |versions| OfPackage {
            versions,
            reading: Mutex::default(),
            summaries: RwLock::default(),
            reads: RwLock::new(Some(FxHashMap::default())),
            rests_on: Mutex::default(),
        };
        let order = Order::new(index, versions.len());
        let packages = versions.into_iter().map(package).collect();
        let again = Mutex::new(Lately::new(AGAIN));
        Summaries { index, catalog, packages, order, again, former: None }
    }

    /// The same, with what `former` knows for known.
    pub fn recalling(self, former: Option<&'a dyn Former>) -> Summaries<'a> {
        Summaries { former, ..self }
    }

    /// What is known by now of functions of a package, in their order.
    pub fn known_of(&self, package: PackageId) -> Vec<(FuncId, Known)> {
        let Some(of_package) = self.package(package) else { return Vec::new() };
        let known = reading(&of_package.summaries);
        let mut known: Vec<(FuncId, Known)> = known
            .iter()
            .map(|(&index, known)| (FuncId { package, index }, known.clone()))
            .collect();
        known.sort_unstable_by_key(|&(func, _)| func);
        known
    }

    /// The packages of the run, each after those that it imports.
    pub fn order(&self) -> &[PackageId] {
        &self.order.packages
    }

    /// What a function does; `None` if its body is not there to be read.
    pub fn of(&self, func: FuncId) -> Option<Arc<Summary>> {
        self.known_below(func)?.summary
    }

    /// A function from the inside, if it may return what it makes or what a call gives it; `None` also if its
    /// body is not there to be read.
    pub fn read_giver(&self, func: FuncId) -> Option<Arc<Read<'a>>> {
        self.known_below(func).filter(|known| known.gives)?;
        self.read(func)
    }

    /// A function from the inside; `None` if its body is not there to be read.
    pub fn read(&self, func: FuncId) -> Option<Arc<Read<'a>>> {
        self.index.look_into(func);
        reads::read(func);
        let known = self.known_below(func)?;
        known.summary.as_ref()?;
        let package = self.package(func.package)?;
        let kept =
            reading(&package.reads).as_ref().and_then(|reads| reads.get(&func.index).cloned());
        if kept.is_some() {
            return kept;
        }
        if let Some(again) = locked(&self.again).get(func) {
            return Some(again);
        }
        let read = meter::apart(|| reads::noting(|| components::read_again(self, func, &known)).0)?;
        match &mut *writing(&package.reads) {
            Some(reads) => drop(reads.insert(func.index, Arc::clone(&read))),
            None => drop(locked(&self.again).insert(func, Arc::clone(&read))),
        }
        Some(read)
    }

    /// Lets go of the inside of the functions of a package: it is read again for whoever asks
    /// again.
    pub fn forget(&self, package: PackageId) {
        if let Some(package) = self.package(package) {
            *writing(&package.reads) = None;
        }
    }

    /// How many functions of the run were read without what they learn from others that call them
    /// back, since those are too many or never settle.
    pub fn cut(&self) -> usize {
        let of_package = |package: &OfPackage<'_>| {
            reading(&package.summaries).values().filter(|known| known.cut.is_some()).count()
        };
        self.packages.iter().map(of_package).sum()
    }

    /// Where the context that `expr` is at a step comes from.
    pub fn context(&self, function: &Function<'_>, at: At, expr: ExprId) -> ContextOrigin {
        let Some(versions) = self.versions(function.id.package) else {
            return ContextOrigin::default();
        };
        let known = |func| self.of(func);
        let around = Surroundings { catalog: self.catalog, versions, known: &known };
        context::origin(function, &around, at, expr)
    }

    /// The versions that a package of the run is built with; `None` for a dependency.
    fn versions(&self, package: PackageId) -> Option<&'a (dyn Versions + Sync)> {
        self.package(package).map(|package| package.versions)
    }

    fn package(&self, package: PackageId) -> Option<&OfPackage<'a>> {
        self.packages.get(package.0 as usize)
    }

    /// What is known of a function, after it has been read if it was not yet; `None` for one that is none
    /// of the run.
    pub fn known_below(&self, func: FuncId) -> Option<Known> {
        reads::called(func);
        self.known(func).or_else(|| {
            meter::apart(|| reads::noting(|| components::read_below(self, func)));
            self.known(func)
        })
    }

    fn known(&self, func: FuncId) -> Option<Known> {
        let package = self.package(func.package)?;
        let known = reading(&package.summaries).get(&func.index).cloned();
        known.or_else(|| {
            let before = |other: &FuncId| self.order.allows(func.package, other.package);
            let below = |other| self.known_below(Some(other).filter(before)?);
            let known = reads::noting(|| self.former?.known(func, &below)).0?;
            writing(&package.summaries).insert(func.index, known.clone());
            Some(known)
        })
    }

    /// What is known of a function that `caller` calls, after all that comes before has been read.
    fn known_to(&self, caller: FuncId, callee: FuncId) -> Option<Known> {
        if !self.order.allows(caller.package, callee.package) {
            return None;
        }
        reads::called(callee);
        self.known(callee)
    }

    /// What was looked at of other packages to find out what functions of a package do, in this run or
    /// before.
    pub fn rests_on(&self, package: PackageId) -> Reads {
        let Some(of_package) = self.package(package) else { return Reads::default() };
        let mut reads = Reads::default();
        locked(&of_package.rests_on).values().for_each(|other| reads.add(other.clone()));
        if let Some(former) = self.former {
            reads.add(former.rests_on(package));
        }
        reads
    }

    /// What was looked at to read a function in this run.
    pub fn rests_of(&self, func: FuncId) -> Reads {
        let package = self.package(func.package);
        let reads = package.and_then(|known| locked(&known.rests_on).get(&func.index).cloned());
        reads.unwrap_or_default()
    }

    /// Reads a function of a package of the run.
    fn noted<T>(&self, package: &OfPackage<'_>, func: FuncId, read: impl FnOnce() -> T) -> T {
        let (read, reads) = reads::noting(read);
        locked(&package.rests_on).entry(func.index).or_default().add(reads);
        read
    }

    /// The right to read functions of a package; `None` for a dependency.
    fn alone_in(&self, package: PackageId) -> Option<MutexGuard<'_, ()>> {
        Some(locked(&self.package(package)?.reading))
    }

    /// Keeps what was found of the functions of a component, which lie in one package.
    fn remember(
        &self,
        component: impl Iterator<Item = (FuncId, Option<Arc<Read<'a>>>)>,
        cut: Option<FuncId>,
    ) {
        let component: Vec<_> = component.collect();
        let Some(package) = component.first().and_then(|(func, _)| self.package(func.package))
        else {
            return;
        };
        if let Some(reads) = &mut *writing(&package.reads) {
            let found =
                component.iter().filter_map(|(func, read)| Some((func.index, read.clone()?)));
            reads.extend(found);
        }
        let known = component.into_iter().map(|(func, read)| {
            let gives = read.as_ref().is_some_and(|read| read.gives());
            (func.index, Known { summary: read.map(|read| Arc::clone(&read.summary)), gives, cut })
        });
        writing(&package.summaries).extend(known);
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What a thread leaves behind that panicked with a lock in its hands is whole.
fn reading<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn writing<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Read<'_> {
    /// Whether it may return what it makes or what a call gives it.
    fn gives(&self) -> bool {
        self.effects(BodyId::OWN).effects.iter().any(|effect| {
            matches!(effect.act, Act::Returned(_))
                && matches!(effect.place.root, Root::Made(_) | Root::Call(..))
        })
    }

    /// What the steps of a body do.
    pub fn effects(&self, body: BodyId) -> &BodyEffects {
        &self.bodies[body.0 as usize]
    }

    /// What one step does.
    pub fn effects_at(&self, at: At) -> impl Iterator<Item = &Effect> {
        let effects = &self.effects(at.body).effects;
        let first = effects.partition_point(|effect| effect.at < at);
        effects[first..].iter().take_while(move |effect| effect.at == at)
    }

    /// What a body may wait for, with the steps, in order.
    pub fn waits(&self, body: BodyId) -> &[(At, Wait)] {
        &self.waits[body.0 as usize]
    }
}

impl Summary {
    /// What is done to `place` and its parts.
    pub fn deeds_on<'s>(&'s self, place: &'s Place) -> impl Iterator<Item = &'s Deed> {
        self.deeds.iter().filter(move |deed| deed.place.is_within(place))
    }

    /// Whether one of these acts is done to `place` on every path that comes back.
    pub fn always(&self, place: &Place, act: impl Fn(Act) -> bool) -> bool {
        self.deeds.iter().any(|deed| deed.always && deed.place == *place && act(deed.act))
    }

    /// What a call may wait for that nobody can end.
    pub fn uncancellable_wait(&self) -> Option<&Wait> {
        self.waits.iter().find(|wait| wait.cancel == Cancel::Nobody)
    }
}
