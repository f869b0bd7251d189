//! Package variables. In a closed world they begin with their initial values; otherwise other code
//! has changed them, and can reach what is stored in them.

use crate::explore::machine::Machine;
use crate::explore::object::Object;
use crate::explore::state::State;
use crate::explore::value::Value;
use crate::program::code::GlobalId;

impl Machine<'_> {
    /// The value of a package variable.
    pub(super) fn global(&mut self, state: &mut State, id: GlobalId) -> Value {
        let place = match state.global(id) {
            Some(place) => place,
            None => {
                let value = self.initial_global(state, id);
                let mut place = value;
                if self.program.global(id).boxed {
                    let cell = state.add(Object::Cell(value), None);
                    state.heap.entry_mut(cell).external = !self.closed || state.opened;
                    place = Value::Ref(cell);
                }
                state.set_global(id, place);
                place
            }
        };
        if self.program.global(id).boxed { self.load(state, place) } else { place }
    }

    fn initial_global(&mut self, state: &mut State, id: GlobalId) -> Value {
        let global = self.program.global(id);
        let ty = global.ty;
        if !self.closed || state.opened || global.prepared {
            return self.symbolic(state, ty);
        }
        let Some((func, at)) = global.init else { return self.zero(state, ty, false) };
        // Circles of initialisers are no Go; the variable is unknown while it is computed.
        let unknown = state.unknown(ty);
        if !global.boxed {
            state.set_global(id, unknown);
        }
        let results = self.run_initialiser(state, func);
        results.and_then(|results| results.get(at as usize).copied()).unwrap_or(unknown)
    }

    pub(super) fn address_of_global(&mut self, state: &mut State, id: GlobalId) -> Value {
        match self.global(state, id) {
            Value::Struct(id) => Value::Ref(id),
            value => state.global(id).unwrap_or(value),
        }
    }
}
