//! A method that locks what its caller holds.
//!
//! Evidence: a function holds a lock of `sync` that it reaches through a variable, on every way to
//! a call; what it calls is a method of the same variable, and before all else locks the same field of
//! its receiver, unless it refuses an argument at once. Or a method calls it for its receiver, does not
//! give the lock back, and whoever can call that method holds it. Two readers wait for each other only
//! if a writer comes in between: then the package has to have one.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Start, StepId, Walk};
use crate::index::{Callee, Def, FuncId, LocalId, LocalKind};
use crate::rules::conditions::locals_in;
use crate::rules::evidence::left_locked::{reaches_without, root_variable};
use crate::rules::evidence::locks::{
    Locking, Locks, Taken, fields, gives_back, held_at, locked, may_give_back,
};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::{Scene, holds_any};
use crate::rules::{FunctionCx, PackageCx};
use crate::summary::{BodyId, Function};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// Reports the locks that are taken again.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let Locking { scenes, locks } = Locking::of(package);
    let with_first =
        scenes.iter().filter_map(|scene| Some((scene.cx.func, (scene, First::of(scene, &locks)?))));
    let first: FxHashMap<FuncId, (&Scene<'_>, First)> = with_first.collect();
    for caller in &scenes {
        for &(callee, literal, call) in locks.calls.get(&caller.cx.func).into_iter().flatten() {
            let Some((callee, first)) = first.get(&callee) else { continue };
            if caller.is_deferred(call) || may_return_before(caller, call, first) {
                continue;
            }
            if let Some(lock) = held(caller, &locks, literal, call, first)
                && waits(&locks, &lock, &first.lock)
            {
                let holder = Holder { scene: caller, lock, call };
                findings.push(tell(callee, &holder, None, &first.lock));
            }
        }
    }
    let mut seen: FxHashSet<FuncId> = FxHashSet::default();
    for caller in scenes.iter().filter(|scene| locks.taken.contains_key(&scene.cx.func)) {
        for &(func, _, _) in locks.calls.get(&caller.cx.func).into_iter().flatten() {
            if first.contains_key(&func) || !seen.insert(func) {
                continue;
            }
            let cx = FunctionCx { package: *package, func };
            if let Some(through) = Scene::new(cx) {
                check_through(package, &scenes, &locks, &first, &through, findings);
            }
        }
    }
}

/// Reports the locks that a method takes again in another one that it calls for its receiver, where all
/// who can call the first hold them: it is not exported.
fn check_through<'a>(
    package: &PackageCx<'a>,
    scenes: &[Scene<'a>],
    locks: &Locks,
    first: &FxHashMap<FuncId, (&Scene<'a>, First)>,
    through: &Scene<'a>,
    findings: &mut Vec<Finding>,
) {
    let Some(receiver) = through.receiver() else { return };
    if through.name.name.is_exported() {
        return;
    }
    for &node in through.nodes.iter() {
        let Node::Expr(call) = node else { continue };
        let Callee::Func(callee) = through.info.callee(call) else { continue };
        let Some((callee, first)) = first.get(callee) else { continue };
        let base = through.method_call(call).and_then(|(base, _)| through.local(base));
        if base != Some(receiver) || may_return_before(through, call, first) {
            continue;
        }
        let runs_there = through.literal_around(node).is_none()
            && !through.is_deferred(call)
            && through.go_of(call).is_none();
        if runs_there
            && !may_give_back(through, first.lock.object)
            && let Some(holder) = held_by_all(package, scenes, locks, through, first)
            && waits(locks, &holder.lock, &first.lock)
        {
            findings.push(tell(callee, &holder, Some((through, call)), &first.lock));
        }
    }
}

/// Whether who holds a lock may wait for it when it takes it again.
fn waits(locks: &Locks, held: &Taken, again: &Taken) -> bool {
    !held.reads || !again.reads || has_writer(locks, held)
}

/// Who holds a lock when it calls a method.
struct Holder<'s, 'a> {
    scene: &'s Scene<'a>,
    lock: Taken,
    call: ExprId,
}

/// One of those who hold a lock when they call a method, if all do that name it, also where the type of
/// what they name it of is not known.
fn held_by_all<'s, 'a>(
    package: &PackageCx<'a>,
    scenes: &'s [Scene<'a>],
    locks: &Locks,
    called: &Scene<'a>,
    first: &First,
) -> Option<Holder<'s, 'a>> {
    let mut holders = scenes.iter().flat_map(|scene| {
        let calls = locks.calls.get(&scene.cx.func).into_iter().flatten();
        let calls = calls
            .filter(|&&(callee, _, call)| callee == called.cx.func && !scene.is_deferred(call));
        calls.filter_map(move |&(_, literal, call)| {
            let lock = held(scene, locks, literal, call, first)?;
            Some(Holder { scene, lock, call })
        })
    });
    let holder = holders.next()?;
    let held = 1 + holders.count();
    let name = called.name.name.as_str();
    let funcs = package.index.package(package.package).funcs.iter();
    let named = funcs.filter_map(|func| {
        let cx = FunctionCx { package: *package, func: func.id };
        let scene = holds_any(&cx, &[name]).then(|| Scene::new(cx)).flatten()?;
        Some(scene.nodes.iter().filter(|&&node| names(&scene, node, name)).count())
    });
    (named.sum::<usize>() == held).then_some(holder)
}

/// Whether an expression selects a method, or a field, of this name.
fn names(scene: &Scene<'_>, node: Node, name: &str) -> bool {
    let Node::Expr(expr) = node else { return false };
    match scene.file.expr(expr).kind {
        ExprKind::Selector { name: selected, .. } => selected.name.as_str() == name,
        _ => false,
    }
}

/// The lock of its receiver that a method takes before all else.
struct First {
    lock: Taken,
    /// The fields from the receiver to the lock, as they are written: `.mu`.
    path: String,
    /// The parameters of which some values make it return before.
    asked: Vec<u32>,
}

impl First {
    fn of(scene: &Scene<'_>, locks: &Locks) -> Option<First> {
        let receiver = scene.receiver()?;
        let all = locks.taken.get(&scene.cx.func)?;
        let read = scene.cx.summaries().read(scene.cx.func)?;
        let cfg = &read.function.body(BodyId::OWN).cfg;
        all.iter().filter(|taken| taken.literal.is_none()).find_map(|taken| {
            let base = base_of(scene, taken)?;
            let step = cfg.step_of_expr(taken.call)?;
            let own = root_variable(scene, base) == Some(Some(receiver));
            let path = fields(scene, base);
            let once = read.function.definitions_of(receiver).count() == 1;
            if !own || !once || gives_back_before(scene, cfg, taken, step) {
                return None;
            }
            let asked = asked_before(scene, &read.function, cfg, step, receiver)?;
            Some(First { lock: *taken, path, asked })
        })
    }
}

/// What is locked, if it is a lock of `sync`.
fn base_of(scene: &Scene<'_>, taken: &Taken) -> Option<ExprId> {
    let (base, _) = scene.method_call(taken.call)?;
    let ty = scene.info.type_of(base).strip_pointer();
    let direct = ty.is_named("sync", "Mutex") || ty.is_named("sync", "RWMutex");
    let promoted = || {
        let callee = scene.info.callee(taken.call).qualified(scene.cx.index());
        callee.is_some_and(|name| name.path.as_str() == "sync")
    };
    (direct || promoted()).then_some(base)
}

/// If every way through the method passes the lock, but for those on which there is no receiver, and
/// those that a comparison of a parameter with a constant ends with a `return` right away: these
/// parameters.
fn asked_before<'a>(
    scene: &Scene<'a>,
    function: &Function<'a>,
    cfg: &Cfg,
    lock: StepId,
    receiver: LocalId,
) -> Option<Vec<u32>> {
    struct Without<'w, 'a> {
        scene: &'w Scene<'a>,
        function: &'w Function<'a>,
        lock: StepId,
        receiver: LocalId,
        asked: Vec<u32>,
    }
    impl Walk for Without<'_, '_> {
        type State = ();
        fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
            if step == self.lock { Passing::Drop } else { Passing::On(()) }
        }
        fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
            let EdgeKind::True(asked) = edge.kind else { return Some(()) };
            if let Some(parameter) = ends_at_once(self.scene, asked, self.receiver) {
                self.asked.push(parameter);
                return None;
            }
            let file = self.function.file;
            let compares = file.descendants(Node::Expr(asked)).any(|node| match node {
                Node::Expr(expr) => matches!(self.function.info.resolve(expr), Def::Nil),
                _ => false,
            });
            let own = locals_in(self.function, Node::Expr(asked)) == [self.receiver];
            let plain = file.descendants(Node::Expr(asked)).count() == 3;
            (!(compares && own && plain)).then_some(())
        }
        fn passes_missing(&self) -> bool {
            true
        }
        fn exit(&mut self, (): &(), _: Exit) -> bool {
            true
        }
    }
    let mut walk = Without { scene, function, lock, receiver, asked: Vec::new() };
    (!cfg.finds(Start::Entry, (), &mut walk)).then_some(walk.asked)
}

/// The parameter that a condition compares with a constant, or with nil, where the function returns at
/// once if that is so, and without a look at its receiver.
fn ends_at_once(scene: &Scene<'_>, asked: ExprId, receiver: LocalId) -> Option<u32> {
    let ExprKind::Binary { left, right, .. } = scene.file.expr(scene.file.unparen(asked)).kind
    else {
        return None;
    };
    let parameter = |expr: ExprId| {
        let local = scene.info.locals().get(scene.local(expr)?.0 as usize)?;
        match local.kind {
            LocalKind::Param(place) => Some(place),
            _ => None,
        }
    };
    let parameter = match (parameter(left), parameter(right)) {
        (Some(place), None) if is_fixed(scene, right) => place,
        (None, Some(place)) if is_fixed(scene, left) => place,
        _ => return None,
    };
    let around = scene.around(Node::Expr(asked)).find_map(|node| match node {
        Node::Stmt(stmt) => Some(stmt),
        _ => None,
    })?;
    let StmtKind::If { then, .. } = scene.file.stmt(around).kind else { return None };
    let StmtKind::Block(body) = &scene.file.stmt(then).kind else { return None };
    let [only] = body[..] else { return None };
    let returns = matches!(scene.file.stmt(only).kind, StmtKind::Return(_));
    (returns && !scene.mentions(Node::Stmt(only), receiver)).then_some(parameter)
}

/// Whether an expression is a constant, or nil.
fn is_fixed(scene: &Scene<'_>, expr: ExprId) -> bool {
    scene.is_nil(expr) || scene.info.constant(expr).is_some()
}

/// Whether the method first gives back what it locks: it is called with the lock held.
fn gives_back_before(scene: &Scene<'_>, cfg: &Cfg, taken: &Taken, lock: StepId) -> bool {
    scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        gives_back(scene, call, taken.object)
            && !scene.is_deferred(call)
            && cfg.step_of_expr(call).is_some_and(|unlock| {
                reaches_without(cfg, &|step| step == unlock, &|step| step == lock)
            })
    })
}

/// Whether a method may return before it locks, for what it is given here.
fn may_return_before(scene: &Scene<'_>, call: ExprId, first: &First) -> bool {
    first.asked.iter().any(|&place| {
        let given = scene.args(call).get(place as usize);
        given.is_none_or(|&given| is_fixed(scene, given))
    })
}

/// The lock that a caller holds at a call of a method that takes it again.
fn held(
    caller: &Scene<'_>,
    locks: &Locks,
    literal: Option<ExprId>,
    call: ExprId,
    first: &First,
) -> Option<Taken> {
    let own = locks.taken.get(&caller.cx.func)?;
    own.iter().find(|taken| taken.object == first.lock.object)?;
    let (base, _) = caller.method_call(call)?;
    let read = caller.cx.summaries().read(caller.cx.func)?;
    let cfg = &read.function.body(read.function.body_of(literal)?).cfg;
    let at = cfg.step_of_expr(call)?;
    let variable = root_variable(caller, base)?;
    let once = variable.is_none_or(|variable| read.function.definitions_of(variable).count() == 1);
    let wanted = caller.text(base) + &first.path;
    held_at(caller, locks, literal, cfg, at).into_iter().find(|taken| {
        once && taken.object == first.lock.object
            && base_of(caller, taken).is_some_and(|base| caller.text(base) == wanted)
    })
}

/// Whether a function of the package locks for writing.
fn has_writer(locks: &Locks, lock: &Taken) -> bool {
    locks.taken.values().flatten().any(|taken| taken.object == lock.object && !taken.reads)
}

fn tell<'a>(
    callee: &Scene<'a>,
    holder: &Holder<'_, 'a>,
    through: Option<(&Scene<'a>, ExprId)>,
    again: &Taken,
) -> Finding {
    let Holder { scene: caller, lock, call } = holder;
    let name = locked(callee, again);
    let span = callee.span(Node::Expr(again.call));
    let how = match lock.reads && again.reads {
        true => "it already holds for reading, while a writer waits",
        false => "it already holds",
    };
    let (waiter, holder) = (callee.name.name, caller.name.name);
    let message = format!("`{waiter}` waits for `{name}`, which {how}: `{holder}` has locked it");
    let mut finding = callee.cx.finding(span, "stays here", message);
    finding.confidence = confidence(callee);
    finding.labels.push(Label {
        location: lock.location,
        role: Role::Context,
        message: format!("`{}` is locked here", locked(caller, lock)),
    });
    let called = through.map_or(callee, |(through, _)| through);
    let mut calls = vec![(*caller, *call, called.name.name)];
    calls.extend(through.map(|(through, call)| (through, call, callee.name.name)));
    for (scene, call, name) in calls {
        finding.labels.push(Label {
            location: scene.cx.location(first_line(scene, scene.span(Node::Expr(call)))),
            role: Role::Context,
            message: format!("`{name}` is called with the lock held"),
        });
    }
    finding.why =
        "a lock does not know who holds it: the same goroutine waits for itself".to_owned();
    finding.help = "give it back before the call, or call a variant that does not lock".to_owned();
    finding
}
