//! Whole runs of the program over what it cannot like.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::cli::{module, seen, straggler};

const FINE: &str = "package m\n\nfunc Fine() {}\n";

/// Runs straggler over a module that holds `FINE` and what `spoil` adds; compares exit code and
/// messages.
#[track_caller]
fn check(spoil: impl FnOnce(&Path), args: &[&str], expected: &str) {
    let module = module(&[("fine.go", FINE)]);
    spoil(module.path());
    let output = straggler(module.path()).args(args).output().expect("straggler runs");
    assert_eq!(seen(&output), expected);
}

/// As [`check`], with one more file.
#[track_caller]
fn check_file(name: &str, bytes: impl AsRef<[u8]>, expected: &str) {
    check(|dir| fs::write(dir.join(name), bytes).expect("a file"), &[], expected);
}

#[test]
fn broken_go() {
    check_file(
        "broken.go",
        "package m\n\nfunc a() {\n\tx := \n}\n\nfunc b() {}\n",
        "exit 0\n\
         ! note: broken.go:4:6: syntax error: missing a name; the functions around it are analysed\n\
         ! no findings in 2 files of 1 package; 1 with syntax errors, analysed around them; T\n",
    );
}

#[test]
fn what_is_no_text() {
    check_file(
        "latin.go",
        b"package m\n\nvar s = \"\xe9\"\n",
        "exit 0\n\
         ! note: latin.go:3:10: illegal UTF-8 encoding; the functions around it are analysed\n\
         ! no findings in 2 files of 1 package; 1 with syntax errors, analysed around them; T\n",
    );
    check_file(
        "nul.go",
        "package m\n\nvar s = \"\0\"\n",
        "exit 0\n\
         ! note: nul.go:3:10: illegal character NUL; the functions around it are analysed\n\
         ! no findings in 2 files of 1 package; 1 with syntax errors, analysed around them; T\n",
    );
}

#[test]
fn unusual_text_is_no_error() {
    let clean = "exit 0\n! no findings in 2 files of 1 package; T\n";
    check_file("bom.go", "\u{feff}package m\n\nfunc bom() {}\n", clean);
    check_file("crlf.go", "package m\r\n\r\nfunc crlf() {}\r\n", clean);
}

#[test]
fn an_empty_file() {
    check_file(
        "empty.go",
        "",
        "exit 0\n\
         ! note: empty.go:1:1: syntax error: missing a package clause; the functions around it are analysed\n\
         ! no findings in 2 files of 1 package; 1 with syntax errors, analysed around them; T\n",
    );
}

#[test]
fn deep_nesting() {
    let (open, close) = ("(".repeat(100_000), ")".repeat(100_000));
    check_file(
        "deep.go",
        format!("package m\n\nvar deep = {open}1{close}\n"),
        "exit 0\n\
         ! note: deep.go:3:1010: nested deeper than 1000 levels; the functions around it are analysed\n\
         ! no findings in 2 files of 1 package; 1 with syntax errors, analysed around them; T\n",
    );
}

#[test]
fn a_file_larger_than_the_limit() {
    check_file(
        "big.go",
        format!("package m\n\nvar big = \"{}\"\n", "x".repeat(4 << 20)),
        "exit 0\n\
         ! note: big.go: larger than the limit of 4194304 bytes; skipped\n\
         ! no findings in 1 file of 1 package; 1 skipped as too large; T\n",
    );
}

#[test]
fn what_is_no_file_is_never_opened() {
    let spoil = |dir: &Path| {
        let made = Command::new("mkfifo").arg(dir.join("pipe.go")).status();
        assert!(made.is_ok_and(|status| status.success()));
        symlink("/dev/zero", dir.join("zero.go")).expect("a link");
    };
    let notes = "! note: pipe.go: not a regular file but a FIFO; skipped\n! note: zero.go: not a regular file but a device; skipped\n";
    check(
        spoil,
        &[],
        &format!(
            "exit 0\n{notes}! no findings in 1 file of 1 package; 2 skipped as not regular; T\n"
        ),
    );
    check(
        spoil,
        &["pipe.go", "zero.go"],
        &format!(
            "exit 0\n{notes}! no findings in 0 files of 0 packages; 2 skipped as not regular; T\n"
        ),
    );
}

#[test]
fn a_loop_of_links() {
    check(
        |dir| {
            symlink("loop.go", dir.join("loop.go")).expect("a link");
            symlink(".", dir.join("again")).expect("a link");
        },
        &[],
        "exit 0\n\
         ! note: again: a symbolic link to a directory above it; not followed\n\
         ! note: loop.go: not a regular file but a loop of symbolic links; skipped\n\
         ! no findings in 1 file of 1 package; 2 skipped as not regular; T\n",
    );
}

/// A file that nobody, not even root, can read: its first page is not mapped.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read() {
    check(
        |dir| symlink("/proc/self/mem", dir.join("memory.go")).expect("a link"),
        &["memory.go", "fine.go"],
        "exit 2\n\
         ! error: memory.go: cannot be read: input/output error; skipped\n\
         ! no findings in 1 file of 1 package; 1 unreadable; T\n",
    );
}

#[test]
fn a_path_that_does_not_exist() {
    check(
        |_| {},
        &["nowhere", "."],
        "exit 2\n\
         ! error: nowhere: no such file or directory\n\
         ! no findings in 1 file of 1 package; 1 missing; T\n",
    );
}

#[test]
fn a_module_file_that_does_not_parse() {
    check(
        |dir| {
            fs::create_dir(dir.join("sub")).expect("a directory");
            fs::write(dir.join("sub/go.mod"), "module example.com/sub\n\nrequire (\n")
                .expect("a file");
            fs::write(dir.join("sub/fine.go"), FINE).expect("a file");
        },
        &[],
        "exit 0\n! note: sub/go.mod:3:1: the block `require (` is never closed; the other lines count\n! no findings in 2 files of 2 packages; T\n",
    );
}
