//! Partial-order reduction: where the next operation of one goroutine cannot matter to any other,
//! that goroutine goes first and no other order is tried.
//!
//! An operation on an object that nobody else can reach is such a one: *nobody* includes the
//! package variables, through which a goroutine that is yet to be started may reach it. So are
//! operations that only ever enable others: giving back a lock and counting a WaitGroup down.

use crate::explore::code::Code;
use crate::explore::key::live;
use crate::explore::machine::Machine;
use crate::explore::object::Object;
use crate::explore::process::{Operation, Process};
use crate::explore::state::State;
use crate::explore::transition::Step;
use crate::explore::value::{ObjectId, Value};

/// The index of a goroutine that may go alone, if there is one.
pub(super) fn alone(machine: &Machine<'_>, state: &State, enabled: &[Vec<Step>]) -> Option<usize> {
    let pending = |index: usize| state.processes[index].pending.as_ref().map(|p| &p.operation);
    let decides = |index: &usize| {
        matches!(pending(*index), Some(Operation::Decide(_)))
            || matches!(enabled[*index][..], [Step::Decide(_), ..])
    };
    if let Some(index) = (0..enabled.len()).find(decides) {
        return Some(index);
    }
    if enabled.len() < 2 {
        return None;
    }
    let mut reach = Reach { program: machine.program, state, sets: vec![None; enabled.len() + 1] };
    (0..enabled.len()).find(|&index| {
        if enabled[index].is_empty() || matches!(enabled[index][..], [Step::Misuse(_)]) {
            return false;
        }
        match pending(index) {
            Some(operation) => is_alone(&mut reach, index, operation),
            None => false,
        }
    })
}

fn is_alone(reach: &mut Reach<'_>, index: usize, operation: &Operation) -> bool {
    let state = reach.state;
    let objects: Vec<ObjectId> = match operation {
        Operation::Yield => return true,
        // Those that wait for the lock are blocked until it is given back. A try would see a
        // difference, but its answer is unknown anyway.
        Operation::Unlock(_) | Operation::RUnlock(_) | Operation::OnceDone(_) => return true,
        Operation::Add(_, Value::Int(delta)) if *delta < 0 => return true,
        Operation::Send { channel, .. }
        | Operation::Receive { channel, .. }
        | Operation::RangeReceive { channel, .. } => {
            // Code that is not explored is always ready.
            return match channel {
                Value::Ref(id) => state.heap.is_external(*id),
                Value::Nil => false,
                _ => true,
            };
        }
        Operation::Close(channel) => match channel {
            Value::Ref(id) if state.heap.is_external(*id) => return true,
            Value::Ref(id) => vec![*id],
            _ => return true,
        },
        Operation::Lock(id)
        | Operation::WriteLock(id)
        | Operation::RLock(id)
        | Operation::Add(id, _)
        | Operation::Wait { group: id, .. }
        | Operation::OnceDo(id, _)
        | Operation::CondWait(id)
        | Operation::Signal { cond: id, .. }
        | Operation::Acquire { semaphore: id, .. }
        | Operation::Release(id, _) => vec![*id],
        _ => return false,
    };
    let opened = |&id: &ObjectId| {
        state.heap.is_external(id)
            && matches!(
                state.heap.get(id),
                Object::Channel(_) | Object::WaitGroup { .. } | Object::Cond { .. }
            )
    };
    if objects.iter().all(opened) {
        return true;
    }
    !objects.iter().any(|&id| reach.by_others(index, id))
}

/// Which objects each goroutine, and the package variables, can reach.
struct Reach<'a> {
    program: Code<'a>,
    state: &'a State,
    /// By goroutine; the package variables come last.
    sets: Vec<Option<Vec<bool>>>,
}

impl Reach<'_> {
    fn by_others(&mut self, index: usize, id: ObjectId) -> bool {
        (0..self.sets.len()).rev().any(|at| at != index && self.reaches(at, id))
    }

    fn reaches(&mut self, at: usize, id: ObjectId) -> bool {
        if self.sets[at].is_none() {
            let mut work = Vec::new();
            match self.state.processes.get(at) {
                Some(process) => self.roots(process, &mut work),
                None => {
                    let globals = self.state.globals.iter();
                    work.extend(globals.filter_map(|&(_, value)| value.object()));
                }
            }
            self.sets[at] = Some(self.closure(work));
        }
        self.sets[at].as_ref().is_some_and(|set| set[id.0 as usize])
    }

    fn roots(&self, process: &Process, work: &mut Vec<ObjectId>) {
        let mut add = |value: Value| work.extend(value.object());
        for frame in &process.frames {
            let func = self.program.func(frame.func);
            live(self.program.all(), func, frame).for_each(|(_, &value)| add(value));
            frame.values.iter().skip(func.vars.len()).for_each(|&value| add(value));
            frame.results.iter().for_each(|&value| add(value));
            for deferred in &frame.defers {
                add(deferred.callee);
                deferred.args.iter().for_each(|&value| add(value));
            }
        }
        if let Some(pending) = &process.pending {
            pending.operation.values(&mut add);
        }
    }

    fn closure(&self, mut work: Vec<ObjectId>) -> Vec<bool> {
        let mut seen = vec![false; self.state.heap.len()];
        while let Some(id) = work.pop() {
            if !std::mem::replace(&mut seen[id.0 as usize], true) {
                self.state.heap.get(id).values(&mut |value| work.extend(value.object()));
            }
        }
        seen
    }
}
