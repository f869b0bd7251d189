//! A channel that is closed by somebody while others may still send on it: the send panics.
//!
//! Evidence, one of eleven: the channel is registered with `signal.Notify`, and not taken back
//! before the close; it was made for one answer and handed away, and its maker closes it although
//! it may leave before the answer comes; a goroutine of its own, for which the closer does not
//! wait, sends on it and holds no lock that the closer takes; a callback that a constructor gives
//! away sends on it, and the closer does not take that back; it stays among those that others send on
//! (`element`); a goroutine closes it at its end, as others do, or untold (`ended`); somebody asks
//! whether it is closed, and sends when it is (`checked`); two ask whether they are to close it, and both do
//! (`asked`), one of them the object's own goroutine (`beside_owner`); or who may come twice closes it unasked
//! (`half_guarded`).

mod asked;
mod beside_owner;
mod checked;
mod element;
mod ended;
mod half_guarded;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Exit, Passing, Start, StepId, Walk};
use crate::index::{Builtin, Callee};
use crate::rules::evidence::caught::catches;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::leaver::{has_leaving_arm, holds_lock, leaving_arm};
use crate::rules::evidence::{confidence, first_line, label, wait_group};
use crate::rules::held::names_end;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtKind};

/// Reports the closes that others may not have waited for.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        let closes = group.ops.iter().filter(|op| op.act == Act::Close);
        for close in closes.filter(|close| is_ever_run(groups, close)) {
            let found = registered(groups, group, close)
                .or_else(|| answered(groups, group, close))
                .or_else(|| outlived(groups, group, close))
                .or_else(|| called_late(groups, group, close))
                .or_else(|| element::left(groups, group, close))
                .or_else(|| ended::by_each(groups, close))
                .or_else(|| ended::by_one(groups, group, close))
                .or_else(|| checked::unheeded(groups, group, close))
                .or_else(|| asked::too_early(groups, close))
                .or_else(|| beside_owner::at_once(groups, group, close))
                .or_else(|| half_guarded::again(groups, close));
            findings.extend(found);
        }
    }
}

/// Whether the close can happen: what a function defers that has no way out never does.
fn is_ever_run(groups: &Groups<'_>, close: &Op) -> bool {
    let scene = &groups.scenes[close.scene];
    let is_deferred = matches!(close.node, Node::Expr(call) if scene.is_deferred(call));
    let leaves = || scene.graph(close.literal).is_none_or(|cfg| cfg.exits().next().is_some());
    !is_deferred || leaves()
}

fn finding(groups: &Groups<'_>, close: &Op, message: String) -> Finding {
    let scene = &groups.scenes[close.scene];
    let mut finding = scene.cx.finding(close.span(scene), "closed here", message);
    finding.confidence = confidence(scene);
    finding.why = "a send on a closed channel panics, also in a `select`".to_owned();
    finding.help =
        "leave the channel open, and close another one that tells the senders to stop".to_owned();
    finding
}

/// Signals are delivered until `signal.Stop`.
fn registered(groups: &Groups<'_>, group: &Group, close: &Op) -> Option<Finding> {
    let notify = group.ops.iter().find(|op| op.act == Act::Notify)?;
    let scene = &groups.scenes[close.scene];
    let before = scene.span(close.node).start;
    // What is deferred after the close comes before it.
    let is_last = matches!(close.node, Node::Expr(close) if scene.is_deferred(close));
    let stopped = scene.nodes.iter().any(|&node| match node {
        Node::Expr(call) => {
            (is_last || scene.span(node).start < before)
                && scene.info.callee(call).qualified(scene.cx.index()).is_some_and(|name| {
                    name.path.as_str() == "os/signal"
                        && matches!(name.name.as_str(), "Stop" | "Reset")
                })
        }
        _ => false,
    });
    if stopped {
        return None;
    }
    let name = scene.text(close.channel);
    let message =
        format!("`{name}` is closed while signals are still sent to it: the next one panics");
    let mut finding = finding(groups, close, message);
    finding.labels.push(label(
        groups,
        notify,
        Role::Context,
        "signals are sent to it from here on",
    ));
    finding.help = format!(
        "`signal.Stop({name})` before the close, or a channel of its own to tell of the end"
    );
    Some(finding)
}

/// The answer comes late.
fn answered(groups: &Groups<'_>, group: &Group, close: &Op) -> Option<Finding> {
    let make = group.only_make()?;
    let mut receives =
        group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range)).peekable();
    receives.peek()?;
    let leaves = receives.all(|op| op.same_body(make) && has_leaving_arm(groups, group, op));
    let send = group.ops.iter().find(|op| op.act == Act::Send)?;
    let own = group.ops.iter().any(|op| op.act == Act::Send && op.scene == make.scene);
    if group.open
        || !leaves
        || own
        || may_recover(groups, send)
        || are_locked(groups, send, close)
        || waits_for_sender(groups, group, send)
        || !is_made(groups, make, close)
        || !comes_first(groups, group, make, close)
        || waits_for_counted(groups, send, make, close)
    {
        return None;
    }
    let scene = &groups.scenes[close.scene];
    let message = format!(
        "`{}` closes the channel for its answer when it leaves, and an answer that comes late panics",
        scene.name.name
    );
    let mut finding = finding(groups, close, message);
    finding.labels.push(label(groups, make, Role::Made, "made here"));
    finding.labels.push(label(groups, send, Role::Context, "the answer is sent here"));
    finding.help = "do not close it: a channel that nobody uses any more needs no close".to_owned();
    Some(finding)
}

/// Whether both a send and a close are made under a lock, so that the one can know of the other.
fn are_locked(groups: &Groups<'_>, send: &Op, close: &Op) -> bool {
    [send, close].into_iter().all(|op| holds_lock(&groups.scenes[op.scene], op))
}

/// Whether whoever receives leaves only when the goroutine that sends has come to its end, and closed a
/// channel by which it tells so.
fn waits_for_sender(groups: &Groups<'_>, group: &Group, send: &Op) -> bool {
    let sender = groups.scenes[send.scene].cx.func;
    let runs = |scene: &Scene<'_>| scene.cx.func == sender || scene.calls(sender).next().is_some();
    let mut receives = group.ops.iter().filter(|op| op.act == Act::Receive);
    receives.all(|op| {
        leaving_arm(groups, group, op)
            .and_then(|arm| groups.of_expr(op.scene, arm.channel))
            .is_some_and(|told| {
                let mut closes = told.ops.iter().filter(|op| op.act == Act::Close).peekable();
                closes.peek().is_some()
                    && closes.all(|op| {
                        let scene = &groups.scenes[op.scene];
                        let at_end = matches!(op.node, Node::Expr(call) if scene.is_deferred(call));
                        at_end && op.literal.is_none() && runs(scene)
                    })
            })
    })
}

/// Whether each goroutine that the function starts to send is counted, and waited for whatever way leads
/// from there to the close.
fn waits_for_counted(groups: &Groups<'_>, send: &Op, make: &Op, close: &Op) -> bool {
    let scene = &groups.scenes[make.scene];
    let Some(graph) = scene.graph(make.literal).filter(|_| close.same_body(make)) else {
        return false;
    };
    let Some(end) = scene.step_of(&graph, close.node) else { return false };
    let is_deferred = |node: Node| matches!(node, Node::Expr(call) if scene.is_deferred(call));
    let leaves = is_deferred(close.node);
    let after = scene.span(close.node).end;
    let waits = |counter: &str| -> Vec<StepId> {
        let waits = scene.nodes.iter().filter_map(|&node| {
            let Node::Expr(call) = node else { return None };
            let (base, name) = scene.method_call(call)?;
            // What is deferred later comes first.
            let in_time = !is_deferred(node) || leaves && scene.span(node).start > after;
            let waits = name.name.as_str() == "Wait" && scene.text(base) == counter && in_time;
            waits.then(|| scene.step_of(&graph, node)).flatten()
        });
        waits.collect()
    };
    let mut calls = scene.calls(groups.scenes[send.scene].cx.func).peekable();
    calls.peek().is_some()
        && calls.all(|call| {
            counted(scene, call).is_some_and(|(counter, start)| {
                let mut walk = Until { passed: waits(&counter), end, leaves };
                let from = scene.step_of(&graph, start);
                from.is_some_and(|from| !graph.finds(Start::After(from), (), &mut walk))
            })
        })
}

/// The counter that counts the goroutine which makes a call, as it is written, and where the goroutine is started.
fn counted(scene: &Scene<'_>, call: ExprId) -> Option<(String, Node)> {
    let literal = scene.literal_around(Node::Expr(call))?;
    let of_counter = |call: ExprId, method: &str| {
        wait_group::of_call(scene, call, method).map(|base| scene.text(base))
    };
    if let Some(start) = scene.given_to(literal) {
        return Some((of_counter(start, "Go")?, Node::Expr(start)));
    }
    let start = scene.go_around(literal)?;
    let counter = scene.nodes.iter().find_map(|&node| {
        let Node::Expr(done) = node else { return None };
        let own = scene.literal_around(node) == Some(literal) && scene.is_deferred(done);
        own.then(|| of_counter(done, "Done")).flatten()
    });
    Some((counter?, Node::Stmt(start)))
}

/// Whether a send that panics may be caught: its function recovers, or it is part of a literal that
/// another function calls, which may.
pub(super) fn may_recover(groups: &Groups<'_>, send: &Op) -> bool {
    let scene = &groups.scenes[send.scene];
    let recovers = scene.nodes.iter().any(|&node| match node {
        Node::Expr(call) => matches!(scene.info.callee(call), Callee::Builtin(Builtin::Recover)),
        _ => false,
    });
    let handed = send.literal.is_some_and(|literal| scene.given_to(literal).is_some());
    recovers || handed || catches(scene, send.literal)
}

/// Whether it is the variable that holds the new channel that is closed.
fn is_made(groups: &Groups<'_>, make: &Op, close: &Op) -> bool {
    if close.scene != make.scene {
        return false;
    }
    let scene = &groups.scenes[make.scene];
    let targets = scene.parent(make.node).and_then(|around| scene.assignment(around));
    let closed = scene.local(close.channel);
    closed.is_some() && targets.is_some_and(|(targets, _)| targets.contains(&closed))
}

/// Whether the close can come before the answer.
pub(super) fn comes_first(groups: &Groups<'_>, group: &Group, make: &Op, close: &Op) -> bool {
    let scene = &groups.scenes[make.scene];
    if !close.same_body(make) {
        return false;
    }
    let Some(graph) = scene.graph(make.literal) else { return false };
    let step = |op: &Op| scene.step_of(&graph, op.node);
    let (Some(from), Some(close)) = (step(make), step(close)) else { return false };
    let receives = group.ops.iter().filter(|op| op.act == Act::Receive && op.same_body(make));
    let mut walk = Until { passed: receives.filter_map(step).collect(), end: close, leaves: false };
    graph.finds(Start::After(from), (), &mut walk)
}

/// A walk to a step, or out of the function, past none of some others.
struct Until {
    passed: Vec<StepId>,
    end: StepId,
    leaves: bool,
}

impl Walk for Until {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        match step {
            step if step == self.end => Passing::Found,
            step if self.passed.contains(&step) => Passing::Drop,
            _ => Passing::On(()),
        }
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        self.leaves && !matches!(exit, Exit::Never(_))
    }
}

/// A goroutine that nobody waits for sends.
fn outlived(groups: &Groups<'_>, group: &Group, close: &Op) -> Option<Finding> {
    let closer = &groups.scenes[close.scene];
    // A literal may be run by whoever sends.
    if close.literal.is_some() || waits(closer) || holds_lock(closer, close) {
        return None;
    }
    let send = group.ops.iter().find(|op| {
        let scene = &groups.scenes[op.scene];
        op.act == Act::Send
            && op.scene != close.scene
            && op.literal.is_none()
            && op.select.is_some()
            && !holds_lock(scene, op)
            && !tells_its_end(scene)
    })?;
    let sender = &groups.scenes[send.scene];
    let closes = group.ops.iter().filter(|op| op.act == Act::Close).count();
    let started = groups.scenes.iter().enumerate().find_map(|(number, scene)| {
        scene.starts(sender.cx.func).next().map(|(stmt, _)| (number, Node::Stmt(stmt)))
    });
    let (number, node) = started?;
    let starter = &groups.scenes[number];
    // The sender may be the only one who calls what closes: then it has come to its own end.
    let called_by = |scene: &&Scene<'_>| scene.calls(closer.cx.func).next().is_some();
    let mut callers = groups.scenes.iter().filter(called_by).peekable();
    let own = callers.peek().is_some() && callers.all(|scene| scene.cx.func == sender.cx.func);
    if closes != 1
        || own
        || number == close.scene && starter.literal_around(node) == close.literal
        || waits(starter)
        || hears_of_end(groups, group, close, &[send.scene, number])
    {
        return None;
    }
    let name = closer.text(close.channel);
    let message = format!(
        "`{name}` is closed while a goroutine of `{}` may still send on it, which panics",
        sender.name.name
    );
    let started = "the goroutine starts here, and nobody waits for it";
    Some(told(groups, close, send, message, (starter, node, started)))
}

/// What is told of a sender that something lets run on: `started` is where, and how.
fn told(
    groups: &Groups<'_>,
    close: &Op,
    send: &Op,
    message: String,
    (starter, node, started): (&Scene<'_>, Node, &str),
) -> Finding {
    let mut finding = finding(groups, close, message);
    finding.labels.push(Label {
        location: starter.cx.location(first_line(starter, starter.span(node))),
        role: Role::Started,
        message: started.to_owned(),
    });
    finding.labels.push(label(groups, send, Role::Context, "it sends here"));
    finding
}

/// A callback sends that whoever has it calls when it likes.
fn called_late(groups: &Groups<'_>, group: &Group, close: &Op) -> Option<Finding> {
    let make = group.only_make()?;
    let closer = &groups.scenes[close.scene];
    let maker = &groups.scenes[make.scene];
    let closes = group.ops.iter().filter(|op| op.act == Act::Close).count();
    // Run on the spot it would be stuck at once: its maker cannot receive meanwhile.
    let is_alone = make.act == Act::Make(Some(0))
        && make.literal.is_none()
        && group.ops.iter().all(|op| op.scene != make.scene || op.same_body(make))
        && !group.ops.iter().any(|op| op.scene == make.scene && op.act == Act::Receive);
    if !is_alone
        || closes != 1
        || close.scene == make.scene
        || close.literal.is_some()
        || matches!(close.node, Node::Expr(call) if closer.is_deferred(call))
        || waits(closer)
        || takes_back(closer, close)
        || holds_lock(closer, close)
    {
        return None;
    }
    let send = group.ops.iter().find(|op| {
        let scene = &groups.scenes[op.scene];
        op.act == Act::Send
            && op.scene != close.scene
            && op.literal.is_none()
            && op.select.is_none()
            && !holds_lock(scene, op)
            && !tells_its_end(scene)
            && !may_recover(groups, op)
            && is_bare(scene, op)
    })?;
    let sender = &groups.scenes[send.scene];
    let call = callback_of(maker, sender)?;
    let name = closer.text(close.channel);
    let message = format!(
        "`{name}` is closed while a callback may still send on it in `{}`, which panics",
        sender.name.name
    );
    let given = "the callback is given away here, and never taken back";
    Some(told(groups, close, send, message, (maker, Node::Expr(call), given)))
}

/// Whether nothing decides that an operation is done.
fn is_bare(scene: &Scene<'_>, op: &Op) -> bool {
    scene.around(op.node).all(|node| match node {
        Node::Stmt(stmt) => {
            matches!(scene.file.stmt(stmt).kind, StmtKind::Block(_) | StmtKind::Send { .. })
        }
        _ => true,
    })
}

/// Whether a function ends something before it closes a channel, or has it ended, that may wait for
/// callbacks.
fn takes_back(scene: &Scene<'_>, close: &Op) -> bool {
    let before = scene.span(close.node).start;
    scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        let Some((_, name)) = scene.method_call(call) else { return false };
        let name = name.name;
        scene.span(node).start < before
            && (names_end(name) || TAKES_BACK.iter().any(|start| name.as_str().starts_with(start)))
    })
}

/// How methods are called that take a callback back, or wait for what calls it.
const TAKES_BACK: [&str; 8] =
    ["Delete", "Deregister", "Drain", "Join", "Remove", "Un", "Wait", "Graceful"];

/// The call of a function or method that is not of the run, to which `maker` gives a literal that does
/// nothing but call `sender` in the end, at once or as a part of a struct.
fn callback_of(maker: &Scene<'_>, sender: &Scene<'_>) -> Option<ExprId> {
    maker.calls(sender.cx.func).find_map(|call| {
        let literal = maker.literal_around(Node::Expr(call))?;
        let given =
            maker.around(Node::Expr(literal)).take_while(|node| matches!(node, Node::Expr(_)));
        let mut calls = given.filter_map(|node| match node {
            Node::Expr(expr) if !maker.args(expr).is_empty() => Some(expr),
            _ => None,
        });
        calls.find(|&call| {
            maker.literal_around(Node::Expr(call)).is_none() && is_of_others(maker, call)
        })
    })
}

/// Whether what is called is declared outside the run, or not known.
fn is_of_others(scene: &Scene<'_>, call: ExprId) -> bool {
    let own = scene.cx.func.package;
    match scene.info.callee(call) {
        Callee::Func(id) => {
            id.package != own && !scene.cx.index().imports_in_run(own).contains(&id.package)
        }
        Callee::InterfaceMethod(_) | Callee::External(_) | Callee::Unknown { .. } => true,
        _ => false,
    }
}

/// Whether a function waits for others.
fn waits(scene: &Scene<'_>) -> bool {
    calls(scene, &["Wait"])
}

/// Whether the closer, or what it calls, has received by then what the sender or who starts it sends or closes: that
/// it has come to its end.
fn hears_of_end(groups: &Groups<'_>, group: &Group, close: &Op, senders: &[usize]) -> bool {
    let closer = &groups.scenes[close.scene];
    let before = closer.span(close.node).start;
    let is_own = |op: &Op| op.scene == close.scene && closer.span(op.node).start < before;
    let is_called = |op: &Op| {
        let called = &groups.scenes[op.scene];
        closer.calls(called.cx.func).any(|call| closer.span(Node::Expr(call)).start < before)
    };
    let mut others = groups.all().iter().filter(|other| !std::ptr::eq(*other, group));
    others.any(|other| {
        let tells =
            |op: &Op| senders.contains(&op.scene) && matches!(op.act, Act::Send | Act::Close);
        let hears =
            |op: &Op| matches!(op.act, Act::Receive | Act::Range) && (is_own(op) || is_called(op));
        other.ops.iter().any(tells) && other.ops.iter().any(hears)
    })
}

/// Whether a function tells a counter that it is over.
fn tells_its_end(scene: &Scene<'_>) -> bool {
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(call) => wait_group::of_call(scene, call, "Done").is_some(),
        _ => false,
    })
}

fn calls(scene: &Scene<'_>, names: &[&str]) -> bool {
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(call) => {
            scene.method_call(call).is_some_and(|(_, name)| names.contains(&name.name.as_str()))
        }
        _ => false,
    })
}
