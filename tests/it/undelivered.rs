//! Requests that are not handed over, locks that are tried, and what printing calls. Pairs that differ in little.

use crate::cli::tells_of_file as check;

/// A manager whose `send` gives up when `done` has come, and one of its methods.
fn manager(send: &str, wait: &str) -> String {
    format!(
        r#"package m

import (
	"context"
	"errors"
)

type pause struct {{
	id     int
	answer chan error
}}

type manager struct {{
	ctx      context.Context
	requests chan *pause
}}

func New(ctx context.Context) *manager {{
	m := &manager{{ctx: ctx, requests: make(chan *pause, 4)}}
	go m.run()
	return m
}}

func (m *manager) run() {{
	for {{
		select {{
		case <-m.ctx.Done():
			return
		case one := <-m.requests:
			one.answer <- nil
		}}
	}}
}}

{send}

func (m *manager) Pause(ctx context.Context, id int) error {{
	answer := make(chan error, 1)
	m.send(&pause{{id, answer}}, ctx.Done())
{wait}
}}

var errGone = errors.New("gone")
"#
    )
}

const SEND: &str = "func (m *manager) send(one *pause, done <-chan struct{}) {\n\tselect {\n\tcase <-m.ctx.Done():\n\
                    \tcase <-done:\n\tcase m.requests <- one:\n\t}\n}";

const WAIT: &str = "\tselect {\n\tcase <-m.ctx.Done():\n\t\treturn errGone\n\tcase err := <-answer:\n\
                    \t\treturn err\n\t}";

#[test]
fn a_request_that_was_not_sent() {
    check(&manager(SEND, WAIT), &["m.go:46 receive-without-sender medium"]);
    check(&manager(SEND, "\treturn <-answer"), &["m.go:46 receive-without-sender medium"]);
    let hears = WAIT.replace("<-m.ctx.Done()", "<-ctx.Done()");
    check(&manager(SEND, &hears), &[]);
    // Who has sent it in any case answers.
    let waits = "func (m *manager) send(one *pause, done <-chan struct{}) {\n\tselect {\n\
                 \tcase <-m.ctx.Done():\n\tcase m.requests <- one:\n\t}\n}";
    check(&manager(waits, WAIT), &[]);
    let looks = format!("\tif ctx.Err() != nil {{\n\t\treturn ctx.Err()\n\t}}\n{WAIT}");
    check(&manager(SEND, &looks), &[]);
}

#[test]
fn a_lock_that_is_tried_until_a_context_ends() {
    let source = |back: &str| {
        format!(
            r#"package m

import (
	"context"
	"errors"
)

type Mutex interface {{
	TryLock(ctx context.Context) bool
	Unlock()
}}

type pool struct {{
	mu   Mutex
	idle []int
}}

func (p *pool) Borrow(ctx context.Context, find func() (int, error)) (int, error) {{
	if !p.mu.TryLock(ctx) {{
		return 0, errors.New("no lock in time")
	}}
	one, err := find()
	if err != nil {{
{back}		return 0, err
	}}
	p.idle = append(p.idle, one)
	p.mu.Unlock()
	return one, nil
}}
"#
        )
    };
    check(&source(""), &["m.go:19 unlock-missing high"]);
    check(&source("\t\tp.mu.Unlock()\n"), &[]);
}

#[test]
fn a_literal_that_keeps_what_it_locks() {
    let source = |back: &str| {
        format!(
            r#"package m

import (
	"context"
	"sync"

	"example.org/timing"
)

type pool struct {{
	mu  sync.Mutex
	all map[string]int
}}

func (p *pool) KeepAlive(ctx context.Context, name string) {{
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[name]++
	go timing.Periodically(ctx, func() {{
		p.mu.Lock()
		if _, ok := p.all[name]; !ok {{
{back}			return
		}}
		p.all[name]++
		p.mu.Unlock()
	}})
}}
"#
        )
    };
    check(&source(""), &["m.go:20 unlock-missing high"]);
    check(&source("\t\t\tp.mu.Unlock()\n"), &[]);
}

#[test]
fn what_is_printed_to_is_written_to() {
    let source = |to: &str| {
        format!(
            r#"package m

import (
	"fmt"
	"io"
	"sync"
)

type view struct {{
	mu   sync.Mutex
	text []byte
	out  io.Writer
}}

func (v *view) Write(p []byte) (int, error) {{
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text = append(v.text, p...)
	return len(p), nil
}}

func (v *view) SetText(text string) {{
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text = nil
	fmt.Fprint({to}, text)
}}
"#
        )
    };
    check(&source("v"), &["m.go:26 double-lock medium"]);
    check(&source("v.out"), &[]);
}
