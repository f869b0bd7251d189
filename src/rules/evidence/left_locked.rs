//! A function that locks, gives the lock back on one way out, and forgets it on another.
//!
//! Evidence: the same text is locked and unlocked in one body; from the `Lock` a path leads to a
//! `return`, back to the same `Lock`, or to the next turn of a loop over what is locked, that passes
//! no unlock; further down the text the lock is given back, or nobody in the package gives it back whom
//! it does not also take. A function that hands the lock over (its name or comment speaks of locks, a
//! literal or a function that it calls unlocks what it does not lock, it begins with an unlock, it sends the lock
//! or what has it) is no evidence. Of a lock of many things (`Lock(key)`) the same holds of one key, as long as nobody
//! gets that on the way who may unlock by it, and nothing is kept in a turn that goes on to the next key. Of a lock
//! that is got by a call a `return` is told that gives an error, and no loop.

mod getters;
mod handed;
mod kept;
mod keyed;
mod literals;
mod mistaken;
mod ways;
mod words;

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{BlockId, Cfg, Edge, Exit, Passing, Path, PathEnd, Start, StepId, Walk};
use crate::index::{Callee, Def, FuncId, LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::conditions::{Conditions, Decided, condition};
use crate::rules::evidence::left_locked::getters::{gives_elsewhere_unseen, is_got, lock_variable};
use crate::rules::evidence::left_locked::handed::{
    caller_gives_back, handed, is_handed_over, is_of_own_find, sent_along,
};
use crate::rules::evidence::left_locked::kept::{is_kept, is_own, takes_out};
use crate::rules::evidence::left_locked::keyed::Key;
use crate::rules::evidence::left_locked::literals::{Giver, may_give_another};
use crate::rules::evidence::left_locked::ways::{Covered, leading_to};
use crate::rules::evidence::left_locked::words::{comment_speaks_of_locks, is_of_locks};
use crate::rules::evidence::locks::{Locking, MAX_CALLS, object, stands_for};
use crate::rules::evidence::runners::Runners;
use crate::rules::evidence::{confidence_of_own, first_line};
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::summary::{Act, At, BodyId, Deed, Effect, Mode, Place, Read};
use crate::syntax::{
    BinaryOp, BranchKind, DeclKind, ExprId, ExprKind, Node, StmtId, StmtKind, Symbol, UnaryOp,
};

/// A call of a method of a lock.
#[derive(Clone)]
struct Operation {
    at: At,
    call: ExprId,
    base: ExprId,
    /// What is locked, as it is written, with its key.
    text: String,
    /// What is given to it, if it is a lock of many things: `Lock(key)`.
    key: Option<ExprId>,
    name: &'static str,
    /// The name of the method of the package that does no more than that, if one is called.
    through: Option<Symbol>,
    /// Whether it is done when the function is left.
    deferred: bool,
    /// Whether it may fail, and a condition asks whether it did: `TryLock`.
    tried: bool,
}

/// Reports the locks that the function keeps on a path.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    if is_of_locks(scene.name.name.as_str()) {
        return;
    }
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    let operations = operations(scene, &read);
    if !operations.iter().any(|it| matches!(it.name, "Lock" | "RLock") && !it.deferred) {
        return;
    }
    let mut mistaken = mistaken::check(scene, &operations);
    mistaken::on_a_way(scene, &read, &operations, &mut mistaken);
    let is_mistaken = |text: &str| mistaken.iter().any(|(told, _)| told == text);
    let is_told = comment_speaks_of_locks(scene);
    let handed = handed(scene);
    let mut bodies: FxHashMap<BodyId, Body> = FxHashMap::default();
    let mut edges = EDGES;
    for lock in &operations {
        let takes = matches!(lock.name, "Lock" | "RLock") && !lock.deferred;
        let is_handed = || handed.contains(&scene.text(lock.base));
        if takes && !is_handed() && !is_mistaken(&lock.text) {
            let body = bodies
                .entry(lock.at.body)
                .or_insert_with(|| Body::of(&read, &operations, lock.at.body));
            findings.extend(check_lock(scene, &read, &operations, lock, body, is_told, &mut edges));
        }
    }
    findings.extend(mistaken.into_iter().map(|(_, finding)| finding));
}

/// So many edges are taken for all locks of a function, each counted with what was decided before it. Honest
/// functions need a hundredth of that.
const EDGES: usize = 4_000_000;

/// What does not depend on which lock of a body is looked at.
struct Body {
    conditions: Conditions,
    /// What is unlocked on some way that has not locked it.
    comes_locked: FxHashSet<String>,
}

impl Body {
    fn of(read: &Read<'_>, operations: &[Operation], body: BodyId) -> Body {
        let cfg = &read.function.body(body).cfg;
        let mut by_text: FxHashMap<&str, [FxHashSet<StepId>; 2]> = FxHashMap::default();
        for operation in operations.iter().filter(|operation| operation.at.body == body) {
            let [locks, unlocks] = by_text.entry(&operation.text).or_default();
            match operation.name {
                "Lock" | "RLock" => locks.insert(operation.at.step),
                _ => !operation.deferred && unlocks.insert(operation.at.step),
            };
        }
        let comes_locked = by_text.iter().filter(|(_, [locks, unlocks])| {
            !unlocks.is_empty()
                && cfg
                    .begins_without(&|step| unlocks.contains(&step), &|step| locks.contains(&step))
        });
        Body {
            conditions: Conditions::new(&read.function, body),
            comes_locked: comes_locked.map(|(text, _)| (*text).to_owned()).collect(),
        }
    }
}

fn operations(scene: &Scene<'_>, read: &Read<'_>) -> Vec<Operation> {
    let mut found = Vec::new();
    for &node in scene.nodes.iter() {
        let Node::Expr(call) = node else { continue };
        let Some((base, name)) = scene.method_call(call) else { continue };
        let called = name.name;
        let names = ["Lock", "RLock", "Unlock", "RUnlock"];
        let tried = called.as_str().strip_prefix("Try");
        let asked = tried.unwrap_or(called.as_str());
        let known = names.into_iter().find(|&known| known == asked);
        let through = if known.is_none() { stands_for(scene, called) } else { None };
        let Some(name) = known.or(through) else { continue };
        let through = through.map(|_| called);
        // What can fail says whether it is locked.
        let gives = !matches!(scene.parent(node), Some(Node::Stmt(stmt))
            if matches!(scene.file.stmt(stmt).kind,
                StmtKind::Expr(_) | StmtKind::Defer(_) | StmtKind::Go(_)));
        let tried = tried.is_some();
        // `TryLock(ctx)` of a type of one's own waits until that ends.
        let is_end = |&arg: &ExprId| tried && scene.info.type_of(arg).is_context();
        let key = keyed::key_of(scene, call).filter(|_| through.is_none() && !tried);
        let is_plain = key.is_some() || scene.args(call).iter().all(is_end);
        let (true, Some(at)) = (is_plain, read.function.at_call(call)) else { continue };
        if gives != tried || tried && !is_asked(scene, call) {
            continue;
        }
        let deferred = scene.is_deferred(call);
        let text = match key {
            Some(key) => format!("{}({})", scene.text(base), scene.text(key)),
            None => scene.text(base),
        };
        found.push(Operation { at, call, base, text, key, name, through, deferred, tried });
    }
    found
}

/// Whether what a call gives decides which way an `if` goes, and nothing else.
fn is_asked(scene: &Scene<'_>, call: ExprId) -> bool {
    let outer = scene.around(Node::Expr(call)).find(|&around| match around {
        Node::Expr(expr) => !matches!(
            scene.file.expr(expr).kind,
            ExprKind::Paren(_)
                | ExprKind::Unary { op: UnaryOp::Not, .. }
                | ExprKind::Binary { op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr, .. }
        ),
        _ => true,
    });
    matches!(outer, Some(Node::Stmt(stmt))
        if matches!(scene.file.stmt(stmt).kind, StmtKind::If { .. }))
}

fn check_lock<'a>(
    scene: &Scene<'a>,
    read: &Read<'a>,
    operations: &[Operation],
    lock: &Operation,
    body: &Body,
    is_told: bool,
    edges: &mut usize,
) -> Option<Finding> {
    let function = &read.function;
    let cfg = &function.body(lock.at.body).cfg;
    let of_element = element_variable(scene, lock.base);
    let variable = lock_variable(scene, lock.base).or(of_element.map(Some))?;
    let key = match lock.key {
        Some(key) => Some(Key::of(scene, operations, lock, key)?),
        None => None,
    };
    let is_got = is_got(scene, lock.base);
    if is_got && gives_elsewhere_unseen(scene, operations, lock) {
        return None;
    }
    // A lock that is only ever tried keeps nobody waiting, unless to try it is to wait.
    if lock.tried && scene.args(lock.call).is_empty() && !has_writer(scene, lock) {
        return None;
    }
    // The next turn of a loop may lock the next element.
    let in_turn = of_element.is_some() && !scene.loops_around(Node::Expr(lock.call)).is_empty();
    let release = if is_shared(scene, lock) { "RUnlock" } else { "Unlock" };
    let same = |operation: &&Operation| operation.text == lock.text;
    let releases: Vec<&Operation> =
        operations.iter().filter(same).filter(|operation| operation.name == release).collect();
    let touches = |text: &String| text.starts_with(&lock.text) || lock.text.starts_with(text);
    let unlocks: Vec<&Operation> = operations
        .iter()
        .filter(|operation| matches!(operation.name, "Unlock" | "RUnlock"))
        .filter(|operation| operation.key.is_some() == lock.key.is_some())
        .filter(|operation| touches(&operation.text))
        .collect();
    let here = releases.iter().filter(|unlock| unlock.at.body == lock.at.body);
    let released: FxHashSet<StepId> = here.map(|unlock| unlock.at.step).collect();
    let never = lock.through.is_none()
        && lock.key.is_none()
        && unlocks.is_empty()
        && !takes_out(scene, lock)
        && is_kept(scene, lock, true);
    // A literal may give back what its function has locked, but not what it locks itself; nor does the function give
    // back what a literal has locked.
    let apart = |unlock: &&Operation| is_own(read, operations, unlock);
    let (unlocks, others): (Vec<&Operation>, Vec<&Operation>) =
        unlocks.into_iter().partition(|unlock| unlock.at.body == lock.at.body);
    // A literal that gives it back has it from where it is made on.
    let others = others.iter().filter(|unlock| !apart(unlock));
    let givers: Vec<Giver> =
        others.map(|unlock| Giver::of(scene, cfg, lock, unlock)).collect::<Option<_>>()?;
    if in_turn {
        return None;
    }
    let is_handed_out = givers.iter().any(|giver| giver.is_handed_out);
    let mut started: Vec<StepId> = givers.into_iter().map(|giver| giver.from).collect();
    started.extend(sent_along(scene, cfg, lock));
    let gives = |step: StepId| released.contains(&step) || started.contains(&step);
    if !never && !cfg.reaches_any(lock.at.step, &gives) {
        return None;
    }
    let deferred = unlocks.iter().filter(|unlock| unlock.deferred);
    let deferred: FxHashSet<StepId> = deferred.map(|unlock| unlock.at.step).collect();
    let covered = !deferred.is_empty() && {
        let mut walk = Covered { deferred: &deferred, lock: lock.at.step };
        cfg.finds(Start::Entry, false, &mut walk)
    };
    if covered || body.comes_locked.iter().any(touches) {
        return None;
    }
    let leads = leading_to(cfg, lock.at.step);
    let known = object(scene, lock.base);
    let is_other = |operation: &&Operation| {
        matches!(operation.name, "Unlock" | "RUnlock")
            && operation.key.is_none()
            && !touches(&operation.text)
            && known.zip(object(scene, operation.base)).is_some_and(|(one, other)| one != other)
    };
    let elsewhere = operations.iter().filter(is_other).map(|operation| operation.at);
    let conditions = &body.conditions;
    let wanted = match &key {
        Some(key) => key.next_turn(cfg, lock, &releases),
        None => next_turn(scene, cfg, lock, &releases, variable),
    };
    let mut walk = Held {
        scene,
        read,
        lock,
        key: key.as_ref(),
        unlocks: unlocks.iter().map(|unlock| unlock.at.step).chain(started).collect(),
        others: elsewhere.filter(|at| at.body == lock.at.body).map(|at| at.step).collect(),
        variable,
        conditions,
        leads,
        wanted,
        settles: FxHashMap::default(),
        asks_lock: FxHashMap::default(),
        edges,
    };
    let paths = cfg.search(Start::Entry, (false, Vec::new()), &mut walk);
    let kept = OnceCell::new();
    let is_kept =
        || *kept.get_or_init(|| is_waited_for(scene, lock) && is_kept(scene, lock, never));
    // Who gives nothing back and has unlocked it on some way out cannot hand it over: nobody could know.
    let is_secret = is_hidden(scene, lock)
        || gives_nothing(scene, function.body(lock.at.body).literal) && !released.is_empty();
    let path = paths.iter().find(|path| match path.end {
        PathEnd::Exit(..) if never => true,
        PathEnd::Exit(_, exit) => {
            let returned = match exit {
                Exit::Return(stmt) => Some(stmt),
                _ => None,
            };
            let left = broken_by(scene, path).or(returned);
            let end = left.map_or(u32::MAX, |left| scene.span(Node::Stmt(left)).end);
            let later = |unlock: &&Operation| scene.span(Node::Expr(unlock.call)).start > end;
            (releases.iter().any(later) || is_secret && is_kept())
                && !is_alone_until(scene, lock, end)
                && !returned.is_some_and(|stmt| {
                    is_handed_over(scene, lock, path, stmt) && !is_kept()
                        || is_handed_out && may_give_another(scene, stmt)
                        || key.as_ref().is_some_and(|key| key.is_given_by(stmt))
                })
        }
        // What is got again may be another one.
        PathEnd::Step(_) if is_got => false,
        PathEnd::Step(step) if step != lock.at.step => {
            key.as_ref().is_none_or(|key| key.is_skipped(path, &releases))
        }
        PathEnd::Step(_) => is_waited_for(scene, lock),
    })?;
    let release = releases.iter().find_map(|it| it.through).map_or(release, |it| it.as_str());
    // A comment may tell others to give it back: then it counts that nobody does.
    let is_own_find = || match &key {
        Some(key) => matches!(path.end, PathEnd::Step(step) if Some(step) == wanted && key.is_own),
        None => is_of_own_find(scene, lock),
    };
    let is_others = is_told && !(is_hidden(scene, lock) && (is_own_find() || is_kept()));
    (!is_others && !caller_gives_back(scene, lock, release))
        .then(|| tell(scene, lock, release, path, never))
}

/// Whether a lock is taken for reading and given back as such: some types have one method to give back either.
fn is_shared(scene: &Scene<'_>, lock: &Operation) -> bool {
    let has_own = || {
        let ty = scene.info.type_of(lock.base);
        let index = scene.cx.index();
        let path = index.package(scene.cx.package.package).path;
        let of = |name: &str| index.lookup(ty, Symbol::new(name), path);
        let is_known = |def: &Def| matches!(def, Def::Method(..) | Def::InterfaceMethod(_));
        !is_known(&of("Unlock")) || !matches!(of("RUnlock"), Def::Unknown)
    };
    lock.name == "RLock" && has_own()
}

/// Whether only functions of the package can name the field that is locked.
fn is_hidden(scene: &Scene<'_>, lock: &Operation) -> bool {
    scene.selector(lock.base).is_some_and(|(_, field)| !field.name.is_exported())
}

/// Whether the function, or a literal of it, has no results.
fn gives_nothing(scene: &Scene<'_>, literal: Option<ExprId>) -> bool {
    let Some(literal) = literal else {
        return match &scene.file.decl(scene.cx.declared().decl).kind {
            DeclKind::Func(func) => func.signature.results.is_empty(),
            _ => false,
        };
    };
    match &scene.file.expr(literal).kind {
        ExprKind::FuncLit(literal) => literal.signature.results.is_empty(),
        _ => false,
    }
}

/// Whether somebody waits for a lock that is not given back: one of readers only who takes it to write, and the
/// package has to have a function that does.
fn is_waited_for(scene: &Scene<'_>, lock: &Operation) -> bool {
    lock.name == "Lock" || has_writer(scene, lock)
}

/// Whether a function of the package waits for a lock until nobody has it.
fn has_writer(scene: &Scene<'_>, lock: &Operation) -> bool {
    let locks = Locking::locks(&scene.cx.package);
    let runners = Runners::new(&scene.cx.package);
    object(scene, lock.base).is_some_and(|object| locks.has_writer(&runners, object))
}

/// The `break` or `goto` by which a path leaves, where that is what it last decided to do: all that one way of an
/// `if` does.
fn broken_by(scene: &Scene<'_>, path: &Path<(bool, Decided)>) -> Option<StmtId> {
    let (condition, holds) = path.decisions().next_back()?.condition()?;
    let Some(Node::Stmt(around)) = scene.parent(Node::Expr(condition)) else { return None };
    let StmtKind::If { then, .. } = scene.file.stmt(around).kind else { return None };
    let &last = scene.file.block(then).last().filter(|_| holds)?;
    let leaves = matches!(
        scene.file.stmt(last).kind,
        StmtKind::Branch { kind: BranchKind::Break | BranchKind::Goto, .. }
    );
    leaves.then_some(last)
}

/// Whether a lock is a variable of the function that up to a place in its text nobody else has, so that nobody
/// can wait for it.
fn is_alone_until(scene: &Scene<'_>, lock: &Operation, end: u32) -> bool {
    let own = scene.local(lock.base).filter(|&local| {
        let local = scene.info.local(local);
        local.kind == LocalKind::Var && !matches!(local.ty, Type::Pointer(_))
    });
    let home = scene.literal_around(Node::Expr(lock.call));
    let is_plain = |used: ExprId| {
        let used = Node::Expr(used);
        let is_method = matches!(scene.parent(used), Some(Node::Expr(around))
            if matches!(scene.file.expr(around).kind, ExprKind::Selector { .. }));
        scene.span(used).start > end || is_method && scene.literal_around(used) == home
    };
    scene.loops_around(Node::Expr(lock.call)).is_empty()
        && own.is_some_and(|own| scene.uses(own).all(is_plain))
}

/// The variable at the root of `x.f[i]`, `x[i].f`.
fn element_variable(scene: &Scene<'_>, expr: ExprId) -> Option<LocalId> {
    let mut at = scene.file.unparen(expr);
    let mut indexed = false;
    loop {
        at = match scene.file.expr(at).kind {
            ExprKind::Selector { base, .. } => scene.file.unparen(base),
            ExprKind::Index { base, .. } => {
                indexed = true;
                scene.file.unparen(base)
            }
            _ => break,
        };
    }
    scene.local(at).filter(|_| indexed)
}

/// The variable at the root of `x`, `x.f`, `x.f.g`: nothing else is the same thing each time.
pub(super) fn root_variable(scene: &Scene<'_>, expr: ExprId) -> Option<Option<LocalId>> {
    let mut at = scene.file.unparen(expr);
    while let ExprKind::Selector { base, .. } = scene.file.expr(at).kind {
        at = scene.file.unparen(base);
    }
    match (&scene.file.expr(at).kind, scene.info.resolve(at)) {
        (ExprKind::Ident(_), Def::Local(local)) => Some(Some(*local)),
        (ExprKind::Ident(_), Def::Global(_) | Def::Package(_)) => Some(None),
        _ => None,
    }
}

/// The step by which a `range` gives the locked variable its next value, if the turn that locks it
/// also unlocks it, and does nothing with it but to use its fields and methods.
fn next_turn(
    scene: &Scene<'_>,
    cfg: &Cfg,
    lock: &Operation,
    releases: &[&Operation],
    variable: Option<LocalId>,
) -> Option<StepId> {
    let variable = variable?;
    let span = scene.span(Node::Expr(lock.call));
    let range = scene.loops_around(Node::Expr(lock.call)).into_iter().find(|&stmt| {
        let StmtKind::Range { key, value, .. } = scene.file.stmt(stmt).kind else { return false };
        let bound = [key, value].into_iter().flatten();
        bound.into_iter().any(|bound| scene.local(bound) == Some(variable))
    })?;
    let gives_back = releases.iter().any(|release| {
        !release.deferred && root_variable(scene, release.base) == Some(Some(variable))
    });
    let only_used = scene.uses(variable).all(|usage| {
        scene.span(Node::Expr(usage)).start < span.start
            || match scene.parent(Node::Expr(usage)) {
                Some(Node::Expr(around)) => {
                    matches!(scene.file.expr(around).kind, ExprKind::Selector { .. })
                }
                _ => false,
            }
    });
    (gives_back && only_used).then(|| cfg.step_of_stmt(range)).flatten()
}

/// Follows the lock along all paths.
struct Held<'h, 'a> {
    scene: &'h Scene<'a>,
    read: &'h Read<'a>,
    lock: &'h Operation,
    /// What it is locked for, if it is a lock of many things.
    key: Option<&'h Key<'h, 'a>>,
    /// Where it is unlocked.
    unlocks: FxHashSet<StepId>,
    /// Where something is unlocked that is known to be another lock.
    others: FxHashSet<StepId>,
    /// The variable that the lock is reached by; `None` for one of package level.
    variable: Option<LocalId>,
    conditions: &'h Conditions,
    /// The blocks from which the lock can be come to: no other matters while it is not held.
    leads: FxHashSet<BlockId>,
    /// What is found where the lock is held: where a loop takes the next thing to lock, and has this one in no other
    /// hands; an unlock of the other kind.
    wanted: Option<StepId>,
    /// What was asked of steps and conditions before.
    settles: FxHashMap<StepId, bool>,
    asks_lock: FxHashMap<ExprId, bool>,
    /// How many edges may still be taken.
    edges: &'h mut usize,
}

impl Held<'_, '_> {
    /// Whether a step may give the lock back, or makes the text mean another lock.
    fn settles(&self, step: StepId) -> bool {
        let at = At { body: self.lock.at.body, step };
        let function = &self.read.function;
        if self.unlocks.contains(&step) {
            return true;
        }
        if self.variable.is_some_and(|variable| function.defines(at, variable)) {
            return true;
        }
        if self.key.is_some_and(|key| key.settles(self.read, at)) {
            return true;
        }
        // Another lock has nothing to do with this one.
        if self.others.contains(&step) {
            return false;
        }
        let Some(call) = function.step(at).call(function.file) else { return false };
        let name = match self.scene.info.callee(call) {
            Callee::Func(func) => {
                let summary = self.scene.cx.summaries().of(*func);
                if summary.is_some_and(|summary| gives_back(&summary.deeds))
                    || unlocks_first(&self.scene.cx, *func, MAX_CALLS)
                {
                    return true;
                }
                Some(self.scene.cx.index().func(*func).name)
            }
            Callee::Builtin(_) | Callee::Conversion(_) => None,
            _ => self.scene.method_call(call).map(|(_, name)| name.name),
        };
        name.is_some_and(|name| name.as_str().to_ascii_lowercase().contains("unlock"))
    }
}

/// The methods that take a lock, or try to, and those that give it back.
const LOCKS: [&str; 4] = ["Lock", "RLock", "TryLock", "TryRLock"];
const UNLOCKS: [&str; 2] = ["Unlock", "RUnlock"];

/// Whether a function unlocks something that it does not lock itself.
fn gives_back(deeds: &[Deed]) -> bool {
    let does = |deed: &Deed, names: &[&str]| match deed.act {
        Act::Method(name) => names.contains(&name.as_str()),
        _ => false,
    };
    let locks = |place: &Place| deeds.iter().any(|deed| deed.place == *place && does(deed, &LOCKS));
    deeds.iter().any(|deed| does(deed, &UNLOCKS) && !locks(&deed.place))
}

/// Whether a way through a function unlocks something before it has locked it, and so what its caller holds;
/// itself, or so many calls further down.
fn unlocks_first(cx: &FunctionCx<'_>, func: FuncId, depth: u32) -> bool {
    let unlocks = |deed: &Deed| match deed.act {
        Act::Method(name) => matches!(name.as_str(), "Unlock" | "RUnlock"),
        _ => false,
    };
    let summary = cx.summaries().of(func);
    if !summary.is_some_and(|summary| summary.deeds.iter().any(unlocks)) {
        return false;
    }
    let Some(read) = cx.summaries().read(func) else { return false };
    let below = || {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let function = &read.function;
        function.calls().filter(|(at, _)| at.body == BodyId::OWN).any(|(_, call)| {
            match *function.info.callee(call) {
                Callee::Func(callee) => callee != func && unlocks_first(cx, callee, depth),
                _ => false,
            }
        })
    };
    let effects = &read.effects(BodyId::OWN).effects;
    let does = |effect: &Effect, names: &[&str]| match effect.act {
        Act::Method(name) => effect.mode == Mode::Now && names.contains(&name.as_str()),
        _ => false,
    };
    let steps = |names: &[&str], place: &Place| -> FxHashSet<StepId> {
        let alike = effects.iter().filter(|it| it.place == *place && does(it, names));
        alike.map(|effect| effect.at.step).collect()
    };
    let cfg = &read.function.body(BodyId::OWN).cfg;
    let mut seen: FxHashSet<&Place> = FxHashSet::default();
    effects.iter().filter(|effect| does(effect, &UNLOCKS)).any(|effect| {
        let place = &effect.place;
        seen.insert(place) && {
            // A call that does both leaves things as they were.
            let (locks, unlocks) = (steps(&LOCKS, place), steps(&UNLOCKS, place));
            let only = |one: &FxHashSet<StepId>, other: &FxHashSet<StepId>, step: StepId| {
                one.contains(&step) && !other.contains(&step)
            };
            let gives = |step: StepId| only(&unlocks, &locks, step);
            cfg.begins_without(&gives, &|step| only(&locks, &unlocks, step))
        }
    }) || below()
}

impl Walk for Held<'_, '_> {
    /// Whether the lock is held, and what was decided.
    type State = (bool, Decided);

    fn step(&mut self, (held, decided): &Self::State, step: StepId) -> Passing<Self::State> {
        let mut decided = decided.clone();
        self.conditions.step(&mut decided, step);
        if step == self.lock.at.step && !self.lock.tried {
            return if *held { Passing::Found } else { Passing::On((true, decided)) };
        }
        if *held && Some(step) == self.wanted {
            return Passing::Found;
        }
        let settles = *held && {
            let known = self.settles.get(&step).copied();
            let settles = known.unwrap_or_else(|| self.settles(step));
            self.settles.insert(step, settles);
            settles
        };
        Passing::On((*held && !settles, decided))
    }

    fn edge(&mut self, state: &Self::State, edge: &Edge) -> Option<Self::State> {
        let asked = condition(edge.kind).filter(|_| self.lock.tried);
        let is_try = asked == Some(self.lock.call);
        let takes = is_try && edge.kind.condition().is_some_and(|(_, holds)| holds);
        if !state.0 && !takes && !self.leads.contains(&edge.to) {
            return None;
        }
        *self.edges = self.edges.checked_sub(1 + state.1.len())?;
        // What a call says about the lock may go together with whether it is held.
        let scene = self.scene;
        let mut asks_lock = |condition: ExprId| {
            let asks = || is_of_locks(&scene.text(condition));
            *self.asks_lock.entry(condition).or_insert_with(asks)
        };
        if !is_try && condition(edge.kind).is_some_and(&mut asks_lock) {
            return None;
        }
        let mut next = state.clone();
        next.0 |= takes;
        self.conditions.edge(&mut next.1, edge).then_some(next)
    }

    fn exit(&mut self, (held, _): &Self::State, exit: Exit) -> bool {
        *held && matches!(exit, Exit::Return(_) | Exit::End)
    }
}

fn tell(
    scene: &Scene<'_>,
    lock: &Operation,
    release: &str,
    path: &Path<(bool, Decided)>,
    never: bool,
) -> Finding {
    let cx = &scene.cx;
    let base = scene.text(lock.base);
    let key = lock.key.map(|key| scene.text(key)).unwrap_or_default();
    let name = match lock.key {
        Some(_) => format!("`{base}` of `{key}`"),
        None => format!("`{base}`"),
    };
    let locked = scene.span(Node::Expr(lock.call));
    let last = path.decisions().filter_map(condition).next_back();
    let (left, told) = match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => {
            let left = broken_by(scene, path).filter(|_| !never).unwrap_or(stmt);
            (Some(first_line(scene, scene.span(Node::Stmt(left)))), "left with the lock held")
        }
        PathEnd::Exit(..) => {
            let left = broken_by(scene, path).map(|it| scene.span(Node::Stmt(it)));
            (left, "left with the lock held")
        }
        PathEnd::Step(step) if step != lock.at.step => {
            (turn(scene, lock), "the next turn leaves it locked")
        }
        _ => (turn(scene, lock), "the next turn locks again"),
    };
    let message = match never {
        true => format!("{name} is locked here, and nobody unlocks it"),
        false => format!("{name} is locked here and not unlocked on every way out"),
    };
    let mut finding = cx.finding(locked, "stays locked", message);
    finding.confidence = confidence_of_own(scene);
    if never {
        finding.confidence = finding.confidence.min(Confidence::Medium);
    }
    finding.defect = cx.location(locked);
    let note = |span: Span, role: Role, message: String| Label {
        location: cx.location(span),
        role,
        message,
    };
    if let Some(condition) = last {
        let span = scene.span(Node::Expr(condition));
        finding.labels.push(note(
            first_line(scene, span),
            Role::Condition,
            "decided here".to_owned(),
        ));
    }
    if let Some(left) = left {
        finding.labels.push(note(left, Role::Left, told.to_owned()));
    }
    let others = match never {
        true => "other functions give it back, this one does not",
        false => "another way out gives it back, this one does not",
    };
    finding.why = format!("whoever locks {name} next waits for ever: {others}");
    finding.help = match never {
        true => format!("`defer {base}.{release}()` right after it is locked"),
        false => {
            format!(
                "`defer {base}.{release}({key})` right after it is locked, or unlock on this path too"
            )
        }
    };
    finding
}

/// The last `continue` of the loop that locks, below the lock.
fn turn(scene: &Scene<'_>, lock: &Operation) -> Option<Span> {
    let locked = scene.span(Node::Expr(lock.call));
    let stmts = scene.nodes.iter().filter_map(|&node| match node {
        Node::Stmt(stmt) => Some(stmt),
        _ => None,
    });
    let is_continue = |&stmt: &StmtId| {
        matches!(scene.file.stmt(stmt).kind, StmtKind::Branch { kind: BranchKind::Continue, .. })
    };
    let mut below = stmts
        .filter(is_continue)
        .map(|stmt| scene.span(Node::Stmt(stmt)))
        .filter(|span| span.start > locked.end);
    let first = below.next()?;
    below.next().is_none().then_some(first)
}
