//! What goroutines can do to each other: which operations can happen in a state, and what the
//! state is afterwards.

use std::rc::Rc;

use crate::explore::call::Call;
use crate::explore::machine::{Machine, Stop};
use crate::explore::object::{Clock, Finish, Held, Object, OnceState};
use crate::explore::process::{AtomicOp, Decision, GoroutineId, Operation, Pending, Process};
use crate::explore::state::State;
use crate::explore::symbolic::{COUNTS, shrink};
use crate::explore::value::{ObjectId, Value};
use crate::explore::{Misuse, Site};
use crate::program::code::Operator;
use crate::program::types::TypeId;

/// How a communication happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With code that is not explored.
    External,
    /// Code that is not explored has closed the channel.
    ExternalClosed,
    /// Through the buffer.
    Buffer,
    /// A receive from a closed channel.
    Closed,
    /// A timer has fired, or a deadline has passed.
    Clock,
    /// With a goroutine that waits: in this case of its select.
    Rendezvous(GoroutineId, Option<u32>),
}

/// One thing that a goroutine can do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Decide(Decision),
    /// The communication, or this case of the select.
    Communicate(Option<u32>, Way),
    Default,
    /// The operation itself, where there is but one way to do it.
    Act,
    /// A goroutine of a group ends with an error, so that the group's context is cancelled.
    Fail,
    /// Whether a timer was stopped before it fired.
    Stop(bool),
    /// Go panics: what the operation does is wrong in this state.
    Misuse(Misuse),
}

impl Machine<'_> {
    /// Does `step` of the goroutine at `index`.
    pub(super) fn apply(
        &mut self,
        state: &mut State,
        index: usize,
        step: Step,
    ) -> Result<(), Stop> {
        let id = state.processes[index].id;
        match step {
            Step::Decide(decision) => {
                if !self.decide(state, decision) {
                    return Err(Stop::End);
                }
                let process = Rc::make_mut(&mut state.processes[index]);
                if let Some(pending) = &process.pending
                    && matches!(pending.operation, Operation::Decide(_))
                {
                    process.pending = None;
                }
                Ok(())
            }
            Step::Misuse(_) => {
                if self.recover_misuse(state, index) {
                    Ok(())
                } else {
                    Err(Stop::End)
                }
            }
            Step::Communicate(case, way) => self.communicate(state, index, case, way),
            Step::Default => {
                let process = Rc::make_mut(&mut state.processes[index]);
                let Some(pending) = process.pending.take() else { return Ok(()) };
                if let Operation::Select { table, .. } = pending.operation {
                    let frame = process.frame();
                    let table = &self.program.func(frame.func).selects[table as usize];
                    frame.pc = table.default.unwrap_or(frame.pc);
                }
                Ok(())
            }
            Step::Act | Step::Fail | Step::Stop(_) => self.act(state, id, step),
        }
    }

    /// A panic of the operation that the goroutine at `index` waits for: true if it is recovered.
    fn recover_misuse(&mut self, state: &mut State, index: usize) -> bool {
        let mut process = (*state.processes[index]).clone();
        process.pending = None;
        if process.frames.is_empty() || self.panic(state, &mut process).is_err() {
            return false;
        }
        state.processes[index] = Rc::new(process);
        true
    }

    fn communicate(
        &mut self,
        state: &mut State,
        index: usize,
        case: Option<u32>,
        way: Way,
    ) -> Result<(), Stop> {
        let Some(pending) = &state.processes[index].pending else { return Ok(()) };
        let (channel, value) = match (&pending.operation, case) {
            (Operation::Send { channel, value }, _) => (*channel, Some(*value)),
            (Operation::Receive { channel, .. } | Operation::RangeReceive { channel, .. }, _) => {
                (*channel, None)
            }
            (Operation::Select { cases, .. }, Some(case)) => cases[case as usize],
            _ => return Ok(()),
        };
        match (way, value) {
            (Way::External, Some(value)) => {
                self.escape(state, value);
                self.sent(state, index, case);
            }
            (Way::External, None) => {
                self.end(state, channel);
                let value = state.unknown(TypeId::UNKNOWN);
                let ok = state.unknown(TypeId::BOOL);
                state.is_unlikely(ok);
                self.received(state, index, case, value, ok);
            }
            (Way::ExternalClosed, _) | (Way::Closed, None) => {
                let nothing = Value::Nil;
                self.received(state, index, case, nothing, Value::Bool(false));
            }
            (Way::Clock, None) => {
                self.end(state, channel);
                if let Some(id) = channel.object()
                    && let Object::Channel(channel) = state.heap.get_mut(id)
                    && channel.clock == Clock::Once
                {
                    channel.clock = Clock::None;
                }
                let value = state.unknown(TypeId::UNKNOWN);
                self.received(state, index, case, value, Value::Bool(true));
            }
            (Way::Buffer, Some(value)) => {
                if let Some(id) = channel.object()
                    && let Object::Channel(channel) = state.heap.get_mut(id)
                {
                    channel.buffer.push(value);
                }
                self.sent(state, index, case);
            }
            (Way::Buffer, None) => {
                let mut value = Value::Nil;
                if let Some(id) = channel.object()
                    && let Object::Channel(channel) = state.heap.get_mut(id)
                {
                    value = channel.buffer.remove(0);
                }
                self.received(state, index, case, value, Value::Bool(true));
            }
            (Way::Rendezvous(with, their), Some(value)) => {
                let Some(other) = state.process(with) else { return Ok(()) };
                self.sent(state, index, case);
                self.received(state, other, their, value, Value::Bool(true));
            }
            _ => {}
        }
        Ok(())
    }

    /// The goroutine at `index` has sent: it goes on behind the statement, or in its case.
    fn sent(&self, state: &mut State, index: usize, case: Option<u32>) {
        let process = Rc::make_mut(&mut state.processes[index]);
        let Some(pending) = process.pending.take() else { return };
        if let (Operation::Select { table, .. }, Some(case)) = (pending.operation, case) {
            let frame = process.frame();
            let table = &self.program.func(frame.func).selects[table as usize];
            frame.pc = table.cases[case as usize].target;
        }
    }

    /// The goroutine at `index` has received `value`.
    fn received(
        &self,
        state: &mut State,
        index: usize,
        case: Option<u32>,
        value: Value,
        ok: Value,
    ) {
        let process = Rc::make_mut(&mut state.processes[index]);
        let Some(pending) = process.pending.take() else { return };
        let Some(frame) = process.top() else { return };
        match pending.operation {
            Operation::Receive { comma_ok, .. } => {
                frame.values.push(value);
                if comma_ok {
                    frame.values.push(ok);
                }
            }
            Operation::RangeReceive { exit, .. } => {
                if ok == Value::Bool(false) {
                    frame.pc = exit;
                } else {
                    frame.values.push(value);
                    frame.values.push(Value::Nil);
                }
            }
            Operation::Select { table, .. } => {
                frame.values.push(value);
                frame.values.push(ok);
                if let Some(case) = case {
                    let table = &self.program.func(frame.func).selects[table as usize];
                    frame.pc = table.cases[case as usize].target;
                }
            }
            _ => {}
        }
    }

    /// Where a goroutine does what it does at `at`, as its reader sees it: a method that does no more than to take
    /// a lock does so for its caller.
    pub(super) fn for_caller(&self, process: &Process, at: Site) -> Site {
        if !self.program.func(at.func).traits.locks {
            return at;
        }
        let caller = process.frames.iter().rev().nth(1);
        caller.map_or(at, |frame| Site { func: frame.func, pc: frame.pc.saturating_sub(1) })
    }

    /// The operations on everything but channels.
    fn act(&mut self, state: &mut State, id: GoroutineId, step: Step) -> Result<(), Stop> {
        let Some(index) = state.process(id) else { return Ok(()) };
        let process = Rc::make_mut(&mut state.processes[index]);
        let Some(pending) = process.pending.take() else { return Ok(()) };
        let (at, want) = (pending.at, pending.want);
        let held = Held { by: id, at: self.for_caller(process, at) };
        let mut results = Vec::new();
        match pending.operation {
            Operation::Sleep => {
                // Whoever has room for a value sends it while somebody sleeps.
                let sends = |at: &usize| {
                    let pending = state.processes[*at].pending.as_ref();
                    pending.is_some_and(|it| matches!(it.operation, Operation::Send { .. }))
                };
                let mut senders = (0..state.processes.len()).filter(sends);
                state.doubts.overslept |= senders.any(|at| !self.enabled(state, at).is_empty());
                let mut others = (0..state.processes.len()).filter(|&at| at != index);
                state.doubts.hurried |= others.any(|at| !self.enabled(state, at).is_empty());
                for process in &mut state.processes {
                    if process.pending.as_ref().is_some_and(|pending| !pending.settled)
                        && let Some(pending) = &mut Rc::make_mut(process).pending
                    {
                        pending.settled = true;
                    }
                }
            }
            Operation::Close(channel) => {
                if let Some(id) = channel.object()
                    && !state.heap.is_external(id)
                    && let Object::Channel(channel) = state.heap.get_mut(id)
                {
                    channel.closed = true;
                }
            }
            Operation::Lock(lock) => match state.heap.get_mut(lock) {
                Object::Mutex(owner) => *owner = Some(held),
                Object::RwMutex { waiting, .. } => {
                    *waiting += 1;
                    let process = Rc::make_mut(&mut state.processes[index]);
                    let operation = Operation::WriteLock(lock);
                    process.pending = Some(Pending::new(operation, at, want));
                    return Ok(());
                }
                _ => {}
            },
            Operation::WriteLock(lock) => {
                if let Object::RwMutex { writer, waiting, .. } = state.heap.get_mut(lock) {
                    *writer = Some(held);
                    *waiting = waiting.saturating_sub(1);
                }
            }
            Operation::RLock(lock) => match state.heap.get_mut(lock) {
                Object::RwMutex { readers, .. } => {
                    readers.push(held);
                    readers.sort_by_key(|held| held.by);
                }
                Object::Mutex(owner) => *owner = Some(held),
                _ => {}
            },
            Operation::TryLock(lock) => {
                let taken = match state.heap.get_mut(lock) {
                    Object::Mutex(owner @ None) => {
                        *owner = Some(held);
                        true
                    }
                    Object::RwMutex { writer: writer @ None, readers, waiting: 0 }
                        if readers.is_empty() =>
                    {
                        *writer = Some(held);
                        true
                    }
                    _ => false,
                };
                results.push(Value::Bool(taken));
            }
            // Who gives back what nobody here has taken was called with the lock held.
            Operation::Unlock(lock) | Operation::RUnlock(lock) if is_free(state, lock) => {
                *state.heap.get_mut(lock) = Object::OpenLock;
            }
            Operation::Unlock(lock) => match state.heap.get_mut(lock) {
                Object::Mutex(owner) => *owner = None,
                Object::RwMutex { writer, .. } => *writer = None,
                _ => {}
            },
            Operation::RUnlock(lock) => {
                if let Object::RwMutex { readers, .. } = state.heap.get_mut(lock) {
                    let own = readers.iter().rposition(|held| held.by == id);
                    match own {
                        Some(own) => {
                            readers.remove(own);
                        }
                        None => {
                            readers.pop();
                        }
                    }
                }
            }
            Operation::Add(group, delta) => self.add(state, group, delta),
            // Whoever passes a counter that is not exact may do so too early.
            Operation::Wait { group, of: None } => {
                state.doubts.inexact |= self.is_inexact(state, group);
            }
            Operation::Wait { of: Some(of), .. } => {
                if let &Object::Group { context: Some(context), .. } = state.heap.get(of) {
                    self.cancel(state, context, None);
                }
                results.push(match state.heap.get(of) {
                    &Object::Group { error, .. } if !state.heap.is_external(of) => error,
                    _ => state.unknown(TypeId::ERROR),
                });
            }
            Operation::GroupDone(group, returned) => {
                if let &Object::Group { wait, context, .. } = state.heap.get(group) {
                    self.add(state, wait, Value::Int(-1));
                    if step == Step::Fail {
                        let first = match self.equal(state, returned, Value::Nil) {
                            Some(false) => returned,
                            _ => state.non_nil(TypeId::ERROR),
                        };
                        if let Object::Group { error, .. } = state.heap.get_mut(group) {
                            *error = first;
                        }
                        if let Some(context) = context {
                            self.cancel(state, context, None);
                        }
                    }
                }
            }
            Operation::OnceDo(once, callee) => return self.once(state, index, once, callee, want),
            Operation::OnceDone(once) => *state.heap.get_mut(once) = Object::Once(OnceState::Done),
            Operation::CondWait(cond) => {
                if let Object::Cond { waiters, .. } = state.heap.get_mut(cond) {
                    waiters.push(id);
                }
                self.unlock_locker(state, cond, id);
                let process = Rc::make_mut(&mut state.processes[index]);
                let operation = Operation::CondSleep(cond);
                process.pending = Some(Pending::new(operation, at, want));
                return Ok(());
            }
            Operation::CondSleep(cond) => {
                self.wake(state, index, cond, at, want);
                return Ok(());
            }
            Operation::Signal { cond, all } => self.signal(state, cond, all),
            Operation::Cancel(context) => self.cancel(state, context, None),
            Operation::Acquire { semaphore, weight, .. } => {
                let error = match step {
                    Step::Fail => state.non_nil(TypeId::ERROR),
                    _ => {
                        if let (Object::Semaphore { free }, Value::Int(weight)) =
                            (state.heap.get_mut(semaphore), weight)
                        {
                            *free -= weight;
                        }
                        Value::Nil
                    }
                };
                results.push(error);
            }
            Operation::Release(semaphore, weight) => {
                if let (Object::Semaphore { free }, Value::Int(weight)) =
                    (state.heap.get_mut(semaphore), weight)
                {
                    *free += weight;
                }
            }
            Operation::StopTimer(timer) => {
                let before = step == Step::Stop(true);
                self.stop_timer(state, timer, before, at);
                results.push(Value::Bool(before));
            }
            Operation::Atomic { op, target, args } => {
                results.extend(self.atomic_access(state, op, target, args)?);
            }
            _ => {}
        }
        self.deliver_to(state, index, results, want);
        Ok(())
    }

    /// Whether a count is not known well enough to rely on. Of a group from outside only what was counted
    /// here is known: who counts it down elsewhere is not.
    pub(super) fn is_inexact(&self, state: &State, id: ObjectId) -> bool {
        match state.heap.get(id) {
            Object::WaitGroup { exact, shrunk, count } => {
                !exact
                    || shrunk.is_some_and(|count| !self.large.contains(&count))
                    || *count > 0 && state.heap.is_external(id)
            }
            _ => false,
        }
    }

    fn add(&mut self, state: &mut State, group: ObjectId, delta: Value) {
        let delta = match delta {
            delta if self.is_integer(delta) => self.integer(state, delta, COUNTS).ok(),
            _ => None,
        };
        let Object::WaitGroup { count, shrunk, exact } = state.heap.get_mut(group) else { return };
        match delta {
            Some(delta) => {
                let (small, cut) = shrink(delta);
                if cut {
                    *shrunk = Some(delta);
                }
                *count += small;
            }
            None => *exact = false,
        }
    }

    /// Runs the function of a `Once`, which is done when it returns.
    fn once(
        &mut self,
        state: &mut State,
        index: usize,
        once: ObjectId,
        callee: Value,
        want: u8,
    ) -> Result<(), Stop> {
        let mut shared = state.processes[index].clone();
        let process = Rc::make_mut(&mut shared);
        let result = if matches!(state.heap.get(once), Object::Once(OnceState::Done)) {
            self.deliver(state, process, Vec::new(), want);
            Ok(())
        } else {
            *state.heap.get_mut(once) = Object::Once(OnceState::Running);
            self.run_once(state, process, once, callee, want)
        };
        state.processes[index] = shared;
        result
    }

    fn run_once(
        &mut self,
        state: &mut State,
        process: &mut Process,
        once: ObjectId,
        callee: Value,
        want: u8,
    ) -> Result<(), Stop> {
        let at = process.site();
        let depth = process.frames.len();
        self.deliver(state, process, Vec::new(), want);
        let call = Call { callee, args: Vec::new(), spread: false, want: 0, deferred: false };
        match self.call(state, process, call) {
            Err(Stop::Panic) => return self.panic(state, process),
            other => other?,
        }
        if process.frames.len() > depth {
            let done = Value::Ref(state.add(Object::Finish(Finish::Once, once), None));
            return self.call_at_end(state, process, done, at);
        }
        // Not a function of the package: it has returned.
        if let Object::Once(running) = state.heap.get_mut(once) {
            *running = OnceState::Done;
        }
        Ok(())
    }

    fn unlock_locker(&mut self, state: &mut State, cond: ObjectId, by: GoroutineId) {
        let Object::Cond { locker, .. } = state.heap.get(cond) else { return };
        let Some(lock) = locker.object() else { return };
        let lock = self.lock_of(state, lock);
        match state.heap.get_mut(lock) {
            Object::Mutex(owner) => *owner = None,
            Object::RwMutex { writer, readers, .. } => {
                if writer.is_some() {
                    *writer = None;
                } else if let Some(own) = readers.iter().rposition(|held| held.by == by) {
                    readers.remove(own);
                }
            }
            // Its methods are not run.
            _ => state.doubts.inexact = true,
        }
    }

    /// The lock that `id` is, or embeds.
    fn lock_of(&self, state: &State, id: ObjectId) -> ObjectId {
        if let Object::Struct { fields, .. } = state.heap.get(id) {
            for &(_, value) in fields {
                if let Value::Struct(inner) = value
                    && matches!(state.heap.get(inner), Object::Mutex(_) | Object::RwMutex { .. })
                {
                    return inner;
                }
            }
        }
        id
    }

    fn signal(&mut self, state: &mut State, cond: ObjectId, all: bool) {
        let Object::Cond { waiters, .. } = state.heap.get_mut(cond) else { return };
        let count = if all { waiters.len() } else { waiters.len().min(1) };
        let woken: Vec<GoroutineId> = waiters.drain(..count).collect();
        for id in woken {
            let Some(index) = state.process(id) else { continue };
            let Some(pending) = &state.processes[index].pending else { continue };
            if let Operation::CondSleep(of) = pending.operation
                && of == cond
            {
                let (at, want) = (pending.at, pending.want);
                self.wake(state, index, cond, at, want);
            }
        }
    }

    /// A goroutine that slept on a condition takes its lock again.
    fn wake(&mut self, state: &mut State, index: usize, cond: ObjectId, at: Site, want: u8) {
        let lock = match state.heap.get(cond) {
            Object::Cond { locker, .. } => locker.object().map(|lock| self.lock_of(state, lock)),
            _ => None,
        };
        let process = Rc::make_mut(&mut state.processes[index]);
        process.pending = lock.map(|lock| Pending::new(Operation::Lock(lock), at, want));
    }

    fn stop_timer(&mut self, state: &mut State, timer: ObjectId, before: bool, at: Site) {
        let &Object::Timer { channel, callback, .. } = state.heap.get(timer) else { return };
        let value = state.non_nil(TypeId::UNKNOWN);
        if let Object::Channel(channel) = state.heap.get_mut(channel) {
            if !before && channel.clock == Clock::Once && channel.buffer.is_empty() && !callback {
                channel.buffer.push(value);
            }
            channel.clock = Clock::None;
            channel.stopped = Some(at);
        }
    }

    fn atomic_access(
        &mut self,
        state: &mut State,
        op: AtomicOp,
        target: Value,
        args: [Value; 2],
    ) -> Result<Option<Value>, Stop> {
        let place = match target {
            Value::Ref(id) | Value::Struct(id) => match state.heap.get(id) {
                Object::Atomic(value) if !state.heap.is_external(id) => Some(*value),
                Object::Atomic(_) => None,
                _ => Some(self.load(state, target)),
            },
            Value::FieldRef(..) | Value::ElementRef(..) => Some(self.load(state, target)),
            _ => None,
        };
        let old = place.unwrap_or_else(|| state.unknown(TypeId::UNKNOWN));
        let (new, result) = match op {
            AtomicOp::Load => (None, Some(old)),
            AtomicOp::Store => (Some(args[0]), None),
            AtomicOp::Swap => (Some(args[0]), Some(old)),
            AtomicOp::Add => {
                let sum = self.binary(state, Operator::Add, old, args[0])?;
                (Some(sum), Some(sum))
            }
            AtomicOp::CompareAndSwap => match self.equal(state, old, args[0]) {
                Some(true) => (Some(args[1]), Some(Value::Bool(true))),
                Some(false) => (None, Some(Value::Bool(false))),
                None => {
                    let unknown = state.unknown(TypeId::UNKNOWN);
                    (Some(unknown), Some(state.unknown(TypeId::BOOL)))
                }
            },
        };
        if let Some(new) = new {
            match target {
                Value::Ref(id) | Value::Struct(id)
                    if matches!(state.heap.get(id), Object::Atomic(_)) =>
                {
                    if state.heap.is_external(id) {
                        self.escape(state, new);
                    } else {
                        *state.heap.get_mut(id) = Object::Atomic(new);
                    }
                }
                _ => self.store(state, target, new)?,
            }
        }
        Ok(result)
    }

    /// Runs every goroutine that can go on by itself, and forgets those that have ended.
    pub(super) fn settle(&mut self, state: &mut State) -> Result<(), Stop> {
        let mut index = 0;
        while index < state.processes.len() {
            if state.processes[index].pending.is_none() {
                self.run(state, index)?;
            }
            index += 1;
        }
        state.processes.retain(|process| process.pending.is_some());
        Ok(())
    }
}

/// Whether nobody is known to hold the lock.
fn is_free(state: &State, lock: ObjectId) -> bool {
    match state.heap.get(lock) {
        Object::Mutex(owner) => owner.is_none(),
        Object::RwMutex { writer, readers, .. } => writer.is_none() && readers.is_empty(),
        _ => false,
    }
}
