//! `watch-not-stopped`: a way out of a function on which the watch it holds goes on.

use crate::diagnostic::{Edit, Finding, Fix, Label, Role, Safety};
use crate::rules::scene::{Graph, Scene};
use crate::rules::watch::life::{self, Leaving};
use crate::rules::watch::{self, Effect, Opening, Watch};
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Span;
use crate::syntax::{Node, StmtKind};

mod ownership;

/// The rule.
pub const RULE: Rule =
    Rule { page: include_str!("../../rules/watch-not-stopped.md"), check: Check::Function(check) };

/// How many ways out a finding shows besides the first.
const SHOWN: usize = 4;

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !watch::may_have_any(cx) {
        return;
    }
    let Some(scene) = Scene::new(*cx) else { return };
    let watches = Watch::all(&scene);
    if watches.is_empty() || watch::is_about_tests(&scene) {
        return;
    }
    for watch in watches {
        if watch.owner.is_none() && watch::is_main(&scene) {
            continue;
        }
        let Some(graph) = scene.graph(watch.owner) else { continue };
        for opening in watch.openings(&scene) {
            if watch::needs_stop(&scene, opening.call) {
                findings.extend(opened(&scene, &watch, &graph, &opening));
            }
        }
        if watch.parameter(&scene).is_some() {
            findings.extend(taken_over(&scene, &watch, &graph));
        }
    }
}

/// A watch that the function makes itself.
fn opened(
    scene: &Scene<'_>,
    watch: &Watch,
    graph: &Graph<'_>,
    opening: &Opening,
) -> Option<Finding> {
    let name = watch.name;
    let message = format!(
        "{} returns here without `{name}.Stop()`, and the goroutine behind `{name}` stays",
        watch::called(scene, watch.owner)
    );
    let mut finding = leaving(scene, watch, graph, Some(opening), message)?;
    let call = scene.span(Node::Expr(opening.call));
    finding.defect = scene.cx.location(call);
    let started = "the watch starts here, with a goroutine of its own".to_owned();
    finding.labels.insert(0, label(scene, call, Role::Started, started));
    finding.why = format!(
        "the goroutine sends its next event to nobody, and waits in that send; the end of the \
         context that `{name}` was made with does not help, since it becomes one more event"
    );
    finding.help = format!("`defer {name}.Stop()` once the error has been checked");
    finding.fixes.extend(defer_stop(scene, watch, graph, opening));
    Some(finding)
}

/// A watch that the function is given and stops, but not always.
fn taken_over(scene: &Scene<'_>, watch: &Watch, graph: &Graph<'_>) -> Option<Finding> {
    let (name, function) = (watch.name, scene.name.name);
    let message = format!(
        "`{function}` takes over `{name}` and returns here without `{name}.Stop()`, so the \
         goroutine behind `{name}` stays"
    );
    let mut finding = leaving(scene, watch, graph, None, message)?;
    let ended = ownership::ended_here(scene, watch)?;
    if !ownership::callers_leave_it(scene, watch) {
        return None;
    }
    let declared = scene.info.local(watch.variable).span;
    finding.defect = scene.cx.location(declared);
    let given = "a running watch is given to this function".to_owned();
    finding.labels.insert(0, label(scene, declared, Role::Context, given));
    let elsewhere = format!("on other ways `{name}` is stopped");
    finding.labels.push(label(scene, ended, Role::Context, elsewhere));
    finding.why = format!(
        "no caller stops `{name}` either: the goroutine sends its next event to nobody, and waits \
         in that send"
    );
    finding.help = format!("`defer {name}.Stop()` as the first statement of `{function}`");
    Some(finding)
}

/// A finding at the first way out on which the watch goes on, with labels at the others.
fn leaving(
    scene: &Scene<'_>,
    watch: &Watch,
    graph: &Graph<'_>,
    from: Option<&Opening>,
    message: String,
) -> Option<Finding> {
    let exits = left(scene, watch, graph, from);
    let (&first, others) = exits.split_first()?;
    let mut finding = scene.cx.finding(first, "nobody stops it from here on", message);
    let shown = others.iter().take(SHOWN);
    finding.labels =
        shown.map(|&span| label(scene, span, Role::Left, "nor here".to_owned())).collect();
    Some(finding)
}

/// The ways out on which the watch goes on, in order of source.
fn left(scene: &Scene<'_>, watch: &Watch, graph: &Graph<'_>, from: Option<&Opening>) -> Vec<Span> {
    let paths = life::exits(scene, graph, watch, from, Leaving::Running);
    let mut spans: Vec<Span> =
        paths.iter().map(|path| life::exit_span(scene, watch, path)).collect();
    spans.sort_unstable();
    spans
}

fn label(scene: &Scene<'_>, span: Span, role: Role, message: String) -> Label {
    Label { location: scene.cx.location(span), role, message }
}

/// `defer w.Stop()` after the check of the error, where nothing else stops or replaces the watch.
fn defer_stop(
    scene: &Scene<'_>,
    watch: &Watch,
    graph: &Graph<'_>,
    opening: &Opening,
) -> Option<Fix> {
    let effects = watch.effects(scene, graph).at;
    let replaced = effects.values().filter(|&&effect| effect == Effect::Replaces).count();
    let stopped = effects.values().any(|&effect| effect == Effect::Stops);
    if replaced > 1 || stopped || in_loop(scene, watch, opening) {
        return None;
    }
    let after = checked_at(scene, opening)?;
    let line = scene.file.source.line(scene.span(opening.node).start);
    let start = scene.file.source.line_span(line)?.start;
    let indent: String = scene
        .file
        .source
        .text(Span::new(start, scene.span(opening.node).start))
        .chars()
        .take_while(|c| c.is_whitespace())
        .collect();
    let edit = Edit {
        location: scene.cx.location(Span::new(after, after)),
        replacement: format!("\n{indent}defer {}.Stop()", watch.name),
    };
    Some(Fix {
        message: "stop the watch at every way out".to_owned(),
        safety: Safety::Safe,
        edits: vec![edit],
    })
}

/// Whether the opening is done again and again.
fn in_loop(scene: &Scene<'_>, watch: &Watch, opening: &Opening) -> bool {
    let body = Node::Stmt(scene.body_of(watch.owner));
    scene.around(opening.node).take_while(|&node| node != body).any(|node| match node {
        Node::Stmt(stmt) => {
            matches!(scene.file.stmt(stmt).kind, StmtKind::For { .. } | StmtKind::Range { .. })
        }
        _ => false,
    })
}

/// Where the statement ends that checks the error of an opening: the `if` that follows it.
fn checked_at(scene: &Scene<'_>, opening: &Opening) -> Option<u32> {
    let Node::Stmt(stmt) = opening.node else { return None };
    let Some(Node::Stmt(block)) = scene.parent(opening.node) else { return None };
    let stmts = scene.file.block(block);
    let next = *stmts.get(stmts.iter().position(|&other| other == stmt)? + 1)?;
    let StmtKind::If { init: None, cond, otherwise: None, .. } = scene.file.stmt(next).kind else {
        return None;
    };
    let error = opening.error?;
    scene.mentions(Node::Expr(cond), error).then_some(scene.file.stmt(next).span.end)
}
