//! How often a function runs while its process lives, as far as the run's own calls tell: for each
//! request or turn of a loop that goes on, once when the process starts, or nobody knows.
//!
//! What a function leaves behind counts only where it runs again and again. The calls are looked
//! for by name in the function's package and in those that import it; calls through an interface
//! count where the receiver is known to implement it. It never says that anything is wrong.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::catalog::{TypeRole, TypeRoles};
use crate::index::{Callee, Func, FuncId, Index, Type};
use crate::project::PackageId;
use crate::rules::PackageCx;
use crate::rules::scene::serves_tests;
use crate::source::{Location, Span};
use crate::summary;
use crate::syntax::{ExprId, ExprKind, File, Ident, Node, Parents, StmtKind};

/// How often a function runs.
pub enum Runs {
    /// For each request, or for each turn of a loop that goes on; shown at this place.
    Again(Location, &'static str),
    /// When the process starts: all that leads to it is known.
    Once,
    /// Not known.
    Unknown,
}

/// How many functions are asked who calls them.
const MAX_FUNCTIONS: usize = 48;

/// How many calls lie between the function and what runs again and again.
const MAX_DEPTH: u32 = 6;

/// How often `func` runs, by those who call it, and who call those.
pub fn runs(cx: &PackageCx<'_>, func: FuncId) -> Runs {
    let mut met = FxHashSet::from_iter([func]);
    let mut open = VecDeque::from([(func, 0)]);
    let mut unknown = false;
    while let Some((func, depth)) = open.pop_front() {
        let declared = cx.index.func(func);
        if let Some(location) = serves_requests(cx, declared) {
            return Runs::Again(location, "runs for each request");
        }
        if is_start(cx.index, declared) {
            continue;
        }
        if depth == MAX_DEPTH || met.len() > MAX_FUNCTIONS {
            unknown = true;
            continue;
        }
        let uses = uses(cx, declared);
        unknown |= uses.unknown || uses.calls.is_empty();
        for (caller, call) in uses.calls {
            if let Some(location) = repeats(cx, caller, call) {
                return Runs::Again(location, "each turn of this loop comes here");
            }
            if met.insert(caller) {
                open.push_back((caller, depth + 1));
            }
        }
    }
    if unknown { Runs::Unknown } else { Runs::Once }
}

/// Whether a function runs when the process starts: `main` and `init`.
fn is_start(index: &Index<'_>, func: &Func) -> bool {
    func.receiver.is_none()
        && match func.name.as_str() {
            "init" => true,
            "main" => index.package(func.id.package).name.as_str() == "main",
            _ => false,
        }
}

/// Where a function says that it is there for one request: it is given it, or is what a controller
/// calls for each change.
fn serves_requests(cx: &PackageCx<'_>, func: &Func) -> Option<Location> {
    let Type::Func(signature) = cx.index.func_type(func.id) else { return None };
    let of_request = signature.params.iter().any(|param| is_of_request(cx, param));
    let reconciles = func.receiver.is_some() && func.name.as_str() == "Reconcile";
    (of_request || reconciles).then(|| cx.index.name_of(func.id))
}

/// Whether a type is a request, what answers one, or what a framework gives a handler.
fn is_of_request(cx: &PackageCx<'_>, ty: &Type) -> bool {
    let Some(named) = ty.named() else { return false };
    let facts = summary::named(cx.catalog, named.qualified());
    facts.in_force::<TypeRoles>(cx.versions).is_some_and(|roles| {
        [TypeRole::ResponseWriter, TypeRole::Request, TypeRole::Pooled]
            .iter()
            .any(|role| roles.roles.contains(role))
    })
}

/// Who uses a function.
#[derive(Default)]
struct Uses {
    calls: Vec<(FuncId, ExprId)>,
    /// Whether somebody may use it who is not listed.
    unknown: bool,
}

/// The calls of a function in its package and in those of the run that import it, tests left out.
pub fn calls(cx: &PackageCx<'_>, func: &Func) -> Vec<(FuncId, ExprId)> {
    uses(cx, func).calls
}

/// Who uses a function, in its package and in those of the run that import it.
fn uses(cx: &PackageCx<'_>, func: &Func) -> Uses {
    let mut uses = Uses::default();
    let name = func.name.as_str();
    let own = func.id.package;
    for package in cx.packages_with(func.name) {
        if package != own && !sees(cx.index, package, own) && func.receiver.is_none() {
            continue;
        }
        for caller in &cx.index.package(package).funcs {
            if !cx.index.may_name(caller.id, func.name) {
                continue;
            }
            let file = cx.index.file_of(caller.id);
            let text = file.source.slice(file.decl(caller.decl).span);
            if serves_tests(cx.index, caller.id) || !holds(text, name.as_bytes()) {
                continue;
            }
            find_uses(cx, func, caller, &mut uses);
        }
        uses.unknown |= is_named_in_variables(cx, package, func);
    }
    uses
}

/// Whether the initial values of a package's variables name a function.
fn is_named_in_variables(cx: &PackageCx<'_>, package: PackageId, func: &Func) -> bool {
    let of_package = cx.index.package(package);
    of_package.specs.iter().zip(0..).any(|(spec, number)| {
        if !of_package.may_name(spec.file, spec.decl, func.name) {
            return false;
        }
        let file = of_package.tree(spec.file, spec.decl);
        let text = file.source.slice(file.decl(spec.decl).span);
        if !holds(text, func.name.as_str().as_bytes()) {
            return false;
        }
        let info = cx.index.spec_body(package, number);
        file.descendants(Node::Decl(spec.decl)).any(|node| {
            let Node::Expr(expr) = node else { return false };
            cx.index.func_named(info, expr) == Some(func.id)
        })
    })
}

fn sees(index: &Index<'_>, package: PackageId, own: PackageId) -> bool {
    index.imports_in_run(package).contains(&own)
}

fn holds(text: &[u8], name: &[u8]) -> bool {
    !name.is_empty() && memchr::memmem::find(text, name).is_some()
}

fn find_uses(cx: &PackageCx<'_>, func: &Func, caller: &Func, uses: &mut Uses) {
    let file: &File = cx.index.file_of(caller.id);
    let info = cx.index.body(caller.id);
    let mut callees: FxHashSet<ExprId> = FxHashSet::default();
    for node in file.descendants(Node::Decl(caller.decl)) {
        let Node::Expr(expr) = node else { continue };
        match file.expr(expr).kind {
            ExprKind::Call { callee, .. } => {
                let is_call = match info.callee(expr) {
                    Callee::Func(called) => *called == func.id,
                    Callee::InterfaceMethod(selection) => {
                        selection.name == func.name && may_run(cx.index, func, &selection.owner)
                    }
                    Callee::Unknown { name } => {
                        uses.unknown |= *name == Some(func.name);
                        false
                    }
                    _ => false,
                };
                if is_call {
                    callees.insert(file.unparen(callee));
                    // What a program's own package keeps for later is what its commands do, once.
                    let of_program = cx.index.package(caller.id.package).name.as_str() == "main";
                    uses.unknown |= !of_program && is_kept_for_later(file, caller, expr);
                    uses.calls.push((caller.id, expr));
                }
            }
            ExprKind::Ident(name) | ExprKind::Selector { name: Ident { name, .. }, .. }
                if name == func.name && !callees.contains(&expr) =>
            {
                uses.unknown |= cx.index.func_named(info, expr) == Some(func.id);
            }
            _ => {}
        }
    }
}

/// Whether a call stands in a function literal that is neither called, started nor deferred where it
/// stands, so that whoever has it may call it at any time.
fn is_kept_for_later(file: &File, caller: &Func, call: ExprId) -> bool {
    let parents = file.parents(Node::Decl(caller.decl));
    parents.around(Node::Expr(call)).any(|around| {
        let Node::Expr(literal) = around else { return false };
        if !matches!(file.expr(literal).kind, ExprKind::FuncLit(_)) {
            return false;
        }
        match parents.around(around).next() {
            Some(Node::Expr(outer)) => match file.expr(outer).kind {
                ExprKind::Call { callee, .. } => file.unparen(callee) != literal,
                _ => true,
            },
            _ => true,
        }
    })
}

/// Whether a method may be what a call through an interface runs.
fn may_run(index: &Index<'_>, method: &Func, interface: &Type) -> bool {
    let Some(owner) = method.receiver.and_then(|receiver| receiver.ty) else { return false };
    let ty = index.object_type(owner);
    index.implements(&ty.pointer(), interface) == Some(true)
}

/// Where a call stands in a loop that goes on as long as there is something to do: one without an
/// end in sight, or over a channel; or in a function literal that answers requests.
fn repeats(cx: &PackageCx<'_>, caller: FuncId, call: ExprId) -> Option<Location> {
    let func = cx.index.func(caller);
    let file: &File = cx.index.file_of(caller);
    let info = cx.index.body(caller);
    let parents: Parents = file.parents(Node::Decl(func.decl));
    let around = parents.around(Node::Expr(call)).find(|&around| match around {
        Node::Stmt(stmt) => match file.stmt(stmt).kind {
            StmtKind::For { post: None, .. } => !leaves(file, &parents, call, around),
            StmtKind::Range { subject, .. } => {
                matches!(cx.index.underlying(info.type_of(subject)), Type::Chan(..))
            }
            _ => false,
        },
        Node::Expr(expr) => match &file.expr(expr).kind {
            ExprKind::FuncLit(_) => match info.type_of(expr) {
                Type::Func(signature) => {
                    signature.params.iter().any(|param| is_of_request(cx, param))
                }
                _ => false,
            },
            _ => false,
        },
        Node::Decl(_) => false,
    })?;
    let span = match around {
        Node::Stmt(stmt) => file.stmt(stmt).span,
        Node::Expr(expr) => file.expr(expr).span,
        Node::Decl(decl) => file.decl(decl).span,
    };
    let word = file.source.slice(span).iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let span = Span::new(span.start, span.start + word as u32);
    Some(Location { file: func.file, span })
}

/// Whether the turn of a loop that makes a call ends with the loop: the call is part of a `return`.
fn leaves(file: &File, parents: &Parents, call: ExprId, around: Node) -> bool {
    let inner = parents.around(Node::Expr(call)).take_while(|&node| node != around);
    inner.into_iter().any(|node| match node {
        Node::Stmt(stmt) => matches!(file.stmt(stmt).kind, StmtKind::Return(_)),
        _ => false,
    })
}
