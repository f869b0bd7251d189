//! The modules under `fixtures/rules/<rule-id>/<case>/`: straggler says of each what its `// want`
//! comments say, and real Go shows that it is true.
//!
//! A case with a want is *bad*: running it shows the fault. A case without one is *good*: running
//! it shows that there is none. How it is shown stands in its `case.toml`, or is the leak profile;
//! `docs/CONTRIBUTING.md` tells it to authors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use straggler::rules::{find, registry};

use crate::cli::straggler;
use crate::harness::{self, Want, names_in, root, wants};

/// Longer than any case takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The exit code of the leak oracle, `fixtures/oracle.go.txt`.
const LEFT_BEHIND: i32 = 1;

/// The exit code of the race detector.
const RACE: i32 = 66;

struct Case {
    rule: String,
    name: String,
    dir: PathBuf,
    claim: Claim,
    wants: Vec<Want>,
}

/// How running a case shows its fault.
#[derive(PartialEq)]
enum Claim {
    /// The goroutine leak profile names a goroutine.
    Leak,
    /// The race detector, or the runtime's own check of maps, ends the program.
    Race,
    /// A test fails.
    Context,
    /// It cannot be shown by running.
    Nothing,
}

#[test]
fn straggler_says_what_the_fixtures_want() {
    let mut failures = String::new();
    for case in cases() {
        let report = harness::analyze(&case.dir, &case.rule, true);
        let differences = harness::differences(&report, &case.wants);
        if !differences.is_empty() {
            failures += &format!("fixtures/rules/{}/{}\n{differences}\n", case.rule, case.name);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// What the rules of a group say rests on the catalog alone where it has to: a machine that checks
/// code need not have Go.
#[test]
fn handoffs_are_found_without_the_sources_of_go() {
    let of_group = |rule: &str| find(rule).is_some_and(|found| found.page.group == "handoff");
    let mut failures = String::new();
    for case in cases().iter().filter(|case| of_group(&case.rule)) {
        let report = harness::analyze_without_sources(&case.dir, &case.rule);
        let differences = harness::differences(&report, &case.wants);
        if !differences.is_empty() {
            failures += &format!("fixtures/rules/{}/{}\n{differences}\n", case.rule, case.name);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn each_rule_has_a_bad_and_a_good_fixture() {
    let cases = cases();
    for rule in rules() {
        let of_rule = || cases.iter().filter(|case| case.rule == rule);
        assert!(of_rule().any(|case| !case.wants.is_empty()), "{rule} has no bad fixture");
        assert!(of_rule().any(|case| case.wants.is_empty()), "{rule} has no good fixture");
    }
}

#[test]
fn fixtures_are_true_under_real_go() {
    if std::env::var_os("STRAGGLER_SKIP_GO").is_some() {
        return;
    }
    let version = Command::new("go").arg("version").output();
    assert!(
        version.is_ok_and(|output| output.status.success()),
        "the fixtures are run under Go, and there is no `go` on PATH (STRAGGLER_SKIP_GO=1 leaves this out)"
    );
    let mut failures = String::new();
    for case in cases() {
        if let Err(failure) = show(&case) {
            failures += &format!("fixtures/rules/{}/{}: {failure}\n", case.rule, case.name);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn fixes_of_the_fixtures_mend_them_under_real_go() {
    if std::env::var_os("STRAGGLER_SKIP_GO").is_some() {
        return;
    }
    let (mut failures, mut mended) = (String::new(), 0);
    for case in cases().iter().filter(|case| !case.wants.is_empty()) {
        match mend(case) {
            Ok(fixed) => mended += usize::from(fixed),
            Err(failure) => {
                failures += &format!("fixtures/rules/{}/{}: {failure}\n", case.rule, case.name);
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    assert!(mended > 0, "no rule has a fix");
}

/// Makes the fixes of a case in a copy of it, and says whether there are any; an error says what
/// is wrong with them.
fn mend(case: &Case) -> Result<bool, String> {
    let before = harness::analyze(&case.dir, &case.rule, true);
    let with_fix = before.findings.iter().filter(|finding| !finding.fixes.is_empty()).count();
    if with_fix == 0 {
        return Ok(false);
    }
    let copy = tempfile::tempdir().expect("a temporary directory");
    copy_dir(&case.dir, copy.path());
    let select = format!("--select=DEFAULT,{}", case.rule);
    let output = straggler(copy.path())
        .args(["check", "--fix", "--unsafe-fixes", &select, "--exit-zero"])
        .output()
        .expect("straggler runs");
    if !output.status.success() {
        return Err(all(&output));
    }
    let after = harness::analyze(copy.path(), &case.rule, true);
    if after.findings.len() + with_fix != before.findings.len() {
        let (left, all) = (after.findings.len(), before.findings.len());
        return Err(format!("{with_fix} of {all} findings have a fix, and {left} are left"));
    }
    let go = |program: &str, args: &[&str]| {
        Command::new(program)
            .args(args)
            .current_dir(copy.path())
            .env("GOTOOLCHAIN", "local")
            .env("GOWORK", "off")
            .output()
            .expect("go can be run (STRAGGLER_SKIP_GO=1 leaves this out)")
    };
    let unformatted = go("gofmt", &["-l", "."]);
    let built = go("go", &["vet", "./..."]);
    match (built.status.success(), unformatted.stdout.is_empty()) {
        (true, true) => Ok(true),
        (false, _) => Err(format!("does not build with its fix:\n{}", all(&built))),
        (true, false) => Err(format!("gofmt would change:\n{}", all(&unformatted))),
    }
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy_dir(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), &target).expect("a copy")),
        }
    }
}

/// The ids of the rules that are to be tested.
fn rules() -> impl Iterator<Item = &'static str> {
    registry().iter().map(|entry| entry.page.id).filter(|rule| harness::wanted_rule(rule))
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for rule in rules() {
        for name in names_in(&format!("fixtures/rules/{rule}")) {
            let dir = root().join("fixtures/rules").join(rule).join(&name);
            let claim = claim(&dir);
            let mut wants = Vec::new();
            collect_wants(&dir, &dir, &mut wants);
            cases.push(Case { rule: rule.to_owned(), name, dir, claim, wants });
        }
    }
    cases
}

fn claim(dir: &Path) -> Claim {
    let path = dir.join("case.toml");
    if !path.exists() {
        return Claim::Leak;
    }
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let table: toml::Table = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    match table.get("shows").and_then(toml::Value::as_str) {
        Some("leak") => Claim::Leak,
        Some("race") => Claim::Race,
        Some("context") => Claim::Context,
        Some("nothing") if table.contains_key("why") => Claim::Nothing,
        _ => panic!("{}: `shows` is leak, race, context, or nothing with a `why`", path.display()),
    }
}

fn collect_wants(root: &Path, dir: &Path, all: &mut Vec<Want>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect_wants(root, &path, all);
        } else if path.extension().is_some_and(|extension| extension == "go") {
            let text = fs::read_to_string(&path).expect("a Go file");
            let shown = path.strip_prefix(root).expect("below the case").display().to_string();
            all.extend(wants(&shown, &text));
        }
    }
}

/// Runs a case under Go; an error says how it did not show what it claims.
fn show(case: &Case) -> Result<(), String> {
    let built = tempfile::tempdir().expect("a temporary directory");
    let program = built.path().join("case");
    let mut build = Command::new("go");
    build.current_dir(&case.dir).env("GOTOOLCHAIN", "local").env("GOWORK", "off");
    match case.claim {
        Claim::Leak => {
            let copy = case.dir.join("oracle.go");
            if copy.exists() {
                let oracle = root().join("fixtures/oracle.go.txt");
                let oracle = fs::read_to_string(oracle).expect("text");
                harness::assert_generated(&relative(&copy), &oracle);
            }
            build.env("GOEXPERIMENT", "goroutineleakprofile").arg("build")
        }
        Claim::Race => build.args(["build", "-race"]),
        Claim::Context => build.args(["test", "-c"]),
        Claim::Nothing => build.arg("vet"),
    };
    if case.claim == Claim::Nothing {
        build.arg("./...");
    } else {
        build.arg("-buildvcs=false").arg("-o").arg(&program).arg(".");
    }
    let output = build.output().expect("go can be run");
    if !output.status.success() {
        return Err(format!("does not build under Go:\n{}", all(&output)));
    }
    if case.claim == Claim::Nothing {
        return Ok(());
    }
    let output = run(&program, &case.dir)?;
    let text = all(&output);
    let shown = match (&case.claim, output.status.code()) {
        (_, Some(0)) => false,
        (Claim::Leak, Some(LEFT_BEHIND)) => true,
        (Claim::Race, Some(RACE)) => true,
        (Claim::Race, Some(2)) if text.contains("fatal error: concurrent map") => true,
        (Claim::Context, Some(1 | 2)) => true,
        (_, code) => return Err(format!("ends with {code:?}:\n{text}")),
    };
    match (shown, case.wants.is_empty()) {
        (true, true) => Err(format!("is said to be good, and running it shows the fault:\n{text}")),
        (false, false) => Err(format!("is said to be bad, and running it shows nothing:\n{text}")),
        _ => Ok(()),
    }
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).expect("below the repository").display().to_string()
}

/// Runs a program that may hang; what it prints goes to a file, so that it never waits for us.
fn run(program: &Path, dir: &Path) -> Result<Output, String> {
    let log = tempfile::NamedTempFile::new().expect("a temporary file");
    let sink = || Stdio::from(log.as_file().try_clone().expect("a file handle"));
    let mut child = Command::new(program)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(sink())
        .stderr(sink())
        .spawn()
        .map_err(|error| format!("cannot be run: {error}"))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child of this process") {
            let stdout = fs::read(log.path()).expect("the log");
            return Ok(Output { status, stdout, stderr: Vec::new() });
        }
        if start.elapsed() > PATIENCE {
            child.kill().expect("a child of this process");
            child.wait().expect("a child of this process");
            return Err(format!("does not end within {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn all(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}
