//! Goroutines that serve something, and tell of no error that comes of its end: `err != http.ErrServerClosed`
//! where another one calls `server.Shutdown`.

use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node};

/// Whether a function literal leaves out an error that says that something was closed, and the function around
/// it ends what the literal uses.
pub fn leaves_out_the_end(scene: &Scene<'_>, literal: ExprId) -> bool {
    let within = scene.span(Node::Expr(literal));
    let exprs = scene.nodes.iter().filter_map(|&node| match node {
        Node::Expr(expr) => Some((expr, within.contains(scene.span(node)))),
        _ => None,
    });
    let leaves_out = |expr: ExprId| {
        let name = scene.selector(expr).map(|(_, name)| name.name.as_str());
        name.is_some_and(|name| {
            name.starts_with("Err") && (name.ends_with("Closed") || name.ends_with("Stopped"))
        })
    };
    let ends = |call: ExprId| {
        let Some((base, name)) = scene.method_call(call) else { return false };
        let ends = matches!(name.name.as_str(), "Shutdown" | "Close" | "Stop" | "GracefulStop");
        ends && scene.local(base).is_some_and(|local| {
            scene.uses(local).any(|usage| within.contains(scene.span(Node::Expr(usage))))
        })
    };
    exprs.clone().any(|(expr, inside)| inside && leaves_out(expr))
        && exprs.clone().any(|(expr, inside)| !inside && ends(expr))
}
