//! How a function that waits learns that it is over: the arm of a `select` that leaves it.

use super::Made;
use super::text::Text;
use crate::source::Span;
use crate::syntax::{BranchKind, CommClause, ExprId, ExprKind, StmtId, StmtKind};

/// `return` at the end of the arm that receives at `channel`.
pub fn leave(text: &Text<'_>, channel: Span) -> Option<Made> {
    let file = text.file;
    let clause = text.stmts().into_iter().find_map(|stmt| match &file.stmt(stmt).kind {
        StmtKind::Select(clauses) => clauses
            .iter()
            .find(|clause| clause.comm.is_some_and(|comm| file.stmt(comm).span.contains(channel))),
        _ => None,
    })?;
    let leaving = text.leaving(&error_of(&file.source.text(channel)))?;
    let message = "return when it is over".to_owned();
    let Some(&last) = clause.body.last() else {
        let (end, indent) = header_end(text, clause)?;
        return Some((message, vec![(end, format!("\n{indent}\t{leaving}"))]));
    };
    let edit = match file.stmt(last).kind {
        StmtKind::Branch { kind: BranchKind::Break | BranchKind::Continue, label: None } => {
            (file.stmt(last).span, leaving)
        }
        _ => (text.end_of_line(last)?, format!("\n{}{leaving}", text.indent(last)?)),
    };
    Some((message, vec![edit]))
}

/// Listens to `told` where the function sleeps at `slept`.
pub fn sleep(text: &Text<'_>, slept: Span, told: &str) -> Option<Made> {
    let stmts = text.stmts();
    let stmt = stmts.into_iter().find(|&stmt| match text.call(stmt) {
        Some((call, false)) => text.file.expr(call).span == slept,
        _ => false,
    })?;
    woken(text, stmt, told)
}

/// Listens to `told` where the endless loop that begins at `endless` sleeps.
pub fn listen(text: &Text<'_>, endless: Span, told: &str) -> Option<Made> {
    let file = text.file;
    let body = text.stmts().into_iter().find_map(|stmt| match file.stmt(stmt).kind {
        StmtKind::For { body, .. } if file.stmt(stmt).span.start == endless.start => Some(body),
        _ => None,
    })?;
    file.block(body).iter().find_map(|&stmt| woken(text, stmt, told))
}

/// `time.Sleep` as a `select` that ends when `told`, a channel, is ready.
fn woken(text: &Text<'_>, stmt: StmtId, told: &str) -> Option<Made> {
    let Some((call, false)) = text.call(stmt) else { return None };
    let ExprKind::Call { callee, ref args, .. } = text.file.expr(call).kind else { return None };
    let [length]: [ExprId; 1] = (&**args).try_into().ok()?;
    if text.of(callee) != "time.Sleep" || text.of(length).contains('\n') {
        return None;
    }
    let (indent, leaving) = (text.indent(stmt)?, text.leaving(&error_of(told))?);
    let select = format!(
        "select {{\n{indent}case <-{told}:\n{indent}\t{leaving}\n{indent}case \
         <-time.After({}):\n{indent}}}",
        text.of(length)
    );
    Some((format!("leave when `{told}` is ready"), vec![(text.file.stmt(stmt).span, select)]))
}

/// What a function returns when `channel` told it to end.
fn error_of(channel: &str) -> String {
    let context = channel.strip_suffix(".Done()");
    context.map_or_else(|| "nil".to_owned(), |context| format!("{context}.Err()"))
}

/// Behind the colon of an arm without statements, and the white space before the arm.
fn header_end(text: &Text<'_>, clause: &CommClause) -> Option<(Span, String)> {
    let source = &text.file.source;
    let comm = text.file.stmt(clause.comm?).span;
    let line = source.line_span(source.line(comm.end))?;
    let rest = source.text(Span::new(comm.end, line.end)).into_owned();
    let after = rest.trim_start().strip_prefix(':')?.trim_start();
    let before = source.text(Span::new(line.start, clause.span.start)).into_owned();
    let is_plain = before.trim().is_empty() && (after.is_empty() || after.starts_with("//"));
    is_plain.then(|| (Span::new(line.end, line.end), before))
}
