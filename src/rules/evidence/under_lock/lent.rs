//! A lock that a goroutine keeps while it sends to whoever called, who may need it before he receives once more.
//!
//! Evidence: a method makes an unbuffered channel, starts a goroutine that sends on it again and again, and gives the
//! channel to its caller and to nobody else. The goroutine takes a lock of the method's receiver and gives it back in a
//! `defer`; a send waits for nothing beside but the end of the caller's context. Another exported method of the type
//! takes the same lock: a caller that comes to it between two receives waits for the goroutine, which waits for him.

use crate::diagnostic::Finding;
use crate::rules::evidence::departed::only_context_beside;
use crate::rules::evidence::first_line;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{Locks, MAX_CALLS, Taken, gives_back, taken};
use crate::rules::evidence::under_lock::{Other, tell};
use crate::rules::scene::{Scene, serves_tests};
use crate::source::Location;
use crate::syntax::{ExprId, Node, StmtKind, Symbol};

/// Reports the sends to a caller under a lock that he may want.
pub(super) fn check(groups: &Groups<'_>, locks: &Locks, findings: &mut Vec<Finding>) {
    findings.extend(groups.all().iter().filter_map(|group| check_group(groups, group, locks)));
}

fn check_group(groups: &Groups<'_>, group: &Group, locks: &Locks) -> Option<Finding> {
    let make = group.only_make().filter(|make| make.act == Act::Make(Some(0)))?;
    let scene = &groups.scenes[make.scene];
    scene.receiver()?;
    let mut sends = group.ops.iter().filter(|op| op.act == Act::Send && op.scene == make.scene);
    let (send, lock) = sends.find_map(|send| {
        let goroutine = goroutine_around(scene, send)?;
        let is_lent = comes_again(scene, send, goroutine)
            && (send.select.is_none() || only_context_beside(scene, send).is_some())
            && is_given(scene, make, send.channel);
        let lock = kept(scene, goroutine).filter(|_| is_lent)?;
        (lock.location.span.start < scene.span(send.node).start).then_some((send, lock))
    })?;
    let (name, needs) = wanted_by(scene, locks, &lock)?;
    let what = format!("this send on `{}`", scene.text(send.channel));
    let who = format!("a receiver that calls `{name}`");
    let other = Other { who: &who, when: "before it receives once more", needs };
    Some(tell(scene, scene, first_line(scene, send.span(scene)), &lock, &what, &other))
}

/// The outermost literal around a send, if a `go` statement starts it.
fn goroutine_around(scene: &Scene<'_>, send: &Op) -> Option<ExprId> {
    let mut literal = send.literal?;
    while let Some(outer) = scene.literal_around(Node::Expr(literal)) {
        literal = outer;
    }
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return None };
    scene.go_of(call).map(|_| literal)
}

/// Whether a send is made again and again: in a loop, or in a literal of the goroutine that others call.
fn comes_again(scene: &Scene<'_>, send: &Op, goroutine: ExprId) -> bool {
    send.literal != Some(goroutine) || !scene.loops_around(send.node).is_empty()
}

/// Whether the body that makes a channel returns it.
fn is_given(scene: &Scene<'_>, make: &Op, channel: ExprId) -> bool {
    let channel = scene.local(channel);
    channel.is_some()
        && scene.nodes.iter().any(|&node| {
            let Node::Stmt(stmt) = node else { return false };
            let StmtKind::Return(values) = &scene.file.stmt(stmt).kind else { return false };
            scene.literal_around(node) == make.literal
                && values.iter().any(|&value| scene.local(value) == channel)
        })
}

/// The lock of the method's receiver that a goroutine takes and keeps to its end.
fn kept(scene: &Scene<'_>, goroutine: ExprId) -> Option<Taken> {
    let own = |call: ExprId| scene.literal_around(Node::Expr(call)) == Some(goroutine);
    let calls = || {
        scene.nodes.iter().filter_map(move |&node| match node {
            Node::Expr(call) if own(call) => Some(call),
            _ => None,
        })
    };
    calls().find_map(|call| {
        let lock = taken(scene, call)?;
        let (base, _) = scene.method_call(call)?;
        let of_receiver = root_variable(scene, base) == Some(scene.receiver());
        let mut gives = calls().filter(|&other| gives_back(scene, other, lock.object)).peekable();
        (of_receiver && gives.peek().is_some() && gives.all(|give| scene.is_deferred(give)))
            .then_some(lock)
    })
}

/// Another exported method of the type that takes a lock: its name, and where.
fn wanted_by(scene: &Scene<'_>, locks: &Locks, lock: &Taken) -> Option<(Symbol, Location)> {
    let index = scene.cx.index();
    let owner = scene.cx.owner()?;
    let package = index.package(scene.cx.func.package);
    let methods = package.funcs.iter().filter(|func| {
        func.receiver.and_then(|receiver| receiver.ty) == Some(owner)
            && func.id != scene.cx.func
            && func.name.is_exported()
            && !serves_tests(index, func.id)
    });
    let mut methods = methods.filter_map(|func| {
        let needs = locks.takes(&scene.cx.package, func.id, lock, MAX_CALLS)?;
        Some((func.name, needs))
    });
    methods.next()
}
