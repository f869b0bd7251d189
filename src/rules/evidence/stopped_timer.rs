//! A goroutine that waits for a timer which somebody else stops: nothing is sent then, and nobody closes the
//! channel (<https://pkg.go.dev/time#Timer.Stop>).
//!
//! Evidence: the goroutine receives from the timer and from nothing else; the timer is a field, or is one where
//! the goroutine is started; another function calls `Stop` on that field, and none of the package calls `Reset`.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::LocalKind;
use crate::rules::PackageCx;
use crate::rules::evidence::counts_itself::starts_of;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::{Scene, counts_where, outside_tests};
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, UnaryOp};

/// Reports the goroutines that wait for timers which are stopped.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !counts_where(package, &[".C"]) {
        return;
    }
    for scene in outside_tests(package, &[".C"]).filter_map(Scene::new) {
        for &node in scene.nodes.iter() {
            if let Some((timer, field)) = awaited(&scene, node)
                && let Some((name, stop)) = stopped(package, &scene, field)
            {
                findings.push(tell(&scene, node, &scene.text(timer), name, stop));
            }
        }
    }
}

/// The timer that a receive waits for with nothing beside.
pub(super) fn received_from(scene: &Scene<'_>, node: Node) -> Option<ExprId> {
    let Node::Expr(receive) = node else { return None };
    let ExprKind::Unary { op: UnaryOp::Recv, operand } = scene.file.expr(receive).kind else {
        return None;
    };
    let (base, name) = scene.selector(operand)?;
    let is_timer = scene.info.type_of(base).strip_pointer().is_named("time", "Timer");
    (is_timer && name.name.as_str() == "C" && !scene.is_arm(receive)).then_some(base)
}

/// The timer that a goroutine waits for with nothing beside, and the field that has it.
fn awaited(scene: &Scene<'_>, node: Node) -> Option<(ExprId, Location)> {
    let base = received_from(scene, node)?;
    match scene.literal_around(node) {
        Some(literal) => {
            scene.go_around(literal)?;
            Some((base, scene.field(base)?))
        }
        None => {
            let starts = starts_of(scene)?;
            let own = scene.field(base);
            let given = || {
                let LocalKind::Param(place) = scene.info.local(scene.local(base)?).kind else {
                    return None;
                };
                let (starter, start) = starts.first()?;
                let StmtKind::Go(call) = starter.file.stmt(*start).kind else { return None };
                let args = starter.args(starter.file.unparen(call));
                starter.field(*args.get(place as usize)?)
            };
            Some((base, own.or_else(given)?))
        }
    }
}

/// Who stops a timer that a field has, and where, unless somebody sets it anew.
fn stopped(
    package: &PackageCx<'_>,
    waiter: &Scene<'_>,
    wanted: Location,
) -> Option<(&'static str, Location)> {
    let mut stop = None;
    for scene in outside_tests(package, &[".Stop()", ".Reset("]).filter_map(Scene::new) {
        for &node in scene.nodes.iter() {
            let Node::Expr(call) = node else { continue };
            let Some((base, name)) = scene.method_call(call) else { continue };
            if scene.field(base) != Some(wanted) {
                continue;
            }
            match name.name.as_str() {
                "Reset" => return None,
                "Stop" if scene.cx.func != waiter.cx.func => {
                    let location = scene.cx.location(scene.span(node));
                    stop = stop.or(Some((scene.name.name.as_str(), location)));
                }
                _ => {}
            }
        }
    }
    stop
}

fn tell(scene: &Scene<'_>, receive: Node, timer: &str, who: &str, stop: Location) -> Finding {
    let message = format!(
        "this goroutine waits for ever once `{who}` has stopped `{timer}`: `Stop` does not close its channel"
    );
    let span = first_line(scene, scene.span(receive));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: stop,
        role: Role::Left,
        message: "stopped here".to_owned(),
    });
    finding.why = "a timer that is stopped sends nothing any more".to_owned();
    finding.help =
        "`time.AfterFunc`, which needs no goroutine; or receive in a `select` with a channel \
                    that is closed where the timer is stopped"
            .to_owned();
    finding
}
