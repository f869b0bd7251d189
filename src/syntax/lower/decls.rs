//! Declarations, of the file and of bodies.

use std::vec::Drain;

use crate::source::Span;
use crate::syntax::ast::BodyState;
use crate::syntax::lower::kinds::Kind;
use crate::syntax::lower::{Children, Item, Lowering, Value};
use crate::syntax::{
    ConstSpec, Decl, DeclId, DeclKind, Expr, ExprKind, FuncDecl, Ident, Import, Symbol,
    SyntaxError, TypeParam, TypeSpec, ValueSpec,
};

impl Lowering<'_> {
    pub(super) fn top_level(&mut self, items: Drain<'_, Item>) {
        for item in items {
            match item.value {
                Value::Decls(decls) => {
                    self.top_level.extend(&decls);
                    decls.iter().for_each(|&decl| self.declare_literals(decl));
                }
                Value::Stmt(_) if item.kind != Kind::EmptyStatement => {
                    let word = self.first_word(item.span);
                    let message = format!("syntax error: `{word}` outside of any declaration");
                    self.errors.push(SyntaxError { span: item.span, message });
                }
                _ => {}
            }
        }
    }

    /// Makes functions of the outermost literals of a variable's specification.
    fn declare_literals(&mut self, decl: DeclId) {
        if self.loose_literals.is_empty() {
            return;
        }
        let Decl { kind: DeclKind::Var(spec), span } = &self.decls[decl.0] else { return };
        let Some(&first) = spec.names.first() else { return };
        let ends = spec.values.iter().map(|&value| self.exprs[value.0].span.end);
        let named: Vec<(u32, Symbol)> = ends.zip(spec.names.iter().map(|it| it.name)).collect();
        let within = *span;
        let mut outermost: Vec<Decl> = Vec::new();
        // What stands around a literal was met after it.
        for &literal in self.loose_literals.iter().rev() {
            let Expr { kind: ExprKind::FuncLit(literal), span } = &self.exprs[literal.0] else {
                continue;
            };
            let inside = outermost.last().is_some_and(|around| around.span.contains(*span));
            if inside || !within.contains(*span) {
                continue;
            }
            // A call with several results has one value and several names.
            let of_value = named.iter().find(|(end, _)| span.end <= *end);
            let name = of_value.map_or(first.name, |&(_, name)| name);
            // The literal has no name: the keyword stands where one would.
            let keyword = Span::new(span.start, literal.signature.span.start);
            let func = FuncDecl {
                name: Ident { name, span: keyword },
                receiver: None,
                type_params: Box::default(),
                signature: literal.signature.clone(),
                body: BodyState::Parsed(literal.body),
            };
            outermost.push(Decl { kind: DeclKind::Func(func), span: *span });
        }
        for literal in outermost.into_iter().rev() {
            let id = self.alloc_decl(literal);
            self.literals.push(id);
        }
    }

    pub(super) fn package_clause(&mut self, mut children: Children) -> Value {
        if let Some(name) = children.next_if(Kind::is_name)
            && self.package.is_none()
        {
            self.package = Some(self.ident(&name));
        }
        Value::None
    }

    pub(super) fn import_spec(&mut self, span: Span, mut children: Children) -> Value {
        let is_name = |kind: Kind| kind.is_name() || kind == Kind::Dot;
        let name = children.next_if(is_name).map(|item| self.ident(&item));
        if let Some(path) = children.next()
            && path.span.end - path.span.start >= 2
        {
            let path = self.symbol(Span::new(path.span.start + 1, path.span.end - 1));
            self.imports.push(Import { name, path, span });
        }
        Value::None
    }

    /// `var` and `type`: their specifications.
    pub(super) fn declaration(&mut self, span: Span, children: Children) -> Value {
        let decls: Box<[DeclId]> = children.0.filter_map(declared).collect();
        self.widen(&decls, span);
        Value::Decls(decls)
    }

    /// `const`: the implicit repetition and `iota` need all specifications.
    pub(super) fn const_declaration(&mut self, span: Span, children: Children) -> Value {
        let decls: Box<[DeclId]> = children.0.filter_map(declared).collect();
        let mut repeated = (None, Box::default());
        for (iota, id) in (0..).zip(&decls) {
            let DeclKind::Const(spec) = &mut self.decls[id.0].kind else { continue };
            spec.iota = iota;
            if spec.ty.is_none() && spec.values.is_empty() {
                (spec.ty, spec.values) = repeated.clone();
            } else {
                repeated = (spec.ty, spec.values.clone());
            }
        }
        self.widen(&decls, span);
        Value::Decls(decls)
    }

    /// A specification that stands alone has the span of its declaration, with the keyword; one in
    /// parentheses ends before them.
    fn widen(&mut self, decls: &[DeclId], span: Span) {
        if let [only] = decls
            && let decl = &mut self.decls[only.0]
            && decl.span.end == span.end
        {
            decl.span = span;
        }
    }

    pub(super) fn const_spec(&mut self, span: Span, mut children: Children) -> Value {
        let names = self.names(&mut children);
        let ty = children.next_if(|kind| kind != Kind::Assign).map(|item| self.expr(item));
        children.next_if(|kind| kind == Kind::Assign);
        let values = self.rest(children);
        let kind = DeclKind::Const(ConstSpec { names, ty, values, iota: 0 });
        Value::Decl(self.alloc_decl(Decl { kind, span }))
    }

    pub(super) fn var_spec(&mut self, span: Span, mut children: Children) -> Value {
        let names = self.names(&mut children);
        let ty = children.next_if(|kind| kind != Kind::Assign).map(|item| self.expr(item));
        children.next_if(|kind| kind == Kind::Assign);
        let values = self.rest(children);
        let kind = DeclKind::Var(ValueSpec { names, ty, values });
        Value::Decl(self.alloc_decl(Decl { kind, span }))
    }

    fn names(&mut self, children: &mut Children) -> Box<[Ident]> {
        let is_name = |item: &Item| item.kind == Kind::Identifier;
        let count = children.0.as_slice().iter().take_while(|item| is_name(item)).count();
        children.0.by_ref().take(count).map(|item| self.ident(&item)).collect()
    }

    pub(super) fn type_spec(&mut self, span: Span, mut children: Children) -> Value {
        let Some(name) = children.next_if(Kind::is_name) else { return Value::None };
        let name = self.ident(&name);
        let type_params = type_params(&mut children);
        let alias = children.next_if(|kind| kind == Kind::Assign).is_some();
        let ty = self.next_expr(&mut children, span);
        let kind = DeclKind::Type(TypeSpec { name, type_params, alias, ty });
        Value::Decl(self.alloc_decl(Decl { kind, span }))
    }

    pub(super) fn function_declaration(
        &mut self,
        span: Span,
        mut children: Children,
        is_method: bool,
    ) -> Value {
        let mut receiver = None;
        if is_method && let Some(list) = children.next_if(|kind| kind == Kind::ParameterList) {
            receiver = list.into_params().first().copied();
        }
        let Some(name) = children.next_if(Kind::is_name) else { return Value::None };
        let name = self.ident(&name);
        let mut type_params = type_params(&mut children);
        if is_method {
            type_params = std::mem::take(&mut self.hidden_type_params);
        }
        let signature = self.signature(&mut children, span);
        let body = match children.next() {
            None => BodyState::External,
            Some(item) => BodyState::Parsed(self.stmt(item)),
        };
        self.loose_literals.retain(|literal| !span.contains(self.exprs[literal.0].span));
        let kind = DeclKind::Func(FuncDecl { name, receiver, type_params, signature, body });
        Value::Decls(Box::new([self.alloc_decl(Decl { kind, span })]))
    }
}

fn declared(item: Item) -> Option<DeclId> {
    match item.value {
        Value::Decl(id) => Some(id),
        _ => None,
    }
}

fn type_params(children: &mut Children) -> Box<[TypeParam]> {
    let list = children.next_if(|kind| kind == Kind::TypeParameterList);
    match list.map(|item| item.value) {
        Some(Value::TypeParams(params)) => params,
        _ => Box::default(),
    }
}
