package conform

import (
	_ "embed"
	"strings"
)

// Deviation explains verdicts that are not a pass.
type Deviation struct {
	Cases []string
	Text  string // Markdown
}

//go:embed deviations.md
var deviations string

// Deviations returns the explanations of deviations.md, in which a heading of level 2 has the IDs
// of the cases.
func Deviations() (all []Deviation) {
	for i, section := range strings.Split("\n"+deviations, "\n## ") {
		ids, text, _ := strings.Cut(section, "\n")
		if i > 0 {
			all = append(all, Deviation{strings.Fields(ids), strings.TrimSpace(text)})
		}
	}
	return all
}
