//! From a snapshot to a report: the phases, their order, and what becomes of the findings.
//!
//! The files are parsed, the packages indexed, the selected rules run over every function and
//! package, all of it on several threads; then findings are sieved, merged and sorted. A phase
//! takes values and gives a value; nothing calls back, and nothing here reads the disk or prints.
//! Equal snapshots give equal reports, whatever the number of threads: results are collected in
//! the order of the snapshot, and sorted by what people see, never by numbers of files or names.
//!
//! A rule that panics takes down its own answer on one function and nothing else: the panic
//! becomes a note that names the rule and the file, and makes the run a failed one.

mod baseline;
mod chains;
mod changed;
mod fingerprint;
mod fix;
mod guard;
mod memory;
mod merge;
mod parse;
mod report;
mod settings;
mod suppress;
mod timings;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::catalog::{Catalog, NoVersions, Versions};
use crate::diagnostic::{Finding, Note, NoteKind};
use crate::index::{FuncId, Index};
use crate::project::{Package, PackageId, Snapshot};
use crate::rules::bad_suppression;
use crate::rules::mend;
use crate::rules::stuck::{self, Explorer};
use crate::rules::{Check, Entry, FunctionCx, PackageCx, registry};
use crate::source::{FileId, Location};
use crate::summary::Summaries;
use crate::syntax::File;

use suppress::Suppressions;

pub use baseline::{Baseline, BaselineError, Entry as BaselineEntry};
pub use chains::{Chains, Fact, FilterRow, Place, ToldChain, chains};
pub use changed::{ChangedLines, PatchError};
pub use fix::{FixedFile, Fixes, fixes, ignores};
pub use guard::run as caught;
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
    progress.total.store(snapshot.files.len() + snapshot.packages.len(), Ordering::Relaxed);
    let mut notes = snapshot.notes.clone();
    let timings = progress.timings();
    let (trees, parse_notes) =
        Timings::phase(timings, "parse", || parse::parse(snapshot, progress, &mut memory.trees));
    notes.extend(parse_notes);
    let index = Timings::phase(timings, "index", || {
        Index::new(snapshot, &trees, catalog).with_declarations(&memory.declarations)
    });
    let versions = snapshot.packages.iter().map(|package| versions(snapshot, package)).collect();
    let summaries = Summaries::new(&index, catalog, versions);
    let run = Run {
        snapshot,
        catalog,
        selections,
        progress,
        trees: &trees,
        index: &index,
        summaries: &summaries,
    };
    // One after the other, so that what is known of a package from the inside is needed no more
    // once it was checked.
    let check = |&package: &PackageId| {
        let checked = match progress.is_unwanted() {
            true => Checked::default(),
            false => run.check_package(snapshot.package(package)),
        };
        summaries.forget(package);
        progress.done.fetch_add(1, Ordering::Relaxed);
        (package, checked)
    };
    let mut checked: Vec<(PackageId, Checked)> = Timings::phase(timings, "check", || {
        summaries.order().iter().par_bridge().map(check).collect()
    });
    checked.sort_unstable_by_key(|&(package, _)| package);
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for (_, checked) in checked {
        shown.extend(checked.shown);
        hidden.extend(checked.hidden);
        notes.extend(checked.notes);
    }
    notes.extend(snapshot.dependency_notes());
    let display = |id: FileId| snapshot.file(id).display.clone();
    let merged = merge::merge(&display, shown.clone());
    let (findings, suppressed) = run.suppress(merged, shown.iter().chain(&hidden));
    let findings = merge::sorted(&display, findings);
    let count = findings.len();
    let (quiet, directives): (Vec<Finding>, Vec<Location>) = suppressed.into_iter().unzip();
    let all = [findings, quiet].concat();
    let files = report::files(snapshot, &all);
    let mut fingerprints = fingerprint::fingerprints(snapshot, &trees, &all);
    let mut findings = all;
    let quiet = findings.split_off(count).into_iter().zip(fingerprints.split_off(count));
    let quiet = quiet.zip(directives).map(|((finding, fingerprint), at)| Suppressed {
        finding,
        fingerprint,
        directive: Some(snapshot.file(at.file).text.text(at.span).into_owned()),
    });
    let suppressed: Vec<Suppressed> = quiet.collect();
    Report {
        files,
        fingerprints,
        findings,
        notes: report::sorted_notes(notes),
        counts: Counts { suppressed: suppressed.len(), ..run.counts() },
        suppressed,
        missing_dependencies: snapshot.missing_dependencies(),
        reported: snapshot
            .packages
            .iter()
            .flat_map(|package| run.reported(package))
            .map(display)
            .collect(),
    }
}

/// Gives `ask` what a run of `snapshot` knows of names, types and functions: read when it asks for
/// it. Called inside [`on_threads`], as [`analyze`].
pub fn inquire<T>(
    snapshot: &Snapshot,
    catalog: &Catalog,
    memory: &mut Memory,
    ask: impl FnOnce(&Index<'_>, &Summaries<'_>) -> T,
) -> T {
    let (trees, _) = parse::parse(snapshot, &Progress::default(), &mut memory.trees);
    let index = Index::new(snapshot, &trees, catalog).with_declarations(&memory.declarations);
    let versions = snapshot.packages.iter().map(|package| versions(snapshot, package)).collect();
    ask(&index, &Summaries::new(&index, catalog, versions))
}

struct Run<'a> {
    snapshot: &'a Snapshot,
    catalog: &'a Catalog,
    selections: &'a Selections,
    progress: &'a Progress,
    trees: &'a [Arc<File>],
    index: &'a Index<'a>,
    summaries: &'a Summaries<'a>,
}

/// What came of the checks of one view of a package.
#[derive(Default)]
struct Checked {
    shown: Vec<Finding>,
    /// Findings that nobody asked for: with less confidence, or in files of another view.
    hidden: Vec<Finding>,
    notes: Vec<Note>,
}

impl Run<'_> {
    /// All findings in the files that are reported from this view of the package.
    fn check_package(&self, package: &Package) -> Checked {
        let reported: BTreeSet<FileId> = self.reported(package).collect();
        if reported.is_empty() {
            return Checked::default();
        }
        let id = PackageId(package.id.0);
        let funcs: Vec<FuncId> = self
            .index
            .package(id)
            .funcs
            .iter()
            .filter(|func| reported.contains(&func.file))
            .map(|func| func.id)
            .collect();
        let here = self.selections.among(reported.iter().copied());
        let selected = || {
            let chosen = |entry: &&Entry| {
                here.iter().any(|selection| selection.least_confidence(entry.page.id).is_some())
            };
            let cx = |entry: &'static Entry| PackageCx {
                page: &entry.page,
                index: self.index,
                catalog: self.catalog,
                versions: versions(self.snapshot, package),
                summaries: self.summaries,
                package: id,
            };
            registry().iter().filter(chosen).map(move |entry| (entry.rule.check, cx(entry)))
        };
        let of_package = selected().filter_map(|(check, cx)| {
            let (Check::Package(check) | Check::Exploration(Some(check))) = check else {
                return None;
            };
            let place = || self.display(package.report[0]);
            let id = cx.page.id;
            Some(self.timed(id, || guarded(id, place, |findings| check(&cx, findings))))
        });
        let of_function = |func: FuncId| {
            let unwanted = self.progress.is_unwanted();
            selected().filter(move |_| !unwanted).filter_map(move |(check, package)| {
                let Check::Function(check) = check else { return None };
                let cx = FunctionCx { package, func };
                let place = || self.display(cx.declared().file);
                let id = package.page.id;
                Some(self.timed(id, || guarded(id, place, |findings| check(&cx, findings))))
            })
        };
        let mut answers: Vec<Result<Vec<Finding>, Note>> = of_package.collect();
        answers.par_extend(funcs.par_iter().flat_map_iter(|&func| of_function(func)));
        let mut checked = Checked::default();
        // A test may show what is wrong with the code that it tests: what is found by exploring
        // from a file that is reported stays, wherever it is.
        let explored = self.explore(package, &reported);
        let of_answer = |everywhere: bool| move |answer| (everywhere, answer);
        let answers = answers.into_iter().map(of_answer(false));
        let mut found: Vec<(bool, Finding)> = Vec::new();
        let mut told: BTreeMap<(&str, Location), usize> = BTreeMap::new();
        for (everywhere, answer) in answers.chain(explored.into_iter().map(of_answer(true))) {
            match answer {
                Ok(answered) => {
                    for finding in answered {
                        let place = (finding.rule, finding.primary);
                        match told.get(&place) {
                            // What the text shows is told better than what was explored, and is
                            // as sure as the surer of the two.
                            Some(&at) if everywhere => {
                                let told: &mut Finding = &mut found[at].1;
                                told.confidence = told.confidence.max(finding.confidence);
                                continue;
                            }
                            None if !everywhere => {
                                told.insert(place, found.len());
                            }
                            _ => {}
                        }
                        found.push((everywhere, finding));
                    }
                }
                Err(note) => checked.notes.push(note),
            }
        }
        for (everywhere, mut finding) in found {
            let file = finding.primary.file;
            let selection = self.selections.of(file);
            finding.severity = selection.severity(&finding);
            let here = everywhere
                || reported.contains(&file)
                || !package.files.contains(&file) && self.is_reported(file);
            if !here || !selection.shows(&finding) {
                checked.hidden.push(finding);
                continue;
            }
            if let Some(tree) = self.trees.get(file.0 as usize).filter(|_| finding.fixes.is_empty())
            {
                match guard::run(|| mend::fix(tree, &finding)) {
                    Ok(fix) => finding.fixes.extend(fix),
                    Err(panic) => {
                        let rule = finding.rule;
                        let message = format!("a fix for `{rule}` could not be made ({panic})");
                        checked.notes.push(internal_error(self.display(file), message));
                    }
                }
            }
            checked.shown.push(finding);
        }
        checked
    }

    /// Those of `findings` that no directive suppresses, with what is wrong with the directives; and
    /// the others, each with a directive. A directive is of use if it speaks of one of `all`.
    fn suppress<'f>(
        &self,
        findings: Vec<Finding>,
        all: impl Iterator<Item = &'f Finding>,
    ) -> (Vec<Finding>, Vec<(Finding, Location)>) {
        let text = |id: FileId| self.snapshot.file(id).text.clone();
        let mut suppressions = Suppressions::new(self.trees);
        for finding in all {
            suppressions.covers(finding, &text);
        }
        let (mut left, mut suppressed) = (Vec::new(), Vec::new());
        for finding in findings {
            match suppressions.covers(&finding, &text) {
                Some(directive) => suppressed.push((finding, directive)),
                None => left.push(finding),
            }
        }
        left.extend(self.complaints(&suppressions));
        (left, suppressed)
    }

    fn complaints(&self, suppressions: &Suppressions) -> Vec<Finding> {
        let packages = &self.snapshot.packages;
        let reported: BTreeSet<FileId> =
            packages.iter().flat_map(|package| self.reported(package)).collect();
        // Where a view of the package is not reported as a whole, a finding may be elsewhere.
        let partly: BTreeSet<FileId> = packages
            .iter()
            .filter(|package| {
                let own = |id: &&FileId| !self.tree(**id).generated;
                package.files.iter().filter(own).any(|id| !reported.contains(id))
            })
            .flat_map(|package| package.files.iter().copied())
            .collect();
        let nothing_missing = self.snapshot.missing_dependencies().is_empty();
        let complete = |id| nothing_missing && !partly.contains(&id);
        suppressions
            .complaints(self.selections, &|id| reported.contains(&id), &complete)
            .into_iter()
            .filter_map(|(at, fault)| {
                let removal = suppress::removal(&self.snapshot.file(at.file).text, at.span);
                let removal = Location { file: at.file, span: removal };
                let mut finding = bad_suppression::finding(at, removal, &fault);
                let selection = self.selections.of(at.file);
                finding.severity = selection.severity(&finding);
                selection.shows(&finding).then_some(finding)
            })
            .collect()
    }

    /// What is found by exploring the roots in the files that are reported, if a rule asks for it.
    fn explore(
        &self,
        package: &Package,
        reported: &BTreeSet<FileId>,
    ) -> Vec<Result<Vec<Finding>, Note>> {
        let here = self.selections.among(reported.iter().copied());
        let asked = |entry: &Entry| {
            let least = here.iter().filter_map(|each| each.least_confidence(entry.page.id)).min();
            matches!(entry.rule.check, Check::Exploration(_))
                && least.is_some_and(|least| least <= stuck::EXPLORED)
        };
        if !registry().iter().any(asked) {
            return Vec::new();
        }
        let versions = versions(self.snapshot, package);
        let timings = self.progress.timings();
        let compiled = Timings::exploring(timings, || {
            guard::run(|| Explorer::new(self.index, PackageId(package.id.0), versions))
        });
        let explorer = match compiled {
            Ok(explorer) => explorer,
            Err(panic) => {
                let message = format!("its functions could not be compiled ({panic})");
                return vec![Err(internal_error(self.display(package.report[0]), message))];
            }
        };
        explorer
            .roots(&|file| reported.contains(&file))
            .into_par_iter()
            .filter(|_| !self.progress.is_unwanted())
            .map(|root| {
                let place = || self.display(explorer.file_of(root));
                let test = self.snapshot.files[explorer.file_of(root).0 as usize].test;
                Timings::exploring(timings, || {
                    guarded("stuck", place, |findings| {
                        let explored = explorer.explore(root, test);
                        if let Some(timings) = timings {
                            timings.explored(explored.complete, explored.states, explored.steps);
                        }
                        findings.extend(explored.findings);
                    })
                })
            })
            .collect()
    }

    fn timed<T>(&self, rule: &'static str, work: impl FnOnce() -> T) -> T {
        Timings::rule(self.progress.timings(), rule, work)
    }

    /// Whether a file is reported from any view of any package.
    fn is_reported(&self, file: FileId) -> bool {
        self.snapshot.packages.iter().any(|package| self.reported(package).any(|id| id == file))
    }

    /// The files that are reported from this view: those asked for, without generated ones.
    fn reported(&self, package: &Package) -> impl Iterator<Item = FileId> {
        package.report.iter().copied().filter(|&id| !self.tree(id).generated)
    }

    fn counts(&self) -> Counts {
        let asked = self.snapshot.packages.iter().filter(|package| !package.report.is_empty());
        let files: BTreeSet<FileId> =
            asked.clone().flat_map(|package| package.report.iter().copied()).collect();
        Counts {
            files: files.len(),
            packages: asked.map(|package| &package.dir).collect::<BTreeSet<_>>().len(),
            generated: files.iter().filter(|&&id| self.tree(id).generated).count(),
            ..Counts::default()
        }
    }

    fn tree(&self, id: FileId) -> &File {
        &self.trees[id.0 as usize]
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

/// The findings of one check, or the note that it panicked.
fn guarded(
    rule: &str,
    path: impl FnOnce() -> String,
    check: impl FnOnce(&mut Vec<Finding>),
) -> Result<Vec<Finding>, Note> {
    guard::run(|| {
        let mut findings = Vec::new();
        check(&mut findings);
        findings
    })
    .map_err(|panic| {
        let message = format!("the rule `{rule}` failed here ({panic}); its other answers stand");
        internal_error(path(), message)
    })
}

fn internal_error(path: String, message: String) -> Note {
    Note { path, line_column: None, kind: NoteKind::InternalError, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_panics_becomes_a_note() {
        let answer = guarded("nil-channel", || "a/b.go".to_owned(), |_| panic!("no way"));
        let note = answer.expect_err("a note");
        assert!(note.kind.is_failure());
        let start = "the rule `nil-channel` failed here (no way at src/analysis.rs:";
        assert!(note.path == "a/b.go" && note.message.starts_with(start), "{note:?}");
    }
}
