//! A file that is edited step by step: after each step its tree is that of a fresh parse, and what is
//! told of it, with all that is remembered of the steps before, is what a fresh run tells. Up to the
//! bytes `ff ff` stands the text, or the choices for a program; behind them the edits.

use std::path::Path;

use straggler::analysis::{self, Memory, Progress};
use straggler::project::{self, Snapshot};
use straggler::source::SourceText;
use straggler::syntax::{self, Former};

use super::check::{self, DIR, Files};
use super::choices::Choices;
use super::soup;

/// So many edits are made at most.
const STEPS: usize = 12;

pub fn target(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let base = choices.up_to(b"\xff\xff");
    let mut text = match base.split_first() {
        Some((0, rest)) => soup::file("p", &mut Choices::new(rest)).into_bytes(),
        _ => base.to_vec(),
    };
    let original = text.clone();
    let mut former = None;
    let mut session = Session::default();
    for _ in 0..STEPS {
        former = assert_parsed_as_fresh(&text, former);
        session.assert_told_as_fresh(&text);
        if choices.is_over() {
            break;
        }
        edit(&mut text, &original, &mut choices);
    }
}

fn assert_parsed_as_fresh(text: &[u8], former: Option<Former>) -> Option<Former> {
    let source = SourceText::new(text.to_vec());
    let (edited, next) = syntax::parse_edited(source.clone(), former);
    let fresh = syntax::parse(source);
    let is_same = format!("{edited:?}") == format!("{fresh:?}");
    assert!(is_same, "another tree than a fresh one of:\n{}", String::from_utf8_lossy(text));
    next
}

/// What an editor's session knows.
#[derive(Default)]
struct Session {
    memory: Memory,
    snapshot: Option<Snapshot>,
}

impl Session {
    fn assert_told_as_fresh(&mut self, text: &[u8]) {
        let go_mod = b"module example.com/m\n\ngo 1.26\n".to_vec();
        let files = Files::from([
            (Path::new(DIR).join("go.mod"), go_mod),
            (Path::new(DIR).join("p.go"), text.to_vec()),
        ]);
        let options = check::options(&files);
        let run = || {
            let edited = self.snapshot.take().and_then(|before| before.edited(&files));
            let now = self.snapshot.insert(edited.unwrap_or_else(|| project::load(&options)));
            let (selections, progress) = (check::all_rules(), Progress::default());
            let memory = &mut self.memory;
            analysis::analyze_again(now, check::catalog(), &selections, &progress, memory)
        };
        let told = check::told(&analysis::on_threads(Some(1), run).expect("a thread"));
        let fresh = check::told(&check::report(&files, &mut Memory::default()));
        let text = String::from_utf8_lossy(text);
        assert!(told == fresh, "told:\n{told}\nby a fresh run:\n{fresh}\nof:\n{text}");
    }
}

/// What is typed.
const PIECES: &[&str] = &[
    "x",
    " ",
    "\n",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "`",
    "/*",
    "*/",
    "//",
    "'",
    ",",
    ";",
    ".",
    ":=",
    "<-",
    "go ",
    "func",
    "func() {\n}\n",
    "return\n",
    "if x {\n}\n",
    "for {\n}\n",
    "select {\n}\n",
    "type T struct {\n}\n",
    "import \"q\"\n",
    "package p\n",
    "\u{feff}",
    "\0",
    "é",
    "ch := make(chan int)\n",
    "<-ch\n",
    "defer func() {}()\n",
    "\nfunc f(ch chan int) {\n\tch <- 1\n}\n",
];

/// One change somewhere.
fn edit(text: &mut Vec<u8>, original: &[u8], choices: &mut Choices<'_>) {
    let place = |choices: &mut Choices<'_>, length: usize| {
        (usize::from(choices.byte()) << 8 | usize::from(choices.byte())) % (length + 1)
    };
    let start = place(choices, text.len());
    match choices.below(6) {
        0 => {
            let end = (start + choices.below(64)).min(text.len());
            text.drain(start..end);
        }
        1 => {
            let end = (start + choices.below(64)).min(text.len());
            let copied = text[start..end].to_vec();
            let to = place(choices, text.len());
            text.splice(to..to, copied);
        }
        2 => *text = original.to_vec(),
        3 => {
            let statements = soup::statements(choices);
            text.splice(start..start, statements.into_bytes());
        }
        _ => {
            let piece = choices.one_of(PIECES);
            text.splice(start..start, piece.bytes());
        }
    }
}
