//! What begins after it was made, and what nobody has to wait for: parts that a method starts, locks that are given to
//! the caller, receivers that close what they leave, contexts that are signals. Pairs that differ in little.

use crate::cli::tells_of_file as check;

/// A server that keeps a poller, which a method starts and another one ends.
fn server(stop: &str, made: &str, begin: &str, end: &str) -> String {
    format!(
        r#"package m

import (
	"sync"
	"time"
)

type poller struct {{
	poll func()
	stop chan struct{{}}
	once sync.Once
}}

func newPoller(poll func(), stop chan struct{{}}) *poller {{
	return &poller{{poll: poll, stop: {stop}}}
}}

func (p *poller) start() {{
	go p.run()
}}

func (p *poller) Stop() {{
	p.once.Do(func() {{ close(p.stop) }})
}}

func (p *poller) run() {{
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {{
		select {{
		case <-p.stop:
			return
		case <-tick.C:
		}}
		select {{
		case <-p.stop:
			return
		default:
		}}
		p.poll()
	}}
}}

type Server struct {{
	mu     sync.Mutex
	poller *poller
	stop   chan struct{{}}
	leave  func()
}}

func New(poll, leave func()) *Server {{
	s := &Server{{leave: leave, stop: make(chan struct{{}})}}
	{made}
	return s
}}

func (s *Server) Run() {{
	{begin}
}}

func (s *Server) Close() {{
	s.leave()
	close(s.stop)
	{end}
}}
"#
    )
}

#[test]
fn parts_that_a_method_starts() {
    let (own, made, begin) =
        ("make(chan struct{})", "s.poller = newPoller(poll, nil)", "s.poller.start()");
    let told = ["m.go:61 part-not-ended high"];
    check(&server(own, made, begin, ""), &told);
    let local = "p := newPoller(poll, nil)\n\ts.poller = p\n\tp.start()";
    check(&server(own, local, "", ""), &["m.go:63 part-not-ended high"]);
    // Ended, never started, and ended by the channel that others close.
    check(&server(own, made, begin, "s.poller.Stop()"), &[]);
    check(&server(own, made, "", ""), &[]);
    check(&server("stop", "s.poller = newPoller(poll, s.stop)", begin, ""), &[]);
    // Somebody else has it.
    let shared = "s.poller = newPoller(poll, nil)\n\tkeep(s.poller)";
    let keeps = format!(
        "{}\nvar all []*poller\n\nfunc keep(p *poller) {{ all = append(all, p) }}\n",
        server(own, shared, begin, "")
    );
    check(&keeps, &[]);
}

/// A request that starts a poller and may find that there is nothing to poll.
fn handler(after: &str) -> String {
    format!(
        r#"package m

import "net/http"

type poller struct {{
	poll func()
	stop chan struct{{}}
	next chan struct{{}}
}}

func newPoller(poll func()) *poller {{
	return &poller{{poll: poll, stop: make(chan struct{{}}), next: make(chan struct{{}})}}
}}

func (p *poller) Start() {{
	go func() {{
		for {{
			select {{
			case <-p.stop:
				return
			case <-p.next:
				p.poll()
			}}
		}}
	}}()
}}

func (p *poller) Stop() {{ close(p.stop) }}

func serve(w http.ResponseWriter, r *http.Request) {{
	p := newPoller(func() {{}})
	p.Start()
	{after}
	if r.ContentLength == 0 {{
		w.WriteHeader(http.StatusNoContent)
		return
	}}
	p.Stop()
}}
"#
    )
}

#[test]
fn what_is_started_and_left() {
    check(&handler(""), &["m.go:36 lifecycle-not-ended high"]);
    check(&handler("defer p.Stop()\n\tp = newPoller(nil)"), &[]);
}

/// A connection that several read from, each with the lock until his answer is read.
fn connection(given: &str, unlock: &str) -> String {
    format!(
        r#"package m

import "sync"

type conn struct {{
	reading sync.Mutex
	peek    func() (int, error)
}}

func (c *conn) wait(id int) (size int, lock *sync.Mutex, err error) {{
	for {{
		var next int
		c.reading.Lock()
		next, err = c.peek()
		if err != nil {{
			c.reading.Unlock()
			break
		}}
		if id == next {{
			size = next
			{given}
			break
		}}
		c.reading.Unlock()
	}}
	return
}}

func (c *conn) do(id int) error {{
	_, lock, err := c.wait(id)
	if err != nil {{
		return err
	}}
	{unlock}
	return nil
}}
"#
    )
}

#[test]
fn locks_that_are_given_to_the_caller() {
    check(&connection("lock = &c.reading", "lock.Unlock()"), &[]);
    check(&connection("lock = new(sync.Mutex)", "_ = lock"), &["m.go:13 unlock-missing high"]);
}

/// A pool that is counted under its lock, and what the package gives of it.
fn counted(given: &str) -> String {
    format!(
        r#"package m

import "sync"

type pool struct {{
	mu   sync.Mutex
	size int
}}

func (p *pool) take() int {{
	p.mu.Lock()
	p.size++
	return p.size
}}

func (p *pool) put() {{
	p.mu.Lock()
	p.size--
	p.mu.Unlock()
}}

{given}
"#
    )
}

#[test]
fn what_is_given_and_is_no_lock() {
    let told = ["m.go:11 unlock-missing medium"];
    check(&counted("func newPool() *pool { return &pool{} }"), &told);
    check(&counted("func (p *pool) lent() *sync.Mutex { return &p.mu }"), &[]);
}

/// A worker that leaves at the first error, and who sends to it.
fn worker(defers: &str, leave: &str) -> String {
    format!(
        r#"package m

type worker struct {{
	flush chan int
	group *group
}}

type group struct{{ idle []*worker }}

func (g *group) release(w *worker) bool {{
	g.idle = append(g.idle, w)
	return len(g.idle) < 10
}}

func start(g *group, work func(int) error) *worker {{
	w := &worker{{flush: make(chan int), group: g}}
	go w.run(work)
	return w
}}

func (w *worker) run(work func(int) error) {{
	{defers}
	for n := range w.flush {{
		if err := work(n); err != nil {{
			break
		}}
		{leave}
	}}
}}

func (w *worker) Flush(all []int) {{
	for _, n := range all {{
		w.flush <- n
	}}
}}
"#
    )
}

#[test]
fn receivers_that_are_known_to_nobody_when_they_leave() {
    check(&worker("", ""), &["m.go:24 send-without-receiver medium"]);
    // The sender panics, and waits for nobody.
    check(&worker("defer close(w.flush)", ""), &[]);
    check(&worker("", "if !w.group.release(w) {\n\t\t\tbreak\n\t\t}"), &[]);
}

/// A subscriber that is closed in one place.
fn subscriber(name: &str, method: &str) -> String {
    format!(
        r#"package m

import "sync"

type {name} struct {{
	mu     sync.Mutex
	closed bool
	out    chan int
}}

func Subscribe(done chan struct{{}}) <-chan int {{
	s := &{name}{{out: make(chan int)}}
	go func() {{
		<-done
		s.Close()
	}}()
	return s.out
}}

func (s *{name}) Close() {{
	if s.closed {{
		return
	}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.out)
}}
{method}"#
    )
}

#[test]
fn who_closes_once() {
    check(&subscriber("subscriber", ""), &[]);
    check(&subscriber("Subscriber", ""), &["m.go:27 close-misuse medium"]);
    let again = "\nfunc (s *subscriber) leave() { s.Close() }\n";
    check(&subscriber("subscriber", again), &["m.go:27 close-misuse medium"]);
}

/// A session whose context ends its loop.
fn session(saves: &str, other: &str) -> String {
    format!(
        r#"package m

import (
	"context"
	"database/sql"
)

type session struct {{
	ctx  context.Context
	acks chan int
	db   *sql.DB
}}

func (s *session) run() error {{
	for {{
		select {{
		case <-s.ctx.Done():
			return nil
		case n := <-s.acks:
			if err := s.save(n); err != nil {{
				return err
			}}
		}}
	}}
}}

func (s *session) save(n int) error {{
	_, err := s.db.ExecContext({saves}, "insert", n)
	return err
}}

func (s *session) load() error {{
	_, err := s.db.ExecContext({other}, "select")
	return err
}}
"#
    )
}

#[test]
fn contexts_that_are_signals() {
    check(&session("context.Background()", "s.ctx"), &["m.go:28 context-not-propagated medium"]);
    check(&session("context.Background()", "context.Background()"), &[]);
    // Who wrote that has not decided.
    check(
        &session("context.TODO()", "context.Background()"),
        &["m.go:28 context-not-propagated medium"],
    );
}

/// An answer that is waited for with a timer.
fn asked(arm: &str) -> String {
    format!(
        r#"package m

import (
	"errors"
	"time"
)

func ask(call func() error) error {{
	failed := make(chan error)
	go func() {{ failed <- call() }}()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	for {{
		select {{
		case err := <-failed:
			return err
		case _, ok := <-{arm}:
			if !ok {{
				return errors.New("no timer")
			}}
		}}
	}}
}}
"#
    )
}

#[test]
fn channels_of_timers_are_never_closed() {
    check(&asked("timer.C"), &[]);
    let closed = asked("other").replace("call func() error", "call func() error, other chan int");
    check(&closed, &["m.go:10 send-without-receiver medium"]);
}

/// A loop that asks the device that it has found.
fn search(last: &str) -> String {
    format!(
        r#"package m

import "net/http"

func search(found chan string) (status int, err error) {{
	for {{
		url := <-found
		if url == "" {{
			continue
		}}
		status, err = ask(url)
		if err != nil {{
			return
		}}
		{last}
	}}
}}

func ask(url string) (int, error) {{
	r, err := http.Get(url)
	if err != nil {{
		return 0, err
	}}
	defer r.Body.Close()
	return r.StatusCode, nil
}}
"#
    )
}

#[test]
fn loops_that_are_left_behind_the_call() {
    check(&search("println(status)"), &["m.go:20 missing-deadline medium"]);
    check(&search("return"), &[]);
}

/// A loop over news that asks again after some time without any.
fn broadcast(time: &str) -> String {
    format!(
        r#"package m

import (
	"net/http"
	"time"
)

func serve(w http.ResponseWriter, r *http.Request, news chan int, stop chan struct{{}}) {{
	for {{
		after := time.After({time})
		select {{
		case <-after:
			w.WriteHeader(http.StatusNoContent)
		case n := <-news:
			println(n)
		case <-stop:
			return
		}}
	}}
}}
"#
    )
}

#[test]
fn short_timers_that_a_variable_holds() {
    let module = ("go.mod", "module example.com/m\n\ngo 1.20\n");
    let told = ["m.go:10 timer-not-stopped high"];
    crate::cli::tells(&[module, ("m.go", &broadcast("time.Hour"))], &told);
    crate::cli::tells(
        &[module, ("m.go", &broadcast("10 * time.Second"))],
        &["m.go:10 timer-not-stopped low"],
    );
}
