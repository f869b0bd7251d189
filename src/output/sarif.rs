//! A report as SARIF 2.1.0 (OASIS standard, 27 March 2020), for GitHub's code scanning and others.
//!
//! The story of a finding is its code flow, in order of time, ending where it gets stuck. Columns
//! count UTF-16 code units. It holds no time and no absolute path of its own, so that equal input
//! gives equal bytes.

use std::cmp::Reverse;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::analysis::{Report, Suppressed};
use crate::diagnostic::{Confidence, Finding, Fix, Note};
use crate::output::{confidence_name, json_text, severity_name};
use crate::rules::page::Page;
use crate::rules::registry;
use crate::source::Location;

/// GitHub keeps no more results of one run
/// (<https://docs.github.com/code-security/code-scanning/troubleshooting-sarif-uploads/results-exceed-limit>).
const MOST_RESULTS: usize = 5000;

/// Writes `report`. Of more than 5,000 findings the worst are written, and a notification says how
/// many were left out.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut indices: Vec<usize> = (0..report.findings.len()).collect();
    let left_out = indices.len().saturating_sub(MOST_RESULTS);
    if left_out > 0 {
        let badness = |&index: &usize| {
            let finding = &report.findings[index];
            Reverse((finding.severity, finding.confidence))
        };
        indices.sort_by_key(badness);
        indices.truncate(MOST_RESULTS);
        indices.sort_unstable();
    }
    let found = |index: usize| result(report, &report.findings[index], report.fingerprint(index));
    let mut results: Vec<Value> = indices.into_iter().map(found).collect();
    let room = MOST_RESULTS - results.len();
    results.extend(report.suppressed.iter().take(room).map(|quiet| suppressed(report, quiet)));
    let rules: Vec<Value> = registry().iter().map(|entry| rule(&entry.page)).collect();
    let mut notifications: Vec<Value> = report.notes.iter().map(notification).collect();
    if left_out > 0 {
        notifications.push(json!({
            "level": "warning",
            "message": { "text": format!("{left_out} more findings are not in this file.") },
        }));
    }
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "straggler",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": "https://crates.io/crates/straggler",
                "shortDescription": { "text": "Finds goroutines left behind in Go source." },
                "rules": rules,
            } },
            "automationDetails": { "id": "straggler/" },
            "columnKind": "utf16CodeUnits",
            "originalUriBaseIds": { BASE: {
                "description": { "text": "The directory in which straggler was run." },
            } },
            "invocations": [{
                "executionSuccessful": !report.failed(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    json_text::write(&document, out)
}

const BASE: &str = "SRCROOT";

fn rule(page: &Page) -> Value {
    let why = page.section("Why").map_or("", |section| section.text.trim());
    let level = severity_name(page.severity);
    let summary = literal(&page.summary.split_whitespace().collect::<Vec<_>>().join(" "));
    json!({
        "id": page.id,
        "name": pascal_case(page.id),
        "shortDescription": { "text": summary },
        "fullDescription": { "text": summary },
        "help": { "text": literal(why), "markdown": why },
        "defaultConfiguration": { "level": level, "enabled": page.default },
        "properties": {
            "precision": match page.confidence {
                Confidence::High => "very-high",
                Confidence::Medium => "high",
                Confidence::Low => "low",
            },
            "problem.severity": match level {
                "note" => "recommendation",
                level => level,
            },
            "tags": ["concurrency", "reliability", page.group],
        },
    })
}

/// A result that is there to be looked at, and not to be acted upon.
fn suppressed(report: &Report, quiet: &Suppressed) -> Value {
    let mut value = result(report, &quiet.finding, &quiet.fingerprint);
    let suppression = match &quiet.directive {
        Some(directive) => {
            json!({ "kind": "inSource", "status": "accepted", "justification": literal(directive) })
        }
        None => json!({ "kind": "external", "status": "accepted", "justification": "baseline" }),
    };
    let fields = value.as_object_mut().expect("a result is an object");
    fields.insert("suppressions".to_owned(), json!([suppression]));
    value
}

fn result(report: &Report, finding: &Finding, fingerprint: &str) -> Value {
    let rule_index = registry().iter().position(|entry| entry.page.id == finding.rule);
    let mut result = json!({
        "ruleId": finding.rule,
        "level": severity_name(finding.severity),
        "message": { "text": literal(&told(finding)) },
        "locations": [location(report, finding.primary, Some(&finding.primary_label))],
        "partialFingerprints": { "straggler/v1": fingerprint },
        "properties": { "confidence": confidence_name(finding.confidence) },
    });
    let fields = result.as_object_mut().expect("a result is an object");
    if let Some(index) = rule_index {
        fields.insert("ruleIndex".to_owned(), json!(index));
    }
    if !finding.labels.is_empty() {
        insert_story(report, finding, fields);
    }
    if !finding.fixes.is_empty() {
        let fixes: Vec<Value> = finding.fixes.iter().map(|each| fix(report, each)).collect();
        fields.insert("fixes".to_owned(), json!(fixes));
    }
    result
}

/// The message with the reason and the way out, each a sentence.
fn told(finding: &Finding) -> String {
    let mut told = String::new();
    for part in [&finding.message, &finding.why, &finding.help] {
        let mut chars = part.chars();
        let Some(first) = chars.next() else { continue };
        if !told.is_empty() {
            told.push(' ');
        }
        told.extend(first.to_uppercase());
        told += chars.as_str();
        told.push('.');
    }
    told
}

fn insert_story(report: &Report, finding: &Finding, fields: &mut Map<String, Value>) {
    let mut related = Vec::new();
    let mut flow = Vec::new();
    for (index, label) in finding.labels.iter().enumerate() {
        let place = location(report, label.location, Some(&label.message));
        flow.push(json!({ "location": place, "executionOrder": index + 1 }));
        let mut place = place;
        let object = place.as_object_mut().expect("a location is an object");
        object.insert("id".to_owned(), json!(index + 1));
        related.push(place);
    }
    let last = location(report, finding.primary, Some(&finding.primary_label));
    flow.push(json!({ "location": last, "executionOrder": finding.labels.len() + 1 }));
    fields.insert("relatedLocations".to_owned(), json!(related));
    fields.insert("codeFlows".to_owned(), json!([{ "threadFlows": [{ "locations": flow }] }]));
}

fn fix(report: &Report, fix: &Fix) -> Value {
    let mut changes: Vec<Value> = Vec::new();
    for edits in fix.edits.chunk_by(|a, b| a.location.file == b.location.file) {
        let replacements: Vec<Value> = edits
            .iter()
            .map(|edit| {
                json!({
                    "deletedRegion": region(report, edit.location),
                    "insertedContent": { "text": edit.replacement },
                })
            })
            .collect();
        changes.push(json!({
            "artifactLocation": artifact(&report.file(edits[0].location.file).path),
            "replacements": replacements,
        }));
    }
    json!({ "description": { "text": literal(&fix.message) }, "artifactChanges": changes })
}

fn location(report: &Report, location: Location, message: Option<&str>) -> Value {
    let file = report.file(location.file);
    let mut region = region(report, location);
    let fields = region.as_object_mut().expect("a region is an object");
    fields.insert("snippet".to_owned(), json!({ "text": file.text.text(location.span) }));
    let mut place = json!({
        "physicalLocation": { "artifactLocation": artifact(&file.path), "region": region },
    });
    if let Some(message) = message {
        let fields = place.as_object_mut().expect("a location is an object");
        fields.insert("message".to_owned(), json!({ "text": literal(message) }));
    }
    place
}

fn region(report: &Report, location: Location) -> Value {
    let text = &report.file(location.file).text;
    let start = text.position(location.span.start);
    let end = text.position(location.span.end);
    json!({
        "startLine": start.line,
        "startColumn": start.column_utf16,
        "endLine": end.line,
        "endColumn": end.column_utf16,
    })
}

fn artifact(path: &str) -> Value {
    match path.starts_with('/') {
        true => json!({ "uri": format!("file://{}", uri(path)) }),
        false => json!({ "uri": uri(path), "uriBaseId": BASE }),
    }
}

fn notification(note: &Note) -> Value {
    let level = if note.kind.is_failure() { "error" } else { "note" };
    let mut value = json!({ "level": level, "message": { "text": literal(&note.message) } });
    if !note.path.is_empty() {
        let mut physical = json!({ "artifactLocation": artifact(&note.path) });
        if let Some((line, column)) = note.line_column {
            let region = json!({ "startLine": line, "startColumn": column });
            let fields = physical.as_object_mut().expect("a location is an object");
            fields.insert("region".to_owned(), region);
        }
        let fields = value.as_object_mut().expect("a notification is an object");
        fields.insert("locations".to_owned(), json!([{ "physicalLocation": physical }]));
    }
    value
}

/// A path as a URI reference (RFC 3986): all but unreserved characters and `/` percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for &byte in path.as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char);
            }
            byte => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

/// `text` with no link in it: in a message `[text](target)` is one (SARIF 2.1.0, section 3.11.6).
fn literal(text: &str) -> String {
    match text.contains("](") {
        true => text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]"),
        false => text.to_owned(),
    }
}

fn pascal_case(id: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| {
            first.to_ascii_uppercase().to_string() + chars.as_str()
        })
    };
    id.split('-').map(word).collect()
}
