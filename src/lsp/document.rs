//! What is open in the editor.

use std::path::PathBuf;

use gen_lsp_types::{Position, Range, TextDocumentContentChangeEvent as Change};

use crate::source::{EditorLines, EditorPosition, Encoding};

/// A file that is open in the editor, which alone knows its text from then on.
#[derive(Debug)]
pub struct Document {
    /// Its URI, as the client spells it.
    pub uri: String,
    /// Its path.
    pub path: PathBuf,
    /// The client's number of its text.
    pub version: i32,
    /// Its text.
    pub text: String,
    /// Whether nothing was typed since it was opened or saved.
    pub saved: bool,
    /// The root of the run that speaks of it, if one does.
    pub root: Option<PathBuf>,
}

impl Document {
    /// Does what the user has done, in the order given. What lies outside the text is moved into
    /// it.
    pub fn change(&mut self, version: i32, changes: Vec<Change>, encoding: Encoding) {
        (self.version, self.saved) = (version, false);
        for change in changes {
            match change {
                Change::TextDocumentContentChangeWholeDocument(whole) => self.text = whole.text,
                Change::TextDocumentContentChangePartial(part) => {
                    let (start, end) = self.offsets(part.range, encoding);
                    self.text.replace_range(start..end, &part.text);
                }
            }
        }
    }

    /// The byte at a place.
    pub fn offset(&self, at: Position, encoding: Encoding) -> u32 {
        let text = self.text.as_bytes();
        let place = EditorPosition { line: at.line, column: at.character };
        EditorLines::new(text).offset(text, place, encoding)
    }

    /// The bytes of a range, the earlier end first. Both ends are ends of characters.
    fn offsets(&self, range: Range, encoding: Encoding) -> (usize, usize) {
        let lines = EditorLines::new(self.text.as_bytes());
        let offset = |at: Position| {
            let place = EditorPosition { line: at.line, column: at.character };
            lines.offset(self.text.as_bytes(), place, encoding) as usize
        };
        let (start, end) = (offset(range.start), offset(range.end));
        (start.min(end), start.max(end))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An edit as it comes from a client: from one line and column to another.
    fn edit(start: [u32; 2], end: [u32; 2], text: &str) -> Change {
        let position =
            |[line, character]: [u32; 2]| json!({ "line": line, "character": character });
        let range = json!({ "start": position(start), "end": position(end) });
        serde_json::from_value(json!({ "range": range, "text": text })).expect("an edit")
    }

    fn check(text: &str, edits: Vec<Change>, expected: &str) {
        let mut document = Document {
            uri: String::new(),
            path: PathBuf::new(),
            version: 1,
            text: text.to_owned(),
            saved: true,
            root: None,
        };
        document.change(2, edits, Encoding::Utf16);
        assert_eq!((document.text.as_str(), document.version), (expected, 2));
    }

    #[test]
    fn edits_follow_each_other() {
        let edits = vec![edit([1, 0], [1, 1], "c\nd"), edit([2, 1], [2, 1], "!")];
        check("a\nb\n", edits, "a\nc\nd!\n");
    }

    #[test]
    fn edits_outside_the_text_and_within_characters() {
        check("𝄞x", vec![edit([0, 1], [0, 2], "")], "x");
        check("ab", vec![edit([0, 2], [0, 1], "c")], "ac");
        check("ab", vec![edit([9, 9], [99, 0], "c")], "abc");
        check("", vec![edit([u32::MAX, u32::MAX], [0, 0], "c")], "c");
    }
}
