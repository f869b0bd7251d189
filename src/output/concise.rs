//! One finding on one physical line: `path:line:column: severity[rule]: message`.

use std::io::{self, Write};

use crate::analysis::Report;
use crate::output::{in_line, severity_name};

/// Writes the findings of `report`.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        let file = report.file(finding.primary.file);
        let start = file.text.position(finding.primary.span.start);
        writeln!(
            out,
            "{}:{}:{}: {}[{}]: {}",
            in_line(&file.path),
            start.line,
            start.column,
            severity_name(finding.severity),
            finding.rule,
            in_line(&finding.message),
        )?;
    }
    Ok(())
}
