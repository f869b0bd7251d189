//! Declared types, as far as the machine needs them: for zero values, for what a parameter can be,
//! and for dispatch. Types are interned, so equal types have equal ids. Generic types are erased:
//! a type parameter is the unknown type.

use rustc_hash::FxHashMap;

use crate::program::code::NameId;
use crate::program::library::LibType;
use crate::syntax::{ChanDir, Symbol};

/// A type of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// A defined type of the package: an index into the definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedId(pub u32);

impl TypeId {
    /// The unknown type.
    pub const UNKNOWN: TypeId = TypeId(0);
    /// `bool`
    pub const BOOL: TypeId = TypeId(1);
    /// All integer types.
    pub const INT: TypeId = TypeId(2);
    /// `string`
    pub const STRING: TypeId = TypeId(3);
    /// `error`
    pub const ERROR: TypeId = TypeId(4);
    /// `any`
    pub const ANY: TypeId = TypeId(5);
    /// `float64` and `complex128` and their kin.
    pub const FLOAT: TypeId = TypeId(6);
    /// An error made by `errors.New` or `fmt.Errorf`: never any other concrete type.
    pub const PLAIN_ERROR: TypeId = TypeId(7);
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Nothing is known: also type parameters.
    Unknown,
    /// `bool`
    Bool,
    /// An integer type.
    Int,
    /// `string`
    String,
    /// `error`
    Error,
    /// A floating-point or complex type.
    Float,
    /// The dynamic type of an error made from text.
    PlainError,
    /// A defined type of this package.
    Named(NamedId),
    /// A type of a library that the machine knows.
    Lib(LibType),
    /// A defined type of another package: its path and its name.
    External(Symbol, Symbol),
    /// `*T`
    Pointer(TypeId),
    /// `[]T`
    Slice(TypeId),
    /// `[n]T`; `None` where the length is not known.
    Array(Option<u32>, TypeId),
    /// `map[K]V`
    Map(TypeId, TypeId),
    /// `chan T`
    Chan(ChanDir, TypeId),
    /// A function type: its results.
    Func(Box<[TypeId]>),
    /// An interface: its methods as far as they are known; `any` has none.
    Interface(Box<[NameId]>),
    /// A struct type.
    Struct(Box<[FieldType]>),
}

/// A field of a struct type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldType {
    /// Its name; that of its type if it is embedded.
    pub name: NameId,
    /// Its type.
    pub ty: TypeId,
    /// Whether it is embedded.
    pub embedded: bool,
}

/// A defined type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: Symbol,
    /// What it is defined as.
    pub definition: TypeId,
    /// Whether it is an alias.
    pub alias: bool,
}

/// All types of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Types {
    types: Vec<Type>,
    ids: FxHashMap<Type, TypeId>,
    named: Vec<Named>,
}

impl Default for Types {
    fn default() -> Types {
        let mut types = Types { types: Vec::new(), ids: FxHashMap::default(), named: Vec::new() };
        // In the order of the constants of `TypeId`.
        types.intern(Type::Unknown);
        types.intern(Type::Bool);
        types.intern(Type::Int);
        types.intern(Type::String);
        types.intern(Type::Error);
        types.intern(Type::Interface(Box::default()));
        types.intern(Type::Float);
        types.intern(Type::PlainError);
        types
    }
}

impl Types {
    /// The id of `ty`.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(&id) = self.ids.get(&ty) {
            return id;
        }
        let id = TypeId(self.types.len() as u32);
        self.types.push(ty.clone());
        self.ids.insert(ty, id);
        id
    }

    /// The id of `ty`, if the program speaks of it.
    pub fn find(&self, ty: &Type) -> TypeId {
        self.ids.get(ty).copied().unwrap_or(TypeId::UNKNOWN)
    }

    /// All types that the program speaks of.
    pub fn all(&self) -> impl Iterator<Item = &Type> {
        self.types.iter()
    }

    /// Announces a defined type, whose definition comes later.
    pub fn declare(&mut self, name: Symbol, alias: bool) -> NamedId {
        self.named.push(Named { name, definition: TypeId::UNKNOWN, alias });
        NamedId(self.named.len() as u32 - 1)
    }

    /// Says what a defined type is.
    pub fn define(&mut self, id: NamedId, definition: TypeId) {
        self.named[id.0 as usize].definition = definition;
    }

    /// What `id` is, without resolving names.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// The defined type `id`.
    pub fn named(&self, id: NamedId) -> &Named {
        &self.named[id.0 as usize]
    }

    /// Number of defined types.
    pub fn named_count(&self) -> usize {
        self.named.len()
    }

    /// `id` with the names of defined types looked through. Definitions that go in circles, which
    /// Go refuses, are unknown.
    pub fn underlying(&self, mut id: TypeId) -> &Type {
        for _ in 0..16 {
            match *self.get(id) {
                Type::Named(named) => id = self.named(named).definition,
                _ => return self.get(id),
            }
        }
        self.get(TypeId::UNKNOWN)
    }

    /// The defined type that `id` names, through aliases but not through definitions.
    pub fn name_of(&self, mut id: TypeId) -> Option<NamedId> {
        for _ in 0..16 {
            match *self.get(id) {
                Type::Named(named) if self.named(named).alias => {
                    id = self.named(named).definition;
                }
                Type::Named(named) => return Some(named),
                _ => return None,
            }
        }
        None
    }

    /// What `id` points to, if it is a pointer type.
    pub fn pointee(&self, id: TypeId) -> Option<TypeId> {
        match *self.underlying(id) {
            Type::Pointer(to) => Some(to),
            _ => None,
        }
    }

    /// Whether a variable of this type gets another value when it is assigned: a struct or an array is
    /// overwritten where it is.
    pub fn is_replaced(&self, id: TypeId) -> bool {
        matches!(
            self.underlying(id),
            Type::Bool
                | Type::Int
                | Type::Float
                | Type::String
                | Type::Slice(_)
                | Type::Map(..)
                | Type::Chan(..)
                | Type::Func(_)
        )
    }

    /// The type of the elements of a slice, array or map; unknown otherwise.
    pub fn element(&self, id: TypeId) -> TypeId {
        match *self.underlying(id) {
            Type::Slice(element) | Type::Array(_, element) | Type::Map(_, element) => element,
            Type::Chan(_, element) => element,
            _ => TypeId::UNKNOWN,
        }
    }

    /// The type of the keys of a map; that of indices otherwise.
    pub fn key(&self, id: TypeId) -> TypeId {
        match *self.underlying(id) {
            Type::Map(key, _) => key,
            _ => TypeId::INT,
        }
    }

    /// Whether values of `id` are booleans, integers or strings.
    pub fn is_basic(&self, id: TypeId) -> bool {
        matches!(self.underlying(id), Type::Bool | Type::Int | Type::String)
    }

    /// Whether values of `id` are booleans, numbers or strings: nothing that can lead to a
    /// channel, a lock or a function.
    pub fn is_scalar(&self, id: TypeId) -> bool {
        matches!(
            self.underlying(id),
            Type::Bool | Type::Int | Type::String | Type::Float | Type::Lib(LibType::Duration)
        )
    }
}
