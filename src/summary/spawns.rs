//! Which goroutines a function waits for before it is left.

use rustc_hash::FxHashSet;

use crate::flow::{Exit, Passing, Path, Start, Step, StepId, Walk};
use crate::summary::effect::{Act, Effect, Mode};
use crate::summary::function::{At, BodyFlow, BodyId, Function};
use crate::summary::place::Place;
use crate::syntax::ExprId;

/// A `go` statement.
#[derive(Clone, Debug)]
pub struct Spawn {
    /// The step.
    pub at: At,
    /// The call that the goroutine makes.
    pub call: ExprId,
    /// How the goroutine says on every path that it is done: channels that it closes or sends on,
    /// wait groups whose `Done` it calls, contexts that it cancels and that its function waits for. Empty if it
    /// does not, or if nothing is known of it.
    pub signals: Vec<Place>,
    /// The shortest path to each exit on which the function does not wait for such a signal; none
    /// if it always waits.
    pub outlives: Vec<Path>,
}

/// The `go` statements of a body. Effects in goroutines that the body waits for on every path
/// become [`Mode::Joined`].
pub(super) fn find(function: &Function<'_>, body: BodyId, effects: &mut [Effect]) -> Vec<Spawn> {
    let cfg = &function.body(body).cfg;
    let mut spawns = Vec::new();
    let all_joins: Vec<usize> =
        (0..effects.len()).filter(|&effect| is_join(&effects[effect])).collect();
    for step in cfg.steps() {
        let Step::Go(stmt) = cfg.step(step) else { continue };
        let Some(call) = BodyFlow::statement_call(function.file, stmt) else { continue };
        let at = At { body, step };
        let mut signals: Vec<Place> = Vec::new();
        let first = effects.partition_point(|effect| effect.at < at);
        let here = effects[first..].iter().take_while(|effect| effect.at == at);
        for effect in here.filter(|effect| effect.sure) {
            if is_signal(effect) && !signals.contains(&effect.place) {
                signals.push(effect.place.clone());
            }
            if let Some(done) = cancelled(function, effect)
                && all_joins.iter().any(|&join| effects[join].place == done)
                && !signals.contains(&done)
            {
                signals.push(done);
            }
        }
        let joins: FxHashSet<StepId> = all_joins
            .iter()
            .map(|&join| &effects[join])
            .filter(|join| signals.contains(&join.place))
            .map(|join| join.at.step)
            .collect();
        let mut walk = Leave { joins: &joins };
        let deferred =
            |join: &StepId| matches!(cfg.step(*join), Step::Defer(_)) && cfg.dominates(*join, step);
        let outlives = match joins.iter().any(deferred) {
            true => Vec::new(),
            false => cfg.search(Start::After(step), (), &mut walk),
        };
        spawns.push(Spawn { at, call, signals, outlives });
    }
    let joined = spawns
        .iter()
        .filter(|spawn| spawn.outlives.is_empty() && !spawn.signals.is_empty())
        .map(|spawn| spawn.at);
    let joined: FxHashSet<At> = joined.collect();
    for effect in effects {
        if effect.mode == Mode::Spawned && joined.contains(&effect.at) {
            effect.mode = Mode::Joined;
        }
    }
    spawns
}

/// What is heard from where the goroutine started here cancels a context that its function derived.
pub(super) fn cancelled(function: &Function<'_>, effect: &Effect) -> Option<Place> {
    let calls = effect.mode >= Mode::Joined && effect.act == Act::Called;
    function.done_by(&effect.place).filter(|_| calls)
}

/// Whether the goroutine started here tells that it is done.
fn is_signal(effect: &Effect) -> bool {
    effect.mode == Mode::Spawned
        && match effect.act {
            Act::Closed | Act::SentTo(_) => true,
            Act::Method(name) => name.as_str() == "Done",
            _ => false,
        }
}

/// Whether this step waits for such a signal.
fn is_join(effect: &Effect) -> bool {
    effect.mode < Mode::Spawned
        && match effect.act {
            Act::Received(_) | Act::Drained => true,
            Act::Method(name) => name.as_str() == "Wait",
            _ => false,
        }
}

struct Leave<'j> {
    joins: &'j FxHashSet<StepId>,
}

impl Walk for Leave<'_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if self.joins.contains(&step) { Passing::Drop } else { Passing::On(()) }
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End | Exit::Unknown)
    }
}
