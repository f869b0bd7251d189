//! What a function sets going and may leave behind: the literal of a `go` statement, which stands there or
//! is the one value of a variable; or a literal that it gives to a call.
//!
//! Of what is given nobody says where it runs. Here the function does: it waits in a `select` beside other
//! arms for a channel of its own that this literal closes or, where there is no room, sends on. Had the
//! call run the literal in turn, there would be nothing to wait for, or the send would have had no receiver. A
//! function of the run may do so at times, if at others it starts it.
//! Who gets something back from the call may have a way to wait by that, and nothing is said; nor where a
//! `default` asks only whether there has been a word.

use crate::flow::Step;
use crate::index::{Builtin, Callee, Type};
use crate::rules::FunctionCx;
use crate::rules::handoff::go_keyword;
use crate::source::Span;
use crate::summary::{Act, At, BodyId, Function, Mode, Place, Read, Root, Source, Spawn};
use crate::syntax::{ExprId, ExprKind, StmtKind};

/// Something that runs beside the function.
pub struct Begun {
    /// Where it is set going.
    pub spawn: Spawn,
    /// The bodies that it surely runs itself: its literal, and those that this calls or defers where they
    /// stand.
    pub inside: Vec<BodyId>,
    /// What it is given to; `None` for a goroutine of the function's own.
    pub given_to: Option<String>,
}

impl Begun {
    /// Who runs it, for a message.
    pub fn who(&self) -> String {
        match &self.given_to {
            None => "the goroutine".to_owned(),
            Some(callee) => format!("what is given to `{callee}`"),
        }
    }

    /// Where it is set going, and how.
    pub fn start(&self, function: &Function<'_>) -> (Span, String) {
        match &self.given_to {
            None => (go_keyword(function, &self.spawn), "the goroutine is started here".to_owned()),
            Some(callee) => {
                let span = function.file.expr(self.spawn.call).span;
                (span, format!("`{callee}` is to run it elsewhere, says the `select` below"))
            }
        }
    }

    /// Whether a step may wait for what was given to a call: it calls something unknown on the same thing.
    pub fn may_be_awaited(&self, cx: &FunctionCx<'_>, function: &Function<'_>, at: At) -> bool {
        let Step::Call(call) = function.step(at) else { return false };
        let receiver = |call: ExprId| {
            function.file.method_call(call).map(|(receiver, _)| function.text(receiver))
        };
        let known = matches!(function.info.callee(call), Callee::Func(func)
            if cx.summaries().of(*func).is_some());
        let of = receiver(self.spawn.call);
        self.given_to.is_some() && !known && of.is_some() && receiver(call) == of
    }
}

/// What a body sets going.
pub fn all(read: &Read<'_>, body: BodyId) -> Vec<Begun> {
    let function = &read.function;
    let started = read.effects(body).spawns.iter().filter_map(|spawn| {
        let inside = bodies_of(function, spawn.call)?;
        Some(Begun { spawn: spawn.clone(), inside, given_to: None })
    });
    let mut begun: Vec<Begun> = started.collect();
    let cfg = &function.body(body).cfg;
    let is_select = |step| matches!(cfg.step(step), Step::Select(_));
    if !cfg.steps().any(is_select) {
        return begun;
    }
    for step in cfg.steps() {
        let Step::Call(call) = cfg.step(step) else { continue };
        begun.extend(given(read, At { body, step }, call));
    }
    begun
}

/// The literal that a call is given to run elsewhere.
fn given(read: &Read<'_>, at: At, call: ExprId) -> Option<Begun> {
    let function = &read.function;
    let literal = function.args(call).iter().find_map(|&arg| literal_of(function, arg))?;
    let gives = match function.info.type_of(call) {
        Type::Tuple(results) => !results.is_empty(),
        ty => !ty.is_error(),
    };
    let says = |act: Act| matches!(act, Act::Closed | Act::SentTo(_));
    let mut signals = read.effects_at(at).filter(|effect| {
        effect.mode >= Mode::Spawned
            && match effect.act {
                Act::Closed => is_made(function, &effect.place, false),
                Act::SentTo(_) => is_made(function, &effect.place, true),
                _ => false,
            }
    });
    let is_known = matches!(function.info.callee(call), Callee::Func(_));
    let elsewhere = |place: &Place| {
        read.effects_at(at).all(|effect| {
            effect.place != *place
                || !says(effect.act)
                || effect.mode >= Mode::Spawned
                || is_known && !effect.sure
        })
    };
    let is_awaited = !gives
        && signals
            .any(|signal| elsewhere(&signal.place) && waits_beside(function, at, &signal.place));
    is_awaited.then(|| {
        let spawn = Spawn { at, call, signals: Vec::new(), outlives: Vec::new() };
        let inside = with_called(function, literal);
        Begun { spawn, inside, given_to: Some(function.callee_text(call)) }
    })
}

/// Whether a channel is made by the function itself, and has no room if that is asked.
fn is_made(function: &Function<'_>, place: &Place, without_room: bool) -> bool {
    let Root::Made(made) = place.root else { return false };
    let args = function.args(made);
    place.path.is_empty()
        && matches!(function.info.callee(made), Callee::Builtin(Builtin::Make))
        && (!without_room || args.len() == 1)
}

/// Whether a `select` after a step waits for a channel beside other arms, and none only asks for it.
fn waits_beside(function: &Function<'_>, at: At, signal: &Place) -> bool {
    let cfg = &function.body(at.body).cfg;
    let mut waits = false;
    for step in cfg.steps() {
        let Step::Select(stmt) = cfg.step(step) else { continue };
        let StmtKind::Select(clauses) = &function.file.stmt(stmt).kind else { continue };
        let hears = clauses.iter().filter_map(|clause| clause.comm).any(|comm| {
            let channel = Step::Comm(comm).received_from(function.file);
            channel.is_some_and(|channel| {
                function.places(At { body: at.body, step }, channel).list.contains(signal)
            })
        });
        if hears && clauses.iter().any(|clause| clause.comm.is_none()) {
            return false;
        }
        waits |= hears && clauses.len() > 1 && cfg.reaches(at.step, step);
    }
    waits
}

/// The body of a literal that stands in place of a value, or is the one value of a variable.
fn literal_of(function: &Function<'_>, expr: ExprId) -> Option<BodyId> {
    let expr = function.file.unparen(expr);
    if matches!(function.file.expr(expr).kind, ExprKind::FuncLit(_)) {
        return function.body_of_literal(expr);
    }
    let variable = function.variable(expr).filter(|&variable| function.has_one_value(variable))?;
    match function.only_definition_of(variable)?.source {
        Source::Expr(value) => function.body_of_literal(function.file.unparen(value)),
        _ => None,
    }
}

/// The bodies that a goroutine surely runs itself.
fn bodies_of(function: &Function<'_>, call: ExprId) -> Option<Vec<BodyId>> {
    let literal = match function.info.callee(call) {
        Callee::Literal(literal) => function.body_of_literal(*literal)?,
        Callee::Value(value) => literal_of(function, *value)?,
        _ => return None,
    };
    Some(with_called(function, literal))
}

/// A body with those that it calls or defers where they stand.
fn with_called(function: &Function<'_>, literal: BodyId) -> Vec<BodyId> {
    let mut inside = vec![literal];
    for body in function.bodies() {
        let runs = |at: &At| {
            let call = function.step(*at).call(function.file);
            inside.contains(&at.body)
                && !matches!(function.step(*at), Step::Go(_))
                && call.is_some_and(|call| {
                    matches!(function.info.callee(call), Callee::Literal(literal)
                        if function.body_of_literal(*literal) == Some(body))
                })
        };
        let cfg = |of: BodyId| &function.body(of).cfg;
        let called = inside
            .iter()
            .flat_map(|&of| cfg(of).steps().map(move |step| At { body: of, step }))
            .any(|at| runs(&at));
        if called {
            inside.push(body);
        }
    }
    inside
}
