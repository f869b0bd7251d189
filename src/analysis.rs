//! From a snapshot to a report: the phases, their order, and what becomes of the findings.
//!
//! The files are parsed, the packages indexed, the selected rules run over every function and
//! package, all of it on several threads; then findings are sieved, merged and sorted. A phase
//! takes values and gives a value; nothing calls back, and nothing here reads the disk or prints.
//! Equal snapshots give equal reports, whatever the number of threads: results are collected in
//! the order of the snapshot, and sorted by what people see, never by numbers of files or names.
//!
//! What the checks of a package answer depends on the package, on what it imports, and on little
//! else ([`sources`]). So answers can be [kept](Keeping) and need not be worked out again: then
//! not even the files are parsed. What of the answers is told, and how, is decided anew by each run.
//!
//! A rule that panics takes down its own answer on one function and nothing else: the panic
//! becomes a note that names the rule and the file, and makes the run a failed one.

mod baseline;
mod chains;
mod changed;
mod check;
mod cutoff;
mod facts;
mod fingerprint;
mod fix;
mod guard;
mod kept;
mod memory;
mod merge;
mod recalled;
mod report;
mod rests;
mod settings;
mod sieve;
mod sources;
mod stored;
mod suppress;
mod surfaces;
mod timings;
mod trees;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::catalog::{Catalog, NoVersions, Versions};
use crate::diagnostic::{Finding, Note, NoteKind};
use crate::flow::meter;
use crate::index::Index;
use crate::index::reads::{self, Reads};
use crate::project::{Importer, Package, PackageId, Snapshot, SourceFile};
use crate::rules;
use crate::rules::memo::Memo;
use crate::source::{FileId, Location};
use crate::summary::{Former, Summaries};
use crate::syntax::Symbol;

use check::Answers;
use facts::Facts;
use fingerprint::declaration as declared;
use kept::Kept;
use memory::Explorations;
use recalled::Recalled;
use trees::Forest;

pub use baseline::{Baseline, BaselineError, Entry as BaselineEntry};
pub use chains::{Chains, Fact, FilterRow, Place, ToldChain, chains};
pub use changed::{ChangedLines, PatchError};
pub use fix::{FixedFile, Fixes, fixes, ignores};
pub use guard::run as caught;
pub use kept::Keeping;
pub use memory::Memory;
pub use report::{Counts, Report, ReportFile, Suppressed};
pub use settings::{Asked, ConfigFiles, Held, Selections, Settings};
pub use suppress::{above as directive_above, is_reason};
pub use timings::{Explored, Taken, Timings};

/// How far a run is: counted up by it, read by whoever wants to show it; and whether anybody still
/// wants its report.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files parsed and packages checked.
    pub done: AtomicUsize,
    /// Files to parse and packages to check.
    pub total: AtomicUsize,
    /// Set by whoever no longer wants the report: the run then ends soon with one that says less
    /// than is true.
    pub unwanted: AtomicBool,
    /// Where to count what it takes.
    pub timings: Option<Arc<Timings>>,
}

impl Progress {
    fn timings(&self) -> Option<&Timings> {
        self.timings.as_deref()
    }

    /// Whether the run may end where it is.
    fn is_unwanted(&self) -> bool {
        self.unwanted.load(Ordering::Relaxed)
    }
}

/// The stack of each thread: every recursion of the analysis is bounded to fit into it.
const STACK_BYTES: usize = 16 << 20;

/// Gives `work` the threads for its parallel parts: `jobs` of them, or as many as the machine has
/// to give. An error says why they cannot be had.
pub fn on_threads<T: Send>(
    jobs: Option<usize>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.unwrap_or(0))
        .stack_size(STACK_BYTES)
        .build()
        .map_err(|error| format!("cannot start the threads of the analysis: {error}"))?;
    Ok(pool.install(work))
}

/// Analyses `snapshot` with the rules that `selections` say. Called inside [`on_threads`], whose stacks
/// its bounds are made for.
pub fn analyze(
    snapshot: &Snapshot,
    catalog: &Catalog,
    selections: &Selections,
    progress: &Progress,
) -> Report {
    analyze_again(snapshot, catalog, selections, progress, &mut Memory::default())
}

/// As [`analyze`], and with the same report, after other runs of much the same files: what `memory`
/// holds of them need not be read again.
pub fn analyze_again(
    snapshot: &Snapshot,
    catalog: &Catalog,
    selections: &Selections,
    progress: &Progress,
    memory: &mut Memory,
) -> Report {
    run(snapshot, catalog, selections, progress, memory, None)
}

/// As [`analyze`], and with the same report: what `keeping` holds of former runs need not be
/// worked out again, and what is worked out is kept there.
pub fn analyze_keeping(
    snapshot: &Snapshot,
    catalog: &Catalog,
    selections: &Selections,
    progress: &Progress,
    keeping: &Keeping<'_>,
) -> Report {
    run(snapshot, catalog, selections, progress, &mut Memory::default(), Some(keeping))
}

fn run(
    snapshot: &Snapshot,
    catalog: &Catalog,
    selections: &Selections,
    progress: &Progress,
    memory: &mut Memory,
    keeping: Option<&Keeping<'_>>,
) -> Report {
    let forest = Forest::new(snapshot, &memory.trees);
    let report = {
        let asked: Vec<rules::Asked> =
            snapshot.packages.iter().map(|_| rules::Asked::default()).collect();
        let reads: Vec<Mutex<Reads>> = snapshot.packages.iter().map(|_| Mutex::default()).collect();
        let memos: Vec<Memo> = snapshot.packages.iter().map(|_| Memo::default()).collect();
        let counted: Vec<rules::Counted> =
            snapshot.packages.iter().map(|_| rules::Counted::new()).collect();
        let index = Index::new(snapshot, &forest, catalog).with_declarations(&memory.declarations);
        let recalled = keeping.map(|keeping| Recalled::new(keeping.cache, snapshot, &index));
        let recalled = recalled.as_ref();
        let believed = recalled.filter(|_| keeping.is_some_and(|keeping| !keeping.verify));
        let believed = believed.map(|recalled| recalled as &dyn Former);
        let versions = snapshot.packages.iter().map(|package| versions(snapshot, package));
        let summaries = Summaries::new(&index, catalog, versions.collect()).recalling(believed);
        let run = Run {
            snapshot,
            catalog,
            selections,
            progress,
            forest: &forest,
            facts: &Facts::new(snapshot, &forest),
            index: &index,
            summaries: &summaries,
            recalled,
            asked: &asked,
            reads: &reads,
            memos: &memos,
            counted: &counted,
            explored: &memory.explored,
        };
        run.run(keeping)
    };
    memory.trees = forest.into_known();
    report
}

/// Gives `ask` what a run of `snapshot` knows of names, types and functions: read when it asks for
/// it. Called inside [`on_threads`], as [`analyze`].
pub fn inquire<T>(
    snapshot: &Snapshot,
    catalog: &Catalog,
    memory: &mut Memory,
    ask: impl FnOnce(&Index<'_>, &Summaries<'_>) -> T,
) -> T {
    let forest = Forest::new(snapshot, &memory.trees);
    let told = {
        let index = Index::new(snapshot, &forest, catalog).with_declarations(&memory.declarations);
        let versions = snapshot.packages.iter().map(|package| versions(snapshot, package));
        ask(&index, &Summaries::new(&index, catalog, versions.collect()))
    };
    memory.trees = forest.into_known();
    told
}

struct Run<'a> {
    snapshot: &'a Snapshot,
    catalog: &'a Catalog,
    selections: &'a Selections,
    progress: &'a Progress,
    forest: &'a Forest<'a>,
    facts: &'a Facts<'a>,
    index: &'a Index<'a>,
    summaries: &'a Summaries<'a>,
    /// What former runs have found out of functions.
    recalled: Option<&'a Recalled<'a>>,
    /// What the checks of each package have asked for.
    asked: &'a [rules::Asked],
    /// What the checks of each package have looked at.
    reads: &'a [Mutex<Reads>],
    /// What the checks of each package have worked out.
    memos: &'a [Memo],
    /// Where what the checks of each package find counts.
    counted: &'a [rules::Counted],
    /// From which roots nothing was found when they were explored before.
    explored: &'a Explorations,
}

impl Run<'_> {
    /// All phases.
    fn run(&self, keeping: Option<&Keeping<'_>>) -> Report {
        let timings = self.progress.timings();
        let mut kept = keeping.map(|keeping| {
            Timings::phase(timings, "look up", || Kept::find(keeping, self, self.summaries.order()))
        });
        let mut answers = kept.as_ref().map(|kept| kept.answers(self)).unwrap_or_default();
        let missing = self.asked().map(|package| package.id);
        let mut wanted: BTreeSet<PackageId> =
            missing.filter(|package| !answers.contains_key(package)).collect();
        let open = kept.as_mut().map(|kept| kept.may_hold(self, &wanted)).unwrap_or_default();
        let certain: Vec<PackageId> = wanted.difference(&open).copied().collect();
        Timings::phase(timings, "parse", || {
            self.grow(&certain);
            self.read_ahead(&certain);
        });
        if let Some(kept) = kept.as_mut().filter(|_| !wanted.is_empty()) {
            Timings::phase(timings, "settle", || {
                let held = kept.settle(self);
                wanted.retain(|package| !held.contains_key(package));
                answers.extend(held);
                let others: Vec<PackageId> = wanted.intersection(&open).copied().collect();
                self.read_ahead(&others);
            });
        }
        // One after the other, so that what is known of a package from the inside is needed no more
        // once it was checked.
        let check = |&package: &PackageId| {
            let checked = match self.progress.is_unwanted() {
                true => Answers::default(),
                false => self.check(self.snapshot.package(package), kept.as_ref()),
            };
            self.summaries.forget(package);
            self.index.forget(package);
            self.memos[package.0 as usize].forget();
            self.progress.done.fetch_add(1, Ordering::Relaxed);
            (package, checked)
        };
        let fresh: BTreeMap<PackageId, Answers> = Timings::phase(timings, "check", || {
            let order = self.summaries.order().iter().filter(|package| wanted.contains(package));
            order.par_bridge().map(check).collect::<Vec<_>>().into_iter().collect()
        });
        let mut notes = self.snapshot.notes.clone();
        if let Some(kept) = kept.filter(|_| !self.progress.is_unwanted()) {
            notes.extend(Timings::phase(timings, "keep", || kept.keep(self, &fresh)));
        }
        let worked_out = fresh.len();
        answers.extend(fresh);
        let report = Timings::phase(timings, "tell", || self.report(answers, notes));
        Report { worked_out, ..report }
    }

    /// Parses the files of packages that are checked.
    fn grow(&self, packages: &[PackageId]) {
        let packages = packages.iter().map(|&package| self.snapshot.package(package));
        let files: BTreeSet<FileId> =
            packages.clone().flat_map(|package| package.files.iter().copied()).collect();
        let files: Vec<FileId> = files.into_iter().collect();
        self.progress.total.fetch_add(files.len() + packages.len(), Ordering::Relaxed);
        self.forest.grow(&files, self.progress);
    }

    /// What the checks of a package have looked at.
    fn looked_at(&self, package: PackageId) -> Reads {
        self.reads[package.0 as usize].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Finds out what all functions do that packages may import which something is reported of.
    fn summarize_all(&self) {
        let importable = self.asked().filter(|package| package.is_importable());
        let packages: Vec<PackageId> = importable.map(|package| package.id).collect();
        packages.into_par_iter().for_each(|package| {
            for func in &self.index.package(package).funcs {
                // What fails is told by whoever asks.
                let _ = guard::run(|| self.summaries.known_below(func.id));
            }
        });
    }

    /// A part of the check of a package, and notes what it looks at.
    fn noted<T>(&self, package: PackageId, work: impl FnOnce() -> T) -> T {
        let (result, reads) = reads::noting(work);
        let known = &self.reads[package.0 as usize];
        known.lock().unwrap_or_else(PoisonError::into_inner).add(reads);
        result
    }

    fn timed<T>(&self, rule: &'static str, work: impl FnOnce() -> T) -> T {
        Timings::rule(self.progress.timings(), rule, work)
    }

    /// The packages of which something is reported.
    fn asked(&self) -> impl Iterator<Item = &Package> {
        self.snapshot.packages.iter().filter(|package| !package.report.is_empty())
    }

    /// The files that are reported from this view: those asked for, without generated ones.
    fn reported(&self, package: &Package) -> impl Iterator<Item = FileId> {
        package.report.iter().copied().filter(|&id| !self.facts.of(id).generated)
    }

    /// Reads the declarations of what these packages import, without the generated files' imports.
    fn read_ahead(&self, packages: &[PackageId]) {
        let packages = packages.iter().map(|&package| self.snapshot.package(package));
        let imports = packages.flat_map(|package| {
            let files = package.files.iter().filter(|&&id| !self.facts.of(id).generated);
            let imports =
                files.flat_map(|&FileId(file)| &self.snapshot.files[file as usize].imports);
            imports.map(|&path| (package.importer, path))
        });
        let imports: FxHashSet<(Importer, Symbol)> = imports.collect();
        let sources = imports.into_par_iter().filter_map(|(from, path)| {
            self.snapshot.dependency(from, path).filter(|source| source.package.is_none())
        });
        let files: Vec<Arc<SourceFile>> =
            sources.flat_map_iter(|source| source.files.clone()).collect();
        files.into_par_iter().for_each(|file| self.index.read_ahead(&file));
    }

    fn placed(&self, place: Location) -> Placed {
        let file = self.snapshot.file(place.file);
        let position = file.text.position(place.span.start);
        (file.display.clone(), Some((position.line, position.column)))
    }

    fn display(&self, id: FileId) -> String {
        self.snapshot.file(id).display.clone()
    }
}

/// The versions that a package is built with.
fn versions<'a>(snapshot: &'a Snapshot, package: &Package) -> &'a (dyn Versions + Sync) {
    match package.module {
        Some(id) => snapshot.module(id),
        None => &NoVersions,
    }
}

/// How many steps one check passes at most on the graphs of what it looks at: a function, or all functions
/// of a package. The most that a check of 27 large repositories needed is a tenth of that.
const STEPS: u64 = 1 << 25;

/// The findings of one check, or the note that it panicked or was given up.
fn guarded(
    rule: &str,
    path: impl FnOnce() -> String,
    placed: impl FnOnce(Location) -> Placed,
    check: impl FnOnce(&mut Vec<Finding>),
) -> Result<Vec<Finding>, Note> {
    let answer = guard::run(|| {
        meter::within(STEPS, || {
            let mut findings = Vec::new();
            check(&mut findings);
            findings
        })
    });
    match answer {
        Ok(Ok(findings)) => Ok(findings),
        Ok(Err(used_up)) => {
            let (path, line_column) =
                used_up.function.map(placed).unwrap_or_else(|| (path(), None));
            let message = format!(
                "the rule `{rule}` was given up at this function, which takes more than {STEPS} \
                 steps; its other answers stand"
            );
            Err(Note { path, line_column, kind: NoteKind::StepBound, message })
        }
        Err(panic) => {
            let message =
                format!("the rule `{rule}` failed here ({panic}); its other answers stand");
            Err(internal_error(path(), message))
        }
    }
}

/// The path of a place as it is told, and its line and column.
type Placed = (String, Option<(u32, u32)>);

fn internal_error(path: String, message: String) -> Note {
    Note { path, line_column: None, kind: NoteKind::InternalError, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_panics_becomes_a_note() {
        let place = || "a/b.go".to_owned();
        let answer = guarded("nil-channel", place, |_| unreachable!(), |_| panic!("no way"));
        let note = answer.expect_err("a note");
        assert!(note.kind.is_failure());
        let start = "the rule `nil-channel` failed here (no way at src/analysis.rs:";
        assert!(note.path == "a/b.go" && note.message.starts_with(start), "{note:?}");
    }
}
