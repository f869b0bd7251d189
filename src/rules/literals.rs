//! When a function literal runs, and who calls one that is kept as a value.

use crate::catalog::{Callback, Called};
use crate::flow::Step;
use crate::index::{Callee, Def, FuncId, Type, TypeDecl};
use crate::rules::FunctionCx;
use crate::summary::{Act, At, BodyId, Function, Read, facts};
use crate::syntax::{ExprId, ExprKind, Node, Parents, StmtKind, Symbol};

/// When a literal runs.
pub enum Runs {
    /// While the function around it is at work, for it: it is called on the spot, by a goroutine
    /// that the function waits for, or by what it is given to together with a context.
    Under,
    /// When the function around it is left.
    Deferred,
    /// In a goroutine that the function starts and does not wait for.
    Started,
    /// That is not known, or it outlives the function.
    Apart,
}

/// When a literal runs that is made at a step.
pub fn runs(cx: &FunctionCx<'_>, read: &Read<'_>, made: At, literal: ExprId) -> Runs {
    let function = &read.function;
    let file = function.file;
    let is_literal = |expr: &ExprId| file.unparen(*expr) == literal;
    for step in function.body(made.body).cfg.steps() {
        let at = At { body: made.body, step };
        let step = function.step(at);
        let Some(call) = step.call(file) else { continue };
        let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { continue };
        if is_literal(&callee) {
            return match step {
                Step::Call(_) => Runs::Under,
                Step::Go(_) if is_joined(read, at) => Runs::Under,
                Step::Go(_) => Runs::Started,
                _ => Runs::Deferred,
            };
        }
        if args.iter().any(is_literal) {
            return match step {
                Step::Call(_)
                    if given_context(function, args) || calls_back(cx, read, at, call, callee) =>
                {
                    Runs::Under
                }
                Step::Defer(_) => Runs::Deferred,
                _ => Runs::Apart,
            };
        }
    }
    Runs::Apart
}

/// What a literal gets as a parameter that is called, or started, where it stands.
pub fn called_with(
    function: &Function<'_>,
    body: BodyId,
    literal: ExprId,
    index: u32,
) -> Option<(At, ExprId)> {
    let around = function.body(body).made?.body;
    let cfg = &function.body(around).cfg;
    cfg.steps().find_map(|step| {
        let call = cfg.step(step).call(function.file)?;
        let args = function.args(call);
        let is_called = matches!(function.info.callee(call), Callee::Literal(of) if *of == literal);
        let arg = args.get(index as usize).filter(|_| is_called)?;
        Some((At { body: around, step }, *arg))
    })
}

/// The context that a call is given together with a literal, and when: what that gets as a parameter is derived from it, and
/// ends with it alone, unless the call is named for a time after which it does.
pub fn context_beside(
    function: &Function<'_>,
    body: BodyId,
    literal: ExprId,
) -> Option<(At, ExprId)> {
    let around = function.body(body).made?.body;
    let (cfg, file) = (&function.body(around).cfg, function.file);
    cfg.steps().find_map(|step| {
        let call = cfg.step(step).call(file)?;
        let args = function.args(call);
        args.iter().find(|&&arg| file.unparen(arg) == literal)?;
        let name = function.info.callee(call).qualified(function.index)?.name;
        let is_timed = ["Timeout", "Deadline"].iter().any(|word| name.as_str().contains(word));
        let context = args.iter().find(|&&arg| function.info.type_of(arg).is_context());
        let context = context.filter(|_| !is_timed)?;
        Some((At { body: around, step }, *context))
    })
}

/// Whether all literals around a step run while the declared function is at work.
pub fn is_under(cx: &FunctionCx<'_>, read: &Read<'_>, at: At) -> bool {
    let function = &read.function;
    let mut body = at.body;
    while let (Some(made), Some(literal)) = (function.body(body).made, function.body(body).literal)
    {
        if !matches!(runs(cx, read, made, literal), Runs::Under) {
            return false;
        }
        body = made.body;
    }
    true
}

/// The calls of function values in the package that may be of this literal: those of values of its
/// type. `None` if others may have it too: it stays in the package only if it is returned as, or stored
/// in, something of a type that the package declares, or given to its functions.
pub fn calls_of_value(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    literal: ExprId,
) -> Option<Vec<(FuncId, ExprId)>> {
    let parents = function.file.parents(Node::Decl(function.index.func(function.id).decl));
    if !stays(cx, function, &parents, literal) {
        return None;
    }
    let ty = function.info.type_of(literal);
    let index = cx.index();
    let uses = cx.package.uses();
    let may_be = |&&(func, _, value): &&(FuncId, ExprId, ExprId)| {
        index.underlying(index.body(func).type_of(value)).identical(ty) != Some(false)
    };
    Some(uses.of_values.iter().filter(may_be).map(|&(func, call, _)| (func, call)).collect())
}

/// Whether an expression, a function, comes to nobody outside of the package.
fn stays(cx: &FunctionCx<'_>, function: &Function<'_>, parents: &Parents, expr: ExprId) -> bool {
    let (file, info) = (function.file, &function.info);
    let is_own = |ty: &Type| match ty.named().map(|named| named.decl) {
        Some(TypeDecl::Global(object)) => object.package == cx.func.package,
        Some(TypeDecl::Local(_)) => true,
        _ => false,
    };
    match parents.of(Node::Expr(expr)) {
        Some(Node::Expr(outer)) => match &file.expr(outer).kind {
            ExprKind::Paren(_) => stays(cx, function, parents, outer),
            ExprKind::Call { callee, .. } => {
                file.unparen(*callee) == expr
                    || matches!(info.callee(outer), Callee::Func(func)
                        if func.package == cx.func.package)
                    || matches!(info.callee(outer), Callee::Conversion(ty) if is_own(ty))
            }
            ExprKind::CompositeLit { .. } => is_own(info.type_of(outer).strip_pointer()),
            ExprKind::Binary { .. } => true,
            _ => false,
        },
        Some(Node::Stmt(stmt)) => match &file.stmt(stmt).kind {
            StmtKind::Return(values) => {
                let index = values.iter().position(|&value| value == expr);
                let is_declared = !parents.around(Node::Expr(expr)).any(|node| match node {
                    Node::Expr(around) => matches!(file.expr(around).kind, ExprKind::FuncLit(_)),
                    _ => false,
                });
                let Type::Func(signature) = function.index.func_type(function.id) else {
                    return false;
                };
                is_declared
                    && index.and_then(|index| signature.results.get(index)).is_some_and(is_own)
            }
            StmtKind::Define { left, right } | StmtKind::Assign { left, right, .. } => {
                let Some(index) = right.iter().position(|&value| value == expr) else {
                    return left.contains(&expr);
                };
                let Some(Def::Local(local)) = left.get(index).map(|&left| info.resolve(left))
                else {
                    return false;
                };
                let root = Node::Decl(function.index.func(function.id).decl);
                left.len() == right.len()
                    && file.descendants(root).all(|node| match node {
                        Node::Expr(used)
                            if !left.contains(&used)
                                && matches!(info.resolve(used), Def::Local(it) if it == local) =>
                        {
                            matches!(parents.of(node), Some(Node::Expr(_)))
                                && stays(cx, function, parents, used)
                        }
                        _ => true,
                    })
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether the function waits on every path for the goroutine that is started here.
fn is_joined(read: &Read<'_>, at: At) -> bool {
    let spawns = read.effects(at.body).spawns.iter();
    spawns
        .filter(|spawn| spawn.at == at)
        .any(|spawn| spawn.outlives.is_empty() && !spawn.signals.is_empty())
}

fn given_context(function: &Function<'_>, args: &[ExprId]) -> bool {
    args.first().is_some_and(|&first| function.info.type_of(first).is_context())
}

/// Whether the callee calls its arguments before it returns, or before a `Wait` on its receiver.
fn calls_back(cx: &FunctionCx<'_>, read: &Read<'_>, at: At, call: ExprId, callee: ExprId) -> bool {
    let function = &read.function;
    let facts = facts(cx.catalog(), function.index, function.info.callee(call));
    let waits = || {
        let ExprKind::Selector { base, .. } =
            function.file.expr(function.file.unparen(callee)).kind
        else {
            return false;
        };
        let group = function.object_places(at, base);
        let wait = Act::Method(Symbol::new("Wait"));
        let waited = |body: BodyId| {
            let effects = read.effects(body).effects.iter();
            effects.filter(|effect| effect.act == wait).any(|effect| group.may_be(&effect.place))
        };
        function.enclosing(at.body).any(waited)
    };
    facts.all_in_force::<Callback>(cx.versions()).any(|fact| match fact.called {
        Called::Before => true,
        Called::Goroutine => waits(),
        // What runs once runs for all who ask, not for the first one alone.
        Called::Once | Called::Later | Called::Request | Called::Cleanup => false,
    })
}
