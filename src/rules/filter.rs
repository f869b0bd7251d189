//! What a filter does with the request and the response that it is given: a filter is a function
//! from handler to handler, and is judged by the body of the handler that it makes, never by its
//! name. What a library's filter does is the catalog's to say.

mod after;
mod made;
mod stash;
mod state;

use crate::catalog::{Effect as Touch, Filter, Part, Share, TypeRole};
use crate::flow::{Step, StepId};
use crate::index::{Builtin, Callee, FuncId, LocalId, LocalKind};
use crate::rules::FunctionCx;
use crate::rules::handoff::{
    goes_on_with_chain, has_role, is_any_handlers, is_handler, is_left_behind, runs_handler,
    variable,
};
use crate::rules::sharing::{self, Sharing};
use crate::source::Location;
use crate::summary::{Act, At, BodyId, Effect, Function, Mode, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind, Node};

pub use after::{HeaderRead, Told};
pub use stash::Stash;
pub use state::{StateUse, StateWrite};

/// The functions of the run that the handlers call that `value` is or makes, a few calls deep.
pub fn calls(cx: &FunctionCx<'_>, function: &Function<'_>, at: At, value: ExprId) -> Vec<FuncId> {
    let mut open: Vec<(FuncId, Option<BodyId>)> = made::handlers(cx, function, at, value)
        .0
        .into_iter()
        .map(|made| (made.func, Some(made.body)))
        .collect();
    let mut found: Vec<FuncId> = Vec::new();
    for _ in 0..CALL_DEPTH {
        for (func, body) in std::mem::take(&mut open) {
            let Some(read) = cx.summaries().read(func) else { continue };
            let function = &read.function;
            let below = |inner: BodyId| {
                body.is_none_or(|body| {
                    inner == body || function.enclosing(inner).any(|around| around == body)
                })
            };
            for body in function.bodies().filter(|&body| below(body)) {
                let cfg = &function.body(body).cfg;
                for call in cfg.steps().filter_map(|step| cfg.step(step).call(function.file)) {
                    if let Callee::Func(callee) = function.info.callee(call)
                        && !found.contains(callee)
                        && found.len() < MAX_CALLED
                    {
                        found.push(*callee);
                        open.push((*callee, None));
                    }
                }
            }
        }
    }
    found
}

/// How deep calls are followed from a handler, and how many functions at most.
const CALL_DEPTH: u32 = 3;
const MAX_CALLED: usize = 1000;

/// What is known of a filter.
#[derive(Clone, Debug, Default)]
pub struct FilterFacts {
    /// Where the knowledge is from.
    pub known: Known,
    /// What the inner handler gets of the request.
    pub request: Given,
    /// What the inner handler gets of the response writer.
    pub writer: Given,
    /// It runs the inner handler in a goroutine, and may leave before that has finished.
    pub hands_off: Option<HandsOff>,
    /// It puts its response writer where the inner side can reach it by the request's context.
    pub stashes: Option<Stash>,
    /// Where it reads the header map of its request after the inner handler has returned.
    pub reads_after: Vec<HeaderRead>,
    /// What it uses after that of objects that the inner side can reach by the request's context,
    /// and changes.
    pub state_after: Vec<StateUse>,
    /// Where it changes the header map of the request.
    pub changes_request: Option<Location>,
    /// Where it touches the response before the inner handler runs.
    pub answers_before: Option<Location>,
    /// Where it touches the response after that has returned.
    pub answers_after: Option<Location>,
    /// Whether it recovers panics of the inner handler.
    pub recovers: bool,
}

/// Where the knowledge of a filter is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// Nothing is known.
    #[default]
    Nothing,
    /// From the catalog.
    Catalog,
    /// From the body of its handler, which starts here.
    Body(Location),
}

/// What an inner handler gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Given {
    /// That is not known, or nothing, as where there is no inner handler.
    #[default]
    Unknown,
    /// What the filter got.
    Same,
    /// A copy that shares the maps of what the filter got; a request with another context.
    Derived,
    /// Something of its own.
    Own,
}

/// Where a filter hands off.
#[derive(Clone, Copy, Debug)]
pub struct HandsOff {
    /// The goroutine; `None` for a library's filter.
    pub at: Option<Location>,
    /// What the goroutine gets of the request.
    pub request: Given,
    /// What the goroutine gets of the response writer.
    pub writer: Given,
}

/// What the filter does that `value` is or gives: a call that is given the inner handler, or a
/// function from handler to handler.
pub fn of_value(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    value: ExprId,
) -> FilterFacts {
    if let Some(filter) = made::in_catalog::<Filter>(cx, function, value) {
        return of_catalog(filter);
    }
    let mut known = FilterFacts::default();
    let (made, of_libraries) = made::handlers(cx, function, at, value);
    of_libraries.into_iter().for_each(|filter| known.merge(of_catalog(filter)));
    for made in made {
        known.merge(of_body(&FunctionCx { func: made.func, ..*cx }, &made.read, made.body));
    }
    known
}

fn of_catalog(filter: &Filter) -> FilterFacts {
    let given = |share| match share {
        Share::Shared | Share::Stashed => Given::Same,
        Share::Isolated => Given::Own,
    };
    let request = match given(filter.request) {
        Given::Same => Given::Derived,
        other => other,
    };
    FilterFacts {
        known: Known::Catalog,
        request: given(filter.request),
        writer: given(filter.writer),
        hands_off: filter.hands_off.then_some(HandsOff {
            at: None,
            request,
            writer: given(filter.writer),
        }),
        stashes: (filter.writer == Share::Stashed).then_some(Stash { at: None, used: None }),
        reads_after: filter.reads_header_after.then(HeaderRead::of_library).into_iter().collect(),
        recovers: filter.recovers,
        ..FilterFacts::default()
    }
}

impl FilterFacts {
    /// Adds what another handler does that the same filter may make.
    fn merge(&mut self, other: FilterFacts) {
        if self.known == Known::Nothing {
            *self = other;
            return;
        }
        self.request = self.request.of_either(other.request);
        self.writer = self.writer.of_either(other.writer);
        self.hands_off = self.hands_off.or(other.hands_off);
        self.stashes = self.stashes.or(other.stashes);
        self.reads_after.extend(other.reads_after);
        self.state_after.extend(other.state_after);
        self.changes_request = self.changes_request.or(other.changes_request);
        self.answers_before = self.answers_before.or(other.answers_before);
        self.answers_after = self.answers_after.or(other.answers_after);
        self.recovers |= other.recovers;
    }
}

impl Given {
    /// What is given where it may be either; what is shared on one path is shared.
    fn of_either(self, other: Given) -> Given {
        match (self, other) {
            (Given::Unknown, known) | (known, Given::Unknown) => known,
            (Given::Derived, _) | (_, Given::Derived) => Given::Derived,
            (a, b) if a == b => a,
            _ => Given::Same,
        }
    }
}

/// What the body of a handler does.
fn of_body<'a>(cx: &FunctionCx<'a>, read: &Read<'a>, body: BodyId) -> FilterFacts {
    let function = &read.function;
    let parameters = Parameters::of(cx, function, body);
    let next = next_calls(cx, function, body);
    let mut facts = FilterFacts {
        known: Known::Body(cx.location(function.file.stmt(function.body(body).block).span)),
        hands_off: hands_off(cx, read, body, &parameters),
        stashes: parameters.writer.and_then(|writer| stash::find(cx, read, body, writer)),
        reads_after: after::reads(cx, read, body, &parameters, &next),
        state_after: state::uses(cx, read, body, &|step| {
            after::follows(function, body, step, &next)
        }),
        recovers: recovers(read, body),
        ..FilterFacts::default()
    };
    for &(step, call) in &next {
        let at = At { body, step };
        let (writer, request) = given(cx, function, at, call, &parameters);
        facts.writer = facts.writer.of_either(writer);
        facts.request = facts.request.of_either(request);
    }
    if next.is_empty() && parameters.request.is_some() && parameters.request == parameters.writer {
        // The framework goes on with the same value when this has returned.
        (facts.writer, facts.request) = (Given::Same, Given::Same);
    }
    if let Some(hands_off) = facts.hands_off {
        facts.writer = facts.writer.of_either(hands_off.writer);
        facts.request = facts.request.of_either(hands_off.request);
    }
    for effect in &read.effects(body).effects {
        let place = || Some(cx.location(function.step(effect.at).span(function.file)));
        if changes_request(effect, function, &parameters) {
            facts.changes_request = facts.changes_request.or_else(place);
        }
        if answers(effect, function, &parameters) {
            let cfg = &function.body(body).cfg;
            let step = effect.at.step;
            if next.iter().any(|&(next, _)| next != step && cfg.reaches(step, next)) {
                facts.answers_before = facts.answers_before.or_else(place);
            } else if next.iter().any(|&(next, _)| next != step && cfg.reaches(next, step)) {
                facts.answers_after = facts.answers_after.or_else(place);
            }
        }
    }
    facts
}

/// The parameters of a handler.
struct Parameters {
    writer: Option<LocalId>,
    request: Option<LocalId>,
}

impl Parameters {
    fn of(cx: &FunctionCx<'_>, function: &Function<'_>, body: BodyId) -> Parameters {
        let literal = function.body(body).literal;
        let find = |role: TypeRole| {
            let found = function.info.locals().iter().position(|local| {
                local.owner == literal
                    && matches!(local.kind, LocalKind::Param(_))
                    && has_role(cx, &local.ty, role)
            })?;
            Some(LocalId(found as u32))
        };
        Parameters { writer: find(TypeRole::ResponseWriter), request: find(TypeRole::Request) }
    }
}

/// The place of a parameter.
fn place_of(function: &Function<'_>, parameter: LocalId) -> Option<Place> {
    let local = function.info.local(parameter);
    match (local.kind, local.owner) {
        (LocalKind::Param(index), None) => Some(Place::root(Root::Param(index))),
        (LocalKind::Param(index), Some(literal)) => {
            Some(Place::root(Root::LiteralParam(literal, index)))
        }
        _ => None,
    }
}

fn is_of(function: &Function<'_>, place: &Place, parameter: Option<LocalId>) -> bool {
    let own = parameter.and_then(|parameter| place_of(function, parameter));
    own.is_some_and(|own| place.is_within(&own))
}

/// The calls of a body that run the inner handler, which is a value that was given and no function
/// of known name.
fn next_calls(cx: &FunctionCx<'_>, function: &Function<'_>, body: BodyId) -> Vec<(StepId, ExprId)> {
    let cfg = &function.body(body).cfg;
    cfg.steps()
        .filter_map(|step| {
            let Step::Call(call) = cfg.step(step) else { return None };
            runs_next(cx, function, call).then_some((step, call))
        })
        .collect()
}

/// The variable with the inner handler that a literal runs.
pub fn next_of_literal(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    literal: ExprId,
) -> Option<LocalId> {
    let body = function.body_of_literal(literal)?;
    next_calls(cx, function, body).into_iter().find_map(|(_, call)| {
        let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return None };
        match function.file.expr(function.file.unparen(callee)).kind {
            ExprKind::Selector { base, .. } => variable(function, base),
            _ => variable(function, callee),
        }
    })
}

fn runs_next(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return false };
    let is_next = |expr: ExprId| match function.file.expr(function.file.unparen(expr)).kind {
        ExprKind::Selector { name, .. } => name.name.as_str() == "Next",
        _ => false,
    };
    match function.info.callee(call) {
        Callee::InterfaceMethod(_) | Callee::Value(_) | Callee::Unknown { .. } => {
            is_handler(cx, function, call) || goes_on_with_chain(cx, function, call)
        }
        // `handler.ServeHTTP` of a `http.HandlerFunc`.
        Callee::Func(func) => {
            let of_library = cx.summaries().of(*func).is_none();
            of_library && is_any_handlers(cx, function, callee) && is_handler(cx, function, call)
                || is_next(callee) && goes_on_with_chain(cx, function, call)
        }
        Callee::External(_) => {
            is_any_handlers(cx, function, callee) && is_handler(cx, function, call)
                || is_next(callee) && goes_on_with_chain(cx, function, call)
        }
        _ => false,
    }
}

/// What a call of the inner handler is given: of the response, and of the request.
fn given(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    call: ExprId,
    parameters: &Parameters,
) -> (Given, Given) {
    let ExprKind::Call { args, .. } = &function.file.expr(call).kind else {
        return (Given::Unknown, Given::Unknown);
    };
    let [writer, request] = args[..] else { return (Given::Same, Given::Same) };
    let writer = writer_given(function, at, writer, parameters);
    let request = match sharing::callers_request(cx, function, request) {
        Some((_, Sharing::Same)) => Given::Same,
        Some((_, Sharing::Shallow)) => Given::Derived,
        None if sharing::is_deep_copy(cx, function, request) => Given::Own,
        None => Given::Unknown,
    };
    (writer, request)
}

/// What a writer that is given on is to the one of the handler's parameters.
fn writer_given(function: &Function<'_>, at: At, writer: ExprId, parameters: &Parameters) -> Given {
    let own = parameters.writer.and_then(|writer| place_of(function, writer));
    let places = function.places(at, writer);
    match own {
        Some(own) if places.only() == Some(&own) => Given::Same,
        Some(own) if places.may_be(&own) => Given::Derived,
        _ => Given::Own,
    }
}

/// Where the body starts a goroutine with the inner handler that it may leave behind.
fn hands_off(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    body: BodyId,
    parameters: &Parameters,
) -> Option<HandsOff> {
    let function = &read.function;
    let spawns = &read.effects(body).spawns;
    let spawn = spawns
        .iter()
        .find(|spawn| is_left_behind(read, spawn) && runs_handler(cx, function, spawn))?;
    let file = function.file;
    let below: Vec<Node> = file.descendants(Node::Expr(spawn.call)).collect();
    let served = function.bodies().find_map(|body| {
        let cfg = &function.body(body).cfg;
        cfg.steps().find_map(|step| {
            let call = cfg.step(step).call(file)?;
            let goes_on = is_handler(cx, function, call) || goes_on_with_chain(cx, function, call);
            (goes_on && below.contains(&Node::Expr(call))).then_some((At { body, step }, call))
        })
    });
    let (writer, request) = match served {
        Some((at, call)) => given(cx, function, at, call, parameters),
        None => (Given::Unknown, Given::Unknown),
    };
    let at = Some(cx.location(function.step(spawn.at).span(file)));
    Some(HandsOff { at, request, writer })
}

/// Whether an effect changes the header map of the request.
fn changes_request(effect: &Effect, function: &Function<'_>, parameters: &Parameters) -> bool {
    let writes =
        matches!(effect.act, Act::Touched(Part::RequestHeader | Part::Header, Touch::Write));
    writes && is_of(function, &effect.place, parameters.request)
}

/// Whether an effect touches the response, itself.
fn answers(effect: &Effect, function: &Function<'_>, parameters: &Parameters) -> bool {
    matches!(effect.act, Act::Touched(Part::Response | Part::ResponseHeader, _))
        && effect.mode < Mode::Spawned
        && is_of(function, &effect.place, parameters.writer)
}

/// Whether the body defers a literal that recovers.
fn recovers(read: &Read<'_>, body: BodyId) -> bool {
    let function = &read.function;
    let is_recover =
        |call: ExprId| matches!(function.info.callee(call), Callee::Builtin(Builtin::Recover));
    let cfg = &function.body(body).cfg;
    cfg.steps().any(|step| {
        let Step::Defer(_) = cfg.step(step) else { return false };
        let Some(call) = cfg.step(step).call(function.file) else { return false };
        let Callee::Literal(literal) = function.info.callee(call) else { return false };
        function.body_of_literal(*literal).is_some_and(|body| {
            let cfg = &function.body(body).cfg;
            cfg.steps().any(|step| matches!(cfg.step(step), Step::Call(call) if is_recover(call)))
        })
    })
}
