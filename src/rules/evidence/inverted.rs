//! Two locks that are taken in opposite order.
//!
//! Evidence: a function holds one lock on every way to a step that takes another one, itself or in a
//! method that it calls, and another function does so the other way round, or it does itself further on.
//! Both were given what they reach the locks through, so that it may be the same two: those of one receiver,
//! or of a part and of what keeps it. And nothing keeps them apart: no third lock is held by both, or by those
//! who call them, no gate stands before both (`gates`), and they are not run by one goroutine only, or before
//! others have the object.

mod below;
mod callback;
mod gates;
mod instances;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{FuncId, LocalId, LocalKind, TypeDecl};
use crate::rules::evidence::confidence;
use crate::rules::evidence::getter::{root_of, taken_by};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{
    Locking, Locks, Object, Taken, embeds_lock, fields, held_at, tells_of_locks,
};
use crate::rules::evidence::parent::{Parents, only_found};
use crate::rules::evidence::runners::{Runners, is_taken_out, is_unshared};
use crate::rules::scene::Scene;
use crate::rules::{FunctionCx, PackageCx};
use crate::source::Location;
use crate::summary::{Read, Source};
use crate::syntax::{ExprId, ExprKind, Node};
use below::{Below, Known};

/// Reports the pairs of locks that are taken in both orders, at the order that fewer functions have.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !tells_of_locks(package) {
        return;
    }
    let Locking { mut scenes, locks } = Locking::of(package);
    let others = callback::callers_of_runners(package, &scenes);
    scenes.extend(others.into_iter().filter_map(|func| Scene::of(package, func)));
    scenes.sort_by_key(|scene| scene.cx.func.index);
    let parents = Parents::new(package);
    let runners = Runners::new(package);
    let below = Known::default();
    let cx =
        Cx { package, scenes: &scenes, locks: &locks, parents: &parents, runners: &runners, below };
    instances::check(&cx, findings);
    let orders: Vec<Order> = scenes.iter().flat_map(|scene| orders(&cx, scene)).collect();
    let mut by_pair: FxHashMap<(Object, Object), Vec<&Order>> = FxHashMap::default();
    for order in &orders {
        by_pair.entry(order.pair()).or_default().push(order);
    }
    let mut told: FxHashSet<(Object, Object)> = FxHashSet::default();
    for order in &orders {
        let (first, second) = order.pair();
        let Some(others) = by_pair.get(&(second, first)) else { continue };
        if functions(&by_pair[&(first, second)]) > functions(others)
            || told.contains(&(first, second))
        {
            continue;
        }
        let mut against = others.iter().filter(|other| may_meet(&cx, order, other));
        if let Some(other) = against.next() {
            told.extend([(first, second), (second, first)]);
            findings.push(tell(&cx, order, other));
        }
    }
}

/// A package and its locks.
struct Cx<'c, 'a> {
    package: &'c PackageCx<'a>,
    scenes: &'c [Scene<'a>],
    locks: &'c Locks,
    parents: &'c Parents<'c, 'a>,
    runners: &'c Runners<'c, 'a>,
    below: Known,
}

impl<'c, 'a> Cx<'c, 'a> {
    fn scene_of(&self, func: FuncId) -> Option<&'c Scene<'a>> {
        self.scenes.iter().find(|scene| scene.cx.func == func)
    }

    fn scene(&self, order: &Order) -> &'c Scene<'a> {
        self.scene_of(order.func).expect("the order was read there")
    }
}

/// A lock that a function takes while it holds another one.
struct Order {
    func: FuncId,
    first: Lock,
    second: Lock,
    /// Where the function takes the second lock, or calls the method that does.
    at: Location,
    /// The functions that it calls there to take it.
    through: Vec<FuncId>,
    /// What else it holds there.
    beside: Vec<Object>,
}

impl Order {
    fn pair(&self) -> (Object, Object) {
        (self.first.object, self.second.object)
    }
}

/// A lock as a function reaches it.
#[derive(Clone)]
struct Lock {
    taken: Taken,
    object: Object,
    owner: Owner,
    /// The expression of the owner, or of what a callee takes it out of.
    base: ExprId,
    /// The owner, if a callee takes it out.
    part: Option<Part>,
    /// What is locked, as it is written.
    name: String,
}

/// A part that a function takes out of what it was given, and the fields of that which lead to what keeps it.
#[derive(Clone)]
struct Part {
    func: FuncId,
    value: ExprId,
    path: String,
}

/// The value that a lock is a field of, as a function reaches it.
#[derive(Clone, PartialEq, Eq)]
struct Owner {
    root: LocalId,
    /// Whether the root is the receiver.
    receiver: bool,
    /// The selectors from the root: `.x.y`.
    path: String,
}

/// How many functions have an order.
fn functions(orders: &[&Order]) -> usize {
    orders.iter().map(|order| order.func).collect::<FxHashSet<_>>().len()
}

/// The orders in which a function takes locks.
fn orders(cx: &Cx<'_, '_>, scene: &Scene<'_>) -> Vec<Order> {
    let (func, locks) = (scene.cx.func, cx.locks);
    let own = locks.taken.get(&func).map_or(&[][..], Vec::as_slice);
    let Some(read) = scene.cx.summaries().read(func) else { return Vec::new() };
    let calls = locks.calls_of(cx.package, func);
    let mut found = Vec::new();
    let reached = |taken: Taken| reached(scene, &read, taken);
    let held = |literal: Option<ExprId>, call: ExprId| {
        let Some(cfg) = scene.graph(literal) else { return Vec::new() };
        let Some(at) = cfg.step_of_expr(call) else { return Vec::new() };
        held_at(scene, locks, literal, &cfg, at)
    };
    let order = |held: &[Taken], first: &Lock, second: &Lock, call: ExprId| Order {
        func,
        first: first.clone(),
        second: second.clone(),
        at: scene.cx.location(scene.span(Node::Expr(call))),
        through: Vec::new(),
        beside: held
            .iter()
            .filter(|taken| taken.object != first.taken.object)
            .map(|taken| object_of(scene, *taken))
            .collect(),
    };
    for taken in own {
        let Some(second) = reached(*taken) else { continue };
        let held = held(taken.literal, taken.call);
        for first in held.iter().filter_map(|taken| reached(*taken)) {
            if first.object != second.object {
                found.push(order(&held, &first, &second, taken.call));
            }
        }
    }
    for &(callee, literal, call) in calls.iter() {
        if scene.is_deferred(call) || callee == func {
            continue;
        }
        let around = held(literal, call);
        let firsts: Vec<Lock> = around.iter().filter_map(|taken| reached(*taken)).collect();
        if !firsts.is_empty() {
            for (second, below) in below::of_call(cx, scene, &read, callee, call) {
                for first in firsts.iter().filter(|first| first.object != second.object) {
                    if !gives_before(cx, &below, first) {
                        let through = below.through.iter().map(|&(func, _)| func).collect();
                        found.push(Order { through, ..order(&around, first, &second, call) });
                    }
                }
            }
        }
        let Some(called) = cx.scene_of(callee) else { continue };
        for run in callback::runs(scene, &read, call, called) {
            let mut firsts = firsts.clone();
            firsts.extend(callback::held_around(cx, scene, &read, called, (call, &run)));
            let is_run =
                |literal: Option<ExprId>| literal.is_some_and(|it| run.literals.contains(&it));
            let inside = own.iter().filter(|taken| is_run(taken.literal));
            for (taken, second) in inside.filter_map(|taken| Some((taken, reached(*taken)?))) {
                for first in firsts.iter().filter(|first| first.object != second.object) {
                    let through = vec![callee];
                    found.push(Order { through, ..order(&around, first, &second, taken.call) });
                }
            }
            for &(other, _, call) in calls.iter().filter(|(_, literal, _)| is_run(*literal)) {
                if scene.is_deferred(call) || other == func {
                    continue;
                }
                for (second, below) in below::of_call(cx, scene, &read, other, call) {
                    for first in firsts.iter().filter(|first| first.object != second.object) {
                        let through = below.through.iter().map(|&(func, _)| func);
                        let through = through.chain([callee]).collect();
                        found.push(Order { through, ..order(&around, first, &second, call) });
                    }
                }
            }
        }
    }
    found
}

/// A lock that a function takes, if it was given what it reaches it through.
fn reached(scene: &Scene<'_>, read: &Read<'_>, taken: Taken) -> Option<Lock> {
    let (lock, _) = scene.method_call(taken.call)?;
    let (object, base) = holder(scene, taken, lock)?;
    let owner = owner_of(scene, read, base)?;
    if root_of(scene, base).is_some_and(|root| is_unshared(scene, &read.function, root, taken.call))
    {
        return None;
    }
    Some(Lock { taken, object, owner, base, part: None, name: scene.text(lock) })
}

/// Which lock is taken.
fn object_of(scene: &Scene<'_>, taken: Taken) -> Object {
    let lock = scene.method_call(taken.call).map(|(lock, _)| lock);
    lock.and_then(|lock| holder(scene, taken, lock)).map_or(taken.object, |(object, _)| object)
}

/// Which lock is taken, and what it is a field of or embedded in: what a field leads to may embed it.
fn holder(scene: &Scene<'_>, taken: Taken, lock: ExprId) -> Option<(Object, ExprId)> {
    match (taken.object, embeds_lock(scene, lock)) {
        (Object::Field(_), Some(object)) | (object @ Object::Embedded(_), _) => {
            Some((object, scene.file.unparen(lock)))
        }
        (Object::Global(_), _) => None,
        (object, None) => scene.selector(lock).map(|(base, _)| (object, base)),
    }
}

/// Whether what is called may give back what its caller holds before it takes another lock.
fn gives_before(cx: &Cx<'_, '_>, below: &Below, held: &Lock) -> bool {
    below.through.iter().any(|&(func, call)| {
        let Some(scene) = Scene::of(cx.package, func) else { return true };
        let Some(cfg) = scene.graph(scene.literal_around(Node::Expr(call))) else { return true };
        let at = cfg.step_of_expr(call);
        at.is_some_and(|at| cx.locks.given_before(&scene, &cfg, held.taken.object, at))
    })
}

/// What an expression is, if the function was given it.
fn owner_of(scene: &Scene<'_>, read: &Read<'_>, expr: ExprId) -> Option<Owner> {
    let root = root_of(scene, expr)?;
    if !is_given(scene, read, root, MAX_VARIABLES) {
        return None;
    }
    let (root, mut path) = named(scene, read, root, fields(scene, expr));
    if root_variable(scene, expr).is_none() {
        // An element is none of the fields.
        path.insert_str(0, ELEMENT);
    }
    Some(Owner { root, receiver: scene.receiver() == Some(root), path })
}

/// What stands for an index in a path.
const ELEMENT: &str = "[]";

/// How many variables there are at most between what a function was given and what is locked.
const MAX_VARIABLES: u32 = 4;

/// What a path of fields from a variable is, told from what the variable is a name for: `srv := c.srv`.
fn named(scene: &Scene<'_>, read: &Read<'_>, local: LocalId, path: String) -> (LocalId, String) {
    let (mut root, mut path) = (local, path);
    for _ in 0..MAX_VARIABLES {
        let only = read.function.only_definition_of(root);
        let Some(Source::Expr(value)) = only.map(|only| only.source) else { break };
        let Some(Some(from)) = root_variable(scene, value) else { break };
        path = fields(scene, value) + &path;
        root = from;
    }
    (root, path)
}

/// Whether a variable is a parameter, or has been taken out of what the function was given, so many
/// variables from there at most.
fn is_given(scene: &Scene<'_>, read: &Read<'_>, local: LocalId, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let Some(only) = only_found(scene, &read.function, local) else { return false };
    if only.source == Source::Given {
        return true;
    }
    let Some(from) = read.function.taken_from(only) else { return false };
    if is_taken_out(scene, from) {
        return false;
    }
    let from = scene.file.unparen(from);
    let from = match scene.file.expr(from).kind {
        ExprKind::Call { .. } => taken_by(scene, from).and_then(|base| root_variable(scene, base)?),
        _ => root_of(scene, from),
    };
    from.is_some_and(|from| from != local && is_given(scene, read, from, depth))
}

/// Whether two functions may take the same two locks in their orders at the same time, and wait.
fn may_meet(cx: &Cx<'_, '_>, one: &Order, other: &Order) -> bool {
    let readers = |one: &Lock, other: &Lock| one.taken.reads && other.taken.reads;
    let waits = !readers(&one.first, &other.second) && !readers(&one.second, &other.first);
    let is_own = |order: &Order| order.first.owner == order.second.owner;
    let alike = cx.scene(one).cx.owner() == cx.scene(other).cx.owner();
    let anchored = |one: &Lock, other: &Lock| {
        let (here, there) = (&one.owner, &other.owner);
        let is_field = matches!(one.object, Object::Field(_));
        here.receiver && there.receiver && here.path == there.path && (alike || is_field)
    };
    let same = anchored(&one.first, &other.second)
        || anchored(&one.second, &other.first)
        || leads_back(cx, one, other)
        || leads_back(cx, other, one);
    // Two fields of one receiver lead to two locks.
    let differ = |one: &Lock, other: &Lock| {
        let (here, there) = (&one.owner, &other.owner);
        let are_parts = !here.path.is_empty() && !there.path.is_empty();
        alike && here.receiver && there.receiver && are_parts && here.path != there.path
    };
    let are_two = differ(&one.first, &other.second) || differ(&one.second, &other.first);
    let around = |order: &Order| {
        let mut held: FxHashSet<Object> = order.beside.iter().copied().collect();
        held_by_callers(cx, cx.scene(order), MAX_CALLERS, &mut held);
        held
    };
    let apart = |one: &Order, other: &Order| match one.func == other.func {
        true => one.through.is_empty(),
        false => !one.through.contains(&other.func),
    };
    apart(one, other)
        && apart(other, one)
        && waits
        && is_own(one) == is_own(other)
        && same
        && !are_two
        && around(one).is_disjoint(&around(other))
        && ![one, other].into_iter().any(|order| is_alone(cx, order))
        && !cx.runners.in_turn(one.func, other.func)
        && gates::of(cx, one).is_disjoint(&gates::of(cx, other))
        && !comes_after(cx, one, other)
        && !comes_after(cx, other, one)
}

/// Whether nobody else can wait for one of the two locks: whoever runs the function has its object alone.
fn is_alone(cx: &Cx<'_, '_>, order: &Order) -> bool {
    let is_own = |lock: &Lock| lock.owner.receiver && lock.owner.path.is_empty();
    (is_own(&order.first) || is_own(&order.second)) && cx.runners.alone(order.func)
}

/// Whether a function has run the other one itself before it takes its first lock: what that does once is done by
/// then.
fn comes_after(cx: &Cx<'_, '_>, order: &Order, other: &Order) -> bool {
    let scene = cx.scene(order);
    let Some(cfg) = scene.graph(None) else { return false };
    let Some(first) = cfg.step_of_expr(order.first.taken.call) else { return false };
    cx.locks.calls_of(cx.package, order.func).iter().any(|&(callee, _, call)| {
        scene.runs_in_turn(None, call)
            && cfg.step_of_expr(call).is_some_and(|step| cfg.dominates(step, first))
            && runs(cx, callee, other.func, MAX_CALLERS)
    })
}

/// Whether a function is another one, or calls it, through so many others at most.
fn runs(cx: &Cx<'_, '_>, func: FuncId, wanted: FuncId, depth: u32) -> bool {
    let called = |depth: u32| {
        let calls = cx.locks.calls_of(cx.package, func);
        calls.iter().any(|&(callee, _, _)| callee != func && runs(cx, callee, wanted, depth))
    };
    func == wanted || depth.checked_sub(1).is_some_and(called)
}

/// Whether the one function takes the lock of a part behind that of what keeps it, and the other the lock
/// of its receiver, which is such a part, and then that of what keeps it.
fn leads_back(cx: &Cx<'_, '_>, keeper: &Order, part: &Order) -> bool {
    let (inner, outer) = (&part.first.owner, &part.second.owner);
    let back = outer.path.strip_prefix(inner.path.as_str()).and_then(|it| it.strip_prefix('.'));
    let Some(back) = back.filter(|_| inner.receiver && outer.receiver) else { return false };
    let own = cx.scene(keeper);
    let taken_out = keeper.second.part.as_ref();
    let callee = taken_out.and_then(|part| Scene::of(cx.package, part.func));
    let scene = callee.as_ref().unwrap_or(own);
    let value = taken_out.map_or(keeper.second.base, |part| part.value);
    let kept = scene.info.type_of(value).strip_pointer().named();
    if kept.map(|kept| kept.decl) != cx.scene(part).cx.owner().map(TypeDecl::Global) {
        return false;
    }
    let read = scene.cx.summaries().read(scene.cx.func);
    let owner = read.and_then(|read| cx.parents.of(scene, &read.function, value, back));
    if let Some(taken_out) = taken_out {
        let keeps = own.text(keeper.second.base) + &taken_out.path;
        return owner.is_some() && keeps == own.text(keeper.first.base);
    }
    let is_given = || {
        let Owner { root, path, .. } = &keeper.second.owner;
        let is_param = matches!(scene.info.local(*root).kind, LocalKind::Param(_));
        is_param && path.is_empty() && keeper.first.owner.receiver
    };
    owner.is_some_and(|owner| scene.text(owner) == scene.text(keeper.first.base))
        || is_given() && cx.parents.is_made_by(scene, keeper.second.base, back, keeper.first.base)
}

/// So far up a lock is looked for that is held around a function.
const MAX_CALLERS: u32 = 3;

/// The locks that any caller of a function holds when it calls it.
fn held_by_callers(cx: &Cx<'_, '_>, called: &Scene<'_>, depth: u32, held: &mut FxHashSet<Object>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let uses = cx.package.uses();
    for &(func, call) in uses.calls.get(&called.cx.func).into_iter().flatten() {
        let Some(caller) = Scene::new(FunctionCx { package: *cx.package, func }) else { continue };
        if caller.go_of(call).is_some() {
            continue;
        }
        let literal = caller.literal_around(Node::Expr(call));
        if let Some(cfg) = caller.graph(literal)
            && let Some(at) = cfg.step_of_expr(call)
        {
            let around = held_at(&caller, cx.locks, literal, &cfg, at);
            held.extend(around.into_iter().map(|taken| object_of(&caller, taken)));
        }
        if func != called.cx.func {
            held_by_callers(cx, &caller, depth, held);
        }
    }
}

fn tell(cx: &Cx<'_, '_>, one: &Order, other: &Order) -> Finding {
    let (here, there) = (cx.scene(one), cx.scene(other));
    let (name, first, second) = (here.name.name, &one.first.name, &one.second.name);
    let message = match one.func == other.func {
        true => format!(
            "`{name}` takes `{first}` and then `{second}`, and further down it takes them in opposite order: each \
             of two that run it can hold what the other waits for"
        ),
        false => format!(
            "`{name}` takes `{first}` and then `{second}`, and `{}` takes them in opposite order: each can hold what \
             the other waits for",
            there.name.name
        ),
    };
    let mut finding = here.cx.finding(one.at.span, "stays here", message);
    finding.confidence = confidence(here);
    let mut label = |location: Location, message: String| {
        finding.labels.push(Label { location, role: Role::Context, message });
    };
    label(one.first.taken.location, format!("`{}` is locked here", one.first.name));
    label(
        other.first.taken.location,
        format!("`{}` locks `{}` here", there.name.name, other.first.name),
    );
    label(other.at, format!("and waits for `{}` here", other.second.name));
    finding.why = "neither of the two can go on once both have come this far".to_owned();
    finding.help = "take the two locks in the same order everywhere".to_owned();
    finding
}
