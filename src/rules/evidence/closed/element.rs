//! A channel that is closed and left among those that others go through to send on each.
//!
//! Evidence: a function ranges over a field and closes the channel that each element is, or holds; it
//! takes none out of the field, and says nowhere that it has been there; another function ranges over the
//! same field and sends on each. Either both take one lock for that, so that any of the two may come first,
//! or only some elements are closed, so that all goes on.

use crate::diagnostic::{Finding, Role};
use crate::index::{Builtin, Callee, FuncId, LocalId};
use crate::rules::FunctionCx;
use crate::rules::evidence::closed::{finding, may_recover};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::label;
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{Locking, fields, held_at};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// What a channel is one of: the elements of a field that are gone through.
struct Element {
    variable: LocalId,
    range: StmtId,
    collection: Location,
    /// The fields from the element to the channel.
    path: String,
}

impl Element {
    fn of(scene: &Scene<'_>, op: &Op) -> Option<Element> {
        let variable = root_variable(scene, op.channel)??;
        scene.loops_around(op.node).into_iter().find_map(|range| {
            let StmtKind::Range { key, value, subject, .. } = scene.file.stmt(range).kind else {
                return None;
            };
            let mut bound = [key, value].into_iter().flatten();
            bound.find(|&bound| scene.local(bound) == Some(variable))?;
            let collection = scene.field(subject)?;
            Some(Element { variable, range, collection, path: fields(scene, op.channel) })
        })
    }
}

/// Reports a close of one of several channels, which others go on to send on.
pub(super) fn left(groups: &Groups<'_>, group: &Group, close: &Op) -> Option<Finding> {
    let scene = &groups.scenes[close.scene];
    let closed = Element::of(scene, close)?;
    let send = group.ops.iter().find(|op| {
        let other = &groups.scenes[op.scene];
        op.act == Act::Send
            && op.scene != close.scene
            && !are_in_turn(scene, other)
            && Element::of(other, op).is_some_and(|sent| {
                sent.collection == closed.collection
                    && sent.path == closed.path
                    && (is_of_some(scene, close, &closed)
                        || have_a_lock((scene, close, &closed), (other, op, &sent)))
            })
            && !may_recover(groups, op)
    })?;
    if tells(scene, &closed, scene.cx.func, true) {
        return None;
    }
    let name = scene.text(close.channel);
    let sender = groups.scenes[send.scene].name.name;
    let message =
        format!("`{name}` is closed and stays where `{sender}` finds it: its next send panics");
    let mut finding = finding(groups, close, message);
    let told = "sends on each that is left".to_owned();
    finding.labels.push(label(groups, send, Role::Stuck, told));
    finding.help = "take it out of there under the same lock, before it is closed".to_owned();
    Some(finding)
}

/// Whether one function alone calls the two, so that it may never do the one after the other.
fn are_in_turn(closer: &Scene<'_>, sender: &Scene<'_>) -> bool {
    let callers = |of: &Scene<'_>| -> Vec<FuncId> {
        let uses = closer.cx.package.uses();
        uses.calls.get(&of.cx.func).into_iter().flatten().map(|&(caller, _)| caller).collect()
    };
    let exported = |scene: &Scene<'_>| scene.name.name.is_exported();
    let all = [callers(closer), callers(sender)].concat();
    !exported(closer) && !exported(sender) && all.iter().all(|caller| Some(caller) == all.first())
}

/// Whether only some of the elements are closed.
fn is_of_some(scene: &Scene<'_>, close: &Op, closed: &Element) -> bool {
    let around = scene.around(close.node);
    around.take_while(|&node| node != Node::Stmt(closed.range)).any(|node| {
        matches!(node, Node::Stmt(stmt) if matches!(scene.file.stmt(stmt).kind, StmtKind::If { .. }))
    })
}

/// Whether two functions have the same lock where they go through the elements.
fn have_a_lock(closer: Through<'_, '_>, sender: Through<'_, '_>) -> bool {
    let locks = Locking::locks(&closer.0.cx.package);
    let held = |(scene, op, element): Through<'_, '_>| {
        let cfg = scene.graph(op.literal)?;
        let at = cfg.step_of_stmt(element.range)?;
        Some(held_at(scene, &locks, op.literal, &cfg, at))
    };
    let first = held(closer).unwrap_or_default();
    let second = held(sender).unwrap_or_default();
    first.iter().any(|one| second.iter().any(|other| one.object == other.object))
}

/// A function, what it does to each element, and the element.
type Through<'t, 'a> = (&'t Scene<'a>, &'t Op, &'t Element);

/// Whether a function takes something out of the collection, puts another in its place, or leaves a word of what it
/// did: it assigns to a field, itself or in what it calls.
fn tells(scene: &Scene<'_>, closed: &Element, closer: FuncId, deeper: bool) -> bool {
    let collection = |expr: ExprId| scene.field(expr) == Some(closed.collection);
    scene.nodes.iter().any(|&node| match node {
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, .. } => left.iter().any(|&target| {
                !matches!(scene.file.expr(scene.file.unparen(target)).kind, ExprKind::Ident(_))
            }),
            StmtKind::IncDec { operand, .. } => scene.field(*operand).is_some(),
            _ => false,
        },
        Node::Expr(call) => match *scene.info.callee(call) {
            Callee::Builtin(Builtin::Delete | Builtin::Clear) => {
                scene.args(call).first().is_some_and(|&arg| collection(arg))
            }
            Callee::Func(func) if deeper && func.package == closer.package && func != closer => {
                Scene::new(FunctionCx { func, ..scene.cx })
                    .is_none_or(|callee| tells(&callee, closed, closer, false))
            }
            // Who is given the element may take it out.
            Callee::Value(_) | Callee::InterfaceMethod(_) | Callee::Unknown { .. } => {
                let is_element = |&arg| scene.local(arg) == Some(closed.variable);
                deeper && scene.args(call).iter().any(is_element)
            }
            _ => false,
        },
        Node::Decl(_) => false,
    })
}
