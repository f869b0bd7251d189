//! A semaphore of which places are taken, and that nobody gives one back.
//!
//! Evidence: it is a field that is not exported; and all that the package ever does with it is to make it by
//! `semaphore.NewWeighted`, and to call `Acquire` or `TryAcquire`. Once all places are taken `Acquire` waits until
//! its context ends (<https://pkg.go.dev/golang.org/x/sync/semaphore#Weighted.Acquire>).

use rustc_hash::FxHashSet;

use crate::diagnostic::Finding;
use crate::index::Selection;
use crate::rules::PackageCx;
use crate::rules::evidence::never_done::{field_of, may_select};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::{Scene, counts_where, outside_tests};
use crate::rules::unended::is_in_variables;
use crate::source::Location;
use crate::syntax::{ExprId, Node, StmtKind};

/// Reports where places are taken of the semaphores of the package that never get one back.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !counts_where(package, &[".Acquire("]) {
        return;
    }
    let mut seen: FxHashSet<Location> = FxHashSet::default();
    for scene in outside_tests(package, &[".Acquire("]).filter_map(Scene::new) {
        for &node in scene.nodes.iter() {
            let Some(semaphore) = taken_from(&scene, node) else { continue };
            let Some((field, location)) = field_of(&scene, semaphore) else { continue };
            if seen.insert(location) && is_only_taken_from(package, field, location) {
                findings.push(tell(&scene, node, semaphore));
            }
        }
    }
}

/// The semaphore that a call takes places of, and waits for them.
fn taken_from(scene: &Scene<'_>, node: Node) -> Option<ExprId> {
    let Node::Expr(call) = node else { return None };
    let (base, name) = scene.method_call(call)?;
    let ty = scene.info.type_of(base).strip_pointer();
    let is_it = ty.is_named("golang.org/x/sync/semaphore", "Weighted");
    (is_it && name.name.as_str() == "Acquire").then(|| scene.file.unparen(base))
}

/// Whether all that the package does with a field is to make a semaphore for it and to take places.
fn is_only_taken_from(package: &PackageCx<'_>, field: &Selection, location: Location) -> bool {
    let of_package = package.index.package(package.package);
    if !of_package.holds(location.file) || is_in_variables(of_package, field.name) {
        return false;
    }
    let takes_or_makes = |scene: &Scene<'_>, node: Node| {
        let Node::Expr(expr) = node else { return true };
        let given = scene.file.field_of(expr, &|name| name == field.name.as_str());
        given.is_none_or(|value| is_new(scene, value))
            && (!may_select(scene, expr, field) || is_taken(scene, expr) || is_made(scene, expr))
    };
    outside_tests(package, &[field.name.as_str()])
        .filter_map(Scene::new)
        .all(|scene| scene.nodes.iter().all(|&node| takes_or_makes(&scene, node)))
}

/// Whether places are taken where a semaphore is named.
fn is_taken(scene: &Scene<'_>, semaphore: ExprId) -> bool {
    let Some(Node::Expr(selector)) = scene.parent(Node::Expr(semaphore)) else { return false };
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(selector)) else { return false };
    scene.method_call(call).is_some_and(|(base, name)| {
        scene.file.unparen(base) == semaphore
            && matches!(name.name.as_str(), "Acquire" | "TryAcquire")
    })
}

/// Whether a field is given a new semaphore where it is named.
fn is_made(scene: &Scene<'_>, field: ExprId) -> bool {
    let Some(Node::Stmt(stmt)) = scene.parent(Node::Expr(field)) else { return false };
    let StmtKind::Assign { left, op: None, right } = &scene.file.stmt(stmt).kind else {
        return false;
    };
    let at = left.iter().position(|&target| scene.file.unparen(target) == field);
    at.and_then(|at| right.get(at)).is_some_and(|&value| is_new(scene, value))
}

/// Whether a value is a new semaphore.
fn is_new(scene: &Scene<'_>, value: ExprId) -> bool {
    let called = scene.info.callee(scene.file.unparen(value)).qualified(scene.cx.index());
    called.is_some_and(|name| name.receiver.is_none() && name.name.as_str() == "NewWeighted")
}

fn tell(scene: &Scene<'_>, take: Node, semaphore: ExprId) -> Finding {
    let name = scene.text(semaphore);
    let message = format!(
        "places of `{name}` are taken here, and nobody ever gives one back: once all are taken, this waits until \
         its context ends"
    );
    let span = first_line(scene, scene.span(take));
    let mut finding = scene.cx.finding(span, "stays taken", message);
    finding.confidence = confidence(scene);
    finding.why = format!("nobody calls `Release` on `{name}`");
    finding.help = format!("`defer {name}.Release(...)` right after it was acquired");
    finding
}
