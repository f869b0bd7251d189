//! The tree against go/parser's, on all of Go's own sources: the same nodes at the same places,
//! and the same shape. A small Go program prints go/parser's tree as `syntax::print` prints ours.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rayon::prelude::*;
use straggler::source::{SourceText, Span};
use straggler::syntax::{
    self, Body, DeclKind, ExprId, ExprKind, File, Outline, OutlineKind, StmtKind, Symbol,
};

use crate::syntax::{places_of_declarations, places_of_lazy_declarations};

/// What the oracle says of one file.
#[derive(PartialEq, Eq)]
struct Digest {
    /// Hash of the printed tree.
    tree: u64,
    /// Sum of the hashes of all nodes with their places.
    nodes: u64,
    count: u64,
}

#[test]
fn tree_and_outline_are_those_of_go_parser() {
    if std::env::var_os("STRAGGLER_SKIP_GO").is_some() {
        return;
    }
    let goroot = goroot();
    let paths = go_files(&goroot);
    let said = go(&["run", "."], &paths.join("\n"));
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(said.len(), paths.len());

    let differing: BTreeSet<String> = said
        .par_iter()
        .filter_map(|line| {
            let (path, digest) = line.split_once('\t').expect("a path and a digest");
            let digest = parse_digest(digest)?;
            let text = SourceText::new(std::fs::read(path).expect("readable"));
            let file = syntax::parse(text.clone());
            if expects_errors(text.bytes()) {
                return None;
            }
            let is_same = file.errors.is_empty()
                && digest_of(&file) == digest
                && describe(&syntax::outline(text.bytes()), &file) == outline_of(&file)
                && places_of_lazy_declarations(text.clone()) == places_of_declarations(&file);
            (!is_same).then(|| {
                Path::new(path).strip_prefix(&goroot).expect("below").display().to_string()
            })
        })
        .collect();
    assert_eq!(differing, exceptions(), "differing files, and those that the documentation admits");
}

/// The functions of a tree, in order: place, name, receiver's type and body.
fn outline_of(file: &File) -> Vec<String> {
    let mut described = Vec::new();
    for &id in &file.top_level {
        let decl = file.decl(id);
        let DeclKind::Func(func) = &decl.kind else { continue };
        let receiver = func.receiver.and_then(|param| type_name(file, param.ty));
        let body = match file.body(func) {
            Body::Parsed(body) => Some(file.stmt(body).span),
            Body::External | Body::Elided(_) => None,
        };
        described.push(format!("{:?} {} {receiver:?} {body:?}", decl.span, func.name.name));
    }
    described
}

/// The name of `T`, `*T`, `T[K]`.
fn type_name(file: &File, ty: ExprId) -> Option<Symbol> {
    match file.expr(ty).kind {
        ExprKind::Ident(name) => Some(name),
        ExprKind::Star(inner) | ExprKind::Paren(inner) => type_name(file, inner),
        ExprKind::Index { base, .. } => type_name(file, base),
        _ => None,
    }
}

/// As `outline_of`; the specifications of the tree that lie in no declaration of their kind are
/// added, so that they show.
fn describe(outline: &Outline, file: &File) -> Vec<String> {
    let name = |span: Span| Symbol::new(&file.source.text(span));
    let mut described: Vec<String> = outline
        .decls
        .iter()
        .filter(|decl| decl.kind == OutlineKind::Func)
        .map(|decl| {
            let receiver = decl.receiver.map(name);
            let func = decl.name.map(name).expect("a name, since the file is valid");
            format!("{:?} {func} {receiver:?} {:?}", decl.span, decl.body)
        })
        .collect();
    for &id in &file.top_level {
        let kind = match file.decl(id).kind {
            DeclKind::Func(_) => continue,
            DeclKind::Var(_) => OutlineKind::Var,
            DeclKind::Const(_) => OutlineKind::Const,
            DeclKind::Type(_) => OutlineKind::Type,
        };
        let span = file.decl(id).span;
        let at = outline.decls.partition_point(|decl| decl.span.end < span.end);
        let around = outline.decls.get(at);
        if !around.is_some_and(|decl| decl.kind == kind && decl.span.contains(span)) {
            described.push(format!("{kind:?} {span:?}"));
        }
    }
    described
}

fn goroot() -> PathBuf {
    PathBuf::from(go(&["env", "GOROOT"], "").trim())
}

/// All Go files of Go's own tree.
fn go_files(goroot: &Path) -> Vec<String> {
    let paths: Vec<String> = [goroot.join("src"), goroot.join("test")]
        .iter()
        .flat_map(|root| walkdir::WalkDir::new(root).sort_by_file_name())
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.file_type().is_file())
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "go"))
        .map(|entry| entry.path().display().to_string())
        .collect();
    assert!(paths.len() > 1_000, "GOROOT has few Go files: {}", paths.len());
    paths
}

/// Whether a file of Go's own tests says that the compiler rejects it, as go/parser may not.
fn expects_errors(bytes: &[u8]) -> bool {
    [&b"// ERROR"[..], b"/* ERROR", b"// GC_ERROR"]
        .iter()
        .any(|mark| memchr::memmem::find(bytes, mark).is_some())
}

/// The output of the Go command in the oracle's module.
fn go(args: &[&str], input: &str) -> String {
    let missing = "no `go` on PATH: install Go, or set STRAGGLER_SKIP_GO=1 to skip this test";
    let mut child = Command::new("go")
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/ast"))
        .env("GOWORK", "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect(missing);
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("the oracle reads");
    let output = child.wait_with_output().expect("the oracle ends");
    assert!(output.status.success(), "go {args:?} failed");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// `None` for a file that is not valid Go.
fn parse_digest(text: &str) -> Option<Digest> {
    let mut numbers = text.split('\t').map(|number| number.parse().ok());
    Some(Digest { tree: numbers.next()??, nodes: numbers.next()??, count: numbers.next()?? })
}

fn digest_of(file: &File) -> Digest {
    let mut digest = Digest { tree: hash(syntax::print(file).as_bytes()), nodes: 0, count: 0 };
    each_node(file, |text| {
        digest.nodes = digest.nodes.wrapping_add(hash(text.as_bytes()));
        digest.count += 1;
    });
    digest
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Gives each node as `start-end kind`.
fn each_node(file: &File, mut each: impl FnMut(&str)) {
    let mut text = String::new();
    let mut node = |span: Span, kind: &str| {
        text.clear();
        let _ = write!(text, "{}-{} {kind}", span.start, span.end);
        each(&text);
    };
    // The functions made of literals are no nodes of their own.
    let is_own = |id: u32| file.literals.binary_search(&syntax::DeclId(id)).is_err();
    for (_, decl) in file.decls().filter(|(id, _)| is_own(id.0)) {
        node(
            decl.span,
            match decl.kind {
                DeclKind::Func(_) => "func",
                DeclKind::Var(_) => "var",
                DeclKind::Const(_) => "const",
                DeclKind::Type(_) => "type",
            },
        );
    }
    for id in 0..file.expr_count() {
        let expr = file.expr(syntax::ExprId(id as u32));
        node(
            expr.span,
            match expr.kind {
                ExprKind::Missing => "missing",
                ExprKind::Ident(_) => "ident",
                ExprKind::BasicLit(_) => "basic",
                ExprKind::CompositeLit { .. } => "lit",
                ExprKind::FuncLit(_) => "funclit",
                ExprKind::Paren(_) => "paren",
                ExprKind::Selector { .. } => "selector",
                ExprKind::Index { .. } => "index",
                ExprKind::Slice { .. } => "slice",
                ExprKind::TypeAssert { .. } => "assert",
                ExprKind::Call { .. } => "call",
                ExprKind::Star(_) => "star",
                ExprKind::Unary { .. } => "unary",
                ExprKind::Binary { .. } => "binary",
                ExprKind::ArrayType { .. } => "array",
                ExprKind::MapType { .. } => "map",
                ExprKind::ChanType { .. } => "chan",
                ExprKind::FuncType(_) => "functype",
                ExprKind::StructType(_) => "struct",
                ExprKind::InterfaceType(_) => "interface",
            },
        );
    }
    for id in 0..file.stmt_count() {
        let stmt = file.stmt(syntax::StmtId(id as u32));
        node(
            stmt.span,
            match stmt.kind {
                StmtKind::Missing => "missing",
                StmtKind::Expr(_) => "exprstmt",
                StmtKind::Send { .. } => "send",
                StmtKind::IncDec { .. } => "incdec",
                StmtKind::Assign { .. } => "assign",
                StmtKind::Define { .. } => "define",
                StmtKind::Go(_) => "go",
                StmtKind::Defer(_) => "defer",
                StmtKind::Return(_) => "return",
                StmtKind::Branch { .. } => "branch",
                StmtKind::Block(_) => "block",
                StmtKind::If { .. } => "if",
                StmtKind::Switch { .. } => "switch",
                StmtKind::TypeSwitch { .. } => "typeswitch",
                StmtKind::Select(_) => "select",
                StmtKind::For { .. } => "for",
                StmtKind::Range { .. } => "range",
                // Their places are those of other nodes.
                StmtKind::Empty | StmtKind::Labeled { .. } | StmtKind::Decl(_) => continue,
            },
        );
    }
}

/// The files that the documentation lists under "Syntax exceptions".
fn exceptions() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ARCHITECTURE.md");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let Some((_, section)) = text.split_once("## Syntax exceptions\n") else {
        return BTreeSet::new();
    };
    section
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("- `GOROOT/")?.split_once('`'))
        .map(|(name, _)| name.to_string())
        .collect()
}
