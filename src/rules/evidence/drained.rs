//! A timer whose channel is drained although its tick has been received already.
//!
//! Evidence: `if !t.Stop() { <-t.C }` stands in a loop; a path leads to it from another receive of
//! the same channel, or from another `Stop`, that passes no `Reset` and no new timer. `Stop` then
//! says that the timer was not running, and no tick is left to be received.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Start, Step};
use crate::rules::conditions::{Conditions, Way};
use crate::rules::evidence::confidence;
use crate::rules::evidence::runs::{How, runs};
use crate::rules::scene::Scene;
use crate::summary::{At, BodyId, Read};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// Reports the drains of the function that wait for a tick that was taken.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    for &node in scene.nodes.iter() {
        let Node::Stmt(stmt) = node else { continue };
        findings.extend(check_drain(scene, &read, stmt));
    }
}

fn check_drain(scene: &Scene<'_>, read: &Read<'_>, stmt: StmtId) -> Option<Finding> {
    let StmtKind::If { cond, then, .. } = scene.file.stmt(stmt).kind else { return None };
    let ExprKind::Unary { op: UnaryOp::Not, operand } =
        scene.file.expr(scene.file.unparen(cond)).kind
    else {
        return None;
    };
    let (timer, name) = scene.method_call(operand)?;
    let is_timer = scene.info.type_of(timer).strip_pointer().is_named("time", "Timer");
    if name.name.as_str() != "Stop" || !is_timer || depends(scene, stmt) {
        return None;
    }
    let [first] = scene.file.block(then) else { return None };
    let StmtKind::Expr(receive) = scene.file.stmt(*first).kind else { return None };
    let receive = scene.file.unparen(receive);
    let text = scene.text(timer);
    let body = read.function.body_of(scene.literal_around(Node::Stmt(stmt)))?;
    let cfg = &read.function.body(body).cfg;
    let drain = cfg.step_of_expr(receive)?;
    if !is_tick(scene, Step::Recv(receive), &text) {
        return None;
    }
    let stop = cfg.step_of_expr(scene.file.unparen(operand))?;
    let conditions = Conditions::new(&read.function, body);
    let resets = resets(scene, read, body, &text)?;
    let taken = cfg.steps().filter(|&step| step != drain && step != stop).find(|&step| {
        let takes = is_tick(scene, cfg.step(step), &text)
            || is_method(scene, cfg.step(step), &text, &["Stop"]);
        let mut walk = Way {
            conditions: &conditions,
            to: &|step| step == drain,
            settled: &|step| {
                sets(scene, cfg.step(step), &text) || resets.contains(&At { body, step })
            },
        };
        takes && cfg.finds(Start::After(step), conditions.known_after(cfg, step), &mut walk)
    })?;
    let taken = cfg.step(taken).span(scene.file);
    let message = format!(
        "the tick of `{text}` may have been taken already, and then nothing more comes on `{text}.C`"
    );
    let mut finding = scene.cx.finding(scene.span(Node::Expr(receive)), "stays here", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: scene.cx.location(taken),
        role: Role::Context,
        message: "after this the timer is neither running nor is there a tick left".to_owned(),
    });
    finding.why =
        "`Stop` is false for a timer that is not running; a path leads here on which it was not reset since"
            .to_owned();
    finding.help =
        format!("`select {{ case <-{text}.C: default: }}`, or note that the tick was taken");
    Some(finding)
}

/// Where the literals run that set a timer again, others than the one that drains it; `None` if one of them may run
/// at any time.
fn resets(scene: &Scene<'_>, read: &Read<'_>, drains: BodyId, timer: &str) -> Option<Vec<At>> {
    let function = &read.function;
    let mut found = Vec::new();
    let mut bodies: Vec<BodyId> = function
        .bodies()
        .filter(|&body| {
            let cfg = &function.body(body).cfg;
            body != BodyId::OWN
                && body != drains
                && cfg.steps().any(|step| sets(scene, cfg.step(step), timer))
        })
        .collect();
    let mut next = 0;
    while let Some(&body) = bodies.get(next) {
        next += 1;
        // What a goroutine does on its own comes in no order.
        for run in runs(scene, function, body)?.into_iter().filter(|run| run.how == How::Call) {
            found.push(run.at);
            if ![BodyId::OWN, drains].contains(&run.at.body) && !bodies.contains(&run.at.body) {
                bodies.push(run.at.body);
            }
        }
    }
    Some(found)
}

/// Whether something else is asked around the drain that may say whether the timer runs.
fn depends(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let literal = scene.literal_around(Node::Stmt(stmt));
    scene.around(Node::Stmt(stmt)).any(|around| {
        let Node::Stmt(around) = around else { return false };
        let StmtKind::If { cond, .. } = scene.file.stmt(around).kind else { return false };
        if scene.literal_around(Node::Stmt(around)) != literal {
            return false;
        }
        let cond = scene.file.unparen(cond);
        match scene.file.expr(cond).kind {
            ExprKind::Ident(_) | ExprKind::Selector { .. } => true,
            ExprKind::Unary { op: UnaryOp::Not, operand } => {
                !matches!(scene.file.expr(operand).kind, ExprKind::Call { .. })
            }
            ExprKind::Binary { left, right, .. } => scene.is_nil(left) || scene.is_nil(right),
            _ => false,
        }
    })
}

/// Whether a step receives from the channel of the timer.
fn is_tick(scene: &Scene<'_>, step: Step, timer: &str) -> bool {
    let Some(from) = step.received_from(scene.file) else { return false };
    scene
        .selector(from)
        .is_some_and(|(base, name)| name.name.as_str() == "C" && scene.text(base) == timer)
}

/// Whether a step calls one of these methods of the timer.
fn is_method(scene: &Scene<'_>, step: Step, timer: &str, names: &[&str]) -> bool {
    let Step::Call(call) = step else { return false };
    scene.method_call(call).is_some_and(|(base, name)| {
        names.contains(&name.name.as_str()) && scene.text(base) == timer
    })
}

/// Whether a step sets a timer again, or gives it to somebody who may.
fn sets(scene: &Scene<'_>, step: Step, timer: &str) -> bool {
    if is_method(scene, step, timer, &["Reset"]) {
        return true;
    }
    let names = |targets: &[ExprId]| targets.iter().any(|&target| scene.text(target) == timer);
    match step {
        Step::Assign(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, .. } | StmtKind::Define { left, .. } => names(left),
            _ => false,
        },
        Step::Call(call) => names(scene.args(call)),
        _ => false,
    }
}
