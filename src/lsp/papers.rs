//! Texts that a client shows as documents: the pages of rules, and how a finding comes about.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Writes a document of a name where the client can read it, and gives its path if it can be written.
pub type Write = Box<dyn FnMut(&str, &str) -> Option<PathBuf> + Send>;

/// What was written, or could not be.
pub struct Papers {
    write: Write,
    known: BTreeMap<String, Option<PathBuf>>,
}

impl Papers {
    /// None yet.
    pub fn new(write: Write) -> Papers {
        Papers { write, known: BTreeMap::new() }
    }

    /// The file of the document `name`, which is written once with what `text` gives. `None` if it
    /// cannot be.
    pub fn file(&mut self, name: &str, text: impl FnOnce() -> String) -> Option<PathBuf> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let file = (self.write)(name, &text());
        self.known.insert(name.to_owned(), file.clone());
        file
    }
}
