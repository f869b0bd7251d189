//! Receivers that leave their loops for reasons of their own, and then take the lock of who sends.

use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Callee, LocalId};
use crate::rules::evidence::consumer::bound;
use crate::rules::evidence::groups::{Act, Groups, Op};
use crate::rules::evidence::locks::{Locks, MAX_CALLS, Taken};
use crate::rules::evidence::under_lock::{Wanted, taken_at};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtId};

/// Where the first of the receivers takes the lock when it has left, if all do: none receives then, and who
/// sends has the lock.
pub(super) fn needs(
    groups: &Groups<'_>,
    receivers: &[&Op],
    locks: &Locks,
    lock: &Taken,
) -> Option<Location> {
    let all = receivers.iter().map(|op| {
        let scene = &groups.scenes[op.scene];
        let cfg = scene.graph(op.literal)?;
        let receive = op.step(scene, &cfg)?;
        if !cfg.reaches(receive, receive) {
            return None;
        }
        let wanted = Wanted { locks, lock, depth: MAX_CALLS, apart: &|_| false };
        let mut walk = Departs {
            scene,
            cfg: &cfg,
            wanted: &wanted,
            receive,
            range: match op.node {
                Node::Stmt(stmt) if op.act == Act::Range => Some(stmt),
                _ => None,
            },
            select: op.select.map(|(select, _)| select),
            told: bound(scene, op).1,
            deferred: deferred(scene, &cfg, receive, &wanted),
            found: None,
        };
        cfg.finds(Start::After(receive), (), &mut walk).then_some(walk.found)?
    });
    all.collect::<Option<Vec<Location>>>()?.into_iter().next()
}

/// Where what the body defers before it receives takes the lock.
fn deferred(
    scene: &Scene<'_>,
    cfg: &Cfg,
    receive: StepId,
    wanted: &Wanted<'_>,
) -> Option<Location> {
    let taken = |call: ExprId| {
        let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return None };
        let callee = scene.file.unparen(callee);
        if !matches!(scene.file.expr(callee).kind, ExprKind::FuncLit(_)) {
            return match scene.info.callee(call) {
                Callee::Func(func) => {
                    let Wanted { locks, lock, depth, .. } = *wanted;
                    locks.takes(&scene.cx.package, *func, lock, depth)
                }
                _ => None,
            };
        }
        let graph = scene.graph(Some(callee))?;
        graph.steps().find_map(|step| taken_at(scene, graph.step(step), wanted))
    };
    cfg.steps().filter(|&step| cfg.dominates(step, receive)).find_map(|step| {
        let step = cfg.step(step);
        let call = step.call(scene.file).filter(|_| matches!(step, Step::Defer(_)))?;
        taken(call)
    })
}

/// Looks for a way from a receive to the lock, past no other, that nobody else decides.
struct Departs<'d, 'a> {
    scene: &'d Scene<'a>,
    cfg: &'d Cfg,
    wanted: &'d Wanted<'d>,
    receive: StepId,
    /// The loop over the channel, or the `select` that receives: other ways out of them are others' doing.
    range: Option<StmtId>,
    select: Option<StmtId>,
    /// The variable that says whether the channel is closed.
    told: Option<LocalId>,
    /// Where the lock is taken when the body is left.
    deferred: Option<Location>,
    found: Option<Location>,
}

impl Walk for Departs<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.receive {
            return Passing::Drop;
        }
        match taken_at(self.scene, self.cfg.step(step), self.wanted) {
            Some(taken) => {
                self.found = Some(taken);
                Passing::Found
            }
            None => Passing::On(()),
        }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let is_others = match edge.kind {
            EdgeKind::Done(stmt) => Some(stmt) == self.range,
            EdgeKind::Arm(select, _) => Some(select) == self.select,
            kind => kind.condition().is_some_and(|(condition, _)| {
                self.told.is_some_and(|told| self.scene.mentions(Node::Expr(condition), told))
            }),
        };
        (!is_others).then_some(())
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        self.found = self.deferred;
        self.deferred.is_some() && matches!(exit, Exit::Return(_) | Exit::End)
    }
}
