//! The second phase: the selected rules over one view of a package, and what they answer before it is
//! asked what of that is to be told.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::kept::Kept;
use super::suppress::Directives;
use super::{Run, Timings, declared, guard, guarded, internal_error, versions};
use crate::diagnostic::{Confidence, Finding, Label, Note, NoteKind, Role};
use crate::index::FuncId;
use crate::project::{Package, PackageId};
use crate::rules::mend;
use crate::rules::scene::supports_tests;
use crate::rules::stuck::{self, Explorer};
use crate::rules::{Check, Entry, FunctionCx, PackageCx, registry, untaken};
use crate::source::{FileId, Location};
use crate::syntax::File;

/// What the checks of one view of a package answer.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// What they found, in order.
    pub found: Vec<Found>,
    /// What failed.
    pub notes: Vec<Note>,
    /// The names by which they looked for code in packages that the package does not import.
    pub asked: BTreeSet<&'static str>,
    /// What was found by exploring, where that was done and nothing failed.
    pub explored: Option<Vec<Finding>>,
}

/// Something that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Whether it counts wherever its primary place is.
    pub everywhere: bool,
    /// It, with the severity that its rule gives it.
    pub finding: Finding,
    /// The declaration that holds its primary place, for its fingerprint.
    pub declaration: String,
}

/// What one check answers: what it found, or how it failed.
type Answer = Result<Vec<Finding>, Note>;

/// So many findings of one file get a fix: each is made by going through all of its function. The others
/// have their turn when these were applied.
const MAX_FIXES: usize = 256;

impl Run<'_> {
    /// All that is found from the files that are reported from this view of the package.
    pub(super) fn check(&self, package: &Package, kept: Option<&Kept<'_>>) -> Answers {
        let reported: BTreeSet<FileId> = self.reported(package).collect();
        if reported.is_empty() {
            return Answers::default();
        }
        let id = package.id;
        let funcs: Vec<FuncId> = self
            .index
            .package(id)
            .funcs
            .iter()
            .filter(|func| reported.contains(&func.file))
            .map(|func| func.id)
            .collect();
        let here = self.selections.among(reported.iter().copied());
        let doubtful = self.wants_doubtful(package);
        // A test may show what is wrong with the code that it tests: what is found by exploring
        // from a file that is reported stays, wherever it is. It meets there what the checks find, so that
        // where not all is reported it has to be known first.
        let is_generated = |&file: &FileId| self.facts.of(file).generated;
        let is_whole =
            package.files.iter().all(|file| reported.contains(file) || is_generated(file));
        let explore = || self.explored(package, &reported, kept);
        let explored_first = (!is_whole).then(explore);
        let counted = &self.counted[id.0 as usize];
        if let Some((explored, _)) = &explored_first
            && !package.files.iter().any(|&file| self.is_directed_in(file))
        {
            let found = explored.iter().flatten().flatten().map(|finding| finding.primary.file);
            counted.get_or_init(|| reported.iter().copied().chain(found).collect());
        }
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
                asked: &self.asked[id.0 as usize],
                doubtful,
                memo: &self.memos[id.0 as usize],
                counted,
                package: id,
            };
            registry().iter().filter(chosen).map(move |entry| (entry.rule.check, cx(entry)))
        };
        // Otherwise the first check of the package as a whole would read them one after the other.
        let with = |is_wanted: fn(&Check) -> bool| {
            selected().find(|(check, _)| is_wanted(check)).map(|(_, cx)| cx)
        };
        let evidence = with(|check| matches!(check, Check::Exploration(Some(_))))
            .and_then(|cx| self.noted(id, || guard::run(|| cx.read_first())).ok());
        evidence.unwrap_or_default().into_par_iter().for_each(|func| {
            // A panic is told where a check meets it.
            let _ = guard::run(|| {
                self.index.body(func);
            });
        });
        let of_package = |(check, cx): (Check, PackageCx<'_>)| {
            let (Check::Package(check) | Check::Exploration(Some(check))) = check else {
                return None;
            };
            let place = || self.display(package.report[0]);
            let rule = cx.page.id;
            Some(self.noted(id, || self.guarded(rule, place, |findings| check(&cx, findings))))
        };
        let of_function = |func: FuncId| {
            let unwanted = self.progress.is_unwanted();
            selected().filter(move |_| !unwanted).filter_map(move |(check, package)| {
                let Check::Function(check) = check else { return None };
                let cx = FunctionCx { package, func };
                let place = || self.display(cx.declared().file);
                let rule = package.page.id;
                Some(self.noted(id, || self.guarded(rule, place, |findings| check(&cx, findings))))
            })
        };
        let answer = || {
            let selected: Vec<(Check, PackageCx<'_>)> = selected().collect();
            let mut answers: Vec<Answer> =
                selected.into_par_iter().filter_map(of_package).collect();
            answers.par_extend(funcs.par_iter().flat_map_iter(|&func| of_function(func)));
            answers
        };
        let (answers, (explored, to_keep)) = match explored_first {
            Some(explored) => (answer(), explored),
            None => rayon::join(answer, explore),
        };
        let of_answer = |everywhere: bool| move |answer| (everywhere, answer);
        let answers = answers.into_iter().map(of_answer(false));
        let exploring = with(|check| matches!(check, Check::Exploration(_)));
        let mut all = Answers { explored: to_keep, ..Answers::default() };
        let mut found: Vec<(bool, Finding)> = Vec::new();
        let mut told: BTreeMap<(&str, FileId, u32), usize> = BTreeMap::new();
        for (everywhere, answer) in answers.chain(explored.into_iter().map(of_answer(true))) {
            match answer {
                Ok(answered) => {
                    for mut finding in answered {
                        // Asked of the whole run, where what was explored may come from the cache.
                        let is_doubtful =
                            |cx| self.asked_of(id, || stuck::is_doubtful(cx, &finding));
                        if everywhere && exploring.as_ref().is_some_and(is_doubtful) {
                            finding.confidence = Confidence::Low;
                        }
                        let Location { file, span } = finding.primary;
                        let place = (finding.rule, file, span.start);
                        match told.get(&place) {
                            // What the text shows is told better than what was explored, and is
                            // as sure as the surer of the two; but who waits for what was left
                            // behind is known by exploring.
                            Some(&at) if everywhere && is_told(&found[at].1, &finding) => {
                                let told: &mut Finding = &mut found[at].1;
                                told.confidence = told.confidence.max(finding.confidence);
                                if !told.labels.iter().any(is_stuck) {
                                    told.labels.extend(finding.labels.into_iter().find(is_stuck));
                                }
                                continue;
                            }
                            // Two kinds of evidence for one thing: one of them is enough.
                            Some(&at) if !everywhere && is_of_same(&found[at].1, &finding) => {
                                let told: &mut Finding = &mut found[at].1;
                                if told.confidence < finding.confidence {
                                    *told = finding;
                                }
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
                Err(note) => all.notes.push(note),
            }
        }
        let any = with(|_| true).filter(|_| !found.is_empty());
        let supports_tests = |cx| self.asked_of(id, || supports_tests(cx));
        let of_tests = any.as_ref().is_some_and(supports_tests);
        let mut fixes: BTreeMap<FileId, usize> = BTreeMap::new();
        for (everywhere, mut finding) in found {
            let is_idle = |cx| self.asked_of(id, || untaken::is_idle(cx, &finding, everywhere));
            if of_tests || finding.confidence > Confidence::Low && any.as_ref().is_some_and(is_idle)
            {
                finding.confidence = Confidence::Low;
            }
            let made = fixes.entry(finding.primary.file).or_default();
            let (found, note) = self.completed(everywhere, finding, *made < MAX_FIXES);
            *made += found.finding.fixes.len();
            all.found.push(found);
            all.notes.extend(note);
        }
        let asked = &self.asked[id.0 as usize];
        all.asked = asked.names();
        all.notes.extend(asked.cut().into_iter().map(|function| self.cut(function)));
        all
    }

    /// The answer to a question that a package asks of all that was found, where it does not fail.
    fn asked_of(&self, package: PackageId, question: impl FnOnce() -> bool) -> bool {
        self.noted(package, || guard::run(question)).unwrap_or(false)
    }

    /// What the check of a rule answers.
    fn guarded(
        &self,
        rule: &'static str,
        path: impl FnOnce() -> String,
        check: impl FnOnce(&mut Vec<Finding>),
    ) -> Answer {
        self.timed(rule, || guarded(rule, path, |at| self.placed(at), check))
    }

    /// That a question about a function was given up before everything was read that it leads to.
    fn cut(&self, function: Location) -> Note {
        let (path, line_column) = self.placed(function);
        let message = "this function leads to more functions of dependencies than are read for one \
                       question; the rest of them is not looked at";
        Note { path, line_column, kind: NoteKind::DependencyBound, message: message.to_owned() }
    }

    /// A finding with its fix, if its code shows one and one is `wanted`, or a note that this failed.
    fn completed(
        &self,
        everywhere: bool,
        mut finding: Finding,
        wanted: bool,
    ) -> (Found, Option<Note>) {
        let file = finding.primary.file;
        let is_of_run = self.snapshot.files.get(file.0 as usize).is_some();
        let Some((tree, _)) = is_of_run.then(|| self.forest.parsed(file)) else {
            return (Found { everywhere, finding, declaration: String::new() }, None);
        };
        let mut failed = None;
        if finding.fixes.is_empty() && wanted {
            match guard::run(|| mend::fix(tree, &finding)) {
                Ok(fix) => finding.fixes.extend(fix),
                Err(panic) => {
                    let rule = finding.rule;
                    let message = format!("a fix for `{rule}` could not be made ({panic})");
                    failed = Some(internal_error(self.display(file), message));
                }
            }
        }
        let declaration = declared(tree, &finding);
        (Found { everywhere, finding, declaration }, failed)
    }

    /// What is found by exploring, if a rule asks for it, and that again if it is to be kept.
    fn explored(
        &self,
        package: &Package,
        reported: &BTreeSet<FileId>,
        kept: Option<&Kept<'_>>,
    ) -> (Vec<Answer>, Option<Vec<Finding>>) {
        let Some(doubtful) = self.explores_doubtful(package) else {
            return (Vec::new(), None);
        };
        if let Some(found) = kept.and_then(|kept| kept.explored(self, package, doubtful)) {
            return (vec![Ok(found)], None);
        }
        let explored = self.explore(package, reported, doubtful);
        // Where nothing is explored there is nothing to be spared.
        let is_worth_it = kept.is_some() && !explored.is_empty();
        let all: Option<Vec<&Vec<Finding>>> =
            explored.iter().map(|found| found.as_ref().ok()).collect();
        let found = all.filter(|_| is_worth_it);
        let found = found.map(|found| found.into_iter().flatten().cloned().collect());
        (explored, found)
    }

    /// Whether what is found by exploring is wanted where its confidence is low, too; `None` where nothing
    /// is.
    pub(super) fn explores_doubtful(&self, package: &Package) -> Option<bool> {
        let here = self.selections.among(self.reported(package));
        let least = |entry: &Entry| {
            let least = here.iter().filter_map(|each| each.least_confidence(entry.page.id)).min();
            least.filter(|_| matches!(entry.rule.check, Check::Exploration(_)))
        };
        let least = registry().iter().filter_map(least).min();
        let least = least.filter(|&least| least <= stuck::EXPLORED)?;
        Some(least == Confidence::Low || self.is_directed(package))
    }

    /// Whether anything is wanted that is told with low confidence.
    fn wants_doubtful(&self, package: &Package) -> bool {
        let here = self.selections.among(self.reported(package));
        let is_low = |entry: &Entry| {
            let mut least = here.iter().filter_map(|each| each.least_confidence(entry.page.id));
            least.any(|least| least == Confidence::Low)
        };
        registry().iter().any(is_low) || self.is_directed(package)
    }

    /// Whether directives stand in the files that are reported: one may speak of what is not sure enough to
    /// be shown.
    fn is_directed(&self, package: &Package) -> bool {
        self.reported(package).any(|file| self.is_directed_in(file))
    }

    /// Whether directives stand in a file.
    fn is_directed_in(&self, file: FileId) -> bool {
        *self.facts.directives(file) != Directives::default()
    }

    /// What is found by exploring the roots in the files that are reported.
    fn explore(
        &self,
        package: &Package,
        reported: &BTreeSet<FileId>,
        doubtful: bool,
    ) -> Vec<Answer> {
        let files: Vec<(FileId, &File)> = self
            .index
            .package(package.id)
            .files()
            .iter()
            .map(|(id, file)| (*id, &**file))
            .collect();
        if !Explorer::may_have_roots(&files, &|file| reported.contains(&file)) {
            return Vec::new();
        }
        let versions = versions(self.snapshot, package);
        let timings = self.progress.timings();
        let is_edited = self.forest.is_edited(&package.files);
        let past = is_edited.then(|| self.explored.of(package.id)).flatten();
        let whole = |&id: &FileId| (id, &*self.forest.parsed(id).0);
        let files = package.files.par_iter().map(whole).collect();
        let compiled =
            Timings::exploring(timings, || guard::run(|| Explorer::new(files, versions, past)));
        let explorer = match compiled {
            Ok(explorer) => explorer,
            Err(panic) => {
                let message = format!("its functions could not be compiled ({panic})");
                return vec![Err(internal_error(self.display(package.report[0]), message))];
            }
        };
        let found = explorer
            .roots(&|file| reported.contains(&file), &|file| self.snapshot.file(file).test)
            .into_par_iter()
            .filter(|_| !self.progress.is_unwanted())
            .map(|root| {
                let place = || self.display(explorer.file_of(root));
                let test = self.snapshot.files[explorer.file_of(root).0 as usize].test;
                Timings::exploring(timings, || {
                    guarded(
                        "stuck",
                        place,
                        |at| self.placed(at),
                        |findings| {
                            let explore = || explorer.explore(root, test, doubtful);
                            findings.extend(Timings::root(timings, explore).findings);
                        },
                    )
                })
            })
            .collect();
        if is_edited && !self.progress.is_unwanted() {
            self.explored.keep(package.id, explorer.into_past());
        }
        found
    }
}

/// Whether what was explored is told already: at the same place, or at one that begins with it and of another
/// thing at fault. What has one defect is [merged](super::merge) later.
fn is_told(told: &Finding, explored: &Finding) -> bool {
    told.primary == explored.primary || told.defect != explored.defect
}

/// Whether two findings of one rule stand at one place, and speak of what is made at one place.
fn is_of_same(one: &Finding, other: &Finding) -> bool {
    let made = |finding: &Finding| {
        let mut labels = finding.labels.iter().filter(|label| label.role == Role::Made);
        labels.next().map(|label| label.location)
    };
    one.primary == other.primary && made(one).is_some_and(|place| made(other) == Some(place))
}

fn is_stuck(label: &Label) -> bool {
    label.role == Role::Stuck
}
