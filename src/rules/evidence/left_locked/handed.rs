//! Locks that a function hands over: to its caller, to who receives, or to who is given the unlocking method.

use rustc_hash::FxHashSet;

use super::Operation;
use super::getters::{is_got, last_name};
use crate::flow::{Cfg, EdgeKind, Path, StepId};
use crate::index::{LocalId, LocalKind, Type};
use crate::program::library::{Intrinsic, intrinsic};
use crate::rules::conditions::Decided;
use crate::rules::evidence::locks::{Locking, Object, object};
use crate::rules::scene::{Scene, holds_any};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// Whether the caller, or who receives what was sent, may have the lock after a `return`, and give it back
/// by another function of the package, which does that without having taken it: who returns an error hands nothing over, nor does who says nothing
/// of how it went but returns something else.
pub(super) fn is_handed_over(
    scene: &Scene<'_>,
    lock: &Operation,
    path: &Path<(bool, Decided)>,
    returned: StmtId,
) -> bool {
    let StmtKind::Return(results) = &scene.file.stmt(returned).kind else { return false };
    let fails = results.last().is_some_and(|&result| {
        let failed = |local: LocalId| {
            path.decisions().any(|decided| {
                let Some((asked, holds)) = decided.condition() else { return false };
                scene
                    .nil_test(asked)
                    .is_some_and(|(tested, differs)| tested == local && differs == holds)
            })
        };
        is_new_error(scene, result)
            || !scene.is_nil(result)
                && scene.info.type_of(result).is_error()
                && scene.local(result).is_none_or(failed)
    });
    // Who gets the lock is told so.
    let tells = results.last().is_none_or(|&last| {
        let ty = scene.cx.index().underlying(scene.info.type_of(last));
        scene.is_nil(last) || scene.info.type_of(last).is_error() || matches!(ty, Type::Basic(_))
    });
    let known = object(scene, lock.base);
    let is_given = |known: Object| {
        let locks = Locking::locks(&scene.cx.package);
        locks.is_given_elsewhere(scene.cx.func, known)
    };
    // What is got may be given back by who gets it in another way, and one of many by who has the key.
    let is_open = is_got(scene, lock.base) || lock.key.is_some();
    (tells || is_open || sends(scene, path)) && !fails && (is_open || known.is_some_and(is_given))
}

/// Whether a value is an error that is made there, also by a package that is not available.
fn is_new_error(scene: &Scene<'_>, value: ExprId) -> bool {
    let called = scene.info.callee(scene.file.unparen(value)).qualified(scene.cx.index());
    called.is_some_and(|called| {
        let made = intrinsic(called.path.as_str(), called.name.as_str());
        called.receiver.is_none() && made == Intrinsic::NewError
    })
}

/// The steps of a body that send the lock itself, or what it is a field of where another function gives that back
/// without having taken it: who receives has it from then on.
pub(super) fn sent_along(scene: &Scene<'_>, cfg: &Cfg, lock: &Operation) -> Vec<StepId> {
    if !holds_any(&scene.cx, &["<-"]) {
        return Vec::new();
    }
    let holder = scene.selector(lock.base).and_then(|(base, _)| scene.local(base));
    let is_given = || {
        let locks = Locking::locks(&scene.cx.package);
        object(scene, lock.base)
            .is_some_and(|object| locks.is_given_elsewhere(scene.cx.func, object))
    };
    let gives = |value: ExprId| {
        scene.file.descendants(Node::Expr(value)).any(|node| {
            let Node::Expr(part) = node else { return false };
            let is_lock = match scene.file.expr(part).kind {
                ExprKind::Unary { op: UnaryOp::Addr, operand } => scene.text(operand) == lock.text,
                _ => false,
            };
            let is_whole = || {
                let selects = matches!(scene.parent(node), Some(Node::Expr(around))
                    if scene.selector(around).is_some());
                holder.is_some() && scene.local(part) == holder && !selects
            };
            is_lock || is_whole() && is_given()
        })
    };
    let sends = scene.nodes.iter().filter_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::Send { value, .. } = scene.file.stmt(stmt).kind else { return None };
        gives(value).then(|| cfg.step_of_stmt(stmt)).flatten()
    });
    sends.collect()
}

/// Whether a way goes by the arm of a `select` that sends: who receives may get the lock with it.
fn sends(scene: &Scene<'_>, path: &Path<(bool, Decided)>) -> bool {
    path.decisions().any(|decided| {
        let EdgeKind::Arm(select, arm) = decided else { return false };
        let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return false };
        let sent = clauses.get(arm as usize).and_then(|clause| clause.comm);
        sent.is_some_and(|sent| matches!(scene.file.stmt(sent).kind, StmtKind::Send { .. }))
    })
}

/// Whether a function of the package that calls this one gives back the lock, which it does not take
/// itself.
pub(super) fn caller_gives_back(scene: &Scene<'_>, lock: &Operation, release: &str) -> bool {
    let Some(field) = last_name(scene, lock) else { return false };
    let index = scene.cx.index();
    let calls = format!("{}(", scene.name.name);
    let method = lock.through.as_ref().map_or(lock.name, |it| it.as_str());
    let takes = format!("{field}.{method}(");
    let gives = format!("{field}.{release}(");
    index.package(scene.cx.func.package).funcs.iter().any(|func| {
        let file = index.file_of(func.id);
        let text = file.source.slice(file.decl(func.decl).span);
        let has = |what: &str| memchr::memmem::find(text, what.as_bytes()).is_some();
        func.id != scene.cx.func && has(&calls) && has(&gives) && !has(&takes)
    })
}

/// Whether a lock is a field of what a body has found for itself, in a variable of its own, and hands to nobody: what
/// is said to the callers of the function is said of another lock.
pub(super) fn is_of_own_find(scene: &Scene<'_>, lock: &Operation) -> bool {
    let home = scene.literal_around(Node::Expr(lock.call));
    let found = scene.selector(lock.base).and_then(|(base, _)| scene.local(base));
    let is_used = |&usage: &ExprId| {
        let is_part = match scene.parent(Node::Expr(usage)) {
            Some(Node::Expr(around)) => {
                scene.selector(around).is_some() || scene.nil_test(around).is_some()
            }
            _ => false,
        };
        scene.literal_around(Node::Expr(usage)) == home && (is_part || scene.is_target(usage))
    };
    found.is_some_and(|found| {
        let local = scene.info.local(found);
        local.kind == LocalKind::Var
            && local.owner == home
            && scene.uses(found).all(|usage| is_used(&usage))
    })
}

/// The locks whose unlocking method is handed on as a value, as in `return mu.Unlock`, and those that are given to the
/// caller themselves, as they are written.
pub(super) fn handed(scene: &Scene<'_>) -> FxHashSet<String> {
    handed_bases(scene).map(|base| scene.text(base)).collect()
}

/// The same, as expressions.
pub(super) fn handed_bases(scene: &Scene<'_>) -> impl Iterator<Item = ExprId> {
    scene.nodes.iter().filter_map(|&node| {
        let Node::Expr(expr) = node else { return None };
        match scene.file.expr(expr).kind {
            ExprKind::Selector { base, name } => {
                let releases = matches!(name.name.as_str(), "Unlock" | "RUnlock");
                (releases && !is_called(scene, expr)).then_some(base)
            }
            ExprKind::Unary { op: UnaryOp::Addr, operand } => {
                let ty = scene.info.type_of(operand);
                let is_lock = ty.is_named("sync", "Mutex") || ty.is_named("sync", "RWMutex");
                (is_lock && is_result(scene, expr)).then_some(operand)
            }
            _ => None,
        }
    })
}

fn is_called(scene: &Scene<'_>, function: ExprId) -> bool {
    match scene.parent(Node::Expr(function)) {
        Some(Node::Expr(around)) => match scene.file.expr(around).kind {
            ExprKind::Call { callee, .. } => scene.file.unparen(callee) == function,
            _ => false,
        },
        _ => false,
    }
}

/// Whether a value is given to the caller: in a `return`, or by a result that has a name.
fn is_result(scene: &Scene<'_>, value: ExprId) -> bool {
    let is_named = |local| matches!(scene.info.local(local).kind, LocalKind::Result(_));
    match scene.parent(Node::Expr(value)) {
        Some(Node::Stmt(stmt)) => match scene.file.stmt(stmt).kind {
            StmtKind::Return(_) => true,
            _ => scene.assigned_to(value).is_some_and(is_named),
        },
        _ => false,
    }
}
