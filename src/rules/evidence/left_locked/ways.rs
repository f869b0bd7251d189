//! Ways through the graph of a function that locks.

use rustc_hash::FxHashSet;

use crate::flow::{BlockId, Cfg, Exit, Passing, StepId, Walk};

/// Looks for a way to the lock on which a deferred call comes first that unlocks it.
pub(super) struct Covered<'c> {
    pub deferred: &'c FxHashSet<StepId>,
    pub lock: StepId,
}

impl Walk for Covered<'_> {
    type State = bool;

    fn step(&mut self, covered: &bool, step: StepId) -> Passing<bool> {
        match step == self.lock && *covered {
            true => Passing::Found,
            false => Passing::On(*covered || self.deferred.contains(&step)),
        }
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, _: &bool, _: Exit) -> bool {
        false
    }
}

/// The blocks that a path to a step may still begin in.
pub(super) fn leading_to(cfg: &Cfg, step: StepId) -> FxHashSet<BlockId> {
    let mut leads = FxHashSet::from_iter([cfg.block_of(step)]);
    let mut changed = true;
    while changed {
        changed = false;
        for block in cfg.blocks().rev() {
            if cfg.edges_of(block).iter().any(|edge| leads.contains(&edge.to)) {
                changed |= leads.insert(block);
            }
        }
    }
    leads
}
