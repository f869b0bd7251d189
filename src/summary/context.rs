//! Where a context comes from: what it is derived from, and whether a deadline was put on the way.

use crate::catalog::{Base, Context, ContextRole};
use crate::index::Callee;
use crate::summary::effects::Surroundings;
use crate::summary::function::{At, Function};
use crate::summary::place::{Place, Places, Root};
use crate::summary::waits::Cancel;
use crate::summary::{Summary, calls};
use crate::syntax::{ExprId, ExprKind, Symbol};

/// Where a context comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextOrigin {
    /// What it may be derived from, in order of discovery.
    pub roots: Vec<ContextRoot>,
    /// Whether a deadline is put on it on every way from its roots.
    pub deadline: bool,
    /// Whether on some way it is cut off from its root's cancellation (`WithoutCancel`).
    pub detached: bool,
    /// The calls that derive it (`WithCancel`, `WithTimeout`, `WithValue` ...), nearest first.
    pub derivations: Vec<ExprId>,
}

/// What a context is derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextRoot {
    /// The result of this call, which never ends by itself: `Background` or `TODO`.
    Fresh(ExprId),
    /// A context that somebody else made: a parameter, a field; for `r.Context()` the part
    /// `Context()` of `r`.
    Place(Place),
    /// `nil`.
    Nil,
    /// Nothing is known.
    Unknown,
}

impl ContextOrigin {
    /// The contexts of others that it is derived from.
    pub fn places(&self) -> Vec<Place> {
        let place = |root: &ContextRoot| match root {
            ContextRoot::Place(place) => Some(place.clone()),
            _ => None,
        };
        self.roots.iter().filter_map(place).collect()
    }

    /// The only context of others that it is derived from, if it is derived from nothing else.
    pub fn only(&self) -> Option<Place> {
        match &self.roots[..] {
            [ContextRoot::Place(place)] => Some(place.clone()),
            _ => None,
        }
    }

    /// Whether every root is `Background`, `TODO` or `nil`, so that nobody outside can end it.
    pub fn is_fresh(&self) -> bool {
        let fresh = |root: &ContextRoot| matches!(root, ContextRoot::Fresh(_) | ContextRoot::Nil);
        !self.roots.is_empty() && self.roots.iter().all(fresh)
    }

    /// Who can end a wait that looks at this context. A cancel function that is made on the way may
    /// be called by anybody who has it.
    pub fn cancel(&self) -> Cancel {
        let places = self.places();
        if !places.is_empty() && !self.detached {
            return Cancel::By(places);
        }
        match self.is_fresh() && self.derivations.is_empty() {
            true => Cancel::Nobody,
            false => Cancel::Unknown,
        }
    }
}

/// How many derivations are followed.
const MAX_DERIVATIONS: usize = 16;

/// Where the context that `expr` is at a step comes from.
pub(super) fn origin(
    function: &Function<'_>,
    around: &Surroundings<'_>,
    at: At,
    expr: ExprId,
) -> ContextOrigin {
    origin_of(function, around, function.places(at, expr))
}

/// Where a context comes from that can be any of these.
pub(super) fn origin_of(
    function: &Function<'_>,
    around: &Surroundings<'_>,
    places: Places,
) -> ContextOrigin {
    let mut origin = ContextOrigin { deadline: true, ..ContextOrigin::default() };
    // Each entry: what the context can be, and whether a deadline was put below it.
    let mut open = vec![(places, false)];
    while let Some((places, deadline)) = open.pop() {
        if places.unknown {
            origin.add(ContextRoot::Unknown, deadline);
        }
        if places.list.is_empty() && !places.unknown {
            origin.add(ContextRoot::Nil, deadline);
        }
        for place in places.list {
            match derived(function, around, &place) {
                None => origin.add(ContextRoot::Place(place), deadline),
                Some((_, Step::Unknown)) => origin.add(ContextRoot::Unknown, deadline),
                Some((call, Step::Fresh { bounded })) => {
                    origin.add(ContextRoot::Fresh(call), deadline || bounded);
                }
                Some((_, Step::Place { place, bounded })) => {
                    origin.add(ContextRoot::Place(place), deadline || bounded);
                }
                Some((call, Step::From { parent, bounded, detached })) => {
                    origin.detached |= detached;
                    if origin.derivations.contains(&call) {
                        continue;
                    }
                    origin.derivations.push(call);
                    match function.at_call(call) {
                        Some(at) if origin.derivations.len() <= MAX_DERIVATIONS => {
                            let parent = function.places(at, parent);
                            let bounded = bounded || is_ended_after(function, call);
                            open.push((parent, (deadline && !detached) || bounded));
                        }
                        _ => origin.add(ContextRoot::Unknown, deadline),
                    }
                }
            }
        }
    }
    origin
}

impl ContextOrigin {
    fn add(&mut self, root: ContextRoot, deadline: bool) {
        self.deadline &= deadline;
        if !self.roots.contains(&root) {
            self.roots.push(root);
        }
    }
}

/// Whether a timer calls the cancel function that a call gives beside a context: `time.AfterFunc(d, cancel)`.
fn is_ended_after(function: &Function<'_>, derived: ExprId) -> bool {
    let cancel = Place::root(Root::Call(derived, 1));
    function.calls().any(|(at, call)| {
        let callee = function.info.callee(call).qualified(function.index);
        callee.is_some_and(|name| name.path.as_str() == "time" && name.name.as_str() == "AfterFunc")
            && function
                .args(call)
                .get(1)
                .is_some_and(|&called| function.places(at, called).only() == Some(&cancel))
    })
}

/// What a call makes of a context.
enum Step {
    /// A new one, perhaps with a deadline.
    Fresh { bounded: bool },
    /// One that a value holds, or one made of it.
    Place { place: Place, bounded: bool },
    /// One that is derived from an argument.
    From { parent: ExprId, bounded: bool, detached: bool },
    /// Nothing is known.
    Unknown,
}

/// The call that gives `place`, and what it does; `None` if it is not the result of a call.
fn derived(
    function: &Function<'_>,
    around: &Surroundings<'_>,
    place: &Place,
) -> Option<(ExprId, Step)> {
    let Root::Call(call, result) = place.root else { return None };
    if !place.path.is_empty() {
        return None;
    }
    let step = match function.info.callee(call) {
        Callee::Func(func) if (around.known)(*func).is_some() => {
            let summary = (around.known)(*func)?;
            from_summary(function, &summary, call, result)
        }
        _ => from_catalog(function, around, call, result),
    };
    Some((call, step.unwrap_or(Step::Unknown)))
}

fn from_catalog(
    function: &Function<'_>,
    around: &Surroundings<'_>,
    call: ExprId,
    result: u32,
) -> Option<Step> {
    let facts = calls::facts(around.catalog, function.index, function.info.callee(call));
    let fact = facts.all_in_force::<Context>(around.versions).find(|fact| fact.result == result)?;
    let parent = fact.parent.as_ref().map_or(Base::Receiver, |place| place.base);
    let parent = operand(function, call, parent);
    match fact.role {
        ContextRole::Root => Some(Step::Fresh { bounded: fact.deadline }),
        ContextRole::Accessor => {
            let mut place =
                function.object_places(function.at_call(call)?, parent?).only()?.clone();
            place.path.extend(&[Symbol::new("Context()")]);
            (!place.path.is_too_long()).then_some(Step::Place { place, bounded: false })
        }
        ContextRole::Derive | ContextRole::Detach => Some(Step::From {
            parent: parent?,
            bounded: fact.deadline,
            detached: fact.role == ContextRole::Detach,
        }),
    }
}

/// What a function of the run returns as a context.
fn from_summary(
    function: &Function<'_>,
    summary: &Summary,
    call: ExprId,
    result: u32,
) -> Option<Step> {
    let fact = summary.contexts.iter().find(|fact| fact.result == result)?;
    let bounded = fact.deadline;
    let Some(source) = &fact.parent else { return Some(Step::Fresh { bounded }) };
    let base = match source.root {
        Root::Receiver => Base::Receiver,
        Root::Param(index) => Base::Param(index),
        _ => return Some(Step::Place { place: source.clone(), bounded }),
    };
    let parent = operand(function, call, base)?;
    if source.path.is_empty() && base != Base::Receiver {
        return Some(Step::From { parent, bounded, detached: false });
    }
    let mut place = function.object_places(function.at_call(call)?, parent).only()?.clone();
    place.path.extend(&source.path);
    (!place.path.is_too_long()).then_some(Step::Place { place, bounded })
}

/// The expression for the receiver or a parameter of a call.
pub fn operand(function: &Function<'_>, call: ExprId, base: Base) -> Option<ExprId> {
    let file = function.file;
    let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return None };
    match (base, &file.expr(file.unparen(callee)).kind) {
        (Base::Receiver, ExprKind::Selector { base, .. }) => Some(*base),
        (Base::Param(index), _) => args.get(index as usize).copied(),
        _ => None,
    }
}
