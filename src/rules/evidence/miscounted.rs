//! A `WaitGroup` of one function that is counted up on a path where nobody counts it down.
//!
//! Four forms. *Skipped*: from `wg.Add(1)` a path comes to the next turn of the loop, or to
//! `wg.Wait()`, and nothing on it uses the group. *Skipped of all*: `wg.Add(len(xs))` stands before
//! the loop over `xs`, and a turn of it uses the group on one path and not on another; or a goroutine
//! is started for each of those that were chosen from `xs` ([`chosen`]). *Not done*:
//! a goroutine that calls `wg.Done()` on one way out leaves on another without it, unless that way has
//! found that nothing was counted for it ([`guard`]).
//!
//! What the function itself counts down elsewhere, or another goroutine for each piece of work that it is given, may be
//! for what was left out.
//!
//! The group must be a variable of the function that only its own methods, and literals of which it
//! is known when they run, ever use.

mod chosen;
mod guard;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, EdgeKind, Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Builtin, Callee, Def, LocalId, LocalKind, Type};
use crate::rules::conditions::{Conditions, Decided, asked, condition};
use crate::rules::evidence::miscounted::guard::{Found, Guards};
use crate::rules::evidence::runs::{How, Run, runs};
use crate::rules::evidence::traffic::{body_of, place_of};
use crate::rules::evidence::{confidence_of_own, first_line};
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::summary::{At, BodyId, Read};
use crate::syntax::{BranchKind, ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// Reports the groups of the function that cannot get to zero.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    for number in 0..scene.info.locals().len() as u32 {
        let local = LocalId(number);
        let declared = scene.info.local(local);
        let ty = match &declared.ty {
            Type::Pointer(base) => base,
            other => other,
        };
        if declared.kind != LocalKind::Var || !ty.is_named("sync", "WaitGroup") {
            continue;
        }
        let Some(group) = Group::of(scene, &read, local) else { continue };
        findings.extend(
            group
                .skipped()
                .or_else(|| group.skipped_of_all())
                .or_else(|| chosen::fewer(&group))
                .or_else(|| group.not_done()),
        );
    }
}

/// A group and the steps that use it.
struct Group<'g, 'a> {
    scene: &'g Scene<'a>,
    read: &'g Read<'a>,
    local: LocalId,
    owner: BodyId,
    adds: Vec<(At, ExprId)>,
    dones: Vec<At>,
    waits: Vec<At>,
    /// All steps at which the group, or a literal that uses it, is named.
    used: Vec<At>,
    /// Where others are given the group, and may count it down at any time after that.
    given: Vec<At>,
}

impl<'g, 'a> Group<'g, 'a> {
    fn of(scene: &'g Scene<'a>, read: &'g Read<'a>, local: LocalId) -> Option<Self> {
        let function = &read.function;
        if function.definitions_of(local).count() > 1 {
            return None;
        }
        let owner = function.owner(local)?;
        let mut group = Group {
            scene,
            read,
            local,
            owner,
            adds: Vec::new(),
            dones: Vec::new(),
            waits: Vec::new(),
            used: Vec::new(),
            given: Vec::new(),
        };
        let mut literals: Vec<BodyId> = Vec::new();
        for usage in scene.uses(local) {
            let node = Node::Expr(usage);
            let Some(around) = scene.parent(node) else { continue };
            let Some(at) = place_of(scene, read, node) else {
                if is_defined(scene, around, usage) {
                    continue;
                }
                return None;
            };
            if is_defined(scene, around, usage) {
                continue;
            }
            for body in function.enclosing(at.body).take_while(|&body| body != owner) {
                if !literals.contains(&body) {
                    literals.push(body);
                }
            }
            group.used.push(at);
            let Node::Expr(selector) = around else { return None };
            match scene.file.expr(selector).kind {
                ExprKind::Unary { .. } | ExprKind::Call { .. } => {
                    group.given.push(at);
                    continue;
                }
                ExprKind::Selector { .. } => {}
                _ => return None,
            }
            let Some(Node::Expr(call)) = scene.parent(around) else { return None };
            let (_, name) = scene.method_call(call)?;
            match name.name.as_str() {
                "Add" => group.adds.push((at, call)),
                "Done" => group.dones.push(at),
                "Wait" => group.waits.push(at),
                _ => {}
            }
        }
        let mut next = 0;
        while let Some(&body) = literals.get(next) {
            next += 1;
            for run in runs(scene, function, body)? {
                group.used.push(run.at);
                // What calls it may be a literal as well, that others run.
                for around in function.enclosing(run.at.body).take_while(|&body| body != owner) {
                    if !literals.contains(&around) {
                        literals.push(around);
                    }
                }
            }
        }
        // Counted up and waited for, and nobody there to count it down: it is meant to stay, as
        // `select {}`.
        let starts = function.bodies().any(|body| !read.effects(body).spawns.is_empty());
        let is_parked = !starts && group.used.len() == group.adds.len() + group.waits.len();
        (!group.waits.is_empty() && !is_parked).then_some(group)
    }

    /// `wg.Add(1)`, and a way to the next turn or to `Wait` on which nothing uses the group.
    fn skipped(&self) -> Option<Finding> {
        for &(at, call) in &self.adds {
            if at.body != self.owner || self.added(call) != Some(1) {
                continue;
            }
            let loops = self.scene.loops_around(Node::Expr(call));
            let turns = loops.first();
            if self.is_counted_down_before(at)
                || self.is_given_before(at)
                || self.is_started_before(at, call)
                || turns.is_some_and(|&turns| self.is_settled_outside(turns))
            {
                continue;
            }
            let function = &self.read.function;
            let cfg = &function.body(at.body).cfg;
            let conditions = Conditions::new(function, at.body);
            let starts_in_turn = self.starts_in_turn(at, call);
            let (body, from) = (at.body, at.step);
            let mut walk =
                Unused { group: self, body, from, starts_in_turn, conditions: &conditions };
            let paths =
                cfg.search(Start::After(at.step), conditions.known_after(cfg, at.step), &mut walk);
            let Some(path) = paths.first() else { continue };
            // Where each turn waits the next one adds to nothing.
            return Some(self.tell_skipped(call, path, at));
        }
        None
    }

    /// Whether something in the innermost loop around an `Add` uses the group, and does not only count it up:
    /// what is counted in one loop may be started in another.
    fn starts_in_turn(&self, add: At, call: ExprId) -> bool {
        let scene = self.scene;
        let Some(&innermost) = scene.loops_around(Node::Expr(call)).first() else { return false };
        let around = scene.span(Node::Stmt(innermost));
        let cfg = &self.read.function.body(add.body).cfg;
        let counts = |at: &At| self.adds.iter().any(|(add, _)| add == at);
        let inside =
            |at: &&At| at.body == add.body && around.contains(cfg.step(at.step).span(scene.file));
        self.used.iter().filter(inside).any(|at| !counts(at))
    }

    /// Whether a goroutine that is there before something is counted counts it down: it is told of it in
    /// some other way.
    fn is_counted_down_before(&self, add: At) -> bool {
        let function = &self.read.function;
        let cfg = &function.body(add.body).cfg;
        self.dones.iter().any(|done| {
            let inside = function.enclosing(done.body).take_while(|&body| body != self.owner);
            let runs = inside.last().and_then(|literal| runs(self.scene, function, literal));
            runs.into_iter().flatten().any(|run| {
                run.how == How::Go
                    && run.at.body == add.body
                    && cfg.reaches(run.at.step, add.step)
                    && !cfg.reaches(add.step, run.at.step)
            })
        })
    }

    /// Whether somebody has the group before something is counted, as in a struct that a goroutine is started with
    /// later, or a function that makes the struct.
    fn is_given_before(&self, add: At) -> bool {
        let cfg = &self.read.function.body(add.body).cfg;
        self.given.iter().any(|at| {
            at.body == add.body && at.step != add.step && cfg.dominates(at.step, add.step)
        })
    }

    /// Whether the function itself counts down outside of a loop, as for what the loop has left out.
    fn is_settled_outside(&self, turns: StmtId) -> bool {
        let inside = self.scene.span(Node::Stmt(turns));
        let cfg = &self.read.function.body(self.owner).cfg;
        let down = self.adds.iter().filter(|(_, add)| self.takes_off(*add)).map(|&(at, _)| at);
        down.chain(self.dones.iter().copied())
            .filter(|at| at.body == self.owner)
            .any(|at| !inside.contains(cfg.step(at.step).span(self.scene.file)))
    }

    /// Whether an `Add` counts down: `wg.Add(-n)`.
    fn takes_off(&self, add: ExprId) -> bool {
        let file = self.scene.file;
        let count = self.scene.args(add).first().map(|&count| file.unparen(count));
        count.is_some_and(|count| {
            matches!(file.expr(count).kind, ExprKind::Unary { op: UnaryOp::Neg, .. })
        })
    }

    /// Whether the turn of the loop around an `Add` has started more before it than it has counted: what is
    /// counted late.
    fn is_started_before(&self, add: At, call: ExprId) -> bool {
        let scene = self.scene;
        let innermost = |node: Node| scene.loops_around(node).first().copied();
        let Some(turn) = innermost(Node::Expr(call)) else { return false };
        let cfg = &self.read.function.body(add.body).cfg;
        let before = |at: At| at.body == add.body && at != add && cfg.dominates(at.step, add.step);
        let started = self.used.iter().filter(|&&at| {
            before(at)
                && matches!(cfg.step(at.step),
                    Step::Go(stmt) if innermost(Node::Stmt(stmt)) == Some(turn))
        });
        let counted = self
            .adds
            .iter()
            .filter(|&&(at, other)| before(at) && innermost(Node::Expr(other)) == Some(turn));
        started.count() > counted.count()
    }

    /// What `wg.Add(len(xs))` counts: `xs`.
    fn counted(&self, call: ExprId) -> Option<ExprId> {
        let scene = self.scene;
        let [count] = scene.args(call) else { return None };
        let count = scene.file.unparen(*count);
        match scene.info.callee(count) {
            Callee::Builtin(Builtin::Len) => scene.args(count).first().copied(),
            _ => None,
        }
    }

    fn added(&self, call: ExprId) -> Option<i128> {
        let [count] = self.scene.args(call) else { return None };
        self.scene.info.constant(*count)?.as_int()
    }

    /// `wg.Add(len(xs))`, and a turn of the loop over `xs` in which nothing uses the group.
    fn skipped_of_all(&self) -> Option<Finding> {
        let (scene, function) = (self.scene, &self.read.function);
        for &(at, call) in &self.adds {
            if self.is_given_before(at) {
                continue;
            }
            let counted = self.counted(call).map(|counted| scene.text(counted));
            let Some(counted) = counted else { continue };
            let cfg = &function.body(at.body).cfg;
            for step in cfg.steps() {
                let Step::Next(stmt) = cfg.step(step) else { continue };
                let StmtKind::Range { subject, .. } = scene.file.stmt(stmt).kind else { continue };
                if scene.text(subject) != counted || !cfg.dominates(at.step, step) {
                    continue;
                }
                if let Some(path) = self.empty_turn(at.body, step, stmt) {
                    return Some(self.tell_skipped(call, &path, at));
                }
            }
        }
        None
    }

    fn empty_turn(&self, body: BodyId, next: StepId, range: StmtId) -> Option<Path<Decided>> {
        let function = &self.read.function;
        let cfg = &function.body(body).cfg;
        let inside = self.scene.span(Node::Stmt(range));
        let uses = self
            .used
            .iter()
            .any(|at| at.body == body && inside.contains(cfg.step(at.step).span(self.scene.file)));
        // Of another loop that starts goroutines this one may only choose for which.
        let started_elsewhere = self.used.iter().filter(|at| at.body == body).any(|at| {
            let step = cfg.step(at.step);
            matches!(step, Step::Go(_)) && !inside.contains(step.span(self.scene.file))
        });
        if !uses || started_elsewhere || self.is_settled_outside(range) {
            return None;
        }
        let conditions = Conditions::new(function, body);
        let mut walk = Turn { group: self, body, next, range, conditions: &conditions };
        cfg.search(Start::After(next), conditions.known_after(cfg, next), &mut walk)
            .into_iter()
            .next()
    }

    /// The goroutines that call `Done` on one way out and not on another.
    fn not_done(&self) -> Option<Finding> {
        let (scene, function) = (self.scene, &self.read.function);
        let mut told: Vec<Undue> = Vec::new();
        for &done in &self.dones {
            let body = done.body;
            let Some(run) = runs(scene, function, body) else { break };
            let [run] = run[..] else { continue };
            if run.how != How::Go || !self.runs_in_place(run.at.body) {
                continue;
            }
            let cfg = &function.body(body).cfg;
            // Who counts down once for each piece of work may leave the rest to others.
            let shares = self.dones.iter().any(|other| other.body != body)
                || self.adds.iter().any(|(add, _)| add.body == body);
            if shares && cfg.reaches(done.step, done.step) || self.is_left_to_others(body) {
                continue;
            }
            let conditions = Conditions::new(function, body);
            let for_each = cfg.reaches(done.step, done.step);
            let guards = Guards::of(scene, function, self.adds.iter().map(|&(_, call)| call));
            let mut walk =
                Undone { group: self, body, for_each, conditions: &conditions, guards: &guards };
            let paths = cfg.search(Start::Entry, Default::default(), &mut walk);
            let left = paths.iter().find_map(|path| match path.end {
                PathEnd::Exit(_, Exit::Return(stmt)) => Some(stmt),
                _ => None,
            });
            if let Some(left) = left
                && told.iter().all(|other| other.done.body != body)
            {
                told.push(Undue { started: run.at, left, done });
            }
        }
        (!told.is_empty()).then(|| self.tell_not_done(&told))
    }

    /// Whether another goroutine counts down once for each piece of work that it is given, or the function itself for
    /// those that did not: what is not done in one body may be left to them.
    fn is_left_to_others(&self, body: BodyId) -> bool {
        let works = |done: &At| {
            let cfg = &self.read.function.body(done.body).cfg;
            done.body != body && done.body != self.owner && cfg.reaches(done.step, done.step)
        };
        let takes_off = |&(at, add): &(At, ExprId)| at.body == self.owner && self.takes_off(add);
        self.dones.iter().any(works) || self.adds.iter().any(takes_off)
    }

    /// Whether a body is the group's own, or that of a literal in it which is called where it
    /// stands.
    fn runs_in_place(&self, body: BodyId) -> bool {
        let function = &self.read.function;
        function.enclosing(body).take_while(|&around| around != self.owner).all(|body| {
            let runs = runs(self.scene, function, body);
            runs.is_some_and(|runs| matches!(runs[..], [Run { how: How::Call, .. }]))
        })
    }

    fn uses_at(&self, at: At) -> bool {
        self.used.contains(&at)
    }

    fn name(&self) -> &'static str {
        self.scene.info.local(self.local).name.as_str()
    }

    fn tell_skipped(&self, call: ExprId, path: &Path<Decided>, at: At) -> Finding {
        let (scene, name) = (self.scene, self.name());
        let added = scene.span(Node::Expr(call));
        let mut finding = self.finding();
        finding.labels.push(self.note(
            added,
            Role::Context,
            "this counts a goroutine that a path of the loop does not start".to_owned(),
        ));
        if let Some(condition) = path.decisions().filter_map(condition).next_back() {
            let span = first_line(scene, scene.span(Node::Expr(condition)));
            finding.labels.push(self.note(span, Role::Condition, "decided here".to_owned()));
        }
        if let Some(span) = self.skip(at, added) {
            finding.labels.push(self.note(span, Role::Left, "nothing is started".to_owned()));
        }
        finding.help = format!("call `{name}.Add(1)` right before the goroutine is started");
        finding
    }

    /// The only `continue` below.
    fn skip(&self, at: At, added: Span) -> Option<Span> {
        let scene = self.scene;
        let mut found = scene.nodes.iter().filter_map(|&node| {
            let Node::Stmt(stmt) = node else { return None };
            let StmtKind::Branch { kind: BranchKind::Continue, .. } = scene.file.stmt(stmt).kind
            else {
                return None;
            };
            let span = scene.span(node);
            let here = body_of(scene, self.read, node) == Some(at.body);
            (here && span.start > added.end && !scene.loops_around(node).is_empty()).then_some(span)
        });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    fn tell_not_done(&self, told: &[Undue]) -> Finding {
        let (scene, name) = (self.scene, self.name());
        let function = &self.read.function;
        let place = |at: At| {
            let cfg = &function.body(at.body).cfg;
            first_line(scene, cfg.step(at.step).span(scene.file))
        };
        let mut finding = self.finding();
        for undue in told {
            let left = first_line(scene, scene.span(Node::Stmt(undue.left)));
            finding.labels.extend([
                self.note(
                    place(undue.started),
                    Role::Started,
                    "the goroutine starts here".to_owned(),
                ),
                self.note(left, Role::Left, format!("it can return here without `{name}.Done()`")),
                self.note(
                    place(undue.done),
                    Role::Context,
                    "counted down on another path".to_owned(),
                ),
            ]);
        }
        let of = if told.len() == 1 { "the" } else { "each" };
        finding.help = format!("`defer {name}.Done()` as the first statement of {of} goroutine");
        finding
    }

    fn finding(&self) -> Finding {
        let (scene, name) = (self.scene, self.name());
        let wait = self.waits[0];
        let cfg = &self.read.function.body(wait.body).cfg;
        let span = cfg.step(wait.step).span(scene.file);
        let message = format!("`{name}` never gets to zero on one path, so this waits for ever");
        let mut finding = scene.cx.finding(span, "waits here", message);
        finding.confidence = confidence_of_own(scene);
        finding.why = format!("nothing else counts `{name}` down");
        finding
    }

    fn note(&self, span: Span, role: Role, message: String) -> Label {
        Label { location: self.scene.cx.location(span), role, message }
    }
}

/// A goroutine that can leave without counting itself down.
struct Undue {
    started: At,
    left: StmtId,
    /// Where it counts itself down on another path.
    done: At,
}

/// Whether an identifier is where the group is stored.
fn is_defined(scene: &Scene<'_>, around: Node, usage: ExprId) -> bool {
    match around {
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Define { left, .. } | StmtKind::Assign { left, .. } => left.contains(&usage),
            _ => false,
        },
        _ => false,
    }
}

/// Looks for a way from `Add` on which nothing uses the group.
struct Unused<'u, 'g, 'a> {
    group: &'u Group<'g, 'a>,
    body: BodyId,
    from: StepId,
    /// Whether the loop around the `Add` uses the group, so that the next turn is too late for it.
    starts_in_turn: bool,
    conditions: &'u Conditions,
}

impl Walk for Unused<'_, '_, '_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        let at = At { body: self.body, step };
        let waits = self.group.waits.contains(&at);
        if step == self.from {
            return if self.starts_in_turn { Passing::Found } else { Passing::Drop };
        }
        if waits && !self.is_deferred(step) {
            return Passing::Found;
        }
        if !waits && self.group.uses_at(at) {
            return Passing::Drop;
        }
        Passing::On(self.conditions.after(decided, step))
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        let mut next = decided.clone();
        match edge.kind {
            // A loop that starts the goroutines has at least one turn.
            EdgeKind::Done(_) if !self.passed_turn(edge) => return None,
            // Of a `switch` without a default the cases are all that there is.
            EdgeKind::NoCase(_) => return None,
            _ => {}
        }
        self.conditions.edge(&mut next, edge).then_some(next)
    }

    fn exit(&mut self, _: &Decided, _: Exit) -> bool {
        let here = self.group.waits.iter().filter(|wait| wait.body == self.body);
        here.clone().any(|wait| self.is_deferred(wait.step))
    }
}

impl Unused<'_, '_, '_> {
    fn is_deferred(&self, step: StepId) -> bool {
        let cfg = &self.group.read.function.body(self.body).cfg;
        matches!(cfg.step(step), Step::Defer(_))
    }

    /// Whether the loop that ends stands around the `Add`, so that it had this turn.
    fn passed_turn(&self, edge: &Edge) -> bool {
        let EdgeKind::Done(stmt) = edge.kind else { return true };
        let scene = self.group.scene;
        let cfg = &self.group.read.function.body(self.body).cfg;
        scene.span(Node::Stmt(stmt)).contains(cfg.step(self.from).span(scene.file))
    }
}

/// Looks for a turn of a loop in which nothing uses the group.
struct Turn<'u, 'g, 'a> {
    group: &'u Group<'g, 'a>,
    body: BodyId,
    next: StepId,
    range: StmtId,
    conditions: &'u Conditions,
}

impl Walk for Turn<'_, '_, '_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        if step == self.next {
            return Passing::Found;
        }
        if self.group.uses_at(At { body: self.body, step }) {
            return Passing::Drop;
        }
        Passing::On(self.conditions.after(decided, step))
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        let mut next = decided.clone();
        match edge.kind {
            EdgeKind::Done(stmt) if stmt == self.range => return None,
            // Of a `switch` without a default the cases are all that there is.
            EdgeKind::NoCase(_) => return None,
            _ => {}
        }
        self.conditions.edge(&mut next, edge).then_some(next)
    }

    fn exit(&mut self, _: &Decided, _: Exit) -> bool {
        false
    }
}

/// Looks for a way out of a goroutine on which nothing uses the group.
struct Undone<'u, 'g, 'a> {
    group: &'u Group<'g, 'a>,
    body: BodyId,
    /// Whether it counts down for each of the things that it is given, and not for itself: nothing is left
    /// to count once it is given no more.
    for_each: bool,
    conditions: &'u Conditions,
    guards: &'u Guards<'g, 'a>,
}

impl Walk for Undone<'_, '_, '_> {
    type State = (Decided, Found);

    fn step(&mut self, (decided, found): &Self::State, step: StepId) -> Passing<Self::State> {
        if self.group.uses_at(At { body: self.body, step }) {
            return Passing::Drop;
        }
        Passing::On((self.conditions.after(decided, step), found.clone()))
    }

    fn edge(&mut self, (decided, found): &Self::State, edge: &Edge) -> Option<Self::State> {
        let (mut decided, mut found) = (decided.clone(), found.clone());
        self.guards.note(&mut found, edge.kind);
        let no_more = self.for_each && self.is_given_no_more(edge);
        (!no_more && self.conditions.edge(&mut decided, edge)).then_some((decided, found))
    }

    fn exit(&mut self, (_, found): &Self::State, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_)) && !self.guards.rule_out_all(found)
    }
}

impl Undone<'_, '_, '_> {
    /// Whether the `ok` of `x, ok := <-c` does not hold.
    fn is_given_no_more(&self, edge: &Edge) -> bool {
        let function = &self.group.read.function;
        let Some((condition, holds)) = asked(function.file, edge.kind) else { return false };
        let Def::Local(local) = *function.info.resolve(condition) else { return false };
        let is_received = |at: Option<At>| {
            at.is_some_and(|at| {
                let cfg = &function.body(at.body).cfg;
                match cfg.step(at.step) {
                    step @ Step::Comm(_) => step.received_from(function.file).is_some(),
                    Step::Assign(stmt) => {
                        let StmtKind::Define { right, .. } = &function.file.stmt(stmt).kind else {
                            return false;
                        };
                        right.iter().any(|&value| {
                            let kind = &function.file.expr(value).kind;
                            matches!(kind, ExprKind::Unary { op: UnaryOp::Recv, .. })
                        })
                    }
                    _ => false,
                }
            })
        };
        !holds && function.definitions_of(local).all(|definition| is_received(definition.at))
    }
}
