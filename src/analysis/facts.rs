//! What is to be known of a file besides what is found in it: little, so that it can be kept where
//! its tree is not.

use std::sync::OnceLock;

use super::suppress::Directives;
use super::trees::{Forest, Parsed};
use crate::diagnostic::Note;
use crate::project::Snapshot;
use crate::source::FileId;

/// What is to be known of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Whether it says that it is generated.
    pub generated: bool,
    /// What is wrong with it.
    pub note: Option<Note>,
    /// What its comments say to suppress.
    pub directives: Directives,
}

impl FileFacts {
    fn of((tree, note): &Parsed) -> FileFacts {
        FileFacts {
            generated: tree.generated,
            note: note.clone(),
            directives: Directives::of(tree),
        }
    }
}

/// The facts of all files of a run.
pub struct Facts<'s> {
    snapshot: &'s Snapshot,
    forest: &'s Forest<'s>,
    cells: Vec<OnceLock<FileFacts>>,
    nothing: Directives,
}

impl<'s> Facts<'s> {
    /// Those of the files of `snapshot`, seen in their trees when they are asked for.
    pub fn new(snapshot: &'s Snapshot, forest: &'s Forest<'s>) -> Facts<'s> {
        let cells = snapshot.files.iter().map(|_| OnceLock::new()).collect();
        Facts { snapshot, forest, cells, nothing: Directives::default() }
    }

    /// Those of a file. A generated one is not parsed for it, unless it says what to suppress.
    pub fn of(&self, file: FileId) -> &FileFacts {
        let place = file.0 as usize;
        self.cells[place].get_or_init(|| {
            let is_silent = || !Directives::may_be_in(&self.snapshot.files[place].text);
            match self.forest.is_generated(file) && is_silent() {
                true => FileFacts { generated: true, ..FileFacts::default() },
                false => FileFacts::of(self.forest.parsed(file)),
            }
        })
    }

    /// Takes what another run has seen in the same file.
    pub fn learn(&self, file: FileId, facts: FileFacts) {
        // Whoever came first has told the same.
        let _ = self.cells[file.0 as usize].set(facts);
    }

    /// What the comments of a file of the run say to suppress. A file whose text can say nothing of
    /// the kind is not parsed for it.
    pub fn directives(&self, file: FileId) -> &Directives {
        let place = file.0 as usize;
        if let Some(facts) = self.cells[place].get() {
            return &facts.directives;
        }
        match Directives::may_be_in(&self.snapshot.files[place].text) {
            true => &self.of(file).directives,
            false => &self.nothing,
        }
    }
}
