//! The catalog against reality: every entry is turned into claims about functions, types and
//! places, and a Go program under `tests/oracle/catalog` checks the claims with go/types.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use straggler::catalog::{
    About, Access, Base, Blocking, Callback, Carrier, Catalog, Chain, Context, ContextRole,
    Copying, End, Entry, Fact, Filter, GoVersion, Name, NonBlocking, Place, Producer, Pure,
    Resource, Shape, Signature, Starter, TypeExpr, Version, Versions, When,
};

/// Every claim that the tables make about Go's own library is true of the Go that is installed.
#[test]
fn the_standard_library_is_as_the_catalog_says() {
    let claims = claims(&NoModules, |package| !is_third_party(package));
    check(&claims, &oracle());
}

/// The same for the libraries, at the versions that the oracle's go.mod requires.
#[test]
#[ignore = "downloads the libraries' modules"]
fn libraries_are_as_the_catalog_says() {
    let modules = Modules::of(&oracle().join("go.mod"));
    let claims = claims(&modules, is_third_party);
    check(&claims, &oracle());
}

#[test]
fn the_readme_lists_every_table_and_field() {
    let readme = std::fs::read_to_string(root().join("rules/catalog/README.md")).expect("a README");
    let source = std::fs::read_to_string(root().join("src/catalog/fact.rs")).expect("a source");
    let mut missing = Vec::new();
    let mut table = "";
    for line in source.lines() {
        if let Some(name) = line.trim().strip_prefix("/// `[[") {
            let name = name.trim_end_matches("]]`");
            if !readme.contains(&format!("## `[[{name}]]`")) {
                missing.push(format!("[[{name}]]"));
            }
        }
        if let Some(rest) = line.strip_prefix("pub struct ") {
            table = rest.split(' ').next().unwrap_or(rest);
        }
        let field = line.strip_prefix("    pub ").and_then(|rest| rest.split_once(": "));
        if let Some((field, _)) = field
            && !["Place", "Shape"].contains(&table)
            && !readme.contains(&format!("`{field}`"))
        {
            missing.push(format!("{table}.{field}"));
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn oracle() -> PathBuf {
    root().join("tests/oracle/catalog")
}

/// Go's own packages have no dot in the first element of their path.
fn is_third_party(package: &str) -> bool {
    package.split('/').next().is_some_and(|first| first.contains('.'))
}

/// Runs the oracle on the claims in a module's directory.
fn check(claims: &str, dir: &Path) {
    assert!(!claims.is_empty());
    let mut go = Command::new("go")
        .args(["run", "main.go"])
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`go` runs");
    go.stdin.take().expect("a pipe").write_all(claims.as_bytes()).expect("the oracle reads");
    let output = go.wait_with_output().expect("the oracle ends");
    assert!(output.status.success());
    let untrue = String::from_utf8_lossy(&output.stdout);
    assert!(untrue.is_empty(), "not as the catalog says:\n{untrue}");
}

struct NoModules;

impl Versions for NoModules {
    fn module(&self, _: &str) -> Option<&Version> {
        None
    }

    fn go(&self) -> Option<GoVersion> {
        None
    }
}

/// The versions that a go.mod requires.
struct Modules(Vec<(String, Version)>);

impl Modules {
    fn of(path: &Path) -> Modules {
        let text = std::fs::read_to_string(path).expect("a go.mod");
        let required = text.lines().filter_map(|line| {
            let (path, rest) = line.trim().trim_start_matches("require ").split_once(' ')?;
            let version = Version::parse(rest.split(' ').next()?)?;
            Some((path.to_string(), version))
        });
        Modules(required.collect())
    }
}

impl Versions for Modules {
    fn module(&self, path: &str) -> Option<&Version> {
        self.0.iter().find(|(module, _)| module == path).map(|(_, version)| version)
    }

    fn go(&self) -> Option<GoVersion> {
        None
    }
}

/// The claims of all entries about packages that `wanted` admits and that may hold for these
/// versions, one per line.
fn claims(versions: &dyn Versions, wanted: impl Fn(&str) -> bool) -> String {
    let (catalog, problems) = Catalog::load(None);
    assert_eq!(problems, []);
    let mut claims = Claims(String::new());
    let packages = catalog.known_packages().into_iter();
    let holds = |entry: &&Entry| entry.gate.holds(versions) != Some(false);
    for package in packages.filter(|package| wanted(package) && catalog.same_as(package).is_none())
    {
        for (name, facts) in catalog.describe(package) {
            for entry in facts.entries().iter().filter(holds) {
                claims.about_name(name, entry);
            }
        }
        for entry in catalog.package(package).entries().iter().filter(holds) {
            claims.about_package(package, entry);
        }
    }
    for (shape, facts) in catalog.shapes() {
        let Some(example) = shape.example.as_ref().filter(|name| wanted(&name.package)) else {
            continue;
        };
        for entry in facts.entries().iter().filter(holds) {
            claims.about_shape(shape, &example.to_string(), entry);
        }
    }
    claims.0
}

struct Claims(String);

impl Claims {
    fn claim(&mut self, entry: &Entry, fields: &[&str]) {
        let (file, line) = &entry.origin;
        writeln!(self.0, "{file}:{line}\t{}", fields.join("\t")).expect("a string grows");
    }

    fn place(&mut self, entry: &Entry, name: &str, place: &Place, wish: &[&str]) {
        let place = place_text(place);
        let mut fields = vec!["place", name, &place];
        fields.extend(wish);
        self.claim(entry, &fields);
    }

    fn carrier(&mut self, entry: &Entry, name: &str, carrier: Carrier) {
        match carrier {
            Carrier::Param(at) => {
                self.claim(entry, &["place", name, &format!("param:{at}"), "context"]);
            }
            Carrier::Request(at) => {
                self.claim(entry, &["place", name, &format!("param:{at}"), "request"]);
            }
            Carrier::Receiver => self.claim(entry, &["place", name, "receiver", "any"]),
        }
    }

    fn methods_of_receiver(&mut self, entry: &Entry, name: &str, methods: &[Box<str>]) {
        let mut wish = vec!["ends"];
        wish.extend(methods.iter().map(|method| &**method));
        if !methods.is_empty() {
            self.place(entry, name, &Place::receiver(), &wish);
        }
    }

    fn about_name(&mut self, name: &Name, entry: &Entry) {
        let text = name.to_string();
        let text = text.as_str();
        match &entry.fact {
            Fact::Type(_) => self.claim(entry, &["type", text]),
            Fact::Factory(factory) => {
                let lists = [&factory.start, &factory.wait, &factory.shutdown];
                let mut fields = vec!["methods", text];
                fields.extend(lists.into_iter().flatten().map(|method| &**method));
                self.claim(entry, &["type", text]);
                self.claim(entry, &fields);
            }
            Fact::Multiplexed(multiplexed) => {
                let mut fields = vec!["methods", text];
                for end in &multiplexed.aside {
                    match end {
                        End::Method(method) => fields.push(method),
                        End::Function(function) => {
                            self.claim(entry, &["func", &function.to_string()]);
                        }
                        End::Call | End::Receive => panic!("{text}"),
                    }
                }
                self.claim(entry, &["type", text]);
                self.claim(entry, &fields);
            }
            Fact::Channel(_) if entry.about == About::Var => self.claim(entry, &["var", text]),
            Fact::Producer(producer) => self.producer(entry, text, producer),
            Fact::Signature(signature) => self.signature(entry, text, signature),
            Fact::Access(access) => self.access(entry, text, access),
            Fact::Context(_) if entry.about == About::Field => {
                self.types(entry, "results", text, &[TypeExpr::parse("context.Context").unwrap()]);
            }
            Fact::Resource(resource) if entry.about == About::Type => {
                let mut fields = vec!["methods", text];
                fields.extend(resource.ends.iter().filter_map(|end| match end {
                    End::Method(method) => Some(&**method),
                    _ => None,
                }));
                self.claim(entry, &["type", text]);
                self.claim(entry, &fields);
            }
            fact => {
                self.claim(entry, &["func", text]);
                self.about_func(text, entry, fact);
            }
        }
    }

    fn about_func(&mut self, text: &str, entry: &Entry, fact: &Fact) {
        match fact {
            Fact::Blocking(fact) => self.blocking(entry, text, fact),
            Fact::Resource(fact) => self.resource(entry, text, fact),
            Fact::Starter(fact) => self.starter(entry, text, fact),
            Fact::Transfer(fact) => {
                self.place(entry, text, &fact.from, &["any"]);
                self.place(entry, text, &fact.to, &["any"]);
            }
            Fact::Context(fact) => self.context(entry, text, fact),
            Fact::Copy(Copying { of, .. }) => self.place(entry, text, of, &["any"]),
            Fact::Filter(Filter { handler: Some(handler), .. }) => {
                self.place(entry, text, handler, &["callable"]);
            }
            Fact::Chain(Chain { middleware, .. }) => {
                self.place(entry, text, middleware, &["callable"]);
            }
            Fact::Callback(Callback { params, .. }) => {
                for param in params {
                    self.place(entry, text, param, &["callable"]);
                }
            }
            _ => {}
        }
    }

    fn blocking(&mut self, entry: &Entry, text: &str, fact: &Blocking) {
        if let Some(carrier) = fact.context {
            self.carrier(entry, text, carrier);
        }
        if let Some(variant) = &fact.variant {
            let variant = variant.to_string();
            let verb = if fact.prepend { "prepend" } else { "variant" };
            self.claim(entry, &[verb, text, &variant]);
        }
        assert!(!fact.prepend || fact.variant.is_some(), "{text}");
        let instead = fact.variant.is_some() || fact.context.is_some();
        assert!(fact.when != When::Never || instead, "{text}");
        if let Some(timeout) = &fact.timeout {
            self.place(entry, text, timeout, &["duration"]);
        }
        if let Some(option) = &fact.only_with {
            self.claim(entry, &["func", &option.to_string()]);
        }
        self.methods_of_receiver(entry, text, &fact.ended_by);
    }

    fn resource(&mut self, entry: &Entry, text: &str, fact: &Resource) {
        let mut wish = vec!["ends"];
        for end in &fact.ends {
            match end {
                End::Method(method) => wish.push(method),
                End::Call => wish.push("()"),
                End::Receive => wish.push("receive"),
                End::Function(function) => {
                    let function = function.to_string();
                    self.claim(entry, &["func", &function]);
                }
            }
        }
        wish.extend(fact.starts.iter().map(|start| &**start));
        self.place(entry, text, &fact.place, &wish);
        if let Some(carrier) = fact.context {
            self.carrier(entry, text, carrier);
        }
        if let Some(stop) = &fact.stop {
            self.place(entry, text, stop, &["chan"]);
        }
    }

    fn starter(&mut self, entry: &Entry, text: &str, fact: &Starter) {
        if let Some(carrier) = fact.context {
            self.carrier(entry, text, carrier);
        }
        if let Some(stop) = &fact.stop {
            self.place(entry, text, stop, &["chan"]);
        }
        self.methods_of_receiver(entry, text, &fact.ended_by);
    }

    fn context(&mut self, entry: &Entry, text: &str, fact: &Context) {
        let result = Place { base: Base::Result(fact.result), field: None };
        self.place(entry, text, &result, &["context"]);
        if let Some(parent) = &fact.parent {
            let wish = if fact.role == ContextRole::Accessor { "any" } else { "context" };
            self.place(entry, text, parent, &[wish]);
        }
        if let Some(cancel) = fact.cancel {
            let cancel = Place { base: Base::Result(cancel), field: None };
            self.place(entry, text, &cancel, &["func"]);
        }
    }

    fn producer(&mut self, entry: &Entry, text: &str, fact: &Producer) {
        let mut fields = vec!["methods", text, &*fact.channel];
        fields.extend(fact.ends.iter().map(|end| &**end));
        self.claim(entry, &["type", text]);
        self.claim(entry, &fields);
    }

    fn signature(&mut self, entry: &Entry, text: &str, fact: &Signature) {
        self.types(entry, "results", text, &fact.results);
        if let Some(params) = &fact.params {
            self.types(entry, "params", text, params);
        }
    }

    fn about_shape(&mut self, shape: &Shape, example: &str, entry: &Entry) {
        assert!(shape.name.as_ref().is_none_or(|name| example.ends_with(&format!(".{name}"))));
        if let Some(params) = &shape.params {
            self.types(entry, "params", example, params);
        }
        if let Some(results) = &shape.results {
            self.types(entry, "results", example, results);
        }
        if let Fact::Resource(fact) = &entry.fact {
            self.resource(entry, example, fact);
        }
    }

    fn types(&mut self, entry: &Entry, verb: &str, text: &str, types: &[TypeExpr]) {
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        let mut fields = vec![verb, text];
        fields.extend(types.iter().map(String::as_str));
        self.claim(entry, &fields);
    }

    fn access(&mut self, entry: &Entry, text: &str, fact: &Access) {
        self.place(entry, text, &fact.of, &["any"]);
    }

    fn about_package(&mut self, package: &str, entry: &Entry) {
        self.claim(entry, &["package", package]);
        let except = match &entry.fact {
            Fact::Pure(Pure { except, .. }) | Fact::NonBlocking(NonBlocking { except }) => except,
            _ => return,
        };
        for name in except {
            let name = match name.split_once('.') {
                Some((receiver, method)) => format!("({package}.{receiver}).{method}"),
                None => format!("{package}.{name}"),
            };
            self.claim(entry, &["except", &name]);
        }
    }
}

fn place_text(place: &Place) -> String {
    let base = match place.base {
        Base::Receiver => String::from("receiver"),
        Base::Param(at) => format!("param:{at}"),
        Base::Result(at) => format!("result:{at}"),
    };
    match &place.field {
        Some(field) => format!("{base}.{field}"),
        None => base,
    }
}
