package rxelab

import (
	"fmt"
	"io"
	"time"
)

// tally counts cells.
type tally struct {
	passed, failed, packets, merged, dropped int
	rxe                                      map[string]int
}

func (t *tally) add(r *Result) {
	if r.Passed() {
		t.passed++
	} else {
		t.failed++
	}
	t.packets += r.Traffic.Packets
	t.merged += r.Traffic.Merged
	t.dropped += r.Traffic.Dropped
	for name, n := range r.Rxe {
		t.rxe[name] += n
	}
}

func (t tally) verdict() string {
	switch {
	case t.passed+t.failed == 0:
		return "·"
	case t.failed == 0:
		return fmt.Sprintf("%d ok", t.passed)
	}
	return fmt.Sprintf("%d ok, **%d FAILED**", t.passed, t.failed)
}

func tallyOf(results []Result, match func(*Result) bool) tally {
	t := tally{rxe: map[string]int{}}
	for i := range results {
		if match(&results[i]) {
			t.add(&results[i])
		}
	}
	return t
}

// width is that of a tool's column.
func width(t Tool) int { return max(15, len(t.Name)) }

// Table writes the summary for a terminal: tools by conditions, passed of all.
func (r *Report) Table(w io.Writer) error {
	e := &errWriter{w: w}
	for _, k := range r.Kernels {
		e.printf("\nLinux %s (%s)\n%-24s", k.Release, k.Package, "passed of all cells")
		for _, t := range r.group().Tools() {
			e.printf(" %*s", width(t), t.Name)
		}
		e.printf(" %12s\n", "ICRC checked")
		for _, c := range Conditions() {
			mine := func(x *Result) bool { return x.Suite == k.Suite && x.Condition == c.String() }
			sum := tallyOf(r.Results, mine)
			if sum.passed+sum.failed == 0 {
				continue
			}
			e.printf("%-24s", c)
			for _, t := range r.group().Tools() {
				n := tallyOf(r.Results, func(x *Result) bool { return mine(x) && x.Tool == t.Name })
				e.printf(" %*s", width(t), fmt.Sprintf("%d/%d", n.passed, n.passed+n.failed))
			}
			e.printf(" %12d\n", sum.packets)
		}
	}
	all := tallyOf(r.Results, func(*Result) bool { return true })
	e.printf("\n%d cells: %d passed, %d failed; %d packets captured and ICRC-checked (%d datagrams held several); %v\n",
		all.passed+all.failed, all.passed, all.failed, all.packets, all.merged, r.Duration.Round(time.Second))
	return e.err
}
