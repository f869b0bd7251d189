//! What cannot be: conditions on one number that leave no room for each other, times that never come, servers that
//! come back without an error, bodies that nobody sent. And what two functions do wrong is told of both. Pairs that
//! differ in little.

use crate::cli::{tells, tells_of_file as check};

/// A counter that locks under two conditions on one number.
const RETRIED: &str = r#"package m

import "sync"

type stats struct {
	mu    sync.Mutex
	total int
	again int
}

func (s *stats) start(retry int) {
	if retry == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total++
	}
	if retry > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.again++
	}
}
"#;

/// Two conditions on one number that cannot hold together lead to no second lock; two that can, do.
#[test]
fn a_number_is_not_two_at_once() {
    check(RETRIED, &[]);
    check(
        &RETRIED.replace("\tif retry > 0 {\n", "\tif retry < 3 {\n"),
        &["m.go:18 double-lock high"],
    );
    let text =
        RETRIED.replace("retry int", "mode string").replace("retry == 0", "mode == \"first\"");
    check(&text.replace("retry > 0", "mode == \"again\""), &[]);
    check(&text.replace("retry > 0", "mode != \"\""), &["m.go:18 double-lock high"]);
    let changed = RETRIED.replace("\t\ts.total++\n", "\t\ts.total++\n\t\tretry = s.total\n");
    check(&changed, &["m.go:19 double-lock high"]);
}

/// Cancel functions that are thrown away.
const THROWN: &str = r#"package m

import (
	"context"
	"time"
)

func publish(send func(context.Context)) {
	ctx, _ := context.WithTimeout(context.Background(), 4*time.Second)
	send(ctx)
}

func alone(send func(context.Context)) {
	ctx, _ := context.WithCancel(context.Background())
	send(ctx)
}

func started(send func(context.Context)) {
	ctx, _ := context.WithCancel(context.Background())
	go send(ctx)
}

func derived(ctx context.Context, send func(context.Context)) {
	ctx, _ = context.WithCancel(ctx)
	send(ctx)
}
"#;

/// A context of `Background` keeps nothing but the timer of its deadline; a goroutine that is given it waits for it
/// all the same.
#[test]
fn what_is_made_of_nothing_keeps_nothing() {
    check(
        THROWN,
        &[
            "m.go:9 cancel-not-called high",
            "m.go:14 cancel-not-called low",
            "m.go:19 cancel-not-called high",
            "m.go:24 cancel-not-called high",
        ],
    );
}

/// A handler that has a call made for its request.
const CALLED: &str = r#"package m

import (
	"net/http"
	"net/url"
	"strings"
)

type server struct{ url string }

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	go s.call(r, url.Values{})
	w.WriteHeader(http.StatusAccepted)
}

func (s *server) call(r *http.Request, data url.Values) {
	data.Set("from", r.RemoteAddr)
	s.callInternal(data)
}

func (s *server) callInternal(data url.Values) (string, error) {
	req, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(data.Encode()))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return resp.Status, nil
}
"#;

/// The context of a request has ended where a function runs in a goroutine that its handler has started.
#[test]
fn a_goroutine_of_a_handler_outlives_its_request() {
    let missing = "m.go:26 missing-deadline medium";
    check(CALLED, &[missing]);
    check(
        &CALLED.replace("\tgo s.call(r, url.Values{})\n", "\ts.call(r, url.Values{})\n"),
        &["m.go:18 context-not-propagated medium", missing],
    );
}

/// A value that asks a database for its text, with a context and without.
const DOCUMENT: &str = r#"package m

import (
	"context"
	"database/sql"
)

type Document struct{ db *sql.DB }

func (d *Document) ValueContext(ctx context.Context) string {
	return d.text(ctx)
}

func (d *Document) String() string {
	return d.text(context.TODO())
}

func (d *Document) text(ctx context.Context) string {
	var text string
	if err := d.db.QueryRowContext(ctx, "SELECT text FROM documents").Scan(&text); err != nil {
		return err.Error()
	}
	return text
}
"#;

/// `String` takes no context, and cannot; a method of another name could.
#[test]
fn a_method_that_an_interface_asks_for() {
    check(DOCUMENT, &[]);
    check(&DOCUMENT.replace(") String()", ") Fetch()"), &["m.go:15 context-not-propagated medium"]);
}

/// A test that gives up when its context is over.
const AWAITED: &str = r#"package m

import (
	"context"
	"testing"
	"time"
)

func list(ctx context.Context) error { return nil }

func initServer(ctx context.Context, t *testing.T) func() {
	for {
		select {
		case <-ctx.Done():
			t.Fatalf("context done before server ready: %v", ctx.Err())
			break
		default:
		}
		listCtx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		err := list(listCtx)
		if err != nil {
			continue
		}
		return func() {}
	}
}

func TestX(t *testing.T) { initServer(context.Background(), t) }
"#;

/// What ends the test before the `break` leaves the loop.
#[test]
fn a_break_behind_the_end_of_a_test() {
    tells(&[("m_test.go", AWAITED)], &[]);
    let goes_on = AWAITED.replace(
        "\t\t\tt.Fatalf(\"context done before server ready: %v\", ctx.Err())\n",
        "\t\t\tt.Logf(\"over\")\n",
    );
    tells(&[("m_test.go", &goes_on)], &["m_test.go:14 done-arm-does-not-leave medium"]);
}

/// A round tripper that answers itself.
const COLLECTED: &str = r#"package m

import (
	"bytes"
	"io"
	"net/http"
)

type collector struct{ next func(*http.Request) []byte }

func newCollector(next func(*http.Request) []byte) http.RoundTripper {
	return collector{next: next}
}

func (c collector) RoundTrip(req *http.Request) (*http.Response, error) {
	body := c.next(req)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}, nil
}

type Handler struct{ next func(*http.Request) []byte }

func (h Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	rt := newCollector(h.next)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return
	}
	w.WriteHeader(resp.StatusCode)
}
"#;

/// A body that the program has made itself holds no connection.
#[test]
fn a_round_tripper_that_answers_itself() {
    check(COLLECTED, &[]);
    let asks = COLLECTED.replace("\t\"bytes\"\n\t\"io\"\n", "");
    let own = "\tbody := c.next(req)\n\treturn &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}, nil\n";
    assert!(asks.contains(own));
    let asks = asks.replace(own, "\tc.next(req)\n\treturn http.DefaultTransport.RoundTrip(req)\n");
    check(&asks, &["m.go:27 body-not-closed high"]);
}

/// A timer that is stopped before its channel is made.
const SLOW: &str = r#"package m

import (
	"math"
	"time"
)

type conn struct {
	timer *time.Timer
	ch    chan struct{}
}

func dial() *conn {
	c := &conn{}
	c.timer = time.AfterFunc(time.Duration(math.MaxInt64), func() {
		c.ch <- struct{}{}
	})
	c.timer.Stop()
	c.ch = make(chan struct{})
	c.work()
	return c
}

func (c *conn) work() {
	if c.timer.Reset(15 * time.Millisecond) {
		panic("x")
	}
	<-c.ch
}
"#;

/// A timer of all the time there is runs only after it was reset.
#[test]
fn a_time_that_never_comes() {
    check(SLOW, &[]);
    check(
        &SLOW.replace("time.Duration(math.MaxInt64)", "time.Second"),
        &["m.go:16 nil-channel medium"],
    );
}

/// A timer without a channel where there is no time to hold.
const HELD: &str = r#"package m

import "time"

func run(hold time.Duration, stop chan struct{}) {
	timer := time.NewTimer(hold)
	reasons := make(chan string, 1)
	if hold == 0 {
		timer = &time.Timer{}
		reasons <- "no hold"
	}
	select {
	case <-timer.C:
		reasons <- "held"
	case <-stop:
	}
}
"#;

/// Nothing comes on the channel of a timer that nobody has started.
#[test]
fn a_timer_without_a_channel() {
    check(HELD, &[]);
    check(
        &HELD.replace("&time.Timer{}", "time.NewTimer(time.Second)"),
        &["m.go:14 send-without-receiver medium"],
    );
}

/// A group of a server and of what it asks.
const SERVED: &str = r#"package m

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"
)

type runner struct{ requests chan func() }

func (r *runner) Run(addr string, mux http.Handler) error {
	g, ctx := errgroup.WithContext(context.Background())
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case request := <-r.requests:
				request()
			}
		}
	})
	g.Go(func() error {
		return http.ListenAndServe(addr, mux)
	})
	return g.Wait()
}

func execute(addr string, mux http.Handler) error {
	r := &runner{requests: make(chan func())}
	return r.Run(addr, mux)
}
"#;

/// `ListenAndServe` never returns nil, so that the group ends when it does.
#[test]
fn a_server_comes_back_with_an_error() {
    check(SERVED, &[]);
    check(
        &SERVED.replace(
            "\t\treturn http.ListenAndServe(addr, mux)\n",
            "\t\t_ = http.ListenAndServe(addr, mux)\n\t\treturn nil\n",
        ),
        &["m.go:16 select-never-ready high"],
    );
}

/// Senders that a group counts, which may be one of another package.
const SHARDED: &str = r#"package m

import (
	"context"
	"sync"

	"example.com/bounded"
)

type group interface {
	Add(int)
	Done()
	Wait()
}

type response struct{ parts chan string }

func (r *response) send(ctx context.Context, part string) {
	select {
	case <-ctx.Done():
	case r.parts <- part:
	}
}

func (r *response) complete() { close(r.parts) }

func shard(ctx context.Context, limit uint, total int, next func(int) string) *response {
	var wg group
	if limit == 0 {
		wg = &sync.WaitGroup{}
	} else {
		bounded := bounded.New(limit)
		wg = &bounded
	}
	r := &response{parts: make(chan string)}
	go func() {
		defer r.complete()
		for i := 0; i < total; i++ {
			wg.Add(1)
			go func(i int) {
				defer wg.Done()
				r.send(ctx, next(i))
			}(i)
		}
		wg.Wait()
	}()
	return r
}
"#;

/// Who waits for a group of whatever kind closes after what it counts.
#[test]
fn a_group_of_another_kind() {
    check(SHARDED, &["m.go:19 close-misuse low"]);
    check(&SHARDED.replace("\t\twg.Wait()\n", ""), &["m.go:19 close-misuse medium"]);
}

/// Routines that a table keeps before they are started.
const ROUTINES: &str = r#"package m

import (
	"errors"
	"net/http"
	"sync"
)

type routine struct {
	tasks chan func()
	wg    sync.WaitGroup
}

func newRoutine() *routine { return &routine{tasks: make(chan func())} }

func (r *routine) start() {
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		for task := range r.tasks {
			task()
		}
	}()
}

func (r *routine) stop() {
	close(r.tasks)
	r.wg.Wait()
}

type entities struct {
	routines sync.Map
	all      map[string]bool
}

func (e *entities) add(kind, id string) error {
	var err error
	switch kind {
	case "client":
		err = errors.New("no client")
	case "thread":
		r := newRoutine()
		e.routines.Store(id, r)
		r.start()
	}
	if err != nil {
		return err
	}
	e.all[id] = true
	return nil
}

func (e *entities) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.add(r.URL.Path, r.URL.Path)
}

func use() {
	r := newRoutine()
	r.start()
	r.stop()
}
"#;

/// What was given away before it was started is in other hands.
#[test]
fn who_has_it_before_it_is_started() {
    check(ROUTINES, &[]);
    check(
        &ROUTINES.replace("\t\te.routines.Store(id, r)\n", ""),
        &["m.go:49 lifecycle-not-ended high"],
    );
}

/// A goroutine that a state starts.
const STATES: &str = r#"package m

type machine interface{ States() <-chan int }

func watch(m machine, done <-chan struct{}, open func()) <-chan struct{} {
	ready := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case state := <-m.States():
				switch state {
				case 1:
					go func() {
						defer close(ready)
						open()
					}()
				}
			}
		}
	}()
	return ready
}
"#;

/// A goroutine that a case starts need not be started twice.
#[test]
fn an_event_that_comes_once() {
    check(STATES, &["m.go:16 close-misuse medium", "m.go:16 close-misuse low"]);
}

/// A store two of whose methods keep the lock while they ask for a part.
const BUCKETS: &str = r#"package m

import "sync"

type Store struct {
	mu sync.RWMutex
	by map[string]*int
}

func (s *Store) Bucket(name string) *int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.by[name]
}

func (s *Store) Set(name string, v *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by[name] = v
}

func (s *Store) Pause() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return *s.Bucket("a")
}

func (s *Store) Resume() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return *s.Bucket("b")
}
"#;

/// Each function that keeps a lock while it calls is told of: each has to be mended.
#[test]
fn each_function_that_keeps_the_lock() {
    check(BUCKETS, &["m.go:25 double-lock medium", "m.go:31 double-lock medium"]);
}

/// A function that waits for its helper where its context has ended.
const LEFT: &str = r#"package m

import "context"

func run(ctx context.Context, work func() error) error {
	errc := make(chan error)
	go func() {
		errc <- work()
	}()
	select {
	case err := <-errc:
		return err
	case <-ctx.Done():
		if ctx.Err() != nil {
			return <-errc
		}
	}
	return nil
}
"#;

/// A context that was seen to end has an error.
#[test]
fn a_context_that_has_ended_says_why() {
    check(LEFT, &[]);
    check(
        &LEFT.replace("ctx.Err() != nil", "work != nil"),
        &["m.go:8 send-without-receiver medium"],
    );
}

/// What is made ready is not yet in other hands.
#[test]
fn who_makes_a_store_ready_is_alone() {
    check(&BUCKETS.replace(") Set(name string, v *int)", ") Init(name string, v *int)"), &[]);
}

/// Workers that receive what is sent with the lock that they take.
const SCALED: &str = r#"package m

import (
	"container/list"
	"sync"
)

type scaler struct {
	mu    sync.Mutex
	keys  *list.List
	known map[string]bool
}

func (s *scaler) scale(keys <-chan string) {
	for key := range keys {
		s.mu.Lock()
		s.known[key] = true
		s.mu.Unlock()
	}
}

func (s *scaler) Start(workers int, tick <-chan struct{}) {
	keys := make(chan string)
	for i := 0; i < workers; i++ {
		go s.scale(keys)
	}
	for range tick {
		s.mu.Lock()
		if front := s.keys.Front(); front != nil {
			keys <- front.Value.(string)
		}
		s.mu.Unlock()
	}
}
"#;

/// One of several receivers that waits for the lock leaves the others.
#[test]
fn another_worker_receives() {
    let ranges = "m.go:25 range-never-closed medium";
    check(SCALED, &[ranges]);
    let one = SCALED.replace(
        "\tfor i := 0; i < workers; i++ {\n\t\tgo s.scale(keys)\n\t}\n",
        "\tgo s.scale(keys)\n",
    );
    check(&one, &["m.go:15 range-never-closed medium", "m.go:28 lock-held-while-blocked medium"]);
}

/// A manager whose one goroutine takes two locks in both orders.
const MANAGED: &str = r#"package m

import "sync"

type input struct {
	sync.Mutex
	config string
}

type manager struct {
	mu     sync.Mutex
	inputs map[string]*input
	parts  map[string]string
}

func (m *manager) Start(inputs, parts <-chan string) {
	go func() {
		for {
			select {
			case name, ok := <-inputs:
				if !ok {
					return
				}
				m.updateInput(name)
			case name := <-parts:
				m.updatePart(name)
			}
		}
	}()
}

func (m *manager) updateInput(name string) {
	m.mu.Lock()
	in := m.inputs[name]
	m.mu.Unlock()
	in.Lock()
	defer in.Unlock()
	in.config = name
	m.mu.Lock()
	m.inputs[name] = in
	m.mu.Unlock()
}

func (m *manager) updatePart(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parts[name] = name
	for _, in := range m.inputs {
		in.Lock()
		in.config = name
		in.Unlock()
	}
}
"#;

/// What one goroutine does, which `Start` begins, comes one after another.
#[test]
fn one_goroutine_takes_both_orders() {
    check(MANAGED, &[]);
    check(
        &MANAGED.replace("\t\tm.updatePart(name)", "\t\tgo m.updatePart(name)"),
        &["m.go:39 lock-order medium"],
    );
}

/// A program that starts itself anew.
const RELAUNCHED: &str = r#"package m

import (
	"context"
	"io"
	"os"
	"os/exec"
)

type streams struct {
	In  io.Reader
	Out io.Writer
}

func relaunch(ctx context.Context, s streams) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin = s.In
	cmd.Stdout = s.Out
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Wait()
}
"#;

/// A process that reads what the terminal says is ended by who sits there.
#[test]
fn who_sits_there_ends_it() {
    check(RELAUNCHED, &[]);
    check(
        &RELAUNCHED.replace("\tcmd.Stdin = s.In\n", ""),
        &["m.go:19 context-not-propagated high"],
    );
}

/// What gives up.
const CONTRACT: &str = r#"package contract

// Failf gives up.
func Failf(what string) {
	fail(what)
}

func fail(what string) {
	panic(what)
}
"#;

/// A function that gives up where there is nothing to do.
const APPLIED: &str = r#"package m

import "example.com/m/contract"

func apply(kind int, work func(chan<- int) error, show func(int)) error {
	events := make(chan int)
	done := make(chan struct{})
	go func() {
		for event := range events {
			show(event)
		}
		close(done)
	}()
	if kind == 2 {
		contract.Failf("no work of this kind")
		<-done
	}
	defer close(events)
	return work(events)
}
"#;

/// What stands behind a function of another package that never comes back is not come to.
#[test]
fn a_way_that_ends_before() {
    let contract = ("contract/contract.go", CONTRACT);
    tells(&[contract, ("m.go", APPLIED)], &["m.go:16 receive-without-sender low"]);
    let goes_on = APPLIED.replace("contract.Failf(", "println(");
    tells(&[contract, ("m.go", &goes_on)], &["m.go:16 receive-without-sender medium"]);
}

/// A store that a service ends.
const STORE: &str = r#"package store

type service struct{ start, stop func() }

func newService(start, stop func()) *service { return &service{start: start, stop: stop} }

func (s *service) Stop() { s.stop() }

type Store struct {
	service *service
	stop    chan struct{}
}

func New(flush func()) *Store {
	s := &Store{stop: make(chan struct{})}
	s.service = newService(func() {}, s.stopping)
	go func() {
		for {
			select {
			case <-s.stop:
				return
			default:
				flush()
			}
		}
	}()
	return s
}

func (s *Store) Service() *service { return s.service }

func (s *Store) stopping() { close(s.stop) }
"#;

/// A part of a program that has a store.
const MODULE: &str = r#"package m

import "example.com/m/store"

type module struct {
	store *store.Store
	end   func()
}

func newModule(flush, end func()) *module {
	m := &module{end: end}
	m.store = store.New(flush)
	return m
}

func (m *module) Stop() { m.end() }
"#;

/// What another package cannot name it cannot be told to call.
#[test]
fn a_method_that_nobody_else_can_call() {
    tells(&[("m.go", MODULE), ("store/store.go", STORE)], &[]);
    let exported = STORE.replace("stopping", "Stopping");
    tells(&[("m.go", MODULE), ("store/store.go", &exported)], &["m.go:16 part-not-ended high"]);
}

/// A program that asks a server when it ends.
const BENCH: &str = r#"package main

import "net/http"

type tester struct {
	client *http.Client
	url    string
}

func (t *tester) Close() error {
	resp, err := t.client.Post(t.url, "text/plain", nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func main() {
	t := &tester{client: &http.Client{}}
	t.Close()
}
"#;

/// A handler that closes what it is given.
const SERVICE: &str = r#"package cdc

import (
	"io"
	"net/http"
)

func Serve(open func() io.Closer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open().Close()
	})
}
"#;

/// What a package does that is no part of a program says nothing of how often the program does something.
#[test]
fn another_program_calls_nothing_here() {
    tells(&[("cdc/service.go", SERVICE), ("cmd/bench/main.go", BENCH)], &[]);
    let serves = BENCH
        .replace(
            "import \"net/http\"",
            "import (\n\t\"io\"\n\t\"net/http\"\n\n\t\"example.com/m/cdc\"\n)",
        )
        .replace(
            "\tt.Close()",
            "\thttp.ListenAndServe(\":0\", cdc.Serve(func() io.Closer { return t }))",
        );
    tells(
        &[("cdc/service.go", SERVICE), ("cmd/bench/main.go", &serves)],
        &["cmd/bench/main.go:16 missing-deadline medium"],
    );
}

/// A package that makes clients.
const CLIENTS: &str = r#"package clients

import (
	"net/http"
	"time"
)

func New(timeout time.Duration) *http.Client {
	if timeout <= 0 {
		timeout = time.Second
	}
	return &http.Client{Timeout: timeout}
}
"#;

/// A type that keeps a client which another package has made.
const SCALER: &str = r#"package m

import (
	"errors"
	"io"
	"net/http"
	"time"

	"example.com/m/clients"
)

type scaler struct {
	url    string
	client *http.Client
}

func New(timeout time.Duration) *scaler {
	client := clients.New(timeout)
	return &scaler{client: client}
}

func (s *scaler) Length() ([]byte, error) {
	res, err := s.client.Get(s.url)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, errors.New(res.Status)
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}
"#;

/// The time that a client of another package's making gives its server ends a body, too.
#[test]
fn a_client_that_another_package_makes() {
    let late = "m.go:28 body-not-closed medium";
    tells(&[("clients/c.go", CLIENTS), ("m.go", SCALER)], &[late]);
    let endless = CLIENTS.replace("Timeout: timeout", "");
    tells(&[("clients/c.go", &endless), ("m.go", SCALER)], &["m.go:28 body-not-closed high"]);
}
