//! A function that nobody in sight calls waits on a context that stands for one that has not been
//! decided on, where others of its kind are given theirs and hand it to the same callee.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Callee, Func, LocalKind};
use crate::rules::FunctionCx;
use crate::rules::context_not_propagated::{Fresh, callee_text, is_undecided, push_waits_at, why};
use crate::rules::scene::serves_tests;
use crate::source::Location;
use crate::summary::{At, Function, Read, Root};
use crate::syntax::{ExprId, Symbol};

/// Tells of it.
pub fn check(cx: &FunctionCx<'_>, read: &Read<'_>, fresh: &Fresh) -> Option<Finding> {
    let function = &read.function;
    let declared = cx.declared();
    let package = cx.index().package(cx.package.package);
    if !is_undecided(cx, function, fresh.made)
        || has_fixed_signature(declared)
        || !declared.name.is_exported()
        || package.name.as_str() == "main"
    {
        return None;
    }
    let sibling = given_one(cx, function, fresh)?;
    let name = declared.name;
    let made = function.text(fresh.made);
    let span = function.file.expr(fresh.made).span;
    let callee = callee_text(function, fresh.call);
    let message = format!(
        "`{name}` waits in `{callee}` on `{made}`, so nobody who calls it can end the wait, unlike \
         that of `{}`",
        sibling.name,
    );
    let mut finding = cx.finding(span, "nobody can cancel this", message);
    finding.confidence = fresh.evidence.confidence.min(Confidence::Medium);
    finding.defect = cx.index().name_of(cx.func);
    finding.labels.push(Label {
        location: sibling.location,
        role: Role::Context,
        message: format!("`{}` is given a context, and hands it on here", sibling.name),
    });
    push_waits_at(&mut finding, function, fresh);
    finding.why = why(&made);
    finding.help = format!("give `{name}` a parameter `ctx context.Context` and pass it");
    Some(finding)
}

/// Methods that an interface of the standard library asks for, without a context: those of `fmt.Stringer`,
/// `fmt.GoStringer`, `error`, `driver.Valuer`, `sql.Scanner`, and of `encoding` and `encoding/json`.
const FIXED: [&str; 11] = [
    "Error",
    "GoString",
    "MarshalBinary",
    "MarshalJSON",
    "MarshalText",
    "Scan",
    "String",
    "UnmarshalBinary",
    "UnmarshalJSON",
    "UnmarshalText",
    "Value",
];

/// Whether a function is a method that cannot be given a context and stay what it is.
fn has_fixed_signature(func: &Func) -> bool {
    func.receiver.is_some() && FIXED.contains(&func.name.as_str())
}

/// Where another function hands its own context to the callee that is given the fresh one.
struct Sibling {
    name: Symbol,
    location: Location,
}

/// The first function beside the one at hand (of the same type, or of none) that is given a context
/// and hands it to what the fresh one is given to.
fn given_one(cx: &FunctionCx<'_>, function: &Function<'_>, fresh: &Fresh) -> Option<Sibling> {
    let declared = cx.declared();
    let beside = |other: &&Func| {
        let owner = |func: &Func| func.receiver.map(|receiver| receiver.name);
        other.id != cx.func
            && other.name.is_exported()
            && owner(other) == owner(declared)
            && !serves_tests(cx.index(), other.id)
    };
    let funcs = &cx.index().package(cx.package.package).funcs;
    funcs.iter().filter(beside).find_map(|other| {
        let location =
            hands_on(cx, other, |other, call| same_callee((function, fresh.call), (other, call)))?;
        Some(Sibling { name: other.name, location })
    })
}

/// Where a function gives its parameter, a context, to one of these calls.
fn hands_on(
    cx: &FunctionCx<'_>,
    func: &Func,
    is_one: impl Fn(&Function<'_>, ExprId) -> bool,
) -> Option<Location> {
    let read = cx.summaries().read(func.id)?;
    let function = &read.function;
    let takes_one = function.info.locals().iter().any(|local| {
        local.owner.is_none() && matches!(local.kind, LocalKind::Param(_)) && local.ty.is_context()
    });
    if !takes_one {
        return None;
    }
    let hands_on = |at: At| {
        let Step::Call(call) = function.step(at) else { return None };
        let args = function.args(call);
        let own = |&arg: &ExprId| {
            function.info.type_of(arg).is_context()
                && cx
                    .summaries()
                    .context(function, at, arg)
                    .only()
                    .is_some_and(|place| matches!(place.root, Root::Param(_)))
        };
        let span = function.file.expr(call).span;
        (is_one(function, call) && args.iter().any(own))
            .then_some(Location { file: function.file_id, span })
    };
    function.bodies().find_map(|body| {
        let mut steps = function.body(body).cfg.steps();
        steps.find_map(|step| hands_on(At { body, step }))
    })
}

/// Whether two calls call the same function or method.
fn same_callee(one: (&Function<'_>, ExprId), other: (&Function<'_>, ExprId)) -> bool {
    let callee = |(function, call): (&Function<'_>, ExprId)| function.info.callee(call).clone();
    match (callee(one), callee(other)) {
        (Callee::Func(one), Callee::Func(other)) => one == other,
        (Callee::InterfaceMethod(one), Callee::InterfaceMethod(other)) => {
            one.name == other.name && one.owner.identical(&other.owner) == Some(true)
        }
        (Callee::External(one), Callee::External(other)) => one == other,
        _ => false,
    }
}
