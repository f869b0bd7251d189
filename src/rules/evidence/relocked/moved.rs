//! Fields that lead to another object at a call than where the lock was taken.

use rustc_hash::FxHashSet;

use crate::index::{Callee, FuncId};
use crate::rules::evidence::locks::{Locks, MAX_CALLS};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, Node, StmtKind};

/// Whether a field that an expression selects is assigned after one call and before another, by the function or in
/// what it calls there.
pub(super) fn leads_elsewhere(
    scene: &Scene<'_>,
    locks: &Locks,
    expr: ExprId,
    (from, to): (ExprId, ExprId),
) -> bool {
    let fields = selected(scene, expr);
    if fields.is_empty() {
        return false;
    }
    let literal = scene.literal_around(Node::Expr(to));
    let Some(cfg) = scene.graph(literal) else { return false };
    let steps = cfg.step_of_expr(from).zip(cfg.step_of_expr(to));
    let Some((from, to)) = steps else { return false };
    scene.nodes.iter().any(|&node| {
        let assigns = match node {
            Node::Stmt(_) => assigns(scene, node, &fields),
            Node::Expr(call) => match *scene.info.callee(call) {
                Callee::Func(callee) => assigns_below(scene, locks, callee, &fields, MAX_CALLS),
                _ => false,
            },
            Node::Decl(_) => false,
        };
        assigns
            && scene.literal_around(node) == literal
            && scene
                .step_of(&cfg, node)
                .is_some_and(|step| step != to && cfg.reaches(from, step) && cfg.reaches(step, to))
    })
}

/// The fields that an expression selects, one of the other.
fn selected(scene: &Scene<'_>, expr: ExprId) -> FxHashSet<Location> {
    let mut fields = FxHashSet::default();
    let mut at = expr;
    while let Some((base, _)) = scene.selector(at) {
        fields.extend(scene.field(at));
        at = base;
    }
    fields
}

/// Whether a statement assigns one of these fields.
fn assigns(scene: &Scene<'_>, node: Node, fields: &FxHashSet<Location>) -> bool {
    let Node::Stmt(stmt) = node else { return false };
    let StmtKind::Assign { left, .. } = &scene.file.stmt(stmt).kind else { return false };
    left.iter().any(|&left| scene.field(left).is_some_and(|field| fields.contains(&field)))
}

/// Whether a function of the package does, or one that it calls, so many calls deep at most.
fn assigns_below(
    scene: &Scene<'_>,
    locks: &Locks,
    func: FuncId,
    fields: &FxHashSet<Location>,
    depth: u32,
) -> bool {
    let package = &scene.cx.package;
    let Some(callee) = Scene::of(package, func).filter(|_| func.package == package.package) else {
        return false;
    };
    callee.nodes.iter().any(|&node| assigns(&callee, node, fields))
        || depth.checked_sub(1).is_some_and(|depth| {
            let calls = locks.calls_of(package, func);
            calls.iter().any(|&(below, _, _)| {
                below != func && assigns_below(scene, locks, below, fields, depth)
            })
        })
}
