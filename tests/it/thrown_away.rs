//! What a call gives and nobody takes, a goroutine that tells its end by a cancel function, and signals that an object
//! has for itself: pairs that differ in little.

use crate::cli::tells_of_file as check;

/// A response of which a deferred call sees to the body, or makes what would.
fn deferred(defers: &str) -> String {
    format!(
        "package m\n\nimport (\n\t\"io\"\n\t\"net/http\"\n)\n\nfunc capture(err *error, end func() error) func() {{\n\
         \treturn func() {{\n\t\tif failed := end(); *err == nil {{\n\t\t\t*err = failed\n\t\t}}\n\t}}\n}}\n\n\
         func closer(resp *http.Response) func() {{\n\treturn func() {{ resp.Body.Close() }}\n}}\n\n\
         var ends []func() error\n\nfunc keep(end func() error) func() {{\n\tends = append(ends, end)\n\
         \treturn func() {{}}\n}}\n\n\
         func Get(url string) (n int, err error) {{\n\tresp, err := http.Get(url)\n\tif err != nil {{\n\
         \t\treturn 0, err\n\t}}\n\tdefer {defers}\n\tvar first [1]byte\n\treturn io.ReadFull(resp.Body, first[:])\n}}\n"
    )
}

#[test]
fn a_closer_that_is_built_and_not_called() {
    let told = "m.go:34 body-not-closed high";
    check(&deferred("capture(&err, resp.Body.Close)"), &[told]);
    check(&deferred("capture(&err, resp.Body.Close)()"), &[]);
    check(&deferred("closer(resp)"), &[told]);
    check(&deferred("closer(resp)()"), &[]);
    // Somebody else may call it.
    check(&deferred("keep(resp.Body.Close)"), &[]);
}

/// A handler whose goroutine answers, and tells its end by `tells`; the handler waits for that beside another arm.
fn handler(tells: &str, other: &str) -> String {
    format!(
        "package m\n\nimport (\n\t\"context\"\n\t\"net/http\"\n)\n\ntype puller interface {{\n\
         \tPull(context.Context) (int, error)\n}}\n\n\
         func Handle(p puller) http.HandlerFunc {{\n\treturn func(w http.ResponseWriter, r *http.Request) {{\n\
         \t\tctx, cancel := context.WithCancel(context.Background())\n\t\tdefer cancel()\n\t\tgo func() {{\n\
         \t\t\t{tells}\n\t\t\tif _, err := p.Pull(ctx); err != nil {{\n\t\t\t\tw.WriteHeader(500)\n\t\t\t}}\n\
         \t\t}}()\n\t\tselect {{\n\t\tcase <-ctx.Done():\n{other}\t\t}}\n\t}}\n}}\n"
    )
}

#[test]
fn a_goroutine_that_tells_its_end_by_cancel() {
    let leaves = "\t\tcase <-r.Context().Done():\n";
    check(&handler("defer cancel()", leaves), &["m.go:19 writer-outlives-handler medium"]);
    check(&handler("defer cancel()", ""), &[]);
    check(&handler("defer cancel()", "\t\tcase <-r.Context().Done():\n\t\t\t<-ctx.Done()\n"), &[]);
}

#[test]
fn a_result_that_is_written_when_nobody_waits_any_more() {
    let source = |other: &str| {
        format!(
            "package m\n\nimport \"context\"\n\nfunc Ask(up context.Context, ask func(context.Context) []string) []string {{\n\
             \tvar got []string\n\tctx, cancel := context.WithCancel(context.Background())\n\tgo func() {{\n\
             \t\tdefer cancel()\n\t\tgot = ask(ctx)\n\t}}()\n\tselect {{\n\tcase <-ctx.Done():\n\
             \tcase <-up.Done():\n{other}\t}}\n\treturn got\n}}\n"
        )
    };
    check(&source(""), &["m.go:10 shared-after-timeout medium"]);
    check(&source("\t\t<-ctx.Done()\n"), &[]);
    check(&source("\t\treturn nil\n"), &[]);
}

#[test]
fn signals_that_an_object_ends_by_itself() {
    let source = |close: &str| {
        format!(
            "package m\n\nimport (\n\t\"os\"\n\t\"os/signal\"\n)\n\ntype watch struct {{\n\tsignals chan os.Signal\n\
             \tn       int\n}}\n\nfunc New() *watch {{\n\tw := &watch{{signals: make(chan os.Signal, 1)}}\n\
             \tsignal.Notify(w.signals, os.Interrupt)\n\tgo w.listen()\n\treturn w\n}}\n\n\
             func (w *watch) listen() {{\n\tfor {{\n\t\tif <-w.signals == os.Interrupt {{\n\t\t\tw.n++\n\t\t}}\n\
             \t}}\n}}\n\nfunc (w *watch) Close() {{\n\tsignal.Stop(w.signals)\n{close}}}\n"
        )
    };
    check(&source("\tclose(w.signals)\n"), &["m.go:21 goroutine-ignores-context high"]);
    check(&source(""), &[]);
}
