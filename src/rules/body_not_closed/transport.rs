//! Transports of the program itself: those that read each body before anybody else gets it, and round trippers that
//! ask no server.

use crate::index::{Def, FuncId, ObjectId, Selection, Type, TypeDecl};
use crate::project::PackageId;
use crate::rules::bound::made_by;
use crate::rules::{FunctionCx, PackageCx, held, makers};
use crate::summary::Function;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol};

/// The field of an [`http.Client`](https://pkg.go.dev/net/http#Client) that makes its round trips.
const TRANSPORT: &str = "Transport";

/// The method of an [`http.RoundTripper`](https://pkg.go.dev/net/http#RoundTripper).
const ROUND_TRIP: &str = "RoundTrip";

/// Whether a call is made by a client in a field of a type of the run whose package gives clients a
/// transport, and has a round tripper that puts something else in the place of the body that it was
/// given: what is left of it is in memory. Where the file at hand stores another client in the field, that
/// one makes the call.
pub fn reads(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let Some((owner, field)) = client(function, call) else { return false };
    let Some(TypeDecl::Global(object)) = owner.named().map(|named| named.decl) else {
        return false;
    };
    let package = object.package;
    let funcs = &cx.index().package(package).funcs;
    funcs.iter().any(|func| gives_transport(cx, func.id))
        && funcs.iter().any(|func| func.name.as_str() == ROUND_TRIP && replaces_body(cx, func.id))
        && !is_replaced(cx, package, field)
}

/// Whether a round trip is made by a round tripper of the run, whoever makes it there, that asks no server itself: the
/// body is one that it has in memory.
pub fn answers_itself(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    makers::of_receiver(cx, function, call).is_some_and(|makers| {
        makers.iter().all(|&maker| {
            let given = given_by(cx, maker);
            !given.is_empty() && given.iter().all(|&method| asks_nobody(cx, method))
        })
    })
}

/// The `RoundTrip` of each type of which a function returns a composite literal.
fn given_by(cx: &FunctionCx<'_>, maker: FuncId) -> Vec<FuncId> {
    let (file, info) = (cx.index().file_of(maker), cx.index().body(maker));
    let types = file.descendants(Node::Decl(cx.index().func(maker).decl)).filter_map(|node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::Return(values) = &file.stmt(stmt).kind else { return None };
        let literal = made_by(file, *values.first()?);
        let is_literal = matches!(file.expr(literal).kind, ExprKind::CompositeLit { .. });
        info.type_of(literal).declared().filter(|_| is_literal)
    });
    let method = |owner: ObjectId| {
        let package = cx.index().package(owner.package);
        let mut methods = package.methods(cx.index().object(owner).name);
        methods.find(|method| method.name.as_str() == ROUND_TRIP).map(|method| method.id)
    };
    types.filter_map(method).collect()
}

/// Whether no call of a function gives a response whose body has to be closed.
fn asks_nobody(cx: &FunctionCx<'_>, method: FuncId) -> bool {
    let package = PackageCx { package: method.package, ..cx.package };
    let cx = FunctionCx { package, func: method };
    cx.summaries()
        .read(method)
        .is_some_and(|read| held::all(&cx, &read, cx.versions(), &super::is_body).is_empty())
}

/// The type that has the client of a call in a field, and the field's name.
fn client(function: &Function<'_>, call: ExprId) -> Option<(Type, Symbol)> {
    let (file, info, index) = (function.file, &function.info, function.index);
    let (base, _) = file.method_call(call)?;
    let base = file.unparen(base);
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return None };
    let embedded = match info.resolve(file.unparen(callee)) {
        Def::Method(_, selection) => &selection.path[..],
        _ => &[],
    };
    let Some((&last, before)) = embedded.split_last() else {
        let Def::Field(selection) = info.resolve(base) else { return None };
        return Some((selection.owner.clone(), selection.name));
    };
    let mut ty = info.type_of(base).clone();
    for name in before {
        let Type::Struct(of) = index.underlying(ty.strip_pointer()) else { return None };
        ty = of.fields.iter().find(|field| field.name == *name)?.ty.clone();
    }
    Some((ty.strip_pointer().clone(), last))
}

/// Whether a function makes something with a `Transport` of its own.
fn gives_transport(cx: &FunctionCx<'_>, func: FuncId) -> bool {
    if !cx.index().may_name(func, Symbol::new(TRANSPORT)) {
        return false;
    }
    let file = cx.index().file_of(func);
    let is_transport = |key: ExprId| matches!(file.expr(file.unparen(key)).kind, ExprKind::Ident(name) if name.as_str() == TRANSPORT);
    file.descendants(Node::Decl(cx.index().func(func).decl)).any(|node| match node {
        Node::Expr(expr) => match &file.expr(expr).kind {
            ExprKind::CompositeLit { elements, .. } => {
                elements.iter().any(|element| element.key.is_some_and(is_transport))
            }
            _ => false,
        },
        _ => false,
    })
}

/// Whether a function stores something in the body of a response.
fn replaces_body(cx: &FunctionCx<'_>, func: FuncId) -> bool {
    let (file, info) = (cx.index().file_of(func), cx.index().body(func));
    let is_body = |left: ExprId| match file.expr(file.unparen(left)).kind {
        ExprKind::Selector { base, name } => {
            let of = info.type_of(base).strip_pointer().named();
            name.name.as_str() == super::BODY
                && of.is_some_and(|of| {
                    of.path.as_str() == "net/http" && of.name.as_str() == "Response"
                })
        }
        _ => false,
    };
    file.descendants(Node::Decl(cx.index().func(func).decl)).any(|node| match node {
        Node::Stmt(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Assign { left, .. } => left.iter().any(|&left| is_body(left)),
            _ => false,
        },
        _ => false,
    })
}

/// Whether a function of the file at hand stores something in a field of this name that a package has.
fn is_replaced(cx: &FunctionCx<'_>, package: PackageId, field: Symbol) -> bool {
    let index = cx.index();
    let here = index.func(cx.func).file;
    let is_field = |selection: &Selection| {
        let owner = selection.owner.named().map(|named| named.decl);
        selection.name == field
            && matches!(owner, Some(TypeDecl::Global(object)) if object.package == package)
    };
    index.package(cx.func.package).funcs.iter().filter(|func| func.file == here).any(|func| {
        if !index.may_name(func.id, field) {
            return false;
        }
        let (file, info) = (index.file_of(func.id), index.body(func.id));
        file.descendants(Node::Decl(func.decl)).any(|node| match node {
            Node::Stmt(stmt) => match &file.stmt(stmt).kind {
                StmtKind::Assign { left, .. } => left.iter().any(|&left| {
                    matches!(info.resolve(file.unparen(left)), Def::Field(selection)
                        if is_field(selection))
                }),
                _ => false,
            },
            _ => false,
        })
    })
}
