//! Slices and maps: making, slicing, appending, copying, deleting, counting.

use crate::explore::Site;
use crate::explore::machine::{Machine, Stop};
use crate::explore::object::{Channel, Clock, Object};
use crate::explore::state::State;
use crate::explore::symbolic::{COUNTS, shrink};
use crate::explore::value::{Term, Value};
use crate::program::code::Operator;
use crate::program::types::{Type, TypeId};

impl Machine<'_> {
    pub(super) fn make(
        &mut self,
        state: &mut State,
        ty: TypeId,
        size: Value,
        site: Site,
    ) -> Result<Value, Stop> {
        let kind = self.program.types.underlying(ty).clone();
        let size = self.number(state, size);
        let size = match kind {
            Type::Map(..) => 0,
            _ if self.is_integer(size) => self.integer(state, size, COUNTS)?,
            // What is asked for and not known is some room.
            Type::Chan(..) => 1,
            _ => 0,
        };
        Ok(match kind {
            Type::Chan(..) => {
                // Go panics at a negative one. More room than can be counted here is never full.
                let capacity = u32::try_from(size.max(0)).unwrap_or(u32::MAX);
                let channel = Channel::new(capacity, Clock::None);
                Value::Ref(state.add(Object::Channel(channel), Some(site)))
            }
            Type::Map(_, value) => {
                Value::Ref(state.add(Object::Map { value, items: Vec::new() }, Some(site)))
            }
            Type::Slice(element) => {
                let (size, cut) = shrink(size);
                if cut {
                    state.doubts.inexact = true;
                }
                let items = (0..size).map(|_| self.zero(state, element, false)).collect();
                self.new_slice(state, element, items)
            }
            _ => state.non_nil(ty),
        })
    }

    pub(super) fn slice(
        &mut self,
        state: &mut State,
        value: Value,
        low: Value,
        high: Value,
    ) -> Value {
        let Value::Ref(id) = value else {
            return match value.is_unknown() {
                true => self.part_of_unknown(state, value, low, high),
                false => state.unknown(self.type_of(value)),
            };
        };
        let Object::Slice { element, items } = state.heap.get(id) else { return value };
        let bound = |value, otherwise: usize| match value {
            Value::Nil => Some(otherwise),
            Value::Int(at) => usize::try_from(at).ok().filter(|&at| at <= items.len()),
            _ => None,
        };
        let (Some(low), Some(high)) = (bound(low, 0), bound(high, items.len())) else {
            return value;
        };
        if low > high {
            return value;
        }
        let (element, items) = (*element, items[low..high].to_vec());
        let external = state.heap.is_external(id);
        let slice = self.new_slice(state, element, items);
        if let Value::Ref(id) = slice {
            state.heap.entry_mut(id).external = external;
        }
        slice
    }

    /// A part of a slice of which nothing is known: where one bound is counted from the other, its length
    /// is known, and it is told from the whole.
    fn part_of_unknown(
        &mut self,
        state: &mut State,
        whole: Value,
        low: Value,
        high: Value,
    ) -> Value {
        // Other elements have the same indices then.
        if !matches!(low, Value::Nil | Value::Int(0)) {
            self.forget_members(state, whole);
        }
        let ty = self.type_of(whole);
        let is_slice = matches!(self.program.types.underlying(ty), Type::Slice(_));
        let length = match (low, high) {
            (Value::Int(low), Value::Int(high)) if low <= high => Some(Value::Int(high - low)),
            (Value::Int(1..), Value::Nil) if is_slice => {
                let all = self.length(state, whole, false);
                self.arithmetic(state, Operator::Sub, all, low).ok()
            }
            (_, Value::Term(high)) => match self.terms.get(high) {
                Term::Binary(Operator::Add, from, by) if from == low => Some(by),
                Term::Binary(Operator::Add, by, from) if from == low => Some(by),
                _ => None,
            },
            _ => None,
        };
        let Some(length) = length.filter(|_| is_slice) else { return whole };
        let part = state.unknown(ty);
        let Value::Term(term) = self.term(state, Term::Len(part), TypeId::INT) else {
            return whole;
        };
        std::rc::Rc::make_mut(&mut state.facts).push((term, length));
        part
    }

    pub(super) fn length(&mut self, state: &mut State, value: Value, capacity: bool) -> Value {
        match value {
            Value::Nil => Value::Int(0),
            Value::Str(text) => Value::Int(self.program.text(text).len() as i64),
            Value::Unknown(_) | Value::Term(_) => self.term(state, Term::Len(value), TypeId::INT),
            Value::Ref(id) => match state.heap.get(id) {
                // Other code cannot change the length of a slice that is held here.
                Object::Slice { items, .. } => Value::Int(items.len() as i64),
                Object::Map { items, .. } if items.is_empty() && state.heap.is_external(id) => {
                    self.term(state, Term::Len(value), TypeId::INT)
                }
                Object::Map { items, .. } => Value::Int(items.len() as i64),
                Object::Channel(_) if state.heap.is_external(id) => state.unknown(TypeId::INT),
                Object::Channel(channel) if capacity => Value::Int(i64::from(channel.capacity)),
                Object::Channel(channel) => Value::Int(channel.buffer.len() as i64),
                _ => state.unknown(TypeId::INT),
            },
            _ => state.unknown(TypeId::INT),
        }
    }

    /// The elements of a slice that is spread over parameters.
    pub(super) fn elements(&mut self, state: &mut State, value: Value) -> Vec<Value> {
        match value {
            Value::Ref(id) => match state.heap.get(id) {
                Object::Slice { items, .. } => items.clone(),
                _ => vec![value],
            },
            Value::Nil => Vec::new(),
            _ => vec![value],
        }
    }

    pub(super) fn append(
        &mut self,
        state: &mut State,
        slice: Value,
        values: Vec<Value>,
        spread: bool,
    ) -> Value {
        let mut added = Vec::new();
        let last = values.len().wrapping_sub(1);
        for (at, value) in values.into_iter().enumerate() {
            if spread && at == last {
                if value.is_unknown() {
                    return state.unknown(self.type_of(slice));
                }
                added.extend(self.elements(state, value));
            } else {
                added.push(self.copy(state, value));
            }
        }
        let (element, mut items, external) = match slice {
            Value::Nil => (TypeId::UNKNOWN, Vec::new(), false),
            Value::Ref(id) => match state.heap.get(id) {
                Object::Slice { element, items } => {
                    (*element, items.clone(), state.heap.is_external(id))
                }
                _ => (TypeId::UNKNOWN, Vec::new(), true),
            },
            _ => {
                for value in added {
                    self.escape(state, value);
                }
                return state.unknown(self.type_of(slice));
            }
        };
        items.extend(added);
        let slice = self.new_slice(state, element, items);
        if external {
            self.escape(state, slice);
        }
        slice
    }

    pub(super) fn copy_elements(&mut self, state: &mut State, to: Value, from: Value) {
        if from.is_unknown() {
            self.blur(state, to);
            return;
        }
        let items = self.elements(state, from);
        let Some(id) = to.object() else {
            self.blur(state, to);
            self.escape(state, from);
            return;
        };
        if state.heap.is_external(id) {
            self.escape(state, from);
        }
        if let Object::Slice { items: places, .. } = state.heap.get_mut(id) {
            for (place, value) in places.iter_mut().zip(items) {
                *place = value;
            }
        }
    }

    /// Any element of a slice may have been assigned something that is not known.
    pub(super) fn blur(&mut self, state: &mut State, slice: Value) {
        self.forget_members(state, slice);
        let Some(id) = slice.object() else { return };
        let Object::Slice { element, items } = state.heap.get(id) else { return };
        let (element, old) = (*element, items.clone());
        for &value in &old {
            self.escape(state, value);
        }
        let new = old.iter().map(|_| self.symbolic(state, element)).collect();
        if let Object::Slice { items, .. } = state.heap.get_mut(id) {
            *items = new;
        }
    }

    pub(super) fn delete(&mut self, state: &mut State, map: Value, key: Value) {
        self.forget_members(state, map);
        let Some(id) = map.object() else { return };
        let Object::Map { items, .. } = state.heap.get(id) else { return };
        let found = items
            .iter()
            .position(|&(known, _)| known == key || self.equal(state, known, key) == Some(true));
        if let Some(at) = found
            && let Object::Map { items, .. } = state.heap.get_mut(id)
        {
            items.remove(at);
        }
    }
}
