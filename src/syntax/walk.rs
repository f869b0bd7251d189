//! The tree as nodes and children, for whoever asks about *all* places below one, or about what
//! stands around one.
//!
//! Nothing here recurses: generated Go nests a hundred thousand deep.

use crate::syntax::{
    ArrayLen, Body, DeclId, DeclKind, ExprId, ExprKind, File, InterfaceElem, Param, Signature,
    StmtId, StmtKind, TypeParam,
};

/// A node of the tree. Clauses of `switch` and `select` are none: what stands in them belongs to
/// the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// An expression or type.
    Expr(ExprId),
    /// A statement.
    Stmt(StmtId),
    /// A specification.
    Decl(DeclId),
}

/// All nodes at and below one, each before those below it, in order of source.
pub struct Descendants<'a> {
    file: &'a File,
    open: Vec<Node>,
}

/// What stands directly around each node below a root.
#[derive(Clone, Debug, Default)]
pub struct Parents {
    exprs: Numbered,
    stmts: Numbered,
    decls: Numbered,
}

/// What stands around the nodes of one kind, by their numbers: those below a root lie close together.
#[derive(Clone, Debug, Default)]
struct Numbered {
    first: u32,
    around: Vec<Option<Node>>,
}

impl File {
    /// Calls `visit` with each node directly below `node`, in order of source.
    pub fn children(&self, node: Node, visit: &mut dyn FnMut(Node)) {
        self.each_child(node, &mut |child| visit(child));
    }

    /// As [`File::children`], for those that ask it of every node.
    #[inline]
    fn each_child(&self, node: Node, visit: &mut impl FnMut(Node)) {
        match node {
            Node::Expr(id) => expr_children(self, id, visit),
            Node::Stmt(id) => stmt_children(self, id, visit),
            Node::Decl(id) => decl_children(self, id, visit),
        }
    }

    /// `node` and all nodes below it, function literals included.
    pub fn descendants(&self, node: Node) -> Descendants<'_> {
        Descendants { file: self, open: vec![node] }
    }

    /// The parents of all nodes below `root`.
    pub fn parents(&self, root: Node) -> Parents {
        self.parents_of(&self.descendants(root).collect::<Vec<_>>())
    }

    /// As [`File::parents`], of `nodes`, which are all [`File::descendants`] of a root.
    pub fn parents_of(&self, nodes: &[Node]) -> Parents {
        let mut parents = Parents {
            exprs: Numbered::of(nodes, |node| match node {
                Node::Expr(id) => Some(id.0),
                _ => None,
            }),
            stmts: Numbered::of(nodes, |node| match node {
                Node::Stmt(id) => Some(id.0),
                _ => None,
            }),
            decls: Numbered::of(nodes, |node| match node {
                Node::Decl(id) => Some(id.0),
                _ => None,
            }),
        };
        for &node in nodes {
            // A type shared by `a, b T` is met once for each name, below the same parent.
            self.each_child(node, &mut |child| match child {
                Node::Expr(id) => parents.exprs.set(id.0, node),
                Node::Stmt(id) => parents.stmts.set(id.0, node),
                Node::Decl(id) => parents.decls.set(id.0, node),
            });
        }
        parents
    }
}

impl Numbered {
    /// Room for those of `nodes` that `number` numbers.
    fn of(nodes: &[Node], number: impl Fn(Node) -> Option<u32>) -> Numbered {
        let numbers = || nodes.iter().filter_map(|&node| number(node));
        let first = numbers().min().unwrap_or(0);
        let len = numbers().max().map_or(0, |last| last - first + 1);
        Numbered { first, around: vec![None; len as usize] }
    }

    fn set(&mut self, number: u32, around: Node) {
        self.around[(number - self.first) as usize] = Some(around);
    }

    fn get(&self, number: u32) -> Option<Node> {
        *self.around.get(number.checked_sub(self.first)? as usize)?
    }
}

impl Parents {
    /// What stands directly around `node`; `None` for the root and what is not below it.
    pub fn of(&self, node: Node) -> Option<Node> {
        match node {
            Node::Expr(id) => self.exprs.get(id.0),
            Node::Stmt(id) => self.stmts.get(id.0),
            Node::Decl(id) => self.decls.get(id.0),
        }
    }

    /// What stands around `node`, from the inside out, up to the root.
    pub fn around(&self, node: Node) -> impl Iterator<Item = Node> {
        std::iter::successors(self.of(node), |&node| self.of(node))
    }
}

impl Iterator for Descendants<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        let node = self.open.pop()?;
        let first = self.open.len();
        self.file.each_child(node, &mut |child| self.open.push(child));
        self.open[first..].reverse();
        Some(node)
    }
}

fn expr_children(file: &File, id: ExprId, visit: &mut impl FnMut(Node)) {
    match &file.expr(id).kind {
        ExprKind::Missing | ExprKind::Ident(_) | ExprKind::BasicLit(_) => {}
        ExprKind::CompositeLit { ty, elements } => {
            exprs(ty, visit);
            for element in elements {
                exprs(&element.key, visit);
                visit(Node::Expr(element.value));
            }
        }
        ExprKind::FuncLit(lit) => {
            signature(&lit.signature, visit);
            visit(Node::Stmt(lit.body));
        }
        ExprKind::Paren(inner)
        | ExprKind::Star(inner)
        | ExprKind::Selector { base: inner, .. }
        | ExprKind::Unary { operand: inner, .. }
        | ExprKind::ChanType { element: inner, .. } => visit(Node::Expr(*inner)),
        ExprKind::Index { base, indices } => {
            visit(Node::Expr(*base));
            exprs(indices, visit);
        }
        ExprKind::Slice { base, bounds } => {
            visit(Node::Expr(*base));
            exprs(bounds.iter().flatten(), visit);
        }
        ExprKind::TypeAssert { base, ty } => exprs([base, ty], visit),
        ExprKind::Call { callee, args, .. } => {
            visit(Node::Expr(*callee));
            exprs(args, visit);
        }
        ExprKind::Binary { left, right, .. } => exprs([left, right], visit),
        ExprKind::ArrayType { len, element } => {
            if let ArrayLen::Expr(len) = len {
                visit(Node::Expr(*len));
            }
            visit(Node::Expr(*element));
        }
        ExprKind::MapType { key, value } => exprs([key, value], visit),
        ExprKind::FuncType(ty) => signature(ty, visit),
        ExprKind::StructType(fields) => exprs(fields.iter().map(|field| &field.ty), visit),
        ExprKind::InterfaceType(elements) => {
            for element in elements {
                match element {
                    InterfaceElem::Method { signature: ty, .. } => signature(ty, visit),
                    InterfaceElem::Embedded(ty) => visit(Node::Expr(*ty)),
                }
            }
        }
    }
}

fn stmt_children(file: &File, id: StmtId, visit: &mut impl FnMut(Node)) {
    match &file.stmt(id).kind {
        StmtKind::Missing | StmtKind::Empty | StmtKind::Branch { .. } => {}
        StmtKind::Expr(expr) | StmtKind::Go(expr) | StmtKind::Defer(expr) => {
            visit(Node::Expr(*expr));
        }
        StmtKind::IncDec { operand, .. } => visit(Node::Expr(*operand)),
        StmtKind::Send { channel, value } => exprs([channel, value], visit),
        StmtKind::Assign { left, right, .. } | StmtKind::Define { left, right } => {
            exprs(left.iter().chain(right), visit);
        }
        StmtKind::Return(values) => exprs(values, visit),
        StmtKind::Block(body) => stmts(body, visit),
        StmtKind::If { init, cond, then, otherwise } => {
            stmts(init, visit);
            visit(Node::Expr(*cond));
            visit(Node::Stmt(*then));
            stmts(otherwise, visit);
        }
        StmtKind::Switch { init, tag, cases } => {
            stmts(init, visit);
            exprs(tag, visit);
            for case in cases {
                exprs(case.values.iter().flatten(), visit);
                stmts(&case.body, visit);
            }
        }
        StmtKind::TypeSwitch { init, subject, cases, .. } => {
            stmts(init, visit);
            visit(Node::Expr(*subject));
            for case in cases {
                exprs(case.values.iter().flatten(), visit);
                stmts(&case.body, visit);
            }
        }
        StmtKind::Select(clauses) => {
            for clause in clauses {
                stmts(&clause.comm, visit);
                stmts(&clause.body, visit);
            }
        }
        StmtKind::For { init, cond, post, body } => {
            stmts(init, visit);
            exprs(cond, visit);
            stmts(post, visit);
            visit(Node::Stmt(*body));
        }
        StmtKind::Range { key, value, subject, body, .. } => {
            exprs(key.iter().chain(value), visit);
            visit(Node::Expr(*subject));
            visit(Node::Stmt(*body));
        }
        StmtKind::Labeled { stmt, .. } => visit(Node::Stmt(*stmt)),
        StmtKind::Decl(decls) => decls.iter().for_each(|&decl| visit(Node::Decl(decl))),
    }
}

fn decl_children(file: &File, id: DeclId, visit: &mut impl FnMut(Node)) {
    match &file.decl(id).kind {
        DeclKind::Func(func) => {
            params(func.receiver.iter(), visit);
            type_params(&func.type_params, visit);
            signature(&func.signature, visit);
            if let Body::Parsed(body) = file.body(func) {
                visit(Node::Stmt(body));
            }
        }
        DeclKind::Var(spec) => exprs(spec.ty.iter().chain(&spec.values), visit),
        DeclKind::Const(spec) => exprs(spec.ty.iter().chain(&spec.values), visit),
        DeclKind::Type(spec) => {
            type_params(&spec.type_params, visit);
            visit(Node::Expr(spec.ty));
        }
    }
}

fn signature(signature: &Signature, visit: &mut impl FnMut(Node)) {
    params(signature.params.iter(), visit);
    params(signature.results.iter(), visit);
}

fn params<'a>(params: impl Iterator<Item = &'a Param>, visit: &mut impl FnMut(Node)) {
    let mut last = None;
    for param in params {
        if last.replace(param.ty) != Some(param.ty) {
            visit(Node::Expr(param.ty));
        }
    }
}

fn type_params(params: &[TypeParam], visit: &mut impl FnMut(Node)) {
    exprs(params.iter().map(|param| &param.constraint), visit);
}

fn exprs<'a>(ids: impl IntoIterator<Item = &'a ExprId>, visit: &mut impl FnMut(Node)) {
    ids.into_iter().for_each(|&id| visit(Node::Expr(id)));
}

fn stmts<'a>(ids: impl IntoIterator<Item = &'a StmtId>, visit: &mut impl FnMut(Node)) {
    ids.into_iter().for_each(|&id| visit(Node::Stmt(id)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceText;

    /// Prints the nodes of the last declaration of `text` in order, each as its bytes and its depth.
    fn check(text: &str, expected: &[&str]) {
        let file = crate::syntax::parse(SourceText::new(text.as_bytes().to_vec()));
        let root = Node::Decl(*file.top_level.last().expect("there is a declaration"));
        let parents = file.parents(root);
        let printed: Vec<String> = file
            .descendants(root)
            .map(|node| {
                let span = match node {
                    Node::Expr(id) => file.expr(id).span,
                    Node::Stmt(id) => file.stmt(id).span,
                    Node::Decl(id) => file.decl(id).span,
                };
                let line = text[span.start as usize..span.end as usize].replace('\n', " ");
                format!("{}{line}", ".".repeat(parents.around(node).count()))
            })
            .collect();
        assert_eq!(printed, expected);
    }

    #[test]
    fn nodes_come_in_order_of_source_each_below_its_parent() {
        check(
            "package p\nfunc f(a, b int) { if x := g(a); x > 0 { return } }",
            &[
                "func f(a, b int) { if x := g(a); x > 0 { return } }",
                ".int",
                ".{ if x := g(a); x > 0 { return } }",
                "..if x := g(a); x > 0 { return }",
                "...x := g(a)",
                "....x",
                "....g(a)",
                ".....g",
                ".....a",
                "...x > 0",
                "....x",
                "....0",
                "...{ return }",
                "....return",
            ],
        );
    }

    #[test]
    fn clauses_belong_to_their_statement() {
        check(
            "package p\nfunc f() { select { case v := <-c: h(v); default: } }",
            &[
                "func f() { select { case v := <-c: h(v); default: } }",
                ".{ select { case v := <-c: h(v); default: } }",
                "..select { case v := <-c: h(v); default: }",
                "...v := <-c",
                "....v",
                "....<-c",
                ".....c",
                "...h(v)",
                "....h(v)",
                ".....h",
                ".....v",
            ],
        );
    }
}
