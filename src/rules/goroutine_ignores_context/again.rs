//! A loop that calls again and again what ends with a context.
//!
//! Evidence: each turn of a loop without a way out gives a function of the run the same context, and that function
//! returns when it is done. Who gives it meant the work to end, and the loop does not hear of it: from then on the
//! function returns at once, and is called again. A loop that itself waits for something else may be there for
//! others.

use crate::catalog;
use crate::diagnostic::Confidence;
use crate::flow::{Step, StepId};
use crate::index::{Callee, FuncId};
use crate::rules::goroutine_ignores_context::Missed;
use crate::rules::{FunctionCx, endable, literals, recurrence};
use crate::source::Location;
use crate::summary::{Act, At, BodyId, Function, Mode, Place, Read, Root, What};
use crate::syntax::{ExprId, StmtId, Symbol};

/// Of the body that a `go` statement starts, what the loop calls again and again: `cx` and `read` are of the function
/// that the body stands in.
pub(super) fn missed(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    body: BodyId,
    endless: StmtId,
) -> Option<Missed> {
    let function = &read.function;
    let cfg = &function.body(body).cfg;
    let (file, around) = (function.file, function.file.stmt(endless).span);
    let inside = || cfg.steps().filter(|&step| around.contains(cfg.step(step).span(file)));
    inside().find_map(|step| {
        let Step::Call(call) = cfg.step(step) else { return None };
        let Callee::Func(func) = *function.info.callee(call) else { return None };
        let at = At { body, step };
        let (param, arg) = function
            .args(call)
            .iter()
            .enumerate()
            .find(|(_, arg)| function.info.type_of(**arg).is_context())?;
        let (returns_at, name) = ends_with(cx, func, param as u32)?;
        let is_left_out =
            |other| other != step && cfg.reaches_without(other, other, &|passed| passed == step);
        if inside().any(is_left_out) || waits_beside(read, body, endless, step) {
            return None;
        }
        let given = given(cx, function, at, *arg)?;
        let location = Location { file: function.file_id, span: file.expr(call).span };
        Some(Missed {
            location,
            label: format!("`{name}` returns when {given} is done, and is called again"),
            end: format!("{given} is done"),
            also: Some((returns_at, format!("`{name}` ends with its context here"))),
            confidence: Confidence::Medium,
        })
    })
}

/// Where a function returns when a context is done that it is given, and its name.
fn ends_with(cx: &FunctionCx<'_>, func: FuncId, param: u32) -> Option<(Location, Symbol)> {
    let read = cx.summaries().read(func)?;
    let function = &read.function;
    let done = Place::root(Root::Param(param)).field(Symbol::new("Done()"));
    let cfg = &function.body(BodyId::OWN).cfg;
    let mut effects = read.effects(BodyId::OWN).effects.iter();
    let heard = effects.find(|effect| {
        effect.place == done
            && effect.mode == Mode::Now
            && matches!(effect.act, Act::Received(_))
            && matches!(cfg.step(effect.at.step), Step::Comm(_) | Step::Recv(_))
            && !cfg.reaches(effect.at.step, effect.at.step)
    })?;
    let span = cfg.step(heard.at.step).span(function.file);
    let name = function.index.func(func).name;
    Some((Location { file: function.file_id, span }, name))
}

/// Whether a loop waits for others than a clock or a lock, but for one step.
fn waits_beside(read: &Read<'_>, body: BodyId, endless: StmtId, but: StepId) -> bool {
    let function = &read.function;
    let (file, cfg) = (function.file, &function.body(body).cfg);
    let around = file.stmt(endless).span;
    read.waits(body).iter().any(|(at, wait)| {
        let is_short = wait.timed
            || matches!(wait.what, What::Library(catalog::Wait::Sleep | catalog::Wait::Lock));
        at.step != but && !is_short && around.contains(cfg.step(at.step).span(file))
    })
}

/// The name of the context that is given there, if it is derived from one that the function was given and that
/// somebody may end before the process does.
fn given(cx: &FunctionCx<'_>, function: &Function<'_>, at: At, context: ExprId) -> Option<String> {
    let of = |at: At, context: ExprId| {
        let origin = cx.summaries().context(function, at, context);
        let place = origin.only().filter(|place| place.path.is_empty() && !origin.detached)?;
        Some(place.root)
    };
    let root = match of(at, context)? {
        Root::LiteralParam(literal, index) => {
            let body = function.body_of_literal(literal)?;
            let (at, context) = literals::called_with(function, body, literal, index)?;
            of(at, context)?
        }
        root => root,
    };
    let Root::Param(index) = root else { return None };
    let stays = !endable::is_seen_to_end(cx, index)
        && !recurrence::calls(&cx.package, cx.declared()).is_empty();
    if stays || !endable::may_end(cx, index) {
        return None;
    }
    let param = function.info.local(function.info.param(None, index)?).name;
    Some(format!("`{param}` of `{}`", cx.declared().name))
}
