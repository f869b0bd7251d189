//! The goroutine that merges contexts: it cancels one when any of several others ends, and does not
//! look whether that one was cancelled already.
//!
//! The function hands out the cancel function, so that whoever has it calls it when the work is
//! over. The goroutine learns nothing of that, and stays until one of the others ends.

use super::{Helper, Started, callers_end_it, foreign_end, started};
use crate::catalog::Context;
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::LocalId;
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::summary::{At, Read, Source, facts};
use crate::syntax::{CommClause, ExprId, ExprKind, StmtId, StmtKind};

/// What a `go` statement starts, if it merges contexts and stays when their merger is cancelled.
pub(super) fn check_spawn(scene: &Scene<'_>, read: &Read<'_>, go: At) -> Option<Finding> {
    let function = &read.function;
    let file = function.file;
    let Started { literal, body, statements } = started(read, go)?;
    let mut merging = Merging { cancel: None, clauses: None };
    let understood = statements.iter().all(|&stmt| merging.read(scene, stmt));
    let (cancel, (select, clauses)) = (merging.cancel?, merging.clauses?);
    if !understood || !is_cancel_of_context(scene, read, go, cancel) {
        return None;
    }
    let cfg = &function.body(body).cfg;
    let ends: Option<Vec<Helper>> = clauses
        .iter()
        .map(|clause| {
            let step = cfg.step_of_stmt(clause.comm?)?;
            let received = cfg.step(step).received_from(file)?;
            let end = foreign_end(scene, read, At { body, step }, received)?;
            let channel = function.text(received);
            Some(Helper { literal, wait: file.stmt(select).span, channel, end })
        })
        .collect();
    let ends = ends?;
    if ends.iter().any(|helper| callers_end_it(scene, helper)) {
        return None;
    }
    let returned = returned(scene, read, go, cancel)?;
    Some(finding(scene, read, go, &ends, cancel, returned))
}

/// What the statements of the goroutine are: one `select`, and calls of one cancel function.
struct Merging<'f> {
    cancel: Option<LocalId>,
    clauses: Option<(StmtId, &'f [CommClause])>,
}

impl<'f> Merging<'f> {
    /// Reads one statement; whether it is understood.
    fn read(&mut self, scene: &Scene<'f>, stmt: StmtId) -> bool {
        match &scene.file.stmt(stmt).kind {
            StmtKind::Expr(call) | StmtKind::Defer(call) => self.read_cancel(scene, *call),
            StmtKind::Return(values) => values.is_empty(),
            StmtKind::Select(clauses) if self.clauses.is_none() => {
                self.clauses = Some((stmt, clauses));
                let mut inner = clauses.iter().flat_map(|clause| clause.body.iter());
                inner.all(|&stmt| self.read(scene, stmt))
            }
            _ => false,
        }
    }

    fn read_cancel(&mut self, scene: &Scene<'_>, call: ExprId) -> bool {
        let call = scene.file.unparen(call);
        let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return false };
        let Some(local) = scene.local(callee) else { return false };
        *self.cancel.get_or_insert(local) == local
    }
}

/// Whether a variable of the body that starts the goroutine only ever holds the cancel function of a
/// context that is made there.
fn is_cancel_of_context(scene: &Scene<'_>, read: &Read<'_>, go: At, cancel: LocalId) -> bool {
    let function = &read.function;
    let mut made = function.definitions_of(cancel).peekable();
    made.peek().is_some()
        && made.all(|definition| {
            let Source::Result(call, result) = definition.source else { return false };
            let known = facts(scene.cx.catalog(), function.index, function.info.callee(call));
            let mut contexts = known.all_in_force::<Context>(scene.cx.versions());
            definition.at.is_some_and(|at| at.body == go.body)
                && contexts.any(|context| context.cancel == Some(result))
        })
}

/// Where the cancel function is handed out after the goroutine was started.
fn returned(scene: &Scene<'_>, read: &Read<'_>, go: At, cancel: LocalId) -> Option<Span> {
    let cfg = &read.function.body(go.body).cfg;
    cfg.steps().find_map(|step| {
        let Step::Return(stmt) = cfg.step(step) else { return None };
        let StmtKind::Return(ref values) = scene.file.stmt(stmt).kind else { return None };
        let hands_out = values.iter().any(|&value| scene.local(value) == Some(cancel));
        (hands_out && cfg.reaches(go.step, step)).then(|| scene.file.stmt(stmt).span)
    })
}

fn finding(
    scene: &Scene<'_>,
    read: &Read<'_>,
    go: At,
    ends: &[Helper],
    cancel: LocalId,
    returned: Span,
) -> Finding {
    let cx = &scene.cx;
    let cancel = read.function.info.local(cancel).name;
    let channels: Vec<String> = ends.iter().map(|end| format!("`{}`", end.channel)).collect();
    let channels = channels.join(" or ");
    let message =
        format!("this goroutine waits for {channels} only, and stays when `{cancel}` is called");
    let mut finding = cx.finding(ends[0].wait, "waits", message);
    finding.labels.push(Label {
        location: cx.location(read.function.step(go).span(scene.file)),
        role: Role::Started,
        message: "started here".to_owned(),
    });
    finding.labels.push(Label {
        location: cx.location(returned),
        role: Role::Left,
        message: format!("whoever gets `{cancel}` here calls it when the work is over"),
    });
    finding.why =
        "each call leaves one goroutine more until what it waits for ends, which belongs to \
                   whoever called"
            .to_owned();
    finding.help =
        "a clause that receives from the `Done()` of the context that is cancelled, too".to_owned();
    finding
}
