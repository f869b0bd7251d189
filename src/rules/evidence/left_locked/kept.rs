//! Locks that nobody gives back whom it does not also take.

use rustc_hash::FxHashSet;

use super::handed::handed_bases;
use super::words::speaks_of_keeping;
use super::{LOCKS, Operation, operations};
use crate::flow::{Start, StepId};
use crate::index::{Builtin, Callee, Type};
use crate::rules::evidence::left_locked::getters::is_got;
use crate::rules::evidence::locks::{embeds_lock, is_foreign, is_own_lock, object};
use crate::rules::scene::{Scene, outside_tests};
use crate::summary::{At, Read};
use crate::syntax::{ExprId, ExprKind, Node};

/// Whether a body unlocks only what it has locked itself.
pub(super) fn is_own(read: &Read<'_>, operations: &[Operation], unlock: &Operation) -> bool {
    comes_after_lock(read, operations, unlock, unlock.at)
}

/// Whether every way to a step in its body takes the lock first that is unlocked there, or from there.
fn comes_after_lock(read: &Read<'_>, operations: &[Operation], unlock: &Operation, at: At) -> bool {
    let locks = operations.iter().filter(|operation| {
        operation.at.body == at.body
            && operation.text == unlock.text
            && matches!(operation.name, "Lock" | "RLock")
    });
    let locks: FxHashSet<StepId> = locks.map(|lock| lock.at.step).collect();
    let cfg = &read.function.body(at.body).cfg;
    !cfg.starts_without(Start::Entry, at.step, &|step| locks.contains(&step))
}

/// Whether the function has locked what a literal unlocks that it starts, defers or calls where it stands.
fn is_of_function(
    scene: &Scene<'_>,
    read: &Read<'_>,
    operations: &[Operation],
    unlock: &Operation,
) -> bool {
    let Some(literal) = scene.literal_around(Node::Expr(unlock.call)) else { return false };
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return false };
    matches!(scene.info.callee(call), Callee::Literal(called) if *called == literal)
        && read
            .function
            .at_call(call)
            .is_some_and(|at| comes_after_lock(read, operations, unlock, at))
}

/// Whether the body of a lock takes something out of a map: nobody finds any more what that is locked for.
pub(super) fn takes_out(scene: &Scene<'_>, lock: &Operation) -> bool {
    let home = scene.literal_around(Node::Expr(lock.call));
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(call) => {
            matches!(scene.info.callee(call), Callee::Builtin(Builtin::Delete))
                && scene.literal_around(node) == home
        }
        _ => false,
    })
}

/// Whether nobody gives back a lock that a function takes: those of the package who unlock it lock it
/// first, and there are some. Who never gives it back himself may mean that: then nothing may speak of locks, and
/// every unlock has to be known.
pub(super) fn is_kept(scene: &Scene<'_>, lock: &Operation, never: bool) -> bool {
    let is_meant = speaks_of_keeping(scene, never);
    if is_got(scene, lock.base) || is_meant || is_passed_on(scene, lock) {
        return false;
    }
    let Some(wanted) = object(scene, lock.base) else { return false };
    // Who does not unlock may give the lock to somebody who does.
    let words = ["Unlock", "sync.Mutex", "sync.RWMutex"];
    let outside = outside_tests(&scene.cx.package, &words).filter_map(Scene::new);
    let mut given_back = false;
    for other in outside {
        let Some(read) = other.cx.summaries().read(other.cx.func) else { return false };
        let is_it = |base: ExprId| match object(&other, base) {
            Some(object) => object == wanted,
            None => never || !is_of_other_type(scene, lock, &other, base),
        };
        if handed_bases(&other).any(is_it) {
            return false;
        }
        let operations = operations(&other, &read);
        let alike = |it: &&Operation| it.key.is_some() == lock.key.is_some();
        let unlocks = operations.iter().filter(|it| matches!(it.name, "Unlock" | "RUnlock"));
        for unlock in unlocks.filter(alike) {
            // Of what holds the lock itself a field may be all that one has: `it.queue.Unlock()`.
            let held = embeds_lock(&other, unlock.base).filter(|&held| held == wanted);
            let object = held.or_else(|| object(&other, unlock.base));
            let is_other = match object {
                Some(object) => object != wanted,
                None => is_own_lock(&other, unlock.base) || is_foreign(&other, unlock.base),
            };
            if is_other {
                continue;
            }
            let is_own = is_own(&read, &operations, unlock)
                || !never && is_of_function(&other, &read, &operations, unlock);
            if !is_own || never && object.is_none() {
                return false;
            }
            given_back |= object.is_some();
        }
    }
    given_back
}

/// Whether what a function names is a lock of its own, or of a type of another package that the wanted one is not of.
fn is_of_other_type(scene: &Scene<'_>, lock: &Operation, other: &Scene<'_>, base: ExprId) -> bool {
    let named = |ty: &Type| ty.strip_pointer().named().map(|named| named.qualified());
    let wanted = named(scene.info.type_of(lock.base));
    is_own_lock(other, base)
        || is_foreign(other, base) && wanted.is_some() && named(other.info.type_of(base)) != wanted
}

/// Whether the function does more with a lock than to take it and to give it back.
fn is_passed_on(scene: &Scene<'_>, lock: &Operation) -> bool {
    let locked = scene.text(lock.base);
    scene.nodes.iter().any(|&node| {
        let Node::Expr(expr) = node else { return false };
        let names =
            matches!(scene.file.expr(expr).kind, ExprKind::Ident(_) | ExprKind::Selector { .. });
        let takes = |around: Node| match around {
            Node::Expr(around) => match scene.file.expr(around).kind {
                ExprKind::Selector { base, name } => {
                    let name = name.name.as_str();
                    let does = LOCKS.contains(&name) || matches!(name, "Unlock" | "RUnlock");
                    scene.file.unparen(base) == expr
                        && (does || scene.selector(lock.base).is_none())
                }
                _ => false,
            },
            _ => false,
        };
        names && scene.text(expr) == locked && !scene.parent(node).is_some_and(takes)
    })
}
