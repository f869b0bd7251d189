//! Calls, conversions and instantiations of functions.

use std::sync::Arc;

use crate::syntax::{ExprId, ExprKind};

use super::types::as_type;
use super::{Checker, Mode, Operand};
use crate::index::subst::{Inference, Substitution};
use crate::index::{Basic, Callee, Def, ObjectKind, Signature, Type};

impl Checker<'_> {
    pub(super) fn call(
        &mut self,
        node: ExprId,
        callee: ExprId,
        operand: Operand,
        args: &[ExprId],
        spread: bool,
    ) -> Operand {
        match operand.mode {
            Mode::External(name) if self.index.is_external_type(name) => {
                self.convert(node, operand, args)
            }
            Mode::Type => self.convert(node, operand, args),
            Mode::Builtin(builtin) => {
                self.set_callee(node, Callee::Builtin(builtin));
                self.builtin(builtin, args)
            }
            Mode::External(name) => {
                self.arguments(args);
                self.set_callee(node, Callee::External(name));
                Operand::value(self.index.external_results(self.package.id, name))
            }
            Mode::Value => self.call_value(node, callee, (&operand.ty, &[]), args, spread),
            Mode::Partial(given) => {
                self.call_value(node, callee, (&operand.ty, &given), args, spread)
            }
            Mode::Package(_) | Mode::GenericAlias(_) => {
                self.arguments(args);
                Operand::default()
            }
        }
    }

    /// A conversion to the type that an operand denotes.
    fn convert(&mut self, node: ExprId, to: Operand, args: &[ExprId]) -> Operand {
        let ty = as_type(to);
        let argument = args.iter().map(|&arg| self.expr(arg)).last();
        self.set_callee(node, Callee::Conversion(ty.clone()));
        let constant = argument.and_then(|argument| argument.constant);
        let constant = constant.and_then(|value| value.convert(self.basic(&ty)?));
        Operand::constant(ty, constant)
    }

    fn call_value(
        &mut self,
        node: ExprId,
        callee: ExprId,
        (ty, given): (&Type, &[Type]),
        args: &[ExprId],
        spread: bool,
    ) -> Operand {
        let arguments = self.arguments(args);
        let what = if self.recording { self.what_is_called(callee, ty) } else { None };
        if let Some(what) = what {
            self.set_callee(node, what);
        }
        let Type::Func(signature) = self.index.core(ty) else { return Operand::default() };
        if signature.type_params.is_empty() {
            return Operand::value(results(&signature));
        }
        let instance = self.infer(&signature, given, &arguments, spread);
        self.set_type(callee, &instance);
        match &instance {
            Type::Func(signature) => Operand::value(results(signature)),
            _ => Operand::default(),
        }
    }

    /// The types of the arguments; the results of a single call with several stand for them.
    pub(super) fn arguments(&mut self, args: &[ExprId]) -> Vec<Type> {
        if let [single] = args {
            return match self.value(*single) {
                Type::Tuple(types) => types.to_vec(),
                ty => vec![ty],
            };
        }
        args.iter().map(|&arg| self.value(arg)).collect()
    }

    /// What the callee is, by what its name denotes.
    fn what_is_called(&self, callee: ExprId, ty: &Type) -> Option<Callee> {
        let mut at = self.file.unparen(callee);
        if let ExprKind::Index { base, .. } = self.file.expr(at).kind {
            let base = self.file.unparen(base);
            // `table[i](x)` calls a value, `f[int](x)` calls `f`.
            let generic = match self.out.resolve(base) {
                Def::Global(id) => {
                    matches!(self.index.object(*id).kind, ObjectKind::Func(_))
                }
                Def::Unknown | Def::External(_) => true,
                _ => false,
            };
            if generic {
                at = base;
            }
        }
        let unknown = |name| Some(Callee::Unknown { name });
        let name = match &self.file.expr(at).kind {
            ExprKind::FuncLit(_) => return Some(Callee::Literal(at)),
            ExprKind::Ident(name) => *name,
            ExprKind::Selector { name, .. } => name.name,
            _ if ty.is_unknown() => return unknown(None),
            _ => return Some(Callee::Value(callee)),
        };
        match self.out.resolve(at) {
            Def::Global(id) => match self.index.object(*id).kind {
                ObjectKind::Func(func) => Some(Callee::Func(func)),
                _ => Some(Callee::Value(callee)),
            },
            Def::Local(_) | Def::Field(_) => Some(Callee::Value(callee)),
            // A method expression takes the receiver as an argument: not a call of the method.
            Def::Method(_, selection) | Def::InterfaceMethod(selection) if selection.expression => {
                Some(Callee::Value(callee))
            }
            Def::Method(func, _) => Some(Callee::Func(*func)),
            Def::InterfaceMethod(selection) => Some(Callee::InterfaceMethod(Arc::clone(selection))),
            _ => unknown(Some(name)),
        }
    }

    /// A generic function with all its type arguments.
    pub(super) fn instantiated(&self, signature: &Signature, arguments: &[Type]) -> Type {
        let Some(param) = signature.type_params.first() else { return Type::Unknown };
        let generic = Signature {
            type_params: Box::new([]),
            params: signature.params.clone(),
            results: signature.results.clone(),
            variadic: signature.variadic,
        };
        let substitution = Substitution::new(param.owner, arguments);
        substitution.apply(&Type::Func(Arc::new(generic)))
    }

    /// A generic function with some of its type arguments: the constraints may tell the others;
    /// else they are inferred when it is called.
    pub(super) fn partly_instantiated(&self, generic: Type, given: Vec<Type>) -> Operand {
        let Type::Func(signature) = &generic else { return Operand::default() };
        let Some(mut inference) = Inference::new(self.index, &signature.type_params, &given) else {
            return Operand::default();
        };
        inference.constraints(&signature.type_params);
        match inference.complete() {
            Some(arguments) => Operand::value(self.instantiated(signature, &arguments)),
            None => Operand { mode: Mode::Partial(given.into()), ty: generic, constant: None },
        }
    }

    /// The instance of a generic function that a call with these arguments is of.
    fn infer(
        &self,
        signature: &Signature,
        given: &[Type],
        arguments: &[Type],
        spread: bool,
    ) -> Type {
        let Some(mut inference) = Inference::new(self.index, &signature.type_params, given) else {
            return Type::Unknown;
        };
        let mut untyped: Vec<(&Type, &Type)> = Vec::new();
        for (place, argument) in arguments.iter().enumerate() {
            let Some(param) = param_at(signature, place, spread) else { break };
            if argument.is_untyped() {
                untyped.push((param, argument));
            } else {
                inference.unify(param, argument);
            }
        }
        inference.constraints(&signature.type_params);
        for (param, argument) in largest(untyped) {
            inference.untyped(param, &argument);
        }
        inference.constraints(&signature.type_params);
        let generic = Signature {
            type_params: Box::new([]),
            params: signature.params.clone(),
            results: signature.results.clone(),
            variadic: signature.variadic,
        };
        inference.apply(&Type::Func(Arc::new(generic)))
    }
}

/// The type of the parameter that an argument is passed for; `xs...` is passed for the slice.
fn param_at(signature: &Signature, place: usize, spread: bool) -> Option<&Type> {
    let last = signature.params.len().checked_sub(1)?;
    match &signature.params[place.min(last)] {
        Type::Slice(element) if signature.variadic && place >= last && !spread => Some(element),
        param if place <= last => Some(param),
        _ => None,
    }
}

/// Of several untyped constants passed for one type parameter, the one of the largest kind counts.
fn largest<'t>(untyped: Vec<(&'t Type, &Type)>) -> Vec<(&'t Type, Type)> {
    let mut largest: Vec<(&Type, Type)> = Vec::new();
    for (param, argument) in untyped {
        let Type::Basic(kind) = *argument else { continue };
        if kind == Basic::UntypedNil {
            continue;
        }
        let same = largest.iter_mut().find(|(other, _)| other.identical(param) == Some(true));
        match same {
            Some((_, Type::Basic(before))) => *before = before.larger_untyped(kind),
            Some(_) => {}
            None => largest.push((param, Type::Basic(kind))),
        }
    }
    largest
}

fn results(signature: &Signature) -> Type {
    match &signature.results[..] {
        [single] => single.clone(),
        results => Type::Tuple(Arc::new(results.to_vec())),
    }
}
