//! Loops that wait for timers alone: pairs that differ in little.

use crate::cli::tells_of_file as check;

const POLL: &str = r#"package m

import (
	"context"
	"time"
)

func Wait(ctx context.Context, timeout time.Duration, ready func() bool) bool {
	t := time.NewTimer(timeout)
	defer t.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-t.C:
			return false
		case <-tick.C:
			if ready() {
				return true
			}
		}
	}
}
"#;

#[test]
fn a_loop_that_waits_for_timers_with_a_context_at_hand() {
    check(POLL, &["m.go:14 wait-ignores-context medium"]);
    let request = POLL
        .replace("\"context\"", "\"net/http\"")
        .replace("ctx context.Context", "req *http.Request");
    check(&request, &["m.go:14 wait-ignores-context medium"]);
    // It looks at the end, or what it calls does.
    check(
        &POLL.replace(
            "\t\tcase <-t.C:\n",
            "\t\tcase <-ctx.Done():\n\t\t\treturn false\n\t\tcase <-t.C:\n",
        ),
        &[],
    );
    check(&POLL.replace("ready()", "ready() || ctx.Err() != nil"), &[]);
    let within = POLL
        .replace("ready func()", "ready func(context.Context)")
        .replace("ready()", "ready(ctx)");
    check(&within, &[]);
    let made = POLL
        .replace("ready func() bool)", "with func(context.Context) func() bool)")
        .replace("\tt := time", "\tready := with(ctx)\n\tt := time");
    check(&made, &[]);
    // It is over soon.
    check(&POLL.replace("NewTimer(timeout)", "NewTimer(5 * time.Second)"), &[]);
    // Nobody may tell it, or nobody ends what it is given.
    check(&POLL.replace("ctx context.Context", "_ context.Context"), &[]);
    let background = format!(
        "{}\nfunc Ready(ready func() bool) bool {{ return wait(context.Background(), 99, ready) }}\n",
        POLL.replace("Wait(ctx", "wait(ctx")
    );
    check(&background, &[]);
}
