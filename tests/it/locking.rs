//! Locks that are given back in literals or taken again in loops: pairs of programs.

use crate::cli::tells_of_file as check;

/// A function that takes `s.mu` and loads something.
fn store(body: &str) -> String {
    format!(
        "package m\n\nimport \"sync\"\n\ntype store struct {{\n\tmu sync.Mutex\n\tn  int\n}}\n\n\
         func (s *store) load() error {{\n\tif s.n > 3 {{\n\t\treturn errFull\n\t}}\n\treturn nil\n}}\n\n\
         var errFull error\n\n\
         func (s *store) set() {{\n\ts.mu.Lock()\n\ts.n++\n\ts.mu.Unlock()\n}}\n\n{body}"
    )
}

const LOCK: &str = "\ts.mu.Lock()\n";
const LOAD: &str = "\tif err := s.load(); err != nil {\n\t\treturn err\n\t}\n";

#[test]
fn a_literal_that_is_deferred_after_a_way_out() {
    let open = |lines: &[&str]| {
        store(&format!(
            "func (s *store) open() error {{\n{}\treturn s.load()\n}}\n",
            lines.concat()
        ))
    };
    let gives = "\tdefer func() {\n\t\ts.n++\n\t\ts.mu.Unlock()\n\t}()\n";
    check(&open(&[LOCK, LOAD, gives]), &["m.go:26 unlock-missing high"]);
    check(&open(&[LOCK, gives, LOAD]), &[]);
    // A literal that is deferred before knows whether to give it back.
    let asks =
        "\tlocked := false\n\tdefer func() {\n\t\tif locked {\n\t\t\ts.mu.Unlock()\n\t\t}\n\t}()\n";
    check(&open(&[asks, LOCK, "\tlocked = true\n", LOAD]), &[]);
}

#[test]
fn a_literal_that_the_caller_gets() {
    let open = |lines: &[&str], returned: &str| {
        let lines = lines.concat().replace("return err", returned);
        store(&format!(
            "func (s *store) open() (func(), error) {{\n{lines}\treturn func() {{ s.mu.Unlock() }}, nil\n}}\n"
        ))
    };
    check(&open(&[LOCK, LOAD], "return nil, err"), &["m.go:26 unlock-missing high"]);
    let made = "\tdone := func() { s.mu.Unlock() }\n";
    check(&open(&[made, LOCK, LOAD], "done()\n\t\treturn nil, err"), &[]);
    check(&open(&[LOCK, made, LOAD], "return done, err"), &[]);
    // What else is returned may have the lock of another call.
    let other = LOAD.replace("err := s.load(); err != nil", "s.n > 7");
    check(
        &open(&[LOCK, &other], "return old, nil")
            .replace("var errFull", "var old func()\n\nvar errFull"),
        &[],
    );
}

#[test]
fn a_lock_that_is_taken_again_after_a_loop_that_may_fail() {
    let source = |set: &str, held: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype meter interface{{ Set(int) error }}\n\n\
             type site struct {{\n\tsync.RWMutex\n\tmeters []any\n\tmode   int\n}}\n\n\
             func (s *site) SetMode(m int) {{\n\ts.Lock()\n\tdefer s.Unlock()\n\ts.mode = m\n}}\n\n\
             func (s *site) apply(m int) error {{\n\tfor _, one := range s.meters {{\n\
             \t\tif c, ok := one.(meter); ok {{\n\t\t\tif err := c.Set(m); err != nil {{\n\
             \t\t\t\treturn err\n\t\t\t}}\n\t\t}}\n\t}}\n\t{set}\n\treturn nil\n}}\n\n\
             func (s *site) Control() error {{\n{held}\treturn s.apply(3)\n}}\n"
        )
    };
    let held = "\ts.Lock()\n\tdefer s.Unlock()\n";
    check(&source("s.SetMode(m)", held), &["m.go:34 double-lock medium"]);
    check(&source("s.mode = m", held), &[]);
    check(&source("s.SetMode(m)", ""), &[]);
}

#[test]
fn a_lock_of_what_is_embedded() {
    let source = |lock: &str, close: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype stream struct {{\n\tmu   sync.Mutex\n\tstop chan struct{{}}\n}}\n\n\
             func (s *stream) Close() {{\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tclose(s.stop)\n}}\n\n\
             type search struct {{\n\t*stream\n\tother   *stream\n\tpending func() int\n}}\n\n\
             func (d *search) Close() {{ d.{close}.Close() }}\n\n\
             func (d *search) closed() {{\n\tif d.pending() == 0 {{\n\t\td.Close()\n\t}}\n}}\n\n\
             func (d *search) Run() {{\n\td.{lock}.Lock()\n\td.closed()\n\td.{lock}.Unlock()\n}}\n"
        )
    };
    let told = &["m.go:32 double-lock medium"];
    for lock in ["mu", "stream.mu"] {
        check(&source(lock, "stream"), told);
        check(&source(lock, "other"), &[]);
    }
}

#[test]
fn a_send_under_a_lock_that_tells_nothing_of_the_end() {
    let source = |before: &str, after: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype listener struct {{\n\tmu     sync.Mutex\n\tconns  map[int]int\n\
             \taccept chan int\n\tdone   chan struct{{}}\n\tonce   sync.Once\n}}\n\n\
             func Listen(next func() int) *listener {{\n\
             \tl := &listener{{conns: map[int]int{{}}, accept: make(chan int), done: make(chan struct{{}})}}\n\
             \tgo l.run(next)\n\treturn l\n}}\n\n\
             func (l *listener) Accept() int {{\n\tselect {{\n\tcase c := <-l.accept:\n\t\treturn c\n\
             \tcase <-l.done:\n\t\treturn -1\n\t}}\n}}\n\n\
             func (l *listener) Close() {{\n\tl.once.Do(func() {{\n{before}\t\tclose(l.done)\n{after}\t}})\n}}\n\n\
             func (l *listener) run(next func() int) {{\n\tfor n := next(); n > 0; n = next() {{\n\
             \t\tl.get(n)\n\t}}\n}}\n\n\
             func (l *listener) get(n int) {{\n\tl.mu.Lock()\n\tdefer l.mu.Unlock()\n\
             \tif _, ok := l.conns[n]; !ok {{\n\t\tl.conns[n] = n\n\t\tl.accept <- n\n\t}}\n}}\n"
        )
    };
    let counts = "\t\tl.mu.Lock()\n\t\tprintln(len(l.conns))\n\t\tl.mu.Unlock()\n";
    check(&source("", counts), &["m.go:48 send-without-receiver medium"]);
    check(&source(counts, ""), &[]);
}

#[test]
fn a_comment_for_the_callers() {
    let source = |used: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype set struct {{\n\tmu   sync.RWMutex\n\tmsgs []int\n}}\n\n\
             type pool struct {{\n\tmu   sync.Mutex\n\tlast *set\n\tsets map[int]*set\n}}\n\n\
             func (s *set) add(n int) {{\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\ts.msgs = append(s.msgs, n)\n}}\n\n\
             func (p *pool) Add(k, n int) {{\n\tp.sets[k].add(n)\n}}\n\n\
             // Each is called with the lock held.\n\
             func (p *pool) Each(k int, f func(int) error) error {{\n\t// What has no lock of its own is another set.\n\ts := p.sets[k]\n\ts.mu.RLock()\n{used}\
             \tfor _, n := range s.msgs {{\n\t\tif err := f(n); err != nil {{\n\t\t\treturn err\n\t\t}}\n\t}}\n\
             \ts.mu.RUnlock()\n\treturn nil\n}}\n"
        )
    };
    check(&source(""), &["m.go:30 unlock-missing high"]);
    check(&source("\tp.last = s\n"), &[]);
}

#[test]
fn a_wait_in_a_method_that_is_called_with_the_lock_held() {
    let source = |write: &str, gives: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype conn struct {{\n\tmu   sync.Mutex\n\tout  sync.Mutex\n\
             \twg   sync.WaitGroup\n\tmsgs chan []byte\n\tstop chan struct{{}}\n}}\n\n\
             func Open() *conn {{\n\tc := &conn{{msgs: make(chan []byte), stop: make(chan struct{{}})}}\n\
             \tc.wg.Add(1)\n\tgo func() {{\n\t\tdefer c.wg.Done()\n\t\tc.run()\n\t}}()\n\treturn c\n}}\n\n\
             func (c *conn) run() {{\n\tfor {{\n\t\tselect {{\n\t\tcase m := <-c.msgs:\n\t\t\tc.write(m)\n\
             \t\tcase <-c.stop:\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n\n\
             func (c *conn) write(m []byte) {{\n\tc.{write}.Lock()\n\tdefer c.{write}.Unlock()\n\tprintln(len(m))\n}}\n\n\
             func (c *conn) closeLocked() {{\n\tclose(c.stop)\n{gives}}}\n\n\
             func (c *conn) Close() {{\n\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\tc.closeLocked()\n}}\n"
        )
    };
    let told = &["m.go:48 lock-held-while-blocked medium"];
    check(&source("mu", "\tc.wg.Wait()\n"), told);
    check(&source("out", "\tc.wg.Wait()\n"), &[]);
    check(&source("mu", "\tc.mu.Unlock()\n\tc.wg.Wait()\n\tc.mu.Lock()\n"), &[]);
}
