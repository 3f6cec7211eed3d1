package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
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

func (t tally) cells() int { return t.passed + t.failed }

func (t tally) verdict() string {
	switch {
	case t.cells() == 0:
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

// Table writes the summary for a terminal: for each tool and condition, the numbers of passed
// cells and of all that ran.
func (r *Report) Table(w io.Writer) error {
	e := &Writer{W: w}
	for _, k := range r.Kernels {
		of := func(match func(*Result) bool) tally {
			return tallyOf(r.Results, func(x *Result) bool { return x.Suite == k.Suite && match(x) })
		}
		under := func(c cell.Condition) tally { return of(func(x *Result) bool { return x.Condition == c.String() }) }
		conditions := slices.DeleteFunc(cell.Conditions(), func(c cell.Condition) bool { return under(c).cells() == 0 })
		row := func(name string, cell func(cell.Condition) string) {
			e.Printf("%-34s", name)
			for _, c := range conditions {
				e.Printf(" %13s", cell(c)) // the width of "duplicate 5 %"
			}
			e.Printf("\n")
		}
		e.Printf("\nLinux %s (%s)\n", k.Release, k.Package)
		row("", func(c cell.Condition) string { return c.Name })
		row("passed of all cells", func(c cell.Condition) string { return c.Direction.String() })
		for _, t := range r.group().Tools() {
			if of(func(x *Result) bool { return x.Tool == t.Name }).cells() == 0 {
				continue
			}
			row(t.Name, func(c cell.Condition) string {
				n := of(func(x *Result) bool { return x.Condition == c.String() && x.Tool == t.Name })
				return fmt.Sprintf("%d/%d", n.passed, n.cells())
			})
		}
		row("packets, ICRC checked", func(c cell.Condition) string { return strconv.Itoa(under(c).packets) })
	}
	all := tallyOf(r.Results, func(*Result) bool { return true })
	e.Printf("\n%d cells: %d passed, %d failed; %d packets captured and ICRC-checked (%d datagrams held several); %v\n",
		all.cells(), all.passed, all.failed, all.packets, all.merged, r.Duration.Round(time.Second))
	return e.Err
}
