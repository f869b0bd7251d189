//! Ordinary programs in which two places agree: on what is sent, by whom, and what is the last.
//!
//! Nothing is left behind in any of them, and each was once told of.

use crate::cli::tells;

fn check(source: &str, expected: &[&str]) {
    tells(&[("go.mod", "module example.com/m\n\ngo 1.22\n"), ("m.go", source)], expected);
}

fn tells_nothing(source: &str) {
    check(source, &[]);
}

// Max(n, 1) is at least 1, so that one send on take is offered before the goroutine waits for stop.
#[test]
fn a_number_that_is_at_least_one() {
    tells_nothing(
        r#"package m

func norm(n int) int {
	if n < 1 {
		return 4
	}
	return n
}

func One(n int) {
	n = max(n, 1)
	take, stop := make(chan int), make(chan int)
	go func() {
		for free := n; ; free-- {
			if free == 0 {
				<-stop
				return
			}
			select {
			case take <- 0:
			case <-stop:
				return
			}
		}
	}()
	<-take
	close(stop)
}
"#,
    );
}

// Serve starts with max(n, 1) >= 1, so that it offers on l.take at least once.
#[test]
fn a_number_at_least_one_is_handed_on() {
    tells_nothing(
        r#"package m

type L struct{ take, stop chan int }

func (l *L) serve(free int) {
	for ; free > 0; free-- {
		select {
		case l.take <- 0:
		case <-l.stop:
			return
		}
	}
	<-l.stop
}

func One(n int) {
	l := &L{make(chan int), make(chan int)}
	go l.serve(max(n, 1))
	<-l.take
	close(l.stop)
}
"#,
    );
}

// Only one goroutine wins the CompareAndSwap, so there is one send for the one receive, and n >= 1.
#[test]
fn the_winner_of_an_atomic_operation_sends() {
    tells_nothing(
        r#"package m

import "sync/atomic"

func First(n int, f func(int) error) error {
	if n < 1 {
		return nil
	}
	res := make(chan error)
	var won atomic.Bool
	for i := range n {
		go func() {
			err := f(i)
			if !won.CompareAndSwap(false, true) {
				return
			}
			res <- err
		}()
	}
	return <-res
}
"#,
    );
}

// Only the goroutine that brings left to 0 sends: one send, one receive.
#[test]
fn the_last_to_count_down_sends() {
    tells_nothing(
        r#"package m

import "sync/atomic"

func First(n int, f func(int) error) error {
	if n < 1 {
		return nil
	}
	res := make(chan error)
	left := int64(n)
	for i := range n {
		go func() {
			f(i)
			if atomic.AddInt64(&left, -1) == 0 {
				res <- nil
			}
		}()
	}
	return <-res
}
"#,
    );
}

// First returns true once only: one send, one receive.
#[test]
fn the_first_as_a_method_says() {
    tells_nothing(
        r#"package m

import "sync"

type latch struct {
	mu   sync.Mutex
	used bool
}

func (l *latch) first() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.used
	l.used = true
	return !was
}

func Any(fs []func()) {
	if len(fs) == 0 {
		return
	}
	l := &latch{}
	res := make(chan int)
	for i, f := range fs {
		go func() {
			f()
			if l.first() {
				res <- i
			}
		}()
	}
	<-res
}
"#,
    );
}

// Only who still finds the entry, which it deletes under the lock, sends: one send, one receive.
#[test]
fn who_deletes_the_entry_sends() {
    tells_nothing(
        r#"package m

import "sync"

// claim by deletion from a map.
func Any(fs map[string]func()) string {
	if len(fs) == 0 {
		return ""
	}
	res := make(chan string)
	open := map[string]bool{"slot": true}
	var mu sync.Mutex
	for k, f := range fs {
		go func() {
			f()
			mu.Lock()
			ok := open["slot"]
			delete(open, "slot")
			mu.Unlock()
			if ok {
				res <- k
			}
		}()
	}
	return <-res
}
"#,
    );
}

// There is one ticket, so one goroutine sends.
#[test]
fn who_gets_the_only_ticket_sends() {
    tells_nothing(
        r#"package m

// claim by token channel.
func Any(fs []func()) int {
	if len(fs) == 0 {
		return -1
	}
	res := make(chan int)
	ticket := make(chan struct{}, 1)
	ticket <- struct{}{}
	for i, f := range fs {
		go func() {
			f()
			select {
			case <-ticket:
				res <- i
			default:
			}
		}()
	}
	return <-res
}
"#,
    );
}

// Send is true for one goroutine only (won is set under the lock): one send, one receive.
#[test]
fn who_comes_first_under_a_lock_sends() {
    tells_nothing(
        r#"package m

import "sync"

func First(fs []func() error) error {
	if len(fs) == 0 {
		return nil
	}
	res := make(chan error)
	var mu sync.Mutex
	left, won := len(fs), false
	for _, f := range fs {
		go func() {
			err := f()
			mu.Lock()
			left--
			send := !won && (err == nil || left == 0)
			won = won || send
			mu.Unlock()
			if send {
				res <- err
			}
		}()
	}
	return <-res
}
"#,
    );
}

// Both sides leave on the same error: the one that is not nil is the last that is sent.
#[test]
fn both_sides_leave_on_an_error() {
    tells_nothing(
        r#"package m

func Rows(f func() error) (n int, err error) {
	ch := make(chan error)
	go func() {
		for {
			err := f()
			ch <- err
			if err != nil {
				return
			}
		}
	}()
	for {
		if err = <-ch; err != nil {
			return
		}
		n++
	}
}
"#,
    );
}

// Nil is the last message, and both sides leave on it.
#[test]
fn both_sides_leave_on_nil() {
    tells_nothing(
        r#"package m

// nil message = end, both leave.
func Rows(f func() *int) (n int) {
	ch := make(chan *int)
	go func() {
		for {
			v := f()
			ch <- v
			if v == nil {
				return
			}
		}
	}()
	for v := <-ch; v != nil; v = <-ch {
		n += *v
	}
	return
}
"#,
    );
}

// An empty frame is the last message, and both sides leave on it.
#[test]
fn both_sides_leave_on_what_is_empty() {
    tells_nothing(
        r#"package m

// scanner with size prefix: zero length ends.
func Frames(next func() []byte, handle func([]byte)) {
	ch := make(chan []byte)
	go func() {
		for {
			b := next()
			ch <- b
			if len(b) == 0 {
				return
			}
		}
	}()
	for {
		b := <-ch
		if len(b) == 0 {
			break
		}
		handle(b)
	}
}
"#,
    );
}

// The message of kind end is sent last and once; the receiver leaves only on it.
#[test]
fn the_message_of_the_last_kind() {
    tells_nothing(
        r#"package m

type kind int

const (
	data kind = iota
	end
)

type msg struct {
	k kind
	v int
}

func Rows(xs []int) (n int) {
	ch := make(chan msg)
	go func() {
		for _, x := range xs {
			ch <- msg{data, x}
		}
		ch <- msg{k: end}
	}()
	for {
		m := <-ch
		switch m.k {
		case end:
			return
		case data:
			n += m.v
		}
	}
}
"#,
    );
}

// One answer per want; the receiver leaves after it has taken the answer, and closes want.
#[test]
fn a_value_for_each_request() {
    tells_nothing(
        r#"package m

// consumer's demand: request channel closed
func Rows(f func() int, more func(int) bool) (out []int) {
	want, ch := make(chan struct{}), make(chan int)
	go func() {
		for range want {
			ch <- f()
		}
	}()
	defer close(want)
	for {
		want <- struct{}{}
		v := <-ch
		if !more(v) {
			return
		}
		out = append(out, v)
	}
}
"#,
    );
}

// Nil is the last result that is sent; the receiver leaves only on nil or when res is closed.
#[test]
fn both_sides_leave_when_there_is_no_error() {
    tells_nothing(
        r#"package m

import "errors"

// retry producer: up to max results, ends at first nil.
func Attempt(maxTries int, f func(int) error) error {
	res := make(chan error)
	go func() {
		defer close(res)
		for i := range maxTries {
			err := f(i)
			res <- err
			if err == nil {
				return
			}
		}
	}()
	var errs []error
	for err := range res {
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
"#,
    );
}

// The second send comes only when the first value was nil, and then the receiver takes it.
#[test]
fn a_second_value_where_the_first_was_nil() {
    tells_nothing(
        r#"package m

// steps with error: after an error both skip
func Steps(f, g func() error) error {
	step := make(chan error)
	go func() {
		err := f()
		step <- err
		if err == nil {
			step <- g()
		}
	}()
	if err := <-step; err != nil {
		return err
	}
	return <-step
}
"#,
    );
}

// The sender sends as many as each credit says, and the credits add up to len(xs).
#[test]
fn as_many_values_as_were_announced() {
    tells_nothing(
        r#"package m

// both leave after a shared number of credits
type link struct {
	data, credit chan int
}

func (l *link) recv(n int, f func(int)) {
	for got := 0; got < n; {
		k := min(4, n-got)
		l.credit <- k
		for range k {
			f(<-l.data)
		}
		got += k
	}
	close(l.credit)
}

func Send(xs []int, f func(int)) {
	l := &link{make(chan int), make(chan int)}
	go l.recv(len(xs), f)
	for k := range l.credit {
		for _, x := range xs[:k] {
			l.data <- x
		}
		xs = xs[k:]
	}
}
"#,
    );
}

// An empty buffer is the last that is sent, and both sides leave on it.
#[test]
fn a_receiver_that_closes_on_the_last() {
    tells_nothing(
        r#"package m

// exchange by swap of channels: double buffering
func Double(fill func([]byte) int, use func([]byte)) {
	empty, full := make(chan []byte, 2), make(chan []byte, 2)
	empty <- make([]byte, 64)
	empty <- make([]byte, 64)
	go func() {
		for {
			b := <-empty
			n := fill(b)
			full <- b[:n]
			if n == 0 {
				return
			}
		}
	}()
	for {
		b := <-full
		if len(b) == 0 {
			return
		}
		use(b)
		empty <- b[:cap(b)]
	}
}
"#,
    );
}

/// A producer that leaves after what it sent said so, and a consumer that leaves for some reason.
fn conversation(leaves: &str, gives_up: &str) -> String {
    format!(
        "package m\n\ntype item struct {{\n\tv   int\n\terr error\n}}\n\n\
         func Rows(f func() (int, error)) (n int) {{\n\tch := make(chan item)\n\tgo func() {{\n\t\tfor {{\n\
         \t\t\tv, err := f()\n\t\t\tch <- item{{v, err}}\n\t\t\tif {leaves} {{\n\t\t\t\treturn\n\t\t\t}}\n\
         \t\t}}\n\t}}()\n\tfor {{\n\t\tit := <-ch\n\t\tif {gives_up} {{\n\t\t\treturn n\n\t\t}}\n\t\tn += it.v\n\t}}\n}}\n"
    )
}

#[test]
fn a_consumer_that_leaves_before_the_last() {
    const LEFT: &[&str] = &["m.go:13 send-without-receiver medium"];
    tells_nothing(&conversation("err != nil", "it.err != nil"));
    check(&conversation("err != nil", "it.err == nil"), LEFT);
    check(&conversation("err != nil", "it.v < 0"), LEFT);
    check(&conversation("f == nil", "it.err != nil"), LEFT);
}

#[test]
fn a_loop_that_receives_its_own_condition() {
    let source = "package m\n\nfunc Rows(f func() bool) {\n\tch := make(chan bool)\n\tgo func() {\n\t\tfor {\n\
                  \t\t\tv := f()\n\t\t\tch <- v\n\t\t\tif !v {\n\t\t\t\treturn\n\t\t\t}\n\t\t}\n\t}()\n\
                  \tv := <-ch\n\tfor v {\n\t\tv = <-ch\n\t}\n}\n";
    tells_nothing(source);
    check(&source.replace("for v {", "for !v {"), &["m.go:8 send-without-receiver medium"]);
}

/// Goroutines that each send under a condition, and one receive.
fn first(sends: &str) -> String {
    format!(
        "package m\n\nimport \"sync/atomic\"\n\nfunc First(fs []func() error) (err error) {{\n\tif len(fs) == 0 {{\n\
         \t\treturn nil\n\t}}\n\tres := make(chan error)\n\tvar won atomic.Bool\n\tfor _, f := range fs {{\n\
         \t\tgo func() {{\n\t\t\terr := f()\n\t\t\t{sends}\n\t\t}}()\n\t}}\n\treturn <-res\n}}\n"
    )
}

#[test]
fn how_many_come_first() {
    tells_nothing(&first("if won.CompareAndSwap(false, true) { res <- err }"));
    let all = "if won.Load() { res <- nil } else { res <- err }";
    check(&first(all), &["m.go:14 send-without-receiver medium"]);
    check(&first("if err != nil { res <- err }"), &["m.go:14 send-without-receiver medium"]);
}

/// A loop that is told to stop, a method that sends to it, and what uses both.
fn desk(uses: &str) -> String {
    format!(
        "package m\n\nimport \"sync\"\n\ntype desk struct {{\n\tin, shut chan int\n}}\n\nfunc (d *desk) loop(f func(int)) {{\n\
         \tfor {{\n\t\tselect {{\n\t\tcase v := <-d.in:\n\t\t\tf(v)\n\t\tcase <-d.shut:\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n\n\
         func (d *desk) give(v int) {{ d.in <- v }}\n\nfunc (d *desk) stop() {{ close(d.shut) }}\n\nvar group sync.WaitGroup\n\n\
         func Each(n int, f func(int)) {{\n\td := &desk{{make(chan int), make(chan int)}}\n\tgo d.loop(f)\n{uses}}}\n"
    )
}

#[test]
fn who_sends_before_he_tells_the_receiver_to_stop() {
    const LEFT: &[&str] = &["m.go:20 send-without-receiver medium"];
    tells_nothing(&desk("\tdefer close(d.shut)\n\td.give(n)\n"));
    tells_nothing(&desk("\td.give(n)\n\td.stop()\n"));
    let apart = "\tfor i := range n {\n\t\tgroup.Add(1)\n\t\tgo func() {\n\t\t\tdefer group.Done()\n\t\t\td.give(i)\n\
                 \t\t}()\n\t}\n\tgroup.Wait()\n\tclose(d.shut)\n";
    tells_nothing(&desk(apart));
    tells_nothing(&desk("\tgo func() {\n\t\td.give(n)\n\t\tclose(d.shut)\n\t}()\n"));
    // Nobody waits for the goroutines.
    check(&desk(&apart.replace("\tgroup.Wait()\n", "")), LEFT);
    // Others may send at any time.
    let exported = desk("\tdefer close(d.shut)\n\td.give(n)\n").replace("give", "Give");
    check(&exported, LEFT);
}
// The message with last set is the last one on that way; without one the channel is closed.
#[test]
fn the_last_one_is_marked() {
    tells_nothing(
        r#"package m

// acked producer: k9 variant with ok flag
type row struct {
	v    int
	last bool
}

func Rows(xs []int, stop func(int) bool) (out []int) {
	ch := make(chan row)
	go func() {
		for _, x := range xs {
			l := stop(x)
			ch <- row{x, l}
			if l {
				return
			}
		}
		close(ch)
	}()
	for r := range ch {
		out = append(out, r.v)
		if r.last {
			return
		}
	}
	return
}
"#,
    );
}

// The receiver leaves only after it has told the producer false, on which the producer leaves.
#[test]
fn the_receiver_tells_whether_to_go_on() {
    tells_nothing(
        r#"package m

// consumer tells the producer whether to go on
func Rows(f func() int, more func(int) bool) (out []int) {
	ch, cont := make(chan int), make(chan bool)
	go func() {
		for {
			ch <- f()
			if !<-cont {
				return
			}
		}
	}()
	for {
		v := <-ch
		out = append(out, v)
		ok := more(v)
		cont <- ok
		if !ok {
			return
		}
	}
}
"#,
    );
}

// The goroutine either takes fin or sends irq, and the second select waits for whichever it is.
#[test]
fn who_is_interrupted_takes_no_more() {
    tells_nothing(
        r#"package m

import "context"

// interrupter: finished is sent, either it's taken, or interrupt result is awaited
func Interruptible(ctx context.Context, interrupt func() error, f func() error) error {
	fin, irq := make(chan struct{}), make(chan error)
	go func() {
		select {
		case <-ctx.Done():
			irq <- interrupt()
		case <-fin:
		}
	}()
	err := f()
	select {
	case fin <- struct{}{}:
	case e := <-irq:
		if e == nil {
			err = ctx.Err()
		}
	}
	return err
}
"#,
    );
}

// The callback sends if stop was too late, and then, and only then, it is received.
#[test]
fn a_callback_that_was_taken_back() {
    tells_nothing(
        r#"package m

import "context"

// AfterFunc stop same
func With(ctx context.Context, abort func(), f func() int) int {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		abort()
		done <- struct{}{}
	})
	v := f()
	if !stop() {
		<-done
	}
	return v
}
"#,
    );
}
