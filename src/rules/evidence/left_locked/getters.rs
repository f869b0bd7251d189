//! Locks that are got by a call without arguments each time: `c.buffer().Lock()`.
//!
//! Who locks and unlocks what the same call gives, gets the same thing each time: to unlock another one would end the
//! process. A method whose body is known has to do no more than to return something of what it is called for.

use super::{Operation, root_variable};
use crate::index::{Callee, FuncId, LocalId};
use crate::rules::evidence::locks::object;
use crate::rules::scene::Scene;
use crate::syntax::{Body, DeclKind, ExprId, ExprKind, StmtKind, UnaryOp};

/// How many methods may stand between what is called and what is returned.
const MAX_GETTERS: u32 = 3;

/// As [`root_variable`], also through methods that only give something of what they are called for.
pub(super) fn lock_variable(scene: &Scene<'_>, expr: ExprId) -> Option<Option<LocalId>> {
    root_through(scene, expr, MAX_GETTERS)
}

fn root_through(scene: &Scene<'_>, expr: ExprId, depth: u32) -> Option<Option<LocalId>> {
    let mut at = scene.file.unparen(expr);
    let mut depth = depth;
    loop {
        at = match scene.file.expr(at).kind {
            ExprKind::Selector { base, .. } => scene.file.unparen(base),
            ExprKind::Call { .. } => {
                depth = depth.checked_sub(1)?;
                let (base, _) = scene.method_call(at).filter(|_| is_getter(scene, at, depth))?;
                scene.file.unparen(base)
            }
            _ => return root_variable(scene, at),
        };
    }
}

/// Whether what is locked is, or is a field of, what a call gives.
pub(super) fn is_got(scene: &Scene<'_>, expr: ExprId) -> bool {
    let mut at = scene.file.unparen(expr);
    while let ExprKind::Selector { base, .. } = scene.file.expr(at).kind {
        at = scene.file.unparen(base);
    }
    matches!(scene.file.expr(at).kind, ExprKind::Call { .. })
}

/// Whether a call of a method without arguments gives something of what it is called for, as far as that is known.
fn is_getter(scene: &Scene<'_>, call: ExprId, depth: u32) -> bool {
    scene.args(call).is_empty()
        && match *scene.info.callee(call) {
            Callee::Func(func) => returns_part(scene, func, depth),
            Callee::InterfaceMethod(_) | Callee::External(_) | Callee::Unknown { .. } => true,
            _ => false,
        }
}

/// Whether all that a method does is to return something of its receiver.
fn returns_part(scene: &Scene<'_>, func: FuncId, depth: u32) -> bool {
    let Some(getter) = Scene::of(&scene.cx.package, func) else { return false };
    let DeclKind::Func(declared) = &getter.file.decl(getter.cx.declared().decl).kind else {
        return false;
    };
    let Body::Parsed(body) = getter.file.body(declared) else { return false };
    let &[only] = getter.file.block(body) else { return false };
    let StmtKind::Return(results) = &getter.file.stmt(only).kind else { return false };
    let &[result] = &**results else { return false };
    let value = match getter.file.expr(getter.file.unparen(result)).kind {
        ExprKind::Unary { op: UnaryOp::Addr, operand } => operand,
        _ => result,
    };
    getter.receiver().is_some() && root_through(&getter, value, depth) == Some(getter.receiver())
}

/// Whether a literal unlocks what may be the same, got in another way.
pub(super) fn gives_elsewhere_unseen(
    scene: &Scene<'_>,
    operations: &[Operation],
    lock: &Operation,
) -> bool {
    operations.iter().any(|operation| {
        matches!(operation.name, "Unlock" | "RUnlock")
            && operation.at.body != lock.at.body
            && operation.text != lock.text
            && object(scene, operation.base).is_none()
    })
}

/// The last name of what is locked, as it is written: `mu`, `buffer()`.
pub(super) fn last_name(scene: &Scene<'_>, lock: &Operation) -> Option<String> {
    match scene.selector(lock.base) {
        Some((_, field)) => Some(field.name.to_string()),
        None => scene.method_call(lock.base).map(|(_, name)| format!("{}()", name.name)),
    }
}
