//! The tokens of Go, exactly and no more: where each starts and ends, which it is as far as the
//! outline and the masks ask, and the semicolons that Go inserts at line ends. Any bytes have
//! tokens; what Go would refuse (an unterminated string) ends where the line does.

use crate::source::Span;

/// What a token is. Operators that nobody asks for are all [`Tok::Op`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tok {
    Name,
    Keyword(Keyword),
    /// A number, rune or string.
    Literal,
    /// `(`, `[`, `{`.
    Open(u8),
    /// `)`, `]`, `}`.
    Close(u8),
    Comma,
    Colon,
    Dot,
    Star,
    /// `<-`
    Arrow,
    /// `=` and `op=`.
    Assign,
    /// `:=`
    Define,
    /// `++`, `--`: the operators after which a line end is a semicolon.
    IncDec,
    Op,
    /// Written, or inserted at a line end: then it is empty.
    Semicolon,
    /// No part of the grammar, but people point at it and the file keeps it.
    Comment,
    End,
}

macro_rules! keywords {
    ($($keyword:ident $text:literal,)*) => {
        /// The keywords of Go.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Keyword { $($keyword,)* }

        fn keyword(word: &[u8]) -> Option<Keyword> {
            match word {
                $($text => Some(Keyword::$keyword),)*
                _ => None,
            }
        }
    };
}

keywords! {
    Break b"break", Case b"case", Chan b"chan", Const b"const", Continue b"continue",
    Default b"default", Defer b"defer", Else b"else", Fallthrough b"fallthrough", For b"for",
    Func b"func", Go b"go", Goto b"goto", If b"if", Import b"import", Interface b"interface",
    Map b"map", Package b"package", Range b"range", Return b"return", Select b"select",
    Struct b"struct", Switch b"switch", Type b"type", Var b"var",
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) tok: Tok,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// A place between two tokens.
#[derive(Clone, Copy)]
pub(super) struct Place {
    at: usize,
    ends_statement: bool,
}

/// The bytes that decide where a body ends.
const MATTERS: [bool; 256] = {
    let mut matters = [false; 256];
    let mut bytes: &[u8] = b"()[]{}\"'`/";
    while let [byte, rest @ ..] = bytes {
        matters[*byte as usize] = true;
        bytes = rest;
    }
    matters
};

/// Gives the tokens one after the other, [`Tok::End`] for ever at the end.
pub(super) struct Lexer<'t> {
    text: &'t [u8],
    at: usize,
    /// Whether a line end here is a semicolon.
    ends_statement: bool,
    /// Whether a raw string or comment without an end takes its line and not all that follows.
    ends_with_lines: bool,
}

impl<'t> Lexer<'t> {
    /// The tokens of `text` from `at` on, which must not be inside one.
    pub(super) fn new(text: &'t [u8], at: u32) -> Lexer<'t> {
        let bom = b"\xEF\xBB\xBF";
        let at = if at == 0 && text.starts_with(bom) { bom.len() } else { at as usize };
        Lexer { text, at, ends_statement: false, ends_with_lines: false }
    }

    /// From here on, a raw string or comment that is never closed ends with its line.
    pub(super) fn end_with_lines(&mut self) {
        self.ends_with_lines = true;
    }

    pub(super) fn place(&self) -> Place {
        Place { at: self.at, ends_statement: self.ends_statement }
    }

    pub(super) fn go_back(&mut self, place: Place) {
        self.at = place.at;
        self.ends_statement = place.ends_statement;
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.scan();
        self.ends_statement = match token.tok {
            Tok::Comment => return token,
            Tok::Name | Tok::Literal | Tok::Close(_) | Tok::IncDec => true,
            Tok::Keyword(keyword) => matches!(
                keyword,
                Keyword::Break | Keyword::Continue | Keyword::Fallthrough | Keyword::Return
            ),
            _ => false,
        };
        token
    }

    /// Behind a brace that opens the body of a function, goes on behind the one that closes it and gives
    /// its place, and puts the comments inside with `comments`: what `next` would do token by token, in a
    /// fraction of the time. `None`, and nothing done, where the brackets inside do not match.
    pub(super) fn pass_body(&mut self, comments: &mut Vec<Span>) -> Option<u32> {
        let known = comments.len();
        let end = self.body_end(comments);
        match end {
            Some(end) => {
                self.at = end;
                self.ends_statement = true;
            }
            None => comments.truncate(known),
        }
        end.map(|end| end as u32)
    }

    fn body_end(&self, comments: &mut Vec<Span>) -> Option<usize> {
        let mut open = vec![b'}'];
        let mut at = self.at;
        loop {
            at += self.text[at..].iter().position(|&byte| MATTERS[usize::from(byte)])?;
            let byte = self.text[at];
            at = match byte {
                b'(' | b'[' | b'{' => {
                    open.push(if byte == b'(' { b')' } else { byte + 2 });
                    at + 1
                }
                b'"' | b'\'' => self.quoted_end(at, byte),
                b'`' => at + memchr::memchr(b'`', &self.text[at + 1..])? + 2,
                b'/' if matches!(self.text.get(at + 1), Some(b'/' | b'*')) => {
                    let end = self.comment_end(at);
                    comments.push(Span::new(at as u32, end as u32));
                    end
                }
                b'/' => at + 1,
                _ if open.pop() != Some(byte) => return None,
                _ if open.is_empty() => return Some(at + 1),
                _ => at + 1,
            };
        }
    }

    fn scan(&mut self) -> Token {
        loop {
            let start = self.at;
            let Some(&byte) = self.text.get(start) else {
                let tok = if self.ends_statement { Tok::Semicolon } else { Tok::End };
                return self.token(tok, start, start);
            };
            match byte {
                b'\n' if self.ends_statement => {
                    let token = self.token(Tok::Semicolon, start, start);
                    self.at += 1;
                    return token;
                }
                // NUL is an error of the file, not of a place in its grammar.
                b' ' | b'\t' | b'\r' | b'\n' | 0 => self.at += 1,
                b'/' if matches!(self.peek(1), Some(b'/' | b'*')) => {
                    let end = self.comment_end(start);
                    if self.ends_statement && self.text[start..end].contains(&b'\n') {
                        // The comment itself comes next, and no semicolon after it.
                        return self.token(Tok::Semicolon, start, start);
                    }
                    return self.token(Tok::Comment, start, end);
                }
                _ => {
                    let (tok, end) = self.code(byte, start);
                    return self.token(tok, start, end);
                }
            }
        }
    }

    fn token(&mut self, tok: Tok, start: usize, end: usize) -> Token {
        self.at = end;
        Token { tok, start: start as u32, end: end as u32 }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn code(&self, byte: u8, start: usize) -> (Tok, usize) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => {
                let is_part =
                    |&byte: &u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
                let rest = &self.text[start..];
                let len = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                let tok = keyword(&rest[..len]).map_or(Tok::Name, Tok::Keyword);
                (tok, start + len)
            }
            b'0'..=b'9' => (Tok::Literal, self.number_end(start)),
            b'.' if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => {
                (Tok::Literal, self.number_end(start))
            }
            b'"' | b'\'' => (Tok::Literal, self.quoted_end(start, byte)),
            b'`' => {
                let close = memchr::memchr(b'`', &self.text[start + 1..]);
                (
                    Tok::Literal,
                    close.map_or_else(|| self.unclosed_end(start), |len| start + len + 2),
                )
            }
            b'(' | b'[' | b'{' => (Tok::Open(byte), start + 1),
            b')' | b']' | b'}' => (Tok::Close(byte), start + 1),
            b',' => (Tok::Comma, start + 1),
            b';' => (Tok::Semicolon, start + 1),
            b'.' => (Tok::Dot, start + 1),
            _ => {
                let (tok, len) = operator(&self.text[start..]);
                (tok, start + len)
            }
        }
    }

    fn comment_end(&self, start: usize) -> usize {
        if self.text[start + 1] == b'/' {
            return self.line_end(start);
        }
        let close = memchr::memmem::find(&self.text[start + 2..], b"*/");
        close.map_or_else(|| self.unclosed_end(start), |len| start + len + 4)
    }

    fn unclosed_end(&self, start: usize) -> usize {
        if self.ends_with_lines { self.line_end(start) } else { self.text.len() }
    }

    fn line_end(&self, start: usize) -> usize {
        memchr::memchr(b'\n', &self.text[start..]).map_or(self.text.len(), |len| start + len)
    }

    /// Also takes what no number has: only where it ends matters.
    fn number_end(&self, start: usize) -> usize {
        let is_hex = matches!(self.text.get(start + 1), Some(b'x' | b'X'));
        let exponent = if is_hex { b"pP" } else { b"eE" };
        let mut at = start + 1;
        while let Some(&byte) = self.text.get(at) {
            let is_sign = matches!(byte, b'+' | b'-') && exponent.contains(&self.text[at - 1]);
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || is_sign) {
                break;
            }
            at += 1;
        }
        at
    }

    /// Strings and runes end at their quote or with their line.
    fn quoted_end(&self, start: usize, quote: u8) -> usize {
        let mut at = start + 1;
        while let Some(found) = memchr::memchr3(quote, b'\\', b'\n', &self.text[at..]) {
            at += found;
            match (self.text[at], self.text.get(at + 1)) {
                (b'\n', _) => return at,
                (b'\\', None | Some(b'\n')) => return at + 1,
                (b'\\', Some(_)) => at += 2,
                _ => return at + 1,
            }
        }
        self.text.len()
    }
}

fn operator(text: &[u8]) -> (Tok, usize) {
    match text {
        [b'<', b'-', ..] => (Tok::Arrow, 2),
        [b'<', b'<', b'=', ..] | [b'>', b'>', b'=', ..] | [b'&', b'^', b'=', ..] => {
            (Tok::Assign, 3)
        }
        [b'<', b'<', ..] | [b'>', b'>', ..] | [b'&', b'^', ..] => (Tok::Op, 2),
        [b'&', b'&', ..] | [b'|', b'|', ..] => (Tok::Op, 2),
        [b'=' | b'!' | b'<' | b'>', b'=', ..] => (Tok::Op, 2),
        [b'+', b'+', ..] | [b'-', b'-', ..] => (Tok::IncDec, 2),
        [b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^', b'=', ..] => (Tok::Assign, 2),
        [b':', b'=', ..] => (Tok::Define, 2),
        [b'=', ..] => (Tok::Assign, 1),
        [b':', ..] => (Tok::Colon, 1),
        [b'*', ..] => (Tok::Star, 1),
        _ => (Tok::Op, 1),
    }
}
