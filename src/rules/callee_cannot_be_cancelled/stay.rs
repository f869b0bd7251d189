//! What a call stays in, found by following it: through methods and functions of the run and of
//! dependencies, fields of function type that are assigned once, and interfaces that have one
//! implementation.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::catalog::{self, Blocking, Op, When};
use crate::flow::{Edge, Step};
use crate::index::{
    BodyInfo, Callee, Def, Func, FuncId, Index, ObjectId, ObjectKind, Selection, Type,
};
use crate::project::PackageId;
use crate::rules::callee_cannot_be_cancelled::enders::Wakers;
use crate::rules::callee_cannot_be_cancelled::turns::{self, Runs, Turn};
use crate::rules::callee_cannot_be_cancelled::{Look, enders};
use crate::rules::conditions::asked;
use crate::rules::scene::serves_tests;
use crate::source::Span;
use crate::summary::{Act, At, BodyFlow, BodyId, Function, Read, Root, facts};
use crate::syntax::{ExprId, ExprKind, File, Node, StmtKind, Symbol};

/// What a call stays in.
pub(super) struct Stay {
    /// What is called, from the loop on.
    pub calls: Vec<String>,
    /// Where it waits, in words.
    pub waits: String,
    /// The object that is waited for, as far as it is known.
    pub object: Object,
    /// The methods of the object that end the wait.
    pub enders: Vec<Symbol>,
    /// The methods of the object that give the wait what it waits for.
    pub feeders: Vec<Symbol>,
    /// The packages of dependencies on the way.
    pub packages: Vec<PackageId>,
    /// The calls through interfaces on the way, with what they run.
    dispatched: Vec<(Arc<Selection>, FuncId)>,
}

/// An object that somebody waits for.
pub(super) struct Object {
    /// Its type.
    pub ty: Type,
    /// The field that holds it where the wait begins.
    pub field: Option<(Type, Symbol)>,
}

/// How many calls are followed into each other, and how many bodies are looked at.
const MAX_DEPTH: u32 = 6;
const MAX_BODIES: u32 = 96;

/// What a turn of a loop stays in.
pub(super) fn of_turn<'a>(look: Look<'_, 'a>, read: &Arc<Read<'a>>, turn: &Turn) -> Option<Stay> {
    let mut search = Search {
        look,
        met: FxHashSet::default(),
        left: MAX_BODIES,
        packages: Vec::new(),
        dispatched: Vec::new(),
    };
    let mut stay = match turn.runs {
        Runs::Call(call) => search.call(read, turn.at, call, MAX_DEPTH)?,
        Runs::Value(value) => {
            let (inner, body) = search.value(read, turn.at, value)?;
            search.body(&inner, body, MAX_DEPTH)?
        }
    };
    stay.packages = search.packages;
    stay.dispatched = search.dispatched;
    let alone =
        stay.dispatched.iter().all(|(selection, func)| !others_implement(look, selection, *func));
    alone.then_some(stay)
}

struct Search<'l, 'a> {
    look: Look<'l, 'a>,
    met: FxHashSet<FuncId>,
    left: u32,
    packages: Vec<PackageId>,
    dispatched: Vec<(Arc<Selection>, FuncId)>,
}

type Inside<'a> = (Arc<Read<'a>>, BodyId);

impl<'a> Search<'_, 'a> {
    fn call(&mut self, read: &Arc<Read<'a>>, at: At, call: ExprId, depth: u32) -> Option<Stay> {
        if let Some(stay) = self.library(read, call) {
            return Some(stay);
        }
        let dispatched = self.dispatched.len();
        let (inner, body) = self.target(read, at, call)?;
        let stay = self.body(&inner, body, depth);
        if stay.is_none() {
            self.dispatched.truncate(dispatched);
        }
        let mut stay = stay?;
        // Who gets it gives it back when it returns: that is a lock, and whoever has it does not keep it.
        if stay.calls.is_empty() && gives_back(read, at.body, call, &stay.feeders) {
            return None;
        }
        stay.calls.insert(0, read.function.callee_text(call));
        Some(stay)
    }

    fn body(&mut self, read: &Arc<Read<'a>>, body: BodyId, depth: u32) -> Option<Stay> {
        let function = &read.function;
        if body == BodyId::OWN && !self.met.insert(function.id) {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        if let Some(stay) = self.condition(read, body) {
            return Some(stay);
        }
        let depth = depth.checked_sub(1)?;
        let cfg = &function.body(body).cfg;
        cfg.steps().find_map(|step| match cfg.step(step) {
            Step::Call(call) => self.call(read, At { body, step }, call, depth),
            _ => None,
        })
    }

    /// A call of which the catalog says what ends it.
    fn library(&self, read: &Read<'a>, call: ExprId) -> Option<Stay> {
        let function = &read.function;
        let cx = self.look.cx;
        let known = facts(cx.catalog(), function.index, function.info.callee(call));
        let blocking = known.in_force::<Blocking>(cx.versions())?;
        let waits = blocking.wait == catalog::Wait::Goroutines
            && blocking.when == When::Call
            && blocking.context.is_none()
            && blocking.timeout.is_none()
            && blocking.only_with.is_none()
            && !blocking.ended_by.is_empty();
        let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return None };
        let ExprKind::Selector { base, .. } =
            function.file.expr(function.file.unparen(callee)).kind
        else {
            return None;
        };
        let text = function.callee_text(call);
        waits.then(|| Stay {
            calls: vec![text.clone()],
            waits: format!("`{text}` waits"),
            object: Object {
                ty: function.info.type_of(base).strip_pointer().clone(),
                field: field_of(function.file, &function.info, base),
            },
            enders: blocking.ended_by.iter().map(|name| Symbol::new(name)).collect(),
            feeders: Vec::new(),
            packages: Vec::new(),
            dispatched: Vec::new(),
        })
    }

    /// A method that waits for a condition of its receiver, in a loop, and looks at no context.
    fn condition(&self, read: &Read<'a>, body: BodyId) -> Option<Stay> {
        let function = &read.function;
        let index = function.index;
        let declared = index.func(function.id);
        let owner = declared.receiver?.ty.filter(|_| body == BodyId::OWN)?;
        let cfg = &function.body(body).cfg;
        let (wait, field) = cfg.steps().find_map(|step| {
            let Step::Call(call) = cfg.step(step) else { return None };
            let base = turns::base_of_model(self.look.cx, function, call, Op::CondWait)?;
            let (of, field) = field_of(function.file, &function.info, base)?;
            (of.declared() == Some(owner) && cfg.reaches(step, step)).then_some((call, field))
        })?;
        let root = Node::Decl(declared.decl);
        let sees_end = function.file.descendants(root).any(|node| match node {
            Node::Expr(expr) => turns::is_end(index, function.info.type_of(expr)),
            _ => false,
        });
        if sees_end || is_optional(function, body, wait) {
            return None;
        }
        let Wakers { enders, feeders } = enders::of_type(self.look, owner, field, read)?;
        let name = index.object(owner).name;
        let text = function.callee_text(wait);
        Some(Stay {
            calls: Vec::new(),
            waits: format!("`{}` of `{name}` waits in `{text}`", declared.name),
            object: Object { ty: index.object_type(owner), field: None },
            enders,
            feeders,
            packages: Vec::new(),
            dispatched: Vec::new(),
        })
    }

    /// What a call runs, if it can be one thing only.
    fn target(&mut self, read: &Arc<Read<'a>>, at: At, call: ExprId) -> Option<Inside<'a>> {
        match read.function.info.callee(call) {
            Callee::Func(func) => self.declared(*func),
            Callee::Literal(literal) => {
                Some((Arc::clone(read), read.function.body_of_literal(*literal)?))
            }
            Callee::Value(value) => self.value(read, at, *value),
            Callee::InterfaceMethod(selection) => self.implementation(selection),
            _ => None,
        }
    }

    /// The body of a function value.
    fn value(&mut self, read: &Arc<Read<'a>>, at: At, value: ExprId) -> Option<Inside<'a>> {
        let function = &read.function;
        let value = function.file.unparen(value);
        match denoted(function.file, &function.info, value).unwrap_or(&Def::Unknown) {
            Def::Method(func, selection) if !selection.expression => self.declared(*func),
            Def::Global(object) => match function.index.object(*object).kind {
                ObjectKind::Func(func) => self.declared(func),
                _ => None,
            },
            Def::InterfaceMethod(selection) => self.implementation(selection),
            Def::Field(selection) => self.field(selection),
            _ => match function.places(at, value).only()?.root {
                Root::Made(literal) => Some((Arc::clone(read), function.body_of_literal(literal)?)),
                _ => None,
            },
        }
    }

    fn declared(&mut self, func: FuncId) -> Option<Inside<'a>> {
        let package = func.package;
        if is_standard(self.look, package) {
            return None;
        }
        let read = self.look.below.read(func)?;
        if self.look.below.is_dependency(package) && !self.packages.contains(&package) {
            self.packages.push(package);
        }
        Some((read, BodyId::OWN))
    }

    /// The only type beside an interface that implements it.
    fn implementation(&mut self, selection: &Arc<Selection>) -> Option<Inside<'a>> {
        let owner = selection.owner.declared()?;
        let index = self.look.cx.index();
        if is_standard(self.look, owner.package) {
            return None;
        }
        let found = implementations(index, owner.package, selection);
        let [only] = found[..] else { return None };
        self.dispatched.push((Arc::clone(selection), only));
        self.declared(only)
    }

    /// The only function that is ever put into a field.
    fn field(&mut self, selection: &Selection) -> Option<Inside<'a>> {
        let owner = selection.owner.declared()?;
        let index = self.look.cx.index();
        let mut given = Vec::new();
        for func in &index.package(owner.package).funcs {
            let mentions = holds(index, func, selection.name);
            if mentions && !serves_tests(index, func.id) {
                let assigned = assigned(index, func, owner, selection.name);
                given.extend(assigned.into_iter().map(|value| (func.id, value)));
            }
        }
        let [(func, value)] = given[..] else { return None };
        let (read, _) = self.declared(func)?;
        let function = &read.function;
        let value = function.file.unparen(value);
        match function.file.expr(value).kind {
            ExprKind::FuncLit(_) => {
                let body = function.body_of_literal(value)?;
                Some((Arc::clone(&read), body))
            }
            ExprKind::Call { .. } => {
                let Callee::Func(maker) = *function.info.callee(value) else { return None };
                let (made, own) = self.declared(maker)?;
                let body = made.effects(own).effects.iter().find_map(|effect| {
                    match (effect.act, effect.place.root) {
                        (Act::Returned(0), Root::Made(literal)) => {
                            made.function.body_of_literal(literal)
                        }
                        _ => None,
                    }
                })?;
                Some((made, body))
            }
            ExprKind::Ident(_) | ExprKind::Selector { .. } => match function.info.resolve(value) {
                Def::Method(func, selection) if !selection.expression => self.declared(*func),
                Def::Global(object) => match index.object(*object).kind {
                    ObjectKind::Func(func) => self.declared(func),
                    _ => None,
                },
                Def::InterfaceMethod(selection) => self.implementation(selection),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether a flag in a field, which nothing on the way back to the wait looks at, decides that a call is not come to:
/// an option that who made the thing may not have taken.
fn is_optional(function: &Function<'_>, body: BodyId, wait: ExprId) -> bool {
    let file = function.file;
    let cfg = &function.body(body).cfg;
    let Some(step) = cfg.step_of_expr(wait) else { return false };
    let parents = file.parents(Node::Decl(function.index.func(function.id).decl));
    let loops = parents.around(Node::Expr(wait)).filter_map(|node| match node {
        Node::Stmt(stmt) => {
            matches!(file.stmt(stmt).kind, StmtKind::For { .. }).then(|| file.stmt(stmt).span)
        }
        _ => None,
    });
    let turns: Vec<Span> = loops.collect();
    let is_flag = |flag: ExprId| {
        let at = file.expr(flag).span.start;
        matches!(function.info.resolve(flag), Def::Field(_))
            && !turns.iter().any(|turn| turn.contains_offset(at))
    };
    let flag_of = |edge: &Edge| asked(file, edge.kind).map(|(flag, _)| flag);
    let leads = |flag: ExprId, to_wait: bool| {
        let mut edges = cfg.edges().filter(|edge| flag_of(edge) == Some(flag));
        edges.any(|edge| cfg.leads(edge, step) == to_wait)
    };
    let mut flags = cfg.edges().filter_map(flag_of).filter(|&flag| is_flag(flag));
    flags.any(|flag| leads(flag, true) && leads(flag, false))
}

/// Whether a body defers, on what it calls a method of, another method that gives the one waited in what it waits for.
fn gives_back(read: &Read<'_>, body: BodyId, call: ExprId, feeders: &[Symbol]) -> bool {
    let function = &read.function;
    let file = function.file;
    let Some((waits, _)) = file.method_call(call) else { return false };
    let cfg = &function.body(body).cfg;
    cfg.steps().any(|step| {
        let Step::Defer(stmt) = cfg.step(step) else { return false };
        BodyFlow::statement_call(file, stmt)
            .and_then(|deferred| file.method_call(deferred))
            .is_some_and(|(base, name)| {
                feeders.contains(&name.name) && function.text(base) == function.text(waits)
            })
    })
}

/// What a function puts into a field: in composite literals, and by assignments.
fn assigned(index: &Index<'_>, func: &Func, owner: ObjectId, field: Symbol) -> Vec<ExprId> {
    let file: &File = index.file_of(func.id);
    let info = index.body(func.id);
    let mut found = Vec::new();
    for node in file.descendants(Node::Decl(func.decl)) {
        match node {
            Node::Expr(expr) => {
                let ExprKind::CompositeLit { elements, .. } = &file.expr(expr).kind else {
                    continue;
                };
                if info.type_of(expr).declared() != Some(owner) {
                    continue;
                }
                let is_it = |key: ExprId| matches!(file.expr(key).kind, ExprKind::Ident(name) if name == field);
                let of_field = elements.iter().filter(|element| element.key.is_some_and(is_it));
                found.extend(of_field.map(|element| element.value));
            }
            Node::Stmt(stmt) => {
                let StmtKind::Assign { left, right, .. } = &file.stmt(stmt).kind else { continue };
                let is_it = |left: ExprId| {
                    field_of(file, &info, left)
                        .is_some_and(|(of, name)| name == field && of.declared() == Some(owner))
                };
                for (place, _) in left.iter().enumerate().filter(|(_, left)| is_it(**left)) {
                    found.push(right.get(place).copied().unwrap_or(right[0]));
                }
            }
            Node::Decl(_) => {}
        }
    }
    found
}

/// The methods of a package's types that a call through an interface may run.
fn implementations(index: &Index<'_>, package: PackageId, selection: &Selection) -> Vec<FuncId> {
    let package = index.package(package);
    let methods = package.funcs.iter().filter(|func| func.name == selection.name);
    methods
        .filter(|func| {
            let Some(owner) = func.receiver.and_then(|receiver| receiver.ty) else { return false };
            let ty = index.object_type(owner).pointer();
            index.implements(&ty, &selection.owner) == Some(true) && !serves_tests(index, func.id)
        })
        .map(|func| func.id)
        .collect()
}

/// Whether a type of another package of the run implements an interface too.
fn others_implement(look: Look<'_, '_>, selection: &Selection, known: FuncId) -> bool {
    let package = &look.cx.package;
    package.packages_with(selection.name).any(|other| {
        other != known.package && !implementations(package.index, other, selection).is_empty()
    })
}

/// Whether the text of a function holds a name.
pub(super) fn holds(index: &Index<'_>, func: &Func, name: Symbol) -> bool {
    if !index.may_name(func.id, name) {
        return false;
    }
    let file = index.file_of(func.id);
    let text = file.source.slice(file.decl(func.decl).span);
    memchr::memmem::find(text, name.as_str().as_bytes()).is_some()
}

/// The struct and the field that an expression denotes.
pub(super) fn field_of(file: &File, info: &BodyInfo, expr: ExprId) -> Option<(Type, Symbol)> {
    match denoted(file, info, expr)? {
        Def::Field(selection) => Some((selection.owner.clone(), selection.name)),
        _ => None,
    }
}

/// What an expression denotes that is a name.
pub(super) fn denoted<'i>(file: &File, info: &'i BodyInfo, expr: ExprId) -> Option<&'i Def> {
    let expr = file.unparen(expr);
    match file.expr(expr).kind {
        ExprKind::Ident(_) | ExprKind::Selector { .. } => Some(info.resolve(expr)),
        _ => None,
    }
}

/// Whether a package is one of the standard library.
pub(super) fn is_standard(look: Look<'_, '_>, package: PackageId) -> bool {
    let path = look.cx.index().package(package).path.as_str();
    look.below.is_dependency(package) && !path.split('/').next().unwrap_or_default().contains('.')
}
