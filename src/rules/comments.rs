//! What people write above and behind a line.

use crate::source::Span;
use crate::syntax::File;

/// The text of the comment right above a line.
pub fn above(file: &File, line: u32) -> String {
    let mut text = String::new();
    let mut below = line;
    for comment in file.comments.iter().rev() {
        let first = file.source.line(comment.start);
        let last = file.source.line(comment.end.max(1) - 1);
        if first >= line || !stands_alone(file, *comment) {
            continue;
        }
        if last + 1 != below {
            break;
        }
        below = first;
        text.insert(0, ' ');
        text.insert_str(0, &file.source.text(*comment));
    }
    text
}

/// The text of the comment at the end of a line.
pub fn behind(file: &File, line: u32) -> String {
    let mut comments = file.comments.iter();
    let behind = comments
        .find(|&&comment| file.source.line(comment.start) == line && !stands_alone(file, comment));
    behind.map(|comment| file.source.text(*comment).into_owned()).unwrap_or_default()
}

/// Whether nothing stands before a comment on its line.
fn stands_alone(file: &File, comment: Span) -> bool {
    let line = file.source.line_span(file.source.line(comment.start));
    line.is_some_and(|line| {
        file.source.text(Span::new(line.start, comment.start)).trim().is_empty()
    })
}

/// Whether the comment right above a line, or at its end, says that what stands there is meant, and leaves
/// nothing open.
pub fn say_it_is_meant(file: &File, line: u32) -> bool {
    let text = (above(file, line) + &behind(file, line)).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    says(&["intentional", "deliberate", "on purpose", "by design"])
        && !says(&["todo", "fixme", "xxx"])
}
