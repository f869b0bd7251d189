//! `request-context-escapes`: a goroutine goes on when the handler of a request has returned, and
//! asks a peer with the context of that request, which the server cancels just then.
//!
//! Evidence: the handler neither waits after it has started the goroutine nor goes round in a loop,
//! the goroutine tells nobody that it is done, and it never looks at the context itself: it is not
//! meant to end with the request.

use crate::catalog::TypeRole;
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::{Callee, LocalId};
use crate::rules::handoff::{
    go_keyword, has_role, is_given_both, is_left_behind, others_may_wait, parameter, returned_at,
    waits_for_something,
};
use crate::rules::peer::{WithContext, calls_with_context, waits_for_one_answer};
use crate::rules::scene::{may_start_goroutines, serves_tests};
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Span;
use crate::summary::{At, BodyId, Function, Read, Spawn};
use crate::syntax::Node;

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/request-context-escapes.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !may_start_goroutines(cx) || serves_tests(cx.index(), cx.func) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let mut calls = None;
    for body in read.function.bodies() {
        for spawn in &read.effects(body).spawns {
            if !is_forgotten(&read, spawn) || looks_at_context(&read.function, spawn) {
                continue;
            }
            let calls = calls.get_or_insert_with(|| calls_with_context(cx, &read));
            findings.extend(cut_off(cx, &read, spawn, calls));
        }
    }
}

/// Whether a goroutine is left to itself: nobody waits for it, and whoever started it is soon done.
fn is_forgotten(read: &Read<'_>, spawn: &Spawn) -> bool {
    let cfg = &read.function.body(spawn.at.body).cfg;
    let goes_round =
        || cfg.steps().any(|step| cfg.reaches(spawn.at.step, step) && cfg.reaches(step, step));
    spawn.signals.is_empty()
        && is_left_behind(read, spawn)
        && !others_may_wait(read, spawn)
        && !waits_for_something(read, spawn.at)
        && !goes_round()
}

/// Whether a goroutine asks whether its context is done.
fn looks_at_context(function: &Function<'_>, spawn: &Spawn) -> bool {
    function.file.descendants(Node::Expr(spawn.call)).any(|node| {
        let Node::Expr(call) = node else { return false };
        function.file.method_call(call).is_some_and(|(base, name)| {
            matches!(name.name.as_str(), "Done" | "Err") && function.info.type_of(base).is_context()
        })
    })
}

/// The first call of a goroutine with the context of the request that the body around it handles.
fn cut_off(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    spawn: &Spawn,
    calls: &[WithContext],
) -> Option<Finding> {
    let function = &read.function;
    let cfg = |at: At| &function.body(at.body).cfg;
    let in_literal = calls.iter().filter(|call| {
        runs_in(function, spawn, call.at.body)
            && !cfg(call.at).reaches(call.at.step, call.at.step)
            && waits_for_one_answer(cx, function, call.call)
    });
    let started = started_with(cx, function, spawn);
    let mut calls = in_literal.chain(&started);
    calls.find_map(|call| {
        let request = request_of(cx, function, spawn.at.body, call)?;
        Some(tell(cx, function, spawn, call, request))
    })
}

/// Whether a body is that of the goroutine's literal.
fn runs_in(function: &Function<'_>, spawn: &Spawn, body: BodyId) -> bool {
    match function.info.callee(spawn.call) {
        Callee::Literal(literal) => function.body_of_literal(*literal) == Some(body),
        _ => false,
    }
}

/// The call of a `go` statement itself, if it is given a context and hands it to a peer.
fn started_with(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    spawn: &Spawn,
) -> Option<WithContext> {
    let args = function.args(spawn.call);
    let &context = args.first()?;
    if !function.info.type_of(context).is_context()
        || !waits_for_one_answer(cx, function, spawn.call)
    {
        return None;
    }
    let origin = cx.summaries().context(function, spawn.at, context);
    Some(WithContext { at: spawn.at, call: spawn.call, context, origin })
}

/// The parameter of a handler whose context a call is given, and nothing else.
fn request_of(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    body: BodyId,
    call: &WithContext,
) -> Option<LocalId> {
    let place = call.origin.only().filter(|_| !call.origin.detached)?;
    let request = parameter(function, body, &place)?;
    let local = function.info.local(request);
    let path: Vec<&str> = place.path.iter().map(|part| part.as_str()).collect();
    let handled = match path[..] {
        ["Context()"] => {
            has_role(cx, &local.ty, TypeRole::Request) && is_given_both(cx, function, local.owner)
        }
        ["Request", "Context()"] => has_role(cx, &local.ty, TypeRole::Pooled),
        _ => false,
    };
    handled.then_some(request)
}

fn tell(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    spawn: &Spawn,
    call: &WithContext,
    request: LocalId,
) -> Finding {
    let context = function.text(call.context);
    let message = format!(
        "`{}` is cut off: `{context}` ends when the handler returns, and nobody waits for this \
         goroutine",
        function.callee_text(call.call)
    );
    let span = function.file.expr(call.call).span;
    let mut finding = cx.finding(span, "cancelled under way", message);
    finding.confidence = Confidence::Medium;
    let mut label = |span: Span, role: Role, message: String| {
        finding.labels.push(Label { location: cx.location(span), role, message });
    };
    let parameter = function.info.local(request);
    label(parameter.span, Role::Made, "the context is that of this request".to_owned());
    label(go_keyword(function, spawn), Role::Started, "the goroutine is started here".to_owned());
    if let Some((span, told)) = returned_at(function, spawn) {
        label(span, Role::Left, told);
    }
    finding.why = "the server cancels the context of a request as soon as its handler has returned"
        .to_owned();
    finding.help =
        "wait for the goroutine, or give it `context.WithoutCancel` of that context with \
                    a deadline of its own"
            .to_owned();
    finding.defect = cx.location(span);
    finding
}
