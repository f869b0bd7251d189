//! A send to goroutines of a group of which each leaves with the first error of any.
//!
//! Evidence: all operations on the channel are seen. Each receive stands in a `select` with the end of the context of
//! a group (`errgroup.WithContext`), on which the receiver leaves; the function that makes the group starts all who
//! receive, and one of these returns an error of its own, which ends the context. The same function holds
//! a bare send, in a place where that context is known: whoever comes there when the group has failed waits for
//! ever. Where the channel has room of a constant size, the send stands in a callback that is given to code out of
//! sight, which may call it any number of times, and does not name the context.

use crate::catalog::{Model, Op as Known};
use crate::diagnostic::{Finding, Label, Role};
use crate::index::{LocalId, LocalKind};
use crate::rules::evidence::groups::{Act, Group, Groups, Op, is_started};
use crate::rules::evidence::leaver::{Arm, holds_lock, is_done, leaving_arm};
use crate::rules::evidence::runs::runs;
use crate::rules::evidence::traffic::after_recover;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::summary::{Source, facts};
use crate::syntax::{ExprId, Node, StmtKind};

/// Reports the first such send of each channel.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open && group.recipients.is_empty()) {
        if let Some(finding) = check_group(groups, group)
            && !findings.iter().any(|told| told.defect == finding.defect)
        {
            findings.push(finding);
        }
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let make = group.only_make()?;
    let Act::Make(Some(room)) = make.act else { return None };
    let with = |act: Act| group.ops.iter().filter(move |op| op.act == act);
    if with(Act::Range).chain(with(Act::Notify)).next().is_some() {
        return None;
    }
    let receives: Vec<&Op> = with(Act::Receive).collect();
    let first = *receives.first()?;
    let arms: Vec<Arm> = receives
        .iter()
        .map(|receive| leaving_arm(groups, group, receive).filter(Arm::stays))
        .collect::<Option<_>>()?;
    let bare = |op: &&Op| op.act == Act::Send && op.select.is_none();
    group.ops.iter().filter(bare).find_map(|send| {
        let scene = &groups.scenes[send.scene];
        if holds_lock(scene, send) || after_recover(scene, send.node) {
            return None;
        }
        let mut contexts = receives.iter().zip(&arms).map(|(receive, arm)| {
            is_apart(scene, receive, send)
                .then(|| context_of(groups, receive, arm, send.scene))
                .flatten()
        });
        let context = contexts.next()??;
        let same = contexts.all(|other| other == Some(context));
        let fails = receives.iter().any(|receive| fails_itself(groups, receive));
        let closed_apart =
            with(Act::Close).any(|close| close.scene != send.scene || may_come_first(scene, close));
        let may_fill = || is_given_away(scene, send) && !names(scene, send, context);
        (same
            && fails
            && !closed_apart
            && is_of_group(scene, context)
            && is_known_at(scene, context, send)
            && (room == 0 || may_fill()))
        .then(|| tell(groups, (make, first, &arms[0], send), context, room))
    })
}

/// Whether a receive runs in another goroutine than a send of this function: in another function, or in a literal that
/// is started and does not hold the send.
fn is_apart(scene: &Scene<'_>, receive: &Op, send: &Op) -> bool {
    if receive.scene != send.scene {
        return true;
    }
    receive.literal.is_some_and(|literal| {
        is_started(scene, literal)
            && !scene.span(Node::Expr(literal)).contains(scene.span(send.node))
    })
}

/// The variable of a function whose end makes a receiver leave that the function starts.
fn context_of(groups: &Groups<'_>, receive: &Op, arm: &Arm, starter: usize) -> Option<LocalId> {
    let receiver = &groups.scenes[receive.scene];
    let context = receiver.method_call(arm.channel).filter(|_| is_done(receiver, arm.channel))?.0;
    let local = receiver.local(context)?;
    if receive.scene == starter {
        return Some(local);
    }
    let variable = receiver.info.local(local);
    let LocalKind::Param(place) = variable.kind else { return None };
    let scene = &groups.scenes[starter];
    let own = receiver.cx.func;
    if variable.owner.is_some()
        || receive.literal.is_some()
        || receiver
            .cx
            .package
            .named_outside_tests(own)
            .iter()
            .any(|(user, _)| *user != scene.cx.func)
    {
        return None;
    }
    let mut given = scene.calls(own).map(|call| {
        let started = scene.go_of(call).is_some()
            || scene
                .literal_around(Node::Expr(call))
                .is_some_and(|literal| is_started(scene, literal));
        let arg = scene.args(call).get(place as usize).filter(|_| started)?;
        scene.local(*arg)
    });
    let first = given.next()??;
    given.all(|other| other == Some(first)).then_some(first)
}

/// Whether a variable is the context of a group that the function makes.
fn is_of_group(scene: &Scene<'_>, context: LocalId) -> bool {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
    let function = &read.function;
    let mut made = false;
    let all = function.definitions_of(context).all(|definition| {
        if matches!(definition.source, Source::Given) {
            return true;
        }
        let of_group = function.taken_from(definition).is_some_and(|call| {
            let known = facts(scene.cx.catalog(), scene.cx.index(), scene.info.callee(call));
            known
                .all_in_force::<Model>(scene.cx.versions())
                .any(|fact| fact.op == Known::ErrgroupWithContext)
        });
        made |= of_group;
        of_group
    });
    all && made
}

/// Whether a variable may be named where a send stands.
fn is_known_at(scene: &Scene<'_>, context: LocalId, send: &Op) -> bool {
    let variable = scene.info.local(context);
    let around = |owner: ExprId| scene.span(Node::Expr(owner)).contains(scene.span(send.node));
    variable.span.start < scene.span(send.node).start && variable.owner.is_none_or(around)
}

/// Whether the body of a receive returns an error of its own: none that the context has given.
fn fails_itself(groups: &Groups<'_>, receive: &Op) -> bool {
    let scene = &groups.scenes[receive.scene];
    scene.nodes.iter().any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Return(ref values) = scene.file.stmt(stmt).kind else { return false };
        let Some(&last) = values.last() else { return false };
        let of_context = scene.method_call(scene.file.unparen(last)).is_some_and(|(base, name)| {
            name.name.as_str() == "Err" && scene.info.type_of(base).is_context()
        });
        let ty = scene.info.type_of(last);
        scene.literal_around(node) == receive.literal
            && (ty.is_error() || ty.is_unknown())
            && !scene.is_nil(last)
            && !of_context
    })
}

/// Whether a close may come while somebody sends: it is not the last deed of a goroutine.
fn may_come_first(scene: &Scene<'_>, close: &Op) -> bool {
    !close.literal.is_some_and(|literal| is_started(scene, literal))
}

/// Whether a send stands in a literal of which it is not known when it is run.
fn is_given_away(scene: &Scene<'_>, send: &Op) -> bool {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
    scene.around(send.node).any(|around| {
        let Node::Expr(literal) = around else { return false };
        let body = read.function.body_of_literal(literal);
        body.is_some_and(|body| runs(scene, &read.function, body).is_none())
    })
}

/// Whether the literal of a send names a variable, other than in what it starts, or it is given to a call with that.
fn names(scene: &Scene<'_>, send: &Op, local: LocalId) -> bool {
    let mut around = scene.around(send.node).filter_map(|around| match around {
        Node::Expr(expr) if scene.given_to(expr).is_some() => Some(Node::Expr(expr)),
        _ => None,
    });
    let in_started = |usage: ExprId| {
        let started = scene.literal_around(Node::Expr(usage));
        started != send.literal && started.is_some_and(|literal| is_started(scene, literal))
    };
    let named = |literal: ExprId| {
        let span = scene.span(Node::Expr(literal));
        let mut uses = scene.uses(local).filter(|&usage| !in_started(usage));
        uses.any(|usage| span.contains(scene.span(Node::Expr(usage))))
    };
    send.literal.is_some_and(named)
        || around.any(|literal| match scene.parent(literal) {
            Some(Node::Expr(call)) => {
                scene.args(call).iter().any(|&arg| scene.local(arg) == Some(local))
            }
            _ => false,
        })
}

fn tell(
    groups: &Groups<'_>,
    (make, receive, arm, send): (&Op, &Op, &Arm, &Op),
    context: LocalId,
    room: u64,
) -> Finding {
    let scene = &groups.scenes[send.scene];
    let receiver = &groups.scenes[receive.scene];
    let name = scene.text(send.channel);
    let end = scene.info.local(context).name;
    let message = format!(
        "nobody receives from `{name}` once the group has failed, and this send waits for nothing else"
    );
    let mut finding = scene.cx.finding(first_line(scene, send.span(scene)), "stays here", message);
    finding.confidence = confidence(scene);
    let mut label = |scene: &Scene<'_>, node: Node, role: Role, message: &str| {
        let location = scene.cx.location(first_line(scene, scene.span(node)));
        finding.labels.push(Label { location, role, message: message.to_owned() });
    };
    let maker = &groups.scenes[make.scene];
    let made = match room {
        0 => "made here, unbuffered",
        _ => "made here, with room for a few",
    };
    label(maker, make.node, Role::Made, made);
    label(receiver, Node::Stmt(arm.comm), Role::Left, "who receives leaves here");
    finding.why = format!(
        "the first error of the group ends `{end}`, and all who receive leave with it, or with an error of their own"
    );
    finding.help = format!("send in a `select` with `<-{end}.Done()`");
    finding
}
