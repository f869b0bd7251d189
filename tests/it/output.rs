//! The formats, on a report made by hand.

use std::collections::BTreeMap;
use std::io::{self, Write};

use straggler::analysis::{Counts, Report, ReportFile};
use straggler::diagnostic::{
    Confidence, Edit, Finding, Fix, Label, Note, NoteKind, Role, Safety, Severity,
};
use straggler::output;
use straggler::source::{FileId, Location, SourceText, Span};

const SERVE: &str = "package serve\n\nfunc f() {\n\tch := make(chan int)\n\tgo func() { ch <- g() }()\n\treturn\n}\n";

/// A report with one finding on `text`, whose places are the first occurrences of the given texts.
fn report(path: &str, text: &[u8], stuck: &str, labels: &[(&str, &str)]) -> Report {
    let place = |part: &str| {
        let at = text.windows(part.len()).position(|window| window == part.as_bytes());
        let at = at.unwrap_or_else(|| panic!("no {part:?}")) as u32;
        Location { file: FileId(0), span: Span::new(at, at + part.len() as u32) }
    };
    let label = |&(part, message): &(&str, &str)| Label {
        location: place(part),
        role: Role::Made,
        message: message.to_owned(),
    };
    let finding = Finding {
        rule: "nil-channel",
        severity: Severity::Error,
        confidence: Confidence::High,
        message: "goroutine started here never ends".to_owned(),
        primary: place(stuck),
        primary_label: "stays here".to_owned(),
        labels: labels.iter().map(label).collect(),
        why: "nobody receives from `ch`".to_owned(),
        help: "give `ch` a buffer of one".to_owned(),
        fixes: vec![Fix {
            message: "buffer of one".to_owned(),
            safety: Safety::Safe,
            edits: vec![Edit { location: place(stuck), replacement: "x".to_owned() }],
        }],
        defect: place(stuck),
    };
    let file = ReportFile { path: path.to_owned(), text: SourceText::new(text.to_vec()) };
    Report {
        findings: vec![finding],
        files: BTreeMap::from([(FileId(0), file)]),
        counts: Counts { files: 1, packages: 1, generated: 0, suppressed: 0 },
        ..Report::default()
    }
}

type Writer = fn(&Report, &mut dyn Write) -> io::Result<()>;

/// Compares what `write` makes of `report`, styles and spaces at the ends of lines left out.
#[track_caller]
fn check(write: Writer, report: &Report, expected: &str) {
    let mut bytes = Vec::new();
    write(report, &mut anstream::StripStream::new(&mut bytes)).expect("a vector takes all");
    let text = String::from_utf8(bytes).expect("UTF-8");
    let lines: Vec<&str> = text.split('\n').map(str::trim_end).collect();
    assert_eq!(lines.join("\n"), expected);
}

#[test]
fn human_tells_the_story_in_order_of_time() {
    let labels = [("make(chan int)", "made here, unbuffered"), ("return", "leaves here")];
    check(
        output::write_human,
        &report("a/serve.go", SERVE.as_bytes(), "ch <- g()", &labels),
        "error[nil-channel]: goroutine started here never ends
  ┌─ a/serve.go:5:14
  │
4 │     ch := make(chan int)
  │           -------------- 1. made here, unbuffered
5 │     go func() { ch <- g() }()
  │                 ^^^^^^^^^ stays here
6 │     return
  │     ------ 2. leaves here
  │
  = note: nobody receives from `ch`
  = help: give `ch` a buffer of one
  = `straggler explain nil-channel` tells more

",
    );
}

#[test]
fn human_makes_visible_what_would_steer_the_terminal() {
    let text = b"package p\n\nvar a = \"\x1b[31m\xff\xe2\x80\xae\" + stuck\r\n";
    check(
        output::write_human,
        &report("a\x1b[2J\n.go", text, "stuck", &[("a =", "made")]),
        "error[nil-channel]: goroutine started here never ends
  ┌─ a\\x1b[2J\\n.go:3:23
  │
3 │ var a = \"␛[31m\u{fffd}\\u{202e}\" + stuck
  │     ---                    ^^^^^ stays here
  │     │
  │     made
  │
  = note: nobody receives from `ch`
  = help: give `ch` a buffer of one
  = `straggler explain nil-channel` tells more

",
    );
}

#[test]
fn human_cuts_long_lines_around_their_labels() {
    let text =
        format!("package p\n\nvar a = \"{}\" + stuck + \"{}\"\n", "x".repeat(500), "y".repeat(500));
    let before = "x".repeat(76);
    let after = "y".repeat(77);
    check(
        output::write_human,
        &report("a.go", text.as_bytes(), "stuck", &[]),
        &format!(
            "error[nil-channel]: goroutine started here never ends
  ┌─ a.go:3:514
  │
3 │ …{before}\" + stuck + \"{after}…
  │ {:81}^^^^^ stays here
  │
  = note: nobody receives from `ch`
  = help: give `ch` a buffer of one
  = `straggler explain nil-channel` tells more

",
            ""
        ),
    );
}

#[test]
fn concise_is_one_physical_line() {
    check(
        output::write_concise,
        &report("a\nb/serve.go", SERVE.as_bytes(), "ch <- g()", &[]),
        "a\\nb/serve.go:5:14: error[nil-channel]: goroutine started here never ends\n",
    );
}

#[test]
fn json_has_bytes_and_utf16_columns() {
    let text = "package p // é𝄞\nvar é𝄞, x = 1, 2\n";
    let report = report("p.go", text.as_bytes(), "x", &[("var", "made")]);
    let mut bytes = Vec::new();
    output::write_json(&report, &mut bytes).expect("a vector takes all");
    let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let expected = serde_json::json!({
        "rule": "nil-channel",
        "severity": "error",
        "confidence": "high",
        "message": "goroutine started here never ends",
        "path": "p.go",
        "start": {"line": 2, "column": 13, "column_utf16": 10},
        "end": {"line": 2, "column": 14, "column_utf16": 11},
        "label": "stays here",
        "labels": [{
            "path": "p.go",
            "start": {"line": 2, "column": 1, "column_utf16": 1},
            "end": {"line": 2, "column": 4, "column_utf16": 4},
            "role": "made",
            "message": "made",
        }],
        "why": "nobody receives from `ch`",
        "help": "give `ch` a buffer of one",
        "fixes": [{
            "message": "buffer of one",
            "safety": "safe",
            "edits": [{
                "path": "p.go",
                "start": {"line": 2, "column": 13, "column_utf16": 10},
                "end": {"line": 2, "column": 14, "column_utf16": 11},
                "replacement": "x",
            }],
        }],
        "url": "rules/nil-channel.md",
    });
    assert_eq!(json["diagnostics"], serde_json::json!([expected]));
    assert_eq!(json["summary"]["findings"], 1);
}

#[test]
fn notes_and_the_summary_name_what_was_left_out() {
    let note = |path: &str, kind, message: &str| Note {
        path: path.to_owned(),
        line_column: (kind == NoteKind::ParseError).then_some((3, 1)),
        kind,
        message: message.to_owned(),
    };
    let report = Report {
        counts: Counts { files: 12, packages: 3, generated: 2, suppressed: 1 },
        missing_dependencies: vec!["a.b/c".to_owned(), "d.e/f".to_owned()],
        notes: vec![
            note("a.go", NoteKind::ParseError, "syntax error"),
            note("b\n.go", NoteKind::Unreadable, "permission denied"),
            note("c.go", NoteKind::TooLarge, "5 MiB"),
        ],
        ..Report::default()
    };
    check(
        output::write_notes,
        &report,
        "note: a.go:3:1: syntax error\nerror: b\\n.go: permission denied\nnote: c.go: 5 MiB\n",
    );
    check(
        |report, out| output::write_summary(report, std::time::Duration::from_millis(1230), out),
        &report,
        "no findings in 12 files of 3 packages; 1 suppressed; 2 generated, not reported; \
         1 with syntax errors, analysed around them; 1 skipped as too large; 1 unreadable; 2 dependencies not found; 1.23 s\n",
    );
}
