//! Cancel functions that nobody calls in time: by whom a context is derived, who sees to the end of it, and who has the
//! whole that keeps it. Pairs that differ in little.

use crate::cli::{tells, tells_of_file as check};

const SEND: &str = r#"package m

import (
	"context"
	"sync"
)

type conn struct {
	jobs   chan int
	closed chan struct{}
}

type pool struct {
	conns  map[string]*conn
	wg     sync.WaitGroup
	closed chan struct{}
}

func (p *pool) Send(ctx context.Context, name string, job int) error {
	c, ok := p.conns[name]
	if !ok {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		select {
		case <-ctx.Done():
		case <-p.closed:
		}
		cancel()
	}()
	return c.send(ctx, job)
}

func (c *conn) send(ctx context.Context, job int) error {
	select {
	case c.jobs <- job:
		return nil
	case <-c.closed:
	case <-ctx.Done():
	}
	return context.Canceled
}

func (p *pool) Close() {
	close(p.closed)
	p.wg.Wait()
}
"#;

#[test]
fn a_goroutine_that_waits_for_what_it_alone_ends() {
    check(SEND, &["m.go:24 cancel-not-called medium"]);
    let deferred = "ctx, cancel := context.WithCancel(ctx)\n\tdefer cancel()";
    check(&SEND.replace("ctx, cancel := context.WithCancel(ctx)", deferred), &[]);
    // It is told when the call is over.
    let over = SEND.replace("<-p.closed:", "<-over:").replace(
        "\tgo func() {\n",
        "\tover := make(chan struct{})\n\tdefer close(over)\n\tgo func() {\n",
    );
    check(&over, &[]);
    // The cancel function comes first, or the goroutine may end at once.
    check(&SEND.replace("\t\tselect {\n\t\tcase <-ctx", "\t\tdefer cancel()\n\t\tif job == 0 {\n\t\t\treturn\n\t\t}\n\t\tselect {\n\t\tcase <-ctx").replace("\t\tcancel()\n\t}()", "\t}()"), &[]);
}

#[test]
fn a_call_that_goes_on_as_long_as_the_context() {
    // It goes round until the context ends, or waits for that.
    check(
        &SEND
            .replace(
                "\tselect {\n\tcase c.jobs <- job:\n\t\treturn nil",
                "\tfor {\n\tselect {\n\tcase c.jobs <- job:",
            )
            .replace(
                "case <-ctx.Done():\n\t}\n\treturn context.Canceled",
                "case <-ctx.Done():\n\t\treturn context.Canceled\n\t}\n\t}",
            ),
        &[],
    );
    check(
        &SEND.replace(
            "\treturn c.send(ctx, job)",
            "\terr := c.send(ctx, job)\n\t<-ctx.Done()\n\treturn err",
        ),
        &[],
    );
    // Somebody else has the context, and goes on.
    check(&SEND.replace("\treturn c.send(ctx, job)", "\tgo c.send(ctx, job)\n\treturn nil"), &[]);
    // It is not known that there is more than one.
    check(&SEND.replace("\tp.wg.Add(1)\n", "").replace("\t\tdefer p.wg.Done()\n", ""), &[]);
}

const RETRY: &str = r#"package retry

import "context"

type Backoffer struct {
	ctx   context.Context
	sleep int
}

func New(ctx context.Context) *Backoffer { return &Backoffer{ctx: ctx} }

func (b *Backoffer) Ctx() context.Context { return b.ctx }

func (b *Backoffer) Fork() (*Backoffer, context.CancelFunc) {
	ctx, cancel := context.WithCancel(b.ctx)
	return &Backoffer{ctx: ctx, sleep: b.sleep}, cancel
}
"#;

const BATCH: &str = r#"package m

import "example.com/m/retry"

func send(bo *retry.Backoffer, keys []string, one func(*retry.Backoffer, string) error) error {
	bo, cancel := bo.Fork()
	errs := make(chan error, len(keys))
	for _, key := range keys {
		go func() {
			errs <- one(bo, key)
		}()
	}
	var first error
	for range keys {
		if err := <-errs; err != nil {
			if first == nil {
				first = err
				cancel()
			}
		}
	}
	return first
}
"#;

#[track_caller]
fn check_batch(retry: &str, batch: &str, expected: &[&str]) {
    let module = "module example.com/m\n\ngo 1.24\n";
    tells(&[("go.mod", module), ("m.go", batch), ("retry/retry.go", retry)], expected);
}

#[test]
fn a_function_that_gives_the_cancel_function_to_its_caller() {
    check_batch(RETRY, BATCH, &["m.go:22 cancel-not-called high"]);
    check_batch(
        RETRY,
        &BATCH.replace("\treturn first", "\tif first == nil {\n\t\tcancel()\n\t}\n\treturn first"),
        &[],
    );
    check_batch(RETRY, &BATCH.replace("bo.Fork()\n", "bo.Fork()\n\tdefer cancel()\n"), &[]);
    // The way out is taken when the context has ended.
    check_batch(
        RETRY,
        &BATCH.replace("\treturn first", "\t<-bo.Ctx().Done()\n\treturn first"),
        &[],
    );
    // Nobody has a use for the cancel function, and the caller knows.
    check_batch(
        RETRY,
        &BATCH.replace("bo, cancel :=", "bo, _ =").replace("\t\t\t\tcancel()\n", ""),
        &[],
    );
}

#[test]
fn a_function_that_sees_to_the_cancel_function_itself() {
    // What it is derived from is ended by the caller.
    let own = BATCH.replace(
        "\tbo, cancel := bo.Fork()",
        "\touter, end := context.WithCancel(bo.Ctx())\n\tdefer end()\n\tbo, cancel := retry.New(outer).Fork()",
    );
    let own = own.replace(
        "import \"example.com/m/retry\"",
        "import (\n\t\"context\"\n\n\t\"example.com/m/retry\"\n)",
    );
    check_batch(RETRY, &own, &[]);
    // Somebody else calls it, too.
    let kept = RETRY
        .replace("sleep int", "sleep int\n\tcancel func()")
        .replace("sleep: b.sleep}", "sleep: b.sleep, cancel: cancel}");
    check_batch(&kept, BATCH, &[]);
    let timed = RETRY.replace(
        "\treturn &Backoffer{ctx: ctx, s",
        "\tgo wait(cancel)\n\treturn &Backoffer{ctx: ctx, s",
    );
    check_batch(&timed, BATCH, &[]);
    let derives = "\tctx, cancel := context.WithCancel(b.ctx)";
    let first = format!("\tif b.sleep == 0 {{\n\t\treturn b, func() {{}}\n\t}}\n{derives}");
    let sometimes = RETRY.replace(derives, &first);
    check_batch(&sometimes, BATCH, &[]);
}

const TURNS: &str = r#"package m

import "context"

type stream struct{ cancel func() }

func open(ctx context.Context, ready func() error, work func(context.Context)) *stream {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			turn, stop := context.WithCancel(ctx)
			if err := ready(); err != nil {
				continue
			}
			work(turn)
			stop()
		}
	}()
	return &stream{cancel: cancel}
}
"#;

#[test]
fn turns_below_a_context_that_others_end() {
    check(TURNS, &["m.go:11 cancel-not-called medium"]);
    check(&TURNS.replace("\t\t\t\tcontinue", "\t\t\t\tstop()\n\t\t\t\tcontinue"), &[]);
    // The last turn leaves one, for as long as the others have what it is derived from.
    check(&TURNS.replace("continue", "return"), &[]);
    // Each turn has its own parent, or that ends with the goroutine.
    check(&TURNS.replace("\tgo func() {", "\tgo func() {\n\t\tdefer cancel()"), &[]);
    let own = TURNS.replace(
        "\t\t\tturn, stop",
        "\t\t\tctx, end := context.WithCancel(ctx)\n\t\t\tdefer end()\n\t\t\tturn, stop",
    );
    let own = own
        .replace("\t\tfor {\n", "\t\tfor {\n\t\t\tfunc() {\n")
        .replace("\t\t\tstop()\n", "\t\t\tstop()\n\t\t\t}()\n")
        .replace("continue", "return");
    check(&own, &[]);
}

const TRIES: &str = r#"package m

import (
	"context"

	"github.com/cenkalti/backoff/v4"
)

type stream struct{ cancel func() }

func open(ctx context.Context, ready func() error, work func(context.Context) error) *stream {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		op := func() error {
			turn, stop := context.WithCancel(ctx)
			if err := ready(); err != nil {
				return err
			}
			defer stop()
			return work(turn)
		}
		backoff.Retry(op, nil)
	}()
	return &stream{cancel: cancel}
}
"#;

#[test]
fn tries_below_a_context_that_others_end() {
    check(TRIES, &["m.go:17 cancel-not-called medium"]);
    check(
        &TRIES.replace("\t\t\tdefer stop()\n", "").replace(
            "context.WithCancel(ctx)\n\t\t\tif",
            "context.WithCancel(ctx)\n\t\t\tdefer stop()\n\t\t\tif",
        ),
        &[],
    );
    // It runs once, or what it is derived from ends with the tries.
    check(&TRIES.replace("backoff.Retry(op, nil)", "op()"), &[]);
    check(&TRIES.replace("\tgo func() {", "\tgo func() {\n\t\tdefer cancel()"), &[]);
}

const WATCHER: &str = r#"package m

import "context"

type loop interface{ Start() error }

type watcher struct {
	ctx    context.Context
	cancel context.CancelFunc
	name   string
}

func New(ctx context.Context, start func(context.Context, func(string)) loop) (*watcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{ctx: ctx, cancel: cancel}
	if err := w.first(start); err != nil {
		return nil, err
	}
	if err := w.second(start); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *watcher) first(start func(context.Context, func(string)) loop) error {
	put := func(name string) {
		w.set(name)
	}
	return start(w.ctx, put).Start()
}

func (w *watcher) second(start func(context.Context, func(string)) loop) error {
	return start(w.ctx, func(string) {}).Start()
}

func (w *watcher) set(name string) { w.name = name }

func (w *watcher) Close() { w.cancel() }
"#;

#[test]
fn a_whole_that_its_own_literals_have() {
    check(WATCHER, &["m.go:20 cancel-not-called high"]);
    let closed = WATCHER.replace(
        "w.second(start); err != nil {\n",
        "w.second(start); err != nil {\n\t\tw.Close()\n",
    );
    check(&closed, &[]);
    // A literal that has it closes it, or it is known to others.
    check(&WATCHER.replace("w.set(name)\n\t}", "w.Close()\n\t}"), &[]);
    let known = format!("{WATCHER}\nvar all []any\n");
    check(
        &known.replace(
            "\treturn start(w.ctx, put)",
            "\tall = append(all, w)\n\treturn start(w.ctx, put)",
        ),
        &[],
    );
    // What derives another context from it waits for nothing.
    let first = "\tif err := w.first(start); err != nil {\n\t\treturn nil, err\n\t}\n";
    let derived = WATCHER
        .replace(first, "\tw.inner, w.stop = context.WithCancel(w.ctx)\n")
        .replace("{ w.cancel() }", "{\n\tw.stop()\n\tw.cancel()\n}")
        .replace("name   string", "name   string\n\tinner  context.Context\n\tstop   func()");
    check(&derived, &[]);
}

#[test]
fn a_whole_that_its_own_goroutine_has() {
    let looped = "\tgo w.loop()\n\tif err := w.second(start); err";
    let looped = WATCHER.replace("\tif err := w.second(start); err", looped);
    let looped = looped.replace(
        "func (w *watcher) set(",
        "func (w *watcher) loop() {\n\tfor w.name != \"\" {\n\t\t<-w.ctx.Done()\n\t}\n}\n\nfunc (w *watcher) set(",
    );
    let looped =
        looped.replace("\tif err := w.first(start); err != nil {\n\t\treturn nil, err\n\t}\n", "");
    check(&looped, &["m.go:18 cancel-not-called high"]);
    // Somebody in the package ends it, who may be that goroutine, or anybody can.
    check(&format!("{looped}\nfunc (w *watcher) reset() {{ w.Close() }}\n"), &[]);
    let exported = looped
        .replace("cancel c", "Cancel c")
        .replace("cancel:", "Cancel:")
        .replace("w.cancel", "w.Cancel");
    check(&exported, &[]);
}
