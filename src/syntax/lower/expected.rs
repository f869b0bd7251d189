//! Declarations that are known before they are parsed, and were given numbers then.

use crate::source::Span;
use crate::syntax::ast::BodyState;
use crate::syntax::lower::Lowering;
use crate::syntax::{
    ConstSpec, Decl, DeclKind, Declared, ExprKind, FuncDecl, Ident, OutlineKind, Param, Signature,
    TypeSpec, ValueSpec,
};

impl Lowering<'_> {
    /// Makes room in an empty file for `declared`, whose numbers are its first. What is not found
    /// there is of a type that is missing.
    pub(in crate::syntax) fn expect(&mut self, declared: &[Declared]) {
        for expected in declared {
            let kind = self.missing(expected);
            let id = self.alloc_decl(Decl { kind, span: expected.names[0].span });
            debug_assert_eq!(id, expected.id);
        }
    }

    /// Puts what was added since then in its place, and drops what was not expected.
    pub(in crate::syntax) fn find_expected(&mut self, declared: &[Declared]) {
        for id in std::mem::take(&mut self.top_level) {
            let Some((kind, name)) = declares(&self.decls[id.0]) else { continue };
            let place =
                declared.binary_search_by_key(&name.span, |expected| expected.names[0].span);
            if let Ok(place) = place
                && declared[place].kind == kind
            {
                self.decls.swap(declared[place].id.0, id.0);
            }
        }
        self.top_level = declared.iter().map(|expected| expected.id).collect();
    }

    fn missing(&mut self, declared: &Declared) -> DeclKind {
        let names = declared.names.clone();
        let name = names[0];
        let ty = self.alloc_expr(ExprKind::Missing, Span::new(name.span.end, name.span.end));
        match declared.kind {
            OutlineKind::Const => {
                DeclKind::Const(ConstSpec { names, ty: Some(ty), values: Box::default(), iota: 0 })
            }
            OutlineKind::Var => {
                DeclKind::Var(ValueSpec { names, ty: Some(ty), values: Box::default() })
            }
            OutlineKind::Func => {
                let param = |variadic| Param { name: None, ty, variadic };
                let signature = Signature {
                    params: Box::new([param(true)]),
                    results: Box::new([param(false)]),
                    span: name.span,
                };
                DeclKind::Func(FuncDecl {
                    name,
                    receiver: declared.receiver.map(|_| param(false)),
                    type_params: Box::default(),
                    signature,
                    body: BodyState::Elided(name.span),
                })
            }
            OutlineKind::Type | OutlineKind::Package | OutlineKind::Import => {
                DeclKind::Type(TypeSpec { name, type_params: Box::default(), alias: false, ty })
            }
        }
    }
}

/// What a specification declares, and the first of its names.
fn declares(decl: &Decl) -> Option<(OutlineKind, Ident)> {
    Some(match &decl.kind {
        DeclKind::Var(spec) => (OutlineKind::Var, *spec.names.first()?),
        DeclKind::Const(spec) => (OutlineKind::Const, *spec.names.first()?),
        DeclKind::Type(spec) => (OutlineKind::Type, spec.name),
        DeclKind::Func(func) => (OutlineKind::Func, func.name),
    })
}
