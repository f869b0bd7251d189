//! What a function does to the things that it has names for: the vocabulary.

use std::cmp::Ordering;

use crate::catalog::{Effect as Touch, Part};
use crate::summary::function::At;
use crate::summary::place::Place;
use crate::syntax::Symbol;

/// Something that a step does to a thing, itself or through what it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The step, in the body whose effects are listed.
    pub at: At,
    /// The thing.
    pub place: Place,
    /// What is done to it.
    pub act: Act,
    /// When it is done, seen from the step.
    pub mode: Mode,
    /// Whether passing the step always does it, to this thing and no other. What is
    /// [`Mode::Deferred`] is then done at every exit that follows.
    pub sure: bool,
}

/// What a body does to a thing, as whoever runs the body sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The thing.
    pub place: Place,
    /// What is done to it.
    pub act: Act,
    /// When.
    pub mode: Mode,
    /// Whether it is done on every path that leaves by a return or at the end.
    pub always: bool,
}

/// What can be done to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// It is a function, and is called.
    Called,
    /// A method of it is called by this name.
    Method(Symbol),
    /// It becomes a result of the function, or a part of it.
    Returned(u32),
    /// It is stored where it may outlive the step: in a field, an element, a captured or global
    /// variable, a composite literal.
    Stored,
    /// It is sent on a channel.
    Sent,
    /// A function literal uses it that runs in another goroutine or at a time unknown.
    Captured,
    /// It is given to code of which nothing is known.
    Passed,
    /// It is a channel, and is closed.
    Closed,
    /// It is a channel, and something is sent on it.
    SentTo(Guard),
    /// It is a channel, and something is received from it.
    Received(Guard),
    /// It is a channel (or iterator), and is ranged over to its end.
    Drained,
    /// It is a request, a response writer or the like, and a part that several sides may share is
    /// read, written or handed out.
    Touched(Part, Touch),
}

/// What a channel operation has beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// Nothing: it waits until its partner comes.
    Bare,
    /// Other arms of a `select`.
    Arms,
    /// A default clause: it does not wait.
    Default,
}

/// When something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Before the step is over.
    Now,
    /// When the function is left.
    Deferred,
    /// In another goroutine, which has come so far before the function is left on any path.
    Joined,
    /// In another goroutine, which may outlive the function.
    Spawned,
    /// Whenever whoever called the function calls the literal that it returns.
    ByResult,
    /// Whenever somebody calls a literal that has been stored or handed on.
    Later,
}

impl Mode {
    /// Whether it is done whenever somebody calls a literal, if at all.
    pub fn is_later(self) -> bool {
        matches!(self, Mode::ByResult | Mode::Later)
    }

    /// When something is done that has `inner`, seen from what runs it at `self`.
    pub fn around(self, inner: Mode) -> Mode {
        // What a callee defers or waits for is done when the call is over.
        let inner = if inner < Mode::Spawned { Mode::Now } else { inner };
        self.max(inner)
    }
}

impl Act {
    /// What the act is for whoever calls the body that does it: what the body returns is in
    /// hands of which nothing is known.
    pub(super) fn for_caller(self) -> Act {
        match self {
            Act::Returned(_) => Act::Passed,
            other => other,
        }
    }

    /// Whether afterwards somebody else may know the thing, so that what becomes of it cannot be
    /// told from the function's own steps.
    pub fn escapes(self) -> bool {
        matches!(self, Act::Returned(_) | Act::Stored | Act::Sent | Act::Captured | Act::Passed)
    }

    fn key(self) -> (u8, u32, &'static str) {
        match self {
            Act::Called => (0, 0, ""),
            Act::Method(name) => (1, 0, name.as_str()),
            Act::Returned(result) => (2, result, ""),
            Act::Stored => (3, 0, ""),
            Act::Sent => (4, 0, ""),
            Act::Captured => (5, 0, ""),
            Act::Passed => (6, 0, ""),
            Act::Closed => (7, 0, ""),
            Act::SentTo(guard) => (8, guard as u32, ""),
            Act::Received(guard) => (9, guard as u32, ""),
            Act::Drained => (10, 0, ""),
            Act::Touched(part, touch) => (11, part as u32 * 8 + touch as u32, ""),
        }
    }
}

/// Methods are ordered by name, never by the number of the name.
impl Ord for Act {
    fn cmp(&self, other: &Act) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Act {
    fn partial_cmp(&self, other: &Act) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
