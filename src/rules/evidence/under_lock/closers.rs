//! Who closes a channel, to end what others do with it, needs the lock of one that waits for somebody outside.
//!
//! Evidence: a function sends on a channel of its object, with nothing beside, under a lock of that object; or it
//! has sent a request, and waits for the answer there. All who receive from the channel are exported methods
//! that do so once a call, and that nobody in the run calls: only who uses the package does, as long as
//! he likes. All who close the channel take the lock before, and one of them is the method that ends the object:
//! it cannot end what waits for it.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, StepId};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::locks::{Locks, MAX_CALLS, Taken, held_at};
use crate::rules::evidence::under_lock::room::may_fill;
use crate::rules::evidence::under_lock::{BEFORE, Other, Wanted, of_same_value, taken_at, tell};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::recurrence::calls;
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, Node};

/// The methods that end what their object does.
const ENDS: [&str; 3] = ["Close", "Shutdown", "Stop"];

/// Reports what waits for somebody outside under the lock of who would end it.
pub(super) fn check(groups: &Groups<'_>, locks: &Locks, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        let kept = Kept { groups, group, locks };
        if !group.open && group.recipients.is_empty() && kept.is_closed_and_received() {
            kept.check(findings);
        }
    }
}

/// A channel that outsiders receive from.
struct Kept<'k, 'a> {
    groups: &'k Groups<'a>,
    group: &'k Group,
    locks: &'k Locks,
}

/// What waits, and under which lock.
struct Waits<'w> {
    op: &'w Op,
    lock: Taken,
    /// The method that would end the wait if somebody called it.
    by: &'w Op,
}

impl Kept<'_, '_> {
    fn is_closed_and_received(&self) -> bool {
        let any = |act: Act| self.group.ops.iter().any(|op| op.act == act);
        let made = self.group.ops.iter().any(|op| matches!(op.act, Act::Make(_)));
        made && any(Act::Close)
            && any(Act::Send)
            && any(Act::Receive)
            && !any(Act::Range)
            && !any(Act::Notify)
            && self.ended_by_method().is_some()
    }

    /// The close of a method that ends the object.
    fn ended_by_method(&self) -> Option<&Op> {
        let mut closes = self.group.ops.iter().filter(|op| op.act == Act::Close);
        closes.find(|op| {
            let scene = &self.groups.scenes[op.scene];
            scene.receiver().is_some() && ENDS.contains(&scene.name.name.as_str())
        })
    }

    fn check(&self, findings: &mut Vec<Finding>) {
        let mut told: Vec<usize> = Vec::new();
        let sends = || self.group.ops.iter().filter(|op| op.act == Act::Send);
        for send in sends() {
            let scene = &self.groups.scenes[send.scene];
            if told.contains(&send.scene)
                || send.select.is_some()
                || scene.selector(send.channel).is_none()
            {
                continue;
            }
            let Some(cfg) = scene.graph(send.literal) else { continue };
            let Some(at) = scene.step_of(&cfg, send.node) else { continue };
            for lock in held_at(scene, self.locks, send.literal, &cfg, at) {
                if !of_same_value(scene, send, &lock) {
                    continue;
                }
                let answer = self.answer(send, &cfg, at, lock);
                let waits = match answer {
                    Some(waits) => Some(waits),
                    None => self.by_outsiders(send, lock),
                };
                if let Some(waits) = waits
                    && let Some(needs) = self.closed_after(&lock)
                {
                    told.push(send.scene);
                    findings.push(self.tell(&waits, needs));
                    break;
                }
            }
        }
    }

    /// The send itself, if it may find no room.
    fn by_outsiders<'s>(&'s self, send: &'s Op, lock: Taken) -> Option<Waits<'s>> {
        let receivers: Vec<&Op> =
            self.group.ops.iter().filter(|op| op.act == Act::Receive).collect();
        let mut makes = self.group.ops.iter().filter(|op| matches!(op.act, Act::Make(_)));
        let unbuffered = makes.all(|op| op.act == Act::Make(Some(0)));
        if !unbuffered && !may_fill(self.groups, send, &receivers) {
            return None;
        }
        let outside = receivers.iter().all(|op| self.is_outsiders(op));
        outside.then_some(Waits { op: send, lock, by: receivers[0] })
    }

    /// The wait for an answer that follows a send under the same lock: who answers has received the request.
    fn answer<'s>(&'s self, send: &Op, cfg: &Cfg, at: StepId, lock: Taken) -> Option<Waits<'s>> {
        let scene = &self.groups.scenes[send.scene];
        self.groups.all().iter().filter(|group| !group.open).find_map(|group| {
            let make = group.only_make().filter(|make| make.same_body(send))?;
            let wait = group.ops.iter().find(|op| {
                op.act == Act::Receive
                    && op.select.is_none()
                    && op.same_body(send)
                    && scene.local(op.channel).is_some()
            })?;
            let (from, to) = (scene.step_of(cfg, make.node)?, scene.step_of(cfg, wait.node)?);
            let held = held_at(scene, self.locks, wait.literal, cfg, to);
            let asks = cfg.dominates(at, to)
                && cfg.dominates(from, to)
                && held.iter().any(|held| held.call == lock.call);
            let mut ends = group.ops.iter().filter(|op| matches!(op.act, Act::Send | Act::Close));
            let by = ends.clone().next()?;
            let answered = ends.all(|op| self.is_outsiders(op) && self.has_received(op));
            (asks && answered).then_some(Waits { op: wait, lock, by })
        })
    }

    /// Whether an operation comes only after its function has received from the channel.
    fn has_received(&self, op: &Op) -> bool {
        let scene = &self.groups.scenes[op.scene];
        let Some(cfg) = scene.graph(op.literal) else { return false };
        let Some(to) = op.step(scene, &cfg) else { return false };
        let mut receives = self.group.ops.iter().filter(|other| other.same_body(op));
        receives.any(|receive| {
            receive.act == Act::Receive
                && receive.step(scene, &cfg).is_some_and(|step| cfg.dominates(step, to))
        })
    }

    /// Whether an operation is one of an exported method that comes to it once a call, and that nobody in the run
    /// calls or starts.
    fn is_outsiders(&self, op: &Op) -> bool {
        let scene = &self.groups.scenes[op.scene];
        let index = scene.cx.index();
        let exported = scene.name.name.is_exported()
            && scene.receiver().is_some()
            && op.literal.is_none()
            && index.package(scene.cx.package.package).name.as_str() != "main";
        if !exported || self.groups.is_started(scene, None) {
            return false;
        }
        let Some(cfg) = scene.graph(None) else { return false };
        let Some(at) = op.step(scene, &cfg) else { return false };
        !cfg.reaches(at, at) && calls(&scene.cx.package, index.func(scene.cx.func)).is_empty()
    }

    /// Where the method that ends the object takes the lock before it closes the channel, if all who close that
    /// do so.
    fn closed_after(&self, lock: &Taken) -> Option<(&Op, Location)> {
        let wanted = Wanted { locks: self.locks, lock, depth: MAX_CALLS, apart: &|_| false };
        let first = self.ended_by_method()?;
        let mut needs = None;
        for op in self.group.ops.iter().filter(|op| op.act == Act::Close) {
            let scene = &self.groups.scenes[op.scene];
            let Node::Expr(call) = op.node else { return None };
            if scene.is_deferred(call) || scene.go_of(call).is_some() {
                return None;
            }
            let location = taken_above(scene, op.literal, op.node, &wanted)?;
            if std::ptr::eq(op, first) {
                needs = Some((op, location));
            }
        }
        needs
    }

    fn tell(&self, waits: &Waits<'_>, (close, needs): (&Op, Location)) -> Finding {
        let scene = &self.groups.scenes[waits.op.scene];
        let (by, closer) = (&self.groups.scenes[waits.by.scene], &self.groups.scenes[close.scene]);
        let verb = if waits.op.act == Act::Send { "send on" } else { "receive from" };
        let what = format!("this {verb} `{}`", scene.text(waits.op.channel));
        let who = format!("`{}`, which is to end all,", closer.name.name);
        let span = first_line(scene, waits.op.span(scene));
        let other = Other { who: &who, when: BEFORE, needs };
        let mut finding = tell(scene, scene, span, &waits.lock, &what, &other);
        finding.confidence = confidence(scene);
        finding.labels.push(Label {
            location: by.cx.location(first_line(by, waits.by.span(by))),
            role: Role::Context,
            message: format!("only a call of `{}` ends the wait", by.name.name),
        });
        finding.why =
            format!("once nobody calls `{}` any more, neither of the two can go on", by.name.name);
        finding.help = format!(
            "wait in a `select` with a channel that `{}` closes before it takes the lock",
            closer.name.name
        );
        finding
    }
}

/// Where a lock is taken on every way to an operation: by its body, or by what stands around the literal that it is
/// in, if that is given to a call there.
fn taken_above(
    scene: &Scene<'_>,
    literal: Option<ExprId>,
    node: Node,
    wanted: &Wanted<'_>,
) -> Option<Location> {
    let mut place = (literal, node);
    loop {
        let (literal, node) = place;
        let cfg = scene.graph(literal)?;
        let at = scene.step_of(&cfg, node)?;
        let taken = cfg.steps().filter(|&step| step != at && cfg.dominates(step, at));
        let mut taken = taken.filter_map(|step| taken_at(scene, cfg.step(step), wanted));
        if let Some(location) = taken.next() {
            return Some(location);
        }
        let literal = literal?;
        let call = scene.given_to(literal)?;
        if !scene.runs_in_turn(scene.literal_around(Node::Expr(call)), call) {
            return None;
        }
        place = (scene.literal_around(Node::Expr(call)), Node::Expr(call));
    }
}
