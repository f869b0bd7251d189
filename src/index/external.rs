//! What the catalog says about packages that are not available.

use std::sync::Arc;

use crate::catalog::{self, Direction, Facts, NoVersions, TypeExpr, TypeRoles};
use crate::project::PackageId;
use crate::syntax::{ChanDir, Symbol};

use super::check::external_type;
use super::universe::{self, Predeclared};
use super::{Index, QualifiedName, Signature, Struct, Type};

impl Index<'_> {
    /// The results of a call in `from` to a function or method whose package is not available.
    pub(super) fn external_results(&self, from: PackageId, name: QualifiedName) -> Type {
        match self.external_signature(name) {
            None => Type::Unknown,
            Some([single]) => self.available(from, type_of(single)),
            Some(results) => {
                let results = results.iter().map(|result| self.available(from, type_of(result)));
                Type::Tuple(Arc::new(results.collect()))
            }
        }
    }

    /// The type of a variable or field, seen from `from`, whose package is not available; only
    /// good for what is known not to be a function.
    pub(super) fn external_variable(&self, from: PackageId, name: QualifiedName) -> Type {
        match self.external_signature(name) {
            Some([single]) => self.available(from, type_of(single)),
            _ => Type::Unknown,
        }
    }

    /// The type of a function or method, seen from `from`, whose package is not available, if the
    /// catalog says what it takes.
    pub(super) fn external_func(&self, from: PackageId, name: QualifiedName) -> Type {
        let known = self.external_facts(name).in_force::<catalog::Signature>(&NoVersions);
        let Some(catalog::Signature { params: Some(params), results }) = known else {
            return Type::Unknown;
        };
        let types = |listed: &[TypeExpr]| {
            listed.iter().map(|each| self.available(from, type_of(each))).collect()
        };
        Type::Func(Arc::new(Signature {
            type_params: Box::new([]),
            params: types(params),
            results: types(results),
            variadic: matches!(params.last(), Some(TypeExpr::Variadic(_))),
        }))
    }

    /// Whether the catalog knows of a type by this name.
    pub(super) fn is_external_type(&self, name: QualifiedName) -> bool {
        name.receiver.is_none() && self.external_facts(name).of::<TypeRoles>().next().is_some()
    }

    fn external_signature(&self, name: QualifiedName) -> Option<&[TypeExpr]> {
        Some(&self.external_facts(name).in_force::<catalog::Signature>(&NoVersions)?.results)
    }

    fn external_facts(&self, name: QualifiedName) -> &Facts {
        let receiver = name.receiver.map(Symbol::as_str);
        self.catalog.facts(name.path.as_str(), receiver, name.name.as_str())
    }

    /// A type that the catalog names, as its package declares it if that is one of the standard
    /// library: those of modules are only looked for where the program imports them.
    fn available(&self, from: PackageId, ty: Type) -> Type {
        match &ty {
            Type::Pointer(base) => self.available(from, Type::clone(base)).pointer(),
            Type::Slice(element) => self.available(from, Type::clone(element)).slice(),
            Type::Chan(dir, element) => {
                Type::Chan(*dir, Arc::new(self.available(from, Type::clone(element))))
            }
            Type::Named(named) if is_standard(named.path) => {
                let package = self.import(from, named.path).map(|package| self.package(package));
                match package.and_then(|package| package.lookup(named.name)) {
                    Some(object) => self.object_type(object.id),
                    None => ty,
                }
            }
            _ => ty,
        }
    }
}

/// What `name` of the package imported as `path` is called where catalogs speak of it. Godep wrote
/// the place of its copy into the import paths.
pub(super) fn external_name(path: Symbol, name: Symbol) -> QualifiedName {
    let path = path
        .as_str()
        .rsplit_once("/Godeps/_workspace/src/")
        .map_or(path, |(_, copied)| Symbol::new(copied));
    QualifiedName { path, receiver: None, name }
}

/// Whether an import path is one of the standard library: the first element has no dot.
fn is_standard(path: Symbol) -> bool {
    let path = path.as_str();
    !path.is_empty() && !path.split('/').next().unwrap_or(path).contains('.')
}

/// A type as the catalog writes it.
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
