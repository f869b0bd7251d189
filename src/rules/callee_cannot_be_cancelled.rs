//! `callee-cannot-be-cancelled`: a loop that ends with a context stays in a call that does not.
//!
//! Who wrote the loop meant it to end with the context, and it does: between two turns. What it
//! calls waits on a condition, or in a queue, that only a method of the same object ends, and that
//! method is called by nobody else than the code behind the loop, which is never reached. The loop
//! is one of the run, or one of a dependency that the run starts and cancels.

mod cancelled;
mod enders;
mod stay;
mod turns;

use std::sync::Arc;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Callee, FuncId, Type};
use crate::rules::scene::serves_tests;
use crate::rules::{Check, FunctionCx, Rule, held};
use crate::summary::{At, Below, BodyId, Function, Read, Root};
use crate::syntax::ExprId;
use stay::Stay;
use turns::Turn;

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/callee-cannot-be-cancelled.md"),
    check: Check::Function(check),
};

/// How many functions of dependencies are read for the loops of one function.
const MAX_READ: usize = 256;

/// What a question about one function of the run knows.
#[derive(Clone, Copy)]
struct Look<'l, 'a> {
    cx: &'l FunctionCx<'a>,
    below: &'l Below<'l, 'a>,
}

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if held::runs_process_or_test(cx) || serves_tests(cx.index(), cx.func) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let Some(below) = cx.summaries().below(cx.package.package, MAX_READ) else { return };
    let look = Look { cx, below: &below };
    for body in read.function.bodies() {
        let of_loops = turns::of_body(look, &read.function, body);
        findings.extend(of_loops.iter().find_map(|turn| own_loop(look, &read, turn)));
        let cfg = &read.function.body(body).cfg;
        for step in cfg.steps() {
            let (Step::Call(_) | Step::Go(_)) = cfg.step(step) else { continue };
            findings.extend(loop_of_dependency(look, &read, At { body, step }));
        }
    }
    if below.is_cut() {
        cx.package.cut_at(cx.func);
    }
}

/// A loop of the run.
fn own_loop<'a>(look: Look<'_, 'a>, read: &Arc<Read<'a>>, turn: &Turn) -> Option<Finding> {
    let stay = stay::of_turn(look, read, turn)?;
    if enders::are_called_elsewhere(look, &stay, (&read.function, turn.at))
        || enders::are_fed_by(look, &stay, &read.function)
    {
        return None;
    }
    let function = &read.function;
    let end = function.text(turn.end);
    let span = function.step(turn.at).span(function.file);
    let calls = stay.calls.join("` and `");
    let message = format!("`{end}` ends this loop between two turns only: it stays in `{calls}`");
    let mut finding = look.cx.finding(span, "stays in here", message);
    finding.labels.push(Label {
        location: look.cx.location(function.step(turn.at_end).span(function.file)),
        role: Role::Condition,
        message: format!("the loop looks at `{end}` here"),
    });
    finding.why = why(&stay);
    finding.help = help(&stay, &end);
    Some(finding)
}

/// A loop of a dependency that gets its context here.
fn loop_of_dependency(look: Look<'_, '_>, read: &Read<'_>, at: At) -> Option<Finding> {
    let function = &read.function;
    let call = function.step(at).call(function.file)?;
    let callee = runs_with_context(look, function, call)?;
    let inner = look.below.read(callee)?;
    let turn = turns::of_body(look, &inner.function, BodyId::OWN).into_iter().find_map(|turn| {
        let param = turns::given(&inner.function, &turn)?;
        let stay = stay::of_turn(look, &inner, &turn)?;
        let elsewhere = enders::are_called_elsewhere(look, &stay, (&inner.function, turn.at));
        (!elsewhere).then_some((param, stay))
    });
    let (param, stay) = turn?;
    let context = argument(function, call, param)?;
    let what = function.callee_text(call);
    let calls = stay.calls.join("` and `");
    let started = look.cx.location(function.step(at).span(function.file));
    let mut finding = match cancelled::with(look.cx, function, context) {
        cancelled::Cancelled::Handled => return None,
        cancelled::Cancelled::At(location, cancel) => {
            let message = format!(
                "`{cancel}` does not end `{what}`: its loop stays in `{calls}`, which takes no context"
            );
            let mut finding = look.cx.package.finding(location, "ends nothing there", message);
            finding.labels.push(Label {
                location: started,
                role: Role::Started,
                message: format!("`{what}` runs from here on"),
            });
            finding
        }
        cancelled::Cancelled::Unknown => {
            let end = function.text(context);
            let message = format!(
                "`{end}` does not end `{what}`: its loop stays in `{calls}`, which takes no context"
            );
            look.cx.package.finding(started, "does not end", message)
        }
    };
    finding.why = why(&stay);
    finding.help = help(&stay, &function.text(context));
    finding.defect = started;
    Some(finding)
}

/// The function of a dependency that a call runs with a context or stop channel, if it gives nothing
/// but an error.
fn runs_with_context(look: Look<'_, '_>, function: &Function<'_>, call: ExprId) -> Option<FuncId> {
    let Callee::Func(callee) = *function.info.callee(call) else { return None };
    let index = look.cx.index();
    let package = callee.package;
    if !look.below.is_dependency(package) || stay::is_standard(look, package) {
        return None;
    }
    let Type::Func(signature) = index.func_type(callee) else { return None };
    let ends = signature.params.iter().any(|param| turns::is_end(index, param));
    let runs = match &signature.results[..] {
        [] => true,
        [only] => only.is_error(),
        _ => false,
    };
    (ends && runs).then_some(callee)
}

fn argument(function: &Function<'_>, call: ExprId, param: u32) -> Option<ExprId> {
    function.args(call).get(param as usize).copied()
}

fn why(stay: &Stay) -> String {
    let waits = &stay.waits;
    match &stay.enders[..] {
        [] => format!("{waits}, and looks at no context meanwhile"),
        enders => format!(
            "{waits} until there is something, or until `{}`, which is called by nobody but the \
             code behind the loop: that is never reached, and the goroutine stays",
            enders[0]
        ),
    }
}

fn help(stay: &Stay, end: &str) -> String {
    match stay.enders.first() {
        Some(ender) => format!(
            "call `{ender}` when `{end}` ends, from where nothing waits for the loop: \
             `context.AfterFunc`, or a goroutine of its own"
        ),
        None => format!("give the wait a way out that `{end}` takes"),
    }
}

/// The parameter that a place is.
fn parameter(root: Root) -> Option<u32> {
    match root {
        Root::Param(param) => Some(param),
        _ => None,
    }
}
