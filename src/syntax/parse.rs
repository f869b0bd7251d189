//! From the text of a file to its tree: what is given to tree-sitter, and how often.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use crate::source::{SourceText, Span};
use crate::syntax::lower::Lowering;
use crate::syntax::{File, SyntaxError};

/// Parses one file. It never fails: see [`File::errors`].
pub fn parse(source: SourceText) -> File {
    let mut lowering = Lowering::new(&source);
    match tree(source.bytes()) {
        Some(tree) => lowering.add(&tree, 0),
        None => lowering.errors.push(SyntaxError {
            span: Span::new(0, 0),
            message: "too complicated to parse".to_string(),
        }),
    }
    let package_start = lowering.package.map(|name| name.span.start);
    let generated = is_generated(source.bytes(), package_start);
    lowering.finish(source.clone(), generated)
}

thread_local! {
    static PARSER: RefCell<Parser> = RefCell::new(new_parser());
}

fn new_parser() -> Parser {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_go::LANGUAGE.into())
        .expect("the grammar and the library are of one ABI");
    parser
}

/// tree-sitter's tree of `text`; `None` when it needs more steps than honest code of that length.
fn tree(text: &[u8]) -> Option<Tree> {
    // A tick is a hundred of the parser's operations. Go's own tree needs at most 0.1 for a byte.
    let mut ticks_left = 10_000 + text.len() * 4;
    let mut count = |_: &ParseState| {
        ticks_left = ticks_left.saturating_sub(1);
        if ticks_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    PARSER.with_borrow_mut(|parser| {
        let options = ParseOptions::new().progress_callback(&mut count);
        let mut input = |at: usize, _| &text[at.min(text.len())..];
        let tree = parser.parse_with_options(&mut input, None, Some(options));
        if tree.is_none() {
            // An abandoned parse would be resumed by the next one.
            parser.reset();
        }
        tree
    })
}

/// Whether a line before the package clause says that the file is generated.
fn is_generated(bytes: &[u8], package_name: Option<u32>) -> bool {
    let head = &bytes[..package_name.map_or(bytes.len(), |at| at as usize)];
    head.split(|&byte| byte == b'\n').any(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.strip_prefix(b"// Code generated ")
            .is_some_and(|rest| rest.ends_with(b" DO NOT EDIT."))
    })
}
