package tracecmd

import (
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/internal/cli/app"
)

// maxNamed is the number of protocols that printProtocols names.
const maxNamed = 8

// printProtocols prints the protocols of the frames without packets, most frequent first.
func printProtocols(a *app.App, name string, t *tracing) {
	all := t.Protocols()
	if len(all) == 0 {
		return
	}
	total, rest := uint64(0), uint64(0)
	var parts []string
	for i, p := range all {
		total += p.Frames
		if i < maxNamed {
			parts = append(parts, fmt.Sprintf("%s %d", p.Name, p.Frames))
		} else {
			rest += p.Frames
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%s %d", app.Plural(len(all)-maxNamed, "other protocol"), rest))
	}
	fmt.Fprintf(a.Stderr, "%s: %s of other protocols: %s\n", name, app.Plural(int(total), "frame"),
		strings.Join(parts, ", "))
}
