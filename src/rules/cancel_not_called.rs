//! `cancel-not-called`: a path on which the cancel function of a context is lost.
//!
//! The claim is made about one variable: from where it gets the cancel function, a path leaves the
//! function, or gives the variable another value, and nothing on it uses the variable. Any use
//! counts as the end of the matter, since it may have handed the cancel function on; but it is
//! asked whether those who have it then come to call it (`part`, `waiter`).

mod covered;
mod given;
mod held;
mod kept;
mod nothing;
mod part;
mod stream;
mod waiter;

use self::covered::Cover;
use self::given::Given;
use crate::catalog::{Context, ContextRole, Model, Op};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Cfg, Edge, Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Def, LocalId, LocalKind};
use crate::rules::endable::{self, may_end};
use crate::rules::held::runs_process;
use crate::rules::scene::{is_in_endless_loop, serves_tests};
use crate::rules::{Check, FunctionCx, Rule, conditions, turns};
use crate::source::Span;
use crate::summary::{At, ContextRoot, Function, Read, Root, Source, facts};
use crate::syntax::{ExprId, ExprKind, Node, Parents, StmtId, StmtKind};

/// What the place of a finding is labelled with where `go vet` says the same of a context (`lostcancel`): a
/// path to the end of the function on which nothing uses the cancel function, or nobody can.
pub const SAID_BY_VET: [&str; 3] = [THROWN, LEFT, AT_THE_END];

const THROWN: &str = "thrown away";
const LEFT: &str = "left without the call";
const AT_THE_END: &str = "not called at the end";

/// The rule's name.
pub const ID: &str = "cancel-not-called";

pub const RULE: Rule =
    Rule { page: include_str!("../../rules/cancel-not-called.md"), check: Check::Function(check) };

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if runs_process(cx) || serves_tests(cx.index(), cx.func) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let function = &read.function;
    let mut parents: Option<Parents> = None;
    for (at, call) in function.calls() {
        let derived = derived(cx, function, call).or_else(|| given::by_call(cx, function, call));
        let Some(derived) = derived else { continue };
        let declared = Node::Decl(cx.declared().decl);
        let parents = parents.get_or_insert_with(|| function.file.parents(declared));
        let made = made(function, parents, at, call, derived);
        let finding = made.and_then(|made| check_made(cx, &read, parents, &made));
        findings.extend(finding);
    }
    findings.extend(held::check(cx, &read));
    findings.extend(stream::check(cx, &read));
    findings.extend(nothing::check(cx));
}

/// What a call gives that derives a context.
struct Derived {
    /// The result that is the context, or has it.
    context: u32,
    /// The result that is the cancel function.
    cancel: u32,
    /// Whether the context ends by itself at a deadline.
    deadline: bool,
    /// What it is derived from, or what has that.
    parent: Option<ExprId>,
    /// What a function of the run does that derives it for its callers.
    given: Option<Given>,
}

/// A context with a cancel function.
struct Made {
    at: At,
    /// The call that makes it.
    call: ExprId,
    /// The statement that stores both.
    stmt: StmtId,
    /// The step of that.
    stored: StepId,
    /// Where the context is stored.
    context: ExprId,
    /// Where the cancel function is stored.
    cancel: ExprId,
    /// Whether it ends by itself at a deadline.
    deadline: bool,
    /// What it is derived from, or what has that.
    parent: Option<ExprId>,
    /// What a function of the run does that derives it.
    given: Option<Given>,
}

impl Made {
    /// What the context goes by.
    fn name(&self, function: &Function<'_>) -> String {
        let context = function.text(self.context);
        match self.is_inside() {
            true => format!("the context of `{context}`"),
            false => format!("`{context}`"),
        }
    }

    /// The context that it is derived from.
    fn parent_context(&self, function: &Function<'_>) -> Option<ExprId> {
        self.parent.filter(|&parent| function.info.type_of(parent).is_context())
    }

    /// Whether what the call gives is no context, but has one.
    fn is_inside(&self) -> bool {
        self.given.as_ref().is_some_and(|given| given.inside)
    }

    /// Whether a step of the body waits for the end of the context.
    fn is_awaited_at(&self, function: &Function<'_>, step: StepId) -> bool {
        let what = function.body(self.at.body).cfg.step(step);
        is_end_of(function, what, &[function.variable(self.context)], self.is_inside())
    }
}

/// What the catalog says of a call that gives a context and its cancel function; not of those that
/// are meant for the life of the process.
fn with_cancel<'a>(
    cx: &FunctionCx<'a>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<&'a Context> {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    if known.is_empty() {
        return None;
    }
    let model = known.in_force::<Model>(cx.versions());
    let mut contexts = known.all_in_force::<Context>(cx.versions());
    contexts
        .find(|fact| fact.cancel.is_some() && fact.role == ContextRole::Derive)
        .filter(|_| model.is_none_or(|model| model.op != Op::SignalNotifyContext))
}

/// What such a call gives.
fn derived(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Option<Derived> {
    let fact = with_cancel(cx, function, call)?;
    Some(Derived {
        context: fact.result,
        cancel: fact.cancel?,
        deadline: fact.deadline,
        parent: function.args(call).first().copied(),
        given: None,
    })
}

fn made(
    function: &Function<'_>,
    parents: &Parents,
    at: At,
    call: ExprId,
    derived: Derived,
) -> Option<Made> {
    let Node::Stmt(stmt) = parents.of(Node::Expr(call))? else { return None };
    let (StmtKind::Define { left, .. } | StmtKind::Assign { left, op: None, .. }) =
        &function.file.stmt(stmt).kind
    else {
        return None;
    };
    Some(Made {
        at,
        call,
        stmt,
        stored: function.body(at.body).cfg.step_of_stmt(stmt)?,
        context: *left.get(derived.context as usize)?,
        cancel: function.file.unparen(*left.get(derived.cancel as usize)?),
        deadline: derived.deadline,
        parent: derived.parent,
        given: derived.given,
    })
}

fn check_made(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    parents: &Parents,
    made: &Made,
) -> Option<Finding> {
    let function = &read.function;
    let cover = covered::by(cx, read, made);
    let is_covered = matches!(cover, Cover::Whole);
    let local = match function.info.resolve(made.cancel) {
        Def::Blank if is_covered || is_waited_out(function, made) => return None,
        // Who gives two results may mean one of them to be left.
        Def::Blank | Def::Field(_) if made.given.is_some() => return None,
        Def::Blank => {
            let mut finding = thrown(cx, function, made);
            // Who gets a context can only wait for its deadline.
            if made.deadline && is_given_back(function, made)
                || ends_with_handler(cx, function, made)
                || leaves_nothing(cx, function, made)
            {
                finding.confidence = Confidence::Low;
            }
            return Some(finding);
        }
        Def::Local(local) => *local,
        Def::Field(field) => {
            if !matches!(cover, Cover::None) {
                return None;
            }
            return match kept::is_lost(cx, read, made, field) {
                true => Some(kept::tell(cx, function, made)),
                false => part::check(cx, read, made),
            };
        }
        _ => return None,
    };
    if !matches!(function.info.local(local).kind, LocalKind::Var | LocalKind::LoopVar)
        || is_covered
        || is_watched(function, made, local)
        || is_let_go(function, local)
    {
        return None;
    }
    let parent = made.parent.and_then(|parent| function.variable(parent));
    let ended = [parent, function.variable(made.context)];
    let inside = made.is_inside();
    let mut walk = Lost { function, body_at: made.at, local, ended, inside, stored: made.stored };
    let mut paths =
        conditions::search(function, made.at.body, Start::After(made.stored), (), &mut walk);
    let once = is_made_once(function, parents, made);
    let states = turns::states(function, parents, made.stmt, local);
    paths.retain(|path| {
        !(once && comes_again(path, made) || turns::asks_any(function, path, &states))
    });
    if let Cover::EachTurn { is_own: true, .. } = cover {
        paths.retain(|path| comes_again(path, made));
    }
    if let Some(path) = first(function, made, &paths) {
        let mut finding = lost(cx, function, made, path);
        let is_kept_by_parent = matches!(cover, Cover::EachTurn { .. });
        if let Cover::EachTurn { location, message, .. } = cover {
            finding.confidence = finding.confidence.min(Confidence::Medium);
            finding.labels.push(Label { location, role: Role::Context, message });
        }
        let is_forgotten = || is_called_on_others(function, made, local);
        let is_cut_short = || calls(function, made, local).next().is_some();
        if made.deadline && !is_cut_short()
            || ends_with_handler(cx, function, made)
            || nobody_has_it(cx, function, made, path) && !is_kept_by_parent && !is_forgotten()
        {
            finding.confidence = Confidence::Low;
        }
        return Some(finding);
    }
    piles_up(cx, function, parents, made, local)
        .or_else(|| part::check(cx, read, made))
        .or_else(|| waiter::check(cx, read, made, local))
}

/// Whether the context is made once in the handling of a request, and ends with that.
fn ends_with_handler(cx: &FunctionCx<'_>, function: &Function<'_>, made: &Made) -> bool {
    let cfg = &function.body(made.at.body).cfg;
    !cfg.reaches(made.stored, made.stored)
        && made
            .parent_context(function)
            .is_some_and(|parent| endable::ends_with_handler(cx, function, made.at, parent))
}

/// Whether the function returns the context.
fn is_given_back(function: &Function<'_>, made: &Made) -> bool {
    let file = function.file;
    let Def::Local(context) = function.info.resolve(file.unparen(made.context)) else {
        return false;
    };
    let root = Node::Decl(function.index.func(function.id).decl);
    file.descendants(root).any(|node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Return(values) = &file.stmt(stmt).kind else { return false };
        values.iter().any(|&value| is_local(function, file.unparen(value), *context))
    })
}

/// Whether the cancel function is assigned to `_`: somebody has decided not to call it.
fn is_let_go(function: &Function<'_>, cancel: LocalId) -> bool {
    let file = function.file;
    let root = Node::Decl(function.index.func(function.id).decl);
    file.descendants(root).any(|node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Assign { left, right, op: None } = &file.stmt(stmt).kind else {
            return false;
        };
        left.iter().zip(right).any(|(&left, &right)| {
            matches!(function.info.resolve(file.unparen(left)), Def::Blank)
                && is_local(function, file.unparen(right), cancel)
        })
    })
}

/// Whether a literal that exists already when the cancel function is stored looks at the variable:
/// it may call it at any time.
fn is_watched(function: &Function<'_>, made: &Made, local: LocalId) -> bool {
    let cfg = &function.body(made.at.body).cfg;
    if function.owner(local) != Some(made.at.body) {
        return true;
    }
    cfg.steps().any(|step| {
        let Step::FuncLit(literal) = cfg.step(step) else { return false };
        uses(function, Node::Expr(literal), local) && cfg.reaches(step, made.stored)
    })
}

/// Whether a node or a part of it names the variable.
fn uses(function: &Function<'_>, node: Node, local: LocalId) -> bool {
    function.file.descendants(node).any(|node| match node {
        Node::Expr(expr) => is_local(function, expr, local),
        _ => false,
    })
}

fn is_local(function: &Function<'_>, expr: ExprId, local: LocalId) -> bool {
    matches!(function.info.resolve(expr), Def::Local(other) if *other == local)
}

/// A walk along the paths on which nothing uses the variable.
struct Lost<'f, 'a> {
    function: &'f Function<'a>,
    body_at: At,
    local: LocalId,
    /// The context, and that which it is derived from: where either has ended, nothing is left.
    ended: [Option<LocalId>; 2],
    /// Whether these are no contexts, but have them.
    inside: bool,
    stored: StepId,
}

/// Whether a step receives from `Done` of one of these contexts, or of what they have inside.
fn is_end_of(
    function: &Function<'_>,
    step: Step,
    contexts: &[Option<LocalId>],
    inside: bool,
) -> bool {
    let of = |context: ExprId| {
        contexts.iter().flatten().any(|&it| match inside {
            true => uses(function, Node::Expr(context), it),
            false => is_local(function, context, it),
        })
    };
    function.end_received(step).is_some_and(of)
}

/// Whether the function is left only after the context has ended by itself.
fn is_waited_out(function: &Function<'_>, made: &Made) -> bool {
    let cfg = &function.body(made.at.body).cfg;
    cfg.escapes(made.stored, &|step| made.is_awaited_at(function, step)).is_empty()
}

impl Walk for Lost<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        let function = self.function;
        if step == self.stored {
            return Passing::Found;
        }
        let what = function.step(At { body: self.body_at.body, step });
        if is_end_of(function, what, &self.ended, self.inside) {
            return Passing::Drop;
        }
        let mut stored = false;
        if let Step::Assign(stmt) = what
            && let StmtKind::Define { left, right } | StmtKind::Assign { left, right, .. } =
                &function.file.stmt(stmt).kind
        {
            let target =
                |&expr: &ExprId| is_local(function, function.file.unparen(expr), self.local);
            let read = |&expr: &ExprId| uses(function, Node::Expr(expr), self.local);
            stored = left.iter().any(target) && !right.iter().any(read);
        }
        if stored {
            return Passing::Found;
        }
        let mut used = false;
        what.for_each_operand(function.file, &mut |expr| {
            used |= is_local(function, expr, self.local);
        });
        if let Step::FuncLit(literal) = what {
            used |= uses(function, Node::Expr(literal), self.local);
        }
        if used { Passing::Drop } else { Passing::On(()) }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        // What it is derived from ends by itself.
        let has_deadline = edge.kind.condition().is_some_and(|(asked, holds)| {
            holds && asks_for_deadline(self.function, asked, &self.ended)
        });
        (!has_deadline).then_some(())
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}

/// Whether a condition is what `Deadline` of one of these contexts says second: that it has one.
fn asks_for_deadline(function: &Function<'_>, asked: ExprId, contexts: &[Option<LocalId>]) -> bool {
    let Some(asked) = function.variable(asked) else { return false };
    let Some(Source::Result(call, 1)) = function.only_definition_of(asked).map(|it| it.source)
    else {
        return false;
    };
    let Some((base, name)) = function.file.method_call(call) else { return false };
    let base = function.variable(base);
    name.name.as_str() == "Deadline" && base.is_some() && contexts.contains(&base)
}

/// Whether a path leads to the next turn of the loop that makes the context.
fn comes_again(path: &Path, made: &Made) -> bool {
    matches!(path.end, PathEnd::Step(step) if step == made.stored)
}

/// Whether the context is made under a condition on something that is assigned beside it, so that
/// the next turn of a loop need not make another.
fn is_made_once(function: &Function<'_>, parents: &Parents, made: &Made) -> bool {
    let file = function.file;
    parents.around(Node::Stmt(made.stmt)).any(|node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::If { cond, then, .. } = file.stmt(stmt).kind else { return false };
        let asked = function.text(cond);
        file.descendants(Node::Stmt(then)).any(|node| {
            let Node::Stmt(stmt) = node else { return false };
            let StmtKind::Assign { left, op: None, .. } = &file.stmt(stmt).kind else {
                return false;
            };
            let negated = |left: &ExprId| asked == format!("!{}", function.text(*left));
            let compared = |left: &ExprId| asked == format!("{} == nil", function.text(*left));
            left.iter().any(|left| negated(left) || compared(left))
        })
    })
}

/// Whether a context without deadline and without a parent that ends is left before anything has
/// used it, so that nobody waits on it and nothing keeps it.
fn nobody_has_it(cx: &FunctionCx<'_>, function: &Function<'_>, made: &Made, path: &Path) -> bool {
    let file = function.file;
    let Def::Local(context) = function.info.resolve(file.unparen(made.context)) else {
        return false;
    };
    let end = end_span(function, made, path).map_or(u32::MAX, |end| end.start);
    let first = file.stmt(made.stmt).span.end;
    let root = Node::Decl(function.index.func(function.id).decl);
    let used = file.descendants(root).any(|node| match node {
        Node::Expr(expr) => {
            let at = file.expr(expr).span.start;
            at >= first && at < end && is_local(function, expr, *context)
        }
        _ => false,
    });
    !made.deadline && !used && has_endless_parent(cx, function, made)
}

/// Whether what the context is made from never ends, so that it keeps nothing of what is made from it.
fn has_endless_parent(cx: &FunctionCx<'_>, function: &Function<'_>, made: &Made) -> bool {
    made.parent_context(function).is_some_and(|parent| {
        let origin = cx.summaries().context(function, made.at, parent);
        let is_endless = |root: &ContextRoot| match root {
            ContextRoot::Place(place) => match place.root {
                Root::Param(index) if place.path.is_empty() => !may_end(cx, index),
                _ => false,
            },
            _ => false,
        };
        let endless = !origin.roots.is_empty() && origin.roots.iter().all(is_endless);
        (origin.is_fresh() || endless) && !origin.deadline
    })
}

/// Whether a context without deadline whose cancel function is thrown away is kept by nobody: not by what it is made
/// from, and not by a goroutine of the function that may wait for it.
fn leaves_nothing(cx: &FunctionCx<'_>, function: &Function<'_>, made: &Made) -> bool {
    let cfg = &function.body(made.at.body).cfg;
    !made.deadline
        && has_endless_parent(cx, function, made)
        && !started_with(function, cfg, made.context)
}

/// The steps that call the cancel function.
fn calls(function: &Function<'_>, made: &Made, local: LocalId) -> impl Iterator<Item = StepId> {
    let file = function.file;
    let cfg = &function.body(made.at.body).cfg;
    cfg.steps().filter(move |&step| match cfg.step(step) {
        Step::Call(call) => match file.expr(call).kind {
            ExprKind::Call { callee, .. } => is_local(function, file.unparen(callee), local),
            _ => false,
        },
        _ => false,
    })
}

/// Whether other ways out call the cancel function right there: then this one was forgotten, also where
/// it does no harm yet.
fn is_called_on_others(function: &Function<'_>, made: &Made, local: LocalId) -> bool {
    let cfg = &function.body(made.at.body).cfg;
    let leaves = |step: &StepId| matches!(cfg.exit_of(cfg.block_of(*step)), Some(Exit::Return(_)));
    calls(function, made, local).filter(leaves).count() > 1
}

/// The path to tell of: the one that ends first in the text.
fn first<'p>(function: &Function<'_>, made: &Made, paths: &'p [Path]) -> Option<&'p Path> {
    paths.iter().min_by_key(|path| end_span(function, made, path).map_or(u32::MAX, |at| at.start))
}

/// Where a path ends; `None` at the closing brace.
fn end_span(function: &Function<'_>, made: &Made, path: &Path) -> Option<Span> {
    let file = function.file;
    match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => Some(file.stmt(stmt).span),
        PathEnd::Exit(..) => None,
        PathEnd::Step(step) => Some(function.step(At { body: made.at.body, step }).span(file)),
    }
}

/// What stays when nobody cancels.
fn why(cx: &FunctionCx<'_>, function: &Function<'_>, made: &Made) -> String {
    let context = made.name(function);
    match made.deadline {
        true if has_endless_parent(cx, function, made) => format!(
            "until its deadline the timer of {context} stays, and whoever waits on it goes on"
        ),
        true => format!(
            "until its deadline {context} stays with its parent, and whoever waits on it goes on"
        ),
        false => format!(
            "{context} stays with its parent until that ends, and whoever waits on it goes on"
        ),
    }
}

fn thrown(cx: &FunctionCx<'_>, function: &Function<'_>, made: &Made) -> Finding {
    let context = function.text(made.context);
    let message = format!(
        "nobody can cancel `{context}`: its cancel function is thrown away where it is made"
    );
    let span = function.file.expr(made.cancel).span;
    let mut finding = cx.finding(span, THROWN, message);
    finding.why = why(cx, function, made);
    finding.help = "keep it and `defer` its call".to_owned();
    finding.defect = cx.location(function.file.expr(made.call).span);
    finding
}

fn lost(cx: &FunctionCx<'_>, function: &Function<'_>, made: &Made, path: &Path) -> Finding {
    let file = function.file;
    let (context, cancel) = (made.name(function), function.text(made.cancel));
    let (left, at_the_end) = match made.given {
        None => (LEFT, AT_THE_END),
        Some(_) => ("left behind here", "not called on each way"),
    };
    let made_span = file.expr(made.call).span;
    let end = end_span(function, made, path);
    let (span, label, message) = match (path.end, end) {
        (PathEnd::Step(step), _) if step == made.stored => (
            file.expr(made.cancel).span,
            "the next turn replaces it",
            format!(
                "a turn of this loop can end without `{cancel}` being called, and the next one \
                 makes another `{context}`",
                context = function.text(made.context)
            ),
        ),
        (PathEnd::Step(_), Some(span)) => (
            span,
            "replaced here",
            format!(
                "`{cancel}` gets another value here before it was called, so the first context is never cancelled"
            ),
        ),
        (_, Some(span)) => (
            span,
            left,
            format!("this return leaves {context} behind: `{cancel}` has not been called"),
        ),
        (_, None) => (
            file.expr(made.cancel).span,
            at_the_end,
            format!(
                "the function can end without `{cancel}` being called, and leaves {context} behind"
            ),
        ),
    };
    let mut finding = cx.finding(span, label, message);
    if span != file.expr(made.cancel).span {
        finding.labels.push(Label {
            location: cx.location(made_span),
            role: Role::Made,
            message: format!("{context} and `{cancel}` are made here"),
        });
    }
    finding.labels.extend(
        made.given.as_ref().map(|given| Label {
            location: given.derived,
            role: Role::Made,
            message: "the context is derived here, and its cancel function is given to the caller"
                .to_owned(),
        }),
    );
    finding.why = why(cx, function, made);
    finding.help =
        format!("`defer {cancel}()` right after it is made, or call it on this path too");
    finding.defect = cx.location(made_span);
    finding
}

/// `defer cancel()` in a loop without a condition, whose next turn makes another one.
fn piles_up(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    parents: &Parents,
    made: &Made,
    local: LocalId,
) -> Option<Finding> {
    let file = function.file;
    let cfg = &function.body(made.at.body).cfg;
    if !is_in_endless_loop(file, parents, Node::Stmt(made.stmt)) {
        return None;
    }
    let ends = |step: StepId| made.is_awaited_at(function, step);
    let deferred = cfg.steps().find(|&step| {
        let Step::Defer(stmt) = cfg.step(step) else { return false };
        cfg.step(step).call(file).is_some_and(|call| match file.expr(call).kind {
            ExprKind::Call { callee, .. } => is_local(function, file.unparen(callee), local),
            _ => false,
        }) && cfg.reaches_without(step, made.stored, &ends)
            && file.stmt(stmt).span.start > file.expr(made.call).span.start
    })?;
    let called = calls(function, made, local).next().is_some();
    if called || started_with(function, cfg, made.context) {
        return None;
    }
    let (context, cancel) = (function.text(made.context), function.text(made.cancel));
    let message = format!(
        "`{cancel}` is called only when the function returns: each turn of this loop leaves one \
         more `{context}` behind"
    );
    let span = cfg.step(deferred).span(file);
    let mut finding = cx.finding(span, "waits for the end of the function", message);
    finding.confidence = finding.confidence.min(Confidence::Medium);
    finding.labels.push(Label {
        location: cx.location(file.expr(made.call).span),
        role: Role::Made,
        message: "made in every turn, with no condition that ends the loop".to_owned(),
    });
    finding.why =
        "deferred calls run when the function is left, not when a turn of a loop ends".to_owned();
    finding.help = format!(
        "call `{cancel}()` at the end of the turn, or put the turn into a function of its own"
    );
    finding.defect = cx.location(file.expr(made.call).span);
    Some(finding)
}

/// Whether a goroutine is started with the context, so that it has to outlive the turn.
fn started_with(function: &Function<'_>, cfg: &Cfg, context: ExprId) -> bool {
    let file = function.file;
    let Def::Local(context) = function.info.resolve(file.unparen(context)) else { return false };
    cfg.steps().any(|step| match cfg.step(step) {
        Step::Go(stmt) => file
            .descendants(Node::Stmt(stmt))
            .any(|node| matches!(node, Node::Expr(expr) if is_local(function, expr, *context))),
        _ => false,
    })
}
