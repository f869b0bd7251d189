//! Findings as GitLab's code quality report
//! (<https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>).

use std::io::{self, Write};

use serde::Serialize;

use crate::analysis::Report;
use crate::diagnostic::{Confidence, Finding, Severity};
use crate::output::json_text;

#[derive(Serialize)]
struct Issue<'a> {
    description: &'a str,
    check_name: &'a str,
    fingerprint: &'a str,
    severity: &'static str,
    location: Place<'a>,
}

#[derive(Serialize)]
struct Place<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// Writes the findings of `report`.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let issues: Vec<Issue<'_>> =
        (0..report.findings.len()).map(|index| issue(report, index)).collect();
    json_text::write_pretty(&issues, out)
}

fn issue(report: &Report, index: usize) -> Issue<'_> {
    let finding = &report.findings[index];
    let file = report.file(finding.primary.file);
    Issue {
        description: &finding.message,
        check_name: finding.rule,
        fingerprint: report.fingerprint(index),
        severity: severity(finding),
        location: Place {
            path: &file.path,
            lines: Lines { begin: file.text.line(finding.primary.span.start) },
        },
    }
}

fn severity(finding: &Finding) -> &'static str {
    match (finding.severity, finding.confidence) {
        (Severity::Error, Confidence::High) => "critical",
        (Severity::Error, _) => "major",
        (Severity::Warning, _) => "minor",
        (Severity::Note, _) => "info",
    }
}
