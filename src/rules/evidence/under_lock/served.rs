//! Servers that serve under a lock which those take who would end them.

use crate::catalog::Starter;
use crate::diagnostic::Finding;
use crate::rules::PackageCx;
use crate::rules::evidence::first_line;
use crate::rules::evidence::locks::{Locks, held_by};
use crate::rules::evidence::under_lock::{BEFORE, Other, tell};
use crate::rules::scene::{Scene, outside_tests};
use crate::source::Location;
use crate::summary::facts;
use crate::syntax::{ExprId, ExprKind, Node};

/// Reports the calls that last until another method of the same field is called, under a lock that all who
/// call that take before.
pub(super) fn check(
    package: &PackageCx<'_>,
    scenes: &[Scene<'_>],
    locks: &Locks,
    findings: &mut Vec<Finding>,
) {
    for scene in scenes {
        for &node in scene.nodes.iter() {
            let Node::Expr(call) = node else { continue };
            let Some((starter, server)) = serves(scene, call) else { continue };
            let locked = held_by(scene, locks, call);
            if locked.is_empty() {
                continue;
            }
            let methods: Vec<&str> = starter.ended_by.iter().map(|method| &**method).collect();
            let others: Vec<Scene<'_>> =
                outside_tests(package, &methods).filter_map(Scene::new).collect();
            let enders: Vec<(&Scene<'_>, ExprId)> =
                others.iter().flat_map(|scene| ends(scene, starter, server)).collect();
            for lock in locked {
                let needs = enders.iter().map(|&(scene, call)| {
                    let own = held_by(scene, locks, call).into_iter();
                    let mut own = own.filter(|own| own.object == lock.object);
                    let needs = own.find(|own| !(own.reads && lock.reads))?;
                    Some((scene.name.name, needs.location))
                });
                let all: Option<Vec<_>> = needs.collect();
                if let Some(&(who, needs)) = all.as_ref().and_then(|all| all.first()) {
                    let span = first_line(scene, scene.span(node));
                    let what = format!("`{}`", scene.text(call));
                    let who = format!("`{who}`, which would end it,");
                    let other = Other { who: &who, when: BEFORE, needs };
                    findings.push(tell(scene, scene, span, &lock, &what, &other));
                    break;
                }
            }
        }
    }
}

/// What is known of a call that lasts as long as what a field has serves, and the field.
fn serves<'a>(scene: &Scene<'a>, call: ExprId) -> Option<(&'a Starter, Location)> {
    let ExprKind::Call { .. } = scene.file.expr(call).kind else { return None };
    let known = facts(scene.cx.catalog(), scene.cx.index(), scene.info.callee(call));
    let starter = known.in_force::<Starter>(scene.cx.versions())?;
    let (base, _) = scene.method_call(call)?;
    (starter.waits && !starter.ended_by.is_empty()).then_some((starter, scene.field(base)?))
}

/// The calls of a function that end what a field has.
fn ends<'s, 'a>(
    scene: &'s Scene<'a>,
    starter: &'s Starter,
    server: Location,
) -> impl Iterator<Item = (&'s Scene<'a>, ExprId)> {
    scene.nodes.iter().filter_map(move |&node| {
        let Node::Expr(call) = node else { return None };
        let (base, name) = scene.method_call(call)?;
        let ends = starter.ended_by.iter().any(|method| **method == *name.name.as_str());
        (ends && scene.field(base) == Some(server)).then_some((scene, call))
    })
}
