//! The pages of the rules as a website: a file for each, which needs nothing but itself, and an index
//! that can be searched.

use pulldown_cmark::{Options, Parser, html};

use crate::output::{confidence_name, severity_name};
use crate::rules::page::Page;
use crate::rules::{Entry, GROUPS, registry};

const STYLE: &str = include_str!("site.css");
const SEARCH: &str = include_str!("site.js");

/// The names and texts of the files.
pub fn site() -> Vec<(String, String)> {
    let rule = |Entry { page, .. }: &Entry| (format!("{}.html", page.id), rule(page));
    [("index.html".to_owned(), index())].into_iter().chain(registry().iter().map(rule)).collect()
}

fn index() -> String {
    let mut rows = String::new();
    for Entry { page, .. } in registry() {
        let sections = page.sections.iter().map(|section| section.text);
        let words: Vec<&str> =
            [page.id, page.group, page.summary].into_iter().chain(sections).collect();
        let words = words.join(" ").to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        let off = if page.default { "" } else { " <span class=\"facts\">(off by default)</span>" };
        rows += &format!(
            "<tr data-text=\"{}\"><td><a href=\"{id}.html\"><code>{id}</code></a></td><td>{}</td><td>{}{off}</td></tr>\n",
            escaped(&words.join(" ")),
            page.group,
            inline(page.summary),
            id = page.id,
        );
    }
    let groups: Vec<String> = GROUPS
        .iter()
        .map(|group| format!("<b>{}</b>: {}", group.id, inline(group.title)))
        .collect();
    let body = format!(
        "<h1>straggler</h1>\n<p>The rules of straggler, a static analyser that finds goroutines left behind in Go \
         source.</p>\n<p class=\"facts\">{}</p>\n<p><input type=\"search\" placeholder=\"Search the rules\" \
         aria-label=\"Search the rules\" autofocus></p>\n<p class=\"facts\"><output></output></p>\n<table>\n\
         <thead><tr><th>Rule</th><th>Group</th><th>Reports</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n\
         <script>\n{SEARCH}</script>\n",
        groups.join("; ")
    );
    document("The rules of straggler", &body)
}

fn rule(page: &Page) -> String {
    let mut body = format!(
        "<p><a href=\"index.html\">All rules</a></p>\n<h1>{}</h1>\n<p class=\"facts\">group {}, severity {}, \
         confidence up to {}, {}, since {}</p>\n",
        page.id,
        page.group,
        severity_name(page.severity),
        confidence_name(page.confidence),
        if page.default { "on by default" } else { "off by default" },
        page.since,
    );
    let go = page.go.map(|go| format!("Go {go}"));
    for versions in go.into_iter().chain(page.modules.iter().map(|module| (*module).to_owned())) {
        body += &format!("<p>Holds for {}.</p>\n", escaped(&versions));
    }
    body += &markdown(page.summary);
    for section in &page.sections {
        body += &format!("<h2>{}</h2>\n{}", inline(section.title), markdown(section.text));
    }
    document(page.id, &body)
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

fn markdown(text: &str) -> String {
    let mut out = String::new();
    html::push_html(&mut out, Parser::new_ext(text, Options::ENABLE_TABLES));
    out
}

/// The markup of a single paragraph, without the paragraph.
fn inline(text: &str) -> String {
    let paragraph = markdown(text);
    let inner = paragraph.trim().strip_prefix("<p>").and_then(|rest| rest.strip_suffix("</p>"));
    inner.map_or_else(|| paragraph.clone(), str::to_owned)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
