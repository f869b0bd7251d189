//! Why a declaration does not parse, as far as its tokens tell: what is never closed. The grammar
//! blames what comes after it, which may be the whole rest of the text.

use crate::source::Span;
use crate::syntax::SyntaxError;
use crate::syntax::lex::{Lexer, Tok};

/// The strings, comments and brackets of a declaration that are never closed, and the brackets that
/// close nothing.
pub(super) fn causes(bytes: &[u8], within: Span) -> Vec<SyntaxError> {
    let mut lexer = Lexer::new(&bytes[..within.end as usize], within.start);
    // What is in an unterminated string is lost to the count of brackets.
    let mut unterminated = Vec::new();
    let mut unbalanced = Vec::new();
    let mut report = |span: Span, message: String| unbalanced.push(SyntaxError { span, message });
    let mut open: Vec<(u8, Span)> = Vec::new();
    loop {
        let token = lexer.next();
        let span = Span::new(token.start, token.end);
        let text = &bytes[token.start as usize..token.end as usize];
        match (token.tok, text) {
            (Tok::End, _) => break,
            (Tok::Literal, [quote @ (b'"' | b'`'), rest @ ..]) if rest.last() != Some(quote) => {
                unterminated.push((span, "string not terminated"));
            }
            (Tok::Literal, [b'\'', rest @ ..]) if rest.last() != Some(&b'\'') => {
                unterminated.push((span, "rune literal not terminated"));
            }
            (Tok::Comment, [b'/', b'*', rest @ ..]) if !rest.ends_with(b"*/") => {
                unterminated.push((span, "comment not terminated"));
            }
            (Tok::Open(bracket), _) => open.push((bracket, span)),
            (Tok::Close(bracket), _) => {
                let opener = match bracket {
                    b')' => b'(',
                    b']' => b'[',
                    _ => b'{',
                };
                // A bracket without a partner inside does not reach out of the braces around it.
                let reach = match opener {
                    b'{' => 0,
                    _ => open.iter().rposition(|&(other, _)| other == b'{').unwrap_or(0),
                };
                match open[reach..].iter().rposition(|&(other, _)| other == opener) {
                    Some(at) => {
                        for (other, span) in open.drain(reach + at..).skip(1) {
                            report(span, never_closed(other));
                        }
                    }
                    None => {
                        report(span, format!("syntax error: unexpected `{}`", bracket as char));
                    }
                }
            }
            _ => {}
        }
    }
    for (bracket, span) in open {
        report(span, never_closed(bracket));
    }
    if unterminated.is_empty() {
        return unbalanced;
    }
    let error = |(span, message): (Span, &str)| SyntaxError { span, message: message.to_string() };
    unterminated.into_iter().map(error).collect()
}

fn never_closed(bracket: u8) -> String {
    format!("syntax error: `{}` is never closed", bracket as char)
}
