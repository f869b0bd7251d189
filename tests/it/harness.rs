//! What several areas need: running the analysis on a directory, `// want` comments, and files
//! that are generated from other files.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use straggler::analysis::{self, Progress, Report};
use straggler::catalog::Catalog;
use straggler::config::Config;
use straggler::project::{self, LoadOptions};
use straggler::rules::selection::{DEFAULT_RULES, Selection};

/// The root of straggler's own repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the command line would load in `dir`.
pub fn load_options(dir: &Path) -> LoadOptions {
    LoadOptions::from_env(dir, Vec::new(), None, |name| std::env::var_os(name))
}

/// Runs the rules that are on by default, and all of `rule`, over `dir`, with the sources of the
/// standard library and, if asked for, those of the module cache.
pub fn analyze(dir: &Path, rule: &str, module_cache: bool) -> Report {
    analyze_selected(dir, &[DEFAULT_RULES, rule], module_cache)
}

/// Runs the rules that are selected, as [`analyze`] does.
pub fn analyze_selected(dir: &Path, select: &[&str], module_cache: bool) -> Report {
    let mut options = load_options(dir);
    options.module_cache = options.module_cache.filter(|_| module_cache);
    analyze_loaded(&options, select)
}

/// Runs the rules that [`analyze`] does, where neither Go nor a module is installed.
pub fn analyze_without_sources(dir: &Path, rule: &str) -> Report {
    let options = LoadOptions { goroot: None, module_cache: None, ..load_options(dir) };
    analyze_loaded(&options, &[DEFAULT_RULES, rule])
}

fn analyze_loaded(options: &LoadOptions, select: &[&str]) -> Report {
    let select = select.iter().map(|&rule| rule.into()).collect();
    let config = Config { select: Some(select), ..Config::default() };
    let (selection, unknown) = Selection::new(&config);
    assert_eq!(unknown, [], "selectors that do not exist");
    let (catalog, problems) = Catalog::load(None);
    assert_eq!(problems, []);
    analysis::on_threads(None, || {
        let snapshot = project::load(options);
        analysis::analyze(&snapshot, &catalog, &selection.into(), &Progress::default())
    })
    .expect("threads")
}

/// Whether `rule` is to be tested in this run: `RULE=nil-channel cargo test` leaves out the others.
pub fn wanted_rule(rule: &str) -> bool {
    std::env::var("RULE").map_or(true, |only| only == rule)
}

/// A finding that a comment `// want rule "text"` expects on its line.
#[derive(Debug, PartialEq, Eq)]
pub struct Want {
    pub path: String,
    pub line: u32,
    pub rule: String,
    pub text: String,
}

/// The wants of a Go file: after `// want `, one or more of `rule "part of the message"`.
pub fn wants(path: &str, text: &str) -> Vec<Want> {
    let mut wants = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some((_, mut rest)) = line.split_once("// want ") else { continue };
        while !rest.trim().is_empty() {
            let (rule, part) = rest.trim().split_once(" \"").unwrap_or_else(|| {
                panic!("{path}:{}: expected `// want rule \"text\"`", index + 1)
            });
            let (text, after) = part
                .split_once('"')
                .unwrap_or_else(|| panic!("{path}:{}: the text of a want has no end", index + 1));
            wants.push(Want {
                path: path.to_owned(),
                line: index as u32 + 1,
                rule: rule.to_owned(),
                text: text.to_owned(),
            });
            rest = after;
        }
    }
    wants
}

/// Where `report` and `wants` differ, one line each; empty if they say the same.
pub fn differences(report: &Report, wants: &[Want]) -> String {
    let mut differences = String::new();
    let mut met = vec![false; wants.len()];
    for finding in &report.findings {
        let file = report.file(finding.primary.file);
        let line = file.text.position(finding.primary.span.start).line;
        let want = wants.iter().enumerate().position(|(index, want)| {
            !met[index]
                && want.path == file.path
                && want.line == line
                && want.rule == finding.rule
                && finding.message.contains(&want.text)
        });
        match want {
            Some(index) => met[index] = true,
            None => {
                let _ = writeln!(
                    differences,
                    "{}:{line}: not wanted: {} ({:?}): {}",
                    file.path, finding.rule, finding.confidence, finding.message
                );
            }
        }
    }
    for (want, _) in wants.iter().zip(met).filter(|(_, met)| !met) {
        let _ = writeln!(
            differences,
            "{}:{}: not found: {} \"{}\"",
            want.path, want.line, want.rule, want.text
        );
    }
    for note in &report.notes {
        let _ = writeln!(differences, "{}: {:?}: {}", note.path, note.kind, note.message);
    }
    differences
}

/// Compares a file of the repository with what it is generated from; `UPDATE=1` rewrites it.
#[track_caller]
pub fn assert_generated(path: &str, expected: &str) {
    let absolute = root().join(path);
    if fs::read_to_string(&absolute).is_ok_and(|text| text == expected) {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        let dir = absolute.parent().expect("a file is in a directory");
        fs::create_dir_all(dir).expect("a directory of the repository can be made");
        fs::write(&absolute, expected).expect("a file of the repository can be written");
        return;
    }
    panic!("{path} is not what it is generated from: run `UPDATE=1 cargo test`");
}

/// The names of the entries of a directory of the repository, sorted; hidden ones left out.
pub fn names_in(path: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a UTF-8 name"))
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// The generator of Sebastiano Vigna's splitmix64: the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}
