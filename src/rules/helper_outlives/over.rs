//! Things that are over when the call is, although other goroutines have them too.
//!
//! A channel that the body closes on all ways out, and a group that it waits for, are of no use to anybody then. What is
//! left in a channel with room may still be taken: so whoever receives from it has to be waited for as well.

use rustc_hash::FxHashSet;

use super::make_of;
use crate::flow::{Start, Step, StepId};
use crate::index::{Builtin, Callee, LocalId, Type};
use crate::rules::scene::Scene;
use crate::summary::{At, Read};
use crate::syntax::{ExprId, ExprKind, Node};

/// Whether a thing is over on all ways on which the body that starts the goroutine leaves.
pub(super) fn is_over(scene: &Scene<'_>, read: &Read<'_>, go: At, thing: LocalId) -> bool {
    match read.function.index.underlying(&scene.info.local(thing).ty) {
        Type::Chan(..) => {
            let closes = |call: ExprId| {
                matches!(scene.info.callee(call), Callee::Builtin(Builtin::Close))
                    && scene.args(call).iter().any(|&arg| scene.local(arg) == Some(thing))
            };
            on_all_ways(read, go, closes)
                && (!may_have_room(scene, read, thing)
                    || receivers_are_over(scene, read, go, thing))
        }
        _ => is_awaited(scene, read, go, thing),
    }
}

/// Whether the body waits for a group on all ways.
fn is_awaited(scene: &Scene<'_>, read: &Read<'_>, go: At, group: LocalId) -> bool {
    let waits = |call: ExprId| {
        scene.method_call(call).is_some_and(|(base, name)| {
            name.name.as_str() == "Wait" && scene.local(base) == Some(group)
        })
    };
    let ty = scene.info.local(group).ty.strip_pointer();
    let is_group =
        ty.is_named("sync", "WaitGroup") || ty.is_named("golang.org/x/sync/errgroup", "Group");
    is_group && on_all_ways(read, go, waits)
}

/// Whether the body comes to such a call, or has deferred one, on all ways out after the `go`.
fn on_all_ways(read: &Read<'_>, go: At, is_it: impl Fn(ExprId) -> bool) -> bool {
    let cfg = &read.function.body(go.body).cfg;
    let file = read.function.file;
    let steps: FxHashSet<StepId> = cfg
        .steps()
        .filter(|&step| match cfg.step(step) {
            Step::Call(_) | Step::Defer(_) => cfg.step(step).call(file).is_some_and(&is_it),
            _ => false,
        })
        .collect();
    let deferred =
        |&step: &StepId| matches!(cfg.step(step), Step::Defer(_)) && cfg.dominates(step, go.step);
    !steps.is_empty()
        && (steps.iter().any(deferred)
            || !cfg.leaves_from(Start::After(go.step), &|step| steps.contains(&step)))
}

/// Whether a channel is made with room, or it is not known how.
fn may_have_room(scene: &Scene<'_>, read: &Read<'_>, channel: LocalId) -> bool {
    make_of(read, channel).is_none_or(|(_, make)| scene.args(make).len() != 1)
}

/// Whether the goroutines that do more with a channel than to send on it are waited for, but for the one that the `go`
/// starts.
fn receivers_are_over(scene: &Scene<'_>, read: &Read<'_>, go: At, channel: LocalId) -> bool {
    let owner = read.function.body(go.body).literal;
    let started = read.function.step(go).span(scene.file);
    scene.uses(channel).all(|used| {
        let node = Node::Expr(used);
        let sends = || {
            let around = scene.parent(node).and_then(|around| scene.transfer(around));
            around.is_some_and(|(to, receives)| !receives && scene.file.unparen(to) == used)
        };
        match scene.literal_below(owner, node) {
            Some(literal) if !started.contains(scene.span(node)) => {
                sends() || is_joined(scene, read, go, literal)
            }
            _ => true,
        }
    })
}

/// Whether the body waits for a goroutine: a literal that a group of it starts, or that counts one down.
fn is_joined(scene: &Scene<'_>, read: &Read<'_>, go: At, literal: ExprId) -> bool {
    let group = match scene.go_around(literal) {
        Some(_) => scene.nodes.iter().find_map(|&node| {
            let Node::Expr(call) = node else { return None };
            let ExprKind::Call { .. } = scene.file.expr(call).kind else { return None };
            let (group, name) = scene.method_call(call)?;
            let tells = name.name.as_str() == "Done"
                && scene.is_deferred(call)
                && scene.literal_around(node) == Some(literal);
            scene.local(group).filter(|_| tells)
        }),
        None => scene.given_to(literal).and_then(|call| {
            let (group, name) = scene.method_call(call)?;
            scene.local(group).filter(|_| name.name.as_str() == "Go")
        }),
    };
    group.is_some_and(|group| is_awaited(scene, read, go, group))
}
