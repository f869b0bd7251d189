//! Findings in reviewdog's format
//! (<https://github.com/reviewdog/reviewdog/tree/master/proto/rdf>). Columns count bytes, from 1.

use std::io::{self, Write};

use serde::Serialize;

use crate::analysis::Report;
use crate::diagnostic::{Finding, Severity};
use crate::output::json_text;
use crate::source::Location;

#[derive(Serialize)]
struct Document<'a> {
    source: Source,
    diagnostics: Vec<Diagnostic<'a>>,
}

#[derive(Serialize)]
struct Source {
    name: &'static str,
}

#[derive(Serialize)]
struct Diagnostic<'a> {
    message: &'a str,
    location: Place<'a>,
    severity: &'static str,
    code: Code<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<Suggestion<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Related<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    path: &'a str,
    range: Range,
}

#[derive(Serialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Serialize)]
struct Position {
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct Code<'a> {
    value: &'a str,
}

#[derive(Serialize)]
struct Suggestion<'a> {
    range: Range,
    text: &'a str,
}

#[derive(Serialize)]
struct Related<'a> {
    message: &'a str,
    location: Place<'a>,
}

/// Writes the findings of `report`.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        source: Source { name: "straggler" },
        diagnostics: report.findings.iter().map(|finding| diagnostic(report, finding)).collect(),
    };
    json_text::write_pretty(&document, out)
}

fn diagnostic<'a>(report: &'a Report, finding: &'a Finding) -> Diagnostic<'a> {
    // A suggestion is offered to be taken with one click: only what one edit of this file makes.
    let suggestions = finding.fixes.iter().filter_map(|fix| match &fix.edits[..] {
        [edit] if edit.location.file == finding.primary.file => {
            Some(Suggestion { range: range(report, edit.location), text: &edit.replacement })
        }
        _ => None,
    });
    let related = finding
        .labels
        .iter()
        .map(|label| Related { message: &label.message, location: place(report, label.location) });
    Diagnostic {
        message: &finding.message,
        location: place(report, finding.primary),
        severity: match finding.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Note => "INFO",
        },
        code: Code { value: finding.rule },
        suggestions: suggestions.collect(),
        related_locations: related.collect(),
    }
}

fn place(report: &Report, location: Location) -> Place<'_> {
    Place { path: &report.file(location.file).path, range: range(report, location) }
}

fn range(report: &Report, location: Location) -> Range {
    let text = &report.file(location.file).text;
    let position = |offset: u32| {
        let position = text.position(offset);
        Position { line: position.line, column: position.column }
    };
    Range { start: position(location.span.start), end: position(location.span.end) }
}
