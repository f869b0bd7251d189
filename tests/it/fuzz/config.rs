//! Any bytes as a straggler.toml, and with `-- NAME --` as those that it extends: it is understood or
//! refused with a place in it, twice in the same way; what is understood can be asked about any path,
//! and a check can be made with it.

use std::path::Path;

use straggler::analysis::{self, Asked, Progress, Settings};
use straggler::catalog::{Catalog, UserTables};
use straggler::config::ConfigText;
use straggler::project;

use super::check::{self, DIR, Files};

const PATHS: &[&str] = &[
    "p.go",
    "p_test.go",
    "a/b/c/d/e/f/g.go",
    "../x.go",
    "",
    "a//b",
    "[",
    "é/ü.go",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.go",
];

const PROGRAM: &str = "package p\n\nfunc f(done chan bool) {\n\tlate := make(chan int)\n\tgo func() { late <- 1 }()\n\tselect {\n\tcase <-late:\n\tcase <-done:\n\t}\n}\n";

pub fn target(bytes: &[u8]) {
    let mut files: Files = check::files(bytes);
    let [first, config] = ["p.go", "straggler.toml"].map(|name| Path::new(DIR).join(name));
    let text = files.insert(first, PROGRAM.as_bytes().to_vec()).unwrap_or_default();
    files.insert(config, text.clone());
    if let Ok(text) = std::str::from_utf8(&text) {
        read(text);
    }
    run(&files);
}

fn read(text: &str) {
    match ConfigText::parse(text) {
        Ok(config) => {
            for layer in &config.layers {
                for path in PATHS {
                    layer.holds_for(path);
                }
            }
        }
        Err(error) => assert_in(text, error.line_column, &error.message),
    }
    let tables = UserTables { path: "straggler.toml", text };
    for problem in Catalog::load([tables]).1 {
        assert_in(text, (problem.line, problem.column), &problem.message);
    }
}

/// Line and column, in bytes, are in `text` or at the end of a line.
fn assert_in(text: &str, (line, column): (u32, u32), message: &str) {
    let length = text.split('\n').nth((line as usize).wrapping_sub(1)).map(str::len);
    let fits = length.is_some_and(|length| (1..=length + 1).contains(&(column as usize)));
    assert!(fits, "{line}:{column}: {message}");
}

fn run(files: &Files) {
    let options = check::options(files);
    let find = || Settings::find(&options, Asked::default());
    let settings = match find() {
        Ok(settings) => settings,
        Err(refused) => {
            assert!(!refused.is_empty());
            return assert_eq!(find().err(), Some(refused));
        }
    };
    let run = || {
        let snapshot = project::load(&options);
        let selections = settings.selections(&options, &snapshot)?;
        let (catalog, progress) = (&settings.catalog, Progress::default());
        Ok::<_, Vec<String>>(analysis::analyze(&snapshot, catalog, &selections, &progress))
    };
    if let Ok(report) = analysis::on_threads(Some(1), run).expect("a thread") {
        assert!(!report.failed(), "{:#?}", report.notes);
    }
}
