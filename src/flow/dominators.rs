//! Which steps always come before which, by Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
//! Algorithm" (2001): blocks stand in reverse postorder already.

use crate::flow::{BlockId, Cfg, StepId};

/// For each block the one that comes right before it on every path.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// The entry dominates itself.
    immediate: Vec<BlockId>,
}

impl Dominators {
    /// The dominators of a graph.
    pub fn new(cfg: &Cfg) -> Dominators {
        const NONE: BlockId = BlockId(u32::MAX);
        let count = cfg.blocks().count();
        let mut sources: Vec<Vec<BlockId>> = vec![Vec::new(); count];
        for block in cfg.blocks() {
            for edge in cfg.edges_of(block) {
                sources[edge.to.0 as usize].push(block);
            }
        }
        let mut immediate = vec![NONE; count];
        immediate[Cfg::ENTRY.0 as usize] = Cfg::ENTRY;
        let mut changed = true;
        while changed {
            changed = false;
            for block in cfg.blocks().skip(1) {
                let known = sources[block.0 as usize]
                    .iter()
                    .copied()
                    .filter(|source| immediate[source.0 as usize] != NONE);
                let Some(new) = known.reduce(|a, b| common(&immediate, a, b)) else { continue };
                changed |= std::mem::replace(&mut immediate[block.0 as usize], new) != new;
            }
        }
        Dominators { immediate }
    }

    /// Whether every path from the entry to `below` passes `above` first; a step dominates itself.
    pub fn dominates(&self, cfg: &Cfg, above: StepId, below: StepId) -> bool {
        let (above_block, mut block) = (cfg.block_of(above), cfg.block_of(below));
        if above_block == block {
            return above <= below;
        }
        while block > above_block {
            block = self.immediate[block.0 as usize];
        }
        block == above_block
    }
}

/// The last block that comes before both.
fn common(immediate: &[BlockId], mut a: BlockId, mut b: BlockId) -> BlockId {
    while a != b {
        while a > b {
            a = immediate[a.0 as usize];
        }
        while b > a {
            b = immediate[b.0 as usize];
        }
    }
    a
}
