//! A goroutine that ranges over what a call gave, started before anybody asked whether it failed.
//!
//! Evidence: a call gives a channel and an error, and what it calls has a way on which it returns nil
//! for the one along with the other: a function of the run, or all methods of the package that an
//! interface of the package may stand for. A goroutine is started that ranges over the channel with
//! no way out but its close, on a way from the call on which nothing looks at either of the two.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Start, Step, StepId};
use crate::index::{Callee, Def, LocalId, Selection, Type};
use crate::rules::FunctionCx;
use crate::rules::evidence::traffic::{given, goes_on};
use crate::rules::evidence::{confidence_at, first_line};
use crate::rules::scene::{Scene, outside_tests};
use crate::source::Location;
use crate::summary::{Function, Source};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// Reports the goroutines that range over nil when a call has failed.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    if !scene.nodes.iter().any(|&node| go_in(scene, node).is_some()) {
        return;
    }
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    for call in failing_calls(scene, &read.function) {
        let started = scene.nodes.iter().find_map(|&node| {
            let (stmt, started) = go_in(scene, node)?;
            let inside = ranges(scene, &read.function, &call, started)?;
            is_untested(scene, &read.function, &call, stmt).then_some((stmt, inside))
        });
        let Some((stmt, inside)) = started else { continue };
        if let Some(fails) = gives_nil(scene, &call) {
            findings.push(tell(scene, &call, stmt, inside, fails));
        }
    }
}

/// A call whose results are a channel and an error, each in a variable that is assigned nowhere else.
struct Call {
    call: ExprId,
    /// The places of the two among the results.
    places: (u32, u32),
    channel: LocalId,
    error: LocalId,
}

fn failing_calls(scene: &Scene<'_>, function: &Function<'_>) -> Vec<Call> {
    let of_call = |local: LocalId| {
        let mut results = function.definitions_of(local).filter_map(|it| match it.source {
            Source::Result(call, place) => Some((call, place)),
            _ => None,
        });
        results.next()
    };
    let locals = || (0..scene.info.locals().len() as u32).map(LocalId);
    let channels = locals().filter_map(|channel| {
        let ty = scene.cx.index().underlying(&scene.info.local(channel).ty);
        let (call, place) = of_call(channel)?;
        let once = function.definitions_of(channel).count() == 1;
        (once && matches!(ty, Type::Chan(..))).then_some((channel, call, place))
    });
    let with_error = channels.filter_map(|(channel, call, place)| {
        let (error, at) = locals().filter(|&local| local != channel).find_map(|local| {
            // An error's variable may be that of an earlier call, too.
            let given = function.definitions_of(local).find_map(|it| match it.source {
                Source::Result(of, at) if of == call => Some(at),
                _ => None,
            });
            Some((local, given.filter(|_| scene.info.local(local).ty.is_error())?))
        })?;
        Some(Call { call, places: (place, at), channel, error })
    });
    with_error.collect()
}

/// The call that a node starts in a goroutine, if it is a `go` statement.
fn go_in(scene: &Scene<'_>, node: Node) -> Option<(StmtId, ExprId)> {
    let Node::Stmt(stmt) = node else { return None };
    match scene.file.stmt(stmt).kind {
        StmtKind::Go(call) => Some((stmt, scene.file.unparen(call))),
        _ => None,
    }
}

/// Where what is started ranges over the channel.
fn ranges(
    scene: &Scene<'_>,
    function: &Function<'_>,
    call: &Call,
    started: ExprId,
) -> Option<Location> {
    match scene.info.callee(started) {
        Callee::Func(func) if *func != scene.cx.func => {
            let is_channel = |&arg: &ExprId| scene.local(arg) == Some(call.channel);
            let place = scene.args(started).iter().position(is_channel)?;
            given(FunctionCx { func: *func, ..scene.cx }, place as u32, 1)?.ranges
        }
        Callee::Literal(literal) => {
            let cfg = &function.body(function.body_of_literal(*literal)?).cfg;
            scene.uses(call.channel).find_map(|usage| {
                let Some(Node::Stmt(range)) = scene.parent(Node::Expr(usage)) else { return None };
                let StmtKind::Range { subject, .. } = scene.file.stmt(range).kind else {
                    return None;
                };
                let own = scene.literal_around(Node::Stmt(range)) == Some(*literal);
                let step = cfg.step_of_stmt(range)?;
                let waits = own
                    && scene.file.unparen(subject) == usage
                    && goes_on(cfg, step, Some(range))
                    && reaches_untested(scene, cfg, call, Start::Entry, step);
                waits.then(|| scene.cx.location(first_line(scene, scene.span(Node::Stmt(range)))))
            })
        }
        _ => None,
    }
}

/// Whether a `go` statement is come to from the call on a way that asks for neither result.
fn is_untested(scene: &Scene<'_>, function: &Function<'_>, call: &Call, stmt: StmtId) -> bool {
    let home = scene.literal_around(Node::Stmt(stmt));
    let body =
        function.body_of(home).filter(|_| scene.literal_around(Node::Expr(call.call)) == home);
    let Some(body) = body else { return false };
    let cfg = &function.body(body).cfg;
    match (cfg.step_of_expr(call.call), cfg.step_of_stmt(stmt)) {
        (Some(from), Some(to)) => reaches_untested(scene, cfg, call, Start::After(from), to),
        _ => false,
    }
}

fn reaches_untested(scene: &Scene<'_>, cfg: &Cfg, call: &Call, from: Start, to: StepId) -> bool {
    let is_ranged = |node: Node| match scene.parent(node) {
        Some(Node::Stmt(stmt)) => matches!(scene.file.stmt(stmt).kind, StmtKind::Range { .. }),
        _ => false,
    };
    let asks = |step: StepId| match cfg.step(step) {
        Step::Eval(expr) | Step::Call(expr) => {
            let node = Node::Expr(expr);
            let mentions = |local| scene.mentions(node, local);
            !is_ranged(node) && (mentions(call.error) || mentions(call.channel))
        }
        _ => false,
    };
    cfg.starts_without(from, to, &asks)
}

/// Where what is called returns nil for the channel along with an error.
fn gives_nil(scene: &Scene<'_>, call: &Call) -> Option<Location> {
    match scene.info.callee(call.call) {
        Callee::Func(func) => fails(&FunctionCx { func: *func, ..scene.cx }, call.places),
        Callee::InterfaceMethod(method) if is_own(scene, method) => {
            let index = scene.cx.index();
            let words = [method.name.as_str()];
            let named = outside_tests(&scene.cx.package, &words)
                .filter(|cx| index.func(cx.func).name == method.name)
                .filter(|cx| index.func(cx.func).receiver.is_some());
            let all: Option<Vec<Location>> = named.map(|cx| fails(&cx, call.places)).collect();
            all?.first().copied()
        }
        _ => None,
    }
}

/// Whether an interface of the package declares a method.
fn is_own(scene: &Scene<'_>, method: &Selection) -> bool {
    let files = scene.cx.index().package(scene.cx.package.package).files();
    method.location.is_some_and(|at| files.iter().any(|(file, _)| *file == at.file))
}

fn fails(cx: &FunctionCx<'_>, (channel, error): (u32, u32)) -> Option<Location> {
    let scene = Scene::new(*cx)?;
    scene.nodes.iter().find_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::Return(values) = &scene.file.stmt(stmt).kind else { return None };
        let value = |place: u32| values.get(place as usize).copied();
        let is_error = |expr: ExprId| match scene.file.expr(scene.file.unparen(expr)).kind {
            ExprKind::Ident(_) => {
                matches!(scene.info.resolve(expr), Def::Local(_) | Def::Global(_))
            }
            _ => true,
        };
        let own = scene.literal_around(node).is_none();
        let nil = own && scene.is_nil(value(channel)?) && is_error(value(error)?);
        nil.then(|| scene.cx.location(scene.span(node)))
    })
}

fn tell(scene: &Scene<'_>, call: &Call, go: StmtId, inside: Location, fails: Location) -> Finding {
    let name = scene.info.local(call.channel).name;
    let error = scene.info.local(call.error).name;
    let message = format!(
        "`{name}` is nil when the call that gives it has failed, and this goroutine ranges over it for ever"
    );
    let span = first_line(scene, scene.span(Node::Stmt(go)));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence_at(scene, Node::Stmt(go));
    let label = |location: Location, role: Role, message: String| Label { location, role, message };
    let called = scene.cx.location(first_line(scene, scene.span(Node::Expr(call.call))));
    finding.labels.push(label(
        called,
        Role::Made,
        format!("`{name}` and `{error}` come from here"),
    ));
    finding.labels.push(label(fails, Role::Context, "nil comes along with an error".to_owned()));
    finding.labels.push(label(inside, Role::Stuck, "it waits here".to_owned()));
    finding.labels.retain(|label| label.location != finding.primary);
    finding.why = "a range over a nil channel never ends".to_owned();
    finding.help = format!("look at `{error}` before the goroutine is started");
    finding
}
