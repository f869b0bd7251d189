//! What runs beside a function that goes on with what this writes: pairs of programs, one with the fact that orders
//! the two and one without.

use crate::cli::tells_of_file as check;

const TOLD: &str = "shared-after-timeout medium";

/// A literal that writes, what is done with it, and how the function waits.
fn given(start: &str, wait: &str) -> String {
    format!(
        "package m\n\nimport \"context\"\n\ntype queue interface {{\n\tAdd(f func())\n\tPut(f func()) func()\n\tStop()\n}}\n\n\
         type list struct {{\n\tlater []func()\n}}\n\n\
         func (l *list) run(f func()) {{\n\tf()\n}}\n\n\
         func (l *list) begin(f func()) {{\n\tif len(l.later) > 0 {{\n\t\tf()\n\t\treturn\n\t}}\n\tgo f()\n}}\n\n\
         func Run(ctx context.Context, q queue, l *list, commit func() error) error {{\n\tvar failed error\n\
         \tdone := make(chan struct{{}})\n\texecute := func() {{\n\t\tdefer close(done)\n\t\tfailed = commit()\n\t}}\n\
         {start}\n\tselect {{\n\tcase <-done:\n{wait}\t}}\n\treturn failed\n}}\n"
    )
}

#[test]
fn a_literal_in_a_variable() {
    let gives_up = "\tcase <-ctx.Done():\n";
    let waits = "\tcase <-ctx.Done():\n\t\t<-done\n";
    let line = format!("m.go:32 {TOLD}");
    check(&given("\tgo execute()", gives_up), &[&line]);
    check(&given("\tgo execute()", waits), &[]);
}

#[test]
fn a_literal_that_a_call_is_given() {
    let gives_up = "\tcase <-ctx.Done():\n";
    let line = format!("m.go:32 {TOLD}");
    check(&given("\tq.Add(execute)", gives_up), &[&line]);
    check(&given("\tl.begin(execute)", gives_up), &[&line]);
    // It is run in turn; it is only asked whether it was; whoever gave it may wait by what came back, or by the queue.
    check(&given("\tl.run(execute)", gives_up), &[]);
    check(&given("\tq.Add(execute)", "\tdefault:\n"), &[]);
    check(&given("\tstop := q.Put(execute)\n\tdefer stop()", gives_up), &[]);
    check(&given("\tq.Add(execute)", "\tcase <-ctx.Done():\n\t\tq.Stop()\n"), &[]);
}

/// A goroutine that writes, what it does then, and what the function does in the meantime.
fn untold(then: &str, meanwhile: &str) -> String {
    format!(
        "package m\n\nimport \"time\"\n\nvar _ time.Time\n\n\
         func Handle(load func() []int, work func() error, give func([]int)) error {{\n\tvar got []int\n\
         \tdone := make(chan struct{{}}, 1)\n\tgo func() {{\n\t\tgot = load()\n{then}\t}}()\n{meanwhile}\
         \tif err := work(); err != nil {{\n\t\treturn err\n\t}}\n\tgive(got)\n\t_ = done\n\treturn nil\n}}\n"
    )
}

#[test]
fn a_goroutine_that_nobody_can_wait_for() {
    let line = format!("m.go:11 {TOLD}");
    check(&untold("", ""), &[&line]);
    // It says that it is done, or may; it is given its time; what is read is another value.
    for then in ["\t\tdone <- struct{}{}\n", "\t\tgive(nil)\n"] {
        check(&untold(then, ""), &[]);
    }
    for meanwhile in ["\ttime.Sleep(time.Second)\n", "\tgot = nil\n"] {
        check(&untold("", meanwhile), &[]);
    }
}

#[test]
fn a_deferred_read() {
    let source = |waits: &str| {
        format!(
            "package m\n\nfunc Handle(load func() []int, work func() error, give func([]int)) error {{\n\tvar got []int\n\
             \tdone := make(chan struct{{}})\n\tgo func() {{\n\t\tgot = load()\n\t}}()\n\
             \tdefer func() {{\n{waits}\t\tif got != nil {{\n\t\t\tgive(got)\n\t\t}}\n\t}}()\n\treturn work()\n}}\n\n\
             func Told(load func() []int, work func() error, give func([]int)) error {{\n\tvar got []int\n\
             \tdone := make(chan struct{{}})\n\tgo func() {{\n\t\tdefer close(done)\n\t\tgot = load()\n\t}}()\n\
             \tdefer func() {{\n\t\t<-done\n\t\tif got != nil {{\n\t\t\tgive(got)\n\t\t}}\n\t}}()\n\treturn work()\n}}\n"
        )
    };
    let line = format!("m.go:7 {TOLD}");
    check(&source("\t\t_ = done\n"), &[&line]);
}
