//! Dynamic types: assertions and the cases of type switches.

use crate::explore::machine::{Machine, Stop};
use crate::explore::memory::Member;
use crate::explore::object::Object;
use crate::explore::process::Process;
use crate::explore::state::State;
use crate::explore::value::{Term, Unknown, Value};
use crate::program::types::{Type, TypeId};

impl Machine<'_> {
    pub(super) fn assert(
        &mut self,
        state: &mut State,
        process: &mut Process,
        ty: TypeId,
        comma_ok: bool,
    ) -> Result<(), Stop> {
        let value = process.frame().peek(0);
        let is = self.is_type(state, value, ty);
        if !comma_ok {
            if is == Value::Bool(false) {
                return Err(Stop::Panic);
            }
            process.frame().pop();
            let value = typed(value, ty);
            process.frame().values.push(value);
            return Ok(());
        }
        if let Value::Unknown(_) = is {
            // The question has no identity: it cannot be decided, so neither is its answer.
            let value = state.unknown(ty);
            let frame = process.frame();
            frame.pop();
            frame.values.push(value);
            frame.values.push(is);
            return Ok(());
        }
        let is = self.truth(state, is)?;
        let value = if is { typed(value, ty) } else { self.zero(state, ty, false) };
        let frame = process.frame();
        frame.pop();
        frame.values.push(value);
        frame.values.push(Value::Bool(is));
        Ok(())
    }

    /// Whether the dynamic type of `value` is, or implements, `ty`.
    pub(super) fn is_type(&mut self, state: &mut State, value: Value, ty: TypeId) -> Value {
        let types = &self.program.types;
        match value {
            Value::Nil => return Value::Bool(false),
            Value::Unknown(unknown) => {
                if unknown.ty == ty && ty != TypeId::UNKNOWN && unknown.non_nil {
                    return Value::Bool(true);
                }
                let interface = matches!(
                    types.underlying(ty),
                    Type::Interface(_) | Type::Unknown | Type::Error
                );
                // An integer, text or truth is of its own type, and of no struct or pointer.
                let is_basic = types.is_basic(unknown.ty);
                let apart = unknown.ty == TypeId::PLAIN_ERROR || is_basic && !types.is_basic(ty);
                if apart && !interface {
                    return Value::Bool(false);
                }
                if is_basic && unknown.ty == ty {
                    return Value::Bool(true);
                }
                return self.term(state, Term::IsType(value, ty), TypeId::BOOL);
            }
            Value::Term(_) => return self.term(state, Term::IsType(value, ty), TypeId::BOOL),
            _ => {}
        }
        match types.underlying(ty) {
            Type::Interface(methods) => {
                let methods = methods.clone();
                for name in methods {
                    match self.member(state, value, name) {
                        Ok(Member::Method(..) | Member::Lib(_)) => {}
                        Ok(Member::Value(_)) | Err(_) => return Value::Bool(false),
                        Ok(Member::Unknown) => {
                            return self.term(state, Term::IsType(value, ty), TypeId::BOOL);
                        }
                    }
                }
                Value::Bool(true)
            }
            Type::Bool => Value::Bool(matches!(value, Value::Bool(_))),
            Type::Int => Value::Bool(matches!(value, Value::Int(_))),
            Type::String => Value::Bool(matches!(value, Value::Str(_))),
            _ => match value {
                Value::Ref(id) | Value::Struct(id) => match state.heap.get(id) {
                    Object::Struct { ty: made, .. } => {
                        let pointer = matches!(value, Value::Ref(_));
                        let wanted = if pointer { types.pointee(ty) } else { Some(ty) };
                        match wanted {
                            Some(wanted) if wanted == *made => Value::Bool(true),
                            Some(wanted) if types.name_of(wanted).is_some() => {
                                Value::Bool(types.name_of(wanted) == types.name_of(*made))
                            }
                            Some(_) => self.term(state, Term::IsType(value, ty), TypeId::BOOL),
                            None if types.name_of(ty).is_some() => Value::Bool(false),
                            None => self.term(state, Term::IsType(value, ty), TypeId::BOOL),
                        }
                    }
                    _ => self.term(state, Term::IsType(value, ty), TypeId::BOOL),
                },
                _ => self.term(state, Term::IsType(value, ty), TypeId::BOOL),
            },
        }
    }
}

/// `value` after an assertion that it is of type `ty`.
fn typed(value: Value, ty: TypeId) -> Value {
    match value {
        Value::Unknown(unknown) => Value::Unknown(Unknown { ty, non_nil: true, ..unknown }),
        other => other,
    }
}
