//! An arm for a timer that fires once and goes round again, where the same wait ends with its timer
//! elsewhere in the function.

use crate::catalog::Op;
use crate::diagnostic::{Confidence, Finding, Label, Role, Severity};
use crate::flow::Step;
use crate::index::Def;
use crate::rules::FunctionCx;
use crate::rules::done_arm_does_not_leave::{round, touches};
use crate::rules::scene::serves_tests;
use crate::summary::{At, Function, Place, Root};
use crate::syntax::{CommClause, ExprId, ExprKind, StmtKind};

/// A `select` with an arm for a timer that is made before its loop.
struct Bounded {
    select: At,
    /// The timer, as the arm receives from it.
    timer: ExprId,
    /// The other channels that are received from.
    others: Vec<Place>,
    /// Whether the arm leaves.
    leaves: bool,
}

/// The arms of a function that forget their timer.
pub(super) fn check(cx: &FunctionCx<'_>, function: &Function<'_>) -> Vec<Finding> {
    if serves_tests(cx.index(), cx.func) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for body in function.bodies() {
        for step in function.body(body).cfg.steps() {
            let Step::Select(stmt) = function.body(body).cfg.step(step) else { continue };
            let StmtKind::Select(clauses) = &function.file.stmt(stmt).kind else { continue };
            let of_clause = |clause| bounded(cx, function, At { body, step }, clauses, clause);
            found.extend(clauses.iter().filter_map(of_clause));
        }
    }
    let ends = |arm: &Bounded| found.iter().any(|other| other.leaves && other.select == arm.select);
    let told = |arm: &&Bounded| !arm.leaves && !ends(arm);
    found.iter().filter(told).filter_map(|arm| finding(cx, function, arm, &found)).collect()
}

fn bounded(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    select: At,
    clauses: &[CommClause],
    clause: &CommClause,
) -> Option<Bounded> {
    let file = function.file;
    let cfg = &function.body(select.body).cfg;
    let comm = clause.comm?;
    let timer = file.unparen(Step::Comm(comm).received_from(file)?);
    let ExprKind::Ident(_) = file.expr(timer).kind else { return None };
    let Def::Local(local) = *function.info.resolve(timer) else { return None };
    let places = function.places(select, timer);
    let Root::Call(made, 0) = places.only()?.root else { return None };
    let once = cx.is_op(function, made, Op::After);
    let made = function.at_call(made)?;
    let before = made.body == select.body && !cfg.reaches(select.step, made.step);
    if !once || !before || !cfg.reaches(select.step, select.step) {
        return None;
    }
    let arm = cfg.step_of_stmt(comm)?;
    let (comes_back, leaves, steps) = round(function, select, arm)?;
    if steps.iter().any(|&step| touches(function, select, step, &[local])) {
        return None;
    }
    let received = clauses.iter().filter_map(|other| other.comm).filter(|&other| other != comm);
    let channels: Vec<ExprId> =
        received.filter_map(|other| Step::Comm(other).received_from(file)).collect();
    // `<-ctx.Done()` and the like end the wait too.
    let is_call =
        |&channel: &ExprId| matches!(file.expr(file.unparen(channel)).kind, ExprKind::Call { .. });
    if channels.iter().any(is_call) {
        return None;
    }
    let place = |channel: ExprId| function.places(select, channel).only().cloned();
    let others = channels.into_iter().filter_map(place);
    (comes_back != leaves).then(|| Bounded { select, timer, others: others.collect(), leaves })
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    arm: &Bounded,
    all: &[Bounded],
) -> Option<Finding> {
    let same = |other: &&Bounded| {
        other.leaves && other.others.iter().any(|place| arm.others.contains(place))
    };
    let elsewhere = all.iter().find(same)?;
    let text = function.text(arm.timer);
    let span = function.file.expr(arm.timer).span;
    let message = format!(
        "`{text}` fires once, and this arm goes round again: from then on nothing ends the wait"
    );
    let mut finding = cx.finding(span, "does not leave the loop", message);
    finding.confidence = Confidence::Medium;
    finding.severity = Severity::Warning;
    finding.labels.push(Label {
        location: cx.location(function.file.expr(elsewhere.timer).span),
        role: Role::Context,
        message: format!("here `{}` ends the same wait", function.text(elsewhere.timer)),
    });
    finding.why = format!(
        "the timer of `{text}` is made before the loop, and its channel gives one value: the bound \
         that it puts on the wait is gone with it"
    );
    finding.help = "`return` here, or give the loop a label and `break` to it".to_owned();
    finding.defect = cx.location(function.step(arm.select).span(function.file));
    Some(finding)
}
