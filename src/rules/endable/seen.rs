//! Whether somebody in sight ends a context while its process goes on. That somebody *may* end a context
//! is not known of one that a program makes when it starts, or that nobody in sight gives: this asks for
//! the place where it is done.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::catalog::{Context, TypeRole};
use crate::index::{FuncId, Type};
use crate::rules::recurrence::{self, Runs};
use crate::rules::{FunctionCx, PackageCx};
use crate::summary::{At, ContextRoot, Function, Mode, Place, Read, Root, facts};
use crate::syntax::ExprId;

/// How many callers are followed to the one that makes the context.
const MAX_CALLERS: u32 = 6;

/// How many parameters are asked who gives them: somebody among so many callers may end it.
const MAX_PARAMS: usize = 64;

/// Whether this parameter of the declared function, a context, is that of a request, or a caller in sight gives
/// one that ends before the process does: that of a request, one with a deadline, or one whose cancel function
/// is called by others than a `defer` of the caller.
pub fn is_seen_to_end(cx: &FunctionCx<'_>, index: u32) -> bool {
    let given = || cx.summaries().read(cx.func);
    let of_request = given()
        .is_some_and(|read| is_of_request(cx, &read.function, &Place::root(Root::Param(index))));
    of_request
        || cx.package.memo.seen_to_end((cx.func, index), || {
            of_param(cx, index, MAX_CALLERS, &mut FxHashSet::default())
        })
}

fn of_param(
    cx: &FunctionCx<'_>,
    index: u32,
    depth: u32,
    met: &mut FxHashSet<(FuncId, u32)>,
) -> bool {
    let Some(depth) = depth.checked_sub(1).filter(|_| met.insert((cx.func, index))) else {
        return false;
    };
    if met.len() > MAX_PARAMS {
        return true;
    }
    recurrence::calls(&cx.package, cx.declared()).into_iter().any(|call| {
        argument(cx, call, index).is_some_and(|(caller, read, given)| {
            is_given(&caller, &read.function, given, depth, met)
        })
    })
}

/// What a call of a function gives for one of its parameters: the caller, and where and what that is in it.
fn argument<'a>(
    cx: &FunctionCx<'a>,
    (caller, call): (FuncId, ExprId),
    index: u32,
) -> Option<(FunctionCx<'a>, Arc<Read<'a>>, (At, ExprId))> {
    let arg = *cx.index().file_of(caller).args(call).get(index as usize)?;
    let read = cx.summaries().read(caller)?;
    let at = read.function.at_call(call)?;
    let package = PackageCx { package: caller.package, ..cx.package };
    Some((FunctionCx { package, func: caller }, read, (at, arg)))
}

fn is_given(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    (at, context): (At, ExprId),
    depth: u32,
    met: &mut FxHashSet<(FuncId, u32)>,
) -> bool {
    let origin = cx.summaries().context(function, at, context);
    let ends = |&call: &ExprId| {
        let known = facts(cx.catalog(), function.index, function.info.callee(call));
        known.all_in_force::<Context>(cx.versions()).any(|fact| {
            fact.deadline || fact.cancel.is_some_and(|cancel| is_cancelled(cx, call, cancel))
        })
    };
    origin.derivations.iter().any(ends)
        || origin.roots.iter().any(|root| match root {
            ContextRoot::Place(place) => {
                is_of_request(cx, function, place)
                    || match place.root {
                        Root::Param(index) if place.path.is_empty() => {
                            of_param(cx, index, depth, met)
                        }
                        _ => false,
                    }
            }
            _ => false,
        })
}

/// Whether a context ends when the handler of a request returns, at the latest: it is derived from that of the
/// request which a function is given beside what answers it, or all who call the function give it such a one. The
/// server cancels that (<https://pkg.go.dev/net/http#Request.Context>).
pub fn ends_with_handler(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    context: ExprId,
) -> bool {
    of_handler(cx, function, (at, context), MAX_CALLERS)
}

fn of_handler(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    (at, context): (At, ExprId),
    depth: u32,
) -> bool {
    let origin = cx.summaries().context(function, at, context);
    !origin.detached
        && !origin.roots.is_empty()
        && origin.roots.iter().all(|root| match root {
            ContextRoot::Place(place) => match place.root {
                Root::Param(index) if place.path.is_empty() => given_by_handlers(cx, index, depth),
                _ => is_answered(cx, function, place),
            },
            _ => false,
        })
}

/// Whether a function is called, and all who call it give it the context of a request that they answer.
fn given_by_handlers(cx: &FunctionCx<'_>, index: u32, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let calls = recurrence::calls(&cx.package, cx.declared());
    !calls.is_empty()
        && calls.into_iter().all(|call| {
            argument(cx, call, index).is_some_and(|(caller, read, given)| {
                of_handler(&caller, &read.function, given, depth)
            })
        })
}

/// Whether a place is the context of a request that stands beside what answers it.
fn is_answered(cx: &FunctionCx<'_>, function: &Function<'_>, place: &Place) -> bool {
    let Some((holder, mut all)) = parameter(function, place) else { return false };
    let has = |ty: &Type, role: TypeRole| cx.package.has_role(ty.strip_pointer(), role);
    place.path.len() == 1
        && place.path[0].as_str() == "Context()"
        && has(holder, TypeRole::Request)
        && all.any(|beside| has(beside, TypeRole::ResponseWriter))
}

/// The type of the parameter that a place starts at, and those of all beside it.
fn parameter<'f>(
    function: &'f Function<'_>,
    place: &Place,
) -> Option<(&'f Type, impl Iterator<Item = &'f Type>)> {
    let (owner, index) = match place.root {
        Root::Param(index) => (None, index),
        Root::LiteralParam(literal, index) => (Some(literal), index),
        _ => return None,
    };
    let info = &function.info;
    let param = move |index: u32| Some(&info.local(info.param(owner, index)?).ty);
    Some((param(index)?, (0..).map_while(param)))
}

/// Whether a place is the context of a request, as `r.Context()` of a parameter is, or what is given beside a
/// request or what answers one.
fn is_of_request(cx: &FunctionCx<'_>, function: &Function<'_>, place: &Place) -> bool {
    let Some((holder, mut all)) = parameter(function, place) else { return false };
    let has = |ty: &Type, role: TypeRole| cx.package.has_role(ty.strip_pointer(), role);
    match place.path.last() {
        Some(part) => {
            part.as_str() == "Context()" && !has(holder, TypeRole::Command) && !is_apart(cx, holder)
        }
        None => all.any(|beside| {
            [TypeRole::Request, TypeRole::ResponseWriter, TypeRole::Interceptor]
                .into_iter()
                .any(|role| has(beside, role) && !has(beside, TypeRole::ContextInForm))
        }),
    }
}

/// Whether a type is a struct that is in sight and has nothing of a request, so that what its `Context` gives
/// is none's: one that a program keeps what it runs with in.
fn is_apart(cx: &FunctionCx<'_>, holder: &Type) -> bool {
    let Type::Struct(of) = cx.index().underlying(holder.strip_pointer()) else { return false };
    let is_of_one = |ty: &Type| recurrence::is_of_request(&cx.package, ty.strip_pointer());
    !is_of_one(holder)
        && !of
            .fields
            .iter()
            .any(|field| field.embedded || is_of_one(&field.ty) || field.ty.is_unknown())
}

/// Whether the cancel function that a call gives as this result is there for more than to clean up: by
/// whoever it is handed to, or called before the function is left.
fn is_cancelled(cx: &FunctionCx<'_>, call: ExprId, cancel: u32) -> bool {
    let cancel = Place::root(Root::Call(call, cancel));
    let Some(read) = cx.summaries().read(cx.func) else { return false };
    let used = read.function.bodies().any(|body| {
        let mut effects = read.effects(body).effects.iter();
        effects.any(|effect| effect.place == cancel && effect.mode != Mode::Deferred)
    });
    used && !matches!(recurrence::runs(&cx.package, cx.func), Runs::Once)
}
