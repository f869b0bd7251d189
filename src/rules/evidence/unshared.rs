//! A send on an unbuffered channel that nobody else has yet.
//!
//! Evidence: from where the channel is made, a path leads to a send with nothing beside, in the
//! same body, on which the channel is named nowhere else: it was not given to a goroutine, stored
//! or captured, so that nobody can receive.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Start, Step, StepId};
use crate::rules::conditions::{Conditions, Way};
use crate::rules::evidence::traffic::{Made, body_of, made_channels};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::summary::Read;
use crate::syntax::{Node, StmtKind};

/// Reports the sends of the function that come before anybody can receive.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    for made in made_channels(scene, &read) {
        if made.capacity == 0 {
            findings.extend(check_channel(scene, &read, made));
        }
    }
}

fn check_channel(scene: &Scene<'_>, read: &Read<'_>, made: Made) -> Option<Finding> {
    let function = &read.function;
    let cfg = &function.body(made.at.body).cfg;
    let owner = function.body(made.at.body).literal;
    let (mut sends, mut others) = (Vec::new(), Vec::new());
    for usage in scene.uses(made.local) {
        let node = Node::Expr(usage);
        let step = match scene.literal_below(owner, node) {
            Some(literal) => cfg.step_of_expr(literal),
            None if body_of(scene, read, node) == Some(made.at.body) => scene.step_of(cfg, node),
            None => return None,
        }?;
        let is_send = match scene.parent(node) {
            Some(Node::Stmt(stmt)) => match scene.file.stmt(stmt).kind {
                StmtKind::Send { channel, .. } => scene.file.unparen(channel) == usage,
                _ => false,
            },
            _ => false,
        };
        match (is_send, cfg.step(step)) {
            (true, Step::Send(_)) => sends.push(step),
            _ => others.push(step),
        }
    }
    let conditions = Conditions::new(function, made.at.body);
    let mut walk = Way {
        conditions: &conditions,
        to: &|step| sends.contains(&step) && !others.contains(&step),
        settled: &|step| others.contains(&step),
    };
    let paths = cfg.search(
        Start::After(made.at.step),
        conditions.known_after(cfg, made.at.step),
        &mut walk,
    );
    let crate::flow::PathEnd::Step(send) = paths.first()?.end else { return None };
    // A loop that may not turn once has shared it as far as anybody knows.
    let start = cfg.step(send).span(scene.file).start;
    let after_make = cfg.step(made.at.step).span(scene.file).end;
    let shared = |&step: &StepId| {
        let at = cfg.step(step).span(scene.file).start;
        at >= after_make && at < start
    };
    if others.iter().any(shared) {
        return None;
    }
    let name = scene.info.local(made.local).name;
    let span = first_line(scene, cfg.step(send).span(scene.file));
    let message =
        format!("nobody but this function has `{name}` yet, so nobody can receive from it");
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(scene);
    let make = scene.cx.location(scene.span(Node::Expr(made.make)));
    finding.defect = make;
    finding.labels.push(Label {
        location: make,
        role: Role::Made,
        message: format!("`{name}` is made here, unbuffered"),
    });
    finding.why = format!("`{name}` is given to others only after this send");
    finding.help = "give the channel room: `make(..., 1)`".to_owned();
    Some(finding)
}
