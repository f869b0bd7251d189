//! A place that is taken in a channel, and given back on some ways out and not on all.
//!
//! Evidence: the channel carries nothing, has room, is made in one place and known to the package only; each body
//! that receives from it has sent on it before, so that a send takes a place and the receive gives that back. From
//! a send a way leads out of the body that passes no receive, while another one does. Each time one place is lost,
//! until all who want one wait for ever. Where what is deferred, or another goroutine, gives places back, nothing is
//! known.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Exit, Path, PathEnd, Start, Step, StepId};
use crate::index::{Builtin, Callee, Def};
use crate::rules::conditions::{Conditions, Decided, Way, WayOut, condition};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{DeclKind, ExprId, Node};

/// Reports the sends of the package that take a place for ever.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| counts_places(groups, group)) {
        for take in group.ops.iter().filter(|op| op.act == Act::Send) {
            findings.extend(check_take(groups, group, take));
        }
    }
}

/// Whether each value in a channel stands for somebody who has taken a place and gives it back himself.
fn counts_places(groups: &Groups<'_>, group: &Group) -> bool {
    let Some(send) = group.ops.iter().find(|op| op.act == Act::Send) else { return false };
    let scene = &groups.scenes[send.scene];
    let is_count = scene.cx.index().is_signal(scene.info.type_of(send.channel));
    let made = || {
        let mut makes = group.ops.iter().filter(|op| matches!(op.act, Act::Make(_)));
        match (makes.next(), makes.next()) {
            (Some(make), None) => make.act != Act::Make(Some(0)),
            (None, _) => is_variable_with_room(scene, send.channel),
            _ => false,
        }
    };
    let mut others = group.ops.iter().filter(|op| !matches!(op.act, Act::Make(_) | Act::Send));
    is_count
        && !group.open
        && group.recipients.is_empty()
        && made()
        && others.all(|op| op.act == Act::Receive && is_given_back(groups, group, op))
}

/// Whether a channel is a variable of the package that is made with room where it is declared.
fn is_variable_with_room(scene: &Scene<'_>, channel: ExprId) -> bool {
    let index = scene.cx.index();
    let Def::Global(object) = *scene.info.resolve(scene.file.unparen(channel)) else {
        return false;
    };
    let variable = index.object(object);
    let Some(spec) = variable.spec else { return false };
    let file = index.package(object.package).tree(variable.file, variable.decl);
    let info = index.spec_body(object.package, spec);
    let DeclKind::Var(declared) = &file.decl(variable.decl).kind else { return false };
    let Some(&value) = declared.values.get(variable.place as usize) else { return false };
    let make = file.unparen(value);
    matches!(info.callee(make), Callee::Builtin(Builtin::Make)) && file.args(make).len() == 2
}

/// Whether a receive comes only where its body has sent.
fn is_given_back(groups: &Groups<'_>, group: &Group, receive: &Op) -> bool {
    let scene = &groups.scenes[receive.scene];
    let Some(cfg) = scene.graph(receive.literal) else { return false };
    let Some(to) = receive.step(scene, &cfg) else { return false };
    let takes = steps(group, scene, &cfg, receive, Act::Send);
    let Some(conditions) = conditions_of(scene, receive) else { return false };
    let mut walk = Way {
        conditions: &conditions,
        to: &|step| step == to,
        settled: &|step| takes.contains(&step),
    };
    !takes.is_empty() && !cfg.finds(Start::Entry, Vec::new(), &mut walk)
}

/// The conditions of the body that an operation stands in.
fn conditions_of(scene: &Scene<'_>, op: &Op) -> Option<Conditions> {
    let read = scene.cx.summaries().read(scene.cx.func)?;
    Some(Conditions::new(&read.function, read.function.body_of(op.literal)?))
}

/// The steps by which the body of an operation does the same or another thing to its channel.
fn steps(group: &Group, scene: &Scene<'_>, cfg: &Cfg, of: &Op, act: Act) -> Vec<StepId> {
    let own = group.ops.iter().filter(|op| op.act == act && op.same_body(of));
    own.filter_map(|op| op.step(scene, cfg)).collect()
}

fn check_take(groups: &Groups<'_>, group: &Group, take: &Op) -> Option<Finding> {
    let scene = &groups.scenes[take.scene];
    let graph = scene.graph(take.literal)?;
    let cfg: &Cfg = &graph;
    let from = take.step(scene, cfg)?;
    let mut releases = steps(group, scene, cfg, take, Act::Receive);
    if !cfg.reaches_any(from, &|step| releases.contains(&step)) {
        return None;
    }
    // A place that was taken is there, so that a `select` that gives it back does so.
    releases.extend(group.ops.iter().filter_map(|op| {
        let (select, _) = op.select.filter(|_| op.act == Act::Receive && op.same_body(take))?;
        cfg.step_of_stmt(select)
    }));
    let text = scene.text(take.channel);
    let names = |step: Step| scene.file.source.text(step.span(scene.file)).contains(&text);
    let settled = |step: StepId| releases.contains(&step) || step != from && names(cfg.step(step));
    let conditions = conditions_of(scene, take)?;
    let way = Way { conditions: &conditions, to: &|_| false, settled: &settled };
    let paths = cfg.search(Start::After(from), conditions.known_after(cfg, from), &mut WayOut(way));
    let path = paths.first()?;
    let release = group.ops.iter().find(|op| op.act == Act::Receive && op.same_body(take))?;
    Some(tell(scene, take, release, path))
}

fn tell(scene: &Scene<'_>, take: &Op, release: &Op, path: &Path<Decided>) -> Finding {
    let name = scene.text(take.channel);
    let message = format!(
        "a place in `{name}` is taken here and not given back on every way out: with each place lost one less \
         can be taken, until every send waits for ever"
    );
    let span = first_line(scene, scene.span(take.node));
    let mut finding = scene.cx.finding(span, "the place stays taken", message);
    finding.confidence = confidence(scene);
    let mut label = |node: Node, role: Role, message: &str| {
        let location = scene.cx.location(first_line(scene, scene.span(node)));
        finding.labels.push(Label { location, role, message: message.to_owned() });
    };
    if let Some(last) = path.decisions().filter_map(condition).next_back() {
        label(Node::Expr(last), Role::Condition, "decided here");
    }
    if let PathEnd::Exit(_, Exit::Return(stmt)) = path.end {
        label(Node::Stmt(stmt), Role::Left, "left here without giving it back");
    }
    label(release.node, Role::Context, "given back here on another way");
    finding.why =
        format!("who takes a place in `{name}` gives it back himself, and nobody else does");
    finding.help = format!("`defer func() {{ <-{name} }}()` right after the send");
    finding
}
