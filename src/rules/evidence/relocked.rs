//! A function that locks what its caller holds.
//!
//! Evidence: a function holds a lock of `sync` that it reaches through a variable, on every way to
//! a call; what it calls is a method of the same variable, or is given it, and locks the same field of
//! it whatever way it goes, itself or in what it calls, unless it refuses an argument at once. The fields that lead to it are
//! not assigned in between (`moved`). The field may
//! also be reached by one that leads back from a part to what the part was taken out of. Or a method
//! calls such a method for its receiver, does not give the lock back, and whoever can call the method
//! holds it. Two readers wait for each other only if a writer comes in between: then the package has to
//! have one.

mod first;
mod kept;
mod moved;
mod spelled;

use rustc_hash::FxHashSet;

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Callee, FuncId};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{
    Locking, Locks, Object, Taken, held_by, locked, tells_of_locks,
};
use crate::rules::evidence::parent::Parents;
use crate::rules::evidence::relocked::first::{
    First, Firsts, Owner, base_of, is_defined_once, may_return_before,
};
use crate::rules::evidence::relocked::spelled::{holder, spelled};
use crate::rules::evidence::runners::Runners;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::{Scene, holds_any};
use crate::rules::{FunctionCx, PackageCx};
use crate::syntax::{ExprId, ExprKind, Node};

/// Reports the locks that are taken again.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !tells_of_locks(package) {
        return;
    }
    let Locking { scenes, locks } = Locking::of(package);
    let mut firsts = Firsts::new(package, &locks);
    let parents = Parents::new(package);
    let runners = Runners::new(package);
    for caller in scenes.iter().filter(|scene| locks.taken.contains_key(&scene.cx.func)) {
        for &(callee, _, call) in locks.calls.get(&caller.cx.func).into_iter().flatten() {
            if caller.is_deferred(call) {
                continue;
            }
            let told = firsts.of(callee).iter().find_map(|first| {
                if may_return_before(caller, call, first) {
                    return None;
                }
                let lock = held(caller, &locks, call, first)
                    .or_else(|| held_of_parent(caller, &locks, &parents, call, first))
                    .filter(|lock| waits(&locks, &runners, lock, &first.lock))?;
                tell(package, &Holder { scene: caller, lock, call }, callee, first)
            });
            findings.extend(told);
        }
    }
    for scene in &scenes {
        kept::check(scene, &locks, &runners, findings);
    }
    let mut seen: FxHashSet<FuncId> = FxHashSet::default();
    for caller in scenes.iter().filter(|scene| locks.taken.contains_key(&scene.cx.func)) {
        for &(func, _, _) in locks.calls.get(&caller.cx.func).into_iter().flatten() {
            if !seen.insert(func) || !firsts.of(func).is_empty() {
                continue;
            }
            let cx = FunctionCx { package: *package, func };
            if let Some(through) = Scene::new(cx) {
                let known = (&scenes[..], &*locks, &runners);
                check_through(package, known, &mut firsts, &through, findings);
            }
        }
    }
}

/// Reports the locks that a method takes again in another one that it calls for its receiver, where all
/// who can call the first hold them: it is not exported.
fn check_through<'a>(
    package: &PackageCx<'a>,
    (scenes, locks, runners): (&[Scene<'a>], &Locks, &Runners<'_, 'a>),
    firsts: &mut Firsts<'_, 'a>,
    through: &Scene<'a>,
    findings: &mut Vec<Finding>,
) {
    let Some(receiver) = through.receiver() else { return };
    if through.name.name.is_exported() {
        return;
    }
    for &node in through.nodes.iter() {
        let Node::Expr(call) = node else { continue };
        let Callee::Func(callee) = *through.info.callee(call) else { continue };
        let found = firsts.of(callee);
        let Some(first) = found.iter().find(|first| first.owner == Owner::Receiver) else {
            continue;
        };
        let base = through.method_call(call).and_then(|(base, _)| through.local(base));
        if base != Some(receiver) || may_return_before(through, call, first) {
            continue;
        }
        if through.runs_in_turn(None, call)
            && !gives_before(through, locks, call, first)
            && let Some(holder) = held_by_all(package, scenes, locks, through, first)
            && waits(locks, runners, &holder.lock, &first.lock)
        {
            let mut first = first.clone();
            first.calls.insert(0, (through.cx.func, call, callee));
            findings.extend(tell(package, &holder, through.cx.func, &first));
        }
    }
}

/// Whether a method may have given back the lock of its caller when it makes a call.
fn gives_before(scene: &Scene<'_>, locks: &Locks, call: ExprId, first: &First) -> bool {
    let Some(cfg) = scene.graph(None) else { return false };
    let at = cfg.step_of_expr(call);
    at.is_some_and(|at| locks.given_before(scene, &cfg, first.lock.object, at))
}

/// Whether who holds a lock may wait for it when it takes it again.
fn waits(locks: &Locks, runners: &Runners<'_, '_>, held: &Taken, again: &Taken) -> bool {
    !held.reads || !again.reads || locks.has_writer(runners, held.object)
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
        calls.filter_map(move |&(_, _, call)| {
            let lock = held(scene, locks, call, first)?;
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

/// The lock that a caller holds at a call of a function that takes it again.
fn held(caller: &Scene<'_>, locks: &Locks, call: ExprId, first: &First) -> Option<Taken> {
    if !locks.takes_itself(caller.cx.func, first.lock.object) {
        return None;
    }
    let object = first.lock.object;
    if first.owner == Owner::Package {
        let held = held_by(caller, locks, call);
        return held.into_iter().find(|taken| taken.object == object);
    }
    let base = first.owner.given(caller, call)?;
    let path = first.owner.promoted(caller, call) + &first.path;
    held_through(caller, locks, call, object, (base, &path))
}

/// As [`held`], where the function reaches the lock by a field that leads back from what it is called
/// for to what the caller took that out of: `s.mu` at `part.close()`, which locks `part.s.mu`.
fn held_of_parent(
    caller: &Scene<'_>,
    locks: &Locks,
    parents: &Parents<'_, '_>,
    call: ExprId,
    first: &First,
) -> Option<Taken> {
    if !locks.takes_itself(caller.cx.func, first.lock.object) {
        return None;
    }
    let part = first.owner.given(caller, call)?;
    let path = first.path.strip_prefix('.')?;
    let (back, rest) = path.split_at(path.find('.')?);
    let read = caller.cx.summaries().read(caller.cx.func)?;
    let owner = parents.of(caller, &read.function, part, back)?;
    held_through(caller, locks, call, first.lock.object, (owner, rest))
}

/// The lock that a caller holds at a call and reaches from an expression by such fields.
fn held_through(
    caller: &Scene<'_>,
    locks: &Locks,
    call: ExprId,
    object: Object,
    (base, path): (ExprId, &str),
) -> Option<Taken> {
    let read = caller.cx.summaries().read(caller.cx.func)?;
    let once = is_defined_once(&read.function, root_variable(caller, base)?);
    let wanted = spelled(caller, base) + path;
    held_by(caller, locks, call).into_iter().find(|taken| {
        once && taken.object == object
            && base_of(caller, taken)
                .is_some_and(|base| spelled(caller, base) + &holder(caller, taken.call) == wanted)
            && !moved::leads_elsewhere(caller, locks, base, (taken.call, call))
    })
}

fn tell<'a>(
    package: &PackageCx<'a>,
    holder: &Holder<'_, 'a>,
    called: FuncId,
    first: &First,
) -> Option<Finding> {
    let open = |func| Scene::new(FunctionCx { package: *package, func });
    let Holder { scene: caller, lock, call } = holder;
    let waiter = open(first.by)?;
    let how = match lock.reads && first.lock.reads {
        true => " behind a writer",
        false => "",
    };
    let message = format!(
        "`{}` calls `{}` with `{}` locked, and `{}` waits for it{how}",
        caller.name.name,
        package.index.func(called).name,
        locked(caller, lock),
        waiter.name.name
    );
    let span = first_line(caller, caller.span(Node::Expr(*call)));
    let mut finding = caller.cx.finding(span, "never returns", message);
    finding.confidence = confidence(&waiter);
    finding.labels.push(Label {
        location: lock.location,
        role: Role::Context,
        message: format!("`{}` is locked here", locked(caller, lock)),
    });
    let decided = |finding: &mut Finding, scene: &Scene<'_>| {
        for &(_, condition) in first.asked.results.iter().filter(|(func, _)| *func == scene.cx.func)
        {
            finding.labels.push(Label {
                location: scene.cx.location(first_line(scene, scene.span(Node::Expr(condition)))),
                role: Role::Condition,
                message: "decided here".to_owned(),
            });
        }
    };
    for &(func, call, callee) in &first.calls {
        let scene = open(func)?;
        decided(&mut finding, &scene);
        let name = package.index.func(callee).name;
        finding.labels.push(Label {
            location: scene.cx.location(first_line(&scene, scene.span(Node::Expr(call)))),
            role: Role::Context,
            message: format!("`{name}` is called with the lock held"),
        });
    }
    decided(&mut finding, &waiter);
    finding.defect = waiter.cx.location(waiter.span(Node::Expr(first.lock.call)));
    finding.labels.push(Label {
        location: finding.defect,
        role: Role::Stuck,
        message: format!("`{}` is locked again here", locked(&waiter, &first.lock)),
    });
    finding.why = kept::WHY.to_owned();
    finding.help = "give it back before the call, or call a variant that does not lock".to_owned();
    Some(finding)
}
