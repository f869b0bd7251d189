//! A goroutine of an object that lives by a channel which nobody closes, while all who send on it give up when the
//! object ends.
//!
//! Evidence: the channel is a field, made in one place and known to the package only, and nobody closes it; a
//! goroutine of its own ranges over it, or receives from it with nothing beside in a loop. Each send stands in a
//! `select` beside a receive from another channel of the same object, which somebody else closes and nobody sends
//! on. So once that is closed nobody has to come, and the goroutine, which does not look at it, waits for ever.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::Def;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::sibling::guard;
use crate::rules::evidence::{confidence_at, first_line, label};
use crate::rules::recurrence;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtId, StmtKind};

/// Reports the ranges, or the other receives, that outlive all who send.
pub(super) fn check(groups: &Groups<'_>, ranges: bool, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        findings.extend(check_group(groups, group, ranges));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group, ranges: bool) -> Option<Finding> {
    let is_other = |op: &Op| matches!(op.act, Act::Close | Act::Notify);
    if group.open || !group.recipients.is_empty() || group.ops.iter().any(is_other) {
        return None;
    }
    let make = group.only_make()?;
    let with = |act: Act| group.ops.iter().filter(move |op| op.act == act);
    let waits = |op: &&Op| {
        let scene = &groups.scenes[op.scene];
        field_of(scene, op.channel).is_some()
            && (ranges || op.select.is_none() && is_in_endless(scene, op))
            && groups.is_started(scene, op.literal)
    };
    let wait = with(if ranges { Act::Range } else { Act::Receive }).find(waits)?;
    let ends: Vec<End> =
        with(Act::Send).map(|send| end_of(groups, send, wait)).collect::<Option<_>>()?;
    Some(tell(groups, make, wait, ends.first()?))
}

/// Whether the loop around a receive has no condition.
fn is_in_endless(scene: &Scene<'_>, receive: &Op) -> bool {
    scene
        .loops_around(receive.node)
        .first()
        .is_some_and(|&it| matches!(scene.file.stmt(it).kind, StmtKind::For { cond: None, .. }))
}

/// What ends a send: its arm, and where the channel of that is closed.
struct End<'g> {
    send: &'g Op,
    comm: StmtId,
    done: ExprId,
    close: &'g Op,
}

/// The channel of the same object beside which a send stands, if somebody closes it who is not the one that waits.
fn end_of<'g>(groups: &'g Groups<'_>, send: &'g Op, wait: &Op) -> Option<End<'g>> {
    let scene = &groups.scenes[send.scene];
    let object = field_of(scene, send.channel)?;
    let is_beside = |done: ExprId| field_of(scene, done).as_ref() == Some(&object);
    let (comm, done) = guard(groups, send, is_beside)?;
    let mut closes = groups.of_expr(send.scene, done)?.ops.iter().filter(|op| op.act == Act::Close);
    let waiter = groups.scenes[wait.scene].cx.func;
    let is_anothers = |close: &&Op| {
        let closer = &groups.scenes[close.scene];
        let (cx, declared) = (&closer.cx, closer.cx.declared());
        let called = || recurrence::calls(&cx.package, declared);
        cx.func != waiter
            && (declared.name.is_exported() || called().iter().any(|&(caller, _)| caller != waiter))
    };
    let close = closes.find(is_anothers)?;
    Some(End { send, comm, done, close })
}

/// The text of `x` in `x.f`, where that is a field.
fn field_of(scene: &Scene<'_>, channel: ExprId) -> Option<String> {
    let channel = scene.file.unparen(channel);
    let (base, _) = scene.selector(channel)?;
    matches!(scene.info.resolve(channel), Def::Field(_)).then(|| scene.text(base))
}

fn tell(groups: &Groups<'_>, make: &Op, wait: &Op, end: &End<'_>) -> Finding {
    let scene = &groups.scenes[wait.scene];
    let sender = &groups.scenes[end.send.scene];
    let (name, done) = (scene.text(wait.channel), sender.text(end.done));
    let message = format!(
        "nobody closes `{name}`, and nobody has to send on it once `{done}` is closed, so this goroutine never ends"
    );
    let mut finding = scene.cx.finding(first_line(scene, wait.span(scene)), "stays here", message);
    finding.confidence = confidence_at(scene, wait.node);
    finding.labels.push(label(groups, make, Role::Made, format!("`{name}` is made here")));
    let comm = sender.cx.location(first_line(sender, sender.span(Node::Stmt(end.comm))));
    finding.labels.push(Label {
        location: comm,
        role: Role::Context,
        message: "whoever sends gives up here".to_owned(),
    });
    finding.labels.push(label(groups, end.close, Role::Left, format!("`{done}` is closed here")));
    finding.why = format!("each send on `{name}` says that it need not come after `<-{done}`");
    finding.help = format!("receive in a `select` with `<-{done}` here too");
    finding
}
