// Command catalog compares claims about Go packages with go/types.
//
// It reads one claim per line, fields separated by tabs: where the claim stands, a verb, and what
// the verb needs. It prints one line for each claim that is false, and nothing else, so that an
// empty output means that all are true.
//
// Packages are found by `go list` in the working directory and checked from their sources without
// function bodies, so nothing is compiled.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

func main() {
	claims := readClaims(os.Stdin)
	program := load(claims)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, claim := range claims {
		if err := program.check(claim); err != nil {
			fmt.Fprintf(out, "%s: %v\n", claim.where, err)
		}
	}
}

type claim struct {
	where string
	verb  string
	args  []string
}

func readClaims(in io.Reader) []claim {
	var claims []claim
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		fields := strings.Split(scanner.Text(), "\t")
		claims = append(claims, claim{where: fields[0], verb: fields[1], args: fields[2:]})
	}
	return claims
}

// name is a qualified name as the catalog writes it.
type name struct {
	pkg, receiver, name string
	pointer             bool
}

func parseName(text string) name {
	if rest, ok := strings.CutPrefix(text, "("); ok {
		receiver, method, _ := strings.Cut(rest, ").")
		receiver, pointer := strings.CutPrefix(receiver, "*")
		dot := strings.LastIndexByte(receiver, '.')
		return name{receiver[:dot], receiver[dot+1:], method, pointer}
	}
	dot := strings.LastIndexByte(text, '.')
	return name{text[:dot], "", text[dot+1:], false}
}

type program struct {
	fset     *token.FileSet
	packages map[string]*types.Package
	context  *types.Interface
}

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Error      *struct{ Err string }
}

func load(claims []claim) *program {
	wanted := map[string]bool{"context": true}
	for _, claim := range claims {
		if claim.verb == "package" {
			wanted[claim.args[0]] = true
			continue
		}
		wanted[parseName(claim.args[0]).pkg] = true
		if claim.verb == "prepend" || claim.verb == "variant" {
			wanted[parseName(claim.args[1]).pkg] = true
		}
	}
	args := []string{"list", "-e", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Error"}
	var paths []string
	for path := range wanted {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	cmd := exec.Command("go", append(args, paths...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "go list:", err)
		os.Exit(1)
	}
	p := &program{fset: token.NewFileSet(), packages: map[string]*types.Package{"unsafe": types.Unsafe}}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var pkg listed
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "go list:", err)
			os.Exit(1)
		}
		if pkg.ImportPath != "unsafe" && pkg.Error == nil {
			p.packages[pkg.ImportPath] = p.checkPackage(pkg)
		}
	}
	p.context = p.packages["context"].Scope().Lookup("Context").Type().Underlying().(*types.Interface)
	return p
}

func (p *program) checkPackage(pkg listed) *types.Package {
	var files []*ast.File
	for _, file := range pkg.GoFiles {
		parsed, err := parser.ParseFile(p.fset, filepath.Join(pkg.Dir, file), nil, parser.SkipObjectResolution)
		if err == nil {
			files = append(files, parsed)
		}
	}
	config := types.Config{
		IgnoreFuncBodies: true,
		FakeImportC:      true,
		Importer:         importer{p, pkg.ImportMap},
		Sizes:            types.SizesFor("gc", "amd64"),
		Error:            func(error) {},
	}
	checked, _ := config.Check(pkg.ImportPath, p.fset, files, nil)
	return checked
}

type importer struct {
	program   *program
	importMap map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if mapped, ok := i.importMap[path]; ok {
		path = mapped
	}
	if pkg := i.program.packages[path]; pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("package %s is not there", path)
}

func (p *program) check(claim claim) error {
	if claim.verb == "package" {
		if p.packages[claim.args[0]] == nil {
			return fmt.Errorf("there is no package %s", claim.args[0])
		}
		return nil
	}
	subject := parseName(claim.args[0])
	if claim.verb == "except" {
		return p.checkExcept(subject)
	}
	obj, err := p.lookup(subject)
	if err != nil {
		return err
	}
	args := claim.args[1:]
	switch claim.verb {
	case "func":
		if _, ok := obj.(*types.Func); !ok {
			if v, ok := obj.(*types.Var); !ok || !isFunc(v.Type()) {
				return fmt.Errorf("%s is not a function", claim.args[0])
			}
		}
		return checkStar(subject, obj)
	case "type":
		if _, ok := obj.(*types.TypeName); !ok {
			return fmt.Errorf("%s is not a type", claim.args[0])
		}
	case "var":
		if v, ok := obj.(*types.Var); !ok || v.IsField() {
			return fmt.Errorf("%s is not a variable", claim.args[0])
		}
	case "field":
		if v, ok := obj.(*types.Var); !ok || !v.IsField() {
			return fmt.Errorf("%s is not a field", claim.args[0])
		}
	case "variant":
		return p.checkVariant(args[0])
	case "prepend":
		return p.checkPrepend(claim.args[0], args[0])
	case "place":
		return p.checkPlace(subject, obj, args[0], args[1:])
	case "results":
		return checkTypes(claim.args[0], "results", resultsOf(obj), args)
	case "params":
		return checkTypes(claim.args[0], "parameters", paramsOf(obj), args)
	case "methods":
		for _, method := range args {
			if found, _, _ := types.LookupFieldOrMethod(obj.Type(), true, obj.Pkg(), method); found == nil {
				return fmt.Errorf("%s has no method %s", claim.args[0], method)
			}
		}
	default:
		return fmt.Errorf("unknown verb %q", claim.verb)
	}
	return nil
}

func (p *program) lookup(n name) (types.Object, error) {
	pkg := p.packages[n.pkg]
	if pkg == nil {
		return nil, fmt.Errorf("there is no package %s", n.pkg)
	}
	if n.receiver == "" {
		if obj := pkg.Scope().Lookup(n.name); obj != nil {
			return obj, nil
		}
		return nil, fmt.Errorf("%s declares no %s", n.pkg, n.name)
	}
	receiver := pkg.Scope().Lookup(n.receiver)
	if receiver == nil {
		return nil, fmt.Errorf("%s declares no %s", n.pkg, n.receiver)
	}
	obj, _, _ := types.LookupFieldOrMethod(receiver.Type(), true, pkg, n.name)
	if obj == nil {
		return nil, fmt.Errorf("%s.%s has no %s", n.pkg, n.receiver, n.name)
	}
	return obj, nil
}

// checkStar compares the star of the name with the method set: `(*T).M` for methods that only
// pointers have, `(T).M` for those of values and interfaces.
func checkStar(n name, obj types.Object) error {
	if n.receiver == "" {
		return nil
	}
	receiver := obj.Pkg().Scope().Lookup(n.receiver)
	if receiver == nil || obj.Pkg().Path() != n.pkg {
		return nil
	}
	if _, path, _ := types.LookupFieldOrMethod(receiver.Type(), true, obj.Pkg(), n.name); len(path) > 1 {
		return nil // promoted: both forms are in use
	}
	inValue := types.NewMethodSet(receiver.Type()).Lookup(obj.Pkg(), n.name) != nil
	if n.pointer == inValue {
		return fmt.Errorf("the star of (%s.%s).%s is wrong", n.pkg, n.receiver, n.name)
	}
	return nil
}

// checkExcept looks a name up that stands as `Func` or as `Type.Method`.
func (p *program) checkExcept(n name) error {
	if method, ok := strings.CutPrefix(n.receiver, "?"); ok {
		n.receiver = method
	}
	_, err := p.lookup(n)
	return err
}

func (p *program) checkVariant(variant string) error {
	obj, err := p.lookup(parseName(variant))
	if err != nil {
		return err
	}
	for _, param := range paramsOf(obj) {
		if types.Implements(param, p.context) {
			return nil
		}
	}
	return fmt.Errorf("%s takes no context", variant)
}

func (p *program) checkPrepend(from, to string) error {
	before, err := p.lookup(parseName(from))
	if err != nil {
		return err
	}
	after, err := p.lookup(parseName(to))
	if err != nil {
		return err
	}
	params := paramsOf(after)
	if len(params) == 0 || !types.Implements(params[0], p.context) {
		return fmt.Errorf("the first parameter of %s is no context", to)
	}
	if !identical(paramsOf(before), params[1:]) || !identical(resultsOf(before), resultsOf(after)) {
		return fmt.Errorf("%s is not %s with a context before its arguments", to, from)
	}
	return nil
}

func identical(a, b []types.Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !types.Identical(a[i], b[i]) {
			return false
		}
	}
	return true
}

// checkPlace checks that the place is there, and what is asked of it: `context`, `request`,
// `func`, `chan`, `callable` (a function, or an interface with a method), `duration`, `any`, or
// `ends` with methods, of which `()` is a call and `receive` a receive.
func (p *program) checkPlace(n name, obj types.Object, place string, wants []string) error {
	t, err := p.typeAt(n, obj, place)
	if err != nil {
		return err
	}
	wrong := func(what string) error {
		return fmt.Errorf("%s of %s is %s, not %s", place, obj.Name(), t, what)
	}
	switch wants[0] {
	case "any":
	case "context":
		if !types.Implements(t, p.context) {
			return wrong("a context")
		}
	case "request":
		if !strings.HasSuffix(t.String(), "http.Request") {
			return wrong("a request")
		}
	case "func":
		if !isFunc(t) {
			return wrong("a function")
		}
	case "chan":
		if _, ok := t.Underlying().(*types.Chan); !ok {
			return wrong("a channel")
		}
	case "duration":
		if t.String() != "time.Duration" {
			return wrong("a duration")
		}
	case "callable":
		if s, ok := t.Underlying().(*types.Slice); ok {
			t = s.Elem()
		}
		if _, ok := t.Underlying().(*types.Interface); !ok && !isFunc(t) {
			return wrong("something to call")
		}
	case "ends":
		for _, end := range wants[1:] {
			switch end {
			case "()":
				if !isFunc(t) {
					return wrong("a function")
				}
			case "receive":
				channel, _, _ := types.LookupFieldOrMethod(t, true, obj.Pkg(), "C")
				if _, ok := t.Underlying().(*types.Chan); !ok && channel == nil {
					return wrong("a channel or timer")
				}
			default:
				pkg := obj.Pkg()
				if named, ok := types.Unalias(deref(t)).(*types.Named); ok && named.Obj().Pkg() != nil {
					pkg = named.Obj().Pkg()
				}
				if method, _, _ := types.LookupFieldOrMethod(t, true, pkg, end); method == nil {
					return fmt.Errorf("%s has no method %s", t, end)
				}
			}
		}
	default:
		return fmt.Errorf("unknown wish %q", wants[0])
	}
	return nil
}

func (p *program) typeAt(n name, obj types.Object, place string) (types.Type, error) {
	base, field, hasField := strings.Cut(place, ".")
	kind, index, _ := strings.Cut(base, ":")
	var t types.Type
	switch kind {
	case "receiver":
		receiver, err := p.lookup(name{pkg: n.pkg, name: n.receiver})
		if err != nil {
			return nil, err
		}
		t = receiver.Type()
	case "param", "result":
		list := paramsOf(obj)
		if kind == "result" {
			list = resultsOf(obj)
		}
		at, err := strconv.Atoi(index)
		if err != nil || at >= len(list) {
			return nil, fmt.Errorf("%s has no %s", obj.Name(), place)
		}
		t = list[at]
	default:
		return nil, fmt.Errorf("%q is not a place", place)
	}
	if !hasField {
		return t, nil
	}
	found, _, _ := types.LookupFieldOrMethod(t, true, obj.Pkg(), field)
	if found == nil {
		return nil, fmt.Errorf("%s has no field %s", t, field)
	}
	return found.Type(), nil
}

// checkTypes compares types with patterns: `_` is any type, `func` any function, `...` as the last
// one any further types, and type arguments are left out.
func checkTypes(function, what string, have []types.Type, want []string) error {
	wrong := func() error {
		var texts []string
		for _, t := range have {
			texts = append(texts, types.TypeString(t, nil))
		}
		return fmt.Errorf("the %s of %s are (%s)", what, function, strings.Join(texts, ", "))
	}
	if n := len(want); n > 0 && want[n-1] == "..." {
		want = want[:n-1]
		have = have[:min(len(want), len(have))]
	}
	if len(have) != len(want) {
		return wrong()
	}
	for i, t := range have {
		if !fits(t, want[i]) {
			return wrong()
		}
	}
	return nil
}

func fits(t types.Type, pattern string) bool {
	if pattern == "_" {
		return true
	}
	if inner, ok := strings.CutPrefix(pattern, "*"); ok {
		pointer, ok := t.(*types.Pointer)
		return ok && fits(pointer.Elem(), inner)
	}
	for _, prefix := range []string{"[]", "..."} {
		if inner, ok := strings.CutPrefix(pattern, prefix); ok {
			slice, ok := t.(*types.Slice)
			return ok && fits(slice.Elem(), inner)
		}
	}
	if pattern == "func" {
		return isFunc(t)
	}
	text := strings.ReplaceAll(types.TypeString(t, nil), "interface{}", "any")
	if named, ok := t.(*types.Named); ok && named.TypeArgs().Len() > 0 {
		text, _, _ = strings.Cut(text, "[")
	}
	return text == pattern
}

func paramsOf(obj types.Object) []types.Type {
	signature, ok := obj.Type().Underlying().(*types.Signature)
	if !ok {
		return nil
	}
	return typesOf(signature.Params())
}

func resultsOf(obj types.Object) []types.Type {
	signature, ok := obj.Type().Underlying().(*types.Signature)
	if !ok {
		return []types.Type{obj.Type()}
	}
	return typesOf(signature.Results())
}

func typesOf(tuple *types.Tuple) []types.Type {
	var all []types.Type
	for v := range tuple.Variables() {
		all = append(all, v.Type())
	}
	return all
}

func isFunc(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

func deref(t types.Type) types.Type {
	if pointer, ok := t.(*types.Pointer); ok {
		return pointer.Elem()
	}
	return t
}
