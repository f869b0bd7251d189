//! Goroutines that send to themselves: pairs of programs, one where the send can wait for its own goroutine and one
//! where it cannot.

use crate::cli::tells_of_file as check;

const TOLD: &str = "send-and-receive-in-one-goroutine medium";

/// A consumer with a channel, the arms beside it, and its method `refresh` that sends there.
fn monitor(room: &str, arm: &str, refresh: &str) -> String {
    format!(
        "package m\n\nimport \"time\"\n\ntype consumer struct {{\n\tstop    chan struct{{}}\n\ttopics  chan []string\n\
         \tticker  *time.Ticker\n\tlist    func() ([]string, error)\n\tpending bool\n}}\n\n\
         func New(list func() ([]string, error)) *consumer {{\n\tc := &consumer{{\n\t\tstop:   make(chan struct{{}}),\n\
         \t\ttopics: make(chan []string{room}),\n\t\tticker: time.NewTicker(time.Second),\n\t\tlist:   list,\n\t}}\n\
         \tgo c.monitor()\n\treturn c\n}}\n\nfunc (c *consumer) Close() {{ close(c.stop) }}\n\n\
         func (c *consumer) over() bool {{\n\tselect {{\n\tcase <-c.stop:\n\t\treturn true\n\tdefault:\n\t\treturn false\n\t}}\n}}\n\n\
         func (c *consumer) monitor() {{\n\tdefer c.ticker.Stop()\n\tfor {{\n\t\tselect {{\n\t\tcase <-c.stop:\n\t\t\treturn\n\
         {arm}\t\tcase topics := <-c.topics:\n\t\t\tc.pending = false\n\t\t\tprintln(len(topics))\n\t\t}}\n\t}}\n}}\n\n\
         func (c *consumer) refresh() {{\n\ttopics, err := c.list()\n\tif err != nil {{\n\t\treturn\n\t}}\n{refresh}}}\n"
    )
}

#[test]
fn from_another_arm() {
    let arm = "\t\tcase <-c.ticker.C:\n\t\t\tif !c.over() {\n\t\t\t\tc.refresh()\n\t\t\t}\n";
    let send = "\tc.topics <- topics\n";
    let line = format!("m.go:43 {TOLD}");
    check(&monitor(", 1", arm, send), &[&line]);
    // There is more room; a question, of the channel or of a flag; nothing is waited for; the arm is taken once.
    check(&monitor(", 100", arm, send), &[]);
    for refresh in [
        "\tif len(c.topics) == 0 {\n\t\tc.topics <- topics\n\t}\n",
        "\tif c.pending {\n\t\treturn\n\t}\n\tc.pending = true\n\tc.topics <- topics\n",
        "\tselect {\n\tcase c.topics <- topics:\n\tdefault:\n\t}\n",
    ] {
        check(&monitor(", 1", arm, refresh), &[]);
    }
    let flagged = "\t\tcase <-c.ticker.C:\n\t\t\tif !c.pending {\n\t\t\t\tc.pending = true\n\t\t\t\tc.refresh()\n\t\t\t}\n";
    check(&monitor(", 1", flagged, send), &[]);
    let last = "\t\tcase <-c.ticker.C:\n\t\t\tc.refresh()\n\t\t\treturn\n";
    check(&monitor(", 1", last, send), &[]);
}

/// A sender with a channel of this room whose consumer comes to `each`, and how it sends.
fn sender(room: &str, each: &str, send: &str) -> String {
    format!(
        "package m\n\nimport \"context\"\n\ntype sender struct {{\n\tctx     context.Context\n\tchanges chan string\n\
         \tpeers   map[string]int\n}}\n\nfunc New(ctx context.Context) *sender {{\n\
         \ts := &sender{{ctx: ctx, changes: make(chan string{room}), peers: map[string]int{{}}}}\n\tgo s.run()\n\treturn s\n}}\n\n\
         func (s *sender) run() {{\n\tfor {{\n\t\tselect {{\n\t\tcase c := <-s.changes:\n\t\t\ts.onChange([]string{{c}})\n\
         \t\tcase <-s.ctx.Done():\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n\n\
         func (s *sender) collect(changes []string) []string {{\n\tfor {{\n\t\tselect {{\n\t\tcase c := <-s.changes:\n\
         \t\t\tchanges = append(changes, c)\n\t\tdefault:\n\t\t\treturn changes\n\t\t}}\n\t}}\n}}\n\n\
         func (s *sender) onChange(changes []string) {{\n\tfor _, c := range s.collect(changes) {{\n\t\ts.peers[c]++\n\t}}\n\
         {each}}}\n\nfunc (s *sender) Signal(p string) {{\n{send}}}\n"
    )
}

const OR_THE_END: &str = "\tselect {\n\tcase s.changes <- p:\n\tcase <-s.ctx.Done():\n\t}\n";
const OR_NOT: &str = "\tselect {\n\tcase s.changes <- p:\n\tdefault:\n\t}\n";

#[test]
fn in_each_turn_of_a_loop_below() {
    let each = "\tfor p := range s.peers {\n\t\ts.Signal(p)\n\t}\n";
    let line = format!("m.go:44 {TOLD}");
    check(&sender(", 128", each, OR_THE_END), &[&line]);
    check(&sender(", 128", each, "\ts.changes <- p\n"), &[&line]);
    check(&sender(", 128", each, OR_NOT), &[]);
    // It puts back what it was given; it starts a goroutine for it.
    check(
        &sender(", 128", "\tfor _, p := range changes {\n\t\ts.Signal(p)\n\t}\n", OR_THE_END),
        &[],
    );
    let apart = "\tfor p := range s.peers {\n\t\tgo s.Signal(p)\n\t}\n";
    check(&sender(", 128", apart, OR_THE_END), &[]);
}

#[test]
fn beside_the_end_of_all() {
    let source = |send: &str| {
        format!(
            "package m\n\nimport \"context\"\n\ntype queue struct {{\n\tctx context.Context\n\tops chan int\n}}\n\n\
             func New(ctx context.Context) *queue {{\n\tq := &queue{{ctx: ctx, ops: make(chan int)}}\n\tgo q.loop()\n\
             \treturn q\n}}\n\nfunc (q *queue) loop() {{\n\tfor {{\n\t\tselect {{\n\t\tcase n := <-q.ops:\n\t\t\tq.Add(n)\n\
             \t\tcase <-q.ctx.Done():\n\t\t\treturn\n\t\t}}\n\t}}\n}}\n\nfunc (q *queue) Add(n int) {{\n{send}}}\n"
        )
    };
    let line = format!("m.go:20 {TOLD}");
    check(&source("\tselect {\n\tcase q.ops <- n:\n\tcase <-q.ctx.Done():\n\t}\n"), &[&line]);
    check(&source("\tselect {\n\tcase q.ops <- n:\n\tdefault:\n\t}\n"), &[]);
}
