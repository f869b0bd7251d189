//! Any bytes as the files that say which modules there are: go.mod, and with `-- NAME --` go.work,
//! vendor/modules.txt, lock files, other modules. Loading ends, says the same twice, tells of places that
//! are there, and finds whatever it finds for each import.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use straggler::project::{self, LoadOptions, Snapshot};
use straggler::syntax::Symbol;

use super::check::{self, DIR, Files};

/// What a program of the module imports.
const IMPORTS: &[&str] = &[
    "context",
    "example.com/a",
    "example.com/m/q",
    "example.com/a/v2/b",
    "gopkg.in/x.v1",
    "q",
    "",
];

pub fn target(bytes: &[u8]) {
    let mut files = files(bytes);
    let imports: String = IMPORTS.iter().map(|path| format!("import {path:?}\n")).collect();
    let program = format!("package p\n\n{imports}");
    for name in
        ["p.go", "q/q.go", "vendor/example.com/a/a.go", "a/a.go", "cache/example.com/a@v1.2.3/a.go"]
    {
        files.entry(Path::new(DIR).join(name)).or_insert_with(|| program.clone().into_bytes());
    }
    let options =
        LoadOptions { module_cache: Some(Path::new(DIR).join("cache")), ..check::options(&files) };
    let first = told(&files, &project::load(&options));
    let second = told(&files, &project::load(&options));
    assert_eq!(first, second);
}

/// As in `check`, but that the first file is go.mod, which is there only if something is in it.
fn files(bytes: &[u8]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files: Files = check::files(bytes);
    let [first, go_mod] = ["p.go", "go.mod"].map(|name| Path::new(DIR).join(name));
    let text = files.remove(&first).unwrap_or_default();
    files.remove(&go_mod);
    if !text.is_empty() {
        files.insert(go_mod, text);
    }
    files
}

/// All that a snapshot knows of modules.
fn told(files: &Files, snapshot: &Snapshot) -> String {
    for note in &snapshot.notes {
        let Some((line, _)) = note.line_column else { continue };
        let text = files
            .get(&Path::new(DIR).join(&note.path))
            .or_else(|| files.get(Path::new(&note.path)));
        let lines = text.map_or(0, |text| text.split(|&byte| byte == b'\n').count());
        assert!((1..=lines).contains(&(line as usize)), "{note:?} of {lines} lines");
    }
    let mut told =
        format!("{:#?}\n{:#?}\n{:?}\n", snapshot.modules, snapshot.notes, snapshot.counts);
    for package in &snapshot.packages {
        told += &format!("{package:?}\n");
        for &path in IMPORTS {
            let found = snapshot.dependency(package.importer, Symbol::new(path));
            let names =
                found.iter().flat_map(|found| &found.files).map(|file| file.display.clone());
            told += &format!("{path}: {:?}\n", names.collect::<Vec<_>>());
        }
    }
    told + &format!("{:?}\n{:#?}", snapshot.missing_dependencies(), snapshot.dependency_notes())
}
