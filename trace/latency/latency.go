// Package latency summarizes the messages of a trace by verb and size: how many there were, how
// long they took, and how many failed.
//
//	t := latency.New()
//	pipeline := trace.Pipeline{Outputs: []trace.Output{t}}
//	err := pipeline.Run(ctx, capture)
//	for _, r := range t.Rows() { … }
//
// The latency of a message is [trace.Message.Latency], the time from its first packet to its last
// response at the capture point. Percentiles have two significant digits.
package latency

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/gorxe/gorxe/internal/histogram"
	"github.com/gorxe/gorxe/trace"
)

// maxClass is the largest size class: messages of more than 2 GiB, which no verb allows.
const maxClass = 33

// Table has a cell for each verb and size class, at most 10 × 34 of 30 KiB each. It is an output of
// a [trace.Pipeline].
type Table struct {
	cells map[key]*cell
	last  *cell // of the latest message
	key   key   // of last
}

type key struct {
	verb  string
	class int
}

// cell is the state of a row.
type cell struct {
	Row
	times *histogram.Times // nil: no latencies
}

// Row summarizes the messages of one verb and one size class.
type Row struct {
	Verb string `json:"verb"`
	// MinBytes and MaxBytes are the limits of the size class, both inclusive: 0, 1, 2, 3 to 4, 5 to
	// 8 and so on.
	MinBytes uint64 `json:"min_bytes"`
	MaxBytes uint64 `json:"max_bytes"`

	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Failed   uint64 `json:"failed"` // messages with Message.Failed
	// Open are the messages without a response in the capture, and those of unreliable services.
	Open  uint64 `json:"open"`
	Again uint64 `json:"again"` // retransmitted packets

	// Count is the number of messages whose latency is known; the others describe these.
	Count uint64        `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	P999  time.Duration `json:"p99_9_ns"`
	Max   time.Duration `json:"max_ns"`
}

// Bucket is one bucket of a histogram. Count is the number of latencies that are greater than UpTo
// of the previous bucket and at most UpTo.
type Bucket struct {
	UpTo  time.Duration
	Count int64
}

// New returns an empty table.
func New() *Table { return &Table{cells: map[key]*cell{}} }

// Packet does nothing: a Table counts whole messages.
func (t *Table) Packet(*trace.Packet) error { return nil }

// Message counts m, which has ended.
func (t *Table) Message(m *trace.Message) error {
	c := t.cell(key{m.Verb, class(m.Bytes)})
	c.Messages++
	c.Bytes += m.Bytes
	c.Again += uint64(max(m.Again, 0))
	switch {
	case m.Failed != "":
		c.Failed++
	case !m.Done:
		c.Open++
	}
	if !m.HasLatency() {
		return nil
	}
	if c.times == nil {
		c.times = histogram.New()
	}
	c.Count++
	c.Max = max(c.Max, m.Latency())
	c.times.AddDuration(m.Latency())
	return nil
}

func (t *Table) cell(k key) *cell {
	if t.last != nil && t.key == k {
		return t.last
	}
	c := t.cells[k]
	if c == nil {
		c = &cell{Row: Row{Verb: k.verb}}
		c.MinBytes, c.MaxBytes = limits(k.class)
		t.cells[k] = c
	}
	t.last, t.key = c, k
	return c
}

// class returns the size class of n bytes: 0 for no bytes, and otherwise k for 2^(k-2)+1 to 2^(k-1)
// bytes.
func class(n uint64) int {
	if n == 0 {
		return 0
	}
	return min(1+bits.Len64(n-1), maxClass)
}

// limits returns the smallest and the largest size of a class.
func limits(class int) (lo, hi uint64) {
	switch class {
	case 0:
		return 0, 0
	case 1:
		return 1, 1
	case maxClass:
		return 1<<(class-2) + 1, 1<<64 - 1
	}
	return 1<<(class-2) + 1, 1 << (class - 1)
}

// Rows returns the rows in order of verb and size. Verbs are in the order of [trace.Verbs].
func (t *Table) Rows() []Row {
	var rows []Row
	for _, c := range t.sorted() {
		rows = append(rows, c.row())
	}
	return rows
}

// row returns the row of c with its percentiles.
func (c *cell) row() Row {
	r := c.Row
	if c.times != nil {
		// A bucket of the histogram has a width of 1 %: its limit may exceed the maximum.
		r.P50 = min(c.times.DurationAt(50), r.Max)
		r.P99 = min(c.times.DurationAt(99), r.Max)
		r.P999 = min(c.times.DurationAt(99.9), r.Max)
	}
	return r
}

func (t *Table) sorted() []*cell {
	verbs := trace.Verbs()
	var all []*cell
	for _, c := range t.cells {
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y *cell) int {
		return cmp.Or(cmp.Compare(slices.Index(verbs, x.Verb), slices.Index(verbs, y.Verb)),
			cmp.Compare(x.Verb, y.Verb), cmp.Compare(x.MinBytes, y.MinBytes))
	})
	return all
}

// Histogram returns the latencies of the row of a verb and of the size class with the given
// smallest size, in ascending order.
func (t *Table) Histogram(verb string, minBytes uint64) []Bucket {
	c := t.cells[key{verb, class(minBytes)}]
	if c == nil || c.times == nil {
		return nil
	}
	var out []Bucket
	for _, b := range c.times.Bars() {
		out = append(out, Bucket{time.Duration(b.UpTo*1e3 + 0.5), b.Count})
	}
	return out
}

// Verb summarizes all messages of one verb.
type Verb struct {
	Verb     string `json:"verb"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Failed   uint64 `json:"failed"`
	Open     uint64 `json:"open"`
}

// Verbs returns the mix of verbs, those with the most bytes first.
func (t *Table) Verbs() []Verb {
	var all []Verb
	for _, c := range t.sorted() {
		if len(all) == 0 || all[len(all)-1].Verb != c.Verb {
			all = append(all, Verb{Verb: c.Verb})
		}
		v := &all[len(all)-1]
		v.Messages += c.Messages
		v.Bytes += c.Bytes
		v.Failed += c.Failed
		v.Open += c.Open
	}
	slices.SortStableFunc(all, func(x, y Verb) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(y.Messages, x.Messages))
	})
	return all
}
