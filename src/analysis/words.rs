//! Which packages of a run hold a word: the check of a package may look for code by a name in all of
//! them, and its answers then depend on those that have it.

use std::collections::BTreeSet;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::cache::{Hasher, Key};
use crate::index::is_of_word;
use crate::project::{PackageId, Snapshot};
use crate::source::FileId;

/// The words of a run that were looked for, by package.
pub struct Words<'n> {
    numbers: FxHashMap<&'n [u8], u32>,
    packages: Vec<BTreeSet<u32>>,
}

impl<'n> Words<'n> {
    /// Looks for `names` in all files of `snapshot`.
    pub fn find(snapshot: &Snapshot, names: impl Iterator<Item = &'n str>) -> Words<'n> {
        let mut numbers: FxHashMap<&'n [u8], u32> = FxHashMap::default();
        for name in names {
            let next = numbers.len() as u32;
            numbers.entry(name.as_bytes()).or_insert(next);
        }
        // For each first byte the lengths of the words, modulo 64.
        let mut lengths = [0u64; 256];
        for name in numbers.keys().filter(|name| !name.is_empty()) {
            lengths[name[0] as usize] |= 1 << (name.len() % 64);
        }
        let in_text = |text: &[u8]| -> Vec<u32> {
            let mut found = vec![false; numbers.len()];
            for word in words(text) {
                if lengths[word[0] as usize] >> (word.len() % 64) & 1 == 1
                    && let Some(&number) = numbers.get(word)
                {
                    found[number as usize] = true;
                }
            }
            (0..).zip(found).filter(|(_, is_found)| *is_found).map(|(number, _)| number).collect()
        };
        let files: Vec<Vec<u32>> = match numbers.is_empty() {
            true => vec![Vec::new(); snapshot.files.len()],
            false => snapshot.files.par_iter().map(|file| in_text(file.text.bytes())).collect(),
        };
        let of_package = |files_of: &[FileId]| {
            files_of.iter().flat_map(|file| files[file.0 as usize].iter().copied()).collect()
        };
        let packages = snapshot.packages.iter().map(|package| of_package(&package.files));
        Words { packages: packages.collect(), numbers }
    }

    /// The key of all that is looked at for `names`: the packages that hold one of them, in the
    /// order in which they are looked at; `None` if one of these has no key.
    pub fn key<'a>(
        &self,
        names: impl ExactSizeIterator<Item = &'a str>,
        order: &[PackageId],
        sources: &[Option<Key>],
    ) -> Option<Key> {
        let mut hasher = Hasher::new("words").number(names.len() as u64);
        if names.len() == 0 {
            return Some(hasher.finish());
        }
        let mut wanted = BTreeSet::new();
        for name in names {
            hasher = hasher.text(name);
            wanted.extend(self.numbers.get(name.as_bytes()));
        }
        for &package in order {
            let place = package.0 as usize;
            if !self.packages[place].is_disjoint(&wanted) {
                hasher = hasher.key(sources[place]?);
            }
        }
        Some(hasher.finish())
    }
}

/// The names, keywords and numbers in a text, in comments and strings too.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    const OF_WORD: [bool; 256] = {
        let mut all = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            all[byte] = is_of_word(&(byte as u8));
            byte += 1;
        }
        all
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.iter().position(|&byte| OF_WORD[byte as usize])?;
        let word = &rest[start..];
        let end = word.iter().position(|&byte| !OF_WORD[byte as usize]).unwrap_or(word.len());
        rest = &word[end..];
        Some(&word[..end])
    })
}
