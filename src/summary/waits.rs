//! What a body may wait for, and who can end the wait.

use std::sync::Arc;

use crate::catalog::{self, Blocking, Carrier, When};
use crate::flow::Step;
use crate::index::{Builtin, Callee, Def, Type};
use crate::source::{Location, Span};
use crate::summary::context;
use crate::summary::effects::Surroundings;
use crate::summary::function::{At, BodyFlow, BodyId, Function};
use crate::summary::place::{Place, Places, Root};
use crate::summary::{Summary, calls};
use crate::syntax::{ChanDir, ExprId, ExprKind, StmtKind};

/// Something that may keep a goroutine waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Where it waits, or calls what waits.
    pub location: Location,
    /// What it waits for, in the end.
    pub what: What,
    /// Who can end the wait.
    pub cancel: Cancel,
    /// Whether it ends by itself after some time.
    pub timed: bool,
    /// The calls between here and the wait, outermost first; long chains are cut.
    pub hops: Vec<Hop>,
}

/// What can be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A receive, a range over a channel, or a `select` that only receives.
    Receive,
    /// A send, or a `select` that only sends.
    Send,
    /// A `select` that does both.
    Select,
    /// Nothing: `select {}`.
    Forever,
    /// What the catalog says of a library's call.
    Library(catalog::Wait),
}

/// Who can end a wait, other than the partner that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// Nobody.
    Nobody,
    /// Whoever ends this context or closes this stop channel: one of these is enough.
    By(Vec<Place>),
    /// That is not known.
    Unknown,
}

/// A call on the way to a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The call.
    pub location: Location,
    /// What is called, as the code there writes it.
    pub callee: Box<str>,
}

/// How many waits a summary lists.
const MAX_WAITS: usize = 8;
/// How many calls a chain names.
const MAX_HOPS: usize = 6;

/// The waits of all bodies, by their numbers: each with its step, in order of steps.
pub(super) fn extract(function: &Function<'_>, around: &Surroundings<'_>) -> Vec<Vec<(At, Wait)>> {
    let mut finder =
        Finder { function, around, done: function.bodies().map(|_| Vec::new()).collect() };
    for body in function.bodies().rev() {
        let mut found = Vec::new();
        for step in function.body(body).cfg.steps() {
            finder.step(At { body, step }, &mut found);
        }
        finder.done[body.0 as usize] = found;
    }
    finder.done
}

/// What callers are told: each kind of wait once, by its shortest way, those that nobody can end
/// first.
pub(super) fn summarise(waits: &[(At, Wait)]) -> Vec<Wait> {
    let mut told: Vec<Wait> = Vec::new();
    let mut sorted: Vec<&Wait> = waits.iter().map(|(_, wait)| wait).collect();
    sorted.sort_by_key(|wait| (wait.cancel != Cancel::Nobody, wait.hops.len()));
    for wait in sorted {
        let mut wait = wait.clone();
        wait.cancel = as_callers_know(wait.cancel);
        let same = |told: &Wait| {
            (told.what, &told.cancel, told.timed) == (wait.what, &wait.cancel, wait.timed)
        };
        if told.len() < MAX_WAITS && !told.iter().any(same) {
            told.push(wait);
        }
    }
    told
}

/// What ends the wait counts for callers only as far as they have it.
fn as_callers_know(cancel: Cancel) -> Cancel {
    let Cancel::By(mut places) = cancel else { return cancel };
    places.retain(|place| matches!(place.root, Root::Receiver | Root::Param(_) | Root::Global(_)));
    if places.is_empty() { Cancel::Unknown } else { Cancel::By(places) }
}

struct Finder<'f, 'a> {
    function: &'f Function<'a>,
    around: &'f Surroundings<'f>,
    done: Vec<Vec<(At, Wait)>>,
}

impl Finder<'_, '_> {
    fn step(&self, at: At, found: &mut Vec<(At, Wait)>) {
        let file = self.function.file;
        let step = self.function.step(at);
        let span = step.span(file);
        match step {
            Step::Recv(_) => {
                let channel = step.received_from(file);
                self.channels(at, span, What::Receive, channel.as_slice(), found);
            }
            Step::Send(_) => {
                found.push((at, self.wait(span, What::Send, Cancel::Nobody, false)));
            }
            Step::Next(stmt) => {
                let StmtKind::Range { subject, .. } = file.stmt(stmt).kind else { return };
                let ty = self.function.index.underlying(self.function.info.type_of(subject));
                if matches!(ty, Type::Chan(..)) {
                    let span = file.expr(subject).span;
                    self.channels(at, span, What::Receive, &[subject], found);
                }
            }
            Step::Select(stmt) => {
                let StmtKind::Select(clauses) = &file.stmt(stmt).kind else { return };
                if clauses.iter().any(|clause| clause.comm.is_none()) {
                    return;
                }
                let comms = clauses.iter().filter_map(|clause| clause.comm).map(Step::Comm);
                let received: Vec<ExprId> =
                    comms.filter_map(|comm| comm.received_from(file)).collect();
                let what = match (clauses.len(), received.len()) {
                    (0, _) => What::Forever,
                    (all, some) if all == some => What::Receive,
                    (_, 0) => What::Send,
                    _ => What::Select,
                };
                let keyword = Span::new(span.start, span.start + "select".len() as u32);
                self.channels(at, keyword, what, &received, found);
            }
            Step::Call(call) => self.call(at, call, found),
            Step::Defer(stmt) => {
                if let Some(call) = BodyFlow::statement_call(file, stmt) {
                    self.call(at, call, found);
                }
            }
            _ => {}
        }
    }

    /// A wait that ends with the first of these receives.
    fn channels(
        &self,
        at: At,
        span: Span,
        what: What,
        received: &[ExprId],
        found: &mut Vec<(At, Wait)>,
    ) {
        let mut enders = Vec::new();
        let mut timed = false;
        for &channel in received {
            timed |= self.is_timer(channel)
                || self.has_deadline(at, channel)
                || self.is_of_timed(channel);
            enders.extend(self.ender(at, channel));
        }
        let cancel = if enders.is_empty() { Cancel::Nobody } else { Cancel::By(enders) };
        found.push((at, self.wait(span, what, cancel, timed)));
    }

    fn is_timer(&self, channel: ExprId) -> bool {
        let ty = self.function.index.underlying(self.function.info.type_of(channel));
        matches!(ty, Type::Chan(ChanDir::Recv, element) if element.is_named("time", "Time"))
    }

    /// Whether a receive waits for the end of goroutines of the function that wait for some time at most.
    fn is_of_timed(&self, channel: ExprId) -> bool {
        let function = self.function;
        let local = |expr: ExprId| match function.info.resolve(function.file.unparen(expr)) {
            Def::Local(local) => Some(*local),
            _ => None,
        };
        let Some(wanted) = local(channel) else { return false };
        let closes = |step: Step| {
            let closed = step.call(function.file).filter(|&call| {
                matches!(function.info.callee(call), Callee::Builtin(Builtin::Close))
            });
            closed.and_then(|call| function.args(call).first().copied()).and_then(local)
                == Some(wanted)
        };
        let mut enders = function.bodies().filter(|&body| {
            let cfg = &function.body(body).cfg;
            cfg.steps().any(|step| closes(cfg.step(step)))
        });
        let (Some(ender), None) = (enders.next(), enders.next()) else { return false };
        let waits = &self.done[ender.0 as usize];
        let cfg = &function.body(ender).cfg;
        let gives_timed = || {
            cfg.steps()
                .filter_map(|step| cfg.step(step).call(function.file))
                .any(|call| function.args(call).iter().any(|&arg| self.is_bounded(call, arg)))
        };
        ender != BodyId::OWN
            && waits.iter().all(|(_, wait)| wait.timed)
            && (!waits.is_empty() || gives_timed())
    }

    /// Whether what a call is given reads and writes for some time at most: a bound is put on it above.
    fn is_bounded(&self, call: ExprId, arg: ExprId) -> bool {
        let Some(named) = self.function.info.type_of(arg).strip_pointer().named() else {
            return false;
        };
        let name = named.qualified();
        ["Read", "Write"].into_iter().any(|method| {
            let known =
                self.around.catalog.facts(name.path.as_str(), Some(name.name.as_str()), method);
            known
                .in_force::<Blocking>(self.around.versions)
                .is_some_and(|fact| self.function.is_bounded_before(call, &fact.bounded_by))
        })
    }

    /// Whether a receive looks at the end of a context that has a deadline.
    fn has_deadline(&self, at: At, channel: ExprId) -> bool {
        let function = self.function;
        let Some((base, name)) = function.file.method_call(channel) else { return false };
        name.name.as_str() == "Done" && context::origin(function, self.around, at, base).deadline
    }

    /// The context or stop channel that a receive looks at.
    fn ender(&self, at: At, channel: ExprId) -> Vec<Place> {
        let function = self.function;
        let file = function.file;
        let inner = file.unparen(channel);
        if let Some((base, name)) = file.method_call(inner)
            && name.name.as_str() == "Done"
        {
            return context::origin(function, self.around, at, base).places();
        }
        if !function.index.is_signal(function.info.type_of(inner)) {
            return Vec::new();
        }
        let mut places = function.places(at, inner).list;
        for place in &mut places {
            // `done := ctx.Done()` stands for the context.
            if let Root::Call(call, 0) = place.root
                && let Some(made) = function.at_call(call)
                && let Some((base, name)) = file.method_call(call)
                && name.name.as_str() == "Done"
                && let Some(context) = context::origin(function, self.around, made, base).only()
            {
                *place = context;
            }
        }
        places
    }

    fn call(&self, at: At, call: ExprId, found: &mut Vec<(At, Wait)>) {
        let function = self.function;
        let span = function.file.expr(call).span;
        match function.info.callee(call) {
            Callee::Literal(literal) => self.literal(at, *literal, found),
            Callee::Value(value) => {
                for place in function.places(at, *value).list {
                    if let Root::Made(literal) = place.root {
                        self.literal(at, literal, found);
                    }
                }
            }
            Callee::Builtin(_) | Callee::Conversion(_) | Callee::Unknown { .. } => {}
            callee => {
                let facts = calls::facts(self.around.catalog, function.index, callee);
                let blocking = facts
                    .in_force::<Blocking>(self.around.versions)
                    .or_else(|| self.blocking_by_form(call, callee));
                let waits = |fact: &&Blocking| fact.when == When::Call && fact.only_with.is_none();
                if let Some(blocking) = blocking.filter(waits) {
                    let (cancel, timed) = self.library(at, call, blocking);
                    let is_users =
                        blocking.wait == catalog::Wait::Exec && function.reads_from_terminal(call);
                    let cancel = if is_users { Cancel::Unknown } else { cancel };
                    found.push((at, self.wait(span, What::Library(blocking.wait), cancel, timed)));
                } else if let Callee::Func(func) = callee
                    && let Some(summary) = (self.around.known)(*func)
                {
                    self.callee(at, call, &summary, found);
                }
            }
        }
    }

    /// What is known of calls of this form: for interfaces and for packages that are not there,
    /// since a body that is there says more.
    fn blocking_by_form(&self, call: ExprId, callee: &Callee) -> Option<&Blocking> {
        let function = self.function;
        let (Callee::InterfaceMethod(_) | Callee::External(_)) = callee else { return None };
        let ExprKind::Call { callee: value, .. } = function.file.expr(call).kind else {
            return None;
        };
        let Type::Func(signature) = function.info.type_of(value) else { return None };
        let name = callee.qualified(function.index)?;
        function.index.fact_by_form(name, signature, self.around.versions)
    }

    /// A literal that runs here waits here.
    fn literal(&self, at: At, literal: ExprId, found: &mut Vec<(At, Wait)>) {
        let Some(body) = self.function.body_of_literal(literal) else { return };
        let inner = self.done[body.0 as usize].iter();
        found.extend(inner.map(|(_, wait)| (at, wait.clone())));
    }

    fn library(&self, at: At, call: ExprId, blocking: &Blocking) -> (Cancel, bool) {
        let args = match &self.function.file.expr(call).kind {
            ExprKind::Call { args, .. } => &args[..],
            _ => &[],
        };
        let own_bound = blocking.timeout.is_some()
            || self.function.is_bounded_before(call, &blocking.bounded_by);
        match blocking.context {
            None => (Cancel::Nobody, own_bound),
            Some(Carrier::Param(index)) => match args.get(index as usize) {
                Some(&context) => {
                    let origin = context::origin(self.function, self.around, at, context);
                    (origin.cancel(), own_bound || origin.deadline)
                }
                None => (Cancel::Unknown, own_bound),
            },
            Some(Carrier::Request(_) | Carrier::Receiver) => (Cancel::Unknown, own_bound),
        }
    }

    fn callee(&self, at: At, call: ExprId, summary: &Arc<Summary>, found: &mut Vec<(At, Wait)>) {
        let function = self.function;
        let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return };
        for wait in &summary.waits {
            let mut hops = vec![Hop {
                location: self.location(function.file.expr(call).span),
                callee: function.line(callee).into(),
            }];
            hops.extend_from_slice(&wait.hops);
            while hops.len() > MAX_HOPS {
                hops.remove(MAX_HOPS - 2);
            }
            let (cancel, bounded) = match &wait.cancel {
                Cancel::By(places) => self.cancel_of_callee(at, call, places),
                other => (other.clone(), false),
            };
            let wait = Wait { cancel, timed: wait.timed || bounded, hops, ..wait.clone() };
            found.push((at, wait));
        }
    }

    /// What ends a callee's wait, by the names of this function, and whether a deadline does.
    fn cancel_of_callee(&self, at: At, call: ExprId, places: &[Place]) -> (Cancel, bool) {
        let function = self.function;
        let ExprKind::Call { callee, ref args, .. } = function.file.expr(call).kind else {
            return (Cancel::Unknown, false);
        };
        let mut enders = Vec::new();
        let mut bounded = false;
        for place in places {
            let base = match place.root {
                Root::Receiver => match function.file.expr(function.file.unparen(callee)).kind {
                    ExprKind::Selector { base, .. } => Some(base),
                    _ => None,
                },
                Root::Param(index) => args.get(index as usize).copied(),
                Root::Global(_) => {
                    enders.push(place.clone());
                    continue;
                }
                _ => None,
            };
            let Some(base) = base else { return (Cancel::Unknown, false) };
            if function.info.type_of(base).is_context() && place.path.is_empty() {
                let origin = context::origin(function, self.around, at, base);
                bounded |= origin.deadline;
                match origin.cancel() {
                    Cancel::By(places) => enders.extend(places),
                    Cancel::Nobody => {}
                    Cancel::Unknown => return (Cancel::Unknown, origin.deadline),
                }
                continue;
            }
            let Places { list, unknown } = function.object_places(at, base);
            if unknown {
                return (Cancel::Unknown, false);
            }
            for mut known in list {
                known.path.extend(&place.path);
                if known.path.is_too_long() {
                    return (Cancel::Unknown, false);
                }
                enders.push(known);
            }
        }
        (if enders.is_empty() { Cancel::Nobody } else { Cancel::By(enders) }, bounded)
    }

    fn wait(&self, span: Span, what: What, cancel: Cancel, timed: bool) -> Wait {
        Wait { location: self.location(span), what, cancel, timed, hops: Vec::new() }
    }

    fn location(&self, span: Span) -> Location {
        Location { file: self.function.file_id, span }
    }
}
