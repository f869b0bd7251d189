//! Findings as the protocol's diagnostics.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gen_lsp_types::{
    Code, CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Message,
    Position, Range, Uri,
};
use serde_json::json;

use crate::analysis::Report;
use crate::diagnostic::{Finding, Severity};
use crate::source::{EditorLines, EditorPosition, Encoding, FileId, Location};

/// Places of a report in the words of an editor.
pub struct Places<'r> {
    report: &'r Report,
    encoding: Encoding,
    /// The lines of the files that the report speaks of.
    lines: BTreeMap<FileId, EditorLines>,
}

impl<'r> Places<'r> {
    /// The places of `report`, with columns in `encoding`.
    pub fn new(report: &'r Report, encoding: Encoding) -> Places<'r> {
        let lines = |file: &crate::analysis::ReportFile| EditorLines::new(file.text.bytes());
        let lines = report.files.iter().map(|(&id, file)| (id, lines(file))).collect();
        Places { report, encoding, lines }
    }

    /// The file of a location.
    pub fn path(&self, location: Location) -> &'r Path {
        &self.report.file(location.file).absolute
    }

    /// The lines and columns of a location.
    pub fn range(&self, location: Location) -> Range {
        let text = self.report.file(location.file).text.bytes();
        let lines = &self.lines[&location.file];
        let position = |offset| {
            let EditorPosition { line, column } = lines.position(text, offset, self.encoding);
            Position { line, character: column }
        };
        Range { start: position(location.span.start), end: position(location.span.end) }
    }
}

/// How the client calls things.
#[derive(Clone, Copy)]
pub struct Names<'n> {
    /// The URI of a path.
    pub uri_of: &'n dyn Fn(&Path) -> Uri,
    /// Where the page of a rule is to be read, for a client that shows it.
    pub page_of: &'n dyn Fn(&'static str) -> Option<Uri>,
}

/// The findings of a report by file.
pub fn by_file(
    report: &Report,
    places: &Places<'_>,
    names: Names<'_>,
) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
    let mut files: BTreeMap<PathBuf, Vec<Diagnostic>> = BTreeMap::new();
    for (index, finding) in report.findings.iter().enumerate() {
        let path = places.path(finding.primary).to_owned();
        let told = diagnostic(report, index, places, names);
        files.entry(path).or_default().push(told);
    }
    files
}

/// One finding of a report.
pub fn diagnostic(
    report: &Report,
    index: usize,
    places: &Places<'_>,
    names: Names<'_>,
) -> Diagnostic {
    let (finding, fingerprint) = (&report.findings[index], report.fingerprint(index));
    let location = |location| gen_lsp_types::Location {
        uri: (names.uri_of)(places.path(location)),
        range: places.range(location),
    };
    let related = finding.labels.iter().map(|label| DiagnosticRelatedInformation {
        location: location(label.location),
        message: label.message.clone(),
    });
    let related: Vec<DiagnosticRelatedInformation> = related.collect();
    Diagnostic {
        range: places.range(finding.primary),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::Error,
            Severity::Warning => DiagnosticSeverity::Warning,
            Severity::Note => DiagnosticSeverity::Information,
        }),
        code: Some(Code::String(finding.rule.to_owned())),
        code_description: (names.page_of)(finding.rule).map(|href| CodeDescription { href }),
        source: Some("straggler".to_owned()),
        message: Message::String(message(finding)),
        related_information: (!related.is_empty()).then_some(related),
        data: Some(json!({ "rule": finding.rule, "fingerprint": fingerprint })),
        ..Diagnostic::default()
    }
}

/// What happens, why nobody will come, and the way out: a line each.
fn message(finding: &Finding) -> String {
    let mut message = finding.message.clone();
    for (word, text) in [("note", &finding.why), ("help", &finding.help)] {
        if !text.is_empty() {
            message += &format!("\n{word}: {text}");
        }
    }
    message
}
