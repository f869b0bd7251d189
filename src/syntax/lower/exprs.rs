//! Expressions.

use crate::source::Span;
use crate::syntax::lower::kinds::Kind;
use crate::syntax::lower::{Children, Item, Lowering, Value};
use crate::syntax::{BinaryOp, Element, ExprId, ExprKind, FuncLit, LitKind, StmtKind, UnaryOp};

impl Lowering<'_> {
    /// The expression that an item stands for. Leaves become nodes only here, since most names of
    /// declarations, fields and labels are none.
    pub(super) fn expr(&mut self, item: Item) -> ExprId {
        let kind = match item.value {
            Value::Expr(id) => return id,
            Value::Elements(elements) => ExprKind::CompositeLit { ty: None, elements },
            _ => match item.kind {
                Kind::IntLiteral => ExprKind::BasicLit(LitKind::Int),
                Kind::FloatLiteral => ExprKind::BasicLit(LitKind::Float),
                Kind::ImaginaryLiteral => ExprKind::BasicLit(LitKind::Imaginary),
                Kind::RuneLiteral => ExprKind::BasicLit(LitKind::Rune),
                Kind::RawString | Kind::InterpretedString => ExprKind::BasicLit(LitKind::String),
                Kind::Identifier if self.hidden_types.contains_key(&item.span.start) => {
                    return self.hidden_types[&item.span.start];
                }
                kind if kind.is_name() || kind.is_predeclared() => {
                    ExprKind::Ident(self.symbol(item.span))
                }
                _ => ExprKind::Missing,
            },
        };
        self.alloc_expr(kind, item.span)
    }

    /// The next child as an expression; missing at the end of `within` if there is none.
    pub(super) fn next_expr(&mut self, children: &mut Children, within: Span) -> ExprId {
        match children.next() {
            Some(item) => self.expr(item),
            None => self.alloc_expr(ExprKind::Missing, Span::new(within.end, within.end)),
        }
    }

    /// All children that are left, as expressions.
    pub(super) fn rest(&mut self, children: Children) -> Box<[ExprId]> {
        children.0.map(|item| self.expr(item)).collect()
    }

    /// The children before the next one of a kind in `stop`.
    pub(super) fn exprs_until(
        &mut self,
        children: &mut Children,
        stop: impl Fn(Kind) -> bool,
    ) -> Box<[ExprId]> {
        let count = children.0.as_slice().iter().take_while(|item| !stop(item.kind)).count();
        children.0.by_ref().take(count).map(|item| self.expr(item)).collect()
    }

    pub(super) fn expression(
        &mut self,
        kind: Kind,
        span: Span,
        mut children: Children,
    ) -> ExprKind {
        match kind {
            Kind::ParenthesizedExpression => ExprKind::Paren(self.next_expr(&mut children, span)),
            Kind::CallExpression => self.call(span, children),
            Kind::TypeConversionExpression => {
                let callee = self.next_expr(&mut children, span);
                ExprKind::Call { callee, args: self.rest(children), spread: false }
            }
            Kind::TypeInstantiationExpression => {
                let base = self.next_expr(&mut children, span);
                ExprKind::Index { base, indices: self.rest(children) }
            }
            Kind::SelectorExpression => self.selector(span, children),
            Kind::IndexExpression => {
                let base = self.next_expr(&mut children, span);
                ExprKind::Index { base, indices: self.rest(children) }
            }
            Kind::SliceExpression => self.slice(span, children),
            Kind::TypeAssertionExpression => {
                let base = self.next_expr(&mut children, span);
                ExprKind::TypeAssert { base, ty: self.next_expr(&mut children, span) }
            }
            Kind::CompositeLiteral => {
                let ty = self.next_expr(&mut children, span);
                match children.next().map(|item| item.value) {
                    Some(Value::Elements(elements)) => {
                        ExprKind::CompositeLit { ty: Some(ty), elements }
                    }
                    _ => ExprKind::Missing,
                }
            }
            Kind::FuncLiteral => {
                let signature = self.signature(&mut children, span);
                let body = match children.next() {
                    Some(item) => self.stmt(item),
                    None => self.alloc_stmt(StmtKind::Missing, Span::new(span.end, span.end)),
                };
                ExprKind::FuncLit(Box::new(FuncLit { signature, body }))
            }
            Kind::UnaryExpression => self.unary(span, children),
            Kind::BinaryExpression => self.binary(span, children),
            _ => ExprKind::Missing,
        }
    }

    /// The grammar takes `*(*T)(x)` for a conversion to `*(*T)`, but whatever stands behind an
    /// operand binds closer than the `*` before it: makes `(*y).f` that stands for `*y.f` the
    /// latter, with the same nodes.
    pub(super) fn hoist_stars(&mut self, mut kind: ExprKind, end: u32) -> ExprKind {
        let Some(base) = base(&mut kind) else { return kind };
        let mut stars = Vec::new();
        while let ExprKind::Star(inner) = self.exprs[base.0].kind {
            stars.push(*base);
            *base = inner;
        }
        let operand = *base;
        let Some((&outermost, &innermost)) = stars.first().zip(stars.last()) else { return kind };
        for (&star, &next) in stars.iter().zip(stars[1..].iter().chain([&operand])) {
            let start = self.exprs[next.0].span.start;
            self.exprs[star.0].span = Span::new(start, end);
        }
        self.exprs[innermost.0].kind = kind;
        ExprKind::Star(outermost)
    }

    fn call(&mut self, span: Span, mut children: Children) -> ExprKind {
        let mut callee = self.next_expr(&mut children, span);
        let type_args = self.exprs_until(&mut children, |kind| kind == Kind::ArgumentList);
        let arguments = children.next();
        if let Some(last) = type_args.last() {
            // From the callee to the `]`, which is the last byte that is no space before the `(`.
            let start = self.exprs[callee.0].span.start;
            let from = self.exprs[last.0].span.end;
            let end = arguments.as_ref().map_or(span.end, |item| item.span.start);
            let between = &self.bytes[from as usize..end as usize];
            let bracket = between.iter().rposition(|&byte| byte == b']');
            let end = bracket.map_or(end, |at| from + at as u32 + 1);
            let index = ExprKind::Index { base: callee, indices: type_args };
            callee = self.alloc_expr(index, Span::new(start, end));
        }
        match arguments.map(|item| item.value) {
            Some(Value::Args(args, spread)) => ExprKind::Call { callee, args, spread },
            _ => ExprKind::Missing,
        }
    }

    pub(super) fn argument_list(&mut self, mut children: Children) -> Value {
        let args = self.exprs_until(&mut children, |kind| kind == Kind::Ellipsis);
        let spread = children.next().is_some();
        Value::Args(args, spread)
    }

    pub(super) fn selector(&mut self, span: Span, mut children: Children) -> ExprKind {
        let base = self.next_expr(&mut children, span);
        match children.next_if(Kind::is_name) {
            Some(name) => ExprKind::Selector { base, name: self.ident(&name) },
            None => ExprKind::Missing,
        }
    }

    fn slice(&mut self, span: Span, mut children: Children) -> ExprKind {
        let base = self.next_expr(&mut children, span);
        let mut bounds = [None; 3];
        let mut at = 0;
        while let Some(item) = children.next() {
            match (item.kind, bounds.get_mut(at)) {
                (Kind::Colon, _) => at += 1,
                (_, Some(bound)) => *bound = Some(self.expr(item)),
                _ => return ExprKind::Missing,
            }
        }
        ExprKind::Slice { base, bounds }
    }

    fn unary(&mut self, span: Span, mut children: Children) -> ExprKind {
        let op = children.next().map(|item| item.kind);
        let operand = self.next_expr(&mut children, span);
        let op = match op {
            Some(Kind::Star) => return ExprKind::Star(operand),
            Some(Kind::Plus) => UnaryOp::Plus,
            Some(Kind::Minus) => UnaryOp::Neg,
            Some(Kind::Bang) => UnaryOp::Not,
            Some(Kind::Caret) => UnaryOp::BitNot,
            Some(Kind::Amp) => UnaryOp::Addr,
            Some(Kind::Arrow) => UnaryOp::Recv,
            _ => return ExprKind::Missing,
        };
        ExprKind::Unary { op, operand }
    }

    fn binary(&mut self, span: Span, mut children: Children) -> ExprKind {
        let left = self.next_expr(&mut children, span);
        let Some(token) = children.next() else { return ExprKind::Missing };
        let Some(op) = binary_op(token.kind) else { return ExprKind::Missing };
        let right = self.next_expr(&mut children, span);
        ExprKind::Binary { op, op_span: token.span, left, right }
    }

    pub(super) fn literal_value(&mut self, children: Children) -> Value {
        let element = |item: Item| match item.value {
            Value::Element(element) => element,
            _ => Element { key: None, value: self.expr(item) },
        };
        Value::Elements(children.0.map(element).collect())
    }

    pub(super) fn keyed_element(&mut self, span: Span, mut children: Children) -> Value {
        let key = Some(self.next_expr(&mut children, span));
        children.next_if(|kind| kind == Kind::Colon);
        Value::Element(Element { key, value: self.next_expr(&mut children, span) })
    }
}

/// What a postfix expression is built upon.
fn base(kind: &mut ExprKind) -> Option<&mut ExprId> {
    match kind {
        ExprKind::Selector { base, .. }
        | ExprKind::Index { base, .. }
        | ExprKind::Slice { base, .. }
        | ExprKind::TypeAssert { base, .. }
        | ExprKind::Call { callee: base, .. } => Some(base),
        _ => None,
    }
}

fn binary_op(token: Kind) -> Option<BinaryOp> {
    Some(match token {
        Kind::PipePipe => BinaryOp::LogicalOr,
        Kind::AmpAmp => BinaryOp::LogicalAnd,
        Kind::EqEq => BinaryOp::Eq,
        Kind::BangEq => BinaryOp::Ne,
        Kind::Less => BinaryOp::Lt,
        Kind::LessEq => BinaryOp::Le,
        Kind::Greater => BinaryOp::Gt,
        Kind::GreaterEq => BinaryOp::Ge,
        Kind::Plus => BinaryOp::Add,
        Kind::Minus => BinaryOp::Sub,
        Kind::Pipe => BinaryOp::Or,
        Kind::Caret => BinaryOp::Xor,
        Kind::Star => BinaryOp::Mul,
        Kind::Slash => BinaryOp::Div,
        Kind::Percent => BinaryOp::Rem,
        Kind::Shl => BinaryOp::Shl,
        Kind::Shr => BinaryOp::Shr,
        Kind::Amp => BinaryOp::And,
        Kind::AmpCaret => BinaryOp::AndNot,
        _ => return None,
    })
}
