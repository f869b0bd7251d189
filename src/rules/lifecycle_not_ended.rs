//! `lifecycle-not-ended`: a path on which a function lets go of something that keeps goroutines
//! until it is ended.
//!
//! What such a thing is, the catalog says of libraries; of the run's own packages the summaries do:
//! a constructor that starts a goroutine which stays until a method of the result tells it to end.

mod forgotten;

use crate::catalog::{self, End, Resource};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Exit, Passing, Start, StepId, Walk};
use crate::index::{Callee, Type};
use crate::rules::held::{self, Held, Lost, Way};
use crate::rules::recurrence::{self, Runs};
use crate::rules::scene::serves_tests;
use crate::rules::{Check, FunctionCx, Rule, part_not_ended};
use crate::source::Location;
use crate::summary::{self, Act, At, BodyId, Function, Mode, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/lifecycle-not-ended.md"),
    check: Check::Function(check),
};

/// Things that have rules of their own.
const OTHERS: [&str; 8] = [
    "client stream",
    "response stream",
    "rows",
    "test server",
    "ticker",
    "timer",
    "transaction",
    "watch",
];

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if held::runs_process_or_test(cx) || serves_tests(cx.index(), cx.func) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    if is_of_command(&read) {
        return;
    }
    forgotten::check(cx, findings);
    for held in held::all(cx, &read, cx.versions(), &keeps_goroutine) {
        findings.extend(check_held(cx, &read, &held, None));
    }
    let own = own_resources(cx, &read);
    if own.is_empty() {
        return;
    }
    let parents = read.function.file.parents(Node::Decl(cx.declared().decl));
    for (held_fact, call, at, result, started) in own {
        let (name, dropped) = held::taken(&read.function, &parents, call, result);
        if name.is_none() && !dropped {
            continue;
        }
        let held = Held { at, call, result, fact: &held_fact, name, dropped };
        findings.extend(check_held(cx, &read, &held, Some(started)));
    }
}

/// Whether a function is a program's own, whose things end with it: it ends the process itself when
/// something fails.
fn is_of_command(read: &Read<'_>) -> bool {
    let function = &read.function;
    let cfg = &function.body(BodyId::OWN).cfg;
    cfg.finds(Start::Entry, (), &mut Never)
}

/// A walk to where a call does not come back.
struct Never;

impl Walk for Never {
    type State = ();

    fn step(&mut self, (): &(), _: StepId) -> Passing<()> {
        Passing::On(())
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Never(_))
    }
}

/// Whether a goroutine of this process stays until a method of the thing is called.
fn keeps_goroutine(fact: &Resource) -> bool {
    fact.goroutine
        && fact.starts.is_empty()
        && fact.stop.is_none()
        && fact.place.field.is_none()
        && !OTHERS.contains(&&*fact.what)
        && fact.ends.iter().any(|end| matches!(end, End::Method(_)))
}

/// What functions of the run give that somebody has to end.
fn own_resources(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
) -> Vec<(Resource, ExprId, At, u32, Location)> {
    let function = &read.function;
    let mut found = Vec::new();
    for (at, call) in function.calls() {
        let Callee::Func(callee) = function.info.callee(call) else { continue };
        let (own, maker) = (cx.func.package, callee.package);
        let given = cx.summaries().resources(*callee).into_iter();
        let made =
            given.filter(|resource| resource.can_be_ended_in(own, maker)).map(|made| (call, made));
        for (call, resource) in made.chain(started_by(cx, read, at, call)) {
            let by_context = resource.stop.last().is_some_and(|last| last.as_str() == "Done()");
            if by_context || resource.is_left_out(function.file, &function.info, call) {
                continue;
            }
            let ends = resource.ends.iter().map(|end| End::Method(end.as_str().into()));
            let fact = Resource {
                what: type_name(function, call, resource.result).into(),
                place: catalog::Place { base: catalog::Base::Result(resource.result), field: None },
                ends: ends.collect(),
                starts: Vec::new(),
                context: None,
                stop: None,
                goroutine: true,
                without_options: false,
                tied_by: Vec::new(),
            };
            found.push((fact, call, at, resource.result, resource.started));
        }
    }
    found
}

/// What a call of a method starts that keeps a goroutine from then on, where a call in the same function has made it:
/// that call, and what it gives.
fn started_by(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    at: At,
    start: ExprId,
) -> Option<(ExprId, summary::Resource)> {
    let function = &read.function;
    let Callee::Func(method) = *function.info.callee(start) else { return None };
    cx.index().func(method).receiver?;
    let Type::Func(signature) = cx.index().func_type(method) else { return None };
    let (started, _) = function.file.method_call(start)?;
    let can_fail = !signature.results.is_empty();
    let resource = if can_fail { None } else { part_not_ended::started(&cx.package, method) }?;
    let Place { root: Root::Call(call, result), path } =
        function.object_places(at, started).only()?.clone()
    else {
        return None;
    };
    let Callee::Func(constructor) = *function.info.callee(call) else { return None };
    let whole = Place::root(Root::Call(call, result));
    let is_shared = || {
        // Who was given it before it is started may end it.
        read.effects(at.body).effects.iter().any(|effect| {
            effect.act.escapes() && effect.place.is_within(&whole) && effect.at.step < at.step
        })
    };
    (path.is_empty() && cx.summaries().makes(constructor, result) && !is_shared())
        .then_some((call, summary::Resource { result, ..resource }))
}

fn type_name(function: &Function<'_>, call: ExprId, result: u32) -> String {
    let ty = result_type(function, call, result);
    ty.strip_pointer().named().map_or("value", |named| named.name.as_str()).to_owned()
}

fn check_held(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    held: &Held<'_>,
    started: Option<Location>,
) -> Option<Finding> {
    let function = &read.function;
    let lost = match held.dropped {
        true => vec![Lost { span: held.span(function), way: Way::Return, last: None }],
        false => held::let_go(cx, read, held),
    };
    let (first, others) = lost.split_first()?;
    let is_out_of_sight = result_type(function, held.call, held.result).is_unknown();
    if held::ends_with_context(cx, function, held)
        || is_out_of_sight && is_ended_somewhere(cx, function, held)
        || is_kept_over_turns(cx, function, held)
        || is_needed_on(read, held)
    {
        return None;
    }
    let matters = matters(cx, read, held, first)?;
    let mut finding = finding(cx, function, held, first, others, started);
    finding.labels.extend(matters.map(|(location, message)| Label {
        location,
        role: Role::Context,
        message: message.to_owned(),
    }));
    Some(finding)
}

/// Whether what is left behind adds up, with the place that shows it: the function runs again and
/// again, or it ends the thing itself elsewhere, so that it is its owner, and nothing says that it
/// runs when the process starts.
#[allow(clippy::option_option, reason = "whether it matters, and what shows it")]
fn matters(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    held: &Held<'_>,
    first: &Lost,
) -> Option<Option<(Location, &'static str)>> {
    match recurrence::runs(&cx.package, cx.func) {
        Runs::Again(location, message) => Some(Some((location, message))),
        Runs::Once => None,
        Runs::Unknown => {
            let turns = first.way == Way::Again && is_ended_by_sibling(cx, read, held);
            let owner = is_ended_here(read, held) || ends_others(read, held);
            (turns || owner && !is_constructor(cx)).then_some(None)
        }
    }
}

/// Whether a function is called like one that makes a part of the program, which most often is done
/// when the process starts: one that fails halfway counts only where it is known to run again.
fn is_constructor(cx: &FunctionCx<'_>) -> bool {
    recurrence::begins_with(cx.declared().name.as_str(), &["new", "init", "setup"])
}

/// Whether the function ends the thing somewhere.
fn is_ended_here(read: &Read<'_>, held: &Held<'_>) -> bool {
    let whole = held.whole();
    read.function.bodies().any(|body| {
        let mut effects = read.effects(body).effects.iter();
        effects.any(|effect| effect.place.is_within(&whole) && held::ends(held.fact, effect.act))
    })
}

/// Whether the function has seen to it, before it makes the thing, that something else is ended when
/// it returns.
fn ends_others(read: &Read<'_>, held: &Held<'_>) -> bool {
    let whole = held.whole();
    let cfg = &read.function.body(held.at.body).cfg;
    read.effects(held.at.body).effects.iter().any(|effect| {
        let Act::Method(name) = effect.act else { return false };
        effect.mode == Mode::Deferred
            && matches!(effect.place.root, Root::Call(..))
            && effect.place.path.is_empty()
            && !effect.place.is_within(&whole)
            && held::names_end(name)
            && cfg.dominates(effect.at.step, held.at.step)
    })
}

/// Whether another function of the package ends something of the same type.
fn is_ended_by_sibling(cx: &FunctionCx<'_>, read: &Read<'_>, held: &Held<'_>) -> bool {
    let ty = result_type(&read.function, held.call, held.result);
    let Some(own) = ty.strip_pointer().named() else { return false };
    let package = cx.index().package(cx.func.package);
    package.funcs.iter().filter(|func| !serves_tests(cx.index(), func.id)).any(|func| {
        let (file, info) = (cx.index().file_of(func.id), cx.index().body(func.id));
        file.descendants(Node::Decl(func.decl)).any(|node| {
            let Node::Expr(call) = node else { return false };
            let ExprKind::Call { callee, .. } = file.expr(call).kind else { return false };
            let ExprKind::Selector { base, name } = file.expr(file.unparen(callee)).kind else {
                return false;
            };
            held::ends(held.fact, Act::Method(name.name))
                && info
                    .type_of(base)
                    .strip_pointer()
                    .named()
                    .is_some_and(|named| named.qualified() == own.qualified())
        })
    })
}

fn result_type(function: &Function<'_>, call: ExprId, result: u32) -> Type {
    match function.info.type_of(call) {
        Type::Tuple(types) => types.get(result as usize).cloned().unwrap_or_default(),
        other => other.clone(),
    }
}

/// Whether the text of the function ends something by this name: all that can be said of a value
/// whose methods are not known.
fn is_ended_somewhere(cx: &FunctionCx<'_>, function: &Function<'_>, held: &Held<'_>) -> bool {
    let file = function.file;
    let text = file.source.text(file.decl(cx.declared().decl).span);
    held.fact.ends.iter().any(|end| match end {
        End::Method(name) => text.contains(&format!(".{name}")),
        _ => true,
    })
}

/// Whether a loop makes the thing for a variable that outlives the turn: then a later turn may end
/// it.
fn is_kept_over_turns(cx: &FunctionCx<'_>, function: &Function<'_>, held: &Held<'_>) -> bool {
    let parents = function.file.parents(Node::Decl(cx.declared().decl));
    let assigned = match parents.of(Node::Expr(held.call)) {
        Some(Node::Stmt(stmt)) => {
            matches!(function.file.stmt(stmt).kind, StmtKind::Assign { .. })
        }
        _ => false,
    };
    assigned && function.body(held.at.body).cfg.reaches(held.at.step, held.at.step)
}

/// Whether something that a method of the thing gave is known to others: what it is good for goes
/// on, and so must the thing.
fn is_needed_on(read: &Read<'_>, held: &Held<'_>) -> bool {
    let function = &read.function;
    let whole = held.whole();
    let given_by_it = |call: ExprId| {
        let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return false };
        match function.file.expr(function.file.unparen(callee)).kind {
            ExprKind::Selector { base, .. } => {
                let at = function.at_call(call);
                at.is_some_and(|at| function.places(at, base).may_be(&whole))
            }
            _ => false,
        }
    };
    function.bodies().any(|body| {
        read.effects(body).effects.iter().any(|effect| {
            let kept = matches!(effect.act, Act::Returned(_) | Act::Stored | Act::Sent);
            kept && matches!(effect.place.root, Root::Call(call, _) if given_by_it(call))
        })
    })
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    held: &Held<'_>,
    first: &Lost,
    others: &[Lost],
    started: Option<Location>,
) -> Finding {
    let call = held.span(function);
    let what = &held.fact.what;
    let end = held.fact.ends.iter().find_map(|end| match end {
        End::Method(name) => Some(name.to_string()),
        _ => None,
    });
    let end = end.unwrap_or_else(|| "Close".to_owned());
    let name = held.name.clone().unwrap_or_else(|| format!("the {what}"));
    let (message, label) = match first.way {
        _ if held.dropped => (
            format!("the {what} that is made here is thrown away, and its goroutine stays"),
            "nobody can end it",
        ),
        Way::Return => (
            format!("this return leaves `{name}` running: nobody calls `{end}`"),
            "returns without ending it",
        ),
        Way::End => (
            format!("the function can end with `{name}` running: nobody calls `{end}`"),
            "ends without ending it",
        ),
        Way::Again => (
            format!("`{name}` still runs when the next one is made here"),
            "replaces what still runs",
        ),
        Way::Replaced => (
            format!(
                "`{name}` still runs when its variable gets something else: nobody calls `{end}`"
            ),
            "replaces what still runs",
        ),
    };
    let mut finding = cx.finding(first.span, label, message);
    if first.span != call {
        finding.labels.push(Label {
            location: cx.location(call),
            role: Role::Made,
            message: format!("the {what} is made here"),
        });
    }
    finding.labels.extend(started.map(|location| Label {
        location,
        role: Role::Started,
        message: "its goroutine waits here until it is ended".to_owned(),
    }));
    for other in others.iter().filter(|other| other.way != Way::Again && other.span != first.span) {
        finding.labels.push(Label {
            location: cx.location(other.span),
            role: Role::Left,
            message: "nor is it ended here".to_owned(),
        });
    }
    finding.why = format!(
        "it starts a goroutine when it is made, which stays until `{end}` is called; nobody else \
         has it to do that"
    );
    finding.help =
        format!("`defer {name}.{end}()` right after it is made, or `{end}` on this path");
    finding.defect = cx.location(call);
    finding
}
