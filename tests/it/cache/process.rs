//! The program with a cache: what it prints is what it prints without one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::edits::{USED, USING};
use crate::cli::{module, seen, straggler};

pub const LEAK: &str = "package m\n\nfunc Late(done chan bool) {\n\tlate := make(chan int)\n\tgo func() { late <- 1 }()\n\tselect {\n\tcase <-late:\n\tcase <-done:\n\t}\n}\n";
const BROKEN: &str = "package m\n\nfunc Broken( {\n";

fn leaking() -> tempfile::TempDir {
    module(&[("a.go", LEAK), ("b.go", BROKEN), ("c/c.go", "package c\n\nfunc C() {}\n")])
}

/// `straggler check ARGS` in `dir`, with the cache that is in `cache`.
fn check(dir: &Path, cache: &Path, args: &[&str]) -> Command {
    let mut command = straggler(dir);
    command
        .args(["check", "--isolated", "--format", "concise", "--cache-dir"])
        .arg(cache)
        .args(args);
    command
}

fn run(mut command: Command) -> String {
    seen(&command.output().expect("straggler runs"))
}

fn entries(cache: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for shard in fs::read_dir(cache).expect("a cache").flatten().filter(|it| it.path().is_dir()) {
        found
            .extend(fs::read_dir(shard.path()).expect("a directory").flatten().map(|it| it.path()));
    }
    found.sort();
    found
}

#[test]
fn a_second_run_says_the_same() {
    let (dir, cache) = (leaking(), tempfile::tempdir().expect("a directory"));
    let mut alone = straggler(dir.path());
    alone.args(["check", "--isolated", "--format", "concise", "--no-cache"]);
    let alone = run(alone);
    assert!(alone.contains("send-without-receiver") && alone.contains("b.go:3:"), "{alone}");
    let at = cache.path().join("deep/cache");
    assert_eq!(run(check(dir.path(), &at, &[])), alone);
    assert!(!entries(&at).is_empty());
    assert_eq!(run(check(dir.path(), &at, &[])), alone);
    assert_eq!(run(check(dir.path(), &at, &["-j", "1", "--cache-verify"])), alone);
    for entry in entries(&at) {
        let bytes = fs::read(&entry).expect("an entry");
        fs::write(&entry, &bytes[..bytes.len() / 2]).expect("written");
    }
    let damaged = run(check(dir.path(), &at, &[]));
    assert_eq!(damaged.matches("holds a damaged entry").count(), 1, "{damaged}");
    let without: Vec<&str> =
        damaged.lines().filter(|line| !line.contains("holds a damaged entry")).collect();
    assert_eq!(without, alone.lines().collect::<Vec<_>>());
    assert_eq!(run(check(dir.path(), &at, &[])), alone);
}

#[test]
fn a_wrong_answer_is_found_by_verifying() {
    let (dir, cache) = (leaking(), tempfile::tempdir().expect("a directory"));
    let right = run(check(dir.path(), cache.path(), &[]));
    // The answer that is kept for the finding, with another message and all hashes as they must be.
    for entry in entries(cache.path()) {
        let mut bytes = fs::read(&entry).expect("an entry");
        let sealed = bytes.len() - 32;
        if let Some(at) = bytes.windows(9).position(|text| text == b"nobody is") {
            bytes[at] = b'N';
            let seal = blake3::hash(&bytes[..sealed]);
            bytes[sealed..].copy_from_slice(seal.as_bytes());
            fs::write(&entry, bytes).expect("written");
        }
    }
    let wrong = run(check(dir.path(), cache.path(), &[]));
    assert_ne!(wrong, right);
    assert_eq!(wrong.to_lowercase(), right.to_lowercase());
    let verified = run(check(dir.path(), cache.path(), &["--cache-verify"]));
    assert!(verified.starts_with("exit 2\n"), "{verified}");
    assert!(verified.contains("what the cache holds for this package is not what is found now"));
}

/// A loop over what others run, in a file that is there for tests.
const HELPS: &str = "package helps\n\nimport \"testing\"\n\ntype runs interface{ Run(ready bool) error }\n\n\
func Each(job runs, jobs chan bool) {\n\tfor ready := range jobs {\n\t\t_ = job.Run(ready)\n\t}\n}\n\n\
func Check(t *testing.T, job runs) {\n\tif job.Run(true) != nil {\n\t\tt.Fail()\n\t}\n}\n";

#[test]
fn what_is_there_for_tests_is_seen_where_it_is_not_checked() {
    let used = USED.replace("func Run(", "type Job struct{}\n\nfunc (Job) Run(");
    let dir = module(&[("used/used.go", &used), ("helps/helps.go", HELPS)]);
    let cache = tempfile::tempdir().expect("a directory");
    let check = || {
        let mut command = straggler(dir.path());
        command.args(["check", "--isolated", "--cache-dir"]).arg(cache.path());
        run(command)
    };
    let first = check();
    assert!(first.contains("leaves `p` running") && !first.contains("each turn"), "{first}");
    // A change that does not touch the file of the loop, which is not parsed as a whole then.
    fs::write(dir.path().join("used/used.go"), used + "// Changed.\n").expect("a file");
    assert_eq!(check(), first);
}

/// A function of another package that ends what it is given, and one that relies on that.
const ENDS: &str = "package q\n\nimport \"net/http\"\n\nfunc End(answer *http.Response) {\n\tanswer.Body.Close()\n}\n";
const ASKS: &str = "package m\n\nimport (\n\t\"net/http\"\n\n\t\"example.com/m/q\"\n)\n\nfunc Ask(client *http.Client, request *http.Request) error {\n\tanswer, err := client.Do(request)\n\tif err != nil {\n\t\treturn err\n\t}\n\tq.End(answer)\n\treturn nil\n}\n";

#[test]
fn what_functions_do_is_not_worked_out_again() {
    let dir = module(&[("a.go", ASKS), ("q/q.go", ENDS)]);
    let cache = tempfile::tempdir().expect("a directory");
    let right = run(check(dir.path(), cache.path(), &[]));
    assert!(!right.contains("body-not-closed"), "{right}");
    // What is kept of `End`, with another method and all hashes as they must be.
    let mut forged = 0;
    for entry in entries(cache.path()) {
        let mut bytes = fs::read(&entry).expect("an entry");
        let sealed = bytes.len() - 32;
        if let Some(at) = bytes.windows(6).position(|text| text == b"\x05Close") {
            bytes[at + 1] = b'c';
            let seal = blake3::hash(&bytes[..sealed]);
            bytes[sealed..].copy_from_slice(seal.as_bytes());
            fs::write(&entry, bytes).expect("written");
            forged += 1;
        }
    }
    assert_eq!(forged, 1);
    let verified = run(check(dir.path(), cache.path(), &["--cache-verify"]));
    assert!(verified.starts_with("exit 2\n"), "{verified}");
    assert!(
        verified.contains("error: q/q.go: what the cache holds for this package"),
        "{verified}"
    );
    assert_eq!(run(check(dir.path(), cache.path(), &[])), right);
    fs::write(dir.path().join("a.go"), format!("{ASKS}\n// changed\n")).expect("written");
    let wrong = run(check(dir.path(), cache.path(), &[]));
    assert!(wrong.contains("body-not-closed"), "{wrong}");
    fs::write(dir.path().join("q/q.go"), format!("{ENDS}\n// changed\n")).expect("written");
    assert_eq!(run(check(dir.path(), cache.path(), &[])), right);
}

#[test]
fn a_wrong_table_of_words_is_found_by_verifying() {
    let dir = module(&[("used/used.go", USED), ("using/using.go", USING)]);
    let cache = tempfile::tempdir().expect("a directory");
    let right = run(check(dir.path(), cache.path(), &[]));
    // Which of the words that were looked for stand in the file, behind its hash.
    let hash = blake3::hash(USED.as_bytes());
    let mut forged = 0;
    for entry in entries(cache.path()) {
        let mut bytes = fs::read(&entry).expect("an entry");
        let sealed = bytes.len() - 32;
        if let Some(at) = bytes.windows(32).position(|text| text == hash.as_bytes()) {
            assert!(bytes[at + 32] > 0, "a row");
            bytes[at + 33] ^= 0xff;
            let seal = blake3::hash(&bytes[..sealed]);
            bytes[sealed..].copy_from_slice(seal.as_bytes());
            fs::write(&entry, bytes).expect("written");
            forged += 1;
        }
    }
    // What rests on the file has its hash too, and is then missed.
    assert!(forged > 0);
    let verified = run(check(dir.path(), cache.path(), &["--cache-verify"]));
    assert!(verified.starts_with("exit 2\n"), "{verified}");
    assert!(verified.contains("error: used/used.go: what the cache holds"), "{verified}");
    assert_eq!(run(check(dir.path(), cache.path(), &[])), right);
}

#[test]
fn who_goes_back_to_a_former_text_finds_the_answers() {
    let dir = module(&[("used/used.go", USED), ("using/using.go", USING)]);
    let cache = tempfile::tempdir().expect("a directory");
    let right = run(check(dir.path(), cache.path(), &[]));
    assert!(right.contains("this return leaves `p` running"), "{right}");
    // The answers for `used` rest on who calls it.
    let using = dir.path().join("using/using.go");
    fs::write(&using, format!("{USING}\n// changed\n")).expect("written");
    assert_eq!(run(check(dir.path(), cache.path(), &[])), right);
    // All that is kept of it, with another message and all hashes as they must be.
    for entry in entries(cache.path()) {
        let mut bytes = fs::read(&entry).expect("an entry");
        let sealed = bytes.len() - 32;
        let told: Vec<usize> =
            (0..sealed).filter(|&at| bytes[at..sealed].starts_with(b"leaves `p`")).collect();
        told.into_iter().for_each(|at| bytes[at] = b'L');
        let seal = blake3::hash(&bytes[..sealed]);
        bytes[sealed..].copy_from_slice(seal.as_bytes());
        fs::write(&entry, bytes).expect("written");
    }
    fs::write(&using, USING).expect("written");
    let kept = run(check(dir.path(), cache.path(), &[]));
    assert_eq!(kept, right.replace("leaves `p`", "Leaves `p`"));
    let verified = run(check(dir.path(), cache.path(), &["--cache-verify"]));
    assert!(verified.contains("error: used/used.go: what the cache holds"), "{verified}");
}

#[test]
fn nothing_is_written_where_nobody_said_so() {
    let dir = leaking();
    let mut without = straggler(dir.path());
    for variable in ["HOME", "XDG_CACHE_HOME", "USERPROFILE", "LOCALAPPDATA"] {
        without.env_remove(variable);
    }
    let told = run({
        without.args(["check", "--isolated", "--format", "concise"]);
        without
    });
    assert!(told.contains("send-without-receiver") && !told.contains("cache"), "{told}");
    let file = dir.path().join("a.go");
    let told = run(check(dir.path(), &file, &[]));
    assert_eq!(told.matches("cannot be written: ").count(), 1, "{told}");
    assert_eq!(fs::read_to_string(file).expect("text"), LEAK);
    let names = fs::read_dir(dir.path()).expect("a directory").flatten();
    assert_eq!(names.count(), 4);
}

#[test]
fn many_processes_share_a_cache() {
    let (dir, cache) = (leaking(), tempfile::tempdir().expect("a directory"));
    let spawn = |_| {
        let mut command = check(dir.path(), cache.path(), &["-j", "1"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("straggler runs")
    };
    let running: Vec<_> = (0..12).map(spawn).collect();
    let told: Vec<Output> =
        running.into_iter().map(|child| child.wait_with_output().expect("an end")).collect();
    let told: Vec<String> = told.iter().map(seen).collect();
    assert!(told[0].contains("send-without-receiver"), "{}", told[0]);
    assert!(told.iter().all(|each| *each == told[0]), "{told:#?}");
    assert_eq!(run(check(dir.path(), cache.path(), &["--cache-verify"])), told[0]);
    let unfinished = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("new-"))
    };
    assert!(!entries(cache.path()).iter().any(unfinished));
}

#[test]
fn the_cache_command() {
    let (dir, cache) = (leaking(), tempfile::tempdir().expect("a directory"));
    let ask = |what: &str| {
        let mut command = straggler(dir.path());
        command.args(["cache", what, "--cache-dir"]).arg(cache.path());
        run(command)
    };
    assert_eq!(ask("stats"), "exit 0\n0 entries, 0.0 MB\n");
    assert_eq!(ask("dir"), format!("exit 0\n{}\n", cache.path().display()));
    run(check(dir.path(), cache.path(), &[]));
    assert!(!ask("stats").starts_with("exit 0\n0 entries"));
    assert!(ask("clean").starts_with("exit 0\ndeleted: "));
    assert_eq!(ask("stats"), "exit 0\n0 entries, 0.0 MB\n");
}
