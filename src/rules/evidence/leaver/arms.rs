//! The arms of a `select` on which who receives leaves.

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::flow::{BlockId, Cfg, Edge, EdgeKind, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Builtin, Callee, Type};
use crate::rules::conditions::{key, reads_only_names, variables};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::last_word::is_last_word;
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::summary::Function;
use crate::syntax::{ChanDir, ExprId, ExprKind, Node, StmtId, StmtKind};

/// An arm on which a receiver returns.
#[derive(Clone, Copy)]
pub(in crate::rules::evidence) struct Arm {
    /// Its communication.
    pub comm: StmtId,
    /// What is received.
    pub channel: ExprId,
    /// Whether it stays ready once it is.
    stays: bool,
}

impl Arm {
    /// An arm that stays ready once it is.
    pub(in crate::rules::evidence) fn for_good(comm: StmtId, channel: ExprId) -> Arm {
        Arm { comm, channel, stays: true }
    }

    /// Whether it stays ready once it is.
    pub(in crate::rules::evidence) fn stays(&self) -> bool {
        self.stays
    }
}

/// An arm beside a receive on which the body returns without receiving again; `None` if the
/// receive stands alone, or does not wait.
pub(in crate::rules::evidence) fn leaving_arm(
    groups: &Groups<'_>,
    group: &Group,
    op: &Op,
) -> Option<Arm> {
    best_arm(groups, group, op, |arm| arm.stays)
}

/// Whether there is a [`leaving_arm`].
pub(in crate::rules::evidence) fn has_leaving_arm(
    groups: &Groups<'_>,
    group: &Group,
    op: &Op,
) -> bool {
    best_arm(groups, group, op, |_| true).is_some()
}

/// The first arm on which a body leaves and that stays ready, or else the first; none after one that is
/// `enough` is looked at.
fn best_arm(
    groups: &Groups<'_>,
    group: &Group,
    op: &Op,
    enough: impl Fn(&Arm) -> bool,
) -> Option<Arm> {
    let (select, place) = op.select?;
    let scene = &groups.scenes[op.scene];
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
    if clauses.iter().any(|clause| clause.comm.is_none()) {
        return None;
    }
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let body = read.function.body_of(op.literal)?;
    let cfg = &read.function.body(body).cfg;
    let again: Vec<StepId> = group
        .ops
        .iter()
        .filter(|other| matches!(other.act, Act::Receive | Act::Range) && other.same_body(op))
        .filter_map(|other| scene.step_of(cfg, other.node))
        .collect();
    let turn = Turn::of(scene, &read.function, op, select);
    // Who hears that nothing more is sent misses nothing, wherever it hears that.
    let is_told = |step: &StepId| {
        let channel = cfg.step(*step).received_from(scene.file);
        channel.is_some_and(|it| is_last_word(groups, group, op, scene.file.unparen(it)))
    };
    let told: Vec<StepId> = cfg.steps().filter(is_told).collect();
    let mut out = Out::past(scene, cfg, &again, &told, turn);
    let entered = cfg.step_of_stmt(select).map(|step| cfg.edges_of(cfg.block_of(step)));
    let begins = entered.into_iter().flatten().filter_map(|edge| match edge.kind {
        EdgeKind::Arm(of, index) if of == select => Some((index, edge.to)),
        _ => None,
    });
    let begins: FxHashMap<u32, BlockId> = begins.collect();
    let closes: OnceCell<Vec<Span>> = OnceCell::new();
    let mut found: Option<Arm> = None;
    for (index, clause) in clauses.iter().enumerate() {
        let comm = clause.comm?;
        let Some(channel) = Step::Comm(comm).received_from(scene.file) else { continue };
        let mut leaves = || {
            let begin = begins.get(&(index as u32));
            let state = out.turn.as_ref().is_none_or(|turn| turn.is_over);
            begin.is_some_and(|&begin| cfg.finds(Start::Block(begin), state, &mut out))
        };
        if index as u32 == place || !leaves() {
            continue;
        }
        let channel = scene.file.unparen(channel);
        let announced = || {
            let closes = closes.get_or_init(|| closes_in_body(scene, op));
            closes.iter().any(|&close| clause.span.contains(close))
        };
        let arm =
            Arm { comm, channel, stays: stays_ready(groups, op.scene, channel) || announced() };
        if found.is_none_or(|found| arm.stays && !found.stays) {
            found = Some(arm);
        }
        if found.as_ref().is_some_and(&enough) {
            break;
        }
    }
    found
}

/// Looks for a way out of the body past some steps: neither to one of them, nor to a `select` where one of those that
/// receive again waits too. The loop around goes on as long as nothing has changed what it asks.
struct Out<'o> {
    again: &'o [StepId],
    /// Where it hears that nothing more is sent.
    told: &'o [StepId],
    selects: FxHashSet<StmtId>,
    turn: Option<Turn>,
}

/// What the loop around a `select` asks before each turn, which held when this one began.
struct Turn {
    condition: ExprId,
    /// The steps that may change the answer.
    changes: Vec<StepId>,
    /// Whether it may have changed when the `select` is come to.
    is_over: bool,
}

impl Turn {
    /// The turn in which a receive waits, if the loop asks variables alone that only its own body changes.
    fn of(scene: &Scene<'_>, function: &Function<'_>, op: &Op, select: StmtId) -> Option<Turn> {
        let &around = scene.loops_around(op.node).first()?;
        let StmtKind::For { cond: Some(condition), .. } = scene.file.stmt(around).kind else {
            return None;
        };
        key(function, condition).filter(|_| reads_only_names(function, condition))?;
        let own = function.body_of(op.literal)?;
        let (mut changes, mut is_over) = (Vec::new(), false);
        for variable in variables(function, condition) {
            if function.is_addressed(variable) {
                return None;
            }
            for at in function.definitions_of(variable).filter_map(|it| it.at) {
                if at.body != own {
                    return None;
                }
                let changed = function.body(own).cfg.step(at.step).span(scene.file);
                is_over |= scene.span(Node::Stmt(around)).contains(changed)
                    && changed.start < scene.span(Node::Stmt(select)).start;
                changes.push(at.step);
            }
        }
        Some(Turn { condition, changes, is_over })
    }

    /// Whether an edge ends the loop.
    fn ends(&self, edge: &Edge) -> bool {
        edge.kind.condition() == Some((self.condition, false))
    }
}

impl<'o> Out<'o> {
    fn past(
        scene: &Scene<'_>,
        cfg: &Cfg,
        again: &'o [StepId],
        told: &'o [StepId],
        turn: Option<Turn>,
    ) -> Out<'o> {
        let comms = again.iter().filter_map(|&step| match cfg.step(step) {
            Step::Comm(comm) => Some(comm),
            _ => None,
        });
        let selects = comms.filter_map(|comm| match scene.parent(Node::Stmt(comm))? {
            Node::Stmt(stmt) => {
                matches!(scene.file.stmt(stmt).kind, StmtKind::Select(_)).then_some(stmt)
            }
            _ => None,
        });
        Out { again, told, selects: selects.collect(), turn }
    }
}

impl Walk for Out<'_> {
    /// Whether the loop around may end.
    type State = bool;

    fn step(&mut self, may_end: &bool, step: StepId) -> Passing<bool> {
        let changes = || self.turn.as_ref().is_some_and(|turn| turn.changes.contains(&step));
        match self.again.contains(&step) || self.told.contains(&step) {
            true => Passing::Drop,
            false => Passing::On(*may_end || changes()),
        }
    }

    fn edge(&mut self, may_end: &bool, edge: &Edge) -> Option<bool> {
        let waits = matches!(edge.kind, EdgeKind::Arm(select, _) if self.selects.contains(&select));
        let goes_on = || !may_end && self.turn.as_ref().is_some_and(|turn| turn.ends(edge));
        (!waits && !goes_on()).then_some(*may_end)
    }

    fn exit(&mut self, _: &bool, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}

/// Where the body of an operation closes channels: in a clause, that tells others that the receiver has
/// gone.
fn closes_in_body(scene: &Scene<'_>, op: &Op) -> Vec<Span> {
    let closes = scene.nodes.iter().filter(|&&node| match node {
        Node::Expr(call) => {
            matches!(scene.info.callee(call), Callee::Builtin(Builtin::Close))
                && scene.literal_around(node) == op.literal
        }
        _ => false,
    });
    closes.map(|&node| scene.span(node)).collect()
}

/// Whether a channel that is ready to be received from stays so: it is closed and never sent on,
/// or what a call or parameter gives to tell of an end.
pub(in crate::rules::evidence) fn stays_ready(
    groups: &Groups<'_>,
    scene: usize,
    channel: ExprId,
) -> bool {
    let at = &groups.scenes[scene];
    if is_done(at, channel) {
        return true;
    }
    let index = at.cx.index();
    let ty = index.underlying(at.info.type_of(channel));
    let signal = matches!(ty, Type::Chan(ChanDir::Recv, _)) && index.is_signal(&ty);
    if let ExprKind::Call { .. } = at.file.expr(channel).kind {
        return signal;
    }
    let Some(group) = groups.of_expr(scene, channel) else { return false };
    let any = |act: Act| group.ops.iter().any(|op| op.act == act);
    !any(Act::Send) && !any(Act::Notify) && (any(Act::Close) || group.open && signal)
}

/// Whether a channel is what a method `Done` gives, a context's or one like it.
pub(in crate::rules::evidence) fn is_done(scene: &Scene<'_>, channel: ExprId) -> bool {
    scene.method_call(channel).is_some_and(|(_, name)| name.name.as_str() == "Done")
}
