//! The same answer however the work is cut: any number of threads, files in any order, a cache or none, from
//! any working directory, and one package in parts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::cli::straggler;
use crate::harness::{Random, root};

const SEED: u64 = 20_261_123;

/// What a run in `dir` writes, a line for each finding.
fn told(dir: &Path, args: &[&str]) -> String {
    let mut command = straggler(dir);
    let output = command
        .args(["check", "--no-config", "--format", "jsonl"])
        .args(args)
        .output()
        .expect("straggler runs");
    assert!(matches!(output.status.code(), Some(0 | 1)), "straggler {args:?} in {}", dir.display());
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The findings of a run, with paths from the root of the file system, and without what tells findings of
/// one run apart.
fn findings(dir: &Path, args: &[&str]) -> BTreeSet<String> {
    let finding = |line: &str| {
        let mut value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        place(&mut value, dir);
        value.as_object_mut().expect("an object").remove("fingerprint");
        value.to_string()
    };
    told(dir, args).lines().map(finding).collect()
}

/// Makes the paths in a value those that they are from a directory.
fn place(value: &mut serde_json::Value, dir: &Path) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    serde_json::Value::String(path) if key == "path" => {
                        let path = dir.join(&*path).canonicalize().expect("a file that is there");
                        *value = path.display().to_string().into();
                    }
                    value => place(value, dir),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| place(value, dir)),
        _ => {}
    }
}

/// Where the fixtures of the rules are.
fn rules() -> PathBuf {
    root().join("fixtures/rules")
}

/// The Go files below a directory, as paths from there.
fn go_files(dir: &Path) -> Vec<String> {
    let entries = WalkDir::new(dir).sort_by_file_name().into_iter();
    let files = entries.map(|entry| entry.expect("a readable directory").into_path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "go"));
    let below = |path: PathBuf| path.strip_prefix(dir).expect("below it").display().to_string();
    files.map(below).collect()
}

fn shuffled(mut files: Vec<String>, random: &mut Random) -> Vec<String> {
    for at in (1..files.len()).rev() {
        files.swap(at, random.below(at + 1));
    }
    files
}

#[test]
fn threads_order_and_cache_change_no_byte() {
    let dir = rules();
    let expected = told(&dir, &["-j", "1", "--no-cache", "."]);
    assert!(expected.lines().count() > 50, "{expected}");
    let cache = tempfile::tempdir().expect("a temporary directory");
    let cache = cache.path().to_str().expect("UTF-8");
    let eight = told(&dir, &["-j", "8", "--no-cache", "."]);
    assert!(eight == expected, "with eight threads");
    let mut random = Random(SEED);
    // What is in a `vendor` or `testdata` counts only where it is named.
    let is_own =
        |path: &String| !path.split('/').any(|part| part == "vendor" || part == "testdata");
    let files: Vec<String> = go_files(&dir).into_iter().filter(is_own).collect();
    for jobs in ["1", "3"] {
        let files = shuffled(files.clone(), &mut random);
        let mut args = vec!["-j", jobs, "--no-cache"];
        args.extend(files.iter().map(String::as_str));
        assert!(told(&dir, &args) == expected, "in another order, with {jobs} threads");
    }
    for state in ["empty", "warm"] {
        let cached = told(&dir, &["-j", "2", "--cache-dir", cache, "."]);
        assert!(cached == expected, "with a cache that is {state}");
    }
}

#[test]
fn the_working_directory_changes_paths_alone() {
    let whole = findings(&rules(), &["--no-cache", "."]);
    assert!(whole.len() > 50, "{whole:?}");
    assert_eq!(findings(&root().join("fixtures"), &["--no-cache", "rules"]), whole);
    assert_eq!(findings(&rules().join("double-lock"), &["--no-cache", ".."]), whole);
}

#[test]
fn a_package_in_parts_says_what_it_says_as_one() {
    let mut random = Random(SEED);
    let mut split = 0;
    for rule in fs::read_dir(rules()).expect("a directory") {
        for case in fs::read_dir(rule.expect("an entry").path()).expect("a directory") {
            let dir = case.expect("an entry").path();
            let files = go_files(&dir);
            // Who calls a function of another package is asked of the run: it knows less of a part.
            if files.len() < 2 || files.iter().any(|file| file.contains('/')) {
                continue;
            }
            let whole = findings(&dir, &["--no-cache", "."]);
            let files = shuffled(files, &mut random);
            let (one, other) = files.split_at(1 + random.below(files.len() - 1));
            let parts: BTreeSet<String> = [one, other]
                .into_iter()
                .flat_map(|part| {
                    let mut args = vec!["--no-cache"];
                    args.extend(part.iter().map(String::as_str));
                    findings(&dir, &args)
                })
                .collect();
            assert_eq!(parts, whole, "{}: {one:?} and {other:?}", dir.display());
            split += usize::from(!whole.is_empty());
        }
    }
    assert!(split > 20, "{split} packages with findings");
}
