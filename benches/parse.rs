//! What parsing costs: tree-sitter alone, and with the lowering to straggler's own tree, on the
//! sources of Go's library, or on generated ones where there is no Go. `STRAGGLER_BENCH_CORPUS` names
//! another directory. Lowering is meant to cost at most half of what tree-sitter does.
//!
//! `cargo bench --bench parse`

use std::path::PathBuf;
use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::BytesCount;
use straggler::source::SourceText;
use straggler::syntax;

/// At most so much of a corpus is read: enough for a stable figure.
const BYTES: usize = 4 << 20;

static CORPUS: LazyLock<Vec<SourceText>> = LazyLock::new(corpus);

fn main() {
    divan::main();
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

/// What the analysis does.
#[divan::bench(sample_count = 10)]
fn parse_and_lower(bencher: Bencher) {
    bench(bencher, |text| {
        divan::black_box(syntax::parse(text.clone()));
    });
}

fn bench(bencher: Bencher, mut each: impl FnMut(&SourceText)) {
    let bytes: usize = CORPUS.iter().map(|text| text.bytes().len()).sum();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| CORPUS.iter().for_each(&mut each));
}

/// Every n-th Go file of the corpus, so that it is a sample of all of it.
fn corpus() -> Vec<SourceText> {
    let goroot = || Some(PathBuf::from(std::env::var_os("GOROOT")?).join("src"));
    let known = ["/usr/local/go/src", "/usr/lib/go/src"].map(PathBuf::from);
    let root = std::env::var_os("STRAGGLER_BENCH_CORPUS")
        .map(PathBuf::from)
        .or_else(goroot)
        .or_else(|| known.into_iter().find(|path| path.is_dir()));
    let Some(root) = root else { return generated() };
    let paths: Vec<_> = walkdir::WalkDir::new(root)
        .sort_by_file_name()
        .into_iter()
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "go"))
        .collect();
    let all: u64 = paths.iter().filter_map(|entry| entry.metadata().ok()).map(|m| m.len()).sum();
    let step = (all as usize / BYTES).max(1);
    let read = |entry: &walkdir::DirEntry| std::fs::read(entry.path()).ok();
    paths.iter().step_by(step).filter_map(read).map(SourceText::new).collect()
}

/// Files of functions of one shape.
fn generated() -> Vec<SourceText> {
    let func = |at: usize| {
        format!(
            "// Serve{at} answers.\nfunc (s *Server) Serve{at}(ctx context.Context, in <-chan Request) error {{\n\tresults := make(chan Result, {at})\n\tgo func() {{\n\t\tdefer close(results)\n\t\tfor request := range in {{\n\t\t\tif request.ID == {at} && !request.Done {{\n\t\t\t\tresults <- Result{{ID: request.ID, Values: []int{{1, 2, 3}}}}\n\t\t\t}}\n\t\t}}\n\t}}()\n\tselect {{\n\tcase result := <-results:\n\t\treturn s.handle(ctx, result.Values...)\n\tcase <-ctx.Done():\n\t\treturn fmt.Errorf(\"serve: %w\", ctx.Err())\n\t}}\n}}\n\n"
        )
    };
    let body: String = (0..30).map(func).collect();
    let file = format!("package server\n\nimport (\n\t\"context\"\n\t\"fmt\"\n)\n\n{body}");
    vec![SourceText::new(file.into_bytes()); 100]
}
