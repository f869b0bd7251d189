//! Locks, counters and channels that several functions of a package share: pairs that differ in little.

use crate::cli::{tells, tells_of_file as check};

#[test]
fn a_return_before_the_unlock_is_deferred() {
    let source = |wait: &str| {
        format!(
            "package m\n\nimport (\n\t\"errors\"\n\t\"sync\"\n)\n\ntype peer struct {{\n\tmu sync.Mutex\n\
             \tup bool\n\tn  int\n}}\n\nfunc find(all map[string]*peer, name string) *peer {{ return all[name] }}\n\n\
             func Reserve(all map[string]*peer, name string) error {{\n\tpeer := find(all, name)\n\
             \tpeer.mu.Lock()\n\tif !peer.up {{\n\t\treturn {wait}\n\t}}\n\tdefer peer.mu.Unlock()\n\
             \tpeer.n++\n\treturn nil\n}}\n\n\
             func (p *peer) start() error {{\n\tp.n = 1\n\treturn p.wait()\n}}\n\n\
             func (p *peer) wait() error {{\n\tp.mu.Unlock()\n\tprintln()\n\tp.mu.Lock()\n\
             \tdefer p.mu.Unlock()\n\treturn nil\n}}\n"
        )
    };
    check(&source("errors.New(\"down\")"), &["m.go:18 unlock-missing high"]);
    // What is called gives it back, two calls away, and takes it again for itself.
    check(&source("peer.start()"), &[]);
}

#[test]
fn a_lock_of_the_package_that_is_taken_again() {
    let source = |reset: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\nvar mu sync.Mutex\n\nvar all = map[int]*op{{}}\n\n\
             type op struct {{ n int }}\n\nfunc Create(id int) *op {{\n\tmu.Lock()\n{reset}\n\treturn all[id]\n}}\n\n\
             func (o *op) reset() {{\n\tmu.Lock()\n\tdefer mu.Unlock()\n\tif o != nil {{\n\t\to.n = 0\n\t}}\n}}\n"
        )
    };
    let within = "\tdefer mu.Unlock()\n\tall[id].reset()";
    check(&source(within), &["m.go:14 double-lock medium"]);
    check(&source("\to := all[id]\n\tmu.Unlock()\n\to.reset()"), &[]);
}

#[test]
fn a_function_that_calls_itself_with_its_lock_held() {
    let source = |unlock: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\nvar mu sync.Mutex\n\n\
             func Load(get func() (int, error)) int {{\n\tmu.Lock()\n{unlock}\tn, err := get()\n\
             \tif err != nil {{\n\t\treturn Load(get)\n\t}}\n\treturn n\n}}\n"
        )
    };
    check(&source("\tdefer mu.Unlock()\n"), &["m.go:12 double-lock medium"]);
    check(&source("\tprintln()\n\tmu.Unlock()\n"), &[]);
}

/// Locks that tell of deadlocks are locks.
#[test]
fn a_library_in_place_of_sync() {
    let source = |locks: &str| {
        format!(
            "package m\n\nimport \"{locks}\"\n\ntype voters struct {{\n\tmu deadlock.RWMutex\n\tn  int\n}}\n\n\
             func (v *voters) Load() {{\n\tv.mu.Lock()\n\tdefer v.mu.Unlock()\n\tv.init()\n}}\n\n\
             func (v *voters) init() {{\n\tv.mu.Lock()\n\tdefer v.mu.Unlock()\n\tv.n++\n}}\n"
        )
    };
    check(&source("github.com/sasha-s/go-deadlock"), &["m.go:13 double-lock medium"]);
    check(&source("example.com/other/deadlock"), &[]);
}

#[test]
fn a_lock_that_is_kept_in_a_loop_without_end() {
    let source = |turn: &str| {
        format!(
            "package m\n\nimport (\n\t\"sync\"\n\t\"time\"\n)\n\ntype ports struct {{\n\tmu  sync.Mutex\n\
             \tall map[int]bool\n}}\n\nfunc (p *ports) refresh(stop chan int) {{\n\tp.mu.Lock()\n\
             \tdefer p.mu.Unlock()\n\tfor {{\n\t\ttime.Sleep(time.Minute)\n\t\tfor port := range p.all {{\n\
             \t\t\tprintln(port)\n\t\t}}\n{turn}\t}}\n}}\n\n\
             func (p *ports) Add(port int) {{\n\tp.mu.Lock()\n\tp.all[port] = true\n\tp.mu.Unlock()\n}}\n"
        )
    };
    let told = ["m.go:14 unlock-missing high"];
    check(&source(""), &told);
    check(&source("\t\tif len(p.all) == 0 {\n\t\t\treturn\n\t\t}\n"), &[]);
    check(&source("\t\tp.mu.Unlock()\n\t\tp.mu.Lock()\n"), &[]);
}

#[test]
fn a_counter_that_nobody_counts_down() {
    let source = |done: &str, used: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype Worker struct {{\n\tquit chan struct{{}}\n\
             \tdone sync.WaitGroup\n}}\n\nfunc (w *Worker) Start() {{\n\tw.done.Add(1)\n\tgo w.loop()\n}}\n\n\
             func (w *Worker) Stop() {{\n\tclose(w.quit)\n\tw.done.Wait()\n}}\n\n\
             func (w *Worker) loop() {{\n{done}\t<-w.quit\n}}\n{used}"
        )
    };
    check(&source("", ""), &["m.go:17 waitgroup-unbalanced medium"]);
    check(&source("\tdefer w.done.Done()\n", ""), &[]);
    // Somebody else has it.
    check(&source("", "\nfunc (w *Worker) all() *sync.WaitGroup { return &w.done }\n"), &[]);
}

#[test]
fn a_goroutine_that_stops_itself_and_waits_for_its_end() {
    let source = |arm: &str| {
        format!(
            "package m\n\nimport (\n\t\"sync\"\n\t\"sync/atomic\"\n\t\"time\"\n)\n\n\
             type Live struct {{\n\tstopped int32\n\tstop    chan struct{{}}\n\twg      sync.WaitGroup\n}}\n\n\
             func (l *Live) Start() {{\n\tl.wg.Add(1)\n\tgo l.loop(time.NewTicker(time.Second))\n}}\n\n\
             func (l *Live) Stop() {{\n\tif !atomic.CompareAndSwapInt32(&l.stopped, 0, 1) {{\n\t\treturn\n\t}}\n\
             \tclose(l.stop)\n\tl.wg.Wait()\n}}\n\n\
             func (l *Live) loop(ticker *time.Ticker) {{\n\tdefer l.wg.Done()\n\tdefer ticker.Stop()\n\
             \tfor {{\n\t\tselect {{\n\t\tcase <-ticker.C:\n\t\t\tprintln()\n{arm}\
             \t\tcase <-l.stop:\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n"
        )
    };
    check(&source("\t\t\tl.Stop()\n"), &["m.go:35 waitgroup-unbalanced medium"]);
    check(&source("\t\t\tgo l.Stop()\n"), &[]);
}

/// Most goroutines of a program end with it, but not those of its requests.
#[test]
fn what_a_program_leaves_with_each_request() {
    let source = |main: &str| {
        format!(
            "package main\n\nimport (\n\t\"net/http\"\n\t\"os\"\n\t\"time\"\n)\n\n\
             func ask(name string) int {{\n\tanswer := make(chan int)\n\tgo func() {{\n\
             \t\tdefer func() {{\n\t\t\trecover()\n\t\t\tanswer <- 0\n\t\t}}()\n\t\tanswer <- look(name)\n\
             \t}}()\n\tselect {{\n\tcase n := <-answer:\n\t\treturn n\n\tcase <-time.After(time.Second):\n\
             \t\t<-answer\n\t\treturn 0\n\t}}\n}}\n\nfunc look(name string) int {{ return len(os.Getenv(name)) }}\n\n\
             func main() {{\n{main}}}\n"
        )
    };
    let serves = "\thttp.HandleFunc(\"/\", func(_ http.ResponseWriter, r *http.Request) {\n\
                  \t\tprintln(ask(r.URL.Path))\n\t})\n\thttp.ListenAndServe(\":80\", nil)\n";
    check(&source(serves), &["m.go:14 send-without-receiver high"]);
    check(&source("\tprintln(ask(\"A\"))\n"), &["m.go:14 send-without-receiver low"]);
}

#[test]
fn a_channel_that_each_goroutine_closes() {
    let source = |channel: &str| {
        format!(
            "package m\n\nimport \"net\"\n\ntype Server struct {{\n\tl     net.Listener\n\tlines chan byte\n}}\n\n\
             func (s *Server) loop() {{\n\tfor {{\n\t\tc, err := s.l.Accept()\n\t\tif err != nil {{\n\
             \t\t\treturn\n\t\t}}\n{channel}\t}}\n}}\n\n\
             func read(c net.Conn, lines chan<- byte) {{\n\tline := make([]byte, 1)\n\tfor {{\n\
             \t\tif _, err := c.Read(line); err != nil {{\n\t\t\tbreak\n\t\t}}\n\t\tlines <- line[0]\n\t}}\n\
             \tclose(lines)\n}}\n\nfunc print(lines <-chan byte) {{\n\tfor line := range lines {{\n\
             \t\tprintln(line)\n\t}}\n}}\n"
        )
    };
    check(&source("\t\tgo read(c, s.lines)\n"), &["m.go:28 close-misuse medium"]);
    let on_error = source("\t\tgo read(c, s.lines)\n")
        .replace("\tclose(lines)\n", "\tif len(line) > 0 {\n\t\tclose(lines)\n\t}\n");
    check(&on_error, &[]);
    let own = "\t\tlines := make(chan byte)\n\t\tgo read(c, lines)\n\t\tgo print(lines)\n";
    check(&source(own), &[]);
}

#[test]
fn a_channel_that_its_reader_closes() {
    let source = |end: &str| {
        format!(
            "package m\n\ntype Job struct {{\n\tdata chan []byte\n\tdone chan struct{{}}\n\
             \tnext func([]byte) error\n}}\n\nfunc New(next func([]byte) error) *Job {{\n\
             \tj := &Job{{data: make(chan []byte), done: make(chan struct{{}}), next: next}}\n\
             \tgo j.run()\n\treturn j\n}}\n\nfunc (j *Job) run() {{\n\tfor b := range j.data {{\n\
             \t\tif j.next(b) != nil {{\n\t\t\tbreak\n\t\t}}\n\t}}\n{end}}}\n\n\
             func (j *Job) Write(b []byte) bool {{\n\tselect {{\n\tcase j.data <- b:\n\t\treturn true\n\
             \tcase <-j.done:\n\t\treturn false\n\t}}\n}}\n"
        )
    };
    check(&source("\tclose(j.data)\n\tclose(j.done)\n"), &["m.go:21 close-misuse medium"]);
    check(&source("\tclose(j.done)\n"), &[]);
}

#[test]
fn a_subscriber_that_leaves_and_needs_the_lock() {
    let source = |send: &str, turn: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype Hub struct {{\n\tmu  sync.Mutex\n\tall map[chan int]bool\n}}\n\n\
             func (h *Hub) Publish(n int) {{\n\th.mu.Lock()\n\tdefer h.mu.Unlock()\n\
             \tfor c := range h.all {{\n{send}\t}}\n}}\n\n\
             func (h *Hub) Watch(send func(int) error) error {{\n\tc := make(chan int)\n\th.mu.Lock()\n\
             \th.all[c] = true\n\th.mu.Unlock()\n\tdefer h.leave(c)\n\tfor n := range c {{\n{turn}\t}}\n\
             \treturn nil\n}}\n\nfunc (h *Hub) leave(c chan int) {{\n\th.mu.Lock()\n\tdelete(h.all, c)\n\
             \th.mu.Unlock()\n}}\n"
        )
    };
    let leaves = "\t\tif err := send(n); err != nil {\n\t\t\treturn err\n\t\t}\n";
    check(&source("\t\tc <- n\n", leaves), &["m.go:14 lock-held-while-blocked medium"]);
    check(&source("\t\tc <- n\n", "\t\tsend(n)\n"), &[]);
    check(&source("\t\tselect {\n\t\tcase c <- n:\n\t\tdefault:\n\t\t}\n", leaves), &[]);
}

/// The workers are told to leave by who waits for them, once he has.
#[test]
fn a_way_out_that_is_opened_too_late_for_the_wait() {
    let source = |first: &str, last: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\nfunc Load(names []string, load func(string)) {{\n\
             \tvar wg sync.WaitGroup\n\twg.Add(len(names))\n\tnext := make(chan string, 1000)\n\
             \tdone := make(chan struct{{}})\n\tfor i := 0; i < 4; i++ {{\n\t\tgo func() {{\n\t\t\tfor {{\n\
             \t\t\t\tselect {{\n\t\t\t\tcase name := <-next:\n\t\t\t\t\tload(name)\n\t\t\t\t\twg.Done()\n\
             \t\t\t\tcase <-done:\n\t\t\t\t\treturn\n\t\t\t\t}}\n\t\t\t}}\n\t\t}}()\n\t}}\n\
             \tfor _, name := range names {{\n\t\tnext <- name\n\t}}\n{first}\twg.Wait()\n{last}}}\n"
        )
    };
    let close = "\tclose(done)\n";
    check(&source(close, ""), &["m.go:27 waitgroup-unbalanced high"]);
    check(&source("", close), &["m.go:26 waitgroup-unbalanced low"]);
}

#[test]
fn a_goroutine_that_waits_for_a_timer_which_others_stop() {
    let source = |wait: &str, rest: &str| {
        format!(
            "package m\n\nimport \"time\"\n\ntype Batch struct {{\n\ttimer *time.Timer\n\tstop  chan int\n\tn     int\n}}\n\n\
             func (b *Batch) Add(d time.Duration) {{\n\tb.n++\n\tif b.timer == nil {{\n\
             \t\tb.timer = time.NewTimer(d)\n\t\tgo b.wait(b.timer)\n\t}}\n}}\n\n\
             func (b *Batch) Flush() {{\n\tif b.timer != nil {{\n\t\tb.timer.Stop()\n{rest}\t}}\n\tb.n = 0\n}}\n\n\
             func (b *Batch) wait(timer *time.Timer) {{\n{wait}\tb.Flush()\n}}\n"
        )
    };
    let alone = "\t<-timer.C\n";
    check(&source(alone, ""), &["m.go:27 receive-without-sender medium"]);
    check(&source(alone, "\t\tb.timer.Reset(time.Second)\n"), &[]);
    let beside = "\tselect {\n\tcase <-timer.C:\n\tcase <-b.stop:\n\t}\n";
    check(&source(beside, "\t\tclose(b.stop)\n"), &[]);
}

#[test]
fn a_goroutine_that_is_counted_and_not_started() {
    let source = |fails: &str| {
        format!(
            "package m\n\nimport (\n\t\"net\"\n\t\"sync\"\n)\n\ntype Server struct {{\n\twg sync.WaitGroup\n}}\n\n\
             func (s *Server) Start(addr string) error {{\n\ts.wg.Add(1)\n\tl, err := net.Listen(\"tcp\", addr)\n\
             \tif err != nil {{\n{fails}\t\treturn err\n\t}}\n\tgo s.serve(l)\n\treturn nil\n}}\n\n\
             func (s *Server) serve(l net.Listener) {{\n\tdefer s.wg.Done()\n\tdefer l.Close()\n\
             \tfor {{\n\t\tif _, err := l.Accept(); err != nil {{\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n\n\
             func (s *Server) Wait() {{ s.wg.Wait() }}\n"
        )
    };
    check(&source(""), &["m.go:13 waitgroup-unbalanced medium"]);
    check(&source("\t\ts.wg.Done()\n"), &[]);
}

/// A ticker that a goroutine without an end goes by is in use as long as that.
#[test]
fn a_ticker_for_a_goroutine_that_goes_on() {
    let source = |end: &str| {
        format!(
            "package m\n\nimport \"time\"\n\nfunc Start(sync func() bool) {{\n\
             \tticks := time.Tick(time.Minute)\n\tgo func() {{\n\t\tfor {{\n\t\t\tselect {{\n\
             \t\t\tcase <-ticks:\n{end}\t\t\t}}\n\t\t}}\n\t}}()\n}}\n"
        )
    };
    let old = ("go.mod", "module example.com/m\n\ngo 1.20\n");
    tells(&[old, ("m.go", &source("\t\t\t\tsync()\n"))], &[]);
    let leaves = source("\t\t\t\tif sync() {\n\t\t\t\t\treturn\n\t\t\t\t}\n");
    tells(&[old, ("m.go", &leaves)], &["m.go:6 timer-not-stopped high"]);
}

#[test]
fn a_channel_that_is_closed_after_the_question() {
    let source = |send: &str, close: &str| {
        format!(
            "package m\n\nimport (\n\t\"errors\"\n\t\"sync\"\n\t\"sync/atomic\"\n)\n\ntype Queue struct {{\n\
             \tmu     sync.RWMutex\n\tclosed atomic.Bool\n\titems  chan int\n}}\n\n\
             func New(use func(int)) *Queue {{\n\tq := &Queue{{items: make(chan int, 8)}}\n\tgo q.run(use)\n\
             \treturn q\n}}\n\nfunc (q *Queue) run(use func(int)) {{\n\tfor item := range q.items {{\n\
             \t\tuse(item)\n\t}}\n}}\n\nfunc (q *Queue) Put(item int) error {{\n{send}\tif q.closed.Load() {{\n\
             \t\treturn errors.New(\"closed\")\n\t}}\n\tq.items <- item\n\treturn nil\n}}\n\n\
             func (q *Queue) Close() {{\n{close}\tif q.closed.Swap(true) {{\n\t\treturn\n\t}}\n\tclose(q.items)\n}}\n"
        )
    };
    check(&source("", ""), &["m.go:39 close-misuse medium"]);
    let locked = source(
        "\tq.mu.RLock()\n\tdefer q.mu.RUnlock()\n",
        "\tq.mu.Lock()\n\tdefer q.mu.Unlock()\n",
    );
    check(&locked, &[]);
    // A plain field says it as well, and one that counts does not.
    let plain = |set: &str| {
        source("", "")
            .replace("q.closed.Load()", "q.end > 0")
            .replace("atomic.Bool", "atomic.Bool\n\tend    int")
            .replace("\tclose(q.items)", &format!("\tq.end = {set}\n\tclose(q.items)"))
            .replace("q.closed.Swap(true)", "q.items == nil")
    };
    check(&plain("1"), &["m.go:41 close-misuse medium"]);
    check(&plain("len(q.items)"), &[]);
}

#[test]
fn a_cancel_function_that_is_kept_for_nobody() {
    let source = |stop: &str| {
        format!(
            "package m\n\nimport \"context\"\n\ntype Watcher struct {{\n\tcancel context.CancelFunc\n}}\n\n\
             func New(ctx context.Context, events <-chan int) *Watcher {{\n\tw := &Watcher{{}}\n\
             \tctx, w.cancel = context.WithCancel(ctx)\n\tgo w.watch(ctx, events)\n\treturn w\n}}\n\n\
             func (w *Watcher) watch(ctx context.Context, events <-chan int) {{\n\tfor {{\n\t\tselect {{\n\
             \t\tcase <-ctx.Done():\n\t\t\treturn\n\t\tcase event := <-events:\n\t\t\tprintln(event)\n\
             \t\t}}\n\t}}\n}}\n\nfunc (w *Watcher) Stop() {{\n{stop}}}\n"
        )
    };
    check(&source(""), &["m.go:11 cancel-not-called medium"]);
    check(&source("\tw.cancel()\n"), &[]);
    // Somebody else has it.
    check(
        &source("\tafter(w.cancel)\n")
            .replace("func (w *Watcher) Stop", "func after(func()) {}\n\nfunc (w *Watcher) Stop"),
        &[],
    );
}

#[test]
fn a_server_that_serves_under_the_lock_of_who_ends_it() {
    let source = |unlock: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"net/http\"\n\t\"sync\"\n)\n\ntype Debug struct {{\n\
             \tmu     sync.Mutex\n\tserver http.Server\n}}\n\nfunc (d *Debug) Run() {{\n\td.mu.Lock()\n\
             {unlock}\tprintln(d.server.ListenAndServe())\n}}\n\n\
             func (d *Debug) Shutdown(ctx context.Context) error {{\n\td.mu.Lock()\n\tdefer d.mu.Unlock()\n\
             \treturn d.server.Shutdown(ctx)\n}}\n"
        )
    };
    let told = ["m.go:17 lock-held-while-blocked medium"];
    check(&source("\tdefer d.mu.Unlock()\n"), &told);
    check(&source("\tprintln()\n\td.mu.Unlock()\n"), &[]);
}
