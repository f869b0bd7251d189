//! A loop that lives by a ticker which somebody stops: stopping does not close its channel.
//!
//! Evidence: the loop receives from the ticker and from nothing else, and has no way out; `Stop` is
//! called on the same field or variable outside of the body that loops. Who never stops the ticker
//! means the loop to live as long as the process, and nothing is said.

use std::iter;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Cfg;
use crate::index::{Def, LocalId};
use crate::rules::PackageCx;
use crate::rules::endable::ticker_of;
use crate::rules::evidence::traffic::goes_on;
use crate::rules::evidence::{confidence_at, first_line};
use crate::rules::scene::{Scene, outside_tests};
use crate::source::{Location, Span};
use crate::summary::Source;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// Reports the ranges over tickers that are stopped.
pub(super) fn ranges(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    check(package, true, findings);
}

/// Reports the other loops that receive from tickers that are stopped.
pub(super) fn receives(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    check(package, false, findings);
}

/// A ticker: a field, or a variable of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ticker {
    Field(Location),
    Local(LocalId),
}

fn check(package: &PackageCx<'_>, ranges: bool, findings: &mut Vec<Finding>) {
    let with = |words| outside_tests(package, words).filter_map(Scene::new);
    let mut stopped: Option<Vec<Scene<'_>>> = None;
    let funcs = outside_tests(package, &[".C"]).filter(|cx| package.counts_in(cx.declared()));
    for scene in funcs.filter_map(Scene::new) {
        for &node in scene.nodes.iter() {
            let Node::Stmt(stmt) = node else { continue };
            let Some((ticker, base)) = ticks(&scene, stmt, ranges) else { continue };
            if !is_endless(&scene, stmt, ranges) {
                continue;
            }
            let others = stopped.get_or_insert_with(|| with(&[".Stop()"]).collect());
            let stop = match ticker {
                Ticker::Local(_) => stop_in(&scene, ticker, scene.literal_around(node)),
                Ticker::Field(_) => others
                    .iter()
                    .filter(|other| other.cx.func != scene.cx.func)
                    .find_map(|other| stop_in(other, ticker, None)),
            };
            if let Some(stop) = stop {
                findings.push(tell(&scene, stmt, base, stop, ranges));
            }
        }
    }
}

/// The ticker that a loop lives by.
fn ticks(scene: &Scene<'_>, stmt: StmtId, ranges: bool) -> Option<(Ticker, ExprId)> {
    let channel = match (&scene.file.stmt(stmt).kind, ranges) {
        (StmtKind::Range { subject, .. }, true) => *subject,
        (StmtKind::For { cond: None, body, .. }, false) => {
            let [first, ..] = scene.file.block(*body) else { return None };
            let received = match &scene.file.stmt(*first).kind {
                StmtKind::Select(clauses) => match &clauses[..] {
                    [only] => only.comm?,
                    _ => return None,
                },
                _ => *first,
            };
            crate::flow::Step::Comm(received).received_from(scene.file)?
        }
        _ => return None,
    };
    let base = ticker_of(scene.file, &scene.info, channel)
        .or_else(|| ticker_of(scene.file, &scene.info, named(scene, channel)?))?;
    Some((ticker(scene, base)?, base))
}

/// What a variable that is set once is a name for.
fn named(scene: &Scene<'_>, channel: ExprId) -> Option<ExprId> {
    let read = scene.cx.summaries().read(scene.cx.func)?;
    match read.function.only_definition_of(scene.local(channel)?)?.source {
        Source::Expr(value) => Some(value),
        _ => None,
    }
}

fn ticker(scene: &Scene<'_>, base: ExprId) -> Option<Ticker> {
    match scene.info.resolve(scene.file.unparen(base)) {
        Def::Field(selection) => Some(Ticker::Field(selection.location?)),
        Def::Local(local) => Some(Ticker::Local(*local)),
        _ => None,
    }
}

/// Whether the loop has no other way out than the end of its channel, and waits for nothing else.
fn is_endless(scene: &Scene<'_>, stmt: StmtId, ranges: bool) -> bool {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
    let literal = scene.literal_around(Node::Stmt(stmt));
    let Some(body) = read.function.body_of(literal) else { return false };
    let cfg: &Cfg = &read.function.body(body).cfg;
    let inside = scene.span(Node::Stmt(stmt));
    let step = cfg.steps().find(|&step| {
        inside.contains(cfg.step(step).span(scene.file))
            && (!ranges
                || matches!(cfg.step(step), crate::flow::Step::Next(range) if range == stmt))
    });
    step.is_some_and(|step| goes_on(cfg, step, ranges.then_some(stmt)))
}

/// A call of `Stop` on the ticker which one literal does not come to itself: only others stop it while it waits.
fn stop_in(scene: &Scene<'_>, wanted: Ticker, outside: Option<ExprId>) -> Option<Location> {
    scene.nodes.iter().find_map(|&node| {
        let Node::Expr(call) = node else { return None };
        let (base, name) = scene.method_call(call)?;
        let ExprKind::Call { .. } = scene.file.expr(call).kind else { return None };
        let stops = name.name.as_str() == "Stop" && ticker(scene, base) == Some(wanted);
        let elsewhere = match wanted {
            Ticker::Local(_) => outside.is_some() && !comes_to(scene, outside, node),
            Ticker::Field(_) => true,
        };
        (stops && elsewhere).then(|| scene.cx.location(scene.span(node)))
    })
}

/// Whether a body comes to a node itself: in it, or in literals that it calls or defers on the spot.
fn comes_to(scene: &Scene<'_>, body: Option<ExprId>, node: Node) -> bool {
    let owners = iter::successors(Some(scene.literal_around(node)), |&owner| {
        let literal = owner?;
        let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return None };
        let is_called = matches!(scene.file.expr(call).kind,
            ExprKind::Call { callee, .. } if scene.file.unparen(callee) == literal);
        (is_called && scene.go_of(call).is_none()).then(|| scene.literal_around(Node::Expr(call)))
    });
    owners.into_iter().any(|owner| owner == body)
}

fn tell(scene: &Scene<'_>, stmt: StmtId, base: ExprId, stop: Location, ranges: bool) -> Finding {
    let name = scene.text(base);
    let span: Span = first_line(scene, scene.span(Node::Stmt(stmt)));
    let message = format!(
        "this loop waits for ever once `{name}` is stopped: `Stop` does not close its channel"
    );
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence_at(scene, Node::Stmt(stmt));
    finding.labels.push(Label {
        location: stop,
        role: Role::Left,
        message: "stopped here".to_owned(),
    });
    finding.why = match ranges {
        true => "a range over a channel ends only when it is closed, and nobody closes a ticker's",
        false => "the loop receives from the ticker alone, and after `Stop` nothing comes",
    }
    .to_owned();
    finding.help =
        "receive in a `select` with a channel that is closed where the ticker is stopped"
            .to_owned();
    finding
}
