//! What libraries do, as data: the tables in `rules/catalog/*.toml`, and a team's own tables in
//! `straggler.toml`, behind look-ups by qualified name.
//!
//! A rule never names a function of a library; it asks what a call does:
//!
//! ```
//! use straggler::catalog::{Blocking, Catalog, NoVersions};
//!
//! let (catalog, problems) = Catalog::load(None);
//! assert!(problems.is_empty());
//! let get = catalog.facts("net/http", None, "Get");
//! let fact = get.in_force::<Blocking>(&NoVersions).expect("a fact without bounds");
//! assert!(fact.context.is_none());
//! ```
//!
//! A fact says where it was read (`source`), and between which versions of a module or of Go it
//! holds. What is not in the tables is not known, and what is not known is never evidence. This
//! room knows the names of libraries' functions and nothing of the code that calls them: it reads
//! no Go, and it never decides what is wrong.
//!
//! It reads TOML by itself, since an entry's fields are types of this room, which `config` stands
//! below; `config` passes the text of `straggler.toml` on, and both refuse unknown keys.

mod fact;
mod gate;
mod load;
mod name;
mod op;
mod place;
mod version;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use fact::{
    Access, Blocking, Callback, Called, Calls, Chain, Channel, Closes, Context, ContextRole,
    Copying, Depth, Driver, Effect, Ends, Fact, Factory, Filter, Inherits, Kind, Model,
    Multiplexed, NoReturn, NonBlocking, Order, Part, Producer, Pure, Resource, Share, Signature,
    Starter, Stream, Subrouter, Testing, Transfer, TypeRole, TypeRoles, Wait, When,
};
pub use gate::{Bound, Gate, GoBounds, NoVersions, Versions};
pub use name::{Direction, Name, TypeExpr};
pub use op::Op;
pub use place::{Base, Carrier, End, Place, Shape};
pub use version::{GoVersion, Version};

/// The tables that come with straggler: path below the repository's root, and text.
const EMBEDDED: &[(&str, &str)] = &[
    ("rules/catalog/std-sync.toml", include_str!("../rules/catalog/std-sync.toml")),
    ("rules/catalog/std-net.toml", include_str!("../rules/catalog/std-net.toml")),
    ("rules/catalog/std-http.toml", include_str!("../rules/catalog/std-http.toml")),
    ("rules/catalog/std-os.toml", include_str!("../rules/catalog/std-os.toml")),
    ("rules/catalog/std-sql.toml", include_str!("../rules/catalog/std-sql.toml")),
    ("rules/catalog/std-log.toml", include_str!("../rules/catalog/std-log.toml")),
    ("rules/catalog/std-pure.toml", include_str!("../rules/catalog/std-pure.toml")),
    ("rules/catalog/k8s-watch.toml", include_str!("../rules/catalog/k8s-watch.toml")),
    ("rules/catalog/testing.toml", include_str!("../rules/catalog/testing.toml")),
    ("rules/catalog/retry.toml", include_str!("../rules/catalog/retry.toml")),
    ("rules/catalog/tomb.toml", include_str!("../rules/catalog/tomb.toml")),
    ("rules/catalog/x-sync.toml", include_str!("../rules/catalog/x-sync.toml")),
    ("rules/catalog/k8s-apimachinery.toml", include_str!("../rules/catalog/k8s-apimachinery.toml")),
    ("rules/catalog/k8s-client-go.toml", include_str!("../rules/catalog/k8s-client-go.toml")),
    ("rules/catalog/k8s-clientset.toml", include_str!("../rules/catalog/k8s-clientset.toml")),
    ("rules/catalog/k8s-more.toml", include_str!("../rules/catalog/k8s-more.toml")),
    ("rules/catalog/grpc.toml", include_str!("../rules/catalog/grpc.toml")),
    ("rules/catalog/containerd.toml", include_str!("../rules/catalog/containerd.toml")),
    ("rules/catalog/etcd.toml", include_str!("../rules/catalog/etcd.toml")),
    ("rules/catalog/gin.toml", include_str!("../rules/catalog/gin.toml")),
    ("rules/catalog/echo.toml", include_str!("../rules/catalog/echo.toml")),
    ("rules/catalog/fiber.toml", include_str!("../rules/catalog/fiber.toml")),
    ("rules/catalog/mux.toml", include_str!("../rules/catalog/mux.toml")),
    ("rules/catalog/logs.toml", include_str!("../rules/catalog/logs.toml")),
    ("rules/catalog/data.toml", include_str!("../rules/catalog/data.toml")),
    ("rules/catalog/stores.toml", include_str!("../rules/catalog/stores.toml")),
    ("rules/catalog/clocks.toml", include_str!("../rules/catalog/clocks.toml")),
];

/// What known APIs do.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Facts by import path, then by name; the few types of a package that share a method's name
    /// stand in one list.
    named: FxHashMap<Box<str>, FxHashMap<Box<str>, Vec<Named>>>,
    packages: FxHashMap<Box<str>, Facts>,
    shapes: Vec<(Shape, Facts)>,
    /// Import path of a package to the one that its facts are written for.
    aliases: FxHashMap<Box<str>, Box<str>>,
    /// The texts of a team's tables, by path.
    texts: FxHashMap<Box<str>, Box<str>>,
}

#[derive(Debug)]
struct Named {
    name: Name,
    facts: Facts,
}

/// All that is known of one function, method, field, type, package or shape.
#[derive(Debug, Default)]
pub struct Facts {
    entries: Vec<Entry>,
}

/// A fact, with what it rests on.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it speaks of: a name alone does not tell a function from a type.
    pub about: About,
    /// What is so.
    pub fact: Fact,
    /// For which versions.
    pub gate: Gate,
    /// Where the fact is from, for people.
    pub source: Arc<str>,
    /// The file of the table, and the line of the entry in it.
    pub origin: (Arc<str>, u32),
}

/// The kinds of things that a fact can speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// A function or method.
    Func,
    /// A field of a struct.
    Field,
    /// A type.
    Type,
    /// A package variable.
    Var,
    /// All of a package.
    Package,
    /// Calls of one form.
    Shape,
}

/// A team's own tables: the file that holds them.
#[derive(Clone, Copy, Debug)]
pub struct UserTables<'a> {
    /// Its path, as it is shown to people.
    pub path: &'a str,
    /// Its text; the tables stand below the key `catalog`, all other keys are left alone.
    pub text: &'a str,
}

/// Something in a table that cannot be understood; the entry is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
    /// What is wrong: lower case, no full stop.
    pub message: String,
}

static NOTHING: Facts = Facts { entries: Vec::new() };

impl Catalog {
    /// Reads the embedded tables, then a team's own. An entry of the team's replaces the embedded
    /// facts of the same kind about the same thing.
    pub fn load<'u>(user: impl IntoIterator<Item = UserTables<'u>>) -> (Catalog, Vec<Problem>) {
        let mut catalog = Catalog::default();
        let mut problems = Vec::new();
        for (path, text) in EMBEDDED {
            load::embedded(&mut catalog, path, text, &mut problems);
        }
        for UserTables { path, text } in user {
            load::user(&mut catalog, path, text, &mut problems);
            catalog.texts.insert(path.into(), text.into());
        }
        (catalog, problems)
    }

    /// What is known of a function or type (`receiver` is `None`), or of a method or field of the
    /// type `receiver` (no star, no type parameters), of the package with this import path.
    pub fn facts(&self, package: &str, receiver: Option<&str>, name: &str) -> &Facts {
        let find = |package: &str| {
            let names = self.named.get(package)?.get(name)?;
            names.iter().find(|named| named.name.receiver.as_deref() == receiver)
        };
        find(package)
            .or_else(|| find(self.aliases.get(package)?))
            .map_or(&NOTHING, |named| &named.facts)
    }

    /// What is known of every function of a package.
    pub fn package(&self, package: &str) -> &Facts {
        let find = |package: &str| self.packages.get(package);
        find(package).or_else(|| find(self.aliases.get(package)?)).unwrap_or(&NOTHING)
    }

    /// The fact of one kind that holds for a function, or else for its whole package, for certain
    /// with these versions: for kinds that can speak of packages. What is said of a package is
    /// said of its own bodies: an interface's method has only what is said of itself.
    pub fn covering<K: Kind>(
        &self,
        package: &str,
        receiver: Option<&str>,
        name: &str,
        versions: &dyn Versions,
    ) -> Option<&K> {
        let own = self.facts(package, receiver, name).in_force::<K>(versions);
        own.or_else(|| {
            let fact = self.package(package).in_force::<K>(versions)?;
            let excepted = fact.except().iter().any(|except| match except.split_once('.') {
                Some((of, method)) => Some(of) == receiver && method == name,
                None => receiver.is_none() && **except == *name,
            });
            (!excepted).then_some(fact)
        })
    }

    /// The facts of one kind about whole packages, with the package: in no order.
    pub fn of_packages<K: Kind>(&self) -> impl Iterator<Item = (&str, &K)> {
        let packages = self.packages.iter();
        packages.flat_map(|(path, facts)| facts.of::<K>().map(|(_, fact)| (&**path, fact)))
    }

    /// Facts about calls that are known by their form alone, in the order of the tables.
    pub fn shapes(&self) -> impl Iterator<Item = (&Shape, &Facts)> {
        self.shapes.iter().map(|(shape, facts)| (shape, facts))
    }

    /// The package whose facts hold for this one too, if it is another name for it.
    pub fn same_as(&self, package: &str) -> Option<&str> {
        self.aliases.get(package).map(|same| &**same)
    }

    /// What is known of the names of one package, sorted by name.
    pub fn describe(&self, package: &str) -> Vec<(&Name, &Facts)> {
        let own = self.named.get(package);
        let aliased = self.aliases.get(package).and_then(|same| self.named.get(same));
        let mut all: Vec<(&Name, &Facts)> = own
            .into_iter()
            .chain(aliased)
            .flat_map(|names| names.values().flatten())
            .map(|named| (&named.name, &named.facts))
            .collect();
        all.sort_by_key(|(name, _)| *name);
        all
    }

    /// The entries that speak of a package, or of something that it declares, in order of the tables.
    pub fn entries_of(&self, package: &str) -> Vec<&Entry> {
        let named = self.describe(package).into_iter().flat_map(|(_, facts)| facts.entries());
        let mut all: Vec<&Entry> = named.chain(self.package(package).entries()).collect();
        all.sort_by(|a, b| a.origin.cmp(&b.origin));
        all.dedup_by(|a, b| a.origin == b.origin);
        all
    }

    /// An entry as its table writes it.
    pub fn text(&self, entry: &Entry) -> String {
        let (path, line) = (&*entry.origin.0, entry.origin.1 as usize);
        let embedded = EMBEDDED.iter().find(|(known, _)| *known == path).map(|(_, text)| *text);
        let text = self.texts.get(path).map(|text| &**text).or(embedded).unwrap_or_default();
        // What stands before the next header, and apart from it, is about that.
        let own = text.lines().skip(line.saturating_sub(1)).enumerate();
        let own = own
            .take_while(|(place, line)| *place == 0 || !line.is_empty() && !line.starts_with('['));
        own.map(|(_, line)| line).collect::<Vec<_>>().join("\n")
    }

    /// The import paths of the standard library's packages whose types functions take or give of
    /// which the catalog says what they take and give, sorted.
    pub fn signature_packages(&self) -> BTreeSet<&str> {
        let facts = self.named.values().flat_map(|names| names.values().flatten());
        let signatures = facts.flat_map(|named| named.facts.of::<Signature>());
        let types = signatures
            .flat_map(|(_, Signature { params, results })| params.iter().flatten().chain(results));
        let packages = types.filter_map(TypeExpr::package);
        packages.filter(|path| !path.split('/').next().unwrap_or_default().contains('.')).collect()
    }

    /// The import paths of all packages of which something is known, sorted.
    pub fn known_packages(&self) -> Vec<&str> {
        let paths = self.named.keys().chain(self.packages.keys()).chain(self.aliases.keys());
        let mut paths: Vec<&str> = paths.map(|path| &**path).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

impl Facts {
    /// All entries, in the order of the tables.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The facts of one kind, with the entries that they stand in, whatever the versions.
    pub fn of<K: Kind>(&self) -> impl Iterator<Item = (&Entry, &K)> {
        self.entries.iter().filter_map(|entry| Some((entry, K::of(&entry.fact)?)))
    }

    /// The facts of one kind that hold for these versions for certain.
    pub fn all_in_force<'a, K: Kind>(
        &'a self,
        versions: &'a dyn Versions,
    ) -> impl Iterator<Item = &'a K> {
        self.of::<K>()
            .filter(|(entry, _)| entry.gate.holds(versions) == Some(true))
            .map(|(_, fact)| fact)
    }

    /// The first fact of one kind that holds for these versions for certain.
    pub fn in_force<K: Kind>(&self, versions: &dyn Versions) -> Option<&K> {
        self.of::<K>()
            .find(|(entry, _)| entry.gate.holds(versions) == Some(true))
            .map(|(_, fact)| fact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a team's tables, one line each.
    fn check(text: &str, expected: &[&str]) {
        let (_, problems) = Catalog::load(Some(UserTables { path: "straggler.toml", text }));
        let found: Vec<String> = problems
            .iter()
            .map(|p| format!("{}:{}:{}: {}", p.path, p.line, p.column, p.message))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn embedded_tables_are_sound() {
        let (_, problems) = Catalog::load(None);
        assert_eq!(problems, []);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        check("[other]\nkey = 1\n", &[]);
        check(
            "[[catalog.blocking]]\nfunc = \"Get\"\nwait = \"net\"\n",
            &["straggler.toml:2:8: `Get` is not a qualified name: expected `path.Name`, \
               `(path.Type).Name` or `(*path.Type).Name`"],
        );
        check(
            "[[catalog.blocking]]\nfunc = \"a/b.Get\"\nwait = \"long\"\n",
            &[
                "straggler.toml:3:8: unknown variant `long`, expected one of `net`, `http`, `exec`, \
               `sql`, `rpc`, `stream`, `sleep`, `goroutines`, `poll`, `io`, `lock`, `signal`",
            ],
        );
        check(
            "[[catalog.noreturn]]\nfunc = \"a/b.Die\"\nwaits = true\n",
            &["straggler.toml:3:1: unknown field `waits`, expected `ends` or `through`"],
        );
        check(
            "[[catalog.noreturn]]\ntype = \"a/b.Die\"\n",
            &["straggler.toml:1:1: `noreturn` must say what it is about by one of: func"],
        );
        check(
            "[[catalog.blokcing]]\nfunc = \"a/b.Get\"\n",
            &["straggler.toml:1:1: `blokcing` is not a table of the catalog"],
        );
        check(
            "[[catalog.noreturn]]\nfunc = \"a/b.Die\"\nsince = \"v1.2.0\"\n",
            &["straggler.toml:1:1: `since` and `until` need the `module` they speak of"],
        );
        check(
            "[[catalog.noreturn]]\nfunc = [\"a/b.Die\", \"a/b.Die\"]\n",
            &["straggler.toml:1:1: `noreturn` of `a/b.Die` is said already, at straggler.toml:1"],
        );
        check("[catalog\n", &["straggler.toml:1:9: unclosed table, expected `]`"]);
    }

    #[test]
    fn a_wrong_entry_leaves_its_neighbours() {
        let text =
            "[[catalog.noreturn]]\nfunc = \"Die\"\n[[catalog.noreturn]]\nfunc = \"a/b.Die\"\n";
        let (catalog, problems) = Catalog::load(Some(UserTables { path: "straggler.toml", text }));
        assert_eq!(problems.len(), 1);
        assert!(catalog.facts("a/b", None, "Die").in_force::<NoReturn>(&NoVersions).is_some());
        assert!(catalog.facts("a/b", Some("T"), "Die").is_empty());
    }

    #[test]
    fn a_team_replaces_facts_of_the_same_kind() {
        let text = "[[catalog.blocking]]\nfunc = \"net/http.Get\"\nwait = \"rpc\"\n";
        let (catalog, problems) = Catalog::load(Some(UserTables { path: "straggler.toml", text }));
        assert_eq!(problems, []);
        let facts = catalog.facts("net/http", None, "Get");
        let waits: Vec<Wait> = facts.of::<Blocking>().map(|(_, fact)| fact.wait).collect();
        assert_eq!(waits, [Wait::Rpc]);
    }

    #[test]
    fn a_package_is_covered_but_for_exceptions() {
        let (catalog, _) = Catalog::load(None);
        let pure = |package, receiver, name| {
            let fact = catalog.covering::<Pure>(package, receiver, name, &NoVersions);
            fact.map(|pure| pure.holds)
        };
        assert_eq!(pure("fmt", None, "Sprintf"), Some(false));
        assert_eq!(pure("fmt", None, "Errorf"), Some(true));
        assert_eq!(pure("fmt", None, "Scanln"), None);
        assert_eq!(pure("os", Some("File"), "Read"), None);
        assert_eq!(pure("os", Some("File"), "Name"), Some(false));
        assert_eq!(pure("net/http", None, "Get"), None);
    }

    #[test]
    fn an_alias_has_the_facts_of_its_model() {
        let text = "[[catalog.alias]]\npackage = \"our/http\"\nsame_as = \"net/http\"\n";
        let (catalog, _) = Catalog::load(Some(UserTables { path: "straggler.toml", text }));
        assert!(!catalog.facts("our/http", None, "Get").is_empty());
        assert!(!catalog.describe("our/http").is_empty());
        assert!(catalog.known_packages().contains(&"our/http"));
    }
}
