//! Findings that hold and yet are not shown unless they are asked for: the harm ends by itself, or is done
//! where a test has failed anyway.

use crate::cli::{found, module, straggler};

/// What a run tells of one file, as `path:line rule confidence`.
#[track_caller]
fn check(path: &str, source: &str, expected: &[&str]) {
    let module = module(&[(path, source)]);
    let told = |args: &[&str]| {
        let run = straggler(module.path())
            .args(["check", "--format", "jsonl", "./..."])
            .args(args)
            .output();
        found(run.expect("straggler runs"), ["rule", "confidence"])
    };
    assert_eq!(told(&["--min-confidence", "low"]), expected, "of {source}");
    let mut shown = expected.to_vec();
    shown.retain(|line| !line.ends_with(" low"));
    assert_eq!(told(&[]), shown, "of {source}");
}

#[test]
fn a_context_with_a_deadline_that_is_given_away() {
    let source = |made: &str, result: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"time\"\n)\n\nvar limit = time.Minute\n\n\
             func limited(parent context.Context) {result} {{\n\tctx, _ := {made}\n\treturn ctx{rest}\n}}\n",
            rest = if result == "error" { ".Err()" } else { "" }
        )
    };
    let timeout = "context.WithTimeout(parent, limit)";
    check("m.go", &source(timeout, "context.Context"), &["m.go:11 cancel-not-called low"]);
    check("m.go", &source(timeout, "error"), &["m.go:11 cancel-not-called high"]);
    let cancel = "context.WithCancel(parent)";
    check("m.go", &source(cancel, "context.Context"), &["m.go:11 cancel-not-called high"]);
}

#[test]
fn a_deadline_that_one_path_leaves_and_no_other_cuts_short() {
    let source = |on_other: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"errors\"\n\t\"time\"\n)\n\n\
             func f(ctx context.Context, n int, run func(context.Context, func())) error {{\n\
             \tctx, cancel := context.WithTimeout(ctx, time.Minute)\n\
             \tif n == 0 {{\n\t\treturn errors.New(\"none\")\n\t}}\n\
             \tif n == 1 {{\n\t\t{on_other}\n\t\treturn errors.New(\"one\")\n\t}}\n\
             \tif n == 2 {{\n\t\t{on_other}\n\t\treturn errors.New(\"two\")\n\t}}\n\
             \trun(ctx, cancel)\n\treturn nil\n}}\n"
        )
    };
    check("m.go", &source("cancel()"), &["m.go:12 cancel-not-called high"]);
    check("m.go", &source("run(ctx, cancel)"), &["m.go:12 cancel-not-called low"]);
}

#[test]
fn a_test_whose_time_is_up_has_failed() {
    let source = "package m\n\nimport \"time\"\n\nfunc read(from func() int) (n int) {\n\
                  \tdone := make(chan struct{})\n\tgo func() {\n\t\tdefer close(done)\n\t\tn = from()\n\t}()\n\
                  \tselect {\n\tcase <-done:\n\t\treturn n\n\tcase <-time.After(time.Second):\n\t\treturn 0\n\t}\n}\n";
    check("m.go", source, &["m.go:9 shared-after-timeout medium"]);
    check("m_test.go", source, &["m_test.go:9 shared-after-timeout low"]);
}

/// Who follows the context everywhere else has decided on the one that is made here; `TODO` says the opposite.
#[test]
fn a_fresh_context_beside_calls_that_follow_the_one_at_hand() {
    let source = |made: &str, before: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n)\n\n\
             func join(ctx context.Context, db *sql.DB) error {{\n\
             \tif err := db.PingContext(ctx); err != nil {{\n\t\treturn err\n\t}}\n{before}\
             \t_, err := db.ExecContext(context.{made}(), \"insert into joined values (1)\")\n\treturn err\n}}\n\n\
             func ask(ctx context.Context, db *sql.DB) (*sql.Rows, error) {{\n\
             \treturn db.QueryContext(ctx, \"select 1\")\n}}\n"
        )
    };
    let again = "\tif _, err := ask(ctx, db); err != nil {\n\t\treturn err\n\t}\n";
    check("m.go", &source("Background", ""), &["m.go:12 context-not-propagated high"]);
    check("m.go", &source("Background", again), &["m.go:15 context-not-propagated low"]);
    check("m.go", &source("TODO", again), &["m.go:15 context-not-propagated high"]);
}

/// A library for tests has its own ways to end one: nobody knows that what follows a failed expectation runs.
#[test]
fn a_file_that_helps_tests() {
    let source = |import: &str| {
        format!(
            "package m\n\nimport (\n\t\"errors\"\n{import}\n)\n\nfunc follow(n int) int {{\n\
             \tnumbers := make(chan int)\n\tfailed := make(chan error)\n\tgo func() {{\n\
             \t\tif n == 0 {{\n\t\t\tfailed <- errors.New(\"none\")\n\t\t\treturn\n\t\t}}\n\
             \t\tfailed <- nil\n\t\tnumbers <- n\n\t}}()\n\
             \tcheck.Expect(<-failed)\n\treturn <-numbers\n}}\n"
        )
    };
    let plain = "\t\"example.com/check\"";
    check("m.go", &source(plain), &["m.go:20 receive-without-sender medium"]);
    let helps = "\t\"example.com/check\"\n\t_ \"github.com/onsi/gomega\"";
    check("m.go", &source(helps), &["m.go:21 receive-without-sender low"]);
    // What is written with `testing` alone has no other ways than those that are known.
    let kernel = "package m\n\nimport \"testing\"\n\nfunc TestFollow(t *testing.T) {\n\tnumbers := make(chan int)\n\
                  \tgo func() {\n\t\tnumbers <- 1\n\t}()\n\tt.Log(<-numbers)\n\tt.Log(<-numbers)\n}\n";
    check("m.go", kernel, &["m.go:11 receive-without-sender high"]);
}
