//! Type arguments put in the place of type parameters, and found from the types of arguments.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use super::query;
use super::{
    Array, Constraint, DeclRef, Field, Index, Interface, InterfaceMethod, Map, Named, Signature,
    Struct, Type, TypeParam,
};

/// The type arguments for the parameters of one declaration.
pub(super) struct Substitution<'a> {
    /// The declaration whose parameters are replaced.
    owner: DeclRef,
    /// The arguments, by index; an unknown one makes the result unknown in its place.
    args: &'a [Type],
    /// How many nodes the result may still have: broken Go can double a type with each step.
    nodes_left: Cell<u32>,
}

const MAX_NODES: u32 = 20_000;

impl<'a> Substitution<'a> {
    /// Puts `args` in the place of the parameters of `owner`.
    pub(super) fn new(owner: DeclRef, args: &'a [Type]) -> Substitution<'a> {
        Substitution { owner, args, nodes_left: Cell::new(MAX_NODES) }
    }

    /// `ty` with the arguments put in.
    pub(super) fn apply(&self, ty: &Type) -> Type {
        if self.args.is_empty() { ty.clone() } else { self.replace(ty) }
    }

    fn replace(&self, ty: &Type) -> Type {
        let Some(_level) = query::level() else { return Type::Unknown };
        let Some(nodes_left) = self.nodes_left.get().checked_sub(1) else { return Type::Unknown };
        self.nodes_left.set(nodes_left);
        match ty {
            Type::Unknown | Type::Basic(_) => ty.clone(),
            Type::Param(param) => self.param(param, ty),
            Type::Named(named) if named.args.is_empty() => ty.clone(),
            Type::Named(named) => Type::Named(Arc::new(Named {
                path: named.path,
                name: named.name,
                decl: named.decl,
                args: self.all(&named.args),
                expanded: OnceLock::new(),
            })),
            Type::Pointer(base) => self.replace(base).pointer(),
            Type::Slice(element) => self.replace(element).slice(),
            Type::Array(array) => Type::Array(Arc::new(Array {
                len: array.len,
                element: self.replace(&array.element),
            })),
            Type::Map(map) => {
                let (key, value) = (self.replace(&map.key), self.replace(&map.value));
                Type::Map(Arc::new(Map { key, value }))
            }
            Type::Chan(dir, element) => Type::Chan(*dir, Arc::new(self.replace(element))),
            Type::Func(signature) => Type::Func(Arc::new(self.signature(signature))),
            Type::Tuple(types) => Type::Tuple(Arc::new(self.all(types).into_vec())),
            Type::Struct(literal) => {
                let fields = literal.fields.iter();
                let fields =
                    fields.map(|field| Field { ty: self.replace(&field.ty), ..field.clone() });
                Type::Struct(Arc::new(Struct { fields: fields.collect(), path: literal.path }))
            }
            Type::Interface(interface)
                if interface.methods.is_empty() && interface.embedded.is_empty() =>
            {
                ty.clone()
            }
            Type::Interface(interface) => Type::Interface(Arc::new(self.interface(interface))),
        }
    }

    fn param(&self, param: &TypeParam, ty: &Type) -> Type {
        if param.owner != self.owner {
            return ty.clone();
        }
        self.args.get(param.index as usize).cloned().unwrap_or_default()
    }

    fn all(&self, types: &[Type]) -> Box<[Type]> {
        types.iter().map(|ty| self.replace(ty)).collect()
    }

    fn signature(&self, signature: &Signature) -> Signature {
        let own = signature.type_params.first().is_some_and(|param| param.owner == self.owner);
        Signature {
            type_params: if own { Box::new([]) } else { signature.type_params.clone() },
            params: self.all(&signature.params),
            results: self.all(&signature.results),
            variadic: signature.variadic,
        }
    }

    fn interface(&self, interface: &Interface) -> Interface {
        let methods = interface.methods.iter();
        let methods = methods
            .map(|method| InterfaceMethod { ty: self.replace(&method.ty), ..method.clone() });
        let embedded = interface.embedded.iter().map(|constraint| Constraint {
            terms: constraint.terms.iter().map(|(tilde, ty)| (*tilde, self.replace(ty))).collect(),
        });
        Interface { methods: methods.collect(), embedded: embedded.collect(), path: interface.path }
    }
}

/// The search for the type arguments of a call to a generic function
/// (Go specification, "Type unification").
pub(super) struct Inference<'a> {
    index: &'a Index<'a>,
    owner: DeclRef,
    /// What has been found; `None` where nothing has been.
    args: Vec<Option<Type>>,
}

impl<'a> Inference<'a> {
    /// A search for the arguments of `params`, all of one declaration, of which the first are
    /// given.
    pub(super) fn new(
        index: &'a Index<'a>,
        params: &[Arc<TypeParam>],
        given: &[Type],
    ) -> Option<Inference<'a>> {
        let owner = params.first()?.owner;
        let args = (0..params.len()).map(|at| given.get(at).cloned()).collect();
        Some(Inference { index, owner, args })
    }

    /// Learns from an argument of type `argument` passed for a parameter of type `param`.
    pub(super) fn unify(&mut self, param: &Type, argument: &Type) {
        let Some(_level) = query::level() else { return };
        match (param, argument) {
            (_, Type::Unknown) => {}
            (Type::Param(own), _) if own.owner == self.owner => self.learn(own.index, argument),
            (Type::Named(a), Type::Named(b)) if a.name == b.name && a.path == b.path => {
                self.unify_all(&a.args, &b.args);
            }
            (Type::Named(interface), _) => self.unify_interface(interface, param, argument),
            (Type::Basic(_) | Type::Unknown, _) => {}
            // A type parameter of the function around the call stands for its core type.
            (_, Type::Param(outer)) => {
                let core = self.index.constraint_core(outer).1;
                self.unify(param, &core);
            }
            (_, Type::Named(_)) => {
                let underlying = self.index.underlying(argument);
                if !matches!(underlying, Type::Named(_)) {
                    self.unify(param, &underlying);
                }
            }
            (Type::Pointer(a), Type::Pointer(b))
            | (Type::Slice(a), Type::Slice(b))
            | (Type::Chan(_, a), Type::Chan(_, b)) => self.unify(a, b),
            (Type::Array(a), Type::Array(b)) => self.unify(&a.element, &b.element),
            (Type::Map(a), Type::Map(b)) => {
                self.unify(&a.key, &b.key);
                self.unify(&a.value, &b.value);
            }
            (Type::Func(a), Type::Func(b)) if b.type_params.is_empty() => {
                self.unify_all(&a.params, &b.params);
                self.unify_all(&a.results, &b.results);
            }
            (Type::Struct(a), Type::Struct(b)) => {
                for (a, b) in a.fields.iter().zip(&b.fields) {
                    self.unify(&a.ty, &b.ty);
                }
            }
            (Type::Interface(interface), _) => self.unify_methods(interface, argument),
            _ => {}
        }
    }

    /// Gives a parameter that nothing was learnt about the default type of an untyped constant.
    pub(super) fn untyped(&mut self, param: &Type, argument: &Type) {
        if let Type::Param(own) = param
            && own.owner == self.owner
            && self.args[own.index as usize].is_none()
        {
            self.args[own.index as usize] = Some(argument.default());
        }
    }

    /// Learns from the core types of the constraints, until nothing new is learnt.
    pub(super) fn constraints(&mut self, params: &[Arc<TypeParam>]) {
        for _ in 0..params.len() + 1 {
            let before = self.known();
            for param in params {
                let (tilde, core) = self.index.constraint_core(param);
                if core.is_unknown() {
                    self.constraint_methods(param);
                    continue;
                }
                match self.args[param.index as usize].clone() {
                    Some(found) => self.unify(&core, &self.index.underlying(&found)),
                    None if !tilde => {
                        let ty = self.apply(&core);
                        if !self.mentions_open(&core) {
                            self.args[param.index as usize] = Some(ty);
                        }
                    }
                    None => {}
                }
            }
            if self.known() == before {
                return;
            }
        }
    }

    /// `ty` with what was found; unknown in the places where nothing was.
    pub(super) fn apply(&self, ty: &Type) -> Type {
        let args = self.arguments();
        Substitution::new(self.owner, &args).apply(ty)
    }

    /// What was found, if it is everything.
    pub(super) fn complete(&self) -> Option<Vec<Type>> {
        self.args.iter().cloned().collect()
    }

    fn arguments(&self) -> Vec<Type> {
        self.args.iter().map(|arg| arg.clone().unwrap_or_default()).collect()
    }

    fn known(&self) -> usize {
        self.args.iter().filter(|arg| arg.is_some()).count()
    }

    fn learn(&mut self, index: u32, argument: &Type) {
        let Some(slot) = self.args.get_mut(index as usize) else { return };
        match slot {
            None => *slot = Some(argument.clone()),
            // Of a defined type and its literal the defined type is inferred, and of a
            // directional channel and a bidirectional one the directional one.
            Some(
                found @ (Type::Chan(..)
                | Type::Slice(_)
                | Type::Map(_)
                | Type::Func(_)
                | Type::Pointer(_)),
            ) if matches!(argument, Type::Named(_)) => {
                *found = argument.clone();
            }
            Some(Type::Chan(dir, _)) if *dir == crate::syntax::ChanDir::Both => {
                if let Type::Chan(..) = argument {
                    *slot = Some(argument.clone());
                }
            }
            Some(_) => {}
        }
    }

    fn unify_all(&mut self, params: &[Type], arguments: &[Type]) {
        for (param, argument) in params.iter().zip(arguments) {
            self.unify(param, argument);
        }
    }

    /// A parameter of a defined type: an interface is also satisfied by other types, whose
    /// methods tell the type arguments; any other type by the literal that it stands for.
    fn unify_interface(&mut self, named: &Named, param: &Type, argument: &Type) {
        if named.args.is_empty() || !self.mentions_open(param) {
            return;
        }
        match self.index.underlying(param) {
            Type::Interface(interface) => self.unify_methods(&interface, argument),
            underlying if !matches!(argument, Type::Named(_)) => self.unify(&underlying, argument),
            _ => {}
        }
    }

    fn unify_methods(&mut self, interface: &Interface, argument: &Type) {
        for method in &interface.methods {
            if let Some(ty) = self.index.method_type(argument, method.name, interface.path) {
                self.unify(&method.ty, &ty);
            }
        }
    }

    fn constraint_methods(&mut self, param: &TypeParam) {
        let Some(found) = self.args[param.index as usize].clone() else { return };
        if let Type::Interface(interface) = self.index.underlying(&self.index.constraint(param)) {
            self.unify_methods(&interface, &found);
        }
    }

    /// Whether a parameter of the declaration stands in `ty` about which nothing is known.
    fn mentions_open(&self, ty: &Type) -> bool {
        let Some(_level) = query::level() else { return true };
        let any = |types: &[Type]| types.iter().any(|ty| self.mentions_open(ty));
        match ty {
            Type::Param(param) => {
                param.owner == self.owner && self.args[param.index as usize].is_none()
            }
            Type::Named(named) => any(&named.args),
            Type::Pointer(inner) | Type::Slice(inner) | Type::Chan(_, inner) => {
                self.mentions_open(inner)
            }
            Type::Array(array) => self.mentions_open(&array.element),
            Type::Map(map) => self.mentions_open(&map.key) || self.mentions_open(&map.value),
            Type::Func(signature) => any(&signature.params) || any(&signature.results),
            Type::Tuple(types) => any(types),
            Type::Struct(literal) => {
                literal.fields.iter().any(|field| self.mentions_open(&field.ty))
            }
            Type::Interface(_) | Type::Unknown | Type::Basic(_) => false,
        }
    }
}
