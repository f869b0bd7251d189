//! What another fact of the program rules out: pairs of programs, one with the fact and one without.

use crate::cli::{
    found, module, straggler, tells as check, tells_nothing, tells_of_file, tells_of_module,
};

#[test]
fn a_part_that_says_whether_it_has_sent() {
    let source = |asks: &str, answer: &str| {
        format!(
            "package m\n\nfunc pass(read func() error, failed chan error, stop chan struct{{}}) {{\n\
             \thandle := func() bool {{\n\t\tif err := read(); err != nil {{\n\t\t\tfailed <- err\n\
             \t\t\treturn {answer}\n\t\t}}\n\t\treturn true\n\t}}\n\tfor {{\n\t\tselect {{\n\
             \t\tcase <-stop:\n\t\t\treturn\n\t\tdefault:\n{asks}\n\t\t\t\treturn\n\t\t\t}}\n\t\t}}\n\t}}\n}}\n\n\
             func Serve(read func() error, done chan struct{{}}) error {{\n\tfailed := make(chan error, 1)\n\
             \tstop := make(chan struct{{}})\n\tdefer close(stop)\n\tgo pass(read, failed, stop)\n\tselect {{\n\
             \tcase err := <-failed:\n\t\treturn err\n\tcase <-done:\n\t\treturn nil\n\t}}\n}}\n"
        )
    };
    let directly = "\t\t\tif !handle() {";
    let by_variable = "\t\t\tok := handle()\n\t\t\tif !ok {";
    for asks in [directly, by_variable] {
        check(&[("m.go", &source(asks, "true"))], &["m.go:6 send-without-receiver low"]);
        check(&[("m.go", &source(asks, "false"))], &[]);
    }
}

#[test]
fn an_answer_that_is_awaited_before_anything_else() {
    let source = |turn: &str| {
        format!(
            "package m\n\ntype job struct {{\n\tn    int\n\tdone chan error\n}}\n\n\
             func serve(jobs chan *job, work func(*job) error) {{\n\tfor j := range jobs {{\n\
             \t\tj.done <- work(j)\n\t}}\n}}\n\n\
             func Consume(ready func(int) error, work func(*job) error) error {{\n\
             \tone := job{{done: make(chan error)}}\n\tjobs := make(chan *job)\n\tdefer close(jobs)\n\
             \tgo serve(jobs, work)\n\tfor n := 0; ; n++ {{\n\t\tone.n = n\n\t\tjobs <- &one\n{turn}\t}}\n}}\n"
        )
    };
    let asks = "\t\tif err := ready(n); err != nil {\n\t\t\treturn err\n\t\t}\n";
    let receives = "\t\t<-one.done\n";
    check(
        &[("m.go", &source(&format!("{asks}{receives}")))],
        &["m.go:23 send-without-receiver medium"],
    );
    check(&[("m.go", &source(&format!("{receives}{asks}")))], &[]);
}

#[test]
fn a_channel_that_each_goroutine_is_given_for_itself() {
    let source = |before: &str, within: &str| {
        format!(
            "package m\n\nfunc All(tasks []func() int) []chan int {{\n\tvar all []chan int\n{before}\
             \tfor i := range tasks {{\n{within}\t\tall = append(all, result)\n\
             \t\tgo func(i int, result chan int) {{\n\t\t\tresult <- tasks[i]()\n\t\t\tclose(result)\n\
             \t\t}}(i, result)\n\t}}\n\treturn all\n}}\n"
        )
    };
    let shared = source("\tresult := make(chan int, 100)\n", "");
    check(&[("m.go", &shared)], &["m.go:9 close-misuse medium", "m.go:10 close-misuse medium"]);
    let own = source("", "\t\tresult := make(chan int, 1)\n");
    check(&[("m.go", &own)], &[]);
}

/// Who closes it stands in another package.
#[test]
fn a_close_that_all_senders_were_waited_for() {
    let queue = "package queue\n\ntype Queue struct {\n\tclosed bool\n\ttasks  chan int\n}\n\n\
                 func New(n int) *Queue { return &Queue{tasks: make(chan int, n)} }\n\n\
                 func (q *Queue) Retry() {\n\tif q.closed {\n\t\treturn\n\t}\n\tselect {\n\
                 \tcase q.tasks <- 0:\n\tdefault:\n\t}\n}\n\n\
                 func (q *Queue) Close() {\n\tif q.closed {\n\t\treturn\n\t}\n\tq.closed = true\n\
                 \tclose(q.tasks)\n}\n";
    let user = |wait: &str| {
        format!(
            "package run\n\nimport (\n\t\"sync\"\n\n\t\"example.com/m/queue\"\n)\n\n\
             func Run(n int) {{\n\tq := queue.New(n)\n\tdefer q.Close()\n\tvar all sync.WaitGroup\n\
             \tall.Add(1)\n\tgo func() {{\n\t\tdefer all.Done()\n\t\tq.Retry()\n\t}}()\n\t{wait}\n}}\n"
        )
    };
    let check = |wait: &str, expected: &[&str]| {
        check(&[("queue/queue.go", queue), ("run/run.go", &user(wait))], expected);
    };
    check("println(n)", &["queue/queue.go:25 close-misuse medium"]);
    check("all.Wait()", &[]);
}

#[test]
fn a_lock_that_the_caller_gives_back_through_what_it_got() {
    let source = |closes: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype Queue struct {{\n\tsync.Mutex\n\tn  int\n\tit *Iter\n}}\n\n\
             type Iter struct{{ of *Queue }}\n\nfunc (q *Queue) Iter() *Iter {{\n\tq.Lock()\n\treturn q.it\n}}\n\n\
             func (it *Iter) Close() {{\n\tit.of.{closes}\n}}\n\n\
             func (q *Queue) Len() int {{\n\tq.Lock()\n\tdefer q.Unlock()\n\treturn q.n\n}}\n"
        )
    };
    check(&[("m.go", &source("n++"))], &["m.go:14 unlock-missing medium"]);
    check(&[("m.go", &source("Unlock()"))], &[]);
}

#[test]
fn a_goroutine_for_which_nothing_was_counted() {
    let source = |leaves: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype kind int\n\nconst (\n\taccounts kind = iota\n\tstorage\n\
             \tproofs\n)\n\ntype Store struct{{ transforms bool }}\n\n\
             func (s *Store) Merge(kinds []kind, merge func(kind) error) {{\n\tvar merged sync.WaitGroup\n\
             \tfor _, of := range kinds {{\n\t\tof := of\n\
             \t\tif s.transforms && (of == accounts || of == storage) {{\n\t\t\tmerged.Add(1)\n\t\t}}\n\
             \t\tgo func() {{\n\t\t\terr := merge(of)\n\t\t\tif s.transforms && of == {leaves} && err != nil {{\n\
             \t\t\t\treturn\n\t\t\t}}\n\t\t\tif s.transforms {{\n\
             \t\t\t\tif of == accounts || of == storage {{\n\t\t\t\t\tmerged.Done()\n\t\t\t\t}}\n\t\t\t}}\n\
             \t\t\treturn\n\t\t}}()\n\t}}\n\tmerged.Wait()\n}}\n"
        )
    };
    check(&[("m.go", &source("storage"))], &["m.go:35 waitgroup-unbalanced high"]);
    check(&[("m.go", &source("proofs"))], &[]);
}

#[test]
fn a_count_of_other_things_than_the_loop_goes_over() {
    let source = |chosen: &str, counted: &str, again: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\n\
             func Handle(all, given []string, handle func(string) bool) {{\n{chosen}\
             \tvar done sync.WaitGroup\n\tdone.Add(len({counted}))\n\tfor range calls {{\n\
             \t\tgo func() {{\n\t\t\tdone.Done(){again}\n\t\t}}()\n\t}}\n\tdone.Wait()\n}}\n"
        )
    };
    let chosen = "\tcalls := make([]string, 0, len(all))\n\tfor _, one := range all {\n\t\tif handle(one) {\n\
                  \t\t\tcalls = append(calls, one)\n\t\t}\n\t}\n";
    let told = ["m.go:16 waitgroup-unbalanced medium", "m.go:17 waitgroup-unbalanced medium"];
    check(&[("m.go", &source(chosen, "calls", "\n\t\t\tdone.Done()"))], &told);
    // There are no more of them than were counted: it is the wait that stays.
    check(&[("m.go", &source(chosen, "all", ""))], &["m.go:19 waitgroup-unbalanced high"]);
    // How many there are of these is not known.
    let given = source("\tcalls := given\n", "all", "");
    let both = ["m.go:11 waitgroup-unbalanced low", "m.go:14 waitgroup-unbalanced low"];
    check(&[("m.go", &given)], &both);
}

#[test]
fn a_timer_whose_function_sends_what_is_awaited() {
    let source = |function: &str| {
        format!(
            "package m\n\ntype clock interface{{ AfterFunc(d int, f func()) timer }}\n\n\
             type timer interface{{ Stop() bool }}\n\n\
             type dialer struct {{\n\tclock clock\n\ttimer timer\n}}\n\n\
             func (d *dialer) loop(done chan struct{{}}) {{\n\texpired := make(chan struct{{}}, 1)\n\tfor {{\n\
             \t\td.rearm(expired)\n\t\tselect {{\n\t\tcase <-done:\n\t\t\treturn\n\t\tcase <-expired:\n\
             \t\t\td.timer = nil\n\t\t}}\n\t}}\n}}\n\n\
             func (d *dialer) rearm(ch chan struct{{}}) {{\n\tif d.timer != nil && !d.timer.Stop() {{\n\t\t<-ch\n\
             \t}}\n\td.timer = d.clock.AfterFunc(1, func() {{ {function} }})\n}}\n"
        )
    };
    check(&[("m.go", &source("println(ch)"))], &["m.go:27 receive-without-sender medium"]);
    check(&[("m.go", &source("ch <- struct{}{}"))], &[]);
}

#[test]
fn a_request_that_the_callers_make() {
    let source = |caller: &str| {
        format!(
            "package m\n\nimport (\n\t\"net/http\"\n\t\"net/http/httptest\"\n)\n\n\
             func do(handler http.Handler, r *http.Request) (*http.Response, error) {{\n\
             \tanswer := make(chan *http.Response, 1)\n\tgo func() {{\n\
             \t\trecorder := httptest.NewRecorder()\n\t\thandler.ServeHTTP(recorder, r)\n\
             \t\tanswer <- recorder.Result()\n\t}}()\n\tselect {{\n\tcase response := <-answer:\n\
             \t\treturn response, nil\n\tcase <-r.Context().Done():\n\t\treturn nil, r.Context().Err()\n\t}}\n}}\n\n\
             {caller}\n"
        )
    };
    let serves = "func Serve(handler http.Handler, w http.ResponseWriter, r *http.Request) {\n\
                  \tif _, err := do(handler, r); err != nil {\n\t\tprintln(r.Header.Get(\"id\"))\n\t}\n}";
    check(&[("m.go", &source(serves))], &["m.go:12 request-shared-after-handoff medium"]);
    let makes = "func Ask(handler http.Handler, url string) (*http.Response, error) {\n\
                 \tr, err := http.NewRequest(\"GET\", url, nil)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\
                 \treturn do(handler, r)\n}";
    check(&[("m.go", &source(makes))], &[]);
}

#[test]
fn an_answer_that_comes_only_with_a_later_close() {
    let limit = "package limit\n\ntype Limit struct{ token chan struct{} }\n\n\
                 func (l *Limit) Get(done <-chan struct{}) (exit bool) {\n\tselect {\n\tcase <-done:\n\
                 \t\treturn true\n\tcase l.token <- struct{}{}:\n\t\treturn false\n\t}\n}\n\n\
                 func (l *Limit) Full(done <-chan struct{}) (exit bool) {\n\tselect {\n\
                 \tcase l.token <- struct{}{}:\n\t\treturn false\n\tdefault:\n\t\treturn true\n\t}\n}\n";
    let source = |gets: &str| {
        format!(
            "package m\n\nimport \"example.com/m/limit\"\n\n\
             func start(l *limit.Limit, exit chan struct{{}}, results chan error, work []func() error) {{\n\
             \tfor _, one := range work {{\n\t\tif exits := l.{gets}(exit); !exits {{\n\
             \t\t\tgo func() {{ results <- one() }}()\n\t\t}}\n\t}}\n}}\n\n\
             func Run(l *limit.Limit, work []func() error) {{\n\tresults := make(chan error, len(work))\n\
             \texit := make(chan struct{{}})\n\tgo start(l, exit, results, work)\n\
             \tfor range work {{\n\t\tif err := <-results; err != nil {{\n\t\t\tprintln(err.Error())\n\t\t}}\n\t}}\n\
             \tclose(exit)\n}}\n"
        )
    };
    let check = |gets: &str, expected: &[&str]| {
        check(&[("limit/limit.go", limit), ("m.go", &source(gets))], expected);
    };
    check("Full", &["m.go:18 receive-without-sender medium"]);
    check("Get", &["m.go:18 receive-without-sender low"]);
}

#[test]
fn a_test_that_sleeps_before_it_closes() {
    let source = |sleeps: &str| {
        format!(
            "package m\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nvar pause = time.Millisecond\n\n\
             func TestSend(t *testing.T) {{\n\tout := make(chan int)\n\tquit := make(chan int)\n\tgo func() {{\n\
             \t\tselect {{\n\t\tcase out <- 1:\n\t\tcase <-quit:\n\t\tdefault:\n\t\t}}\n\t}}()\n\
             \t{sleeps}\n\tclose(out)\n}}\n"
        )
    };
    check(&[("m_test.go", &source("println()"))], &["m_test.go:14 close-misuse high"]);
    check(&[("m_test.go", &source("time.Sleep(pause)"))], &["m_test.go:14 close-misuse low"]);
}

#[test]
fn a_panic_that_is_caught_by_another_package() {
    let safely = |recovers: &str| {
        format!(
            "package safely\n\nfunc End(name string) {{\n\tif err := {recovers}; err != nil {{\n\
             \t\tprintln(name)\n\t}}\n}}\n"
        )
    };
    let source = "package m\n\nimport (\n\t\"time\"\n\n\t\"example.com/m/safely\"\n)\n\n\
                  func Wait(work func(), limit time.Duration) {\n\tready := make(chan bool, 1)\n\
                  \tdefer close(ready)\n\tgo func() {\n\t\tdefer safely.End(\"wait\")\n\t\twork()\n\
                  \t\tready <- true\n\t}()\n\tselect {\n\tcase <-ready:\n\tcase <-time.After(limit):\n\t}\n}\n";
    let check = |recovers: &str, expected: &[&str]| {
        check(&[("safely/safely.go", &safely(recovers)), ("m.go", source)], expected);
    };
    check("error(nil)", &["m.go:15 close-misuse medium"]);
    check("recover()", &["m.go:15 close-misuse low"]);
}

#[test]
fn a_group_whose_goroutines_never_fail() {
    let source = |context: &str, result: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\n\t\"golang.org/x/sync/errgroup\"\n)\n\n\
             func Check(ctx context.Context, names []string, check func(string) error) {{\n\
             \tgroup, {context} := errgroup.WithContext(ctx)\n\tfor _, name := range names {{\n\
             \t\tgroup.Go(func() error {{\n\t\t\terr := check(name)\n\t\t\tprintln(err)\n\t\t\treturn {result}\n\
             \t\t}})\n\t}}\n\tuse(ctx)\n}}\n\nfunc use(ctx context.Context) {{ println(ctx) }}\n"
        )
    };
    let told = ["m.go:10 lifecycle-not-ended medium"];
    check(&[("m.go", &source("_", "err"))], &told);
    check(&[("m.go", &source("_", "nil"))], &[]);
}

#[test]
fn a_url_that_is_parsed_again() {
    let source = |parsed: &str| {
        format!(
            "package m\n\nimport (\n\t\"net/http\"\n\t\"net/url\"\n)\n\n\
             func Follow(client *http.Client, request *http.Request) (string, error) {{\n\
             \tresponse, err := client.Do(request)\n\tif err != nil {{\n\t\treturn \"\", err\n\t}}\n\
             \tto, err := url.Parse({parsed})\n\tif err != nil {{\n\t\treturn \"\", err\n\t}}\n\
             \tdefer response.Body.Close()\n\treturn to.Host, nil\n}}\n"
        )
    };
    check(
        &[("m.go", &source("response.Header.Get(\"Location\")"))],
        &["m.go:15 body-not-closed high"],
    );
    check(&[("m.go", &source("request.URL.String()"))], &[]);
}

#[test]
fn room_for_as_many_answers_as_are_asked_for() {
    let source = |asks: &str| {
        format!(
            "package m\n\ntype asker struct{{ work func(int) int }}\n\n\
             func (a *asker) ask(of int, answer chan int) {{ answer <- a.work(of) }}\n\n\
             func (a *asker) First(all []int, done chan struct{{}}) int {{\n\tanswer := make(chan int)\n{asks}\
             \tselect {{\n\tcase n := <-answer:\n\t\treturn n\n\tcase <-done:\n\t\treturn 0\n\t}}\n}}\n"
        )
    };
    let helps = |asks: &str| {
        let module = module(&[("m.go", &source(asks))]);
        let run = straggler(module.path())
            .args(["check", "--no-cache", "--format", "jsonl", "--min-confidence", "low", "./..."])
            .output();
        found(run.expect("straggler runs"), ["rule", "help"])
    };
    let one = "\tgo func() { a.ask(len(all), answer) }()\n";
    assert_eq!(
        helps(one),
        ["m.go:8 send-without-receiver give the channel room for the answer: `make(..., 1)`"]
    );
    let each = "\tfor _, of := range all {\n\t\tgo func() { a.ask(of, answer) }()\n\t}\n";
    assert_eq!(
        helps(each),
        [
            "m.go:8 send-without-receiver give the channel room for as many answers as are asked for, or send in a \
          `select` with `done`"
        ]
    );
}

#[test]
fn locks_of_two_fields() {
    let source = |field: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype part struct {{\n\tsync.Mutex\n\tn int\n}}\n\n\
             type whole struct {{\n\tmu sync.Mutex\n\ta, b *part\n}}\n\n\
             func (w *whole) down() {{\n\tw.mu.Lock()\n\tdefer w.mu.Unlock()\n\tw.b.Lock()\n\tw.b.n++\n\tw.b.Unlock()\n}}\n\n\
             func (w *whole) up() {{\n\tw.{field}.Lock()\n\tdefer w.{field}.Unlock()\n\tw.mu.Lock()\n\
             \tw.{field}.n--\n\tw.mu.Unlock()\n}}\n"
        )
    };
    check(&[("m.go", &source("b"))], &["m.go:18 lock-order medium"]);
    check(&[("m.go", &source("a"))], &[]);
}

#[test]
fn a_flag_that_was_set_before_the_unlock_was_deferred() {
    let source = |flag: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype store struct {{\n\tmu  sync.Mutex\n\tall map[string]*int\n}}\n\n\
             func (s *store) ensure(name string, make func() *int) *int {{\n\ts.mu.Lock()\n\tone := s.all[name]\n\
             \texisted := {flag}\n\tif one == nil {{\n\t\tone = make()\n\t\tdefer s.mu.Unlock()\n\t\ts.all[name] = one\n\
             \t}} else {{\n\t\texisted = true\n\t\ts.mu.Unlock()\n\t}}\n\tif existed {{\n\t\ts.mu.Lock()\n\
             \t\tdefer s.mu.Unlock()\n\t\tone = s.all[name]\n\t}}\n\treturn one\n}}\n"
        )
    };
    check(&[("m.go", &source("false"))], &[]);
    let told = crate::cli::told(&[("m.go", &source("len(s.all) > 9"))], &[]);
    assert_eq!(told, ["m.go:23 double-lock high"]);
}

#[test]
fn a_channel_that_is_nil_on_purpose() {
    let source = |made: &str| {
        format!(
            "package main\n\nfunc main() {{\n\t{made}\n\tgo println(\"served\")\n\t<-stop\n}}\n"
        )
    };
    let literal = source("").replace("<-stop", "<-(chan struct{})(nil)");
    check(&[("main.go", &literal)], &[]);
    check(&[("main.go", &source("var stop chan struct{}"))], &["main.go:6 nil-channel high"]);
}

#[test]
fn a_channel_of_each_worker() {
    let source = |stops: &str| {
        format!(
            "package m\n\nfunc Run(size, count int, work func(chan int), done chan int) {{\n\tvar stop chan int\n\
             \tall := make([]chan int, size)\n\tfor i := 0; i < count; i++ {{\n\
             \t\tall[i] = make(chan int)\n\t\tgo work(all[i])\n\t}}\n\t<-done\n{stops}}}\n"
        )
    };
    let each = "\tfor _, stop = range all {\n\t\tstop <- 1\n\t}\n";
    check(&[("m.go", &source(each))], &["m.go:12 nil-channel low"]);
    check(
        &[("m.go", &source("\tif size > 1 {\n\t\tstop <- 1\n\t}\n"))],
        &["m.go:12 nil-channel medium"],
    );
}

#[test]
fn a_body_that_could_not_be_read() {
    let source = |reads: &str| {
        format!(
            "package m\n\nimport (\n\t\"encoding/json\"\n\t\"io\"\n\t\"net/http\"\n)\n\n\
             func Skip(client *http.Client, request *http.Request, to any) (io.Reader, error) {{\n\
             \tanswer, err := client.Do(request)\n\tif err != nil {{\n\t\treturn nil, err\n\t}}\n\
             \tif err := {reads}; err != nil {{\n\t\treturn nil, err\n\t}}\n\treturn answer.Body, nil\n}}\n\n\
             func skip(from io.Reader) error {{\n\t_, err := io.Copy(io.Discard, from)\n\treturn err\n}}\n\n\
             func decode(from io.Reader, to any) error {{ return json.NewDecoder(from).Decode(to) }}\n"
        )
    };
    // What was read may be wrong, and more is to come.
    let told = ["m.go:15 body-not-closed high"];
    check(&[("m.go", &source("decode(answer.Body, to)"))], &told);
    let copies = source("skip(answer.Body)").replace(
        "err := skip(answer.Body); err",
        "_, err := io.Copy(io.Discard, io.LimitReader(answer.Body, 9)); err",
    );
    check(&[("m.go", &copies)], &[]);
}

#[test]
fn a_context_that_has_ended_when_the_next_turn_begins() {
    let source = |arm: &str| {
        format!(
            "package m\n\nimport \"context\"\n\nfunc Await(ctx context.Context, add func(func()), ready func() bool) error {{\n\
             \tfor {{\n\t\tgot, stop := context.WithCancel(ctx)\n\t\tdefer stop()\n\t\tadd(stop)\n\
             \t\tif ready() {{\n\t\t\treturn nil\n\t\t}}\n\t\tselect {{\n\t\tcase {arm}:\n\t\tcase <-ctx.Done():\n\
             \t\t\treturn ctx.Err()\n\t\t}}\n\t}}\n}}\n"
        )
    };
    check(&[("m.go", &source("<-got.Done()"))], &[]);
}

#[test]
fn a_new_error_that_another_package_wraps() {
    let source = |fails: &str| {
        format!(
            "package m\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/m/kind\"\n)\n\nvar name = fmt.Sprint(1)\n\n\
             func check(busy bool) error {{\n\tif busy {{\n\t\treturn {fails}\n\t}}\n\treturn nil\n}}\n\n\
             func Run(busy bool) {{\n\tdone := make(chan bool)\n\tgo func() {{\n\t\tif !busy {{\n\t\t\tclose(done)\n\
             \t\t}}\n\t}}()\n\tif check(busy) == nil {{\n\t\t<-done\n\t}}\n}}\n"
        )
    };
    let kind = (
        "kind/kind.go",
        "package kind\n\nfunc Conflict(err error) error { return err }\n\nfunc Of(name string) error { return nil }\n",
    );
    check(&[kind, ("m.go", &source("kind.Conflict(fmt.Errorf(\"busy\"))"))], &[]);
    let told = ["m.go:26 receive-without-sender medium"];
    check(&[kind, ("m.go", &source("kind.Of(name)"))], &told);
}

const CLOSER: &str = r#"package m

type feed struct {
	ch   chan int
	done chan struct{}
	stop chan struct{}
}

func start() *feed {
	f := &feed{ch: make(chan int), done: make(chan struct{}), stop: make(chan struct{})}
	go f.run()
	return f
}

func (f *feed) run() {
	defer close(f.done)
	for {
		select {
		case f.ch <- 1:
		case <-f.stop:
			return
		}
	}
}

func (f *feed) next() int { return <-f.ch }

func (f *feed) close() {
	close(f.stop)
	<-f.done
	close(f.ch)
}
"#;

#[test]
fn a_close_behind_the_word_of_the_sender_that_it_has_left() {
    tells_of_file(CLOSER, &[]);
    let sent = CLOSER
        .replace("\tdefer close(f.done)\n", "")
        .replace("\t\t\treturn", "\t\t\tf.done <- struct{}{}\n\t\t\treturn");
    tells_of_file(&sent, &[]);
    let below = CLOSER.replace("\t<-f.done\n", "\tf.wait()\n");
    tells_of_file(&format!("{below}\nfunc (f *feed) wait() {{ <-f.done }}\n"), &[]);
    let unheard = CLOSER.replace("\t<-f.done\n\tclose(f.ch)", "\tclose(f.ch)\n\t<-f.done");
    tells_of_file(&unheard, &["m.go:30 close-misuse medium"]);
}

#[test]
fn conditions_that_hold_where_a_path_begins() {
    let source = |other: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\nfunc both(a, b []int, use func([]int)) {{\n\
             \tdone := &sync.WaitGroup{{}}\n\tif len(a) > 0 {{\n\t\tdone.Add(1)\n\t}}\n\
             \tif len(b) > 0 {{\n\t\tdone.Add(1)\n\t}}\n\
             \tif len({other}) > 0 {{\n\t\tgo func() {{\n\t\t\tuse(a)\n\t\t\tdone.Done()\n\t\t}}()\n\t}}\n\
             \tif len(b) > 0 {{\n\t\tgo func() {{\n\t\t\tuse(b)\n\t\t\tdone.Done()\n\t\t}}()\n\t}}\n\
             \tdone.Wait()\n}}\n"
        )
    };
    tells_of_file(&source("a"), &[]);
    tells_of_file(
        &source("b"),
        &["m.go:22 waitgroup-unbalanced medium", "m.go:25 waitgroup-unbalanced high"],
    );

    let timer = |other: &str| {
        format!(
            "package m\n\nimport \"time\"\n\ntype config struct{{ every time.Duration }}\n\n\
             func run(c config, beat, end chan struct{{}}) {{\n\tt := time.NewTimer(c.every)\n\
             \tif !(c.every > 0) {{\n\t\tif !t.Stop() {{\n\t\t\t<-t.C\n\t\t}}\n\t}}\n\
             \tfor {{\n\t\tselect {{\n\t\tcase <-beat:\n\t\t\tif {other} {{\n\
             \t\t\t\tif !t.Stop() {{\n\t\t\t\t\t<-t.C\n\t\t\t\t}}\n\t\t\t\tt.Reset(c.every)\n\t\t\t}}\n\
             \t\tcase <-t.C:\n\t\t\treturn\n\t\tcase <-end:\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n"
        )
    };
    tells_of_file(&timer("c.every > 0"), &[]);
    tells_of_file(&timer("len(beat) > 0"), &["m.go:19 receive-without-sender medium"]);
}

#[test]
fn a_field_of_a_struct_that_another_package_declares() {
    let source = |between: &str| {
        format!(
            "package m\n\nimport (\n\t\"sync\"\n\n\t\"example.com/other/query\"\n)\n\n\
             func all(text string, use func(string)) {{\n\topts := &query.Options{{}}\n\
             \tif err := opts.Parse(text); err != nil {{\n\t\treturn\n\t}}\n\tvar wg sync.WaitGroup\n\
             \twg.Add(len(opts.Names))\n{between}\tfor _, name := range opts.Names {{\n\
             \t\tgo func() {{\n\t\t\tdefer wg.Done()\n\t\t\tuse(name)\n\t\t}}()\n\t}}\n\twg.Wait()\n}}\n"
        )
    };
    tells_of_file(&source(""), &[]);
    // Who is given the struct may have changed it.
    tells_of_file(
        &source("\topts.Parse(\"\")\n"),
        &["m.go:19 waitgroup-unbalanced medium", "m.go:23 waitgroup-unbalanced medium"],
    );
}

#[test]
fn a_lock_of_ones_own_with_another_way_to_give_it_back() {
    let source = |release: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype lock struct {{\n\tmu    sync.Mutex\n\ttold  func()\n}}\n\n\
             func (l *lock) Lock() {{ l.mu.Lock() }}\n\nfunc (l *lock) Unlock() {{\n\tl.mu.Unlock()\n\tl.told()\n}}\n\n\
             func (l *lock) UnlockQuietly() {{ l.mu.Unlock() }}\n\n\
             type loop struct {{\n\tstate lock\n\tdone  chan struct{{}}\n\tstop  chan struct{{}}\n}}\n\n\
             func start() *loop {{\n\tl := &loop{{done: make(chan struct{{}}), stop: make(chan struct{{}})}}\n\
             \tgo l.run()\n\treturn l\n}}\n\n\
             func (l *loop) run() {{\n\tdefer close(l.done)\n\t<-l.stop\n\tl.state.Lock()\n\tl.state.Unlock()\n}}\n\n\
             func (l *loop) close() {{\n\tl.state.Lock()\n{release}\tclose(l.stop)\n\t<-l.done\n}}\n"
        )
    };
    tells_of_file(&source("\tl.state.UnlockQuietly()\n"), &[]);
    tells_of_file(
        &source("\tdefer l.state.Unlock()\n"),
        &["m.go:42 lock-held-while-blocked medium"],
    );
}

#[test]
fn a_context_that_is_asked_for_its_end_and_nothing_else() {
    let source = |used: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"net/http\"\n\t\"time\"\n)\n\n\
             func Run(exit context.Context, client *http.Client) error {{\n\tctx := context.Background()\n\
             \tfor {{\n\t\treq, err := http.NewRequestWithContext(ctx, \"GET\", \"http://peer\", nil)\n\
             \t\tif err != nil {{\n\t\t\treturn err\n\t\t}}\n\t\tresp, err := client.Do(req)\n\
             \t\tif err != nil {{\n\t\t\treturn err\n\t\t}}\n\t\tresp.Body.Close()\n{used}\
             \t\tselect {{\n\t\tcase <-time.After(time.Second):\n\t\tcase <-exit.Done():\n\t\t\treturn nil\n\t\t}}\n\t}}\n}}\n"
        )
    };
    tells_of_file(&source(""), &["m.go:10 context-not-propagated low"]);
    tells_of_file(
        &source("\t\tprintln(exit.Value(client))\n"),
        &["m.go:10 context-not-propagated high"],
    );
}

#[test]
fn a_lock_that_a_literal_gives_back_where_it_stands() {
    let source = |within: &str| {
        format!(
            "package m\n\nimport (\n\t\"errors\"\n\t\"sync\"\n)\n\ntype Store struct {{\n\tmu  sync.Mutex\n\tall map[int]string\n}}\n\n\
             func (s *Store) Put(i int, what string) error {{\n\ts.mu.Lock()\n\tif err := func() error {{\n{within}\
             \t\tif what == \"\" {{\n\t\t\treturn errors.New(\"empty\")\n\t\t}}\n\t\ts.all[i] = what\n\t\treturn nil\n\t}}(); err != nil {{\n\
             \t\treturn err\n\t}}\n\treturn s.drop(i)\n}}\n\n\
             func (s *Store) drop(i int) error {{\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tdelete(s.all, i)\n\treturn nil\n}}\n"
        )
    };
    check(&[("m.go", &source("\t\tdefer s.mu.Unlock()\n"))], &[]);
    check(
        &[("m.go", &source(""))],
        &["m.go:14 unlock-missing medium", "m.go:24 double-lock medium"],
    );
}

#[test]
fn a_method_of_a_type_out_of_sight() {
    let source = |stop: &str| {
        format!(
            "package m\n\nimport (\n\t\"time\"\n\n\t\"github.com/jonboulle/clockwork\"\n)\n\n\
             func Beat(clock clockwork.Clock, stop chan struct{{}}, beat func()) {{\n\tticker := clock.NewTicker(time.Second)\n\
             {stop}\tfor {{\n\t\tselect {{\n\t\tcase <-stop:\n\t\t\treturn\n\t\tcase <-ticker.Chan():\n\t\t\tbeat()\n\t\t}}\n\t}}\n}}\n"
        )
    };
    let module =
        "module example.com/m\n\ngo 1.20\n\nrequire github.com/jonboulle/clockwork v0.4.0\n";
    let tells = |stop: &str, expected: &[&str]| {
        check(&[("go.mod", module), ("m.go", &source(stop))], expected);
    };
    tells("\tdefer ticker.Stop()\n", &[]);
    tells("", &["m.go:14 timer-not-stopped high"]);
}

#[test]
fn clean_ups_that_run_last_first() {
    let source = |first: &str, second: &str| {
        format!(
            "package m\n\nimport (\n\t\"sync\"\n\t\"testing\"\n)\n\nfunc TestAll(t *testing.T) {{\n\tvar all sync.WaitGroup\n\
             \tgo_on := make(chan struct{{}})\n\tt.Cleanup({first})\n\tt.Cleanup({second})\n\tall.Add(1)\n\
             \tgo func() {{\n\t\tdefer all.Done()\n\t\t<-go_on\n\t}}()\n}}\n"
        )
    };
    let (wait, close) = ("all.Wait", "func() { close(go_on) }");
    check(&[("m.go", "package m\n"), ("m_test.go", &source(wait, close))], &[]);
    check(
        &[("m.go", "package m\n"), ("m_test.go", &source(close, wait))],
        &["m_test.go:16 receive-without-sender high"],
    );
}

#[test]
fn what_is_returned_has_a_channel_to_wait_for() {
    let source = |field: &str, after: &str| {
        format!(
            "package m\n\nimport \"time\"\n\ntype Answer struct {{\n\tText string\n{field}}}\n\n\
             func Ask(ask func() string, limit time.Duration) *Answer {{\n\tdone := make(chan struct{{}})\n\
             \tanswer := &Answer{{{after}}}\n\tgo func() {{\n\t\tanswer.Text = ask()\n\t\tclose(done)\n\t}}()\n\
             \tselect {{\n\tcase <-done:\n\tcase <-time.After(limit):\n\t}}\n\treturn answer\n}}\n"
        )
    };
    check(&[("m.go", &source("\tDone chan struct{}\n", "Done: done"))], &[]);
    check(&[("m.go", &source("", ""))], &["m.go:13 shared-after-timeout medium"]);
}

#[test]
fn a_context_that_a_helper_is_given_to_run_under() {
    let source = |under: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\t\"time\"\n\n\t\"k8s.io/apimachinery/pkg/util/wait\"\n)\n\n\
             func Settle(ctx context.Context, db *sql.DB) error {{\n\treturn wait.PollUntilContextCancel({under}, time.Second, true, func(ctx context.Context) (bool, error) {{\n\
             \t\t_, err := db.ExecContext(context.Background(), \"update jobs\")\n\t\treturn err == nil, ctx.Err()\n\t}})\n}}\n"
        )
    };
    check(&[("m.go", &source("context.Background()"))], &[]);
    check(&[("m.go", &source("ctx"))], &["m.go:13 context-not-propagated high"]);
}

#[test]
fn a_word_that_is_said_when_all_who_send_have_left() {
    let source = |awaited: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype Runner struct {{\n\tall  sync.WaitGroup\n\tdone chan int\n}}\n\n\
             func New() *Runner {{\n\treturn &Runner{{done: make(chan int)}}\n}}\n\n\
             func (r *Runner) work(jobs chan int) {{\n\tfor job := range jobs {{\n\t\tr.done <- job\n\t}}\n}}\n\n\
             func (r *Runner) Run(jobs, ready chan int) {{\n\tfor i := 0; i < 3; i++ {{\n\t\tr.all.Add(1)\n\t\tgo func() {{\n\
             \t\t\tr.work(jobs)\n\t\t\tr.all.Done()\n\t\t}}()\n\t}}\n\tover := make(chan struct{{}})\n\
             \tgo func() {{\n\t\t{awaited}\n\t\tclose(over)\n\t}}()\n\
             \tfor {{\n\t\tselect {{\n\t\tcase <-r.done:\n\t\tcase <-over:\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n"
        )
    };
    tells_nothing(&source("r.all.Wait()"));
    tells_of_module(&source("<-ready"), &["m.go:16 send-without-receiver medium"]);
}

#[test]
fn how_many_there_are_is_asked_twice() {
    let source = |of: &str, turns: &str| {
        format!(
            "package m\n\ntype Block interface{{ {of}() []int }}\n\n\
             func All(b Block, do func(int) int) int {{\n\tin := make(chan int)\n\
             \tfor _, tx := range b.{of}() {{\n\t\tgo func() {{ in <- do(tx) }}()\n\t}}\n\tsum := 0\n\
             \tfor n := 0; n < {turns}; n++ {{\n\t\tsum += <-in\n\t}}\n\treturn sum\n}}\n"
        )
    };
    tells_nothing(&source("Txs", "len(b.Txs())"));
    tells_of_module(&source("Txs", "len(b.Txs())-1"), &["m.go:8 send-without-receiver low"]);
}
