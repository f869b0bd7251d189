//! Ordinary programs in which nothing is left behind, each of which was once told of.

use crate::cli::tells;

/// Nothing is told of a program, built with Go 1.22.
fn tells_nothing(source: &str) {
    tells(&[("go.mod", "module example.com/m\n\ngo 1.22\n"), ("m.go", source)], &[]);
}

#[test]
fn a_flag_behind_a_pointer_makes_and_closes() {
    tells_nothing(
        r#"package m

func F(verbose *bool) {
	var c chan int
	if *verbose {
		c = make(chan int)
	}
	if *verbose {
		close(c)
	}
}
"#,
    );
}

#[test]
fn a_flag_of_the_command_line() {
    tells_nothing(
        r#"package main

import (
	"flag"
	"fmt"
	"os"
	"sync"
)

type report struct {
	name string
	n    int
	err  error
}

func main() {
	verbose := flag.Bool("v", false, "progress")
	flag.Parse()
	args := flag.Args()
	if len(args) == 0 {
		fmt.Println("nothing to do")
		return
	}
	var progress chan string
	var pwg sync.WaitGroup
	if *verbose {
		progress = make(chan string)
		pwg.Add(1)
		go func() {
			defer pwg.Done()
			for s := range progress {
				fmt.Fprintln(os.Stderr, s)
			}
		}()
	}
	reports := make(chan report)
	for _, a := range args {
		go count(a, reports, progress)
	}
	failed := 0
	for range args {
		r := <-reports
		if r.err != nil {
			failed++
			fmt.Println(r.name, r.err)
			continue
		}
		fmt.Println(r.name, r.n)
	}
	if *verbose {
		close(progress)
		pwg.Wait()
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func count(name string, out chan<- report, progress chan<- string) {
	r := report{name: name}
	b, err := os.ReadFile(name)
	if err != nil {
		r.err = err
	} else {
		r.n = len(b)
	}
	if progress != nil {
		progress <- "done " + name
	}
	out <- r
}
"#,
    );
}

#[test]
fn a_lock_under_a_flag_behind_a_pointer() {
    tells_nothing(
        r#"package m

import "sync"

func F(par *bool, mu *sync.Mutex) {
	if *par {
		mu.Lock()
	}
	if *par {
		mu.Unlock()
	}
	mu.Lock()
	mu.Unlock()
}
"#,
    );
}

#[test]
fn a_timer_of_a_batch() {
    tells_nothing(
        r#"package m

import "time"

func Loop(in chan string, flush func([]string)) {
	var batch []string
	var timer *time.Timer
	for s := range in {
		batch = append(batch, s)
		if len(batch) == 1 {
			timer = time.NewTimer(time.Second)
		}
		if len(batch) >= 10 {
			timer.Stop()
			flush(batch)
			batch = nil
		}
	}
	if len(batch) > 0 {
		timer.Stop()
	}
}
"#,
    );
}

#[test]
fn a_timer_with_a_flag() {
    tells_nothing(
        r#"package m

import "time"

func Loop(in, ack chan int) {
	armed := false
	var t *time.Timer
	for {
		select {
		case <-in:
			if !armed {
				armed = true
				t = time.NewTimer(time.Second)
			}
		case <-ack:
			if armed {
				armed = false
				t.Stop()
			}
		}
	}
}
"#,
    );
}

#[test]
fn a_ticker_while_something_is_there() {
    tells_nothing(
        r#"package m

import "time"

func Loop(in chan int, flush func([]int)) {
	var batch []int
	var c <-chan time.Time
	var t *time.Ticker
	for {
		select {
		case v := <-in:
			if len(batch) == 0 {
				t = time.NewTicker(time.Second)
				c = t.C
			}
			batch = append(batch, v)
		case <-c:
			t.Stop()
			flush(batch)
			batch = nil
		}
	}
}
"#,
    );
}

#[test]
fn a_request_of_a_kind_that_has_no_answer() {
    tells_nothing(
        r#"package m

type req struct {
	op    string
	v     int
	reply chan int
}

func Loop(in chan req) {
	v := 0
	for r := range in {
		switch r.op {
		case "set":
			v = r.v
		case "get":
			r.reply <- v
		}
	}
}

func Set(in chan req, v int) { in <- req{op: "set", v: v} }

func Get(in chan req) int {
	r := req{op: "get", reply: make(chan int)}
	in <- r
	return <-r.reply
}
"#,
    );
}

#[test]
fn a_request_that_wants_no_answer() {
    tells_nothing(
        r#"package m

type req struct {
	sync  bool
	f     func()
	reply chan struct{}
}

func Loop(in <-chan req) {
	for r := range in {
		r.f()
		if r.sync {
			close(r.reply)
		}
	}
}

func Post(in chan<- req, f func()) { in <- req{f: f} }

func Call(in chan<- req, f func()) {
	r := req{sync: true, f: f, reply: make(chan struct{})}
	in <- r
	<-r.reply
}
"#,
    );
}

#[test]
fn a_loop_that_counts_what_is_out() {
    tells_nothing(
        r#"package m

func Loop(in <-chan int, load func(int)) {
	n := 0
	results := make(chan int)
	for in != nil || n > 0 {
		select {
		case k, ok := <-in:
			if !ok {
				in = nil
				continue
			}
			n++
			go func() { load(k); results <- k }()
		case <-results:
			n--
		}
	}
}
"#,
    );
}

#[test]
fn a_scheduler_that_counts_what_runs() {
    tells_nothing(
        r#"package m

func Sched(jobs []func(), max int) {
	done := make(chan struct{})
	running := 0
	for len(jobs) > 0 || running > 0 {
		if len(jobs) > 0 && running < max {
			j := jobs[0]
			jobs = jobs[1:]
			running++
			go func() { j(); done <- struct{}{} }()
			continue
		}
		<-done
		running--
	}
}
"#,
    );
}

#[test]
fn a_crawler_that_counts_what_is_pending() {
    tells_nothing(
        r#"package m

func Crawl(start string, fetch func(string) []string) (n int) {
	work := make(chan []string)
	pending := 1
	go func() { work <- []string{start} }()
	for ; pending > 0; pending-- {
		for _, u := range <-work {
			n++
			pending++
			go func() { work <- fetch(u) }()
		}
	}
	return n
}
"#,
    );
}

#[test]
fn sends_of_a_loop_with_two_turns() {
    tells_nothing(
        r#"package m

func Known() {
	ch := make(chan int)
	go func() {
		for i := 0; i < 2; i++ {
			ch <- i
		}
	}()
	<-ch
	<-ch
}
"#,
    );
}

#[test]
fn sends_of_a_loop_over_a_literal() {
    tells_nothing(
        r#"package m

func Known() {
	ch := make(chan int)
	go func() {
		for _, v := range []int{1, 2} {
			ch <- v
		}
	}()
	<-ch
	<-ch
}
"#,
    );
}

#[test]
fn two_functions_in_a_literal() {
    tells_nothing(
        r#"package m

import "errors"

func Copy(a, b func() error) error {
	errc := make(chan error, 1)
	for _, f := range []func() error{a, b} {
		go func() { errc <- f() }()
	}
	return errors.Join(<-errc, <-errc)
}
"#,
    );
}

#[test]
fn a_relay_in_both_directions() {
    tells_nothing(
        r#"package m

func Relay(a, b func() error) error {
	errc := make(chan error)
	for _, f := range []func() error{a, b} {
		go func() { errc <- f() }()
	}
	if err := <-errc; err != nil {
		<-errc
		return err
	}
	return <-errc
}
"#,
    );
}

#[test]
fn no_turns_and_a_return_below() {
    tells_nothing(
        r#"package m

func If(n int) int {
	ch := make(chan int)
	for i := 0; i < n; i++ {
		go func() { ch <- i }()
	}
	if n <= 0 {
		return 0
	}
	s := 0
	for i := 0; i < n; i++ {
		s += <-ch
	}
	return s
}
"#,
    );
}

#[test]
fn nothing_in_a_slice_and_a_return_below() {
    tells_nothing(
        r#"package m

func If(xs []int) int {
	ch := make(chan int)
	for _, x := range xs {
		go func() { ch <- x }()
	}
	if len(xs) == 0 {
		return 0
	}
	s := 0
	for range xs {
		s += <-ch
	}
	return s
}
"#,
    );
}

#[test]
fn a_switch_over_the_number_of_turns() {
    tells_nothing(
        r#"package m

func Switch(n int, f func() int) int {
	ch := make(chan int)
	for range n {
		go func() { ch <- f() }()
	}
	switch n {
	case 0:
		return 0
	case 1:
		return <-ch
	}
	s := 0
	for range n {
		s += <-ch
	}
	return s
}
"#,
    );
}

#[test]
fn a_request_that_is_checked_by_who_asks() {
    tells_nothing(
        r#"package m

type req struct {
	n     int
	reply chan int
}

func Ask(in chan req, n int) int {
	if n <= 0 {
		return 0
	}
	r := req{n: n, reply: make(chan int, 1)}
	in <- r
	return <-r.reply
}

func Loop(in chan req) {
	for r := range in {
		if r.n > 0 {
			r.reply <- r.n
		}
	}
}
"#,
    );
}

#[test]
fn a_request_with_an_answer_for_each_name() {
    tells_nothing(
        r#"package m

type req struct {
	names []string
	reply chan int
}

func Loop(in <-chan *req) {
	for r := range in {
		for i := range r.names {
			r.reply <- i
		}
	}
}

func Ask(in chan<- *req, names []string) (n int) {
	r := &req{names: names, reply: make(chan int)}
	in <- r
	for range names {
		n += <-r.reply
	}
	return n
}
"#,
    );
}

#[test]
fn a_part_of_a_slice_is_counted() {
    let counted = |starts: &str, receives: &str| {
        format!(
            "package m\n\nfunc f(xs []func() int) (s int) {{\n\tif len(xs) == 0 {{\n\t\treturn 0\n\t}}\n\
             \tch := make(chan int)\n\tfor _, f := range {starts} {{\n\t\tgo func() {{ ch <- f() }}()\n\t}}\n\
             \tfor {receives} {{\n\t\ts += <-ch\n\t}}\n\treturn s\n}}\n"
        )
    };
    tells_nothing(&counted("xs[1:]", "range len(xs) - 1"));
    tells_nothing(&counted("xs[1:]", "i := 1; i < len(xs); i++"));
    let files = counted("xs", "range xs[1:]");
    tells(
        &[("go.mod", "module example.com/m\n\ngo 1.22\n"), ("m.go", &files)],
        &["m.go:9 send-without-receiver medium"],
    );
}

#[test]
fn the_elements_of_elements() {
    tells_nothing(
        r#"package m

func Sum(rows [][]int) (s int) {
	ch := make(chan int)
	for _, row := range rows {
		for _, v := range row {
			go func() { ch <- v }()
		}
	}
	for _, row := range rows {
		for range row {
			s += <-ch
		}
	}
	return s
}
"#,
    );
}

#[test]
fn goroutines_for_some_of_the_elements() {
    tells_nothing(
        r#"package m

func Run(apart []bool, fs []func()) {
	done := make(chan int)
	for i, f := range fs {
		if apart[i] {
			go func() { f(); done <- i }()
		}
	}
	for i := range fs {
		if apart[i] {
			<-done
		}
	}
}
"#,
    );
}

#[test]
fn a_context_under_a_condition() {
    let source = r#"package m

import (
	"context"
	"time"
)

func Do(ctx context.Context, timeout time.Duration, run func(context.Context)) {
	var cancel context.CancelFunc
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	run(ctx)
	if timeout > 0 {
		cancel()
	}
}
"#;
    tells_nothing(source);
    let other = source.replace("if timeout > 0 {\n\t\tcancel", "if timeout > 1 {\n\t\tcancel");
    tells(
        &[("go.mod", "module example.com/m\n\ngo 1.22\n"), ("m.go", &other)],
        &["m.go:11 cancel-not-called high"],
    );
}

#[test]
fn a_context_that_is_there_for_several_turns() {
    tells_nothing(
        r#"package m

import (
	"context"
	"time"
)

func Batches(ctx context.Context, in chan int) {
	n := 0
	var cancel context.CancelFunc
	for range in {
		if n == 0 {
			_, cancel = context.WithTimeout(ctx, time.Second)
		}
		n++
		if n == 10 {
			cancel()
			n = 0
		}
	}
	if n > 0 {
		cancel()
	}
}

func Loop(ctx context.Context, start chan bool, run func(context.Context)) {
	var cancel context.CancelFunc
	running := false
	for s := range start {
		if s && !running {
			var running_ctx context.Context
			running_ctx, cancel = context.WithCancel(ctx)
			running = true
			go run(running_ctx)
		}
	}
	if running {
		cancel()
	}
}
"#,
    );
    let source = r#"package m

import "context"

func Loop(ctx context.Context, start chan bool, run func(context.Context)) {
	var cancel context.CancelFunc
	for s := range start {
		if s {
			var next context.Context
			next, cancel = context.WithCancel(ctx)
			go run(next)
		}
	}
	if cancel != nil {
		cancel()
	}
}
"#;
    tells(
        &[("go.mod", "module example.com/m\n\ngo 1.22\n"), ("m.go", source)],
        &["m.go:10 cancel-not-called high"],
    );
}
