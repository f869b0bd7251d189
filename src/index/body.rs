//! What is known of the expressions of one body.

use rustc_hash::FxHashMap;

use crate::source::Span;
use crate::syntax::ExprId;

use super::types::UNKNOWN;
use super::{Callee, Constant, Def, Local, LocalId, Type};

/// The names, types, constants and calls of one function, its signature and its function
/// literals included; or of one specification of package level.
#[derive(Clone, Debug, Default)]
pub struct BodyInfo {
    /// The number of the first expression that `types` and `facts` speak of.
    base: u32,
    types: Vec<Type>,
    /// For an identifier, selector or call one more than its place in `names` or `calls`.
    facts: Vec<u32>,
    names: Vec<Def>,
    calls: Vec<Callee>,
    constants: FxHashMap<ExprId, Constant>,
    locals: Vec<Local>,
    /// The variables of type switch clauses, by the start of the clause.
    clauses: FxHashMap<u32, LocalId>,
}

static NO_DEF: Def = Def::Unknown;
static NO_CALLEE: Callee = Callee::Unknown { name: None };

impl BodyInfo {
    /// The type of an expression, or the type that a type expression denotes. Of a call without
    /// results it is the empty [`Type::Tuple`]. Untyped constants keep their untyped kind.
    pub fn type_of(&self, expr: ExprId) -> &Type {
        self.slot(expr).and_then(|slot| self.types.get(slot)).unwrap_or(&UNKNOWN)
    }

    /// What an identifier or selector denotes; for one that declares, what it declares.
    pub fn resolve(&self, expr: ExprId) -> &Def {
        self.fact(expr).and_then(|fact| self.names.get(fact)).unwrap_or(&NO_DEF)
    }

    /// What a call calls.
    pub fn callee(&self, call: ExprId) -> &Callee {
        self.fact(call).and_then(|fact| self.calls.get(fact)).unwrap_or(&NO_CALLEE)
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

    fn fact(&self, expr: ExprId) -> Option<usize> {
        let fact = *self.facts.get(self.slot(expr)?)?;
        fact.checked_sub(1).map(|fact| fact as usize)
    }
}
