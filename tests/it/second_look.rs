//! Forms that rows of historic bugs showed: each with look-alikes that stay silent.

use crate::cli::{tells_nothing, tells_of_file};

#[test]
fn a_lock_behind_an_error_that_a_method_of_the_receiver_gives() {
    let source = |held: &str| {
        format!(
            "package m\n\nimport (\n\t\"net\"\n\t\"sync\"\n)\n\ntype client struct {{\n\tmu   sync.Mutex\n\taddr string\n\
             \tconn net.Conn\n\tuser string\n}}\n\n\
             func (c *client) Connect() error {{\n\tc.mu.Lock()\n{held}\treturn c.attempt()\n}}\n\n\
             func (c *client) attempt() error {{\n\tconn, err := c.dial()\n\tif err != nil {{\n\t\treturn err\n\t}}\n\
             \tc.conn = conn\n\tc.mu.Lock()\n\tuser := c.user\n\tc.mu.Unlock()\n\tprintln(user)\n\treturn nil\n}}\n\n\
             func (c *client) dial() (net.Conn, error) {{\n\treturn net.Dial(\"tcp\", c.addr)\n}}\n"
        )
    };
    tells_of_file(&source("\tdefer c.mu.Unlock()\n"), &["m.go:18 double-lock medium"]);
    tells_of_file(&source("\tc.mu.Unlock()\n"), &[]);
}

#[test]
fn the_second_lock_that_a_function_takes() {
    let source = |reads: &str, writer: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype worker struct {{\n\tmu   sync.RWMutex\n\tdbMu sync.Mutex\n\tcfg  int\n\
             \tdb   int\n}}\n\n\
             func (w *worker) update() {{\n\tw.dbMu.Lock()\n\tdefer w.dbMu.Unlock()\n\tw.mu.RLock()\n\tcfg := w.cfg\n\
             \tw.mu.RUnlock()\n\tw.db = cfg\n}}\n\n\
             func (w *worker) Status() int {{\n\tw.mu.RLock()\n{reads}\tw.update()\n\treturn w.db\n}}\n\n{writer}"
        )
    };
    let writer =
        "func (w *worker) Set(cfg int) {\n\tw.mu.Lock()\n\tdefer w.mu.Unlock()\n\tw.cfg = cfg\n}\n";
    let told = &["m.go:24 double-lock medium"];
    tells_of_file(&source("\tdefer w.mu.RUnlock()\n", writer), told);
    tells_of_file(&source("\tw.mu.RUnlock()\n", writer), &[]);
    // Readers alone do not wait for each other.
    tells_of_file(&source("\tdefer w.mu.RUnlock()\n", ""), &[]);
}

#[test]
fn a_stop_under_the_lock_of_a_loop_that_others_run() {
    let source = |once: &str, turn: &str, stop: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype Dispatcher struct {{\n\tmu    sync.Mutex\n\talive int\n\
             \tquit  chan struct{{}}\n\tdone  chan struct{{}}\n}}\n\n\
             func New() *Dispatcher {{\n\
             \treturn &Dispatcher{{quit: make(chan struct{{}}), done: make(chan struct{{}})}}\n}}\n\n\
             func (d *Dispatcher) Run(next <-chan int) {{\n{once}\td.run(next)\n\tclose(d.done)\n}}\n\n\
             func (d *Dispatcher) run(next <-chan int) {{\n\tfor {{\n\t\tselect {{\n\t\tcase n := <-next:\n{turn}\
             \t\tcase <-d.quit:\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n\n\
             func (d *Dispatcher) Stop() {{\n\td.mu.Lock()\n\tclose(d.quit)\n{stop}}}\n"
        )
    };
    let locked = "\t\t\td.mu.Lock()\n\t\t\td.alive += n\n\t\t\td.mu.Unlock()\n";
    let free = "\t\t\tprintln(n)\n";
    let wait_under = "\t<-d.done\n\td.mu.Unlock()\n";
    tells_of_file(&source("", locked, wait_under), &["m.go:37 lock-held-while-blocked medium"]);
    tells_of_file(&source("", locked, "\td.mu.Unlock()\n\t<-d.done\n"), &[]);
    tells_of_file(&source("", free, wait_under), &[]);
    // A lock that is taken once at the start says nothing of when it is stopped.
    let once = "\td.mu.Lock()\n\td.alive = 1\n\td.mu.Unlock()\n";
    tells_of_file(&source(once, free, wait_under), &[]);
}

#[test]
fn a_group_that_a_variable_leads_to() {
    let source = |wait: &str, counted: &str, started: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype state struct {{\n\twg sync.WaitGroup\n}}\n\n\
             type Consumer struct {{\n\tmu     sync.Mutex\n\tstates map[int]*state\n}}\n\n\
             func (c *Consumer) Add(k int, errs <-chan error) {{\n\tc.mu.Lock()\n\tc.states[k] = &state{{}}\n\
             {counted}\tc.mu.Unlock()\n\tgo c.handle(k, errs)\n}}\n\n\
             func (c *Consumer) handle(k int, errs <-chan error) {{\n\tc.mu.Lock()\n\twg := &c.states[k].wg\n\
             {started}\tc.mu.Unlock()\n\tdefer wg.Done()\n\tfor err := range errs {{\n\t\tprintln(err.Error())\n\t}}\n}}\n\n\
             func (c *Consumer) Close() {{\n\tc.mu.Lock()\n\tfor _, s := range c.states {{\n{wait}\t}}\n}}\n"
        )
    };
    let counted = "\tc.states[k].wg.Add(1)\n";
    let under = "\t\ts.wg.Wait()\n\t}\n\tc.mu.Unlock()\n\tif c.states == nil {\n\t\treturn\n";
    tells_of_file(&source(under, counted, ""), &["m.go:35 lock-held-while-blocked medium"]);
    let after = "\t\tdefer s.wg.Wait()\n\t}\n\tc.mu.Unlock()\n\tif c.states == nil {\n\t\treturn\n";
    tells_of_file(&source(after, counted, ""), &[]);
    // Who counts itself under the lock is not waited for before.
    tells_of_file(&source(under, "", "\twg.Add(1)\n"), &[]);
}

#[test]
fn a_goroutine_that_is_counted_after_its_start() {
    let source = |before: &str, after: &str, elsewhere: &str| {
        format!(
            "package m\n\nimport (\n\t\"net\"\n\t\"net/http\"\n\t\"sync\"\n)\n\n\
             type server struct {{\n\twg        sync.WaitGroup\n\tlisteners []net.Listener\n}}\n\n\
             func (s *server) Start(h *http.Server) {{\n\tfor _, l := range s.listeners {{\n{before}\
             \t\tgo func(l net.Listener) {{\n\t\t\th.Serve(l)\n\t\t\ts.wg.Done()\n\t\t}}(l)\n{after}\t}}\n}}\n\n\
             func (s *server) Stop() {{\n\tfor _, l := range s.listeners {{\n\t\tl.Close()\n\t}}\n\ts.wg.Wait()\n}}\n{elsewhere}"
        )
    };
    let add = "\t\ts.wg.Add(1)\n";
    tells_of_file(&source("", add, ""), &["m.go:16 waitgroup-unbalanced high"]);
    tells_of_file(&source(add, "", ""), &[]);
    // Somebody else may keep the counter above zero.
    let kept = "\nfunc (s *server) Keep() {\n\ts.wg.Add(1)\n}\n\nfunc (s *server) Leave() {\n\ts.wg.Done()\n}\n";
    tells_of_file(&source("", add, kept), &[]);
}

#[test]
fn a_close_in_place_of_the_goroutine_that_closes() {
    let source = |way_out: &str| {
        format!(
            "package m\n\nimport \"context\"\n\ntype stream interface {{\n\tRecv() (int, error)\n}}\n\n\
             func Watch(ctx context.Context, open func() (stream, error)) (chan int, error) {{\n\
             \tc := make(chan int)\n\ts, err := open()\n\tif err != nil {{\n\t\tclose(c)\n\t\treturn nil, err\n\t}}\n\
             \tgo func() {{\n\t\tfor {{\n\t\t\tselect {{\n\t\t\tcase <-ctx.Done():\n\t\t\t\tclose(c)\n\t\t\t\treturn\n\
             \t\t\tdefault:\n\t\t\t\tn, err := s.Recv()\n\t\t\t\tif err != nil {{\n{way_out}\t\t\t\t\treturn\n\t\t\t\t}}\n\
             \t\t\t\tselect {{\n\t\t\t\tcase c <- n:\n\t\t\t\tcase <-ctx.Done():\n\t\t\t\t}}\n\
             \t\t\t}}\n\t\t}}\n\t}}()\n\treturn c, nil\n}}\n"
        )
    };
    tells_of_file(&source(""), &["m.go:25 receive-without-sender medium"]);
    tells_of_file(&source("\t\t\t\t\tclose(c)\n"), &[]);
}

#[test]
fn an_accepting_loop_that_waits_for_its_peers() {
    let source = |network: &str, bound: &str, read: &str| {
        format!(
            "package m\n\nimport (\n\t\"io\"\n\t\"net\"\n\t\"time\"\n)\n\n\
             func Serve(handle func(net.Conn)) error {{\n\tl, err := net.Listen(\"{network}\", \":7000\")\n\
             \tif err != nil {{\n\t\treturn err\n\t}}\n\tfor {{\n\t\tc, err := l.Accept()\n\t\tif err != nil {{\n\
             \t\t\treturn err\n\t\t}}\n{bound}{read}\t}}\n}}\n\n\
             func first(c net.Conn) byte {{\n\tvar b [1]byte\n\tio.ReadFull(c, b[:])\n\treturn b[0]\n}}\n\n\
             func late(c net.Conn) {{\n\tprintln(first(c))\n\ttime.Sleep(time.Second)\n}}\n"
        )
    };
    let reads = "\t\tif first(c) == 0 {\n\t\t\tgo handle(c)\n\t\t}\n";
    tells_of_file(&source("tcp", "", reads), &["m.go:27 missing-deadline medium"]);
    tells_of_file(
        &source("tcp", "\t\tc.SetReadDeadline(time.Now().Add(time.Second))\n", reads),
        &[],
    );
    tells_of_file(&source("tcp", "", "\t\tgo late(c)\n"), &[]);
    tells_of_file(&source("unix", "", reads), &[]);
}

#[test]
fn a_handshake_in_a_goroutine_for_each_connection() {
    let source = |address: &str, bound: &str| {
        format!(
            "package m\n\nimport (\n\t\"crypto/tls\"\n\t\"net\"\n\t\"time\"\n)\n\nvar limit = time.Second\n\n\
             func Serve(cfg *tls.Config) error {{\n\tl, err := net.Listen(\"tcp\", {address})\n\
             \tif err != nil {{\n\t\treturn err\n\t}}\n\tfor {{\n\t\tc, err := l.Accept()\n\
             \t\tif err != nil {{\n\t\t\treturn err\n\t\t}}\n\t\tgo handle(c, cfg)\n\t}}\n}}\n\n\
             func handle(raw net.Conn, cfg *tls.Config) {{\n\tdefer raw.Close()\n{bound}\tc := tls.Server(raw, cfg)\n\
             \tif err := c.Handshake(); err != nil {{\n\t\treturn\n\t}}\n\tprintln(c.RemoteAddr().String())\n}}\n"
        )
    };
    tells_of_file(&source("\":7000\"", ""), &["m.go:28 missing-deadline medium"]);
    tells_of_file(&source("\":7000\"", "\traw.SetDeadline(time.Now().Add(limit))\n"), &[]);
    tells_of_file(&source("\"127.0.0.1:7000\"", ""), &[]);
}

#[test]
fn the_two_outputs_of_a_process() {
    let source = |first: &str, rest: &str| {
        format!(
            "package m\n\nimport (\n\t\"bufio\"\n\t\"io\"\n\t\"os/exec\"\n)\n\n\
             func run(cmd *exec.Cmd, wanted string) error {{\n\tout, err := cmd.StdoutPipe()\n\tif err != nil {{\n\
             \t\treturn err\n\t}}\n\ttold, err := cmd.StderrPipe()\n\tif err != nil {{\n\t\treturn err\n\t}}\n\
             \tif err := cmd.Start(); err != nil {{\n\t\treturn err\n\t}}\n\tlines := bufio.NewScanner(out)\n\
             {first}{rest}\treturn cmd.Wait()\n}}\n"
        )
    };
    let lines = "\tfor lines.Scan() {\n\t\tprintln(lines.Text())\n\t}\n";
    let read = "\tio.Copy(io.Discard, told)\n";
    let beside = "\tgo io.Copy(io.Discard, told)\n";
    tells_of_file(&source(lines, read), &["m.go:22 stream-not-drained medium"]);
    tells_of_file(&source(beside, lines), &[]);
    // It goes on when it has met what it looks for.
    let until = "\tfor lines.Scan() {\n\t\tif lines.Text() == wanted {\n\t\t\tbreak\n\t\t}\n\t}\n";
    tells_of_file(&source(until, read), &[]);
}

#[test]
fn a_break_that_is_meant_for_a_loop_with_nothing_behind() {
    let source = |arm: &str| {
        format!(
            "package m\n\ntype plugin interface {{\n\tStop()\n\tStart()\n}}\n\n\
             func watch(p plugin, results <-chan int, stopping func() <-chan struct{{}}) {{\n\tfor {{\n\t\tselect {{\n\
             \t\tcase n := <-results:\n\t\t\tprintln(n)\n\t\tcase <-stopping():\n{arm}\t\t\tbreak\n\t\t}}\n\t}}\n}}\n"
        )
    };
    tells_of_file(&source("\t\t\tp.Stop()\n"), &["m.go:15 done-arm-does-not-leave high"]);
    tells_nothing(&source("\t\t\tp.Stop()\n\t\t\tp.Start()\n"));
    tells_nothing(&source("\t\t\tprintln()\n"));
}

#[test]
fn a_connection_below_a_generated_client() {
    let source = |client: &str, fails: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"time\"\n\n\t\"example.com/other/pb\"\n\t\"google.golang.org/grpc\"\n)\n\n\
             type watcher struct {{\n\tconn   *grpc.ClientConn\n\tstream pb.Watcher_WatchClient\n}}\n\n\
             func (w *watcher) Run(addr string) {{\n\tfor {{\n\t\tif err := w.connect(addr); err == nil {{\n\t\t\tw.serve()\n\
             \t\t}}\n\t\ttime.Sleep(time.Second)\n\t}}\n}}\n\n\
             func (w *watcher) connect(addr string) error {{\n\tconn, err := grpc.Dial(addr)\n\tif err != nil {{\n\
             \t\treturn err\n\t}}\n\tclient := {client}\n\tstream, err := client.Watch(context.Background())\n\
             \tif err != nil {{\n{fails}\t\treturn err\n\t}}\n\tw.conn, w.stream = conn, stream\n\treturn nil\n}}\n\n\
             func (w *watcher) serve() {{\n\tfor {{\n\t\tif _, err := w.stream.Recv(); err != nil {{\n\
             \t\t\tw.conn.Close()\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n"
        )
    };
    let generated = "pb.NewWatcherClient(conn)";
    tells_of_file(&source(generated, ""), &["m.go:33 lifecycle-not-ended high"]);
    tells_of_file(&source(generated, "\t\tconn.Close()\n"), &[]);
    // Whoever is given more may keep it.
    tells_of_file(&source("pb.NewWatcherClient(conn, w)", ""), &[]);
    tells_of_file(&source("pb.Register(conn)", ""), &[]);
}
