//! Types as values: cheap to clone, comparable, printable.
//!
//! A type never holds the declaration of a named type, only who declares it, so recursive types
//! need no cycles here; [`Index::underlying`](super::Index::underlying) goes from the name to
//! what stands behind it. [`Type::Unknown`] may stand anywhere inside a type.

use std::sync::{Arc, OnceLock};

use crate::project::PackageId;
use crate::source::{FileId, Location};
use crate::syntax::{ChanDir, DeclId, Symbol};

use super::{ObjectId, QualifiedName};

/// A type, or [`Type::Unknown`]. Aliases never appear: they are what they stand for.
#[derive(Clone, Debug, Default)]
pub enum Type {
    /// Nothing is known.
    #[default]
    Unknown,
    /// A predeclared type that is not an interface, `unsafe.Pointer`, or an untyped constant's.
    Basic(Basic),
    /// A defined type, also when its package is not available.
    Named(Arc<Named>),
    /// `*T`.
    Pointer(Arc<Type>),
    /// `[]T`.
    Slice(Arc<Type>),
    /// `[n]T`.
    Array(Arc<Array>),
    /// `map[K]V`.
    Map(Arc<Map>),
    /// `chan T`, with its direction.
    Chan(ChanDir, Arc<Type>),
    /// A function.
    Func(Arc<Signature>),
    /// `struct { ... }`.
    Struct(Arc<Struct>),
    /// `interface { ... }`.
    Interface(Arc<Interface>),
    /// The results of a call that has none or several.
    Tuple(Arc<Vec<Type>>),
    /// A type parameter, within its declaration.
    Param(Arc<TypeParam>),
}

/// What never changes and needs no allocation.
pub static UNKNOWN: Type = Type::Unknown;

/// Predeclared types and the kinds of untyped constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are Go's")]
pub enum Basic {
    Bool,
    Int,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Uintptr,
    Float32,
    Float64,
    Complex64,
    Complex128,
    String,
    UnsafePointer,
    UntypedBool,
    UntypedInt,
    UntypedRune,
    UntypedFloat,
    UntypedComplex,
    UntypedString,
    UntypedNil,
}

/// A defined type, perhaps instantiated.
#[derive(Debug)]
pub struct Named {
    /// Import path of the declaring package; empty for predeclared types.
    pub path: Symbol,
    /// The name.
    pub name: Symbol,
    /// Who declares it.
    pub decl: TypeDecl,
    /// The type arguments; the type's own parameters within its declaration; empty for a type
    /// that is not generic and for a generic type that is not instantiated.
    pub args: Box<[Type]>,
    /// The underlying type with `args` put in, once somebody has asked.
    pub(super) expanded: OnceLock<Type>,
}

/// Where a defined type comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeDecl {
    /// `error` or `comparable`.
    Universe,
    /// A declaration of an available package.
    Global(ObjectId),
    /// A declaration inside a function.
    Local(DeclRef),
    /// A package that is not available.
    External,
}

/// A specification of some file.
#[derive(Clone, Copy, Debug)]
pub struct DeclRef {
    /// The package, in the view that was asked.
    pub package: PackageId,
    /// The file.
    pub file: FileId,
    /// The specification.
    pub decl: DeclId,
}

/// `[len]element`.
#[derive(Debug)]
pub struct Array {
    /// The length; `None` when its constant is not known.
    pub len: Option<u64>,
    /// The element type.
    pub element: Type,
}

/// `map[key]value`.
#[derive(Debug)]
pub struct Map {
    /// The key type.
    pub key: Type,
    /// The value type.
    pub value: Type,
}

/// Parameters and results.
#[derive(Debug)]
pub struct Signature {
    /// The type parameters of a generic function that is not instantiated.
    pub type_params: Box<[Arc<TypeParam>]>,
    /// The parameters; a variadic one last, as a slice.
    pub params: Box<[Type]>,
    /// The results.
    pub results: Box<[Type]>,
    /// Whether the last parameter is `...T`.
    pub variadic: bool,
}

/// The fields of a struct type.
#[derive(Debug)]
pub struct Struct {
    /// In order.
    pub fields: Box<[Field]>,
    /// Import path of the package that the literal stands in: unexported names belong to it.
    pub path: Symbol,
}

/// One field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name; for an embedded field that of its type.
    pub name: Symbol,
    /// Its type.
    pub ty: Type,
    /// Whether it is embedded.
    pub embedded: bool,
    /// Where its name stands; for an embedded field, that of its type.
    pub location: Location,
}

/// An interface type literal.
#[derive(Debug)]
pub struct Interface {
    /// Its own methods, in order of source.
    pub methods: Box<[InterfaceMethod]>,
    /// The interfaces and unions that it embeds.
    pub embedded: Box<[Constraint]>,
    /// Import path of the package that the literal stands in: unexported names belong to it.
    pub path: Symbol,
}

/// A method of an interface.
#[derive(Clone, Debug)]
pub struct InterfaceMethod {
    /// Its name.
    pub name: Symbol,
    /// Its signature, a [`Type::Func`].
    pub ty: Type,
    /// Where its name stands; `None` for `error.Error`.
    pub location: Option<Location>,
}

/// An embedded element of an interface: a union of terms; a single interface is a union of one.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// The terms: whether `~` precedes the type, and the type.
    pub terms: Box<[(bool, Type)]>,
}

/// A type parameter. Two are the same when declaration and index agree.
#[derive(Debug)]
pub struct TypeParam {
    /// The declaration that has it in its list; for those of a method's receiver, the type's.
    pub owner: DeclRef,
    /// Its place in the list.
    pub index: u32,
    /// Its name where it was met.
    pub name: Symbol,
}

impl PartialEq for DeclRef {
    /// Views of one package share files, so that the package does not count.
    fn eq(&self, other: &DeclRef) -> bool {
        (self.file, self.decl) == (other.file, other.decl)
    }
}

impl Eq for DeclRef {}

impl std::hash::Hash for DeclRef {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.file, self.decl).hash(state);
    }
}

impl PartialEq for TypeParam {
    fn eq(&self, other: &TypeParam) -> bool {
        (self.owner, self.index) == (other.owner, other.index)
    }
}

impl Eq for TypeParam {}

impl Basic {
    /// The name that Go programs write, or the compiler's for untyped constants.
    pub fn name(self) -> &'static str {
        match self {
            Basic::Bool => "bool",
            Basic::Int => "int",
            Basic::Int8 => "int8",
            Basic::Int16 => "int16",
            Basic::Int32 => "int32",
            Basic::Int64 => "int64",
            Basic::Uint => "uint",
            Basic::Uint8 => "uint8",
            Basic::Uint16 => "uint16",
            Basic::Uint32 => "uint32",
            Basic::Uint64 => "uint64",
            Basic::Uintptr => "uintptr",
            Basic::Float32 => "float32",
            Basic::Float64 => "float64",
            Basic::Complex64 => "complex64",
            Basic::Complex128 => "complex128",
            Basic::String => "string",
            Basic::UnsafePointer => "unsafe.Pointer",
            Basic::UntypedBool => "untyped bool",
            Basic::UntypedInt => "untyped int",
            Basic::UntypedRune => "untyped rune",
            Basic::UntypedFloat => "untyped float",
            Basic::UntypedComplex => "untyped complex",
            Basic::UntypedString => "untyped string",
            Basic::UntypedNil => "untyped nil",
        }
    }

    /// Whether it is the type of an untyped constant or of `nil`.
    pub fn is_untyped(self) -> bool {
        self.default() != self || self == Basic::UntypedNil
    }

    /// The type that an untyped constant of this kind takes without context.
    pub fn default(self) -> Basic {
        match self {
            Basic::UntypedBool => Basic::Bool,
            Basic::UntypedInt => Basic::Int,
            Basic::UntypedRune => Basic::Int32,
            Basic::UntypedFloat => Basic::Float64,
            Basic::UntypedComplex => Basic::Complex128,
            Basic::UntypedString => Basic::String,
            other => other,
        }
    }

    /// Whether values are integers.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Basic::Int
                | Basic::Int8
                | Basic::Int16
                | Basic::Int32
                | Basic::Int64
                | Basic::Uint
                | Basic::Uint8
                | Basic::Uint16
                | Basic::Uint32
                | Basic::Uint64
                | Basic::Uintptr
                | Basic::UntypedInt
                | Basic::UntypedRune
        )
    }

    /// Whether values are strings.
    pub fn is_string(self) -> bool {
        matches!(self, Basic::String | Basic::UntypedString)
    }
}

impl Named {
    /// Package and name, as catalogs write it.
    pub fn qualified(&self) -> QualifiedName {
        QualifiedName { path: self.path, receiver: None, name: self.name }
    }

    /// Whether it is `path.name`.
    pub fn is(&self, path: &str, name: &str) -> bool {
        self.name.as_str() == name && self.path.as_str() == path
    }
}

impl Type {
    /// `*self`.
    pub fn pointer(self) -> Type {
        Type::Pointer(Arc::new(self))
    }

    /// `[]self`.
    pub fn slice(self) -> Type {
        Type::Slice(Arc::new(self))
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Type::Unknown)
    }

    /// The base of a pointer type *literal*, else the type itself. A defined pointer type is not
    /// looked into, as in the rules for methods.
    pub fn strip_pointer(&self) -> &Type {
        match self {
            Type::Pointer(base) => base,
            other => other,
        }
    }

    /// Where the defined type is declared that this is, or that this points to; `None` if that is in a function, or
    /// not known.
    pub fn declared(&self) -> Option<ObjectId> {
        match self.named()?.decl {
            TypeDecl::Global(object) => Some(object),
            _ => None,
        }
    }

    /// The defined type that this is, or that this points to.
    pub fn named(&self) -> Option<&Named> {
        match self.strip_pointer() {
            Type::Named(named) => Some(named),
            _ => None,
        }
    }

    /// Whether this is the defined type `path.name` (not a pointer to it).
    pub fn is_named(&self, path: &str, name: &str) -> bool {
        matches!(self, Type::Named(named) if named.is(path, name))
    }

    /// Whether this is `context.Context`, or the type of golang.org/x/net that it was before Go 1.7
    /// and has been an alias of since Go 1.9.
    pub fn is_context(&self) -> bool {
        const BEFORE_GO_1_7: [&str; 2] =
            ["golang.org/x/net/context", "code.google.com/p/go.net/context"];
        self.is_named("context", "Context")
            || BEFORE_GO_1_7.iter().any(|path| self.is_named(path, "Context"))
    }

    /// Whether this is `error`.
    pub fn is_error(&self) -> bool {
        matches!(self, Type::Named(named) if named.decl == TypeDecl::Universe && named.is("", "error"))
    }

    /// The type without what is untyped about it.
    pub fn default(&self) -> Type {
        match self {
            Type::Basic(basic) => Type::Basic(basic.default()),
            other => other.clone(),
        }
    }

    /// Whether this is the type of an untyped constant or of `nil`.
    pub fn is_untyped(&self) -> bool {
        matches!(self, Type::Basic(basic) if basic.is_untyped())
    }
}
