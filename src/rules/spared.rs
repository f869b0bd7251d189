//! Goroutines that serve something, and tell of no error that comes of its end: `err != http.ErrServerClosed`
//! where another one calls `server.Shutdown`.

use crate::flow::StepId;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node};

/// Whether a function literal leaves out an error that says that something was closed, and the function around
/// it ends what the literal uses, or receives what it sends, whichever way it goes.
pub fn leaves_out_the_end(scene: &Scene<'_>, literal: ExprId) -> bool {
    let within = scene.span(Node::Expr(literal));
    let exprs = |inside: bool| {
        scene.nodes.iter().filter_map(move |&node| match node {
            Node::Expr(expr) => (within.contains(scene.span(node)) == inside).then_some(expr),
            _ => None,
        })
    };
    let is_used = |expr: ExprId| {
        let is_within = |usage: ExprId| within.contains(scene.span(Node::Expr(usage)));
        scene.local(expr).is_some_and(|local| scene.uses(local).any(is_within))
    };
    let says_closed = |expr: ExprId| {
        scene.selector(expr).is_some_and(|(_, name)| {
            let name = name.name.as_str();
            name.starts_with("Err") && (name.ends_with("Closed") || name.ends_with("Stopped"))
        })
    };
    if !exprs(true).any(says_closed) {
        return false;
    }
    let ends = |&call: &ExprId| {
        scene.method_call(call).is_some_and(|(base, name)| {
            matches!(name.name.as_str(), "Shutdown" | "Close" | "Stop" | "GracefulStop")
                && is_used(base)
        })
    };
    let ends: Vec<ExprId> = exprs(false).filter(ends).collect();
    let owner = scene.literal_around(Node::Expr(literal));
    let is_elsewhere =
        |&call: &ExprId| scene.is_deferred(call) || scene.literal_around(Node::Expr(call)) != owner;
    if ends.iter().any(is_elsewhere) {
        return true;
    }
    let started = || {
        let graph = scene.graph(owner)?;
        let step = scene.step_of(&graph, Node::Stmt(scene.go_around(literal)?))?;
        Some((graph, step))
    };
    let Some((graph, started)) = started() else { return !ends.is_empty() };
    let settled = |step: StepId| {
        let step = graph.step(step);
        step.call(scene.file).is_some_and(|call| ends.contains(&call))
            || step.received_from(scene.file).is_some_and(is_used)
    };
    !ends.is_empty() && graph.escapes(started, &settled).is_empty()
}
