//! A send in one function whose receiver in another has left.
//!
//! Evidence: all operations on the channel are seen, it is unbuffered, and every receive stands in
//! a `select` with an arm on which the receiver returns. Then either that arm is one that stays
//! ready for good (a context that is done, a channel that is closed): whoever sends after it, with
//! nothing beside, waits for ever. Or the channel is made for one request by the function that
//! receives the answer, and leaves by a timeout or the like: whoever answers late waits for ever; that is told
//! where the channel is made, or at the sends if more answers than one may come ([`again`]). Or the
//! answers of an object's goroutines are gathered once ([`gathered`]). Room of
//! a constant size is taken by those who send after it, where the receiver closes another channel to say
//! that it has left, and they do not look, or where another loop goes on to send; any room is full where somebody makes
//! more as long as there is some ([`prefetched`]).

mod again;
mod arms;
mod callers;
mod unannounced;

use rustc_hash::FxHashSet;

use crate::diagnostic::{Confidence, Edit, Finding, Fix, Label, Role, Safety};
use crate::flow::{Start, Step, StepId};
use crate::index::{Callee, FuncId, LocalKind};
use crate::rules::endable::is_of_endless;
use crate::rules::evidence::announced;
use crate::rules::evidence::closed::comes_first;
use crate::rules::evidence::closed::may_recover;
use crate::rules::evidence::gathered;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::prefetched;
use crate::rules::evidence::traffic::after_recover;
use crate::rules::evidence::under_lock::{asked_above, may_fill};
use crate::rules::evidence::{confidence_at, confidence_of_made, first_line};
use crate::rules::scene::{Scene, compared_with_nil, holds_any};
use crate::rules::{FunctionCx, PackageCx, recurrence};
use crate::source::Span;
use crate::syntax::{ExprId, ExprKind, File, Node, StmtId, StmtKind, Symbol};
pub(super) use arms::{Arm, has_leaving_arm, is_done, leaving_arm, stays_ready};

/// Reports the sends whose receiver leaves.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        if let Some(left) = Left::of(groups, group) {
            let (reply, told) = (left.reply(), findings.len());
            if !reply.as_ref().is_some_and(|reply| reply.once) {
                left.leavers(findings);
            }
            if told == findings.len() {
                findings.extend(reply.map(|reply| reply.finding));
            }
        }
    }
}

/// What is told where a channel is made for one answer.
struct Reply {
    finding: Finding,
    /// Whether no more answers than one come.
    once: bool,
}

struct Left<'g, 'a> {
    groups: &'g Groups<'a>,
    group: &'g Group,
    makes: Vec<&'g Op>,
    receives: Vec<(&'g Op, Arm)>,
    sends: Vec<&'g Op>,
    room: Room,
}

/// The room of a channel whose receivers leave.
enum Room {
    /// None.
    Bare,
    /// Some, and the receivers close these fields to say that they have left.
    Announced(FxHashSet<Symbol>),
    /// Some, which is kept full for those who ask.
    Prefetched,
    /// Of a constant size, for as many as send when the receivers have left.
    Counted(u64),
}

impl<'g, 'a> Left<'g, 'a> {
    /// The channel, if every receiver of it leaves, and it is unbuffered or they say so.
    fn of(groups: &'g Groups<'a>, group: &'g Group) -> Option<Self> {
        let with = |act: Act| group.ops.iter().filter(move |op| op.act == act);
        let makes: Vec<&Op> =
            group.ops.iter().filter(|op| matches!(op.act, Act::Make(_))).collect();
        let sent = with(Act::Send).next().is_some();
        let stays = with(Act::Range).chain(with(Act::Notify)).next().is_some();
        if group.open || makes.is_empty() || stays || !sent {
            return None;
        }
        let receives_by = |arm_of: fn(&Groups<'a>, &Group, &Op) -> Option<Arm>| {
            let receives = with(Act::Receive).map(|op| Some((op, arm_of(groups, group, op)?)));
            receives.collect::<Option<Vec<(&Op, Arm)>>>()
        };
        let announced = || Some(announced::ends(groups, group)).filter(|ends| !ends.is_empty());
        let (room, receives) = match group.may_have_room() {
            false => (Room::Bare, receives_by(leaving_arm)?),
            true => match announced() {
                Some(ends) => (Room::Announced(ends), receives_by(leaving_arm)?),
                None => match receives_by(prefetched::arm) {
                    Some(receives) => (Room::Prefetched, receives),
                    None => (Room::Counted(group.room()?), receives_by(leaving_arm)?),
                },
            },
        };
        let sends: Vec<&Op> = with(Act::Send)
            .filter(|op| {
                let scene = &groups.scenes[op.scene];
                op.select.is_none()
                    && is_come_to(scene, op)
                    && receives.iter().all(|(receive, _)| runs_apart(groups, receive, op))
                    && !after_recover(scene, op.node)
            })
            .collect();
        (!receives.is_empty() && !sends.is_empty()).then_some(Left {
            groups,
            group,
            makes,
            receives,
            sends,
            room,
        })
    }

    /// A channel for one answer, made by the function that waits for it.
    fn reply(&self) -> Option<Reply> {
        let [make] = self.makes[..] else { return None };
        if self.group.may_have_room() {
            return None;
        }
        let own = |op: &&Op| op.scene == make.scene;
        let sends = self.group.ops.iter().filter(|op| op.act == Act::Send);
        // Who closes it has a sender that panics, not one that waits.
        let closed = self.group.ops.iter().any(|op| {
            op.act == Act::Close && own(&op) && comes_first(self.groups, self.group, make, op)
        });
        if closed
            || !self.receives.iter().all(|(receive, _)| receive.same_body(make))
            || sends.clone().any(|op| own(&op))
        {
            return None;
        }
        let scene = &self.groups.scenes[make.scene];
        let (_, arm) = self.receives[0];
        let send = self.sends[0];
        let name = self.groups.scenes[send.scene].text(send.channel);
        let message = format!(
            "the answer on this unbuffered channel has no receiver when `{}` leaves first",
            scene.name.name
        );
        let mut finding =
            scene.cx.finding(scene.span(make.node), "made without room for the answer", message);
        finding.confidence = confidence_of_made(scene, make.node);
        self.label_arm(&mut finding, make, &arm);
        self.label_send(&mut finding, send);
        finding.why = format!(
            "`{name} <-` waits for `{}`, which gives up when `{}` is ready first",
            scene.name.name,
            short(scene, arm.channel)
        );
        if self.may_be_answered_again(make) {
            finding.help = format!(
                "give the channel room for as many answers as are asked for, or send in a `select` with `{}`",
                short(scene, arm.channel)
            );
            return Some(Reply { finding, once: false });
        }
        finding.help = "give the channel room for the answer: `make(..., 1)`".to_owned();
        if let Node::Expr(call) = make.node
            && let [ty] = scene.args(call)
        {
            let end = scene.span(Node::Expr(*ty)).end;
            finding.fixes.push(Fix {
                message: "give the channel room for the answer".to_owned(),
                safety: Safety::Safe,
                edits: vec![Edit {
                    location: scene.cx.location(Span::new(end, end)),
                    replacement: ", 1".to_owned(),
                }],
            });
        }
        Some(Reply { finding, once: true })
    }

    /// A channel whose receiver has gone for good: the first send of each function.
    fn leavers(&self, findings: &mut Vec<Finding>) {
        let leaves_for_good = |&(op, arm): &(&Op, Arm)| {
            arm.stays()
                || self.is_gone_for_good(op, &arm)
                || gathered::takes_each_once(self.groups, op, &self.sends)
        };
        if !self.receives.iter().all(leaves_for_good) {
            return;
        }
        if self.is_closed_at_the_end() || self.comes_back() {
            return;
        }
        let ending = self.set_at_the_end();
        let first = findings.len();
        let mut told = Vec::new();
        for send in &self.sends {
            let scene = &self.groups.scenes[send.scene];
            if (!holds_lock(scene, send) || self.is_unannounced(send))
                && !self.starts_receiver(send)
                && !self.is_constructor(send)
                && !self.ends_receiver(send)
                && !self.is_ended_by_callers(send)
                && !self.knows_the_end(send, &ending)
                && !self.is_caught(send)
                && self.may_fill(send)
            {
                match told.iter().position(|&other| other == send.scene) {
                    Some(place) => self.label_other(&mut findings[first + place], send),
                    None => {
                        told.push(send.scene);
                        findings.push(self.leaver(send));
                    }
                }
            }
        }
    }

    /// Whether a lock at a send cannot have told the sender of the end, and nobody has room for what it sends.
    fn is_unannounced(&self, send: &Op) -> bool {
        !self.group.may_have_room()
            && unannounced::is_unannounced(self.groups, send, &self.receives)
    }

    /// Whether a send may come as often as it takes to fill the room of the channel, by who does not look whether
    /// a receiver is left.
    fn may_fill(&self, send: &Op) -> bool {
        let receives = self.receives.iter().map(|&(receive, _)| receive);
        match &self.room {
            Room::Bare => true,
            Room::Announced(ends) => announced::is_missed(self.groups, send, receives, ends),
            Room::Prefetched => prefetched::keeps_full(self.groups, send, &self.receives),
            Room::Counted(_) => self.is_filled(send),
        }
    }

    /// Whether the room of a channel is taken by those who go on when the loop that receives has been told to leave:
    /// they come to the send again and again, and ask for nothing before.
    fn is_filled(&self, send: &Op) -> bool {
        let scene = &self.groups.scenes[send.scene];
        let owner = scene.cx.owner();
        let is_told = |&(receive, arm): &(&Op, Arm)| {
            let at = &self.groups.scenes[receive.scene];
            let told = self.groups.of_expr(receive.scene, arm.channel);
            let closed = told.is_some_and(|told| told.ops.iter().any(|op| op.act == Act::Close));
            arm.stays()
                && closed
                && at.cx.owner() == owner
                && !at.loops_around(receive.node).is_empty()
        };
        let all: Vec<&Op> = self.receives.iter().map(|&(receive, _)| receive).collect();
        owner.is_some()
            && send.literal.is_none()
            && self.receives.iter().all(is_told)
            && !asks_any(scene, send.node)
            && may_fill(self.groups, send, &all)
            && sends_in_turns(scene, send)
    }

    /// Whether a receiver leaves only by a context that nobody in the run ends, or is run again when it has
    /// left.
    fn comes_back(&self) -> bool {
        self.receives.iter().any(|(receive, arm)| {
            let scene = &self.groups.scenes[receive.scene];
            is_of_endless(scene, arm.channel) == Some(true)
                || receive.literal.is_none() && is_started_again(scene)
        })
    }

    /// Whether a receiver, or who ends it, closes the channel too: a send on that panics, and does not
    /// wait.
    fn is_closed_at_the_end(&self) -> bool {
        let closes = |group: &Group, scene: usize| {
            group.ops.iter().any(|op| op.act == Act::Close && op.scene == scene)
        };
        self.receives.iter().any(|(op, arm)| {
            let told = || self.groups.of_expr(op.scene, arm.channel);
            closes(self.group, op.scene)
                || told().is_some_and(|told| {
                    let mut ends = told.ops.iter().filter(|op| op.act == Act::Close);
                    ends.any(|end| closes(self.group, end.scene))
                })
        })
    }

    /// Whether a send that panics may be caught, and another function closes the channel.
    fn is_caught(&self, send: &Op) -> bool {
        let mut closes = self.group.ops.iter().filter(|op| op.act == Act::Close);
        closes.any(|close| close.scene != send.scene) && may_recover(self.groups, send)
    }

    /// Whether a receiver that leaves by what a method out of sight gives, or by a signal that is sent to it alone, does
    /// not come back: who makes the channel starts it, and nobody else runs it.
    fn is_gone_for_good(&self, receive: &Op, arm: &Arm) -> bool {
        let scene = &self.groups.scenes[receive.scene];
        let [make] = self.makes[..] else { return false };
        let unseen = || {
            scene.method_call(arm.channel).is_some() && scene.info.type_of(arm.channel).is_unknown()
        };
        let starts = || self.groups.scenes[make.scene].starts(scene.cx.func).count();
        (unseen() || self.is_sent_the_end(receive, arm))
            && receive.literal.is_none()
            && starts() == 1
            && is_named_once(scene)
    }

    /// Whether a receiver leaves by a signal that others of the package send to its body, and nobody else gets.
    fn is_sent_the_end(&self, receive: &Op, arm: &Arm) -> bool {
        let scene = &self.groups.scenes[receive.scene];
        self.groups.of_expr(receive.scene, arm.channel).is_some_and(|told| {
            let is_plain = |op: &Op| match op.act {
                Act::Receive => op.same_body(receive),
                Act::Send => !op.same_body(receive),
                act => matches!(act, Act::Make(_)),
            };
            !told.open
                && scene.cx.index().is_signal(scene.info.type_of(arm.channel))
                && told.ops.iter().any(|op| op.act == Act::Send)
                && told.ops.iter().all(is_plain)
        })
    }

    /// Whether the function that sends asks for one of these fields above that, or one that calls it does.
    fn knows_the_end(&self, send: &Op, fields: &FxHashSet<Symbol>) -> bool {
        let scene = &self.groups.scenes[send.scene];
        let by_caller = |caller: &Scene<'_>| {
            let mut calls = caller.calls(scene.cx.func);
            calls.any(|call| asks_before(caller, Node::Expr(call), fields))
        };
        !fields.is_empty()
            && (asks_before(scene, send.node, fields) || self.groups.scenes.iter().any(by_caller))
    }

    /// The fields that those who end a receiver set beside that: who asks for one of them knows.
    fn set_at_the_end(&self) -> FxHashSet<Symbol> {
        let mut fields = FxHashSet::default();
        for (receive, arm) in &self.receives {
            let Some(group) = self.groups.of_expr(receive.scene, arm.channel) else { continue };
            for end in ends(group) {
                fields.extend(assigned_fields(&self.groups.scenes[end.scene]));
            }
        }
        fields
    }

    /// Where the function that receives puts the channel into the request that a send answers.
    fn asked(&self, send: &Op) -> Option<Span> {
        let (receive, _) = self.receives[0];
        let (asker, answerer) =
            (&self.groups.scenes[receive.scene], &self.groups.scenes[send.scene]);
        let (_, field) = answerer.selector(send.channel)?;
        let own = asker.text(receive.channel);
        let is_own = |value: ExprId| asker.text(value) == own;
        if send.scene == receive.scene || asker.selector(receive.channel).is_none() {
            return None;
        }
        asker.nodes.iter().find_map(|&node| {
            let asks = match node {
                Node::Stmt(stmt) => match &asker.file.stmt(stmt).kind {
                    StmtKind::Assign { left, op: None, right } if left.len() == right.len() => {
                        left.iter().zip(right).any(|(&target, &value)| {
                            let is_field =
                                asker.selector(target).is_some_and(|(_, to)| to.name == field.name);
                            is_field && asker.text(target) != own && is_own(value)
                        })
                    }
                    _ => false,
                },
                Node::Expr(expr) => match &asker.file.expr(expr).kind {
                    ExprKind::CompositeLit { elements, .. } => elements.iter().any(|element| {
                        let key = element.key.map(|key| &asker.file.expr(key).kind);
                        let is_field =
                            matches!(key, Some(ExprKind::Ident(name)) if *name == field.name);
                        is_field && is_own(element.value)
                    }),
                    _ => false,
                },
                Node::Decl(_) => false,
            };
            (asks && asker.literal_around(node) == receive.literal)
                .then(|| first_line(asker, asker.span(node)))
        })
    }

    fn leaver(&self, send: &Op) -> Finding {
        let (receive, arm) = self.receives[0];
        let scene = &self.groups.scenes[send.scene];
        let receiver = &self.groups.scenes[receive.scene];
        let name = scene.text(send.channel);
        let sent = first_line(scene, send.span(scene));
        let asked = self.asked(send);
        let mut finding = match asked {
            Some(asked) => {
                let message = format!(
                    "the answer on `{}` has no receiver when `{}` leaves first, and the send in `{}` waits for \
                     nothing else",
                    receiver.text(receive.channel),
                    receiver.name.name,
                    scene.name.name
                );
                receiver.cx.finding(asked, "asked for here", message)
            }
            None => {
                let ready = short(receiver, arm.channel);
                let when = match self.room {
                    Room::Prefetched => format!("any more when `{ready}` is ready"),
                    _ => format!("once {} has returned", leaver_of(receiver, receive)),
                };
                let message = format!(
                    "nobody receives from `{name}` {when}, and this send waits for nothing else"
                );
                scene.cx.finding(sent, "stays here", message)
            }
        };
        finding.defect = scene.cx.location(sent);
        finding.confidence = confidence_at(scene, send.node);
        if let Room::Counted(_) = self.room {
            finding.confidence = finding.confidence.min(Confidence::Medium);
        }
        if let [make] = self.makes[..] {
            let maker = &self.groups.scenes[make.scene];
            finding.labels.push(Label {
                location: maker.cx.location(maker.span(make.node)),
                role: Role::Made,
                message: match self.room {
                    Room::Prefetched => "made here, with bounded room".to_owned(),
                    Room::Announced(_) => "made here, with room for a few".to_owned(),
                    Room::Counted(room) => format!("made here, with room for {room}"),
                    Room::Bare => "made here, unbuffered".to_owned(),
                },
            });
        }
        self.label_arm(&mut finding, receive, &arm);
        let ready = short(receiver, arm.channel);
        if asked.is_some() {
            self.label_send(&mut finding, send);
            finding.why = format!(
                "`{name} <-` waits for `{}`, which gives up when `{ready}` is ready first",
                receiver.name.name
            );
            finding.help = "make a channel with room for the answer for each question".to_owned();
            return finding;
        }
        finding.why = match self.room {
            Room::Prefetched => {
                "the loop makes more as soon as there is room, so it waits here when the end comes"
                    .to_owned()
            }
            Room::Counted(room) => format!(
                "every receive stands in a `select` whose arm `<-{ready}` returns, and then no receiver is left: \
                 the room for {room} fills up"
            ),
            _ => format!(
                "every receive stands in a `select` whose arm `<-{ready}` returns, and then no receiver is left"
            ),
        };
        finding.help = match arm.stays() {
            true => format!("send in a `select` with `{ready}` or what tells of it"),
            false => format!(
                "send in a `select` with a channel that `{}` closes when it leaves",
                receiver.name.name
            ),
        };
        finding
    }

    /// Whether the function that sends has it in its own hands when the receiver ends: it gives it a
    /// context of its own, or closes the channel that ends it; who sends to another object may call what does.
    fn ends_receiver(&self, send: &Op) -> bool {
        let scene = &self.groups.scenes[send.scene];
        let is_own_end = |end: &Op| {
            let at = &self.groups.scenes[end.scene];
            let calls = || calls_below(scene, at.cx.func, END_DEPTH);
            end.scene == send.scene || scene.cx.owner() != at.cx.owner() && calls()
        };
        let is_own = |expr: ExprId| {
            scene.file.descendants(Node::Expr(expr)).any(|node| match node {
                Node::Expr(expr) => scene
                    .local(expr)
                    .is_some_and(|local| scene.info.local(local).kind == LocalKind::Var),
                _ => false,
            })
        };
        self.receives.iter().any(|(receive, arm)| {
            let closes = self
                .groups
                .of_expr(receive.scene, arm.channel)
                .is_some_and(|group| ends(group).any(is_own_end));
            if receive.scene == send.scene {
                return closes || is_own(arm.channel);
            }
            let receiver = self.groups.scenes[receive.scene].cx.func;
            closes
                || scene.starts(receiver).any(|(_, call)| {
                    let mut args = scene.args(call).iter();
                    args.any(|&arg| scene.info.type_of(arg).is_context() && is_own(arg))
                })
        })
    }

    /// Whether the function that sends makes the channel as a part of something: nobody else has it
    /// yet, and so nobody can have ended it.
    fn is_constructor(&self, send: &Op) -> bool {
        let scene = &self.groups.scenes[send.scene];
        self.makes.iter().any(|make| make.scene == send.scene)
            && scene.selector(send.channel).is_some()
    }

    /// Whether the function that sends is the one that starts a receiver: its send comes first.
    fn starts_receiver(&self, send: &Op) -> bool {
        let scene = &self.groups.scenes[send.scene];
        let sent = scene.span(send.node).start;
        self.receives.iter().any(|(op, _)| {
            let mut starts = scene.starts(self.groups.scenes[op.scene].cx.func);
            starts.any(|(stmt, _)| scene.span(Node::Stmt(stmt)).start >= sent)
        })
    }

    fn label_arm(&self, finding: &mut Finding, receive: &Op, arm: &Arm) {
        let scene = &self.groups.scenes[receive.scene];
        finding.labels.push(Label {
            location: scene.cx.location(first_line(scene, scene.span(Node::Stmt(arm.comm)))),
            role: Role::Left,
            message: format!("{} leaves here", leaver_of(scene, receive)),
        });
    }

    /// Another send of the function that is told of.
    fn label_other(&self, finding: &mut Finding, send: &Op) {
        let scene = &self.groups.scenes[send.scene];
        finding.labels.push(Label {
            location: scene.cx.location(first_line(scene, send.span(scene))),
            role: Role::Stuck,
            message: "so does this".to_owned(),
        });
    }

    fn label_send(&self, finding: &mut Finding, send: &Op) {
        let scene = &self.groups.scenes[send.scene];
        finding.labels.push(Label {
            location: scene.cx.location(first_line(scene, send.span(scene))),
            role: Role::Stuck,
            message: "the answer waits here".to_owned(),
        });
    }
}

/// Whether some way leads to an operation: none does after a call that does not return.
fn is_come_to(scene: &Scene<'_>, op: &Op) -> bool {
    let graph = scene.graph(op.literal);
    graph.is_none_or(|cfg| {
        let step = scene.step_of(&cfg, op.node);
        step.is_some_and(|wanted| cfg.starts_without(Start::Entry, wanted, &|_| false))
    })
}

/// How many calls deep who sends may end the receiver.
const END_DEPTH: u32 = 3;

/// Whether a function calls another one of its package, so many calls deep at most.
fn calls_below(scene: &Scene<'_>, callee: FuncId, depth: u32) -> bool {
    let uses = scene.cx.package.uses();
    let mut callers = uses.calls.get(&callee).into_iter().flatten().map(|&(caller, _)| caller);
    callers
        .any(|caller| caller == scene.cx.func || depth > 1 && calls_below(scene, caller, depth - 1))
}

/// Whether a loop without an end in sight sends in each of its turns, or calls the function that does, and asks for
/// nothing before.
fn sends_in_turns(scene: &Scene<'_>, send: &Op) -> bool {
    let package = &scene.cx.package;
    let repeats = |func: FuncId, node: Node| recurrence::repeated_by(package, func, node).is_some();
    let uses = package.uses();
    let mut calls = uses.calls.get(&scene.cx.func).into_iter().flatten();
    repeats(scene.cx.func, send.node)
        || calls.any(|&(func, call)| {
            let node = Node::Expr(call);
            let caller = || Scene::new(FunctionCx { func, ..scene.cx });
            repeats(func, node) && caller().is_some_and(|caller| !asks_any(&caller, node))
        })
}

/// Whether a condition or a `select` above a node asks for more than whether something is there.
fn asks_any(scene: &Scene<'_>, below: Node) -> bool {
    let end = scene.span(below).start;
    let waits = |&node: &Node| match node {
        Node::Stmt(stmt) => {
            matches!(scene.file.stmt(stmt).kind, StmtKind::Select(_)) && scene.span(node).end <= end
        }
        _ => false,
    };
    let is_there = |asked: ExprId| compared_with_nil(scene.file, &scene.info, asked).is_some();
    scene.nodes.iter().any(waits) || asked_above(scene, below).any(|asked| !is_there(asked))
}

/// Whether a loop without an end in sight starts a function in a goroutine in each of its turns, in
/// whatever package of the run.
fn is_started_again(scene: &Scene<'_>) -> bool {
    recurrence::calls(&scene.cx.package, scene.cx.declared()).into_iter().any(|(func, call)| {
        let package = PackageCx { package: func.package, ..scene.cx.package };
        let Some(caller) = Scene::new(FunctionCx { package, func }) else { return false };
        let in_loop = |&stmt: &StmtId| {
            matches!(caller.file.stmt(stmt).kind, StmtKind::For { post: None, .. })
        };
        caller.go_of(call).is_some() && caller.loops_around(Node::Expr(call)).iter().any(in_loop)
    })
}

/// What ends a receiver that leaves by a channel.
fn ends(group: &Group) -> impl Iterator<Item = &Op> {
    group.ops.iter().filter(|op| matches!(op.act, Act::Close | Act::Send))
}

/// The fields that a function assigns to.
pub(super) fn assigned_fields(scene: &Scene<'_>) -> FxHashSet<Symbol> {
    let assigned = scene.nodes.iter().filter_map(|&node| match node {
        Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::Assign { ref left, .. } => Some(&left[..]),
            _ => None,
        },
        _ => None,
    });
    let targets = assigned.flatten().filter_map(|&target| scene.selector(target));
    targets.map(|(_, field)| field.name).collect()
}

/// Whether a condition above a node asks for one of these fields, in its function or in one that is called
/// above it.
pub(super) fn asks_before(scene: &Scene<'_>, below: Node, fields: &FxHashSet<Symbol>) -> bool {
    let index = scene.cx.index();
    let end = scene.span(below).start;
    let asks = |file: &File, node: Node| {
        let Node::Stmt(stmt) = node else { return false };
        let (StmtKind::If { cond: asked, .. } | StmtKind::Switch { tag: Some(asked), .. }) =
            file.stmt(stmt).kind
        else {
            return false;
        };
        file.descendants(Node::Expr(asked)).any(|node| match node {
            Node::Expr(expr) => match file.expr(expr).kind {
                ExprKind::Selector { name, .. } => fields.contains(&name.name),
                _ => false,
            },
            _ => false,
        })
    };
    scene.nodes.iter().filter(|&&node| scene.span(node).start < end).any(|&node| {
        let called = || {
            let Node::Expr(call) = node else { return false };
            let Callee::Func(called) = *scene.info.callee(call) else { return false };
            if called.package != scene.cx.func.package {
                return false;
            }
            let file = index.file_of(called);
            let decl = Node::Decl(index.func(called).decl);
            file.descendants(decl).any(|node| asks(file, node))
        };
        asks(scene.file, node) || called()
    })
}

/// Whether a receive runs in another goroutine than a send: in another function that is not only called by
/// who receives, or in a literal that is started above the send.
fn runs_apart(groups: &Groups<'_>, receive: &Op, send: &Op) -> bool {
    if receive.scene != send.scene {
        return !is_called_only_by(groups, receive, send);
    }
    let scene = &groups.scenes[send.scene];
    let Some(literal) = receive.literal else { return false };
    let started = match scene.parent(Node::Expr(literal)) {
        Some(Node::Expr(call)) => scene.go_of(call).is_some(),
        _ => false,
    };
    started && scene.span(Node::Expr(literal)).end <= scene.span(send.node).start
}

/// Whether the function that sends is called by the goroutine that receives, and by nobody else: what waits there
/// has not left.
fn is_called_only_by(groups: &Groups<'_>, receive: &Op, send: &Op) -> bool {
    let (receiver, sender) = (&groups.scenes[receive.scene], &groups.scenes[send.scene]);
    if send.literal.is_some() {
        return false;
    }
    let is_of_receiver = |&(caller, call): &(FuncId, ExprId)| {
        caller == receiver.cx.func
            && receiver.literal_around(Node::Expr(call)) == receive.literal
            && receiver.go_of(call).is_none()
    };
    let calls = recurrence::all_calls(&sender.cx.package, sender.cx.declared());
    calls.is_some_and(|calls| calls.iter().all(is_of_receiver))
}

/// Whether the package names a function at one place alone.
fn is_named_once(scene: &Scene<'_>) -> bool {
    let index = scene.cx.index();
    let name = scene.name.name;
    let mut named = 0;
    for func in &index.package(scene.cx.func.package).funcs {
        let file = index.file_of(func.id);
        let text = file.source.slice(file.decl(func.decl).span);
        if memchr::memmem::find(text, name.as_str().as_bytes()).is_none() {
            continue;
        }
        let info = index.body(func.id);
        let names_it = |expr: ExprId| index.func_named(&info, expr) == Some(scene.cx.func);
        named += file
            .descendants(Node::Decl(func.decl))
            .filter(|node| match *node {
                Node::Expr(expr) => {
                    matches!(file.expr(expr).kind, ExprKind::Selector { .. } | ExprKind::Ident(_))
                        && names_it(expr)
                }
                _ => false,
            })
            .count();
    }
    named == 1
}

/// Whether some way leads from where a lock is taken to an operation, on which it is not given back.
pub(super) fn holds_lock(scene: &Scene<'_>, op: &Op) -> bool {
    if !holds_any(&scene.cx, &["Lock"]) {
        return false;
    }
    let Some(graph) = scene.graph(op.literal) else { return false };
    let Some(to) = op.step(scene, &graph) else { return false };
    let called = |names: [&str; 2]| -> Vec<StepId> {
        let calls = graph.steps().filter(|&step| {
            let Step::Call(call) = graph.step(step) else { return false };
            scene.method_call(call).is_some_and(|(_, name)| names.contains(&name.name.as_str()))
        });
        calls.collect()
    };
    let (locks, unlocks) = (called(["Lock", "RLock"]), called(["Unlock", "RUnlock"]));
    let given_back = |step: StepId| unlocks.contains(&step);
    locks.into_iter().any(|lock| graph.reaches_without(lock, to, &given_back))
}

/// The text of an expression, if it is short.
fn short(scene: &Scene<'_>, expr: ExprId) -> String {
    let text = scene.text(expr);
    match text.len() <= 60 && !text.contains('\n') {
        true => text,
        false => "it".to_owned(),
    }
}

/// Who receives, by name: the function, or the goroutine that it starts with a literal.
fn leaver_of(scene: &Scene<'_>, receive: &Op) -> String {
    let goes = receive.literal.is_some_and(|literal| scene.go_around(literal).is_some());
    match goes {
        true => format!("the goroutine that `{}` starts", scene.name.name),
        false => format!("`{}`", scene.name.name),
    }
}
