//! Findings as XML, for what reads the reports of Java's tools.
//!
//! Checkstyle: <https://checkstyle.org>, as Jenkins' warnings plug-in reads it. JUnit:
//! <https://github.com/testmoapp/junitxml>, one failed test for each finding.

use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use crate::analysis::Report;
use crate::diagnostic::{Finding, Severity};

/// Writes the findings of `report` as Checkstyle does.
pub fn write_checkstyle(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = Xml::new(out)?;
    xml.open("checkstyle", &[("version", "4.3")])?;
    for of_file in report.findings.chunk_by(|a, b| a.primary.file == b.primary.file) {
        let file = report.file(of_file[0].primary.file);
        xml.open("file", &[("name", &file.path)])?;
        for finding in of_file {
            let start = file.text.position(finding.primary.span.start);
            let severity = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "info",
            };
            xml.empty(
                "error",
                &[
                    ("line", &start.line.to_string()),
                    ("column", &start.column.to_string()),
                    ("severity", severity),
                    ("message", &finding.message),
                    ("source", &format!("straggler.{}", finding.rule)),
                ],
            )?;
        }
        xml.close("file")?;
    }
    xml.close("checkstyle")?;
    xml.end()
}

/// Writes the findings of `report` as failed tests; without findings, as one test that passed.
pub fn write_junit(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let failures = report.findings.len().to_string();
    let tests = report.findings.len().max(1).to_string();
    let counts = [("name", "straggler"), ("tests", &*tests), ("failures", &*failures)];
    let mut xml = Xml::new(out)?;
    xml.open("testsuites", &counts)?;
    xml.open("testsuite", &counts)?;
    if report.findings.is_empty() {
        xml.empty("testcase", &[("classname", "straggler"), ("name", "no findings")])?;
    }
    for finding in &report.findings {
        let file = report.file(finding.primary.file);
        let line = file.text.line(finding.primary.span.start);
        let name = format!("{} at line {line}", finding.rule);
        xml.open("testcase", &[("classname", &file.path), ("name", &name)])?;
        xml.open("failure", &[("message", &finding.message), ("type", finding.rule)])?;
        xml.text(&told(report, finding))?;
        xml.close("failure")?;
        xml.close("testcase")?;
    }
    xml.close("testsuite")?;
    xml.close("testsuites")?;
    xml.end()
}

fn told(report: &Report, finding: &Finding) -> String {
    let place = |location: crate::source::Location| {
        let file = report.file(location.file);
        format!("{}:{}", file.path, file.text.line(location.span.start))
    };
    let mut told = format!("{}: {}", place(finding.primary), finding.primary_label);
    for label in &finding.labels {
        told += &format!("\n{}: {}", place(label.location), label.message);
    }
    for text in [&finding.why, &finding.help] {
        if !text.is_empty() {
            told += &format!("\n{text}");
        }
    }
    told
}

/// A document that is written element by element.
struct Xml<'o>(Writer<&'o mut dyn Write>);

impl<'o> Xml<'o> {
    fn new(out: &'o mut dyn Write) -> io::Result<Xml<'o>> {
        let mut writer = Writer::new_with_indent(out, b' ', 2);
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        Ok(Xml(writer))
    }

    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
        self.0.write_event(Event::Start(element(name, attributes)))
    }

    fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
        self.0.write_event(Event::Empty(element(name, attributes)))
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.0.write_event(Event::Text(BytesText::new(&legal(text))))
    }

    fn close(&mut self, name: &str) -> io::Result<()> {
        self.0.write_event(Event::End(BytesEnd::new(name)))
    }

    fn end(self) -> io::Result<()> {
        writeln!(self.0.into_inner())
    }
}

fn element<'n>(name: &'n str, attributes: &[(&str, &str)]) -> BytesStart<'n> {
    let mut start = BytesStart::new(name);
    for &(key, value) in attributes {
        // A reader makes spaces of them anyway (XML 1.0, section 3.3.3).
        let value = legal(value).replace(['\n', '\r', '\t'], " ");
        start.push_attribute((key, &*value));
    }
    start
}

/// `text` with U+FFFD for what may not stand in XML, and for the control characters that should not
/// (XML 1.0, section 2.2).
fn legal(text: &str) -> String {
    let is_legal = |c: char| match c {
        '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' => false,
        '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => true,
        _ => false,
    };
    text.chars().map(|c| if is_legal(c) { c } else { '\u{fffd}' }).collect()
}
