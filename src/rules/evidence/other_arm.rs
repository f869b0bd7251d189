//! A goroutine that sends to itself from another arm of the `select` in which it receives.
//!
//! Evidence: a channel with room for one is made in one place and known to the package only; all receives
//! from it are arms of one `select`, in a body that is started once, outside of loops; and another arm of it,
//! which can be ready any number of times, comes to a send on that channel, itself or by methods of its own
//! receiver. Go takes any of the arms that are ready: when the other one is taken twice in a row, the second send
//! has no room, and who would make some is the sender. On the way to the send nothing is asked but
//! whether there was an error and whether all is over; any other question may be whether the room is taken.

use crate::diagnostic::Finding;
use crate::flow::Step;
use crate::index::{Callee, Def};
use crate::rules::FunctionCx;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::own_end::is_unconditional;
use crate::rules::evidence::own_receiver::{
    MAX_CALLS, OwnSend, is_send, is_started_once, sent_below, waiting,
};
use crate::rules::evidence::refilled::asks_for_room;
use crate::rules::scene::{Scene, compared_with_nil};
use crate::source::Span;
use crate::syntax::{BinaryOp, CommClause, ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// Reports the sends of goroutines to themselves from another arm.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open && group.recipients.is_empty()) {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let make = group.only_make().filter(|make| make.act == Act::Make(Some(1)))?;
    let receives = group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range));
    let receive = receives.clone().next()?;
    let (select, _) = receive.select?;
    let in_one = |op: &Op| op.same_body(receive) && op.select.is_some_and(|(of, _)| of == select);
    let notified = group.ops.iter().any(|op| op.act == Act::Notify);
    if notified || !receives.clone().all(in_one) {
        return None;
    }
    let scene = &groups.scenes[receive.scene];
    let receiver = scene.receiver().filter(|_| scene.is_of_receiver(receive.channel))?;
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
    let own: Vec<u32> = receives.filter_map(|op| Some(op.select?.1)).collect();
    let mut others = clauses.iter().zip(0..).filter(|(clause, place)| {
        !own.contains(place) && comes_again(groups, receive.scene, clause)
    });
    if !is_started_once(groups, scene, receive) {
        return None;
    }
    let cfg = scene.graph(receive.literal)?;
    let from = receive.step(scene, &cfg)?;
    let is_between = |node: Node| {
        let step = scene.step_of(&cfg, node);
        step.is_some_and(|step| cfg.reaches(from, step) && cfg.reaches(step, from))
    };
    others.find_map(|(clause, _)| {
        let is_told = |node: Node| {
            clause.span.contains(scene.span(node))
                && is_between(node)
                && asks_nothing(scene, node, clause.span)
        };
        let itself = group.ops.iter().find(|op| {
            is_send(groups, op)
                && op.same_body(receive)
                && scene.is_of_receiver(op.channel)
                && is_told(waiting(op))
                && !asks_for_room(scene, op.channel)
        });
        if let Some(send) = itself {
            return Some(tell(groups, make, receive, send.node, send));
        }
        scene.methods_in_turn(receive.literal).find_map(|(call, callee, base)| {
            let own = scene.local(base) == Some(receiver) && is_told(Node::Expr(call));
            let send =
                own.then(|| sent_below(groups, group, scene, callee, MAX_CALLS, &comes_unasked))??;
            Some(tell(groups, make, receive, Node::Expr(call), send))
        })
    })
}

/// Whether what an arm receives can come any number of times: it is a ticker's, or others send it in a loop or
/// in a method that is called from anywhere.
fn comes_again(groups: &Groups<'_>, at: usize, clause: &CommClause) -> bool {
    let scene = &groups.scenes[at];
    let channel = clause.comm.and_then(|comm| Step::Comm(comm).received_from(scene.file));
    let Some(channel) = channel else { return false };
    let ticks = scene.selector(channel).is_some_and(|(base, _)| {
        scene.info.type_of(base).strip_pointer().is_named("time", "Ticker")
    });
    let is_sent = |op: &Op| {
        let sender = &groups.scenes[op.scene];
        let is_open = sender.name.name.is_exported() && op.literal.is_none();
        op.act == Act::Send && (is_open || !sender.loops_around(op.node).is_empty())
    };
    ticks || groups.of_expr(at, channel).is_some_and(|group| group.ops.iter().any(is_sent))
}

/// Whether a send of a method, or a call on the way there, comes whatever the state and the room are.
fn comes_unasked(scene: &Scene<'_>, node: Node, channel: Option<ExprId>) -> bool {
    let whole = scene.span(Node::Stmt(scene.body_of(None)));
    is_unconditional(scene, node)
        && asks_nothing(scene, node, whole)
        && channel.is_none_or(|channel| !asks_for_room(scene, channel))
}

/// Whether a node in a piece of code is come to whatever the state is: no condition around it, and none on a way
/// out before it, asks anything but whether there was an error or all is over.
fn asks_nothing(scene: &Scene<'_>, node: Node, within: Span) -> bool {
    let literal = scene.literal_around(node);
    let inside = |node: Node| {
        let around = scene.around(node);
        around.take_while(|&around| within.contains(scene.span(around)))
    };
    let stmt = |node: Node| match node {
        Node::Stmt(stmt) => Some(stmt),
        _ => None,
    };
    let is_plain = |around: StmtId| match scene.file.stmt(around).kind {
        StmtKind::If { cond, .. } => is_of_end(scene, cond),
        StmtKind::Switch { .. }
        | StmtKind::TypeSwitch { .. }
        | StmtKind::Select(_)
        | StmtKind::For { .. }
        | StmtKind::Range { .. } => within == scene.span(Node::Stmt(around)),
        _ => true,
    };
    let leaves_plainly = |leave: StmtId| {
        let asked = inside(Node::Stmt(leave))
            .filter_map(stmt)
            .find(|&around| !matches!(scene.file.stmt(around).kind, StmtKind::Block(_)));
        asked.is_some_and(|asked| {
            matches!(scene.file.stmt(asked).kind, StmtKind::If { .. }) && is_plain(asked)
        })
    };
    let mut leaves = scene.nodes.iter().filter_map(|&leave| stmt(leave)).filter(|&leave| {
        let span = scene.span(Node::Stmt(leave));
        matches!(scene.file.stmt(leave).kind, StmtKind::Return(_) | StmtKind::Branch { .. })
            && within.contains(span)
            && span.end <= scene.span(node).start
            && scene.literal_around(Node::Stmt(leave)) == literal
    });
    // What stands around the piece itself is not asked.
    inside(node).filter_map(stmt).all(is_plain) && leaves.all(leaves_plainly)
}

/// Whether a condition asks only whether there was an error, or by a method of the receiver whether all is over.
fn is_of_end(scene: &Scene<'_>, cond: ExprId) -> bool {
    let mut open = vec![cond];
    while let Some(part) = open.pop() {
        let part = scene.file.unparen(part);
        match scene.file.expr(part).kind {
            ExprKind::Unary { op: UnaryOp::Not, operand } => open.push(operand),
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                left,
                right,
                ..
            } => open.extend([left, right]),
            _ => {
                let of_error = compared_with_nil(scene.file, &scene.info, part)
                    .is_some_and(|(compared, _)| scene.info.type_of(compared).is_error());
                if !of_error && !asks_for_end(scene, part) {
                    return false;
                }
            }
        }
    }
    true
}

/// Whether a call of a method does nothing but to ask a stop channel of the receiver, or its context.
fn asks_for_end(scene: &Scene<'_>, call: ExprId) -> bool {
    let Callee::Func(callee) = *scene.info.callee(call) else { return false };
    if !scene.args(call).is_empty() || callee.package != scene.cx.func.package {
        return false;
    }
    let Some(asked) = Scene::new(FunctionCx { func: callee, ..scene.cx }) else { return false };
    let is_signal = |expr: ExprId| {
        let ty = asked.info.type_of(expr);
        ty.is_context() || asked.cx.index().is_signal(ty)
    };
    let mut signals = 0;
    let plain = asked.nodes.iter().all(|&node| {
        let Node::Expr(expr) = node else { return true };
        match asked.info.resolve(expr) {
            Def::Field(_) => {
                signals += 1;
                is_signal(expr)
            }
            _ => !matches!(asked.info.callee(expr), Callee::Builtin(_)),
        }
    });
    plain && signals > 0
}

/// `at` is where the arm sends, or calls what does.
fn tell(groups: &Groups<'_>, make: &Op, receive: &Op, at: Node, send: &Op) -> Finding {
    let (scene, sender) = (&groups.scenes[receive.scene], &groups.scenes[send.scene]);
    let name = sender.text(send.channel);
    let message = format!(
        "only this goroutine receives from `{name}`, which has room for one, and this arm sends there: when it is \
         taken twice in a row, the goroutine waits for itself"
    );
    let made = Some((make, "made here, with room for one"));
    let own = OwnSend { scene, at, send, receive };
    let mut finding = own.finding(groups, made, "never returns then", message);
    finding.why =
        "of arms that are ready Go takes any, so what was sent before may still lie there"
            .to_owned();
    finding.help =
        "do here what the message would have asked for, or keep it in a variable of the goroutine's own"
            .to_owned();
    finding
}
