//! The yardstick of a whole run: tree-sitter alone over the files that are named on standard input,
//! one a line, on one thread, trees dropped at once. `benches/whole.py` sets it beside straggler.

use std::io::BufRead;

fn main() {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_go::LANGUAGE.into()).expect("one ABI");
    let (mut files, mut bytes) = (0, 0);
    for path in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(text) = std::fs::read(&path) else { continue };
        files += 1;
        bytes += text.len();
        std::hint::black_box(parser.parse(&text, None));
    }
    println!("{files} files, {bytes} bytes");
}
