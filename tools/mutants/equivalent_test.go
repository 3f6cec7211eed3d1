package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryEquivalentMutantThatIsListedExists(t *testing.T) {
	listed, err := parseEquivalent(equivalentText)
	if err != nil {
		t.Fatal(err)
	}
	all, err := (&selection{}).mutants(filepath.Join("..", ".."), []string{"transport", "qp", "cm", "cm/mad"})
	if err != nil {
		t.Fatal(err)
	}
	exists := map[key]bool{}
	for i := range all {
		exists[all[i].key()] = true
	}
	for k := range listed {
		if !exists[k] {
			t.Errorf("equivalent.txt lists what is no mutant: %s %s: %s: %s -> %s", k.file, k.function, k.text,
				k.from, k.to)
		}
	}
}

func TestTheListOfEquivalentMutantsIsRead(t *testing.T) {
	got, err := parseEquivalent(
		"a.go f\nif a < b {\na < b -> a <= b\nEqual is impossible.\n\nb.go T.f\nx++\nx++ -> nothing\nNobody reads x.\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[key{"a.go", "f", "if a < b {", "a < b", "a <= b"}] != "Equal is impossible." {
		t.Errorf("read %v", got)
	}
	for text, want := range map[string]string{
		"a.go\nx++\nx++ -> nothing": "place, text, change and reason",
		"a.go\nx++\nx++\nwhy":       "from -> to",
		"a.go\nx++\nx++ -> nothing\nwhy\n\na.go\nx++\nx++ -> nothing\nwhy else":    "twice",
		"a.go\nx++\nx++ -> nothing\nwhy\nand why that, with which there is no end": "not 5",
	} {
		if _, err := parseEquivalent(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, which does not say %q", text, err, want)
		}
	}
}
