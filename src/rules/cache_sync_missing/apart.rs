//! Two factories over one client in one body, of which only one is waited for.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::rules::FunctionCx;
use crate::rules::cache_sync_missing::{Call, What};
use crate::summary::{BodyId, Function, Place, Root};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol};

/// A wait for what one factory has started, while another that was made in the same way over the same
/// client was asked for informers too, and is not waited for.
pub(super) fn check(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    calls: &[Call],
) -> Option<Finding> {
    let made = |call: &Call| maker(function, &call.factory);
    let waits = |call: &&Call| matches!(call.what, What::Waits | What::WaitsFor(_));
    let awaited: Vec<ExprId> = calls.iter().filter(waits).filter_map(made).collect();
    calls.iter().filter(waits).find_map(|wait| {
        let first = made(wait)?;
        let cfg = &function.body(wait.at.body).cfg;
        let second = calls.iter().filter(|call| matches!(call.what, What::AsksFor(_))).find_map(
            |asked| {
                let second = made(asked)?;
                let apart = second != first
                    && !awaited.contains(&second)
                    && cfg.reaches(asked.at.step, wait.at.step)
                    && are_alike(function, first, second);
                apart.then_some(second)
            },
        )?;
        Some(finding(cx, function, wait, (first, second)))
    })
}

/// The call that made the factory in a place.
fn maker(function: &Function<'_>, place: &Place) -> Option<ExprId> {
    match seen_through(function, place.clone()).root {
        Root::Call(call, 0) => Some(call),
        _ => None,
    }
}

/// How many literals are looked through.
const MAX_LITERALS: u32 = 2;

/// The place of the value that a field of a literal was given, if nobody sets the field again.
fn seen_through(function: &Function<'_>, mut place: Place) -> Place {
    for _ in 0..MAX_LITERALS {
        let (Root::Made(literal), [field]) = (place.root, &place.path[..]) else { break };
        let given = function.file.field_of(literal, &|name| name == field.as_str());
        let Some(value) = given.filter(|_| !is_set(function, *field)) else { break };
        match function.places_in(BodyId::OWN, value).only() {
            Some(behind) => place = behind.clone(),
            None => break,
        }
    }
    place
}

/// Whether a field by this name is set in the function.
fn is_set(function: &Function<'_>, field: Symbol) -> bool {
    let file = function.file;
    file.descendants(Node::Decl(function.index.func(function.id).decl)).any(|node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Assign { left, .. } = &file.stmt(stmt).kind else { return false };
        left.iter().any(|&left| {
            let kind = &file.expr(file.unparen(left)).kind;
            matches!(kind, ExprKind::Selector { name, .. } if name.name == field)
        })
    })
}

/// Whether two calls make the same thing: the same function, the same client, and the same otherwise.
fn are_alike(function: &Function<'_>, first: ExprId, second: ExprId) -> bool {
    let callee = |call| function.info.callee(call).qualified(function.index);
    let client = |call: ExprId| {
        let place = function.object_places(function.at_call(call)?, *function.args(call).first()?);
        Some(seen_through(function, place.only()?.clone()))
    };
    let rest = |call: ExprId| -> Vec<String> {
        function.args(call).iter().skip(1).map(|&arg| function.text(arg)).collect()
    };
    callee(first).is_some_and(|callee_of_first| callee(second) == Some(callee_of_first))
        && client(first).is_some_and(|client_of_first| client(second) == Some(client_of_first))
        && rest(first) == rest(second)
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    wait: &Call,
    (awaited, other): (ExprId, ExprId),
) -> Finding {
    let span = function.file.expr(wait.call).span;
    let client =
        function.args(other).first().map_or(String::new(), |&client| function.text(client));
    let message = format!(
        "`{}` waits for the caches of one of two factories over `{client}`",
        function.callee_text(wait.call)
    );
    let mut finding = cx.finding(span, "waits for one of them only", message);
    finding.confidence = finding.confidence.min(Confidence::Medium);
    let mut label = |call: ExprId, message: &str| {
        finding.labels.push(Label {
            location: cx.location(function.file.expr(call).span),
            role: Role::Made,
            message: message.to_owned(),
        });
    };
    label(awaited, "the one that is waited for is made here");
    label(other, "the other one is made here, in the same way; nobody waits for it here");
    finding.why =
        "factories do not share what they know: each lists and watches for itself, so that the \
                   handlers of one are told of what the listers of the other do not know yet"
            .to_owned();
    finding.help = "one factory, and a wait for all that is asked of it".to_owned();
    finding.defect = cx.location(span);
    finding
}
