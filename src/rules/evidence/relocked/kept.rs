//! A lock that the function takes again before it, or what it has deferred, gives it back.
//!
//! Evidence: a function holds a lock of `sync` where it defers to give that back, and a path leads from
//! there to a step of the same body that takes it again, past none that may give it back in turn. What
//! is deferred runs when the function returns, not at the end of a turn or a block. Or it holds the lock on
//! every way to where it takes it again.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{PathEnd, Start, StepId};
use crate::index::{Callee, LocalId};
use crate::rules::conditions::{Conditions, Way, condition};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{
    Locks, MAX_CALLS, Object, Taken, gives_back, held_at, held_by, locked, object, unlocked,
};
use crate::rules::evidence::relocked::first::base_of;
use crate::rules::evidence::relocked::moved::leads_elsewhere;
use crate::rules::evidence::relocked::waits;
use crate::rules::evidence::runners::Runners;
use crate::rules::evidence::{confidence_of_own, first_line};
use crate::rules::scene::Scene;
use crate::summary::{At, Function};
use crate::syntax::{ExprId, Node};

pub(super) const WHY: &str =
    "a lock does not know who holds it: the same goroutine waits for itself";

/// Reports the locks that the function takes again.
pub(super) fn check(
    scene: &Scene<'_>,
    locks: &Locks,
    runners: &Runners<'_, '_>,
    findings: &mut Vec<Finding>,
) {
    let own = locks.taken.get(&scene.cx.func).map_or(&[][..], Vec::as_slice);
    if own.is_empty() {
        return;
    }
    for &node in scene.nodes.iter() {
        let Node::Expr(unlock) = node else { continue };
        if let Some(wanted) = unlocked(scene, unlock).filter(|_| scene.is_deferred(unlock)) {
            let known = (locks, runners);
            findings.extend(check_deferred(scene, known, own, unlock, wanted));
        }
    }
    let is_taken_twice =
        |again: &Taken| own.iter().filter(|other| other.object == again.object).count() > 1;
    let twice = own.iter().filter(|again| is_taken_twice(again));
    findings.extend(twice.filter_map(|again| check_taken(scene, (locks, runners), again)));
}

/// A lock that is held on every way to where it is taken once more, by the same name.
fn check_taken(
    scene: &Scene<'_>,
    (locks, runners): (&Locks, &Runners<'_, '_>),
    again: &Taken,
) -> Option<Finding> {
    let base = base_of(scene, again)?;
    let text = scene.text(base);
    let same = |held: &&Taken| {
        held.object == again.object
            && held.call != again.call
            && base_of(scene, held).is_some_and(|base| scene.text(base) == text)
            && waits(locks, runners, held, again)
    };
    let held = held_by(scene, locks, again.call);
    let held = held.iter().find(same)?;
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let function = &read.function;
    let body = function.body_of(again.literal)?;
    let cfg = &function.body(body).cfg;
    let (from, to) = cfg.step_of_expr(held.call).zip(cfg.step_of_expr(again.call))?;
    let between = |step: StepId| cfg.reaches(from, step) && cfg.reaches(step, to);
    let variable = root_variable(scene, base)?;
    let is_other = |step: StepId| {
        let at = At { body, step };
        settles(scene, locks, function, at, variable, held)
            || function.step(at).call(function.file).is_some_and(|call| {
                // Then the goroutine stays there already.
                matches!(scene.info.callee(call), Callee::Func(func)
                    if locks.takes(&scene.cx.package, *func, held, MAX_CALLS).is_some())
            })
    };
    if cfg.steps().any(|step| between(step) && is_other(step))
        || leads_elsewhere(scene, locks, base, (held.call, again.call))
    {
        return None;
    }
    let mut finding = locked_again(scene, held, again, "");
    finding.help = "lock it once, or give it back before".to_owned();
    Some(finding)
}

fn check_deferred(
    scene: &Scene<'_>,
    (locks, runners): (&Locks, &Runners<'_, '_>),
    own: &[Taken],
    unlock: ExprId,
    wanted: Object,
) -> Option<Finding> {
    let (base, _) = scene.method_call(unlock)?;
    let text = scene.text(base);
    let literal = scene.literal_around(Node::Expr(unlock));
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let function = &read.function;
    let body = function.body_of(literal)?;
    let cfg = &function.body(body).cfg;
    let deferred = cfg.step_of_expr(unlock)?;
    let same = |taken: &&Taken| {
        taken.object == wanted
            && taken.literal == literal
            && base_of(scene, taken).is_some_and(|base| scene.text(base) == text)
    };
    let held = held_at(scene, locks, literal, cfg, deferred);
    let held = *held.iter().find(same)?;
    let again: Vec<(StepId, Taken)> = own
        .iter()
        .filter(same)
        .filter(|taken| waits(locks, runners, &held, taken))
        .filter_map(|taken| Some((cfg.step_of_expr(taken.call)?, *taken)))
        .collect();
    let variable = root_variable(scene, base)?;
    let settled =
        |step: StepId| settles(scene, locks, function, At { body, step }, variable, &held);
    let conditions = Conditions::new(function, body);
    let is_again = |step: StepId| again.iter().any(|(other, _)| *other == step);
    let mut way = Way { conditions: &conditions, to: &is_again, settled: &settled };
    let known = conditions.known_at(cfg, deferred);
    let path = cfg.search(Start::After(deferred), known, &mut way).into_iter().next()?;
    let PathEnd::Step(end) = path.end else { return None };
    let (_, taken) = again.iter().find(|(step, _)| *step == end)?;
    let last = path.decisions().filter_map(condition).next_back();
    Some(tell(scene, &held, unlock, taken, last))
}

/// Whether a step defines the variable that a lock is reached through anew, or may give the lock back right away.
fn settles(
    scene: &Scene<'_>,
    locks: &Locks,
    function: &Function<'_>,
    at: At,
    variable: Option<LocalId>,
    held: &Taken,
) -> bool {
    variable.is_some_and(|variable| function.defines(at, variable))
        || may_give(scene, locks, function, at, held)
}

/// Whether a step may give back a lock right away.
fn may_give(
    scene: &Scene<'_>,
    locks: &Locks,
    function: &Function<'_>,
    at: At,
    held: &Taken,
) -> bool {
    let Some(call) = function.step(at).call(function.file) else { return false };
    if scene.is_deferred(call) {
        return false;
    }
    let name = match scene.info.callee(call) {
        Callee::Func(func) => Some(scene.cx.index().func(*func).name),
        Callee::Builtin(_) | Callee::Conversion(_) => None,
        _ => scene.method_call(call).map(|(_, name)| name.name),
    };
    // Whose name speaks of unlocking, and does not of another lock, may unlock this one.
    let says_so = name.is_some_and(|name| name.as_str().to_ascii_lowercase().contains("unlock"))
        && scene.method_call(call).is_none_or(|(base, _)| object(scene, base).is_none());
    gives_back(scene, call, held.object)
        || locks.given_by_callee(scene, call, held.object)
        || says_so
}

fn tell(
    scene: &Scene<'_>,
    held: &Taken,
    unlock: ExprId,
    again: &Taken,
    last: Option<ExprId>,
) -> Finding {
    let cx = &scene.cx;
    let how = ": the deferred unlock runs when that returns";
    let mut finding = locked_again(scene, held, again, how);
    let deferred = cx.location(scene.span(Node::Expr(unlock)));
    finding.defect = deferred;
    let mut label = |location, role, message: &str| {
        finding.labels.push(Label { location, role, message: message.to_owned() });
    };
    label(deferred, Role::Context, "given back when the function returns");
    if let Some(condition) = last {
        let span = first_line(scene, scene.span(Node::Expr(condition)));
        label(cx.location(span), Role::Condition, "decided here");
    }
    finding.help =
        "unlock without `defer` before it goes on, or move what needs the lock to a function of its own"
            .to_owned();
    finding
}

/// A lock that is taken where the function holds it; `how` says how that comes about.
fn locked_again(scene: &Scene<'_>, held: &Taken, again: &Taken, how: &str) -> Finding {
    let name = locked(scene, held);
    let message = format!("`{name}` is locked here while `{}` holds it{how}", scene.name.name);
    let at = scene.span(Node::Expr(again.call));
    let mut finding = scene.cx.finding(first_line(scene, at), "waits for itself", message);
    finding.confidence = confidence_of_own(scene);
    finding.labels.push(Label {
        location: held.location,
        role: Role::Context,
        message: format!("`{name}` is locked here"),
    });
    finding.why = WHY.to_owned();
    finding
}
