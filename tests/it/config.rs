//! `straggler.toml`: which one holds for a file, what it may say, and what `straggler config` tells.

use std::fs;
use std::path::Path;

use crate::cli::{found, module, seen, straggler};
use crate::harness::{assert_generated, root};

/// One finding of high and one of medium confidence.
const SOURCE: &str = "package m

import (
	\"os\"
	\"os/signal\"
	\"sync\"
)

type t struct {
	mu sync.Mutex
	n  int
}

func (t *t) f(n int) {
	t.mu.Lock()
	if n < 0 {
		return
	}
	t.mu.Unlock()
}

func wait() {
	c := make(chan os.Signal)
	signal.Notify(c, os.Interrupt)
	<-c
}
";

/// The findings of a run, as `path:line severity rule`; or what it says on standard error.
fn told(dir: &Path, args: &[&str]) -> Vec<String> {
    let output = straggler(dir).args(["check", "--format", "jsonl"]).args(args).output();
    let output = output.expect("straggler runs");
    if output.status.code() == Some(2) {
        return seen(&output).lines().skip(1).map(str::to_owned).collect();
    }
    found(output, ["severity", "rule"])
}

#[track_caller]
fn check(dir: &Path, args: &[&str], expected: &[&str]) {
    assert_eq!(told(dir, args), expected, "straggler check {args:?}");
}

#[track_caller]
fn shown(dir: &Path, args: &[&str], expected: &str) {
    let output = straggler(dir).arg("config").args(args).output().expect("straggler runs");
    assert_eq!(seen(&output), expected, "straggler config {args:?}");
}

fn write(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), text).expect("a file");
}

/// The findings of [`SOURCE`] at `path`, each with its severity; an empty one is not there.
fn findings(path: &str, lock: &str, signal: &str) -> Vec<String> {
    let told = [(15, lock, "unlock-missing"), (24, signal, "signal-notify-unbuffered")];
    let there = told.iter().filter(|(_, severity, _)| !severity.is_empty());
    there.map(|(line, severity, rule)| format!("{path}:{line} {severity} {rule}")).collect()
}

#[test]
fn the_nearest_file_holds_for_each_file() {
    let module = module(&[
        (".git/HEAD", ""),
        ("a.go", SOURCE),
        ("sub/b.go", SOURCE),
        ("sub/deep/c.go", SOURCE),
        ("straggler.toml", "ignore = ['unlock-missing']\n"),
        ("sub/straggler.toml", "[severity]\nstuck = 'note'\n"),
    ]);
    let dir = module.path();
    let a = findings("a.go", "", "warning");
    let b = findings("sub/b.go", "note", "warning");
    let c = findings("sub/deep/c.go", "note", "warning");
    assert_eq!(told(dir, &[]), [&a[..], &b, &c].concat());
    assert_eq!(told(dir, &["sub/b.go"]), b);
    // From wherever it is run.
    let from_deep = told(&dir.join("sub/deep"), &["../../a.go", "."]);
    assert_eq!(
        from_deep,
        [findings("../../a.go", "", "warning"), findings("c.go", "note", "warning")].concat()
    );
    write(dir, "sub/deep/straggler.toml", "select = ['stuk']\n");
    check(
        dir,
        &[],
        &[
            "! error: sub/deep/straggler.toml:1: there is no rule or group `stuk`; did you mean `stuck`?",
        ],
    );
    // Nobody asked for what it holds for.
    assert_eq!(told(dir, &["sub/b.go"]), b);
}

/// What sends a matcher that goes back to try again through more ways than there are atoms: here it never ends.
#[test]
fn patterns_that_are_made_to_take_long_take_no_longer() {
    let file = format!("{}/{}.go", ["aaaaaaaaaaaaaaaa"; 8].join("/"), "a".repeat(200));
    let patterns: Vec<String> = (0..1_000)
        .map(|n| format!("'{}{}b'", "**/".repeat(n % 8), "*a".repeat(30 + n % 10)))
        .collect();
    let config = format!(
        "[[override]]\npaths = [{}, '*a.go']\nmin-severity = 'error'\n",
        patterns.join(", ")
    );
    let module = module(&[(&file, SOURCE), ("straggler.toml", &config)]);
    assert_eq!(told(module.path(), &[]), findings(&file, "error", ""));
}

#[test]
fn an_override_speaks_of_some_files_and_thresholds_hide() {
    let module = module(&[
        ("a.go", SOURCE),
        ("old/b.go", SOURCE),
        (
            "straggler.toml",
            "min-severity = 'error'\n\n[[override]]\npaths = ['old']\nmin-severity = 'note'\nignore = ['stuck']\n\n\
             [[override]]\npaths = ['b.go']\nseverity = { signal-notify-unbuffered = 'note' }\n",
        ),
    ]);
    let dir = module.path();
    let a = findings("a.go", "error", "");
    assert_eq!(told(dir, &[]), [a, findings("old/b.go", "", "note")].concat());
    // What is asked for on the command line is nearer than all of that.
    let all = [findings("a.go", "error", "warning"), findings("old/b.go", "", "note")].concat();
    assert_eq!(told(dir, &["--min-severity", "note"]), all);
    assert_eq!(told(dir, &["--config", "min-severity = 'note'"]), all);
    let isolated = [findings("a.go", "error", "warning"), findings("old/b.go", "error", "warning")];
    assert_eq!(told(dir, &["--isolated"]), isolated.concat());
    write(dir, "other.toml", "select = ['signal-notify-unbuffered']\n");
    let other = [findings("a.go", "", "warning"), findings("old/b.go", "", "warning")];
    assert_eq!(told(dir, &["--config", "other.toml"]), other.concat());
    check(
        dir,
        &["--config", "min-severty = 'note'"],
        &[
            "! error: --config: `min-severty = 'note'`: unknown field `min-severty`; did you mean `min-severity`?",
        ],
    );
}

#[test]
fn a_file_extends_one_of_the_same_repository() {
    let outer = tempfile::tempdir().expect("a temporary directory");
    write(outer.path(), "outside.toml", "select = ['no-rule-at-all']\n");
    let dir = outer.path().join("repository");
    for sub in [".git", "team", "m"] {
        fs::create_dir_all(dir.join(sub)).expect("a directory");
    }
    let m = dir.join("m");
    write(&m, "go.mod", "module example.com/m\n\ngo 1.26\n");
    write(&m, "a.go", SOURCE);
    write(&dir, "team/base.toml", "extend = 'more.toml'\nmin-severity = 'error'\n");
    write(&dir, "team/more.toml", "min-severity = 'note'\nseverity = { stuck = 'note' }\n");
    let extend = |name: &str| write(&m, "straggler.toml", &format!("extend = '{name}'\n"));
    extend("../team/base.toml");
    check(&m, &[], &[]);
    write(&m, "straggler.toml", "extend = '../team/base.toml'\nmin-severity = 'note'\n");
    assert_eq!(told(&m, &[]), findings("a.go", "note", "warning"));
    let refused =
        |why: &str| check(&m, &[], &[&format!("! error: straggler.toml:1:10: extend: {why}")]);
    extend("../../outside.toml");
    refused("`../../outside.toml` is outside of `..`, and not read");
    extend("no.toml");
    refused("`no.toml` cannot be read: no such file or directory");
    extend("straggler.toml");
    refused("`straggler.toml` extends itself in the end");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../../outside.toml", m.join("link.toml")).expect("a link");
        extend("link.toml");
        refused("`link.toml` is outside of `..`, and not read");
    }
    for number in 0..12 {
        write(&m, &format!("{number}.toml"), &format!("extend = '{}.toml'\n", number + 1));
    }
    extend("0.toml");
    check(&m, &[], &["! error: 8.toml:1:10: extend: more than 10 files extend each other"]);
}

#[test]
fn each_setting_is_shown_with_its_place() {
    let module = module(&[
        (".git/HEAD", ""),
        ("base.toml", "min-confidence = 'high'\nseverity = { stuck = 'note' }\n"),
        (
            "sub/straggler.toml",
            "extend = '../base.toml'\n\nignore = ['context', 'watch']\n\n[[override]]\npaths = ['*_test.go', 'old/']\nselect = ['ALL']\n",
        ),
    ]);
    let dir = module.path();
    shown(
        dir,
        &["show", "--for", "sub/a_test.go", "--config", "min-severity = 'error'"],
        "exit 0\n\
         select = [\"ALL\"]                         # sub/straggler.toml:7, for *_test.go, old/\n\
         ignore = [\"context\", \"watch\"]            # sub/straggler.toml:3\n\
         min-confidence = \"high\"                  # base.toml:1\n\
         min-severity = \"error\"                   # --config\n\
         severity.stuck = \"note\"                  # base.toml:2\n",
    );
    shown(
        dir,
        &["show"],
        "exit 0\n\
         select = [\"DEFAULT\"]                     # default\n\
         ignore = []                              # default\n\
         min-confidence = \"medium\"                # default\n\
         min-severity = \"note\"                    # default\n",
    );
    shown(dir, &["verify", "base.toml", "sub/straggler.toml"], "exit 0\n");
    write(dir, "base.toml", "min-confidence = 'hig'\n");
    shown(
        dir,
        &["verify", "sub/straggler.toml"],
        "exit 2\n! error: base.toml:1:18: unknown variant `hig`; did you mean `high`?\n",
    );
}

#[test]
fn a_configuration_is_begun_in_which_everything_is_understood() {
    let module = module(&[("team.toml", "")]);
    let dir = module.path();
    shown(dir, &["init"], "exit 0\n! straggler.toml: every setting is there to be uncommented\n");
    shown(dir, &["init"], "exit 2\n! error: `straggler.toml` exists\n");
    shown(dir, &["verify"], "exit 0\n");
    let text = fs::read_to_string(dir.join("straggler.toml")).expect("a file");
    let is_setting = |line: &&str| line.starts_with("# [") || line.contains(" = ");
    let settings: Vec<&str> = text.lines().filter(is_setting).collect();
    let settings = settings.join("\n").replace("# ", "").replace("../straggler.toml", "team.toml");
    write(dir, "straggler.toml", &settings);
    shown(dir, &["verify"], "exit 0\n");
    let output = straggler(dir).args(["config", "show"]).output().expect("straggler runs");
    assert_eq!(
        seen(&output).matches("# straggler.toml:").count(),
        5,
        "{}\n{settings}",
        seen(&output)
    );
}

#[test]
fn the_schema_in_the_repository_is_up_to_date() {
    let output = straggler(root()).args(["config", "schema"]).output().expect("straggler runs");
    let schema = String::from_utf8(output.stdout).expect("UTF-8");
    assert_generated("docs/straggler.schema.json", &schema);
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    assert_eq!(schema.get("required"), None, "every setting may be left out");
    assert_eq!(schema["$defs"]["Override"]["required"], serde_json::json!(["paths"]));
    let names = schema["$defs"]["Selector"]["enum"].as_array().expect("names");
    assert!(names.contains(&"ALL".into()) && names.contains(&"nil-channel".into()), "{names:?}");
}
