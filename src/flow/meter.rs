//! A bound on the work of one question: how many steps its walks and fixpoints pass.
//!
//! Each of them ends by itself; but a check may ask them of each statement of a function, and somebody may
//! write ten thousand statements. So whoever asks for a check gives it a number of steps ([`within`]). The
//! check that needs more is given up as a whole: what it would have said is not known. Steps are counted
//! and no clock is read, so that every machine says the same. What is worked out once for all
//! checks ([`apart`]) counts for none of them, since nobody knows which comes first.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

use crate::flow::Cfg;
use crate::source::Location;

thread_local! {
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// That a check has used up its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedUp {
    /// The name of the function whose graph took the last of them.
    pub function: Option<Location>,
}

/// What `work` gives with so many steps for all that it asks of graphs.
pub fn within<T>(steps: u64, work: impl FnOnce() -> T) -> Result<T, UsedUp> {
    let result = with(Some(steps), || panic::catch_unwind(AssertUnwindSafe(work)));
    result.map_err(|payload| match payload.downcast::<UsedUp>() {
        Ok(used_up) => *used_up,
        Err(other) => panic::resume_unwind(other),
    })
}

/// Work that no check is charged with.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    with(None, work)
}

fn with<T>(steps: Option<u64>, work: impl FnOnce() -> T) -> T {
    struct Before(Option<u64>);
    impl Drop for Before {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }
    let _before = Before(LEFT.replace(steps));
    work()
}

impl Cfg {
    /// Counts steps that are passed in this graph.
    pub(super) fn pass(&self, steps: usize) {
        let Some(left) = LEFT.get() else { return };
        match left.checked_sub(steps as u64) {
            Some(left) => LEFT.set(Some(left)),
            None => panic::resume_unwind(Box::new(UsedUp { function: self.function })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_panics_go_on() {
        let caught = panic::catch_unwind(|| within(1, || panic::resume_unwind(Box::new(7))));
        let payload = caught.map(|_: Result<(), UsedUp>| ()).expect_err("a panic");
        assert_eq!(payload.downcast_ref(), Some(&7));
    }
}
