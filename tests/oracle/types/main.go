// Command types prints what go/types says about packages: for every identifier, selector and call
// the object that it denotes, and for every expression whose type matters to concurrency its type.
// It reads all dependencies from source, as straggler does.
//
// usage: cd MODULE && types IMPORT_PATH...
//
// The output is one record a line, fields separated by tabs:
//
//	package  path
//	file     absolute path
//	name     start  end  category  object      an identifier or selector
//	call     start  end  category  object
//	type     start  end  types     type
//
// An object is "kind name file offset" of its declaration, "kind name" if it is predeclared.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
}

var (
	fset     = token.NewFileSet()
	packages = map[string]*types.Package{"unsafe": types.Unsafe}
	out      = bufio.NewWriter(os.Stdout)
)

func main() {
	defer out.Flush()
	wanted := map[string]bool{}
	for _, path := range os.Args[1:] {
		wanted[path] = true
	}
	args := append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap"}, os.Args[1:]...)
	command := exec.Command("go", args...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	check(err)
	for decoder := json.NewDecoder(bytes.NewReader(output)); decoder.More(); {
		var pkg listed
		check(decoder.Decode(&pkg))
		if pkg.ImportPath != "unsafe" {
			load(pkg, wanted[pkg.ImportPath])
		}
	}
}

type importMap map[string]string

func (m importMap) Import(path string) (*types.Package, error) {
	if mapped, ok := m[path]; ok {
		path = mapped
	}
	if pkg, ok := packages[path]; ok {
		return pkg, nil
	}
	return nil, fmt.Errorf("%s was not listed", path)
}

func load(pkg listed, wanted bool) {
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		check(err)
		files = append(files, file)
	}
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Uses:       map[*ast.Ident]types.Object{},
		Defs:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
		Instances:  map[*ast.Ident]types.Instance{},
	}
	config := types.Config{
		Importer:         importMap(pkg.ImportMap),
		IgnoreFuncBodies: !wanted,
		Sizes:            types.SizesFor("gc", "amd64"),
		Error:            func(err error) { fmt.Fprintln(os.Stderr, err) },
	}
	checked, _ := config.Check(pkg.ImportPath, fset, files, info)
	packages[pkg.ImportPath] = checked
	if !wanted {
		return
	}
	fmt.Fprintf(out, "package\t%s\n", pkg.ImportPath)
	for _, file := range files {
		fmt.Fprintf(out, "file\t%s\n", fset.Position(file.Pos()).Filename)
		printer := printer{pkg: checked, info: info}
		printer.file(file)
	}
}

type printer struct {
	pkg  *types.Package
	info *types.Info
}

func (p *printer) file(file *ast.File) {
	selected := map[*ast.Ident]bool{}
	for _, decl := range file.Decls {
		if general, ok := decl.(*ast.GenDecl); ok && general.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(decl, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.SelectorExpr:
				selected[node.Sel] = true
				if object := p.info.Uses[node.Sel]; object != nil {
					p.record("name", node, p.category(object, p.info.Selections[node], node.Sel), describe(object))
				}
			case *ast.Ident:
				object := p.info.Uses[node]
				if object == nil || selected[node] || node.Name == "_" {
					break
				}
				if _, label := object.(*types.Label); !label {
					p.record("name", node, p.category(object, nil, node), describe(object))
				}
			case *ast.CallExpr:
				p.call(node)
			}
			if expr, ok := node.(ast.Expr); ok {
				p.typed(expr)
			}
			return true
		})
	}
}

func (p *printer) record(what string, node ast.Node, category, text string) {
	fmt.Fprintf(out, "%s\t%d\t%d\t%s\t%s\n", what, offset(node.Pos()), offset(node.End()), category, text)
}

func (p *printer) call(call *ast.CallExpr) {
	fun := ast.Unparen(call.Fun)
	switch tv := p.info.Types[fun]; {
	case tv.IsType():
		p.record("call", call, "conversion", "conversion")
		return
	case tv.IsBuiltin():
		name := ""
		switch fun := fun.(type) {
		case *ast.Ident:
			name = fun.Name
		case *ast.SelectorExpr:
			name = fun.Sel.Name
		}
		p.record("call", call, "predeclared", "builtin "+name)
		return
	}
	switch index := fun.(type) {
	case *ast.IndexExpr:
		if p.instantiates(index.X) {
			fun = ast.Unparen(index.X)
		}
	case *ast.IndexListExpr:
		fun = ast.Unparen(index.X)
	}
	var name *ast.Ident
	var selection *types.Selection
	switch fun := fun.(type) {
	case *ast.FuncLit:
		p.record("call", call, "local", "literal")
		return
	case *ast.Ident:
		name = fun
	case *ast.SelectorExpr:
		name = fun.Sel
		selection = p.info.Selections[fun]
	}
	object, _ := p.info.Uses[name].(*types.Func)
	switch {
	case object == nil || selection != nil && selection.Kind() == types.MethodExpr:
		p.record("call", call, "value", "value")
	default:
		p.record("call", call, p.category(object, selection, name), describe(object))
	}
}

func (p *printer) instantiates(expr ast.Expr) bool {
	var name *ast.Ident
	switch expr := ast.Unparen(expr).(type) {
	case *ast.Ident:
		name = expr
	case *ast.SelectorExpr:
		name = expr.Sel
	}
	_, ok := p.info.Instances[name]
	return ok
}

func (p *printer) category(object types.Object, selection *types.Selection, name *ast.Ident) string {
	switch {
	case object.Pkg() == nil:
		return "predeclared"
	case p.generic(object, selection, name):
		return "generic"
	case selection != nil && len(selection.Index()) > 1:
		return "promoted"
	case object.Pkg() != p.pkg:
		return "cross-package"
	case object.Parent() != nil && object.Parent() != p.pkg.Scope() && object.Parent().Parent() != types.Universe:
		return "local"
	default:
		return "same-package"
	}
}

func (p *printer) generic(object types.Object, selection *types.Selection, name *ast.Ident) bool {
	if _, ok := p.info.Instances[name]; ok {
		return true
	}
	if selection == nil {
		return false
	}
	recv := selection.Recv()
	if pointer, ok := types.Unalias(recv).(*types.Pointer); ok {
		recv = pointer.Elem()
	}
	switch recv := types.Unalias(recv).(type) {
	case *types.Named:
		return recv.TypeArgs().Len() > 0
	case *types.TypeParam:
		return true
	}
	return false
}

func describe(object types.Object) string {
	kind := ""
	switch o := object.(type) {
	case *types.Var:
		object = o.Origin()
		kind = "var"
		if o.IsField() {
			kind = "field"
		}
	case *types.Const:
		kind = "const"
	case *types.TypeName:
		kind = "type"
	case *types.Func:
		object = o.Origin()
		kind = "func"
		if recv := o.Signature().Recv(); recv != nil {
			kind = "method"
			if types.IsInterface(recv.Type()) {
				kind = "interface-method"
			}
		}
	case *types.PkgName:
		return "package " + strings.TrimPrefix(o.Imported().Path(), "vendor/")
	case *types.Builtin:
		return "builtin " + o.Name()
	case *types.Nil:
		return "nil"
	}
	if !object.Pos().IsValid() {
		return kind + " " + object.Name()
	}
	return fmt.Sprintf("%s %s %s %d", kind, object.Name(), fset.Position(object.Pos()).Filename, offset(object.Pos()))
}

// typed prints types of the kinds that the explorer depends on.
func (p *printer) typed(expr ast.Expr) {
	tv, ok := p.info.Types[expr]
	if !ok || !tv.IsValue() {
		return
	}
	switch underlying := tv.Type.Underlying().(type) {
	case *types.Chan, *types.Signature, *types.Interface:
	case *types.Pointer:
		if _, ok := underlying.Elem().Underlying().(*types.Struct); !ok {
			return
		}
	default:
		return
	}
	p.record("type", expr, "types", typeString(tv.Type))
}

// typeString prints types without aliases, tags and names of parameters.
func typeString(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		if t.Kind() == types.Uint8 {
			return "uint8"
		}
		if t.Kind() == types.Int32 {
			return "int32"
		}
		return t.String()
	case *types.Named:
		name := t.Obj().Name()
		if pkg := t.Obj().Pkg(); pkg != nil && t.Obj().Parent() == pkg.Scope() {
			name = strings.TrimPrefix(pkg.Path(), "vendor/") + "." + name
		}
		if t.TypeArgs().Len() > 0 {
			var args []string
			for arg := range t.TypeArgs().Types() {
				args = append(args, typeString(arg))
			}
			name += "[" + strings.Join(args, ",") + "]"
		}
		return name
	case *types.Pointer:
		return "*" + typeString(t.Elem())
	case *types.Slice:
		return "[]" + typeString(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), typeString(t.Elem()))
	case *types.Map:
		return "map[" + typeString(t.Key()) + "]" + typeString(t.Elem())
	case *types.Chan:
		elem := typeString(t.Elem())
		switch t.Dir() {
		case types.SendOnly:
			return "chan<- " + elem
		case types.RecvOnly:
			return "<-chan " + elem
		}
		if strings.HasPrefix(elem, "<-") {
			elem = "(" + elem + ")"
		}
		return "chan " + elem
	case *types.Signature:
		return "func" + signature(t)
	case *types.Struct:
		var fields []string
		for field := range t.Fields() {
			text := typeString(field.Type())
			if !field.Embedded() {
				text = field.Name() + " " + text
			}
			fields = append(fields, text)
		}
		return "struct{" + strings.Join(fields, "; ") + "}"
	case *types.Interface:
		var elems []string
		methods := slices.Collect(t.ExplicitMethods())
		slices.SortFunc(methods, func(a, b *types.Func) int { return int(a.Pos() - b.Pos()) })
		for _, method := range methods {
			elems = append(elems, method.Name()+signature(method.Signature()))
		}
		for embedded := range t.EmbeddedTypes() {
			elems = append(elems, typeString(embedded))
		}
		if len(elems) == 0 {
			return "any"
		}
		return "interface{" + strings.Join(elems, "; ") + "}"
	case *types.Tuple:
		return tuple(t, false)
	case *types.TypeParam:
		return t.Obj().Name()
	case *types.Union:
		var terms []string
		for term := range t.Terms() {
			text := typeString(term.Type())
			if term.Tilde() {
				text = "~" + text
			}
			terms = append(terms, text)
		}
		return strings.Join(terms, " | ")
	}
	return t.String()
}

func signature(t *types.Signature) string {
	text := tuple(t.Params(), t.Variadic())
	switch t.Results().Len() {
	case 0:
	case 1:
		text += " " + typeString(t.Results().At(0).Type())
	default:
		text += " " + tuple(t.Results(), false)
	}
	return text
}

func tuple(t *types.Tuple, variadic bool) string {
	var elems []string
	for at := range t.Len() {
		ty := t.At(at).Type()
		slice, isSlice := ty.(*types.Slice)
		if variadic && at == t.Len()-1 && isSlice {
			elems = append(elems, "..."+typeString(slice.Elem()))
			continue
		}
		elems = append(elems, typeString(ty))
	}
	return "(" + strings.Join(elems, ", ") + ")"
}

func offset(pos token.Pos) int {
	return fset.Position(pos).Offset
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		out.Flush()
		os.Exit(1)
	}
}
