//! A lock at a send that tells the sender nothing of the end.
//!
//! Who sends under a lock may have asked under it whether the receivers are still there. That is no excuse where
//! whoever ends them does so before it takes any of these locks, on every way and with all who call it.

use super::Arm;
use crate::flow::{Cfg, Step, StepId};
use crate::index::{Callee, FuncId};
use crate::rules::evidence::groups::{Act, Groups, Op};
use crate::rules::evidence::locks::{Locking, Locks, MAX_CALLS, Taken, taken};
use crate::rules::recurrence;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node};

/// Whether all that ends the receivers comes before any lock is taken that may be held at a send.
pub(super) fn is_unannounced(groups: &Groups<'_>, send: &Op, receives: &[(&Op, Arm)]) -> bool {
    let scene = &groups.scenes[send.scene];
    let Some(held) = locks_before(scene, send) else { return false };
    let locks = Locking::locks(&scene.cx.package);
    let order = Order { locks: &locks, held };
    receives.iter().all(|(receive, arm)| {
        groups.of_expr(receive.scene, arm.channel).is_some_and(|group| {
            let ends = |op: &&Op| op.act == Act::Close;
            let mut others =
                group.ops.iter().filter(|op| matches!(op.act, Act::Send | Act::Notify));
            !group.open
                && others.next().is_none()
                && group.ops.iter().any(|op| ends(&op))
                && group.ops.iter().filter(ends).all(|close| {
                    order.comes_first(&groups.scenes[close.scene], close.node, MAX_CALLS)
                })
        })
    })
}

/// The locks that are taken on some way to a send; `None` where it is not known which they are.
fn locks_before(scene: &Scene<'_>, send: &Op) -> Option<Vec<Taken>> {
    let graph = scene.graph(send.literal)?;
    let to = send.step(scene, &graph)?;
    let calls = graph.steps().filter_map(|step| {
        let Step::Call(call) = graph.step(step) else { return None };
        (is_lock(scene, call) && graph.reaches(step, to)).then_some(call)
    });
    calls.map(|call| Some(Taken { reads: false, ..taken(scene, call)? })).collect()
}

fn is_lock(scene: &Scene<'_>, call: ExprId) -> bool {
    scene.method_call(call).is_some_and(|(_, name)| matches!(name.name.as_str(), "Lock" | "RLock"))
}

/// Which comes first: some locks, or something else.
struct Order<'o> {
    locks: &'o Locks,
    held: Vec<Taken>,
}

impl Order<'_> {
    /// Whether a node is come to before any of the locks is taken: in its body, in what stands around that, and in
    /// the functions of the package that call it.
    fn comes_first(&self, scene: &Scene<'_>, node: Node, depth: u32) -> bool {
        let mut node = node;
        while let Some(literal) = scene.literal_around(node) {
            let Some(runs) = runs_literal(scene, literal) else { return false };
            if !self.is_first_in(scene, Some(literal), node) {
                return false;
            }
            node = Node::Expr(runs);
        }
        let package = &scene.cx.package;
        let is_first = |caller: FuncId, call: ExprId| {
            let Some(depth) = depth.checked_sub(1) else { return false };
            let caller = Scene::of(package, caller);
            caller.is_some_and(|caller| self.comes_first(&caller, Node::Expr(call), depth))
        };
        let calls = || recurrence::calls(package, scene.cx.declared()).into_iter();
        let own = |(caller, _): &(FuncId, ExprId)| caller.package == scene.cx.func.package;
        self.is_first_in(scene, None, node)
            && calls().filter(own).all(|(caller, call)| is_first(caller, call))
    }

    /// Whether no step of a body that may come before a node takes one of the locks; before what is deferred come
    /// all.
    fn is_first_in(&self, scene: &Scene<'_>, literal: Option<ExprId>, node: Node) -> bool {
        let Some(cfg) = scene.graph(literal) else { return false };
        let Some(end) = scene.step_of(&cfg, node) else { return false };
        let deferred = matches!(cfg.step(end), Step::Defer(_));
        let before = |step: StepId| step != end && (deferred || cfg.reaches(step, end));
        cfg.steps().all(|step| !before(step) || !self.takes(scene, &cfg, step))
    }

    /// Whether a step may take one of the locks.
    fn takes(&self, scene: &Scene<'_>, cfg: &Cfg, step: StepId) -> bool {
        let Step::Call(call) = cfg.step(step) else { return false };
        if is_lock(scene, call) {
            return taken(scene, call)
                .is_none_or(|taken| self.held.iter().any(|held| held.object == taken.object));
        }
        let Callee::Func(callee) = *scene.info.callee(call) else { return false };
        let package = &scene.cx.package;
        self.held.iter().any(|held| self.locks.takes(package, callee, held, MAX_CALLS).is_some())
    }
}

/// The call that runs a literal: its own, or one that it is given to; `None` where it is kept.
fn runs_literal(scene: &Scene<'_>, literal: ExprId) -> Option<ExprId> {
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return None };
    matches!(scene.file.expr(call).kind, ExprKind::Call { .. }).then_some(call)
}
