//! The phases of loading: find what is asked for, read it in parallel, find its modules, part each
//! directory into packages, number everything by path.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::constraint;
use super::dependency::{Dependencies, Importer};
use super::header::{self, Header};
use super::modules::{self, ModuleRoot, Resolved, Roots};
use super::path;
use super::read::{Disk, ReadError};
use super::view::{self, ListedFile, Tests};
use super::walk::{self, Wanted};
use super::{Counts, LoadOptions, Module, Package, PackageId, Skip, Snapshot, SourceFile};
use crate::diagnostic::{Note, NoteKind};
use crate::source::{FileId, SourceText};
use crate::syntax::Symbol;

/// Reads all that `options` names.
pub(super) fn load(options: &LoadOptions) -> Snapshot {
    let disk = Disk::new(options);
    let mut roots = Roots::new(&disk);
    let targets = walk::targets(options, &disk, &mut roots);
    let mut dirs = read(targets.dirs, &mut roots, options, &disk);
    let mut resolved = modules::resolve(&imports(&dirs), options, &disk);
    let mut seen: BTreeSet<PathBuf> = dirs.iter().map(|dir| dir.dir.clone()).collect();
    let mut patterns = Patterns { options, disk: &disk, starts: BTreeMap::new() };
    let mut first_new = 0;
    loop {
        let new =
            imported_dirs(&dirs[first_new..], &resolved, &mut seen, &mut roots, &mut patterns);
        if new.is_empty() {
            break;
        }
        first_new = dirs.len();
        let new = new.into_iter().map(|dir| (dir, Wanted::default())).collect();
        dirs.extend(read(new, &mut roots, options, &disk));
        let known = |root: &ModuleRoot| resolved.of_root.contains_key(&root.dir);
        if !dirs[first_new..].iter().all(|dir| dir.root.as_ref().is_none_or(known)) {
            resolved = modules::resolve(&imports(&dirs), options, &disk);
        }
    }
    dirs.sort_by(|a, b| a.dir.cmp(&b.dir));
    let mut notes = targets.notes;
    notes.append(&mut resolved.notes);
    let mut assembly = Assembly { resolved, notes, ..Assembly::default() };
    dirs.into_iter().for_each(|dir| assembly.add(dir, options));
    assembly.finish(options, disk)
}

/// Reads directories in parallel; those without anything to tell are left out.
fn read(
    dirs: BTreeMap<PathBuf, Wanted>,
    roots: &mut Roots<'_>,
    options: &LoadOptions,
    disk: &Disk,
) -> Vec<Directory> {
    let with_root = |(dir, wanted): (PathBuf, Wanted)| {
        let root = roots.of(&dir);
        (dir, wanted, root)
    };
    let dirs: Vec<(PathBuf, Wanted, Option<ModuleRoot>)> =
        dirs.into_iter().map(with_root).collect();
    dirs.into_par_iter()
        .map(|(dir, wanted, root)| read_directory(dir, &wanted, root, options, disk))
        .filter(|dir| !dir.files.is_empty() || !dir.notes.is_empty())
        .collect()
}

/// What the files below each root import.
fn imports(dirs: &[Directory]) -> BTreeMap<ModuleRoot, BTreeSet<String>> {
    let mut imports: BTreeMap<ModuleRoot, BTreeSet<String>> = BTreeMap::new();
    for dir in dirs {
        if let Some(root) = &dir.root {
            let all = imports.entry(root.clone()).or_default();
            for import in dir.files.iter().flat_map(|file| &file.header.imports) {
                if !all.contains(import) {
                    all.insert(import.clone());
                }
            }
        }
    }
    imports
}

/// The directories that files of `dirs` import and that [`Patterns`] find, but for those already
/// `seen`.
fn imported_dirs(
    dirs: &[Directory],
    resolved: &Resolved,
    seen: &mut BTreeSet<PathBuf>,
    roots: &mut Roots<'_>,
    patterns: &mut Patterns<'_>,
) -> BTreeSet<PathBuf> {
    let goroot_src = patterns.options.goroot.as_ref().map(|goroot| goroot.join("src"));
    let mut imported = BTreeSet::new();
    // Many files of a module import the same.
    let mut met: BTreeMap<&Path, HashSet<&str>> = BTreeMap::new();
    for dir in dirs {
        let Some(root) = &dir.root else { continue };
        let Some(&(_, list)) = resolved.of_root.get(&root.dir) else { continue };
        let met = met.entry(&root.dir).or_default();
        let imports = dir.files.iter().flat_map(|file| &file.header.imports);
        for import in imports.filter(|import| met.insert(import)) {
            let candidates = resolved.build_lists[list].candidates(import, goroot_src.as_deref());
            for candidate in candidates {
                if !seen.contains(&candidate) && patterns.find(&candidate, root, roots) {
                    seen.insert(candidate.clone());
                    imported.insert(candidate);
                }
            }
        }
    }
    imported
}

/// What a run on everything would read: from the working directory, and from the workspace or
/// module of whoever imports it.
struct Patterns<'a> {
    options: &'a LoadOptions,
    disk: &'a Disk,
    /// Where patterns start for a module, by its directory.
    starts: BTreeMap<PathBuf, PathBuf>,
}

impl Patterns<'_> {
    fn find(&mut self, dir: &Path, importer: &ModuleRoot, roots: &mut Roots<'_>) -> bool {
        let (options, disk) = (self.options, self.disk);
        let foreign = [options.goroot.as_deref(), options.module_cache.as_deref()];
        let is_foreign =
            |holder: &Path| dir.starts_with(holder) && !importer.dir.starts_with(holder);
        if foreign.into_iter().flatten().any(is_foreign) {
            return false;
        }
        let start = self.starts.entry(importer.dir.clone()).or_insert_with(|| {
            modules::work_dir(&importer.dir, options, disk).unwrap_or_else(|| importer.dir.clone())
        });
        [options.cwd.as_path(), start]
            .into_iter()
            .any(|start| !walk::is_passed_by(dir, start, roots))
    }
}

/// A directory and what was read of it.
struct Directory {
    dir: PathBuf,
    root: Option<ModuleRoot>,
    /// Sorted by path.
    files: Vec<ReadFile>,
    notes: Vec<Note>,
    skipped: Vec<Skip>,
}

struct ReadFile {
    path: PathBuf,
    text: SourceText,
    header: Header,
    wanted: bool,
}

fn read_directory(
    dir: PathBuf,
    wanted: &Wanted,
    root: Option<ModuleRoot>,
    options: &LoadOptions,
    disk: &Disk,
) -> Directory {
    let root_dir = root.as_ref().map_or(dir.as_path(), |root| &root.dir).to_owned();
    let mut directory = Directory { dir, root, files: vec![], notes: vec![], skipped: vec![] };
    let mut paths = disk.go_files(&directory.dir);
    let context = !wanted.all && wanted.files.is_empty();
    // What is imported has no tests.
    paths.retain(|path| !context || !view::is_test(&name(path)));
    paths.extend(wanted.files.iter().cloned());
    for path in paths {
        let named = wanted.files.contains(&path);
        let wanted = wanted.all || named;
        let leads_out = !named && disk.leads_out(&path, &root_dir);
        match if leads_out { Err(ReadError::LeadsOut) } else { disk.read(&path) } {
            Ok(bytes) => {
                let (header, text) = (header::scan(&bytes), SourceText::new(bytes));
                let file = ReadFile { path, text, header, wanted };
                directory.notes.extend(bad_constraint(&file, options));
                directory.files.push(file);
            }
            // What was not asked for is only context, and its loss is nobody's trouble.
            Err(_) if !wanted => {}
            Err(error) => {
                let (kind, skip) = match error {
                    ReadError::TooLarge(_) => (NoteKind::TooLarge, Skip::TooLarge),
                    ReadError::NotRegular(_) | ReadError::LeadsOut => {
                        (NoteKind::NotRegular, Skip::NotRegular)
                    }
                    ReadError::Io(_) => (NoteKind::Unreadable, Skip::Unreadable),
                };
                directory.skipped.push(skip);
                directory.notes.push(Note {
                    path: path::display(&path, &options.cwd),
                    line_column: None,
                    kind,
                    message: format!("{error}; skipped"),
                });
            }
        }
    }
    directory
}

fn bad_constraint(file: &ReadFile, options: &LoadOptions) -> Option<Note> {
    constraint::of_file("", &file.header).1.err().filter(|_| file.wanted)?;
    let message = "the build constraint does not parse; the file is taken to have none";
    Some(constraint_note(file, NoteKind::ParseError, message, options))
}

/// A note at the constraint line of a file, or at its start if its name alone is the constraint.
fn constraint_note(file: &ReadFile, kind: NoteKind, message: &str, options: &LoadOptions) -> Note {
    let line: &[u8] = if file.header.go_build.is_some() { b"//go:build" } else { b"+build" };
    let has_line = file.header.go_build.is_some() || !file.header.plus_build.is_empty();
    let found = memchr::memmem::find(file.text.bytes(), line).filter(|_| has_line);
    let position = file.text.position(found.unwrap_or_default() as u32);
    Note {
        path: path::display(&file.path, &options.cwd),
        line_column: Some((position.line, position.column)),
        kind,
        message: message.to_owned(),
    }
}

/// The snapshot as it grows, directory by directory.
#[derive(Default)]
struct Assembly {
    resolved: Resolved,
    files: Vec<Arc<SourceFile>>,
    packages: Vec<Package>,
    notes: Vec<Note>,
    skipped: BTreeMap<Skip, usize>,
    found: usize,
}

impl Assembly {
    fn add(&mut self, directory: Directory, options: &LoadOptions) {
        let Directory { dir, root, files, notes, skipped } = directory;
        let first_file = self.files.len();
        let first_package = self.packages.len();
        self.notes.extend(notes);
        self.found += skipped.len() + files.iter().filter(|file| file.wanted).count();
        skipped.into_iter().for_each(|skip| self.skip(skip));

        let listed: Vec<ListedFile> = files
            .iter()
            .map(|file| ListedFile::new(&name(&file.path), &file.header, file.wanted))
            .collect();
        let plan = view::plan(&listed);
        let never_built = plan.never_built.iter().map(|&at| &files[at]);
        for file in never_built.filter(|file| file.wanted) {
            let message = "no build satisfies the constraints of its name and lines; skipped";
            self.notes.push(constraint_note(file, NoteKind::NeverBuilt, message, options));
            self.skip(Skip::NeverBuilt);
        }

        let of_root = root.map(|root| self.resolved.of_root[&root.dir]);
        let module = of_root.map(|(module, _)| module);
        let importer = of_root.map_or(Importer::LOOSE, |(_, list)| Importer::of_list(list));
        let display = path::display(&dir, &options.cwd);
        let import_path = match module {
            Some(id) => import_path(&self.resolved.modules[id.0 as usize], &dir, &display),
            None => format!("_/{display}"),
        };
        for (at, planned) in plan.packages.iter().enumerate() {
            let ids = |list: &[usize]| -> Vec<FileId> {
                list.iter().map(|at| FileId((first_file + at) as u32)).collect()
            };
            let external = planned.view.tests == Tests::External;
            let suffix = if external { "_test" } else { "" };
            self.packages.push(Package {
                id: PackageId((first_package + at) as u32),
                import_path: Symbol::new(&format!("{import_path}{suffix}")),
                name: Symbol::new(&planned.name),
                dir: dir.clone(),
                module,
                importer,
                view: planned.view.clone(),
                files: ids(&planned.files),
                report: ids(&planned.report),
                under_test: plan.under_test(at).map(|at| PackageId((first_package + at) as u32)),
            });
        }
        self.files.extend(files.into_iter().zip(first_file..).map(|(file, id)| {
            Arc::new(SourceFile {
                id: FileId(id as u32),
                display: path::display(&file.path, &options.cwd),
                test: view::is_test(&name(&file.path)),
                imports: file.header.imports.iter().map(|path| Symbol::new(path)).collect(),
                path: file.path,
                text: file.text,
            })
        }));
    }

    fn skip(&mut self, skip: Skip) {
        *self.skipped.entry(skip).or_default() += 1;
    }

    fn finish(self, options: &LoadOptions, disk: Disk) -> Snapshot {
        let Assembly { resolved, files, packages, mut notes, skipped, found } = self;
        notes.sort_by(|a, b| {
            (&a.path, a.line_column, &a.message).cmp(&(&b.path, b.line_column, &b.message))
        });
        notes.dedup();
        let mut imported: HashMap<PathBuf, PackageId> = HashMap::new();
        for package in packages.iter().filter(|package| package.is_importable()) {
            let best = imported.entry(package.dir.clone()).or_insert(package.id);
            let known = packages[best.0 as usize].name;
            if view::is_rather_imported(package.name.as_str(), known.as_str(), &package.dir) {
                *best = package.id;
            }
        }
        let analysed = packages.iter().map(|package| package.report.len()).sum();
        let first_free = files.len() as u32;
        Snapshot {
            files,
            packages,
            modules: resolved.modules,
            notes,
            counts: Counts { found, analysed, skipped },
            dependencies: Dependencies::new(
                options,
                disk,
                resolved.build_lists,
                imported,
                first_free,
            ),
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The import path of a directory of a module or tree. `display` stands in where the module path is
/// not known.
fn import_path(module: &Module, dir: &Path, display: &str) -> String {
    let below = dir.strip_prefix(&module.dir).expect("a module holds its directories");
    let below = path::slashed(below);
    let vendored = format!("/{below}");
    if let Some((_, vendored)) = vendored.rsplit_once("/vendor/") {
        return vendored.to_owned();
    }
    match (module.path.as_str(), below.as_str()) {
        ("", _) => format!("_/{display}"),
        ("std", below) => below.to_owned(),
        (path, "") => path.to_owned(),
        (path, below) => format!("{path}/{below}"),
    }
}
