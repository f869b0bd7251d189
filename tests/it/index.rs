//! Names and types: a package in; what its expressions denote out.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use straggler::catalog::Catalog;
use straggler::index::{BodyInfo, Callee, Def, Index, LocalKind, ObjectKind, QualifiedName, Type};
use straggler::project::{LoadOptions, Snapshot, load};
use straggler::source::Span;
use straggler::syntax::{self, ExprId, ExprKind, File, Symbol};

/// Loads a module whose files are given under headers `//- path`, from memory alone.
fn snapshot(text: &str) -> Snapshot {
    let root = PathBuf::from("/memory/m");
    let mut overlays = BTreeMap::new();
    overlays.insert(root.join("go.mod"), b"module m\n\ngo 1.26\n".to_vec());
    for part in text.split("//- ").skip(1) {
        let (name, body) = part.split_once('\n').expect("a header is a line");
        overlays.insert(root.join(name.trim()), body.as_bytes().to_vec());
    }
    let paths = overlays.keys().filter(|path| path.extension().is_some_and(|ext| ext == "go"));
    let options = LoadOptions {
        overlays: overlays.clone(),
        ..LoadOptions::new(root, paths.cloned().collect())
    };
    load(&options)
}

/// Runs `test` with the stack that the index asks for.
pub fn with_index<T: Send>(
    snapshot: &Snapshot,
    test: impl FnOnce(&Index<'_>, &[Arc<File>]) -> T + Send,
) -> T {
    let run = || {
        let (catalog, problems) = Catalog::load(None);
        assert!(problems.is_empty(), "{problems:?}");
        let parse =
            |file: &Arc<straggler::project::SourceFile>| Arc::new(syntax::parse(file.text.clone()));
        let files: Vec<Arc<File>> = snapshot.files.iter().map(parse).collect();
        test(&Index::new(snapshot, &files, &catalog), &files)
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(16 << 20).spawn_scoped(scope, run);
        thread.expect("a thread").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Each line may end in `//= expression -> what it is`, several separated by `;;`. `?` is unknown.
#[track_caller]
fn check(text: &str) {
    let text = if text.contains("//- ") { text.to_owned() } else { format!("//- m.go\n{text}") };
    let snapshot = snapshot(&text);
    let mut failures = String::new();
    with_index(&snapshot, |index, files| {
        let mut claims = 0;
        for package in &snapshot.packages {
            for &id in &package.files {
                let file = &files[id.0 as usize];
                let bodies = bodies(index, package.id, id);
                claims += check_file(index, file, &bodies, &mut failures);
            }
        }
        assert!(claims > 0, "the text claims something");
    });
    assert!(failures.is_empty(), "\n{failures}");
}

fn bodies(
    index: &Index<'_>,
    package: straggler::project::PackageId,
    file: straggler::source::FileId,
) -> Vec<Arc<BodyInfo>> {
    let package = index.package(package);
    let funcs =
        package.funcs.iter().filter(|func| func.file == file).map(|func| index.body(func.id));
    let specs =
        (0..package.specs.len() as u32).filter(|&spec| package.specs[spec as usize].file == file);
    funcs.chain(specs.map(|spec| index.spec_body(package.id, spec))).collect()
}

fn check_file(
    index: &Index<'_>,
    file: &File,
    bodies: &[Arc<BodyInfo>],
    failures: &mut String,
) -> usize {
    let mut claims = 0;
    for line in 1..=file.source.line_count() {
        let span = file.source.line_span(line).expect("lines are counted from 1");
        let text = file.source.text(span).into_owned();
        let Some((code, claimed)) = text.split_once("//= ") else { continue };
        for claim in claimed.split(";;") {
            claims += 1;
            let (expression, expected) = claim.split_once(" -> ").expect("a claim has an arrow");
            let actual = match find(file, span, code, expression.trim()) {
                Some(expr) => describe(index, file, bodies, expr),
                None => "no such expression".to_owned(),
            };
            if actual != expected.trim() {
                writeln!(
                    failures,
                    "{line}: {} -> {actual}\n   expected {}",
                    expression.trim(),
                    expected.trim()
                )
                .unwrap();
            }
        }
    }
    claims
}

/// The last expression on the line that reads so.
fn find(file: &File, line: Span, code: &str, text: &str) -> Option<ExprId> {
    let code = Span::new(line.start, line.start + code.len() as u32);
    (0..file.expr_count() as u32).map(ExprId).rfind(|&expr| {
        let span = file.expr(expr).span;
        code.contains(span) && file.source.text(span) == text
    })
}

fn describe(index: &Index<'_>, file: &File, bodies: &[Arc<BodyInfo>], expr: ExprId) -> String {
    let known = |body: &&Arc<BodyInfo>| {
        !body.type_of(expr).is_unknown()
            || !matches!(body.resolve(expr), Def::Unknown)
            || !matches!(body.callee(expr), Callee::Unknown { name: None })
    };
    let Some(body) = bodies.iter().find(known) else { return "?".to_owned() };
    let mut text = match &file.expr(expr).kind {
        ExprKind::Ident(_) | ExprKind::Selector { .. } => {
            describe_def(index, body, body.resolve(expr))
        }
        ExprKind::Call { .. } => describe_callee(index, body.callee(expr)),
        _ => String::new(),
    };
    match body.type_of(expr) {
        Type::Unknown => {}
        ty => write!(text, " : {ty}").unwrap(),
    }
    if let Some(constant) = body.constant(expr) {
        match (constant.as_int(), constant.as_bool(), constant.as_str()) {
            (Some(value), ..) => write!(text, " = {value}").unwrap(),
            (_, Some(value), _) => write!(text, " = {value}").unwrap(),
            (.., Some(value)) => write!(text, " = {value:?}").unwrap(),
            _ => text.push_str(" = float"),
        }
    }
    text.trim_start_matches(" : ").to_owned()
}

fn describe_def(index: &Index<'_>, body: &BodyInfo, def: &Def) -> String {
    match def {
        Def::Unknown => "?".to_owned(),
        Def::Local(id) => {
            let local = body.local(*id);
            let captured = if local.captured { "captured " } else { "" };
            let kind = match local.kind {
                LocalKind::Param(place) => format!("param {place}"),
                LocalKind::Result(place) => format!("result {place}"),
                other => format!("{other:?}").to_lowercase(),
            };
            format!("{captured}{kind}")
        }
        Def::Global(id) => {
            let object = index.object(*id);
            let name = QualifiedName {
                path: index.package(id.package).path,
                receiver: None,
                name: object.name,
            };
            let kind = match object.kind {
                ObjectKind::Var => "var",
                ObjectKind::Const => "const",
                ObjectKind::Type => "type",
                ObjectKind::Func(_) => "func",
            };
            format!("{kind} {name}")
        }
        Def::Field(selection) => format!("field {}", through(selection)),
        Def::Method(func, selection) => {
            assert_eq!(index.func(*func).name, selection.name);
            format!("method {}", through(selection))
        }
        Def::InterfaceMethod(selection) => format!("interface method {}", through(selection)),
        Def::Package(path) => format!("package {path}"),
        Def::Builtin(builtin) => format!("builtin {builtin:?}").to_lowercase(),
        Def::PredeclaredType(_) => "predeclared".to_owned(),
        Def::Nil => "nil".to_owned(),
        Def::PredeclaredConst(name) => name.to_string(),
        Def::Blank => "blank".to_owned(),
        Def::External(name) => format!("external {name}"),
    }
}

fn through(selection: &straggler::index::Selection) -> String {
    let mut text = match selection.qualified() {
        Some(name) => name.to_string(),
        None => selection.name.to_string(),
    };
    if !selection.path.is_empty() {
        let path: Vec<_> = selection.path.iter().map(|name| name.as_str()).collect();
        write!(text, " through {}", path.join(".")).unwrap();
    }
    text
}

fn describe_callee(index: &Index<'_>, callee: &Callee) -> String {
    match callee {
        Callee::Func(_) | Callee::InterfaceMethod(_) | Callee::External(_) => {
            match callee.qualified(index) {
                Some(name) => format!("calls {name}"),
                None => "calls a method without a name".to_owned(),
            }
        }
        Callee::Builtin(builtin) => format!("builtin {builtin:?}").to_lowercase(),
        Callee::Conversion(_) => "converts".to_owned(),
        Callee::Literal(_) => "calls a literal".to_owned(),
        Callee::Value(_) => "calls a value".to_owned(),
        Callee::Unknown { name: Some(name) } => format!("calls unknown {name}"),
        Callee::Unknown { name: None } => "?".to_owned(),
    }
}

#[test]
fn locals_shadow_and_scopes_end() {
    check(
        r#"
package m

var x = "package"

func f(a int, b ...string) (err error) {
	_ = x           //= x -> var m.x : string
	_ = b           //= b -> param 1 : []string
	x := 1
	_ = x           //= x -> var : int
	if x := true; x { //= x -> var : bool
		x := 2.5
		_ = x       //= x -> var : float64
	} else if y := x; y {
		_ = y       //= y -> var : bool
	}
	_ = x           //= x -> var : int
	for x := range 3 {
		_ = x       //= x -> loopvar : int
	}
	switch x := any(x).(type) {
	case string, int:
		_ = x       //= x -> typeswitch : any
	case *T:
		_ = x.n     //= x -> typeswitch : *m.T ;; x.n -> field (m.T).n : int
	}
	c := make(chan T, 4)
	select {
	case v, ok := <-c:
		_, _ = v, ok //= v -> var : m.T ;; ok -> var : bool
	}
	y, x := x, 3    //= y -> captured var : int ;; x -> var : int
	_ = func() {
		_ = y       //= y -> captured var : int
	}
	return err      //= err -> result 0 : error
}

type T struct{ n int }
"#,
    );
}

#[test]
fn selectors_are_promoted() {
    check(
        r#"
package m

type Base struct{ id int }

func (b *Base) Close() error { return nil }

type I interface{ Wait(chan<- int) bool }
type J interface {
	I
	Stop()
}

type Mid struct {
	*Base
	J
}
type Outer struct {
	Mid
	id string
}
type Left struct{ Base }
type Both struct {
	Left
	Mid
}

func f(o *Outer, b Both) {
	_ = o.id            //= o.id -> field (m.Outer).id : string
	_ = o.Mid.id        //= o.Mid.id -> field (m.Base).id through Base : int
	o.Close()           //= o.Close -> method (m.Base).Close through Mid.Base : func() error ;; o.Close() -> calls (m.Base).Close : error
	o.Wait(nil)         //= o.Wait -> interface method (m.I).Wait through Mid.J : func(chan<- int) bool
	b.Close()           //= b.Close -> ?
	g := (*Base).Close  //= (*Base).Close -> method (m.Base).Close : func(*m.Base) error
	g(nil)              //= g(nil) -> calls a value : error
	o.Mid.Close()       //= o.Mid.Close -> method (m.Base).Close through Base : func() error
	o.Stop()            //= o.Stop -> interface method (m.J).Stop through Mid.J : func()
	h := o.Base.Close
	_ = h               //= h -> var : func() error
}
"#,
    );
}

#[test]
fn constants_have_values() {
    check(
        r#"
package m

type Size uint8

const (
	A = iota * 10
	B
	_
	D
)

const (
	KB Size = 1 << (iota + 4)
	MB
)

const Name, Twice = "a\tb" + `c`, 2 * len(Name)

const Big = 1 << 70 >> 68

var table [D + 2]int

func f(n int) {
	_ = B                   //= B -> const m.B : untyped int = 10
	_ = D                   //= D -> const m.D : untyped int = 30
	_ = MB                  //= MB -> const m.MB : m.Size = 32
	_ = ^Size(1)            //= ^Size(1) -> m.Size = 254
	_ = Size(255) + 1       //= Size(255) + 1 -> m.Size
	_ = Name                //= Name -> const m.Name : untyped string = "a\tbc"
	_ = Twice               //= Twice -> const m.Twice : int = 8
	_ = Big                 //= Big -> const m.Big : untyped int = 4
	_ = make(chan int, 1e3) //= 1e3 -> untyped float = 1000
	_ = len(table)          //= len(table) -> builtin len : int = 32
	_ = 'a' + 1             //= 'a' + 1 -> untyped rune = 98
	_ = 7 / 2 * 2.0         //= 7 / 2 -> untyped int = 3
	_ = 1 << n              //= 1 << n -> untyped int
	_ = n > 3               //= n > 3 -> untyped bool
	_ = D > 3 && !false     //= D > 3 && !false -> untyped bool = true
	_ = [...]string{4: "x", "y"} //= [...]string{4: "x", "y"} -> [6]string
	_ = 1 / 0               //= 1 / 0 -> untyped int
	const local = iota + 5
	_ = local               //= local -> const : untyped int = 5
}
"#,
    );
}

#[test]
fn type_arguments_are_inferred() {
    check(
        r#"
package m

type Number interface{ ~int | ~float64 }

type List[T any] struct {
	head *node[T]
	Items []T
}

type node[E any] struct {
	value E
	next  *node[E]
}

func (l *List[E]) Each(visit func(E) bool) {
	for n := l.head; n != nil; n = n.next { //= n -> loopvar : *m.node[E]
		visit(n.value) //= n.value -> field (m.node).value : E
	}
}

type Set[K comparable] = map[K]struct{}

func Map[T, U any](in []T, convert func(T) U) []U { return nil }
func First[S ~[]E, E any](s S) (E, bool)         { var zero E; return zero, false }
func Sum[N Number](values ...N) N                 { return values[0] }
func Send[C ~chan E, E any](c C, e E)             { c <- e }
func New[T any, P interface{ *T; Reset() }]() P   { return P(new(T)) }

type Thing struct{}

func (*Thing) Reset() {}

type Names []string

func use(names Names, l List[Thing]) {
	lengths := Map(names, func(s string) int { return len(s) })
	_ = lengths                     //= lengths -> var : []int
	first, ok := First(names)
	_, _ = first, ok                //= first -> var : string ;; ok -> var : bool
	_ = Sum(1, 2.5)                 //= Sum(1, 2.5) -> calls m.Sum : float64
	_ = Sum[int]                    //= Sum[int] -> func(...int) int
	l.Each(nil)                     //= l.Each -> method (m.List).Each : func(func(m.Thing) bool)
	_ = l.Items[0]                  //= l.Items[0] -> m.Thing
	_ = l.head.next.value           //= l.head.next.value -> field (m.node).value : m.Thing
	t := New[Thing]()
	_ = t                           //= t -> var : *m.Thing
	var s Set[string]
	_ = s                           //= s -> var : map[string]struct{}
	for x := range s {
		_ = x                       //= x -> loopvar : string
	}
}
"#,
    );
}

#[test]
fn ranges_and_second_results() {
    check(
        r#"
package m

func f(m map[string]chan int, p *[3]bool, seq func(yield func(int, error) bool), x any, u uint8) {
	for k, v := range m {
		_, _ = k, v         //= k -> loopvar : string ;; v -> loopvar : chan int
	}
	for i, b := range p {
		_, _ = i, b         //= i -> loopvar : int ;; b -> loopvar : bool
	}
	for n, err := range seq {
		_, _ = n, err       //= n -> loopvar : int ;; err -> loopvar : error
	}
	for i := range u {
		_ = i               //= i -> loopvar : uint8
	}
	for i, r := range "é" {
		_, _ = i, r         //= i -> loopvar : int ;; r -> loopvar : int32
	}
	c, present := m["x"]
	v, open := <-c
	s, isString := x.(string)
	_, _, _ = c, v, s       //= c -> var : chan int ;; v -> var : int ;; s -> var : string
	_ = present && open && isString //= open -> var : bool
	y := new(int)
	_ = *y                  //= *y -> int
	func() { go f(nil, p, nil, nil, 0) }() //= func() { go f(nil, p, nil, nil, 0) }() -> calls a literal : ()
	_ = p                   //= p -> captured param 1 : *[3]bool
}
"#,
    );
}

#[test]
fn missing_packages_have_names_and_nothing_else() {
    check(
        r#"
package m

import (
	"fmt"
	. "example.com/dotted"
	renamed "example.com/other"
	"example.com/go-client/v2"
	"gopkg.in/yaml.v3"
	"m/here"
)

type Wrapper struct {
	*renamed.Client
	here.Thing
}

func f(w Wrapper, c *renamed.Client, l renamed.List[int]) {
	fmt.Println()           //= fmt.Println() -> calls fmt.Println
	renamed.Dial(w)         //= renamed.Dial(w) -> calls example.com/other.Dial
	client.New()            //= client -> package example.com/go-client/v2
	yaml.Marshal(nil)       //= yaml.Marshal(nil) -> calls gopkg.in/yaml.v3.Marshal
	Matcher()               //= Matcher() -> calls example.com/dotted.Matcher
	c.Do()                  //= c.Do() -> calls (example.com/other.Client).Do
	c.Field.Do()            //= c.Field.Do() -> calls unknown Do
	w.Do()                  //= w.Do() -> calls (example.com/other.Client).Do
	w.Run()                 //= w.Run() -> calls (m/here.Thing).Run : string
	w.Far()                 //= w.Far() -> calls (example.com/other.Client).Far
	_ = c                   //= c -> param 1 : *example.com/other.Client
	_ = l                   //= l -> param 2 : example.com/other.List[int]
	x := renamed.Value
	x.Close()               //= x.Close() -> calls unknown Close
	_ = here.Thing{Deep: here.Deep{}}.Far //= here.Thing{Deep: here.Deep{}}.Far -> field (m/here.Deep).Far through Deep : int
	undeclared()            //= undeclared() -> calls unknown undeclared
	fmt := w
	fmt.Run()               //= fmt.Run() -> calls (m/here.Thing).Run : string
}
//- here/here.go
package here

type Thing struct{ Deep }
type Deep struct{ Far int }

func (Thing) Run() string { return "" }
"#
        .replacen("\n", "//- m.go\n", 1)
        .as_str(),
    );
}

#[test]
fn the_catalog_stands_in_for_missing_packages() {
    check(
        r#"
package m

import (
	"github.com/gin-gonic/gin"
	"google.golang.org/grpc"
)

func f(c *gin.Context) {
	_ = c.Request           //= c.Request -> external (github.com/gin-gonic/gin.Context).Request
	c.Request.Context()     //= c.Request.Context() -> calls (net/http.Request).Context : context.Context
	conn, err := grpc.Dial("")
	_ = err                 //= err -> var : error
	conn.Close()            //= conn.Close() -> calls (google.golang.org/grpc.ClientConn).Close
}
"#,
    );
}

#[test]
fn declarations_that_lead_to_themselves_are_unknown() {
    check(
        r#"
package m

var a, b = b, a
const c = d
const d = c + 1
type T U
type U T
type Alias = Alias
type Loop struct{ Loop }
type I interface{ I }

func f(t T, l Loop, i I, x Alias) {
	_ = a       //= a -> var m.a
	_ = d       //= d -> const m.d
	t.Method()  //= t.Method() -> calls unknown Method
	l.field()   //= l.field() -> calls unknown field
	i.method()  //= i.method() -> calls unknown method
	_ = x       //= x -> param 3
}
"#,
    );
}

#[test]
fn tests_see_what_their_view_declares() {
    check(
        r#"//- p/p.go
package p

type T struct{ n int }

//- p/export_test.go
package p

func (t T) N() int { return t.n }

func Helper() T { return T{} }

//- p/p_test.go
package p_test

import "m/p"

func check() {
	p.Helper()        //= p.Helper() -> calls m/p.Helper : m/p.T
	_ = p.T{}.N()     //= p.T{}.N() -> calls (m/p.T).N : int
	_ = p.T{}.n       //= p.T{}.n -> ?
}

//- q/q_test.go
package q

import "m/p"

func check() {
	p.Helper()        //= p.Helper() -> calls unknown Helper
}
"#,
    );
}

#[test]
fn depth_is_bounded() {
    let nested = |open: &str, close: &str, times: usize| {
        format!("{}1{}", open.repeat(times), close.repeat(times))
    };
    let mut constants = String::from("const c0 = 1\n");
    for at in 1..5000 {
        writeln!(constants, "const c{at} = c{} + c{}", at - 1, at - 1).unwrap();
    }
    let text = format!(
        "package m\n\n{constants}\nvar x T\ntype T struct{{ next *T; f func() T }}\n\nfunc f() {{\n\
         \t_ = {}\n\t_ = {}\n\t_ = {}\n\
         \t_ = c4999\t//= c4999 -> const m.c4999\n\
         \t_ = c3\t//= c3 -> const m.c3 : untyped int = 8\n\
         \t_ = x{}\t//= x -> var m.x : m.T\n}}\n",
        nested("(", ")", 5000),
        nested("g(", ")", 5000),
        nested("func() { _ = ", " }", 2000),
        ".next".repeat(5000),
    );
    check(&text);
}

#[test]
fn method_sets_are_compared_with_three_values() {
    let snapshot = snapshot(
        r#"//- m.go
package m

import "example.com/away"

type Stopper interface{ Stop() error }
type Both interface {
	Stopper
	Start(int)
}
type Far interface{ away.Runner }

type Value struct{}
func (Value) Stop() error { return nil }
type Pointer struct{}
func (*Pointer) Stop() error { return nil }
func (*Pointer) Start(int) {}
type Wrong struct{}
func (Wrong) Stop() {}
type Embeds struct{ *Pointer }
type Holds struct{ Pointer }
type Away struct{ away.Thing }
type Field struct{ Stop func() error }
"#,
    );
    with_index(&snapshot, |index, _| {
        let package = index.package(snapshot.packages[0].id);
        let ty = |name: &str| {
            let object = package.lookup(Symbol::new(name.trim_start_matches('*')));
            let ty = index.object_type(object.expect("the text declares it").id);
            if name.starts_with('*') { ty.pointer() } else { ty }
        };
        let cases = [
            ("Value", "Stopper", Some(true)),
            ("*Value", "Stopper", Some(true)),
            ("Value", "Both", Some(false)),
            ("Pointer", "Stopper", Some(false)),
            ("*Pointer", "Both", Some(true)),
            ("Embeds", "Both", Some(true)),
            ("Holds", "Both", Some(false)),
            ("*Holds", "Both", Some(true)),
            ("Wrong", "Stopper", Some(false)),
            ("Field", "Stopper", Some(false)),
            ("Both", "Stopper", Some(true)),
            ("Stopper", "Both", Some(false)),
            ("Away", "Stopper", None),
            ("Value", "Far", None),
        ];
        for (name, interface, expected) in cases {
            let actual = index.implements(&ty(name), &ty(interface));
            assert_eq!(actual, expected, "{name} implements {interface}");
        }
    });
}

#[test]
fn broken_text_has_an_index() {
    let whole = include_str!("../oracle/types/main.go");
    let bytes = whole.len();
    let mut known = 0;
    for at in 0..100 {
        // Pieces of different length are cut out at different places, and one is doubled.
        let start = bytes * at / 100;
        let end = (start + 1 + at * 7 % 90).min(bytes);
        let doubled = &whole[start..end];
        let text = match at % 3 {
            0 => format!("{}{}", &whole[..start], &whole[end..]),
            1 => format!("{}{doubled}{}", &whole[..end], &whole[end..]),
            _ => whole[..end].to_owned(),
        };
        let snapshot = snapshot(&format!("//- m.go\n{}", text.replace("//- ", "// ")));
        with_index(&snapshot, |index, files| {
            for package in &snapshot.packages {
                for &id in &package.files {
                    for body in bodies(index, package.id, id) {
                        let exprs = (0..files[id.0 as usize].expr_count() as u32).map(ExprId);
                        known += exprs.filter(|&expr| !body.type_of(expr).is_unknown()).count();
                    }
                }
            }
        });
    }
    assert!(known > 10_000, "only {known} expressions have types");
}
