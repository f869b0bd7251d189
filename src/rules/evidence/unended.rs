//! A goroutine of an object that only a channel could end which nobody ever closes or sends on.
//!
//! Evidence: all operations on the channel are seen, it is made, and none of them sends on it or closes it; a body
//! that is started as a goroutine receives from it in a `select`, and without those arms has no way out. One that is
//! started once may go on as long as the process does: so who starts it comes there again and again, or can return
//! after that without the object, which nobody has then.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Edge, EdgeKind, Exit, Passing, Start, StepId, Walk};
use crate::index::Type;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::{confidence, first_line, label};
use crate::rules::recurrence::{self, Runs};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{Node, StmtId, StmtKind};

/// Reports the ways out that are never ready.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        findings.extend(unended(groups, group));
    }
}

fn unended(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let is_plain = |op: &Op| match op.act {
        Act::Make(_) => true,
        Act::Receive => op.select.is_some(),
        _ => false,
    };
    if group.open || !group.recipients.is_empty() || !group.ops.iter().all(is_plain) {
        return None;
    }
    let make = group.ops.iter().find(|op| matches!(op.act, Act::Make(_)))?;
    // What its own function makes is explored.
    let receives = group.ops.iter().filter(|op| op.act == Act::Receive && op.scene != make.scene);
    receives.filter(|op| is_only_way_out(groups, group, op)).find_map(|receive| {
        let scene = &groups.scenes[receive.scene];
        let (told, also) = match again(groups, scene, receive) {
            Some((place, text)) => (confidence(scene), Some((place, text))),
            None => (Confidence::Low, None),
        };
        let name = scene.text(receive.channel);
        let message =
            format!("nobody closes `{name}` or sends on it, and nothing else ends this goroutine");
        // As the explorer has it, so that it is told once.
        let (select, _) = receive.select?;
        let span = first_line(scene, scene.span(Node::Stmt(select)));
        let mut finding = scene.cx.finding(span, "stays here", message);
        finding.confidence = told;
        finding.labels.push(label(groups, make, Role::Made, "made here"));
        finding.labels.extend(also.map(|(location, text)| Label {
            location,
            role: Role::Left,
            message: text.to_owned(),
        }));
        finding.why = "each goroutine that is started stays as long as the process, with all that it refers to"
            .to_owned();
        finding.help =
            format!("close `{name}` in a method that ends the object, and where it is given up");
        Some(finding)
    })
}

/// Whether a body that is started as a goroutine is left by the arms on a channel alone.
fn is_only_way_out(groups: &Groups<'_>, group: &Group, receive: &Op) -> bool {
    let scene = &groups.scenes[receive.scene];
    let Some(graph) = scene.graph(receive.literal) else { return false };
    let arms = group.ops.iter().filter(|op| op.same_body(receive)).filter_map(|op| op.select);
    let mut without = Without { arms: arms.collect() };
    groups.is_started(scene, receive.literal)
        && !graph.incomplete()
        && graph.leaves_without(&|_| false)
        && !graph.finds(Start::Entry, (), &mut without)
}

/// A walk to any way out, a panic as well, that takes none of some arms.
struct Without {
    arms: Vec<(StmtId, u32)>,
}

impl Walk for Without {
    type State = ();

    fn step(&mut self, (): &(), _: StepId) -> Passing<()> {
        Passing::On(())
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        match edge.kind {
            EdgeKind::Arm(select, place) if self.arms.contains(&(select, place)) => None,
            _ => Some(()),
        }
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        true
    }
}

/// Where the function that starts a goroutine gives up what that works for, or what comes to it again and again.
fn again<'a>(
    groups: &Groups<'a>,
    scene: &Scene<'a>,
    receive: &Op,
) -> Option<(Location, &'static str)> {
    let starts: Vec<(&Scene<'a>, StmtId)> = match receive.literal {
        Some(literal) => scene.go_around(literal).map(|go| (scene, go)).into_iter().collect(),
        None => groups
            .scenes
            .iter()
            .flat_map(|starter| starter.starts(scene.cx.func).map(move |(go, _)| (starter, go)))
            .collect(),
    };
    starts.into_iter().find_map(|(starter, go)| {
        given_up(starter, go).or_else(|| {
            match recurrence::runs(&starter.cx.package, starter.cx.func) {
                Runs::Again(place, _) => Some((place, "it is started again and again here")),
                _ => None,
            }
        })
    })
}

/// Where a function returns nil for what it has made, after it has started the goroutine.
fn given_up(scene: &Scene<'_>, go: StmtId) -> Option<(Location, &'static str)> {
    // That nil comes first says nothing of an error.
    let gives_object = match scene.cx.index().func_type(scene.cx.func) {
        Type::Func(signature) => signature.results.first().is_some_and(|ty| !ty.is_error()),
        _ => false,
    };
    let graph = scene.graph(None).filter(|_| gives_object)?;
    let started = scene.step_of(&graph, Node::Stmt(go))?;
    let returns = scene.nodes.iter().find(|&&node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Return(values) = &scene.file.stmt(stmt).kind else { return false };
        let is_nil = values.first().is_some_and(|&first| scene.is_nil(first));
        is_nil
            && scene.literal_around(node).is_none()
            && graph.step_of_stmt(stmt).is_some_and(|step| graph.reaches(started, step))
    })?;
    let place = scene.cx.location(first_line(scene, scene.span(*returns)));
    Some((place, "left here, and nobody has what the goroutine works for"))
}
