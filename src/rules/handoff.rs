//! What the rules of group `handoff` share: the goroutine that a function may leave behind, the way
//! on which it does, and what requests and responses are.

use crate::catalog::{Copying, Depth, Part, Signature, TypeRole};
use crate::flow::{EdgeKind, Exit, Path, PathEnd, Step};
use crate::index::{Def, LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::source::{Location, Span};
use crate::summary::{self, Act, At, BodyId, Effect, Function, Mode, Place, Read, Root, Spawn};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Whether the body that starts a goroutine, of whose end nothing is known, waits for anything
/// after it: that may well be the goroutine.
pub fn waits_for_something(read: &Read<'_>, at: At) -> bool {
    let cfg = &read.function.body(at.body).cfg;
    read.waits(at.body).iter().any(|(wait, _)| cfg.reaches(at.step, wait.step))
}

/// The methods of a response writer that a handler calls while it writes its response, of
/// `net/http`'s `ResponseWriter`, `Flusher`, `Hijacker` and `Pusher`, and of `io`'s `ReaderFrom` and
/// `StringWriter`: what they do, they do in the handler's own goroutine.
pub const WRITER_METHODS: [&str; 8] =
    ["Header", "Write", "WriteHeader", "WriteString", "Flush", "Hijack", "Push", "ReadFrom"];

/// Whether a handler takes over the connection of its request before a step, by `Hijack`, or by an `Upgrade` that
/// is given the request: from then on the server does nothing with it. The response writer writes nothing, and
/// the request's context is not cancelled before the handler returns (`net/http`'s `Hijacker`).
pub fn takes_over_before(cx: &FunctionCx<'_>, function: &Function<'_>, at: At) -> bool {
    let answers = |ty: &Type| {
        [TypeRole::ResponseWriter, TypeRole::Pooled].iter().any(|&role| has_role(cx, ty, role))
    };
    let mut locals = function.info.locals().iter();
    // Who only has a request is its client.
    if !locals.any(|local| matches!(local.kind, LocalKind::Param(_)) && answers(&local.ty)) {
        return false;
    }
    let cfg = &function.body(at.body).cfg;
    cfg.steps().any(|step| {
        let Some(call) = cfg.step(step).call(function.file) else { return false };
        let Some((_, name)) = function.file.method_call(call) else { return false };
        let is_request =
            |arg: &ExprId| has_role(cx, function.info.type_of(*arg), TypeRole::Request);
        let takes_over = match name.name.as_str() {
            "Hijack" => true,
            "Upgrade" => function.args(call).iter().any(is_request),
            _ => false,
        };
        takes_over && cfg.reaches(step, at.step)
    })
}

/// Whether a call is of a handler: of what takes a response writer and a request, and gives nothing.
pub fn is_handler(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let ExprKind::Call { callee, args, .. } = &function.file.expr(call).kind else { return false };
    let ty = function.info.type_of(*callee);
    match (function.index.underlying(ty), &args[..]) {
        (Type::Func(signature), _) => {
            matches!(&signature.params[..], [writer, request]
                if has_role(cx, writer, TypeRole::ResponseWriter)
                    && has_role(cx, request, TypeRole::Request))
                && signature.results.is_empty()
        }
        // The package that declares the type need not be there.
        (_, [_, request]) => {
            has_role(cx, ty, TypeRole::Handler)
                && has_role(cx, function.info.type_of(*request), TypeRole::Request)
        }
        _ => false,
    }
}

/// Whether this function value is the method of a handler of which nothing else is known: it runs
/// whatever handler that is.
pub fn is_any_handlers(cx: &FunctionCx<'_>, function: &Function<'_>, callee: ExprId) -> bool {
    match function.file.expr(function.file.unparen(callee)).kind {
        ExprKind::Selector { base, name } => {
            name.name.as_str() == "ServeHTTP"
                && has_role(cx, function.info.type_of(base), TypeRole::Handler)
        }
        _ => false,
    }
}

/// Whether a type, or what it points to, has this role in the handling of requests.
pub fn has_role(cx: &FunctionCx<'_>, ty: &Type, role: TypeRole) -> bool {
    cx.package.has_role(ty, role)
}

/// The way out that needs no goroutine, for the end of a help text, if the module's Go has it.
pub fn deadlines(cx: &FunctionCx<'_>) -> &'static str {
    let controller = cx.catalog().facts("net/http", None, "NewResponseController");
    match controller.in_force::<Signature>(cx.versions()) {
        Some(_) => {
            "; where only reading and writing take long, the deadlines of \
             `http.NewResponseController(w)` need no goroutine"
        }
        None => "",
    }
}

/// The local variable that an expression is.
pub fn variable(function: &Function<'_>, expr: ExprId) -> Option<LocalId> {
    let expr = function.file.unparen(expr);
    match (&function.file.expr(expr).kind, function.info.resolve(expr)) {
        (ExprKind::Ident(_), Def::Local(local)) => Some(*local),
        _ => None,
    }
}

/// The keyword of a `go` statement.
pub fn go_keyword(function: &Function<'_>, spawn: &Spawn) -> Span {
    let start = function.step(spawn.at).span(function.file).start;
    Span::new(start, start + "go".len() as u32)
}

/// Where the function leaves without the goroutine, and on what condition.
pub fn way_out<S>(function: &Function<'_>, at: At, leaves: &Path<S>) -> Option<(Span, String)> {
    let file = function.file;
    let arm = leaves.decisions().find_map(|kind| match kind {
        EdgeKind::Arm(select, arm) => Some((select, arm)),
        _ => None,
    });
    if let Some((select, arm)) = arm
        && let StmtKind::Select(clauses) = &file.stmt(select).kind
        && let Some(comm) = clauses.get(arm as usize).and_then(|clause| clause.comm)
        && let Some(channel) = Step::Comm(comm).received_from(file)
    {
        let told = format!(
            "when `{}` is ready first, the function leaves without the goroutine",
            function.text(channel)
        );
        return Some((file.stmt(comm).span, told));
    }
    let PathEnd::Exit(_, exit) = leaves.end else { return None };
    let told = "the function leaves without waiting for the goroutine".to_owned();
    match exit {
        Exit::Return(stmt) => Some((file.stmt(stmt).span, told)),
        _ => {
            let end = file.stmt(function.body(at.body).block).span.end;
            Some((Span::new(end.saturating_sub(1), end), told))
        }
    }
}

/// A way on which a function returns while this goroutine of it still runs.
fn returned_before(spawn: &Spawn) -> Option<&Path> {
    let returns = |path: &&Path| matches!(path.end, PathEnd::Exit(_, Exit::Return(_) | Exit::End));
    spawn.outlives.iter().find(returns)
}

/// Where a function returns while this goroutine of it still runs, and on what condition.
pub fn returned_at(function: &Function<'_>, spawn: &Spawn) -> Option<(Span, String)> {
    returned_before(spawn).and_then(|path| way_out(function, spawn.at, path))
}

/// Whether a function can return while this goroutine of it still runs.
pub fn is_left_behind(read: &Read<'_>, spawn: &Spawn) -> bool {
    returned_before(spawn).is_some()
        && !(spawn.signals.is_empty() && waits_for_something(read, spawn.at))
}

/// Whether the goroutine calls a handler: with a response writer and a request, or with the one
/// value that stands for both.
pub fn runs_handler(cx: &FunctionCx<'_>, function: &Function<'_>, spawn: &Spawn) -> bool {
    function.file.descendants(Node::Expr(spawn.call)).any(|node| {
        let Node::Expr(call) = node else { return false };
        is_handler(cx, function, call) || goes_on_with_chain(cx, function, call)
    })
}

/// Whether a call gives the one value that is both request and response of a pool to what comes
/// next, as the handlers of web frameworks do: as its parameter, or as the receiver of `Next`.
pub fn goes_on_with_chain(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let ExprKind::Call { callee, args, .. } = &function.file.expr(call).kind else { return false };
    if let ExprKind::Selector { base, name } =
        function.file.expr(function.file.unparen(*callee)).kind
        && name.name.as_str() == "Next"
        && has_role(cx, function.info.type_of(base), TypeRole::Pooled)
    {
        return true;
    }
    let stands_for_both =
        |ty: &Type| has_role(cx, ty, TypeRole::Pooled) && has_role(cx, ty, TypeRole::Request);
    let ty = function.info.type_of(*callee);
    match (function.index.underlying(ty), &args[..]) {
        (Type::Func(signature), _) => {
            matches!(&signature.params[..], [only] if stands_for_both(only))
        }
        // The package that declares the type need not be there.
        (_, [only]) => {
            has_role(cx, ty, TypeRole::Handler) && stands_for_both(function.info.type_of(*only))
        }
        _ => false,
    }
}

/// A request, a response, or what stands for both, that a goroutine uses.
pub struct Held {
    /// The parameter that it comes from.
    pub parameter: LocalId,
    /// It.
    pub place: Place,
    /// What it is.
    pub what: Exchange,
    /// Where the goroutine uses it.
    pub used: Location,
}

/// What a function that handles a request is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The writer of the response.
    Writer,
    /// The body of the request.
    Body,
    /// A value of a pool, which stands for request and response.
    Pooled,
}

/// What the goroutine uses of what the function around it is given to handle one request: each
/// parameter once.
pub fn held(cx: &FunctionCx<'_>, read: &Read<'_>, spawn: &Spawn) -> Vec<Held> {
    let function = &read.function;
    let mut found: Vec<Held> = Vec::new();
    for effect in read.effects_at(spawn.at).filter(|effect| effect.mode == Mode::Spawned) {
        let Some(parameter) = parameter(function, spawn.at.body, &effect.place) else { continue };
        let Some(what) = exchange(cx, function, parameter, effect) else { continue };
        let is_new = !found.iter().any(|held| held.parameter == parameter);
        if what == Exchange::Body && is_read_before(function, spawn.at, parameter) {
            continue;
        }
        if is_new && !is_kept(cx, read, spawn.at.body, &effect.place) {
            let used = cx.location(first_mention(function, spawn, parameter));
            found.push(Held { parameter, place: effect.place.clone(), what, used });
        }
    }
    found
}

/// Whether the body of a request was read to its end before a place, or its form parsed: whoever asks for the form
/// after that is given what is kept.
fn is_read_before(function: &Function<'_>, at: At, request: LocalId) -> bool {
    let (file, cfg) = (function.file, &function.body(at.body).cfg);
    let is_of_request = |expr: ExprId| match file.expr(file.unparen(expr)).kind {
        ExprKind::Selector { base, .. } => function.variable(base) == Some(request),
        _ => function.variable(expr) == Some(request),
    };
    cfg.steps().any(|step| {
        let Step::Call(call) = cfg.step(step) else { return false };
        let Some((base, name)) = file.method_call(call) else { return false };
        let reads = match name.name.as_str() {
            "ReadAll" => function.args(call).iter().any(|&arg| is_of_request(arg)),
            "ParseForm" | "ParseMultipartForm" | "FormValue" | "PostFormValue" | "FormFile" => {
                is_of_request(base)
            }
            _ => false,
        };
        reads && cfg.dominates(step, at.step)
    })
}

/// Whether the body takes a value of a pool out of it for good: by a call without results that
/// detaches what it is called on.
fn is_kept(cx: &FunctionCx<'_>, read: &Read<'_>, body: BodyId, place: &Place) -> bool {
    let function = &read.function;
    let cfg = &function.body(body).cfg;
    cfg.steps().any(|step| {
        let Step::Call(call) = cfg.step(step) else { return false };
        let facts = summary::facts(cx.catalog(), function.index, function.info.callee(call));
        let detaches = facts
            .in_force::<Copying>(cx.versions())
            .is_some_and(|copying| copying.depth == Depth::Detached);
        let gives = match function.info.type_of(call) {
            Type::Tuple(results) => !results.is_empty(),
            ty => !ty.is_unknown(),
        };
        let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return false };
        let ExprKind::Selector { base, .. } = function.file.expr(callee).kind else { return false };
        let at = At { body, step };
        detaches && !gives && function.object_places(at, base).list.contains(place)
    })
}

/// Where the goroutine first speaks of a parameter; its call if it gets it by another name.
fn first_mention(function: &Function<'_>, spawn: &Spawn, parameter: LocalId) -> Span {
    let mut nodes = function.file.descendants(Node::Expr(spawn.call));
    let first = nodes.find_map(|node| match node {
        Node::Expr(expr) if variable(function, expr) == Some(parameter) => Some(expr),
        _ => None,
    });
    function.file.expr(first.unwrap_or(spawn.call)).span
}

/// The parameter of the body that a place is, as it was given.
pub fn parameter(function: &Function<'_>, body: BodyId, place: &Place) -> Option<LocalId> {
    let literal = function.body(body).literal;
    let index = match place.root {
        Root::Param(index) if literal.is_none() => index,
        Root::LiteralParam(of, index) if literal == Some(of) => index,
        _ => return None,
    };
    function.info.param(literal, index)
}

/// What a parameter is to a function that handles a request, if the effect is a use that needs the
/// request to be still handled.
fn exchange(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    parameter: LocalId,
    effect: &Effect,
) -> Option<Exchange> {
    let local = function.info.local(parameter);
    let whole = effect.place.path.is_empty();
    if has_role(cx, &local.ty, TypeRole::Pooled) {
        let used =
            matches!(effect.act, Act::Captured | Act::Passed | Act::Method(_) | Act::Touched(..));
        return (whole && used).then_some(Exchange::Pooled);
    }
    if !is_given_both(cx, function, local.owner) {
        return None;
    }
    if has_role(cx, &local.ty, TypeRole::ResponseWriter) {
        let used = matches!(
            effect.act,
            Act::Captured
                | Act::Passed
                | Act::Method(_)
                | Act::Touched(Part::Response | Part::ResponseHeader, _)
        );
        return (whole && used).then_some(Exchange::Writer);
    }
    let reads = matches!(effect.act, Act::Touched(Part::RequestBody, _));
    (reads && has_role(cx, &local.ty, TypeRole::Request)).then_some(Exchange::Body)
}

/// Whether a function takes a response writer and a request and nothing else, so that it is called
/// by a server or by another handler.
pub fn is_given_both(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    literal: Option<ExprId>,
) -> bool {
    let mut given = [false, false];
    for local in function.info.locals() {
        match local.kind {
            LocalKind::Param(0) if local.owner == literal => {
                given[0] = has_role(cx, &local.ty, TypeRole::ResponseWriter);
            }
            LocalKind::Param(1) if local.owner == literal => {
                given[1] = has_role(cx, &local.ty, TypeRole::Request);
            }
            LocalKind::Param(_) | LocalKind::Result(_) if local.owner == literal => return false,
            _ => {}
        }
    }
    given == [true, true]
}

/// Whether somebody else than the function's own steps may wait for the goroutine: what it signals
/// with is known to others.
pub fn others_may_wait(read: &Read<'_>, spawn: &Spawn) -> bool {
    let function = &read.function;
    let span = |expr: ExprId| function.file.expr(expr).span;
    // What the goroutine itself waits for keeps nobody.
    let is_run = |body: BodyId| {
        let literal = function.body(body).literal;
        literal.is_some_and(|literal| span(spawn.call).contains(span(literal)))
    };
    spawn.signals.iter().any(|signal| {
        let is_own = matches!(signal.root, Root::Made(_) | Root::Local(_) | Root::Call(..));
        !is_own
            || function.bodies().filter(|&body| !is_run(body)).any(|body| {
                read.effects(body).effects.iter().any(|effect| {
                    let waits = matches!(effect.act, Act::Received(_) | Act::Drained);
                    effect.place == *signal
                        && effect.at != spawn.at
                        && (waits && (body != spawn.at.body || effect.mode > Mode::Deferred)
                            || effect.act.escapes() && effect.act != Act::Captured)
                })
            })
    })
}
