//! `x.name`: qualified identifiers, fields, methods, method expressions.

use std::sync::Arc;

use crate::syntax::{ExprId, Ident, Symbol};

use super::{Checker, Mode, Operand};
use crate::index::external::external_name;
use crate::index::universe::{self, Predeclared};
use crate::index::{Def, Selection, Signature, Type};

impl Checker<'_> {
    pub(super) fn select(&mut self, node: ExprId, base: Operand, name: Ident) -> Operand {
        let name = name.name;
        match base.mode {
            Mode::Package(path) => self.qualified(node, path, name),
            Mode::Type | Mode::GenericAlias(_) => self.method_expression(node, &base.ty, name),
            Mode::Value => self.member(node, &base.ty, name),
            // What has members is no function: a variable or field.
            Mode::External(external) => {
                let ty = self.index.external_variable(self.package.id, external);
                self.member(node, &ty, name)
            }
            Mode::Builtin(_) | Mode::Partial(_) => Operand::default(),
        }
    }

    fn qualified(&mut self, node: ExprId, path: Symbol, name: Symbol) -> Operand {
        if path.as_str() == "unsafe" {
            return match universe::lookup_unsafe(name) {
                Some(Predeclared::Type(ty)) => {
                    self.set_def(node, Def::PredeclaredType(ty.clone()));
                    Operand::ty(ty)
                }
                Some(Predeclared::Builtin(builtin)) => {
                    self.set_def(node, Def::Builtin(builtin));
                    Operand { mode: Mode::Builtin(builtin), ..Operand::default() }
                }
                _ => Operand::default(),
            };
        }
        let Some(package) = self.index.import(self.package.id, path) else {
            let name = external_name(path, name);
            self.set_def(node, Def::External(name));
            return self.external_operand(name);
        };
        match self.index.package(package).lookup(name) {
            Some(object) if name.is_exported() => {
                let id = object.id;
                self.set_def(node, Def::Global(id));
                self.object_operand(id)
            }
            _ => Operand::default(),
        }
    }

    fn member(&mut self, node: ExprId, ty: &Type, name: Symbol) -> Operand {
        let def = self.index.lookup(ty, name, self.package.path);
        let ty = match &def {
            Def::Field(selection) | Def::Method(_, selection) | Def::InterfaceMethod(selection) => {
                selection.ty.clone()
            }
            Def::External(name) => {
                let name = *name;
                self.set_def(node, def);
                return self.external_operand(name);
            }
            _ => Type::Unknown,
        };
        self.set_def(node, def);
        Operand::value(ty)
    }

    /// `T.name`: a function that takes the receiver first.
    fn method_expression(&mut self, node: ExprId, ty: &Type, name: Symbol) -> Operand {
        let def = self.index.lookup(ty, name, self.package.path);
        let expression = |selection: &Arc<Selection>| {
            let taking = with_receiver(&selection.ty, ty);
            let selection =
                Selection { ty: taking.clone(), expression: true, ..Selection::clone(selection) };
            (Arc::new(selection), taking)
        };
        let (def, ty) = match &def {
            Def::Method(func, selection) => {
                let (selection, ty) = expression(selection);
                (Def::Method(*func, selection), ty)
            }
            Def::InterfaceMethod(selection) => {
                let (selection, ty) = expression(selection);
                (Def::InterfaceMethod(selection), ty)
            }
            _ => (Def::Unknown, Type::Unknown),
        };
        self.set_def(node, def);
        Operand::value(ty)
    }
}

fn with_receiver(method: &Type, receiver: &Type) -> Type {
    let Type::Func(signature) = method else { return Type::Unknown };
    let params = std::iter::once(receiver).chain(&signature.params).cloned();
    Type::Func(Arc::new(Signature {
        type_params: signature.type_params.clone(),
        params: params.collect(),
        results: signature.results.clone(),
        variadic: signature.variadic,
    }))
}
