//! What a run tells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::diagnostic::{Finding, Note};
use crate::project::Snapshot;
use crate::source::{FileId, SourceText};

/// What a run found.
#[derive(Debug, Default)]
pub struct Report {
    /// The findings, sorted by path and place.
    pub findings: Vec<Finding>,
    /// What tells each of the findings again after edits elsewhere, in their order: no place and
    /// no line is part of it.
    pub fingerprints: Vec<String>,
    /// The findings that somebody does not want to be told, sorted as the others.
    pub suppressed: Vec<Suppressed>,
    /// What could not be read or analysed, sorted by path and place.
    pub notes: Vec<Note>,
    /// How much was analysed.
    pub counts: Counts,
    /// Import paths whose sources are not here, so that less is known than could be; sorted.
    pub missing_dependencies: Vec<String>,
    /// The paths of the files in which findings would have been reported, as shown to people.
    pub reported: BTreeSet<String>,
    /// How many packages were worked out, and not known from former runs; a package counts once for each
    /// of its views.
    pub worked_out: usize,
    /// The files that the findings speak of.
    pub files: BTreeMap<FileId, ReportFile>,
}

/// A finding that somebody does not want to be told.
#[derive(Clone, Debug)]
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// What tells it again after edits elsewhere.
    pub fingerprint: String,
    /// The text of the directive; `None` for what the baseline holds.
    pub directive: Option<String>,
}

/// How much a run analysed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files asked for that were analysed.
    pub files: usize,
    /// Packages that hold them.
    pub packages: usize,
    /// Those of the files that are generated, and so not reported.
    pub generated: usize,
    /// Findings that a directive suppresses.
    pub suppressed: usize,
    /// Findings that the baseline holds.
    pub baselined: usize,
    /// Findings that fixes have mended.
    pub fixed: usize,
    /// Findings of which nothing is on a changed line.
    pub unchanged: usize,
}

/// A file that a finding speaks of.
#[derive(Clone, Debug)]
pub struct ReportFile {
    /// The path as shown to people.
    pub path: String,
    /// The absolute path.
    pub absolute: PathBuf,
    /// Its bytes.
    pub text: SourceText,
}

impl Report {
    /// The file of a location of one of the findings.
    pub fn file(&self, id: FileId) -> &ReportFile {
        self.files.get(&id).expect("a report holds the files of its findings")
    }

    /// The fingerprint of the finding at `index`.
    pub fn fingerprint(&self, index: usize) -> &str {
        &self.fingerprints[index]
    }

    /// Keeps the findings, with their fingerprints, of which `keeps` is true, and gives the others.
    pub fn retain(
        &mut self,
        mut keeps: impl FnMut(&Finding, &str) -> bool,
    ) -> Vec<(Finding, String)> {
        let findings = std::mem::take(&mut self.findings);
        let all = findings.into_iter().zip(std::mem::take(&mut self.fingerprints));
        let (kept, left_out) = all.partition(|(finding, fingerprint)| keeps(finding, fingerprint));
        let kept: Vec<(Finding, String)> = kept;
        (self.findings, self.fingerprints) = kept.into_iter().unzip();
        left_out
    }

    /// The files that findings are in of which `is_wanted` is false, by their paths as shown to people.
    pub fn unwanted(&self, is_wanted: impl Fn(&str) -> bool) -> BTreeSet<FileId> {
        let files = self.files.iter().filter(|(_, file)| !is_wanted(&file.path));
        files.map(|(&id, _)| id).collect()
    }

    /// Whether something that was asked for was not analysed, or only around an error.
    pub fn skipped(&self) -> bool {
        !self.notes.is_empty()
    }

    /// Whether something failed that was asked for: exit code 2.
    pub fn failed(&self) -> bool {
        self.notes.iter().any(|note| note.kind.is_failure())
    }
}

/// The files of all locations of `findings`.
pub(super) fn files(snapshot: &Snapshot, findings: &[Finding]) -> BTreeMap<FileId, ReportFile> {
    let locations = findings.iter().flat_map(|finding| {
        let labels = finding.labels.iter().map(|label| label.location);
        let edits = finding.fixes.iter().flat_map(|fix| &fix.edits).map(|edit| edit.location);
        [finding.primary].into_iter().chain(labels).chain(edits)
    });
    let mut files = BTreeMap::new();
    for location in locations {
        files.entry(location.file).or_insert_with(|| {
            let file = snapshot.file(location.file);
            ReportFile {
                path: file.display.clone(),
                absolute: file.path.clone(),
                text: file.text.clone(),
            }
        });
    }
    files
}

/// The notes by path and place, each once.
pub(super) fn sorted_notes(mut notes: Vec<Note>) -> Vec<Note> {
    let key = |note: &Note| (note.path.clone(), note.line_column, note.kind, note.message.clone());
    notes.sort_by_cached_key(key);
    notes.dedup();
    notes
}
