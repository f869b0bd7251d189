//! Contexts whose end is seen to by another that they are derived from, and turns that leave them with such a one all
//! the same.

use super::{Made, derived};
use crate::catalog::{Callback, Called};
use crate::rules::{FunctionCx, recurrence};
use crate::source::Location;
use crate::summary::{Act, BodyId, Effect, Function, Mode, Place, Read, Root, facts};
use crate::syntax::{ExprId, Node};

/// Who sees to the end of a context.
pub(super) enum Cover {
    /// Nobody is known to.
    None,
    /// Whoever calls the cancel function of one that it is derived from.
    Whole,
    /// That one is in the hands of others, and until they call it each turn of this leaves one more.
    EachTurn {
        location: Location,
        message: String,
        /// Whether that is a loop of the body that derives it.
        is_own: bool,
    },
}

/// Who sees to the end of a context: one that it is derived from in this function, and whose own cancel function is
/// called or in other hands.
pub(super) fn by(cx: &FunctionCx<'_>, read: &Read<'_>, made: &Made) -> Cover {
    let function = &read.function;
    let Some(parent) = made.parent else { return Cover::Whole };
    if made.parent_context(function).is_none() {
        return match is_given(function, made, parent) {
            true => Cover::None,
            false => Cover::Whole,
        };
    }
    let origin = cx.summaries().context(function, made.at, parent);
    let mut cover = Cover::None;
    for &outer in &origin.derivations {
        let Some(cancel) = derived(cx, function, outer).map(|derived| derived.cancel) else {
            continue;
        };
        let cancel = Place::root(Root::Call(outer, cancel));
        let effects = || {
            let all = function.bodies().flat_map(|body| &read.effects(body).effects);
            all.filter(|effect| effect.place == cancel)
        };
        if !effects().any(|effect| effect.act == Act::Called || effect.act.escapes()) {
            continue;
        }
        let mut around = function.enclosing(made.at.body);
        let ends_soon = around.any(|body| {
            let called = |effect: &Effect| effect.act == Act::Called && effect.mode < Mode::Spawned;
            read.effects(body).effects.iter().any(|it| it.place == cancel && called(it))
        });
        let again = match ends_soon {
            true => None,
            false => turn(cx, function, made, outer),
        };
        match again {
            Some(turn) => cover = turn,
            None => return Cover::Whole,
        }
    }
    cover
}

/// Whether what has the parent of a context was given to the function, and is not of its own making.
fn is_given(function: &Function<'_>, made: &Made, parent: ExprId) -> bool {
    let places = function.places(made.at, parent);
    let is_given = |place: &Place| matches!(place.root, Root::Receiver | Root::Param(_));
    !places.unknown && !places.list.is_empty() && places.list.iter().all(is_given)
}

/// What comes to a context again and again while the one that it is derived from, by the call `outer` before that,
/// stays the same: a loop, or what tries a literal until it succeeds.
fn turn(cx: &FunctionCx<'_>, function: &Function<'_>, made: &Made, outer: ExprId) -> Option<Cover> {
    let outside = function.at_call(outer)?.body;
    function.enclosing(made.at.body).find(|&body| body == outside)?;
    let after = function.file.expr(outer).span.end;
    let node = Node::Expr(made.call);
    if let Some((location, message)) = recurrence::repeated_by(&cx.package, cx.func, node)
        && location.span.start > after
    {
        let literal = function.body(made.at.body).literal;
        let is_own =
            literal.is_none_or(|literal| function.file.expr(literal).span.contains(location.span));
        return Some(Cover::EachTurn { location, message: message.to_owned(), is_own });
    }
    let mut within = function.enclosing(made.at.body).take_while(|&body| body != outside);
    let (location, message) = within.find_map(|body| tried(cx, function, body))?;
    Some(Cover::EachTurn { location, message, is_own: false })
}

/// The call that runs a literal any number of times before it returns.
fn tried(cx: &FunctionCx<'_>, function: &Function<'_>, body: BodyId) -> Option<(Location, String)> {
    let (literal, made) = (function.body(body).literal?, function.body(body).made?);
    let is_it = |&arg: &ExprId| {
        let arg = function.file.unparen(arg);
        let holds = |local| {
            let value = function.only_definition_of(local).and_then(|it| function.taken_from(it));
            value.is_some_and(|value| function.file.unparen(value) == literal)
        };
        arg == literal || function.variable(arg).is_some_and(holds)
    };
    function.calls().find_map(|(at, call)| {
        let known = facts(cx.catalog(), function.index, function.info.callee(call));
        let mut called = known.all_in_force::<Callback>(cx.versions());
        let tries = at.body == made.body
            && called.any(|fact| fact.called == Called::Before)
            && function.args(call).iter().any(is_it);
        tries.then(|| {
            let message =
                format!("`{}` calls this any number of times", function.callee_text(call));
            (cx.location(function.file.expr(call).span), message)
        })
    })
}
