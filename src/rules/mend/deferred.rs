//! What a function has to do however it is left: `defer` it where it is taken on.

use super::Made;
use super::text::Text;
use crate::source::Span;
use crate::syntax::{ExprId, ExprKind, File, Node, StmtId, StmtKind};

/// `defer cancel()` after the statement that makes the context at `made`.
pub fn cancel(file: &File, made: Span) -> Option<Made> {
    let text = Text::around(file, made)?;
    let (stmt, left) = assignment(&text, made)?;
    let [_, cancel] = left else { return None };
    let ExprKind::Ident(name) = file.expr(*cancel).kind else { return None };
    if text.is_in_loop(stmt) {
        return None;
    }
    let (indent, end) = (text.indent(stmt)?, text.end_of_line(stmt)?);
    let deferred = |name: &str| (end, format!("\n{indent}defer {name}()"));
    let message = "cancel the context at every way out".to_owned();
    if name.as_str() == "_" {
        let is_new = matches!(file.stmt(stmt).kind, StmtKind::Define { .. });
        let is_free = text.mentions("cancel").is_empty();
        let named = (file.expr(*cancel).span, "cancel".to_owned());
        return (is_new && is_free).then(|| (message, vec![named, deferred("cancel")]));
    }
    // Whoever else has it may mean the context to outlive the function.
    let is_plain = |&expr: &ExprId| {
        let Some(Node::Expr(call)) = text.parents.of(Node::Expr(expr)) else { return false };
        let in_statement = matches!(text.parents.of(Node::Expr(call)), Some(Node::Stmt(stmt))
            if matches!(text.call(stmt), Some((it, false)) if it == call));
        in_statement
            && text.callee(call) == Some(name.as_str())
            && !text.is_in_literal(Node::Expr(call))
    };
    let others = text.mentions(name.as_str());
    let mut others = others.iter().filter(|&expr| expr != cancel);
    others.all(is_plain).then(|| (message, vec![deferred(name.as_str())]))
}

/// Receives what still comes after `Stop` of the watch that is opened at `opened`.
pub fn drain(file: &File, opened: Span) -> Option<Made> {
    let text = Text::around(file, opened)?;
    let (_, left) = assignment(&text, opened)?;
    let ExprKind::Ident(name) = file.expr(*left.first()?).kind else { return None };
    let stop = format!("{name}.Stop");
    let mut edits = Vec::new();
    let mut deferred = 0;
    for stmt in text.stmts() {
        let Some((call, is_deferred)) = text.call(stmt) else { continue };
        if text.callee(call) != Some(&stop) {
            continue;
        }
        let indent = text.indent(stmt)?;
        let ranged = |indent: &str| format!("{indent}for range {name}.ResultChan() {{\n{indent}}}");
        if is_deferred {
            deferred += 1;
            let inner = format!("{indent}\t");
            let closure =
                format!("func() {{\n{inner}{name}.Stop()\n{}\n{indent}}}()", ranged(&inner));
            edits.push((file.expr(call).span, closure));
        } else {
            edits.push((text.end_of_line(stmt)?, format!("\n{}", ranged(&indent))));
        }
    }
    let is_plain = deferred == 0 || edits.len() == 1 && text.stored(name.as_str()) == 1;
    (is_plain && !edits.is_empty())
        .then(|| (format!("receive what still comes after `{name}.Stop()`"), edits))
}

/// `defer mu.Unlock()` after the `Lock` at `locked`, in place of the unlocks before the ways out.
pub fn unlock(text: &Text<'_>, locked: Span) -> Option<Made> {
    let file = text.file;
    let is_lock = |&&stmt: &&StmtId| file.stmt(stmt).span.start == locked.start;
    let stmts = text.stmts();
    let &lock = stmts.iter().find(is_lock)?;
    let Some((call, false)) = text.call(lock) else { return None };
    if !file.args(call).is_empty() {
        return None;
    }
    let (base, method) = text.callee(call)?.rsplit_once('.')?;
    let unlock = match method {
        "Lock" => format!("{base}.Unlock"),
        "RLock" => format!("{base}.RUnlock"),
        _ => return None,
    };
    if text.parents.of(Node::Stmt(lock)) != Some(Node::Stmt(text.body)) {
        return None;
    }
    let deferred = format!("\n{}defer {unlock}()", text.indent(lock)?);
    let mut edits = vec![(text.end_of_line(lock)?, deferred)];
    for node in file.descendants(Node::Stmt(text.body)) {
        let Node::Expr(expr) = node else { continue };
        let Some(callee) = text.callee(expr) else { continue };
        let is_other_lock = callee == format!("{base}.{method}") && expr != call;
        if is_other_lock {
            return None;
        }
        if callee != unlock {
            continue;
        }
        let Some(Node::Stmt(stmt)) = text.parents.of(node) else { return None };
        let is_plain = matches!(text.call(stmt), Some((_, false)));
        if !is_plain || text.is_in_literal(node) || !is_last(text, stmt) {
            return None;
        }
        edits.push((text.lines(stmt)?, String::new()));
    }
    Some((format!("unlock `{base}` at every way out"), edits))
}

/// Whether nothing is done between a statement and the end of the function but to return what is
/// there already.
fn is_last(text: &Text<'_>, stmt: StmtId) -> bool {
    let file = text.file;
    let Some(Node::Stmt(block)) = text.parents.of(Node::Stmt(stmt)) else { return false };
    let stmts = file.block(block);
    let Some(at) = stmts.iter().position(|&other| other == stmt) else { return false };
    match stmts.get(at + 1) {
        None => block == text.body,
        Some(&next) => {
            let calls = |node| matches!(node, Node::Expr(expr) if matches!(file.expr(expr).kind, ExprKind::Call { .. }));
            matches!(file.stmt(next).kind, StmtKind::Return(_))
                && !file.descendants(Node::Stmt(next)).any(calls)
        }
    }
}

/// The statement of a block that stores what the call at `call` gives, and the places that it
/// stores it in.
fn assignment<'f>(text: &Text<'f>, call: Span) -> Option<(StmtId, &'f [ExprId])> {
    text.stmts().into_iter().find_map(|stmt| {
        let (StmtKind::Define { left, right } | StmtKind::Assign { left, op: None, right }) =
            &text.file.stmt(stmt).kind
        else {
            return None;
        };
        let [value] = **right else { return None };
        let block = match text.parents.of(Node::Stmt(stmt))? {
            Node::Stmt(block) => matches!(text.file.stmt(block).kind, StmtKind::Block(_)),
            _ => false,
        };
        (block && text.file.expr(value).span == call).then_some((stmt, &**left))
    })
}
