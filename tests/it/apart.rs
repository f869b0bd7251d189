//! Programs in which locks that are taken in two orders, or twice, cannot meet.
//!
//! Nothing is stuck in any of them, and each was once told of.

use crate::cli::{tells_nothing, tells_of_module};

// Get locks an Entry that it has just made and that nobody else can reach yet, so it never waits there.
#[test]
fn who_has_just_made_it_waits_for_no_lock() {
    tells_nothing(
        r#"package p

import "sync"

type Cache struct {
	mu    sync.Mutex
	bytes int
	ents  map[string]*Entry
}

type Entry struct {
	mu    sync.Mutex
	cache *Cache
}

func (e *Entry) Grow(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cache.mu.Lock()
	e.cache.bytes += n
	e.cache.mu.Unlock()
}

func (c *Cache) Get(k string) *Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.ents[k]
	if e == nil {
		e = &Entry{cache: c}
		e.mu.Lock()
		c.bytes++
		e.mu.Unlock()
		c.ents[k] = e
	}
	return e
}
"#,
    );
}

// A block on the free list has no user (Free gives it back), so Alloc never waits for its lock.
#[test]
fn what_was_cut_off_a_list_has_no_other_user() {
    tells_nothing(
        r#"package p

import "sync"

type Arena struct {
	mu   sync.Mutex
	free []*Block
	live int
}

type Block struct {
	mu    sync.Mutex
	arena *Arena
	data  []byte
}

func (a *Arena) Alloc() *Block {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.free) == 0 {
		return &Block{arena: a}
	}
	b := a.free[0]
	a.free = a.free[1:]
	b.mu.Lock()
	b.data = b.data[:0]
	b.mu.Unlock()
	return b
}

// Free gives b back; b must not be used afterwards.
func (b *Block) Free() {
	b.arena.mu.Lock()
	defer b.arena.mu.Unlock()
	b.arena.free = append(b.arena.free, b)
}

func (b *Block) Write(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p...)
	b.arena.mu.Lock()
	b.arena.live += len(p)
	b.arena.mu.Unlock()
}
"#,
    );
}

// Bury runs for a part only that Remove has taken out of c.parts, so Sum, which holds c.mu, never waits for
// its lock.
#[test]
fn what_was_taken_out_before_the_call_is_found_by_nobody() {
    tells_nothing(
        r#"package p

import "sync"

type C struct {
	mu    sync.Mutex
	parts map[int]*P
	dead  int
}

type P struct {
	mu sync.Mutex
	c  *C
	id int
}

func (c *C) Sum() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.parts {
		p.mu.Lock()
		n += p.id
		p.mu.Unlock()
	}
	return
}

func (c *C) Add(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts[id] = &P{c: c, id: id}
}

func (c *C) Remove(id int) {
	c.mu.Lock()
	p := c.parts[id]
	delete(c.parts, id)
	c.mu.Unlock()
	if p != nil {
		p.bury()
	}
}

func (p *P) bury() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.c.mu.Lock()
	p.c.dead++
	p.c.mu.Unlock()
}
"#,
    );
}

// Load, which has the other order, runs in the constructor only, before anybody else has the store.
#[test]
fn a_constructor_takes_locks_in_any_order() {
    tells_nothing(
        r#"package p

import "sync"

type Store struct {
	mu, index sync.Mutex
	keys      []string
	data      map[string]string
}

func Open(seed map[string]string) *Store {
	s := &Store{data: map[string]string{}}
	s.load(seed)
	return s
}

func (s *Store) load(seed map[string]string) {
	s.index.Lock()
	defer s.index.Unlock()
	for k, v := range seed {
		s.mu.Lock()
		s.data[k] = v
		s.mu.Unlock()
		s.keys = append(s.keys, k)
	}
}

func (s *Store) Put(k, v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[k] = v
	s.index.Lock()
	s.keys = append(s.keys, k)
	s.index.Unlock()
}
"#,
    );
}

// Update and remove run in the one loop goroutine only; nobody else takes two locks, so nobody holds what the
// loop waits for and waits itself.
#[test]
fn one_goroutine_takes_locks_in_both_orders() {
    tells_nothing(
        r#"package p

import "sync"

type Router struct {
	routes, peers sync.Mutex
	r, p          map[string]int
	upd, drop     chan string
	stop          chan struct{}
}

func New() *Router {
	r := &Router{r: map[string]int{}, p: map[string]int{}, upd: make(chan string), drop: make(chan string), stop: make(chan struct{})}
	go r.loop()
	return r
}

func (r *Router) loop() {
	for {
		select {
		case k := <-r.upd:
			r.update(k)
		case k := <-r.drop:
			r.remove(k)
		case <-r.stop:
			return
		}
	}
}

func (r *Router) update(k string) {
	r.routes.Lock()
	defer r.routes.Unlock()
	r.peers.Lock()
	r.p[k] = r.r[k]
	r.peers.Unlock()
}

func (r *Router) remove(k string) {
	r.peers.Lock()
	defer r.peers.Unlock()
	r.routes.Lock()
	delete(r.r, k)
	r.routes.Unlock()
}

func (r *Router) Peers() int {
	r.peers.Lock()
	defer r.peers.Unlock()
	return len(r.p)
}

func (r *Router) Close() { close(r.stop) }
"#,
    );
}

// Report, with the other order, runs when wg.Wait has said that the only goroutine that calls step is over.
#[test]
fn after_the_end_of_the_other_goroutine() {
    tells_nothing(
        r#"package p

import "sync"

type Svc struct {
	wg   sync.WaitGroup
	quit chan struct{}
	x, y sync.Mutex
	n, m int
}

func New() *Svc {
	s := &Svc{quit: make(chan struct{})}
	s.wg.Add(1)
	go s.work()
	return s
}

func (s *Svc) work() {
	defer s.wg.Done()
	for {
		select {
		case <-s.quit:
			return
		default:
			s.step()
		}
	}
}

func (s *Svc) step() {
	s.x.Lock()
	defer s.x.Unlock()
	s.y.Lock()
	s.n++
	s.y.Unlock()
}

func (s *Svc) report() int {
	s.y.Lock()
	defer s.y.Unlock()
	s.x.Lock()
	defer s.x.Unlock()
	return s.n + s.m
}

// Stop is called once.
func (s *Svc) Stop() int {
	close(s.quit)
	s.wg.Wait()
	return s.report()
}
"#,
    );
}

// Busy is a channel with one place, used as a gate: Compact and Vacuum never run at the same time.
#[test]
fn behind_a_channel_with_one_place() {
    tells_nothing(
        r#"package p

import "sync"

type DB struct {
	busy       chan struct{}
	meta, data sync.Mutex
	m, d       int
}

func Open() *DB { return &DB{busy: make(chan struct{}, 1)} }

func (db *DB) Compact() {
	db.busy <- struct{}{}
	defer func() { <-db.busy }()
	db.meta.Lock()
	defer db.meta.Unlock()
	db.data.Lock()
	db.d = 0
	db.data.Unlock()
}

func (db *DB) Vacuum() {
	db.busy <- struct{}{}
	defer func() { <-db.busy }()
	db.data.Lock()
	defer db.data.Unlock()
	db.meta.Lock()
	db.m = 0
	db.meta.Unlock()
}
"#,
    );
}

// Maint is a gate (compare and swap): Compact and Vacuum never run at the same time.
#[test]
fn behind_a_compare_and_swap() {
    tells_nothing(
        r#"package p

import (
	"sync"
	"sync/atomic"
)

type DB struct {
	meta, data sync.Mutex
	m, d       int
	maint      atomic.Bool
}

func (db *DB) Compact() bool {
	if !db.maint.CompareAndSwap(false, true) {
		return false
	}
	defer db.maint.Store(false)
	db.meta.Lock()
	defer db.meta.Unlock()
	db.data.Lock()
	db.d = 0
	db.data.Unlock()
	return true
}

func (db *DB) Vacuum() bool {
	if !db.maint.CompareAndSwap(false, true) {
		return false
	}
	defer db.maint.Store(false)
	db.data.Lock()
	defer db.data.Unlock()
	db.meta.Lock()
	db.m = 0
	db.meta.Unlock()
	return true
}
"#,
    );
}

// Running, kept under mu, lets one of Forward and Backward in at a time.
#[test]
fn behind_a_flag_under_a_lock() {
    tells_nothing(
        r#"package p

import "sync"

type Ctl struct {
	mu      sync.Mutex
	running bool
	in, out sync.Mutex
	a, b    int
}

func (c *Ctl) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return false
	}
	c.running = true
	return true
}

func (c *Ctl) exit() {
	c.mu.Lock()
	c.running = false
	c.mu.Unlock()
}

func (c *Ctl) Forward() {
	if !c.enter() {
		return
	}
	defer c.exit()
	c.in.Lock()
	defer c.in.Unlock()
	c.out.Lock()
	c.b = c.a
	c.out.Unlock()
}

func (c *Ctl) Backward() {
	if !c.enter() {
		return
	}
	defer c.exit()
	c.out.Lock()
	defer c.out.Unlock()
	c.in.Lock()
	c.a = c.b
	c.in.Unlock()
}
"#,
    );
}

// A queue takes the lock of one with a higher id only, so there is no cycle.
#[test]
fn locks_in_the_order_of_their_numbers() {
    tells_nothing(
        r#"package p

import "sync"

type queue struct {
	id    int
	mu    sync.Mutex
	items []int
	all   []*queue
}

func (q *queue) steal() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range q.all {
		if o == q || o.id < q.id {
			continue
		}
		o.mu.Lock()
		q.items = append(q.items, o.items...)
		o.items = nil
		o.mu.Unlock()
	}
}
"#,
    );
}

// Max returns at its own place in the list, so it takes the locks of earlier ones only: no cycle.
#[test]
fn locks_of_those_before_itself() {
    tells_nothing(
        r#"package p

import "sync"

type W struct {
	mu  sync.Mutex
	all []*W
	q   []int
}

func (w *W) Max() (m int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.all {
		if o == w {
			return
		}
		o.mu.Lock()
		m = max(m, len(o.q))
		o.mu.Unlock()
	}
	return
}
"#,
    );
}

// Subs are a tree (only Mkdir adds, a new one): locks go from parent to child only.
#[test]
fn locks_from_parent_to_child() {
    tells_nothing(
        r#"package p

import "sync"

type Dir struct {
	mu   sync.Mutex
	subs []*Dir
	size int
}

func (d *Dir) Total() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.size
	for _, s := range d.subs {
		if s == d {
			continue
		}
		s.mu.Lock()
		t += s.size
		s.mu.Unlock()
	}
	return t
}

func (d *Dir) Mkdir() *Dir {
	s := &Dir{}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.subs = append(d.subs, s)
	return s
}
"#,
    );
}

// W.cur is another segment (a fresh one) when open locks it; the locked one is old.
#[test]
fn the_field_leads_to_another_lock_by_then() {
    tells_nothing(
        r#"package p

import "sync"

type segment struct {
	mu sync.Mutex
	n  int
}

func (s *segment) open(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n = n
}

type wal struct{ cur *segment }

func (w *wal) roll() {
	w.cur.mu.Lock()
	old := w.cur
	w.cur = &segment{}
	w.cur.open(old.n)
	old.mu.Unlock()
}
"#,
    );
}

// Rotate replaces l.cur, so write locks a fresh file; the deferred unlock is bound to the old one.
#[test]
fn a_call_gives_the_field_another_value() {
    tells_nothing(
        r#"package p

import "sync"

type file struct {
	mu sync.Mutex
	n  int
}

func (f *file) write(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n += n
}

type Log struct {
	outer sync.Mutex
	cur   *file
}

func (l *Log) rotate() { l.cur = &file{} }

func (l *Log) Write(n int) {
	l.outer.Lock()
	defer l.outer.Unlock()
	l.cur.mu.Lock()
	defer l.cur.mu.Unlock()
	if l.cur.n > 9 {
		l.rotate()
		l.cur.write(n)
		return
	}
	l.cur.n += n
}
"#,
    );
}

// The only writer, fill, runs in the constructor before anybody else has the catalog; no writer can come
// between two readers.
#[test]
fn the_only_writer_is_the_constructor() {
    tells_nothing(
        r#"package p

import "sync"

type Catalog struct {
	mu   sync.RWMutex
	tabs map[string]string
}

func Load(src map[string]string) *Catalog {
	c := &Catalog{}
	c.fill(src)
	return c
}

func (c *Catalog) fill(src map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tabs = src
}

func (c *Catalog) Has(k string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, ok := c.tabs[k]
	return ok
}

func (c *Catalog) Dangling() (n int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, r := range c.tabs {
		if !c.Has(r) {
			n++
		}
	}
	return
}
"#,
    );
}

// A gate that one of the two does not pass keeps nothing apart.
#[test]
fn a_gate_before_one_of_two_orders() {
    tells_of_module(
        r#"package m

import "sync"

type DB struct {
	busy       chan struct{}
	meta, data sync.Mutex
	m, d       int
}

func Open() *DB { return &DB{busy: make(chan struct{}, 1)} }

func (db *DB) Compact() {
	db.busy <- struct{}{}
	defer func() { <-db.busy }()
	db.meta.Lock()
	defer db.meta.Unlock()
	db.data.Lock()
	db.d = 0
	db.data.Unlock()
}

func (db *DB) Vacuum() {
	db.data.Lock()
	defer db.data.Unlock()
	db.meta.Lock()
	db.m = 0
	db.meta.Unlock()
}
"#,
        &["m.go:18 lock-order medium"],
    );
}

// Others than the one goroutine call what takes the locks in the other order.
#[test]
fn one_goroutine_and_who_closes() {
    tells_of_module(
        r#"package m

import "sync"

type Router struct {
	routes, peers sync.Mutex
	r, p          map[string]int
	upd           chan string
}

func New() *Router {
	r := &Router{r: map[string]int{}, p: map[string]int{}, upd: make(chan string)}
	go r.loop()
	return r
}

func (r *Router) loop() {
	for k := range r.upd {
		r.update(k)
	}
}

func (r *Router) update(k string) {
	r.routes.Lock()
	defer r.routes.Unlock()
	r.peers.Lock()
	r.p[k] = r.r[k]
	r.peers.Unlock()
}

func (r *Router) remove(k string) {
	r.peers.Lock()
	defer r.peers.Unlock()
	r.routes.Lock()
	delete(r.r, k)
	r.routes.Unlock()
}

func (r *Router) Drop(k string) { r.remove(k) }
func (r *Router) Close()        { close(r.upd) }
"#,
        &["m.go:26 lock-order medium"],
    );
}
