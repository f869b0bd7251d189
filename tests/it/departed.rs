//! Sends and waits for goroutines that have left, or were never begun, where nobody but the caller could know: pairs
//! that differ in little.

use crate::cli::tells_of_file as check;

const LOOP: &str = r#"package m

import (
	"context"
	"errors"
)

type task struct {
	fn   func()
	done chan struct{}
}
type Loop struct {
	tasks chan task
	done  chan struct{}
}

func New() *Loop { l := &Loop{make(chan task), make(chan struct{})}; go l.run(); return l }

func (l *Loop) run() {
	for {
		select {
		case <-l.done:
			return
		case t := <-l.tasks:
			t.fn()
			close(t.done)
		}
	}
}

func (l *Loop) Close() { close(l.done) }

func (l *Loop) Run(ctx context.Context, fn func()) error {
	select {
	case <-l.done:
		return errors.New("closed")
	default:
	}
	d := make(chan struct{})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case l.tasks <- task{fn, d}: 
		<-d
		return nil
	}
}
"#;

#[test]
fn a_send_to_a_loop_that_has_ended_beside_the_callers_context() {
    let told = ["m.go:43 send-without-receiver medium"];
    check(LOOP, &told);
    // The sender asks for the end, too, or the context is bounded here.
    check(
        &LOOP.replace(
            "\tcase l.tasks <- task{fn, d}:",
            "\tcase <-l.done:\n\t\treturn nil\n\tcase l.tasks <- task{fn, d}:",
        ),
        &[],
    );
    let bounded = "\tctx, cancel := context.WithTimeout(ctx, 5)\n\tdefer cancel()\n\td := make(";
    check(&LOOP.replace("\td := make(", bounded), &[]);
    // There is room for it: it is what follows that waits.
    check(
        &LOOP.replace("make(chan task)", "make(chan task, 1)"),
        &["m.go:44 receive-without-sender medium"],
    );
    // Nobody ends the loop, or nobody asks whether it has ended.
    check(&LOOP.replace("{ close(l.done) }", "{}"), &["m.go:21 select-never-ready low"]);
    let unasked = LOOP.replace(
        "\tselect {\n\tcase <-l.done:\n\t\treturn errors.New(\"closed\")\n\tdefault:\n\t}\n",
        "\t_ = errors.New\n",
    );
    check(&unasked, &[]);
    // Who ends it takes what is still sent.
    let drains = "{\n\tclose(l.done)\n\tfor {\n\t\tselect {\n\t\tcase t := <-l.tasks:\n\t\t\tclose(t.done)\n\t\tdefault:\n\t\t\treturn\n\t\t}\n\t}\n}";
    check(&LOOP.replace("{ close(l.done) }", drains), &[]);
}

#[test]
fn a_send_whose_caller_gives_the_context_of_the_object() {
    let own = LOOP.replace("Run(ctx", "run1(ctx");
    // Nobody calls it, and nobody can from outside.
    check(&own, &[]);
    let within =
        format!("{own}\nfunc (l *Loop) Do(f func()) error {{ return l.run1(l.ctx, f) }}\n")
            .replace("\ttasks chan task\n", "\ttasks chan task\n\tctx context.Context\n")
            .replace("&Loop{make(chan task), make(", "&Loop{tasks: make(chan task), done: make(");
    check(&within, &[]);
    let others = within.replace("l.run1(l.ctx, f)", "l.run1(context.Background(), f)");
    check(&others, &["m.go:44 send-without-receiver medium"]);
}

#[test]
fn a_send_under_the_lock_that_who_ends_the_loop_takes() {
    let locked = LOOP
        .replace("\"errors\"", "\"errors\"\n\t\"sync\"")
        .replace("type Loop struct {\n", "type Loop struct {\n\tmu sync.RWMutex\n")
        .replace("&Loop{make(chan task), make(", "&Loop{tasks: make(chan task), done: make(")
        .replace("{ close(l.done) }", "{ l.mu.Lock(); close(l.done); l.mu.Unlock() }")
        .replace("error {\n", "error {\n\tl.mu.RLock()\n\tdefer l.mu.RUnlock()\n");
    check(&locked, &[]);
}

const GROUP: &str = r#"package m

import (
	"context"

	"golang.org/x/sync/errgroup"
)

var apply func(int) error
func Fetch(ctx context.Context, h func(int) error) error

func Pull(ctx context.Context, layers int) (err error) {
	up := make(chan int, 128)
	eg, uctx := errgroup.WithContext(ctx)
	defer func() {
		if e := eg.Wait(); e != nil && err == nil {
			err = e
		}
	}()
	eg.Go(func() error {
		for i := 0; i < layers; i++ {
			select {
			case l := <-up:
				if err := apply(l); err != nil {
					return err
				}
			case <-uctx.Done():
				return uctx.Err()
			}
		}
		return nil
	})
	return Fetch(ctx, func(l int) error {
		up <- l
		return nil
	})
}
"#;

#[test]
fn a_callback_that_sends_to_a_group_that_has_failed() {
    check(GROUP, &["m.go:34 send-without-receiver medium"]);
    // It looks at the end of the group, or has no other error to fail by.
    check(
        &GROUP.replace(
            "\t\tup <- l\n",
            "\t\tselect {\n\t\tcase up <- l:\n\t\tcase <-uctx.Done():\n\t\t}\n",
        ),
        &[],
    );
    check(
        &GROUP.replace(
            "if err := apply(l); err != nil {\n\t\t\t\t\treturn err\n\t\t\t\t}",
            "_ = apply(l)",
        ),
        &[],
    );
    // With room, who calls it back may stop at the end of the context that he was given.
    check(&GROUP.replace("Fetch(ctx, func", "Fetch(uctx, func"), &[]);
    let unbuffered = GROUP.replace(", 128)", ")");
    check(
        &unbuffered.replace("Fetch(ctx, func", "Fetch(uctx, func"),
        &["m.go:34 send-without-receiver medium"],
    );
    // Somebody else takes the rest.
    let drained = GROUP.replace(
        "\tdefer func() {\n",
        "\tdefer func() {\n\t\tgo func() {\n\t\t\tfor range up {\n\t\t\t}\n\t\t}()\n",
    );
    check(&drained, &[]);
}

const BEGUN: &str = r#"package m

type E struct {
	stop chan struct{}
	pos  bool
}

func New(pos bool) *E { return &E{stop: make(chan struct{}), pos: pos} }

func (e *E) Start() {
	if e.pos {
		work()
	} else {
		go loop(e.stop)
	}
}

func work()

func loop(c chan struct{}) {
	defer close(c)
	work()
}

func (e *E) Stop() {
	<-e.stop
}
"#;

#[test]
fn a_wait_for_what_was_started_on_one_way_alone() {
    let told = ["m.go:26 receive-without-sender medium"];
    check(BEGUN, &told);
    // The wait asks, the other way closes the channel, or what is asked changes.
    check(&BEGUN.replace("{\n\t<-e.stop", "{\n\tif e.pos {\n\t\treturn\n\t}\n\t<-e.stop"), &[]);
    check(&BEGUN.replace("\t\twork()\n\t} else", "\t\tclose(e.stop)\n\t} else"), &[]);
    check(&format!("{BEGUN}\nfunc (e *E) Set() {{ e.pos = false }}\n"), &[]);
    // It is started on all ways.
    check(&BEGUN.replace("\t\tgo loop(e.stop)\n\t}", "\t}\n\tgo loop(e.stop)"), &[]);
    // Without it the method fails.
    let fails = BEGUN
        .replace(
            "Start() {\n\tif e.pos {\n\t\twork()\n",
            "Start() error {\n\tif e.pos {\n\t\treturn errNo\n",
        )
        .replace("go loop(e.stop)\n\t}", "go loop(e.stop)\n\t}\n\treturn nil");
    check(&format!("{fails}\nvar errNo error\n"), &[]);
    // Others may close it.
    check(&BEGUN.replace("stop", "Stopped"), &[]);
}

const QUEUE: &str = r#"package m

import "errors"

type task struct {
	fn   func()
	done chan struct{}
}

type Loop struct {
	tasks chan *task
	quit  chan struct{}
}

func New() *Loop {
	l := &Loop{tasks: make(chan *task, 16), quit: make(chan struct{})}
	go l.run()
	return l
}

func (l *Loop) run() {
	for {
		select {
		case <-l.quit:
			return
		case t := <-l.tasks:
			t.fn()
			close(t.done)
		}
	}
}

func (l *Loop) Close() { close(l.quit) }

func (l *Loop) Do(fn func()) error {
	t := &task{fn: fn, done: make(chan struct{})}
	select {
	case <-l.quit:
		return errors.New("closed")
	case l.tasks <- t:
	}
	<-t.done
	return nil
}
"#;

#[test]
fn a_wait_for_work_in_a_queue_that_nobody_takes_from() {
    let told = ["m.go:42 receive-without-sender medium"];
    check(QUEUE, &told);
    // The wait looks at the end, too, or there is no room.
    let looks = "\tselect {\n\tcase <-t.done:\n\tcase <-l.quit:\n\t}\n";
    check(&QUEUE.replace("\t<-t.done\n", looks), &[]);
    check(&QUEUE.replace("*task, 16)", "*task)"), &[]);
    // Who leaves, or who ends it, answers what is left.
    let drained = "\t\tcase <-l.quit:\n\t\t\tfor len(l.tasks) > 0 {\n\t\t\t\tclose((<-l.tasks).done)\n\t\t\t}\n";
    check(&QUEUE.replace("\t\tcase <-l.quit:\n", drained), &[]);
    let all = "func (l *Loop) Close() {\n\tclose(l.quit)\n\tfor _, t := range l.all {\n\t\tclose(t.done)\n\t}\n}";
    let kept = QUEUE
        .replace("func (l *Loop) Close() { close(l.quit) }", all)
        .replace("\tquit ", "\tall []*task\n\tquit ");
    check(&kept, &[]);
    let late = QUEUE.replace("run() {\n", "run() {\n\tdefer func() {\n\t\tfor _, t := range l.all {\n\t\t\tclose(t.done)\n\t\t}\n\t}()\n").replace("\tquit ", "\tall []*task\n\tquit ");
    check(&late, &[]);
}
