package hostile

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Options configure a measurement.
type Options struct {
	Patterns []Pattern
	Rates    []int   // packets per second; 0: unlimited
	Seconds  float64 // length of each of the three parts of a round
	Rounds   int
	Traffic  Traffic // traffic of the good pair
	Local    bool    // use loopback even if namespaces are possible
	Cores    [2]int  // core of the victim; core of the good peer and the flooder
	// Min is the minimum share of its throughput during the control that the good pair must keep
	// at a rate.
	Min     float64
	MinFull float64 // minimum share at the unlimited rate
	// MaxAmplified is the maximum number of bytes that the victim may send for each byte from the
	// flooder; 0: unlimited.
	MaxAmplified float64
	Progress     func(Result)
}

// Sent counts what a flooder has sent.
type Sent struct {
	Packets, Bytes uint64 // without IP and UDP headers
	Failed         uint64 // failed exchanges over TCP
	Seconds        float64
}

// Rate returns packets per second.
func (s *Sent) Rate() float64 {
	if s.Seconds == 0 {
		return 0
	}
	return float64(s.Packets) / s.Seconds
}

// Part is one measurement of the good pair.
type Part struct {
	Good    float64 // completed requests per second
	Resent  uint64  // packets that the good peer retransmitted
	Victim  float64 // processor time of the victim per second
	Flood   Sent
	Seconds float64
}

// Round is three measurements: alone, during the control, during the pattern.
type Round struct{ Quiet, Control, Hostile Part }

// Result is the effect of a pattern at a rate.
type Result struct {
	Pattern, Does string
	By            Actor
	Rate          int
	Rounds        []Round
	// Kept is the median of the good pair's share of its throughput during the control.
	Kept          float64
	KeptOfQuiet   float64 // the same share of its throughput alone
	Control       float64 // median of its share during the control, of its throughput alone
	PacketsPerSec float64 // rate of the flooder
	// Amplified is the number of bytes that the victim sent to the flooder's addresses for each
	// byte that it received.
	Amplified float64
	Answers   float64 // packets, in the same way
	CPU       float64 // processors used by the victim, median
	// Cost is the victim's processor time in microseconds for each packet of the flood, without
	// that for the good pair, median.
	Cost       float64
	Memory     [3]uint64
	Goroutines [2]int
	LogLines   uint64
	LogLast    string
	Counters   map[string]uint64 // the counters of the victim's device that increased most
	Err        string
	Unheld     string
	Broken     []string // violated bounds
}

// Indexes of Result.Memory.
const (
	memoryBefore = iota // resident, in bytes
	memoryMost
	memoryAfter // after unused memory was returned to the system
)

// mostRounds is the factor by which the number of rounds may grow if the good pair seems to keep
// too little: on a machine with other load, a median of three is often off by a fifth.
const mostRounds = 3

// wantsRound reports whether another round is necessary.
func (r *Result) wantsRound(o *Options) bool {
	switch n := len(r.Rounds); {
	case n < o.Rounds:
		return true
	case n >= mostRounds*o.Rounds || r.Unheld != "":
		return false
	}
	r.summarize()
	return r.Kept < r.least(o)
}

// least returns the minimum share for the good pair.
func (r *Result) least(o *Options) float64 {
	if r.Rate == 0 {
		return o.MinFull
	}
	return o.Min
}

// judge checks a result against the bounds.
func (r *Result) judge(o *Options) {
	least, how := r.least(o), fmt.Sprintf("at %d packets/s", r.Rate)
	if r.Rate == 0 {
		how = "at full rate"
	}
	switch {
	case r.Unheld != "":
	case r.Err != "":
		r.Broken = append(r.Broken, r.Err)
	case r.Kept < least:
		r.Broken = append(r.Broken, fmt.Sprintf("the good pair keeps %.0f %% %s, less than %.0f %%", 100*r.Kept,
			how, 100*least))
	}
	if o.MaxAmplified > 0 && r.Amplified > o.MaxAmplified {
		r.Broken = append(r.Broken, fmt.Sprintf("the victim sends %.1f bytes for each byte, more than %.1f",
			r.Amplified, o.MaxAmplified))
	}
}

// summarize computes the medians.
func (r *Result) summarize() {
	var kept, quiet, control, cpu, cost []float64
	var sent Sent
	for _, n := range r.Rounds {
		if n.Control.Good > 0 {
			kept = append(kept, n.Hostile.Good/n.Control.Good)
		}
		if n.Quiet.Good > 0 {
			quiet = append(quiet, n.Hostile.Good/n.Quiet.Good)
			control = append(control, n.Control.Good/n.Quiet.Good)
		}
		cpu = append(cpu, n.Hostile.Victim)
		if rate := n.Hostile.Flood.Rate(); n.Quiet.Good > 0 && rate > 0 {
			own := n.Hostile.Good * n.Quiet.Victim / n.Quiet.Good
			cost = append(cost, 1e6*(n.Hostile.Victim-own)/rate)
		}
		sent.Packets += n.Hostile.Flood.Packets
		sent.Seconds += n.Hostile.Flood.Seconds
	}
	r.Kept, r.KeptOfQuiet, r.Control = median(kept), median(quiet), median(control)
	r.CPU, r.Cost = median(cpu), median(cost)
	r.PacketsPerSec = sent.Rate()
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// moved returns the increases of counters, the n largest. They include the good pair's packets.
func moved(before, after map[string]uint64, n int) map[string]uint64 {
	type gain struct {
		name string
		n    uint64
	}
	var all []gain
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if d := after[name] - before[name]; d > 0 && after[name] > before[name] && !alwaysIncreases(name) {
			all = append(all, gain{name, d})
		}
	}
	slices.SortStableFunc(all, func(a, b gain) int {
		switch {
		case a.n > b.n:
			return -1
		case a.n < b.n:
			return 1
		}
		return 0
	})
	out := map[string]uint64{}
	for _, g := range all[:min(n, len(all))] {
		out[g.name] = g.n
	}
	return out
}

// alwaysIncreases reports whether a counter increases also without hostile packets.
func alwaysIncreases(name string) bool {
	switch name {
	case "rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "sent_pkts", "rcvd_pkts", "verdict_accepted":
		return true
	}
	return strings.HasPrefix(name, "link_")
}

// Print writes the results as a table.
func Print(w io.Writer, o *Options, results []Result) {
	fmt.Fprintf(w, "good pair: %s, %d rounds of 3 × %g s, more where it kept too little. kept: of its throughput beside the control, which is the same flood to a closed port,\n"+
		"after the legal requests that the pattern begins with.\n",
		o.Traffic, o.Rounds, o.Seconds)
	fmt.Fprintf(w, "control: of its throughput alone, what it keeps beside that. amplified: bytes from the victim for each byte of the flood.\n")
	fmt.Fprintf(w, "µs each: the victim's processor time for each packet sent, the good pair's share taken off; beside others' load it says more than kept.\n\n")
	fmt.Fprintf(w, "%-18s %-8s %8s %9s %6s %8s %6s %10s %8s %5s %7s %7s %7s %5s\n",
		"pattern", "by", "rate/s", "sent/s", "kept", "of alone", "control", "amplified", "answers", "CPU", "µs each",
		"RSS MiB", "after", "logs")
	for i := range results {
		fmt.Fprintln(w, results[i].Line())
	}
	for i := range results {
		for _, why := range results[i].Broken {
			fmt.Fprintf(w, "\n%s: %s\n    %s\n", results[i].Pattern, why, results[i].Does)
			var list []string
			for _, name := range slices.Sorted(maps.Keys(results[i].Counters)) {
				list = append(list, fmt.Sprintf("%s +%d", name, results[i].Counters[name]))
			}
			fmt.Fprintf(w, "    %s\n", strings.Join(list, ", "))
		}
	}
}

// Line returns the table row of the result.
func (r *Result) Line() string {
	verdict := ""
	switch {
	case len(r.Broken) > 0:
		verdict = "  FAIL"
	case r.Unheld != "":
		verdict = "  not held"
	}
	return fmt.Sprintf("%-18s %-8s %8s %9.0f %5.0f%% %7.0f%% %6.0f%% %10.2f %8.2f %5.2f %7.1f %7.0f %+7.0f %5d%s",
		r.Pattern, r.By, rateName(r.Rate), r.PacketsPerSec,
		100*r.Kept, 100*r.KeptOfQuiet, 100*r.Control, r.Amplified, r.Answers, r.CPU, r.Cost, mib(r.Memory[memoryMost]),
		mib(r.Memory[memoryAfter])-mib(r.Memory[memoryBefore]), r.LogLines, verdict)
}

func rateName(rate int) string {
	if rate == 0 {
		return "full"
	}
	return fmt.Sprint(rate)
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }
