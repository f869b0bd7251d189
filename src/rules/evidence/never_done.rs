//! A `WaitGroup` that is counted up and waited for, and that nobody counts down.
//!
//! Evidence: it is a variable of a function, or a field that is not exported, and no pointer; and all that the
//! function, or the package, ever does with it is to call `Add` with a positive constant, and `Wait`. Whoever waits
//! after the first `Add` waits for ever.

use rustc_hash::FxHashSet;

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Constant, Def, LocalKind, Selection};
use crate::rules::PackageCx;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::{Scene, counts_where, outside_tests};
use crate::rules::unended::is_in_variables;
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node};

/// Reports the groups of the package that are never counted down.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !counts_where(package, &[".Wait()"]) || outside_tests(package, &[".Add("]).next().is_none() {
        return;
    }
    let mut seen: FxHashSet<Location> = FxHashSet::default();
    for scene in outside_tests(package, &[".Wait()"]).filter_map(Scene::new) {
        for &node in scene.nodes.iter() {
            let Some(group) = awaited(&scene, node) else { continue };
            if let Some(added) = only_added_here(&scene, group) {
                findings.push(tell(&scene, node, added));
            }
            let Some((field, location)) = field_of(&scene, group) else { continue };
            if seen.insert(location)
                && let Some(added) = only_added(package, field, location)
            {
                findings.push(tell(&scene, node, added));
            }
        }
    }
}

/// The group, and no pointer to one, that a call of `Wait` waits for.
fn awaited(scene: &Scene<'_>, node: Node) -> Option<ExprId> {
    let Node::Expr(call) = node else { return None };
    let (base, name) = scene.method_call(call)?;
    let is_group = scene.info.type_of(base).is_named("sync", "WaitGroup");
    (name.name.as_str() == "Wait" && is_group).then(|| scene.file.unparen(base))
}

/// The field that an expression is, if it is not exported, and where that is declared.
pub(super) fn field_of<'s>(
    scene: &'s Scene<'_>,
    expr: ExprId,
) -> Option<(&'s Selection, Location)> {
    let Def::Field(field) = scene.info.resolve(expr) else { return None };
    field.location.filter(|_| !field.name.is_exported()).map(|location| (&**field, location))
}

/// Where the variable of the function that a group is is counted up, if nothing else is done with it but to wait.
fn only_added_here(scene: &Scene<'_>, group: ExprId) -> Option<Location> {
    let local = scene.local(group)?;
    if scene.info.local(local).kind != LocalKind::Var {
        return None;
    }
    let mut added = None;
    for usage in scene.uses(local) {
        if counted(scene, usage)? {
            added = added.or(Some(scene.cx.location(scene.span(Node::Expr(usage)))));
        }
    }
    added
}

/// Where a field is counted up, if nothing else is done with it but to wait.
fn only_added(package: &PackageCx<'_>, field: &Selection, location: Location) -> Option<Location> {
    let of_package = package.index.package(package.package);
    if !of_package.holds(location.file) || is_in_variables(of_package, field.name) {
        return None;
    }
    let mut added = None;
    for scene in outside_tests(package, &[field.name.as_str()]).filter_map(Scene::new) {
        for &node in scene.nodes.iter() {
            let Node::Expr(expr) = node else { continue };
            if scene.is_key(expr, field.name) {
                return None;
            }
            if may_select(&scene, expr, field) && counted(&scene, expr)? {
                added = added.or(Some(scene.cx.location(scene.span(node))));
            }
        }
    }
    added
}

/// Whether an expression selects a field, or something of its name of which no more is known.
pub(super) fn may_select(scene: &Scene<'_>, expr: ExprId, field: &Selection) -> bool {
    let ExprKind::Selector { name, .. } = scene.file.expr(expr).kind else { return false };
    name.name == field.name
        && match scene.info.resolve(expr) {
            Def::Field(selection) => selection.location == field.location,
            Def::Unknown => true,
            _ => false,
        }
}

/// Whether a group is counted up where it is named, by a constant, or waited for; `None` if anything else is
/// done with it.
fn counted(scene: &Scene<'_>, group: ExprId) -> Option<bool> {
    let Node::Expr(selector) = scene.parent(Node::Expr(group))? else { return None };
    let Node::Expr(call) = scene.parent(Node::Expr(selector))? else { return None };
    let (base, name) = scene.method_call(call)?;
    if scene.file.unparen(base) != group {
        return None;
    }
    match (name.name.as_str(), scene.args(call)) {
        ("Wait", []) => Some(false),
        ("Add", &[delta]) => match scene.info.constant(delta) {
            Some(Constant::Int(delta)) if *delta > 0 => Some(true),
            _ => None,
        },
        _ => None,
    }
}

fn tell(scene: &Scene<'_>, wait: Node, added: Location) -> Finding {
    let name = match wait {
        Node::Expr(call) => scene.method_call(call).map(|(base, _)| scene.text(base)),
        _ => None,
    };
    let name = name.unwrap_or_default();
    let message =
        format!("`{name}` never gets to zero: it is counted up, and nobody ever counts it down");
    let span = first_line(scene, scene.span(wait));
    let mut finding = scene.cx.finding(span, "never returns", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: added,
        role: Role::Context,
        message: "counted up here".to_owned(),
    });
    finding.why = format!("nobody calls `Done` on `{name}`");
    finding.help = "`defer ...Done()` as the first statement of what was counted".to_owned();
    finding
}
