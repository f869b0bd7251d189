//! Findings for people: the source with the story of the finding on it, through codespan-reporting.
//!
//! The primary label stands where it gets stuck; the other labels are numbered in order of time.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use codespan_reporting::diagnostic::{Diagnostic, Label, LabelStyle, Severity};
use codespan_reporting::files;
use codespan_reporting::term::{self, WriteStyle};

use crate::analysis::Report;
use crate::diagnostic;
use crate::output::in_line;
use excerpt::Excerpts;

mod excerpt;

/// Writes the findings of `report`, a blank line after each.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let config = term::Config::default();
    for finding in &report.findings {
        let excerpts = Excerpts::of(report, finding);
        let diagnostic = diagnostic(&excerpts, finding);
        let mut painted = Painted { out: &mut *out };
        term::emit_to_write_style(&mut painted, &config, &excerpts, &diagnostic).map_err(
            |error| match error {
                files::Error::Io(error) => error,
                error => io::Error::other(error),
            },
        )?;
    }
    Ok(())
}

fn diagnostic(excerpts: &Excerpts<'_>, finding: &diagnostic::Finding) -> Diagnostic<usize> {
    let severity = match finding.severity {
        diagnostic::Severity::Error => Severity::Error,
        diagnostic::Severity::Warning => Severity::Warning,
        diagnostic::Severity::Note => Severity::Note,
    };
    let (file, range) = excerpts.range(finding.primary);
    let mut labels =
        vec![Label::primary(file, range).with_message(in_line(&finding.primary_label))];
    for (index, label) in finding.labels.iter().enumerate() {
        let (file, range) = excerpts.range(label.location);
        let message = match finding.labels.len() {
            1 => in_line(&label.message).into_owned(),
            _ => format!("{}. {}", index + 1, in_line(&label.message)),
        };
        labels.push(Label::secondary(file, range).with_message(message));
    }
    let mut notes = Vec::new();
    if !finding.why.is_empty() {
        notes.push(format!("note: {}", in_line(&finding.why)));
    }
    if !finding.help.is_empty() {
        notes.push(format!("help: {}", in_line(&finding.help)));
    }
    notes.push(format!("`straggler explain {}` tells more", finding.rule));
    Diagnostic::new(severity)
        .with_code(finding.rule)
        .with_message(in_line(&finding.message))
        .with_labels(labels)
        .with_notes(notes)
}

/// Writes codespan's styles as ANSI escapes.
struct Painted<'a> {
    out: &'a mut dyn Write,
}

impl Painted<'_> {
    fn set(&mut self, style: Style) -> io::Result<()> {
        write!(self.out, "{style}")
    }
}

impl Write for Painted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl WriteStyle for Painted<'_> {
    fn set_header(&mut self, severity: Severity) -> io::Result<()> {
        self.set(colored(color(severity)).bold())
    }

    fn set_header_message(&mut self) -> io::Result<()> {
        self.set(Style::new().bold())
    }

    fn set_line_number(&mut self) -> io::Result<()> {
        self.set(colored(AnsiColor::Blue))
    }

    fn set_note_bullet(&mut self) -> io::Result<()> {
        self.set(colored(AnsiColor::Blue))
    }

    fn set_source_border(&mut self) -> io::Result<()> {
        self.set(colored(AnsiColor::Blue))
    }

    fn set_label(&mut self, severity: Severity, style: LabelStyle) -> io::Result<()> {
        self.set(match style {
            LabelStyle::Primary => colored(color(severity)),
            LabelStyle::Secondary => colored(AnsiColor::Cyan),
        })
    }

    fn reset(&mut self) -> io::Result<()> {
        write!(self.out, "{}", anstyle::Reset)
    }
}

fn colored(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(color.into()))
}

fn color(severity: Severity) -> AnsiColor {
    match severity {
        Severity::Bug | Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Green,
        Severity::Help => AnsiColor::Cyan,
    }
}
