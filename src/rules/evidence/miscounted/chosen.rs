//! A count of all, and goroutines for those that were chosen.
//!
//! Evidence: `wg.Add(len(xs))` is all that is counted; one goroutine is started for each element of `ys`, and is
//! all that counts down, once; and `ys` holds nothing but what a loop over `xs` appended, at most one in a turn,
//! where some turn goes on to the next one without having appended, or noted anything else.

use crate::diagnostic::{Finding, Role};
use crate::flow::{Cfg, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Builtin, Callee, LocalId, LocalKind};
use crate::rules::conditions::condition;
use crate::rules::evidence::first_line;
use crate::rules::evidence::miscounted::Group;
use crate::rules::evidence::runs::{How, Run, runs};
use crate::rules::scene::Scene;
use crate::summary::{At, BodyId, Source};
use crate::syntax::{ExprId, ExprKind, File, Node, StmtId, StmtKind};

/// The group, if fewer goroutines than it counts are started on some path.
pub(super) fn fewer(group: &Group<'_, '_>) -> Option<Finding> {
    let [(add, call)] = group.adds[..] else { return None };
    let [done] = group.dones[..] else { return None };
    let (scene, function) = (group.scene, &group.read.function);
    let all = scene.local(group.counted(call)?)?;
    let start = start_of(group, done, add.body)?;
    let cfg = &function.body(add.body).cfg;
    let Step::Go(go) = cfg.step(start.step) else { return None };
    let [turns] = scene.loops_around(Node::Stmt(go))[..] else { return None };
    let chosen = scene.local(ranged_over(scene, turns)?)?;
    let counts_once = !cfg.reaches(add.step, add.step) && cfg.dominates(add.step, start.step);
    if chosen == all || !counts_once || is_changed(group, all) || are_compared(scene, all, chosen) {
        return None;
    }
    let append = only_append(group, chosen)?;
    let &filling = scene.loops_around(Node::Expr(append.1)).first()?;
    let from_all = scene.local(ranged_over(scene, filling)?) == Some(all);
    let cfg = &function.body(append.0.body).cfg;
    let next = cfg.steps().find(|&step| cfg.step(step) == Step::Next(filling));
    let mut walk = Passed { cfg, file: scene.file, next: next?, append: append.0.step };
    let path = cfg.search(Start::After(next?), (), &mut walk).into_iter().next();
    let path = path.filter(|_| from_all)?;
    let name = |local: LocalId| scene.info.local(local).name;
    let mut finding = group.finding();
    if let Some(asked) = path.decisions().filter_map(condition).next_back() {
        let span = first_line(scene, scene.span(Node::Expr(asked)));
        let message = format!("not all of `{}` come into `{}`", name(all), name(chosen));
        finding.labels.push(group.note(span, Role::Condition, message));
    }
    let message = format!("this counts all of `{}`", name(all));
    finding.labels.push(group.note(scene.span(Node::Expr(call)), Role::Context, message));
    let span = first_line(scene, scene.span(Node::Stmt(go)));
    let message = format!("a goroutine starts for each of `{}` alone", name(chosen));
    finding.labels.push(group.note(span, Role::Started, message));
    finding.help = format!("count what is started: `{}.Add(len({}))`", group.name(), name(chosen));
    Some(finding)
}

/// Where a body starts the goroutine that counts down in its course, or when it ends; nobody else does anything
/// with the group.
fn start_of(group: &Group<'_, '_>, done: At, body: BodyId) -> Option<At> {
    let function = &group.read.function;
    let mut at = done;
    let mut inside = vec![done];
    while at.body != body {
        let runs = runs(group.scene, function, at.body)?;
        let [Run { at: place, how }] = runs[..] else { return None };
        let is_start = how == How::Go;
        if is_start != (place.body == body) || function.body(at.body).cfg.reaches(at.step, at.step)
        {
            return None;
        }
        at = place;
        inside.push(at);
    }
    let counted = |at: &At| group.adds.iter().any(|(add, _)| add == at) || group.waits.contains(at);
    let is_known = group.used.iter().all(|at| inside.contains(at) || counted(at));
    (is_known && at != done).then_some(at)
}

/// What a loop has a turn for each element of.
fn ranged_over(scene: &Scene<'_>, stmt: StmtId) -> Option<ExprId> {
    match scene.file.stmt(stmt).kind {
        StmtKind::Range { subject, .. } => Some(subject),
        StmtKind::For { cond: Some(cond), .. } => {
            let ExprKind::Binary { right, .. } = scene.file.expr(cond).kind else { return None };
            let right = scene.file.unparen(right);
            let is_len = matches!(scene.info.callee(right), Callee::Builtin(Builtin::Len));
            scene.args(right).first().copied().filter(|_| is_len)
        }
        _ => None,
    }
}

/// Whether a variable may hold something else later on.
fn is_changed(group: &Group<'_, '_>, local: LocalId) -> bool {
    let function = &group.read.function;
    let is_plain = matches!(function.info.local(local).kind, LocalKind::Param(_) | LocalKind::Var);
    !is_plain || !function.has_one_value(local)
}

/// Whether the function sets how many there are of the one against the other.
fn are_compared(scene: &Scene<'_>, all: LocalId, chosen: LocalId) -> bool {
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(expr) => {
            matches!(scene.file.expr(expr).kind, ExprKind::Binary { .. })
                && scene.mentions(node, all)
                && scene.mentions(node, chosen)
        }
        _ => false,
    })
}

/// The only place where something comes into a slice that is empty first.
fn only_append(group: &Group<'_, '_>, chosen: LocalId) -> Option<(At, ExprId)> {
    let (scene, function) = (group.scene, &group.read.function);
    if function.is_addressed(chosen) {
        return None;
    }
    let mut only = None;
    for definition in function.definitions_of(chosen) {
        let value = match definition.source {
            Source::Zero => continue,
            Source::Expr(value) => scene.file.unparen(value),
            _ => return None,
        };
        if is_empty(scene, value) {
            continue;
        }
        let appends = matches!(scene.info.callee(value), Callee::Builtin(Builtin::Append));
        match scene.args(value) {
            [to, _] if appends && only.is_none() && scene.local(*to) == Some(chosen) => {
                only = Some((definition.at?, value));
            }
            _ => return None,
        }
    }
    only
}

/// Whether a value is a slice with nothing in it.
fn is_empty(scene: &Scene<'_>, value: ExprId) -> bool {
    match scene.file.expr(value).kind {
        ExprKind::CompositeLit { ref elements, .. } => elements.is_empty(),
        _ => {
            let size = scene.args(value).get(1).and_then(|&size| scene.info.constant(size));
            matches!(scene.info.callee(value), Callee::Builtin(Builtin::Make))
                && size.and_then(|size| size.as_int()) == Some(0)
        }
    }
}

/// Looks for a turn that appends nothing, and notes nothing elsewhere.
struct Passed<'p> {
    cfg: &'p Cfg,
    file: &'p File,
    next: StepId,
    append: StepId,
}

impl Walk for Passed<'_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.next {
            return Passing::Found;
        }
        let notes = match self.cfg.step(step) {
            Step::Assign(stmt) => !matches!(self.file.stmt(stmt).kind, StmtKind::Define { .. }),
            Step::Send(_) | Step::Go(_) | Step::Defer(_) | Step::Comm(_) => true,
            _ => step == self.append,
        };
        if notes { Passing::Drop } else { Passing::On(()) }
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        false
    }
}
