//! What is known of the expressions of one body.

use rustc_hash::FxHashMap;

use crate::source::Span;
use crate::syntax::ExprId;

use super::types::UNKNOWN;
use super::{Callee, Constant, Def, FuncId, Local, LocalId, LocalKind, Type};

/// The names, types, constants and calls of one function, its signature and its function
/// literals included; or of one specification of package level.
#[derive(Clone, Debug, Default)]
pub struct BodyInfo {
    /// The number of the first expression that `types` and `facts` speak of.
    base: u32,
    types: Vec<Type>,
    /// For an identifier or selector twice one more than its place in `names`; for a call one more
    /// than twice one more than its place in `calls`; 0 for all else.
    facts: Vec<u32>,
    names: Vec<Def>,
    calls: Vec<Callee>,
    constants: FxHashMap<ExprId, Constant>,
    locals: Vec<Local>,
    /// The variables of type switch clauses, by the start of the clause.
    clauses: FxHashMap<u32, LocalId>,
}

/// The last bit of a fact about a name, and about a call.
const NAME: u32 = 0;
const CALL: u32 = 1;

static NO_DEF: Def = Def::Unknown;
static NO_CALLEE: Callee = Callee::Unknown { name: None };

impl BodyInfo {
    /// The type of an expression, or the type that a type expression denotes. Of a call without
    /// results it is the empty [`Type::Tuple`]. Untyped constants keep their untyped kind.
    pub fn type_of(&self, expr: ExprId) -> &Type {
        self.slot(expr).and_then(|slot| self.types.get(slot)).unwrap_or(&UNKNOWN)
    }

    /// What an identifier or selector denotes; for one that declares, what it declares. Of other
    /// expressions nothing is known.
    pub fn resolve(&self, expr: ExprId) -> &Def {
        self.fact(expr, NAME).and_then(|fact| self.names.get(fact)).unwrap_or(&NO_DEF)
    }

    /// What a call calls. Of other expressions nothing is known.
    pub fn callee(&self, call: ExprId) -> &Callee {
        self.fact(call, CALL).and_then(|fact| self.calls.get(fact)).unwrap_or(&NO_CALLEE)
    }

    /// The calls of a declared function, in no order.
    pub fn calls_of(&self, func: FuncId) -> impl Iterator<Item = ExprId> {
        let is_it =
            move |callee: &Callee| matches!(callee, Callee::Func(called) if *called == func);
        // Most bodies call it nowhere, and have fewer calls than expressions.
        let facts = match self.calls.iter().any(is_it) {
            true => &self.facts[..],
            false => &[],
        };
        (self.base..).zip(facts).filter_map(move |(expr, &fact)| {
            let place = (fact >> 1).checked_sub(1).filter(|_| fact & 1 == CALL)?;
            self.calls.get(place as usize).is_some_and(is_it).then_some(ExprId(expr))
        })
    }

    /// The value of a constant expression.
    pub fn constant(&self, expr: ExprId) -> Option<&Constant> {
        self.constants.get(&expr)
    }

    /// Everything that is declared within the function, by number: the receiver, parameters and
    /// results first, then in order of source.
    pub fn locals(&self) -> &[Local] {
        &self.locals
    }

    /// One of `locals`.
    pub fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.0 as usize]
    }

    /// A parameter of the function, or of a literal in it, by its number; `None` if it has no name.
    pub fn param(&self, literal: Option<ExprId>, index: u32) -> Option<LocalId> {
        let is_it = |local: &Local| local.owner == literal && local.kind == LocalKind::Param(index);
        Some(LocalId(self.locals.iter().position(is_it)? as u32))
    }

    /// What the name at `span` declares: for parameters, results and the names of `var`, `const`
    /// and `type`, which are no expressions.
    pub fn declared_at(&self, span: Span) -> Option<LocalId> {
        let found = self.locals.iter().position(|local| local.span == span)?;
        Some(LocalId(found as u32))
    }

    /// The variable that a clause of a type switch declares, by the span of the clause.
    pub fn clause_variable(&self, clause: Span) -> Option<LocalId> {
        self.clauses.get(&clause.start).copied()
    }

    fn slot(&self, expr: ExprId) -> Option<usize> {
        expr.0.checked_sub(self.base).map(|slot| slot as usize)
    }

    fn fact(&self, expr: ExprId, kind: u32) -> Option<usize> {
        let fact = *self.facts.get(self.slot(expr)?)?;
        let place = (fact >> 1).checked_sub(1).filter(|_| fact & 1 == kind)?;
        Some(place as usize)
    }
}

/// How a walk writes down what it learns.
impl BodyInfo {
    /// Gives back what was reserved for more: there are as many of these as functions.
    pub(super) fn shrink(&mut self) {
        self.types.shrink_to_fit();
        self.facts.shrink_to_fit();
        self.names.shrink_to_fit();
        self.calls.shrink_to_fit();
        self.locals.shrink_to_fit();
        self.constants.shrink_to_fit();
    }

    pub(super) fn add_local(&mut self, local: Local) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(local);
        id
    }

    pub(super) fn local_mut(&mut self, id: LocalId) -> &mut Local {
        &mut self.locals[id.0 as usize]
    }

    pub(super) fn set_type(&mut self, expr: ExprId, ty: Type) {
        let slot = self.make_slot(expr);
        if self.types.len() <= slot {
            self.types.resize(slot + 1, Type::Unknown);
        }
        self.types[slot] = ty;
    }

    pub(super) fn set_name(&mut self, expr: ExprId, def: Def) {
        self.names.push(def);
        let fact = self.names.len() as u32;
        self.set_fact(expr, fact << 1 | NAME);
    }

    pub(super) fn set_call(&mut self, call: ExprId, callee: Callee) {
        self.calls.push(callee);
        let fact = self.calls.len() as u32;
        self.set_fact(call, fact << 1 | CALL);
    }

    pub(super) fn set_constant(&mut self, expr: ExprId, constant: Constant) {
        self.constants.insert(expr, constant);
    }

    pub(super) fn set_clause(&mut self, clause: Span, local: LocalId) {
        self.clauses.insert(clause.start, local);
    }

    fn set_fact(&mut self, expr: ExprId, fact: u32) {
        let slot = self.make_slot(expr);
        if self.facts.len() <= slot {
            self.facts.resize(slot + 1, 0);
        }
        self.facts[slot] = fact;
    }

    /// The place of `expr` in the tables, which start at the first expression that was met.
    fn make_slot(&mut self, expr: ExprId) -> usize {
        if self.types.is_empty() && self.facts.is_empty() {
            self.base = expr.0;
        }
        if expr.0 < self.base {
            let more = (self.base - expr.0) as usize;
            self.types.splice(0..0, std::iter::repeat_n(Type::Unknown, more));
            self.facts.splice(0..0, std::iter::repeat_n(0, more));
            self.base = expr.0;
        }
        (expr.0 - self.base) as usize
    }
}
