//! What waits for something that never comes: channels of an object that nobody closes, and timers that send nothing.
//! Pairs that differ in little.

use crate::cli::{tells, tells_of_file as check};

/// An object of which a method waits for the end that only `ends` gives.
fn object(wait: &str, ends: &str) -> String {
    format!(
        "package m\n\ntype op struct {{\n\tdone  chan struct{{}}\n\tfinal int\n}}\n\n\
         func begin(in <-chan int) *op {{\n\to := &op{{done: make(chan struct{{}})}}\n\tgo func() {{\n\
         \t\tfor v := range in {{\n\t\t\to.final += v\n\t\t}}\n{ends}\t}}()\n\treturn o\n}}\n\n\
         func (o *op) wait() int {{\n{wait}\treturn o.final\n}}\n\n\
         type all struct {{\n\tops map[string]*op\n}}\n\n\
         func (a *all) Add(key string, in <-chan int) {{ a.ops[key] = begin(in) }}\n\n\
         func (a *all) Sum(key string) int {{ return a.ops[key].wait() }}\n"
    )
}

#[test]
fn a_channel_of_an_object_that_nobody_closes() {
    let receive = "\t<-o.done\n";
    check(&object(receive, ""), &["m.go:19 receive-without-sender medium"]);
    check(&object(receive, "\t\tclose(o.done)\n"), &[]);
    check(&object("\tfor range o.done {\n\t}\n", ""), &["m.go:19 range-never-closed medium"]);
    // It may be there to keep who comes there.
    let forever = object(receive, "").replace("done", "forever");
    check(&forever, &[]);
    // A test does.
    let test = "package m\n\nfunc end(o *op) { close(o.done) }\n";
    tells(&[("m.go", &object(receive, "")), ("m_test.go", test)], &[]);
    // Others may close it.
    let given = object(receive, "") + "\nfunc (o *op) Done() chan struct{} { return o.done }\n";
    check(&given, &[]);
}

/// A constructor that starts a goroutine, and what it does when the first answer does not come.
fn constructor(late: &str, ends: &str) -> String {
    format!(
        "package m\n\nimport (\n\t\"errors\"\n\t\"time\"\n)\n\ntype meter struct {{\n\tready chan struct{{}}\n\
         \tdone  chan struct{{}}\n\task   func() int\n\tlast  int\n}}\n\n\
         func New(ask func() int) (*meter, error) {{\n\
         \tm := &meter{{ready: make(chan struct{{}}, 1), done: make(chan struct{{}}), ask: ask}}\n\tgo m.run()\n\
         \tselect {{\n\tcase <-m.ready:\n\tcase <-time.After(time.Minute):\n{late}\t}}\n\treturn m, nil\n}}\n\n\
         func (m *meter) run() {{\n\tticks := time.NewTicker(time.Second)\n\tdefer ticks.Stop()\n\tfor {{\n\
         \t\tselect {{\n\t\tcase <-m.done:\n\t\t\treturn\n\t\tcase <-ticks.C:\n\t\t\tm.last = m.ask()\n\
         \t\t\tselect {{\n\t\t\tcase m.ready <- struct{{}}{{}}:\n\t\t\tdefault:\n\t\t\t}}\n\t\t}}\n\t}}\n}}\n{ends}"
    )
}

#[test]
fn a_goroutine_that_nothing_ends() {
    let fails = "\t\treturn nil, errors.New(\"no answer\")\n";
    let told = |level: &str| format!("m.go:30 select-never-ready {level}");
    check(&constructor(fails, ""), &[&told("medium")]);
    let closes = "\t\tclose(m.done)\n\t\treturn nil, errors.New(\"no answer\")\n";
    check(&constructor(closes, ""), &[]);
    // Without a way on which it is given up it may be there once.
    let source = constructor("", "").replace("\t\"errors\"\n", "");
    check(&source, &["m.go:28 select-never-ready low"]);
}

/// A queue with a timer, and what is done when it is cancelled.
fn timed(cancel: &str, make: &str) -> String {
    format!(
        "package m\n\nimport (\n\t\"sync\"\n\t\"time\"\n)\n\ntype queue struct {{\n\tmu    sync.Mutex\n\
         \ttimer *time.Timer\n\tn     int\n}}\n\nfunc (q *queue) Cancel() {{\n\tq.mu.Lock()\n\
         \tdefer q.mu.Unlock()\n\tif q.timer != nil && !q.timer.Stop() {{\n{cancel}\t}}\n\tq.timer = nil\n}}\n\n\
         func (q *queue) count() {{ q.n++ }}\n\n\
         func (q *queue) Later(d time.Duration) {{\n\tq.mu.Lock()\n\tdefer q.mu.Unlock()\n\tq.timer = {make}\n}}\n"
    )
}

#[test]
fn a_timer_that_calls_a_function() {
    let drains = "\t\t<-q.timer.C\n";
    let calls = "time.AfterFunc(d, q.count)";
    check(&timed(drains, calls), &["m.go:18 nil-channel high"]);
    check(&timed("", calls), &[]);
    check(&timed(drains, "time.NewTimer(d)"), &[]);
    // Another method makes one that sends.
    let either = timed(drains, calls)
        + "\nfunc (q *queue) After(d time.Duration) {\n\tq.timer = time.NewTimer(d)\n}\n";
    check(&either, &[]);
    let local = |make: &str| {
        format!(
            "package m\n\nimport \"time\"\n\nfunc run(f, work func()) {{\n\tt := {make}\n\twork()\n\
             \tif !t.Stop() {{\n\t\t<-t.C\n\t}}\n}}\n"
        )
    };
    check(&local("time.AfterFunc(time.Second, f)"), &["m.go:9 nil-channel high"]);
    // It never comes to that.
    let unset = local("time.AfterFunc(math.MaxInt64, f)")
        .replace("\"time\"", "(\n\t\"math\"\n\t\"time\"\n)");
    check(&unset, &[]);
}

const PARSED: &str = r#"package m

import (
	"time"

	"example.com/other/parse"
)

type meter struct {
	in     chan []byte
	ready  chan struct{}
	done   chan struct{}
	status *parse.Status
}

func Listen(in chan []byte) *meter {
	m := &meter{in: in, ready: make(chan struct{}), done: make(chan struct{})}
	go m.run()
	<-m.ready
	return m
}

func (m *meter) Close() { close(m.done) }

func (m *meter) run() {
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		select {
		case <-m.done:
			return
		case text := <-m.in:
			if status, err := parse.Of(text); err == nil {
				first := m.status == nil
				m.status = status
				if first {
					close(m.ready)
				}
			}
		case <-ticks.C:
		}
	}
}
"#;

#[test]
fn what_a_call_gives_beside_no_error() {
    check(PARSED, &[]);
    let unasked = PARSED.replace(
        "if status, err := parse.Of(text); err == nil {",
        "{\n\t\t\t\tstatus, _ := parse.Of(text)",
    );
    check(&unasked, &["m.go:38 close-misuse medium"]);
}

#[test]
fn a_goroutine_that_would_stay_without_a_panic() {
    // What closes twice ends the process; whoever never does that stays.
    let twice = PARSED
        .replace("\nfunc (m *meter) Close() { close(m.done) }\n", "")
        .replace("\t<-m.ready\n\treturn m\n", "\tselect {\n\tcase <-m.ready:\n\t\treturn m\n\tcase <-time.After(time.Minute):\n\t\treturn nil\n\t}\n")
        .replace("if status, err := parse.Of(text); err == nil {", "{\n\t\t\t\tstatus, _ := parse.Of(text)");
    check(&twice, &["m.go:31 select-never-ready medium", "m.go:40 close-misuse medium"]);
}
