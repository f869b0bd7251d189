//! A call that waits as long as it takes, although it would take a bound of its own, where the package
//! gives it one elsewhere, or makes it again and again.

use crate::catalog::{Base, Blocking, When};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::rules::FunctionCx;
use crate::rules::bound::lacks_option;
use crate::rules::recurrence::{self, Runs};
use crate::rules::scene::{holds_any, serves_tests};
use crate::source::Location;
use crate::summary::{At, Function, Read, facts};
use crate::syntax::{ExprId, ExprKind, UnaryOp};

/// The calls of a function that are made without their bound.
pub(super) fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    let function = &read.function;
    let calls = bounded_calls(cx, function);
    let unbounded = calls.iter().filter(|call| call.bound == Bound::None);
    unbounded.map(|call| tell(cx, function, call)).collect()
}

/// Whether a call has a bound of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    None,
    Some,
    Unknown,
}

/// A call that takes a bound of its own.
struct Bounded<'a> {
    call: ExprId,
    fact: &'a Blocking,
    bound: Bound,
}

fn bounded_calls<'a>(cx: &FunctionCx<'a>, function: &Function<'_>) -> Vec<Bounded<'a>> {
    let mut found = Vec::new();
    for (at, call) in function.calls() {
        let known = facts(cx.catalog(), function.index, function.info.callee(call));
        let Some(fact) = known.in_force::<Blocking>(cx.versions()) else { continue };
        if fact.when != When::Call {
            continue;
        }
        let bound = match (&fact.timeout, &fact.only_with) {
            (Some(place), _) => match (place.base, place.field.as_deref()) {
                (Base::Param(index), Some(field)) => {
                    field_of(function, call, index as usize, field)
                }
                _ => continue,
            },
            (None, Some(_)) => match by_options(cx, function, at, call, fact) {
                Some(bound) => bound,
                None => continue,
            },
            (None, None) => continue,
        };
        found.push(Bounded { call, fact, bound });
    }
    found
}

/// The bound that a field of a struct is, which is given as an argument.
fn field_of(function: &Function<'_>, call: ExprId, index: usize, field: &str) -> Bound {
    let file = function.file;
    let ExprKind::Call { ref args, .. } = file.expr(call).kind else { return Bound::Unknown };
    let Some(&arg) = args.get(index) else { return Bound::Unknown };
    let arg = file.unparen(arg);
    if matches!(function.info.resolve(arg), crate::index::Def::Nil) {
        return Bound::None;
    }
    let literal = match file.expr(arg).kind {
        ExprKind::Unary { op: UnaryOp::Addr, operand } => file.unparen(operand),
        _ => arg,
    };
    if !matches!(file.expr(literal).kind, ExprKind::CompositeLit { .. }) {
        return Bound::Unknown;
    }
    match file.field_of(literal, &|name| name == field) {
        Some(_) => Bound::Some,
        None => Bound::None,
    }
}

/// The bound of a call that waits only with an option; `None` if it has not got that.
fn by_options(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    call: ExprId,
    fact: &Blocking,
) -> Option<Bound> {
    if lacks_option(function, call, fact) {
        return None;
    }
    let args = function.args(call);
    // Another option may bound it, or end it at the first failure.
    let others = args.iter().any(|&arg| {
        matches!(function.file.expr(arg).kind, ExprKind::Call { .. })
            && ["Timeout", "Fail", "Error"].iter().any(|word| function.text(arg).contains(word))
    });
    let context = args.first().filter(|&&arg| function.info.type_of(arg).is_context());
    let origin = context.map(|&context| cx.summaries().context(function, at, context));
    Some(match origin {
        _ if others => Bound::Unknown,
        Some(origin) if origin.deadline => Bound::Some,
        Some(origin) if !origin.is_fresh() || !origin.derivations.is_empty() => Bound::Unknown,
        _ => Bound::None,
    })
}

fn tell(cx: &FunctionCx<'_>, function: &Function<'_>, bounded: &Bounded<'_>) -> Finding {
    let callee = function.callee_text(bounded.call);
    let span = function.file.expr(bounded.call).span;
    let message = format!("`{callee}` waits as long as it takes: it has no bound on the time here");
    let mut finding = cx.finding(span, "waits without a bound", message);
    let evidence = match sibling(cx, function, bounded.call) {
        Some(location) => Some((location, "the same has a bound here".to_owned())),
        None => match recurrence::runs(&cx.package, cx.func) {
            Runs::Again(location, message) => Some((location, message.to_owned())),
            Runs::Once | Runs::Unknown => None,
        },
    };
    finding.confidence = match evidence {
        Some(_) => Confidence::Medium,
        None => Confidence::Low,
    };
    if let Some((location, message)) = evidence {
        finding.labels.push(Label { location, role: Role::Context, message });
    }
    finding.help = match (&bounded.fact.instead, &bounded.fact.context) {
        (Some(instead), _) => instead.clone(),
        (None, Some(_)) => "a context with a deadline".to_owned(),
        (None, None) => bounded.fact.variant.as_ref().map_or_else(
            || "a bound on the time".to_owned(),
            |variant| format!("`{}` with a context that has a deadline", variant.short()),
        ),
    };
    finding
}

/// A call of the same function, somewhere in the package, that has a bound.
fn sibling(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Option<Location> {
    let name = function.info.callee(call).qualified(function.index)?;
    call_in_package(cx, name.name.as_str(), &|cx, function| {
        let calls = bounded_calls(cx, function);
        let same = calls.iter().find(|other| {
            other.bound == Bound::Some
                && function.info.callee(other.call).qualified(function.index) == Some(name)
        })?;
        Some(same.call)
    })
}

/// The first call that `find` finds in the functions of the package that name `word`.
pub(super) fn call_in_package(
    cx: &FunctionCx<'_>,
    word: &str,
    find: &dyn Fn(&FunctionCx<'_>, &Function<'_>) -> Option<ExprId>,
) -> Option<Location> {
    let funcs = cx.index().package(cx.package.package).funcs.iter();
    funcs.map(|func| FunctionCx { func: func.id, ..*cx }).find_map(|cx| {
        if !holds_any(&cx, &[word]) || serves_tests(cx.index(), cx.func) {
            return None;
        }
        let read = cx.summaries().read(cx.func)?;
        let call = find(&cx, &read.function)?;
        Some(cx.location(read.function.file.expr(call).span))
    })
}
