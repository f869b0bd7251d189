//! The trees of the files of a run: each made when somebody asks for it, or beforehand on all
//! threads for the files that are sure to be asked for.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::analysis::{Progress, guard, internal_error};
use crate::diagnostic::{Note, NoteKind};
use crate::index::Trees;
use crate::project::{Snapshot, SourceFile};
use crate::source::{FileId, SourceText};
use crate::syntax::{self, File};

/// Trees by path, with the text that they are of and the notes on it.
pub type Known = FxHashMap<PathBuf, (SourceText, Parsed)>;

/// A tree, and the note on a file that is not Go as it should be.
pub type Parsed = (Arc<File>, Option<Note>);

/// The trees of all files of a run.
pub struct Forest<'s> {
    snapshot: &'s Snapshot,
    cells: Vec<OnceLock<Parsed>>,
}

impl<'s> Forest<'s> {
    /// Those of `snapshot`; what is `known` of them need not be made.
    pub fn new(snapshot: &'s Snapshot, known: &Known) -> Forest<'s> {
        let cell = |file: &Arc<SourceFile>| {
            let same = known.get(&file.path).filter(|(text, _)| *text == file.text);
            same.map_or_else(OnceLock::new, |(_, parsed)| OnceLock::from(parsed.clone()))
        };
        Forest { snapshot, cells: snapshot.files.iter().map(cell).collect() }
    }

    /// Makes the trees of `files`, each of which counts as done.
    pub fn grow(&self, files: &[FileId], progress: &Progress) {
        files.par_iter().for_each(|&file| {
            self.parsed(file);
            progress.done.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// The tree of a file, with the note on it.
    pub fn parsed(&self, file: FileId) -> &Parsed {
        let file = file.0 as usize;
        self.cells[file].get_or_init(|| parse_file(&self.snapshot.files[file]))
    }

    /// What straggler itself failed at so far.
    pub fn failures(&self) -> impl Iterator<Item = &Note> {
        let notes =
            self.cells.iter().filter_map(OnceLock::get).filter_map(|(_, note)| note.as_ref());
        notes.filter(|note| note.kind.is_failure())
    }

    /// What was made, for another run.
    pub fn into_known(self) -> Known {
        let cells = self.cells.into_iter().map(OnceLock::into_inner);
        let made = self.snapshot.files.iter().zip(cells);
        made.filter_map(|(file, parsed)| Some((file.path.clone(), (file.text.clone(), parsed?))))
            .collect()
    }
}

impl Trees for Forest<'_> {
    fn tree(&self, file: FileId) -> Arc<File> {
        Arc::clone(&self.parsed(file).0)
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
