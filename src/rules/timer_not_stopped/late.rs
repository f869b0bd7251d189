//! A timer of `time.AfterFunc` that does something to what its function was given, after the function
//! has returned without an error.

use crate::flow::Step;
use crate::index::{Def, LocalKind};
use crate::rules::held::{Held, Lost, Way};
use crate::source::Span;
use crate::summary::{Function, Read};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// What the late call does.
pub(super) struct Harm {
    /// The place of the way out that it comes after, among those on which it is not stopped.
    pub lost: usize,
    /// What it does.
    pub deed: Span,
}

/// The methods that put an end to what they are called on.
const ENDS: [&str; 6] = ["Cancel", "Close", "CloseWithError", "Kill", "Shutdown", "Stop"];

/// The harm that a call does which comes although all went well. Where the callback tells the
/// function that it has run, or there was an error, it may have run already.
pub(super) fn harm(read: &Read<'_>, held: &Held<'_>, lost: &[Lost]) -> Option<Harm> {
    let function = &read.function;
    let ExprKind::Call { args, .. } = &function.file.expr(held.call).kind else { return None };
    let callback = function.file.unparen(*args.get(1)?);
    let deed = deed(function, callback)?;
    let lost = lost
        .iter()
        .position(|lost| lost.way == Way::Return && returns_no_error(function, held, lost.span))?;
    Some(Harm { lost, deed })
}

/// What a literal ends of what its function was given, if that is all that it tells anybody.
fn deed(function: &Function<'_>, literal: ExprId) -> Option<Span> {
    let file = function.file;
    let body = function.body_of_literal(literal)?;
    let tells = file.descendants(Node::Expr(literal)).any(|node| match node {
        Node::Stmt(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Send { .. } | StmtKind::IncDec { .. } => true,
            StmtKind::Assign { left, .. } => {
                left.iter().any(|&left| !is_own(function, left, literal))
            }
            _ => false,
        },
        _ => false,
    });
    if tells {
        return None;
    }
    let cfg = &function.body(body).cfg;
    cfg.steps().find_map(|step| {
        let Step::Call(call) = cfg.step(step) else { return None };
        let (base, name) = file.method_call(call)?;
        let ends = ENDS.contains(&name.name.as_str()) && is_given(function, base);
        ends.then(|| file.expr(call).span)
    })
}

/// Whether an assignment is to a variable of the literal itself.
fn is_own(function: &Function<'_>, target: ExprId, literal: ExprId) -> bool {
    let target = function.file.unparen(target);
    if !matches!(function.file.expr(target).kind, ExprKind::Ident(_)) {
        return false;
    }
    match *function.info.resolve(target) {
        Def::Local(local) => function.info.local(local).owner == Some(literal),
        Def::Blank => true,
        _ => false,
    }
}

/// Whether an expression is a part of what the function was given.
fn is_given(function: &Function<'_>, mut expr: ExprId) -> bool {
    let file = function.file;
    while let ExprKind::Selector { base, .. } = file.expr(file.unparen(expr)).kind {
        expr = base;
    }
    let expr = file.unparen(expr);
    if !matches!(file.expr(expr).kind, ExprKind::Ident(_)) {
        return false;
    }
    match *function.info.resolve(expr) {
        Def::Local(local) => {
            let local = function.info.local(local);
            local.owner.is_none() && matches!(local.kind, LocalKind::Param(_) | LocalKind::Receiver)
        }
        _ => false,
    }
}

/// Whether a `return` gives `nil` as its error.
fn returns_no_error(function: &Function<'_>, held: &Held<'_>, span: Span) -> bool {
    let file = function.file;
    let cfg = &function.body(held.at.body).cfg;
    cfg.steps().any(|step| {
        let Step::Return(stmt) = cfg.step(step) else { return false };
        let StmtKind::Return(values) = &file.stmt(stmt).kind else { return false };
        let is_nil = |&value: &ExprId| {
            let value = file.unparen(value);
            matches!(file.expr(value).kind, ExprKind::Ident(_))
                && matches!(function.info.resolve(value), Def::Nil)
        };
        file.stmt(stmt).span == span && values.last().is_some_and(is_nil)
    })
}
