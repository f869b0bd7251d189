//! What is read twice of a slice, map or pointer of which nothing is known is the same, until something may have changed it.

use crate::cli::tells;

/// Checks what is told of a function with these parameters that makes a channel under a condition and closes it under a
/// second one, with something in between.
fn check(params: &str, made: &str, between: &str, closed: &str, expected: &[&str]) {
    let source = format!(
        "package m\n\ntype options struct{{ on bool }}\n\nfunc f({params}) {{\n\tvar c chan int\n\
         \tif {made} {{\n\t\tc = make(chan int)\n\t}}\n\t{between}\n\tif {closed} {{\n\t\tclose(c)\n\t}}\n}}\n"
    );
    tells(&[("go.mod", "module example.com/m\n\ngo 1.22\n"), ("m.go", &source)], expected);
}

/// A close of a channel that was not made.
const NIL: &[&str] = &["m.go:12 close-misuse high"];

#[test]
fn an_element_of_a_map() {
    check("m map[string]bool", r#"m["x"]"#, "", r#"m["x"]"#, &[]);
    check("m map[string]bool", r#"m["x"]"#, "", r#"m["y"]"#, NIL);
    check("m map[string]bool", r#"m["x"]"#, r#"m["x"] = true"#, r#"m["x"]"#, NIL);
    check("m map[string]bool, g func(map[string]bool)", r#"m["x"]"#, "g(m)", r#"m["x"]"#, NIL);
}

#[test]
fn whether_a_map_has_an_element() {
    let asks = r#"_, ok := m["x"]; ok"#;
    check("m map[string]int", asks, "", asks, &[]);
    check("m map[string]int", r#"_, ok := m["y"]; ok"#, "", asks, NIL);
    let lacks = r#"_, ok := m["x"]; !ok"#;
    check("m map[string]int", lacks, "", lacks, &[]);
    check("m map[string]int", lacks, r#"delete(m, "x")"#, lacks, NIL);
}

#[test]
fn an_element_of_a_slice() {
    check("xs []bool", "xs[0]", "", "xs[0]", &[]);
    check("xs []bool", "xs[0]", "", "xs[1]", NIL);
    check("xs []bool", "xs[0]", "xs[0] = true", "xs[0]", NIL);
    check("xs []bool", "xs[0]", "xs = xs[1:]", "xs[0]", NIL);
    check("xs, ys []bool", "xs[0]", "copy(xs, ys)", "xs[0]", NIL);
    check("xs [3]bool", "xs[1]", "", "xs[1]", &[]);
    check("xs []options", "xs[0].on", "", "xs[0].on", &[]);
    check("xs []*options", "xs[0].on", "", "xs[0].on", &[]);
    check("xs []*options", "xs[0].on", "xs[0].on = true", "xs[0].on", NIL);
}

#[test]
fn what_a_pointer_points_to() {
    check("n *int", "*n > 0", "", "*n > 0", &[]);
    check("n *int", "n != nil && *n > 0", "", "n != nil && *n > 0", &[]);
    check("n *int", "*n > 0", "*n = 1", "*n > 0", NIL);
    check("n *int, g func(*int)", "*n > 0", "g(n)", "*n > 0", NIL);
    check("n, m *int", "*n > 0", "", "*m > 0", NIL);
}
