//! A method that takes the lock of its receiver, and with it the same lock of another value of the type, which may
//! just do the same.
//!
//! Evidence: the other value is an element of what the method ranges over, and the method asks whether it is its
//! receiver. Nothing brings the two into an order: the method compares nothing of its receiver by size, goes on past its
//! receiver in the list, and what it ranges over is not all new when it is put there. No other lock is held around them.

use rustc_hash::FxHashSet;

use super::{Cx, held_by_callers};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, StepId};
use crate::index::{FuncId, LocalId};
use crate::rules::conditions::asked;
use crate::rules::evidence::confidence;
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{MAX_CALLS, Object, Taken};
use crate::rules::evidence::parent::is_made;
use crate::rules::scene::{Scene, outside_tests};
use crate::summary::Source;
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtKind};

/// Reports the methods that lock two values of their type.
pub(super) fn check(cx: &Cx<'_, '_>, findings: &mut Vec<Finding>) {
    for scene in cx.scenes {
        findings.extend(check_scene(cx, scene));
    }
}

fn check_scene(cx: &Cx<'_, '_>, scene: &Scene<'_>) -> Option<Finding> {
    let receiver = scene.receiver()?;
    let own = cx.locks.taken.get(&scene.cx.func)?;
    let cfg = scene.graph(None)?;
    let others = others(cx, scene, receiver);
    own.iter().filter(|taken| root(scene, taken) == Some(receiver)).find_map(|first| {
        let from = cfg.step_of_expr(first.call)?;
        let other = others.iter().find(|other| {
            let at = cfg.step_of_expr(other.call);
            other.object == first.object
                && !(other.reads && first.reads)
                && at.is_some_and(|at| stays_locked(scene, &cfg, first, from, at))
        })?;
        if is_ordered(cx, scene, &cfg, receiver, other) {
            return None;
        }
        let alone = own.iter().all(|taken| {
            taken.object == first.object
                || cfg.step_of_expr(taken.call).is_none_or(|step| {
                    let at = cfg.step_of_expr(other.call);
                    !at.is_some_and(|at| cfg.reaches(step, at))
                })
        });
        let mut around: FxHashSet<Object> = FxHashSet::default();
        held_by_callers(cx, scene, MAX_CALLS, &mut around);
        (alone && around.is_empty()).then(|| tell(scene, first, other))
    })
}

/// The lock of another value, and where the method takes it or calls who does.
struct Other {
    object: Object,
    reads: bool,
    call: ExprId,
    value: LocalId,
}

/// The locks of elements that a method asks whether they are its receiver.
fn others(cx: &Cx<'_, '_>, scene: &Scene<'_>, receiver: LocalId) -> Vec<Other> {
    let is_other = |value: LocalId| is_element(scene, value) && is_asked(scene, value, receiver);
    let own = cx.locks.taken.get(&scene.cx.func).into_iter().flatten();
    let direct = own.filter(|taken| taken.literal.is_none()).filter_map(|taken| {
        let value = root(scene, taken).filter(|&value| is_other(value))?;
        Some(Other { object: taken.object, reads: taken.reads, call: taken.call, value })
    });
    let calls = cx.locks.calls.get(&scene.cx.func).into_iter().flatten();
    let calls = calls.filter(|(_, literal, call)| literal.is_none() && !scene.is_deferred(*call));
    let called = calls.filter_map(|&(callee, _, call)| {
        let (base, _) = scene.method_call(call)?;
        let value = scene.local(base).filter(|&value| is_other(value))?;
        let taken = of_receiver(cx, callee)?;
        Some(Other { object: taken.object, reads: taken.reads, call, value })
    });
    direct.chain(called).collect()
}

/// The lock of its receiver that a method takes.
fn of_receiver(cx: &Cx<'_, '_>, method: FuncId) -> Option<Taken> {
    let scene = cx.scene_of(method)?;
    let receiver = scene.receiver()?;
    let own = cx.locks.taken.get(&method)?;
    own.iter()
        .find(|taken| taken.literal.is_none() && root(scene, taken) == Some(receiver))
        .copied()
}

/// The variable that a lock is a field of, or embedded in.
fn root(scene: &Scene<'_>, taken: &Taken) -> Option<LocalId> {
    let (locked, _) = scene.method_call(taken.call)?;
    let holder = scene.selector(locked).map_or(locked, |(base, _)| base);
    let is_direct = scene.local(holder).is_some();
    root_variable(scene, locked)?.filter(|_| is_direct)
}

/// Whether a variable is the element of a `range`.
fn is_element(scene: &Scene<'_>, variable: LocalId) -> bool {
    let read = scene.cx.summaries().read(scene.cx.func);
    read.is_some_and(|read| {
        let only = read.function.only_definition_of(variable);
        only.is_some_and(|only| matches!(only.source, Source::Element(_)))
    })
}

/// Whether the method compares a variable with its receiver.
fn is_asked(scene: &Scene<'_>, variable: LocalId, receiver: LocalId) -> bool {
    scene.nodes.iter().any(|&node| {
        let Node::Expr(expr) = node else { return false };
        let ExprKind::Binary { op: BinaryOp::Eq | BinaryOp::Ne, left, right, .. } =
            scene.file.expr(expr).kind
        else {
            return false;
        };
        let sides = [scene.local(left), scene.local(right)];
        sides.contains(&Some(variable)) && sides.contains(&Some(receiver))
    })
}

/// Whether something brings all values of the type into an order in which the method takes their locks.
fn is_ordered(
    cx: &Cx<'_, '_>,
    scene: &Scene<'_>,
    cfg: &Cfg,
    receiver: LocalId,
    other: &Other,
) -> bool {
    let compared = |node: &Node| {
        let Node::Expr(expr) = *node else { return false };
        matches!(
            scene.file.expr(expr).kind,
            ExprKind::Binary { op: BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge, .. }
        ) && scene.mentions(*node, receiver)
    };
    scene.nodes.iter().any(compared)
        || ends_at_own(scene, cfg, receiver, other)
        || are_below(cx, scene, other.value)
}

/// Whether the method is done with the list where it meets its own receiver.
fn ends_at_own(scene: &Scene<'_>, cfg: &Cfg, receiver: LocalId, other: &Other) -> bool {
    let Some(at) = cfg.step_of_expr(other.call) else { return false };
    let edges = cfg.edges();
    let own = edges.filter(|edge| {
        asked(scene.file, edge.kind).is_some_and(|(condition, holds)| {
            match scene.file.expr(condition).kind {
                ExprKind::Binary { op, left, right, .. } => {
                    let sides = [scene.local(left), scene.local(right)];
                    let is_own =
                        (op == BinaryOp::Eq) == holds && matches!(op, BinaryOp::Eq | BinaryOp::Ne);
                    is_own && sides.contains(&Some(other.value)) && sides.contains(&Some(receiver))
                }
                _ => false,
            }
        })
    });
    let mut own = own.peekable();
    own.peek().is_some() && own.all(|edge| !cfg.leads(edge, at))
}

/// Whether what is ranged over is a field to which the package only adds what is new: no value is reached from one
/// that it leads to.
fn are_below(cx: &Cx<'_, '_>, scene: &Scene<'_>, element: LocalId) -> bool {
    let list = scene.cx.summaries().read(scene.cx.func).and_then(|read| {
        let Source::Element(range) = read.function.only_definition_of(element)?.source else {
            return None;
        };
        let StmtKind::Range { subject, .. } = scene.file.stmt(range).kind else { return None };
        let field = scene.field(subject)?;
        Some((field, scene.selector(subject)?.1.name))
    });
    let Some((field, name)) = list else { return false };
    let mut added = 0;
    let only_new =
        outside_tests(cx.package, &[name.as_str()]).filter_map(Scene::new).all(|scene| {
            scene.nodes.iter().all(|&node| match node {
                Node::Stmt(stmt) => {
                    let StmtKind::Assign { left, right, .. } = &scene.file.stmt(stmt).kind else {
                        return true;
                    };
                    left.iter().zip(right).all(|(&left, &right)| {
                        let whole = scene.field(left) == Some(field);
                        let &[list, ref values @ ..] = scene.args(scene.file.unparen(right)) else {
                            return !whole || scene.is_nil(right);
                        };
                        added += u32::from(whole);
                        !whole
                            || scene.field(list) == Some(field)
                                && values.iter().all(|&it| is_made(&scene, it))
                    })
                }
                Node::Expr(literal) => !scene.is_key(literal, name),
                Node::Decl(_) => true,
            })
        });
    only_new && added > 0
}

/// Whether a lock that is taken at one step is still held at another: nothing gives it back by its name on the way.
fn stays_locked(scene: &Scene<'_>, cfg: &Cfg, lock: &Taken, from: StepId, at: StepId) -> bool {
    let name = scene.method_call(lock.call).map(|(locked, _)| scene.text(locked));
    let gives = |node: Node| {
        let Node::Expr(call) = node else { return false };
        let unlocks = scene.method_call(call).is_some_and(|(base, method)| {
            matches!(method.name.as_str(), "Unlock" | "RUnlock") && Some(scene.text(base)) == name
        });
        unlocks
            && !scene.is_deferred(call)
            && cfg
                .step_of_expr(call)
                .is_some_and(|step| cfg.reaches(from, step) && cfg.reaches(step, at))
    };
    cfg.dominates(from, at) && !scene.nodes.iter().any(|&node| gives(node))
}

fn tell(scene: &Scene<'_>, first: &Taken, other: &Other) -> Finding {
    let method = scene.name.name;
    let name = |call: ExprId| scene.method_call(call).map(|(base, _)| scene.text(base));
    let held = name(first.call).unwrap_or_default();
    let value = scene.info.local(other.value).name;
    let message = format!(
        "`{method}` waits for the lock of `{value}` with `{held}` locked: two values that do so each hold what the \
         other waits for"
    );
    let mut finding = scene.cx.finding(scene.span(Node::Expr(other.call)), "stays here", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: first.location,
        role: Role::Context,
        message: format!("`{held}` is locked here"),
    });
    finding.why = format!(
        "`{value}` is of the same type, and may be in `{method}` itself, with its own lock taken; no order is kept \
         between the two"
    );
    finding.help = format!("give `{held}` back first, or take a lock for all around both");
    finding
}
