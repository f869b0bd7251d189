//! Who calls a function that has no context: perhaps somebody who has one.
//!
//! One caller of the package is enough: whoever wrote the function knew of it. Where it has none either,
//! its callers in the package are asked. Of calls in other packages of the run all have to have a
//! context at hand, or the function may be made for those that have none. Calls through an interface say little: who
//! stands behind it is not known.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::flow::Step;
use crate::index::{Func, FuncId};
use crate::project::PackageId;
use crate::rules::context_not_propagated::own::{self, From, Own, Reach};
use crate::rules::context_not_propagated::purpose;
use crate::rules::scene::{self, serves_tests};
use crate::rules::{FunctionCx, PackageCx, recurrence};
use crate::source::Location;
use crate::syntax::{DeclKind, ExprId};

/// What the callers of a function have.
pub enum Callers {
    /// A context at hand, or one of those that call them.
    With(Caller),
    /// Nothing; or one of them calls after the end of its own.
    Without,
    /// Nobody is known to call it.
    Unknown,
}

/// Who has a context at hand.
pub struct Caller {
    /// The function that has it.
    pub func: FuncId,
    /// The context.
    pub own: Own,
    /// Whether somebody in sight ends that before the process does.
    pub seen: bool,
    /// Whether the function is there for others than the run: nobody in sight calls it.
    pub is_for_others: bool,
    /// The calls that lead from it to the function that was asked about, the first one first.
    pub calls: Vec<Location>,
}

/// How many calls lie between the function and the caller that has a context.
const MAX_DEPTH: usize = 3;

/// How many functions are asked who calls them.
const MAX_FUNCTIONS: usize = 24;

/// What the callers of the function of `cx` have.
pub fn of(cx: &FunctionCx<'_>) -> Callers {
    let mut met = FxHashSet::from_iter([cx.func]);
    let mut open = VecDeque::from([(cx.func, Vec::new())]);
    let mut called = false;
    while let Some((func, below)) = open.pop_front() {
        let mut with = None;
        let mut lacking = false;
        let calls = calls_of(cx, func);
        called |= !calls.is_empty();
        let outside = calls.iter().any(|(caller, _)| caller.package != func.package);
        for (caller, call) in calls {
            let package = PackageCx { package: caller.package, ..cx.package };
            let caller = FunctionCx { package, func: caller };
            let span = caller.file().expr(call).span;
            let calls = || [caller.location(span)].into_iter().chain(below.iter().copied());
            match at_hand(&caller, call) {
                AtHand::Own(own) => {
                    let seen = own.is_seen_to_end(&caller);
                    if with.as_ref().is_none_or(|with: &Caller| seen && !with.seen) {
                        let calls = calls().collect();
                        let is_for_others = is_for_others(&caller);
                        with = Some(Caller { func: caller.func, own, seen, is_for_others, calls });
                    }
                }
                AtHand::Nothing => lacking = true,
                AtHand::Caller => {
                    lacking = true;
                    let goes_on =
                        !outside && below.len() + 1 < MAX_DEPTH && met.len() < MAX_FUNCTIONS;
                    if goes_on && met.insert(caller.func) {
                        open.push_back((caller.func, calls().collect()));
                    }
                }
                AtHand::Ended => return Callers::Without,
            }
        }
        match with {
            Some(with) if !(outside && lacking) => return Callers::With(with),
            _ => {}
        }
    }
    if called { Callers::Without } else { Callers::Unknown }
}

/// Whether a function is there for who uses the package, and nobody in the run is known to call it.
fn is_for_others(cx: &FunctionCx<'_>) -> bool {
    let declared = cx.declared();
    declared.name.is_exported()
        && cx.index().package(cx.func.package).name.as_str() != "main"
        && recurrence::calls(&cx.package, declared).is_empty()
}

/// The calls of a function: those in its package, or if there is none of the function at hand, those
/// in the packages of the run that import it.
fn calls_of(of: &FunctionCx<'_>, func: FuncId) -> Vec<(FuncId, ExprId)> {
    let cx = &of.package;
    let declared = cx.index.func(func);
    let calls = calls_in(cx, declared, func.package);
    if !calls.is_empty() || func != of.func || !declared.name.is_exported() {
        return calls;
    }
    let others = cx.packages_with(declared.name).filter(|&package| {
        package != func.package && cx.index.imports_in_run(package).contains(&func.package)
    });
    others.flat_map(|package| calls_in(cx, declared, package)).collect()
}

fn calls_in(cx: &PackageCx<'_>, declared: &Func, package: PackageId) -> Vec<(FuncId, ExprId)> {
    let index = cx.index;
    let mut calls = Vec::new();
    for caller in &index.package(package).funcs {
        if !index.may_name(caller.id, declared.name) {
            continue;
        }
        let file = index.file_of(caller.id);
        let DeclKind::Func(_) = &file.decl(caller.decl).kind else { continue };
        if caller.id == declared.id || serves_tests(index, caller.id) {
            continue;
        }
        let own = scene::calls_in(file, &index.body(caller.id), declared.id);
        calls.extend(own.into_iter().map(|call| (caller.id, call)));
    }
    calls
}

/// What is at hand where a function is called.
enum AtHand {
    Own(Own),
    /// Nothing, but the callers of the caller wait for it.
    Caller,
    Nothing,
    /// A context that has ended: the call could not be made on it.
    Ended,
}

/// The context that a function has at hand where it makes a call, if nothing says that the call
/// is meant to be out of its reach.
fn at_hand(caller: &FunctionCx<'_>, call: ExprId) -> AtHand {
    let Some(read) = caller.summaries().read(caller.func) else { return AtHand::Nothing };
    let function = &read.function;
    let Some(at) = function.at_call(call) else { return AtHand::Nothing };
    if purpose::after_the_end(function, at) {
        return AtHand::Ended;
    }
    let span = function.file.expr(call).span;
    if !matches!(function.step(at), Step::Call(_))
        || purpose::ends_something(function, call)
        || purpose::is_explained(function, &[span])
    {
        return AtHand::Nothing;
    }
    match own::at_hand(caller, &read, at) {
        Reach::Own(own) if own.from != From::Field => AtHand::Own(own),
        Reach::Caller => AtHand::Caller,
        Reach::Own(_) | Reach::Away => AtHand::Nothing,
    }
}
