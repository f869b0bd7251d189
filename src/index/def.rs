//! What a name or a call denotes.

use std::fmt;
use std::sync::Arc;

use crate::catalog::Name;
use crate::source::{Location, Span};
use crate::syntax::{ExprId, Symbol};

use super::{FuncId, Index, ObjectId, Type};

/// `path.name`, `(path.receiver).name` or `(*path.receiver).name`: how catalogs name what
/// libraries declare. The pointer is not part of the key: a type cannot have both methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QualifiedName {
    /// Import path; empty for what is predeclared.
    pub path: Symbol,
    /// The type that declares the method; for an interface's method, the interface.
    pub receiver: Option<Symbol>,
    /// The name.
    pub name: Symbol,
}

impl QualifiedName {
    /// Whether it is the name that the catalog writes.
    pub fn is(&self, name: &Name) -> bool {
        *name.package == *self.path.as_str()
            && name.receiver.as_deref() == self.receiver.map(|of| of.as_str())
            && *name.name == *self.name.as_str()
    }
}

/// A variable, constant, type or type parameter declared within a function: an index into
/// [`BodyInfo::locals`](super::BodyInfo::locals) of that function's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalId(pub u32);

/// Something declared within a function, its signature included.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name.
    pub name: Symbol,
    /// Where the name stands in its declaration. The variables that the clauses of one type
    /// switch declare share it.
    pub span: Span,
    /// Its type; for a type or type parameter, the type itself.
    pub ty: Type,
    /// What it is.
    pub kind: LocalKind,
    /// The function literal that it belongs to; `None` for the declared function itself.
    pub owner: Option<ExprId>,
    /// Whether a function literal inside its own function uses it.
    pub captured: bool,
}

/// What a [`Local`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalKind {
    /// The receiver of the method.
    Receiver,
    /// A parameter, with its place in the list.
    Param(u32),
    /// A named result, with its place in the list.
    Result(u32),
    /// A variable.
    Var,
    /// A variable that the `init` or `range` clause of a `for` statement declares: one for each
    /// iteration since Go 1.22, one for the whole loop before.
    LoopVar,
    /// The variable of one clause of a type switch.
    TypeSwitch,
    /// A constant.
    Const,
    /// A type.
    Type,
    /// A type parameter.
    TypeParam,
}

/// What an identifier or a selector denotes.
#[derive(Clone, Debug, Default)]
pub enum Def {
    /// Not known.
    #[default]
    Unknown,
    /// Something declared in the function.
    Local(LocalId),
    /// A declaration of package level, in any available package.
    Global(ObjectId),
    /// A field of a struct.
    Field(Arc<Selection>),
    /// A method that is declared with a receiver.
    Method(FuncId, Arc<Selection>),
    /// A method of an interface.
    InterfaceMethod(Arc<Selection>),
    /// An imported package, by its path.
    Package(Symbol),
    /// A predeclared function, or one of package `unsafe`.
    Builtin(Builtin),
    /// A predeclared type, or `unsafe.Pointer`.
    PredeclaredType(Type),
    /// `nil`.
    Nil,
    /// `true`, `false` or `iota`.
    PredeclaredConst(Symbol),
    /// The blank identifier.
    Blank,
    /// A declaration of a package that is not available, or a field or method of such a type.
    External(QualifiedName),
}

/// How a selector reaches a field or method.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The name selected.
    pub name: Symbol,
    /// The type whose declaration has the field or method: a defined type, a type parameter, or
    /// a struct or interface literal.
    pub owner: Type,
    /// The embedded fields that are passed through, outermost first.
    pub path: Box<[Symbol]>,
    /// Where the field's or method's name stands; `None` for `error.Error`.
    pub location: Option<Location>,
    /// Type of the field, or signature of the method without its receiver.
    pub ty: Type,
    /// Whether a pointer is followed on the way to the field or the method's receiver.
    pub indirect: bool,
    /// Whether this is a method expression `T.m`: a function that takes the receiver first.
    pub expression: bool,
}

/// What a call calls.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A declared function or method, of any available package.
    Func(FuncId),
    /// A method of an interface or of a type parameter.
    InterfaceMethod(Arc<Selection>),
    /// A function or method whose package is not available.
    External(QualifiedName),
    /// A predeclared function, or one of package `unsafe`.
    Builtin(Builtin),
    /// Not a call: a conversion to this type.
    Conversion(Type),
    /// A function literal, called where it stands.
    Literal(ExprId),
    /// A value of function type: a variable, a field, a result.
    Value(ExprId),
    /// Not known; the name is that of the identifier or selector, if there is one.
    Unknown {
        /// The last name of the callee.
        name: Option<Symbol>,
    },
}

/// Predeclared functions and those of package `unsafe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are Go's")]
pub enum Builtin {
    Append,
    Cap,
    Clear,
    Close,
    Complex,
    Copy,
    Delete,
    Imag,
    Len,
    Make,
    Max,
    Min,
    New,
    Panic,
    Print,
    Println,
    Real,
    Recover,
    UnsafeAdd,
    UnsafeAlignof,
    UnsafeOffsetof,
    UnsafeSizeof,
    UnsafeSlice,
    UnsafeSliceData,
    UnsafeString,
    UnsafeStringData,
}

impl LocalKind {
    /// Whether it holds a value that can change.
    pub fn is_variable(self) -> bool {
        !matches!(self, LocalKind::Const | LocalKind::Type | LocalKind::TypeParam)
    }
}

impl Callee {
    /// The key for look-ups in the catalog, for functions, methods and interface methods alike.
    pub fn qualified(&self, index: &Index<'_>) -> Option<QualifiedName> {
        match self {
            Callee::Func(id) => Some(index.func(*id).qualified),
            Callee::InterfaceMethod(selection) => selection.qualified(),
            Callee::External(name) => Some(*name),
            _ => None,
        }
    }
}

impl Selection {
    /// The name under the defined type that declares it.
    pub fn qualified(&self) -> Option<QualifiedName> {
        let owner = self.owner.named()?;
        Some(QualifiedName { path: owner.path, receiver: Some(owner.name), name: self.name })
    }
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.path.as_str(), self.receiver) {
            ("", Some(receiver)) => write!(f, "({receiver}).{}", self.name),
            ("", None) => write!(f, "{}", self.name),
            (path, Some(receiver)) => write!(f, "({path}.{receiver}).{}", self.name),
            (path, None) => write!(f, "{path}.{}", self.name),
        }
    }
}
