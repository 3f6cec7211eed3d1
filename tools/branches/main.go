// Command branches computes branch coverage from a coverage profile of go test -covermode=count:
// both outcomes of every if, every case of every switch and select, and the absence of a match
// for a switch without default. Go's own coverage counts statements, so it does not notice an
// untested implicit else.
//
// A condition counts as a whole: a && b has two outcomes, not four.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	profile := flag.String("profile", "", "the `file` that -coverprofile wrote")
	module := flag.String("module", "github.com/gorxe/gorxe", "import `path` of the current folder")
	flag.Parse()
	files, err := read(*profile, *module)
	if err != nil {
		log.Fatal(err)
	}
	var missed []string
	all := 0
	for name, counts := range files {
		n, m, err := branches(name, counts)
		if err != nil {
			log.Fatal(err)
		}
		all += n
		missed = append(missed, m...)
	}
	for _, m := range missed {
		fmt.Println("not taken:", m)
	}
	fmt.Printf("%d of %d branches taken: %.1f %%\n", all-len(missed), all,
		100*float64(all-len(missed))/float64(max(all, 1)))
}

// counts is the execution counts of blocks in a file. Positions are line<<12 | column.
type counts []span

type span struct {
	from, to int
	n        int
}

// at returns the count of the innermost block that contains pos.
func (c counts) at(pos token.Position) (n int, ok bool) {
	p, best := pos.Line<<12|pos.Column, 1<<62
	for _, s := range c {
		if s.from <= p && p < s.to && s.to-s.from < best {
			n, ok, best = s.n, true, s.to-s.from
		}
	}
	return n, ok
}

// read returns the counts of each file in a profile.
func read(profile, module string) (map[string]counts, error) {
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]counts{}
	for s := bufio.NewScanner(f); s.Scan(); {
		name, rest, ok := strings.Cut(s.Text(), ".go:")
		if !ok {
			continue
		}
		var l0, c0, l1, c1, statements, n int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &l0, &c0, &l1, &c1, &statements, &n); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", profile, s.Text(), err)
		}
		file := filepath.FromSlash(strings.TrimPrefix(name+".go", module+"/"))
		out[file] = append(out[file], span{l0<<12 | c0, l1<<12 | c1, n})
	}
	return out, nil
}

// branches returns the number of branches of a file, and those that were not taken.
func branches(file string, c counts) (all int, missed []string, err error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		return 0, nil, err
	}
	branch := func(at token.Pos, what string, taken bool) {
		all++
		if !taken {
			p := set.Position(at)
			missed = append(missed, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, what))
		}
	}
	body := func(list []ast.Stmt, fallback int) int {
		if len(list) == 0 {
			return fallback // an empty block has no count of its own
		}
		n, _ := c.at(set.Position(list[0].Pos()))
		return n
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			entered, ok := c.at(set.Position(n.Cond.Pos()))
			if !ok {
				return true
			}
			then := body(n.Body.List, 0)
			branch(n.Pos(), "true", then > 0)
			branch(n.Pos(), "false", entered > then)
		case *ast.SwitchStmt, *ast.TypeSwitchStmt:
			list := clauses(n)
			entered, ok := c.at(set.Position(n.Pos()))
			if !ok {
				return true
			}
			sum, hasDefault := 0, false
			for _, s := range list {
				// An empty case has no count, so it is left out.
				if len(s.Body) > 0 {
					taken := body(s.Body, 0)
					sum += taken
					branch(s.Pos(), "case", taken > 0)
				} else {
					hasDefault = true
				}
				hasDefault = hasDefault || s.List == nil
			}
			if !hasDefault {
				branch(n.Pos(), "no case", entered > sum)
			}
		case *ast.CommClause:
			if len(n.Body) > 0 {
				branch(n.Pos(), "case", body(n.Body, 0) > 0)
			}
		}
		return true
	})
	return all, missed, nil
}

func clauses(n ast.Node) (out []*ast.CaseClause) {
	list := []ast.Stmt{}
	switch n := n.(type) {
	case *ast.SwitchStmt:
		list = n.Body.List
	case *ast.TypeSwitchStmt:
		list = n.Body.List
	}
	for _, s := range list {
		if c, ok := s.(*ast.CaseClause); ok {
			out = append(out, c)
		}
	}
	return out
}
