//! `live-header-exposed`: a response writer that a timeout closes gives its handler the header map
//! of the writer below, which the other side writes to the client at that very time.
//!
//! That a type is such a writer is told by what the functions of its package do: its `Write` or
//! `WriteHeader` refuses to work once a field says so, and a function that leaves a handler behind in
//! a goroutine sets that field, itself or through a method.

use crate::catalog::{Access, Effect, Part, TypeRole};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{EdgeKind, Step};
use crate::index::{Callee, Def, FuncId, ObjectId};
use crate::rules::handoff::{WRITER_METHODS, deadlines, has_role, is_left_behind, runs_handler};
use crate::rules::scene::holds_any;
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::{Location, Span};
use crate::summary::{self, At, BodyId, Function, Root};
use crate::syntax::{ExprId, ExprKind, StmtKind, Symbol};

pub const RULE: Rule = Rule {
    page: include_str!("../../rules/live-header-exposed.md"),
    check: Check::Function(check),
};

/// The method that hands out the map.
const GETTER: &str = "Header";

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    let declared = cx.declared();
    let Some(ty) = declared.receiver.and_then(|receiver| receiver.ty) else { return };
    if declared.name.as_str() != GETTER {
        return;
    }
    let Some((span, inner)) = live_map(cx) else { return };
    let refused = fields_that_refuse(cx, declared.qualified.receiver, ty);
    if refused.is_empty() {
        return;
    }
    if let Some(story) = Story::of(cx, ty, &refused) {
        findings.push(finding(cx, span, &inner, &story));
    }
}

/// Where the getter returns the live map of another writer, which it holds in a field; and that
/// writer as the code calls it.
fn live_map(cx: &FunctionCx<'_>) -> Option<(Span, String)> {
    let read = cx.summaries().read(cx.func)?;
    let function = &read.function;
    let cfg = &function.body(BodyId::OWN).cfg;
    for step in cfg.steps() {
        let Step::Return(stmt) = cfg.step(step) else { continue };
        let StmtKind::Return(values) = &function.file.stmt(stmt).kind else { continue };
        let [value] = values[..] else { continue };
        let at = At { body: BodyId::OWN, step };
        for place in function.places(at, value).list {
            let Root::Call(call, 0) = place.root else { continue };
            if let Some(inner) = exposes_field(cx, function, at, call) {
                return Some((function.file.expr(call).span, inner));
            }
        }
    }
    None
}

/// The writer in a field of the receiver whose map this call hands out.
fn exposes_field(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    call: ExprId,
) -> Option<String> {
    let facts = summary::facts(cx.catalog(), function.index, function.info.callee(call));
    let exposes = facts
        .all_in_force::<Access>(cx.versions())
        .any(|access| access.part == Part::ResponseHeader && access.effect == Effect::Expose);
    let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return None };
    let ExprKind::Selector { base, .. } = function.file.expr(function.file.unparen(callee)).kind
    else {
        return None;
    };
    let of = function.object_places(at, base);
    let is_field = of.only()?.root == Root::Receiver && !of.only()?.path.is_empty();
    (exposes && is_field && has_role(cx, function.info.type_of(base), TypeRole::ResponseWriter))
        .then(|| function.text(base))
}

/// The fields that `Write` and `WriteHeader` of the type look at before they do anything.
fn fields_that_refuse(cx: &FunctionCx<'_>, name: Option<Symbol>, ty: ObjectId) -> Vec<Symbol> {
    let mut fields = Vec::new();
    let Some(name) = name else { return fields };
    for method in cx.index().package(cx.func.package).methods(name) {
        if !matches!(method.name.as_str(), "Write" | "WriteHeader") {
            continue;
        }
        let Some(read) = cx.summaries().read(method.id) else { continue };
        let function = &read.function;
        let cfg = &function.body(BodyId::OWN).cfg;
        for block in cfg.blocks() {
            for edge in cfg.edges_of(block) {
                let EdgeKind::True(cond) = edge.kind else { continue };
                if cfg.exit_of(edge.to).is_some() {
                    fields.extend(fields_of(function, cond, ty));
                }
            }
        }
    }
    fields.sort_by_key(|field| field.as_str());
    fields.dedup();
    fields
}

/// The fields of the type that an expression mentions.
fn fields_of(function: &Function<'_>, expr: ExprId, ty: ObjectId) -> Vec<Symbol> {
    let node = crate::syntax::Node::Expr(expr);
    let expressions = function.file.descendants(node).filter_map(|node| match node {
        crate::syntax::Node::Expr(expr) => field_of(function, expr, ty),
        _ => None,
    });
    expressions.collect()
}

fn field_of(function: &Function<'_>, expr: ExprId, ty: ObjectId) -> Option<Symbol> {
    let Def::Field(selection) = function.info.resolve(expr) else { return None };
    let owner = selection.owner.named()?;
    let is_own = owner.decl == crate::index::TypeDecl::Global(ty);
    is_own.then_some(selection.name)
}

/// How the writer comes to be closed while its handler goes on.
struct Story {
    /// The goroutine that the handler runs in.
    go: Location,
    /// Where the field is set from then on.
    closed: Location,
    /// That field.
    field: Symbol,
}

impl Story {
    fn of(cx: &FunctionCx<'_>, ty: ObjectId, refused: &[Symbol]) -> Option<Story> {
        let package = cx.index().package(cx.func.package);
        package.funcs.iter().find_map(|func| {
            let other = FunctionCx { func: func.id, ..*cx };
            if !holds_any(&other, &["go func", "go "]) {
                return None;
            }
            let read = cx.summaries().read(func.id)?;
            let function = &read.function;
            let spawns = function.bodies().flat_map(|body| &read.effects(body).spawns);
            for spawn in spawns {
                if is_left_behind(&read, spawn) && runs_handler(&other, function, spawn) {
                    let cfg = &function.body(spawn.at.body).cfg;
                    for step in cfg.steps() {
                        let at = At { body: spawn.at.body, step };
                        if let Some(field) = closes(cx, function, at, ty, refused)
                            && cfg.reaches(spawn.at.step, step)
                        {
                            let place =
                                |at: At| other.location(function.step(at).span(function.file));
                            return Some(Story { go: place(spawn.at), closed: place(at), field });
                        }
                    }
                }
            }
            None
        })
    }
}

/// The field that a step sets, itself or by a method that no handler calls.
fn closes(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    at: At,
    ty: ObjectId,
    refused: &[Symbol],
) -> Option<Symbol> {
    if let Some(field) = sets(function, at, ty, refused) {
        return Some(field);
    }
    let call = function.step(at).call(function.file)?;
    let name = match function.info.callee(call) {
        Callee::Func(func) => cx.index().func(*func).name,
        Callee::InterfaceMethod(selection) => selection.name,
        _ => return None,
    };
    if WRITER_METHODS.contains(&name.as_str()) {
        return None;
    }
    let type_name = cx.index().object(ty).name;
    let method = cx
        .index()
        .package(cx.func.package)
        .methods(type_name)
        .find(|method| method.name == name)?;
    if let Callee::Func(func) = function.info.callee(call)
        && *func != method.id
    {
        return None;
    }
    sets_anywhere(cx, method.id, ty, refused)
}

/// The field that a method sets.
fn sets_anywhere(
    cx: &FunctionCx<'_>,
    method: FuncId,
    ty: ObjectId,
    refused: &[Symbol],
) -> Option<Symbol> {
    let read = cx.summaries().read(method)?;
    let function = &read.function;
    let body = BodyId::OWN;
    let mut steps = function.body(body).cfg.steps();
    steps.find_map(|step| sets(function, At { body, step }, ty, refused))
}

/// The field that a step assigns, or calls `Store` of.
fn sets(function: &Function<'_>, at: At, ty: ObjectId, refused: &[Symbol]) -> Option<Symbol> {
    let file = function.file;
    let target = match function.step(at) {
        Step::Assign(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Assign { left, .. } => *left.first()?,
            _ => return None,
        },
        Step::Call(call) => {
            let ExprKind::Call { callee, .. } = file.expr(call).kind else { return None };
            match file.expr(file.unparen(callee)).kind {
                ExprKind::Selector { base, name } if name.name.as_str() == "Store" => base,
                _ => return None,
            }
        }
        _ => return None,
    };
    field_of(function, file.unparen(target), ty).filter(|field| refused.contains(field))
}

fn finding(cx: &FunctionCx<'_>, span: Span, inner: &str, story: &Story) -> Finding {
    let name = cx.declared().qualified.receiver.map_or("", |name| name.as_str());
    let message = format!(
        "`{name}.Header` gives the handler the header map of `{inner}` itself: after the timeout \
         the abandoned handler still has that map, while the response is written from it, and a \
         concurrent map read and map write ends the process"
    );
    let mut finding = cx.finding(span, "the live header map", message);
    let mut label = |location: Location, role: Role, message: String| {
        finding.labels.push(Label { location, role, message });
    };
    label(story.go, Role::Started, "the handler runs in a goroutine of its own".to_owned());
    let told = format!("`{}` is set here, and the goroutine goes on with the map", story.field);
    label(story.closed, Role::Left, told);
    finding.why = format!(
        "a lock in `{name}` guards the call of `Header`, not the map that it has returned: the \
         handler writes to it later, without the lock"
    );
    finding.help = format!(
        "keep a map of its own in `{name}`, made by `Header().Clone()`; return that, and copy it to \
         `{inner}.Header()` under the lock when the header is written and the timeout has not come, as \
         `http.TimeoutHandler` does{}",
        deadlines(cx)
    );
    finding
}
