//! Goroutines of an object that send in a method of it, on a channel with room or without: pairs that differ in little.

use crate::cli::tells_of_file as check;

const WATCH: &str = r#"package m

import (
	"context"
	"sync"
	"time"
)

type W struct {
	wg     sync.WaitGroup
	cancel context.CancelFunc
	result chan int
}

func New(list func() []int) *W {
	ctx, cancel := context.WithCancel(context.Background())
	w := &W{result: make(chan int, 100), cancel: cancel}
	w.wg.Add(1)
	go w.work(ctx, list)
	return w
}

func (w *W) work(ctx context.Context, list func() []int) {
	defer w.wg.Done()
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			w.resync(list)
		case <-ctx.Done():
			return
		}
	}
}

func (w *W) resync(list func() []int) {
	for _, v := range list() {
		w.result <- v
	}
}

func (w *W) Stop() {
	w.cancel()
	w.wg.Wait()
}

func (w *W) ResultChan() <-chan int { return w.result }
"#;

const TOLD: [&str; 1] = ["m.go:39 watch-not-drained medium"];

#[test]
fn a_send_in_a_method_of_the_goroutine_with_room() {
    check(WATCH, &TOLD);
    // Nobody waits for the goroutine: the room may be enough.
    check(&WATCH.replace("\tw.wg.Wait()\n", ""), &[]);
    // Without room it stays whoever waits.
    check(&WATCH.replace("\tw.wg.Wait()\n", "").replace("int, 100)", "int)"), &TOLD);
    // Who ends it takes what is left, or the send looks at the end.
    let drains = WATCH.replace("\tw.wg.Wait()\n", "\tfor range w.result {\n\t}\n\tw.wg.Wait()\n");
    check(&drains, &[]);
    let looks = WATCH
        .replace("w.resync(list)", "w.resync(ctx, list)")
        .replace("resync(list func", "resync(ctx context.Context, list func")
        .replace(
            "\t\tw.result <- v\n",
            "\t\tselect {\n\t\tcase w.result <- v:\n\t\tcase <-ctx.Done():\n\t\t}\n",
        );
    check(&looks, &[]);
}

#[test]
fn a_goroutine_that_sends_once() {
    // The loop is over when it has sent.
    let once = WATCH.replace("\t\t\tw.resync(list)\n", "\t\t\tw.resync(list)\n\t\t\treturn\n");
    check(&once, &[]);
    // What is awaited is something else.
    let other = WATCH
        .replace("\twg     sync", "\tall    sync.WaitGroup\n\twg     sync")
        .replace("w.wg.Wait()", "w.all.Wait()");
    check(&other, &[]);
}
