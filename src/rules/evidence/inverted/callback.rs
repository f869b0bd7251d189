//! Literals that a function gives to another one of the package, which runs them in turn: what they lock is locked
//! with what that function holds meanwhile.

use super::below::{as_lock, own};
use super::{Cx, Lock};
use crate::index::{FuncId, LocalKind, Type};
use crate::rules::PackageCx;
use crate::rules::evidence::locks::held_at;
use crate::rules::scene::Scene;
use crate::summary::{Read, Source};
use crate::syntax::{ExprId, ExprKind, Node};

/// How many literals run in one that is given at most.
const MAX_LITERALS: usize = 4;

/// An argument that is run in turn.
pub(super) struct Run {
    /// Which it is.
    place: u32,
    /// The literal, and those that it calls by their variables.
    pub literals: Vec<ExprId>,
}

/// The arguments of a call that the function of the package runs in turn.
pub(super) fn runs(
    scene: &Scene<'_>,
    read: &Read<'_>,
    call: ExprId,
    called: &Scene<'_>,
) -> Vec<Run> {
    let args = (0..).zip(scene.args(call));
    let given = args.filter_map(|(place, &arg)| {
        let literal = literal_of(scene, read, arg)?;
        runs_of(called, place).next()?;
        Some(Run { place, literals: run_by(scene, read, literal) })
    });
    given.collect()
}

/// The literal that an expression is, or a variable that never holds anything else.
fn literal_of(scene: &Scene<'_>, read: &Read<'_>, expr: ExprId) -> Option<ExprId> {
    let is_literal = |expr: &ExprId| matches!(scene.file.expr(*expr).kind, ExprKind::FuncLit(_));
    let expr = scene.file.unparen(expr);
    if is_literal(&expr) {
        return Some(expr);
    }
    let only = read.function.only_definition_of(scene.local(expr)?)?;
    match only.source {
        Source::Expr(value) => Some(scene.file.unparen(value)).filter(is_literal),
        _ => None,
    }
}

/// A literal, and those that run in it by their variables.
fn run_by(scene: &Scene<'_>, read: &Read<'_>, literal: ExprId) -> Vec<ExprId> {
    let mut all = vec![literal];
    let mut next = 0;
    while let Some(&inside) = all.get(next).filter(|_| all.len() < MAX_LITERALS) {
        next += 1;
        for &node in scene.nodes.iter() {
            let Node::Expr(call) = node else { continue };
            let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { continue };
            if scene.runs_in_turn(Some(inside), call)
                && let Some(other) = literal_of(scene, read, callee)
                && !all.contains(&other)
            {
                all.push(other);
            }
        }
    }
    all
}

/// The locks that a function holds when it calls one of its parameters in turn, as a caller reaches them that
/// gives a literal for it.
pub(super) fn held_around(
    cx: &Cx<'_, '_>,
    scene: &Scene<'_>,
    read: &Read<'_>,
    called: &Scene<'_>,
    (call, run): (ExprId, &Run),
) -> Vec<Lock> {
    let Some(cfg) = called.graph(None) else { return Vec::new() };
    let mut held = Vec::new();
    for at in runs_of(called, run.place).filter_map(|run| cfg.step_of_expr(run)) {
        for taken in held_at(called, cx.locks, None, &cfg, at) {
            let own = own(called, taken);
            held.extend(own.and_then(|below| as_lock(cx, scene, read, &below, call)));
        }
    }
    held
}

/// Where a function calls one of its parameters in turn.
fn runs_of<'s>(scene: &'s Scene<'_>, place: u32) -> impl Iterator<Item = ExprId> + 's {
    scene.nodes.iter().filter_map(move |&node| {
        let Node::Expr(call) = node else { return None };
        let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return None };
        let local = scene.local(callee)?;
        let is_it = scene.info.local(local).kind == LocalKind::Param(place);
        (is_it && scene.runs_in_turn(None, call)).then_some(call)
    })
}

/// The functions that call those which run one of their parameters with a lock held, and are not among them.
pub(super) fn callers_of_runners(package: &PackageCx<'_>, scenes: &[Scene<'_>]) -> Vec<FuncId> {
    let runs = |scene: &&Scene<'_>| {
        let params = scene.info.locals().iter().filter_map(|local| match local.kind {
            LocalKind::Param(place) if matches!(local.ty, Type::Func(_)) => Some(place),
            _ => None,
        });
        params.into_iter().any(|place| runs_of(scene, place).next().is_some())
    };
    let runners: Vec<FuncId> = scenes.iter().filter(runs).map(|scene| scene.cx.func).collect();
    if runners.is_empty() {
        return Vec::new();
    }
    let uses = package.uses();
    let callers = runners.iter().flat_map(|runner| uses.calls.get(runner).into_iter().flatten());
    let others = callers.map(|&(func, _)| func).filter(|func| {
        func.package == package.package && scenes.iter().all(|scene| scene.cx.func != *func)
    });
    let mut others: Vec<FuncId> = others.collect();
    others.sort_unstable_by_key(|func| func.index);
    others.dedup();
    others
}
