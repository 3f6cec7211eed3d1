package trace

import (
	"math"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
)

// Flow is one connection, or the datagrams between two queue pairs.
type Flow struct {
	Number  int // from 1, in the order of the first packets
	Service bth.Service
	// Ends are the two queue pairs. The first is the one that asks first, as far as the capture shows.
	Ends  [2]End
	First int // number of the frame of the first packet
	Begin time.Time
	Last  time.Time

	// Managed is set where the capture shows the exchange of the connection manager.
	Managed *Managed
	// Running is set where the connection was there before the capture: what happened before is not known.
	Running bool
	// Path MTU in bytes that the packets show; 0 where no message has several packets. Exact is set where the CM said so.
	MTU   int
	Exact bool

	Packets, Bytes   uint64 // on the wire, from BTH to ICRC
	Payload          uint64 // bytes that arrived for the first time, of requests and READ responses
	Messages         uint64
	Again            uint64 // packets that were sent again
	Lost             uint64 // packets that the capture shows to be missing at the receiver
	NAKs, RNRs, CNPs uint64
	Timeouts         uint64 // retransmissions that no NAK asked for
	Window           int    // most packets that were under way at a time, by either end
	RTT              RTT    // from a request packet that asks for an acknowledgement to that
	Err              string // how the connection failed; empty if it did not

	// Cut is set when the flow was given up before its end because too many were followed.
	Cut bool

	chosen bool // a Pipeline has shown a packet of it, or of a flow that was joined to it
}

// End is a queue pair.
type End struct {
	Addr netip.Addr
	QPN  bth.QPN // 0 while it is not known: no packet to it was captured
}

// RTT are the round trips of a flow.
type RTT struct {
	Count         int
	Min, Max, Sum time.Duration
}

// add counts a round trip of ns nanoseconds.
func (r *RTT) add(ns int64) {
	d := time.Duration(ns)
	if d < 0 || d > math.MaxInt64-r.Sum {
		return // times that go back, or that no clock shows
	}
	if r.Count == 0 || d < r.Min {
		r.Min = d
	}
	r.Max = max(r.Max, d)
	r.Sum += d
	r.Count++
}

// Managed is what the connection manager's exchange of a flow says.
type Managed struct {
	ServiceID uint64
	Port      uint16 // of rdma_cm, from the service ID; 0 for others
	Asked     time.Time
	Took      time.Duration // from the first REQ to the RTU
	Retries   int
	Rejected  string // the reason of the REJ in words
	Ended     bool   // DREQ and DREP were seen
}

// noTime is the time in nanoseconds of a packet whose time is not known, because the capture has none or because it has one that
// nanoseconds since 1970 in 63 bits cannot express, which no clock shows. Nothing can be concluded from the distance to it.
const noTime = math.MinInt64

func nanoseconds(t time.Time) int64 {
	if s := t.Unix(); s < 0 || s >= math.MaxInt64/int64(time.Second) {
		return noTime
	}
	return t.UnixNano()
}

// since returns the time from at to the packet in hand in nanoseconds, 0 if it is not known.
func (a *Analyzer) since(at int64) int64 {
	if a.at == noTime || at == noTime {
		return 0
	}
	return a.at - at
}

// roundTrip counts the time from at to the packet in hand to the round trips of c, if it is known.
func (a *Analyzer) roundTrip(c *conn, at int64) {
	if a.at != noTime && at != noTime {
		c.RTT.add(a.at - at)
	}
}

// elapsed returns the time between two packets; 0 if it is not known: one of them has no time, or the later one the earlier time.
func elapsed(from, to time.Time) time.Duration {
	d := to.Sub(from)
	if d < 0 || d == math.MaxInt64 {
		return 0
	}
	return d
}
