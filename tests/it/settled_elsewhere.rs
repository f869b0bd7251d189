//! What others count down, receive, reset or bound, at a place that the first look does not see; each beside a
//! program that has the defect.

use crate::cli::tells as check;

/// A counter that is handed over before it is counted up is counted down by whoever has it.
#[test]
fn a_counter_that_was_given_away() {
    let source = |keep: &str| {
        format!(
            r#"package m

import "sync"

type job struct {{
	wg   *sync.WaitGroup
	name string
}}

func (j *job) run() {{
	defer j.wg.Done()
	println(j.name)
}}

func All(names []string) {{
	var wg sync.WaitGroup
	for _, name := range names {{
		wg.Add(1)
{keep}	}}
	wg.Wait()
}}

func spawn(wg *sync.WaitGroup, name string) {{
	j := &job{{wg: wg, name: name}}
	go j.run()
}}
"#
        )
    };
    let late = "\t\tif name == \"\" {\n\t\t\tcontinue\n\t\t}\n\t\tspawn(&wg, name)\n";
    check(&[("m.go", &source(late))], &["m.go:24 waitgroup-unbalanced high"]);
    let kept = r#"package m

import "sync"

type job struct {
	wg   *sync.WaitGroup
	name string
}

func (j *job) run() {
	defer j.wg.Done()
	println(j.name)
}

func All(names []string) {
	var wg sync.WaitGroup
	for _, name := range names {
		j := &job{wg: &wg, name: name}
		wg.Add(1)
		go j.run()
	}
	wg.Wait()
}
"#;
    check(&[("m.go", kept)], &[]);
    let producer = r#"package m

import "sync"

type actor struct{ stop *sync.WaitGroup }

func (a *actor) Receive(last bool) {
	if last {
		a.stop.Done()
	}
}

func producer(stop *sync.WaitGroup) func() *actor {
	return func() *actor { return &actor{stop: stop} }
}

func Bench(n int, spawn func(func() *actor)) {
	var wg sync.WaitGroup
	make := producer(&wg)
	for i := 0; i < n; i++ {
		spawn(make)
		wg.Add(1)
	}
	println("started")
	wg.Wait()
}
"#;
    check(&[("m.go", producer)], &[]);
}

/// Of a `switch` over types without a default the cases are all that there are.
#[test]
fn a_type_of_each_case() {
    let source = |css: &str| {
        format!(
            r#"package m

import "sync"

type part interface{{ isPart() }}
type script struct{{}}
type style struct{{}}

func (*script) isPart() {{}}
func (*style) isPart()  {{}}

func work(wg *sync.WaitGroup) {{
	defer wg.Done()
}}

func All(parts []part) {{
	wg := sync.WaitGroup{{}}
	wg.Add(len(parts))
	for _, one := range parts {{
		switch one.(type) {{
		case *script:
			go work(&wg)
		case *style:
{css}		}}
	}}
	wg.Wait()
}}
"#
        )
    };
    check(&[("m.go", &source("\t\t\tgo work(&wg)\n"))], &[]);
    let skips = source("\t\t\tprintln(\"style\")\n");
    check(&[("m.go", &skips)], &["m.go:27 waitgroup-unbalanced high"]);
}

/// A send that finds no receiver gives its value to somebody else: that nobody may be left is not said.
#[test]
fn a_second_way_for_a_value() {
    let source = |otherwise: &str| {
        format!(
            r#"package m

type pipe struct {{
	out    chan int
	paused chan struct{{}}
	keep   bool
	kept   []int
}}

func New(keep bool) *pipe {{
	return &pipe{{out: make(chan int), paused: make(chan struct{{}}), keep: keep}}
}}

func (p *pipe) store(v int) {{ p.kept = append(p.kept, v) }}

func (p *pipe) Pause() {{ close(p.paused) }}

func (p *pipe) Run(in <-chan int) {{
	for v := range in {{
		if !p.keep {{
			p.out <- v
			continue
		}}
		select {{
		case p.out <- v:
		case <-p.paused:
			{otherwise}
		}}
	}}
}}
"#
        )
    };
    check(&[("m.go", &source("return"))], &["m.go:21 send-without-receiver medium"]);
    check(&[("m.go", &source("p.store(v)"))], &[]);
}

/// Room that was counted by who is to send suffices.
#[test]
fn room_for_each_of_those_who_fail() {
    let source = |room: &str| {
        format!(
            r#"package m

import "sync"

type mux struct {{
	mu     sync.Mutex
	failed []string
	errs   chan error
	up     chan struct{{}}
	dests  []string
}}

func New(dests []string, depth int) *mux {{
	return &mux{{dests: dests, errs: make(chan error, {room}), up: make(chan struct{{}})}}
}}

func (m *mux) Fail(dest string, err error) {{
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = append(m.failed, dest)
	m.errs <- err
}}

func (m *mux) Wait() error {{
	for {{
		select {{
		case <-m.up:
			return nil
		case err := <-m.errs:
			m.mu.Lock()
			if len(m.failed) == len(m.dests) {{
				m.mu.Unlock()
				return err
			}}
			m.mu.Unlock()
		}}
	}}
}}
"#
        )
    };
    check(&[("m.go", &source("depth"))], &["m.go:21 lock-held-while-blocked medium"]);
    check(&[("m.go", &source("len(dests)"))], &[]);
}

/// A timer that a function of the loop's own sets again.
#[test]
fn a_timer_that_is_set_again_by_a_literal() {
    let source = |again: &str| {
        format!(
            r#"package m

import "time"

func Run(every time.Duration, done <-chan struct{{}}, work func() error) {{
	timer := time.NewTimer(every)
	again := func() {{
		timer.Reset(every)
	}}
	again()
	for {{
		select {{
		case <-timer.C:
			if err := work(); err != nil {{
				{again}
				continue
			}}
			again()
		case <-done:
			if !timer.Stop() {{
				<-timer.C
			}}
			return
		}}
	}}
}}
"#
        )
    };
    check(&[("m.go", &source("again()"))], &[]);
    check(&[("m.go", &source("println(err)"))], &["m.go:21 receive-without-sender medium"]);
}

/// An error that was just made is not nil, and is that of no other place.
#[test]
fn an_error_that_was_made_here() {
    let source = |first: &str| {
        format!(
            r#"package m

import (
	"fmt"
	"time"
)

func Stop(fetched, worked func(), limit time.Duration) error {{
	timer := time.NewTimer(limit)
	defer timer.Stop()
	done := make(chan struct{{}}, 1)
	go func() {{
		fetched()
		done <- struct{{}}{{}}
	}}()
	var first error
	select {{
	case <-done:
	case <-timer.C:
		{first}
	}}
	if first != nil {{
		return first
	}}
	go func() {{
		worked()
		done <- struct{{}}{{}}
	}}()
	select {{
	case <-done:
	case <-timer.C:
		return fmt.Errorf("workers are not stopped after %s", limit)
	}}
	return nil
}}
"#
        )
    };
    check(&[("m.go", &source("first = fmt.Errorf(\"not after %s\", limit)"))], &[]);
    check(&[("m.go", &source("println(limit)"))], &["m.go:27 send-without-receiver medium"]);
    let relay = |other: &str| {
        format!(
            r#"package m

import (
	"fmt"
	"io"
)

func Relay(next func() error) error {{
	failed := make(chan error, 1)
	stored := make(chan error)
	go func() {{
		if err := next(); err != nil {{
			failed <- {other}
			return
		}}
		stored <- nil
		failed <- nil
	}}()
	select {{
	case err := <-failed:
		if err != io.EOF {{
			return err
		}}
	case err := <-stored:
		return err
	}}
	return <-stored
}}
"#
        )
    };
    check(&[("m.go", &relay("err"))], &["m.go:27 receive-without-sender medium"]);
    check(&[("m.go", &relay("fmt.Errorf(\"next: %w\", err)"))], &[]);
}

/// A form that was parsed is not read again, whoever asks for it.
#[test]
fn a_form_that_was_parsed_before() {
    let source = |before: &str| {
        format!(
            r#"package m

import "net/http"

func Handle(w http.ResponseWriter, r *http.Request) {{
	{before}
	go run(r)
}}

func run(r *http.Request) {{
	println(r.FormValue("url"))
}}
"#
        )
    };
    check(&[("m.go", &source("println(r.Method)"))], &["m.go:7 writer-outlives-handler medium"]);
    check(&[("m.go", &source("println(r.FormValue(\"runner\"))"))], &[]);
}

/// What is answered after the handler has left must not end with its request.
#[test]
fn a_response_that_a_goroutine_takes_on() {
    let source = |rest: &str| {
        format!(
            r#"package m

import (
	"io"
	"net/http"
	"strings"
)

func Handle(w http.ResponseWriter, r *http.Request, client *http.Client, url string) {{
	resp, err := client.Post(url, "text/plain", strings.NewReader("q"))
	if err != nil {{
		http.Error(w, err.Error(), 500)
		return
	}}
	{rest}
}}

func store(body io.ReadCloser) {{
	defer body.Close()
	io.Copy(io.Discard, body)
}}

func Ends(r *http.Request) {{
	<-r.Context().Done()
}}
"#
        )
    };
    check(&[("m.go", &source("store(resp.Body)"))], &["m.go:10 context-not-propagated high"]);
    check(&[("m.go", &source("go store(resp.Body)"))], &[]);
}

/// A type around a client waits as long as the client.
#[test]
fn a_wrapped_client_with_a_timeout() {
    let source = |timeout: &str| {
        format!(
            r#"package m

import (
	"net/http"
	"time"
)

const limit = 5 * time.Second

type Client struct {{
	*http.Client
}}

func NewClient() *Client {{
	return &Client{{&http.Client{{{timeout}}}}}
}}

func Handle(w http.ResponseWriter, r *http.Request) {{
	client := NewClient()
	if err := token(client); err != nil {{
		http.Error(w, err.Error(), 500)
	}}
}}

func token(client *Client) error {{
	req, err := http.NewRequest("GET", "https://example.org/token", nil)
	if err != nil {{
		return err
	}}
	resp, err := client.Do(req)
	if err != nil {{
		return err
	}}
	return resp.Body.Close()
}}
"#
        )
    };
    check(&[("m.go", &source("Timeout: limit"))], &[]);
    check(&[("m.go", &source(""))], &["m.go:20 context-not-propagated medium"]);
}

/// Who is given `Unlock` as a function gives the lock back when it likes.
#[test]
fn a_lock_that_others_are_let_give_back() {
    let source = |tell: &str| {
        format!(
            r#"package m

import (
	"sync"

	"example.org/dns"
)

func start(failed func(error)) *dns.Server {{
	server := &dns.Server{{Addr: "localhost"}}
	started := sync.Mutex{{}}
	started.Lock()
	{tell}
	go func() {{
		failed(server.ActivateAndServe())
	}}()
	started.Lock()
	return server
}}
"#
        )
    };
    check(&[("m.go", &source("server.NotifyStartedFunc = started.Unlock"))], &[]);
    check(&[("m.go", &source("println(server)"))], &["m.go:17 double-lock high"]);
}

/// What a test puts behind an interface is not what its other callers are given.
#[test]
fn a_type_of_a_test_behind_an_interface() {
    let append = r#"package m

import "errors"

type Ordered interface {
	Keys() <-chan string
	Get(key string) (int, bool)
}

func Append(of Ordered, add func(string, int)) error {
	for key := range of.Keys() {
		value, ok := of.Get(key)
		if !ok {
			return errors.New("no value")
		}
		add(key, value)
	}
	return nil
}
"#;
    let keys = r#"package m

type list struct{ keys []string }

func (l *list) Get(string) (int, bool) { return 0, false }

func (l *list) Keys() <-chan string {
	keys := make(chan string)
	go func() {
		defer close(keys)
		for _, key := range l.keys {
			keys <- key
		}
	}()
	return keys
}
"#;
    check(&[("m.go", append), ("list.go", keys)], &["list.go:12 send-without-receiver medium"]);
    check(&[("m.go", append), ("list_test.go", keys)], &[]);
}

/// A helper that reads a body to its end leaves nothing of its connection.
#[test]
fn a_body_that_a_helper_reads_to_its_end() {
    let source = |helper: &str| {
        format!(
            r#"package m

import (
	"io"
	"net/http"
)

func drain(response *http.Response) {{
	{helper}
}}

func Ask(client *http.Client) (int, error) {{
	response, err := client.Get("http://example.org")
	if err != nil {{
		return 0, err
	}}
	drain(response)
	return response.StatusCode, nil
}}
"#
        )
    };
    let drains = "if response == nil || response.Body == nil {\n\t\treturn\n\t}\n\
                  \tio.Copy(io.Discard, response.Body)";
    check(&[("m.go", &source(drains))], &[]);
    let sometimes = "if response.StatusCode == 200 {\n\t\tio.Copy(io.Discard, response.Body)\n\t}";
    check(&[("m.go", &source(sometimes))], &["m.go:20 body-not-closed high"]);
}

/// A lock that is given back through `sync.Once`.
#[test]
fn a_lock_that_is_given_back_once() {
    let source = |back: &str| {
        format!(
            r#"package m

import "sync"

type pool struct {{
	mu   sync.Mutex
	idle []int
}}

func (p *pool) Take(healthy func(int) bool) int {{
	p.mu.Lock()
	unlock := new(sync.Once)
	defer unlock.Do(p.mu.Unlock)
	for _, one := range p.idle {{
		{back}
		if healthy(one) {{
			return one
		}}
		p.drop(one)
		p.mu.Lock()
		*unlock = sync.Once{{}}
	}}
	return 0
}}

func (p *pool) drop(one int) {{
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, one)
}}
"#
        )
    };
    check(&[("m.go", &source("unlock.Do(p.mu.Unlock)"))], &[]);
    check(&[("m.go", &source("println(one)"))], &["m.go:19 double-lock medium"]);
}

/// What equals one constant equals no other.
#[test]
fn two_texts_of_one_field() {
    let source = |second: &str| {
        format!(
            r#"package m

import (
	"sync"

	"example.org/db"
)

type pool struct {{
	mu sync.Mutex
	n  int
}}

func (p *pool) On(err *db.Error) {{
	if err.Code == "Expired" {{
		p.mu.Lock()
		defer p.mu.Unlock()
		p.n++
	}}
	if err.Code == "{second}" {{
		p.off()
	}}
}}

func (p *pool) off() {{
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n = 0
}}
"#
        )
    };
    check(&[("m.go", &source("Unavailable"))], &[]);
    check(&[("m.go", &source("Expired"))], &["m.go:21 double-lock medium"]);
}

/// Nothing comes after a receive from a channel that nobody else has.
#[test]
fn what_comes_after_a_wait_for_ever() {
    let source = |wait: &str| {
        format!(
            r#"package m

import (
	"fmt"
	"net/http"
)

func Handle(w http.ResponseWriter, r *http.Request) {{
	go func() {{
		{wait}
		fmt.Fprintln(w, "done")
	}}()
}}
"#
        )
    };
    check(&[("m.go", &source("<-make(chan struct{})"))], &[]);
    let told = ["m.go:11 writer-outlives-handler medium"];
    check(&[("m.go", &source("fmt.Println(\"working\")"))], &told);
}

/// A timer that is left when its loop ends is one, unless the loop begins again and again.
#[test]
fn a_timer_that_is_left_when_its_loop_ends() {
    let source = |start: &str| {
        format!(
            r#"package m

import "time"

type beat struct{{ stop chan struct{{}} }}

func (b *beat) run(work func()) {{
	next := time.After(0)
	for {{
		select {{
		case <-next:
			work()
			next = time.After(time.Minute)
		case <-b.stop:
			return
		}}
	}}
}}

func (b *beat) Stop() {{ close(b.stop) }}

func main() {{
	b := &beat{{stop: make(chan struct{{}})}}
{start}}}
"#
        )
    };
    let old = "module example.org/m\n\ngo 1.20\n";
    let once = source("\tgo b.run(func() {})\n\tprintln(\"up\")\n");
    check(&[("go.mod", old), ("m.go", &once)], &["m.go:15 timer-not-stopped low"]);
    let again =
        source("\tfor {\n\t\tb.run(func() {})\n\t\tb = &beat{stop: make(chan struct{})}\n\t}\n");
    check(&[("go.mod", old), ("m.go", &again)], &["m.go:15 timer-not-stopped high"]);
}

/// Who waits asks first whether the goroutine has counted itself.
#[test]
fn a_goroutine_that_says_that_it_runs() {
    let source = |asks: &str| {
        format!(
            r#"package m

import (
	"sync"
	"sync/atomic"
)

type worker struct {{
	wg     sync.WaitGroup
	closed atomic.Bool
	stop   chan struct{{}}
}}

func New() *worker {{
	w := &worker{{stop: make(chan struct{{}})}}
	w.closed.Store(true)
	go w.run()
	return w
}}

func (w *worker) run() {{
	w.wg.Add(1)
	defer w.wg.Done()
	w.closed.Store(false)
	<-w.stop
}}

func (w *worker) Close() {{
{asks}	close(w.stop)
	w.wg.Wait()
}}
"#
        )
    };
    check(&[("m.go", &source("\tif w.closed.Load() {\n\t\treturn\n\t}\n"))], &[]);
    check(&[("m.go", &source(""))], &["m.go:22 waitgroup-unbalanced medium"]);
}
