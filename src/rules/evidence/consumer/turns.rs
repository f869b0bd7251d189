//! Consumers and senders that take turns: when the consumer leaves, the sender is not at its send.

use crate::flow::{Cfg, StepId};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::traffic::received_from;
use crate::rules::scene::Scene;
use crate::syntax::ExprId;

/// Whether a send comes only once in answer to what is received from another channel: who asks for each
/// value has room for it.
pub(super) fn is_asked_for(groups: &Groups<'_>, send: &Op) -> bool {
    let scene = &groups.scenes[send.scene];
    let Some(cfg) = scene.graph(send.literal) else { return false };
    let Some(at) = scene.step_of(&cfg, send.node) else { return false };
    let is_sent_elsewhere = |channel: ExprId| {
        let group = groups.of_expr(send.scene, scene.file.unparen(channel));
        group.is_some_and(|group| {
            group.ops.iter().any(|op| op.act == Act::Send && op.scene != send.scene)
        })
    };
    let asks = |step: StepId| received_from(scene, &cfg, step).is_some_and(is_sent_elsewhere);
    let asked: Vec<StepId> = cfg.steps().filter(|&step| asks(step)).collect();
    asked.iter().any(|&one| !cfg.reaches_without(at, at, &|step| step == one))
}

/// Whether a consumer closes a channel from which the body of a send receives in each turn, with nothing
/// beside: the two take turns, and the sender is not at its send when the consumer leaves.
pub(super) fn takes_turns(groups: &Groups<'_>, receive: &Op, send: &Op) -> bool {
    let scene = &groups.scenes[send.scene];
    groups.all().iter().any(|group| {
        let has = |is: &dyn Fn(&Op) -> bool| group.ops.iter().any(is);
        has(&|op| op.act == Act::Close && op.same_body(receive))
            && has(&|op| {
                op.act == Act::Receive
                    && op.select.is_none()
                    && op.same_body(send)
                    && !scene.loops_around(op.node).is_empty()
            })
    })
}

/// Whether a consumer asks for each value by another channel that it alone sends on, and has received the answer
/// whatever way it goes from there: whoever sends does so once for each that it was asked.
pub(super) fn answers_each(groups: &Groups<'_>, group: &Group, receive: &Op, send: &Op) -> bool {
    let (consumer, sender) = (&groups.scenes[receive.scene], &groups.scenes[send.scene]);
    let (Some(own), Some(cfg)) = (consumer.graph(receive.literal), sender.graph(send.literal))
    else {
        return false;
    };
    let of_group = |act: Act| group.ops.iter().filter(move |op| op.act == act);
    let steps_in = |op: &Op, scene: &Scene<'_>, cfg: &Cfg| scene.step_of(cfg, op.node);
    if !of_group(Act::Send).all(|op| op.same_body(send)) {
        return false;
    }
    let sends: Vec<StepId> =
        of_group(Act::Send).filter_map(|op| steps_in(op, sender, &cfg)).collect();
    let received: Vec<StepId> = of_group(Act::Receive)
        .filter(|op| op.same_body(receive))
        .filter_map(|op| steps_in(op, consumer, &own))
        .collect();
    let is_answered = |asked: &Op| {
        let Some(from) = steps_in(asked, consumer, &own) else { return false };
        let receives = |step: StepId| received.contains(&step);
        asked.same_body(receive)
            && own.escapes(from, &receives).is_empty()
            && !own.reaches_without(from, from, &receives)
    };
    let asks = |step: StepId| {
        let channel = received_from(sender, &cfg, step)?;
        let asking = groups.of_expr(send.scene, sender.file.unparen(channel))?;
        let mut asked = asking.ops.iter().filter(|op| op.act == Act::Send).peekable();
        let all = !asking.open && asked.peek().is_some() && asked.all(is_answered);
        all.then_some(step)
    };
    let is_one_for_each = |one: StepId| {
        sends.iter().all(|&from| {
            cfg.dominates(one, from)
                && sends.iter().all(|&to| !cfg.reaches_without(from, to, &|step| step == one))
        })
    };
    cfg.steps().filter_map(asks).any(is_one_for_each)
}
