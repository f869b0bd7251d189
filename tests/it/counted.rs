//! Programs in which something agrees with how many goroutines there are.
//!
//! Nothing is left behind in any of them, and each was once told of.

use crate::cli::{tells_nothing, tells_of_module};

// Each turn that starts nothing is counted in skipped, and the last loop calls Done that many times.
#[test]
fn what_was_skipped_is_counted_down_later() {
    tells_nothing(
        r#"package p

import "sync"

func Tally(ids []int, odd func(int)) {
	var wg sync.WaitGroup
	skipped := 0
	for _, id := range ids {
		wg.Add(1)
		if id%2 == 0 {
			skipped++
			continue
		}
		go func() {
			defer wg.Done()
			odd(id)
		}()
	}
	for ; skipped > 0; skipped-- {
		wg.Done()
	}
	wg.Wait()
}
"#,
    );
}

// Skip(&wg) counts down for each host that is left out; the goroutines do for the others.
#[test]
fn a_call_counts_down_for_what_is_left_out() {
    tells_nothing(
        r#"package p

import "sync"

func Ping(hs []string, ping func(string)) {
	var wg sync.WaitGroup
	wg.Add(len(hs))
	var live []string
	for _, h := range hs {
		if h == "" {
			skip(&wg, h)
			continue
		}
		live = append(live, h)
	}
	for _, h := range live {
		go func() {
			defer wg.Done()
			ping(h)
		}()
	}
	wg.Wait()
}

func skip(wg *sync.WaitGroup, h string) {
	println("skip", h)
	wg.Done()
}
"#,
    );
}

// What a goroutine sends on slow instead of calling Done is received by the last goroutine, which calls Done
// for it, and which stays until wg.Wait has returned.
#[test]
fn another_goroutine_counts_down_for_the_slow_ones() {
    tells_nothing(
        r#"package p

import "sync"

func Run(ids []int, f func(int) bool) {
	var wg sync.WaitGroup
	slow := make(chan int, len(ids))
	for _, id := range ids {
		wg.Add(1)
		go func() {
			if !f(id) {
				slow <- id
				return
			}
			wg.Done()
		}()
	}
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case id := <-slow:
				f(id)
				wg.Done()
			case <-stop:
				return
			}
		}
	}()
	wg.Wait()
	close(stop)
}
"#,
    );
}

// Owed counts those that return without Done, first.Wait waits for all of them, and Add(-owed) settles it.
#[test]
fn what_is_owed_is_taken_off() {
    tells_nothing(
        r#"package p

import "sync"

func Owed(ns []int, f func(int) bool) {
	var wg, first sync.WaitGroup
	var mu sync.Mutex
	owed := 0
	for _, n := range ns {
		wg.Add(1)
		first.Add(1)
		go func() {
			defer first.Done()
			if !f(n) {
				mu.Lock()
				owed++
				mu.Unlock()
				return
			}
			wg.Done()
		}()
	}
	first.Wait()
	wg.Add(-owed)
	wg.Wait()
}
"#,
    );
}

// Reader sets failed before it calls Close, and Close does not wait when failed is set (nobody resets it).
#[test]
fn a_flag_leaves_the_wait_out() {
    tells_nothing(
        r#"package p

import "sync"

type Conn struct {
	wg     sync.WaitGroup
	mu     sync.Mutex
	failed bool
	closed bool
	quit   chan struct{}
	read   func(quit chan struct{}) error
}

func Open(read func(quit chan struct{}) error) *Conn {
	c := &Conn{quit: make(chan struct{}), read: read}
	c.wg.Add(1)
	go c.reader()
	return c
}

func (c *Conn) reader() {
	defer c.wg.Done()
	if c.read(c.quit) != nil {
		c.fail()
	}
}

func (c *Conn) fail() {
	c.mu.Lock()
	c.failed = true
	c.mu.Unlock()
	c.Close()
}

func (c *Conn) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.quit)
	}
	failed := c.failed
	c.mu.Unlock()
	if !failed {
		c.wg.Wait()
	}
}
"#,
    );
}

// Reader calls shut with byReader, and then shut does not wait.
#[test]
fn a_reason_leaves_the_wait_out() {
    tells_nothing(
        r#"package p

import "sync"

type reason int

const (
	byUser reason = iota
	byReader
)

type Conn struct {
	wg   sync.WaitGroup
	once sync.Once
	quit chan struct{}
	read func(<-chan struct{}) error
}

func Open(read func(<-chan struct{}) error) *Conn {
	c := &Conn{quit: make(chan struct{}), read: read}
	c.wg.Add(1)
	go c.reader()
	return c
}

func (c *Conn) reader() {
	defer c.wg.Done()
	if err := c.read(c.quit); err != nil {
		c.shut(byReader)
	}
}

func (c *Conn) shut(r reason) {
	c.once.Do(func() { close(c.quit) })
	if r == byReader {
		return
	}
	c.wg.Wait()
}

func (c *Conn) Close() { c.shut(byUser) }
"#,
    );
}

// Run closes self before it calls Close, which then returns without waiting.
#[test]
fn a_closed_channel_leaves_the_wait_out() {
    tells_nothing(
        r#"package p

import "sync"

type D struct {
	wg   sync.WaitGroup
	self chan struct{}
}

func NewD(step func() bool) *D {
	d := &D{self: make(chan struct{})}
	d.wg.Add(1)
	go d.run(step)
	return d
}

func (d *D) run(step func() bool) {
	defer d.wg.Done()
	for step() {
	}
	close(d.self)
	d.Close()
}

func (d *D) Close() {
	select {
	case <-d.self:
		return
	default:
	}
	d.wg.Wait()
}
"#,
    );
}

// Left is counted down under mu, once a goroutine, so only one goroutine sees it become zero.
#[test]
fn the_last_under_a_lock_closes() {
    tells_nothing(
        r#"package p

import "sync"

func Last(ms []func()) {
	var mu sync.Mutex
	left := len(ms)
	all := make(chan struct{})
	for _, m := range ms {
		go func() {
			m()
			mu.Lock()
			left--
			end := left == 0
			mu.Unlock()
			if end {
				close(all)
			}
		}()
	}
	if len(ms) > 0 {
		<-all
	}
}
"#,
    );
}

// Left is counted down under the lock, once a goroutine; only the last one does not return before close.
#[test]
fn all_but_the_last_return_early() {
    tells_nothing(
        r#"package p

import "sync"

func Field(fs []func()) {
	var mu sync.Mutex
	left := len(fs)
	all := make(chan struct{})
	for _, f := range fs {
		go func() {
			f()
			mu.Lock()
			defer mu.Unlock()
			left--
			if left > 0 {
				return
			}
			close(all)
		}()
	}
	if len(fs) > 0 {
		<-all
	}
}
"#,
    );
}

// Left is handed round in a channel with one place, so each number is seen by one goroutine only.
#[test]
fn a_number_that_goes_round() {
    tells_nothing(
        r#"package p

func Chan(fs []func()) {
	left := make(chan int, 1)
	left <- len(fs)
	all := make(chan struct{})
	for _, f := range fs {
		go func() {
			f()
			n := <-left - 1
			left <- n
			if n == 0 {
				close(all)
			}
		}()
	}
	if len(fs) > 0 {
		<-all
	}
}
"#,
    );
}

// The count is kept by a guarded value: do holds its lock while the literal counts down and looks.
#[test]
fn a_guarded_number() {
    tells_nothing(
        r#"package p

import "sync"

type guarded[T any] struct {
	mu sync.Mutex
	v  T
}

func (g *guarded[T]) do(f func(*T)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(&g.v)
}

func Gen(fs []func()) {
	left := &guarded[int]{v: len(fs)}
	all := make(chan struct{})
	for _, f := range fs {
		go func() {
			f()
			last := false
			left.do(func(n *int) { *n--; last = *n == 0 })
			if last {
				close(all)
			}
		}()
	}
	if len(fs) > 0 {
		<-all
	}
}
"#,
    );
}

// Nobody ever unlocks won, so TryLock succeeds once only.
#[test]
fn who_wins_the_lock_closes() {
    tells_nothing(
        r#"package p

import "sync"

func D(fs []func()) {
	var won sync.Mutex
	first := make(chan struct{})
	for _, f := range fs {
		go func() {
			f()
			if won.TryLock() {
				close(first)
			}
		}()
	}
	if len(fs) > 0 {
		<-first
	}
}
"#,
    );
}

// Bits.OnesCount(m) is the number of bits for which a goroutine was started.
#[test]
fn as_many_receives_as_bits() {
    tells_nothing(
        r#"package m

import "math/bits"

func Query(m uint, f func(int) int) int {
	ch := make(chan int)
	for i := 0; i < bits.UintSize; i++ {
		if m&(1<<i) != 0 {
			go func() { ch <- f(i) }()
		}
	}
	sum := 0
	for range bits.OnesCount(m) {
		sum += <-ch
	}
	return sum
}
"#,
    );
}

// N is the number of goroutines that were started; the receiver closes c itself after the n-th value.
#[test]
fn the_receiver_counts_down() {
    tells_nothing(
        r#"package m

// count down in range
func Collect(fs []func() error) (errs []error) {
	c := make(chan error)
	n := 0
	for _, f := range fs {
		if f != nil {
			n++
			go func() { c <- f() }()
		}
	}
	if n == 0 {
		return
	}
	for err := range c {
		errs = append(errs, err)
		if n--; n == 0 {
			close(c)
		}
	}
	return
}
"#,
    );
}

// At most len(steps) receives: ok <= need-1 and bad <= len-need before each.
#[test]
fn a_quorum() {
    tells_nothing(
        r#"package m

func quorum(steps []func() error) bool {
	need := len(steps)/2 + 1
	c := make(chan bool, len(steps))
	for _, s := range steps {
		go func() { c <- s() == nil }()
	}
	ok, bad := 0, 0
	for ok < need && bad <= len(steps)-need {
		if <-c {
			ok++
		} else {
			bad++
		}
	}
	return ok >= need
}
"#,
    );
}

// Each turn adds one to ok or bad, so there are exactly len(steps) receives for len(steps) sends.
#[test]
fn successes_and_failures() {
    tells_nothing(
        r#"package m

func all(steps []func() error) bool {
	c := make(chan bool, len(steps))
	for _, s := range steps {
		go func() { c <- s() == nil }()
	}
	ok, bad := 0, 0
	for ok+bad < len(steps) {
		if <-c {
			ok++
		} else {
			bad++
		}
	}
	return bad == 0
}
"#,
    );
}

// N counts the goroutines: len(fs), and one more if dbg != nil; there are n receives.
#[test]
fn one_more_than_there_are_elements() {
    tells_nothing(
        r#"package m

func run(fs []func() error, dbg func() error) (err error) {
	errs := make(chan error)
	n := len(fs)
	for _, f := range fs {
		go func() { errs <- f() }()
	}
	if dbg != nil {
		n++
		go func() { errs <- dbg() }()
	}
	for ; n > 0; n-- {
		err = <-errs
	}
	return
}
"#,
    );
}

// Both sides leave on the same message, the one that carries an error.
#[test]
fn an_error_is_never_nil() {
    tells_nothing(
        r#"package m

import (
	"errors"
	"io"
)

type item struct {
	v   int
	err error
}

func pump(f func() (int, error), ch chan<- item) {
	for {
		v, err := f()
		ch <- item{v, err}
		if err != nil {
			return
		}
	}
}

func Rows(f func() (int, error)) (out []int, err error) {
	ch := make(chan item)
	go pump(f, ch)
	for {
		it := <-ch
		if errors.Is(it.err, io.EOF) {
			return out, nil
		}
		if it.err != nil {
			return out, it.err
		}
		out = append(out, it.v)
	}
}
"#,
    );
}

// The one message with an error is the last that is sent, on either way out of pump.
#[test]
fn a_value_of_a_struct_is_never_nil() {
    tells_nothing(
        r#"package m

type item struct {
	v   int
	err error
}

type eof struct{}

func (eof) Error() string { return "eof" }

func pump(n int, f func(int) (int, error), ch chan<- item) {
	for i := range n {
		v, err := f(i)
		ch <- item{v, err}
		if err != nil {
			return
		}
	}
	ch <- item{err: eof{}}
}

func Rows(n int, f func(int) (int, error)) (out []int, err error) {
	ch := make(chan item)
	go pump(n, f, ch)
	for {
		it := <-ch
		if it.err != nil {
			return out, it.err
		}
		out = append(out, it.v)
	}
}
"#,
    );
}

// End is sent last and once; the receiver leaves only on it.
#[test]
fn a_number_is_no_struct() {
    tells_nothing(
        r#"package m

type end struct{ err error }

func Rows(f func() (int, error)) (n int, err error) {
	ch := make(chan any)
	go func() {
		for {
			v, err := f()
			if err != nil {
				ch <- end{err}
				return
			}
			ch <- v
		}
	}()
	for {
		switch m := (<-ch).(type) {
		case end:
			return n, m.err
		case int:
			n += m
		}
	}
}
"#,
    );
}

// One receive less than there are elements: that is written down, and needs no guess.
#[test]
fn one_receive_less_than_there_are_elements() {
    tells_of_module(
        r#"package m

func run(fs []func() error) (err error) {
	errs := make(chan error)
	for _, f := range fs {
		go func() { errs <- f() }()
	}
	for i := 1; i < len(fs); i++ {
		err = <-errs
	}
	return
}
"#,
        &["m.go:6 send-without-receiver medium"],
    );
}

// A function that asks whether there are as many, and goes on if not, may have others.
#[test]
fn as_many_is_asked_and_not_required() {
    tells_of_module(
        r#"package m

func run(names []string, fs []func() error) (err error) {
	errs := make(chan error)
	if len(names) != len(fs) {
		println("mismatch")
	}
	for _, f := range fs {
		go func() { errs <- f() }()
	}
	for range names {
		err = <-errs
	}
	return
}
"#,
        &["m.go:9 send-without-receiver medium"],
    );
}

// A lock that a try has taken is held as any other.
#[test]
fn a_lock_that_a_try_has_taken() {
    tells_of_module(
        r#"package m

import "sync"

func run(f func()) {
	var mu sync.Mutex
	if !mu.TryLock() {
		return
	}
	f()
	mu.Lock()
	mu.Unlock()
}
"#,
        &["m.go:11 double-lock high"],
    );
}
