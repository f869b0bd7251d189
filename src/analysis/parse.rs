//! The first phase: every file to its tree, and a note on each that is not Go as it should be.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::analysis::{Progress, guard, internal_error};
use crate::diagnostic::{Note, NoteKind};
use crate::project::{Snapshot, SourceFile};
use crate::source::SourceText;
use crate::syntax::{self, File};

/// Trees by path, with the text that they are of and the notes on it.
pub type Trees = FxHashMap<PathBuf, (SourceText, Parsed)>;

type Parsed = (Arc<File>, Option<Note>);

/// The trees of all files of the run, in their order, and the notes. Those that are `known` are
/// taken from there, and afterwards all of these are.
pub fn parse(
    snapshot: &Snapshot,
    progress: &Progress,
    known: &mut Trees,
) -> (Vec<Arc<File>>, Vec<Note>) {
    let parsed: Vec<Parsed> = snapshot
        .files
        .par_iter()
        .map(|file| {
            let same = known.get(&file.path).filter(|(text, _)| *text == file.text);
            let parsed = same.map_or_else(|| parse_file(file), |(_, parsed)| parsed.clone());
            progress.done.fetch_add(1, Ordering::Relaxed);
            parsed
        })
        .collect();
    let texts = snapshot.files.iter().map(|file| (file.path.clone(), file.text.clone()));
    *known =
        texts.zip(&parsed).map(|((path, text), parsed)| (path, (text, parsed.clone()))).collect();
    let (trees, notes): (Vec<_>, Vec<_>) = parsed.into_iter().unzip();
    (trees, notes.into_iter().flatten().collect())
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
