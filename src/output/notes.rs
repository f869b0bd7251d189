//! What a run tells people besides its findings: what it could not read, and its summary.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use crate::analysis::Report;
use crate::diagnostic::{Note, NoteKind};
use crate::output::in_line;

/// Writes the notes of a run, one line each.
pub fn write(notes: &[Note], out: &mut dyn Write) -> io::Result<()> {
    for note in notes {
        let (word, color) = match note.kind.is_failure() {
            true => ("error", AnsiColor::Red),
            false => ("note", AnsiColor::Cyan),
        };
        let style = Style::new().fg_color(Some(color.into())).bold();
        write!(out, "{style}{word}{style:#}: ")?;
        if !note.path.is_empty() {
            write!(out, "{}:", in_line(&note.path))?;
            if let Some((line, column)) = note.line_column {
                write!(out, "{line}:{column}:")?;
            }
            write!(out, " ")?;
        }
        writeln!(out, "{}", in_line(&note.message))?;
    }
    Ok(())
}

/// Writes the line that ends a run: what was found, where, what was left out and why, and how
/// long it took.
pub fn write_summary(report: &Report, elapsed: Duration, out: &mut dyn Write) -> io::Result<()> {
    let style = match report.findings.is_empty() {
        true => Style::new().fg_color(Some(AnsiColor::Green.into())).bold(),
        false => Style::new().bold(),
    };
    let found = match report.findings.len() {
        0 => "no findings".to_owned(),
        count => plural(count, "finding").to_string(),
    };
    write!(
        out,
        "{style}{found}{style:#} in {} of {}",
        plural(report.counts.files, "file"),
        plural(report.counts.packages, "package"),
    )?;
    let left_out = [
        (report.counts.fixed, "fixed"),
        (report.counts.suppressed, "suppressed"),
        (report.counts.baselined, "baselined"),
        (report.counts.unchanged, "on no changed line"),
    ];
    for (count, why) in left_out.into_iter().filter(|(count, _)| *count > 0) {
        write!(out, "; {count} {why}")?;
    }
    for (count, what) in exceptions(report) {
        write!(out, "; {count} {what}")?;
    }
    if !report.missing_dependencies.is_empty() {
        let missing = report.missing_dependencies.len();
        write!(out, "; {} not found", plural(missing, "dependency"))?;
    }
    writeln!(out, "; {:.2} s", elapsed.as_secs_f64())
}

/// Files that were not analysed like the others, by reason.
fn exceptions(report: &Report) -> Vec<(usize, &'static str)> {
    let files_with = |kind: NoteKind| {
        let notes = report.notes.iter().filter(|note| note.kind == kind);
        notes.map(|note| &note.path).collect::<BTreeSet<_>>().len()
    };
    let all = [
        (report.counts.generated, "generated, not reported"),
        (files_with(NoteKind::ParseError), "with syntax errors, analysed around them"),
        (files_with(NoteKind::TooLarge), "skipped as too large"),
        (files_with(NoteKind::NotRegular), "skipped as not regular"),
        (files_with(NoteKind::NeverBuilt), "skipped as never built"),
        (files_with(NoteKind::Unreadable), "unreadable"),
        (files_with(NoteKind::Missing), "missing"),
    ];
    all.into_iter().filter(|(count, _)| *count > 0).collect()
}

fn plural(count: usize, noun: &str) -> impl fmt::Display {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}
