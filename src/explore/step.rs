//! One instruction.

use crate::explore::Bound;
use crate::explore::call::Call;
use crate::explore::machine::{Machine, Stop, unwind};
use crate::explore::memory::Member;
use crate::explore::object::Object;
use crate::explore::process::{Deferred, Mode, Operation, Process, Unwinding};
use crate::explore::state::State;
use crate::explore::value::{Unknown, Value};
use crate::program::code::{Constant, Op, Slot};
use crate::program::types::{Type, TypeId};

/// Deferred calls of one frame that are kept.
const MAX_DEFERS: usize = 30;

impl Machine<'_> {
    /// Runs one instruction of the frame at the top. An instruction that needs a decision leaves
    /// the frame as it was.
    pub(super) fn step(
        &mut self,
        state: &mut State,
        process: &mut Process,
        op: Op,
    ) -> Result<(), Stop> {
        let site = process.site();
        let frame = process.frame();
        match op {
            Op::Nop => {}
            Op::Const(value) => frame.values.push(constant(value)),
            Op::Unknown(ty) => frame.values.push(state.unknown(ty)),
            Op::Zero(ty) => {
                let value = self.zero(state, ty, false);
                process.frame().values.push(value);
            }
            Op::Pop => {
                frame.pop();
            }
            Op::Dup => {
                let top = frame.peek(0);
                frame.values.push(top);
            }
            Op::Load(slot) => {
                let value = *frame.slot(slot);
                frame.values.push(value);
            }
            Op::Declare(slot) => {
                let value = frame.pop();
                let value = self.copy(state, value);
                *process.frame().slot(slot) = value;
            }
            Op::Store(slot) => {
                let value = frame.pop();
                let old = *frame.slot(slot);
                if !self.assign_in_place(state, old, value) {
                    let value = self.copy(state, value);
                    *process.frame().slot(slot) = value;
                }
            }
            Op::LoadCell(slot) => {
                let cell = *frame.slot(slot);
                let value = self.load(state, cell);
                process.frame().values.push(value);
            }
            Op::StoreCell(slot) => {
                let value = frame.pop();
                let cell = *frame.slot(slot);
                let value = self.copy(state, value);
                self.store(state, cell, value)?;
            }
            Op::DeclareCell(slot) => {
                let value = frame.pop();
                let value = self.copy(state, value);
                let cell = state.add(Object::Cell(value), Some(site));
                *process.frame().slot(slot) = Value::Ref(cell);
            }
            Op::Box(slot) => {
                let value = *frame.slot(slot);
                let cell = state.add(Object::Cell(value), Some(site));
                *process.frame().slot(slot) = Value::Ref(cell);
            }
            Op::Fresh(slot) => {
                if let Value::Ref(id) = *frame.slot(slot)
                    && let &Object::Cell(value) = state.heap.get(id)
                {
                    let value = self.copy(state, value);
                    let cell = state.add(Object::Cell(value), Some(site));
                    *process.frame().slot(slot) = Value::Ref(cell);
                }
            }
            Op::AddressOf(slot) => {
                let cell = *frame.slot(slot);
                let pointer = match self.load(state, cell) {
                    Value::Struct(id) => Value::Ref(id),
                    _ => cell,
                };
                process.frame().values.push(pointer);
            }
            Op::Global(id) => {
                let value = self.global(state, id);
                process.frame().values.push(value);
            }
            Op::StoreGlobal(id) => {
                let value = frame.pop();
                let value = self.copy(state, value);
                if !self.closed || state.opened {
                    self.escape(state, value);
                }
                let old = self.global(state, id);
                if !self.assign_in_place(state, old, value) {
                    match state.global(id) {
                        Some(cell) if self.program.global(id).boxed => {
                            self.store(state, cell, value)?;
                        }
                        _ => state.set_global(id, value),
                    }
                }
            }
            Op::AddressOfGlobal(id) => {
                let value = self.address_of_global(state, id);
                process.frame().values.push(value);
            }
            Op::Func(func) => frame.values.push(Value::Func(func)),
            Op::MethodExpr(func) => {
                let id = state.add(Object::MethodExpr(func), None);
                frame.values.push(Value::Ref(id));
            }
            Op::Closure(func) => {
                let captures = &self.program.func(func).captures;
                let cells = captures.iter().filter_map(|&(outer, _)| frame.slot(outer).object());
                let cells = cells.collect();
                let id = state.add(Object::Closure { func, cells }, Some(site));
                frame.values.push(Value::Ref(id));
            }
            Op::External(id) => frame.values.push(Value::External(id)),
            Op::Builtin(builtin) => frame.values.push(Value::Builtin(builtin)),
            Op::Member(name) => {
                let base = frame.peek(0);
                let value = match self.member(state, base, name)? {
                    Member::Value(value) => value,
                    Member::Method(func, receiver) => {
                        let receiver = if self.program.func(func).value_receiver {
                            let place = self.load_struct(state, receiver);
                            self.copy(state, place)
                        } else {
                            receiver
                        };
                        Value::Ref(state.add(Object::Method { func, receiver }, None))
                    }
                    Member::Lib(receiver) => {
                        Value::Ref(state.add(Object::LibMethod { name, receiver }, None))
                    }
                    Member::Unknown => {
                        let of = base.object();
                        if of.is_none_or(|id| !state.heap.is_external(id)) {
                            self.escape(state, base);
                        }
                        let value = state.unknown(TypeId::UNKNOWN);
                        // It is read again as it is, until somebody else is given the struct.
                        if let Some(id) = of {
                            self.set_field(state, id, name, value);
                        }
                        value
                    }
                };
                let frame = process.frame();
                frame.pop();
                frame.values.push(value);
            }
            Op::StoreField(name) => {
                let base = frame.pop();
                let value = frame.pop();
                let value = self.copy(state, value);
                self.store_field(state, base, name, value)?;
            }
            Op::AddressOfField(name) => {
                let base = frame.pop();
                let pointer = self.address_of_field(state, base, name)?;
                process.frame().values.push(pointer);
            }
            Op::Index { comma_ok } => {
                let (base, index) = (frame.peek(1), frame.peek(0));
                let (value, ok) = self.element(state, base, index)?;
                let frame = process.frame();
                frame.take(2);
                frame.values.push(value);
                if comma_ok {
                    frame.values.push(ok);
                }
            }
            Op::StoreIndex => {
                let index = frame.pop();
                let base = frame.pop();
                let value = frame.pop();
                let value = self.copy(state, value);
                self.store_element(state, base, index, value);
            }
            Op::AddressOfIndex => {
                let (base, index) = (frame.peek(1), frame.peek(0));
                let pointer = self.address_of_element(state, base, index)?;
                let frame = process.frame();
                frame.take(2);
                frame.values.push(pointer);
            }
            Op::Slice => {
                let bounds = frame.take(3);
                let value = self.slice(state, bounds[0], bounds[1], bounds[2]);
                process.frame().values.push(value);
            }
            Op::Deref => {
                let pointer = frame.pop();
                if pointer == Value::Nil {
                    return Err(Stop::Panic);
                }
                let value = self.load(state, pointer);
                process.frame().values.push(value);
            }
            Op::StoreDeref => {
                let pointer = frame.pop();
                let value = frame.pop();
                let value = self.copy(state, value);
                self.store(state, pointer, value)?;
            }
            Op::AddressOfValue => {
                let pointer = match frame.pop() {
                    Value::Struct(id) => Value::Ref(id),
                    // The unknown itself stands for what it points to.
                    Value::Unknown(unknown) => Value::Unknown(Unknown { non_nil: true, ..unknown }),
                    value => Value::Ref(state.add(Object::Cell(value), Some(site))),
                };
                process.frame().values.push(pointer);
            }
            Op::Not => {
                let value = frame.pop();
                let value = self.not(state, value);
                process.frame().values.push(value);
            }
            Op::Neg => {
                let value = match frame.pop() {
                    Value::Int(value) => Value::Int(value.wrapping_neg()),
                    _ => state.unknown(TypeId::INT),
                };
                frame.values.push(value);
            }
            Op::Binary(op) => {
                let right = frame.pop();
                let left = frame.pop();
                let value = self.binary(state, op, left, right)?;
                process.frame().values.push(value);
            }
            Op::MakeStruct { ty, fields } => {
                let names = &self.program.func(frame.func).lists[fields as usize];
                let values = frame.take(names.len());
                let zero = match self.program.types.underlying(ty) {
                    Type::Struct(_) | Type::Lib(_) => self.zero(state, ty, false),
                    _ => Value::Nil,
                };
                let id = match zero {
                    Value::Struct(id) => id,
                    _ => state.add(Object::Struct { ty, fields: Vec::new() }, None),
                };
                state.heap.entry_mut(id).made = Some(site);
                for (&name, value) in names.iter().zip(values) {
                    let value = self.copy(state, value);
                    if let Object::Cond { locker, .. } = state.heap.get_mut(id) {
                        *locker = value;
                    } else {
                        self.set_field(state, id, name, value);
                    }
                }
                process.frame().values.push(Value::Struct(id));
            }
            Op::MakeSlice { element, len } => {
                let items = frame.take(len as usize);
                let items = items.into_iter().map(|value| self.copy(state, value)).collect();
                let value = self.new_slice(state, element, items);
                process.frame().values.push(value);
            }
            Op::MakeMap { value, len } => {
                let pairs = frame.take(2 * len as usize);
                let id = state.add(Object::Map { value, items: Vec::new() }, Some(site));
                for pair in pairs.chunks_exact(2) {
                    self.store_element(state, Value::Ref(id), pair[0], pair[1]);
                }
                process.frame().values.push(Value::Ref(id));
            }
            Op::Make(ty) => {
                let size = frame.peek(0);
                let value = self.make(state, ty, size, site)?;
                let frame = process.frame();
                frame.pop();
                frame.values.push(value);
            }
            Op::Convert(ty) => {
                if let Value::Unknown(unknown) = frame.peek(0)
                    && unknown.ty == TypeId::UNKNOWN
                {
                    frame.pop();
                    let typed = Unknown { ty, ..unknown };
                    frame.values.push(Value::Unknown(typed));
                }
            }
            Op::Assert { ty, comma_ok } => self.assert(state, process, ty, comma_ok)?,
            Op::IsType(ty) => {
                let value = frame.pop();
                let is = self.is_type(state, value, ty);
                process.frame().values.push(is);
            }
            Op::IsNil => {
                let value = frame.pop();
                let is =
                    self.binary(state, crate::program::code::Operator::Eq, value, Value::Nil)?;
                process.frame().values.push(is);
            }
            Op::Jump(to) => frame.pc = to,
            // Whoever is not known makes no value that its type does not name.
            Op::Exhausted => {
                if frame.pop().is_unknown() {
                    return Err(Stop::End);
                }
            }
            Op::Branch { when, target, counter } => {
                self.branch(state, process, when, target, counter)?;
            }
            Op::CountIteration(slot) => {
                if let Value::Int(count) = frame.slot(slot) {
                    *count += 1;
                }
            }
            Op::RangeStart(slot) => {
                let subject = frame.pop();
                *frame.slot(slot) = subject;
                *frame.slot(Slot(slot.0 + 1)) = Value::Int(0);
            }
            Op::RangeNext { slot, exit } => self.range_next(state, process, slot, exit)?,
            Op::RangeEnd(slot) => self.range_end(state, process, slot)?,
            Op::Send => {
                let value = frame.pop();
                let channel = frame.pop();
                let value = self.copy(state, value);
                self.wait(process, Operation::Send { channel, value }, 0);
            }
            Op::Receive { comma_ok } => {
                let channel = frame.pop();
                self.wait(process, Operation::Receive { channel, comma_ok }, 0);
            }
            Op::Select(table) => {
                let select = &self.program.func(frame.func).selects[table as usize];
                let mut cases = Vec::with_capacity(select.cases.len());
                for case in select.cases.iter().rev() {
                    let value = case.send.then(|| frame.pop());
                    cases.push((frame.pop(), value));
                }
                cases.reverse();
                let default = select.default.is_some();
                self.wait(process, Operation::Select { cases, table, default }, 0);
            }
            Op::Close => {
                let channel = frame.pop();
                self.wait(process, Operation::Close(channel), 0);
            }
            Op::Call { args, spread, want } => {
                let args = frame.take(args as usize);
                let callee = frame.pop();
                let call = Call { callee, args, spread, want, deferred: false };
                self.call(state, process, call)?;
            }
            Op::CallMethod { name, args, spread, want } => {
                let receiver = frame.peek(args as usize);
                let member = self.member(state, receiver, name)?;
                let frame = process.frame();
                let args = frame.take(args as usize);
                frame.pop();
                let call = Call { callee: receiver, args, spread, want, deferred: false };
                self.call_member(state, process, member, name, call)?;
            }
            Op::CallExternal { callee, args, spread, want } => {
                let args = frame.take(args as usize);
                let callee = Value::External(callee);
                let call = Call { callee, args, spread, want, deferred: false };
                self.call(state, process, call)?;
            }
            Op::Go { args, spread } => {
                let args = frame.take(args as usize);
                let callee = frame.pop();
                let args = args.into_iter().map(|value| self.copy(state, value)).collect();
                let call = Call { callee, args, spread, want: 0, deferred: false };
                self.start(state, call, site)?;
                self.wait(process, Operation::Started, 0);
            }
            Op::Defer { args, spread } => {
                let mut args = frame.take(args as usize);
                let callee = frame.pop();
                if spread && let Some(last) = args.pop() {
                    args.extend(self.elements(state, last));
                }
                let args = args.into_iter().map(|value| self.copy(state, value)).collect();
                let frame = process.frame();
                if frame.defers.len() >= MAX_DEFERS {
                    return Err(Stop::Cut(Bound::Defers));
                }
                frame.defers.push(Deferred { callee, args, at: site, at_end: false });
            }
            Op::Return(count) => {
                let values = frame.take(count as usize);
                let values: Vec<Value> =
                    values.into_iter().map(|value| self.copy(state, value)).collect();
                let frame = process.frame();
                let func = self.program.func(frame.func);
                if values.len() == func.result_slots.len() {
                    for (&slot, &value) in func.result_slots.iter().zip(&values) {
                        let place = *process.frame().slot(slot);
                        if func.vars[slot.0 as usize].boxed {
                            self.store(state, place, value)?;
                        } else {
                            *process.frame().slot(slot) = value;
                        }
                    }
                }
                let frame = process.frame();
                frame.results = values;
                frame.values.truncate(func.vars.len());
                frame.mode = Mode::Leave;
            }
            Op::Len => {
                let value = frame.pop();
                let value = self.length(state, value, false);
                process.frame().values.push(value);
            }
            Op::Cap => {
                let value = frame.pop();
                let value = self.length(state, value, true);
                process.frame().values.push(value);
            }
            Op::Append { args, spread } => {
                let values = frame.take(args as usize);
                let slice = frame.pop();
                let value = self.append(state, slice, values, spread);
                process.frame().values.push(value);
            }
            Op::Copy => {
                let from = frame.pop();
                let to = frame.pop();
                self.copy_elements(state, to, from);
                let count = state.unknown(TypeId::INT);
                process.frame().values.push(count);
            }
            Op::Delete => {
                let key = frame.pop();
                let map = frame.pop();
                self.delete(state, map, key);
            }
            Op::Clear => {
                let map = frame.pop();
                if let Some(id) = map.object()
                    && let Object::Map { items, .. } = state.heap.get_mut(id)
                {
                    items.clear();
                }
            }
            Op::Panic => {
                frame.pop();
                return Err(Stop::Panic);
            }
            Op::Recover => {
                let value = self.recover(state, process);
                process.frame().values.push(value);
            }
            Op::Extremum { args, max } => {
                let values: Vec<Value> = (0..args as usize).map(|at| frame.peek(at)).collect();
                let Some((&first, others)) = values.split_first() else { return Err(Stop::Panic) };
                let mut value = first;
                for &other in others {
                    value = self.extremum(state, max, value, other)?;
                }
                process.frame().take(args as usize);
                process.frame().values.push(value);
            }
            Op::Hole { args, want } => {
                for value in frame.take(args as usize) {
                    self.escape(state, value);
                }
                self.deliver(state, process, Vec::new(), want);
            }
        }
        Ok(())
    }

    fn branch(
        &mut self,
        state: &mut State,
        process: &mut Process,
        when: bool,
        target: u32,
        counter: Slot,
    ) -> Result<(), Stop> {
        let frame = process.frame();
        let value = frame.peek(0);
        let mut truth = None;
        if counter != Slot::NONE {
            let iterations = match *frame.slot(counter) {
                Value::Int(count) => count,
                _ => 0,
            };
            let bound = match value {
                Value::Bool(_) => self.limits.known_iterations,
                // A comparison of a count that is decided to be small comes to its end.
                Value::Term(_) => self.limits.unknown_iterations + 2,
                _ => self.limits.unknown_iterations,
            };
            if iterations >= bound {
                // Leave the loop: both jumps of a condition lead out when it is false.
                match self.truth(state, value) {
                    Ok(true) if iterations >= self.limits.known_iterations => {
                        state.doubts.inexact = true;
                        truth = Some(false);
                    }
                    Ok(known) => truth = Some(known),
                    Err(Stop::Decide(decisions)) => {
                        truth = Some(self.denied(state, value, decisions)?);
                    }
                    Err(stop) => return Err(stop),
                }
            }
        }
        let truth = match truth {
            Some(truth) => truth,
            None => self.truth(state, value)?,
        };
        let frame = process.frame();
        frame.pop();
        if truth == when {
            frame.pc = target;
        }
        Ok(())
    }

    fn recover(&mut self, state: &mut State, process: &mut Process) -> Value {
        let top = process.frames.len() - 1;
        match process.unwinding {
            Some((Unwinding::Panic, depth)) if depth + 1 == top => {
                process.unwinding = None;
                state.non_nil(TypeId::ANY)
            }
            _ => Value::Nil,
        }
    }

    /// The struct that a receiver leads to.
    pub(super) fn load_struct(&mut self, state: &mut State, value: Value) -> Value {
        match value {
            Value::Ref(id) if matches!(state.heap.get(id), Object::Struct { .. }) => {
                Value::Struct(id)
            }
            _ => value,
        }
    }
}

fn constant(value: Constant) -> Value {
    match value {
        Constant::Nil => Value::Nil,
        Constant::Bool(value) => Value::Bool(value),
        Constant::Int(value) => Value::Int(value),
        Constant::Str(text) => Value::Str(text),
        Constant::Atom(text) => Value::Atom(text),
    }
}

/// Goexit, as `t.FailNow` does it: deferred calls of all frames run.
pub(super) fn goexit(process: &mut Process) {
    unwind(process, Unwinding::Goexit);
}
