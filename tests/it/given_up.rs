//! What a function gives up on one way out together with what it had made for itself, requests of several kinds, and
//! locks under another name: pairs that differ in little.

use crate::cli::tells_of_file as check;

const STREAMS: &str = r#"package m

import "context"

type stream struct {
	ctx    context.Context
	cancel context.CancelFunc
}

type server struct {
	ctx    context.Context
	active map[int]*stream
	most   int
}

func (s *server) open(id int) bool {
	st := &stream{}
	st.ctx, st.cancel = context.WithCancel(s.ctx)
	if len(s.active) >= s.most {
		return false
	}
	s.active[id] = st
	return true
}

func (s *server) close(id int) {
	s.active[id].cancel()
	delete(s.active, id)
}
"#;

#[test]
fn a_cancel_function_in_a_field_of_what_is_given_up() {
    check(STREAMS, &["m.go:20 cancel-not-called high"]);
    check(&STREAMS.replace("\t\treturn false\n", "\t\tst.cancel()\n\t\treturn false\n"), &[]);
    // The parent ends with the request, or nobody has it: nothing stays.
    let given = STREAMS.replace("open(id int)", "open(ctx context.Context, id int)");
    check(&given.replace("WithCancel(s.ctx)", "WithCancel(ctx)"), &[]);
    check(&STREAMS.replace("WithCancel(s.ctx)", "WithCancel(context.Background())"), &[]);
}

const SESSION: &str = r#"package m

import (
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func register(c *clientv3.Client, ready func() error) (*concurrency.Session, error) {
	s, err := concurrency.NewSession(c, concurrency.WithTTL(5))
	if err != nil {
		return nil, err
	}
	if err := ready(); err != nil {
		return nil, err
	}
	return s, nil
}

func keep(c *clientv3.Client, ready func() error) {
	for c.Ctx().Err() == nil {
		s, err := register(c, ready)
		if err != nil {
			continue
		}
		<-s.Done()
	}
}
"#;

#[test]
fn options_that_tie_nothing() {
    // Where it has ended by itself, who waited for that may make the next one.
    check(SESSION, &["m.go:14 lifecycle-not-ended high"]);
    // This one ends it with the context; and who is given options does not know them.
    check(&SESSION.replace("WithTTL(5)", "WithContext(c.Ctx())"), &[]);
    let given = SESSION
        .replace("ready func() error)", "ready func() error, opts ...concurrency.SessionOption)")
        .replace("concurrency.WithTTL(5)", "opts...");
    check(&given, &[]);
}

const REQUESTS: &str = r#"package m

type request struct {
	n      int
	result chan error
}

type loop struct {
	in   chan *request
	quit chan struct{}
}

func start() *loop {
	l := &loop{make(chan *request), make(chan struct{})}
	go l.run()
	return l
}

func (l *loop) run() {
	for {
		select {
		case r := <-l.in:
			if r.n > 7 {
				r.n = 0
				continue
			}
			r.result <- nil
		case <-l.quit:
			return
		}
	}
}

func (l *loop) grow(n int) error {
	r := &request{n: n, result: make(chan error, 1)}
	select {
	case l.in <- r:
		return <-r.result
	case <-l.quit:
		return nil
	}
}

func (l *loop) shrink(n int) error {
	r := &request{n: -n, result: make(chan error, 1)}
	select {
	case l.in <- r:
		return <-r.result
	case <-l.quit:
		return nil
	}
}

func (l *loop) stop() { close(l.quit) }
"#;

#[test]
fn a_request_of_one_of_two_kinds_that_is_not_answered() {
    check(REQUESTS, &["m.go:22 receive-without-sender medium"]);
    check(&REQUESTS.replace("\t\t\t\tr.n = 0\n", "\t\t\t\tr.result <- nil\n"), &[]);
}

const NOTIFIES: &str = r#"package m

import "example.com/other/lib/sync"

type mapping struct {
	mut sync.RWMutex
	all []string
}

func (m *mapping) clear() {
	m.mut.Lock()
	m.all = nil
	m.notify()
	m.mut.Unlock()
}

func (m *mapping) notify() {
	m.mut.RLock()
	defer m.mut.RUnlock()
	for _, s := range m.all {
		println(s)
	}
}
"#;

#[test]
fn a_lock_of_a_package_that_wraps_sync() {
    check(NOTIFIES, &["m.go:13 double-lock medium"]);
    check(
        &NOTIFIES.replace("\tm.notify()\n\tm.mut.Unlock()\n", "\tm.mut.Unlock()\n\tm.notify()\n"),
        &[],
    );
    // What others call by such a name may be anything.
    check(&NOTIFIES.replace("lib/sync", "lib/locks").replace("sync.", "locks."), &[]);
}
