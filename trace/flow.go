package trace

import (
	"math"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
)

// Flow is a connection, or the datagrams between two queue pairs.
type Flow struct {
	Number  int // from 1, in order of the first packets
	Service bth.Service
	// Ends are the two queue pairs. The first is the one that sends requests first in the
	// capture.
	Ends  [2]End
	First int // frame number of the first packet
	Begin time.Time
	Last  time.Time

	// CM is not nil if the capture shows the CM exchange.
	CM *Managed
	// BeganBefore reports whether the connection began before the capture.
	BeganBefore bool
	// MTU is the path MTU in bytes, 0 if unknown. MTUExact reports whether the CM specified it;
	// otherwise it is derived from packet lengths.
	MTU      int
	MTUExact bool

	Packets, Bytes   uint64 // on the wire, from BTH to ICRC
	Payload          uint64 // bytes delivered in requests and READ responses, without retransmissions
	Messages         uint64
	Again            uint64 // retransmitted packets
	Lost             uint64 // packets that the capture shows as missing
	NAKs, RNRs, CNPs uint64
	Timeouts         uint64 // retransmissions that no NAK requested
	Window           int    // maximum number of packets in flight, of either end
	RTT              RTT    // from a request with AckReq to its acknowledgement
	Err              string // why the connection failed; empty if it did not

	// Evicted reports whether the flow was evicted before its end, because of the limit on flows.
	Evicted bool

	chosen bool // a Pipeline selected a packet of this flow, or of one that was merged into it
}

// End is a queue pair.
type End struct {
	Addr netip.Addr
	QPN  bth.QPN // 0 if unknown: no packet to it was captured
}

// RTT summarizes the RTT samples of a flow.
type RTT struct {
	Count         int
	Min, Max, Sum time.Duration
}

// add adds a sample of ns nanoseconds, unless it is negative or the sum would overflow.
func (r *RTT) add(ns int64) {
	d := time.Duration(ns)
	if d < 0 || d > math.MaxInt64-r.Sum {
		return // timestamps that go back or are unrealistic
	}
	if r.Count == 0 || d < r.Min {
		r.Min = d
	}
	r.Max = max(r.Max, d)
	r.Sum += d
	r.Count++
}

// Managed summarizes the CM exchange of a flow.
type Managed struct {
	ServiceID uint64
	Port      uint16 // from the service ID of rdma_cm; 0 for others
	Requested time.Time
	SetupTime time.Duration // from the first REQ to the RTU
	Retries   int
	Rejected  string // reason of the REJ, as text
	Ended     bool   // a DREP was seen
}

// noTime represents an unknown packet time in nanoseconds: the capture has none, or one that does
// not fit into 63 bits of nanoseconds since 1970. Differences with it are meaningless.
const noTime = math.MinInt64

func nanoseconds(t time.Time) int64 {
	if s := t.Unix(); s < 0 || s >= math.MaxInt64/int64(time.Second) {
		return noTime
	}
	return t.UnixNano()
}

// since returns the time from at to the current packet in nanoseconds, 0 if unknown.
func (a *Analyzer) since(at int64) int64 {
	if a.at == noTime || at == noTime {
		return 0
	}
	return a.at - at
}

// roundTrip adds the time from at to the current packet as an RTT sample of c, if known.
func (a *Analyzer) roundTrip(c *conn, at int64) {
	if a.at != noTime && at != noTime {
		c.RTT.add(a.at - at)
	}
}

// elapsed returns to-from, or 0 if that is negative or either time is unknown.
func elapsed(from, to time.Time) time.Duration {
	d := to.Sub(from)
	if d < 0 || d == math.MaxInt64 {
		return 0
	}
	return d
}
