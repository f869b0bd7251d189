//! Early cut-off: a package whose imports have changed need not be checked again where nothing has changed
//! that its checks have looked at.
//!
//! What a check sees of other packages is their surface ([`Surfaces`]), the summaries of some
//! functions, and the text of some files. The last two are noted while it runs
//! ([`reads`](crate::index::reads)) and stand with its answers. These hold again where the surfaces are the same, the files
//! that were looked into have the same text, and the functions that were asked about do what they did, wherever they
//! stand now: what is found and shows a place in another package rests on the text of that package too.
//!
//! Where a file is not all Go, one cannot tell from its tokens what a parser makes of it: nothing that
//! rests on its package holds again for this reason.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::Run;
use super::check::Answers;
use super::kept::KEY;
use super::rests::Rests;
use super::stored;
use super::surfaces::Surfaces;
use super::words::Words;
use crate::cache::{Key, Reader, Writer};
use crate::diagnostic::Finding;
use crate::index::FuncId;
use crate::project::{Package, PackageId};
use crate::source::FileId;
use crate::summary::Summary;

/// What the packages of a run show each other.
pub struct Cutoff<'a> {
    surfaces: Arc<Surfaces>,
    order: &'a [PackageId],
}

/// Whether what was kept of a package holds again.
pub enum Again<T> {
    /// It does.
    Holds(T),
    /// It does not.
    Changed,
    /// It rests on what functions do that nobody may look at yet.
    Open,
}

impl<'a> Cutoff<'a> {
    /// Those of the packages of a run, which are looked at in this `order`.
    pub fn new(surfaces: Arc<Surfaces>, order: &'a [PackageId]) -> Cutoff<'a> {
        Cutoff { surfaces, order }
    }

    /// What the answers of a package rest on that are the same as long as surfaces are.
    pub fn source(&self, package: PackageId) -> Option<Key> {
        self.surfaces.packages[package.0 as usize]
    }

    /// The bytes of answers, which are a `payload`, with what they rest on, after the hash of that; `None` for what
    /// has no bytes, or rests on what is not all Go.
    pub fn write(
        &self,
        run: &Run<'_>,
        package: &Package,
        answers: &Answers,
        words: &Words,
        state: &State,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let own = package.id;
        if !state.is_sound(run, own, !answers.asked.is_empty()) {
            return None;
        }
        let mut reads = run.looked_at(own);
        let read: Vec<FuncId> = reads.read.iter().copied().collect();
        read.into_iter().for_each(|func| reads.add(run.summaries.rests_of(func)));
        reads.add(run.summaries.rests_on(own));
        reads.files.extend(answers.found.iter().flat_map(|found| places(&found.finding)));
        if !answers.found.is_empty() {
            // What is told may speak of lines there.
            let found = |&func: &FuncId| run.recalled?.found(run.summaries, func);
            let known = reads.called.iter().filter_map(found);
            let summaries: Vec<Arc<Summary>> = known.filter_map(|known| known.summary).collect();
            let funcs = reads.called.iter().map(|&func| run.index.func(func).file);
            let waits = summaries.iter().flat_map(|summary| &summary.waits);
            let waits = waits.flat_map(|wait| {
                let hops = wait.hops.iter().map(|hop| hop.location.file);
                hops.chain([wait.location.file])
            });
            let shown: Vec<FileId> = funcs.chain(waits).collect();
            reads.files.extend(shown);
        }
        let names = answers.asked.iter().copied();
        let words = words.key(names, self.order, &self.surfaces.packages)?;
        let rests = Rests::of(reads, package, &self.surfaces, |func| does(run, func))?;
        let mut writer = Writer::default();
        writer.data(words.bytes());
        rests.write(&mut writer);
        let rests = writer.into_bytes();
        let mut bytes = Key::of(&rests).bytes().to_vec();
        let mut writer = Writer::default();
        writer.data(&rests);
        writer.data(payload);
        bytes.extend(writer.into_bytes());
        Some(bytes)
    }

    /// Whether the answers in what [`write`](Self::write) gave hold, which they do if what they rest on is as it
    /// was; with them if they do.
    pub fn read<'b>(
        &self,
        run: &Run<'_>,
        package: PackageId,
        bytes: &'b [u8],
        words: &Words,
        state: &State,
    ) -> Again<&'b [u8]> {
        let is_open = Cell::new(false);
        let does = |func: FuncId| match state.open.contains(&func.package) {
            true => {
                is_open.set(true);
                None
            }
            false => does(run, func),
        };
        let held = || {
            let (rests, payload) = parts(bytes)?;
            let mut reader = Reader::new(rests);
            let looked_for = Key::read(reader.data()?)?;
            let rests = Rests::read(&mut reader)?;
            let names = stored::names(payload)?;
            if !reader.is_at_end() || !state.is_sound(run, package, !names.is_empty()) {
                return None;
            }
            let words = words.key(names.into_iter(), self.order, &self.surfaces.packages)?;
            (words == looked_for && rests.hold(&self.surfaces, does)).then_some(payload)
        };
        match held() {
            Some(payload) => Again::Holds(payload),
            None if is_open.get() => Again::Open,
            None => Again::Changed,
        }
    }
}

/// What a function does, wherever in the files it stands.
fn does(run: &Run<'_>, func: FuncId) -> Option<Key> {
    let recalled = run.recalled?;
    recalled.does(func, &|func| recalled.found(run.summaries, func))
}

/// The answers in what [`Cutoff::write`] gave.
pub fn payload(bytes: &[u8]) -> Option<&[u8]> {
    Some(parts(bytes)?.1)
}

/// What they rest on, and the answers.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut reader = Reader::new(bytes.get(KEY..)?);
    let parts = (reader.data()?, reader.data()?);
    reader.is_at_end().then_some(parts)
}

/// What is known of the packages of a run while one after the other is settled.
#[derive(Default)]
pub struct State {
    /// Those of which nobody knows yet whether they must be checked: nobody may look into them.
    pub open: BTreeSet<PackageId>,
    /// Whether one of the others is not all Go, as far as it was parsed whole.
    is_broken: bool,
}

impl State {
    /// With packages of which nobody knows.
    pub fn new(open: BTreeSet<PackageId>) -> State {
        State { open, is_broken: false }
    }

    /// Takes in that a package is settled, after those that it imports.
    pub fn settle(&mut self, run: &Run<'_>, package: PackageId) {
        self.open.remove(&package);
        let is_broken = is_broken(run, package);
        self.is_broken |= is_broken;
        if let Some(recalled) = run.recalled
            && (is_broken || !recalled.is_sound(package))
        {
            recalled.distrust(package);
        }
    }

    /// Whether all that a package imports is sound, and where it looks for code `by_name` everything.
    fn is_sound(&self, run: &Run<'_>, package: PackageId, by_name: bool) -> bool {
        let is_sound = run.recalled.is_some_and(|recalled| recalled.is_sound(package));
        is_sound && !(by_name && self.is_broken)
    }
}

/// Whether not all of a package is Go. Of one that nothing is reported of no file is parsed whole.
fn is_broken(run: &Run<'_>, package: PackageId) -> bool {
    let package = run.snapshot.package(package);
    let has_note = |&file: &FileId| run.facts.of(file).note.is_some();
    !package.report.is_empty() && package.files.iter().any(has_note)
}

fn places(finding: &Finding) -> impl Iterator<Item = FileId> {
    stored::locations(finding).map(|location| location.file)
}
