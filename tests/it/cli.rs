//! The program as people run it: arguments, exit codes, and what goes to which stream.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

const CLEAN: &str = "package clean\n\nfunc F() int { return 1 }\n";

pub fn straggler(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_straggler"));
    command.current_dir(dir).stdin(Stdio::null()).env("XDG_CACHE_HOME", own_cache());
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "GOROOT", "GOFLAGS", "GOWORK"] {
        command.env_remove(variable);
    }
    command
}

/// A cache for this process of tests alone: no test depends on what the developer has run.
fn own_cache() -> &'static Path {
    static DIR: LazyLock<tempfile::TempDir> =
        LazyLock::new(|| tempfile::tempdir().expect("a temporary directory"));
    DIR.path()
}

pub fn module(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in [("go.mod", "module example.com/m\n\ngo 1.26\n")].iter().chain(files) {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    dir
}

/// The exit code, standard output and standard error, with times as `T`.
pub fn seen(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let err: Vec<String> = text(&output.stderr)
        .lines()
        .map(|line| match line.rsplit_once("; ") {
            Some((before, time)) if time.ends_with(" s") => format!("{before}; T"),
            _ => line.to_owned(),
        })
        .collect();
    format!(
        "exit {}\n{}{}",
        output.status.code().expect("an exit code"),
        text(&output.stdout),
        err.iter().map(|line| format!("! {line}\n")).collect::<String>()
    )
}

/// What a run found, as `path:line` and these words of each finding.
pub fn found(output: Output, words: [&str; 2]) -> Vec<String> {
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let finding = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let word = |key: &str| value[key].as_str().expect("a text");
        let line = &value["start"]["line"];
        format!("{}:{line} {} {}", word("path"), word(words[0]), word(words[1]))
    };
    text.lines().map(finding).collect()
}

/// What a run on these files tells, as `path:line rule confidence`.
pub fn told(files: &[(&str, &str)], args: &[&str]) -> Vec<String> {
    let module = module(files);
    let run = straggler(module.path())
        .args(["check", "--no-cache", "--format", "jsonl", "./..."])
        .args(args)
        .output();
    found(run.expect("straggler runs"), ["rule", "confidence"])
}

/// Compares what a run on these files tells, at any confidence.
#[track_caller]
pub fn tells(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(told(files, &["--min-confidence", "low"]), expected, "of {files:?}");
}

/// The same of one file, `m.go`.
#[track_caller]
pub fn tells_of_file(source: &str, expected: &[&str]) {
    tells(&[("m.go", source)], expected);
}

/// The same of one file of a module of Go 1.24, `m.go`.
#[track_caller]
pub fn tells_of_module(source: &str, expected: &[&str]) {
    tells(&of_module(source), expected);
}

/// Asserts that nothing is told of one file of a module of Go 1.24 at the default level.
#[track_caller]
pub fn tells_nothing(source: &str) {
    assert_eq!(told(&of_module(source), &[]), Vec::<String>::new(), "of {source}");
}

fn of_module(source: &str) -> [(&str, &str); 2] {
    [("go.mod", "module example.com/m\n\ngo 1.24\n"), ("m.go", source)]
}

#[track_caller]
fn check(dir: &Path, args: &[&str], expected: &str) {
    let output = straggler(dir).args(args).output().expect("straggler runs");
    assert_eq!(seen(&output), expected, "straggler {args:?}");
}

#[test]
fn without_arguments_the_working_directory_is_checked() {
    let module = module(&[("clean.go", CLEAN), ("sub/clean.go", CLEAN)]);
    let expected = "exit 0\n! no findings in 2 files of 2 packages; T\n";
    for args in [&[][..], &["."], &["./..."], &["check"], &["check", "."]] {
        check(module.path(), args, expected);
    }
    check(module.path(), &["sub"], "exit 0\n! no findings in 1 file of 1 package; T\n");
    check(module.path(), &["check", "clean.go", "--format", "concise"], "exit 0\n");
}

#[test]
fn a_path_that_does_not_exist_is_an_error_and_the_rest_is_checked() {
    let module = module(&[("clean.go", CLEAN)]);
    check(
        module.path(),
        &["nowhere", "clean.go"],
        "exit 2\n! error: nowhere: no such file or directory\n\
         ! no findings in 1 file of 1 package; 1 missing; T\n",
    );
}

#[test]
fn names_of_rules_are_checked() {
    let module = module(&[]);
    check(
        module.path(),
        &["--select", "stuk"],
        "exit 2\n! error: there is no rule or group `stuk`; did you mean `stuck`?\n",
    );
    check(module.path(), &["explain", "zzz"], "exit 2\n! error: there is no rule `zzz`\n");
}

#[test]
fn the_configuration_is_checked_unless_told_not_to() {
    let module = module(&[("clean.go", CLEAN), ("sub/clean.go", CLEAN), (".git/HEAD", "")]);
    let write = |text: &str| fs::write(module.path().join("straggler.toml"), text).expect("a file");
    let sub = module.path().join("sub");
    let clean = "exit 0\n! no findings in 1 file of 1 package; T\n";
    write("ignore = ['stuck']\n");
    check(&sub, &[], clean);
    write("ignore = ['stuk']\n");
    let unknown = "exit 2\n! error: ../straggler.toml:1: there is no rule or group `stuk`; did you mean `stuck`?\n";
    check(&sub, &[], unknown);
    write("select = 3\n");
    check(
        &sub,
        &[],
        "exit 2\n! error: ../straggler.toml:1:10: invalid type: integer `3`, expected a sequence\n",
    );
    write("[[catalog.blocking]]\nfunc = 'Get'\n");
    let output = straggler(&sub).output().expect("straggler runs");
    assert!(seen(&output).starts_with("exit 2\n! error: ../straggler.toml:2:8: `Get` is not"));
    check(&sub, &["--no-config"], clean);
}

#[test]
fn bad_usage_is_an_error() {
    let module = module(&[]);
    for args in [&["--format", "xml"][..], &["--jobs", "0"], &["--frobnicate"]] {
        let output = straggler(module.path()).args(args).output().expect("straggler runs");
        assert_eq!(output.status.code(), Some(2), "straggler {args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    check(
        module.path(),
        &["--goroot", "nowhere"],
        "exit 2\n! error: --goroot: `nowhere` holds no `src`\n",
    );
}

#[test]
fn flags_that_change_nothing_here_are_accepted() {
    let module = module(&[("clean.go", CLEAN)]);
    let args = ["--no-config", "--no-cache", "--color", "always", "-j", "1", "--format", "concise"];
    check(module.path(), &args, "exit 0\n");
}

#[test]
fn json_holds_nothing_that_changes_from_run_to_run() {
    let module = module(&[("clean.go", CLEAN), ("broken.go", "package clean\n\nfunc {\n")]);
    let run = |jobs: &str| {
        let args = ["--format", "json", "--jobs", jobs];
        straggler(module.path()).args(args).output().expect("straggler runs")
    };
    let one = run("1");
    let json: serde_json::Value = serde_json::from_slice(&one.stdout).expect("JSON");
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["summary"]["files"], 2);
    assert_eq!(json["notes"][0]["kind"], "parse-error");
    assert_eq!(json["notes"][0]["path"], "broken.go");
    assert_eq!(one.stdout, run("4").stdout);
    assert_eq!(one.status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error_and_a_closed_pipe_is_not() {
    let dir = module(&[]);
    for args in [&["--help"][..], &["rules"], &["--format", "json"]] {
        let full = File::create("/dev/full").expect("/dev/full");
        let output = straggler(dir.path()).args(args).stdout(full).output().expect("runs");
        assert_eq!(output.status.code(), Some(2), "straggler {args:?} >/dev/full");

        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = straggler(dir.path()).args(args).stdout(writer).output().expect("runs");
        assert_eq!(seen(&output), "exit 0\n", "straggler {args:?} into a closed pipe");
    }
}

const LEAK: &str = "package leak

import \"context\"

func F(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	if err := run(ctx); err != nil {
		return err
	}
	cancel()
	return nil
}
";

#[test]
fn the_exit_code_is_as_asked() {
    let leaky = module(&[("leak.go", LEAK)]);
    let code = |args: &[&str]| {
        let output = straggler(leaky.path()).args(args).output().expect("straggler runs");
        output.status.code().expect("an exit code")
    };
    assert_eq!(code(&[]), 1);
    assert_eq!(code(&["--exit-zero"]), 0);
    assert_eq!(code(&["--fail-on", "warning"]), 1);
    assert_eq!(code(&["--strict"]), 1);
    assert_eq!(code(&["--exit-zero", "nowhere.go"]), 2);
    fs::write(leaky.path().join("broken.go"), "package leak\n\nfunc {\n").expect("a file");
    assert_eq!(code(&[]), 1);
    assert_eq!(code(&["--strict"]), 3);
    assert_eq!(code(&["--strict", "nowhere.go"]), 2);
}

#[test]
fn findings_are_written_to_files_besides() {
    let leaky = module(&[("leak.go", LEAK)]);
    let args = ["--output", "sarif:out.sarif", "--output", "concise:out.txt", "--format", "github"];
    let output = straggler(leaky.path()).args(args).output().expect("straggler runs");
    assert!(output.stdout.starts_with(b"::"), "{output:?}");
    let text = fs::read_to_string(leaky.path().join("out.txt")).expect("a file");
    assert!(text.starts_with("leak.go:8:3: ") && text.lines().count() == 1, "{text}");
    let sarif = fs::read(leaky.path().join("out.sarif")).expect("a file");
    let sarif: serde_json::Value = serde_json::from_slice(&sarif).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "cancel-not-called");
    let names: Vec<_> = fs::read_dir(leaky.path()).expect("a directory").collect();
    assert_eq!(names.len(), 4, "nothing else is left: {names:?}");
    check(
        leaky.path(),
        &["--output", "concise:no/where.txt"],
        "exit 2\n! error: --output: `no/where.txt` cannot be written: No such file or directory (os error 2)\n",
    );
    check(
        leaky.path(),
        &["--output", "concise"],
        "exit 2\n! error: invalid value 'concise' for '--output <FORMAT:PATH>': expected `FORMAT:PATH`\n! \n! For more information, try '--help'.\n",
    );
}

/// The fingerprint of the only finding in `files`.
fn fingerprint(files: &[(&str, &str)]) -> String {
    let dir = module(files);
    let output = straggler(dir.path()).args(["--format", "jsonl"]).output().expect("it runs");
    let finding: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one line");
    finding["fingerprint"].as_str().expect("a text").to_owned()
}

#[test]
fn a_fingerprint_survives_edits_elsewhere_and_a_move_in_the_package() {
    let before = fingerprint(&[("leak.go", LEAK)]);
    let body = LEAK.split_once("func F").expect("a function").1;
    let edited =
        format!("package leak\n\nimport \"context\"\n\n// More.\nvar X = 1\n\nfunc F{body}");
    assert_eq!(fingerprint(&[("moved.go", &edited)]), before);
    assert_ne!(fingerprint(&[("leak.go", &LEAK.replace("func F", "func G"))]), before);
}

#[test]
fn a_file_alone_is_told_what_a_run_on_everything_tells() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rules/context-not-propagated");
    for (case, found) in [("good-implementation", 0), ("bad-implementation", 1)] {
        let dir = Path::new(fixtures).join(case);
        let told = |args: &[&str]| {
            let output = straggler(&dir).args(args).args(["--format", "concise"]).output();
            String::from_utf8(output.expect("straggler runs").stdout).expect("UTF-8")
        };
        let everything = told(&["./..."]);
        assert_eq!(everything.lines().count(), found, "{case}: {everything}");
        assert_eq!(told(&["restore.go"]), everything, "{case}");
    }
}

#[test]
fn shells_and_man_are_told_of_each_argument() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for shell in ["bash", "elvish", "fish", "nushell", "powershell", "zsh"] {
        let output = straggler(dir.path()).args(["completions", shell]).output();
        let output = output.expect("straggler runs");
        let script = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success() && script.contains("diff-file"), "{shell}: {script}");
    }
    let output = straggler(dir.path()).arg("man").output().expect("straggler runs");
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(page.contains(".TH straggler 1") && page.contains("diff\\-file"), "{page}");
    check(dir.path(), &["man", "--out", "pages"], "exit 0\n");
    assert!(dir.path().join("pages/straggler-check.1").is_file());
}

/// What `straggler` says when it is given `stdin`.
fn seen_of(dir: &Path, args: &[&str], stdin: &str) -> String {
    let mut child = straggler(dir)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("straggler runs");
    let mut input = child.stdin.take().expect("a pipe");
    // It may refuse its arguments before it has read anything.
    let _ = input.write_all(stdin.as_bytes());
    drop(input);
    seen(&child.wait_with_output().expect("straggler ends"))
}

#[test]
fn standard_input_stands_in_for_a_file() {
    let uses_sibling = LEAK.replace("run func(context.Context) error) error {", "id int) error {");
    let sibling =
        "package leak\n\nimport \"context\"\n\nfunc run(context.Context) error { return nil }\n";
    let module = module(&[("run.go", sibling), ("leak.go", CLEAN)]);
    let dir = module.path();
    let concise = ["-", "--format", "concise"];
    let at = |args: &[&str]| seen_of(dir, &[&concise[..], args].concat(), &uses_sibling);
    assert!(at(&["--stdin-filename", "leak.go"]).starts_with("exit 1\nleak.go:8:3: "));
    assert!(at(&["--stdin-filename", "new.go"]).contains("new.go:8:3: "));
    assert!(at(&[]).contains("stdin.go:8:3: "));
    assert_eq!(fs::read_to_string(dir.join("leak.go")).expect("a file"), CLEAN);
    assert_eq!(
        seen_of(dir, &["-", "--fix"], LEAK),
        "exit 2\n! error: standard input cannot be changed or watched: leave out `-`\n"
    );
    assert_eq!(
        seen_of(dir, &["-", "run.go"], LEAK),
        "exit 2\n! error: `-` must be the only path\n"
    );
    assert_eq!(
        seen_of(dir, &["--stdin-filename", "x.go"], LEAK),
        "exit 2\n! error: --stdin-filename: the path must be `-`\n"
    );
}

#[test]
fn timings_are_told_on_standard_error() {
    let meets = "package leak\n\nfunc G() {\n\tch := make(chan int)\n\tgo func() { ch <- 1 }()\n\t<-ch\n}\n";
    let leaky = module(&[("leak.go", LEAK), ("meets.go", meets)]);
    let told = |arg: &str| {
        let output =
            straggler(leaky.path()).args(["--format", "concise", "--no-cache", arg]).output();
        let output = output.expect("straggler runs");
        assert!(output.stdout.starts_with(b"leak.go:8:3: "), "{output:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let table = told("--timings");
    let phases: Vec<&str> = table
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split(' ').next().unwrap_or_default())
        .collect();
    assert_eq!(phases, ["load", "parse", "check", "tell", "explored:"], "{table}");
    assert!(table.contains("\n  cancel-not-called "), "{table}");
    let json: serde_json::Value = serde_json::from_str(&told("--timings=json")).expect("JSON");
    assert_eq!(json["phases"][0]["name"], "load");
    assert!(json["rules"]["cancel-not-called"].is_f64(), "{json}");
    assert_eq!((&json["exploring"]["complete"], &json["exploring"]["cut"]), (&1.into(), &0.into()));
    assert!(json["exploring"]["states"].as_u64() > Some(0), "{json}");
    assert!(json["exploring"]["half"].as_f64() <= json["exploring"]["longest"].as_f64(), "{json}");
}

#[test]
fn findings_are_grouped_and_counted() {
    let two = LEAK.replace("func F", "func G").replace("package leak\n\nimport \"context\"\n", "");
    let module =
        module(&[("a.go", &format!("{LEAK}{two}")), ("b.go", &LEAK.replace("func F", "func H"))]);
    let said = |args: &[&str]| {
        let output = straggler(module.path()).args(args).output().expect("straggler runs");
        seen(&output)
            .lines()
            .map(|line| line.split(": ").next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let error = "warning[cancel-not-called]";
    assert_eq!(
        said(&["--format", "grouped"]),
        [
            "exit 1",
            "a.go",
            &format!("      8:3  {error}"),
            &format!("     17:3  {error}"),
            "",
            "b.go",
            &format!("      8:3  {error}"),
            "! 3 findings in 2 files of 1 package; T"
        ]
    );
    assert_eq!(
        said(&["--statistics"]),
        [
            "exit 1",
            "     3  cancel-not-called  (3 with a fix)",
            "! 3 findings in 2 files of 1 package; T"
        ]
    );
    let output = straggler(module.path()).args(["--format", "json"]).output().expect("it runs");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["summary"]["rules"], serde_json::json!({"cancel-not-called": 3}));
}

#[test]
fn a_change_starts_a_watched_run_over() {
    let module = module(&[("leak.go", CLEAN)]);
    let mut child = straggler(module.path())
        .args(["--watch", "--format", "concise"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("straggler runs");
    let mut waiting = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut found = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let line = |lines: &mut dyn Iterator<Item = std::io::Result<String>>| {
        lines.next().expect("a line").expect("UTF-8")
    };
    assert_eq!(line(&mut waiting), "waiting for changes");
    fs::write(module.path().join("leak.go"), LEAK).expect("a file");
    assert!(line(&mut found).starts_with("leak.go:8:3: "));
    assert_eq!(line(&mut waiting), "waiting for changes");
    child.kill().expect("it runs until it is interrupted");
    child.wait().expect("it ends");
}

#[test]
fn suppressed_findings_are_in_sarif_when_asked_for() {
    let quiet =
        LEAK.replace("\t\treturn err", "\t\t//straggler:ignore context it ends\n\t\treturn err");
    let module = module(&[("a.go", &quiet), ("b.go", &LEAK.replace("func F", "func G"))]);
    let dir = module.path();
    let results = |args: &[&str]| {
        let output = straggler(dir).args(["--format", "sarif"]).args(args).output();
        let output = output.expect("straggler runs");
        assert_eq!(output.status.code(), Some(1));
        let mut sarif: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        sarif["runs"][0]["results"].take()
    };
    assert_eq!(results(&[]).as_array().map(Vec::len), Some(1));
    let results = results(&["--show-suppressed"]);
    assert_eq!(results[0].get("suppressions"), None);
    assert_eq!(results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a.go");
    let suppression = serde_json::json!([{
        "kind": "inSource",
        "status": "accepted",
        "justification": "//straggler:ignore context it ends",
    }]);
    assert_eq!(results[1]["suppressions"], suppression);
}

#[test]
fn the_pages_are_a_website() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    check(dir.path(), &["docs", "--out", "site"], "exit 0\n");
    let read = |name: &str| fs::read_to_string(dir.path().join("site").join(name)).expect("a page");
    let index = read("index.html");
    for entry in straggler::rules::registry() {
        let id = entry.page.id;
        assert!(index.contains(&format!("<a href=\"{id}.html\">")), "{id} is in the index");
        let page = read(&format!("{id}.html"));
        let why = page.find("<h2>Why</h2>").expect("a section");
        assert!(page.find("<h2>Flagged</h2>").is_some_and(|flagged| why < flagged), "{id}");
        // It needs nothing but itself.
        assert!(!page.contains(" src=") && !page.contains("<link"), "{id}");
        for target in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let exists = dir.path().join("site").join(target).is_file();
            assert!(exists || target.starts_with("https://"), "{id} links to {target}");
        }
    }
}

#[test]
fn a_question_that_leads_to_too_many_functions_of_dependencies_says_so() {
    let count = 300;
    let calls: String = (0..count).map(|n| format!("\tdep.Run{n}(ctx)\n")).collect();
    let run = format!(
        "package m\n\nimport (\n\t\"context\"\n\n\t\"example.com/dep\"\n)\n\nfunc Run(ctx context.Context) {{\n{calls}}}\n"
    );
    let runs: String =
        (0..count).map(|n| format!("func Run{n}(ctx context.Context) {{}}\n")).collect();
    let dep = format!("package dep\n\nimport \"context\"\n\n{runs}");
    let dir = module(&[
        ("go.mod", "module example.com/m\n\ngo 1.26\n\nrequire example.com/dep v1.0.0\n"),
        ("run.go", &run),
        ("vendor/example.com/dep/dep.go", &dep),
        ("vendor/modules.txt", "# example.com/dep v1.0.0\n## explicit; go 1.26\nexample.com/dep\n"),
    ]);
    check(
        dir.path(),
        &[],
        "exit 0\n! note: run.go:9:6: this function leads to more functions of dependencies than are \
         read for one question; the rest of them is not looked at\n\
         ! no findings in 1 file of 1 package; T\n",
    );
}

#[test]
fn what_is_known_of_a_package_is_shown_with_its_place() {
    let own =
        "[[catalog.blocking]]\nfunc = \"example.com/store.Fetch\"\nwait = \"rpc\"\n\n[severity]\n";
    let dir = module(&[("straggler.toml", own), ("clean.go", CLEAN)]);
    let expected = "exit 0\n# straggler.toml:1\n[[catalog.blocking]]\n\
                    func = \"example.com/store.Fetch\"\nwait = \"rpc\"\n";
    check(dir.path(), &["catalog", "--for", "example.com/store"], expected);
    check(
        dir.path(),
        &["catalog", "--for", "example.com/stor"],
        "exit 2\n! error: nothing is known of package `example.com/stor`; did you mean \
         `example.com/store`?\n",
    );
    let known = straggler(dir.path()).arg("catalog").output().expect("straggler runs");
    let known = seen(&known);
    assert!(known.contains("\nexample.com/store\n"), "{known}");
    assert!(known.contains("\nnet/http\n"), "{known}");
    let bolt = straggler(dir.path()).args(["catalog", "--for", "go.etcd.io/bbolt"]).output();
    let bolt = seen(&bolt.expect("straggler runs"));
    let first =
        "exit 0\n# rules/catalog/etcd.toml:106\n[[blocking]]\nfunc = \"go.etcd.io/bbolt.Open\"\n";
    assert!(bolt.starts_with(first), "{bolt}");
}
