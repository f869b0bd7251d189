//! A file whose declarations are parsed one by one, each when somebody asks for it, and functions
//! with or without their bodies: what a program uses of what it imports is a small part of it.
//!
//! What is declared where is read from the tokens alone. A declaration that the grammar does not
//! understand is there nevertheless, of a type that is missing.

use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use crate::source::{SourceText, Span};
use crate::syntax::excerpt::Excerpt;
use crate::syntax::lower::Lowering;
use crate::syntax::outline::{Features, Outline, OutlineDecl, OutlineKind, outline_of_places};
use crate::syntax::parse::{declaration, is_generated, is_sound, tree};
use crate::syntax::{DeclId, File, Ident, Symbol};

/// A file whose declarations are parsed when they are asked for.
#[derive(Debug)]
pub struct LazyFile {
    head: Arc<File>,
    /// In order of source.
    items: Box<[Item]>,
    has_stray_text: bool,
}

/// A declaration, all of a group.
#[derive(Debug)]
struct Item {
    outline: OutlineDecl,
    declared: Box<[Declared]>,
    /// The comments in it and before it, as places in those of the head.
    comments: (u32, u32),
    whole: OnceLock<Arc<File>>,
    /// Of a function without its body.
    brief: OnceLock<Arc<File>>,
}

/// A specification, function or method, as far as its tokens tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The specification, in [`LazyFile::tree`] of it.
    pub id: DeclId,
    /// What is declared.
    pub kind: OutlineKind,
    /// Its names; at least one.
    pub names: Box<[Ident]>,
    /// Of a method the name of its receiver's type, and whether it belongs to the pointer.
    pub receiver: Option<(Symbol, bool)>,
}

impl LazyFile {
    /// Reads what the file declares, and parses its package clause and imports. It never fails.
    pub fn new(source: SourceText) -> LazyFile {
        let bytes = source.bytes();
        let Outline { decls, comments, stray } = outline_of_places(bytes);
        let (clauses, decls): (Vec<OutlineDecl>, Vec<OutlineDecl>) = decls
            .into_iter()
            .partition(|decl| matches!(decl.kind, OutlineKind::Package | OutlineKind::Import));
        let mut next_comment = 0;
        let items = decls.into_iter().map(|outline| {
            let first_comment = next_comment;
            next_comment = comments.partition_point(|comment| comment.start < outline.span.end);
            Item {
                declared: declared(bytes, &outline),
                comments: (first_comment as u32, next_comment as u32),
                outline,
                whole: OnceLock::new(),
                brief: OnceLock::new(),
            }
        });
        let items = items.collect();
        LazyFile {
            head: Arc::new(head(&source, &clauses, comments)),
            items,
            has_stray_text: !stray.is_empty(),
        }
    }

    /// The file without its declarations: package clause, imports and all comments.
    pub fn head(&self) -> &Arc<File> {
        &self.head
    }

    /// Whether some text stands between the declarations and belongs to none: not all of it is Go.
    pub fn has_stray_text(&self) -> bool {
        self.has_stray_text
    }

    /// What the file declares, in order of source.
    pub fn declared(&self) -> impl Iterator<Item = &Declared> {
        self.items.iter().flat_map(|item| &item.declared)
    }

    /// The tree of a declaration, with the comments in it and before it, and with the other
    /// specifications of its group. Parses it when it is asked for the first time.
    ///
    /// # Panics
    ///
    /// When the file does not declare `id`.
    pub fn tree(&self, id: DeclId) -> &Arc<File> {
        let item = self.item(id);
        item.whole.get_or_init(|| Arc::new(item.parse(&self.head, None)))
    }

    /// The text of a declaration and of the others of its group, which nobody has to parse for it.
    pub fn text_around(&self, id: DeclId) -> (&SourceText, Span) {
        (&self.head.source, self.item(id).outline.span)
    }

    /// As [`LazyFile::tree`], of a function without its body: see [`Body::Elided`](crate::syntax::Body::Elided). The nodes of
    /// one tree are not those of the other.
    pub fn tree_without_body(&self, id: DeclId) -> &Arc<File> {
        let item = self.item(id);
        match item.outline.body {
            Some(body) => item.brief.get_or_init(|| Arc::new(item.parse(&self.head, Some(body)))),
            None => self.tree(id),
        }
    }

    /// The trees of the variables whose initial values may hold function literals, each group once.
    pub fn with_literals(&self) -> impl Iterator<Item = &Arc<File>> {
        let may = |item: &&Item| {
            item.outline.kind == OutlineKind::Var && item.outline.features.has(Features::FUNC)
        };
        self.items.iter().filter(may).filter_map(|item| Some(self.tree(item.declared.first()?.id)))
    }

    fn item(&self, id: DeclId) -> &Item {
        let behind = self.items.partition_point(|item| item.first() <= id.0);
        let item = behind.checked_sub(1).map(|at| &self.items[at]);
        item.expect("numbers of declarations start at their places")
    }
}

impl Item {
    /// The number of its first specification, and of all other first nodes: there are more bytes
    /// than nodes, so that those of two declarations are never the same.
    fn first(&self) -> u32 {
        self.outline.span.start
    }

    fn parse(&self, head: &File, elided: Option<Span>) -> File {
        let span = self.outline.span;
        let bytes = head.source.bytes();
        let length = (span.end - span.start) - elided.map_or(0, |body| body.end - body.start);
        let mut lowering = Lowering::numbered(&head.source, self.first(), length as usize);
        lowering.expect(&self.declared);
        let comments = &head.comments[self.comments.0 as usize..self.comments.1 as usize];
        let is_left = |comment: &Span| elided.is_none_or(|body| !body.contains(*comment));
        let comments: Vec<Span> = comments.iter().copied().filter(is_left).collect();
        let inside = comments.iter().copied().filter(|comment| comment.start >= span.start);
        // Any other comment may be all that keeps two words apart.
        let mut cuts: Vec<Span> = inside.filter(|comment| ends_line(bytes, *comment)).collect();
        cuts.extend(elided.and_then(|body| between_braces(body, bytes)));
        cuts.sort_unstable_by_key(|cut| (cut.start, Reverse(cut.end)));
        let excerpt = Excerpt::new(bytes, &[span], cuts);
        match tree(&excerpt.text).filter(is_sound) {
            Some(tree) => lowering.add_excerpt(tree.walk(), &excerpt),
            None => declaration(&mut lowering, bytes, &self.outline),
        }
        if elided.is_some() {
            lowering.elide_bodies();
        }
        lowering.find_expected(&self.declared);
        lowering.comments = comments;
        lowering.finish(head.source.clone(), head.generated)
    }
}

fn head(source: &SourceText, clauses: &[OutlineDecl], comments: Vec<Span>) -> File {
    let bytes = source.bytes();
    let kept: Vec<Span> = clauses.iter().map(|clause| clause.span).collect();
    let length: u32 = kept.iter().map(|span| span.end - span.start).sum();
    let mut lowering = Lowering::numbered(source, 0, length as usize);
    let cuts = comments.iter().copied().filter(|comment| {
        let before = kept.partition_point(|span| span.start < comment.start);
        ends_line(bytes, *comment)
            && before.checked_sub(1).is_some_and(|at| kept[at].contains(*comment))
    });
    let excerpt = Excerpt::new(bytes, &kept, cuts);
    match tree(&excerpt.text).filter(is_sound) {
        Some(tree) => lowering.add_excerpt(tree.walk(), &excerpt),
        None => clauses.iter().for_each(|clause| declaration(&mut lowering, bytes, clause)),
    }
    lowering.comments = comments;
    let generated = is_generated(bytes, lowering.package.map(|name| name.span.start));
    lowering.finish(source.clone(), generated)
}

fn declared(bytes: &[u8], outline: &OutlineDecl) -> Box<[Declared]> {
    let ident = |span: Span| {
        let name = &bytes[span.start as usize..span.end as usize];
        Ident { name: Symbol::new(&String::from_utf8_lossy(name)), span }
    };
    let names: Vec<(u32, Span)> = match outline.name {
        Some(name) => vec![(0, name)],
        None => outline.declared.clone(),
    };
    let specs = names.chunk_by(|(one, _), (other, _)| one == other);
    specs
        .zip(outline.span.start..)
        .map(|(names, id)| Declared {
            id: DeclId(id),
            kind: outline.kind,
            names: names.iter().map(|&(_, name)| ident(name)).collect(),
            receiver: outline.receiver.map(|name| (ident(name).name, outline.on_pointer)),
        })
        .collect()
}

/// Whether a comment ends with its line.
fn ends_line(bytes: &[u8], comment: Span) -> bool {
    bytes[comment.start as usize + 1] == b'/'
}

/// What stands between the braces of a body; the last byte of one that is not closed is no brace.
fn between_braces(body: Span, bytes: &[u8]) -> Option<Span> {
    let is_closed = body.end - body.start > 1 && bytes[body.end as usize - 1] == b'}';
    is_closed.then(|| Span::new(body.start + 1, body.end - 1))
}
