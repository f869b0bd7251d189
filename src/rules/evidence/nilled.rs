//! A channel variable that is set to nil on a path, and then used with nothing beside.
//!
//! Evidence: an assignment of `nil` to a local variable, and a path from it to a receive or
//! a send on the variable, outside of any `select`, that neither assigns it again nor asks
//! whether it is nil.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, Exit, Passing, PathEnd, Start, Step, StepId, Walk};
use crate::index::{LocalId, Type};
use crate::rules::conditions::{Conditions, Decided, condition};
use crate::rules::evidence::traffic::received_from;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{Node, StmtId, StmtKind};

/// Reports the uses of channels that were set to nil.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    for &node in scene.nodes.iter() {
        let Node::Stmt(stmt) = node else { continue };
        let StmtKind::Assign { left, op: None, right } = &scene.file.stmt(stmt).kind else {
            continue;
        };
        if left.len() != right.len() {
            continue;
        }
        for (&target, &value) in left.iter().zip(right) {
            if scene.is_nil(value)
                && let Some(local) = scene.local(target)
                && may_be_channel(scene, local)
            {
                findings.extend(check_nil(scene, stmt, local));
            }
        }
    }
}

/// Whether a variable is a channel, or of a type that is not known: what is received from is one.
fn may_be_channel(scene: &Scene<'_>, local: LocalId) -> bool {
    let ty = scene.cx.index().underlying(&scene.info.local(local).ty);
    matches!(ty, Type::Chan(..) | Type::Unknown)
}

fn check_nil(scene: &Scene<'_>, stmt: StmtId, local: LocalId) -> Option<Finding> {
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let function = &read.function;
    let body = function.body_of(scene.literal_around(Node::Stmt(stmt)))?;
    // What another body assigns may come in between.
    let elsewhere = function
        .definitions_of(local)
        .any(|definition| definition.at.is_some_and(|at| at.body != body));
    if elsewhere || function.owner(local) != Some(body) {
        return None;
    }
    let cfg = &function.body(body).cfg;
    let from = cfg.step_of_stmt(stmt)?;
    let set: Vec<StepId> = function
        .definitions_of(local)
        .filter_map(|definition| definition.at)
        .map(|at| at.step)
        .collect();
    let used: Vec<StepId> = cfg
        .steps()
        .filter(|&step| {
            let channel = match cfg.step(step) {
                Step::Recv(_) => received_from(scene, cfg, step),
                Step::Send(_) => cfg.step(step).sent_on(scene.file),
                _ => None,
            };
            channel.is_some_and(|channel| scene.local(channel) == Some(local))
        })
        .collect();
    let conditions = Conditions::new(function, body);
    let mut walk = Nil { scene, local, set: &set, used: &used, conditions: &conditions };
    let paths = cfg.search(Start::After(from), conditions.known_after(cfg, from), &mut walk);
    let PathEnd::Step(at) = paths.first()?.end else { return None };
    let name = scene.info.local(local).name;
    let message = format!("`{name}` may be nil here, and nothing ever comes on a nil channel");
    let span = first_line(scene, cfg.step(at).span(scene.file));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: scene.cx.location(scene.span(Node::Stmt(stmt))),
        role: Role::Context,
        message: "set to nil here".to_owned(),
    });
    finding.why = "an operation on a nil channel waits for ever".to_owned();
    finding.help = format!("ask whether `{name}` is nil, or give it a closed channel instead");
    Some(finding)
}

/// Looks for a way to a use that neither sets the variable nor asks for it.
struct Nil<'n, 'a> {
    scene: &'n Scene<'a>,
    local: LocalId,
    set: &'n [StepId],
    used: &'n [StepId],
    conditions: &'n Conditions,
}

impl Walk for Nil<'_, '_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        if self.used.contains(&step) {
            return Passing::Found;
        }
        if self.set.contains(&step) {
            return Passing::Drop;
        }
        Passing::On(self.conditions.after(decided, step))
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        let asks = condition(edge.kind)
            .is_some_and(|asked| self.scene.mentions(Node::Expr(asked), self.local));
        let mut next = decided.clone();
        (!asks && self.conditions.edge(&mut next, edge)).then_some(next)
    }

    fn exit(&mut self, _: &Decided, _: Exit) -> bool {
        false
    }
}
