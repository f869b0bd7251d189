//! Escape: what code that is not explored can reach may be changed, sent on, closed and cancelled
//! at any time, so it can never be the reason for a finding.

use std::rc::Rc;

use crate::explore::Calls;
use crate::explore::machine::Machine;
use crate::explore::object::{Clock, Object};
use crate::explore::state::State;
use crate::explore::value::{ObjectId, Term, Unknown, Value};
use crate::program::code::NameId;
use crate::program::types::{Type, TypeId};

impl Machine<'_> {
    /// Lets unknown code have `value` and all that it leads to.
    pub(super) fn escape(&mut self, state: &mut State, value: Value) {
        match value {
            Value::Unknown(_) => self.forget_members(state, value),
            Value::Func(_) => self.open(state),
            _ => {}
        }
        let mut work: Vec<ObjectId> = value.object().into_iter().collect();
        while let Some(id) = work.pop() {
            match state.heap.get(id) {
                // Who has a context cannot cancel it; who has its function can.
                Object::Context { .. } => continue,
                &Object::Cancel(context) => {
                    self.cancel(state, context, Some(Clock::Always));
                    continue;
                }
                _ => {}
            }
            if state.heap.is_external(id) {
                self.forget_undeclared(state, id);
                continue;
            }
            state.heap.entry_mut(id).external = true;
            let may_call = match state.heap.get(id) {
                Object::Closure { .. } | Object::Method { .. } => true,
                &Object::Struct { ty, .. } => self.may_call_methods(state, ty),
                _ => false,
            };
            if may_call {
                self.open(state);
            }
            self.let_unlock(state, id);
            self.forget_contents(state, id);
            self.give(state, id, &mut work);
        }
    }

    /// Forgets what was read of a struct of which nothing is known: who is given it may have changed that.
    fn forget_undeclared(&self, state: &mut State, id: ObjectId) {
        if let &Object::Struct { ty, .. } = state.heap.get(id)
            && !matches!(self.program.types.underlying(ty), Type::Struct(_))
            && let Object::Struct { fields, .. } = state.heap.get_mut(id)
        {
            fields.clear();
        }
    }

    /// Who is given `Unlock` of a lock as a function may call it at any time.
    fn let_unlock(&self, state: &mut State, id: ObjectId) {
        let &Object::LibMethod { name, receiver } = state.heap.get(id) else { return };
        let Some(lock) = receiver.object() else { return };
        if !matches!(self.program.name(name), "Unlock" | "RUnlock") {
            return;
        }
        match state.heap.get(lock) {
            Object::Mutex(_) => *state.heap.get_mut(lock) = Object::OpenLock,
            Object::RwMutex { .. } => self.give_back(state, &[receiver]),
            _ => {}
        }
    }

    /// Gives back the locks that can be reached from any of `values`: who is given them may do so.
    pub(super) fn give_back(&self, state: &mut State, values: &[Value]) {
        let mut seen = vec![false; state.heap.len()];
        let mut work: Vec<ObjectId> = values.iter().filter_map(|value| value.object()).collect();
        while let Some(id) = work.pop() {
            if std::mem::replace(&mut seen[id.0 as usize], true) {
                continue;
            }
            state.heap.get(id).values(&mut |value| work.extend(value.object()));
            match state.heap.get(id) {
                Object::Mutex(Some(_)) => *state.heap.get_mut(id) = Object::Mutex(None),
                &Object::RwMutex { waiting, .. } => {
                    *state.heap.get_mut(id) =
                        Object::RwMutex { writer: None, readers: Vec::new(), waiting };
                }
                _ => {}
            }
        }
    }

    /// What follows for the rest of the heap from code having an object: it has all that this leads
    /// to. Who has a function has only what this does: where it sends on a channel and no more, others
    /// may do so at any time, but nobody receives or closes.
    fn give(&mut self, state: &mut State, id: ObjectId, work: &mut Vec<ObjectId>) {
        let mut fed = Vec::new();
        match state.heap.get(id) {
            Object::Closure { func, cells } => {
                let literal = self.program.func(*func);
                for (&cell, &(_, inner)) in cells.iter().zip(&literal.captures) {
                    let var = &literal.vars[inner.0 as usize];
                    let feeds = var.fed && var.settled && self.is_of_one_type(var.ty);
                    match *state.heap.get(cell) {
                        Object::Cell(Value::Ref(channel))
                            if feeds && is_channel(state, channel) =>
                        {
                            fed.push(channel);
                        }
                        // What nobody assigns to keeps its value.
                        Object::Cell(value) if var.settled => work.extend(value.object()),
                        _ => work.push(cell),
                    }
                }
            }
            object => object.values(&mut |value| work.extend(value.object())),
        }
        for channel in fed {
            if let Object::Channel(channel) = state.heap.get_mut(channel) {
                channel.clock = Clock::Always;
            }
        }
    }

    /// Whether all that comes from a channel is of one type: where it is not, who receives asks, and is
    /// never given what nobody sends.
    fn is_of_one_type(&self, channel: TypeId) -> bool {
        let types = &self.program.types;
        let Type::Chan(_, element) = *types.underlying(channel) else { return false };
        let known = types.underlying(element);
        !matches!(known, Type::Interface(_))
            && (*known != Type::Unknown || types.name_of(element).is_some())
    }

    /// Whether code that has a value may call methods of it that have to do with other goroutines, as a
    /// handler's. It is asked only where the package's variables are not open yet.
    fn may_call_methods(&self, state: &State, ty: TypeId) -> bool {
        if !self.closed || state.opened {
            return false;
        }
        let named = self.program.types.name_of(ty);
        let own = self.program.methods.iter().filter(|((of, _), _)| Some(*of) == named);
        own.fold(false, |any, (_, &method)| any | self.program.func(method).traits.synchronises)
    }

    /// Other code may call functions of the package, which reach its variables.
    pub(super) fn open(&mut self, state: &mut State) {
        if !self.closed || std::mem::replace(&mut state.opened, true) {
            return;
        }
        let globals = state.globals.clone();
        for &(_, place) in globals.iter() {
            self.escape(state, place);
        }
    }

    /// What an object holds besides references may have been changed.
    fn forget_contents(&mut self, state: &mut State, id: ObjectId) {
        let mut object = state.heap.get(id).clone();
        match &mut object {
            Object::Struct { ty, fields } => {
                let declared = match self.program.types.underlying(*ty) {
                    Type::Struct(declared) => &declared[..],
                    _ => &[],
                };
                for (name, value) in fields {
                    if !value.is_reference() && *name != NameId::ABSENT {
                        let field = declared.iter().find(|field| field.name == *name);
                        *value = state.unknown(field.map_or(TypeId::UNKNOWN, |field| field.ty));
                    }
                }
            }
            Object::Cell(value) | Object::Atomic(value) if !value.is_reference() => {
                *value = state.unknown(self.type_of(*value));
            }
            _ => return,
        }
        *state.heap.get_mut(id) = object;
    }

    /// What was decided about members of an unknown holds no more once unknown code has it. A slice
    /// that was taken from it before keeps its length: a loop over it goes on.
    pub(super) fn forget_members(&mut self, state: &mut State, of: Value) {
        let Value::Unknown(Unknown { id, .. }) = of else { return };
        let (terms, types) = (&self.terms, &self.program.types);
        let about = |term| match terms.get(term) {
            Term::Member(value, _) | Term::Element(value, _) => terms.mentions(value, id),
            Term::Len(Value::Unknown(unknown)) => {
                unknown.id == id && matches!(types.underlying(unknown.ty), Type::Map(..))
            }
            _ => false,
        };
        if state.facts.iter().any(|&(term, _)| about(term)) {
            Rc::make_mut(&mut state.facts).retain(|&(term, _)| !about(term));
        }
    }

    /// What was decided about one member of an unknown holds no more once something is stored there.
    pub(super) fn forget_member(&mut self, state: &mut State, of: Value, name: NameId) {
        if !of.is_unknown() {
            return;
        }
        let member = Value::Term(self.terms.intern(Term::Member(of, name)));
        let about = |term| self.terms.holds(Value::Term(term), member);
        if state.facts.iter().any(|&(term, _)| about(term)) {
            Rc::make_mut(&mut state.facts).retain(|&(term, _)| !about(term));
        }
    }

    /// The context that the channel belongs to, if it does to one, is done, and stays so.
    pub(super) fn end(&mut self, state: &mut State, channel: Value) {
        match channel {
            Value::Term(term)
                if matches!(self.terms.get(term), Term::Done(_)) && state.fact(term).is_none() =>
            {
                Rc::make_mut(&mut state.facts).push((term, Value::Bool(true)));
            }
            Value::Ref(of) if is_of_context(state, of) => {
                let is_its = |&id: &ObjectId| match *state.heap.get(id) {
                    Object::Context { done, .. } => done == of,
                    _ => false,
                };
                let context = state.heap.ids().find(is_its);
                if let Some(context) = context {
                    self.cancel(state, context, None);
                }
            }
            _ => {}
        }
    }

    /// Whether the context that the channel belongs to is known to be done.
    pub(super) fn has_ended(&self, state: &State, channel: Value) -> bool {
        match channel {
            Value::Term(term) => {
                matches!(self.terms.get(term), Term::Done(_)) && state.fact(term).is_some()
            }
            Value::Ref(id) => matches!(state.heap.get(id), Object::Channel(c) if c.closed),
            _ => false,
        }
    }

    /// Cancels a context and those derived from it: now, or with a clock at any time.
    pub(super) fn cancel(&mut self, state: &mut State, context: ObjectId, clock: Option<Clock>) {
        let contexts: Vec<ObjectId> = state
            .heap
            .ids()
            .filter(|&id| matches!(state.heap.get(id), Object::Context { .. }))
            .collect();
        for id in contexts {
            if !self.derives(state, id, context) {
                continue;
            }
            let &Object::Context { done, .. } = state.heap.get(id) else { continue };
            if let Object::Channel(channel) = state.heap.get_mut(done) {
                match clock {
                    Some(clock) => channel.clock = clock,
                    None => channel.closed = true,
                }
            }
        }
    }

    fn derives(&self, state: &State, mut id: ObjectId, from: ObjectId) -> bool {
        // Parents are older than their children, so that this ends; the bound guards against a
        // heap that breaks this.
        for _ in 0..64 {
            if id == from {
                return true;
            }
            match state.heap.get(id) {
                &Object::Context { parent: Some(parent), .. } => id = parent,
                _ => return false,
            }
        }
        false
    }

    /// Whether anybody holds a lock.
    pub(super) fn holds_any_lock(&self, state: &State) -> bool {
        state.heap.ids().any(|id| match state.heap.get(id) {
            Object::Mutex(owner) => owner.is_some(),
            Object::RwMutex { writer, readers, .. } => writer.is_some() || !readers.is_empty(),
            _ => false,
        })
    }

    /// Whether a channel, lock or the like that is explored can be reached from any of `values`.
    pub(super) fn reaches_synchronisation(&self, state: &State, values: &[Value]) -> bool {
        let mut seen = vec![false; state.heap.len()];
        let mut work: Vec<ObjectId> = values.iter().filter_map(|value| value.object()).collect();
        while let Some(id) = work.pop() {
            if std::mem::replace(&mut seen[id.0 as usize], true) {
                continue;
            }
            let object = state.heap.get(id);
            let counts = match self.limits.calls {
                // Whoever is given a context alone can only wait for its end.
                Calls::Given => !matches!(object, Object::Context { .. }),
                Calls::Of(made) => state.heap.entry(id).made == Some(made),
                Calls::Synchronising | Calls::Alone => true,
            };
            if counts && object.is_synchronising() && !state.heap.is_external(id) {
                return true;
            }
            object.values(&mut |value| work.extend(value.object()));
        }
        false
    }
}

fn is_channel(state: &State, id: ObjectId) -> bool {
    matches!(state.heap.get(id), Object::Channel(_))
}

fn is_of_context(state: &State, channel: ObjectId) -> bool {
    matches!(state.heap.get(channel), Object::Channel(channel) if channel.of_context)
}
