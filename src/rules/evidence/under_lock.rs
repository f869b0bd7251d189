//! Waiting for somebody under a lock that he needs before he comes.
//!
//! Evidence: a send with nothing beside, or `Wait` of a counter, is reached with a lock held on
//! every way to it; whoever would end the wait (all receivers of the channel in their loops, or a
//! goroutine before its `Done`) takes the same lock, itself or in a function that it calls.

use rustc_hash::FxHashMap;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Callee, Def, FuncId, QualifiedName};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::{Scene, holds_any};
use crate::rules::{FunctionCx, PackageCx};
use crate::source::{Location, Span};
use crate::summary::BodyId;
use crate::syntax::{ExprId, ExprKind, Node};

/// Reports the waits under a lock.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let scenes = locking_scenes(package);
    if scenes.is_empty() {
        return;
    }
    let locks = Locks::of(&scenes);
    let groups = Groups::of(package);
    for group in groups.all() {
        check_group(&groups, group, &locks, findings);
    }
    check_counters(&scenes, &locks, findings);
}

fn locking_scenes<'a>(package: &PackageCx<'a>) -> Vec<Scene<'a>> {
    let funcs = &package.index.package(package.package).funcs;
    funcs
        .iter()
        .filter_map(|func| {
            let cx = FunctionCx { package: *package, func: func.id };
            let test = package.index.is_in_test_file(func.id);
            let speaks = !test && holds_any(&cx, &["Lock()", ".Wait()", ".Done()"]);
            if speaks { Scene::new(cx) } else { None }
        })
        .collect()
}

/// A lock, or a counter: a field, or what a type embeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Object {
    Field(Location),
    Embedded(QualifiedName),
}

/// Which locks the functions of a package take.
struct Locks {
    /// By function: the lock, where, and whether it is shared with other readers.
    taken: FxHashMap<FuncId, Vec<Taken>>,
    /// Whom a function calls.
    calls: FxHashMap<FuncId, Vec<(FuncId, Option<ExprId>, ExprId)>>,
}

#[derive(Clone, Copy)]
struct Taken {
    object: Object,
    call: ExprId,
    literal: Option<ExprId>,
    location: Location,
    reads: bool,
}

/// How many calls deep a lock is looked for.
const MAX_CALLS: u32 = 2;

impl Locks {
    fn of(scenes: &[Scene<'_>]) -> Locks {
        let mut locks = Locks { taken: FxHashMap::default(), calls: FxHashMap::default() };
        for scene in scenes {
            let func = scene.cx.func;
            for &node in scene.nodes.iter() {
                let Node::Expr(call) = node else { continue };
                let ExprKind::Call { .. } = scene.file.expr(call).kind else { continue };
                if let Some(taken) = taken(scene, call) {
                    locks.taken.entry(func).or_default().push(taken);
                } else if let Callee::Func(callee) = scene.info.callee(call)
                    && scene.go_of(call).is_none()
                {
                    let literal = scene.literal_around(node);
                    locks.calls.entry(func).or_default().push((*callee, literal, call));
                }
            }
        }
        locks
    }

    /// Where a function takes a lock, on its first step with it.
    fn takes(&self, func: FuncId, object: Object, reads: bool, depth: u32) -> Option<Location> {
        let own = self.taken.get(&func).and_then(|all| {
            all.iter().find(|taken| {
                taken.object == object && taken.literal.is_none() && !(reads && taken.reads)
            })
        });
        if let Some(own) = own {
            return Some(own.location);
        }
        let depth = depth.checked_sub(1)?;
        self.calls
            .get(&func)?
            .iter()
            .filter(|(callee, literal, _)| *callee != func && literal.is_none())
            .find_map(|(callee, _, _)| self.takes(*callee, object, reads, depth))
    }
}

/// A call of `Lock` or `RLock`.
fn taken(scene: &Scene<'_>, call: ExprId) -> Option<Taken> {
    let (base, name) = scene.method_call(call)?;
    let reads = match name.name.as_str() {
        "Lock" => false,
        "RLock" => true,
        _ => return None,
    };
    if scene.is_deferred(call) || scene.go_of(call).is_some() || !scene.args(call).is_empty() {
        return None;
    }
    Some(Taken {
        object: object(scene, base)?,
        call,
        literal: scene.literal_around(Node::Expr(call)),
        location: scene.cx.location(scene.span(Node::Expr(call))),
        reads,
    })
}

/// What `x` of `x.Lock()` or `x.Wait()` is.
fn object(scene: &Scene<'_>, base: ExprId) -> Option<Object> {
    let base = scene.file.unparen(base);
    if let Def::Field(selection) = scene.info.resolve(base) {
        return selection.location.map(Object::Field);
    }
    let ty = scene.info.type_of(base).strip_pointer();
    let named = ty.named().map(|named| named.qualified())?;
    let own = named.path == scene.cx.index().package(scene.cx.package.package).path;
    own.then_some(Object::Embedded(named))
}

/// The locks that are held on every way to a step, by the step that takes them.
fn held_at(
    scene: &Scene<'_>,
    locks: &Locks,
    literal: Option<ExprId>,
    cfg: &Cfg,
    at: StepId,
) -> Vec<Taken> {
    let all = locks.taken.get(&scene.cx.func).map_or(&[][..], Vec::as_slice);
    all.iter()
        .filter(|taken| taken.literal == literal)
        .filter(|taken| {
            let Some(step) = cfg.step_of_expr(taken.call) else { return false };
            cfg.dominates(step, at) && keeps(scene, cfg, taken, step, at)
        })
        .copied()
        .collect()
}

/// Whether a lock is still held at a step, whatever way leads there from where it is taken.
fn keeps(scene: &Scene<'_>, cfg: &Cfg, taken: &Taken, from: StepId, to: StepId) -> bool {
    struct Unlocked<'u> {
        to: StepId,
        unlocks: &'u [StepId],
        lock: StepId,
    }
    impl Walk for Unlocked<'_> {
        /// Whether it was given back.
        type State = bool;
        fn step(&mut self, given: &bool, step: StepId) -> Passing<bool> {
            match step {
                step if step == self.to && *given => Passing::Found,
                step if step == self.lock => Passing::Drop,
                step => Passing::On(*given || self.unlocks.contains(&step)),
            }
        }
        fn exit(&mut self, _: &bool, _: Exit) -> bool {
            false
        }
    }
    let unlocks: Vec<StepId> = cfg
        .steps()
        .filter(|&step| {
            let Step::Call(call) = cfg.step(step) else { return false };
            scene.method_call(call).is_some_and(|(base, name)| {
                matches!(name.name.as_str(), "Unlock" | "RUnlock")
                    && object(scene, base).is_none_or(|object| object == taken.object)
            })
        })
        .collect();
    let mut walk = Unlocked { to, unlocks: &unlocks, lock: from };
    cfg.search(Start::After(from), false, &mut walk).is_empty()
}

fn body_of(scene: &Scene<'_>, literal: Option<ExprId>) -> Option<BodyId> {
    let read = scene.cx.summaries().read(scene.cx.func)?;
    match literal {
        None => Some(BodyId::OWN),
        Some(literal) => read.function.body_of_literal(literal),
    }
}

fn check_group(groups: &Groups<'_>, group: &Group, locks: &Locks, findings: &mut Vec<Finding>) {
    let full = group.ops.iter().filter_map(|op| match op.act {
        Act::Make(size) => Some(size),
        _ => None,
    });
    let mut full = full.peekable();
    if group.open || full.peek().is_none() || full.any(|size| size.is_some_and(|size| size > 0)) {
        return;
    }
    let receives: Vec<&Op> =
        group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range)).collect();
    for send in group.ops.iter().filter(|op| op.act == Act::Send && op.select.is_none()) {
        let scene = &groups.scenes[send.scene];
        let Some(read) = scene.cx.summaries().read(scene.cx.func) else { continue };
        let Some(body) = body_of(scene, send.literal) else { continue };
        let cfg = &read.function.body(body).cfg;
        let Some(at) = scene.step_of(cfg, send.node) else { continue };
        for lock in held_at(scene, locks, send.literal, cfg, at) {
            let needs: Option<Vec<Location>> =
                receives.iter().map(|op| needs_between(groups, op, locks, &lock)).collect();
            let others = receives.iter().all(|op| op.scene != send.scene);
            if let Some(needs) = needs.filter(|needs| others && !needs.is_empty()) {
                let what = format!("this send on `{}`", scene.text(send.channel));
                let span = first_line(scene, send.span(scene));
                let receiver = &groups.scenes[receives[0].scene];
                let who = format!("its receiver in `{}`", receiver.name.name);
                findings.push(tell(scene, span, &lock, &what, &who, needs[0]));
                break;
            }
        }
    }
}

/// Where a receiver takes the lock between one receive and the next.
fn needs_between(groups: &Groups<'_>, op: &Op, locks: &Locks, lock: &Taken) -> Option<Location> {
    let scene = &groups.scenes[op.scene];
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let cfg = &read.function.body(body_of(scene, op.literal)?).cfg;
    let receive = match op.node {
        Node::Stmt(stmt) => cfg.step_of_stmt(stmt)?,
        node => scene.step_of(cfg, node)?,
    };
    if !cfg.reaches(receive, receive) {
        return None;
    }
    cfg.steps().find_map(|step| {
        let Step::Call(call) = cfg.step(step) else { return None };
        let location = match taken(scene, call) {
            Some(own) => {
                (own.object == lock.object && !(own.reads && lock.reads)).then_some(own.location)
            }
            None => match scene.info.callee(call) {
                Callee::Func(func) => locks.takes(*func, lock.object, lock.reads, MAX_CALLS),
                _ => None,
            },
        }
        .filter(|needs| *needs != lock.location)?;
        (cfg.reaches(receive, step) && cfg.reaches(step, receive)).then_some(location)
    })
}

/// `Wait` of a counter under a lock that a goroutine takes before its `Done`.
fn check_counters(scenes: &[Scene<'_>], locks: &Locks, findings: &mut Vec<Finding>) {
    for scene in scenes {
        for &node in scene.nodes.iter() {
            let Node::Expr(call) = node else { continue };
            let Some(counter) = counter(scene, call, "Wait") else { continue };
            let literal = scene.literal_around(node);
            let Some(read) = scene.cx.summaries().read(scene.cx.func) else { continue };
            let Some(body) = body_of(scene, literal) else { continue };
            let cfg = &read.function.body(body).cfg;
            let Some(at) = cfg.step_of_expr(call) else { continue };
            for lock in held_at(scene, locks, literal, cfg, at) {
                if let Some((who, needs)) = done_after_lock(scenes, scene, locks, counter, &lock) {
                    let what = format!("`{}`", scene.text(call));
                    let span = scene.span(node);
                    findings.push(tell(scene, span, &lock, &what, &who, needs));
                    break;
                }
            }
        }
    }
}

/// The counter of a call `x.Wait()` or `x.Done()`.
fn counter(scene: &Scene<'_>, call: ExprId, method: &str) -> Option<Object> {
    let ExprKind::Call { .. } = scene.file.expr(call).kind else { return None };
    let (base, name) = scene.method_call(call)?;
    let is_group = scene.info.type_of(base).strip_pointer().is_named("sync", "WaitGroup");
    if name.name.as_str() != method || !is_group {
        return None;
    }
    match object(scene, base)? {
        Object::Field(at) => Some(Object::Field(at)),
        Object::Embedded(_) => None,
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

/// Who counts down only after it has taken the lock: its name, and where.
fn done_after_lock(
    scenes: &[Scene<'_>],
    waiter: &Scene<'_>,
    locks: &Locks,
    wanted: Object,
    lock: &Taken,
) -> Option<(String, Location)> {
    scenes.iter().filter(|scene| scene.cx.func != waiter.cx.func).find_map(|scene| {
        let read = scene.cx.summaries().read(scene.cx.func)?;
        scene.nodes.iter().find_map(|&node| {
            let Node::Expr(call) = node else { return None };
            if counter(scene, call, "Done")? != wanted {
                return None;
            }
            let literal = scene.literal_around(node);
            let cfg = &read.function.body(body_of(scene, literal)?).cfg;
            let done = scene.step_of(cfg, node)?;
            let deferred = matches!(cfg.step(done), Step::Defer(_));
            let needs = cfg.steps().find_map(|step| {
                let Step::Call(call) = cfg.step(step) else { return None };
                let location = match taken(scene, call) {
                    Some(own) => (own.object == lock.object && !(own.reads && lock.reads))
                        .then_some(own.location),
                    None => match scene.info.callee(call) {
                        // Who runs the waiting function itself has an understanding with it.
                        Callee::Func(func) if !counts_up(scenes, *func, wanted) => {
                            locks.takes(*func, lock.object, lock.reads, 0)
                        }
                        _ => None,
                    },
                }
                .filter(|needs| *needs != lock.location)?;
                let before = match deferred {
                    true => cfg.reaches(done, step),
                    false => cfg.reaches(step, done),
                };
                before.then_some(location)
            })?;
            Some((format!("`{}`", scene.name.name), needs))
        })
    })
}

fn tell(
    scene: &Scene<'_>,
    span: Span,
    lock: &Taken,
    what: &str,
    who: &str,
    needs: Location,
) -> Finding {
    let name = scene.method_call(lock.call).map_or_else(String::new, |(base, _)| scene.text(base));
    let message = format!(
        "{what} waits while it holds `{name}`, and {who} takes `{name}` before it gets there"
    );
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
