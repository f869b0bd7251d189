//! The function around a place, as statements and lines.

use crate::source::Span;
use crate::syntax::{Body, ExprId, ExprKind, File, Node, Parents, Signature, StmtId, StmtKind};

/// The innermost function around a place.
pub struct Text<'f> {
    pub file: &'f File,
    /// Its parameters and results.
    signature: &'f Signature,
    /// Its body.
    pub body: StmtId,
    /// Who stands in whom, in all of the declared function.
    pub parents: Parents,
    /// The body of the declared function.
    pub declared: StmtId,
}

impl<'f> Text<'f> {
    /// The function around `at`.
    pub fn around(file: &'f File, at: Span) -> Option<Text<'f>> {
        let mut functions = file.funcs().chain(file.initial_literals());
        let (_, func) = functions.find(|(id, _)| file.decl(*id).span.contains(at))?;
        let Body::Parsed(declared) = file.body(func) else { return None };
        let parents = file.parents(Node::Stmt(declared));
        let mut text = Text { file, signature: &func.signature, body: declared, parents, declared };
        for node in file.descendants(Node::Stmt(declared)) {
            if let Node::Expr(expr) = node
                && let ExprKind::FuncLit(literal) = &file.expr(expr).kind
                && file.stmt(literal.body).span.contains(at)
            {
                (text.signature, text.body) = (&literal.signature, literal.body);
            }
        }
        Some(text)
    }

    pub fn of(&self, expr: ExprId) -> &'f str {
        let bytes = self.file.source.slice(self.file.expr(expr).span);
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The statements of the function, without those of literals in it.
    pub fn stmts(&self) -> Vec<StmtId> {
        let is_own = |node: Node| {
            let around = self.parents.around(node).take_while(|&n| n != Node::Stmt(self.body));
            !around.into_iter().any(|node| self.is_literal(node))
        };
        let nodes = self.file.descendants(Node::Stmt(self.body));
        nodes
            .filter_map(|node| match node {
                Node::Stmt(stmt) if is_own(node) => Some(stmt),
                _ => None,
            })
            .collect()
    }

    /// Whether a loop of the function is around a statement.
    pub fn is_in_loop(&self, stmt: StmtId) -> bool {
        let around = self.parents.around(Node::Stmt(stmt));
        around.take_while(|&node| node != Node::Stmt(self.body)).any(|node| match node {
            Node::Stmt(stmt) => {
                matches!(self.file.stmt(stmt).kind, StmtKind::For { .. } | StmtKind::Range { .. })
            }
            _ => false,
        })
    }

    /// Whether a node is in a literal inside of the function.
    pub fn is_in_literal(&self, node: Node) -> bool {
        let around = self.parents.around(node).take_while(|&n| n != Node::Stmt(self.body));
        around.into_iter().any(|node| self.is_literal(node))
    }

    fn is_literal(&self, node: Node) -> bool {
        let Node::Expr(expr) = node else { return false };
        matches!(self.file.expr(expr).kind, ExprKind::FuncLit(_))
    }

    /// All names in the declared function that are spelt like `name`.
    pub fn mentions(&self, name: &str) -> Vec<ExprId> {
        let is_name = |expr: ExprId| matches!(self.file.expr(expr).kind, ExprKind::Ident(it) if it.as_str() == name);
        let nodes = self.file.descendants(Node::Stmt(self.declared));
        nodes
            .filter_map(|node| match node {
                Node::Expr(expr) if is_name(expr) => Some(expr),
                _ => None,
            })
            .collect()
    }

    /// How often something is stored in a variable of this name.
    pub fn stored(&self, name: &str) -> usize {
        let is_target = |&expr: &ExprId| {
            let Some(Node::Stmt(stmt)) = self.parents.of(Node::Expr(expr)) else { return false };
            match &self.file.stmt(stmt).kind {
                StmtKind::Define { left, .. } | StmtKind::Assign { left, .. } => {
                    left.contains(&expr)
                }
                _ => false,
            }
        };
        self.mentions(name).iter().filter(|expr| is_target(expr)).count()
    }

    /// The call that a statement is, deferred or not.
    pub fn call(&self, stmt: StmtId) -> Option<(ExprId, bool)> {
        match self.file.stmt(stmt).kind {
            StmtKind::Expr(call) => Some((call, false)),
            StmtKind::Defer(call) => Some((call, true)),
            _ => None,
        }
    }

    /// What is called, as it is written, by a call without arguments.
    pub fn callee(&self, call: ExprId) -> Option<&'f str> {
        match &self.file.expr(call).kind {
            ExprKind::Call { callee, args, .. } if args.is_empty() => Some(self.of(*callee)),
            _ => None,
        }
    }

    /// The statement that leaves the function: with `error`, where it gives an error and nothing else.
    pub fn leaving(&self, error: &str) -> Option<String> {
        match &*self.signature.results {
            [] => Some("return".to_owned()),
            results if results.iter().all(|result| result.name.is_some()) => None,
            [result] if self.of(result.ty) == "error" => Some(format!("return {error}")),
            _ => None,
        }
    }

    /// The white space before a statement that begins its line.
    pub fn indent(&self, stmt: StmtId) -> Option<String> {
        let start = self.file.stmt(stmt).span.start;
        let source = &self.file.source;
        let line = source.line_span(source.line(start))?;
        let before = source.text(Span::new(line.start, start)).into_owned();
        before.trim().is_empty().then_some(before)
    }

    /// The end of the line on which a statement ends, if nothing but a comment follows it there.
    pub fn end_of_line(&self, stmt: StmtId) -> Option<Span> {
        let end = self.file.stmt(stmt).span.end;
        let line = self.file.source.line_span(self.file.source.line(end))?;
        let rest = self.file.source.text(Span::new(end, line.end)).into_owned();
        let rest = rest.trim_start();
        (rest.is_empty() || rest.starts_with("//")).then(|| Span::new(line.end, line.end))
    }

    /// The lines of a statement that has them for itself, with an empty line that gofmt would not
    /// keep without it.
    pub fn lines(&self, stmt: StmtId) -> Option<Span> {
        self.indent(stmt)?;
        let source = &self.file.source;
        let span = self.file.stmt(stmt).span;
        let (first, last) = (source.line(span.start), source.line(span.end));
        let end = self.end_of_line(stmt)?;
        if end.start != span.end {
            return None;
        }
        let is = |line: u32, text: &[u8]| {
            source.line_span(line).is_some_and(|span| source.slice(span).trim_ascii() == text)
        };
        let closes = source.line_span(last + 1).is_some_and(|span| {
            let bytes = source.slice(span).trim_ascii();
            bytes.starts_with(b"}") || bytes.starts_with(b"case ") || bytes == b"default:"
        });
        let from = if closes && is(first.checked_sub(1)?, b"") { first - 1 } else { first };
        let start = source.line_span(from)?.start;
        Some(Span::new(start, source.line_span(last + 1)?.start))
    }
}
