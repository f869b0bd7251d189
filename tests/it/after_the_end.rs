//! What goes on after an end: sends to who has gone, helpers of work that is over, requests without a bound, locks that
//! a caller may want. Pairs that differ in little.

use crate::cli::tells_of_file as check;

/// A listener whose monitor takes dead links until it is closed, and sessions that report theirs.
fn listener(room: &str, report: &str, close: &str) -> String {
    format!(
        r#"package m

import "errors"

type Listener struct {{
	dead   chan int
	die    chan struct{{}}
	closed bool
	all    map[int]*Session
}}

func Listen() *Listener {{
	l := &Listener{{dead: make(chan int{room}), die: make(chan struct{{}}), all: map[int]*Session{{}}}}
	go l.monitor()
	return l
}}

func (l *Listener) monitor() {{
	for {{
		select {{
		case id := <-l.dead:
			delete(l.all, id)
		case <-l.die:
			return
		}}
	}}
}}

func (l *Listener) Accept(arrived chan int) (int, error) {{
	select {{
	case id := <-arrived:
		return id, nil
	case <-l.die:
		return 0, errors.New("closed")
	}}
}}

func (l *Listener) Close() {{
	{close}
	close(l.die)
}}

type Session struct {{
	id int
	l  *Listener
}}

func (s *Session) Close() {{
	{report}
}}
"#
    )
}

#[test]
fn room_that_is_taken_for_good() {
    let report = "s.l.dead <- s.id";
    check(&listener(", 64", report, "_ = l"), &["m.go:49 send-without-receiver medium"]);
    // Room for one may be that of the one session.
    check(&listener(", 1", report, "_ = l"), &[]);
    let hears = "select {\n\tcase s.l.dead <- s.id:\n\tcase <-s.l.die:\n\t}";
    check(&listener(", 64", hears, "_ = l"), &[]);
    let asks = "if !s.l.closed {\n\t\ts.l.dead <- s.id\n\t}";
    check(&listener(", 64", asks, "l.closed = true"), &[]);
}

/// A queue with a method that sends as `push` says, and one that asks whether all is over.
fn queue(push: &str) -> String {
    format!(
        r#"package m

type Queue struct {{
	items chan int
	quit  chan struct{{}}
	state int
}}

func New(handle func(int)) *Queue {{
	q := &Queue{{items: make(chan int, 16), quit: make(chan struct{{}})}}
	go q.run(handle)
	return q
}}

func (q *Queue) run(handle func(int)) {{
	for {{
		select {{
		case item := <-q.items:
			handle(item)
		case <-q.quit:
			return
		}}
	}}
}}

func (q *Queue) isOver() bool {{
	select {{
	case <-q.quit:
		return true
	default:
		return false
	}}
}}

func (q *Queue) Close() {{ close(q.quit) }}

func (q *Queue) Push(item int) {{
	{push}
}}
"#
    )
}

#[test]
fn a_method_that_fills_what_nobody_empties() {
    check(&queue("q.items <- item"), &["m.go:38 send-without-receiver medium"]);
    check(&queue("if q.isOver() {\n\t\treturn\n\t}\n\tq.items <- item"), &[]);
    check(&queue("select {\n\tcase q.items <- item:\n\tdefault:\n\t}"), &[]);
}

#[test]
fn a_receiver_that_is_sent_its_end() {
    let source = |starts: &str, asks: &str| {
        format!(
            r#"package m

type DB struct {{
	start  chan struct{{}}
	result chan error
	end    chan struct{{}}
	closed bool
}}

func Open() *DB {{
	db := &DB{{start: make(chan struct{{}}), result: make(chan error), end: make(chan struct{{}})}}
	{starts}
	return db
}}

func (db *DB) worker() {{
	for {{
		select {{
		case <-db.start:
			db.result <- nil
		case <-db.end:
			return
		}}
	}}
}}

func (db *DB) Close() {{
	db.closed = true
	db.end <- struct{{}}{{}}
}}

func (db *DB) Merge() error {{
	{asks}db.start <- struct{{}}{{}}
	return <-db.result
}}
"#
        )
    };
    let once = "go db.worker()";
    check(&source(once, ""), &["m.go:33 send-without-receiver medium"]);
    check(&source(once, "if db.closed {\n\t\treturn nil\n\t}\n\t"), &[]);
    // The other one goes on.
    check(&source("go db.worker()\n\tgo db.worker()", ""), &[]);
}

/// A client whose watch passes on the events of another one.
fn watch(send: &str, room: &str) -> String {
    format!(
        r#"package m

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"
)

type client struct {{
	inner interface {{
		Watch(ctx context.Context) (watch.Interface, error)
	}}
}}

func (c *client) Watch(ctx context.Context) (watch.Interface, error) {{
	events := make(chan watch.Event{room})
	inner, err := c.inner.Watch(ctx)
	if err != nil {{
		return nil, err
	}}
	go func() {{
		defer close(events)
		for event := range inner.ResultChan() {{
			{send}
		}}
	}}()
	return &watcher{{Interface: inner, events: events}}, nil
}}

type watcher struct {{
	watch.Interface
	events chan watch.Event
}}

func (w *watcher) ResultChan() <-chan watch.Event {{ return w.events }}
"#
    )
}

#[test]
fn a_watch_that_passes_on_another() {
    check(&watch("events <- event", ""), &["m.go:24 watch-not-drained medium"]);
    let gives_up =
        "select {\n\t\t\tcase events <- event:\n\t\t\tcase <-ctx.Done():\n\t\t\t\treturn\n\t\t\t}";
    check(&watch(gives_up, ""), &[]);
    check(&watch("events <- event", ", 100"), &[]);
}

#[test]
fn a_lock_that_is_only_ever_tried() {
    let source = |back: &str| {
        format!(
            r#"package m

import (
	"context"
	"errors"

	"example.org/racing"
)

type pool struct {{
	mu   racing.Mutex
	idle map[string][]int
}}

func (p *pool) Size(ctx context.Context, name string) (int, error) {{
	if !p.mu.TryLock(ctx) {{
		return 0, errors.New("no lock in time")
	}}
	defer p.mu.Unlock()
	return len(p.idle[name]), nil
}}

func (p *pool) Any(ctx context.Context, names []string, ok func(int) bool) (int, error) {{
	if !p.mu.TryLock(ctx) {{
		return 0, errors.New("no lock in time")
	}}
	for _, name := range names {{
		for _, one := range p.idle[name] {{
			p.mu.Unlock()
			if ok(one) {{
				return one, nil
			}}
			if !p.mu.TryLock(ctx) {{
				return 0, errors.New("no lock in time")
			}}
		}}
	}}
	{back}return 0, nil
}}
"#
        )
    };
    check(&source(""), &["m.go:24 unlock-missing high"]);
    check(&source("p.mu.Unlock()\n\t"), &[]);
}

/// A method that gives its caller what its goroutine sends.
fn pins(begin: &str, other: &str) -> String {
    format!(
        r#"package m

import (
	"context"
	"sync"
)

type pinner struct {{
	lock sync.RWMutex
	all  []int
}}

func (p *pinner) Keys(ctx context.Context) <-chan int {{
	out := make(chan int)
	go func() {{
		defer close(out)
		{begin}
			select {{
			case <-ctx.Done():
				return
			case out <- one:
			}}
		}}
	}}()
	return out
}}

{other}
"#
    )
}

#[test]
fn a_lock_that_is_kept_for_the_caller() {
    let begin = "p.lock.RLock()\n\t\tdefer p.lock.RUnlock()\n\t\tfor _, one := range p.all {";
    let other = "func (p *pinner) Add(one int) {\n\tp.lock.Lock()\n\tdefer p.lock.Unlock()\n\tp.all = append(p.all, one)\n}";
    check(&pins(begin, other), &["m.go:23 lock-held-while-blocked medium"]);
    let copies = "p.lock.RLock()\n\t\tall := append([]int(nil), p.all...)\n\t\tp.lock.RUnlock()\n\t\tfor _, one := range all {";
    check(&pins(copies, other), &[]);
    let reads = "func (p *pinner) Len() int {\n\tp.lock.RLock()\n\tdefer p.lock.RUnlock()\n\treturn len(p.all)\n}";
    check(&pins(begin, reads), &[]);
}

#[test]
fn a_helper_of_goroutines_that_end_with_the_caller() {
    let source = |name: &str, wait: &str| {
        format!(
            r#"package m

import "context"

type Store struct {{
	end  chan struct{{}}
	next func() int
}}

func (s *Store) Close() {{ close(s.end) }}

func (s *Store) {name}(ctx context.Context) <-chan int {{
	ctx, cancel := context.WithCancel(ctx)
	go func() {{
		{wait}
		cancel()
	}}()
	values := make(chan int)
	go func() {{
		defer close(values)
		for {{
			select {{
			case <-ctx.Done():
				return
			case values <- s.next():
			}}
		}}
	}}()
	return values
}}
"#
        )
    };
    check(&source("Pull", "<-s.end"), &["m.go:15 helper-outlives high"]);
    let both = "select {\n\t\tcase <-s.end:\n\t\tcase <-ctx.Done():\n\t\t}";
    check(&source("Pull", both), &[]);
    // What runs the store may be run once for each.
    check(&source("Run", "<-s.end"), &[]);
}

#[test]
fn a_helper_that_counts_down_for_others() {
    let source = |done: &str| {
        format!(
            r#"package m

import (
	"context"
	"sync"
)

type march struct{{ ctx context.Context }}

func (m *march) run(jobs []int, do func(int)) {{
	var open sync.WaitGroup
	in := make(chan int, len(jobs))
	for _, job := range jobs {{
		open.Add(1)
		in <- job
	}}
	var workers sync.WaitGroup
	workers.Add(1)
	go func() {{
		defer workers.Done()
		for job := range in {{
			do(job)
			open.Done()
		}}
	}}()
	go func() {{
		<-m.ctx.Done()
		{done}
	}}()
	open.Wait()
	close(in)
	workers.Wait()
}}
"#
        )
    };
    let rest = "for range in {\n\t\t\topen.Done()\n\t\t}";
    check(&source(rest), &["m.go:27 helper-outlives high"]);
    // It is counted itself, once: the function waits for it.
    check(&source("open.Done()"), &["m.go:23 waitgroup-unbalanced low"]);
}

/// A worker that asks a server as `ask` says, for each that it is given.
fn worker(ask: &str, before: &str) -> String {
    format!(
        r#"package m

import (
	"net/http"
	"time"
)

func init() {{
	{before}
}}

func beat(url string) {{
	ask := func() error {{
		{ask}
		if err != nil {{
			return err
		}}
		return res.Body.Close()
	}}
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for range ticker.C {{
		if ask() != nil {{
			return
		}}
	}}
}}

var _ = beat
var _ = http.DefaultClient
"#
    )
}

#[test]
fn requests_by_the_client_that_has_no_timeout() {
    let told = "m.go:14 missing-deadline medium";
    check(&worker("res, err := http.Get(url)", "_ = 0"), &[told]);
    check(&worker("res, err := http.DefaultClient.Get(url)", "_ = 0"), &[told]);
    check(&worker("res, err := http.Get(\"http://localhost\")", "_ = 0"), &[]);
    check(&worker("res, err := http.Get(url)", "http.DefaultClient.Timeout = time.Minute"), &[]);
    let bound = "res, err := (&http.Client{Timeout: time.Minute}).Get(url)";
    check(&worker(bound, "_ = 0"), &[]);
}

#[test]
fn who_says_himself_that_a_context_is_missing() {
    let source = |given: &str, asks: &str| {
        format!(
            r#"package m

import (
	"context"

	"example.org/mongo"
)

func recover(ctx context.Context, hosts *mongo.Hosts) error {{
	client, err := hosts.Dial(ctx)
	if err != nil {{
		return err
	}}
	{asks}mongo.ReadConfig({given}, client)
	return err
}}
"#
        )
    };
    let told = "m.go:14 context-not-propagated medium";
    check(&source("context.TODO()", "_, err = "), &[told]);
    check(&source("ctx", "_, err = "), &[]);
    check(&source("context.Background()", "_, err = "), &[]);
    // Of what cannot fail it is not known that it waits.
    check(&source("context.TODO()", ""), &[]);
}
