//! A condition variable that is waited for, and that nobody signals.
//!
//! Evidence: it is a field that is not exported; and all that the package ever does with it is to make it by
//! `sync.NewCond`, to use its lock, and to wait. Whoever waits stays for ever: `Wait` does not return for any other
//! reason (<https://pkg.go.dev/sync#Cond.Wait>).

use rustc_hash::FxHashSet;

use crate::diagnostic::Finding;
use crate::index::Selection;
use crate::rules::PackageCx;
use crate::rules::evidence::never_done::{field_of, may_select};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::{Scene, counts_where, outside_tests};
use crate::rules::unended::is_in_variables;
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Reports the waits for conditions that nobody signals.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !counts_where(package, &[".Wait()"]) || outside_tests(package, &["NewCond"]).next().is_none()
    {
        return;
    }
    each_awaited(package, |scene, wait, (field, location)| {
        if is_only_awaited(package, field, location) {
            findings.extend(awaited(scene, wait).map(|cond| tell(scene, wait, cond)));
        }
    });
}

/// Visits the condition variables of a package that somebody waits for and that are fields which are not exported,
/// each at one of its waits.
pub(super) fn each_awaited(
    package: &PackageCx<'_>,
    mut visit: impl FnMut(&Scene<'_>, Node, (&Selection, Location)),
) {
    let mut seen: FxHashSet<Location> = FxHashSet::default();
    for scene in outside_tests(package, &[".Wait()"]).filter_map(Scene::new) {
        for &node in scene.nodes.iter() {
            let field = awaited(&scene, node).and_then(|cond| field_of(&scene, cond));
            if let Some(field) = field.filter(|(_, location)| seen.insert(*location)) {
                visit(&scene, node, field);
            }
        }
    }
}

/// The condition variable that a call of `Wait` waits for.
fn awaited(scene: &Scene<'_>, node: Node) -> Option<ExprId> {
    let Node::Expr(call) = node else { return None };
    let (base, name) = scene.method_call(call)?;
    let is_cond = scene.info.type_of(base).strip_pointer().is_named("sync", "Cond");
    (name.name.as_str() == "Wait" && is_cond).then(|| scene.file.unparen(base))
}

/// Whether the functions of a package make a field, use its lock and wait for it, and do nothing else with it.
fn is_only_awaited(package: &PackageCx<'_>, field: &Selection, location: Location) -> bool {
    let of_package = package.index.package(package.package);
    if !of_package.holds(location.file) || is_in_variables(of_package, field.name) {
        return false;
    }
    outside_tests(package, &[field.name.as_str()]).filter_map(Scene::new).all(|scene| {
        scene.nodes.iter().all(|&node| {
            let Node::Expr(expr) = node else { return true };
            match &scene.file.expr(expr).kind {
                ExprKind::CompositeLit { elements, .. } => elements.iter().all(|element| {
                    let key = element.key.map(|key| &scene.file.expr(key).kind);
                    match key {
                        Some(ExprKind::Ident(key)) if *key == field.name => {
                            is_made(&scene, element.value)
                        }
                        _ => true,
                    }
                }),
                _ => !may_select(&scene, expr, field) || is_harmless(&scene, expr),
            }
        })
    })
}

/// Whether a condition variable is made by `sync.NewCond`.
pub(super) fn is_made(scene: &Scene<'_>, value: ExprId) -> bool {
    let callee = scene.info.callee(scene.file.unparen(value));
    callee
        .qualified(scene.cx.index())
        .is_some_and(|name| name.path.as_str() == "sync" && name.name.as_str() == "NewCond")
}

/// Whether a condition variable is waited for, its lock used, or it is made where it is named.
pub(super) fn is_harmless(scene: &Scene<'_>, cond: ExprId) -> bool {
    match scene.parent(Node::Expr(cond)) {
        Some(Node::Expr(around)) => match scene.file.expr(around).kind {
            ExprKind::Selector { name, .. } => matches!(name.name.as_str(), "L" | "Wait"),
            _ => false,
        },
        Some(Node::Stmt(stmt)) => match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, op: None, right } => {
                let place = left.iter().position(|&target| scene.file.unparen(target) == cond);
                place
                    .and_then(|place| right.get(place))
                    .is_some_and(|&value| left.len() == right.len() && is_made(scene, value))
            }
            _ => false,
        },
        _ => false,
    }
}

fn tell(scene: &Scene<'_>, wait: Node, cond: ExprId) -> Finding {
    let name = scene.text(cond);
    let message = format!("`{name}` is never signalled: nothing in the package wakes who waits");
    let span = first_line(scene, scene.span(wait));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(scene);
    finding.why = format!(
        "the field is not exported, and nobody calls `Signal` or `Broadcast` of `{name}`; `Wait` \
         does not look at its condition by itself"
    );
    finding.help =
        format!("`{name}.Broadcast()` wherever what is waited for changes, with its lock held");
    finding
}
