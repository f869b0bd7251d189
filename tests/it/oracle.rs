//! Names and types compared with go/types on packages of GOROOT and of modules: what straggler says
//! must be what go/types says, or *unknown*, and little may be unknown.
//!
//! `ORACLE_PACKAGES="net/url path"` compares other packages, `SHOW_UNKNOWN=1` lists what is unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use straggler::index::{BodyInfo, Builtin, Callee, Def, Index, LocalKind, ObjectKind, Type};
use straggler::project::{self, Build, PackageId, Snapshot, Tests};
use straggler::source::{FileId, Location};
use straggler::syntax::{ExprId, ExprKind, File, Symbol};

use crate::{harness, index::with_index};

const PACKAGES: &[&str] = &[
    "context",
    "database/sql",
    "encoding/json",
    "go/types",
    "net/http",
    "os/exec",
    "slices",
    "sync",
    "text/template",
    "github.com/spf13/cobra",
    "go.uber.org/zap",
    "k8s.io/apimachinery/pkg/runtime",
    "k8s.io/apimachinery/pkg/watch",
];

/// At least so much of each category is known, in percent.
const KNOWN: u32 = 99;

#[derive(Default)]
struct Count {
    known: u32,
    all: u32,
}

/// What is compared: categories with their counts, and every disagreement.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<(&'static str, String), Count>,
    disagreements: String,
    /// Files that go list counts to the package and straggler does not.
    not_read: String,
    unknown: String,
}

#[test]
fn agrees_with_go_types() {
    if std::env::var_os("STRAGGLER_SKIP_GO").is_some() {
        return;
    }
    let module = harness::root().join("tests/oracle/packages");
    let records = oracle(&module);
    let mut options = harness::load_options(&module);
    let files = records.lines().filter_map(|line| line.strip_prefix("file\t"));
    let dirs: BTreeSet<PathBuf> =
        files.filter_map(|file| Path::new(file).parent()).map(Path::to_owned).collect();
    options.paths = dirs.into_iter().collect();
    let snapshot = project::load(&options);
    let tally = with_index(&snapshot, |index, _| compare(&snapshot, index, &records));
    println!("{}", table(&tally));
    if std::env::var_os("SHOW_UNKNOWN").is_some() {
        println!("{}", tally.unknown);
    }
    assert_eq!(tally.disagreements, "", "what go/types says is on the left");
    assert_eq!(tally.not_read, "");
    for ((what, category), count) in &tally.counts {
        let enough = count.known * 100 >= count.all * KNOWN;
        assert!(enough, "{what} {category}: {} known of {}", count.known, count.all);
    }
}

/// What the oracle prints about the packages, seen from `module`.
fn oracle(module: &Path) -> String {
    let program = harness::root().join("tests/oracle/types");
    let binary = tempfile::tempdir().expect("a temporary directory");
    let binary = binary.path().join("types");
    go(Command::new("go").arg("build").arg("-o").arg(&binary).arg(".").current_dir(program));
    let mut command = Command::new(&binary);
    match std::env::var("ORACLE_PACKAGES") {
        Ok(packages) => command.args(packages.split_whitespace()),
        Err(_) => command.args(PACKAGES),
    };
    command.current_dir(module);
    go(command.env("CGO_ENABLED", "0").env("GOOS", "linux").env("GOARCH", "amd64"))
}

fn go(command: &mut Command) -> String {
    let output = command
        .output()
        .expect("this test needs Go on the PATH; STRAGGLER_SKIP_GO=1 skips it on purpose");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("paths and Go are UTF-8")
}

/// Walks the records, file by file.
fn compare(snapshot: &Snapshot, index: &Index<'_>, records: &str) -> Tally {
    let mut tally = Tally::default();
    let mut package: Option<PackageId> = None;
    let mut file: Option<Compared<'_>> = None;
    for line in records.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["package", path] => {
                let found = snapshot.packages.iter().find(|package| {
                    package.import_path.as_str() == path
                        && package.view.tests == Tests::None
                        && package.view.build == Build::base()
                });
                assert!(found.is_some(), "{path} was not read");
                package = found.map(|package| package.id);
            }
            ["file", path] => {
                let package = package.expect("files follow a package");
                file = Compared::new(snapshot, index, package, Path::new(path));
                if file.is_none() {
                    writeln!(tally.not_read, "{path}").unwrap();
                }
            }
            [what, start, end, category, claim] => {
                let number = |text: &str| text.parse().expect("an offset");
                let Some(file) = &file else { continue };
                file.compare(what, (number(start), number(end)), category, claim, &mut tally);
            }
            _ => panic!("not a record: {line}"),
        }
    }
    tally
}

/// A file that both read.
struct Compared<'a> {
    snapshot: &'a Snapshot,
    index: &'a Index<'a>,
    path: PathBuf,
    file: Arc<File>,
    /// Names, calls and other expressions by their bytes.
    exprs: HashMap<(u32, u32, &'static str), ExprId>,
    /// The body that knows an expression.
    owners: Vec<Option<Arc<BodyInfo>>>,
}

impl<'a> Compared<'a> {
    fn new(
        snapshot: &'a Snapshot,
        index: &'a Index<'a>,
        package: PackageId,
        path: &Path,
    ) -> Option<Compared<'a>> {
        let package = index.package(package);
        let same = |id: &FileId| snapshot.file(*id).path == path;
        let found = package.files().iter().find(|(id, _)| same(id));
        let (id, file) = found?;
        let mut exprs = HashMap::new();
        for expr in (0..file.expr_count() as u32).map(ExprId) {
            let span = file.expr(expr).span;
            let what = match file.expr(expr).kind {
                ExprKind::Ident(_) | ExprKind::Selector { .. } => "name",
                ExprKind::Call { .. } => "call",
                _ => "type",
            };
            exprs.insert((span.start, span.end, what), expr);
        }
        let mut owners = vec![None; file.expr_count()];
        let mut own = |body: Arc<BodyInfo>| {
            for (at, owner) in owners.iter_mut().enumerate() {
                let expr = ExprId(at as u32);
                let known = !matches!(body.resolve(expr), Def::Unknown)
                    || !body.type_of(expr).is_unknown()
                    || !matches!(body.callee(expr), Callee::Unknown { name: None });
                if known {
                    *owner = Some(Arc::clone(&body));
                }
            }
        };
        package
            .funcs
            .iter()
            .filter(|func| func.file == *id)
            .for_each(|func| own(index.body(func.id)));
        for (spec, _) in package.specs.iter().enumerate().filter(|(_, spec)| spec.file == *id) {
            own(index.spec_body(package.id, spec as u32));
        }
        let file = Arc::clone(file);
        Some(Compared { snapshot, index, path: path.to_owned(), file, exprs, owners })
    }

    fn compare(
        &self,
        what: &str,
        span: (u32, u32),
        category: &str,
        claim: &str,
        tally: &mut Tally,
    ) {
        let what = match what {
            "name" => "name",
            "call" => "call",
            _ => "type",
        };
        let kinds: &[&'static str] =
            if what == "type" { &["type", "name", "call"] } else { &[what] };
        let expr = kinds.iter().find_map(|&kind| self.exprs.get(&(span.0, span.1, kind)));
        let answer = expr.and_then(|&expr| {
            let body = self.owners[expr.0 as usize].as_ref()?;
            match what {
                "name" => self.def(body, expr),
                "call" => self.callee(body.callee(expr)),
                _ => type_text(body.type_of(expr)),
            }
        });
        if answer.as_deref().is_some_and(|answer| answer.starts_with("untyped")) {
            // The oracle says to what a constant is converted.
            return;
        }
        let count = tally.counts.entry((what, category.to_owned())).or_default();
        count.all += 1;
        let place = || {
            let position = self.file.source.position(span.0);
            let text =
                self.file.source.text(straggler::source::Span::new(span.0, span.1)).into_owned();
            format!("{}:{}:{}: {what} {text}", self.path.display(), position.line, position.column)
        };
        match answer {
            None => writeln!(tally.unknown, "{} ({category}): {claim}", place()).unwrap(),
            Some(answer) => {
                count.known += 1;
                if answer != claim {
                    writeln!(tally.disagreements, "{}\n  {claim}\n  {answer}", place()).unwrap();
                }
            }
        }
    }

    /// What a name denotes, as the oracle says it.
    fn def(&self, body: &BodyInfo, name: ExprId) -> Option<String> {
        Some(match body.resolve(name) {
            Def::Unknown | Def::External(_) | Def::Blank => return None,
            Def::Local(id) => {
                let local = body.local(*id);
                let kind = match local.kind {
                    LocalKind::Const => "const",
                    LocalKind::Type | LocalKind::TypeParam => "type",
                    _ => "var",
                };
                format!("{kind} {} {} {}", local.name, self.path.display(), local.span.start)
            }
            Def::Global(id) => {
                let object = self.index.object(*id);
                let kind = match object.kind {
                    ObjectKind::Var => "var",
                    ObjectKind::Const => "const",
                    ObjectKind::Type => "type",
                    ObjectKind::Func(_) => "func",
                };
                self.declared(
                    kind,
                    object.name,
                    Some(Location { file: object.file, span: object.span }),
                )
            }
            Def::Field(selection) => self.declared("field", selection.name, selection.location),
            Def::Method(_, selection) => {
                self.declared("method", selection.name, selection.location)
            }
            Def::InterfaceMethod(selection) => {
                self.declared("interface-method", selection.name, selection.location)
            }
            Def::Package(path) => {
                format!("package {}", path.as_str().trim_start_matches("vendor/"))
            }
            Def::Builtin(builtin) => format!("builtin {}", builtin_name(*builtin)),
            // `byte` and `uint8` are one type with two names.
            Def::PredeclaredType(_) => match self.file.expr(name).kind {
                ExprKind::Ident(name) => format!("type {name}"),
                _ => "type Pointer".to_owned(),
            },
            Def::Nil => "nil".to_owned(),
            Def::PredeclaredConst(name) => format!("const {name}"),
        })
    }

    fn declared(&self, kind: &str, name: Symbol, location: Option<Location>) -> String {
        match location {
            Some(location) => {
                let file = self.snapshot.file(location.file);
                format!("{kind} {name} {} {}", file.path.display(), location.span.start)
            }
            None => format!("{kind} {name}"),
        }
    }

    fn callee(&self, callee: &Callee) -> Option<String> {
        Some(match callee {
            Callee::Func(id) => {
                let func = self.index.func(*id);
                let kind = if func.receiver.is_some() { "method" } else { "func" };
                let span = self.index.func_decl(*id).name.span;
                self.declared(kind, func.name, Some(Location { file: func.file, span }))
            }
            Callee::InterfaceMethod(selection) => {
                self.declared("interface-method", selection.name, selection.location)
            }
            Callee::Builtin(builtin) => format!("builtin {}", builtin_name(*builtin)),
            Callee::Conversion(_) => "conversion".to_owned(),
            Callee::Literal(_) => "literal".to_owned(),
            Callee::Value(_) => "value".to_owned(),
            Callee::External(_) | Callee::Unknown { .. } => return None,
        })
    }
}

/// A type as the oracle prints it; `None` if something in it is not known.
fn type_text(ty: &Type) -> Option<String> {
    let text = ty.to_string().replace("vendor/", "");
    (!text.contains('?')).then_some(text)
}

fn builtin_name(builtin: Builtin) -> String {
    let name = format!("{builtin:?}");
    match name.strip_prefix("Unsafe") {
        Some(name) => name.to_owned(),
        None => name.to_lowercase(),
    }
}

fn table(tally: &Tally) -> String {
    let mut text = String::from("what   category         known of all\n");
    for ((what, category), count) in &tally.counts {
        let percent = f64::from(count.known) * 100.0 / f64::from(count.all);
        writeln!(text, "{what:6} {category:15} {:6} {:6} {percent:6.2} %", count.known, count.all)
            .unwrap();
    }
    text
}
