package main

import (
	"go/format"
	"slices"
	"strings"
	"testing"
)

func sourceOf(body string) string { return "package p\n\nfunc f() {\n" + body + "\n}\n" }

// changes returns the mutants of a function body, each as kind and change.
func changes(t *testing.T, body string) (out []string) {
	t.Helper()
	list, err := enumerate("p.go", []byte(sourceOf(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		out = append(out, m.kind+": "+m.from+" -> "+m.to)
	}
	return out
}

func TestEachKindOfMutantIsEnumerated(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"equality turns round", "x := a == b", []string{"flip: a == b -> a != b"}},
		{"inequality turns round", "x := a != b", []string{"flip: a != b -> a == b"}},
		{"an ordering turns round and moves by one", "x := a < b",
			[]string{"flip: a < b -> a >= b", "bound: a < b -> a <= b"}},
		{"so do the other three", "x, y, z := a > b, a <= b, a >= b", []string{
			"flip: a > b -> a <= b", "bound: a > b -> a >= b",
			"flip: a <= b -> a > b", "bound: a <= b -> a < b",
			"flip: a >= b -> a < b", "bound: a >= b -> a > b"}},
		{"and becomes or, and its operands are negated", "x := a && g()",
			[]string{"logic: a && g() -> a || g()", "flip: a -> !a", "flip: g() -> !g()"}},
		{"or becomes and", "x := a ||\n\tb",
			[]string{"logic: a || b -> a && b", "flip: a -> !a", "flip: b -> !b"}},
		{"not is left out", "if !a { }", []string{"flip: !a -> a"}},
		{"conditions are negated", "if a { }; for g() { }; switch { case a, b.c: }",
			[]string{"flip: a -> !a", "flip: g() -> !g()", "flip: a -> !a", "flip: b.c -> !b.c"}},
		{"the values of a switch are no conditions", "switch x { case a: }", nil},
		{"counting is left out", "i++; j--; k += 2; l |= m",
			[]string{"drop: i++ -> nothing", "drop: j-- -> nothing", "drop: k += 2 -> nothing",
				"drop: l |= m -> nothing"}},
		{"also in cases", "switch x { case a: i++ }; select { case <-c: i++ }",
			[]string{"drop: i++ -> nothing", "drop: i++ -> nothing"}},
		{"the step of a loop stays", "for i := 0; ; i++ { }", nil},
		{"a boolean that is assigned is the other one", "x = true; y, z := 1, false",
			[]string{"invert: x = true -> x = false", "invert: y, z := 1, false -> y, z := 1, true"}},
		{"constants stay", "const c = 1 < 2", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := changes(t, c.body); !slices.Equal(got, c.want) {
				t.Errorf("%s\ngives\n\t%s\nnot\n\t%s", c.body, strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

func TestAMutantTellsItsPlace(t *testing.T) {
	list, err := enumerate("dir/p.go", []byte(sourceOf("\tif  a <\n\t\tb {\n\t}")))
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if got, want := list[1].String(), "dir/p.go:4:8: a < b -> a <= b"; got != want {
		t.Errorf("it says %q, not %q", got, want)
	}
	if got, want := list[1].key(), (key{"dir/p.go", "f", "if  a <", "a < b", "a <= b"}); got != want {
		t.Errorf("the key is %q, not %q", got, want)
	}
}

func TestASampleIsSpreadOverTheFile(t *testing.T) {
	list := make([]mutant, 10)
	for i := range list {
		list[i].line = i
	}
	for n, want := range map[int][]int{1: {5}, 2: {2, 7}, 3: {1, 5, 8}, 10: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
		11: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		var got []int
		for _, m := range spread(list, n) {
			got = append(got, m.line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d of 10 are %v, not %v", n, got, want)
		}
	}
	if got := spread(list, 0); len(got) != 10 {
		t.Errorf("0 is %d of 10, not all", len(got))
	}
}

func TestAnInstrumentedFileIsGo(t *testing.T) {
	src := []byte(sourceOf("if a%2 < b && !(c || d%3 >= e) { x, y = true, false; i += 1 }\nswitch { case a: i-- }"))
	list, err := enumerate("p.go", src)
	if err != nil {
		t.Fatal(err)
	}
	text := instrument(src, list)
	if _, err := format.Source(text); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if a, b := strings.Count(string(text), "\n"), strings.Count(string(src), "\n"); a != b {
		t.Errorf("it has %d lines instead of %d", a, b)
	}
}
