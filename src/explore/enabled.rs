//! Which operations can happen in a state.

use crate::explore::machine::{Machine, Stop};
use crate::explore::object::{Clock, Object, OnceState};
use crate::explore::process::{GoroutineId, Operation, Pending};
use crate::explore::state::State;
use crate::explore::symbolic::COUNTS;
use crate::explore::transition::{Step, Way};
use crate::explore::value::{ObjectId, Value};
use crate::explore::{Calls, Misuse};

impl Machine<'_> {
    /// What the goroutine at `index` can do in `state`; nothing if it is blocked.
    pub(super) fn enabled(&mut self, state: &State, index: usize) -> Vec<Step> {
        let steps = self.enabled_by_others(state, index);
        match steps.is_empty() && self.limits.calls == Calls::Alone {
            true => come_true(state, index),
            false => steps,
        }
    }

    fn enabled_by_others(&mut self, state: &State, index: usize) -> Vec<Step> {
        let process = &state.processes[index];
        let Some(pending) = &process.pending else { return Vec::new() };
        match &pending.operation {
            Operation::Decide(decisions) => decisions.iter().map(|&d| Step::Decide(d)).collect(),
            Operation::Send { channel, .. } => self.ways(state, index, *channel, true, None),
            Operation::Receive { channel, .. } => self.ways(state, index, *channel, false, None),
            Operation::RangeReceive { channel, .. } => {
                let mut steps = self.ways(state, index, *channel, false, None);
                if steps.contains(&Step::Communicate(None, Way::External)) {
                    steps.push(Step::Communicate(None, Way::ExternalClosed));
                }
                steps
            }
            Operation::Select { cases, default, .. } => {
                let mut steps = Vec::new();
                for (at, (channel, value)) in cases.iter().enumerate() {
                    let case = Some(at as u32);
                    steps.extend(self.ways(state, index, *channel, value.is_some(), case));
                }
                // A partner that is there may not yet have arrived; what a channel holds is there.
                let has_settled = |id: GoroutineId| {
                    let pending = state.process(id).map(|index| &state.processes[index].pending);
                    matches!(pending, Some(Some(pending)) if pending.settled)
                };
                let must = |step: &Step| match *step {
                    Step::Communicate(_, Way::Rendezvous(with, _)) => has_settled(with),
                    Step::Communicate(_, way) => matches!(way, Way::Buffer | Way::Closed),
                    _ => true,
                };
                let is_awaited = || self.is_awaited_by(state, index, |pending| pending.settled);
                if *default && !steps.iter().any(must) && !is_awaited() {
                    steps.push(Step::Default);
                }
                steps
            }
            Operation::Close(channel) => vec![match channel {
                Value::Nil => Step::Misuse(Misuse::CloseOfNil),
                Value::Ref(id) if !state.heap.is_external(*id) => match state.heap.get(*id) {
                    Object::Channel(channel) if channel.closed => {
                        Step::Misuse(Misuse::CloseOfClosed)
                    }
                    _ => Step::Act,
                },
                _ => Step::Act,
            }],
            &Operation::Lock(id) => match state.heap.get(id) {
                Object::Mutex(Some(_)) => Vec::new(),
                _ => vec![Step::Act],
            },
            &Operation::WriteLock(id) => match state.heap.get(id) {
                Object::RwMutex { writer: None, readers, .. } if readers.is_empty() => {
                    vec![Step::Act]
                }
                _ => Vec::new(),
            },
            &Operation::RLock(id) => match state.heap.get(id) {
                Object::RwMutex { writer: None, waiting: 0, .. } | Object::Mutex(None) => {
                    vec![Step::Act]
                }
                _ => Vec::new(),
            },
            &Operation::Unlock(id) => vec![match state.heap.get(id) {
                Object::Mutex(None) | Object::RwMutex { writer: None, .. }
                    if !state.heap.is_external(id) =>
                {
                    Step::Misuse(Misuse::UnlockOfUnlocked)
                }
                _ => Step::Act,
            }],
            &Operation::RUnlock(id) => vec![match state.heap.get(id) {
                Object::RwMutex { readers, .. }
                    if readers.is_empty() && !state.heap.is_external(id) =>
                {
                    Step::Misuse(Misuse::UnlockOfUnlocked)
                }
                _ => Step::Act,
            }],
            &Operation::Add(id, delta) => self.enabled_add(state, id, delta),
            &Operation::Wait { group, .. } => match state.heap.get(group) {
                Object::WaitGroup { count, .. } if *count > 0 && !state.heap.is_external(group) => {
                    Vec::new()
                }
                _ => vec![Step::Act],
            },
            &Operation::GroupDone(id, error) => match state.heap.get(id) {
                // Only the first error is kept, and cancels.
                Object::Group { error: Value::Nil, .. } => {
                    match self.equal(state, error, Value::Nil) {
                        Some(true) => vec![Step::Act],
                        Some(false) => vec![Step::Fail],
                        None => vec![Step::Act, Step::Fail],
                    }
                }
                _ => vec![Step::Act],
            },
            &Operation::OnceDo(id, _) => match state.heap.get(id) {
                Object::Once(OnceState::Running) => Vec::new(),
                _ => vec![Step::Act],
            },
            &Operation::CondSleep(id) => {
                if state.heap.is_external(id) {
                    vec![Step::Act]
                } else {
                    Vec::new()
                }
            }
            &Operation::StopTimer(id) => match state.heap.get(id) {
                &Object::Timer { channel, periodic: false, .. } => match state.heap.get(channel) {
                    Object::Channel(channel) if channel.clock == Clock::Once => {
                        vec![Step::Stop(true), Step::Stop(false)]
                    }
                    _ => vec![Step::Act],
                },
                _ => vec![Step::Act],
            },
            Operation::Acquire { semaphore, weight, context } => {
                self.enabled_acquire(state, *semaphore, *weight, *context)
            }
            Operation::OnceDone(_)
            | Operation::CondWait(_)
            | Operation::Signal { .. }
            | Operation::Cancel(_)
            | Operation::TryLock(_)
            | Operation::Release(..)
            | Operation::Atomic { .. }
            | Operation::Yield
            | Operation::Sleep
            | Operation::Started => vec![Step::Act],
        }
    }

    fn enabled_add(&mut self, state: &State, id: ObjectId, delta: Value) -> Vec<Step> {
        let delta = if self.is_integer(delta) {
            match self.integer(state, delta, COUNTS) {
                Ok(delta) => delta,
                Err(Stop::Decide(decisions)) => {
                    return decisions.into_iter().map(Step::Decide).collect();
                }
                Err(_) => return vec![Step::Act],
            }
        } else {
            return vec![Step::Act];
        };
        match state.heap.get(id) {
            &Object::WaitGroup { count, exact, shrunk }
                if exact
                    && shrunk.is_none()
                    && count + delta < 0
                    && !state.heap.is_external(id) =>
            {
                vec![Step::Misuse(Misuse::NegativeCounter)]
            }
            _ => vec![Step::Act],
        }
    }

    fn enabled_acquire(
        &mut self,
        state: &State,
        id: ObjectId,
        weight: Value,
        context: Value,
    ) -> Vec<Step> {
        let Object::Semaphore { free } = state.heap.get(id) else { return vec![Step::Act] };
        let fits = match weight {
            Value::Int(weight) => weight <= *free,
            _ => true,
        };
        if fits || state.heap.is_external(id) {
            return vec![Step::Act];
        }
        // It also returns, with an error, when the context ends.
        let ends = match context {
            Value::Ref(context) => match state.heap.get(context) {
                &Object::Context { done, .. } => match state.heap.get(done) {
                    Object::Channel(channel) => {
                        channel.closed
                            || channel.clock != Clock::None
                            || state.heap.is_external(done)
                    }
                    _ => true,
                },
                _ => true,
            },
            _ => true,
        };
        if ends { vec![Step::Fail] } else { Vec::new() }
    }

    /// The ways in which a communication on `channel` can happen now. A rendezvous belongs to its
    /// sender.
    fn ways(
        &self,
        state: &State,
        index: usize,
        channel: Value,
        send: bool,
        case: Option<u32>,
    ) -> Vec<Step> {
        let way = |way| Step::Communicate(case, way);
        let id = match channel {
            Value::Nil => return Vec::new(),
            Value::Ref(id) => id,
            _ if !send && self.has_ended(state, channel) => return vec![way(Way::Closed)],
            _ => return vec![way(Way::External)],
        };
        let Object::Channel(object) = state.heap.get(id) else {
            return vec![way(Way::External)];
        };
        if state.heap.is_external(id) {
            let is_closed = !send && object.of_context && object.closed;
            return vec![way(if is_closed { Way::Closed } else { Way::External })];
        }
        let mut steps = Vec::new();
        if !send {
            if !object.buffer.is_empty() {
                steps.push(way(Way::Buffer));
            } else if object.closed {
                steps.push(way(Way::Closed));
            } else if object.clock != Clock::None {
                steps.push(way(Way::Clock));
            }
            return steps;
        }
        if object.closed {
            return vec![Step::Misuse(Misuse::SendOnClosed)];
        }
        if object.buffer.len() < object.capacity as usize {
            return vec![way(Way::Buffer)];
        }
        for (at, other) in state.processes.iter().enumerate() {
            if at == index {
                continue;
            }
            let Some(pending) = &other.pending else { continue };
            match &pending.operation {
                Operation::Receive { channel: of, .. }
                | Operation::RangeReceive { channel: of, .. }
                    if *of == channel =>
                {
                    steps.push(way(Way::Rendezvous(other.id, None)));
                }
                Operation::Select { cases, .. } => {
                    for (at, (of, value)) in cases.iter().enumerate() {
                        if value.is_none() && *of == channel {
                            steps.push(way(Way::Rendezvous(other.id, Some(at as u32))));
                        }
                    }
                }
                _ => {}
            }
        }
        steps
    }

    /// Whether somebody waits to send to the goroutine at `index`: then its receive can happen,
    /// though the step is the sender's.
    pub(super) fn is_awaited(&self, state: &State, index: usize) -> bool {
        self.is_awaited_by(state, index, |_| true)
    }

    fn is_awaited_by(&self, state: &State, index: usize, counts: fn(&Pending) -> bool) -> bool {
        let receiver = &state.processes[index];
        let Some(pending) = &receiver.pending else { return false };
        let receives = |channel: Value| match &pending.operation {
            Operation::Receive { channel: of, .. }
            | Operation::RangeReceive { channel: of, .. } => *of == channel,
            Operation::Select { cases, .. } => {
                cases.iter().any(|&(of, value)| value.is_none() && of == channel)
            }
            _ => false,
        };
        state.processes.iter().enumerate().any(|(at, other)| {
            let Some(pending) = &other.pending else { return false };
            at != index
                && counts(pending)
                && match &pending.operation {
                    Operation::Send { channel, .. } => receives(*channel),
                    Operation::Select { cases, .. } => {
                        cases.iter().any(|&(of, value)| value.is_some() && receives(of))
                    }
                    _ => false,
                }
        })
    }
}

/// What the goroutine at `index` does when that comes which it waits for, unless it waits for a lock.
fn come_true(state: &State, index: usize) -> Vec<Step> {
    let Some(pending) = &state.processes[index].pending else { return Vec::new() };
    let come = |case| Step::Communicate(case, Way::External);
    match &pending.operation {
        Operation::Send { channel, .. }
        | Operation::Receive { channel, .. }
        | Operation::RangeReceive { channel, .. }
            if *channel != Value::Nil =>
        {
            vec![come(None)]
        }
        Operation::Select { cases, .. } => {
            let cases = cases.iter().zip(0..).filter(|((channel, _), _)| *channel != Value::Nil);
            cases.map(|(_, case)| come(Some(case))).collect()
        }
        Operation::Wait { .. } | Operation::CondSleep(_) => vec![Step::Act],
        _ => Vec::new(),
    }
}
