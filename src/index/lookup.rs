//! Selectors: fields and methods, through embedded fields at any depth (Go specification,
//! "Selectors"), and whether a type has the methods of an interface.

use std::sync::Arc;

use crate::source::Location;
use crate::syntax::Symbol;

use super::subst::Substitution;
use super::{
    Constraint, Def, FuncId, Index, Interface, InterfaceMethod, Named, QualifiedName, Selection,
    Type, TypeDecl, query,
};

/// Embedded fields that are followed one after the other.
const MAX_EMBEDDING: usize = 16;
/// Interfaces that one interface embeds, directly and not.
const MAX_INTERFACES: usize = 256;

/// A type whose members are visible at one depth.
struct Candidate {
    ty: Type,
    path: Vec<Symbol>,
    indirect: bool,
    /// Whether the type occurs more than once at this depth: what is found in it is ambiguous.
    twice: bool,
}

/// What one depth has under the name.
#[derive(Default)]
struct Level {
    found: Vec<Def>,
    ambiguous: bool,
    /// A type of a package that is not available may have it.
    external: Option<QualifiedName>,
    /// A type that is not known may have it.
    unknown: bool,
}

/// What is missing of the methods of an interface.
#[derive(Default)]
struct Missing {
    /// Whether an embedded interface is not known.
    incomplete: bool,
    /// An embedded interface of a package that is not available.
    external: Option<QualifiedName>,
}

/// A method of an interface.
struct Member {
    method: InterfaceMethod,
    /// The package that an unexported name belongs to.
    path: Symbol,
}

impl Index<'_> {
    /// The field or method that `x.name` denotes for an `x` of type `ty` in a package with import
    /// path `from`: [`Def::Field`], [`Def::Method`], [`Def::InterfaceMethod`], [`Def::External`]
    /// or [`Def::Unknown`].
    pub fn lookup(&self, ty: &Type, name: Symbol, from: Symbol) -> Def {
        // A defined pointer type has the fields of what it points to, and no methods.
        if let Type::Named(named) = ty
            && named.decl != TypeDecl::External
            && let Type::Pointer(base) = self.underlying(ty)
        {
            return match self.lookup_from(&base, true, name, from) {
                field @ Def::Field(_) => field,
                _ => Def::Unknown,
            };
        }
        match ty {
            Type::Pointer(base) => {
                // A pointer to an interface or to a type parameter has no methods.
                let found = self.lookup_from(base, true, name, from);
                match (&found, self.underlying(base)) {
                    (_, Type::Interface(_)) => Def::Unknown,
                    _ => found,
                }
            }
            other => self.lookup_from(other, false, name, from),
        }
    }

    /// The signature of the method that a value of type `ty` has under `name`.
    pub(super) fn method_type(&self, ty: &Type, name: Symbol, from: Symbol) -> Option<Type> {
        match self.lookup(ty, name, from) {
            Def::Method(_, selection) | Def::InterfaceMethod(selection) => {
                Some(selection.ty.clone())
            }
            _ => None,
        }
    }

    /// Whether `ty` has all methods of the interface type `interface`, pointer receivers counted
    /// only for a pointer; `None` when that is not known. Signatures are compared.
    pub fn implements(&self, ty: &Type, interface: &Type) -> Option<bool> {
        let Type::Interface(literal) = self.underlying(interface) else { return None };
        let (wanted, missing) = self.method_set(&literal, interface);
        let mut known = !missing.incomplete;
        for Member { method, path, .. } in &wanted {
            let (selection, func) = match self.lookup(ty, method.name, *path) {
                Def::Method(func, selection) => (selection, Some(func)),
                Def::InterfaceMethod(selection) => (selection, None),
                Def::Field(_) => return Some(false),
                Def::Unknown if self.is_complete(ty) => return Some(false),
                _ => {
                    known = false;
                    continue;
                }
            };
            if func.is_some_and(|func| self.needs_pointer(func) && !selection.indirect) {
                return Some(false);
            }
            match selection.ty.identical(&method.ty) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => known = false,
            }
        }
        known.then_some(true)
    }

    /// The methods of an interface literal that stands behind `owner`, those of embedded
    /// interfaces included.
    fn method_set(&self, interface: &Arc<Interface>, owner: &Type) -> (Vec<Member>, Missing) {
        let mut members: Vec<Member> = Vec::new();
        let missing = self.visit_methods(interface, owner, &mut |interface, method, _| {
            let path = interface.path;
            let same = |other: &Member| {
                other.method.name == method.name
                    && (method.name.is_exported() || other.path == path)
            };
            if !members.iter().any(same) {
                members.push(Member { method: method.clone(), path });
            }
            true
        });
        (members, missing)
    }

    /// Visits the methods of an interface and of those that it embeds, until `visit` says `false`.
    fn visit_methods(
        &self,
        interface: &Arc<Interface>,
        owner: &Type,
        visit: &mut dyn FnMut(&Interface, &InterfaceMethod, &Type) -> bool,
    ) -> Missing {
        let mut missing = Missing::default();
        let mut pending = vec![(Arc::clone(interface), owner.clone())];
        let mut visited = 0;
        while let Some((interface, owner)) = pending.pop() {
            visited += 1;
            if visited > MAX_INTERFACES {
                missing.incomplete = true;
                break;
            }
            for method in &interface.methods {
                if !visit(&interface, method, &owner) {
                    return missing;
                }
            }
            for constraint in interface.embedded.iter().rev() {
                self.embed(constraint, &mut pending, &mut missing);
            }
        }
        missing
    }

    fn embed(
        &self,
        constraint: &Constraint,
        pending: &mut Vec<(Arc<Interface>, Type)>,
        missing: &mut Missing,
    ) {
        // A union has no methods that could be called.
        let [(false, ty)] = &constraint.terms[..] else { return };
        match self.underlying(ty) {
            Type::Interface(interface) => pending.push((interface, ty.clone())),
            Type::Unknown => {
                missing.incomplete = true;
                missing.external = external(ty);
            }
            _ => {}
        }
    }

    fn lookup_from(&self, ty: &Type, indirect: bool, name: Symbol, from: Symbol) -> Def {
        let Some(_level) = query::level() else { return Def::Unknown };
        if name.is_blank() {
            return Def::Unknown;
        }
        let mut current =
            vec![Candidate { ty: ty.clone(), path: Vec::new(), indirect, twice: false }];
        let mut seen: Vec<Type> = Vec::new();
        for _ in 0..MAX_EMBEDDING {
            let mut level = Level::default();
            let mut next: Vec<Candidate> = Vec::new();
            for candidate in &current {
                if matches!(candidate.ty, Type::Named(_)) {
                    if seen.iter().any(|ty| ty.identical(&candidate.ty) == Some(true)) {
                        continue;
                    }
                    seen.push(candidate.ty.clone());
                }
                self.members(candidate, name, from, &mut level, &mut next);
            }
            if level.ambiguous || level.found.len() > 1 {
                return Def::Unknown;
            }
            // In a program that compiles, what is found cannot be ambiguous with what is not known
            // at the same depth.
            if let Some(found) = level.found.pop() {
                return found;
            }
            match level.external {
                _ if level.unknown => return Def::Unknown,
                Some(name) => return Def::External(name),
                None if next.is_empty() => return Def::Unknown,
                None => current = merge(next),
            }
        }
        Def::Unknown
    }

    /// Looks for `name` among the members of one type and collects its embedded fields.
    fn members(
        &self,
        candidate: &Candidate,
        name: Symbol,
        from: Symbol,
        level: &mut Level,
        next: &mut Vec<Candidate>,
    ) {
        if let Type::Named(named) = &candidate.ty {
            if let Some((func, location)) = self.declared_method(named, name, from) {
                level.ambiguous |= candidate.twice;
                let ty = self.receiver_substitution(named, self.func_type(func));
                let selection = candidate.selection(name, ty, Some(location));
                level.found.push(Def::Method(func, selection));
                return;
            }
            if named.decl == TypeDecl::External {
                if level.external.is_some() {
                    level.unknown = true;
                }
                level.external =
                    Some(QualifiedName { path: named.path, receiver: Some(named.name), name });
                return;
            }
        }
        if let Type::Param(param) = &candidate.ty {
            let constraint = self.constraint(param);
            if let Type::Interface(interface) = self.underlying(&constraint) {
                let candidate =
                    Candidate { ty: constraint, path: candidate.path.clone(), ..*candidate };
                self.interface_member(&candidate, &interface, name, from, level);
            } else {
                level.unknown = true;
            }
            return;
        }
        match self.underlying(&candidate.ty) {
            Type::Struct(literal) => {
                for field in &literal.fields {
                    if field.name == name && (name.is_exported() || literal.path == from) {
                        level.ambiguous |= candidate.twice;
                        let selection =
                            candidate.selection(name, field.ty.clone(), Some(field.location));
                        level.found.push(Def::Field(selection));
                        continue;
                    }
                    if field.embedded {
                        next.push(candidate.embedded(field.name, &field.ty));
                    }
                }
            }
            Type::Interface(interface) => {
                self.interface_member(candidate, &interface, name, from, level);
            }
            Type::Unknown => level.unknown = true,
            _ => {}
        }
    }

    fn interface_member(
        &self,
        candidate: &Candidate,
        interface: &Arc<Interface>,
        name: Symbol,
        from: Symbol,
        level: &mut Level,
    ) {
        let mut found = None;
        let missing =
            self.visit_methods(interface, &candidate.ty, &mut |interface, method, owner| {
                if method.name == name && (name.is_exported() || interface.path == from) {
                    found = Some((method.clone(), owner.clone()));
                }
                found.is_none()
            });
        if let Some((method, owner)) = found {
            level.ambiguous |= candidate.twice;
            let selection = candidate.selection(name, method.ty, method.location);
            let selection = Selection { owner, ..Arc::unwrap_or_clone(selection) };
            level.found.push(Def::InterfaceMethod(Arc::new(selection)));
        } else if let Some(external) = missing.external {
            level.external = Some(QualifiedName { name, ..external });
        } else if missing.incomplete {
            level.unknown = true;
        }
    }

    fn declared_method(
        &self,
        named: &Named,
        name: Symbol,
        from: Symbol,
    ) -> Option<(FuncId, Location)> {
        let TypeDecl::Global(object) = named.decl else { return None };
        let package = self.package(object.package);
        let func = package.methods(named.name).find(|func| func.name == name)?;
        if !name.is_exported() && package.path != from {
            return None;
        }
        Some((func.id, self.name_of(func.id)))
    }

    /// The signature of a method with the type arguments of its receiver put in.
    fn receiver_substitution(&self, named: &Named, signature: Type) -> Type {
        match self.decl_ref(named) {
            Some(owner) => Substitution::new(owner, &named.args).apply(&signature),
            None => signature,
        }
    }

    /// Whether a method is declared for the pointer to its type.
    pub(super) fn needs_pointer(&self, func: FuncId) -> bool {
        self.func(func).receiver.is_some_and(|receiver| receiver.pointer)
    }

    /// Whether everything that could give `ty` methods is known.
    fn is_complete(&self, ty: &Type) -> bool {
        let mut pending = vec![ty.strip_pointer().clone()];
        let mut visited = 0;
        while let Some(ty) = pending.pop() {
            visited += 1;
            if visited > MAX_INTERFACES {
                return false;
            }
            match self.underlying(&ty) {
                Type::Unknown => return false,
                Type::Struct(literal) => {
                    let embedded = literal.fields.iter().filter(|field| field.embedded);
                    pending.extend(embedded.map(|field| field.ty.strip_pointer().clone()));
                }
                Type::Interface(interface) if self.method_set(&interface, &ty).1.incomplete => {
                    return false;
                }
                _ => {}
            }
        }
        true
    }
}

impl Candidate {
    fn selection(&self, name: Symbol, ty: Type, location: Option<Location>) -> Arc<Selection> {
        Arc::new(Selection {
            name,
            owner: self.ty.clone(),
            path: self.path.as_slice().into(),
            location,
            ty,
            indirect: self.indirect,
            expression: false,
        })
    }

    fn embedded(&self, name: Symbol, ty: &Type) -> Candidate {
        let mut path = self.path.clone();
        path.push(name);
        Candidate {
            ty: ty.strip_pointer().clone(),
            path,
            indirect: self.indirect || matches!(ty, Type::Pointer(_)),
            twice: self.twice,
        }
    }
}

/// One candidate for each type of a depth.
fn merge(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut merged: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let same = merged.iter_mut().find(|other| other.ty.identical(&candidate.ty) == Some(true));
        match same {
            Some(other) => other.twice = true,
            None => merged.push(candidate),
        }
    }
    merged
}

/// The name of a type whose package is not available.
fn external(ty: &Type) -> Option<QualifiedName> {
    match ty {
        Type::Named(named) if named.decl == TypeDecl::External => {
            Some(QualifiedName { path: named.path, receiver: Some(named.name), name: named.name })
        }
        _ => None,
    }
}
