//! Values that are received only when those who send them are done.
//!
//! Evidence: all operations on the channel are seen, and it is unbuffered; a function starts goroutines that send on
//! it with nothing beside and are counted, and all that ever receives stands in the same body behind its wait for
//! them. Whoever has something to send is not done before it is received, and it is not received before he is done.

use crate::diagnostic::{Finding, Label, Role};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::{confidence, first_line, wait_group};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node};

/// Reports the sends that are waited for before they are received.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let is_made = |op: &&Op| matches!(op.act, Act::Make(_));
    let unbuffered = group.ops.iter().filter(is_made).all(|op| op.act == Act::Make(Some(0)));
    if group.open || !unbuffered || !group.ops.iter().any(|op| is_made(&op)) {
        return None;
    }
    let receives = group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range));
    let receives: Vec<&Op> = receives.collect();
    let first = receives.first()?;
    if group.ops.iter().any(|op| op.act == Act::Notify)
        || !receives.iter().all(|op| op.same_body(first))
    {
        return None;
    }
    let scene = &groups.scenes[first.scene];
    let cfg = scene.graph(first.literal)?;
    let sends = group.ops.iter().filter(|op| op.act == Act::Send && op.select.is_none());
    sends.filter(|op| op.scene == first.scene).find_map(|send| {
        let counter = counter(scene, send, first.literal)?;
        let wait = scene.nodes.iter().find_map(|&node| {
            let Node::Expr(call) = node else { return None };
            let (base, name) = scene.method_call(call)?;
            let waits = name.name.as_str() == "Wait"
                && scene.text(base) == counter
                && scene.literal_around(node) == first.literal
                && !scene.is_deferred(call)
                && scene.go_of(call).is_none();
            let at = waits.then(|| scene.step_of(&cfg, node)).flatten()?;
            let is_before =
                |op: &&Op| op.step(scene, &cfg).is_some_and(|step| cfg.dominates(at, step));
            receives.iter().all(is_before).then_some(call)
        })?;
        Some(tell(scene, send, wait, first))
    })
}

/// What counts the goroutine of a send, as it is written, if a body starts it as a literal and its end comes after
/// the send.
fn counter(scene: &Scene<'_>, send: &Op, home: Option<ExprId>) -> Option<String> {
    let literal = send.literal?;
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return None };
    if scene.literal_around(Node::Expr(call)) != home {
        return None;
    }
    let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return None };
    if scene.file.unparen(callee) != literal {
        let (group, name) = scene.method_call(call)?;
        return (name.name.as_str() == "Go").then(|| scene.text(group));
    }
    scene.go_of(call)?;
    let cfg = scene.graph(Some(literal))?;
    let at = send.step(scene, &cfg)?;
    scene.nodes.iter().find_map(|&node| {
        let Node::Expr(call) = node else { return None };
        let base = wait_group::of_call(scene, call, "Done")?;
        if scene.literal_around(node) != Some(literal) {
            return None;
        }
        let step = scene.step_of(&cfg, node)?;
        let is_last = scene.is_deferred(call) || cfg.reaches(at, step) && !cfg.reaches(step, at);
        is_last.then(|| scene.text(base))
    })
}

fn tell(scene: &Scene<'_>, send: &Op, wait: ExprId, receive: &Op) -> Finding {
    let (channel, waits) = (scene.text(send.channel), scene.text(wait));
    let message = format!(
        "this send on `{channel}` waits for a receive that comes only after `{waits}`, which waits for this goroutine"
    );
    let span = first_line(scene, send.span(scene));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(scene);
    let label = |span, role, message: String| Label {
        location: scene.cx.location(first_line(scene, span)),
        role,
        message,
    };
    finding.labels.push(label(
        scene.span(Node::Expr(wait)),
        Role::Stuck,
        "never returns once somebody sends".to_owned(),
    ));
    finding.labels.push(label(
        receive.span(scene),
        Role::Context,
        format!("`{channel}` is received from here, and nowhere else"),
    ));
    finding.why = "each of the two waits for the other to come first".to_owned();
    finding.help = format!(
        "give `{channel}` room for all that is sent, or wait and close in a goroutine of its own while this \
         one receives"
    );
    finding
}
