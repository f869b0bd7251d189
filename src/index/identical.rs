//! Identity of types (Go specification, "Type identity"), and their printed form.

use std::fmt;

use crate::syntax::ChanDir;

use super::{Basic, Constraint, Interface, Signature, Struct, Type, TypeDecl, query};

impl Type {
    /// Whether both are the same type; `None` when something in them is not known.
    ///
    /// Defined types are the same when package path and name are: views of one package declare
    /// the same types.
    pub fn identical(&self, other: &Type) -> Option<bool> {
        let _level = query::level()?;
        match (self, other) {
            (Type::Unknown, _) | (_, Type::Unknown) => None,
            (Type::Basic(a), Type::Basic(b)) => Some(a == b),
            (Type::Named(a), Type::Named(b)) => {
                let same = match (a.decl, b.decl) {
                    (TypeDecl::Local(a), TypeDecl::Local(b)) => a == b,
                    (TypeDecl::Local(_), _) | (_, TypeDecl::Local(_)) => false,
                    _ => a.name == b.name && a.path == b.path,
                };
                if !same { Some(false) } else { all(&a.args, &b.args) }
            }
            (Type::Pointer(a), Type::Pointer(b)) | (Type::Slice(a), Type::Slice(b)) => {
                a.identical(b)
            }
            (Type::Array(a), Type::Array(b)) => {
                let len = match (a.len, b.len) {
                    (Some(a), Some(b)) => Some(a == b),
                    _ => None,
                };
                and(len, || a.element.identical(&b.element))
            }
            (Type::Map(a), Type::Map(b)) => {
                and(a.key.identical(&b.key), || a.value.identical(&b.value))
            }
            (Type::Chan(dir, a), Type::Chan(other, b)) => {
                if dir != other {
                    Some(false)
                } else {
                    a.identical(b)
                }
            }
            (Type::Func(a), Type::Func(b)) => {
                if a.variadic != b.variadic || a.type_params.len() != b.type_params.len() {
                    return Some(false);
                }
                and(all(&a.params, &b.params), || all(&a.results, &b.results))
            }
            (Type::Tuple(a), Type::Tuple(b)) => all(a, b),
            (Type::Param(a), Type::Param(b)) => Some(a == b),
            (Type::Struct(a), Type::Struct(b)) => a.identical(b),
            (Type::Interface(a), Type::Interface(b)) => a.identical(b),
            _ => Some(false),
        }
    }
}

impl Struct {
    fn identical(&self, other: &Struct) -> Option<bool> {
        if self.fields.len() != other.fields.len() {
            return Some(false);
        }
        let mut same = Some(true);
        for (a, b) in self.fields.iter().zip(&other.fields) {
            let paths = a.name.is_exported() || self.path == other.path;
            if a.name != b.name || a.embedded != b.embedded || !paths {
                return Some(false);
            }
            same = and(same, || a.ty.identical(&b.ty));
        }
        // Tags are not kept, so that two structs are never known to be the same on their account.
        if self.fields.is_empty() || same == Some(false) { same } else { and(same, || None) }
    }
}

impl Interface {
    /// Whether both have the same methods; interfaces that embed are not looked into.
    fn identical(&self, other: &Interface) -> Option<bool> {
        if !self.embedded.is_empty() || !other.embedded.is_empty() {
            return None;
        }
        if self.methods.len() != other.methods.len() {
            return Some(false);
        }
        let mut same = Some(true);
        for method in &self.methods {
            let Some(twin) = other.methods.iter().find(|twin| twin.name == method.name) else {
                return Some(false);
            };
            if !method.name.is_exported() && self.path != other.path {
                return Some(false);
            }
            same = and(same, || method.ty.identical(&twin.ty));
        }
        same
    }
}

fn all(a: &[Type], b: &[Type]) -> Option<bool> {
    if a.len() != b.len() {
        return Some(false);
    }
    let mut same = Some(true);
    for (a, b) in a.iter().zip(b) {
        same = and(same, || a.identical(b));
    }
    same
}

/// Conjunction of three values: what is false stays false whatever is not known.
fn and(a: Option<bool>, b: impl FnOnce() -> Option<bool>) -> Option<bool> {
    if a == Some(false) {
        return a;
    }
    match b() {
        Some(true) => a,
        other => other,
    }
}

/// Prints the type as Go source, with the import path in the place of the package's name; what is
/// not known as `?`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(_level) = query::level() else { return f.write_str("?") };
        match self {
            Type::Unknown => f.write_str("?"),
            Type::Basic(basic) => f.write_str(basic.name()),
            Type::Named(named) => {
                match (named.decl, named.path.as_str()) {
                    (TypeDecl::Local(_), _) | (_, "") => write!(f, "{}", named.name)?,
                    (_, path) => write!(f, "{path}.{}", named.name)?,
                }
                if named.args.is_empty() {
                    return Ok(());
                }
                f.write_str("[")?;
                list(f, &named.args, ",")?;
                f.write_str("]")
            }
            Type::Pointer(base) => write!(f, "*{base}"),
            Type::Slice(element) => write!(f, "[]{element}"),
            Type::Array(array) => match array.len {
                Some(len) => write!(f, "[{len}]{}", array.element),
                None => write!(f, "[?]{}", array.element),
            },
            Type::Map(map) => write!(f, "map[{}]{}", map.key, map.value),
            Type::Chan(ChanDir::Both, element) => match **element {
                Type::Chan(ChanDir::Recv, _) => write!(f, "chan ({element})"),
                _ => write!(f, "chan {element}"),
            },
            Type::Chan(ChanDir::Send, element) => write!(f, "chan<- {element}"),
            Type::Chan(ChanDir::Recv, element) => write!(f, "<-chan {element}"),
            Type::Func(signature) => write!(f, "func{signature}"),
            Type::Tuple(types) => {
                f.write_str("(")?;
                list(f, types, ", ")?;
                f.write_str(")")
            }
            Type::Param(param) => write!(f, "{}", param.name),
            Type::Struct(literal) => write!(f, "{literal}"),
            Type::Interface(interface) => write!(f, "{interface}"),
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (at, param) in self.params.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match param {
                Type::Slice(element) if self.variadic && at + 1 == self.params.len() => {
                    write!(f, "...{element}")?;
                }
                param => write!(f, "{param}")?,
            }
        }
        f.write_str(")")?;
        match &self.results[..] {
            [] => Ok(()),
            [result] => write!(f, " {result}"),
            results => {
                f.write_str(" (")?;
                list(f, results, ", ")?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct{")?;
        for (at, field) in self.fields.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            if !field.embedded {
                write!(f, "{} ", field.name)?;
            }
            write!(f, "{}", field.ty)?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.methods.is_empty() && self.embedded.is_empty() {
            return f.write_str("any");
        }
        f.write_str("interface{")?;
        let mut separator = "";
        for method in &self.methods {
            f.write_str(separator)?;
            separator = "; ";
            match &method.ty {
                Type::Func(signature) => write!(f, "{}{signature}", method.name)?,
                _ => write!(f, "{}?", method.name)?,
            }
        }
        for constraint in &self.embedded {
            f.write_str(separator)?;
            separator = "; ";
            write!(f, "{constraint}")?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (tilde, ty)) in self.terms.iter().enumerate() {
            let separator = if at == 0 { "" } else { " | " };
            let tilde = if *tilde { "~" } else { "" };
            write!(f, "{separator}{tilde}{ty}")?;
        }
        Ok(())
    }
}

fn list(f: &mut fmt::Formatter<'_>, types: &[Type], separator: &str) -> fmt::Result {
    for (at, ty) in types.iter().enumerate() {
        if at > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{ty}")?;
    }
    Ok(())
}

impl Basic {
    /// Of two untyped kinds, the one that an operation on both has.
    pub(super) fn larger_untyped(self, other: Basic) -> Basic {
        let rank = |basic: Basic| match basic {
            Basic::UntypedInt => 1,
            Basic::UntypedRune => 2,
            Basic::UntypedFloat => 3,
            Basic::UntypedComplex => 4,
            _ => 0,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}
