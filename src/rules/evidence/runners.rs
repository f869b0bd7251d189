//! Who runs a method of the package: who has the object alone, one goroutine of it, or anybody.
//!
//! Locks and counts that could meet in two functions do not meet where one of them runs before anybody else has
//! the object, or both in the same goroutine, or one after the end of the goroutine that runs the other.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::index::{Builtin, Callee, FuncId, LocalId};
use crate::rules::PackageCx;
use crate::rules::bound::made_by;
use crate::rules::evidence::locks::{Object, object};
use crate::rules::recurrence::begins_with;
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::summary::{At, Definition, Function, Source};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// One who runs a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Runner {
    /// Who has the object alone: has just made it, or has taken it out of where others find it.
    Alone,
    /// The goroutine that this `go` statement starts once for an object.
    Goroutine(Location),
    /// Somebody who has waited for this counter of the object before.
    After(Object),
}

/// Who runs the methods of a package, as far as somebody asked.
pub(super) struct Runners<'p, 'a> {
    package: &'p PackageCx<'a>,
    known: RefCell<FxHashMap<FuncId, Option<Rc<FxHashSet<Runner>>>>>,
    /// The counters that goroutines count down when they end, by the `go` statements.
    counted: RefCell<FxHashMap<Location, Option<Object>>>,
}

/// First words of the names of methods that begin what an object does, which is done once.
const BEGINNINGS: [&str; 3] = ["start", "run", "serve"];

/// How many calls up those who run a method are looked for.
const MAX_CALLERS: u32 = 4;

impl<'p, 'a> Runners<'p, 'a> {
    pub fn new(package: &'p PackageCx<'a>) -> Runners<'p, 'a> {
        Runners { package, known: RefCell::default(), counted: RefCell::default() }
    }

    /// Whether a function by its name makes an object ready, before others have it.
    pub fn makes_ready(&self, func: FuncId) -> bool {
        begins_with(self.package.index.func(func).name.as_str(), &["init", "setup"])
    }

    /// Whether whoever runs a method has its object alone.
    pub fn alone(&self, func: FuncId) -> bool {
        let runners = self.of(func);
        runners.is_some_and(|all| all.iter().all(|runner| *runner == Runner::Alone))
    }

    /// Whether two methods of one object never run at the same time: in one goroutine only, or the one when the
    /// goroutines of the other are over.
    pub fn in_turn(&self, one: FuncId, other: FuncId) -> bool {
        let (Some(one), Some(other)) = (self.of(one), self.of(other)) else { return false };
        let goroutines: FxHashSet<&Runner> = one
            .iter()
            .chain(other.iter())
            .filter(|runner| !matches!(runner, Runner::Alone))
            .collect();
        let single = goroutines.len() == 1
            && goroutines.iter().all(|runner| matches!(runner, Runner::Goroutine(_)));
        single || self.comes_after(&one, &other) || self.comes_after(&other, &one)
    }

    /// Whether some run only when a counter says that the goroutines of others are over.
    fn comes_after(&self, late: &FxHashSet<Runner>, early: &FxHashSet<Runner>) -> bool {
        let counted = self.counted.borrow();
        late.iter().all(|late| match late {
            Runner::After(counter) => early.iter().all(|early| match early {
                Runner::Goroutine(go) => counted.get(go).copied().flatten() == Some(*counter),
                Runner::Alone => true,
                Runner::After(_) => false,
            }),
            _ => false,
        })
    }

    /// Who runs a method; `None` for anybody.
    fn of(&self, func: FuncId) -> Option<Rc<FxHashSet<Runner>>> {
        if let Some(known) = self.known.borrow().get(&func) {
            return known.clone();
        }
        let mut found = FxHashSet::default();
        let all = self.collect(func, MAX_CALLERS, &mut found);
        let runners = (all && !found.is_empty()).then(|| Rc::new(found));
        self.known.borrow_mut().insert(func, runners.clone());
        runners
    }

    /// Adds those who run a method; returns whether they are known.
    fn collect(&self, func: FuncId, depth: u32, found: &mut FxHashSet<Runner>) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let declared = self.package.index.func(func);
        if declared.name.is_exported() || declared.receiver.is_none() {
            return false;
        }
        let uses = self.package.uses();
        let calls = uses.calls.get(&func).map_or(&[][..], Vec::as_slice);
        calls.len() == self.package.named_outside_tests(func).len()
            && calls.iter().all(|&(caller, call)| {
                Scene::of(self.package, caller)
                    .is_some_and(|scene| self.collect_call(&scene, call, depth, found))
            })
    }

    /// Adds those who make a call of a method.
    fn collect_call(
        &self,
        scene: &Scene<'_>,
        call: ExprId,
        depth: u32,
        found: &mut FxHashSet<Runner>,
    ) -> bool {
        let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
        let base = scene.method_call(call).and_then(|(base, _)| scene.local(base));
        let (Some(base), Some(at)) = (base, read.function.at_call(call)) else { return false };
        let Some(go) = started_by(scene, call) else { return false };
        if let Some(go) = go {
            let is_new = |it: &Definition| is_new(scene, it);
            let once = scene.loops_around(go).is_empty()
                && (read.function.only_definition_of(base).is_some_and(is_new)
                    || scene.receiver() == Some(base)
                        && begins_with(scene.name.name.as_str(), &BEGINNINGS));
            let place = scene.cx.location(scene.span(go));
            if once {
                let counter = self.counter_of(scene, go, call);
                self.counted.borrow_mut().insert(place, counter);
                found.insert(Runner::Goroutine(place));
            }
            return once;
        }
        if is_alone(scene, &read.function, base, at)
            || is_unshared(scene, &read.function, base, call)
        {
            found.insert(Runner::Alone);
            return true;
        }
        if scene.receiver() != Some(base) {
            return false;
        }
        if let Some(counter) = awaited_before(scene, base, call) {
            found.insert(Runner::After(counter));
            return true;
        }
        self.collect(scene.cx.func, depth, found)
    }

    /// The counter that a goroutine defers to count down.
    fn counter_of(&self, scene: &Scene<'_>, go: Node, call: ExprId) -> Option<Object> {
        let counted = |scene: &Scene<'_>, literal: Option<ExprId>| {
            scene.nodes.iter().find_map(|&node| {
                let Node::Expr(call) = node else { return None };
                let (base, name) = scene.method_call(call)?;
                let done = name.name.as_str() == "Done" && scene.is_deferred(call);
                (done && scene.literal_around(node) == literal).then(|| object(scene, base))?
            })
        };
        match scene.go_of(call) {
            Some(stmt) if Node::Stmt(stmt) == go => {
                let Callee::Func(callee) = *scene.info.callee(call) else { return None };
                counted(&Scene::of(self.package, callee)?, None)
            }
            _ => counted(scene, scene.literal_around(Node::Expr(call))),
        }
    }
}

/// The `go` statement that starts the goroutine in which a call is made; `Some(None)` if the function makes the
/// call itself, and `None` if nobody knows.
fn started_by(scene: &Scene<'_>, call: ExprId) -> Option<Option<Node>> {
    if let Some(go) = scene.go_of(call) {
        return scene.literal_around(Node::Expr(call)).is_none().then_some(Some(Node::Stmt(go)));
    }
    let mut at = Node::Expr(call);
    while let Some(literal) = scene.literal_around(at) {
        if let Some(go) = scene.go_around(literal) {
            return scene.literal_around(Node::Stmt(go)).is_none().then_some(Some(Node::Stmt(go)));
        }
        let called = scene.parent(Node::Expr(literal)).filter(|around| {
            matches!(around, Node::Expr(call) if scene.is_deferred(*call)
                && matches!(scene.info.callee(*call), Callee::Literal(own) if *own == literal))
        })?;
        at = called;
    }
    Some(None)
}

/// Whether all values that a variable may have at a step have just been made, or taken out of where others would
/// find them.
pub(super) fn is_alone(
    scene: &Scene<'_>,
    function: &Function<'_>,
    variable: LocalId,
    at: At,
) -> bool {
    let (definitions, known) = function.reaching(variable, at);
    let taken =
        |it: &&Definition| function.taken_from(it).is_some_and(|from| is_taken_out(scene, from));
    known && !definitions.is_empty() && definitions.iter().all(taken)
}

/// Whether what a variable holds at a call has been made by the function, and nobody else can have it yet: before
/// the call it is named only to select something of it, and nothing is started.
pub(super) fn is_unshared(
    scene: &Scene<'_>,
    function: &Function<'_>,
    variable: LocalId,
    call: ExprId,
) -> bool {
    let Some(at) = function.at_call(call) else { return false };
    let (definitions, known) = function.reaching(variable, at);
    if !known || definitions.is_empty() || !definitions.iter().all(|it| is_new(scene, it)) {
        return false;
    }
    let cfg = &function.body(at.body).cfg;
    let after_made =
        |step| definitions.iter().any(|it| it.at.is_some_and(|made| cfg.reaches(made.step, step)));
    let before = |node: Node| {
        let step = match scene.literal_below(function.body(at.body).literal, node) {
            Some(literal) => cfg.step_of_expr(literal),
            None => scene.step_of(cfg, node),
        };
        step.is_none_or(|step| step != at.step && after_made(step) && cfg.reaches(step, at.step))
    };
    !scene.uses(variable).any(|used| before(Node::Expr(used)) && !is_selected(scene, used))
}

/// Whether an expression is only what something is selected of, by a function that starts nothing.
fn is_selected(scene: &Scene<'_>, used: ExprId) -> bool {
    let Some(Node::Expr(selector)) = scene.parent(Node::Expr(used)) else { return false };
    if scene.selector(selector).is_none_or(|(base, _)| scene.file.unparen(base) != used) {
        return false;
    }
    let called = match scene.parent(Node::Expr(selector)) {
        Some(Node::Expr(call)) => match *scene.info.callee(call) {
            Callee::Func(callee) => Some(callee),
            _ => None,
        },
        _ => None,
    };
    let starts = |func: FuncId| {
        Scene::of(&scene.cx.package, func).is_none_or(|callee| {
            callee.nodes.iter().any(|&node| match node {
                Node::Stmt(stmt) => matches!(callee.file.stmt(stmt).kind, StmtKind::Go(_)),
                _ => false,
            })
        })
    };
    scene.literal_around(Node::Expr(used)).is_none() && !called.is_some_and(starts)
}

/// The counter of a variable that the function has waited for before a call.
fn awaited_before(scene: &Scene<'_>, base: LocalId, call: ExprId) -> Option<Object> {
    let cfg = scene.graph(None)?;
    let at = cfg.step_of_expr(call)?;
    scene.nodes.iter().find_map(|&node| {
        let Node::Expr(wait) = node else { return None };
        let (counter, name) = scene.method_call(wait)?;
        let (root, _) = scene.selector(counter)?;
        let waits = name.name.as_str() == "Wait"
            && scene.local(root) == Some(base)
            && scene.runs_in_turn(None, wait)
            && cfg.step_of_expr(wait).is_some_and(|wait| cfg.dominates(wait, at));
        waits.then(|| object(scene, counter))?
    })
}

/// Whether what a variable is given is made there.
pub(super) fn is_new(scene: &Scene<'_>, definition: &Definition) -> bool {
    let Source::Expr(value) = definition.source else { return false };
    let made = made_by(scene.file, value);
    match scene.file.expr(made).kind {
        ExprKind::CompositeLit { .. } => true,
        ExprKind::Call { .. } => {
            matches!(scene.info.callee(made), Callee::Builtin(Builtin::New))
        }
        _ => false,
    }
}

/// Whether what an index selects also goes from there: it is deleted, or cut off. Nobody else finds it any more.
pub(super) fn is_taken_out(scene: &Scene<'_>, from: ExprId) -> bool {
    let from = scene.file.unparen(from);
    let ExprKind::Index { base, .. } = scene.file.expr(from).kind else { return false };
    let base = scene.text(base);
    let is_base = |expr: ExprId| scene.text(expr) == base;
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(call) => {
            matches!(scene.info.callee(call), Callee::Builtin(Builtin::Delete))
                && scene.args(call).first().is_some_and(|&map| is_base(map))
        }
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, right, .. } => match (&left[..], &right[..]) {
                (&[left], &[right]) => is_base(left) && is_cut(scene, right, &base),
                _ => false,
            },
            _ => false,
        },
        Node::Decl(_) => false,
    })
}

/// Whether a value is a part of the slice with this text.
fn is_cut(scene: &Scene<'_>, value: ExprId, whole: &str) -> bool {
    match scene.file.expr(scene.file.unparen(value)).kind {
        ExprKind::Slice { base, .. } => scene.text(base) == whole,
        _ => false,
    }
}
