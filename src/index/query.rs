//! What the current thread is computing: bounds the stack and finds cycles.
//!
//! Questions about declarations lead to other declarations. Valid Go has no cycles among those
//! that are asked here, but broken Go has, and generated Go has chains of any length. Everything
//! that is being computed stands on a stack of the thread:
//!
//! * a question that is met again is a cycle; it, and every question above it on the stack, is
//!   answered with *unknown* for good, so that the answer does not depend on where one entered;
//! * a question too deep is answered with *unknown* this once, and nothing that rests on it is
//!   kept, so that it can be answered when it is asked from nearer. Until the stack is empty again
//!   it is not asked twice, which would take for ever where two ways lead to each question.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashSet;

use crate::source::FileId;
use crate::syntax::DeclId;

use super::{FuncId, ObjectId};

/// A question about a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// The type of an object.
    Object(ObjectId),
    /// What stands behind a defined type.
    Underlying(ObjectId),
    /// The value of a constant.
    Value(ObjectId),
    /// The signature of a function.
    Func(FuncId),
    /// The constraint of a type parameter.
    Constraint(FileId, DeclId, u32),
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The answer holds.
    Sound,
    /// The question leads to itself.
    Cyclic,
    /// Something was too deep: the answer must not be kept.
    Cut,
}

/// Questions on one stack.
const MAX_QUESTIONS: usize = 48;
/// Levels of syntax and of types, over all questions of the stack.
const MAX_LEVELS: u32 = 220;

thread_local! {
    static STACK: RefCell<Vec<(Question, Outcome)>> = const { RefCell::new(Vec::new()) };
    /// The questions of this stack, asked and left, that were cut.
    static CUT: RefCell<FxHashSet<Question>> = RefCell::default();
    static LEVELS: Cell<u32> = const { Cell::new(0) };
    /// How often something was too deep.
    static CUTS: Cell<u64> = const { Cell::new(0) };
}

/// Computes the answer to `question`; `None` if it is being computed already or lies too deep.
pub(super) fn ask<T>(question: Question, answer: impl FnOnce() -> T) -> Option<(T, Outcome)> {
    let frame = Frame::enter(question)?;
    let result = answer();
    Some((result, frame.leave()))
}

/// Computes something that is no question of its own, and says whether nothing was too deep for it.
pub(super) fn uncut<T>(compute: impl FnOnce() -> T) -> (T, bool) {
    let before = CUTS.get();
    let result = compute();
    (result, CUTS.get() == before)
}

/// One more level of nesting; `None` when there are too many.
pub(super) fn level() -> Option<Level> {
    let level = LEVELS.get();
    if level >= MAX_LEVELS {
        cut();
        return None;
    }
    LEVELS.set(level + 1);
    Some(Level)
}

/// Holds one level of nesting.
pub(super) struct Level;

impl Drop for Level {
    fn drop(&mut self) {
        LEVELS.set(LEVELS.get() - 1);
    }
}

fn cut() {
    CUTS.set(CUTS.get() + 1);
    STACK.with_borrow_mut(|stack| {
        for (_, outcome) in stack {
            if *outcome == Outcome::Sound {
                *outcome = Outcome::Cut;
            }
        }
    });
}

/// Pops its question, also when the thread unwinds.
struct Frame;

impl Frame {
    fn enter(question: Question) -> Option<Frame> {
        let depth = STACK.with_borrow_mut(|stack| {
            if let Some(first) = stack.iter().position(|(other, _)| *other == question) {
                for (_, outcome) in &mut stack[first..] {
                    *outcome = Outcome::Cyclic;
                }
                return None;
            }
            Some(stack.len())
        })?;
        if depth >= MAX_QUESTIONS || CUT.with_borrow(|cut| cut.contains(&question)) {
            cut();
            return None;
        }
        STACK.with_borrow_mut(|stack| stack.push((question, Outcome::Sound)));
        Some(Frame)
    }

    fn leave(self) -> Outcome {
        STACK.with_borrow(|stack| stack.last().map_or(Outcome::Sound, |(_, outcome)| *outcome))
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let (left, empty) = STACK.with_borrow_mut(|stack| (stack.pop(), stack.is_empty()));
        CUT.with_borrow_mut(|cut| match left {
            _ if empty => cut.clear(),
            Some((question, Outcome::Cut)) => {
                cut.insert(question);
            }
            _ => {}
        });
    }
}
