//! A consumer that puts more into its own channel.
//!
//! Evidence: a channel with bounded room is made in one place and known to the package only; one body receives
//! from it; and between two receives that body sends bare on it, itself or by a method of its own receiver, in
//! each turn of a loop over any number of things. Others send on it too, so nothing says that there is room for
//! them: once the channel is full the consumer waits for itself. What it has taken from there and puts
//! back is no more than there was, and is not told.

use crate::diagnostic::{Finding, Role};
use crate::index::{Builtin, Callee, Type};
use crate::rules::evidence::consumer::bound;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::own_receiver::{MAX_CALLS, sent_below};
use crate::rules::evidence::{confidence, first_line, label};
use crate::rules::scene::Scene;
use crate::summary::Source;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Reports the sends of consumers to themselves.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open && group.recipients.is_empty()) {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let make = group.only_make().filter(|make| make.act != Act::Make(Some(0)))?;
    let mut receives = group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range));
    let receive = receives.next()?;
    let notified = group.ops.iter().any(|op| op.act == Act::Notify);
    let mut sends = group.ops.iter().filter(|op| op.act == Act::Send);
    let fed = sends.any(|op| !op.same_body(receive));
    if notified || !fed || !receives.all(|op| op.same_body(receive)) {
        return None;
    }
    if !is_bounded(&groups.scenes[make.scene], make) {
        return None;
    }
    let scene = &groups.scenes[receive.scene];
    let cfg = scene.graph(receive.literal)?;
    let from = receive.step(scene, &cfg)?;
    let is_between = |node: Node| {
        let step = scene.step_of(&cfg, node);
        step.is_some_and(|step| cfg.reaches(from, step) && cfg.reaches(step, from))
    };
    let is_told = |node: Node| is_between(node) && repeats(scene, group, receive, node);
    let itself = group.ops.iter().find(|op| {
        let bare = op.act == Act::Send && op.select.is_none() && op.same_body(receive);
        bare && is_same(scene, make, receive, op)
            && is_told(op.node)
            && !asks_for_room(scene, op.channel)
    });
    if let Some(send) = itself {
        return Some(tell(groups, make, receive, send.node, send));
    }
    let receiver = scene.receiver().filter(|_| scene.is_of_receiver(receive.channel))?;
    scene.methods_in_turn(receive.literal).find_map(|(call, callee, base)| {
        let own = scene.local(base) == Some(receiver) && is_told(Node::Expr(call));
        let sent = own.then(|| sent_below(groups, group, scene, callee, MAX_CALLS))??;
        let sender = &groups.scenes[sent.scene];
        (sender.is_of_receiver(sent.channel) && !asks_for_room(sender, sent.channel))
            .then(|| tell(groups, make, receive, Node::Expr(call), sent))
    })
}

/// Whether a send of a body is on the very channel that it receives from, and not on that of another object: a
/// field of the receiver, or a variable that is not made anew between the two.
fn is_same(scene: &Scene<'_>, make: &Op, receive: &Op, send: &Op) -> bool {
    if scene.is_of_receiver(receive.channel) {
        return scene.is_of_receiver(send.channel);
    }
    let channel = scene.local(receive.channel);
    let is_anew = make.scene == receive.scene
        && scene
            .loops_around(make.node)
            .iter()
            .any(|&around| scene.span(Node::Stmt(around)).contains(scene.span(receive.node)));
    channel.is_some() && channel == scene.local(send.channel) && !is_anew
}

/// Whether the room of a channel has nothing to do with how much there is to be sent: it is a constant, or
/// somebody's setting.
fn is_bounded(scene: &Scene<'_>, make: &Op) -> bool {
    let Node::Expr(call) = make.node else { return false };
    let Some(&size) = scene.args(call).get(1) else { return false };
    make.act != Act::Make(None)
        || matches!(scene.file.expr(scene.file.unparen(size)).kind, ExprKind::Selector { .. })
}

/// Whether the innermost loop around a node comes there any number of times without receiving, and what it goes
/// through was not taken from the channel.
fn repeats(scene: &Scene<'_>, group: &Group, receive: &Op, node: Node) -> bool {
    let Some(&turns) = scene.loops_around(node).first() else { return false };
    let StmtKind::Range { subject, value: Some(_), .. } = scene.file.stmt(turns).kind else {
        return false;
    };
    let inside = scene.span(Node::Stmt(turns));
    let receives = group.ops.iter().any(|op| {
        op.same_body(receive) && op.act != Act::Send && inside.contains(scene.span(op.node))
    });
    let index = scene.cx.index();
    let is_many = match index.underlying(scene.info.type_of(subject)) {
        Type::Slice(_) | Type::Map(_) => true,
        other => other.is_unknown(),
    };
    !receives && is_many && !is_listed(scene, subject) && !is_taken(scene, receive, subject)
}

/// Whether what a loop goes through is written down, or kept by the package.
fn is_listed(scene: &Scene<'_>, subject: ExprId) -> bool {
    let subject = scene.file.unparen(subject);
    let is_literal =
        |expr: ExprId| matches!(scene.file.expr(expr).kind, ExprKind::CompositeLit { .. });
    let Some(local) = scene.local(subject) else {
        return is_literal(subject) || matches!(scene.file.expr(subject).kind, ExprKind::Ident(_));
    };
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return true };
    read.function.definitions_of(local).any(
        |definition| matches!(definition.source, Source::Expr(value) if is_literal(scene.file.unparen(value))),
    )
}

/// Whether a loop goes through what the consumer has received and kept: what goes back has had its room.
fn is_taken(scene: &Scene<'_>, receive: &Op, subject: ExprId) -> bool {
    let (Some(value), _) = bound(scene, receive) else { return false };
    let Some(local) = scene.local(subject) else { return false };
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return true };
    read.function.definitions_of(local).any(|definition| match definition.source {
        Source::Expr(kept) => {
            let kept = scene.file.unparen(kept);
            matches!(scene.info.callee(kept), Callee::Builtin(Builtin::Append))
                && scene.args(kept).iter().skip(1).any(|&arg| scene.local(arg) == Some(value))
        }
        _ => false,
    })
}

/// Whether a function asks how much room there is.
fn asks_for_room(scene: &Scene<'_>, channel: ExprId) -> bool {
    let name = scene.text(channel);
    scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        matches!(scene.info.callee(call), Callee::Builtin(Builtin::Len | Builtin::Cap))
            && scene.args(call).first().is_some_and(|&of| scene.text(of) == name)
    })
}

fn tell(groups: &Groups<'_>, make: &Op, receive: &Op, at: Node, send: &Op) -> Finding {
    let (scene, sender) = (&groups.scenes[receive.scene], &groups.scenes[send.scene]);
    let name = sender.text(send.channel);
    let message = format!(
        "only this goroutine receives from `{name}`, and it sends there as often as this loop turns: once the room \
         is taken it waits for itself"
    );
    let span = first_line(scene, scene.span(at));
    let mut finding = scene.cx.finding(span, "never returns", message);
    finding.confidence = confidence(scene);
    finding.labels.push(label(groups, make, Role::Made, "made here, with bounded room"));
    finding.labels.push(label(groups, receive, Role::Context, "the only receive"));
    if at != send.node {
        finding.labels.push(label(groups, send, Role::Stuck, "waits here"));
    }
    finding.defect = scene.cx.location(scene.span(at));
    finding.why =
        "others send there too, and the goroutine cannot receive while it waits in its own send"
            .to_owned();
    finding.help =
        "keep what is to be done in a slice of its own, or send from another goroutine".to_owned();
    finding
}
