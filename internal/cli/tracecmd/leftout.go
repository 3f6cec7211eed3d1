package tracecmd

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
)

// printCopies prints on stderr how many packets the capture has several times.
func printCopies(a *app.App, name string, t *tracing) {
	packets := t.Counts().Packets
	switch {
	case t.Copies() > 0 && t.Dedupe:
		fmt.Fprintf(a.Stderr, "%s: left out %s of packets\n", name, countOf(t.Copies(), "copy", "copies"))
	case t.Copies() > 0:
		fmt.Fprintf(a.Stderr, "%s: %s of packets that were captured at several points, such as interfaces; they "+
			"are not analysed, and --dedupe leaves them out\n", name, countOf(t.Copies(), "copy", "copies"))
	case t.Repeated() >= minRepeated && t.Repeated() >= packets*2/5:
		fmt.Fprintf(a.Stderr, "%s: %d of %d packets repeat an earlier one byte for byte: if captures were merged, "+
			"use --dedupe\n", name, t.Repeated(), packets)
	}
}

// minRepeated is the number of repeated packets from which printCopies mentions them.
const minRepeated = 8

func countOf(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// printSummary prints on stderr what was left out, and why no packet was shown if there was none.
func printSummary(a *app.App, name string, t *tracing) {
	c := t.Counts()
	if c.Packets == 0 {
		fmt.Fprintf(a.Stderr, "%s: no RoCEv2 packets in %s\n", name, app.Plural(int(c.Frames), "frame"))
	} else if t.Shown() == 0 {
		fmt.Fprintf(a.Stderr, "%s: the filter matches none of %s\n", name, app.Plural(int(c.Packets), "packet"))
	}
	printCopies(a, name, t)
	if t.Missing() > 0 {
		fmt.Fprintf(a.Stderr, "%s: %s missing: they could not be written fast enough\n", name,
			app.Plural(int(t.Missing()), "packet"))
	}
	printProtocols(a, name, t)
	for s := range trace.Skip(trace.NumSkips) {
		if n := c.Skipped[s]; n > 0 && !s.Named() {
			fmt.Fprintf(a.Stderr, "%s: left out %s %s\n", name, app.Plural(int(n), "frame"), s)
		}
	}
}
