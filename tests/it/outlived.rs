//! Goroutines that live on when all who had to wake them have given up: pairs that differ in little.

use crate::cli::tells_of_file as check;

const CONN: &str = r#"package m

import "net"

type Conn struct {
	nc     net.Conn
	outbox chan []byte
	closed chan struct{}
}

func New(nc net.Conn) *Conn {
	c := &Conn{nc: nc, outbox: make(chan []byte), closed: make(chan struct{})}
	go c.write()
	return c
}

func (c *Conn) Send(b []byte) bool {
	select {
	case c.outbox <- b:
		return true
	case <-c.closed:
		return false
	}
}

func (c *Conn) write() {
	for b := range c.outbox {
		if _, err := c.nc.Write(b); err != nil {
			return
		}
	}
}

func (c *Conn) Close() {
	close(c.closed)
}
"#;

const TOLD: &[&str] = &["m.go:27 range-never-closed medium"];

#[test]
fn a_range_over_what_nobody_has_to_send_on_any_more() {
    check(CONN, TOLD);
    // It looks at the end, too.
    let selects = "for {\n\t\tvar b []byte\n\t\tselect {\n\t\tcase b = <-c.outbox:\n\t\tcase <-c.closed:\n\t\t\treturn\n\t\t}";
    check(&CONN.replace("for b := range c.outbox {", selects), &[]);
    // The end closes what it ranges over.
    check(&CONN.replace("\tclose(c.closed)\n", "\tclose(c.closed)\n\tclose(c.outbox)\n"), &[]);
    // What is closed says that this goroutine is gone.
    let own = CONN.replace("func (c *Conn) Close() {\n\tclose(c.closed)\n}\n", "");
    check(&own.replace("c.write() {\n", "c.write() {\n\tdefer close(c.closed)\n"), &[]);
    // Somebody sends whatever has ended, and is left alone by an error instead.
    let bare = "\nfunc (c *Conn) Flush() {\n\tc.outbox <- nil\n}\n";
    check(&format!("{CONN}{bare}"), &["m.go:29 send-without-receiver medium"]);
    // The end is that of one call, and says nothing of the object.
    let of_call = CONN
        .replace("import \"net\"", "import (\n\t\"context\"\n\t\"net\"\n)")
        .replace("Send(b []byte)", "Send(ctx context.Context, b []byte)")
        .replace("case <-c.closed:", "case <-ctx.Done():");
    check(&of_call, &[]);
    // Others may close it.
    check(&CONN.replace("outbox chan", "Outbox chan").replace("outbox", "Outbox"), &[]);
}

#[test]
fn a_loop_that_receives_what_nobody_has_to_send_any_more() {
    let receives = CONN.replace("for b := range c.outbox {", "for {\n\t\tb := <-c.outbox");
    check(&receives, &["m.go:28 receive-without-sender medium"]);
    // It takes no more than there is.
    let batch = "for {\n\t\tb := <-c.outbox";
    let few = "for i := 0; i < len(c.outbox); i++ {\n\t\tb := <-c.outbox";
    check(&receives.replace(batch, few), &[]);
}
