//! The outline of a file: its top-level declarations, where they are, and for each what it may have
//! to do with goroutines at all, read from the tokens alone.
//!
//! It costs next to nothing beside parsing, so it decides what is parsed: which bodies some
//! question can need. For Go that parses it is exact. For other text it still gives every
//! declaration that starts where a line does, whatever is wrong with those before it.

use std::ops::{BitOr, BitOrAssign};

use rustc_hash::FxHashMap;

use crate::source::Span;
use crate::syntax::Symbol;
use crate::syntax::lex::{self, Keyword, Lexer, Tok, Token};

/// The top-level declarations of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// All declarations, the package clause and imports included, in order.
    pub decls: Vec<OutlineDecl>,
    /// Text between declarations that belongs to none.
    pub stray: Vec<Span>,
    /// All comments, in order.
    pub comments: Vec<Span>,
}

/// One top-level declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineDecl {
    /// What it declares.
    pub kind: OutlineKind,
    /// From its keyword to its last token.
    pub span: Span,
    /// The name of a function or method.
    pub name: Option<Span>,
    /// The names that `const`, `var` and `type` declare, each with the number of its specification
    /// in the declaration; specifications are there in order.
    pub declared: Vec<(u32, Span)>,
    /// The name of the type that a method belongs to.
    pub receiver: Option<Span>,
    /// Whether the method belongs to the pointer to that type.
    pub on_pointer: bool,
    /// The body of a function or method, braces included.
    pub body: Option<Span>,
    /// What stands in the body of a function, or anywhere in another declaration.
    pub features: Features,
    /// The names that are called there, each once: `f` of `f(x)`, `p.f(x)`, `f[T](x)`. Functions that
    /// are only mentioned are not among them.
    pub calls: Box<[Symbol]>,
}

/// Kinds of top-level declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlineKind {
    /// `package`
    Package,
    /// `import`, all of a group.
    Import,
    /// `const`, all of a group.
    Const,
    /// `var`, all of a group.
    Var,
    /// `type`, all of a group.
    Type,
    /// `func`
    Func,
}

/// A set of things that stand in a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Features(u32);

impl Features {
    /// Nothing.
    pub const NONE: Features = Features(0);
    /// `go`
    pub const GO: Features = Features(1 << 0);
    /// `defer`
    pub const DEFER: Features = Features(1 << 1);
    /// `select`
    pub const SELECT: Features = Features(1 << 2);
    /// `chan`
    pub const CHAN: Features = Features(1 << 3);
    /// `<-`, in types too.
    pub const ARROW: Features = Features(1 << 4);
    /// `func`: a function literal or type.
    pub const FUNC: Features = Features(1 << 5);
    /// `for`
    pub const LOOP: Features = Features(1 << 6);
    /// `range`
    pub const RANGE: Features = Features(1 << 7);
    /// A call or conversion.
    pub const CALL: Features = Features(1 << 8);
    /// An assignment to something that exists: `=`, `op=`, `++`, `--`.
    pub const STORE: Features = Features(1 << 9);
    /// The name of an operation of a lock: `Lock`, `RLock`, `TryLock`, `TryRLock`, `Unlock`, `RUnlock`.
    pub const LOCK: Features = Features(1 << 10);
    /// The name `Wait`.
    pub const WAIT: Features = Features(1 << 11);
    /// The name `close`.
    pub const CLOSE: Features = Features(1 << 12);
    /// The name `context`.
    pub const CONTEXT: Features = Features(1 << 13);
    /// The names `panic` and `recover`.
    pub const PANIC: Features = Features(1 << 14);
    /// The name `sync`.
    pub const SYNC: Features = Features(1 << 15);
    /// The name `time`.
    pub const TIME: Features = Features(1 << 16);
    /// `goto`
    pub const GOTO: Features = Features(1 << 17);

    /// Whether any of `other` is in the set.
    pub fn has(self, other: Features) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Features {
    type Output = Features;

    fn bitor(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }
}

impl BitOrAssign for Features {
    fn bitor_assign(&mut self, other: Features) {
        self.0 |= other.0;
    }
}

/// The outline of a file.
pub fn outline(bytes: &[u8]) -> Outline {
    let mut scanner = Scanner::new(bytes, Span::new(0, bytes.len() as u32), Trust::Brackets);
    scanner.file();
    scanner.outline
}

/// As [`outline`], without what the bodies of functions have to do with, and what is called.
pub(super) fn outline_of_places(bytes: &[u8]) -> Outline {
    let mut scanner = Scanner::new(bytes, Span::new(0, bytes.len() as u32), Trust::Brackets);
    scanner.looks_inside = false;
    scanner.file();
    scanner.outline
}

/// As [`outline`], for a part of the file whose brackets are known to be wrong: a declaration ends
/// before the next line that starts with the keyword of one.
pub(super) fn outline_by_lines(bytes: &[u8], within: Span) -> Outline {
    let mut scanner = Scanner::new(bytes, within, Trust::Lines);
    scanner.file();
    scanner.outline
}

/// What tells where a declaration ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Its brackets are closed.
    Brackets,
    /// Also a line that starts with the keyword of a declaration: after something has gone wrong.
    Lines,
}

struct Scanner<'t> {
    text: &'t [u8],
    lexer: Lexer<'t>,
    trust: Trust,
    /// Whether bodies of functions are of interest, and what is called.
    looks_inside: bool,
    outline: Outline,
    called: FxHashMap<&'t [u8], Called>,
    /// How many declarations were read, those that were read again included.
    scans: usize,
    /// The brackets that are open, and for `[` the name before it: that of `f[T](x)`.
    open: Vec<(u8, Option<&'t [u8]>)>,
}

/// A name that is called.
#[derive(Clone, Copy)]
struct Called {
    symbol: Symbol,
    /// The last scan that met a call of it.
    last_scan: usize,
}

/// Where in a declaration of constants, variables or types names are declared.
struct Specs {
    /// The specification.
    number: u32,
    /// How many brackets are open around a specification.
    depth: usize,
    next: Next,
    /// Whether a specification may declare several names.
    several: bool,
}

/// What can come next in a specification.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A name, or where specifications start the parenthesis around all.
    Name,
    /// A comma and more names, or something else.
    Comma,
    /// No more names.
    Other,
}

impl Specs {
    fn of(kind: OutlineKind) -> Specs {
        let declares = matches!(kind, OutlineKind::Const | OutlineKind::Var | OutlineKind::Type);
        let next = if declares { Next::Name } else { Next::Other };
        Specs { number: 0, depth: 0, next, several: kind != OutlineKind::Type }
    }

    /// Whether the next token, with so many brackets open around it, is a name that is declared.
    fn name(&mut self, tok: Tok, open: usize) -> bool {
        if open != self.depth {
            return false;
        }
        match (tok, self.next) {
            (Tok::Open(b'('), Next::Name) if open == 0 => self.depth = 1,
            (Tok::Semicolon, Next::Comma | Next::Other) if open == 1 => {
                self.number += 1;
                self.next = Next::Name;
            }
            (Tok::Name, Next::Name) => {
                self.next = Next::Comma;
                return true;
            }
            (Tok::Comma, Next::Comma) if self.several => self.next = Next::Name,
            (Tok::Semicolon, _) => {}
            _ => self.next = Next::Other,
        }
        false
    }
}

/// A place to go back to.
#[derive(Clone, Copy)]
struct Mark {
    at: lex::Place,
    comments: usize,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t [u8], within: Span, trust: Trust) -> Scanner<'t> {
        let mut lexer = Lexer::new(&text[..within.end as usize], within.start);
        if trust == Trust::Lines {
            lexer.end_with_lines();
        }
        Scanner {
            text,
            lexer,
            trust,
            looks_inside: true,
            outline: Outline::default(),
            called: FxHashMap::default(),
            scans: 0,
            open: Vec::new(),
        }
    }

    fn file(&mut self) {
        loop {
            let token = self.next();
            match token.tok {
                Tok::End => return,
                Tok::Semicolon => {}
                tok => match declares(tok) {
                    Some(kind) if self.trust == Trust::Brackets || self.starts_line(token) => {
                        self.declaration(kind, token);
                    }
                    _ => self.stray(token),
                },
            }
        }
    }

    /// The next token that is no comment.
    fn next(&mut self) -> Token {
        loop {
            let token = self.lexer.next();
            if token.tok != Tok::Comment {
                return token;
            }
            self.outline.comments.push(Span::new(token.start, token.end));
        }
    }

    fn mark(&self) -> Mark {
        Mark { at: self.lexer.place(), comments: self.outline.comments.len() }
    }

    fn rewind(&mut self, mark: Mark) {
        self.lexer.go_back(mark.at);
        self.outline.comments.truncate(mark.comments);
    }

    fn starts_line(&self, token: Token) -> bool {
        token.start == 0 || self.text[token.start as usize - 1] == b'\n'
    }

    fn declaration(&mut self, kind: OutlineKind, keyword: Token) {
        let start = self.mark();
        if self.scan(kind, keyword) {
            return;
        }
        // The file ends inside: its brackets tell nothing from here on.
        self.trust = Trust::Lines;
        self.lexer.end_with_lines();
        self.rewind(start);
        self.scan(kind, keyword);
    }

    /// Reads on to the end of a declaration and adds it. False when brackets are trusted and the
    /// text ends inside.
    fn scan(&mut self, kind: OutlineKind, keyword: Token) -> bool {
        self.scans += 1;
        let mut decl = OutlineDecl {
            kind,
            span: Span::new(keyword.start, keyword.end),
            name: None,
            declared: Vec::new(),
            receiver: None,
            on_pointer: false,
            body: None,
            features: Features::NONE,
            calls: Box::default(),
        };
        let is_func = kind == OutlineKind::Func;
        if is_func {
            self.func_name(&mut decl);
        }
        let mut specs = Specs::of(kind);
        let mut calls = Vec::new();
        let mut body_start = None;
        let mut before = Tok::Op;
        let mut callee: Option<&'t [u8]> = None;
        self.open.clear();
        loop {
            let mark = self.mark();
            let token = self.next();
            let counts = if is_func { self.looks_inside && body_start.is_some() } else { true };
            if specs.name(token.tok, self.open.len()) {
                decl.declared.push((specs.number, Span::new(token.start, token.end)));
            }
            match token.tok {
                Tok::End if self.open.is_empty() || self.trust == Trust::Lines => break,
                Tok::End => return false,
                Tok::Semicolon if self.open.is_empty() => break,
                tok if declares(tok).is_some()
                    && self.trust == Trust::Lines
                    && self.starts_line(token) =>
                {
                    self.rewind(mark);
                    break;
                }
                Tok::Open(bracket) => {
                    if bracket == b'{' && is_func && self.open.is_empty() && !opens_type(before) {
                        body_start = body_start.or(Some(token.start));
                        if let Some(end) = self.pass_body() {
                            decl.body = Some(Span::new(token.start, end));
                            decl.span.end = end;
                            break;
                        }
                    }
                    if bracket == b'(' && counts && matches!(before, Tok::Name | Tok::Close(_)) {
                        decl.features |= Features::CALL;
                        if let Some(callee) = callee
                            && self.looks_inside
                        {
                            self.call(callee, &mut calls);
                        }
                    }
                    self.open.push((bracket, callee.take()));
                }
                Tok::Close(bracket) => {
                    callee = self.close(bracket);
                    if let Some(start) = body_start
                        && self.open.is_empty()
                    {
                        decl.body = Some(Span::new(start, token.end));
                        decl.span.end = token.end;
                        break;
                    }
                }
                Tok::Name if counts => {
                    let name = &self.text[token.start as usize..token.end as usize];
                    callee = Some(name);
                    decl.features |= named_feature(name);
                }
                tok if counts => decl.features |= feature(tok),
                _ => {}
            }
            before = token.tok;
            decl.span.end = token.end.max(decl.span.end);
        }
        decl.calls = calls.into_boxed_slice();
        self.outline.decls.push(decl);
        true
    }

    /// The receiver's type and the name, if they are there.
    fn func_name(&mut self, decl: &mut OutlineDecl) {
        let mut mark = self.mark();
        let mut token = self.next();
        if token.tok == Tok::Open(b'(') {
            let mut depth = 1;
            let mut in_index = false;
            while depth > 0 {
                token = self.next();
                match token.tok {
                    Tok::Open(bracket) => {
                        in_index |= bracket == b'[';
                        depth += 1;
                    }
                    Tok::Close(_) => depth -= 1,
                    Tok::Star if !in_index => decl.on_pointer = true,
                    Tok::Name if !in_index => {
                        decl.receiver = Some(Span::new(token.start, token.end));
                    }
                    Tok::Semicolon | Tok::End => {
                        self.rewind(mark);
                        return;
                    }
                    _ => {}
                }
            }
            mark = self.mark();
            token = self.next();
        }
        match token.tok {
            Tok::Name => decl.name = Some(Span::new(token.start, token.end)),
            _ => self.rewind(mark),
        }
    }

    /// Goes on behind a body that nobody looks into. `None` if it has to be read token by token.
    fn pass_body(&mut self) -> Option<u32> {
        let may = !self.looks_inside && self.trust == Trust::Brackets;
        if may { self.lexer.pass_body(&mut self.outline.comments) } else { None }
    }

    /// Takes what it closes off the stack, with all that was left open inside; a bracket that
    /// closes nothing is passed over. Gives the name before a `[` that it closes.
    fn close(&mut self, bracket: u8) -> Option<&'t [u8]> {
        let opener = match bracket {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        let matching = match self.open.last() {
            Some(&(last, _)) if last == opener => self.open.len() - 1,
            // A brace is stronger than what is left open inside it, nothing is stronger than a
            // brace.
            _ if opener == b'{' => self.open.iter().rposition(|&(open, _)| open == b'{')?,
            _ => return None,
        };
        let callee = self.open[matching].1;
        self.open.truncate(matching);
        if bracket == b']' { callee } else { None }
    }

    fn call(&mut self, name: &'t [u8], calls: &mut Vec<Symbol>) {
        let scan = self.scans;
        let called = self.called.entry(name).or_insert_with(|| Called {
            symbol: Symbol::new(&String::from_utf8_lossy(name)),
            last_scan: 0,
        });
        if called.last_scan != scan {
            called.last_scan = scan;
            calls.push(called.symbol);
        }
    }

    /// Passes over what is no declaration, to the end of its statement. After that, only lines
    /// that start with a keyword are believed to be declarations.
    fn stray(&mut self, first: Token) {
        self.trust = Trust::Lines;
        self.lexer.end_with_lines();
        let mut span = Span::new(first.start, first.end);
        loop {
            let mark = self.mark();
            let token = self.next();
            let starts = declares(token.tok).is_some() && self.starts_line(token);
            if starts || token.tok == Tok::End {
                self.rewind(mark);
                break;
            }
            if token.tok != Tok::Semicolon {
                span.end = token.end;
            }
        }
        self.outline.stray.push(span);
    }
}

fn declares(tok: Tok) -> Option<OutlineKind> {
    let Tok::Keyword(keyword) = tok else { return None };
    Some(match keyword {
        Keyword::Package => OutlineKind::Package,
        Keyword::Import => OutlineKind::Import,
        Keyword::Const => OutlineKind::Const,
        Keyword::Var => OutlineKind::Var,
        Keyword::Type => OutlineKind::Type,
        Keyword::Func => OutlineKind::Func,
        _ => return None,
    })
}

/// Whether a `{` after this token belongs to a type.
fn opens_type(before: Tok) -> bool {
    matches!(before, Tok::Keyword(Keyword::Struct | Keyword::Interface))
}

fn feature(tok: Tok) -> Features {
    match tok {
        Tok::Arrow => Features::ARROW,
        Tok::Assign | Tok::IncDec => Features::STORE,
        Tok::Keyword(keyword) => match keyword {
            Keyword::Go => Features::GO,
            Keyword::Defer => Features::DEFER,
            Keyword::Select => Features::SELECT,
            Keyword::Chan => Features::CHAN,
            Keyword::Func => Features::FUNC,
            Keyword::For => Features::LOOP,
            Keyword::Range => Features::RANGE,
            Keyword::Goto => Features::GOTO,
            _ => Features::NONE,
        },
        _ => Features::NONE,
    }
}

fn named_feature(name: &[u8]) -> Features {
    match name {
        b"Lock" | b"RLock" | b"TryLock" | b"TryRLock" | b"Unlock" | b"RUnlock" => Features::LOCK,
        b"Wait" => Features::WAIT,
        b"close" => Features::CLOSE,
        b"context" => Features::CONTEXT,
        b"panic" | b"recover" => Features::PANIC,
        b"sync" => Features::SYNC,
        b"time" => Features::TIME,
        _ => Features::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the two outlines of a text have the same places.
    fn agree(text: &[u8]) -> bool {
        let places = |outline: Outline| {
            let places = |decl: OutlineDecl| {
                let names = (decl.name, decl.declared, decl.receiver, decl.on_pointer);
                (decl.kind, decl.span, names, decl.body)
            };
            let decls: Vec<_> = outline.decls.into_iter().map(places).collect();
            (decls, outline.comments, outline.stray)
        };
        places(outline(text)) == places(outline_of_places(text))
    }

    #[test]
    fn bodies_that_nobody_looks_into_have_the_same_places() {
        let text = b"package p // p
func (t *T[K]) m(f func() struct{ a int }) interface{ m() } { // }
\tif a['}'] == \"}\\\"{\" && x/y > 1 { return f(`{\n\"`) } /* } */
\treturn map[string]struct{}{}['\\'']
}
func g() { go func() { select {} }() }; var v = func() { g() }
func h() { \"unclosed }
}
/* and */ func i() { }
type T struct{}
";
        assert!(agree(text));
        for at in 0..text.len() {
            assert!(agree(&text[..at]) && agree(&text[at..]), "cut at {at}");
            let without = [&text[..at], &text[at + 1..]].concat();
            assert!(agree(&without), "without {at}");
            for byte in b"(){}[]\"'`/*\n" {
                let mut other = text.to_vec();
                other[at] = *byte;
                assert!(agree(&other), "{} at {at}", char::from(*byte));
            }
        }
    }
}
