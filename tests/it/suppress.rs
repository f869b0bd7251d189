//! Directives that suppress findings: which lines they speak of, and in which forms.

use std::fs;

use straggler::rules::selection::DEFAULT_RULES;

use crate::harness;

/// The first line of each source, so that its own lines count from 1 after it.
const PREAMBLE: &str = "package m; import \"context\"; \n";

const RUN: &str = "package m

import \"context\"

func run(context.Context) error { return nil }
";

/// Analyses `source` under the preamble, beside a file that declares `run`, and compares what is
/// found, by line of `source`, and how much is suppressed.
#[track_caller]
fn check(source: &str, expected: &[&str], suppressed: usize) {
    check_selected(&[DEFAULT_RULES, "bad-suppression"], source, expected, suppressed);
}

#[track_caller]
fn check_selected(select: &[&str], source: &str, expected: &[&str], suppressed: usize) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("go.mod"), "module m\n\ngo 1.26\n").expect("a file");
    fs::write(dir.path().join("m.go"), format!("{PREAMBLE}{source}")).expect("a file");
    fs::write(dir.path().join("run.go"), RUN).expect("a file");
    let report = harness::analyze_selected(dir.path(), select, false);
    let told: Vec<String> = report
        .findings
        .iter()
        .map(|finding| {
            let line = report.file(finding.primary.file).text.line(finding.primary.span.start);
            match finding.rule {
                "bad-suppression" => format!("{} bad-suppression: {}", line - 1, finding.message),
                rule => format!("{} {rule}", line - 1),
            }
        })
        .collect();
    assert_eq!((told.as_slice(), report.counts.suppressed), (&*owned(expected), suppressed));
}

fn owned(expected: &[&str]) -> Vec<String> {
    expected.iter().map(|&line| line.to_owned()).collect()
}

/// A function with a finding at its `return err`, whose story starts at the line that `line` ends.
fn leak(doc: &str, first: &str, above: &str, line: &str) -> String {
    format!(
        "{doc}
func f(ctx context.Context) error {{ {first}
{above}
	ctx, cancel := context.WithCancel(ctx) {line}
	if err := run(ctx); err != nil {{
		return err
	}}
	cancel()
	return nil
}}
"
    )
}

#[test]
fn a_directive_speaks_of_its_line_the_line_below_or_the_declaration() {
    check(&leak("", "", "", ""), &["6 cancel-not-called"], 0);
    let directive = "//straggler:ignore cancel-not-called the process ends";
    check(&leak("", "", "", directive), &[], 1);
    check(&leak("", "", directive, ""), &[], 1);
    check(&leak(directive, "", "", ""), &[], 1);
    check(&leak(&format!("// f is f.\n//\n{directive}"), "", "", ""), &[], 1);
    check(&leak("", directive, "", ""), &[], 1);
    check(&leak("//straggler:file-ignore context it is old\n\nvar x int", "", "", ""), &[], 1);
    let unused = "nothing of `cancel-not-called` is found here any more";
    check(
        &leak(&format!("{directive}\n\nvar x int"), "", "", ""),
        &[&format!("1 bad-suppression: {unused}"), "8 cancel-not-called"],
        0,
    );
}

#[test]
fn a_directive_may_stand_at_any_place_of_the_story() {
    let source = "
func f(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	if err := run(ctx); err != nil {
		return err //straggler:ignore cancel-not-called the process ends
	}
	cancel()
	return nil
}
";
    check(source, &[], 1);
}

#[test]
fn other_linters_directives_are_read() {
    for directive in [
        "//nolint",
        "// nolint // all of them",
        "//nolint:all",
        "//nolint:errcheck,straggler // it ends",
        "//nolint:cancel-not-called",
        "//lint:ignore SA1000,cancel-not-called it ends",
        "//lint:ignore context it ends",
    ] {
        check(&leak("", "", "", directive), &[], 1);
    }
    for directive in ["//nolint:errcheck", "//nolintlint", "//lint:ignore cancel-not-called", "//"]
    {
        check(&leak("", "", "", directive), &["6 cancel-not-called"], 0);
    }
    // They are not ours to judge when they suppress nothing.
    check("var x int //nolint:straggler\n", &[], 0);
}

#[test]
fn a_directive_of_ours_that_does_not_count_is_told() {
    let said = |directive: &str, message: &str| {
        let told = format!("4 bad-suppression: {message}");
        check(&leak("", "", "", directive), &[&told, "6 cancel-not-called"], 0);
    };
    said("//straggler:ignore", "the directive names no rule");
    said(
        "//straggler:ignore cancel-not-called",
        "the directive gives no reason, and counts only with one",
    );
    said(
        "//straggler:ignore cancel-not-caled it ends",
        "there is no rule or group `cancel-not-caled`; did you mean `cancel-not-called`?",
    );
    said(
        "// straggler:ignore context it ends",
        "this is a comment: a directive has no space after `//`",
    );
    said("//straggler:ignroe context it ends", "there is no directive `straggler:ignroe`");
}

#[test]
fn what_is_unused_is_not_judged_where_a_finding_may_be_unseen() {
    let unused = "//straggler:ignore watch-not-stopped it was a watch\nvar x int\n";
    check(unused, &["1 bad-suppression: nothing of `watch-not-stopped` is found here any more"], 0);
    // A rule that did not run could have found something.
    check_selected(&["bad-suppression"], unused, &[], 0);
    // So could one that knew the package that is missing.
    let missing =
        "import \"example.com/nowhere\"\nfunc g(ctx context.Context) { nowhere.F(ctx) }\n";
    check(&format!("{missing}{unused}"), &[], 0);
}

#[test]
fn what_go_vet_says_too_is_suppressed_with_it() {
    let thrown = |before: &str, behind: &str| {
        format!(
            "\nfunc f(ctx context.Context) {{\n{before}\n\
             \tctx, _ = context.WithCancel(ctx){behind}\n\t_ = run(ctx)\n}}\n"
        )
    };
    check(&thrown("", " //nolint:govet"), &[], 1);
    check(&thrown("", " // nolint: errcheck, govet // its parent ends it"), &[], 1);
    check(&thrown("\t//nolint:lostcancel", ""), &[], 1);
    check(&thrown("", " //nolint:errcheck"), &["4 cancel-not-called"], 0);
}
