//! Ordinary programs that make and end something under conditions that go together.
//!
//! Nothing is left behind in any of them, and each was once told of.

use crate::cli::tells;

fn tells_nothing(source: &str) {
    tells(&[("go.mod", "module example.com/m\n\ngo 1.22\n"), ("m.go", source)], &[]);
}

// Cancel is called on exactly the paths on which it was made: d > 0 and d <= 0 exclude each other.
#[test]
fn a_context_under_the_opposite_condition() {
    tells_nothing(
        r#"package m

import (
	"context"
	"time"
)

func call(ctx context.Context, d time.Duration, fn func(context.Context) error) error {
	var cancel context.CancelFunc
	if d > 0 {
		ctx, cancel = context.WithTimeout(ctx, d)
	}
	err := fn(ctx)
	if d <= 0 {
		return err
	}
	cancel()
	return err
}
"#,
    );
}

// Cancel is called on exactly the paths on which it was made: the same pure call of strings.HasPrefix twice.
#[test]
fn a_context_under_a_test_of_a_text() {
    tells_nothing(
        r#"package m

import (
	"context"
	"strings"
)

func call(ctx context.Context, m string, fn func(context.Context) error) error {
	var cancel context.CancelFunc
	if !strings.HasPrefix(m, "watch") {
		ctx, cancel = context.WithCancel(ctx)
	}
	err := fn(ctx)
	if strings.HasPrefix(m, "watch") {
		return err
	}
	cancel()
	return err
}
"#,
    );
}

// Stream is a parameter: the body is closed if it is false and handed out if it is true.
#[test]
fn a_body_that_is_closed_or_handed_out() {
    tells_nothing(
        r#"package m

import (
	"io"
	"net/http"
)

func body(c *http.Client, stream bool, u string, sink io.Writer) (io.ReadCloser, error) {
	resp, err := c.Get(u)
	if err != nil {
		return nil, err
	}
	if !stream {
		defer resp.Body.Close()
		_, err = io.Copy(sink, resp.Body)
	}
	if stream {
		return resp.Body, nil
	}
	return nil, err
}
"#,
    );
}

// Ok is not changed: either the body is closed or it is handed out.
#[test]
fn a_body_by_a_variable() {
    tells_nothing(
        r#"package m

import "net/http"

func get(c *http.Client, u string, want int) (*http.Response, error) {
	resp, err := c.Get(u)
	if err != nil {
		return nil, err
	}
	ok := resp.StatusCode == want
	if !ok {
		resp.Body.Close()
	}
	if ok {
		return resp, nil
	}
	return nil, http.ErrNotSupported
}
"#,
    );
}

// The status is 200 or not: the body is handed out or closed; nobody changes it in between.
#[test]
fn a_body_by_its_status() {
    tells_nothing(
        r#"package m

import "net/http"

func get(c *http.Client, u string) (*http.Response, error) {
	r, err := c.Get(u)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != 200 {
		r.Body.Close()
	}
	if r.StatusCode == 200 {
		return r, nil
	}
	return nil, http.ErrNotSupported
}
"#,
    );
}

// W is watched and stopped under the same parameter `follow`.
#[test]
fn a_watch_under_a_parameter() {
    tells_nothing(
        r#"package m

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

func call(ctx context.Context, c kubernetes.Interface, follow bool, fn func()) error {
	var w watch.Interface
	var err error
	if follow {
		w, err = c.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
	}
	fn()
	if follow {
		w.Stop()
	}
	return nil
}
"#,
    );
}

// The pool is made for n > 1 only, and n <= 1 returns without one.
#[test]
fn a_pool_under_a_condition() {
    tells_nothing(
        r#"package m

type pool struct {
	stop chan struct{}
	done chan struct{}
}

func newPool() *pool {
	p := &pool{stop: make(chan struct{}), done: make(chan struct{})}
	go func() { defer close(p.done); <-p.stop }()
	return p
}

func (p *pool) Close() { close(p.stop); <-p.done }

func run(n int, f func()) {
	var p *pool
	if n > 1 {
		p = newPool()
	}
	f()
	if n <= 1 {
		return
	}
	p.Close()
}
"#,
    );
}

// Err != nil is one of the two reasons for Close, so the return under err != nil comes after it.
#[test]
fn a_pool_under_one_of_two_conditions() {
    tells_nothing(
        r#"package m

type pool struct {
	stop chan struct{}
	done chan struct{}
}

func newPool() *pool {
	p := &pool{stop: make(chan struct{}), done: make(chan struct{})}
	go func() { defer close(p.done); <-p.stop }()
	return p
}

func (p *pool) Close() { close(p.stop); <-p.done }

func open(keep bool, f func() error) (*pool, error) {
	p := newPool()
	err := f()
	if err != nil || !keep {
		p.Close()
	}
	if err != nil {
		return nil, err
	}
	if keep {
		return p, nil
	}
	return nil, nil
}
"#,
    );
}

// Err is nil or not: one of the two ifs calls cancel.
#[test]
fn a_cancel_function_called_either_way() {
    tells_nothing(
        r#"package m

import "context"

func run(ctx context.Context, f func(context.Context) error) error {
	c, cancel := context.WithCancelCause(ctx)
	err := f(c)
	if err != nil {
		cancel(err)
	}
	if err == nil {
		cancel(nil)
	}
	return err
}
"#,
    );
}

// Cancel is made and called under the same i > 0.
#[test]
fn a_context_in_a_turn_under_a_condition() {
    tells_nothing(
        r#"package m

import "context"

func each(ctx context.Context, n int, fn func(context.Context)) {
	for i := 0; i < n; i++ {
		c := ctx
		var cancel context.CancelFunc
		if i > 0 {
			c, cancel = context.WithCancel(ctx)
		}
		fn(c)
		if i > 0 {
			cancel()
		}
	}
}
"#,
    );
}

// A buffered writer fails only when the pipe does, and that only once the reader has been closed: nobody reads.
#[test]
fn a_buffer_before_a_pipe() {
    tells_nothing(
        r#"package m

import (
	"bufio"
	"io"
)

func export(w io.Writer, bs []string) {
	pr, pw := io.Pipe()
	go func() {
		bw := bufio.NewWriter(pw)
		for _, b := range bs {
			if _, err := bw.WriteString(b); err != nil {
				return
			}
		}
		if bw.Flush() != nil {
			return
		}
		pw.Close()
	}()
	io.Copy(w, pr)
	pr.Close()
}
"#,
    );
}

// Cancel is called on exactly the paths on which it was made: a method that only reads a field says the same twice.
#[test]
fn a_context_under_what_a_method_reads() {
    tells_nothing(
        r#"package m

import (
	"context"
	"time"
)

type opts struct{ d time.Duration }

func (o opts) has() bool { return o.d > 0 }

func call(ctx context.Context, o opts, fn func(context.Context) error) error {
	var cancel context.CancelFunc
	if o.has() {
		ctx, cancel = context.WithTimeout(ctx, o.d)
	}
	err := fn(ctx)
	if o.has() {
		cancel()
	}
	return err
}
"#,
    );
}
