//! Programs in which a wait under a lock, or a lock that is not given back, is meant and harmless.
//!
//! Nothing is stuck in any of them, and each was once told of.

use crate::cli::{tells_nothing, tells_of_module};

// Each item in queue owns one of depth slots until run has taken it out, so queue (room depth) is never full
// at the send.
#[test]
fn room_that_was_reserved_before_the_lock() {
    tells_nothing(
        r#"package p

import "sync"

type Disp struct {
	mu    sync.Mutex
	slots chan struct{}
	queue chan int
	last  int
}

const depth = 8

func New() *Disp {
	d := &Disp{slots: make(chan struct{}, depth), queue: make(chan int, depth)}
	go d.run()
	return d
}

func (d *Disp) Put(v int) {
	d.slots <- struct{}{}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue <- v
}

func (d *Disp) run() {
	for v := range d.queue {
		d.mu.Lock()
		d.last = v
		d.mu.Unlock()
		<-d.slots
	}
}

// Close is called when nobody puts any more.
func (d *Disp) Close() { close(d.queue) }
"#,
    );
}

// Loop gives the token back only after it has given back the lock, and Print sends only with the token: loop
// never needs the lock before that receive.
#[test]
fn a_turn_that_was_taken_before_the_lock() {
    tells_nothing(
        r#"package p

import "sync"

type Term struct {
	mu    sync.Mutex
	lines chan string
	ready chan struct{}
	n     int
}

func New() *Term {
	t := &Term{lines: make(chan string), ready: make(chan struct{}, 1)}
	go t.loop()
	t.ready <- struct{}{}
	return t
}

func (t *Term) loop() {
	for s := range t.lines {
		t.mu.Lock()
		t.n += len(s)
		t.mu.Unlock()
		t.ready <- struct{}{}
	}
}

func (t *Term) Print(s string) {
	<-t.ready
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines <- s
}

// Close is called last.
func (t *Term) Close() {
	<-t.ready
	close(t.lines)
}
"#,
    );
}

// Run locks the owner of n, another Node (owner is set in New only, to one that existed before), never n.mu.
#[test]
fn the_receiver_locks_another_value_of_the_type() {
    tells_nothing(
        r#"package p

import "sync"

type Node struct {
	mu    sync.Mutex
	owner *Node
	q     chan int
	n     int
}

func New(owner *Node) *Node {
	n := &Node{owner: owner, q: make(chan int)}
	go n.run()
	return n
}

func (n *Node) run() {
	for v := range n.q {
		if o := n.owner; o != nil {
			o.mu.Lock()
			o.n += v
			o.mu.Unlock()
		}
	}
}

func (n *Node) Send(v int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.q <- v
}

func (n *Node) Close() { close(n.q) }
"#,
    );
}

// B.n, changed under b.mu, is the number in the buffer: the send comes only when there is room, and never
// waits.
#[test]
fn a_number_under_the_lock_says_that_there_is_room() {
    tells_nothing(
        r#"package m

import "sync"

// cond + channel: state guarded; the sender under lock to buffered channel with room by counter
type box struct {
	mu   sync.Mutex
	cond *sync.Cond
	n    int
	ch   chan int
}

func newBox(size int) *box {
	b := &box{ch: make(chan int, size)}
	b.cond = sync.NewCond(&b.mu)
	return b
}

func (b *box) put(v int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.n == cap(b.ch) {
		b.cond.Wait()
	}
	b.n++
	b.ch <- v
}

func (b *box) get() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.n == 0 {
		b.cond.Wait()
	}
	v := <-b.ch
	b.n--
	b.cond.Broadcast()
	return v
}

func (b *box) wake() { b.mu.Lock(); b.cond.Broadcast(); b.mu.Unlock() }

func Pass(xs []int, size int, f func(int)) {
	b := newBox(max(1, size))
	go func() {
		for _, x := range xs {
			b.put(x)
			b.wake()
		}
	}()
	for range xs {
		f(b.get())
	}
}
"#,
    );
}

// The lock is given away in what is sent: whoever receives the grant unlocks it (Use -> drop), the next turn
// waits for that.
#[test]
fn a_lock_that_is_sent_away() {
    tells_nothing(
        r#"package p

import "sync"

type grant struct{ mu *sync.Mutex }

func (g grant) drop() { g.mu.Unlock() }

type Arb struct {
	bus    sync.Mutex
	grants chan grant
	stop   chan struct{}
}

func (a *Arb) arbitrate() {
	for {
		a.bus.Lock()
		select {
		case a.grants <- grant{&a.bus}:
		case <-a.stop:
			a.bus.Unlock()
			return
		}
	}
}

func (a *Arb) Use(f func()) {
	g := <-a.grants
	defer g.drop()
	f()
}

func New() *Arb {
	a := &Arb{grants: make(chan grant), stop: make(chan struct{})}
	go a.arbitrate()
	return a
}

// Close is called after the last Use.
func (a *Arb) Close() { close(a.stop) }
"#,
    );
}

// Who receives from next (Do) has the lock from then on, and gives it back; the next turn waits for that.
#[test]
fn a_lock_whose_owner_is_sent_away() {
    tells_nothing(
        r#"package p

import "sync"

type Line struct {
	mu   sync.Mutex
	next chan *Line
	stop bool
}

func New() *Line {
	l := &Line{next: make(chan *Line)}
	go l.emit()
	return l
}

func (l *Line) emit() {
	for {
		l.mu.Lock()
		if l.stop {
			l.mu.Unlock()
			return
		}
		l.next <- l
	}
}

// Do is not called again after last.
func (l *Line) Do(f func(), last bool) {
	l = <-l.next
	f()
	l.stop = last
	l.mu.Unlock()
}
"#,
    );
}

// More turns are given out than there is room: who has one may find the queue full.
#[test]
fn more_turns_than_room() {
    tells_of_module(
        r#"package m

import "sync"

type Disp struct {
	mu    sync.Mutex
	slots chan struct{}
	queue chan int
	last  int
}

func New() *Disp {
	d := &Disp{slots: make(chan struct{}, 16), queue: make(chan int, 8)}
	go d.run()
	return d
}

func (d *Disp) Put(v int) {
	d.slots <- struct{}{}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue <- v
}

func (d *Disp) run() {
	for v := range d.queue {
		d.mu.Lock()
		d.last = v
		d.mu.Unlock()
		<-d.slots
	}
}

func (d *Disp) Close() { close(d.queue) }
"#,
        &["m.go:22 lock-held-while-blocked medium"],
    );
}
