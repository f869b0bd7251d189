//! The files that a run on a package rests on, carried to where there is nothing else: another
//! machine, or the sandbox of a build system.
//!
//! [`carry`] collects the files of packages, and those that say what their imports denote. Such files,
//! of as many packages as there are, can be [loaded](LoadOptions::of_carried) without the directories
//! that they are from: they stand in a place that nobody can make, as overlays, so that nothing of the
//! disk is taken for one of them, and their paths are the same on every machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::config_file::CONFIG;
use super::modfile::{self, Kind, Replacement};
use super::modules::Roots;
use super::path::{clean, display, slashed};
use super::read::{Disk, ReadError};
use super::{LoadOptions, Workspaces, walk};

/// Where files stand that are carried.
const PLACE: &str = if cfg!(windows) { r"C:\NUL\carried" } else { "/dev/null/carried" };

/// The files that say what the imports of a package denote, and which settings hold, in its
/// directory or above.
const DECIDING: [&str; 4] = ["go.mod", "go.work", "vendor/modules.txt", CONFIG];

/// Files by their paths below one directory, with `/` between elements.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The Go files that `options.paths` name, each a file or the directory of a package, and the files
/// that decide what they import: those above them, and `more`. Or what is wrong: lower case, no full
/// stop.
pub fn carry(options: &LoadOptions, more: &[PathBuf]) -> Result<Files, String> {
    let disk = Disk::new(options);
    let mut found = Found { options, disk: &disk, files: Files::new() };
    let mut dirs = BTreeSet::new();
    for path in &options.paths {
        dirs.insert(found.argument(path)?);
    }
    for path in more {
        found.take(&clean(&options.cwd.join(path)))?;
    }
    found.deciding(dirs)?;
    Ok(found.files)
}

struct Found<'f> {
    options: &'f LoadOptions,
    disk: &'f Disk,
    files: Files,
}

impl Found<'_> {
    /// Takes the files of an argument, and gives their directory.
    fn argument(&mut self, argument: &Path) -> Result<PathBuf, String> {
        let path = clean(&self.options.cwd.join(argument));
        if !path.is_dir() {
            self.take(&path)?;
            return Ok(path.parent().unwrap_or(&path).to_owned());
        }
        let files = self.disk.go_files(&path);
        if files.is_empty() {
            return Err(format!("`{}` holds no Go files", self.shown(&path)));
        }
        files.iter().try_for_each(|file| self.take(file))?;
        Ok(path)
    }

    /// Takes the files that decide what packages in these directories import.
    fn deciding(&mut self, dirs: BTreeSet<PathBuf>) -> Result<(), String> {
        let cwd = &self.options.cwd;
        for dir in &dirs {
            let root = Roots::new(self.disk).of(dir);
            if !root.is_some_and(|root| root.is_module && root.dir.starts_with(cwd)) {
                return Err(format!(
                    "`{}` belongs to no module at or below the working directory; run this in the \
                     root of its module or workspace",
                    self.shown(dir)
                ));
            }
        }
        let above = dirs.iter().flat_map(|dir| dir.ancestors());
        let mut open: Vec<PathBuf> = above.map(Path::to_owned).collect();
        let mut met = BTreeSet::new();
        while let Some(dir) = open.pop() {
            if !dir.starts_with(cwd) || !met.insert(dir.clone()) {
                continue;
            }
            for name in DECIDING {
                let path = dir.join(name);
                if self.disk.is_file(&path) {
                    self.take(&path)?;
                    open.extend(self.modules_of(&dir, name));
                }
            }
        }
        Ok(())
    }

    /// The directories of modules that a go.mod or go.work names.
    fn modules_of(&self, dir: &Path, name: &str) -> Vec<PathBuf> {
        let kind = match name {
            "go.mod" => Kind::Mod,
            "go.work" => Kind::Work,
            _ => return Vec::new(),
        };
        let text = self.disk.read(&dir.join(name)).unwrap_or_default();
        let file = modfile::parse(&String::from_utf8_lossy(&text), kind).0;
        let replaced = file.replace.into_iter().filter_map(|replace| match replace.with {
            Replacement::Dir(dir) => Some(dir),
            Replacement::Module(..) => None,
        });
        file.uses.into_iter().chain(replaced).map(|used| clean(&dir.join(used))).collect()
    }

    fn take(&mut self, path: &Path) -> Result<(), String> {
        let shown = self.shown(path);
        let Ok(below) = path.strip_prefix(&self.options.cwd) else {
            return Err(format!("`{shown}` is not below the working directory"));
        };
        let Some(name) = below.to_str().map(|_| slashed(below)) else {
            return Err(format!("the path `{shown}` is not UTF-8"));
        };
        let bytes = match self.disk.read(path) {
            Ok(bytes) => bytes,
            // That it is too large is told by whoever loads it.
            Err(ReadError::TooLarge(limit)) => vec![b'\n'; limit as usize + 1],
            Err(error) => return Err(format!("`{shown}`: {error}")),
        };
        self.files.insert(name, bytes);
        Ok(())
    }

    fn shown(&self, path: &Path) -> String {
        display(path, &self.options.cwd)
    }
}

impl LoadOptions {
    /// The options of a run on `files`, which are carried; `paths` are among them, and all of them if
    /// there are none. What else there is in the working directory is not looked at.
    pub fn of_carried(&self, files: Files, paths: Vec<PathBuf>) -> LoadOptions {
        let place = Path::new(PLACE);
        let below = |path: &PathBuf| {
            let below = clean(&self.cwd.join(path));
            below.strip_prefix(&self.cwd).map_or_else(|_| path.clone(), |below| place.join(below))
        };
        let overlays = files.into_iter().map(|(path, bytes)| (place.join(path), bytes));
        LoadOptions {
            cwd: place.to_owned(),
            paths: paths.iter().map(below).collect(),
            overlays: overlays.collect(),
            workspaces: match &self.workspaces {
                Workspaces::File(path) => Workspaces::File(below(path)),
                other => other.clone(),
            },
            ..self.clone()
        }
    }
}

/// Whether a run on everything walks past a path below the working directory, which is of a dependency
/// then: it is carried, and nothing is reported of it.
pub fn is_walked_past(options: &LoadOptions, path: &Path) -> bool {
    let path = clean(&options.cwd.join(path));
    let below = path.strip_prefix(&options.cwd).unwrap_or(&path);
    below.components().any(|part| walk::is_skipped(&part.as_os_str().to_string_lossy()))
}

/// The paths of the modules whose go.mod is among `files`.
pub fn module_paths(files: &Files) -> Vec<String> {
    let is_mod = |(path, _): &(&String, &Vec<u8>)| path.rsplit('/').next() == Some("go.mod");
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let of = |(_, bytes)| modfile::parse(&text(bytes), Kind::Mod).0.module;
    files.iter().filter(is_mod).filter_map(of).collect()
}

/// Whether a path can be one of files that are carried: relative, and without `.` and `..`.
pub fn is_carried(path: &str) -> bool {
    let elements = || path.split('/');
    !path.contains('\0') && elements().all(|element| !matches!(element, "" | "." | ".."))
}
