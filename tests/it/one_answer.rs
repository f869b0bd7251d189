//! Programs in which two sides go by the same condition, or one says to the other that nothing more comes.
//!
//! Nothing is stuck in the first ones, and each was once told of; of each kind a twin follows that is.

use crate::cli::{tells_nothing, tells_of_module};

/// A method that sends its answer on one of two channels.
const RUN: &str = r#"package m

type res struct {
	val chan int
	err chan error
}

func (r *res) run(f func() (int, error)) {
	v, err := f()
	if err != nil {
		r.err <- err
		return
	}
	r.val <- v
}

"#;

// Run sends on exactly one of val and err, and Do takes from whichever it is; nothing is ever sent on the
// other.
#[test]
fn one_of_two_answers_is_sent() {
    let asks = r#"func Do(f func() (int, error)) (int, error) {
	r := &res{make(chan int), make(chan error)}
	go r.run(f)
	select {
	case v := <-r.val:
		return v, nil
	case err := <-r.err:
		return 0, err
	}
}
"#;
    tells_nothing(&format!("{RUN}{asks}"));
}

/// One that receives until it gets the last word of a goroutine, which does this.
fn run(work: &str) -> String {
    r#"package m

type p struct {
	prog chan int
	fin  chan error
}

func (p *p) work(n int) {
WORK}

func Run(n int) error {
	p := &p{make(chan int), make(chan error)}
	go p.work(n)
	for {
		select {
		case <-p.prog:
		case err := <-p.fin:
			return err
		}
	}
}
"#
    .replace("WORK", work)
}

const SENDS_ALL: &str = "\tfor i := range n {\n\t\tp.prog <- i\n\t}\n";
const SAYS_SO: &str = "\tp.fin <- nil\n";

// Work sends on prog only before its one send on fin, so when Run leaves on fin nothing is sent on prog any
// more.
#[test]
fn the_last_word_comes_after_all_else() {
    tells_nothing(&run(&format!("{SENDS_ALL}{SAYS_SO}")));
}

// End is closed only after wg.Wait, hence after every send on rows was received (rows is unbuffered).
#[test]
fn the_end_is_said_when_all_senders_are_done() {
    tells_nothing(
        r#"package m

import "sync"

type scan struct {
	rows chan string
	end  chan struct{}
	wg   sync.WaitGroup
}

func (s *scan) run(in []string) {
	defer s.wg.Done()
	for _, r := range in {
		s.rows <- r
	}
}

func All(ins ...[]string) (out []string) {
	s := &scan{rows: make(chan string), end: make(chan struct{})}
	for _, in := range ins {
		s.wg.Add(1)
		go s.run(in)
	}
	go func() { s.wg.Wait(); close(s.end) }()
	for {
		select {
		case r := <-s.rows:
			out = append(out, r)
		case <-s.end:
			return
		}
	}
}
"#,
    );
}

// The actor answers each request on exactly one of found and miss, and Get takes from whichever it is.
#[test]
fn an_actor_answers_on_one_of_two_channels() {
    tells_nothing(
        r#"package m

type lookup struct {
	key   string
	found chan string
	miss  chan struct{}
}

func Serve(c <-chan lookup, m map[string]string) {
	for q := range c {
		if v, ok := m[q.key]; ok {
			q.found <- v
		} else {
			q.miss <- struct{}{}
		}
	}
}

func Get(c chan<- lookup, k string) (string, bool) {
	q := lookup{k, make(chan string), make(chan struct{})}
	c <- q
	select {
	case v := <-q.found:
		return v, true
	case <-q.miss:
		return "", false
	}
}
"#,
    );
}

// The engine sends on q.end only after its last send on q.rows.
#[test]
fn a_callback_has_sent_all_before_the_end_is_said() {
    tells_nothing(
        r#"package m

// request/answer: data answers precede end in the same goroutine; the reader counts on the end
type query struct {
	rows chan string
	end  chan error
}

type engine struct{ qs chan *query }

func (e *engine) loop(scan func(func(string)) error) {
	for q := range e.qs {
		q.end <- scan(func(s string) { q.rows <- s })
	}
}

func (e *engine) Query() (out []string, err error) {
	q := &query{make(chan string), make(chan error)}
	e.qs <- q
	for {
		select {
		case r := <-q.rows:
			out = append(out, r)
		case err = <-q.end:
			return
		}
	}
}
"#,
    );
}

// After 'E' the producer has returned; after 'H' it sends once more and Decode receives once more.
#[test]
fn a_character_says_whether_more_comes() {
    tells_nothing(
        r#"package m

func Decode(src func() bool) int {
	c := make(chan byte)
	go func() {
		if !src() {
			c <- 'E'
			return
		}
		c <- 'H'
		c <- 'B'
	}()
	if f := <-c; f == 'E' {
		return 0
	}
	return int(<-c)
}
"#,
    );
}

// Ctrl 'D' is always followed by one send on data; after 'Q' the feeder has returned. (With ints 1 and 0 it
// is not told.)
#[test]
fn a_character_for_each_kind_of_message() {
    tells_nothing(
        r#"package m

func Read(recs [][]byte) (n int) {
	ctrl, data := make(chan byte), make(chan []byte)
	go func() {
		for _, r := range recs {
			ctrl <- 'D'
			data <- r
		}
		ctrl <- 'Q'
	}()
	for {
		switch <-ctrl {
		case 'D':
			n += len(<-data)
		case 'Q':
			return n
		}
	}
}
"#,
    );
}

// O is not written to, so both ifs go the same way. (A parameter `b bool` instead of o.A is not told.)
#[test]
fn both_sides_ask_one_field() {
    tells_nothing(
        r#"package m

type opts struct{ A bool }

func Do(o opts) {
	c := make(chan int)
	go func() {
		if o.A {
			c <- 1
		}
	}()
	if o.A {
		<-c
	}
}
"#,
    );
}

// Path does not change, so both ifs call HasSuffix with the same arguments and go the same way.
#[test]
fn both_sides_ask_one_call_of_values() {
    tells_nothing(
        r#"package m

import "strings"

func Do(path string, f func() int) (n int) {
	c := make(chan int)
	go func() {
		v := f()
		if strings.HasSuffix(path, ".gz") {
			c <- v
		}
	}()
	if strings.HasSuffix(path, ".gz") {
		n = <-c
	}
	return
}
"#,
    );
}

// Xs is not assigned to, so len(xs) > 1 is the same in the goroutine and after it.
#[test]
fn both_sides_ask_one_length() {
    tells_nothing(
        r#"package m

func Do(xs []int, f func() int) (n int) {
	c := make(chan int)
	go func() {
		if len(xs) > 1 {
			c <- f()
		}
	}()
	if len(xs) > 1 {
		n = <-c
	}
	return
}
"#,
    );
}

// Debug is a package variable that is only set at start, so both ifs go the same way.
#[test]
fn both_sides_ask_one_variable_of_the_package() {
    tells_nothing(
        r#"package m

import "os"

var debug = os.Getenv("DEBUG") != ""

func Do(f func() int) (n int) {
	c := make(chan int)
	go func() {
		if debug {
			c <- f()
		}
	}()
	if debug {
		n = <-c
	}
	return
}
"#,
    );
}

// Mode is a parameter that nobody assigns to; the goroutine's switch and the function's go the same way.
#[test]
fn both_sides_switch_alike() {
    tells_nothing(
        r#"package m

func Do(mode string, f func() int) (n int) {
	c := make(chan int)
	go func() {
		switch mode {
		case "a", "b":
			c <- f()
		}
	}()
	switch mode {
	case "a", "b":
		n = <-c
	}
	return
}
"#,
    );
}

// Same is a == b, so the goroutine leaves without a send exactly when Do returns 0.
#[test]
fn a_variable_stands_for_what_the_other_side_asks() {
    tells_nothing(
        r#"package m

func Do(a, b string, f func() int) (n int) {
	c := make(chan int)
	same := a == b
	go func() {
		if !same {
			return
		}
		c <- f()
	}()
	if a != b {
		return 0
	}
	return <-c
}
"#,
    );
}

// Small is the negation of n > 3.
#[test]
fn a_variable_stands_for_the_opposite() {
    tells_nothing(
        r#"package m

func Do(n int) {
	c := make(chan int)
	small := n <= 3
	if n > 3 {
		go func() { c <- 1 }()
	}
	if !small {
		<-c
	}
}
"#,
    );
}

// S != "" and len(s) > 0 are the same.
#[test]
fn a_text_that_is_not_empty_has_a_length() {
    tells_nothing(
        r#"package m

func Do(s string) {
	c := make(chan int)
	if s != "" {
		go func() { c <- 1 }()
	}
	if len(s) > 0 {
		<-c
	}
}
"#,
    );
}

// N > 3 and n >= 4 are the same, so cancel is called whenever it was made.
#[test]
fn above_three_and_at_least_four_are_one() {
    tells_nothing(
        r#"package m

import "context"

func Do(n int, work func(context.Context)) {
	ctx, cancel := context.Background(), func() {}
	if n > 3 {
		ctx, cancel = context.WithCancel(ctx)
	}
	work(ctx)
	if n >= 4 {
		cancel()
	}
}
"#,
    );
}

// The flag's two forms are the same, so Add and Done are called equally often.
#[test]
fn a_bit_is_set_in_two_forms() {
    tells_nothing(
        r#"package m

import "sync"

const (
	fSync = 1 << iota
	fAsync
)

func Do(flags uint, work func()) {
	var wg sync.WaitGroup
	if flags&fSync != 0 {
		wg.Add(1)
	}
	work()
	if flags&fSync == fSync {
		wg.Done()
	}
	wg.Wait()
}
"#,
    );
}

// Two ifs with the same len: the goroutine is started and the channel closed together.
#[test]
fn a_length_above_zero_and_not_zero_are_one() {
    tells_nothing(
        r#"package m

func Do(xs []int, work func(int)) {
	c := make(chan int)
	if len(xs) > 0 {
		go func() {
			for v := range c {
				work(v)
			}
		}()
	}
	if len(xs) != 0 {
		close(c)
	}
}
"#,
    );
}

// The parent of what withLimit gives back is cancelled by `defer cancel()` in handle, so the goroutine
// always ends.
#[test]
fn the_parent_is_cancelled_by_the_caller() {
    tells_nothing(
        r#"package a

import (
	"context"
	"time"
)

func withLimit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

func handle(ctx context.Context, d time.Duration, reset func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, cancelLimit := withLimit(ctx, d)
	defer cancelLimit()
	go func() {
		<-ctx.Done()
		reset()
	}()
}
"#,
    );
}

// Net/http cancels r.Context() when the handler has returned, so the goroutine ends also with d <= 0.
#[test]
fn the_context_of_a_request_ends_by_itself() {
    tells_nothing(
        r#"package a

import (
	"context"
	"net/http"
	"time"
)

func bound(r *http.Request, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return r.Context(), func() {}
	}
	return context.WithTimeout(r.Context(), d)
}

type server struct {
	d        time.Duration
	rollback func()
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := bound(r, s.d)
	defer cancel()
	go func() {
		<-ctx.Done()
		s.rollback()
	}()
	w.WriteHeader(http.StatusNoContent)
}
"#,
    );
}

// As the next one, with a select that leaves when ctx is done.
#[test]
fn only_the_helper_ends_the_context_that_the_loop_leaves_on() {
    tells_nothing(
        r#"package a

import (
	"context"
	"time"
)

type refresher struct{ quit chan struct{} }

func start(f func(context.Context)) *refresher {
	r := &refresher{quit: make(chan struct{})}
	go r.loop(f)
	return r
}

func (r *refresher) loop(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-r.quit
		cancel()
	}()
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			f(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (r *refresher) Stop() { close(r.quit) }
"#,
    );
}

// The loop ends only when ctx is cancelled, and only this goroutine cancels it before that, after quit was
// closed.
#[test]
fn a_loop_that_asks_for_the_error_of_the_context() {
    tells_nothing(
        r#"package a

import "context"

type refresher struct{ quit chan struct{} }

func start(f func(context.Context)) *refresher {
	r := &refresher{quit: make(chan struct{})}
	go r.loop(f)
	return r
}

func (r *refresher) loop(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-r.quit
		cancel()
	}()
	for ctx.Err() == nil {
		f(ctx)
	}
}

func (r *refresher) Stop() { close(r.quit) }
"#,
    );
}

// Each function sends into its room of one before it returns nil, and g.Wait returns nil only if both did.
#[test]
fn a_group_without_error_has_run_all_to_their_end() {
    tells_nothing(
        r#"package p

import "golang.org/x/sync/errgroup"

func Both(a func() (int, error)) (int, error) {
	var g errgroup.Group
	ch := make(chan int, 1)
	g.Go(func() error {
		v, err := a()
		if err != nil {
			return err
		}
		ch <- v
		return nil
	})
	if err := g.Wait(); err != nil {
		return 0, err
	}
	return <-ch, nil
}
"#,
    );
}

// G.Wait returns nil only if f returned nil, and f has sent then.
#[test]
fn a_group_with_a_context_and_no_error() {
    tells_nothing(
        r#"package p

import (
	"context"

	"golang.org/x/sync/errgroup"
)

func One(ctx context.Context, f func(context.Context) (int, error)) (int, error) {
	g, ctx := errgroup.WithContext(ctx)
	ch := make(chan int, 1)
	g.Go(func() error {
		v, err := f(ctx)
		if err == nil {
			ch <- v
		}
		return err
	})
	err := g.Wait()
	if err == nil {
		return <-ch, nil
	}
	return 0, err
}
"#,
    );
}

// Three goroutines send on one of two channels each, and who receives leaves with the first error.
#[test]
fn the_first_of_several_answers_leaves_the_others() {
    let asks = r#"func Do(fs []func() (int, error)) (n int, err error) {
	r := &res{make(chan int), make(chan error)}
	for _, f := range fs {
		go r.run(f)
	}
	for range fs {
		select {
		case v := <-r.val:
			n += v
		case err := <-r.err:
			return 0, err
		}
	}
	return n, nil
}
"#;
    tells_of_module(
        &format!("{RUN}{asks}"),
        &["m.go:18 send-without-receiver medium", "m.go:18 send-without-receiver medium"],
    );
}

// The word comes first here, and what follows it is not received.
#[test]
fn a_word_before_the_last_value() {
    let source = run(&format!("{SAYS_SO}{SENDS_ALL}"));
    tells_of_module(&source, &["m.go:11 send-without-receiver medium"]);
}

// With n == 4 one side sends and the other does not receive.
#[test]
fn two_bounds_that_differ() {
    tells_of_module(
        r#"package m

func Do(n int, f func() int) {
	c := make(chan int)
	go func() {
		if n > 3 {
			c <- f()
		}
	}()
	if n >= 5 {
		<-c
	}
}
"#,
        &["m.go:7 send-without-receiver medium"],
    );
}

// The field is set between the two questions.
#[test]
fn a_field_that_is_set_in_between() {
    tells_of_module(
        r#"package m

type opts struct{ A bool }

func Do(o *opts, f func() int) {
	c := make(chan int)
	go func() {
		if o.A {
			c <- f()
		}
	}()
	o.A = false
	if o.A {
		<-c
	}
}
"#,
        &["m.go:9 send-without-receiver medium"],
    );
}

// Nobody asks whether the group has failed.
#[test]
fn a_group_whose_error_nobody_asks_for() {
    tells_of_module(
        r#"package m

import "golang.org/x/sync/errgroup"

func Both(a func() (int, error)) int {
	var g errgroup.Group
	ch := make(chan int, 1)
	g.Go(func() error {
		v, err := a()
		if err != nil {
			return err
		}
		ch <- v
		return nil
	})
	g.Wait()
	return <-ch
}
"#,
        &["m.go:17 receive-without-sender medium"],
    );
}

// The helper waits for the stop, and the loop may end before for another reason.
#[test]
fn a_helper_of_a_loop_with_another_end() {
    tells_of_module(
        r#"package m

import "context"

type refresher struct{ quit chan struct{} }

func (r *refresher) Loop(f func(context.Context) bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-r.quit
		cancel()
	}()
	for ctx.Err() == nil {
		if f(ctx) {
			return
		}
	}
}

func (r *refresher) Stop() { close(r.quit) }
"#,
        &["m.go:11 helper-outlives high"],
    );
}

// A list holds what a method has added, a helper takes the locks of its elements, and each leads back.
#[test]
fn locks_of_what_a_method_has_added() {
    let source = |each: &str| {
        format!(
            r#"package m

import "sync"

type Stats struct {{
	mu      sync.RWMutex
	errors  int
	started []*Transfer
}}

type Transfer struct {{
	stats *Stats
	mu    sync.RWMutex
	sent  int
}}

func NewTransfer(stats *Stats) *Transfer {{
	tr := &Transfer{{stats: stats}}
	stats.Add(tr)
	return tr
}}

func (s *Stats) Add(tr *Transfer) {{
	s.mu.Lock()
	s.started = append(s.started, tr)
	s.mu.Unlock()
}}

func (s *Stats) total() (n int) {{
	for i := range s.started {{
		n += {each}
	}}
	return n
}}

func (s *Stats) Total() int {{
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.total()
}}

func (s *Stats) Error() {{
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors++
}}

func (tr *Transfer) Sent() int {{
	tr.mu.RLock()
	defer tr.mu.RUnlock()
	return tr.sent
}}

func (tr *Transfer) Done() {{
	tr.mu.Lock()
	tr.stats.Error()
	tr.mu.Unlock()
}}
"#
        )
    };
    tells_of_module(&source("s.started[i].Sent()"), &["m.go:39 lock-order medium"]);
    tells_of_module(&source("s.started[i].sent"), &[]);
}
