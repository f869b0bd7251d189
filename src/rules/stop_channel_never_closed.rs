//! `stop-channel-never-closed`: something is started that goes on until a channel closes, and is
//! given one that never does.
//!
//! The channel is one that the catalog says never closes, that of a context which is never done,
//! `nil`, or one that the function makes, gives to nobody else and never closes. What is started is
//! known by the catalog, or a function of the module in a goroutine, which waits for the channel in
//! a loop.

use crate::catalog::{Base, Channel, Closes, Model, Op, Starter};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Callee, Def, LocalKind, ObjectKind, QualifiedName, Type};
use crate::rules::conditions::locals_in;
use crate::rules::recurrence::{self, Runs};
use crate::rules::scene::serves_tests;
use crate::rules::{Check, FunctionCx, Rule, held};
use crate::summary::{Act, At, BodyId, Cancel, Function, Place, Read, Root, facts, named};
use crate::syntax::{ExprId, ExprKind, Node};

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/stop-channel-never-closed.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    let of_program = cx.index().package(cx.func.package).name.as_str() == "main";
    if of_program || held::runs_process_or_test(cx) || serves_tests(cx.index(), cx.func) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let function = &read.function;
    let mut told: Vec<ExprId> = Vec::new();
    for body in function.bodies() {
        for step in function.body(body).cfg.steps() {
            let at = At { body, step };
            let Some(started) = started(cx, function, at) else { continue };
            let Some(never) = never_closes(cx, &read, at, started.stop) else { continue };
            if never.made.is_some_and(|made| told.contains(&made)) {
                continue;
            }
            told.extend(never.made);
            findings.extend(finding(cx, function, at, &started, &never));
        }
    }
}

/// Something that goes on until a channel closes.
struct Started {
    /// What it is.
    what: String,
    stop: ExprId,
}

fn started(cx: &FunctionCx<'_>, function: &Function<'_>, at: At) -> Option<Started> {
    let step = function.step(at);
    let in_goroutine = match step {
        Step::Call(_) => false,
        Step::Go(_) => true,
        _ => return None,
    };
    let call = step.call(function.file)?;
    let args = function.args(call);
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    if let Some(starter) = known.in_force::<Starter>(cx.versions()) {
        // What waits here does so for whoever calls the function.
        let apart = in_goroutine || !starter.waits;
        let param = match (&starter.stop, starter.context) {
            (Some(stop), None) => match stop.base {
                Base::Param(param) => param,
                _ => return None,
            },
            _ => return None,
        };
        let stop = *args.get(param as usize)?;
        let alone =
            apart && starter.ended_by.is_empty() && !is_of_process(cx, function, args, stop);
        return alone
            .then(|| Started { what: format!("the {} that this starts", starter.what), stop });
    }
    let Callee::Func(callee) = *function.info.callee(call) else { return None };
    if !in_goroutine {
        return None;
    }
    let read = cx.summaries().read(callee)?;
    let stop = (0..).zip(args).find(|&(param, _)| goes_on_until(&read, param))?;
    Some(Started { what: format!("`{}`", function.callee_text(call)), stop: *stop.1 })
}

/// Whether what is started has to do with the package alone: a function of the package starts one that is
/// declared, and gives it nothing of its own. It goes on as long as the process does.
fn is_of_process(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    args: &[ExprId],
    stop: ExprId,
) -> bool {
    let others = || args.iter().filter(|&&arg| arg != stop);
    let names_function = |arg: &ExprId| {
        let declared = function.file.unparen(*arg);
        matches!(function.info.resolve(declared), Def::Global(object)
            if matches!(function.index.object(*object).kind, ObjectKind::Func(_)))
    };
    cx.declared().receiver.is_none()
        && others().any(names_function)
        && others().all(|&arg| locals_in(function, Node::Expr(arg)).is_empty())
}

/// Whether a function waits, in a loop, for nothing but what it works on and the end of a parameter.
fn goes_on_until(read: &Read<'_>, param: u32) -> bool {
    let function = &read.function;
    let place = Place::root(Root::Param(param));
    let is_channel = function.info.locals().iter().any(|local| {
        local.kind == LocalKind::Param(param)
            && local.owner.is_none()
            && matches!(function.index.underlying(&local.ty), Type::Chan(..))
    });
    let body = BodyId::OWN;
    is_channel
        && read.waits(body).iter().any(|(at, wait)| {
            let cfg = &function.body(at.body).cfg;
            matches!(&wait.cancel, Cancel::By(enders) if enders.contains(&place))
                && cfg.reaches(at.step, at.step)
        })
        && only_stop_leaves(read, param)
}

/// Whether the function has no other way out than by the end of the parameter.
fn only_stop_leaves(read: &Read<'_>, param: u32) -> bool {
    let function = &read.function;
    let body = BodyId::OWN;
    let cfg = &function.body(body).cfg;
    let place = Place::root(Root::Param(param));
    let is_stop = |step| {
        let channel = cfg.step(step).received_from(function.file);
        channel.is_some_and(|channel| {
            function.places(At { body, step }, channel).only() == Some(&place)
        })
    };
    !cfg.incomplete() && !cfg.finds(Start::Entry, (), &mut WithoutStop(&is_stop))
}

/// A walk to any way out on which the stop channel is not received from.
struct WithoutStop<'w>(&'w dyn Fn(StepId) -> bool);

impl Walk for WithoutStop<'_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        match (self.0)(step) {
            true => Passing::Drop,
            false => Passing::On(()),
        }
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        !matches!(exit, Exit::Panic(_))
    }
}

/// Why a channel never closes.
struct Never {
    why: String,
    /// The call that makes it, if it is made here.
    made: Option<ExprId>,
}

fn never_closes(cx: &FunctionCx<'_>, read: &Read<'_>, at: At, stop: ExprId) -> Option<Never> {
    let function = &read.function;
    let stop = function.file.unparen(stop);
    let text = function.text(stop);
    if let ExprKind::Ident(_) | ExprKind::Selector { .. } = function.file.expr(stop).kind
        && let Some(name) = global(function, stop)
    {
        let channel = named(cx.catalog(), name).in_force::<Channel>(cx.versions())?;
        let never = channel.closes == Closes::Never;
        return never.then(|| Never { why: format!("`{text}` is never closed"), made: None });
    }
    if let ExprKind::Ident(_) = function.file.expr(stop).kind
        && let Def::Nil = function.info.resolve(stop)
    {
        return Some(Never { why: "a `nil` channel is never closed".to_owned(), made: None });
    }
    if let Some(context) = done_of(cx, function, stop) {
        let origin = cx.summaries().context(function, at, context);
        let never = origin.is_fresh() && origin.derivations.is_empty() && !origin.deadline;
        let why = format!("`{text}` is `nil`: that context is never done");
        return never.then_some(Never { why, made: None });
    }
    let places = function.places(at, stop);
    let place = places.only()?;
    let Root::Made(made) = place.root else { return None };
    let owned = !function.bodies().any(|body| {
        read.effects(body).effects.iter().any(|effect| {
            effect.place.is_within(place) && effect.act != Act::Passed
                || effect.place.is_within(place)
                    && started(cx, function, effect.at).is_none_or(|other| {
                        function.places(effect.at, other.stop).only() != Some(place)
                    })
        })
    });
    let why = format!("nobody closes `{text}`, and nobody else has it");
    (owned && place.path.is_empty()).then_some(Never { why, made: Some(made) })
}

/// The name of a variable of package level.
fn global(function: &Function<'_>, expr: ExprId) -> Option<QualifiedName> {
    match function.info.resolve(expr) {
        Def::Global(object) => {
            let declared = function.index.object(*object);
            let path = function.index.package(object.package).path;
            Some(QualifiedName { path, receiver: None, name: declared.name })
        }
        Def::External(name) => Some(*name),
        _ => None,
    }
}

/// The context of a call `ctx.Done()`.
fn done_of(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Option<ExprId> {
    let file = function.file;
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return None };
    let ExprKind::Selector { base, .. } = file.expr(file.unparen(callee)).kind else { return None };
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let model = known.in_force::<Model>(cx.versions())?;
    (model.op == Op::ContextDone).then_some(base)
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    started: &Started,
    never: &Never,
) -> Option<Finding> {
    let again = match recurrence::runs(&cx.package, cx.func) {
        // What is started once, when the process starts, may well go on until it ends; what a
        // package offers may be called by others, too.
        Runs::Once if !cx.declared().name.is_exported() => return None,
        Runs::Once => None,
        Runs::Again(location, message) => Some((location, message)),
        Runs::Unknown => None,
    };
    let span = function.file.expr(started.stop).span;
    let message = format!("nobody can stop {}: {}", started.what, never.why);
    let mut finding = cx.finding(span, "never closes", message);
    if again.is_none() {
        finding.confidence = finding.confidence.min(Confidence::Medium);
    }
    finding.labels.extend(again.map(|(location, message)| Label {
        location,
        role: Role::Context,
        message: message.to_owned(),
    }));
    finding.why = "it goes on until the channel closes, in goroutines of its own, which keep all \
                   that they refer to"
        .to_owned();
    finding.help = "the channel of whoever knows when this is over: `ctx.Done()` of a context \
                    that is cancelled, or one that is closed"
        .to_owned();
    finding.defect = cx.location(function.step(at).span(function.file));
    Some(finding)
}
