//! Goroutines that a call leaves behind on one way out: pairs that differ in little.

use crate::cli::tells_of_file as check;

const CALL: &str = r#"package m

import (
	"context"
	"io"
)

type C struct{ closed chan struct{} }

func (c *C) Close() { close(c.closed) }

func (c *C) Do(ctx context.Context, str io.ReadCloser, send func() error) error {
	done := make(chan struct{})
	go func() {
		select {
		case <-c.closed:
			str.Close()
		case <-done:
		}
	}()
	if err := send(); err != nil {
		return err
	}
	close(done)
	return nil
}
"#;

const TOLD: [&str; 1] = ["m.go:18 helper-outlives medium"];

#[test]
fn a_channel_that_is_closed_on_another_way_alone() {
    check(CALL, &TOLD);
    check(&CALL.replace("<-c.closed", "<-ctx.Done()"), &TOLD);
    // It is closed on all ways.
    check(&CALL.replace("\t\treturn err\n", "\t\tclose(done)\n\t\treturn err\n"), &[]);
    let deferred = CALL.replace("\tgo func() {\n", "\tdefer close(done)\n\tgo func() {\n");
    check(&deferred.replace("\tclose(done)\n\treturn nil", "\treturn nil"), &[]);
    // The way out ends what the goroutine waits for, or was taken because of that.
    check(&CALL.replace("\t\treturn err\n", "\t\tc.Close()\n\t\treturn err\n"), &[]);
    let over =
        CALL.replace("<-c.closed", "<-ctx.Done()").replace("return err\n", "return ctx.Err()\n");
    check(&over, &[]);
    // Somebody else has the channel.
    let given = CALL.replace("\tif err := send", "\tkeep(done)\n\tif err := send");
    check(&format!("{given}\nfunc keep(chan struct{{}})\n"), &[]);
    let kept = CALL.replace("\tgo func() {\n", "\tstop := func() { close(done) }\n\tgo func() {\n");
    check(&kept.replace("\tclose(done)\n\treturn nil", "\tstop()\n\treturn nil"), &[]);
}

const REQUEST: &str = r#"package m

import "net/http"

func Do(req *http.Request, send func(chan struct{}) *http.Response, write func() error) (*http.Response, error) {
	done := make(chan struct{})
	go func() {
		select {
		case <-req.Context().Done():
			println()
		case <-done:
		}
	}()
	if err := write(); err != nil {
		return nil, err
	}
	return send(done), nil
}
"#;

#[test]
fn a_request_that_a_client_was_given() {
    check(REQUEST, &["m.go:11 helper-outlives medium"]);
    // That of a server is over soon.
    let server = REQUEST
        .replace("*http.Response, write", "int, write")
        .replace("(*http.Response, error)", "(int, error)")
        .replace("return nil, err", "return 0, err");
    check(&server, &[]);
}

const WORKERS: &str = r#"package m

import "context"

func Run(ctx context.Context, jobs []int, work func(int)) {
	in := make(chan int)
	go func() {
		for j := range in {
			work(j)
		}
	}()
	go func() {
		<-ctx.Done()
		for range in {
		}
	}()
	for _, j := range jobs {
		in <- j
	}
	close(in)
}
"#;

#[test]
fn things_that_workers_have_who_are_gone_by_then() {
    check(WORKERS, &["m.go:13 helper-outlives high"]);
    // Who goes on takes what is left, as long as there is room for it.
    check(&WORKERS.replace("chan int)", "chan int, 8)"), &[]);
    // A worker who is waited for takes what is left before the function is over.
    let awaited = WORKERS
        .replace("import \"context\"\n", "import (\n\t\"context\"\n\t\"sync\"\n)\n")
        .replace(
            "chan int)",
            "chan int, 8)\n\tvar wg sync.WaitGroup\n\tdefer wg.Wait()\n\twg.Add(1)",
        )
        .replace("\t\tfor j := range", "\t\tdefer wg.Done()\n\t\tfor j := range");
    check(&awaited, &["m.go:20 helper-outlives high"]);
    check(&awaited.replace("\tdefer wg.Wait()\n", ""), &[]);
    // It is not closed on all ways.
    check(
        &WORKERS.replace("\tclose(in)\n", "\tif len(jobs) > 9 {\n\t\treturn\n\t}\n\tclose(in)\n"),
        &["m.go:8 range-never-closed medium"],
    );
}
