//! A lock that a function takes again and again until it is told to end, where those who import the package run it.
//!
//! Nobody in the package says that it runs as a goroutine of its own. But a lock that is taken in a loop
//! is taken while whoever ends that loop may hold it; one that is taken once, at the start, is not.

use crate::flow::{Cfg, Step, StepId};
use crate::index::{Callee, FuncId};
use crate::rules::FunctionCx;
use crate::rules::evidence::under_lock::{Wanted, taken_at};
use crate::rules::scene::Scene;
use crate::source::Location;

/// Whether only those who import the package can call a function.
pub(super) fn is_for_others(cx: &FunctionCx<'_>) -> bool {
    cx.declared().name.is_exported() && cx.package.named_outside_tests(cx.func).is_empty()
}

/// Where a function takes a lock in each turn of a loop on its way to a step, or before what it defers there.
pub(super) fn locked_before(
    scene: &Scene<'_>,
    cfg: &Cfg,
    end: StepId,
    wanted: &Wanted<'_>,
) -> Option<Location> {
    let deferred = matches!(cfg.step(end), Step::Defer(_));
    cfg.steps().find_map(|step| {
        let before = if deferred { cfg.reaches(end, step) } else { cfg.reaches(step, end) };
        before.then(|| in_turn(scene, cfg, step, wanted)).flatten()
    })
}

/// Where a function takes a lock on a way to a step.
pub(super) fn locked_first(
    scene: &Scene<'_>,
    cfg: &Cfg,
    end: StepId,
    wanted: &Wanted<'_>,
) -> Option<Location> {
    let mut before = cfg.steps().filter(|&step| cfg.reaches(step, end));
    before.find_map(|step| taken_at(scene, cfg.step(step), wanted))
}

/// Where a step takes the lock if that is in a loop, of its function or of one that it calls.
fn in_turn(scene: &Scene<'_>, cfg: &Cfg, step: StepId, wanted: &Wanted<'_>) -> Option<Location> {
    if cfg.reaches(step, step) {
        return taken_at(scene, cfg.step(step), wanted);
    }
    let Step::Call(call) = cfg.step(step) else { return None };
    let Callee::Func(func) = *scene.info.callee(call) else { return None };
    let called = called(scene, func, wanted)?;
    let cfg = called.graph(None)?;
    let inner = Wanted { depth: wanted.depth - 1, ..*wanted };
    cfg.steps().find_map(|step| in_turn(&called, &cfg, step, &inner))
}

fn called<'a>(scene: &Scene<'a>, func: FuncId, wanted: &Wanted<'_>) -> Option<Scene<'a>> {
    let followed = wanted.depth > 0
        && func.package == scene.cx.func.package
        && func != scene.cx.func
        && !(wanted.apart)(func);
    followed.then(|| Scene::new(FunctionCx { func, ..scene.cx })).flatten()
}
