//! From the user's paths to directories and files, with Go's rules of what patterns walk past.
//!
//! Below a directory that was named, patterns walk past `vendor`, `testdata`, names that start with
//! `_` or `.`, and what an `ignore` directive of go.mod names. What is named itself is never walked
//! past. Symbolic links to directories are not followed, unless named.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::modules::{self, BuildList, Roots};
use super::path;
use super::read::{Disk, ReadError};
use super::view;
use super::{LoadOptions, Reach};
use crate::diagnostic::{Note, NoteKind};

/// What is asked for.
#[derive(Debug, Default)]
pub(super) struct Targets {
    pub dirs: BTreeMap<PathBuf, Wanted>,
    pub notes: Vec<Note>,
}

/// What is asked for in one directory.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Every Go file of it.
    pub all: bool,
    /// Files by name.
    pub files: BTreeSet<PathBuf>,
}

/// Finds the directories and files that `options.paths` name.
pub(super) fn targets(options: &LoadOptions, disk: &Disk, roots: &mut Roots<'_>) -> Targets {
    let mut walk = Walk { options, disk, roots, targets: Targets::default(), build_list: None };
    let here = [PathBuf::from(".")];
    let paths = if options.paths.is_empty() { &here } else { options.paths.as_slice() };
    for path in paths {
        walk.argument(path);
    }
    walk.targets
}

struct Walk<'a, 'd> {
    options: &'a LoadOptions,
    disk: &'a Disk,
    roots: &'a mut Roots<'d>,
    targets: Targets,
    /// That of the module of the working directory, once an import path has asked for it.
    build_list: Option<BuildList>,
}

impl Walk<'_, '_> {
    fn argument(&mut self, argument: &Path) {
        let absolute = path::clean(&self.options.cwd.join(argument));
        if self.has_below(&absolute) {
            return match self.options.reach {
                Reach::Below => self.walk(&absolute, "..."),
                Reach::Itself => self.directory(absolute),
            };
        }
        if self.disk.overlays.contains_key(&absolute) {
            return self.file(absolute);
        }
        match fs::symlink_metadata(&absolute) {
            Ok(_) => return self.file(absolute),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let message = ReadError::Io(error).to_string();
                return self.note(&absolute, NoteKind::Unreadable, message);
            }
        }
        let text = argument.to_string_lossy();
        if let Some((base, pattern)) = parse_pattern(&text) {
            let dir = path::clean(&self.options.cwd.join(base));
            if self.has_below(&dir) {
                return self.walk(&dir, pattern);
            }
            let dirs = if is_path(&text) { Vec::new() } else { self.import_path(base) };
            if let Some(dir) = dirs.into_iter().find(|dir| self.disk.is_dir(dir)) {
                return self.walk(&dir, pattern);
            }
        } else if !is_path(&text)
            && let Some(dir) =
                self.import_path(&text).into_iter().find(|dir| self.disk.has_go_files(dir))
        {
            return self.directory(dir);
        }
        let message = match is_path(&text) || !text.contains('/') {
            true => "no such file or directory",
            false => "no such file, directory or package",
        };
        self.targets.notes.push(Note {
            path: text.into_owned(),
            line_column: None,
            kind: NoteKind::Missing,
            message: message.to_owned(),
        });
    }

    /// Whether `dir` is a directory, on the disk or by an overlay below it.
    fn has_below(&self, dir: &Path) -> bool {
        self.disk.is_dir(dir) || self.disk.overlays_below(dir).next().is_some()
    }

    fn directory(&mut self, dir: PathBuf) {
        self.targets.dirs.entry(dir).or_default().all = true;
    }

    fn file(&mut self, file: PathBuf) {
        let Some(dir) = file.parent() else { return };
        self.targets.dirs.entry(dir.to_owned()).or_default().files.insert(file);
    }

    /// The directories that an import path can denote, seen from the working directory.
    fn import_path(&mut self, import_path: &str) -> Vec<PathBuf> {
        let (options, disk, roots) = (self.options, self.disk, &mut *self.roots);
        let build_list = self.build_list.get_or_insert_with(|| {
            let root = roots.of(&options.cwd).map(|root| (root, BTreeSet::new()));
            let resolved = modules::resolve(&root.into_iter().collect(), options, disk);
            resolved.build_lists.into_iter().next().unwrap_or_default()
        });
        let goroot_src = options.goroot.as_ref().map(|goroot| goroot.join("src"));
        build_list.candidates(import_path.trim_end_matches('/'), goroot_src.as_deref())
    }

    /// Asks for the directories at and below `root` whose path from there matches `pattern`.
    fn walk(&mut self, root: &Path, pattern: &str) {
        let mut found: BTreeSet<PathBuf> = BTreeSet::new();
        let is_walked = |entry: &DirEntry| {
            entry.depth() == 0
                || entry.file_type().is_symlink()
                || entry.file_type().is_dir() && !is_skipped(&entry.file_name().to_string_lossy())
        };
        // A directory can be there by its overlays alone.
        let on_disk = self.disk.is_dir(root).then(|| WalkDir::new(root));
        let entries = on_disk.into_iter().flat_map(|walk| walk.into_iter().filter_entry(is_walked));
        for entry in entries {
            match entry {
                Ok(entry) if entry.depth() > 0 && entry.file_type().is_symlink() => {
                    self.link(entry.path());
                }
                Ok(entry) => {
                    found.insert(entry.into_path());
                }
                Err(error) => {
                    let path = error.path().unwrap_or(root).to_owned();
                    let error = error.into_io_error();
                    let reason = error.map_or("cannot be read".to_owned(), |error| {
                        ReadError::Io(error).to_string()
                    });
                    self.note(&path, NoteKind::Unreadable, format!("{reason}; skipped"));
                }
            }
        }
        let overlaid = self.disk.overlays.keys().filter_map(|path| path.parent());
        let reached = overlaid.filter(|dir| {
            let below = dir.strip_prefix(root).ok();
            below.is_some_and(|below| {
                !below.components().any(|part| is_skipped(&part.as_os_str().to_string_lossy()))
            })
        });
        found.extend(reached.map(Path::to_owned));
        for dir in found {
            let below = dir.strip_prefix(root).expect("the walk stays below its root");
            let named = dir == root;
            if matches(pattern, &path::slashed(below)) && (named || !self.roots.is_ignored(&dir)) {
                self.targets.dirs.entry(dir).or_default().all = true;
            }
        }
    }

    /// Tells of a link to a directory above itself. Links to files are judged when their directory
    /// is read; those to other directories are Go's way of keeping them out.
    fn link(&mut self, link: &Path) {
        let name = link.file_name().unwrap_or_default().to_string_lossy();
        if is_skipped(&name) || view::is_go_file(&name) {
            return;
        }
        let holder = link.parent().and_then(|dir| dir.canonicalize().ok());
        if let (Some(holder), Ok(target)) = (holder, link.canonicalize())
            && holder.starts_with(target)
        {
            let message = "a symbolic link to a directory above it; not followed".to_owned();
            self.note(link, NoteKind::NotRegular, message);
        }
    }

    fn note(&mut self, path: &Path, kind: NoteKind, message: String) {
        let path = path::display(path, &self.options.cwd);
        self.targets.notes.push(Note { path, line_column: None, kind, message });
    }
}

/// Whether patterns that start at `root` walk past `dir`, which is at or below it, or never come
/// there.
pub(super) fn is_passed_by(dir: &Path, root: &Path, roots: &mut Roots<'_>) -> bool {
    let Ok(below) = dir.strip_prefix(root) else { return true };
    let skipped = below.components().any(|part| is_skipped(&part.as_os_str().to_string_lossy()));
    skipped || dir != root && roots.is_ignored(dir)
}

/// Whether patterns walk past a directory of this name.
pub(super) fn is_skipped(name: &str) -> bool {
    name == "vendor" || name == "testdata" || name.starts_with(['_', '.'])
}

/// Whether an argument can only be a path of the file system: import paths do not start with a dot
/// or slash, nor end in `.go`.
fn is_path(argument: &str) -> bool {
    argument.starts_with(['.', '/'])
        || argument.ends_with(".go")
        || Path::new(argument).is_absolute()
}

/// Parts a pattern at the last slash before its first `...`.
fn parse_pattern(text: &str) -> Option<(&str, &str)> {
    let wildcard = text.find("...")?;
    match text[..wildcard].rfind('/') {
        Some(0) => Some(("/", &text[1..])),
        Some(slash) => Some((&text[..slash], &text[slash + 1..])),
        None => Some((".", text)),
    }
}

/// Whether a path matches a pattern in which `...` stands for any text and a last `/...` also for
/// none.
fn matches(pattern: &str, path: &str) -> bool {
    let whole =
        pattern.strip_suffix("/...").is_some_and(|pattern| matches_wildcards(pattern, path));
    whole || matches_wildcards(pattern, path)
}

fn matches_wildcards(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split("...");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    // Each part at its first place leaves the most for those after it.
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        for path in matching {
            assert!(matches(pattern, path), "{pattern} matches {path}");
        }
        for path in others {
            assert!(!matches(pattern, path), "{pattern} does not match {path}");
        }
    }

    #[test]
    fn wildcards() {
        check("...", &["", "a", "a/b"], &[]);
        check("a...", &["a", "ab", "a/b"], &["", "b"]);
        check("a/...", &["a", "a/b"], &["ab"]);
        check(".../b", &["a/b", "a/c/b"], &["b", "a/b/c"]);
        check("a.../b...", &["a/b", "ac/d/bc"], &["a", "ab"]);
        check("a...a", &["aa", "aba"], &["a"]);
    }

    #[test]
    fn patterns_start_at_a_directory() {
        assert_eq!(parse_pattern("./..."), Some((".", "...")));
        assert_eq!(parse_pattern("a/b/c.../d"), Some(("a/b", "c.../d")));
        assert_eq!(parse_pattern("/..."), Some(("/", "...")));
        assert_eq!(parse_pattern("..."), Some((".", "...")));
        assert_eq!(parse_pattern("a/b"), None);
    }
}
