//! Who comes in the end, and who goes on: room that fills up behind a receiver which has left, locks taken twice in a
//! row, bodies that a timeout ends late. Pairs that differ in little.

use crate::cli::{tells, tells_of_file as check};

/// A peer whose handlers send on a queue with room that another goroutine empties until it is told to leave.
fn peer(room: &str, asked: &str, ping: &str, end: &str) -> String {
    format!(
        r#"package m

import "time"

type Peer struct {{
	queue chan string
	quit  chan struct{{}}
	out   func(string)
	over  bool
}}

func New(out func(string)) *Peer {{
	p := &Peer{{queue: make(chan string, {room}), quit: make(chan struct{{}}), out: out}}
	go p.queueHandler()
	go p.pingHandler()
	return p
}}

func (p *Peer) Stop() {{
	{end}
	close(p.quit)
}}

func (p *Peer) queueHandler() {{
	for {{
		select {{
		case m := <-p.queue:
			p.out(m)
		case <-p.quit:
			return
		}}
	}}
}}

func (p *Peer) pingHandler() {{
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {{
		select {{
		case <-tick.C:
			{ping}
		case <-p.quit:
			return
		}}
	}}
}}

func (p *Peer) Answer(m string) {{
	p.queueMsg(m)
}}

func (p *Peer) queueMsg(m string) {{
	{asked}
	p.queue <- m
}}
"#
    )
}

/// Room of a constant size fills up once the loop that empties it has left, where another loop goes on to send: not
/// where it asks whether all is over, or no loop sends at all.
#[test]
fn room_fills_up_behind_a_receiver_that_has_left() {
    let ping = "p.queueMsg(\"ping\")";
    let told = &["m.go:54 send-without-receiver medium"];
    check(&peer("50", "", ping, ""), told);
    check(&peer("50", "if p.over {\n\t\treturn\n\t}", ping, "p.over = true"), &[]);
    check(&peer("50", "", "p.out(\"ping\")", ""), &[]);
    let selects = peer("50", "", ping, "")
        .replace("\tp.queue <- m\n", "\tselect {\n\tcase p.queue <- m:\n\tcase <-p.quit:\n\t}\n");
    check(&selects, &[]);
}

/// An oracle that takes its lock, and what it does before it goes on.
fn oracle(before: &str, between: &str) -> String {
    format!(
        r#"package m

import "sync"

type Oracle struct {{
	mu   sync.Mutex
	next *Oracle
	at   map[int]int
}}

func (o *Oracle) Set(n int, f func(int) (int, error)) error {{
	p, err := f(n)
	if err != nil {{
		return err
	}}
	{before}
	o.mu.Lock()
	{between}
	o.mu.Lock()
	o.at[n] = p
	o.mu.Unlock()
	return nil
}}
"#
    )
}

/// A lock that is taken twice in a row waits for itself whatever was decided before; not where it was given back, or
/// the variable stands for another object by then.
#[test]
fn a_lock_is_taken_twice_in_a_row() {
    check(&oracle("", "o.at = map[int]int{}"), &["m.go:19 double-lock high"]);
    check(&oracle("", "o.mu.Unlock()"), &[]);
    check(&oracle("held := o\n\tdefer held.mu.Unlock()", "o = o.next"), &[]);
}

/// A client with a timeout, one path of whose method leaves a body open.
#[test]
fn a_timeout_ends_a_body_late() {
    let client = |close: &str| {
        format!(
            r#"package m

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

type Client struct {{
	http *http.Client
}}

func New() *Client {{
	return &Client{{http: &http.Client{{Timeout: 30 * time.Second}}}}
}}

func (c *Client) Get(url string) ([]byte, error) {{
	resp, err := c.http.Get(url)
	if err != nil {{
		return nil, err
	}}
	if resp.StatusCode != http.StatusOK {{
		{close}
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}}
"#
        )
    };
    check(&client(""), &["m.go:25 body-not-closed medium"]);
    check(&client("resp.Body.Close()"), &[]);
}

/// A file that is given to tests in a helper alone is none of theirs.
#[test]
fn a_helper_for_tests_does_not_make_its_file_one() {
    let mut file = String::from(
        "package m\n\nimport (\n\t\"sync\"\n\t\"testing\"\n)\n\ntype Store struct {\n\tmu sync.RWMutex\n\tn  int\n}\n",
    );
    file.push_str(
        "\nfunc (s *Store) Twice() int {\n\ts.mu.RLock()\n\tdefer s.mu.RUnlock()\n\treturn s.Get() + s.n\n}\n\
         \nfunc (s *Store) Get() int {\n\ts.mu.RLock()\n\tdefer s.mu.RUnlock()\n\treturn s.n\n}\n\
         \nfunc (s *Store) Set(n int) {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\ts.n = n\n}\n",
    );
    let helper = "\nfunc check(t testing.TB, s *Store) {\n\tif s.n < 0 {\n\t\tt.Fatal()\n\t}\n}\n";
    let plain: String =
        (0..8).map(|n| format!("\nfunc sum{n}(a, b int) int {{ return a + b }}\n")).collect();
    let with = |rest: &str| format!("{file}{rest}");
    tells(&[("m.go", &with(&format!("{helper}{plain}")))], &["m.go:16 double-lock medium"]);
    tells(&[("m.go", &with(helper))], &["m.go:16 double-lock low"]);
}
