//! A consumer that puts more into its own channel.
//!
//! Evidence: a channel with bounded room is made in one place and known to the package only; one body receives
//! from it; and between two receives that body sends on it with nothing beside, or only the end of all, itself
//! or by a method of its own receiver, in each turn of a loop over any number of things, which stands in it or
//! in what it calls for its receiver. Others send on it too, so nothing says that there is room for
//! them: once the channel is full the consumer waits for itself. What it has taken from there and puts
//! back is no more than there was, and is not told; nor is what a method was given.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Builtin, Callee, FuncId, LocalKind, Type};
use crate::rules::evidence::consumer::bound;
use crate::rules::evidence::first_line;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::own_end::is_unconditional;
use crate::rules::evidence::own_receiver::{
    MAX_CALLS, OwnSend, comes_in_turn, is_send, method, sent_below, sent_by,
};
use crate::rules::scene::{Scene, naming};
use crate::source::Span;
use crate::summary::Source;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Reports the sends of consumers to themselves.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open && group.recipients.is_empty()) {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let make = group.only_make().filter(|make| make.act != Act::Make(Some(0)))?;
    let mut receives = group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range));
    let receive = receives.next()?;
    let notified = group.ops.iter().any(|op| op.act == Act::Notify);
    let mut sends = group.ops.iter().filter(|op| op.act == Act::Send);
    let fed = sends.any(|op| !op.same_body(receive));
    if notified || !fed || !receives.all(|op| receives_for(groups, receive, op)) {
        return None;
    }
    if !is_bounded(&groups.scenes[make.scene], make) {
        return None;
    }
    let scene = &groups.scenes[receive.scene];
    let cfg = scene.graph(receive.literal)?;
    let from = receive.step(scene, &cfg)?;
    let is_between = |node: Node| {
        let step = scene.step_of(&cfg, node);
        step.is_some_and(|step| cfg.reaches(from, step) && cfg.reaches(step, from))
    };
    let is_told = |node: Node| is_between(node) && repeats(scene, group, receive, node);
    let itself = group.ops.iter().find(|op| {
        is_send(groups, op)
            && op.same_body(receive)
            && is_same(scene, make, receive, op)
            && is_told(op.node)
            && !asks_for_room(scene, op.channel)
    });
    if let Some(send) = itself {
        return Some(tell(groups, make, receive, scene, send.node, send));
    }
    let receiver = scene.receiver().filter(|_| scene.is_of_receiver(receive.channel))?;
    let is_whole = |sent: &Op| {
        let sender = &groups.scenes[sent.scene];
        sender.is_of_receiver(sent.channel) && !asks_for_room(sender, sent.channel)
    };
    scene.methods_in_turn(receive.literal).find_map(|(call, callee, base)| {
        let node = Node::Expr(call);
        if scene.local(base) != Some(receiver) || !is_between(node) {
            return None;
        }
        if !repeats(scene, group, receive, node) {
            let below = below(groups, group, scene, callee, MAX_CALLS)?;
            return is_whole(below.send).then(|| {
                let told = tell(groups, make, receive, &below.scene, below.at, below.send);
                with_caller(told, scene, node)
            });
        }
        let sent = sent_below(groups, group, scene, callee, MAX_CALLS, &comes_in_turn)?;
        is_whole(sent).then(|| tell(groups, make, receive, scene, node, sent))
    })
}

/// Whether an operation receives in the body that `receive` stands in, or takes what is there in a method that
/// only this body runs.
fn receives_for(groups: &Groups<'_>, receive: &Op, op: &Op) -> bool {
    if op.same_body(receive) {
        return true;
    }
    let (scene, home) = (&groups.scenes[op.scene], &groups.scenes[receive.scene]);
    let takes = op.select.is_some_and(|(select, _)| {
        matches!(&scene.file.stmt(select).kind, StmtKind::Select(clauses)
            if clauses.iter().any(|clause| clause.comm.is_none()))
    });
    takes && op.literal.is_none() && is_run_by(home, receive, scene.cx.func, MAX_CALLS)
}

/// Whether a method is called in turn only, by the body of a receive or by what is run so.
fn is_run_by(home: &Scene<'_>, receive: &Op, func: FuncId, depth: u32) -> bool {
    let declared = home.cx.index().func(func);
    let Some(depth) = depth.checked_sub(1) else { return false };
    let mut called = false;
    let alone = !declared.name.is_exported()
        && naming(&home.cx, declared.name).all(|other| {
            let is_home = other.cx.func == home.cx.func;
            let owner = receive.literal.filter(|_| is_home);
            let of_func = other.methods_in_turn(owner).filter(|&(_, callee, _)| callee == func);
            let (all, in_turn) = (other.calls(func).count(), of_func.count());
            called |= all > 0;
            all == 0
                || in_turn == all && (is_home || is_run_by(home, receive, other.cx.func, depth))
        });
    alone && called
}

/// A send that a method comes to in each turn of a loop.
struct Below<'a, 'g> {
    /// The method with the loop.
    scene: Scene<'a>,
    /// Where it sends, or calls what does.
    at: Node,
    send: &'g Op,
}

/// The send on the channel in each turn of a loop of a method, or of what it calls for its receiver.
fn below<'a, 'g>(
    groups: &Groups<'_>,
    group: &'g Group,
    from: &Scene<'a>,
    func: FuncId,
    depth: u32,
) -> Option<Below<'a, 'g>> {
    let depth = depth.checked_sub(1)?;
    let scene = method(from, func)?;
    let receiver = scene.receiver()?;
    let counts = |scene: &Scene<'_>, node: Node, _: Option<ExprId>| {
        is_unconditional(scene, node) && repeats_below(groups, scene, group, node)
    };
    if let Some(send) = sent_by(groups, group, &scene, &counts) {
        return Some(Below { at: send.node, scene, send });
    }
    let (at, send, further) = scene.methods_in_turn(None).find_map(|(call, callee, base)| {
        let node = Node::Expr(call);
        if scene.local(base) != Some(receiver) || !is_unconditional(&scene, node) {
            return None;
        }
        if repeats_below(groups, &scene, group, node) {
            let send = sent_below(groups, group, &scene, callee, depth, &comes_in_turn)?;
            return Some((node, send, None));
        }
        let below = below(groups, group, &scene, callee, depth)?;
        Some((below.at, below.send, Some(below.scene)))
    })?;
    Some(Below { scene: further.unwrap_or(scene), at, send })
}

/// Whether a send of a body is on the very channel that it receives from, and not on that of another object: a
/// field of the receiver, or a variable that is not made anew between the two.
fn is_same(scene: &Scene<'_>, make: &Op, receive: &Op, send: &Op) -> bool {
    if scene.is_of_receiver(receive.channel) {
        return scene.is_of_receiver(send.channel);
    }
    let channel = scene.local(receive.channel);
    let is_anew = make.scene == receive.scene
        && scene
            .loops_around(make.node)
            .iter()
            .any(|&around| scene.span(Node::Stmt(around)).contains(scene.span(receive.node)));
    channel.is_some() && channel == scene.local(send.channel) && !is_anew
}

/// Whether the room of a channel has nothing to do with how much there is to be sent: it is a constant, or
/// somebody's setting.
fn is_bounded(scene: &Scene<'_>, make: &Op) -> bool {
    let Node::Expr(call) = make.node else { return false };
    let Some(&size) = scene.args(call).get(1) else { return false };
    make.act != Act::Make(None)
        || matches!(scene.file.expr(scene.file.unparen(size)).kind, ExprKind::Selector { .. })
}

/// Whether the innermost loop around a node comes there any number of times without receiving, and what it goes
/// through was not taken from the channel.
fn repeats(scene: &Scene<'_>, group: &Group, receive: &Op, node: Node) -> bool {
    gone_through(scene, node, &|inside| {
        group.ops.iter().any(|op| {
            op.same_body(receive) && op.act != Act::Send && inside.contains(scene.span(op.node))
        })
    })
    .is_some_and(|subject| !is_taken(scene, receive, subject))
}

/// The same in a method that the consumer calls: what it goes through is not what it was given.
fn repeats_below(groups: &Groups<'_>, scene: &Scene<'_>, group: &Group, node: Node) -> bool {
    gone_through(scene, node, &|inside| {
        group.ops.iter().any(|op| {
            let here = groups.scenes[op.scene].cx.func == scene.cx.func;
            here && op.act != Act::Send && inside.contains(scene.span(op.node))
        })
    })
    .is_some_and(|subject| !is_given(scene, subject))
}

/// What the innermost loop around a node goes through, if that is any number of things and the loop does not
/// receive.
fn gone_through(scene: &Scene<'_>, node: Node, receives: &dyn Fn(Span) -> bool) -> Option<ExprId> {
    let &turns = scene.loops_around(node).first()?;
    let StmtKind::Range { subject, value, .. } = scene.file.stmt(turns).kind else { return None };
    let is_many = match scene.cx.index().underlying(scene.info.type_of(subject)) {
        Type::Slice(_) => value.is_some(),
        Type::Map(_) => true,
        other => other.is_unknown() && value.is_some(),
    };
    let is_told = is_many && !receives(scene.span(Node::Stmt(turns))) && !is_listed(scene, subject);
    is_told.then_some(subject)
}

/// Whether what a method goes through is a parameter, or was made of one at once.
fn is_given(scene: &Scene<'_>, subject: ExprId) -> bool {
    let is_param = |local| matches!(scene.info.local(local).kind, LocalKind::Param(_));
    let speaks_of_param = |of: ExprId| {
        let mut nodes = scene.file.descendants(Node::Expr(of));
        nodes
            .any(|node| matches!(node, Node::Expr(part) if scene.local(part).is_some_and(is_param)))
    };
    let Some(local) = scene.local(subject) else { return speaks_of_param(subject) };
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return true };
    is_param(local)
        || read
            .function
            .definitions_of(local)
            .any(|definition| read.function.taken_from(definition).is_some_and(speaks_of_param))
}

/// Whether what a loop goes through is written down, or kept by the package.
fn is_listed(scene: &Scene<'_>, subject: ExprId) -> bool {
    let subject = scene.file.unparen(subject);
    let is_literal =
        |expr: ExprId| matches!(scene.file.expr(expr).kind, ExprKind::CompositeLit { .. });
    let Some(local) = scene.local(subject) else {
        return is_literal(subject) || matches!(scene.file.expr(subject).kind, ExprKind::Ident(_));
    };
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return true };
    read.function.definitions_of(local).any(
        |definition| matches!(definition.source, Source::Expr(value) if is_literal(scene.file.unparen(value))),
    )
}

/// Whether a loop goes through what the consumer has received and kept: what goes back has had its room.
fn is_taken(scene: &Scene<'_>, receive: &Op, subject: ExprId) -> bool {
    let (Some(value), _) = bound(scene, receive) else { return false };
    let Some(local) = scene.local(subject) else { return false };
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return true };
    read.function.definitions_of(local).any(|definition| match definition.source {
        Source::Expr(kept) => {
            let kept = scene.file.unparen(kept);
            matches!(scene.info.callee(kept), Callee::Builtin(Builtin::Append))
                && scene.args(kept).iter().skip(1).any(|&arg| scene.local(arg) == Some(value))
        }
        _ => false,
    })
}

/// Whether a function asks how much room there is.
pub(super) fn asks_for_room(scene: &Scene<'_>, channel: ExprId) -> bool {
    let name = scene.text(channel);
    scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        matches!(scene.info.callee(call), Callee::Builtin(Builtin::Len | Builtin::Cap))
            && scene.args(call).first().is_some_and(|&of| scene.text(of) == name)
    })
}

/// The same, with the call in the consumer's own body that leads to the loop.
fn with_caller(mut finding: Finding, scene: &Scene<'_>, call: Node) -> Finding {
    let location = scene.cx.location(first_line(scene, scene.span(call)));
    let message = "the consumer comes there from here".to_owned();
    finding.labels.push(Label { location, role: Role::Context, message });
    finding
}

/// `at` is where the loop in `scene` sends, or calls what does.
fn tell(
    groups: &Groups<'_>,
    make: &Op,
    receive: &Op,
    scene: &Scene<'_>,
    at: Node,
    send: &Op,
) -> Finding {
    let sender = &groups.scenes[send.scene];
    let name = sender.text(send.channel);
    let message = format!(
        "only this goroutine receives from `{name}`, and it sends there as often as this loop turns: once the room \
         is taken it waits for itself"
    );
    let made = Some((make, "made here, with bounded room"));
    let own = OwnSend { scene, at, send, receive };
    let mut finding = own.finding(groups, made, "never returns", message);
    finding.why =
        "others send there too, and the goroutine cannot receive while it waits in its own send"
            .to_owned();
    finding.help =
        "keep what is to be done in a slice of its own, or send from another goroutine".to_owned();
    finding
}
