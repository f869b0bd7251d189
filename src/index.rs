//! Go's scope and type rules: what the names of a program denote and what types its expressions
//! have. The only room that knows them.
//!
//! Everything is computed when it is asked for and kept; an [`Index`] can be asked from many
//! threads at once, and its answers do not depend on who asks first. What is not known is
//! [`Type::Unknown`], [`Def::Unknown`] or a name under a package that is not available; nothing
//! here guesses, because a finding must never rest on a guess. It knows nothing of control flow
//! and of no library: what the catalog says about results of missing packages comes in as data.

mod body;
mod constant;
mod def;
mod package;
mod types;

use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use crate::source::FileId;
use crate::syntax::{File, Symbol};

pub use body::BodyInfo;
pub use constant::Constant;
pub use def::{Builtin, Callee, Def, Local, LocalId, LocalKind, QualifiedName, Selection};
pub use package::{Func, Object, ObjectKind, Package, Receiver};
pub use types::{
    Array, Basic, Constraint, DeclRef, Field, Interface, InterfaceMethod, Map, Named, Signature,
    Struct, Type, TypeDecl, TypeParam,
};

/// A package in one view, of the run or of its dependencies. The numbers of dependencies depend
/// on the order in which they are met: results are never sorted by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageId(pub u32);

/// A declared function or method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId {
    /// Its package.
    pub package: PackageId,
    /// Its place in [`Package::funcs`].
    pub index: u32,
}

/// A variable, constant, type or function of package level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Its package.
    pub package: PackageId,
    /// Its place in [`Package::objects`].
    pub index: u32,
}

/// A package of the run, as `project` found it.
pub struct PackageSource {
    /// Its import path.
    pub path: Symbol,
    /// The name of its package clauses.
    pub name: Symbol,
    /// The files of the view.
    pub files: Vec<(FileId, Arc<File>)>,
}

/// The packages of a run and whatever they import, as far as somebody asks.
pub struct Index<'s> {
    packages: Vec<Package>,
    sources: PhantomData<&'s ()>,
}

static EMPTY_BODY: LazyLock<BodyInfo> = LazyLock::new(BodyInfo::default);

impl<'s> Index<'s> {
    /// An index of these packages: the first one gets number 0.
    pub fn new(packages: Vec<PackageSource>) -> Index<'s> {
        let packages = packages.into_iter().enumerate().map(|(number, source)| {
            Package::new(PackageId(number as u32), source.path, source.name, source.files)
        });
        Index { packages: packages.collect(), sources: PhantomData }
    }

    /// The declarations of a package.
    pub fn package(&self, id: PackageId) -> &Package {
        &self.packages[id.0 as usize]
    }

    /// A declared function or method.
    pub fn func(&self, id: FuncId) -> &Func {
        &self.package(id.package).funcs[id.index as usize]
    }

    /// A declaration of package level.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.package(id.package).objects[id.index as usize]
    }

    /// The tree of the file that declares a function.
    pub fn file_of(&self, id: FuncId) -> &Arc<File> {
        let func = self.func(id);
        self.package(id.package).file(func.file).expect("a function's file is one of its package")
    }

    /// The type of a declaration of package level; for a type, the type itself.
    pub fn object_type(&self, id: ObjectId) -> Type {
        self.object(id).ty.get().cloned().unwrap_or_default()
    }

    /// The value of a constant of package level.
    pub fn object_constant(&self, _id: ObjectId) -> Option<Constant> {
        None
    }

    /// The signature of a declared function or method, without its receiver.
    pub fn func_type(&self, id: FuncId) -> Type {
        self.func(id).ty.get().cloned().unwrap_or_default()
    }

    /// The names and types of a function's signature and body.
    pub fn body(&self, _id: FuncId) -> &BodyInfo {
        &EMPTY_BODY
    }

    /// The names and types of the specification that declares `id`, with its initial values.
    pub fn init_body(&self, _id: ObjectId) -> &BodyInfo {
        &EMPTY_BODY
    }

    /// What stands behind a defined type; of a type parameter its constraint interface; any
    /// other type is its own underlying type. Never [`Type::Named`].
    pub fn underlying(&self, ty: &Type) -> Type {
        match ty {
            Type::Named(_) | Type::Param(_) => Type::Unknown,
            other => other.clone(),
        }
    }

    /// The field or method that `x.name` denotes for an `x` of type `ty`, seen from `from`:
    /// [`Def::Field`], [`Def::Method`], [`Def::InterfaceMethod`], [`Def::External`] or
    /// [`Def::Unknown`].
    pub fn lookup(&self, _ty: &Type, _name: Symbol, _from: PackageId) -> Def {
        Def::Unknown
    }

    /// Whether values of type `ty` can be assigned to a variable of interface type `interface`
    /// as far as methods go; `None` when that is not known.
    pub fn implements(&self, _ty: &Type, _interface: &Type) -> Option<bool> {
        None
    }
}
