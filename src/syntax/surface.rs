//! The surface of a file: all of it but the bodies of its functions and its comments. As long as the
//! surface of a package is the same, so are the names and types that others see of it. What is
//! below it belongs to one function each.

use crate::source::Span;
use crate::syntax::OutlineKind;
use crate::syntax::lex::{Lexer, Tok};
use crate::syntax::outline::outline_of_places;

/// The comments that say something to the compiler.
const DIRECTIVES: [&[u8]; 3] = [b"//go:", b"//line ", b"//export "];

/// The tokens of a surface, one after the other: two files with equal tokens differ in comments, in white
/// space and in the bodies of functions alone. `None` where not all of `text` is Go, so that nobody can
/// say what belongs to a body.
pub fn surface(text: &[u8]) -> Option<Vec<u8>> {
    let outline = outline_of_places(text);
    if !outline.stray.is_empty() {
        return None;
    }
    let mut surface = Vec::new();
    let mut start = 0;
    for body in outline.decls.iter().filter_map(|decl| decl.body) {
        tokens(&text[..body.start as usize], start, &mut surface);
        surface.extend(b"{}\0");
        start = body.end;
    }
    tokens(text, start, &mut surface);
    Some(surface)
}

/// What belongs to the functions of a file.
pub struct Functions {
    /// The text of all comments, one after the other.
    pub comments: Vec<u8>,
    /// Of each declared function and method, in order of source, where its declaration starts, and the text
    /// that it has for itself: from the end of what is declared before it to the end of its last line.
    pub texts: Vec<(u32, Span)>,
}

/// Those of `text`; `None` as with [`surface`].
pub fn functions(text: &[u8]) -> Option<Functions> {
    let outline = outline_of_places(text);
    if !outline.stray.is_empty() {
        return None;
    }
    let mut functions = Functions { comments: Vec::new(), texts: Vec::new() };
    for comment in &outline.comments {
        functions.comments.extend(&text[comment.start as usize..comment.end as usize]);
        functions.comments.push(b'\n');
    }
    let mut before = 0;
    for decl in &outline.decls {
        if decl.kind == OutlineKind::Func {
            let rest = &text[decl.span.end as usize..];
            let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len()) as u32;
            functions.texts.push((decl.span.start, Span::new(before, decl.span.end + line)));
        }
        before = decl.span.end;
    }
    Some(functions)
}

fn tokens(text: &[u8], start: u32, out: &mut Vec<u8>) {
    let mut lexer = Lexer::new(text, start);
    loop {
        let token = lexer.next();
        let bytes = &text[token.start as usize..token.end as usize];
        match token.tok {
            Tok::End => return,
            Tok::Comment if !DIRECTIVES.iter().any(|start| bytes.starts_with(start)) => {}
            _ => {
                out.extend(bytes);
                out.push(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{functions, surface};

    #[test]
    fn bodies_comments_and_white_space_are_below_it() {
        let one = "package p\n\n// F does.\nfunc F(a int) int { return a }\n\nvar V = 1\n";
        let other = "package p\nfunc F(a   int) int {\n\tgo G()\n\treturn 2 }\nvar V = 1 // one";
        assert_eq!(surface(one.as_bytes()), surface(other.as_bytes()));
    }

    #[test]
    fn declarations_strings_and_directives_are_on_it() {
        let texts = [
            "package p\nvar V = `a b`",
            "package p\nvar V = `a  b`",
            "package p\nvar V = func() { go f() }",
            "package p\nvar V = func() { go g() }",
            "package p\nfunc F(int)\n",
            "package p\nfunc F(int) {}\n",
            "package p\n//go:noinline\nfunc F(int) {}\n",
        ];
        let all: std::collections::BTreeSet<_> =
            texts.iter().map(|text| surface(text.as_bytes())).collect();
        assert_eq!(all.len(), texts.len());
        assert_eq!(surface(b"package p\n}\nfunc F() {}"), None);
    }

    #[test]
    fn functions_have_their_comments() {
        let text = "package p\n\nvar v = 1\n\n// F does.\nfunc F() { /* a */ } // b\nfunc G() {}\n";
        let functions = functions(text.as_bytes()).expect("it is Go");
        let texts: Vec<&str> = functions
            .texts
            .iter()
            .map(|&(start, span)| {
                assert!(text[start as usize..].starts_with("func "));
                &text[span.start as usize..span.end as usize]
            })
            .collect();
        assert_eq!(texts, ["\n\n// F does.\nfunc F() { /* a */ } // b", " // b\nfunc G() {}"]);
        assert_eq!(functions.comments, b"// F does.\n/* a */\n// b\n");
    }
}
