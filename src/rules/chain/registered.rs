//! Chains of routers: what is registered with one is passed by all requests in the order that the
//! catalog tells of it.

use crate::catalog::{Base, Chain as Registers, Order, TypeRole};
use crate::flow::Step;
use crate::index::{Def, Type};
use crate::rules::FunctionCx;
use crate::rules::handoff::has_role;
use crate::summary::{self, At, Function};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol};

use super::{Chain, Kind, Link, MAX_DEPTH, MAX_LINKS, list};

/// What is registered with one router by one method.
struct Router {
    /// The router, as the code calls it.
    text: String,
    method: Symbol,
    order: Order,
    links: Vec<Link>,
}

/// The chains that are registered in a function, literals in it included.
pub(super) fn chains(cx: &FunctionCx<'_>, function: &Function<'_>) -> Vec<Chain> {
    let mut routers: Vec<Router> = Vec::new();
    let mut calls: Vec<(At, ExprId)> = Vec::new();
    for body in function.bodies() {
        let cfg = &function.body(body).cfg;
        for step in cfg.steps() {
            if let Step::Call(call) = cfg.step(step) {
                calls.push((At { body, step }, call));
            }
        }
    }
    calls.sort_by_key(|&(_, call)| function.file.expr(call).span.start);
    for (at, call) in calls {
        let facts = summary::facts(cx.catalog(), function.index, function.info.callee(call));
        let Some(registers) = facts.in_force::<Registers>(cx.versions()) else { continue };
        let Base::Param(param) = registers.middleware.base else { continue };
        let ExprKind::Call { callee, args, spread } = &function.file.expr(call).kind else {
            continue;
        };
        let ExprKind::Selector { base, name } =
            function.file.expr(function.file.unparen(*callee)).kind
        else {
            continue;
        };
        // A call whose result is used makes a router of its own.
        if !is_statement(function, call) || is_package(function, base) {
            continue;
        }
        let Some(args) = args.get(param as usize..) else { continue };
        let added = match args {
            [slice] if *spread => list::of_slice(cx, function, at, *slice, MAX_DEPTH),
            _ => args
                .iter()
                .map(|&arg| is_filter(cx, function, arg).then(|| Link::new(cx, function, at, arg)))
                .collect(),
        };
        let text = key(function, at, base);
        let known =
            routers.iter_mut().find(|router| router.text == text && router.method == name.name);
        let links = match known {
            Some(router) => &mut router.links,
            None => {
                let order = registers.order;
                routers.push(Router { text, method: name.name, order, links: Vec::new() });
                &mut routers.last_mut().expect("one has just been added").links
            }
        };
        // What is not understood may stand anywhere: the rest keeps its order.
        links.extend(added.unwrap_or_default());
        links.truncate(MAX_LINKS);
    }
    let chains = routers.into_iter().map(|mut router| {
        if router.order == Order::OutermostFirst {
            router.links.reverse();
        }
        Chain {
            kind: Kind::Registered,
            handler: Some(router.text.split('@').next().unwrap_or_default().to_owned()),
            links: router.links,
            start: None,
            innermost: None,
            returned: false,
        }
    });
    chains.collect()
}

/// What tells one router from another: the variable, by the place of its declaration, or the text.
fn key(function: &Function<'_>, at: At, base: ExprId) -> String {
    let text = function.text(base);
    match function.info.resolve(function.file.unparen(base)) {
        Def::Local(local) => {
            // A variable that is assigned again is another router from then on.
            let places = function.places(at, base);
            let of = places.list.first().map_or(0, |place| match place.root {
                crate::summary::Root::Call(call, _) | crate::summary::Root::Made(call) => {
                    function.file.expr(call).span.start
                }
                _ => 0,
            });
            format!("{text}@{}:{of}", function.info.local(*local).span.start)
        }
        _ => text,
    }
}

fn is_statement(function: &Function<'_>, call: ExprId) -> bool {
    let decl = function.index.func(function.id).decl;
    function.file.descendants(Node::Decl(decl)).any(|node| match node {
        Node::Stmt(stmt) => {
            matches!(function.file.stmt(stmt).kind, StmtKind::Expr(expr) if expr == call)
        }
        _ => false,
    })
}

fn is_package(function: &Function<'_>, base: ExprId) -> bool {
    matches!(function.info.resolve(function.file.unparen(base)), Def::Package(_))
}

/// Whether an argument can be a filter: a path before it is none.
fn is_filter(cx: &FunctionCx<'_>, function: &Function<'_>, arg: ExprId) -> bool {
    let ty = function.info.type_of(arg);
    match function.index.underlying(ty) {
        Type::Func(_) | Type::Unknown => true,
        _ => has_role(cx, ty, TypeRole::Handler) || has_role(cx, ty, TypeRole::Middleware),
    }
}
