//! Real input: the whole of GOROOT/src, and two libraries that the fixtures bring into the module
//! cache.
//! No rule fails on it, no file is unaccounted for, and every finding has been read by somebody.
//!
//! The reviewed findings stand in `fixtures/real/`: one line each, without the line of source, so
//! that a change elsewhere in the file does not move it, and a verdict after `#`. `UPDATE=1` writes
//! the findings of today and keeps the verdicts; a finding without one fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use straggler::analysis::Report;
use straggler::diagnostic::NoteKind;
use straggler::rules::selection::DEFAULT_RULES;

use crate::harness::{self, root};

const UNREAD: &str = "not read yet";

#[test]
fn goroot() {
    let Some(goroot) = harness::load_options(root()).goroot else {
        assert!(skipped(), "there is no Go here (STRAGGLER_SKIP_GO=1 leaves this out)");
        return;
    };
    let version = fs::read_to_string(goroot.join("VERSION")).unwrap_or_default();
    let version = version.lines().next().unwrap_or("go");
    check(version, &goroot.join("src"));
}

#[test]
fn client_go_and_apimachinery() {
    if skipped() {
        return;
    }
    for module in ["k8s.io/client-go@v0.18.8", "k8s.io/apimachinery@v0.18.8"] {
        let output = Command::new("go")
            .args(["mod", "download", "-json", module])
            .current_dir(root().join("fixtures"))
            .output()
            .expect("go can be run (STRAGGLER_SKIP_GO=1 leaves this out)");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let dir = answer["Dir"].as_str().unwrap_or_else(|| panic!("{module}: {answer}"));
        let name = module.rsplit_once('/').expect("a path").1;
        check(name, Path::new(dir));
    }
}

fn skipped() -> bool {
    std::env::var_os("STRAGGLER_SKIP_GO").is_some()
}

/// Analyses `dir` and compares with `fixtures/real/<name>.txt`, if that has been written.
fn check(name: &str, dir: &Path) {
    let report = harness::analyze(dir, DEFAULT_RULES, true);
    let failed: Vec<_> =
        report.notes.iter().filter(|note| note.kind == NoteKind::InternalError).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let left_out: BTreeSet<&str> = report
        .notes
        .iter()
        .filter(|note| {
            let skipped = [NoteKind::TooLarge, NoteKind::NotRegular, NoteKind::NeverBuilt];
            skipped.contains(&note.kind)
        })
        .map(|note| note.path.as_str())
        .collect();
    let files = go_files(dir).len();
    assert_eq!(report.counts.files + left_out.len(), files, "files of {}", dir.display());

    let path = format!("fixtures/real/{name}.txt");
    let reviewed = fs::read_to_string(root().join(&path));
    if reviewed.is_err() && std::env::var_os("UPDATE").is_none() {
        return;
    }
    let verdicts: BTreeMap<&str, &str> = reviewed
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.rsplit_once("  # "))
        .collect();
    let mut text = String::new();
    for finding in findings(&report) {
        let verdict = verdicts.get(finding.as_str()).unwrap_or(&UNREAD);
        text += &format!("{finding}  # {verdict}\n");
    }
    harness::assert_generated(&path, &text);
    assert!(!text.contains(UNREAD), "{path} holds findings that nobody has read");
}

fn findings(report: &Report) -> Vec<String> {
    report
        .findings
        .iter()
        .map(|finding| {
            let path = &report.file(finding.primary.file).path;
            format!("{path}: {}: {}", finding.rule, finding.message)
        })
        .collect()
}

/// The Go files below `dir` that `./...` means: not in `vendor`, `testdata`, or a directory whose
/// name starts with `.` or `_`.
fn go_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let hidden = name.starts_with(['.', '_']);
            if path.is_dir() {
                if !hidden && name != "vendor" && name != "testdata" {
                    dirs.push(path);
                }
            } else if !hidden && name.ends_with(".go") {
                files.push(path);
            }
        }
    }
    files
}
