//! Who is sent to takes itself out of the list of those who are, and needs the lock for it under which it is sent to.
//!
//! Evidence: a function goes through the channels that a field of an object lists, and sends on each with nothing
//! beside, under a lock of the package. All who take a channel out of the list take that lock before. Each channel
//! of that type is made with room of a constant size. Either who receives leaves its loop for reasons of its own and
//! takes the lock then, all receivers alike; or nobody in the package receives: an exported function hands the
//! channel out, which has no room, and another one is there to give it back.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Builtin, Callee, Type};
use crate::rules::evidence::first_line;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::locks::{Locks, Taken, held_at, held_by};
use crate::rules::evidence::under_lock::{Other, departing, tell};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Reports the sends that keep their receiver from its lock.
pub(super) fn check(groups: &Groups<'_>, locks: &Locks, findings: &mut Vec<Finding>) {
    let mut told: Vec<usize> = Vec::new();
    for send in groups.all().iter().flat_map(|group| &group.ops) {
        if send.act == Act::Send && send.select.is_none() && !told.contains(&send.scene) {
            let found = check_send(groups, locks, send);
            told.extend(found.is_some().then_some(send.scene));
            findings.extend(found);
        }
    }
}

fn check_send(groups: &Groups<'_>, locks: &Locks, send: &Op) -> Option<Finding> {
    let scene = &groups.scenes[send.scene];
    let list = list_of(scene, send)?;
    let cfg = scene.graph(send.literal)?;
    let at = scene.step_of(&cfg, send.node)?;
    let held = held_at(scene, locks, send.literal, &cfg, at);
    if held.is_empty() {
        return None;
    }
    let channel = scene.info.type_of(send.channel);
    let is_alike =
        |op: &&Op| carries_the_same(groups.scenes[op.scene].info.type_of(op.channel), channel);
    // What is made elsewhere is another list's.
    let is_made = |group: &&Group| group.ops.iter().any(|op| matches!(op.act, Act::Make(_)));
    let made = || groups.all().iter().filter(is_made);
    let alike = || made().flat_map(|group| &group.ops).filter(is_alike);
    let mut room = 0;
    let mut makes = alike().filter(|op| matches!(op.act, Act::Make(_))).peekable();
    makes.peek()?;
    for make in makes {
        let Act::Make(Some(size)) = make.act else { return None };
        room = room.max(size);
    }
    let receivers: Vec<&Op> =
        alike().filter(|op| matches!(op.act, Act::Receive | Act::Range)).collect();
    held.iter().find_map(|lock| {
        let (by, taken) = taken_out(groups, send, locks, list, lock)?;
        let (who, when, needs) = match receivers.first() {
            Some(_) => {
                let needs = departing::needs(groups, &receivers, locks, lock)?;
                ("who receives".to_owned(), "once it has left its loop", needs)
            }
            None => {
                // It may take what is sent meanwhile.
                let mut ops = groups.all().iter().flat_map(|group| &group.ops).filter(is_alike);
                let drains = ops.any(|op| {
                    matches!(op.act, Act::Receive | Act::Range)
                        && groups.scenes[op.scene].cx.func == by.cx.func
                });
                let is_left = by.name.name.is_exported() && is_handed_out(groups, channel);
                if drains || room > 0 || !is_left {
                    return None;
                }
                (format!("`{}`", by.name.name), "for who receives no more", taken)
            }
        };
        let what = format!("this send on `{}`", scene.text(send.channel));
        let other = Other { who: &who, when, needs };
        let span = first_line(scene, send.span(scene));
        let mut finding = tell(scene, scene, span, lock, &what, &other);
        if needs != taken {
            finding.labels.push(Label {
                location: taken,
                role: Role::Context,
                message: "only under this lock a channel is taken out of the list".to_owned(),
            });
        }
        finding.help = "send in a `select` with a channel that who leaves closes first, or take what is to be \
                        sent to out of the list under the lock and send without it"
            .to_owned();
        Some(finding)
    })
}

/// The field that lists the channels of which the one is sent on that a `range` has come to.
fn list_of(scene: &Scene<'_>, send: &Op) -> Option<Location> {
    let mut root = scene.file.unparen(send.channel);
    loop {
        root = match scene.file.expr(root).kind {
            ExprKind::Selector { base, .. } => scene.file.unparen(base),
            ExprKind::Star(pointer) => scene.file.unparen(pointer),
            _ => break,
        };
    }
    let element = scene.local(root)?;
    scene.loops_around(send.node).into_iter().find_map(|stmt| {
        let StmtKind::Range { key, value, subject, .. } = scene.file.stmt(stmt).kind else {
            return None;
        };
        let mut given = [key, value].into_iter().flatten();
        given.any(|it| scene.local(it) == Some(element)).then(|| scene.field(subject)).flatten()
    })
}

/// Whether both are channels of one element type, in whatever direction.
fn carries_the_same(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Chan(_, one), Type::Chan(_, other)) => one.identical(other) == Some(true),
        _ => false,
    }
}

/// The function other than the sender that takes channels out of a list, and where it takes the lock for that;
/// `None` if one does without.
fn taken_out<'g, 'a>(
    groups: &'g Groups<'a>,
    sender: &Op,
    locks: &Locks,
    list: Location,
    lock: &Taken,
) -> Option<(&'g Scene<'a>, Location)> {
    let mut found = None;
    for (number, scene) in groups.scenes.iter().enumerate() {
        for &node in scene.nodes.iter() {
            let Node::Expr(call) = node else { continue };
            if !takes_out(scene, call, list) {
                continue;
            }
            let mut own = held_by(scene, locks, call).into_iter();
            let own = own.find(|own| own.object == lock.object && !(own.reads && lock.reads))?;
            let is_sender = number == sender.scene && scene.literal_around(node) == sender.literal;
            if !is_sender {
                found = found.or(Some((scene, own.location)));
            }
        }
    }
    found
}

/// `delete(x.list, c)`, `append(x.list[:i], x.list[i+1:]...)`.
fn takes_out(scene: &Scene<'_>, call: ExprId, list: Location) -> bool {
    let ExprKind::Call { args, .. } = &scene.file.expr(call).kind else { return false };
    let Some(&first) = args.first() else { return false };
    match scene.info.callee(call) {
        Callee::Builtin(Builtin::Delete) => scene.field(first) == Some(list),
        Callee::Builtin(Builtin::Append) => match scene.file.expr(scene.file.unparen(first)).kind {
            ExprKind::Slice { base, .. } => scene.field(base) == Some(list),
            _ => false,
        },
        _ => false,
    }
}

/// Whether an exported function of the package gives such channels away.
fn is_handed_out(groups: &Groups<'_>, channel: &Type) -> bool {
    groups.scenes.iter().any(|scene| {
        let Type::Func(signature) = scene.cx.index().func_type(scene.cx.func) else { return false };
        let mut results = signature.results.iter();
        scene.name.name.is_exported() && results.any(|result| carries_the_same(result, channel))
    })
}
