//! Whether somebody may end a context: who gives it, through the callers of the run, and what that was made
//! of. A rule that speaks of the end of a context which was given asks here whether there is one.

use crate::catalog::{Base, Context, ContextRole, TypeRole};
use crate::flow::Step;
use crate::index::{Callee, FuncId, Type};
use crate::rules::scene::serves_tests;
use crate::rules::{FunctionCx, PackageCx, recurrence};
use crate::summary::{At, BodyId, ContextRoot, Function, Place, Root, facts, named, operand};
use crate::syntax::{ExprId, ExprKind, StmtKind, Symbol};

/// How many callers are followed to the one that makes the context.
const MAX_CALLERS: u32 = 7;

/// Whether somebody may end this parameter of the declared function, a context: nobody in the run
/// calls it, or some caller gives it a context that was given to that and may be ended, or, in another
/// package, one that it made to end.
pub fn may_end(cx: &FunctionCx<'_>, index: u32) -> bool {
    is_ended_by_callers(cx, index, MAX_CALLERS, false)
}

/// As [`may_end`], where what a caller in the package itself made to end counts too.
pub fn may_be_done(cx: &FunctionCx<'_>, index: u32) -> bool {
    is_ended_by_callers(cx, index, MAX_CALLERS, true)
}

fn is_ended_by_callers(cx: &FunctionCx<'_>, index: u32, depth: u32, own: bool) -> bool {
    let mut called = false;
    for (caller, call) in recurrence::calls(&cx.package, cx.declared()) {
        let args = cx.index().file_of(caller).args(call);
        let Some(&arg) = args.get(index as usize) else { continue };
        called = true;
        let ends = cx.summaries().read(caller).is_some_and(|read| {
            let Some(at) = read.function.at_call(call) else { return true };
            let package = PackageCx { package: caller.package, ..cx.package };
            let caller = FunctionCx { package, func: caller };
            let any = own || caller.func.package != cx.func.package;
            is_given_within(&caller, &read.function, (at, arg), depth)
                || is_made_to_end(&caller, &read.function, (at, arg), any, MAX_DERIVATIONS)
        });
        if ends {
            return true;
        }
    }
    !called
}

/// Whether a context is made where it stands with an end of its own: a deadline; or if `any`, a signal, a
/// cancel function, or by something out of sight.
fn is_made_to_end(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    (at, context): (At, ExprId),
    any: bool,
    depth: u32,
) -> bool {
    let origin = cx.summaries().context(function, at, context);
    origin.derivations.iter().any(|&call| {
        let callee = function.info.callee(call);
        let known = facts(cx.catalog(), function.index, callee);
        let mut contexts = known.all_in_force::<Context>(cx.versions()).peekable();
        match (contexts.peek(), callee) {
            (Some(_), _) => contexts.any(|fact| fact.deadline || any && fact.cancel.is_some()),
            (None, _) if !any => false,
            (None, &Callee::Func(func)) => gives_ended(cx, func, depth),
            (None, _) => true,
        }
    })
}

/// Whether a function may give a context that it made to end.
fn gives_ended(cx: &FunctionCx<'_>, func: FuncId, depth: u32) -> bool {
    let (Some(read), Some(depth)) = (cx.summaries().read(func), depth.checked_sub(1)) else {
        return true;
    };
    let package = PackageCx { package: func.package, ..cx.package };
    let (cx, function) = (FunctionCx { package, func }, &read.function);
    let cfg = &function.body(BodyId::OWN).cfg;
    cfg.steps().any(|step| {
        let Step::Return(stmt) = cfg.step(step) else { return false };
        let StmtKind::Return(values) = &function.file.stmt(stmt).kind else { return false };
        let at = At { body: BodyId::OWN, step };
        let mut given = values.iter().filter(|&&value| function.info.type_of(value).is_context());
        // A `return` of a function that names its results.
        values.is_empty()
            || given.any(|&value| is_made_to_end(&cx, function, (at, value), true, depth))
    })
}

/// How many calls are followed that take a context and give one.
const MAX_DERIVATIONS: u32 = 4;

/// Whether a context was given to the function that has it, and somebody may end it. What takes one
/// and gives one is expected to derive the one from the other.
pub fn is_given(cx: &FunctionCx<'_>, function: &Function<'_>, context: (At, ExprId)) -> bool {
    is_given_within(cx, function, context, MAX_CALLERS)
}

fn is_given_within(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    (mut at, mut context): (At, ExprId),
    depth: u32,
) -> bool {
    if holds_context(cx, function.info.type_of(context).strip_pointer()) {
        return is_request_given(cx, function, at, context, depth);
    }
    for _ in 0..MAX_DERIVATIONS {
        let origin = cx.summaries().context(function, at, context);
        let ends = |place: &Place| match place.root {
            Root::Param(index) if place.path.is_empty() && depth > 0 => {
                is_ended_by_callers(cx, index, depth - 1, false)
            }
            _ => !is_left_alone(cx, function, place),
        };
        let places = origin.places();
        if !places.is_empty() || !origin.roots.contains(&ContextRoot::Unknown) {
            return places.iter().any(ends);
        }
        let made = function.places(at, context).only().map(|place| place.root);
        let Some(Root::Call(call, _)) = made else { return false };
        let args = function.args(call);
        let mut contexts = args.iter().filter(|&&arg| function.info.type_of(arg).is_context());
        let (Some(&parent), None, Some(before)) =
            (contexts.next(), contexts.next(), function.at_call(call))
        else {
            return false;
        };
        (at, context) = (before, parent);
    }
    false
}

/// Whether a context is one that a value holds to which nobody in the run gives one, as that of a command
/// that is executed without.
fn is_left_alone(cx: &FunctionCx<'_>, function: &Function<'_>, place: &Place) -> bool {
    let index = cx.index();
    let known = |word: &str| {
        let word = Symbol::new(word);
        cx.package.packages_with(word).any(|package| {
            index.package(package).funcs.iter().any(|func| {
                let file = index.file_of(func.id);
                let text = || file.source.slice(file.decl(func.decl).span);
                index.may_name(func.id, word)
                    && memchr::memmem::find(text(), word.as_str().as_bytes()).is_some()
                    && !serves_tests(index, func.id)
            })
        })
    };
    function.calls().any(|(at, call)| {
        let facts = facts(cx.catalog(), function.index, function.info.callee(call));
        let mut contexts = facts.all_in_force::<Context>(cx.versions());
        let Some(fact) = contexts.find(|fact| !fact.given_by.is_empty()) else { return false };
        let holder = operand(function, call, Base::Receiver);
        let holder = holder.and_then(|holder| function.object_places(at, holder).only().cloned());
        holder.is_some_and(|holder| place.is_within(&holder))
            && fact.left_by.iter().any(|word| known(word))
            && !fact.given_by.iter().any(|word| known(word))
    })
}

/// Whether the context of a request may end: one that a function makes or reads which has no context
/// itself, as `http.ReadRequest`, never does.
fn is_request_given(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    request: ExprId,
    depth: u32,
) -> bool {
    let places = function.places(at, request);
    match places.only().map(|place| (place.root, place.path.is_empty())) {
        Some((Root::Param(index), true)) if depth > 0 => {
            is_ended_by_callers(cx, index, depth - 1, false)
        }
        Some((Root::Call(call, _), true)) => {
            let ExprKind::Call { ref args, .. } = function.file.expr(call).kind else {
                return true;
            };
            let name = function.info.callee(call).qualified(function.index);
            let carries = |&arg: &ExprId| {
                let ty = function.info.type_of(arg);
                ty.is_unknown() || is_context(cx, ty) || holds_context(cx, ty.strip_pointer())
            };
            name.is_none_or(|name| name.receiver.is_some()) || args.iter().any(carries)
        }
        _ => true,
    }
}

/// Whether this type is a context, or one that a library makes of it.
pub fn is_context(cx: &FunctionCx<'_>, ty: &Type) -> bool {
    ty.is_context() || cx.package.has_role(ty, TypeRole::Context)
}

/// Whether this type is a request, and `Context()` the context that it holds.
pub fn holds_context(cx: &FunctionCx<'_>, ty: &Type) -> bool {
    let Some(holder) = ty.named() else { return false };
    if !cx.package.has_role(ty, TypeRole::Request) {
        return false;
    }
    let mut name = holder.qualified();
    (name.receiver, name.name) = (Some(holder.name), Symbol::new("Context"));
    named(cx.catalog(), name)
        .all_in_force::<Context>(cx.versions())
        .any(|fact| fact.role == ContextRole::Accessor)
}
