//! `wait-ignores-context`: a sleep in a function that elsewhere waits for being told to end.
//!
//! The evidence is the function's own: the same body has a `select` that looks at a context or
//! stop channel, so whoever wrote it meant it to end when told, and the sleep cannot.

use crate::catalog;
use crate::diagnostic::{Finding, Label, Role};
use crate::index::{LocalKind, Type};
use crate::rules::{Check, FunctionCx, Rule, held};
use crate::summary::{Act, At, BodyId, Effect, Function, Guard, Read, Root, What};
use crate::syntax::{ExprId, ExprKind};

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/wait-ignores-context.md"),
    check: Check::Function(check),
};

/// Sleeps of a constant time up to this long, in nanoseconds, are over soon enough.
const SOON: i128 = 5_000_000_000;

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if held::runs_process_or_test(cx) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for body in read.function.bodies() {
        for at in sleeps(&read, body) {
            if let Some(told) = told_elsewhere(&read, at) {
                findings.extend(finding(cx, &read.function, at, told));
            }
        }
    }
}

/// The steps of a body that sleep for a long time, or for one that is not known.
fn sleeps(read: &Read<'_>, body: BodyId) -> Vec<At> {
    let function = &read.function;
    let long = |at: &At| {
        let call = function.step(*at).call(function.file);
        call.and_then(|call| length(function, call)).is_none_or(|length| length > SOON)
    };
    let waits = read.waits(body).iter().filter(|(_, wait)| {
        wait.what == What::Library(catalog::Wait::Sleep) && wait.hops.is_empty()
    });
    waits.map(|&(at, _)| at).filter(long).collect()
}

fn length(function: &Function<'_>, call: ExprId) -> Option<i128> {
    let ExprKind::Call { ref args, .. } = function.file.expr(call).kind else { return None };
    function.info.constant(*args.first()?)?.as_int()
}

/// A receive in a `select` of the same body, before or after the sleep, that learns of the end.
fn told_elsewhere<'r>(read: &'r Read<'_>, sleep: At) -> Option<&'r Effect> {
    let function = &read.function;
    let cfg = &function.body(sleep.body).cfg;
    read.effects(sleep.body).effects.iter().find(|effect| {
        effect.act == Act::Received(Guard::Arms)
            && function.step(effect.at).received_from(function.file).is_some()
            && is_told(function, effect)
            && cfg.reaches(sleep.step, effect.at.step)
    })
}

/// Whether a channel is the `Done()` of a context that the function is given, or a stop channel
/// among its parameters.
fn is_told(function: &Function<'_>, effect: &Effect) -> bool {
    match (effect.place.root, &effect.place.path[..]) {
        (Root::Param(_) | Root::LiteralParam(..) | Root::Receiver, [.., last]) => {
            last.as_str() == "Done()"
        }
        (Root::Param(index), []) => function.info.locals().iter().any(|local| {
            local.kind == LocalKind::Param(index)
                && local.owner.is_none()
                && match function.index.underlying(&local.ty) {
                    Type::Chan(_, element) => matches!(
                        function.index.underlying(&element),
                        Type::Struct(fields) if fields.fields.is_empty()
                    ),
                    _ => false,
                }
        }),
        _ => false,
    }
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    sleep: At,
    told: &Effect,
) -> Option<Finding> {
    let file = function.file;
    let step = function.step(sleep);
    let receive = function.step(told.at);
    let channel = function.text(receive.received_from(file)?);
    let message =
        format!("`{channel}` does not end this sleep, and the function goes on until it is over",);
    let mut finding = cx.finding(step.span(file), "sleeps on", message);
    finding.labels.push(Label {
        location: cx.location(receive.span(file)),
        role: Role::Context,
        message: "here the function ends when it is told to".to_owned(),
    });
    finding.why = format!(
        "nothing wakes a goroutine from `time.Sleep`: what waits for it to end after `{channel}` \
         waits as long"
    );
    finding.help =
        format!("a `select` with `<-{channel}` and the channel of a timer instead of the sleep");
    Some(finding)
}
