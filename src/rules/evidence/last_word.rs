//! A channel on which the sender of another one says that nothing more comes: who leaves for it misses
//! nothing.
//!
//! `q.found <- v` in one branch and `q.missed <- k` in the other, `close(s.end)` behind `s.all.Wait()`: after
//! what is sent or closed there the one goroutine that does so sends on the other channel no more, or all that
//! do are done. Where several goroutines each say so, who leaves has counted as many words as it has started of
//! them.

use crate::flow::StepId;
use crate::index::{LocalId, Type};
use crate::rules::conditions::locals_in;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// Whether nothing is sent on a channel any more once the receiver of it, which stands in a `select`, has received
/// from the channel of another arm.
pub(super) fn is_last_word(
    groups: &Groups<'_>,
    group: &Group,
    receive: &Op,
    channel: ExprId,
) -> bool {
    let Some(other) = groups.of_expr(receive.scene, channel).filter(|other| !other.open) else {
        return false;
    };
    let sends = || group.ops.iter().filter(|op| op.act == Act::Send);
    let mut words = other.ops.iter().filter(|op| matches!(op.act, Act::Send | Act::Close));
    words.clone().next().is_some()
        && words.all(|word| {
            sends().all(|send| {
                is_sent_by_one(groups, group, receive, send) && is_over(groups, send, word)
                    || is_awaited(groups, send, word)
                    || is_counted(groups, receive, send, word, channel)
            })
        })
}

/// Whether who receives has made the channel, and starts one goroutine that sends, or none: then it has asked one.
/// On a channel that is there for longer others may send at the same time.
fn is_sent_by_one(groups: &Groups<'_>, group: &Group, receive: &Op, send: &Op) -> bool {
    let receiver = &groups.scenes[receive.scene];
    let sender = &groups.scenes[send.scene];
    let starts: Vec<Node> = match send.scene == receive.scene {
        true => send.literal.map(Node::Expr).into_iter().collect(),
        false => receiver.calls(sender.cx.func).map(Node::Expr).collect(),
    };
    let made = group.only_make().filter(|make| make.scene == receive.scene);
    let is_in_turns = |start: &Node| {
        receiver.loops_around(*start).into_iter().any(|turns| {
            let turns = receiver.span(Node::Stmt(turns));
            made.is_some_and(|make| !turns.contains(make.span(receiver)))
        })
    };
    made.is_some() && starts.len() <= 1 && !starts.iter().any(is_in_turns)
}

/// Whether a goroutine that has said its word does not come to a send any more, until it takes up another request.
fn is_over(groups: &Groups<'_>, send: &Op, word: &Op) -> bool {
    let scene = &groups.scenes[word.scene];
    if send.scene != word.scene {
        return false;
    }
    let is_deferred = matches!(word.node, Node::Expr(call) if scene.is_deferred(call));
    if !send.same_body(word) {
        // What a call runs that gives the word has been run by then.
        return word.span(scene).contains(send.span(scene)) || is_last_deed(scene, send, word);
    }
    let Some(cfg) = scene.graph(word.literal) else { return false };
    let (Some(from), Some(to)) = (word.step(scene, &cfg), send.step(scene, &cfg)) else {
        return false;
    };
    let request = root_variable(scene, send.channel).flatten();
    let taken_up = request.map_or_else(Vec::new, |it| definitions(scene, word.literal, it));
    is_deferred || !cfg.reaches_without(from, to, &|step| taken_up.contains(&step))
}

/// Whether the word is said by a function that the body of the send defers.
fn is_last_deed(scene: &Scene<'_>, send: &Op, word: &Op) -> bool {
    let Some(literal) = word.literal else { return false };
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return false };
    scene.is_deferred(call) && scene.literal_around(Node::Expr(call)) == send.literal
}

/// Where a body gives a variable its values.
fn definitions(scene: &Scene<'_>, body: Option<ExprId>, variable: LocalId) -> Vec<StepId> {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return Vec::new() };
    let Some(body) = read.function.body_of(body) else { return Vec::new() };
    let all = read.function.definitions_of(variable).filter_map(|it| it.at);
    all.filter(|at| at.body == body).map(|at| at.step).collect()
}

/// Whether each of several senders says its word when it sends no more, and who receives stays in a loop until it
/// has counted one of each: the loop in which it starts them has as many turns.
fn is_counted(groups: &Groups<'_>, receive: &Op, send: &Op, word: &Op, channel: ExprId) -> bool {
    let receiver = &groups.scenes[receive.scene];
    let around = |node: Node| receiver.loops_around(node).first().copied();
    let mut starts = receiver.starts(groups.scenes[send.scene].cx.func);
    let (Some((start, _)), None) = (starts.next(), starts.next()) else { return false };
    let (Some(turns), Some(starting)) = (around(receive.node), around(Node::Stmt(start))) else {
        return false;
    };
    word.act == Act::Send
        && is_over(groups, send, word)
        && counts_up(receiver, turns, channel)
        && bounds(receiver, turns).any(|bound| bounds(receiver, starting).any(|it| it == bound))
}

/// Whether the arm of a `select` that receives from a channel counts up what the loop around asks for.
fn counts_up(scene: &Scene<'_>, turns: StmtId, channel: ExprId) -> bool {
    let StmtKind::For { cond: Some(asked), .. } = scene.file.stmt(turns).kind else { return false };
    let arm = scene.around(Node::Expr(channel)).find_map(|around| match around {
        Node::Stmt(_) => Some(scene.select_of(around)),
        _ => None,
    });
    let Some((select, place)) = arm.flatten() else { return false };
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return false };
    let arm = clauses[place as usize].span;
    scene.nodes.iter().any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::IncDec { operand, .. } = scene.file.stmt(stmt).kind else { return false };
        let counted = scene.local(operand);
        arm.contains(scene.span(node))
            && counted.is_some_and(|counted| scene.mentions(Node::Expr(asked), counted))
    })
}

/// What a loop compares its turns with, if that does not change.
fn bounds<'s>(scene: &'s Scene<'_>, turns: StmtId) -> impl Iterator<Item = String> + 's {
    let (sides, is_length) = match scene.file.stmt(turns).kind {
        StmtKind::For { cond: Some(cond), .. } => match scene.file.expr(cond).kind {
            ExprKind::Binary { left, right, .. } => (vec![left, right], false),
            _ => (Vec::new(), false),
        },
        StmtKind::Range { subject, .. } => {
            (vec![subject], !matches!(scene.info.type_of(subject), Type::Basic(_)))
        }
        _ => (Vec::new(), false),
    };
    let read = scene.cx.summaries().read(scene.cx.func);
    let stays = move |&side: &ExprId| {
        let Some(read) = &read else { return false };
        let mut locals = locals_in(&read.function, Node::Expr(side)).into_iter();
        scene.info.constant(side).is_some()
            || locals.all(|local| read.function.has_one_value(local))
    };
    sides.into_iter().filter(stays).map(move |side| match is_length {
        true => format!("len({})", scene.text(side)),
        false => scene.text(side),
    })
}

/// Whether the word is said behind a wait for a group that a sender leaves when it returns.
fn is_awaited(groups: &Groups<'_>, send: &Op, word: &Op) -> bool {
    let (scene, sender) = (&groups.scenes[word.scene], &groups.scenes[send.scene]);
    let last = |text: String| text.rsplit('.').next().unwrap_or_default().to_owned();
    let group_of = |scene: &Scene<'_>, node: Node, name: &str| {
        let Node::Expr(call) = node else { return None };
        let (base, method) = scene.method_call(call)?;
        (method.name.as_str() == name).then(|| last(scene.text(base)))
    };
    let Some(cfg) = scene.graph(word.literal) else { return false };
    let Some(at) = word.step(scene, &cfg) else { return false };
    let waits = scene.nodes.iter().filter(|&&node| {
        let step = scene.step_of(&cfg, node);
        scene.literal_around(node) == word.literal
            && step.is_some_and(|step| step != at && cfg.dominates(step, at))
    });
    waits.filter_map(|&node| group_of(scene, node, "Wait")).any(|group| {
        sender.nodes.iter().any(|&node| {
            let is_last = || {
                sender.around(node).any(|around| {
                    matches!(around, Node::Stmt(stmt)
                        if matches!(sender.file.stmt(stmt).kind, StmtKind::Defer(_)))
                })
            };
            group_of(sender, node, "Done").as_ref() == Some(&group) && is_last()
        })
    })
}
