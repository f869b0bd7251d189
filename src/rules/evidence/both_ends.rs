//! Both ends of a connection in one package, each of which writes in the goroutine that also has to
//! take what its reader hands over.
//!
//! Evidence, for each end: a loop with a `select` is the only one that receives from an unbuffered
//! channel; a goroutine that reads messages from a connection sends them there, and gives up only
//! when all is over; and the loop itself writes to a connection of the same type. While it writes
//! it takes nothing, so its reader reads nothing. With two such ends, each write waits for the other
//! end to read once what the network holds for both is full. One end alone proves nothing: its
//! peer may always read.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::QualifiedName;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::stream::{Way, calls_in, moved_by};
use crate::rules::evidence::{confidence, first_line, label};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtKind, Symbol};

/// Reports the writes of both ends.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    let ends: Vec<End<'_>> =
        groups.all().iter().filter_map(|group| end_of(groups, group)).collect();
    for end in &ends {
        let is_other =
            |other: &&End<'_>| other.over == end.over && other.taken.scene != end.taken.scene;
        if let Some(other) = ends.iter().find(is_other) {
            findings.push(tell(groups, end, other));
        }
    }
}

/// One end of a connection.
struct End<'g> {
    /// The type that reads and writes.
    over: QualifiedName,
    /// Where what was read is taken.
    taken: &'g Op,
    /// Where it is handed over.
    handed: &'g Op,
    /// The call that writes.
    write: ExprId,
}

fn end_of<'g>(groups: &Groups<'_>, group: &'g Group) -> Option<End<'g>> {
    let is_made = group.ops.iter().any(|op| matches!(op.act, Act::Make(_)));
    let is_unbuffered = is_made && !group.may_have_room();
    if group.open || !group.recipients.is_empty() || !is_unbuffered {
        return None;
    }
    let mut receives = group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range));
    let taken = receives.clone().find(|op| op.select.is_some())?;
    let loops = &groups.scenes[taken.scene];
    let around = *loops.loops_around(taken.node).first()?;
    let is_endless = matches!(loops.file.stmt(around).kind, StmtKind::For { cond: None, .. });
    if !is_endless || !receives.all(|op| op.same_body(taken)) {
        return None;
    }
    let (over, handed) = group.ops.iter().filter(|op| op.act == Act::Send).find_map(|op| {
        let reader = &groups.scenes[op.scene];
        let around = *reader.loops_around(op.node).last()?;
        if op.same_body(taken) || !waits_to_the_end(reader, op) {
            return None;
        }
        let mut reads = calls_in(reader, op.literal, Node::Stmt(around));
        reads.find_map(|call| match moved_by(reader, call)? {
            (over, Way::In) => Some((over, op)),
            _ => None,
        })
    })?;
    let limits = ["SetWriteDeadline", "SetDeadline"];
    let package = loops.cx.func.package;
    if limits.iter().any(|name| loops.cx.index().mentions(package, Symbol::new(name))) {
        return None;
    }
    let write = calls_in(loops, taken.literal, Node::Stmt(around))
        .find(|&call| moved_by(loops, call) == Some((over, Way::Out)))?;
    Some(End { over, taken, handed, write })
}

/// Whether a send has nothing beside it but what says that all is over: no way to drop the value,
/// and no clock.
fn waits_to_the_end(scene: &Scene<'_>, send: &Op) -> bool {
    let Some((select, own)) = send.select else { return true };
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return false };
    clauses.iter().enumerate().filter(|(at, _)| *at != own as usize).all(|(_, clause)| {
        let channel = clause.comm.and_then(|comm| Step::Comm(comm).received_from(scene.file));
        channel.is_some_and(|channel| scene.cx.index().is_signal(scene.info.type_of(channel)))
    })
}

fn tell(groups: &Groups<'_>, end: &End<'_>, other: &End<'_>) -> Finding {
    let scene = &groups.scenes[end.taken.scene];
    let message = format!(
        "this writes in the goroutine that alone takes from `{}` what was read, and so does the other end, `{}`: each can wait for the other to read",
        scene.text(end.taken.channel),
        named(&groups.scenes[other.taken.scene]),
    );
    let span = first_line(scene, scene.span(Node::Expr(end.write)));
    let mut finding =
        scene.cx.finding(span, "stays here while the other end reads nothing", message);
    finding.confidence = confidence(scene);
    let far = &groups.scenes[other.taken.scene];
    finding.labels = vec![
        label(
            groups,
            end.handed,
            Role::Stuck,
            "meanwhile the reader waits here, and reads nothing",
        ),
        label(groups, end.taken, Role::Context, "nobody else takes it"),
        Label {
            location: far.cx.location(first_line(far, far.span(Node::Expr(other.write)))),
            role: Role::Stuck,
            message: "the other end writes here".to_owned(),
        },
        label(groups, other.handed, Role::Stuck, "and its reader waits here"),
    ];
    finding.why = "a write ends when the other end reads, and the other end reads when its own write has ended"
        .to_owned();
    finding.help = "write in a goroutine of its own, or let the reader hand over what it read without waiting for the writer"
        .to_owned();
    finding
}

/// A function's name, after that of its receiver's type.
fn named(scene: &Scene<'_>) -> String {
    let declared = scene.cx.declared();
    let receiver = declared.receiver.map(|receiver| format!("{}.", receiver.name));
    format!("{}{}", receiver.unwrap_or_default(), declared.name)
}
