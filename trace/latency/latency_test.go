package latency_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/latency"
)

// message returns a message with the given latency; a negative one means that it has no response.
func message(verb string, bytes uint64, took time.Duration) *trace.Message {
	begin := time.Unix(1000, 0)
	m := &trace.Message{Verb: verb, Bytes: bytes, Begin: begin, Packets: 1}
	if took >= 0 {
		m.Done, m.End = true, begin.Add(took)
	}
	return m
}

func add(t *testing.T, table *latency.Table, all ...*trace.Message) {
	t.Helper()
	for _, m := range all {
		if err := table.Message(m); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSizeClassesArePowersOfTwo(t *testing.T) {
	for _, tt := range []struct{ bytes, lo, hi uint64 }{
		{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 4}, {4, 3, 4}, {5, 5, 8}, {64 << 10, 32<<10 + 1, 64 << 10},
		{64<<10 + 1, 64<<10 + 1, 128 << 10}, {1 << 31, 1<<30 + 1, 1 << 31}, {1<<31 + 1, 1<<31 + 1, 1<<64 - 1},
		{1<<64 - 1, 1<<31 + 1, 1<<64 - 1},
	} {
		table := latency.New()
		add(t, table, message("SEND", tt.bytes, 0))
		if r := table.Rows(); len(r) != 1 || r[0].MinBytes != tt.lo || r[0].MaxBytes != tt.hi {
			t.Errorf("%d bytes: %+v", tt.bytes, r)
		}
		if h := table.Histogram("SEND", tt.lo); len(h) != 1 {
			t.Errorf("%d bytes: histogram %v", tt.bytes, h)
		}
	}
}

func TestRowsHavePercentilesOfKnownLatencies(t *testing.T) {
	table := latency.New()
	for i := range 1000 {
		add(t, table, message("WRITE", 4096, time.Duration(i+1)*time.Microsecond))
	}
	failed := message("WRITE", 4096, -1)
	failed.Failed, failed.Again = "remote access error", 3
	add(t, table, failed, message("WRITE", 4000, -1))
	r := table.Rows()[0]
	if r.Messages != 1002 || r.Count != 1000 || r.Failed != 1 || r.Open != 1 || r.Again != 3 ||
		r.Bytes != 1001*4096+4000 || r.Max != time.Millisecond {
		t.Errorf("%+v", r)
	}
	for _, tt := range []struct{ got, want time.Duration }{{r.P50, 500_000}, {r.P99, 990_000}, {r.P999, 999_000}} {
		if tt.got < tt.want || tt.got > tt.want+tt.want/50 {
			t.Errorf("percentile %v, want %v to 2 %% more", tt.got, tt.want)
		}
	}
	sum := int64(0)
	last := time.Duration(-1)
	for _, b := range table.Histogram("WRITE", r.MinBytes) {
		if sum += b.Count; b.UpTo <= last {
			t.Errorf("bucket %v after %v", b.UpTo, last)
		}
		last = b.UpTo
	}
	if sum != 1000 {
		t.Errorf("the histogram has %d latencies", sum)
	}
	if h := table.Histogram("READ", 1); h != nil {
		t.Errorf("a histogram without messages: %v", h)
	}
}

func TestVerbsAreSortedByBytesAndRowsByVerb(t *testing.T) {
	table := latency.New()
	add(t, table, message("READ", 10, 1), message("SEND", 1, 1), message("SEND", 0, -1), message("WRITE", 5, 1))
	want := []latency.Verb{{"READ", 1, 10, 0, 0}, {"WRITE", 1, 5, 0, 0}, {"SEND", 2, 1, 0, 1}}
	if diff := cmp.Diff(want, table.Verbs()); diff != "" {
		t.Error(diff)
	}
	var order []string
	for _, r := range table.Rows() {
		order = append(order, r.Verb)
	}
	if diff := cmp.Diff([]string{"SEND", "SEND", "WRITE", "READ"}, order); diff != "" {
		t.Error(diff)
	}
}
