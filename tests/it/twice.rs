//! Channels that two may close, or one who comes twice: pairs that differ in what keeps the second one out.

use crate::cli::tells_of_file as check;

#[test]
fn a_question_that_two_ask_before_one_of_them_closes() {
    let source = |body: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype E struct {{\n\tmu    sync.RWMutex\n\tpause chan struct{{}}\n\
             \tover  bool\n}}\n\nfunc (e *E) Resume() {{\n{body}}}\n\nfunc (e *E) Pause() {{\n\te.mu.Lock()\n\
             \tdefer e.mu.Unlock()\n\tif e.pause == nil {{\n\t\te.pause = make(chan struct{{}})\n\t}}\n}}\n\n\
             func (e *E) Over() bool {{\n\te.mu.RLock()\n\tdefer e.mu.RUnlock()\n\treturn e.over\n}}\n"
        )
    };
    let closes = "\t\tclose(e.pause)\n\t\te.pause = nil\n";
    let asks = |inside: &str| format!("\tif e.pause != nil {{\n{inside}\t}}\n");
    let locked = |inside: &str| format!("\t\te.mu.Lock()\n{inside}\t\te.mu.Unlock()\n");
    check(&source(&asks(&locked(closes))), &["m.go:14 close-misuse medium"]);
    // The lock is taken first, or it is asked again.
    check(&source(&format!("\te.mu.Lock()\n{}\te.mu.Unlock()\n", asks(closes))), &[]);
    check(&source(&asks(&locked(&asks(closes)))), &[]);
    // Those who read do not wait for each other.
    let reads = format!("\te.mu.RLock()\n\tdefer e.mu.RUnlock()\n{}", asks(closes));
    check(&source(&reads), &["m.go:15 close-misuse medium"]);
    // Without a lock there may be one caller only, and what stays as it is tells of something else.
    check(&source(&asks(closes)), &[]);
    check(&source(&asks(&locked("\t\tclose(e.pause)\n"))), &[]);
    let flag = |lock: &str| {
        format!(
            "\tif e.over {{\n\t\treturn\n\t}}\n\te.mu.Lock()\n\tdefer e.mu.Unlock()\n{lock}\te.over = true\n\
             \tclose(e.pause)\n"
        )
    };
    check(&source(&flag("")), &["m.go:18 close-misuse medium"]);
    check(&source(&flag("\tif e.over {\n\t\treturn\n\t}\n")), &[]);
}
