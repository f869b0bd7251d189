//! A callback that sends to the function that gave it away, which receives until something else ends
//! the wait.
//!
//! Evidence: the channel is unbuffered and only this function knows it; all receives are arms of
//! `select` in the body that made it, in a loop or of one answer; a literal that sends bare is given to a
//! call before. Whoever calls it back does so in another goroutine, or it would have been stuck at once;
//! the one that is calling when the wait ends, or later, stays. A call that is given what ends the wait, or
//! gives something to take the callback back with, may keep it from being called late. A field whose closing ends
//! the wait is not enough: who calls back may be the one that closes it, before or after that ([`ended`]).

mod ended;

use ended::is_ended_by_others;

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Callee, Def, LocalKind};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::leaver::{is_done, leaving_arm};
use crate::rules::evidence::runs::runs;
use crate::rules::evidence::{confidence, ends_process, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

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
        && !group.ops.iter().any(|op| matches!(op.act, Act::Range | Act::Notify));
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
    let receives = || group.ops.iter().filter(|op| op.act == Act::Receive);
    let mut left = None;
    for receive in receives() {
        let step = receive.step(scene, &cfg).filter(|_| receive.same_body(make))?;
        if !cfg.reaches(given_at, step) {
            return None;
        }
        let arm = leaving_arm(groups, group, receive);
        left = left.or(arm.filter(|arm| is_others(groups, make.scene, arm.channel)));
    }
    let left = left?;
    let gone = cfg.step_of_stmt(left.comm)?;
    let again = |op: &Op| op.step(scene, &cfg).is_some_and(|step| cfg.reaches(step, step));
    let in_loop = receives().all(again);
    let is_closed = group.ops.iter().any(|op| op.act == Act::Close);
    if !in_loop {
        let once = receives().all(|op| {
            !again(op) && op.step(scene, &cfg).is_some_and(|step| !cfg.reaches(gone, step))
        });
        // Who has sent its only answer may close the channel.
        let mut closes = group.ops.iter().filter(|op| op.act == Act::Close);
        let own = closes.all(|close| close.literal == send.literal);
        if !once || !own || may_be_called_off(scene, given, left.channel) {
            return None;
        }
    } else if is_closed {
        return None;
    }
    Some(tell(scene, make, send, given, left.comm, in_loop))
}

/// Whether a call that is given a callback may keep it from being called late: it is given what ends the wait,
/// or gives something back that is no error. The context that the function was given itself does not end when
/// time has passed.
fn may_be_called_off(scene: &Scene<'_>, given: ExprId, ends: ExprId) -> bool {
    let context = scene.method_call(ends).map(|(base, _)| scene.text(base));
    let timed = is_timed(scene, ends);
    let is_given = scene.args(given).iter().any(|&arg| {
        context.as_deref() == Some(scene.text(arg).as_str())
            || scene.info.type_of(arg).is_context() && !(timed && is_of_caller(scene, arg))
    });
    let gives = match scene.parent(Node::Expr(given)) {
        Some(Node::Stmt(stmt)) => !matches!(scene.file.stmt(stmt).kind, StmtKind::Expr(_)),
        _ => true,
    };
    is_given || gives && !gives_error(scene, given)
}

/// Whether all that a call gives is an error: its type says so, or what it is assigned to.
fn gives_error(scene: &Scene<'_>, given: ExprId) -> bool {
    let assignment = scene.parent(Node::Expr(given)).and_then(|around| scene.assignment(around));
    let target = match assignment.as_ref().map(|(targets, _)| &targets[..]) {
        Some(&[Some(target)]) => Some(scene.info.local(target)),
        _ => None,
    };
    scene.info.type_of(given).is_error()
        || target.is_some_and(|target| target.ty.is_error() || target.name.as_str() == "err")
}

/// Whether an expression is a parameter that always is what the caller gave.
fn is_of_caller(scene: &Scene<'_>, expr: ExprId) -> bool {
    let Some(local) = scene.local(expr) else { return false };
    let is_param = matches!(scene.info.local(local).kind, LocalKind::Param(_));
    let Some(graph) = scene.graph(None) else { return false };
    is_param && graph.function().definitions_of(local).count() == 1
}

/// The call that a literal which sends is given to, if it is not known when that runs it.
fn given_away(scene: &Scene<'_>, send: &Op) -> Option<ExprId> {
    let literal = send.literal?;
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let body = read.function.body_of_literal(literal)?;
    let call = scene.given_to(literal).or_else(|| given_by_name(scene, literal))?;
    let unknown = runs(scene, &read.function, body).is_none();
    let is_call = !matches!(scene.info.callee(call), Callee::Builtin(_) | Callee::Conversion(_));
    (unknown && is_call && !scene.is_deferred(call)).then_some(call)
}

/// The call that a literal is given to by the name of the only variable that it is kept in, if that is all that
/// is done with it.
fn given_by_name(scene: &Scene<'_>, literal: ExprId) -> Option<ExprId> {
    let local = scene.assigned_to(literal)?;
    let mut uses = scene.uses(local).filter(|&usage| {
        let declares = scene.info.local(local).span == scene.span(Node::Expr(usage));
        !declares
    });
    let call = scene.given_to(uses.next()?)?;
    uses.next().is_none().then_some(call)
}

/// Whether a channel tells of something that callbacks have no part in: a context is done, time has
/// passed, or others have closed it.
fn is_others(groups: &Groups<'_>, at: usize, channel: ExprId) -> bool {
    let scene = &groups.scenes[at];
    if is_done(scene, channel) || is_timed(scene, channel) {
        return true;
    }
    let is_given = scene
        .local(channel)
        .is_some_and(|local| matches!(scene.info.local(local).kind, LocalKind::Param(_)));
    is_given
        || matches!(scene.info.resolve(channel), Def::Field(_))
            && is_ended_by_others(groups, at, channel)
}

/// Whether a channel tells that time has passed: what a function of package `time` gives, or the channel of a
/// timer or ticker.
fn is_timed(scene: &Scene<'_>, channel: ExprId) -> bool {
    if let ExprKind::Call { .. } = scene.file.expr(channel).kind {
        let called = scene.info.callee(channel).qualified(scene.cx.index());
        return called.is_some_and(|name| name.path.as_str() == "time");
    }
    scene.selector(channel).is_some_and(|(base, name)| {
        let owner = scene.info.type_of(base).strip_pointer();
        name.name.as_str() == "C"
            && owner.named().is_some_and(|named| named.path.as_str() == "time")
    })
}

fn tell(
    scene: &Scene<'_>,
    make: &Op,
    send: &Op,
    given: ExprId,
    left: StmtId,
    in_loop: bool,
) -> Finding {
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
    let (told, why, help) = match in_loop {
        true => (
            "the loop that receives is left here",
            "taking a callback back does not end a call of it that is under way",
            "send in a `select` with a channel that is closed when the function returns",
        ),
        false => (
            "nobody waits for the answer from here on",
            "who was given the callback does not learn that nobody waits any more",
            "give the channel room for the answer: `make(..., 1)`",
        ),
    };
    label(Node::Stmt(left), Role::Left, told);
    (finding.why, finding.help) = (why.to_owned(), help.to_owned());
    finding
}
