//! A handler sends its response writer, or the live header map of the response, over a channel to a
//! goroutine of the same package, and does not wait for what becomes of it.
//!
//! What is sent has to be the writer of the handler, something that wraps it, or something of which
//! a field was set to its header map. A channel or a counter that is sent along may tell the handler
//! that the goroutine is done with it: then nothing is said.

use crate::catalog::{Access, Effect, Part, TypeRole};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Callee, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::handoff::{has_role, waits_for_something};
use crate::rules::scene::holds_any;
use crate::source::Location;
use crate::summary::{self, Act, At, BodyId, Function, Place, Places, Read, Root};
use crate::syntax::{ExprId, ExprKind, StmtKind, Symbol};

pub fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["<-"]) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let function = &read.function;
    for body in function.bodies() {
        let Some(writer) = writer_of_handler(cx, function, body) else { continue };
        let cfg = &function.body(body).cfg;
        for step in cfg.steps() {
            let at = At { body, step };
            let (Step::Send(stmt) | Step::Comm(stmt)) = cfg.step(step) else { continue };
            let StmtKind::Send { channel, value } = function.file.stmt(stmt).kind else { continue };
            if waits_for_something(&read, at) {
                continue;
            }
            let Some(received) = received_elsewhere(cx, &read, at, channel) else { continue };
            let found = Sent { cx, read: &read, at, writer: &writer }.of_value(value, MAX_DEPTH);
            if let Some(sent) = found {
                let at = cx.location(function.file.stmt(stmt).span);
                findings.push(finding(cx, function, at, channel, &sent, received));
            }
        }
    }
}

/// How many values are looked into that hold others.
const MAX_DEPTH: u32 = 3;

/// What is sent that the handler may use only until it returns.
struct Exposed {
    /// What it is, for people.
    what: String,
    /// Where it becomes a part of what is sent.
    at: Location,
}

/// The response writer that a body is given which handles a request.
fn writer_of_handler(cx: &FunctionCx<'_>, function: &Function<'_>, body: BodyId) -> Option<Place> {
    let literal = function.body(body).literal;
    let parameter = |role: TypeRole| {
        function.info.locals().iter().find_map(|local| match local.kind {
            LocalKind::Param(index) if local.owner == literal && has_role(cx, &local.ty, role) => {
                Some(match literal {
                    None => Place::root(Root::Param(index)),
                    Some(literal) => Place::root(Root::LiteralParam(literal, index)),
                })
            }
            _ => None,
        })
    };
    parameter(TypeRole::Request)?;
    parameter(TypeRole::ResponseWriter)
}

/// Where a goroutine of the package receives from the field that a channel is.
fn received_elsewhere(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    at: At,
    channel: ExprId,
) -> Option<Location> {
    let places = read.function.places(at, channel);
    let place = places.only()?;
    if !matches!(place.root, Root::Receiver | Root::Global(_)) {
        return None;
    }
    let field: Option<Symbol> = place.path.last().copied();
    cx.index().package(cx.func.package).funcs.iter().find_map(|func| {
        let other = FunctionCx { func: func.id, ..*cx };
        if func.id == cx.func || !holds_any(&other, &["<-", "range "]) {
            return None;
        }
        let read = cx.summaries().read(func.id)?;
        let function = &read.function;
        function.bodies().find_map(|body| {
            read.effects(body).effects.iter().find_map(|effect| {
                let receives = matches!(effect.act, Act::Received(_) | Act::Drained);
                let same = match field {
                    Some(field) => effect.place.path.last() == Some(&field),
                    None => effect.place.root == place.root,
                };
                let span = function.step(effect.at).span(function.file);
                (receives && same).then(|| other.location(span))
            })
        })
    })
}

/// The question what a value holds that is sent.
struct Sent<'s, 'a> {
    cx: &'s FunctionCx<'a>,
    read: &'s Read<'a>,
    at: At,
    writer: &'s Place,
}

impl Sent<'_, '_> {
    fn of_value(&self, value: ExprId, depth: u32) -> Option<Exposed> {
        let function = &self.read.function;
        let value = function.file.unparen(value);
        if self.may_tell(value) {
            return None;
        }
        let places = function.places(self.at, value);
        self.of_places(&places, value, depth)
    }

    fn of_places(&self, places: &Places, value: ExprId, depth: u32) -> Option<Exposed> {
        let function = &self.read.function;
        let span = function.file.expr(value).span;
        let exposed = |what: String, span| Exposed { what, at: self.cx.location(span) };
        if places.may_be(self.writer) {
            return Some(exposed(format!("the response writer `{}`", function.text(value)), span));
        }
        let depth = depth.checked_sub(1)?;
        for place in places.list.iter().filter(|place| place.path.is_empty()) {
            match place.root {
                Root::Made(made) => {
                    let ExprKind::CompositeLit { elements, .. } = &function.file.expr(made).kind
                    else {
                        continue;
                    };
                    if elements.iter().any(|element| self.may_tell(element.value)) {
                        return None;
                    }
                    let held =
                        elements.iter().find_map(|element| self.of_value(element.value, depth));
                    if held.is_some() {
                        return held;
                    }
                }
                Root::Call(call, 0) if self.wraps(call) => {
                    let what =
                        format!("`{}`, which wraps the response writer", function.text(value));
                    return Some(exposed(what, span));
                }
                Root::Call(call, 0) if self.exposes(call) => {
                    let what = "the live header map of the response".to_owned();
                    return Some(exposed(what, function.file.expr(call).span));
                }
                _ => {}
            }
            if let Some(set) = self.set_to_headers(place) {
                return Some(set);
            }
        }
        None
    }

    /// Whether a call wraps the writer of the handler into one of another type.
    fn wraps(&self, call: ExprId) -> bool {
        let function = &self.read.function;
        let ExprKind::Call { args, .. } = &function.file.expr(call).kind else { return false };
        let ty = function.info.type_of(call);
        let given = args.iter().any(|&arg| function.places(self.at, arg).may_be(self.writer));
        given && self.is_writer(ty)
    }

    /// Whether a type has the methods of a response writer.
    fn is_writer(&self, ty: &Type) -> bool {
        let path = self.cx.index().package(self.cx.func.package).path;
        ["Header", "WriteHeader"].into_iter().all(|name| {
            let method = self.cx.index().lookup(ty, Symbol::new(name), path);
            matches!(method, crate::index::Def::Method(..) | crate::index::Def::InterfaceMethod(_))
        })
    }

    /// Whether a call hands out the header map of the response: of the writer, or of what wraps it.
    fn exposes(&self, call: ExprId) -> bool {
        let function = &self.read.function;
        let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return false };
        let ExprKind::Selector { base, name } =
            function.file.expr(function.file.unparen(callee)).kind
        else {
            return false;
        };
        let callee = function.info.callee(call);
        let facts = summary::facts(self.cx.catalog(), function.index, callee);
        let by_catalog = facts
            .all_in_force::<Access>(self.cx.versions())
            .any(|access| access.part == Part::ResponseHeader && access.effect == Effect::Expose);
        let of_wrapper = matches!(callee, Callee::Func(_)) && name.name.as_str() == "Header" && {
            self.is_writer(function.info.type_of(base))
        };
        if !by_catalog && !of_wrapper {
            return false;
        }
        let of = function.object_places(self.at, base);
        of.may_be(self.writer)
            || of.list.iter().any(|place| {
                place.path.is_empty()
                    && matches!(place.root, Root::Call(made, 0) if self.wraps(made))
            })
    }

    /// Where a field of a thing was set to the header map of the response before it is sent.
    fn set_to_headers(&self, thing: &Place) -> Option<Exposed> {
        let function = &self.read.function;
        let cfg = &function.body(self.at.body).cfg;
        cfg.steps().find_map(|step| {
            let Step::Assign(stmt) = cfg.step(step) else { return None };
            let StmtKind::Assign { left, right, op: None } = &function.file.stmt(stmt).kind else {
                return None;
            };
            let ([target], [value]) = (&left[..], &right[..]) else { return None };
            let ExprKind::Selector { base, .. } =
                function.file.expr(function.file.unparen(*target)).kind
            else {
                return None;
            };
            let at = At { body: self.at.body, step };
            if !cfg.dominates(step, self.at.step) || !function.object_places(at, base).may_be(thing)
            {
                return None;
            }
            let places = function.places(at, *value);
            let is_live = |place: &Place| {
                matches!(place.root, Root::Call(call, 0) if place.path.is_empty()
                    && Sent { at, ..*self }.exposes(call))
            };
            let live = places.list.iter().any(is_live);
            live.then(|| Exposed {
                what: format!("`{}`, the live header map of the response", function.text(*target)),
                at: self.cx.location(function.file.stmt(stmt).span),
            })
        })
    }

    /// Whether a value may be there for the goroutine to say that it is done.
    fn may_tell(&self, value: ExprId) -> bool {
        let function = &self.read.function;
        let ty = function.info.type_of(value).strip_pointer();
        matches!(function.index.underlying(ty), Type::Chan(..) | Type::Func(_))
            || ty.is_named("sync", "WaitGroup")
    }
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: Location,
    channel: ExprId,
    sent: &Exposed,
    received: Location,
) -> Finding {
    let channel = function.text(channel);
    let message = format!(
        "{} goes over `{channel}` to a goroutine that uses it after the handler has returned: the \
         server is finishing the response from the same header map by then, and a concurrent map \
         read and map write ends the process",
        sent.what
    );
    let mut finding = cx.package.finding(at, "sent to another goroutine", message);
    let mut label = |location: Location, role: Role, message: &str| {
        finding.labels.push(Label { location, role, message: message.to_owned() });
    };
    if sent.at != at {
        label(sent.at, Role::Made, "it is valid until the handler returns");
    }
    label(received, Role::Context, "the goroutine that gets it receives here");
    finding.help =
        "send what the goroutine needs by value: numbers, strings, and a map of its own, \
                    made by `Header().Clone()`"
            .to_owned();
    finding
}
