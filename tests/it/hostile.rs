//! Names and messages that are made to break a format: whatever they hold, a reader of the format that
//! knows nothing of straggler gets out what was put in, and nothing else.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use straggler::analysis::{Counts, Report, ReportFile};
use straggler::diagnostic::{Confidence, Finding, Label, Note, NoteKind, Role, Severity};
use straggler::output::{self, in_line};
use straggler::source::{FileId, Location, SourceText, Span};
use tinyjson::JsonValue;

/// What has a meaning somewhere.
const PIECES: &[&str] = &[
    "a",
    "go",
    " ",
    "é",
    "𝄞",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\0",
    "\x07",
    "\x1b[31m",
    "\x1b]0;x\x07",
    "\u{7f}",
    "\u{85}",
    "\u{9b}",
    "\u{2028}",
    "\u{2029}",
    "\u{202e}",
    "\u{2066}",
    "\u{feff}",
    "\u{fffe}",
    "%",
    "%0A",
    "%25",
    ":",
    "::",
    ",",
    ";",
    "]",
    "[",
    "##[error]",
    "##vso[task.complete]",
    "##teamcity[x]",
    "\n::error::x\n",
    "|",
    "'",
    "\"",
    "\\",
    "\\n",
    "<",
    ">",
    "&",
    "&amp;",
    "]]>",
    "<!--",
    "[x](javascript:y)",
    "{0}",
    "`",
    "$(x)",
    "/",
    "../",
    "#",
    "?",
];

/// Texts of up to eight pieces, the same ones in every run.
fn texts() -> Vec<String> {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = |below: usize| {
        // xorshift64: Marsaglia, Journal of Statistical Software 8 (14), 2003
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut texts: Vec<String> = PIECES.iter().map(|piece| format!("x{piece}y")).collect();
    for _ in 0..2000 {
        texts.push((0..=next(8)).map(|_| PIECES[next(PIECES.len())]).collect());
    }
    texts
}

fn report(path: &str, message: &str) -> Report {
    let place = Location { file: FileId(0), span: Span::new(11, 12) };
    let finding = Finding {
        rule: "nil-channel",
        severity: Severity::Error,
        confidence: Confidence::High,
        message: message.to_owned(),
        primary: place,
        primary_label: message.to_owned(),
        labels: vec![Label { location: place, role: Role::Made, message: message.to_owned() }],
        why: message.to_owned(),
        help: message.to_owned(),
        fixes: Vec::new(),
        defect: place,
    };
    let text = SourceText::new(
        format!("package p\n\nvar {}\n", message.replace(['\n', '\r'], " ")).into_bytes(),
    );
    let file = ReportFile { path: path.to_owned(), absolute: Path::new("/").join("x"), text };
    Report {
        findings: vec![finding],
        files: [(FileId(0), file)].into(),
        fingerprints: vec!["00ff".to_owned()],
        counts: Counts { files: 1, packages: 1, ..Counts::default() },
        notes: vec![Note {
            path: path.to_owned(),
            line_column: None,
            kind: NoteKind::ParseError,
            message: message.to_owned(),
        }],
        ..Report::default()
    }
}

type Writer = fn(&Report, &mut dyn Write) -> io::Result<()>;

fn written(write: Writer, report: &Report) -> String {
    let mut bytes = Vec::new();
    write(report, &mut anstream::StripStream::new(&mut bytes)).expect("a vector takes all");
    String::from_utf8(bytes).expect("UTF-8")
}

/// Reads what `write` makes of each text as a path and a message, and compares both.
#[track_caller]
fn check(write: Writer, read: impl Fn(&str) -> (String, String), meant: impl Fn(&str) -> String) {
    for text in texts() {
        let (path, message) = (format!("p{text}.go"), format!("m{text}."));
        let written = written(write, &report(&path, &message));
        assert_eq!(read(&written), (meant(&path), meant(&message)), "{text:?} in {written:?}");
    }
}

/// `text` with what is hidden made visible, but for what the format can hold as it is.
fn visible_but(text: &str, kept: &[char]) -> String {
    let each = |c: char| {
        if kept.contains(&c) { c.to_string() } else { in_line(&c.to_string()).into_owned() }
    };
    text.chars().map(each).collect()
}

#[test]
fn concise_is_read_line_by_line() {
    // vim: %f:%l:%c: %t%*[a-z][%.%#]: %m
    let read = |text: &str| {
        let line = text.strip_suffix('\n').expect("a line");
        assert!(!line.contains(char::is_control), "{line:?}");
        let (path, message) = line.split_once(":3:1: error[nil-channel]: ").expect("the form");
        (path.to_owned(), message.to_owned())
    };
    check(output::write_concise, read, |text| in_line(text).into_owned());
}

#[test]
fn github_reads_one_command() {
    // https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs
    let data = |text: &str| text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%");
    let property = |text: &str| data(&text.replace("%3A", ":").replace("%2C", ",")).to_owned();
    let read = |text: &str| {
        let line = text.strip_suffix('\n').expect("a line");
        assert!(!line.contains(char::is_control), "{line:?}");
        let (head, message) =
            line.strip_prefix("::").and_then(|rest| rest.split_once("::")).expect("a command");
        let (command, properties) = head.split_once(' ').expect("properties");
        assert_eq!(command, "error");
        let properties: HashMap<&str, &str> =
            properties.split(',').map(|pair| pair.split_once('=').expect("a pair")).collect();
        assert_eq!(properties.len(), 6, "{head}");
        let message = data(message);
        let (message, story) = message.split_once("\n1. ").expect("the story");
        assert!(story.contains(":3: "), "{story}");
        (property(properties["file"]), message.to_owned())
    };
    check(output::write_github, read, |text| visible_but(text, &['\r', '\n']));
}

#[test]
fn azure_reads_one_command() {
    // https://github.com/microsoft/azure-pipelines-agent/blob/master/src/Agent.Sdk/Command.cs
    let unescaped = |text: &str| {
        let text = text.replace("%3B", ";").replace("%0D", "\r").replace("%0A", "\n");
        text.replace("%5D", "]").replace("%AZP25", "%")
    };
    let read = |text: &str| {
        let line = text.strip_suffix('\n').expect("a line");
        assert!(!line.contains(char::is_control), "{line:?}");
        let rest = line.strip_prefix("##vso[task.logissue ").expect("a command");
        let (properties, message) = rest.split_once(']').expect("an end");
        let properties: HashMap<&str, &str> =
            properties.split(';').map(|pair| pair.split_once('=').expect("a pair")).collect();
        assert_eq!(properties.len(), 5, "{line}");
        (unescaped(properties["sourcepath"]), unescaped(message))
    };
    check(output::write_azure, read, |text| visible_but(text, &['\r', '\n']));
}

/// The attributes of a service message.
/// <https://www.jetbrains.com/help/teamcity/service-messages.html>
fn service_message(line: &str) -> HashMap<String, String> {
    let rest = line.strip_prefix("##teamcity[inspection ").expect("a message");
    let mut chars = rest.chars();
    let mut attributes = HashMap::new();
    loop {
        let name: String = chars.by_ref().take_while(|&c| c != '=').collect();
        assert_eq!(chars.next(), Some('\''), "{line}");
        let mut value = String::new();
        loop {
            match chars.next().expect("an end of the value") {
                '\'' => break,
                '|' => value.push(match chars.next().expect("a character") {
                    'n' => '\n',
                    'r' => '\r',
                    'x' => '\u{85}',
                    'l' => '\u{2028}',
                    'p' => '\u{2029}',
                    c @ ('|' | '\'' | '[' | ']') => c,
                    c => panic!("|{c} in {line}"),
                }),
                c => value.push(c),
            }
        }
        attributes.insert(name, value);
        match chars.next() {
            Some(' ') => {}
            Some(']') => break,
            c => panic!("{c:?} in {line}"),
        }
    }
    assert_eq!(chars.as_str(), "");
    attributes
}

#[test]
fn teamcity_reads_one_message() {
    let read = |text: &str| {
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        let [kind, line] = lines[..] else { panic!("two lines: {text:?}") };
        assert!(kind.starts_with("##teamcity[inspectionType "), "{kind}");
        let mut attributes = service_message(line);
        (attributes.remove("file").expect("a file"), attributes.remove("message").expect("one"))
    };
    check(output::write_teamcity, read, |text| {
        visible_but(text, &['\r', '\n', '\u{85}', '\u{2028}', '\u{2029}'])
    });
}

#[test]
fn xml_is_read_by_another_parser() {
    // XML 1.0, sections 2.2 and 3.3.3
    let legal = |text: &str| {
        let each = |c: char| match c {
            '\n' | '\r' | '\t' => ' ',
            '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' => '\u{fffd}',
            ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => c,
            _ => '\u{fffd}',
        };
        text.chars().map(each).collect::<String>()
    };
    let attribute = |text: &str, element: &str, name: &str| {
        let document = roxmltree::Document::parse(text).expect("XML");
        let mut elements = document.descendants().filter(|node| node.has_tag_name(element));
        let value = elements.next().and_then(|node| node.attribute(name)).map(str::to_owned);
        assert!(elements.next().is_none(), "{text}");
        value.expect("an attribute")
    };
    let checkstyle =
        |text: &str| (attribute(text, "file", "name"), attribute(text, "error", "message"));
    check(output::write_checkstyle, checkstyle, legal);
    let junit = |text: &str| {
        (attribute(text, "testcase", "classname"), attribute(text, "failure", "message"))
    };
    check(output::write_junit, junit, legal);
}

#[test]
fn json_is_read_by_another_parser() {
    let parsed = |text: &str| text.parse::<JsonValue>().expect("JSON");
    let word = |value: &JsonValue| value.get::<String>().expect("a text").clone();
    let same = |text: &str| text.to_owned();
    let json = |text: &str| {
        let finding = &parsed(text)["diagnostics"][0];
        (word(&finding["path"]), word(&finding["message"]))
    };
    check(output::write_json, json, same);
    let line = |text: &str| {
        assert_eq!(text.split_terminator('\n').count(), 1, "{text:?}");
        let finding = parsed(text);
        (word(&finding["path"]), word(&finding["message"]))
    };
    check(output::write_json_lines, line, same);
    let gitlab = |text: &str| {
        let finding = &parsed(text)[0];
        (word(&finding["location"]["path"]), word(&finding["description"]))
    };
    check(output::write_gitlab, gitlab, same);
    let rdjson = |text: &str| {
        let finding = &parsed(text)["diagnostics"][0];
        (word(&finding["location"]["path"]), word(&finding["message"]))
    };
    check(output::write_rdjson, rdjson, same);
}

#[test]
fn sarif_holds_paths_as_uris_and_no_links() {
    for text in texts() {
        let (path, message) = (format!("p{text}.go"), format!("m{text}."));
        let written = written(output::write_sarif, &report(&path, &message));
        let document: JsonValue = written.parse().expect("JSON");
        let result = &document["runs"][0]["results"][0];
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].get::<String>().expect("a text");
        assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{uri}");
        assert_eq!(percent_decoded(uri), path);
        let told = result["message"]["text"].get::<String>().expect("a text");
        let mut before = ' ';
        for (at, c) in told.char_indices() {
            let opens = c == ']' && told[at..].starts_with("](") && before != '\\';
            assert!(!opens, "a link in {told:?}");
            before = c;
        }
    }
}

fn percent_decoded(uri: &str) -> String {
    let bytes = uri.as_bytes();
    let (mut decoded, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%').then(|| u8::from_str_radix(&uri[at + 1..at + 3], 16));
        decoded.push(escaped.map_or(bytes[at], |byte| byte.expect("two digits")));
        at += if bytes[at] == b'%' { 3 } else { 1 };
    }
    String::from_utf8(decoded).expect("UTF-8")
}

#[test]
fn what_people_read_cannot_steer_a_terminal_or_forge_a_command() {
    let writers: [Writer; 3] = [output::write_human, output::write_grouped, |report, out| {
        output::write_notes(&report.notes, out)
    }];
    for text in texts() {
        for write in writers {
            let written = written(write, &report(&format!("p{text}.go"), &format!("m{text}.")));
            let steers =
                |c: char| c != '\n' && c != '\t' && in_line(&c.to_string()) != c.to_string();
            assert!(!written.contains(steers), "{text:?} in {written:?}");
            for line in written.lines() {
                let forged = ["::", "##"].iter().any(|start| line.trim_start().starts_with(start));
                assert!(!forged, "{line:?}");
            }
        }
    }
}
