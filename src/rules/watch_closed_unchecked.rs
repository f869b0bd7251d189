//! `watch-closed-unchecked`: a loop that goes on receiving zero events once the watch is closed.

use std::cell::Cell;

use crate::catalog::Blocking;
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::LocalId;
use crate::rules::scene::Scene;
use crate::rules::watch::{self, Watch, life};
use crate::rules::{Check, FunctionCx, Rule};
use crate::syntax::{BinaryOp, CommClause, ExprId, ExprKind, LitKind, Node, StmtId, StmtKind};

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/watch-closed-unchecked.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !watch::may_have_any(cx) {
        return;
    }
    let Some(scene) = Scene::new(*cx) else { return };
    let watches = Watch::all(&scene);
    if watches.is_empty() || watch::is_about_tests(&scene) {
        return;
    }
    for watch in watches {
        for &node in scene.nodes.iter() {
            let Node::Expr(receive) = node else { continue };
            let is_receive = matches!(scene.file.expr(receive).kind, ExprKind::Unary { .. })
                && watch.is_receive(&scene, receive);
            if is_receive {
                findings.extend(unchecked(&scene, &watch, receive));
            }
        }
    }
}

/// What becomes of the zero event that a closed channel gives.
#[derive(Clone, Copy)]
enum Outcome {
    /// Back to the receive.
    Again,
    /// A type assertion on nothing, at this place.
    Panic(ExprId),
}

fn unchecked(scene: &Scene<'_>, watch: &Watch, receive: ExprId) -> Option<Finding> {
    let event = stored_in(scene, receive)?;
    let owner = scene.literal_around(Node::Expr(receive));
    let graph = scene.graph(owner)?;
    let outcome = outcome(scene, watch, &graph, receive, event)?;
    let name = watch.name;
    let (message, label) = match outcome {
        Outcome::Again => (
            format!(
                "once the server has ended `{name}`, this receive yields a zero event without \
                 waiting, and the loop comes back here at once"
            ),
            None,
        ),
        Outcome::Panic(assertion) => (
            format!(
                "once the server has ended `{name}`, this receive yields a zero event, and the \
                 type assertion on its nil `Object` panics"
            ),
            Some(Label {
                location: scene.cx.location(scene.span(Node::Expr(assertion))),
                role: Role::Stuck,
                message: "`Object` is nil here".to_owned(),
            }),
        ),
    };
    let span = scene.span(Node::Expr(receive));
    let mut finding = scene.cx.finding(span, "not asked whether the channel is open", message);
    finding.labels.extend(label);
    finding.why = "servers end every watch after a while, and whenever a connection breaks; the \
                   channel is closed then"
        .to_owned();
    finding.help = format!(
        "receive with `event, open := <-{}`, and leave or watch again when it is not open",
        scene.text(receive).trim_start_matches("<-").trim()
    );
    Some(finding)
}

/// The variable that a receive stores its event in, when it does not ask whether there was one;
/// `None` inside is a receive whose event is dropped.
fn stored_in(scene: &Scene<'_>, receive: ExprId) -> Option<Option<LocalId>> {
    let around = scene.parent(Node::Expr(receive))?;
    if let Node::Stmt(stmt) = around
        && matches!(scene.file.stmt(stmt).kind, StmtKind::Expr(_))
    {
        return Some(None);
    }
    let (left, right) = scene.assignment(around)?;
    (left.len() == 1 && right.len() == 1).then(|| left[0])
}

/// What becomes of a zero event that `receive` gives, if the same becomes of it on all ways: it goes
/// back to the receive without waiting for anything, or panics.
fn outcome(
    scene: &Scene<'_>,
    watch: &Watch,
    graph: &Cfg,
    receive: ExprId,
    event: Option<LocalId>,
) -> Option<Outcome> {
    if graph.incomplete() {
        return None;
    }
    let at = scene.step_of(graph, Node::Expr(receive))?;
    let select = match graph.step(at) {
        Step::Comm(stmt) => graph.step_of_stmt(select_of(scene, stmt)?),
        _ => None,
    };
    let mut walk = Zero {
        scene,
        watch,
        graph,
        receive,
        event,
        home: select.unwrap_or(at),
        again: Cell::new(false),
        panic: Cell::new(None),
    };
    let out = graph.search(Start::After(at), None, &mut walk);
    match (out.is_empty(), walk.again.get(), walk.panic.get()) {
        (true, _, Some(assertion)) => Some(Outcome::Panic(assertion)),
        (true, true, None) => Some(Outcome::Again),
        _ => None,
    }
}

/// The `select` that a communication stands in.
fn select_of(scene: &Scene<'_>, comm: StmtId) -> Option<StmtId> {
    match scene.parent(Node::Stmt(comm))? {
        Node::Stmt(stmt) => {
            let StmtKind::Select(clauses) = &scene.file.stmt(stmt).kind else { return None };
            clauses.iter().any(|clause: &CommClause| clause.comm == Some(comm)).then_some(stmt)
        }
        _ => None,
    }
}

/// Follows a zero event. The state is the variable that says whether its object is of some type,
/// which it is not. What it looks for is a way on that is not known to be bad.
struct Zero<'s, 'a> {
    scene: &'s Scene<'a>,
    watch: &'s Watch,
    graph: &'s Cfg,
    receive: ExprId,
    event: Option<LocalId>,
    home: StepId,
    again: Cell<bool>,
    panic: Cell<Option<ExprId>>,
}

impl Walk for Zero<'_, '_> {
    type State = Option<LocalId>;

    fn step(&mut self, asserted: &Self::State, step: StepId) -> Passing<Self::State> {
        if step == self.home {
            self.again.set(true);
            return Passing::Drop;
        }
        let what = self.graph.step(step);
        if let Some(assertion) = self.panics(what) {
            self.panic.set(Some(self.panic.get().map_or(assertion, |known| known.min(assertion))));
            return Passing::Drop;
        }
        if self.waits(what) {
            return Passing::Found;
        }
        let mut asserted = *asserted;
        if let Some((left, right)) =
            life::storing(what).and_then(|node| self.scene.assignment(node))
        {
            let is_own =
                matches!(right, &[value] if self.scene.file.unparen(value) == self.receive);
            if !is_own && self.event.is_some() && left.contains(&self.event) {
                return Passing::Found;
            }
            if asserted.is_some() && left.contains(&asserted) {
                asserted = None;
            }
            if let (&[_, Some(ok)], &[value]) = (&*left, right)
                && let ExprKind::TypeAssert { base, .. } =
                    self.scene.file.expr(self.scene.file.unparen(value)).kind
                && self.is_part(base, "Object")
            {
                asserted = Some(ok);
            }
        }
        Passing::On(asserted)
    }

    fn edge(&mut self, asserted: &Self::State, edge: &Edge) -> Option<Self::State> {
        let taken = match edge.kind {
            EdgeKind::True(condition) => self.holds(condition, *asserted) != Some(false),
            EdgeKind::False(condition) => self.holds(condition, *asserted) != Some(true),
            EdgeKind::Case(stmt, clause) => {
                let (subject, cases) = life::cases(self.scene, stmt);
                !self.decides(subject) || {
                    let default_only = cases[clause as usize].values.is_none();
                    default_only || self.may_equal_zero(&cases[clause as usize].values)
                }
            }
            _ => true,
        };
        taken.then_some(*asserted)
    }

    fn exit(&mut self, _: &Self::State, _: Exit) -> bool {
        true
    }
}

impl Zero<'_, '_> {
    /// A type assertion without `ok` on the event's object, evaluated in this step.
    fn panics(&self, step: Step) -> Option<ExprId> {
        let root = match step {
            Step::Call(expr) | Step::Eval(expr) => Node::Expr(expr),
            Step::Assign(stmt) | Step::Send(stmt) | Step::Return(stmt) => Node::Stmt(stmt),
            Step::Declare(decl) => Node::Decl(decl),
            _ => return None,
        };
        let checked = match self.scene.assignment(root) {
            Some((left, &[value])) if left.len() == 2 => Some(self.scene.file.unparen(value)),
            _ => None,
        };
        self.scene.file.descendants(root).find_map(|node| match node {
            Node::Expr(expr) if Some(expr) != checked => match self.scene.file.expr(expr).kind {
                ExprKind::TypeAssert { base, .. }
                    if self.is_part(base, "Object") && !self.in_literal(root, node) =>
                {
                    Some(expr)
                }
                _ => None,
            },
            _ => None,
        })
    }

    fn in_literal(&self, root: Node, node: Node) -> bool {
        self.scene.literal_around(node) != self.scene.literal_around(root)
    }

    /// Whether the step may wait for something, so that the loop is no hot one.
    fn waits(&self, step: Step) -> bool {
        match step {
            Step::Recv(_) | Step::Send(_) | Step::Select(_) | Step::Next(_) => true,
            Step::Call(call) => {
                let name = self.scene.info.callee(call).qualified(self.scene.cx.index());
                name.is_some_and(|name| self.scene.facts_of(name).of::<Blocking>().next().is_some())
            }
            _ => false,
        }
    }

    /// The value of a condition for a zero event.
    fn holds(&self, condition: ExprId, asserted: Option<LocalId>) -> Option<bool> {
        if let Some(local) = self.scene.local(condition) {
            return (Some(local) == asserted).then_some(false);
        }
        let ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. } =
            self.scene.file.expr(condition).kind
        else {
            return None;
        };
        let equal = [(left, right), (right, left)].into_iter().find_map(|(one, other)| {
            if self.is_part(one, "Object") && self.scene.is_nil(other) {
                return Some(true);
            }
            self.is_part(one, "Type").then(|| self.is_empty_string(other))
        })?;
        Some(equal == (op == BinaryOp::Eq))
    }

    /// Whether the zero event alone decides what a `switch` on `subject` chooses.
    fn decides(&self, subject: Option<ExprId>) -> bool {
        subject
            .is_some_and(|subject| self.is_part(subject, "Type") || self.is_part(subject, "Object"))
    }

    fn may_equal_zero(&self, values: &Option<Box<[ExprId]>>) -> bool {
        values
            .iter()
            .flatten()
            .any(|&value| self.scene.is_nil(value) || self.is_empty_string(value))
    }

    fn is_empty_string(&self, expr: ExprId) -> bool {
        let expr = self.scene.file.expr(self.scene.file.unparen(expr));
        matches!(expr.kind, ExprKind::BasicLit(LitKind::String))
            && expr.span.end - expr.span.start == 2
    }

    fn is_part(&self, expr: ExprId, part: &str) -> bool {
        self.event.is_some_and(|event| {
            self.scene.selector(expr).is_some_and(|(base, name)| {
                name.name.as_str() == part && self.scene.local(base) == Some(event)
            })
        }) && !self.watch.events.is_empty()
    }
}
