//! Locks that are given back in literals: pairs of programs.

use crate::cli::tells_of_file as check;

/// A function that takes `s.mu` and loads something.
fn store(body: &str) -> String {
    format!(
        "package m\n\nimport \"sync\"\n\ntype store struct {{\n\tmu sync.Mutex\n\tn  int\n}}\n\n\
         func (s *store) load() error {{\n\tif s.n > 3 {{\n\t\treturn errFull\n\t}}\n\treturn nil\n}}\n\n\
         var errFull error\n\n\
         func (s *store) set() {{\n\ts.mu.Lock()\n\ts.n++\n\ts.mu.Unlock()\n}}\n\n{body}"
    )
}

const LOCK: &str = "\ts.mu.Lock()\n";
const LOAD: &str = "\tif err := s.load(); err != nil {\n\t\treturn err\n\t}\n";

#[test]
fn a_literal_that_is_deferred_after_a_way_out() {
    let open = |lines: &[&str]| {
        store(&format!(
            "func (s *store) open() error {{\n{}\treturn s.load()\n}}\n",
            lines.concat()
        ))
    };
    let gives = "\tdefer func() {\n\t\ts.n++\n\t\ts.mu.Unlock()\n\t}()\n";
    check(&open(&[LOCK, LOAD, gives]), &["m.go:26 unlock-missing high"]);
    check(&open(&[LOCK, gives, LOAD]), &[]);
    // A literal that is deferred before knows whether to give it back.
    let asks =
        "\tlocked := false\n\tdefer func() {\n\t\tif locked {\n\t\t\ts.mu.Unlock()\n\t\t}\n\t}()\n";
    check(&open(&[asks, LOCK, "\tlocked = true\n", LOAD]), &[]);
}

#[test]
fn a_literal_that_the_caller_gets() {
    let open = |lines: &[&str], returned: &str| {
        let lines = lines.concat().replace("return err", returned);
        store(&format!(
            "func (s *store) open() (func(), error) {{\n{lines}\treturn func() {{ s.mu.Unlock() }}, nil\n}}\n"
        ))
    };
    check(&open(&[LOCK, LOAD], "return nil, err"), &["m.go:26 unlock-missing high"]);
    let made = "\tdone := func() { s.mu.Unlock() }\n";
    check(&open(&[made, LOCK, LOAD], "done()\n\t\treturn nil, err"), &[]);
    check(&open(&[LOCK, made, LOAD], "return done, err"), &[]);
    // What else is returned may have the lock of another call.
    let other = LOAD.replace("err := s.load(); err != nil", "s.n > 7");
    check(
        &open(&[LOCK, &other], "return old, nil")
            .replace("var errFull", "var old func()\n\nvar errFull"),
        &[],
    );
}
