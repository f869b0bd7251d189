//! The ways out of a goroutine on which nobody is woken.

use crate::flow::{Edge, Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Callee, FuncId, LocalId, Type};
use crate::rules::PackageCx;
use crate::rules::conditions::asked;
use crate::rules::evidence::first_line;
use crate::rules::evidence::forsaken::{Condition, Home};
use crate::rules::scene::{Scene, compared_with_nil};
use crate::source::{Location, Span};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// A way out of a body.
#[derive(Clone)]
pub(super) struct Way {
    pub reason: Reason,
    /// Where it leaves.
    pub location: Location,
    /// Whether the error that the function returns there is set; `None` where that is not known.
    fails: Option<bool>,
}

/// Why a way out is taken.
#[derive(Clone, Copy)]
pub(super) enum Reason {
    /// Something went wrong.
    Error,
    /// A condition of a function decides it.
    Condition(FuncId, ExprId),
    Other,
}

/// What is known of an error: that a variable is nil, or not.
type Known = Option<(LocalId, bool)>;

/// How many calls are followed.
const MAX_CALLS: u32 = 4;

/// The bodies that signal, or call those that do.
pub(super) struct Signaller<'s, 'a> {
    package: PackageCx<'a>,
    condition: &'s Condition<'a>,
    members: &'s [Home],
}

impl<'s, 'a> Signaller<'s, 'a> {
    pub(super) fn new(
        package: PackageCx<'a>,
        condition: &'s Condition<'a>,
        members: &'s [Home],
    ) -> Self {
        Signaller { package, condition, members }
    }

    /// The ways out of a body by which it signals to nobody; `None` if there is none.
    pub(super) fn ways_out(&self, body: Home) -> Option<Vec<Way>> {
        let ways = self.ways(body, MAX_CALLS);
        (!ways.is_empty()).then_some(ways)
    }

    fn ways(&self, (func, literal): Home, depth: u32) -> Vec<Way> {
        let Some(scene) = Scene::of(&self.package, func) else { return Vec::new() };
        let (Some(cfg), Some(depth)) = (scene.graph(literal), depth.checked_sub(1)) else {
            return Vec::new();
        };
        let called = |call: ExprId| match *scene.info.callee(call) {
            Callee::Func(callee) => Some((callee, None)).filter(|home| self.members.contains(home)),
            _ => None,
        };
        let wakes = |step: StepId| match cfg.step(step) {
            Step::Call(call) => called(call).is_some() || self.is_signal(&scene, call),
            _ => false,
        };
        let mut all = Vec::new();
        let mut follow = |start: Start, known: Known, inherited: Option<&Way>| {
            let mut walk = Leaves { scene: &scene, step: &|step| cfg.step(step), wakes: &wakes };
            for path in cfg.search(start, known, &mut walk) {
                all.extend(way(&scene, literal, &path, inherited));
            }
        };
        follow(Start::Entry, None, None);
        for step in cfg.steps() {
            let Step::Call(call) = cfg.step(step) else { continue };
            let Some(home) = called(call).filter(|home| *home != (func, literal)) else { continue };
            let (error, after) = kept_error(&scene, call);
            let after = after.and_then(|stmt| cfg.step_of_stmt(stmt)).unwrap_or(step);
            for way in self.ways(home, depth) {
                let known = error.and_then(|error| Some((error, way.fails?)));
                if error.is_none() || known.is_some() {
                    follow(Start::After(after), known, Some(&way));
                }
            }
        }
        all
    }

    fn is_signal(&self, scene: &Scene<'_>, call: ExprId) -> bool {
        self.condition.signals.iter().any(|signal| {
            signal.node == call && self.condition.scenes[signal.scene].cx.func == scene.cx.func
        })
    }
}

/// The variable that keeps the error of a call, and the statement that sets it.
fn kept_error(scene: &Scene<'_>, call: ExprId) -> (Option<LocalId>, Option<StmtId>) {
    let Some(Node::Stmt(stmt)) = scene.parent(Node::Expr(call)) else { return (None, None) };
    match scene.assignment(Node::Stmt(stmt)) {
        Some((targets, [_])) => (targets.last().copied().flatten(), Some(stmt)),
        _ => (None, None),
    }
}

/// What a path out of a body tells.
fn way(
    scene: &Scene<'_>,
    literal: Option<ExprId>,
    path: &Path<Known>,
    inherited: Option<&Way>,
) -> Option<Way> {
    let PathEnd::Exit(_, exit) = path.end else { return None };
    let decided = path.decisions().next_back();
    let span = match exit {
        Exit::Return(stmt) => first_line(scene, scene.span(Node::Stmt(stmt))),
        _ => {
            let end = scene.span(Node::Stmt(scene.body_of(literal))).end;
            Span::new(end.saturating_sub(1), end)
        }
    };
    let location = scene.cx.location(span);
    let fails = fails(scene, exit, path.state);
    let (reason, location) = match (decided, inherited) {
        (None, Some(way)) => (way.reason, way.location),
        (None, None) => (Reason::Other, location),
        (Some(decided), _) => match asked(scene.file, decided) {
            Some((cond, holds)) => match compared_with_nil(scene.file, &scene.info, cond) {
                Some((compared, is_set)) if is_error(scene, compared) => {
                    (if is_set == holds { Reason::Error } else { Reason::Other }, location)
                }
                _ => (Reason::Condition(scene.cx.func, cond), location),
            },
            None => (Reason::Other, location),
        },
    };
    Some(Way { reason, location, fails })
}

fn is_error(scene: &Scene<'_>, expr: ExprId) -> bool {
    scene.info.type_of(expr).is_named("", "error") || {
        let universe = scene.cx.index().underlying(scene.info.type_of(expr));
        matches!(universe, Type::Interface(_)) && scene.text(expr).to_lowercase().contains("err")
    }
}

/// Whether what a body returns last is an error that is set.
fn fails(scene: &Scene<'_>, exit: Exit, known: Known) -> Option<bool> {
    let Exit::Return(stmt) = exit else { return None };
    let StmtKind::Return(ref values) = scene.file.stmt(stmt).kind else { return None };
    let last = scene.file.unparen(*values.last()?);
    if scene.is_nil(last) {
        return Some(false);
    }
    match scene.local(last) {
        Some(local) => known.filter(|&(known, _)| known == local).map(|(_, is_set)| is_set),
        None => matches!(scene.file.expr(last).kind, ExprKind::Call { .. } | ExprKind::Ident(_))
            .then_some(true),
    }
}

/// A walk to the exits that passes nothing that may wake anybody.
struct Leaves<'w, 'a> {
    scene: &'w Scene<'a>,
    step: &'w dyn Fn(StepId) -> Step,
    wakes: &'w dyn Fn(StepId) -> bool,
}

impl Walk for Leaves<'_, '_> {
    type State = Known;

    fn step(&mut self, known: &Known, step: StepId) -> Passing<Known> {
        if (self.wakes)(step) {
            return Passing::Drop;
        }
        match ((self.step)(step), known) {
            (Step::Assign(stmt) | Step::Comm(stmt), &Some((error, _))) => {
                let set = self.scene.assignment(Node::Stmt(stmt));
                let is_set = set.is_some_and(|(targets, _)| targets.contains(&Some(error)));
                Passing::On(known.filter(|_| !is_set))
            }
            _ => Passing::On(*known),
        }
    }

    fn edge(&mut self, known: &Known, edge: &Edge) -> Option<Known> {
        let Some((cond, holds)) = asked(self.scene.file, edge.kind) else { return Some(*known) };
        let Some((compared, is_set)) = compared_with_nil(self.scene.file, &self.scene.info, cond)
        else {
            return Some(*known);
        };
        let Some(local) = self.scene.local(compared) else { return Some(*known) };
        let is_set = is_set == holds;
        match *known {
            Some((error, was_set)) if error == local => (was_set == is_set).then_some(*known),
            _ => Some(Some((local, is_set))),
        }
    }

    fn exit(&mut self, _: &Known, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}
