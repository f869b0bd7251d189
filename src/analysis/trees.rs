//! The trees of the files of a run: whole and made beforehand on all threads for the packages that
//! are checked, and of what these import as much as somebody asks for.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Progress, guard, internal_error};
use crate::diagnostic::{Note, NoteKind};
use crate::index::{Tree, Trees};
use crate::project::{Snapshot, SourceFile};
use crate::source::{FileId, SourceText};
use crate::syntax::{self, File, LazyFile};

/// Trees by path, with the text that they are of.
pub type Known = FxHashMap<PathBuf, (SourceText, Made)>;

/// What was made of one file.
#[derive(Clone, Debug, Default)]
pub struct Made {
    whole: OnceLock<Parsed>,
    lazy: OnceLock<Arc<LazyFile>>,
}

/// A tree, and the note on a file that is not Go as it should be.
pub type Parsed = (Arc<File>, Option<Note>);

/// The trees of all files of a run.
pub struct Forest<'s> {
    snapshot: &'s Snapshot,
    cells: Vec<Made>,
    /// The files of the packages that are checked, once that is known.
    checked: OnceLock<FxHashSet<FileId>>,
}

impl<'s> Forest<'s> {
    /// Those of `snapshot`; what is `known` of them need not be made.
    pub fn new(snapshot: &'s Snapshot, known: &Known) -> Forest<'s> {
        let cell = |file: &Arc<SourceFile>| {
            let same = known.get(&file.path).filter(|(text, _)| *text == file.text);
            same.map_or_else(Made::default, |(_, made)| made.clone())
        };
        let cells = snapshot.files.iter().map(cell).collect();
        Forest { snapshot, cells, checked: OnceLock::new() }
    }

    /// Makes the trees of `files`, each of which counts as done. They are those of all packages that
    /// are checked: from now on trees of others are made in parts.
    pub fn grow(&self, files: &[FileId], progress: &Progress) {
        self.checked.get_or_init(|| files.iter().copied().collect());
        files.par_iter().for_each(|&file| {
            self.parsed(file);
            progress.done.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// The tree of a file, with the note on it.
    pub fn parsed(&self, file: FileId) -> &Parsed {
        let file = file.0 as usize;
        self.cells[file].whole.get_or_init(|| parse_file(&self.snapshot.files[file]))
    }

    /// What straggler itself failed at so far.
    pub fn failures(&self) -> impl Iterator<Item = &Note> {
        let notes = self.cells.iter().filter_map(|made| made.whole.get()?.1.as_ref());
        notes.filter(|note| note.kind.is_failure())
    }

    /// What was made, for another run.
    pub fn into_known(self) -> Known {
        let is_made = |made: &Made| made.whole.get().is_some() || made.lazy.get().is_some();
        let made = self.snapshot.files.iter().zip(self.cells).filter(|(_, made)| is_made(made));
        made.map(|(file, made)| (file.path.clone(), (file.text.clone(), made))).collect()
    }
}

impl Trees for Forest<'_> {
    fn tree(&self, file: FileId) -> Tree {
        if self.checked.get().is_none_or(|checked| checked.contains(&file)) {
            return Tree::Whole(Arc::clone(&self.parsed(file).0));
        }
        let place = file.0 as usize;
        let lazy = || Arc::new(LazyFile::new(self.snapshot.files[place].text.clone()));
        Tree::Lazy(Arc::clone(self.cells[place].lazy.get_or_init(lazy)))
    }
}

fn parse_file(file: &SourceFile) -> Parsed {
    match guard::run(|| syntax::parse(file.text.clone())) {
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
