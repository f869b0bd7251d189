//! What a filter does with the request and the response that it is given: a filter is a function
//! from handler to handler, and is judged by the body of the handler that it returns, never by its
//! name.

use crate::catalog::{Filter, Part, Share, TypeRole};
use crate::flow::Step;
use crate::index::{Callee, Def, FuncId, LocalId, LocalKind, Type, TypeDecl};
use crate::rules::FunctionCx;
use crate::rules::handoff::{has_role, is_left_behind, runs_handler, variable};
use crate::source::Location;
use crate::summary::{self, Act, At, BodyId, Function, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind, Symbol};

/// What is known of a filter.
#[derive(Clone, Debug, Default)]
pub struct FilterFacts {
    /// It runs the inner handler in a goroutine, and may leave before that has finished.
    pub hands_off: Option<HandsOff>,
    /// It puts its response writer where the inner side can reach it by the request's context.
    pub stashes: Option<Stash>,
}

/// Where a filter hands off.
#[derive(Clone, Copy, Debug)]
pub struct HandsOff {
    /// The goroutine; `None` for a library's filter.
    pub at: Option<Location>,
}

/// Where a filter puts its writer away.
#[derive(Clone, Copy, Debug)]
pub struct Stash {
    /// Where it becomes a part of the context; `None` for a library's filter.
    pub at: Option<Location>,
    /// Where it is used later.
    pub used: Option<Location>,
}

/// How many functions are followed from a filter to the handler that it returns.
const MAX_DEPTH: u32 = 4;

/// What the filter that a call makes does.
pub fn of_call(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> FilterFacts {
    let callee = function.info.callee(call);
    let facts = summary::facts(cx.catalog(), function.index, callee);
    if let Some(filter) = facts.in_force::<Filter>(cx.versions()) {
        return FilterFacts {
            hands_off: filter.hands_off.then_some(HandsOff { at: None }),
            stashes: (filter.writer == Share::Stashed).then_some(Stash { at: None, used: None }),
        };
    }
    match callee {
        Callee::Func(func) => of_function(cx, *func, MAX_DEPTH),
        _ => FilterFacts::default(),
    }
}

/// What the filter does that a function makes.
fn of_function(cx: &FunctionCx<'_>, func: FuncId, depth: u32) -> FilterFacts {
    let mut known = FilterFacts::default();
    let Some(rest) = depth.checked_sub(1) else { return known };
    let Some(read) = cx.summaries().read(func) else { return known };
    let function = &read.function;
    let own = FunctionCx { func, ..*cx };
    for effect in &read.effects(BodyId::OWN).effects {
        let Act::Returned(0) = effect.act else { continue };
        let found = match effect.place.root {
            Root::Made(made) if effect.place.path.is_empty() => {
                match function.body_of_literal(made) {
                    Some(body) => of_body(&own, &read, body),
                    None => of_type(&own, function.info.type_of(made), rest),
                }
            }
            Root::Call(call, 0) if effect.place.path.is_empty() => {
                match function.info.callee(call) {
                    Callee::Func(inner) => of_function(&own, *inner, rest),
                    _ => FilterFacts::default(),
                }
            }
            _ => FilterFacts::default(),
        };
        known.hands_off = known.hands_off.or(found.hands_off);
        known.stashes = known.stashes.or(found.stashes);
    }
    known
}

/// What a type does whose values are handlers.
fn of_type(cx: &FunctionCx<'_>, ty: &Type, depth: u32) -> FilterFacts {
    let path = cx.index().package(cx.func.package).path;
    let pointer = ty.strip_pointer().clone().pointer();
    let method = cx.index().lookup(&pointer, Symbol::new("ServeHTTP"), path);
    let (Def::Method(func, _), true) = (method, depth > 0) else { return FilterFacts::default() };
    match cx.summaries().read(func) {
        Some(read) => of_body(&FunctionCx { func, ..*cx }, &read, BodyId::OWN),
        None => FilterFacts::default(),
    }
}

/// What the body of a handler does.
fn of_body(cx: &FunctionCx<'_>, read: &Read<'_>, body: BodyId) -> FilterFacts {
    let function = &read.function;
    let hands_off = read
        .effects(body)
        .spawns
        .iter()
        .find(|spawn| is_left_behind(read, spawn) && runs_handler(cx, function, spawn))
        .map(|spawn| HandsOff {
            at: Some(cx.location(function.step(spawn.at).span(function.file))),
        });
    FilterFacts { hands_off, stashes: stash(cx, read, body) }
}

/// Where the body puts its writer into a context: itself, or as a field of something whose methods
/// write the response.
fn stash(cx: &FunctionCx<'_>, read: &Read<'_>, body: BodyId) -> Option<Stash> {
    let function = &read.function;
    let writer = writer_of(cx, function, body)?;
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

/// The parameter of a body that is the response writer.
fn writer_of(cx: &FunctionCx<'_>, function: &Function<'_>, body: BodyId) -> Option<LocalId> {
    let literal = function.body(body).literal;
    let found = function.info.locals().iter().position(|local| {
        local.owner == literal
            && matches!(local.kind, LocalKind::Param(_))
            && has_role(cx, &local.ty, TypeRole::ResponseWriter)
    })?;
    Some(LocalId(found as u32))
}

fn gives_context(ty: &Type) -> bool {
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

/// The calls of filters that an expression is made of, innermost first, and the variable that the
/// innermost one is given.
pub fn unfold(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    expr: ExprId,
) -> (Option<LocalId>, Vec<ExprId>) {
    let mut calls = Vec::new();
    let mut inner = function.file.unparen(expr);
    loop {
        if let Some(local) = variable(function, inner) {
            calls.reverse();
            return (Some(local), calls);
        }
        let next = match &function.file.expr(inner).kind {
            ExprKind::Call { args, .. } => {
                if !is_conversion(function, inner) {
                    calls.push(inner);
                }
                args.iter().copied().find(|&arg| is_handler_value(cx, function, arg))
            }
            _ => None,
        };
        let Some(next) = next else { break };
        inner = function.file.unparen(next);
    }
    calls.reverse();
    (None, calls)
}

fn is_conversion(function: &Function<'_>, call: ExprId) -> bool {
    matches!(function.info.callee(call), Callee::Conversion(_))
}

/// Whether the value of an expression is a handler.
pub fn is_handler_value(cx: &FunctionCx<'_>, function: &Function<'_>, expr: ExprId) -> bool {
    has_role(cx, function.info.type_of(expr), TypeRole::Handler)
}
