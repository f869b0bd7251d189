//! Functions that only `defer`s run: what they record or clean up has to happen also when the context that
//! they are given has ended, since that may be why they run.

use crate::flow::Step;
use crate::rules::literals::{Runs, runs};
use crate::rules::recurrence;
use crate::rules::{FunctionCx, PackageCx};
use crate::syntax::ExprId;

/// How many calls lie between the function and a `defer`.
const MAX_DEPTH: u32 = 3;

/// Whether all calls of the function that are in sight, and there is one, are made when another function
/// is left: by a `defer`, or by what such a call leads to.
pub fn runs_deferred(cx: &FunctionCx<'_>) -> bool {
    runs_within(cx, MAX_DEPTH)
}

/// Whether each call of a function in the run starts a goroutine with it.
pub fn runs_started(cx: &FunctionCx<'_>) -> bool {
    all_calls(cx, &|caller, call| {
        caller.summaries().read(caller.func).is_some_and(|read| {
            let function = &read.function;
            function.at_call(call).is_some_and(|at| matches!(function.step(at), Step::Go(_)))
        })
    })
}

/// Whether a function is called in the run, and each call is such a one.
fn all_calls(cx: &FunctionCx<'_>, is_one: &dyn Fn(&FunctionCx<'_>, ExprId) -> bool) -> bool {
    let calls = recurrence::calls(&cx.package, cx.declared());
    !calls.is_empty()
        && calls.iter().all(|&(caller, call)| {
            let package = PackageCx { package: caller.package, ..cx.package };
            is_one(&FunctionCx { package, func: caller }, call)
        })
}

fn runs_within(cx: &FunctionCx<'_>, depth: u32) -> bool {
    all_calls(cx, &|caller, call| makes_deferred(caller, call, depth))
}

/// Whether a function makes a call when it is left, or is itself run so.
fn makes_deferred(caller: &FunctionCx<'_>, call: ExprId, depth: u32) -> bool {
    let Some(read) = caller.summaries().read(caller.func) else { return false };
    let function = &read.function;
    let Some(at) = function.at_call(call) else { return false };
    if matches!(function.step(at), Step::Defer(_)) {
        return true;
    }
    let mut body = at.body;
    while let (Some(made), Some(literal)) = (function.body(body).made, function.body(body).literal)
    {
        match runs(caller, &read, made, literal) {
            Runs::Under => body = made.body,
            Runs::Deferred => return true,
            Runs::Started | Runs::Apart => return false,
        }
    }
    depth > 1 && runs_within(caller, depth - 1)
}
