//! How a value is reached, whoever writes it: embedded fields may be named, or left out.

use crate::index::Def;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Symbol};

/// An expression with all fields that it goes through: `d.stream.mu` for a `d.mu` of an embedded `stream`.
pub(super) fn spelled(scene: &Scene<'_>, expr: ExprId) -> String {
    let (root, path) = parts(scene, expr);
    scene.text(root) + &path
}

/// The fields after the variable at the root of an expression: `.stream.mu`.
pub(super) fn path(scene: &Scene<'_>, expr: ExprId) -> String {
    parts(scene, expr).1
}

/// The embedded fields between what a call of `Lock` names and what has the lock: the last one is the lock.
pub(super) fn holder(scene: &Scene<'_>, lock: ExprId) -> String {
    through(scene, lock).map_or_else(String::new, |path| written(&path[..path.len().max(1) - 1]))
}

/// The embedded fields between what a method is called of and what has it: `.stream`.
pub(super) fn promoted(scene: &Scene<'_>, call: ExprId) -> String {
    through(scene, call).map_or_else(String::new, written)
}

fn through<'s>(scene: &'s Scene<'_>, call: ExprId) -> Option<&'s [Symbol]> {
    let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return None };
    match scene.info.resolve(scene.file.unparen(callee)) {
        Def::Method(_, selection) | Def::InterfaceMethod(selection) => Some(&selection.path),
        _ => None,
    }
}

fn parts(scene: &Scene<'_>, expr: ExprId) -> (ExprId, String) {
    let mut path = String::new();
    let mut at = scene.file.unparen(expr);
    while let ExprKind::Selector { base, name } = scene.file.expr(at).kind {
        let through = match scene.info.resolve(at) {
            Def::Field(selection) => written(&selection.path),
            _ => String::new(),
        };
        path = format!("{through}.{}{path}", name.name);
        at = scene.file.unparen(base);
    }
    (at, path)
}

fn written(fields: &[Symbol]) -> String {
    fields.iter().map(|field| format!(".{field}")).collect()
}
