//! The last phase: what of the answers is told, and what of that is suppressed; everything in order.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use super::check::{Answers, Found};
use super::suppress::{self, Suppressions};
use super::{Counts, Report, Run, Suppressed, declared, fingerprint, merge, report};
use crate::diagnostic::{Finding, Note};
use crate::project::{Package, PackageId};
use crate::rules::bad_suppression;
use crate::source::{FileId, Location};

impl Run<'_> {
    /// The report of all answers, and of the notes that were made before.
    pub(super) fn report(
        &self,
        answers: BTreeMap<PackageId, Answers>,
        mut notes: Vec<Note>,
    ) -> Report {
        let of_asked: BTreeSet<FileId> =
            self.asked().flat_map(|package| package.files.iter().copied()).collect();
        notes.extend(of_asked.iter().filter_map(|&file| self.facts.of(file).note.clone()));
        notes.extend(self.forest.failures().cloned());
        notes.extend(self.snapshot.dependency_notes());
        let reported: BTreeSet<FileId> =
            self.asked().flat_map(|package| self.reported(package)).collect();
        let (mut shown, mut hidden) = (Vec::new(), Vec::new());
        let mut declarations: BTreeMap<Location, String> = BTreeMap::new();
        for (package, answers) in answers {
            notes.extend(answers.notes);
            for Found { everywhere, mut finding, declaration } in answers.found {
                declarations.insert(finding.primary, declaration);
                let package = self.snapshot.package(package);
                let is_shown = self.is_shown(package, everywhere, &mut finding, &reported);
                if is_shown { &mut shown } else { &mut hidden }.push(finding);
            }
        }
        let display = |id: FileId| self.display(id);
        let merged = merge::merge(&display, shown.clone());
        let (findings, quiet) = self.suppress(merged, &[shown, hidden].concat(), &reported);
        let findings = merge::sorted(&display, findings);
        let count = findings.len();
        let (quiet, directives): (Vec<Finding>, Vec<Location>) = quiet.into_iter().unzip();
        let mut findings = [findings, quiet].concat();
        let declaration = |finding: &Finding| {
            let known = declarations.get(&finding.primary).cloned();
            known.unwrap_or_else(|| declared(&self.forest.parsed(finding.primary.file).0, finding))
        };
        let mut fingerprints = fingerprint::fingerprints(self.snapshot, &findings, &declaration);
        let files = report::files(self.snapshot, &findings);
        let quiet = findings.split_off(count).into_iter().zip(fingerprints.split_off(count));
        let quiet = quiet.zip(directives).map(|((finding, fingerprint), at)| Suppressed {
            finding,
            fingerprint,
            directive: Some(self.snapshot.file(at.file).text.text(at.span).into_owned()),
        });
        let suppressed: Vec<Suppressed> = quiet.collect();
        Report {
            files,
            fingerprints,
            findings,
            notes: report::sorted_notes(notes),
            counts: Counts { suppressed: suppressed.len(), ..self.counts() },
            suppressed,
            missing_dependencies: self.snapshot.missing_dependencies(),
            reported: reported.into_iter().map(display).collect(),
            worked_out: 0,
        }
    }

    /// Whether a finding from the checks of `package` is told, with the severity that the settings
    /// give it.
    fn is_shown(
        &self,
        package: &Package,
        everywhere: bool,
        finding: &mut Finding,
        reported: &BTreeSet<FileId>,
    ) -> bool {
        let file = finding.primary.file;
        let selection = self.selections.of(file);
        finding.severity = selection.severity(finding);
        let from_here = || {
            let own = package.files.contains(&file);
            reported.contains(&file) && (!own || package.report.contains(&file))
        };
        (everywhere || from_here()) && selection.shows(finding)
    }

    /// Those of `findings` that no directive suppresses, with what is wrong with the directives; and
    /// the others, each with a directive. A directive is of use if it speaks of one of `all`.
    fn suppress(
        &self,
        findings: Vec<Finding>,
        all: &[Finding],
        reported: &BTreeSet<FileId>,
    ) -> (Vec<Finding>, Vec<(Finding, Location)>) {
        let text = |id: FileId| self.snapshot.file(id).text.clone();
        let places = all.iter().flat_map(suppress::places).map(|place| place.file);
        let is_of_run = |file: &FileId| (file.0 as usize) < self.snapshot.files.len();
        let files: BTreeSet<FileId> =
            places.filter(is_of_run).chain(reported.iter().copied()).collect();
        let directives = files.into_iter().map(|file| (file, self.facts.directives(file)));
        let mut suppressions = Suppressions::new(directives);
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
        left.extend(self.complaints(&suppressions, reported));
        (left, suppressed)
    }

    fn complaints(
        &self,
        suppressions: &Suppressions<'_>,
        reported: &BTreeSet<FileId>,
    ) -> Vec<Finding> {
        // Where a view of the package is not reported as a whole, a finding may be elsewhere.
        let is_partly_reported = |file: FileId| {
            let views = self.snapshot.packages.iter().filter(|view| view.files.contains(&file));
            let is_left_out = |id: &FileId| !reported.contains(id) && !self.facts.of(*id).generated;
            views.flat_map(|view| &view.files).any(is_left_out)
        };
        let nothing_missing = LazyCell::new(|| self.snapshot.missing_dependencies().is_empty());
        let complete = |id| *nothing_missing && !is_partly_reported(id);
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

    fn counts(&self) -> Counts {
        let files: BTreeSet<FileId> =
            self.asked().flat_map(|package| package.report.iter().copied()).collect();
        Counts {
            files: files.len(),
            packages: self.asked().map(|package| &package.dir).collect::<BTreeSet<_>>().len(),
            generated: files.iter().filter(|&&id| self.facts.of(id).generated).count(),
            ..Counts::default()
        }
    }
}
