//! Errors with which the process ends: what a function leaves behind on its way out with one hurts nobody.

use crate::flow::{Edge, Exit, Passing, Start, StepId, Walk};
use crate::index::{FuncId, LocalId, Type};
use crate::rules::PackageCx;
use crate::rules::recurrence::{is_begun, known_calls};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, Node, StmtId, StmtKind};

/// How many calls lie at most between a function and where its error ends the process.
const MAX_CALLS: u32 = 5;

/// Whether a place is a `return` with an error, and wherever its function is called that ends the process.
pub fn ends_process(cx: &PackageCx<'_>, place: Location) -> bool {
    let Some(scene) = Scene::at(cx, place) else { return false };
    let Some(Node::Stmt(stmt)) = scene.outermost(place.span) else { return false };
    gives_error(&scene, stmt)
        && scene.literal_around(Node::Stmt(stmt)).is_none()
        && is_fatal(cx, scene.cx.func, MAX_CALLS)
}

/// Whether a statement is a `return` whose last value is not `nil`.
fn gives_error(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let StmtKind::Return(ref values) = scene.file.stmt(stmt).kind else { return false };
    values.last().is_some_and(|&last| !scene.is_nil(last))
}

/// Whether the process ends wherever a function returns an error.
fn is_fatal(cx: &PackageCx<'_>, func: FuncId, depth: u32) -> bool {
    let Type::Func(signature) = cx.index.func_type(func) else { return false };
    if !signature.results.last().is_some_and(Type::is_error) {
        return false;
    }
    if is_begun(cx, func) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let calls = known_calls(cx, cx.index.func(func));
    !calls.is_empty()
        && calls.into_iter().all(|(caller, call, by_command)| {
            Scene::of(cx, caller).is_some_and(|scene| gives_up(&scene, call, by_command, depth))
        })
}

/// Whether a function gives up where a call returns an error: it ends the process, or returns another with which
/// that ends.
fn gives_up(scene: &Scene<'_>, call: ExprId, by_command: bool, depth: u32) -> bool {
    let node = Node::Expr(call);
    let literal = scene.literal_around(node);
    if scene.go_of(call).is_some() || scene.is_deferred(call) {
        return false;
    }
    let own = literal.is_none();
    let ends_here = by_command || own && is_begun(&scene.cx.package, scene.cx.func);
    let returned = || ends_here || own && is_fatal(&scene.cx.package, scene.cx.func, depth);
    let statement = scene.around(node).find_map(|around| match around {
        Node::Stmt(stmt) => Some(stmt),
        _ => None,
    });
    if statement.is_some_and(|stmt| matches!(scene.file.stmt(stmt).kind, StmtKind::Return(_))) {
        return returned();
    }
    let error = scene.around(node).find_map(|around| {
        let (targets, _) = scene.assignment(around)?;
        targets.last().copied().flatten()
    });
    let (Some(error), Some(cfg)) = (error, scene.graph(literal)) else { return false };
    let Some(at) = cfg.step_of_expr(call) else { return false };
    let mut walk = Failed { scene, error, call: at, again: false, exits: Vec::new() };
    cfg.search(Start::After(at), (), &mut walk);
    let Failed { again, exits, .. } = walk;
    let says_error = |exit: &Exit| matches!(*exit, Exit::Return(stmt) if gives_error(scene, stmt));
    !again && (ends_here || exits.is_empty() || exits.iter().all(says_error) && returned())
}

/// Follows the ways on which a call has returned an error.
struct Failed<'s, 'a> {
    scene: &'s Scene<'a>,
    error: LocalId,
    call: StepId,
    /// Whether one of them comes to the call again.
    again: bool,
    /// Where they leave while the process goes on.
    exits: Vec<Exit>,
}

impl Walk for Failed<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        self.again |= step == self.call;
        Passing::On(())
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let Some((condition, holds)) = edge.kind.condition() else { return Some(()) };
        match self.scene.nil_test(condition) {
            Some((local, is_set)) if local == self.error && is_set != holds => None,
            _ => Some(()),
        }
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        if !matches!(exit, Exit::Panic(_) | Exit::Never(_)) {
            self.exits.push(exit);
        }
        false
    }
}
