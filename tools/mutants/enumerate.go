package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// The kinds of mutants.
const (
	flip   = "flip"   // a comparison inverted, a condition negated
	bound  = "bound"  // an ordering moved by one: < to <=
	logic  = "logic"  // && to ||, or || to &&
	drop   = "drop"   // a counting or accumulating statement removed
	invert = "invert" // true assigned instead of false, or false instead of true
)

var kinds = []string{flip, bound, logic, drop, invert}

// A mutant is one small change of a file.
type mutant struct {
	file     string // path as given
	function string // enclosing function, such as RC.Receive
	line     int
	col      int
	kind     string
	from, to string // the expression or statement, with all white space collapsed
	text     string // the line on which it begins, trimmed

	id int // number from 1, which selects the mutant
	// The change inserts before and after around the bytes from begin to end. In both, %s stands
	// for the condition that the mutant is selected.
	begin, end    int
	before, after string
}

// String returns the position and the change of a mutant.
func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %s -> %s", m.file, m.line, m.col, m.from, m.to)
}

var (
	flipped = map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL,
		token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
	}
	moved = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
	swapped  = map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}
	opposite = map[string]string{"true": "false", "false": "true"}
)

// enumerator collects the mutants of one file.
type enumerator struct {
	name     string
	src      []byte
	lines    []string
	set      *token.FileSet
	function string // the function being examined
	out      []mutant
}

// enumerate returns the mutants of a file in the order of the text, those of an expression before
// those of its parts.
func enumerate(name string, src []byte) ([]mutant, error) {
	e := &enumerator{name: name, src: src, lines: strings.Split(string(src), "\n"), set: token.NewFileSet()}
	tree, err := parser.ParseFile(e.set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			e.function = nameOf(n)
		case *ast.GenDecl:
			return n.Tok != token.CONST // constants must stay constant
		case *ast.BinaryExpr:
			e.binary(n)
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				e.negated(n, e.source(n.X))
			}
		case *ast.IfStmt:
			e.condition(n.Cond)
		case *ast.ForStmt:
			e.condition(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, s := range n.Body.List {
					e.condition(s.(*ast.CaseClause).List...)
				}
			}
		// The step of a loop is in none of these lists: a loop that never advances proves
		// nothing.
		case *ast.BlockStmt:
			e.statements(n.List)
		case *ast.CaseClause:
			e.statements(n.Body)
		case *ast.CommClause:
			e.statements(n.Body)
		case *ast.AssignStmt:
			e.booleans(n)
		}
		return true
	})
	slices.SortStableFunc(e.out, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end))
	})
	return e.out, nil
}

// nameOf returns the name of a function; that of a method includes its type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	return types.ExprString(t) + "." + f.Name.Name
}

// binary adds the mutants of an operator. An ordering is moved by one by changing its result for
// equal operands.
func (e *enumerator) binary(n *ast.BinaryExpr) {
	x, y := e.source(n.X), e.source(n.Y)
	changed := func(op token.Token) string { return oneLine(x + " " + op.String() + " " + y) }
	if op, ok := flipped[n.Op]; ok {
		e.add(flip, n, n.OpPos, changed(op), "(%s != (", "))")
	}
	if op, ok := moved[n.Op]; ok {
		equal := "((" + escape(x) + ") == (" + escape(y) + "))"
		if op == token.LEQ || op == token.GEQ {
			e.add(bound, n, n.OpPos, changed(op), "((", ") || %s && "+equal+")")
		} else {
			e.add(bound, n, n.OpPos, changed(op), "((", ") && !(%s && "+equal+"))")
		}
	}
	if op, ok := swapped[n.Op]; ok {
		all := "((" + escape(x) + ") " + op.String() + " (" + escape(y) + "))"
		e.add(logic, n, n.OpPos, changed(op), "(%s && "+all+" || !%[1]s && (", "))")
		e.condition(n.X, n.Y)
	}
}

// condition adds mutants of conditions that are names or calls. Conditions with operators are
// changed at the operator.
func (e *enumerator) condition(list ...ast.Expr) {
	for _, x := range list {
		switch x.(type) {
		case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr:
			e.negated(x, "!"+e.source(x))
		}
	}
}

func (e *enumerator) negated(x ast.Expr, to string) {
	e.add(flip, x, x.Pos(), oneLine(to), "(%s != (", "))")
}

// statements adds the mutants that remove a counting or accumulating statement.
func (e *enumerator) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.IncDecStmt:
		case *ast.AssignStmt:
			if s.Tok == token.ASSIGN || s.Tok == token.DEFINE {
				continue
			}
		default:
			continue
		}
		e.add(drop, s, s.Pos(), "nothing", "if !%s { ", " }")
	}
}

// booleans adds the mutants that assign the opposite boolean constant.
func (e *enumerator) booleans(n *ast.AssignStmt) {
	for _, x := range n.Rhs {
		if name, ok := x.(*ast.Ident); ok && opposite[name.Name] != "" {
			begin, end := e.offset(n.Pos()), e.offset(n.End())
			to := string(e.src[begin:e.offset(x.Pos())]) + opposite[name.Name] + string(e.src[e.offset(x.End()):end])
			e.add(invert, x, x.Pos(), oneLine(to), "(%s != ", ")")
			e.out[len(e.out)-1].from = oneLine(e.source(n))
		}
	}
}

// add adds the mutant of n, which changes the code at a position to to.
func (e *enumerator) add(kind string, n ast.Node, at token.Pos, to, before, after string) {
	p := e.set.Position(at)
	e.out = append(e.out, mutant{
		file: e.name, function: e.function, line: p.Line, col: p.Column, kind: kind,
		from: oneLine(e.source(n)), to: to, text: strings.TrimSpace(e.lines[p.Line-1]),
		begin: e.offset(n.Pos()), end: e.offset(n.End()), before: before, after: after,
	})
}

func (e *enumerator) offset(p token.Pos) int { return e.set.Position(p).Offset }

func (e *enumerator) source(n ast.Node) string {
	return string(e.src[e.offset(n.Pos()):e.offset(n.End())])
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// escape escapes s for a format string.
func escape(s string) string { return strings.ReplaceAll(s, "%", "%%") }
