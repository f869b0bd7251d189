//! From the text of a file to its tree: what is given to tree-sitter, and how often.
//!
//! A file that parses is parsed once. In any other, each top-level declaration stands alone: the
//! outline says where it is, those that the first parse understood are taken from it, and each of
//! the others is parsed again by itself, so that it cannot harm its neighbours; if need be with
//! masks over what the grammar does not know.

use std::cell::RefCell;
use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use tree_sitter::{InputEdit, Node, ParseOptions, ParseState, Parser, Point, Tree};

use crate::source::{SourceText, Span};
use crate::syntax::causes::causes;
use crate::syntax::lower::Lowering;
use crate::syntax::mask::{self, Masked};
use crate::syntax::outline::{Outline, OutlineDecl, outline, outline_by_lines};
use crate::syntax::{File, SyntaxError};

/// Parses one file. It never fails: see [`File::errors`].
pub fn parse(source: SourceText) -> File {
    let tree = tree(source.bytes());
    lower(&source, tree.as_ref())
}

/// As [`parse`], of a file that is being edited: of what `former` says of an earlier text that is
/// taken over which the edits since then leave as it was. Also gives what the next text can be
/// parsed from.
pub fn parse_edited(source: SourceText, former: Option<Former>) -> (File, Option<Former>) {
    let again = former.as_ref().and_then(|former| former.parse_again(&source));
    // What tree-sitter makes of errors depends on the tree that it begins with.
    let tree = again.filter(is_sound).or_else(|| tree(source.bytes()));
    let file = lower(&source, tree.as_ref());
    let next = tree.filter(is_sound).map(|tree| Former { text: source, tree });
    (file, next.or(former))
}

/// The last text of a file without syntax errors, with its tree.
#[derive(Clone, Debug)]
pub struct Former {
    text: SourceText,
    tree: Tree,
}

impl Former {
    /// The tree of a later text, which differs from this one in one place, as far as tree-sitter can tell.
    fn parse_again(&self, later: &SourceText) -> Option<Tree> {
        let (old, new) = (self.text.bytes(), later.bytes());
        let is_same = |(a, b): &(&u8, &u8)| a == b;
        let start = old.iter().zip(new).take_while(is_same).count();
        let behind = old[start..].iter().rev().zip(new[start..].iter().rev());
        let behind = behind.take_while(is_same).count();
        let (old_end, new_end) = (old.len() - behind, new.len() - behind);
        let point = |text: &SourceText, at: usize| {
            let position = text.position(at as u32);
            Point::new(position.line as usize - 1, position.column as usize - 1)
        };
        let mut tree = self.tree.clone();
        tree.edit(&InputEdit {
            start_byte: start,
            old_end_byte: old_end,
            new_end_byte: new_end,
            start_position: point(&self.text, start),
            old_end_position: point(&self.text, old_end),
            new_end_position: point(later, new_end),
        });
        tree_from(new, Some(&tree))
    }
}

/// Whether a tree has no errors.
pub(super) fn is_sound(tree: &Tree) -> bool {
    !tree.root_node().has_error()
}

fn lower(source: &SourceText, tree: Option<&Tree>) -> File {
    let mut lowering = Lowering::new(source);
    let bytes = source.bytes();
    match tree {
        Some(tree) if is_sound(tree) => lowering.add(tree.walk(), 0, bytes.len() as u32),
        tree => recover(&mut lowering, bytes, tree),
    }
    lowering.errors.extend(illegal_byte(bytes));
    lowering.errors.sort_by_key(|error| error.span);
    let package_start = lowering.package.map(|name| name.span.start);
    let generated = is_generated(bytes, package_start);
    lowering.finish(source.clone(), generated)
}

thread_local! {
    static PARSER: RefCell<Parser> = RefCell::new(new_parser());
}

fn new_parser() -> Parser {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_go::LANGUAGE.into())
        .expect("the grammar and the library are of one ABI");
    parser
}

/// tree-sitter's tree of `text`; `None` when it needs more steps than honest code of that length.
pub(super) fn tree(text: &[u8]) -> Option<Tree> {
    tree_from(text, None)
}

/// As [`tree`], from the tree of an earlier text in which the edits are marked.
fn tree_from(text: &[u8], edited: Option<&Tree>) -> Option<Tree> {
    // A tick is a hundred of the parser's operations. Go's own tree needs at most one for 40 bytes.
    let mut ticks_left = 10_000 + text.len();
    let mut count = |_: &ParseState| {
        ticks_left = ticks_left.saturating_sub(1);
        if ticks_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    PARSER.with_borrow_mut(|parser| {
        let options = ParseOptions::new().progress_callback(&mut count);
        let mut input = |at: usize, _| &text[at.min(text.len())..];
        let tree = parser.parse_with_options(&mut input, edited, Some(options));
        if tree.is_none() {
            // An abandoned parse would be resumed by the next one.
            parser.reset();
        }
        tree
    })
}

/// Parses declaration by declaration; `whole` is the tree of the file, which has errors.
fn recover(lowering: &mut Lowering, bytes: &[u8], whole: Option<&Tree>) {
    let outline = outline(bytes);
    let understood = whole.map(understood).unwrap_or_default();
    for decl in &outline.decls {
        match understood.get(&decl.span.start) {
            Some(node) if node.end_byte() as u32 == decl.span.end => {
                lowering.add(node.walk(), 0, decl.span.end);
            }
            _ => declaration(lowering, bytes, decl),
        }
    }
    stray(lowering, &outline);
    lowering.comments = outline.comments;
}

/// The declarations of a tree that have no error, by where they start.
fn understood(tree: &Tree) -> FxHashMap<u32, Node<'_>> {
    let mut cursor = tree.walk();
    let mut nodes = FxHashMap::default();
    let mut is_below = cursor.goto_first_child();
    while is_below {
        let node = cursor.node();
        if !node.has_error() && node.is_named() && !node.is_extra() {
            nodes.insert(node.start_byte() as u32, node);
        }
        let enters = node.is_error() && cursor.goto_first_child();
        while !enters && is_below && !cursor.goto_next_sibling() {
            is_below = cursor.goto_parent();
        }
    }
    nodes
}

/// Parses one declaration by itself. If it then still has errors and looks like several that ran
/// into each other, each of them.
pub(super) fn declaration(lowering: &mut Lowering, bytes: &[u8], decl: &OutlineDecl) {
    let piece = Piece::parse(bytes, decl.span);
    if piece.is_understood() {
        return piece.lower(lowering);
    }
    let parts = outline_by_lines(bytes, decl.span);
    if parts.decls.len() == 1 {
        return piece.lower(lowering);
    }
    for part in &parts.decls {
        Piece::parse(bytes, part.span).lower(lowering);
    }
    stray(lowering, &parts);
}

fn stray(lowering: &mut Lowering, outline: &Outline) {
    for &span in &outline.stray {
        let word = lowering.first_word(span);
        let message = format!("syntax error: `{word}` outside of any declaration");
        lowering.errors.push(SyntaxError { span, message });
    }
}

/// A declaration that was parsed by itself.
struct Piece<'t> {
    bytes: &'t [u8],
    span: Span,
    /// `None` if it is too complicated.
    tree: Option<Tree>,
    masked: Option<Masked>,
}

impl<'t> Piece<'t> {
    /// The better of its trees with and without masks.
    fn parse(bytes: &'t [u8], span: Span) -> Piece<'t> {
        let mut text = bytes[span.start as usize..span.end as usize].to_vec();
        // The grammar wants an end behind a declaration.
        text.push(b'\n');
        let plain = tree(&text);
        let damage = plain.as_ref().map_or(u64::MAX, damage);
        if damage > 0
            && let Some(masked) = mask::mask(&text)
            && let Some(tree) = tree(&masked.text)
            && self::damage(&tree) < damage
        {
            return Piece { bytes, span, tree: Some(tree), masked: Some(masked) };
        }
        Piece { bytes, span, tree: plain, masked: None }
    }

    fn is_understood(&self) -> bool {
        self.tree.as_ref().is_some_and(is_sound)
    }

    fn lower(&self, lowering: &mut Lowering) {
        let Some(tree) = &self.tree else {
            let message = "too complicated to parse".to_string();
            return lowering.errors.push(SyntaxError { span: self.span, message });
        };
        if let Some(masked) = &self.masked {
            let absolute =
                |span: Span| Span::new(span.start + self.span.start, span.end + self.span.start);
            if let Some(span) = masked.type_params {
                let span = absolute(span);
                self.with_hidden(span, b"type T", b" int\n", |tree, base| {
                    lowering.add_hidden_type_params(tree, base, span);
                });
            }
            for &span in &masked.types {
                let span = absolute(span);
                self.with_hidden(span, b"type T ", b"\n", |tree, base| {
                    lowering.add_hidden_type(tree, base, span);
                });
            }
        }
        if is_sound(tree) {
            return lowering.add(tree.walk(), self.span.start, self.span.end);
        }
        let reported = lowering.errors.len();
        lowering.add_broken(tree.walk(), self.span.start, self.span.end);
        let causes = causes(self.bytes, self.span);
        if !causes.is_empty() {
            lowering.errors.truncate(reported);
            lowering.errors.extend(causes);
        }
    }

    /// Parses what a mask hid, as part of a declaration of its own.
    fn with_hidden(
        &self,
        hidden: Span,
        before: &[u8],
        after: &[u8],
        lower: impl FnOnce(&Tree, u32),
    ) {
        let text = &self.bytes[hidden.start as usize..hidden.end as usize];
        // Every mask stands behind `func (` or `var x =` at least.
        let Some(base) = hidden.start.checked_sub(before.len() as u32) else { return };
        if let Some(tree) = tree(&[before, text, after].concat()) {
            lower(&tree, base);
        }
    }
}

/// How much of a tree is not understood: nothing is 0.
fn damage(tree: &Tree) -> u64 {
    let mut damage = 0;
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            damage += 100 + (node.end_byte() - node.start_byte()) as u64;
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return damage;
            }
        }
    }
}

/// The first byte that may stand nowhere in a Go file, not even in a comment (Go specification,
/// "Source code representation"; NUL as the go command has it), whatever the grammar makes of it.
fn illegal_byte(bytes: &[u8]) -> Option<SyntaxError> {
    let no_text = std::str::from_utf8(bytes).err().map(|error| error.valid_up_to());
    let nul = memchr::memchr(0, bytes);
    let first = no_text.into_iter().chain(nul).min()?;
    let message = match Some(first) == nul {
        true => "illegal character NUL",
        false => "illegal UTF-8 encoding",
    };
    let span = Span::new(first as u32, first as u32 + 1);
    Some(SyntaxError { span, message: message.to_string() })
}

/// How the line begins by which a file says that it is generated: as
/// <https://go.dev/s/generatedcode> has it, and as generators wrote before that was agreed on.
const GENERATED: &str = "// Code generated ";
const GENERATED_BEFORE: &str = "// This file was generated by ";

/// Whether a line before the package clause says that the file is generated.
pub(super) fn is_generated(bytes: &[u8], package_name: Option<u32>) -> bool {
    let head = &bytes[..package_name.map_or(bytes.len(), |at| at as usize)];
    head.split(|&byte| byte == b'\n').any(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let agreed = line.strip_prefix(GENERATED.as_bytes());
        agreed.is_some_and(|rest| rest.ends_with(b" DO NOT EDIT."))
            || line.starts_with(GENERATED_BEFORE.as_bytes())
    })
}

/// Whether a text may say of itself that it is generated. Nothing is parsed for it.
pub fn may_be_generated(text: &SourceText) -> bool {
    text.holds_anywhere(GENERATED) || text.holds_anywhere(GENERATED_BEFORE)
}
