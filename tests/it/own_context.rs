//! Objects that keep a context for their end, by which who receives leaves: pairs that differ in little.

use crate::cli::tells_of_file as check;

const SESSION: &str = r#"package m

import "context"

type S struct {
	ctx    context.Context
	cancel context.CancelFunc
	reqs   chan int
}

func New() *S {
	ctx, cancel := context.WithCancel(context.Background())
	s := &S{ctx: ctx, cancel: cancel, reqs: make(chan int)}
	go s.run()
	return s
}

func (s *S) Close() { s.cancel() }

func (s *S) run() {
	for {
		select {
		case <-s.reqs:
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *S) Fetch(ctx context.Context, n int) {
	select {
	case s.reqs <- n:
	case <-ctx.Done():
	}
}

func (s *S) Other(n int) error {
	select {
	case s.reqs <- n:
	case <-s.ctx.Done():
	}
	return s.ctx.Err()
}
"#;

const TOLD: [&str; 1] = ["m.go:32 send-without-receiver medium"];

#[test]
fn a_send_beside_the_callers_context_alone() {
    check(SESSION, &TOLD);
    // The send looks at the end, or nobody ends it, or nobody else asks.
    let looks = "\tcase s.reqs <- n:\n\tcase <-s.ctx.Done():\n\tcase <-ctx.Done():\n";
    check(&SESSION.replace("\tcase s.reqs <- n:\n\tcase <-ctx.Done():\n", looks), &[]);
    check(&SESSION.replace("{ s.cancel() }", "{}"), &[]);
    let other = &SESSION[SESSION.find("func (s *S) Other").expect("it is there")..];
    check(&SESSION.replace(other, ""), &[]);
    // Somebody sets another one.
    check(&format!("{SESSION}\nfunc (s *S) Set(ctx context.Context) {{ s.ctx = ctx }}\n"), &[]);
    // It is set by the call itself.
    let itself = SESSION
        .replace("\tctx, cancel := context.WithCancel(context.Background())\n", "")
        .replace("ctx: ctx, cancel: cancel, ", "")
        .replace(
            "\tgo s.run()",
            "\ts.ctx, s.cancel = context.WithCancel(context.Background())\n\tgo s.run()",
        );
    check(&itself, &TOLD);
}

#[test]
fn a_context_that_the_maker_is_given() {
    let given = SESSION
        .replace("New()", "New(ctx context.Context)")
        .replace("\tctx, cancel := context.WithCancel(context.Background())\n", "\n")
        .replace("cancel: cancel, ", "")
        .replace("{ s.cancel() }", "{}");
    check(&given, &TOLD);
    let with = given
        .replace("go s.run()", "go s.run(ctx)")
        .replace("run() {", "run(ctx context.Context) {");
    check(&with.replacen("<-s.ctx.Done()", "<-ctx.Done()", 1), &TOLD);
    // The goroutine is given another one.
    let other = with.replacen("<-s.ctx.Done()", "<-ctx.Done()", 1);
    check(
        &other.replace("go s.run(ctx)", "go s.run(context.Background())"),
        &["m.go:22 select-never-ready low"],
    );
}

const QUEUE: &str = r#"package m

import (
	"context"
	"errors"
)

type job struct{ result chan error }

type V struct {
	jobs    chan *job
	stopped chan struct{}
}

func New() *V {
	v := &V{jobs: make(chan *job, 10), stopped: make(chan struct{})}
	go v.loop()
	return v
}

func (v *V) Close() { close(v.stopped) }

func (v *V) loop() {
	for {
		select {
		case j := <-v.jobs:
			j.result <- nil
		case <-v.stopped:
			return
		}
	}
}

func (v *V) Verify(ctx context.Context) error {
	j := &job{make(chan error, 1)}
	select {
	case v.jobs <- j:
	case <-v.stopped:
		return errors.New("closed")
	}
	select {
	case err := <-j.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
"#;

#[test]
fn an_answer_that_is_awaited_beside_the_callers_context_alone() {
    check(QUEUE, &["m.go:42 receive-without-sender medium"]);
    check(
        &QUEUE.replace(
            "\tcase <-ctx.Done():\n",
            "\tcase <-v.stopped:\n\t\treturn nil\n\tcase <-ctx.Done():\n",
        ),
        &[],
    );
    // What is left is answered.
    let drains = "\t\tcase <-v.stopped:\n\t\t\tfor len(v.jobs) > 0 {\n\t\t\t\t(<-v.jobs).result <- nil\n\t\t\t}\n\t\t\treturn\n";
    check(&QUEUE.replace("\t\tcase <-v.stopped:\n\t\t\treturn\n", drains), &[]);
}
