//! Types, and what only types are made of: parameters, fields, interface elements.

use crate::source::Span;
use crate::syntax::lower::kinds::Kind;
use crate::syntax::lower::{Children, Item, Lowering, Value};
use crate::syntax::{
    ArrayLen, BinaryOp, ChanDir, Expr, ExprId, ExprKind, Field, Ident, InterfaceElem, Param,
    Signature, TypeParam, UnaryOp,
};

impl Lowering<'_> {
    pub(super) fn type_expression(
        &mut self,
        kind: Kind,
        span: Span,
        mut children: Children,
    ) -> ExprKind {
        match kind {
            Kind::ParenthesizedType => ExprKind::Paren(self.next_expr(&mut children, span)),
            Kind::GenericType => ExprKind::Index {
                base: self.next_expr(&mut children, span),
                indices: self.rest(children),
            },
            Kind::PointerType => {
                children.next_if(|kind| kind == Kind::Star);
                ExprKind::Star(self.next_expr(&mut children, span))
            }
            Kind::ArrayType => {
                let len = ArrayLen::Expr(self.next_expr(&mut children, span));
                ExprKind::ArrayType { len, element: self.next_expr(&mut children, span) }
            }
            Kind::ImplicitLengthArrayType => {
                children.next_if(|kind| kind == Kind::Ellipsis);
                let element = self.next_expr(&mut children, span);
                ExprKind::ArrayType { len: ArrayLen::Infer, element }
            }
            Kind::SliceType => {
                let element = self.next_expr(&mut children, span);
                ExprKind::ArrayType { len: ArrayLen::Slice, element }
            }
            Kind::StructType => match children.next().map(|item| item.value) {
                Some(Value::Fields(fields)) => ExprKind::StructType(fields),
                _ => ExprKind::Missing,
            },
            Kind::NegatedType => {
                let operand = self.next_expr(&mut children, span);
                ExprKind::Unary { op: UnaryOp::Tilde, operand }
            }
            Kind::InterfaceType => ExprKind::InterfaceType(self.interface_elems(children)),
            Kind::MapType => {
                let key = self.next_expr(&mut children, span);
                ExprKind::MapType { key, value: self.next_expr(&mut children, span) }
            }
            Kind::ChannelType => self.channel_type(span, children),
            Kind::FunctionType => ExprKind::FuncType(Box::new(self.signature(&mut children, span))),
            Kind::QualifiedType => self.selector(span, children),
            _ => ExprKind::Missing,
        }
    }

    fn channel_type(&mut self, span: Span, mut children: Children) -> ExprKind {
        let receives = children.next_if(|kind| kind == Kind::Arrow).is_some();
        children.next_if(|kind| kind == Kind::Chan);
        let sends = children.next_if(|kind| kind == Kind::Arrow).is_some();
        let dir = match (receives, sends) {
            (true, _) => ChanDir::Recv,
            (false, true) => ChanDir::Send,
            (false, false) => ChanDir::Both,
        };
        let element = self.next_expr(&mut children, span);
        match dir {
            ChanDir::Both => self.leftmost_arrow(element),
            _ => ExprKind::ChanType { dir, element },
        }
    }

    /// `chan` and what follows it. The grammar reads `chan <-chan T` as channels of `<-chan T`, but
    /// an arrow belongs to the leftmost `chan` that can have it (Go specification, "Channel
    /// types").
    fn leftmost_arrow(&mut self, element: ExprId) -> ExprKind {
        let mut receiving = Vec::new();
        let mut at = element;
        while let ExprKind::ChanType { dir: ChanDir::Recv, element } = self.exprs[at.0].kind {
            receiving.push(at);
            at = element;
        }
        for (left, id) in (0..receiving.len()).rev().zip(&receiving) {
            // The arrow goes to the type around this one, which keeps its `chan`.
            let Expr { kind, span } = &mut self.exprs[id.0];
            let rest = &self.bytes[span.start as usize..span.end as usize];
            span.start += memchr::memmem::find(rest, b"chan").unwrap_or(0) as u32;
            if let ExprKind::ChanType { dir, .. } = kind {
                *dir = if left == 0 { ChanDir::Both } else { ChanDir::Send };
            }
        }
        let dir = if receiving.is_empty() { ChanDir::Both } else { ChanDir::Send };
        ExprKind::ChanType { dir, element }
    }

    /// Terms of a union, folded to the left.
    pub(super) fn type_elem(&mut self, span: Span, mut children: Children) -> Value {
        let mut left = self.next_expr(&mut children, span);
        while let Some(pipe) = children.next_if(|kind| kind == Kind::Pipe) {
            let right = self.next_expr(&mut children, span);
            let whole = Span::new(span.start, self.exprs[right.0].span.end);
            let union = ExprKind::Binary { op: BinaryOp::Or, op_span: pipe.span, left, right };
            left = self.alloc_expr(union, whole);
        }
        Value::Expr(left)
    }

    /// Takes the parameters and the results, if any.
    pub(super) fn signature(&mut self, children: &mut Children, within: Span) -> Signature {
        let Some(item) = children.next_if(|kind| kind == Kind::ParameterList) else {
            let span = Span::new(within.start, within.start);
            return Signature { params: Box::default(), results: Box::default(), span };
        };
        let mut span = item.span;
        let params = item.into_params();
        let mut results = Box::default();
        let is_result = |kind| !matches!(kind, Kind::Block | Kind::Absent);
        if let Some(item) = children.next_if(is_result) {
            span = span.cover(item.span);
            results = match item.kind {
                Kind::ParameterList => item.into_params(),
                _ => Box::new([Param { name: None, ty: self.expr(item), variadic: false }]),
            };
        }
        Signature { params, results, span }
    }

    pub(super) fn parameter_list(&mut self, mut children: Children) -> Value {
        let mut params = Vec::new();
        self.named_types(&mut children, |name, ty, variadic| {
            params.push(Param { name, ty, variadic });
        });
        Value::Params(params.into_boxed_slice())
    }

    pub(super) fn type_parameter_list(&mut self, mut children: Children) -> Value {
        let mut params = Vec::new();
        self.named_types(&mut children, |name, constraint, _| {
            if let Some(name) = name {
                params.push(TypeParam { name, constraint });
            }
        });
        Value::TypeParams(params.into_boxed_slice())
    }

    /// Gives each of `a, b T, c ...U`, and types without names, to `each`. A name of a type is
    /// another kind of leaf than a name of a parameter, but of `a, b, c, d T` with many names the
    /// grammar takes the first for types: where one parameter has a name, all have.
    fn named_types(
        &mut self,
        children: &mut Children,
        mut each: impl FnMut(Option<Ident>, ExprId, bool),
    ) {
        let named = children.has(Kind::Identifier);
        let mut names = Vec::new();
        let mut is_type_next = !named;
        let mut variadic = false;
        while let Some(item) = children.next() {
            match item.kind {
                Kind::Ellipsis => {
                    variadic = true;
                    is_type_next = true;
                }
                Kind::Identifier => {
                    names.push(self.ident(&item));
                    is_type_next = true;
                }
                Kind::TypeIdentifier if !is_type_next => names.push(self.ident(&item)),
                _ => {
                    let ty = self.expr(item);
                    if names.is_empty() {
                        each(None, ty, variadic);
                    }
                    names.drain(..).for_each(|name| each(Some(name), ty, variadic));
                    variadic = false;
                    is_type_next = !named;
                }
            }
        }
    }

    pub(super) fn field_declaration_list(&mut self, mut children: Children) -> Value {
        let mut fields = Vec::new();
        let mut names = Vec::new();
        while let Some(item) = children.next() {
            let ty = match item.kind {
                Kind::FieldIdentifier => {
                    names.push(self.ident(&item));
                    continue;
                }
                Kind::Semicolon => continue,
                Kind::Star => {
                    let base = self.next_expr(&mut children, item.span);
                    let span = item.span.cover(self.exprs[base.0].span);
                    self.alloc_expr(ExprKind::Star(base), span)
                }
                _ => self.expr(item),
            };
            let is_tag = |kind| matches!(kind, Kind::RawString | Kind::InterpretedString);
            let tag = children.next_if(is_tag).map(|item| item.span);
            if names.is_empty() {
                fields.push(Field { name: None, ty, tag });
            }
            fields.extend(names.drain(..).map(|name| Field { name: Some(name), ty, tag }));
        }
        Value::Fields(fields.into_boxed_slice())
    }

    pub(super) fn method_elem(&mut self, span: Span, mut children: Children) -> Value {
        let Some(name) = children.next_if(Kind::is_name) else { return Value::None };
        let name = self.ident(&name);
        let signature = self.signature(&mut children, span);
        Value::Method(Box::new(InterfaceElem::Method { name, signature }))
    }

    fn interface_elems(&mut self, children: Children) -> Box<[InterfaceElem]> {
        let mut elems = Vec::new();
        for item in children.0.filter(|item| item.kind != Kind::Semicolon) {
            elems.push(match item.value {
                Value::Method(method) => *method,
                _ => InterfaceElem::Embedded(self.expr(item)),
            });
        }
        elems.into_boxed_slice()
    }
}

impl Item {
    pub(super) fn into_params(self) -> Box<[Param]> {
        match self.value {
            Value::Params(params) => params,
            _ => Box::default(),
        }
    }
}
