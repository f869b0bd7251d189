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
use crate::rules::conditions::{Conditions, Decided, condition};
use crate::rules::scene::{Scene, holds_any, is_beside_tests};
use crate::rules::{Check, FunctionCx, Rule};
use crate::summary::{BodyId, Function, Read};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtKind};

use ends::{Close, Ends, Pipe};

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
    let function = &read.function;
    let writer = ends::of_writer(scene, read, pipe)?;
    let home = one_home(&writer.closes)?;
    let reader = if home == pipe.owner {
        // The goroutine at the other end reads until the end, and nobody else takes it from it.
        let reader = ends::of_reader(scene, read, pipe)?;
        let goroutine = reader.used.iter().find_map(|&used| ends::goroutine_of(scene, used))?;
        let outside = reader.closes.iter().any(|close| close.home != Some(goroutine.0));
        if outside {
            return None;
        }
        Some(goroutine)
    } else {
        let literal = home?;
        ends::start_of(scene, literal)?;
        None
    };
    let body = match home {
        None => BodyId::OWN,
        Some(literal) => function.body_of_literal(literal)?,
    };
    let cfg = &function.body(body).cfg;
    let conditions = Conditions::new(function, body);
    let start = if home == pipe.owner { Start::After(pipe.at.step) } else { Start::Entry };
    let mut walk = Open {
        scene,
        function,
        body,
        closes: &writer.closes,
        conditions: &conditions,
        gone: &|step| ends::fails_when_reader_is_gone(scene, function, body, step, pipe),
    };
    let path = cfg.search(start, State::default(), &mut walk).into_iter().next()?;
    let writer_name = scene.info.local(pipe.writer).name;
    let message = format!(
        "`{writer_name}` is closed on another way out, but not on this one: who reads from the \
         pipe waits for more for ever"
    );
    let at = end_of(scene, &path).unwrap_or_else(|| scene.span(Node::Expr(pipe.call)));
    let mut finding = scene.cx.finding(at, "left with the pipe open", message);
    let mut label = |node: Node, role: Role, told: String| {
        finding.labels.push(Label {
            location: scene.cx.location(scene.span(node)),
            role,
            message: told,
        });
    };
    label(Node::Expr(pipe.call), Role::Made, "both ends are made here".to_owned());
    if let Some((_, go)) = reader {
        label(Node::Stmt(go), Role::Started, "this goroutine reads until the end".to_owned());
    }
    if let Some(condition) = path.decisions().filter_map(condition).next_back() {
        let told = format!("the way out is by `{}`", scene.text(condition));
        label(Node::Expr(condition), Role::Left, told);
    }
    if let Some(close) = writer.closes.first() {
        let told = match close.only_if_error {
            Some(_) => "closed only when there was an error",
            None => "closed on the other way",
        };
        label(Node::Expr(close.call), Role::Context, told.to_owned());
    }
    finding.why = "a read from a pipe returns when something is written or the writer's end is \
                   closed; nothing else ends it"
        .to_owned();
    finding.help = format!(
        "close the writer's end on every way out: `defer {writer_name}.Close()`, or \
         `{writer_name}.CloseWithError(err)`, which is `Close` for an `err` that is nil"
    );
    finding.confidence = confidence(scene);
    Some(finding)
}

/// A path on which what reads the pipe fails, and the reader's end is left open, while a goroutine
/// writes.
fn reader_open<'a>(scene: &Scene<'a>, read: &Read<'a>, pipe: &Pipe) -> Option<Finding> {
    let function = &read.function;
    let writer = ends::of_writer(scene, read, pipe)?;
    let (goroutine, go) = writer.used.iter().find_map(|&used| ends::goroutine_of(scene, used))?;
    let reader = ends::of_reader(scene, read, pipe)?;
    let in_goroutine = |close: &Close| close.home == Some(goroutine);
    if reader.closes.iter().any(in_goroutine) || !writer.closes.iter().all(in_goroutine) {
        return None;
    }
    let body = match pipe.owner {
        None => BodyId::OWN,
        Some(literal) => function.body_of_literal(literal)?,
    };
    let cfg = &function.body(body).cfg;
    let started = cfg.step_of_stmt(go).or_else(|| scene.step_of(cfg, Node::Stmt(go)))?;
    let conditions = Conditions::new(function, body);
    let mut walk =
        Unread { scene, function, body, started, reader: &reader, pipe, conditions: &conditions };
    let path =
        cfg.search(Start::After(pipe.at.step), Reading::default(), &mut walk).into_iter().next()?;
    let reader_name = scene.info.local(pipe.reader).name;
    let PathEnd::Exit(_, _) = path.end else { return None };
    let message = format!(
        "this leaves without having read the pipe to its end, and without `{reader_name}.Close()`: \
         the goroutine that writes waits for a reader for ever"
    );
    let at = end_of(scene, &path).unwrap_or_else(|| scene.span(Node::Expr(pipe.call)));
    let mut finding = scene.cx.finding(at, "left with the pipe open", message);
    let mut label = |node: Node, role: Role, told: String| {
        finding.labels.push(Label {
            location: scene.cx.location(scene.span(node)),
            role,
            message: told,
        });
    };
    label(Node::Expr(pipe.call), Role::Made, "both ends are made here".to_owned());
    label(Node::Stmt(go), Role::Started, "this goroutine writes".to_owned());
    if let Some(condition) = path.decisions().filter_map(condition).next_back() {
        let told = format!("`{}` is decided here", scene.text(condition));
        label(Node::Expr(condition), Role::Left, told);
    }
    finding.why =
        "a write to a pipe returns when all of it was read or the reader's end is closed; \
                   nothing else ends it"
            .to_owned();
    finding.help = format!(
        "`defer {reader_name}.Close()` before the goroutine is started: it ends all writes"
    );
    finding.confidence = confidence(scene);
    Some(finding)
}

fn confidence(scene: &Scene<'_>) -> Confidence {
    if is_beside_tests(&scene.cx) { Confidence::Low } else { Confidence::Medium }
}

/// The statement that a path leaves by; `None` for the closing brace.
fn end_of<S>(scene: &Scene<'_>, path: &Path<S>) -> Option<crate::source::Span> {
    match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => Some(scene.span(Node::Stmt(stmt))),
        _ => None,
    }
}

/// The body in which all closes stand.
fn one_home(closes: &[Close]) -> Option<Option<ExprId>> {
    let (first, more) = closes.split_first()?;
    more.iter().all(|close| close.home == first.home).then_some(first.home)
}

/// Follows the writer's end through the body that closes it.
struct Open<'o, 'a> {
    scene: &'o Scene<'a>,
    function: &'o Function<'a>,
    body: BodyId,
    closes: &'o [Close],
    conditions: &'o Conditions,
    /// The variable with an error that a step sets only when the reader has gone.
    gone: &'o dyn Fn(StepId) -> Option<LocalId>,
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
            if close.step(self.scene, self.function, self.body) == Some(step) {
                match close.only_if_error {
                    Some(error) => state.closes_by = Some(error),
                    None => return Passing::Drop,
                }
            }
        }
        if let Some(error) = (self.gone)(step) {
            state.gone = Some(error);
        } else if state.gone.is_some_and(|error| sets(self.function, self.body, step, error)) {
            state.gone = None;
        }
        Passing::On(state)
    }

    fn edge(&mut self, state: &State, edge: &Edge) -> Option<State> {
        let mut next = state.clone();
        if let Some(error) = state.gone
            && failed(self.scene, edge.kind) == Some((error, true))
        {
            return None;
        }
        self.conditions.edge(&mut next.decided, edge).then_some(next)
    }

    fn exit(&mut self, state: &State, exit: Exit) -> bool {
        match (state.closes_by, exit) {
            (None, Exit::Return(_) | Exit::End) => true,
            // Deferred for an error: no error, no close.
            (Some(_), Exit::Return(stmt)) => match &self.scene.file.stmt(stmt).kind {
                StmtKind::Return(values) => {
                    values.last().is_some_and(|&value| self.scene.is_nil(value))
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// Whether a step assigns a variable.
fn sets(function: &Function<'_>, body: BodyId, step: StepId, local: LocalId) -> bool {
    function
        .definitions_of(local)
        .any(|definition| definition.at.is_some_and(|at| at.body == body && at.step == step))
}

/// The variable that an edge compares with nil, and whether it is not nil there.
fn failed(scene: &Scene<'_>, kind: EdgeKind) -> Option<(LocalId, bool)> {
    let (condition, holds) = match kind {
        EdgeKind::True(condition) => (condition, true),
        EdgeKind::False(condition) => (condition, false),
        _ => return None,
    };
    let ExprKind::Binary { op, left, right, .. } =
        scene.file.expr(scene.file.unparen(condition)).kind
    else {
        return None;
    };
    let error = match (scene.is_nil(left), scene.is_nil(right)) {
        (false, true) => scene.local(left)?,
        (true, false) => scene.local(right)?,
        _ => return None,
    };
    match op {
        BinaryOp::Ne => Some((error, holds)),
        BinaryOp::Eq => Some((error, !holds)),
        _ => None,
    }
}

/// Follows the reader's end through the function that made it.
struct Unread<'u, 'a> {
    scene: &'u Scene<'a>,
    function: &'u Function<'a>,
    body: BodyId,
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
        let mut state = state.clone();
        self.conditions.step(&mut state.decided, step);
        let closes = self
            .reader
            .closes
            .iter()
            .any(|close| close.step(self.scene, self.function, self.body) == Some(step));
        if closes {
            return Passing::Drop;
        }
        state.started |= step == self.started;
        if state.error.is_some_and(|error| sets(self.function, self.body, step, error)) {
            (state.error, state.failed) = (None, false);
        }
        if ends::reads(self.scene, self.function, self.body, step, self.reader) {
            state.read = true;
            match ends::parse_error(self.scene, self.function, self.body, step, self.pipe) {
                Some(error) => state.error = Some(error),
                None if matches!(self.function.body(self.body).cfg.step(step), Step::Call(_)) => {}
                None => state.error = None,
            }
        }
        Passing::On(state)
    }

    fn edge(&mut self, state: &Reading, edge: &Edge) -> Option<Reading> {
        let mut next = state.clone();
        if let Some((error, fails)) = failed(self.scene, edge.kind)
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
