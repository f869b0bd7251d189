//! Receivers that say when they leave.
//!
//! Evidence: every function that receives from a channel defers, where it begins, the close of a field that is
//! another channel. Whoever looks at that field knows that nobody receives any more; who does not, and sends
//! with nothing beside, has only the room of the channel left.

use rustc_hash::FxHashSet;

use crate::index::{Builtin, Callee};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::scene::Scene;
use crate::syntax::{ExprKind, Node, Symbol, UnaryOp};

/// The fields that tell whether the receivers of a channel have left: those that they close then, and those
/// that they receive from themselves; none if one of them closes none, or if the
/// channel has room of a size that is not constant.
pub(super) fn ends(groups: &Groups<'_>, group: &Group) -> FxHashSet<Symbol> {
    let mut all = FxHashSet::default();
    for op in &group.ops {
        match op.act {
            Act::Receive | Act::Range => {
                let own = closed_at_the_end(&groups.scenes[op.scene], op);
                if own.is_empty() {
                    return FxHashSet::default();
                }
                all.extend(own);
            }
            Act::Make(None) => return FxHashSet::default(),
            _ => {}
        }
    }
    all
}

/// The fields that are closed by what the function of a receive defers, other than the channel itself, and if
/// there is one those that it receives from: they may be what makes it leave.
fn closed_at_the_end(scene: &Scene<'_>, receive: &Op) -> FxHashSet<Symbol> {
    let own = scene.selector(receive.channel).map(|(_, name)| name.name);
    let closed = scene.nodes.iter().filter_map(|&node| {
        let Node::Expr(call) = node else { return None };
        if !matches!(scene.info.callee(call), Callee::Builtin(Builtin::Close)) {
            return None;
        }
        let ExprKind::Call { ref args, .. } = scene.file.expr(call).kind else { return None };
        let (_, field) = scene.selector(*args.first()?)?;
        let at_the_end = scene.literal_around(node) == receive.literal && scene.is_deferred(call);
        (at_the_end && own != Some(field.name)).then_some(field.name)
    });
    let mut closed: FxHashSet<Symbol> = closed.collect();
    if !closed.is_empty() {
        let heard = scene.nodes.iter().filter_map(|&node| {
            let Node::Expr(expr) = node else { return None };
            let ExprKind::Unary { op: UnaryOp::Recv, operand } = scene.file.expr(expr).kind else {
                return None;
            };
            let (_, field) = scene.selector(operand)?;
            (scene.literal_around(node) == receive.literal).then_some(field.name)
        });
        closed.extend(heard.filter(|&field| own != Some(field)));
    }
    closed
}

/// Whether a function names one of these fields.
fn names(scene: &Scene<'_>, fields: &FxHashSet<Symbol>) -> bool {
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(expr) => {
            scene.selector(expr).is_some_and(|(_, name)| fields.contains(&name.name))
        }
        _ => false,
    })
}

/// Whether a send may come again and again from who has no word of the end: a method sends to a field, all
/// that receive are methods of its type, and neither it nor who calls it names one of these fields.
pub(super) fn is_missed<'o>(
    groups: &Groups<'_>,
    send: &Op,
    mut receives: impl Iterator<Item = &'o Op>,
    fields: &FxHashSet<Symbol>,
) -> bool {
    let scene = &groups.scenes[send.scene];
    let owner = scene.cx.owner();
    let of_one = |receive: &Op| owner.is_some() && groups.scenes[receive.scene].cx.owner() == owner;
    scene.selector(send.channel).is_some()
        && receives.all(of_one)
        && !is_known(groups, send, fields)
}

/// Whether a function that sends names one of these fields, or one that calls it does.
fn is_known(groups: &Groups<'_>, send: &Op, fields: &FxHashSet<Symbol>) -> bool {
    let scene = &groups.scenes[send.scene];
    names(scene, fields)
        || groups
            .scenes
            .iter()
            .any(|caller| caller.calls(scene.cx.func).next().is_some() && names(caller, fields))
}
