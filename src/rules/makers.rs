//! What makes the values that come to a place: through variables, the fields of the package, and the
//! callers of the run.

use crate::catalog::NonBlocking;
use crate::index::{Callee, FuncId, QualifiedName};
use crate::rules::bound::kept_by;
use crate::rules::{FunctionCx, PackageCx, recurrence};
use crate::summary::{At, Function, Root};
use crate::syntax::{ExprId, ExprKind, Node, Symbol};

/// A function that makes a value.
struct Maker {
    name: QualifiedName,
    /// It, if it is one of the run.
    func: Option<FuncId>,
}

/// How many fields and parameters are followed.
const MAX_DEPTH: u32 = 5;

/// Whether a call is on something all of whose makers give what never waits: a client that has its
/// server's state in memory.
pub fn never_waits(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let is_idle = |maker: &Maker| {
        let (package, name) = (maker.name.path.as_str(), maker.name.name.as_str());
        maker.name.receiver.is_none()
            && cx.catalog().covering::<NonBlocking>(package, None, name, cx.versions()).is_some()
    };
    all(cx, function, call).is_some_and(|makers| makers.iter().all(is_idle))
}

/// The functions of the run that make what a method is called on; `None` where others may make it, too.
pub fn of_receiver(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<Vec<FuncId>> {
    all(cx, function, call)?.into_iter().map(|maker| maker.func).collect()
}

/// What makes what a chain of method calls begins with; `None` where not all of it is known.
fn all(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Option<Vec<Maker>> {
    let file = function.file;
    let mut base = call;
    while let Some((inner, _)) = file.method_call(base) {
        base = file.unparen(inner);
        if !matches!(file.expr(base).kind, ExprKind::Call { .. }) {
            break;
        }
    }
    let at = function.at_call(call).filter(|_| base != call)?;
    let mut makers = Vec::new();
    let known = find(cx, function, (at, base), MAX_DEPTH, &mut makers);
    (known && !makers.is_empty()).then_some(makers)
}

/// Adds the functions that make what an expression may be; whether all of them are known.
fn find(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    (at, expr): (At, ExprId),
    depth: u32,
    makers: &mut Vec<Maker>,
) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let places = function.object_places(at, expr);
    !places.unknown
        && !places.list.is_empty()
        && places.list.iter().all(|place| match (place.root, &place.path[..]) {
            (Root::Call(call, 0), []) => {
                let callee = function.info.callee(call).qualified(function.index);
                let func = match *function.info.callee(call) {
                    Callee::Func(func) => Some(func),
                    _ => None,
                };
                makers.extend(callee.map(|name| Maker { name, func }));
                callee.is_some()
            }
            (Root::Param(index), []) => find_given(cx, index, depth, makers),
            (_, &[.., field]) => find_kept(cx, field, depth, makers),
            _ => false,
        })
}

/// The same for what the callers of a function give it.
fn find_given(cx: &FunctionCx<'_>, index: u32, depth: u32, makers: &mut Vec<Maker>) -> bool {
    let calls = recurrence::calls(&cx.package, cx.declared());
    !calls.is_empty()
        && calls.into_iter().all(|(func, call)| {
            let Some(read) = cx.summaries().read(func) else { return false };
            let function = &read.function;
            let package = PackageCx { package: func.package, ..cx.package };
            let given = function.args(call).get(index as usize).zip(function.at_call(call));
            given.is_some_and(|(&arg, at)| {
                find(&FunctionCx { package, func }, function, (at, arg), depth, makers)
            })
        })
}

/// The same for what the package keeps in fields of this name.
fn find_kept(cx: &FunctionCx<'_>, field: Symbol, depth: u32, makers: &mut Vec<Maker>) -> bool {
    let package = cx.index().package(cx.func.package);
    let mut kept = false;
    package.funcs.iter().filter(|func| cx.index().may_name(func.id, field)).all(|func| {
        let file = cx.index().file_of(func.id);
        let of_field = |node| kept_by(file, node).filter(|(name, _)| *name == field);
        let nodes = file.descendants(Node::Decl(func.decl));
        let values: Vec<ExprId> = nodes.flat_map(of_field).map(|(_, value)| value).collect();
        if values.is_empty() || cx.index().is_in_test_file(func.id) {
            return true;
        }
        kept = true;
        let Some(read) = cx.summaries().read(func.id) else { return false };
        let cx = FunctionCx { func: func.id, ..*cx };
        values.into_iter().all(|value| {
            step_around(&read.function, value)
                .is_some_and(|at| find(&cx, &read.function, (at, value), depth, makers))
        })
    }) && kept
}

/// The step that an expression is part of.
pub fn step_around(function: &Function<'_>, expr: ExprId) -> Option<At> {
    let root = Node::Decl(function.index.func(function.id).decl);
    let parents = function.file.parents(root);
    std::iter::once(Node::Expr(expr)).chain(parents.around(Node::Expr(expr))).find_map(|node| {
        function.bodies().find_map(|body| {
            let cfg = &function.body(body).cfg;
            let step = match node {
                Node::Expr(expr) => cfg.step_of_expr(expr),
                Node::Stmt(stmt) => cfg.step_of_stmt(stmt),
                Node::Decl(_) => None,
            };
            step.map(|step| At { body, step })
        })
    })
}
