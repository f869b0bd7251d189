//! Goroutines that look between two sends at what their caller ends them by: pairs that differ in little.

use crate::cli::tells_of_file as check;

const WATCH: &str = r#"package m

import "context"

type Source struct{ changes chan int }

func (s *Source) Watch(ctx context.Context) <-chan int {
	events := make(chan int)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case change := <-s.changes:
				events <- change
			}
		}
	}()
	return events
}
"#;

const TOLD: &[&str] = &["m.go:15 send-without-receiver medium"];

#[test]
fn a_send_that_does_not_hear_what_its_caller_ends_it_by() {
    check(WATCH, TOLD);
    // It hears it there.
    let guarded = "select {\n\t\t\t\tcase events <- change:\n\t\t\t\tcase <-ctx.Done():\n\t\t\t\t\treturn\n\t\t\t\t}";
    check(&WATCH.replace("events <- change", guarded), &[]);
    // Whoever ends it may wait for the last value: the close tells that there is none.
    let closed = WATCH.replace("\t\tfor {", "\t\tdefer close(events)\n\t\tfor {");
    check(&closed, &[]);
    // One that is known to call it does not wait for it.
    let first = "\nfunc first(ctx context.Context, s *Source) int {\n\tselect {\n\tcase e := <-s.Watch(ctx):\n\t\treturn e\n\tcase <-ctx.Done():\n\t\treturn 0\n\t}\n}\n";
    check(&format!("{closed}{first}"), &["m.go:16 send-without-receiver medium"]);
    let all = "\nfunc all(ctx context.Context, s *Source) (sum int) {\n\tfor e := range s.Watch(ctx) {\n\t\tsum += e\n\t}\n\treturn sum\n}\n";
    check(&format!("{closed}{all}"), &[]);
    // There is room for a value that comes late.
    check(&WATCH.replace("make(chan int)", "make(chan int, 1)"), &[]);
    // Nobody says that it is to end.
    check(&WATCH.replace("\t\t\tcase <-ctx.Done():\n\t\t\t\treturn\n", ""), &[]);
    // It goes on, and says so in a last word.
    check(
        &WATCH.replace("<-ctx.Done():\n\t\t\t\treturn", "<-ctx.Done():\n\t\t\t\tevents <- 0"),
        &[],
    );
    // Others have the channel.
    let kept = WATCH.replace("changes chan int }", "changes chan int; last chan int }");
    check(&kept.replace("\treturn events", "\ts.last = events\n\treturn events"), &[]);
}

#[test]
fn a_goroutine_that_is_a_function_of_its_own() {
    let body = WATCH.find("\tgo func() {").and_then(|from| {
        let to = WATCH.find("\t}()\n")?;
        Some((from, to))
    });
    let (from, to) = body.expect("the goroutine stands there");
    let apart = format!(
        "{}\tgo s.serve(done, events)\n{}\nfunc (s *Source) serve(done <-chan struct{{}}, events chan<- int) {{\n{}}}\n",
        &WATCH[..from],
        &WATCH[to + "\t}()\n".len()..],
        &WATCH[from + "\tgo func() {\n".len()..to],
    );
    let apart = apart
        .replace("ctx context.Context", "done <-chan struct{}")
        .replace("<-ctx.Done()", "<-done")
        .replace("import \"context\"\n\n", "");
    check(&apart, &["m.go:17 send-without-receiver medium"]);
    // What ends it is not the caller's.
    let own = apart
        .replace("Watch(done <-chan struct{})", "Watch()")
        .replace("\tgo s.serve", "\tdone := make(chan struct{})\n\tgo s.serve");
    check(&own, &["m.go:14 select-never-ready low"]);
}

#[test]
fn who_receives_until_the_close_stays_there() {
    let follow = "\nfunc (s *Source) Follow(ctx context.Context) {\n\tfor event := range s.Watch(ctx) {\n\t\tprintln(event)\n\t}\n}\n";
    // Nobody closes it: the reader stays, and the sender finds him there.
    check(&format!("{WATCH}{follow}"), &["m.go:23 range-never-closed medium"]);
    let leaves = "\nfunc (s *Source) Follow(ctx context.Context) {\n\tevents := s.Watch(ctx)\n\tfor {\n\t\tselect {\n\t\tcase event := <-events:\n\t\t\tprintln(event)\n\t\tcase <-ctx.Done():\n\t\t\treturn\n\t\t}\n\t}\n}\n";
    check(&format!("{WATCH}{leaves}"), TOLD);
    // Nobody ends what it is given.
    let endless = leaves
        .replace("Follow(ctx context.Context)", "Follow()")
        .replace("\tevents := ", "\tctx := context.Background()\n\tevents := ");
    check(&format!("{WATCH}{endless}"), &["m.go:15 send-without-receiver low"]);
}

#[test]
fn an_end_that_the_caller_is_given() {
    let given = WATCH
        .replace(
            "Watch(ctx context.Context) <-chan int {",
            "Watch() (<-chan int, func()) {\n\tdone := make(chan struct{})",
        )
        .replace("<-ctx.Done()", "<-done")
        .replace("return events", "return events, func() { close(done) }")
        .replace("import \"context\"\n\n", "");
    check(&given, &["m.go:14 send-without-receiver medium"]);
    check(
        &given
            .replace("(<-chan int, func())", "(<-chan int, chan<- struct{})")
            .replace("func() { close(done) }", "done"),
        &["m.go:14 send-without-receiver medium"],
    );
    // Something else ends it.
    check(
        &given
            .replace("func() { close(done) }", "func() {}")
            .replace(
                "\tdone := make(chan struct{})",
                "\tdone := make(chan struct{})\n\ts.stop(done)",
            )
            .replace(
                "type Source struct{",
                "func (s *Source) stop(chan struct{}) {}\n\ntype Source struct{",
            ),
        &["m.go:13 select-never-ready low"],
    );
    let cancelled = WATCH
        .replace("Watch(ctx context.Context) <-chan int {", "Watch(ctx context.Context) (<-chan int, context.CancelFunc) {\n\tctx, cancel := context.WithCancel(ctx)")
        .replace("return events", "return events, cancel");
    check(&cancelled, &["m.go:16 send-without-receiver medium"]);
}
