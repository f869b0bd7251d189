//! Locks, conditions and counters that nobody comes back to, since who would is waiting himself or has left: pairs
//! that differ in little.

use crate::cli::{tells, tells_of_file as check};

#[test]
fn a_lock_that_is_left_at_the_end_of_a_function() {
    let source = "package m\n\nimport \"sync\"\n\ntype s struct {\n\tmu sync.Mutex\n\tn  int\n}\n\n\
                  func (s *s) check() {\n\ts.mu.Lock()\n\tif s.n > 3 {\n\t\ts.mu.Unlock()\n\t\treturn\n\t}\n\
                  \ts.n++\n}\n";
    let told = ["m.go:11 unlock-missing high"];
    check(source, &told);
    // Others may name the lock, and give it back: but a function without results cannot tell them that it has it.
    let named = source.replace("mu sync", "Mu sync").replace("s.mu", "s.Mu");
    check(&named, &told);
    let gives =
        named.replace("check() {", "check() bool {").replace("\t\treturn\n", "\t\treturn false\n");
    check(&gives.replace("\ts.n++\n}", "\ts.n++\n\treturn true\n}"), &[]);
    let ends = "\nfunc (s *s) done() {\n\ts.mu.Unlock()\n}\n";
    check(&format!("{source}{ends}"), &[]);
    // Who gives it back has taken it.
    let own = "\nfunc (s *s) get() int {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\treturn s.n\n}\n";
    check(&format!("{source}{own}"), &told);
}

#[test]
fn a_lock_that_a_goroutine_gives_back_which_is_not_started_yet() {
    let source = "package m\n\nimport \"sync\"\n\ntype s struct {\n\tmu sync.Mutex\n\tn  int\n}\n\n\
                  func (s *s) handle(work func(), ok bool) {\n\ts.mu.Lock()\n\tif !ok {\n\t\treturn\n\t}\n\
                  \tgo func() {\n\t\tdefer s.mu.Unlock()\n\t\twork()\n\t}()\n}\n";
    check(source, &["m.go:11 unlock-missing high"]);
    check(&source.replace("\t\treturn\n", "\t\tprintln(s.n)\n"), &[]);
}

#[test]
fn a_read_lock_that_each_turn_leaves() {
    let source = "package m\n\nimport \"sync\"\n\ntype s struct {\n\tmu sync.RWMutex\n\tn  int\n}\n\n\
                  func (s *s) add() {\n\ts.mu.Lock()\n\ts.n++\n\ts.mu.Unlock()\n}\n\n\
                  func (s *s) loop(in chan int) {\n\tfor range in {\n\t\ts.mu.RLock()\n\t\tif s.n == 0 {\n\
                  \t\t\tcontinue\n\t\t}\n\t\ts.mu.RUnlock()\n\t}\n}\n";
    check(source, &["m.go:18 unlock-missing high"]);
    // Readers alone do not wait for each other.
    let read = source.replace("\ts.mu.Lock()\n\ts.n++\n\ts.mu.Unlock()\n", "\tprintln(s.n)\n");
    check(&read, &[]);
}

#[test]
fn what_only_the_end_of_all_frees_from_a_wait_under_a_lock() {
    let source = "package m\n\nimport \"sync\"\n\ntype W struct {\n\tmu   sync.Mutex\n\tn    int\n\
                  \tdone chan int\n\tquit chan struct{}\n}\n\n\
                  func New() *W {\n\tw := &W{done: make(chan int), quit: make(chan struct{})}\n\tgo w.loop()\n\treturn w\n}\n\n\
                  func (w *W) loop() {\n\tfor {\n\t\tselect {\n\t\tcase v := <-w.done:\n\t\t\tw.mu.Lock()\n\t\t\tw.n = v\n\
                  \t\t\tw.mu.Unlock()\n\t\tcase <-w.quit:\n\t\t\treturn\n\t\t}\n\t}\n}\n\n\
                  func (w *W) Task(v int, late <-chan int) {\n\tw.mu.Lock()\n\tdefer w.mu.Unlock()\n\
                  \tselect {\n\tcase w.done <- v:\n\tcase <-w.quit:\n\t}\n}\n\n\
                  func (w *W) Close() {\n\tclose(w.quit)\n}\n";
    check(source, &["m.go:35 lock-held-while-blocked medium"]);
    // Its caller can end it, or it does not wait at all.
    check(
        &source.replace(
            "\tcase <-w.quit:\n\t}\n}\n\nfunc (w *W) Close",
            "\tcase <-late:\n\t}\n}\n\nfunc (w *W) Close",
        ),
        &[],
    );
    check(
        &source.replace(
            "\tcase <-w.quit:\n\t}\n}\n\nfunc (w *W) Close",
            "\tdefault:\n\t}\n}\n\nfunc (w *W) Close",
        ),
        &[],
    );
    // The receiver needs no lock.
    let free = source
        .replace("\t\t\tw.mu.Lock()\n\t\t\tw.n = v\n\t\t\tw.mu.Unlock()\n", "\t\t\tprintln(v)\n");
    check(&free, &[]);
}

#[test]
fn who_closes_the_way_out_of_a_send_needs_the_lock_of_its_caller() {
    let source = "package m\n\nimport \"sync\"\n\ntype C struct {\n\tmu     sync.Mutex\n\tout    chan int\n\
                  \tclosed chan struct{}\n}\n\n\
                  func New(flush func(int) error) *C {\n\tc := &C{out: make(chan int), closed: make(chan struct{})}\n\
                  \tgo c.write(flush)\n\treturn c\n}\n\n\
                  func (c *C) send(v int) {\n\tselect {\n\tcase c.out <- v:\n\tcase <-c.closed:\n\t}\n}\n\n\
                  func (c *C) Put(v int) {\n\tc.mu.Lock()\n\tc.send(v)\n\tc.mu.Unlock()\n}\n\n\
                  func (c *C) write(flush func(int) error) {\n\tfor {\n\t\tselect {\n\t\tcase v := <-c.out:\n\
                  \t\t\tif err := flush(v); err != nil {\n\t\t\t\tc.end()\n\t\t\t\treturn\n\t\t\t}\n\
                  \t\tcase <-c.closed:\n\t\t\treturn\n\t\t}\n\t}\n}\n\n\
                  func (c *C) end() {\n\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\tclose(c.closed)\n}\n";
    check(source, &["m.go:26 lock-held-while-blocked medium"]);
    check(&source.replace("\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\tclose", "\tclose"), &[]);
}

#[test]
fn a_condition_that_nobody_signals() {
    let source = "package m\n\nimport \"sync\"\n\ntype h struct {\n\tmu     sync.Mutex\n\tcond   *sync.Cond\n\
                  \tpaused bool\n}\n\n\
                  func newH() *h {\n\ts := &h{}\n\ts.cond = sync.NewCond(&s.mu)\n\treturn s\n}\n\n\
                  func (s *h) serve() {\n\ts.cond.L.Lock()\n\tfor s.paused {\n\t\ts.cond.Wait()\n\t}\n\
                  \ts.cond.L.Unlock()\n}\n\n\
                  func (s *h) resume() {\n\ts.mu.Lock()\n\ts.paused = false\n\ts.mu.Unlock()\n}\n";
    check(source, &["m.go:20 cond-wait-lost medium"]);
    check(
        &source.replace("\ts.paused = false\n", "\ts.paused = false\n\ts.cond.Broadcast()\n"),
        &[],
    );
    // Somebody else may.
    check(&source.replace("\treturn s\n", "\tkeep(s.cond)\n\treturn s\n"), &[]);
    let given = source
        .replace("newH() *h", "newH(cond *sync.Cond) *h")
        .replace("sync.NewCond(&s.mu)", "cond");
    check(&given, &[]);
}

#[test]
fn values_that_are_received_when_their_senders_are_done() {
    let source = "package m\n\nimport \"sync\"\n\ntype waiter struct {\n\twg   sync.WaitGroup\n\terrs chan error\n}\n\n\
                  func newWaiter() *waiter {\n\treturn &waiter{errs: make(chan error)}\n}\n\n\
                  func (w *waiter) wait(tasks []func() error) error {\n\tfor _, task := range tasks {\n\t\tw.wg.Add(1)\n\
                  \t\tgo func() {\n\t\t\tdefer w.wg.Done()\n\t\t\tif err := task(); err != nil {\n\
                  \t\t\t\tw.errs <- err\n\t\t\t}\n\t\t}()\n\t}\n\tw.wg.Wait()\n\tclose(w.errs)\n\
                  \tfor err := range w.errs {\n\t\treturn err\n\t}\n\treturn nil\n}\n";
    let told = ["m.go:20 send-without-receiver medium"];
    check(source, &told);
    check(&source.replace("make(chan error)", "make(chan error, 64)"), &[]);
    let apart = source.replace(
        "\tw.wg.Wait()\n\tclose(w.errs)\n",
        "\tgo func() {\n\t\tw.wg.Wait()\n\t\tclose(w.errs)\n\t}()\n",
    );
    check(&apart.replace("\t\treturn err\n\t}\n", "\t\tprintln(err)\n\t}\n"), &[]);
}

#[test]
fn two_values_of_a_type_that_lock_each_other() {
    let source = "package m\n\nimport \"sync\"\n\ntype hub struct {\n\tall map[string]*O\n}\n\n\
                  type O struct {\n\tmu  sync.Mutex\n\tn   int\n\thub *hub\n}\n\n\
                  func (o *O) Deliver() {\n\to.mu.Lock()\n\tdefer o.mu.Unlock()\n\tfor _, p := range o.hub.all {\n\
                  \t\tif p != o {\n\t\t\tp.mu.Lock()\n\t\t\to.n += p.n\n\t\t\tp.mu.Unlock()\n\t\t}\n\t}\n}\n";
    check(source, &["m.go:20 lock-order medium"]);
    // One lock around all of it keeps them apart.
    let around = source.replace("\tall map", "\tmu  sync.Mutex\n\tall map").replace(
        "\to.mu.Lock()\n\tdefer",
        "\to.hub.mu.Lock()\n\tdefer o.hub.mu.Unlock()\n\to.mu.Lock()\n\tdefer",
    );
    check(&around, &[]);
    let before = source.replace("\tdefer o.mu.Unlock()\n", "\to.mu.Unlock()\n");
    check(&before, &[]);
}

#[test]
fn two_orders_through_names_and_helpers() {
    let source = "package m\n\nimport \"sync\"\n\ntype A struct {\n\tmu sync.Mutex\n\tb  *B\n\tn  int\n}\n\n\
                  type B struct {\n\tmu sync.Mutex\n\ta  *A\n\tn  int\n}\n\n\
                  func New() *A {\n\ta := &A{}\n\ta.b = &B{a: a}\n\treturn a\n}\n\n\
                  func (a *A) F() {\n\ta.mu.Lock()\n\tdefer a.mu.Unlock()\n\ta.b.mu.Lock()\n\ta.b.n++\n\ta.b.mu.Unlock()\n}\n\n\
                  func (b *B) G() {\n\tb.mu.Lock()\n\tdefer b.mu.Unlock()\n\tb.tell()\n}\n\n\
                  func (b *B) tell() {\n\tb.a.mu.Lock()\n\tb.a.n++\n\tb.a.mu.Unlock()\n}\n";
    let told = ["m.go:26 lock-order medium"];
    check(source, &told);
    let named = source
        .replace("\tb.a.mu.Lock()\n\tb.a.n++\n\tb.a.mu.Unlock()\n", "")
        .replace("\tb.tell()\n", "\ta := b.a\n\ta.mu.Lock()\n\ta.n++\n\ta.mu.Unlock()\n");
    check(&named, &told);
    check(&source.replace("\tdefer b.mu.Unlock()\n", "\tb.mu.Unlock()\n"), &[]);
}

#[test]
fn an_interface_of_locks_is_locked_twice() {
    let source = "package m\n\nimport \"sync\"\n\ntype lock interface {\n\tsync.Locker\n\tRLock()\n\tRUnlock()\n}\n\n\
                  type M struct {\n\tmu lock\n\tn  int\n}\n\nfunc New() *M {\n\treturn &M{mu: &sync.RWMutex{}}\n}\n\n\
                  func (m *M) Clear() {\n\tm.mu.Lock()\n\tdefer m.mu.Unlock()\n\tm.tell()\n}\n\n\
                  func (m *M) tell() {\n\tm.mu.RLock()\n\tprintln(m.n)\n\tm.mu.RUnlock()\n}\n";
    check(source, &["m.go:23 double-lock medium"]);
    // What does more than to lock may let the same goroutine in.
    check(
        &source
            .replace("\tRLock()\n", "\tRLock()\n\tEnter(who int)\n")
            .replace("&M{mu: &sync.RWMutex{}}", "&M{}"),
        &[],
    );
}

#[test]
fn close_that_gives_up_before_it_ends_its_goroutine() {
    let source = "package m\n\nimport (\n\t\"errors\"\n\t\"os\"\n)\n\ntype W struct {\n\twork chan func()\n\tstop chan chan struct{}\n\
                  \tf    *os.File\n\tpage []byte\n\tdead bool\n}\n\n\
                  func New(f *os.File) *W {\n\tw := &W{work: make(chan func(), 9), stop: make(chan chan struct{}), f: f}\n\
                  \tgo w.run()\n\treturn w\n}\n\n\
                  func (w *W) Do(f func()) {\n\tw.work <- f\n}\n\n\
                  func (w *W) run() {\n\tfor {\n\t\tselect {\n\t\tcase f := <-w.work:\n\t\t\tf()\n\t\tcase done := <-w.stop:\n\
                  \t\t\tclose(done)\n\t\t\treturn\n\t\t}\n\t}\n}\n\n\
                  func (w *W) flush() error {\n\t_, err := w.f.Write(w.page)\n\treturn err\n}\n\n\
                  func (w *W) Close() error {\n\tif w.dead {\n\t\treturn errors.New(\"closed\")\n\t}\n\
                  \tif err := w.flush(); err != nil {\n\t\treturn err\n\t}\n\
                  \tdone := make(chan struct{})\n\tw.stop <- done\n\t<-done\n\tw.dead = true\n\treturn nil\n}\n";
    let of_close = |source: &str, expected: &[&str]| {
        let told = |line: &&&str| line.contains("part-not-ended");
        let expected: Vec<&str> = expected.iter().filter(told).copied().collect();
        check(source, &expected);
    };
    of_close(source, &["m.go:48 part-not-ended high"]);
    // It says that it is closed already: nothing of the world fails.
    let asks =
        source.replace("_, err := w.f.Write(w.page)\n\treturn err", "return errors.New(\"\")");
    of_close(&asks, &[]);
    let first = source
        .replace("\tif err := w.flush(); err != nil {\n\t\treturn err\n\t}\n", "")
        .replace("\tw.dead = true\n\treturn nil\n", "\tw.dead = true\n\treturn w.flush()\n");
    of_close(&first, &[]);
}

#[test]
fn a_part_that_close_leaves_when_something_fails() {
    let source = "package m\n\nimport \"os\"\n\ntype pool struct {\n\twork chan func()\n\tstop chan struct{}\n}\n\n\
                  func newPool() *pool {\n\tp := &pool{work: make(chan func()), stop: make(chan struct{})}\n\
                  \tgo func() {\n\t\tfor {\n\t\t\tselect {\n\t\t\tcase f := <-p.work:\n\t\t\t\tf()\n\
                  \t\t\tcase <-p.stop:\n\t\t\t\treturn\n\t\t\t}\n\t\t}\n\t}()\n\treturn p\n}\n\n\
                  func (p *pool) do(f func()) {\n\tselect {\n\tcase p.work <- f:\n\tcase <-p.stop:\n\t}\n}\n\n\
                  func (p *pool) Close() {\n\tclose(p.stop)\n}\n\n\
                  type Server struct {\n\tpool *pool\n\tpath string\n}\n\n\
                  func New(path string) *Server {\n\treturn &Server{pool: newPool(), path: path}\n}\n\n\
                  func (s *Server) Handle(f func()) {\n\ts.pool.do(f)\n}\n\n\
                  func (s *Server) Close() error {\n\tif err := os.Remove(s.path); err != nil {\n\t\treturn err\n\t}\n\
                  \ts.pool.Close()\n\treturn nil\n}\n";
    tells(&[("m.go", source)], &["m.go:51 part-not-ended high"]);
    let ended = source.replace("\t\treturn err\n\t}\n\ts.pool", "\t\tprintln(err)\n\t}\n\ts.pool");
    tells(&[("m.go", &ended)], &[]);
    // Somebody else ends the part, too.
    let other = "\nfunc (s *Server) Pause() {\n\ts.pool.Close()\n}\n";
    tells(&[("m.go", &format!("{source}{other}"))], &[]);
}

#[test]
fn loops_that_count_their_turns() {
    let source = "package m\n\nfunc poll(stop chan struct{}, next func(int) error) error {\n\treset := make(chan struct{})\n\
                  \tgo func() {\n\t\tfor {\n\t\t\tselect {\n\t\t\tcase <-stop:\n\t\t\t\treturn\n\t\t\tcase <-reset:\n\t\t\t}\n\
                  \t\t}\n\t}()\n\tfor i := 0; ; i++ {\n\t\tif err := next(i); err != nil {\n\t\t\treturn err\n\t\t}\n\
                  \t\treset <- struct{}{}\n\t}\n}\n";
    check(source, &["m.go:18 send-without-receiver medium"]);
    let asks = source.replace(
        "\t\treset <- struct{}{}\n",
        "\t\tselect {\n\t\tcase reset <- struct{}{}:\n\t\tcase <-stop:\n\t\t}\n",
    );
    check(&asks, &[]);
}

#[test]
fn who_waits_for_its_own_end_inside_of_what_is_done_once() {
    let source = "package m\n\nimport \"sync\"\n\ntype C struct {\n\tonce sync.Once\n\tin   chan int\n\tstop chan struct{}\n\
                  \tgone chan struct{}\n}\n\n\
                  func New() *C {\n\tc := &C{in: make(chan int), stop: make(chan struct{}), gone: make(chan struct{})}\n\
                  \tgo c.write()\n\treturn c\n}\n\n\
                  func (c *C) Put(v int) {\n\tselect {\n\tcase c.in <- v:\n\tcase <-c.stop:\n\t}\n}\n\n\
                  func (c *C) write() {\n\tdefer close(c.gone)\n\tfor {\n\t\tselect {\n\t\tcase v := <-c.in:\n\
                  \t\t\tif v < 0 {\n\t\t\t\tc.Close()\n\t\t\t\treturn\n\t\t\t}\n\t\tcase <-c.stop:\n\t\t\treturn\n\t\t}\n\t}\n}\n\n\
                  func (c *C) Close() {\n\tc.once.Do(func() {\n\t\tclose(c.stop)\n\t\tc.end()\n\t})\n}\n\n\
                  func (c *C) end() {\n\t<-c.gone\n}\n";
    check(source, &["m.go:31 receive-without-sender medium"]);
    check(&source.replace("\t\t\t\tc.Close()", "\t\t\t\tgo c.Close()"), &[]);
    check(&source.replace("\t<-c.gone\n", "\tselect {\n\tcase <-c.gone:\n\tdefault:\n\t}\n"), &[]);
}

#[test]
fn a_lock_that_is_taken_twice_behind_what_others_do() {
    // So many states that what follows is not come to, were it not for one goroutine alone.
    let source = r#"package m

import "sync"

type S struct {
	mu  sync.Mutex
	rev int64
}

func load() [][]byte

func least() int64

func New() *S {
	s := &S{}
	s.restore()
	return s
}

func index() (chan<- [][]byte, <-chan int64) {
	in, out := make(chan [][]byte, 9), make(chan int64, 1)
	go func() {
		var last int64
		defer func() { out <- last }()
		for keys := range in {
			for _, key := range keys {
				switch {
				case len(key) > 3:
					last++
				case len(key) > 2:
					last--
				}
			}
		}
	}()
	return in, out
}

func (s *S) Restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restore()
}

func (s *S) restore() {
	in, out := index()
	for {
		keys := load()
		if len(keys) == 0 {
			break
		}
		in <- keys
	}
	close(in)
	s.rev = <-out
	if least() > s.rev {
		s.Compact()
	}
}

func (s *S) Compact() {
	s.mu.Lock()
	s.rev = 0
	s.mu.Unlock()
}
"#;
    check(source, &["m.go:42 double-lock medium"]);
    let given_back =
        source.replace("\tdefer s.mu.Unlock()\n\ts.restore()", "\ts.mu.Unlock()\n\ts.restore()");
    check(&given_back, &[]);
}

#[test]
fn two_orders_of_which_one_is_in_what_a_call_runs() {
    let source = "package m\n\nimport \"sync\"\n\ntype queue struct {\n\tmu    sync.Mutex\n\titems []int\n}\n\n\
                  func (q *queue) put(check func() bool, item int) {\n\tq.mu.Lock()\n\tdefer q.mu.Unlock()\n\
                  \tif check() {\n\t\tq.items = append(q.items, item)\n\t}\n}\n\n\
                  type T struct {\n\tmu     sync.Mutex\n\tqueue  *queue\n\tactive map[int]bool\n}\n\n\
                  func (t *T) Open(id int) {\n\tt.queue.put(func() bool {\n\t\tt.mu.Lock()\n\t\tdefer t.mu.Unlock()\n\
                  \t\tt.active[id] = true\n\t\treturn true\n\t}, id)\n}\n\n\
                  func (t *T) end(id int) {\n\tt.queue.put(func() bool { return true }, id)\n}\n\n\
                  func (t *T) Close() {\n\tt.mu.Lock()\n\tdefer t.mu.Unlock()\n\tfor id := range t.active {\n\
                  \t\tt.end(id)\n\t}\n}\n";
    let told = ["m.go:26 lock-order medium"];
    check(source, &told);
    // What is called keeps the lock for itself.
    let before =
        source.replace("\tif check() {\n", "\tok := check()\n\tq.mu.Lock()\n\tif ok {\n").replace(
            "\tq.mu.Lock()\n\tdefer q.mu.Unlock()\n\tok := check()\n\tq.mu.Lock()\n",
            "\tok := check()\n\tq.mu.Lock()\n\tdefer q.mu.Unlock()\n",
        );
    check(&before, &[]);
    // It runs some time later.
    check(&source.replace("\tif check() {\n", "\tgo check()\n\tif item > 0 {\n"), &[]);
}

#[test]
fn two_orders_of_an_element_that_a_method_looks_up() {
    let source = "package m\n\nimport \"sync\"\n\ntype node struct {\n\tmu    sync.RWMutex\n\tdisks map[int]int\n}\n\n\
                  func (n *node) with(f func() error) error {\n\tn.mu.RLock()\n\terr := f()\n\tn.mu.RUnlock()\n\
                  \treturn err\n}\n\n\
                  type M struct {\n\tmu    sync.RWMutex\n\tnodes map[int]*node\n\tdisks map[int]int\n}\n\n\
                  func (m *M) node(at int) (n *node, ok bool) {\n\tm.mu.RLock()\n\tn, ok = m.nodes[at]\n\tm.mu.RUnlock()\n\
                  \treturn\n}\n\n\
                  func (m *M) check(disk int) error {\n\tm.mu.RLock()\n\tdefer m.mu.RUnlock()\n\tprintln(m.disks[disk])\n\
                  \treturn nil\n}\n\n\
                  func (m *M) Add(at, disk int) error {\n\tn, ok := m.node(at)\n\tif !ok {\n\t\treturn nil\n\t}\n\
                  \treturn n.with(func() error { return m.check(disk) })\n}\n\n\
                  func (m *M) apply(at, disk int) {\n\tm.mu.Lock()\n\tdefer m.mu.Unlock()\n\tif n, ok := m.nodes[at]; ok {\n\
                  \t\tn.mu.Lock()\n\t\tn.disks[disk] = disk\n\t\tn.mu.Unlock()\n\t}\n}\n";
    check(source, &["m.go:42 lock-order medium"]);
    // A node that was made here is nobody else's.
    let own = source
        .replace("\tn, ok = m.nodes[at]\n", "\tn, ok = &node{disks: m.nodes[at].disks}, true\n");
    check(&own, &[]);
}

#[test]
fn a_lock_that_is_taken_if_a_parameter_says_so() {
    let source = "package m\n\nimport \"sync\"\n\ntype batches struct {\n\tmu sync.Mutex\n\tn  int\n}\n\n\
                  type S struct {\n\tmu  sync.Mutex\n\tall *batches\n\tn   int\n}\n\n\
                  func (s *S) count(lock bool) int {\n\tif lock {\n\t\ts.mu.Lock()\n\t\tdefer s.mu.Unlock()\n\t}\n\
                  \treturn s.n\n}\n\n\
                  func (s *S) Lead() {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\ts.all.mu.Lock()\n\ts.all.n++\n\
                  \ts.all.mu.Unlock()\n}\n\n\
                  func (s *S) Commit() {\n\ts.all.mu.Lock()\n\tdefer s.all.mu.Unlock()\n\ts.all.n += s.count(false)\n}\n";
    check(source, &[]);
    let locks = source
        .replace("count(lock bool)", "count()")
        .replace(
            "\tif lock {\n\t\ts.mu.Lock()\n\t\tdefer s.mu.Unlock()\n\t}\n",
            "\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n",
        )
        .replace("count(false)", "count()");
    check(&locks, &["m.go:25 lock-order medium"]);
}

#[test]
fn a_goroutine_that_sends_to_itself() {
    let source = "package m\n\ntype S struct {\n\tc chan int\n}\n\n\
                  func New() *S {\n\ts := &S{c: make(chan int)}\n\tgo s.loop()\n\treturn s\n}\n\n\
                  func (s *S) Do(v int) {\n\ts.c <- v\n}\n\n\
                  func (s *S) loop() {\n\tfor v := range s.c {\n\t\tif v > 3 {\n\t\t\ts.c <- v - 1\n\t\t}\n\t}\n}\n";
    check(source, &["m.go:20 send-and-receive-in-one-goroutine medium"]);
    // Another may receive.
    check(&source.replace("\tgo s.loop()\n", "\tgo s.loop()\n\tgo s.loop()\n"), &[]);
    check(&source.replace("\t\t\ts.c <- v - 1\n", "\t\t\tgo s.Do(v - 1)\n"), &[]);
}

#[test]
fn a_method_that_comes_back_to_itself_by_what_its_maker_has_kept() {
    let source = "package m\n\nimport \"sync\"\n\ntype S struct {\n\tmu     sync.Mutex\n\tnotify func()\n\tn      int\n}\n\n\
                  func New() *S {\n\ts := &S{}\n\ts.notify = func() {\n\t\ts.mu.Lock()\n\t\ts.n++\n\t\ts.mu.Unlock()\n\t}\n\
                  \treturn s\n}\n\n\
                  func (s *S) Run() {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\ts.notify()\n}\n";
    let told = ["m.go:24 double-lock high"];
    check(source, &told);
    check(&source.replace("\tdefer s.mu.Unlock()\n", "\ts.mu.Unlock()\n"), &[]);
    // It is the lock of another.
    check(&source.replace("s.notify = func() {\n", "s.notify = func() {\n\t\ts := &S{}\n"), &[]);
    let part = source
        .replace("\tnotify func()\n", "\tpart   part\n")
        .replace(
            "\ts.notify = func() {\n\t\ts.mu.Lock()\n\t\ts.n++\n\t\ts.mu.Unlock()\n\t}\n",
            "\ts.part = &own{s}\n",
        )
        .replace("\ts.notify()\n", "\ts.part.tell()\n")
        + "\ntype part interface{ tell() }\n\ntype own struct{ s *S }\n\n\
           func (o *own) tell() {\n\to.s.mu.Lock()\n\to.s.n++\n\to.s.mu.Unlock()\n}\n";
    check(&part, &["m.go:20 double-lock high"]);
    check(&part.replace("\to.s.mu.Lock()\n\to.s.n++\n\to.s.mu.Unlock()\n", "\to.s.n++\n"), &[]);
}

#[test]
fn two_orders_of_a_part_that_is_found_or_made() {
    let source = "package m\n\nimport \"sync\"\n\ntype all struct {\n\tmu    sync.Mutex\n\tparts map[string]*part\n}\n\n\
                  type part struct {\n\tmu   sync.Mutex\n\tn    int\n\tmain *all\n\tkey  string\n}\n\n\
                  func (a *all) Get(key string) *part {\n\ta.mu.Lock()\n\tdefer a.mu.Unlock()\n\tp, ok := a.parts[key]\n\
                  \tif !ok {\n\t\tp = &part{main: a, key: key}\n\t\ta.parts[key] = p\n\t}\n\
                  \tp.mu.Lock()\n\tp.n++\n\tp.mu.Unlock()\n\treturn p\n}\n\n\
                  func (p *part) Release() {\n\tp.mu.Lock()\n\tdefer p.mu.Unlock()\n\tp.n--\n\tif p.n == 0 {\n\
                  \t\tp.main.mu.Lock()\n\t\tdefer p.main.mu.Unlock()\n\t\tdelete(p.main.parts, p.key)\n\t}\n}\n";
    check(source, &["m.go:25 lock-order medium"]);
    let before = "\ta.mu.Lock()\n\tdefer a.mu.Unlock()\n\tp, ok";
    let given_back = source
        .replace(before, "\ta.mu.Lock()\n\tp, ok")
        .replace("\tp.mu.Lock()\n\tp.n++\n", "\ta.mu.Unlock()\n\tp.mu.Lock()\n\tp.n++\n");
    check(&given_back, &[]);
    // Nobody else finds it there.
    check(&source.replace("\tp, ok := a.parts[key]\n", "\tp, ok := &part{}, false\n"), &[]);
}

#[test]
fn two_orders_of_which_one_is_over_before_the_other() {
    let source = "package m\n\nimport \"sync\"\n\ntype C struct {\n\tin, shake sync.Mutex\n\tdone      bool\n\tn         int\n}\n\n\
                  func (c *C) Shake() {\n\tc.shake.Lock()\n\tdefer c.shake.Unlock()\n\tif c.done {\n\t\treturn\n\t}\n\
                  \tc.in.Lock()\n\tdefer c.in.Unlock()\n\tc.done = true\n}\n\n\
                  func (c *C) Read() {\n\tc.Shake()\n\tc.in.Lock()\n\tdefer c.in.Unlock()\n\tc.again()\n}\n\n\
                  func (c *C) again() {\n\tc.shake.Lock()\n\tc.n++\n\tc.shake.Unlock()\n}\n";
    check(source, &[]);
    check(&source.replace("\tc.Shake()\n", "\tprintln()\n"), &["m.go:17 lock-order medium"]);
}
