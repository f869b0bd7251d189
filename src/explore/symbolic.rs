//! What is not known: values made from declared types, operations on them, and the questions that
//! must be decided before a goroutine can go on.

use crate::explore::machine::{Machine, Stop};
use crate::explore::object::{Channel, Clock, Object, OnceState};
use crate::explore::process::Decision;
use crate::explore::state::State;
use crate::explore::value::{ObjectId, Term, TermId, Unknown, Value};
use crate::program::code::{NameId, Operator, TextId};
use crate::program::library::LibType;
use crate::program::types::{Type, TypeId};
use crate::program::{self};

/// Larger constants as bounds of loops are taken for [`SHRUNK`].
const LARGE: i64 = 20;
const SHRUNK: i64 = 2;

/// Longer arrays are empty.
const MAX_ARRAY: u32 = 16;

/// Arrays of arrays with more elements in all are empty, too: ten letters of source say a million of them.
const MAX_ELEMENTS: u32 = 4096;

impl Machine<'_> {
    /// The zero value of a type. `external` says whether other code can reach what holds it.
    pub(super) fn zero(&mut self, state: &mut State, ty: TypeId, external: bool) -> Value {
        let add = |state: &mut State, object| {
            let id = state.add(object, None);
            state.heap.entry_mut(id).external = external;
            id
        };
        let place = |state: &mut State, object| Value::Struct(add(state, object));
        match self.program.types.underlying(ty) {
            Type::Unknown | Type::External(..) => state.unknown(ty),
            Type::Bool => Value::Bool(false),
            Type::Int => Value::Int(0),
            Type::String => Value::Str(TextId(0)),
            Type::Float => state.unknown(TypeId::FLOAT),
            Type::Lib(lib) => match lib {
                LibType::Context | LibType::CancelFunc | LibType::Locker => Value::Nil,
                LibType::Duration => Value::Int(0),
                // Nothing comes on its channel, which is nil, until it is reset.
                LibType::Timer => {
                    let channel = add(state, Object::Channel(Channel::new(1, Clock::None)));
                    place(state, Object::Timer { channel, periodic: false, callback: false })
                }
                LibType::Ticker | LibType::Testing | LibType::Request => state.unknown(ty),
                &lib => match sync_object(lib) {
                    Some(object) => place(state, object),
                    None => {
                        let wait = Object::WaitGroup { count: 0, shrunk: None, exact: true };
                        let wait = add(state, wait);
                        place(state, Object::Group { wait, context: None, error: Value::Nil })
                    }
                },
            },
            Type::Struct(_) => place(state, Object::Struct { ty, fields: Vec::new() }),
            &Type::Array(len, element) => {
                let fits = |&len: &u32| len <= MAX_ARRAY && self.total_elements(ty) <= MAX_ELEMENTS;
                let len = len.filter(fits).unwrap_or(0);
                let items = (0..len).map(|_| self.zero(state, element, external)).collect();
                let id = state.add(Object::Slice { element, items }, None);
                state.heap.entry_mut(id).external = external;
                Value::Ref(id)
            }
            _ => Value::Nil,
        }
    }

    /// How many elements an array has, arrays in it followed.
    fn total_elements(&self, mut ty: TypeId) -> u32 {
        let mut all = 1u32;
        while let &Type::Array(len, element) = self.program.types.underlying(ty)
            && all <= MAX_ELEMENTS
        {
            // An array without elements holds none of what is in it.
            all = all.saturating_mul(len.unwrap_or(0));
            ty = element;
            if all == 0 {
                break;
            }
        }
        all
    }

    /// Some value of a type, which code that is not explored has made and can reach.
    pub(super) fn symbolic(&mut self, state: &mut State, ty: TypeId) -> Value {
        match self.program.types.underlying(ty) {
            &Type::Pointer(to) => match self.program.types.underlying(to) {
                Type::Struct(_) => {
                    Value::Ref(state.add_external(Object::Struct { ty: to, fields: Vec::new() }))
                }
                Type::Lib(LibType::Timer | LibType::Ticker) => {
                    let channel = state.add_external(Object::Channel(external_channel()));
                    let timer = Object::Timer { channel, periodic: true, callback: false };
                    Value::Ref(state.add_external(timer))
                }
                Type::Lib(LibType::Testing | LibType::Request) => state.unknown(ty),
                Type::Lib(_) => match self.symbolic(state, to) {
                    Value::Struct(id) => Value::Ref(id),
                    _ => state.unknown(ty),
                },
                _ => state.unknown(ty),
            },
            Type::Struct(_) => {
                Value::Struct(state.add_external(Object::Struct { ty, fields: Vec::new() }))
            }
            Type::Chan(..) => Value::Ref(state.add_external(Object::Channel(external_channel()))),
            Type::Lib(LibType::Context) => Value::Ref(self.context_of_others(state)),
            Type::Lib(lib) => match sync_object(*lib) {
                Some(Object::Atomic(_)) => {
                    let value = state.unknown(TypeId::UNKNOWN);
                    Value::Struct(state.add_external(Object::Atomic(value)))
                }
                Some(object) => Value::Struct(state.add_external(object)),
                None if *lib == LibType::Group => self.zero(state, ty, true),
                None => state.unknown(ty),
            },
            _ => state.unknown(ty),
        }
    }

    /// A context that other code made and may end.
    pub(super) fn context_of_others(&mut self, state: &mut State) -> ObjectId {
        let done = Channel { of_context: true, ..external_channel() };
        let done = state.add_external(Object::Channel(done));
        state.add_external(Object::Context { parent: None, done })
    }

    /// Some value of a type that is the same each time that it is asked for with the same term.
    pub(super) fn recalled(&mut self, state: &mut State, term: Term, ty: TypeId) -> Value {
        let value = self.term(state, term, ty);
        let Value::Term(id) = value else { return value };
        let value = self.symbolic(state, ty);
        std::rc::Rc::make_mut(&mut state.facts).push((id, value));
        value
    }

    /// A value about unknowns, or a fresh unknown where it would get too deep.
    pub(super) fn term(&mut self, state: &mut State, term: Term, ty: TypeId) -> Value {
        let mut operands = [Value::Nil; 2];
        for (at, operand) in term.operands().into_iter().flatten().enumerate() {
            operands[at] = operand;
        }
        if !self.terms.keeps(&operands) {
            return state.unknown(ty);
        }
        let id = self.terms.intern(term);
        state.fact(id).unwrap_or(Value::Term(id))
    }

    /// `left op right`
    pub(super) fn binary(
        &mut self,
        state: &mut State,
        op: Operator,
        left: Value,
        right: Value,
    ) -> Result<Value, Stop> {
        match op {
            Operator::Eq | Operator::Ne => {
                let equal = self.equal(state, left, right);
                let not = op == Operator::Ne;
                let equal = match equal {
                    Some(false) if let Some(is_nil) = self.is_absent(state, left, right) => is_nil,
                    Some(equal) => Value::Bool(equal),
                    None if left.is_unknown() || right.is_unknown() => {
                        self.term(state, Term::Binary(Operator::Eq, left, right), TypeId::BOOL)
                    }
                    None => return Ok(state.unknown(TypeId::BOOL)),
                };
                Ok(if not { self.not(state, equal) } else { equal })
            }
            Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => {
                Ok(self.order(state, op, left, right))
            }
            _ => self.arithmetic(state, op, left, right),
        }
    }

    /// Whether a pointer to what other code has made is nil, where one of the two is that and the other one nil:
    /// unknown until somebody has used what it points to. The answer is kept with the object.
    fn is_absent(&mut self, state: &mut State, left: Value, right: Value) -> Option<Value> {
        let ((Value::Ref(id), Value::Nil) | (Value::Nil, Value::Ref(id))) = (left, right) else {
            return None;
        };
        let entry = state.heap.entry(id);
        let Object::Struct { fields, .. } = &entry.object else { return None };
        if let Some(&(NameId::ABSENT, answer)) = fields.last() {
            return Some(answer);
        }
        let is_untouched = fields.is_empty() && entry.external && entry.made.is_none();
        is_untouched.then(|| {
            let answer = state.unknown(TypeId::BOOL);
            self.set_field(state, id, NameId::ABSENT, answer);
            answer
        })
    }

    fn order(&mut self, state: &mut State, op: Operator, left: Value, right: Value) -> Value {
        if let (Value::Int(left), Value::Int(right)) = (left, right) {
            let bound = if matches!(op, Operator::Lt | Operator::Le) { right } else { left };
            if bound > LARGE {
                self.large.insert(bound);
                return Value::Bool(match op {
                    Operator::Lt => left < SHRUNK,
                    Operator::Le => left <= SHRUNK,
                    Operator::Gt => SHRUNK > right,
                    _ => SHRUNK >= right,
                });
            }
            return Value::Bool(compare(op, left, right));
        }
        let left = self.number(state, left);
        let right = self.number(state, right);
        if self.is_integer(left) && self.is_integer(right) {
            return self.term(state, Term::Binary(op, left, right), TypeId::BOOL);
        }
        state.unknown(TypeId::BOOL)
    }

    /// The larger one of two values, or the smaller one.
    pub(super) fn extremum(
        &mut self,
        state: &mut State,
        max: bool,
        left: Value,
        right: Value,
    ) -> Result<Value, Stop> {
        if !self.is_integer(left) || !self.is_integer(right) {
            return Ok(state.unknown(self.type_of(left)));
        }
        let is_less = self.order(state, Operator::Lt, left, right);
        Ok(if self.truth(state, is_less)? == max { right } else { left })
    }

    /// A variable of another package as a number of which nothing is known.
    pub(super) fn number(&mut self, state: &mut State, value: Value) -> Value {
        match value {
            Value::External(_) => self.term(state, Term::Len(value), TypeId::INT),
            value => value,
        }
    }

    pub(super) fn arithmetic(
        &mut self,
        state: &mut State,
        op: Operator,
        left: Value,
        right: Value,
    ) -> Result<Value, Stop> {
        if let (Value::Int(a), Value::Int(b)) = (left, right) {
            if matches!(op, Operator::Div | Operator::Rem) && b == 0 {
                return Err(Stop::Panic);
            }
            return Ok(match program::arithmetic(op, a, b) {
                Some(value) => Value::Int(value),
                None => state.unknown(TypeId::INT),
            });
        }
        // `n + 3` where one was added after the other: a term keeps its size however often that is done.
        if let Some(sum) = self.sum(op, left, right) {
            return Ok(match sum {
                (of, 0) => of,
                (of, by) => {
                    self.term(state, Term::Binary(Operator::Add, of, Value::Int(by)), TypeId::INT)
                }
            });
        }
        let linear = matches!(op, Operator::Add | Operator::Sub | Operator::Mul);
        if linear && self.is_integer(left) && self.is_integer(right) {
            return Ok(self.term(state, Term::Binary(op, left, right), TypeId::INT));
        }
        Ok(state.unknown(self.type_of(left)))
    }

    /// An integer of which nothing is known, and what is added to it, where a constant is added or taken away.
    fn sum(&self, op: Operator, left: Value, right: Value) -> Option<(Value, i64)> {
        let (of, by) = match (op, left, right) {
            (Operator::Add, of, Value::Int(by)) | (Operator::Add, Value::Int(by), of) => (of, by),
            (Operator::Sub, of, Value::Int(by)) => (of, by.checked_neg()?),
            _ => return None,
        };
        if !of.is_unknown() || !self.is_integer(of) {
            return None;
        }
        let inner = match of {
            Value::Term(id) => self.terms.get(id),
            _ => return Some((of, by)),
        };
        match inner {
            Term::Binary(Operator::Add, inner, Value::Int(before)) => {
                Some((inner, before.checked_add(by)?))
            }
            _ => Some((of, by)),
        }
    }

    /// What is known of the type of a value that is not an object.
    pub(super) fn type_of(&self, value: Value) -> TypeId {
        match value {
            Value::Unknown(unknown) => unknown.ty,
            Value::Int(_) => TypeId::INT,
            Value::Str(_) => TypeId::STRING,
            Value::Bool(_) => TypeId::BOOL,
            _ => TypeId::UNKNOWN,
        }
    }

    /// Whether two values are equal, if that is known.
    pub(super) fn equal(&self, state: &State, left: Value, right: Value) -> Option<bool> {
        if let (Value::Unknown(a), Value::Unknown(b)) = (left, right)
            && a.id == b.id
        {
            return Some(true);
        }
        if left == right && !matches!(left, Value::Struct(_)) {
            return Some(true);
        }
        match (left, right) {
            (Value::Nil, Value::Unknown(unknown)) | (Value::Unknown(unknown), Value::Nil) => {
                unknown.non_nil.then_some(false)
            }
            // An error that was made here is that of no other place.
            (Value::Unknown(made), Value::External(_))
            | (Value::External(_), Value::Unknown(made))
                if made.ty == TypeId::PLAIN_ERROR =>
            {
                Some(false)
            }
            (Value::Unknown(a), Value::Unknown(b))
                if a.ty == TypeId::PLAIN_ERROR && b.ty == TypeId::PLAIN_ERROR =>
            {
                Some(false)
            }
            // What other code gives is no value of a type that it cannot name.
            (Value::Unknown(_), Value::Struct(id)) | (Value::Struct(id), Value::Unknown(_))
                if self.is_private(state, id) =>
            {
                Some(false)
            }
            (Value::Unknown(_) | Value::Term(_), _) | (_, Value::Unknown(_) | Value::Term(_)) => {
                None
            }
            // In an interface neither is nil.
            (Value::Struct(_) | Value::Atom(_), Value::Nil)
            | (Value::Nil, Value::Struct(_) | Value::Atom(_)) => Some(false),
            (Value::Struct(_), _) | (_, Value::Struct(_)) => None,
            // The same text may be written in two ways.
            (Value::Atom(_), Value::Atom(_)) => None,
            (Value::Atom(_), _) | (_, Value::Atom(_)) => None,
            (Value::Ref(a), Value::Ref(b)) => {
                let comparable = |id| {
                    !matches!(state.heap.get(id), Object::Method { .. } | Object::LibMethod { .. })
                };
                (comparable(a) && comparable(b)).then_some(false)
            }
            _ => Some(false),
        }
    }

    /// Whether an object is of a type whose name is not exported, and other code cannot reach it.
    fn is_private(&self, state: &State, id: ObjectId) -> bool {
        let Object::Struct { ty, .. } = state.heap.get(id) else { return false };
        let types = &self.program.types;
        let exported = |name: &str| name.starts_with(char::is_uppercase);
        !state.heap.is_external(id)
            && types.name_of(*ty).is_some_and(|named| !exported(types.named(named).name.as_str()))
    }

    pub(super) fn not(&mut self, state: &mut State, value: Value) -> Value {
        match value {
            Value::Bool(value) => Value::Bool(!value),
            Value::Term(id) => match self.terms.get(id) {
                Term::Not(inner) => inner,
                _ => self.term(state, Term::Not(value), TypeId::BOOL),
            },
            Value::Unknown(_) => self.term(state, Term::Not(value), TypeId::BOOL),
            _ => state.unknown(TypeId::BOOL),
        }
    }

    /// Whether the value can be taken for an integer.
    pub(super) fn is_integer(&self, value: Value) -> bool {
        match value {
            Value::Int(_) => true,
            Value::Unknown(unknown) => {
                matches!(
                    self.program.types.underlying(unknown.ty),
                    Type::Unknown | Type::Int | Type::Lib(LibType::Duration)
                ) && !unknown.non_nil
            }
            Value::Term(id) => match self.terms.get(id) {
                Term::Len(_) => true,
                Term::Member(..) | Term::Element(..) => true,
                Term::Binary(Operator::Add | Operator::Sub | Operator::Mul, a, b) => {
                    self.is_integer(a) && self.is_integer(b)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// The integer that `value` is, deciding one unknown after the other among `candidates`.
    pub(super) fn integer(
        &mut self,
        state: &State,
        value: Value,
        candidates: &[i64],
    ) -> Result<i64, Stop> {
        match value {
            Value::Int(value) => Ok(value),
            Value::Unknown(unknown) => {
                let is = |&value: &i64| Decision::Is(unknown.id, Value::Int(value));
                Err(Stop::Decide(candidates.iter().map(is).collect()))
            }
            Value::Term(id) => {
                if let Some(Value::Int(value)) = state.fact(id) {
                    return Ok(value);
                }
                if let Term::Binary(op, a, b) = self.terms.get(id) {
                    let a = self.integer(state, a, candidates)?;
                    let b = self.integer(state, b, candidates)?;
                    return Ok(program::arithmetic(op, a, b).unwrap_or(1));
                }
                let least = i64::from(self.is_filled(state, id));
                let mut left: Vec<i64> = candidates.iter().map(|&it| it.max(least)).collect();
                left.dedup();
                let holds = |&value: &i64| Decision::Holds(id, Value::Int(value));
                Err(Stop::Decide(left.iter().map(holds).collect()))
            }
            _ => Ok(1),
        }
    }

    /// Whether a term is the length of a string that was found not to be the empty one.
    fn is_filled(&mut self, state: &State, length: TermId) -> bool {
        let Term::Len(text) = self.terms.get(length) else { return false };
        let empty = Value::Str(TextId(0));
        [(text, empty), (empty, text)].into_iter().any(|(left, right)| {
            let is_empty = self.terms.intern(Term::Binary(Operator::Eq, left, right));
            state.fact(is_empty) == Some(Value::Bool(false))
        })
    }

    /// The truth of a condition.
    pub(super) fn truth(&mut self, state: &State, value: Value) -> Result<bool, Stop> {
        match value {
            Value::Bool(value) => Ok(value),
            Value::Unknown(unknown) => Err(either(unknown)),
            Value::Term(id) => self.truth_of_term(state, id),
            // Not a boolean: a program that does not compile.
            _ => Ok(true),
        }
    }

    /// False, once it is decided that a condition does not hold, by one of the decisions that were to be taken: others may
    /// go by what it asks for.
    pub(super) fn denied(
        &mut self,
        state: &State,
        value: Value,
        mut decisions: Vec<Decision>,
    ) -> Result<bool, Stop> {
        decisions.retain(|&decision| match decision {
            Decision::Is(id, by) => {
                let decided = self.terms.replace(value, id, by);
                !matches!(self.truth(state, decided), Ok(true))
            }
            Decision::Holds(term, answer) => match value {
                Value::Term(id) if id == term => answer != Value::Bool(true),
                Value::Term(id) => match self.terms.get(id) {
                    Term::Not(Value::Term(inner)) if inner == term => answer != Value::Bool(false),
                    _ => true,
                },
                _ => true,
            },
        });
        if decisions.is_empty() { Ok(false) } else { Err(Stop::Decide(decisions)) }
    }

    fn truth_of_term(&mut self, state: &State, id: TermId) -> Result<bool, Stop> {
        if let Some(Value::Bool(value)) = state.fact(id) {
            return Ok(value);
        }
        match self.terms.get(id) {
            Term::Not(inner) => self.truth(state, inner).map(|value| !value),
            Term::Binary(op, left, right) => self.truth_of_comparison(state, id, op, left, right),
            Term::ErrorIs(Value::Nil, _) => Ok(false),
            Term::ErrorIs(Value::Unknown(error), _) if !error.non_nil => Err(nil_or_not(error)),
            _ => Err(holds(id)),
        }
    }

    fn truth_of_comparison(
        &mut self,
        state: &State,
        id: TermId,
        op: Operator,
        left: Value,
        right: Value,
    ) -> Result<bool, Stop> {
        let compound = |value: Value| match value {
            Value::Term(id) => matches!(self.terms.get(id), Term::Len(_) | Term::Binary(..)),
            _ => false,
        };
        let ordered = op != Operator::Eq;
        let one_side = matches!(left, Value::Int(_)) || matches!(right, Value::Int(_));
        let numeric = ordered || compound(left) || compound(right) || one_side;
        if numeric && self.is_integer(left) && self.is_integer(right) {
            let candidates = candidates(op, left, right);
            let left = self.integer(state, left, &candidates)?;
            let right = self.integer(state, right, &candidates)?;
            return Ok(if ordered { compare(op, left, right) } else { left == right });
        }
        if let Some(equal) = self.equal(state, left, right) {
            return Ok(equal);
        }
        let (unknown, other) = match (left, right) {
            (Value::Unknown(unknown), other) | (other, Value::Unknown(unknown)) => (unknown, other),
            _ if self.is_other(state, left, right) => return Ok(false),
            _ => return Err(holds(id)),
        };
        match other {
            Value::Nil => Err(nil_or_not(unknown)),
            Value::Bool(_) => Err(either(unknown)),
            Value::Str(_) | Value::Atom(_) | Value::External(_) => Err(Stop::Decide(vec![
                Decision::Is(unknown.id, other),
                Decision::Holds(id, Value::Bool(false)),
            ])),
            _ => Err(holds(id)),
        }
    }

    /// Whether one side is a constant, and the other was found to be another one.
    fn is_other(&self, state: &State, left: Value, right: Value) -> bool {
        let is_constant = |value: Value| {
            matches!(value, Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Str(_))
        };
        let (of, constant) = match (left, right) {
            (of @ Value::Term(_), constant) | (constant, of @ Value::Term(_)) => (of, constant),
            _ => return false,
        };
        let tells = |&(term, value): &(TermId, Value)| {
            let Term::Binary(Operator::Eq, a, b) = self.terms.get(term) else { return false };
            let other = if a == of { b } else { a };
            value == Value::Bool(true)
                && (a == of || b == of)
                && is_constant(other)
                && other != constant
        };
        is_constant(constant) && state.facts.iter().any(tells)
    }

    /// Applies a decision to the whole state. False if it contradicts what was decided before.
    pub(super) fn decide(&mut self, state: &mut State, decision: Decision) -> bool {
        match decision {
            Decision::Holds(term, value) => {
                std::rc::Rc::make_mut(&mut state.facts).push((term, value));
                true
            }
            Decision::Is(id, by) => {
                let answer = match by {
                    Value::Bool(answer) => !answer,
                    Value::Unknown(unknown) => unknown.non_nil,
                    _ => false,
                };
                state.doubts.unlikely |= answer && state.unlikely.contains(&id);
                // Which terms change is found first, as both closures look at the terms.
                let terms = std::mem::take(&mut self.terms);
                let cell = std::cell::RefCell::new(terms);
                let concerns = |value: Value| match value {
                    Value::Unknown(unknown) => unknown.id == id,
                    Value::Term(_) => cell.borrow().mentions(value, id),
                    _ => false,
                };
                state.change_values(
                    &mut |value| *value = cell.borrow_mut().replace(*value, id, by),
                    &concerns,
                );
                self.terms = cell.into_inner();
                if !self.replace_in_facts(state, id, by) {
                    return false;
                }
                // What a call gives beside no error is there.
                let given = state.results.iter().find(|&&(_, last)| last == id && by == Value::Nil);
                let Some(&(first, last)) = given else { return true };
                (first..last).all(|given| match typed(state, given) {
                    Some(unknown) if !unknown.non_nil => {
                        let there = Value::Unknown(Unknown { non_nil: true, ..unknown });
                        self.decide(state, Decision::Is(given, there))
                    }
                    _ => true,
                })
            }
        }
    }

    /// Says what was decided about the unknown `id` of the value that it turned out to be; what
    /// follows from that value alone is said no more. False if it does not agree with the value.
    fn replace_in_facts(&mut self, state: &mut State, id: u32, by: Value) -> bool {
        let mentions = |value: Value| self.terms.mentions(value, id);
        let concerned =
            |&(term, value): &(TermId, Value)| mentions(Value::Term(term)) || mentions(value);
        if !state.facts.iter().any(concerned) {
            return true;
        }
        let mut facts = Vec::with_capacity(state.facts.len());
        let known = std::mem::take(&mut state.facts);
        for &(term, value) in known.iter() {
            if !self.terms.mentions(Value::Term(term), id) {
                facts.push((term, self.terms.replace(value, id, by)));
                continue;
            }
            let Value::Term(term) = self.terms.replace(Value::Term(term), id, by) else { continue };
            let value = self.terms.replace(value, id, by);
            match self.follows(state, term).or_else(|| fact(&facts, term)) {
                Some(known) if known == value => {}
                Some(Value::Bool(_) | Value::Int(_)) => return false,
                _ => facts.push((term, value)),
            }
        }
        state.facts = std::rc::Rc::new(facts);
        true
    }

    /// The value that a term has whatever is still unknown.
    fn follows(&self, state: &State, term: TermId) -> Option<Value> {
        let Term::Binary(op, left, right) = self.terms.get(term) else { return None };
        match (op, left, right) {
            (Operator::Eq, ..) => self.equal(state, left, right).map(Value::Bool),
            (
                Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge,
                Value::Int(left),
                Value::Int(right),
            ) => Some(Value::Bool(compare(op, left, right))),
            _ => None,
        }
    }
}

fn fact(facts: &[(TermId, Value)], term: TermId) -> Option<Value> {
    facts.iter().find(|&&(known, _)| known == term).map(|&(_, value)| value)
}

/// A channel that other code sends on, receives from and closes.
pub(super) fn external_channel() -> Channel {
    Channel::new(0, Clock::None)
}

/// The object of a library type that is held in place.
fn sync_object(lib: LibType) -> Option<Object> {
    Some(match lib {
        LibType::Mutex => Object::Mutex(None),
        LibType::RwMutex => Object::RwMutex { writer: None, readers: Vec::new(), waiting: 0 },
        LibType::WaitGroup => Object::WaitGroup { count: 0, shrunk: None, exact: true },
        LibType::Once => Object::Once(OnceState::Fresh),
        LibType::Cond => Object::Cond { locker: Value::Nil, waiters: Vec::new() },
        LibType::AtomicBool => Object::Atomic(Value::Bool(false)),
        LibType::AtomicInt => Object::Atomic(Value::Int(0)),
        LibType::AtomicValue => Object::Atomic(Value::Nil),
        LibType::Semaphore => Object::Semaphore { free: 0 },
        _ => return None,
    })
}

fn either(unknown: Unknown) -> Stop {
    let is = |value| Decision::Is(unknown.id, Value::Bool(value));
    Stop::Decide(vec![is(true), is(false)])
}

fn nil_or_not(unknown: Unknown) -> Stop {
    let non_nil = Value::Unknown(Unknown { non_nil: true, ..unknown });
    Stop::Decide(vec![Decision::Is(unknown.id, Value::Nil), Decision::Is(unknown.id, non_nil)])
}

fn holds(id: TermId) -> Stop {
    let holds = |value| Decision::Holds(id, Value::Bool(value));
    Stop::Decide(vec![holds(true), holds(false)])
}

fn compare(op: Operator, left: i64, right: i64) -> bool {
    match op {
        Operator::Lt => left < right,
        Operator::Le => left <= right,
        Operator::Gt => left > right,
        Operator::Ge => left >= right,
        Operator::Ne => left != right,
        _ => left == right,
    }
}

/// The numbers that are tried for an unknown in a comparison: 1 and 2 as the bound of a loop, and
/// what decides the comparison otherwise.
fn candidates(op: Operator, left: Value, right: Value) -> Vec<i64> {
    if matches!(op, Operator::Lt | Operator::Le) && matches!(left, Value::Int(_)) {
        return vec![1, 2];
    }
    let constant = match (left, right) {
        (_, Value::Int(value)) | (Value::Int(value), _) if (0..LARGE).contains(&value) => value,
        _ => 0,
    };
    let mut candidates = vec![0, 1, 2, constant, constant + 1];
    candidates.sort_unstable();
    candidates.dedup();
    candidates
}

/// The numbers that are tried for an unknown capacity, length or count.
pub(super) const COUNTS: &[i64] = &[1, 2];

/// A count that is small enough to be run, and whether it was cut for that.
pub(super) fn shrink(count: i64) -> (i64, bool) {
    if count > LARGE { (SHRUNK, true) } else { (count, false) }
}

impl ObjectId {
    /// A pointer to the object.
    pub(super) fn pointer(self) -> Value {
        Value::Ref(self)
    }
}

/// An unknown as it stands in a state.
fn typed(state: &mut State, id: u32) -> Option<Unknown> {
    let found = std::cell::Cell::new(None);
    let is_found = |value: Value| {
        match value {
            Value::Unknown(unknown) if unknown.id == id => found.set(Some(unknown)),
            _ => {}
        }
        false
    };
    state.change_values(&mut |_| (), &is_found);
    found.get()
}
