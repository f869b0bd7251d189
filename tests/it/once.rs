//! What is left behind once, by a command of a program, counts less than what each request leaves.

use std::path::Path;

use crate::cli::{found, module, straggler};

const FIRST: &str = "found := make(chan string)
	for _, url := range urls {
		go func() { found <- url }()
	}
	return <-found
";

/// The findings of a run, as `path:line rule confidence`.
fn told(dir: &Path, args: &[&str]) -> Vec<String> {
    let output = straggler(dir).args(["check", "--format", "jsonl", "./..."]).args(args).output();
    found(output.expect("straggler runs"), ["rule", "confidence"])
}

/// A module whose function is called by `caller`.
fn called_by(caller: &str) -> tempfile::TempDir {
    module(&[
        (
            "search/search.go",
            &format!("package search\n\nfunc First(urls []string) string {{\n\t{FIRST}}}\n"),
        ),
        ("app/app.go", caller),
    ])
}

const ONCE: &str = "search/search.go:6 send-without-receiver low";
const AGAIN: &str = "search/search.go:6 send-without-receiver medium";

#[track_caller]
fn check(app: &str, expected: &str) {
    let module = called_by(app);
    let all = told(module.path(), &["--min-confidence", "low"]);
    assert_eq!(all, [expected], "with {app}");
    let most = told(module.path(), &[]);
    assert_eq!(most.is_empty(), expected == ONCE, "with {app}");
}

#[test]
fn what_a_command_leaves_once_has_low_confidence() {
    for command in [
        "var Command = &cobra.Command{Use: \"first\", Run: run}\n\n\
         func run(_ *cobra.Command, args []string) {\n\tprintln(search.First(args))\n}\n",
        "func New() *cobra.Command {\n\tcommand := &cobra.Command{Use: \"first\"}\n\t\
         command.RunE = func(_ *cobra.Command, args []string) error {\n\t\t\
         println(search.First(args))\n\t\treturn nil\n\t}\n\treturn command\n}\n",
    ] {
        let imports = "import (\n\t\"github.com/spf13/cobra\"\n\n\t\"example.com/m/search\"\n)\n\n";
        check(&format!("package app\n\n{imports}{command}"), ONCE);
    }
    check(
        "package main\n\nimport \"example.com/m/search\"\n\nfunc main() {\n\tprintln(search.First(nil))\n}\n",
        ONCE,
    );
}

#[test]
fn what_may_be_left_again_has_not() {
    for calls in [
        // For each request.
        "func serve(w http.ResponseWriter, r *http.Request) {\n\t_, _ = w.Write([]byte(search.First(nil)))\n}\n",
        // For each turn.
        "func Work(next <-chan []string) {\n\tfor urls := range next {\n\t\tprintln(search.First(urls))\n\t}\n}\n",
        // By who keeps the literal, whenever they like.
        "func Keep() func() {\n\treturn func() { println(search.First(nil)) }\n}\n",
        // By others, who are not here.
        "func Any() {\n\tprintln(search.First(nil))\n}\n",
        // By itself alone, and by whoever comes to that.
        "func Any(n int) {\n\tprintln(search.First(nil))\n\tif n > 0 {\n\t\tAny(n - 1)\n\t}\n}\n",
    ] {
        let http = if calls.contains("http.") { "\t\"net/http\"\n\n" } else { "" };
        let imports = format!("import (\n{http}\t\"example.com/m/search\"\n)\n\n");
        check(&format!("package app\n\n{imports}{calls}"), AGAIN);
    }
}

#[test]
fn what_tests_are_written_with_is_not_looked_at_wherever_it_is() {
    let source = |import: &str, call: &str| {
        format!(
            "package wait\n\nimport (\n\t\"context\"\n\t\"net\"\n\n\t\"github.com/onsi/{import}\"\n)\n\n\
             func Until(ctx context.Context, to string) {{\n\t\
             _, err := net.Dial(\"tcp\", to)\n\t{call}\n\t<-ctx.Done()\n}}\n"
        )
    };
    let of = |text: String| told(module(&[("wait/wait.go", &text)]).path(), &[]);
    assert_eq!(of(source("gomega", "gomega.Expect(err)")), [""; 0]);
    assert_eq!(
        of(source("other", "other.Expect(err)")),
        ["wait/wait.go:11 context-not-propagated high"]
    );
}
