//! The loops that end with a context or stop channel, and what they run in each turn.

use crate::catalog::{Base, Callback, Called, Carrier, Model, Op, Starter};
use crate::flow::{Step, StepId};
use crate::index::{Callee, Def, Index, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::callee_cannot_be_cancelled::{Look, stay};
use crate::summary::{At, BodyId, Function, facts};
use crate::syntax::{ExprId, StmtKind};

/// A call that is made in each turn of a loop.
pub(super) struct Turn {
    /// The call, or that of the function which runs a callback again and again.
    pub at: At,
    /// What is run.
    pub runs: Runs,
    /// The context or channel.
    pub end: ExprId,
    /// Where it is looked at.
    pub at_end: At,
}

/// What a turn runs.
#[derive(Clone, Copy)]
pub(super) enum Runs {
    /// This call.
    Call(ExprId),
    /// This function value.
    Value(ExprId),
}

/// The turns of a body's own loops, and of those that it leaves to a library.
pub(super) fn of_body(look: Look<'_, '_>, function: &Function<'_>, body: BodyId) -> Vec<Turn> {
    let cx = look.cx;
    let cfg = &function.body(body).cfg;
    let looks = |step| Some((step, looked_at(cx, function, At { body, step })?));
    let looks: Vec<(StepId, ExprId)> = cfg.steps().filter_map(looks).collect();
    let mut turns = Vec::new();
    for step in cfg.steps() {
        let Step::Call(call) = cfg.step(step) else { continue };
        let at = At { body, step };
        let left = left_to_library(cx, function, call);
        if let Some((value, end)) = left.or_else(|| left_to_function(look, function, call)) {
            turns.push(Turn { at, runs: Runs::Value(value), end, at_end: at });
            continue;
        }
        let same_loop = |&&(look, _): &&(StepId, ExprId)| {
            look != step && cfg.reaches(look, step) && cfg.reaches(step, look)
        };
        if let Some(&(look, end)) = looks.iter().find(same_loop) {
            let at_end = At { body, step: look };
            turns.push(Turn { at, runs: Runs::Call(call), end, at_end });
        }
    }
    turns
}

/// The context or stop channel that a step looks at: `<-ctx.Done()` in a `select`, `ctx.Err()`.
fn looked_at(cx: &FunctionCx<'_>, function: &Function<'_>, at: At) -> Option<ExprId> {
    match function.step(at) {
        Step::Select(stmt) => {
            let StmtKind::Select(clauses) = &function.file.stmt(stmt).kind else { return None };
            let comms = clauses.iter().filter_map(|clause| clause.comm).map(Step::Comm);
            let mut received = comms.filter_map(|comm| comm.received_from(function.file));
            received.find_map(|channel| ended_by(cx, function, channel))
        }
        Step::Call(call) => base_of_model(cx, function, call, Op::ContextErr),
        _ => None,
    }
}

/// The context whose end a channel tells, or the stop channel that it is.
fn ended_by(cx: &FunctionCx<'_>, function: &Function<'_>, channel: ExprId) -> Option<ExprId> {
    let channel = function.file.unparen(channel);
    if let Some(context) = base_of_model(cx, function, channel, Op::ContextDone) {
        return Some(context);
    }
    let Some(&Def::Local(local)) = stay::denoted(function.file, &function.info, channel) else {
        return None;
    };
    let local = function.info.local(local);
    let is_given = matches!(local.kind, LocalKind::Param(_));
    (is_given && function.index.is_signal(&local.ty)).then_some(channel)
}

/// The receiver of a call that is this operation of the abstract machine.
pub(super) fn base_of_model(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    op: Op,
) -> Option<ExprId> {
    let (base, _) = function.file.method_call(call)?;
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let model = known.in_force::<Model>(cx.versions())?;
    (model.op == op).then_some(base)
}

/// The function value that a library's function runs again and again until a context or channel
/// ends that it is given: `wait.Until(f, period, stop)`.
fn left_to_library(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<(ExprId, ExprId)> {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let starter = known.in_force::<Starter>(cx.versions()).filter(|starter| starter.waits)?;
    let callback = known.in_force::<Callback>(cx.versions())?;
    let args = function.args(call);
    let end = match (&starter.stop, starter.context) {
        (Some(stop), _) => param(stop.base)?,
        (None, Some(Carrier::Param(context))) => context,
        _ => return None,
    };
    let [run] = &callback.params[..] else { return None };
    let again = callback.called == Called::Before;
    let arg = |param: u32| args.get(param as usize).copied();
    Some((arg(param(run.base)?)?, arg(end)?)).filter(|_| again)
}

/// As [`left_to_library`], for a function that is there to be read.
fn left_to_function(
    look: Look<'_, '_>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<(ExprId, ExprId)> {
    let Callee::Func(callee) = *function.info.callee(call) else { return None };
    let index = look.cx.index();
    if stay::is_standard(look, callee.package) {
        return None;
    }
    let Type::Func(signature) = index.func_type(callee) else { return None };
    let takes = |wanted: &dyn Fn(&Type) -> bool| signature.params.iter().any(wanted);
    if !takes(&|ty| is_end(index, ty))
        || !takes(&|ty| matches!(index.underlying(ty), Type::Func(_)))
    {
        return None;
    }
    let read = look.below.read(callee)?;
    let inner = &read.function;
    let cfg = &inner.body(BodyId::OWN).cfg;
    let own = |step| At { body: BodyId::OWN, step };
    let looks = cfg.steps().filter_map(|step| {
        let end = looked_at(look.cx, inner, own(step))?;
        Some((step, parameter_at(inner, own(step), end)?))
    });
    let (run, end) = looks.into_iter().find_map(|(look, end)| {
        cfg.steps().find_map(|step| {
            let Step::Call(run) = cfg.step(step) else { return None };
            let Callee::Value(value) = *inner.info.callee(run) else { return None };
            let run = parameter_at(inner, own(step), value)?;
            (cfg.reaches(look, step) && cfg.reaches(step, look)).then_some((run, end))
        })
    })?;
    let args = function.args(call);
    Some((*args.get(run as usize)?, *args.get(end as usize)?))
}

/// The parameter that an expression stands for.
fn parameter_at(function: &Function<'_>, at: At, expr: ExprId) -> Option<u32> {
    let places = function.places(at, expr);
    let place = places.only()?;
    super::parameter(place.root).filter(|_| place.path.is_empty())
}

fn param(base: Base) -> Option<u32> {
    match base {
        Base::Param(param) => Some(param),
        _ => None,
    }
}

/// The parameter of its function that ends a loop.
pub(super) fn given(function: &Function<'_>, turn: &Turn) -> Option<u32> {
    parameter_at(function, turn.at, turn.end)
}

/// Whether a type is that of contexts or of channels that carry nothing.
pub(super) fn is_end(index: &Index<'_>, ty: &Type) -> bool {
    ty.is_context() || index.is_signal(ty)
}
