//! The rooms of `src/`, and that each uses only those above it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::root;

/// The rooms, in the order in which they may use each other. `docs/ARCHITECTURE.md` prints it.
const ROOMS: [&str; 18] = [
    "source",
    "diagnostic",
    "config",
    "catalog",
    "syntax",
    "project",
    "index",
    "flow",
    "summary",
    "cache",
    "program",
    "explore",
    "rules",
    "analysis",
    "output",
    "lsp",
    "cli",
    "main",
];

/// Rooms that stand side by side: neither uses the other.
const STRANGERS: [(&str, &str); 3] =
    [("output", "lsp"), ("rules", "project"), ("explore", "syntax")];

/// What strangers may name all the same: the number of a package, which `index` takes too.
const ALLOWED: &str = "crate::project::PackageId";

/// External crates and the rooms that may know them; no rooms: all may.
const CRATES: &[(&str, &[&str])] = &[
    ("anstream", &["cli"]),
    ("anstyle", &["output", "cli"]),
    ("blake3", &["cache"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_complete_nushell", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("codespan_reporting", &["output"]),
    ("gen_lsp_types", &["lsp"]),
    ("globset", &["config"]),
    ("indicatif", &["cli"]),
    ("lsp_server", &["lsp"]),
    ("memchr", &[]),
    ("mimalloc", &["main"]),
    ("notify", &["cli"]),
    ("pulldown_cmark", &["output"]),
    ("quick_xml", &["output"]),
    ("rayon", &["project", "analysis"]),
    ("rustc_hash", &[]),
    ("schemars", &["config"]),
    ("semver", &["catalog"]),
    ("serde", &["config", "catalog", "output", "lsp"]),
    ("serde_json", &["output", "lsp", "cli"]),
    ("sha2", &["analysis"]),
    ("toml", &["config", "catalog"]),
    ("similar", &["analysis", "cli"]),
    ("tree_sitter", &["syntax"]),
    ("tree_sitter_go", &["syntax"]),
    ("unicode_width", &["output"]),
    ("walkdir", &["project"]),
];

/// Parts of the standard library that only some rooms may know.
const STD: &[(&str, &[&str])] = &[
    ("std::fs", &["project", "cache", "cli"]),
    ("std::env", &["project", "cli"]),
    ("std::net", &[]),
    ("std::process", &["cli", "main"]),
];

/// Longer files are a failure, unless named with a reason.
const MOST_LINES: usize = 800;

struct Source {
    path: PathBuf,
    room: String,
    text: String,
}

#[test]
fn rooms_use_only_rooms_above_them() {
    let mut wrong = String::new();
    for source in sources() {
        let own = place(&source.room);
        for used in rooms_used(&source.text) {
            if place(&used) > own {
                wrong += &format!("{}: uses `crate::{used}`\n", source.path.display());
            }
        }
        for used in rooms_used(&source.text.replace(ALLOWED, "")) {
            if STRANGERS.contains(&(&source.room, &used)) {
                wrong += &format!("{}: uses `crate::{used}`\n", source.path.display());
            }
        }
        let depth = source.path.components().count();
        if source.text.contains(&"super::".repeat(depth)) && depth > 1 {
            wrong += &format!("{}: leaves its room by `super`\n", source.path.display());
        }
        if source.text.lines().any(|line| line.starts_with("pub use crate::")) {
            wrong += &format!("{}: re-exports another room\n", source.path.display());
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn external_crates_stay_in_their_rooms() {
    let manifest: toml::Table =
        fs::read_to_string(root().join("Cargo.toml")).expect("text").parse().expect("TOML");
    let dependencies: BTreeSet<String> = manifest["dependencies"]
        .as_table()
        .expect("a table")
        .keys()
        .map(|name| name.replace('-', "_"))
        .collect();
    let listed: BTreeSet<String> = CRATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(dependencies, listed, "Cargo.toml's dependencies and `CRATES`");
    let mut wrong = String::new();
    let mut used = BTreeSet::new();
    for source in sources() {
        for (name, rooms) in CRATES {
            if !names(&source.text, name) {
                continue;
            }
            used.insert((*name).to_owned());
            if !rooms.is_empty() && !rooms.contains(&source.room.as_str()) {
                wrong += &format!("{}: knows `{name}`\n", source.path.display());
            }
        }
        for (name, rooms) in STD {
            let part = name.strip_prefix("std::").expect("a part of std");
            let known = [format!("{name}::"), format!("{name};"), format!("std::{{{part}")];
            if known.iter().any(|text| source.text.contains(text.as_str()))
                && !rooms.contains(&source.room.as_str())
            {
                wrong += &format!("{}: knows `{name}`\n", source.path.display());
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert_eq!(used, listed, "crates that are used, and `CRATES`");
}

#[test]
fn rooms_are_declared_in_order_and_the_documentation_lists_them() {
    let lib = fs::read_to_string(root().join("src/lib.rs")).expect("text");
    let declared: Vec<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let in_order: Vec<&str> = ROOMS.into_iter().filter(|room| declared.contains(room)).collect();
    assert_eq!(declared, in_order, "src/lib.rs");
    let page = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("text");
    let documented: Vec<&str> = page
        .lines()
        .filter_map(|line| {
            let room = line.strip_prefix("| ")?.split(" | ").nth(1)?;
            room.strip_prefix('`')?.strip_suffix('`')
        })
        .collect();
    assert_eq!(documented, declared, "docs/ARCHITECTURE.md");
}

/// What may see all packages of a run: a rule that asks whether a package is part of it, and
/// `PackageCx::packages_with`, which says what it looks for.
const SEEING_ALL: [&str; 2] = ["rules/part_not_ended/lent.rs", "rules.rs"];

#[test]
fn rules_say_what_they_look_for_elsewhere() {
    let seeing: Vec<String> = sources()
        .into_iter()
        .filter(|source| source.room == "rules" && source.text.contains(".order()"))
        .map(|source| source.path.display().to_string())
        .collect();
    assert_eq!(seeing, SEEING_ALL);
}

#[test]
fn files_are_short_and_code_is_safe() {
    for source in sources() {
        let lines = source.text.lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", source.path.display());
    }
    for path in ["src/lib.rs", "src/main.rs"] {
        let text = fs::read_to_string(root().join(path)).expect("text");
        assert!(text.contains("#![forbid(unsafe_code)]"), "{path} allows unsafe code");
    }
}

/// All of `src/`, paths below it.
fn sources() -> Vec<Source> {
    let src = root().join("src");
    let mut sources = Vec::new();
    let mut dirs = vec![src.clone()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let absolute = entry.expect("an entry").path();
            if absolute.is_dir() {
                dirs.push(absolute);
                continue;
            }
            let path = absolute.strip_prefix(&src).expect("below src").to_owned();
            let room = room(&path);
            if room != "lib" {
                sources.push(Source {
                    text: fs::read_to_string(&absolute).expect("text"),
                    room,
                    path,
                });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn room(path: &Path) -> String {
    let first = path.components().next().expect("a path").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

fn place(room: &str) -> usize {
    ROOMS.iter().position(|known| *known == room).unwrap_or_else(|| panic!("no room `{room}`"))
}

/// The rooms in `crate::room` and `crate::{room, ...}`.
fn rooms_used(text: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            match rest.strip_prefix('{') {
                Some(list) => used.extend(
                    list.split(['}', ';'])
                        .next()
                        .unwrap_or_default()
                        .split(',')
                        .map(|item| identifier(item.trim()))
                        .filter(|name| !name.is_empty()),
                ),
                None => drop(used.insert(identifier(rest))),
            }
        }
    }
    used
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Whether `text` names the crate `name` in a path.
fn names(text: &str, name: &str) -> bool {
    text.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}
