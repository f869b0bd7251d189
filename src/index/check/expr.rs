//! Expressions. What an operand is applied to nests to the left without bound (`a.b().c()`,
//! `a + b + c`), so that such a *spine* is walked in a loop; everything else nests on the stack
//! with a checked bound.

use std::sync::Arc;

use crate::syntax::{Element, ExprId, ExprKind, FuncLit, UnaryOp};

use super::types::as_type;
use super::{Checker, Mode, Name, Operand, literal};
use crate::index::{Array, Basic, Def, LocalKind, Selection, Type, query};

impl Checker<'_> {
    /// An expression without context.
    pub(super) fn expr(&mut self, expr: ExprId) -> Operand {
        self.expr_hint(expr, None)
    }

    /// An expression; `hint` is the type of a composite literal that leaves it out.
    fn expr_hint(&mut self, expr: ExprId, hint: Option<&Type>) -> Operand {
        let Some(_level) = query::level() else { return Operand::default() };
        let start = self.spine.len();
        let mut at = expr;
        while let Some(base) = spine_base(self.file, at) {
            self.spine.push(at);
            at = base;
        }
        let mut operand = self.leaf(at, hint.filter(|_| at == expr));
        self.keep(at, &operand);
        while self.spine.len() > start {
            let node = self.spine.pop().expect("the spine is longer than at the start");
            operand = self.apply(node, operand);
            self.keep(node, &operand);
        }
        operand
    }

    /// An expression whose value alone matters.
    pub(super) fn value(&mut self, expr: ExprId) -> Type {
        let operand = self.expr(expr);
        if operand.is_value() { operand.ty } else { Type::Unknown }
    }

    fn leaf(&mut self, expr: ExprId, hint: Option<&Type>) -> Operand {
        let file = self.file;
        match &file.expr(expr).kind {
            ExprKind::Ident(name) => self.ident(expr, *name),
            ExprKind::BasicLit(kind) => {
                literal::basic(*kind, &file.source.text(file.expr(expr).span))
            }
            ExprKind::CompositeLit { ty, elements } => {
                Operand::value(self.composite(*ty, elements, hint))
            }
            ExprKind::FuncLit(literal) => Operand::value(self.func_lit(expr, literal)),
            _ => match self.type_literal(expr) {
                Some(ty) => Operand::ty(ty),
                None => Operand::default(),
            },
        }
    }

    /// One step along the spine: what `node` makes of its first operand.
    fn apply(&mut self, node: ExprId, operand: Operand) -> Operand {
        let file = self.file;
        match &file.expr(node).kind {
            ExprKind::Paren(_) => operand,
            ExprKind::Selector { name, .. } => self.select(node, operand, *name),
            ExprKind::Index { indices, .. } => self.index_expr(operand, indices),
            ExprKind::Slice { bounds, .. } => {
                for bound in bounds.iter().flatten() {
                    self.expr(*bound);
                }
                Operand::value(self.sliced(&operand.ty))
            }
            ExprKind::TypeAssert { ty, .. } => Operand::value(self.ty(*ty)),
            ExprKind::Call { callee, args, spread } => {
                self.call(node, *callee, operand, args, *spread)
            }
            ExprKind::Star(_) => self.star(operand),
            ExprKind::Unary { op, .. } => self.unary(*op, operand),
            ExprKind::Binary { op, right, .. } => {
                let right = self.expr(*right);
                self.binary(*op, operand, right)
            }
            _ => Operand::default(),
        }
    }

    fn star(&mut self, operand: Operand) -> Operand {
        match operand.mode {
            Mode::Type => Operand::ty(operand.ty.pointer()),
            Mode::Value => match self.index.core(&operand.ty) {
                Type::Pointer(base) => Operand::value(Type::clone(&base)),
                _ => Operand::default(),
            },
            // `*pkg.Name`: a pointer type if `Name` is a type, and nothing is known if it is not;
            // what asks for a type knows which.
            Mode::External(name) if name.receiver.is_none() => {
                Operand::ty(as_type(operand).pointer())
            }
            _ => Operand::default(),
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: Operand) -> Operand {
        if !operand.is_value() {
            return Operand::default();
        }
        match op {
            UnaryOp::Addr => match operand.ty {
                Type::Unknown => Operand::default(),
                ty => Operand::value(ty.pointer()),
            },
            UnaryOp::Recv => match self.index.core(&operand.ty) {
                Type::Chan(_, element) => Operand::value(Type::clone(&element)),
                _ => Operand::default(),
            },
            UnaryOp::Tilde => Operand::default(),
            UnaryOp::Plus | UnaryOp::Neg | UnaryOp::Not | UnaryOp::BitNot => {
                let basic = self.basic(&operand.ty);
                let constant = operand.constant.and_then(|value| value.unary(op, basic));
                Operand::constant(operand.ty, constant)
            }
        }
    }

    fn sliced(&self, ty: &Type) -> Type {
        match self.index.core(ty) {
            Type::Slice(_) => ty.clone(),
            Type::Basic(basic) if basic.is_string() => ty.default(),
            Type::Array(array) => array.element.clone().slice(),
            Type::Pointer(base) => match self.index.core(&base) {
                Type::Array(array) => array.element.clone().slice(),
                _ => Type::Unknown,
            },
            // `[]byte | string`
            _ if !self.element_of_param(ty).is_unknown() => ty.clone(),
            _ => Type::Unknown,
        }
    }

    /// `base[indices]`: an element, or an instantiation.
    fn index_expr(&mut self, base: Operand, indices: &[ExprId]) -> Operand {
        match &base.mode {
            Mode::Type | Mode::GenericAlias(_) => {
                let arguments = indices.iter().map(|&index| self.ty(index)).collect();
                return Operand::ty(self.instantiate_type(base, arguments));
            }
            Mode::External(name) if name.receiver.is_none() => {
                let arguments: Box<[Type]> = indices.iter().map(|&index| self.ty(index)).collect();
                if arguments.iter().any(Type::is_unknown) {
                    return Operand::default();
                }
                return Operand::ty(self.instantiate_type(base, arguments));
            }
            Mode::Value => {}
            _ => return Operand::default(),
        }
        if let Type::Func(signature) = &base.ty
            && !signature.type_params.is_empty()
        {
            let arguments: Vec<Type> = indices.iter().map(|&index| self.ty(index)).collect();
            if arguments.len() < signature.type_params.len() {
                return self.partly_instantiated(base.ty, arguments);
            }
            return Operand::value(self.instantiated(signature, &arguments));
        }
        for &index in indices {
            self.expr(index);
        }
        let element = match self.index.core(&base.ty) {
            Type::Slice(element) => Type::clone(&element),
            Type::Array(array) => array.element.clone(),
            Type::Map(map) => map.value.clone(),
            Type::Basic(basic) if basic.is_string() => Type::Basic(Basic::Uint8),
            Type::Pointer(pointed) => match self.index.core(&pointed) {
                Type::Array(array) => array.element.clone(),
                _ => Type::Unknown,
            },
            _ => self.element_of_param(&base.ty),
        };
        Operand::value(element)
    }

    /// Elements of a type parameter without core type whose types all have the same elements, such
    /// as `[]byte | string`.
    fn element_of_param(&self, ty: &Type) -> Type {
        let Type::Param(param) = ty else { return Type::Unknown };
        let Type::Interface(interface) = self.index.underlying(&self.index.constraint(param))
        else {
            return Type::Unknown;
        };
        let mut element: Option<Type> = None;
        for (_, term) in interface.embedded.iter().flat_map(|union| union.terms.iter()) {
            let of_term = match self.index.underlying(term) {
                Type::Slice(element) => Type::clone(&element),
                Type::Basic(Basic::String) => Type::Basic(Basic::Uint8),
                _ => return Type::Unknown,
            };
            match &element {
                Some(before) if before.identical(&of_term) != Some(true) => return Type::Unknown,
                _ => element = Some(of_term),
            }
        }
        element.unwrap_or_default()
    }

    fn composite(&mut self, ty: Option<ExprId>, elements: &[Element], hint: Option<&Type>) -> Type {
        let stated = match (ty, hint) {
            (Some(ty), _) => self.ty(ty),
            (None, Some(hint)) => hint.clone(),
            (None, None) => Type::Unknown,
        };
        let mut literal = self.index.core(&stated);
        if ty.is_none()
            && let Type::Pointer(base) = &literal
        {
            // `{...}` for `&T{...}` inside `[]*T{...}`.
            let base = Type::clone(base);
            literal = self.index.core(&base);
            self.elements(&base, &literal, elements);
            return stated;
        }
        let count = self.elements(&stated, &literal, elements);
        match (&stated, ty.map(|ty| &self.file.expr(ty).kind)) {
            (
                Type::Array(array),
                Some(ExprKind::ArrayType { len: crate::syntax::ArrayLen::Infer, .. }),
            ) => Type::Array(Arc::new(Array { len: count, element: array.element.clone() })),
            _ => stated,
        }
    }

    /// The elements of a literal of type `ty`, whose core type is `literal`; gives the length of
    /// an array.
    fn elements(&mut self, ty: &Type, literal: &Type, elements: &[Element]) -> Option<u64> {
        let mut next = Some(0);
        let mut len = Some(0);
        for element in elements {
            let (key_hint, value_hint) = match literal {
                Type::Slice(inner) => (None, Some(Type::clone(inner))),
                Type::Array(array) => (None, Some(array.element.clone())),
                Type::Map(map) => (Some(map.key.clone()), Some(map.value.clone())),
                _ => (None, None),
            };
            let mut at = next;
            if let Some(key) = element.key {
                at = match literal {
                    Type::Struct(_) => {
                        self.field_key(ty, key);
                        None
                    }
                    Type::Unknown => {
                        self.unknown_key(key);
                        None
                    }
                    _ => {
                        let index = self.expr_hint(key, key_hint.as_ref());
                        let index = index.constant.and_then(|index| index.as_int());
                        index.and_then(|index| u64::try_from(index).ok())
                    }
                };
            }
            self.expr_hint(element.value, value_hint.as_ref());
            next = at.and_then(|at| at.checked_add(1));
            len = len.zip(next).map(|(len, next): (u64, u64)| len.max(next));
        }
        len
    }

    /// The name of a field in a struct literal.
    fn field_key(&mut self, ty: &Type, key: ExprId) {
        let ExprKind::Ident(name) = self.file.expr(key).kind else { return };
        let Type::Struct(literal) = self.index.core(ty) else { return };
        let Some(field) = literal.fields.iter().find(|field| field.name == name) else { return };
        if !self.recording {
            return;
        }
        self.set_type(key, &field.ty);
        let selection = Selection {
            name,
            owner: ty.clone(),
            path: Box::new([]),
            location: Some(field.location),
            ty: field.ty.clone(),
            indirect: false,
            expression: false,
        };
        self.set_def(key, Def::Field(Arc::new(selection)));
    }

    /// A key of a literal whose type is not known: a name may be that of a field or a use of a
    /// variable, so that it is only noted that the variable may be used.
    fn unknown_key(&mut self, key: ExprId) {
        match self.file.expr(key).kind {
            ExprKind::Ident(name) => {
                if let Name::Local(local) = self.find(name) {
                    self.capture(local);
                }
            }
            _ => {
                self.expr(key);
            }
        }
    }

    fn func_lit(&mut self, expr: ExprId, literal: &FuncLit) -> Type {
        let signature = Arc::new(self.signature(&literal.signature));
        if self.recording {
            let owner = self.owner.replace(expr);
            let mark = self.open();
            self.declare_params(&literal.signature, &signature);
            let iota = self.iota.take();
            self.body_block(literal.body);
            self.iota = iota;
            self.close(mark);
            self.owner = owner;
        }
        Type::Func(signature)
    }

    /// The basic type behind `ty`.
    pub(super) fn basic(&self, ty: &Type) -> Option<Basic> {
        match self.index.core(ty) {
            Type::Basic(basic) => Some(basic),
            _ => None,
        }
    }

    /// Declares a variable, giving untyped constants their default type.
    pub(super) fn declare_var(
        &mut self,
        name: crate::syntax::Ident,
        kind: LocalKind,
        ty: &Type,
    ) -> crate::index::LocalId {
        let ty = match ty {
            Type::Basic(Basic::UntypedNil) => Type::Unknown,
            Type::Tuple(_) => Type::Unknown,
            other => other.default(),
        };
        self.declare(name, kind, ty)
    }
}

/// The first operand of an expression that is applied to one.
fn spine_base(file: &crate::syntax::File, expr: ExprId) -> Option<ExprId> {
    match file.expr(expr).kind {
        ExprKind::Paren(base)
        | ExprKind::Star(base)
        | ExprKind::Selector { base, .. }
        | ExprKind::Index { base, .. }
        | ExprKind::Slice { base, .. }
        | ExprKind::TypeAssert { base, .. }
        | ExprKind::Call { callee: base, .. }
        | ExprKind::Unary { operand: base, .. }
        | ExprKind::Binary { left: base, .. } => Some(base),
        _ => None,
    }
}
