//! Ways out that nobody takes while the process lives, and functions that nobody calls.

use crate::cli::tells as check;

const GO_MOD: (&str, &str) = ("go.mod", "module example.com/m\n\ngo 1.20\n");

/// A package with a watcher that is started once, and `stop` the channel that ends it.
fn watcher(stop: &str) -> String {
    format!(
        "package watch\n\nimport \"time\"\n\ntype Watcher struct {{\n\tstop chan struct{{}}\n}}\n\n\
         func New() *Watcher {{\n\treturn &Watcher{{stop: make(chan struct{{}})}}\n}}\n\n\
         func (w *Watcher) Start(keys []string) {{\n\tfor range keys {{\n\t\tgo w.run(w.stopped())\n\t}}\n}}\n\n\
         func (w *Watcher) stopped() <-chan struct{{}} {{ return w.stop }}\n\n\
         func (w *Watcher) run(stop <-chan struct{{}}) {{\n\tticker := time.NewTicker(time.Second)\n\
         \tfor {{\n\t\tselect {{\n\t\tcase <-ticker.C:\n\t\t\tprintln()\n\t\tcase <-stop:\n\
         \t\t\treturn\n\t\t}}\n\t}}\n}}\n\n{stop}"
    )
}

/// A server that has a watcher for each request, and what it does with it at last.
fn server(end: &str) -> String {
    format!(
        "package main\n\nimport (\n\t\"net/http\"\n\n\t\"example.com/m/watch\"\n)\n\n\
         func main() {{\n\thttp.HandleFunc(\"/\", func(_ http.ResponseWriter, r *http.Request) {{\n\
         \t\tw := watch.New()\n\t\tw.Start(r.Header[\"Key\"])\n\t\t{end}\n\t}})\n\
         \thttp.ListenAndServe(\":80\", nil)\n}}\n"
    )
}

#[test]
fn a_stop_channel_that_is_closed_by_nobody_who_runs() {
    let stop = "func (w *Watcher) Stop() { close(w.stop) }\n";
    let told = |end: &str, stop: &str, confidence: &str| {
        let line = watcher(stop).lines().position(|line| line == "\t\t\treturn").expect("a return");
        let told = format!("watch/watch.go:{} timer-not-stopped {confidence}", line + 1);
        let (server, watcher) = (server(end), watcher(stop));
        check(&[GO_MOD, ("main.go", &server), ("watch/watch.go", &watcher)], &[told.as_str()]);
    };
    told("w.Stop()", stop, "high");
    told("", stop, "low");
    // By a function that another one calls, which nobody does.
    let through = "func (w *Watcher) end() { close(w.stop) }\n\nfunc endAll(all []*Watcher) {\n\
                   \tfor _, w := range all {\n\t\tw.end()\n\t}\n}\n";
    told("", through, "low");
    // The channel is somebody else's, too.
    let shared = "func (w *Watcher) Stopped() chan struct{} { return w.stop }\n";
    told("close(w.Stopped())", shared, "high");
}

#[test]
fn a_cancel_function_that_is_kept_and_called_by_nobody_who_runs() {
    let job = |stop: &str| {
        format!(
            "package job\n\nimport (\n\t\"context\"\n\t\"time\"\n)\n\ntype Job struct {{\n\
             \tcancel context.CancelFunc\n}}\n\nfunc (j *Job) Start(names []string) {{\n\
             \tctx, cancel := context.WithCancel(context.Background())\n\tj.cancel = cancel\n\
             \tfor range names {{\n\t\tgo run(ctx)\n\t}}\n}}\n\n\
             func (j *Job) Stop() {{\n\tif j.cancel != nil {{\n\t\tj.cancel()\n\t}}\n}}\n\n\
             func run(ctx context.Context) {{\n\tticker := time.NewTicker(time.Second)\n\
             \tfor {{\n\t\tselect {{\n\t\tcase <-ticker.C:\n\t\t\tprintln()\n\
             \t\tcase <-ctx.Done():\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n\n{stop}"
        )
    };
    let main = |end: &str| {
        format!(
            "package main\n\nimport (\n\t\"net/http\"\n\n\t\"example.com/m/job\"\n)\n\n\
             func main() {{\n\thttp.HandleFunc(\"/\", func(_ http.ResponseWriter, r *http.Request) {{\n\
             \t\tj := new(job.Job)\n\t\tj.Start(r.Header[\"Name\"])\n\t\t{end}\n\t}})\n\
             \thttp.ListenAndServe(\":80\", nil)\n}}\n"
        )
    };
    let (job, ended, kept) = (job(""), main("j.Stop()"), main(""));
    check(
        &[GO_MOD, ("main.go", &ended), ("job/job.go", &job)],
        &["job/job.go:33 timer-not-stopped high"],
    );
    check(
        &[GO_MOD, ("main.go", &kept), ("job/job.go", &job)],
        &["job/job.go:33 timer-not-stopped low"],
    );
}

#[test]
fn a_function_of_a_program_that_nobody_calls() {
    let first = "package search\n\nfunc First(urls []string) string {\n\tfound := make(chan string)\n\
                 \tfor _, url := range urls {\n\t\tgo func() { found <- url }()\n\t}\n\
                 \treturn <-found\n}\n\nfunc Other() {}\n";
    let main = |call: &str| {
        format!(
            "package main\n\nimport (\n\t\"net/http\"\n\n\t\"example.com/m/search\"\n)\n\nfunc main() {{\n\
             \thttp.HandleFunc(\"/\", func(http.ResponseWriter, *http.Request) {{\n\t\t{call}\n\t}})\n\
             \thttp.ListenAndServe(\":80\", nil)\n}}\n"
        )
    };
    let told = |path: &str, call: &str, confidence: &str| {
        let told = format!("search/search.go:6 send-without-receiver {confidence}");
        check(&[GO_MOD, (path, &main(call)), ("search/search.go", first)], &[told.as_str()]);
    };
    told("main.go", "search.First(nil)", "medium");
    told("main.go", "search.Other()", "low");
    // What shows how a library is used does not have to use all of it.
    told("examples/serve/main.go", "search.Other()", "medium");
    check(
        &[GO_MOD, ("search/search.go", first)],
        &["search/search.go:6 send-without-receiver medium"],
    );
}

#[test]
fn a_ticker_of_what_runs_once() {
    let main = |runs: &str| {
        format!(
            "package main\n\nimport \"time\"\n\nfunc main() {{\n{runs}}}\n\nfunc run(done <-chan bool) {{\n\
             \tticker := time.NewTicker(time.Second)\n\tfor {{\n\t\tselect {{\n\t\tcase <-ticker.C:\n\
             \t\t\tprintln()\n\t\tcase <-done:\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n"
        )
    };
    let (once, again) = (
        main("\trun(make(chan bool, 1))\n"),
        main("\tfor {\n\t\tdone := make(chan bool, 1)\n\t\tdone <- true\n\t\trun(done)\n\t}\n"),
    );
    check(&[GO_MOD, ("main.go", &once)], &["main.go:16 timer-not-stopped low"]);
    check(&[GO_MOD, ("main.go", &again)], &["main.go:20 timer-not-stopped high"]);
}

/// Who owes an answer cannot close, while it waits with it, the channel that the asker would leave by.
#[test]
fn a_way_out_that_the_stuck_goroutine_opens_itself() {
    let source = |end: &str| {
        format!(
            "package m\n\ntype call struct {{\n\tin  string\n\tout chan string\n}}\n\n\
             type session struct {{\n\tcalls chan *call\n\tdone  chan struct{{}}\n}}\n\n\
             func New() *session {{\n\ts := &session{{calls: make(chan *call), done: make(chan struct{{}})}}\n\
             \tgo s.loop()\n\treturn s\n}}\n\nfunc (s *session) loop() {{\n\tdefer s.leave()\n\
             \tfor c := range s.calls {{\n\t\tc.out <- c.in\n\t}}\n}}\n\n\
             func (s *session) leave() {{ close(s.done) }}\n\nfunc (s *session) Ask(in string) string {{\n\
             \tc := &call{{in: in, out: make(chan string)}}\n\ts.calls <- c\n\tselect {{\n\
             \tcase out := <-c.out:\n\t\treturn out\n\tcase <-s.done:\n\t\treturn \"\"\n\t}}\n}}\n{end}"
        )
    };
    let told = |end: &str, confidence: &str| {
        let source = source(end);
        let made = source.lines().position(|line| line.contains("out: make")).expect("a channel");
        let told = format!("m.go:{} send-without-receiver {confidence}", made + 1);
        check(&[GO_MOD, ("m.go", &source)], &[told.as_str()]);
    };
    told("", "low");
    told("\nfunc (s *session) Stop() { s.leave() }\n", "medium");
}

/// The reader is the only one who tells of an error, and it does not come back to its send then.
#[test]
fn a_way_out_that_only_the_sender_opens() {
    let source = |after: &str| {
        format!(
            "package m\n\nimport \"io\"\n\nfunc Serve(r io.Reader, use func(byte)) {{\n\
             \tbytes := make(chan byte)\n\terrs := make(chan error, 1)\n\tgo read(r, bytes, errs)\n\
             \tfor {{\n\t\tselect {{\n\t\tcase b := <-bytes:\n\t\t\tuse(b)\n\t\tcase <-errs:\n\t\t\treturn\n\
             \t\t}}\n\t}}\n}}\n\nfunc read(r io.Reader, bytes chan<- byte, errs chan<- error) {{\n\
             \tfor {{\n\t\tb := make([]byte, 1)\n\t\tif _, err := r.Read(b); err != nil {{\n\
             \t\t\terrs <- err\n\t\t\t{after}\n\t\t}}\n\t\tbytes <- b[0]\n\t}}\n}}\n"
        )
    };
    let told = "m.go:6 send-without-receiver";
    check(&[("m.go", &source("return"))], &[]);
    let again = [&format!("{told} medium"), "m.go:23 send-without-receiver medium"];
    check(&[("m.go", &source("b[0] = 0"))], &again);
}
