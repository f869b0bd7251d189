//! Which calls move bytes over a connection, by types alone: who has only `Write` writes, who has
//! only `Read` reads, and what has both is called by these names. No library is named.

use crate::index::{Callee, Def, FuncId, Index, QualifiedName, Type};
use crate::rules::FunctionCx;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node, Symbol};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    In,
    Out,
}

/// How many functions of the package are followed from a call to the method that moves the bytes.
const MAX_CALLS: u32 = 2;

/// The type of the package with a connection of its own that a call moves bytes over, and which way.
pub(super) fn moved_by(scene: &Scene<'_>, call: ExprId) -> Option<(QualifiedName, Way)> {
    moved_within(scene, call, MAX_CALLS)
}

/// The calls that run where a node is, in a body; not those of goroutines or literals in it.
pub(super) fn calls_in(
    scene: &Scene<'_>,
    owner: Option<ExprId>,
    within: Node,
) -> impl Iterator<Item = ExprId> {
    let around = scene.span(within);
    scene.nodes.iter().filter_map(move |&node| {
        let Node::Expr(call) = node else { return None };
        let runs_here = matches!(scene.file.expr(call).kind, ExprKind::Call { .. })
            && around.contains(scene.span(node))
            && scene.literal_around(node) == owner
            && scene.go_of(call).is_none()
            && !scene.is_deferred(call);
        runs_here.then_some(call)
    })
}

fn moved_within(scene: &Scene<'_>, call: ExprId, depth: u32) -> Option<(QualifiedName, Way)> {
    let &Callee::Func(func) = scene.info.callee(call) else { return None };
    if func.package != scene.cx.func.package {
        return None;
    }
    let called = Scene::new(FunctionCx { func, ..scene.cx })?;
    if let Some(ty) = own_with_connection(scene.cx.index(), func)
        && let Some(way) = moves(&called)
    {
        return Some((ty, way));
    }
    let depth = depth.checked_sub(1)?;
    let within = Node::Stmt(called.body_of(None));
    calls_in(&called, None, within).find_map(|call| moved_within(&called, call, depth))
}

/// The type that a method belongs to, if one of its fields is a connection.
fn own_with_connection(index: &Index<'_>, func: FuncId) -> Option<QualifiedName> {
    let id = index.func(func).receiver?.ty?;
    let ty = index.object_type(id);
    let Type::Struct(fields) = index.underlying(&ty) else { return None };
    let package = index.package(func.package).path;
    let is_connection = |ty: &Type| {
        let has = |name| has_method(index, ty, name, package);
        has("Read") && has("Write") && has("Close") && !has("Seek")
    };
    fields
        .fields
        .iter()
        .any(|field| is_connection(&field.ty))
        .then(|| ty.named())?
        .map(|it| it.qualified())
}

/// Which way a body itself moves bytes.
fn moves(scene: &Scene<'_>) -> Option<Way> {
    let body = Node::Stmt(scene.body_of(None));
    calls_in(scene, None, body).find_map(|call| {
        if !tells_an_error(scene, call) {
            return None;
        }
        let index = scene.cx.index();
        let package = index.package(scene.cx.func.package).path;
        let way = |value: ExprId| {
            let ty = scene.info.type_of(value);
            let has = |name| has_method(index, ty, name, package);
            (has("Read"), has("Write"))
        };
        if let Some((receiver, name)) = scene.method_call(call) {
            match (way(receiver), name.name.as_str()) {
                ((true, false), _) | ((true, true), "Read") => return Some(Way::In),
                ((false, true), _) | ((true, true), "Write") => return Some(Way::Out),
                _ => {}
            }
        }
        scene.args(call).iter().find_map(|&arg| match way(arg) {
            (true, false) => Some(Way::In),
            (false, true) => Some(Way::Out),
            _ => None,
        })
    })
}

/// Whether the last result of a call is an error: what moves bytes can fail.
fn tells_an_error(scene: &Scene<'_>, call: ExprId) -> bool {
    match scene.info.type_of(call) {
        Type::Tuple(results) => results.last().is_some_and(Type::is_error),
        result => result.is_error(),
    }
}

fn has_method(index: &Index<'_>, ty: &Type, name: &str, from: Symbol) -> bool {
    let found = index.lookup(ty, Symbol::new(name), from);
    matches!(found, Def::Method(..) | Def::InterfaceMethod(_))
}
