//! The rules for people and for programs: the page of one, the table of all.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::output::{confidence_name, json_text, severity_name};
use crate::rules::page::{Page, path};
use crate::rules::{Entry, GROUPS, registry};

const HEADING: Style = Style::new().bold();
const CODE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
const DIM: Style = Style::new().dimmed();

/// Writes the page of a rule.
pub fn write_page(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADING}{}{HEADING:#}", page.id)?;
    write!(
        out,
        "{DIM}group {}, severity {}, confidence up to {}, {}, since {}{DIM:#}\n\n",
        page.group,
        severity_name(page.severity),
        confidence_name(page.confidence),
        if page.default { "on by default" } else { "off by default" },
        page.since,
    )?;
    let go = page.go.map(|go| format!("Go {go}"));
    for versions in go.into_iter().chain(page.modules.iter().map(|module| (*module).to_owned())) {
        writeln!(out, "Holds for {versions}.\n")?;
    }
    write_markdown(page.summary, out)?;
    for section in &page.sections {
        writeln!(out, "\n{HEADING}{}{HEADING:#}\n", section.title)?;
        write_markdown(section.text.trim(), out)?;
    }
    Ok(())
}

/// Markdown as it is, with code set apart and fences indented instead of fenced.
fn write_markdown(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            writeln!(out, "    {CODE}{line}{CODE:#}")?;
        } else {
            write_inline(line, out)?;
        }
    }
    Ok(())
}

fn write_inline(line: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut pieces = line.split('`').peekable();
    let mut code = false;
    while let Some(piece) = pieces.next() {
        if code && pieces.peek().is_some() {
            write!(out, "{CODE}`{piece}`{CODE:#}")?;
        } else if code {
            write!(out, "`{piece}")?;
        } else {
            write!(out, "{piece}")?;
        }
        code = !code;
    }
    writeln!(out)
}

/// Writes the table of all rules.
pub fn write_rules(out: &mut dyn Write) -> io::Result<()> {
    let width = registry().iter().map(|entry| entry.page.id.width()).max().unwrap_or(0);
    for group in GROUPS {
        let members: Vec<&Entry> =
            registry().iter().filter(|entry| entry.page.group == group.id).collect();
        if members.is_empty() {
            continue;
        }
        writeln!(out, "{HEADING}{}{HEADING:#}: {}", group.id, group.title)?;
        for Entry { page, .. } in members {
            let padding = " ".repeat(width - page.id.width());
            let off = if page.default { "" } else { " (off by default)" };
            write!(
                out,
                "  {CODE}{}{CODE:#}{padding}  {:7}  {:6}  ",
                page.id,
                severity_name(page.severity),
                confidence_name(page.confidence),
            )?;
            writeln!(out, "{}{off}", one_line(page.summary))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "`straggler explain RULE` shows the page of a rule.")
}

#[derive(Serialize)]
struct JsonRule<'a> {
    id: &'a str,
    group: &'a str,
    severity: &'static str,
    confidence: &'static str,
    default: bool,
    since: &'a str,
    supersedes: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    go: Option<&'a str>,
    modules: &'a [&'a str],
    summary: String,
    url: String,
}

/// Writes all rules as one JSON array.
pub fn write_rules_json(out: &mut dyn Write) -> io::Result<()> {
    let rules: Vec<JsonRule<'_>> = registry()
        .iter()
        .map(|Entry { page, .. }| JsonRule {
            id: page.id,
            group: page.group,
            severity: severity_name(page.severity),
            confidence: confidence_name(page.confidence),
            default: page.default,
            since: page.since,
            supersedes: &page.supersedes,
            go: page.go,
            modules: &page.modules,
            summary: one_line(page.summary),
            url: path(page.id),
        })
        .collect();
    json_text::write_pretty(&rules, out)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
