//! Stories that rest on the end of a context which nobody in the run ends.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::rules::PackageCx;
use crate::rules::endable::is_of_endless;
use crate::rules::scene::Scene;
use crate::rules::stuck::scene_of;
use crate::source::Span;
use crate::syntax::{ExprId, Node, StmtKind};

/// Whether somebody leaves, in what was found by exploring, because a context is done that the function was
/// given and nobody in the run ends.
pub(super) fn rests_on_endless(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    let mut left = finding.labels.iter().filter(|label| label.role == Role::Left);
    left.any(|label| is_endless(cx, label).unwrap_or(false))
}

fn is_endless(cx: &PackageCx<'_>, label: &Label) -> Option<bool> {
    let at = label.location;
    let scene = scene_of(cx, at)?;
    if let Some(channel) = awaited_before(&scene, at.span) {
        return is_of_endless(&scene, channel);
    }
    let clauses = scene.nodes.iter().find_map(|&node| match node {
        Node::Stmt(stmt) if scene.span(node).start == at.span.start => {
            match &scene.file.stmt(stmt).kind {
                StmtKind::Select(clauses) => Some(clauses),
                _ => None,
            }
        }
        _ => None,
    })?;
    // The label says which of the clauses it is.
    let taken = clauses.iter().filter_map(|clause| clause.comm).find(|&comm| {
        let text = scene.file.source.text(scene.span(Node::Stmt(comm)));
        label.message.contains(&format!("`{text}`"))
    })?;
    is_of_endless(&scene, Step::Comm(taken).received_from(scene.file)?)
}

/// What a method gave (`ctx.Done()`), if the block around a place has waited at that last, and alone, when it
/// comes there.
fn awaited_before(scene: &Scene<'_>, place: Span) -> Option<ExprId> {
    let mut before = scene.nodes.iter().rev().filter_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let is_before = scene.span(node).end <= place.start;
        let channel = Step::Comm(stmt).received_from(scene.file).filter(|_| is_before)?;
        let block = scene.parent(node).filter(|&block| scene.span(block).contains(place))?;
        let Node::Stmt(block) = block else { return None };
        matches!(scene.file.stmt(block).kind, StmtKind::Block(_)).then_some(channel)
    });
    before.next().filter(|&channel| scene.method_call(channel).is_some())
}
