//! A function that asks a goroutine for an answer, and waits for it without a look at the context that
//! its caller has given it for this.
//!
//! Evidence: the function's own parameter is used for nothing, or is only put into a field that
//! nothing in the package reads; and a `select` of it waits for the answer on a channel that it has made,
//! beside something that ends with the whole and no clock. So nobody can tell the wait that this
//! caller has given up.

use super::at_select;
use crate::diagnostic::Finding;
use crate::flow::Step;
use crate::index::{Builtin, Callee, Def, LocalId, LocalKind};
use crate::rules::FunctionCx;
use crate::rules::scene::{Scene, holds_any};
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// Reports the `select` that waits for the answer.
pub(super) fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["select {"]) {
        return;
    }
    let Some(scene) = Scene::new(*cx) else { return };
    let Some(context) = given(&scene).filter(|&context| is_ignored(&scene, context)) else {
        return;
    };
    let select = scene.nodes.iter().find_map(|&node| match node {
        Node::Stmt(stmt) if scene.literal_around(node).is_none() => {
            waits_for_answer(&scene, stmt).map(|answer| (stmt, answer))
        }
        _ => None,
    });
    if let Some((select, answer)) = select {
        findings.push(tell(&scene, context, select, answer));
    }
}

/// The context that the function is given, by a name.
fn given(scene: &Scene<'_>) -> Option<LocalId> {
    let locals = scene.info.locals().iter().zip(0..);
    let mut contexts = locals.filter(|(local, _)| {
        matches!(local.kind, LocalKind::Param(_)) && local.owner.is_none() && local.ty.is_context()
    });
    let (context, number) = contexts.next()?;
    (contexts.next().is_none() && !context.name.is_blank()).then_some(LocalId(number))
}

fn is_ignored(scene: &Scene<'_>, context: LocalId) -> bool {
    scene.uses(context).all(|used| {
        let field = scene.around(Node::Expr(used)).next().and_then(|around| match around {
            Node::Expr(literal) => field_of(scene, literal, used),
            _ => None,
        });
        field.is_some_and(|field| !is_read(scene, field))
    })
}

/// The field that a composite literal gives a value.
fn field_of(scene: &Scene<'_>, literal: ExprId, value: ExprId) -> Option<Location> {
    let ExprKind::CompositeLit { elements, .. } = &scene.file.expr(literal).kind else {
        return None;
    };
    let element = elements.iter().find(|element| element.value == value)?;
    match scene.info.resolve(element.key?) {
        Def::Field(selection) => selection.location,
        _ => None,
    }
}

/// Whether any function of the package selects a field, or the field is not the package's own.
fn is_read(scene: &Scene<'_>, field: Location) -> bool {
    let index = scene.cx.index();
    let package = index.package(scene.cx.func.package);
    let Some(file) = package.file(field.file) else { return true };
    let selected = format!(".{}", file.source.text(field.span));
    let exported = !selected[1..].starts_with(char::is_lowercase);
    exported
        || package.funcs.iter().any(|func| {
            let cx = FunctionCx { func: func.id, ..scene.cx };
            holds_any(&cx, &[&selected])
                && Scene::new(cx).is_none_or(|other| {
                    other.nodes.iter().any(|&node| match node {
                        Node::Expr(expr) => is_field(&other, expr, field),
                        _ => false,
                    })
                })
        })
}

fn is_field(scene: &Scene<'_>, expr: ExprId, field: Location) -> bool {
    if !matches!(scene.file.expr(expr).kind, ExprKind::Selector { .. }) {
        return false;
    }
    match scene.info.resolve(expr) {
        Def::Field(selection) => selection.location.is_none_or(|location| location == field),
        Def::Unknown | Def::External(_) => true,
        _ => false,
    }
}

/// The channel of the answer, if a `select` waits for one and for nothing that comes by itself.
fn waits_for_answer(scene: &Scene<'_>, stmt: StmtId) -> Option<ExprId> {
    let StmtKind::Select(clauses) = &scene.file.stmt(stmt).kind else { return None };
    let received = clauses.iter().map(|clause| Step::Comm(clause.comm?).received_from(scene.file));
    let channels: Vec<ExprId> = received.collect::<Option<_>>()?;
    let is_signal = |channel: &ExprId| scene.cx.index().is_signal(scene.info.type_of(*channel));
    let (signals, answers): (Vec<ExprId>, Vec<ExprId>) = channels.into_iter().partition(is_signal);
    match (&signals[..], &answers[..]) {
        ([_, ..], &[answer]) if is_made_here(scene, answer) => Some(answer),
        _ => None,
    }
}

/// Whether a channel is a variable of the function that holds what `make` gives and is handed to
/// somebody: in a literal, a call or a send.
fn is_made_here(scene: &Scene<'_>, channel: ExprId) -> bool {
    let Some(local) = scene.local(channel) else { return false };
    let is_make =
        |value: &ExprId| matches!(scene.info.callee(*value), Callee::Builtin(Builtin::Make));
    let made = scene.nodes.iter().any(|&node| {
        scene.assignment(node).is_some_and(|(targets, values)| {
            targets
                .iter()
                .zip(values)
                .any(|(target, value)| *target == Some(local) && is_make(value))
        })
    });
    made && scene.uses(local).any(|used| {
        let around = scene.around(Node::Expr(used)).next();
        matches!(around, Some(Node::Expr(expr)) if matches!(
            scene.file.expr(expr).kind,
            ExprKind::CompositeLit { .. } | ExprKind::Call { .. }
        ))
    })
}

fn tell(scene: &Scene<'_>, context: LocalId, select: StmtId, answer: ExprId) -> Finding {
    let context = scene.info.local(context);
    let message = format!(
        "nothing here looks at `{}`: this waits for `{}` also when the caller has long given up",
        context.name,
        scene.text(answer),
    );
    let mut finding = at_select(scene, select, (context.span, "context"), message);
    finding.why = "a context is given so that its end ends the call".to_owned();
    finding.help = format!("add `case <-{0}.Done(): return {0}.Err()`", context.name);
    finding
}
