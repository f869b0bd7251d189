//! Ways around what tree-sitter-go 0.25 does not read. Where a declaration does not parse, the
//! places that the grammar is known not to take are overwritten, at equal length, by something of
//! the same shape that it takes; the lowering reads names and places from the true text, so the
//! mask never shows. What a mask hides is parsed by itself.
//!
//! | Go | what the grammar wants | mask |
//! |---|---|---|
//! | `new(x + 1)` (since 1.26), `make(n)` where `make` is another function | a type | another name |
//! | `func (r R) M[T any](x T)` (since 1.27) | no type parameters | spaces; parsed by themselves |
//! | `interface{ M() }.M`, `(struct{ T }).M` | no type literal as an operand | a name; parsed by itself |
//! | `if ; cond {`, `switch ; {` | no empty statement | a space |
//! | `new:`, `continue make` | no label with that name | another name |
//! | `L: M: }` | a statement after the second label | a semicolon |
//! | `const ( F = 1 )` | a semicolon | a semicolon, or no parentheses |
//! | `x := 1 /* two`, `lines */ y := 2` | a semicolon | a semicolon |

use crate::source::Span;
use crate::syntax::lex::{Keyword, Lexer, Tok, Token};

/// A masked text.
pub(super) struct Masked {
    /// The text to parse instead.
    pub(super) text: Vec<u8>,
    /// The type parameters of a method that were hidden, brackets included.
    pub(super) type_params: Option<Span>,
    /// The type literals that were replaced by a name.
    pub(super) types: Vec<Span>,
}

/// The masked text of one declaration; `None` if there is nothing to mask.
pub(super) fn mask(text: &[u8]) -> Option<Masked> {
    let mut masked = Masked { text: text.to_vec(), type_params: None, types: Vec::new() };
    let tokens = Tokens::new(text, &mut masked.text);
    masked.type_params = tokens.method_type_params();
    if let Some(span) = masked.type_params {
        masked.overwrite(span, b' ');
    }
    let mut at = 0;
    while at < tokens.list.len() {
        let token = tokens.list[at];
        let span = Span::new(token.start, token.end);
        match token.tok {
            Tok::Name if tokens.takes_value(text, at) || tokens.is_label(text, at) => {
                masked.text[token.start as usize] = b'_';
            }
            Tok::Keyword(Keyword::If | Keyword::Switch) => {
                if let Tok::Semicolon = tokens.tok(at + 1) {
                    let semicolon = tokens.list[at + 1];
                    masked.overwrite(Span::new(semicolon.start, semicolon.end), b' ');
                }
            }
            Tok::Keyword(Keyword::Struct | Keyword::Interface) => {
                if let Some(close) = tokens.type_operand(at) {
                    let whole = span.cover(Span::new(token.start, tokens.list[close].end));
                    masked.overwrite(whole, b' ');
                    masked.text[token.start as usize] = b'_';
                    masked.types.push(whole);
                    at = close;
                }
            }
            Tok::Keyword(Keyword::Var | Keyword::Const) => tokens.end_group(at, &mut masked.text),
            Tok::Colon if tokens.tok(at + 1) == Tok::Close(b'}') => {
                let after = &mut masked.text[token.end as usize];
                if after.is_ascii_whitespace() {
                    *after = b';';
                }
            }
            _ => {}
        }
        at += 1;
    }
    (masked.text != text).then_some(masked)
}

impl Masked {
    fn overwrite(&mut self, span: Span, byte: u8) {
        self.text[span.start as usize..span.end as usize].fill(byte);
    }
}

/// All tokens of a text but its comments.
struct Tokens {
    list: Vec<Token>,
    /// For each bracket the number of its partner, its own if it has none.
    partner: Vec<usize>,
}

impl Tokens {
    /// Reads `text`. A comment that ends a statement because it spans lines becomes a semicolon in
    /// `masked`.
    fn new(text: &[u8], masked: &mut [u8]) -> Tokens {
        let mut lexer = Lexer::new(text, 0);
        let mut list: Vec<Token> = Vec::new();
        loop {
            let token = lexer.next();
            match token.tok {
                Tok::End => break,
                Tok::Comment => {
                    let ends_statement = list.last().is_some_and(|last| {
                        last.tok == Tok::Semicolon && last.start == token.start
                    });
                    if ends_statement {
                        masked[token.start as usize..token.end as usize].fill(b' ');
                        masked[token.start as usize] = b';';
                    }
                }
                _ => list.push(token),
            }
        }
        let mut partner: Vec<usize> = (0..list.len()).collect();
        let mut open = Vec::new();
        for (at, token) in list.iter().enumerate() {
            match token.tok {
                Tok::Open(_) => open.push(at),
                Tok::Close(_) => {
                    if let Some(opener) = open.pop() {
                        partner[opener] = at;
                        partner[at] = opener;
                    }
                }
                _ => {}
            }
        }
        Tokens { list, partner }
    }

    fn tok(&self, at: usize) -> Tok {
        self.list.get(at).map_or(Tok::End, |token| token.tok)
    }

    /// `[T any]` of `func (r R) M[T any](`.
    fn method_type_params(&self) -> Option<Span> {
        if self.tok(0) != Tok::Keyword(Keyword::Func) || self.tok(1) != Tok::Open(b'(') {
            return None;
        }
        let name = self.partner[1] + 1;
        if self.tok(name) != Tok::Name || self.tok(name + 1) != Tok::Open(b'[') {
            return None;
        }
        let close = self.partner[name + 1];
        (self.tok(close + 1) == Tok::Open(b'('))
            .then(|| Span::new(self.list[name + 1].start, self.list[close].end))
    }

    /// Whether the name at `at` is `new` or `make`, and may be a label.
    fn is_label(&self, text: &[u8], at: usize) -> bool {
        let Token { start, end, .. } = self.list[at];
        let leaves =
            |tok| matches!(tok, Tok::Keyword(Keyword::Break | Keyword::Continue | Keyword::Goto));
        matches!(&text[start as usize..end as usize], b"new" | b"make")
            && (self.tok(at + 1) == Tok::Colon || at > 0 && leaves(self.tok(at - 1)))
    }

    /// Whether the name at `at` is `new` or `make` of a call whose first argument is no type.
    fn takes_value(&self, text: &[u8], at: usize) -> bool {
        let Token { start, end, .. } = self.list[at];
        matches!(&text[start as usize..end as usize], b"new" | b"make")
            && self.tok(at + 1) == Tok::Open(b'(')
            && (at == 0 || self.tok(at - 1) != Tok::Dot)
            && self.tok(at + 2) != Tok::Close(b')')
            && !self.is_type(at + 2)
    }

    /// Whether a type stands at `at`, with nothing but a comma or parenthesis behind it. What could
    /// be either counts as a type: the grammar takes it.
    fn is_type(&self, mut at: usize) -> bool {
        let mut parens = 0;
        loop {
            match self.tok(at) {
                Tok::Star => at += 1,
                Tok::Open(b'(') => {
                    parens += 1;
                    at += 1;
                }
                Tok::Open(b'[') if self.partner[at] > at => at = self.partner[at] + 1,
                Tok::Arrow if self.tok(at + 1) == Tok::Keyword(Keyword::Chan) => at += 2,
                Tok::Keyword(Keyword::Chan) => {
                    at += 1;
                    if self.tok(at) == Tok::Arrow {
                        at += 1;
                    }
                }
                Tok::Keyword(Keyword::Map) if self.tok(at + 1) == Tok::Open(b'[') => {
                    at = self.partner[at + 1] + 1;
                }
                Tok::Keyword(Keyword::Func) if self.tok(at + 1) == Tok::Open(b'(') => {
                    at = self.partner[at + 1] + 1;
                    match self.tok(at) {
                        Tok::Open(b'(') => {
                            at = self.partner[at] + 1;
                            break;
                        }
                        Tok::Comma | Tok::Close(_) => break,
                        // A result follows, or the body of a literal, which is no type.
                        _ => {}
                    }
                }
                Tok::Keyword(Keyword::Struct | Keyword::Interface)
                    if self.tok(at + 1) == Tok::Open(b'{') =>
                {
                    at = self.partner[at + 1] + 1;
                    break;
                }
                Tok::Name => {
                    at += 1;
                    if self.tok(at) == Tok::Dot && self.tok(at + 1) == Tok::Name {
                        at += 2;
                    }
                    if self.tok(at) == Tok::Open(b'[') {
                        if !self.may_be_types(at) {
                            return false;
                        }
                        at = self.partner[at] + 1;
                    }
                    break;
                }
                _ => return false,
            }
        }
        while parens > 0 && self.tok(at) == Tok::Close(b')') {
            parens -= 1;
            at += 1;
        }
        parens == 0 && matches!(self.tok(at), Tok::Comma | Tok::Close(b')'))
    }

    /// Whether what stands between the brackets at `open` may be type arguments, as far as the tokens at
    /// their level tell.
    fn may_be_types(&self, open: usize) -> bool {
        let close = self.partner[open];
        let mut at = open + 1;
        while at < close {
            match self.tok(at) {
                Tok::Open(_) if self.partner[at] > at => at = self.partner[at],
                Tok::Literal | Tok::Colon | Tok::Op => return false,
                _ => {}
            }
            at += 1;
        }
        true
    }

    /// Puts a semicolon behind the last specification of the group that the keyword at `at` starts.
    /// Where no byte is free for it, a single specification can do without its parentheses.
    fn end_group(&self, at: usize, masked: &mut [u8]) {
        let open = at + 1;
        if self.tok(open) != Tok::Open(b'(') || self.partner[open] <= open + 1 {
            return;
        }
        let close = self.partner[open];
        if self.tok(close - 1) == Tok::Semicolon {
            return;
        }
        let before = self.list[close].start as usize - 1;
        if masked[before].is_ascii_whitespace() {
            masked[before] = b';';
        } else if !self.list[open..close].iter().any(|token| token.tok == Tok::Semicolon) {
            masked[self.list[open].start as usize] = b' ';
            masked[self.list[close].start as usize] = b' ';
        }
    }

    /// For the `struct` or `interface` at `at`, the closing brace of its literal if a selector
    /// follows, perhaps behind parentheses.
    fn type_operand(&self, at: usize) -> Option<usize> {
        if self.tok(at + 1) != Tok::Open(b'{') || self.partner[at + 1] <= at {
            return None;
        }
        let close = self.partner[at + 1];
        let mut after = close + 1;
        while self.tok(after) == Tok::Close(b')') {
            after += 1;
        }
        (self.tok(after) == Tok::Dot && self.tok(after + 1) == Tok::Name).then_some(close)
    }
}
