//! What is left, or waited for, so shortly or so seldom that nobody is hurt: told of with low confidence, or not
//! at all, beside the same where it hurts.

use crate::cli::tells;

const BEFORE_1_23: (&str, &str) = ("go.mod", "module example.com/m\n\ngo 1.22\n");

#[test]
fn a_timer_that_is_left_by_a_turn() {
    let source = |other: &str, wait: &str| {
        format!(
            "package m\n\nimport \"time\"\n\n\
             func relay(in, out chan int, use func(int), wait time.Duration) {{\n\tfor v := range in {{\n\
             \t\tselect {{\n\t\tcase {other}:\n\t\t\tuse(v)\n\t\tcase <-time.After({wait}):\n\
             \t\t\treturn\n\t\t}}\n\t}}\n}}\n"
        )
    };
    let tells_of = |other: &str, wait: &str, expected: &[&str]| {
        tells(&[BEFORE_1_23, ("m.go", &source(other, wait))], expected);
    };
    let (low, medium) = (["m.go:10 timer-not-stopped low"], ["m.go:10 timer-not-stopped medium"]);
    tells_of("v = <-out", "time.Minute", &medium);
    tells_of("v = <-out", "20 * time.Second", &low);
    // How long that is is not known: each value that passes leaves one, each answer need not.
    tells_of("v = <-out", "wait", &low);
    tells_of("out <- v", "wait", &medium);
}

#[test]
fn a_ticker_that_is_stopped_at_the_end_of_each_turn() {
    let source = |at_end: &str| {
        format!(
            "package m\n\nimport \"time\"\n\nfunc watch(done chan struct{{}}, next func() bool) {{\n\
             \tfor {{\n\t\tticker := time.NewTicker(time.Second)\n\t\tdefer ticker.Stop()\n\
             \t\tselect {{\n\t\tcase <-ticker.C:\n\t\tcase <-done:\n\t\t\treturn\n\t\t}}\n\
             \t\tif !next() {{\n\t\t\tcontinue\n\t\t}}\n{at_end}\t}}\n}}\n"
        )
    };
    let told = ["m.go:8 timer-not-stopped medium"];
    tells(&[BEFORE_1_23, ("m.go", &source(""))], &told);
    // One way to the next turn is left.
    tells(&[BEFORE_1_23, ("m.go", &source("\t\tticker.Stop()\n"))], &told);
    let on_all = source("\t\tticker.Stop()\n")
        .replace("\t\t\tcontinue", "\t\t\tticker.Stop()\n\t\t\tcontinue");
    tells(&[BEFORE_1_23, ("m.go", &on_all)], &[]);
}

#[test]
fn a_ticker_in_a_program() {
    let watch = |period: &str| {
        format!(
            "package watch\n\nimport \"time\"\n\nfunc Watch(done <-chan int, ask func()) {{\n\
             \tticker := time.NewTicker({period})\n\tfor {{\n\t\tselect {{\n\t\tcase <-done:\n\t\t\treturn\n\
             \t\tcase <-ticker.C:\n\t\t\task()\n\t\t}}\n\t}}\n}}\n"
        )
    };
    let program = |calls: &str| {
        format!(
            "package main\n\nimport \"example.com/m/watch\"\n\nvar hooks []func()\n\n\
             func main() {{\n\tdone := make(chan int)\n\tgo func() {{ done <- 1 }}()\n\
             \trun := func() {{ watch.Watch(done, func() {{}}) }}\n{calls}}}\n"
        )
    };
    let tells_of = |period: &str, calls: Option<&str>, expected: &[&str]| {
        let (watch, program) = (watch(period), calls.map(program));
        let mut files = vec![BEFORE_1_23, ("watch/watch.go", &*watch)];
        files.extend(program.as_deref().map(|program| ("main.go", program)));
        tells(&files, expected);
    };
    let high = ["watch/watch.go:10 timer-not-stopped high"];
    let low = ["watch/watch.go:10 timer-not-stopped low"];
    // A library is called by whom it likes.
    tells_of("time.Minute", None, &high);
    // What a program keeps may run again, and is not seen to.
    let kept = "\thooks = append(hooks, run)\n";
    tells_of("time.Minute", Some(kept), &low);
    tells_of("10 * time.Millisecond", Some(kept), &high);
}

#[test]
fn a_function_that_is_handed_to_a_command() {
    let program = |takes: &str| {
        format!(
            "package main\n\nimport (\n\t\"net/http\"\n\t\"os\"\n\n\t\"github.com/spf13/cobra\"\n)\n\n\
             func main() {{\n\tcommand(fetch).Execute()\n}}\n\n\
             func command(run func(string) error) *cobra.Command {{\n{takes}}}\n\n\
             func fetch(from string) error {{\n\tanswer, err := http.Get(from)\n\tif err != nil {{\n\t\treturn err\n\t}}\n\
             \tif answer.StatusCode != 200 {{\n\t\treturn os.ErrNotExist\n\t}}\n\treturn answer.Body.Close()\n}}\n"
        )
    };
    let given = "\treturn &cobra.Command{RunE: func(_ *cobra.Command, args []string) error {\n\
                 \t\treturn run(args[0])\n\t}}\n";
    tells(&[("main.go", &program(given))], &["main.go:26 body-not-closed low"]);
    let also = "\tgo run(\"again\")\n".to_owned() + given;
    tells(&[("main.go", &program(&also))], &["main.go:27 body-not-closed high"]);
}

#[test]
fn what_only_tests_make() {
    let source = |given: &str| {
        format!(
            "package store\n\nimport (\n\t\"context\"\n\t\"net/http\"\n\t\"testing\"\n)\n\n\
             type Store struct{{ url string }}\n\n\
             func New({given}url string) *Store {{\n\treturn &Store{{url: url}}\n}}\n\n\
             func (s *Store) Ask(ctx context.Context) (*http.Response, error) {{\n\treturn http.Get(s.url)\n}}\n\n\
             func (s *Store) One() int   {{ return 1 }}\nfunc (s *Store) Two() int   {{ return 2 }}\n\
             func (s *Store) Three() int {{ return 3 }}\nfunc (s *Store) Four() int  {{ return 4 }}\n\
             func (s *Store) Five() int  {{ return 5 }}\nfunc (s *Store) Six() int   {{ return 6 }}\n\
             func (s *Store) Seven() int {{ return 7 }}\nfunc (s *Store) Eight() int {{ return 8 }}\n\n\
             func Verbose() bool {{ return testing.Verbose() }}\n"
        )
    };
    let told = ["store/store.go:16 context-not-propagated high"];
    tells(&[("store/store.go", &source(""))], &told);
    tells(&[("store/store.go", &source("t *testing.T, "))], &[]);
}

#[test]
fn a_request_whose_connection_is_taken_over() {
    let source = |upgrade: &str| {
        format!(
            "package m\n\nimport (\n\t\"net\"\n\t\"net/http\"\n\n\t\"github.com/gorilla/websocket\"\n)\n\n\
             var upgrader websocket.Upgrader\n\n\
             func run(w http.ResponseWriter, r *http.Request) {{\n{upgrade}\
             \tif _, err := net.Dial(\"tcp\", r.URL.Path); err != nil {{\n\t\tprintln(err.Error())\n\t}}\n}}\n"
        )
    };
    tells(&[("m.go", &source(""))], &["m.go:13 context-not-propagated high"]);
    let upgrade = "\tconn, err := upgrader.Upgrade(w, r, nil)\n\tif err != nil {\n\t\treturn\n\t}\n\
                   \tdefer conn.Close()\n";
    tells(&[("m.go", &source(upgrade))], &[]);
}

#[test]
fn a_client_that_a_function_makes_with_a_timeout() {
    let source = |timeout: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"net/http\"\n\t\"time\"\n)\n\nvar limit = 10 * time.Second\n\n\
             func client() *http.Client {{\n\treturn &http.Client{{{timeout}}}\n}}\n\n\
             type asker struct{{ client *http.Client }}\n\nfunc newAsker() *asker {{\n\
             \treturn &asker{{client: client()}}\n}}\n\n\
             func (a *asker) ask(ctx context.Context) (*http.Response, error) {{\n\
             \treturn a.client.Get(\"https://example.com\")\n}}\n"
        )
    };
    tells(&[("m.go", &source(""))], &["m.go:22 context-not-propagated high"]);
    tells(&[("m.go", &source("Timeout: limit"))], &[]);
}

#[test]
fn a_dial_that_is_told_how_long_it_may_take() {
    let source = |dial: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"net\"\n\t\"time\"\n)\n\n\
             type dialer struct{{ limit time.Duration }}\n\n\
             func (d *dialer) dial(ctx context.Context, to string) (net.Conn, error) {{\n\treturn {dial}\n}}\n"
        )
    };
    let bare = source("net.Dial(\"tcp\", to)")
        .replace("\t\"time\"\n", "\t_ \"time\"\n")
        .replace("time.Duration", "int");
    tells(&[("m.go", &bare)], &["m.go:12 context-not-propagated high"]);
    let timed = source("net.DialTimeout(\"tcp\", to, d.limit)");
    tells(&[("m.go", &timed)], &["m.go:12 context-not-propagated low"]);
}

#[test]
fn what_another_module_of_the_run_does_with_a_context() {
    let main = "package m\n\nimport (\n\t\"context\"\n\n\t\"example.com/lib/db\"\n)\n\n\
                func read(ctx context.Context, from db.Reader) error {\n\
                \treturn from.Begin(context.Background())\n}\n";
    let module = "module example.com/m\n\ngo 1.26\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib\n";
    let reader = "package db\n\nimport \"context\"\n\ntype Reader interface {\n\tBegin(ctx context.Context) error\n}\n";
    let local = |waits: &str| {
        format!(
            "package local\n\nimport \"context\"\n\ntype Disk struct {{\n\tfree chan int\n}}\n\n\
             func (d *Disk) Begin(ctx context.Context) error {{\n\tselect {{\n\tcase <-ctx.Done():\n\
             \t\treturn ctx.Err()\n{waits}\t}}\n\treturn nil\n}}\n"
        )
    };
    let tells_of = |waits: &str, expected: &[&str]| {
        let files = [
            ("go.mod", module),
            ("m.go", main),
            ("lib/go.mod", "module example.com/lib\n\ngo 1.26\n"),
            ("lib/db/db.go", reader),
            ("lib/local/local.go", &local(waits)),
        ];
        tells(&files, expected);
    };
    tells_of("\tcase <-d.free:\n", &["m.go:10 context-not-propagated high"]);
    // It only looks whether it has ended.
    tells_of("\tdefault:\n", &[]);
}

#[test]
fn a_handler_that_only_who_is_never_called_hands_out() {
    let web = "package web\n\nimport (\n\t\"net\"\n\t\"net/http\"\n)\n\nfunc Start() {}\n\n\
               func NewServer() http.Handler {\n\tmux := http.NewServeMux()\n\tmux.HandleFunc(\"/x\", load)\n\
               \treturn mux\n}\n\nfunc load(w http.ResponseWriter, r *http.Request) {\n\
               \tif _, err := net.Dial(\"tcp\", r.URL.Path); err != nil {\n\t\tprintln(err.Error())\n\t}\n}\n";
    let program = |runs: &str| {
        format!(
            "package main\n\nimport (\n\t\"net/http\"\n\n\t\"example.com/m/web\"\n)\n\n\
             var serve = http.ListenAndServe\n\nfunc main() {{\n\t{runs}\n}}\n"
        )
    };
    let tells_of = |runs: &str, expected: &[&str]| {
        tells(&[("web/web.go", web), ("main.go", &program(runs))], expected);
    };
    tells_of("serve(\":80\", web.NewServer())", &["web/web.go:17 context-not-propagated high"]);
    tells_of("web.Start()", &["web/web.go:17 context-not-propagated low"]);
}

#[test]
fn a_loop_of_a_command_that_one_case_ends() {
    let library = "package get\n\nimport \"context\"\n\n\
                   func Get(ctx context.Context, ask func() (string, error)) (string, error) {\n\
                   \terrs := make(chan error)\n\tanswers := make(chan string, 1)\n\tgo func() {\n\t\tfor {\n\
                   \t\t\tanswer, err := ask()\n\t\t\tif err != nil {\n\t\t\t\terrs <- err\n\t\t\t\tcontinue\n\t\t\t}\n\
                   \t\t\tanswers <- answer\n\t\t\treturn\n\t\t}\n\t}()\n\tfor {\n\t\tselect {\n\
                   \t\tcase err := <-errs:\n\t\t\tprintln(err.Error())\n\t\tcase answer := <-answers:\n\
                   \t\t\treturn answer, nil\n\t\tcase <-ctx.Done():\n\t\t\treturn \"\", ctx.Err()\n\t\t}\n\t}\n}\n";
    let program = |runs: &str| {
        format!(
            "package main\n\nimport (\n\t\"context\"\n\t\"errors\"\n\t\"time\"\n\n\t\"example.com/m/get\"\n\t\"github.com/spf13/cobra\"\n)\n\n\
             func ask() (string, error) {{\n\ttime.Sleep(time.Second)\n\treturn \"\", errors.New(\"none\")\n}}\n\n\
             func main() {{\n\tcommand := &cobra.Command{{RunE: func(command *cobra.Command, _ []string) error {{\n\
             {runs}\t}}}}\n\tcommand.Execute()\n}}\n"
        )
    };
    let tells_of = |runs: &str, expected: &[&str]| {
        tells(&[("get/get.go", library), ("main.go", &program(runs))], expected);
    };
    let once = "\t\tctx, cancel := context.WithTimeout(context.Background(), time.Minute)\n\t\tdefer cancel()\n\
                \t\t_, err := get.Get(ctx, ask)\n\t\treturn err\n";
    tells_of(once, &["get/get.go:12 send-without-receiver low"]);
    let again = format!("\t\tfor {{\n{}\t\t}}\n", once.replace("return err", "println(err)"));
    tells_of(&again, &["get/get.go:12 send-without-receiver medium"]);
}

#[test]
fn an_error_that_ends_the_process() {
    let library = "package load\n\nimport \"errors\"\n\nfunc Load(ask func() int, n int) (int, error) {\n\
                   \tanswer := make(chan int)\n\tgo func() { answer <- ask() }()\n\
                   \tif n == 0 {\n\t\treturn 0, errors.New(\"none\")\n\t}\n\treturn <-answer, nil\n}\n";
    let program = |failed: &str| {
        format!(
            "package main\n\nimport (\n\t\"log\"\n\t\"os\"\n\n\t\"example.com/m/load\"\n)\n\n\
             func ask() int {{ return len(os.Args) }}\n\nfunc run() error {{\n\
             \tn, err := load.Load(ask, ask())\n\tif err != nil {{\n{failed}\t}}\n\tprintln(n)\n\treturn nil\n}}\n\n\
             func main() {{\n\tif err := run(); err != nil {{\n\t\tlog.Fatal(err)\n\t}}\n\tserve()\n}}\n\n\
             func serve() {{\n\tfor {{\n\t\tif err := run(); err != nil {{\n\t\t\tos.Exit(1)\n\t\t}}\n\t}}\n}}\n"
        )
    };
    let tells_of = |failed: &str, expected: &[&str]| {
        tells(&[("load/load.go", library), ("main.go", &program(failed))], expected);
    };
    let (low, medium) = (
        ["load/load.go:7 send-without-receiver low"],
        ["load/load.go:7 send-without-receiver medium"],
    );
    tells_of("\t\treturn err\n", &low);
    tells_of("\t\tlog.Fatalf(\"no answer: %v\", err)\n", &low);
    // The next turn asks again.
    tells_of("\t\tprintln(err.Error())\n", &medium);
    tells_of("\t\treturn nil\n", &medium);
}

#[test]
fn a_loop_that_a_program_starts_once() {
    let source = |start: &str| {
        format!(
            "package main\n\nimport (\n\t\"context\"\n\t\"time\"\n)\n\nfunc main() {{\n\
             \tctx, cancel := context.WithCancel(context.Background())\n\ttime.AfterFunc(time.Hour, cancel)\n\
             \t{start}\n\tselect {{}}\n}}\n\nfunc watch(ctx context.Context, tick <-chan time.Time) {{\n\tfor {{\n\
             \t\tselect {{\n\t\tcase <-ctx.Done():\n\t\tcase <-tick:\n\t\t\tprintln(\"tick\")\n\t\t}}\n\t}}\n}}\n"
        )
    };
    let tells_of = |start: &str, expected: &[&str]| {
        tells(&[("main.go", &source(start))], expected);
    };
    tells_of("go watch(ctx, nil)", &["main.go:18 done-arm-does-not-leave low"]);
    let again = "for {\n\t\tgo watch(ctx, time.After(time.Minute))\n\t}";
    tells_of(again, &["main.go:20 done-arm-does-not-leave high"]);
}

#[test]
fn a_program_that_a_helper_runs() {
    let source = |program: &str| {
        format!(
            "package m\n\nimport (\n\t\"net/http\"\n\t\"os/exec\"\n)\n\n\
             func run(name string) ([]byte, error) {{ return exec.Command(name, \"list\").Output() }}\n\n\
             func Serve(w http.ResponseWriter, r *http.Request) {{\n\
             \tlist, err := {program}\n\tif err != nil {{\n\t\tprintln(err.Error())\n\t}}\n\
             \tw.Write(list)\n}}\n"
        )
    };
    let told = ["m.go:8 missing-deadline low", "m.go:11 context-not-propagated low"];
    tells(&[("m.go", &source("run(\"docker\")"))], &told);
    tells(
        &[("m.go", &source("exec.Command(r.URL.Path, \"list\").Output()"))],
        &["m.go:11 context-not-propagated high", "m.go:11 missing-deadline low"],
    );
}

#[test]
fn a_program_of_tests() {
    let program = "package main\n\nimport \"net/http\"\n\nfunc main() {\n\tfor {\n\t\tprintln(ask())\n\t}\n}\n\n\
                   func ask() int {\n\tanswer, err := http.Get(\"http://example.com\")\n\
                   \tif err != nil {\n\t\treturn 0\n\t}\n\treturn answer.StatusCode\n}\n";
    let told = |dir: &str, bound: &str, body: &str| {
        let file = format!("{dir}/main.go");
        let bound = format!("{file}:12 missing-deadline {bound}");
        let body = format!("{file}:16 body-not-closed {body}");
        tells(&[(&file, program)], &[&bound, &body]);
    };
    told("test", "low", "low");
    told("examples/ask", "low", "low");
    told("probe", "medium", "high");
}

#[test]
fn what_a_comment_says_is_meant() {
    let source = |comment: &str| {
        format!(
            "package m\n\nimport \"net/http\"\n\nfunc Probe(from string) int {{\n\tanswer, err := http.Get(from)\n\
             \tif err != nil {{\n\t\treturn 0\n\t}}\n\treturn answer.StatusCode{comment}\n}}\n"
        )
    };
    let tells_of = |comment: &str, expected: &[&str]| {
        tells(&[("m.go", &source(comment))], expected);
    };
    tells_of("", &["m.go:10 body-not-closed high"]);
    tells_of(
        " // the body is left open on purpose: the peer closes",
        &["m.go:10 body-not-closed low"],
    );
    tells_of(
        " // TODO: is it on purpose that the body stays open?",
        &["m.go:10 body-not-closed high"],
    );
}

#[test]
fn what_is_counted_after_its_start() {
    let source = |before: &str, after: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\nfunc run(n int, work func(), more func() bool) {{\n\tvar wg sync.WaitGroup\n\
             \tin := make(chan int)\n\tfor i := 0; i < n; i++ {{\n{before}\t\tgo func() {{\n\t\t\tdefer wg.Done()\n\
             \t\t\tfor range in {{\n\t\t\t\twork()\n\t\t\t}}\n\t\t}}()\n{after}\t}}\n\
             \tfor more() {{\n\t\twork()\n\t}}\n\tclose(in)\n\twg.Wait()\n}}\n"
        )
    };
    let tells_of = |source: &str, expected: &[&str]| tells(&[("m.go", source)], expected);
    tells_of(&source("", "\t\twg.Add(1)\n"), &[]);
    let skips = "\t\twg.Add(1)\n\t\tif more() {\n\t\t\tcontinue\n\t\t}\n";
    tells_of(&source(skips, ""), &["m.go:24 waitgroup-unbalanced high"]);
}

#[test]
fn a_timer_that_is_looked_at_when_it_is_started() {
    let source = |other: &str| {
        format!(
            "package m\n\nimport (\n\t\"sync\"\n\t\"time\"\n)\n\nfunc ask(peers []string, call func(string) int) []int {{\n\
             \tout := make(chan int, 9)\n\tvar wg sync.WaitGroup\n\tfor _, peer := range peers {{\n\t\twg.Add(1)\n\
             \t\tgo func() {{\n\t\t\tdefer wg.Done()\n\t\t\tout <- call(peer)\n\t\t}}()\n\t}}\n\
             \tdone := make(chan struct{{}})\n\tgo func() {{\n\t\twg.Wait()\n\t\tclose(done)\n\t}}()\n\
             \tselect {{\n\tcase <-time.After(5 * time.Second):\n\t{other}\n\t}}\n\tclose(out)\n\treturn nil\n}}\n"
        )
    };
    let tells_of = |source: &str, expected: &[&str]| tells(&[("m.go", source)], expected);
    tells_of(&source("case <-done:"), &["m.go:15 close-misuse medium"]);
    tells_of(&source("default:\n\t\twg.Wait()"), &[]);
}

#[test]
fn a_logger_out_of_sight_that_ends_the_process() {
    let source = |called: &str| {
        format!(
            "package m\n\nimport (\n\t\"sync\"\n\n\t\"example.com/log\"\n)\n\ntype s struct {{\n\tmu sync.Mutex\n\tn  int\n}}\n\n\
             func (s *s) resume() {{\n\ts.mu.Lock()\n\tif s.n < 0 {{\n\t\tlog.{called}(\"negative\")\n\t}} else {{\n\
             \t\ts.n--\n\t\ts.mu.Unlock()\n\t}}\n}}\n"
        )
    };
    let tells_of = |source: &str, expected: &[&str]| tells(&[("m.go", source)], expected);
    tells_of(&source("Fatal"), &[]);
    tells_of(&source("Error"), &["m.go:15 unlock-missing high"]);
}

#[test]
fn what_ends_with_the_handler_of_a_request() {
    let source = |parent: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"net/http\"\n\t\"time\"\n)\n\n\
             var use func(context.Context)\n\ntype server struct {{\n\tctx context.Context\n}}\n\n\
             func (s *server) handle(w http.ResponseWriter, r *http.Request) {{\n\
             \tctx, _ := context.WithTimeout({parent}, time.Second)\n\tuse(ctx)\n}}\n\n\
             func (s *server) fetch(w http.ResponseWriter, r *http.Request) {{\n\
             \treq, err := http.NewRequestWithContext({parent}, \"GET\", \"http://a\", nil)\n\tif err != nil {{\n\t\treturn\n\t}}\n\
             \tresp, err := http.DefaultClient.Do(req)\n\tif err != nil {{\n\t\treturn\n\t}}\n\
             \tif resp.StatusCode != 200 {{\n\t\treturn\n\t}}\n\tresp.Body.Close()\n}}\n"
        )
    };
    let tells_of = |source: &str, expected: &[&str]| tells(&[("m.go", source)], expected);
    tells_of(&source("s.ctx"), &["m.go:16 cancel-not-called high", "m.go:30 body-not-closed high"]);
    tells_of(
        &source("r.Context()"),
        &["m.go:16 cancel-not-called low", "m.go:30 body-not-closed low"],
    );
}

#[test]
fn a_statement_that_runs_under_the_context() {
    let source = "package m\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n)\n\ntype Store struct {\n\tdb *sql.DB\n}\n\n\
                  func (s *Store) All(ctx context.Context, query string) error {\n\
                  \tstmt, err := s.db.Prepare(query)\n\tif err != nil {\n\t\treturn err\n\t}\n\
                  \tdefer stmt.Close()\n\trows, err := stmt.QueryContext(ctx)\n\tif err != nil {\n\t\treturn err\n\t}\n\
                  \treturn rows.Close()\n}\n";
    tells(&[("m.go", source)], &["m.go:13 context-not-propagated low"]);
    let without = source.replace("QueryContext(ctx)", "Query()");
    let told = ["m.go:13 context-not-propagated high", "m.go:18 context-not-propagated high"];
    tells(&[("m.go", &without)], &told);
}

#[test]
fn a_context_with_a_parent_that_has_a_deadline() {
    let source = |asked: &str| {
        format!(
            r#"package m

import (
	"context"
	"time"
)

func Sample(ctx context.Context, get func(context.Context) error) error {{
	sampling, cancel := context.WithCancel(ctx)
	if deadline, ok := ctx.Deadline(); {asked} {{
		sampling, cancel = context.WithDeadline(ctx, deadline.Add(-time.Second))
	}}
	defer cancel()
	return get(sampling)
}}
"#
        )
    };
    tells(&[BEFORE_1_23, ("m.go", &source("ok"))], &[]);
    tells(&[BEFORE_1_23, ("m.go", &source("!ok"))], &["m.go:11 cancel-not-called high"]);
}

#[test]
fn the_own_context_is_cancelled_before_the_wait() {
    let source = |before: &str| {
        format!(
            r#"package m

import (
	"context"
	"net/http"
)

type agent struct {{
	ctx    context.Context
	cancel context.CancelFunc
	server *http.Server
}}

func New(ctx context.Context) *agent {{
	a := &agent{{server: &http.Server{{}}}}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a
}}

func (a *agent) Run(work <-chan func()) {{
	for {{
		select {{
		case f := <-work:
			f()
		case <-a.ctx.Done():
			return
		}}
	}}
}}

func (a *agent) Close() {{ a.cancel() }}

func (a *agent) Stop() error {{
	{before}
	return a.server.Shutdown(context.TODO())
}}
"#
        )
    };
    tells(&[BEFORE_1_23, ("m.go", &source("a.cancel()"))], &[]);
    tells(
        &[BEFORE_1_23, ("m.go", &source("println(1)"))],
        &["m.go:35 context-not-propagated medium"],
    );
}
