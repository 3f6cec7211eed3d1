package series

import (
	"time"

	"github.com/gorxe/gorxe/trace"
)

// Row has the numbers of one interval. Intervals without packets have no row.
type Row struct {
	// Index is the index of the interval: it begins Index * Collector.Interval after
	// Collector.Begin.
	Index int64

	Packets   uint64
	Bytes     uint64 // from BTH to ICRC, as in Flow.Bytes
	Delivered uint64 // payload bytes that arrived in order for the first time
	Capable   uint64 // packets of ECN-capable senders, without CNPs; switches can mark these
	Events    trace.Events

	// InFlight and Outstanding are the maxima of Packet.InFlight and Packet.Outstanding. In a
	// series of several flows they are those of the flow with the largest value, not sums.
	InFlight, Outstanding int
	RTT                   trace.RTT
}

// Lost returns the number of packets that were found to be lost, before or behind the capture
// point.
func (r *Row) Lost() int64 { return r.Events.LostBefore + r.Events.LostBehind }

// CEShare returns the share of marked packets among all that can be marked, 0 to 1.
func (r *Row) CEShare() float64 {
	if r.Capable == 0 {
		return 0
	}
	return min(1, float64(max(r.Events.CE, 0))/float64(r.Capable))
}

// Goodput returns the delivered payload in bits per second.
func (r *Row) Goodput(interval time.Duration) float64 { return perSecond(r.Delivered, interval) }

// Throughput returns the bytes of all packets in bits per second.
func (r *Row) Throughput(interval time.Duration) float64 { return perSecond(r.Bytes, interval) }

func perSecond(bytes uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(bytes) * 8 / d.Seconds()
}

// add counts p.
func (r *Row) add(p *trace.Packet) {
	r.Packets++
	r.Bytes += uint64(p.Len)
	r.Delivered += uint64(p.Delivered)
	if p.IP.TrafficClass&3 != 0 && p.Role != trace.CNP {
		r.Capable++
	}
	if p.Events != (trace.Events{}) {
		r.Events = r.Events.Plus(p.Events)
	}
	r.InFlight = max(r.InFlight, p.InFlight)
	r.Outstanding = max(r.Outstanding, p.Outstanding)
	if p.RTT > 0 {
		addRTT(&r.RTT, trace.RTT{Count: 1, Min: p.RTT, Max: p.RTT, Sum: p.RTT})
	}
}

// include adds the numbers of o.
func (r *Row) include(o *Row) {
	r.Packets += o.Packets
	r.Bytes += o.Bytes
	r.Delivered += o.Delivered
	r.Capable += o.Capable
	r.Events = r.Events.Plus(o.Events)
	r.InFlight = max(r.InFlight, o.InFlight)
	r.Outstanding = max(r.Outstanding, o.Outstanding)
	addRTT(&r.RTT, o.RTT)
}

// addRTT adds the samples of o to r, unless the sum would overflow.
func addRTT(r *trace.RTT, o trace.RTT) {
	if o.Count == 0 || r.Sum+o.Sum < r.Sum {
		return
	}
	if r.Count == 0 || o.Min < r.Min {
		r.Min = o.Min
	}
	r.Max = max(r.Max, o.Max)
	r.Sum += o.Sum
	r.Count += o.Count
}
