//! The tree of a file as text, for tests and for people: what [`crate::syntax::parse`] understood.
//!
//! One line for each declaration and statement, indented by nesting; expressions and types as
//! S-expressions, with `?` for what is missing.
//!
//! ```
//! use straggler::source::SourceText;
//! use straggler::syntax;
//!
//! let file = syntax::parse(SourceText::new(b"package p\nfunc f() { go g(<-c) }\n".to_vec()));
//! assert_eq!(syntax::print(&file), "package p\nfunc f ()\n  go (call g (<- c))\n");
//! ```

use std::fmt::Write;

use crate::syntax::*;

/// The whole file. Errors come last, one a line.
pub fn print(file: &File) -> String {
    let mut printer = Printer { file, out: String::new(), work: Vec::new(), depth: 0 };
    printer.file();
    printer.out
}

/// What is still to be written; the last comes first. A stack of its own, because chains nest
/// without bound.
enum Work {
    Text(String),
    Str(&'static str),
    Expr(ExprId),
    /// A statement on a line of its own.
    Stmt(StmtId),
    /// A statement inside the line of another.
    Simple(StmtId),
    Decl(DeclId),
    Indent,
    Dedent,
    Line,
}

struct Printer<'f> {
    file: &'f File,
    out: String,
    work: Vec<Work>,
    depth: usize,
}

impl Printer<'_> {
    fn file(&mut self) {
        let file = self.file;
        if let Some(package) = file.package {
            let _ = writeln!(self.out, "package {}", package.name);
        }
        for import in &file.imports {
            let name = import.name.map(|name| format!("{} ", name.name)).unwrap_or_default();
            let _ = writeln!(self.out, "import {name}\"{}\"", import.path);
        }
        for &decl in &file.top_level {
            self.work.push(Work::Decl(decl));
            self.run();
            self.out.push('\n');
        }
        for error in &file.errors {
            let at = file.source.position(error.span.start);
            let _ = writeln!(self.out, "{}:{}: {}", at.line, at.column, error.message);
        }
    }

    fn run(&mut self) {
        while let Some(work) = self.work.pop() {
            match work {
                Work::Text(text) => self.out.push_str(&text),
                Work::Str(text) => self.out.push_str(text),
                Work::Indent => self.depth += 1,
                Work::Dedent => self.depth -= 1,
                Work::Line => {
                    self.out.push('\n');
                    self.out.extend(std::iter::repeat_n("  ", self.depth));
                }
                Work::Expr(id) => {
                    let parts = self.expr(id);
                    self.work.extend(parts.into_iter().rev());
                }
                Work::Stmt(id) => {
                    let mut parts = vec![Work::Line];
                    parts.extend(self.stmt(id));
                    self.work.extend(parts.into_iter().rev());
                }
                Work::Simple(id) => {
                    let parts = self.stmt(id);
                    self.work.extend(parts.into_iter().rev());
                }
                Work::Decl(id) => {
                    let parts = self.decl(id);
                    self.work.extend(parts.into_iter().rev());
                }
            }
        }
    }

    fn decl(&self, id: DeclId) -> Vec<Work> {
        let mut parts = Vec::new();
        match &self.file.decl(id).kind {
            DeclKind::Func(func) => {
                parts.push(Work::Str("func "));
                if let Some(receiver) = &func.receiver {
                    self.params(&mut parts, std::slice::from_ref(receiver));
                    parts.push(Work::Str(" "));
                }
                parts.push(name(&func.name));
                self.type_params(&mut parts, &func.type_params);
                parts.push(Work::Str(" "));
                self.signature(&mut parts, &func.signature);
                match self.file.body(func) {
                    Body::External => parts.push(Work::Str(" external")),
                    Body::Elided(_) => parts.push(Work::Str(" elided")),
                    Body::Parsed(block) => self.block(&mut parts, block),
                }
            }
            DeclKind::Var(spec) => {
                parts.push(Work::Str("var"));
                self.values(&mut parts, &spec.names, spec.ty, &spec.values);
            }
            DeclKind::Const(spec) => {
                parts.push(Work::Text(format!("const iota={}", spec.iota)));
                self.values(&mut parts, &spec.names, spec.ty, &spec.values);
            }
            DeclKind::Type(spec) => {
                parts.push(Work::Str("type "));
                parts.push(name(&spec.name));
                self.type_params(&mut parts, &spec.type_params);
                parts.push(Work::Str(if spec.alias { " = " } else { " " }));
                parts.push(Work::Expr(spec.ty));
            }
        }
        parts
    }

    fn values(
        &self,
        parts: &mut Vec<Work>,
        names: &[Ident],
        ty: Option<ExprId>,
        values: &[ExprId],
    ) {
        for ident in names {
            parts.extend([Work::Str(" "), name(ident)]);
        }
        if let Some(ty) = ty {
            parts.extend([Work::Str(" : "), Work::Expr(ty)]);
        }
        if !values.is_empty() {
            parts.push(Work::Str(" ="));
            spaced(parts, values);
        }
    }

    fn type_params(&self, parts: &mut Vec<Work>, params: &[TypeParam]) {
        if params.is_empty() {
            return;
        }
        parts.push(Work::Str("["));
        for (at, param) in params.iter().enumerate() {
            parts.push(Work::Str(if at == 0 { "" } else { ", " }));
            parts.extend([name(&param.name), Work::Str(" "), Work::Expr(param.constraint)]);
        }
        parts.push(Work::Str("]"));
    }

    fn signature(&self, parts: &mut Vec<Work>, signature: &Signature) {
        self.params(parts, &signature.params);
        if !signature.results.is_empty() {
            parts.push(Work::Str(" "));
            self.params(parts, &signature.results);
        }
    }

    fn params(&self, parts: &mut Vec<Work>, params: &[Param]) {
        parts.push(Work::Str("("));
        for (at, param) in params.iter().enumerate() {
            parts.push(Work::Str(if at == 0 { "" } else { ", " }));
            if let Some(ident) = &param.name {
                parts.extend([name(ident), Work::Str(" ")]);
            }
            parts.push(Work::Str(if param.variadic { "..." } else { "" }));
            parts.push(Work::Expr(param.ty));
        }
        parts.push(Work::Str(")"));
    }

    fn block(&self, parts: &mut Vec<Work>, id: StmtId) {
        parts.push(Work::Indent);
        match &self.file.stmt(id).kind {
            StmtKind::Block(stmts) => parts.extend(stmts.iter().map(|&stmt| Work::Stmt(stmt))),
            _ => parts.push(Work::Stmt(id)),
        }
        parts.push(Work::Dedent);
    }

    fn expr(&self, id: ExprId) -> Vec<Work> {
        let expr = self.file.expr(id);
        let mut parts = Vec::new();
        match &expr.kind {
            ExprKind::Missing => parts.push(Work::Str("?")),
            ExprKind::Ident(name) => parts.push(Work::Str(name.as_str())),
            ExprKind::BasicLit(_) => {
                parts.push(Work::Text(self.file.source.text(expr.span).into_owned()));
            }
            ExprKind::CompositeLit { ty, elements } => {
                parts.push(Work::Str("(lit "));
                parts.push(ty.map_or(Work::Str("_"), Work::Expr));
                for element in elements {
                    parts.push(Work::Str(" "));
                    if let Some(key) = element.key {
                        parts.extend([Work::Expr(key), Work::Str(":")]);
                    }
                    parts.push(Work::Expr(element.value));
                }
                parts.push(Work::Str(")"));
            }
            ExprKind::FuncLit(func) => {
                parts.push(Work::Str("(func "));
                self.signature(&mut parts, &func.signature);
                self.block(&mut parts, func.body);
                parts.push(Work::Str(")"));
            }
            ExprKind::Paren(inner) => list(&mut parts, "paren", &[*inner]),
            ExprKind::Selector { base, name } => {
                parts.extend([Work::Expr(*base), Work::Str("."), self::name(name)]);
            }
            ExprKind::Index { base, indices } => {
                parts.extend([Work::Str("(index "), Work::Expr(*base)]);
                spaced(&mut parts, indices);
                parts.push(Work::Str(")"));
            }
            ExprKind::Slice { base, bounds } => {
                parts.extend([Work::Str("(slice "), Work::Expr(*base)]);
                for bound in bounds {
                    parts.push(Work::Str(" "));
                    parts.push(bound.map_or(Work::Str("_"), Work::Expr));
                }
                parts.push(Work::Str(")"));
            }
            ExprKind::TypeAssert { base, ty } => list(&mut parts, "assert", &[*base, *ty]),
            ExprKind::Call { callee, args, spread } => {
                parts.extend([Work::Str("(call "), Work::Expr(*callee)]);
                spaced(&mut parts, args);
                parts.push(Work::Str(if *spread { " ...)" } else { ")" }));
            }
            ExprKind::Star(inner) => list(&mut parts, "*", &[*inner]),
            ExprKind::Unary { op, operand } => list(&mut parts, unary(*op), &[*operand]),
            ExprKind::Binary { op, left, right, .. } => {
                list(&mut parts, binary(*op), &[*left, *right]);
            }
            ExprKind::ArrayType { len, element } => {
                match len {
                    ArrayLen::Slice => parts.push(Work::Str("[]")),
                    ArrayLen::Infer => parts.push(Work::Str("[...]")),
                    ArrayLen::Expr(len) => {
                        parts.extend([Work::Str("["), Work::Expr(*len), Work::Str("]")]);
                    }
                }
                parts.push(Work::Expr(*element));
            }
            ExprKind::MapType { key, value } => list(&mut parts, "map", &[*key, *value]),
            ExprKind::ChanType { dir, element } => {
                let head = match dir {
                    ChanDir::Both => "chan",
                    ChanDir::Send => "chan<-",
                    ChanDir::Recv => "<-chan",
                };
                list(&mut parts, head, &[*element]);
            }
            ExprKind::FuncType(signature) => {
                parts.push(Work::Str("(functype "));
                self.signature(&mut parts, signature);
                parts.push(Work::Str(")"));
            }
            ExprKind::StructType(fields) => {
                parts.push(Work::Str("(struct"));
                for field in fields {
                    parts.push(Work::Str(" ("));
                    if let Some(ident) = &field.name {
                        parts.extend([name(ident), Work::Str(" ")]);
                    }
                    parts.push(Work::Expr(field.ty));
                    if let Some(tag) = field.tag {
                        parts.push(Work::Text(format!(" {}", self.file.source.text(tag))));
                    }
                    parts.push(Work::Str(")"));
                }
                parts.push(Work::Str(")"));
            }
            ExprKind::InterfaceType(elems) => {
                parts.push(Work::Str("(interface"));
                for elem in elems {
                    parts.push(Work::Str(" "));
                    match elem {
                        InterfaceElem::Embedded(ty) => parts.push(Work::Expr(*ty)),
                        InterfaceElem::Method { name, signature } => {
                            parts.extend([Work::Str("("), self::name(name), Work::Str(" ")]);
                            self.signature(&mut parts, signature);
                            parts.push(Work::Str(")"));
                        }
                    }
                }
                parts.push(Work::Str(")"));
            }
        }
        parts
    }

    fn stmt(&self, id: StmtId) -> Vec<Work> {
        let mut parts = Vec::new();
        match &self.file.stmt(id).kind {
            StmtKind::Missing => parts.push(Work::Str("?")),
            StmtKind::Empty => parts.push(Work::Str("empty")),
            StmtKind::Expr(expr) => parts.push(Work::Expr(*expr)),
            StmtKind::Send { channel, value } => {
                parts.extend([Work::Str("send "), Work::Expr(*channel), Work::Str(" ")]);
                parts.push(Work::Expr(*value));
            }
            StmtKind::IncDec { operand, increment } => {
                parts.push(Work::Str(if *increment { "++ " } else { "-- " }));
                parts.push(Work::Expr(*operand));
            }
            StmtKind::Assign { left, op, right } => {
                let op = op.map(binary).unwrap_or_default();
                self.assign(&mut parts, left, format!(" {op}="), right);
            }
            StmtKind::Define { left, right } => {
                self.assign(&mut parts, left, " :=".to_string(), right);
            }
            StmtKind::Go(call) => parts.extend([Work::Str("go "), Work::Expr(*call)]),
            StmtKind::Defer(call) => parts.extend([Work::Str("defer "), Work::Expr(*call)]),
            StmtKind::Return(values) => {
                parts.push(Work::Str("return"));
                spaced(&mut parts, values);
            }
            StmtKind::Branch { kind, label } => {
                parts.push(Work::Str(match kind {
                    BranchKind::Break => "break",
                    BranchKind::Continue => "continue",
                    BranchKind::Goto => "goto",
                    BranchKind::Fallthrough => "fallthrough",
                }));
                if let Some(label) = label {
                    parts.extend([Work::Str(" "), name(label)]);
                }
            }
            StmtKind::Block(_) => {
                parts.push(Work::Str("block"));
                self.block(&mut parts, id);
            }
            StmtKind::If { init, cond, then, otherwise } => {
                parts.push(Work::Str("if "));
                before_semicolon(&mut parts, *init);
                parts.push(Work::Expr(*cond));
                self.block(&mut parts, *then);
                if let Some(otherwise) = otherwise {
                    parts.extend([Work::Line, Work::Str("else ")]);
                    match &self.file.stmt(*otherwise).kind {
                        StmtKind::Block(_) => self.block(&mut parts, *otherwise),
                        _ => parts.push(Work::Simple(*otherwise)),
                    }
                }
            }
            StmtKind::Switch { init, tag, cases } => {
                parts.push(Work::Str("switch "));
                before_semicolon(&mut parts, *init);
                parts.push(tag.map_or(Work::Str("_"), Work::Expr));
                self.cases(&mut parts, cases);
            }
            StmtKind::TypeSwitch { init, binding, subject, cases } => {
                parts.push(Work::Str("typeswitch "));
                before_semicolon(&mut parts, *init);
                if let Some(binding) = binding {
                    parts.extend([name(binding), Work::Str(" := ")]);
                }
                parts.push(Work::Expr(*subject));
                self.cases(&mut parts, cases);
            }
            StmtKind::Select(clauses) => {
                parts.push(Work::Str("select"));
                for clause in clauses {
                    parts.push(Work::Line);
                    match clause.comm {
                        None => parts.push(Work::Str("default")),
                        Some(comm) => parts.extend([Work::Str("comm "), Work::Simple(comm)]),
                    }
                    self.body(&mut parts, &clause.body);
                }
            }
            StmtKind::For { init, cond, post, body } => {
                parts.push(Work::Str("for "));
                parts.push(init.map_or(Work::Str("_"), Work::Simple));
                parts.push(Work::Str("; "));
                parts.push(cond.map_or(Work::Str("_"), Work::Expr));
                parts.push(Work::Str("; "));
                parts.push(post.map_or(Work::Str("_"), Work::Simple));
                self.block(&mut parts, *body);
            }
            StmtKind::Range { key, value, define, subject, body } => {
                parts.push(Work::Str("range "));
                let left: Vec<_> = key.iter().chain(value).copied().collect();
                if !left.is_empty() {
                    let op = if *define { " := " } else { " = " };
                    self.assign(&mut parts, &left, op.to_string(), &[]);
                }
                parts.push(Work::Expr(*subject));
                self.block(&mut parts, *body);
            }
            StmtKind::Labeled { label, stmt } => {
                parts.extend([Work::Str("label "), name(label), Work::Stmt(*stmt)]);
            }
            StmtKind::Decl(decls) => {
                for (at, decl) in decls.iter().enumerate() {
                    if at > 0 {
                        parts.push(Work::Line);
                    }
                    parts.push(Work::Decl(*decl));
                }
            }
        }
        parts
    }

    fn assign(&self, parts: &mut Vec<Work>, left: &[ExprId], op: String, right: &[ExprId]) {
        for (at, &expr) in left.iter().enumerate() {
            parts.extend([Work::Str(if at == 0 { "" } else { " " }), Work::Expr(expr)]);
        }
        parts.push(Work::Text(op));
        spaced(parts, right);
    }

    fn cases(&self, parts: &mut Vec<Work>, cases: &[Case]) {
        for case in cases {
            parts.push(Work::Line);
            match &case.values {
                None => parts.push(Work::Str("default")),
                Some(values) => {
                    parts.push(Work::Str("case"));
                    spaced(parts, values);
                }
            }
            self.body(parts, &case.body);
        }
    }

    fn body(&self, parts: &mut Vec<Work>, stmts: &[StmtId]) {
        parts.push(Work::Indent);
        parts.extend(stmts.iter().map(|&stmt| Work::Stmt(stmt)));
        parts.push(Work::Dedent);
    }
}

fn name(ident: &Ident) -> Work {
    Work::Str(ident.name.as_str())
}

fn spaced(parts: &mut Vec<Work>, exprs: &[ExprId]) {
    parts.extend(exprs.iter().flat_map(|&expr| [Work::Str(" "), Work::Expr(expr)]));
}

fn list(parts: &mut Vec<Work>, head: &'static str, exprs: &[ExprId]) {
    parts.extend([Work::Str("("), Work::Str(head)]);
    spaced(parts, exprs);
    parts.push(Work::Str(")"));
}

fn before_semicolon(parts: &mut Vec<Work>, init: Option<StmtId>) {
    if let Some(init) = init {
        parts.extend([Work::Simple(init), Work::Str("; ")]);
    }
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Plus => "+",
        UnaryOp::Neg => "-",
        UnaryOp::Not => "!",
        UnaryOp::BitNot => "^",
        UnaryOp::Addr => "&",
        UnaryOp::Recv => "<-",
        UnaryOp::Tilde => "~",
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::LogicalOr => "||",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::And => "&",
        BinaryOp::AndNot => "&^",
    }
}
