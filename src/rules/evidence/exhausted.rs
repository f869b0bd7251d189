//! A channel that gives one value, and is received from again in the next turn of a loop.
//!
//! Evidence: a variable of the function is set to nil in the arm of one receive, which tells that
//! nothing more comes of it; another receive from it, behind `if c != nil`, waits for nothing else;
//! and from there a path leads round the loop to that receive again on which nothing is assigned to
//! the variable.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Path, Start, Step};
use crate::index::{Builtin, Callee, LocalId};
use crate::rules::conditions::{Conditions, Decided, Way, condition};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::summary::{At, Function, Source};
use crate::syntax::{ExprId, Node, StmtId, StmtKind};

/// Reports the receives of the function that wait for a second value.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let selects = |&node: &Node| match node {
        Node::Stmt(stmt) => matches!(scene.file.stmt(stmt).kind, StmtKind::Select(_)),
        _ => false,
    };
    // A channel is set to nil in an arm of one.
    if !scene.nodes.iter().any(selects) {
        return;
    }
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    let function = &read.function;
    for body in function.bodies() {
        let cfg = &function.body(body).cfg;
        for step in cfg.steps() {
            let Step::Recv(receive) = cfg.step(step) else { continue };
            let Some(channel) = cfg.step(step).received_from(scene.file) else { continue };
            let Some(local) = scene.local(channel) else { continue };
            if !is_asked_for_nil(scene, receive, local) || !is_made_here(scene, function, local) {
                continue;
            }
            let Some(cleared) = cleared_elsewhere(scene, local) else { continue };
            let conditions = Conditions::new(function, body);
            let mut walk = Way {
                conditions: &conditions,
                to: &|other| other == step,
                settled: &|step| function.defines(At { body, step }, local),
            };
            if let Some(path) =
                cfg.search(Start::After(step), conditions.known_after(cfg, step), &mut walk).first()
            {
                findings.push(finding(scene, receive, channel, cleared, path));
            }
        }
    }
}

/// Whether a receive stands in the block of an `if c != nil`.
fn is_asked_for_nil(scene: &Scene<'_>, receive: ExprId, channel: LocalId) -> bool {
    let literal = scene.literal_around(Node::Expr(receive));
    let mut around = scene.around(Node::Expr(receive)).take_while(|&node| {
        !matches!(node, Node::Stmt(stmt) if matches!(scene.file.stmt(stmt).kind, StmtKind::For { .. }))
    });
    around.any(|node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::If { cond, .. } = scene.file.stmt(stmt).kind else { return false };
        scene.nil_test(cond) == Some((channel, true)) && scene.literal_around(node) == literal
    })
}

/// Whether all that a variable ever holds is nil and channels that are made for it.
fn is_made_here(scene: &Scene<'_>, function: &Function<'_>, channel: LocalId) -> bool {
    function.definitions_of(channel).all(|definition| match definition.source {
        Source::Zero => true,
        Source::Expr(value) => {
            scene.is_nil(value)
                || matches!(
                    scene.info.callee(scene.file.unparen(value)),
                    Callee::Builtin(Builtin::Make)
                )
        }
        _ => false,
    })
}

/// The `c = nil` in an arm of a `select` that receives from the channel.
fn cleared_elsewhere(scene: &Scene<'_>, channel: LocalId) -> Option<StmtId> {
    scene.nodes.iter().find_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::Select(clauses) = &scene.file.stmt(stmt).kind else { return None };
        clauses.iter().find_map(|clause| {
            let from = Step::Comm(clause.comm?).received_from(scene.file)?;
            if scene.local(from) != Some(channel) {
                return None;
            }
            clause.body.iter().copied().find(|&stmt| {
                let assigned = scene.assignment(Node::Stmt(stmt));
                matches!(assigned, Some((targets, [value]))
                    if targets == [Some(channel)] && scene.is_nil(*value))
            })
        })
    })
}

fn finding(
    scene: &Scene<'_>,
    receive: ExprId,
    channel: ExprId,
    cleared: StmtId,
    path: &Path<Decided>,
) -> Finding {
    let name = scene.text(channel);
    let message = format!(
        "a turn of this loop can end with `{name}` received and not set to nil: the next turn waits \
         for a second value, and only one is sent"
    );
    let mut finding = scene.cx.finding(scene.span(Node::Expr(receive)), "waits again", message);
    let mut label = |node: Node, role: Role, told: String| {
        let location = scene.cx.location(first_line(scene, scene.span(node)));
        finding.labels.push(Label { location, role, message: told });
    };
    if let Some(condition) = path.decisions().filter_map(condition).next() {
        let told = format!("`{}` is decided here", scene.text(condition));
        label(Node::Expr(condition), Role::Left, told);
    }
    let told = format!("set to nil after the other receive, since nothing more comes of `{name}`");
    label(Node::Stmt(cleared), Role::Context, told);
    finding.confidence = confidence(scene);
    finding.why = format!(
        "`{name}` is made anew only further down, where a turn that is left early does not come"
    );
    finding.help = format!("`{name} = nil` right after this receive");
    finding
}
