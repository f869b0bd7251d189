//! Lines and columns as editors count them, which is not quite as Go does: from 0, a lone carriage
//! return ends a line too, and columns are in the units that editor and server agreed on.

use super::Span;

/// The units of an editor's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units.
    Utf16,
}

/// A line and column of an editor, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditorPosition {
    /// The line.
    pub line: u32,
    /// Units before it on the line.
    pub column: u32,
}

/// Where an editor sees the lines of a text start.
#[derive(Clone, Debug)]
pub struct EditorLines {
    /// Offset of the first byte of each line; never empty.
    starts: Vec<u32>,
}

impl EditorLines {
    /// The lines of `text`, which is shorter than 4 GiB.
    pub fn new(text: &[u8]) -> EditorLines {
        let mut starts = vec![0];
        for at in memchr::memchr2_iter(b'\n', b'\r', text) {
            if text[at] == b'\n' || text.get(at + 1) != Some(&b'\n') {
                starts.push(at as u32 + 1);
            }
        }
        EditorLines { starts }
    }

    /// The place of the byte at `offset` of `text`, or of the text's end if it is past it.
    pub fn position(&self, text: &[u8], offset: u32, encoding: Encoding) -> EditorPosition {
        let offset = offset.min(text.len() as u32);
        let line = self.starts.partition_point(|&start| start <= offset) - 1;
        let before = &text[self.starts[line] as usize..offset as usize];
        let column = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => String::from_utf8_lossy(before).encode_utf16().count(),
        };
        EditorPosition { line: line as u32, column: column as u32 }
    }

    /// The offset of a place. A column past the line's end is the line's end, before what ends it;
    /// a line past the last one is the text's end; a column within a character is its start.
    pub fn offset(&self, text: &[u8], position: EditorPosition, encoding: Encoding) -> u32 {
        let Some(&start) = self.starts.get(position.line as usize) else {
            return text.len() as u32;
        };
        let line = self.line(text, position.line, start);
        let wanted = position.column as usize;
        let mut column = 0;
        let mut offset = 0;
        for chunk in line.utf8_chunks() {
            for c in chunk.valid().chars() {
                let units = match encoding {
                    Encoding::Utf8 => c.len_utf8(),
                    Encoding::Utf16 => c.len_utf16(),
                };
                if column + units > wanted {
                    return start + offset as u32;
                }
                column += units;
                offset += c.len_utf8();
            }
            // What is no text is one replacement character to an editor.
            let units = match encoding {
                Encoding::Utf8 => chunk.invalid().len(),
                Encoding::Utf16 => usize::from(!chunk.invalid().is_empty()),
            };
            if column + units > wanted {
                return start + offset as u32;
            }
            column += units;
            offset += chunk.invalid().len();
        }
        start + offset as u32
    }

    /// A line's bytes without what ends it.
    fn line<'t>(&self, text: &'t [u8], line: u32, start: u32) -> &'t [u8] {
        let next = self.starts.get(line as usize + 1).copied();
        let span = Span::new(start, next.unwrap_or(text.len() as u32));
        let bytes = &text[span.start as usize..span.end as usize];
        match next {
            Some(_) => bytes.strip_suffix(b"\r\n").unwrap_or(&bytes[..bytes.len() - 1]),
            None => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the place of each byte that starts a character, and the way back.
    fn check(text: &str, encoding: Encoding, expected: &[(u32, u32)]) {
        let lines = EditorLines::new(text.as_bytes());
        let offsets = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let places: Vec<(u32, u32)> = offsets
            .map(|at| {
                let place = lines.position(text.as_bytes(), at as u32, encoding);
                let inside_ending = text[..at].ends_with('\r') && text[at..].starts_with('\n');
                if !inside_ending {
                    assert_eq!(lines.offset(text.as_bytes(), place, encoding), at as u32);
                }
                (place.line, place.column)
            })
            .collect();
        assert_eq!(places, expected);
    }

    #[test]
    fn every_ending_ends_a_line() {
        check(
            "a\r\nb\rc\n",
            Encoding::Utf8,
            &[(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0)],
        );
        check("", Encoding::Utf16, &[(0, 0)]);
    }

    #[test]
    fn columns_are_in_the_units_agreed_on() {
        check("é𝄞x", Encoding::Utf8, &[(0, 0), (0, 2), (0, 6), (0, 7)]);
        check("é𝄞x", Encoding::Utf16, &[(0, 0), (0, 1), (0, 3), (0, 4)]);
    }

    #[test]
    fn places_outside_the_text_are_moved_into_it() {
        let text = "a𝄞\r\nb".as_bytes();
        let lines = EditorLines::new(text);
        let offset =
            |line, column| lines.offset(text, EditorPosition { line, column }, Encoding::Utf16);
        assert_eq!(offset(0, 2), 1);
        assert_eq!(offset(0, 99), 5);
        assert_eq!(offset(1, 99), 8);
        assert_eq!(offset(7, 0), 8);
        assert_eq!(offset(u32::MAX, u32::MAX), 8);
        let end = lines.position(text, u32::MAX, Encoding::Utf16);
        assert_eq!(end, EditorPosition { line: 1, column: 1 });
    }
}
