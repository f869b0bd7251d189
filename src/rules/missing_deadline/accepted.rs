//! A connection that is accepted, and whose peer keeps the accepting loop, or a goroutine for each connection.
//!
//! Whoever connects and then says nothing is waited for. Evidence: a loop accepts connections from other machines (its
//! function listens itself, by TCP, and not on the loopback address alone), and itself reads from each, or shakes hands with it, before it accepts the next one; or it starts a function of the
//! package for each, which shakes hands before all else. Nothing on the way speaks of a deadline, and nobody else
//! has the connection by then.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Step, StepId};
use crate::index::Callee;
use crate::rules::FunctionCx;
use crate::rules::missing_deadline::connection::{
    MAX_DEPTH, Turns, Unbounded, first_read, shown, speaks_of_deadline,
};
use crate::summary::{At, BodyId, Function, Place, Read, Root};
use crate::syntax::ExprId;

/// The reads of connections that the function accepts, or a literal in it.
pub(super) fn check<'a>(cx: &FunctionCx<'a>, read: &Read<'a>) -> Vec<Finding> {
    let function = &read.function;
    let accepts = function.calls().filter(|&(_, call)| is_accept(function, call));
    let check = |(at, accept): (At, ExprId)| {
        let accepted = Accepted { cx, read, at, accept };
        let cfg = &function.body(at.body).cfg;
        cfg.reaches(at.step, at.step).then(|| accepted.in_turn().or_else(|| accepted.started()))?
    };
    accepts.filter_map(check).collect()
}

/// Whether a call waits for the next connection from another machine.
fn is_accept(function: &Function<'_>, call: ExprId) -> bool {
    let named = |call: ExprId| function.info.callee(call).qualified(function.index);
    let accepts = named(call).is_some_and(|name| {
        name.path.as_str() == "net" && name.name.as_str().starts_with("Accept")
    });
    let listens = |(_, call): (At, ExprId)| {
        let listens = named(call).is_some_and(|name| {
            matches!((name.path.as_str(), name.name.as_str()), ("net" | "crypto/tls", "Listen"))
        });
        let text = |place: usize| {
            function.args(call).get(place).and_then(|&arg| function.info.constant(arg)?.as_str())
        };
        let is_near =
            |address: &str| ["127.", "[::1]", "localhost"].iter().any(|it| address.starts_with(it));
        listens
            && text(0).is_some_and(|network| network.starts_with("tcp"))
            && !text(1).is_some_and(is_near)
    };
    accepts && function.calls().any(listens)
}

/// A call that accepts connections in a loop.
struct Accepted<'c, 'a> {
    cx: &'c FunctionCx<'a>,
    read: &'c Read<'a>,
    at: At,
    accept: ExprId,
}

impl Accepted<'_, '_> {
    fn connection(&self) -> Place {
        Place::root(Root::Call(self.accept, 0))
    }

    /// The loop itself waits for what the peer sends.
    fn in_turn(&self) -> Option<Finding> {
        let connection = self.connection();
        let turns = Turns { of: Some(self.at.step), depth: MAX_DEPTH };
        let found = first_read(self.cx, self.read, self.at.body, &connection, turns);
        let (step, found) = found.ok()??;
        let cfg = &self.read.function.body(self.at.body).cfg;
        let holds_up = cfg.reaches(self.at.step, step) && cfg.reaches(step, self.at.step);
        (holds_up && !is_shown_before(self.read, self.at, &connection, step)).then(|| {
            self.tell(
                &found,
                "and no other connection is accepted meanwhile",
                "the loop that waits accepts here",
            )
        })
    }

    /// A function that the loop starts for each connection waits for the handshake.
    fn started(&self) -> Option<Finding> {
        let function = &self.read.function;
        if speaks_of_deadline(function) {
            return None;
        }
        let cfg = &function.body(self.at.body).cfg;
        cfg.steps().find_map(|step| {
            let Step::Go(_) = cfg.step(step) else { return None };
            let call = cfg.step(step).call(function.file)?;
            let Callee::Func(func) = *function.info.callee(call) else { return None };
            let at = At { body: self.at.body, step };
            let connection = self.connection();
            let is_it = |&arg: &ExprId| function.places(at, arg).may_be(&connection);
            let param = function.args(call).iter().position(is_it)?;
            if func.package != self.cx.func.package || !cfg.reaches(self.at.step, step) {
                return None;
            }
            let inner = self.cx.summaries().read(func)?;
            let given = Place::root(Root::Param(param as u32));
            let turns = Turns { of: None, depth: MAX_DEPTH };
            let found = first_read(self.cx, &inner, BodyId::OWN, &given, turns);
            let (read_at, found) = found.ok()??;
            let start = At { body: BodyId::OWN, step: StepId(0) };
            (found.is_handshake && !is_shown_before(&inner, start, &given, read_at))
                .then(|| self.tell(&found, "one goroutine for each that connects", "accepted here"))
        })
    }

    fn tell(&self, found: &Unbounded, harm: &str, accepted: &str) -> Finding {
        let message =
            format!("`{}` waits as long as the peer likes: it has no deadline, {harm}", found.what);
        let mut finding = self.cx.package.finding(found.location, "no deadline", message);
        finding.labels.push(Label {
            location: self.cx.location(self.read.function.file.expr(self.accept).span),
            role: Role::Made,
            message: accepted.to_owned(),
        });
        finding.why =
            "a peer that connects and then hangs, or means harm, sends neither data nor an end"
                .to_owned();
        finding.help =
            "`SetDeadline` on the connection before, and take it back afterwards".to_owned();
        finding.defect = found.location;
        finding
    }
}

/// Whether others may know a connection on the way from where it comes from to a step.
fn is_shown_before(read: &Read<'_>, from: At, connection: &Place, step: StepId) -> bool {
    let cfg = &read.function.body(from.body).cfg;
    let mut shown = shown(read, from.body, connection);
    shown.any(|at| {
        let is_way = || cfg.reaches_without(at.step, step, &|step| step == from.step);
        at.body != from.body || at.step != step && is_way()
    })
}
