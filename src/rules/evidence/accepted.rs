//! A wait for work that was put into a queue which nobody takes from any more.
//!
//! Evidence: the queue is a field with room, and its receivers leave for good when another channel of the object is
//! closed (see [`departed`](super::departed)); nobody takes what is left in it. A method, which asks for that end or
//! stands beside others that do, puts something into the queue and then waits, with nothing beside but its caller's
//! context, for a channel that it has put into what it sent: only the arm that receives answers or closes that. Between a look at the end and the
//! send the receivers may leave, and where the end is an arm beside the send, either may be chosen: there is room.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::LocalId;
use crate::rules::evidence::departed::{Served, may_be_callers, only_context_beside};
use crate::rules::evidence::groups::{Act, Groups, Op};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtKind};

/// Reports the waits.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open && group.recipients.is_empty()) {
        if !group.may_have_room() {
            continue;
        }
        let Some(served) = Served::of(groups, group) else { continue };
        let mut told: Vec<usize> = Vec::new();
        for send in group.ops.iter().filter(|op| op.act == Act::Send) {
            if told.contains(&send.scene) || !served.is_sent_apart(send) || !served.is_asked(send) {
                continue;
            }
            if let Some(wait) = answer(groups, &served, send) {
                told.push(send.scene);
                findings.push(tell(groups, &served, send, wait));
            }
        }
    }
}

/// The receive with nothing beside but the caller's context that waits for the answer to what was sent.
fn answer<'g>(groups: &'g Groups<'_>, served: &Served<'_, '_>, send: &Op) -> Option<&'g Op> {
    let scene = &groups.scenes[send.scene];
    let Node::Stmt(stmt) = send.node else { return None };
    let StmtKind::Send { value, .. } = scene.file.stmt(stmt).kind else { return None };
    let graph = scene.graph(None)?;
    let sent = scene.step_of(&graph, send.node)?;
    groups.all().iter().filter(|group| !group.open && group.recipients.is_empty()).find_map(
        |group| {
            let wait = group.ops.iter().find(|op| {
                op.act == Act::Receive
                    && op.scene == send.scene
                    && op.literal.is_none()
                    && waits_on(groups, op)
                    && root(scene, op.channel)
                        .is_some_and(|local| scene.mentions(Node::Expr(value), local))
                    && op.step(scene, &graph).is_some_and(|step| graph.reaches(sent, step))
            })?;
            let of_receiver = |op: &Op| {
                let within = op.scene == send.scene
                    && scene.span(Node::Expr(value)).contains(scene.span(op.node));
                within || served.receives.iter().any(|receive| is_in_arm(groups, receive, op))
            };
            let mut ends = group.ops.iter().filter(|op| matches!(op.act, Act::Send | Act::Close));
            let made = group.ops.iter().any(|op| matches!(op.act, Act::Make(_)));
            (made && ends.clone().next().is_some() && ends.all(of_receiver)).then_some(wait)
        },
    )
}

/// Whether a receive has nothing beside, or only a context that has nothing to do with the object.
fn waits_on(groups: &Groups<'_>, wait: &Op) -> bool {
    let scene = &groups.scenes[wait.scene];
    wait.select.is_none()
        || only_context_beside(scene, wait)
            .is_some_and(|param| may_be_callers(&groups.scenes, scene, param))
}

/// Whether an answer is given in the arm of a receive, or by a function that is called there alone.
fn is_in_arm(groups: &Groups<'_>, receive: &Op, answer: &Op) -> bool {
    let scene = &groups.scenes[receive.scene];
    let Some((select, place)) = receive.select else { return false };
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return false };
    let Some(clause) = clauses.get(place as usize) else { return false };
    let is_within = |node: Node| clause.span.contains(scene.span(node));
    if answer.scene == receive.scene {
        return is_within(answer.node);
    }
    let other = &groups.scenes[answer.scene];
    let named = other.cx.package.named_outside_tests(other.cx.func);
    !named.is_empty()
        && named.iter().all(|&(user, usage)| user == scene.cx.func && is_within(Node::Expr(usage)))
}

/// The variable of the function that a channel is, or is a field of; not the receiver of a method.
fn root(scene: &Scene<'_>, channel: ExprId) -> Option<LocalId> {
    let base = scene.selector(channel).map_or(channel, |(base, _)| base);
    scene.local(base).filter(|&local| Some(local) != scene.receiver())
}

fn tell(groups: &Groups<'_>, served: &Served<'_, '_>, send: &Op, wait: &Op) -> Finding {
    let scene = &groups.scenes[send.scene];
    let receiver = &groups.scenes[served.receives[0].scene];
    let (queue, end) = (scene.text(send.channel), receiver.text(served.arm.channel));
    let waited = scene.text(wait.channel);
    let message = format!(
        "nobody answers on `{waited}` what is put into `{queue}` once `{end}` {}, and this wait has nothing beside{}",
        served.is_over(),
        if wait.select.is_some() { " but its caller's context" } else { "" }
    );
    let mut finding = scene.cx.finding(first_line(scene, wait.span(scene)), "stays here", message);
    finding.confidence = confidence(scene);
    let mut label = |scene: &Scene<'_>, node: Node, role: Role, message: String| {
        let location = scene.cx.location(first_line(scene, scene.span(node)));
        finding.labels.push(Label { location, role, message });
    };
    let maker = &groups.scenes[served.make.scene];
    label(maker, served.make.node, Role::Made, "made here, with room".to_owned());
    label(scene, send.node, Role::Context, "put into the queue here".to_owned());
    let leaves = format!("`{}` leaves here", receiver.name.name);
    label(receiver, Node::Stmt(served.arm.comm), Role::Left, leaves);
    finding.labels.push(served.ends_here());
    finding.why = format!(
        "`{queue}` has room, so a send may come to pass when `{}` has left, and nobody takes what is left in it",
        receiver.name.name
    );
    finding.help = "wait in a `select` with the end of the object too".to_owned();
    finding
}
