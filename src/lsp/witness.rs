//! How a finding comes about, as a document: the places of its story in order of time, each with
//! its line.

use crate::analysis::Report;
use crate::source::Location;

/// The story of one finding of a report, in Markdown.
pub fn document(report: &Report, index: usize) -> String {
    let finding = &report.findings[index];
    let mut text = format!("# {}\n\n{}.\n\n", finding.rule, finding.message);
    text += "## Step by step\n\n";
    let stuck = (finding.primary, finding.primary_label.as_str());
    let steps = finding.labels.iter().map(|label| (label.location, label.message.as_str()));
    for (number, (location, message)) in (1..).zip(steps.chain([stuck])) {
        text += &step(report, number, location, message);
    }
    for (title, told) in [("Why nobody comes", &finding.why), ("The way out", &finding.help)] {
        if !told.is_empty() {
            text += &format!("## {title}\n\n{told}.\n\n");
        }
    }
    text += &format!("`straggler explain {}` tells more of the rule.\n", finding.rule);
    text
}

/// An item of a list; the line is code by its indentation, which nothing in it can end.
fn step(report: &Report, number: usize, location: Location, message: &str) -> String {
    let file = report.file(location.file);
    let line = file.text.line(location.span.start);
    let code = file.text.line_span(line).map(|span| file.text.slice(span)).unwrap_or_default();
    let code = String::from_utf8_lossy(code).replace(char::is_control, " ");
    let item = format!("{number}. ");
    let indent = " ".repeat(item.len());
    let place = format!("`{}:{line}`", file.path);
    format!("{item}{place}: {message}\n\n{indent}    {}\n\n", code.trim())
}
