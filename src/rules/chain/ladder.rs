//! Chains that are built by giving each filter the handler inside it.

use crate::catalog::TypeRole;
use crate::flow::{Step, StepId};
use crate::index::{Callee, LocalId};
use crate::rules::FunctionCx;
use crate::rules::filter;
use crate::rules::handoff::{has_role, variable};
use crate::summary::{At, BodyId, Function};
use crate::syntax::{DeclKind, ExprId, ExprKind, StmtKind};

use super::{Chain, Kind, Link, MAX_LINKS, built_by, list, name};

/// A chain that is not told yet.
#[derive(Clone, Default)]
struct Draft {
    start: Option<LocalId>,
    handler: Option<String>,
    innermost: Option<(At, ExprId)>,
    links: Vec<(StepId, Vec<Link>)>,
}

/// The chains that a body builds: they are told when they end, where they are returned or given
/// away, or at the end of the body.
pub(super) fn chains(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    body: BodyId,
    depth: u32,
) -> Vec<Chain> {
    let cfg = &function.body(body).cfg;
    let mut of_variable: Vec<(LocalId, Draft)> = Vec::new();
    let mut done: Vec<Chain> = Vec::new();
    let mut steps: Vec<StepId> = cfg.steps().collect();
    steps.sort_by_key(|&step| cfg.step(step).span(function.file).start);
    for step in steps {
        let Some((target, value)) = built_at(function, cfg.step(step)) else { continue };
        if !is_handler_value(cx, function, value) {
            continue;
        }
        let at = At { body, step };
        let (inner, mut calls) = unfold(cx, function, value);
        let mut start = inner.and_then(|inner| variable(function, inner));
        let literal = inner.and_then(|inner| as_literal(function, inner));
        if let Some(literal) = literal
            && let Some(next) = filter::next_of_literal(cx, function, literal)
            && of_variable.iter().any(|(local, draft)| *local == next && !draft.links.is_empty())
        {
            start = Some(next);
            calls.insert(0, literal);
        }
        let known = of_variable.iter().find(|(local, _)| Some(*local) == start);
        let mut draft = known.map_or_else(Draft::default, |(_, draft)| draft.clone());
        if known.is_none() {
            draft.start = start;
            draft.handler = inner.map(|inner| function.text(inner));
            draft.innermost = inner.map(|inner| (at, inner));
        }
        for call in calls {
            if draft.links.len() < MAX_LINKS {
                draft.links.push((step, links(cx, function, at, call, depth)));
            }
        }
        match target {
            Some(target) => {
                of_variable.retain(|(local, _)| *local != target);
                of_variable.push((target, draft));
            }
            None => {
                of_variable.retain(|(local, _)| Some(*local) != start);
                done.push(chain(function, body, draft, Some(step)));
            }
        }
    }
    done.extend(of_variable.into_iter().map(|(_, draft)| chain(function, body, draft, None)));
    done
}

/// The variable that a step assigns, and the value; of a `return`, the value.
fn built_at(function: &Function<'_>, step: Step) -> Option<(Option<LocalId>, ExprId)> {
    let file = function.file;
    match step {
        Step::Assign(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Assign { left, right, op: None } | StmtKind::Define { left, right } => {
                let ([target], [value]) = (&left[..], &right[..]) else { return None };
                Some((variable(function, *target), *value))
            }
            _ => None,
        },
        Step::Declare(decl) => {
            let DeclKind::Var(spec) = &file.decl(decl).kind else { return None };
            let ([name], [value]) = (&spec.names[..], &spec.values[..]) else { return None };
            Some((function.info.declared_at(name.span), *value))
        }
        Step::Return(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Return(values) => Some((None, *values.first()?)),
            _ => None,
        },
        _ => None,
    }
}

fn chain(function: &Function<'_>, body: BodyId, draft: Draft, returned: Option<StepId>) -> Chain {
    let cfg = &function.body(body).cfg;
    let end = returned.or(draft.links.last().map(|&(step, _)| step));
    let links = draft.links.into_iter().flat_map(|(step, links)| {
        let left_out = end.is_some_and(|end| step != end && !cfg.dominates(step, end))
            && !is_loop(function, cfg.step(step));
        links.into_iter().map(move |mut link| {
            link.conditional |= left_out;
            link
        })
    });
    Chain {
        kind: Kind::Applied,
        handler: draft.handler,
        links: links.collect(),
        start: draft.start,
        innermost: draft.innermost,
        returned: returned.is_some(),
    }
}

/// Whether a step applies what a loop takes from a list: the list says what is left out.
fn is_loop(function: &Function<'_>, step: Step) -> bool {
    built_at(function, step).is_some_and(|(_, value)| {
        let callee = function.info.callee(function.file.unparen(value));
        matches!(callee, Callee::Value(value) if list::is_taken(function, *value))
    })
}

/// The filters that one call applies, innermost first.
fn links(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    call: ExprId,
    depth: u32,
) -> Vec<Link> {
    if let Some(listed) = list::applied(cx, function, at, call, depth) {
        return listed;
    }
    if let Callee::Func(func) = function.info.callee(call)
        && let ExprKind::Call { args, .. } = &function.file.expr(call).kind
        && let Some((param, links)) = built_by(cx, *func, depth)
        && args.get(param as usize).is_some_and(|&arg| is_handler_value(cx, function, arg))
    {
        let last = links.len() - 1;
        let links = links.into_iter().enumerate().map(|(place, link)| {
            let mut link = link.called_from(cx.func, at, false);
            // The handler that the function itself makes is called as the function is.
            if place == last && link.is_literal() {
                link.name = name(function, call);
            }
            link
        });
        return links.collect();
    }
    vec![Link::new(cx, function, at, call)]
}

/// The calls of filters that an expression is made of, innermost first, and what the innermost one
/// is given.
fn unfold(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    expr: ExprId,
) -> (Option<ExprId>, Vec<ExprId>) {
    let mut calls = Vec::new();
    let mut inner = function.file.unparen(expr);
    let innermost = loop {
        let ExprKind::Call { args, .. } = &function.file.expr(inner).kind else {
            break Some(inner);
        };
        let given = args.iter().copied().find(|&arg| is_handler_value(cx, function, arg));
        let Some(given) = given else {
            // It gives a handler, and is given none: that is where the chain starts.
            break Some(inner);
        };
        if !matches!(function.info.callee(inner), Callee::Conversion(_)) {
            calls.push(inner);
        }
        inner = function.file.unparen(given);
    };
    calls.reverse();
    (innermost, calls)
}

/// The function literal that a value is, conversions aside.
fn as_literal(function: &Function<'_>, value: ExprId) -> Option<ExprId> {
    let mut value = function.file.unparen(value);
    loop {
        match &function.file.expr(value).kind {
            ExprKind::FuncLit(_) => return Some(value),
            ExprKind::Call { args, .. }
                if matches!(function.info.callee(value), Callee::Conversion(_)) =>
            {
                value = function.file.unparen(*args.first()?);
            }
            _ => return None,
        }
    }
}

/// Whether the value of an expression is a handler.
fn is_handler_value(cx: &FunctionCx<'_>, function: &Function<'_>, expr: ExprId) -> bool {
    let ty = function.info.type_of(expr);
    has_role(cx, ty, TypeRole::Handler) && !has_role(cx, ty, TypeRole::Middleware)
}
