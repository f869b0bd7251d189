//! The ways on which a function goes on without a goroutine that it has waited for: it stands in a
//! `select` for the goroutine's word and for a timer or a context, and the other one is faster.
//!
//! A way ends where the function may have heard of the goroutine after all: at every receive that is
//! not of a timer, a context or a stop channel, and at every call that may wait for others.

use crate::catalog;
use crate::flow::{Edge, EdgeKind, Exit, Passing, Path, Start, Step, StepId, Walk};
use crate::index::Type;
use crate::summary::effect::{Act, Mode};
use crate::summary::function::{At, BodyId};
use crate::summary::place::{Place, Root};
use crate::summary::spawns::{self, Spawn};
use crate::summary::{Read, What};
use crate::syntax::{ChanDir, ExprId, StmtId, StmtKind};

/// How many calls lie at most between what a function was given and the channel that it waits for.
const MAX_PARTS: u32 = 3;

impl Read<'_> {
    /// The shortest way from a `go` statement to each exit, and to each step that is `wanted`, on
    /// which the function has given up waiting for the goroutine, and that passes no step that
    /// `ends` it.
    pub fn gives_up(
        &self,
        spawn: &Spawn,
        wanted: &dyn Fn(StepId) -> bool,
        ends: &dyn Fn(StepId) -> bool,
    ) -> Vec<Path<bool>> {
        let signals = self.may_signal(spawn);
        if signals.is_empty() || self.waits_deferred(spawn) {
            return Vec::new();
        }
        let mut walk = GiveUp { read: self, spawn, signals: &signals, wanted, ends };
        let body = &self.function.body(spawn.at.body);
        body.cfg.search(Start::After(spawn.at.step), false, &mut walk)
    }

    /// How a goroutine may say that it is done, on whatever path.
    fn may_signal(&self, spawn: &Spawn) -> Vec<Place> {
        let mut signals = Vec::new();
        for effect in self.effects_at(spawn.at).filter(|effect| effect.mode >= Mode::Joined) {
            let is_signal = match effect.act {
                Act::Closed | Act::SentTo(_) => true,
                Act::Method(name) => name.as_str() == "Done",
                _ => false,
            };
            let told = is_signal.then(|| effect.place.clone());
            let told = told.or_else(|| spawns::cancelled(&self.function, effect));
            signals.extend(told.filter(|told| !signals.contains(told)));
        }
        signals
    }

    /// Whether a deferred call of the body, registered before the goroutine is started, waits for
    /// something.
    fn waits_deferred(&self, spawn: &Spawn) -> bool {
        let cfg = &self.function.body(spawn.at.body).cfg;
        self.waits(spawn.at.body).iter().any(|(at, _)| {
            matches!(cfg.step(at.step), Step::Defer(_)) && cfg.reaches(at.step, spawn.at.step)
        })
    }

    /// Whether the goroutine may cancel contexts that its function made.
    fn cancels(&self, spawn: &Spawn) -> bool {
        self.effects_at(spawn.at).any(|effect| {
            effect.act == Act::Called
                && matches!(effect.place.root, Root::Call(_, result) if result > 0)
        })
    }

    /// Whether a call without arguments gives a part of what the function was given: `ctx.Done()`, and
    /// `r.Context().Done()`.
    fn is_of_others(&self, at: At, call: ExprId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let of = self.function.accessor(at, call).filter(|of| !of.unknown);
        of.is_some_and(|of| {
            !of.list.is_empty()
                && of.list.iter().all(|place| match place.root {
                    Root::Receiver | Root::Param(_) | Root::LiteralParam(..) => true,
                    Root::Call(inner, 0) => self.is_of_others(at, inner, depth),
                    _ => false,
                })
        })
    }

    /// Whether receiving from a channel says nothing about the goroutine: it is a timer's, a
    /// context's, or a stop channel of somebody else.
    fn is_bell(&self, at: At, channel: ExprId, spawn: &Spawn, signals: &[Place]) -> bool {
        let function = &self.function;
        let inner = function.file.unparen(channel);
        let ty = function.index.underlying(function.info.type_of(inner));
        if matches!(&ty, Type::Chan(ChanDir::Recv, element) if element.is_named("time", "Time")) {
            return true;
        }
        if !function.index.is_signal(&ty) {
            return false;
        }
        let places = function.places(at, inner);
        !places.unknown
            && !places.list.is_empty()
            && places.list.iter().all(|place| match place.root {
                Root::Call(call, 0) if function.done_of(call).is_some() => {
                    !self.cancels(spawn) || self.is_of_others(at, call, MAX_PARTS)
                }
                Root::Receiver | Root::Param(_) | Root::LiteralParam(..) | Root::Global(_) => {
                    !signals.contains(place)
                }
                _ => false,
            })
    }

    /// Whether another arm of the `select` hears of the goroutine.
    fn hears(&self, body: BodyId, select: StmtId, signals: &[Place]) -> bool {
        let function = &self.function;
        let StmtKind::Select(clauses) = &function.file.stmt(select).kind else { return false };
        let Some(step) = function.body(body).cfg.step_of_stmt(select) else { return false };
        clauses.iter().filter_map(|clause| clause.comm).any(|comm| {
            let channel = Step::Comm(comm).received_from(function.file);
            channel.is_some_and(|channel| {
                let at = At { body, step };
                let asked = function.accessor(at, function.file.unparen(channel));
                let places = function.places(at, channel);
                let asked = asked.iter().flat_map(|asked| &asked.list);
                places.list.iter().chain(asked).any(|place| signals.contains(place))
            })
        })
    }
}

struct GiveUp<'w, 'a> {
    read: &'w Read<'a>,
    spawn: &'w Spawn,
    signals: &'w [Place],
    wanted: &'w dyn Fn(StepId) -> bool,
    ends: &'w dyn Fn(StepId) -> bool,
}

impl GiveUp<'_, '_> {
    /// Whether a step may wait for the goroutine.
    fn may_join(&self, at: At) -> bool {
        let read = self.read;
        let file = read.function.file;
        let step = read.function.step(at);
        match step {
            Step::Recv(_) | Step::Comm(_) => match step.received_from(file) {
                Some(channel) => !read.is_bell(at, channel, self.spawn, self.signals),
                None => true,
            },
            Step::Send(_) => true,
            Step::Next(stmt) => {
                let StmtKind::Range { subject, .. } = file.stmt(stmt).kind else { return true };
                let ty = read.function.index.underlying(read.function.info.type_of(subject));
                matches!(ty, Type::Chan(..) | Type::Func(_) | Type::Unknown)
            }
            Step::Call(_) | Step::Defer(_) => {
                let waits = read.waits(at.body).iter().filter(|(wait, _)| *wait == at);
                let for_others = |what: What| match what {
                    What::Library(wait) => {
                        matches!(wait, catalog::Wait::Goroutines | catalog::Wait::Poll)
                    }
                    _ => true,
                };
                waits.into_iter().any(|(_, wait)| for_others(wait.what))
                    || read.effects_at(at).any(|effect| {
                        let given = effect.act.escapes() || effect.act == Act::Called;
                        let waited =
                            matches!(effect.act, Act::Method(name) if name.as_str() == "Wait");
                        waited || given && self.signals.contains(&effect.place)
                    })
            }
            _ => false,
        }
    }
}

impl Walk for GiveUp<'_, '_> {
    /// Whether the function has given up waiting.
    type State = bool;

    fn step(&mut self, state: &bool, step: StepId) -> Passing<bool> {
        let at = At { body: self.spawn.at.body, step };
        if self.may_join(at) || step == self.spawn.at.step || (self.ends)(step) {
            return Passing::Drop;
        }
        if *state && (self.wanted)(step) { Passing::Found } else { Passing::On(*state) }
    }

    fn edge(&mut self, state: &bool, edge: &Edge) -> Option<bool> {
        match edge.kind {
            EdgeKind::Arm(select, _) => {
                Some(*state || self.read.hears(self.spawn.at.body, select, self.signals))
            }
            _ => Some(*state),
        }
    }

    fn exit(&mut self, state: &bool, exit: Exit) -> bool {
        *state && matches!(exit, Exit::Return(_) | Exit::End)
    }
}
