package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// A key identifies a mutant by its change, independently of its current position.
type key struct{ file, function, text, from, to string }

func (m *mutant) key() key { return key{m.file, m.function, m.text, m.from, m.to} }

// equivalent.txt lists the mutants without an observable effect, as blocks of
//
//	file function
//	the text of the line
//	from -> to
//	the reason
//
//go:embed equivalent.txt
var equivalentText string

// parseEquivalent returns the reason for each mutant of the list.
func parseEquivalent(text string) (map[key]string, error) {
	out := map[key]string{}
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if block = strings.TrimSpace(block); block == "" {
			continue
		}
		l := strings.Split(block, "\n")
		if len(l) != 4 {
			return nil, fmt.Errorf("equivalent.txt: a block has the lines place, text, change and reason, not %d:\n%s",
				len(l), block)
		}
		file, function, _ := strings.Cut(l[0], " ")
		from, to, ok := strings.Cut(l[2], " -> ")
		k := key{file, function, l[1], from, to}
		if !ok {
			return nil, fmt.Errorf("equivalent.txt: %s: %q is not of the form from -> to", k.file, l[2])
		}
		if out[k] != "" {
			return nil, fmt.Errorf("equivalent.txt: %s: %q is there twice", k.file, l[2])
		}
		out[k] = l[3]
	}
	return out, nil
}
