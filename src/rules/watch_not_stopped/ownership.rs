//! Whose task it is to stop a watch that a function is given.

use crate::index::{Callee, Def, LocalId, ObjectKind, Type, TypeDecl};
use crate::rules::FunctionCx;
use crate::rules::scene::{Scene, holds_any};
use crate::rules::watch::{STOP, Watch};
use crate::source::Span;
use crate::syntax::{ExprId, ExprKind, Ident, Node};

/// Where the function ends the watch that it is given: by itself, or by putting it into a
/// structure whose methods stop it.
pub fn ended_here(scene: &Scene<'_>, watch: &Watch) -> Option<Span> {
    scene
        .uses(watch.variable)
        .find(|&expr| stops(scene, expr) || put_where_it_is_stopped(scene, expr))
        .and_then(|expr| scene.parent(Node::Expr(expr)))
        .map(|around| scene.span(around))
}

/// Whether `expr` is `w` of a call `w.Stop()`.
fn stops(scene: &Scene<'_>, expr: ExprId) -> bool {
    let Some(Node::Expr(selector)) = scene.parent(Node::Expr(expr)) else { return false };
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(selector)) else { return false };
    scene
        .method_call(call)
        .is_some_and(|(base, name)| scene.file.unparen(base) == expr && name.name.as_str() == STOP)
}

/// Whether `expr` becomes the field of a structure one of whose methods calls `Stop` on that field.
fn put_where_it_is_stopped(scene: &Scene<'_>, expr: ExprId) -> bool {
    let Some(Node::Expr(literal)) = scene.parent(Node::Expr(expr)) else { return false };
    let ExprKind::CompositeLit { elements, .. } = &scene.file.expr(literal).kind else {
        return false;
    };
    let field = elements.iter().find(|element| scene.file.unparen(element.value) == expr).and_then(
        |element| match scene.file.expr(element.key?).kind {
            ExprKind::Ident(name) => Some(name),
            _ => None,
        },
    );
    let Type::Named(named) = scene.info.type_of(literal) else { return false };
    let (Some(field), TypeDecl::Global(object)) = (field, named.decl) else { return false };
    if object.package != scene.cx.func.package {
        return false;
    }
    let methods = scene
        .cx
        .index()
        .package(object.package)
        .funcs
        .iter()
        .filter(|func| func.receiver.is_some_and(|receiver| receiver.ty == Some(object)));
    methods.map(|func| FunctionCx { func: func.id, ..scene.cx }).any(|cx| {
        let Some(method) = Scene::new(cx) else { return false };
        method.nodes.iter().any(|&node| match node {
            Node::Expr(call) => method.method_call(call).is_some_and(|(base, name)| {
                name.name.as_str() == STOP
                    && method.selector(base).is_some_and(|(_, own)| own.name == field)
            }),
            _ => false,
        })
    })
}

/// Whether every caller is known, and none of them stops the watch that it gives.
pub fn callers_leave_it(scene: &Scene<'_>, watch: &Watch) -> bool {
    let Some(place) = watch.parameter(scene) else { return false };
    let called = scene.cx.declared();
    if called.name.is_exported() {
        return false;
    }
    let mut callers = 0;
    for func in &scene.cx.index().package(called.id.package).funcs {
        let cx = FunctionCx { func: func.id, ..scene.cx };
        if !holds_any(&cx, &[called.name.as_str()]) {
            continue;
        }
        let Some(caller) = Scene::new(cx) else { continue };
        for &node in caller.nodes.iter() {
            let Node::Expr(expr) = node else { continue };
            match caller.file.expr(expr).kind {
                ExprKind::Call { .. } if calls(&caller, expr, &scene.cx) => {
                    callers += 1;
                    let given = caller.args(expr).get(place as usize);
                    if !given.is_some_and(|&given| leaves(&caller, given)) {
                        return false;
                    }
                }
                // The function as a value: who calls it is not known.
                ExprKind::Ident(name) | ExprKind::Selector { name: Ident { name, .. }, .. }
                    if name == called.name && is_value(&caller, expr, &scene.cx) =>
                {
                    return false;
                }
                _ => {}
            }
        }
    }
    callers > 0
}

fn calls(caller: &Scene<'_>, call: ExprId, called: &FunctionCx<'_>) -> bool {
    matches!(caller.info.callee(call), Callee::Func(func) if *func == called.func)
}

/// Whether a name denotes the function without calling it.
fn is_value(scene: &Scene<'_>, expr: ExprId, called: &FunctionCx<'_>) -> bool {
    let denotes = match scene.info.resolve(expr) {
        Def::Global(object) => matches!(
            scene.cx.index().object(*object).kind,
            ObjectKind::Func(func) if func == called.func
        ),
        Def::Method(func, _) => *func == called.func,
        _ => false,
    };
    denotes
        && !matches!(scene.parent(Node::Expr(expr)), Some(Node::Expr(call))
            if matches!(scene.file.expr(call).kind,
                ExprKind::Call { callee, .. } if scene.file.unparen(callee) == expr)
                || matches!(scene.file.expr(call).kind, ExprKind::Selector { .. }))
}

/// Whether a caller gives a variable of its own that it never stops.
fn leaves(caller: &Scene<'_>, given: ExprId) -> bool {
    let Some(local) = caller.local(given) else { return false };
    is_variable(caller, local) && !caller.uses(local).any(|expr| stops(caller, expr))
}

fn is_variable(scene: &Scene<'_>, local: LocalId) -> bool {
    scene.info.local(local).kind.is_variable()
}
