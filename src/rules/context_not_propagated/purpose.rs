//! Signs that a wait is meant to be out of reach of the function's context: it cleans up, comes
//! after the end of that context, or says so.

use crate::catalog::{Callback, Called, Context};
use crate::flow::{Step, StepId};
use crate::index::{Callee, Def, LocalId};
use crate::rules::{FunctionCx, comments};
use crate::source::Span;
use crate::summary::{At, Function, Source, facts};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtKind};

/// First words of the names of functions that put an end to something.
const ENDINGS: [&str; 37] = [
    "abort",
    "cancel",
    "clean",
    "cleanup",
    "clear",
    "close",
    "delete",
    "deregister",
    "destroy",
    "detach",
    "disable",
    "discard",
    "disconnect",
    "done",
    "drain",
    "end",
    "exit",
    "finalize",
    "finish",
    "flush",
    "kill",
    "leave",
    "logout",
    "prune",
    "purge",
    "release",
    "remove",
    "reset",
    "revoke",
    "rollback",
    "shutdown",
    "stop",
    "teardown",
    "terminate",
    "unlock",
    "unmount",
    "unregister",
];

/// Words of comments that speak of contexts and of what outlives them.
const REASONS: [&str; 24] = [
    "background",
    "best effort",
    "best-effort",
    "cancel",
    "context",
    "ctx",
    "deadline",
    "deliberate",
    "detach",
    "don't use",
    "do not use",
    "even if",
    "even when",
    "independent",
    "in any case",
    "intentional",
    "long-lived",
    "must not",
    "on purpose",
    "outlive",
    "regardless",
    "shutdown",
    "shutting down",
    "timeout",
];

/// Those that decide it in the few words that have room behind a statement.
const DECISIONS: [&str; 12] = [
    "deliberate",
    "detach",
    "even if",
    "even when",
    "independent",
    "intentional",
    "must not",
    "no cancel",
    "not cancel",
    "on purpose",
    "outlive",
    "regardless",
];

/// Whether the function, or what it calls here, is there to put an end to something.
pub fn ends_something(function: &Function<'_>, call: ExprId) -> bool {
    let own = function.index.func(function.id).name.as_str();
    is_ending(own) || callee_name(function, call).is_some_and(is_ending)
}

/// Whether both the function and what it calls here put an end to something: that is what it was
/// called for, and not its way to clean up.
pub fn is_made_to_end(function: &Function<'_>, call: ExprId) -> bool {
    let own = function.index.func(function.id).name.as_str();
    is_ending(own) && callee_name(function, call).is_some_and(is_ending)
}

/// How many other calls show that a function follows its context wherever it does not say otherwise.
const FOLLOW: usize = 2;

/// Whether other calls of the function are given a context that somebody gave to it: whoever writes
/// `context.Background()` beside them has decided to.
pub fn others_follow(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let follows = |&(at, other): &(At, ExprId)| {
        let known = facts(cx.catalog(), function.index, function.info.callee(other));
        let derives = known.all_in_force::<Context>(cx.versions()).next().is_some();
        let is_given = |&arg: &ExprId| {
            function.info.type_of(arg).is_context()
                && !cx.summaries().context(function, at, arg).places().is_empty()
        };
        other != call && !derives && function.args(other).iter().any(is_given)
    };
    function.calls().filter(follows).take(FOLLOW).count() == FOLLOW
}

/// Whether a listener waits for whoever comes: closing it ends that, with a context or without.
pub fn waits_for_peers(function: &Function<'_>, call: ExprId) -> bool {
    callee_name(function, call)
        .is_some_and(|name| words(name).first().is_some_and(|word| word.as_str() == "accept"))
}

/// Whether what a call gives, or a part of it, is given to a goroutine that the function does not wait for: the end of
/// the function's own context must not be the end of that.
pub fn is_left_to_goroutine(function: &Function<'_>, call: ExprId) -> bool {
    let file = function.file;
    let is_given = |local: LocalId| {
        function.definitions_of(local).any(|definition| match definition.source {
            Source::Expr(value) => file.unparen(value) == call,
            Source::Result(of, place) => of == call && place == 0,
            _ => false,
        })
    };
    let part = |arg: ExprId| match file.expr(file.unparen(arg)).kind {
        ExprKind::Selector { base, .. } => function.variable(base),
        _ => function.variable(arg),
    };
    function.bodies().any(|body| {
        let cfg = &function.body(body).cfg;
        let starts = |step: StepId| {
            let Step::Go(stmt) = cfg.step(step) else { return false };
            let StmtKind::Go(started) = file.stmt(stmt).kind else { return false };
            function.args(started).iter().any(|&arg| part(arg).is_some_and(is_given))
        };
        let waits = |step: StepId| match cfg.step(step) {
            Step::Recv(_) | Step::Comm(_) => true,
            Step::Call(call) => {
                file.method_call(call).is_some_and(|(_, name)| name.name.as_str() == "Wait")
            }
            _ => false,
        };
        cfg.steps()
            .filter(|&step| starts(step))
            .any(|go| !cfg.steps().any(|step| waits(step) && cfg.reaches(go, step)))
    })
}

/// The last name of what is called.
pub fn callee_name(function: &Function<'_>, call: ExprId) -> Option<&'static str> {
    let callee = function.info.callee(call);
    match (callee, callee.qualified(function.index)) {
        (_, Some(name)) => Some(name.name.as_str()),
        (Callee::Unknown { name }, _) => name.map(|name| name.as_str()),
        _ => None,
    }
}

/// Whether one of the words of a name says that something ends.
pub fn is_ending(name: &str) -> bool {
    words(name).iter().any(|word| ENDINGS.contains(&word.as_str()))
}

/// Whether a name says that something is made or set, which out of sight counts as no wait.
pub fn is_setting(name: &str) -> bool {
    let first = words(name).into_iter().next().unwrap_or_default();
    [
        "configure",
        "decode",
        "encode",
        "init",
        "instantiate",
        "marshal",
        "new",
        "parse",
        "register",
        "set",
        "unmarshal",
        "validate",
    ]
    .contains(&first.as_str())
}

/// Whether a name says that something is written to a log or told to whoever listens, which takes a
/// context for its values.
pub fn is_telling(name: &str) -> bool {
    let words = words(name);
    let asks = ["download", "fetch", "follow", "get", "read", "stream", "tail"];
    words.first().is_some_and(|first| !asks.contains(&first.as_str()))
        && words
            .iter()
            .any(|word| ["audit", "log", "logf", "logger", "publish"].contains(&word.as_str()))
}

/// Whether a name says that something is sent to, or asked of, a peer.
pub fn addresses_peer(name: &str) -> bool {
    let first = words(name).into_iter().next().unwrap_or_default();
    [
        "broadcast",
        "call",
        "connect",
        "dial",
        "download",
        "exchange",
        "fetch",
        "invoke",
        "ping",
        "query",
        "receive",
        "recv",
        "request",
        "send",
        "upload",
    ]
    .contains(&first.as_str())
}

/// The words of a name in camel case or with underscores, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = '_';
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() && !previous.is_uppercase() || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut()
            && letter != '_'
        {
            word.extend(letter.to_lowercase());
        }
        previous = letter;
    }
    words
}

/// Whether a step comes after a context was found done, was ended, or there was found to be none: on every path, or
/// after a look at `Done` that goes on to it.
pub fn after_the_end(function: &Function<'_>, at: At) -> bool {
    let mut below = at;
    loop {
        let cfg = &function.body(below.body).cfg;
        let over = cfg.steps().any(|step| {
            let is_over = match cfg.step(step) {
                Step::Recv(_) | Step::Comm(_) => cfg
                    .step(step)
                    .received_from(function.file)
                    .is_some_and(|channel| asks(function, channel, "Done")),
                _ => false,
            };
            is_over && cfg.reaches(step, below.step)
        });
        if over || decided(function, below) || is_ended_before(function, below) {
            return true;
        }
        match function.body(below.body).made {
            Some(made) => below = made,
            None => return false,
        }
    }
}

/// Whether a function asks a context for its deadline: it bounds what it does by that.
pub fn asks_for_deadline(function: &Function<'_>, context: &str) -> bool {
    let declared = function.file.decl(function.index.func(function.id).decl).span;
    let asked = format!("{context}.Deadline()");
    function.file.source.text(declared).contains(&asked)
}

/// Whether a call gives the channel of one arm of a `select`, and another arm is the end of a context: whoever
/// waits there does not wait for the call alone.
pub fn is_beside_an_end(function: &Function<'_>, call: ExprId) -> bool {
    let file = function.file;
    let decl = function.index.func(function.id).decl;
    file.descendants(Node::Decl(decl)).any(|node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Select(clauses) = &file.stmt(stmt).kind else { return false };
        let channels = || {
            let comms = clauses.iter().filter_map(|clause| clause.comm);
            comms.filter_map(|comm| Step::Comm(comm).received_from(file))
        };
        channels().any(|channel| file.unparen(channel) == call)
            && channels().any(|channel| asks(function, channel, "Done"))
    })
}

/// Whether a function does nothing with the context that is declared at a place but to ask whether it is done: it
/// looks up between two pieces of work, and is given the end of the one by another context, or by none.
pub fn asks_only_for_end(function: &Function<'_>, declared: Span) -> bool {
    let locals = function.info.locals();
    let Some(own) = locals.iter().position(|local| local.span == declared) else { return false };
    let decl = Node::Decl(function.index.func(function.id).decl);
    let file = function.file;
    let asks = |name: &str| matches!(name, "Done" | "Err");
    let is_own = |expr: ExprId| match function.info.resolve(file.unparen(expr)) {
        Def::Local(local) => local.0 as usize == own,
        _ => false,
    };
    let (mut used, mut asked) = (0, 0);
    for node in file.descendants(decl) {
        let Node::Expr(expr) = node else { continue };
        match file.expr(expr).kind {
            ExprKind::Ident(_) => used += usize::from(is_own(expr)),
            ExprKind::Selector { base, name } => {
                let is_ident = matches!(file.expr(base).kind, ExprKind::Ident(_));
                asked += usize::from(is_ident && asks(name.name.as_str()) && is_own(base));
            }
            _ => {}
        }
    }
    asked > 0 && used == asked
}

/// Whether another goroutine of the function, or a function that a library runs at the end of a context,
/// puts an end to something when a context is done: it may be what the function waits for.
pub fn is_watched(cx: &FunctionCx<'_>, function: &Function<'_>, at: At) -> bool {
    let file = function.file;
    let puts_end = |expr: ExprId| {
        matches!(file.expr(expr).kind, ExprKind::Call { .. })
            && callee_name(function, expr).is_some_and(is_ending)
            && !asks(function, expr, "Done")
    };
    function.bodies().any(|body| {
        let cfg = &function.body(body).cfg;
        let around = function.enclosing(at.body).any(|around| around == body);
        let ends = match function.body(body).literal {
            _ if body == at.body => return false,
            // What a goroutine of it waits for, it may end itself.
            _ if around => {
                cfg.steps().any(|step| matches!(cfg.step(step), Step::Call(call) if puts_end(call)))
            }
            Some(literal) => file.descendants(Node::Expr(literal)).any(|node| match node {
                Node::Expr(expr) => puts_end(expr),
                _ => false,
            }),
            None => return false,
        };
        let awaits_end = || {
            cfg.steps().any(|step| {
                let received = match cfg.step(step) {
                    Step::Recv(_) | Step::Comm(_) => cfg.step(step).received_from(file),
                    _ => None,
                };
                received.is_some_and(|channel| asks(function, channel, "Done"))
            })
        };
        let runs_after = || {
            let Some(made) = function.body(body).made else { return false };
            function.body(made.body).cfg.steps().any(|step| {
                let Step::Call(call) = function.step(At { body: made.body, step }) else {
                    return false;
                };
                let ExprKind::Call { ref args, .. } = file.expr(call).kind else { return false };
                let known = facts(cx.catalog(), function.index, function.info.callee(call));
                let at_end = known
                    .all_in_force::<Callback>(cx.versions())
                    .any(|fact| fact.called == Called::Goroutine);
                at_end
                    && args.first().is_some_and(|&first| function.info.type_of(first).is_context())
                    && args
                        .iter()
                        .any(|&arg| function.body(body).literal == Some(file.unparen(arg)))
            })
        };
        ends && (awaits_end() || runs_after())
    })
}

/// Whether a cancel function that the receiver keeps is called on every path to the step: what it ends has ended.
fn is_ended_before(function: &Function<'_>, at: At) -> bool {
    let file = function.file;
    let cfg = &function.body(at.body).cfg;
    cfg.steps().any(|step| {
        let Step::Call(call) = cfg.step(step) else { return false };
        let ExprKind::Call { callee, .. } = file.expr(call).kind else { return false };
        let is_field = matches!(function.info.resolve(file.unparen(callee)), Def::Field(_));
        is_field
            && function.info.type_of(callee).is_named("context", "CancelFunc")
            && step != at.step
            && cfg.dominates(step, at.step)
    })
}

/// Whether a condition that holds on every path to the step says that a context is done or nil.
fn decided(function: &Function<'_>, at: At) -> bool {
    let file = function.file;
    let cfg = &function.body(at.body).cfg;
    let mut block = cfg.block_of(at.step);
    while let Some((from, edge)) = cfg.only_edge_to(block) {
        let Some((cond, holds)) = edge.kind.condition() else {
            block = from;
            continue;
        };
        if let ExprKind::Binary { op, left, right, .. } = file.expr(file.unparen(cond)).kind {
            let with_nil = matches!(function.info.resolve(file.unparen(right)), Def::Nil);
            let is_nil = op == BinaryOp::Eq && holds || op == BinaryOp::Ne && !holds;
            let is_context = function.info.type_of(left).is_context();
            if with_nil && (is_context && is_nil || asks(function, left, "Err") && !is_nil) {
                return true;
            }
        }
        block = from;
    }
    false
}

/// Whether an expression is a call of this method of a context.
fn asks(function: &Function<'_>, expr: ExprId, method: &str) -> bool {
    let file = function.file;
    let ExprKind::Call { callee, .. } = file.expr(file.unparen(expr)).kind else { return false };
    match file.expr(file.unparen(callee)).kind {
        ExprKind::Selector { base, name } => {
            name.name.as_str() == method && function.info.type_of(base).is_context()
        }
        _ => false,
    }
}

/// Whether the comment right above a line or behind it, or above the function, gives a reason.
pub fn is_explained(function: &Function<'_>, spans: &[Span]) -> bool {
    let file = function.file;
    let declared = file.decl(function.index.func(function.id).decl).span;
    let gives = |text: &str, reasons: &[&str]| {
        let text = text.to_lowercase();
        let open = ["todo", "fixme", "xxx"].iter().any(|mark| text.contains(mark));
        // A mark that asks about the context has not decided.
        let asks = text.contains('?') && (text.contains("ctx") || text.contains("context"));
        let open = open && !asks;
        !open && reasons.iter().any(|reason| text.contains(reason))
    };
    let line = |span: &Span| file.source.line(span.start);
    spans.iter().any(|span| gives(&comments::above(file, line(span)), &REASONS))
        || spans.iter().any(|span| gives(&comments::behind(file, line(span)), &DECISIONS))
        || {
            let text = comments::above(file, file.source.line(declared.start)).to_lowercase();
            ["background", "detach", "outlive", "regardless", "even if"]
                .iter()
                .any(|reason| text.contains(reason))
        }
}
