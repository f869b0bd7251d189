//! Findings as commands that CI servers read from a log: each is one line, and what stands in a
//! name or a message can neither end it nor start another.
//!
//! GitHub: <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>.
//! Azure Pipelines: <https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands>.
//! TeamCity: <https://www.jetbrains.com/help/teamcity/service-messages.html>.

use std::collections::BTreeSet;
use std::io::{self, Write};

use crate::analysis::Report;
use crate::diagnostic::{Finding, Severity};
use crate::output::severity_name;
use crate::rules;

/// Writes the findings of `report` as annotations of GitHub Actions.
pub fn write_github(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        let file = report.file(finding.primary.file);
        let start = file.text.position(finding.primary.span.start);
        let end = file.text.position(finding.primary.span.end);
        let command = match finding.severity {
            Severity::Note => "notice",
            severity => severity_name(severity),
        };
        write!(
            out,
            "::{command} file={},line={},endLine={}",
            github_property(&file.path),
            start.line,
            end.line
        )?;
        // GitHub refuses columns for a place of several lines.
        if start.line == end.line {
            write!(out, ",col={},endColumn={}", start.column, end.column)?;
        }
        writeln!(
            out,
            ",title={}::{}",
            github_property(&format!("straggler: {}", finding.rule)),
            github_data(&story(report, finding))
        )?;
    }
    Ok(())
}

/// Writes the findings of `report` as issues of Azure Pipelines.
pub fn write_azure(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        let file = report.file(finding.primary.file);
        let start = file.text.position(finding.primary.span.start);
        let kind = match finding.severity {
            Severity::Error => "error",
            Severity::Warning | Severity::Note => "warning",
        };
        writeln!(
            out,
            "##vso[task.logissue type={kind};sourcepath={};linenumber={};columnnumber={};code={}]{}",
            azure(&file.path),
            start.line,
            start.column,
            finding.rule,
            azure(&finding.message),
        )?;
    }
    Ok(())
}

/// Writes the findings of `report` as inspections of TeamCity.
pub fn write_teamcity(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let found: BTreeSet<&str> = report.findings.iter().map(|finding| finding.rule).collect();
    for page in found.iter().filter_map(|rule| Some(&rules::find(rule)?.page)) {
        writeln!(
            out,
            "##teamcity[inspectionType id='{}' name='{}' category='straggler: {}' description='{}']",
            page.id,
            page.id,
            page.group,
            teamcity(&page.summary.split_whitespace().collect::<Vec<_>>().join(" ")),
        )?;
    }
    for finding in &report.findings {
        let file = report.file(finding.primary.file);
        let severity = match finding.severity {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Note => "INFO",
        };
        writeln!(
            out,
            "##teamcity[inspection typeId='{}' message='{}' file='{}' line='{}' SEVERITY='{severity}']",
            finding.rule,
            teamcity(&finding.message),
            teamcity(&file.path),
            file.text.line(finding.primary.span.start),
        )?;
    }
    Ok(())
}

/// The message, and below it the places of the story and the way out.
fn story(report: &Report, finding: &Finding) -> String {
    let mut story = finding.message.clone();
    for (index, label) in finding.labels.iter().enumerate() {
        let file = report.file(label.location.file);
        let line = file.text.line(label.location.span.start);
        story += &format!("\n{}. {}:{line}: {}", index + 1, file.path, label.message);
    }
    for (word, text) in [("note", &finding.why), ("help", &finding.help)] {
        if !text.is_empty() {
            story += &format!("\n{word}: {text}");
        }
    }
    story
}

fn github_data(text: &str) -> String {
    escaped(text, |c| match c {
        '%' => Some("%25"),
        '\r' => Some("%0D"),
        '\n' => Some("%0A"),
        _ => None,
    })
}

fn github_property(text: &str) -> String {
    escaped(&github_data(text), |c| match c {
        ':' => Some("%3A"),
        ',' => Some("%2C"),
        _ => None,
    })
}

fn azure(text: &str) -> String {
    escaped(text, |c| match c {
        '%' => Some("%AZP25"),
        '\r' => Some("%0D"),
        '\n' => Some("%0A"),
        ';' => Some("%3B"),
        ']' => Some("%5D"),
        _ => None,
    })
}

fn teamcity(text: &str) -> String {
    escaped(text, |c| match c {
        '|' => Some("||"),
        '\'' => Some("|'"),
        '[' => Some("|["),
        ']' => Some("|]"),
        '\n' => Some("|n"),
        '\r' => Some("|r"),
        '\u{85}' => Some("|x"),
        '\u{2028}' => Some("|l"),
        '\u{2029}' => Some("|p"),
        _ => None,
    })
}

/// `text` with characters replaced, and what would steer a terminal made visible: a log is shown
/// on one, sooner or later.
fn escaped(text: &str, replacement: impl Fn(char) -> Option<&'static str>) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match replacement(c) {
            Some(replaced) => escaped += replaced,
            None => escaped += &crate::output::in_line(c.encode_utf8(&mut [0; 4])),
        }
    }
    escaped
}
