//! Answers and events that come when their receiver has left: pairs of programs, one in which that cannot be.

use crate::cli::{straggler, tells_of_module as check};

const TICKS: &str = r#"package ws

import "time"

type sock struct {
	scheduled chan func()
	done      chan struct{}
}

func Connect(setup func(*sock)) {
	s := sock{scheduled: make(chan func()), done: make(chan struct{})}
	setup(&s)
	for {
		select {
		case f := <-s.scheduled:
			f()
		case <-s.done:
			return
		}
	}
}

func (s *sock) Close() { close(s.done) }

func (s *sock) SetInterval(f func(), d time.Duration) {
	go func() {
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				s.scheduled <- f
			case <-s.done:
				return
			}
		}
	}()
}
"#;

#[test]
fn more_answers_than_one_are_told_where_they_are_sent() {
    check(TICKS, &["m.go:32 send-without-receiver medium"]);
    let aside = TICKS.replace(
        "\t\t\t\ts.scheduled <- f\n",
        "\t\t\t\tselect {\n\t\t\t\tcase s.scheduled <- f:\n\t\t\t\tcase <-s.done:\n\t\t\t\t}\n",
    );
    check(&aside, &[]);
}

const TRACKED: &str = r#"package dist

import "context"

type tracker struct {
	err chan error
}

func Push(ctx context.Context, n int, do func(int) error) error {
	t := tracker{err: make(chan error)}
	for i := 0; i < n; i++ {
		go func(i int) {
			send(do, i, &t)
		}(i)
	}
	select {
	case err := <-t.err:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func send(do func(int) error, i int, t *tracker) {
	if err := do(i); err != nil {
		t.err <- err
		return
	}
}
"#;

#[test]
fn one_answer_is_told_where_its_channel_is_made() {
    check(TRACKED, &["m.go:26 send-without-receiver medium"]);
    let once = TRACKED.replace("\tfor i := 0; i < n; i++ {\n", "\t{\n\t\ti := n\n");
    check(&once, &["m.go:10 send-without-receiver medium"]);
    // Only there is room for one answer the way out.
    for (source, fixes) in [(TRACKED, false), (once.as_str(), true)] {
        let module = crate::cli::module(&[("m.go", source), ("go.mod", "module m\n\ngo 1.24\n")]);
        let run = straggler(module.path())
            .args(["check", "--no-cache", "--format", "jsonl", "./..."])
            .output()
            .expect("straggler runs");
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert_eq!(text.contains("\"replacement\":\", 1\""), fixes, "{text}");
    }
}

const ASKED: &str = r#"package disc

import (
	"context"
	"errors"
	"time"
)

type server interface {
	Send(ctx context.Context, req []byte, answer func([]byte)) error
}

func Ping(ctx context.Context, s server, req []byte) ([]byte, error) {
	ch := make(chan []byte)
	answer := func(msg []byte) {
		defer close(ch)
		ch <- msg
	}
	if err := s.Send(ctx, req, answer); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(time.Second)
	select {
	case id := <-ch:
		return id, nil
	case <-timeout.C:
		return nil, errors.New("timeout")
	}
}
"#;

#[test]
fn a_callback_that_is_kept_in_a_variable_comes_after_the_timer() {
    check(ASKED, &["m.go:17 send-without-receiver medium"]);
    let given = "\tif err := s.Send(";
    let derived = ASKED.replace(
        given,
        "\tctx, cancel := context.WithTimeout(ctx, time.Second)\n\tdefer cancel()\n\tif err := s.Send(",
    );
    check(&derived, &[]);
    let called =
        ASKED.replace(given, "\tif len(req) == 0 {\n\t\tgo answer(nil)\n\t}\n\tif err := s.Send(");
    assert!(
        !crate::cli::told(&[("m.go", &called)], &[]).iter().any(|it| it.starts_with("m.go:17"))
    );
}

const PINGED: &str = r#"package ws

type conn interface {
	SetPingHandler(func(string) error)
	Read() error
}

type sock struct {
	conn conn
	done chan struct{}
}

func Open(c conn) *sock {
	s := &sock{conn: c, done: make(chan struct{})}
	go s.loop()
	return s
}

func (s *sock) Close() { close(s.done) }

func (s *sock) loop() {
	ping := make(chan string)
	s.conn.SetPingHandler(func(m string) error { ping <- m; return nil })
	go s.read()
	for {
		select {
		case <-s.done:
			return
		case m := <-ping:
			println(m)
		}
	}
}

func (s *sock) read() {
	for s.conn.Read() == nil {
	}
}
"#;

#[test]
fn a_wait_for_callbacks_that_a_field_ends() {
    check(PINGED, &["m.go:23 send-without-receiver medium"]);
    // Who reads calls the handler, and does not close in it.
    let by_reader = PINGED
        .replace("func (s *sock) Close() { close(s.done) }\n", "")
        .replace("func (s *sock) read() {\n", "func (s *sock) read() {\n\tdefer close(s.done)\n");
    check(&by_reader, &[]);
    let waits =
        PINGED.replace("Close() { close", "Close() { s.conn.(interface{ Wait() }).Wait(); close");
    check(&waits, &[]);
}

const TARGETS: &str = r#"package mgr

import (
	"context"
	"sync"
)

type event struct{}

type Target struct {
	quit, done chan struct{}
	events     chan event
}

func NewTarget(events chan event) (*Target, error) {
	t := &Target{quit: make(chan struct{}), done: make(chan struct{}), events: events}
	go t.run()
	return t, nil
}

func (t *Target) run() {
	defer close(t.done)
	t.sync()
	<-t.quit
}

func (t *Target) sync() {
	for range 3 {
		t.events <- event{}
	}
}

func (t *Target) Stop() {
	close(t.quit)
	<-t.done
}

type Manager struct {
	quit    context.CancelFunc
	events  chan event
	wg      sync.WaitGroup
	targets []*Target
}

func NewManager() *Manager {
	ctx, quit := context.WithCancel(context.Background())
	m := &Manager{quit: quit, events: make(chan event)}
	m.wg.Add(1)
	go m.watch(ctx)
	return m
}

func (m *Manager) Add() {
	if t, err := NewTarget(m.events); err == nil {
		m.targets = append(m.targets, t)
	}
}

func (m *Manager) watch(ctx context.Context) {
	defer m.wg.Done()
	for {
		select {
		case <-m.events:
		case <-ctx.Done():
			return
		}
	}
}

func (m *Manager) Stop() {
	m.quit()
	m.wg.Wait()
	for _, t := range m.targets {
		t.Stop()
	}
}
"#;

#[test]
fn a_channel_that_others_cannot_make() {
    check(TARGETS, &["m.go:29 send-without-receiver medium"]);
    let given = "\nfunc Events() chan event { return nil }\n";
    let called_with = "\nfunc Each(do func(chan event)) { do(nil) }\n";
    let alias = "\ntype Event = event\n";
    for more in [given, called_with, alias] {
        check(&format!("{TARGETS}{more}"), &[]);
    }
    check(&TARGETS.replace("type event struct{}", "type event = struct{}"), &[]);
}

const WALKED: &str = r#"package up

import (
	"context"
	"sync"
)

type walker interface {
	Walk(ctx context.Context, fn func(string) error) error
}

func Collect(ctx context.Context, w walker, plain bool, do func(string) error) error {
	files := make(chan string)
	wctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := worker(wctx, files, do); err != nil {
				cancel(err)
			}
		}()
	}
	find := glob
	if plain {
		find = list
	}
	if err := find(wctx, w, files); err != nil {
		cancel(err)
	}
	wg.Wait()
	return context.Cause(wctx)
}

func list(ctx context.Context, w walker, files chan<- string) error {
	defer close(files)
	files <- "."
	return nil
}

func glob(ctx context.Context, w walker, files chan<- string) error {
	defer close(files)
	return w.Walk(ctx, func(path string) error {
		files <- path
		return nil
	})
}

func worker(ctx context.Context, files <-chan string, do func(string) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f, ok := <-files:
			if !ok {
				return nil
			}
			if err := do(f); err != nil {
				return err
			}
		}
	}
}
"#;

#[test]
fn a_variable_that_holds_functions_of_the_package() {
    check(WALKED, &["m.go:39 send-without-receiver medium"]);
    let any = "type finder func(context.Context, walker, chan<- string) error\n\nvar Other finder\n\nfunc list";
    let unknown = WALKED.replace("func list", any).replace("find = list", "find = Other");
    check(&unknown, &[]);
    // A literal sends that code out of sight runs: only who sees all that is done with the variable knows on what.
    let one = WALKED
        .replace("\tif plain {\n\t\tfind = list\n\t}\n", "")
        .replace("\tfiles <- \".\"\n", "");
    check(&one, &["m.go:42 send-without-receiver medium"]);
    let last = "var last func(context.Context, walker, chan<- string) error\n\nfunc list";
    let kept = one.replace("find := glob\n", "find := glob\n\tlast = find\n");
    let kept = kept.replace("func list", last);
    check(&kept, &[]);
}

const PROMISED: &str = r#"package permit

import "context"

type Permit interface {
	Chan(ctx context.Context) <-chan struct{}
}

type permit struct{ sem func(context.Context) error }

func New(f func(context.Context) error) Permit { return &permit{f} }

func (p *permit) Chan(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{})
	go func() {
		if err := p.sem(ctx); err != nil {
			close(ch)
			return
		}
		ch <- struct{}{}
		close(ch)
	}()
	return ch
}

type worker struct {
	p    Permit
	stop chan struct{}
	ctx  context.Context
}

func (w *worker) Poll() {
	for {
		select {
		case <-w.stop:
			return
		case <-w.p.Chan(w.ctx):
			println("poll")
		}
	}
}
"#;

#[test]
fn a_channel_that_a_method_of_an_interface_gives() {
    check(PROMISED, &["m.go:20 send-without-receiver medium"]);
    let other = "\ntype free struct{}\n\nfunc (free) Chan(ctx context.Context) <-chan struct{} {\n\
                 \tch := make(chan struct{})\n\tclose(ch)\n\treturn ch\n}\n";
    check(&format!("{PROMISED}{other}"), &[]);
}
