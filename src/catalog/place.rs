//! Where things are in a call, and the forms of calls: what the fields of facts point with.

use std::fmt;

use serde::Deserialize;

use super::{Name, TypeExpr};

/// Where the context is that can end a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Carrier {
    /// `param:N`: the parameter is a context.
    Param(u32),
    /// `request:N`: the parameter is an `*http.Request`, which holds one.
    Request(u32),
    /// `receiver`: the receiver was made with one (`exec.CommandContext`), or not.
    Receiver,
}

/// What ends a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum End {
    /// `Stop`: a call of this method of it.
    Method(Box<str>),
    /// `()`: a call of it, as for a cancel function.
    Call,
    /// `os/signal.Stop`: a call of this function with it as an argument.
    Function(Name),
    /// `receive`: a receive from it, or a range over it.
    Receive,
}

/// A call that is known by its form where it has no name of its own, as generated code has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The method's name; any if not said.
    pub name: Option<Box<str>>,
    /// The import path of the package that declares it, `...` at its end for all below; any if
    /// not said.
    pub package: Option<Box<str>>,
    /// Types of the parameters.
    pub params: Option<Vec<TypeExpr>>,
    /// Types of the results.
    pub results: Option<Vec<TypeExpr>>,
    /// A function that has the form: for readers, and for the test that compares the two.
    pub example: Option<Name>,
}

impl Shape {
    /// Whether the shape allows this name in this package. The types are left to those who know
    /// types.
    pub fn admits(&self, package: &str, name: &str) -> bool {
        self.name.as_deref().is_none_or(|own| own == name)
            && self.package.as_deref().is_none_or(|pattern| match pattern.strip_suffix("...") {
                Some(prefix) => package.starts_with(prefix),
                None => package == pattern,
            })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |types: &Option<Vec<TypeExpr>>| match types {
            None => String::from("_"),
            Some(types) => types.iter().map(TypeExpr::to_string).collect::<Vec<_>>().join(", "),
        };
        if let Some(package) = &self.package {
            write!(f, "{package} ")?;
        }
        let name = self.name.as_deref().unwrap_or("_");
        write!(f, "{name}({}) ({})", list(&self.params), list(&self.results))
    }
}

/// A place in a call: `receiver`, `param:1`, `result:0`, and a field of it: `result:0.Body`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Place {
    /// Which value of the call.
    pub base: Base,
    /// A field of it.
    pub field: Option<Box<str>>,
}

/// A value of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// What the method is called on.
    Receiver,
    /// A parameter, from 0; the receiver does not count. The last one may be variadic.
    Param(u32),
    /// A result, from 0.
    Result(u32),
}

impl Place {
    /// `receiver`.
    pub fn receiver() -> Place {
        Place { base: Base::Receiver, field: None }
    }

    /// `result:0`.
    pub fn first_result() -> Place {
        Place { base: Base::Result(0), field: None }
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Place, String> {
        let (base, field) = match text.split_once('.') {
            Some((base, field)) => (base, Some(field.into())),
            None => (text.as_str(), None),
        };
        let base = match base.split_once(':') {
            None if base == "receiver" => Some(Base::Receiver),
            Some(("param", index)) => index.parse().ok().map(Base::Param),
            Some(("result", index)) => index.parse().ok().map(Base::Result),
            _ => None,
        };
        base.map(|base| Place { base, field }).ok_or_else(|| {
            format!("`{text}` is not a place: expected `receiver`, `param:N` or `result:N`")
        })
    }
}

impl TryFrom<String> for Carrier {
    type Error = String;

    fn try_from(text: String) -> Result<Carrier, String> {
        let carrier = match text.split_once(':') {
            None if text == "receiver" => Some(Carrier::Receiver),
            Some(("param", index)) => index.parse().ok().map(Carrier::Param),
            Some(("request", index)) => index.parse().ok().map(Carrier::Request),
            _ => None,
        };
        carrier.ok_or_else(|| {
            format!("`{text}` holds no context: expected `param:N`, `request:N` or `receiver`")
        })
    }
}

impl TryFrom<String> for End {
    type Error = String;

    fn try_from(text: String) -> Result<End, String> {
        match text.as_str() {
            "()" => Ok(End::Call),
            "receive" => Ok(End::Receive),
            _ if text.contains(['.', '/']) => Name::parse(&text).map(End::Function),
            _ => Ok(End::Method(text.into())),
        }
    }
}
