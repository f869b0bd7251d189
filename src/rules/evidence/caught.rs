//! A panic that the goroutine itself catches: it defers a function, of any package of the run, that calls `recover`.

use crate::diagnostic::Finding;
use crate::index::{Builtin, Callee};
use crate::rules::PackageCx;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtKind};

/// Whether a finding of something that panics stands in a body that catches it.
pub fn is_caught(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    let body = || {
        let scene = Scene::at(cx, finding.primary)?;
        let literal = scene.literal_around(scene.outermost(finding.primary.span)?);
        Some(catches(&scene, literal))
    };
    finding.rule == "close-misuse" && body().unwrap_or(false)
}

/// Whether a body defers what recovers.
pub(super) fn catches(scene: &Scene<'_>, literal: Option<ExprId>) -> bool {
    let deferred = scene.nodes.iter().filter_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::Defer(call) = scene.file.stmt(stmt).kind else { return None };
        (scene.literal_around(node) == literal).then(|| scene.file.unparen(call))
    });
    deferred.into_iter().any(|call| match *scene.info.callee(call) {
        Callee::Literal(deferred) => recovers(scene, Some(deferred)),
        Callee::Func(func) => {
            Scene::of(&scene.cx.package, func).is_some_and(|callee| recovers(&callee, None))
        }
        _ => false,
    })
}

/// Whether a body itself calls `recover`: in a function that it calls, that catches nothing.
fn recovers(scene: &Scene<'_>, literal: Option<ExprId>) -> bool {
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(call) => {
            matches!(scene.info.callee(call), Callee::Builtin(Builtin::Recover))
                && scene.literal_around(node) == literal
        }
        _ => false,
    })
}
