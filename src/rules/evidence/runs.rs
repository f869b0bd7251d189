//! When the function literals of a function run.

use crate::catalog::{Base, Callback, Called};
use crate::index::{Callee, LocalId};
use crate::rules::scene::Scene;
use crate::summary::{At, BodyId, Function, facts};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// How a literal is run at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// In a new goroutine.
    Go,
    /// When the function around the place is left.
    Defer,
    /// Before the place is over.
    Call,
}

/// One place where a literal is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub at: At,
    pub how: How,
}

/// All places where a literal of the function is run; `None` if it may be run elsewhere too.
pub(super) fn runs(scene: &Scene<'_>, function: &Function<'_>, body: BodyId) -> Option<Vec<Run>> {
    let literal = function.body(body).literal?;
    if let Some(run) = run_of(scene, function, literal) {
        return Some(vec![run]);
    }
    let variable = variable_of(scene, literal)?;
    if function.definitions_of(variable).count() > 2 {
        return None;
    }
    let mut runs = Vec::new();
    for usage in scene.uses(variable) {
        match run_of(scene, function, usage) {
            Some(run) => runs.push(run),
            None if scene.is_target(usage) => {}
            None => return None,
        }
    }
    // A variable declared before it is assigned, so that it can call itself, is zero first.
    Some(runs)
}

/// How the function that `expr` stands for is run by what stands around it.
fn run_of(scene: &Scene<'_>, function: &Function<'_>, expr: ExprId) -> Option<Run> {
    let Node::Expr(call) = scene.parent(Node::Expr(expr))? else { return None };
    let ExprKind::Call { callee, ref args, .. } = scene.file.expr(call).kind else { return None };
    let at = function.at_call(call)?;
    if scene.file.unparen(callee) == expr {
        let how = match scene.parent(Node::Expr(call)) {
            Some(Node::Stmt(stmt)) => match scene.file.stmt(stmt).kind {
                StmtKind::Go(_) => How::Go,
                StmtKind::Defer(_) => How::Defer,
                _ => How::Call,
            },
            _ => How::Call,
        };
        return Some(Run { at, how });
    }
    let place = args.iter().position(|&arg| scene.file.unparen(arg) == expr)? as u32;
    let index = scene.cx.index();
    let named = scene.info.callee(call);
    if let Callee::Func(func) = named
        && scene.cx.summaries().starts(scene.cx.func.package, *func, place)
    {
        return Some(Run { at, how: How::Go });
    }
    let known = facts(scene.cx.catalog(), index, named);
    let called = known.all_in_force::<Callback>(scene.cx.versions()).find_map(|fact| {
        let this = |param: &crate::catalog::Place| {
            matches!(param.base, Base::Param(index) if index == place) && param.field.is_none()
        };
        fact.params.iter().any(this).then_some(fact.called)
    })?;
    match called {
        Called::Goroutine => Some(Run { at, how: How::Go }),
        _ => None,
    }
}

/// The variable that a literal is assigned to where it stands.
fn variable_of(scene: &Scene<'_>, literal: ExprId) -> Option<LocalId> {
    let around = scene.parent(Node::Expr(literal))?;
    let (targets, values) = scene.assignment(around)?;
    let place = values.iter().position(|&value| scene.file.unparen(value) == literal)?;
    *targets.get(place)?
}
