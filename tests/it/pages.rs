//! The pages of the rules: each says what its rule is, and every example on it is run.

use std::collections::BTreeSet;
use std::fs;

use straggler::analysis::Report;
use straggler::rules::page::{Page, Section};
use straggler::rules::{ALL, GROUPS, find, registry};

use crate::harness::{self, names_in, root, wants};

#[test]
fn pages_code_registry_and_fixtures_are_the_same_set() {
    for rule in ALL {
        if let Err(error) = Page::parse(rule.page) {
            panic!("{}: {error}", rule.page.lines().nth(1).unwrap_or_default());
        }
    }
    let registered: Vec<String> = registry().iter().map(|entry| entry.page.id.to_owned()).collect();
    assert!(registered.is_sorted(), "`ALL` is sorted by id: {registered:?}");
    let stems = |path: &str, extension: &str| -> Vec<String> {
        let names = names_in(path);
        names.iter().filter_map(|name| name.strip_suffix(extension)).map(str::to_owned).collect()
    };
    let pages: Vec<String> =
        stems("rules", ".md").into_iter().filter(|stem| stem != "README").collect();
    assert_eq!(pages, registered, "rules/*.md and rules::ALL");
    let mut included = Vec::new();
    for stem in stems("src/rules", ".rs") {
        let text = fs::read_to_string(root().join(format!("src/rules/{stem}.rs"))).expect("text");
        let ids = text
            .split("include_str!(\"../../rules/")
            .skip(1)
            .map(|rest| rest.split_once(".md\"").expect("a page").0.to_owned());
        let ids: Vec<String> = ids.collect();
        if text.contains("pub const RULE: Rule") {
            assert_eq!(ids, [stem.replace('_', "-")], "src/rules/{stem}.rs is named by its rule");
        }
        included.extend(ids);
    }
    included.sort();
    assert_eq!(included, registered, "the pages that src/rules/*.rs include, and rules::ALL");
    let fixtures = names_in("fixtures/rules");
    assert_eq!(fixtures, registered, "fixtures/rules/* and rules::ALL");
}

#[test]
fn pages_name_what_exists() {
    for entry in registry() {
        let page = &entry.page;
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(page.id.chars().all(kebab), "`{}` is not kebab-case", page.id);
        assert!(
            GROUPS.iter().any(|group| group.id == page.group),
            "{}: there is no group `{}`",
            page.id,
            page.group
        );
        for superseded in &page.supersedes {
            assert!(find(superseded).is_some(), "{}: there is no rule `{superseded}`", page.id);
        }
        assert!(
            !straggler::rules::supersedes(page.id, page.id),
            "`{}` supersedes itself through others",
            page.id
        );
        assert!(page.summary.ends_with('.'), "{}: the summary is a sentence", page.id);
    }
}

#[test]
fn every_example_of_every_page_is_run() {
    let mut failures = String::new();
    for entry in registry().iter().filter(|entry| harness::wanted_rule(entry.page.id)) {
        let page = &entry.page;
        let mut examples = BTreeSet::new();
        for section in &page.sections {
            for fence in fences(section) {
                examples.insert(section.title);
                let wanted = fence.files.iter().flat_map(|(path, text)| wants(path, text));
                let wanted: Vec<_> = wanted.collect();
                let flagged = wanted.iter().any(|want| want.rule == page.id);
                let place = format!("rules/{}.md:{} ({})", page.id, fence.line, section.title);
                match section.title {
                    "Flagged" if !flagged => {
                        failures += &format!("{place}: the example wants nothing of its rule\n");
                    }
                    "Fine" | "Fix" if !wanted.is_empty() => {
                        failures += &format!("{place}: the example wants a finding\n");
                    }
                    _ => {}
                }
                let mut report = |of: &str, report: Report| {
                    let differences = harness::differences(&report, &wanted);
                    if !differences.is_empty() {
                        failures += &format!("{place}{of}\n{differences}\n");
                    }
                };
                let dir = lay_out(&fence);
                report("", harness::analyze(dir.path(), page.id, false));
                if page.group == "handoff" {
                    let blind = harness::analyze_without_sources(dir.path(), page.id);
                    report(", without Go's sources", blind);
                }
            }
        }
        for section in ["Flagged", "Fine"] {
            if !examples.contains(section) {
                failures += &format!("rules/{}.md: `{section}` has no example\n", page.id);
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// A Go fence of a page: its files, by path.
struct Fence {
    line: usize,
    files: Vec<(String, String)>,
}

fn lay_out(fence: &Fence) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in &fence.files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    dir
}

/// The Go fences of a section. A fence is one file, or several under lines `//- path`; a module
/// and a package clause are added where they are missing.
fn fences(section: &Section) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut lines = section.text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if line.trim_end() != "```go" {
            continue;
        }
        let text: String = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| line.trim_end() != "```")
            .flat_map(|line| [line, "\n"])
            .collect();
        fences.push(Fence { line: section.line + index, files: split(&text) });
    }
    fences
}

fn split(text: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(path) = line.strip_prefix("//- ") {
            files.push((path.trim().to_owned(), String::new()));
        } else {
            if files.is_empty() {
                files.push(("page.go".to_owned(), String::new()));
            }
            files.last_mut().expect("just pushed").1.push_str(line);
        }
    }
    for (path, text) in &mut files {
        let has_clause = text.lines().any(|line| line.starts_with("package "));
        if path.ends_with(".go") && !has_clause {
            text.insert_str(0, "package page\n\n");
        }
    }
    if !files.iter().any(|(path, _)| path == "go.mod") {
        files.push(("go.mod".to_owned(), "module example.com/page\n\ngo 1.26\n".to_owned()));
    }
    files
}
