package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// toy is a module whose tests catch some mutants: those of min by its own package, those of count
// by another package, those of idle not at all.
var toy = map[string]string{
	"go.mod": "module toy\n\ngo 1.26\n",
	"a/a.go": `package a

func Min(x, y int) int {
	if x < y {
		return x
	}
	return y
}

func Count(list []int) (n int) {
	for range list {
		n++
	}
	return n
}

var idle bool

func Idle() { idle = true }

func Wait(done bool) {
	for !done {
	}
}
`,
	"a/a_test.go": `package a

import "testing"

func TestMin(t *testing.T) {
	if Min(1, 2) != 1 || Min(2, 1) != 1 {
		t.Error("not the least")
	}
	Wait(true)
}
`,
	"b/b_test.go": `package b

import (
	"testing"

	"toy/a"
)

func TestCount(t *testing.T) {
	if a.Count([]int{7, 7}) != 2 {
		t.Error("miscounted")
	}
}
`,
}

func TestMutantsAreCaughtByTestsAndTheTreeStaysAsItIs(t *testing.T) {
	root := t.TempDir()
	for name, text := range toy {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	mutants, err := (&selection{}).mutants(root, []string{"./a"})
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	list, err := overlay(root, scratch, mutants)
	if err != nil {
		t.Fatal(err)
	}
	r := runner{root: root, scratch: scratch, overlay: list, timeout: 3 * time.Second, built: map[string]string{}}
	var out strings.Builder
	score := report{
		equivalent: map[key]string{{"a/a.go", "Min", "if x < y {", "x < y",
			"x <= y"}: "The smaller of equals is either."},
		out: &out, scores: map[string]*score{},
	}
	var got []string
	for m, tried := range r.tryAll(mutants, []string{"./b"}, 2) {
		if tried.err != nil {
			t.Fatal(tried.err)
		}
		got = append(got, strings.TrimSpace(m.from+": "+score.note(m, tried.result, tried.by != "./a")+" "+tried.by))
	}
	want := []string{
		"x < y: caught by ./a",
		"x < y: equivalent",
		"n++: caught by ./b",
		"idle = true: SURVIVED",
		"!done: caught (timed out) by ./a",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nnot\n%s", g, w)
	}
	if n, err := score.print(); n != 1 || err != nil {
		t.Errorf("%d survivors, %v", n, err)
	}
	for _, line := range []string{
		"      5       3            1          1           1         1 a/a.go\n",
		"equivalent: a/a.go:4:7: x < y -> x <= y\n\tThe smaller of equals is either.\n",
		"survived: a/a.go:19:22: idle = true -> idle = false\n\tfunc Idle() { idle = true }\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the report lacks %q:\n%s", line, out.String())
		}
	}
	for name, text := range toy {
		if now, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(now) != text {
			t.Errorf("%s was changed, %v", name, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*", "*")); len(left) != len(toy)-1 {
		t.Errorf("the tree has %v", left)
	}
}

func TestTestsThatFailByThemselvesCatchNothing(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": toy["go.mod"],
		"a.go":   "package a\n\nfunc F(n int) bool { return n == 1 }\n",
		"a_test.go": `package a

import "testing"

func TestF(t *testing.T) { t.Error(F(1)) }
`,
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	mutants, err := (&selection{}).mutants(root, []string{"."})
	if err != nil || len(mutants) != 1 {
		t.Fatal(mutants, err)
	}
	scratch := t.TempDir()
	list, err := overlay(root, scratch, mutants)
	if err != nil {
		t.Fatal(err)
	}
	r := runner{root: root, scratch: scratch, overlay: list, timeout: time.Minute, built: map[string]string{}}
	if _, _, err := r.try(&mutants[0], []string{"."}); err == nil ||
		!strings.Contains(err.Error(), "fail without any change") {
		t.Errorf("the error is %v", err)
	}
}
