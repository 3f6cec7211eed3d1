package join

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// Report is the result of [Join].
type Report struct {
	Captures   [2]Capture // A and B
	Clock      Clock
	Directions []*Direction // in order of their first packets
	Losses     []Loss       // in order of time
	// Omitted is the number of losses beyond the limit on Losses. The totals include them.
	Omitted uint64
	Total   Counts
	Delays  [2]Delay // of all packets from A to B, and from B to A
	// Unjudged is the number of packets of directions beyond the limit on Directions.
	Unjudged uint64
	// Early is the number of packets that were judged before Options.Wait had passed, because too
	// many were waiting.
	Early uint64
}

// Capture describes one of the two captures.
type Capture struct {
	Name        string
	Counts      trace.Counts
	First, Last time.Time // times of the first and the last frame
	// Copies is the number of packets that were left out because an earlier frame has them, too;
	// see [trace.Copies].
	Copies uint64
}

// Counts are numbers of packets of a direction, or of all.
type Counts struct {
	Both    uint64    // in both captures
	Outside uint64    // in one, at a time that the other capture does not cover
	Lost    [4]uint64 // by [Where], from Before to Somewhere
	Missed  [2]uint64 // missing in capture A, and in capture B, although they were not lost
	Corrupt uint64    // with a wrong ICRC at the second capture point only
	Marked  uint64    // marked with ECN CE between the capture points
	// Late is the number of requests that were sent again after a timeout although they had
	// arrived: the response was late, or was lost behind the second capture point.
	Late uint64
}

// add adds o to c.
func (c *Counts) add(o *Counts) {
	c.Both += o.Both
	c.Outside += o.Outside
	for i := range c.Lost {
		c.Lost[i] += o.Lost[i]
	}
	for i := range c.Missed {
		c.Missed[i] += o.Missed[i]
	}
	c.Corrupt += o.Corrupt
	c.Marked += o.Marked
	c.Late += o.Late
}

// Direction has the packets to a queue pair from one host.
type Direction struct {
	Src, Dst netip.Addr
	QPN      bth.QPN // destination queue pair
	SrcQPN   bth.QPN // source queue pair; 0 if unknown
	// First is "A" or "B", the capture point that the packets pass first; "" if unknown.
	First string
	// Hops is the number of routers between the capture points.
	Hops   int
	Counts Counts
	Delay  Delay
}

// Delay summarizes the one-way delays between the capture points. P50 and P99 are accurate to 12 %.
type Delay struct {
	Count    uint64
	Min, Max time.Duration
	P50, P99 time.Duration
}

// Where is the place of a loss on the path of the packet.
type Where uint8

const (
	Before    Where = iota // before the first capture point
	Between                // between the capture points
	Behind                 // behind the second capture point
	Somewhere              // unknown, like the order of the capture points, or the responses
	MissedByA              // not lost: capture A has no record of it
	MissedByB              // not lost: capture B has no record of it
)

// String returns the place in a form that JSON output uses.
func (w Where) String() string {
	return [...]string{"before", "between", "behind", "unknown", "missed_by_a", "missed_by_b"}[min(w, MissedByB)]
}

// Loss is a packet that was lost, or is missing in one capture. Index 0 of the frame numbers is
// capture A, 1 capture B; 0 means none.
type Loss struct {
	Where     Where
	Direction *Direction
	Time      time.Time // in the clock of capture A
	Class     string    // "request", "response", "ack" or "other"
	PSN       bth.PSN
	Frames    [2]int // frames of the packet
	Next      [2]int // frames of the packets that arrived instead of it
	NAKs      [2]int // frames of the NAK for it
	Again     [2]int // frames of its retransmission
	// Timeout reports whether the retransmission followed a timeout.
	Timeout bool
}
