//! The explorer: a Go function in, who is stuck out. Each point of Go's semantics that decided a
//! real bug or a false alarm has its pair here.

use std::fmt::Write;

use straggler::explore::{self, Calls, Kind, Limits, Root, Site, WaitsFor};
use straggler::program::code::{FuncId, Op};
use straggler::program::{self, NothingKnown, Program, Source};
use straggler::source::{FileId, SourceText};
use straggler::syntax;

/// Explores `f` of the text, in the open world, and prints who is stuck: what a goroutine waits
/// for and its line. Lines count from the first line of `text`.
fn report(text: &str, closed: bool) -> String {
    report_within(text, closed, |_, _| Limits::default())
}

/// The same as far as it concerns the channel that `f` makes first.
fn report_of_channel(text: &str) -> String {
    report_within(text, false, |program, func| {
        let code = program.func(func).code.iter();
        let made = code.zip(0..).find(|(op, _)| matches!(op, Op::Make(_)));
        let (_, pc) = made.expect("f makes a channel");
        Limits { calls: Calls::Of(Site { func, pc }), ..Limits::default() }
    })
}

fn report_within(text: &str, closed: bool, limits: impl Fn(&Program, FuncId) -> Limits) -> String {
    let text = text.trim_start_matches('\n');
    let source = SourceText::new(format!("package p; {text}").into_bytes());
    let file = syntax::parse(source.clone());
    assert!(file.errors.is_empty(), "{:?}", file.errors);
    let program = program::compile(&[Source { id: FileId(0), file: &file }], &NothingKnown);
    let func = program
        .entries
        .iter()
        .copied()
        .find(|&id| program.func(id).symbol.as_str() == "f")
        .expect("the text declares f");
    let ends_process = false;
    let root = Root { func, maker: None, closed, ends_process };
    let exploration = explore::explore(&program, root, &limits(&program, func));
    assert!(exploration.steps < 2 * Limits::default().steps, "{}", exploration.steps);
    let waits = program.func(func).traits.waits;
    assert!(waits || exploration.stuck.is_empty(), "who waits for nothing is never stuck");
    let mut out = String::new();
    for stuck in &exploration.stuck {
        let how = match stuck.kind {
            Kind::Terminal => "stuck".to_owned(),
            Kind::Component => "never gets on".to_owned(),
            Kind::Livelock => "never ends".to_owned(),
            Kind::Misuse(misuse) => format!("{misuse:?}").to_lowercase(),
        };
        write!(out, "{how}").expect("a string takes everything");
        for goroutine in &stuck.goroutines {
            let what = match goroutine.waits_for {
                WaitsFor::Nothing => String::new(),
                other => format!("{other:?} ").to_lowercase(),
            };
            let line = line(&program, &source, goroutine.at);
            write!(out, ", {what}{line}").expect("a string takes everything");
        }
        if stuck.doubts.inexact {
            out.push_str(" (inexact)");
        }
        if stuck.doubts.failed_test {
            out.push_str(" (failed test)");
        }
        out.push('\n');
    }
    if !exploration.complete() {
        writeln!(out, "cut {:?}", exploration.bounds).expect("a string takes everything");
    }
    out
}

fn line(program: &Program, source: &SourceText, site: Site) -> u32 {
    source.line(program.func(site.func).spans[site.pc as usize].start)
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
    };
    let actual = report(text, true);
    assert_eq!(lines(&actual), lines(expected), "the report is\n{actual}");
}

#[track_caller]
fn check_open(text: &str, expected: &str) {
    assert_eq!(report(text, false).trim(), expected.trim());
}

#[test]
fn a_send_whose_receiver_takes_another_way() {
    check(
        r#"
import "context"
func f(ctx context.Context) int {
    c := make(chan int)
    go func() { c <- 1 }()
    select {
    case v := <-c:
        return v
    case <-ctx.Done():
        return 0
    }
}
        "#,
        "stuck, send 4",
    );
    check(
        r#"
import "context"
func f(ctx context.Context) int {
    c := make(chan int, 1)
    go func() { c <- 1 }()
    select {
    case v := <-c:
        return v
    case <-ctx.Done():
        return 0
    }
}
        "#,
        "",
    );
}

#[test]
fn correlated_conditions_are_one_condition() {
    check(
        r#"
func work() error
func f() {
    c := make(chan int)
    err := work()
    if err == nil {
        go func() { c <- 1 }()
    }
    if err == nil {
        <-c
    }
}
        "#,
        "",
    );
    check(
        r#"
func work() error
func f() {
    c := make(chan int)
    err := work()
    if err == nil {
        go func() { c <- 1 }()
    }
    if err != nil {
        <-c
    }
}
        "#,
        "stuck, receive 9\n stuck, send 6",
    );
}

#[test]
fn a_capacity_and_a_loop_over_the_same_length_agree() {
    check(
        r#"
func f(xs []int) {
    c := make(chan int, len(xs))
    for range xs {
        go func() { c <- 1 }()
    }
}
        "#,
        "",
    );
    check(
        r#"
func f(xs []int) {
    c := make(chan int, 1)
    for range xs {
        go func() { c <- 1 }()
    }
}
        "#,
        "stuck, send 4",
    );
}

#[test]
fn products_of_lengths_count_exactly() {
    check(
        r#"
import "sync"
func f(a, b int) {
    var wg sync.WaitGroup
    wg.Add(a * b)
    for i := 0; i < a; i++ {
        for j := 0; j < b; j++ {
            go wg.Done()
        }
    }
    wg.Wait()
}
        "#,
        "",
    );
}

#[test]
fn a_large_constant_is_made_small_everywhere() {
    check(
        r#"
import "sync"
func f() {
    var wg sync.WaitGroup
    wg.Add(1000)
    for i := 0; i < 1000; i++ {
        go func() { defer wg.Done() }()
    }
    wg.Wait()
}
        "#,
        "",
    );
    check(
        r#"
import "sync"
func f() {
    var wg sync.WaitGroup
    wg.Add(200)
    for i := 0; i < 2; i++ {
        for j := 0; j < 100; j++ {
            go wg.Done()
        }
    }
    wg.Wait()
}
        "#,
        "",
    );
}

#[test]
fn a_default_stays_possible_while_the_partner_may_not_have_arrived() {
    check(
        r#"
func f() {
    c := make(chan int)
    go func() { c <- 1 }()
    select {
    case <-c:
    default:
    }
}
        "#,
        "stuck, send 3",
    );
}

#[test]
fn a_waiting_writer_blocks_readers() {
    check(
        r#"
import "sync"
func f() {
    var mu sync.RWMutex
    go func() { mu.Lock(); mu.Unlock() }()
    mu.RLock()
    mu.RLock()
    mu.RUnlock()
    mu.RUnlock()
}
        "#,
        "stuck, rlock 6, lock 4",
    );
}

#[test]
fn cond_wait_gives_its_lock_back() {
    check(
        r#"
import "sync"
func f() {
    var mu sync.Mutex
    c := sync.NewCond(&mu)
    done := false
    go func() { mu.Lock(); done = true; c.Signal(); mu.Unlock() }()
    mu.Lock()
    for !done {
        c.Wait()
    }
    mu.Unlock()
}
        "#,
        "",
    );
    check(
        r#"
import "sync"
func f() {
    var mu sync.Mutex
    c := sync.NewCond(&mu)
    go func() { mu.Lock(); c.Signal(); mu.Unlock() }()
    mu.Lock()
    c.Wait()
    mu.Unlock()
}
        "#,
        "stuck, condition 7",
    );
}

#[test]
fn timers_fire_and_can_be_stopped_too_late() {
    check(
        r#"
import "time"
func f() {
    t := time.NewTimer(time.Second)
    done := make(chan int)
    select {
    case <-t.C:
    case <-done:
    }
    if !t.Stop() {
        <-t.C
    }
}
        "#,
        "stuck, receive 10",
    );
}

#[test]
fn a_context_of_our_own_ends_only_when_it_is_cancelled() {
    check(
        r#"
import "context"
func f() {
    ctx, _ := context.WithCancel(context.Background())
    go func() { <-ctx.Done() }()
}
        "#,
        "stuck, receive 4",
    );
    check(
        r#"
import "context"
func f() {
    ctx, cancel := context.WithCancel(context.Background())
    defer cancel()
    go func() { <-ctx.Done() }()
}
        "#,
        "",
    );
    check(
        r#"
import ("context"; "other")
func f() {
    ctx, cancel := context.WithCancel(context.Background())
    other.Keep(cancel)
    go func() { <-ctx.Done() }()
}
        "#,
        "",
    );
}

#[test]
fn fatal_of_a_test_runs_deferred_calls_and_others_end_the_process() {
    check(
        r#"
import "testing"
func f(t *testing.T) {
    c := make(chan int)
    go func() { c <- 1 }()
    if bad() {
        t.Fatal("bad")
    }
    <-c
}
func bad() bool
        "#,
        "stuck, send 4 (failed test)",
    );
    check(
        r#"
import "log"
func f() {
    c := make(chan int)
    go func() { c <- 1 }()
    if bad() {
        log.Fatal("bad")
    }
    <-c
}
func bad() bool
        "#,
        "",
    );
}

#[test]
fn a_recovered_panic_unwinds() {
    check(
        r#"
func f() {
    c := make(chan int)
    go func() {
        defer func() { recover(); c <- 1 }()
        panic("bad")
    }()
    <-c
}
        "#,
        "",
    );
    check(
        r#"
func f() {
    c := make(chan int)
    go func() {
        defer func() { recover() }()
        panic("bad")
        c <- 1
    }()
    <-c
}
        "#,
        "stuck, receive 8",
    );
}

#[test]
fn an_empty_select_is_meant_to_stay() {
    check("func f() { go func() { select {} }() }", "");
}

#[test]
fn different_constants_of_other_packages_differ() {
    check(
        r#"
import "k8s.io/api/v1"
func f() {
    c := make(chan int)
    state := v1.Ready
    go func() { c <- 1 }()
    if state != v1.Stopped {
        <-c
    }
}
        "#,
        "",
    );
}

#[test]
fn what_unknown_code_can_reach_is_benign() {
    check_open(
        r#"
import "other"
func f() {
    c := make(chan int)
    other.Keep(c)
    c <- 1
}
        "#,
        "",
    );
    check_open("func f() chan int { c := make(chan int); go func() { c <- 1 }(); return c }", "");
    check_open("var g chan int\nfunc f() { c := make(chan int); g = c; c <- 1 }", "");
    check_open("func f(c chan int) { c <- 1; <-c; close(c) }", "");
}

#[test]
fn a_pointer_that_other_code_has_made_may_be_nil_until_it_is_used() {
    let text = |how: &str| {
        format!(
            "type info struct {{ since int }}\ntype pool struct {{ suspended *info }}\n\
             func f(p *pool) {{\n c := make(chan int)\n {how}\n c <- 1\n}}"
        )
    };
    check_open(&text("if p.suspended != nil { return }"), "stuck, send 6");
    check_open(&text("if p.suspended == nil { return }"), "stuck, send 6");
    // The same answer each time.
    let twice = "if p.suspended != nil { return }\n if p.suspended == nil { return }";
    check_open(&text(twice), "");
    let used = "if p.suspended.since > 0 { return }\n if p.suspended != nil { return }";
    check_open(&text(used), "");
}

#[test]
fn a_lock_taken_twice() {
    check_open(
        r#"
import "sync"
type T struct { mu sync.Mutex; n int }
func (t *T) get() int { t.mu.Lock(); defer t.mu.Unlock(); return t.n }
func f(t *T) int {
    t.mu.Lock()
    defer t.mu.Unlock()
    return t.get()
}
        "#,
        "stuck, lock 3",
    );
}

#[test]
fn misuse_of_channels_panics() {
    check("func f() { c := make(chan int); close(c); close(c) }", "closeofclosed, 1");
    check("func f() { c := make(chan int, 1); close(c); c <- 1 }", "sendonclosed, send 1");
    check("func f() { var c chan int; go func() { c <- 1 }() }", "stuck, nilchannel 1");
}

#[test]
fn a_livelock_is_a_component_that_is_never_left() {
    check(
        r#"
import ("context"; "time")
func f() {
    ctx, cancel := context.WithCancel(context.Background())
    _ = cancel
    go func() {
        for {
            select {
            case <-time.After(1):
            case <-ctx.Done():
                return
            }
        }
    }()
}
        "#,
        "never ends, select 7",
    );
}

#[test]
fn iterator_functions_run_inside_the_loop() {
    check(
        r#"
func all(yield func(int) bool) {
    for i := 0; i < 3; i++ {
        if !yield(i) {
            return
        }
    }
}
func f() {
    c := make(chan int, 2)
    for v := range all {
        c <- v
        if v == 1 {
            break
        }
    }
}
        "#,
        "",
    );
    check(
        r#"
func all(yield func(int) bool) {
    for i := 0; i < 3; i++ {
        if !yield(i) {
            return
        }
    }
}
func f() {
    c := make(chan int, 2)
    for v := range all {
        c <- v
    }
}
        "#,
        "stuck, send 11",
    );
}

#[test]
fn a_cleanup_runs_when_its_subtest_ends() {
    check(
        r#"
import ("sync"; "testing")
var mu sync.Mutex
func capture(t *testing.T) {
    mu.Lock()
    t.Cleanup(func() { mu.Unlock() })
}
func f(t *testing.T) {
    t.Run("a", func(t *testing.T) { capture(t) })
    t.Run("b", func(t *testing.T) { capture(t) })
}
        "#,
        "",
    );
}

#[test]
fn functions_given_away_reach_package_variables() {
    let text = |given: &str| {
        format!(
            r#"
import ("other"; "sync")
var wg sync.WaitGroup
func create() int {{ wg.Done(); return 1 }}
func f() {{
    other.Register({given})
    wg.Add(1)
    other.Start()
    wg.Wait()
}}
            "#
        )
    };
    check(&text("create"), "");
    check(&text("1"), "stuck, counter 8");
}

#[test]
fn elements_that_may_have_been_assigned_are_not_nil() {
    check_open(
        r#"
func f(all []chan int) {
    some := make([]chan int, len(all))
    copy(some, all)
    for _, c := range some { c <- 1 }
}
        "#,
        "",
    );
    check_open(
        r#"
func f(key string) {
    m := map[string]chan int{"a": make(chan int), "b": make(chan int)}
    m[key] <- 1
}
        "#,
        "",
    );
    check_open(
        r#"
import "other"
func f() {
    all := other.All()
    waits := make([]chan int, len(all))
    for i := range all {
        c := make(chan int, 1)
        waits[i] = c
        go func() { c <- 1 }()
    }
    for _, c := range waits { <-c }
}
        "#,
        "",
    );
    check_open(
        r#"
type T struct { c chan int }
func f(m map[int]T, key int) {
    var t T
    t, ok := m[key]
    if ok { t.c <- 1 }
}
        "#,
        "",
    );
}

#[test]
fn a_number_of_another_package_is_no_zero_workers() {
    check_open(
        r#"
import "other"
func f() {
    c := make(chan int)
    for i := 0; i < other.Workers; i++ {
        go func() { for range c {} }()
    }
    c <- 1
    close(c)
}
        "#,
        "",
    );
}

#[test]
fn a_function_that_runs_once() {
    check(
        r#"
import "sync"
func f() {
    c := make(chan int)
    end := sync.OnceFunc(func() { close(c) })
    defer end()
    end()
    <-c
}
        "#,
        "",
    );
    check(
        r#"
import ("other"; "sync")
func work(n int) { if n < other.N { n++ } }
func f() {
    var once sync.Once
    once.Do(func() { work(1) })
    once.Do(func() { work(2) })
}
        "#,
        "",
    );
}

#[test]
fn an_error_of_other_code_is_no_private_value() {
    check_open(
        r#"
import "other"
type late struct{}
func (late) Error() string { return "" }
func f() {
    c := make(chan error, 2)
    go func() { c <- other.Try() }()
    if err := <-c; err != nil {
        if err == (late{}) { <-c }
    }
}
        "#,
        "",
    );
}

#[test]
fn an_error_that_is_wrapped_is_as_nil_as_it_was() {
    let with = |made: &str| {
        format!(
            r#"
import "github.com/pkg/errors"
func f(c chan error) {{
    done := make(chan struct{{}})
    err := {made}
    go func() {{
        if err == nil {{ close(done) }}
    }}()
    if errors.Wrap(err, "f") != nil {{ return }}
    <-done
}}
            "#
        )
    };
    check_open(&with("<-c"), "");
    check_open(&with("errors.Errorf(\"no\")"), "");
}

#[test]
fn one_channel_by_itself() {
    let text = "
func f(work func() error, next func() int) error {
	errs := make(chan error)
	seen, done := make(chan int), make(chan bool)
	go count(seen, done, next)
	go func() {
		errs <- work()
	}()
	select {
	case err := <-errs:
		return err
	case <-seen:
		return nil
	}
}

func count(seen chan int, done chan bool, next func() int) {
	for n := 0; ; n += next() {
		select {
		case seen <- n:
		case <-done:
			return
		}
	}
}";
    // Who has nothing to do with it is taken for unknown code.
    assert_eq!(report_of_channel(text), "stuck, send 6\n");
    // What a goroutine sets decides all the same.
    let sets = "
func f(work func() error) error {
	errs := make(chan error)
	ended, failed := make(chan bool), false
	go func() {
		failed = true
		close(ended)
	}()
	go func() {
		errs <- work()
	}()
	<-ended
	if !failed {
		return nil
	}
	return <-errs
}";
    assert_eq!(report_of_channel(sets), "");
}
