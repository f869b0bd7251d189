//! `part-not-ended`: a type makes something that keeps a goroutine until it is ended, keeps it in a
//! field, and has a method that ends the rest of it; but nothing in the package ends that field.
//!
//! The field has to be the package's own affair: it is only made, used by method calls, compared
//! with `nil` and copied from a variable that has no other use. As soon as anything else becomes of
//! it, somebody else may end it, and nothing is said.

mod lent;
mod skipped;
mod started;

pub use started::started;

use std::cell::OnceCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::catalog::{Base, End, Resource};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{BodyInfo, Callee, Def, Func, FuncId, LocalId, ObjectId, Type};
use crate::rules::scene::serves_tests;
use crate::rules::{Check, PackageCx, Rule, held};
use crate::source::Location;
use crate::summary::{BodyId, facts};
use crate::syntax::{ExprId, ExprKind, File, Node, Parents, StmtKind, Symbol};

/// The rule.
pub const RULE: Rule =
    Rule { page: include_str!("../../rules/part-not-ended.md"), check: Check::Package(check) };

/// Things that have rules of their own, or that nobody has to end.
const OTHERS: [&str; 8] = [
    "client stream",
    "response body",
    "response stream",
    "rows",
    "test server",
    "ticker",
    "timer",
    "transaction",
];

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let package = cx.index.package(cx.package);
    let may_end = |func: &Func| func.receiver.is_some() && held::names_end(func.name);
    if !package.funcs.iter().any(may_end) {
        return;
    }
    // What has to end the part is told of; who makes it, for a part that is lent.
    if package.funcs.iter().any(|func| may_end(func) && cx.counts_in(func) && may_be_made(cx, func))
    {
        kept(cx, findings);
    }
    lent::check(cx, findings);
}

/// Whether the functions that are read may make values of the type of a method: a test's is made by tests.
fn may_be_made(cx: &PackageCx<'_>, method: &Func) -> bool {
    let owner = method.receiver.and_then(|receiver| receiver.ty);
    let is_of_test = |owner| cx.index.is_test_file(cx.index.object(owner).file);
    owner.is_some_and(|owner| !is_of_test(owner))
}

/// The parts that are kept in fields of the package's own types.
fn kept(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let mut parts = Parts::default();
    let package = cx.index.package(cx.package);
    for func in package.funcs.iter().filter(|func| !serves_tests(cx.index, func.id)) {
        Reader::new(cx, func).read(&mut parts);
    }
    let sole = parts.made.iter().filter(|(field, _)| !parts.fresh.contains(field));
    let mut made: Vec<(&FieldOf, &Made)> = sole.collect();
    made.extend(parts.started.iter().filter(|(field, _)| parts.fresh.contains(field)));
    made.sort_by_key(|(_, made)| made.location);
    for (field, made) in made {
        let ended =
            |(method, _): &(Symbol, FuncId)| made.ends.iter().any(|end| **end == *method.as_str());
        let called = parts.called.get(field);
        if parts.lost_sight.contains(field) || called.is_some_and(|all| all.iter().any(ended)) {
            continue;
        }
        findings.extend(finding(cx, *field, made));
    }
    skipped::check(cx, &parts, findings);
}

/// A field of a type of the package.
type FieldOf = (ObjectId, Symbol);

/// What becomes of the fields of the package's types.
#[derive(Default)]
struct Parts {
    /// Fields that hold what has to be ended.
    made: FxHashMap<FieldOf, Made>,
    /// Fields that get something which was made for them, and holds nothing that has to be ended.
    fresh: FxHashSet<FieldOf>,
    /// Fields that hold what has to be ended since a method of it was called.
    started: FxHashMap<FieldOf, Made>,
    /// The methods of fields that are called, and where.
    called: FxHashMap<FieldOf, FxHashSet<(Symbol, FuncId)>>,
    /// Fields of which something else becomes than what this rule understands.
    lost_sight: FxHashSet<FieldOf>,
}

/// What a field holds.
struct Made {
    location: Location,
    what: String,
    /// The methods that end it.
    ends: Vec<Box<str>>,
    /// The method that starts what has to be ended, if that is not done when it is made.
    by: Option<Symbol>,
}

/// What a field gets.
enum Holding {
    /// What has to be ended.
    Made(Made),
    /// What was made for it, and what has to be ended since a method of it was called.
    Fresh(Option<Made>),
}

/// One function, and what stands around each of its expressions.
struct Reader<'r, 'a> {
    cx: &'r PackageCx<'a>,
    func: &'a Func,
    file: &'a File,
    info: Arc<BodyInfo>,
    parents: OnceCell<Parents>,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn new(cx: &'r PackageCx<'a>, func: &'a Func) -> Reader<'r, 'a> {
        let (file, info) = (cx.index.file_of(func.id), cx.index.body(func.id));
        Reader { cx, func, file, info, parents: OnceCell::new() }
    }

    fn read(&self, parts: &mut Parts) {
        for node in self.file.descendants(Node::Decl(self.func.decl)) {
            let Node::Expr(expr) = node else { continue };
            match &self.file.expr(expr).kind {
                ExprKind::Selector { base, name } => {
                    if let Some(field) = self.field(*base, name.name) {
                        self.use_of(expr, field, parts);
                    }
                }
                ExprKind::CompositeLit { elements, .. } => {
                    let Some(owner) = self.info.type_of(expr).declared() else { continue };
                    for element in elements {
                        let Some(key) = element.key else { continue };
                        if let ExprKind::Ident(name) = self.file.expr(key).kind
                            && self.may_be_told((owner, name))
                        {
                            self.stored((owner, name), element.value, 0, parts);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn field(&self, base: ExprId, name: Symbol) -> Option<FieldOf> {
        let ty = self.info.type_of(base);
        let owner = ty.declared().filter(|&owner| self.may_be_told((owner, name)))?;
        let Type::Struct(fields) = self.cx.index.underlying(ty.strip_pointer()) else {
            return None;
        };
        fields.fields.iter().any(|field| field.name == name).then_some((owner, name))
    }

    /// Whether a field is one that something can be said of: its type may have a method that ends its
    /// values, and others cannot name both.
    fn may_be_told(&self, (owner, field): FieldOf) -> bool {
        owner.package == self.cx.package && {
            let name = self.cx.index.object(owner).name;
            let is_hidden = !field.is_exported() || !name.is_exported();
            let mut methods = self.cx.index.package(owner.package).methods(name);
            is_hidden && methods.any(|method| held::names_end(method.name))
        }
    }

    fn use_of(&self, expr: ExprId, field: FieldOf, parts: &mut Parts) {
        let understood = match self.around(Node::Expr(expr)) {
            Some(Node::Expr(outer)) => match self.file.expr(outer).kind {
                ExprKind::Selector { name, .. } if self.is_called(outer) => {
                    let called = parts.called.entry(field).or_default();
                    called.insert((name.name, self.func.id));
                    if let Some(started) = started::by(self, outer) {
                        parts.started.entry(field).or_insert(started);
                    }
                    true
                }
                ExprKind::Binary { left, right, .. } => {
                    let is_nil = |side| matches!(self.info.resolve(side), Def::Nil);
                    is_nil(left) || is_nil(right)
                }
                _ => false,
            },
            Some(Node::Stmt(stmt)) => match &self.file.stmt(stmt).kind {
                StmtKind::Assign { left, op: None, right } => {
                    match left.iter().position(|&left| self.file.unparen(left) == expr) {
                        Some(place) => {
                            let (value, result) = match right[..] {
                                [only] => (Some(only), place),
                                _ => (right.get(place).copied(), 0),
                            };
                            if let Some(value) = value {
                                self.stored(field, value, result as u32, parts);
                            }
                            value.is_some()
                        }
                        None => false,
                    }
                }
                _ => false,
            },
            _ => false,
        };
        if !understood {
            parts.lost_sight.insert(field);
        }
    }

    /// A value is stored in a field.
    fn stored(&self, field: FieldOf, value: ExprId, result: u32, parts: &mut Parts) {
        let value = self.file.unparen(value);
        let held = match self.info.resolve(value) {
            Def::Nil => return,
            Def::Local(local) => self.held_in(*local, value),
            _ => self.held_by(value, result),
        };
        match held {
            Some(Holding::Made(made)) => drop(parts.made.entry(field).or_insert(made)),
            Some(Holding::Fresh(started)) => {
                parts.fresh.insert(field);
                if let Some(started) = started {
                    parts.started.entry(field).or_insert(started);
                }
            }
            None => drop(parts.lost_sight.insert(field)),
        }
    }

    /// What a value is that is made where it stands.
    fn held_by(&self, value: ExprId, result: u32) -> Option<Holding> {
        let made = self.made_by(value, result).map(Holding::Made);
        made.or_else(|| started::is_fresh(self, value, result).then_some(Holding::Fresh(None)))
    }

    /// What a call gives that has to be ended.
    fn made_by(&self, call: ExprId, result: u32) -> Option<Made> {
        let callee = self.info.callee(call);
        let location = Location { file: self.func.file, span: self.file.expr(call).span };
        let known = facts(self.cx.catalog, self.cx.index, callee);
        let of_library = known
            .of::<Resource>()
            .filter(|(entry, _)| entry.gate.holds(self.cx.versions) == Some(true))
            .map(|(_, fact)| fact)
            .find(|fact| {
                let of_result = matches!(fact.place.base, Base::Result(base) if base == result)
                    && fact.place.field.is_none();
                of_result && keeps_goroutine(fact)
            });
        if let Some(fact) = of_library {
            let ends = fact.ends.iter().filter_map(|end| match end {
                End::Method(name) => Some(name.clone()),
                _ => None,
            });
            return Some(Made {
                location,
                what: fact.what.to_string(),
                ends: ends.collect(),
                by: None,
            });
        }
        let Callee::Func(callee) = callee else { return None };
        let resources = self.cx.summaries.resources(*callee);
        let own = resources.into_iter().find(|own| own.result == result)?;
        if own.is_left_out(self.file, &self.info, call)
            || !own.can_be_ended_in(self.cx.package, callee.package)
        {
            return None;
        }
        let by_context = own.stop.last().is_some_and(|last| last.as_str() == "Done()");
        let ty = match self.info.type_of(call) {
            Type::Tuple(types) => types.get(result as usize)?,
            ty => ty,
        };
        let what = ty.strip_pointer().named()?.name.as_str().to_owned();
        let ends = own.ends.iter().map(|end| end.as_str().into()).collect();
        (!by_context).then_some(Made { location, what, ends, by: None })
    }

    /// What a variable holds that has to be ended, if its only other uses are calls of its
    /// methods and comparisons with `nil`.
    fn held_in(&self, local: LocalId, stored: ExprId) -> Option<Holding> {
        let (mut held, mut started) = (None, None);
        for node in self.file.descendants(Node::Decl(self.func.decl)) {
            let Node::Expr(expr) = node else { continue };
            let is_use = matches!(self.info.resolve(expr), Def::Local(other) if *other == local);
            if !is_use || expr == stored || !matches!(self.file.expr(expr).kind, ExprKind::Ident(_))
            {
                continue;
            }
            match self.around(Node::Expr(expr))? {
                Node::Expr(outer) => match self.file.expr(outer).kind {
                    ExprKind::Selector { .. } if self.is_called(outer) => {
                        started = started.or_else(|| started::by(self, outer));
                    }
                    ExprKind::Binary { .. } => {}
                    _ => return None,
                },
                Node::Stmt(stmt) => match &self.file.stmt(stmt).kind {
                    StmtKind::Assign { left, right, .. } | StmtKind::Define { left, right }
                        if right.len() == 1 && held.is_none() =>
                    {
                        let place = left.iter().position(|&left| left == expr)?;
                        held = Some(self.held_by(self.file.unparen(right[0]), place as u32)?);
                    }
                    _ => return None,
                },
                Node::Decl(_) => return None,
            }
        }
        match held? {
            Holding::Fresh(_) => Some(Holding::Fresh(started)),
            made => Some(made),
        }
    }

    fn is_called(&self, callee: ExprId) -> bool {
        match self.around(Node::Expr(callee)) {
            Some(Node::Expr(call)) => match self.file.expr(call).kind {
                ExprKind::Call { callee: called, .. } => self.file.unparen(called) == callee,
                _ => false,
            },
            _ => false,
        }
    }

    /// What stands around a node, parentheses left out.
    fn around(&self, node: Node) -> Option<Node> {
        let parents = self.parents.get_or_init(|| self.file.parents(Node::Decl(self.func.decl)));
        parents.around(node).find(|around| match around {
            Node::Expr(expr) => !matches!(self.file.expr(*expr).kind, ExprKind::Paren(_)),
            _ => true,
        })
    }
}

/// Whether a goroutine of this process stays until a method of the thing is called, and nothing
/// else ends it.
fn keeps_goroutine(fact: &Resource) -> bool {
    fact.goroutine
        && fact.starts.is_empty()
        && fact.stop.is_none()
        && fact.context.is_none()
        && !fact.without_options
        && !OTHERS.contains(&&*fact.what)
        && fact.ends.iter().any(|end| matches!(end, End::Method(_)))
}

fn finding(cx: &PackageCx<'_>, (owner, field): FieldOf, made: &Made) -> Option<Finding> {
    if owner.package != cx.package {
        return None;
    }
    let name = cx.index.object(owner).name;
    // What others can name, others can end.
    if field.is_exported() && name.is_exported() {
        return None;
    }
    let method = ending_method(cx, name)?;
    let end = cx.index.name_of(method.id);
    let stop = made.ends.first()?;
    let what = &made.what;
    let message = format!(
        "`{}` of `{name}` leaves `{field}` running: nothing in the package calls `{stop}` of it",
        method.name
    );
    let mut finding = cx.finding(end, "ends the rest, and not this", message);
    finding.labels.push(Label {
        location: made.location,
        role: Role::Made,
        message: match made.by {
            Some(start) => format!("the {what} is started here, by `{start}`"),
            None => format!("the {what} is made here, for `{field}`"),
        },
    });
    finding.why = format!(
        "its goroutine stays until `{stop}` is called; the field is used in this package alone, \
         and no function of it does that"
    );
    finding.help = format!("`{field}.{stop}()` in `{}`", method.name);
    finding.defect = made.location;
    Some(finding)
}

/// The method that ends values of a type of the package, the first by name.
fn ending_method<'a>(cx: &PackageCx<'a>, name: Symbol) -> Option<&'a Func> {
    let methods = cx.index.package(cx.package).methods(name);
    let mut ending: Vec<&Func> = methods.filter(|method| held::names_end(method.name)).collect();
    ending.sort_by_key(|method| method.name.as_str());
    ending.into_iter().find(|method| ends_value(cx, method))
}

/// Whether a method ends its value: it is not told of anything else to end, and does more than
/// return.
fn ends_value(cx: &PackageCx<'_>, method: &Func) -> bool {
    let Type::Func(signature) = cx.index.func_type(method.id) else { return false };
    if !signature.params.iter().all(Type::is_context) {
        return false;
    }
    cx.summaries.read(method.id).is_some_and(|read| {
        let cfg = &read.function.body(BodyId::OWN).cfg;
        cfg.steps().any(|step| matches!(cfg.step(step), Step::Call(_) | Step::Defer(_)))
    })
}
