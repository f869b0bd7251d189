//! A channel that a method closes in the `default` of a `select` which asks whether it is closed, where both the
//! object's own goroutine and others come.
//!
//! Evidence: the method takes no lock; whoever makes the object starts a goroutine of it, and gives the object to its
//! caller; the goroutine calls the method when it ends for a reason of its own, and not only once it has seen the
//! channel closed. So others may ask at the same time, both find the channel open, and both close it.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, EdgeKind, Exit, Passing, Start, Step, StepId, Walk};
use crate::rules::evidence::caught::catches;
use crate::rules::evidence::closed::finding;
use crate::rules::evidence::closed::half_guarded::in_select;
use crate::rules::evidence::counts_itself::starts_of;
use crate::rules::evidence::first_line;
use crate::rules::evidence::groups::{Group, Groups, Op};
use crate::rules::evidence::traffic::received_from;
use crate::rules::scene::{Graph, Scene, holds_any};
use crate::source::Location;
use crate::syntax::{ExprId, Node, StmtId, StmtKind};

/// Reports a close that an object's goroutine and others may both come to.
pub(super) fn at_once(groups: &Groups<'_>, group: &Group, close: &Op) -> Option<Finding> {
    let scene = &groups.scenes[close.scene];
    if !scene.name.name.is_exported()
        || !scene.is_of_receiver(close.channel)
        || holds_any(&scene.cx, &["Lock", "lock", ".Do(", "CompareAndSwap"])
        || catches(scene, None)
    {
        return None;
    }
    let select = in_select(scene, group, close)?;
    let field = scene.field(close.channel)?;
    let uses = scene.cx.package.uses();
    let calls = uses.calls.get(&scene.cx.func)?;
    let (owner, call, starter, start) = calls.iter().find_map(|&(caller, call)| {
        let owner = Scene::of(&scene.cx.package, caller)?;
        let (base, _) = owner.method_call(call)?;
        let own = owner.literal_around(Node::Expr(call)).is_none()
            && owner.receiver().is_some()
            && owner.local(base) == owner.receiver()
            && owner.go_of(call).is_none()
            && !owner.name.name.is_exported()
            && comes_by_itself(&owner, call, field);
        let mut starts = own.then(|| starts_of(&owner))??.into_iter();
        let (starter, start) = starts.next().filter(|_| starts.next().is_none())?;
        gives_object(&starter, start).then_some((owner, call, starter, start))
    })?;
    let name = scene.text(close.channel);
    let message = format!(
        "`{}` may close `{name}` here beside `{}`, which calls `{}` in a goroutine: both find it open, and the second close panics",
        scene.name.name, owner.name.name, scene.name.name
    );
    let mut finding = finding(groups, close, message);
    let told = |scene: &Scene<'_>, node: Node, role: Role, message: &str| Label {
        location: scene.cx.location(first_line(scene, scene.span(node))),
        role,
        message: message.to_owned(),
    };
    finding.labels = vec![
        told(&starter, Node::Stmt(start), Role::Started, "the goroutine is started here"),
        told(&owner, Node::Expr(call), Role::Context, "it comes here of its own accord"),
        told(scene, select, Role::Condition, "no lock binds this to the close"),
    ];
    finding.why = "closing a closed channel panics".to_owned();
    finding.help = "close it in the function of a `sync.Once`".to_owned();
    Some(finding)
}

/// Whether a method comes to a call without having received from a field of its receiver: the channel.
fn comes_by_itself(scene: &Scene<'_>, call: ExprId, field: Location) -> bool {
    let Some(graph) = scene.graph(None) else { return false };
    let Some(at) = graph.step_of_expr(call) else { return false };
    let at_end = scene.is_deferred(call);
    graph.finds(Start::Entry, (), &mut Untold { scene, graph: &graph, field, at, at_end })
}

/// A walk to a step, or out of the function, that hears nothing of a channel.
struct Untold<'u, 'a> {
    scene: &'u Scene<'a>,
    graph: &'u Graph<'a>,
    field: Location,
    at: StepId,
    at_end: bool,
}

impl Walk for Untold<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        let hears = |channel: ExprId| self.scene.field(channel) == Some(self.field);
        match step {
            step if step == self.at && !self.at_end => Passing::Found,
            step if received_from(self.scene, self.graph, step).is_some_and(hears) => Passing::Drop,
            _ => Passing::On(()),
        }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let EdgeKind::Arm(select, place) = edge.kind else { return Some(()) };
        let StmtKind::Select(clauses) = &self.scene.file.stmt(select).kind else { return Some(()) };
        let comm = clauses.get(place as usize).and_then(|clause| clause.comm);
        let channel = comm.and_then(|comm| Step::Comm(comm).received_from(self.scene.file));
        let hears = channel.is_some_and(|channel| self.scene.field(channel) == Some(self.field));
        (!hears).then_some(())
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        self.at_end && matches!(exit, Exit::Return(_) | Exit::End)
    }
}

/// Whether a function gives its caller the object whose method it starts.
fn gives_object(scene: &Scene<'_>, start: StmtId) -> bool {
    let StmtKind::Go(call) = scene.file.stmt(start).kind else { return false };
    let started = scene.method_call(scene.file.unparen(call)).map(|(base, _)| scene.local(base));
    let Some(Some(object)) = started else { return false };
    scene.receiver() != Some(object)
        && scene.nodes.iter().any(|&node| match node {
            Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
                StmtKind::Return(values) => {
                    scene.literal_around(node).is_none()
                        && values.iter().any(|&value| scene.local(value) == Some(object))
                }
                _ => false,
            },
            _ => false,
        })
}
