//! `goroutine-ignores-context`: a goroutine that can never end, started where something does end.
//!
//! That it can never end is read off its graph: no path leaves the body. A process may have such
//! goroutines on purpose, so there must be an end that it misses: the value that it works for has
//! a method that ends it, who started it ends with a context, or what it calls again and again does.

mod again;

use crate::catalog;
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Edge, EdgeKind, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Builtin, Callee, Def, Func, FuncId, LocalKind, ObjectId, Type};
use crate::rules::endable::ticker_of;
use crate::rules::recurrence::{self, Runs};
use crate::rules::scene::{may_start_goroutines, serves_tests};
use crate::rules::{Check, FunctionCx, Rule, held};
use crate::source::{Location, Span};
use crate::summary::{Act, At, BodyFlow, BodyId, Deed, Function, Place, Read, Root, Wait, What};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// The rule.
pub const RULE: Rule = Rule {
    page: include_str!("../../rules/goroutine-ignores-context.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if held::runs_process_or_test(cx) || serves_tests(cx.index(), cx.func) {
        return;
    }
    if !may_start_goroutines(cx) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for body in read.function.bodies() {
        for step in read.function.body(body).cfg.steps() {
            let Step::Go(stmt) = read.function.body(body).cfg.step(step) else { continue };
            let Some(call) = BodyFlow::statement_call(read.function.file, stmt) else { continue };
            let go = Go { at: At { body, step }, call };
            // What is started once, when the process starts, may well go on until it ends.
            let told = check_go(cx, &read, &go)
                .filter(|_| !matches!(recurrence::runs(&cx.package, cx.func), Runs::Once));
            findings.extend(told);
        }
    }
}

/// A `go` statement.
struct Go {
    at: At,
    call: ExprId,
}

fn check_go(cx: &FunctionCx<'_>, read: &Read<'_>, go: &Go) -> Option<Finding> {
    let function = &read.function;
    let ExprKind::Call { callee, .. } = function.file.expr(go.call).kind else { return None };
    let literal = function.file.unparen(callee);
    if let Some(body) = function.body_of_literal(literal) {
        let endless = endless(cx, read, body)?;
        let periodic = is_periodic(read, body);
        let missed = end_of_value(cx, function, Node::Expr(literal))
            .or_else(|| end_of_starter(cx, read, go.at).filter(|_| periodic))
            .or_else(|| again::missed(cx, read, body, endless))?;
        return Some(finding(cx, function, go, head(function, endless), missed));
    }
    let Callee::Func(func) = *function.info.callee(go.call) else { return None };
    if func.package != cx.func.package {
        return None;
    }
    let spawned = cx.summaries().read(func)?;
    let endless = endless(cx, &spawned, BodyId::OWN)?;
    let periodic = is_periodic(&spawned, BodyId::OWN);
    let owner = cx.index().func(func).receiver.and_then(|receiver| receiver.ty);
    let missed = owner
        .and_then(|owner| ended_by(cx, owner))
        .or_else(|| end_of_starter(cx, read, go.at).filter(|_| periodic))
        .or_else(|| {
            let cx = FunctionCx { package: cx.package, func };
            again::missed(&cx, &spawned, BodyId::OWN, endless)
        })?;
    Some(finding(cx, function, go, head(&spawned.function, endless), missed))
}

/// The loop that a body never leaves: no path ends, whatever the calls in it do, as far as they
/// are known. Signals are the process's, and so is what waits for them, unless the value closes the channel.
fn endless(cx: &FunctionCx<'_>, read: &Read<'_>, body: BodyId) -> Option<StmtId> {
    let function = &read.function;
    let flow = function.body(body);
    if flow.cfg.incomplete() || flow.cfg.finds(Start::Entry, (), &mut AnyExit { function }) {
        return None;
    }
    let of_process = flow.cfg.steps().any(|step| {
        let channel = flow.cfg.step(step).received_from(function.file);
        channel.is_some_and(|channel| match function.info.type_of(channel) {
            Type::Chan(_, element) => {
                let places = || function.places(At { body, step }, channel);
                element.is_named("os", "Signal")
                    && !places().only().is_some_and(|place| is_closed_by_value(cx, read, place))
            }
            _ => false,
        })
    });
    if of_process || recovers_from_send(function, body) {
        return None;
    }
    let file = function.file;
    let own = flow.literal;
    let parents = file.parents(Node::Stmt(flow.block));
    file.descendants(Node::Stmt(flow.block)).find_map(|node| match node {
        Node::Stmt(stmt) => match file.stmt(stmt).kind {
            StmtKind::For { cond: None, .. } | StmtKind::Range { .. }
                if is_without_end(function, stmt) =>
            {
                let inner = parents.around(node).any(|around| match around {
                    Node::Expr(expr) => {
                        Some(expr) != own && matches!(file.expr(expr).kind, ExprKind::FuncLit(_))
                    }
                    _ => false,
                });
                (!inner).then_some(stmt)
            }
            _ => None,
        },
        _ => None,
    })
}

/// Whether a method of the receiver's type closes a channel of the receiver.
fn is_closed_by_value(cx: &FunctionCx<'_>, read: &Read<'_>, channel: &Place) -> bool {
    let receiver = read.function.info.locals().iter().find(|it| it.kind == LocalKind::Receiver);
    let owner = receiver.and_then(|receiver| receiver.ty.declared());
    let Some(owner) = owner.filter(|_| channel.root == Root::Receiver) else { return false };
    let name = cx.index().object(owner).name;
    cx.index().package(owner.package).methods(name).any(|method| {
        let closes = |deed: &Deed| deed.act == Act::Closed && deed.place == *channel;
        cx.summaries().read(method.id).is_some_and(|of| of.summary.deeds.iter().any(closes))
    })
}

/// The word that a loop begins with.
fn head(function: &Function<'_>, endless: StmtId) -> Location {
    let start = function.file.stmt(endless).span.start;
    let span = Span::new(start, start + "for".len() as u32);
    Location { file: function.file_id, span }
}

/// Whether a body sends, and recovers from its panics: whoever closes the channel ends it.
fn recovers_from_send(function: &Function<'_>, body: BodyId) -> bool {
    let (file, cfg) = (function.file, &function.body(body).cfg);
    let sends = cfg.steps().any(|step| match cfg.step(step) {
        Step::Send(_) => true,
        Step::Comm(comm) => matches!(file.stmt(comm).kind, StmtKind::Send { .. }),
        _ => false,
    });
    let recovers = || {
        let deferred = cfg.steps().filter_map(|step| match cfg.step(step) {
            Step::Defer(stmt) => Some(Node::Stmt(stmt)),
            _ => None,
        });
        deferred.flat_map(|stmt| file.descendants(stmt)).any(|node| match node {
            Node::Expr(call) => {
                matches!(function.info.callee(call), Callee::Builtin(Builtin::Recover))
            }
            _ => false,
        })
    };
    sends && recovers()
}

/// Whether a body sleeps between its turns, so that it is no step of somebody's work.
fn is_periodic(read: &Read<'_>, body: BodyId) -> bool {
    let sleeps = |wait: &Wait| wait.what == What::Library(catalog::Wait::Sleep);
    read.waits(body).iter().any(|(_, wait)| sleeps(wait) && wait.hops.is_empty())
}

/// Whether a loop has no end of its own: it has no condition, or ranges over the channel of a ticker, which nobody
/// ever closes ([`Stop`](https://pkg.go.dev/time#Ticker.Stop)).
fn is_without_end(function: &Function<'_>, stmt: StmtId) -> bool {
    match function.file.stmt(stmt).kind {
        StmtKind::For { cond, .. } => cond.is_none(),
        StmtKind::Range { subject, .. } => {
            ticker_of(function.file, &function.info, subject).is_some()
        }
        _ => false,
    }
}

/// A walk to any way out.
struct AnyExit<'f, 'a> {
    function: &'f Function<'a>,
}

impl Walk for AnyExit<'_, '_> {
    type State = ();

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        match edge.kind {
            EdgeKind::Done(range) if is_without_end(self.function, range) => None,
            _ => Some(()),
        }
    }

    fn step(&mut self, (): &(), _: StepId) -> Passing<()> {
        Passing::On(())
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        true
    }
}

/// What ends and is missed by the goroutine.
struct Missed {
    location: Location,
    /// What is there.
    label: String,
    /// What ends, in the user's names.
    end: String,
    /// Another place of the story, and what is there.
    also: Option<(Location, String)>,
    confidence: Confidence,
}

/// The method that ends a value which a literal works with: the receiver of the function, or what
/// the function makes and returns.
fn end_of_value(cx: &FunctionCx<'_>, function: &Function<'_>, literal: Node) -> Option<Missed> {
    let info = &function.info;
    function.file.descendants(literal).find_map(|node| {
        let Node::Expr(expr) = node else { return None };
        let ExprKind::Ident(_) = function.file.expr(expr).kind else { return None };
        let Def::Local(local) = *info.resolve(expr) else { return None };
        let local = info.local(local);
        let is_own = match local.kind {
            LocalKind::Receiver => true,
            LocalKind::Param(_) => false,
            _ => local.owner.is_none() && is_given_back(cx, &local.ty),
        };
        ended_by(cx, local.ty.declared()?).filter(|_| is_own)
    })
}

/// Whether the function gives something of a type to its callers, as a constructor does.
fn is_given_back(cx: &FunctionCx<'_>, ty: &Type) -> bool {
    let own = cx.index().func_type(cx.func);
    let Type::Func(signature) = &own else { return false };
    let wanted = ty.declared();
    wanted.is_some() && signature.results.iter().any(|result| result.declared() == wanted)
}

/// The method that ends values of a type of the same package.
fn ended_by(cx: &FunctionCx<'_>, owner: ObjectId) -> Option<Missed> {
    if owner.package != cx.func.package {
        return None;
    }
    let name = cx.index().object(owner).name;
    let mut methods = cx.index().package(owner.package).methods(name);
    let method = methods.find(|method| is_end(cx, method))?;
    Some(Missed {
        location: cx.index().name_of(method.id),
        label: format!("`{}` ends a `{name}`, and not this goroutine", method.name),
        end: format!("`{}` of the `{name}` that it works for", method.name),
        also: None,
        confidence: Confidence::High,
    })
}

/// Whether a method ends its value: it is called so, is not told of anything else to end, and does
/// something.
fn is_end(cx: &FunctionCx<'_>, method: &Func) -> bool {
    let Type::Func(signature) = cx.index().func_type(method.id) else { return false };
    if !signature.params.iter().all(Type::is_context) {
        return false;
    }
    let does_something = |func: FuncId| {
        let read = cx.summaries().read(func);
        read.is_some_and(|read| {
            let cfg = &read.function.body(BodyId::OWN).cfg;
            let info = &read.function.info;
            cfg.steps().any(|step| match cfg.step(step) {
                Step::Call(call) => !matches!(info.callee(call), Callee::Builtin(Builtin::Panic)),
                _ => false,
            })
        })
    };
    held::names_end(method.name) && does_something(method.id)
}

/// Where the function that starts the goroutine, or another goroutine of it, ends with a context or
/// stop channel that the function was given.
fn end_of_starter(cx: &FunctionCx<'_>, read: &Read<'_>, go: At) -> Option<Missed> {
    let function = &read.function;
    let told = function.bodies().find_map(|body| {
        read.effects(body).effects.iter().find(|effect| {
            effect.at.body == BodyId::OWN
                && effect.at != go
                && matches!(effect.act, Act::Received(_))
                && match (effect.place.root, &effect.place.path[..]) {
                    (Root::Param(_), [.., last]) => last.as_str() == "Done()",
                    (Root::Param(index), []) => is_stop_channel(function, index),
                    _ => false,
                }
        })
    })?;
    let step = function.step(told.at);
    Some(Missed {
        location: cx.location(step.span(function.file)),
        label: "this ends with what the function was given".to_owned(),
        end: "what its starter ends with".to_owned(),
        also: None,
        confidence: Confidence::Medium,
    })
}

fn is_stop_channel(function: &Function<'_>, index: u32) -> bool {
    let given = function.info.param(None, index);
    given.is_some_and(|given| function.index.is_signal(&function.info.local(given).ty))
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    go: &Go,
    endless: Location,
    missed: Missed,
) -> Finding {
    let message = format!("this loop has no way out, so its goroutine stays after {}", missed.end);
    let mut finding = cx.package.finding(endless, "goes on for ever", message);
    finding.confidence = finding.confidence.min(missed.confidence);
    let started = function.step(go.at).span(function.file);
    let started = Span::new(started.start, started.start + "go".len() as u32);
    finding.labels.push(Label {
        location: cx.location(started),
        role: Role::Started,
        message: "the goroutine is started here".to_owned(),
    });
    finding.labels.push(Label {
        location: missed.location,
        role: Role::Context,
        message: missed.label,
    });
    finding.why = "no `return`, `break` or `panic` leaves the loop, and nothing from outside ends \
                   a goroutine: each one that is started stays as long as the process, with all \
                   that it refers to"
        .to_owned();
    finding.help = match missed.also {
        Some(_) => "ask the context for its `Err()` after the call, and return".to_owned(),
        None => {
            "a stop channel or context of the value, looked at in a `select` in the loop".to_owned()
        }
    };
    finding.labels.extend(missed.also.map(|(location, message)| Label {
        location,
        role: Role::Context,
        message,
    }));
    finding.defect = endless;
    finding
}
