//! Calls that ask another process or machine, as far as is known, and the contexts that they are given.

use crate::catalog::{Blocking, Context, NonBlocking, Pure, Wait, When};
use crate::index::{Callee, Def, FuncId, Type};
use crate::rules::FunctionCx;
use crate::summary::{At, ContextOrigin, ContextRoot, Function, Place, Read, Root, facts};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// A call that is given a context first.
pub struct WithContext {
    /// Where it is made.
    pub at: At,
    /// The call.
    pub call: ExprId,
    /// The context, as the code writes it.
    pub context: ExprId,
    /// Where that comes from.
    pub origin: ContextOrigin,
}

/// All calls of a function that are given a context first, those in its literals included.
pub fn calls_with_context(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<WithContext> {
    let function = &read.function;
    let mut found = Vec::new();
    for (at, call) in function.calls() {
        let args = function.args(call);
        let Some(&context) = args.first() else { continue };
        if function.info.type_of(context).is_context() {
            let origin = cx.summaries().context(function, at, context);
            found.push(WithContext { at, call, context, origin });
        }
    }
    found
}

/// Words in the names of calls that are meant to take long, or to stay open.
const LONG: [&str; 23] = [
    "attach",
    "build",
    "copy",
    "download",
    "event",
    "exec",
    "export",
    "fetch",
    "follow",
    "import",
    "listen",
    "log",
    "poll",
    "pull",
    "push",
    "run",
    "serve",
    "start",
    "stream",
    "subscribe",
    "upload",
    "wait",
    "watch",
];

/// Whether a call asks a peer and waits for one answer, as far as is known: the catalog says so, or
/// it is a method, out of sight or of an interface, that is given a context and may fail; or it is
/// a method of the module all of whose waits are of that kind.
pub fn waits_for_one_answer(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let Some(name) = callee_name(function, call) else { return false };
    let name = name.to_lowercase();
    if LONG.iter().any(|word| name.contains(word)) {
        return false;
    }
    let callee = function.info.callee(call);
    let known = facts(cx.catalog(), function.index, callee);
    if let Some(blocking) = known.in_force::<Blocking>(cx.versions()) {
        return blocking.context.is_some()
            && blocking.timeout.is_none()
            && blocking.when != When::Never
            && matches!(blocking.wait, Wait::Rpc | Wait::Http | Wait::Net | Wait::Sql);
    }
    let is_idle = known.of::<NonBlocking>().next().is_some()
        || known.of::<Pure>().next().is_some()
        || known.of::<Context>().next().is_some();
    if is_idle {
        return false;
    }
    match callee {
        Callee::Func(func) => forwards(cx, *func),
        Callee::InterfaceMethod(selection) => {
            is_remote(&selection.owner) && fails(&selection.ty) && !gives_stream(cx, &selection.ty)
        }
        Callee::External(name) => name.receiver.is_some() && may_fail(function, call),
        Callee::Unknown { .. } => is_method(function, call) && may_fail(function, call),
        _ => false,
    }
}

/// Whether a method of the same package hands its first parameter to a remote call.
fn forwards(cx: &FunctionCx<'_>, func: FuncId) -> bool {
    let same = func.package == cx.func.package && func != cx.func;
    let Some(read) = cx.summaries().read(func).filter(|_| same) else { return false };
    let inner = FunctionCx { func, ..*cx };
    let is_first = |call: &WithContext| {
        let given = |place: &Place| place.path.is_empty() && place.root == Root::Param(0);
        !call.origin.deadline
            && matches!(&call.origin.roots[..], [ContextRoot::Place(place)] if given(place))
    };
    calls_with_context(&inner, &read).iter().any(|call| {
        let remote = match read.function.info.callee(call.call) {
            Callee::Func(_) => false,
            _ => waits_for_one_answer(&inner, &read.function, call.call),
        };
        remote && is_first(call)
    })
}

/// Whether the owner of an interface's method is known to stand for a peer: a generated client.
fn is_remote(owner: &Type) -> bool {
    let Some(named) = owner.named() else { return false };
    let name = named.qualified().name.as_str();
    ["Client", "Service", "Interface", "API", "Lock"].iter().any(|end| name.ends_with(end))
}

/// How what a stream brings is received.
const RECEIVES: [&str; 3] = ["Recv", "RecvMsg", "CloseAndRecv"];

/// Whether a result is an interface that is received from: a stream, which is meant to stay open.
fn gives_stream(cx: &FunctionCx<'_>, signature: &Type) -> bool {
    let Type::Func(signature) = signature else { return false };
    signature.results.iter().any(|result| match cx.index().underlying(result) {
        Type::Interface(interface) => {
            interface.methods.iter().any(|method| RECEIVES.contains(&method.name.as_str()))
        }
        _ => false,
    })
}

fn fails(signature: &Type) -> bool {
    matches!(signature, Type::Func(signature)
        if signature.results.last().is_some_and(Type::is_error))
}

/// Whether a call whose signature is out of sight gives an error: two results are taken, or one
/// that is called so.
pub fn may_fail(function: &Function<'_>, call: ExprId) -> bool {
    let file = function.file;
    let root = Node::Decl(function.index.func(function.id).decl);
    let parents = file.parents(root);
    match parents.of(Node::Expr(call)) {
        Some(Node::Stmt(stmt)) => match &file.stmt(stmt).kind {
            StmtKind::Assign { left, .. } | StmtKind::Define { left, .. } => {
                left.last().is_some_and(|&last| function.text(last).to_lowercase().contains("err"))
            }
            StmtKind::Return(_) => true,
            _ => false,
        },
        _ => false,
    }
}

fn is_method(function: &Function<'_>, call: ExprId) -> bool {
    let file = function.file;
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return false };
    match file.expr(file.unparen(callee)).kind {
        ExprKind::Selector { base, .. } => {
            !matches!(function.info.resolve(file.unparen(base)), Def::Package(_))
        }
        _ => false,
    }
}

/// The name of what is called, without what it is a part of.
fn callee_name(function: &Function<'_>, call: ExprId) -> Option<&'static str> {
    let file = function.file;
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return None };
    match file.expr(file.unparen(callee)).kind {
        ExprKind::Ident(name) => Some(name.as_str()),
        ExprKind::Selector { name, .. } => Some(name.name.as_str()),
        _ => None,
    }
}

/// Whether a call is known to go to another process: the catalog says so, or it is a method of a
/// client.
pub fn is_known_peer(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let callee = function.info.callee(call);
    if facts(cx.catalog(), function.index, callee).in_force::<Blocking>(cx.versions()).is_some() {
        return true;
    }
    let owner = match callee {
        Callee::InterfaceMethod(selection) => {
            selection.owner.named().map(|named| named.qualified().name)
        }
        Callee::External(name) => name.receiver,
        _ => match function.file.expr(call).kind {
            ExprKind::Call { callee, .. } => {
                match function.file.expr(function.file.unparen(callee)).kind {
                    ExprKind::Selector { base, .. } => {
                        let ty = function.info.type_of(base).strip_pointer();
                        ty.named().map(|named| named.qualified().name)
                    }
                    _ => None,
                }
            }
            _ => None,
        },
    };
    owner.is_some_and(|owner| owner.as_str().to_lowercase().ends_with("client"))
}
