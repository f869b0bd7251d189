//! A connection that is dialled with a timeout, asked once, and read without one.
//!
//! The timeout of a dialler is over once the connection is there. Who gave it one meant to wait no
//! longer; and a peer that accepts and then says nothing keeps the reader for ever. The claim is
//! made of connections that a function or a literal dials, and shows to nobody but functions of its
//! package before it has read the answer, none of which puts a deadline on it: one that is closed when
//! it is left, or one that is handed out after a handshake.

use crate::catalog::{Base, Blocking, Pure, Wait};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Step, StepId};
use crate::index::Callee;
use crate::rules::FunctionCx;
use crate::source::Location;
use crate::summary::{Act, At, BodyId, Effect, Function, Mode, Place, Read, Root, covering, facts};
use crate::syntax::{ExprId, ExprKind, Node};

/// How many calls are followed to the read.
pub(super) const MAX_DEPTH: u32 = 3;

/// The reads of connections that the function dials, or a literal in it.
pub(super) fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    let function = &read.function;
    let dials = function.calls().filter(|&(_, call)| is_bounded_dial(cx, function, call));
    let check = |(at, dial): (At, ExprId)| {
        let connection = Place::root(Root::Call(dial, 0));
        let turns = Turns { of: None, depth: MAX_DEPTH };
        let (step, found) = first_read(cx, read, at.body, &connection, turns).ok()??;
        let of_dialler = OfDialler { read, dial: at, read_at: step, connection: &connection };
        (!of_dialler.is_shown_before() && of_dialler.is_done_with())
            .then(|| finding(cx, function, dial, &found))
    };
    dials.filter_map(check).collect()
}

/// A connection in the body that dials it, and where that reads the answer or calls what does.
struct OfDialler<'r, 'a> {
    read: &'r Read<'a>,
    dial: At,
    read_at: StepId,
    connection: &'r Place,
}

impl OfDialler<'_, '_> {
    /// Whether others may know the connection when the answer is read: a way from the dial leads to where it is
    /// shown and not past the read, or something that runs at another time has it.
    fn is_shown_before(&self) -> bool {
        let cfg = &self.read.function.body(self.dial.body).cfg;
        let is_early = |at: At| {
            at.body != self.dial.body
                || at.step != self.read_at
                    && cfg.reaches_without(self.dial.step, at.step, &|step| step == self.read_at)
        };
        let mut shown = shown(self.read, self.dial.body, self.connection);
        shown.any(is_early)
    }

    /// Whether the body ends with the connection, so that it is no other's before: it is closed when the body is
    /// left, or closed or handed out after the answer.
    fn is_done_with(&self) -> bool {
        let cfg = &self.read.function.body(self.dial.body).cfg;
        let is_close = |act: Act| matches!(act, Act::Method(name) if name.as_str() == "Close");
        self.read.effects(self.dial.body).effects.iter().any(|effect| {
            let is_closed = effect.place == *self.connection && is_close(effect.act);
            let is_handed_out = effect.place.is_within(self.connection) && shows(effect.act);
            is_closed && effect.mode == Mode::Deferred
                || (is_closed || is_handed_out) && cfg.reaches(self.read_at, effect.at.step)
        })
    }
}

/// Whether a call dials, with a bound on the time that this takes.
fn is_bounded_dial(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let Some(blocking) = known.in_force::<Blocking>(cx.versions()) else { return false };
    let Some(timeout) = blocking.timeout.as_ref().filter(|_| blocking.wait == Wait::Net) else {
        return false;
    };
    let file = function.file;
    let ExprKind::Call { ref args, .. } = file.expr(call).kind else { return false };
    let first = args.first().and_then(|&arg| function.info.constant(arg)?.as_str());
    if blocking.near.iter().any(|near| first == Some(&**near)) {
        return false;
    }
    match (timeout.base, &timeout.field) {
        (Base::Param(_), None) => true,
        (Base::Receiver, Some(field)) => made_with(function, call, field),
        _ => false,
    }
}

/// Whether the function makes what the method is called on with this field.
fn made_with(function: &Function<'_>, call: ExprId, field: &str) -> bool {
    let file = function.file;
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return false };
    let ExprKind::Selector { base, .. } = file.expr(file.unparen(callee)).kind else {
        return false;
    };
    let Some(dialler) = function.info.type_of(base).named() else { return false };
    let root = Node::Decl(function.index.func(function.id).decl);
    file.descendants(root).any(|node| {
        let Node::Expr(expr) = node else { return false };
        file.field_of(expr, &|name| name == field).is_some()
            && function
                .info
                .type_of(expr)
                .named()
                .is_some_and(|own| own.qualified() == dialler.qualified())
    })
}

/// A read that nothing bounds.
pub(super) struct Unbounded {
    pub location: Location,
    /// The function that it stands in.
    function: String,
    /// What is called there.
    pub what: String,
    /// Whether that is a handshake, which ends before anything else is said.
    pub is_handshake: bool,
    /// Where the connection is wrapped that it reads.
    wrapped: Option<Location>,
}

/// Somebody else has the connection, or puts a bound on it.
pub(super) struct Seen;

/// Where the first read of a connection is looked for.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    /// The step of a loop that gives the connection, in each turn another one.
    pub of: Option<StepId>,
    /// How many calls are followed.
    pub depth: u32,
}

/// The first read of a connection in a body: the step that reads, or that calls what does.
pub(super) fn first_read(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    body: BodyId,
    connection: &Place,
    turns: Turns,
) -> Result<Option<(StepId, Unbounded)>, Seen> {
    let function = &read.function;
    if speaks_of_deadline(function) {
        return Err(Seen);
    }
    let cfg = &function.body(body).cfg;
    let dial = match connection.root {
        Root::Call(dial, _) => Some(dial),
        _ => None,
    };
    let mut holders = vec![connection.clone()];
    let mut wrapped = None;
    for step in cfg.steps() {
        let Step::Call(call) = cfg.step(step) else { continue };
        if Some(call) == dial {
            continue;
        }
        let at = At { body, step };
        let ExprKind::Call { callee, ref args, .. } = function.file.expr(call).kind else {
            continue;
        };
        let is_it = |expr: ExprId| {
            let places = function.places(at, expr);
            holders.iter().any(|holder| places.may_be(holder))
        };
        let on = match function.file.expr(function.file.unparen(callee)).kind {
            ExprKind::Selector { base, .. } => is_it(base),
            _ => false,
        };
        let given = args.iter().position(|&arg| is_it(arg));
        let here = Location { file: function.file_id, span: function.file.expr(call).span };
        match (function.info.callee(call), given) {
            (Callee::Func(func), Some(param)) if func.package == cx.func.package => {
                let inner = cx.summaries().read(*func).ok_or(Seen)?;
                let place = Place::root(Root::Param(param as u32));
                let depth = turns.depth.checked_sub(1).ok_or(Seen)?;
                if shown(&inner, BodyId::OWN, &place).next().is_some() {
                    return Err(Seen);
                }
                let turns = Turns { of: None, depth };
                if let Some((_, found)) = first_read(cx, &inner, BodyId::OWN, &place, turns)? {
                    return Ok(Some((step, found)));
                }
            }
            (_, None) if !on => {}
            _ => match use_of(cx, function, call) {
                // What is read in turns may be a stream, which stays open.
                Use::Reads | Use::ShakesHands
                    if cfg.reaches_without(step, step, &|step| turns.of == Some(step)) =>
                {
                    return Err(Seen);
                }
                how @ (Use::Reads | Use::ShakesHands) => {
                    let found = Unbounded {
                        location: here,
                        function: function.index.func(function.id).name.as_str().to_owned(),
                        what: function.callee_text(call),
                        is_handshake: matches!(how, Use::ShakesHands),
                        wrapped,
                    };
                    return Ok(Some((step, found)));
                }
                Use::Wraps if given.is_some() => {
                    holders.push(Place::root(Root::Call(call, 0)));
                    wrapped = wrapped.or(Some(here));
                }
                Use::Unknown if given.is_some() => return Err(Seen),
                _ => {}
            },
        }
    }
    Ok(None)
}

/// What a call does with a connection.
enum Use {
    /// It waits for what the peer sends.
    Reads,
    /// It waits for what the peer says first, before anything can be read.
    ShakesHands,
    /// It gives something that reads or writes it.
    Wraps,
    /// Nothing of that.
    Nothing,
    Unknown,
}

fn use_of(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Use {
    let callee = function.info.callee(call);
    let Some(name) = callee.qualified(function.index) else { return Use::Unknown };
    let wraps = covering::<Pure>(cx.catalog(), cx.versions(), function.index, callee)
        .is_some_and(|pure| pure.holds);
    let called = name.name.as_str();
    let standard = !name.path.as_str().split('/').next().unwrap_or_default().contains('.');
    match called {
        _ if wraps => Use::Wraps,
        "Server" | "Client" if name.path.as_str() == "crypto/tls" => Use::Wraps,
        "Handshake" if name.path.as_str() == "crypto/tls" => Use::ShakesHands,
        "CopyN" => Use::Reads,
        _ if called.starts_with("Read") || called.starts_with("Decode") => Use::Reads,
        _ if name.receiver.is_none() && called.starts_with("New") => Use::Wraps,
        _ if standard || name.receiver.is_some() => Use::Nothing,
        _ => Use::Unknown,
    }
}

/// Whether a function speaks of a deadline at all.
pub(super) fn speaks_of_deadline(function: &Function<'_>) -> bool {
    let declared = function.index.func(function.id).decl;
    let text = function.file.source.slice(function.file.decl(declared).span);
    memchr::memmem::find(text, b"Deadline").is_some()
        || memchr::memmem::find(text, b"AfterFunc").is_some()
}

/// Where others than functions of the package get to know a connection, in a body and in its literals.
pub(super) fn shown<'r>(
    read: &'r Read<'_>,
    body: BodyId,
    connection: &'r Place,
) -> impl Iterator<Item = At> + 'r {
    let function = &read.function;
    let inside =
        function.bodies().filter(move |&inner| function.enclosing(inner).any(|it| it == body));
    inside.flat_map(move |inner| {
        let effects = read.effects(inner).effects.iter();
        let is_shown = move |effect: &&Effect| {
            let elsewhere = effect.mode >= Mode::Joined;
            effect.place.is_within(connection) && (shows(effect.act) || elsewhere)
        };
        effects.filter(is_shown).map(|effect| effect.at)
    })
}

/// Whether others may know a thing afterwards.
fn shows(act: Act) -> bool {
    matches!(act, Act::Returned(_) | Act::Stored | Act::Sent | Act::Captured)
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    dial: ExprId,
    found: &Unbounded,
) -> Finding {
    let dials = function.callee_text(dial);
    let message = format!(
        "`{}` waits as long as the peer likes: `{dials}` bounds the time to connect, and nothing \
         the time to answer",
        found.what
    );
    let mut finding = cx.package.finding(found.location, "no deadline", message);
    finding.labels.push(Label {
        location: cx.location(function.file.expr(dial).span),
        role: Role::Made,
        message: format!("the connection that `{}` reads is dialled here", found.function),
    });
    finding.labels.extend(found.wrapped.map(|location| Label {
        location,
        role: Role::Context,
        message: "this reads from the connection".to_owned(),
    }));
    finding.why = "a timeout of a dialler is over once the connection is there; a peer that \
                   accepts it and then hangs sends neither data nor an end"
        .to_owned();
    finding.help = "`SetDeadline` on the connection before the first write or read".to_owned();
    finding.defect = found.location;
    finding
}
