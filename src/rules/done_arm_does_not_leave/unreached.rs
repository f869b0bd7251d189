//! An arm with a bare `break`, in a loop that nothing else leaves, with code behind it.
//!
//! Evidence: the loop has no condition; no `return`, labelled branch, `goto` or call that may not come
//! back stands in it, and no `break` of its own; behind it stands more than a `return`. So the `break` was
//! meant to get there, and leaves only the `select` (Go specification, "Break statements").

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::rules::FunctionCx;
use crate::rules::done_arm_does_not_leave::may_end;
use crate::rules::evidence::first_line;
use crate::rules::scene::{Scene, holds_any, is_beside_tests};
use crate::syntax::{BranchKind, ExprKind, Node, StmtId, StmtKind};

/// The first bare `break` of each such loop of a function.
pub(super) fn check(cx: &FunctionCx<'_>) -> Vec<Finding> {
    if !holds_any(cx, &["break"]) {
        return Vec::new();
    }
    let Some(scene) = Scene::new(*cx) else { return Vec::new() };
    let mut found = Vec::new();
    for &node in scene.nodes.iter() {
        let Node::Stmt(block) = node else { continue };
        let StmtKind::Block(stmts) = &scene.file.stmt(block).kind else { continue };
        for (place, &stmt) in stmts.iter().enumerate() {
            let (label, stmt) = match scene.file.stmt(stmt).kind {
                StmtKind::Labeled { label, stmt } => (Some(label.name), stmt),
                _ => (None, stmt),
            };
            let StmtKind::For { cond: None, .. } = scene.file.stmt(stmt).kind else { continue };
            let behind = stmts.get(place + 1).filter(|&&next| {
                !matches!(scene.file.stmt(next).kind, StmtKind::Return(_) | StmtKind::Empty)
            });
            // Who has given the loop a label knows what a `break` leaves.
            if let Some(&behind) = behind
                && label.is_none()
            {
                found.extend(check_loop(&scene, stmt, behind));
            }
        }
    }
    found
}

fn check_loop(scene: &Scene<'_>, around: StmtId, behind: StmtId) -> Option<Finding> {
    let span = scene.span(Node::Stmt(around));
    let home = scene.literal_around(Node::Stmt(around));
    let inside = || {
        let nodes = scene.nodes.iter().copied();
        nodes.filter(|&node| span.contains(scene.span(node)) && scene.literal_around(node) == home)
    };
    if inside().any(|node| leaves(scene, around, node)) || is_panic(scene, behind) {
        return None;
    }
    let of_loop = |select: StmtId| {
        matches!(scene.file.stmt(select).kind, StmtKind::Select(_))
            && target(scene, Node::Stmt(select)) == Some(around)
    };
    let broken = inside()
        .find(|&node| is_bare_break(scene, node) && target(scene, node).is_some_and(of_loop))?;
    let broken = scene.span(broken);
    let message =
        "this `break` leaves the `select` only: nothing leaves the loop around it, and what \
                   stands behind that is never done"
            .to_owned();
    let mut finding = scene.cx.finding(broken, "goes on with the next turn", message);
    let first = first_line(scene, scene.span(Node::Stmt(behind)));
    finding.labels.push(Label {
        location: scene.cx.location(first),
        role: Role::Context,
        message: "nothing gets here".to_owned(),
    });
    finding.confidence =
        if is_beside_tests(&scene.cx) { Confidence::Low } else { Confidence::High };
    finding.why =
        "an unlabelled `break` leaves the innermost `for`, `switch` or `select`".to_owned();
    finding.help = "give the loop a label and `break` to it, or `return` here".to_owned();
    Some(finding)
}

/// Whether a node in a loop may leave it.
fn leaves(scene: &Scene<'_>, around: StmtId, node: Node) -> bool {
    match node {
        Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::Return(_) => true,
            _ if is_bare_break(scene, node) => target(scene, node) == Some(around),
            StmtKind::Branch { label, kind } => label.is_some() || kind == BranchKind::Goto,
            _ => false,
        },
        Node::Expr(expr) => match scene.file.expr(expr).kind {
            ExprKind::Call { callee, .. } => {
                let name = match scene.file.expr(scene.file.unparen(callee)).kind {
                    ExprKind::Ident(name) => Some(name),
                    ExprKind::Selector { name, .. } => Some(name.name),
                    _ => None,
                };
                name.is_none_or(|name| may_end(name.as_str()))
            }
            ExprKind::Missing => true,
            _ => false,
        },
        Node::Decl(_) => false,
    }
}

fn is_bare_break(scene: &Scene<'_>, node: Node) -> bool {
    let Node::Stmt(stmt) = node else { return false };
    matches!(scene.file.stmt(stmt).kind, StmtKind::Branch { kind: BranchKind::Break, label: None })
}

/// The statement that a bare `break` at a node would leave.
fn target(scene: &Scene<'_>, node: Node) -> Option<StmtId> {
    scene.around(node).find_map(|node| match node {
        Node::Stmt(stmt) => matches!(
            scene.file.stmt(stmt).kind,
            StmtKind::For { .. }
                | StmtKind::Range { .. }
                | StmtKind::Switch { .. }
                | StmtKind::TypeSwitch { .. }
                | StmtKind::Select(_)
        )
        .then_some(stmt),
        _ => None,
    })
}

/// Whether a statement only says that nothing gets there.
fn is_panic(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let StmtKind::Expr(expr) = scene.file.stmt(stmt).kind else { return false };
    leaves(scene, stmt, Node::Expr(scene.file.unparen(expr)))
}
