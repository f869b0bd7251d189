//! Goroutines: their frames, and the one visible operation that each of them is about to do.

use std::rc::Rc;

use crate::explore::Site;
use crate::explore::value::{ObjectId, TermId, Value};
use crate::program::code::{FuncId, Pc, Want};

/// A goroutine of one run. Numbers are given in the order of the starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct GoroutineId(pub u32);

/// Whether a frame runs its code, or its deferred calls on the way out, or is still to get its receiver from
/// what runs above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    Run,
    Leave,
    Await,
}

/// A call that was deferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deferred {
    pub callee: Value,
    pub args: Box<[Value]>,
    pub at: Site,
    /// Whether it runs after all that `defer` has put off, as what `testing.T.Cleanup` is given.
    pub at_end: bool,
}

/// A function that is running.
#[derive(Debug)]
pub(super) struct Frame {
    pub func: FuncId,
    pub pc: Pc,
    pub mode: Mode,
    /// How many results the caller wants.
    pub want: Want,
    /// The variables, then the operand stack.
    pub values: Vec<Value>,
    pub defers: Vec<Deferred>,
    pub results: Vec<Value>,
    /// Whether it was called while its caller was leaving: a deferred call.
    pub deferred: bool,
}

/// Room for the operand stack behind the variables: whoever goes on from a copy pushes at once.
pub(super) const OPERANDS: usize = 6;

impl Clone for Frame {
    fn clone(&self) -> Frame {
        let mut values = Vec::with_capacity(self.values.len() + OPERANDS);
        values.extend_from_slice(&self.values);
        let (defers, results) = (self.defers.clone(), self.results.clone());
        Frame { values, defers, results, ..*self }
    }
}

impl Frame {
    pub fn values(&self, visit: &mut impl FnMut(Value)) {
        self.values.iter().chain(&self.results).for_each(|&value| visit(value));
        for deferred in &self.defers {
            visit(deferred.callee);
            deferred.args.iter().for_each(|&value| visit(value));
        }
    }

    pub fn change_values(&mut self, change: &mut dyn FnMut(&mut Value)) {
        self.values.iter_mut().chain(&mut self.results).for_each(&mut *change);
        for deferred in &mut self.defers {
            change(&mut deferred.callee);
            deferred.args.iter_mut().for_each(&mut *change);
        }
    }
}

/// Why a goroutine unwinds its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Unwinding {
    Panic,
    Goexit,
}

/// A way to go on when something must be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The unknown of this number is this value.
    Is(u32, Value),
    /// The term has this value.
    Holds(TermId, Value),
}

/// A read or write of an atomic variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AtomicOp {
    Load,
    Store,
    Add,
    Swap,
    CompareAndSwap,
}

/// What a goroutine is about to do, as far as others can notice.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operation {
    /// Something unknown must be decided first.
    Decide(Vec<Decision>),
    Send {
        channel: Value,
        value: Value,
    },
    Receive {
        channel: Value,
        comma_ok: bool,
    },
    /// A receive of a range loop, which goes to `exit` when the channel is closed.
    RangeReceive {
        channel: Value,
        exit: Pc,
    },
    /// Channel and, for a send, value; the table of the function says where the cases are.
    Select {
        cases: Vec<(Value, Option<Value>)>,
        table: u32,
        default: bool,
    },
    Close(Value),
    Lock(ObjectId),
    /// A writer has announced itself and waits for the readers.
    WriteLock(ObjectId),
    RLock(ObjectId),
    Unlock(ObjectId),
    RUnlock(ObjectId),
    /// Takes a lock if nobody has it, and tells whether it did.
    TryLock(ObjectId),
    Add(ObjectId, Value),
    /// Waits for a WaitGroup; a group's cancels the context and gives an error.
    Wait {
        group: ObjectId,
        of: Option<ObjectId>,
    },
    /// A function of a group has returned this error: not nil, it cancels the group's context.
    GroupDone(ObjectId, Value),
    OnceDo(ObjectId, Value),
    OnceDone(ObjectId),
    CondWait(ObjectId),
    CondSleep(ObjectId),
    Signal {
        cond: ObjectId,
        all: bool,
    },
    Cancel(ObjectId),
    Acquire {
        semaphore: ObjectId,
        weight: Value,
        context: Value,
    },
    Release(ObjectId, Value),
    StopTimer(ObjectId),
    Atomic {
        op: AtomicOp,
        target: Value,
        args: [Value; 2],
    },
    /// Lets others run.
    Yield,
    /// `time.Sleep` where all began with the exploration: long enough for the others to come where they are
    /// going next.
    Sleep,
    Started,
}

impl Operation {
    pub fn values(&self, visit: &mut impl FnMut(Value)) {
        match self {
            Operation::Send { channel, value } => {
                visit(*channel);
                visit(*value);
            }
            Operation::Receive { channel, .. } | Operation::RangeReceive { channel, .. } => {
                visit(*channel);
            }
            Operation::Select { cases, .. } => {
                for (channel, value) in cases {
                    visit(*channel);
                    value.iter().for_each(|&value| visit(value));
                }
            }
            Operation::Close(channel) => visit(*channel),
            Operation::Lock(id)
            | Operation::WriteLock(id)
            | Operation::RLock(id)
            | Operation::Unlock(id)
            | Operation::RUnlock(id)
            | Operation::TryLock(id)
            | Operation::OnceDone(id)
            | Operation::CondWait(id)
            | Operation::CondSleep(id)
            | Operation::Signal { cond: id, .. }
            | Operation::Cancel(id)
            | Operation::StopTimer(id) => visit(Value::Ref(*id)),
            Operation::Add(id, value)
            | Operation::GroupDone(id, value)
            | Operation::OnceDo(id, value)
            | Operation::Release(id, value) => {
                visit(Value::Ref(*id));
                visit(*value);
            }
            Operation::Wait { group, of } => {
                visit(Value::Ref(*group));
                of.iter().for_each(|&id| visit(Value::Ref(id)));
            }
            Operation::Acquire { semaphore, weight, context } => {
                visit(Value::Ref(*semaphore));
                visit(*weight);
                visit(*context);
            }
            Operation::Atomic { target, args, .. } => {
                visit(*target);
                args.iter().for_each(|&value| visit(value));
            }
            Operation::Decide(_) | Operation::Yield | Operation::Sleep | Operation::Started => {}
        }
    }

    pub fn change_values(&mut self, change: &mut dyn FnMut(&mut Value)) {
        match self {
            Operation::Send { channel, value } => {
                change(channel);
                change(value);
            }
            Operation::Receive { channel, .. } | Operation::RangeReceive { channel, .. } => {
                change(channel);
            }
            Operation::Select { cases, .. } => {
                for (channel, value) in cases {
                    change(channel);
                    value.iter_mut().for_each(&mut *change);
                }
            }
            Operation::Close(channel) => change(channel),
            Operation::Add(_, value)
            | Operation::GroupDone(_, value)
            | Operation::OnceDo(_, value)
            | Operation::Release(_, value) => change(value),
            Operation::Acquire { weight, context, .. } => {
                change(weight);
                change(context);
            }
            Operation::Atomic { target, args, .. } => {
                change(target);
                args.iter_mut().for_each(&mut *change);
            }
            _ => {}
        }
    }
}

/// An operation with its place and the number of results that are wanted of it.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub operation: Operation,
    pub at: Site,
    pub want: Want,
    /// Whether somebody has slept since it was pending: the goroutine is there by now.
    pub settled: bool,
}

impl Pending {
    pub fn new(operation: Operation, at: Site, want: Want) -> Pending {
        Pending { operation, at, want, settled: false }
    }
}

/// A goroutine.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub id: GoroutineId,
    /// The `go` statement, or the root itself.
    pub started: Site,
    pub frames: Vec<Rc<Frame>>,
    pub pending: Option<Pending>,
    /// Why frames are left, and which of them is being left.
    pub unwinding: Option<(Unwinding, usize)>,
}

impl Process {
    /// The frame that runs.
    pub fn top(&mut self) -> Option<&mut Frame> {
        self.frames.last_mut().map(Rc::make_mut)
    }

    /// The instruction that it is at: of the frame that runs, or its start.
    pub fn site(&self) -> Site {
        match self.frames.last() {
            Some(frame) => Site { func: frame.func, pc: frame.pc.saturating_sub(1) },
            None => self.started,
        }
    }
}
