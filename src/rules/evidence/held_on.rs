//! A lock that the function takes before a loop without an end.
//!
//! Evidence: from the `Lock` no way leads out of the body, and none to a step that may give the lock back: what
//! is deferred never runs. Another function of the package takes the same lock, and waits for ever.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Exit, Passing, Start, Step, StepId, Walk};
use crate::rules::PackageCx;
use crate::rules::evidence::locks::{Locking, Locks, Taken, gives_back, locked, tells_of_locks};
use crate::rules::evidence::{confidence_of_own, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtKind};

/// Reports the locks of the package that are held for ever.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !tells_of_locks(package) {
        return;
    }
    let Locking { scenes, locks } = Locking::of(package);
    for scene in &scenes {
        let own = locks.taken.get(&scene.cx.func).into_iter().flatten();
        for taken in own {
            let elsewhere = locks.taken.iter().filter(|(func, _)| **func != scene.cx.func);
            let wanted = elsewhere
                .flat_map(|(_, all)| all)
                .find(|other| other.object == taken.object && !(other.reads && taken.reads));
            if let Some(wanted) = wanted
                && is_kept(scene, &locks, taken)
            {
                findings.push(tell(scene, taken, wanted));
            }
        }
    }
}

/// Whether a lock that a function takes stays with it, and the function with the lock.
fn is_kept(scene: &Scene<'_>, locks: &Locks, taken: &Taken) -> bool {
    let Some(cfg) = scene.graph(taken.literal) else { return false };
    let Some(at) = cfg.step_of_expr(taken.call) else { return false };
    let mut walk = Ends { scene, locks, taken, cfg: &cfg };
    !cfg.finds(Start::After(at), (), &mut walk)
}

/// Looks for an end: a way out, or a step that may give the lock back.
struct Ends<'w, 'a> {
    scene: &'w Scene<'a>,
    locks: &'w Locks,
    taken: &'w Taken,
    cfg: &'w Cfg,
}

impl Ends<'_, '_> {
    /// Whether a call may give the lock back, or waits for a condition without it.
    fn gives(&self, call: ExprId) -> bool {
        let Ends { scene, locks, taken, .. } = self;
        gives_back(scene, call, taken.object)
            || locks.given_by_callee(scene, call, taken.object)
            || scene.method_call(call).is_some_and(|(_, name)| name.name.as_str() == "Wait")
    }
}

impl Walk for Ends<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        let step = self.cfg.step(step);
        let gives = match step.call(self.scene.file) {
            Some(call) => !self.scene.is_deferred(call) && self.gives(call),
            None => matches!(step, Step::Missing(_)),
        };
        if gives { Passing::Found } else { Passing::On(()) }
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        true
    }
}

fn tell(scene: &Scene<'_>, taken: &Taken, wanted: &Taken) -> Finding {
    let name = locked(scene, taken);
    let span = first_line(scene, scene.span(Node::Expr(taken.call)));
    let message =
        format!("`{name}` is locked here before a loop that has no end: nobody gets it again");
    let mut finding = scene.cx.finding(span, "stays locked", message);
    finding.confidence = confidence_of_own(scene);
    let after = scene.nodes.iter().copied().find(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        matches!(scene.file.stmt(stmt).kind, StmtKind::For { .. } | StmtKind::Range { .. })
            && scene.span(node).start > span.start
            && scene.literal_around(node) == taken.literal
    });
    if let Some(after) = after {
        finding.labels.push(Label {
            location: scene.cx.location(first_line(scene, scene.span(after))),
            role: Role::Context,
            message: "this is never left".to_owned(),
        });
    }
    finding.labels.push(Label {
        location: wanted.location,
        role: Role::Stuck,
        message: "waits here for ever".to_owned(),
    });
    finding.why = "what is deferred runs when the function returns, which it does not".to_owned();
    finding.help = format!("lock `{name}` in each turn of the loop, for as long as it is needed");
    finding
}
