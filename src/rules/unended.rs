//! Channels and cancel functions that are kept in a field, and that nobody who runs ever ends.

use std::cell::RefCell;

use crate::index::{Builtin, Callee, Def, Func, FuncId, Package, Selection, Type};
use crate::project::PackageId;
use crate::rules::recurrence::is_called_by_nobody;
use crate::rules::scene::Scene;
use crate::rules::{FunctionCx, PackageCx};
use crate::source::Location;
use crate::syntax::{ChanDir, ExprId, ExprKind, Node, StmtKind, Symbol, UnaryOp};

/// Whether the cancel function that a call gives as this result is kept in a field, and called by nobody who
/// ever runs but a `defer` of the function around it.
pub fn is_kept_for_nobody(cx: &FunctionCx<'_>, call: ExprId, cancel: u32) -> bool {
    let Some(scene) = Scene::new(*cx) else { return false };
    let field_of = |expr: ExprId| match scene.info.resolve(scene.file.unparen(expr)) {
        Def::Field(field) => Some(field),
        _ => None,
    };
    let is_left = |left: ExprId| {
        field_of(left).is_some_and(|field| nobody_ends(&cx.package, field, &|_, _| false))
    };
    let Some(Node::Stmt(stmt)) = scene.parent(Node::Expr(call)) else { return false };
    let (StmtKind::Assign { left, .. } | StmtKind::Define { left, .. }) =
        &scene.file.stmt(stmt).kind
    else {
        return false;
    };
    let Some(&cancel) = left.get(cancel as usize) else { return false };
    let Some(local) = scene.local(cancel) else { return is_left(cancel) };
    let mut uses = scene.uses(local).filter(|&used| used != scene.file.unparen(cancel)).peekable();
    uses.peek().is_some()
        && uses.all(|used| match scene.parent(Node::Expr(used)) {
            Some(Node::Expr(around)) => scene.is_deferred(around),
            Some(Node::Stmt(stmt)) => match &scene.file.stmt(stmt).kind {
                StmtKind::Assign { left, op: None, right } if left.len() == right.len() => {
                    let at = right.iter().position(|&right| scene.file.unparen(right) == used);
                    at.is_some_and(|at| is_left(left[at]))
                }
                _ => false,
            },
            _ => false,
        })
}

/// Whether the run makes what it keeps in a field, a channel or cancel function, and none of those who end
/// it (by a send, a close or a call) ever runs. A function that `closes_in_vain` does not count.
pub fn nobody_ends(
    cx: &PackageCx<'_>,
    field: &Selection,
    closes_in_vain: &dyn Fn(&PackageCx<'_>, &Func) -> bool,
) -> bool {
    all_do(cx, field, &|cx, func, deeds| {
        let closes = deeds.contains(&Deed::Closes);
        let ends = deeds.contains(&Deed::Ends);
        !ends && (!closes || closes_in_vain(cx, func)) || is_called_by_nobody(cx, func.id)
    })
}

/// Whether the run makes what it keeps in a field, and nobody has written what would end it.
pub fn is_never_ended(cx: &PackageCx<'_>, field: &Selection) -> bool {
    all_do(cx, field, &|_, _, deeds| !deeds.contains(&Deed::Closes) && !deeds.contains(&Deed::Ends))
}

/// The functions that end what the run keeps in a field; `None` if what others do with that is not known.
pub fn enders(cx: &PackageCx<'_>, field: &Selection) -> Option<Vec<FuncId>> {
    let enders = RefCell::new(Vec::new());
    let known = all_do(cx, field, &|_, func, deeds| {
        if deeds.contains(&Deed::Ends) || deeds.contains(&Deed::Closes) {
            enders.borrow_mut().push(func.id);
        }
        true
    });
    known.then(|| enders.into_inner())
}

/// Whether the run makes what it keeps in a field, and all who name that do what is `harmless`, and nothing
/// that is not known.
fn all_do(
    cx: &PackageCx<'_>,
    field: &Selection,
    harmless: &dyn Fn(&PackageCx<'_>, &Func, &[Deed]) -> bool,
) -> bool {
    let Some(location) = field.location else { return false };
    let mut made = false;
    // Only the package that declares it can name what is not exported.
    let may_name = |package: &PackageId| {
        field.name.is_exported() || cx.index.package(*package).holds(location.file)
    };
    cx.packages_with(field.name).filter(may_name).all(|package| {
        let of_package = cx.index.package(package);
        // What the initial value of a variable has is not followed.
        if is_in_variables(of_package, field.name) {
            return false;
        }
        of_package.funcs.iter().all(|func| {
            if !cx.index.may_name(func.id, field.name) || cx.index.is_in_test_file(func.id) {
                return true;
            }
            let cx = PackageCx { package, ..*cx };
            let Some(scene) = Scene::of(&cx, func.id) else { return false };
            let deeds = deeds(&scene, field, location);
            made |= deeds.contains(&Deed::Makes);
            !deeds.contains(&Deed::Unknown) && harmless(&cx, func, &deeds)
        })
    }) && made
}

/// Whether a composite literal in the initial value of a variable of a package may set a field of this name.
pub fn is_in_variables(package: &Package, name: Symbol) -> bool {
    package.specs.iter().any(|spec| {
        package.may_name(spec.file, spec.decl, name) && {
            let file = package.tree(spec.file, spec.decl);
            let is_key = |key: ExprId| {
                matches!(file.expr(file.unparen(key)).kind, ExprKind::Ident(key) if key == name)
            };
            file.descendants(Node::Decl(spec.decl)).any(|node| match node {
                Node::Expr(expr) => match &file.expr(expr).kind {
                    ExprKind::CompositeLit { elements, .. } => {
                        elements.iter().any(|element| element.key.is_some_and(is_key))
                    }
                    _ => false,
                },
                _ => false,
            })
        }
    })
}

/// What is done with a channel or cancel function that is kept in a field or variable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// It is made, or set to nil.
    Makes,
    /// It is closed.
    Closes,
    /// It is sent on or called.
    Ends,
    /// It is received from, compared, or handed to who can only receive.
    Harmless,
    /// Anything else.
    Unknown,
}

/// What a function does with a field.
fn deeds(scene: &Scene<'_>, field: &Selection, location: Location) -> Vec<Deed> {
    let is_field = |expr: ExprId| match scene.info.resolve(expr) {
        Def::Field(selection) => selection.location == Some(location),
        Def::Unknown => match scene.file.expr(expr).kind {
            ExprKind::Selector { name, .. } => name.name == field.name,
            _ => false,
        },
        _ => false,
    };
    let mut deeds = Vec::new();
    for &node in scene.nodes.iter() {
        let Node::Expr(expr) = node else { continue };
        match &scene.file.expr(expr).kind {
            ExprKind::Selector { .. } if is_field(expr) => deeds.push(deed(scene, expr)),
            ExprKind::CompositeLit { elements, .. } => {
                let ty = scene.info.type_of(expr).strip_pointer();
                let has_field = match scene.cx.index().underlying(ty) {
                    Type::Struct(of) => of.fields.iter().any(|field| field.location == location),
                    _ => false,
                };
                let given = elements.iter().filter_map(|element| match element.key {
                    None => Some(Deed::Unknown),
                    Some(key) => match scene.file.expr(scene.file.unparen(key)).kind {
                        ExprKind::Ident(key) if key == field.name => {
                            Some(made_by(scene, element.value))
                        }
                        _ => None,
                    },
                });
                if has_field {
                    deeds.extend(given);
                }
            }
            _ => {}
        }
    }
    deeds
}

/// What is done with what an expression reads or sets.
pub fn deed(scene: &Scene<'_>, expr: ExprId) -> Deed {
    let file = scene.file;
    match scene.parent(Node::Expr(expr)) {
        Some(Node::Expr(around)) => match file.expr(around).kind {
            ExprKind::Unary { op: UnaryOp::Recv, .. } | ExprKind::Binary { .. } => Deed::Harmless,
            ExprKind::Call { callee, ref args, .. } => {
                let arg = args.iter().position(|&arg| file.unparen(arg) == expr);
                match (scene.info.callee(around), arg) {
                    (Callee::Builtin(Builtin::Close), Some(_)) => Deed::Closes,
                    (Callee::Builtin(Builtin::Len | Builtin::Cap), Some(_)) => Deed::Harmless,
                    (_, None) => Deed::Ends,
                    (_, Some(arg)) => match scene.info.type_of(callee) {
                        Type::Func(signature)
                            if signature.params.get(arg).is_some_and(only_receives) =>
                        {
                            Deed::Harmless
                        }
                        _ => Deed::Unknown,
                    },
                }
            }
            _ => Deed::Unknown,
        },
        Some(Node::Stmt(stmt)) => match &file.stmt(stmt).kind {
            StmtKind::Send { .. } => Deed::Ends,
            StmtKind::Range { .. } | StmtKind::Expr(_) => Deed::Harmless,
            StmtKind::Return(_) => {
                let literal = scene.literal_around(Node::Expr(expr));
                let ty = match literal {
                    Some(literal) => scene.info.type_of(literal).clone(),
                    None => scene.cx.index().func_type(scene.cx.func).clone(),
                };
                match &ty {
                    Type::Func(signature) if signature.results.iter().any(only_receives) => {
                        Deed::Harmless
                    }
                    _ => Deed::Unknown,
                }
            }
            StmtKind::Assign { left, op: None, right } => {
                let at = left.iter().position(|&left| file.unparen(left) == expr);
                match (at, left.len() == right.len()) {
                    (Some(at), true) => made_by(scene, right[at]),
                    // As in `x.ctx, x.cancel = context.WithCancel(parent)`.
                    (Some(_), false) => Deed::Makes,
                    (None, _) => Deed::Unknown,
                }
            }
            _ => Deed::Unknown,
        },
        _ => Deed::Unknown,
    }
}

fn only_receives(ty: &Type) -> bool {
    matches!(ty, Type::Chan(ChanDir::Recv, _))
}

/// Whether a value that is kept in a field is made for it: nobody else has it.
fn made_by(scene: &Scene<'_>, value: ExprId) -> Deed {
    let value = scene.file.unparen(value);
    let is_made = match scene.info.callee(value) {
        Callee::Builtin(Builtin::Make) => true,
        _ => {
            scene.is_nil(value)
                || scene.local(value).is_some_and(|local| {
                    // Of a cancel function that is kept nothing else may be done here.
                    scene.uses(local).count() == 2
                        && matches!(scene.info.local(local).ty, Type::Func(_) | Type::Named(..))
                })
        }
    };
    if is_made { Deed::Makes } else { Deed::Unknown }
}
