//! Files that no Go compiler would take, and files that only a program would write: the parse ends,
//! on a small stack, says what is wrong, and keeps what is right.

use rayon::prelude::*;
use straggler::source::SourceText;
use straggler::syntax;

const DEPTH: usize = 100_000;

/// What a test sees of a parse.
struct Seen {
    /// The names of all declared functions.
    funcs: Vec<&'static str>,
    errors: Vec<String>,
    exprs: usize,
    printed: String,
}

/// Parses and prints on a stack as small as that of a thread of a test or a pool.
fn parse(text: impl Into<Vec<u8>>) -> Seen {
    let text = SourceText::new(text.into());
    let parse = move || {
        let file = syntax::parse(text);
        let position = |error: &syntax::SyntaxError| {
            let at = file.source.position(error.span.start);
            format!("{}:{}: {}", at.line, at.column, error.message)
        };
        Seen {
            funcs: file.funcs().map(|(_, func)| func.name.name.as_str()).collect(),
            errors: file.errors.iter().map(position).collect(),
            exprs: file.expr_count(),
            printed: syntax::print(&file),
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(parse).expect("a thread");
    thread.join().expect("no panic and no overflow")
}

/// `open` and `close` nested around `inner`, as statements of a function between two others.
fn nested(open: &str, inner: &str, close: &str) -> String {
    let (open, close) = (open.repeat(DEPTH), close.repeat(DEPTH));
    format!("package p\nfunc a() {{}}\nfunc f() {{\n{open}{inner}{close}\n}}\nfunc z() {{}}\n")
}

#[test]
fn nesting_is_cut_at_a_depth_that_recursion_can_stand() {
    let shapes = [
        ("_ = ", "(", "x", ")"),
        ("", "f(", "x", ")"),
        ("", "{\n", "", "}\n"),
        ("_ = ", "!", "x", ""),
        ("_ = ", "<-", "x", ""),
        ("", "func() {\n", "", "\n}()"),
        ("_ = T", "{", "", "}"),
        ("", "if x {\n", "", "}\n"),
        ("_ = ", "x + (", "x", ")"),
        ("var _ ", "[]", "int", ""),
        ("var _ ", "struct{ a ", "int", "}"),
        ("var _ ", "func(", "int", ")"),
        ("_ = ", "x[", "0", "]"),
        ("", "select { default:\n", "", "}\n"),
        ("", "L: ", "x()", ""),
        ("_ = ", "new(", "x + 1", ")"),
    ];
    shapes.par_iter().for_each(|(before, open, inner, close)| {
        let text = nested(open, inner, close).replacen("{\n", &format!("{{\n{before}"), 1);
        let seen = parse(text);
        assert_eq!(seen.funcs, ["a", "f", "z"], "around {open}");
        let errors: Vec<_> =
            seen.errors.iter().map(|e| e.split_once(": ").expect("a place").1).collect();
        assert_eq!(errors, ["nested deeper than 1000 levels"], "in {open}");
    });
}

#[test]
fn chains_are_whole_however_long() {
    let chains = [
        ("_ = x", " + x", 2 * DEPTH + 2),
        ("_ = x", ".x", DEPTH + 2),
        ("x", "()", DEPTH + 1),
        ("_ = x", "[0]", 2 * DEPTH + 2),
        ("if x { }", " else if x { }", DEPTH + 1),
    ];
    chains.par_iter().for_each(|(first, link, exprs)| {
        let text = format!("package p\nfunc f() {{\n{first}{}\n}}\n", link.repeat(DEPTH));
        let seen = parse(text);
        assert_eq!(seen.errors, [""; 0], "of {link}");
        assert_eq!(seen.exprs, *exprs, "of {link}");
    });
}

#[test]
fn brackets_that_do_not_match_hurt_nobody_else() {
    let around = |broken: &str| {
        let seen = parse(format!("package p\n\nfunc a() {{}}\n\n{broken}\n\nfunc z() {{}}\n"));
        assert!(seen.funcs.starts_with(&["a"]) && seen.funcs.ends_with(&["z"]), "around {broken}");
        assert!(!seen.errors.is_empty(), "in {broken}");
        seen.errors.join("\n")
    };
    assert_eq!(around("func f() {\n\tif x {\n}"), "5:10: syntax error: `{` is never closed");
    assert_eq!(around("func f() {\n\tg(1, 2\n}"), "6:3: syntax error: `(` is never closed");
    assert_eq!(around("func f() {\n\tg(1))\n}"), "6:6: syntax error: unexpected `)`");
    assert_eq!(around("func f() {\n}\n}"), "7:1: syntax error: `}` outside of any declaration");
    assert_eq!(around("func f() {\n\tx := \"abc\n}"), "6:7: string not terminated");
    assert_eq!(around("func f() {\n\tx := `abc\n}"), "6:7: string not terminated");
    assert_eq!(around("func f() {\n\t/* abc\n}"), "6:2: comment not terminated");
    for garbage in ["{", "}", "(", "))", "}{)(", "\"", "`", "/*", "a b c ; ) ( ", ",", "go "] {
        around(&garbage.repeat(1_000));
        around(&format!("func f() {{\n{}\n}}", garbage.repeat(1_000)));
    }
}

#[test]
fn no_bytes_are_too_strange() {
    let errors = |text: &[u8]| parse(text).errors.join("\n");
    assert_eq!(errors(b"package p\n\nvar x = \"\xff\"\n"), "3:10: illegal UTF-8 encoding");
    assert_eq!(errors(b"package p\n\x00\nfunc f() {}\n"), "2:1: illegal character NUL");
    assert_eq!(parse(b"package p\n\x00\nfunc f() {}\n").funcs, ["f"]);
    assert_eq!(parse(b"").printed, "");
    assert_eq!(parse(b"\xEF\xBB\xBFpackage p\n").printed, "package p\n");
    let crlf = "package p\r\n\r\nfunc f() {\r\n\tx := `a\r\nb`\r\n\tgo g(x)\r\n}\r\n";
    assert_eq!(parse(crlf).printed, "package p\nfunc f ()\n  x := `a\r\nb`\n  go (call g x)\n");
    // Any bytes at all: the seed makes them the same in each run.
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..random() % 400).map(|_| random() as u8).collect();
        parse(bytes);
    }
}

#[test]
fn a_file_that_is_cut_anywhere_keeps_what_came_before() {
    let whole = "package p\n\nfunc a() { go x() }\n\ntype T[P any] struct{ f func(P) }\n\nfunc (t *T[P]) m(c chan<- int) {\n\tselect {\n\tcase c <- 1: // sent\n\t}\n}\n";
    let complete = whole.find("\n\ntype").expect("a type");
    for end in 0..whole.len() {
        let seen = parse(&whole[..end]);
        if end > complete {
            assert!(
                seen.printed.starts_with("package p\nfunc a ()\n  go (call x)\n"),
                "cut at {end}"
            );
        }
    }
}
