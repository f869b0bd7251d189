//! `cache-sync-missing`: the lister of an informer factory is asked before its cache is filled, an
//! informer is asked for after the factory was started for the last time, or of two factories over one
//! client only one is waited for.
//!
//! All are told of factories and the calls on them in one body. A factory starts the informers that
//! were asked for before, and only those; a lister reads what they have received so far.

mod apart;

use crate::catalog::{Factory, Starter};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Exit, Passing, Start, Step, StepId, Walk};
use crate::index::Type;
use crate::rules::scene::{holds_any, serves_tests};
use crate::rules::{Check, FunctionCx, Rule, conditions};
use crate::summary::{Act, At, BodyId, Function, Place, Read, Root, facts, named};
use crate::syntax::{ExprId, ExprKind};

/// The rule.
pub const RULE: Rule =
    Rule { page: include_str!("../../rules/cache-sync-missing.md"), check: Check::Function(check) };

/// The methods that ask for an informer, at the end of a chain of calls on a factory.
const ASKS: [&str; 2] = ["Informer", "Lister"];

/// What a lister is asked for, which it answers from its cache.
const READS: [&str; 2] = ["Get", "List"];

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if serves_tests(cx.index(), cx.func) || !holds_any(cx, &["Lister()", "Informer()"]) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for body in read.function.bodies() {
        let calls = calls_on_factories(cx, &read, body);
        for start in calls.iter().filter(|call| matches!(call.what, What::Starts)) {
            findings.extend(asked_too_early(cx, &read, start, &calls));
            findings.extend(asked_for_too_late(cx, &read, start, &calls));
        }
        findings.extend(apart::check(cx, &read.function, &calls));
    }
}

/// A call on a factory, or on what a chain of calls made of one.
struct Call {
    at: At,
    call: ExprId,
    factory: Place,
    what: What,
}

enum What {
    /// It starts the informers that were asked for.
    Starts,
    /// It waits until all of them have what there is.
    Waits,
    /// It waits until the informers with these texts have.
    WaitsFor(Vec<String>),
    /// It asks for the informer with this text.
    AsksFor(String),
    /// It reads what the informer with this text has.
    Reads(String),
}

impl What {
    /// Whether the call waits for the informer with this text.
    fn waits_for(&self, text: &str) -> bool {
        match self {
            What::Waits => true,
            What::WaitsFor(texts) => texts.iter().any(|known| known == text),
            _ => false,
        }
    }
}

fn calls_on_factories(cx: &FunctionCx<'_>, read: &Read<'_>, body: BodyId) -> Vec<Call> {
    let function = &read.function;
    let cfg = &function.body(body).cfg;
    let mut found = Vec::new();
    for step in cfg.steps() {
        let at = At { body, step };
        let Step::Call(call) = cfg.step(step) else { continue };
        if let Some((factory, what)) = on_factory(cx, function, at, call) {
            found.push(Call { at, call, factory, what });
        }
    }
    found
}

/// What a call does, and the factory that it belongs to.
fn on_factory(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    call: ExprId,
) -> Option<(Place, What)> {
    if let Some(waits) = wait_for_informers(cx, function, at, call) {
        return Some(waits);
    }
    let (base, name) = function.file.method_call(call)?;
    let method = name.name.as_str();
    if let Some(fact) = factory(cx, function, base) {
        let is_one = |methods: &[Box<str>]| methods.iter().any(|known| **known == *method);
        let what = match (is_one(&fact.start), is_one(&fact.wait)) {
            (true, _) => What::Starts,
            (_, true) => What::Waits,
            _ => return None,
        };
        return Some((function.object_places(at, base).only()?.clone(), what));
    }
    if ASKS.contains(&method) {
        let (factory, text) = chain(cx, function, at, base)?;
        return Some((factory, What::AsksFor(text)));
    }
    if !READS.contains(&method) {
        return None;
    }
    // `lister.List(...)`, `lister.Pods(namespace).List(...)`
    let lister = made_by(function, at, base, "Lister")?;
    let (base, _) = function.file.method_call(lister)?;
    let (factory, text) = chain(cx, function, function.at_call(lister)?, base)?;
    Some((factory, What::Reads(text)))
}

/// A call that is given the `HasSynced` of informers and waits for them, if all are of one factory.
fn wait_for_informers(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    call: ExprId,
) -> Option<(Place, What)> {
    let file = function.file;
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    if !known.in_force::<Starter>(cx.versions())?.waits {
        return None;
    }
    let mut of = None;
    let mut texts = Vec::new();
    for &arg in function.args(call) {
        let ExprKind::Selector { base, name } = file.expr(file.unparen(arg)).kind else {
            // What ends the wait, and the name that it is logged under.
            let ty = function.info.type_of(arg);
            let plain = matches!(function.index.underlying(ty), Type::Chan(..) | Type::Basic(_));
            if plain || ty.is_context() {
                continue;
            }
            return None;
        };
        if name.name.as_str() != "HasSynced" {
            return None;
        }
        let informer = made_by(function, at, base, "Informer")?;
        let (base, _) = file.method_call(informer)?;
        let (factory, text) = chain(cx, function, function.at_call(informer)?, base)?;
        if of.get_or_insert_with(|| factory.clone()) != &factory {
            return None;
        }
        texts.push(text);
    }
    Some((of?, What::WaitsFor(texts)))
}

/// What the catalog says of the type of an expression, if that makes informers.
fn factory<'a>(cx: &FunctionCx<'a>, function: &Function<'_>, expr: ExprId) -> Option<&'a Factory> {
    let ty = function.info.type_of(function.file.unparen(expr)).named()?;
    named(cx.catalog(), ty.qualified()).in_force::<Factory>(cx.versions())
}

/// How many calls a chain has at most.
const MAX_CHAIN: usize = 8;

/// The factory at the beginning of a chain of calls, `f.Core().V1().Pods()`, and the chain's text.
fn chain(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    end: ExprId,
) -> Option<(Place, String)> {
    let file = function.file;
    let (mut expr, mut at, mut text) = (end, at, String::new());
    for _ in 0..MAX_CHAIN {
        expr = file.unparen(expr);
        if factory(cx, function, expr).is_some() {
            return Some((function.object_places(at, expr).only()?.clone(), text));
        }
        let call = call_behind(function, at, expr)?;
        let ExprKind::Call { ref args, .. } = file.expr(call).kind else { return None };
        let (base, name) = file.method_call(call)?;
        let args: Vec<String> = args.iter().map(|&arg| function.text(arg)).collect();
        text = format!(".{}({}){text}", name.name, args.join(", "));
        at = function.at_call(call)?;
        expr = base;
    }
    None
}

/// The call that an expression is, or that gives the variable that it is its only value.
fn call_behind(function: &Function<'_>, at: At, expr: ExprId) -> Option<ExprId> {
    match function.file.expr(expr).kind {
        ExprKind::Call { .. } => Some(expr),
        _ => match function.places(at, expr).only()?.root {
            Root::Call(call, 0) => Some(call),
            _ => None,
        },
    }
}

/// The call of a method by this name that made what a call of another method is on, or what that
/// is on.
fn made_by(function: &Function<'_>, at: At, base: ExprId, method: &str) -> Option<ExprId> {
    let file = function.file;
    let mut expr = file.unparen(base);
    let mut at = at;
    for _ in 0..2 {
        let call = call_behind(function, at, expr)?;
        let (base, name) = file.method_call(call)?;
        if name.name.as_str() == method {
            return Some(call);
        }
        at = function.at_call(call)?;
        expr = file.unparen(base);
    }
    None
}

/// A lister is asked on a way from the start on which nothing waits for the caches.
fn asked_too_early(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    start: &Call,
    calls: &[Call],
) -> Option<Finding> {
    let function = &read.function;
    let cfg = &function.body(start.at.body).cfg;
    let own = || calls.iter().filter(|call| call.factory == start.factory);
    let is_too_early = |read: &Call, text: &str| {
        let waits = |step| {
            let at = At { body: start.at.body, step };
            match own().find(|call| call.at == at) {
                Some(call) => call.what.waits_for(text),
                None => may_wait(cx, function, at),
            }
        };
        let mut walk = Unfilled { waits: &waits, read: read.at.step };
        !conditions::search(function, start.at.body, Start::After(start.at.step), (), &mut walk)
            .is_empty()
    };
    let asked =
        own().find(|call| matches!(&call.what, What::Reads(text) if is_too_early(call, text)))?;
    let what = function.callee_text(asked.call);
    let span = function.file.expr(asked.call).span;
    let message = format!("`{what}` finds nothing yet: nobody has waited for its cache to fill");
    let mut finding = cx.finding(span, "asked before it knows anything", message);
    finding.labels.push(Label {
        location: cx.location(function.file.expr(start.call).span),
        role: Role::Started,
        message: "the informers are started here, and have received nothing when this returns"
            .to_owned(),
    });
    let others = own().find(|call| {
        matches!(call.what, What::WaitsFor(_)) && cfg.dominates(call.at.step, asked.at.step)
    });
    if let Some(others) = others {
        finding.labels.push(Label {
            location: cx.location(function.file.expr(others.call).span),
            role: Role::Context,
            message: "this waits for others of the factory only".to_owned(),
        });
    }
    finding.why = "a lister reads what its informer has received so far, and an informer that was \
                   just started has received nothing: what is there looks as if it were not"
        .to_owned();
    finding.help = "`WaitForCacheSync` between the two".to_owned();
    finding.defect = cx.location(span);
    Some(finding)
}

/// Whether a step may wait for caches in a way that is not known: it is given what tells that they
/// are filled, or sleeps or waits for others.
fn may_wait(cx: &FunctionCx<'_>, function: &Function<'_>, at: At) -> bool {
    match function.step(at) {
        Step::Recv(_) | Step::Select(_) | Step::Next(_) | Step::Missing(_) => true,
        Step::Call(call) => {
            let known = facts(cx.catalog(), function.index, function.info.callee(call));
            let waits = known.in_force::<Starter>(cx.versions()).is_some_and(|it| it.waits);
            let text = function.text(call);
            waits || text.contains("Sync") || text.contains("Wait") || text.contains("Poll")
        }
        _ => false,
    }
}

/// A walk to a lister that is asked before anything has waited.
struct Unfilled<'w> {
    waits: &'w dyn Fn(StepId) -> bool,
    read: StepId,
}

impl Walk for Unfilled<'_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        match step {
            step if step == self.read => Passing::Found,
            step if (self.waits)(step) => Passing::Drop,
            _ => Passing::On(()),
        }
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        false
    }
}

/// An informer is asked for after the last start of a factory that nobody else has.
fn asked_for_too_late(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    start: &Call,
    calls: &[Call],
) -> Option<Finding> {
    let function = &read.function;
    let cfg = &function.body(start.at.body).cfg;
    let own = |call: &&Call| call.factory == start.factory;
    let asked: Vec<(&Call, &str)> = calls
        .iter()
        .filter(own)
        .filter_map(|call| match &call.what {
            What::AsksFor(text) => Some((call, text.as_str())),
            _ => None,
        })
        .collect();
    let is_started = |from: StepId| {
        let mut starts = calls.iter().filter(own);
        starts.any(|other| matches!(other.what, What::Starts) && cfg.reaches(from, other.at.step))
    };
    let &(late, text) = asked.iter().find(|(call, text)| {
        let known = asked
            .iter()
            .any(|(other, same)| same == text && cfg.reaches(other.at.step, start.at.step));
        !known && cfg.dominates(start.at.step, call.at.step) && !is_started(call.at.step)
    })?;
    if is_shared(read, &start.factory) || is_given_before(cx, function, start, text) {
        return None;
    }
    let span = function.file.expr(late.call).span;
    let message = format!(
        "the informer of `{}` is never started: its factory starts those that were asked for \
         before",
        function.text(late.call)
    );
    let mut finding = cx.finding(span, "asked for too late", message);
    finding.confidence = finding.confidence.min(Confidence::Medium);
    finding.labels.push(Label {
        location: cx.location(function.file.expr(start.call).span),
        role: Role::Started,
        message: "the factory is started here for the last time".to_owned(),
    });
    finding.why = "an informer that is not started never has synced: who waits for it waits for \
                   ever, and its lister finds nothing"
        .to_owned();
    finding.help =
        "ask for it before the factory is started, or start the factory again".to_owned();
    finding.defect = cx.location(span);
    Some(finding)
}

/// Whether others have the informer with this text before the factory is started, or what it is asked of,
/// and may ask for it.
fn is_given_before(cx: &FunctionCx<'_>, function: &Function<'_>, start: &Call, text: &str) -> bool {
    let cfg = &function.body(start.at.body).cfg;
    cfg.steps().filter(|&step| cfg.reaches(step, start.at.step)).any(|step| {
        let Some(call) = cfg.step(step).call(function.file) else { return false };
        let at = At { body: start.at.body, step };
        function.args(call).iter().any(|&arg| {
            chain(cx, function, at, arg).is_some_and(|(factory, given)| {
                factory == start.factory && text.starts_with(&given)
            })
        })
    })
}

/// Whether others may have a factory, and start it.
fn is_shared(read: &Read<'_>, factory: &Place) -> bool {
    let function = &read.function;
    let given = !matches!(factory.root, Root::Call(..)) || !factory.path.is_empty();
    given
        || function.bodies().any(|body| {
            read.effects(body).effects.iter().any(|effect| {
                effect.place == *factory
                    && matches!(
                        effect.act,
                        Act::Returned(_) | Act::Stored | Act::Sent | Act::Captured | Act::Passed
                    )
            })
        })
}
