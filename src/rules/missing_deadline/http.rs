//! Requests over HTTP that nothing bounds: neither the request has a context nor the client a
//! timeout, and the function sends one again and again, so that each server that falls silent keeps
//! one more goroutine, or the only one that does the work.
//!
//! The client has to be seen where it is made, in this package: one that comes from elsewhere, or
//! whose transport does, may have bounds that are out of sight. Or it is the library's own, `http.DefaultClient`,
//! which has none unless somebody in the run sets one.

use crate::catalog::{Base, Blocking, Carrier, Wait, When};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Def, Type};
use crate::rules::FunctionCx;
use crate::rules::bound;
use crate::rules::makers::step_around;
use crate::rules::recurrence::{self, Runs};
use crate::source::{FileId, Location};
use crate::summary::{At, Function, Place, Read, Root, facts};
use crate::syntax::{DeclKind, ExprId, ExprKind, File, Node, StmtKind, Symbol, UnaryOp};

/// Texts in addresses of peers on the same machine.
const NEAR: [&str; 5] = ["localhost", "127.0.0.1", "169.254.", "unix", "[::1]"];

/// The requests of a function that nothing bounds.
pub fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    let function = &read.function;
    let sent: Vec<Sent> = function
        .bodies()
        .flat_map(|body| function.body(body).cfg.steps().map(move |step| At { body, step }))
        .filter_map(|at| sent(cx, function, at))
        .collect();
    // That a context is not passed on is another fault.
    if sent.is_empty() || is_near(cx) || takes(cx, Type::is_context) {
        return Vec::new();
    }
    let runs = recurrence::runs(&cx.package, cx.func);
    // Who is given a request has its context.
    let has_request = || takes(cx, |param| recurrence::is_of_request(&cx.package, param));
    let found = sent.iter().filter_map(|sent| {
        if sent.client.is_none() && has_request() {
            return None;
        }
        let (again, shown) = match runs {
            Runs::Again(location, shown) => (location, shown),
            Runs::Once | Runs::Unknown => turns(cx, function, sent.call)?,
        };
        Some(finding(cx, function, sent, again, shown))
    });
    found.collect()
}

/// The loop without an end that a request stands in, or from which the variable is called that holds its literal, and
/// what to say of it.
fn turns(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<(Location, &'static str)> {
    let file = function.file;
    let root = Node::Decl(cx.declared().decl);
    let own = || recurrence::repeated_by(&cx.package, cx.func, Node::Expr(call));
    let of_literal = || {
        let parents = file.parents(root);
        let literal = parents.around(Node::Expr(call)).find(|&node| {
            matches!(node, Node::Expr(expr) if matches!(file.expr(expr).kind, ExprKind::FuncLit(_)))
        })?;
        let Node::Stmt(stmt) = parents.of(literal)? else { return None };
        let StmtKind::Define { left, .. } = &file.stmt(stmt).kind else { return None };
        let &[name] = &left[..] else { return None };
        let Def::Local(variable) = *function.info.resolve(name) else { return None };
        file.descendants(root).find_map(|node| {
            let Node::Expr(called) = node else { return None };
            let ExprKind::Call { callee, .. } = file.expr(called).kind else { return None };
            let is_it = matches!(*function.info.resolve(file.unparen(callee)), Def::Local(local) if local == variable);
            is_it.then(|| recurrence::repeated_by(&cx.package, cx.func, node)).flatten()
        })
    };
    own().or_else(of_literal)
}

/// A request that nothing bounds.
struct Sent {
    call: ExprId,
    /// Where its request is made, if that is a step of its own.
    request: Option<ExprId>,
    /// Where the client is made; `None` if it is the library's own.
    client: Option<Location>,
}

fn sent(cx: &FunctionCx<'_>, function: &Function<'_>, at: At) -> Option<Sent> {
    let Step::Call(call) = function.step(at) else { return None };
    let fact = blocking(cx, function, call)?;
    if fact.wait != Wait::Http || fact.when != When::Call {
        return None;
    }
    let ExprKind::Call { callee, ref args, .. } = function.file.expr(call).kind else {
        return None;
    };
    let callee = function.file.unparen(callee);
    let Some(timeout) = fact.timeout.as_ref() else {
        let ExprKind::Selector { base, .. } = function.file.expr(callee).kind else { return None };
        let of_package = matches!(function.info.resolve(base), Def::Package(_));
        return (of_package && fact.context.is_none() && has_plain_default(cx)).then_some(Sent {
            call,
            request: None,
            client: None,
        });
    };
    let (Base::Receiver, Some(field)) = (timeout.base, timeout.field.as_deref()) else {
        return None;
    };
    let ExprKind::Selector { base, .. } = function.file.expr(callee).kind else { return None };
    let request = match fact.context {
        None => None,
        Some(Carrier::Request(index)) => {
            Some(plain_request(cx, function, at, *args.get(index as usize)?)?)
        }
        Some(_) => return None,
    };
    let may_bound = |name: &str| name == field || name == "Transport";
    if bound::is_assigned_before(function, call, base, &may_bound) {
        return None;
    }
    let client = match is_default(function, base) {
        true if has_plain_default(cx) => None,
        _ => Some(unbounded_client(cx, function, at, base, field)?),
    };
    Some(Sent { call, request, client })
}

/// Whether an expression is the library's own client.
fn is_default(function: &Function<'_>, client: ExprId) -> bool {
    let (path, name) = match *function.info.resolve(function.file.unparen(client)) {
        Def::External(name) => (name.path, name.name),
        Def::Global(object) => {
            let package = function.index.package(object.package);
            (package.path, function.index.object(object).name)
        }
        _ => return false,
    };
    path.as_str() == "net/http" && name.as_str() == DEFAULT_CLIENT
}

/// The library's own client.
const DEFAULT_CLIENT: &str = "DefaultClient";

/// Whether nobody in the run gives the library's own client a bound, or another one or another transport in its place.
fn has_plain_default(cx: &FunctionCx<'_>) -> bool {
    let sets = |name: &str| {
        let word = Symbol::new(name);
        cx.package.packages_with(word).any(|package| {
            let funcs = cx.index().package(package).funcs.iter();
            funcs.filter(|func| cx.index().may_name(func.id, word)).any(|func| {
                let file = cx.index().file_of(func.id);
                file.descendants(Node::Decl(func.decl)).any(|node| {
                    let Node::Stmt(stmt) = node else { return false };
                    let StmtKind::Assign { left, .. } = &file.stmt(stmt).kind else { return false };
                    left.iter()
                        .any(|&target| file.source.text(file.expr(target).span).contains(name))
                })
            })
        })
    };
    !sets(DEFAULT_CLIENT) && !sets("DefaultTransport")
}

fn blocking<'c>(
    cx: &FunctionCx<'c>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<&'c Blocking> {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    known.in_force::<Blocking>(cx.versions())
}

/// The call that makes a request without a context, if nothing else can have made it.
fn plain_request(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    request: ExprId,
) -> Option<ExprId> {
    let places = function.places(at, request);
    let Place { root: Root::Call(made, 0), path } = places.only()? else { return None };
    let fact = blocking(cx, function, *made)?;
    (path.is_empty() && fact.when == When::Result && fact.context.is_none()).then_some(*made)
}

/// Where a client is made without a timeout, if all that can have made it is in sight.
fn unbounded_client(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    client: ExprId,
    bound: &str,
) -> Option<Location> {
    let places = function.object_places(at, client);
    let place = places.only()?;
    let made = match (place.root, &place.path[..]) {
        (Root::Made(literal), []) => {
            let file: &File = cx.file();
            vec![Made { file, id: cx.declared().file, within: Some((*cx, Some(at))), literal }]
        }
        (Root::Global(object), []) => kept(cx, cx.index().object(object).name),
        (_, &[.., field]) => kept(cx, field),
        _ => return None,
    };
    let first = made.first()?;
    let location = Location { file: first.id, span: first.file.expr(first.literal).span };
    made.iter().all(|made| made.is_unbounded(bound)).then_some(location)
}

/// A composite literal that makes a client.
struct Made<'a> {
    file: &'a File,
    id: FileId,
    /// The function that it stands in, and a step after it, if that is known.
    within: Option<(FunctionCx<'a>, Option<At>)>,
    /// What is no literal counts as unknown.
    literal: ExprId,
}

impl Made<'_> {
    fn is_unbounded(&self, bound: &str) -> bool {
        let file = self.file;
        let ExprKind::CompositeLit { elements, .. } = &file.expr(self.literal).kind else {
            return false;
        };
        elements.iter().all(|element| {
            let Some(ExprKind::Ident(key)) = element.key.map(|key| &file.expr(key).kind) else {
                return false;
            };
            let may_bound = |key: &str| key.ends_with(bound) || key.starts_with("Dial");
            match key.as_str() {
                key if may_bound(key) => false,
                "Transport" => self.literal_of(element.value).is_some_and(|transport| match &file
                    .expr(transport)
                    .kind
                {
                    ExprKind::CompositeLit { elements, .. } => elements.iter().all(|element| {
                        match element.key.map(|key| &file.expr(key).kind) {
                            Some(ExprKind::Ident(key)) => !may_bound(key.as_str()),
                            _ => false,
                        }
                    }),
                    _ => false,
                }),
                _ => true,
            }
        })
    }

    /// The literal that an expression is, or that the variable holds that it is.
    fn literal_of(&self, value: ExprId) -> Option<ExprId> {
        match &self.within {
            Some((cx, at)) => literal_of(cx, *at, value),
            None => plain_literal(self.file, value),
        }
    }
}

/// The composite literal that an expression of a function stands for, `&` aside; a variable is
/// asked at the step that the expression is part of.
fn literal_of(cx: &FunctionCx<'_>, at: Option<At>, value: ExprId) -> Option<ExprId> {
    if let Some(literal) = plain_literal(cx.file(), value) {
        return Some(literal);
    }
    let read = cx.summaries().read(cx.func)?;
    let function = &read.function;
    let at = step_around(function, value).or(at)?;
    let places = function.places(at, value);
    match places.only()? {
        Place { root: Root::Made(literal), path } if path.is_empty() => Some(*literal),
        _ => None,
    }
}

fn plain_literal(file: &File, value: ExprId) -> Option<ExprId> {
    let mut value = file.unparen(value);
    if let ExprKind::Unary { op: UnaryOp::Addr, operand } = file.expr(value).kind {
        value = file.unparen(operand);
    }
    matches!(file.expr(value).kind, ExprKind::CompositeLit { .. }).then_some(value)
}

/// What the functions of the package keep in fields and variables of this name; one that is not
/// understood is among them as what it is.
fn kept<'a>(cx: &FunctionCx<'a>, name: Symbol) -> Vec<Made<'a>> {
    let mut found = Vec::new();
    let package = cx.index().package(cx.func.package);
    for spec in &package.specs {
        let file = package.tree(spec.file, spec.decl);
        let DeclKind::Var(var) = &file.decl(spec.decl).kind else { continue };
        let Some(place) = var.names.iter().position(|declared| declared.name == name) else {
            continue;
        };
        if let Some(&value) = var.values.get(place) {
            let literal = plain_literal(file, value).unwrap_or(value);
            found.push(Made { file, id: spec.file, within: None, literal });
        }
    }
    for func in &package.funcs {
        if cx.index().is_in_test_file(func.id) {
            continue;
        }
        let cx = FunctionCx { func: func.id, ..*cx };
        let file: &File = cx.file();
        let mut add = |value: ExprId| {
            let literal = literal_of(&cx, None, value).unwrap_or(value);
            found.push(Made { file, id: func.file, within: Some((cx, None)), literal });
        };
        for node in file.descendants(Node::Decl(func.decl)) {
            match node {
                Node::Expr(expr) => {
                    if let ExprKind::CompositeLit { elements, .. } = &file.expr(expr).kind {
                        for element in elements {
                            let key = element.key.map(|key| &file.expr(key).kind);
                            if matches!(key, Some(ExprKind::Ident(key)) if *key == name) {
                                add(element.value);
                            }
                        }
                    }
                }
                Node::Stmt(stmt) => {
                    if let StmtKind::Assign { left, right, .. } = &file.stmt(stmt).kind {
                        for (place, &left) in left.iter().enumerate() {
                            let is_it = match file.expr(file.unparen(left)).kind {
                                ExprKind::Selector { name: field, .. } => field.name == name,
                                ExprKind::Ident(variable) => variable == name,
                                _ => false,
                            };
                            if let Some(&value) = right.get(place).or(right.first())
                                && is_it
                            {
                                add(value);
                            }
                        }
                    }
                }
                Node::Decl(_) => {}
            }
        }
    }
    found
}

/// Whether the function names a peer on its own machine.
fn is_near(cx: &FunctionCx<'_>) -> bool {
    let file = cx.file();
    let text = file.source.text(file.decl(cx.declared().decl).span);
    NEAR.iter().any(|near| text.contains(near))
}

/// Whether the function is given something of such a type.
fn takes(cx: &FunctionCx<'_>, is_such: impl Fn(&Type) -> bool) -> bool {
    match cx.index().func_type(cx.func) {
        Type::Func(signature) => signature.params.iter().any(is_such),
        _ => false,
    }
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    sent: &Sent,
    again: Location,
    shown: &str,
) -> Finding {
    let file = function.file;
    let callee = function.callee_text(sent.call);
    let message = match sent.request {
        None if sent.client.is_none() => format!(
            "`{callee}` waits as long as its server likes: `http.DefaultClient` has no timeout"
        ),
        Some(_) => format!(
            "`{callee}` waits as long as its server likes: the request has no context, and the \
             client no timeout"
        ),
        None => format!("`{callee}` waits as long as its server likes: the client has no timeout"),
    };
    let mut finding = cx.finding(file.expr(sent.call).span, "no deadline", message);
    if sent.client.is_none()
        && let ExprKind::Call { callee, .. } = file.expr(sent.call).kind
    {
        // That the body stays open is another fault of the same call.
        finding.defect = cx.location(file.expr(callee).span);
    }
    finding.labels.extend(sent.client.map(|location| Label {
        location,
        role: Role::Made,
        message: "the client is made here, without a timeout".to_owned(),
    }));
    finding.labels.extend(sent.request.map(|request| Label {
        location: cx.location(file.expr(request).span),
        role: Role::Made,
        message: "the request is made here, without a context".to_owned(),
    }));
    finding.labels.push(Label { location: again, role: Role::Context, message: shown.to_owned() });
    finding.why = "a server that has accepted the connection and falls silent keeps it open: the \
                   goroutine stays, and all that wait for it"
        .to_owned();
    finding.help =
        "a context with a deadline for the request, or a `Timeout` of the client".to_owned();
    finding
}
