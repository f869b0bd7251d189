//! Calls, starts of goroutines, and range loops over everything.

use std::rc::Rc;

use crate::explore::machine::{Machine, Stop};
use crate::explore::memory::Member;
use crate::explore::object::Object;
use crate::explore::process::{Deferred, GoroutineId, Mode, Operation, Process};
use crate::explore::state::State;
use crate::explore::symbolic::{COUNTS, shrink};
use crate::explore::value::{ObjectId, Term, Unknown, Value};
use crate::explore::{Bound, Calls, Site};
use crate::program::code::{Builtin, Func, FuncId, NameId, Op, Pc, Slot};
use crate::program::library::serves;
use crate::program::types::{Type, TypeId};

/// A call about to happen.
pub(super) struct Call {
    pub callee: Value,
    pub args: Vec<Value>,
    /// Whether the last argument is a slice that is spread.
    pub spread: bool,
    /// How many results are wanted.
    pub want: u8,
    /// Whether it was deferred.
    pub deferred: bool,
}

impl Machine<'_> {
    pub(super) fn call(
        &mut self,
        state: &mut State,
        process: &mut Process,
        call: Call,
    ) -> Result<(), Stop> {
        match call.callee {
            Value::Func(func) => self.enter(state, process, func, None, &[], call),
            Value::External(id) => self.call_external(state, process, id, call),
            Value::Builtin(builtin) => self.call_builtin(state, process, builtin, call),
            Value::Nil => Err(Stop::Panic),
            Value::Ref(id) => match state.heap.get(id).clone() {
                Object::Closure { func, cells } => {
                    self.enter(state, process, func, None, &cells, call)
                }
                Object::Method { func, receiver } => {
                    self.enter(state, process, func, Some(receiver), &[], call)
                }
                Object::MethodExpr(func) => {
                    let mut call = call;
                    let receiver = if call.args.is_empty() {
                        state.unknown(TypeId::UNKNOWN)
                    } else {
                        call.args.remove(0)
                    };
                    self.enter(state, process, func, Some(receiver), &[], call)
                }
                Object::LibMethod { name, receiver } => {
                    self.call_library(state, process, receiver, name, call)
                }
                Object::Cancel(context) => {
                    self.wait(process, Operation::Cancel(context), call.want);
                    Ok(())
                }
                Object::OnceFunc { once, callee } => {
                    self.wait(process, Operation::OnceDo(once, callee), call.want);
                    Ok(())
                }
                Object::Finish(finish, object) => {
                    self.finish(state, process, finish, object);
                    Ok(())
                }
                Object::Yield { frame } => self.yielded(state, process, frame, call),
                Object::Cell(inner) if inner.object() != Some(id) => {
                    self.call(state, process, Call { callee: inner, ..call })
                }
                _ => self.call_unknown(state, process, None, call),
            },
            _ => self.call_unknown(state, process, None, call),
        }
    }

    /// `receiver.name(args)`, where `call.callee` is the receiver.
    pub(super) fn call_member(
        &mut self,
        state: &mut State,
        process: &mut Process,
        member: Member,
        name: NameId,
        call: Call,
    ) -> Result<(), Stop> {
        match member {
            Member::Method(func, receiver) => {
                self.enter(state, process, func, Some(receiver), &[], call)
            }
            Member::Lib(receiver) => self.call_library(state, process, receiver, name, call),
            Member::Value(value) if !value.is_unknown() => {
                self.call(state, process, Call { callee: value, ..call })
            }
            Member::Value(_) => {
                // A function that a field keeps.
                self.asks_unknown |= self.holds_any_lock(state);
                self.call_unknown(state, process, Some(name), call)
            }
            Member::Unknown => self.call_unknown(state, process, Some(name), call),
        }
    }

    /// Begins to run `func`, unless it is too deep: then all it is given escapes.
    pub(super) fn enter(
        &mut self,
        state: &mut State,
        process: &mut Process,
        func: FuncId,
        receiver: Option<Value>,
        cells: &[ObjectId],
        call: Call,
    ) -> Result<(), Stop> {
        let code = self.program.func(func);
        let running = process.frames.iter().filter(|frame| frame.func == func).count();
        let too_deep = process.frames.len() >= self.limits.depth || running > self.limits.recursion;
        let starts = process.frames.is_empty();
        if too_deep || self.may_skip(state, func, receiver, cells, &call, starts) {
            if too_deep || code.traits.effects {
                let given = call.args.iter().copied().chain(receiver);
                let given: Vec<Value> =
                    given.chain(cells.iter().map(|&id| Value::Ref(id))).collect();
                for value in given {
                    self.escape(state, value);
                }
            }
            let results = self.results_of(state, func);
            self.deliver(state, process, results, call.want);
            return Ok(());
        }
        let mut frame = self.new_frame(func, call.want);
        frame.deferred = call.deferred;
        for (&(_, inner), &cell) in code.captures.iter().zip(cells) {
            frame.values[inner.0 as usize] = Value::Ref(cell);
        }
        if let (Some(slot), Some(receiver)) = (code.receiver, receiver) {
            let receiver = if code.value_receiver {
                let place = self.load_struct(state, receiver);
                self.copy(state, place)
            } else if let Value::Struct(id) = receiver {
                Value::Ref(id)
            } else {
                receiver
            };
            frame.values[slot.0 as usize] = receiver;
        }
        let args = self.arguments(state, func, call.args, call.spread);
        for (&slot, value) in code.params.iter().zip(args) {
            frame.values[slot.0 as usize] = self.with_type(value, code.vars[slot.0 as usize].ty);
        }
        process.frames.push(Rc::new(frame));
        Ok(())
    }

    /// Whether running `func` can make no difference for anybody who waits. `starts` says whether a goroutine
    /// begins with it.
    fn may_skip(
        &self,
        state: &State,
        func: FuncId,
        receiver: Option<Value>,
        cells: &[ObjectId],
        call: &Call,
        starts: bool,
    ) -> bool {
        let code = self.program.func(func);
        let (synchronises, small) = (code.traits.synchronises, code.code.len() <= SMALL);
        let is_run = match self.limits.calls {
            Calls::Synchronising | Calls::Alone => synchronises || small,
            Calls::Given => small && !(starts && cells.is_empty()),
            // What a literal sets may decide what becomes of others.
            Calls::Of(_) => small && !(starts && cells.is_empty()) || sets_captured(code),
        };
        // Who gives back a lock of the package need not be given it.
        if is_run || synchronises && self.holds_any_lock(state) {
            return false;
        }
        let is_function = |value: &Value| match value {
            Value::Func(_) => true,
            value => value.object().is_some_and(|id| {
                matches!(
                    state.heap.get(id),
                    Object::Closure { .. } | Object::Method { .. } | Object::LibMethod { .. }
                )
            }),
        };
        let is_sliced = matches!(self.limits.calls, Calls::Given | Calls::Of(_));
        let captured = cells.iter().map(|&id| Value::Ref(id)).filter(|_| is_sliced);
        let given: Vec<Value> = call.args.iter().copied().chain(receiver).chain(captured).collect();
        !given.iter().any(is_function) && !self.reaches_synchronisation(state, &given)
    }

    /// The values of the parameters of `func`.
    fn arguments(
        &mut self,
        state: &mut State,
        func: FuncId,
        args: Vec<Value>,
        spread: bool,
    ) -> Vec<Value> {
        let code = self.program.func(func);
        let mut values: Vec<Value> = Vec::with_capacity(code.params.len());
        let mut args = args.into_iter();
        let fixed = code.params.len() - code.variadic as usize;
        for value in args.by_ref().take(fixed) {
            values.push(self.copy(state, value));
        }
        if code.variadic && values.len() == fixed {
            let rest: Vec<Value> = args.collect();
            let value = match *rest {
                [only] if spread => only,
                [] => Value::Nil,
                _ => {
                    let slot = code.params[fixed];
                    let element = self.program.types.element(code.vars[slot.0 as usize].ty);
                    self.new_slice(state, element, rest)
                }
            };
            values.push(value);
        }
        while values.len() < code.params.len() {
            let slot = code.params[values.len()];
            let value = self.symbolic(state, code.vars[slot.0 as usize].ty);
            values.push(value);
        }
        values
    }

    /// An unknown takes the type of the variable that it is assigned to.
    fn with_type(&self, value: Value, ty: TypeId) -> Value {
        match value {
            Value::Unknown(unknown) if unknown.ty == TypeId::UNKNOWN => {
                Value::Unknown(crate::explore::value::Unknown { ty, ..unknown })
            }
            other => other,
        }
    }

    /// A call of something that is not explored.
    pub(super) fn call_unknown(
        &mut self,
        state: &mut State,
        process: &mut Process,
        method: Option<NameId>,
        call: Call,
    ) -> Result<(), Stop> {
        if let Some(name) = method
            && let Some(done) = self.call_by_name(state, process, name, &call)
        {
            return done;
        }
        self.asks_unknown |= self.may_come_back(method, call.callee) && self.holds_any_lock(state);
        self.escape(state, call.callee);
        for &value in &call.args {
            self.escape(state, value);
        }
        let results = match method {
            None => self.unknown_results(state, call.callee),
            Some(name) if call.want == 1 && serves(self.program.name(name)) => {
                vec![state.non_nil(TypeId::ERROR)]
            }
            Some(name) => self.listed(process, name, &call).into_iter().collect(),
        };
        self.deliver(state, process, results, call.want);
        Ok(())
    }

    /// What a method of an unknown without arguments gives, if it is asked only for how many there are, or to go over
    /// them: the same each time, as a field of it would be. `len(b.Txs())`
    fn listed(&mut self, process: &Process, name: NameId, call: &Call) -> Option<Value> {
        let frame = process.frames.last().filter(|_| call.args.is_empty() && call.want == 1)?;
        let next = self.program.func(frame.func).code.get(frame.pc as usize);
        let is_kept = call.callee.is_unknown() && self.terms.keeps(&[call.callee]);
        (is_kept && matches!(next, Some(Op::Len | Op::RangeStart(_))))
            .then(|| Value::Term(self.terms.intern(Term::Member(call.callee, name))))
    }

    /// The results of a function value of which the type is known, up to the first that is more than a number, a
    /// text or a truth.
    fn unknown_results(&mut self, state: &mut State, callee: Value) -> Vec<Value> {
        let types = &self.program.types;
        let Value::Unknown(Unknown { ty, .. }) = callee else { return Vec::new() };
        let Type::Func(results) = types.underlying(ty) else { return Vec::new() };
        results.iter().take_while(|&&ty| types.is_basic(ty)).map(|&ty| state.unknown(ty)).collect()
    }

    /// Whether an unknown callee may be the package's own: a function value, or a method of which it declares one
    /// that synchronises.
    fn may_come_back(&self, method: Option<NameId>, callee: Value) -> bool {
        match method {
            None => callee.is_unknown(),
            Some(name) => self.program.methods_by_name.get(&name).is_some_and(|methods| {
                methods.iter().any(|&method| self.program.func(method).traits.synchronises)
            }),
        }
    }

    fn call_builtin(
        &mut self,
        state: &mut State,
        process: &mut Process,
        builtin: Builtin,
        call: Call,
    ) -> Result<(), Stop> {
        match builtin {
            Builtin::Close => {
                let channel = call.args.first().copied().unwrap_or(Value::Nil);
                self.wait(process, Operation::Close(channel), 0);
            }
            Builtin::Panic => return Err(Stop::Panic),
            // `defer recover()` does not recover: it is not called by a deferred function.
            Builtin::Recover | Builtin::Other => {
                self.deliver(state, process, Vec::new(), call.want);
            }
        }
        Ok(())
    }

    /// `go call`
    pub(super) fn start(&mut self, state: &mut State, call: Call, site: Site) -> Result<(), Stop> {
        self.start_with(state, call, site, None)
    }

    /// Starts a goroutine that calls `last` when it is done.
    pub(super) fn start_with(
        &mut self,
        state: &mut State,
        call: Call,
        site: Site,
        last: Option<Value>,
    ) -> Result<(), Stop> {
        if self.limits.calls == Calls::Alone {
            let given = call.args.into_iter().chain([call.callee]).chain(last);
            let given: Vec<Value> = given.collect();
            self.give_back(state, &given);
            given.into_iter().for_each(|value| self.escape(state, value));
            return Ok(());
        }
        if state.processes.len() >= self.limits.goroutines {
            return Err(Stop::Cut(Bound::Goroutines));
        }
        state.next_goroutine += 1;
        let mut process = Process {
            id: GoroutineId(state.next_goroutine),
            started: site,
            frames: Vec::new(),
            pending: None,
            unwinding: None,
        };
        match self.call(state, &mut process, Call { want: 0, deferred: false, ..call }) {
            // Calling nil in a new goroutine panics: the process ends.
            Err(Stop::Panic) => return Err(Stop::End),
            other => other?,
        }
        if let Some(callee) = last {
            self.call_at_end(state, &mut process, callee, site)?;
        }
        state.processes.push(Rc::new(process));
        Ok(())
    }

    /// Lets the call that just began be followed by one of `callee`.
    pub(super) fn call_at_end(
        &mut self,
        state: &mut State,
        process: &mut Process,
        callee: Value,
        at: Site,
    ) -> Result<(), Stop> {
        if process.pending.is_none() && process.frames.is_empty() {
            let call = Call { callee, args: Vec::new(), spread: false, want: 0, deferred: true };
            return self.call(state, process, call);
        }
        // What waits without code of its own has no end to wait for.
        let Some(frame) = process.top() else { return Err(Stop::Cut(Bound::Defers)) };
        let args = Vec::new().into_boxed_slice();
        frame.defers.insert(0, Deferred { callee, args, at, at_end: true });
        Ok(())
    }

    /// The results of an initialiser, if they can be computed without any decision.
    pub(super) fn run_initialiser(
        &mut self,
        state: &mut State,
        func: FuncId,
    ) -> Option<Vec<Value>> {
        let mut process = Process {
            id: GoroutineId(u32::MAX),
            started: Site { func, pc: 0 },
            frames: vec![Rc::new(self.new_frame(func, 0))],
            pending: None,
            unwinding: None,
        };
        for _ in 0..self.limits.instructions {
            if process.pending.is_some() || process.frames.is_empty() {
                return None;
            }
            let last = process.frames.len() == 1;
            let frame = process.frame();
            let result = if frame.mode == Mode::Leave {
                if last && frame.defers.is_empty() {
                    return Some(std::mem::take(&mut frame.results));
                }
                return None;
            } else {
                let op = self.program.func(frame.func).code[frame.pc as usize];
                frame.pc += 1;
                self.steps += 1;
                self.step(state, &mut process, op)
            };
            result.ok()?;
            while process.frames.len() > 1 && process.frame().mode == Mode::Leave {
                if !process.frame().defers.is_empty() {
                    return None;
                }
                let frame = process.frames.pop()?;
                let results = frame.results.clone();
                self.deliver(state, &mut process, results, frame.want);
            }
        }
        None
    }

    /// The next iteration of a range loop, or its end.
    pub(super) fn range_next(
        &mut self,
        state: &mut State,
        process: &mut Process,
        slot: Slot,
        exit: Pc,
    ) -> Result<(), Stop> {
        let position = Slot(slot.0 + 1);
        let frame = process.frame();
        let subject = *frame.slot(slot);
        let at = match *frame.slot(position) {
            Value::Int(at) => at,
            // An iterator function that is suspended.
            _ => return self.resume(state, process, slot, exit, true),
        };
        let mut after = at + 1;
        let next = match subject {
            Value::Int(count) => {
                let (count, cut) = shrink(count);
                if cut && let Value::Int(large) = subject {
                    self.large.insert(large);
                }
                (at < count).then_some((Value::Int(at), Value::Nil))
            }
            Value::Nil if self.ranges_over_channel(process.frame().func, slot) => {
                let operation = Operation::RangeReceive { channel: subject, exit };
                self.wait(process, operation, 0);
                return Ok(());
            }
            Value::Nil => None,
            Value::Str(text) => {
                let (count, cut) = shrink(self.program.text(text).len() as i64);
                state.doubts.inexact |= cut;
                (at < count).then_some((Value::Int(at), Value::Nil))
            }
            Value::Func(_) => return self.iterate(state, process, slot, exit, subject),
            Value::Ref(id) => match state.heap.get(id) {
                Object::Channel(_) => {
                    let operation = Operation::RangeReceive { channel: subject, exit };
                    self.wait(process, operation, 0);
                    return Ok(());
                }
                Object::Slice { items, .. } => {
                    items.get(at as usize).map(|&value| (Value::Int(at), value))
                }
                Object::Map { value, items } => {
                    if state.heap.is_external(id) && items.is_empty() {
                        let value = *value;
                        let count = self.term(state, Term::Len(subject), TypeId::INT);
                        let count = self.integer(state, count, COUNTS)?;
                        if at < count {
                            Some((state.unknown(TypeId::UNKNOWN), self.symbolic(state, value)))
                        } else {
                            None
                        }
                    } else {
                        // The last first, and below zero how many were left: what a turn deletes of
                        // its own moves none that is still to come.
                        let left = if at == 0 { i64::MAX } else { -at - 1 };
                        let left = left.min(items.len() as i64);
                        after = -left;
                        usize::try_from(left - 1).ok().map(|last| items[last])
                    }
                }
                Object::Closure { .. } | Object::Method { .. } => {
                    return self.iterate(state, process, slot, exit, subject);
                }
                &Object::Cell(inner) if inner.object() != Some(id) => {
                    *process.frame().slot(slot) = inner;
                    return self.range_next(state, process, slot, exit);
                }
                _ => None,
            },
            Value::Unknown(unknown) => {
                let kind = self.program.types.underlying(unknown.ty).clone();
                if let Type::Int = kind {
                    let count = self.integer(state, subject, COUNTS)?;
                    (at < count).then_some((Value::Int(at), Value::Nil))
                } else {
                    self.unknown_next(state, subject, unknown.ty, at)?
                }
            }
            Value::Term(id) => {
                let is_count = matches!(self.terms.get(id), Term::Len(_) | Term::Binary(..))
                    || matches!(state.fact(id), Some(Value::Int(_)));
                if is_count {
                    let count = self.integer(state, subject, COUNTS)?;
                    (at < count).then_some((Value::Int(at), Value::Nil))
                } else {
                    self.unknown_next(state, subject, TypeId::UNKNOWN, at)?
                }
            }
            _ => None,
        };
        let frame = process.frame();
        match next {
            Some((key, value)) => {
                *frame.slot(position) = Value::Int(after);
                frame.values.push(key);
                frame.values.push(value);
            }
            None => frame.pc = exit,
        }
        Ok(())
    }

    /// An element of something of which nothing but perhaps its type is known.
    fn unknown_next(
        &mut self,
        state: &mut State,
        subject: Value,
        ty: TypeId,
        at: i64,
    ) -> Result<Option<(Value, Value)>, Stop> {
        let count = self.term(state, Term::Len(subject), TypeId::INT);
        let count = self.integer(state, count, COUNTS)?;
        if at >= count {
            return Ok(None);
        }
        let key = match self.program.types.underlying(ty) {
            &Type::Map(key, _) => self.symbolic(state, key),
            Type::Slice(_) | Type::Array(..) | Type::String => Value::Int(at),
            _ => state.unknown(TypeId::UNKNOWN),
        };
        let element = self.program.types.element(ty);
        let value = match key {
            Value::Int(_) => self.recalled(state, Term::Element(subject, key), element),
            _ => self.symbolic(state, element),
        };
        Ok(Some((key, value)))
    }

    /// The first value of an iterator function: it is called with a function that hands its
    /// argument to the loop.
    fn iterate(
        &mut self,
        state: &mut State,
        process: &mut Process,
        slot: Slot,
        exit: Pc,
        iterator: Value,
    ) -> Result<(), Stop> {
        let depth = process.frames.len();
        let hand = state.add(Object::Yield { frame: depth as u32 - 1 }, None);
        let frame = process.frame();
        *frame.slot(slot) = Value::Ref(hand);
        *frame.slot(Slot(slot.0 + 1)) = Value::Nil;
        // When the iterator returns, the loop is over: it goes on behind `RangeNext`.
        frame.pc = exit;
        let call = Call {
            callee: iterator,
            args: vec![Value::Ref(hand)],
            spread: false,
            want: 0,
            deferred: false,
        };
        self.call(state, process, call)
    }

    /// The iterator calls the function that it was given: the loop's body runs, and the frames of
    /// the iterator are kept for later.
    fn yielded(
        &mut self,
        state: &mut State,
        process: &mut Process,
        frame: u32,
        call: Call,
    ) -> Result<(), Stop> {
        let keep = frame as usize + 1;
        if process.frames.len() <= keep {
            self.deliver(state, process, Vec::new(), call.want);
            return Ok(());
        }
        // The result of the call is pushed when the loop asks for more.
        let suspended: Vec<_> = process.frames.drain(keep..).collect();
        let suspended = state.add(Object::Suspended(suspended, call.want), None);
        let loop_frame = process.frame();
        let next = loop_frame.pc;
        let start = self.range_start_of(loop_frame.func, next);
        let Some((slot, body)) = start else { return Err(Stop::Cut(Bound::Instructions)) };
        *loop_frame.slot(Slot(slot.0 + 1)) = Value::Ref(suspended);
        loop_frame.pc = body;
        let mut values = call.args.into_iter();
        for _ in 0..2 {
            let value = values.next().unwrap_or(Value::Nil);
            process.frame().values.push(value);
        }
        Ok(())
    }

    /// The slot and the body of the range loop that ends at `exit`.
    fn range_start_of(&self, func: FuncId, exit: Pc) -> Option<(Slot, Pc)> {
        use crate::program::code::Op;
        let code = &self.program.func(func).code;
        code.iter().enumerate().find_map(|(at, op)| match *op {
            Op::RangeNext { slot, exit: end } if end == exit => Some((slot, at as Pc + 1)),
            _ => None,
        })
    }

    /// Whether the loop that keeps what it ranges over in `slot` ranges over a variable of a channel type.
    fn ranges_over_channel(&self, func: FuncId, slot: Slot) -> bool {
        use crate::program::code::Op;
        let func = self.program.func(func);
        let is_channel = |ty| matches!(self.program.types.underlying(ty), Type::Chan(..));
        let mut code = func.code.iter().enumerate();
        code.any(|(at, op)| {
            matches!(*op, Op::RangeStart(start) if start == slot)
                && func.ranged_variable(at).is_some_and(is_channel)
        })
    }

    /// Goes on with a suspended iterator: for another value, or to let it finish.
    fn resume(
        &mut self,
        state: &mut State,
        process: &mut Process,
        slot: Slot,
        exit: Pc,
        more: bool,
    ) -> Result<(), Stop> {
        let position = Slot(slot.0 + 1);
        let frame = process.frame();
        let suspended = *frame.slot(position);
        *frame.slot(position) = Value::Nil;
        frame.pc = exit;
        if let Value::Ref(id) = suspended
            && let Object::Suspended(frames, want) = state.heap.get(id).clone()
        {
            process.frames.extend(frames);
            self.deliver(state, process, vec![Value::Bool(more)], want);
        }
        Ok(())
    }

    /// Leaves a range loop.
    pub(super) fn range_end(
        &mut self,
        state: &mut State,
        process: &mut Process,
        slot: Slot,
    ) -> Result<(), Stop> {
        let frame = process.frame();
        let here = frame.pc;
        match *frame.slot(Slot(slot.0 + 1)) {
            Value::Ref(_) => self.resume(state, process, slot, here, false),
            _ => Ok(()),
        }
    }
}

/// Functions of so few instructions are run even where they make no difference.
const SMALL: usize = 40;

/// Whether a literal sets a variable that it captures.
fn sets_captured(func: &Func) -> bool {
    func.code.iter().any(|op| match op {
        Op::StoreCell(slot) => func.captures.iter().any(|(_, inner)| inner == slot),
        _ => false,
    })
}
