//! Fields that lead back from a part to what keeps it.
//!
//! `&listener{server: s}` that goes to `s.listeners`: what is taken out of `s.listeners` leads back to
//! `s` by its field `server`, as long as nobody assigns that, and all are made and kept alike.

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::index::{Callee, Def, Field, LocalId, LocalKind, Type, TypeDecl};
use crate::rules::evidence::getter::field_taken_by;
use crate::rules::evidence::runners::is_new;
use crate::rules::scene::{Scene, holds_any};
use crate::rules::{FunctionCx, PackageCx};
use crate::source::Location;
use crate::summary::{Definition, Function};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol};

/// How many variables lie at most between a part and the field that it was taken out of.
const MAX_VARIABLES: u32 = 4;

/// The fields of a package that lead back, as far as somebody asked.
pub(super) struct Parents<'p, 'a> {
    package: &'p PackageCx<'a>,
    /// By field, under which fields of what it leads to the parts are kept; `None` if it may lead elsewhere.
    known: RefCell<FxHashMap<Location, Option<FxHashSet<Symbol>>>>,
}

impl<'p, 'a> Parents<'p, 'a> {
    pub fn new(package: &'p PackageCx<'a>) -> Parents<'p, 'a> {
        Parents { package, known: RefCell::default() }
    }

    /// What the field with a name leads back to from an expression, as the function names it: what the
    /// value of the expression was taken out of.
    pub fn of(
        &self,
        scene: &Scene<'_>,
        function: &Function<'_>,
        part: ExprId,
        back: &str,
    ) -> Option<ExprId> {
        let (owner, kept) = taken_out_of(scene, function, part)?;
        let (part, field) = field_to(scene, part, back, owner)?;
        let is_kept = |under: &FxHashSet<Symbol>| under.contains(&kept);
        self.of_kept(part, &field, |under| under.is_some_and(is_kept)).then_some(owner)
    }

    /// Whether the field with a name leads from a part that a method of its owner was given to that owner, as far
    /// as the package tells: it leads to something of that type, and is given only where a part is made.
    pub fn is_made_by(&self, scene: &Scene<'_>, part: ExprId, back: &str, owner: ExprId) -> bool {
        let Some((part, field)) = field_to(scene, part, back, owner) else { return false };
        self.of_kept(part, &field, |under| under.is_some())
    }

    /// Asks under which fields all values of a type are kept that have such a field.
    fn of_kept(
        &self,
        part: TypeDecl,
        field: &Field,
        ask: impl FnOnce(Option<&FxHashSet<Symbol>>) -> bool,
    ) -> bool {
        let mut known = self.known.borrow_mut();
        let kept = || self.kept(part, field.name, field.location);
        ask(known.entry(field.location).or_insert_with(kept).as_ref())
    }

    /// Under which fields of what their own field leads to all values of a type are kept; `None` if that
    /// field is also assigned, or given something that is no variable.
    fn kept(&self, part: TypeDecl, back: Symbol, field: Location) -> Option<FxHashSet<Symbol>> {
        let mut all: Option<FxHashSet<Symbol>> = None;
        for func in &self.package.index.package(self.package.package).funcs {
            let cx = FunctionCx { package: *self.package, func: func.id };
            if !holds_any(&cx, &[back.as_str()]) {
                continue;
            }
            let Some(scene) = Scene::new(cx) else { continue };
            for &node in scene.nodes.iter() {
                let value = match given_to_part(&scene, node, part, back, field) {
                    Some(Given::Value(value)) => value,
                    Some(Given::Else) => return None,
                    None => continue,
                };
                let kept = self.kept_where_made(&scene, scene.local(value)?, part);
                all = Some(match all {
                    Some(all) => all.intersection(&kept).copied().collect(),
                    None => kept,
                });
            }
        }
        all
    }

    /// The fields that a function selects of a variable which it gives to a new part, or that its callers
    /// select of what they give it.
    fn kept_where_made(
        &self,
        scene: &Scene<'_>,
        owner: LocalId,
        part: TypeDecl,
    ) -> FxHashSet<Symbol> {
        let mut kept = self.kept_under(scene, owner, part);
        let local = scene.info.local(owner);
        let (LocalKind::Param(place), None) = (local.kind, local.owner) else { return kept };
        for &(func, call) in
            self.package.uses().calls.get(&scene.cx.func).map_or(&[][..], Vec::as_slice)
        {
            if let Some(caller) = Scene::new(FunctionCx { package: *self.package, func })
                && let Some(&given) = caller.args(call).get(place as usize)
                && let Some(given) = caller.local(given)
            {
                kept.extend(self.kept_under(&caller, given, part));
            }
        }
        kept
    }

    /// The fields of a variable under which a function may keep a part: those that it selects, and those in which a
    /// method of the variable puts what it is given. `list.add(part)`
    fn kept_under(&self, scene: &Scene<'_>, owner: LocalId, part: TypeDecl) -> FxHashSet<Symbol> {
        let mut kept = selected(scene, owner);
        let is_part = |expr: ExprId| {
            let named = scene.info.type_of(expr).strip_pointer().named();
            scene.local(expr).is_some() && named.is_some_and(|named| named.decl == part)
        };
        for used in scene.uses(owner) {
            let Some(method @ Node::Expr(_)) = scene.parent(Node::Expr(used)) else { continue };
            let Some(Node::Expr(call)) = scene.parent(method) else { continue };
            let Callee::Func(callee) = *scene.info.callee(call) else { continue };
            let Some(given) = scene.args(call).iter().position(|&arg| is_part(arg)) else {
                continue;
            };
            if scene.method_call(call).is_some_and(|(base, _)| base == used)
                && callee.package == scene.cx.func.package
                && let Some(called) = Scene::of(self.package, callee)
            {
                kept.extend(put_into(&called, given as u32));
            }
        }
        kept
    }
}

/// The field with a name of what a part is, and the type of the part, if the field leads to another type,
/// which is that of the owner.
fn field_to(
    scene: &Scene<'_>,
    part: ExprId,
    back: &str,
    owner: ExprId,
) -> Option<(TypeDecl, Field)> {
    let declared = |ty: &Type| ty.strip_pointer().named().map(|named| named.decl);
    let of_part = scene.info.type_of(part).strip_pointer();
    let Type::Struct(fields) = scene.cx.index().underlying(of_part) else { return None };
    let of_part = of_part.named()?;
    let field = fields.fields.iter().find(|field| field.name.as_str() == back)?;
    let of_owner = declared(scene.info.type_of(owner))?;
    let apart = declared(&field.ty)? == of_owner && of_part.decl != of_owner;
    apart.then(|| (of_part.decl, field.clone()))
}

/// The fields that a function selects of a variable.
fn selected(scene: &Scene<'_>, variable: LocalId) -> FxHashSet<Symbol> {
    scene.uses(variable).filter_map(|used| field_of(scene, used)).map(|(_, name)| name).collect()
}

/// The selection of a field that a use of a variable is part of.
fn field_of(scene: &Scene<'_>, used: ExprId) -> Option<(Node, Symbol)> {
    let around = scene.parent(Node::Expr(used))?;
    let Node::Expr(selector) = around else { return None };
    match scene.info.resolve(selector) {
        Def::Field(selection) => Some((around, selection.name)),
        _ => None,
    }
}

/// The fields of its receiver in which a method puts a parameter: `s.all = append(s.all, part)`,
/// `s.all[key] = part`, `s.all.PushBack(part)`.
fn put_into(scene: &Scene<'_>, place: u32) -> FxHashSet<Symbol> {
    let (Some(receiver), Some(param)) = (scene.receiver(), scene.info.param(None, place)) else {
        return FxHashSet::default();
    };
    let puts = |node: &Node| {
        let is_stmt = matches!(node, Node::Stmt(stmt) if matches!(
            scene.file.stmt(*stmt).kind,
            StmtKind::Assign { .. } | StmtKind::Expr(_)
        ));
        is_stmt && scene.mentions(*node, param)
    };
    let uses = scene.uses(receiver).filter_map(|used| field_of(scene, used));
    uses.filter(|&(node, _)| scene.around(node).any(|around| puts(&around)))
        .map(|(_, name)| name)
        .collect()
}

/// What a node gives a field.
enum Given {
    /// This, where the owner is made.
    Value(ExprId),
    /// Something, in another way.
    Else,
}

/// What a node gives the field of a part.
fn given_to_part(
    scene: &Scene<'_>,
    node: Node,
    part: TypeDecl,
    back: Symbol,
    field: Location,
) -> Option<Given> {
    match node {
        Node::Expr(literal) => {
            let ExprKind::CompositeLit { elements, .. } = &scene.file.expr(literal).kind else {
                return None;
            };
            let made = scene.info.type_of(literal).strip_pointer().named()?;
            let first = elements.first().filter(|_| made.decl == part)?;
            // Without keys each element has its place.
            let Some(_) = first.key else { return Some(Given::Else) };
            let named = |key: ExprId| is_ident(scene, key, back);
            let mut given = elements.iter().filter(|element| element.key.is_some_and(named));
            given.next().map(|element| Given::Value(element.value))
        }
        Node::Stmt(stmt) => {
            let StmtKind::Assign { left, right, .. } = &scene.file.stmt(stmt).kind else {
                return None;
            };
            let target = left.iter().position(|&left| {
                match scene.info.resolve(scene.file.unparen(left)) {
                    Def::Field(selection) => selection.location == Some(field),
                    _ => false,
                }
            })?;
            let made = scene.selector(left[target]).is_some_and(|(base, _)| is_made(scene, base));
            let value = right.get(target).filter(|_| made && right.len() == left.len());
            Some(value.map_or(Given::Else, |&value| Given::Value(value)))
        }
        Node::Decl(_) => None,
    }
}

/// The only definition of a variable, those left out that make something new where nothing was found.
pub(super) fn only_found<'f>(
    scene: &Scene<'_>,
    function: &'f Function<'_>,
    variable: LocalId,
) -> Option<&'f Definition> {
    let mut found = function.definitions_of(variable).filter(|it| !is_new(scene, it));
    let first = found.next();
    first.filter(|_| found.next().is_none()).or_else(|| function.only_definition_of(variable))
}

/// Whether an expression is a variable that the function defines as something new.
pub(super) fn is_made(scene: &Scene<'_>, expr: ExprId) -> bool {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
    let Some(variable) = scene.local(expr) else { return false };
    let definition = read.function.only_definition_of(variable);
    definition.is_some_and(|only| is_new(scene, only))
}

fn is_ident(scene: &Scene<'_>, expr: ExprId, name: Symbol) -> bool {
    matches!(scene.file.expr(expr).kind, ExprKind::Ident(it) if it == name)
}

/// The owner of the field that a value was taken out of, and the name of the field.
pub(super) fn taken_out_of(
    scene: &Scene<'_>,
    function: &Function<'_>,
    value: ExprId,
) -> Option<(ExprId, Symbol)> {
    taken_through(scene, function, value, MAX_VARIABLES)
}

/// As [`taken_out_of`], through so many variables, also of other functions that only take something out.
pub(super) fn taken_through(
    scene: &Scene<'_>,
    function: &Function<'_>,
    value: ExprId,
    variables: u32,
) -> Option<(ExprId, Symbol)> {
    let mut at = scene.file.unparen(value);
    loop {
        at = match scene.file.expr(at).kind {
            ExprKind::Index { base, .. } | ExprKind::TypeAssert { base, .. } => {
                scene.file.unparen(base)
            }
            ExprKind::Selector { base, name } => {
                let is_field = matches!(scene.info.resolve(at), Def::Field(_));
                return is_field.then_some((base, name.name));
            }
            ExprKind::Call { .. } => {
                return field_taken_by(scene, at, variables.checked_sub(1)?);
            }
            _ => break,
        };
    }
    let variables = variables.checked_sub(1)?;
    let from = function.taken_from(only_found(scene, function, scene.local(at)?)?)?;
    taken_through(scene, function, from, variables)
}
