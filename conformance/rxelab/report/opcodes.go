package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
)

// Exchanged holds the opcodes that gorxe and a kernel's rxe exchanged in passed cells.
type Exchanged struct {
	Kernel   string   `json:"kernel"` // as uname -r prints it
	Source   string   `json:"source"` // dates and tools of the runs
	Sent     []string `json:"sent"`   // sent by gorxe
	Received []string `json:"received"`
}

// Opcodes returns, as JSON, the opcodes that gorxe exchanged with each kernel in all the reports:
// docs/opcodes-interop.json.
func Opcodes(reports ...*Report) ([]byte, error) {
	type seen struct {
		sent, received icrc.Opcodes
		tools, days    map[string]bool
	}
	kernels := map[string]*seen{}
	for _, r := range reports {
		for _, k := range r.Kernels {
			s := kernels[k.Release]
			if s == nil {
				s = &seen{tools: map[string]bool{}, days: map[string]bool{}}
				kernels[k.Release] = s
			}
			for _, c := range r.Results {
				if c.Suite != k.Suite || !c.Passed() || len(c.Traffic.Sent)+len(c.Traffic.Received) == 0 {
					continue
				}
				s.tools[c.Tool], s.days[r.Started.UTC().Format("2006-01-02")] = true, true
				s.sent.Add(c.Traffic.Sent...)
				s.received.Add(c.Traffic.Received...)
			}
		}
	}
	var out struct {
		Kernels []Exchanged `json:"kernels"`
	}
	for release, s := range kernels {
		out.Kernels = append(out.Kernels, Exchanged{
			Kernel: release, Source: fmt.Sprintf("packets captured in runs of %s: %s", names(s.days), names(s.tools)),
			Sent: opcodeNames(s.sent), Received: opcodeNames(s.received),
		})
	}
	slices.SortFunc(out.Kernels, func(a, b Exchanged) int {
		return cmp.Or(cmp.Compare(len(a.Kernel), len(b.Kernel)), cmp.Compare(a.Kernel, b.Kernel))
	})
	b, err := json.MarshalIndent(out, "", "\t")
	return append(b, '\n'), err
}

func names(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }

func opcodeNames(set icrc.Opcodes) []string {
	out := []string{}
	for op := range bth.Opcodes() {
		if set[op] {
			out = append(out, op.String())
		}
	}
	return out
}
