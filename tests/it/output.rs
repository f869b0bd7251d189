//! The formats, on a report made by hand.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

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
    let file = ReportFile {
        path: path.to_owned(),
        absolute: Path::new("/").join(path),
        text: SourceText::new(text.to_vec()),
    };
    Report {
        findings: vec![finding],
        files: BTreeMap::from([(FileId(0), file)]),
        fingerprints: vec!["00ff".to_owned()],
        counts: Counts { files: 1, packages: 1, ..Counts::default() },
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
        "fingerprint": "00ff",
        "url": "rules/nil-channel.md",
    });
    assert_eq!(json["diagnostics"], serde_json::json!([expected]));
    assert_eq!(json_of(output::write_json_lines, &report), expected);
    assert_eq!(json["summary"]["findings"], 1);
}

fn json_of(write: Writer, report: &Report) -> serde_json::Value {
    let mut bytes = Vec::new();
    write(report, &mut bytes).expect("a vector takes all");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// A report whose path, message and labels hold what each of the formats uses for itself.
fn hostile() -> Report {
    let path = "a,b:c%;]'|[\n<&\">\u{1b}\u{202e}.go";
    let mut report =
        report(path, SERVE.as_bytes(), "ch <- g()", &[("return", "l,:%;]'|\n::error::")]);
    report.findings[0].message = "m,:%;]'|[\r\n##vso[x](y)<&\">\u{1b}".to_owned();
    report
}

#[test]
fn commands_of_ci_servers_stay_on_one_line() {
    check(
        output::write_github,
        &hostile(),
        "::error file=a%2Cb%3Ac%25;]'|[%0A<&\">\\x1b\\u{202e}.go,line=5,endLine=5,col=14,endColumn=23,\
         title=straggler%3A nil-channel::m,:%25;]'|[%0D%0A##vso[x](y)<&\">\\x1b%0A\
         1. a,b:c%25;]'|[%0A<&\">\\x1b\\u{202e}.go:6: l,:%25;]'|%0A::error::%0A\
         note: nobody receives from `ch`%0Ahelp: give `ch` a buffer of one\n",
    );
    check(
        output::write_azure,
        &hostile(),
        "##vso[task.logissue type=error;sourcepath=a,b:c%AZP25%3B%5D'|[%0A<&\">\\x1b\\u{202e}.go;\
         linenumber=5;columnnumber=14;code=nil-channel]m,:%AZP25%3B%5D'|[%0D%0A##vso[x%5D(y)<&\">\\x1b\n",
    );
    let mut bytes = Vec::new();
    output::write_teamcity(&hostile(), &mut bytes).expect("a vector takes all");
    let text = String::from_utf8(bytes).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("##teamcity[inspectionType id='nil-channel' "), "{text}");
    assert_eq!(
        lines[1..],
        [
            "##teamcity[inspection typeId='nil-channel' message='m,:%;|]|'|||[|r|n##vso|[x|](y)<&\">\\x1b' \
          file='a,b:c%;|]|'|||[|n<&\">\\x1b\\u{202e}.go' line='5' SEVERITY='ERROR']"
        ]
    );
}

#[test]
fn xml_is_well_formed_whatever_the_names() {
    check(
        output::write_checkstyle,
        &hostile(),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<checkstyle version=\"4.3\">
  <file name=\"a,b:c%;]&apos;|[ &lt;&amp;&quot;&gt;\u{fffd}\u{202e}.go\">
    <error line=\"5\" column=\"14\" severity=\"error\" message=\"m,:%;]&apos;|[  ##vso[x](y)&lt;&amp;&quot;&gt;\u{fffd}\" source=\"straggler.nil-channel\"/>
  </file>
</checkstyle>
",
    );
    check(
        output::write_junit,
        &report("a.go", SERVE.as_bytes(), "ch <- g()", &[("return", "leaves")]),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"straggler\" tests=\"1\" failures=\"1\">
  <testsuite name=\"straggler\" tests=\"1\" failures=\"1\">
    <testcase classname=\"a.go\" name=\"nil-channel at line 5\">
      <failure message=\"goroutine started here never ends\" type=\"nil-channel\">a.go:5: stays here
a.go:6: leaves
nobody receives from `ch`
give `ch` a buffer of one</failure>
    </testcase>
  </testsuite>
</testsuites>
",
    );
    check(
        output::write_junit,
        &Report::default(),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"straggler\" tests=\"1\" failures=\"0\">
  <testsuite name=\"straggler\" tests=\"1\" failures=\"0\">
    <testcase classname=\"straggler\" name=\"no findings\"/>
  </testsuite>
</testsuites>
",
    );
}

#[test]
fn gitlab_and_reviewdog_get_what_they_ask_for() {
    let report = report("a.go", SERVE.as_bytes(), "ch <- g()", &[("return", "leaves")]);
    assert_eq!(
        json_of(output::write_gitlab, &report),
        serde_json::json!([{
            "description": "goroutine started here never ends",
            "check_name": "nil-channel",
            "fingerprint": "00ff",
            "severity": "critical",
            "location": {"path": "a.go", "lines": {"begin": 5}},
        }])
    );
    let range = |line, start, end| {
        serde_json::json!({
            "start": {"line": line, "column": start},
            "end": {"line": line, "column": end},
        })
    };
    assert_eq!(
        json_of(output::write_rdjson, &report),
        serde_json::json!({
            "source": {"name": "straggler"},
            "diagnostics": [{
                "message": "goroutine started here never ends",
                "location": {"path": "a.go", "range": range(5, 14, 23)},
                "severity": "ERROR",
                "code": {"value": "nil-channel"},
                "suggestions": [{"range": range(5, 14, 23), "text": "x"}],
                "related_locations": [
                    {"message": "leaves", "location": {"path": "a.go", "range": range(6, 2, 8)}},
                ],
            }],
        })
    );
}

#[test]
fn sarif_tells_the_story_as_a_code_flow() {
    let sarif = json_of(output::write_sarif, &hostile());
    let run = &sarif["runs"][0];
    let result = &run["results"][0];
    let rule = result["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], "nil-channel");
    assert_eq!(run["tool"]["driver"]["rules"][rule]["name"], "NilChannel");
    assert_eq!(result["partialFingerprints"]["straggler/v1"], "00ff");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        place["artifactLocation"]["uri"],
        "a%2Cb%3Ac%25%3B%5D%27%7C%5B%0A%3C%26%22%3E%1B%E2%80%AE.go"
    );
    assert_eq!(place["region"]["snippet"]["text"], "ch <- g()");
    // `[x](y)` would be a link.
    let message = result["message"]["text"].as_str().expect("a text");
    assert!(message.starts_with("M,:%;\\]'|\\[\r\n##vso\\[x\\](y)"), "{message}");
    let flow = &result["codeFlows"][0]["threadFlows"][0]["locations"];
    let lines: Vec<_> = flow
        .as_array()
        .expect("locations")
        .iter()
        .map(|step| &step["location"]["physicalLocation"]["region"]["startLine"])
        .collect();
    assert_eq!(lines, [6, 5]);
    assert_eq!(
        result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"],
        "x"
    );
}

#[test]
fn sarif_keeps_the_worst_of_very_many_findings() {
    let mut report = report("a.go", SERVE.as_bytes(), "ch <- g()", &[]);
    let mut mild = report.findings[0].clone();
    mild.severity = Severity::Warning;
    report.findings = vec![mild; 5000];
    let worst = Finding { severity: Severity::Error, ..report.findings[0].clone() };
    report.findings.push(worst);
    report.fingerprints = vec!["00ff".to_owned(); 5001];
    let sarif = json_of(output::write_sarif, &report);
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().expect("results");
    assert_eq!((results.len(), &results[4999]["level"]), (5000, &serde_json::json!("error")));
    let notifications = &run["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(notifications[0]["message"]["text"], "1 more findings are not in this file.");
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
        counts: Counts {
            files: 12,
            packages: 3,
            generated: 2,
            suppressed: 1,
            baselined: 4,
            unchanged: 5,
            fixed: 0,
        },
        missing_dependencies: vec!["a.b/c".to_owned(), "d.e/f".to_owned()],
        notes: vec![
            note("a.go", NoteKind::ParseError, "syntax error"),
            note("b\n.go", NoteKind::Unreadable, "permission denied"),
            note("c.go", NoteKind::TooLarge, "5 MiB"),
        ],
        ..Report::default()
    };
    check(
        |report, out| output::write_notes(&report.notes, out),
        &report,
        "note: a.go:3:1: syntax error\nerror: b\\n.go: permission denied\nnote: c.go: 5 MiB\n",
    );
    check(
        |report, out| output::write_summary(report, std::time::Duration::from_millis(1230), out),
        &report,
        "no findings in 12 files of 3 packages; 1 suppressed; 4 baselined; 5 on no changed line; 2 generated, not reported; \
         1 with syntax errors, analysed around them; 1 skipped as too large; 1 unreadable; 2 dependencies not found; 1.23 s\n",
    );
}
