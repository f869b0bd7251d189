//! A `select` that asks whether everything is over, in a loop that goes on working whatever the answer is.
//!
//! Evidence: an arm ends with a bare `break`, which leaves the `select` alone; the only other one is an empty
//! `default`; what the arm does before changes nothing that the loop asks for; and the loop has work behind the
//! `select` and does not ask again there. A `break` that does nothing cannot have been meant.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::Step;
use crate::rules::FunctionCx;
use crate::rules::done_arm_does_not_leave::{bare_break, over};
use crate::source::Span;
use crate::summary::{At, Function};
use crate::syntax::{CommClause, Node, StmtId, StmtKind};

pub(super) fn check(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    select: At,
    clauses: &[CommClause],
    clause: &CommClause,
) -> Option<Finding> {
    let file = function.file;
    let broken = bare_break(file, clause)?;
    let comm = clause.comm?;
    let channel = Step::Comm(comm).received_from(file)?;
    let cfg = &function.body(select.body).cfg;
    // What stands before the `break` may end the goroutine, as `t.Fatal` does.
    if !cfg.reaches(cfg.step_of_stmt(comm)?, select.step) {
        return None;
    }
    let is_empty_default = |other: &CommClause| other.comm.is_none() && other.body.is_empty();
    if clauses.len() != 2 || !clauses.iter().any(is_empty_default) {
        return None;
    }
    let (_, before) = clause.body.split_last()?;
    let only_calls = before.iter().all(|&stmt| matches!(file.stmt(stmt).kind, StmtKind::Expr(_)));
    let Step::Select(stmt) = function.step(select) else { return None };
    let (head, work) = work_behind(function, stmt)?;
    let over = over(cx, function, select, channel)?;
    // Who asks again knows what to do.
    let context = function.text(channel).split(".Done()").next()?.to_owned();
    let asks = |span: Span| {
        let text = file.source.text(span);
        [".Err()", ".Done()"].iter().any(|asked| text.contains(&format!("{context}{asked}")))
    };
    if !only_calls || asks(head) || work.iter().any(|&stmt| asks(file.stmt(stmt).span)) {
        return None;
    }
    let message = format!(
        "once {}, this loop goes on all the same: the arm leaves the `select` alone",
        over.told
    );
    let mut finding = cx.finding(file.expr(channel).span, "asked, and not heeded", message);
    finding.confidence = Confidence::Medium;
    finding.labels.push(Label {
        location: cx.location(broken),
        role: Role::Left,
        message: "this `break` leaves the `select`, not the loop around it".to_owned(),
    });
    finding.why = "an unlabelled `break` ends the innermost `for`, `switch` or `select`".to_owned();
    finding.help = "`return` here, or give the loop a label and `break` to it".to_owned();
    Some(finding)
}

/// The head of the loop in whose body a `select` stands, and the statements behind it there; `None` if it stands
/// elsewhere, or is the last.
fn work_behind(function: &Function<'_>, select: StmtId) -> Option<(Span, Vec<StmtId>)> {
    let file = function.file;
    let parents = file.parents(Node::Decl(function.index.func(function.id).decl));
    let Some(Node::Stmt(block)) = parents.of(Node::Stmt(select)) else { return None };
    let Some(Node::Stmt(looped)) = parents.of(Node::Stmt(block)) else { return None };
    if !matches!(file.stmt(looped).kind, StmtKind::For { .. } | StmtKind::Range { .. }) {
        return None;
    }
    let StmtKind::Block(stmts) = &file.stmt(block).kind else { return None };
    let at = stmts.iter().position(|&stmt| stmt == select)?;
    let behind = stmts[at + 1..].to_vec();
    let head = Span::new(file.stmt(looped).span.start, file.stmt(block).span.start);
    (!behind.is_empty()).then_some((head, behind))
}
