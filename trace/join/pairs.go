package join

import (
	"net/netip"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

const (
	// maxPairs is the maximum number of pairs of hosts whose order of capture points is found.
	maxPairs = 4096
	// heldSamples is the maximum number of samples per pair that wait until its order is known.
	heldSamples = 64
	// enough is the score from which the order is known; see pair.score.
	enough = 4
	// maxGap is the maximum time in nanoseconds between packets of both directions whose sum of
	// differences tells the order.
	maxGap = 10_000_000
	// maxDrift is the assumed maximum drift of the two clocks: 200 ns per ms.
	maxDrift = 5000 // reciprocal
)

// pairKey is two hosts, the lower address first.
type pairKey struct{ x, y netip.Addr }

// pair is two hosts with packets in both captures.
type pair struct {
	// score is positive if capture A is closer to x, that is, packets from x pass A first.
	score int
	last  [2]sample // latest samples of packets from x, and of packets from y
	held  []sample  // samples before the order was known
}

// sample is a packet in both captures.
type sample struct {
	tA, tB int64
	fromX  bool
	known  bool
}

// order tells which capture point packets pass first.
type order int8

const (
	unknownOrder order = iota
	aFirst
	bFirst
)

// of returns the order of packets from x, or those from y.
func (r *pair) of(fromX bool) order {
	switch {
	case r == nil || r.score == 0:
		return unknownOrder
	case r.score > 0 == fromX:
		return aFirst
	}
	return bFirst
}

// settled reports whether the order is known.
func (r *pair) settled() bool { return r.score >= enough || r.score <= -enough }

// vote changes the score by one sample: aFirst reports whether the packet from x (or y) passed A
// first.
func (r *pair) vote(fromX, aFirst bool, weight int) {
	if fromX != aFirst {
		weight = -weight
	}
	if n := r.score + weight; n < 1<<20 && n > -1<<20 {
		r.score = n
	}
}

// judge adds a sample. hops and ways are the hop limits and directions of the frames in both
// captures.
func (r *pair) judge(s sample, hops [2]uint8, ways [2]capture.Direction) {
	told := false
	if hops[0] != hops[1] {
		r.vote(s.fromX, hops[0] > hops[1], enough) // routers decrement it (RFC 791 3.2, RFC 8200 3)
		told = true
	}
	if ways[0] != ways[1] { // the sender has it as outbound, the receiver as inbound
		if aFirst := ways[0] == capture.Outbound || ways[1] == capture.Inbound; aFirst ||
			ways[1] == capture.Outbound || ways[0] == capture.Inbound {
			r.vote(s.fromX, aFirst, enough)
			told = true
		}
	}
	i := 0
	if !s.fromX {
		i = 1
	}
	r.last[i] = s
	o := &r.last[1-i]
	if !o.known || told {
		return
	}
	gap := s.tA - o.tA
	if gap < 0 {
		gap = -gap
	}
	if gap > maxGap {
		return
	}
	// The offset of the clocks cancels. If A is closer to the sender of s, both terms are delays.
	sum := (s.tB - s.tA) + (o.tA - o.tB)
	o.known = false
	switch {
	case sum > gap/maxDrift:
		r.vote(s.fromX, true, 1)
	case sum < -gap/maxDrift:
		r.vote(s.fromX, false, 1)
	}
}

// pairOf returns the pair of the hosts of p, nil at the limit, and whether p is from x.
func (j *joiner) pairOf(p *trace.Packet) (r *pair, fromX bool) {
	k := pairKey{p.Src.Addr(), p.Dst.Addr()}
	if fromX = k.x.Less(k.y); !fromX {
		k.x, k.y = k.y, k.x
	}
	r = j.pairs[k]
	if r == nil && len(j.pairs) < maxPairs {
		r = &pair{}
		j.pairs[k] = r
	}
	return r, fromX
}

// settle passes the sample s of r to the clock, or holds it until the order of r is known.
func (j *joiner) settle(r *pair, s sample) {
	if !r.settled() {
		if len(r.held) < heldSamples {
			r.held = append(r.held, s)
		}
		return
	}
	for _, h := range r.held {
		j.clock.add(h.tA, h.tB, r.of(h.fromX) == aFirst)
	}
	r.held = nil
	j.clock.add(s.tA, s.tB, r.of(s.fromX) == aFirst)
}
