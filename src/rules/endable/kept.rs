//! Contexts that values keep in a field.

use crate::index::{Def, Type};
use crate::rules::makers::step_around;
use crate::rules::unended::is_in_variables;
use crate::rules::{FunctionCx, PackageCx};
use crate::source::Location;
use crate::summary::Function;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol, UnaryOp};

/// Whether an expression reads a field.
pub fn is_field(function: &Function<'_>, expr: ExprId) -> bool {
    matches!(function.info.resolve(function.file.unparen(expr)), Def::Field(_))
}

/// Whether a context is read from a field that nobody in the run ever gives one that ends: it is set, and
/// whoever sets it makes what it gets with `Background` or `TODO`.
pub fn is_fresh(cx: &FunctionCx<'_>, function: &Function<'_>, context: ExprId) -> bool {
    let field = match function.info.resolve(function.file.unparen(context)) {
        Def::Field(selection) => selection.location.map(|location| (selection.name, location)),
        _ => None,
    };
    field.is_some_and(|(name, location)| is_only_fresh(cx, name, location))
}

/// Whether all that the run stores in a field are contexts that never end, and there is one.
fn is_only_fresh(cx: &FunctionCx<'_>, name: Symbol, location: Location) -> bool {
    let index = cx.index();
    let mut stored = false;
    for package in cx.package.packages_with(name) {
        let of_package = index.package(package);
        // What is stored by the initial value of a variable is not followed.
        if is_in_variables(of_package, name) {
            return false;
        }
        for func in &of_package.funcs {
            if !index.may_name(func.id, name) || index.is_in_test_file(func.id) {
                continue;
            }
            let package = PackageCx { package, ..cx.package };
            let cx = FunctionCx { package, func: func.id };
            match stores(&cx, name, location) {
                Some(any) => stored |= any,
                None => return false,
            }
        }
    }
    stored
}

/// Whether a function stores something in the field; `None` if that may end.
fn stores(cx: &FunctionCx<'_>, name: Symbol, location: Location) -> Option<bool> {
    let (file, info) = (cx.file(), cx.index().body(cx.func));
    let is_field = |expr: ExprId| match info.resolve(file.unparen(expr)) {
        Def::Field(selection) => {
            selection.name == name && selection.location.is_none_or(|at| at == location)
        }
        Def::Unknown => match file.expr(file.unparen(expr)).kind {
            ExprKind::Selector { name: selected, .. } => selected.name == name,
            _ => false,
        },
        _ => false,
    };
    // Whether a type has the field; of one that is not known, that is not known either.
    let has_field = |ty: &Type| match cx.index().underlying(ty.strip_pointer()) {
        Type::Struct(of) => of.fields.iter().any(|field| field.location == location),
        Type::Unknown => true,
        _ => false,
    };
    let mut values = Vec::new();
    for node in file.descendants(Node::Decl(cx.declared().decl)) {
        match node {
            Node::Stmt(stmt) => {
                let StmtKind::Assign { left, right, .. } = &file.stmt(stmt).kind else { continue };
                if left.len() == right.len() {
                    let pairs = left.iter().zip(right);
                    values.extend(pairs.filter(|&(&left, _)| is_field(left)).map(|(_, &it)| it));
                } else if left.iter().any(|&left| is_field(left)) {
                    return None;
                }
            }
            Node::Expr(expr) => match &file.expr(expr).kind {
                ExprKind::CompositeLit { elements, .. } if has_field(info.type_of(expr)) => {
                    for element in elements {
                        let key = element.key?;
                        match file.expr(file.unparen(key)).kind {
                            ExprKind::Ident(key) if key == name => values.push(element.value),
                            _ => {}
                        }
                    }
                }
                ExprKind::Unary { op: UnaryOp::Addr, operand } if is_field(*operand) => {
                    return None;
                }
                _ => {}
            },
            Node::Decl(_) => {}
        }
    }
    if values.is_empty() {
        return Some(false);
    }
    let read = cx.summaries().read(cx.func)?;
    let is_fresh = |&value: &ExprId| {
        step_around(&read.function, value).is_some_and(|at| {
            let origin = cx.summaries().context(&read.function, at, value);
            origin.is_fresh() && origin.derivations.is_empty()
        })
    };
    values.iter().all(is_fresh).then_some(true)
}
