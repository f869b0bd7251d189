//! The locks that a function takes for those who call it: those of its receiver and of its arguments, itself, in
//! what it calls, and in literals that what it calls runs in turn. Where a parameter says whether, nothing is known.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{
    Cx, ELEMENT, Lock, MAX_VARIABLES, Part, callback, holder, is_given, named, owner_of, root_of,
};
use crate::index::{FuncId, LocalId, LocalKind};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{Object, Taken, fields};
use crate::rules::evidence::own_end::is_unconditional;
use crate::rules::evidence::parent::taken_out_of;
use crate::rules::scene::Scene;
use crate::summary::Read;
use crate::syntax::{ExprId, Node};

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
    /// The selectors from there to what the lock is a field of or embedded in: `.x.y`; where that is a part which
    /// a function takes out, to what keeps it.
    path: String,
    /// That part, and the function.
    part: Option<(FuncId, ExprId)>,
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
        .filter_map(|below| Some((as_lock(cx, scene, read, below, call)?, below.clone())))
        .collect()
}

/// A lock as a caller reaches it by a call of the function that takes it.
pub(super) fn as_lock(
    cx: &Cx<'_, '_>,
    scene: &Scene<'_>,
    read: &Read<'_>,
    below: &Below,
    call: ExprId,
) -> Option<Lock> {
    let given = below.from.given(scene, call)?;
    let name = || scene.text(given) + &below.suffix;
    if let Some(keeper) = led_back(cx, scene, read, below, given) {
        let owner = owner_of(scene, read, keeper)?;
        let (taken, object, name) = (below.taken, below.object, name());
        return Some(Lock { taken, object, owner, base: keeper, part: None, name });
    }
    let owner = owner_of(scene, read, given)?;
    // What is taken out of a variable is none of its fields.
    let taken_out = below.part.map_or("", |_| ELEMENT);
    let path = owner.path.clone() + &below.path + taken_out;
    let part = below.part.map(|(func, value)| Part { func, value, path: below.path.clone() });
    let name = match below.part {
        Some(_) => below.suffix.clone(),
        None => name(),
    };
    Some(Lock {
        taken: below.taken,
        object: below.object,
        owner: super::Owner { path, ..owner },
        base: given,
        part,
        name,
    })
}

/// What a part was taken out of, if the lock is one of that: the part leads back to it. `for _, o := range s.all`,
/// where the callee locks `o.parent.mu`.
fn led_back(
    cx: &Cx<'_, '_>,
    scene: &Scene<'_>,
    read: &Read<'_>,
    below: &Below,
    given: ExprId,
) -> Option<ExprId> {
    let back = below.path.strip_prefix('.').filter(|_| below.part.is_none())?;
    cx.parents.of(scene, &read.function, given, back)
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
        .filter_map(|taken| own(&scene, *taken).or_else(|| of_part(&scene, &read, *taken)))
        .collect();
    let calls = cx.locks.calls_of(cx.package, func);
    for &(callee, _, call) in calls.iter() {
        let node = Node::Expr(call);
        if callee == func || scene.is_deferred(call) || !is_unconditional(&scene, node) {
            continue;
        }
        if let Some(called) = cx.scene_of(callee) {
            let runs = callback::runs(&scene, &read, call, called);
            for literal in runs.iter().flat_map(|run| &run.literals) {
                let inside = taken.iter().filter(|taken| taken.literal == Some(*literal));
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
pub(super) fn own(scene: &Scene<'_>, taken: Taken) -> Option<Below> {
    let (lock, _) = scene.method_call(taken.call)?;
    let (object, holder) = holder(scene, taken, lock)?;
    let from = From::of(scene, root_variable(scene, holder)??)?;
    let text = scene.text(lock);
    let suffix = text.split_once('.').map_or_else(String::new, |(_, rest)| format!(".{rest}"));
    let through = vec![(scene.cx.func, taken.call)];
    let path = fields(scene, holder);
    Some(Below { taken, object, from, path, part: None, suffix, through })
}

/// A lock of a part that a function takes out of what it was given: `for _, part := range s.parts`.
fn of_part(scene: &Scene<'_>, read: &Read<'_>, taken: Taken) -> Option<Below> {
    let (lock, _) = scene.method_call(taken.call)?;
    let (object, holder) = holder(scene, taken, lock)?;
    taken_out(scene, read, holder).map(|(from, path)| Below {
        taken,
        object,
        from,
        path,
        part: Some((scene.cx.func, holder)),
        suffix: scene.text(lock),
        through: vec![(scene.cx.func, taken.call)],
    })
}

/// What a function was given that it takes a value out of, and the selectors from there to what keeps the value.
fn taken_out(scene: &Scene<'_>, read: &Read<'_>, value: ExprId) -> Option<(From, String)> {
    if !is_given(scene, read, root_of(scene, value)?, MAX_VARIABLES) {
        return None;
    }
    let (keeper, _) = taken_out_of(scene, &read.function, value)?;
    let (root, path) = named(scene, read, root_variable(scene, keeper)??, fields(scene, keeper));
    Some((From::of(scene, root)?, path))
}

/// A lock that a function takes by a call, as its own callers reach it.
fn handed_on(scene: &Scene<'_>, read: &Read<'_>, below: &Below, call: ExprId) -> Option<Below> {
    let given = below.from.given(scene, call)?;
    let through = [(scene.cx.func, call)].into_iter().chain(below.through.iter().copied());
    let through = through.collect();
    let root = root_variable(scene, given).flatten().map(|root| {
        let (root, path) = named(scene, read, root, fields(scene, given));
        (From::of(scene, root), path)
    });
    if let Some((Some(from), path)) = root {
        let suffix = match below.part {
            Some(_) => below.suffix.clone(),
            None => path.clone() + &below.suffix,
        };
        return Some(Below { from, suffix, path: path + &below.path, through, ..below.clone() });
    }
    if below.part.is_some() || !below.path.is_empty() {
        return None;
    }
    let (from, path) = taken_out(scene, read, given)?;
    let part = Some((scene.cx.func, given));
    let suffix = scene.text(given) + &below.suffix;
    Some(Below { from, suffix, path, part, through, ..below.clone() })
}
