//! Timers of a `select` in a loop that begin anew before they can fire: each turn makes another one, and what
//! comes first ends the turn. So the case that waits for it is never taken, in any version of Go.

use crate::catalog::Op;
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{EdgeKind, Step};
use crate::index::{Def, LocalId};
use crate::rules::FunctionCx;
use crate::rules::timer_not_stopped::remade::{arm, comes_to, wait};
use crate::source::Span;
use crate::summary::{At, Function, Source};
use crate::syntax::{CommClause, ExprId, ExprKind, StmtKind};

/// What ends each turn before the timer does.
struct Sooner {
    /// The case, on one line.
    told: String,
    span: Span,
}

/// The timers of a function that never fire, by the calls that make them.
pub(super) fn check(cx: &FunctionCx<'_>, function: &Function<'_>) -> Vec<(ExprId, Finding)> {
    let after = function.calls().filter(|&(at, call)| {
        cx.is_op(function, call, Op::After)
            && function.body(at.body).cfg.reaches(at.step, at.step)
            && wait(function, call).is_none_or(|time| time > 0)
    });
    after.filter_map(|(at, call)| Some((call, finding(cx, function, at, call)?))).collect()
}

fn finding(cx: &FunctionCx<'_>, function: &Function<'_>, at: At, call: ExprId) -> Option<Finding> {
    let file = function.file;
    let cfg = &function.body(at.body).cfg;
    let (select, own) = arm(cx, function, call)?;
    let StmtKind::Select(clauses) = &file.stmt(select).kind else { return None };
    let entered = cfg.step_of_stmt(select)?;
    let goes_round = |index: u32| {
        cfg.edges_of(cfg.block_of(entered)).iter().any(|edge| {
            matches!(edge.kind, EdgeKind::Arm(_, arm) if arm == index)
                && comes_to(cfg, edge.to, at.step)
        })
    };
    let sooner = (0..).zip(clauses).find_map(|(index, clause)| {
        let sooner = (index != own).then(|| sooner(cx, function, call, clause))??;
        goes_round(index).then_some(sooner)
    })?;
    let made = function.text(call);
    let message = format!("`{made}` never fires: {}", sooner.told);
    let mut finding = cx.finding(file.expr(call).span, "begins anew with each turn", message);
    finding.labels.push(Label {
        location: cx.location(sooner.span),
        role: Role::Left,
        message: "comes first, and the next turn makes another timer".to_owned(),
    });
    finding.why = "a `select` evaluates its channels anew each time that it is reached, and nobody waits for \
                   the timer of the turn before"
        .to_owned();
    finding.help = format!("make the timer once, before the loop: `timeout := {made}`");
    finding.defect = cx.location(file.expr(call).span);
    Some(finding)
}

/// Whether a case of the `select` is ready before the timer is: it is the `default`, or a ticker's that ticks more
/// often.
fn sooner(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    clause: &CommClause,
) -> Option<Sooner> {
    let Some(comm) = clause.comm else {
        let told = "`default` is taken at once".to_owned();
        return Some(Sooner { told, span: Span::new(clause.span.start, clause.span.start + 7) });
    };
    let file = function.file;
    let channel = Step::Comm(comm).received_from(file)?;
    let ExprKind::Selector { base, name } = file.expr(file.unparen(channel)).kind else {
        return None;
    };
    let Def::Local(ticker) = *function.info.resolve(file.unparen(base)) else { return None };
    let Source::Expr(made) = function.only_definition_of(ticker)?.source else { return None };
    let is_ticker = name.name.as_str() == "C" && cx.is_op(function, made, Op::NewTicker);
    if !is_ticker || is_changed(function, ticker) {
        return None;
    }
    let (at, period) = (function.at_call(made)?, wait(function, made)?);
    let made_once = !function.body(at.body).cfg.reaches(at.step, at.step);
    (made_once && period < wait(function, call)?).then(|| Sooner {
        told: format!("`{}` ticks before, with `{}`", function.text(base), function.text(made)),
        span: file.stmt(comm).span,
    })
}

/// Whether a ticker is stopped, or given another period, before the function ends.
fn is_changed(function: &Function<'_>, ticker: LocalId) -> bool {
    let file = function.file;
    function.calls().any(|(at, call)| {
        let Some((base, name)) = file.method_call(call) else { return false };
        let is_it =
            matches!(function.info.resolve(file.unparen(base)), Def::Local(it) if *it == ticker);
        let deferred = matches!(function.step(at), Step::Defer(_));
        is_it && !deferred && matches!(name.name.as_str(), "Stop" | "Reset")
    })
}
