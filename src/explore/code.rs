//! The program as an exploration reads it: it is remembered which functions were looked at, so that
//! whoever explores from the same root later can tell whether the answer would be the same.

use std::cell::Cell;
use std::ops::Deref;

use crate::program::Program;
use crate::program::code::{Func, FuncId};

/// A program, and which of its functions were looked at.
#[derive(Clone, Copy)]
pub(super) struct Code<'p> {
    program: &'p Program,
    looked_at: &'p [Cell<bool>],
}

impl<'p> Code<'p> {
    /// `looked_at` has a place for each function.
    pub fn new(program: &'p Program, looked_at: &'p [Cell<bool>]) -> Code<'p> {
        Code { program, looked_at }
    }

    /// The function `id`.
    pub fn func(self, id: FuncId) -> &'p Func {
        self.looked_at[id.0 as usize].set(true);
        self.program.func(id)
    }

    /// What is no function's.
    pub fn all(self) -> &'p Program {
        self.program
    }
}

impl Deref for Code<'_> {
    type Target = Program;

    fn deref(&self) -> &Program {
        self.program
    }
}
