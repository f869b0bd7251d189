//! Program and root to stuck states, each with the path that leads there.
//!
//! An abstract machine runs one function and all that it calls and starts: concretely where
//! values are known, symbolically where they are not. Goroutines are interleaved where they
//! synchronise, and nowhere else. A state in which a goroutine is blocked and nothing that can
//! still run will ever unblock it is reported.
//!
//! ```text
//! program + root ──machine──▶ a goroutine's next visible operation
//!                ──transition──▶ the states that follow
//!                ──key──▶ states met before are dropped
//!                ──reduce, search──▶ which states to follow, and in which order
//!                ──components, report──▶ who is stuck, and how it came to that
//! ```
//!
//! What is not known counts as benign: what unknown code can reach it may send to, receive from,
//! close and cancel at any time, so a goroutine that waits for it is never stuck.
//!
//! The room knows Go's run-time semantics and nothing of syntax. Bounds count steps, never time,
//! so the same program has the same report on every machine.

mod call;
mod code;
mod collection;
mod components;
mod dynamic;
mod enabled;
mod escape;
mod global;
mod key;
mod library;
mod machine;
mod memory;
mod object;
mod process;
mod reduce;
mod report;
mod search;
mod state;
mod step;
mod symbolic;
mod term;
mod transition;
mod value;

pub use state::Doubts;

use crate::program::Program;
use crate::program::code::{FuncId, Pc};

/// Where an exploration begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The function; its parameters may be anything.
    pub func: FuncId,
    /// What makes the receiver of the function as its first result, before it is called.
    pub maker: Option<FuncId>,
    /// Whether the package variables have their initial values, because nothing of the package
    /// has run before.
    pub closed: bool,
    /// Whether the process ends when the function returns: `main`.
    pub ends_process: bool,
}

/// How far an exploration goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Frames of one goroutine.
    pub depth: usize,
    /// Frames of one function below a call of it.
    pub recursion: usize,
    /// Goroutines at a time.
    pub goroutines: usize,
    /// Iterations of a loop whose condition is not known.
    pub unknown_iterations: i64,
    /// Iterations of a loop whose condition is known.
    pub known_iterations: i64,
    /// Instructions between two visible operations.
    pub instructions: u32,
    /// Instructions of one root.
    pub steps: u64,
    /// States of one root.
    pub states: usize,
    /// States of one root in which something unknown was decided.
    pub decisions: usize,
    /// States of one root that are reached through a choice of any kind: a decision, a
    /// communication with unknown code, a timer.
    pub chosen: usize,
    /// When states are explored that rest on such a choice.
    pub choices: Choices,
    /// Which calls are explored.
    pub calls: Calls,
}

/// Which calls of functions whose code is known are explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Those that have to do with channels, locks or goroutines of any kind.
    Synchronising,
    /// Those that are given a channel, lock or the like which is explored. Of the others is taken what is
    /// taken of any unknown code.
    Given,
    /// Those that are given the channel that is made at this place.
    Of(Site),
    /// As [`Calls::Synchronising`], in one goroutine alone: what it starts is unknown code, and whatever it waits
    /// for comes, locks left out. What it waits for then is a lock that it has itself.
    Alone,
}

/// When states are explored that rest on a choice which the witness would tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choices {
    /// As they come.
    Freely,
    /// After all that rest on none.
    Last,
    /// Not at all.
    Never,
}

impl Limits {
    /// Enough for every kernel of GoKer.
    pub const DEFAULT: Limits = Limits {
        depth: 14,
        recursion: 2,
        goroutines: 8,
        unknown_iterations: 2,
        known_iterations: 40,
        instructions: 6_000,
        steps: 2_000_000,
        states: 20_000,
        decisions: 1_000,
        chosen: 20_000,
        choices: Choices::Freely,
        calls: Calls::Synchronising,
    };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// [`Limits::instructions`] or [`Limits::steps`]
    Instructions,
    /// [`Limits::goroutines`]
    Goroutines,
    /// Deferred calls of one frame.
    Defers,
    /// [`Limits::states`], [`Limits::decisions`] or [`Limits::chosen`]
    States,
}

/// An instruction of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The function.
    pub func: FuncId,
    /// The instruction.
    pub pc: Pc,
}

impl Site {
    /// No instruction.
    pub const NONE: Site = Site { func: FuncId(u32::MAX), pc: 0 };
}

/// What an exploration found, and how far it got.
#[derive(Clone, Debug, Default)]
pub struct Exploration {
    /// Who is stuck, in the order in which it was found: fewest preemptions first.
    pub stuck: Vec<Stuck>,
    /// Number of states.
    pub states: usize,
    /// Number of instructions run.
    pub steps: u64,
    /// How often each [`Bound`] was reached.
    pub bounds: [u32; 4],
    /// The functions whose code was looked at: while it and all that is no function's stay the same,
    /// so does what comes of the root.
    pub looked_at: Box<[FuncId]>,
    /// Whether something of which nothing is known, and which may be the package's own, was called while a lock
    /// was held.
    pub asks_unknown: bool,
}

impl Exploration {
    /// Adds what another exploration of the same root found that came after this one; what was left out
    /// is what the other left out.
    pub fn follow(&mut self, other: Exploration) {
        self.stuck.extend(other.stuck);
        self.states += other.states;
        self.steps += other.steps;
        self.bounds = other.bounds;
        self.asks_unknown |= other.asks_unknown;
        let mut looked_at = self.looked_at.to_vec();
        looked_at.extend(other.looked_at);
        looked_at.sort_unstable();
        looked_at.dedup();
        self.looked_at = looked_at.into();
    }

    /// Whether every state was explored.
    pub fn complete(&self) -> bool {
        self.bounds == [0; 4]
    }
}

/// A state in which goroutines are stuck.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// What makes it one.
    pub kind: Kind,
    /// Who is stuck.
    pub goroutines: Vec<Goroutine>,
    /// What happened before.
    pub witness: Vec<WitnessStep>,
    /// What weakens the claim.
    pub doubts: Doubts,
}

/// Why a state is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nobody can do anything any more.
    Terminal,
    /// Others go on for ever, these never do.
    Component,
    /// These go on for ever, and their way out is never ready.
    Livelock,
    /// Go panics.
    Misuse(Misuse),
}

/// An operation that panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misuse {
    /// `send on closed channel`
    SendOnClosed,
    /// `close of closed channel`
    CloseOfClosed,
    /// `close of nil channel`
    CloseOfNil,
    /// `sync: negative WaitGroup counter`
    NegativeCounter,
    /// `sync: unlock of unlocked mutex`
    UnlockOfUnlocked,
}

/// A goroutine that is stuck.
#[derive(Clone, Debug)]
pub struct Goroutine {
    /// Its number in the witness; 0 is the root.
    pub number: u32,
    /// The `go` statement; the root's beginning for the root.
    pub started: Site,
    /// The operation.
    pub at: Site,
    /// The calls around it, the innermost first.
    pub calls: Vec<Site>,
    /// What it waits for.
    pub waits_for: WaitsFor,
    /// The objects that it waits at.
    pub resources: Vec<Resource>,
    /// The locks that it holds: object, and where it was taken.
    pub holds: Vec<(u32, Site)>,
    /// Whether a count that decides here is not known exactly.
    pub inexact: bool,
    /// Whether unknown code can reach one of the objects.
    pub external: bool,
}

/// What a goroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitsFor {
    /// A receiver.
    Send,
    /// A sender, or a close.
    Receive,
    /// A sender, or a close, in a range loop.
    Range,
    /// Any case of a select.
    Select,
    /// Nothing can end a wait at a nil channel.
    NilChannel,
    /// A lock.
    Lock,
    /// A read lock.
    RLock,
    /// A WaitGroup.
    Counter,
    /// The end of a `Once`.
    Once,
    /// A signal.
    Condition,
    /// A semaphore.
    Semaphore,
    /// It does not wait.
    Nothing,
}

/// An object that a goroutine waits at.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its number in this report.
    pub object: u32,
    /// Where it was made.
    pub made: Option<Site>,
    /// Whether unknown code can reach it.
    pub external: bool,
    /// What it is.
    pub kind: ResourceKind,
    /// Whether it is the channel of a context.
    pub of_context: bool,
    /// Where the timer of this channel was stopped, which nothing sends on or closes since.
    pub stopped: Option<Site>,
}

/// What an object is.
#[derive(Clone, Debug)]
pub enum ResourceKind {
    /// A channel.
    Channel {
        /// Its capacity.
        capacity: u32,
        /// How many values it holds.
        filled: u32,
    },
    /// A mutex.
    Lock {
        /// Who holds it.
        held: Vec<Lock>,
    },
    /// A WaitGroup.
    WaitGroup {
        /// Its counter.
        count: i64,
    },
    /// A Once.
    Once,
    /// A Cond.
    Condition,
    /// Anything else.
    Other,
}

/// A lock that is held.
#[derive(Clone, Copy, Debug)]
pub struct Lock {
    /// By which goroutine.
    pub goroutine: u32,
    /// Since where.
    pub at: Site,
    /// Whether the function that took it also gives locks back.
    pub unlocks: bool,
}

/// One step of the path to a stuck state.
#[derive(Clone, Copy, Debug)]
pub struct WitnessStep {
    /// Who.
    pub goroutine: u32,
    /// Where.
    pub at: Site,
    /// What.
    pub action: Action,
}

/// What happens in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A condition is decided.
    Condition(bool),
    /// A number is decided.
    Count(i64),
    /// A communication with unknown code.
    External {
        /// The case of a select.
        case: Option<u32>,
    },
    /// A communication through a buffer.
    Buffer {
        /// The case of a select.
        case: Option<u32>,
    },
    /// A receive from a closed channel.
    Closed {
        /// The case of a select.
        case: Option<u32>,
    },
    /// A receive from a timer or of a deadline.
    Clock {
        /// The case of a select.
        case: Option<u32>,
    },
    /// A send to a goroutine that receives.
    Rendezvous {
        /// The case of a select.
        case: Option<u32>,
        /// The receiver.
        with: u32,
    },
    /// The default of a select.
    Default,
    /// A function of a group fails.
    Fail,
    /// Any other operation.
    Done,
}

impl Action {
    /// Whether it could have gone otherwise: it rests on something that is not known.
    pub fn is_choice(self) -> bool {
        match self {
            Action::Condition(_)
            | Action::Count(_)
            | Action::External { .. }
            | Action::Clock { .. }
            | Action::Fail => true,
            Action::Buffer { .. }
            | Action::Closed { .. }
            | Action::Rendezvous { .. }
            | Action::Default
            | Action::Done => false,
        }
    }
}

/// Explores `program` from `root`.
pub fn explore(program: &Program, root: Root, limits: &Limits) -> Exploration {
    search::run(program, root, limits)
}
