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
    // A library of many names.
    for cli in ["github.com/urfave/cli", "gopkg.in/urfave/cli.v1", "github.com/codegangsta/cli"] {
        let imports = format!("import (\n\tcli \"{cli}\"\n\n\t\"example.com/m/search\"\n)\n\n");
        let command = "var first = cli.Command{Name: \"first\", Action: run}\n\n\
                       func run(c *cli.Context) error {\n\tprintln(search.First(c.Args()))\n\treturn nil\n}\n";
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

#[test]
fn what_no_run_of_a_test_will_see_has_low_confidence() {
    let queue = "type queue struct{ requests chan int }\n\n\
        func (q *queue) put(value int) {\n\tq.requests <- value\n}\n\n\
        func (q *queue) end() {\n\tclose(q.requests)\n}\n\n";
    let of = |pause: &str| {
        let text = format!(
            "package m\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\n{queue}\
             func TestQueue(t *testing.T) {{\n\tq := &queue{{make(chan int, 3)}}\n\t\
             go func() {{\n\t\tq.put(1)\n\t}}()\n\t{pause}\n\tq.end()\n}}\n\n\
             const pause = time.Second\n"
        );
        told(module(&[("queue_test.go", &text)]).path(), &["--min-confidence", "low"])
    };
    assert_eq!(of("time.Sleep(pause)"), ["queue_test.go:11 close-misuse low"]);
    assert_eq!(of(""), ["queue_test.go:11 close-misuse high"]);
    // The timer has most likely not fired when it is stopped.
    let batches = |values: usize| {
        let text = format!(
            "package m\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\n\
             func pairs(in <-chan int) <-chan []int {{\n\tout := make(chan []int, 1)\n\t\
             go func() {{\n\t\tvar pair []int\n\t\ttimer := time.NewTimer(time.Second)\n\
             \t\tfor {{\n\t\t\tselect {{\n\t\t\tcase item, ok := <-in:\n\t\t\t\t\
             if !ok {{\n\t\t\t\t\treturn\n\t\t\t\t}}\n\t\t\t\t\
             if pair = append(pair, item); len(pair) == 2 {{\n\t\t\t\t\t\
             timer.Stop()\n\t\t\t\t\tout <- pair\n\t\t\t\t\tpair = nil\n\t\t\t\t}}\n\t\t\t\
             case <-timer.C:\n\t\t\t\tout <- pair\n\t\t\t\tpair = nil\n\t\t\t}}\n\t\t}}\n\t}}()\n\t\
             return out\n}}\n\n\
             func TestPairs(t *testing.T) {{\n\tin := make(chan int)\n\tdefer close(in)\n\t\
             out := pairs(in)\n{}\t<-out\n}}\n",
            "\tin <- 1\n".repeat(values)
        );
        told(module(&[("pairs_test.go", &text)]).path(), &[])
    };
    assert_eq!(batches(3), [""; 0]);
    assert_eq!(batches(5), ["pairs_test.go:41 send-without-receiver high"]);
}
