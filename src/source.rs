//! Text and places in it: bytes of a file, byte spans, and the translation of an offset into the
//! lines and columns that people and editors speak of.
//!
//! This is the only room that translates between offsets and lines. Everything else carries
//! [`Span`]s of bytes. It knows nothing of Go.

mod editor;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use memchr::memmem;
use rustc_hash::FxHashMap;

pub use editor::{EditorLines, EditorPosition, Encoding};

/// A half-open range of bytes of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span of the bytes from `start` up to but not including `end`.
    pub fn new(start: u32, end: u32) -> Span {
        debug_assert!(start <= end);
        Span { start, end }
    }

    /// Whether `other` lies within this span.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether the byte at `offset` lies within this span.
    pub fn contains_offset(self, offset: u32) -> bool {
        self.start <= offset && offset < self.end
    }

    /// The smallest span that holds both.
    pub fn cover(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// A file of a run: an index into the snapshot's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A place in a file of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The file.
    pub file: FileId,
    /// The bytes of it.
    pub span: Span,
}

/// A line and column as shown to people: both start at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1. Lines end with `\n` alone, as for Go's `token.Position`.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// Column in UTF-16 code units, from 1. Bytes that are not UTF-8 count one unit for each
    /// replacement character that a lossy decoder makes of them.
    pub column_utf16: u32,
}

/// The bytes of one file and where its lines start. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SourceText {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    bytes: Vec<u8>,
    /// Offset of the first byte of each line, once somebody has asked; never empty.
    line_starts: OnceLock<Box<[u32]>>,
    /// Whether all of it is UTF-8, once somebody has asked.
    is_utf8: OnceLock<bool>,
    /// Which words stand in it, of those that somebody has asked for.
    words: RwLock<FxHashMap<Box<str>, bool>>,
}

/// Equal bytes.
impl PartialEq for SourceText {
    fn eq(&self, other: &SourceText) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner) || self.inner.bytes == other.inner.bytes
    }
}

impl Eq for SourceText {}

impl SourceText {
    /// Takes the bytes of a file. Files of 4 GiB and more are not representable: the caller
    /// refuses them before (`project` has a far lower limit).
    pub fn new(bytes: Vec<u8>) -> SourceText {
        assert!(u32::try_from(bytes.len()).is_ok(), "files are limited far below 4 GiB");
        let (line_starts, is_utf8) = (OnceLock::new(), OnceLock::new());
        let words = RwLock::default();
        SourceText { inner: Arc::new(Inner { bytes, line_starts, is_utf8, words }) }
    }

    fn line_starts(&self) -> &[u32] {
        self.inner.line_starts.get_or_init(|| {
            let mut starts = vec![0];
            starts.extend(memchr::memchr_iter(b'\n', self.bytes()).map(|at| at as u32 + 1));
            starts.into_boxed_slice()
        })
    }

    /// All bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.inner.bytes
    }

    /// The bytes of `span`, cut to the file's end.
    pub fn slice(&self, span: Span) -> &[u8] {
        let end = (span.end as usize).min(self.inner.bytes.len());
        &self.inner.bytes[(span.start as usize).min(end)..end]
    }

    /// The text of `span`, with U+FFFD for what is not UTF-8.
    pub fn text(&self, span: Span) -> Cow<'_, str> {
        String::from_utf8_lossy(self.slice(span))
    }

    /// Whether `word` stands in `span`, as a part of a longer word too. The whole file is looked through
    /// once for each word, since what a part is asked for most files do not hold at all.
    pub fn holds(&self, span: Span, word: &str) -> bool {
        self.holds_anywhere(word) && memmem::find(self.slice(span), word.as_bytes()).is_some()
    }

    /// As [`SourceText::holds`], in the whole file.
    pub fn holds_anywhere(&self, word: &str) -> bool {
        let words = &self.inner.words;
        let known = words.read().unwrap_or_else(PoisonError::into_inner).get(word).copied();
        known.unwrap_or_else(|| {
            let holds = memmem::find(self.bytes(), word.as_bytes()).is_some();
            words.write().unwrap_or_else(PoisonError::into_inner).insert(word.into(), holds);
            holds
        })
    }

    /// Whether the bytes of `span` are UTF-8.
    pub fn is_utf8(&self, span: Span) -> bool {
        let bytes = self.bytes();
        let whole = || std::str::from_utf8(bytes).is_ok();
        // A character may be cut at both ends.
        let is_cut = |at: u32| bytes.get(at as usize).is_some_and(|byte| byte & 0xc0 == 0x80);
        let is_whole = *self.inner.is_utf8.get_or_init(whole);
        is_whole && !is_cut(span.start) && !is_cut(span.end)
            || std::str::from_utf8(self.slice(span)).is_ok()
    }

    /// Number of lines; a file that ends with `\n` has an empty last line.
    pub fn line_count(&self) -> u32 {
        self.line_starts().len() as u32
    }

    /// Line (from 1) of the byte at `offset`; an offset past the end is on the last line.
    pub fn line(&self, offset: u32) -> u32 {
        self.line_starts().partition_point(|&start| start <= offset) as u32
    }

    /// Line and columns of the byte at `offset`.
    pub fn position(&self, offset: u32) -> Position {
        let offset = offset.min(self.inner.bytes.len() as u32);
        let line = self.line(offset);
        let start = self.line_starts()[line as usize - 1];
        let before = self.text(Span::new(start, offset));
        Position {
            line,
            column: offset - start + 1,
            column_utf16: before.encode_utf16().count() as u32 + 1,
        }
    }

    /// The bytes of a line (from 1) without its line ending; `None` past the last line.
    pub fn line_span(&self, line: u32) -> Option<Span> {
        let start = *self.line_starts().get(line.checked_sub(1)? as usize)?;
        let next = self.line_starts().get(line as usize).copied();
        let mut end = next.map_or(self.inner.bytes.len() as u32, |next| next - 1);
        if end > start && self.inner.bytes[end as usize - 1] == b'\r' {
            end -= 1;
        }
        Some(Span::new(start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_bytes_and_utf16_units() {
        let text = SourceText::new("a\r\né𝄞x\n".as_bytes().to_vec());
        let x = text.bytes().iter().position(|&b| b == b'x').expect("an x") as u32;
        assert_eq!(text.position(x), Position { line: 2, column: 7, column_utf16: 4 });
        assert_eq!(text.line_span(1), Some(Span::new(0, 1)));
        assert_eq!(text.line_count(), 3);
        assert_eq!(text.position(u32::MAX).line, 3);
    }
}
