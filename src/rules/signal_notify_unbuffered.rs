//! `signal-notify-unbuffered`: a channel without a buffer is registered for signals, which are
//! sent without waiting.

use crate::catalog::{Base, End, Resource};
use crate::diagnostic::{Edit, Finding, Fix, Label, Role, Safety};
use crate::flow::Step;
use crate::index::{BodyInfo, Builtin, Callee};
use crate::rules::scene::holds_any;
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Span;
use crate::summary::{At, Function, Root, facts};
use crate::syntax::{ExprId, ExprKind, File, Node};

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/signal-notify-unbuffered.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["make("]) {
        return;
    }
    let body = cx.body();
    let (file, info): (&File, &BodyInfo) = (cx.file(), &body);
    let registers = |node| match node {
        Node::Expr(call) => registered(cx, file, info, call).is_some(),
        _ => false,
    };
    if !file.descendants(Node::Decl(cx.declared().decl)).any(registers) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let function = &read.function;
    for body in function.bodies() {
        let cfg = &function.body(body).cfg;
        for step in cfg.steps() {
            let Step::Call(call) = cfg.step(step) else { continue };
            let Some(channel) = registered(cx, file, info, call) else { continue };
            let channel = function.file.unparen(channel);
            let places = function.places(At { body, step }, channel);
            let Some(Root::Made(made)) = places.only().map(|place| place.root) else { continue };
            // A channel made in the call itself is received by nobody: the signals are to be lost.
            if channel != made && is_unbuffered(function, made) {
                findings.push(unbuffered(cx, function, call, channel, made));
            }
        }
    }
}

/// The channel that a call registers for signals: what the catalog calls a signal channel.
fn registered(cx: &FunctionCx<'_>, file: &File, info: &BodyInfo, call: ExprId) -> Option<ExprId> {
    let ExprKind::Call { args, .. } = &file.expr(call).kind else { return None };
    let known = facts(cx.catalog(), cx.index(), info.callee(call));
    let is_function = |end: &End| matches!(end, End::Function(_));
    let fact = known
        .all_in_force::<Resource>(cx.versions())
        .find(|fact| &*fact.what == "signal channel" && fact.ends.iter().all(is_function))?;
    let Base::Param(index) = fact.place.base else { return None };
    args.get(index as usize).copied()
}

/// Whether `made` is `make(chan T)`, or has a capacity of 0.
fn is_unbuffered(function: &Function<'_>, made: ExprId) -> bool {
    if !matches!(function.info.callee(made), Callee::Builtin(Builtin::Make)) {
        return false;
    }
    match &function.file.expr(made).kind {
        ExprKind::Call { args, .. } => match args[..] {
            [_] => true,
            [_, capacity] => {
                function.info.constant(capacity).and_then(|value| value.as_int()) == Some(0)
            }
            _ => false,
        },
        _ => false,
    }
}

fn unbuffered(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    channel: ExprId,
    made: ExprId,
) -> Finding {
    let file = function.file;
    let name = function.text(channel);
    let made_span = file.expr(made).span;
    let message = format!(
        "`{name}` has no buffer, so a signal that comes while nobody receives from it is lost"
    );
    let mut finding = cx.finding(file.expr(call).span, "sends without waiting", message);
    finding.labels.push(Label {
        location: cx.location(made_span),
        role: Role::Made,
        message: "made without a buffer".to_owned(),
    });
    finding.why =
        "package `os/signal` never waits for a receiver: what cannot be sent at once is dropped"
            .to_owned();
    finding.help = "give the channel a buffer of one".to_owned();
    finding.defect = cx.location(made_span);
    if let ExprKind::Call { args, .. } = &file.expr(made).kind
        && let [element] = args[..]
    {
        let end = file.expr(element).span.end;
        let edit =
            Edit { location: cx.location(Span::new(end, end)), replacement: ", 1".to_owned() };
        finding.fixes.push(Fix {
            message: "give the channel a buffer of one".to_owned(),
            safety: Safety::Safe,
            edits: vec![edit],
        });
    }
    finding
}
