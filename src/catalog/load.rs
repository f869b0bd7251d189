//! From the text of a table to facts, entry by entry: an entry that is wrong is left out and told
//! with its line, and never takes its neighbours down.
//!
//! An entry is a subject (`func`, `field`, `type`, `var`, `package` or `shape`), what the fact rests on
//! (`source`, `module`, `since`, `until`, `go`), and the fields of its kind. The first two are
//! the same for all kinds and are split off here, so that a kind's struct has its own fields only.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::{
    About, Bound, Catalog, Entry, Fact, Facts, Gate, GoBounds, Name, Named, Problem, Shape,
};
use crate::source::SourceText;

/// Reads a table that comes with straggler.
pub(super) fn embedded(catalog: &mut Catalog, path: &str, text: &str, problems: &mut Vec<Problem>) {
    let mut loader = Loader::new(catalog, path, text, Owner::Straggler, problems);
    if let Some(document) = loader.parse() {
        loader.tables(document);
    }
}

/// Reads the tables of a team: those below the key `catalog`.
pub(super) fn user(catalog: &mut Catalog, path: &str, text: &str, problems: &mut Vec<Problem>) {
    let mut loader = Loader::new(catalog, path, text, Owner::User, problems);
    let Some(mut document) = loader.parse() else { return };
    let Some(tables) = document.remove("catalog") else { return };
    let span = tables.span();
    match tables.into_inner() {
        DeValue::Table(tables) => loader.tables(tables),
        _ => loader.problem(span.start, "`catalog` must be a table".into()),
    }
}

/// Whose tables are read: what straggler brings must name its sources, a team need not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Straggler,
    User,
}

struct Loader<'a> {
    catalog: &'a mut Catalog,
    path: Arc<str>,
    text: &'a str,
    positions: SourceText,
    owner: Owner,
    /// The module that the file's bounds speak of unless an entry names another.
    module: Box<str>,
    problems: &'a mut Vec<Problem>,
}

/// The fields that entries of all kinds have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Common {
    func: Option<OneOrMany<Name>>,
    field: Option<OneOrMany<Name>>,
    #[serde(rename = "type")]
    type_: Option<OneOrMany<Name>>,
    package: Option<OneOrMany<Box<str>>>,
    shape: Option<OneOrMany<Shape>>,
    var: Option<OneOrMany<Name>>,
    source: Option<Box<str>>,
    module: Option<Box<str>>,
    since: Option<Bound>,
    until: Option<Bound>,
    #[serde(default)]
    go: GoBounds,
}

const COMMON: [&str; 11] = [
    "func", "field", "type", "package", "shape", "var", "source", "module", "since", "until", "go",
];

/// A value, or a list of values of which the entry says the same.
struct OneOrMany<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("one value or a list")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<T>, E> {
                let one = serde::de::value::StrDeserializer::new(text);
                Ok(vec![T::deserialize(one)?])
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
                let one = serde::de::value::MapAccessDeserializer::new(map);
                Ok(vec![T::deserialize(one)?])
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Vec<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(all)
            }
        }

        deserializer.deserialize_any(Visitor(std::marker::PhantomData)).map(OneOrMany)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Alias {
    package: OneOrMany<Box<str>>,
    same_as: Box<str>,
}

/// What an entry speaks of.
enum Subject {
    Name(Name),
    Package(Box<str>),
    Shape(Shape),
}

impl<'a> Loader<'a> {
    fn new(
        catalog: &'a mut Catalog,
        path: &str,
        text: &'a str,
        owner: Owner,
        problems: &'a mut Vec<Problem>,
    ) -> Loader<'a> {
        Loader {
            catalog,
            path: path.into(),
            text,
            positions: SourceText::new(text.as_bytes().to_vec()),
            owner,
            module: "".into(),
            problems,
        }
    }

    fn problem(&mut self, offset: usize, message: String) {
        let at = self.positions.position(offset as u32);
        self.problems.push(Problem {
            path: self.path.to_string(),
            line: at.line,
            column: at.column,
            message,
        });
    }

    fn toml_problem(&mut self, error: &toml::de::Error, entry: usize) {
        let offset = error.span().map_or(entry, |span| span.start);
        self.problem(offset, error.message().into());
    }

    fn parse(&mut self) -> Option<DeTable<'a>> {
        match DeTable::parse(self.text) {
            Ok(document) => Some(document.into_inner()),
            Err(error) => {
                self.toml_problem(&error, 0);
                None
            }
        }
    }

    fn tables(&mut self, mut tables: DeTable<'a>) {
        if let Some(module) = tables.remove("module") {
            match module.get_ref().as_str() {
                Some(path) => self.module = path.into(),
                None => self.problem(module.span().start, "`module` must be a string".into()),
            }
        }
        // The versions that the file was written from: for readers and for the tests.
        tables.remove("read");
        for (kind, entries) in tables {
            let start = kind.span().start;
            let DeValue::Array(entries) = entries.into_inner() else {
                let message = format!("`{}` must be a list: write `[[{0}]]`", kind.get_ref());
                self.problem(start, message);
                continue;
            };
            for entry in entries {
                let start = entry.span().start;
                match entry.into_inner() {
                    DeValue::Table(entry) if kind.get_ref() == "alias" => self.alias(entry, start),
                    DeValue::Table(entry) => self.entry(kind.get_ref(), entry, start),
                    _ => self.problem(start, "an entry must be a table".into()),
                }
            }
        }
    }

    fn alias(&mut self, entry: DeTable<'a>, start: usize) {
        match read::<Alias>(entry, start) {
            Ok(Alias { package, same_as }) => {
                for package in package.0 {
                    self.catalog.aliases.insert(package, same_as.clone());
                }
            }
            Err(error) => self.toml_problem(&error, start),
        }
    }

    fn entry(&mut self, kind: &str, entry: DeTable<'a>, start: usize) {
        let (mut common, mut own) = (DeTable::new(), DeTable::new());
        for (key, value) in entry {
            let part = if COMMON.contains(&&**key.get_ref()) { &mut common } else { &mut own };
            part.insert(key, value);
        }
        let mut common = match read::<Common>(common, start) {
            Ok(common) => common,
            Err(error) => return self.toml_problem(&error, start),
        };
        let fact = match fact(kind, own, start) {
            Some(Ok(fact)) => fact,
            Some(Err(error)) => return self.toml_problem(&error, start),
            None => {
                let message = format!("`{kind}` is not a table of the catalog");
                return self.problem(start, message);
            }
        };
        let source = match (&common.source, self.owner) {
            (Some(source), _) => Arc::from(&**source),
            (None, Owner::User) => self.path.clone(),
            (None, Owner::Straggler) => {
                return self.problem(start, "an entry must name its `source`".into());
            }
        };
        let (about, subjects) = match subjects(kind, &mut common) {
            Ok(subjects) => subjects,
            Err(message) => return self.problem(start, message),
        };
        let module = common.module.unwrap_or_else(|| self.module.clone());
        if module.is_empty() && (common.since.is_some() || common.until.is_some()) {
            return self
                .problem(start, "`since` and `until` need the `module` they speak of".into());
        }
        let entry = Entry {
            about,
            fact,
            gate: Gate { module, since: common.since, until: common.until, go: common.go },
            source,
            origin: (self.path.clone(), self.positions.line(start as u32)),
        };
        for subject in subjects {
            self.insert(kind, subject, entry.clone(), start);
        }
    }

    fn insert(&mut self, kind: &str, subject: Subject, entry: Entry, start: usize) {
        let (text, facts) = match subject {
            Subject::Name(name) => {
                let text = name.to_string();
                (text, named(self.catalog, name))
            }
            Subject::Package(path) => {
                let text = path.to_string();
                (text, self.catalog.packages.entry(path).or_default())
            }
            Subject::Shape(shape) => {
                let text = shape.to_string();
                (text, shaped(self.catalog, shape))
            }
        };
        if self.owner == Owner::User {
            let own = &self.path;
            facts.entries.retain(|old| old.origin.0 == *own || !same_kind(old, &entry));
        }
        let twin = facts.entries.iter().find(|old| says_the_same(old, &entry));
        if let Some(twin) = twin {
            let (path, line) = &twin.origin;
            let message = format!("`{kind}` of `{text}` is said already, at {path}:{line}");
            return self.problem(start, message);
        }
        facts.entries.push(entry);
    }
}

fn read<T: DeserializeOwned>(table: DeTable<'_>, start: usize) -> Result<T, toml::de::Error> {
    let value = Spanned::new(start..start, DeValue::Table(table));
    T::deserialize(ValueDeserializer::from(value))
}

/// The fact of an entry; `None` when there is no such table.
fn fact(kind: &str, own: DeTable<'_>, start: usize) -> Option<Result<Fact, toml::de::Error>> {
    Some(match kind {
        "blocking" => read(own, start).map(Fact::Blocking),
        "noreturn" => read(own, start).map(Fact::NoReturn),
        "resource" => read(own, start).map(Fact::Resource),
        "producer" => read(own, start).map(Fact::Producer),
        "stream" => read(own, start).map(Fact::Stream),
        "multiplexed" => read(own, start).map(Fact::Multiplexed),
        "transfer" => read(own, start).map(Fact::Transfer),
        "starter" => read(own, start).map(Fact::Starter),
        "factory" => read(own, start).map(Fact::Factory),
        "channel" => read(own, start).map(Fact::Channel),
        "context" => read(own, start).map(Fact::Context),
        "type" => read(own, start).map(Fact::Type),
        "access" => read(own, start).map(Fact::Access),
        "copy" => read(own, start).map(Fact::Copy),
        "filter" => read(own, start).map(Fact::Filter),
        "chain" => read(own, start).map(Fact::Chain),
        "subrouter" => read(own, start).map(Fact::Subrouter),
        "callback" => read(own, start).map(Fact::Callback),
        "pure" => read(own, start).map(Fact::Pure),
        "nonblocking" => read(own, start).map(Fact::NonBlocking),
        "driver" => read(own, start).map(Fact::Driver),
        "testing" => read(own, start).map(Fact::Testing),
        "model" => read(own, start).map(Fact::Model),
        "signature" => read(own, start).map(Fact::Signature),
        _ => return None,
    })
}

/// What a kind of entry can speak of.
fn admitted(kind: &str) -> &'static [About] {
    match kind {
        "resource" => &[About::Func, About::Type, About::Shape],
        "blocking" | "starter" => &[About::Func, About::Shape],
        "producer" | "type" | "factory" | "multiplexed" => &[About::Type],
        "channel" => &[About::Var, About::Func],
        "access" | "context" => &[About::Func, About::Field],
        "signature" => &[About::Func, About::Field, About::Var],
        "stream" | "driver" | "testing" => &[About::Package],
        "pure" | "nonblocking" => &[About::Func, About::Package],
        _ => &[About::Func],
    }
}

/// The key of an entry that says what it speaks of.
fn key(about: About) -> &'static str {
    match about {
        About::Func => "func",
        About::Field => "field",
        About::Type => "type",
        About::Package => "package",
        About::Shape => "shape",
        About::Var => "var",
    }
}

fn subjects(kind: &str, common: &mut Common) -> Result<(About, Vec<Subject>), String> {
    fn all<T>(list: OneOrMany<T>, make: fn(T) -> Subject) -> Vec<Subject> {
        list.0.into_iter().map(make).collect()
    }
    let given = [
        (About::Func, common.func.take().map(|list| all(list, Subject::Name))),
        (About::Field, common.field.take().map(|list| all(list, Subject::Name))),
        (About::Type, common.type_.take().map(|list| all(list, Subject::Name))),
        (About::Package, common.package.take().map(|list| all(list, Subject::Package))),
        (About::Var, common.var.take().map(|list| all(list, Subject::Name))),
        (About::Shape, common.shape.take().map(|list| all(list, Subject::Shape))),
    ];
    let mut given = given.into_iter().filter_map(|(about, list)| Some((about, list?)));
    let (Some((about, subjects)), None) = (given.next(), given.next()) else {
        return Err(expected_subject(kind));
    };
    if !admitted(kind).contains(&about) {
        return Err(expected_subject(kind));
    }
    for subject in &subjects {
        if let Subject::Name(name) = subject
            && (about == About::Type && name.receiver.is_some()
                || about == About::Field && name.receiver.is_none())
        {
            return Err(format!("`{name}` is not the name of a {}", key(about)));
        }
    }
    Ok((about, subjects))
}

fn expected_subject(kind: &str) -> String {
    let keys: Vec<&str> = admitted(kind).iter().copied().map(key).collect();
    format!("`{kind}` must say what it is about by one of: {}", keys.join(", "))
}

fn named(catalog: &mut Catalog, name: Name) -> &mut Facts {
    let names = catalog.named.entry(name.package.clone()).or_default();
    let list = names.entry(name.name.clone()).or_default();
    let at = match list.iter().position(|named| named.name.receiver == name.receiver) {
        Some(at) => at,
        None => {
            list.push(Named { name, facts: Facts::default() });
            list.len() - 1
        }
    };
    &mut list[at].facts
}

fn shaped(catalog: &mut Catalog, shape: Shape) -> &mut Facts {
    let at = match catalog.shapes.iter().position(|(old, _)| *old == shape) {
        Some(at) => at,
        None => {
            catalog.shapes.push((shape, Facts::default()));
            catalog.shapes.len() - 1
        }
    };
    &mut catalog.shapes[at].1
}

fn same_kind(a: &Entry, b: &Entry) -> bool {
    std::mem::discriminant(&a.fact) == std::mem::discriminant(&b.fact)
}

/// Whether two entries about one thing would both answer the same question for the same versions.
fn says_the_same(a: &Entry, b: &Entry) -> bool {
    let apart = a.about != b.about
        || match (&a.fact, &b.fact) {
            (Fact::Resource(a), Fact::Resource(b)) => a.place != b.place,
            (Fact::Access(a), Fact::Access(b)) => a.part != b.part || a.of != b.of,
            (Fact::Callback(a), Fact::Callback(b)) => a.params != b.params,
            _ => false,
        };
    same_kind(a, b) && !apart && a.gate.to_string() == b.gate.to_string()
}
