//! Waiting for somebody under a lock that he needs before he comes.
//!
//! Evidence: a send or receive with nothing beside but the end of all (`arms`), or `Wait` of a counter, is reached
//! with a lock held on every way to it, by its function or by one that calls it; whoever would end the wait (all
//! receivers of the channel in their loops, all who send or close before they do, or a goroutine
//! before its `Done`, or that the counter has started) takes the same lock, itself or in a function
//! that it calls (one that only others run takes it again in each turn: `turns`); or the only receiver does when it
//! learns that it is to leave, or each receiver when it has left its loop for reasons of its own (`departing`). Or a server serves under the lock that all who end it take
//! before (`served`); or who waits for a caller from outside has the lock that the method takes which ends
//! the object (`closers`); or who is sent to from a list takes itself out of it (`registered`); or who calls a method
//! receives what its goroutine sends under a lock that he may want himself (`lent`). Who calls may do so
//! through an interface of the package. Room of a constant size counts as taken where several may call the
//! function that sends, and it asks for nothing that it keeps account of nor takes a turn before (`reserved`); room of
//! `len(x)` suffices: it is made for one value of each element.

pub(super) mod arms;
mod carried;
mod closers;
mod departing;
mod lent;
mod registered;
mod reserved;
mod room;
mod served;
mod turns;

use crate::catalog::{Base, Blocking, Callback, Called, Place, Wait};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Step, StepId};
use crate::index::{Callee, Def, FuncId, LocalKind};
use crate::rules::evidence::groups::{Act, Group, Groups, Op, tells_of_channels};
use crate::rules::evidence::leaver::is_done;
use crate::rules::evidence::locks::{
    Locking, Locks, MAX_CALLS, Object, Taken, gives_back, held_at, locked, may_give_back, object,
    taken, tells_of_locks,
};
use crate::rules::evidence::under_lock::room::{asks_room, has_room_for_all, is_counted};
use crate::rules::evidence::{confidence, first_line, wait_group};
use crate::rules::recurrence::is_once;
use crate::rules::scene::{Scene, outside_tests};
use crate::rules::{FunctionCx, PackageCx};
use crate::source::{Location, Span};
use crate::summary::{self, Source, facts};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, UnaryOp};
pub(super) use room::{asked_above, may_fill};

/// Reports the waits under a lock.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !tells_of_locks(package) && !tells_of_channels(package) {
        return;
    }
    let Locking { scenes, locks } = Locking::of(package);
    if scenes.is_empty() {
        return;
    }
    let groups = Groups::of(package);
    for group in groups.all() {
        check_group(&groups, group, &scenes, &locks, findings);
    }
    closers::check(&groups, &locks, findings);
    registered::check(&groups, &locks, findings);
    lent::check(&groups, &locks, findings);
    check_counters(package, &scenes, &locks, findings);
    served::check(package, &scenes, &locks, findings);
}

/// A lock that is held at a wait, and who holds it if that is a caller of the function that waits.
#[derive(Clone, Copy)]
struct Held {
    lock: Taken,
    /// The scene of the caller, and its call.
    caller: Option<(usize, ExprId)>,
}

/// The locks that are held at an operation on a channel by its function, or by one that calls it.
fn held_around(
    groups: &Groups<'_>,
    scenes: &[Scene<'_>],
    locks: &Locks,
    op: &Op,
) -> Option<Vec<Held>> {
    let scene = &groups.scenes[op.scene];
    let cfg = scene.graph(op.literal)?;
    let at = scene.step_of(&cfg, op.node)?;
    let own = held_at(scene, locks, op.literal, &cfg, at);
    let mut held: Vec<Held> = own.into_iter().map(|lock| Held { lock, caller: None }).collect();
    if op.literal.is_some() {
        return Some(held);
    }
    held.extend(held_by_callers(scenes, locks, scene));
    Some(held)
}

/// The locks that are held where a function is called, as long as it does not give them back.
fn held_by_callers(scenes: &[Scene<'_>], locks: &Locks, scene: &Scene<'_>) -> Vec<Held> {
    let mut held = Vec::new();
    for (place, caller) in scenes.iter().enumerate() {
        let named = locks.calls.get(&caller.cx.func).into_iter().flatten();
        let dispatched = locks.dispatched.get(&caller.cx.func).into_iter().flatten();
        for &(callee, literal, call) in named.chain(dispatched) {
            if callee == scene.cx.func
                && callee != caller.cx.func
                && !caller.is_deferred(call)
                && let Some(cfg) = caller.graph(literal)
                && let Some(at) = cfg.step_of_expr(call)
            {
                let around = held_at(caller, locks, literal, &cfg, at).into_iter();
                let kept = around.filter(|lock| !may_give_back(scene, lock.object));
                held.extend(kept.map(|lock| Held { lock, caller: Some((place, call)) }));
            }
        }
    }
    held
}

fn check_group<'a>(
    groups: &Groups<'a>,
    group: &Group,
    scenes: &[Scene<'a>],
    locks: &Locks,
    findings: &mut Vec<Finding>,
) {
    let sizes: Vec<Option<u64>> = group.sizes().collect();
    if group.open || sizes.is_empty() {
        return;
    }
    let unbuffered = sizes.iter().all(|&size| size == Some(0));
    // Room whose size is computed may all be taken.
    let constant = sizes.iter().any(|size| size.is_some_and(|size| size > 0));
    let with = |acts: &[Act]| -> Vec<&Op> {
        group.ops.iter().filter(|op| acts.contains(&op.act)).collect()
    };
    let receivers = with(&[Act::Receive, Act::Range]);
    let senders = with(&[Act::Send, Act::Close]);
    let is_filled = |send: &Op| match constant {
        true => may_fill(groups, send, &receivers),
        false => !is_counted(groups, group) && !asks_room(&groups.scenes[send.scene], send),
    };
    let first = findings.len();
    for wait in group.ops.iter().filter(|op| arms::stays(groups, op)) {
        let (others, who) = match wait.act {
            Act::Send if has_room_for_all(groups, group, wait) => continue,
            Act::Send if unbuffered || is_filled(wait) => (&receivers, "its receiver"),
            Act::Receive => (&senders, "who ends this"),
            _ => continue,
        };
        if others.is_empty()
            || others.iter().any(|op| op.scene == wait.scene)
            || wait.act == Act::Send && reserved::are_many(groups, others)
        {
            continue;
        }
        for held in held_around(groups, scenes, locks, wait).unwrap_or_default() {
            // Of a caller that is far away nobody knows how much room it leaves, nor of who has a lock
            // that is not for the channel.
            let apart = held.caller.is_some()
                || !of_same_value(&groups.scenes[wait.scene], wait, &held.lock);
            if apart && wait.act == Act::Send && !unbuffered {
                continue;
            }
            let sends = wait.act == Act::Send && held.caller.is_none();
            if sends && reserved::has_turn(groups, (group, wait), others, &held.lock) {
                continue;
            }
            // A reader that comes while a writer waits has to wait, too.
            let written = held.lock.reads.then(|| written_at(groups, locks, &held.lock)).flatten();
            let lock = Taken { reads: held.lock.reads && written.is_none(), ..held.lock };
            let needs = |op: &&Op| match wait.act {
                Act::Send => needs_between(groups, op, locks, &lock)
                    .or_else(|| receives_under(groups, op, locks, &lock))
                    .or_else(|| {
                        let own = held.caller.is_none();
                        own.then(|| carried::needs(groups, wait, op, locks, &lock)).flatten()
                    }),
                _ => needs_before(groups, op, locks, &held.lock),
            };
            let all_need = || others.iter().map(needs).collect::<Option<Vec<Location>>>();
            let goes_for_it = || {
                // What makes the receiver leave frees who looks at it, too.
                (wait.act == Act::Send && !apart && wait.select.is_none())
                    .then(|| Leaving { groups, group, locks, lock: &held.lock }.needs(wait, others))
                    .flatten()
            };
            let departs = || {
                let known = held.caller.is_none_or(|(place, call)| {
                    let caller = &scenes[place];
                    let receiver = caller.method_call(call);
                    receiver.is_some_and(|(receiver, _)| is_owner(caller, receiver, &held.lock))
                });
                (wait.act == Act::Send && unbuffered && known)
                    .then(|| departing::needs(groups, others, locks, &held.lock))
                    .flatten()
            };
            let needs = all_need().map(|all| all[0]).or_else(goes_for_it);
            let (needs, when) = match needs {
                Some(needs) => (needs, BEFORE),
                None => match departs() {
                    Some(needs) => (needs, "when it has left its loop"),
                    None => continue,
                },
            };
            let scene = &groups.scenes[wait.scene];
            // Whoever calls the function is looked for in the whole run: asked last.
            if wait.act == Act::Send
                && constant
                && is_once(&scene.cx.package, scene.cx.func, wait.node)
            {
                break;
            }
            let verb = if wait.act == Act::Send { "send on" } else { "receive from" };
            let what = format!("this {verb} `{}`", scene.text(wait.channel));
            let who = format!("{who} in `{}`", groups.scenes[others[0].scene].name.name);
            let span = first_line(scene, wait.span(scene));
            let holder = match held.caller {
                None => scene,
                Some((place, _)) => &scenes[place],
            };
            let other = Other { who: &who, when, needs };
            let mut finding = tell(scene, holder, span, &held.lock, &what, &other);
            finding.labels.extend(arms::ends(groups, wait).into_iter().map(|end| Label {
                location: scene.cx.location(scene.span(Node::Expr(end))),
                role: Role::Context,
                message: "both stay until this ends all".to_owned(),
            }));
            if let Some(location) = written.filter(|_| when == BEFORE) {
                let message = "a reader waits behind who waits here to write".to_owned();
                finding.labels.push(Label { location, role: Role::Context, message });
            }
            if let Some((place, call)) = held.caller {
                tell_caller(&mut finding, (&scenes[place], call), scene, &held.lock, &what, &other);
            }
            if let Some(room) = sizes.iter().flatten().max().filter(|&&room| room > 0)
                && wait.act == Act::Send
            {
                finding.why = format!(
                    "neither of the two can go on once both have come this far and the room for {room} is full"
                );
            }
            // Who else waits for the same is of the same fault.
            let is_same = |told: &&Finding| told.labels.iter().any(|label| label.location == needs);
            if let Some(told) = findings[first..].iter().find(is_same) {
                finding.defect = told.defect;
            }
            findings.push(finding);
            break;
        }
    }
}

/// A receiver that learns that it is to leave, and takes the lock of who sends before it receives once
/// more or returns.
struct Leaving<'l, 'a> {
    groups: &'l Groups<'a>,
    group: &'l Group,
    locks: &'l Locks,
    lock: &'l Taken,
}

impl Leaving<'_, '_> {
    /// Where the receiver takes the lock, if it is the only goroutine that receives. What makes it leave must not
    /// come after somebody has had the lock: he may have told the sender.
    fn needs(&self, send: &Op, receivers: &[&Op]) -> Option<Location> {
        let first = receivers.first()?;
        let scene = &self.groups.scenes[first.scene];
        let alone = receivers.iter().all(|op| op.same_body(first))
            && self.groups.is_started(scene, first.literal);
        if !alone || !of_same_value(&self.groups.scenes[send.scene], send, self.lock) {
            return None;
        }
        let cfg = scene.graph(first.literal)?;
        let receives: Vec<StepId> =
            receivers.iter().filter_map(|op| op.step(scene, &cfg)).collect();
        let wanted =
            Wanted { locks: self.locks, lock: self.lock, depth: MAX_CALLS, apart: &|_| false };
        receivers.iter().find_map(|op| {
            let (select, place) = op.select?;
            let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
            clauses.iter().enumerate().find_map(|(index, clause)| {
                let comm = clause.comm.filter(|_| index as u32 != place)?;
                let channel = Step::Comm(comm).received_from(scene.file)?;
                let arm = cfg.step_of_stmt(comm)?;
                let taken = cfg.steps().find_map(|step| {
                    let location = taken_at(scene, cfg.step(step), &wanted)?;
                    let comes = cfg.reaches_without(arm, step, &|step| receives.contains(&step));
                    comes.then_some(location)
                })?;
                self.comes_unannounced(first.scene, channel).then_some(taken)
            })
        })
    }

    /// Whether what an arm waits for comes from somebody of the package who has not had the lock
    /// before.
    fn comes_unannounced(&self, scene: usize, channel: ExprId) -> bool {
        let at = &self.groups.scenes[scene];
        // Whose cancel function it is nobody says: it may be any that the package calls.
        let every: Vec<Scene<'_>> = match is_done(at, channel) {
            true => outside_tests(&at.cx.package, &["()"]).filter_map(Scene::new).collect(),
            false => Vec::new(),
        };
        let mut causes: Vec<(&Scene<'_>, ExprId)> = Vec::new();
        if let Some(group) = self.groups.of_expr(scene, channel) {
            if group.open || std::ptr::eq(group, self.group) {
                return false;
            }
            for op in &group.ops {
                match (op.act, op.node) {
                    (Act::Close, Node::Expr(call)) => {
                        causes.push((&self.groups.scenes[op.scene], call));
                    }
                    (Act::Send | Act::Notify, _) => return false,
                    _ => {}
                }
            }
        } else if is_done(at, channel) {
            for scene in &every {
                let ends = scene.nodes.iter().filter_map(|&node| match node {
                    Node::Expr(call) if is_cancel(scene, call) => Some((scene, call)),
                    _ => None,
                });
                causes.extend(ends);
            }
        }
        let unannounced = |&(scene, call): &(&Scene<'_>, ExprId)| {
            let literal = scene.literal_around(Node::Expr(call));
            let Some(cfg) = scene.graph(literal) else { return false };
            let Some(end) = scene.step_of(&cfg, Node::Expr(call)) else { return false };
            let wanted =
                Wanted { locks: self.locks, lock: self.lock, depth: MAX_CALLS, apart: &|_| false };
            let none = |step| taken_at(scene, cfg.step(step), &wanted).is_none();
            cfg.steps().all(|step| none(step) || !cfg.reaches(step, end))
        };
        !causes.is_empty() && causes.iter().all(unannounced)
    }
}

/// Whether a call is one of a context's cancel function.
fn is_cancel(scene: &Scene<'_>, call: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return false };
    matches!(scene.info.callee(call), Callee::Value(_))
        && scene.info.type_of(callee).is_named("context", "CancelFunc")
}

/// Where a method takes a lock to write that is held to read.
fn written_at(groups: &Groups<'_>, locks: &Locks, lock: &Taken) -> Option<Location> {
    let scene = groups.scenes.first()?;
    let index = scene.cx.index();
    let methods = index.package(scene.cx.package.package).funcs.iter();
    let methods = methods.filter(|func| func.receiver.is_some());
    let taken = methods.filter_map(|func| locks.taken.get(&func.id)).flatten();
    let mut writes = taken.filter(|taken| taken.object == lock.object && !taken.reads);
    writes.next().map(|taken| taken.location)
}

/// Whether a lock and a channel are fields of the same value, as the code writes them.
fn of_same_value(scene: &Scene<'_>, op: &Op, lock: &Taken) -> bool {
    scene.selector(op.channel).is_none_or(|(owner, _)| is_owner(scene, owner, lock))
}

/// Whether a lock is a field of a value, or embedded in it, as the code writes them.
fn is_owner(scene: &Scene<'_>, value: ExprId, lock: &Taken) -> bool {
    let Some((locked, _)) = scene.method_call(lock.call) else { return false };
    let holder = scene.selector(locked).map_or(locked, |(base, _)| base);
    let value = scene.text(value);
    value == scene.text(holder) || value == scene.text(locked)
}

/// Where a receiver has taken the lock, and has it still when it receives.
fn receives_under(groups: &Groups<'_>, op: &Op, locks: &Locks, lock: &Taken) -> Option<Location> {
    let scene = &groups.scenes[op.scene];
    let cfg = scene.graph(op.literal)?;
    let at = op.step(scene, &cfg)?;
    let held = held_at(scene, locks, op.literal, &cfg, at).into_iter();
    let excluding = held.filter(|held| held.object == lock.object && !(held.reads && lock.reads));
    excluding.map(|held| held.location).find(|location| *location != lock.location)
}

/// Where a goroutine takes the lock before it sends or closes; what it defers to a literal comes after all
/// that follows the `defer`.
fn needs_before(groups: &Groups<'_>, op: &Op, locks: &Locks, lock: &Taken) -> Option<Location> {
    let scene = &groups.scenes[op.scene];
    let wanted = Wanted { locks, lock, depth: MAX_CALLS, apart: &|_| false };
    let before = |literal: Option<ExprId>, end: Node| {
        let cfg = scene.graph(literal)?;
        let end = scene.step_of(&cfg, end)?;
        if groups.is_started(scene, literal) {
            return locked_before(scene, &cfg, end, &wanted, &[]);
        }
        (literal.is_none() && turns::is_for_others(&scene.cx))
            .then(|| turns::locked_before(scene, &cfg, end, &wanted))
            .flatten()
    };
    let deferred = || {
        let literal = op.literal?;
        let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return None };
        let stmt = scene.parent(Node::Expr(call)).filter(|_| scene.is_deferred(call))?;
        before(scene.literal_around(stmt), stmt)
    };
    before(op.literal, op.node).or_else(deferred)
}

/// A lock that somebody holds who waits.
struct Wanted<'w> {
    locks: &'w Locks,
    lock: &'w Taken,
    /// How many calls deep it is looked for.
    depth: u32,
    /// The functions that are left out.
    apart: &'w dyn Fn(FuncId) -> bool,
}

/// Where a step takes a lock that is held elsewhere, itself or in a function that it calls.
fn taken_at(scene: &Scene<'_>, step: Step, wanted: &Wanted<'_>) -> Option<Location> {
    let &Wanted { locks, lock, depth, apart } = wanted;
    let Step::Call(call) = step else { return None };
    let location = match taken(scene, call) {
        Some(own) => (own.excludes(lock) && (lock.linked || !own.linked)).then_some(own.location),
        None => match scene.info.callee(call) {
            Callee::Func(func) if !apart(*func) => {
                locks.takes(&scene.cx.package, *func, lock, depth)
            }
            _ => None,
        },
    };
    location.filter(|needs| *needs != lock.location)
}

/// Where a body takes a lock on a way to a step, or after it if the step is a `defer`; on a way from one of
/// `counted`, if there are any.
fn locked_before(
    scene: &Scene<'_>,
    cfg: &Cfg,
    end: StepId,
    wanted: &Wanted<'_>,
    counted: &[StepId],
) -> Option<Location> {
    let deferred = matches!(cfg.step(end), Step::Defer(_));
    cfg.steps().find_map(|step| {
        let location = taken_at(scene, cfg.step(step), wanted)?;
        let before = if deferred { cfg.reaches(end, step) } else { cfg.reaches(step, end) };
        let counts = counted.is_empty() || counted.iter().any(|&from| cfg.reaches(from, step));
        (before && counts).then_some(location)
    })
}

/// Where a receiver takes the lock between one receive and the next.
fn needs_between(groups: &Groups<'_>, op: &Op, locks: &Locks, lock: &Taken) -> Option<Location> {
    let scene = &groups.scenes[op.scene];
    let cfg = scene.graph(op.literal)?;
    // A `select` comes round by its other arms, too.
    let receive = match op.select {
        Some((select, _)) => cfg.step_of_stmt(select)?,
        None => op.step(scene, &cfg)?,
    };
    if !cfg.reaches(receive, receive) {
        return None;
    }
    let wanted = Wanted { locks, lock, depth: MAX_CALLS, apart: &|_| false };
    cfg.steps().find_map(|step| {
        let location = taken_at(scene, cfg.step(step), &wanted)?;
        (cfg.reaches(receive, step) && cfg.reaches(step, receive)).then_some(location)
    })
}

/// `Wait` of a counter under a lock that a goroutine takes before its `Done`, or that one takes which the
/// counter has started.
fn check_counters<'a>(
    package: &PackageCx<'a>,
    scenes: &[Scene<'a>],
    locks: &Locks,
    findings: &mut Vec<Finding>,
) {
    let mut starters: Option<Vec<Scene<'a>>> = None;
    for scene in scenes {
        for &node in scene.nodes.iter() {
            let Node::Expr(call) = node else { continue };
            let Some(counter) = awaited(scene, call) else { continue };
            let literal = scene.literal_around(node);
            let Some(cfg) = scene.graph(literal) else { continue };
            let Some(at) = scene.step_of(&cfg, node) else { continue };
            let is_deferred = scene.is_deferred(call);
            let own = held_at(scene, locks, literal, &cfg, at).into_iter();
            let own = own
                .filter(|lock| !is_deferred || is_held_at_the_end(scene, &cfg, lock.object, at))
                .map(|lock| Held { lock, caller: None });
            let of_callers = || match literal.is_none() && is_of_receiver(scene, &cfg, call) {
                true => held_by_callers(scenes, locks, scene),
                false => Vec::new(),
            };
            let of_callers = std::iter::once_with(of_callers).flatten().filter(|held| {
                held.caller.is_some_and(|(place, call)| {
                    let of = scenes[place].method_call(call);
                    of.is_some_and(|(of, _)| is_owner(&scenes[place], of, &held.lock))
                })
            });
            for held in own.chain(of_callers) {
                let wait = CounterWait { scene, locks, counter, lock: &held.lock };
                let started = || {
                    let open =
                        || outside_tests(package, &[".Go("]).filter_map(Scene::new).collect();
                    wait.started_with_lock(starters.get_or_insert_with(open))
                };
                if let Some((who, needs)) = wait.done_after_lock(scenes).or_else(started) {
                    let what = format!("`{}`", scene.text(call));
                    let span = scene.span(node);
                    let other = Other { who: &who, when: BEFORE, needs };
                    let holder = held.caller.map_or(scene, |(place, _)| &scenes[place]);
                    let mut finding = tell(scene, holder, span, &held.lock, &what, &other);
                    if let Some((_, call)) = held.caller {
                        tell_caller(&mut finding, (holder, call), scene, &held.lock, &what, &other);
                    }
                    findings.push(finding);
                    break;
                }
            }
        }
    }
}

/// Whether a method waits for a counter of its receiver, whatever it is given beside.
fn is_of_receiver(scene: &Scene<'_>, cfg: &Cfg, wait: ExprId) -> bool {
    let given = |node: Node| {
        let Node::Expr(expr) = node else { return false };
        let local = scene.local(expr).map(|local| scene.info.local(local).kind);
        matches!(local, Some(LocalKind::Param(_)))
    };
    let mut asked = cfg.steps().filter_map(|step| match cfg.step(step) {
        Step::Eval(asked) => Some(asked),
        _ => None,
    });
    scene.method_call(wait).is_some_and(|(counter, _)| scene.is_of_receiver(counter))
        && !asked.any(|asked| scene.file.descendants(Node::Expr(asked)).any(given))
}

/// Whether a lock that is held where a call is deferred is still held when that call is made: it is given
/// back by another that was deferred before, and so is made later, and by nothing else.
fn is_held_at_the_end(scene: &Scene<'_>, cfg: &Cfg, lock: Object, deferred: StepId) -> bool {
    let gives = scene.nodes.iter().filter_map(|&node| match node {
        Node::Expr(call) if gives_back(scene, call, lock) => {
            Some((scene.step_of(cfg, node)?, scene.is_deferred(call)))
        }
        _ => None,
    });
    let mut gives = gives.peekable();
    gives.peek().is_some() && gives.all(|(step, later)| later && cfg.dominates(step, deferred))
}

/// The field of a counter that a call waits for: a `sync.WaitGroup`, or whatever else the catalog says starts
/// goroutines and waits for them.
fn awaited(scene: &Scene<'_>, call: ExprId) -> Option<Object> {
    counter(scene, call, "Wait").or_else(|| {
        let ExprKind::Call { .. } = scene.file.expr(call).kind else { return None };
        let facts = facts(scene.cx.catalog(), scene.cx.index(), scene.info.callee(call));
        let waits = facts.in_force::<Blocking>(scene.cx.versions())?;
        let (base, _) = scene.method_call(call)?;
        (waits.wait == Wait::Goroutines && waits.context.is_none() && scene.args(call).is_empty())
            .then(|| field(scene, base))
            .flatten()
    })
}

/// The field that an expression selects, or of which a variable is all along.
fn field(scene: &Scene<'_>, base: ExprId) -> Option<Object> {
    let named = scene.local(base).and_then(|variable| {
        let read = scene.cx.summaries().read(scene.cx.func)?;
        let Source::Expr(given) = read.function.only_definition_of(variable)?.source else {
            return None;
        };
        match scene.file.expr(scene.file.unparen(given)).kind {
            ExprKind::Unary { op: UnaryOp::Addr, operand } => Some(operand),
            _ => Some(given),
        }
    });
    match object(scene, named.unwrap_or(base))? {
        Object::Field(at) => Some(Object::Field(at)),
        Object::Embedded(_) | Object::Global(_) => None,
    }
}

/// The counter of a call `x.Wait()`, `x.Add(n)` or `x.Done()`.
fn counter(scene: &Scene<'_>, call: ExprId, method: &str) -> Option<Object> {
    field(scene, wait_group::of_call(scene, call, method)?)
}

/// What a counter runs in a goroutine of its own: a call `x.Go(f)`, and the function that `f` is.
fn counted(scene: &Scene<'_>, call: ExprId, wanted: Object) -> Option<ExprId> {
    let ExprKind::Call { .. } = scene.file.expr(call).kind else { return None };
    let (base, _) = scene.method_call(call)?;
    let facts = facts(scene.cx.catalog(), scene.cx.index(), scene.info.callee(call));
    let mut callbacks = facts.all_in_force::<Callback>(scene.cx.versions());
    let started = callbacks.find(|fact| fact.called == Called::Goroutine)?;
    let [Place { base: Base::Param(place), field: None, .. }] = started.params[..] else {
        return None;
    };
    (field(scene, base)? == wanted).then_some(())?;
    scene.args(call).get(place as usize).map(|&given| scene.file.unparen(given))
}

/// `Wait` of a counter under a lock.
struct CounterWait<'w, 'a> {
    /// The function that waits.
    scene: &'w Scene<'a>,
    locks: &'w Locks,
    /// What it waits for.
    counter: Object,
    /// What it holds there.
    lock: &'w Taken,
}

impl CounterWait<'_, '_> {
    /// The expressions of all functions but the one that waits.
    fn elsewhere<'s, 'a>(
        &self,
        scenes: &'s [Scene<'a>],
    ) -> impl Iterator<Item = (&'s Scene<'a>, ExprId)> {
        let waiting = self.scene.cx.func;
        let others = scenes.iter().filter(move |scene| scene.cx.func != waiting);
        let exprs = |scene: &'s Scene<'a>| {
            scene.nodes.iter().filter_map(move |&node| match node {
                Node::Expr(expr) => Some((scene, expr)),
                _ => None,
            })
        };
        others.flat_map(exprs)
    }

    /// Who takes the lock in a goroutine that the counter has started, and that it waits for: its name, and where.
    fn started_with_lock(&self, scenes: &[Scene<'_>]) -> Option<(String, Location)> {
        self.elsewhere(scenes).find_map(|(scene, call)| {
            let given = run_by(scene, counted(scene, call, self.counter)?);
            let apart = |func: FuncId| func == self.scene.cx.func;
            let needed = Wanted { locks: self.locks, lock: self.lock, depth: 0, apart: &apart };
            let takes = |scene: &Scene<'_>, cfg: &Cfg| {
                cfg.steps().find_map(|step| taken_at(scene, cfg.step(step), &needed))
            };
            match scene.file.expr(given).kind {
                ExprKind::FuncLit(_) => {
                    let needs = takes(scene, &*scene.graph(Some(given))?)?;
                    Some((format!("the goroutine that `{}` starts", scene.name.name), needs))
                }
                _ => {
                    let Def::Method(func, _) = *scene.info.resolve(given) else { return None };
                    let body = (func.package == scene.cx.func.package)
                        .then(|| Scene::new(FunctionCx { func, ..scene.cx }))??;
                    let needs = takes(&body, &*body.graph(None)?)?;
                    Some((format!("`{}`", body.name.name), needs))
                }
            }
        })
    }

    /// Who counts down only after it has taken the lock: its name, and where.
    fn done_after_lock(&self, scenes: &[Scene<'_>]) -> Option<(String, Location)> {
        self.elsewhere(scenes).find_map(|(scene, call)| {
            if counter(scene, call, "Done")? != self.counter {
                return None;
            }
            let literal = scene.literal_around(Node::Expr(call));
            let cfg = scene.graph(literal)?;
            let done = scene.step_of(&cfg, Node::Expr(call))?;
            // Who runs the waiting function itself has an understanding with it.
            let apart = |func: FuncId| counts_up(scenes, func, self.counter);
            let needed =
                Wanted { locks: self.locks, lock: self.lock, depth: MAX_CALLS, apart: &apart };
            // Who is not counted yet is not waited for.
            let counted = scene.nodes.iter().filter_map(|&node| match node {
                Node::Expr(call) if counter(scene, call, "Add") == Some(self.counter) => {
                    cfg.step_of_expr(call)
                }
                _ => None,
            });
            let counted: Vec<StepId> = counted.collect();
            let needs = locked_before(scene, &cfg, done, &needed, &counted).or_else(|| {
                // Who was counted before it was started is waited for from its first step on.
                let counted = counted.is_empty() && literal.is_none();
                (counted && self.is_started_counted(scenes, scene))
                    .then(|| turns::locked_first(scene, &cfg, done, &needed))
                    .flatten()
            })?;
            Some((format!("`{}`", scene.name.name), needs))
        })
    }

    /// Whether a function is started by one that counts up.
    fn is_started_counted(&self, scenes: &[Scene<'_>], started: &Scene<'_>) -> bool {
        scenes.iter().any(|scene| {
            scene.starts(started.cx.func).next().is_some()
                && counts_up(scenes, scene.cx.func, self.counter)
        })
    }
}

/// The function that is run where one is given: itself, or what a function of the package makes of it that
/// calls it.
fn run_by(scene: &Scene<'_>, given: ExprId) -> ExprId {
    let wrapped = || {
        let Callee::Func(wrapper) = *scene.info.callee(given) else { return None };
        let &[only] = scene.args(given) else { return None };
        let summary = scene.cx.summaries().of(wrapper)?;
        let own = summary::Place::root(summary::Root::Param(0));
        let called = |deed: &summary::Deed| deed.place == own && deed.act == summary::Act::Called;
        summary.deeds.iter().any(called).then(|| scene.file.unparen(only))
    };
    match scene.file.expr(given).kind {
        ExprKind::Call { .. } => wrapped().unwrap_or(given),
        _ => given,
    }
}

/// Whether a function adds to the counter: it is not counted yet when it takes the lock.
fn counts_up(scenes: &[Scene<'_>], func: FuncId, wanted: Object) -> bool {
    scenes.iter().filter(|scene| scene.cx.func == func).any(|scene| {
        scene.nodes.iter().any(|&node| match node {
            Node::Expr(call) => counter(scene, call, "Add") == Some(wanted),
            _ => false,
        })
    })
}

/// Who would end a wait and takes the lock: when, and where.
struct Other<'o> {
    who: &'o str,
    when: &'o str,
    needs: Location,
}

const BEFORE: &str = "before it gets there";

/// Who holds the lock while it calls a function that waits has the fault, and can mend it.
fn tell_caller(
    finding: &mut Finding,
    (caller, call): (&Scene<'_>, ExprId),
    scene: &Scene<'_>,
    lock: &Taken,
    what: &str,
    &Other { who, when, .. }: &Other<'_>,
) {
    finding.message = format!(
        "`{}` calls `{}` with `{name}` locked: {what} waits, and {who} takes `{name}` {when}",
        caller.name.name,
        scene.name.name,
        name = locked(caller, lock),
    );
    let location = caller.cx.location(first_line(caller, caller.span(Node::Expr(call))));
    let location = std::mem::replace(&mut finding.primary, location);
    let message = std::mem::replace(&mut finding.primary_label, "never returns".into());
    finding.labels.push(Label { location, role: Role::Stuck, message });
}

fn tell(
    scene: &Scene<'_>,
    holder: &Scene<'_>,
    span: Span,
    lock: &Taken,
    what: &str,
    &Other { who, when, needs }: &Other<'_>,
) -> Finding {
    let name = locked(holder, lock);
    let it = if holder.cx.func == scene.cx.func { "it" } else { "its caller" };
    let message =
        format!("{what} waits while {it} holds `{name}`, and {who} takes `{name}` {when}");
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: lock.location,
        role: Role::Context,
        message: format!("`{name}` is locked here"),
    });
    finding.labels.push(Label {
        location: needs,
        role: Role::Context,
        message: "the other side locks it here".to_owned(),
    });
    finding.why = "neither of the two can go on once both have come this far".to_owned();
    finding.help = format!("give `{name}` back before waiting");
    finding
}
