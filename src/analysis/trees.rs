//! The trees of the files of a run: whole and made beforehand on all threads for those that something
//! may be reported of, and of generated files and of what is imported as much as somebody asks for.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Progress, guard, internal_error};
use crate::diagnostic::{Note, NoteKind};
use crate::index::{Tree, Trees};
use crate::project::{Snapshot, SourceFile};
use crate::source::{FileId, SourceText, Span};
use crate::syntax::{self, File, Former, LazyFile};

/// What is known of files, by path.
pub type Known = FxHashMap<PathBuf, KnownFile>;

/// A text of a file, and what was made of it.
#[derive(Debug)]
pub struct KnownFile {
    text: SourceText,
    made: Made,
    former: Option<Former>,
}

/// What was made of one file.
#[derive(Clone, Debug, Default)]
pub struct Made {
    whole: OnceLock<Parsed>,
    lazy: OnceLock<Arc<LazyFile>>,
}

/// A file whose text has changed since it was first known: it is being edited, and will be again.
struct Edited {
    /// What its text can be parsed from.
    before: Option<Former>,
    /// What the next one can be parsed from.
    after: OnceLock<Option<Former>>,
}

/// A tree, and the note on a file that is not Go as it should be.
pub type Parsed = (Arc<File>, Option<Note>);

/// The trees of all files of a run.
pub struct Forest<'s> {
    snapshot: &'s Snapshot,
    cells: Vec<Made>,
    edited: FxHashMap<FileId, Edited>,
    /// The files of the packages that are checked, once some are known.
    checked: RwLock<Option<FxHashSet<FileId>>>,
}

impl<'s> Forest<'s> {
    /// Those of `snapshot`; what is `known` of them need not be made.
    pub fn new(snapshot: &'s Snapshot, known: &Known) -> Forest<'s> {
        let mut edited = FxHashMap::default();
        let files = snapshot.files.iter().zip(0..);
        let cells = files.map(|(file, id)| {
            let Some(known) = known.get(&file.path) else { return Made::default() };
            let is_same = known.text == file.text;
            if !is_same || known.former.is_some() {
                let before = known.former.clone();
                edited.insert(FileId(id), Edited { before, after: OnceLock::new() });
            }
            if is_same { known.made.clone() } else { Made::default() }
        });
        Forest { snapshot, cells: cells.collect(), edited, checked: RwLock::default() }
    }

    /// Makes the trees of `files`, each of which counts as done. They are those of packages that
    /// are checked: from now on trees of others are made in parts, and those of generated files are.
    pub fn grow(&self, files: &[FileId], progress: &Progress) {
        let mut checked = self.checked.write().unwrap_or_else(PoisonError::into_inner);
        checked.get_or_insert_default().extend(files);
        drop(checked);
        files.par_iter().for_each(|&file| {
            if !self.is_generated(file) {
                self.parsed(file);
            }
            progress.done.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Whether a file says that it is generated, so that nothing is reported of it, and its tokens show
    /// no fault.
    pub fn is_generated(&self, file: FileId) -> bool {
        let text = &self.snapshot.files[file.0 as usize].text;
        if !syntax::may_be_generated(text) {
            return false;
        }
        let lazy = self.lazy(file);
        let head = lazy.head();
        let has_clauses = head.package.is_some() && head.errors.is_empty();
        let is_sound =
            has_clauses && !lazy.has_stray_text() && text.is_utf8(Span::new(0, u32::MAX));
        head.generated && is_sound
    }

    fn lazy(&self, file: FileId) -> &Arc<LazyFile> {
        let place = file.0 as usize;
        let make = || Arc::new(LazyFile::new(self.snapshot.files[place].text.clone()));
        self.cells[place].lazy.get_or_init(make)
    }

    /// Whether one of these files is being edited.
    pub fn is_edited(&self, files: &[FileId]) -> bool {
        files.iter().any(|file| self.edited.contains_key(file))
    }

    /// The tree of a file, with the note on it.
    pub fn parsed(&self, file: FileId) -> &Parsed {
        let place = file.0 as usize;
        self.cells[place].whole.get_or_init(|| {
            parse_file(&self.snapshot.files[place], |text| match self.edited.get(&file) {
                None => syntax::parse(text),
                Some(edited) => {
                    let (tree, next) = syntax::parse_edited(text, edited.before.clone());
                    edited.after.get_or_init(|| next);
                    tree
                }
            })
        })
    }

    /// What straggler itself failed at so far.
    pub fn failures(&self) -> impl Iterator<Item = &Note> {
        let notes = self.cells.iter().filter_map(|made| made.whole.get()?.1.as_ref());
        notes.filter(|note| note.kind.is_failure())
    }

    /// What is known now, for another run.
    pub fn into_known(mut self) -> Known {
        let mut known = Known::default();
        for ((file, made), id) in self.snapshot.files.iter().zip(self.cells).zip(0..) {
            let former = self.edited.remove(&FileId(id));
            let former = former.and_then(|it| it.after.into_inner().unwrap_or(it.before));
            if made.whole.get().is_some() || made.lazy.get().is_some() || former.is_some() {
                known
                    .insert(file.path.clone(), KnownFile { text: file.text.clone(), made, former });
            }
        }
        known
    }
}

impl Trees for Forest<'_> {
    fn tree(&self, file: FileId) -> Tree {
        let checked = self.checked.read().unwrap_or_else(PoisonError::into_inner);
        let is_checked = checked.as_ref().is_none_or(|checked| checked.contains(&file));
        drop(checked);
        match is_checked && !self.is_generated(file) {
            true => Tree::Whole(Arc::clone(&self.parsed(file).0)),
            false => Tree::Lazy(Arc::clone(self.lazy(file))),
        }
    }
}

fn parse_file(file: &SourceFile, parse: impl FnOnce(SourceText) -> File) -> Parsed {
    match guard::run(|| parse(file.text.clone())) {
        Ok(tree) => {
            let note = note(file, &tree);
            (Arc::new(tree), note)
        }
        Err(panic) => {
            let nothing = syntax::parse(SourceText::new(Vec::new()));
            let message = format!("straggler failed to parse this file ({panic}); it is left out");
            (Arc::new(nothing), Some(internal_error(file.display.clone(), message)))
        }
    }
}

/// One note for each file, at the first place that is wrong.
fn note(file: &SourceFile, tree: &File) -> Option<Note> {
    let mut errors: Vec<(u32, &str)> =
        tree.errors.iter().map(|error| (error.span.start, error.message.as_str())).collect();
    if tree.package.is_none() && errors.is_empty() {
        errors.push((0, "syntax error: missing a package clause"));
    }
    let &(offset, message) = errors.iter().min()?;
    let position = file.text.position(offset);
    let more = match errors.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some(Note {
        path: file.display.clone(),
        line_column: Some((position.line, position.column)),
        kind: NoteKind::ParseError,
        message: format!("{message}{more}; the functions around it are analysed"),
    })
}
