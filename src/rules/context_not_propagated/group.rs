//! Groups of goroutines whose own context is thrown away, so that the first failure stops nobody;
//! and requests whose copy with a context is.

use crate::catalog::{Base, Copying, Op};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Exit, Step};
use crate::index::{Def, LocalKind};
use crate::rules::FunctionCx;
use crate::rules::context_not_propagated::{callee_text, evidence, parents, purpose};
use crate::source::Span;
use crate::summary::{At, BodyId, Function, Place, Read, Root, facts, operand};
use crate::syntax::{DeclKind, ExprId, ExprKind, Node, StmtId, StmtKind};

/// The groups and requests of a function that do not go by the context made for them.
pub fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    let function = &read.function;
    let mut findings = Vec::new();
    for (at, call) in function.calls() {
        if cx.is_op(function, call, Op::ErrgroupWithContext) {
            findings.extend(check_group(cx, read, at, call));
        } else {
            findings.extend(check_copy(cx, function, call));
        }
    }
    findings
}

/// `eg, _ := errgroup.WithContext(ctx)`, and a goroutine of the group waits on `ctx`.
fn check_group(cx: &FunctionCx<'_>, read: &Read<'_>, at: At, made: ExprId) -> Option<Finding> {
    let function = &read.function;
    let file = function.file;
    let given = *function.args(made).first()?;
    let origin = cx.summaries().context(function, at, given);
    let outer = origin.only()?;
    let [group_name, thrown] = stored(function, made)?;
    // What a deadline of the function's own bounds goes on for so long at most.
    if origin.deadline || purpose::is_explained(function, &[thrown]) {
        return None;
    }
    let shown = |span: Span| file.source.text(span).into_owned();
    let is_thrown = shown(thrown) == "_";
    let mut started = Vec::new();
    let mut waits = None;
    let mut again = false;
    let mut may_fail = false;
    let group = Place::root(Root::Call(made, 0));
    for body in function.bodies() {
        for step in function.body(body).cfg.steps() {
            let at = At { body, step };
            let Step::Call(call) = function.step(at) else { continue };
            let Some(literal) = started_by(cx, function, at, call, &group) else { continue };
            again |= function.body(body).cfg.reaches(step, step);
            started.push(call);
            may_fail |= literal.is_none_or(|body| fails(function, body));
            if let Some(body) = literal {
                waits = waits.or_else(|| match is_thrown {
                    true => waits_on(cx, read, body, &outer),
                    false => asks_outer(cx, function, body, (&outer, made)),
                });
            }
        }
    }
    let waits = waits?;
    if started.len() < 2 && !again || !may_fail || tells_by_pipe(function) {
        return None;
    }
    let context = function.text(given);
    if is_thrown && !is_told(cx, function, &group) {
        return None;
    }
    if !is_thrown {
        return Some(wrong_context(cx, function, waits, &context, thrown));
    }
    let message = format!(
        "when one goroutine of this group fails, the others go on: `{}` waits on `{context}`, and \
         the group's own context is thrown away",
        callee_text(function, waits),
    );
    let mut finding = cx.finding(thrown, "thrown away", message);
    finding.confidence = finding.confidence.min(Confidence::Medium);
    finding.labels.push(Label {
        location: cx.location(file.expr(started[0]).span),
        role: Role::Started,
        message: "started here".to_owned(),
    });
    finding.labels.push(Label {
        location: cx.location(file.expr(waits).span),
        role: Role::Stuck,
        message: format!("waits here on `{context}`, which a failure does not end"),
    });
    finding.why = "the first error ends only the context that `WithContext` returns".to_owned();
    finding.help = format!(
        "keep it (`{}, {context} := ...`) and let the goroutines use it; or make the group without \
         a context",
        shown(group_name)
    );
    Some(finding)
}

/// Whether one end of a pipe is closed with an error in the function, which the other end is told.
fn tells_by_pipe(function: &Function<'_>) -> bool {
    function.calls().any(|(_, call)| {
        let called = function.file.method_call(call);
        called.is_some_and(|(_, name)| name.name.as_str() == "CloseWithError")
    })
}

/// Whether somebody is told of the first failure of a group: where it is only noted, the others are there to
/// do what they can.
fn is_told(cx: &FunctionCx<'_>, function: &Function<'_>, group: &Place) -> bool {
    let file = function.file;
    let parents = parents(function);
    let waits = function.calls().filter(|&(at, call)| {
        cx.is_op(function, call, Op::ErrgroupWait)
            && operand(function, call, Base::Receiver)
                .is_some_and(|base| function.object_places(at, base).only() == Some(group))
    });
    let mut waits = waits.peekable();
    if waits.peek().is_none() {
        return true;
    }
    waits.any(|(_, call)| {
        let Some(Node::Stmt(stmt)) = parents.of(Node::Expr(call)) else { return true };
        let (StmtKind::Define { left, .. } | StmtKind::Assign { left, .. }) = &file.stmt(stmt).kind
        else {
            return !matches!(file.stmt(stmt).kind, StmtKind::Expr(_));
        };
        let [only] = left[..] else { return true };
        let Def::Local(error) = *function.info.resolve(only) else {
            return !matches!(file.expr(only).kind, ExprKind::Ident(name) if name.is_blank());
        };
        // It is noted in a branch that goes on below.
        let noted = match parents.of(Node::Stmt(stmt)) {
            Some(Node::Stmt(around)) => match file.stmt(around).kind {
                StmtKind::If { then, .. } => !leaves(function, then),
                _ => false,
            },
            _ => false,
        };
        !noted || function.info.local(error).kind != LocalKind::Var
    })
}

/// Whether a statement holds one that leaves the function.
fn leaves(function: &Function<'_>, stmt: StmtId) -> bool {
    function.file.descendants(Node::Stmt(stmt)).any(|node| match node {
        Node::Stmt(stmt) => matches!(function.file.stmt(stmt).kind, StmtKind::Return(_)),
        _ => false,
    })
}

/// Where both results of a call are stored.
fn stored(function: &Function<'_>, call: ExprId) -> Option<[Span; 2]> {
    let file = function.file;
    match parents(function).of(Node::Expr(call))? {
        Node::Stmt(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Define { left, .. } | StmtKind::Assign { left, .. } => {
                Some([file.expr(*left.first()?).span, file.expr(*left.get(1)?).span])
            }
            _ => None,
        },
        Node::Decl(decl) => match &file.decl(decl).kind {
            DeclKind::Var(spec) => Some([spec.names.first()?.span, spec.names.get(1)?.span]),
            _ => None,
        },
        Node::Expr(_) => None,
    }
}

/// Whether a call starts a goroutine of this group, and the literal that it runs.
fn started_by(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    call: ExprId,
    group: &Place,
) -> Option<Option<BodyId>> {
    if !cx.is_op(function, call, Op::ErrgroupGo) && !cx.is_op(function, call, Op::ErrgroupTryGo) {
        return None;
    }
    let file = function.file;
    let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return None };
    let ExprKind::Selector { base, .. } = file.expr(file.unparen(callee)).kind else { return None };
    if function.object_places(at, base).only() != Some(group) {
        return None;
    }
    let literal = args.first().map(|&literal| file.unparen(literal));
    Some(literal.and_then(|literal| function.body_of_literal(literal)))
}

/// Whether a goroutine of a group may return another error than nil.
fn fails(function: &Function<'_>, body: BodyId) -> bool {
    let (file, cfg) = (function.file, &function.body(body).cfg);
    cfg.exits().any(|(_, exit)| match exit {
        Exit::Return(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Return(values) => !values.last().is_some_and(|&value| {
                matches!(function.info.resolve(file.unparen(value)), Def::Nil)
            }),
            _ => true,
        },
        _ => false,
    })
}

/// The first call in a literal that waits on this context.
fn waits_on(cx: &FunctionCx<'_>, read: &Read<'_>, body: BodyId, outer: &Place) -> Option<ExprId> {
    let function = &read.function;
    for step in function.body(body).cfg.steps() {
        let at = At { body, step };
        let Step::Call(call) = function.step(at) else { continue };
        let args = function.args(call);
        for (index, &arg) in (0..).zip(args) {
            if function.info.type_of(arg).is_context()
                && cx.summaries().context(function, at, arg).only().as_ref() == Some(outer)
                && evidence::waits_on(cx, read, call, index).is_some()
            {
                return Some(call);
            }
        }
    }
    None
}

/// A `ctx.Done()` in a literal of a group that is not of the group's own context.
fn asks_outer(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    body: BodyId,
    (outer, made): (&Place, ExprId),
) -> Option<ExprId> {
    for step in function.body(body).cfg.steps() {
        let at = At { body, step };
        let Step::Call(call) = function.step(at) else { continue };
        let Some(context) = function.done_of(call) else { continue };
        let origin = cx.summaries().context(function, at, context);
        if origin.only().as_ref() == Some(outer) && !origin.derivations.contains(&made) {
            return Some(call);
        }
    }
    None
}

/// A goroutine of a group looks at the context around the group.
fn wrong_context(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    asks: ExprId,
    context: &str,
    own: Span,
) -> Finding {
    let own_text = function.file.source.text(own);
    let message = format!(
        "when another goroutine of this group fails, this one goes on waiting: it looks at \
         `{context}`, and the failure ends `{own_text}`"
    );
    let span = function.file.expr(asks).span;
    let mut finding = cx.finding(span, "the context around the group", message);
    finding.confidence = finding.confidence.min(Confidence::Medium);
    finding.labels.push(Label {
        location: cx.location(own),
        role: Role::Made,
        message: format!("`{own_text}` ends with the first error of the group"),
    });
    finding.why = "the group waits for all its goroutines, this one included".to_owned();
    finding.help = format!("use `{own_text}.Done()`");
    finding
}

/// `req.WithContext(ctx)` as a statement: it changes a copy that nobody gets.
fn check_copy(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Option<Finding> {
    let file = function.file;
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    known.in_force::<Copying>(cx.versions())?;
    let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return None };
    let context = *args.first().filter(|&&arg| function.info.type_of(arg).is_context())?;
    let ExprKind::Selector { base, .. } = file.expr(file.unparen(callee)).kind else { return None };
    let Node::Stmt(stmt) = parents(function).of(Node::Expr(call))? else { return None };
    if !matches!(file.stmt(stmt).kind, StmtKind::Expr(_)) {
        return None;
    }
    let (request, context) = (function.text(base), function.text(context));
    let message = format!(
        "`{request}` goes on without `{context}`: this changes a copy, and the copy is thrown away"
    );
    let mut finding = cx.finding(file.expr(call).span, "result thrown away", message);
    finding.why = format!("`{}` leaves `{request}` as it is", callee_text(function, call));
    finding.help = format!("`{request} = {}`", function.text(call));
    Some(finding)
}
