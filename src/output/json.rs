//! One JSON document: the findings, the notes, and counts; or one line for each finding. It holds no
//! time, so that equal input gives equal bytes.
//!
//! Paths are relative to the working directory where possible. Lines and columns start at 1;
//! `column` counts bytes and `column_utf16` UTF-16 code units.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::analysis::Report;
use crate::diagnostic::{Fix, Label, Note, NoteKind, Role, Safety};
use crate::output::{confidence_name, json_text, severity_name};
use crate::rules::page;
use crate::source::{Location, SourceText};

/// Raised when a reader of the format would have to change.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    diagnostics: Vec<Diagnostic<'a>>,
    notes: Vec<JsonNote<'a>>,
    /// Import paths whose sources are not there.
    missing_dependencies: &'a [String],
    summary: Summary,
}

#[derive(Serialize)]
struct Diagnostic<'a> {
    rule: &'a str,
    severity: &'static str,
    confidence: &'static str,
    message: &'a str,
    #[serde(flatten)]
    place: Place<'a>,
    label: &'a str,
    labels: Vec<JsonLabel<'a>>,
    why: &'a str,
    help: &'a str,
    fixes: Vec<JsonFix<'a>>,
    /// Tells the finding again after edits elsewhere.
    fingerprint: &'a str,
    /// The rule's page, from the root of straggler's repository.
    url: String,
}

#[derive(Serialize)]
struct JsonLabel<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    role: &'static str,
    message: &'a str,
}

#[derive(Serialize)]
struct JsonFix<'a> {
    message: &'a str,
    safety: &'static str,
    edits: Vec<JsonEdit<'a>>,
}

#[derive(Serialize)]
struct JsonEdit<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    replacement: &'a str,
}

#[derive(Serialize)]
struct Place<'a> {
    path: &'a str,
    start: JsonPosition,
    end: JsonPosition,
}

#[derive(Serialize)]
struct JsonPosition {
    line: u32,
    column: u32,
    column_utf16: u32,
}

#[derive(Serialize)]
struct JsonNote<'a> {
    kind: &'static str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    message: &'a str,
}

#[derive(Serialize)]
struct Summary {
    findings: usize,
    /// Findings by rule; only rules with findings.
    rules: BTreeMap<&'static str, usize>,
    files: usize,
    packages: usize,
    generated: usize,
    suppressed: usize,
    baselined: usize,
    unchanged: usize,
    fixed: usize,
    /// Notes by kind; only kinds that occurred.
    notes: BTreeMap<&'static str, usize>,
}

/// Writes `report`.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        diagnostics: (0..report.findings.len()).map(|index| diagnostic(report, index)).collect(),
        notes: report.notes.iter().map(note).collect(),
        missing_dependencies: &report.missing_dependencies,
        summary: summary(report),
    };
    json_text::write_pretty(&document, out)
}

/// Writes each finding of `report` as one JSON document on a line of its own.
pub fn write_lines(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for index in 0..report.findings.len() {
        json_text::write(&diagnostic(report, index), out)?;
    }
    Ok(())
}

fn diagnostic<'a>(report: &'a Report, index: usize) -> Diagnostic<'a> {
    let finding = &report.findings[index];
    let label = |label: &'a Label| JsonLabel {
        place: place(report, label.location),
        role: role_name(label.role),
        message: &label.message,
    };
    Diagnostic {
        rule: finding.rule,
        severity: severity_name(finding.severity),
        confidence: confidence_name(finding.confidence),
        message: &finding.message,
        place: place(report, finding.primary),
        label: &finding.primary_label,
        labels: finding.labels.iter().map(label).collect(),
        why: &finding.why,
        help: &finding.help,
        fixes: finding.fixes.iter().map(|each| fix(report, each)).collect(),
        fingerprint: report.fingerprint(index),
        url: page::path(finding.rule),
    }
}

fn fix<'a>(report: &'a Report, fix: &'a Fix) -> JsonFix<'a> {
    let edits = fix.edits.iter().map(|edit| JsonEdit {
        place: place(report, edit.location),
        replacement: &edit.replacement,
    });
    let safety = match fix.safety {
        Safety::Safe => "safe",
        Safety::Unsafe => "unsafe",
    };
    JsonFix { message: &fix.message, safety, edits: edits.collect() }
}

fn place(report: &Report, location: Location) -> Place<'_> {
    let file = report.file(location.file);
    Place {
        path: &file.path,
        start: position(&file.text, location.span.start),
        end: position(&file.text, location.span.end),
    }
}

fn position(text: &SourceText, offset: u32) -> JsonPosition {
    let position = text.position(offset);
    JsonPosition {
        line: position.line,
        column: position.column,
        column_utf16: position.column_utf16,
    }
}

fn note(note: &Note) -> JsonNote<'_> {
    JsonNote {
        kind: kind_name(note.kind),
        path: &note.path,
        line: note.line_column.map(|(line, _)| line),
        column: note.line_column.map(|(_, column)| column),
        message: &note.message,
    }
}

fn summary(report: &Report) -> Summary {
    let mut notes = BTreeMap::new();
    for note in &report.notes {
        *notes.entry(kind_name(note.kind)).or_default() += 1;
    }
    let mut rules = BTreeMap::new();
    for finding in &report.findings {
        *rules.entry(finding.rule).or_default() += 1;
    }
    Summary {
        findings: report.findings.len(),
        rules,
        files: report.counts.files,
        packages: report.counts.packages,
        generated: report.counts.generated,
        suppressed: report.counts.suppressed,
        baselined: report.counts.baselined,
        unchanged: report.counts.unchanged,
        fixed: report.counts.fixed,
        notes,
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Made => "made",
        Role::Started => "started",
        Role::Stuck => "stuck",
        Role::Left => "left",
        Role::Condition => "condition",
        Role::Context => "context",
    }
}

fn kind_name(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::ParseError => "parse-error",
        NoteKind::TooLarge => "too-large",
        NoteKind::NotRegular => "not-regular",
        NoteKind::NeverBuilt => "never-built",
        NoteKind::Unreadable => "unreadable",
        NoteKind::Missing => "missing",
        NoteKind::BadModuleFile => "bad-module-file",
        NoteKind::DependencyBound => "dependency-bound",
        NoteKind::StepBound => "step-bound",
        NoteKind::InternalError => "internal-error",
    }
}
