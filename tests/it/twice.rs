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

#[test]
fn a_close_beside_one_that_comes_once() {
    let source = |guard: &str, closes: &str, other: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype V struct {{\n\tonce sync.Once\n\tstop chan struct{{}}\n\
             \tover bool\n\tin   chan int\n}}\n\nfunc New() *V {{\n\
             \treturn &V{{stop: make(chan struct{{}}), in: make(chan int, 1)}}\n}}\n\n\
             func (v *V) Close() {{\n{guard}{closes}}}\n{other}"
        )
    };
    let selects = |asked: &str| {
        format!("\tselect {{\n\tcase <-v.stop:\n{asked}\tdefault:\n\t\tclose(v.stop)\n\t}}\n")
    };
    let selects_on = selects("");
    let in_once = "\tv.once.Do(func() { close(v.stop) })\n";
    let flagged = "\tif !v.over {\n\t\tv.over = true\n\t\tclose(v.stop)\n\t}\n";
    let close = "\tclose(v.in)\n";
    for (guard, line) in [(selects_on.as_str(), 22), (in_once, 18), (flagged, 21)] {
        let told = format!("m.go:{line} close-misuse medium");
        check(&source(guard, close, ""), &[&told]);
    }
    // Whether it is nil says nothing where it stays what it is.
    let if_made = |inside: &str| format!("\tif v.in != nil {{\n\t\tclose(v.in)\n{inside}\t}}\n");
    check(&source(in_once, &if_made(""), ""), &["m.go:19 close-misuse medium"]);
    check(&source(in_once, &if_made("\t\tv.in = nil\n"), ""), &[]);
    // A second call returns.
    check(&source(&selects("\t\treturn\n"), close, ""), &[]);
    check(&source("\tif v.over {\n\t\treturn\n\t}\n", &format!("{flagged}{close}"), ""), &[]);
    // The guard is there for somebody else.
    let fails = "\nfunc (v *V) Fail() { close(v.stop) }\n";
    check(&source(&selects_on, close, fails), &[]);
    let fails = "\nfunc (v *V) Fail() { v.once.Do(func() { close(v.stop) }) }\n";
    check(&source(in_once, close, fails), &[]);
}

#[test]
fn a_part_that_is_ended_beside_what_is_closed_once() {
    let source = |end: &str| {
        format!(
            "package m\n\nimport \"sync\"\n\ntype part struct {{\n\tonce sync.Once\n\tstop chan struct{{}}\n}}\n\n\
             func (p *part) end() {{\n\t{end}\n}}\n\ntype V struct {{\n\tonce sync.Once\n\tstop chan struct{{}}\n\
             \tpart *part\n}}\n\nfunc New() *V {{\n\
             \treturn &V{{stop: make(chan struct{{}}), part: &part{{stop: make(chan struct{{}})}}}}\n}}\n\n\
             func (v *V) Close() {{\n\tv.once.Do(func() {{ close(v.stop) }})\n\tif v.part != nil {{\n\
             \t\tv.part.end()\n\t}}\n}}\n"
        )
    };
    check(&source("close(p.stop)"), &["m.go:11 close-misuse medium"]);
    check(&source("p.once.Do(func() { close(p.stop) })"), &[]);
}

#[test]
fn a_close_that_a_goroutine_of_the_object_comes_to_as_well() {
    let source = |fields: &str, locks: &str, waits: &str, gives: &str| {
        format!(
            "package m\n\n{fields}\n\nfunc New(source <-chan int) {gives} {{\n\
             \tw := &W{{source: source, result: make(chan int), done: make(chan struct{{}})}}\n\tgo w.run()\n\
             \treturn w\n}}\n\nfunc (w *W) Results() <-chan int {{ return w.result }}\n\n\
             func (w *W) Stop() {{\n{locks}\tselect {{\n\tcase <-w.done:\n\tdefault:\n\t\tclose(w.done)\n\t}}\n}}\n\n\
             func (w *W) run() {{\n\tdefer close(w.result)\n\tdefer w.Stop()\n\tfor {{\n{waits}\t}}\n}}\n"
        )
    };
    let fields = |lock: &str| {
        format!(
            "{lock}type W struct {{\n\tsource <-chan int\n\tresult chan int\n\tdone   chan struct{{}}\n{}}}",
            if lock.is_empty() { "" } else { "\tmu     sync.Mutex\n" }
        )
    };
    let own = fields("");
    let ends = "\t\tv, ok := <-w.source\n\t\tif !ok {\n\t\t\treturn\n\t\t}\n\t\tselect {\n\
                \t\tcase w.result <- v:\n\t\tcase <-w.done:\n\t\t\treturn\n\t\t}\n";
    check(&source(&own, "", ends, "*W"), &["m.go:21 close-misuse medium"]);
    let locks = "\tw.mu.Lock()\n\tdefer w.mu.Unlock()\n";
    check(&source(&fields("import \"sync\"\n\n"), locks, ends, "*W"), &[]);
    // It has seen that it is closed.
    let told = "\t\tselect {\n\t\tcase v := <-w.source:\n\t\t\tw.result <- v\n\t\tcase <-w.done:\n\
                \t\t\treturn\n\t\t}\n";
    let told = source(&own, "", told, "*W");
    assert!(
        crate::cli::told(&[("m.go", &told)], &[]).iter().all(|it| !it.contains("close-misuse"))
    );
}
