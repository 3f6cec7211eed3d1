package world

import (
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
)

// Stats counts what happened in runs.
type Stats struct {
	Conversations   uint64 // pairs of queue pairs that ran their programs to the end
	Requests        uint64
	Completions     uint64
	Events          [qp.NumEventTypes]uint64
	Errors          uint64 // completions with an error that was provoked, flushed ones included
	RetriesExceeded uint64
	Multicasts      uint64 // datagrams that members of groups accepted
	Kept, Probes    uint64 // requests kept until one before them came, probes of requesters
	Overflows, Lost uint64 // CQs that overflowed, completions that were lost
	Packets, Bytes  uint64 // sent, IP headers included
	Steps           uint64
	// What links did to packets, and the corrupt packets that nodes found.
	Dropped, Unreachable, Duplicated, Delayed, Corrupted, Caught uint64
	Virtual                                                      scenario.Time
}

// Faults is how many packets were lost, late, repeated or corrupt.
func (s *Stats) Faults() uint64 {
	return s.Dropped + s.Unreachable + s.Duplicated + s.Delayed + s.Corrupted
}

// Add adds o to s.
func (s *Stats) Add(o *Stats) {
	s.Conversations += o.Conversations
	s.Requests += o.Requests
	s.Completions += o.Completions
	s.Errors += o.Errors
	s.RetriesExceeded += o.RetriesExceeded
	s.Multicasts += o.Multicasts
	s.Kept += o.Kept
	s.Probes += o.Probes
	s.Overflows += o.Overflows
	s.Lost += o.Lost
	s.Packets += o.Packets
	s.Bytes += o.Bytes
	s.Steps += o.Steps
	s.Dropped += o.Dropped
	s.Unreachable += o.Unreachable
	s.Duplicated += o.Duplicated
	s.Delayed += o.Delayed
	s.Corrupted += o.Corrupted
	s.Caught += o.Caught
	s.Virtual += o.Virtual
	for i, n := range o.Events {
		s.Events[i] += n
	}
}
