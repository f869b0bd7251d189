//! What a function locks on every way through it, itself or in what it calls.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Start, StepId, Walk};
use crate::index::{Callee, Def, FuncId, LocalId, LocalKind, Type};
use crate::rules::conditions::locals_in;
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{Locks, Object, Taken, gives_back, is_lock, may_give_back};
use crate::rules::evidence::relocked::spelled::{holder, path, promoted};
use crate::rules::scene::Scene;
use crate::rules::{FunctionCx, PackageCx};
use crate::summary::{BodyId, Function, Source};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, Symbol, UnaryOp};

/// How many calls lie at most between a function and the one that locks.
const MAX_CALLS: u32 = 3;

/// What has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The package has it, in a variable.
    Package,
    /// The function is given it, as its receiver or a parameter.
    Receiver,
    Param(u32),
}

impl Owner {
    /// What a call gives.
    pub fn given(self, scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
        match self {
            Owner::Package => None,
            Owner::Receiver => scene.method_call(call).map(|(base, _)| base),
            Owner::Param(place) => {
                let arg = scene.file.unparen(*scene.args(call).get(place as usize)?);
                match scene.file.expr(arg).kind {
                    ExprKind::Unary { op: UnaryOp::Addr, operand } => Some(operand),
                    _ => Some(arg),
                }
            }
        }
    }

    /// The embedded fields between that and what has the lock, where a call does not name them.
    pub fn promoted(self, scene: &Scene<'_>, call: ExprId) -> String {
        match self {
            Owner::Receiver => promoted(scene, call),
            Owner::Package | Owner::Param(_) => String::new(),
        }
    }

    fn of(scene: &Scene<'_>, variable: LocalId) -> Option<Owner> {
        let local = scene.info.locals().get(variable.0 as usize)?;
        match local.kind {
            LocalKind::Receiver => Some(Owner::Receiver),
            LocalKind::Param(place) if local.owner.is_none() => Some(Owner::Param(place)),
            _ => None,
        }
    }
}

/// A lock that a function takes, whatever way it goes.
#[derive(Clone)]
pub(super) struct First {
    pub lock: Taken,
    pub owner: Owner,
    /// The fields from the owner to the lock, embedded ones too: `.mu`.
    pub path: String,
    /// What is asked on the way there.
    pub asked: Asked,
    /// The function that takes it.
    pub by: FuncId,
    /// The calls from the function to that one: the caller, the call, and the called function.
    pub calls: Vec<(FuncId, ExprId, FuncId)>,
}

/// What is asked before a lock is taken.
#[derive(Clone)]
pub(super) struct Asked {
    /// The parameters of which some values make the function return before.
    parameters: Vec<u32>,
    /// What functions ask of results of their own, where only one answer leads to the lock.
    pub results: Vec<(FuncId, ExprId)>,
}

/// What the functions of a package lock first, as far as somebody asked.
pub(super) struct Firsts<'p, 'a> {
    package: &'p PackageCx<'a>,
    locks: &'p Locks,
    /// By function, and by how many calls it may take.
    known: FxHashMap<(FuncId, u32), Rc<[First]>>,
}

impl<'p, 'a> Firsts<'p, 'a> {
    pub fn new(package: &'p PackageCx<'a>, locks: &'p Locks) -> Firsts<'p, 'a> {
        Firsts { package, locks, known: FxHashMap::default() }
    }

    /// What a function locks.
    pub fn of(&mut self, func: FuncId) -> Rc<[First]> {
        self.within(func, MAX_CALLS)
    }

    fn within(&mut self, func: FuncId, depth: u32) -> Rc<[First]> {
        if func.package != self.package.package {
            return Rc::default();
        }
        if let Some(known) = self.known.get(&(func, depth)) {
            return known.clone();
        }
        let opened = Scene::new(FunctionCx { package: *self.package, func });
        let found = opened.map_or_else(Rc::default, |scene| {
            let mut found = self.own(&scene);
            if found.is_empty() {
                found.extend(self.called(&scene, depth));
            }
            found.into()
        });
        self.known.insert((func, depth), Rc::clone(&found));
        found
    }

    /// The locks that a function takes itself.
    fn own(&self, scene: &Scene<'_>) -> Vec<First> {
        let taken = self.locks.taken.get(&scene.cx.func);
        let Some((all, read)) = taken.zip(scene.cx.summaries().read(scene.cx.func)) else {
            return Vec::new();
        };
        let cfg = &read.function.body(BodyId::OWN).cfg;
        let first = all.iter().filter(|taken| taken.literal.is_none()).filter_map(|taken| {
            let base = base_of(scene, taken)?;
            let step = cfg.step_of_expr(taken.call)?;
            let variable = root_variable(scene, base)?;
            let owner = match (variable, taken.object) {
                (Some(variable), _) => Owner::of(scene, variable)?,
                (None, Object::Global(_)) => Owner::Package,
                _ => return None,
            };
            if !is_defined_once(&read.function, variable)
                || gives_back_before(scene, cfg, taken, step)
                || self.calls_giver(scene, cfg, taken, step)
            {
                return None;
            }
            let asked = decided_before(scene, &read.function, cfg, step, variable)?;
            let path = path(scene, base) + &holder(scene, taken.call);
            let (by, calls) = (scene.cx.func, Vec::new());
            Some(First { lock: *taken, owner, path, asked, by, calls })
        });
        first.collect()
    }

    /// Whether a function may call one before that gives back what it takes: it is called with the lock held.
    fn calls_giver(&self, scene: &Scene<'_>, cfg: &Cfg, taken: &Taken, lock: StepId) -> bool {
        scene.nodes.iter().any(|&node| {
            let Node::Expr(call) = node else { return false };
            scene.runs_in_turn(None, call)
                && self.locks.given_by_callee(scene, call, taken.object)
                && cfg.step_of_expr(call).is_some_and(|gives| {
                    cfg.starts_without(Start::Entry, gives, &|step| step == lock)
                })
        })
    }

    /// The lock that a function takes by what it calls, whatever way it goes.
    fn called(&mut self, scene: &Scene<'_>, depth: u32) -> Option<First> {
        let depth = depth.checked_sub(1)?;
        let read = scene.cx.summaries().read(scene.cx.func)?;
        let cfg = &read.function.body(BodyId::OWN).cfg;
        scene.nodes.iter().find_map(|&node| {
            let Node::Expr(call) = node else { return None };
            let Callee::Func(callee) = *scene.info.callee(call) else { return None };
            if !scene.runs_in_turn(None, call) {
                return None;
            }
            let found = self.within(callee, depth);
            let first = found.first()?.clone();
            let given = first.owner.given(scene, call);
            let variable = given.and_then(|given| root_variable(scene, given)?);
            let owner = match variable {
                Some(variable) => Owner::of(scene, variable)?,
                None if first.owner == Owner::Package => Owner::Package,
                None => return None,
            };
            let step = cfg.step_of_expr(call)?;
            if !is_defined_once(&read.function, variable)
                || !first.asked.parameters.is_empty()
                || may_give_back(scene, first.lock.object)
                || self.locks.given_before(scene, cfg, first.lock.object, step)
            {
                return None;
            }
            let mut asked = decided_before(scene, &read.function, cfg, step, variable)?;
            asked.results.extend(first.asked.results);
            let reached = given.map_or_else(String::new, |given| {
                path(scene, given) + &first.owner.promoted(scene, call)
            });
            let path = reached + &first.path;
            let mut calls = vec![(scene.cx.func, call, callee)];
            calls.extend(first.calls);
            Some(First { owner, path, asked, calls, ..first })
        })
    }
}

/// Whether a variable has one value all along; that a lock is reached through none is as good.
pub(super) fn is_defined_once(function: &Function<'_>, variable: Option<LocalId>) -> bool {
    variable.is_none_or(|variable| function.definitions_of(variable).count() == 1)
}

/// Whether a type is an interface of locks alone, such as a project puts before those of `sync`.
fn is_interface_of_locks(scene: &Scene<'_>, ty: &Type) -> bool {
    let mut open = vec![ty.clone()];
    let mut methods: FxHashSet<Symbol> = FxHashSet::default();
    for next in 0..MAX_EMBEDDED {
        let Some(ty) = open.get(next) else { break };
        let Type::Interface(interface) = scene.cx.index().underlying(ty) else { return false };
        methods.extend(interface.methods.iter().map(|method| method.name));
        let embedded = interface.embedded.iter().flat_map(|embedded| &embedded.terms);
        open.extend(embedded.map(|(_, ty)| ty.clone()));
    }
    let has = |name: &str| methods.iter().any(|method| method.as_str() == name);
    let is_of_lock = |method: &Symbol| {
        matches!(method.as_str(), "Lock" | "Unlock" | "RLock" | "RUnlock" | "TryLock" | "TryRLock")
    };
    open.len() <= MAX_EMBEDDED && has("Lock") && has("Unlock") && methods.iter().all(is_of_lock)
}

/// How many interfaces one of locks consists of at most.
const MAX_EMBEDDED: usize = 4;

/// What is locked, if it is a lock of `sync`, or an interface of such.
pub(super) fn base_of(scene: &Scene<'_>, taken: &Taken) -> Option<ExprId> {
    let (base, _) = scene.method_call(taken.call)?;
    let ty = scene.info.type_of(base).strip_pointer();
    let direct = is_lock(ty) || is_interface_of_locks(scene, ty);
    let promoted = || {
        let callee = scene.info.callee(taken.call).qualified(scene.cx.index());
        callee.is_some_and(|name| name.path.as_str() == "sync")
    };
    (direct || promoted()).then_some(base)
}

/// If every way through the function passes a step, but for those on which there is no owner, and those
/// that a comparison of a parameter with a constant ends with a `return` right away, or that another
/// answer to what the function asks of its own results would take.
fn decided_before<'a>(
    scene: &Scene<'a>,
    function: &Function<'a>,
    cfg: &Cfg,
    lock: StepId,
    receiver: Option<LocalId>,
) -> Option<Asked> {
    let mut walk = Without { scene, function, lock, receiver, asked: Vec::new(), left: Vec::new() };
    while cfg.finds(Start::Entry, (), &mut walk) {
        let mut edges = cfg.edges();
        let other = edges.find_map(|edge| {
            let (condition, holds) = edge.kind.condition()?;
            // A loop asks again, and gets the same answer as long as it is looked at.
            let mut left = walk.left.clone();
            left.push((condition, !holds));
            let mut beyond = Without { asked: Vec::new(), left, ..walk };
            let leads = !walk.left.contains(&(condition, !holds))
                && is_own_matter(scene, function, condition)
                && cfg.starts_without(Start::Block(edge.to), lock, &|_| false)
                && !cfg.finds(Start::Block(edge.to), (), &mut beyond);
            leads.then_some((condition, !holds))
        })?;
        walk.left.push(other);
        walk.asked.clear();
    }
    let decided = walk.left.iter().map(|&(condition, _)| (scene.cx.func, condition));
    Some(Asked { parameters: walk.asked, results: decided.collect() })
}

/// Looks for a way through a function that does not pass a lock.
struct Without<'w, 'a> {
    scene: &'w Scene<'a>,
    function: &'w Function<'a>,
    lock: StepId,
    /// What has the lock, where the function is given it.
    receiver: Option<LocalId>,
    asked: Vec<u32>,
    /// The answers that do not lead to the lock, where others do.
    left: Vec<(ExprId, bool)>,
}

impl Walk for Without<'_, '_> {
    type State = ();
    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.lock { Passing::Drop } else { Passing::On(()) }
    }
    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        if edge.kind.condition().is_some_and(|answer| self.left.contains(&answer)) {
            return None;
        }
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
        let variables = locals_in(self.function, Node::Expr(asked));
        let own = self.receiver.is_some_and(|receiver| variables == [receiver]);
        let plain = file.descendants(Node::Expr(asked)).count() == 3;
        (!(compares && own && plain)).then_some(())
    }
    fn passes_missing(&self) -> bool {
        true
    }
    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        !matches!(exit, Exit::Panic(_) | Exit::Never(_))
    }
}

/// Whether a condition of an `if` asks nothing but numbers and errors that calls in the function gave:
/// both answers are possible, whatever the caller knows. A number may be what the receiver knows of itself; a
/// function that always fails where it is called with the lock held would not be called.
fn is_own_matter(scene: &Scene<'_>, function: &Function<'_>, condition: ExprId) -> bool {
    let compares = matches!(scene.file.expr(condition).kind, ExprKind::Binary { .. });
    let variables = locals_in(function, Node::Expr(condition));
    let plain = scene.file.descendants(Node::Expr(condition)).count() == 3;
    then_of(scene, condition).is_some()
        && compares
        && plain
        && !variables.is_empty()
        && variables.iter().all(|&variable| {
            let ty = &function.info.local(variable).ty;
            let counts = || match scene.cx.index().underlying(ty) {
                Type::Basic(basic) => basic.is_integer(),
                _ => false,
            };
            (ty.is_error() || counts()) && is_result(scene, function, variable, ty.is_error())
        })
}

/// What an `if` does where its condition, of which this is a part, holds.
fn then_of(scene: &Scene<'_>, condition: ExprId) -> Option<StmtId> {
    let around = scene.around(Node::Expr(condition)).find_map(|node| match node {
        Node::Stmt(stmt) => Some(stmt),
        _ => None,
    })?;
    match scene.file.stmt(around).kind {
        StmtKind::If { then, .. } => Some(then),
        _ => None,
    }
}

/// Whether a call asks the receiver about itself.
fn asks_receiver(scene: &Scene<'_>, call: ExprId) -> bool {
    let of = scene.method_call(call).and_then(|(base, _)| scene.local(base));
    of.is_some() && of == scene.receiver() && scene.args(call).is_empty()
}

/// Whether a variable is given constants, and what calls return: of any call, or of those that know more than the
/// receiver does.
fn is_result(scene: &Scene<'_>, function: &Function<'_>, variable: LocalId, any: bool) -> bool {
    let is_call = |node: Node| {
        let Node::Expr(call) = node else { return false };
        matches!(scene.file.expr(call).kind, ExprKind::Call { .. })
            && !matches!(scene.info.callee(call), Callee::Builtin(_) | Callee::Conversion(_))
            && (any || !asks_receiver(scene, call))
    };
    let mut called = false;
    let mut definitions = function.definitions_of(variable);
    definitions.all(|definition| match definition.source {
        Source::Zero => true,
        Source::Expr(expr) | Source::Result(expr, _) => {
            let calls = scene.file.descendants(Node::Expr(expr)).any(is_call);
            called |= calls;
            calls || locals_in(function, Node::Expr(expr)).is_empty()
        }
        _ => false,
    }) && called
}

/// The parameter that a condition compares with a constant, or with nil, where the function returns at
/// once if that is so, and without a look at its receiver.
fn ends_at_once(scene: &Scene<'_>, asked: ExprId, receiver: Option<LocalId>) -> Option<u32> {
    let ExprKind::Binary { left, right, .. } = scene.file.expr(scene.file.unparen(asked)).kind
    else {
        return None;
    };
    let parameter = |expr: ExprId| match Owner::of(scene, scene.local(expr)?)? {
        Owner::Param(place) => Some(place),
        Owner::Receiver | Owner::Package => None,
    };
    let parameter = match (parameter(left), parameter(right)) {
        (Some(place), None) if is_fixed(scene, right) => place,
        (None, Some(place)) if is_fixed(scene, left) => place,
        _ => return None,
    };
    let then = then_of(scene, asked)?;
    let StmtKind::Block(body) = &scene.file.stmt(then).kind else { return None };
    let [only] = body[..] else { return None };
    let returns = matches!(scene.file.stmt(only).kind, StmtKind::Return(_));
    let mentions = receiver.is_some_and(|receiver| scene.mentions(Node::Stmt(only), receiver));
    (returns && !mentions).then_some(parameter)
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
                cfg.starts_without(Start::Entry, unlock, &|step| step == lock)
            })
    })
}

/// Whether a function may return before it locks, for what it is given here.
pub(super) fn may_return_before(scene: &Scene<'_>, call: ExprId, first: &First) -> bool {
    first.asked.parameters.iter().any(|&place| {
        let given = scene.args(call).get(place as usize);
        given.is_none_or(|&given| is_fixed(scene, given))
    })
}
