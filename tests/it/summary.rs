//! Summaries: a package in, what callers can know of each function out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use straggler::catalog::{Catalog, NoVersions, Versions};
use straggler::flow::{Exit, PathEnd, Step};
use straggler::index::{FuncId, Index};
use straggler::project::{LoadOptions, PackageId, SourceFile, load};
use straggler::summary::{Act, At, Effect, Place, Root, Summaries};
use straggler::syntax::{self, File, Symbol};

/// Reads `text`, a file of a package, and gives it to `test`.
fn with_package(text: &str, test: impl FnOnce(&Index<'_>, &Summaries<'_>, PackageId) + Send) {
    let root = PathBuf::from("/memory/m");
    let overlays = BTreeMap::from([
        (root.join("go.mod"), b"module m\n\ngo 1.26\n".to_vec()),
        (root.join("m.go"), text.as_bytes().to_vec()),
    ]);
    let options =
        LoadOptions { overlays, ..LoadOptions::new(root.clone(), vec![root.join("m.go")]) };
    let snapshot = load(&options);
    let (catalog, problems) = Catalog::load(None);
    assert!(problems.is_empty(), "{problems:?}");
    let run = || {
        let parse = |file: &Arc<SourceFile>| Arc::new(syntax::parse(file.text.clone()));
        let files: Vec<Arc<File>> = snapshot.files.iter().map(parse).collect();
        let index = Index::new(&snapshot, &files, &catalog);
        let versions: Vec<&(dyn Versions + Sync)> = vec![&NoVersions; snapshot.packages.len()];
        let summaries = Summaries::new(&index, &catalog, versions);
        test(&index, &summaries, snapshot.packages[0].id);
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(16 << 20).spawn_scoped(scope, run);
        if let Err(panic) = thread.expect("a thread").join() {
            std::panic::resume_unwind(panic)
        }
    });
}

/// In each function of `text`, the comment lines `//= ` are what `print` says of it; functions
/// without any are not asked.
fn check_functions(
    text: &str,
    print: impl Fn(&Index<'_>, &Summaries<'_>, FuncId) -> String + Sync,
) {
    with_package(text, |index, summaries, package| {
        let mut failures = String::new();
        for func in &index.package(package).funcs {
            let file = index.file_of(func.id);
            let span = file.decl(func.decl).span;
            let source = file.source.text(span).into_owned();
            let expected: Vec<&str> = source
                .lines()
                .filter_map(|line| Some(line.trim().strip_prefix("//=")?.trim()))
                .collect();
            if expected.is_empty() {
                continue;
            }
            let actual = print(index, summaries, func.id);
            if expected.join("\n").trim() != actual.trim() {
                let expected = expected.join("\n");
                failures += &format!("{}: expected\n{expected}\nbut it is\n{actual}\n", func.name);
            }
        }
        assert!(failures.is_empty(), "{failures}");
    });
}

fn check(text: &str) {
    check_functions(text, |index, summaries, func| {
        summaries.of(func).expect("the body is there").print(index, func)
    });
}

/// The results of each function that hold a goroutine.
fn check_resources(text: &str) {
    check_functions(text, |_, summaries, func| {
        let lines = summaries.resources(func).into_iter().map(|resource| {
            let names = |names: &[Symbol], separator: &str| {
                names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(separator)
            };
            let (stop, ends) = (names(&resource.stop, "."), names(&resource.ends, ", "));
            format!("{} until {stop}, ended by {ends}\n", resource.result)
        });
        lines.collect()
    });
}

/// The ways out of each function on which the first result of a call of `open` is neither stopped
/// nor in other hands.
fn check_unsettled(text: &str) {
    check_functions(text, |_, summaries, func| {
        let read = summaries.read(func).expect("the body is there");
        let file = read.function.file;
        let mut lines = Vec::new();
        for body in read.function.bodies() {
            let cfg = &read.function.body(body).cfg;
            for step in cfg.steps() {
                let Step::Call(call) = cfg.step(step) else { continue };
                if !file.source.text(file.expr(call).span).starts_with("open(") {
                    continue;
                }
                let place = Place::root(Root::Call(call, 0));
                let settles = |effect: &Effect| {
                    effect.act.escapes() || effect.act == Act::Method(Symbol::new("Stop"))
                };
                for path in read.unsettled(At { body, step }, &place, &settles) {
                    lines.push(match path.end {
                        PathEnd::Exit(_, Exit::Return(stmt)) => {
                            file.source.text(file.stmt(stmt).span).into_owned()
                        }
                        PathEnd::Exit(..) => "end".to_string(),
                        PathEnd::Step(_) => "again".to_string(),
                    });
                }
            }
        }
        lines.join("\n")
    });
}

#[test]
fn calls_that_do_not_come_back() {
    check(
        r#"package m
import ("log"; "os")
func fatal(s string) {
    //= never returns
    log.Println(s)
    os.Exit(1)
}
func twice(n int) {
    //= never returns
    if n > 0 { fatal("a") }
    fatal("b")
}
func serve() {
    //= never returns
    for { step() }
}
func step() {}
func todo() {
    //= always panics
    panic("todo")
}
func rescued(b bool) (err error) {
    //= result 0: plain
    defer func() { recover() }()
    if b { return nil }
    todo()
    return nil
}
func perhapsRescued() {
    //=
    defer step()
    todo()
}
func even(n int) {
    //= never returns
    odd(n - 1)
    fatal("x")
}
func odd(n int) { if n > 0 { even(n - 1) } }
"#,
    );
}

#[test]
fn what_is_done_to_parameters() {
    check(
        r#"package m
type R struct { next *R; c chan int }
func (r *R) Stop() {
    //= r.c: closed, always
    close(r.c)
}
func (r *R) Keep(other *R) {
    //= other: stored, always
    r.next = other
}
func stop(r *R) {
    //= r: Stop(), always
    //= r.c: closed, always
    if r != nil { r.Stop() }
}
func perhaps(r *R, b bool) {
    //= r: Stop()
    //= r.c: closed
    if b { return }
    stop(r)
}
func deferred(r *R) {
    //= r: Stop(), deferred, always
    //= r.c: closed, deferred, always
    defer func() { stop(r) }()
    step()
}
func spawned(r *R, cancel func()) {
    //= r: Stop(), in a goroutine, always
    //= r: captured, in a goroutine
    //= r.c: closed, in a goroutine, always
    //= cancel: called, in a goroutine, always
    //= cancel: captured, in a goroutine
    go func() { defer cancel(); r.Stop() }()
}
func same(r *R) *R {
    //= r: returned as 0, always
    //= result 0: r
    s := r
    return s
}
func cleanup(r *R) func() {
    //= r: Stop(), by the function that it returns
    //= r: captured, by the function that it returns
    //= r.c: closed, by the function that it returns
    //= result 0: a literal
    return func() { r.Stop() }
}
func unknown(r *R, f func(*R)) {
    //= r: passed on, always
    //= f: called, always
    f(r)
}
func given(r *R) {
    //= r: Stop(), always
    //= r.c: closed, always
    with(func() { r.Stop() })
}
func with(f func()) {
    //= f: called, always
    f()
}
func drain(c <-chan int, d chan int) {
    //= c: received from, always
    //= c: drained, always
    //= d: received from, always
    //= waits to receive
    for range c {}
    for x := range d { if x > 0 { break } }
}
func send(c, d chan int, done chan struct{}) {
    //= c: sent to, always
    //= d: sent to beside other arms
    //= done: received from beside other arms
    //= waits to send
    //= waits in a select until done ends
    c <- 1
    select {
    case d <- 2:
    case <-done:
    }
}
type Outer struct { *R }
func (o *Outer) Finish() {
    //= o: Stop(), always
    //= o.R: Stop(), always
    //= o.R.c: closed, always
    o.Stop()
}
func step() {}
"#,
    );
}

#[test]
fn waits_and_who_ends_them() {
    check(
        r#"package m
import ("context"; "net/http"; "time"; "sync"; "google.golang.org/grpc")
type S struct { stop chan struct{}; wg sync.WaitGroup }
func get(url string) {
    //= waits for http
    http.Get(url)
}
func indirect() {
    //= waits for http, via get
    get("x")
}
func receive(c chan int) {
    //= c: received from, always
    //= waits to receive
    <-c
}
func guarded(ctx context.Context, c chan int) {
    //= ctx: Done(), always
    //= ctx.Done(): received from beside other arms
    //= c: received from beside other arms
    //= waits to receive until ctx ends
    select {
    case <-c:
    case <-ctx.Done():
    }
}
func derived(ctx context.Context, c chan int) {
    //= ctx: passed on, always
    //= c: received from beside other arms
    //= waits to receive until ctx ends, for a time, via guarded
    child, cancel := context.WithTimeout(ctx, time.Second)
    defer cancel()
    guarded(child, c)
}
func fresh(c chan int) {
    //= c: received from beside other arms
    //= waits to receive, via guarded
    guarded(context.Background(), c)
}
func (s *S) loop(c chan int) {
    //= s.stop: received from beside other arms, always
    //= c: received from beside other arms
    //= waits to receive until s.stop ends, for a time
    for {
        select {
        case <-c:
        case <-s.stop:
            return
        case <-time.After(time.Second):
        }
    }
}
func (s *S) run() {
    //= s: loop(), always
    //= s.stop: received from beside other arms, always
    //= s.wg: Wait(), always
    //= waits for goroutines
    //= waits to receive until s.stop ends, for a time, via s.loop
    s.loop(nil)
    s.wg.Wait()
}
type Client interface {
    Get(ctx context.Context, in *S, opts ...grpc.CallOption) (*S, error)
}
func unary(ctx context.Context, c Client) {
    //= ctx: passed on, always
    //= c: Get(), always
    //= waits for rpc until ctx ends
    c.Get(ctx, &S{})
}
func polls(c chan int) {
    //= c: received from, in a goroutine, always
    //= c: received from beside a default
    select {
    case <-c:
    default:
    }
    go receive(c)
}
"#,
    );
}

#[test]
fn contexts_and_results() {
    check(
        r#"package m
import ("context"; "time"; "net/http")
type C struct { ctx context.Context; timeout time.Duration }
func background() (context.Context, context.CancelFunc) {
    //= result 0: context.WithCancel
    //= result 1: context.WithCancel result 1
    //= result 0 is derived from nothing
    return context.WithCancel(context.Background())
}
func (c *C) bounded() (context.Context, context.CancelFunc) {
    //= c.timeout: passed on, always
    //= result 0: context.WithTimeout
    //= result 1: context.WithTimeout result 1
    //= result 0 is derived from nothing, with a deadline
    ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
    return ctx, cancel
}
func child(ctx context.Context, b bool) context.Context {
    //= ctx: returned as 0
    //= ctx: passed on
    //= result 0: ctx or context.WithValue
    //= result 0 is derived from ctx
    if b {
        ctx = context.WithValue(ctx, 1, 2)
    }
    return ctx
}
func grandchild(ctx context.Context) (context.Context, error) {
    //= ctx: passed on
    //= result 0: plain or context.WithDeadline
    //= result 1: plain
    //= result 0 is derived from ctx, with a deadline
    if ctx == nil { return nil, nil }
    ctx, cancel := context.WithDeadline(child(ctx, true), time.Now())
    _ = cancel
    return ctx, nil
}
func (c *C) own() context.Context {
    //= c.ctx: returned as 0, always
    //= result 0: c.ctx
    //= result 0 is derived from c.ctx
    return c.ctx
}
func request(r *http.Request) context.Context {
    //= r: Context(), always
    //= result 0: (net/http.Request).Context
    //= result 0 is derived from r.Context()
    return r.Context()
}
func nothing() func() {
    //= result 0: a literal that does nothing
    return func() {}
}
func ticker() *time.Ticker {
    //= result 0: time.NewTicker
    return time.NewTicker(time.Second)
}
"#,
    );
}

#[test]
fn requests_writers_and_goroutines() {
    check(
        r#"package m
import ("net/http"; "sync"; "context")
func agent(r *http.Request) string {
    //= r: UserAgent(), always
    //= r: Read of RequestHeader, always
    //= r: Expose of RequestHeader, always
    //= r.Header: Get(), always
    //= r.Header: Read of Header, always
    //= result 0: plain
    return r.UserAgent() + r.Header.Get("x")
}
func path(r *http.Request) string {
    //= r: captured, later
    //= result 0: plain
    return r.Method + r.URL.Path
}
func indirect(w http.ResponseWriter, req *http.Request) {
    //= w: Header(), always
    //= w: passed on, always
    //= w: Write of ResponseHeader, always
    //= w: Expose of ResponseHeader, always
    //= w: Write of Response, always
    //= req: Context(), always
    //= req: WithContext(), always
    //= req: Read of RequestHeader, always
    //= req: Expose of RequestHeader, always
    agent(req.WithContext(req.Context()))
    w.Header().Set("a", "b")
    http.Error(w, "no", 500)
}
func derivesAgain(next http.Handler, w http.ResponseWriter, r *http.Request) {
    //= next: ServeHTTP()
    //= w: passed on
    //= r: Context()
    //= r: WithContext()
    //= r: passed on
    for range 3 {
        r = r.WithContext(r.Context())
        next.ServeHTTP(w, r)
    }
}
func handsOff(next http.Handler, w http.ResponseWriter, r *http.Request) {
    //= next: ServeHTTP(), in a goroutine, always
    //= next: captured, in a goroutine
    //= w: captured, in a goroutine
    //= w: passed on, in a goroutine, always
    //= r: Context(), always
    //= r: captured, in a goroutine
    //= r: passed on, in a goroutine, always
    //= waits to receive until r.Context() ends
    done := make(chan struct{})
    go func() { defer close(done); next.ServeHTTP(w, r) }()
    select {
    case <-done:
    case <-r.Context().Done():
    }
}
func waits(next http.Handler, w http.ResponseWriter, r *http.Request) {
    //= next: ServeHTTP(), in a goroutine that is waited for, always
    //= next: captured, in a goroutine that is waited for
    //= w: captured, in a goroutine that is waited for
    //= w: passed on, in a goroutine that is waited for, always
    //= r: captured, in a goroutine that is waited for
    //= r: passed on, in a goroutine that is waited for, always
    //= waits to receive
    result := make(chan error, 1)
    go func() {
        defer func() { result <- nil }()
        next.ServeHTTP(w, r)
    }()
    <-result
}
func clones(ctx context.Context, next http.Handler, w http.ResponseWriter, r *http.Request) {
    //= ctx: passed on, always
    //= next: ServeHTTP(), in a goroutine, always
    //= w: passed on, in a goroutine, always
    //= r: Clone(), always
    rc := r.Clone(ctx)
    go next.ServeHTTP(w, rc)
}
func group(rs []*http.Request, r *http.Request) {
    //= r: UserAgent(), in a goroutine that is waited for, always
    //= r: captured, in a goroutine that is waited for
    //= r: Read of RequestHeader, in a goroutine that is waited for, always
    //= r: Expose of RequestHeader, in a goroutine that is waited for, always
    //= r.Header: Get(), in a goroutine that is waited for, always
    //= r.Header: Read of Header, in a goroutine that is waited for, always
    //= waits for goroutines
    var wg sync.WaitGroup
    wg.Add(1)
    go func() { defer wg.Done(); agent(r) }()
    wg.Wait()
}
"#,
    );
}

#[test]
fn goroutines_that_stay_until_a_method_is_called() {
    check_resources(
        r#"package m
import ("context"; "time")
type A struct { stop chan struct{}; work chan int }
func (a *A) run() {
    for {
        select {
        case <-a.work:
        case <-a.stop:
            return
        }
    }
}
func (a *A) Close() { close(a.stop) }
func (a *A) Push(i int) { a.work <- i }
func NewA() *A {
    //= 0 until stop, ended by Close
    a := &A{stop: make(chan struct{}), work: make(chan int)}
    go a.run()
    return a
}
func Wrapped() (*A, error) {
    //= 0 until stop, ended by Close
    return NewA(), nil
}
func Idle() *A {
    //=
    return &A{}
}
type B struct { ctx context.Context; cancel context.CancelFunc }
func NewB() (*B, error) {
    //= 0 until ctx.Done(), ended by Stop
    ctx, cancel := context.WithCancel(context.Background())
    b := &B{ctx: ctx, cancel: cancel}
    go func() {
        t := time.NewTicker(time.Second)
        defer t.Stop()
        for {
            select {
            case <-t.C:
            case <-b.ctx.Done():
                return
            }
        }
    }()
    return b, nil
}
func (b *B) Stop() { b.cancel() }
func NewC(a *A) *A {
    //=
    c := &A{stop: a.stop}
    go func() { c.work <- 1 }()
    return c
}
"#,
    );
}

#[test]
fn ways_out_that_leave_a_thing_as_it_was_made() {
    check_unsettled(
        r#"package m
type W interface { Stop(); C() chan int }
type S struct { w W }
func open() (W, error) { return nil, nil }
func plain(b bool) error {
    //= return nil
    w, err := open()
    if err != nil { return err }
    if b { return nil }
    w.Stop()
    return err
}
func deferred(b bool) error {
    //=
    w, err := open()
    if err != nil || w == nil { return err }
    defer func() { w.Stop() }()
    if b { return nil }
    return nil
}
func stored(s *S) (err error) {
    //=
    s.w, err = open()
    return err
}
func kept(s *S) {
    //=
    w, _ := open()
    s.w = w
}
func loop(b bool) {
    //= end
    //= again
    for {
        w, err := open()
        if err != nil { continue }
        if b { break }
        for range w.C() {}
    }
}
func correlated(b bool) {
    //=
    var w W
    if b { w, _ = open() }
    if b { w.Stop() }
}
func goroutine() {
    //=
    w, _ := open()
    go func() { w.Stop() }()
}
func helped() {
    //=
    w, _ := open()
    finish(w)
}
func finish(w W) { w.Stop() }
func looked() {
    //= end
    w, _ := open()
    look(w)
}
func look(w W) { <-w.C() }
func value() func() {
    //=
    w, _ := open()
    return w.Stop
}
func addressed() {
    //=
    w, _ := open()
    fill(&w)
    w.Stop()
}
func fill(w *W) {}
func method() {
    //=
    w, _ := open()
    stop := w.Stop
    defer stop()
}
func broken() {
    //=
    w, _ := open()
    half(w)
}
func half(w W) { x := ; }
type E struct { W }
func embedded() {
    //=
    w, _ := open()
    e := &E{}
    defer e.Stop()
    e.W = w
}
func both() {
    //=
    pair(open())
}
func pair(w W, err error) { if err == nil { w.Stop() } }
"#,
    );
}

#[test]
fn summaries_do_not_depend_on_who_asks_first() {
    let text = r#"package m
type T struct { left, right *T; c chan int }
func (t *T) a() { t.b(); t.left.a(); t.c <- 1 }
func (t *T) b() { t.c <- 2; t.right.c1() }
func (t *T) c1() { if t.left != nil { t.a() }; close(t.c) }
func d(t *T) { t.c1(); go e(t) }
func e(t *T) { d(t); t.a() }
"#;
    with_package(text, |index, summaries, package| {
        let print = |summaries: &Summaries<'_>, func| {
            summaries.of(func).expect("the body is there").print(index, func)
        };
        let funcs: Vec<FuncId> = index.package(package).funcs.iter().map(|func| func.id).collect();
        let expected: Vec<String> = funcs.iter().map(|&func| print(summaries, func)).collect();
        assert!(expected[0].contains("t.left.c: sent to"), "{}", expected[0]);
        let (catalog, _) = Catalog::load(None);
        for first in 0..funcs.len() {
            let again = Summaries::new(index, &catalog, vec![&NoVersions]);
            print(&again, funcs[first]);
            let actual: Vec<String> = funcs.iter().map(|&func| print(&again, func)).collect();
            assert_eq!(actual, expected);
        }
    });
}
