//! What lets one function in at a time, other than a lock: a channel with one place that is filled before and emptied
//! after or the other way round, and what says whether to go on: an atomic operation, `TryLock`, or a method that
//! keeps a flag under a lock.

use rustc_hash::FxHashSet;

use super::{Cx, Order};
use crate::flow::{Cfg, StepId};
use crate::index::{Callee, Def, FuncId};
use crate::rules::conditions::{asked, subject_of};
use crate::rules::evidence::groups::Groups;
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, UnaryOp};

/// What a function has to pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Gate {
    /// A channel, or what is swapped or locked.
    Field(Location),
    Method(FuncId),
}

/// The gates that a function has passed when it takes its first lock.
pub(super) fn of(cx: &Cx<'_, '_>, order: &Order) -> FxHashSet<Gate> {
    let scene = cx.scene(order);
    let first = order.first.taken;
    let Some(cfg) = scene.graph(first.literal) else { return FxHashSet::default() };
    let Some(at) = cfg.step_of_expr(first.call) else { return FxHashSet::default() };
    let passed = |node: Node| {
        scene.literal_around(node) == first.literal
            && scene.step_of(&cfg, node).is_some_and(|step| step != at && cfg.dominates(step, at))
    };
    let gates = scene.nodes.iter().filter(|&&node| passed(node)).filter_map(|&node| {
        match (scene.transfer(node), node) {
            (Some(taken), _) => place(cx, scene, taken),
            (None, Node::Expr(call)) => {
                let gate = keeper(cx, scene, call)?;
                decides(scene, &cfg, call, at).then_some(gate)
            }
            _ => None,
        }
    });
    gates.collect()
}

/// The field of a channel with one place on which the function both sends and receives: what it has taken it gives
/// back.
fn place(cx: &Cx<'_, '_>, scene: &Scene<'_>, (channel, receives): (ExprId, bool)) -> Option<Gate> {
    let field = scene.field(channel)?;
    let gives_back = scene.nodes.iter().filter_map(|&node| scene.transfer(node)).any(
        |(other, other_receives)| other_receives != receives && scene.field(other) == Some(field),
    );
    if !gives_back {
        return None;
    }
    let groups = Groups::of(cx.package);
    let at = groups.scenes.iter().position(|other| other.cx.func == scene.cx.func)?;
    let group = groups.of_expr(at, channel)?;
    let mut sizes = group.sizes();
    let one = sizes.next() == Some(Some(1)) && sizes.all(|size| size == Some(1));
    (one && !group.open).then_some(Gate::Field(field))
}

/// What a call asks that lets one in.
fn keeper(cx: &Cx<'_, '_>, scene: &Scene<'_>, call: ExprId) -> Option<Gate> {
    if let Callee::Func(callee) = *scene.info.callee(call)
        && callee.package == scene.cx.func.package
    {
        let (base, _) = scene.method_call(call)?;
        let keeps = scene.local(base).is_some()
            && cx.locks.taken.contains_key(&callee)
            && Scene::of(cx.package, callee).is_some_and(|callee| assigns_field(&callee));
        return keeps.then_some(Gate::Method(callee));
    }
    let (base, name) = scene.method_call(call)?;
    let name = name.name;
    match name.as_str() {
        "CompareAndSwap" | "Swap" | "TryLock" => scene.field(base).map(Gate::Field),
        // Those of package atomic are given what they swap.
        name if name.starts_with("CompareAndSwap") || name.starts_with("Swap") => {
            let &first = scene.args(call).first()?;
            match scene.file.expr(scene.file.unparen(first)).kind {
                ExprKind::Unary { op: UnaryOp::Addr, operand } => {
                    scene.field(operand).map(Gate::Field)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a function assigns a field of anything.
fn assigns_field(scene: &Scene<'_>) -> bool {
    scene.nodes.iter().any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Assign { left, .. } = &scene.file.stmt(stmt).kind else { return false };
        left.iter()
            .any(|&left| matches!(scene.info.resolve(scene.file.unparen(left)), Def::Field(_)))
    })
}

/// Whether a step is reached for one answer of a call only.
fn decides(scene: &Scene<'_>, cfg: &Cfg, call: ExprId, at: StepId) -> bool {
    let asks = |subject: ExprId| {
        scene.file.descendants(Node::Expr(subject)).any(|node| node == Node::Expr(call))
    };
    let edges = cfg.edges();
    edges
        .filter(|edge| {
            asked(scene.file, edge.kind).is_some()
                && subject_of(scene.file, edge.kind).is_some_and(asks)
        })
        .any(|edge| !cfg.leads(edge, at))
}
