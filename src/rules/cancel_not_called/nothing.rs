//! A function that gives a context with a cancel function which does nothing on one way, although a
//! caller has a goroutine that ends only with that context.

use crate::catalog::Context;
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::{Callee, Def, LocalId, ObjectKind};
use crate::rules::FunctionCx;
use crate::rules::scene::{Scene, holds_any, serves_tests};
use crate::source::Location;
use crate::summary::{Place, Source, facts};
use crate::syntax::{Body, DeclKind, ExprId, ExprKind, Node, StmtKind, UnaryOp};

/// The cancel function that does nothing.
pub(super) fn check(cx: &FunctionCx<'_>) -> Option<Finding> {
    if !holds_any(cx, &["context.With"]) {
        return None;
    }
    let scene = Scene::new(*cx)?;
    let given: Vec<ExprId> = scene
        .nodes
        .iter()
        .filter(|&&node| scene.literal_around(node).is_none())
        .filter_map(|&node| {
            let Node::Stmt(stmt) = node else { return None };
            let StmtKind::Return(values) = &scene.file.stmt(stmt).kind else { return None };
            match values[..] {
                [both] => Some(scene.file.unparen(both)),
                [context, cancel] if scene.info.type_of(context).is_context() => {
                    Some(scene.file.unparen(cancel))
                }
                _ => None,
            }
        })
        .collect();
    let mut values = Vec::new();
    for cancel in given {
        match scene.local(cancel) {
            Some(local) => values.extend(assigned(&scene, local)),
            None => values.push(cancel),
        }
    }
    let nothing = values.iter().copied().find(|&value| does_nothing(&scene, value))?;
    values.iter().find(|&&value| cancels(&scene, value))?;
    let (caller, waits) = waiting_caller(&scene)?;
    let message = format!(
        "this cancels nothing, and `{caller}` has a goroutine that waits for the context to end"
    );
    let span = scene.span(Node::Expr(nothing));
    let mut finding = cx.finding(span, "does nothing", message);
    finding.confidence = Confidence::Medium;
    finding.labels.push(Label {
        location: waits,
        role: Role::Stuck,
        message: "it waits here until the parent of the context is done".to_owned(),
    });
    finding.why = "whoever is given a cancel function counts on it to end the context".to_owned();
    finding.help = "`context.WithCancel` on this way, too".to_owned();
    Some(finding)
}

/// What a variable is given.
fn assigned(scene: &Scene<'_>, local: LocalId) -> Vec<ExprId> {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return Vec::new() };
    let sources =
        read.function.definitions_of(local).filter_map(|definition| match definition.source {
            Source::Expr(value) | Source::Result(value, _) => Some(scene.file.unparen(value)),
            _ => None,
        });
    sources.collect()
}

/// Whether a value is a function without statements.
fn does_nothing(scene: &Scene<'_>, value: ExprId) -> bool {
    if let ExprKind::FuncLit(literal) = &scene.file.expr(value).kind {
        return scene.file.block(literal.body).is_empty();
    }
    let Def::Global(object) = scene.info.resolve(value) else { return false };
    let index = scene.cx.index();
    let ObjectKind::Func(func) = index.object(*object).kind else { return false };
    let file = index.file_of(func);
    match &file.decl(index.func(func).decl).kind {
        DeclKind::Func(func) => {
            matches!(file.body(func), Body::Parsed(body) if file.block(body).is_empty())
        }
        _ => false,
    }
}

/// Whether a value is what a call gives that derives a context and can cancel it.
fn cancels(scene: &Scene<'_>, value: ExprId) -> bool {
    let known = facts(scene.cx.catalog(), scene.cx.index(), scene.info.callee(value));
    matches!(scene.file.expr(value).kind, ExprKind::Call { .. })
        && known.all_in_force::<Context>(scene.cx.versions()).any(|fact| fact.cancel.is_some())
}

/// A function of the package that calls this one, and where a goroutine of it waits for the context
/// alone.
fn waiting_caller(callee: &Scene<'_>) -> Option<(String, Location)> {
    let package = callee.cx.package;
    let name = callee.name.name;
    package.index.package(package.package).funcs.iter().find_map(|func| {
        let cx = FunctionCx { package, func: func.id };
        if !holds_any(&cx, &[name.as_str()]) || serves_tests(package.index, func.id) {
            return None;
        }
        let scene = Scene::new(cx)?;
        scene.nodes.iter().find_map(|&node| {
            let (targets, values) = scene.assignment(node)?;
            let ([Some(context), Some(_)], [call]) = (&targets[..], values) else { return None };
            let calls = matches!(scene.info.callee(scene.file.unparen(*call)), Callee::Func(called)
                if *called == callee.cx.func);
            let waits = wait_of(&scene, *context).filter(|_| calls)?;
            if ends_anyway(&scene, *call) {
                return None;
            }
            let location = scene.cx.location(scene.span(Node::Expr(waits)));
            Some((scene.name.name.to_string(), location))
        })
    })
}

/// Whether what a call is given ends without the cancel function that it gives: a context that its function derives
/// and cancels, or that of a request.
fn ends_anyway(scene: &Scene<'_>, call: ExprId) -> bool {
    let call = scene.file.unparen(call);
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return true };
    let Some(at) = read.function.at_call(call) else { return true };
    scene.args(call).iter().any(|&arg| match scene.info.type_of(arg) {
        ty if ty.is_context() => {
            let origin = scene.cx.summaries().context(&read.function, at, arg);
            origin.places().iter().any(Place::is_context_of_request)
                || origin.derivations.iter().any(|&call| scene.may_end_context(call))
        }
        ty => ty.strip_pointer().named().is_some_and(|named| named.is("net/http", "Request")),
    })
}

/// A receive from `Done` of a context, alone, in a goroutine.
fn wait_of(scene: &Scene<'_>, context: LocalId) -> Option<ExprId> {
    scene.nodes.iter().find_map(|&node| {
        let Node::Expr(receive) = node else { return None };
        let ExprKind::Unary { op: UnaryOp::Recv, operand } = scene.file.expr(receive).kind else {
            return None;
        };
        let (base, name) = scene.method_call(operand)?;
        let literal = scene.literal_around(node)?;
        let started = match scene.parent(Node::Expr(literal)) {
            Some(Node::Expr(call)) => scene.go_of(call).is_some(),
            _ => false,
        };
        let alone = matches!(scene.parent(node), Some(Node::Stmt(stmt))
            if matches!(scene.file.stmt(stmt).kind, StmtKind::Expr(_))
                && !matches!(scene.parent(Node::Stmt(stmt)), Some(Node::Stmt(around))
                    if matches!(scene.file.stmt(around).kind, StmtKind::Select(_))));
        (started && alone && name.name.as_str() == "Done" && scene.local(base) == Some(context))
            .then_some(receive)
    })
}
