//! What a function gives back.

use crate::catalog::Base;
use crate::index::{Callee, QualifiedName, Type};
use crate::summary::context::{self, ContextRoot, operand};
use crate::summary::effects::Surroundings;
use crate::summary::function::Function;
use crate::summary::place::{Place, Places, Root};
use crate::syntax::{ExprId, ExprKind};

/// A result that is a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFact {
    /// Which result.
    pub result: u32,
    /// The context of the receiver, a parameter or a variable of package level that it is derived
    /// from; `None` if from `Background` or `TODO`.
    pub parent: Option<Place>,
    /// Whether it is always given a deadline.
    pub deadline: bool,
}

/// What a result can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The receiver, a parameter or a variable of package level, or a part of it.
    Place(Place),
    /// A result of a call of this function, which is not of the run or makes it itself.
    Call(QualifiedName, u32),
    /// Something that the function makes by a composite literal, `make` or `new`.
    Made,
    /// A function literal.
    Literal,
    /// A function literal that does nothing.
    EmptyLiteral,
    /// `nil`, or a number, a string or the like, which has no identity.
    Plain,
    /// Something else.
    Unknown,
}

/// How many different origins of one result are listed before it counts as unknown.
const MAX_ORIGINS: usize = 8;

/// What each result can be, in order of discovery.
pub(super) fn origins(function: &Function<'_>, around: &Surroundings<'_>) -> Vec<Vec<Origin>> {
    let mut results: Vec<Vec<Origin>> = Vec::new();
    for (result, _, places) in returned(function) {
        add(function, around, &mut results, result as usize, &places);
    }
    results
}

/// The results that are contexts, where all returns that give one agree on where it comes from.
pub(super) fn contexts(function: &Function<'_>, around: &Surroundings<'_>) -> Vec<ContextFact> {
    let mut facts: Vec<ContextFact> = Vec::new();
    let mut unclear: Vec<u32> = Vec::new();
    for (result, _, places) in returned(function).into_iter().filter(|(_, ty, _)| ty.is_context()) {
        let origin = context::origin_of(function, around, places);
        let roots: Vec<&ContextRoot> =
            origin.roots.iter().filter(|root| **root != ContextRoot::Nil).collect();
        let parent = match roots[..] {
            [] => continue,
            [ContextRoot::Fresh(_)] => None,
            [ContextRoot::Place(place)] if is_callers(place) && !origin.detached => {
                Some(place.clone())
            }
            _ => {
                unclear.push(result);
                continue;
            }
        };
        match facts.iter_mut().find(|fact| fact.result == result) {
            Some(fact) if fact.parent == parent => fact.deadline &= origin.deadline,
            Some(_) => unclear.push(result),
            None => facts.push(ContextFact { result, parent, deadline: origin.deadline }),
        }
    }
    facts.retain(|fact| !unclear.contains(&fact.result));
    facts
}

/// What the `return` statements with values give: the result, its type there, and what it can be.
fn returned(function: &Function<'_>) -> Vec<(u32, Type, Places)> {
    let mut returned = Vec::new();
    for (at, values) in function.returns() {
        if let [call] = values[..]
            && let Type::Tuple(types) = function.info.type_of(call)
        {
            let call = function.file.unparen(call);
            for (result, ty) in (0..).zip(types.iter()) {
                let place = Place::root(Root::Call(call, result));
                returned.push((result, ty.clone(), Places::from(place)));
            }
            continue;
        }
        for (result, &value) in (0..).zip(values) {
            let ty = function.info.type_of(value).clone();
            returned.push((result, ty, function.places(at, value)));
        }
    }
    returned
}

fn add(
    function: &Function<'_>,
    around: &Surroundings<'_>,
    results: &mut Vec<Vec<Origin>>,
    result: usize,
    places: &Places,
) {
    if results.len() <= result {
        results.resize_with(result + 1, Vec::new);
    }
    let mut found = Vec::new();
    if places.unknown {
        found.push(Origin::Unknown);
    } else if places.list.is_empty() {
        found.push(Origin::Plain);
    }
    places.list.iter().for_each(|place| origin(function, around, place, &mut found));
    let known = &mut results[result];
    for origin in found {
        if known.len() < MAX_ORIGINS && !known.contains(&origin) {
            known.push(origin);
        } else if known.len() == MAX_ORIGINS && !known.contains(&Origin::Unknown) {
            known[MAX_ORIGINS - 1] = Origin::Unknown;
        }
    }
}

fn origin(
    function: &Function<'_>,
    around: &Surroundings<'_>,
    place: &Place,
    found: &mut Vec<Origin>,
) {
    let own = place.path.is_empty();
    found.push(match place.root {
        _ if is_callers(place) => Origin::Place(place.clone()),
        Root::Made(expr) if own => match &function.file.expr(expr).kind {
            ExprKind::FuncLit(literal) if function.file.block(literal.body).is_empty() => {
                Origin::EmptyLiteral
            }
            ExprKind::FuncLit(_) => Origin::Literal,
            _ => Origin::Made,
        },
        Root::Call(call, result) if own => {
            let callee = function.info.callee(call);
            if let Callee::Func(func) = callee
                && let Some(summary) = (around.known)(*func)
            {
                let of_callee = summary.results.get(result as usize);
                for origin in of_callee.map_or(&[Origin::Unknown][..], Vec::as_slice) {
                    match origin {
                        Origin::Place(place) => found.push(renamed(function, call, place)),
                        Origin::Made | Origin::Literal => {
                            let name = function.index.func(*func).qualified;
                            found.push(Origin::Call(name, result));
                        }
                        other => found.push(other.clone()),
                    }
                }
                return;
            }
            match callee.qualified(function.index) {
                Some(name) => Origin::Call(name, result),
                None => Origin::Unknown,
            }
        }
        _ => Origin::Unknown,
    });
}

/// What a callee returns of its own parameters, by the names of this function.
fn renamed(function: &Function<'_>, call: ExprId, place: &Place) -> Origin {
    let base = match place.root {
        Root::Receiver => Base::Receiver,
        Root::Param(index) => Base::Param(index),
        _ => return Origin::Place(place.clone()),
    };
    let known = operand(function, call, base)
        .zip(function.at_call(call))
        .and_then(|(operand, at)| function.object_places(at, operand).only().cloned());
    match known {
        Some(mut known) if is_callers(&known) => {
            known.path.extend(&place.path);
            if known.path.is_too_long() { Origin::Unknown } else { Origin::Place(known) }
        }
        _ => Origin::Unknown,
    }
}

fn is_callers(place: &Place) -> bool {
    matches!(place.root, Root::Receiver | Root::Param(_) | Root::Global(_))
}
