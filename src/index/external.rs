//! What the catalog says about packages that are not available.

use std::sync::Arc;

use crate::catalog::{Direction, NoVersions, Signature, TypeExpr};
use crate::syntax::{ChanDir, Symbol};

use super::check::external_type;
use super::universe::{self, Predeclared};
use super::{Index, QualifiedName, Struct, Type};

impl Index<'_> {
    /// The results of a call to a function or method whose package is not available.
    pub(super) fn external_results(&self, name: QualifiedName) -> Type {
        let receiver = name.receiver.map(Symbol::as_str);
        let facts = self.catalog.facts(name.path.as_str(), receiver, name.name.as_str());
        let Some(signature) = facts.in_force::<Signature>(&NoVersions) else {
            return Type::Unknown;
        };
        match &signature.results[..] {
            [single] => type_of(single),
            results => Type::Tuple(Arc::new(results.iter().map(type_of).collect())),
        }
    }
}

pub(super) fn type_of(expr: &TypeExpr) -> Type {
    match expr {
        TypeExpr::Any | TypeExpr::Rest | TypeExpr::Func => Type::Unknown,
        TypeExpr::Predeclared(name) if &**name == "struct{}" => {
            Type::Struct(Arc::new(Struct { fields: Box::new([]), path: Symbol::new("") }))
        }
        TypeExpr::Predeclared(name) => match universe::lookup(Symbol::new(name)) {
            Some(Predeclared::Type(ty)) => ty.clone(),
            _ => Type::Unknown,
        },
        TypeExpr::Named(name) => external_type(
            QualifiedName {
                path: Symbol::new(&name.package),
                receiver: None,
                name: Symbol::new(&name.name),
            },
            Box::new([]),
        ),
        TypeExpr::Pointer(base) => type_of(base).pointer(),
        TypeExpr::Slice(element) | TypeExpr::Variadic(element) => type_of(element).slice(),
        TypeExpr::Chan(direction, element) => {
            let direction = match direction {
                Direction::Both => ChanDir::Both,
                Direction::Receive => ChanDir::Recv,
                Direction::Send => ChanDir::Send,
            };
            Type::Chan(direction, Arc::new(type_of(element)))
        }
    }
}
