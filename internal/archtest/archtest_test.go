package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A source is a Go file that is not a test.
type source struct {
	name  string // slash-separated, relative to the root
	lines int
	file  *ast.File
}

func (s *source) dir() string {
	if d := path.Dir(s.name); d != "." {
		return d
	}
	return ""
}

func (s *source) imports() []string {
	var out []string
	for _, i := range s.file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			out = append(out, p)
		}
	}
	return out
}

// sources parses all Go files of the module, for all systems.
func sources(t *testing.T) []*source {
	t.Helper()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the module's root is not where this test looks for it: %v", err)
	}
	var out []*source
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if n := e.Name(); p != root && (strings.HasPrefix(n, ".") || strings.HasPrefix(n, "_") || n == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, &source{name: filepath.ToSlash(rel), lines: bytes.Count(text, []byte("\n")), file: file})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// placeOf returns the entry of floors for dir, or nil.
func placeOf(dir string) *place {
	var best *place
	for i := range floors {
		p := &floors[i]
		if dir != p.dir && !strings.HasPrefix(dir, p.dir+"/") {
			continue
		}
		if best == nil || len(p.dir) > len(best.dir) {
			best = p
		}
	}
	return best
}

// breach returns why a file of dir must not import the package at path, "" if it may.
func breach(dir, path string) string {
	from := placeOf(dir)
	if from == nil {
		return "the folder has no floor: give it one in floors_test.go"
	}
	if path != module && !strings.HasPrefix(path, module+"/") {
		if from.pure && matches(impure, path) && !slices.Contains(allowedImpure["*"], path) &&
			!slices.Contains(allowedImpure[from.dir], path) {
			return "a pure package takes time, seeds and bytes as parameters"
		}
		return ""
	}
	to := placeOf(strings.TrimPrefix(strings.TrimPrefix(path, module), "/"))
	switch {
	case to == nil:
		return "the imported folder has no floor"
	case to == from:
		return ""
	case isTool(to.dir) && !isTool(from.dir):
		return "what gorxe links imports neither tools nor conformance tests"
	case from.only != nil:
		if !slices.Contains(from.only, to.dir) {
			return fmt.Sprintf("it stands beside the floors and may import only %q", from.only)
		}
	case to.only != nil:
		if from.floor < 7 {
			return "floors below 7 import nothing that stands beside the floors"
		}
	case to.floor >= from.floor:
		return fmt.Sprintf("floor %d imports only from floors below it, this is floor %d", from.floor, to.floor)
	}
	return ""
}

// isTool reports whether dir is not part of the program gorxe.
func isTool(dir string) bool {
	return strings.HasPrefix(dir, "tools/") || strings.HasPrefix(dir, "conformance/rxelab") ||
		strings.HasPrefix(dir, "conformance/leaks")
}

func matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return p == path || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p)
	})
}

func TestImportsGoDownwards(t *testing.T) {
	all := sources(t)
	if len(all) == 0 {
		t.Fatal("no source files found")
	}
	for _, s := range all {
		for _, p := range s.imports() {
			if why := breach(s.dir(), p); why != "" {
				t.Errorf("%s imports %q: %s", s.name, p, why)
			}
		}
	}
}

func TestPurePackagesHaveNoThreads(t *testing.T) {
	for _, s := range sources(t) {
		if p := placeOf(s.dir()); p == nil || !p.pure {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.ChanType:
				t.Errorf("%s: a pure package starts no goroutine and has no channel", s.name)
				return false
			}
			return true
		})
	}
}

func TestFilesStayShort(t *testing.T) {
	for _, s := range sources(t) {
		if s.lines > maxLines {
			t.Errorf("%s has %d lines, the limit is %d: it holds more than one idea", s.name, s.lines, maxLines)
		}
	}
}

// The rules themselves, with example imports.
func TestBreach(t *testing.T) {
	for _, c := range []struct {
		dir, path string
		allowed   bool
	}{
		{"qp", module + "/bth", true},
		{"internal/host/hostmem", module + "/mr", true},
		{"internal/host/hostmem", module + "/qp", false},
		{"bth", module + "/mr", false},
		{"bth", module + "/qp", false},
		{"packet/linktest", module + "/packet", true},
		{"packet/xdp", module + "/packet/socket", true},
		{"packet/socket", module + "/packet/xdp", false},
		{"packet", module + "/packet/pipe", false},
		{"transport", module + "/cm", false},
		{"transport", module + "/packet", true},
		{"internal/nic", module + "/transport", true},
		{"internal/nic", module + "/verbs", false},
		{"verbs", module + "/internal/nic", true},
		{"verbs", module + "/internal/cli", false},
		{"cmd/gorxe", module + "/internal/cli", true},
		{"trace", module + "/bth", true},
		{"trace", module + "/packet", false},
		{"trace", module + "/trace/capture", true},
		{"trace/capture", module + "/bth", false},
		{"trace/capture", module + "/trace", false},
		{"internal/sim", module + "/transport", true},
		{"internal/sim", module + "/internal/nic", false},
		{"transport", module + "/trace", false},
		{"internal/cli", module + "/internal/cli/perf", true},
		{"internal/cli/tracecmd", module + "/trace", true},
		{"internal/cli/perf", module + "/internal/cli/session", true},
		{"internal/cli/perf", module + "/internal/cli/pingpong", false},
		{"internal/cli/session", module + "/internal/cli/app", true},
		{"internal/cli/app", module + "/internal/cli/session", false},
		{"internal/cli/perf", module + "/tools/bench", false},
		{"conformance/rxelab/rival", module + "/tools/bench", true},
		{"cmd/gorxe", module + "/conformance/rxelab", false},
		{"nowhere", "fmt", false},
		{"transport", "time", false},
		{"transport", "math/rand/v2", false},
		{"transport", "sync/atomic", false},
		{"transport", "net/netip", true},
		{"transport", "net", false},
		{"mr", "sync/atomic", true},
		{"mr", "sync", false},
		{"internal/nic", "time", true},
		{"packet", "os", true},
		{"internal/host/route", module + "/packet", false},
		{"verbs", module + "/internal/host/route", true},
	} {
		if why := breach(c.dir, c.path); (why == "") != c.allowed {
			t.Errorf("%q importing %q: allowed = %v (%s), want %v", c.dir, c.path, why == "", why, c.allowed)
		}
	}
}

// A longer list of files gives no overview of the package.
func TestNoPackageHasMoreThan25Files(t *testing.T) {
	files := map[string]int{}
	for _, s := range sources(t) {
		files[s.dir()]++
	}
	for dir, n := range files {
		if n > 25 {
			t.Errorf("%s has %d files beside its tests, more than 25: move a part of it to a folder of its own, "+
				"or join small files", dir, n)
		}
	}
}
