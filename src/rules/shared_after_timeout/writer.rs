//! A filter answers when time is up, and uses fields of the response writer that it gave to the
//! handler which it left behind: the methods that the handler calls on that writer use the same
//! fields, and one of the two sides does so without the lock.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{PathEnd, StepId};
use crate::index::{FuncId, Type, TypeDecl};
use crate::rules::FunctionCx;
use crate::rules::fields::{self, FieldUse};
use crate::rules::handoff::{
    WRITER_METHODS, go_keyword, is_handler, is_left_behind, runs_handler, way_out,
};
use crate::rules::scene::holds_any;
use crate::source::Location;
use crate::summary::{BodyId, Function, Place, Read, Root, Spawn};
use crate::syntax::{ExprKind, Node};

pub fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["ServeHTTP"]) || !holds_any(cx, &["select"]) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for body in read.function.bodies() {
        for spawn in &read.effects(body).spawns {
            if is_left_behind(&read, spawn) && runs_handler(cx, &read.function, spawn) {
                findings.extend(check_spawn(cx, &read, spawn));
            }
        }
    }
}

fn check_spawn<'a>(cx: &FunctionCx<'a>, read: &Read<'a>, spawn: &Spawn) -> Option<Finding> {
    let function = &read.function;
    let (writer, ty) = writer_given(cx, function, spawn)?;
    let theirs = of_handler(cx, &ty);
    let races = |step: StepId| {
        let ours = fields::of_body(cx, read, spawn.at.body, &writer, &|asked| asked == step);
        ours.into_iter().find_map(|ours| {
            let met = theirs.iter().find(|(_, their)| meet(&ours, their))?;
            Some((ours, met))
        })
    };
    let path = read
        .gives_up(spawn, &|step| races(step).is_some(), &|_| false)
        .into_iter()
        .find(|path| matches!(path.end, PathEnd::Step(_)))?;
    let PathEnd::Step(step) = path.end else { return None };
    let (ours, (method, their)) = races(step)?;
    let method = cx.index().func(*method).name;
    let message = format!(
        "time is up, and this uses `{}` while the handler that was left behind may call `{method}`, \
         which uses it too: {}",
        ours.code,
        match (ours.locked, their.locked) {
            (false, false) => "neither holds a lock",
            (true, _) => "the lock is held on this side only",
            (false, true) => "the lock is held on that side only",
        }
    );
    let mut finding = cx.package.finding(ours.owner, &format!("uses `{}`", ours.code), message);
    let mut label = |location: Location, role: Role, message: String| {
        finding.labels.push(Label { location, role, message });
    };
    let go = cx.location(go_keyword(function, spawn));
    label(go, Role::Started, "the goroutine runs the handler with this writer".to_owned());
    if let Some((span, told)) = way_out(function, spawn.at, &path) {
        label(cx.location(span), Role::Left, told);
    }
    if ours.location != ours.owner {
        label(ours.location, Role::Context, "it is used here".to_owned());
    }
    label(their.location, Role::Context, format!("`{method}` uses `{}` here", their.code));
    finding.why = "the goroutine was not stopped, only left: its handler goes on writing its \
                   response, at that very moment or later"
        .to_owned();
    finding.help =
        "hold one lock on both sides for as long as the fields of the writer are used".to_owned();
    Some(finding)
}

/// The response writer of the function's own that the goroutine gives to the handler, with its type.
fn writer_given(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    spawn: &Spawn,
) -> Option<(Place, Type)> {
    let file = function.file;
    file.descendants(Node::Expr(spawn.call)).find_map(|node| {
        let Node::Expr(call) = node else { return None };
        let ExprKind::Call { args, .. } = &file.expr(call).kind else { return None };
        let writer = *args.first()?;
        if !is_handler(cx, function, call) {
            return None;
        }
        let place = function.places(function.at_call(call)?, writer).only()?.clone();
        let own = matches!(place.root, Root::Made(_) | Root::Call(..)) && place.path.is_empty();
        own.then(|| (place, function.info.type_of(writer).clone()))
    })
}

/// What the methods of a writer that a handler calls do with its fields.
fn of_handler(cx: &FunctionCx<'_>, ty: &Type) -> Vec<(FuncId, FieldUse)> {
    let Some(named) = ty.strip_pointer().named() else { return Vec::new() };
    let TypeDecl::Global(object) = named.decl else { return Vec::new() };
    let methods = cx.index().package(object.package).methods(named.name);
    let called = methods.filter(|method| WRITER_METHODS.contains(&method.name.as_str()));
    let mut found = Vec::new();
    for method in called {
        let Some(read) = cx.summaries().read(method.id) else { continue };
        let cx = FunctionCx { func: method.id, ..*cx };
        let receiver = Place::root(Root::Receiver);
        let uses = fields::of_body(&cx, &read, BodyId::OWN, &receiver, &|_| true);
        found.extend(uses.into_iter().map(|used| (method.id, used)));
    }
    found
}

/// Whether nothing orders two uses of one field, one of which writes.
fn meet(ours: &FieldUse, their: &FieldUse) -> bool {
    !(ours.locked && their.locked) && (ours.meets(their) || their.meets(ours))
}
