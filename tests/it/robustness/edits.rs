//! Typing: what is made of a file that is edited does not depend on what it was before.

use std::fs;

use straggler::source::SourceText;
use straggler::syntax::{self, Former};
use walkdir::WalkDir;

use crate::harness::{Random, root};

const SEED: u64 = 20_261_122;

/// How often each file is edited.
const EDITS: usize = 25;

/// What is typed.
const PIECES: &[&str] = &[
    " ",
    "\n",
    "x",
    "x.y",
    "0",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    ":",
    ":=",
    "=",
    "<-",
    "*",
    "&",
    "\"",
    "`",
    "'",
    "/*",
    "*/",
    "// ",
    "func",
    "func() {}",
    "go ",
    "defer ",
    "select {\n}\n",
    "chan int",
    "return\n",
    "if x {\n}\n",
    "for range x {\n}\n",
    "T[int]",
    "type T[P any] struct{}\n",
    "\u{fc}",
    "\0",
    "package p\n",
    "import \"x\"\n",
    "\nfunc g() { h() }\n",
    "x <- y\n",
    "go func() { x() }()\n",
];

#[test]
fn an_edited_file_is_parsed_as_if_it_had_never_been_another() {
    let mut random = Random(SEED);
    let (mut files, mut sound) = (0, 0);
    for entry in WalkDir::new(root().join("fixtures")).sort_by_file_name() {
        let entry = entry.expect("a readable directory");
        if entry.path().extension().is_none_or(|extension| extension != "go") {
            continue;
        }
        let mut text = fs::read(entry.path()).expect("a readable file");
        let mut good = text.clone();
        let mut former: Option<Former> = None;
        for _ in 0..EDITS {
            let source = SourceText::new(text.clone());
            let (edited, next) = syntax::parse_edited(source.clone(), former);
            let fresh = syntax::parse(source);
            assert!(
                format!("{edited:?}") == format!("{fresh:?}"),
                "{}: other than fresh:\n{}",
                entry.path().display(),
                String::from_utf8_lossy(&text)
            );
            former = next;
            if fresh.errors.is_empty() {
                sound += 1;
                good.clone_from(&text);
            } else if random.below(2) == 0 {
                text.clone_from(&good);
            }
            edit(&mut text, &mut random);
        }
        files += 1;
    }
    // Otherwise nothing would be taken over from an earlier text.
    assert!(files > 100 && sound > 5 * files, "{sound} texts of {files} files without errors");
}

/// One change somewhere.
fn edit(text: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(text.len() + 1);
    let end = (start + random.below(4) * random.below(12)).min(text.len());
    match random.below(4) {
        0 => drop(text.drain(start..end)),
        1 => {
            let copied = text[start..end].to_vec();
            let to = random.below(text.len() + 1);
            text.splice(to..to, copied);
        }
        _ => drop(text.splice(start..start, random.one_of(PIECES).bytes())),
    }
}
