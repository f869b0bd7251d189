//! `filter-order`: in a chain of handlers, a filter that puts its response writer into the request's
//! context stands outside a filter that leaves the inner side behind.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Step, StepId};
use crate::index::LocalId;
use crate::rules::filter::{self, FilterFacts, HandsOff, Stash};
use crate::rules::handoff::variable;
use crate::rules::scene::holds_any;
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Location;
use crate::summary::{At, BodyId, Function};
use crate::syntax::{ExprId, ExprKind, StmtKind};

pub const RULE: Rule =
    Rule { page: include_str!("../../rules/filter-order.md"), check: Check::Function(check) };

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["andler", "ServeHTTP"]) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let function = &read.function;
    for body in function.bodies() {
        for chain in chains(cx, function, body) {
            findings.extend(check_chain(cx, function, body, &chain));
        }
    }
}

/// A filter of a chain: the call that makes it, and the step of that call.
#[derive(Clone, Copy)]
struct Link {
    call: ExprId,
    step: StepId,
}

/// The chains that a body builds, each from the inside out: what is assigned to one variable again
/// and again, and what one expression nests. They are told when they end: where they are returned,
/// or at the end of the body.
fn chains(cx: &FunctionCx<'_>, function: &Function<'_>, body: BodyId) -> Vec<Vec<Link>> {
    let cfg = &function.body(body).cfg;
    let mut of_variable: Vec<(LocalId, Vec<Link>)> = Vec::new();
    let mut done: Vec<Vec<Link>> = Vec::new();
    let mut steps: Vec<StepId> = cfg.steps().collect();
    steps.sort_by_key(|&step| cfg.step(step).span(function.file).start);
    for step in steps {
        let (target, value) = match cfg.step(step) {
            Step::Assign(stmt) => match &function.file.stmt(stmt).kind {
                StmtKind::Assign { left, right, op: None } | StmtKind::Define { left, right } => {
                    let ([target], [value]) = (&left[..], &right[..]) else { continue };
                    (variable(function, *target), *value)
                }
                _ => continue,
            },
            Step::Return(stmt) => match &function.file.stmt(stmt).kind {
                StmtKind::Return(values) => match values.first() {
                    Some(&value) => (None, value),
                    None => continue,
                },
                _ => continue,
            },
            _ => continue,
        };
        if !filter::is_handler_value(cx, function, value) {
            continue;
        }
        let (start, calls) = filter::unfold(cx, function, value);
        let mut chain = start
            .and_then(|start| of_variable.iter().find(|(local, _)| *local == start))
            .map_or(Vec::new(), |(_, chain)| chain.clone());
        chain.extend(calls.into_iter().map(|call| Link { call, step }));
        match target {
            Some(target) => {
                of_variable.retain(|(local, _)| *local != target);
                of_variable.push((target, chain));
            }
            None => {
                of_variable.retain(|(local, _)| Some(*local) != start);
                done.push(chain);
            }
        }
    }
    done.extend(of_variable.into_iter().map(|(_, chain)| chain));
    done.retain(|chain| chain.len() > 1);
    done
}

fn check_chain(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    body: BodyId,
    chain: &[Link],
) -> Vec<Finding> {
    let facts: Vec<FilterFacts> =
        chain.iter().map(|link| filter::of_call(cx, function, link.call)).collect();
    let cfg = &function.body(body).cfg;
    let mut findings = Vec::new();
    for (outer, known) in facts.iter().enumerate() {
        let Some(stash) = known.stashes else { continue };
        let inner = (0..outer).rev().find_map(|inner| {
            let hands_off = facts[inner].hands_off?;
            let (from, to) = (chain[inner].step, chain[outer].step);
            (from == to || cfg.reaches(from, to)).then_some((chain[inner], hands_off))
        });
        if let Some((link, hands_off)) = inner {
            let at = At { body, step: chain[outer].step };
            findings.push(finding(cx, function, at, chain[outer].call, stash, link, hands_off));
        }
    }
    findings
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    call: ExprId,
    stash: Stash,
    inner: Link,
    hands_off: HandsOff,
) -> Finding {
    let (outer_name, inner_name) = (name(function, call), name(function, inner.call));
    let message = format!(
        "`{outer_name}` stands outside `{inner_name}`, which leaves its handler behind after a \
         timeout: that handler still finds the response writer of `{outer_name}` in the context, \
         and writes to it while the response is finished"
    );
    let span = match function.step(at) {
        Step::Assign(stmt) => function.file.stmt(stmt).span,
        _ => function.file.expr(call).span,
    };
    let mut finding = cx.finding(span, "outside the handoff", message);
    let mut label = |location: Location, role: Role, message: String| {
        finding.labels.push(Label { location, role, message });
    };
    if let Some(at) = stash.at {
        label(at, Role::Made, "the writer is put into the context here".to_owned());
    }
    let inner_span = function.file.expr(inner.call).span;
    label(
        cx.location(inner_span),
        Role::Context,
        "the filter that hands off stands here".to_owned(),
    );
    if let Some(at) = hands_off.at {
        label(at, Role::Started, "it runs its handler in a goroutine, and may leave it".to_owned());
    }
    if let Some(at) = stash.used {
        label(at, Role::Context, "the handler comes here, whether left or not".to_owned());
    }
    finding.why = format!(
        "the writer that `{inner_name}` gives to its handler knows of the timeout; the one in the \
         context is the real one, which the server is writing from"
    );
    finding.help = format!(
        "apply `{outer_name}` before `{inner_name}`, so that it stands inside and keeps the writer \
         that knows of the timeout"
    );
    finding
}

/// What a filter is called in the code.
fn name(function: &Function<'_>, call: ExprId) -> String {
    let ExprKind::Call { callee, .. } = function.file.expr(call).kind else {
        return function.text(call);
    };
    match function.file.expr(callee).kind {
        ExprKind::Selector { name, .. } => name.name.to_string(),
        _ => function.text(callee),
    }
}
