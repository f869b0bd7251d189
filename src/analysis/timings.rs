//! Where the time of a run goes, for whoever wants to know. Nothing of it is part of a report, which
//! says the same on every machine.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::rules::stuck;

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
    /// Exploring from each root, in no order.
    pub roots: Vec<Duration>,
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

impl Taken {
    /// How long exploring from a root took at most, for so many hundredths of the roots each; `None` if none was
    /// explored.
    pub fn of_roots<const N: usize>(&self, hundredths: [usize; N]) -> Option<[Duration; N]> {
        let mut roots = self.roots.clone();
        roots.sort_unstable();
        let last = roots.len().checked_sub(1)?;
        Some(hundredths.map(|part| roots[last * part / 100]))
    }
}

impl Timings {
    /// What was taken so far.
    pub fn taken(&self) -> Taken {
        self.held().clone()
    }

    /// Does the work of a phase.
    pub fn phase<T>(timings: Option<&Timings>, name: &'static str, work: impl FnOnce() -> T) -> T {
        timed(timings, work, |taken, _, time| taken.phases.push((name, time)))
    }

    /// Does the work of a rule.
    pub(super) fn rule<T>(
        timings: Option<&Timings>,
        rule: &'static str,
        work: impl FnOnce() -> T,
    ) -> T {
        timed(timings, work, |taken, _, time| *taken.rules.entry(rule).or_default() += time)
    }

    /// Does the work of exploring.
    pub(super) fn exploring<T>(timings: Option<&Timings>, work: impl FnOnce() -> T) -> T {
        timed(timings, work, |taken, _, time| taken.exploring += time)
    }

    /// Counts one root, from which `explore` explores.
    pub(super) fn root(
        timings: Option<&Timings>,
        explore: impl FnOnce() -> stuck::Explored,
    ) -> stuck::Explored {
        timed(timings, explore, |taken, root, time| {
            taken.roots.push(time);
            let explored = &mut taken.explored;
            explored.complete += u64::from(root.complete);
            explored.cut += u64::from(!root.complete);
            explored.states += root.states;
            explored.steps += root.steps;
        })
    }

    fn held(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn timed<T>(
    timings: Option<&Timings>,
    work: impl FnOnce() -> T,
    count: impl FnOnce(&mut Taken, &T, Duration),
) -> T {
    let Some(timings) = timings else { return work() };
    let start = Instant::now();
    let done = work();
    let time = start.elapsed();
    count(&mut timings.held(), &done, time);
    done
}
