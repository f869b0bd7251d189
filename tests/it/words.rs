//! Programs in which who receives counts what comes, found in repositories that were read for the first time.
//!
//! Nothing is stuck in the first ones, and each was once told of; twins that are follow.

use crate::cli::{tells_nothing, tells_of_file as check, tells_of_module};

/// Sixteen workers, each of which says when it has sent its last result, and who collects until this holds.
const WORKERS: &str = r#"package m

import "context"

type result struct{ err error }

type dialer struct{}

func (d *dialer) All(ctx context.Context, jobs <-chan string) ([]*result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan *result)
	ended := make(chan bool)
	const workers = 16
	for i := 0; i < workers; i++ {
		go d.worker(ctx, ended, jobs, results)
	}
	var all []*result
	left := 0
	for LEFT {
		select {
		case <-ended:
			left++
		case r := <-results:
			all = append(all, r)
			cancel()
		}
	}
	return all, nil
}

func (d *dialer) worker(ctx context.Context, ended chan<- bool, jobs <-chan string, results chan<- *result) {
	defer func() { ended <- true }()
	for range jobs {
		results <- &result{err: ctx.Err()}
	}
}
"#;

// Each worker says so behind all that it sends, and All has counted sixteen of them when it leaves.
#[test]
fn as_many_words_as_workers() {
    tells_nothing(&WORKERS.replace("LEFT", "left < workers"));
}

#[test]
fn one_word_of_many_is_enough() {
    let source = WORKERS.replace("LEFT", "left < 1");
    tells_of_module(&source, &["m.go:12 send-without-receiver medium"]);
}

/// One request after another, each as soon as a ticker says so, until there are as many answers.
const OVERLAPPED: &str = r#"package m

import (
	"context"
	"time"
)

type result struct{ err error }

type overlapped struct{ every time.Duration }

func (o *overlapped) Map(ctx context.Context, urls ...string) []*result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	output := make(chan *result)
	ticker := time.NewTicker(o.every)
	defer ticker.Stop()
	next := 0
	results := []*result{}
	for len(results) < len(urls) {
		if next < len(urls) {
			go o.transact(ctx, urls[next], output)
			next++
		} else {
			ticker.Stop()
		}
		select {
		case res := <-output:
			results = append(results, res)
			if res.err == nil {
				cancel()
			}
		case <-ticker.C:TICKED
		}
	}
	return results
}

func (o *overlapped) transact(ctx context.Context, url string, output chan<- *result) {
	output <- &result{err: ctx.Err()}
}
"#;

// A tick changes nothing that the loop asks for, so the loop does not end with it.
#[test]
fn a_tick_does_not_end_the_loop() {
    tells_nothing(&OVERLAPPED.replace("TICKED", ""));
}

#[test]
fn a_tick_that_returns() {
    tells_of_module(
        &OVERLAPPED.replace("TICKED", "\n\t\t\treturn results"),
        &["m.go:15 send-without-receiver medium"],
    );
}

// loop starts as many as Run receives: both ask the same method of the same configuration.
#[test]
fn two_functions_count_by_one_method() {
    tells_nothing(
        r#"package m

import (
	"time"
)

type Config struct{ Repetitions int64 }

func (c *Config) repetitions() int64 {
	if c.Repetitions > 0 {
		return c.Repetitions
	}
	return 10
}

type Keys struct{ All []string }

type Measurer struct{ every time.Duration }

func (m *Measurer) Run(config *Config, host string) *Keys {
	keys := new(Keys)
	out := make(chan string)
	go m.loop(config, host, out)
	for len(keys.All) < int(config.repetitions()) {
		keys.All = append(keys.All, <-out)
	}
	return keys
}

func (m *Measurer) loop(config *Config, host string, out chan<- string) {
	ticker := time.NewTicker(m.every)
	defer ticker.Stop()
	for i := int64(0); i < config.repetitions(); i++ {
		go m.one(host, out)
		<-ticker.C
	}
}

func (m *Measurer) one(address string, out chan<- string) {
	out <- address
}

func Main() *Keys {
	return new(Measurer).Run(&Config{}, "localhost")
}
"#,
    );
}

// rand.Perm gives as many elements as there are remotes, and each sends once.
#[test]
fn a_range_that_breaks_by_a_sum() {
    tells_nothing(
        r#"package m

import (
	"context"
	"math/rand"
)

type response struct {
	name string
	err  error
}

type authority struct {
	remotes []string
	failing int
}

func (a *authority) do(ctx context.Context, op func(context.Context, string) error) (passed, failed []string) {
	count := len(a.remotes)
	if count < 3 {
		return nil, nil
	}
	responses := make(chan *response, count)
	for _, i := range rand.Perm(count) {
		go func(name string) {
			err := op(ctx, name)
			if err != nil {
				responses <- &response{name, err}
				return
			}
			responses <- &response{name, nil}
		}(a.remotes[i])
	}
	for r := range responses {
		if r.err != nil {
			failed = append(failed, r.name)
		} else {
			passed = append(passed, r.name)
		}
		if len(passed)+len(failed) >= count {
			break
		}
	}
	return passed, failed
}

func (a *authority) DoAll(ctx context.Context) int {
	passed, _ := a.do(ctx, func(context.Context, string) error { return nil })
	return len(passed)
}
"#,
    );
}

/// A function that calls a field behind a condition that is not known, and ends a context so.
const ENDED: &str = r#"package m

import (
	"context"
	"os"
)

type task struct {
	cancel context.CancelFunc
	reason int
}

func (t *task) end(reason bool) {
	if reason {
		t.reason = 1
	}
	CALL
}

func Run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t := &task{cancel: cancel}
	t.end(len(os.Args) > 3)
	done := make(chan int)
	select {
	case <-ctx.Done():
		close(done)
	default:
	}
	<-done
}
"#;

// Whatever the reason is, the context has ended by then.
#[test]
fn a_field_that_ends_a_context() {
    tells_nothing(&ENDED.replace("CALL", "t.cancel()"));
}

#[test]
fn nobody_ends_the_context() {
    tells_of_module(
        &ENDED.replace("CALL", "_ = t.cancel"),
        &["m.go:31 receive-without-sender high"],
    );
}

// loop leaves out what it cannot ask for, and Run counts that, too.
#[test]
fn a_function_that_leaves_some_out() {
    tells_of_module(
        r#"package m

type measurer struct{}

func (m *measurer) Run(hosts []string, ask func(string) (string, error)) []string {
	var all []string
	out := make(chan string)
	go m.loop(hosts, ask, out)
	for range hosts {
		all = append(all, <-out)
	}
	return all
}

func (m *measurer) loop(hosts []string, ask func(string) (string, error), out chan<- string) {
	for _, host := range hosts {
		answer, err := ask(host)
		if err != nil {
			continue
		}
		out <- answer
	}
}

func Main(ask func(string) (string, error)) []string {
	return new(measurer).Run([]string{"a", "b"}, ask)
}
"#,
        &["m.go:10 receive-without-sender medium"],
    );
}

const HEARD: &str = r#"package m

import (
	"context"
	"sync"
)

type pool struct {
	wg   sync.WaitGroup
	out  chan int
	ends chan struct{}
}

func newPool() *pool { return &pool{out: make(chan int, 4), ends: make(chan struct{})} }

func turn(flow <-chan int, ends chan<- struct{}) {
	for range flow {
		ends <- struct{}{}
	}
}

func (p *pool) start(flow <-chan int) {
	ends := p.ends
	p.wg.Add(1)
	go func() {
		turn(flow, ends)
		p.wg.Done()
	}()
}

func (p *pool) run(ctx context.Context, most int) {
	flow := make(chan int)
	ends, out := p.ends, p.out
	defer func() {
		close(flow)
		over := make(chan struct{})
		go func() {
			p.wg.Wait()
			close(over)
		}()
		for {
			select {
			case <-out:
			case <-ends:
			case <-over:
			}
			select {
			case <-over:
				close(out)
				return
			default:
			}
		}
	}()
	p.start(flow)
	n := 0
	for {
		select {
		case flow <- n:
		case <-out:
		case <-ends:
			if n++; n == most {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func Sum(ctx context.Context) { newPool().run(ctx, 10) }
"#;

#[test]
fn who_leaves_hears_in_a_second_select_that_all_are_done() {
    check(HEARD, &[]);
    let deaf =
        HEARD.replacen("\t\t\tcase <-ends:\n\t\t\tcase <-over:\n", "\t\t\tcase <-over:\n", 1);
    check(&deaf, &["m.go:18 send-without-receiver medium"]);
}
