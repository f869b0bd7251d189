//! Facts that hold at each step, by iteration to a fixed point; and the deferred calls that are
//! registered, as the instance that every rule about exits needs.

use std::collections::BTreeSet;

use crate::flow::{BlockId, Cfg, Edge, Step, StepId};

/// A forward analysis over a join-semilattice.
pub trait Forward {
    /// What is known at one point. Growing by [`Forward::join`], it must reach an end.
    type State: Clone;

    /// What is known at the beginning of the body.
    fn entry(&self) -> Self::State;

    /// Adds what another path knows to `into`; says whether that changed it.
    fn join(&self, into: &mut Self::State, from: &Self::State) -> bool;

    /// What a step makes of the state.
    fn step(&self, state: &mut Self::State, step: StepId);

    /// What is known after taking an edge; `None` if it cannot be taken.
    fn edge(&self, state: &Self::State, edge: &Edge) -> Option<Self::State> {
        let _ = edge;
        Some(state.clone())
    }
}

/// What a [`Forward`] analysis found.
#[derive(Clone, Debug)]
pub struct Solution<S> {
    /// What is known at the beginning of each block; `None` if no path comes there.
    entries: Vec<Option<S>>,
}

impl<S: Clone> Solution<S> {
    /// What is known at the beginning of a block; `None` if no path comes there.
    pub fn at_entry(&self, block: BlockId) -> Option<&S> {
        self.entries[block.0 as usize].as_ref()
    }

    /// What is known right before a step.
    pub fn before<A: Forward<State = S>>(
        &self,
        cfg: &Cfg,
        analysis: &A,
        step: StepId,
    ) -> Option<S> {
        let block = cfg.block_of(step);
        let mut state = self.at_entry(block)?.clone();
        cfg.pass(cfg.steps_of(block).take_while(|&earlier| earlier < step).count());
        cfg.steps_of(block)
            .take_while(|&earlier| earlier < step)
            .for_each(|earlier| analysis.step(&mut state, earlier));
        Some(state)
    }

    /// What is known after the last step of a block.
    pub fn at_end<A: Forward<State = S>>(
        &self,
        cfg: &Cfg,
        analysis: &A,
        block: BlockId,
    ) -> Option<S> {
        let mut state = self.at_entry(block)?.clone();
        cfg.pass(cfg.steps_of(block).count());
        cfg.steps_of(block).for_each(|step| analysis.step(&mut state, step));
        Some(state)
    }
}

/// How often a block is visited on average before an analysis is given up.
const VISITS_PER_BLOCK: usize = 64;

/// The deferred calls that are registered at one point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deferred {
    /// Registered on every path that comes there.
    pub must: Vec<StepId>,
    /// Registered on some path that comes there, `must` included; each once, although a `defer` in
    /// a loop registers its call as often as it is passed.
    pub may: Vec<StepId>,
}

impl Cfg {
    /// Iterates `analysis` until nothing changes; `None` if that takes too many steps.
    pub fn solve<A: Forward>(&self, analysis: &A) -> Option<Solution<A::State>> {
        let mut entries: Vec<Option<A::State>> = vec![None; self.blocks.len()];
        entries[Cfg::ENTRY.0 as usize] = Some(analysis.entry());
        // Blocks stand in reverse postorder, so the lowest is the one to visit next.
        let mut open = BTreeSet::from([Cfg::ENTRY]);
        let mut visits = VISITS_PER_BLOCK.saturating_mul(self.blocks.len());
        while let Some(block) = open.pop_first() {
            visits = visits.checked_sub(1)?;
            let mut state =
                entries[block.0 as usize].clone().expect("a block is opened with a state");
            self.pass(1 + self.steps_of(block).count() + self.edges_of(block).len());
            self.steps_of(block).for_each(|step| analysis.step(&mut state, step));
            for edge in self.edges_of(block) {
                let Some(next) = analysis.edge(&state, edge) else { continue };
                let changed = match &mut entries[edge.to.0 as usize] {
                    Some(known) => analysis.join(known, &next),
                    unknown => {
                        *unknown = Some(next);
                        true
                    }
                };
                if changed {
                    open.insert(edge.to);
                }
            }
        }
        Some(Solution { entries })
    }

    /// The `defer` statements ([`Step::Defer`]) whose calls run when the function is left at the
    /// end of `block`, in the order of the text; they run in the reverse of the order in which
    /// they were passed. Of a function with very many, `must` may be too small and `may` is all.
    pub fn deferred_at(&self, block: BlockId) -> Deferred {
        let all: Vec<StepId> =
            self.steps().filter(|&step| matches!(self.step(step), Step::Defer(_))).collect();
        if all.is_empty() {
            return Deferred::default();
        }
        let analysis = Registered { all: &all };
        let Some(solution) = self.solve(&analysis) else {
            return Deferred { must: Vec::new(), may: all };
        };
        let state = solution.at_end(self, &analysis, block);
        let chosen = |flags: &[bool]| {
            all.iter().zip(flags).filter(|(_, flag)| **flag).map(|(&step, _)| step).collect()
        };
        state.map_or_else(Deferred::default, |(must, may)| Deferred {
            must: chosen(&must),
            may: chosen(&may),
        })
    }
}

struct Registered<'a> {
    all: &'a [StepId],
}

impl Forward for Registered<'_> {
    /// Which of `all` are registered on every path, and which on some.
    type State = (Vec<bool>, Vec<bool>);

    fn entry(&self) -> Self::State {
        (vec![false; self.all.len()], vec![false; self.all.len()])
    }

    fn join(&self, (must, may): &mut Self::State, from: &Self::State) -> bool {
        let mut changed = false;
        for (into, &from) in must.iter_mut().zip(&from.0) {
            changed |= *into && !from;
            *into &= from;
        }
        for (into, &from) in may.iter_mut().zip(&from.1) {
            changed |= !*into && from;
            *into |= from;
        }
        changed
    }

    fn step(&self, (must, may): &mut Self::State, step: StepId) {
        if let Ok(index) = self.all.binary_search(&step) {
            must[index] = true;
            may[index] = true;
        }
    }
}
