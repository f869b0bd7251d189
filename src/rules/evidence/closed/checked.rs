//! A channel that is closed between a question whether it is and the send that the answer allows.
//!
//! Evidence: a method sends on a channel of its receiver after it has asked a field whether all is over; another
//! sets that field and closes the channel, and waits for nobody before. No lock is held by both, so that the close
//! may come after the question and before the send. That the one asks says that it may run beside the other. Where
//! all that are known to close it wait for others, those are over by then.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Callee, Def, FuncId};
use crate::rules::evidence::closed::ended::may_come_beside;
use crate::rules::evidence::closed::{finding, waits};
use crate::rules::evidence::groups::{Group, Groups, Op};
use crate::rules::evidence::label;
use crate::rules::recurrence;
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, UnaryOp};

/// Reports a close that may come between question and send.
pub(super) fn unheeded(groups: &Groups<'_>, group: &Group, close: &Op) -> Option<Finding> {
    let closer = &groups.scenes[close.scene];
    let is_field = |scene: &Scene<'_>, channel: ExprId| {
        matches!(scene.info.resolve(scene.file.unparen(channel)), Def::Field(_))
    };
    if close.literal.is_some()
        || group.open
        || waits_before(closer, close)
        || !is_field(closer, close.channel)
    {
        return None;
    }
    let before = closer.span(close.node).start;
    let mut flags: Vec<Location> = set(closer, before).collect();
    for (call, callee, _) in closer.methods_in_turn(None) {
        if closer.span(Node::Expr(call)).start < before
            && let Some(callee) = Scene::of(&closer.cx.package, callee)
        {
            flags.extend(set(&callee, u32::MAX));
        }
    }
    if flags.is_empty() {
        return None;
    }
    let (send, asked) = group.ops.iter().find_map(|op| {
        let sender = &groups.scenes[op.scene];
        let may = op.scene != close.scene
            && is_field(sender, op.channel)
            && may_come_beside(groups, op, closer.cx.func);
        may.then(|| Some((op, asked_before(sender, op, &flags)?)))?
    })?;
    if all_callers_wait(closer) {
        return None;
    }
    let sender = &groups.scenes[send.scene];
    let name = closer.text(close.channel);
    let message = format!(
        "`{name}` may be closed here when `{}` has asked and not sent yet: that send panics",
        sender.name.name
    );
    let mut finding = finding(groups, close, message);
    let question = Label {
        location: sender.cx.location(sender.span(Node::Expr(asked))),
        role: Role::Context,
        message: "asked here".to_owned(),
    };
    finding.labels.push(question);
    finding.labels.push(label(groups, send, Role::Context, "sent here, whatever came since"));
    finding.help = "ask and send under the lock under which it is closed, or do not close it, and \
                    let the receiver leave by another channel"
        .to_owned();
    Some(finding)
}

/// Whether some of the run call a function by its name, and all of those wait for others.
fn all_callers_wait(closer: &Scene<'_>) -> bool {
    let calls = recurrence::calls(&closer.cx.package, closer.cx.declared()).into_iter();
    let mut callers = calls
        .filter_map(|(caller, call)| {
            let caller = Scene::of(&closer.cx.package, caller)?;
            matches!(caller.info.callee(call), Callee::Func(_)).then_some(caller)
        })
        .peekable();
    callers.peek().is_some() && callers.all(|caller| waits(&caller))
}

/// Whether a function waits for others before it closes a channel.
fn waits_before(scene: &Scene<'_>, close: &Op) -> bool {
    let before = scene.span(close.node).start;
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(call) => scene.method_call(call).is_some_and(|(_, name)| {
            name.name.as_str() == "Wait" && scene.span(node).start < before
        }),
        _ => false,
    })
}

/// The fields that a function sets before a place: to a constant, or as an atomic value.
fn set(scene: &Scene<'_>, before: u32) -> impl Iterator<Item = Location> {
    let is_set = move |node: Node| match node {
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, op: None, right } => {
                let is_fixed = |value: ExprId| scene.info.constant(value).is_some();
                let mut set = left.iter().zip(right).filter(|&(_, &value)| is_fixed(value));
                set.find_map(|(&left, _)| scene.field(left))
            }
            _ => None,
        },
        Node::Expr(call) => {
            let (base, name) = scene.method_call(call)?;
            let sets = ["Store", "Swap", "CompareAndSwap", "Add"];
            if !sets.iter().any(|start| name.name.as_str().starts_with(start)) {
                return None;
            }
            let of_package = || match scene.file.expr(*scene.args(call).first()?).kind {
                ExprKind::Unary { op: UnaryOp::Addr, operand } => scene.field(operand),
                _ => None,
            };
            scene.field(base).or_else(of_package)
        }
        Node::Decl(_) => None,
    };
    let nodes = scene.nodes.iter().filter(move |&&node| scene.span(node).start < before);
    nodes.filter_map(move |&node| is_set(node))
}

/// The condition of an `if` above a send that asks for one of some fields and returns.
fn asked_before(scene: &Scene<'_>, send: &Op, flags: &[Location]) -> Option<ExprId> {
    let end = scene.span(send.node).start;
    scene.nodes.iter().find_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::If { cond, then, .. } = scene.file.stmt(stmt).kind else { return None };
        let returns = scene.file.descendants(Node::Stmt(then)).any(|node| match node {
            Node::Stmt(stmt) => matches!(scene.file.stmt(stmt).kind, StmtKind::Return(_)),
            _ => false,
        });
        (returns && scene.span(node).end <= end && asks(scene, cond, flags)).then_some(cond)
    })
}

/// Whether a condition asks for one of some fields, itself or by a method that does no more.
fn asks(scene: &Scene<'_>, condition: ExprId, flags: &[Location]) -> bool {
    let names = |scene: &Scene<'_>, node: Node| match node {
        Node::Expr(expr) => scene.field(expr).is_some_and(|field| flags.contains(&field)),
        _ => false,
    };
    let by_method = |func: FuncId| {
        Scene::of(&scene.cx.package, func)
            .is_some_and(|scene| scene.nodes.iter().any(|&node| names(&scene, node)))
    };
    scene.file.descendants(Node::Expr(condition)).any(|node| {
        let Node::Expr(expr) = node else { return false };
        let called = match *scene.info.callee(expr) {
            Callee::Func(func) if scene.args(expr).is_empty() => Some(func),
            _ => None,
        };
        names(scene, node) || called.is_some_and(by_method)
    })
}
