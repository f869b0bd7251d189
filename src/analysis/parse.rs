//! The first phase: every file to its tree, and a note on each that is not Go as it should be.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rayon::prelude::*;

use crate::analysis::{Progress, guard, internal_error};
use crate::diagnostic::{Note, NoteKind};
use crate::project::{Snapshot, SourceFile};
use crate::source::SourceText;
use crate::syntax::{self, File};

/// The trees of all files of the run, in their order, and the notes.
pub fn parse(snapshot: &Snapshot, progress: &Progress) -> (Vec<Arc<File>>, Vec<Note>) {
    let parsed: Vec<(Arc<File>, Option<Note>)> = snapshot
        .files
        .par_iter()
        .map(|file| {
            let parsed = parse_file(file);
            progress.done.fetch_add(1, Ordering::Relaxed);
            parsed
        })
        .collect();
    let (trees, notes): (Vec<_>, Vec<_>) = parsed.into_iter().unzip();
    (trees, notes.into_iter().flatten().collect())
}

fn parse_file(file: &SourceFile) -> (Arc<File>, Option<Note>) {
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
