//! Chains of routers: what is registered with one is passed by all requests in the order that the
//! catalog tells of it. A router that is made out of another one passes the filters of that one
//! first. Functions that are given a router, or give one, are read where they are called; and a
//! program's own type with a list of filters, which one method adds to and another applies, is a
//! router too.

mod own;
mod routers;

use crate::catalog::{Base, Chain as Registers, Place as Value, Subrouter, TypeRole};
use crate::flow::Step;
use crate::index::{Callee, Def, FuncId, ObjectKind, Type};
use crate::rules::FunctionCx;
use crate::rules::handoff::has_role;
use crate::rules::scene::holds_any;
use crate::summary::{self, At, Function, Place, Root};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

use super::{Chain, Link, MAX_DEPTH, list};
use routers::{Added, Frame, Id, Routers};

/// The chains that are registered in a function, literals in it included.
pub(super) fn chains(cx: &FunctionCx<'_>, function: &Function<'_>) -> Vec<Chain> {
    let mut reader = Reader { routers: Routers::default(), frames: 0 };
    reader.function(cx, function, &Frame::default(), MAX_DEPTH);
    reader.routers.chains()
}

/// How many functions are read where they are called.
const MAX_FUNCTIONS: u32 = 32;

/// How many calls are followed from a router to the one that its methods were called on first.
const MAX_CALLS: u32 = 32;

/// Reads functions as what they do with routers, in order of the source.
struct Reader {
    routers: Routers,
    /// How many functions were read where they are called.
    frames: u32,
}

impl Reader {
    fn function(
        &mut self,
        cx: &FunctionCx<'_>,
        function: &Function<'_>,
        frame: &Frame<'_>,
        depth: u32,
    ) {
        let mut events: Vec<(At, ExprId)> = Vec::new();
        for body in function.bodies() {
            let cfg = &function.body(body).cfg;
            for step in cfg.steps() {
                if let Step::Call(call) = cfg.step(step) {
                    events.push((At { body, step }, call));
                }
            }
        }
        events.sort_by_key(|&(_, call)| function.file.expr(call).span.start);
        for (at, call) in events {
            self.call(cx, function, frame, (at, call), depth);
        }
    }

    fn call(
        &mut self,
        cx: &FunctionCx<'_>,
        function: &Function<'_>,
        frame: &Frame<'_>,
        (at, call): (At, ExprId),
        depth: u32,
    ) {
        let callee = function.info.callee(call);
        let facts = summary::facts(cx.catalog(), function.index, callee);
        let receiver = receiver(function, call);
        if let (Some(made), Some(outer)) = (facts.in_force::<Subrouter>(cx.versions()), receiver) {
            let outer = id_of(cx, function, frame, at, outer);
            return self.subrouter(cx, function, frame, (at, call), (made, outer), depth);
        }
        if let (Some(registers), Some(router)) =
            (facts.in_force::<Registers>(cx.versions()), receiver)
        {
            // A call whose result is used makes a router of its own.
            if registers.gives_router || is_statement(function, call) {
                let added = Added {
                    to: id_of(cx, function, frame, at, router),
                    outside: registers.outside,
                    order: registers.order,
                    title: title(function, router),
                };
                let links = links(cx, function, frame, (at, call), &registers.middleware);
                self.routers.add(added, links);
            }
            return;
        }
        let Callee::Func(func) = callee else { return };
        if let Some(router) = receiver
            && let Some(list) = own::added_by(cx, *func)
        {
            let added = Added {
                to: id_of(cx, function, frame, at, router).field(list.field),
                outside: false,
                order: list.order,
                title: title(function, router),
            };
            let param = Value { base: Base::Param(list.param), field: None };
            let links = links(cx, function, frame, (at, call), &param);
            return self.routers.add(added, links);
        }
        self.follow(cx, function, frame, (at, call), *func, depth);
    }

    /// A call that makes a router out of another one.
    fn subrouter(
        &mut self,
        cx: &FunctionCx<'_>,
        function: &Function<'_>,
        frame: &Frame<'_>,
        (at, call): (At, ExprId),
        (made, outer): (&Subrouter, Id),
        depth: u32,
    ) {
        let own = frame.id(&Place::root(Root::Call(call, 0)));
        let title = title(function, call);
        self.routers.derive(&own, &outer, made.inherits, &title);
        if let Some(middleware) = &made.middleware {
            let links = links(cx, function, frame, (at, call), middleware);
            let added = Added { to: own.clone(), outside: false, order: made.order, title };
            self.routers.add(added, links);
        }
        let ExprKind::Call { args, .. } = &function.file.expr(call).kind else { return };
        let Some(Value { base: Base::Param(param), .. }) = made.callback else { return };
        let Some(&callback) = args.get(param as usize) else { return };
        let callback = function.file.unparen(callback);
        if function.body_of_literal(callback).is_some() {
            let given = frame.id(&Place::root(Root::LiteralParam(callback, 0)));
            return self.routers.same(&given, &own);
        }
        let func = match function.info.resolve(callback) {
            Def::Method(func, _) => *func,
            Def::Global(object) => match cx.index().object(*object).kind {
                ObjectKind::Func(func) => func,
                _ => return,
            },
            _ => return,
        };
        let receiver = match function.file.expr(callback).kind {
            ExprKind::Selector { base, .. } => Some(id_of(cx, function, frame, at, base)),
            _ => None,
        };
        self.read(cx, (at, func), (receiver, vec![Some(own)]), frame, depth);
    }

    /// A call of a function of the run, which may be given a router, or give one.
    fn follow(
        &mut self,
        cx: &FunctionCx<'_>,
        function: &Function<'_>,
        frame: &Frame<'_>,
        (at, call): (At, ExprId),
        func: FuncId,
        depth: u32,
    ) {
        if !holds_any(&FunctionCx { func, ..*cx }, &["Use(", "use(", "iddleware", "ilter"]) {
            return;
        }
        let ExprKind::Call { args, .. } = &function.file.expr(call).kind else { return };
        let mut of = |expr| Some(id_of(cx, function, frame, at, expr));
        let receiver = receiver(function, call).and_then(&mut of);
        let params = args.iter().map(|&arg| of(arg)).collect();
        if let Some(given) = self.read(cx, (at, func), (receiver, params), frame, depth) {
            self.routers.same(&frame.id(&Place::root(Root::Call(call, 0))), &given);
        }
    }

    /// Reads a function where it is called, and gives the router that it returns.
    fn read(
        &mut self,
        cx: &FunctionCx<'_>,
        (at, func): (At, FuncId),
        (receiver, params): (Option<Id>, Vec<Option<Id>>),
        caller: &Frame<'_>,
        depth: u32,
    ) -> Option<Id> {
        let depth = depth.checked_sub(1)?;
        if self.frames == MAX_FUNCTIONS {
            return None;
        }
        let read = cx.summaries().read(func)?;
        self.frames += 1;
        let mut way = caller.way.to_vec();
        way.push((cx.func, at));
        let frame = Frame { number: self.frames, receiver, params, way: &way };
        let cx = FunctionCx { func, ..*cx };
        self.function(&cx, &read.function, &frame, depth);
        read.function.returns().find_map(|(at, values)| {
            let given = id_of(&cx, &read.function, &frame, at, *values.first()?);
            self.routers.knows(&given).then_some(given)
        })
    }
}

/// The filters that a call is given from a parameter on, in the order of the arguments. What is not
/// understood may stand anywhere: the rest keeps its order.
fn links(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    frame: &Frame<'_>,
    (at, call): (At, ExprId),
    middleware: &Value,
) -> Vec<Link> {
    let ExprKind::Call { args, spread, .. } = &function.file.expr(call).kind else {
        return Vec::new();
    };
    let Base::Param(param) = middleware.base else { return Vec::new() };
    let Some(args) = args.get(param as usize..) else { return Vec::new() };
    let mut added = match args {
        [slice] if *spread => {
            list::of_slice(cx, function, at, *slice, MAX_DEPTH).unwrap_or_default()
        }
        _ => args
            .iter()
            .filter(|&&arg| is_filter(cx, function, arg))
            .map(|&arg| Link::new(cx, function, at, arg))
            .collect(),
    };
    for link in &mut added {
        link.way.splice(0..0, frame.way.iter().copied());
    }
    added
}

/// The router that an expression stands for.
fn id_of(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    frame: &Frame<'_>,
    at: At,
    expr: ExprId,
) -> Id {
    let (mut at, mut expr) = (at, function.file.unparen(expr));
    for _ in 0..MAX_CALLS {
        let places = function.places(at, expr).list;
        let Some(place) = places.first() else { break };
        match place.root {
            Root::Call(call, 0) if place.path.is_empty() && gives_router(cx, function, call) => {
                let Some(base) = receiver(function, call) else { break };
                at = function.at_call(call).unwrap_or(at);
                expr = function.file.unparen(base);
            }
            _ => return frame.id(place),
        }
    }
    Id::Text(frame.number, function.text(expr))
}

/// Whether a call gives the router that it was called on.
fn gives_router(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    summary::facts(cx.catalog(), function.index, function.info.callee(call))
        .in_force::<Registers>(cx.versions())
        .is_some_and(|registers| registers.gives_router)
}

/// What a method is called on.
fn receiver(function: &Function<'_>, call: ExprId) -> Option<ExprId> {
    let file = function.file;
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return None };
    let ExprKind::Selector { base, .. } = file.expr(file.unparen(callee)).kind else { return None };
    let is_package = matches!(function.info.resolve(file.unparen(base)), Def::Package(_));
    (!is_package).then_some(base)
}

/// What a router is called: its code, without what a call of it is given.
fn title(function: &Function<'_>, router: ExprId) -> String {
    let mut code = function.file.unparen(router);
    while let ExprKind::Call { callee, .. } = function.file.expr(code).kind {
        code = function.file.unparen(callee);
    }
    let called = function.text(code);
    match function.file.expr(router).kind {
        ExprKind::Call { ref args, .. } => match args.first().map(|&arg| function.file.expr(arg)) {
            Some(arg) if matches!(arg.kind, ExprKind::BasicLit(_)) => {
                format!("{called}({})", function.text(args[0]))
            }
            _ => called,
        },
        _ => called,
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

/// Whether an argument can be a filter: a path before it is none.
fn is_filter(cx: &FunctionCx<'_>, function: &Function<'_>, arg: ExprId) -> bool {
    let ty = function.info.type_of(arg);
    match function.index.underlying(ty) {
        Type::Func(_) | Type::Unknown => true,
        _ => has_role(cx, ty, TypeRole::Handler) || has_role(cx, ty, TypeRole::Middleware),
    }
}
