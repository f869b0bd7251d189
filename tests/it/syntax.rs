//! What `syntax` understands of Go.

use straggler::source::{SourceText, Span};
use straggler::syntax::{self, Body, DeclId, DeclKind, Declared, File, Ident, LazyFile, Node};

/// Parses `text` and compares the printed tree.
#[track_caller]
fn check(text: &str, expected: &str) {
    let file = syntax::parse(SourceText::new(text.as_bytes().to_vec()));
    assert_eq!(syntax::print(&file), expected, "the tree of:\n{text}");
}

/// As `check`, for the statements of one function.
#[track_caller]
fn check_body(body: &str, expected: &str) {
    let file =
        syntax::parse(SourceText::new(format!("package p\nfunc f() {{\n{body}\n}}\n").into()));
    let printed = syntax::print(&file);
    let printed = printed.strip_prefix("package p\nfunc f ()\n").unwrap_or(&printed);
    let lines: String = printed
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line)))
        .collect();
    assert_eq!(lines, expected, "the statements of:\n{body}");
}

#[test]
fn declarations() {
    check(
        "package p\n\nimport (\n\t\"context\"\n\tm \"math/rand\"\n\t. `os`\n\t_ \"net\"\n)\nimport \"io\"\n",
        "package p\nimport \"context\"\nimport m \"math/rand\"\nimport . \"os\"\nimport _ \"net\"\nimport \"io\"\n",
    );
    check(
        "package p\nvar a, b int = 1, 2\nvar (\n\tc = f()\n\td []string\n)\nvar ()\n",
        "package p\nvar a b : int = 1 2\nvar c = (call f)\nvar d : []string\n",
    );
    check(
        "package p\ntype (\n\tA = B\n\tS struct {\n\t\ta, b int `json:\"a\"`\n\t\t*E\n\t\tp.F \"tag\"\n\t\tG[int]\n\t\tf func(int) (a, b string)\n\t}\n)\n",
        "package p\ntype A = B\ntype S (struct (a int `json:\"a\"`) (b int `json:\"a\"`) ((* E)) (p.F \"tag\") ((index G int)) (f (functype (int) (a string, b string))))\n",
    );
    check(
        "package p\ntype I interface {\n\tM(a int, b ...string) error\n\tfmt.Stringer\n\t~int | ~[]byte\n\tcomparable\n}\ntype M[K comparable, V any] map[K]V\n",
        "package p\ntype I (interface (M (a int, b ...string) (error)) fmt.Stringer (| (~ int) (~ []byte)) comparable)\ntype M[K comparable, V any] (map K V)\n",
    );
    check(
        "package p\nfunc (r *R[K, _]) M(ctx context.Context, _ int) (n int, err error)\nfunc g[T, U any, V ~int](x T, ys ...U) V { return 0 }\nfunc h() (<-chan int)\n",
        "package p\nfunc (r (* (index R K _))) M (ctx context.Context, _ int) (n int, err error) external\nfunc g[T any, U any, V (~ int)] (x T, ys ...U) (V)\n  return 0\nfunc h () ((<-chan int)) external\n",
    );
}

#[test]
fn constants_are_repeated_with_their_iota() {
    check(
        "package p\nconst (\n\ta, b T = iota, 1 << iota\n\tc, d\n\te = \"x\"\n\tf\n)\nconst g = 1\n",
        "package p\nconst iota=0 a b : T = iota (<< 1 iota)\nconst iota=1 c d : T = iota (<< 1 iota)\nconst iota=2 e = \"x\"\nconst iota=3 f = \"x\"\nconst iota=0 g = 1\n",
    );
}

#[test]
fn statements() {
    check_body(
        r#"go func(a int) { <-c }(1)
defer mu.Unlock()
if x := f(); x > 0 && !y || (z) { return } else if a { return 1, nil } else { goto L }
for { break }
for x < 3 { continue L }
for i := 0; i < n; i++ { }
for ;; { }
for ; x; { }
for range ch { }
for i := range 10 { }
for k, v = range m { }
for range f(x) {}
switch { case a, b: fallthrough; default: x() }
switch x := f(); x.y { case 1: }
switch x := f(); { case true: }
switch v := x.(type) { case nil, *T: ; case chan int, func(): ; default: g() }
switch f(); x.(type) { }
select { case <-c: ; case v, ok := <-d: g(v); case a[i] = <-e: ; case f() <- 2: ; default: return }
select {}
L: for { continue L }
M:"#,
        r#"go (call (func (a int)
  (<- c)) 1)
defer (call mu.Unlock)
if x := (call f); (|| (&& (> x 0) (! y)) (paren z))
  return
else if a
  return 1 nil
else 
  goto L
for _; _; _
  break
for _; (< x 3); _
  continue L
for i := 0; (< i n); ++ i
for _; _; _
for _; x; _
range ch
range i := 10
range k v = m
range (call f x)
switch _
case a b
  fallthrough
default
  (call x)
switch x := (call f); x.y
case 1
switch x := (call f); _
case true
typeswitch v := x
case nil (* T)
case (chan int) (functype ())
default
  (call g)
typeswitch (call f); x
select
comm (<- c)
comm v ok := (<- d)
  (call g v)
comm (index a i) = (<- e)
comm send (call f) 2
default
  return
select
label L
for _; _; _
  continue L
label M
empty
"#,
    );
}

#[test]
fn expressions() {
    check_body(
        r#"var x, y = 1, "a"
const z = iota
type T struct{}
v := []T{{1, 2}, {a: 1}, &T{}, 3: {}}
w := map[string][]int{"a": {1}, k: nil}
q := [...]int{1,2,3}[:]
_ = a[1:2:3]; _ = a[:]; _ = a[x:]; _ = a[:x]
_ = x.(interface{ M() }).M
_ = f[int](x); _ = f[int, string](x); _ = G[T]{}; _ = pkg.F[T](y); _ = m[k](1); _ = a.b[c].d(e)
_ = []byte("x"); _ = (*T)(nil); _ = (<-chan int)(c); _ = func() {}; _ = chan<- int(nil); _ = map[a]b(c)
_ = make(chan struct{}, 1); _ = new(T); _ = make([]int, n, m); _ = new([]int)
_ = &x; _ = -x ^ ^y &^ z << 2 % 3; _ = *p * *q; _ = 1.5 + 2i + 'x' + 0x1F
x.y, *z = <-c, nil
x &^= 1; x <<= 2
{ inner() }
mu.Lock(); { }
var fn func(int, ...string) (a, b int) = nil
lbl: x = 1
_ = f[T](a)(b)[c].d
_ = struct{a int}{1}
_ = <-<-cc
_ = 'a' == true
_ = p.T{X: 1, Y: p.U{}}
f(a, func() { b() }, c...)
f(a,
  b,
)
if v, ok := <-c; ok { }
if _, ok := x.(T); !ok { }
return func() error { return nil }"#,
        r#"var x y = 1 "a"
const iota=0 z = iota
type T (struct)
v := (lit []T (lit _ 1 2) (lit _ a:1) (& (lit T)) 3:(lit _))
w := (lit (map string []int) "a":(lit _ 1) k:nil)
q := (slice (lit [...]int 1 2 3) _ _ _)
_ = (slice a 1 2 3)
_ = (slice a _ _ _)
_ = (slice a x _ _)
_ = (slice a _ x _)
_ = (assert x (interface (M ()))).M
_ = (call (index f int) x)
_ = (call (index f int string) x)
_ = (lit (index G T))
_ = (call (index pkg.F T) y)
_ = (call (index m k) 1)
_ = (call (index a.b c).d e)
_ = (call []byte "x")
_ = (call (paren (* T)) nil)
_ = (call (paren (<-chan int)) c)
_ = (func ())
_ = (call (chan<- int) nil)
_ = (call (map a b) c)
_ = (call make (chan (struct)) 1)
_ = (call new T)
_ = (call make []int n m)
_ = (call new []int)
_ = (& x)
_ = (^ (- x) (% (<< (&^ (^ y) z) 2) 3))
_ = (* (* p) (* q))
_ = (+ (+ (+ 1.5 2i) 'x') 0x1F)
x.y (* z) = (<- c) nil
x &^= 1
x <<= 2
block
  (call inner)
(call mu.Lock)
block
var fn : (functype (int, ...string) (a int, b int)) = nil
label lbl
x = 1
_ = (index (call (call (index f T) a) b) c).d
_ = (lit (struct (a int)) 1)
_ = (<- (<- cc))
_ = (== 'a' true)
_ = (lit p.T X:1 Y:(lit p.U))
(call f a (func ()
  (call b)) c ...)
(call f a b)
if v ok := (<- c); ok
if _ ok := (assert x T); (! ok)
return (func () (error)
  return nil)
"#,
    );
}

#[test]
fn what_the_grammar_does_not_know() {
    check(
        "package p\nfunc f(v T) {\n\tx, y, z := new(1+2), new([]int), new(func() int { return 1 }())\n\tmake(n - 1)\n\tif ; x {\n\t}\n\t_ = interface{ M() }.M\nL: M:\n}\n",
        "package p\nfunc f (v T)\n  x y z := (call new (+ 1 2)) (call new []int) (call new (call (func () (int)\n    return 1)))\n  (call make (- n 1))\n  if x\n  _ = (interface (M ())).M\n  label L\n  label M\n  empty\n",
    );
    check(
        "package p\nfunc f() {\n\tx, y := new(s[0]), new(m[\"a\"])\n\tx, y = new(s[i:]), new(T[[2]int])\n\tx, y = new(s[i-1]), new(s[i])\n}\n",
        "package p\nfunc f ()\n  x y := (call new (index s 0)) (call new (index m \"a\"))\n  x y = (call new (slice s i _ _)) (call new (index T [2]int))\n  x y = (call new (index s (- i 1))) (call new (index s i))\n",
    );
    check(
        "package p\nconst ( a = 1 )\nfunc f() {\n\tconst (b = 2)\n\tx := 1 /* two\n\tlines */ y := 2\n}\nvar z = 3",
        "package p\nconst iota=0 a = 1\nfunc f ()\n  const iota=0 b = 2\n  x := 1\n  y := 2\nvar z = 3\n",
    );
    check_body(
        "new:\n\tfor {\n\t\tfor {\n\t\t\tcontinue new\n\t\t}\n\t\tbreak new\n\t}",
        "label new\nfor _; _; _\n  for _; _; _\n    continue new\n  break new\n",
    );
}

#[test]
fn methods_with_type_parameters() {
    check(
        "package p\n\nfunc (r *R[K]) M[T any, U ~[]T](x T, f func(T) U) (R, error) { return new(T(x)), nil }\nfunc (l List) Map[T interface{ ~int }](f func(int) T) []T\n",
        "package p\nfunc (r (* (index R K))) M[T any, U (~ []T)] (x T, f (functype (T) (U))) (R, error)\n  return (call new (call T x)) nil\nfunc (l List) Map[T (interface (~ int))] (f (functype (int) (T))) ([]T) external\n",
    );
}

#[test]
fn an_error_leaves_the_neighbours_alone() {
    check(
        "package p\n\nfunc a() { x() }\n\nfunc broken() {\n\tif x {\n\tgo f()\n}\n\nfunc b() { y() }\n",
        "package p\nfunc a ()\n  (call x)\nfunc broken ()\n  if x\n    go (call f)\nfunc b ()\n  (call y)\n5:15: syntax error: `{` is never closed\n",
    );
    check(
        "package p\n\nfunc extra() { } }\n\tstmt()\n\tvar local = 1\n\nvar decl = 2\n\nfunc unclosed(a int {\n\tb()\n}\n\nfunc last(a int) { c(a) }\n",
        "package p\nfunc extra ()\nvar decl = 2\nfunc unclosed (a int)\n  (call b)\nfunc last (a int)\n  (call c a)\n3:18: syntax error: `}` outside of any declaration\n9:14: syntax error: `(` is never closed\n",
    );
    check(
        "package p\n\nx := 1\n\nfunc f() {\n\ta := `never closed\n}\n\nfunc g() { y() }\n",
        "package p\nfunc f () elided\nfunc g ()\n  (call y)\n3:1: syntax error: `x` outside of any declaration\n6:7: string not terminated\n",
    );
}

#[test]
fn generated_files_say_so_before_the_package_clause() {
    let generated = |text: &str| syntax::parse(SourceText::new(text.into())).generated;
    assert!(generated("// Code generated by protoc. DO NOT EDIT.\n\npackage p\n"));
    assert!(generated("// A licence.\r\n\r\n// Code generated x DO NOT EDIT.\r\npackage p\r\n"));
    assert!(generated("// This file was generated by counterfeiter\npackage p\n"));
    assert!(!generated("package p\n// Code generated by protoc. DO NOT EDIT.\n"));
    assert!(!generated("// Code generated by protoc. DO NOT EDIT\npackage p\n"));
    assert!(!generated(" // Code generated by protoc. DO NOT EDIT.\npackage p\n"));
}

#[test]
fn the_outermost_literals_of_package_variables_are_functions_too() {
    let text = "package p\nvar a, b = func() { _ = func() {} }, T{f: func(x int) {}}\n\
                func f() { _ = func() {} }\nvar _ = g(func() { var v = func() {} })\n";
    let file = syntax::parse(SourceText::new(text.as_bytes().to_vec()));
    let literals: Vec<String> = file
        .initial_literals()
        .map(|(id, func)| format!("{}: {}", func.name.name, file.source.text(file.decl(id).span)))
        .collect();
    assert_eq!(
        literals,
        ["a: func() { _ = func() {} }", "b: func(x int) {}", "_: func() { var v = func() {} }",]
    );
    assert_eq!(file.funcs().count(), 1);
}

/// What a file declares, each declaration parsed by itself.
fn lazily(text: &str) -> String {
    let file = LazyFile::new(SourceText::new(text.as_bytes().to_vec()));
    let mut printed = String::new();
    let mut last = None;
    for declared in file.declared() {
        let tree = file.tree_without_body(declared.id);
        if last.replace(tree.top_level[0]) != Some(tree.top_level[0]) {
            printed.push_str(&syntax::print(tree));
        }
    }
    printed
}

#[test]
fn declarations_are_parsed_one_by_one_without_bodies() {
    let text = "package p\nvar f = func() { g() }\nfunc (T) M(x interface{ N() }) struct{ a int } { return struct{ a int }{}  /* } */ }\nfunc g() {}\nfunc h()\n";
    assert_eq!(
        lazily(text),
        "var f = (func ()\n  (call g))\nfunc (T) M (x (interface (N ()))) ((struct (a int))) elided\nfunc g () elided\nfunc h () external\n",
    );
    let broken = "package p\nfunc f() { x := 1 }\nfunc ) g() {}\nvar a = \ntype T int\nfunc i() (";
    // Until its brackets are closed a declaration goes on; what is known of it are names.
    assert_eq!(
        lazily(broken),
        "func f () elided\nvar a : ?\n4:1: syntax error: declaration cannot be understood\nfunc i () elided\n6:10: syntax error: `(` is never closed\n",
    );
}

#[test]
fn literals_of_variables_are_met_once_however_they_are_grouped() {
    let text = "package p\nvar (\n\ta = func() {}\n\tn int\n\tb, c = func() {}, func() {}\n)\nvar d = func() {}\nvar e = 1\n";
    let file = LazyFile::new(SourceText::new(text.as_bytes().to_vec()));
    let literals = file.with_literals().flat_map(|group| group.initial_literals());
    let names: Vec<&str> = literals.map(|(_, literal)| literal.name.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
}

#[test]
fn what_is_declared_is_known_before_it_is_parsed() {
    let text = "package p\nimport \"x\"\nconst (\n\ta, b = iota, 1 // one\n\tc, _\n\n\t_, _ = f(1, 2), 3;\n)\nvar x, y int\n\
                var ( z struct { u, v int }; w = []int{1, 2} )\ntype (\n\tS struct {\n\t\tn int\n\t}\n\tG[K, V any] map[K]V\n)\n\
                type A = int\nfunc f(a, b int) {}\nfunc (r *G[K, V]) M() {}\nfunc (S) N()\nvar ()\n";
    let file = LazyFile::new(SourceText::new(text.as_bytes().to_vec()));
    let told: Vec<String> = file
        .declared()
        .map(|declared| {
            let names: Vec<&str> = declared.names.iter().map(|name| name.name.as_str()).collect();
            let receiver = declared
                .receiver
                .map(|(name, pointer)| format!(" of {}{}", if pointer { "*" } else { "" }, name));
            let tree = file.tree(declared.id);
            let parsed: Vec<Ident> = match &tree.decl(declared.id).kind {
                DeclKind::Var(spec) => spec.names.to_vec(),
                DeclKind::Const(spec) => spec.names.to_vec(),
                DeclKind::Type(spec) => vec![spec.name],
                DeclKind::Func(func) => vec![func.name],
            };
            assert_eq!(parsed, *declared.names);
            format!("{:?} {}{}", declared.kind, names.join(" "), receiver.unwrap_or_default())
        })
        .collect();
    assert_eq!(
        told,
        [
            "Const a b",
            "Const c _",
            "Const _ _",
            "Var x y",
            "Var z",
            "Var w",
            "Type S",
            "Type G",
            "Type A",
            "Func f",
            "Func M of *G",
            "Func N of S",
        ]
    );
}

/// Where the declarations of a file stand with all that is in them, and the comments; functions also
/// without their bodies.
pub fn places_of_declarations(file: &File) -> Vec<String> {
    let place = |&id: &DeclId| [true, false].map(|body| place_of_declaration(file, id, body));
    let mut places: Vec<String> = file.top_level.iter().flat_map(place).collect();
    places.push(format!("{:?} {:?}", file.imports, file.comments));
    places
}

/// As [`places_of_declarations`], with each declaration parsed by itself.
pub fn places_of_lazy_declarations(text: SourceText) -> Vec<String> {
    let file = LazyFile::new(text);
    let place = |&Declared { id, .. }: &Declared| {
        let whole = place_of_declaration(file.tree(id), id, true);
        [whole, place_of_declaration(file.tree_without_body(id), id, false)]
    };
    let mut places: Vec<String> = file.declared().flat_map(place).collect();
    places.push(format!("{:?} {:?}", file.head().imports, file.head().comments));
    places
}

fn place_of_declaration(file: &File, id: DeclId, with_body: bool) -> String {
    let decl = file.decl(id);
    let mut name = None;
    let body = match &decl.kind {
        DeclKind::Func(func) => {
            name = Some(func.name);
            match file.body(func) {
                Body::Parsed(body) => Some(file.stmt(body).span),
                Body::Elided(body) => Some(body),
                Body::External => None,
            }
        }
        _ => None,
    };
    let span = |node| match node {
        Node::Decl(id) => file.decl(id).span,
        Node::Stmt(id) => file.stmt(id).span,
        Node::Expr(id) => file.expr(id).span,
    };
    let is_told = |span: &Span| with_body || body.is_none_or(|body| !body.contains(*span));
    let spans = file.descendants(Node::Decl(id)).map(span).filter(is_told);
    format!("{name:?} {body:?} {:?}", spans.collect::<Vec<_>>())
}

#[test]
fn declarations_that_are_parsed_by_themselves_stand_where_they_stand() {
    let text = "// a\npackage p // b\n\n// c\n\timport \"x\" // d\n/* e */ var /* f */ v/**/T = 1 // }\n\
                // g\n// h\nfunc f(a /* i\n*/ int, // j\n\tb int) { // k\n\t/* l */ } // m\n//n\n\
                func g(){//o\n};func h(){};var w = `// p`//q\ntype S struct { // r\n\ta int // s\n\
                \t// t\n} // u\nfunc (S) M() (x int) {{}}//v";
    let text = SourceText::new(text.as_bytes().to_vec());
    let whole = syntax::parse(text.clone());
    assert_eq!(whole.errors, []);
    assert_eq!(places_of_lazy_declarations(text), places_of_declarations(&whole));
}

#[test]
fn the_outline_tells_what_a_body_has_to_do_with() {
    let text = "package p\nvar v = f()\nfunc (s *S[K]) a(c chan int) {\n\ts.mu.Lock()\n\tg[T](h(<-c))\n\tgo func() { s.n++ }()\n\tx := s.t[i(1)](2)\n\th(x)\n}\nfunc b() struct{} { return struct{}{} }\nfunc c()\n";
    let outline = syntax::outline(text.as_bytes());
    let [_, var, a, b, c] = &outline.decls[..] else { panic!("{outline:?}") };
    let text_of = |span: Option<straggler::source::Span>| {
        span.map(|span| &text[span.start as usize..span.end as usize])
    };
    let calls = |decl: &syntax::OutlineDecl| -> Vec<&str> {
        decl.calls.iter().map(|name| name.as_str()).collect()
    };
    use syntax::Features;
    assert_eq!((calls(var), var.kind), (vec!["f"], syntax::OutlineKind::Var));
    assert_eq!((text_of(a.name), text_of(a.receiver)), (Some("a"), Some("S")));
    assert_eq!(calls(a), ["Lock", "g", "h", "i", "t"], "{a:?}");
    let expected = Features::LOCK | Features::CALL | Features::ARROW | Features::GO;
    assert_eq!(a.features, expected | Features::FUNC | Features::STORE);
    assert_eq!((text_of(b.body), b.features), (Some("{ return struct{}{} }"), Features::NONE));
    assert_eq!((c.body, text_of(Some(c.span))), (None, Some("func c()")));
}
