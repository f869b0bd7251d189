//! What the rules of group `handoff` share: the goroutine that a function may leave behind, the way
//! on which it does, and what requests and responses are.

use crate::catalog::{TypeRole, TypeRoles};
use crate::flow::{EdgeKind, Exit, Path, PathEnd, Step};
use crate::index::{Def, LocalId, Type};
use crate::rules::FunctionCx;
use crate::source::Span;
use crate::summary::{self, At, Function, Read, Spawn};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Whether the body that starts a goroutine, of whose end nothing is known, waits for anything
/// after it: that may well be the goroutine.
pub fn waits_for_something(read: &Read<'_>, at: At) -> bool {
    let cfg = &read.function.body(at.body).cfg;
    read.waits(at.body).iter().any(|(wait, _)| cfg.reaches(at.step, wait.step))
}

/// Whether this function value takes a response writer and a request, and gives nothing.
pub fn is_handler(cx: &FunctionCx<'_>, function: &Function<'_>, callee: ExprId) -> bool {
    let ty = function.index.underlying(function.info.type_of(callee));
    let Type::Func(signature) = ty else { return false };
    let [writer, request] = &signature.params[..] else { return false };
    signature.results.is_empty()
        && has_role(cx, writer, TypeRole::ResponseWriter)
        && has_role(cx, request, TypeRole::Request)
}

/// Whether a type, or what it points to, has this role in the handling of requests.
pub fn has_role(cx: &FunctionCx<'_>, ty: &Type, role: TypeRole) -> bool {
    let Some(named) = ty.named() else { return false };
    let facts = summary::named(cx.catalog(), named.qualified());
    facts.in_force::<TypeRoles>(cx.versions()).is_some_and(|roles| roles.roles.contains(&role))
}

/// The local variable that an expression is.
pub fn variable(function: &Function<'_>, expr: ExprId) -> Option<LocalId> {
    match function.info.resolve(function.file.unparen(expr)) {
        Def::Local(local) => Some(*local),
        _ => None,
    }
}

/// The keyword of a `go` statement.
pub fn go_keyword(function: &Function<'_>, spawn: &Spawn) -> Span {
    let start = function.step(spawn.at).span(function.file).start;
    Span::new(start, start + "go".len() as u32)
}

/// Where the function leaves without the goroutine, and on what condition.
pub fn way_out<S>(function: &Function<'_>, at: At, leaves: &Path<S>) -> Option<(Span, String)> {
    let file = function.file;
    let arm = leaves.decisions().find_map(|kind| match kind {
        EdgeKind::Arm(select, arm) => Some((select, arm)),
        _ => None,
    });
    if let Some((select, arm)) = arm
        && let StmtKind::Select(clauses) = &file.stmt(select).kind
        && let Some(comm) = clauses.get(arm as usize).and_then(|clause| clause.comm)
        && let Some(channel) = Step::Comm(comm).received_from(file)
    {
        let told = format!(
            "when `{}` is ready first, the function leaves without the goroutine",
            function.text(channel)
        );
        return Some((file.stmt(comm).span, told));
    }
    let PathEnd::Exit(_, exit) = leaves.end else { return None };
    let told = "the function leaves without waiting for the goroutine".to_owned();
    match exit {
        Exit::Return(stmt) => Some((file.stmt(stmt).span, told)),
        _ => {
            let end = file.stmt(function.body(at.body).block).span.end;
            Some((Span::new(end.saturating_sub(1), end), told))
        }
    }
}

/// Whether a function can return while this goroutine of it still runs.
pub fn is_left_behind(read: &Read<'_>, spawn: &Spawn) -> bool {
    let returns = |path: &Path| matches!(path.end, PathEnd::Exit(_, Exit::Return(_) | Exit::End));
    spawn.outlives.iter().any(returns)
        && !(spawn.signals.is_empty() && waits_for_something(read, spawn.at))
}

/// Whether the goroutine calls a handler: with a response writer and a request, or with the one
/// value that stands for both.
pub fn runs_handler(cx: &FunctionCx<'_>, function: &Function<'_>, spawn: &Spawn) -> bool {
    let file = function.file;
    file.descendants(Node::Expr(spawn.call)).any(|node| {
        let Node::Expr(call) = node else { return false };
        let ExprKind::Call { callee, .. } = file.expr(call).kind else { return false };
        is_handler(cx, function, callee) || goes_on_with_chain(cx, function, callee)
    })
}

/// Whether this function value takes, as its parameter or receiver, one value that is both request
/// and response of a pool, as the handlers of web frameworks do.
fn goes_on_with_chain(cx: &FunctionCx<'_>, function: &Function<'_>, callee: ExprId) -> bool {
    let ty = function.index.underlying(function.info.type_of(callee));
    let Type::Func(signature) = ty else { return false };
    if let [only] = &signature.params[..] {
        return has_role(cx, only, TypeRole::Pooled) && has_role(cx, only, TypeRole::Request);
    }
    match function.file.expr(function.file.unparen(callee)).kind {
        ExprKind::Selector { base, name } => {
            name.name.as_str() == "Next"
                && has_role(cx, function.info.type_of(base), TypeRole::Pooled)
        }
        _ => false,
    }
}
