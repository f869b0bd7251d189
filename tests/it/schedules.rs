//! Programs made at random, of which three say who stays behind: straggler, an enumeration of all
//! schedules, and Go.
//!
//! `STRAGGLER_PROGRAMS=2000` makes so many; a program that fails is printed.

mod code;
mod enumerate;
mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use straggler::analysis::{self, Progress, Timings};
use straggler::catalog::Catalog;
use straggler::config::Config;
use straggler::diagnostic::Confidence;
use straggler::project::{self, LoadOptions};
use straggler::rules::selection::{ALL_RULES, Selection};

use crate::harness::Random;
use code::{Code, Probes};
use enumerate::Outcome;
use model::Program;

const SEED: u64 = 20_261_122;

/// What is told of a program.
struct Told {
    /// Whether anything is found: of what is wrong with one channel or lock one thing is told.
    found: bool,
    /// The lines at which somebody is said to stay, with high confidence.
    stuck: BTreeSet<u32>,
    /// Whether every state was explored.
    complete: bool,
}

/// The programs of this run, with all that can become of each.
fn programs() -> Vec<(Program, Outcome)> {
    let count = std::env::var("STRAGGLER_PROGRAMS").ok().and_then(|count| count.parse().ok());
    let mut random = Random(SEED);
    let mut programs = Vec::new();
    while programs.len() < count.unwrap_or(200) {
        let program = Program::random(&mut random);
        let code = plain(&program);
        if let Some(outcome) = enumerate::enumerate(&program, &code) {
            programs.push((program, outcome));
        }
    }
    programs
}

/// The program as straggler reads it.
fn plain(program: &Program) -> Code {
    code::code(program, "p", "Run", Probes::default())
}

fn told(code: &Code) -> Told {
    let path = PathBuf::from("/schedules/p.go");
    let overlays = BTreeMap::from([
        (PathBuf::from("/schedules/go.mod"), b"module p\n\ngo 1.26\n".to_vec()),
        (path.clone(), code.text.clone().into_bytes()),
        (PathBuf::from("/schedules/maybe.go"), b"package p\n\nfunc maybe() bool\n".to_vec()),
    ]);
    let options =
        LoadOptions { overlays, ..LoadOptions::new("/schedules", vec![PathBuf::from(".")]) };
    let config = Config {
        select: Some(vec![ALL_RULES.to_owned()]),
        min_confidence: Some(Confidence::Low),
        ..Config::default()
    };
    let timings = Arc::new(Timings::default());
    let progress = Progress { timings: Some(Arc::clone(&timings)), ..Progress::default() };
    let snapshot = project::load(&options);
    let (catalog, _) = Catalog::load(None);
    let selections = Selection::new(&config).0.into();
    let report = analysis::analyze(&snapshot, &catalog, &selections, &progress);
    // Two rules say what else goes wrong; and who ranges may stay in the body of the loop.
    let others = ["close-misuse", "unlock-missing", "range-never-closed"];
    let stuck = report.findings.iter().filter(|finding| {
        finding.confidence == Confidence::High && !others.contains(&finding.rule)
    });
    let file = snapshot.files.iter().find(|file| file.path == path).expect("it was given");
    let line = |at: u32| file.text.position(at).line;
    let explored = timings.taken().explored;
    Told {
        found: !report.findings.is_empty(),
        stuck: stuck.map(|finding| line(finding.primary.span.start)).collect(),
        complete: explored.cut == 0 && explored.complete > 0,
    }
}

#[test]
fn what_is_told_is_what_can_happen() {
    let (mut failures, mut wrong, mut missing) = (String::new(), 0, 0);
    let (mut stuck, mut sure, mut complete) = (0, 0, 0);
    let programs = programs();
    analysis::on_threads(None, || {
        for (number, (program, outcome)) in programs.iter().enumerate() {
            let code = plain(program);
            let told = told(&code);
            let (told_of, can) = (&told.stuck, &outcome.stuck);
            // What the text alone shows may be behind a place that nobody leaves, or after a panic.
            let is_wrong = |line| outcome.reached.contains(line) && !can.contains(line);
            let is_wrong = !outcome.can_die && told_of.iter().any(is_wrong);
            wrong += usize::from(is_wrong);
            let is_missing = told.complete && !told.found && !can.is_empty();
            stuck += usize::from(!can.is_empty());
            sure += usize::from(!told_of.is_empty());
            complete += usize::from(told.complete);
            if is_wrong || is_missing {
                missing += usize::from(is_missing);
                failures +=
                    &format!("program {number}: told {told_of:?}, can be {can:?}\n{}\n", code.text);
            }
        }
    })
    .expect("threads");
    let count = programs.len();
    // Known: the text shows a way past a `Done` that only a value opens which never comes.
    assert!(missing == 0 && wrong <= count / 1000, "{failures}");
    assert!(stuck > count / 4 && stuck < count, "{stuck} of {count} can stay");
    assert!(sure > stuck / 4, "{sure} of {stuck} are told with high confidence");
    assert!(complete > count / 2, "{complete} of {count} were explored completely");
}

/// What a run counts by, in `tests/oracle/schedules/main.go`.
const PROBES: Probes =
    Probes { param: "run *Run", enter: "defer run.enter()()", step: "run.yield()" };

#[test]
fn what_go_does_is_what_is_enumerated() {
    if std::env::var_os("STRAGGLER_SKIP_GO").is_some() {
        return;
    }
    let mut programs = programs();
    // One that dies takes all others with it.
    programs.retain(|(_, outcome)| !outcome.can_die);
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        fs::write(dir.path().join(name), text).expect("a file can be written");
    };
    write("go.mod", "module schedules\n\ngo 1.24\n");
    write("main.go", include_str!("../oracle/schedules/main.go"));
    let mut list = "package main\n\nvar programs = []func(*Run){\n".to_owned();
    for (number, (program, _)) in programs.iter().enumerate() {
        let name = format!("Run{number}");
        list += &format!("\t{name},\n");
        write(&format!("p{number}.go"), &code::code(program, "main", &name, PROBES).text);
    }
    write("list.go", &(list + "}\n"));
    let output = Command::new("go").args(["run", "."]).current_dir(dir.path()).output();
    let output = output.expect("there is a `go` on PATH (STRAGGLER_SKIP_GO=1 leaves this out)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).expect("numbers");
    let stayed: Vec<u32> = printed.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(stayed.len(), programs.len());
    let (mut failures, mut shown) = (String::new(), 0);
    for ((program, outcome), stayed) in programs.iter().zip(stayed) {
        let can_stay = !outcome.stuck.is_empty();
        if stayed > 0 && !can_stay || stayed < RUNS && !outcome.can_end {
            let text = plain(program).text;
            failures += &format!("{stayed} of {RUNS} runs stayed, {outcome:?}\n{text}\n");
        }
        shown += usize::from(stayed > 0);
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(shown > programs.len() / 4, "Go shows {shown} of {}", programs.len());
}

/// As in `tests/oracle/schedules/main.go`.
const RUNS: u32 = 40;
