//! Who cancels a context that a value holds in a field, and whether that is all they do.

use crate::flow::Step;
use crate::index::{Callee, Func, FuncId, Index, ObjectId, Type};
use crate::rules::FunctionCx;
use crate::rules::callee_cannot_be_cancelled::stay::{field_of, holds};
use crate::rules::scene::serves_tests;
use crate::source::Location;
use crate::summary::{Function, Read};
use crate::syntax::{Element, ExprId, ExprKind, File, Node, StmtKind, Symbol};

/// How a context is cancelled.
pub(super) enum Cancelled {
    /// By this call, behind which nothing happens that could wake anybody.
    At(Location, String),
    /// By code that does more than that.
    Handled,
    /// Not known.
    Unknown,
}

/// How the context is cancelled that `context` is.
pub(super) fn with(cx: &FunctionCx<'_>, function: &Function<'_>, context: ExprId) -> Cancelled {
    let held = field_of(function.file, &function.info, context);
    let Some((owner, field)) = held.and_then(|(of, name)| Some((of.declared()?, name))) else {
        return Cancelled::Unknown;
    };
    let Some(cancel) = cancel_beside(cx.index(), owner, field) else { return Cancelled::Unknown };
    let mut found = Cancelled::Unknown;
    for func in &cx.index().package(owner.package).funcs {
        if !holds(cx.index(), func, cancel) || serves_tests(cx.index(), func.id) {
            continue;
        }
        let file: &File = cx.index().file_of(func.id);
        let Some(read) = cx.summaries().read(func.id) else { return Cancelled::Handled };
        for call in calls_of_field(cx.index(), func.id, owner, cancel) {
            if goes_on_to_work(&read, call) {
                return Cancelled::Handled;
            }
            if matches!(found, Cancelled::Unknown) {
                let span = file.expr(call).span;
                let text = read.function.callee_text(call);
                found = Cancelled::At(Location { file: func.file, span }, text);
            }
        }
    }
    found
}

/// The field that gets the cancel function of the context which another field gets.
fn cancel_beside(index: &Index<'_>, owner: ObjectId, context: Symbol) -> Option<Symbol> {
    let funcs = index.package(owner.package).funcs.iter();
    funcs.filter(|func| holds(index, func, context)).find_map(|func| {
        let file: &File = index.file_of(func.id);
        file.descendants(Node::Decl(func.decl)).find_map(|node| match node {
            Node::Expr(literal) => in_literal(index, func, owner, context, literal),
            Node::Stmt(stmt) => {
                let StmtKind::Assign { left, right, .. } = &file.stmt(stmt).kind else {
                    return None;
                };
                let ([first, second], [_]) = (&left[..], &right[..]) else { return None };
                let info = index.body(func.id);
                let own = |expr: ExprId| {
                    let (of, name) = field_of(file, &info, expr)?;
                    (of.declared() == Some(owner)).then_some(name)
                };
                (own(*first)? == context).then(|| own(*second))?
            }
            Node::Decl(_) => None,
        })
    })
}

/// As in `T{ctx: ctx, cancel: cancel}` behind `ctx, cancel := context.WithCancel(parent)`.
fn in_literal(
    index: &Index<'_>,
    func: &Func,
    owner: ObjectId,
    context: Symbol,
    literal: ExprId,
) -> Option<Symbol> {
    let file: &File = index.file_of(func.id);
    let ExprKind::CompositeLit { elements, .. } = &file.expr(literal).kind else { return None };
    let info = index.body(func.id);
    if info.type_of(literal).declared() != Some(owner) {
        return None;
    }
    let key = |element: &Element| match file.expr(element.key?).kind {
        ExprKind::Ident(name) => Some(name),
        _ => None,
    };
    let name = |expr: ExprId| match file.expr(file.unparen(expr)).kind {
        ExprKind::Ident(name) => Some(name),
        _ => None,
    };
    let given = elements.iter().find(|element| key(element) == Some(context))?;
    let given = name(given.value)?;
    let cancel = file.descendants(Node::Decl(func.decl)).find_map(|node| {
        let Node::Stmt(stmt) = node else { return None };
        let (StmtKind::Define { left, right } | StmtKind::Assign { left, right, op: None }) =
            &file.stmt(stmt).kind
        else {
            return None;
        };
        match (&left[..], &right[..]) {
            ([first, second], [_]) if name(*first) == Some(given) => name(*second),
            _ => None,
        }
    })?;
    elements.iter().find(|element| name(element.value) == Some(cancel)).and_then(key)
}

fn calls_of_field(index: &Index<'_>, func: FuncId, owner: ObjectId, field: Symbol) -> Vec<ExprId> {
    let file: &File = index.file_of(func);
    let info = index.body(func);
    let calls = file.descendants(Node::Decl(index.func(func).decl)).filter_map(|node| {
        let Node::Expr(call) = node else { return None };
        let ExprKind::Call { callee, .. } = file.expr(call).kind else { return None };
        let (of, name) = field_of(file, &info, callee)?;
        (of.declared() == Some(owner) && name == field).then_some(call)
    });
    calls.collect()
}

/// Whether anything comes behind a call that may give others something to do, or wait for them.
fn goes_on_to_work(read: &Read<'_>, call: ExprId) -> bool {
    let function = &read.function;
    let Some(at) = function.at_call(call) else { return true };
    let cfg = &function.body(at.body).cfg;
    let works = |step| match cfg.step(step) {
        Step::Call(other) => {
            other != call
                && !matches!(
                    function.info.callee(other),
                    Callee::Builtin(_) | Callee::Conversion(_)
                )
                && !is_cancel(function, other)
        }
        Step::Recv(_) | Step::Send(_) | Step::Select(_) | Step::Next(_) | Step::Missing(_) => true,
        _ => false,
    };
    cfg.steps().any(|step| works(step) && cfg.reaches(at.step, step))
}

/// Whether a call is one of another cancel function.
fn is_cancel(function: &Function<'_>, call: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return false };
    let ty: &Type = function.info.type_of(callee);
    ty.is_named("context", "CancelFunc")
}
