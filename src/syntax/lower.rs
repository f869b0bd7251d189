//! tree-sitter's tree to ours, in one pass over a cursor.
//!
//! The walk is a post-order traversal with its own stack, so that no nesting can exhaust the
//! machine's. What a node's children became waits on a stack of [`Item`]s; when the walk leaves the
//! node, a *reduction* named after the production takes them off and leaves one item. Kinds that
//! only group (`expression_list`) are not reduced: their children are read by the node above.
//! Nothing here looks at what a name means, and nothing survives of tree-sitter's tree.
//!
//! Children are told apart by their kinds and by the tokens between them, not by the grammar's
//! field names: asking tree-sitter for those costs more than all the rest.

mod decls;
mod expected;
mod exprs;
mod kinds;
mod stmts;
mod types;

use std::sync::OnceLock;

use rustc_hash::{FxBuildHasher, FxHashMap};
use tree_sitter::{Node, Tree, TreeCursor};

use crate::source::{SourceText, Span};
use crate::syntax::ast::{Arena, BodyState};
use crate::syntax::excerpt::Excerpt;
use crate::syntax::{
    Case, CommClause, Decl, DeclId, DeclKind, Element, Expr, ExprId, ExprKind, Field, File, Ident,
    Import, InterfaceElem, Param, Stmt, StmtId, StmtKind, Symbol, SyntaxError, TypeParam, TypeSpec,
};
use kinds::Kind;

/// How deep nodes of our tree may nest. Chains that nest to the left (`a + b + c`, `a.b().c()`) and
/// `else if` ladders do not count, since those who read the tree walk them in loops; for all other
/// nodes this is what makes their recursion safe. The deepest file of Go's own tree has 258.
pub const MAX_DEPTH: u32 = 1_000;

/// Fills a [`File`] from one or several trees.
pub(super) struct Lowering<'s> {
    bytes: &'s [u8],
    names: FxHashMap<&'s [u8], Symbol>,
    pub(super) package: Option<Ident>,
    pub(super) imports: Vec<Import>,
    pub(super) decls: Arena<Decl>,
    pub(super) top_level: Vec<DeclId>,
    /// The function literals met since the last declared function: in the end those of package
    /// variables, inner ones before those around them.
    loose_literals: Vec<ExprId>,
    literals: Vec<DeclId>,
    pub(super) comments: Vec<Span>,
    pub(super) errors: Vec<SyntaxError>,
    exprs: Arena<Expr>,
    stmts: Arena<Stmt>,
    /// Whether this tree's nesting was cut: said once for each.
    too_deep: bool,
    hidden_type_params: Box<[TypeParam]>,
    hidden_types: FxHashMap<u32, ExprId>,
}

/// What a child became.
struct Item {
    kind: Kind,
    span: Span,
    value: Value,
}

/// The part of an item that its kind and span do not tell.
enum Value {
    None,
    Expr(ExprId),
    Stmt(StmtId),
    Decls(Box<[DeclId]>),
    Decl(DeclId),
    Args(Box<[ExprId]>, bool),
    Params(Box<[Param]>),
    TypeParams(Box<[TypeParam]>),
    Fields(Box<[Field]>),
    Method(Box<InterfaceElem>),
    Elements(Box<[Element]>),
    Element(Element),
    Case(Box<Case>),
    Comm(Box<CommClause>),
}

/// A node whose children are being walked.
struct Frame {
    kind: Kind,
    span: Span,
    /// Where its children's items start.
    items: usize,
    depth: u32,
}

impl<'s> Lowering<'s> {
    /// An empty file over `source`.
    pub(super) fn new(source: &'s SourceText) -> Lowering<'s> {
        Lowering::numbered(source, 0, source.bytes().len())
    }

    /// As `new`, for that part of a file, `length` bytes, whose nodes are numbered from `first` on.
    pub(super) fn numbered(source: &'s SourceText, first: u32, length: usize) -> Lowering<'s> {
        let bytes = source.bytes();
        Lowering {
            bytes,
            names: FxHashMap::with_capacity_and_hasher(length / 128, FxBuildHasher),
            package: None,
            imports: Vec::new(),
            decls: Arena::new(first, 0),
            top_level: Vec::new(),
            loose_literals: Vec::new(),
            literals: Vec::new(),
            comments: Vec::new(),
            errors: Vec::new(),
            exprs: Arena::new(first, length / 8),
            stmts: Arena::new(first, length / 40),
            too_deep: false,
            hidden_type_params: Box::default(),
            hidden_types: FxHashMap::default(),
        }
    }

    /// Adds what `cursor` stands on; the text of its tree starts at `base` of the file, and of it
    /// nothing behind `end` is in the file.
    pub(super) fn add(&mut self, cursor: TreeCursor, base: u32, end: u32) {
        let place = |at: u32| (base + at).min(end);
        self.add_placed(cursor, |start, end| Span::new(place(start), place(end)));
    }

    /// As `add`, for a tree whose text is an excerpt of the file.
    pub(super) fn add_excerpt(&mut self, cursor: TreeCursor, excerpt: &Excerpt) {
        self.add_placed(cursor, |start, end| excerpt.place(start, end));
    }

    /// Adds what `cursor` stands on. `place` gives the place in the file of what stands in the text
    /// of its tree from one byte to another.
    fn add_placed(&mut self, mut cursor: TreeCursor, place: impl Fn(u32, u32) -> Span) {
        self.too_deep = false;
        let table = Kind::table();
        let mut items: Vec<Item> = Vec::with_capacity(256);
        let mut frames: Vec<Frame> = Vec::with_capacity(64);
        loop {
            let node = cursor.node();
            let kind = table.get(node.kind_id() as usize).copied().unwrap_or(Kind::Error);
            let span = place(node.start_byte() as u32, node.end_byte() as u32);
            if let Some(frame) = self.enter(node, kind, span, &mut items, frames.last()) {
                if cursor.goto_first_child() {
                    frames.push(frame);
                    continue;
                }
                self.leave(&frame, &mut items);
            }
            while !cursor.goto_next_sibling() {
                let Some(frame) = frames.pop() else {
                    // A declaration that was walked by itself.
                    self.top_level(items.drain(..));
                    return;
                };
                self.leave(&frame, &mut items);
                cursor.goto_parent();
            }
        }
    }

    /// As `add`, for a declaration that has errors. A function that lost its body to them is not
    /// one that has none.
    pub(super) fn add_broken(&mut self, cursor: TreeCursor, base: u32, end: u32) {
        let first = self.top_level.len();
        self.add(cursor, base, end);
        for id in &self.top_level[first..] {
            if let DeclKind::Func(func) = &mut self.decls[id.0].kind
                && let BodyState::External = func.body
            {
                func.body = BodyState::Elided(Span::new(func.signature.span.end.min(end), end));
            }
        }
    }

    /// Marks the bodies of functions as left out: what was parsed for them is not their text.
    pub(super) fn elide_bodies(&mut self) {
        for id in &self.top_level {
            if let DeclKind::Func(func) = &mut self.decls[id.0].kind
                && let BodyState::Parsed(block) = func.body
            {
                func.body = BodyState::Elided(self.stmts[block.0].span);
            }
        }
    }

    /// Keeps the type parameters of `tree`, a type declaration made up around those of a method,
    /// for the method that is added next.
    pub(super) fn add_hidden_type_params(&mut self, tree: &Tree, base: u32, hidden: Span) {
        if let Some(spec) = self.made_up_type(tree, base, hidden.end) {
            self.hidden_type_params = spec.type_params;
        }
    }

    /// Keeps the type of `tree`, a type declaration made up around it, for the name that stands in
    /// its place in what is added next.
    pub(super) fn add_hidden_type(&mut self, tree: &Tree, base: u32, hidden: Span) {
        if let Some(spec) = self.made_up_type(tree, base, hidden.end) {
            self.hidden_types.insert(hidden.start, spec.ty);
        }
    }

    fn made_up_type(&mut self, tree: &Tree, base: u32, end: u32) -> Option<TypeSpec> {
        let declared = self.top_level.len();
        self.add(tree.walk(), base, end);
        self.top_level.truncate(declared);
        // The specification comes behind those inside it.
        match self.decls.pop()?.kind {
            DeclKind::Type(spec) => Some(spec),
            _ => None,
        }
    }

    /// Takes a leaf at once; gives the frame of anything else.
    fn enter(
        &mut self,
        node: Node,
        kind: Kind,
        span: Span,
        items: &mut Vec<Item>,
        parent: Option<&Frame>,
    ) -> Option<Frame> {
        if kind == Kind::Noise && !node.is_missing() {
            return None;
        }
        if span.start == span.end && node.is_missing() {
            self.error_absent(&node, span);
            if node.is_named() {
                items.push(Item { kind: Kind::Absent, span, value: Value::None });
            }
            return None;
        }
        if kind == Kind::Comment {
            self.comments.push(span);
            return None;
        }
        if kind.is_leaf() {
            items.push(Item { kind, span, value: Value::None });
            return None;
        }
        if kind == Kind::Error {
            self.error_unexpected(span);
        }
        let depth = match parent {
            None => 0,
            Some(parent) if parent.continues_with(kind, items.len()) => parent.depth,
            Some(parent) => parent.depth + 1,
        };
        if depth > MAX_DEPTH {
            self.error_too_deep(span);
            items.push(Item { kind: Kind::Absent, span, value: Value::None });
            return None;
        }
        Some(Frame { kind, span, items: items.len(), depth })
    }

    /// Replaces the items of a node's children by that of the node.
    fn leave(&mut self, frame: &Frame, items: &mut Vec<Item>) {
        let Frame { kind, span, items: start, .. } = *frame;
        if kind.is_group() {
            return;
        }
        if kind == Kind::Error {
            // What was understood inside stays for a list of statements or declarations to keep.
            let inside = items.split_off(start);
            let is_kept = |item: &Item| matches!(item.value, Value::Stmt(_) | Value::Decls(_));
            items.extend(inside.into_iter().filter(is_kept));
            items.push(Item { kind, span, value: Value::None });
            return;
        }
        let mut reduced = Item { kind, span, value: Value::None };
        if items[start..].iter().any(|item| item.kind == Kind::Error) && !kind.is_list() {
            if !kind.survives_errors() {
                reduced.kind = Kind::Absent;
                items.truncate(start);
                items.push(reduced);
                return;
            }
            let inside = items.split_off(start);
            items.extend(inside.into_iter().filter(|item| item.kind != Kind::Error));
        }
        reduced.value = self.reduce(kind, span, Children(items.drain(start..)));
        items.push(reduced);
    }

    fn reduce(&mut self, kind: Kind, span: Span, children: Children) -> Value {
        match kind {
            Kind::SourceFile => {
                self.top_level(children.0);
                Value::None
            }
            Kind::PackageClause => self.package_clause(children),
            Kind::ImportDeclaration => Value::Decls(Box::default()),
            Kind::ImportSpec => self.import_spec(span, children),
            Kind::ConstDeclaration => self.const_declaration(span, children),
            Kind::VarDeclaration | Kind::TypeDeclaration => self.declaration(span, children),
            Kind::ConstSpec => self.const_spec(span, children),
            Kind::VarSpec => self.var_spec(span, children),
            Kind::TypeSpec | Kind::TypeAlias => self.type_spec(span, children),
            Kind::FunctionDeclaration => self.function_declaration(span, children, false),
            Kind::MethodDeclaration => self.function_declaration(span, children, true),
            Kind::TypeParameterList => self.type_parameter_list(children),
            Kind::ParameterList => self.parameter_list(children),
            Kind::FieldDeclarationList => self.field_declaration_list(children),
            Kind::MethodElem => self.method_elem(span, children),
            Kind::LiteralValue => self.literal_value(children),
            Kind::KeyedElement => self.keyed_element(span, children),
            Kind::ArgumentList => self.argument_list(children),
            Kind::ExpressionCase | Kind::TypeCase => self.case(span, children),
            Kind::DefaultCase => self.default_case(span, children),
            Kind::CommunicationCase => self.communication_case(span, children),
            Kind::TypeElem | Kind::TypeConstraint => self.type_elem(span, children),
            _ if kind.is_statement() => {
                let statement = self.statement(kind, span, children);
                Value::Stmt(self.alloc_stmt(statement, span))
            }
            _ if kind.is_type() => {
                let ty = self.type_expression(kind, span, children);
                Value::Expr(self.alloc_expr(ty, span))
            }
            _ => {
                let expr = self.expression(kind, span, children);
                let expr = self.hoist_stars(expr, span.end);
                Value::Expr(self.alloc_expr(expr, span))
            }
        }
    }

    fn alloc_expr(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let is_literal = matches!(kind, ExprKind::FuncLit(_));
        let id = ExprId(self.exprs.push(Expr { kind, span }));
        if is_literal {
            self.loose_literals.push(id);
        }
        id
    }

    fn alloc_stmt(&mut self, kind: StmtKind, span: Span) -> StmtId {
        StmtId(self.stmts.push(Stmt { kind, span }))
    }

    fn alloc_decl(&mut self, decl: Decl) -> DeclId {
        DeclId(self.decls.push(decl))
    }

    fn symbol(&mut self, span: Span) -> Symbol {
        let name = &self.bytes[span.start as usize..span.end as usize];
        *self.names.entry(name).or_insert_with(|| Symbol::new(&String::from_utf8_lossy(name)))
    }

    fn ident(&mut self, item: &Item) -> Ident {
        Ident { name: self.symbol(item.span), span: item.span }
    }

    fn error_absent(&mut self, node: &Node, span: Span) {
        let what = match node.kind() {
            "identifier" | "type_identifier" | "field_identifier" | "package_identifier" => {
                "a name"
            }
            "\n" | "source_file_token1" => "a newline or `;`",
            token => &format!("`{token}`"),
        };
        self.errors.push(SyntaxError { span, message: format!("syntax error: missing {what}") });
    }

    fn error_unexpected(&mut self, span: Span) {
        let message = match self.first_word(span).as_str() {
            "" => "syntax error: unexpected end of file".to_string(),
            "func" | "var" | "const" | "type" => {
                "syntax error: declaration cannot be understood".to_string()
            }
            word => format!("syntax error: unexpected `{word}`"),
        };
        self.errors.push(SyntaxError { span, message });
    }

    /// The first word or so of some text, to show to people.
    pub(super) fn first_word(&self, span: Span) -> String {
        let text = &self.bytes[span.start as usize..span.end as usize];
        let mut words = text.split(|byte| byte.is_ascii_whitespace());
        let word = words.find(|word| !word.is_empty()).unwrap_or_default();
        String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned()
    }

    fn error_too_deep(&mut self, span: Span) {
        if !self.too_deep {
            self.too_deep = true;
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            self.errors.push(SyntaxError { span, message });
        }
    }

    /// The file.
    pub(super) fn finish(mut self, source: SourceText, generated: bool) -> File {
        self.decls.shrink();
        self.exprs.shrink();
        self.stmts.shrink();
        File {
            package: self.package,
            imports: self.imports,
            decls: self.decls,
            top_level: self.top_level,
            literals: self.literals,
            comments: self.comments,
            errors: self.errors,
            generated,
            serves_tests: OnceLock::new(),
            exprs: self.exprs,
            stmts: self.stmts,
            source: source.clone(),
        }
    }
}

impl Frame {
    /// Whether a child of this kind goes on with a chain that readers walk in a loop; `items` is
    /// the number of items before it.
    fn continues_with(&self, child: Kind, items: usize) -> bool {
        match self.kind {
            Kind::IfStatement => child == Kind::IfStatement,
            _ => child.is_group() || self.kind.is_left_chain() && items == self.items,
        }
    }
}

/// What the children of a node became, in order of source.
struct Children<'a>(std::vec::Drain<'a, Item>);

impl Children<'_> {
    fn next(&mut self) -> Option<Item> {
        self.0.next()
    }

    fn peek(&self) -> Option<Kind> {
        self.0.as_slice().first().map(|item| item.kind)
    }

    fn next_if(&mut self, wanted: impl Fn(Kind) -> bool) -> Option<Item> {
        if wanted(self.peek()?) { self.next() } else { None }
    }

    fn has(&self, kind: Kind) -> bool {
        self.0.as_slice().iter().any(|item| item.kind == kind)
    }
}
