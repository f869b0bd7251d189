//! A process that a function starts and waits for as long as it runs, where the package gives the same
//! program a bound on the time elsewhere, or runs it again and again.

use super::own_bound::call_in_package;
use crate::catalog::{Blocking, Carrier, Wait, When};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::QualifiedName;
use crate::rules::FunctionCx;
use crate::rules::recurrence::{self, Runs};
use crate::source::Location;
use crate::summary::{Act, At, Function, Place, Places, Read, Root, facts};
use crate::syntax::{ExprId, ExprKind, Node};

/// Fields by which a process is reached, or bounded: of the operating system's handle, and of what
/// waits for it.
const REACHED_BY: [&str; 4] = ["Process", "Cancel", "WaitDelay", "SysProcAttr"];

/// The waits of a function for processes that nothing ends.
pub(super) fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    // What it does with other arguments may be a matter of milliseconds.
    if !cx.package.doubtful {
        return Vec::new();
    }
    waits(cx, &read.function).iter().filter_map(|wait| tell(cx, read, wait)).collect()
}

/// A call that waits for a process.
struct Waiting<'a> {
    call: ExprId,
    fact: &'a Blocking,
    /// What stands for the process.
    process: Places,
}

fn waits<'a>(cx: &FunctionCx<'a>, function: &Function<'_>) -> Vec<Waiting<'a>> {
    let mut found = Vec::new();
    for (at, call) in function.calls() {
        let Some((base, _)) = function.file.method_call(call) else { continue };
        let known = facts(cx.catalog(), function.index, function.info.callee(call));
        let Some(fact) = known.in_force::<Blocking>(cx.versions()) else { continue };
        let by_receiver = matches!(fact.context, Some(Carrier::Receiver));
        let waits = fact.wait == Wait::Exec && fact.when == When::Call;
        if waits && (by_receiver || !fact.ended_by.is_empty()) {
            found.push(Waiting { call, fact, process: function.places(at, base) });
        }
    }
    found
}

fn tell(cx: &FunctionCx<'_>, read: &Read<'_>, wait: &Waiting<'_>) -> Option<Finding> {
    let function = &read.function;
    let process = wait.process.only()?;
    let Root::Call(made, 0) = process.root else { return None };
    if !process.path.is_empty() || is_reached_elsewhere(read, wait, process) {
        return None;
    }
    let known = facts(cx.catalog(), function.index, function.info.callee(made));
    let start = known.in_force::<Blocking>(cx.versions());
    let variant = match (start, &wait.fact.context) {
        // Made with a context, which may end it.
        (Some(start), Some(_)) if start.context.is_some() => return None,
        (Some(start), Some(_)) => start.variant.as_ref(),
        (None, Some(_)) => return None,
        (_, None) => None,
    };
    let program = program(function, made, 0);
    // Another variable of the same name says nothing, unless the type starts its own.
    let names_program = is_constant(function, made);
    let own_type = cx.owner();
    let bounded = variant.zip(program.as_deref()).and_then(|(variant, program)| {
        call_in_package(cx, &variant.name, &|cx, function| {
            let of_type = own_type.is_some() && cx.owner() == own_type;
            let mut calls = function.calls().filter(|_| names_program || of_type);
            let (_, call) = calls.find(|&(at, call)| {
                let name = function.info.callee(call).qualified(function.index);
                name.is_some_and(|name: QualifiedName| name.is(variant))
                    && self::program(function, call, 1).as_deref() == Some(program)
                    && has_deadline(cx, function, at, call)
            })?;
            Some(call)
        })
    });
    let why = match bounded {
        Some(location) => (location, "here it gets a bound on the time"),
        None => match recurrence::runs(&cx.package, cx.func) {
            Runs::Again(location, message) => (location, message),
            Runs::Once | Runs::Unknown => return None,
        },
    };
    Some(finding(cx, function, wait, made, why))
}

/// Whether the function, or code that it gives the process to, may end it.
fn is_reached_elsewhere(read: &Read<'_>, wait: &Waiting<'_>, process: &Place) -> bool {
    let function = &read.function;
    let ends = |act: Act| match act {
        Act::Method(name) => wait.fact.ended_by.iter().any(|end| **end == *name.as_str()),
        act => act.escapes(),
    };
    let is_field = |node: Node| {
        let Node::Expr(expr) = node else { return false };
        let ExprKind::Selector { name, .. } = function.file.expr(expr).kind else { return false };
        REACHED_BY.contains(&name.name.as_str())
    };
    let mut effects = function.bodies().flat_map(|body| &read.effects(body).effects);
    effects.any(|effect| effect.place.is_within(process) && ends(effect.act))
        || function
            .file
            .descendants(Node::Decl(function.index.func(function.id).decl))
            .any(is_field)
}

/// The program that a call starts, as the code writes it.
fn program(function: &Function<'_>, call: ExprId, index: usize) -> Option<String> {
    function.args(call).get(index).map(|&arg| function.text(arg))
}

/// Whether the code says which program a call starts.
fn is_constant(function: &Function<'_>, call: ExprId) -> bool {
    let program = function.args(call).first();
    program.is_some_and(|&program| function.info.constant(program).is_some())
}

fn has_deadline(cx: &FunctionCx<'_>, function: &Function<'_>, at: At, call: ExprId) -> bool {
    let args = function.args(call);
    let context = args.first().filter(|&&arg| function.info.type_of(arg).is_context());
    context.is_some_and(|&context| cx.summaries().context(function, at, context).deadline)
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    wait: &Waiting<'_>,
    made: ExprId,
    (location, message): (Location, &str),
) -> Finding {
    let callee = function.callee_text(wait.call);
    let told = format!("`{callee}` waits as long as the process runs: nothing ends it in time");
    let span = |call: ExprId| function.file.expr(call).span;
    let mut finding = cx.finding(span(wait.call), "waits without a bound", told);
    finding.confidence = Confidence::Low;
    finding.labels.push(Label {
        location: cx.location(span(made)),
        role: Role::Made,
        message: "the process has no context".to_owned(),
    });
    finding.labels.push(Label { location, role: Role::Context, message: message.to_owned() });
    finding.why =
        "a process that hangs keeps this goroutine, and the pipes and goroutines that copy \
                   its output"
            .to_owned();
    finding.help = "a context with a deadline, which kills the process".to_owned();
    finding
}
