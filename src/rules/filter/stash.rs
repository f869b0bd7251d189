//! Whether a filter puts its response writer into the request's context.

use crate::catalog::Part;
use crate::flow::Step;
use crate::index::{LocalId, Type, TypeDecl};
use crate::rules::FunctionCx;
use crate::rules::handoff::variable;
use crate::source::Location;
use crate::summary::{Act, At, BodyId, Function, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind, Symbol};

/// Where a filter puts its writer away.
#[derive(Clone, Copy, Debug)]
pub struct Stash {
    /// Where it becomes a part of the context; `None` for a library's filter.
    pub at: Option<Location>,
    /// Where it is used later.
    pub used: Option<Location>,
}

/// Where the body puts its writer into a context: itself, or as a field of something whose methods
/// write the response.
pub(super) fn find(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    body: BodyId,
    writer: LocalId,
) -> Option<Stash> {
    let function = &read.function;
    let cfg = &function.body(body).cfg;
    cfg.steps().find_map(|step| {
        let at = At { body, step };
        let Step::Call(call) = cfg.step(step) else { return None };
        let ExprKind::Call { args, .. } = &function.file.expr(call).kind else { return None };
        if !gives_context(function.info.type_of(call)) {
            return None;
        }
        let used = args.iter().find_map(|&arg| stashed(cx, function, at, arg, writer))?;
        Some(Stash { at: Some(cx.location(function.file.expr(call).span)), used })
    })
}

pub(super) fn gives_context(ty: &Type) -> bool {
    match ty {
        Type::Tuple(results) => results.iter().any(Type::is_context),
        other => other.is_context(),
    }
}

/// Whether an argument is the writer, or holds it and writes through it later: then where.
fn stashed(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    arg: ExprId,
    writer: LocalId,
) -> Option<Option<Location>> {
    if variable(function, arg) == Some(writer) {
        return Some(None);
    }
    let own = function.places_of_local(at, writer).only()?.clone();
    for place in function.places(at, arg).list {
        let (ty, field) = match place.root {
            Root::Made(made) => (function.info.type_of(made), holds(function, at, made, &own)?),
            Root::Call(call, 0) => {
                let ExprKind::Call { args, .. } = &function.file.expr(call).kind else { continue };
                let given = args.iter().any(|&arg| variable(function, arg) == Some(writer));
                if !given {
                    continue;
                }
                (function.info.type_of(call), None)
            }
            _ => continue,
        };
        if let Some(used) = writes_through(cx, ty, field) {
            return Some(Some(used));
        }
    }
    None
}

/// The field of a composite literal that holds the writer; `None` within if it has no name.
fn holds(function: &Function<'_>, at: At, made: ExprId, writer: &Place) -> Option<Option<Symbol>> {
    let ExprKind::CompositeLit { elements, .. } = &function.file.expr(made).kind else {
        return None;
    };
    elements.iter().find_map(|element| {
        if !function.places(at, element.value).may_be(writer) {
            return None;
        }
        Some(element.key.and_then(|key| match function.file.expr(key).kind {
            ExprKind::Ident(name) => Some(name),
            _ => None,
        }))
    })
}

/// The methods of response writers: that a writer has a writer below says nothing of who calls it.
const OF_WRITERS: [&str; 9] = [
    "Header",
    "Write",
    "WriteHeader",
    "WriteString",
    "Flush",
    "FlushError",
    "Hijack",
    "Push",
    "ReadFrom",
];

/// Where a method of the type, other than those that make it a response writer itself, writes a
/// response through a field of it.
fn writes_through(cx: &FunctionCx<'_>, ty: &Type, field: Option<Symbol>) -> Option<Location> {
    let named = ty.named()?;
    let TypeDecl::Global(object) = named.decl else { return None };
    let methods = cx.index().package(object.package).methods(named.name);
    let others = methods.filter(|method| !OF_WRITERS.contains(&method.name.as_str()));
    others.into_iter().find_map(|method| {
        let read = cx.summaries().read(method.id)?;
        let function = &read.function;
        function.bodies().find_map(|body| {
            read.effects(body).effects.iter().find_map(|effect| {
                let through = effect.place.root == Root::Receiver
                    && match (effect.place.path.first(), field) {
                        (Some(first), Some(field)) => *first == field,
                        (first, None) => first.is_some(),
                        _ => false,
                    };
                let writes =
                    matches!(effect.act, Act::Touched(Part::Response | Part::ResponseHeader, _));
                let span = function.step(effect.at).span(function.file);
                (through && writes).then_some(Location { file: function.file_id, span })
            })
        })
    })
}
