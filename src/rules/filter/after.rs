//! Where a filter reads the header map of its request after the inner handler has returned: in its
//! own body, or in what that calls or defers, also through something that holds the request.

use crate::catalog::Part;
use crate::flow::{Step, StepId};
use crate::index::{Callee, FuncId};
use crate::rules::FunctionCx;
use crate::rules::handoff::variable;
use crate::rules::sharing;
use crate::source::Location;
use crate::summary::{Act, At, BodyId, Effect, Function, Mode, Origin, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind, Symbol};

use super::{Parameters, place_of};

/// A read of the header map of a request after the inner handler has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderRead {
    /// Where, and by what code.
    pub told: Option<Told>,
}

/// How a read comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The step of the handler.
    pub step: Location,
    /// Whether that is deferred.
    pub deferred: bool,
    /// The last step on the way to the read that stands in the package of the filter.
    pub read: Location,
    /// The code there.
    pub code: String,
    /// Where the map is touched, if that is in another package.
    pub touched: Option<Location>,
}

impl HeaderRead {
    /// One of which only the catalog knows.
    pub fn of_library() -> HeaderRead {
        HeaderRead { told: None }
    }
}

/// How many calls are followed from the handler to the read.
const MAX_DEPTH: u32 = 4;

/// How many reads of one filter are told.
const MAX_READS: usize = 4;

/// The reads of a handler's body, in order of the source.
pub(super) fn reads(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    body: BodyId,
    parameters: &Parameters,
    next: &[(StepId, ExprId)],
) -> Vec<HeaderRead> {
    let function = &read.function;
    let own = parameters.request.and_then(|request| place_of(function, request));
    let (Some(request), Some(own)) = (parameters.request, own) else { return Vec::new() };
    // What it gives on has to be what it reads.
    let shared: Vec<StepId> = next
        .iter()
        .filter(|(_, call)| gives_on(cx, function, *call, request))
        .map(|&(step, _)| step)
        .collect();
    if shared.is_empty() {
        return Vec::new();
    }
    let mut told: Vec<Told> = Vec::new();
    for effect in &read.effects(body).effects {
        let at = effect.at;
        if !touches(effect) || !is_after(function, effect, &shared) {
            continue;
        }
        if !effect.place.is_within(&own) && !holds(cx, function, &effect.place, &own) {
            continue;
        }
        let span = function.step(at).span(function.file);
        let start = Told {
            step: cx.location(span),
            deferred: effect.mode == Mode::Deferred,
            read: cx.location(span),
            code: function.file.source.text(span).into_owned(),
            touched: None,
        };
        let mut trail = Trail { cx, of: cx.func, told: &mut told };
        trail.follow(read, at, &effect.place, start, MAX_DEPTH);
    }
    told.sort_by_key(|told| told.read);
    told.dedup_by_key(|told| told.read);
    told.truncate(MAX_READS);
    told.into_iter().map(|told| HeaderRead { told: Some(told) }).collect()
}

/// Whether a call of the inner handler gives it the header map of `request`.
fn gives_on(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    request: crate::index::LocalId,
) -> bool {
    let ExprKind::Call { args, .. } = &function.file.expr(call).kind else { return false };
    match args[..] {
        [_, given] => sharing::callers_request(cx, function, given)
            .is_some_and(|(parameter, _)| parameter == request),
        [given] => variable(function, given) == Some(request),
        _ => true,
    }
}

fn touches(effect: &Effect) -> bool {
    matches!(effect.act, Act::Touched(Part::RequestHeader, _))
        && matches!(effect.mode, Mode::Now | Mode::Deferred)
}

/// Whether a step of a handler's body is taken after one of the calls of the inner handler, or
/// defers something until then.
pub(super) fn follows(
    function: &Function<'_>,
    body: BodyId,
    step: StepId,
    next: &[(StepId, ExprId)],
) -> bool {
    let deferred = matches!(function.step(At { body, step }), Step::Defer(_));
    next.iter().any(|&(next, _)| comes_after(function, At { body, step }, deferred, next))
}

/// Whether an effect happens after one of the calls in `next`.
fn is_after(function: &Function<'_>, effect: &Effect, next: &[StepId]) -> bool {
    let deferred = effect.mode == Mode::Deferred;
    next.iter().any(|&next| comes_after(function, effect.at, deferred, next))
}

fn comes_after(function: &Function<'_>, at: At, deferred: bool, next: StepId) -> bool {
    let cfg = &function.body(at.body).cfg;
    let follows = next != at.step && cfg.reaches(next, at.step);
    match deferred {
        true => follows || cfg.reaches(at.step, next),
        // In a loop around the inner handler the order of the two is not known.
        false => follows && !cfg.reaches(at.step, next),
    }
}

/// Whether `place` is a field of something of the body that holds `request` there.
fn holds(cx: &FunctionCx<'_>, function: &Function<'_>, place: &Place, request: &Place) -> bool {
    let Some(&field) = place.path.first() else { return false };
    let mut root = place.root;
    for _ in 0..MAX_DEPTH {
        match root {
            Root::Made(made) => {
                return made_at(function, made)
                    .zip(element(function, made, field))
                    .is_some_and(|(at, value)| function.places(at, value).may_be(request));
            }
            Root::Call(call, 0) => {
                let Callee::Func(func) = function.info.callee(call) else { return false };
                let Some(at) = function.at_call(call) else { return false };
                let ExprKind::Call { callee, args, .. } = &function.file.expr(call).kind else {
                    return false;
                };
                if let Some(index) = stored_param(cx, *func, field, MAX_DEPTH) {
                    let arg = args.get(index as usize);
                    return arg.is_some_and(|&arg| function.places(at, arg).may_be(request));
                }
                // A method that gives back what it was called on, to be called on it again.
                let ExprKind::Selector { base, .. } = function.file.expr(*callee).kind else {
                    return false;
                };
                let of = function.object_places(at, base);
                match of.only() {
                    Some(of) if of.path.is_empty() && gives_itself(cx, *func) => root = of.root,
                    _ => return false,
                }
            }
            _ => return false,
        }
    }
    false
}

/// Whether a method returns its receiver, and nothing else.
fn gives_itself(cx: &FunctionCx<'_>, func: FuncId) -> bool {
    let receiver = Origin::Place(Place::root(Root::Receiver));
    let summary = cx.summaries().of(func);
    summary.is_some_and(|summary| matches!(&summary.results[..], [only] if *only == [receiver]))
}

/// The step that a composite literal is a part of.
fn made_at(function: &Function<'_>, made: ExprId) -> Option<At> {
    function.bodies().find_map(|body| {
        let cfg = &function.body(body).cfg;
        let step = cfg.steps().find(|&step| {
            let mut found = false;
            cfg.step(step).for_each_operand(function.file, &mut |expr| found |= expr == made);
            found
        })?;
        Some(At { body, step })
    })
}

/// What a field of a composite literal is set to.
fn element(function: &Function<'_>, made: ExprId, field: Symbol) -> Option<ExprId> {
    function.file.field_of(made, &|name| name == field.as_str())
}

/// The parameter of a constructor that it stores in a field of what it returns, itself or by
/// another constructor.
fn stored_param(cx: &FunctionCx<'_>, func: FuncId, field: Symbol, depth: u32) -> Option<u32> {
    let depth = depth.checked_sub(1)?;
    let read = cx.summaries().read(func)?;
    let function = &read.function;
    let stored = |effect: &Effect| {
        if effect.act != Act::Returned(0) || !effect.place.path.is_empty() {
            return None;
        }
        let (at, value) = match effect.place.root {
            Root::Made(made) => (made_at(function, made)?, element(function, made, field)?),
            Root::Call(call, 0) => {
                let Callee::Func(inner) = function.info.callee(call) else { return None };
                let index = stored_param(cx, *inner, field, depth)?;
                let ExprKind::Call { args, .. } = &function.file.expr(call).kind else {
                    return None;
                };
                (function.at_call(call)?, *args.get(index as usize)?)
            }
            _ => return None,
        };
        match function.places(at, value).only()? {
            Place { root: Root::Param(index), path } if path.is_empty() => Some(*index),
            _ => None,
        }
    };
    read.effects(BodyId::OWN).effects.iter().find_map(stored)
}

/// From a step of the handler to where the map is touched.
struct Trail<'t, 'a> {
    cx: &'t FunctionCx<'a>,
    /// The function of the filter.
    of: FuncId,
    told: &'t mut Vec<Told>,
}

impl Trail<'_, '_> {
    fn follow(&mut self, read: &Read<'_>, at: At, place: &Place, told: Told, depth: u32) {
        let function = &read.function;
        let below = depth.checked_sub(1).and_then(|depth| {
            let call = function.step(at).call(function.file)?;
            match function.info.callee(call) {
                Callee::Literal(literal) => {
                    let body = function.body_of_literal(*literal)?;
                    Some(self.in_literal(read, body, place, &told, depth))
                }
                Callee::Func(func) => self.in_callee(read, at, call, *func, place, &told, depth),
                _ => None,
            }
        });
        if below != Some(true) {
            self.told.push(told);
        }
    }

    /// Follows what a literal does that is called where it stands; says whether anything was found.
    fn in_literal(
        &mut self,
        read: &Read<'_>,
        body: BodyId,
        place: &Place,
        told: &Told,
        depth: u32,
    ) -> bool {
        let effects = &read.effects(body).effects;
        let inner: Vec<&Effect> =
            effects.iter().filter(|effect| touches(effect) && effect.place == *place).collect();
        for effect in &inner {
            let told = self.at(read, effect.at, told);
            self.follow(read, effect.at, place, told, depth);
        }
        !inner.is_empty()
    }

    #[allow(clippy::too_many_arguments, reason = "one place of the way, and what was told so far")]
    fn in_callee(
        &mut self,
        read: &Read<'_>,
        at: At,
        call: ExprId,
        func: FuncId,
        place: &Place,
        told: &Told,
        depth: u32,
    ) -> Option<bool> {
        let callee = self.cx.summaries().read(func)?;
        let effects = &callee.effects(BodyId::OWN).effects;
        let mut found = false;
        for effect in effects.iter().filter(|effect| touches(effect)) {
            if !is_given(&read.function, at, call, &effect.place, place) {
                continue;
            }
            found = true;
            let told = self.at(&callee, effect.at, told);
            self.follow(&callee, effect.at, &effect.place, told, depth);
        }
        Some(found)
    }

    /// What is told of the way, one step further.
    fn at(&self, read: &Read<'_>, at: At, told: &Told) -> Told {
        let function = &read.function;
        let span = function.step(at).span(function.file);
        let here = Location { file: function.file_id, span };
        let mut told = told.clone();
        if told.touched.is_none() && function.id.package == self.of.package {
            told.read = here;
            told.code = function.file.source.text(span).into_owned();
        } else {
            told.touched = Some(here);
        }
        told
    }
}

/// Whether what a callee calls `theirs` is `ours` in a call.
fn is_given(function: &Function<'_>, at: At, call: ExprId, theirs: &Place, ours: &Place) -> bool {
    let ExprKind::Call { callee, args, .. } = &function.file.expr(call).kind else { return false };
    let places = match theirs.root {
        Root::Receiver => match function.file.expr(function.file.unparen(*callee)).kind {
            ExprKind::Selector { base, .. } => function.object_places(at, base),
            _ => return false,
        },
        Root::Param(index) => match args.get(index as usize) {
            Some(&arg) => function.places(at, arg),
            None => return false,
        },
        _ => return false,
    };
    places.list.iter().any(|place| {
        place.root == ours.root
            && ours.path.starts_with(&place.path)
            && ours.path[place.path.len()..] == theirs.path[..]
    })
}
