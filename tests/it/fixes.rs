//! Fixes: what they make of a file builds under real Go, is as gofmt would have it, mends what it is for
//! and breaks nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cli::{module, straggler};
use crate::harness::{names_in, root, wanted_rule};

/// Fixes a module of one file and compares the file, which Go then has to take.
#[track_caller]
fn check(source: &str, expected: &str) {
    let module = module(&[("a.go", source)]);
    fix(module.path(), &[]);
    let fixed = fs::read_to_string(module.path().join("a.go")).expect("a file");
    assert_eq!(fixed, expected);
    takes(module.path());
    let left = found(module.path(), &[]);
    assert!(left.is_empty(), "{left:?}\n{fixed}");
}

fn fix(dir: &Path, args: &[&str]) {
    let output = straggler(dir).args(["check", "--fix", "--unsafe-fixes"]).args(args).output();
    let output = output.expect("straggler runs");
    assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
}

/// How many findings there are of each rule.
fn found(dir: &Path, args: &[&str]) -> BTreeMap<String, usize> {
    let output = straggler(dir).args(["check", "--format", "jsonl"]).args(args).output();
    let text = String::from_utf8(output.expect("straggler runs").stdout).expect("UTF-8");
    let mut rules = BTreeMap::new();
    for line in text.lines() {
        let finding: serde_json::Value = serde_json::from_str(line).expect("JSON");
        *rules.entry(finding["rule"].as_str().expect("a text").to_owned()).or_default() += 1;
    }
    rules
}

/// Go builds the module with its tests, and gofmt has nothing to change.
#[track_caller]
fn takes(dir: &Path) {
    if std::env::var_os("STRAGGLER_SKIP_GO").is_some() {
        return;
    }
    let said = |program: &str, args: &[&str]| {
        let output = Command::new(program).current_dir(dir).args(args).output();
        let output = output.unwrap_or_else(|error| panic!("the tests need {program}: {error}"));
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (_, changes) = said("gofmt", &["-d", "."]);
    assert!(changes.is_empty(), "gofmt would change {}:\n{changes}", dir.display());
    let (built, told) = said("go", &["test", "-vet=off", "-run=^$", "./..."]);
    assert!(built, "{}: {told}", dir.display());
}

#[test]
fn a_cancel_function_is_deferred() {
    let source = |made: &str, deferred: &str| {
        format!(
            "package m\n\nimport \"context\"\n\nfunc f(ctx context.Context, run func(context.Context) error) error {{\n\
             \tctx, {made} := context.WithCancel(ctx) // for run\n{deferred}\
             \tif err := run(ctx); err != nil {{\n\t\treturn err\n\t}}\n"
        )
    };
    let end = "\tcancel()\n\treturn nil\n}\n";
    check(&(source("cancel", "") + end), &(source("cancel", "\tdefer cancel()\n") + end));
    let end = "\treturn nil\n}\n";
    check(&(source("_", "") + end), &(source("cancel", "\tdefer cancel()\n") + end));
}

#[test]
fn a_lock_is_given_back_by_a_deferred_call() {
    let source = |deferred: &str, unlock: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype t struct {{\n\tmu sync.RWMutex\n\tn  int\n}}\n\n\
             func (t *t) f(n int) int {{\n\tt.mu.RLock()\n{deferred}\tif n < 0 {{\n\t\treturn 0\n\t}}\n\
             \tif n == 0 {{\n{unlock}\t\treturn n\n\t}}\n\tn += t.n\n{unlock}\treturn n\n}}\n"
        )
    };
    let unlock = "\t\tt.mu.RUnlock()\n";
    let before = source("", unlock).replace("\tn += t.n\n\t\tt.mu", "\tn += t.n\n\tt.mu");
    check(&before, &source("\tdefer t.mu.RUnlock()\n", ""));
}

#[test]
fn an_arm_that_learns_of_the_end_returns() {
    let source = |arm: &str, results: &str| {
        format!(
            "package m\n\nimport \"context\"\n\nfunc f(ctx context.Context, in chan int) {results}{{\n\
             \tfor {{\n\t\tselect {{\n\t\tcase <-ctx.Done():\n{arm}\t\tcase n := <-in:\n\t\t\tprintln(n)\n\t\t}}\n\t}}\n}}\n"
        )
    };
    check(&source("\t\t\tbreak\n", ""), &source("\t\t\treturn\n", ""));
    check(&source("", ""), &source("\t\t\treturn\n", ""));
    check(
        &source("\t\t\tprintln(\"over\")\n", "error "),
        &source("\t\t\tprintln(\"over\")\n\t\t\treturn ctx.Err()\n", "error "),
    );
}

#[test]
fn a_sleep_ends_with_what_ends_the_function() {
    let source = |sleep: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"time\"\n)\n\nfunc f(ctx context.Context, work func()) {{\n\
             \tgo func() {{\n\t\tfor {{\n\t\t\twork()\n{sleep}\t\t}}\n\t}}()\n\t<-ctx.Done()\n}}\n"
        )
    };
    check(
        &source("\t\t\ttime.Sleep(time.Minute)\n"),
        &source(
            "\t\t\tselect {\n\t\t\tcase <-ctx.Done():\n\t\t\t\treturn\n\t\t\tcase <-time.After(time.Minute):\n\t\t\t}\n",
        ),
    );
    let source = |sleep: &str| {
        format!(
            "package m\n\nimport \"time\"\n\nfunc f(tick <-chan time.Time, stop <-chan struct{{}}, work func()) error {{\n{sleep}\
             \tfor {{\n\t\tselect {{\n\t\tcase <-tick:\n\t\t\twork()\n\t\tcase <-stop:\n\t\t\treturn nil\n\t\t}}\n\t}}\n}}\n"
        )
    };
    check(
        &source("\ttime.Sleep(30 * time.Second)\n"),
        &source(
            "\tselect {\n\tcase <-stop:\n\t\treturn nil\n\tcase <-time.After(30 * time.Second):\n\t}\n",
        ),
    );
}

/// Every fixture with a finding that has a fix: all that can be fixed is.
#[test]
fn fixes_mend_the_fixtures() {
    let mut fixed = Vec::new();
    for rule in names_in("fixtures/rules").into_iter().filter(|rule| wanted_rule(rule)) {
        let bad = names_in(&format!("fixtures/rules/{rule}"));
        for case in bad.into_iter().filter(|case| case.starts_with("bad")) {
            let original = root().join("fixtures/rules").join(&rule).join(&case);
            let dir = tempfile::tempdir().expect("a temporary directory");
            copy(&original, dir.path());
            let select = ["--select", &format!("DEFAULT,{rule}")];
            let before = found(dir.path(), &select);
            fix(dir.path(), &select);
            let after = found(dir.path(), &select);
            if before == after {
                continue;
            }
            for (other, count) in &after {
                let had = before.get(other).copied().unwrap_or_default();
                assert!(
                    *count <= had,
                    "{rule}/{case}: a fix adds to {other}: {before:?} {after:?}"
                );
            }
            takes(dir.path());
            fixed.push(rule.clone());
        }
    }
    fixed.dedup();
    if std::env::var_os("RULE").is_some() {
        return;
    }
    for rule in [
        "cancel-not-called",
        "context-not-propagated",
        "done-arm-does-not-leave",
        "request-shared-after-handoff",
        "send-without-receiver",
        "stop-bound-too-early",
        "unlock-missing",
        "wait-ignores-context",
        "watch-not-drained",
        "watch-not-stopped",
    ] {
        assert!(fixed.iter().any(|it| it == rule), "no fixture of {rule} is fixed: {fixed:?}");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a kind").is_dir() {
            true => copy(&entry.path(), &target),
            false => {
                fs::copy(entry.path(), target).expect("a file");
            }
        }
    }
}
