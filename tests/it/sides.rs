//! Pairs of programs that differ in little: one has the defect, and one looks like it.

use crate::cli::{found, module, straggler};

/// What a run tells of these files, at any confidence, as `path:line rule confidence`.
#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let module = module(files);
    let run = straggler(module.path())
        .args(["check", "--no-cache", "--format", "jsonl", "--min-confidence", "low", "./..."])
        .output();
    let told = found(run.expect("straggler runs"), ["rule", "confidence"]);
    assert_eq!(told, expected, "of {files:?}");
}

#[test]
fn a_helper_that_only_reads_from_a_body() {
    let source = |helper: &str| {
        format!(
            "package m\n\nimport (\n\t\"encoding/json\"\n\t\"net/http\"\n)\n\n{helper}\n\n\
             func Status(client *http.Client, request *http.Request) error {{\n\
             \tresponse, err := client.Do(request)\n\tif err != nil {{\n\t\treturn err\n\t}}\n\
             \tif err := failure(response); err != nil {{\n\t\treturn err\n\t}}\n\
             \treturn response.Body.Close()\n}}\n"
        )
    };
    let decodes = "func failure(response *http.Response) (err error) {\n\
                   \tif response.StatusCode < 300 {\n\t\treturn nil\n\t}\n\
                   \treturn json.NewDecoder(response.Body).Decode(&err)\n}";
    check(&[("m.go", &source(decodes))], &["m.go:21 body-not-closed high"]);
    let keeps = "var last *json.Decoder\n\nfunc failure(response *http.Response) (err error) {\n\
                 \tlast = json.NewDecoder(response.Body)\n\treturn last.Decode(&err)\n}";
    check(&[("m.go", &source(keeps))], &[]);
}

#[test]
fn a_deferred_stop_in_a_loop() {
    let source = |loops: &str| {
        format!(
            "package m\n\nimport \"time\"\n\nfunc Watch(n int, done <-chan struct{{}}, work func()) {{\n\
             \t{loops} {{\n\t\ttimer := time.NewTimer(time.Minute)\n\t\tdefer timer.Stop()\n\
             \t\tselect {{\n\t\tcase <-done:\n\t\t\treturn\n\t\tcase <-timer.C:\n\t\t\twork()\n\t\t}}\n\t}}\n}}\n"
        )
    };
    let old = ("go.mod", "module example.com/m\n\ngo 1.20\n");
    check(&[old, ("m.go", &source("for"))], &["m.go:8 timer-not-stopped medium"]);
    check(&[old, ("m.go", &source("for i := 0; i < n; i++"))], &[]);
}

#[test]
fn a_lock_that_is_embedded_one_struct_down() {
    let source = |asked: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype State struct {{\n\tsync.Mutex\n\tcode int\n}}\n\n\
             func (s *State) Code() int {{\n\ts.Lock()\n\tdefer s.Unlock()\n\treturn s.code\n}}\n\n\
             type Job struct {{\n\t*State\n\tname string\n}}\n\n\
             func (j *Job) Told(other *Job) (string, int) {{\n\tj.Lock()\n\tdefer j.Unlock()\n\
             \treturn j.name, {asked}.Code()\n}}\n"
        )
    };
    check(&[("m.go", &source("j"))], &["m.go:24 double-lock medium"]);
    check(&[("m.go", &source("other"))], &[]);
}

#[test]
fn a_callee_that_gives_a_lock_back_before_it_takes_it_itself() {
    let source = |given: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype box struct {{\n\tmu sync.Mutex\n\tn  int\n}}\n\n\
             func (b *box) leave() {{\n\tb.n++\n\t{given}\n}}\n\n\
             func (b *box) start() {{\n\tb.mu.Lock()\n\tb.n = 3\n\tb.mu.Unlock()\n}}\n\n\
             func (b *box) reset() {{\n\tb.leave()\n\tb.start()\n}}\n\n\
             func (b *box) Status(done bool) {{\n\tb.mu.Lock()\n\
             \tif done {{\n\t\tif b.n == 0 {{\n\t\t\tb.mu.Unlock()\n\t\t\treturn\n\t\t}}\n\
             \t\tb.reset()\n\t\treturn\n\t}}\n\tb.n++\n\tb.mu.Unlock()\n}}\n"
        )
    };
    let told = |given: &str| {
        let module = module(&[("m.go", &source(given))]);
        let run = straggler(module.path())
            .args(["check", "--select", "unlock-missing", "--format", "jsonl"])
            .output();
        found(run.expect("straggler runs"), ["rule", "confidence"])
    };
    assert_eq!(told("b.mu.Unlock()"), [""; 0]);
    assert_eq!(told("b.n++"), ["m.go:27 unlock-missing high"]);
}

#[test]
fn a_lock_that_nobody_else_has_yet() {
    let source = |before: &str, after: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\nfunc Run(names []string, find func(string) error) error {{\n\
             \tvar mu sync.Mutex\n\tfound := map[string]bool{{}}\n\
             \tadd := func(name string) {{\n\t\t{before}\n\t\tfound[name] = true\n\t}}\n\
             \tmu.Lock()\n\tif err := find(names[0]); err != nil {{\n\t\treturn err\n\t}}\n\
             \tfound[names[0]] = true\n\tmu.Unlock()\n\
             \tgo func() {{\n\t\t{after}\n\t\tadd(names[1])\n\t}}()\n\treturn nil\n}}\n"
        )
    };
    let locks = "mu.Lock()\n\t\tdefer mu.Unlock()";
    check(&[("m.go", &source("println()", locks))], &[]);
    check(&[("m.go", &source(locks, "println()"))], &["m.go:13 unlock-missing high"]);
}

#[test]
fn a_break_that_leaves_only_the_select() {
    let source = |loops: &str, leaves: &str| {
        format!(
            "package m\n\nimport \"context\"\n\nfunc Pull(ctx context.Context, names []string, get func(string) error) error {{\n\
             loop:\n\tfor _, name := range names {{\n\t\tselect {{\n\t\tcase <-ctx.Done():\n\
             \t\t\tprintln(name)\n\t\t\tbreak{leaves}\n\t\tdefault:\n\t\t}}\n\
             \t\tif err := get(name); err != nil {{\n\t\t\treturn err\n\t\t}}\n\
             \t\tif name == \"\" {{\n\t\t\tbreak loop\n\t\t}}\n{loops}\t}}\n\treturn nil\n}}\n"
        )
    };
    check(&[("m.go", &source("", ""))], &["m.go:9 done-arm-does-not-leave medium"]);
    check(&[("m.go", &source("", " loop"))], &[]);
    check(&[("m.go", &source("\t\tif ctx.Err() != nil {\n\t\t\tbreak\n\t\t}\n", ""))], &[]);
}

#[test]
fn a_database_that_is_a_part_of_the_process() {
    let source = "package m\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n)\n\n\
                  func Forget(ctx context.Context, db *sql.DB) error {\n\
                  \t_, err := db.Exec(\"DELETE FROM marks\")\n\treturn err\n}\n";
    let requires =
        |drivers: &str| format!("module example.com/m\n\ngo 1.26\n\nrequire (\n{drivers})\n");
    let within = "\tgithub.com/mattn/go-sqlite3 v1.14.22\n";
    let peer = "\tgithub.com/lib/pq v1.10.9\n";
    let told = ["m.go:9 context-not-propagated high"];
    check(&[("m.go", source)], &told);
    check(&[("go.mod", &requires(within)), ("m.go", source)], &[]);
    check(&[("go.mod", &requires(&format!("{peer}{within}"))), ("m.go", source)], &told);
}

#[test]
fn a_request_in_what_runs_when_it_has_been_answered() {
    let source = |given: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"net/http\"\n)\n\n\
             type jobs struct{{ run func(func() error) }}\n\n\
             func fetch(ctx context.Context, from string) error {{\n\
             \trequest, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)\n\
             \tif err != nil {{\n\t\treturn err\n\t}}\n\
             \tresponse, err := http.DefaultClient.Do(request)\n\
             \tif err != nil {{\n\t\treturn err\n\t}}\n\treturn response.Body.Close()\n}}\n\n\
             func (j *jobs) Import(w http.ResponseWriter, r *http.Request) {{\n\
             \tj.run(func() error {{\n\t\t{given}\n\
             \t\treturn fetch(context.TODO(), r.FormValue(\"from\"))\n\t}})\n}}\n"
        )
    };
    check(&[("m.go", &source("println()"))], &[]);
    let told = ["m.go:25 context-not-propagated high"];
    check(&[("m.go", &source("println(r.Context())"))], &told);
}

#[test]
fn a_dialer_that_is_given_the_deadline() {
    let source = |bound: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"crypto/tls\"\n\t\"net\"\n)\n\n\
             func Dial(ctx context.Context, address string) (net.Conn, error) {{\n\
             \tvar dialer net.Dialer\n\t{bound}\n\
             \treturn tls.DialWithDialer(&dialer, \"tcp\", address, nil)\n}}\n"
        )
    };
    check(&[("m.go", &source("println()"))], &["m.go:12 context-not-propagated high"]);
    check(&[("m.go", &source("dialer.Deadline, _ = ctx.Deadline()"))], &[]);
}

#[test]
fn a_length_that_is_counted_in_two_places() {
    let source = |turns: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\nfunc All(items []int, work func(int)) {{\n\
             \tcount := len(items)\n\tvar wait sync.WaitGroup\n\twait.Add(count)\n\
             \tfor i := range {turns} {{\n\t\tgo func() {{\n\
             \t\t\tdefer wait.Done()\n\t\t\twork(i)\n\t\t}}()\n\t}}\n\twait.Wait()\n}}\n"
        )
    };
    check(&[("m.go", &source("count"))], &[]);
    check(&[("m.go", &source("count - 1"))], &["m.go:15 waitgroup-unbalanced medium"]);
}

#[test]
fn workers_that_are_told_to_leave() {
    let source = |last: &str, leaves: &str| {
        format!(
            "package m\n\ntype pool struct {{\n\tqueue chan int\n\tcount int\n}}\n\n\
             func newPool() *pool {{ return &pool{{queue: make(chan int, 1)}} }}\n\n\
             func (p *pool) run(work func(int) error) {{\n\tfor {{\n\
             \t\titem, open := <-p.queue\n\t\tif {last} {{\n\t\t\tbreak\n\t\t}}\n\
             \t\tif err := work(item); err != nil {{\n\t\t\t{leaves}\n\t\t}}\n\t}}\n}}\n\n\
             func (p *pool) scale(count int, work func(int) error) {{\n\
             \tfor p.count > count {{\n\t\tp.queue <- -1\n\t\tp.count--\n\t}}\n\
             \tfor p.count < count {{\n\t\tp.count++\n\t\tgo p.run(work)\n\t}}\n}}\n"
        )
    };
    check(&[("m.go", &source("item < 0 || !open", "continue"))], &[]);
    check(&[("m.go", &source("!open", "return"))], &["m.go:24 send-without-receiver medium"]);
}

#[test]
fn a_context_that_a_caller_in_the_package_made() {
    let source = |made: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\t\"time\"\n)\n\n\
             var limit = time.Minute\n\n\
             func forget(ctx context.Context, db *sql.DB) error {{\n\
             \t_, err := db.Exec(\"DELETE FROM marks\")\n\treturn err\n}}\n\n\
             func Clean(db *sql.DB) error {{\n\tctx, cancel := {made}\n\tdefer cancel()\n\
             \treturn forget(ctx, db)\n}}\n"
        )
    };
    let limited = source("context.WithTimeout(context.Background(), limit)");
    check(&[("m.go", &limited)], &["m.go:12 context-not-propagated high"]);
    check(&[("m.go", &source("context.WithCancel(context.Background())"))], &[]);
}
