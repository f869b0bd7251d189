//! Makes visible what would otherwise steer a terminal, reorder a line, or be no text at all.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` on one physical line, as it may stand in a path or a message: control characters,
/// line separators, bidirectional controls and other characters without a shape are written as
/// escapes.
pub fn in_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut visible = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => visible.push_str("\\n"),
            '\r' => visible.push_str("\\r"),
            '\t' => visible.push_str("\\t"),
            c if !is_hidden(c) => visible.push(c),
            c if (c as u32) < 0x80 => {
                let _ = write!(visible, "\\x{:02x}", c as u32);
            }
            c => push_code_point(&mut visible, c),
        }
    }
    Cow::Owned(visible)
}

/// Appends a character of an excerpt of source to `out`: ASCII control characters as their
/// pictures (U+2400 and following), other hidden ones as escapes. Tabs are kept.
pub fn push_excerpt(out: &mut String, c: char) {
    match c {
        '\t' => out.push('\t'),
        '\u{7f}' => out.push('\u{2421}'),
        c if (c as u32) < 0x20 => {
            let picture =
                char::from_u32(0x2400 + c as u32).expect("U+2400 to U+241F are characters");
            out.push(picture);
        }
        c if is_hidden(c) => push_code_point(out, c),
        c => out.push(c),
    }
}

/// Whether `c` has no shape of its own, or changes how its neighbours are shown.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

fn push_code_point(out: &mut String, c: char) {
    let _ = write!(out, "\\u{{{:x}}}", c as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(
            in_line("a\x1b[31m\nb\u{202e}\u{85}\u{2028}é"),
            "a\\x1b[31m\\nb\\u{202e}\\u{85}\\u{2028}é"
        );
        assert!(matches!(in_line("internal/watch/watch.go"), Cow::Borrowed(_)));
    }
}
