//! Calls of functions of the package that wait below where no context reaches them, since they take
//! none.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Callee, FuncId, Type};
use crate::rules::FunctionCx;
use crate::rules::bound::Given;
use crate::rules::context_not_propagated::own::{self, From, Reach};
use crate::rules::context_not_propagated::{callee_text, purpose, push_own, variant};
use crate::source::Location;
use crate::summary::{At, BodyId, Cancel, Read, Summary, What};
use crate::syntax::ExprId;

/// How many calls are followed to one that waits without a context.
const MAX_DEPTH: u32 = 3;

/// Where a wait happens that no context reaches.
struct Below {
    /// The call that takes no context.
    cut: Location,
    /// What it calls, as the code writes it.
    callee: String,
    /// What waits, it or a method of its result, as the code writes it.
    waiting: String,
    /// Where that waits.
    waits: Location,
    /// How sure that is.
    confidence: Confidence,
    /// Methods that put a bound on that.
    bounded_by: Vec<Box<str>>,
    /// What whoever calls gives to put a bound on it, if that is a parameter.
    bounded_with: Option<Given>,
}

/// The calls of a function with a context that wait below without one.
pub fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    let function = &read.function;
    let mut findings = Vec::new();
    for (at, call) in function.calls() {
        let Callee::Func(func) = function.info.callee(call) else { continue };
        if !may_wait_without(cx, *func) {
            continue;
        }
        let Some(below) = below(cx, *func, MAX_DEPTH) else { continue };
        findings.extend(check_call(cx, read, at, call, &below));
    }
    findings
}

fn check_call(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    at: At,
    call: ExprId,
    below: &Below,
) -> Option<Finding> {
    let function = &read.function;
    let span = function.file.expr(call).span;
    if purpose::ends_something(function, call)
        || purpose::is_explained(function, &[span])
        || purpose::after_the_end(function, at)
        || function.is_bounded_before(call, &below.bounded_by)
        || below.bounded_with.as_ref().is_some_and(|given| given.is_made(cx, function, call))
    {
        return None;
    }
    let Reach::Own(own) = own::at_hand(cx, read, at) else { return None };
    if own.from == From::Field {
        return None;
    }
    let callee = callee_text(function, call);
    let message = format!(
        "`{callee}` waits in `{}` without a context, so when {} is cancelled, the wait goes on",
        below.waiting,
        own.shown_of(cx.declared().name),
    );
    let mut finding = cx.finding(span, "takes no context", message);
    finding.confidence = finding.confidence.min(Confidence::Medium).min(below.confidence);
    // It may have been left out where the context ends with the process alone.
    if finding.confidence > Confidence::Low && own.is_seen_to_stay(cx) {
        finding.confidence = Confidence::Low;
    }
    finding.defect = below.cut;
    push_own(cx, &mut finding, &own);
    finding.labels.push(Label {
        location: below.waits,
        role: Role::Stuck,
        message: "waits here".to_owned(),
    });
    finding.why =
        format!("`{}` is not told of any context, so nothing ends the wait early", below.callee);
    finding.help =
        format!("give `{callee}` a parameter `ctx context.Context` and pass {}", own.shown());
    Some(finding)
}

/// Whether a function of the package takes no context, and waits for what a library does.
fn may_wait_without(cx: &FunctionCx<'_>, func: FuncId) -> bool {
    if func.package != cx.package.package || func == cx.func {
        return false;
    }
    let Type::Func(signature) = cx.index().func_type(func) else { return false };
    let waits = |summary: &Summary| {
        summary.waits.iter().any(|wait| {
            matches!(wait.what, What::Library(_)) && !matches!(wait.cancel, Cancel::By(_))
        })
    };
    !signature.params.iter().any(Type::is_context)
        && !purpose::is_ending(cx.index().func(func).name.as_str())
        && cx.summaries().of(func).is_some_and(|summary| waits(&summary))
}

/// The first call in a function, or in what it calls, that waits without a context.
fn below(cx: &FunctionCx<'_>, func: FuncId, depth: u32) -> Option<Below> {
    let read = cx.summaries().read(func)?;
    let function = &read.function;
    let callee_cx = FunctionCx { package: cx.package, func };
    for step in function.body(BodyId::OWN).cfg.steps() {
        let at = At { body: BodyId::OWN, step };
        let Step::Call(call) = function.step(at) else { continue };
        let location =
            |expr: ExprId| Location { file: function.file_id, span: function.file.expr(expr).span };
        let found = match variant::without_context(&callee_cx, function, call) {
            Some(variant) => {
                let waits = variant::wait_of(&callee_cx, &read, (at, call), variant.when);
                waits.map(|(_, waits)| Below {
                    bounded_with: Given::of(&callee_cx, function, waits),
                    // Which program a helper runs, and for how long, is known to who calls it.
                    confidence: match variant.runs_program {
                        true => Confidence::Low,
                        false => variant.confidence,
                    },
                    bounded_by: variant.bounded_by.clone(),
                    cut: location(call),
                    callee: callee_text(function, call),
                    waiting: callee_text(function, waits),
                    waits: location(waits),
                })
            }
            None => match function.info.callee(call) {
                Callee::Func(next) if depth > 1 && may_wait_without(&callee_cx, *next) => {
                    below(&callee_cx, *next, depth - 1).map(|below| {
                        let bounded_with =
                            below.bounded_with.and_then(|given| given.above(function, call));
                        Below { bounded_with, ..below }
                    })
                }
                _ => None,
            },
        };
        let reachable = || {
            matches!(own::at_hand(&callee_cx, &read, at), Reach::Caller)
                && !purpose::ends_something(function, call)
                && !purpose::is_explained(function, &[function.file.expr(call).span])
        };
        if let Some(found) = found.filter(|_| reachable()) {
            return Some(found);
        }
    }
    None
}
