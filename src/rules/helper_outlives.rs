//! `helper-outlives`: a goroutine that only waits for a foreign end in order to help the work that
//! started it, and stays when that work is over before.
//!
//! Three things together make the claim. The goroutine's first wait is for a context or stop channel
//! that the function was given and does not end itself. All that it does after that is done to
//! things of this one call, which nobody else keeps. And the call works on after the `go`, and can
//! be over without that end.

mod early;
mod merged;
mod over;

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use crate::catalog;
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, EdgeKind, Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Basic, Callee, Def, FuncId, LocalId, LocalKind, Type};
use crate::rules::recurrence::begins_with;
use crate::rules::scene::{Scene, may_start_goroutines, serves_tests};
use crate::rules::{Check, FunctionCx, Rule, conditions, held};
use crate::source::Span;
use crate::summary::{
    Act, At, BodyFlow, BodyId, ContextRoot, Function, Mode, Place, Read, Root, Source, Wait, What,
};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtId, StmtKind};

/// The rule.
pub const RULE: Rule =
    Rule { page: include_str!("../../rules/helper-outlives.md"), check: Check::Function(check) };

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if held::runs_process_or_test(cx) {
        return;
    }
    if !may_start_goroutines(cx) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let spawns = |at: &At| matches!(read.function.step(*at), Step::Go(_));
    if !read.function.bodies().any(|body| steps(&read.function, body).any(|at| spawns(&at))) {
        return;
    }
    let Some(scene) = Scene::new(*cx) else { return };
    for body in read.function.bodies() {
        for at in steps(&read.function, body).filter(spawns) {
            let found = check_spawn(&scene, &read, at);
            let found = found.or_else(|| merged::check_spawn(&scene, &read, at));
            findings.extend(found.or_else(|| early::check_spawn(&scene, &read, at)));
        }
    }
}

fn steps(function: &Function<'_>, body: BodyId) -> impl Iterator<Item = At> {
    function.body(body).cfg.steps().map(move |step| At { body, step })
}

/// A goroutine that waits for a foreign end before it does anything else.
struct Helper {
    /// The literal that it runs.
    literal: ExprId,
    /// Where it waits.
    wait: Span,
    /// What it receives from, as the code writes it.
    channel: String,
    /// The context or channel.
    end: Place,
}

fn check_spawn(scene: &Scene<'_>, read: &Read<'_>, go: At) -> Option<Finding> {
    let helper = helper(scene, read, go)?;
    let things = helped(scene, read, go, &helper)?;
    if things.iter().any(|&thing| is_kept(scene, read, go, thing)) {
        return None;
    }
    let left = match things.iter().any(|&thing| governs_others(read, go, thing)) {
        true => handed_on(scene, read, go, &helper, &things)?,
        false => leaves(scene, read, go, &helper, &things)
            .or_else(|| turns(scene, read, go, &helper, &things))?,
    };
    (!callers_end_it(scene, &helper)).then(|| finding(scene, read, go, &helper, &left))
}

/// A literal without parameters that a `go` statement starts.
struct Started<'r> {
    literal: ExprId,
    body: BodyId,
    statements: &'r [StmtId],
}

fn started<'r>(read: &'r Read<'_>, go: At) -> Option<Started<'r>> {
    let function = &read.function;
    let file = function.file;
    let Step::Go(stmt) = function.step(go) else { return None };
    let call = BodyFlow::statement_call(file, stmt)?;
    let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return None };
    let literal = file.unparen(callee);
    let body = function.body_of_literal(literal)?;
    let StmtKind::Block(ref statements) = file.stmt(function.body(body).block).kind else {
        return None;
    };
    args.is_empty().then_some(Started { literal, body, statements })
}

/// What a `go` statement starts, if it is a literal that first of all waits for a foreign end, and
/// for nothing else.
fn helper(scene: &Scene<'_>, read: &Read<'_>, go: At) -> Option<Helper> {
    let function = &read.function;
    let file = function.file;
    let Started { literal, body, statements } = started(read, go)?;
    let cfg = &function.body(body).cfg;
    // A deferred call before the wait says that somebody counts the goroutine.
    let &first = statements.first()?;
    let step = match &file.stmt(first).kind {
        StmtKind::Expr(expr) => cfg.step_of_expr(file.unparen(*expr))?,
        StmtKind::Select(clauses) => match &clauses[..] {
            [clause] => cfg.step_of_stmt(clause.comm?)?,
            _ => return None,
        },
        _ => return None,
    };
    let received = cfg.step(step).received_from(file)?;
    let at = At { body, step };
    Some(Helper {
        literal,
        wait: cfg.step(step).span(file),
        channel: function.text(received),
        end: foreign_end(scene, read, at, received)?,
    })
}

/// The context or stop channel that a receive looks at, if the function was given it, and somebody
/// else ends it.
fn foreign_end(scene: &Scene<'_>, read: &Read<'_>, at: At, received: ExprId) -> Option<Place> {
    let function = &read.function;
    let file = function.file;
    let received = file.unparen(received);
    if let Some(context) = function.done_of(received) {
        let origin = scene.cx.summaries().context(function, at, context);
        let [ContextRoot::Place(place)] = &origin.roots[..] else { return None };
        let ends_here = origin.derivations.iter().any(|&call| scene.may_end_context(call));
        let is_other = !ends_here && is_given(place) && !place.is_context_of_request();
        return is_other.then(|| place.clone());
    }
    let is_signal = function.index.is_signal(function.info.type_of(received));
    let places = function.places(at, received);
    let place = places.only().filter(|place| is_signal && is_given(place))?;
    let closes = read.function.bodies().any(|body| {
        let effects = &read.effects(body).effects;
        effects.iter().any(|effect| {
            effect.place == *place && matches!(effect.act, Act::Closed | Act::SentTo(_))
        })
    });
    (!closes).then(|| place.clone())
}

fn is_given(place: &Place) -> bool {
    match place.root {
        Root::Param(_) | Root::LiteralParam(..) => place.path.is_empty(),
        Root::Receiver => !place.path.is_empty(),
        _ => false,
    }
}

/// The variables that the goroutine uses after the wait, if all of them belong to the body that
/// starts it: things that are there for this one call.
fn helped(scene: &Scene<'_>, read: &Read<'_>, go: At, helper: &Helper) -> Option<Vec<LocalId>> {
    let function = &read.function;
    let file = function.file;
    let owner = function.body(go.body).literal;
    let mut things: Vec<LocalId> = Vec::new();
    for node in file.descendants(Node::Expr(helper.literal)) {
        let Node::Expr(expr) = node else { continue };
        let span = file.expr(expr).span;
        if span.start < helper.wait.end || !matches!(file.expr(expr).kind, ExprKind::Ident(_)) {
            continue;
        }
        let Def::Local(local) = *function.info.resolve(expr) else { continue };
        let known = function.info.local(local);
        if !known.kind.is_variable() || known.owner == Some(helper.literal) {
            continue;
        }
        if known.ty.is_context() || things.contains(&local) {
            continue;
        }
        let is_own = known.owner == owner
            && matches!(known.kind, LocalKind::Var | LocalKind::LoopVar | LocalKind::TypeSwitch);
        if !is_own && !ended_by_starter(scene, read, local, helper) {
            return None;
        }
        things.push(local);
    }
    (!things.is_empty()).then_some(things)
}

/// Whether the method that the goroutine calls on something is also called by the function itself,
/// deferred: it owns the thing, although it was given it.
fn ended_by_starter(scene: &Scene<'_>, read: &Read<'_>, local: LocalId, helper: &Helper) -> bool {
    let function = &read.function;
    let file = function.file;
    let is_deferred = |call: ExprId| {
        let in_helper = |node: &Node| matches!(node, Node::Expr(expr) if *expr == helper.literal);
        let around: Vec<Node> = scene.around(Node::Expr(call)).collect();
        !around.iter().any(in_helper)
            && around.iter().any(|node| match node {
                Node::Stmt(stmt) => matches!(file.stmt(*stmt).kind, StmtKind::Defer(_)),
                _ => false,
            })
    };
    let method_of = |expr: ExprId| {
        let Some(Node::Expr(selector)) = scene.parent(Node::Expr(expr)) else { return None };
        let Some(Node::Expr(call)) = scene.parent(Node::Expr(selector)) else { return None };
        let (base, name) = scene.method_call(call)?;
        (file.unparen(base) == expr).then_some((call, name.name))
    };
    let calls: Vec<_> = scene.uses(local).filter_map(method_of).collect();
    let inside = file.expr(helper.literal).span;
    calls.iter().any(|&(call, name)| {
        let span = file.expr(call).span;
        inside.start <= span.start
            && span.end <= inside.end
            && calls.iter().any(|&(other, same)| same == name && is_deferred(other))
    })
}

/// The only value of a variable, if `make` makes it, and where that is.
fn make_of(read: &Read<'_>, variable: LocalId) -> Option<(At, ExprId)> {
    let (at, make) = read.function.only_make_of(variable)?;
    Some((at?, make))
}

/// Whether somebody else may have the thing after the call is over.
fn is_kept(scene: &Scene<'_>, read: &Read<'_>, go: At, local: LocalId) -> bool {
    let function = &read.function;
    let is_over = OnceCell::new();
    let places = function.places_of_local(go, local);
    read.function.bodies().any(|body| {
        read.effects(body).effects.iter().any(|effect| {
            let about = places.list.contains(&effect.place);
            let elsewhere = effect.at != go && effect.mode >= Mode::Spawned;
            about
                && match effect.act {
                    Act::Returned(_) | Act::Stored | Act::Sent => true,
                    Act::Captured => {
                        elsewhere && !is_over.get_or_init(|| over::is_over(scene, read, go, local))
                    }
                    _ => false,
                }
        })
    })
}

/// The context that a cancel function ends, if that is what a variable holds.
fn context_of(function: &Function<'_>, cancel: LocalId) -> Option<Place> {
    Some(Place::root(Root::Call(derivation_of(function, cancel)?, 0)))
}

/// The call that derives the context which a cancel function ends.
fn derivation_of(function: &Function<'_>, cancel: LocalId) -> Option<ExprId> {
    match function.only_definition_of(cancel)?.source {
        Source::Result(call, 1) => Some(call),
        _ => None,
    }
}

/// Whether the thing cancels a context under which another goroutine runs that outlives the call: the work is
/// not over with the call.
fn governs_others(read: &Read<'_>, go: At, thing: LocalId) -> bool {
    let Some(context) = context_of(&read.function, thing) else { return false };
    read.function.bodies().any(|body| {
        read.effects(body).effects.iter().any(|effect| {
            effect.place == context && effect.at != go && effect.mode >= Mode::Spawned
        })
    })
}

/// Where the function leaves its work to goroutines under a context that is derived from its caller's, which the
/// goroutine does no more than to cancel when the object ends: when the caller's context is done, so is the work.
fn handed_on(
    scene: &Scene<'_>,
    read: &Read<'_>,
    go: At,
    helper: &Helper,
    things: &[LocalId],
) -> Option<Span> {
    let function = &read.function;
    let &[cancel] = things else { return None };
    let derived = derivation_of(function, cancel)?;
    let of_caller = || {
        let &parent = function.args(derived).first()?;
        let origin = scene.cx.summaries().context(function, function.at_call(derived)?, parent);
        let place = origin.only()?;
        Some(matches!(place.root, Root::Param(_)) && place.path.is_empty())
    };
    if helper.end.root != Root::Receiver
        || !of_caller().unwrap_or(false)
        || begins_with(scene.name.name.as_str(), &SERVES)
    {
        return None;
    }
    let cfg = &function.body(go.body).cfg;
    cfg.steps().find_map(|step| {
        let Step::Return(stmt) = cfg.step(step) else { return None };
        let StmtKind::Return(ref values) = scene.file.stmt(stmt).kind else { return None };
        let gives = values.iter().any(|&value| {
            matches!(function.info.type_of(value), Type::Chan(..)) && !scene.is_nil(value)
        });
        (gives && cfg.reaches(go.step, step)).then(|| scene.file.stmt(stmt).span)
    })
}

/// Where the function leaves, after it has worked on, without the end that the goroutine waits for.
fn leaves(
    scene: &Scene<'_>,
    read: &Read<'_>,
    go: At,
    helper: &Helper,
    things: &[LocalId],
) -> Option<Span> {
    let function = &read.function;
    let cfg = &function.body(go.body).cfg;
    let works = works(read, go.body);
    let mut told = told(scene, read, go, helper, &SERVES);
    told.extend(cfg.steps().filter(|&step| learns_of_end(scene, read, go, step, things)));
    let ended = ended(scene, read, go, things);
    let mut walk = Leave { works, told, ended };
    let paths = conditions::search(function, go.body, Start::After(go.step), false, &mut walk);
    let span = |path: &Path<bool>| match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => {
            let span = function.file.stmt(stmt).span;
            let says_so = function.file.source.text(span).contains(".Err()");
            (!says_so).then_some(span)
        }
        PathEnd::Exit(..) => {
            let end = function.file.stmt(function.body(go.body).block).span.end;
            Some(Span::new(end.saturating_sub(1), end))
        }
        PathEnd::Step(_) => None,
    };
    paths.iter().find_map(span)
}

/// Whether a step receives the end of a context that nobody but the goroutine brings about.
fn learns_of_end(
    scene: &Scene<'_>,
    read: &Read<'_>,
    go: At,
    step: StepId,
    things: &[LocalId],
) -> bool {
    let function = &read.function;
    let context = function.end_received(function.step(At { step, ..go }));
    context.is_some_and(|context| is_own_end(scene, read, At { step, ..go }, context, things))
}

/// Whether a context ends before the body is left only as the goroutine brings it about.
fn is_own_end(
    scene: &Scene<'_>,
    read: &Read<'_>,
    at: At,
    context: ExprId,
    things: &[LocalId],
) -> bool {
    let function = &read.function;
    let origin = scene.cx.summaries().context(function, at, context);
    let places = function.places(at, context);
    // What is deferred comes when the body has been left.
    let is_deferred = |used: ExprId| match scene.parent(Node::Expr(used)) {
        Some(Node::Expr(call)) => scene.is_deferred(call),
        _ => false,
    };
    origin.is_fresh()
        && things.iter().any(|&thing| {
            let uses = scene.uses(thing);
            let uses = uses.filter(|&used| !scene.is_target(used) && !is_deferred(used));
            context_of(function, thing).as_ref() == places.only() && uses.count() == 1
        })
}

/// The edges that are taken when a context has an error which only the goroutine brings about: `ctx.Err() != nil`.
fn ended(scene: &Scene<'_>, read: &Read<'_>, go: At, things: &[LocalId]) -> FxHashSet<EdgeKind> {
    let function = &read.function;
    let cfg = &function.body(go.body).cfg;
    let is_end = |edge: EdgeKind| {
        let (asked, holds) = edge.condition()?;
        let ExprKind::Binary { op, left, right, .. } = function.file.expr(asked).kind else {
            return None;
        };
        let is_error = (op == BinaryOp::Ne) == holds && matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        let call = function.file.unparen(left);
        let (context, name) = scene.method_call(call)?;
        let at = At { step: cfg.step_of_expr(call)?, ..go };
        let asks = is_error && scene.is_nil(right) && name.name.as_str() == "Err";
        Some(asks && is_own_end(scene, read, at, context, things))
    };
    let kinds = cfg.edges().map(|edge| edge.kind);
    kinds.filter(|&kind| is_end(kind).unwrap_or(false)).collect()
}

/// Where a turn of a loop ends something that the goroutine was to end, before the next turn makes
/// another one and starts another goroutine.
fn turns(
    scene: &Scene<'_>,
    read: &Read<'_>,
    go: At,
    helper: &Helper,
    things: &[LocalId],
) -> Option<Span> {
    let function = &read.function;
    let cfg = &function.body(go.body).cfg;
    let is_anew = |&&thing: &&LocalId| {
        function.definitions_of(thing).all(|definition| {
            definition.at.is_some_and(|at| {
                let turn = cfg.reaches(go.step, at.step) && cfg.reaches(at.step, go.step);
                at.body == go.body && turn
            })
        })
    };
    let anew: Vec<LocalId> = things.iter().filter(is_anew).copied().collect();
    let ends: FxHashSet<StepId> = cfg
        .steps()
        .filter(|&step| match cfg.step(step) {
            Step::Call(call) => ended_by(scene, call).is_some_and(|thing| anew.contains(&thing)),
            _ => false,
        })
        .collect();
    if ends.is_empty() {
        return None;
    }
    // What the loop goes on after ends by itself, whatever it is called.
    let told = told(scene, read, go, helper, &[]);
    let mut walk = Turn { go: go.step, ends: &ends, told };
    let paths = conditions::search(function, go.body, Start::After(go.step), None, &mut walk);
    let end = paths.first()?.state?;
    Some(cfg.step(end).span(function.file))
}

/// The variable that a call ends: `cancel()`, `x.Close()`.
fn ended_by(scene: &Scene<'_>, call: ExprId) -> Option<LocalId> {
    let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return None };
    if let Callee::Value(_) = scene.info.callee(call) {
        return scene.local(callee);
    }
    let (base, name) = scene.method_call(call)?;
    let ends = matches!(name.name.as_str(), "Close" | "Stop" | "Cancel");
    scene.local(base).filter(|_| ends)
}

/// Looks for a way round to the `go` statement on which something is ended.
struct Turn<'t> {
    go: StepId,
    ends: &'t FxHashSet<StepId>,
    told: FxHashSet<StepId>,
}

impl Walk for Turn<'_> {
    /// Where something was ended first.
    type State = Option<StepId>;

    fn step(&mut self, ended: &Option<StepId>, step: StepId) -> Passing<Option<StepId>> {
        if step == self.go {
            return if ended.is_some() { Passing::Found } else { Passing::Drop };
        }
        if self.told.contains(&step) {
            return Passing::Drop;
        }
        Passing::On(ended.or_else(|| self.ends.contains(&step).then_some(step)))
    }

    fn exit(&mut self, _: &Option<StepId>, _: Exit) -> bool {
        false
    }
}

/// The steps at which the function waits for what may end by itself.
fn works(read: &Read<'_>, body: BodyId) -> FxHashSet<StepId> {
    let function = &read.function;
    let cfg = &function.body(body).cfg;
    let mut works: FxHashSet<StepId> = read.waits(body).iter().map(|(at, _)| at.step).collect();
    works.extend(cfg.steps().filter(|&step| match cfg.step(step) {
        Step::Call(call) => matches!(function.info.callee(call), Callee::Value(_)),
        // What is ranged over is made by a package that is not there: no slice of this one.
        Step::Next(stmt) => match function.file.stmt(stmt).kind {
            StmtKind::Range { subject, .. } => function.info.type_of(subject).is_unknown(),
            _ => false,
        },
        _ => false,
    }));
    works
}

/// First words of the names of what goes on until it is told to end.
const SERVES: [&str; 6] = ["accept", "listen", "run", "serve", "start", "wait"];

/// The steps that the function comes to an end at together with the goroutine: it learns of the
/// same end, waits for the goroutine, or calls what goes on until then.
fn told(
    scene: &Scene<'_>,
    read: &Read<'_>,
    go: At,
    helper: &Helper,
    serves: &[&str],
) -> FxHashSet<StepId> {
    let function = &read.function;
    let cfg = &function.body(go.body).cfg;
    let signals = read.effects_at(go).filter(|effect| {
        effect.mode >= Mode::Joined && matches!(effect.act, Act::Closed | Act::SentTo(_))
    });
    let signals: Vec<&Place> = signals.map(|effect| &effect.place).collect();
    let is_told = |step: &StepId| {
        let at = At { step: *step, ..go };
        if let Step::Call(call) = cfg.step(*step) {
            // A process ends by itself, and so does the wait for it.
            let of_process = |(at, wait): &(At, Wait)| {
                at.step == *step && wait.what == What::Library(catalog::Wait::Exec)
            };
            let goes_on = purpose_of(scene, call).is_some_and(|name| begins_with(name, serves))
                && !matches!(function.info.type_of(call), Type::Chan(..))
                && !is_for_others(scene, helper, call);
            return goes_on && !read.waits(go.body).iter().any(of_process)
                || asks_for(function, at, call, &helper.end);
        }
        let Some(received) = function.step(at).received_from(function.file) else { return false };
        signals.iter().any(|signal| function.places(at, received).may_be(signal))
            || foreign_end(scene, read, at, received).is_some_and(|end| end == helper.end)
    };
    cfg.steps().filter(is_told).collect()
}

/// Whether a call waits for a `WaitGroup` in which the goroutine is not counted: at most it counts down for what others
/// leave undone, in a loop.
fn is_for_others(scene: &Scene<'_>, helper: &Helper, call: ExprId) -> bool {
    let counter = |call: ExprId, wanted: &str| {
        let (base, name) = scene.method_call(call)?;
        let counts = scene.info.type_of(base).strip_pointer().is_named("sync", "WaitGroup");
        (counts && name.name.as_str() == wanted).then(|| scene.local(base))?
    };
    let Some(group) = counter(call, "Wait") else { return false };
    scene.file.descendants(Node::Expr(helper.literal)).all(|node| match node {
        Node::Expr(done) => {
            counter(done, "Done") != Some(group) || !scene.loops_around(node).is_empty()
        }
        _ => true,
    })
}

/// Whether a call asks of the end, a channel that it is given, whether it has come.
fn asks_for(function: &Function<'_>, at: At, call: ExprId, end: &Place) -> bool {
    let is_end = |&arg: &ExprId| {
        matches!(function.info.type_of(arg), Type::Chan(..))
            && function.places(at, arg).only() == Some(end)
    };
    matches!(function.info.type_of(call), Type::Basic(Basic::Bool))
        && function.args(call).iter().any(is_end)
}

/// The last name of what is called.
fn purpose_of(scene: &Scene<'_>, call: ExprId) -> Option<&'static str> {
    let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return None };
    match scene.file.expr(scene.file.unparen(callee)).kind {
        ExprKind::Ident(name) => Some(name.as_str()),
        ExprKind::Selector { name, .. } => Some(name.name.as_str()),
        _ => None,
    }
}

struct Leave {
    works: FxHashSet<StepId>,
    told: FxHashSet<StepId>,
    ended: FxHashSet<EdgeKind>,
}

impl Walk for Leave {
    /// Whether something was waited for.
    type State = bool;

    fn step(&mut self, worked: &bool, step: StepId) -> Passing<bool> {
        match self.told.contains(&step) {
            true => Passing::Drop,
            false => Passing::On(*worked || self.works.contains(&step)),
        }
    }

    fn edge(&mut self, worked: &bool, edge: &Edge) -> Option<bool> {
        (!self.ended.contains(&edge.kind)).then_some(*worked)
    }

    fn exit(&mut self, worked: &bool, exit: Exit) -> bool {
        *worked && matches!(exit, Exit::Return(_) | Exit::End)
    }
}

/// Whether the function is called in its own package, and each time with an end that the caller
/// brings about itself.
fn callers_end_it(scene: &Scene<'_>, helper: &Helper) -> bool {
    let (Root::Param(index), cx) = (helper.end.root, &scene.cx) else { return false };
    if cx.declared().name.is_exported() {
        return false;
    }
    let mut ends = false;
    for func in &cx.index().package(cx.func.package).funcs {
        if serves_tests(cx.index(), func.id) {
            continue;
        }
        for (call, given) in calls_of(cx, func.id, index) {
            let caller = FunctionCx { func: func.id, ..*cx };
            let Some(read) = cx.summaries().read(func.id) else { return false };
            if !ends_in_caller(&caller, &read, call, given) {
                return false;
            }
            ends = true;
        }
    }
    ends
}

fn calls_of(cx: &FunctionCx<'_>, caller: FuncId, index: u32) -> Vec<(ExprId, ExprId)> {
    let file = cx.index().file_of(caller);
    let info = cx.index().body(caller);
    let decl = cx.index().func(caller).decl;
    let calls = file.descendants(Node::Decl(decl)).filter_map(|node| {
        let Node::Expr(call) = node else { return None };
        let ExprKind::Call { ref args, .. } = file.expr(call).kind else { return None };
        let is_call = matches!(info.callee(call), Callee::Func(func) if *func == cx.func);
        Some((call, *args.get(index as usize)?)).filter(|_| is_call)
    });
    calls.collect()
}

fn ends_in_caller(cx: &FunctionCx<'_>, read: &Read<'_>, call: ExprId, given: ExprId) -> bool {
    let function = &read.function;
    let Some(at) = function.at_call(call) else { return true };
    if function.info.type_of(given).is_context() {
        let origin = cx.summaries().context(function, at, given);
        let ends_with_request = origin.places().iter().any(Place::is_context_of_request);
        return ends_with_request || !origin.derivations.is_empty();
    }
    let places = function.places(at, given);
    read.function.bodies().any(|body| {
        let effects = &read.effects(body).effects;
        effects
            .iter()
            .any(|effect| effect.act == Act::Closed && places.list.contains(&effect.place))
    })
}

fn finding(scene: &Scene<'_>, read: &Read<'_>, go: At, helper: &Helper, left: &Span) -> Finding {
    let cx = &scene.cx;
    let file = read.function.file;
    let channel = &helper.channel;
    let message = format!(
        "this goroutine waits for `{channel}` only, and stays when the work that started it is over"
    );
    let mut finding = cx.finding(helper.wait, "waits on", message);
    let start = file.expr(helper.literal).span.start;
    finding.labels.push(Label {
        location: cx.location(read.function.step(go).span(file)),
        role: Role::Started,
        message: "started here".to_owned(),
    });
    finding.labels.push(Label {
        location: cx.location(*left),
        role: Role::Left,
        message: "the work is over here, and nobody tells the goroutine".to_owned(),
    });
    finding.why = format!(
        "`{channel}` belongs to whoever called: each call that is over before that leaves one \
         goroutine more, with all that it refers to"
    );
    finding.help =
        "let it wait for the end of this call too: a channel that is closed by `defer`, \
                    or a context that is derived here and cancelled by `defer`; or \
                    `context.AfterFunc`, whose `stop` is deferred"
            .to_owned();
    finding.defect = cx.location(Span::new(start, helper.wait.end));
    finding
}
