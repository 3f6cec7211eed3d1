package html

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gorxe/gorxe/trace"
)

// kinds counts the warnings and errors of a capture by their kind, including those of packets that
// were left out of the page.
type kinds map[trace.Kind]kind

// kind is how often there were findings of a kind. Its fields are those of the page.
type kind struct {
	Name  trace.Kind  `json:"k"`
	Count uint64      `json:"n"` // of warnings and errors
	Level trace.Level `json:"l"` // highest level
}

// add counts the findings of k.
func (s kinds) add(k *trace.Packet) {
	for i := range k.Findings {
		f := &k.Findings[i]
		if f.Level < trace.Warning {
			continue
		}
		c := s[f.Kind]
		s[f.Kind] = kind{f.Kind, c.Count + 1, max(c.Level, f.Level)}
	}
}

// list returns the kinds, those with errors first, then by their weight and number.
func (s kinds) list() []kind {
	return slices.SortedFunc(maps.Values(s), func(x, y kind) int {
		return cmp.Or(cmp.Compare(y.Level, x.Level), cmp.Compare(y.Name.Weight(), x.Name.Weight()),
			cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name))
	})
}
