//! From a snapshot to a report: the phases, their order, and what becomes of the findings.

use std::collections::BTreeMap;

use crate::diagnostic::{Finding, Note};
use crate::source::{FileId, SourceText};

/// What a run found.
#[derive(Debug, Default)]
pub struct Report {
    /// The findings, sorted by path and place.
    pub findings: Vec<Finding>,
    /// What could not be read or analysed, sorted by path and place.
    pub notes: Vec<Note>,
    /// How much was analysed.
    pub counts: Counts,
    /// The files that the findings speak of.
    pub files: BTreeMap<FileId, ReportFile>,
}

/// How much a run analysed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files named by the user that were analysed.
    pub files: usize,
    /// Packages that hold them.
    pub packages: usize,
    /// Those of the files that are generated, and so not reported.
    pub generated: usize,
}

/// A file that a finding speaks of.
#[derive(Clone, Debug)]
pub struct ReportFile {
    /// The path as shown to people.
    pub path: String,
    /// Its bytes.
    pub text: SourceText,
}

impl Report {
    /// The file of a location of one of the findings.
    pub fn file(&self, id: FileId) -> &ReportFile {
        self.files.get(&id).expect("a report holds the files of its findings")
    }

    /// Whether something failed that was asked for: exit code 2.
    pub fn failed(&self) -> bool {
        self.notes.iter().any(|note| note.kind.is_failure())
    }
}
