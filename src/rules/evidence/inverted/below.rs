//! The locks that a function takes for those who call it: those of its receiver and of its arguments, itself, in
//! what it calls, and in literals that what it calls runs in turn. Where a parameter says whether, nothing is known.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Cx, Lock, holder, named, owner_of};
use crate::index::{FuncId, LocalId, LocalKind, Type};
use crate::rules::PackageCx;
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{Object, Taken, fields, held_at};
use crate::rules::evidence::own_end::is_unconditional;
use crate::rules::scene::Scene;
use crate::summary::Read;
use crate::syntax::{ExprId, ExprKind, Node};

/// How many calls lie at most between a function and a lock that it takes.
const MAX_CALLS: u32 = 2;

/// How many locks of one function are looked at.
const MAX_LOCKS: usize = 16;

/// A lock that a function takes and its callers can name.
#[derive(Clone)]
pub(super) struct Below {
    pub taken: Taken,
    object: Object,
    from: From,
    /// The selectors from there to what the lock is a field of or embedded in: `.x.y`.
    path: String,
    /// Those to the lock.
    suffix: String,
    /// The calls on the way, by the function that they stand in; the last is that of `Lock`.
    pub through: Vec<(FuncId, ExprId)>,
}

/// What a function was given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Receiver,
    Param(u32),
}

impl From {
    /// What a variable was given as.
    fn of(scene: &Scene<'_>, local: LocalId) -> Option<From> {
        match scene.info.local(local).kind {
            LocalKind::Receiver => Some(From::Receiver),
            LocalKind::Param(place) => Some(From::Param(place)),
            _ => None,
        }
    }

    /// What a call gives for it.
    fn given(self, scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
        match self {
            From::Receiver => scene.method_call(call).map(|(base, _)| base),
            From::Param(place) => scene.args(call).get(place as usize).copied(),
        }
    }
}

/// The locks of the functions of a package, as far as somebody asked, by how many calls they may take.
pub(super) type Known = RefCell<FxHashMap<(FuncId, u32), Arc<[Below]>>>;

/// The locks that a call takes, as the caller reaches them.
pub(super) fn of_call(
    cx: &Cx<'_, '_>,
    scene: &Scene<'_>,
    read: &Read<'_>,
    callee: FuncId,
    call: ExprId,
) -> Vec<(Lock, Below)> {
    let all = of(cx, callee, MAX_CALLS);
    all.iter()
        .filter_map(|below| {
            let given = below.from.given(scene, call)?;
            Some((as_lock(scene, read, below, given)?, below.clone()))
        })
        .collect()
}

/// A lock as a caller reaches it that gives this for what the function has it from.
fn as_lock(scene: &Scene<'_>, read: &Read<'_>, below: &Below, given: ExprId) -> Option<Lock> {
    let owner = owner_of(scene, read, given)?;
    let path = owner.path.clone() + &below.path;
    Some(Lock {
        taken: below.taken,
        object: below.object,
        owner: super::Owner { path, ..owner },
        base: given,
        name: scene.text(given) + &below.suffix,
    })
}

/// The locks that a function holds when it calls one of its parameters in turn, as a caller reaches them that
/// gives a literal for it.
pub(super) fn around_literal(
    cx: &Cx<'_, '_>,
    scene: &Scene<'_>,
    read: &Read<'_>,
    callee: FuncId,
    (call, literal): (ExprId, ExprId),
) -> Vec<Lock> {
    let Some(called) = cx.scene_of(callee) else { return Vec::new() };
    let Some(place) = place_of(scene, call, literal) else { return Vec::new() };
    let Some(cfg) = called.graph(None) else { return Vec::new() };
    let mut held = Vec::new();
    for at in runs_of(called, place).filter_map(|run| cfg.step_of_expr(run)) {
        for taken in held_at(called, cx.locks, None, &cfg, at) {
            let own = own(called, taken).and_then(|below| {
                let given = below.from.given(scene, call)?;
                as_lock(scene, read, &below, given)
            });
            held.extend(own);
        }
    }
    held
}

/// The place of an argument.
fn place_of(scene: &Scene<'_>, call: ExprId, argument: ExprId) -> Option<u32> {
    let mut args = scene.args(call).iter();
    args.position(|&arg| scene.file.unparen(arg) == argument).map(|place| place as u32)
}

/// Where a function calls one of its parameters in turn.
fn runs_of<'s>(scene: &'s Scene<'_>, place: u32) -> impl Iterator<Item = ExprId> + 's {
    scene.nodes.iter().filter_map(move |&node| {
        let Node::Expr(call) = node else { return None };
        let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return None };
        let local = scene.local(callee)?;
        let is_it = scene.info.local(local).kind == LocalKind::Param(place);
        (is_it && scene.runs_in_turn(None, call)).then_some(call)
    })
}

/// The functions that call those which run one of their parameters with a lock held, and are not among them.
pub(super) fn callers_of_runners(package: &PackageCx<'_>, scenes: &[Scene<'_>]) -> Vec<FuncId> {
    let runs = |scene: &&Scene<'_>| {
        let params = scene.info.locals().iter().filter_map(|local| match local.kind {
            LocalKind::Param(place) if matches!(local.ty, Type::Func(_)) => Some(place),
            _ => None,
        });
        params.into_iter().any(|place| runs_of(scene, place).next().is_some())
    };
    let runners: Vec<FuncId> = scenes.iter().filter(runs).map(|scene| scene.cx.func).collect();
    if runners.is_empty() {
        return Vec::new();
    }
    let uses = package.uses();
    let callers = runners.iter().flat_map(|runner| uses.calls.get(runner).into_iter().flatten());
    let others = callers.map(|&(func, _)| func).filter(|func| {
        func.package == package.package && scenes.iter().all(|scene| scene.cx.func != *func)
    });
    let mut others: Vec<FuncId> = others.collect();
    others.sort_unstable_by_key(|func| func.index);
    others.dedup();
    others
}

/// The literals that a call gives to a function of the package that runs them in turn.
pub(super) fn literals_run(scene: &Scene<'_>, call: ExprId, called: &Scene<'_>) -> Vec<ExprId> {
    let args = scene.args(call).iter().map(|&arg| scene.file.unparen(arg));
    let literals = args.filter(|&arg| matches!(scene.file.expr(arg).kind, ExprKind::FuncLit(_)));
    literals
        .filter(|&literal| {
            let place = place_of(scene, call, literal);
            place.is_some_and(|place| runs_of(called, place).next().is_some())
        })
        .collect()
}

/// The locks that a function takes for its callers, through so many calls at most.
fn of(cx: &Cx<'_, '_>, func: FuncId, depth: u32) -> Arc<[Below]> {
    if let Some(known) = cx.below.borrow().get(&(func, depth)) {
        return Arc::clone(known);
    }
    // Who calls itself takes nothing more by that.
    cx.below.borrow_mut().insert((func, depth), Arc::default());
    let found: Arc<[Below]> = read(cx, func, depth).into();
    cx.below.borrow_mut().insert((func, depth), Arc::clone(&found));
    found
}

fn read(cx: &Cx<'_, '_>, func: FuncId, depth: u32) -> Vec<Below> {
    let Some(scene) = Scene::of(cx.package, func) else { return Vec::new() };
    let Some(read) = scene.cx.summaries().read(func) else { return Vec::new() };
    let taken = cx.locks.taken.get(&func).map_or(&[][..], Vec::as_slice);
    let mut found: Vec<Below> = taken
        .iter()
        .filter(|taken| is_unconditional(&scene, Node::Expr(taken.call)))
        .filter_map(|taken| own(&scene, *taken))
        .collect();
    let calls = cx.locks.calls_of(cx.package, func);
    for &(callee, _, call) in calls.iter() {
        let node = Node::Expr(call);
        if callee == func || scene.is_deferred(call) || !is_unconditional(&scene, node) {
            continue;
        }
        if let Some(called) = cx.scene_of(callee) {
            for literal in literals_run(&scene, call, called) {
                let inside = taken.iter().filter(|taken| taken.literal == Some(literal));
                found.extend(inside.filter_map(|taken| own(&scene, *taken)));
            }
        }
        let Some(depth) = depth.checked_sub(1) else { continue };
        for below in of(cx, callee, depth).iter() {
            found.extend(handed_on(&scene, &read, below, call));
        }
        if found.len() > MAX_LOCKS {
            break;
        }
    }
    found.truncate(MAX_LOCKS);
    found
}

/// A lock that a function takes itself, if it was given what it reaches it through.
fn own(scene: &Scene<'_>, taken: Taken) -> Option<Below> {
    let (lock, _) = scene.method_call(taken.call)?;
    let (object, holder) = holder(scene, taken, lock)?;
    let from = From::of(scene, root_variable(scene, holder)??)?;
    let text = scene.text(lock);
    let suffix = text.split_once('.').map_or_else(String::new, |(_, rest)| format!(".{rest}"));
    let through = vec![(scene.cx.func, taken.call)];
    Some(Below { taken, object, from, path: fields(scene, holder), suffix, through })
}

/// A lock that a function takes by a call, as its own callers reach it.
fn handed_on(scene: &Scene<'_>, read: &Read<'_>, below: &Below, call: ExprId) -> Option<Below> {
    let given = below.from.given(scene, call)?;
    let root = root_variable(scene, given)??;
    let (root, path) = named(scene, read, root, fields(scene, given));
    let from = From::of(scene, root)?;
    let through = [(scene.cx.func, call)].into_iter().chain(below.through.iter().copied());
    Some(Below {
        from,
        suffix: path.clone() + &below.suffix,
        path: path + &below.path,
        through: through.collect(),
        ..below.clone()
    })
}
