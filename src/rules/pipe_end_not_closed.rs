//! `pipe-end-not-closed`: one end of an `io.Pipe` stays open on a path, and whoever is at the other
//! end waits for it for ever.
//!
//! An end counts as one function's alone as long as nobody else can close it: it is named where it
//! is closed, used, and given on as something that has no `Close`. The writer's end is looked at
//! where the function closes it on other paths; the reader's where what reads it fails.

mod ends;

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Edge, EdgeKind, Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::index::LocalId;
use crate::rules::conditions::{Conditions, Decided, asked, condition};
use crate::rules::evidence::first_line;
use crate::rules::scene::{Scene, holds_any, is_beside_tests};
use crate::rules::{Check, FunctionCx, Rule};
use crate::summary::Read;
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtKind};

use ends::{Close, Ends, Pipe, Steps};

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/pipe-end-not-closed.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["Pipe("]) {
        return;
    }
    let Some(scene) = Scene::new(*cx) else { return };
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for pipe in ends::pipes(&scene, &read) {
        let found = writer_open(&scene, &read, &pipe).or_else(|| reader_open(&scene, &read, &pipe));
        findings.extend(found);
    }
}

/// A path on which the writer's end is left open, by the body that closes it on other paths.
fn writer_open<'a>(scene: &Scene<'a>, read: &Read<'a>, pipe: &Pipe) -> Option<Finding> {
    let writer = ends::of_writer(scene, read, pipe)?;
    let home = one_home(&writer.closes)?;
    let mut labels =
        vec![(Node::Expr(pipe.call), Role::Made, "both ends are made here".to_owned())];
    let start = if home == pipe.owner {
        // The goroutine at the other end reads until the end, and nobody else takes it from it.
        let reader = ends::of_reader(scene, read, pipe)?;
        let (goroutine, go) =
            reader.used.iter().find_map(|&used| ends::goroutine_of(scene, used))?;
        if reader.closes.iter().any(|close| close.home != Some(goroutine)) {
            return None;
        }
        let told = "this goroutine reads until the end".to_owned();
        labels.push((Node::Stmt(go), Role::Started, told));
        Start::After(pipe.at.step)
    } else {
        ends::start_of(scene, home?)?;
        Start::Entry
    };
    let steps = Steps::of(scene, &read.function, home)?;
    let start = read_from(scene, pipe, steps).unwrap_or(start);
    let conditions = Conditions::new(steps.function, steps.body);
    let mut walk = Open { steps, pipe, closes: &writer.closes, conditions: &conditions };
    let path = steps.cfg().search(start, State::default(), &mut walk).into_iter().next()?;
    if let Some(condition) = path.decisions().filter_map(condition).next_back() {
        let told = format!("the way out is by `{}`", scene.text(condition));
        labels.push((Node::Expr(condition), Role::Left, told));
    }
    let close = writer.closes.first()?;
    let told = match close.only_if_error {
        Some(_) => "closed only when there was an error",
        None => "closed on the other way",
    };
    labels.push((Node::Expr(close.call), Role::Context, told.to_owned()));
    let name = scene.info.local(pipe.writer).name;
    let mut finding = finding(
        scene,
        pipe,
        &path,
        labels,
        format!(
            "`{name}` is closed on another way out, but not on this one: who reads from the pipe \
             waits for more for ever"
        ),
    );
    finding.why = "a read from a pipe returns when something is written or the writer's end is \
                   closed; nothing else ends it"
        .to_owned();
    finding.help = format!(
        "close the writer's end on every way out: `defer {name}.Close()`, or \
         `{name}.CloseWithError(err)`, which is `Close` for an `err` that is nil"
    );
    Some(finding)
}

/// Where a body starts the only goroutine that has the reader's end: before that, nobody waits at it.
fn read_from(scene: &Scene<'_>, pipe: &Pipe, steps: Steps<'_, '_>) -> Option<Start> {
    let made = scene.span(Node::Expr(pipe.call)).start;
    let uses = scene.uses(pipe.reader);
    let uses = uses.filter(|&used| scene.span(Node::Expr(used)).start > made);
    let mut starts = uses.map(|used| ends::goroutine_of(scene, used));
    let (goroutine, go) = starts.next()??;
    let is_only = starts.all(|start| start.is_some_and(|(other, _)| other == goroutine));
    let started = scene.step_of(steps.cfg(), Node::Stmt(go)).filter(|_| is_only)?;
    Some(Start::After(started))
}

/// A path on which what reads the pipe fails, and the reader's end is left open, while a goroutine
/// writes.
fn reader_open<'a>(scene: &Scene<'a>, read: &Read<'a>, pipe: &Pipe) -> Option<Finding> {
    let writer = ends::of_writer(scene, read, pipe)?;
    let (goroutine, go) = writer.used.iter().find_map(|&used| ends::goroutine_of(scene, used))?;
    let reader = ends::of_reader(scene, read, pipe)?;
    let in_goroutine = |close: &Close| close.home == Some(goroutine);
    if reader.closes.iter().any(in_goroutine) || !writer.closes.iter().all(in_goroutine) {
        return None;
    }
    let steps = Steps::of(scene, &read.function, pipe.owner)?;
    let started = scene.step_of(steps.cfg(), Node::Stmt(go))?;
    let conditions = Conditions::new(steps.function, steps.body);
    let mut walk = Unread { steps, started, reader: &reader, pipe, conditions: &conditions };
    let start = Start::After(pipe.at.step);
    let path = steps.cfg().search(start, Reading::default(), &mut walk).into_iter().next()?;
    let mut labels = vec![
        (Node::Expr(pipe.call), Role::Made, "both ends are made here".to_owned()),
        (Node::Stmt(go), Role::Started, "this goroutine writes".to_owned()),
    ];
    if let Some(condition) = path.decisions().filter_map(condition).next_back() {
        let told = format!("`{}` is decided here", scene.text(condition));
        labels.push((Node::Expr(condition), Role::Left, told));
    }
    let name = scene.info.local(pipe.reader).name;
    let mut finding = finding(
        scene,
        pipe,
        &path,
        labels,
        format!(
            "this leaves without having read the pipe to its end, and without `{name}.Close()`: \
             the goroutine that writes waits for a reader for ever"
        ),
    );
    finding.why = "a write to a pipe returns when all of it was read or the reader's end is \
                   closed; nothing else ends it"
        .to_owned();
    finding.help =
        format!("`defer {name}.Close()` before the goroutine is started: it ends all writes");
    Some(finding)
}

/// A finding at the statement that a path leaves by, or at the pipe where it is the closing brace.
fn finding<S>(
    scene: &Scene<'_>,
    pipe: &Pipe,
    path: &Path<S>,
    labels: Vec<(Node, Role, String)>,
    message: String,
) -> Finding {
    let at = match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => Node::Stmt(stmt),
        _ => Node::Expr(pipe.call),
    };
    let mut finding = scene.cx.finding(scene.span(at), "left with the pipe open", message);
    let labels = labels.into_iter().map(|(node, role, message)| {
        let location = scene.cx.location(first_line(scene, scene.span(node)));
        Label { location, role, message }
    });
    finding.labels.extend(labels);
    finding.confidence =
        if is_beside_tests(&scene.cx) { Confidence::Low } else { Confidence::Medium };
    finding
}

/// The body in which all closes stand.
fn one_home(closes: &[Close]) -> Option<Option<ExprId>> {
    let (first, more) = closes.split_first()?;
    more.iter().all(|close| close.home == first.home).then_some(first.home)
}

/// Follows the writer's end through the body that closes it.
struct Open<'o, 'a> {
    steps: Steps<'o, 'a>,
    pipe: &'o Pipe,
    closes: &'o [Close],
    conditions: &'o Conditions,
}

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct State {
    decided: Decided,
    /// The error by which a deferred call will close the end.
    closes_by: Option<LocalId>,
    /// An error that says that the reader has gone.
    gone: Option<LocalId>,
}

impl Walk for Open<'_, '_> {
    type State = State;

    fn step(&mut self, state: &State, step: StepId) -> Passing<State> {
        let mut state = state.clone();
        self.conditions.step(&mut state.decided, step);
        for close in self.closes {
            if self.steps.of_close(close) == Some(step) {
                match close.only_if_error {
                    Some(error) => state.closes_by = Some(error),
                    None => return Passing::Drop,
                }
            }
        }
        if state.gone.is_some_and(|error| self.steps.sets(step, error)) {
            state.gone = None;
        }
        state.gone = self.steps.fails_when_reader_is_gone(step, self.pipe).or(state.gone);
        Passing::On(state)
    }

    fn edge(&mut self, state: &State, edge: &Edge) -> Option<State> {
        let mut next = state.clone();
        let failed = || self.steps.scene.nil_decided(edge.kind);
        if state.gone.is_some_and(|error| failed() == Some((error, true)))
            || self.fails_at_once(edge.kind)
        {
            return None;
        }
        self.conditions.edge(&mut next.decided, edge).then_some(next)
    }

    fn exit(&mut self, state: &State, exit: Exit) -> bool {
        let scene = self.steps.scene;
        match (state.closes_by, exit) {
            (None, Exit::Return(_) | Exit::End) => true,
            // Deferred for an error: no error, no close.
            (Some(_), Exit::Return(stmt)) => match &scene.file.stmt(stmt).kind {
                StmtKind::Return(values) => values.last().is_some_and(|&value| scene.is_nil(value)),
                _ => false,
            },
            _ => false,
        }
    }
}

impl Open<'_, '_> {
    /// Whether an edge is taken where a call has failed, as only a reader that has gone can make it:
    /// `w.Flush() != nil`.
    fn fails_at_once(&self, kind: EdgeKind) -> bool {
        let scene = self.steps.scene;
        let Some((asked, holds)) = asked(scene.file, kind) else { return false };
        match scene.file.expr(asked).kind {
            ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. } => {
                (op == BinaryOp::Ne) == holds
                    && scene.is_nil(right)
                    && self.steps.writes_alone(scene.file.unparen(left), self.pipe)
            }
            _ => false,
        }
    }
}

/// Follows the reader's end through the function that made it.
struct Unread<'u, 'a> {
    steps: Steps<'u, 'a>,
    /// The `go` statement of the goroutine that writes.
    started: StepId,
    reader: &'u Ends,
    pipe: &'u Pipe,
    conditions: &'u Conditions,
}

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Reading {
    decided: Decided,
    started: bool,
    /// Whether anything was read, and the error that tells how it went.
    read: bool,
    error: Option<LocalId>,
    failed: bool,
}

impl Walk for Unread<'_, '_> {
    type State = Reading;

    fn step(&mut self, state: &Reading, step: StepId) -> Passing<Reading> {
        let steps = self.steps;
        let mut state = state.clone();
        self.conditions.step(&mut state.decided, step);
        if self.reader.closes.iter().any(|close| steps.of_close(close) == Some(step)) {
            return Passing::Drop;
        }
        state.started |= step == self.started;
        if state.error.is_some_and(|error| steps.sets(step, error)) {
            (state.error, state.failed) = (None, false);
        }
        if steps.reads(step, self.reader) {
            state.read = true;
            match steps.parse_error(step, self.pipe) {
                Some(error) => state.error = Some(error),
                // The step that assigns what this gives comes next.
                None if matches!(steps.cfg().step(step), Step::Call(_)) => {}
                None => state.error = None,
            }
        }
        Passing::On(state)
    }

    fn edge(&mut self, state: &Reading, edge: &Edge) -> Option<Reading> {
        let mut next = state.clone();
        if let Some((error, fails)) = self.steps.scene.nil_decided(edge.kind)
            && state.error == Some(error)
        {
            next.failed = fails;
        }
        self.conditions.edge(&mut next.decided, edge).then_some(next)
    }

    fn exit(&mut self, state: &Reading, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_)) && state.started && (!state.read || state.failed)
    }
}
