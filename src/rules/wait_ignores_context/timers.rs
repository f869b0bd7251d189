//! A loop that waits for timers alone until something has come about, in a function that has a context at hand.
//!
//! Evidence: all arms of a `select` in a loop without a condition receive from timers that the function makes. The
//! function was given a context that somebody may end, or a request; it looks at the end of none, and nothing in the
//! loop knows of it: neither that, nor what was made with it, nor the writer that fails when the client has gone. The
//! loop is left by a `return` or `break`, and no timer ends it soon.

use rustc_hash::FxHashSet;

use super::{SOON, at_select, length};
use crate::diagnostic::Finding;
use crate::flow::{Start, Step};
use crate::index::{LocalId, LocalKind, Type};
use crate::rules::scene::{Scene, holds_any, serves_tests};
use crate::rules::{FunctionCx, endable};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// Reports the `select` of the loop.
pub(super) fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["select {"])
        || !holds_any(cx, &["time.New", "time.After(", "time.Tick("])
        || serves_tests(cx.index(), cx.func)
    {
        return;
    }
    let Some(scene) = Scene::new(*cx) else { return };
    let Some(given) = given(&scene).filter(|_| !looks_at_end(&scene)) else { return };
    let known = know(&scene, given);
    let waits = scene.nodes.iter().find_map(|&node| {
        let Node::Stmt(select) = node else { return None };
        waits_for_timers(&scene, select, &known).then_some(select)
    });
    findings.extend(waits.map(|select| tell(&scene, given, select)));
}

/// The context that the function was given and that somebody may end, or the request.
fn given(scene: &Scene<'_>) -> Option<LocalId> {
    let locals = scene.info.locals().iter().zip(0..);
    let mut given = locals.filter(|(local, _)| {
        let LocalKind::Param(place) = local.kind else { return false };
        local.owner.is_none()
            && !local.name.is_blank()
            && (is_request(&local.ty)
                || local.ty.is_context() && endable::may_be_done(&scene.cx, place))
    });
    given.next().map(|(_, number)| LocalId(number))
}

fn is_request(ty: &Type) -> bool {
    ty.strip_pointer().is_named("net/http", "Request")
}

/// Whether the function asks for the end of a context, or makes one that does not end with another.
fn looks_at_end(scene: &Scene<'_>) -> bool {
    scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        scene.method_call(call).is_some_and(|(_, name)| {
            matches!(name.name.as_str(), "Done" | "Err" | "AfterFunc" | "WithoutCancel")
        })
    })
}

/// The variables that know of the end: what was given, and what is made with it or with those.
fn know(scene: &Scene<'_>, given: LocalId) -> FxHashSet<LocalId> {
    let mut known = FxHashSet::from_iter([given]);
    for &node in scene.nodes.iter() {
        let Some((targets, values)) = scene.assignment(node) else { continue };
        let mentions =
            |&value: &ExprId| known.iter().any(|&local| scene.mentions(Node::Expr(value), local));
        if values.iter().any(mentions) {
            known.extend(targets.into_iter().flatten());
        }
    }
    known
}

/// Whether a `select` of a loop waits for timers alone, and the loop may be left, though not soon by any of them.
fn waits_for_timers(scene: &Scene<'_>, select: StmtId, known: &FxHashSet<LocalId>) -> bool {
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return false };
    let node = Node::Stmt(select);
    let Some(&around) = scene.loops_around(node).first() else { return false };
    let StmtKind::For { cond: None, .. } = scene.file.stmt(around).kind else { return false };
    if clauses.is_empty() || scene.literal_around(node).is_some() {
        return false;
    }
    let inside = scene.span(Node::Stmt(around));
    let timers = clauses.iter().map(|clause| {
        let channel = Step::Comm(clause.comm?).received_from(scene.file)?;
        timer_of(scene, scene.file.unparen(channel))
    });
    let Some(timers) = timers.collect::<Option<Vec<Timer>>>() else { return false };
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
    let is_soon = |timer: &Timer| {
        !timer.ticks
            && !inside.contains(scene.span(Node::Expr(timer.call)))
            && length(&read.function, timer.call).is_some_and(|length| length <= SOON)
    };
    if timers.iter().any(is_soon) || tells_of_end(scene, around, known) {
        return false;
    }
    let Some(graph) = scene.graph(None) else { return false };
    let mut arms = clauses.iter().filter_map(|clause| graph.step_of_stmt(clause.comm?));
    arms.any(|arm| graph.leaves_from(Start::After(arm), &|_| false))
}

/// Whether something in a loop knows of the end.
fn tells_of_end(scene: &Scene<'_>, around: StmtId, known: &FxHashSet<LocalId>) -> bool {
    scene.file.descendants(Node::Stmt(around)).any(|node| {
        let Node::Expr(expr) = node else { return false };
        let ExprKind::Ident(_) = scene.file.expr(expr).kind else { return false };
        let Some(local) = scene.local(expr) else { return false };
        let ty = &scene.info.local(local).ty;
        let is_of_http = ["ResponseWriter", "Flusher", "ResponseController"]
            .iter()
            .any(|name| ty.strip_pointer().is_named("net/http", name));
        known.contains(&local) || ty.is_context() || is_request(ty) || is_of_http
    })
}

/// A timer: the call that makes it, and whether it goes on.
struct Timer {
    call: ExprId,
    ticks: bool,
}

/// The timer that a channel is of, if the function makes it in one place.
fn timer_of(scene: &Scene<'_>, channel: ExprId) -> Option<Timer> {
    let made = |local: LocalId| {
        let mut assigned = scene.nodes.iter().filter_map(|&node| {
            let (targets, values) = scene.assignment(node)?;
            let place = targets.iter().position(|&target| target == Some(local))?;
            Some(values.get(place).copied())
        });
        assigned.next().filter(|_| assigned.next().is_none())?
    };
    let (call, by_field) = match scene.selector(channel) {
        Some((timer, name)) if name.name.as_str() == "C" => (made(scene.local(timer)?)?, true),
        Some(_) => return None,
        None => match scene.local(channel) {
            Some(local) => (made(local)?, false),
            None => (channel, false),
        },
    };
    let call = scene.file.unparen(call);
    let name = scene.info.callee(call).qualified(scene.cx.index())?;
    let ticks = match (name.path.as_str(), name.name.as_str(), by_field) {
        ("time", "NewTimer", true) | ("time", "After", false) => false,
        ("time", "NewTicker", true) | ("time", "Tick", false) => true,
        _ => return None,
    };
    Some(Timer { call, ticks })
}

fn tell(scene: &Scene<'_>, given: LocalId, select: StmtId) -> Finding {
    let given = scene.info.local(given);
    let (context, what) = match is_request(&given.ty) {
        true => (format!("{}.Context()", given.name), "request"),
        false => (given.name.to_string(), "context"),
    };
    let message = format!(
        "nothing here looks at `{context}`: this loop waits for timers alone, also when the caller has long given up"
    );
    let mut finding = at_select(scene, select, (given.span, what), message);
    finding.why =
        "each call stays in the loop until a timer or what it looks for ends it".to_owned();
    finding.help = format!("add `case <-{context}.Done()`");
    finding
}
