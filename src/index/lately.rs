//! What was worked out of functions lately.

use std::collections::hash_map::Entry;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Values that were asked for lately: half of them go when there are too many.
#[derive(Debug)]
pub struct Lately<K, T> {
    young: FxHashMap<K, T>,
    old: FxHashMap<K, T>,
    /// So many are young at most.
    bound: usize,
}

impl<K: Copy + Eq + Hash, T: Clone> Lately<K, T> {
    /// Room for twice as many as `bound` says.
    pub fn new(bound: usize) -> Lately<K, T> {
        Lately { young: FxHashMap::default(), old: FxHashMap::default(), bound }
    }

    /// One of them, which is young again.
    pub fn get(&mut self, key: K) -> Option<T> {
        if let Some(young) = self.young.get(&key) {
            return Some(young.clone());
        }
        let old = self.old.remove(&key)?;
        Some(self.insert(key, old))
    }

    /// Adds one and gives it, or the one that is there.
    pub fn insert(&mut self, key: K, value: T) -> T {
        if self.young.len() >= self.bound {
            self.old = std::mem::take(&mut self.young);
        }
        match self.young.entry(key) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(room) => room.insert(value).clone(),
        }
    }
}
