package cmtool

import (
	"fmt"
	"github.com/gorxe/gorxe/internal/cli/app"
	"slices"
	"time"
)

// printMade prints how fast connections were made. Several are made at a time, so the setup time
// of one is longer than the total time divided by their number.
func (e *end) printMade(all time.Duration) {
	e.mu.Lock()
	took := slices.Sorted(slices.Values(e.took))
	e.mu.Unlock()
	e.printTimes("", len(took), all, all.Round(time.Microsecond), func(percent float64) time.Duration {
		return took[int(percent/100*float64(len(took)-1))].Round(time.Microsecond)
	})
}

// printTimes prints the rate of n connections and the distribution of their setup times. did is
// added after their number. all is the total time, and shown the total time as it is printed; at
// returns a percentile of the setup times.
func (e *end) printTimes(did string, n int, all, shown time.Duration, at func(percent float64) time.Duration) {
	fmt.Fprintf(e.out, "%s%s in %v, %.0f/s; setup time min %v, median %v, p99 %v, max %v\n",
		app.Plural(n, e.params.unit()), did, shown, float64(n)/max(all.Seconds(), 1e-9), at(0), at(50), at(99), at(100))
}

// printRun prints what was sent over the connections.
func (e *end) printRun() {
	p := e.params
	if p.count == 0 {
		fmt.Fprintf(e.out, "%s ended\n", app.Plural(len(e.made), p.unit()))
		return
	}
	each := ""
	if p.conns > 1 {
		each = " on each"
	}
	fmt.Fprintf(e.out, "%s of %s both ways%s\n", app.Plural(p.count, "message"), app.Plural(p.size, "byte"), each)
}

// unit returns the noun for what the test makes.
func (p *params) unit() string {
	if p.space == "udp" {
		return "datagram queue pair"
	}
	return "connection"
}
