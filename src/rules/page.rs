//! The page of a rule, `rules/<rule-id>.md`: the only source of its identity and prose.
//!
//! ````text
//! ---
//! id: nil-channel
//! group: stuck
//! severity: error
//! confidence: high
//! default: true
//! since: 0.1.0
//! supersedes: receive-without-sender, send-without-receiver
//! apart: true
//! go: < 1.23
//! module: k8s.io/apimachinery < v0.21
//! ---
//! # nil-channel
//!
//! One sentence on what is reported.
//!
//! ## Why
//! ...
//! ````
//!
//! `supersedes`, `apart`, `go` and `module` may be left out; `module` may stand several times. The sections
//! are those of [`SECTIONS`], in that order.

use std::fmt;

use crate::diagnostic::{Confidence, Severity};

/// The sections of a page, in order.
pub const SECTIONS: [&str; 5] = ["Why", "Flagged", "Fine", "Fix", "Limits"];

/// What a page says.
#[derive(Clone, Debug)]
pub struct Page {
    /// The rule's name, in kebab-case: names the fault, and reads well as "ignore <id>".
    pub id: &'static str,
    /// The id of its group.
    pub group: &'static str,
    /// The severity of its worst finding.
    pub severity: Severity,
    /// The confidence of its surest finding.
    pub confidence: Confidence,
    /// Whether it runs without being asked for.
    pub default: bool,
    /// The version of straggler that brought it.
    pub since: &'static str,
    /// Rules whose findings on the same defect this rule replaces.
    pub supersedes: Vec<&'static str>,
    /// Whether two findings at two places are two mistakes, also where they have one defect: as long as the last place
    /// above them that their stories tell of is not the same.
    pub apart: bool,
    /// The Go versions that it holds for, in words; the check decides.
    pub go: Option<&'static str>,
    /// The versions of modules that it holds for, in words; the check decides.
    pub modules: Vec<&'static str>,
    /// The sentence on what is reported, in Markdown.
    pub summary: &'static str,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

/// A part of a page under its own heading.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// What stands under it, in Markdown.
    pub text: &'static str,
    /// The line of the page (from 1) on which `text` starts.
    pub line: usize,
}

/// Why a page cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageError {
    /// The line of the page, from 1.
    pub line: usize,
    /// What is wrong: lower case, no full stop.
    pub message: String,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl Page {
    /// Reads a page.
    pub fn parse(text: &'static str) -> Result<Page, PageError> {
        let (front_matter, body, body_line) = split_front_matter(text)?;
        let fields = Fields::parse(front_matter)?;
        let id = fields.required("id")?;
        let (summary, sections) = parse_body(id.value, body, body_line)?;
        Ok(Page {
            id: id.value,
            group: fields.required("group")?.value,
            severity: fields.required("severity")?.one_of(&SEVERITIES)?,
            confidence: fields.required("confidence")?.one_of(&CONFIDENCES)?,
            default: fields.required("default")?.one_of(&BOOLEANS)?,
            since: fields.required("since")?.value,
            supersedes: fields
                .optional("supersedes")
                .map_or_else(Vec::new, |field| field.value.split(',').map(str::trim).collect()),
            apart: match fields.optional("apart") {
                Some(field) => field.one_of(&BOOLEANS)?,
                None => false,
            },
            go: fields.optional("go").map(|field| field.value),
            modules: fields.all("module").map(|field| field.value).collect(),
            summary,
            sections,
        })
    }

    /// The section under `title`.
    pub fn section(&self, title: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.title == title)
    }
}

/// Where the page of the rule `id` is, from the root of straggler's own repository.
pub fn path(id: &str) -> String {
    format!("rules/{id}.md")
}

const SEVERITIES: [(&str, Severity); 3] =
    [("error", Severity::Error), ("warning", Severity::Warning), ("note", Severity::Note)];

const CONFIDENCES: [(&str, Confidence); 3] =
    [("high", Confidence::High), ("medium", Confidence::Medium), ("low", Confidence::Low)];

const BOOLEANS: [(&str, bool); 2] = [("true", true), ("false", false)];

const KEYS: [&str; 10] = [
    "id",
    "group",
    "severity",
    "confidence",
    "default",
    "since",
    "supersedes",
    "apart",
    "go",
    "module",
];

struct Fields(Vec<Field>);

#[derive(Clone, Copy)]
struct Field {
    line: usize,
    key: &'static str,
    value: &'static str,
}

impl Fields {
    fn parse(front_matter: &'static str) -> Result<Fields, PageError> {
        let mut fields: Vec<Field> = Vec::new();
        for (index, text) in front_matter.lines().enumerate() {
            let line = index + 2;
            let Some((key, value)) = text.split_once(':') else {
                return Err(error(line, format!("`{text}` is not `key: value`")));
            };
            let (key, value) = (key.trim(), value.trim());
            if !KEYS.contains(&key) {
                return Err(error(line, format!("there is no key `{key}`")));
            }
            if value.is_empty() {
                return Err(error(line, format!("`{key}` has no value")));
            }
            if key != "module" && fields.iter().any(|field| field.key == key) {
                return Err(error(line, format!("`{key}` stands twice")));
            }
            fields.push(Field { line, key, value });
        }
        Ok(Fields(fields))
    }

    fn all(&self, key: &str) -> impl Iterator<Item = Field> {
        self.0.iter().filter(move |field| field.key == key).copied()
    }

    fn optional(&self, key: &str) -> Option<Field> {
        self.all(key).next()
    }

    fn required(&self, key: &str) -> Result<Field, PageError> {
        self.optional(key).ok_or_else(|| error(1, format!("the front matter has no `{key}`")))
    }
}

impl Field {
    fn one_of<T: Copy>(self, values: &[(&str, T)]) -> Result<T, PageError> {
        values.iter().find(|(name, _)| *name == self.value).map(|&(_, value)| value).ok_or_else(
            || {
                let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
                error(self.line, format!("`{}` is one of {}", self.key, names.join(", ")))
            },
        )
    }
}

/// The text between the `---` lines, the text after them, and the line on which that starts.
fn split_front_matter(
    text: &'static str,
) -> Result<(&'static str, &'static str, usize), PageError> {
    let Some(rest) = text.strip_prefix("---\n") else {
        return Err(error(1, "a page starts with `---`".to_owned()));
    };
    let Some((front_matter, body)) = rest.split_once("\n---\n") else {
        return Err(error(1, "the front matter has no `---` at its end".to_owned()));
    };
    Ok((front_matter, body, front_matter.lines().count() + 3))
}

fn parse_body(
    id: &str,
    body: &'static str,
    first_line: usize,
) -> Result<(&'static str, Vec<Section>), PageError> {
    let mut headings = headings(body, first_line);
    let title = headings.next().filter(|heading| heading.before.trim().is_empty());
    let Some(title) = title.filter(|heading| heading.text.strip_prefix("# ") == Some(id)) else {
        return Err(error(first_line, format!("the text starts with the heading `# {id}`")));
    };
    let headings: Vec<Heading> = headings.collect();
    let end_of = |index: usize| headings.get(index).map_or(body.len(), |next| next.start);
    let summary = body[title.end..end_of(0)].trim();
    if summary.is_empty() || summary.contains("\n\n") {
        return Err(error(title.line, "one sentence says what is reported".to_owned()));
    }
    let sections: Vec<Section> = headings
        .iter()
        .enumerate()
        .map(|(index, heading)| Section {
            title: heading.text.trim_start_matches('#').trim(),
            text: &body[heading.end..end_of(index + 1)],
            line: heading.line + 1,
        })
        .collect();
    for (index, expected) in SECTIONS.iter().enumerate() {
        let found = sections.get(index).map(|section| section.title);
        if found != Some(expected) {
            let line = sections.get(index).map_or(title.line, |section| section.line - 1);
            return Err(error(line, format!("section {} is `## {expected}`", index + 1)));
        }
    }
    if let Some(more) = sections.get(SECTIONS.len()) {
        return Err(error(more.line - 1, format!("there is no section `{}`", more.title)));
    }
    Ok((summary, sections))
}

struct Heading {
    /// All text before it.
    before: &'static str,
    /// The line with its `#`s.
    text: &'static str,
    /// Offset of the line.
    start: usize,
    /// Offset after the line and its end.
    end: usize,
    /// Number of the line in the page.
    line: usize,
}

/// The headings of `body` that do not stand inside a fence.
fn headings(body: &'static str, first_line: usize) -> impl Iterator<Item = Heading> {
    let mut offset = 0;
    let mut fenced = false;
    body.split_inclusive('\n').enumerate().filter_map(move |(index, line)| {
        let start = offset;
        offset += line.len();
        if line.starts_with("```") {
            fenced = !fenced;
        }
        (!fenced && line.starts_with('#')).then(|| Heading {
            before: &body[..start],
            text: line.trim_end(),
            start,
            end: start + line.len(),
            line: first_line + index,
        })
    })
}

fn error(line: usize, message: String) -> PageError {
    PageError { line, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "---\nid: nil-channel\ngroup: stuck\nseverity: error\nconfidence: high\n\
        default: true\nsince: 0.1.0\nsupersedes: a, b\napart: true\nmodule: x.y/z < v0.2\n---\n# nil-channel\n\n\
        An operation on a nil channel.\n\n## Why\n\nBecause.\n\n## Flagged\n\n```go\n# no heading\n```\n\n\
        ## Fine\n\n## Fix\n\n## Limits\nNone.\n";

    #[test]
    fn a_page_says_what_the_rule_is() {
        let page = Page::parse(PAGE).expect("a page");
        assert_eq!((page.id, page.group, page.severity), ("nil-channel", "stuck", Severity::Error));
        assert_eq!((&page.supersedes[..], page.apart), (&["a", "b"][..], true));
        assert_eq!(page.modules, ["x.y/z < v0.2"]);
        assert_eq!(page.summary, "An operation on a nil channel.");
        let flagged = page.section("Flagged").expect("a section");
        assert_eq!(flagged.text.trim(), "```go\n# no heading\n```");
        assert_eq!(PAGE.lines().nth(flagged.line - 2), Some("## Flagged"));
    }

    fn check_error(from: &str, to: &str, expected: &str) {
        let text: &'static str = PAGE.replacen(from, to, 1).leak();
        assert_eq!(Page::parse(text).expect_err("an error").to_string(), expected);
    }

    #[test]
    fn a_page_that_says_something_else_is_refused() {
        check_error("---\nid", "id", "line 1: a page starts with `---`");
        check_error("since: 0.1.0\n", "", "line 1: the front matter has no `since`");
        check_error("since", "sinc", "line 7: there is no key `sinc`");
        check_error("error", "fatal", "line 4: `severity` is one of error, warning, note");
        check_error("apart: true", "apart: yes", "line 9: `apart` is one of true, false");
        check_error("# nil", "# no", "line 12: the text starts with the heading `# nil-channel`");
        check_error("## Fine", "## Good", "line 26: section 3 is `## Fine`");
        check_error("## Limits", "## Limits\n## More", "line 31: there is no section `More`");
    }
}
