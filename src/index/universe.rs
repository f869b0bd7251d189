//! The universe block: what is declared everywhere (Go specification, "Predeclared identifiers").

use std::sync::{Arc, LazyLock, OnceLock};

use rustc_hash::FxHashMap;

use crate::syntax::Symbol;

use super::{Basic, Builtin, Interface, InterfaceMethod, Named, Signature, Type, TypeDecl};

/// A predeclared name.
#[derive(Clone, Debug)]
pub(super) enum Predeclared {
    Type(Type),
    Builtin(Builtin),
    True,
    False,
    Iota,
    Nil,
}

/// What `name` is predeclared as.
pub(super) fn lookup(name: Symbol) -> Option<&'static Predeclared> {
    UNIVERSE.get(&name)
}

/// What package `unsafe` declares under `name`.
pub(super) fn lookup_unsafe(name: Symbol) -> Option<Predeclared> {
    Some(match name.as_str() {
        "Pointer" => Predeclared::Type(Type::Basic(Basic::UnsafePointer)),
        "Add" => Predeclared::Builtin(Builtin::UnsafeAdd),
        "Alignof" => Predeclared::Builtin(Builtin::UnsafeAlignof),
        "Offsetof" => Predeclared::Builtin(Builtin::UnsafeOffsetof),
        "Sizeof" => Predeclared::Builtin(Builtin::UnsafeSizeof),
        "Slice" => Predeclared::Builtin(Builtin::UnsafeSlice),
        "SliceData" => Predeclared::Builtin(Builtin::UnsafeSliceData),
        "String" => Predeclared::Builtin(Builtin::UnsafeString),
        "StringData" => Predeclared::Builtin(Builtin::UnsafeStringData),
        _ => return None,
    })
}

/// The type `error`.
pub(super) fn error() -> Type {
    ERROR.clone()
}

/// `interface{}`.
pub(super) fn any() -> Type {
    ANY.clone()
}

/// The underlying type of `error`.
pub(super) fn error_interface() -> Type {
    ERROR_INTERFACE.clone()
}

static UNIVERSE: LazyLock<FxHashMap<Symbol, Predeclared>> = LazyLock::new(|| {
    let mut names = FxHashMap::default();
    let types = [
        ("bool", Basic::Bool),
        ("byte", Basic::Uint8),
        ("complex128", Basic::Complex128),
        ("complex64", Basic::Complex64),
        ("float32", Basic::Float32),
        ("float64", Basic::Float64),
        ("int", Basic::Int),
        ("int16", Basic::Int16),
        ("int32", Basic::Int32),
        ("int64", Basic::Int64),
        ("int8", Basic::Int8),
        ("rune", Basic::Int32),
        ("string", Basic::String),
        ("uint", Basic::Uint),
        ("uint16", Basic::Uint16),
        ("uint32", Basic::Uint32),
        ("uint64", Basic::Uint64),
        ("uint8", Basic::Uint8),
        ("uintptr", Basic::Uintptr),
    ];
    for (name, basic) in types {
        names.insert(Symbol::new(name), Predeclared::Type(Type::Basic(basic)));
    }
    names.insert(Symbol::new("any"), Predeclared::Type(any()));
    names.insert(Symbol::new("error"), Predeclared::Type(error()));
    names.insert(Symbol::new("comparable"), Predeclared::Type(predeclared("comparable")));
    let builtins = [
        ("append", Builtin::Append),
        ("cap", Builtin::Cap),
        ("clear", Builtin::Clear),
        ("close", Builtin::Close),
        ("complex", Builtin::Complex),
        ("copy", Builtin::Copy),
        ("delete", Builtin::Delete),
        ("imag", Builtin::Imag),
        ("len", Builtin::Len),
        ("make", Builtin::Make),
        ("max", Builtin::Max),
        ("min", Builtin::Min),
        ("new", Builtin::New),
        ("panic", Builtin::Panic),
        ("print", Builtin::Print),
        ("println", Builtin::Println),
        ("real", Builtin::Real),
        ("recover", Builtin::Recover),
    ];
    for (name, builtin) in builtins {
        names.insert(Symbol::new(name), Predeclared::Builtin(builtin));
    }
    names.insert(Symbol::new("true"), Predeclared::True);
    names.insert(Symbol::new("false"), Predeclared::False);
    names.insert(Symbol::new("iota"), Predeclared::Iota);
    names.insert(Symbol::new("nil"), Predeclared::Nil);
    names
});

static ANY: LazyLock<Type> = LazyLock::new(|| {
    Type::Interface(Arc::new(Interface {
        methods: Box::new([]),
        embedded: Box::new([]),
        path: Symbol::new(""),
    }))
});

static ERROR: LazyLock<Type> = LazyLock::new(|| predeclared("error"));

static ERROR_INTERFACE: LazyLock<Type> = LazyLock::new(|| {
    let signature = Signature {
        type_params: Box::new([]),
        params: Box::new([]),
        results: Box::new([Type::Basic(Basic::String)]),
        variadic: false,
    };
    let error = InterfaceMethod {
        name: Symbol::new("Error"),
        ty: Type::Func(Arc::new(signature)),
        location: None,
    };
    Type::Interface(Arc::new(Interface {
        methods: Box::new([error]),
        embedded: Box::new([]),
        path: Symbol::new(""),
    }))
});

fn predeclared(name: &str) -> Type {
    Type::Named(Arc::new(Named {
        path: Symbol::new(""),
        name: Symbol::new(name),
        decl: TypeDecl::Universe,
        args: Box::new([]),
        expanded: OnceLock::new(),
    }))
}
