//! A callback that sends to the function that gave it away, which receives in a loop until something
//! else ends it.
//!
//! Evidence: the channel is unbuffered and only this function knows it; all receives are arms of
//! `select` in a loop of the body that made it; a literal that sends bare is given to a call before the
//! loop. Whoever calls it back does so in another goroutine, or it would have been stuck at once; the
//! one that is calling when the loop ends stays.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Callee, LocalKind};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::leaver::{is_done, leaving_arm};
use crate::rules::evidence::runs::runs;
use crate::rules::evidence::{confidence, ends_process, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node, StmtId};

/// Reports the sends of callbacks that nobody receives.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open) {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let make = group.only_make()?;
    let scene = &groups.scenes[make.scene];
    let alone = make.act == Act::Make(Some(0))
        && group.ops.iter().all(|op| op.scene == make.scene)
        && !group.ops.iter().any(|op| matches!(op.act, Act::Range | Act::Close | Act::Notify));
    if !alone || make.literal.is_none() && ends_process(&scene.cx) {
        return None;
    }
    let send = group.ops.iter().find(|op| op.act == Act::Send && op.select.is_none())?;
    let given = given_away(scene, send)
        .filter(|&call| scene.literal_around(Node::Expr(call)) == make.literal)?;
    let cfg = scene.graph(make.literal)?;
    let given_at = cfg.step_of_expr(given)?;
    if cfg.reaches(given_at, given_at) {
        return None;
    }
    let mut left = None;
    for receive in group.ops.iter().filter(|op| op.act == Act::Receive) {
        let step = receive.step(scene, &cfg).filter(|_| receive.same_body(make))?;
        if !cfg.reaches(step, step) || !cfg.reaches(given_at, step) {
            return None;
        }
        let arm = leaving_arm(groups, group, receive);
        left = left.or(arm.filter(|arm| is_others(scene, arm.channel)).map(|arm| arm.comm));
    }
    Some(tell(scene, make, send, given, left?))
}

/// The call that a literal which sends is given to, if it is not known when that runs it.
fn given_away(scene: &Scene<'_>, send: &Op) -> Option<ExprId> {
    let literal = send.literal?;
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let body = read.function.body_of_literal(literal)?;
    let call = scene.given_to(literal)?;
    let unknown = runs(scene, &read.function, body).is_none();
    let is_call = !matches!(scene.info.callee(call), Callee::Builtin(_) | Callee::Conversion(_));
    (unknown && is_call && !scene.is_deferred(call)).then_some(call)
}

/// Whether a channel tells of something that callbacks have no part in: a context is done, time has
/// passed, or others have closed a channel that the function was given.
fn is_others(scene: &Scene<'_>, channel: ExprId) -> bool {
    if is_done(scene, channel) {
        return true;
    }
    match scene.file.expr(channel).kind {
        ExprKind::Call { .. } => {
            let called = scene.info.callee(channel).qualified(scene.cx.index());
            called.is_some_and(|name| name.path.as_str() == "time")
        }
        ExprKind::Ident(_) => scene
            .local(channel)
            .is_some_and(|local| matches!(scene.info.local(local).kind, LocalKind::Param(_))),
        _ => false,
    }
}

fn tell(scene: &Scene<'_>, make: &Op, send: &Op, given: ExprId, left: StmtId) -> Finding {
    let name = scene.text(send.channel);
    let owner = match make.literal {
        None => format!("`{}`", scene.name.name),
        Some(_) => "the function around".to_owned(),
    };
    let message = format!(
        "whoever calls this back when {owner} leaves stays here: nobody else receives from `{name}`"
    );
    let span = first_line(scene, send.span(scene));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(scene);
    let mut label = |node: Node, role: Role, message: &str| {
        finding.labels.push(Label {
            location: scene.cx.location(first_line(scene, scene.span(node))),
            role,
            message: message.to_owned(),
        });
    };
    label(make.node, Role::Made, "made here, unbuffered");
    label(Node::Expr(given), Role::Started, "the callback is given away here");
    label(Node::Stmt(left), Role::Left, "the loop that receives is left here");
    finding.why = "taking a callback back does not end a call of it that is under way".to_owned();
    finding.help =
        "send in a `select` with a channel that is closed when the function returns".to_owned();
    finding
}
