//! What a request that is given on shares with the request that a function was given: all, the
//! header map, or nothing.
//!
//! What makes a copy, and how deep it goes, is the catalog's.

use crate::catalog::{Copying, Depth, TypeRole};
use crate::index::{Callee, LocalId, LocalKind};
use crate::rules::FunctionCx;
use crate::rules::handoff::{has_role, is_any_handlers, is_handler, variable};
use crate::summary::{self, Function, Source, Spawn};
use crate::syntax::{ExprId, ExprKind, Node};

/// How much of the caller's request another side holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharing {
    /// The request itself.
    Same,
    /// A copy with the same header map.
    Shallow,
}

/// The inner handler's call in a goroutine, with the request of the function around it.
pub struct Handoff {
    /// The call.
    pub call: ExprId,
    /// The argument that is the request.
    pub request: ExprId,
    /// The filter's parameter that it comes from.
    pub parameter: LocalId,
    /// What the two share.
    pub sharing: Sharing,
}

/// The call of a handler with the filter's own request, anywhere in the goroutine.
pub fn served(cx: &FunctionCx<'_>, function: &Function<'_>, spawn: &Spawn) -> Option<Handoff> {
    let file = function.file;
    // The request of a client has no filters around it that go on when it is answered.
    if cx.declared().name.as_str() == "RoundTrip" {
        return None;
    }
    for node in file.descendants(Node::Expr(spawn.call)) {
        let Node::Expr(call) = node else { continue };
        let ExprKind::Call { callee, args, .. } = &file.expr(call).kind else { continue };
        let [_, request] = args[..] else { continue };
        let serves = match function.info.callee(call) {
            // What the method of a type does with the request is known only of the run's own.
            Callee::Func(func) => {
                cx.summaries().of(*func).is_some() || is_any_handlers(cx, function, *callee)
            }
            Callee::External(_) => is_any_handlers(cx, function, *callee),
            Callee::Unknown { .. } => false,
            _ => true,
        };
        if !serves || !is_handler(cx, function, call) {
            continue;
        }
        if let Some((parameter, sharing)) = callers_request(cx, function, request)
            && is_of_filter(function, spawn, parameter)
        {
            return Some(Handoff { call, request, parameter, sharing });
        }
    }
    None
}

/// Whether a parameter is that of a function around the `go` statement, or of the literal that it starts: one
/// of a literal inside is given its own by whoever calls it.
fn is_of_filter(function: &Function<'_>, spawn: &Spawn, parameter: LocalId) -> bool {
    let file = function.file;
    let Some(owner) = function.info.local(parameter).owner else { return true };
    let is_started = matches!(file.expr(spawn.call).kind,
        ExprKind::Call { callee, .. } if file.unparen(callee) == owner);
    is_started
        || function.enclosing(spawn.at.body).any(|body| function.body(body).literal == Some(owner))
}

/// How many variables are followed from a request to the parameter that it comes from.
const MAX_VARIABLES: usize = 4;

/// The parameter that a request comes from, if all that it can be is the caller's request: what
/// was given, or what a function made of it that is not known to copy the header map.
pub fn callers_request(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    request: ExprId,
) -> Option<(LocalId, Sharing)> {
    let (mut local, mut sharing) = made_of(cx, function, request)?;
    for _ in 0..MAX_VARIABLES {
        let is_parameter = matches!(function.info.local(local).kind, LocalKind::Param(_));
        let mut before = None;
        for definition in function.definitions_of(local) {
            let (from, how) = match definition.source {
                Source::Given => continue,
                Source::Expr(value) | Source::Result(value, _) => made_of(cx, function, value)?,
                _ => return None,
            };
            sharing = sharing.max(how);
            if from != local && before.replace(from).is_some_and(|other| other != from) {
                return None;
            }
        }
        match before {
            None if is_parameter => return Some((local, sharing)),
            Some(from) if !is_parameter => local = from,
            _ => return None,
        }
    }
    None
}

/// The variable whose request `value` is, or is made of, and what the two share.
fn made_of(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    value: ExprId,
) -> Option<(LocalId, Sharing)> {
    let file = function.file;
    let value = file.unparen(value);
    let ExprKind::Call { callee, args, .. } = &file.expr(value).kind else {
        return Some((variable(function, value)?, Sharing::Same));
    };
    let facts = summary::facts(cx.catalog(), function.index, function.info.callee(value));
    if let Some(copying) = facts.in_force::<Copying>(cx.versions()) {
        let ExprKind::Selector { base, .. } = file.expr(file.unparen(*callee)).kind else {
            return None;
        };
        return match copying.depth {
            Depth::Shallow => Some((variable(function, base)?, Sharing::Shallow)),
            Depth::Deep | Depth::Detached => None,
        };
    }
    let mut requests = args
        .iter()
        .filter_map(|&arg| variable(function, arg))
        .filter(|&local| has_role(cx, &function.info.local(local).ty, TypeRole::Request));
    Some((requests.next_back()?, Sharing::Same))
}

/// Whether a request is a copy with a header map of its own, made where it stands or in the only
/// value of a variable.
pub fn is_deep_copy(cx: &FunctionCx<'_>, function: &Function<'_>, request: ExprId) -> bool {
    let copies = |value: ExprId| {
        let callee = function.info.callee(function.file.unparen(value));
        let facts = summary::facts(cx.catalog(), function.index, callee);
        let copying = facts.in_force::<Copying>(cx.versions());
        copying.is_some_and(|copying| copying.depth == Depth::Deep)
    };
    match variable(function, request) {
        Some(local) => function.definitions_of(local).any(|definition| {
            matches!(definition.source, Source::Expr(value) | Source::Result(value, _)
                if copies(value))
        }),
        None => copies(request),
    }
}
