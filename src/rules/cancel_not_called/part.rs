//! A cancel function that becomes a part of something that its function alone has, and is lost with
//! it: a constructor that fails halfway.

use super::{Made, why, with_cancel};
use crate::catalog::{Base, Context, ContextRole, End, Place as CatalogPlace, Resource};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{EdgeKind, Step};
use crate::index::Def;
use crate::rules::FunctionCx;
use crate::rules::held::{self, Held, Lost, Way};
use crate::rules::recurrence::{self, Runs};
use crate::source::Span;
use crate::summary::{
    Act, At, BodyId, ContextOrigin, Effect, Function, Mode, Place, Read, Root, Source, facts,
};
use crate::syntax::{ExprId, Node};

/// The first return that leaves the whole behind.
pub(super) fn check(cx: &FunctionCx<'_>, read: &Read<'_>, made: &Made) -> Option<Finding> {
    let function = &read.function;
    let fact = with_cancel(cx, function, made.call)?;
    let (context, result) = (fact.result, fact.cancel?);
    let fact = Resource {
        what: "cancel function".into(),
        place: CatalogPlace { base: Base::Result(result), field: None },
        ends: vec![End::Call],
        starts: Vec::new(),
        context: None,
        stop: None,
        goroutine: false,
        without_options: false,
        tied_by: Vec::new(),
    };
    let name = Some(function.text(made.cancel));
    let held = Held { at: made.at, call: made.call, result, fact: &fact, name, dropped: false };
    let lost = held::let_go(cx, read, &held);
    let is_waited_for = |lost: &&Lost| is_waited_for(cx, read, made, context, lost.span);
    let lost = lost.iter().filter(|lost| lost.way == Way::Return).find(is_waited_for)?;
    let again = match recurrence::runs(&cx.package, cx.func) {
        Runs::Again(location, message) => Some((location, message)),
        Runs::Once => return None,
        Runs::Unknown => None,
    };
    let (context, cancel) = (function.text(made.context), function.text(made.cancel));
    let message = format!(
        "this return leaves `{context}` behind: `{cancel}` has not been called, and only what is given \
         up here has it"
    );
    let mut finding = cx.finding(lost.span, "left behind here", message);
    finding.labels.push(Label {
        location: cx.location(function.file.expr(made.call).span),
        role: Role::Made,
        message: format!("`{context}` and `{cancel}` are made here"),
    });
    finding.labels.extend(again.map(|(location, message)| Label {
        location,
        role: Role::Context,
        message: message.to_owned(),
    }));
    finding.why = why(cx, function, made);
    finding.help = format!("call `{cancel}` on this path too");
    finding.defect = cx.location(function.file.expr(made.call).span);
    Some(finding)
}

/// Whether somebody may wait for the end of the context when the function is `left`: a goroutine that was
/// started has it, or its `Done` channel was given to somebody, or a parent keeps it and it was given to
/// somebody, or is one that an object keeps and so stays.
fn is_waited_for(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    made: &Made,
    result: u32,
    left: Span,
) -> bool {
    let function = &read.function;
    let context = Place::root(Root::Call(made.call, result));
    let parent = function.args(made.call).first();
    let origin = parent.map(|&parent| cx.summaries().context(function, made.at, parent));
    let fresh = origin.as_ref().is_none_or(ContextOrigin::is_fresh);
    let is_kept_by = |parent: Place| parent.root == Root::Receiver && !parent.path.is_empty();
    let stays = !made.deadline && origin.and_then(|it| it.only()).is_some_and(is_kept_by);
    let mut effects = function.bodies().flat_map(|body| &read.effects(body).effects);
    let is_given = |effect: &Effect| {
        effect.act.escapes() && !matches!(effect.act, Act::Stored | Act::Returned(_))
    };
    // What fails has started nothing that stays.
    let failed = failed(function, made.at.body, left);
    let is_before = |at: At| {
        let step = function.step(at);
        let call = step.call(function.file);
        step.span(function.file).start < left.start && (call.is_none() || call != failed)
    };
    let parts = held::parts_of(read, made.at.body, &context);
    // What is told to end in another way may have ended.
    let may_end = || {
        let mut all = function.bodies().flat_map(|body| &read.effects(body).effects);
        let is_of_whole = |place: &Place| parts.iter().any(|part| part.root == place.root);
        all.any(|effect| effect.act == Act::Closed && is_of_whole(&effect.place))
    };
    let has_it = effects.any(|effect| {
        let is_part = || {
            let derives = |call| derives(cx, function, call);
            parts.iter().any(|part| effect.place.is_within(part))
                && !function.step(effect.at).call(function.file).is_some_and(derives)
        };
        let is_it = effect.place.is_within(&context);
        (is_it || is_part() && !(fresh && may_end()))
            && is_before(effect.at)
            && (effect.mode == Mode::Spawned || !fresh && is_given(effect))
    });
    has_it
        || stays
        || function.calls().any(|(at, call)| {
            let mut args = function.args(call).iter();
            is_before(at) && args.any(|&arg| is_done_of(function, at, arg, &context))
        })
}

/// The call whose error a return hands on: the last one that gives it before the condition that the
/// return stands under.
fn failed(function: &Function<'_>, body: BodyId, left: Span) -> Option<ExprId> {
    let file = function.file;
    let cfg = &function.body(body).cfg;
    let returned = cfg.steps().find(|&step| {
        matches!(cfg.step(step), Step::Return(_)) && cfg.step(step).span(file) == left
    })?;
    let (_, edge) = cfg.only_edge_to(cfg.block_of(returned))?;
    let (EdgeKind::True(condition) | EdgeKind::False(condition)) = edge.kind else { return None };
    let asked = file.descendants(Node::Expr(condition)).find_map(|node| match node {
        Node::Expr(expr) => match function.info.resolve(expr) {
            Def::Local(local) => Some(*local),
            _ => None,
        },
        Node::Stmt(_) | Node::Decl(_) => None,
    })?;
    let mut last: Option<(u32, ExprId)> = None;
    for definition in function.definitions_of(asked) {
        let (Source::Result(call, _) | Source::Expr(call)) = definition.source else { continue };
        let at = file.expr(call).span.start;
        if at < left.start && last.is_none_or(|(latest, _)| at > latest) {
            last = Some((at, file.unparen(call)));
        }
    }
    last.map(|(_, call)| call)
}

/// Whether a call does nothing with a context but to derive another from it.
fn derives(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    known.all_in_force::<Context>(cx.versions()).any(|fact| fact.role == ContextRole::Derive)
}

/// Whether an expression is the `Done` channel of a context.
fn is_done_of(function: &Function<'_>, at: At, expr: ExprId, context: &Place) -> bool {
    let Some((base, name)) = function.file.method_call(expr) else { return false };
    name.name.as_str() == "Done" && function.places(at, base).may_be(context)
}
