//! Which packages of a run hold a word: the check of a package may look for code by a name in all of
//! them, and its answers then depend on those that have it.
//!
//! What is found is kept in one table for each set of packages, by the keys of the files: a run reads those
//! files alone that have changed since. A row is never wrong, only unneeded.

use std::collections::BTreeSet;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cache::{Cache, Hasher, Key, Reader, Writer};
use crate::index::is_of_word;
use crate::project::{PackageId, Snapshot};

/// The files of a run, where what they hold is kept, and who they are.
#[derive(Clone, Copy)]
pub struct Texts<'t> {
    pub snapshot: &'t Snapshot,
    /// The keys of its files.
    pub files: &'t [Key],
    pub cache: &'t Cache,
    /// A part of all keys.
    pub base: Key,
}

/// The words of a run that were looked for, by package.
#[derive(Default)]
pub struct Words {
    numbers: FxHashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
    /// By file.
    rows: Vec<Row>,
    packages: Vec<Row>,
    /// Whether this is more than what is kept.
    is_new: bool,
}

/// The numbers of names, as bits.
#[derive(Clone, Debug, Default)]
struct Row(Vec<u8>);

/// What is kept: the names that were looked for, and which of them each file holds.
struct Table {
    names: Vec<Box<str>>,
    rows: FxHashMap<Key, Row>,
}

impl Words {
    /// Looks for `names` in all files: in those that are not kept as they are now.
    pub fn recall<'n>(texts: Texts<'_>, names: impl Iterator<Item = &'n str>) -> Words {
        let wanted: FxHashSet<&str> = names.collect();
        let table = texts.cache.load(place(texts)).and_then(|bytes| Table::read(&bytes));
        // Names that nobody asks for any more go when they are too many.
        let is_lean = |table: &Table| table.names.len() / 2 <= wanted.len();
        let mut words = match table.filter(is_lean) {
            Some(table) => Words::of_table(texts, &table),
            None => Words::default(),
        };
        words.find(texts, wanted.into_iter());
        words
    }

    fn of_table(texts: Texts<'_>, table: &Table) -> Words {
        let mut words = Words::default();
        words.add_names(table.names.iter().map(|name| &**name));
        let search = words.search(0);
        let files = texts.files.par_iter().zip(&texts.snapshot.files);
        let rows = files.map(|(key, file)| match table.rows.get(key) {
            Some(row) => (row.clone(), false),
            None => (search.in_text(file.text.bytes()), true),
        });
        let (rows, is_new): (Vec<Row>, Vec<bool>) = rows.unzip();
        words.is_new = is_new.contains(&true);
        words.rows = rows;
        words.join(texts.snapshot);
        words
    }

    /// Looks for `names` too.
    pub fn find<'n>(&mut self, texts: Texts<'_>, names: impl Iterator<Item = &'n str>) {
        let first = self.names.len();
        self.add_names(names);
        if self.names.len() == first {
            return;
        }
        let search = self.search(first);
        let files = texts.snapshot.files.par_iter();
        let found: Vec<Row> = files.map(|file| search.in_text(file.text.bytes())).collect();
        self.is_new = true;
        self.rows.resize_with(found.len(), Row::default);
        self.rows.iter_mut().zip(&found).for_each(|(row, found)| row.extend(found));
        self.join(texts.snapshot);
    }

    /// Keeps what was found, if it was not known before.
    pub fn keep(&self, texts: Texts<'_>) {
        if !self.is_new {
            return;
        }
        let mut writer = Writer::default();
        writer.list(self.names.iter(), |writer, name| writer.text(name));
        writer.list(texts.files.iter().zip(&self.rows), |writer, (key, Row(bits))| {
            writer.data(key.bytes());
            writer.data(bits);
        });
        texts.cache.remember(place(texts), &writer.into_bytes());
    }

    /// The packages of which other words are kept than those that were found here, where nothing was
    /// recalled.
    pub fn wrong(&self, texts: Texts<'_>) -> Vec<PackageId> {
        let bytes = texts.cache.load(place(texts));
        let Some(table) = bytes.and_then(|bytes| Table::read(&bytes)) else { return Vec::new() };
        let is_wrong = |file: usize| {
            let differs = |row: &Row, (number, name): (u32, &str)| {
                let found = self.numbers.get(name);
                found.is_some_and(|&found| self.rows[file].has(found) != row.has(number))
            };
            let row = table.rows.get(&texts.files[file]);
            row.is_some_and(|row| {
                (0..).zip(table.names.iter().map(|name| &**name)).any(|name| differs(row, name))
            })
        };
        let is_wrong: Vec<bool> = (0..self.rows.len()).into_par_iter().map(is_wrong).collect();
        let packages = texts.snapshot.packages.iter();
        let wrong = packages.filter(|package| {
            package.files.iter().any(|file| is_wrong.get(file.0 as usize) == Some(&true))
        });
        wrong.map(|package| package.id).collect()
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
        let mut wanted = Row::default();
        for name in names {
            hasher = hasher.text(name);
            if let Some(&number) = self.numbers.get(name) {
                wanted.add(number);
            }
        }
        for &package in order {
            let place = package.0 as usize;
            if self.packages.get(place).is_some_and(|held| held.meets(&wanted)) {
                hasher = hasher.key(sources[place]?);
            }
        }
        Some(hasher.finish())
    }

    fn add_names<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for name in names {
            if !self.numbers.contains_key(name) {
                self.numbers.insert(name.into(), self.names.len() as u32);
                self.names.push(name.into());
            }
        }
    }

    /// For the names from the number `first` on.
    fn search(&self, first: usize) -> Search<'_> {
        let mut search = Search { numbers: FxHashMap::default(), lengths: [0; 256] };
        for (name, number) in self.names[first..].iter().zip(first as u32..) {
            if let Some(&start) = name.as_bytes().first() {
                search.numbers.insert(name.as_bytes(), number);
                search.lengths[usize::from(start)] |= 1 << (name.len() % 64);
            }
        }
        search
    }

    fn join(&mut self, snapshot: &Snapshot) {
        let join = |files: &[crate::source::FileId]| {
            let mut joined = Row::default();
            files.iter().for_each(|file| joined.extend(&self.rows[file.0 as usize]));
            joined
        };
        self.packages = snapshot.packages.iter().map(|package| join(&package.files)).collect();
    }
}

/// Where the table of a run is kept.
fn place(texts: Texts<'_>) -> Key {
    let dirs: BTreeSet<_> = texts.snapshot.packages.iter().map(|package| &package.dir).collect();
    let hasher = Hasher::new("table of words").key(texts.base);
    dirs.into_iter().fold(hasher, |hasher, dir| hasher.path(dir)).finish()
}

/// Names that are looked for.
struct Search<'n> {
    numbers: FxHashMap<&'n [u8], u32>,
    /// For each first byte the lengths of the names, modulo 64.
    lengths: [u64; 256],
}

impl Search<'_> {
    fn in_text(&self, text: &[u8]) -> Row {
        let mut found = Row::default();
        for word in words(text) {
            if self.lengths[usize::from(word[0])] >> (word.len() % 64) & 1 == 1
                && let Some(&number) = self.numbers.get(word)
            {
                found.add(number);
            }
        }
        found
    }
}

impl Row {
    fn add(&mut self, number: u32) {
        let place = number as usize / 8;
        if self.0.len() <= place {
            self.0.resize(place + 1, 0);
        }
        self.0[place] |= 1 << (number % 8);
    }

    fn extend(&mut self, other: &Row) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    fn has(&self, number: u32) -> bool {
        self.0.get(number as usize / 8).is_some_and(|bits| bits >> (number % 8) & 1 == 1)
    }

    fn meets(&self, other: &Row) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }
}

impl Table {
    fn read(bytes: &[u8]) -> Option<Table> {
        let mut reader = Reader::new(bytes);
        let names = reader.list(|reader| Some(reader.text()?.into()))?;
        let rows = reader
            .list(|reader| Some((Key::read(reader.data()?)?, Row(reader.data()?.to_vec()))))?;
        reader.is_at_end().then(|| Table { names, rows: rows.into_iter().collect() })
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
