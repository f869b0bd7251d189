//! `wait-ignores-context`: a sleep in a function that elsewhere waits for being told to end.
//!
//! The evidence is the function's own: the same body has a `select` that looks at a context or
//! stop channel, so whoever wrote it meant it to end when told, and the sleep cannot. Or it is its
//! type's: the sleep is in a goroutine of a value that has a channel which is closed at its end,
//! and which its other methods look at. A wait for an answer is a form of its own, and so is a loop that waits for
//! timers: see [`answer`] and [`timers`].

mod answer;
mod timers;

use crate::catalog::{self, Blocking, Model, Op};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Step, StepId};
use crate::index::{Callee, Def, LocalId, LocalKind, ObjectKind};
use crate::rules::bound::nanoseconds;
use crate::rules::endable;
use crate::rules::scene::{Scene, serves_tests};
use crate::rules::{Check, FunctionCx, Rule, held};
use crate::source::{Location, Span};
use crate::summary::{Act, At, BodyId, Effect, Function, Guard, Place, Read, Root, facts};
use crate::syntax::{ExprId, ExprKind, File, Node, StmtId, StmtKind};

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/wait-ignores-context.md"),
    check: Check::Function(check),
};

/// Sleeps of a constant time up to this long, in nanoseconds, are over soon enough.
const SOON: i128 = 10_000_000_000;

/// Who only asks in between whether it is to end has counted with waits up to this long, in nanoseconds.
const LONG: i128 = 60_000_000_000;

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if held::runs_process_or_test(cx) {
        return;
    }
    answer::check(cx, findings);
    timers::check(cx, findings);
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for body in read.function.bodies() {
        for at in sleeps(cx, &read, body) {
            let told = told_elsewhere(cx, &read, at).or_else(|| told_siblings(cx, at));
            findings.extend(told.map(|told| finding(cx, &read.function, at, told)));
        }
    }
}

/// The finding at a `select` that does not look at what the caller gives there.
fn at_select(
    scene: &Scene<'_>,
    select: StmtId,
    (given, what): (Span, &str),
    message: String,
) -> Finding {
    let start = scene.span(Node::Stmt(select)).start;
    let span = Span::new(start, start + "select".len() as u32);
    let mut finding = scene.cx.finding(span, "waits on", message);
    finding.labels.push(Label {
        location: scene.cx.location(given),
        role: Role::Context,
        message: format!("the {what} that the caller gives"),
    });
    finding
}

/// The steps of a body that sleep for a long time, or for one that is not known.
fn sleeps(cx: &FunctionCx<'_>, read: &Read<'_>, body: BodyId) -> Vec<At> {
    let function = &read.function;
    let cfg = &function.body(body).cfg;
    let steps = cfg.steps().filter(|&step| {
        let call = slept_by(cx, function, cfg.step(step));
        call.is_some_and(|call| length(function, call).is_none_or(|length| length > SOON))
    });
    steps.map(|step| At { body, step }).collect()
}

/// The call that says how long a step sleeps, if it does: `time.Sleep(d)`, and `<-time.After(d)` with nothing
/// beside.
fn slept_by(cx: &FunctionCx<'_>, function: &Function<'_>, step: Step) -> Option<ExprId> {
    let known = |call: ExprId| facts(cx.catalog(), function.index, function.info.callee(call));
    match step {
        Step::Call(call) => {
            let blocking = known(call).in_force::<Blocking>(cx.versions());
            let sleeps = blocking.is_some_and(|blocking| {
                blocking.wait == catalog::Wait::Sleep && blocking.context.is_none()
            });
            sleeps.then_some(call)
        }
        Step::Recv(_) => {
            let timer = function.file.unparen(step.received_from(function.file)?);
            let ExprKind::Call { .. } = function.file.expr(timer).kind else { return None };
            let model = known(timer).in_force::<Model>(cx.versions());
            model.is_some_and(|model| model.op == Op::After).then_some(timer)
        }
        _ => None,
    }
}

/// How long a sleep is at most, as far as the constants say that it is made of: also a part of one,
/// as `rand.Float64()` makes it, or the value that a variable begins with. `None` if anything else
/// says how long.
fn length(function: &Function<'_>, call: ExprId) -> Option<i128> {
    let args = function.args(call);
    let mut open = vec![*args.first()?];
    let mut followed = Vec::new();
    let mut longest = None;
    while let Some(expr) = open.pop() {
        for used in values_in(function.file, expr) {
            if let Some(constant) = function.info.constant(used) {
                longest = longest.max(constant.as_int());
                continue;
            }
            match *function.info.resolve(used) {
                Def::Local(local) if followed.contains(&local) => {}
                Def::Local(local) if function.info.local(local).kind == LocalKind::Var => {
                    followed.push(local);
                    open.extend(assigned(function, local));
                }
                Def::Local(_) | Def::Field(_) | Def::External(_) => return None,
                Def::Global(object) if function.index.object(object).kind == ObjectKind::Var => {
                    return None;
                }
                _ => {}
            }
        }
    }
    longest
}

/// The expressions at or below one but for those that only say what is called.
fn values_in(file: &File, expr: ExprId) -> Vec<ExprId> {
    let mut values = Vec::new();
    let mut called = Vec::new();
    for node in file.descendants(Node::Expr(expr)) {
        let Node::Expr(expr) = node else { continue };
        match file.expr(expr).kind {
            _ if called.contains(&expr) => {
                if let ExprKind::Selector { base, .. } = file.expr(expr).kind {
                    called.push(base);
                }
                continue;
            }
            ExprKind::Call { callee, .. } => called.push(callee),
            _ => {}
        }
        values.push(expr);
    }
    values
}

/// What is assigned to a variable anywhere in the function.
fn assigned(function: &Function<'_>, local: LocalId) -> Vec<ExprId> {
    let file = function.file;
    let decl = function.index.func(function.id).decl;
    let is_it = |expr: &ExprId| matches!(function.info.resolve(*expr), Def::Local(other) if *other == local);
    let statements = file.descendants(Node::Decl(decl)).filter_map(|node| match node {
        Node::Stmt(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Assign { left, right, .. } | StmtKind::Define { left, right } => {
                left.iter().any(is_it).then_some(&right[..])
            }
            _ => None,
        },
        _ => None,
    });
    statements.flatten().copied().collect()
}

/// Where the function, or another of its type, learns that it is to end.
struct Told {
    channel: String,
    location: Location,
    label: &'static str,
}

/// A receive in a `select` of the same body, before or after the sleep, that learns of the end: also one that
/// does not wait, where the sleep is long.
fn told_elsewhere(cx: &FunctionCx<'_>, read: &Read<'_>, sleep: At) -> Option<Told> {
    let function = &read.function;
    let cfg = &function.body(sleep.body).cfg;
    let time = slept_by(cx, function, cfg.step(sleep.step))
        .and_then(|call| nanoseconds(function, *function.args(call).first()?));
    let is_long = time.is_some_and(|time| time > LONG);
    let mut effects = read.effects(sleep.body).effects.iter();
    effects.find_map(|effect| {
        let learns = (effect.act == Act::Received(Guard::Arms)
            || is_long && effect.act == Act::Received(Guard::Default))
            && is_told(function, effect)
            && !is_never_done(cx, function, effect)
            && cfg.reaches(sleep.step, effect.at.step)
            && leaves(function, effect, sleep);
        let step = function.step(effect.at);
        let channel = step.received_from(function.file).filter(|_| learns)?;
        (!may_be_nil(cx, function, channel)).then(|| Told {
            channel: function.text(channel),
            location: cx.location(step.span(function.file)),
            label: "here the function ends when it is told to",
        })
    })
}

/// Whether a function learns of the end of a context that it is given, and nobody in the run ends that.
fn is_never_done(cx: &FunctionCx<'_>, function: &Function<'_>, effect: &Effect) -> bool {
    let Root::Param(index) = effect.place.root else { return false };
    let info = &function.info;
    effect.place.path.len() == 1
        && info.param(None, index).is_some_and(|given| info.local(given).ty.is_context())
        && !endable::may_be_done(cx, index)
}

/// Whether the arm that receives does not come back to the sleep: a channel that only wakes the
/// function does not tell it to end.
fn leaves(function: &Function<'_>, effect: &Effect, sleep: At) -> bool {
    !function.body(sleep.body).cfg.reaches(effect.at.step, sleep.step)
}

/// A receive in a `select` of another method, from a channel of the receiver that is closed when
/// its value ends, if the sleep is in a goroutine of the value's own.
fn told_siblings(cx: &FunctionCx<'_>, sleep: At) -> Option<Told> {
    let receiver = cx.owner()?;
    if sleep.body != BodyId::OWN || !is_goroutine(cx) {
        return None;
    }
    let package = cx.index().package(receiver.package);
    let name = cx.index().object(receiver).name;
    let siblings = || package.methods(name).filter(|method| !serves_tests(cx.index(), method.id));
    let is_closed = |channel: &Place| {
        siblings().any(|method| {
            let summary = cx.summaries().of(method.id);
            summary.is_some_and(|summary| {
                let mut deeds = summary.deeds.iter();
                deeds.any(|deed| deed.act == Act::Closed && deed.place == *channel)
            })
        })
    };
    siblings().filter(|method| method.id != cx.func).find_map(|method| {
        let read = cx.summaries().read(method.id)?;
        let function = &read.function;
        function.bodies().find_map(|body| {
            let mut effects = read.effects(body).effects.iter();
            effects.find_map(|effect| {
                let learns = effect.act == Act::Received(Guard::Arms)
                    && effect.place.root == Root::Receiver
                    && !effect.place.path.is_empty()
                    && is_closed(&effect.place)
                    && ends_work(function, effect.at);
                let step = function.step(effect.at);
                let channel = step.received_from(function.file).filter(|_| learns)?;
                function.index.is_signal(function.info.type_of(channel)).then(|| Told {
                    channel: function.text(channel),
                    location: Location { file: function.file_id, span: step.span(function.file) },
                    label: "here another method looks at it",
                })
            })
        })
    })
}

/// Whether the function asks if a channel is there at all, so that it may sleep where it is not.
fn may_be_nil(cx: &FunctionCx<'_>, function: &Function<'_>, channel: ExprId) -> bool {
    let file = function.file;
    let name = function.text(channel);
    file.descendants(Node::Decl(cx.declared().decl)).any(|node| match node {
        Node::Expr(expr) => match file.expr(expr).kind {
            ExprKind::Binary { left, right, .. } => {
                let is_nil = |side| matches!(function.info.resolve(side), Def::Nil);
                is_nil(right) && function.text(left) == name
                    || is_nil(left) && function.text(right) == name
            }
            _ => false,
        },
        _ => false,
    })
}

/// Whether what comes after a receive is no loop any more: a channel that lets work begin is closed
/// too.
fn ends_work(function: &Function<'_>, received: At) -> bool {
    let cfg = &function.body(received.body).cfg;
    let goes_on = |step: &StepId| cfg.reaches(received.step, *step) && cfg.reaches(*step, *step);
    !cfg.steps().any(|step| goes_on(&step))
}

/// Whether the package runs the function as a goroutine.
fn is_goroutine(cx: &FunctionCx<'_>) -> bool {
    let package = cx.index().package(cx.func.package);
    package.funcs.iter().any(|func| {
        let file = cx.index().file_of(func.id);
        file.descendants(Node::Decl(func.decl)).any(|node| match node {
            Node::Stmt(stmt) => match file.stmt(stmt).kind {
                StmtKind::Go(call) => {
                    let body = cx.index().body(func.id);
                    let callee = body.callee(file.unparen(call));
                    matches!(callee, Callee::Func(callee) if *callee == cx.func)
                }
                _ => false,
            },
            _ => false,
        })
    })
}

/// Whether a channel is the `Done()` of a context that the function is given, or a stop channel
/// among its parameters.
fn is_told(function: &Function<'_>, effect: &Effect) -> bool {
    match (effect.place.root, &effect.place.path[..]) {
        (Root::Param(_) | Root::LiteralParam(..) | Root::Receiver, [.., last]) => {
            last.as_str() == "Done()"
        }
        (Root::Param(index), []) => function
            .info
            .param(None, index)
            .is_some_and(|given| function.index.is_signal(&function.info.local(given).ty)),
        _ => false,
    }
}

fn finding(cx: &FunctionCx<'_>, function: &Function<'_>, sleep: At, told: Told) -> Finding {
    let channel = told.channel;
    let message =
        format!("`{channel}` does not end this sleep, and the function goes on until it is over");
    let span = function.step(sleep).span(function.file);
    let mut finding = cx.finding(span, "sleeps on", message);
    // In a loop an interval or throttle is as long as somebody set it, and over before the next
    // turn; and what a function tells need not be long.
    let cfg = &function.body(sleep.body).cfg;
    let (is_set, is_result) = match slept_by(cx, function, cfg.step(sleep.step)) {
        Some(call) => (length(function, call).is_none(), is_result(function, call)),
        None => (true, false),
    };
    if is_set && (is_result || cfg.reaches(sleep.step, sleep.step)) {
        finding.confidence = Confidence::Low;
    }
    finding.labels.push(Label {
        location: told.location,
        role: Role::Context,
        message: told.label.to_owned(),
    });
    finding.why = format!(
        "nothing wakes a goroutine from a sleep: what waits for it to end after `{channel}` waits as long"
    );
    finding.help =
        format!("a `select` with `<-{channel}` and the channel of a timer instead of the sleep");
    finding
}

/// Whether the time that a call sleeps is the result of another call.
fn is_result(function: &Function<'_>, sleep: ExprId) -> bool {
    let args = function.args(sleep);
    args.first().is_some_and(|&time| {
        let time = function.file.unparen(time);
        matches!(function.file.expr(time).kind, ExprKind::Call { .. })
            && matches!(function.info.callee(time), Callee::Func(_) | Callee::Value(_))
    })
}
