//! Methods that end an object and need the lock of what they are to end, and consumers that need the lock of who
//! waits for room: pairs that differ in little.

use crate::cli::tells_of_file as check;

/// A listener: its dialer waits for who accepts, and has the lock that `Close` takes.
const LISTENER: &str = "package m

import \"sync\"

type L struct {
\tmu     sync.Mutex
\tc      chan int
\tdone   chan struct{}
\tclosed bool
}

func New() *L {
\treturn &L{c: make(chan int), done: make(chan struct{})}
}

func (l *L) Accept() (int, bool) {
\tv, ok := <-l.c
\treturn v, ok
}

func (l *L) Dial(v int) {
\tl.mu.Lock()
\tdefer l.mu.Unlock()
\tif !l.closed {
\t\tl.c <- v
\t}
}

func (l *L) Close() {
\tl.mu.Lock()
\tdefer l.mu.Unlock()
\tif !l.closed {
\t\tclose(l.c)
\t\tl.closed = true
\t}
}
";

#[test]
fn a_close_that_needs_the_lock_of_who_waits_to_be_accepted() {
    let told = ["m.go:25 lock-held-while-blocked medium"];
    check(LISTENER, &told);
    // In the function of a `sync.Once`, too.
    let once = LISTENER
        .replace(
            "func (l *L) Close() {\n",
            "func (l *L) Close() {\n\tvar once sync.Once\n\tonce.Do(l.end)\n}\n\nfunc (l *L) end() {\n",
        )
        .replace("l.end)", "func() {\n\t\tl.mu.Lock()\n\t\tclose(l.c)\n\t\tl.mu.Unlock()\n\t})");
    check(&once, &told);
    // Room is taken in the end.
    check(&LISTENER.replace("make(chan int)", "make(chan int, 8)"), &told);
}

#[test]
fn a_dialer_that_somebody_ends() {
    // A goroutine that is always there.
    let served = LISTENER.replace(
        "\treturn &L{c: make(chan int), done: make(chan struct{})}\n",
        "\tl := &L{c: make(chan int), done: make(chan struct{})}\n\tgo l.serve()\n\treturn l\n",
    );
    let serve = "\nfunc (l *L) serve() {\n\tfor v := range l.c {\n\t\tprintln(v)\n\t}\n}\n";
    check(&format!("{served}{serve}"), &[]);
    // One that calls the method.
    let loops = "\nfunc (l *L) serve() {\n\tfor {\n\t\tif _, ok := l.Accept(); !ok {\n\t\t\treturn\n\
                 \t\t}\n\t}\n}\n";
    check(&format!("{served}{loops}"), &[]);
    // Another arm that `Close` makes ready before it takes the lock.
    let arm = LISTENER
        .replace("\t\tl.c <- v\n", "\t\tselect {\n\t\tcase l.c <- v:\n\t\tcase <-l.done:\n\t\t}\n")
        .replace("func (l *L) Close() {\n", "func (l *L) Close() {\n\tclose(l.done)\n");
    // A second `Close` panics, whatever the lock.
    check(&arm, &["m.go:33 close-misuse medium"]);
    // Who ends it does not need the lock.
    let free = LISTENER.replace(
        "func (l *L) Close() {\n\tl.mu.Lock()\n\tdefer l.mu.Unlock()\n",
        "func (l *L) Close() {\n",
    );
    check(&free, &[]);
    // Who ends it receives before.
    let drains = LISTENER.replace(
        "func (l *L) Close() {\n",
        "func (l *L) Close() {\n\tgo func() {\n\t\tfor range l.c {\n\t\t}\n\t}()\n",
    );
    check(&drains, &[]);
    // The lock is given back first.
    let early = LISTENER.replace(
        "\tdefer l.mu.Unlock()\n\tif !l.closed {\n\t\tl.c <- v\n\t}\n",
        "\tgone := l.closed\n\tl.mu.Unlock()\n\tif !gone {\n\t\tl.c <- v\n\t}\n",
    );
    check(&early, &[]);
}

/// A listener whose dialer waits until it has been accepted.
const ANSWERED: &str = "package m

import \"sync\"

type request struct {
\taccepted chan struct{}
}

type L struct {
\tmu     sync.Mutex
\tc      chan request
\tclosed bool
}

func New() *L {
\treturn &L{c: make(chan request, 8)}
}

func (l *L) Accept() bool {
\tr, ok := <-l.c
\tif !ok {
\t\treturn false
\t}
\tclose(r.accepted)
\treturn true
}

func (l *L) Dial() {
\tl.mu.Lock()
\taccepted := make(chan struct{})
\tif !l.closed {
\t\tl.c <- request{accepted: accepted}
\t\t<-accepted
\t}
\tl.mu.Unlock()
}

func (l *L) Close() {
\tl.mu.Lock()
\tif !l.closed {
\t\tclose(l.c)
\t\tl.closed = true
\t}
\tl.mu.Unlock()
}
";

#[test]
fn a_close_that_needs_the_lock_of_who_waits_for_the_answer() {
    check(ANSWERED, &["m.go:33 lock-held-while-blocked medium"]);
    // It answers its own.
    let own = ANSWERED.replace("\t\t<-accepted\n", "\t\tl.Accept()\n\t\t<-accepted\n");
    check(&own, &[]);
}

/// A queue that is filled by readers of a lock; what its consumer runs reads, too.
const QUEUE: &str = "package m

import \"sync\"

type event struct {
\tv   int
\trun func()
}

type I struct {
\tsync.RWMutex
\tall map[int]func()
\tq   chan *event
}

func New() *I {
\ti := &I{all: map[int]func(){}, q: make(chan *event, 1)}
\tgo i.loop()
\treturn i
}

func (i *I) loop() {
\tfor e := range i.q {
\t\te.run()
\t}
}

func (i *I) each() {
\ti.RLock()
\tdefer i.RUnlock()
\tfor _, f := range i.all {
\t\tf()
\t}
}

func (i *I) put(v int, run func()) {
\ti.RLock()
\tdefer i.RUnlock()
\tif i.q != nil {
\t\ti.q <- &event{v: v, run: run}
\t}
}

func (i *I) Add(v int) {
\ti.put(v, func() { i.each() })
}

func (i *I) Update(v int) {
\ti.put(v, func() { i.each() })
}

func (i *I) Remove(v int) {
\ti.Lock()
\tdelete(i.all, v)
\ti.Unlock()
}
";

#[test]
fn a_consumer_that_runs_what_takes_the_lock_of_who_fills_its_queue() {
    let told = ["m.go:40 lock-held-while-blocked medium"];
    check(QUEUE, &told);
    // Without a name for the field, and of several queues.
    check(&QUEUE.replace("&event{v: v, run: run}", "&event{v, run}"), &told);
    let several = QUEUE
        .replace("q   chan", "q   []chan")
        .replace("q: make(chan *event, 1)", "q: make([]chan *event, 1)")
        .replace("go i.loop()", "i.q[0] = make(chan *event, 1)\n\tgo i.loop(i.q[0])")
        .replace("loop() {", "loop(q chan *event) {")
        .replace("range i.q", "range q")
        .replace("if i.q !=", "if i.q[0] !=")
        .replace("\ti.q <-", "\ti.q[0] <-");
    check(&several, &["m.go:41 lock-held-while-blocked medium"]);
    // Readers alone do not wait for each other.
    let read = QUEUE.replace("\ti.Lock()\n\tdelete(i.all, v)\n\ti.Unlock()\n", "\tprintln(v)\n");
    check(&read, &[]);
    // What is run takes no lock, or that of another.
    check(&QUEUE.replace("{ i.each() }", "{ println(v) }"), &[]);
    check(&QUEUE.replace("{ i.each() }", "{ New().each() }"), &[]);
    // The lock is given back first, or the consumer starts what it runs.
    let early = QUEUE.replace(
        "\tdefer i.RUnlock()\n\tif i.q != nil {\n\t\ti.q <-",
        "\tq := i.q\n\ti.RUnlock()\n\tif q != nil {\n\t\tq <-",
    );
    check(&early, &[]);
    check(&QUEUE.replace("\t\te.run()", "\t\tgo e.run()"), &[]);
}

#[test]
fn a_consumer_that_reads_while_who_fills_its_queue_has_the_lock_to_read() {
    let source = QUEUE.replace("\t\te.run()\n", "\t\ti.each()\n\t\tprintln(e.v)\n");
    check(&source, &["m.go:41 lock-held-while-blocked medium"]);
    let read = source.replace("\ti.Lock()\n\tdelete(i.all, v)\n\ti.Unlock()\n", "\tprintln(v)\n");
    check(&read, &[]);
}

/// Two senders that wait for one receiver behind the same lock are one fault.
#[test]
fn two_senders_that_keep_one_receiver_from_its_lock() {
    let source = |size: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype R struct {{\n\tmu     sync.Mutex\n\tevents chan int\n\tn      int\n}}\n\n\
             func New() *R {{\n\tr := &R{{events: make(chan int{size})}}\n\tgo r.serve()\n\treturn r\n}}\n\n\
             func (r *R) serve() {{\n\tfor {{\n\t\tr.mu.Lock()\n\t\tr.n++\n\t\tr.mu.Unlock()\n\t\tprintln(<-r.events)\n\t}}\n}}\n\n\
             func (r *R) Add(n int) {{\n\tr.mu.Lock()\n\tdefer r.mu.Unlock()\n\tr.events <- n\n}}\n\n\
             func (r *R) Remove(n int) {{\n\tr.mu.Lock()\n\tdefer r.mu.Unlock()\n\tr.events <- -n\n}}\n"
        )
    };
    for size in ["", ", 100"] {
        check(&source(size), &["m.go:29 lock-held-while-blocked medium"]);
    }
}

/// Who sends in turn what it alone receives has not left: it stays in its own send, at each of them.
#[test]
fn a_receiver_that_calls_what_sends_to_it() {
    let source = "package m\n\nimport (\n\t\"context\"\n\t\"strconv\"\n)\n\ntype P struct {\n\tin   chan string\n\tnext chan string\n\tfail chan error\n}\n\n\
                  func New() *P {\n\treturn &P{in: make(chan string), next: make(chan string), fail: make(chan error)}\n}\n\n\
                  func (p *P) Run(ctx context.Context) {\n\tgo func() {\n\t\tfor {\n\t\t\tselect {\n\
                  \t\t\tcase n := <-p.in:\n\t\t\t\tp.add(n)\n\t\t\tcase n := <-p.next:\n\t\t\t\tp.remove(n)\n\
                  \t\t\tcase n := <-p.fail:\n\t\t\t\tprintln(n.Error())\n\t\t\tcase <-ctx.Done():\n\t\t\t\treturn\n\t\t\t}\n\t\t}\n\t}()\n}\n\n\
                  func (p *P) add(s string) {\n\tn, err := strconv.Atoi(s)\n\tif err != nil {\n\t\tp.fail <- err\n\t}\n\tprintln(n)\n}\n\n\
                  func (p *P) remove(s string) {\n\tn, err := strconv.Atoi(s)\n\tif err != nil {\n\t\tp.fail <- err\n\t}\n\tprintln(-n)\n}\n";
    check(source, &["m.go:23 send-and-receive-in-one-goroutine medium"]);
    // Others call it, too, and may come once the receiver has left.
    let called = format!("{source}\nfunc (p *P) Remove(s string) {{\n\tp.remove(s)\n}}\n");
    let told = [
        "m.go:23 send-and-receive-in-one-goroutine medium",
        "m.go:46 send-without-receiver medium",
    ];
    check(&called, &told);
}
