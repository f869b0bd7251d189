//! Calls that do not wait for long whatever the context: they bring a bound of their own, or ask a
//! peer on the same machine.

use crate::catalog::{self, Base, Blocking};
use crate::index::{Def, ObjectKind};
use crate::rules::FunctionCx;
use crate::summary::{Function, Root, facts};
use crate::syntax::{ExprId, ExprKind, LitKind, Node, StmtKind};

/// Whether a call is bound in time where it stands, or reaches no further than this machine.
pub fn is_short(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let Some(blocking) = known.in_force::<Blocking>(cx.versions()) else {
        return has_timeout(function, call);
    };
    let is_bound = blocking.timeout.as_ref().is_some_and(|place| is_given(function, call, place));
    is_bound
        || blocking.short
        || !blocking.bounded_by.is_empty()
            && is_bounded_before(function, call, &blocking.bounded_by)
        || !blocking.near.is_empty() && is_near(function, call, &blocking.near)
}

/// Whether one of these methods is called before, on whatever: a connection has many names.
pub fn is_bounded_before(function: &Function<'_>, call: ExprId, methods: &[Box<str>]) -> bool {
    let file = function.file;
    let end = file.expr(call).span.start;
    file.descendants(Node::Decl(function.index.func(function.id).decl)).any(|node| match node {
        Node::Expr(expr) if file.expr(expr).span.end <= end => match file.expr(expr).kind {
            ExprKind::Call { callee, .. } => match file.expr(file.unparen(callee)).kind {
                ExprKind::Selector { name, .. } => {
                    methods.iter().any(|method| **method == *name.name.as_str())
                }
                _ => false,
            },
            _ => false,
        },
        _ => false,
    })
}

/// Whether something stands at the place of a bound: an argument, or a field of a composite literal.
fn is_given(function: &Function<'_>, call: ExprId, place: &catalog::Place) -> bool {
    let Some(operand) = operand(function, call, place.base) else { return false };
    match &place.field {
        None => is_fixed(function, operand),
        Some(field) => made_with(function, call, operand, |name| *name == **field),
    }
}

/// Whether a duration is fixed where it stands: it names no variable.
fn is_fixed(function: &Function<'_>, duration: ExprId) -> bool {
    function.file.descendants(Node::Expr(duration)).all(|node| {
        let Node::Expr(expr) = node else { return false };
        match function.info.resolve(expr) {
            Def::Local(local) => !function.info.local(*local).kind.is_variable(),
            Def::Global(object) => function.index.object(*object).kind != ObjectKind::Var,
            Def::Field(_) => false,
            _ => true,
        }
    })
}

/// Whether the receiver is made in the function with a field that is called a timeout.
fn has_timeout(function: &Function<'_>, call: ExprId) -> bool {
    operand(function, call, Base::Receiver).is_some_and(|receiver| {
        made_with(function, call, receiver, |name| name.ends_with("Timeout"))
    })
}

/// Whether an operand is a composite literal of the function with such a field, fixed.
fn made_with(
    function: &Function<'_>,
    call: ExprId,
    operand: ExprId,
    is_field: impl Fn(&str) -> bool,
) -> bool {
    let Some(at) = function.at_call(call) else { return false };
    let places = function.object_places(at, operand);
    let Some(Root::Made(made)) = places.only().map(|place| place.root) else { return false };
    let ExprKind::CompositeLit { elements, .. } = &function.file.expr(made).kind else {
        return false;
    };
    elements.iter().any(|element| {
        let key = element.key.map(|key| &function.file.expr(key).kind);
        matches!(key, Some(ExprKind::Ident(name)) if is_field(name.as_str()))
            && is_fixed(function, element.value)
    })
}

fn operand(function: &Function<'_>, call: ExprId, base: Base) -> Option<ExprId> {
    let file = function.file;
    let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return None };
    match (base, &file.expr(file.unparen(callee)).kind) {
        (Base::Receiver, ExprKind::Selector { base, .. }) => Some(*base),
        (Base::Param(index), _) => args.get(index as usize).copied(),
        _ => None,
    }
}

/// Whether the first argument is one of these texts: as a literal, or by the clause of a `switch`
/// over it that the call stands in.
fn is_near(function: &Function<'_>, call: ExprId, near: &[Box<str>]) -> bool {
    let file = function.file;
    let Some(first) = operand(function, call, Base::Param(0)) else { return false };
    let is_one = |expr: ExprId| {
        let text = function.text(expr);
        matches!(file.expr(expr).kind, ExprKind::BasicLit(LitKind::String))
            && near.iter().any(|near| text.trim_matches(['"', '`']) == &**near)
    };
    if is_one(file.unparen(first)) {
        return true;
    }
    let parents = file.parents(Node::Decl(function.index.func(function.id).decl));
    let at = file.expr(call).span.start;
    parents.around(Node::Expr(call)).any(|node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Switch { tag: Some(tag), ref cases, .. } = file.stmt(stmt).kind else {
            return false;
        };
        let clause = cases.iter().find(|case| case.span.start <= at && at < case.span.end);
        let values = clause.and_then(|case| case.values.as_deref()).unwrap_or_default();
        function.text(tag) == function.text(first)
            && !values.is_empty()
            && values.iter().all(|&value| is_one(value))
    })
}
