//! Code for the abstract machine: declarations in, the printed code out.

use straggler::program::{self, NothingKnown, Source};
use straggler::source::{FileId, SourceText};
use straggler::syntax;

fn compile(text: &str) -> program::Program {
    let file = syntax::parse(SourceText::new(format!("package p\n{text}").into_bytes()));
    assert!(file.errors.is_empty(), "{:?}", file.errors);
    program::compile(&[Source { id: FileId(0), file: &file }], &NothingKnown)
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let actual = compile(text).to_string();
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
    };
    assert_eq!(lines(&actual), lines(expected), "the code is\n{actual}");
}

#[test]
fn a_captured_variable_lives_in_a_cell() {
    check(
        "func f() { x := 1; go func() { x = 2 }() }",
        "
        f: root synchronises
          0 const 1
          1 declare cell x
          2 closure f.func1
          3 go 0
          4 return 0
        f.func1: effects
          0 const 2
          1 store cell x
          2 return 0
        ",
    );
}

#[test]
fn conditions_jump_as_soon_as_they_are_decided() {
    check(
        "func f(a, b bool, c chan int) { if a && !b { c <- 1 } else { <-c } }",
        "
        f: synchronises waits
          0 load a
          1 if false jump 8
          2 load b
          3 if true jump 8
          4 load c
          5 const 1
          6 send
          7 jump 11
          8 load c
          9 receive
         10 pop
         11 return 0
        ",
    );
}

#[test]
fn a_branch_that_does_nothing_of_consequence_has_a_join() {
    check(
        r#"
        import "fmt"
        func f(a bool) int {
            n := 0
            if a { n = 1; fmt.Println(n) } else { n = 2 }
            return n
        }
        "#,
        "
        f:
          0 const 0
          1 declare n
          2 load a
          3 if false jump 9; meets at 11
          4 const 1
          5 store n
          6 load n
          7 call fmt.Println 1 -> 0
          8 jump 11
          9 const 2
         10 store n
         11 load n
         12 return 1
         13 return 0
        ",
    );
}

#[test]
fn select_and_range_and_labels() {
    check(
        "
        func f(c, d chan int) {
        outer:
            for v := range c {
                select {
                case d <- v:
                case x, ok := <-c:
                    _, _ = x, ok
                    break outer
                default:
                    continue
                }
            }
        }
        ",
        "
        f: synchronises waits
          0 load c
          1 range $2
          2 next $2 else 21
          3 pop
          4 declare v
          5 load d
          6 load v
          7 load c
          8 select send:9 receive:10 default:18
          9 jump 20
         10 declare ok
         11 declare x
         12 load x
         13 load ok
         14 pop
         15 pop
         16 jump 21
         17 jump 20
         18 jump 20
         19 jump 20
         20 jump 2
         21 range end $2
         22 return 0
        ",
    );
}

#[test]
fn embedded_types_methods_and_several_results() {
    check(
        r#"
        import "sync"
        type T struct { sync.Mutex; m map[string]chan int }
        func (t *T) get(k string) (c chan int, ok bool) {
            t.Lock()
            defer t.Unlock()
            c, ok = t.m[k]
            return
        }
        func use(t *T) { show(t.get("x")) }
        func show(c chan int, ok bool) {}
        "#,
        r#"
        (*T).get: root synchronises waits effects
          0 zero chan int
          1 declare c
          2 zero bool
          3 declare ok
          4 load t
          5 call .Lock 0 -> 0
          6 load t
          7 member Unlock
          8 defer 0
          9 load t
         10 member m
         11 load k
         12 index ok
         13 store ok
         14 store c
         15 return 0
         16 return 0
        use: synchronises waits effects
          0 func show
          1 load t
          2 const "x"
          3 call .get 1 -> 2
          4 call 2 -> 0
          5 return 0
        show:
          0 return 0
        "#,
    );
}

#[test]
fn who_runs_what_waits_without_naming_it_waits_too() {
    let program = compile(
        r#"
        import ("fmt"; "io"; "sync"; "time")
        var ticks = time.Tick(1)
        var nothing = 1
        type T struct { mu sync.Mutex }
        func (t *T) String() string { t.mu.Lock(); return "" }
        type R struct { c chan int }
        func (r *R) Read(b []byte) (int, error) { return <-r.c, nil }
        func prints(t *T) { fmt.Println(t) }
        func reads(r *R) { io.ReadAll(r) }
        func loops() { for range ticks {} }
        func counts(c chan int) { go close(c) }
        func starts() { go func() { nothing = 2 }() }
        "#,
    );
    let waits = program.funcs.iter().filter(|func| func.traits.waits);
    let names: Vec<&str> = waits.map(|func| func.name.as_str()).collect();
    assert_eq!(
        names,
        ["(*T).String", "(*R).Read", "prints", "reads", "loops", "counts", "ticks"],
        "{program}"
    );
}

#[test]
fn what_does_not_parse_is_a_hole_that_takes_everything() {
    let file = syntax::parse(SourceText::new(b"package p\nfunc f(c chan int) { x := }\n".to_vec()));
    let program = program::compile(&[Source { id: FileId(0), file: &file }], &NothingKnown);
    assert_eq!(
        program.to_string(),
        "f: synchronises\n    0 load c\n    1 hole 1 -> 0\n    2 return 0\n"
    );
}
