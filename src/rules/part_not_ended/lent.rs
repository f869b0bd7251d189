//! What a constructor makes and puts into a field of a struct of another package, such as the
//! completed configuration of a library: the struct only carries it through the package, which uses
//! the field by calling methods, and whose own type has a method that ends the rest.
//!
//! As soon as the struct as a whole, or the value of the field, goes anywhere else, somebody else
//! may end it, and nothing is said.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::{Made, Reader, ending_method};
use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Callee, Def, Func, FuncId, LocalId, QualifiedName, Type};
use crate::rules::PackageCx;
use crate::rules::scene::serves_tests;
use crate::syntax::{DeclKind, ExprId, ExprKind, Node, StmtKind, Symbol, UnaryOp};

/// How many calls lie between the constructor and the function that makes the part.
const MAX_DEPTH: u32 = 4;

/// The parts that the functions of a package put into structs of other packages, and that nobody
/// ends.
pub fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let package = cx.index.package(cx.package);
    let own = || package.funcs.iter().filter(|func| !serves_tests(cx.index, func.id));
    for func in own().filter(|func| cx.counts_in(func)) {
        let reader = Reader::new(cx, func);
        for lent in lent(&reader) {
            let readers = || own().map(|func| Reader::new(cx, func));
            let stays = readers()
                .all(|reader| reader.uses_by_methods(&lent) && reader.carries_only(lent.holder));
            if stays && let Some(end) = constructor(cx, func.id) {
                findings.push(finding(cx, &lent, end));
            }
        }
    }
}

/// A part in a struct of another package.
struct Lent {
    made: Made,
    field: Symbol,
    /// The type of the struct.
    holder: QualifiedName,
    /// The field, as the code writes it.
    text: String,
}

/// What a function puts into a struct of another package that it returns.
fn lent(reader: &Reader<'_, '_>) -> Vec<Lent> {
    let file = reader.file;
    let mut found = Vec::new();
    for node in file.descendants(Node::Decl(reader.func.decl)) {
        let Node::Stmt(stmt) = node else { continue };
        let StmtKind::Assign { left, op: None, right } = &file.stmt(stmt).kind else { continue };
        let ([left], [right]) = (&left[..], &right[..]) else { continue };
        let ExprKind::Selector { base, name } = file.expr(file.unparen(*left)).kind else {
            continue;
        };
        let Def::Local(local) = *reader.info.resolve(file.unparen(base)) else { continue };
        let owner = reader.info.type_of(base).declared();
        if owner.is_some_and(|owner| reader.cx.summaries.order().contains(&owner.package)) {
            continue;
        }
        let Some(holder) = reader.returned_as(local) else { continue };
        let Some(made) = reader.made_by(file.unparen(*right), 0) else { continue };
        let text = file.source.text(file.expr(*left).span).into_owned();
        found.push(Lent { made, field: name.name, holder, text });
    }
    found
}

impl Reader<'_, '_> {
    /// The type of another package as which a variable is returned, if nothing else becomes of it.
    fn returned_as(&self, local: LocalId) -> Option<QualifiedName> {
        let Type::Func(signature) = self.cx.index.func_type(self.func.id) else { return None };
        let mut holder = None;
        for node in self.file.descendants(Node::Decl(self.func.decl)) {
            let Node::Expr(expr) = node else { continue };
            let is_use = matches!(self.info.resolve(expr), Def::Local(other) if *other == local);
            if !is_use || !matches!(self.file.expr(expr).kind, ExprKind::Ident(_)) {
                continue;
            }
            match self.place_of(expr) {
                Carried::Selected | Carried::Assigned => {}
                Carried::Returned(place) => {
                    let named = signature.results.get(place)?.strip_pointer().named()?;
                    holder = Some(named.qualified());
                }
                Carried::Given(_) | Carried::Elsewhere => return None,
            }
        }
        holder.filter(|holder| {
            let result = signature.results.iter().find_map(|result| {
                let named = result.strip_pointer().named()?;
                (named.qualified() == *holder).then(|| result.declared())
            });
            result.flatten().is_none_or(|object| object.package != self.cx.package)
        })
    }

    /// Whether the function uses the field of such structs only by calling methods that do not end
    /// what is in it.
    fn uses_by_methods(&self, lent: &Lent) -> bool {
        let file = self.file;
        file.descendants(Node::Decl(self.func.decl)).all(|node| {
            let Node::Expr(expr) = node else { return true };
            let ExprKind::Selector { base, name } = file.expr(expr).kind else { return true };
            let of_package = self
                .info
                .type_of(base)
                .declared()
                .is_some_and(|owner| owner.package == self.cx.package);
            if name.name != lent.field || of_package {
                return true;
            }
            match self.around(Node::Expr(expr)) {
                Some(Node::Expr(outer)) => match file.expr(outer).kind {
                    ExprKind::Selector { name, .. } => {
                        let ends = lent.made.ends.iter().any(|end| **end == *name.name.as_str());
                        self.is_called(outer) && !ends
                    }
                    _ => false,
                },
                Some(Node::Stmt(stmt)) => match &file.stmt(stmt).kind {
                    StmtKind::Assign { left, op: None, .. } => {
                        left.iter().any(|&left| file.unparen(left) == expr)
                    }
                    _ => false,
                },
                _ => false,
            }
        })
    }

    /// Whether the function hands values of a type only to functions of the package.
    fn carries_only(&self, holder: QualifiedName) -> bool {
        self.file.descendants(Node::Decl(self.func.decl)).all(|node| {
            let Node::Expr(expr) = node else { return true };
            let is = |ty: &Type| {
                ty.strip_pointer().named().is_some_and(|named| named.qualified() == holder)
            };
            let is_holder = match self.file.expr(expr).kind {
                ExprKind::Ident(_) => {
                    matches!(self.info.resolve(expr), Def::Local(_)) && is(self.info.type_of(expr))
                }
                ExprKind::Call { .. } => {
                    let gives = match self.info.type_of(expr) {
                        Type::Tuple(types) => types.iter().any(is),
                        ty => is(ty),
                    };
                    if gives && !self.is_kept_in_variables(expr) {
                        return false;
                    }
                    false
                }
                _ => false,
            };
            !is_holder
                || match self.place_of(expr) {
                    Carried::Selected | Carried::Assigned | Carried::Returned(_) => true,
                    Carried::Given(call) => matches!(
                        self.info.callee(call),
                        Callee::Func(callee) if callee.package == self.cx.package
                    ),
                    Carried::Elsewhere => false,
                }
        })
    }

    /// Whether what a call gives is returned, or goes into variables.
    fn is_kept_in_variables(&self, call: ExprId) -> bool {
        let Some(Node::Stmt(stmt)) = self.around(Node::Expr(call)) else { return false };
        match &self.file.stmt(stmt).kind {
            StmtKind::Return(_) => true,
            StmtKind::Assign { left, .. } | StmtKind::Define { left, .. } => {
                left.iter().all(|&left| matches!(self.file.expr(left).kind, ExprKind::Ident(_)))
            }
            _ => false,
        }
    }

    /// What becomes of a variable, or of its address, where it is named.
    fn place_of(&self, expr: ExprId) -> Carried {
        let mut value = expr;
        let mut around = self.around(Node::Expr(expr));
        if let Some(Node::Expr(outer)) = around
            && matches!(self.file.expr(outer).kind, ExprKind::Unary { op: UnaryOp::Addr, .. })
        {
            value = outer;
            around = self.around(Node::Expr(outer));
        }
        match around {
            Some(Node::Expr(outer)) => match &self.file.expr(outer).kind {
                ExprKind::Selector { .. } => Carried::Selected,
                ExprKind::Call { callee, .. } if self.file.unparen(*callee) != value => {
                    Carried::Given(outer)
                }
                _ => Carried::Elsewhere,
            },
            Some(Node::Stmt(stmt)) => match &self.file.stmt(stmt).kind {
                StmtKind::Return(values) => {
                    let place = values.iter().position(|&given| self.file.unparen(given) == value);
                    place.map_or(Carried::Elsewhere, Carried::Returned)
                }
                StmtKind::Assign { left, .. } | StmtKind::Define { left, .. }
                    if left.iter().any(|&left| self.file.unparen(left) == expr) =>
                {
                    Carried::Assigned
                }
                _ => Carried::Elsewhere,
            },
            _ => Carried::Elsewhere,
        }
    }
}

/// What becomes of a struct where it is named.
enum Carried {
    /// A field or method of it is used.
    Selected,
    /// It gets a value.
    Assigned,
    /// It is this result.
    Returned(usize),
    /// It is given to what this call calls.
    Given(ExprId),
    /// Something else.
    Elsewhere,
}

/// A method that ends values of a type of the package which a function makes that comes, directly
/// or not, to `func`.
fn constructor<'a>(cx: &PackageCx<'a>, func: FuncId) -> Option<&'a Func> {
    let package = cx.index.package(cx.package);
    package.funcs.iter().find_map(|made_by| {
        let Type::Func(signature) = cx.index.func_type(made_by.id) else { return None };
        let owner = signature
            .results
            .iter()
            .find_map(|result| result.declared().filter(|owner| owner.package == cx.package))?;
        if serves_tests(cx.index, made_by.id) || !comes_to(cx, made_by.id, func) {
            return None;
        }
        ending_method(cx, cx.index.object(owner).name)
    })
}

fn comes_to(cx: &PackageCx<'_>, from: FuncId, to: FuncId) -> bool {
    let mut met = FxHashSet::from_iter([from]);
    let mut open = VecDeque::from([(from, 0)]);
    while let Some((func, depth)) = open.pop_front() {
        if func == to {
            return true;
        }
        let file = cx.index.file_of(func);
        let decl = cx.index.func(func).decl;
        if depth == MAX_DEPTH || !matches!(file.decl(decl).kind, DeclKind::Func(_)) {
            continue;
        }
        let info = cx.index.body(func);
        for node in file.descendants(Node::Decl(decl)) {
            let Node::Expr(call) = node else { continue };
            if let ExprKind::Call { .. } = file.expr(call).kind
                && let Callee::Func(callee) = info.callee(call)
                && callee.package == cx.package
                && met.insert(*callee)
            {
                open.push_back((*callee, depth + 1));
            }
        }
    }
    false
}

fn finding(cx: &PackageCx<'_>, lent: &Lent, method: &Func) -> Finding {
    let (what, field) = (&lent.made.what, &lent.text);
    let stop = lent.made.ends.first().map_or("Close", |end| &**end);
    let owner = method.receiver.map_or("", |receiver| receiver.name.as_str());
    let message = format!(
        "`{}` of `{owner}` leaves the {what} running that is made here: nothing in the package \
         calls `{stop}` of it",
        method.name
    );
    let label = format!("kept in `{field}` alone");
    let mut finding = cx.finding(lent.made.location, &label, message);
    finding.labels.push(Label {
        location: cx.index.name_of(method.id),
        role: Role::Left,
        message: "ends the rest, and not this".to_owned(),
    });
    finding.why = format!(
        "its goroutine stays until `{stop}` is called; no other package gets the struct that \
         carries it, and this one does not do that"
    );
    finding.help = format!("keep it in `{owner}`, and call `{stop}` in `{}`", method.name);
    finding
}
