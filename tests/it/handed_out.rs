//! Goroutines of an object whose channel others receive from, and what ends them: pairs that differ in little.

use crate::cli::tells_of_file as check;

const TIMER: &str = r#"package m

import (
	"sync"
	"time"
)

type Timer struct {
	ch   chan time.Time
	mu   sync.Mutex
	tick *time.Ticker
	quit chan struct{}
}

func New() *Timer {
	t := &Timer{ch: make(chan time.Time)}
	t.Reset()
	return t
}

func (t *Timer) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tick = time.NewTicker(time.Second)
	t.quit = make(chan struct{})
	go t.fire(t.tick.C, t.quit)
}

func (t *Timer) fire(ticks <-chan time.Time, quit <-chan struct{}) {
	for {
		select {
		case tick := <-ticks:
			t.ch <- tick
		case <-quit:
			return
		}
	}
}

func (t *Timer) Chan() <-chan time.Time { return t.ch }

func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tick.Stop()
	close(t.quit)
}
"#;

#[test]
fn a_goroutine_that_a_method_starts() {
    check(TIMER, &["m.go:33 watch-not-drained medium"]);
    let guarded = "select {\n\t\t\tcase t.ch <- tick:\n\t\t\tcase <-quit:\n\t\t\t\treturn\n\t\t\t}";
    check(&TIMER.replace("t.ch <- tick", guarded), &[]);
    // There is room, the package receives itself, or nobody can stop it.
    check(&TIMER.replace("make(chan time.Time)", "make(chan time.Time, 1)"), &[]);
    check(&format!("{TIMER}\nfunc (t *Timer) Wait() {{ <-t.ch }}\n"), &[]);
    check(&TIMER.replace("Stop() {\n\tt.mu", "stop() {\n\tt.mu"), &[]);
}

#[test]
fn an_exported_field_hands_the_channel_out() {
    let field = TIMER
        .replace("func (t *Timer) Chan() <-chan time.Time { return t.ch }\n\n", "")
        .replace("t.ch <-", "t.C <-")
        .replace("ch   chan", "C    chan")
        .replace("{ch:", "{C:");
    check(&field, &["m.go:33 watch-not-drained medium"]);
    // Nobody outside has such a value.
    check(&field.replace("Timer", "timer").replace("New()", "create()"), &[]);
}

const LISTER: &str = r#"package m

import "context"

type Lister struct {
	names chan string
	err   error
}

func List(ctx context.Context, page []string) *Lister {
	l := &Lister{names: make(chan string)}
	go func() {
		defer close(l.names)
		for _, name := range page {
			select {
			case <-ctx.Done():
				l.err = ctx.Err()
				return
			default:
			}
			l.names <- name
		}
	}()
	return l
}

func (l *Lister) Names() <-chan string { return l.names }
"#;

#[test]
fn a_literal_that_asks_for_its_end_between_two_sends() {
    check(LISTER, &["m.go:21 watch-not-drained medium"]);
    let guarded =
        "select {\n\t\t\tcase l.names <- name:\n\t\t\tcase <-ctx.Done():\n\t\t\t\treturn\n\t\t\t}";
    check(&LISTER.replace("l.names <- name", guarded), &[]);
    // It does not say that it is to end before all is sent.
    let (from, to) =
        (LISTER.find("\t\t\tselect").unwrap(), LISTER.find("\t\t\tl.names <-").unwrap());
    check(&format!("{}{}", &LISTER[..from], &LISTER[to..]), &[]);
    // Who makes it cannot end it.
    check(
        &LISTER
            .replace("ctx context.Context, ", "")
            .replace("\tgo func() {\n", "\tctx := context.Background()\n\tgo func() {\n"),
        &[],
    );
}
