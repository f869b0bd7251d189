//! Adopting straggler in a repository that has findings: the baseline, and findings of a change.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cli::{module, seen, straggler};

/// Two functions; each leaves a lock held when `n` is negative, if its line says so.
fn source(first: bool, second: bool) -> String {
    let early = |leaves: bool| if leaves { "\t\treturn\n" } else { "\t\tn = 0\n" };
    format!(
        "package m\n\nimport \"sync\"\n\ntype t struct {{\n\tmu sync.Mutex\n\tn  int\n}}\n\n\
         func (t *t) first(n int) {{\n\tt.mu.Lock()\n\tif n < 0 {{\n{}\t}}\n\tt.n = n\n\tt.mu.Unlock()\n}}\n\n\
         func (t *t) second(n int) {{\n\tt.mu.Lock()\n\tif n < 0 {{\n{}\t}}\n\tt.n = n\n\tt.mu.Unlock()\n}}\n",
        early(first),
        early(second)
    )
}

const FIRST: &str =
    "a.go:11:2: error[unlock-missing]: `t.mu` is locked here and not unlocked on every way out\n";
const SECOND: &str =
    "a.go:20:2: error[unlock-missing]: `t.mu` is locked here and not unlocked on every way out\n";

#[track_caller]
fn check(dir: &Path, args: &[&str], expected: &str) {
    let output = straggler(dir).args(args).output().expect("straggler runs");
    assert_eq!(seen(&output), expected, "straggler {args:?}");
}

fn write(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), text).expect("a file");
}

fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("the tests need git");
    assert!(output.status.success(), "git {args:?}: {output:?}");
}

/// A repository with one commit of `text` as `a.go`.
fn repository(text: &str) -> tempfile::TempDir {
    let module = module(&[("a.go", text)]);
    git(module.path(), &["init", "-q", "-b", "main"]);
    git(module.path(), &["add", "-A"]);
    git(module.path(), &["commit", "-q", "-m", "first"]);
    module
}

#[test]
fn a_baseline_holds_what_is_there_and_lets_new_findings_through() {
    let module = module(&[("a.go", &source(true, false))]);
    let dir = module.path();
    let concise = ["check", "--format", "concise"];
    check(dir, &concise, &format!("exit 1\n{FIRST}"));
    check(
        dir,
        &["baseline", "check"],
        "exit 2\n! error: there is no straggler-baseline.txt here or above; `straggler baseline create` writes one\n",
    );
    check(dir, &["baseline", "create"], "exit 0\n! straggler-baseline.txt: 1 entry\n");
    check(
        dir,
        &["baseline", "create"],
        "exit 2\n! error: `straggler-baseline.txt` exists; `straggler baseline update` renews it\n",
    );
    check(dir, &["check"], "exit 0\n! no findings in 1 file of 1 package; 1 baselined; T\n");
    check(dir, &["check", "--format", "concise", "--no-baseline"], &format!("exit 1\n{FIRST}"));
    // Lines above, and the file itself, may move.
    write(dir, "a.go", &format!("// Moved.\n\n{}", source(true, true)));
    fs::rename(dir.join("a.go"), dir.join("b.go")).expect("a name");
    check(
        dir,
        &concise,
        "exit 1\nb.go:22:2: error[unlock-missing]: `t.mu` is locked here and not unlocked on every way out\n",
    );
    check(
        dir,
        &["baseline", "update"],
        "exit 0\n! straggler-baseline.txt: 1 entry; 0 dropped; 1 new and not added\n",
    );
    check(
        dir,
        &["baseline", "update", "--add"],
        "exit 0\n! straggler-baseline.txt: 2 entries; 0 dropped; 1 added\n",
    );
    check(dir, &concise, "exit 0\n");
}

#[test]
fn an_entry_that_is_found_no_more_is_stale() {
    let module = module(&[("a.go", &source(true, true)), ("sub/c.go", "package sub\n")]);
    let dir = module.path();
    check(dir, &["baseline", "create"], "exit 0\n! straggler-baseline.txt: 2 entries\n");
    write(dir, "a.go", &source(true, false));
    // Where nobody looked, nothing is stale.
    check(
        dir,
        &["baseline", "check", "sub"],
        "exit 0\n! straggler-baseline.txt: 2 entries; 0 stale\n",
    );
    check(
        dir,
        &["baseline", "check"],
        "exit 1\n! straggler-baseline.txt: found no more: a.go: unlock-missing: `t.mu` is locked here and not unlocked on every way out\n\
         ! straggler-baseline.txt: 2 entries; 1 stale\n",
    );
    check(
        dir,
        &["baseline", "update"],
        "exit 0\n! straggler-baseline.txt: 1 entry; 1 dropped; 0 new and not added\n",
    );
    write(dir, "straggler-baseline.txt", "<<<<<<< HEAD\n");
    check(
        dir,
        &["check"],
        "exit 2\n! error: straggler-baseline.txt:1: a merge conflict is not resolved\n",
    );
    check(
        dir,
        &["check", "--baseline", "no.txt"],
        "exit 2\n! error: no.txt: cannot be read: no such file or directory\n",
    );
}

#[test]
fn since_a_revision_only_what_has_to_do_with_changed_lines_is_reported() {
    let repository = repository(&source(true, false));
    let dir = repository.path();
    let since = ["check", "--format", "concise", "--since", "HEAD"];
    check(dir, &since, "exit 0\n");
    // The change is not at the lock, but on the way out.
    write(dir, "a.go", &source(true, true));
    check(dir, &since, &format!("exit 1\n{SECOND}"));
    git(dir, &["checkout", "-q", "-b", "topic"]);
    git(dir, &["commit", "-q", "-a", "-m", "second"]);
    check(dir, &since, "exit 0\n");
    check(dir, &["check", "--format", "concise", "--since", "main"], &format!("exit 1\n{SECOND}"));
    check(
        dir,
        &["check", "--since=--all"],
        "exit 2\n! error: --since: git knows no revision `--all`\n",
    );
    check(
        dir,
        &["check", "--since", "no"],
        "exit 2\n! error: --since: git knows no revision `no`\n",
    );
    // A file that was not there is new as a whole.
    write(dir, "b.go", &source(true, false).replace("*t)", "*u)").replace("type t", "type u"));
    let b = FIRST.replace("a.go", "b.go");
    check(dir, &since, &format!("exit 1\n{b}"));
}

#[test]
fn what_is_staged_is_analysed_as_it_is_staged() {
    let repository = repository(&source(true, false));
    let dir = repository.path();
    let staged = ["check", "--format", "concise", "--staged"];
    check(dir, &["check", "--staged"], "exit 0\n! no findings in 0 files of 0 packages; T\n");
    write(dir, "a.go", &source(true, true));
    check(dir, &staged, "exit 0\n");
    git(dir, &["add", "a.go"]);
    write(dir, "a.go", "package m // not staged\n");
    check(dir, &staged, &format!("exit 1\n{SECOND}"));
    let sub = dir.join("sub");
    fs::create_dir(&sub).expect("a directory");
    check(&sub, &staged, &format!("exit 1\n{}", SECOND.replace("a.go", "../a.go")));
}

#[test]
fn a_patch_says_which_lines_are_changed() {
    let module = module(&[("a.go", &source(true, true))]);
    let dir = module.path();
    write(dir, "x.patch", "--- a/a.go\n+++ b/a.go\n@@ -22 +22 @@\n-\t\tn = 0\n+\t\treturn\n");
    let patched = ["check", "--format", "concise", "--diff-file", "x.patch"];
    check(dir, &patched, &format!("exit 1\n{SECOND}"));
    write(dir, "x.patch", "@@ -1 +1 @@\n");
    check(
        dir,
        &patched,
        "exit 2\n! error: --diff-file: x.patch:1: expected `+++ FILE` before the first hunk of a file\n",
    );
    check(
        dir,
        &["check", "--diff-file", "x.patch", "--staged"],
        "exit 2\n! error: the argument '--diff-file <FILE>' cannot be used with '--staged'\n! \n! Usage: straggler check --diff-file <FILE> [PATHS]...\n! \n! For more information, try '--help'.\n",
    );
}

#[test]
fn nothing_in_a_repository_makes_git_run_a_program() {
    let repository = repository(&source(true, false));
    let dir = repository.path();
    let pwned = dir.join("pwned");
    let touch = format!("touch '{}'", pwned.display());
    for (key, value) in [
        ("core.fsmonitor", touch.as_str()),
        ("core.pager", &touch),
        ("core.editor", &touch),
        ("core.sshCommand", &touch),
        ("diff.external", &touch),
        ("diff.x.textconv", &touch),
        ("diff.x.command", &touch),
        ("filter.x.clean", &touch),
        ("filter.x.smudge", &touch),
        ("filter.x.process", &touch),
        ("alias.ls-files", &format!("!{touch}")),
        ("uploadpack.packObjectsHook", &touch),
    ] {
        git(dir, &["config", key, value]);
    }
    write(dir, ".gitattributes", "*.go diff=x filter=x\n");
    write(dir, "a.go", &source(true, true));
    let hook = dir.join(".git/hooks/post-index-change");
    fs::create_dir_all(dir.join(".git/hooks")).expect("a directory");
    fs::write(&hook, format!("#!/bin/sh\n{touch}\n")).expect("a hook");
    // A program of that name in the work tree is none of ours.
    let own = dir.join("git");
    fs::write(&own, format!("#!/bin/sh\n{touch}\n")).expect("a program");
    #[cfg(unix)]
    for file in [&hook, &own] {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    let path = std::env::var("PATH").expect("a PATH");
    for args in [["--since", "HEAD"].as_slice(), &["--staged"]] {
        let mut command = straggler(dir);
        command.env("PATH", format!("{}:.:{path}", dir.display()));
        let output = command.arg("check").args(args).output().expect("straggler runs");
        assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
        assert!(!pwned.exists(), "{args:?}");
    }
}

const UNBUFFERED: &str = "package m\n\nimport (\n\t\"os\"\n\t\"os/signal\"\n)\n\nfunc wait(work func()) {\n\tc := make(chan os.Signal)\n\tsignal.Notify(c, os.Interrupt)\n\twork()\n\t<-c\n}\n";

#[test]
fn fixes_are_shown_and_made() {
    let module = module(&[("a.go", UNBUFFERED), ("sub/b.go", UNBUFFERED)]);
    let dir = module.path();
    let hunk = "@@ -6,7 +6,7 @@\n )\n \n func wait(work func()) {\n-\tc := make(chan os.Signal)\n+\tc := make(chan os.Signal, 1)\n \tsignal.Notify(c, os.Interrupt)\n \twork()\n \t<-c\n";
    check(
        dir,
        &["check", "--diff"],
        &format!("exit 1\n--- a/a.go\n+++ b/a.go\n{hunk}--- a/sub/b.go\n+++ b/sub/b.go\n{hunk}"),
    );
    assert_eq!(fs::read_to_string(dir.join("a.go")).expect("a file"), UNBUFFERED);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o640);
        fs::set_permissions(dir.join("a.go"), mode).expect("permissions");
    }
    check(
        dir,
        &["check", "--fix", "."],
        "exit 0\n! no findings in 2 files of 2 packages; 2 fixed; T\n",
    );
    let fixed = UNBUFFERED.replace("Signal)\n", "Signal, 1)\n");
    assert_eq!(fs::read_to_string(dir.join("a.go")).expect("a file"), fixed);
    assert_eq!(fs::read_to_string(dir.join("sub/b.go")).expect("a file"), fixed);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let about = fs::metadata(dir.join("a.go")).expect("a file");
        assert_eq!(about.permissions().mode() & 0o777, 0o640);
    }
    check(dir, &["check", "--diff"], "exit 0\n");
    let left: Vec<_> =
        fs::read_dir(dir).expect("a directory").flatten().map(|e| e.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[test]
fn findings_are_suppressed_with_a_reason() {
    let both = source(true, true)
        .replace("\tt.mu.Lock()\n\tif", "\tif")
        .replace("{\n\tif n < 0", "{\n\tt.mu.Lock()\n\tif n < 0");
    let module = module(&[("a.go", &both), ("sub/b.go", &UNBUFFERED.replace('\n', "\r\n"))]);
    let dir = module.path();
    check(
        dir,
        &["check", "--add-ignore", "//why"],
        "exit 2\n! error: invalid value '//why' for '--add-ignore <REASON>': expected a reason on one line\n! \n! For more information, try '--help'.\n",
    );
    check(
        dir,
        &["check", "--add-ignore=it ends with the process"],
        "exit 0\n! no findings in 2 files of 2 packages; 3 suppressed; T\n",
    );
    let a = fs::read_to_string(dir.join("a.go")).expect("a file");
    let directive = "\t//straggler:ignore unlock-missing it ends with the process\n\tt.mu.Lock()\n";
    assert_eq!(a, both.replace("\tt.mu.Lock()\n", directive));
    let b = fs::read_to_string(dir.join("sub/b.go")).expect("a file");
    assert!(
        b.contains(
            "\r\n\t//straggler:ignore signal-notify-unbuffered it ends with the process\r\n"
        ),
        "{b}"
    );
    // What suppresses nothing any more is deleted as it came.
    fs::write(dir.join("a.go"), a.replace("\t\treturn\n", "\t\tn = 0\n")).expect("a file");
    check(
        dir,
        &["check", "--fix"],
        "exit 0\n! no findings in 2 files of 2 packages; 2 fixed; 1 suppressed; T\n",
    );
    let mended = fs::read_to_string(dir.join("a.go")).expect("a file");
    assert_eq!(mended, both.replace("\t\treturn\n", "\t\tn = 0\n"));
}
