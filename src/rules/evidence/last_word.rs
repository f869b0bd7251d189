//! A channel on which the sender of another one says that nothing more comes: who leaves for it misses
//! nothing.
//!
//! `q.found <- v` in one branch and `q.missed <- k` in the other, `close(s.end)` behind `s.all.Wait()`: after
//! what is sent or closed there the one goroutine that does so sends on the other channel no more, or all that
//! do are done. Where several goroutines each say so, who leaves has counted as many words as it has started of
//! them.

use crate::flow::{Step, StepId};
use crate::index::{Callee, LocalId, Type};
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
                    || is_handed_out(groups, send) && is_behind_unknown(groups, word)
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

/// Whether the word is said behind a wait for a group that a sender leaves when it returns, or that all who call it
/// leave after that.
fn is_awaited(groups: &Groups<'_>, send: &Op, word: &Op) -> bool {
    let (scene, sender) = (&groups.scenes[word.scene], &groups.scenes[send.scene]);
    let Some(cfg) = scene.graph(word.literal) else { return false };
    let Some(at) = word.step(scene, &cfg) else { return false };
    let waits = scene.nodes.iter().filter(|&&node| {
        let step = scene.step_of(&cfg, node);
        scene.literal_around(node) == word.literal
            && step.is_some_and(|step| step != at && cfg.dominates(step, at))
    });
    waits.filter_map(|&node| group_of(scene, node, "Wait")).any(|group| {
        let leaves = |node: &Node| group_of(sender, *node, "Done").as_ref() == Some(&group);
        sender.nodes.iter().any(|node| leaves(node) && is_deferred(sender, *node))
            || is_called_within(sender, &group)
    })
}

/// Whether a send is one of a function that is only handed to others, who run it when they do.
fn is_handed_out(groups: &Groups<'_>, send: &Op) -> bool {
    let scene = &groups.scenes[send.scene];
    match send.literal {
        Some(literal) => match scene.parent(Node::Expr(literal)) {
            Some(Node::Expr(call)) => scene.args(call).contains(&literal),
            _ => false,
        },
        None => {
            let uses = scene.cx.package.uses();
            let is_named = uses.named.get(&scene.cx.func).is_some_and(|all| !all.is_empty());
            is_named && !uses.calls.contains_key(&scene.cx.func)
        }
    }
}

/// Whether a word is said behind a call of code out of sight: what was handed to that, it may have run until then.
fn is_behind_unknown(groups: &Groups<'_>, word: &Op) -> bool {
    let scene = &groups.scenes[word.scene];
    let Some(cfg) = scene.graph(word.literal) else { return false };
    let Some(at) = word.step(scene, &cfg) else { return false };
    cfg.steps().any(|step| {
        let Step::Call(call) = cfg.step(step) else { return false };
        let callee = scene.info.callee(call);
        let is_unknown = matches!(
            callee,
            Callee::InterfaceMethod(_) | Callee::Value(_) | Callee::Unknown { .. }
        );
        is_unknown && step != at && cfg.dominates(step, at)
    })
}

/// The last name of what a call is a method of, if the method has this name.
fn group_of(scene: &Scene<'_>, node: Node, method: &str) -> Option<String> {
    let Node::Expr(call) = node else { return None };
    let (base, name) = scene.method_call(call)?;
    let last = |text: String| text.rsplit('.').next().unwrap_or_default().to_owned();
    (name.name.as_str() == method).then(|| last(scene.text(base)))
}

/// Whether a node stands in a statement that defers it.
fn is_deferred(scene: &Scene<'_>, node: Node) -> bool {
    scene.around(node).any(|around| {
        matches!(around, Node::Stmt(stmt)
            if matches!(scene.file.stmt(stmt).kind, StmtKind::Defer(_)))
    })
}

/// Whether all who call a function, and wait for it, leave the group of this name later.
fn is_called_within(called: &Scene<'_>, group: &str) -> bool {
    let package = &called.cx.package;
    let uses = package.uses();
    let calls = uses.calls.get(&called.cx.func).map_or(&[][..], Vec::as_slice);
    !calls.is_empty()
        && calls.iter().all(|&(func, call)| {
            Scene::of(package, func).is_some_and(|caller| {
                let body = caller.literal_around(Node::Expr(call));
                caller.go_of(call).is_none()
                    && caller.nodes.iter().any(|&node| {
                        let is_later = caller.span(node).start > caller.span(Node::Expr(call)).end
                            || is_deferred(&caller, node);
                        is_later
                            && caller.literal_around(node) == body
                            && group_of(&caller, node, "Done").as_deref() == Some(group)
                    })
            })
        })
}
