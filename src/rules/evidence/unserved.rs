//! A goroutine that receives from a channel which its maker leaves without closing it.
//!
//! Evidence: the channel is made here and known to nobody else; a goroutine that is started here
//! ranges over it, or receives from it with nothing beside; the maker closes it on one way out, and
//! on another it does not. Who closes in a `defer`, in a goroutine or in a function that is given
//! the channel is understood, and then nothing is said.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::rules::conditions::{Conditions, Decided, condition};
use crate::rules::evidence::confidence_of_made;
use crate::rules::evidence::first_line;
use crate::rules::evidence::runs::How;
use crate::rules::evidence::traffic::{Channel, Deed, Made, each_channel, received_from};
use crate::rules::scene::{Scene, holds_any};
use crate::source::Span;
use crate::summary::{At, BodyId};
use crate::syntax::{ExprKind, Node};

/// Reports the goroutines that range for ever.
pub(super) fn ranges(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    each(scene, true, findings);
}

/// Reports the goroutines that receive for ever.
pub(super) fn receives(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    each(scene, false, findings);
}

fn each(scene: &Scene<'_>, ranges: bool, findings: &mut Vec<Finding>) {
    let is_literal = |&node: &Node| match node {
        Node::Expr(expr) => matches!(scene.file.expr(expr).kind, ExprKind::FuncLit(_)),
        _ => false,
    };
    // The maker closes the channel on one way, and a literal of it receives.
    if !holds_any(&scene.cx, &["close"]) || !scene.nodes.iter().any(is_literal) {
        return;
    }
    each_channel(scene, |channel, made| findings.extend(check(channel, made, ranges)));
}

/// A goroutine that receives: where it is started, and where it waits.
struct Receiver {
    started: StepId,
    waits: Span,
}

fn check(channel: &Channel<'_, '_>, made: Made, ranges: bool) -> Option<Finding> {
    let function = &channel.read.function;
    let cfg = &function.body(channel.owner).cfg;
    let mut receivers = Vec::new();
    let mut closes = 0;
    for (&at, deeds) in &channel.deeds {
        for deed in deeds {
            let inner = channel.inner(deed);
            if at.body != channel.owner {
                // What a literal does is known where it runs.
                continue;
            }
            match deed {
                Deed::Close => closes += 1,
                Deed::Literal(_, _) | Deed::Function(_, _) if inner.closes => return None,
                Deed::Literal(How::Go, body) if inner.receives => {
                    receivers.extend(
                        waits_in(channel, *body, ranges)
                            .map(|waits| Receiver { started: at.step, waits }),
                    );
                }
                Deed::Literal(How::Defer, _) | Deed::Function(How::Defer, _) => return None,
                _ => {}
            }
        }
    }
    receivers.sort_by_key(|receiver| receiver.started);
    let receiver = receivers.first()?;
    // Who only waits for one value may have got it.
    let sends = channel.deeds.values().flatten().any(|deed| {
        matches!(deed, Deed::Send | Deed::GuardedSend) || channel.inner(deed).sends > 0
    });
    if closes == 0 || !ranges && sends {
        return None;
    }
    let conditions = Conditions::new(function, channel.owner);
    let mut walk = Leave { channel, made, started: receiver.started, conditions: &conditions };
    let paths = cfg.search(Start::After(made.at.step), (false, Vec::new()), &mut walk);
    let path = paths.first()?;
    Some(tell(channel, made, receiver, path, ranges))
}

/// Where a goroutine waits with nothing beside.
fn waits_in(channel: &Channel<'_, '_>, body: BodyId, ranges: bool) -> Option<Span> {
    let scene = channel.scene;
    let cfg = &channel.read.function.body(body).cfg;
    cfg.steps().find_map(|step| {
        let from = received_from(scene, cfg, step)?;
        if !channel.is_named(from) {
            return None;
        }
        match cfg.step(step) {
            Step::Next(stmt) if ranges && cfg.reaches(step, step) => {
                Some(first_line(scene, scene.span(Node::Stmt(stmt))))
            }
            Step::Recv(expr) if !ranges => Some(scene.span(Node::Expr(expr))),
            _ => None,
        }
    })
}

struct Leave<'l, 's, 'a> {
    channel: &'l Channel<'s, 'a>,
    made: Made,
    started: StepId,
    conditions: &'l Conditions,
}

impl Walk for Leave<'_, '_, '_> {
    /// Whether the goroutine was started, and what was decided.
    type State = (bool, Decided);

    fn step(&mut self, (started, decided): &Self::State, step: StepId) -> Passing<Self::State> {
        if step == self.made.at.step {
            return Passing::Drop;
        }
        let at = At { body: self.channel.owner, step };
        if self.channel.deeds_at(at).iter().any(|deed| matches!(deed, Deed::Close)) {
            return Passing::Drop;
        }
        Passing::On((*started || step == self.started, self.conditions.after(decided, step)))
    }

    fn edge(&mut self, state: &Self::State, edge: &Edge) -> Option<Self::State> {
        let mut next = state.clone();
        self.conditions.edge(&mut next.1, edge).then_some(next)
    }

    fn exit(&mut self, (started, _): &Self::State, exit: Exit) -> bool {
        *started && matches!(exit, Exit::Return(_) | Exit::End)
    }
}

fn tell(
    channel: &Channel<'_, '_>,
    made: Made,
    receiver: &Receiver,
    path: &Path<(bool, Decided)>,
    ranges: bool,
) -> Finding {
    let scene = channel.scene;
    let cx = &scene.cx;
    let name = scene.info.local(made.local).name;
    let make = scene.span(Node::Expr(made.make));
    let message = match ranges {
        true => format!(
            "`{name}` is never closed when `{}` returns early, so this goroutine never ends",
            scene.name.name
        ),
        false => format!(
            "nobody is left to send on `{name}` or close it when `{}` returns early",
            scene.name.name
        ),
    };
    let mut finding = cx.finding(receiver.waits, "nobody closes it any more", message);
    finding.confidence = confidence_of_made(scene, Node::Expr(made.make));
    finding.defect = cx.location(make);
    let note = |span: Span, role: Role, message: String| Label {
        location: cx.location(span),
        role,
        message,
    };
    finding.labels.push(note(make, Role::Made, format!("`{name}` is made here")));
    let cfg = &channel.read.function.body(channel.owner).cfg;
    let started = cfg.step(receiver.started).span(scene.file);
    finding.labels.push(note(
        first_line(scene, started),
        Role::Started,
        "the goroutine starts here".to_owned(),
    ));
    if let Some(condition) = path.decisions().filter_map(condition).next_back() {
        let span = scene.span(Node::Expr(condition));
        finding.labels.push(note(
            first_line(scene, span),
            Role::Condition,
            "decided here".to_owned(),
        ));
    }
    if let PathEnd::Exit(_, Exit::Return(stmt)) = path.end {
        finding.labels.push(note(
            first_line(scene, scene.span(Node::Stmt(stmt))),
            Role::Left,
            format!("it returns here, and nobody else has `{name}`"),
        ));
    }
    let closed =
        channel.deeds.iter().filter(|(at, _)| at.body == channel.owner).find_map(|(at, deeds)| {
            let closes = deeds.iter().any(|deed| matches!(deed, Deed::Close));
            closes.then(|| cfg.step(at.step).span(scene.file))
        });
    if let Some(closed) = closed {
        finding.labels.push(note(closed, Role::Context, "closed on another way out".to_owned()));
    }
    finding.labels.sort_by_key(|label| label.location.span.start);
    finding.why = format!(
        "`{name}` is known to this function and to what it starts, and only its close on another \
         way out would end the goroutine"
    );
    finding.help = format!("`defer close({name})`, or close it on this way out too");
    finding
}
