//! Bytes as a Go program: each byte chooses among forms of the grammar and things that goroutines do, so
//! that most of what comes out nearly has a meaning. The program is given to [`check`](super::check).

use std::path::Path;

use super::check::{self, DIR, Files};
use super::choices::Choices;

pub fn target(bytes: &[u8]) {
    check::examine(program(bytes));
}

/// The program that `bytes` are: two packages, and a test of one of them.
pub fn program(bytes: &[u8]) -> Files {
    let mut choices = Choices::new(bytes);
    let mut files = Files::new();
    let mut insert = |name: &str, text: String| {
        files.insert(Path::new(DIR).join(name), text.into_bytes());
    };
    insert("go.mod", "module example.com/m\n\ngo 1.26\n".to_owned());
    insert("p.go", file("p", &mut choices));
    if choices.one_in(3) {
        insert("q/q.go", file("q", &mut choices));
    }
    if choices.one_in(3) {
        insert("p_test.go", file("p", &mut choices));
    }
    files
}

/// A file with some declarations.
pub fn file(package: &str, choices: &mut Choices<'_>) -> String {
    let mut writer = Writer { text: format!("package {package}\n\n"), choices, left: 1500 };
    writer.text.push_str("import (\n\t\"context\"\n\t\"io\"\n\t\"net/http\"\n\t\"os\"\n\t\"os/signal\"\n\t\"sync\"\n\t\"sync/atomic\"\n\t\"time\"\n\n\t\"example.com/m/q\"\n)\n\n");
    let count = 1 + writer.choices.below(8);
    for _ in 0..count {
        writer.write("$d\n\n", 0);
    }
    writer.text
}

/// Some statements.
pub fn statements(choices: &mut Choices<'_>) -> String {
    let mut writer = Writer { text: String::new(), choices, left: 60 };
    writer.write("$b", 0);
    writer.text
}

/// Deeper places become what is shortest.
const DEPTH: usize = 14;

struct Writer<'c, 'd> {
    text: String,
    choices: &'c mut Choices<'d>,
    /// How many forms may still be chosen.
    left: usize,
}

impl Writer<'_, '_> {
    /// Writes a form: what follows a `$` is chosen.
    fn write(&mut self, form: &str, depth: usize) {
        let mut parts = form.split('$');
        self.text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (what, rest) = part.split_at(1);
            match what {
                "b" => self.block(depth),
                what => {
                    let form = self.form(forms(what), depth);
                    self.write(form, depth + 1);
                }
            }
            self.text.push_str(rest);
        }
    }

    /// One of `all`, of which the first has nothing to choose.
    fn form(&mut self, all: &'static [&'static str], depth: usize) -> &'static str {
        if depth >= DEPTH || self.left == 0 || self.choices.is_over() {
            return all[0];
        }
        self.left -= 1;
        self.choices.one_of(all)
    }

    fn block(&mut self, depth: usize) {
        if self.choices.is_over() || depth >= DEPTH {
            return;
        }
        for _ in 0..self.choices.below(5) {
            let start = self.text.len();
            self.text.push('\t');
            self.write("$s\n", depth + 1);
            // What is fast once may be slow when it stands there often.
            if self.choices.one_in(48) {
                let again = self.text[start..].to_owned();
                let times = self.choices.below(40).min(16_000 / again.len());
                self.text.push_str(&again.repeat(times));
            }
        }
    }
}

fn forms(what: &str) -> &'static [&'static str] {
    match what {
        "a" => CASES,
        "c" => CHANNELS,
        "d" => DECLARATIONS,
        "e" => VALUES,
        "f" => FUNCTIONS,
        "k" => CALLS,
        "l" => &["L", "M", "Outer"],
        "m" => MUTEXES,
        "n" => NAMES,
        "s" => STATEMENTS,
        "t" => TYPES,
        "x" => &["ctx", "context.Background()", "s.ctx", "r.Context()", "parent", "nil"],
        _ => unreachable!("there are no forms ${what}"),
    }
}

const NAMES: &[&str] = &[
    "x", "_", "a", "n", "v", "i", "ok", "err", "s", "ch", "done", "ctx", "cancel", "fn", "t", "mu",
    "wg", "errs", "m", "in", "out", "T", "f", "g", "run", "stop", "é",
];

const CHANNELS: &[&str] = &[
    "ch",
    "done",
    "s.ch",
    "s.done",
    "errs",
    "make(chan int)",
    "make(chan $t, $e)",
    "ctx.Done()",
    "time.After($e)",
    "t.C",
    "chans[$e]",
    "nil",
    "in",
    "out",
    "q.Ch",
    "newCh()",
    "s.next.ch",
    "$n",
    "(<-$c)",
    "($c)",
    "s.of($e)",
    "m[$e]",
    "results",
    "sem",
];

const MUTEXES: &[&str] =
    &["mu", "s.mu", "s.rw", "s", "q.Mu", "s.next.mu", "locks[$e]", "(&mu)", "a.mu", "b.mu"];

const TYPES: &[&str] = &[
    "int",
    "T",
    "*T",
    "chan int",
    "chan struct{}",
    "<-chan $t",
    "chan<- $t",
    "[]$t",
    "map[$t]$t",
    "error",
    "string",
    "bool",
    "any",
    "func()",
    "func($t) $t",
    "struct{ $n $t }",
    "interface{ Do($t) }",
    "context.Context",
    "sync.Mutex",
    "*sync.WaitGroup",
    "Box[$t]",
    "P",
    "[4]$t",
    "time.Duration",
    "context.CancelFunc",
    "*q.Q",
    "Doer",
    "atomic.Bool",
    "...$t",
    "func(context.Context) error",
    "io.ReadCloser",
    "*http.Request",
    "($t)",
    "[...]$t",
];

const VALUES: &[&str] = &[
    "x",
    "0",
    "1",
    "2",
    "nil",
    "true",
    "err",
    "i",
    "n",
    "len($c)",
    "cap($c)",
    "<-$c",
    "$e + $e",
    "$e == $e",
    "$e != nil",
    "err != nil",
    "!$e",
    "&$e",
    "*$e",
    "$n.$n",
    "$n[$e]",
    "$n[$e:$e]",
    "$k",
    "$f",
    "[]$t{$e, $e}",
    "map[$t]$t{$e: $e}",
    "&T{ch: $c}",
    "T{}",
    "&T{ch: make(chan int), done: make(chan struct{})}",
    "make($t, $e)",
    "new($t)",
    "$e.($t)",
    "func() $t {\n$breturn $e\n}()",
    "ctx.Err()",
    "append($e, $e...)",
    "Gen[$t]($e)",
    "q.F($e)",
    "$e << $e",
    "`raw\n`",
    "'c'",
    "\"s\"",
    "1 << 62",
    "-$e",
    "$c",
    "time.Second",
    "$e && $e",
    "$e || $e",
    "($e)",
    "$x",
    "$m",
    "struct{}{}",
    "s.closed",
    "flag.Load()",
    "ready",
    "$e % $e",
    "iota",
    "1e400",
    "0x",
    "Box[$t]{v: $e}",
    "func(yield func($t) bool) {\n$b}",
];

const FUNCTIONS: &[&str] = &[
    "f",
    "func() {\n$b}",
    "func() {\n$b}",
    "func($n $t) $t {\n$b}",
    "s.run",
    "func(c chan $t) {\n$b}",
    "nil",
    "fn",
    "func() error {\n$breturn $e\n}",
    "(*T).run",
    "func(w http.ResponseWriter, r *http.Request) {\n$b}",
    "q.F",
    "cancel",
];

const CALLS: &[&str] = &[
    "f()",
    "g($e)",
    "s.run()",
    "s.stop()",
    "$f()",
    "q.F($c)",
    "h($c, $x)",
    "Gen[$t]($e)",
    "NewT($c)",
    "fn()",
    "$e.$n($e)",
    "doer.Do($e)",
    "recover()",
    "print($e)",
    "panic($e)",
    "f($e, $e)",
    "s.start($x)",
    "$n($f)",
    "s.wait()",
    "q.New($e).Close()",
    "signal.Notify($c, os.Interrupt)",
    "time.Sleep($e)",
    "time.AfterFunc($e, $f)",
    "os.Exit($e)",
    "http.Get(\"u\")",
    "io.ReadAll($e)",
    "send($c, $e)",
    "recv($c)",
    "lock($m)",
    "each($f)",
    "context.AfterFunc($x, $f)",
];

const CASES: &[&str] = &[
    "\tdefault:\n$b",
    "\tcase <-$c:\n$b",
    "\tcase $n := <-$c:\n$b",
    "\tcase $n, ok := <-$c:\n$b",
    "\tcase $c <- $e:\n$b",
    "\tcase <-ctx.Done():\n$b",
    "\tcase <-ctx.Done():\n\t\treturn\n",
    "\tcase <-time.After($e):\n$b",
    "\tcase $n = <-$c:\n$b",
    "\tcase <-$c, $e:\n$b",
    "\tcase $e:\n$b",
    "\tcase $t:\n$b",
    "",
];

const STATEMENTS: &[&str] = &[
    "x++",
    "$c <- $e",
    "<-$c",
    "$n := <-$c",
    "$n, ok := <-$c",
    "close($c)",
    "go $k",
    "defer $k",
    "$k",
    "go func() {\n$b}()",
    "go func() {\n$b}()",
    "defer func() {\n$b}()",
    "go func($n $t) {\n$b}($e)",
    "if $e {\n$b}",
    "if $e {\n$b} else {\n$b}",
    "if err != nil {\n$breturn $e\n}",
    "if $n := $e; $e {\n$b} else if $e {\n$b}",
    "for {\n$b}",
    "for $e {\n$b}",
    "for i := 0; i < $e; i++ {\n$b}",
    "for $n := range $c {\n$b}",
    "for range $c {\n$b}",
    "for $n, $n := range $e {\n$b}",
    "for range $e {\n$b}",
    "select {\n$a$a}",
    "select {\n$a$a$a}",
    "select {\n$a}",
    "select {}",
    "switch $e {\n$a$a}",
    "switch {\n$a$a$a}",
    "switch $n := $e.(type) {\n$a$a}",
    "$l:\n\tfor {\n$b}",
    "$l:\n\tselect {\n$a$a}",
    "$l:\n\t$s",
    "break $l",
    "continue $l",
    "goto $l",
    "break",
    "continue",
    "return",
    "return $e",
    "return $e, $e",
    "fallthrough",
    "panic($e)",
    "$m.Lock()",
    "$m.Unlock()",
    "$m.RLock()",
    "$m.RUnlock()",
    "defer $m.Unlock()",
    "$m.Lock()\n\tdefer $m.Unlock()",
    "$m.TryLock()",
    "if $m.TryLock() {\n$b}",
    "$m.Lock()\n$b\t$m.Unlock()",
    "wg.Add($e)",
    "wg.Done()",
    "defer wg.Done()",
    "wg.Wait()",
    "wg.Go($f)",
    "var wg sync.WaitGroup",
    "s.wg.Add(1)",
    "s.wg.Wait()",
    "wg.Add(1)\n\tgo func() {\n\tdefer wg.Done()\n$b}()",
    "go func() {\n\twg.Wait()\n\tclose($c)\n}()",
    "ctx, cancel := context.WithCancel($x)",
    "$x, cancel := context.WithTimeout($x, $e)",
    "cancel()",
    "defer cancel()",
    "$n, $n = context.WithCancel($x)",
    "ch := make(chan int)",
    "done := make(chan struct{})",
    "errs := make(chan error, $e)",
    "$n := make(chan $t)",
    "s.ch = make(chan int)",
    "$n := $e",
    "$n = $e",
    "$n, $n = $e, $e",
    "$n, $n := $k",
    "var $n $t",
    "var $n $t = $e",
    "{\n$b}",
    "$n += $e",
    "delete($e, $e)",
    "m[$e] = $e",
    "s.$n = $e",
    "*$e = $e",
    "once.Do($f)",
    "s.once.Do($f)",
    "cond.Wait()",
    "cond.L.Lock()",
    "cond.Broadcast()",
    "for $e {\n\tcond.Wait()\n}",
    "resp, err := http.Get($e)",
    "resp.Body.Close()",
    "defer resp.Body.Close()",
    "pr, pw := io.Pipe()",
    "pw.Close()",
    "pr.Read($e)",
    "io.Copy($e, $e)",
    "t := time.NewTicker($e)",
    "t.Stop()",
    "defer t.Stop()",
    "t := time.NewTimer($e)",
    "flag.Store($e)",
    "type $n $t",
    "const $n = $e",
    "s := NewT($c)",
    "s := &T{ch: make(chan int)}",
    "defer s.stop()",
    "var mu sync.Mutex",
    "cond := sync.NewCond(&$m)",
    "$e, $e = $e, $e",
    ";",
    "$e",
    "http.HandleFunc(\"/\", $f)",
    "req, err := http.NewRequestWithContext($x, \"GET\", \"u\", nil)",
    "//straggler:ignore ALL it is known",
    "x :=",
    "if err := $k; err != nil {\n\treturn $e\n}",
    "s.next = s",
    "a, b := &T{}, &T{}",
    "go s.run()",
    "q.Ch <- $e",
    "for s := s; s != nil; s = s.next {\n$b}",
];

const DECLARATIONS: &[&str] = &[
    "var x int",
    "func f() {\n$b}",
    "func f() {\n$b}",
    "func f(ctx context.Context, ch chan int) error {\n$breturn nil\n}",
    "type T struct {\n\tch chan int\n\tdone chan struct{}\n\tmu sync.Mutex\n\trw sync.RWMutex\n\twg sync.WaitGroup\n\tonce sync.Once\n\tctx context.Context\n\tcancel context.CancelFunc\n\tclosed bool\n\tnext *T\n}",
    "func NewT(ch chan int) *T {\n\ts := &T{ch: $c, done: $c}\n$breturn s\n}",
    "func (s *T) run() {\n$b}",
    "func (s *T) stop() {\n$b}",
    "func (s *T) start(ctx context.Context) {\n$b}",
    "func (s *T) wait() {\n$b}",
    "func (s *T) of(i int) chan int {\n$breturn $c\n}",
    "func (s T) $n($n $t) $t {\n$breturn $e\n}",
    "func g(n int) {\n$b}",
    "func h(in <-chan int, ctx context.Context) (out chan int) {\n$breturn\n}",
    "func newCh() chan int {\n$breturn $c\n}",
    "func send(ch chan<- int, v int) {\n$b}",
    "func recv(ch <-chan int) int {\n$breturn <-ch\n}",
    "func lock(mu *sync.Mutex) {\n$b}",
    "func each(fn func()) {\n$b}",
    "func F(ch chan int) {\n$b}",
    "func New(n int) *Q {\n$breturn &Q{}\n}\n\ntype Q struct{ ch chan int }\n\nfunc (q *Q) Close() {\n$b}\n\nvar Ch = make(chan int)\n\nvar Mu sync.Mutex",
    "func Gen[P any](v P) P {\n$breturn v\n}",
    "type Box[P any] struct{ v P }\n\nfunc (s *Box[P]) run() {\n$b}",
    "type Doer interface {\n\tDo($t)\n\trun()\n}",
    "func (s *T) ServeHTTP(w http.ResponseWriter, r *http.Request) {\n$b}",
    "var (\n\tmu sync.Mutex\n\twg sync.WaitGroup\n\tonce sync.Once\n\tcond = sync.NewCond(&mu)\n\tch = make(chan int)\n\tdone chan struct{}\n\tlocks [4]sync.Mutex\n\tchans []chan int\n\tflag atomic.Bool\n\tdoer Doer\n)",
    "var fn = $f",
    "var $n = $e",
    "func init() {\n$b}",
    "func main() {\n$b}",
    "func TestF(t *testing.T) {\n$b}",
    "type $n $t",
    "type U = $t",
    "const (\n\tA = iota\n\tB\n)",
    "func $n($n, $n $t, $n ...$t) ($n $t, err error) {\n$b}",
    "type E struct {\n\t*T\n\tDoer\n\tsync.Mutex\n}\n\nfunc (s *E) run() {\n$b}",
    "$s",
];
