//! A turn that a third channel hands out: who sends has taken one before its lock, and the receiver gives it back
//! when it has had the lock itself. So whoever sends finds the receiver, or room, without the lock. Or there are
//! several receivers, and one that waits for the lock leaves the others.

use crate::flow::{Cfg, StepId};
use crate::rules::evidence::counts_itself::starts_of;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::locks::Taken;
use crate::rules::scene::Scene;
use crate::syntax::{Node, StmtId};

/// Whether a loop starts the goroutines that receive.
pub(super) fn are_many(groups: &Groups<'_>, receivers: &[&Op]) -> bool {
    receivers.iter().any(|receiver| {
        let scene = &groups.scenes[receiver.scene];
        let in_loop =
            |scene: &Scene<'_>, start: StmtId| !scene.loops_around(Node::Stmt(start)).is_empty();
        match receiver.literal {
            Some(literal) => scene.go_around(literal).is_some_and(|start| in_loop(scene, start)),
            None => starts_of(scene)
                .is_some_and(|starts| starts.iter().any(|(by, start)| in_loop(by, *start))),
        }
    })
}

/// Whether each receiver gives back, after it has received, what a send under a lock has taken before that lock: room
/// in another channel, of as many places as the send finds at most, or a value of one with a single place.
pub(super) fn has_turn(
    groups: &Groups<'_>,
    (group, wait): (&Group, &Op),
    receivers: &[&Op],
    lock: &Taken,
) -> bool {
    let scene = &groups.scenes[wait.scene];
    let Some(cfg) = scene.graph(wait.literal) else { return false };
    let Some(held) = cfg.step_of_expr(lock.call) else { return false };
    let known = groups.all().iter().filter(|other| !std::ptr::eq(*other, group) && !other.open);
    known.filter(|other| hands_out(group, other)).any(|other| {
        let taken = |side: Act| {
            other.ops.iter().any(|op| {
                op.act == side
                    && op.select.is_none()
                    && op.same_body(wait)
                    && op
                        .step(scene, &cfg)
                        .is_some_and(|step| step != held && cfg.dominates(step, held))
            })
        };
        let given = |side: Act| {
            receivers.iter().all(|receiver| {
                let at = &groups.scenes[receiver.scene];
                at.graph(receiver.literal)
                    .is_some_and(|cfg| gives_back(at, &cfg, receiver, (other, side)))
            })
        };
        taken(Act::Send) && given(Act::Receive) || taken(Act::Receive) && given(Act::Send)
    })
}

/// Whether a channel lets no more through at a time than another one has places, or one.
fn hands_out(of: &Group, turns: &Group) -> bool {
    let places = |group: &Group| group.sizes().collect::<Vec<_>>();
    match (&places(of)[..], &places(turns)[..]) {
        (&[Some(room)], &[Some(turns)]) => turns <= room.max(1),
        (&[room], &[turns]) => room.is_none() && turns.is_none(),
        _ => false,
    }
}

/// Whether a receiver does the other thing with a channel before it comes to receive again.
fn gives_back(scene: &Scene<'_>, cfg: &Cfg, receiver: &Op, (turns, side): (&Group, Act)) -> bool {
    let receive: Option<StepId> = receiver.step(scene, cfg);
    receive.is_some_and(|receive| {
        turns.ops.iter().any(|op| {
            op.act == side
                && op.same_body(receiver)
                && op.step(scene, cfg).is_some_and(|step| cfg.reaches(receive, step))
        })
    })
}
