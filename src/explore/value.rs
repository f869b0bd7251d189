//! Values of the abstract machine. What is not known keeps its identity, so that a question asked
//! twice has one answer.

use crate::program::code::{Builtin, ExternalId, FuncId, NameId, TextId};
use crate::program::types::TypeId;

/// An object of a state's heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectId(pub u32);

/// A term of the exploration: see [`Term`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TermId(pub u32);

/// A value that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Unknown {
    /// What it is told apart by, within one state and those that follow it.
    pub id: u32,
    /// Its declared type, if there is one.
    pub ty: TypeId,
    /// Whether it is known not to be nil.
    pub non_nil: bool,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    Nil,
    Bool(bool),
    Int(i64),
    Str(TextId),
    /// A constant known by its text alone.
    Atom(TextId),
    /// A function or variable of another package.
    External(ExternalId),
    Func(FuncId),
    Builtin(Builtin),
    /// A pointer, channel, map, slice, context or function value: the object it leads to.
    Ref(ObjectId),
    /// A struct, array or lock held in place: assigning it copies the object.
    Struct(ObjectId),
    /// A pointer to a field.
    FieldRef(ObjectId, NameId),
    /// A pointer to an element.
    ElementRef(ObjectId, u32),
    Unknown(Unknown),
    /// Something said about unknowns.
    Term(TermId),
}

/// Something said about unknowns, built without deciding them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Term {
    /// The length of an unknown.
    Len(Value),
    /// A field of an unknown.
    Member(Value, NameId),
    /// An element of an unknown.
    Element(Value, Value),
    Not(Value),
    /// A comparison or an arithmetic operation.
    Binary(crate::program::code::Operator, Value, Value),
    /// Whether the dynamic type is this one.
    IsType(Value, TypeId),
    /// Whether an error is another one or wraps it: `errors.Is`.
    ErrorIs(Value, Value),
    /// The channel that the method `Done` of an unknown gives. It is closed if the term holds.
    Done(Value),
}

impl Value {
    /// The object that the value leads to, if it is one.
    pub fn object(self) -> Option<ObjectId> {
        match self {
            Value::Ref(id) | Value::Struct(id) => Some(id),
            Value::FieldRef(id, _) | Value::ElementRef(id, _) => Some(id),
            _ => None,
        }
    }

    /// Whether nothing is known of it.
    pub fn is_unknown(self) -> bool {
        matches!(self, Value::Unknown(_) | Value::Term(_))
    }

    /// Whether it leads to an object or is a function: what escapes with its identity.
    pub fn is_reference(self) -> bool {
        self.object().is_some() || matches!(self, Value::Func(_))
    }
}

impl Term {
    /// The operands that are values.
    pub fn operands(self) -> [Option<Value>; 2] {
        match self {
            Term::Len(a)
            | Term::Member(a, _)
            | Term::Not(a)
            | Term::IsType(a, _)
            | Term::Done(a) => [Some(a), None],
            Term::Element(a, b) | Term::Binary(_, a, b) | Term::ErrorIs(a, b) => [Some(a), Some(b)],
        }
    }

    /// The same with other operands.
    pub fn map(self, mut change: impl FnMut(Value) -> Value) -> Term {
        match self {
            Term::Len(a) => Term::Len(change(a)),
            Term::Member(a, name) => Term::Member(change(a), name),
            Term::Element(a, b) => Term::Element(change(a), change(b)),
            Term::Not(a) => Term::Not(change(a)),
            Term::Binary(op, a, b) => Term::Binary(op, change(a), change(b)),
            Term::IsType(a, ty) => Term::IsType(change(a), ty),
            Term::ErrorIs(a, b) => Term::ErrorIs(change(a), change(b)),
            Term::Done(a) => Term::Done(change(a)),
        }
    }
}
