//! How fast states are explored, on one thread: fixed programs, each counted by its states.
//!
//! `cargo bench --bench explore` prints states in a second (`item/s`).

use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::ItemsCount;
use straggler::explore::{self, Limits, Root};
use straggler::program::{self, NothingKnown, Program, Source};
use straggler::source::{FileId, SourceText};
use straggler::syntax;

/// The programs: names, and the bodies of the functions that are explored from.
const PROGRAMS: [(&str, &str); 5] = [
    ("philosophers", include_str!("explore/philosophers.go.txt")),
    ("pipeline", include_str!("explore/pipeline.go.txt")),
    ("pool", include_str!("explore/pool.go.txt")),
    ("broker", include_str!("explore/broker.go.txt")),
    ("shutdown", include_str!("explore/shutdown.go.txt")),
];

static COMPILED: LazyLock<Vec<(Program, Root)>> = LazyLock::new(|| {
    let compile = |&(name, text): &(&str, &str)| {
        let source = SourceText::new(text.as_bytes().to_vec());
        let file = syntax::parse(source);
        assert!(file.errors.is_empty(), "{name}: {:?}", file.errors);
        let program = program::compile(&[Source { id: FileId(0), file: &file }], &NothingKnown);
        let named = |&id: &_| program.func(id).symbol.as_str() == "main";
        let func = program.entries.iter().copied().find(named).expect("the text declares main");
        (program, Root { func, maker: None, closed: true, ends_process: false })
    };
    PROGRAMS.iter().map(compile).collect()
});

fn main() {
    divan::main();
}

/// All states of one program, or as many as the bounds let.
#[divan::bench(args = PROGRAMS.map(|(name, _)| name))]
fn states(bencher: Bencher, name: &str) {
    let number = PROGRAMS.iter().position(|(of, _)| *of == name).expect("it is in the list");
    let (program, root) = &COMPILED[number];
    let explore = || explore::explore(program, *root, &Limits::DEFAULT);
    let states = explore().states;
    bencher.counter(ItemsCount::new(states)).bench(|| divan::black_box(explore()));
}
