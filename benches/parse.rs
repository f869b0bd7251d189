//! What reading costs: tree-sitter alone, with the lowering to straggler's own tree, and with the
//! names and types of every body, on packages of Go's library, or on generated ones where there is
//! no Go. `STRAGGLER_BENCH_CORPUS` names another directory. Lowering is meant to cost at most half of
//! what tree-sitter does.
//!
//! `cargo bench --bench parse`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use divan::Bencher;
use divan::counter::BytesCount;
use straggler::catalog::Catalog;
use straggler::index::Index;
use straggler::project::{self, LoadOptions, Reach, Snapshot};
use straggler::source::SourceText;
use straggler::syntax;

/// About so much of a corpus is asked for: enough for a stable figure. What it imports of its own
/// module comes on top.
const BYTES: u64 = 2 << 20;

/// What the index asks of a thread.
const STACK_BYTES: usize = 16 << 20;

static CORPUS: LazyLock<Snapshot> = LazyLock::new(corpus);

fn main() {
    let run = || divan::main();
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    thread.expect("a thread").join().expect("the benches run");
}

/// The outline: tokens only.
#[divan::bench(sample_count = 10)]
fn outline(bencher: Bencher) {
    bench(bencher, |text| {
        divan::black_box(syntax::outline(text.bytes()));
    });
}

/// tree-sitter alone, trees dropped at once: the yardstick.
#[divan::bench(sample_count = 10)]
fn parse(bencher: Bencher) {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_go::LANGUAGE.into()).expect("one ABI");
    bench(bencher, |text| {
        divan::black_box(parser.parse(text.bytes(), None));
    });
}

/// What the analysis does with each file.
#[divan::bench(sample_count = 10)]
fn parse_and_lower(bencher: Bencher) {
    bench(bencher, |text| {
        divan::black_box(syntax::parse(text.clone()));
    });
}

/// And with each package: what every name denotes, and the type of every expression. The
/// declarations of packages beyond the corpus that they lead to are read and lowered for it.
#[divan::bench(sample_count = 10)]
fn parse_lower_and_index(bencher: Bencher) {
    let (catalog, problems) = Catalog::load(None);
    assert!(problems.is_empty(), "{problems:?}");
    bencher.counter(BytesCount::new(bytes())).bench_local(|| {
        let parse = |file: &Arc<project::SourceFile>| Arc::new(syntax::parse(file.text.clone()));
        let files: Vec<_> = CORPUS.files.iter().map(parse).collect();
        let index = Index::new(&CORPUS, &files, &catalog);
        for package in &CORPUS.packages {
            for func in &index.package(package.id).funcs {
                divan::black_box(index.body(func.id));
            }
        }
    });
}

fn bench(bencher: Bencher, mut each: impl FnMut(&SourceText)) {
    let texts = || CORPUS.files.iter().map(|file| &file.text);
    bencher.counter(BytesCount::new(bytes())).bench_local(|| texts().for_each(&mut each));
}

fn bytes() -> usize {
    CORPUS.files.iter().map(|file| file.text.bytes().len()).sum()
}

/// Every n-th directory with Go files of the corpus, so that it is a sample of all of it.
fn corpus() -> Snapshot {
    let variable = |name: &str| std::env::var_os(name);
    let cwd = std::env::current_dir().expect("a working directory");
    let options = LoadOptions::from_env(cwd, Vec::new(), None, variable);
    let root = variable("STRAGGLER_BENCH_CORPUS")
        .map(PathBuf::from)
        .or_else(|| Some(options.goroot.as_ref()?.join("src")));
    let Some(root) = root else { return generated() };
    let mut dirs: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for entry in walkdir::WalkDir::new(&root).into_iter().filter_map(|entry| entry.ok()) {
        let is_go = entry.path().extension().is_some_and(|extension| extension == "go");
        let is_data = entry.path().components().any(|part| part.as_os_str() == "testdata");
        if let (true, false, Some(dir)) = (is_go, is_data, entry.path().parent()) {
            *dirs.entry(dir.to_owned()).or_default() += entry.metadata().map_or(0, |m| m.len());
        }
    }
    let step = (dirs.values().sum::<u64>() / BYTES).max(1) as usize;
    let paths = dirs.into_keys().step_by(step).collect();
    project::load(&LoadOptions { cwd: root, paths, reach: Reach::Itself, ..options })
}

/// Files of functions of one shape.
fn generated() -> Snapshot {
    let func = |at: usize| {
        format!(
            "// Serve{at} answers.\nfunc (s *Server) Serve{at}(ctx context.Context, in <-chan Request) error {{\n\tresults := make(chan Result, {at})\n\tgo func() {{\n\t\tdefer close(results)\n\t\tfor request := range in {{\n\t\t\tif request.ID == {at} && !request.Done {{\n\t\t\t\tresults <- Result{{ID: request.ID, Values: []int{{1, 2, 3}}}}\n\t\t\t}}\n\t\t}}\n\t}}()\n\tselect {{\n\tcase result := <-results:\n\t\treturn s.handle(ctx, result.Values...)\n\tcase <-ctx.Done():\n\t\treturn fmt.Errorf(\"serve: %w\", ctx.Err())\n\t}}\n}}\n\n"
        )
    };
    let body: String = (0..30).map(func).collect();
    let text = |at: usize| {
        format!("package server{at}\n\nimport (\n\t\"context\"\n\t\"fmt\"\n)\n\n{body}")
            .into_bytes()
    };
    let root = PathBuf::from("/generated");
    let file = |at: usize| (root.join(format!("server{at}/server.go")), text(at));
    let mut overlays: BTreeMap<PathBuf, Vec<u8>> = (0..100).map(file).collect();
    let paths = overlays.keys().cloned().collect();
    overlays.insert(root.join("go.mod"), b"module generated\n\ngo 1.26\n".to_vec());
    project::load(&LoadOptions { overlays, ..LoadOptions::new(root, paths) })
}
