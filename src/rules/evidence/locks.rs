//! Which locks the functions of a package take, and where they are held.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::flow::{Cfg, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Callee, Def, FuncId, LocalId, ObjectId, QualifiedName, Type};
use crate::program::library::{LibType, lib_type};
use crate::rules::evidence::runners::Runners;
use crate::rules::scene::{Scene, counts_where, outside_tests};
use crate::rules::{FunctionCx, PackageCx};
use crate::source::{Location, Span};
use crate::summary::Source;
use crate::syntax::{ExprId, ExprKind, Node, Symbol};

/// What stands in the text of a function that has to do with locks or counters.
const WORDS: [&str; 4] = ["Lock()", "Unlock()", ".Wait()", ".Done()"];

/// Whether a finding counts in any of them, those of tests left out.
pub(super) fn tells_of_locks(package: &PackageCx<'_>) -> bool {
    counts_where(package, &WORDS)
}

/// The functions of a package that have to do with locks or counters.
pub(super) struct Locking<'a> {
    /// Those of tests left out.
    pub scenes: Vec<Scene<'a>>,
    pub locks: Arc<Locks>,
}

impl<'a> Locking<'a> {
    /// Reads a package.
    pub fn of(package: &PackageCx<'a>) -> Locking<'a> {
        let scenes = Locking::scenes(package);
        let locks = package.memo.locks(|| Locks::of(&scenes));
        Locking { scenes, locks }
    }

    /// The locks alone: reads the package if nobody has.
    pub fn locks(package: &PackageCx<'a>) -> Arc<Locks> {
        package.memo.locks(|| Locks::of(&Locking::scenes(package)))
    }

    fn scenes(package: &PackageCx<'a>) -> Vec<Scene<'a>> {
        outside_tests(package, &WORDS).filter_map(Scene::new).collect()
    }
}

/// A lock, or a counter: a field, what a type embeds, or a variable of the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    Field(Location),
    Embedded(QualifiedName),
    Global(ObjectId),
}

/// Which locks the functions of a package take.
pub(in crate::rules) struct Locks {
    /// By function.
    pub(super) taken: FxHashMap<FuncId, Vec<Taken>>,
    /// What a function gives back that it never takes: a lock of its caller.
    given: FxHashMap<FuncId, Vec<Object>>,
    /// Whom a function calls that has to do with locks.
    pub(super) calls: FxHashMap<FuncId, Vec<Called>>,
    /// Whom a function calls through an interface of the package that one type alone implements.
    pub(super) dispatched: FxHashMap<FuncId, Vec<Called>>,
    /// Whom one calls that has not, as far as somebody asked.
    others: Mutex<FxHashMap<FuncId, Arc<[Called]>>>,
}

/// A function that is called, in which literal, and where.
pub(super) type Called = (FuncId, Option<ExprId>, ExprId);

/// A lock that is taken.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub object: Object,
    pub call: ExprId,
    /// The literal that it is taken in.
    pub literal: Option<ExprId>,
    pub location: Location,
    /// Whether it is shared with other readers.
    pub reads: bool,
    /// Whether it is reached by a field that leads from a value to another one of its type.
    pub linked: bool,
}

impl Taken {
    /// Whether who takes it waits for who holds the other one, if both are of one object.
    pub fn excludes(&self, other: &Taken) -> bool {
        self.object == other.object && !(self.reads && other.reads)
    }
}

/// How many calls deep a lock is looked for.
pub(super) const MAX_CALLS: u32 = 2;

impl Locks {
    fn of(scenes: &[Scene<'_>]) -> Locks {
        let mut taken_by: FxHashMap<FuncId, Vec<Taken>> = FxHashMap::default();
        let mut given: FxHashMap<FuncId, Vec<Object>> = FxHashMap::default();
        let mut calls: FxHashMap<FuncId, Vec<Called>> = FxHashMap::default();
        let mut behind: FxHashMap<(ObjectId, Symbol), Vec<FuncId>> = FxHashMap::default();
        let mut dispatched: FxHashMap<FuncId, Vec<Called>> = FxHashMap::default();
        for scene in scenes {
            let func = scene.cx.func;
            let all = scene.nodes.iter().filter_map(|&node| match node {
                Node::Expr(call) => taken(scene, call),
                _ => None,
            });
            let all: Vec<Taken> = all.collect();
            let own =
                |object| all.iter().any(|taken| taken.literal.is_none() && taken.object == object);
            let again: Vec<Object> = taken_at_the_end(scene).collect();
            let back: Vec<Object> = given_back(scene)
                .filter(|object| !own(*object) && !again.contains(object))
                .collect();
            if !back.is_empty() {
                given.insert(func, back);
            }
            if !all.is_empty() {
                taken_by.insert(func, all);
            }
            let called: Vec<Called> = called(scene).collect();
            if !called.is_empty() {
                calls.insert(func, called);
            }
            if taken_by.contains_key(&func) {
                let through = through_interfaces(scene, &mut behind);
                if !through.is_empty() {
                    dispatched.insert(func, through);
                }
            }
        }
        Locks { taken: taken_by, given, calls, dispatched, others: Mutex::default() }
    }

    /// Whether a function may give back a lock of its caller, itself or in what it calls, and has it no
    /// more when it returns.
    pub(super) fn gives_callers(
        &self,
        package: &PackageCx<'_>,
        func: FuncId,
        object: Object,
        depth: u32,
    ) -> bool {
        let holds = |objects: &Vec<Object>| objects.contains(&object);
        // Most often nobody does.
        if !self.given.values().any(holds) {
            return false;
        }
        let takes = |all: &Vec<Taken>| {
            all.iter().any(|taken| taken.literal.is_none() && taken.object == object)
        };
        self.given.get(&func).is_some_and(holds)
            || depth > 0
                && !self.taken.get(&func).is_some_and(takes)
                && self.calls_of(package, func).iter().any(|&(callee, literal, _)| {
                    literal.is_none()
                        && callee != func
                        && self.gives_callers(package, callee, object, depth - 1)
                })
    }

    /// Whether a function takes a lock itself.
    pub(super) fn takes_itself(&self, func: FuncId, object: Object) -> bool {
        let own = self.taken.get(&func).map_or(&[][..], Vec::as_slice);
        own.iter().any(|taken| taken.object == object)
    }

    /// Whether a function of the package takes a lock to write that somebody else may hold then: who has the object
    /// alone does not, nor does a method that by its name makes it ready (`Init`).
    pub(super) fn has_writer(&self, runners: &Runners<'_, '_>, object: Object) -> bool {
        let writes = |taken: &Taken| taken.object == object && !taken.reads;
        let mut writers = self.taken.iter().filter(|(_, all)| all.iter().any(writes));
        writers.any(|(&func, _)| !runners.makes_ready(func) && !runners.alone(func))
    }

    /// Whether a function other than this one gives back a lock that it never takes.
    pub(super) fn is_given_elsewhere(&self, func: FuncId, object: Object) -> bool {
        self.given.iter().any(|(&other, objects)| other != func && objects.contains(&object))
    }

    /// Whether a step of a function calls one that may give back a lock of its caller.
    pub(super) fn given_by_callee(&self, scene: &Scene<'_>, call: ExprId, object: Object) -> bool {
        matches!(scene.info.callee(call), Callee::Func(callee)
            if scene.go_of(call).is_none()
                && *callee != scene.cx.func
                && self.gives_callers(&scene.cx.package, *callee, object, MAX_CALLS))
    }

    /// Whether a lock of the caller may have been given back when a step of the function itself is reached.
    pub(super) fn given_before(
        &self,
        scene: &Scene<'_>,
        cfg: &Cfg,
        object: Object,
        at: StepId,
    ) -> bool {
        scene.nodes.iter().any(|&node| {
            let Node::Expr(call) = node else { return false };
            let ExprKind::Call { .. } = scene.file.expr(call).kind else { return false };
            (unlocked(scene, call) == Some(object) || self.given_by_callee(scene, call, object))
                && scene.literal_around(node).is_none()
                && !scene.is_deferred(call)
                && cfg.step_of_expr(call).is_some_and(|step| cfg.reaches(step, at))
        })
    }

    /// Whom a function of the package calls.
    pub(super) fn calls_of(&self, package: &PackageCx<'_>, func: FuncId) -> Arc<[Called]> {
        if let Some(calls) = self.calls.get(&func) {
            return calls.as_slice().into();
        }
        let others = || self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others().get(&func) {
            return Arc::clone(known);
        }
        let scene = || Scene::new(FunctionCx { package: *package, func });
        let own = (func.package == package.package).then(scene).flatten();
        let calls: Arc<[Called]> = own.iter().flat_map(called).collect();
        others().insert(func, Arc::clone(&calls));
        calls
    }

    /// Where a function takes a lock that is held elsewhere, on its first step with it.
    pub(super) fn takes(
        &self,
        package: &PackageCx<'_>,
        func: FuncId,
        held: &Taken,
        depth: u32,
    ) -> Option<Location> {
        let own = self.taken.get(&func).and_then(|all| {
            all.iter().find(|taken| {
                taken.literal.is_none() && taken.excludes(held) && (held.linked || !taken.linked)
            })
        });
        if let Some(own) = own {
            return Some(own.location);
        }
        let depth = depth.checked_sub(1)?;
        self.calls_of(package, func)
            .iter()
            .filter(|(callee, literal, _)| *callee != func && literal.is_none())
            .find_map(|(callee, _, _)| self.takes(package, *callee, held, depth))
    }
}

/// The locks that a function gives back itself.
fn given_back(scene: &Scene<'_>) -> impl Iterator<Item = Object> {
    scene.nodes.iter().filter_map(|&node| match node {
        Node::Expr(call) if scene.literal_around(node).is_none() => unlocked(scene, call),
        _ => None,
    })
}

/// The locks that a function takes when it returns.
fn taken_at_the_end(scene: &Scene<'_>) -> impl Iterator<Item = Object> {
    scene.nodes.iter().filter_map(|&node| {
        let Node::Expr(call) = node else { return None };
        let (base, name) = scene.method_call(call).filter(|_| scene.is_deferred(call))?;
        matches!(name.name.as_str(), "Lock" | "RLock").then(|| object(scene, base))?
    })
}

/// What a call unlocks, if that is known.
pub(super) fn unlocked(scene: &Scene<'_>, call: ExprId) -> Option<Object> {
    let (base, name) = scene.method_call(call)?;
    unlocks(name.name).then(|| object(scene, base))?
}

/// Whether a method of this name gives a lock back: those of `sync`, and `UnlockWithoutNotify` of one's own.
fn unlocks(name: Symbol) -> bool {
    name.as_str().starts_with("Unlock") || name.as_str().starts_with("RUnlock")
}

/// The functions that a function calls and waits for.
fn called(scene: &Scene<'_>) -> impl Iterator<Item = Called> {
    scene.nodes.iter().filter_map(|&node| {
        let Node::Expr(call) = node else { return None };
        match scene.info.callee(call) {
            Callee::Func(callee) if scene.go_of(call).is_none() && taken(scene, call).is_none() => {
                Some((*callee, scene.literal_around(node), call))
            }
            _ => None,
        }
    })
}

/// The methods that a function calls through an interface of its package, where one type of that implements
/// it beside that of the function itself: who wraps an interface has another of the kind inside.
/// `behind` keeps who implements what.
fn through_interfaces(
    scene: &Scene<'_>,
    behind: &mut FxHashMap<(ObjectId, Symbol), Vec<FuncId>>,
) -> Vec<Called> {
    let index = scene.cx.index();
    let package = scene.cx.package.package;
    let own = scene.cx.owner();
    let called = scene.nodes.iter().filter_map(|&node| {
        let Node::Expr(call) = node else { return None };
        let Callee::InterfaceMethod(selection) = scene.info.callee(call) else { return None };
        let owner = selection.owner.declared()?;
        if owner.package != package || scene.go_of(call).is_some() {
            return None;
        }
        let all = behind.entry((owner, selection.name)).or_insert_with(|| {
            let methods = index.package(package).funcs.iter().filter(|func| {
                let of = func.receiver.filter(|_| func.name == selection.name);
                of.and_then(|of| of.ty).is_some_and(|ty| {
                    let pointer = index.object_type(ty).pointer();
                    index.implements(&pointer, &selection.owner) != Some(false)
                })
            });
            methods.map(|func| func.id).collect()
        });
        let of = |func: FuncId| index.func(func).receiver.and_then(|receiver| receiver.ty);
        let mut others = all.iter().filter(|&&func| of(func) != own);
        let method = *others.next().filter(|_| others.next().is_none())?;
        Some((method, scene.literal_around(node), call))
    });
    called.collect()
}

/// A call of `Lock` or `RLock`.
pub(super) fn taken(scene: &Scene<'_>, call: ExprId) -> Option<Taken> {
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
        linked: is_linked(scene, base),
    })
}

/// Whether what `x` of `x.Lock()` is a field of was reached by a field of a value of the same type: `n.parent.mu`.
fn is_linked(scene: &Scene<'_>, base: ExprId) -> bool {
    let Some((owner, _)) = scene.selector(base) else { return false };
    let named = || {
        let local = scene.local(owner)?;
        if scene.receiver() == Some(local) {
            return None;
        }
        let read = scene.cx.summaries().read(scene.cx.func)?;
        match read.function.only_definition_of(local)?.source {
            Source::Expr(value) => Some(value),
            _ => None,
        }
    };
    let owner = named().unwrap_or(owner);
    let declared =
        |expr: ExprId| scene.info.type_of(expr).strip_pointer().named().map(|named| named.decl);
    scene
        .selector(owner)
        .is_some_and(|(from, _)| declared(from).is_some() && declared(from) == declared(owner))
}

/// What `x` of `x.Lock()` or `x.Wait()` is.
pub(super) fn object(scene: &Scene<'_>, base: ExprId) -> Option<Object> {
    let base = scene.file.unparen(base);
    if let Def::Field(selection) = scene.info.resolve(base) {
        return selection.location.map(Object::Field);
    }
    global_lock(scene, base).or_else(|| embeds_lock(scene, base))
}

/// The variable of the package that `x` of `x.Lock()` names, if it is a lock itself and always the same.
fn global_lock(scene: &Scene<'_>, base: ExprId) -> Option<Object> {
    let Def::Global(global) = *scene.info.resolve(base) else { return None };
    is_lock(scene.info.type_of(base)).then_some(Object::Global(global))
}

/// Whether a type is a lock of `sync`, or of a library that has the like.
pub(super) fn is_lock(ty: &Type) -> bool {
    let Some(name) = ty.named().map(|named| named.qualified()) else { return false };
    let known = lib_type(name.path.as_str(), name.name.as_str());
    matches!(known, Some(LibType::Mutex | LibType::RwMutex))
}

/// Whether `x` of `x.Lock()` is a variable of the function that is a lock itself, and so no lock of anything else.
pub(super) fn is_own_lock(scene: &Scene<'_>, base: ExprId) -> bool {
    scene.local(base).is_some_and(|local| {
        let ty = &scene.info.local(local).ty;
        !matches!(ty, Type::Pointer(_)) && is_lock(ty)
    })
}

/// Whether `x` of `x.Lock()` is of a type of another package which has the method: no lock that this package declares.
pub(super) fn is_foreign(scene: &Scene<'_>, base: ExprId) -> bool {
    let ty = scene.info.type_of(base);
    let named = ty.strip_pointer().named().map(|named| named.qualified());
    let own = scene.cx.index().package(scene.cx.package.package).path;
    let is_interface = || matches!(scene.cx.index().underlying(ty), Type::Interface(_));
    named.is_some_and(|named| named.path != own) && !is_lock(ty.strip_pointer()) && !is_interface()
}

/// The lock that is embedded in what `x` of `x.Lock()` is, or points to, if the package declares its type.
pub(super) fn embeds_lock(scene: &Scene<'_>, base: ExprId) -> Option<Object> {
    let ty = holder(scene, base);
    let named = ty.strip_pointer().named().map(|named| named.qualified())?;
    let own = named.path == scene.cx.index().package(scene.cx.package.package).path;
    own.then_some(Object::Embedded(named))
}

/// The type that embeds the lock itself of which `x.Lock()` is a method: that of `x`, or of something embedded in
/// it.
fn holder(scene: &Scene<'_>, base: ExprId) -> Type {
    let index = scene.cx.index();
    let selector = scene.parent(Node::Expr(base)).and_then(|around| match around {
        Node::Expr(selector) => Some(scene.info.resolve(selector)),
        _ => None,
    });
    let path = match selector {
        Some(Def::Method(_, selection)) => &*selection.path,
        _ => &[],
    };
    // The last one is the lock.
    let outer = &path[..path.len().saturating_sub(1)];
    let embedded = |of: Type, name: &Symbol| match index.underlying(of.strip_pointer()) {
        Type::Struct(fields) => fields
            .fields
            .iter()
            .find(|field| field.embedded && field.name == *name)
            .map_or(Type::Unknown, |field| field.ty.clone()),
        _ => Type::Unknown,
    };
    outer.iter().fold(scene.info.type_of(base).clone(), embedded)
}

/// The method of a lock that the methods with a name stand for: each takes a lock and does not give it back, or
/// the other way round.
pub(super) fn stands_for(scene: &Scene<'_>, name: Symbol) -> Option<&'static str> {
    const NAMES: [(&str, &str); 6] = [
        ("lock", "Lock"),
        ("unlock", "Unlock"),
        ("rlock", "RLock"),
        ("rLock", "RLock"),
        ("runlock", "RUnlock"),
        ("rUnlock", "RUnlock"),
    ];
    let (_, method) = NAMES.into_iter().find(|(own, _)| *own == name.as_str())?;
    let index = scene.cx.index();
    let funcs = &index.package(scene.cx.package.package).funcs;
    let mut alike = funcs.iter().filter(|func| func.name == name).peekable();
    alike.peek()?;
    let does = |func: FuncId| {
        let file = index.file_of(func);
        let text = file.source.slice(file.decl(index.func(func).decl).span);
        let has = |what: &str| memchr::memmem::find(text, what.as_bytes()).is_some();
        let (takes, gives) = (has(".Lock()") || has(".RLock()"), has("Unlock()"));
        if method.ends_with("Unlock") { gives && !takes } else { takes && !gives }
    };
    alike.all(|func| func.receiver.is_some() && does(func.id)).then_some(method)
}

/// Whether a call unlocks an object, or what nobody knows to be another one; or is given the method that does, as
/// `once.Do(mu.Unlock)` is.
pub(super) fn gives_back(scene: &Scene<'_>, call: ExprId, wanted: Object) -> bool {
    let is_back = |base: ExprId| match object(scene, base) {
        Some(object) => object == wanted,
        None => !is_apart(scene, base),
    };
    let given = |&arg: &ExprId| {
        scene.selector(arg).is_some_and(|(base, name)| unlocks(name.name) && is_back(base))
    };
    scene.method_call(call).is_some_and(|(base, name)| unlocks(name.name) && is_back(base))
        || scene.args(call).iter().any(given)
}

/// Whether what is unlocked is a variable of the package, or comes from another package with a lock of its
/// own: no field or embedded lock of this package.
fn is_apart(scene: &Scene<'_>, base: ExprId) -> bool {
    let ty = scene.info.type_of(base);
    let global = matches!(scene.info.resolve(scene.file.unparen(base)), Def::Global(_));
    let named = ty.strip_pointer().named().map(|named| named.qualified());
    match named {
        Some(name) if name.path.as_str() == "sync" => global && !matches!(ty, Type::Pointer(_)),
        Some(_) => true,
        None => comes_from_elsewhere(scene, base),
    }
}

/// Whether a variable is what a function of another package gave that was given nothing.
fn comes_from_elsewhere(scene: &Scene<'_>, expr: ExprId) -> bool {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
    let Some(variable) = scene.local(expr) else { return false };
    let definition = read.function.only_definition_of(variable);
    let Some(Source::Expr(call)) = definition.map(|only| only.source) else { return false };
    scene.method_call(call).is_some()
        && scene.args(call).is_empty()
        && match scene.info.callee(call) {
            Callee::Func(func) => func.package != scene.cx.package.package,
            Callee::External(_) | Callee::Unknown { .. } => true,
            _ => false,
        }
}

/// Whether a function unlocks what its caller may have locked.
pub(super) fn may_give_back(scene: &Scene<'_>, wanted: Object) -> bool {
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(call) => gives_back(scene, call, wanted),
        _ => false,
    })
}

/// What is locked, as it is written.
pub(super) fn locked(scene: &Scene<'_>, lock: &Taken) -> String {
    scene.method_call(lock.call).map_or_else(String::new, |(base, _)| scene.text(base))
}

/// The selectors after the variable at the root of an expression, as they are written: `.x.y`.
pub(super) fn fields(scene: &Scene<'_>, expr: ExprId) -> String {
    let text = scene.text(expr);
    text.find('.').map_or("", |dot| &text[dot..]).to_owned()
}

/// The locks that a function holds at a call.
pub(super) fn held_by(scene: &Scene<'_>, locks: &Locks, call: ExprId) -> Vec<Taken> {
    let literal = scene.literal_around(Node::Expr(call));
    let Some(cfg) = scene.graph(literal) else { return Vec::new() };
    let Some(at) = cfg.step_of_expr(call) else { return Vec::new() };
    held_at(scene, locks, literal, &cfg, at)
}

/// The locks that are held on every way to a step, by the step that takes them; where a lock was given
/// back and taken again, by one of those that do.
pub(super) fn held_at(
    scene: &Scene<'_>,
    locks: &Locks,
    literal: Option<ExprId>,
    cfg: &Cfg,
    at: StepId,
) -> Vec<Taken> {
    let all = locks.taken.get(&scene.cx.func).map_or(&[][..], Vec::as_slice);
    let own: Vec<(StepId, Taken)> = all
        .iter()
        .filter(|taken| taken.literal == literal)
        .filter_map(|taken| Some((cfg.step_of_expr(taken.call)?, *taken)))
        .collect();
    let kept = |(step, taken): &&(StepId, Taken)| {
        cfg.dominates(*step, at)
            && is_held(scene, locks, cfg, taken.object, &[*step], Start::After(*step), at)
    };
    let mut held: Vec<Taken> = own.iter().filter(kept).map(|(_, taken)| *taken).collect();
    // Latest first: it is the one that is held where the lock comes from several values.
    for (step, taken) in own.iter().rev() {
        let known = held.iter().any(|other| other.object == taken.object);
        let alike =
            |(_, it): &&(StepId, Taken)| it.object == taken.object && it.reads == taken.reads;
        let again: Vec<StepId> = own.iter().filter(alike).map(|(step, _)| *step).collect();
        if !known
            && cfg.reaches(*step, at)
            && is_held(scene, locks, cfg, taken.object, &again, Start::Entry, at)
        {
            held.push(*taken);
        }
    }
    held
}

/// A function literal that gives back a lock which it has not taken.
struct Giver {
    span: Span,
    /// The variable that it is assigned to.
    name: Option<LocalId>,
}

impl Giver {
    /// Those of a function that are not started as goroutines.
    fn all(scene: &Scene<'_>, lock: Object) -> Vec<Giver> {
        let gives = scene.nodes.iter().filter_map(|&node| match node {
            Node::Expr(call) if gives_back(scene, call, lock) => scene.literal_around(node),
            _ => None,
        });
        let takes = |literal: ExprId| {
            scene.nodes.iter().any(|&node| {
                matches!(node, Node::Expr(call)
                if taken(scene, call).is_some_and(|taken| {
                    taken.object == lock && taken.literal == Some(literal)
                }))
            })
        };
        let gives = gives.filter(|&literal| scene.go_around(literal).is_none() && !takes(literal));
        let giver = |literal| Giver {
            span: scene.span(Node::Expr(literal)),
            name: scene.assigned_to(literal),
        };
        gives.map(giver).collect()
    }

    /// Whether a call may run it: it is called where it stands, is given to the call, or is in the variable that is
    /// called.
    fn may_run(&self, scene: &Scene<'_>, call: ExprId) -> bool {
        let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return false };
        scene.span(Node::Expr(call)).contains(self.span)
            || self.name.is_some() && self.name == scene.local(callee)
    }
}

/// Whether a lock is held at a step, whatever way leads there from the start; these steps take it.
fn is_held(
    scene: &Scene<'_>,
    locks: &Locks,
    cfg: &Cfg,
    lock: Object,
    takes: &[StepId],
    start: Start,
    at: StepId,
) -> bool {
    struct Without<'w> {
        at: StepId,
        takes: &'w [StepId],
        gives: &'w [StepId],
    }
    impl Walk for Without<'_> {
        /// Whether it is held.
        type State = bool;
        fn step(&mut self, held: &bool, step: StepId) -> Passing<bool> {
            match step {
                step if step == self.at && !held => Passing::Found,
                step if self.takes.contains(&step) => Passing::On(true),
                step => Passing::On(*held && !self.gives.contains(&step)),
            }
        }
        fn exit(&mut self, _: &bool, _: Exit) -> bool {
            false
        }
    }
    let givers = Giver::all(scene, lock);
    let gives: Vec<StepId> = cfg
        .steps()
        .filter(|&step| {
            let Step::Call(call) = cfg.step(step) else { return false };
            gives_back(scene, call, lock)
                || locks.given_by_callee(scene, call, lock)
                || givers.iter().any(|giver| giver.may_run(scene, call))
        })
        .collect();
    let from_take = matches!(start, Start::After(_));
    !cfg.finds(start, from_take, &mut Without { at, takes, gives: &gives })
}
