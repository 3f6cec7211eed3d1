package html

import (
	"cmp"
	"slices"

	"github.com/gorxe/gorxe/trace"
)

// kinds counts the warnings and errors of a capture by their kind and level, including those of
// packets that were left out of the page.
type kinds map[kind]uint64

// kind is a kind of findings of one level.
type kind struct {
	name  trace.Kind
	level trace.Level
}

// kindCount is how often there were findings of a kind, as the page's script reads it.
type kindCount struct {
	Name  trace.Kind  `json:"k"`
	Count uint64      `json:"n"`
	Level trace.Level `json:"l"`
}

// add counts the findings of k.
func (s kinds) add(k *trace.Packet) {
	for i := range k.Findings {
		if f := &k.Findings[i]; f.Level >= trace.Warning {
			s[kind{f.Kind, min(f.Level, trace.Error)}]++
		}
	}
}

// list returns the kinds, errors first, then by their weight and number.
func (s kinds) list() []kindCount {
	list := make([]kindCount, 0, len(s))
	for k, n := range s {
		list = append(list, kindCount{k.name, n, k.level})
	}
	slices.SortFunc(list, func(x, y kindCount) int {
		return cmp.Or(cmp.Compare(y.Level, x.Level), cmp.Compare(y.Name.Weight(), x.Name.Weight()),
			cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name))
	})
	return list
}
