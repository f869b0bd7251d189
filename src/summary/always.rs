//! Which effects of a body come about on every path that leaves it.

use rustc_hash::FxHashMap;

use crate::flow::{Edge, EdgeKind, Exit, Forward, StepId};
use crate::index::Def;
use crate::summary::effect::{Act, Deed, Effect, Guard, Mode};
use crate::summary::function::{At, BodyId, Function};
use crate::summary::place::{Place, Root};
use crate::syntax::{BinaryOp, ExprId, ExprKind};

/// How many different deeds are followed along the paths of one body.
const MAX_FOLLOWED: usize = 512;

/// The effects of a body on things that are known outside of it, each once, sorted.
pub(super) fn deeds(function: &Function<'_>, body: BodyId, effects: &[Effect]) -> Vec<Deed> {
    let known = effects.iter().filter(|effect| is_known_outside(function, body, &effect.place));
    let mut by_deed: FxHashMap<(&Place, Act, Mode), bool> = FxHashMap::default();
    for effect in known {
        *by_deed.entry((&effect.place, effect.act, effect.mode)).or_default() |= effect.sure;
    }
    let deed = |((place, act, mode), always): ((&Place, Act, Mode), bool)| Deed {
        place: place.clone(),
        act,
        mode,
        always,
    };
    let mut deeds: Vec<Deed> = by_deed.into_iter().map(deed).collect();
    deeds.sort_unstable_by(|a, b| (&a.place, a.act, a.mode).cmp(&(&b.place, b.act, b.mode)));
    follow(function, body, effects, &mut deeds);
    deeds
}

/// Whether whoever runs the body has the thing too.
fn is_known_outside(function: &Function<'_>, body: BodyId, place: &Place) -> bool {
    let own_literal = function.body(body).literal;
    let inside = |expr: ExprId| {
        own_literal.is_none_or(|literal| {
            let file = function.file;
            file.expr(literal).span.contains(file.expr(expr).span)
        })
    };
    match place.root {
        Root::Receiver | Root::Param(_) | Root::Global(_) => true,
        Root::LiteralParam(literal, _) => {
            own_literal.is_some_and(|own| own == literal || !inside(literal))
        }
        Root::Call(expr, _) | Root::Made(expr) | Root::Read(expr) => !inside(expr),
        Root::Local(local) => function.owner(local).is_some_and(|owner| owner < body),
        Root::Element(stmt) => own_literal.is_some_and(|literal| {
            let file = function.file;
            !file.expr(literal).span.contains(file.stmt(stmt).span)
        }),
    }
}

/// Clears `always` of the deeds that some path leaves out.
fn follow(function: &Function<'_>, body: BodyId, effects: &[Effect], deeds: &mut [Deed]) {
    let mut candidates: Vec<usize> = (0..deeds.len()).filter(|&deed| deeds[deed].always).collect();
    if candidates.len() > MAX_FOLLOWED {
        // The order of variables of package level depends on numbers of packages.
        candidates.retain(|&deed| !matches!(deeds[deed].place.root, Root::Global(_)));
        candidates.truncate(MAX_FOLLOWED);
    }
    if candidates.is_empty() {
        return;
    }
    let key = |deed: &Deed| (deed.place.clone(), in_any_select(deed.act), deed.mode);
    let mut followed: Vec<(Place, Act, Mode)> =
        candidates.iter().map(|&deed| key(&deeds[deed])).collect();
    followed.sort_unstable();
    followed.dedup();
    deeds.iter_mut().for_each(|deed| deed.always = false);
    let numbers =
        followed.iter().zip(0..).map(|((place, act, mode), number)| ((place, *act, *mode), number));
    let numbers: FxHashMap<(&Place, Act, Mode), usize> = numbers.collect();
    let done = effects.iter().filter(|effect| effect.sure).filter_map(|effect| {
        let number = numbers.get(&(&effect.place, in_any_select(effect.act), effect.mode))?;
        Some((effect.at.step, *number))
    });
    let done: Vec<(StepId, usize)> = done.collect();
    let analysis = Always { function, body, done, followed: &followed };
    let cfg = &function.body(body).cfg;
    let Some(solution) = cfg.solve(&analysis) else { return };
    let mut at_exits: Option<Vec<bool>> = None;
    for (block, exit) in cfg.exits() {
        if matches!(exit, Exit::Panic(_) | Exit::Never(_)) {
            continue;
        }
        let Some(done) = solution.at_end(cfg, &analysis, block) else { continue };
        match &mut at_exits {
            None => at_exits = Some(done),
            Some(all) => all.iter_mut().zip(done).for_each(|(all, done)| *all &= done),
        }
    }
    let Some(at_exits) = at_exits else { return };
    for deed in candidates {
        let Deed { place, act, mode, .. } = &deeds[deed];
        let number = numbers.get(&(place, in_any_select(*act), *mode));
        deeds[deed].always = number.is_some_and(|&number| at_exits[number]);
    }
}

/// A receive in a `select` counts as one, whether it has a default clause or other arms: a loop that asks in two of
/// them whether it has to end asks on each way out.
fn in_any_select(act: Act) -> Act {
    match act {
        Act::Received(Guard::Default) => Act::Received(Guard::Arms),
        other => other,
    }
}

struct Always<'f, 'a> {
    function: &'f Function<'a>,
    body: BodyId,
    /// Which of `followed` a step does, in order of steps.
    done: Vec<(StepId, usize)>,
    followed: &'f [(Place, Act, Mode)],
}

impl Forward for Always<'_, '_> {
    /// Which of `followed` has been done on every path.
    type State = Vec<bool>;

    fn entry(&self) -> Vec<bool> {
        vec![false; self.followed.len()]
    }

    fn join(&self, into: &mut Vec<bool>, from: &Vec<bool>) -> bool {
        let mut changed = false;
        for (into, &from) in into.iter_mut().zip(from) {
            changed |= *into && !from;
            *into &= from;
        }
        changed
    }

    fn step(&self, state: &mut Vec<bool>, step: StepId) {
        let first = self.done.partition_point(|&(at, _)| at < step);
        let here = self.done[first..].iter().take_while(|&&(at, _)| at == step);
        here.for_each(|&(_, followed)| state[followed] = true);
    }

    /// To what is nil nothing needs to be done.
    fn edge(&self, state: &Vec<bool>, edge: &Edge) -> Option<Vec<bool>> {
        let mut state = state.clone();
        let nil = match edge.kind {
            EdgeKind::True(cond) => nil_test(self.function, cond, BinaryOp::Eq),
            EdgeKind::False(cond) => nil_test(self.function, cond, BinaryOp::Ne),
            _ => None,
        };
        if let Some((cond, tested)) = nil
            && let Some(step) = self.function.body(self.body).cfg.step_of_expr(cond)
            && let Some(nil) = self.function.places(At { body: self.body, step }, tested).only()
        {
            for (done, (place, ..)) in state.iter_mut().zip(self.followed) {
                *done |= place.is_within(nil);
            }
        }
        Some(state)
    }
}

/// The condition and `x`, if the condition is `x op nil`.
fn nil_test(function: &Function<'_>, cond: ExprId, wanted: BinaryOp) -> Option<(ExprId, ExprId)> {
    let ExprKind::Binary { op, left, right, .. } = function.file.expr(cond).kind else {
        return None;
    };
    let is_nil = |expr| matches!(function.info.resolve(function.file.unparen(expr)), Def::Nil);
    match (is_nil(left), is_nil(right)) {
        _ if op != wanted => None,
        (false, true) => Some((cond, left)),
        (true, false) => Some((cond, right)),
        _ => None,
    }
}
