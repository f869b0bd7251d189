//! Paths on which a watch is alive: from where it comes into a variable to where the function is
//! left without it.
//!
//! A path is given up as soon as the watch may have ended or somebody else may have it: the call
//! that makes it failed, its channel is closed, the server has reported an error (after which it
//! ends the stream), it is handed over, replaced or drained.

use rustc_hash::FxHashMap;

use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::index::LocalId;
use crate::rules::conditions;
use crate::rules::scene::{Graph, Scene};
use crate::rules::watch::{Effect, Opening, Watch};
use crate::source::Span;
use crate::syntax::{BinaryOp, Case, ExprId, ExprKind, Node, StmtKind};

/// Which exits are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// Those on whose way the watch is not stopped.
    Running,
    /// Those on whose way it is stopped after something was received from it.
    StoppedWithEvents,
}

/// What a path knows of a watch that is alive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Known {
    /// The variable that holds the error of the call that made the watch.
    error: Option<LocalId>,
    /// A variable that is false if the channel was found closed.
    open: Option<LocalId>,
    /// A variable that is false if the last event was no object of the kind watched for.
    object: Option<LocalId>,
    stopped: bool,
    received: bool,
}

/// The shortest path to each exit by which a watch is left behind.
pub fn exits(
    scene: &Scene<'_>,
    graph: &Graph<'_>,
    watch: &Watch,
    from: Option<&Opening>,
    leaving: Leaving,
) -> Vec<Path<Known>> {
    let effects = watch.effects(scene, graph);
    let mut known = Known { error: from.and_then(|opening| opening.error), ..Known::default() };
    let mut start = Start::Entry;
    if let Some(opening) = from {
        let Some(step) = scene.step_of(graph, opening.node) else { return Vec::new() };
        start = Start::After(step);
        for &(literal, effect) in &effects.by_literals {
            if graph.reaches(literal, step) {
                if leaving == Leaving::Running || effect != Effect::Stops {
                    return Vec::new();
                }
                known.stopped = true;
            }
        }
    }
    let mut life = Life { scene, graph, watch, effects: &effects.at, leaving };
    conditions::search(graph.function(), graph.body(), start, known, &mut life)
}

/// Where a path leaves the function: the `return`, or the closing brace.
pub fn exit_span(scene: &Scene<'_>, watch: &Watch, path: &Path<Known>) -> Span {
    match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => scene.file.stmt(stmt).span,
        _ => super::closing_brace(scene, watch.owner),
    }
}

struct Life<'s, 'a> {
    scene: &'s Scene<'a>,
    graph: &'s Cfg,
    watch: &'s Watch,
    effects: &'s FxHashMap<StepId, Effect>,
    leaving: Leaving,
}

impl Walk for Life<'_, '_> {
    type State = Known;

    fn step(&mut self, known: &Known, step: StepId) -> Passing<Known> {
        let mut known = known.clone();
        match self.effects.get(&step) {
            Some(Effect::Stops) if self.leaving == Leaving::Running => return Passing::Drop,
            Some(Effect::Stops) => known.stopped = true,
            Some(Effect::Replaces | Effect::HandsOver) => return Passing::Drop,
            None => {}
        }
        let step = self.graph.step(step);
        if let Some(channel) = step.received_from(self.scene.file)
            && self.watch.is_channel(self.scene, channel)
        {
            known.received = true;
        }
        if let Some(node) = storing(step) {
            self.stored(node, &mut known);
        }
        Passing::On(known)
    }

    fn edge(&mut self, known: &Known, edge: &Edge) -> Option<Known> {
        let mut known = known.clone();
        let goes_on = match edge.kind {
            EdgeKind::Jump | EdgeKind::Arm(..) => true,
            EdgeKind::True(condition) => self.decided(condition, true, &known),
            EdgeKind::False(condition) => self.decided(condition, false, &known),
            EdgeKind::Case(stmt, clause) => {
                let (subject, cases) = cases(self.scene, stmt);
                let case = &cases[clause as usize];
                !self.is_about_error(subject, &known) && !self.reports_error(subject, case)
            }
            EdgeKind::NoCase(stmt) => {
                let (subject, _) = cases(self.scene, stmt);
                !self.is_about_error(subject, &known)
            }
            EdgeKind::More(stmt) => {
                known.received |= self.ranges_over_events(stmt);
                true
            }
            EdgeKind::Done(stmt) => !self.ranges_over_events(stmt),
        };
        goes_on.then_some(known)
    }

    fn exit(&mut self, known: &Known, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
            && match self.leaving {
                Leaving::Running => true,
                Leaving::StoppedWithEvents => known.stopped && known.received,
            }
    }
}

impl Life<'_, '_> {
    /// Learns from what an assignment stores, and forgets what it overwrites.
    fn stored(&self, node: Node, known: &mut Known) {
        let Some((left, right)) = self.scene.assignment(node) else { return };
        for slot in [&mut known.error, &mut known.open, &mut known.object] {
            if slot.is_some_and(|local| left.contains(&Some(local))) {
                *slot = None;
            }
        }
        let (&[_, Some(second)], &[value]) = (&*left, right) else { return };
        if self.watch.is_receive(self.scene, value) {
            known.open = Some(second);
        } else if let ExprKind::TypeAssert { base, .. } =
            self.scene.file.expr(self.scene.file.unparen(value)).kind
            && self.is_part_of_event(base, "Object")
        {
            known.object = Some(second);
        }
    }

    /// Whether the watch may be alive where `condition` has this value.
    fn decided(&self, condition: ExprId, value: bool, known: &Known) -> bool {
        let scene = self.scene;
        if let Some(local) = scene.local(condition) {
            return value || (Some(local) != known.open && Some(local) != known.object);
        }
        if let ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. } =
            scene.file.expr(condition).kind
        {
            let equal = (op == BinaryOp::Eq) == value;
            for (one, other) in [(left, right), (right, left)] {
                if scene.is_nil(other) {
                    match scene.local(one) {
                        Some(local) if local == self.watch.variable => return !equal,
                        Some(local) if Some(local) == known.error => return equal,
                        _ if self.is_part_of_event(one, "Object") => return !equal,
                        _ => {}
                    }
                } else if self.is_part_of_event(one, "Type") {
                    return !(equal && ends_watch(scene, other));
                }
            }
        }
        !self.is_about_error(Some(condition), known)
    }

    /// Whether a value depends on the error of the call that made the watch, in a way that is not
    /// understood.
    fn is_about_error(&self, value: Option<ExprId>, known: &Known) -> bool {
        match (value, known.error) {
            (Some(value), Some(error)) => self.scene.mentions(Node::Expr(value), error),
            _ => false,
        }
    }

    /// Whether a clause is taken for events after which the server ends the watch.
    fn reports_error(&self, subject: Option<ExprId>, case: &Case) -> bool {
        subject.is_some_and(|subject| self.is_part_of_event(subject, "Type"))
            && case
                .values
                .as_ref()
                .is_some_and(|values| values.iter().any(|&value| ends_watch(self.scene, value)))
    }

    fn ranges_over_events(&self, stmt: crate::syntax::StmtId) -> bool {
        match self.scene.file.stmt(stmt).kind {
            StmtKind::Range { subject, .. } => self.watch.is_channel(self.scene, subject),
            _ => false,
        }
    }

    fn is_part_of_event(&self, expr: ExprId, part: &str) -> bool {
        is_part_of_event(self.scene, self.watch, expr, part)
    }
}

/// Whether an expression is `event.part` for an event of the watch.
pub fn is_part_of_event(scene: &Scene<'_>, watch: &Watch, expr: ExprId, part: &str) -> bool {
    scene.selector(expr).is_some_and(|(base, name)| {
        name.name.as_str() == part
            && scene.local(base).is_some_and(|local| watch.events.contains(&local))
    })
}

/// What a `switch` looks at, and its clauses.
pub fn cases<'a>(scene: &Scene<'a>, stmt: crate::syntax::StmtId) -> (Option<ExprId>, &'a [Case]) {
    match &scene.file.stmt(stmt).kind {
        StmtKind::Switch { tag, cases, .. } => (*tag, cases),
        StmtKind::TypeSwitch { subject, cases, .. } => (Some(*subject), cases),
        _ => (None, &[]),
    }
}

/// The assignment that a step does.
pub fn storing(step: Step) -> Option<Node> {
    match step {
        Step::Assign(stmt) | Step::Comm(stmt) => Some(Node::Stmt(stmt)),
        Step::Declare(decl) => Some(Node::Decl(decl)),
        _ => None,
    }
}

/// Whether a type of event is `watch.Error`, which is the last one.
fn ends_watch(scene: &Scene<'_>, value: ExprId) -> bool {
    scene.selector(value).is_some_and(|(_, name)| name.name.as_str() == "Error")
}
