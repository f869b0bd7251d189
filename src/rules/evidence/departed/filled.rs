//! Room of a constant size that is taken for good when the receivers of an object have gone.
//!
//! Evidence: the send has nothing beside, and may come any number of times for one object: it stands in an exported
//! method of that, or in one that is called for it through a field of another type; or a part that leads to the
//! object by a field sends itself. Nothing above it asks for what the end of the object sets.

use crate::rules::evidence::departed::{Served, is_counted};
use crate::rules::evidence::groups::Op;
use crate::rules::evidence::leaver::{asks_before, assigned_fields, holds_lock};
use crate::rules::evidence::traffic::after_recover;
use crate::rules::recurrence;
use crate::rules::scene::Scene;
use crate::syntax::{Node, StmtKind};

/// Whether a send is stuck once as many have come after the end as there is room for.
pub(super) fn stays(served: &Served<'_, '_>, send: &Op, room: u64) -> bool {
    let scene = &served.groups.scenes[send.scene];
    send.select.is_none()
        && !is_counted(scene)
        && served.is_asked(send)
        && (served.is_sent_apart(send) && may_come_often(scene)
            || is_sent_by_part(served, send, room))
        && !knows_the_end(served, send)
}

/// Whether anybody may call a method as often as he likes: it is exported, or parts of another type call it by the
/// field in which they keep the object.
fn may_come_often(scene: &Scene<'_>) -> bool {
    let by_part = || {
        let calls = recurrence::calls(&scene.cx.package, scene.cx.declared());
        calls.into_iter().any(|(caller, call)| {
            let Some(caller) = Scene::of(&scene.cx.package, caller) else { return false };
            let base = caller.method_call(call).map(|(base, _)| base);
            caller.cx.owner() != scene.cx.owner()
                && base.is_some_and(|base| caller.is_of_receiver(base))
        })
    };
    scene.name.name.is_exported() || by_part()
}

/// Whether a method of a part sends to the object that its field leads to: there may be more parts than room. Room for
/// one may be made for one part.
fn is_sent_by_part(served: &Served<'_, '_>, send: &Op, room: u64) -> bool {
    let scene = &served.groups.scenes[send.scene];
    let owner = served.groups.scenes[served.receives[0].scene].cx.owner();
    let leads = || {
        let (object, _) = scene.selector(send.channel)?;
        let ty = scene.info.type_of(object).strip_pointer();
        Some(scene.is_of_receiver(object) && ty.declared() == owner)
    };
    room > 1
        && send.literal.is_none()
        && scene.cx.owner() != owner
        && leads().unwrap_or(false)
        && !after_recover(scene, send.node)
        && !holds_lock(scene, send)
}

/// Whether a condition above the send, or above the call of its function, asks for a field that whoever ends the
/// object sets, or a method of the object, which may tell of the end.
fn knows_the_end(served: &Served<'_, '_>, send: &Op) -> bool {
    let scene = &served.groups.scenes[send.scene];
    let Some(ender) = Scene::of(&scene.cx.package, served.ender()) else { return true };
    let fields = assigned_fields(&ender);
    let knows = |scene: &Scene<'_>, below: Node| {
        asks_before(scene, below, &fields) || asks_method(scene, below)
    };
    let by_caller = |caller: &Scene<'_>| {
        let mut calls = caller.calls(scene.cx.func);
        calls.any(|call| knows(caller, Node::Expr(call)))
    };
    knows(scene, send.node) || served.groups.scenes.iter().any(by_caller)
}

/// Whether an `if` above a node calls a method of the receiver to decide.
fn asks_method(scene: &Scene<'_>, below: Node) -> bool {
    let end = scene.span(below).start;
    let is_own = |node: Node| match node {
        Node::Expr(call) => scene.method_call(call).is_some_and(|(base, _)| {
            scene.receiver().is_some() && scene.local(base) == scene.receiver()
        }),
        _ => false,
    };
    scene.nodes.iter().filter(|&&node| scene.span(node).start < end).any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::If { init, cond, .. } = scene.file.stmt(stmt).kind else { return false };
        let asked = init.map(Node::Stmt).into_iter().chain([Node::Expr(cond)]);
        asked.into_iter().any(|asked| scene.file.descendants(asked).any(is_own))
    })
}
