//! Condition variables whose waiters are left when the only goroutine that signals has gone: pairs that differ in
//! little.

use crate::cli::tells_of_file as check;

const READER: &str = "package m\n\nimport \"sync\"\n\ntype t struct {\n\tmu   sync.Mutex\n\tcond *sync.Cond\n\
                      \tsent bool\n}\n\nvar read func() (int, error)\n\n\
                      func New() *t {\n\tt := &t{}\n\tt.cond = sync.NewCond(&t.mu)\n\tgo t.loop()\n\treturn t\n}\n\n\
                      func (t *t) loop() {\n\tfor {\n\t\t_, err := read()\n\t\tif err != nil {\n\t\t\treturn\n\t\t}\n\
                      \t\tt.mu.Lock()\n\t\tt.sent = false\n\t\tt.cond.Broadcast()\n\t\tt.mu.Unlock()\n\t}\n}\n\n\
                      func (t *t) Rekey() {\n\tt.mu.Lock()\n\tt.sent = true\n\tt.mu.Unlock()\n}\n\n\
                      func (t *t) Write() {\n\tt.mu.Lock()\n\tdefer t.mu.Unlock()\n\tfor t.sent {\n\
                      \t\tt.cond.Wait()\n\t}\n}\n";

const TOLD: [&str; 1] = ["m.go:43 cond-wait-lost medium"];

#[test]
fn the_only_signaller_leaves_on_an_error() {
    check(READER, &TOLD);
    // It wakes them on its way out, deferred or not.
    let wakes =
        "\t\t\tt.mu.Lock()\n\t\t\tt.sent = false\n\t\t\tt.cond.Broadcast()\n\t\t\tt.mu.Unlock()\n";
    check(&READER.replace("\t\t\treturn\n", &format!("{wakes}\t\t\treturn\n")), &[]);
    let wakes = "func (t *t) loop() {\n\tdefer t.cond.Broadcast()\n";
    check(&READER.replace("func (t *t) loop() {\n", wakes), &[]);
    let ends = "func (t *t) loop() {\n\tdefer t.end()\n";
    let end = "\nfunc (t *t) end() {\n\tt.cond.Broadcast()\n}\n";
    check(&format!("{}{end}", READER.replace("func (t *t) loop() {\n", ends)), &[]);
    // It goes on.
    check(&READER.replace("\t\t\treturn\n", "\t\t\tcontinue\n"), &[]);
}

#[test]
fn others_may_signal() {
    let other = "\nfunc (t *t) Close() {\n\tt.cond.Broadcast()\n}\n";
    check(&format!("{READER}{other}"), &[]);
    let other = "\nfunc (t *t) watch(done chan bool) {\n\tgo func() {\n\t\t<-done\n\t\tt.cond.Signal()\n\t}()\n}\n";
    check(&format!("{READER}{other}"), &[]);
    // The variable is handed on.
    let other = "\nvar wake func(*sync.Cond)\n\nfunc (t *t) Close() {\n\twake(t.cond)\n}\n";
    check(&format!("{READER}{other}"), &[]);
    // What signals is also called by others.
    let other = "\nfunc (t *t) Again() {\n\tt.loop()\n}\n";
    check(&format!("{READER}{other}"), &[]);
    // Several of them run.
    let many = "\tfor range 2 {\n\t\tgo t.loop()\n\t}\n";
    check(&READER.replace("\tgo t.loop()\n", many), &[]);
}

#[test]
fn nobody_keeps_them_waiting() {
    check(&READER.replace("t.sent = true", "println(t.sent)"), &[]);
    check(&READER.replace("t.sent = true", "t.sent = false"), &[]);
    // It is so from the beginning.
    let source =
        READER.replace("t.sent = true", "println(t.sent)").replace("for t.sent", "for !t.sent");
    check(&source.replace("t.sent = false", "t.sent = true"), &TOLD);
}

#[test]
fn what_it_calls_signals() {
    let source = READER.replace("\t\t_, err := read()\n", "\t\terr := t.one()\n").replace(
        "\t\tt.mu.Lock()\n\t\tt.sent = false\n\t\tt.cond.Broadcast()\n\t\tt.mu.Unlock()\n",
        "",
    );
    let one = "\nfunc (t *t) one() error {\n\t_, err := read()\n\tif err != nil {\n\t\treturn err\n\t}\n\tt.mu.Lock()\n\
               \tt.sent = false\n\tt.cond.Broadcast()\n\tt.mu.Unlock()\n\treturn nil\n}\n";
    check(&format!("{source}{one}"), &["m.go:39 cond-wait-lost medium"]);
    // It fails only when it has woken them.
    let one = "\nfunc (t *t) one() error {\n\t_, err := read()\n\tif err == nil {\n\t\treturn nil\n\t}\n\tt.mu.Lock()\n\
               \tt.sent = false\n\tt.cond.Broadcast()\n\tt.mu.Unlock()\n\treturn err\n}\n";
    check(&format!("{source}{one}"), &[]);
}

#[test]
fn they_mean_to_be_told_of_the_end() {
    let source = READER
        .replace("\tsent bool\n", "\tsent, closed bool\n")
        .replace(
            "\t\tif err != nil {\n\t\t\treturn\n\t\t}\n",
            "\t\tif t.isClosed() {\n\t\t\treturn\n\t\t}\n",
        )
        .replace("_, err := read()", "read()")
        .replace(
            "\t\tt.cond.Wait()\n",
            "\t\tt.cond.Wait()\n\t\tif t.closed {\n\t\t\treturn\n\t\t}\n",
        );
    let close = "\nfunc (t *t) Close() {\n\tt.mu.Lock()\n\tt.closed = true\n\tt.mu.Unlock()\n}\n\n\
                 func (t *t) isClosed() bool {\n\tt.mu.Lock()\n\tdefer t.mu.Unlock()\n\treturn t.closed\n}\n";
    let source = format!("{source}{close}");
    check(&source, &TOLD);
    check(&source.replace("t.closed = true\n", "t.closed = true\n\tt.cond.Broadcast()\n"), &[]);
}
