//! What the current thread looks at of packages, beside what these declare: so it is known what that
//! rests on which it finds out.

use std::cell::RefCell;

use rustc_hash::FxHashSet;

use crate::source::FileId;

use super::FuncId;

/// What somebody has looked at of the packages of a run, beside what they declare.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// Files that were looked at as a whole.
    pub files: FxHashSet<FileId>,
    /// Declared functions that were looked at, with the comments around them: where they start in their files.
    pub bodies: FxHashSet<(FileId, u32)>,
    /// Functions of which somebody else has found out what a call does.
    pub called: FxHashSet<FuncId>,
    /// Functions that were looked at with what is known of those that they call.
    pub read: FxHashSet<FuncId>,
}

impl Reads {
    /// Adds what was looked at elsewhere.
    pub fn add(&mut self, other: Reads) {
        self.files.extend(other.files);
        self.bodies.extend(other.bodies);
        self.called.extend(other.called);
        self.read.extend(other.read);
    }
}

thread_local! {
    static READS: RefCell<Option<Reads>> = const { RefCell::new(None) };
}

/// What `work` gives, and what it looked at.
pub fn noting<T>(work: impl FnOnce() -> T) -> (T, Reads) {
    let mut before = Before(READS.replace(Some(Reads::default())));
    let result = work();
    let reads = READS.replace(before.0.take()).unwrap_or_default();
    std::mem::forget(before);
    (result, reads)
}

/// Restores what was noted before, also when the thread unwinds.
struct Before(Option<Reads>);

impl Drop for Before {
    fn drop(&mut self) {
        READS.set(self.0.take());
    }
}

/// Notes that all of a file may be looked at.
pub fn file(file: FileId) {
    note(|reads| {
        reads.files.insert(file);
    });
}

/// Notes that the function that starts at `start` is looked at.
pub fn body(file: FileId, start: u32) {
    note(|reads| {
        reads.bodies.insert((file, start));
    });
}

/// Notes that it was asked what a call of a function does.
pub fn called(func: FuncId) {
    note(|reads| {
        reads.called.insert(func);
    });
}

/// Notes that a function is looked at with what is known of those that it calls.
pub fn read(func: FuncId) {
    note(|reads| {
        reads.read.insert(func);
    });
}

fn note(add: impl FnOnce(&mut Reads)) {
    READS.with_borrow_mut(|reads| {
        if let Some(reads) = reads {
            add(reads);
        }
    });
}
