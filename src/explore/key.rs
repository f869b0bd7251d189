//! The canonical key of a state: equal for states that differ only in how objects, unknowns and
//! goroutines are numbered, or in what nobody can reach any more.
//!
//! Objects and unknowns are numbered in the order in which a walk from the goroutines' live
//! variables and the package variables meets them. The key is a hash of 128 bits: two states are
//! taken for one if they agree in it.

use crate::explore::code::Code;
use crate::explore::object::{Entry, Held, Object};
use crate::explore::process::{Frame, GoroutineId, Mode, Operation, Process};
use crate::explore::state::State;
use crate::explore::term::Terms;
use crate::explore::value::{ObjectId, Term, Value};
use crate::program::Program;
use crate::program::code::Op;

/// What a walk through a state tells.
pub(super) struct Seen {
    /// The key.
    pub key: u128,
    /// Which of the facts speak of what can still be met.
    pub facts: Vec<bool>,
}

/// What walks use again, so that none of them has to ask for memory.
#[derive(Default)]
pub(super) struct Scratch {
    /// By unknown the walk that met it, and its number there.
    unknowns: Vec<(u32, u32)>,
    /// The walk that is under way.
    walk: u32,
    /// Numbers of objects, from 1.
    numbers: Vec<u32>,
    queue: Vec<ObjectId>,
}

impl Scratch {
    /// Whether an object can still be reached in the state that was walked through last.
    pub fn is_reached(&self, id: ObjectId) -> bool {
        self.numbers[id.0 as usize] != 0
    }
}

/// Walks through a state.
pub(super) fn key(program: Code<'_>, terms: &Terms, state: &State, scratch: &mut Scratch) -> Seen {
    scratch.walk += 1;
    scratch.queue.clear();
    let most = state.next_unknown as usize + 1;
    if scratch.unknowns.len() < most {
        scratch.unknowns.resize(most, (0, 0));
    }
    scratch.numbers.clear();
    scratch.numbers.resize(state.heap.len(), 0);
    let mut walk =
        Walk { program, terms, state, scratch, walked: 0, met: 0, hash: Hash::default() };
    for process in &state.processes {
        walk.process(process);
    }
    for &(id, value) in state.globals.iter() {
        walk.hash.add(u64::from(id.0));
        walk.value(value);
    }
    walk.objects();
    let facts = walk.facts();
    let doubts = state.doubts;
    walk.hash.add(
        u64::from(doubts.failed_test)
            | u64::from(doubts.inexact) << 1
            | u64::from(doubts.cut) << 2
            | u64::from(doubts.unlikely) << 3
            | u64::from(doubts.overslept) << 4
            | u64::from(doubts.hurried) << 5
            | u64::from(state.opened) << 5,
    );
    Seen { key: walk.hash.finish(), facts }
}

#[derive(Clone, Copy)]
struct Hash {
    low: u64,
    high: u64,
}

impl Default for Hash {
    fn default() -> Hash {
        Hash { low: 0x9e37_79b9_7f4a_7c15, high: 0xc2b2_ae3d_27d4_eb4f }
    }
}

impl Hash {
    fn add(&mut self, word: u64) {
        self.low = (self.low ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(29);
        self.high = (self.high.rotate_left(31) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.high ^= self.low >> 17;
    }

    fn finish(self) -> u128 {
        let mut end = self;
        end.add(0x1656_67b1_9e37_79f9);
        end.add(0x27d4_eb2f_1656_67c5);
        u128::from(end.high) << 64 | u128::from(end.low)
    }
}

struct Walk<'a> {
    program: Code<'a>,
    terms: &'a Terms,
    state: &'a State,
    scratch: &'a mut Scratch,
    /// How many of the objects in the queue were walked through.
    walked: usize,
    /// Number of unknowns met so far.
    met: u32,
    hash: Hash,
}

impl Walk<'_> {
    /// Walks through the objects that are reached and were not walked through yet.
    fn objects(&mut self) {
        while let Some(&id) = self.scratch.queue.get(self.walked) {
            self.walked += 1;
            self.entry(self.state.heap.entry(id));
        }
    }

    fn object(&mut self, id: ObjectId) -> u64 {
        let number = &mut self.scratch.numbers[id.0 as usize];
        if *number == 0 {
            self.scratch.queue.push(id);
            *number = self.scratch.queue.len() as u32;
        }
        u64::from(*number)
    }

    fn unknown(&mut self, id: u32) -> u32 {
        let mark = &mut self.scratch.unknowns[id as usize];
        if mark.0 != self.scratch.walk {
            *mark = (self.scratch.walk, self.met);
            self.met += 1;
        }
        mark.1
    }

    fn goroutine(&self, id: GoroutineId) -> u64 {
        self.state.process(id).map_or(u64::MAX, |at| at as u64)
    }

    fn value(&mut self, value: Value) {
        match value {
            Value::Nil => self.hash.add(1),
            Value::Bool(value) => self.hash.add(2 | u64::from(value) << 8),
            Value::Int(value) => {
                self.hash.add(3);
                self.hash.add(value as u64);
            }
            Value::Str(text) | Value::Atom(text) => {
                self.hash.add(4 + u64::from(matches!(value, Value::Atom(_))));
                self.hash.add(u64::from(text.0));
            }
            Value::External(id) => self.hash.add(6 | u64::from(id.0) << 8),
            Value::Func(id) => self.hash.add(7 | u64::from(id.0) << 8),
            Value::Builtin(builtin) => self.hash.add(8 | (builtin as u64) << 8),
            Value::Ref(id) => {
                let number = self.object(id);
                self.hash.add(9 | number << 8);
            }
            Value::Struct(id) => {
                let number = self.object(id);
                self.hash.add(10 | number << 8);
            }
            Value::FieldRef(id, name) => {
                let number = self.object(id);
                self.hash.add(11 | number << 8 | u64::from(name.0) << 40);
            }
            Value::ElementRef(id, at) => {
                let number = self.object(id);
                self.hash.add(12 | number << 8 | u64::from(at) << 40);
            }
            Value::Unknown(unknown) => {
                let number = self.unknown(unknown.id);
                let flags = 13 | u64::from(unknown.non_nil) << 7;
                self.hash.add(flags | u64::from(number) << 8 | u64::from(unknown.ty.0) << 40);
            }
            Value::Term(id) => {
                let term = self.terms.get(id);
                self.hash.add(match term {
                    Term::Len(_) => 14,
                    Term::Member(_, name) => 15 | u64::from(name.0) << 8,
                    Term::Element(..) => 16,
                    Term::Not(_) => 17,
                    Term::Binary(op, ..) => 18 | (op as u64) << 8,
                    Term::IsType(_, ty) => 19 | u64::from(ty.0) << 8,
                    Term::Done(_) => 20,
                    Term::ErrorIs(..) => 21,
                });
                // Depth is bounded when terms are made.
                for operand in term.operands().into_iter().flatten() {
                    self.value(operand);
                }
            }
        }
    }

    fn process(&mut self, process: &Process) {
        self.hash.add(u64::from(process.started.func.0) << 32 | u64::from(process.started.pc));
        let unwinding =
            process.unwinding.map_or(0, |(how, depth)| 1 + how as u64 + 4 * depth as u64);
        self.hash.add(unwinding);
        self.hash.add(process.frames.len() as u64);
        for frame in &process.frames {
            self.frame(frame);
        }
        let Some(pending) = &process.pending else { return };
        self.hash.add(u64::from(pending.at.func.0) << 32 | u64::from(pending.at.pc));
        let operation = &pending.operation;
        let (tag, extra) = tag(operation);
        self.hash.add(tag | extra << 8 | u64::from(pending.settled) << 63);
        // The decisions themselves follow from the frame.
        if !matches!(operation, Operation::Decide(_)) {
            let mut count = 0;
            operation.values(&mut |value| {
                count += 1;
                self.value(value);
            });
            self.hash.add(count);
        }
    }

    fn frame(&mut self, frame: &Frame) {
        let func = self.program.func(frame.func);
        self.hash.add(u64::from(frame.func.0) << 32 | u64::from(frame.pc));
        self.hash
            .add(frame.mode as u64 | u64::from(frame.deferred) << 1 | u64::from(frame.want) << 8);
        // Which variables these are follows from the place.
        for (_, &value) in live(self.program.all(), func, frame) {
            self.value(value);
        }
        for &value in frame.values.iter().skip(func.vars.len()) {
            self.value(value);
        }
        for deferred in &frame.defers {
            self.hash.add(20);
            self.value(deferred.callee);
            deferred.args.iter().for_each(|&value| self.value(value));
        }
        self.hash.add(frame.results.len() as u64);
        frame.results.iter().for_each(|&value| self.value(value));
    }

    fn held(&mut self, held: &Held) {
        let by = self.goroutine(held.by);
        self.hash.add(by);
    }

    fn entry(&mut self, entry: &Entry) {
        self.hash.add(21 | u64::from(entry.external) << 8);
        match &entry.object {
            Object::Struct { ty, fields } => {
                self.hash.add(1 | u64::from(ty.0) << 8);
                for &(name, value) in fields {
                    self.hash.add(u64::from(name.0));
                    self.value(value);
                }
                return;
            }
            Object::Cell(_) => self.hash.add(2),
            Object::Channel(channel) => {
                self.hash.add(
                    3 | u64::from(channel.capacity) << 16
                        | u64::from(channel.closed) << 8
                        | (channel.clock as u64) << 9,
                );
                self.hash.add(channel.buffer.len() as u64);
            }
            Object::Mutex(owner) => {
                self.hash.add(4);
                owner.iter().for_each(|held| self.held(held));
            }
            Object::OpenLock => self.hash.add(24),
            Object::RwMutex { writer, readers, waiting } => {
                self.hash.add(5 | u64::from(*waiting) << 8);
                writer.iter().for_each(|held| self.held(held));
                self.hash.add(22);
                readers.iter().for_each(|held| self.held(held));
            }
            Object::WaitGroup { count, shrunk, exact } => {
                self.hash.add(6 | u64::from(*exact) << 8 | u64::from(shrunk.is_some()) << 9);
                self.hash.add(*count as u64);
            }
            Object::Once(state) => self.hash.add(7 | (*state as u64) << 8),
            Object::Cond { waiters, .. } => {
                self.hash.add(8);
                for &id in waiters {
                    let number = self.goroutine(id);
                    self.hash.add(number);
                }
            }
            Object::Context { .. } => self.hash.add(9),
            Object::Timer { periodic, .. } => self.hash.add(10 | u64::from(*periodic) << 8),
            Object::Slice { .. } => self.hash.add(11),
            Object::Map { .. } => self.hash.add(12),
            Object::Atomic(_) => self.hash.add(13),
            Object::Group { .. } => self.hash.add(14),
            Object::Semaphore { free } => {
                self.hash.add(15);
                self.hash.add(*free as u64);
            }
            Object::Closure { func, .. } => self.hash.add(16 | u64::from(func.0) << 8),
            Object::Method { func, .. } => self.hash.add(17 | u64::from(func.0) << 8),
            Object::LibMethod { name, .. } => self.hash.add(18 | u64::from(name.0) << 8),
            Object::MethodExpr(func) => self.hash.add(19 | u64::from(func.0) << 8),
            Object::OnceFunc { .. } => self.hash.add(25),
            Object::Cancel(_) => self.hash.add(20),
            Object::Finish(finish, _) => self.hash.add(21 | (*finish as u64) << 8),
            Object::Yield { frame } => self.hash.add(22 | u64::from(*frame) << 8),
            Object::Suspended(frames, _) => {
                self.hash.add(23);
                for frame in frames {
                    self.hash.add(u64::from(frame.func.0) << 32 | u64::from(frame.pc));
                }
            }
        }
        let mut count = 0;
        entry.object.values(&mut |value| {
            count += 1;
            self.value(value);
        });
        self.hash.add(count);
    }

    /// What was decided about unknowns that can still be met, in any order.
    fn facts(&mut self) -> Vec<bool> {
        let mut sum = Hash { low: 0, high: 0 };
        let mut met = Vec::with_capacity(self.state.facts.len());
        for &(term, value) in self.state.facts.iter() {
            met.push(self.is_met(Value::Term(term)));
            if met.last() == Some(&false) {
                continue;
            }
            let outer = std::mem::take(&mut self.hash);
            self.value(Value::Term(term));
            self.value(value);
            self.objects();
            let fact = std::mem::replace(&mut self.hash, outer);
            sum.low = sum.low.wrapping_add(fact.low);
            sum.high = sum.high.wrapping_add(fact.high);
        }
        self.hash.add(sum.low);
        self.hash.add(sum.high);
        met
    }

    fn is_met(&self, value: Value) -> bool {
        match value {
            Value::Unknown(unknown) => {
                self.scratch.unknowns[unknown.id as usize].0 == self.scratch.walk
            }
            Value::Ref(id) | Value::Struct(id) => self.scratch.is_reached(id),
            Value::Term(term) => {
                self.terms.get(term).operands().into_iter().flatten().all(|v| self.is_met(v))
            }
            _ => true,
        }
    }
}

/// The variables of a frame that can still be read, with their slots.
pub(super) fn live<'f>(
    program: &Program,
    func: &'f crate::program::code::Func,
    frame: &'f Frame,
) -> impl Iterator<Item = (usize, &'f Value)> + use<'f> {
    let is_live = liveness(program, func, frame);
    let vars = &frame.values[..func.vars.len().min(frame.values.len())];
    vars.iter().enumerate().filter(move |&(slot, _)| is_live(slot))
}

/// Which variables of a frame can still be read, by their slots.
pub(super) fn liveness<'f>(
    program: &Program,
    func: &'f crate::program::code::Func,
    frame: &Frame,
) -> impl Fn(usize) -> bool + use<'f> {
    let live = match frame.mode {
        Mode::Run | Mode::Await => {
            program.flow(func).live.get(resumes_from(func, frame.pc) as usize)
        }
        Mode::Leave => None,
    };
    move |slot: usize| {
        let slot = crate::program::code::Slot(slot as u16);
        match live {
            Some(live) => live.contains(slot),
            None => func.result_slots.contains(&slot),
        }
    }
}

/// The instruction from whose point of view variables are live: one that waits and then goes on
/// elsewhere is still to be done.
fn resumes_from(func: &crate::program::code::Func, pc: u32) -> u32 {
    match pc.checked_sub(1).and_then(|before| func.code.get(before as usize)) {
        Some(Op::Select(_) | Op::RangeNext { .. }) => pc - 1,
        _ => pc,
    }
}

fn tag(operation: &Operation) -> (u64, u64) {
    match operation {
        Operation::Decide(_) => (1, 0),
        Operation::Send { .. } => (2, 0),
        Operation::Receive { comma_ok, .. } => (3, u64::from(*comma_ok)),
        Operation::RangeReceive { exit, .. } => (4, u64::from(*exit)),
        Operation::Select { table, .. } => (5, u64::from(*table)),
        Operation::Close(_) => (6, 0),
        Operation::Lock(_) => (7, 0),
        Operation::WriteLock(_) => (8, 0),
        Operation::RLock(_) => (9, 0),
        Operation::Unlock(_) => (10, 0),
        Operation::RUnlock(_) => (11, 0),
        Operation::Add(..) => (12, 0),
        Operation::Wait { of, .. } => (13, u64::from(of.is_some())),
        Operation::GroupDone(..) => (14, 0),
        Operation::OnceDo(..) => (15, 0),
        Operation::OnceDone(_) => (16, 0),
        Operation::CondWait(_) => (17, 0),
        Operation::CondSleep(_) => (18, 0),
        Operation::Signal { all, .. } => (19, u64::from(*all)),
        Operation::Cancel(_) => (20, 0),
        Operation::Acquire { .. } => (21, 0),
        Operation::Release(..) => (22, 0),
        Operation::StopTimer(_) => (23, 0),
        Operation::Atomic { op, .. } => (24, *op as u64),
        Operation::Yield => (25, 0),
        Operation::Started => (26, 0),
        Operation::Sleep => (27, 0),
        Operation::TryLock(_) => (28, 0),
    }
}
