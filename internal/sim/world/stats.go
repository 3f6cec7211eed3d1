package world

import (
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
)

// Stats counts what happened in one or more runs.
type Stats struct {
	Conversations   uint64 // connected pairs of queue pairs that ran their programs to the end
	Requests        uint64
	Completions     uint64
	Events          [qp.NumEventTypes]uint64
	Errors          uint64 // completions with an intended error, flushed ones included
	RetriesExceeded uint64
	Multicasts      uint64 // multicast datagrams that group members accepted
	Kept, Probes    uint64 // out-of-order requests that responders kept, probes that requesters sent
	Overflows, Lost uint64 // CQs that overflowed, completions that they lost
	Packets, Bytes  uint64 // sent, including IP headers
	Steps           uint64 // events of the world
	// Packets that links affected, and corrupt packets that nodes detected.
	Dropped, Unreachable, Duplicated, Delayed, Corrupted, Caught uint64
	Virtual                                                      scenario.Time
}

// Faults returns the number of lost, late, duplicated or corrupt packets.
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
