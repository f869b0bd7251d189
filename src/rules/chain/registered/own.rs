//! A program's own routers: a type that keeps a list of filters in a field, a method that adds what
//! it is given to it, and a function of its package that applies the list to a handler.

use crate::catalog::Order;
use crate::flow::Step;
use crate::index::{Builtin, Callee, FuncId, Type};
use crate::rules::FunctionCx;
use crate::rules::chain::list::{makes_handlers, taken_from};
use crate::rules::scene::holds_any;
use crate::summary::{BodyId, Function, Place, Root};
use crate::syntax::{ExprId, ExprKind, StmtKind, Symbol};

/// What a method adds to.
pub(super) struct List {
    /// The field of its receiver.
    pub field: Symbol,
    /// The parameter with what is added, variadic or one.
    pub param: u32,
    /// What the first one added becomes.
    pub order: Order,
}

/// The list that a method adds filters to which it is given.
pub(super) fn added_by(cx: &FunctionCx<'_>, func: FuncId) -> Option<List> {
    let cx = FunctionCx { func, ..*cx };
    cx.declared().receiver?;
    if !holds_any(&cx, &["append("]) {
        return None;
    }
    let read = cx.summaries().read(func)?;
    let function = &read.function;
    let cfg = &function.body(BodyId::OWN).cfg;
    let (field, param) = cfg.steps().find_map(|step| appended(&cx, function, cfg.step(step)))?;
    Some(List { field, param, order: applied(&cx, field)? })
}

/// The field and the parameter of `x.field = append(x.field, param...)`.
fn appended(cx: &FunctionCx<'_>, function: &Function<'_>, step: Step) -> Option<(Symbol, u32)> {
    let file = function.file;
    let Step::Assign(stmt) = step else { return None };
    let StmtKind::Assign { left, right, op: None } = &file.stmt(stmt).kind else { return None };
    let ([target], [value]) = (&left[..], &right[..]) else { return None };
    let value = file.unparen(*value);
    let ExprKind::Call { args, .. } = &file.expr(value).kind else { return None };
    if !matches!(function.info.callee(value), Callee::Builtin(Builtin::Append)) {
        return None;
    }
    let [list, added] = args[..] else { return None };
    let field = field_of_receiver(function, *target)?;
    if field_of_receiver(function, list)? != field || !holds_filters(cx, function, list) {
        return None;
    }
    match function.places_in(BodyId::OWN, added).list[..] {
        [Place { root: Root::Param(param), ref path }] if path.is_empty() => Some((field, param)),
        _ => None,
    }
}

/// The field of its receiver that an expression of a method selects.
fn field_of_receiver(function: &Function<'_>, expr: ExprId) -> Option<Symbol> {
    let ExprKind::Selector { base, name } = function.file.expr(function.file.unparen(expr)).kind
    else {
        return None;
    };
    let of = function.places_in(BodyId::OWN, base).list;
    (of == [Place::root(Root::Receiver)]).then_some(name.name)
}

/// In which order the package applies the filters of a field: told by the first function that does.
fn applied(cx: &FunctionCx<'_>, field: Symbol) -> Option<Order> {
    let funcs = &cx.index().package(cx.func.package).funcs;
    funcs.iter().find_map(|func| {
        let cx = FunctionCx { func: func.id, ..*cx };
        if !holds_any(&cx, &[field.as_str()]) || !holds_any(&cx, &["for "]) {
            return None;
        }
        let read = cx.summaries().read(func.id)?;
        let function = &read.function;
        function.bodies().find_map(|body| {
            let cfg = &function.body(body).cfg;
            cfg.steps().find_map(|step| {
                let call = cfg.step(step).call(function.file)?;
                let Callee::Value(value) = function.info.callee(call) else { return None };
                let (list, order) = taken_from(function, function.file.unparen(*value))?;
                let list = function.file.unparen(list);
                let of_field = matches!(function.file.expr(list).kind,
                    ExprKind::Selector { name, .. } if name.name == field);
                (of_field && holds_filters(&cx, function, list)).then_some(order)
            })
        })
    })
}

/// Whether an expression is a list of functions from handler to handler.
fn holds_filters(cx: &FunctionCx<'_>, function: &Function<'_>, list: ExprId) -> bool {
    match function.index.underlying(function.info.type_of(list)) {
        Type::Slice(element) => makes_handlers(cx, function, &element),
        _ => false,
    }
}
