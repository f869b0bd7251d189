//! Lists of filters that are applied one after the other: the arguments of `Chain(h, f, g)`, what
//! is put into a slice that a loop goes over, and what alice and its like take.

use crate::catalog::{Base, Chain as Registers, Order, TypeRole};
use crate::flow::Step;
use crate::index::{Builtin, Callee, Def, FuncId, LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::handoff::{has_role, variable};
use crate::summary::{self, At, Function, Source};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, Parents, StmtKind};

use super::{Link, MAX_LINKS};

/// The filters that a call applies to a handler, innermost first, if it takes them from a list.
pub(super) fn applied(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    call: ExprId,
    depth: u32,
) -> Option<Vec<Link>> {
    let depth = depth.checked_sub(1)?;
    let file = function.file;
    let ExprKind::Call { callee, args, .. } = &file.expr(call).kind else { return None };
    match function.info.callee(call) {
        // `m(h)`, where `m` comes from a slice.
        Callee::Value(value) => {
            let value = file.unparen(*value);
            if let Some((slice, order)) = taken_from(function, value) {
                return ordered(of_slice(cx, function, at, slice, depth)?, order);
            }
            // `Chain(f, g)(h)`.
            let ExprKind::Call { args, spread, .. } = &file.expr(value).kind else { return None };
            let Callee::Func(func) = function.info.callee(value) else { return None };
            let (param, order) = applies(cx, *func)?;
            ordered(of_args(cx, function, at, args, param, *spread, depth)?, order)
        }
        // `Chain(h, f, g)`.
        Callee::Func(func) if cx.summaries().of(*func).is_some() => {
            let ExprKind::Call { spread, .. } = file.expr(call).kind else { return None };
            let (param, order) = applies(cx, *func)?;
            ordered(of_args(cx, function, at, args, param, spread, depth)?, order)
        }
        // `alice.New(f, g).Then(h)`.
        _ => {
            let ExprKind::Selector { base, .. } = file.expr(file.unparen(*callee)).kind else {
                return None;
            };
            collected(cx, function, at, base, depth)
        }
    }
}

/// In the order from the inside out; nothing that is not known is left out of a list.
fn ordered(mut links: Vec<Link>, order: Order) -> Option<Vec<Link>> {
    if order == Order::OutermostFirst {
        links.reverse();
    }
    (!links.is_empty()).then_some(links)
}

/// The filters that a value holds which the catalog knows to collect them, innermost first.
fn collected(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    value: ExprId,
    depth: u32,
) -> Option<Vec<Link>> {
    let depth = depth.checked_sub(1)?;
    let file = function.file;
    let mut value = file.unparen(value);
    if let Some(local) = variable(function, value) {
        value = only_value(function, local)?;
    }
    let ExprKind::Call { callee, args, spread } = &file.expr(value).kind else { return None };
    let facts = summary::facts(cx.catalog(), function.index, function.info.callee(value));
    let registers = facts.in_force::<Registers>(cx.versions())?;
    let Base::Param(param) = registers.middleware.base else { return None };
    let added = of_args(cx, function, at, args, param, *spread, depth)?;
    let mut links = ordered(added, registers.order)?;
    if let ExprKind::Selector { base, .. } = file.expr(file.unparen(*callee)).kind
        && let Some(before) = collected(cx, function, at, base, depth)
    {
        match registers.order {
            Order::OutermostFirst => links.extend(before),
            Order::InnermostFirst => {
                links.splice(0..0, before);
            }
        }
    }
    Some(links)
}

/// The only value that is ever assigned to a variable.
fn only_value(function: &Function<'_>, local: LocalId) -> Option<ExprId> {
    match function.only_definition_of(local)?.source {
        Source::Expr(value) => Some(function.file.unparen(value)),
        _ => None,
    }
}

/// The filters that arguments from `param` on are.
fn of_args(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    args: &[ExprId],
    param: u32,
    spread: bool,
    depth: u32,
) -> Option<Vec<Link>> {
    let args = args.get(param as usize..)?;
    match args {
        [slice] if spread => of_slice(cx, function, at, *slice, depth),
        _ => Some(args.iter().map(|&arg| Link::new(cx, function, at, arg)).collect()),
    }
}

/// The filters that a slice holds, in order: those that it is made with, and those that are
/// appended. `None` if there may be others.
pub(super) fn of_slice(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    slice: ExprId,
    depth: u32,
) -> Option<Vec<Link>> {
    let depth = depth.checked_sub(1)?;
    let file = function.file;
    let slice = file.unparen(slice);
    if let Some(local) = variable(function, slice) {
        let mut definitions: Vec<(At, ExprId)> = Vec::new();
        for definition in function.definitions_of(local) {
            match (definition.source, definition.at) {
                (Source::Zero, _) => {}
                (Source::Expr(value), Some(at)) => definitions.push((at, value)),
                _ => return None,
            }
        }
        definitions.sort_by_key(|&(_, value)| file.expr(value).span.start);
        let mut links: Vec<Link> = Vec::new();
        for (made, value) in definitions {
            let cfg = &function.body(made.body).cfg;
            let left_out = made.body != at.body || !cfg.dominates(made.step, at.step);
            let (base, added) = match &file.expr(file.unparen(value)).kind {
                ExprKind::Call { args, spread: false, .. } if appends(function, value) => {
                    let (base, added) = args.split_first()?;
                    (variable(function, *base), added.to_vec())
                }
                ExprKind::CompositeLit { elements, .. } => {
                    (None, elements.iter().map(|element| element.value).collect())
                }
                ExprKind::Call { .. } if makes(function, value) => (None, Vec::new()),
                _ => return None,
            };
            if base.is_some_and(|base| base != local) {
                return None;
            }
            // A slice that is made anew holds nothing of what was before.
            if base.is_none() && !links.is_empty() {
                return None;
            }
            for value in added {
                let mut link = Link::new(cx, function, made, value);
                link.conditional = left_out;
                links.push(link);
            }
        }
        return (links.len() <= MAX_LINKS).then_some(links);
    }
    match &file.expr(slice).kind {
        ExprKind::CompositeLit { elements, .. } => {
            Some(elements.iter().map(|each| Link::new(cx, function, at, each.value)).collect())
        }
        ExprKind::Call { args, spread: false, .. } if appends(function, slice) => {
            let (base, added) = args.split_first()?;
            let mut links = of_slice(cx, function, at, *base, depth)?;
            links.extend(added.iter().map(|&value| Link::new(cx, function, at, value)));
            Some(links)
        }
        _ => None,
    }
}

fn appends(function: &Function<'_>, call: ExprId) -> bool {
    let callee = function.info.callee(function.file.unparen(call));
    matches!(callee, Callee::Builtin(Builtin::Append))
}

fn makes(function: &Function<'_>, call: ExprId) -> bool {
    let callee = function.info.callee(function.file.unparen(call));
    matches!(callee, Callee::Builtin(Builtin::Make))
}

/// The parameter with the filters that a function applies in a loop, and in which order.
fn applies(cx: &FunctionCx<'_>, func: FuncId) -> Option<(u32, Order)> {
    let read = cx.summaries().read(func)?;
    let function = &read.function;
    let cx = FunctionCx { func, ..*cx };
    let is_filters = |local: LocalId| {
        let local = function.info.local(local);
        let element = match &local.ty {
            Type::Slice(element) => (**element).clone(),
            ty => match function.index.underlying(ty) {
                Type::Slice(element) => (*element).clone(),
                _ => return false,
            },
        };
        makes_handlers(&cx, function, &element)
    };
    for body in function.bodies() {
        let cfg = &function.body(body).cfg;
        for step in cfg.steps() {
            let Step::Call(call) = cfg.step(step) else { continue };
            let Callee::Value(value) = function.info.callee(call) else { continue };
            let value = function.file.unparen(*value);
            let Some((slice, order)) = taken_from(function, value) else { continue };
            let Some(local) = variable(function, slice) else { continue };
            let kind = function.info.local(local).kind;
            if let (LocalKind::Param(index), None) = (kind, function.info.local(local).owner)
                && is_filters(local)
            {
                return Some((index, order));
            }
        }
    }
    None
}

/// Whether values of a type are functions from handler to handler.
pub(super) fn makes_handlers(cx: &FunctionCx<'_>, function: &Function<'_>, ty: &Type) -> bool {
    let Type::Func(signature) = function.index.underlying(ty) else { return false };
    matches!((&signature.params[..], &signature.results[..]), ([given], [made])
        if has_role(cx, given, TypeRole::Handler) && has_role(cx, made, TypeRole::Handler))
}

/// Whether a function value is taken from a slice in a loop.
pub(super) fn is_taken(function: &Function<'_>, value: ExprId) -> bool {
    taken_from(function, function.file.unparen(value)).is_some()
}

/// The slice that a function value is taken from in a loop, and what the first one in it becomes
/// when each is given the handler so far.
pub(super) fn taken_from(function: &Function<'_>, value: ExprId) -> Option<(ExprId, Order)> {
    let file = function.file;
    if let Some(local) = variable(function, value) {
        let mut definitions = function.definitions_of(local);
        let (definition, more) = (definitions.next()?, definitions.next());
        return match definition.source {
            Source::Element(stmt) if more.is_none() => {
                let StmtKind::Range { subject, .. } = file.stmt(stmt).kind else { return None };
                Some(ranged(function, subject))
            }
            Source::Expr(value) if more.is_none() => indexed(function, file.unparen(value)),
            _ => None,
        };
    }
    indexed(function, value)
}

/// What a `range` goes over, and in which direction.
fn ranged(function: &Function<'_>, subject: ExprId) -> (ExprId, Order) {
    let subject = function.file.unparen(subject);
    if let ExprKind::Call { args, .. } = &function.file.expr(subject).kind
        && let [slice] = args[..]
        && let Some(name) = function.info.callee(subject).qualified(function.index)
        && name.path.as_str() == "slices"
        && name.name.as_str() == "Backward"
    {
        return (slice, Order::OutermostFirst);
    }
    (subject, Order::InnermostFirst)
}

/// `ms[i]`, in a loop that counts up or down.
fn indexed(function: &Function<'_>, value: ExprId) -> Option<(ExprId, Order)> {
    let file = function.file;
    let ExprKind::Index { base, ref indices } = file.expr(value).kind else { return None };
    let [index] = indices[..] else { return None };
    if variable(function, base).is_none()
        && !matches!(file.expr(file.unparen(base)).kind, ExprKind::Selector { .. })
    {
        return None;
    }
    let index = file.unparen(index);
    let decl = function.index.func(function.id).decl;
    let parents: Parents = file.parents(Node::Decl(decl));
    let step = parents.around(Node::Expr(value)).find_map(|node| match node {
        Node::Stmt(stmt) => match file.stmt(stmt).kind {
            StmtKind::For { post, .. } => Some(post),
            StmtKind::Range { .. } => Some(None),
            _ => None,
        },
        _ => None,
    })?;
    let counts_down = step.is_some_and(|post| {
        matches!(file.stmt(post).kind, StmtKind::IncDec { increment: false, .. })
    });
    // `ms[len(ms)-1-i]` goes the other way than `i`.
    let turned = matches!(file.expr(index).kind, ExprKind::Binary { op: BinaryOp::Sub, right, .. }
        if matches!(function.info.resolve(file.unparen(right)), Def::Local(_)));
    let order = match counts_down != turned {
        true => Order::OutermostFirst,
        false => Order::InnermostFirst,
    };
    Some((base, order))
}
