//! Functions of the run that derive a context for their callers and give them its cancel function: beside the context,
//! or beside what has it.

use super::{Derived, derived};
use crate::catalog::Base;
use crate::index::{Callee, Type};
use crate::rules::FunctionCx;
use crate::source::{Location, Span};
use crate::summary::{Act, BodyId, Effect, Function, Mode, Origin, Place, Read, Root, operand};
use crate::syntax::ExprId;

/// What such a function does.
pub(super) struct Given {
    /// Where it derives the context.
    pub derived: Location,
    /// Whether it does not give the context itself, but what has it.
    pub inside: bool,
}

/// What a call of such a function gives.
pub(super) fn by_call(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<Derived> {
    let Callee::Func(func) = *function.info.callee(call) else { return None };
    let Type::Func(signature) = cx.index().func_type(func) else { return None };
    // One that may fail gives nothing then.
    let [first, second] = &signature.results[..] else { return None };
    let is_function = |ty: &Type| match cx.index().underlying(ty) {
        Type::Func(ends) => ends.params.len() <= 1 && ends.results.is_empty(),
        _ => false,
    };
    if is_function(first) || !is_function(second) || first.is_error() {
        return None;
    }
    let read = cx.summaries().read(func)?;
    let (inner, parent) = derivation(cx, &read)?;
    let base = match parent.root {
        Root::Receiver => Base::Receiver,
        Root::Param(index) => Base::Param(index),
        _ => return None,
    };
    let location = Location { file: read.function.file_id, span: inner.span };
    Some(Derived {
        context: 0,
        cancel: 1,
        deadline: inner.deadline,
        parent: Some(operand(function, call, base)?),
        given: Some(Given { derived: location, inside: !first.is_context() }),
    })
}

struct Inner {
    span: Span,
    deadline: bool,
}

/// The one call of a function that derives a context, and what of its caller's that is derived from: it gives the
/// cancel function to its caller on all ways, and to nobody else, and the context or what it makes with it, and it
/// starts nothing.
fn derivation(cx: &FunctionCx<'_>, read: &Read<'_>) -> Option<(Inner, Place)> {
    let function = &read.function;
    let ([Origin::Call(..)], [Origin::Call(..) | Origin::Made]) =
        (&read.summary.results.get(1)?[..], &read.summary.results.first()?[..])
    else {
        return None;
    };
    let mut all = function.calls().filter_map(|(at, call)| {
        let made = derived(cx, function, call)?;
        Some((at, call, made))
    });
    let (at, call, made) = all.next().filter(|_| all.next().is_none())?;
    let effects = || function.bodies().flat_map(|body| &read.effects(body).effects);
    let of = |result: u32| {
        let place = Place::root(Root::Call(call, result));
        effects().filter(move |effect| effect.place.is_within(&place))
    };
    let is_returned = |effect: &Effect| effect.act == Act::Returned(1);
    let mut cancel = of(made.cancel).peekable();
    let is_given = cancel.peek().is_some() && cancel.all(is_returned);
    let kept = |effect: &Effect| matches!(effect.act, Act::Returned(0) | Act::Stored);
    let starts = effects().any(|effect| effect.mode >= Mode::Joined)
        || function.bodies().any(|body| !read.effects(body).spawns.is_empty());
    if at.body != BodyId::OWN || !is_given || !of(made.context).any(kept) || starts {
        return None;
    }
    let origin = cx.summaries().context(function, at, made.parent?);
    let parent = origin.only().filter(|_| !origin.detached)?;
    let deadline = made.deadline || origin.deadline;
    Some((Inner { span: function.file.expr(call).span, deadline }, parent))
}
