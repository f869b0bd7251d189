//! Names and types as the tables write them: `net/http.Get`, `(*net/http.Client).Do`,
//! `<-chan k8s.io/apimachinery/pkg/watch.Event`.
//!
//! They are read here and nowhere else. A name says where a thing is declared, never what it is:
//! functions and types of a package share one name space in Go, and so do fields and methods of a
//! type, so one form serves all four.

use std::fmt;

use serde::Deserialize;

/// A package-level function or type (`receiver` is `None`), or a method or field of a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Name {
    /// Import path of the package that declares it.
    pub package: Box<str>,
    /// The type that it is a method or field of, without type parameters.
    pub receiver: Option<Box<str>>,
    /// Whether the receiver is written with a star. Not part of the look-up: Go has no two
    /// methods that differ in it alone.
    pub pointer: bool,
    /// Its own name.
    pub name: Box<str>,
}

impl Name {
    /// Reads `path.Name`, `(path.Type).Name` or `(*path.Type).Name`.
    pub fn parse(text: &str) -> Result<Name, String> {
        let wrong = || {
            format!(
                "`{text}` is not a qualified name: expected `path.Name`, `(path.Type).Name` or \
                 `(*path.Type).Name`"
            )
        };
        if let Some(rest) = text.strip_prefix('(') {
            let (receiver, name) = rest.split_once(").").ok_or_else(wrong)?;
            let pointer = receiver.starts_with('*');
            let (package, receiver) =
                split_path(receiver.strip_prefix('*').unwrap_or(receiver)).ok_or_else(wrong)?;
            if !is_identifier(name) {
                return Err(wrong());
            }
            return Ok(Name {
                package: package.into(),
                receiver: Some(receiver.into()),
                pointer,
                name: name.into(),
            });
        }
        let (package, name) = split_path(text).ok_or_else(wrong)?;
        Ok(Name { package: package.into(), receiver: None, pointer: false, name: name.into() })
    }

    /// The name as Go code in another package writes it: `http.Get`, `(*http.Client).Do`.
    pub fn short(&self) -> String {
        let package = package_name(&self.package);
        match &self.receiver {
            None => format!("{package}.{}", self.name),
            Some(receiver) => {
                let star = if self.pointer { "*" } else { "" };
                format!("({star}{package}.{receiver}).{}", self.name)
            }
        }
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Name, String> {
        Name::parse(&text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.pointer { "*" } else { "" };
        match &self.receiver {
            None => write!(f, "{}.{}", self.package, self.name),
            Some(receiver) => write!(f, "({star}{}.{receiver}).{}", self.package, self.name),
        }
    }
}

/// A type as a signature of the tables writes it. `_` stands for any type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum TypeExpr {
    /// `_`: any type.
    Any,
    /// `...` alone, only as the last parameter: any further parameters.
    Rest,
    /// A predeclared type (`error`, `string`, `bool`, `any` ...) or `struct{}`.
    Predeclared(Box<str>),
    /// A declared type, `net/http.Request`.
    Named(Name),
    /// `*T`.
    Pointer(Box<TypeExpr>),
    /// `[]T`.
    Slice(Box<TypeExpr>),
    /// `...T`, only as the last parameter.
    Variadic(Box<TypeExpr>),
    /// `chan T`, `<-chan T`, `chan<- T`.
    Chan(Direction, Box<TypeExpr>),
    /// `func`: any function type.
    Func,
}

impl TypeExpr {
    /// The import path of the package that declares the type, or what it points to or holds.
    pub fn package(&self) -> Option<&str> {
        match self {
            TypeExpr::Named(name) => Some(&name.package),
            TypeExpr::Pointer(base) | TypeExpr::Slice(base) | TypeExpr::Variadic(base) => {
                base.package()
            }
            TypeExpr::Chan(_, element) => element.package(),
            TypeExpr::Any | TypeExpr::Rest | TypeExpr::Predeclared(_) | TypeExpr::Func => None,
        }
    }
}

/// Which operations a channel type allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `chan T`.
    Both,
    /// `<-chan T`.
    Receive,
    /// `chan<- T`.
    Send,
}

const PREDECLARED: [&str; 23] = [
    "struct{}",
    "any",
    "bool",
    "byte",
    "comparable",
    "complex128",
    "complex64",
    "error",
    "float32",
    "float64",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "rune",
    "string",
    "uint",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uintptr",
];

/// No signature of the tables needs more stars and brackets than this.
const MAX_TYPE_DEPTH: usize = 8;

impl TypeExpr {
    /// Reads a type.
    pub fn parse(text: &str) -> Result<TypeExpr, String> {
        TypeExpr::parse_within(text, MAX_TYPE_DEPTH)
            .ok_or_else(|| format!("`{text}` is not a type that the catalog can say"))
    }

    fn parse_within(text: &str, depth: usize) -> Option<TypeExpr> {
        let depth = depth.checked_sub(1)?;
        let inner = |text: &str| TypeExpr::parse_within(text, depth).map(Box::new);
        if text == "_" {
            return Some(TypeExpr::Any);
        }
        if text == "..." {
            return Some(TypeExpr::Rest);
        }
        if text == "func" {
            return Some(TypeExpr::Func);
        }
        if PREDECLARED.contains(&text) {
            return Some(TypeExpr::Predeclared(text.into()));
        }
        if let Some(rest) = text.strip_prefix('*') {
            return Some(TypeExpr::Pointer(inner(rest)?));
        }
        if let Some(rest) = text.strip_prefix("[]") {
            return Some(TypeExpr::Slice(inner(rest)?));
        }
        if let Some(rest) = text.strip_prefix("...") {
            return Some(TypeExpr::Variadic(inner(rest)?));
        }
        for (prefix, direction) in [
            ("<-chan ", Direction::Receive),
            ("chan<- ", Direction::Send),
            ("chan ", Direction::Both),
        ] {
            if let Some(rest) = text.strip_prefix(prefix) {
                return Some(TypeExpr::Chan(direction, inner(rest)?));
            }
        }
        let (package, name) = split_path(text)?;
        Some(TypeExpr::Named(Name {
            package: package.into(),
            receiver: None,
            pointer: false,
            name: name.into(),
        }))
    }
}

impl TryFrom<String> for TypeExpr {
    type Error = String;

    fn try_from(text: String) -> Result<TypeExpr, String> {
        TypeExpr::parse(&text)
    }
}

impl fmt::Display for TypeExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeExpr::Any => f.write_str("_"),
            TypeExpr::Rest => f.write_str("..."),
            TypeExpr::Func => f.write_str("func"),
            TypeExpr::Predeclared(name) => f.write_str(name),
            TypeExpr::Named(name) => write!(f, "{name}"),
            TypeExpr::Pointer(inner) => write!(f, "*{inner}"),
            TypeExpr::Slice(inner) => write!(f, "[]{inner}"),
            TypeExpr::Variadic(inner) => write!(f, "...{inner}"),
            TypeExpr::Chan(Direction::Both, inner) => write!(f, "chan {inner}"),
            TypeExpr::Chan(Direction::Receive, inner) => write!(f, "<-chan {inner}"),
            TypeExpr::Chan(Direction::Send, inner) => write!(f, "chan<- {inner}"),
        }
    }
}

/// Splits `net/http.Get` at the dot after the last slash that ends the path.
fn split_path(text: &str) -> Option<(&str, &str)> {
    let (package, name) = text.rsplit_once('.')?;
    let sound = !package.is_empty()
        && !package.ends_with('/')
        && is_identifier(name)
        && package.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-~".contains(&b));
    sound.then_some((package, name))
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
}

/// The name that code writes for an import path, by convention: its last element that is not a
/// major version.
fn package_name(path: &str) -> &str {
    let is_major = |element: &str| {
        element.strip_prefix('v').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    };
    let last = path.rsplit('/').find(|element| !is_major(element)).unwrap_or(path);
    last.split_once(".v").map_or(last, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_they_were_written() {
        for text in [
            "net/http.Get",
            "os.Exit",
            "(*net/http.Client).Do",
            "(k8s.io/apimachinery/pkg/watch.Interface).Stop",
            "(gopkg.in/yaml.v3.Node).Kind",
        ] {
            assert_eq!(Name::parse(text).expect("a name").to_string(), text);
        }
        for text in ["Get", "net/http", "(net/http.Client.Do", "(*).Do", "net/http.", "a b.C"] {
            assert!(Name::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn short_names_read_like_code() {
        let short = |text| Name::parse(text).expect("a name").short();
        assert_eq!(short("(*net/http.Client).Do"), "(*http.Client).Do");
        assert_eq!(short("github.com/labstack/echo/v4.New"), "echo.New");
        assert_eq!(short("gopkg.in/yaml.v3.Marshal"), "yaml.Marshal");
    }

    #[test]
    fn types_read_back_as_they_were_written() {
        for text in [
            "_",
            "error",
            "*net/http.Response",
            "[]byte",
            "<-chan k8s.io/apimachinery/pkg/watch.Event",
            "...google.golang.org/grpc.CallOption",
            "chan<- []*net/url.URL",
            "func",
            "<-chan struct{}",
            "...",
        ] {
            assert_eq!(TypeExpr::parse(text).expect("a type").to_string(), text);
        }
        for text in ["", "map[string]int", "**********int", "Request"] {
            assert!(TypeExpr::parse(text).is_err(), "{text}");
        }
    }
}
