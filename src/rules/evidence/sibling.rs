//! Two sends on one channel in one body: the one gives up when something ends, the other waits for
//! ever.
//!
//! Evidence: a sibling send stands in a `select` with an arm that stays ready once it is (a context
//! that is done, a channel that is closed), so that the receiver may be gone by then. The bare send
//! is not in such an arm, where a last word may be agreed on, and no receiver is known to stay.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{BlockId, Edge, EdgeKind, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Builtin, Callee, Type};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::leaver::{has_leaving_arm, holds_lock, stays_ready};
use crate::rules::evidence::traffic::after_recover;
use crate::rules::evidence::{confidence_at, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// Reports the bare siblings of guarded sends.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        if !receivers_may_leave(groups, group) {
            continue;
        }
        let mut told: Vec<&Op> = Vec::new();
        for bare in &group.ops {
            let told_before = told.iter().any(|other| other.same_body(bare));
            if told_before || !is_candidate(groups, group, bare) {
                continue;
            }
            if let Some((guarded, comm, done)) = sibling(groups, group, bare)
                && !is_last_word(groups, bare)
            {
                told.push(bare);
                findings.push(tell(groups, group, bare, guarded, comm, done));
            }
        }
    }
}

/// Whether no receiver is known that stays until the channel is closed, or comes when the end was
/// announced to take the last value.
fn receivers_may_leave(groups: &Groups<'_>, group: &Group) -> bool {
    !is_closed_for_others(groups, group)
        && group.ops.iter().all(|op| match op.act {
            Act::Receive => {
                let scene = &groups.scenes[op.scene];
                let once = op.select.is_none()
                    && scene.loops_around(op.node).is_empty()
                    && !has_announced(scene, op);
                once || has_leaving_arm(groups, group, op)
            }
            Act::Range => false,
            _ => true,
        })
}

/// Whether the channel comes from others and goes to them, and the body that sends closes it in a `defer`:
/// whoever gives such a channel away ranges over it to its end.
fn is_closed_for_others(groups: &Groups<'_>, group: &Group) -> bool {
    let own = |op: &Op| matches!(op.act, Act::Receive | Act::Range | Act::Make(_));
    let is_closed = |close: &Op| {
        let scene = &groups.scenes[close.scene];
        close.act == Act::Close
            && matches!(close.node, Node::Expr(call) if scene.is_deferred(call))
            && group.ops.iter().any(|op| op.act == Act::Send && op.same_body(close))
    };
    !group.ops.iter().any(own) && group.ops.iter().any(is_closed)
}

/// Whether a body cancels a context or closes a channel above what it receives.
fn has_announced(scene: &Scene<'_>, receive: &Op) -> bool {
    let before = scene.span(receive.node).start;
    scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return false };
        let announces = match scene.info.callee(call) {
            Callee::Builtin(called) => *called == Builtin::Close,
            _ => is_cancel(scene.info.type_of(callee)),
        };
        announces
            && !scene.is_deferred(call)
            && scene.span(node).start < before
            && scene.literal_around(node) == receive.literal
    })
}

fn is_cancel(ty: &Type) -> bool {
    ["CancelFunc", "CancelCauseFunc"].into_iter().any(|name| ty.is_named("context", name))
}

pub(super) fn is_candidate(groups: &Groups<'_>, group: &Group, bare: &Op) -> bool {
    let scene = &groups.scenes[bare.scene];
    let looped = !scene.loops_around(bare.node).is_empty();
    bare.act == Act::Send
        && bare.select.is_none()
        && (looped || !group.may_have_room())
        && !after_recover(scene, bare.node)
        && !holds_lock(scene, bare)
        && !in_arm(groups, bare)
}

/// Whether a node stands in the clause of a `select` that has come to an end.
fn in_arm(groups: &Groups<'_>, op: &Op) -> bool {
    let scene = &groups.scenes[op.scene];
    let span = scene.span(op.node);
    scene.around(op.node).any(|around| {
        let Node::Stmt(stmt) = around else { return false };
        let StmtKind::Select(clauses) = &scene.file.stmt(stmt).kind else { return false };
        clauses.iter().any(|clause| {
            clause.span.contains(span)
                && clause
                    .comm
                    .and_then(|comm| Step::Comm(comm).received_from(scene.file))
                    .is_some_and(|channel| {
                        stays_ready(groups, op.scene, scene.file.unparen(channel))
                    })
        })
    })
}

/// Whether a send is reached from an arm that has come to an end: a last word, which may be agreed
/// on.
pub(super) fn is_last_word(groups: &Groups<'_>, bare: &Op) -> bool {
    let scene = &groups.scenes[bare.scene];
    let Some(graph) = scene.graph(bare.literal) else { return true };
    let Some(send) = scene.step_of(&graph, bare.node) else { return true };
    let edges = graph.edges();
    let ends = edges.filter_map(|edge| {
        let EdgeKind::Arm(select, index) = edge.kind else { return None };
        let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
        let comm = clauses.get(index as usize)?.comm?;
        let channel = Step::Comm(comm).received_from(scene.file)?;
        stays_ready(groups, bare.scene, scene.file.unparen(channel)).then_some((select, edge.to))
    });
    let (selects, arms): (Vec<StmtId>, Vec<BlockId>) = ends.unzip();
    let mut walk = To { send, selects };
    arms.into_iter().any(|arm| graph.finds(Start::Block(arm), (), &mut walk))
}

/// Looks for a way to a send that enters none of some `select`s again.
struct To {
    send: StepId,
    selects: Vec<StmtId>,
}

impl Walk for To {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.send { Passing::Found } else { Passing::On(()) }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let again = match edge.kind {
            EdgeKind::Arm(select, _) => self.selects.contains(&select),
            EdgeKind::More(_) => true,
            _ => false,
        };
        (!again).then_some(())
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        false
    }
}

/// A send of the same channel in the same body that has an end beside it.
fn sibling<'g>(
    groups: &Groups<'_>,
    group: &'g Group,
    bare: &Op,
) -> Option<(&'g Op, StmtId, ExprId)> {
    let scene = &groups.scenes[bare.scene];
    let text = scene.text(bare.channel);
    group.ops.iter().filter(|op| op.act == Act::Send && op.same_body(bare)).find_map(|op| {
        if scene.text(op.channel) != text {
            return None;
        }
        let (comm, channel) = guard(groups, op, |channel| is_known_at(scene, channel, bare))?;
        (!keeps_value(scene, op, comm)).then_some((op, comm, channel))
    })
}

/// The arm with which a send gives up, and what it receives from: one that stays ready, and that
/// counts.
pub(super) fn guard(
    groups: &Groups<'_>,
    send: &Op,
    counts: impl Fn(ExprId) -> bool,
) -> Option<(StmtId, ExprId)> {
    let scene = &groups.scenes[send.scene];
    let (select, place) = send.select?;
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
    if clauses.iter().any(|clause| clause.comm.is_none()) {
        return None;
    }
    clauses.iter().enumerate().find_map(|(index, clause)| {
        let comm = clause.comm.filter(|_| index as u32 != place)?;
        let channel = scene.file.unparen(Step::Comm(comm).received_from(scene.file)?);
        (stays_ready(groups, send.scene, channel) && counts(channel)).then_some((comm, channel))
    })
}

/// Whether what cannot be sent is given to somebody else where the wait ends, and the sender goes on.
fn keeps_value(scene: &Scene<'_>, send: &Op, comm: StmtId) -> bool {
    let Some((select, _)) = send.select else { return false };
    let Node::Stmt(sent) = send.node else { return false };
    let (StmtKind::Select(clauses), &StmtKind::Send { value, .. }) =
        (&scene.file.stmt(select).kind, &scene.file.stmt(sent).kind)
    else {
        return false;
    };
    let Some(value) = scene.local(value) else { return false };
    let Some(clause) = clauses.iter().find(|clause| clause.comm == Some(comm)) else {
        return false;
    };
    let leaves = |stmt: &StmtId| {
        matches!(scene.file.stmt(*stmt).kind, StmtKind::Return(_) | StmtKind::Branch { .. })
    };
    let takes = |call: ExprId| scene.args(call).iter().any(|&arg| scene.local(arg) == Some(value));
    let body = &clause.body;
    !body.last().is_some_and(leaves)
        && body.iter().any(|&stmt| {
            let StmtKind::Expr(call) = scene.file.stmt(stmt).kind else { return false };
            takes(scene.file.unparen(call))
        })
}

/// Whether what ends the sibling's wait is there when the bare send is reached: all its variables
/// are declared before.
fn is_known_at(scene: &Scene<'_>, channel: ExprId, bare: &Op) -> bool {
    let start = scene.span(bare.node).start;
    scene.file.descendants(Node::Expr(channel)).all(|node| match node {
        Node::Expr(expr) => match scene.info.resolve(expr) {
            crate::index::Def::Local(local) => scene.info.local(*local).span.start < start,
            _ => true,
        },
        _ => true,
    })
}

fn tell(
    groups: &Groups<'_>,
    group: &Group,
    bare: &Op,
    guarded: &Op,
    comm: StmtId,
    done: ExprId,
) -> Finding {
    let scene = &groups.scenes[bare.scene];
    let cx = &scene.cx;
    let (name, end) = (scene.text(bare.channel), scene.text(done));
    let message = format!(
        "this send on `{name}` waits for ever once the receiver has left, where its sibling gives up at `<-{end}`"
    );
    let mut finding = cx.finding(first_line(scene, bare.span(scene)), "stays here", message);
    finding.confidence = confidence_at(scene, bare.node);
    let make = group.ops.iter().find(|op| matches!(op.act, Act::Make(_)));
    if let Some(make) = make.filter(|make| make.scene == bare.scene) {
        finding.labels.push(Label {
            location: cx.location(make.span(scene)),
            role: Role::Made,
            message: format!("`{name}` is made here"),
        });
    }
    let span = first_line(scene, guarded.span(scene));
    finding.labels.push(Label {
        location: cx.location(span),
        role: Role::Context,
        message: "here the same send has a way out".to_owned(),
    });
    finding.labels.push(Label {
        location: cx.location(first_line(scene, scene.span(Node::Stmt(comm)))),
        role: Role::Context,
        message: "which is this".to_owned(),
    });
    finding.labels.sort_by_key(|label| label.location.span.start);
    finding.why = format!("the sibling says that nobody may be left to receive after `<-{end}`");
    finding.help = format!("send in a `select` with `<-{end}` here too");
    finding
}
