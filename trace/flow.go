package trace

import (
	"math"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/ulp"
)

// Flow is a connection, or the datagrams between two queue pairs.
type Flow struct {
	Number  int // from 1, in order of the first packets
	Service bth.Service
	// Ends are the two queue pairs. The first one sent the REQ, or, if the capture has no CM
	// exchange, the first request or datagram.
	Ends [2]End
	// VNI is the innermost VNI or VSID of the first packet, if HasVNI is set; see
	// [tunnel.Layer.VNI]. Packets of different virtual networks belong to different flows.
	VNI    uint32
	HasVNI bool
	First  int       // frame number of the first packet
	Begin  time.Time // time of the first packet
	Last   time.Time // time of the latest packet

	// CM summarizes the CM exchange that established the connection; nil if the capture does not
	// show it.
	CM *Managed
	// BeganBefore reports whether the connection began before the capture.
	BeganBefore bool
	// MTU is the path MTU in bytes, 0 if unknown. MTUExact reports whether the REQ specified it;
	// otherwise it is derived from packet lengths.
	MTU      int
	MTUExact bool

	Packets, Bytes   uint64 // on the wire, from BTH to ICRC
	Payload          uint64 // bytes delivered in requests and READ responses, without retransmissions
	Messages         uint64 // of both ends
	Again            uint64 // retransmitted packets
	Duplicates       uint64 // packets that the network duplicated
	LostBefore       uint64 // packets that did not reach the capture point
	LostBehind       uint64 // packets that passed the capture point and that a NAK reports missing
	NAKs, RNRs, CNPs uint64 // NAKs are without RNR NAKs
	CE               uint64 // packets with ECN Congestion Experienced
	Timeouts         uint64 // times that an end began to retransmit after a timeout
	Undecided        uint64 // times that an end began to retransmit for a reason that the capture does not show
	Window           int    // maximum number of packets in flight, the larger of both ends
	RTT              RTT    // from a READ, an atomic or a request with AckReq to its first response
	Err              string // why the connection failed; empty if it did not

	// Active is the part of the time from Begin to Last in which requests were outstanding. For
	// unreliable services, whose requests are not answered, it is the sum of the times between
	// packets that are at most a millisecond apart. CM messages do not count.
	Active time.Duration

	// ULP is the upper-layer protocol: that of the port in the REQ, or that of a SEND that only one
	// protocol has; see [ulp.FromREQ] and [ulp.FromSEND].
	ULP ulp.Protocol

	// Evicted reports whether the flow was evicted before its end, because of the limit on flows.
	Evicted bool

	selected bool  // a Pipeline selected a packet of this flow, or of one that was merged into it
	merged   *Flow // flow that this one was merged into, or nil
	reported Events
}

// Events are the amounts by which a packet increased the counters of its flow that have the same
// names. LostBefore is negative if the packet shows that packets counted as lost never existed.
type Events struct {
	Again, Duplicates, LostBefore, LostBehind int64
	NAKs, RNRs, CNPs, CE, Timeouts, Undecided int64
}

// Current returns the flow that f was merged into because the two turned out to be the directions
// of one connection, or f if it was not merged.
func (f *Flow) Current() *Flow {
	for f.merged != nil {
		f = f.merged
	}
	return f
}

// counters returns the counters of f.
func (f *Flow) counters() Events {
	return Events{
		Again: int64(f.Again), Duplicates: int64(f.Duplicates), LostBefore: int64(f.LostBefore),
		LostBehind: int64(f.LostBehind), NAKs: int64(f.NAKs), RNRs: int64(f.RNRs), CNPs: int64(f.CNPs),
		CE: int64(f.CE), Timeouts: int64(f.Timeouts), Undecided: int64(f.Undecided),
	}
}

// changed reports whether a counter of f differs from f.reported. It is called for every packet.
func (f *Flow) changed() bool {
	r := &f.reported
	return int64(f.Again) != r.Again || int64(f.LostBefore) != r.LostBefore || int64(f.CE) != r.CE ||
		int64(f.NAKs) != r.NAKs || int64(f.RNRs) != r.RNRs || int64(f.CNPs) != r.CNPs ||
		int64(f.Duplicates) != r.Duplicates || int64(f.LostBehind) != r.LostBehind ||
		int64(f.Timeouts) != r.Timeouts || int64(f.Undecided) != r.Undecided
}

// events returns the increase of the counters of f since the last call.
func (f *Flow) events() Events {
	now := f.counters()
	d := now.plus(f.reported, -1)
	f.reported = now
	return d
}

// plus returns e plus times*o.
func (e Events) plus(o Events, times int64) Events {
	return Events{
		Again: e.Again + times*o.Again, Duplicates: e.Duplicates + times*o.Duplicates,
		LostBefore: e.LostBefore + times*o.LostBefore, LostBehind: e.LostBehind + times*o.LostBehind,
		NAKs: e.NAKs + times*o.NAKs, RNRs: e.RNRs + times*o.RNRs, CNPs: e.CNPs + times*o.CNPs,
		CE: e.CE + times*o.CE, Timeouts: e.Timeouts + times*o.Timeouts, Undecided: e.Undecided + times*o.Undecided,
	}
}

// Plus returns the sums of e and o.
func (e Events) Plus(o Events) Events { return e.plus(o, 1) }

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

// add adds a sample of ns nanoseconds, unless it is negative or the sum would overflow. It reports
// whether it did.
func (r *RTT) add(ns int64) bool {
	d := time.Duration(ns)
	if d < 0 || d > math.MaxInt64-r.Sum {
		return false // timestamps that go back or are unrealistic
	}
	if r.Count == 0 || d < r.Min {
		r.Min = d
	}
	r.Max = max(r.Max, d)
	r.Sum += d
	r.Count++
	return true
}

// Managed summarizes the CM exchange of a flow.
type Managed struct {
	ServiceID uint64
	Port      uint16        // port in the ServiceID of rdma_cm; 0 for other services
	Requested time.Time     // time of the first REQ
	SetupTime time.Duration // from the first REQ to the RTU; 0 if unknown
	Retries   int           // retransmitted CM messages
	Rejected  string        // reason of the REJ, as text; "" without a REJ
	Ended     bool          // a DREP was seen
}

// noTime is the result of nanoseconds for an unknown time: the capture has no time for the packet,
// or a time that does not fit into 63 bits of nanoseconds since 1970. It must not be used in a
// subtraction.
const noTime = math.MinInt64

// nanoseconds returns t in nanoseconds since 1970, or noTime.
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

// roundTrip adds the time from at to the current packet as an RTT sample of c, if both times are
// known.
func (a *Analyzer) roundTrip(c *conn, at int64) {
	if a.at != noTime && at != noTime && c.RTT.add(a.at-at) {
		a.p.RTT = time.Duration(a.at - at)
	}
}

// activeGap is the maximum time between two packets of an unreliable service that is part of
// Flow.Active.
const activeGap = time.Millisecond

// countActive adds the time from the previous packet of c to the current one to Flow.Active, if
// requests were outstanding.
func (a *Analyzer) countActive(c *conn) {
	if d := a.since(c.at); d > 0 && (c.busy || c.Service != bth.ServiceRC && d <= int64(activeGap)) {
		c.Active += time.Duration(d)
	}
	c.at = a.at
}

// delivered counts n payload bytes of c that arrived in order for the first time.
func (a *Analyzer) delivered(c *conn, n int) {
	c.Payload += uint64(n)
	a.p.Delivered += n
}

// elapsed returns to-from, or 0 if that is negative or either time is unknown.
func elapsed(from, to time.Time) time.Duration {
	d := to.Sub(from)
	if d < 0 || d == math.MaxInt64 {
		return 0
	}
	return d
}
