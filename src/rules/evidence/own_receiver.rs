//! A goroutine that sends to itself.
//!
//! Evidence: an unbuffered channel is made in one place and known to the package only; one body
//! receives from it, which is started once, outside of loops, as a goroutine of its own; and between two
//! receives it sends on that channel, or calls in turn a method of its own receiver that does, itself or
//! in what it calls for its receiver. The send has nothing beside, or only the end of all
//! ([`arms`](super::under_lock::arms)), for which the goroutine then waits. Where a parameter says whether to send,
//! nothing is known.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::StepId;
use crate::index::FuncId;
use crate::rules::FunctionCx;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::own_end::is_unconditional;
use crate::rules::evidence::under_lock::arms::{ends, stays};
use crate::rules::evidence::{confidence, first_line, label};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node};

/// How many calls lie at most between the receive and the send.
pub(super) const MAX_CALLS: u32 = 3;

/// Reports the sends of goroutines to themselves.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open && group.recipients.is_empty()) {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    group.only_make().filter(|make| make.act == Act::Make(Some(0)))?;
    let mut receives = group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range));
    let receive = receives.next()?;
    let sends = group.ops.iter().any(|op| is_send(groups, op));
    let notified = group.ops.iter().any(|op| op.act == Act::Notify);
    if !sends || notified || !receives.all(|op| op.same_body(receive)) {
        return None;
    }
    let scene = &groups.scenes[receive.scene];
    let receiver = scene.receiver()?;
    if !is_started_once(groups, scene, receive) {
        return None;
    }
    let cfg = scene.graph(receive.literal)?;
    let from = receive.step(scene, &cfg)?;
    let is_between = |step: StepId| cfg.reaches(from, step) && cfg.reaches(step, from);
    let itself = group.ops.iter().find(|op| {
        is_send(groups, op)
            && op.same_body(receive)
            && scene.is_of_receiver(op.channel)
            && scene.is_of_receiver(receive.channel)
            && op.step(scene, &cfg).is_some_and(is_between)
    });
    if let Some(send) = itself {
        return Some(tell(groups, receive, send.node, send));
    }
    let mut calls = scene.methods_in_turn(receive.literal).filter_map(|(call, callee, base)| {
        let own = scene.local(base) == Some(receiver);
        cfg.step_of_expr(call).filter(|&step| own && is_between(step))?;
        Some((call, sent_below(groups, group, scene, callee, MAX_CALLS, &comes_in_turn)?))
    });
    let (call, sent) = calls.next()?;
    let mut finding = tell(groups, receive, Node::Expr(call), sent);
    for (call, sent) in calls {
        let location = scene.cx.location(scene.span(Node::Expr(call)));
        let message = "nor does this return".to_owned();
        finding.labels.push(Label { location, role: Role::Context, message });
        let waits = label(groups, sent, Role::Stuck, "which waits here");
        if finding.labels.iter().all(|told| told.location != waits.location) {
            finding.labels.push(waits);
        }
    }
    Some(finding)
}

/// Whether an operation is a send that waits for a receiver, or the end of all.
pub(super) fn is_send(groups: &Groups<'_>, op: &Op) -> bool {
    op.act == Act::Send && stays(groups, op)
}

/// The statement that waits in a send: itself, or its `select`.
pub(super) fn waiting(op: &Op) -> Node {
    op.select.map_or(op.node, |(select, _)| Node::Stmt(select))
}

/// Whether the body that receives is started in one place, outside of loops, and called nowhere else.
pub(super) fn is_started_once(groups: &Groups<'_>, scene: &Scene<'_>, receive: &Op) -> bool {
    match receive.literal {
        Some(literal) => scene
            .go_around(literal)
            .is_some_and(|start| scene.loops_around(Node::Stmt(start)).is_empty()),
        None => {
            let func = scene.cx.func;
            let package = scene.cx.index().package(func.package);
            let named = package.funcs.iter().filter_map(|other| {
                let cx = FunctionCx { func: other.id, ..scene.cx };
                cx.index().may_name(other.id, scene.name.name).then(|| Scene::new(cx))?
            });
            let mut started = 0;
            for other in named {
                let starts = other.starts(func);
                for (start, _) in starts {
                    if !other.loops_around(Node::Stmt(start)).is_empty() {
                        return false;
                    }
                    started += 1;
                }
                let called = other.calls(func).filter(|&call| other.go_of(call).is_none()).count();
                if called > 0 {
                    return false;
                }
            }
            started == 1 && groups.is_started(scene, None)
        }
    }
}

/// Whether what stands at a node of a method counts: a send on a channel, or (`None`) a call on the way to one.
pub(super) type Counts<'c> = &'c dyn Fn(&Scene<'_>, Node, Option<ExprId>) -> bool;

/// What comes in turn, whatever the method is given.
pub(super) fn comes_in_turn(scene: &Scene<'_>, node: Node, _: Option<ExprId>) -> bool {
    is_unconditional(scene, node)
}

/// The send of a method on the channel, itself or in what it calls for its receiver.
pub(super) fn sent_below<'g>(
    groups: &Groups<'_>,
    group: &'g Group,
    from: &Scene<'_>,
    func: FuncId,
    depth: u32,
    counts: Counts<'_>,
) -> Option<&'g Op> {
    let scene = method(from, func)?;
    let deeper = || {
        let (receiver, depth) = (scene.receiver()?, depth.checked_sub(1)?);
        scene.methods_in_turn(None).find_map(|(call, callee, base)| {
            let own = scene.local(base) == Some(receiver);
            (own && counts(&scene, Node::Expr(call), None))
                .then(|| sent_below(groups, group, &scene, callee, depth, counts))?
        })
    };
    sent_by(groups, group, &scene, counts).or_else(deeper)
}

/// A method of the package that is called from another one.
pub(super) fn method<'a>(from: &Scene<'a>, func: FuncId) -> Option<Scene<'a>> {
    let is_own = func.package == from.cx.func.package;
    is_own.then(|| Scene::new(FunctionCx { func, ..from.cx }))?
}

/// The send of a method itself on the channel, as a field of its receiver.
pub(super) fn sent_by<'g>(
    groups: &Groups<'_>,
    group: &'g Group,
    scene: &Scene<'_>,
    counts: Counts<'_>,
) -> Option<&'g Op> {
    let receiver = scene.receiver()?;
    group.ops.iter().find(|op| {
        is_send(groups, op)
            && op.literal.is_none()
            && groups.scenes[op.scene].cx.func == scene.cx.func
            && root_variable(scene, op.channel) == Some(Some(receiver))
            && counts(scene, waiting(op), Some(op.channel))
    })
}

/// Where a goroutine sends to itself.
pub(super) struct OwnSend<'o, 'a> {
    /// Where the goroutine sends, or calls what does, and in which function.
    pub scene: &'o Scene<'a>,
    pub at: Node,
    pub send: &'o Op,
    /// The only receive.
    pub receive: &'o Op,
}

impl OwnSend<'_, '_> {
    /// The finding, with the make if that has to be shown and what to say of it.
    pub fn finding(
        &self,
        groups: &Groups<'_>,
        make: Option<(&Op, &str)>,
        told: &str,
        message: String,
    ) -> Finding {
        let OwnSend { scene, at, send, receive } = *self;
        let span = first_line(scene, scene.span(at));
        let mut finding = scene.cx.finding(span, told, message);
        finding.confidence = confidence(scene);
        finding.labels.extend(make.map(|(make, text)| label(groups, make, Role::Made, text)));
        finding.labels.push(label(groups, receive, Role::Context, "the only receive"));
        if at != send.node {
            finding.labels.push(label(groups, send, Role::Stuck, "waits here"));
        }
        finding.defect = scene.cx.location(scene.span(at));
        finding
    }
}

/// `at` is where the goroutine sends, or calls what does.
fn tell(groups: &Groups<'_>, receive: &Op, at: Node, send: &Op) -> Finding {
    let (scene, sender) = (&groups.scenes[receive.scene], &groups.scenes[send.scene]);
    let name = sender.text(send.channel);
    let owner = match receive.literal {
        None => format!("`{}`", scene.name.name),
        Some(_) => "this goroutine".to_owned(),
    };
    let how = match at == send.node {
        true => format!("`{name}` is unbuffered"),
        false => format!("`{}` sends on `{name}` (unbuffered)", sender.name.name),
    };
    let message = format!("{owner} sends to itself here: {how}, and nobody else receives from it");
    let told = match ends(groups, send).is_empty() {
        true => "never returns",
        false => "returns only at the end of all",
    };
    let mut finding = OwnSend { scene, at, send, receive }.finding(groups, None, told, message);
    finding.why = "the goroutine cannot receive while it waits in its own send, and so do all who send after it"
        .to_owned();
    finding.help =
        "do here what the message would have asked for, or send in a goroutine of its own"
            .to_owned();
    finding
}
