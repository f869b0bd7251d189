//! The abstract machine: runs one goroutine until it is about to do something that others can
//! notice.
//!
//! Running is sequential and deterministic. Whatever needs a choice (an unknown condition, the
//! order of two goroutines) stops the run and is left to the search.

use std::cell::Cell;
use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::explore::code::Code;
use crate::explore::library::Known;
use crate::explore::object::Object;
use crate::explore::process::{
    Decision, Frame, Mode, OPERANDS, Operation, Pending, Process, Unwinding,
};
use crate::explore::state::State;
use crate::explore::term::Terms;
use crate::explore::value::Value;
use crate::explore::{Bound, Limits, Site};
use crate::program::code::{NameId, Slot};
use crate::program::types::TypeId;

/// Why a goroutine cannot go on by itself.
#[derive(Clone, Debug)]
pub(super) enum Stop {
    /// Something must be decided; the instruction runs again afterwards.
    Decide(Vec<Decision>),
    /// Go panics here.
    Panic,
    /// The process ends here, or is broken beyond what can be followed.
    End,
    /// A bound was reached: what comes later is not known.
    Cut(Bound),
}

pub(super) struct Machine<'p> {
    pub program: Code<'p>,
    pub limits: &'p Limits,
    pub terms: Terms,
    /// Whether package variables have their initial values.
    pub closed: bool,
    /// What each name of the program means as a method of a library type, once somebody has asked.
    known: Vec<Cell<Option<Option<Known>>>>,
    /// Large constants that were taken for small ones as bounds of loops.
    pub large: FxHashSet<i64>,
    /// Instructions run so far.
    pub steps: u64,
    /// See [`Exploration::asks_unknown`](crate::explore::Exploration::asks_unknown).
    pub asks_unknown: bool,
    nobody: Rc<Process>,
}

impl<'p> Machine<'p> {
    pub fn new(program: Code<'p>, limits: &'p Limits, closed: bool) -> Machine<'p> {
        Machine {
            program,
            limits,
            terms: Terms::default(),
            closed,
            known: vec![Cell::new(None); program.names.len()],
            large: FxHashSet::default(),
            steps: 0,
            asks_unknown: false,
            nobody: Rc::new(Process {
                id: crate::explore::process::GoroutineId(0),
                started: Site::NONE,
                frames: Vec::new(),
                pending: None,
                unwinding: None,
            }),
        }
    }

    /// What a name means as a method of a library type.
    pub(super) fn known(&self, name: NameId) -> Option<Known> {
        let cell = &self.known[name.0 as usize];
        let known = cell.get().unwrap_or_else(|| Known::new(self.program.name(name)));
        cell.set(Some(known));
        known
    }

    /// Runs the goroutine at `index` to its next visible operation, or to its end: then it has
    /// neither frames nor an operation.
    pub fn run(&mut self, state: &mut State, index: usize) -> Result<(), Stop> {
        let mut shared = std::mem::replace(&mut state.processes[index], self.nobody.clone());
        let result = self.run_process(state, Rc::make_mut(&mut shared));
        state.processes[index] = shared;
        result
    }

    fn run_process(&mut self, state: &mut State, process: &mut Process) -> Result<(), Stop> {
        let mut budget = self.limits.instructions;
        // What is abandoned in each turn of a loop adds up.
        let end = self.steps + u64::from(budget) * 4;
        while process.pending.is_none() && !process.frames.is_empty() {
            if budget == 0 {
                if self.steps < end && self.abandon(state, process)? {
                    budget = self.limits.instructions / 4;
                    continue;
                }
                return Err(Stop::Cut(Bound::Instructions));
            }
            budget -= 1;
            self.steps += 1;
            let frame = process.frame();
            let result = if frame.mode == Mode::Leave {
                self.leave(state, process)
            } else {
                let op = self.program.func(frame.func).code[frame.pc as usize];
                frame.pc += 1;
                self.step(state, process, op)
            };
            match result {
                Ok(()) => {}
                Err(Stop::Decide(decisions)) => self.stop_to_decide(state, process, decisions)?,
                Err(Stop::Panic) => self.panic(state, process)?,
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    /// The instruction that just ran needs a decision. Where both ways meet without consequence,
    /// none is taken; functions that have nothing to do with goroutines are left instead.
    fn stop_to_decide(
        &mut self,
        state: &mut State,
        process: &mut Process,
        decisions: Vec<Decision>,
    ) -> Result<(), Stop> {
        let frame = process.frame();
        let func = self.program.func(frame.func);
        frame.pc -= 1;
        let pc = frame.pc;
        let flow = self.program.flow(func);
        let joins = &flow.joins;
        if let Ok(at) = joins.binary_search_by_key(&pc, |join| join.branch) {
            let join = &joins[at];
            frame.values.pop();
            frame.pc = join.at;
            for &slot in &join.assigned {
                let ty = func.vars[slot.0 as usize].ty;
                // A count that was forgotten must not be taken for one that anybody may have chosen.
                let unknown = match flow.counts.contains(slot) {
                    true => state.non_nil(ty),
                    false => state.unknown(ty),
                };
                process.frame().values[slot.0 as usize] = unknown;
            }
            return Ok(());
        }
        if self.abandon(state, process)? {
            return Ok(());
        }
        let at = Site { func: process.frame().func, pc };
        process.pending = Some(Pending::new(Operation::Decide(decisions), at, 0));
        Ok(())
    }

    /// Leaves the functions at the top that do not synchronise: their results are unknown, and
    /// what they were given escapes if they could change it. False if there is none.
    fn abandon(&mut self, state: &mut State, process: &mut Process) -> Result<bool, Stop> {
        let relevant = |frame: &Rc<Frame>| {
            let func = self.program.func(frame.func);
            let traits = func.traits;
            // What ranges over a channel receives from it, which no instruction says where the type is not
            // written.
            let has_channel = |value: &Value| {
                value.object().is_some_and(|id| {
                    let is_channel = matches!(state.heap.get(id), Object::Channel(_));
                    is_channel && !state.heap.is_external(id)
                })
            };
            let ranges = || frame.values.iter().take(func.vars.len()).any(has_channel);
            // What a library does when the function that it called has returned.
            let finishes = frame.defers.iter().any(|deferred| {
                deferred
                    .callee
                    .object()
                    .is_some_and(|id| matches!(state.heap.get(id), Object::Finish(..)))
            });
            traits.synchronises || frame.deferred || finishes || ranges()
        };
        let making = process.frames.first().is_some_and(|frame| frame.mode == Mode::Await);
        let keep = process.frames.iter().rposition(relevant).map_or(0, |at| at + 1);
        let keep = if making { keep.max(2) } else { keep };
        if keep == 0 || keep == process.frames.len() {
            return Ok(false);
        }
        if process.unwinding.is_some_and(|(_, depth)| depth >= keep) {
            return Ok(false);
        }
        let left: Vec<Rc<Frame>> = process.frames.drain(keep..).collect();
        let effects = left.iter().any(|frame| self.program.func(frame.func).traits.effects);
        if effects {
            for frame in &left {
                let func = self.program.func(frame.func);
                for &slot in func.params.iter().chain(&func.receiver) {
                    self.escape(state, frame.values[slot.0 as usize]);
                }
            }
        }
        let first = &left[0];
        let results = self.results_of(state, first.func);
        self.deliver(state, process, results, first.want);
        Ok(true)
    }

    /// Unknown results of a function that was not run.
    pub(super) fn results_of(
        &mut self,
        state: &mut State,
        func: crate::program::code::FuncId,
    ) -> Vec<Value> {
        let types = self.program.func(func).results.clone();
        types.into_iter().map(|ty| self.symbolic(state, ty)).collect()
    }

    /// As [`Machine::deliver`], for the goroutine at `index`.
    pub(super) fn deliver_to(
        &mut self,
        state: &mut State,
        index: usize,
        results: Vec<Value>,
        want: u8,
    ) {
        let mut process = std::mem::replace(&mut state.processes[index], self.nobody.clone());
        self.deliver(state, Rc::make_mut(&mut process), results, want);
        state.processes[index] = process;
    }

    /// Pushes `want` results for the frame that runs, unknown ones if there are too few.
    pub(super) fn deliver(
        &mut self,
        state: &mut State,
        process: &mut Process,
        results: Vec<Value>,
        want: u8,
    ) {
        let missing = (want as usize).saturating_sub(results.len());
        let Some(frame) = process.top() else { return };
        let is_unknown = results.is_empty();
        frame.values.extend(results.into_iter().take(want as usize));
        for _ in 0..missing {
            let unknown = state.unknown(TypeId::UNKNOWN);
            frame.values.push(unknown);
        }
        if is_unknown && missing > 1 {
            state.come_together(missing as u32);
        }
    }

    /// Go panics in the frame that runs. If nobody recovers the process ends.
    pub(super) fn panic(&mut self, state: &mut State, process: &mut Process) -> Result<(), Stop> {
        let recovers = |value: Value| {
            let func = match value {
                Value::Func(func) => Some(func),
                _ => value.object().and_then(|id| match state.heap.get(id) {
                    Object::Closure { func, .. } => Some(*func),
                    Object::Method { func, .. } => Some(*func),
                    _ => None,
                }),
            };
            func.is_some_and(|func| self.program.func(func).traits.recovers)
        };
        let recovered = process
            .frames
            .iter()
            .any(|frame| frame.defers.iter().any(|deferred| recovers(deferred.callee)));
        if !recovered {
            return Err(Stop::End);
        }
        unwind(process, Unwinding::Panic);
        Ok(())
    }

    /// A frame is done: its deferred calls, then its results.
    fn leave(&mut self, state: &mut State, process: &mut Process) -> Result<(), Stop> {
        let depth = process.frames.len() - 1;
        let frame = process.frame();
        if let Some(deferred) = frame.defers.pop() {
            let args = deferred.args.into_vec();
            let call = crate::explore::call::Call {
                callee: deferred.callee,
                args,
                spread: false,
                want: 0,
                deferred: true,
            };
            self.call(state, process, call)?;
            // What a deferred call waits for, it waits for where it was deferred.
            if let Some(pending) = &mut process.pending {
                pending.at = deferred.at;
            }
            return Ok(());
        }
        let func = self.program.func(frame.func);
        let named = !func.result_slots.is_empty();
        let slots: Vec<Value> =
            func.result_slots.iter().map(|slot| frame.values[slot.0 as usize]).collect();
        let mut results = std::mem::take(&mut frame.results);
        let want = frame.want;
        if named {
            results = slots.into_iter().map(|value| self.through_cell(state, value)).collect();
        }
        process.frames.pop();
        if let Some((how, at)) = process.unwinding
            && at == depth
        {
            match process.frames.len().checked_sub(1) {
                None if how == Unwinding::Panic => return Err(Stop::End),
                None => process.unwinding = None,
                Some(below) => {
                    process.unwinding = Some((how, below));
                    process.frame().mode = Mode::Leave;
                    process.frame().results.clear();
                }
            }
            return Ok(());
        }
        if process.frames.is_empty() {
            if process.id.0 == 0 {
                for value in results {
                    self.escape(state, value);
                }
            }
            return Ok(());
        }
        let frame = process.frame();
        match (frame.mode, self.program.func(frame.func).receiver) {
            (Mode::Await, Some(receiver)) => {
                frame.mode = Mode::Run;
                frame.values[receiver.0 as usize] = results.first().copied().unwrap_or(Value::Nil);
            }
            _ => self.deliver(state, process, results, want),
        }
        Ok(())
    }

    /// The value of a variable, which may live in a cell.
    pub(super) fn through_cell(&self, state: &State, value: Value) -> Value {
        match value {
            Value::Ref(id) => match state.heap.get(id) {
                Object::Cell(inner) => *inner,
                _ => value,
            },
            _ => value,
        }
    }

    /// Makes the goroutine wait for `operation`; its results go to the frame that runs.
    pub(super) fn wait(&self, process: &mut Process, operation: Operation, want: u8) {
        let at = process.site();
        process.pending = Some(Pending::new(operation, at, want));
    }

    /// A frame that begins to run `func`.
    pub(super) fn new_frame(&self, func: crate::program::code::FuncId, want: u8) -> Frame {
        let vars = self.program.func(func).vars.len();
        let mut values = Vec::with_capacity(vars + OPERANDS);
        values.resize(vars, Value::Nil);
        Frame {
            func,
            pc: 0,
            mode: Mode::Run,
            want,
            values,
            defers: Vec::new(),
            results: Vec::new(),
            deferred: false,
        }
    }
}

/// Leaves the frame that runs, and all below it unless somebody recovers.
pub(super) fn unwind(process: &mut Process, how: Unwinding) {
    let Some(top) = process.frames.len().checked_sub(1) else { return };
    process.unwinding = Some((how, top));
    let frame = process.frame();
    frame.mode = Mode::Leave;
    frame.results.clear();
}

impl Process {
    /// The frame that runs, of a goroutine that has one.
    pub(super) fn frame(&mut self) -> &mut Frame {
        self.top().expect("only a goroutine with frames runs code")
    }
}

impl Frame {
    /// Takes a value from the operand stack.
    pub(super) fn pop(&mut self) -> Value {
        self.values.pop().expect("the compiler balances the stack")
    }

    /// The value `back` places below the top of the stack.
    pub(super) fn peek(&self, back: usize) -> Value {
        self.values[self.values.len() - 1 - back]
    }

    pub(super) fn slot(&mut self, slot: Slot) -> &mut Value {
        &mut self.values[slot.0 as usize]
    }

    /// Takes the last `count` values, in order.
    pub(super) fn take(&mut self, count: usize) -> Vec<Value> {
        let at = self.values.len() - count;
        self.values.split_off(at)
    }
}
