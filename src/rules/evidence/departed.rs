//! A send to an object that has ended its receivers, with nothing beside but the context of who calls.
//!
//! Evidence: all operations on the channel are seen: it is unbuffered, and a field. Each receive stands in a
//! `select` with an arm on which the receiver leaves for good: another field of the same object, made where the
//! channel is made and nowhere else, which a method of the type closes and nobody sends on; or the context that the
//! object keeps for its end ([`own_context`](super::own_context)). Others of its methods,
//! or the sender itself, ask whether that is over, so it may be while methods are called; the `select` of the
//! send has no arm for it. The end of the caller's context is no excuse: who gives `context.Background()` stays, and
//! all others wait for what nobody can do any more.
//!
//! Where the channel has room of a constant size, each send after the end takes a place for good: that counts where
//! the send has nothing beside and may come any number of times ([`filled`]).

mod filled;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{FuncId, LocalId, LocalKind};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::leaver::{Arm, holds_lock, is_done, leaving_arm};
use crate::rules::evidence::own_context::OwnContext;
use crate::rules::evidence::traffic::after_recover;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::recurrence;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtKind};

/// Reports the sends that only the caller ends.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open && group.recipients.is_empty()) {
        let Some(served) = Served::of(groups, group) else { continue };
        let mut told: Vec<usize> = Vec::new();
        for send in group.ops.iter().filter(|op| op.act == Act::Send) {
            let stays = || match served.room() {
                0 => served.is_left_with(send),
                room => filled::stays(&served, send, room),
            };
            if !told.contains(&send.scene) && stays() {
                told.push(send.scene);
                findings.push(served.tell(send));
            }
        }
    }
}

/// A channel whose receivers have all gone once another one is closed.
pub(super) struct Served<'g, 'a> {
    groups: &'g Groups<'a>,
    pub make: &'g Op,
    pub receives: Vec<&'g Op>,
    /// The arm by which the first of them leaves.
    pub arm: Arm,
    /// What that receives from.
    end: End<'g>,
}

/// What the receivers leave by.
enum End<'g> {
    /// A channel of the object, and its close.
    Channel(&'g Group, &'g Op),
    /// A context of the object.
    Context(OwnContext),
}

impl<'g, 'a> Served<'g, 'a> {
    pub(super) fn of(groups: &'g Groups<'a>, group: &'g Group) -> Option<Self> {
        let make = group.only_make()?;
        if make.act == Act::Make(None) {
            return None;
        }
        let others = |op: &Op| matches!(op.act, Act::Range | Act::Notify | Act::Close);
        let receives: Vec<&Op> = group.ops.iter().filter(|op| op.act == Act::Receive).collect();
        let first = *receives.first()?;
        if group.ops.iter().any(others) {
            return None;
        }
        let arm = leaving_arm(groups, group, first).filter(Arm::stays)?;
        let end = groups.of_expr(first.scene, arm.channel).and_then(|end| {
            Some(End::Channel(end, end.ops.iter().find(|op| op.act == Act::Close)?))
        });
        let end = match end {
            Some(end) => end,
            None => End::Context(OwnContext::of(groups, make, first, &arm)?),
        };
        let leaves_too = |receive: &&Op| {
            let of_end = |arm: Arm| match end {
                End::Channel(end, _) => {
                    let told = groups.of_expr(receive.scene, arm.channel);
                    told.is_some_and(|told| std::ptr::eq(told, end))
                }
                End::Context(end) => OwnContext::of(groups, make, receive, &arm) == Some(end),
            };
            is_own(groups, receive.scene, receive.channel)
                && leaving_arm(groups, group, receive).is_some_and(of_end)
        };
        if !receives.iter().all(leaves_too) {
            return None;
        }
        if let End::Channel(end, close) = end {
            let sent = end.ops.iter().any(|op| matches!(op.act, Act::Send | Act::Notify));
            let made = end.only_make()?;
            let owner = groups.scenes[first.scene].cx.owner()?;
            let of_owner = |op: &Op| groups.scenes[op.scene].cx.owner() == Some(owner);
            let by_object = is_own(groups, close.scene, close.channel)
                && is_own(groups, first.scene, arm.channel);
            if sent || made.scene != make.scene || !of_owner(close) || !by_object {
                return None;
            }
        }
        let served = Served { groups, make, receives, arm, end };
        let ender = served.ender();
        let receives_itself = served.receivers().contains(&ender);
        (!receives_itself).then_some(served)
    }

    /// Who ends the object.
    fn ender(&self) -> FuncId {
        match self.end {
            End::Channel(_, close) => self.groups.scenes[close.scene].cx.func,
            End::Context(context) => context.ender,
        }
    }

    fn receivers(&self) -> Vec<FuncId> {
        let receives = self.receives.iter();
        receives.map(|receive| self.groups.scenes[receive.scene].cx.func).collect()
    }

    /// The place where the object is ended, for people.
    pub(super) fn ends_here(&self) -> Label {
        let location = match self.end {
            End::Channel(_, close) => {
                let closer = &self.groups.scenes[close.scene];
                closer.cx.location(first_line(closer, closer.span(close.node)))
            }
            End::Context(context) => context.ended,
        };
        let cx = &self.groups.scenes[self.make.scene].cx;
        let ender = cx.index().func(self.ender()).name;
        let message = match self.end {
            End::Context(context) if context.ender == cx.func => {
                format!(
                    "`{ender}` is given the context that ends it, and keeps it in `{}`",
                    context.name
                )
            }
            _ => format!("`{ender}` ends it here"),
        };
        Label { location, role: Role::Context, message }
    }

    /// What is said of the end once it has come.
    pub(super) fn is_over(&self) -> &'static str {
        match self.end {
            End::Channel(..) => "is closed",
            End::Context(_) => "is ready",
        }
    }

    /// How much room the channel has.
    pub(super) fn room(&self) -> u64 {
        match self.make.act {
            Act::Make(Some(room)) => room,
            _ => 0,
        }
    }

    /// Whether a send waits for ever when the receivers have gone, as far as the object is asked.
    fn is_left_with(&self, send: &Op) -> bool {
        let scene = &self.groups.scenes[send.scene];
        self.is_sent_apart(send)
            && !is_counted(scene)
            && only_context_beside(scene, send)
                .is_some_and(|param| may_be_callers(&self.groups.scenes, scene, param))
            && self.is_asked(send)
    }

    /// Whether another method of the object sends, who has nothing that its end would wait for.
    pub(super) fn is_sent_apart(&self, send: &Op) -> bool {
        let scene = &self.groups.scenes[send.scene];
        let receiver = &self.groups.scenes[self.receives[0].scene];
        self.receives.iter().all(|receive| receive.scene != send.scene)
            && scene.cx.func != self.ender()
            && send.literal.is_none()
            && scene.cx.owner() == receiver.cx.owner()
            && is_own(self.groups, send.scene, send.channel)
            && !after_recover(scene, send.node)
            && !holds_lock(scene, send)
    }

    /// Whether the sender or another method, who does not receive, asks whether the end has come.
    pub(super) fn is_asked(&self, send: &Op) -> bool {
        let scene = &self.groups.scenes[send.scene];
        let end = match self.end {
            End::Channel(end, _) => end,
            End::Context(context) => return context.is_asked(scene, &self.receivers()),
        };
        let owner = self.groups.scenes[self.receives[0].scene].cx.owner();
        let receives = |op: &Op| self.receives.iter().any(|receive| receive.scene == op.scene);
        end.ops.iter().any(|op| {
            op.act == Act::Receive
                && !receives(op)
                && self.groups.scenes[op.scene].cx.owner() == owner
        })
    }

    fn tell(&self, send: &Op) -> Finding {
        let scene = &self.groups.scenes[send.scene];
        let receive = self.receives[0];
        let receiver = &self.groups.scenes[receive.scene];
        let (name, end) = (scene.text(send.channel), receiver.text(self.arm.channel));
        let room = self.room();
        let waits = match room {
            0 => "waits for nothing else than its caller's context".to_owned(),
            _ => format!("waits for nothing else once the room for {room} is taken"),
        };
        let message = format!(
            "nobody receives from `{name}` once `{end}` {}, and this send {waits}",
            self.is_over()
        );
        let mut finding =
            scene.cx.finding(first_line(scene, send.span(scene)), "stays here", message);
        finding.confidence = confidence(scene);
        let mut label = |scene: &Scene<'_>, node: Node, role: Role, message: String| {
            let location = scene.cx.location(first_line(scene, scene.span(node)));
            finding.labels.push(Label { location, role, message });
        };
        let maker = &self.groups.scenes[self.make.scene];
        let made = match room {
            0 => "made here, unbuffered".to_owned(),
            _ => format!("made here, with room for {room}"),
        };
        label(maker, self.make.node, Role::Made, made);
        let leaves = format!("`{}` leaves here", receiver.name.name);
        label(receiver, Node::Stmt(self.arm.comm), Role::Left, leaves);
        finding.labels.push(self.ends_here());
        finding.why = format!(
            "every receive stands in a `select` whose arm `<-{end}` leaves, and {}",
            match room {
                0 => "who calls with a context that does not end waits for ever",
                _ => "what is sent after that takes its place for good",
            }
        );
        let end = match self.end {
            End::Channel(..) => end,
            End::Context(context) => format!(".{}.Done()", context.name),
        };
        finding.help = format!("send in a `select` with `<-{}` too", end_of(scene, send, &end));
        finding
    }
}

/// What the end is called where the send stands.
fn end_of(scene: &Scene<'_>, send: &Op, end: &str) -> String {
    let base = scene.selector(send.channel).map(|(base, _)| scene.text(base));
    match (base, end.split_once('.')) {
        (Some(base), Some((_, field))) => format!("{base}.{field}"),
        _ => end.to_owned(),
    }
}

/// Whether a channel is a field of the receiver of a method.
fn is_own(groups: &Groups<'_>, scene: usize, channel: ExprId) -> bool {
    groups.scenes[scene].is_of_receiver(channel)
}

/// Whether a function counts itself in, so that who ends the object may wait for it.
fn is_counted(scene: &Scene<'_>) -> bool {
    scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        scene.method_call(call).is_some_and(|(base, name)| {
            let ty = scene.info.type_of(base).strip_pointer();
            matches!(name.name.as_str(), "Done" | "Add")
                && (ty.is_unknown() || ty.is_named("sync", "WaitGroup"))
        })
    })
}

/// The parameter of the function, a context, whose end is all that a send waits for beside.
pub(super) fn only_context_beside(scene: &Scene<'_>, send: &Op) -> Option<u32> {
    let (select, place) = send.select?;
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
    let mut only = None;
    for (index, clause) in clauses.iter().enumerate() {
        let comm = clause.comm?;
        if index as u32 == place {
            continue;
        }
        let channel = scene.file.unparen(Step::Comm(comm).received_from(scene.file)?);
        let context = scene.method_call(channel).filter(|_| is_done(scene, channel))?.0;
        let local = scene.local(context)?;
        let LocalKind::Param(index) = scene.info.local(local).kind else { return None };
        if only.is_some() || !is_given(scene, local) {
            return None;
        }
        only = Some(index);
    }
    only
}

/// Whether a variable is a context that the declared function was given, and stays so.
fn is_given(scene: &Scene<'_>, local: LocalId) -> bool {
    let variable = scene.info.local(local);
    variable.owner.is_none()
        && variable.ty.is_context()
        && !scene.uses(local).any(|usage| scene.is_target(usage))
}

/// Whether somebody may give a context that has nothing to do with the object and is not bounded: the method is
/// called from outside, or a caller hands on one of which that holds, or one that never ends.
pub(super) fn may_be_callers<'a>(scenes: &[Scene<'a>], scene: &Scene<'a>, param: u32) -> bool {
    may_come_from(scenes, scene, param, MAX_CALLERS)
}

/// How many calls a context is followed back through.
const MAX_CALLERS: u32 = 3;

fn may_come_from<'a>(scenes: &[Scene<'a>], scene: &Scene<'a>, param: u32, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let calls = recurrence::calls(&scene.cx.package, scene.cx.declared());
    if calls.is_empty() {
        // Who is given the method as a value calls it with what he likes.
        return scene.name.name.as_str().starts_with(char::is_uppercase)
            || !scene.cx.package.named_outside_tests(scene.cx.func).is_empty();
    }
    calls.iter().any(|&(caller, call)| {
        let opened;
        let caller = match scenes.iter().find(|scene| scene.cx.func == caller) {
            Some(scene) => scene,
            None => match Scene::of(&scene.cx.package, caller) {
                Some(scene) => {
                    opened = scene;
                    &opened
                }
                None => return false,
            },
        };
        let Some(&given) = caller.args(call).get(param as usize) else { return false };
        if let Some(local) = caller.local(given) {
            let variable = caller.info.local(local);
            let LocalKind::Param(own) = variable.kind else { return false };
            let is_given = !caller.uses(local).any(|usage| caller.is_target(usage));
            // A literal may be run by anybody.
            return is_given
                && (variable.owner.is_some() || may_come_from(scenes, caller, own, depth));
        }
        let called = caller.info.callee(given).qualified(caller.cx.index());
        called.is_some_and(|name| {
            name.path.as_str() == "context" && matches!(name.name.as_str(), "Background" | "TODO")
        })
    })
}
