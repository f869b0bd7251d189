//! Names as numbers. One table for the whole process, so that names of different files compare
//! by number; the text lives as long as the process does.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::{LazyLock, RwLock};

use rustc_hash::{FxBuildHasher, FxHashMap};

/// An interned name. Equal names have equal symbols in the whole process; their order is the
/// order in which they were first met, so results are never sorted by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol(u32);

const SHARD_BITS: u32 = 4;
const SHARDS: usize = 1 << SHARD_BITS;

#[derive(Default)]
struct Shard {
    numbers: FxHashMap<&'static str, u32>,
    names: Vec<&'static str>,
}

static TABLE: LazyLock<[RwLock<Shard>; SHARDS]> = LazyLock::new(Default::default);

impl Symbol {
    /// The symbol of `name`.
    pub fn new(name: &str) -> Symbol {
        let shard = (FxBuildHasher.hash_one(name) >> 32) as usize % SHARDS;
        let lock = &TABLE[shard];
        if let Some(&number) = read(lock).numbers.get(name) {
            return Symbol(number);
        }
        let mut table = lock.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(&number) = table.numbers.get(name) {
            return Symbol(number);
        }
        let number = (table.names.len() as u32) << SHARD_BITS | shard as u32;
        let name: &'static str = String::from(name).leak();
        table.names.push(name);
        table.numbers.insert(name, number);
        Symbol(number)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        let shard = self.0 as usize % SHARDS;
        read(&TABLE[shard]).names[(self.0 >> SHARD_BITS) as usize]
    }

    /// Whether this is `_`.
    pub fn is_blank(self) -> bool {
        self.as_str() == "_"
    }

    /// Whether the name is exported: its first character is an upper case letter
    /// (Go specification, "Exported identifiers").
    pub fn is_exported(self) -> bool {
        self.as_str().chars().next().is_some_and(char::is_uppercase)
    }
}

fn read(lock: &RwLock<Shard>) -> std::sync::RwLockReadGuard<'_, Shard> {
    lock.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_equal_symbols() {
        assert_eq!(Symbol::new("ctx"), Symbol::new("ctx"));
        assert_ne!(Symbol::new("ctx"), Symbol::new("ctx2"));
        assert_eq!(Symbol::new("ctx2").as_str(), "ctx2");
        assert!(Symbol::new("Écran").is_exported());
    }
}
