//! The chains of filters of a program: a table for people, outermost filter first, and JSON.

use std::io::{self, Write};

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::analysis::{Chains, Fact, FilterRow, Place, ToldChain};
use crate::output::{in_line, json_text};

const HEADING: anstyle::Style = anstyle::Style::new().bold();
const NOTABLE: anstyle::Style =
    anstyle::Style::new().fg_color(Some(anstyle::Color::Ansi(anstyle::AnsiColor::Yellow)));

/// The facts that matter where one side may be left behind.
const OF_NOTE: [&str; 4] =
    ["hands-off", "stashes-writer", "reads-header-after", "uses-state-after"];

/// Writes a table for each chain.
pub fn write(chains: &Chains, out: &mut dyn Write) -> io::Result<()> {
    for (number, chain) in chains.chains.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        write_chain(chain, out)?;
    }
    if chains.chains.is_empty() {
        return writeln!(out, "No chain of filters was found.");
    }
    Ok(())
}

fn write_chain(chain: &ToldChain, out: &mut dyn Write) -> io::Result<()> {
    let handler = chain.handler.as_deref().map(shortened);
    let of = match (&handler, chain.registered) {
        (Some(router), true) => format!(", registered with `{router}`"),
        (Some(handler), false) => format!(", around `{handler}`"),
        (None, _) => String::new(),
    };
    let name = in_line(&chain.function);
    writeln!(out, "{HEADING}{name}{HEADING:#} ({}){of}", place(&chain.at))?;
    let head = ["", "filter", "line", "request", "writer", "what it does"].map(str::to_owned);
    let mut rows: Vec<(Vec<String>, &[Fact])> = vec![(head.to_vec(), &[])];
    for (number, filter) in chain.filters.iter().enumerate() {
        let line = match filter.at.path == chain.at.path {
            true => filter.at.line.to_string(),
            false => place(&filter.at),
        };
        let optional = if filter.conditional { " ?" } else { "" };
        let cells = vec![
            (number + 1).to_string(),
            format!("{}{optional}", in_line(&filter.name)),
            line,
            filter.request.unwrap_or("-").to_owned(),
            filter.writer.unwrap_or("-").to_owned(),
        ];
        rows.push((cells, &filter.facts));
    }
    let width = |column: usize| {
        rows.iter().filter_map(|(cells, _)| Some(cells.get(column)?.width())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..FACTS).map(width).collect();
    for ((cells, facts), filter) in
        rows.iter().zip(std::iter::once(None).chain(chain.filters.iter().map(Some)))
    {
        let mut line = String::from(" ");
        for (column, &width) in widths.iter().enumerate() {
            let cell = &cells[column];
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            match column {
                0 => line.push_str(&format!("{padding}{cell}")),
                _ => line.push_str(&format!("  {cell}{padding}")),
            }
        }
        let last = cells.get(FACTS).map_or("", String::as_str);
        write_facts(&line, last, facts, filter, out)?;
    }
    Ok(())
}

/// The column after which the facts stand.
const FACTS: usize = 5;

fn write_facts(
    line: &str,
    head: &str,
    facts: &[Fact],
    filter: Option<&FilterRow>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let unknown = filter.is_some_and(|filter| !filter.known);
    let Some((first, more)) = facts.split_first() else {
        let text = if unknown { "not known" } else { head };
        return writeln!(out, "{}", format!("{line}  {text}").trim_end());
    };
    write!(out, "{line}  ")?;
    write_fact(first, out)?;
    for fact in more {
        write!(out, "{}  ", " ".repeat(line.width()))?;
        write_fact(fact, out)?;
    }
    Ok(())
}

fn write_fact(fact: &Fact, out: &mut dyn Write) -> io::Result<()> {
    let text = in_line(&fact.told);
    match OF_NOTE.contains(&fact.id) {
        true => write!(out, "{NOTABLE}{text}{NOTABLE:#}")?,
        false => write!(out, "{text}")?,
    }
    match &fact.at {
        Some(at) => writeln!(out, " ({})", place(at)),
        None => writeln!(out),
    }
}

fn place(place: &Place) -> String {
    format!("{}:{}", in_line(&place.path), place.line)
}

/// The first line of a piece of code.
fn shortened(code: &str) -> String {
    let first = code.lines().next().unwrap_or_default();
    let short: String = first.chars().take(MAX_CODE).collect();
    let whole = short.len() == code.len();
    format!("{}{}", in_line(&short), if whole { "" } else { "…" })
}

/// How many characters of a piece of code are shown.
const MAX_CODE: usize = 40;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    chains: Vec<JsonChain<'a>>,
}

#[derive(Serialize)]
struct JsonChain<'a> {
    function: &'a str,
    #[serde(flatten)]
    at: JsonPlace<'a>,
    kind: &'static str,
    handler: Option<&'a str>,
    /// Outermost first.
    filters: Vec<JsonFilter<'a>>,
}

#[derive(Serialize)]
struct JsonFilter<'a> {
    name: &'a str,
    #[serde(flatten)]
    at: JsonPlace<'a>,
    conditional: bool,
    known: bool,
    body: Option<JsonPlace<'a>>,
    request: Option<&'static str>,
    writer: Option<&'static str>,
    facts: Vec<JsonFact<'a>>,
}

#[derive(Serialize)]
struct JsonFact<'a> {
    id: &'static str,
    message: &'a str,
    at: Option<JsonPlace<'a>>,
}

#[derive(Serialize)]
struct JsonPlace<'a> {
    path: &'a str,
    line: u32,
}

/// Writes one JSON document.
pub fn write_json(chains: &Chains, out: &mut dyn Write) -> io::Result<()> {
    let document =
        Document { schema_version: 1, chains: chains.chains.iter().map(json_chain).collect() };
    json_text::write_pretty(&document, out)
}

fn json_chain(chain: &ToldChain) -> JsonChain<'_> {
    JsonChain {
        function: &chain.function,
        at: json_place(&chain.at),
        kind: if chain.registered { "registered" } else { "applied" },
        handler: chain.handler.as_deref(),
        filters: chain.filters.iter().map(json_filter).collect(),
    }
}

fn json_filter(filter: &FilterRow) -> JsonFilter<'_> {
    JsonFilter {
        name: &filter.name,
        at: json_place(&filter.at),
        conditional: filter.conditional,
        known: filter.known,
        body: filter.body.as_ref().map(json_place),
        request: filter.request,
        writer: filter.writer,
        facts: filter.facts.iter().map(json_fact).collect(),
    }
}

fn json_fact(fact: &Fact) -> JsonFact<'_> {
    JsonFact { id: fact.id, message: &fact.told, at: fact.at.as_ref().map(json_place) }
}

fn json_place(place: &Place) -> JsonPlace<'_> {
    JsonPlace { path: &place.path, line: place.line }
}
