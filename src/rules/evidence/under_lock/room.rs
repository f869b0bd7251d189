//! Room for what is sent under a lock: whether it suffices for all, or may be taken.

use rustc_hash::FxHashSet;

use crate::index::{Builtin, Callee};
use crate::rules::endable::asks_err;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::scene::Scene;
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtKind, Symbol};

/// Whether a send fills room that the function itself has just made for it, in a variable that it alone has: it is the
/// only one, and is made once for each element of what the room was counted by.
pub(super) fn has_room_for_all(groups: &Groups<'_>, group: &Group, send: &Op) -> bool {
    let scene = &groups.scenes[send.scene];
    let Some(make) = group.ops.iter().find(|op| {
        let targets = scene.parent(op.node).and_then(|around| scene.assignment(around));
        matches!(op.act, Act::Make(_))
            && op.same_body(send)
            && scene.local(send.channel).is_some()
            && targets.is_some_and(|(targets, _)| targets.contains(&scene.local(send.channel)))
    }) else {
        return false;
    };
    let Node::Expr(made) = make.node else { return false };
    let Some(counted) = counted(scene, made).map(|counted| scene.text(counted)) else {
        return false;
    };
    let Some(cfg) = scene.graph(send.literal) else { return false };
    let (Some(from), Some(at)) = (scene.step_of(&cfg, make.node), scene.step_of(&cfg, send.node))
    else {
        return false;
    };
    let loops = |node: Node| {
        let loops = scene.around(node).filter_map(|node| match node {
            Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
                StmtKind::For { .. } => Some((stmt, None)),
                StmtKind::Range { subject, .. } => Some((stmt, Some(subject))),
                _ => None,
            },
            _ => None,
        });
        loops.collect::<Vec<_>>()
    };
    let (around, outside) = (loops(send.node), loops(make.node));
    let others = group.ops.iter().filter(|op| op.act == Act::Send && op.same_body(send)).count();
    let once = match around[..] {
        [(_, Some(subject)), ref rest @ ..] => {
            scene.text(subject) == counted && *rest == outside[..]
        }
        _ => false,
    };
    once && others == 1 && cfg.dominates(from, at)
}

/// Whether a field has room for each of some elements: who counted them meant one value of each.
pub(super) fn is_counted(groups: &Groups<'_>, group: &Group) -> bool {
    group.ops.iter().any(|op| match (op.act, op.node) {
        (Act::Make(_), Node::Expr(made)) => counted(&groups.scenes[op.scene], made).is_some(),
        _ => false,
    })
}

/// What `make(chan T, len(x))` counts: `x`.
fn counted(scene: &Scene<'_>, made: ExprId) -> Option<ExprId> {
    let [_, room] = scene.args(made) else { return None };
    let room = scene.file.unparen(*room);
    match scene.info.callee(room) {
        Callee::Builtin(Builtin::Len) => scene.args(room).first().copied(),
        _ => None,
    }
}

/// Whether the function of a send may be called by several, as often as it takes to fill room of a constant size,
/// and asks for nothing above the send that may keep account of how much is taken: a field that it or a receiver writes,
/// the channel itself, or what a call says.
pub(in crate::rules::evidence) fn may_fill(
    groups: &Groups<'_>,
    send: &Op,
    receivers: &[&Op],
) -> bool {
    let scene = &groups.scenes[send.scene];
    let receiver = scene.receiver();
    let channel = match scene.file.expr(scene.file.unparen(send.channel)).kind {
        ExprKind::Index { base, .. } => base,
        _ => send.channel,
    };
    let is_part = scene.selector(channel).is_some_and(|(base, _)| scene.local(base) == receiver);
    let calls = || scene.cx.package.uses().calls.get(&scene.cx.func).map_or(0, Vec::len);
    // A single caller may well keep pace with the receiver.
    let by_many = || scene.name.name.is_exported() || calls() > 1;
    if receiver.is_none() || !is_part || !by_many() {
        return false;
    }
    let mut fields: FxHashSet<Symbol> = FxHashSet::default();
    // Whether there is a channel at all says nothing of its room.
    let is_made = |asked: ExprId| match scene.file.expr(scene.file.unparen(asked)).kind {
        ExprKind::Binary { op: BinaryOp::Ne, left, right, .. } => {
            scene.is_nil(right) && scene.text(left) == scene.text(send.channel)
        }
        _ => false,
    };
    for asked in asked_above(scene, send.node).filter(|&asked| !is_made(asked)) {
        for node in scene.file.descendants(Node::Expr(asked)) {
            let Node::Expr(expr) = node else { continue };
            match scene.file.expr(expr).kind {
                // Whether all is over says nothing of the room.
                ExprKind::Call { .. } if asks_err(scene.file, &scene.info, expr) => {}
                // How much is taken is asked of the channel itself.
                ExprKind::Call { .. } => return false,
                ExprKind::Selector { name, .. } => {
                    fields.insert(name.name);
                }
                _ => {}
            }
        }
    }
    if scene.selector(channel).is_none_or(|(_, channel)| fields.contains(&channel.name)) {
        return false;
    }
    let scenes = receivers.iter().chain([&send]).map(|op| &groups.scenes[op.scene]);
    !scenes.into_iter().any(|scene| writes(scene, &fields))
}

/// The conditions, and what is switched over, that stand above a node in its function.
pub(in crate::rules::evidence) fn asked_above(
    scene: &Scene<'_>,
    below: Node,
) -> impl Iterator<Item = ExprId> {
    let end = scene.span(below).start;
    scene.nodes.iter().filter_map(move |&node| match node {
        Node::Stmt(stmt) if scene.span(node).start < end => match scene.file.stmt(stmt).kind {
            StmtKind::If { cond, .. } => Some(cond),
            StmtKind::For { cond, .. } => cond,
            StmtKind::Switch { tag, .. } => tag,
            _ => None,
        },
        _ => None,
    })
}

/// Whether a condition above a send asks how much room the channel has: `len(c)`, `cap(c)`.
pub(super) fn asks_room(scene: &Scene<'_>, send: &Op) -> bool {
    let channel = scene.text(send.channel);
    let end = scene.span(send.node).start;
    scene.nodes.iter().any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let asked = match scene.file.stmt(stmt).kind {
            StmtKind::If { cond, .. } => Some(cond),
            StmtKind::For { cond, .. } => cond,
            _ => None,
        };
        let Some(asked) = asked.filter(|_| scene.span(node).start < end) else { return false };
        scene.file.descendants(Node::Expr(asked)).any(|node| {
            let Node::Expr(call) = node else { return false };
            matches!(scene.info.callee(call), Callee::Builtin(Builtin::Len | Builtin::Cap))
                && scene.args(call).first().is_some_and(|&of| scene.text(of) == channel)
        })
    })
}

/// Whether a function writes to one of these fields, or to what one holds.
fn writes(scene: &Scene<'_>, fields: &FxHashSet<Symbol>) -> bool {
    scene.assigns(|target| {
        scene.file.descendants(Node::Expr(target)).any(|node| match node {
            Node::Expr(expr) => {
                scene.selector(expr).is_some_and(|(_, name)| fields.contains(&name.name))
            }
            _ => false,
        })
    })
}
