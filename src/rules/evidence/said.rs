//! A condition that cannot hold while somebody waits: what it asks says so only once a channel is closed, and that is
//! closed by who waits, later.
//!
//! Evidence: the condition is a variable with one value, the answer of a function that gives it nowhere but behind a
//! receive from a channel that it is given, and can do no more with. That channel is made where the goroutine waits
//! and given only to who asks; it is closed in the same body, from where no way leads back to the wait.

use crate::diagnostic::{Finding, Role};
use crate::flow::Exit;
use crate::index::{Builtin, Callee, FuncId, LocalId, LocalKind, Type};
use crate::rules::PackageCx;
use crate::rules::evidence::traffic::{place_of, received_from};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::summary::Source;
use crate::syntax::{ChanDir, ExprId, ExprKind, Node, StmtKind};

/// Whether a finding rests on an answer that is said too late for it.
pub fn is_said_too_late(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    let conditions = finding.labels.iter().filter(|label| label.role == Role::Condition);
    let mut asked = conditions.filter_map(|label| {
        let holds = label.message.ends_with(" is true");
        (holds || label.message.ends_with(" is false")).then_some((label.location, holds))
    });
    asked.any(|(at, holds)| is_closed_later(cx, at, holds, finding.primary).is_some())
}

/// Whether a condition has this answer only once a channel is closed that is not closed yet where somebody waits.
fn is_closed_later(cx: &PackageCx<'_>, at: Location, holds: bool, waits: Location) -> Option<()> {
    let asker = Scene::at(cx, at)?;
    let waiter = Scene::at(cx, waits)?;
    let Node::Expr(condition) = asker.outermost(at.span)? else { return None };
    let read = asker.cx.summaries().read(asker.cx.func)?;
    let definition = read.function.only_definition_of(asker.local(condition)?)?;
    let (Source::Expr(call) | Source::Result(call, 0)) = definition.source else { return None };
    let call = asker.file.unparen(call);
    let Callee::Func(callee) = *asker.info.callee(call) else { return None };
    let place = says_behind(&Scene::of(cx, callee)?, holds)?;
    let given = asker.local(*asker.args(call).get(place as usize)?)?;
    let channel = match asker.cx.func == waiter.cx.func {
        true => given,
        false => {
            let asks = |usage| argument_of(&asker, usage).is_some_and(|(func, _)| func == callee);
            let LocalKind::Param(param) = asker.info.local(given).kind else { return None };
            let mut calls = waiter.calls(asker.cx.func);
            let call = calls.next()?;
            if !asker.uses(given).all(asks) || calls.next().is_some() {
                return None;
            }
            waiter.local(*waiter.args(call).get(param as usize)?)?
        }
    };
    let to_asker = |usage| {
        let given = argument_of(&waiter, usage);
        given.is_some_and(|(func, _)| func == asker.cx.func || func == callee)
    };
    let all = waiter.uses(channel).all(|usage| {
        is_defined(&waiter, usage) || to_asker(usage) || is_late(&waiter, usage, waits)
    });
    (all && is_made(&waiter, channel)).then_some(())
}

/// The parameter that a function has received from wherever it returns this word. It must be known everywhere what
/// it returns.
fn says_behind(scene: &Scene<'_>, word: bool) -> Option<u32> {
    let cfg = scene.graph(None)?;
    let param = |channel: ExprId| {
        let local = scene.info.local(scene.local(channel)?);
        let only_receives = matches!(local.ty, Type::Chan(ChanDir::Recv, _));
        match local.kind {
            LocalKind::Param(place) if local.owner.is_none() && only_receives => Some(place),
            _ => None,
        }
    };
    let mut of_all = None;
    for (_, exit) in cfg.exits() {
        let Exit::Return(stmt) = exit else { continue };
        let StmtKind::Return(values) = &scene.file.stmt(stmt).kind else { return None };
        if scene.info.constant(*values.first()?)?.as_bool()? != word {
            continue;
        }
        let returned = cfg.step_of_stmt(stmt)?;
        let place = cfg.steps().find_map(|step| {
            let place = received_from(scene, &cfg, step).and_then(param)?;
            cfg.dominates(step, returned).then_some(place)
        })?;
        if of_all.replace(place).is_some_and(|other| other != place) {
            return None;
        }
    }
    of_all
}

/// The function of the run that a variable is given to where it is named, and at which place.
fn argument_of(scene: &Scene<'_>, usage: ExprId) -> Option<(FuncId, usize)> {
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(usage)) else { return None };
    let place = scene.args(call).iter().position(|&arg| scene.file.unparen(arg) == usage)?;
    match *scene.info.callee(call) {
        Callee::Func(func) => Some((func, place)),
        _ => None,
    }
}

/// Whether a variable is always one channel that is made for it.
fn is_made(scene: &Scene<'_>, channel: LocalId) -> bool {
    let made = || {
        let read = scene.cx.summaries().read(scene.cx.func)?;
        let Source::Expr(make) = read.function.only_definition_of(channel)?.source else {
            return None;
        };
        let callee = scene.info.callee(scene.file.unparen(make));
        matches!(callee, Callee::Builtin(Builtin::Make)).then_some(())
    };
    made().is_some()
}

fn is_defined(scene: &Scene<'_>, usage: ExprId) -> bool {
    match scene.parent(Node::Expr(usage)) {
        Some(Node::Stmt(stmt)) => match &scene.file.stmt(stmt).kind {
            StmtKind::Define { left, .. } => left.contains(&usage),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a channel is closed where it is named, by the body that waits, which does not come there before.
fn is_late(scene: &Scene<'_>, usage: ExprId, waits: Location) -> bool {
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(usage)) else { return false };
    let closes = matches!(scene.info.callee(call), Callee::Builtin(Builtin::Close))
        && matches!(scene.file.expr(call).kind, ExprKind::Call { .. });
    let late = || {
        let read = scene.cx.summaries().read(scene.cx.func)?;
        let closed = place_of(scene, &read, Node::Expr(call))?;
        let waits = place_of(scene, &read, scene.outermost(waits.span)?)?;
        let cfg = &read.function.body(waits.body).cfg;
        let is_late = scene.is_deferred(call) || !cfg.reaches(closed.step, waits.step);
        (closed.body == waits.body && is_late).then_some(())
    };
    closes && late().is_some()
}
