//! What decides the answer to an import, for whoever keeps answers: where its sources can be, and
//! which of these places can change. And what is not there.
//!
//! A version of a module in the module cache never changes, nor does the standard library of a
//! Go version; every other directory is asked for what it holds now.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::dependency::{Dependencies, bound_note, is_no_package};
use super::header;
use super::path;
use super::read::{Disk, ReadError};
use super::view;
use super::{Importer, LoadOptions, PackageId, Snapshot};
use crate::diagnostic::Note;
use crate::syntax::Symbol;

/// A place where the sources of an import are, or would be if those before it were not there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A package of the run.
    Run(PackageId),
    /// A directory whose files never change.
    Fixed(Importer, PathBuf),
    /// A directory whose files may be others tomorrow.
    Changing(Importer, PathBuf),
}

/// What a directory holds that an import of it denotes.
#[derive(Clone, Debug)]
pub struct SourcesOf {
    /// Its files in their order, with their bytes; without those that cannot be read.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// What they import.
    pub imports: BTreeSet<String>,
}

/// The directories whose files never change.
#[derive(Debug)]
pub(super) struct Fixed {
    /// What `VERSION` says in the root of the standard library.
    version: Option<Vec<u8>>,
    goroot: Option<PathBuf>,
    module_cache: Option<PathBuf>,
    /// Which of them are there.
    there: Mutex<HashMap<PathBuf, bool>>,
}

/// What there is not of what is imported.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    pub missing: BTreeSet<String>,
    pub notes: BTreeMap<String, Note>,
}

impl Fixed {
    /// As `options` say. Where an overlay stands in for a file below, nothing is fixed.
    pub fn new(options: &LoadOptions, disk: &Disk) -> Fixed {
        let is_overlaid = |dir: &PathBuf| options.overlays.keys().any(|path| path.starts_with(dir));
        let as_it_is = |dir: &Option<PathBuf>| dir.clone().filter(|dir| !is_overlaid(dir));
        let goroot = as_it_is(&options.goroot);
        Fixed {
            version: goroot.as_ref().and_then(|root| disk.read(&root.join("VERSION")).ok()),
            goroot,
            module_cache: as_it_is(&options.module_cache),
            there: Mutex::default(),
        }
    }

    /// The directory at or above `dir` that is there as a whole and as it ever was, or not at all.
    fn root<'d>(&self, dir: &'d Path) -> Option<&'d Path> {
        let goroot = self.goroot.as_ref().filter(|_| self.version.is_some());
        if let Some(goroot) = goroot.filter(|goroot| dir.starts_with(goroot)) {
            return dir.ancestors().find(|above| above == goroot);
        }
        let cache = self.module_cache.as_ref().filter(|cache| dir.starts_with(cache))?;
        let is_version =
            |dir: &&Path| dir.file_name().is_some_and(|name| name.to_string_lossy().contains('@'));
        dir.ancestors().take_while(|above| above != cache).filter(is_version).last()
    }

    fn is_there(&self, root: &Path) -> bool {
        let mut known = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = known.get(root) {
            return known;
        }
        let is_there = root.is_dir();
        known.insert(root.to_owned(), is_there);
        is_there
    }
}

impl Snapshot {
    /// The places that decide what `import_path` denotes in a file of `from`, in the order in
    /// which they are tried. Reads the names of files alone.
    pub fn origins(&self, from: Importer, import_path: Symbol) -> Vec<Origin> {
        if is_no_package(import_path.as_str()) {
            return Vec::new();
        }
        let known = &self.dependencies;
        let mut origins = Vec::new();
        for dir in known.candidates(from, import_path.as_str()) {
            if let Some(&package) = known.imported.get(&dir) {
                origins.push(Origin::Run(package));
                continue;
            }
            let importer = match &known.goroot_src {
                Some(src) if dir.starts_with(src) => Importer::STANDARD,
                _ => from,
            };
            match known.fixed.root(&dir) {
                // Whether it holds what is imported never changes either.
                Some(root) if known.fixed.is_there(root) => {
                    origins.push(Origin::Fixed(importer, dir));
                }
                Some(_) => {}
                None if !sources(&known.disk, &dir).is_empty() => {
                    origins.push(Origin::Changing(importer, dir));
                }
                None => {}
            }
        }
        origins
    }

    /// What a directory holds that an import of it denotes.
    pub fn sources_of(&self, dir: &Path) -> SourcesOf {
        let mut found = SourcesOf { files: Vec::new(), imports: BTreeSet::new() };
        for path in sources(&self.dependencies.disk, dir) {
            let Ok(bytes) = self.dependencies.disk.read(&path) else { continue };
            found.imports.extend(header::scan(&bytes).imports);
            found.files.push((path, bytes));
        }
        found
    }

    /// All that says where an importer looks: equal texts, equal places.
    pub fn importer_text(&self, importer: Importer) -> String {
        let known = &self.dependencies;
        let list = importer.list().map(|list| &known.build_lists[list]);
        let Fixed { version, goroot, module_cache, there: _ } = &*known.fixed;
        let fixed = (version, goroot, module_cache);
        format!("{list:?} {:?} {fixed:?} {}", known.goroot_src, known.disk.max_file_bytes)
    }

    /// Whether less was read for dependencies than was asked for, so that what is known depends on
    /// who asked first.
    pub fn is_bounded(&self) -> bool {
        self.dependencies.is_bounded()
    }
}

/// The files that an import of the package in `dir` can denote.
fn sources(disk: &Disk, dir: &Path) -> BTreeSet<PathBuf> {
    let mut paths = disk.go_files(dir);
    paths.retain(|path| !view::is_test(&path.to_string_lossy()));
    paths
}

impl Dependencies {
    /// What is not there of what the reported packages of `snapshot` import.
    pub(super) fn gaps(&self, snapshot: &Snapshot) -> &Gaps {
        self.gaps.get_or_init(|| {
            let reported = snapshot.packages.iter().filter(|package| !package.report.is_empty());
            let imports = reported.flat_map(|package| {
                let imports = package.files.iter().flat_map(|&id| {
                    let file = &snapshot.files[id.0 as usize];
                    file.imports.iter().map(|import| import.as_str())
                });
                imports.map(|import| (package.importer, import))
            });
            let imports: BTreeSet<(Importer, &str)> = imports.collect();
            let imports: Vec<(Importer, &str)> = imports.into_iter().collect();
            let found: Vec<Option<Vec<Note>>> =
                imports.par_iter().map(|&(from, import)| self.look_at(from, import)).collect();
            let mut gaps = Gaps::default();
            for ((_, import), found) in imports.into_iter().zip(found) {
                match found {
                    Some(notes) => {
                        gaps.notes.extend(notes.into_iter().map(|note| (note.path.clone(), note)));
                    }
                    None => {
                        gaps.missing.insert(import.to_owned());
                    }
                }
            }
            gaps
        })
    }

    /// Notes on the files of an import that are too large; `None` if there are no files.
    fn look_at(&self, from: Importer, import: &str) -> Option<Vec<Note>> {
        if is_no_package(import) {
            return Some(Vec::new());
        }
        for dir in self.candidates(from, import) {
            if self.imported.contains_key(&dir) {
                return Some(Vec::new());
            }
            let sources = sources(&self.disk, &dir);
            if sources.is_empty() {
                continue;
            }
            let limit = self.disk.max_file_bytes;
            let is_too_large = |path: &PathBuf| {
                let overlay = self.disk.overlays.get(path).map(|bytes| bytes.len() as u64);
                let size = overlay.or_else(|| Some(fs::metadata(path).ok()?.len()));
                size.is_some_and(|size| size > limit)
            };
            let told = sources.into_iter().filter(is_too_large).map(|path| {
                let error = ReadError::TooLarge(limit);
                let message = format!("{error}; this dependency's file is not read");
                bound_note(path::display(&path, &self.cwd), message)
            });
            return Some(told.collect());
        }
        None
    }
}
