//! A place that is taken in a channel, and not given back when a context ends first.
//!
//! Evidence: the function sends an empty struct into a channel; what it defers takes it out again in
//! a `select` beside `<-ctx.Done()`. The receive is always ready there, since the function's own
//! value is in the buffer; and of two arms that are ready `select` takes either. Each time it takes
//! the other one a place is lost, until all who want one wait for ever.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::rules::evidence::leaver::is_done;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtId, StmtKind};

/// Reports the places of the function that may stay taken.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    for &node in scene.nodes.iter() {
        let Node::Stmt(stmt) = node else { continue };
        findings.extend(check_select(scene, stmt));
    }
}

fn check_select(scene: &Scene<'_>, stmt: StmtId) -> Option<Finding> {
    let StmtKind::Select(clauses) = &scene.file.stmt(stmt).kind else { return None };
    let [first, second] = &clauses[..] else { return None };
    let from = |comm: Option<StmtId>| Step::Comm(comm?).received_from(scene.file);
    let (one, other) = (from(first.comm)?, from(second.comm)?);
    let (gone, clause, places) = match (is_context_end(scene, one), is_context_end(scene, other)) {
        (true, false) => (one, first, other),
        (false, true) => (other, second, one),
        _ => return None,
    };
    let holds_places = scene.cx.index().is_signal(scene.info.type_of(places));
    if !clause.body.is_empty() || !is_deferred(scene, stmt) || !holds_places {
        return None;
    }
    let text = scene.text(places);
    let literal = scene.literal_around(Node::Stmt(stmt));
    let sent = scene.nodes.iter().find_map(|&node| {
        let Node::Stmt(send) = node else { return None };
        let StmtKind::Send { channel, .. } = scene.file.stmt(send).kind else { return None };
        let own = scene.literal_around(node) != literal && scene.text(channel) == text;
        (own && scene.span(node).start < scene.span(Node::Stmt(stmt)).start).then_some(node)
    })?;
    let done = scene.text(gone);
    let message = format!(
        "a place in `{text}` is not given back when `{done}` is ready too: `select` takes either \
         arm, and with each place lost one less can be taken, until every send waits for ever"
    );
    let at = scene.span(Node::Expr(gone));
    let mut finding = scene.cx.finding(at, "the place stays taken on this arm", message);
    let mut label = |node: Node, role: Role, told: &str| {
        let location = scene.cx.location(first_line(scene, scene.span(node)));
        finding.labels.push(Label { location, role, message: told.to_owned() });
    };
    label(sent, Role::Context, "the place is taken here");
    label(Node::Expr(places), Role::Context, "given back here only");
    finding.confidence = confidence(scene);
    finding.why =
        format!("what was sent into `{text}` is still there, so a bare receive does not wait");
    finding.help = format!("`defer func() {{ <-{text} }}()`, without the `select`");
    Some(finding)
}

/// Whether a channel is that of a context's end.
fn is_context_end(scene: &Scene<'_>, channel: ExprId) -> bool {
    is_done(scene, channel)
        && scene
            .method_call(channel)
            .is_some_and(|(context, _)| scene.info.type_of(context).is_context())
}

/// Whether a statement stands in a literal that is deferred.
fn is_deferred(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let Some(literal) = scene.literal_around(Node::Stmt(stmt)) else { return false };
    match scene.parent(Node::Expr(literal)) {
        Some(Node::Expr(call)) => scene.is_deferred(call),
        _ => false,
    }
}
