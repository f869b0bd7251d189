//! From the user's paths to directories and files, with Go's rules of what to walk past.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use walkdir::WalkDir;

use super::dependency::{Dependencies, Importer};
use super::header::{self, Header};
use super::read::{Disk, ReadError};
use super::view::{self, ListedFile};
use super::{LoadOptions, Module, ModuleId, Package, PackageId, Snapshot, SourceFile};
use crate::diagnostic::{Note, NoteKind};
use crate::source::{FileId, SourceText};
use crate::syntax::Symbol;

pub(super) fn load(options: &LoadOptions) -> Snapshot {
    let disk = Disk { overlays: options.overlays.clone(), max_file_bytes: options.max_file_bytes };
    let mut notes = Vec::new();
    let mut wanted: BTreeMap<PathBuf, Wanted> = BTreeMap::new();
    let here = [PathBuf::from(".")];
    let paths = if options.paths.is_empty() { &here } else { options.paths.as_slice() };
    for path in paths {
        let text = path.to_string_lossy();
        let bare = text.strip_suffix("/...").unwrap_or(if text == "..." { "." } else { &text });
        let absolute = clean(&options.cwd.join(bare));
        if absolute.is_dir() {
            walk(&absolute, &mut wanted);
        } else if disk.is_file(&absolute)
            && let Some(dir) = absolute.parent()
        {
            let entry = wanted.entry(dir.to_owned()).or_default();
            entry.files.insert(absolute);
        } else {
            notes.push(Note {
                path: text.into_owned(),
                line_column: None,
                kind: NoteKind::Missing,
                message: "no such file or directory".into(),
            });
        }
    }
    let read: Vec<(PathBuf, Vec<(PathBuf, bool, Result<Vec<u8>, ReadError>)>)> = wanted
        .into_par_iter()
        .map(|(dir, wanted)| {
            let files = list(&dir, &disk)
                .into_iter()
                .map(|path| {
                    let is_wanted = wanted.all || wanted.files.contains(&path);
                    let bytes = disk.read(&path);
                    (path, is_wanted, bytes)
                })
                .collect();
            (dir, files)
        })
        .collect();
    let mut snapshot = Snapshot {
        files: Vec::new(),
        packages: Vec::new(),
        modules: Vec::new(),
        notes,
        dependencies: Dependencies::default(),
    };
    let mut modules: BTreeMap<PathBuf, ModuleId> = BTreeMap::new();
    for (dir, files) in read {
        let first = snapshot.files.len();
        let mut headers: Vec<(Header, bool)> = Vec::new();
        for (path, is_wanted, bytes) in files {
            let display = display(&path, &options.cwd);
            match bytes {
                Ok(bytes) => {
                    headers.push((header::scan(&bytes), is_wanted));
                    snapshot.files.push(Arc::new(SourceFile {
                        id: FileId(snapshot.files.len() as u32),
                        display,
                        test: path.to_string_lossy().ends_with("_test.go"),
                        path,
                        text: SourceText::new(bytes),
                    }));
                }
                Err(error) => snapshot.notes.push(note(display, &error)),
            }
        }
        let listed: Vec<ListedFile<'_>> = headers
            .iter()
            .enumerate()
            .map(|(at, (header, wanted))| ListedFile {
                header,
                test: snapshot.files[first + at].test,
                wanted: *wanted,
            })
            .collect();
        let module = module_of(&dir, &disk, &mut modules, &mut snapshot);
        let import_path = match module {
            Some(id) => {
                let module = snapshot.module(id);
                let below = dir.strip_prefix(&module.dir).expect("a module holds its packages");
                join(&module.path, below)
            }
            None => display(&dir, &options.cwd),
        };
        for planned in view::plan(&listed) {
            let id = PackageId(snapshot.packages.len() as u32);
            let ids = |list: Vec<usize>| -> Vec<FileId> {
                list.into_iter().map(|at| FileId((first + at) as u32)).collect()
            };
            let external = planned.view.tests == view::Tests::External;
            let suffix = if external { "_test" } else { "" };
            snapshot.packages.push(Package {
                id,
                import_path: Symbol::new(&format!("{import_path}{suffix}")),
                name: Symbol::new(&planned.name),
                dir: dir.clone(),
                module,
                importer: Importer(module.map_or(0, |module| module.0 + 1)),
                view: planned.view,
                files: ids(planned.files),
                report: ids(planned.report),
                under_test: None,
            });
        }
    }
    snapshot.notes.sort_by(|a, b| (&a.path, a.line_column).cmp(&(&b.path, b.line_column)));
    snapshot.dependencies = Dependencies::new(snapshot.files.len() as u32);
    snapshot
}

/// What is asked for in one directory.
#[derive(Debug, Default)]
struct Wanted {
    all: bool,
    files: BTreeSet<PathBuf>,
}

/// Adds `root` and the directories below it that Go's `...` reaches.
fn walk(root: &Path, wanted: &mut BTreeMap<PathBuf, Wanted>) {
    let entries = WalkDir::new(root).into_iter().filter_entry(|entry| {
        entry.depth() == 0
            || entry.file_type().is_dir() && !is_skipped(&entry.file_name().to_string_lossy())
    });
    for entry in entries.flatten() {
        wanted.entry(entry.into_path()).or_default().all = true;
    }
}

/// Whether Go's patterns walk past a directory or file of this name.
fn is_skipped(name: &str) -> bool {
    name == "vendor" || name == "testdata" || name.starts_with(['_', '.'])
}

/// The Go files of a directory and its overlays, sorted.
fn list(dir: &Path, disk: &Disk) -> BTreeSet<PathBuf> {
    let is_go = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".go") && !name.starts_with(['_', '.'])
    };
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    if let Ok(entries) = std::fs::read_dir(dir) {
        files.extend(entries.flatten().map(|entry| entry.path()).filter(|path| is_go(path)));
    }
    let overlays = disk.overlays.keys().filter(|path| path.parent() == Some(dir) && is_go(path));
    files.extend(overlays.cloned());
    files
}

/// The module of a directory: that of the nearest go.mod at or above it.
fn module_of(
    dir: &Path,
    disk: &Disk,
    modules: &mut BTreeMap<PathBuf, ModuleId>,
    snapshot: &mut Snapshot,
) -> Option<ModuleId> {
    let root = dir.ancestors().find(|dir| disk.is_file(&dir.join("go.mod")))?;
    if let Some(&id) = modules.get(root) {
        return Some(id);
    }
    let text = disk.read(&root.join("go.mod")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let after = |word: &str| {
        text.lines().find_map(|line| line.trim().strip_prefix(word)).map(|rest| rest.trim())
    };
    let id = ModuleId(snapshot.modules.len() as u32);
    snapshot.modules.push(Module {
        id,
        path: after("module ").unwrap_or_default().to_owned(),
        dir: root.to_owned(),
        go: after("go ").and_then(super::GoVersion::parse),
        versions: Arc::default(),
    });
    modules.insert(root.to_owned(), id);
    Some(id)
}

fn note(path: String, error: &ReadError) -> Note {
    let (kind, message) = match error {
        ReadError::TooLarge(limit) => {
            (NoteKind::TooLarge, format!("larger than the limit of {limit} bytes; skipped"))
        }
        ReadError::NotRegular(what) => (NoteKind::NotRegular, format!("is {what}; skipped")),
        ReadError::Io(error) => (NoteKind::Unreadable, format!("cannot be read: {error}")),
    };
    Note { path, line_column: None, kind, message }
}

/// An import path with the elements of `below` added.
fn join(path: &str, below: &Path) -> String {
    let elements = below.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    std::iter::once(path.to_owned()).chain(elements).collect::<Vec<_>>().join("/")
}

/// A path as shown to people: relative to `cwd` if that is shorter.
fn display(path: &Path, cwd: &Path) -> String {
    let shared = path.components().zip(cwd.components()).take_while(|(a, b)| a == b).count();
    let up = cwd.components().count() - shared;
    let mut elements = vec!["..".to_owned(); up];
    elements.extend(
        path.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned()),
    );
    let relative = elements.join("/");
    let absolute = path.to_string_lossy();
    if relative.is_empty() {
        ".".to_owned()
    } else if relative.len() < absolute.len() {
        relative
    } else {
        absolute.replace('\\', "/")
    }
}

/// `path` without `.` and `..`, by its text alone, as Go's `filepath.Clean`.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            part => cleaned.push(part),
        }
    }
    cleaned
}
