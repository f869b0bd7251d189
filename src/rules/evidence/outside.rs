//! Whether code outside of a package may call an exported function of it.
//!
//! A method of an unexported type can be called by others only where they get a value: one that an
//! exported declaration speaks of, or that embeds it, or an interface with that method. Which
//! interfaces of other modules there are is not known; but none of them speaks of a type of this
//! module, so only a method that does is said to stay inside.
//!
//! A channel of an unexported type is one that others cannot make, whatever function asks for it: they have
//! one only if they are given it.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use crate::index::{Func, Index, ObjectKind, Package, Type};
use crate::project::PackageId;
use crate::syntax::Symbol;

/// What others see of one package.
pub(super) struct Outside<'i, 's> {
    index: &'i Index<'s>,
    package: PackageId,
    /// The unexported types of which others may have a value.
    given_out: OnceCell<FxHashSet<Symbol>>,
    /// Those that they are given, and do not only give.
    handed_out: OnceCell<FxHashSet<Symbol>>,
}

impl<'i, 's> Outside<'i, 's> {
    pub(super) fn of(index: &'i Index<'s>, package: PackageId) -> Outside<'i, 's> {
        Outside { index, package, given_out: OnceCell::new(), handed_out: OnceCell::new() }
    }

    /// Whether others may call a function of the package and have what it is given or gives, which is
    /// of this type.
    pub(super) fn may_call(&self, func: &Func, ty: &Type) -> bool {
        let package = self.index.package(self.package);
        func.name.is_exported()
            && package.name.as_str() != "main"
            && !self.stays_inside(package, func, ty)
    }

    /// Whether others may call a function of the package with a channel of this type.
    pub(super) fn may_give(&self, func: &Func, ty: &Type) -> bool {
        self.may_call(func, ty) && !self.is_out_of_reach(ty)
    }

    /// Whether a type is that of channels which carry values of an unexported type that others are not given:
    /// they cannot name it, so that they have no such channel.
    fn is_out_of_reach(&self, ty: &Type) -> bool {
        let Type::Chan(_, carried) = ty else { return false };
        let mut carried = (**carried).clone();
        let named = loop {
            carried = match &carried {
                Type::Chan(_, inner) | Type::Pointer(inner) | Type::Slice(inner) => {
                    (**inner).clone()
                }
                Type::Named(named) => break named.clone(),
                _ => return false,
            };
        };
        let package = self.index.package(self.package);
        let handed_out =
            || self.handed_out.get_or_init(|| seen_by_others(self.index, package, Seen::Given));
        named.path == package.path
            && named.args.is_empty()
            && !named.name.is_exported()
            && !handed_out().contains(&named.name)
    }

    fn stays_inside(&self, package: &Package, func: &Func, ty: &Type) -> bool {
        let Some(receiver) = func.receiver.filter(|receiver| !receiver.name.is_exported()) else {
            return false;
        };
        let Some(home) = self.home(package, ty) else { return false };
        let given_out =
            self.given_out.get_or_init(|| seen_by_others(self.index, package, Seen::All));
        let Some(owner) = receiver.ty.filter(|_| !given_out.contains(&receiver.name)) else {
            return false;
        };
        let value = self.index.object_type(owner).pointer();
        let own = [self.package].into_iter();
        let others = match home {
            Home::Package => &[][..],
            Home::Module => self.index.reach_in_module(self.package),
        };
        !own.chain(others.iter().copied()).any(|package| self.has_interface(package, func, &value))
    }

    /// Which packages can speak of what a channel carries.
    fn home(&self, package: &Package, ty: &Type) -> Option<Home> {
        let mut ty = ty.clone();
        let named = loop {
            ty = match &ty {
                Type::Chan(_, inner) | Type::Pointer(inner) | Type::Slice(inner) => {
                    (**inner).clone()
                }
                Type::Array(array) => array.element.clone(),
                Type::Map(map) => map.value.clone(),
                Type::Named(named) => break named.clone(),
                _ => return None,
            };
        };
        if named.path == package.path {
            return Some(Home::Package);
        }
        self.index.is_of_module(self.package, named.path).then_some(Home::Module)
    }

    /// Whether a package declares an interface with this method that the value may stand behind.
    fn has_interface(&self, package: PackageId, func: &Func, value: &Type) -> bool {
        let package = self.index.package(package);
        let types = package.objects.iter().filter(|object| object.kind == ObjectKind::Type);
        types.into_iter().any(|object| {
            if !package.may_name(object.file, object.decl, func.name) {
                return false;
            }
            let ty = self.index.object_type(object.id);
            matches!(self.index.underlying(&ty), Type::Interface(_))
                && self.index.implements(value, &ty) != Some(false)
        })
    }
}

enum Home {
    Package,
    Module,
}

/// Which of the types that exported declarations speak of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    All,
    /// Those of which they give a value: what a function is given is not among them, unless it is a function
    /// itself, or another value that may hold one.
    Given,
}

/// The types that an exported function, variable or type of a package speaks of, or that one of its structs
/// embeds.
fn seen_by_others(index: &Index<'_>, package: &Package, seen: Seen) -> FxHashSet<Symbol> {
    let mut open: Vec<Type> = Vec::new();
    let speaks_of = |open: &mut Vec<Type>, ty: Type| match ty {
        Type::Func(ref signature) if seen == Seen::Given => {
            open.extend(signature.results.iter().cloned());
            let is_plain = |ty: &Type| {
                matches!(ty, Type::Chan(..) | Type::Pointer(_) | Type::Slice(_) | Type::Named(_))
            };
            open.extend(signature.params.iter().filter(|ty| !is_plain(ty)).cloned());
        }
        ty => open.push(ty),
    };
    for object in &package.objects {
        let exported = object.name.is_exported();
        match object.kind {
            ObjectKind::Func(func) if exported => speaks_of(&mut open, index.func_type(func)),
            ObjectKind::Var if exported => open.push(index.object_type(object.id)),
            ObjectKind::Type => {
                let ty = index.object_type(object.id);
                match index.underlying(&ty) {
                    Type::Struct(of) => {
                        let seen =
                            of.fields.iter().filter(|it| it.embedded || it.name.is_exported());
                        open.extend(seen.map(|field| field.ty.clone()));
                    }
                    Type::Interface(of) => {
                        open.extend(of.methods.iter().map(|method| method.ty.clone()));
                    }
                    behind if exported => open.push(behind),
                    _ => {}
                }
                // An alias is another name of a type.
                if exported && ty.named().is_none_or(|named| named.name != object.name) {
                    open.push(ty);
                }
            }
            _ => {}
        }
    }
    let methods = package.funcs.iter().filter(|it| it.receiver.is_some() && it.name.is_exported());
    methods.for_each(|method| speaks_of(&mut open, index.func_type(method.id)));
    let mut names = FxHashSet::default();
    while let Some(ty) = open.pop() {
        match &ty {
            Type::Named(named) => {
                if named.path == package.path {
                    names.insert(named.name);
                }
                open.extend(named.args.iter().cloned());
            }
            Type::Pointer(inner) | Type::Slice(inner) | Type::Chan(_, inner) => {
                open.push((**inner).clone());
            }
            Type::Array(array) => open.push(array.element.clone()),
            Type::Map(map) => open.extend([map.key.clone(), map.value.clone()]),
            Type::Func(signature) => {
                open.extend(signature.params.iter().chain(&signature.results).cloned());
            }
            Type::Struct(of) => open.extend(of.fields.iter().map(|field| field.ty.clone())),
            Type::Interface(of) => open.extend(of.methods.iter().map(|method| method.ty.clone())),
            Type::Tuple(types) => open.extend(types.iter().cloned()),
            Type::Unknown | Type::Basic(_) | Type::Param(_) => {}
        }
    }
    names
}
