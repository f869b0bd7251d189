//! A text with parts cut out, and where what is left of it stood. What a parser need not see costs
//! it nothing.

use std::cmp::Reverse;

use crate::source::Span;
use crate::syntax::outline::Outline;

/// What is left of a text.
pub(super) struct Excerpt {
    pub text: Vec<u8>,
    /// The ends of what was cut out, in order: where it would be in `text`, and how much was cut
    /// out up to there.
    cuts: Vec<(u32, u32)>,
}

impl Excerpt {
    /// A file without what stands between the braces of its functions, and without the comments that
    /// go on to the end of their line; those that do not may be all that keeps two words apart.
    pub fn of_declarations(bytes: &[u8], outline: &Outline) -> Excerpt {
        let mut excerpt = Excerpt { text: Vec::with_capacity(bytes.len() / 2), cuts: Vec::new() };
        let comments = outline.comments.iter().copied();
        let comments = comments.filter(|comment| bytes[comment.start as usize + 1] == b'/');
        let insides = outline.decls.iter().filter_map(|decl| inside(decl.body?, bytes));
        let mut cuts: Vec<Span> = comments.chain(insides).collect();
        cuts.sort_unstable_by_key(|cut| (cut.start, Reverse(cut.end)));
        let mut taken = 0;
        for cut in cuts {
            // What stands in a body is cut out with it.
            if cut.start >= taken {
                taken = excerpt.cut(bytes, taken, cut);
            }
        }
        excerpt.text.extend_from_slice(&bytes[taken as usize..]);
        excerpt
    }

    /// Takes what stands from `taken` on and leaves out `cut`; gives its end.
    fn cut(&mut self, bytes: &[u8], taken: u32, cut: Span) -> u32 {
        self.text.extend_from_slice(&bytes[taken as usize..cut.start as usize]);
        self.cuts.push((self.text.len() as u32, cut.end - self.text.len() as u32));
        cut.end
    }

    /// Where a part of the text that is left stood.
    pub fn place(&self, start: u32, end: u32) -> Span {
        let start = self.start(start);
        // What ends where something was cut out ends before that.
        let end = end.checked_sub(1).map_or(start, |last| self.start(last) + 1);
        Span::new(start, end.max(start))
    }

    fn start(&self, at: u32) -> u32 {
        let before = self.cuts.partition_point(|&(place, _)| place <= at);
        before.checked_sub(1).map_or(at, |cut| at + self.cuts[cut].1)
    }
}

/// What stands between the braces of a body; the last byte of one that is not closed is no brace.
fn inside(body: Span, bytes: &[u8]) -> Option<Span> {
    let is_closed = body.end - body.start > 1 && bytes[body.end as usize - 1] == b'}';
    is_closed.then(|| Span::new(body.start + 1, body.end - 1))
}
