//! Functions in which one thing stands a thousand times, as a program writes them: what is asked of each
//! of these things must not be asked of each pair of them by a walk through all of it.

use crate::cli::{module, seen, straggler};

const TIMES: usize = 1_000;

/// A function of a thousand times `text`, with numbers for `#`, between `before` and `after`; compares the
/// exit code, and how many findings there are.
#[track_caller]
fn check(parameters: &str, before: &str, text: &str, after: &str, expected: (i32, usize)) {
    let all: String = (0..TIMES).map(|n| text.replace('#', &n.to_string()) + "\n").collect();
    let source = format!(
        "package m\n\nimport \"sync\"\n\nvar _ sync.Mutex\n\nfunc f({parameters}) {{\n{before}\n{all}{after}\n}}\n"
    );
    let module = module(&[("f.go", &source)]);
    let mut command = straggler(module.path());
    command.args(["--no-cache", "--isolated", "--select", "ALL", "--format", "concise"]);
    let output = command.output().expect("straggler runs");
    let found = String::from_utf8_lossy(&output.stdout).lines().count();
    assert_eq!((output.status.code().expect("a code"), found), expected, "{}", seen(&output));
}

#[test]
fn locks() {
    check("mu *sync.Mutex", "", "mu.Lock()\nmu.Unlock()", "", (0, 0));
    check("mu *sync.Mutex", "defer mu.Unlock()", "mu.Lock()", "", (1, 1));
    let early = "mu.Lock()\nif x {\n\tmu.Unlock()\n\treturn\n}\nmu.Unlock()";
    check("mu *sync.Mutex, x bool", "", early, "", (0, 0));
}

#[test]
fn channels() {
    check("", "", "c# := make(chan int)\nc# <- 1", "", (1, TIMES));
    check("", "ch := make(chan int)", "go func() { ch <- # }()", "<-ch", (1, 1));
    let other = "for i := 0; i < n; i++ {\n\tgo func() { ch <- i }()\n\t<-ch\n}";
    check("n int", "ch := make(chan int)", other, "", (0, 0));
}

#[test]
fn arms() {
    let before: String = (0..TIMES).map(|n| format!("c{n} := make(chan int)\n")).collect();
    check("", &format!("{before}select {{"), "case <-c#:", "}", (1, 1));
    check("chans []chan int", "select {", "case <-chans[#]:", "}", (0, 0));
}

#[test]
fn assignments() {
    let again = "c = make(chan int)\ngo func() { c <- 1 }()";
    check("", "c := make(chan int)", again, "<-c", (0, 0));
}

#[test]
fn conditions() {
    let kept = "if x[#] {\n\tmu.Lock()\n\tif y[#] {\n\t\treturn\n\t}\n\tmu.Unlock()\n}";
    check("mu *sync.Mutex, x, y []bool", "", kept, "", (1, TIMES));
}

#[test]
fn callbacks() {
    let answered = "c := make(chan int)\n\tgo func() { c <- # }()\n\tselect {\n\tcase <-c:\n\tcase <-done:\n\t}";
    let text = format!("handle(func(done chan bool) {{\n\t{answered}\n}})");
    check("handle func(func(chan bool))", "", &text, "", (1, TIMES));
}

/// A constant that is twice the one before it, and an array of arrays: a few letters for what no memory
/// holds.
#[test]
fn sizes() {
    let doubled: String = (0..60).map(|n| format!("const a{} = a{n} + a{n}\n", n + 1)).collect();
    let asks = "c := make(chan int)\ngo func() { c <- 1 }()\nif a60 == s {\n\treturn\n}\n<-c";
    check("s string", &format!("const a0 = \"abcd\"\n{doubled}"), "", asks, (1, 1));
    let array = format!("var a {}int", "[4]".repeat(20));
    check("", &array, "", "c := make(chan [2]int)\nc <- [2]int{a[0][0][0][0]}", (1, 1));
}

#[test]
fn a_rule_that_takes_too_many_steps_is_given_up_and_said_to_be() {
    let each = |text: &str| -> String {
        (0..3 * TIMES).map(|n| text.replace('#', &n.to_string())).collect()
    };
    let (makes, arms) = (each("c# := make(chan int)\n"), each("case <-c#:\n"));
    let source = format!(
        "package m\n\nfunc f() {{\n{makes}select {{\n{arms}}}\n}}\n\nfunc g() {{\n\tc := make(chan int)\n\tc <- 1\n}}\n"
    );
    let module = module(&[("f.go", &source)]);
    let mut command = straggler(module.path());
    command.args(["--no-cache", "--isolated", "--select", "ALL", "--format", "concise"]);
    let output = command.output().expect("straggler runs");
    let (found, told) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let given_up = "f.go:3:6: the rule `send-without-receiver` was given up at this function";
    assert!(told.contains(given_up), "{told}");
    assert!(found.contains("nobody is left to receive from `c`"), "{found}");
    assert_eq!(output.status.code(), Some(1), "{told}");
}
