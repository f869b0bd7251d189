//! An arm with a bare `break`, in a loop that nothing else leaves, with code behind it.
//!
//! Evidence: the loop has no condition; no `return`, labelled branch, `goto` or call that may not come
//! back stands in it, and no `break` of its own; behind it stands more than a `return`. So the `break` was
//! meant to get there, and leaves only the `select` (Go specification, "Break statements"). Where nothing stands
//! behind the loop, the arm itself says that all is over: it does nothing but end things, and is the only one
//! that ends with a `break`.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::rules::FunctionCx;
use crate::rules::done_arm_does_not_leave::may_end;
use crate::rules::evidence::first_line;
use crate::rules::recurrence::begins_with;
use crate::rules::scene::{Scene, holds_any, is_beside_tests};
use crate::syntax::{BranchKind, ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

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
            if label.is_none() {
                found.extend(check_loop(&scene, stmt, behind.copied()));
            }
        }
    }
    found
}

fn check_loop(scene: &Scene<'_>, around: StmtId, behind: Option<StmtId>) -> Option<Finding> {
    let span = scene.span(Node::Stmt(around));
    let home = scene.literal_around(Node::Stmt(around));
    let inside = || {
        let nodes = scene.nodes.iter().copied();
        nodes.filter(|&node| span.contains(scene.span(node)) && scene.literal_around(node) == home)
    };
    if inside().any(|node| leaves(scene, around, node))
        || behind.is_some_and(|behind| is_panic(scene, behind))
    {
        return None;
    }
    let of_loop = |select: StmtId| {
        matches!(scene.file.stmt(select).kind, StmtKind::Select(_))
            && target(scene, Node::Stmt(select)) == Some(around)
    };
    let mut all = inside()
        .filter(|&node| is_bare_break(scene, node) && target(scene, node).is_some_and(of_loop));
    let broken = all.next()?;
    let (place, label, told) = match behind {
        Some(behind) => {
            (Node::Stmt(behind), "nothing gets here", "what stands behind that is never done")
        }
        None => {
            let ends = ended_in_arm(scene, broken).filter(|_| all.next().is_none())?;
            (Node::Expr(ends), "ended here", "it goes on with what has been ended")
        }
    };
    let message = format!(
        "this `break` leaves the `select` only: nothing leaves the loop around it, and {told}"
    );
    let broken = scene.span(broken);
    let mut finding = scene.cx.finding(broken, "goes on with the next turn", message);
    finding.labels.push(Label {
        location: scene.cx.location(first_line(scene, scene.span(place))),
        role: Role::Context,
        message: label.to_owned(),
    });
    finding.confidence =
        if is_beside_tests(&scene.cx) { Confidence::Low } else { Confidence::High };
    finding.why =
        "an unlabelled `break` leaves the innermost `for`, `switch` or `select`".to_owned();
    finding.help = "give the loop a label and `break` to it, or `return` here".to_owned();
    Some(finding)
}

/// What an arm ends that a `break` ends, if all that it does is to end things, and to tell of it.
fn ended_in_arm(scene: &Scene<'_>, broken: Node) -> Option<ExprId> {
    let select = scene.around(broken).find_map(|node| match node {
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Select(clauses) => Some(clauses),
            _ => None,
        },
        _ => None,
    })?;
    let arm = select
        .iter()
        .find(|arm| arm.body.last().is_some_and(|&last| Node::Stmt(last) == broken))?;
    let (_, before) = arm.body.split_last()?;
    let called = |stmt: &StmtId| {
        let StmtKind::Expr(expr) = scene.file.stmt(*stmt).kind else { return None };
        let call = scene.file.unparen(expr);
        scene.method_call(call).map(|(_, name)| (call, name.name))
    };
    let calls: Vec<_> = before.iter().map(called).collect::<Option<_>>()?;
    let begins = |name: Symbol, words: &[&str]| begins_with(name.as_str(), words);
    let begun = calls.iter().any(|&(_, name)| begins(name, BEGINS));
    calls.into_iter().find(|&(_, name)| begins(name, ENDS)).filter(|_| !begun).map(|(call, _)| call)
}

/// What the names of methods begin with that end what they are called of.
const ENDS: &[&str] = &["stop", "close", "shutdown", "cancel", "unsubscribe"];

/// What those begin with that begin it anew.
const BEGINS: &[&str] =
    &["start", "restart", "run", "reset", "open", "reopen", "connect", "reconnect", "init"];

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
