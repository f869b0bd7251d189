//! An arm that stops the ticker of the only other arm, and goes round again: nothing comes any more.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::Step;
use crate::rules::FunctionCx;
use crate::rules::done_arm_does_not_leave::{base_variable, others_leave, round, touches};
use crate::rules::endable::ticker_of;
use crate::rules::scene::serves_tests;
use crate::summary::{At, Function};
use crate::syntax::{CommClause, ExprId};

/// The arm of a `select` that goes on without its ticker.
pub(super) fn check(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    select: At,
    clauses: &[CommClause],
) -> Option<Finding> {
    let [one, other] = clauses else { return None };
    of_arm(cx, function, select, one, other).or_else(|| of_arm(cx, function, select, other, one))
}

fn of_arm(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    select: At,
    stops: &CommClause,
    ticks: &CommClause,
) -> Option<Finding> {
    let file = function.file;
    let ticker = ticker(function, ticks)?;
    let learns = Step::Comm(stops.comm?).received_from(file)?;
    let cfg = &function.body(select.body).cfg;
    let arm = cfg.step_of_stmt(stops.comm?)?;
    let (comes_back, leaves, steps) = round(function, select, arm)?;
    if !comes_back || leaves || serves_tests(cx.index(), cx.func) {
        return None;
    }
    let at = |step| At { body: select.body, step };
    let name = function.text(ticker);
    let call = steps.iter().find_map(|&step| {
        let Step::Call(call) = function.step(at(step)) else { return None };
        (function.text(call) == format!("{name}.Stop()")).then_some(call)
    })?;
    // Who gives the ticker a new period, or the variable another ticker, goes on with it.
    let goes_on = |step: &_| match function.step(at(*step)) {
        Step::Call(other) => other != call && function.text(other).starts_with(name.as_str()),
        _ => false,
    };
    let rest: Vec<_> = steps.iter().filter(|&&step| !stops_at(function, at(step), call)).collect();
    let variables: Vec<_> = base_variable(function, ticker).into_iter().collect();
    let ends = rest.iter().any(|&&step| touches(function, select, step, &variables));
    if ends || steps.iter().any(goes_on) || others_leave(function, select, arm) {
        return None;
    }
    let text = function.text(learns);
    let message = format!(
        "this arm stops `{name}` and goes round again: from then on nothing but `{text}` can come, and the loop never ends"
    );
    let mut finding = cx.finding(file.expr(learns).span, "does not leave the loop", message);
    finding.confidence = Confidence::Medium;
    finding.labels.push(Label {
        location: cx.location(file.expr(call).span),
        role: Role::Left,
        message: format!("`{name}` ticks no more: `Stop` does not close its channel"),
    });
    finding.why = format!("no arm of the loop leaves it, and `{name}` was all that it worked for");
    finding.help = "`return` here, or give the loop a label and `break` to it".to_owned();
    finding.defect = cx.location(function.step(select).span(file));
    Some(finding)
}

fn stops_at(function: &Function<'_>, at: At, call: ExprId) -> bool {
    matches!(function.step(at), Step::Call(other) if other == call)
}

/// The ticker whose channel a clause receives from.
fn ticker(function: &Function<'_>, clause: &CommClause) -> Option<ExprId> {
    let file = function.file;
    let channel = Step::Comm(clause.comm?).received_from(file)?;
    ticker_of(file, &function.info, channel)
}
