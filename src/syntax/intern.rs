//! Names as numbers. One table for the whole process, so that names of different files compare
//! by number; the text lives as long as the process does.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::{LazyLock, OnceLock, RwLock, RwLockWriteGuard};

use rustc_hash::{FxBuildHasher, FxHashMap};

/// An interned name. Equal names have equal symbols in the whole process; their order is the
/// order in which they were first met, so results are never sorted by it. The default is the empty
/// name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Symbol(u32);

const SHARD_BITS: u32 = 4;
const SHARDS: usize = 1 << SHARD_BITS;
/// A chunk of names has `1 << n` of them, for `n` from here on: names never move, so that they are
/// read without a lock.
const FIRST_CHUNK_BITS: u32 = 6;
const CHUNKS: usize = (u32::BITS - SHARD_BITS - FIRST_CHUNK_BITS) as usize;

type Chunk = Box<[OnceLock<&'static str>]>;

#[derive(Default)]
struct Shard {
    numbers: RwLock<FxHashMap<&'static str, u32>>,
    names: [OnceLock<Chunk>; CHUNKS],
}

static TABLE: LazyLock<[Shard; SHARDS]> = LazyLock::new(|| {
    let table: [Shard; SHARDS] = Default::default();
    let mut numbers = write(&table[0].numbers);
    table[0].append(&mut numbers, "");
    table[0].append(&mut numbers, BLANK_NAME);
    drop(numbers);
    table
});

/// The blank identifier, which has a place of its own: it is asked for everywhere.
const BLANK_NAME: &str = "_";
const BLANK: Symbol = Symbol(1 << SHARD_BITS);

impl Symbol {
    /// The symbol of `name`.
    pub fn new(name: &str) -> Symbol {
        if name.is_empty() {
            return Symbol::default();
        }
        if name == BLANK_NAME {
            return BLANK;
        }
        let number = (FxBuildHasher.hash_one(name) >> 32) as usize % SHARDS;
        let shard = &TABLE[number];
        let known = |numbers: &FxHashMap<&str, u32>| numbers.get(name).copied();
        let read = known(&shard.numbers.read().unwrap_or_else(|poisoned| poisoned.into_inner()));
        let place = read.unwrap_or_else(|| {
            let mut numbers = write(&shard.numbers);
            known(&numbers).unwrap_or_else(|| shard.append(&mut numbers, name))
        });
        Symbol(place << SHARD_BITS | number as u32)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        let (chunk, place) = in_chunk(self.0 >> SHARD_BITS);
        let chunk = TABLE[self.0 as usize % SHARDS].names[chunk].get();
        let name = chunk.and_then(|chunk| chunk[place].get());
        name.expect("a symbol is made with its name")
    }

    /// Whether this is `_`.
    pub fn is_blank(self) -> bool {
        self == BLANK
    }

    /// Whether the name is exported: its first character is an upper case letter
    /// (Go specification, "Exported identifiers").
    pub fn is_exported(self) -> bool {
        self.as_str().chars().next().is_some_and(char::is_uppercase)
    }
}

impl Shard {
    /// Adds a name, under the lock of the numbers, and gives its place.
    fn append(&self, numbers: &mut FxHashMap<&'static str, u32>, name: &str) -> u32 {
        let number = numbers.len() as u32;
        let name: &'static str = String::from(name).leak();
        let (chunk, place) = in_chunk(number);
        let len = 1 << (chunk as u32 + FIRST_CHUNK_BITS);
        let names = self.names[chunk].get_or_init(|| (0..len).map(|_| OnceLock::new()).collect());
        names[place].get_or_init(|| name);
        numbers.insert(name, number);
        number
    }
}

/// The chunk that holds a name, and its place there.
fn in_chunk(number: u32) -> (usize, usize) {
    let from_first = number + (1 << FIRST_CHUNK_BITS);
    let bits = u32::BITS - 1 - from_first.leading_zeros();
    ((bits - FIRST_CHUNK_BITS) as usize, (from_first - (1 << bits)) as usize)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(|poisoned| poisoned.into_inner())
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
        assert_eq!(Symbol::new(""), Symbol::default());
        assert_eq!(Symbol::default().as_str(), "");
        assert!(Symbol::new("_").is_blank() && !Symbol::new("__").is_blank());
        assert_eq!(Symbol::new("_").as_str(), "_");
    }

    #[test]
    fn many_names_keep_their_text() {
        let name = |number: u32| format!("many{number}");
        let symbols: Vec<Symbol> = (0..5000).map(|number| Symbol::new(&name(number))).collect();
        for (number, symbol) in (0..).zip(symbols) {
            assert_eq!(symbol.as_str(), name(number));
            assert_eq!(symbol, Symbol::new(&name(number)));
        }
    }
}
