//! Findings by file, and how many there are of each rule: for people who want to see what there is
//! before they read it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::Style;

use crate::analysis::Report;
use crate::diagnostic::Finding;
use crate::output::{in_line, severity_name};

const HEADING: Style = Style::new().bold();

/// Writes the findings of `report`, one line for each below the name of its file.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let of_one_file = |a: &Finding, b: &Finding| a.primary.file == b.primary.file;
    for (number, findings) in report.findings.chunk_by(of_one_file).enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let file = report.file(findings[0].primary.file);
        writeln!(out, "{HEADING}{}{HEADING:#}", in_line(&file.path))?;
        for finding in findings {
            let start = file.text.position(finding.primary.span.start);
            let place = format!("{}:{}", start.line, start.column);
            let severity = severity_name(finding.severity);
            let message = in_line(&finding.message);
            writeln!(out, "{place:>9}  {severity}[{}]: {message}", finding.rule)?;
        }
    }
    Ok(())
}

/// Writes how many findings there are of each rule, most first, and how many have a fix.
pub fn write_statistics(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut rules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for finding in &report.findings {
        let (count, fixable) = rules.entry(finding.rule).or_default();
        *count += 1;
        *fixable += usize::from(!finding.fixes.is_empty());
    }
    let mut rules: Vec<(&str, (usize, usize))> = rules.into_iter().collect();
    rules.sort_by_key(|&(rule, (count, _))| (std::cmp::Reverse(count), rule));
    for (rule, (count, fixable)) in rules {
        let fixes = match fixable {
            0 => String::new(),
            fixable => format!("  ({fixable} with a fix)"),
        };
        writeln!(out, "{count:>6}  {rule}{fixes}")?;
    }
    Ok(())
}
