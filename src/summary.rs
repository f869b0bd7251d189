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
//! not part of the run, there is no summary, and what is given to it counts as
//! [`Act::Passed`], which rules take as benign. No library is known here by name: that comes from
//! the catalog.

mod always;
mod arguments;
mod calls;
mod components;
mod context;
mod effect;
mod effects;
mod function;
mod handoff;
mod place;
mod print;
mod reaching;
mod resources;
mod results;
mod spawns;
mod unsettled;
mod waits;

use std::sync::{Arc, RwLock};

use rustc_hash::FxHashMap;

use crate::catalog::{Catalog, Versions};
use crate::flow::CallEnd;
use crate::index::{FuncId, Index};
use crate::project::PackageId;
use crate::syntax::ExprId;
use effects::Surroundings;

pub use calls::{facts, named};
pub use context::{ContextOrigin, ContextRoot};
pub use effect::{Act, Deed, Effect, Guard, Mode};
pub use effects::BodyEffects;
pub use function::{At, BodyFlow, BodyId, Function};
pub use place::{Place, Places, Root};
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
pub struct Summaries<'a> {
    index: &'a Index<'a>,
    catalog: &'a Catalog,
    /// For each package of the run the versions that it is built with. Packages with higher
    /// numbers are dependencies, whose bodies are not looked into.
    versions: Vec<&'a (dyn Versions + Sync)>,
    memo: Vec<RwLock<FxHashMap<FuncId, Option<Arc<Read<'a>>>>>>,
}

/// A function that has been read.
pub struct Read<'a> {
    /// Its graphs and variables.
    pub function: Function<'a>,
    /// What a call of it does.
    pub summary: Arc<Summary>,
    bodies: Vec<BodyEffects>,
    waits: Vec<Vec<(At, Wait)>>,
}

/// Number of locks that the memory of a run is spread over.
const SHARDS: usize = 64;

impl<'a> Summaries<'a> {
    /// The summaries of the first `versions.len()` packages of the index, each with the versions
    /// that it is built with.
    pub fn new(
        index: &'a Index<'a>,
        catalog: &'a Catalog,
        versions: Vec<&'a (dyn Versions + Sync)>,
    ) -> Summaries<'a> {
        let memo = (0..SHARDS).map(|_| RwLock::default()).collect();
        Summaries { index, catalog, versions, memo }
    }

    /// What a function does; `None` if its body is not there to be read.
    pub fn of(&self, func: FuncId) -> Option<Arc<Summary>> {
        self.read(func).map(|read| Arc::clone(&read.summary))
    }

    /// A function from the inside; `None` if its body is not there to be read.
    pub fn read(&self, func: FuncId) -> Option<Arc<Read<'a>>> {
        if let Some(known) = self.remembered(func) {
            return known;
        }
        components::read_below(self, func);
        self.remembered(func).flatten()
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
        self.versions.get(package.0 as usize).copied()
    }

    fn remembered(&self, func: FuncId) -> Option<Option<Arc<Read<'a>>>> {
        let shard = self.shard(func).read().unwrap_or_else(|poisoned| poisoned.into_inner());
        shard.get(&func).cloned()
    }

    /// Two threads may read the same function: what they find is equal, and the first one counts.
    fn remember(&self, func: FuncId, read: Option<Arc<Read<'a>>>) {
        let mut shard = self.shard(func).write().unwrap_or_else(|poisoned| poisoned.into_inner());
        shard.entry(func).or_insert(read);
    }

    fn shard(&self, func: FuncId) -> &RwLock<FxHashMap<FuncId, Option<Arc<Read<'a>>>>> {
        &self.memo[func.index as usize % SHARDS]
    }
}

impl Read<'_> {
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
