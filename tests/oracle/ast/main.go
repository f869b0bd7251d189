// Command ast says how go/parser reads Go files, in the words of straggler's own printer.
//
// It reads paths of files from its standard input. For each it prints a line: the path, and either
// "invalid" or three numbers: a hash of the printed tree, a checksum of the kinds and places of all
// nodes, and how many nodes there are. With -dump FILE it prints the tree and the nodes themselves.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "-dump" {
		p, err := read(os.Args[2], true)
		if err != nil {
			fmt.Println("invalid:", err)
			return
		}
		fmt.Print(p.out.String())
		sort.Strings(p.nodes)
		fmt.Println(strings.Join(p.nodes, "\n"))
		return
	}
	var paths []string
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		paths = append(paths, input.Text())
	}
	lines := make([]string, len(paths))
	next := make(chan int)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range next {
				lines[i] = line(paths[i])
			}
		}()
	}
	for i := range paths {
		next <- i
	}
	close(next)
	group.Wait()
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for _, line := range lines {
		fmt.Fprintln(output, line)
	}
}

func line(path string) string {
	p, err := read(path, false)
	if err != nil {
		return path + "\tinvalid"
	}
	return fmt.Sprintf("%s\t%d\t%d\t%d", path, hash(p.out.Bytes()), p.sum, p.count)
}

// hash is FNV-1a.
func hash(text []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range text {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	return h
}

type printer struct {
	set   *token.FileSet
	file  *token.File
	src   []byte
	out   bytes.Buffer
	depth int

	// What place has seen: how many nodes, the sum of their hashes, and themselves if keep is set.
	count   int
	sum     uint64
	keep    bool
	nodes   []string
	scratch []byte
	// Nodes are not counted while this is positive.
	muted int
	// Something that go/parser lets pass and the specification does not.
	invalid bool
}

func read(path string, keep bool) (*printer, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	p := &printer{set: set, file: set.File(file.FileStart), src: src, keep: keep}
	p.printf("package %s\n", file.Name.Name)
	for _, spec := range file.Imports {
		name := ""
		if spec.Name != nil {
			name = spec.Name.Name + " "
		}
		p.printf("import %s\"%s\"\n", name, spec.Path.Value[1:len(spec.Path.Value)-1])
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			p.node("func", decl)
			p.funcDecl(decl)
			p.printf("\n")
		case *ast.GenDecl:
			if decl.Tok != token.IMPORT {
				p.genDecl(decl, func(spec func()) {
					spec()
					p.printf("\n")
				})
			}
		}
	}
	if p.invalid {
		return nil, errors.New("a type switch that is none")
	}
	return p, nil
}

func (p *printer) printf(format string, args ...any) {
	fmt.Fprintf(&p.out, format, args...)
}

func (p *printer) text(from, to token.Pos) string {
	return string(p.src[p.file.Offset(from):p.file.Offset(to)])
}

func (p *printer) node(kind string, node ast.Node) {
	p.place(kind, node.Pos(), node.End())
}

func (p *printer) place(kind string, from, to token.Pos) {
	if p.muted > 0 {
		return
	}
	p.scratch = strconv.AppendInt(p.scratch[:0], int64(p.file.Offset(from)), 10)
	p.scratch = append(p.scratch, '-')
	p.scratch = strconv.AppendInt(p.scratch, int64(p.file.Offset(to)), 10)
	p.scratch = append(p.scratch, ' ')
	p.scratch = append(p.scratch, kind...)
	p.count++
	p.sum += hash(p.scratch)
	if p.keep {
		p.nodes = append(p.nodes, string(p.scratch))
	}
}

func (p *printer) line() {
	p.printf("\n%s", strings.Repeat("  ", p.depth))
}

func (p *printer) funcDecl(decl *ast.FuncDecl) {
	p.printf("func ")
	if decl.Recv != nil {
		p.params(decl.Recv)
		p.printf(" ")
	}
	p.printf("%s", decl.Name.Name)
	p.typeParams(decl.Type.TypeParams)
	p.printf(" ")
	p.signature(decl.Type)
	if decl.Body == nil {
		p.printf(" external")
		return
	}
	p.block(decl.Body)
}

func (p *printer) genDecl(decl *ast.GenDecl, each func(spec func())) {
	var repeated *ast.ValueSpec
	for iota, spec := range decl.Specs {
		from, to := spec.Pos(), spec.End()
		if !decl.Lparen.IsValid() {
			from = decl.Pos()
		}
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			p.place("type", from, to)
			each(func() {
				p.printf("type %s", spec.Name.Name)
				p.typeParams(spec.TypeParams)
				if spec.Assign.IsValid() {
					p.printf(" =")
				}
				p.printf(" ")
				p.expr(spec.Type)
			})
		case *ast.ValueSpec:
			p.place(decl.Tok.String(), from, to)
			each(func() {
				p.printf("%s", decl.Tok)
				values := spec
				if decl.Tok == token.CONST {
					p.printf(" iota=%d", iota)
					if spec.Type == nil && spec.Values == nil && repeated != nil {
						values = repeated
						p.muted++
						defer func() { p.muted-- }()
					} else {
						repeated = spec
					}
				}
				for _, name := range spec.Names {
					p.printf(" %s", name.Name)
				}
				if values.Type != nil {
					p.printf(" : ")
					p.expr(values.Type)
				}
				if len(values.Values) > 0 {
					p.printf(" =")
					p.exprs(values.Values)
				}
			})
		}
	}
}

func (p *printer) typeParams(list *ast.FieldList) {
	if list == nil {
		return
	}
	p.printf("[")
	comma := ""
	for _, field := range list.List {
		for i, name := range field.Names {
			p.printf("%s%s ", comma, name.Name)
			p.shared(i, func() { p.expr(field.Type) })
			comma = ", "
		}
	}
	p.printf("]")
}

// shared keeps what several names share from being counted more than once.
func (p *printer) shared(i int, print func()) {
	if i > 0 {
		p.muted++
		defer func() { p.muted-- }()
	}
	print()
}

func (p *printer) signature(typ *ast.FuncType) {
	p.params(typ.Params)
	if typ.Results != nil && len(typ.Results.List) > 0 {
		p.printf(" ")
		p.params(typ.Results)
	}
}

func (p *printer) params(list *ast.FieldList) {
	p.printf("(")
	comma := ""
	typ := func(typ ast.Expr) {
		if ellipsis, ok := typ.(*ast.Ellipsis); ok {
			p.printf("...")
			typ = ellipsis.Elt
		}
		p.expr(typ)
	}
	for _, field := range list.List {
		if len(field.Names) == 0 {
			p.printf("%s", comma)
			typ(field.Type)
			comma = ", "
		}
		for i, name := range field.Names {
			p.printf("%s%s ", comma, name.Name)
			p.shared(i, func() { typ(field.Type) })
			comma = ", "
		}
	}
	p.printf(")")
}

func (p *printer) exprs(list []ast.Expr) {
	for _, expr := range list {
		p.printf(" ")
		p.expr(expr)
	}
}

func (p *printer) list(head string, list ...ast.Expr) {
	p.printf("(%s", head)
	p.exprs(list)
	p.printf(")")
}

func (p *printer) optional(expr ast.Expr) {
	if expr == nil {
		p.printf("_")
		return
	}
	p.expr(expr)
}

func (p *printer) expr(expr ast.Expr) {
	switch expr := expr.(type) {
	case *ast.Ident:
		p.node("ident", expr)
		p.printf("%s", expr.Name)
	case *ast.BasicLit:
		p.node("basic", expr)
		p.printf("%s", p.text(expr.Pos(), expr.End()))
	case *ast.CompositeLit:
		p.node("lit", expr)
		p.printf("(lit ")
		p.optional(expr.Type)
		for _, elt := range expr.Elts {
			p.printf(" ")
			if pair, ok := elt.(*ast.KeyValueExpr); ok {
				p.expr(pair.Key)
				p.printf(":")
				elt = pair.Value
			}
			p.expr(elt)
		}
		p.printf(")")
	case *ast.FuncLit:
		p.node("funclit", expr)
		p.printf("(func ")
		p.signature(expr.Type)
		p.block(expr.Body)
		p.printf(")")
	case *ast.ParenExpr:
		p.node("paren", expr)
		p.list("paren", expr.X)
	case *ast.SelectorExpr:
		p.node("selector", expr)
		p.expr(expr.X)
		p.printf(".%s", expr.Sel.Name)
	case *ast.IndexExpr:
		p.node("index", expr)
		p.list("index", expr.X, expr.Index)
	case *ast.IndexListExpr:
		p.node("index", expr)
		p.list("index", append([]ast.Expr{expr.X}, expr.Indices...)...)
	case *ast.SliceExpr:
		p.node("slice", expr)
		p.printf("(slice ")
		p.expr(expr.X)
		for _, bound := range []ast.Expr{expr.Low, expr.High, expr.Max} {
			p.printf(" ")
			p.optional(bound)
		}
		p.printf(")")
	case *ast.TypeAssertExpr:
		p.node("assert", expr)
		if expr.Type == nil {
			p.invalid = true
			return
		}
		p.list("assert", expr.X, expr.Type)
	case *ast.CallExpr:
		p.node("call", expr)
		p.printf("(call ")
		p.expr(expr.Fun)
		p.exprs(expr.Args)
		if expr.Ellipsis.IsValid() {
			p.printf(" ...")
		}
		p.printf(")")
	case *ast.StarExpr:
		p.node("star", expr)
		p.list("*", expr.X)
	case *ast.UnaryExpr:
		p.node("unary", expr)
		p.list(expr.Op.String(), expr.X)
	case *ast.BinaryExpr:
		p.node("binary", expr)
		p.list(expr.Op.String(), expr.X, expr.Y)
	case *ast.ArrayType:
		p.node("array", expr)
		p.printf("[")
		if _, ok := expr.Len.(*ast.Ellipsis); ok {
			p.printf("...")
		} else if expr.Len != nil {
			p.expr(expr.Len)
		}
		p.printf("]")
		p.expr(expr.Elt)
	case *ast.MapType:
		p.node("map", expr)
		p.list("map", expr.Key, expr.Value)
	case *ast.ChanType:
		p.node("chan", expr)
		head := "chan"
		switch expr.Dir {
		case ast.SEND:
			head = "chan<-"
		case ast.RECV:
			head = "<-chan"
		}
		p.list(head, expr.Value)
	case *ast.FuncType:
		p.node("functype", expr)
		p.printf("(functype ")
		p.signature(expr)
		p.printf(")")
	case *ast.StructType:
		p.node("struct", expr)
		p.printf("(struct")
		for _, field := range expr.Fields.List {
			tag := ""
			if field.Tag != nil {
				tag = " " + p.text(field.Tag.Pos(), field.Tag.End())
			}
			if len(field.Names) == 0 {
				p.printf(" (")
				p.expr(field.Type)
				p.printf("%s)", tag)
			}
			for i, name := range field.Names {
				p.printf(" (%s ", name.Name)
				p.shared(i, func() { p.expr(field.Type) })
				p.printf("%s)", tag)
			}
		}
		p.printf(")")
	case *ast.InterfaceType:
		p.node("interface", expr)
		p.printf("(interface")
		for _, field := range expr.Methods.List {
			p.printf(" ")
			if len(field.Names) == 0 {
				p.expr(field.Type)
				continue
			}
			p.printf("(%s ", field.Names[0].Name)
			p.signature(field.Type.(*ast.FuncType))
			p.printf(")")
		}
		p.printf(")")
	default:
		p.node(fmt.Sprintf("%T", expr), expr)
		p.printf("?")
	}
}

func (p *printer) block(block *ast.BlockStmt) {
	p.node("block", block)
	p.depth++
	p.stmts(block.List)
	p.depth--
}

func (p *printer) stmts(list []ast.Stmt) {
	for _, stmt := range list {
		if _, ok := stmt.(*ast.EmptyStmt); !ok {
			p.line()
			p.stmt(stmt)
		}
	}
}

func (p *printer) body(list []ast.Stmt) {
	p.depth++
	p.stmts(list)
	p.depth--
}

func (p *printer) init(stmt ast.Stmt) {
	if stmt != nil {
		p.stmt(stmt)
		p.printf("; ")
	}
}

func (p *printer) simple(stmt ast.Stmt) {
	if stmt == nil {
		p.printf("_")
		return
	}
	p.stmt(stmt)
}

func (p *printer) stmt(stmt ast.Stmt) {
	switch stmt := stmt.(type) {
	case *ast.EmptyStmt:
		p.printf("empty")
	case *ast.ExprStmt:
		p.node("exprstmt", stmt)
		p.expr(stmt.X)
	case *ast.SendStmt:
		p.node("send", stmt)
		p.printf("send ")
		p.expr(stmt.Chan)
		p.printf(" ")
		p.expr(stmt.Value)
	case *ast.IncDecStmt:
		p.node("incdec", stmt)
		p.printf("%s ", stmt.Tok)
		p.expr(stmt.X)
	case *ast.AssignStmt:
		kind := "assign"
		if stmt.Tok == token.DEFINE {
			kind = "define"
		}
		p.node(kind, stmt)
		p.left(stmt.Lhs)
		p.printf(" %s", stmt.Tok)
		p.exprs(stmt.Rhs)
	case *ast.GoStmt:
		p.node("go", stmt)
		p.printf("go ")
		p.expr(stmt.Call)
	case *ast.DeferStmt:
		p.node("defer", stmt)
		p.printf("defer ")
		p.expr(stmt.Call)
	case *ast.ReturnStmt:
		p.node("return", stmt)
		p.printf("return")
		p.exprs(stmt.Results)
	case *ast.BranchStmt:
		p.node("branch", stmt)
		p.printf("%s", stmt.Tok)
		if stmt.Label != nil {
			p.printf(" %s", stmt.Label.Name)
		}
	case *ast.BlockStmt:
		p.printf("block")
		p.block(stmt)
	case *ast.IfStmt:
		p.node("if", stmt)
		p.printf("if ")
		p.init(stmt.Init)
		p.expr(stmt.Cond)
		p.block(stmt.Body)
		if stmt.Else != nil {
			p.line()
			p.printf("else ")
			if block, ok := stmt.Else.(*ast.BlockStmt); ok {
				p.block(block)
			} else {
				p.stmt(stmt.Else)
			}
		}
	case *ast.SwitchStmt:
		p.node("switch", stmt)
		p.printf("switch ")
		p.init(stmt.Init)
		p.optional(stmt.Tag)
		p.cases(stmt.Body)
	case *ast.TypeSwitchStmt:
		p.node("typeswitch", stmt)
		p.printf("typeswitch ")
		p.init(stmt.Init)
		var guard ast.Expr
		switch assign := stmt.Assign.(type) {
		case *ast.AssignStmt:
			name, ok := assign.Lhs[0].(*ast.Ident)
			if !ok {
				p.invalid = true
				return
			}
			p.printf("%s := ", name.Name)
			guard = assign.Rhs[0]
		case *ast.ExprStmt:
			guard = assign.X
		}
		assert, ok := guard.(*ast.TypeAssertExpr)
		if !ok {
			p.invalid = true
			return
		}
		p.expr(assert.X)
		p.cases(stmt.Body)
	case *ast.SelectStmt:
		p.node("select", stmt)
		p.printf("select")
		for _, clause := range stmt.Body.List {
			clause := clause.(*ast.CommClause)
			p.line()
			if clause.Comm == nil {
				p.printf("default")
			} else {
				p.printf("comm ")
				p.stmt(clause.Comm)
			}
			p.body(clause.Body)
		}
	case *ast.ForStmt:
		p.node("for", stmt)
		p.printf("for ")
		p.simple(stmt.Init)
		p.printf("; ")
		p.optional(stmt.Cond)
		p.printf("; ")
		p.simple(stmt.Post)
		p.block(stmt.Body)
	case *ast.RangeStmt:
		p.node("range", stmt)
		p.printf("range ")
		if stmt.Key != nil {
			left := []ast.Expr{stmt.Key}
			if stmt.Value != nil {
				left = append(left, stmt.Value)
			}
			p.left(left)
			p.printf(" %s ", stmt.Tok)
		}
		p.expr(stmt.X)
		p.block(stmt.Body)
	case *ast.LabeledStmt:
		p.printf("label %s", stmt.Label.Name)
		p.line()
		p.stmt(stmt.Stmt)
	case *ast.DeclStmt:
		first := true
		p.genDecl(stmt.Decl.(*ast.GenDecl), func(spec func()) {
			if !first {
				p.line()
			}
			first = false
			spec()
		})
	default:
		p.node(fmt.Sprintf("%T", stmt), stmt)
		p.printf("?")
	}
}

func (p *printer) left(list []ast.Expr) {
	for i, expr := range list {
		if i > 0 {
			p.printf(" ")
		}
		p.expr(expr)
	}
}

func (p *printer) cases(block *ast.BlockStmt) {
	for _, clause := range block.List {
		clause := clause.(*ast.CaseClause)
		p.line()
		if clause.List == nil {
			p.printf("default")
		} else {
			p.printf("case")
			p.exprs(clause.List)
		}
		p.body(clause.Body)
	}
}
