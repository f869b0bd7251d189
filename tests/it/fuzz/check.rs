//! Any bytes, as the files of a module, given to a check with all rules at the lowest thresholds: it
//! ends, no rule panics, every file is accounted for, what is found is where the file is and can be
//! written, and a fix leaves no file with more syntax errors. `-- NAME --` on a line of its own begins another file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use straggler::analysis::{self, Memory, Progress, Report, Selections};
use straggler::catalog::Catalog;
use straggler::config::Config;
use straggler::diagnostic::{Confidence, Finding};
use straggler::output;
use straggler::project::{self, LoadOptions};
use straggler::rules::selection::{ALL_RULES, Selection};
use straggler::source::SourceText;
use straggler::syntax;

/// Where the module is; there is no such directory.
pub const DIR: &str = "/fuzzed";

/// Where a standard library is that has what goroutines are made of.
const GOROOT: &str = "/fuzzed-go";

pub type Files = BTreeMap<PathBuf, Vec<u8>>;

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::load(None).0);

pub fn target(bytes: &[u8]) {
    examine(files(bytes));
}

/// The files of a module in `bytes`.
pub fn files(bytes: &[u8]) -> Files {
    let mut files = Files::new();
    let mut name = "p.go".to_owned();
    let mut text = Vec::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match header(line) {
            Some(next) => {
                files.insert(Path::new(DIR).join(name), std::mem::take(&mut text));
                name = next.to_owned();
            }
            None => text.extend(line),
        }
    }
    files.insert(Path::new(DIR).join(name), text);
    let go_mod = b"module example.com/m\n\ngo 1.26\n".to_vec();
    files.entry(Path::new(DIR).join("go.mod")).or_insert(go_mod);
    files
}

/// The name in a line that begins a file: plain elements only, so that it leads nowhere else.
fn header(line: &[u8]) -> Option<&str> {
    let name = line.strip_prefix(b"-- ")?.strip_suffix(b" --\n")?;
    let name = std::str::from_utf8(name).ok()?;
    let is_plain = |element: &str| {
        let plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@');
        !element.starts_with('.') && !element.is_empty() && element.bytes().all(plain)
    };
    name.split('/').all(is_plain).then_some(name)
}

/// Loads `files`, with the standard library beside them.
pub fn options(files: &Files) -> LoadOptions {
    let mut overlays = files.clone();
    for (path, text) in LIBRARY {
        overlays.insert(Path::new(GOROOT).join("src").join(path), text.as_bytes().to_vec());
    }
    LoadOptions {
        overlays,
        goroot: Some(PathBuf::from(GOROOT)),
        ..LoadOptions::new(DIR, Vec::new())
    }
}

/// All rules, from the lowest confidence on.
pub fn all_rules() -> Selections {
    let config = Config {
        select: Some(vec![ALL_RULES.to_owned()]),
        min_confidence: Some(Confidence::Low),
        ..Config::default()
    };
    Selection::new(&config).0.into()
}

pub fn catalog() -> &'static Catalog {
    &CATALOG
}

/// What `files` are told, with what `memory` holds of former runs.
pub fn report(files: &Files, memory: &mut Memory) -> Report {
    let options = options(files);
    let run = || {
        let snapshot = project::load(&options);
        let counts = &snapshot.counts;
        let skipped: usize = counts.skipped.values().sum();
        assert_eq!(counts.analysed + skipped, counts.found, "files that nobody accounts for");
        analysis::analyze_again(&snapshot, catalog(), &all_rules(), &Progress::default(), memory)
    };
    analysis::on_threads(Some(1), run).expect("a thread")
}

/// Checks `files` and everything that can be done with what is found.
pub fn examine(files: Files) {
    let report = report(&files, &mut Memory::default());
    assert!(!report.failed(), "{:#?}", report.notes);
    for finding in &report.findings {
        assert_placed(&report, finding);
    }
    told(&report);
    for unsafe_too in [false, true] {
        for fixed in analysis::fixes(&report, unsafe_too).files {
            let errors = |text: &[u8]| syntax::parse(SourceText::new(text.to_vec())).errors.len();
            let (old, new) = (errors(fixed.old.bytes()), errors(&fixed.new));
            assert!(new <= old, "{}: {new} syntax errors after a fix, {old} before", fixed.path);
        }
    }
    analysis::ignores(&report, "it is known");
}

/// Each place of a finding is in its file.
fn assert_placed(report: &Report, finding: &Finding) {
    let labels = finding.labels.iter().map(|label| label.location);
    for place in [finding.primary].into_iter().chain(labels) {
        let length = report.file(place.file).text.bytes().len();
        let span = place.span;
        let fits = span.start <= span.end && span.end as usize <= length;
        assert!(fits, "{} at {span:?} of a file of {length} bytes", finding.rule);
    }
}

/// What a user can see of a report. (`hostile.rs` is about the other formats.)
pub fn told(report: &Report) -> String {
    let mut bytes = Vec::new();
    let formats =
        [output::write_json, output::write_human, output::write_concise, output::write_github];
    for write in formats {
        write(report, &mut bytes).expect("a vector takes all");
    }
    output::write_notes(&report.notes, &mut bytes).expect("a vector takes all");
    String::from_utf8(bytes).expect("UTF-8")
}

/// What programs use most of the standard library, as far as its declarations matter.
const LIBRARY: &[(&str, &str)] = &[
    ("context/context.go", include_str!("library/context.txt")),
    ("errors/errors.go", "package errors\n\nfunc New(text string) error { return nil }\n"),
    ("fmt/fmt.go", "package fmt\n\nfunc Println(a ...any) (n int, err error) { return 0, nil }\n"),
    ("io/io.go", include_str!("library/io.txt")),
    ("net/http/http.go", include_str!("library/http.txt")),
    (
        "os/os.go",
        "package os\n\ntype Signal interface {\n\tString() string\n\tSignal()\n}\n\nvar Interrupt Signal\n",
    ),
    (
        "os/signal/signal.go",
        "package signal\n\nimport \"os\"\n\nfunc Notify(c chan<- os.Signal, sig ...os.Signal) {}\nfunc Stop(c chan<- os.Signal) {}\n",
    ),
    ("sync/sync.go", include_str!("library/sync.txt")),
    (
        "sync/atomic/atomic.go",
        "package atomic\n\ntype Bool struct{ v uint32 }\n\nfunc (x *Bool) Load() bool { return x.v != 0 }\nfunc (x *Bool) Store(val bool) {}\n\ntype Int64 struct{ v int64 }\n\nfunc (x *Int64) Add(delta int64) int64 { return x.v }\nfunc (x *Int64) Load() int64 { return x.v }\n",
    ),
    ("time/time.go", include_str!("library/time.txt")),
];
