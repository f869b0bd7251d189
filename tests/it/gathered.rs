//! Channels that who receives has left, by what the package tells of how they are used: pairs that differ in little.

use crate::cli::tells_of_file as check;
use crate::cli::{found, module, straggler};

/// Compares what a run says is to be done in one file.
#[track_caller]
fn helps(source: &str, expected: &[&str]) {
    let module = module(&[("m.go", source)]);
    let run = straggler(module.path()).args(["check", "--no-cache", "--format", "jsonl"]).output();
    assert_eq!(found(run.expect("straggler runs"), ["rule", "help"]), expected, "of {source}");
}

const ANSWERS: &str = r#"package m

import (
	"sync/atomic"
	"time"
)

type Ops struct {
	results chan bool
	started atomic.Int32
}

func New() *Ops {
	return &Ops{results: make(chan bool)}
}

func (o *Ops) Start(work func() bool) {
	o.started.Add(1)
	go o.run(work)
}

func (o *Ops) run(work func() bool) {
	o.results <- work()
}

func (o *Ops) Wait(limit <-chan time.Time) bool {
	for i := int32(0); i < o.started.Load(); i++ {
		select {
		case ok := <-o.results:
			println(ok)
		case <-limit:
			return false
		}
	}
	return true
}
"#;

#[test]
fn answers_that_are_gathered_once() {
    check(ANSWERS, &["m.go:23 send-without-receiver medium"]);
    // The room is for all of them.
    check(&ANSWERS.replace("make(chan bool)", "make(chan bool, 64)"), &[]);
    // Who waits again gets those that are left.
    check(&ANSWERS.replace("println(ok)", "o.started.Add(-1)"), &[]);
    check(&ANSWERS.replace("return true", "o.started.Store(0)\n\treturn true"), &[]);
    let plain = ANSWERS
        .replace("atomic.Int32", "int32")
        .replace("o.started.Add(1)", "atomic.AddInt32(&o.started, 1)")
        .replace("o.started.Load()", "atomic.LoadInt32(&o.started)");
    check(&plain, &["m.go:23 send-without-receiver medium"]);
    check(&plain.replace("println(ok)", "atomic.AddInt32(&o.started, -1)"), &[]);
}

const POOL: &str = r#"package m

import (
	"context"
	"net"
)

type Pool struct {
	ctx    context.Context
	cancel context.CancelFunc
	idle   chan net.Conn
}

func New(ctx context.Context, size int) *Pool {
	p := &Pool{idle: make(chan net.Conn, size)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

func (p *Pool) Get(ctx context.Context) (net.Conn, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	case conn := <-p.idle:
		return conn, nil
	}
}

func (p *Pool) Run(dial func(context.Context) net.Conn) {
	for {
		select {
		case <-p.ctx.Done():
			return
		default:
			p.idle <- dial(p.ctx)
		}
	}
}

func (p *Pool) Close() {
	p.cancel()
}
"#;

#[test]
fn connections_that_are_made_before_somebody_asks() {
    check(POOL, &["m.go:37 send-without-receiver medium"]);
    let hears = "select {\n\t\t\tcase p.idle <- dial(p.ctx):\n\t\t\tcase <-p.ctx.Done():\n\t\t\t}";
    check(&POOL.replace("p.idle <- dial(p.ctx)", hears), &[]);
    // Each is made when there is something to make it of.
    let asked = POOL.replace("\tfor {\n\t\tselect {", "\tfor range p.wanted {\n\t\tselect {");
    check(&asked.replace("\tidle ", "\twanted chan int\n\tidle "), &[]);
    check(
        &POOL.replace(
            "default:\n",
            "default:\n\t\t\tif len(p.idle) == cap(p.idle) {\n\t\t\t\tcontinue\n\t\t\t}\n",
        ),
        &[],
    );
    // Each who asks brings the channel for the answer.
    let asked = POOL
        .replace("p.idle <- dial(p.ctx)", "one := <-p.asked\n\t\t\tone.idle <- dial(p.ctx)")
        .replace("case conn := <-p.idle:", "case conn := <-one.idle:")
        .replace(
            ", error) {\n",
            ", error) {\n\tone := &ask{idle: make(chan net.Conn, 1)}\n\tp.asked <- one\n",
        )
        .replace(
            "\tidle   chan net.Conn\n}",
            "\tasked  chan *ask\n}\n\ntype ask struct {\n\tidle chan net.Conn\n}",
        )
        .replace("idle: make(chan net.Conn, size)", "asked: make(chan *ask, size)");
    check(&asked, &[]);
    // Who ends it takes what is left.
    check(
        &POOL.replace(
            "\tp.cancel()\n",
            "\tp.cancel()\n\tfor conn := range p.idle {\n\t\tconn.Close()\n\t}\n",
        ),
        &[],
    );
}

const BATCH: &str = r#"package m

import "sync"

func Each(all []string, skip func(string) bool, work func(string)) {
	var chosen []string
	for _, one := range all {
		if skip(one) {
			continue
		}
		chosen = append(chosen, one)
	}
	var wg sync.WaitGroup
	wg.Add(len(all))
	for i := range chosen {
		go func(i int) {
			defer func() {
				wg.Done()
			}()
			work(chosen[i])
		}(i)
	}
	wg.Wait()
}
"#;

#[test]
fn a_count_of_all_for_those_that_were_chosen() {
    check(BATCH, &["m.go:23 waitgroup-unbalanced high"]);
    helps(BATCH, &["m.go:23 waitgroup-unbalanced count what is started: `wg.Add(len(chosen))`"]);
    check(&BATCH.replace("wg.Add(len(all))", "wg.Add(len(chosen))"), &[]);
    // No turn goes on without it.
    check(&BATCH.replace("continue", "one = one[1:]"), &[]);
    // What was left out is noted, and is why nothing is started.
    let noted = BATCH
        .replace("continue", "failed = true\n\t\t\tcontinue")
        .replace("\tvar chosen", "\tfailed := false\n\tvar chosen")
        .replace("\tvar wg", "\tif failed {\n\t\treturn\n\t}\n\tvar wg");
    check(&noted, &[]);
    let compared = "\tif len(chosen) != len(all) {\n\t\treturn\n\t}\n\tvar wg";
    check(&BATCH.replace("\tvar wg", compared), &[]);
    // The rest is counted down apart.
    let rest = "\tfor range len(all) - len(chosen) {\n\t\twg.Done()\n\t}\n\twg.Wait()";
    check(&BATCH.replace("\twg.Wait()", rest), &[]);
}

/// Whoever mends one of them has to know of the other.
#[test]
fn each_goroutine_that_leaves_without_counting_itself_down() {
    let source = |first: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\nfunc Both(one, other func() error) {{\n\tvar wg sync.WaitGroup\n\twg.Add(2)\n\
             \tgo func() {{\n\t\tif one() != nil {{\n{first}\t\t\treturn\n\t\t}}\n\t\twg.Done()\n\t}}()\n\
             \tgo func() {{\n\t\tif other() != nil {{\n\t\t\treturn\n\t\t}}\n\t\twg.Done()\n\t}}()\n\
             \twg.Wait()\n}}\n"
        )
    };
    let each =
        "m.go:20 waitgroup-unbalanced `defer wg.Done()` as the first statement of each goroutine";
    helps(&source(""), &[each]);
    let the =
        "m.go:21 waitgroup-unbalanced `defer wg.Done()` as the first statement of the goroutine";
    helps(&source("\t\t\twg.Done()\n"), &[the]);
}

const FEED: &str = r#"package m

import "context"

type Feed struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   chan struct{}
}

func New(ctx context.Context) *Feed {
	return &Feed{ctx: ctx}
}

func (f *Feed) Enable(use func(context.Context)) {
	if f.ctx.Err() == nil {
		var ctx context.Context
		f.stop = make(chan struct{})
		ctx, f.cancel = context.WithCancel(f.ctx)
		go use(ctx)
		go func() {
			<-f.stop
		}()
	}
}

func (f *Feed) Close() {
	close(f.stop)
	if f.cancel != nil {
		f.cancel()
	}
}
"#;

#[test]
fn a_channel_that_is_closed_beside_a_field_that_may_be_nil() {
    check(FEED, &["m.go:28 close-misuse medium"]);
    let asked = "if f.cancel != nil {\n\t\tclose(f.stop)";
    check(&FEED.replace("close(f.stop)\n\tif f.cancel != nil {", asked), &[]);
    check(&FEED.replace("{ctx: ctx}", "{ctx: ctx, stop: make(chan struct{})}"), &[]);
    // Both are there from the beginning.
    let enabled = "f := &Feed{ctx: ctx}\n\tf.Enable(func(context.Context) {})\n\treturn f";
    check(&FEED.replace("return &Feed{ctx: ctx}", enabled), &[]);
    // Whoever ends it has started it, by one of two ways.
    let always =
        "var ctx context.Context\n\tf.stop = make(chan struct{})\n\tif f.ctx.Err() == nil {\n";
    let both =
        "if f.ctx.Err() == nil {\n\t\tvar ctx context.Context\n\t\tf.stop = make(chan struct{})\n";
    check(&FEED.replace(both, always), &[]);
    let returns = "\tif f.ctx == nil {\n\t\treturn\n\t}\n\tclose(f.stop)";
    check(&FEED.replace("\tclose(f.stop)", returns), &[]);
}

const QUEUE: &str = r#"package m

type Crawler struct {
	found chan string
}

func New() *Crawler {
	c := &Crawler{found: make(chan string, 100)}
	go c.run()
	return c
}

func (c *Crawler) Add(link string) {
	c.found <- link
}

func links(of string) []string {
	return []string{of + "/a", of + "/b"}
}

func (c *Crawler) run() {
	for page := range c.found {
		for _, link := range links(page) {
			c.found <- link
		}
	}
}
"#;

#[test]
fn a_consumer_that_fills_its_own_channel() {
    check(QUEUE, &["m.go:24 send-and-receive-in-one-goroutine medium"]);
    check(
        &QUEUE.replace("c.found <- link\n\t\t}", "c.Add(link)\n\t\t}"),
        &["m.go:24 send-and-receive-in-one-goroutine medium"],
    );
    // One that has no room drops it, or goes on without waiting.
    let dropped = "select {\n\t\t\tcase c.found <- link:\n\t\t\tdefault:\n\t\t\t}\n\t\t}";
    check(&QUEUE.replace("c.found <- link\n\t\t}", dropped), &[]);
    check(&QUEUE.replace("c.found <- link\n\t\t}", "go c.Add(link)\n\t\t}"), &[]);
    // There is room for whatever comes.
    check(&QUEUE.replace("100", "len(links(\"\"))"), &[]);
    // What goes back was there before.
    let kept = QUEUE
        .replace(
            "for _, link := range links(page)",
            "kept = append(kept, page)\n\t\tfor _, link := range kept",
        )
        .replace("\tfor page", "\tvar kept []string\n\tfor page");
    check(&kept, &[]);
    // Each has a channel of its own.
    let peers = QUEUE
        .replace("c.found <- link\n\t\t}", "c.next.found <- link\n\t\t}")
        .replace("\tfound chan", "\tnext  *Crawler\n\tfound chan");
    check(&peers, &[]);
    let others = QUEUE.replace("go c.run()", "go c.run()\n\tgo c.take()");
    check(&(others + "\nfunc (c *Crawler) take() {\n\tfor {\n\t\t<-c.found\n\t}\n}\n"), &[]);
}

/// A goroutine with more steps than the body that starts it: each step is looked at in its own body.
#[test]
fn a_goroutine_that_does_more_than_who_starts_it() {
    let source = "package m\n\nimport \"sync\"\n\nfunc walk(in []int, f func(int)) {\n\tvar wg sync.WaitGroup\n\tfor _, v := range in {\n\t\twg.Add(1)\n\t\tgo func(v int) {\n"
        .to_owned()
        + &"\t\t\tf(v)\n".repeat(12)
        + "\t\t\twg.Done()\n\t\t}(v)\n\t}\n\twg.Wait()\n}\n";
    check(&source, &[]);
    check(
        &source.replace(
            "\t\t\twg.Done()",
            "\t\t\tif v > 3 {\n\t\t\t\treturn\n\t\t\t}\n\t\t\twg.Done()",
        ),
        &["m.go:28 waitgroup-unbalanced high"],
    );
}
