//! A stream that is opened for one exchange on the caller's context and left: nothing has ended it,
//! so it stays until that context ends or the connection is closed.

use crate::catalog::Stream;
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Def, LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::cancel_not_called::is_local;
use crate::source::Span;
use crate::summary::{At, Function, Read, Root};
use crate::syntax::{ExprId, ExprKind, Node, Parents, StmtKind};

/// The streams of the function that are left open after one answer.
pub(super) fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    let function = &read.function;
    let imports = function.file.imports.iter();
    let mut known = imports.filter_map(|import| {
        cx.catalog().package(import.path.as_str()).in_force::<Stream>(cx.versions())
    });
    let Some(stream) = known.next() else { return Vec::new() };
    let parents = function.file.parents(Node::Decl(cx.declared().decl));
    let mut findings = Vec::new();
    for (at, call) in function.calls() {
        findings.extend(check_call(cx, function, &parents, at, call, stream));
    }
    findings
}

fn check_call(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    parents: &Parents,
    at: At,
    call: ExprId,
    stream: &Stream,
) -> Option<Finding> {
    let file = function.file;
    let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return None };
    let is_method = matches!(file.expr(file.unparen(callee)).kind, ExprKind::Selector { .. });
    let context = *args.first().filter(|&&arg| function.info.type_of(arg).is_context())?;
    let origin = cx.summaries().context(function, at, context);
    let given = origin.only().is_some_and(|place| {
        matches!(place.root, Root::Param(_) | Root::Receiver) && !origin.detached
    });
    if !is_method || !given || !origin.derivations.is_empty() || origin.deadline {
        return None;
    }
    let local = opened(function, parents, at, call)?;
    let (sends, receives) = exchange(function, parents, local, stream)?;
    let [receives] = receives[..] else { return None };
    let received = function.at_call(receives).filter(|received| received.body == at.body)?;
    let cfg = &function.body(at.body).cfg;
    let again = cfg.reaches(received.step, received.step) || cfg.reaches(at.step, at.step);
    let leaves = cfg.steps().find_map(|step| match cfg.step(step) {
        Step::Return(stmt) if cfg.reaches(received.step, step) => Some(file.stmt(stmt).span),
        _ => None,
    });
    if sends == 0 || again {
        return None;
    }
    let name = function.info.local(local).name;
    let context = function.text(context);
    Some(finding(cx, function, call, receives, leaves, (name.as_str(), &context)))
}

/// The variable that keeps the stream: the first of two results, for this function alone.
fn opened(function: &Function<'_>, parents: &Parents, at: At, call: ExprId) -> Option<LocalId> {
    let Node::Stmt(stmt) = parents.of(Node::Expr(call))? else { return None };
    let StmtKind::Define { left, .. } = &function.file.stmt(stmt).kind else { return None };
    let [first, _] = left[..] else { return None };
    let Def::Local(local) = function.info.resolve(function.file.unparen(first)) else {
        return None;
    };
    let declared = function.info.local(*local);
    let own = function.owner(*local) == Some(at.body);
    let ty = function.index.underlying(&declared.ty);
    let is_stream = matches!(ty, Type::Interface(_) | Type::Unknown);
    (declared.kind == LocalKind::Var && !declared.captured && own && is_stream).then_some(*local)
}

/// How often the stream is sent on, and the calls that receive from it; `None` if something else is
/// done with it, which may end it or hand it on.
fn exchange(
    function: &Function<'_>,
    parents: &Parents,
    local: LocalId,
    stream: &Stream,
) -> Option<(usize, Vec<ExprId>)> {
    let file = function.file;
    let declared = Node::Decl(function.index.func(function.id).decl);
    let (mut sends, mut receives) = (0, Vec::new());
    for node in file.descendants(declared) {
        let Node::Expr(expr) = node else { continue };
        let span = file.expr(expr).span;
        if !is_local(function, expr, local) || span == function.info.local(local).span {
            continue;
        }
        let Some(Node::Expr(selector)) = parents.of(node) else { return None };
        let ExprKind::Selector { name, .. } = file.expr(selector).kind else { return None };
        let Some(Node::Expr(call)) = parents.of(Node::Expr(selector)) else { return None };
        let ExprKind::Call { callee, .. } = file.expr(call).kind else { return None };
        let is = |names: &[Box<str>]| names.iter().any(|known| **known == *name.name.as_str());
        match callee == selector {
            true if is(&stream.send) => sends += 1,
            true if is(&stream.receive) => receives.push(call),
            true if is(&stream.leave_open) => {}
            _ => return None,
        }
    }
    Some((sends, receives))
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    receives: ExprId,
    leaves: Option<Span>,
    (name, context): (&str, &str),
) -> Finding {
    let opened = function.file.expr(call).span;
    let message = format!(
        "`{name}` is left open after one answer: nothing ends it before `{context}` does, or its \
         connection"
    );
    let mut finding = cx.finding(opened, "opened here on the caller's context", message);
    finding.confidence = finding.confidence.min(Confidence::Medium);
    finding.labels.push(Label {
        location: cx.location(function.file.expr(receives).span),
        role: Role::Condition,
        message: "one answer is received".to_owned(),
    });
    if let Some(span) = leaves {
        finding.labels.push(Label {
            location: cx.location(span),
            role: Role::Left,
            message: format!("left here, and `{name}` with it"),
        });
    }
    finding.why = "a stream and its goroutine stay until it is received from to its end, or its \
                   context is done"
        .to_owned();
    finding.help = format!(
        "open it on a context of its own: `ctx, cancel := context.WithCancel({context})`, `defer cancel()`"
    );
    finding.defect = cx.location(opened);
    finding
}
