//! From a state in which somebody is stuck to plain data: who, where, waiting for what, and the
//! path that leads there.

use crate::explore::machine::Machine;
use crate::explore::object::{Held, Object};
use crate::explore::process::{Decision, GoroutineId, Operation, Process};
use crate::explore::search::{Event, Search, Waiting};
use crate::explore::state::State;
use crate::explore::transition::{Step, Way};
use crate::explore::value::{ObjectId, Value};
use crate::explore::{
    Action, Goroutine, Kind, Lock, Misuse, Resource, ResourceKind, Site, Stuck, WaitsFor,
    WitnessStep,
};
use crate::program::code::Op;

/// The report of a state in which the goroutines at `who` are stuck.
pub(super) fn stuck(
    search: &Search<'_>,
    node: u32,
    state: &State,
    who: &[usize],
    kind: Kind,
) -> Stuck {
    let goroutines: Vec<Goroutine> =
        who.iter().filter_map(|&at| goroutine(&search.machine, state, at, kind)).collect();
    let mut doubts = state.doubts;
    doubts.shrunk = !search.machine.large.is_empty();
    doubts.inexact |= goroutines.iter().any(|goroutine| goroutine.inexact);
    Stuck { kind, goroutines, witness: witness(search, node), doubts }
}

/// The report of goroutines that stay for ever while others go on.
pub(super) fn component(
    search: &mut Search<'_>,
    node: u32,
    who: &[Waiting],
    kind: Kind,
) -> Option<Stuck> {
    let state = search.replay(node)?;
    let at: Vec<usize> = who
        .iter()
        .filter_map(|waiting| {
            state.processes.iter().position(|process| {
                process.started == waiting.started
                    && process.pending.as_ref().is_some_and(|pending| pending.at == waiting.at)
            })
        })
        .collect();
    if at.len() != who.len() {
        return None;
    }
    Some(stuck(search, node, &state, &at, kind))
}

fn goroutine(machine: &Machine<'_>, state: &State, at: usize, kind: Kind) -> Option<Goroutine> {
    let process = &state.processes[at];
    let pending = process.pending.as_ref()?;
    let mut ids = resources(&pending.operation);
    // Of the channels of a `select` one is closed.
    if kind == Kind::Misuse(Misuse::SendOnClosed) {
        ids.retain(|&id| matches!(state.heap.get(id), Object::Channel(it) if it.closed));
    }
    let resources = ids.iter().map(|&id| resource(machine, state, id)).collect();
    let site = machine.for_caller(process, pending.at);
    let mut calls = calls(process);
    if site != pending.at {
        calls.remove(0);
    }
    Some(Goroutine {
        number: process.id.0,
        started: process.started,
        at: site,
        calls,
        waits_for: waits_for(&pending.operation),
        resources,
        holds: holds(state, process.id),
        inexact: ids.iter().any(|&id| machine.is_inexact(state, id)),
        external: ids.iter().any(|&id| state.heap.is_external(id)),
    })
}

/// Where the functions around the running one were called, the innermost first.
fn calls(process: &Process) -> Vec<Site> {
    let frames = process.frames.iter().rev().skip(1);
    frames.map(|frame| Site { func: frame.func, pc: frame.pc.saturating_sub(1) }).collect()
}

fn resources(operation: &Operation) -> Vec<ObjectId> {
    match operation {
        Operation::Send { channel, .. }
        | Operation::Receive { channel, .. }
        | Operation::RangeReceive { channel, .. }
        | Operation::Close(channel) => channel.object().into_iter().collect(),
        Operation::Select { cases, .. } => {
            cases.iter().filter_map(|(channel, _)| channel.object()).collect()
        }
        Operation::Lock(id)
        | Operation::WriteLock(id)
        | Operation::RLock(id)
        | Operation::Unlock(id)
        | Operation::RUnlock(id)
        | Operation::Add(id, _)
        | Operation::Wait { group: id, .. }
        | Operation::OnceDo(id, _)
        | Operation::CondSleep(id)
        | Operation::Acquire { semaphore: id, .. } => vec![*id],
        _ => Vec::new(),
    }
}

fn waits_for(operation: &Operation) -> WaitsFor {
    let nil = |channel: &Value| *channel == Value::Nil;
    match operation {
        Operation::Send { channel, .. } if nil(channel) => WaitsFor::NilChannel,
        Operation::Receive { channel, .. } | Operation::RangeReceive { channel, .. }
            if nil(channel) =>
        {
            WaitsFor::NilChannel
        }
        Operation::Send { .. } => WaitsFor::Send,
        Operation::Receive { .. } => WaitsFor::Receive,
        Operation::RangeReceive { .. } => WaitsFor::Range,
        Operation::Select { .. } => WaitsFor::Select,
        Operation::Lock(_) | Operation::WriteLock(_) => WaitsFor::Lock,
        Operation::RLock(_) => WaitsFor::RLock,
        Operation::Wait { .. } => WaitsFor::Counter,
        Operation::OnceDo(..) => WaitsFor::Once,
        Operation::CondSleep(_) => WaitsFor::Condition,
        Operation::Acquire { .. } => WaitsFor::Semaphore,
        _ => WaitsFor::Nothing,
    }
}

fn resource(machine: &Machine<'_>, state: &State, id: ObjectId) -> Resource {
    let entry = state.heap.entry(id);
    let kind = match &entry.object {
        Object::Channel(channel) => ResourceKind::Channel {
            capacity: channel.capacity,
            filled: channel.buffer.len() as u32,
        },
        Object::Mutex(owner) => {
            ResourceKind::Lock { held: owner.iter().map(|held| holder(machine, held)).collect() }
        }
        Object::RwMutex { writer, readers, .. } => ResourceKind::Lock {
            held: writer.iter().chain(readers).map(|held| holder(machine, held)).collect(),
        },
        Object::WaitGroup { count, .. } => ResourceKind::WaitGroup { count: *count },
        Object::Once(_) => ResourceKind::Once,
        Object::Cond { .. } => ResourceKind::Condition,
        _ => ResourceKind::Other,
    };
    let (of_context, stopped) = match &entry.object {
        Object::Channel(channel) => (channel.of_context, channel.stopped),
        _ => (false, None),
    };
    Resource { object: id.0, made: entry.made, external: entry.external, kind, of_context, stopped }
}

fn holder(machine: &Machine<'_>, held: &Held) -> Lock {
    let func = machine.program.func(held.at.func);
    let unlocks = func.code.iter().any(|op| match *op {
        Op::CallMethod { name, .. } | Op::Member(name) => {
            let methods = || machine.program.methods_by_name.get(&name).into_iter().flatten();
            matches!(machine.program.name(name), "Unlock" | "RUnlock")
                || methods().any(|&method| machine.program.func(method).traits.unlocks)
        }
        _ => false,
    });
    Lock { goroutine: held.by.0, at: held.at, unlocks }
}

/// The locks that a goroutine holds, as places where they were taken.
fn holds(state: &State, by: GoroutineId) -> Vec<(u32, Site)> {
    let mut holds = Vec::new();
    for id in state.heap.ids() {
        let held: Vec<&Held> = match state.heap.get(id) {
            Object::Mutex(owner) => owner.iter().collect(),
            Object::RwMutex { writer, readers, .. } => writer.iter().chain(readers).collect(),
            _ => continue,
        };
        holds.extend(held.iter().filter(|held| held.by == by).map(|held| (id.0, held.at)));
    }
    holds
}

/// The path to a state, from the root.
fn witness(search: &Search<'_>, node: u32) -> Vec<WitnessStep> {
    let mut steps = Vec::new();
    let mut next = Some(node);
    while let Some(node) = next {
        let node = &search.nodes[node as usize];
        if let Some(action) = action(node.event) {
            steps.push(WitnessStep { goroutine: node.by.0, at: node.at, action });
        }
        next = node.parent;
    }
    steps.reverse();
    steps
}

/// What a witness tells of an event.
pub(super) fn action(event: Event) -> Option<Action> {
    Some(match event {
        Event::Start => return None,
        Event::Decided(_, Some(truth)) => Action::Condition(truth),
        Event::Decided(Decision::Is(_, value) | Decision::Holds(_, value), None) => match value {
            Value::Int(count) => Action::Count(count),
            Value::Bool(truth) => Action::Condition(truth),
            _ => return None,
        },
        Event::Did(step) => match step {
            Step::Communicate(case, way) => match way {
                Way::External | Way::ExternalClosed => Action::External { case },
                Way::Buffer => Action::Buffer { case },
                Way::Closed => Action::Closed { case },
                Way::Clock => Action::Clock { case },
                Way::Rendezvous(with, _) => Action::Rendezvous { case, with: with.0 },
            },
            Step::Default => Action::Default,
            Step::Fail => Action::Fail,
            Step::Decide(_) | Step::Misuse(_) => return None,
            // The timer was faster.
            Step::Stop(false) => Action::Clock { case: None },
            Step::Act | Step::Stop(true) => Action::Done,
        },
    })
}
