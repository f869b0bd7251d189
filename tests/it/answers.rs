//! Who waits for an answer without heeding the context or the timeout that is there: pairs of programs, one that
//! does and one that does not.

use crate::cli::{tells, tells_of_file, tells_of_module};

const POLLED: &str = r#"package m

import (
	"context"
	"net/http"
)

var poll func(ctx context.Context, check func(ctx context.Context) (bool, error)) error

func Check(ctx context.Context, url string) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{}
	return poll(ctx, func(ctx context.Context) (bool, error) {
		resp, err := client.Do(SENT)
		if err != nil {
			return false, nil
		}
		return resp.StatusCode == 200, resp.Body.Close()
	})
}
"#;

/// Made once, and sent by a literal that is called whenever others like.
#[test]
fn a_request_that_is_sent_in_a_literal() {
    let source = |sent: &str| POLLED.replace("SENT", sent);
    tells_of_file(&source("req"), &["m.go:11 context-not-propagated high"]);
    tells_of_file(&source("req.WithContext(ctx)"), &[]);
    let kept = source("req").replace("\t\tresp, err", "\t\tlast = req\n\t\tresp, err");
    tells_of_file(&format!("{kept}\nvar last *http.Request\n"), &[]);
}

/// Each arm of an `if` makes it.
#[test]
fn a_request_that_is_made_in_several_ways() {
    let source = |other: &str| {
        format!(
            "package m\n\nimport (\n\t\"context\"\n\t\"io\"\n\t\"net/http\"\n)\n\n\
             func Post(ctx context.Context, client *http.Client, url string, body io.Reader) error {{\n\
             \tvar req *http.Request\n\tvar err error\n\tif body == nil {{\n\
             \t\treq, err = {other}\n\t}} else {{\n\
             \t\treq, err = http.NewRequest(http.MethodPost, url, body)\n\t}}\n\
             \tif err != nil {{\n\t\treturn err\n\t}}\n\tresp, err := client.Do(req)\n\
             \tif err != nil {{\n\t\treturn err\n\t}}\n\treturn resp.Body.Close()\n}}\n"
        )
    };
    let without = source("http.NewRequest(http.MethodGet, url, nil)");
    tells_of_file(&without, &["m.go:13 context-not-propagated high"]);
    tells_of_file(&source("http.NewRequestWithContext(ctx, http.MethodGet, url, nil)"), &[]);
}

/// The sibling takes options, too.
#[test]
fn a_sibling_with_more_options() {
    let user = "package m\n\nimport (\n\t\"context\"\n\n\t\"example.com/m/scan\"\n)\n\n\
                func Scan(ctx context.Context, api scan.API) error {\n\treturn api.Scan(\"x\")\n}\n";
    let check = |more: &str, expected: &[&str]| {
        let library = format!(
            "package scan\n\nimport \"context\"\n\ntype Option func()\n\ntype API interface {{\n\
             \tScan(name string) error\n\tScanWithContext(ctx context.Context, name string{more}) error\n}}\n"
        );
        tells(&[("m.go", user), ("scan/scan.go", &library)], expected);
    };
    check(", options ...Option", &["m.go:10 context-not-propagated medium"]);
    check(", limit int", &[]);
}

const AGAIN: &str = r#"package m

import (
	"context"
	"log"
	"time"
)

type KV struct {
	changes chan int
	sum     int
}

func (kv *KV) Start(ctx context.Context) {
	go func() {
		for {
			if err := kv.watch(ctx); err != nil {
				log.Print(err)
				LATER
			}
		}
	}()
}

func (kv *KV) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case n := <-kv.changes:
			kv.sum += n
		}
	}
}

var _ = time.Second
"#;

/// A loop goes on calling what ends with its context.
#[test]
fn a_loop_that_calls_what_has_ended() {
    let source = |later: &str| AGAIN.replace("LATER", later);
    let told = &["m.go:16 goroutine-ignores-context medium"];
    tells_of_module(&source("time.Sleep(time.Second)"), told);
    tells_of_module(&source("if ctx.Err() != nil {\n\t\t\t\t\treturn\n\t\t\t\t}"), &[]);
    // What does not return when it is done is another matter.
    let goes_on = source("").replace("return ctx.Err()", "kv.sum = 0");
    tells_of_module(&goes_on, &["m.go:28 done-arm-does-not-leave high"]);
    // Others may give it something to do.
    let waits =
        source("").replace("\t\t\tif err :=", "\t\t\tkv.sum = <-kv.changes\n\t\t\tif err :=");
    tells_of_module(&waits, &[]);
    let started_once = format!(
        "{}\nfunc Run() {{\n\tctx := context.Background()\n\t(&KV{{}}).Start(ctx)\n}}\n",
        source("")
    );
    tells_of_module(&started_once, &[]);
}

const HANDSHAKE: &str = r#"package m

import (
	"bufio"
	"net"
	"time"
)

func Dialer(proxy string, timeout time.Duration) func() (net.Conn, error) {
	return func() (net.Conn, error) {
		conn, err := net.DialTimeout("tcp", proxy, timeout)
		if err != nil {
			return nil, err
		}
		BEFORE
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
}

var last net.Conn
"#;

/// The connection is handed out after the peer has answered.
#[test]
fn a_handshake_after_a_dial_with_a_timeout() {
    let source = |before: &str| HANDSHAKE.replace("BEFORE", before);
    let written =
        "if _, err := conn.Write([]byte(\"x\")); err != nil {\n\t\t\treturn nil, err\n\t\t}";
    tells_of_file(&source(written), &["m.go:18 missing-deadline medium"]);
    tells_of_file(&source("conn.SetDeadline(time.Now().Add(timeout))"), &[]);
    // Somebody else may close it.
    tells_of_file(&source("last = conn"), &[]);
}

/// A goroutine with more steps than the function that starts it.
#[test]
fn a_goroutine_for_each_with_a_long_body() {
    let source = |done: &str| {
        let work = "\t\t\twork(n)\n".repeat(12);
        format!(
            "package m\n\nimport \"sync\"\n\nfunc All(all []int, work func(int)) {{\n\
             \tvar wg sync.WaitGroup\n\twg.Add(len(all))\n\tfor _, n := range all {{\n{done}\
             \t\tgo func() {{\n{work}\t\t\twg.Done()\n\t\t}}()\n\t}}\n\twg.Wait()\n}}\n"
        )
    };
    tells_of_file(&source(""), &[]);
    let left_out = source("\t\tif n == 0 {\n\t\t\tcontinue\n\t\t}\n");
    tells_of_file(&left_out, &["m.go:28 waitgroup-unbalanced high"]);
}
