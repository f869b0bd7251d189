//! `body-not-closed`: a path on which the body of an HTTP response is left open.

mod transport;

use crate::catalog::{Carrier, Resource};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::Constant;
use crate::rules::bound;
use crate::rules::endable::asks_err;
use crate::rules::held::{self, Held, Lost, Test, Way};
use crate::rules::recurrence;
use crate::rules::scene::compared_with_nil;
use crate::rules::{Check, FunctionCx, Rule};
use crate::summary::{Act, BodyId, Effect, Function, Places, Read, Root};
use crate::syntax::{BinaryOp, ExprId, ExprKind, File, Node, StmtKind, Symbol};

/// The rule.
pub const RULE: Rule =
    Rule { page: include_str!("../../rules/body-not-closed.md"), check: Check::Function(check) };

/// The field of a response that has to be closed.
const BODY: &str = "Body";

/// The field of a response that holds its status.
const STATUS: &str = "StatusCode";

/// The field of a response that holds the request that it answers.
const REQUEST: &str = "Request";

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if held::runs_process_or_test(cx) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for held in held::all(cx, &read, cx.versions(), &is_body) {
        let function = &read.function;
        if asks_for_header_only(function, &held) || is_wrapped_head(cx, function, held.call) {
            continue;
        }
        let lost = match held.dropped {
            true => vec![Lost { span: held.span(function), way: Way::Return, last: None }],
            false => {
                let beside = |effect: &Effect| is_beside(&held, effect);
                let absent = |test| {
                    says_empty(function, test)
                        || says_over(function, test)
                        || says_broken(function, test)
                };
                held::lost(cx, &read, &held, &beside, &absent)
            }
        };
        if let Some((first, others)) = lost.split_first()
            && !transport::reads(cx, function, held.call)
            && !transport::answers_itself(cx, function, held.call)
        {
            let mut finding = left_open(cx, function, &held, first, others);
            if bound::is_in_time(cx, function, held.call) {
                finding.confidence = finding.confidence.min(Confidence::Medium);
                finding.why = "until a body is closed, or the time that the client gives it is up, its connection \
                               serves no other request, and the two goroutines of the transport that read and \
                               write it stay"
                    .to_owned();
            }
            if held::ends_with_context(cx, function, &held)
                || carries_request(&read, &held)
                || dials_itself(function)
                || recurrence::is_once(&cx.package, cx.func, Node::Expr(held.call))
            {
                finding.confidence = Confidence::Low;
            }
            findings.push(finding);
        }
    }
}

/// Whether the request is a `HEAD`, whose response has no body.
fn asks_for_header_only(function: &Function<'_>, held: &Held<'_>) -> bool {
    let Some(Carrier::Request(index)) = held.fact.context else { return false };
    // The call that makes the request may stand in one that looks at its error, and a function of the
    // run that makes both is given the method.
    let mut calls = held::request(function, held, index).chain([held.call]);
    calls.any(|made| is_given_head(function, made))
}

/// Whether a function of the run asks for the response, and for no more than its header.
fn is_wrapped_head(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let says = |_: &FunctionCx<'_>, function: &Function<'_>, call: ExprId| {
        is_given_head(function, call).then_some(true)
    };
    bound::passes_on(cx, function, call, 1, &says) == Some(true)
}

/// Whether an argument of a call names the method `HEAD`.
fn is_given_head(function: &Function<'_>, call: ExprId) -> bool {
    let file = function.file;
    let is_head = |value: ExprId| match function.info.constant(value) {
        Some(Constant::String(method)) => &**method == "HEAD",
        _ => {
            let text = function.text(value);
            text.ends_with("MethodHead") || text.ends_with(".HEAD")
        }
    };
    let mut parts = function.args(call).iter().flat_map(|&arg| file.descendants(Node::Expr(arg)));
    parts.any(|node| matches!(node, Node::Expr(part) if is_head(part)))
}

/// Statuses of responses that have no body.
const EMPTY: [i128; 2] = [204, 304];

/// Whether what a path was decided by says that the response has a status without a body.
fn says_empty(function: &Function<'_>, test: Test) -> bool {
    let file = function.file;
    let (left, right) =
        match test {
            Test::Equal(tag, value) => (tag, value),
            Test::Is(condition, value) => match file.expr(condition).kind {
                ExprKind::Binary {
                    op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, ..
                } if (op == BinaryOp::Eq) == value => (left, right),
                _ => return false,
            },
        };
    let is_status = |expr: ExprId| match file.expr(file.unparen(expr)).kind {
        ExprKind::Selector { name, .. } => name.name.as_str() == STATUS,
        _ => false,
    };
    let is_empty = |expr: ExprId| match function.info.constant(expr) {
        Some(Constant::Int(status)) => EMPTY.contains(status),
        _ => {
            let text = function.text(expr);
            text.ends_with(".StatusNoContent") || text.ends_with(".StatusNotModified")
        }
    };
    is_status(left) && is_empty(right) || is_status(right) && is_empty(left)
}

/// Whether what a path was decided by says that a context is over: what was asked for with it is torn down.
fn says_over(function: &Function<'_>, test: Test) -> bool {
    let asks_end = |(error, _)| asks_err(function.file, &function.info, error);
    set(function, test).is_some_and(asks_end)
}

/// What a path was decided by says is not nil, and the condition.
fn set(function: &Function<'_>, test: Test) -> Option<(ExprId, ExprId)> {
    let Test::Is(condition, value) = test else { return None };
    let (compared, is_set) = compared_with_nil(function.file, &function.info, condition)?;
    (is_set == value).then_some((compared, condition))
}

/// Whether what a path was decided by says that a body could not be read to its end: the transport has closed
/// the connection by then (`bodyEOFSignal` in <https://go.dev/src/net/http/transport.go>).
fn says_broken(function: &Function<'_>, test: Test) -> bool {
    let Some((error, condition)) = set(function, test) else { return false };
    let file = function.file;
    let decides = |&body: &BodyId| function.body(body).cfg.step_of_expr(condition).is_some();
    let places = function.bodies().find(decides).map(|body| function.places_in(body, error));
    let Some(Root::Call(call, _)) = places.as_ref().and_then(Places::only).map(|it| it.root) else {
        return false;
    };
    let name = function.info.callee(call).qualified(function.index);
    let reads_all = name.is_some_and(|name| {
        matches!(name.path.as_str(), "io" | "io/ioutil") && name.name.as_str() == "ReadAll"
    });
    let source = match *function.args(call) {
        [source] if reads_all => source,
        [sink, source, ..] if function.text(sink).ends_with(".Discard") => source,
        _ => return false,
    };
    file.descendants(Node::Expr(source)).any(|node| match node {
        Node::Expr(expr) => match file.expr(expr).kind {
            ExprKind::Selector { name, .. } => name.name.as_str() == BODY,
            _ => false,
        },
        _ => false,
    })
}

/// Whether the function gives a transport a way to dial of its own that need not dial, so that the
/// connection below may be in its hands.
fn dials_itself(function: &Function<'_>) -> bool {
    let file = function.file;
    let is_hook = |target: ExprId, value: ExprId| match file.expr(file.unparen(target)).kind {
        ExprKind::Ident(name) => is_dial(name) && !dials(file, value),
        ExprKind::Selector { name, .. } => is_dial(name.name) && !dials(file, value),
        _ => false,
    };
    file.descendants(Node::Decl(function.index.func(function.id).decl)).any(|node| match node {
        Node::Expr(expr) => match &file.expr(expr).kind {
            ExprKind::CompositeLit { elements, .. } => elements
                .iter()
                .any(|element| element.key.is_some_and(|key| is_hook(key, element.value))),
            _ => false,
        },
        Node::Stmt(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Assign { left, right, .. } => {
                left.iter().zip(right).any(|(&left, &right)| is_hook(left, right))
            }
            _ => false,
        },
        Node::Decl(_) => false,
    })
}

fn is_dial(name: Symbol) -> bool {
    name.as_str().starts_with("Dial")
}

/// Whether a function literal calls something that dials.
fn dials(file: &File, literal: ExprId) -> bool {
    matches!(file.expr(file.unparen(literal)).kind, ExprKind::FuncLit(_))
        && file.descendants(Node::Expr(literal)).any(|node| {
            let Node::Expr(call) = node else { return false };
            let ExprKind::Call { callee, .. } = file.expr(call).kind else { return false };
            match file.expr(file.unparen(callee)).kind {
                ExprKind::Selector { name, .. } => is_dial(name.name),
                _ => false,
            }
        })
}

/// Whether what is returned of the response is the request in it: a round tripper of the program's
/// own can use a response to carry a request, and gives it no body.
fn carries_request(read: &Read<'_>, held: &Held<'_>) -> bool {
    read.effects(held.at.body).effects.iter().any(|effect| {
        matches!(effect.act, Act::Returned(_))
            && matches!(effect.place.root, Root::Call(call, _) if call == held.call)
            && effect.place.path.first().is_some_and(|field| field.as_str() == REQUEST)
    })
}

fn is_body(fact: &Resource) -> bool {
    fact.place.field.as_deref() == Some(BODY)
}

/// Whether an act is on a part of the response that does not hold the body.
fn is_beside(held: &Held<'_>, effect: &Effect) -> bool {
    matches!(effect.place.root, Root::Call(call, _) if call == held.call)
        && effect.place.path.first().is_some_and(|field| field.as_str() != BODY)
}

fn left_open(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    held: &Held<'_>,
    first: &Lost,
    others: &[Lost],
) -> Finding {
    let call = held.span(function);
    let body = held.text().unwrap_or_else(|| "the response's body".to_owned());
    let body = if held.name.is_some() { format!("`{body}`") } else { body };
    let (message, label) = match first.way {
        _ if held.dropped => (
            "the response is thrown away here, and its body is never closed".to_owned(),
            "nobody closes its body",
        ),
        Way::Return => (format!("this return leaves {body} open"), "returns without closing it"),
        Way::End => (format!("the function can end with {body} open"), "ends without closing it"),
        Way::Again => (
            format!("{body} is still open when this request is made again"),
            "replaces the open response",
        ),
        Way::Replaced => (
            format!("{body} is still open when its variable gets something else"),
            "replaces the open response",
        ),
    };
    let mut finding = cx.finding(first.span, label, message);
    if first.span != call {
        finding.labels.push(Label {
            location: cx.location(call),
            role: Role::Made,
            message: "the response comes from here".to_owned(),
        });
    }
    for other in others.iter().filter(|other| other.way != Way::Again && other.span != first.span) {
        finding.labels.push(Label {
            location: cx.location(other.span),
            role: Role::Left,
            message: "nor is it closed here".to_owned(),
        });
    }
    finding.why = "until a body is closed, its connection serves no other request, and the two \
                   goroutines of the transport that read and write it stay"
        .to_owned();
    finding.help = match held.text() {
        Some(body) => format!("`defer {body}.Close()` right after the error has been checked"),
        None => "keep the response and close its body".to_owned(),
    };
    finding.defect = cx.location(call);
    finding
}
