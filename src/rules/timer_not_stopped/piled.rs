//! A timer that each turn of an endless loop makes, and whose `Stop` is deferred: it runs when the function is
//! left, and until then there is one more with each turn.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Step, StepId};
use crate::rules::FunctionCx;
use crate::rules::held::Held;
use crate::rules::scene::is_in_endless_loop;
use crate::summary::Function;
use crate::syntax::Node;

/// Reports the deferred `Stop` of a timer, or ticker, that the next turn makes again.
pub(super) fn check(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    held: &Held<'_>,
) -> Option<Finding> {
    let file = function.file;
    let name = held.name.as_deref()?;
    let cfg = &function.body(held.at.body).cfg;
    let stops = |step: StepId| {
        let call = cfg.step(step).call(file).and_then(|call| file.method_call(call));
        call.is_some_and(|(base, method)| {
            method.name.as_str() == "Stop" && function.text(base) == name
        })
    };
    let deferred = cfg.steps().find(|&step| {
        matches!(cfg.step(step), Step::Defer(_))
            && stops(step)
            && cfg.reaches(held.at.step, step)
            && cfg.reaches_without(step, held.at.step, &stops)
    })?;
    let parents = file.parents(Node::Decl(function.index.func(function.id).decl));
    if !is_in_endless_loop(file, &parents, Node::Expr(held.call)) {
        return None;
    }
    let what = &held.fact.what;
    let message = format!(
        "`{name}` is stopped only when the function returns: each turn of this loop leaves one more {what} behind"
    );
    let span = cfg.step(deferred).span(file);
    let mut finding = cx.finding(span, "waits for the end of the function", message);
    finding.confidence = finding.confidence.min(Confidence::Medium);
    let made = cx.location(held.span(function));
    finding.labels.push(Label {
        location: made,
        role: Role::Made,
        message: "made in every turn, with no condition that ends the loop".to_owned(),
    });
    finding.why =
        "deferred calls run when the function is left, not when a turn of a loop ends".to_owned();
    finding.help =
        format!("make one {what} before the loop, or call `{name}.Stop()` at the end of the turn");
    finding.defect = made;
    Some(finding)
}
