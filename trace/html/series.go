package html

import (
	"cmp"
	"slices"
	"time"

	"github.com/gorxe/gorxe/trace"
)

const (
	// maxPoints is the maximum number of points of a series. If a series would exceed it, its
	// interval is doubled.
	maxPoints = 512
	// maxAllPoints is the maximum number of points of the series of all flows together. If they
	// exceed it, the maximum of each is halved.
	maxAllPoints = 1 << 16
	// maxSeries is the maximum number of flows with a series, so that each can have 16 points.
	maxSeries = maxAllPoints / 16
	// minInterval is the interval that a series begins with.
	minInterval = 10 * time.Microsecond
)

// collector collects what the plots over time show, of each flow and of all together. Unlike
// package series, whose rows have one interval and the maxima of single flows, it has an interval
// for each flow, so that a short flow has as many points as a long one, and sums what all
// requesters have in flight, also in intervals without packets.
type collector struct {
	total  series
	flows  map[*trace.Flow]*series
	points int // of all flows
	limit  int // maximum number of points of a flow; 0: maxPoints

	pending pending // of all flows
}

// series are sums and maxima over intervals of equal length that begin at the first packet. Only
// intervals with packets have a point.
type series struct {
	interval time.Duration
	points   []point // in order of index

	packets int        // number of packets
	pending [2]pending // by the end of the flow that requests
}

// pending is what an end of a flow waits for.
type pending struct{ inFlight, outstanding int }

func (p pending) plus(o pending) pending {
	return pending{p.inFlight + o.inFlight, p.outstanding + o.outstanding}
}

// point is what happened in an interval.
type point struct {
	index     int64  // number of intervals before it
	packets   uint64 // of all kinds
	bytes     uint64 // from BTH to ICRC
	delivered uint64 // payload in bytes, without retransmissions
	again     uint64 // retransmitted packets
	ce        uint64 // packets marked Congestion Experienced
	cnps      uint64
	rttSum    time.Duration
	rtts      uint64 // number of RTT samples

	// Sums over all requesters of the series: the maximum in the interval and the value at its end.
	inFlight, inFlightEnd       int // packets that were not acknowledged
	outstanding, outstandingEnd int // messages
}

// add adds k. begin is the time of the first packet. It returns the number of packets of k's flow
// so far, 0 if that is not counted.
func (c *collector) add(k *trace.Packet, begin time.Time) (packets int) {
	at := max(0, k.Time.Sub(begin))
	v := point{packets: 1, bytes: uint64(max(0, k.Len)), delivered: uint64(max(0, k.Delivered)),
		again: uint64(number(k.Again)), ce: uint64(number(k.IP.CE())), cnps: uint64(number(k.Role == trace.CNP))}
	if k.RTT > 0 {
		v.rttSum, v.rtts = k.RTT, 1
	}
	all := v
	if s := c.flow(k.Flow); s != nil {
		c.pend(s, k)
		s.packets++
		packets = s.packets
		v.wait(s.pending[0].plus(s.pending[1]))
		before := len(s.points)
		s.add(at, v, c.limit)
		c.points += len(s.points) - before
		for c.points > maxAllPoints {
			c.halve()
		}
	}
	all.wait(c.pending)
	c.total.add(at, all, maxPoints)
	return packets
}

// wait sets what requesters wait for at the time of v.
func (p *point) wait(w pending) {
	p.inFlight, p.inFlightEnd = w.inFlight, w.inFlight
	p.outstanding, p.outstandingEnd = w.outstanding, w.outstanding
}

// pend updates what the requester of k waits for.
func (c *collector) pend(s *series, k *trace.Packet) {
	end := from(k)
	switch k.Role {
	case trace.Request:
	case trace.Response, trace.Ack:
		end = 1 - end
	default:
		return
	}
	p := &s.pending[end]
	c.pending.inFlight += k.InFlight - p.inFlight
	c.pending.outstanding += k.Outstanding - p.outstanding
	*p = pending{k.InFlight, k.Outstanding}
}

// flow returns the series of f; nil if there are too many.
func (c *collector) flow(f *trace.Flow) *series {
	if f == nil {
		return nil
	}
	s := c.flows[f]
	if s != nil || len(c.flows) >= maxSeries {
		return s
	}
	if c.flows == nil {
		c.flows, c.limit = map[*trace.Flow]*series{}, maxPoints
	}
	s = &series{}
	c.flows[f] = s
	return s
}

// current returns the flows with a series by the flow that they were merged into, in order of their
// numbers.
func (c *collector) current() map[*trace.Flow][]*trace.Flow {
	parts := map[*trace.Flow][]*trace.Flow{}
	for f := range c.flows {
		parts[f.Current()] = append(parts[f.Current()], f)
	}
	for _, list := range parts {
		slices.SortFunc(list, func(x, y *trace.Flow) int { return cmp.Compare(x.Number, y.Number) })
	}
	return parts
}

// of returns the series of flows that were merged; nil without flows.
func (c *collector) of(parts []*trace.Flow) *series {
	if len(parts) == 0 {
		return nil
	}
	sum := c.flows[parts[0]]
	for _, f := range parts[1:] {
		sum = sum.plus(c.flows[f])
	}
	return sum
}

// plus returns the series of the packets of both s and o.
func (s *series) plus(o *series) *series {
	a, b := &series{interval: s.interval, points: slices.Clone(s.points)},
		&series{interval: o.interval, points: slices.Clone(o.points)}
	for a.interval < b.interval {
		a.double()
	}
	for b.interval < a.interval {
		b.double()
	}
	sum := &series{interval: a.interval}
	all := append(a.points, b.points...)
	slices.SortStableFunc(all, func(x, y point) int { return cmp.Compare(x.index, y.index) })
	for i := range all {
		if n := len(sum.points); n > 0 && sum.points[n-1].index == all[i].index {
			sum.points[n-1].merge(&all[i])
		} else {
			sum.points = append(sum.points, all[i])
		}
	}
	return sum
}

// halve halves the maximum number of points of each flow.
func (c *collector) halve() {
	c.limit /= 2
	c.points = 0
	for _, s := range c.flows {
		for s.interval > 0 && s.points[len(s.points)-1].index >= int64(c.limit) {
			s.double()
		}
		c.points += len(s.points)
	}
}

// add adds v at the time at after the first packet. Packets whose time goes back are added to the
// latest interval.
func (s *series) add(at time.Duration, v point, limit int) {
	if s.interval == 0 {
		s.interval = minInterval
	}
	for int64(at/s.interval) >= int64(limit) {
		s.double()
	}
	v.index = int64(at / s.interval)
	if n := len(s.points); n > 0 && v.index <= s.points[n-1].index {
		s.points[n-1].merge(&v)
		return
	}
	s.points = append(s.points, v)
}

// double doubles the interval.
func (s *series) double() {
	s.interval *= 2
	out := s.points[:0]
	for i := range s.points {
		v := s.points[i]
		v.index /= 2
		if n := len(out); n > 0 && out[n-1].index == v.index {
			out[n-1].merge(&v)
		} else {
			out = append(out, v)
		}
	}
	s.points = out
}

// merge adds v to the point.
func (p *point) merge(v *point) {
	p.packets += v.packets
	p.bytes += v.bytes
	p.delivered += v.delivered
	p.again += v.again
	p.ce += v.ce
	p.cnps += v.cnps
	p.rttSum += v.rttSum
	p.rtts += v.rtts
	p.inFlight = max(p.inFlight, v.inFlight)
	p.outstanding = max(p.outstanding, v.outstanding)
	p.inFlightEnd, p.outstandingEnd = v.inFlightEnd, v.outstandingEnd
}

// seriesData is a series in the page.
type seriesData struct {
	Interval int64     `json:"i"` // nanoseconds
	Points   [][]int64 `json:"p"` // see row
}

// seriesOf returns the data of s, nil for a series without points.
func seriesOf(s *series) *seriesData {
	if s == nil || len(s.points) == 0 {
		return nil
	}
	d := &seriesData{Interval: s.interval.Nanoseconds()}
	for i := range s.points {
		d.Points = append(d.Points, s.points[i].row())
	}
	return d
}

// row returns the values of a point in the order in which the script reads them, without zeros at
// the end.
func (p *point) row() []int64 {
	rtt := int64(0) // mean in nanoseconds
	if p.rtts > 0 {
		rtt = int64(p.rttSum) / int64(p.rtts)
	}
	r := []int64{p.index, int64(p.packets), int64(p.bytes), int64(p.delivered), int64(p.again), rtt, int64(p.ce),
		int64(p.cnps), int64(p.inFlight), int64(p.outstanding), int64(p.inFlightEnd), int64(p.outstandingEnd)}
	for r[len(r)-1] == 0 && len(r) > 1 {
		r = r[:len(r)-1]
	}
	return r
}
