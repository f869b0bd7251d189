//! Where the time of a run goes, for whoever wants to know. Nothing of it is part of a report, which
//! says the same on every machine.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a run took, counted up by it.
#[derive(Debug, Default)]
pub struct Timings(Mutex<Taken>);

/// What was taken.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// The phases in their order, by the clock.
    pub phases: Vec<(&'static str, Duration)>,
    /// The checks by rule, summed over all threads. What is known of functions is worked out when a
    /// rule first asks for it, and counts as that rule's.
    pub rules: BTreeMap<&'static str, Duration>,
    /// Exploring, summed over all threads.
    pub exploring: Duration,
    /// What was explored.
    pub explored: Explored,
}

/// How much was explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Roots of which every state was seen.
    pub complete: u64,
    /// Roots at which a bound was reached.
    pub cut: u64,
    /// States.
    pub states: u64,
    /// Instructions.
    pub steps: u64,
}

impl Timings {
    /// What was taken so far.
    pub fn taken(&self) -> Taken {
        self.held().clone()
    }

    /// Does the work of a phase.
    pub fn phase<T>(timings: Option<&Timings>, name: &'static str, work: impl FnOnce() -> T) -> T {
        timed(timings, work, |taken, time| taken.phases.push((name, time)))
    }

    /// Does the work of a rule.
    pub(super) fn rule<T>(
        timings: Option<&Timings>,
        rule: &'static str,
        work: impl FnOnce() -> T,
    ) -> T {
        timed(timings, work, |taken, time| *taken.rules.entry(rule).or_default() += time)
    }

    /// Does the work of exploring.
    pub(super) fn exploring<T>(timings: Option<&Timings>, work: impl FnOnce() -> T) -> T {
        timed(timings, work, |taken, time| taken.exploring += time)
    }

    /// Counts one root.
    pub(super) fn explored(&self, complete: bool, states: u64, steps: u64) {
        let explored = &mut self.held().explored;
        explored.complete += u64::from(complete);
        explored.cut += u64::from(!complete);
        explored.states += states;
        explored.steps += steps;
    }

    fn held(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn timed<T>(
    timings: Option<&Timings>,
    work: impl FnOnce() -> T,
    count: impl FnOnce(&mut Taken, Duration),
) -> T {
    let Some(timings) = timings else { return work() };
    let start = Instant::now();
    let done = work();
    count(&mut timings.held(), start.elapsed());
    done
}
