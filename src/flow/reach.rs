//! Which steps can come after which. What can come after a block is worked out when it is asked for first.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::flow::{BlockId, Cfg, StepId};

/// The blocks that can come after a block, as bits, of those that were asked about. It is no part of what
/// a graph is: a copy begins anew.
#[derive(Debug, Default)]
pub(super) struct Reachable(Mutex<FxHashMap<BlockId, Arc<[u64]>>>);

impl Clone for Reachable {
    fn clone(&self) -> Reachable {
        Reachable::default()
    }
}

/// So many words of bits are kept for a graph. Those of a larger one are worked out again.
const KEPT_WORDS: usize = 1 << 18;

impl Cfg {
    /// Whether `to` can come after `from`; after itself if the two are the same.
    pub fn reaches(&self, from: StepId, to: StepId) -> bool {
        let (first, last) = (self.block_of(from), self.block_of(to));
        first == last && from < to || {
            let (word, bit) = place(last);
            self.after(first)[word] & bit != 0
        }
    }

    /// The blocks that can come after a block.
    fn after(&self, block: BlockId) -> Arc<[u64]> {
        let known = || self.reachable.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bits) = known().get(&block) {
            return Arc::clone(bits);
        }
        let mut bits = vec![0; self.blocks.len().div_ceil(64)];
        let mut open = vec![block];
        while let Some(block) = open.pop() {
            for edge in self.edges_of(block) {
                let (word, bit) = place(edge.to);
                if bits[word] & bit == 0 {
                    bits[word] |= bit;
                    open.push(edge.to);
                }
            }
        }
        let bits: Arc<[u64]> = bits.into();
        let mut known = known();
        if (known.len() + 1) * bits.len() <= KEPT_WORDS {
            known.insert(block, Arc::clone(&bits));
        }
        bits
    }
}

/// The word that holds the bit of a block, and the bit.
fn place(block: BlockId) -> (usize, u64) {
    (block.0 as usize / 64, 1 << (block.0 % 64))
}
