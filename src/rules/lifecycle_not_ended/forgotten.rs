//! What a function makes for itself alone, uses, and never ends on any way: a group of goroutines that
//! it does not wait for, or a channel that stays registered for signals each time that it runs.

use crate::catalog::{End, Resource};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::{LocalId, LocalKind, QualifiedName};
use crate::rules::FunctionCx;
use crate::rules::recurrence::{self, Runs};
use crate::rules::scene::{Scene, holds_any};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, UnaryOp};

/// The things of a function that it forgets.
pub(super) fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["errgroup", "Notify("]) {
        return;
    }
    let Some(scene) = Scene::new(*cx) else { return };
    for &node in scene.nodes.iter() {
        let Node::Expr(call) = node else { continue };
        if let ExprKind::Call { .. } = scene.file.expr(call).kind
            && let Some(fact) = scene.resource(call)
        {
            findings.extend(group(&scene, call, fact).or_else(|| registered(&scene, call, fact)));
        }
    }
}

/// A group whose goroutines are started, and that nobody waits for.
fn group(scene: &Scene<'_>, made: ExprId, fact: &Resource) -> Option<Finding> {
    let is_group = fact.context.is_some() && !fact.goroutine && fact.what.contains("group");
    let [End::Method(end)] = &fact.ends[..] else { return None };
    let (targets, _) = scene.assignment(scene.parent(Node::Expr(made))?)?;
    let group = targets.first().copied().flatten().filter(|_| is_group)?;
    let mut started = None;
    for usage in scene.uses(group).filter(|&usage| !scene.is_target(usage)) {
        let Some(Node::Expr(around)) = scene.parent(Node::Expr(usage)) else { return None };
        let Some(Node::Expr(call)) = scene.parent(Node::Expr(around)) else { return None };
        let (base, name) = scene.method_call(call)?;
        if scene.file.unparen(base) != usage || name.name.as_str() == &**end {
            return None;
        }
        if name.name.as_str().ends_with("Go") {
            started = started.or(Some(call));
        }
    }
    let started = started?;
    if targets.get(1).is_none_or(|context| context.is_none()) && fail_never(scene, group) {
        return None;
    }
    let name = scene.info.local(group).name;
    let message = format!(
        "nobody calls `{name}.{end}`: what its goroutines fail with is lost, and their context ends \
         only when its parent does"
    );
    let mut finding = scene.cx.finding(scene.span(Node::Expr(made)), "never waited for", message);
    finding.confidence = Confidence::Medium;
    finding.labels.push(Label {
        location: scene.cx.location(scene.span(Node::Expr(started))),
        role: Role::Started,
        message: "a goroutine is started here".to_owned(),
    });
    finding.help = format!("`{name}.{end}()` before the function returns");
    Some(finding)
}

/// Whether all goroutines of a group are literals that return nil.
fn fail_never(scene: &Scene<'_>, group: LocalId) -> bool {
    let is_nil = |literal: ExprId| {
        let mut returns = scene.nodes.iter().filter_map(|&node| match node {
            Node::Stmt(stmt) if scene.literal_around(node) == Some(literal) => {
                match &scene.file.stmt(stmt).kind {
                    StmtKind::Return(values) => Some(values),
                    _ => None,
                }
            }
            _ => None,
        });
        let is_literal = matches!(scene.file.expr(literal).kind, ExprKind::FuncLit(_));
        is_literal && returns.all(|values| values.iter().all(|&value| scene.is_nil(value)))
    };
    scene.uses(group).all(|usage| {
        let Some(Node::Expr(around)) = scene.parent(Node::Expr(usage)) else { return true };
        let Some(Node::Expr(call)) = scene.parent(Node::Expr(around)) else { return true };
        let starts =
            scene.method_call(call).is_some_and(|(_, name)| name.name.as_str().ends_with("Go"));
        !starts || scene.args(call).iter().all(|&given| is_nil(scene.file.unparen(given)))
    })
}

/// A channel of a function that runs again and again, registered each time and never taken back.
fn registered(scene: &Scene<'_>, call: ExprId, fact: &Resource) -> Option<Finding> {
    let [End::Function(end)] = &fact.ends[..] else { return None };
    let &channel = scene.args(call).first()?;
    let channel = scene.local(channel)?;
    let registers = scene.info.callee(call).qualified(scene.cx.index())?;
    let own = scene.info.local(channel).kind == LocalKind::Var && is_made_here(scene, channel);
    // `signal.Reset` undoes all that `Notify` did.
    let is_undone = holds_any(&scene.cx, &["signal.Reset("]);
    if !own
        || is_undone
        || !comes_to_its_end(scene)
        || !scene.uses(channel).all(|usage| is_received(scene, usage, registers))
    {
        return None;
    }
    let Runs::Again(location, told) = recurrence::runs(&scene.cx.package, scene.cx.func) else {
        return None;
    };
    let name = scene.info.local(channel).name;
    let message = format!(
        "`{name}` stays registered when `{}` returns, and one more each time that it runs",
        scene.name.name
    );
    let mut finding = scene.cx.finding(scene.span(Node::Expr(call)), "never taken back", message);
    finding.confidence = Confidence::Low;
    finding.labels.push(Label { location, role: Role::Context, message: told.to_owned() });
    finding.help = format!("`defer {}({name})`", end.short());
    Some(finding)
}

/// Whether the function is ever left, as one that goes round for ever is not.
fn comes_to_its_end(scene: &Scene<'_>) -> bool {
    scene.graph(None).is_none_or(|graph| graph.leaves_without(&|_| false))
}

/// Whether a use of a channel is a receive, or where it is given to the call that registers it.
fn is_received(scene: &Scene<'_>, usage: ExprId, registers: QualifiedName) -> bool {
    match scene.parent(Node::Expr(usage)) {
        Some(Node::Expr(around)) => match scene.file.expr(around).kind {
            ExprKind::Unary { op: UnaryOp::Recv, .. } => true,
            ExprKind::Call { .. } => {
                scene.info.callee(around).qualified(scene.cx.index()) == Some(registers)
            }
            _ => false,
        },
        _ => scene.is_target(usage),
    }
}

/// Whether a channel is what a call gives that stands here.
fn is_made_here(scene: &Scene<'_>, channel: LocalId) -> bool {
    let is_call = |value: &ExprId| {
        matches!(scene.file.expr(scene.file.unparen(*value)).kind, ExprKind::Call { .. })
    };
    scene.nodes.iter().filter_map(|&node| scene.assignment(node)).any(|(targets, values)| {
        targets == [Some(channel)] && values.len() == 1 && values.iter().all(is_call)
    })
}
