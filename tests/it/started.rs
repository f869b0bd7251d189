//! Goroutines that a function of another package of the module starts: pairs that differ in little.

use crate::cli::tells;

const GO: &str = "package safe\n\nfunc Go(run func()) {\n\tgo func() {\n\t\tdefer func() { _ = recover() }()\n\t\trun()\n\t}()\n}\n";

const ASK: &str = r#"package m

import (
	"errors"
	"time"

	"example.com/m/safe"
)

func Ask(work func() error, wait bool, limit time.Duration) error {
	done := make(chan error)
	safe.Go(func() {
		done <- work()
	})
	late := time.After(limit)
	if wait {
		select {
		case err := <-done:
			return err
		case <-late:
			return errors.New("too late")
		}
	}
	return nil
}
"#;

#[test]
fn an_answer_of_a_goroutine_that_another_package_starts() {
    let check = |go: &str, ask: &str, told: &[&str]| {
        let module = ("go.mod", "module example.com/m\n\ngo 1.22\n");
        tells(&[module, ("m.go", ask), ("safe/safe.go", go)], told);
    };
    check(GO, ASK, &["m.go:13 send-without-receiver medium"]);
    // There is room for the answer.
    check(GO, &ASK.replace("make(chan error)", "make(chan error, 1)"), &[]);
    // It may be that it is not called: what runs it is not known.
    let kept =
        "package safe\n\nvar kept []func()\n\nfunc Go(run func()) { kept = append(kept, run) }\n";
    check(kept, ASK, &[]);
    let at_times = GO
        .replace("\tgo func", "\tif off {\n\t\treturn\n\t}\n\tgo func")
        .replace("func Go", "var off bool\n\nfunc Go");
    check(&at_times, ASK, &[]);
}
