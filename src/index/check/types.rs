//! Type expressions.

use std::sync::{Arc, OnceLock};

use crate::source::Location;
use crate::syntax::{
    ArrayLen, BinaryOp, ExprId, ExprKind, Ident, InterfaceElem, Param,
    Signature as SyntaxSignature, Symbol, UnaryOp,
};

use super::{Checker, Mode, Operand};
use crate::index::subst::Substitution;
use crate::index::{
    Array, Constraint, DeclRef, Field, Interface, InterfaceMethod, LocalKind, Map, Named,
    QualifiedName, Signature, Struct, Type, TypeDecl, TypeParam, query,
};

impl Checker<'_> {
    /// The type that an expression denotes.
    pub(in crate::index) fn ty(&mut self, expr: ExprId) -> Type {
        let operand = self.expr(expr);
        let ty = as_type(operand);
        self.set_type(expr, &ty);
        ty
    }

    /// The literal forms of types; `None` for any other expression.
    pub(super) fn type_literal(&mut self, expr: ExprId) -> Option<Type> {
        let file = self.file;
        Some(match &file.expr(expr).kind {
            ExprKind::ArrayType { len, element } => {
                let (len, element) = (*len, *element);
                match len {
                    ArrayLen::Slice => self.ty(element).slice(),
                    ArrayLen::Infer => {
                        Type::Array(Arc::new(Array { len: None, element: self.ty(element) }))
                    }
                    ArrayLen::Expr(len) => {
                        let len = self.expr(len).constant.and_then(|value| value.as_int());
                        let len = len.and_then(|len| u64::try_from(len).ok());
                        Type::Array(Arc::new(Array { len, element: self.ty(element) }))
                    }
                }
            }
            ExprKind::MapType { key, value } => {
                let (key, value) = (self.ty(*key), self.ty(*value));
                Type::Map(Arc::new(Map { key, value }))
            }
            ExprKind::ChanType { dir, element } => Type::Chan(*dir, Arc::new(self.ty(*element))),
            ExprKind::FuncType(signature) => Type::Func(Arc::new(self.signature(signature))),
            ExprKind::StructType(fields) => {
                let fields = fields.iter().map(|field| self.field(field)).collect();
                Type::Struct(Arc::new(Struct { fields, path: self.package.path }))
            }
            ExprKind::InterfaceType(elements) => self.interface(elements),
            _ => return None,
        })
    }

    /// Parameters and results, without declaring their names.
    pub(in crate::index) fn signature(&mut self, signature: &SyntaxSignature) -> Signature {
        let params = self.param_types(&signature.params);
        let results = self.param_types(&signature.results);
        let variadic = signature.params.last().is_some_and(|param| param.variadic);
        Signature { type_params: Box::new([]), params, results, variadic }
    }

    /// The types of parameters; those that share a type expression are read once.
    fn param_types(&mut self, params: &[Param]) -> Box<[Type]> {
        let mut last: Option<(ExprId, Type)> = None;
        let types = params.iter().map(|param| match &last {
            Some((expr, ty)) if *expr == param.ty => ty.clone(),
            _ => {
                let ty = self.ty(param.ty);
                let ty = if param.variadic { ty.slice() } else { ty };
                last = Some((param.ty, ty.clone()));
                ty
            }
        });
        types.collect()
    }

    /// Declares the named parameters and results of a function, whose types are known.
    pub(in crate::index) fn declare_params(
        &mut self,
        syntax: &SyntaxSignature,
        signature: &Signature,
    ) {
        let params = syntax.params.iter().zip(&signature.params).enumerate();
        for (place, (param, ty)) in params {
            let name = param.name.unwrap_or_else(|| self.nameless(param));
            self.declare(name, LocalKind::Param(place as u32), ty.clone());
        }
        let results = syntax.results.iter().zip(&signature.results).enumerate();
        for (place, (result, ty)) in results {
            let name = result.name.unwrap_or_else(|| self.nameless(result));
            self.declare(name, LocalKind::Result(place as u32), ty.clone());
        }
    }

    /// Declares the type parameters that a receiver `T[K, V]` names, as those of `owner`, and gives
    /// the receiver's type.
    pub(in crate::index) fn receiver(&mut self, param: &Param, owner: Option<DeclRef>) -> Type {
        let mut pointer = false;
        let mut at = param.ty;
        loop {
            match &self.file.expr(at).kind {
                ExprKind::Paren(inner) => at = *inner,
                ExprKind::Star(inner) => {
                    pointer = true;
                    at = *inner;
                }
                ExprKind::Index { indices, .. } => {
                    if let Some(owner) = owner {
                        self.declare_receiver_params(owner, indices);
                    }
                    break;
                }
                _ => break,
            }
        }
        let ty = self.ty(at);
        if pointer { ty.pointer() } else { ty }
    }

    fn declare_receiver_params(&mut self, owner: DeclRef, names: &[ExprId]) {
        for (place, &expr) in names.iter().enumerate() {
            let span = self.file.expr(expr).span;
            let ExprKind::Ident(name) = self.file.expr(expr).kind else { continue };
            let param = TypeParam { owner, index: place as u32, name };
            self.declare(Ident { name, span }, LocalKind::TypeParam, Type::Param(Arc::new(param)));
        }
    }

    /// Reads constraints for what their names denote; only needed when that is kept.
    pub(in crate::index) fn note_constraints(&mut self, constraints: impl Iterator<Item = ExprId>) {
        if !self.recording {
            return;
        }
        for constraint in constraints {
            self.constraint(constraint);
        }
    }

    /// The name under which a parameter without one is listed.
    pub(in crate::index) fn nameless(&self, param: &Param) -> Ident {
        Ident { name: Symbol::new("_"), span: self.file.expr(param.ty).span }
    }

    /// The type arguments put into a generic type.
    pub(super) fn instantiate_type(&mut self, base: Operand, arguments: Box<[Type]>) -> Type {
        match (base.mode, base.ty) {
            (Mode::Type, Type::Named(named)) => Type::Named(Arc::new(Named {
                path: named.path,
                name: named.name,
                decl: named.decl,
                args: arguments,
                expanded: OnceLock::new(),
            })),
            (Mode::GenericAlias(owner), ty) => Substitution::new(owner, &arguments).apply(&ty),
            (Mode::External(name), _) if name.receiver.is_none() => external_type(name, arguments),
            _ => Type::Unknown,
        }
    }

    fn field(&mut self, field: &crate::syntax::Field) -> Field {
        let ty = self.ty(field.ty);
        let name = field.name.or_else(|| self.embedded_name(field.ty));
        let name =
            name.unwrap_or(Ident { name: Symbol::new("_"), span: self.file.expr(field.ty).span });
        Field {
            name: name.name,
            ty,
            embedded: field.name.is_none(),
            location: Location { file: self.file_id, span: name.span },
        }
    }

    /// The name of an embedded field: that of its type, without package, pointer and arguments.
    fn embedded_name(&self, mut ty: ExprId) -> Option<Ident> {
        loop {
            let expr = self.file.expr(ty);
            match &expr.kind {
                ExprKind::Paren(inner) | ExprKind::Star(inner) => ty = *inner,
                ExprKind::Index { base, .. } => ty = *base,
                ExprKind::Selector { name, .. } => return Some(*name),
                ExprKind::Ident(name) => return Some(Ident { name: *name, span: expr.span }),
                _ => return None,
            }
        }
    }

    fn interface(&mut self, elements: &[InterfaceElem]) -> Type {
        let mut methods = Vec::new();
        let mut embedded = Vec::new();
        for element in elements {
            match element {
                InterfaceElem::Method { name, signature } => methods.push(InterfaceMethod {
                    name: name.name,
                    ty: Type::Func(Arc::new(self.signature(signature))),
                    location: Some(Location { file: self.file_id, span: name.span }),
                }),
                InterfaceElem::Embedded(expr) => embedded.push(self.union(*expr)),
            }
        }
        Type::Interface(Arc::new(Interface {
            methods: methods.into(),
            embedded: embedded.into(),
            path: self.package.path,
        }))
    }

    /// `A | ~B` as an element of an interface or as a constraint.
    fn union(&mut self, expr: ExprId) -> Constraint {
        let mut terms = Vec::new();
        let mut rest = Some(expr);
        while let Some(expr) = rest {
            let term = match self.file.expr(self.file.unparen(expr)).kind {
                ExprKind::Binary { op: BinaryOp::Or, left, right, .. } => {
                    rest = Some(left);
                    right
                }
                _ => {
                    rest = None;
                    expr
                }
            };
            match self.file.expr(self.file.unparen(term)).kind {
                ExprKind::Unary { op: UnaryOp::Tilde, operand } => {
                    terms.push((true, self.ty(operand)));
                }
                _ => terms.push((false, self.ty(term))),
            }
        }
        terms.reverse();
        Constraint { terms: terms.into() }
    }

    /// A constraint as an interface: `[T A | ~B]` means `[T interface{ A | ~B }]`.
    pub(in crate::index) fn constraint(&mut self, expr: ExprId) -> Type {
        let inner = self.file.unparen(expr);
        let implicit = matches!(
            self.file.expr(inner).kind,
            ExprKind::Binary { op: BinaryOp::Or, .. } | ExprKind::Unary { op: UnaryOp::Tilde, .. }
        );
        if !implicit {
            let ty = self.ty(expr);
            if matches!(self.index.underlying(&ty), Type::Interface(_) | Type::Unknown) {
                return ty;
            }
            return self.constraint_of(Constraint { terms: Box::new([(false, ty)]) });
        }
        let union = self.union(expr);
        self.constraint_of(union)
    }

    fn constraint_of(&self, union: Constraint) -> Type {
        Type::Interface(Arc::new(Interface {
            methods: Box::new([]),
            embedded: Box::new([union]),
            path: self.package.path,
        }))
    }
}

/// The type that an operand denotes; a name of a package that is not available is taken for the
/// type that it must be.
pub(super) fn as_type(operand: Operand) -> Type {
    match operand.mode {
        Mode::Type | Mode::GenericAlias(_) => operand.ty,
        Mode::External(name) if name.receiver.is_none() => external_type(name, Box::new([])),
        _ => Type::Unknown,
    }
}

/// A type of a package that is not available.
pub(in crate::index) fn external_type(name: QualifiedName, args: Box<[Type]>) -> Type {
    Type::Named(Arc::new(Named {
        path: name.path,
        name: name.name,
        decl: TypeDecl::External,
        args,
        expanded: OnceLock::new(),
    }))
}

/// Core types: what the rules for operations look at (Go specification, "Core types" of 1.18).
impl crate::index::Index<'_> {
    /// The underlying type; of a type parameter the one that all types of its constraint share.
    pub(in crate::index) fn core(&self, ty: &Type) -> Type {
        match ty {
            Type::Param(param) => self.constraint_core(param).1,
            other => self.underlying(other),
        }
    }

    /// Whether the constraint of a parameter has a `~` term, and its core type.
    pub(in crate::index) fn constraint_core(&self, param: &TypeParam) -> (bool, Type) {
        let constraint = self.constraint(param);
        let mut core = (false, Type::Unknown);
        if self.add_core(&constraint, false, &mut core).is_none() {
            return (false, Type::Unknown);
        }
        core
    }

    /// Joins the terms of `ty` with what was found before; `None` when they have no core type.
    fn add_core(&self, ty: &Type, tilde: bool, core: &mut (bool, Type)) -> Option<()> {
        let _level = query::level()?;
        let underlying = match ty {
            Type::Param(param) => self.underlying(&self.constraint(param)),
            other => self.underlying(other),
        };
        let Type::Interface(interface) = &underlying else {
            if underlying.is_unknown() {
                return None;
            }
            // A defined type that is a term itself is not its underlying type.
            core.0 |= tilde || matches!(ty, Type::Named(_));
            match (&core.1, &underlying) {
                (Type::Unknown, _) => core.1 = underlying,
                // The core type of channels of both kinds is the directional one.
                (Type::Chan(before, a), Type::Chan(dir, b)) => {
                    if a.identical(b) != Some(true) {
                        return None;
                    }
                    if *before == crate::syntax::ChanDir::Both {
                        core.1 = Type::Chan(*dir, Arc::clone(b));
                    }
                }
                (before, _) if before.identical(&underlying) == Some(true) => {}
                _ => return None,
            }
            return Some(());
        };
        for constraint in &interface.embedded {
            for (tilde, term) in &constraint.terms {
                if !is_methods_only(&self.underlying(term)) {
                    self.add_core(term, *tilde, core)?;
                }
            }
        }
        Some(())
    }
}

/// Whether an embedded element restricts methods alone, so that it does not count for core types.
fn is_methods_only(underlying: &Type) -> bool {
    matches!(underlying, Type::Interface(interface) if interface.embedded.is_empty())
}
