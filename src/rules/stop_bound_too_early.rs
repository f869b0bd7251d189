//! `stop-bound-too-early`: `defer x.Stop()` evaluates `x` at once, and `x` is assigned anew later.

use crate::catalog::End;
use crate::diagnostic::{Edit, Finding, Fix, Label, Role, Safety};
use crate::flow::{Cfg, Edge, Exit, Passing, PathEnd, Start, Step, StepId, Walk};
use crate::index::LocalId;
use crate::rules::scene::{Scene, holds_any};
use crate::rules::watch::life::{self, Leaving};
use crate::rules::watch::{self, Opening, Watch};
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Span;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/stop-bound-too-early.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &[".Stop()"]) {
        return;
    }
    let Some(scene) = Scene::new(*cx) else { return };
    let mut reported = Vec::new();
    for &node in scene.nodes.iter() {
        let Node::Stmt(stmt) = node else { continue };
        let StmtKind::Defer(call) = scene.file.stmt(stmt).kind else { continue };
        if let Some(bound) = Bound::new(&scene, stmt, call) {
            bound.check(&scene, &mut reported, findings);
        }
    }
}

/// A statement `defer x.Stop()`.
struct Bound {
    stmt: StmtId,
    variable: LocalId,
    method: &'static str,
    owner: Option<ExprId>,
}

impl Bound {
    fn new(scene: &Scene<'_>, stmt: StmtId, call: ExprId) -> Option<Bound> {
        let (base, name) = scene.method_call(call)?;
        let variable = scene.local(base)?;
        let owner = scene.literal_around(Node::Stmt(stmt));
        let local = scene.info.local(variable);
        (local.kind.is_variable() && local.owner == owner && name.name.as_str() == watch::STOP)
            .then_some(Bound { stmt, variable, method: name.name.as_str(), owner })
    }

    fn check(&self, scene: &Scene<'_>, reported: &mut Vec<Node>, findings: &mut Vec<Finding>) {
        let assigned = self.assigned_later(scene);
        if assigned.is_empty() {
            return;
        }
        let watches = Watch::all(scene);
        let Some(graph) = scene.graph(self.owner) else { return };
        let Some(deferred) = graph.step_of_stmt(self.stmt) else { return };
        for (node, call, error) in assigned {
            let Some(step) = scene.step_of(&graph, node) else { continue };
            if reported.contains(&node) || !graph.reaches(deferred, step) {
                continue;
            }
            let ends = match watches.iter().find(|watch| watch.variable == self.variable) {
                Some(watch) => {
                    let opening = Opening { node, call, error };
                    let leaving = Leaving::Running;
                    let paths = life::exits(scene, &graph, watch, Some(&opening), leaving);
                    paths.iter().map(|path| path.end).collect()
                }
                None => self.ends(scene, &graph, step, error),
            };
            let exit = ends.into_iter().map(|end| match end {
                PathEnd::Exit(_, Exit::Return(stmt)) => scene.span(Node::Stmt(stmt)),
                _ => watch::closing_brace(scene, self.owner),
            });
            if let Some(exit) = exit.min() {
                reported.push(node);
                findings.push(self.finding(scene, node, call, exit));
            }
        }
    }

    /// The ends of the paths from `step` on which what it assigns goes on.
    fn ends(
        &self,
        scene: &Scene<'_>,
        graph: &Cfg,
        step: StepId,
        error: Option<LocalId>,
    ) -> Vec<PathEnd> {
        let mut walk = Alive { scene, graph, bound: self };
        let paths = graph.search(Start::After(step), error, &mut walk);
        paths.iter().map(|path| path.end).collect()
    }

    /// The assignments of something new to the variable, each with the call that makes it and the
    /// variable that says whether that failed.
    fn assigned_later(&self, scene: &Scene<'_>) -> Vec<(Node, ExprId, Option<LocalId>)> {
        let deferred_at = scene.span(Node::Stmt(self.stmt));
        let mut assigned = Vec::new();
        for &node in scene.nodes.iter() {
            if scene.literal_around(node) != self.owner || scene.span(node) == deferred_at {
                continue;
            }
            let Some((left, &[call])) = scene.assignment(node) else { continue };
            let call = scene.file.unparen(call);
            let is_call = matches!(scene.file.expr(call).kind, ExprKind::Call { .. });
            if is_call
                && left.len() <= 2
                && left.first() == Some(&Some(self.variable))
                && self.makes_something_to_stop(scene, call)
            {
                assigned.push((node, call, left.get(1).copied().flatten()));
            }
        }
        assigned
    }

    /// Whether a goroutine stays behind if what the call makes is not stopped.
    fn makes_something_to_stop(&self, scene: &Scene<'_>, call: ExprId) -> bool {
        if let Some(resource) = scene.resource(call) {
            return resource.context.is_none()
                && resource.ends.contains(&End::Method(self.method.into()));
        }
        watch::needs_stop(scene, call)
            && Watch::all(scene).iter().any(|watch| watch.variable == self.variable)
    }

    fn finding(&self, scene: &Scene<'_>, node: Node, call: ExprId, exit: Span) -> Finding {
        let (name, method) = (scene.info.local(self.variable).name, self.method);
        let message = format!(
            "what is assigned to `{name}` here is never stopped: `defer {name}.{method}()` is bound \
             to what `{name}` held before"
        );
        let mut finding =
            scene.cx.finding(scene.span(node), "made here, after the `defer`", message);
        finding.defect = scene.cx.location(scene.span(Node::Expr(call)));
        let label = |span: Span, role: Role, message: String| Label {
            location: scene.cx.location(span),
            role,
            message,
        };
        let deferred = scene.span(Node::Stmt(self.stmt));
        finding.labels = vec![
            label(deferred, Role::Context, format!("`{name}` is evaluated here, once")),
            label(exit, Role::Left, format!("returns here, with the new `{name}` still running")),
        ];
        finding.help = format!(
            "`defer func() {{ {name}.{method}() }}()` evaluates `{name}` at the end; test it for nil \
             if a failed call leaves it nil"
        );
        let StmtKind::Defer(deferred_call) = scene.file.stmt(self.stmt).kind else {
            return finding;
        };
        finding.fixes.push(Fix {
            message: format!("stop what `{name}` holds at the end"),
            safety: Safety::Unsafe,
            edits: vec![Edit {
                location: scene.cx.location(scene.span(Node::Expr(deferred_call))),
                replacement: format!("func() {{ {name}.{method}() }}()"),
            }],
        });
        finding
    }
}

/// Paths on which the new value is neither stopped nor given to anybody. The state is the variable
/// that holds the error of the call that made it.
struct Alive<'s, 'a> {
    scene: &'s Scene<'a>,
    graph: &'s Cfg,
    bound: &'s Bound,
}

impl Walk for Alive<'_, '_> {
    type State = Option<LocalId>;

    fn step(&mut self, error: &Self::State, step: StepId) -> Passing<Self::State> {
        let what = self.graph.step(step);
        if self.settles(what) {
            return Passing::Drop;
        }
        let stored = match what {
            Step::Assign(stmt) | Step::Comm(stmt) => self.scene.assignment(Node::Stmt(stmt)),
            Step::Declare(decl) => self.scene.assignment(Node::Decl(decl)),
            _ => None,
        };
        let overwritten = error.is_some() && stored.is_some_and(|(left, _)| left.contains(error));
        Passing::On(if overwritten { None } else { *error })
    }

    fn edge(&mut self, error: &Self::State, edge: &Edge) -> Option<Self::State> {
        let Some((condition, value)) = edge.kind.condition() else { return Some(*error) };
        let scene = self.scene;
        if let Some((local, asks_for_one)) = scene.nil_test(condition) {
            let is_nil = asks_for_one != value;
            if Some(local) == *error {
                return is_nil.then_some(*error);
            }
            if local == self.bound.variable {
                return (!is_nil).then_some(*error);
            }
        }
        let unclear = error.is_some_and(|error| scene.mentions(Node::Expr(condition), error));
        (!unclear).then_some(*error)
    }

    fn exit(&mut self, _: &Self::State, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}

impl Alive<'_, '_> {
    /// Whether a step uses the variable for more than asking its value for something.
    fn settles(&self, step: Step) -> bool {
        let root = match step {
            Step::Call(expr) | Step::FuncLit(expr) => Node::Expr(expr),
            Step::Send(stmt)
            | Step::Assign(stmt)
            | Step::Go(stmt)
            | Step::Defer(stmt)
            | Step::Return(stmt)
            | Step::Comm(stmt)
            | Step::Bind(stmt) => Node::Stmt(stmt),
            Step::Declare(decl) => Node::Decl(decl),
            _ => return false,
        };
        self.scene
            .uses(self.bound.variable)
            .filter(|&expr| self.scene.around(Node::Expr(expr)).any(|around| around == root))
            .any(|expr| !self.asks(expr))
    }

    /// Whether `expr` is `x` of a receive from its field `x.C`, as tickers have one.
    fn asks(&self, expr: ExprId) -> bool {
        let scene = self.scene;
        let Some(Node::Expr(field)) = scene.parent(Node::Expr(expr)) else { return false };
        let Some(Node::Expr(outer)) = scene.parent(Node::Expr(field)) else { return false };
        scene.selector(field).is_some_and(|(_, name)| name.name.as_str() == "C")
            && matches!(scene.file.expr(outer).kind, ExprKind::Unary { op: UnaryOp::Recv, .. })
    }
}
