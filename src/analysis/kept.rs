//! Answers that former runs have kept, and those that this run keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::check::Answers;
use super::cutoff::{self, Again, Cutoff, State};
use super::facts::FileFacts;
use super::sources::Sources;
use super::stored::{self, Stored};
use super::words::{Texts, Words};
use super::{Run, internal_error, versions};
use crate::cache::{Cache, Hasher, Key, Reader, Writer};
use crate::diagnostic::{Finding, Note};
use crate::project::{Package, PackageId, Snapshot};
use crate::rules::registry;
use crate::source::FileId;

/// Where answers are kept, and what all of them depend on that no run can see.
#[derive(Clone, Copy, Debug)]
pub struct Keeping<'c> {
    /// Where.
    pub cache: &'c Cache,
    /// Who answers, with which tables: the program and the team's own catalog.
    pub base: Key,
    /// Whether everything is to be worked out all the same, and told where it is not what was kept.
    pub verify: bool,
    /// Whether what all functions of the packages do is to be kept that are reported, and not only of
    /// those that somebody has asked about.
    pub complete: bool,
}

/// What is kept for the packages of a run.
pub struct Kept<'a> {
    keeping: &'a Keeping<'a>,
    order: &'a [PackageId],
    sources: Sources,
    /// The place of each package of which something is reported; none if there can be no answers.
    keys: BTreeMap<PackageId, Key>,
    /// What stands there.
    entries: BTreeMap<PackageId, Vec<u8>>,
    /// What of that holds now.
    found: BTreeMap<PackageId, Vec<u8>>,
    words: Words,
    /// Where nothing of that holds.
    cut: OnceLock<Cut<'a>>,
    state: State,
    /// The packages of which something holds that is kept nowhere else than in `cut`.
    adopted: BTreeSet<PackageId>,
}

/// What is kept of packages whose imports have changed.
struct Cut<'a> {
    cutoff: Cutoff<'a>,
    /// As those of [`Kept`].
    keys: BTreeMap<PackageId, Key>,
    entries: BTreeMap<PackageId, Vec<u8>>,
}

/// Answers that hold, and the bytes of them with what was looked for by name.
struct Adopted {
    answers: Answers,
    bytes: Vec<u8>,
}

/// The length of the key that stands before what is kept: of what was looked for by name.
pub(super) const KEY: usize = 32;

/// So many answers are kept in one place, each with what was found by name: one after the other of them
/// may hold again, where somebody goes back to a text that was there before.
const MOST: usize = 4;

impl<'a> Kept<'a> {
    /// What is kept for `run`. `order` is that in which its packages are looked at.
    pub fn find(keeping: &'a Keeping<'a>, run: &Run<'_>, order: &'a [PackageId]) -> Kept<'a> {
        let sources = Sources::of(run, keeping.base, keeping.cache);
        let asked: Vec<&Package> = run.asked().collect();
        let source = |package: &Package| sources.packages[package.id.0 as usize];
        let keys = places(run, asked.iter().copied(), "answers", source);
        let entries = load(keeping.cache, &keys);
        let names = entries.values().flat_map(|entry| answers_in(entry));
        let names = names.filter_map(|bytes| stored::names(bytes.get(KEY..)?));
        let texts = texts(run.snapshot, keeping, &sources);
        let words = match keeping.verify {
            true => {
                let mut words = Words::default();
                words.find(texts, names.flatten());
                words
            }
            false => Words::recall(texts, names.flatten()),
        };
        let holds = |bytes: &[u8]| {
            let (witness, payload) = bytes.split_at_checked(KEY)?;
            let names = stored::names(payload)?;
            let now = words.key(names.into_iter(), order, &sources.packages)?;
            Some(now.bytes() == witness)
        };
        let of_entry = |(&package, entry): (&PackageId, &Vec<u8>)| {
            let mut answers = answers_in(entry).into_iter();
            let found = answers.find(|bytes| holds(bytes) == Some(true))?;
            Some((package, found.to_vec()))
        };
        let found = entries.iter().filter_map(of_entry).collect();
        let (cut, state, adopted) = (OnceLock::new(), State::default(), BTreeSet::new());
        Kept { keeping, order, sources, keys, entries, found, words, cut, state, adopted }
    }

    /// The packages among those `wanted` that may be found to rest on nothing that has changed, once it is
    /// known what those do that they import.
    pub fn may_hold(&mut self, run: &Run<'_>, wanted: &BTreeSet<PackageId>) -> BTreeSet<PackageId> {
        if wanted.is_empty() {
            return BTreeSet::new();
        }
        let texts = texts(run.snapshot, self.keeping, &self.sources);
        let mut words = std::mem::take(&mut self.words);
        let entries = &self.cut(run).entries;
        let mut open = BTreeSet::new();
        if !self.keeping.verify {
            open.extend(entries.keys().filter(|package| wanted.contains(package)));
            words.find(texts, open.iter().flat_map(|package| names_in(&entries[package])));
        }
        self.words = words;
        self.state = State::new(open.clone());
        open
    }

    /// The answers of those packages that [may hold](Self::may_hold) and do; the files of the others are parsed.
    /// Of each it is known which when those are looked at that import it.
    pub fn settle(&mut self, run: &Run<'_>) -> BTreeMap<PackageId, Answers> {
        let mut held = BTreeMap::new();
        let mut later = Vec::new();
        for level in levels(run, self.order) {
            let open = level.iter().copied().filter(|package| self.state.open.contains(package));
            let (changed, waiting) = self.adopt(run, open.collect(), &mut held);
            run.grow(&[&changed[..], &waiting].concat());
            later.extend(waiting);
            level.into_iter().for_each(|package| self.state.settle(run, package));
        }
        self.adopt(run, later, &mut held);
        held
    }

    /// Adds what holds of some packages to `held`; gives those that have changed, and those that rest on open
    /// ones.
    fn adopt(
        &mut self,
        run: &Run<'_>,
        packages: Vec<PackageId>,
        held: &mut BTreeMap<PackageId, Answers>,
    ) -> (Vec<PackageId>, Vec<PackageId>) {
        let again = |package| (package, self.again(run, package));
        let outcomes: Vec<(PackageId, Again<Adopted>)> =
            packages.into_par_iter().map(again).collect();
        let (mut changed, mut waiting) = (Vec::new(), Vec::new());
        for (package, outcome) in outcomes {
            match outcome {
                Again::Holds(Adopted { answers, bytes }) => {
                    self.found.insert(package, bytes);
                    self.adopted.insert(package);
                    held.insert(package, answers);
                }
                Again::Changed => changed.push(package),
                Again::Open => waiting.push(package),
            }
        }
        (changed, waiting)
    }

    fn cut(&self, run: &Run<'_>) -> &Cut<'a> {
        self.cut.get_or_init(|| {
            let surfaces = Arc::new(self.sources.surfaces(run.snapshot));
            if let Some(recalled) = run.recalled {
                recalled.rest_on(Arc::clone(&surfaces));
            }
            let cutoff = Cutoff::new(surfaces, self.order);
            let missing = |package: &&Package| !self.found.contains_key(&package.id);
            let source = |package: &Package| cutoff.source(package.id);
            let asked = run.asked().filter(|package| self.keeping.verify || missing(package));
            let keys = places(run, asked, "answers by surfaces", source);
            let entries = load(self.keeping.cache, &keys);
            Cut { cutoff, keys, entries }
        })
    }

    /// Whether the answers of a package hold although something has changed that it imports.
    fn again(&self, run: &Run<'_>, package: PackageId) -> Again<Adopted> {
        let Cut { cutoff, entries, .. } = self.cut(run);
        let kept = entries.get(&package).map(|entry| answers_in(entry)).unwrap_or_default();
        let mut outcome = Again::Changed;
        for bytes in kept {
            match cutoff.read(run, package, bytes, &self.words, &self.state) {
                Again::Holds(payload) => {
                    if let Some(adopted) = self.adopted(run, package, payload) {
                        return Again::Holds(adopted);
                    }
                }
                Again::Open => outcome = Again::Open,
                Again::Changed => {}
            }
        }
        outcome
    }

    fn adopted(&self, run: &Run<'_>, package: PackageId, payload: &[u8]) -> Option<Adopted> {
        let names = stored::names(payload)?.into_iter();
        let witness = self.words.key(names, self.order, &self.sources.packages)?;
        let answers = learned(run, package, payload)?;
        Some(Adopted { answers, bytes: [witness.bytes(), payload].concat() })
    }

    /// The answers that need not be worked out; the run learns the facts of their files.
    pub fn answers(&self, run: &Run<'_>) -> BTreeMap<PackageId, Answers> {
        if self.keeping.verify {
            return BTreeMap::new();
        }
        let read = |(&package, bytes): (&PackageId, &Vec<u8>)| {
            Some((package, learned(run, package, bytes.get(KEY..)?)?))
        };
        self.found.par_iter().filter_map(read).collect::<Vec<_>>().into_iter().collect()
    }

    /// What was found by exploring a package of which the answers must be worked out again: it rests on
    /// the package's own files alone, so that it holds whatever became of what these import.
    pub fn explored(
        &self,
        run: &Run<'_>,
        package: &Package,
        doubtful: bool,
    ) -> Option<Vec<Finding>> {
        if self.keeping.verify {
            return None;
        }
        let bytes = self.keeping.cache.load(self.explored_key(run, package, doubtful))?;
        stored::read_findings(run.snapshot, &bytes)
    }

    fn explored_key(&self, run: &Run<'_>, package: &Package, doubtful: bool) -> Key {
        let path = |file: FileId| &run.snapshot.files[file.0 as usize].path;
        let mut hasher = Hasher::new("explored")
            .key(self.keeping.base)
            .text(package.name.as_str())
            .text(&format!("{:?}", versions(run.snapshot, package).go()))
            .number(u64::from(doubtful))
            .number(package.files.len() as u64);
        for &file in &package.files {
            hasher = hasher.path(path(file)).key(self.sources.files[file.0 as usize]);
        }
        package.report.iter().fold(hasher, |hasher, &file| hasher.path(path(file))).finish()
    }

    /// Keeps the answers that were worked out, or compares them with what was kept; the notes tell
    /// where they differ.
    pub fn keep(mut self, run: &Run<'_>, fresh: &BTreeMap<PackageId, Answers>) -> Vec<Note> {
        // A run that failed somewhere, or did not read all, knows less than another would.
        let is_whole = !run.snapshot.is_bounded()
            && run.forest.failures().next().is_none()
            && fresh.values().all(|answers| answers.notes.is_empty());
        if !is_whole {
            return Vec::new();
        }
        let names = fresh.values().flat_map(|answers| answers.asked.iter().copied());
        let texts = texts(run.snapshot, self.keeping, &self.sources);
        let mut words = std::mem::take(&mut self.words);
        words.find(texts, names);
        if self.keeping.verify {
            let entries = self.cut(run).entries.values();
            words.find(texts, entries.flat_map(|entry| names_in(entry)));
        }
        // Others have their packages whole: nothing changes there but all.
        let cut = self.cut.get().filter(|_| !self.keeping.complete);
        let keep = |(package, answers): (&PackageId, &Answers)| {
            let key = *self.keys.get(package)?;
            let names = answers.asked.iter().copied();
            let witness = words.key(names, self.order, &self.sources.packages)?;
            let package = run.snapshot.package(*package);
            let facts: Vec<&FileFacts> =
                package.files.iter().map(|&file| run.facts.of(file)).collect();
            let payload = stored::write(run.snapshot, answers, &facts)?;
            let bytes = [witness.bytes(), &payload[..]].concat();
            let found = || self.found.get(&package.id).cloned();
            let note = self.keep_one(run, package, &bytes, found, || {
                let entry = self.entries.get(&package.id).map(Vec::as_slice);
                self.keeping.cache.store(key, &with(&bytes, entry.unwrap_or_default()));
            });
            note.or_else(|| {
                let Cut { cutoff, keys, entries } = cut?;
                let key = *keys.get(&package.id)?;
                let entry = entries.get(&package.id).map_or(&[][..], Vec::as_slice);
                let bytes = cutoff.write(run, package, answers, &words, &self.state, &payload)?;
                let hold = |bytes| match cutoff.read(run, package.id, bytes, &words, &self.state) {
                    Again::Holds(payload) => Some(payload.to_vec()),
                    _ => None,
                };
                let found = || answers_in(entry).into_iter().find_map(hold);
                self.keep_one(run, package, &payload, found, || {
                    self.keeping.cache.store(key, &with(&bytes, entry));
                })
            })
        };
        let keep_explored = |(package, answers): (&PackageId, &Answers)| {
            let bytes = stored::write_findings(run.snapshot, answers.explored.as_ref()?)?;
            let package = run.snapshot.package(*package);
            let key = self.explored_key(run, package, run.explores_doubtful(package)?);
            let kept = || self.keeping.cache.load(key);
            self.keep_one(run, package, &bytes, kept, || self.keeping.cache.store(key, &bytes))
        };
        let mut notes: Vec<Note> = fresh
            .par_iter()
            .flat_map_iter(|each| keep(each).into_iter().chain(keep_explored(each)))
            .collect();
        for package in &self.adopted {
            if let Some(&key) = self.keys.get(package) {
                let entry = self.entries.get(package).map(Vec::as_slice);
                let bytes = with(&self.found[package], entry.unwrap_or_default());
                self.keeping.cache.store(key, &bytes);
            }
        }
        if let Some(recalled) = run.recalled {
            if self.keeping.complete {
                run.summarize_all();
            }
            if self.keeping.verify {
                let wrong = [recalled.wrong(run.summaries), words.wrong(texts)].concat();
                let told = |id: PackageId| not_as_found(run, run.snapshot.package(id));
                notes.extend(wrong.into_iter().map(told));
            }
            recalled.keep(run.summaries);
        }
        words.keep(texts);
        notes
    }

    /// Stores bytes, or compares them with those that are kept.
    fn keep_one(
        &self,
        run: &Run<'_>,
        package: &Package,
        bytes: &[u8],
        kept: impl FnOnce() -> Option<Vec<u8>>,
        store: impl FnOnce(),
    ) -> Option<Note> {
        match self.keeping.verify.then(kept).flatten() {
            Some(kept) => (kept != bytes).then(|| not_as_found(run, package)),
            None => {
                store();
                None
            }
        }
    }
}

/// The answers in bytes that were kept for a package; the run learns the facts of its files.
fn learned(run: &Run<'_>, package: PackageId, payload: &[u8]) -> Option<Answers> {
    let Stored { answers, files } = stored::read(run.snapshot, payload)?;
    let ids = &run.snapshot.package(package).files;
    if ids.len() != files.len() {
        return None;
    }
    ids.iter().zip(files).for_each(|(&id, facts)| run.facts.learn(id, facts));
    Some(answers)
}

/// The packages of a run, those that import none of it first, and each later than those that it imports.
fn levels(run: &Run<'_>, order: &[PackageId]) -> Vec<Vec<PackageId>> {
    let mut places = vec![0; order.len()];
    let mut levels: Vec<Vec<PackageId>> = Vec::new();
    for &package in order {
        let imports = run.index.imports_in_run(package).iter();
        let place = imports.map(|import| places[import.0 as usize] + 1).max().unwrap_or(0);
        places[package.0 as usize] = place;
        if levels.len() <= place {
            levels.resize_with(place + 1, Vec::new);
        }
        levels[place].push(package);
    }
    levels
}

/// What is kept in places.
fn load(cache: &Cache, keys: &BTreeMap<PackageId, Key>) -> BTreeMap<PackageId, Vec<u8>> {
    let loaded = keys.par_iter().filter_map(|(&package, &key)| Some((package, cache.load(key)?)));
    loaded.collect::<Vec<_>>().into_iter().collect()
}

/// The answers in an entry, those that were kept last first.
fn answers_in(entry: &[u8]) -> Vec<&[u8]> {
    let mut reader = Reader::new(entry);
    reader.list(Reader::data).filter(|_| reader.is_at_end()).unwrap_or_default()
}

/// The names by which code was looked for, of an entry that holds what answers rest on.
fn names_in(entry: &[u8]) -> impl Iterator<Item = &str> {
    let payloads = answers_in(entry).into_iter().filter_map(cutoff::payload);
    payloads.filter_map(stored::names).flatten()
}

/// An entry with these answers too; the oldest go.
fn with(answers: &[u8], entry: &[u8]) -> Vec<u8> {
    let others =
        answers_in(entry).into_iter().filter(|other| other.get(..KEY) != answers.get(..KEY));
    let all: Vec<&[u8]> = std::iter::once(answers).chain(others).take(MOST).collect();
    let mut writer = Writer::default();
    writer.list(all.into_iter(), Writer::data);
    writer.into_bytes()
}

fn texts<'t>(snapshot: &'t Snapshot, keeping: &Keeping<'t>, sources: &'t Sources) -> Texts<'t> {
    let Keeping { cache, base, .. } = *keeping;
    Texts { snapshot, files: &sources.files, cache, base }
}

/// That the cache is wrong.
fn not_as_found(run: &Run<'_>, package: &Package) -> Note {
    let message = "what the cache holds for this package is not what is found now; \
                   please report it, and run `straggler cache clean`";
    let file = package.report.first().or(package.files.first());
    internal_error(file.map_or_else(String::new, |&file| run.display(file)), message.to_owned())
}

/// The places of the answers of packages, of one kind, by what they rest on.
fn places<'p>(
    run: &Run<'_>,
    packages: impl Iterator<Item = &'p Package>,
    kind: &str,
    source: impl Fn(&Package) -> Option<Key> + Sync,
) -> BTreeMap<PackageId, Key> {
    let place = |package: &&Package| {
        let mut hasher = Hasher::new(kind).key(source(package)?);
        for &file in &package.report {
            hasher = hasher.path(&run.snapshot.files[file.0 as usize].path);
        }
        for selection in run.selections.among(package.report.iter().copied()) {
            for entry in registry() {
                let least = selection.least_confidence(entry.page.id);
                hasher = hasher.number(least.map_or(0, |least| 1 + least as u64));
            }
        }
        Some((package.id, hasher.finish()))
    };
    let packages: Vec<&Package> = packages.collect();
    packages.par_iter().filter_map(place).collect::<Vec<_>>().into_iter().collect()
}
