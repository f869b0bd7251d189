//! A text with parts cut out, and where what is left of it stood. What a parser need not see costs
//! it nothing.

use crate::source::Span;

/// What is left of a text.
pub(super) struct Excerpt {
    pub text: Vec<u8>,
    /// The pieces that are left, in order: where each starts in `text`, and how far before its place
    /// that is.
    pieces: Vec<(u32, u32)>,
}

impl Excerpt {
    /// What stands in `kept`, each of them with a line end behind it, and not in `cuts`. Both are in
    /// order, and no cut goes beyond what is kept around its start.
    pub fn new(bytes: &[u8], kept: &[Span], cuts: impl IntoIterator<Item = Span>) -> Excerpt {
        let mut excerpt = Excerpt { text: Vec::new(), pieces: Vec::new() };
        let mut cuts = cuts.into_iter().peekable();
        for &Span { start, end } in kept {
            let mut taken = start;
            while let Some(cut) = cuts.next_if(|cut| cut.start < end) {
                // One cut may stand in another.
                if cut.start >= taken {
                    excerpt.take(bytes, Span::new(taken, cut.start));
                    taken = cut.end;
                }
            }
            excerpt.take(bytes, Span::new(taken, end.max(taken)));
            excerpt.text.push(b'\n');
        }
        excerpt
    }

    fn take(&mut self, bytes: &[u8], piece: Span) {
        let start = self.text.len() as u32;
        self.pieces.push((start, piece.start - start));
        self.text.extend_from_slice(&bytes[piece.start as usize..piece.end as usize]);
    }

    /// Where a part of the text that is left stood.
    pub fn place(&self, start: u32, end: u32) -> Span {
        let start = self.start(start);
        // What ends where something was cut out ends before that.
        let end = end.checked_sub(1).map_or(start, |last| self.start(last) + 1);
        Span::new(start, end.max(start))
    }

    fn start(&self, at: u32) -> u32 {
        let before = self.pieces.partition_point(|&(start, _)| start <= at);
        before.checked_sub(1).map_or(at, |piece| at + self.pieces[piece].1)
    }
}
