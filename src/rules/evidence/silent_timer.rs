//! A receive from a timer of `time.AfterFunc`: that calls its function and sends nothing, and its channel is nil
//! (<https://pkg.go.dev/time#AfterFunc>: "The returned Timer's C field is not used and will be nil").
//!
//! Evidence: nothing stands beside the receive; all that is put into the variable or field of the package is what
//! `time.AfterFunc` gives, or nil. A variable that is given or whose address is taken may hold any timer.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{LocalId, LocalKind};
use crate::rules::PackageCx;
use crate::rules::evidence::stopped_timer::received_from;
use crate::rules::evidence::{confidence_of_own, first_line, is_addressed};
use crate::rules::scene::{Scene, counts_where, outside_tests};
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Reports the receives from timers that send nothing.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let makes = &["AfterFunc("];
    if outside_tests(package, makes).next().is_none() || !counts_where(package, &[".C"]) {
        return;
    }
    let makers: Vec<Scene<'_>> = outside_tests(package, makes).filter_map(Scene::new).collect();
    let waiting = outside_tests(package, &[".C"]).filter_map(Scene::new);
    for scene in waiting.filter(|scene| !makes_unset(scene)) {
        for &node in scene.nodes.iter() {
            let Some(timer) = received_from(&scene, node) else { continue };
            let made = match (scene.local(timer), scene.field(timer)) {
                (Some(local), _) => made_for_local(&scene, local),
                (None, Some(field)) if makers.iter().any(|maker| makes_for(maker, field)) => {
                    made_for_field(package, &scene, timer, field)
                }
                _ => None,
            };
            findings.extend(made.map(|made| tell(&scene, node, &scene.text(timer), made)));
        }
    }
}

/// Whether a function makes a timer of which the time never comes: it is to be set later, and `Stop` gives true.
fn makes_unset(scene: &Scene<'_>) -> bool {
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(made) => {
            let after = scene.args(made).first();
            is_silent(scene, made)
                && after.is_some_and(|&after| scene.text(after).contains("MaxInt64"))
        }
        _ => false,
    })
}

/// Whether a value is a timer that sends nothing.
fn is_silent(scene: &Scene<'_>, value: ExprId) -> bool {
    let callee = scene.info.callee(scene.file.unparen(value)).qualified(scene.cx.index());
    callee.is_some_and(|name| name.path.as_str() == "time" && name.name.as_str() == "AfterFunc")
}

/// Where a local variable is given the only kind of timer that it ever has.
fn made_for_local(scene: &Scene<'_>, local: LocalId) -> Option<Location> {
    let kind = scene.info.local(local).kind;
    if matches!(kind, LocalKind::Receiver | LocalKind::Param(_) | LocalKind::Result(_)) {
        return None;
    }
    let mut made = None;
    for &node in scene.nodes.iter() {
        let Some((targets, values)) = scene.assignment(node) else { continue };
        let Some(at) = targets.iter().position(|&target| target == Some(local)) else { continue };
        match values.get(at) {
            Some(&value) if is_silent(scene, value) => {
                made = made.or(Some(scene.cx.location(scene.span(Node::Expr(value)))));
            }
            Some(&value) if scene.is_nil(value) => {}
            None if values.is_empty() => {}
            _ => return None,
        }
    }
    made.filter(|_| !scene.uses(local).any(|usage| is_addressed(scene, usage)))
}

/// Where a field of the package is given the only kind of timer that it ever has.
fn made_for_field(
    package: &PackageCx<'_>,
    scene: &Scene<'_>,
    timer: ExprId,
    field: Location,
) -> Option<Location> {
    let (base, name) = scene.selector(timer)?;
    let owner = scene.info.type_of(base).strip_pointer().declared()?;
    if name.name.is_exported() || owner.package != package.package {
        return None;
    }
    let mut made = None;
    // A function that does not name the field can set it by position only.
    for setter in outside_tests(package, &[name.name.as_str()]).filter_map(Scene::new) {
        for &node in setter.nodes.iter() {
            let values: Vec<ExprId> = match node {
                Node::Stmt(stmt) => match &setter.file.stmt(stmt).kind {
                    StmtKind::Assign { left, right, .. } => {
                        let sides = left.iter().enumerate();
                        let set = sides.filter(|&(_, &left)| setter.field(left) == Some(field));
                        set.map(|(at, _)| right.get(at).copied()).collect::<Option<_>>()?
                    }
                    _ => continue,
                },
                Node::Expr(expr) => match &setter.file.expr(expr).kind {
                    ExprKind::CompositeLit { elements, .. }
                        if setter.info.type_of(expr).declared() == Some(owner) =>
                    {
                        // Keys are all or none: <https://go.dev/ref/spec#Composite_literals>.
                        if elements.iter().any(|element| element.key.is_none()) {
                            return None;
                        }
                        let of_field = |key: ExprId| matches!(setter.file.expr(key).kind, ExprKind::Ident(key) if key == name.name);
                        let set = elements.iter().filter(|it| it.key.is_some_and(of_field));
                        set.map(|element| element.value).collect()
                    }
                    ExprKind::Selector { .. } => {
                        if setter.field(expr) == Some(field) && is_addressed(&setter, expr) {
                            return None;
                        }
                        continue;
                    }
                    _ => continue,
                },
                Node::Decl(_) => continue,
            };
            for value in values {
                if is_silent(&setter, value) {
                    made = made.or(Some(setter.cx.location(setter.span(Node::Expr(value)))));
                } else if !setter.is_nil(value) {
                    return None;
                }
            }
        }
    }
    made
}

/// Whether a function puts such a timer into a field.
fn makes_for(scene: &Scene<'_>, field: Location) -> bool {
    scene.nodes.iter().any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Assign { left, right, .. } = &scene.file.stmt(stmt).kind else {
            return false;
        };
        let mut set = left.iter().zip(right);
        set.any(|(&left, &right)| scene.field(left) == Some(field) && is_silent(scene, right))
    })
}

fn tell(scene: &Scene<'_>, receive: Node, timer: &str, made: Location) -> Finding {
    let message = format!(
        "`{timer}.C` is nil: a timer of `time.AfterFunc` calls its function and sends nothing, so this waits for ever"
    );
    let span = first_line(scene, scene.span(receive));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence_of_own(scene);
    finding.labels.push(Label {
        location: made,
        role: Role::Made,
        message: "the timer is made here".to_owned(),
    });
    finding.why =
        "nothing ever comes on a nil channel; that `Stop` gives false tells that the function was \
                   started, and nothing is left to be drained"
            .to_owned();
    finding.help = "leave the receive out; a channel that the function closes at its end tells when it is over"
        .to_owned();
    finding
}
