package join

import (
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// maxDirections is the maximum number of directions. Packets of further ones are counted only.
const maxDirections = 1 << 16

// directionKey identifies a direction: a BTH has only the destination queue pair.
type directionKey struct {
	src, dst netip.Addr
	to       bth.QPN
}

// direction is a Direction with the state that Join needs. Arrays are indexed by capture.
type direction struct {
	Direction
	pair   *pair
	fromX  bool
	delays *delays
	back   *direction // direction of the responses; nil if unknown
	// next is the PSN that the next packet is expected to have, of requests and of responses. read
	// is the READ that was requested last, if no packet followed it: its last PSN may not be known
	// yet.
	first [2]psn // of requests; later ones are higher, unless PSNs wrap
	next  [2][2]psn
	read  [2]*trace.Message
	acked [2]psn // first PSN that no response covers so far
	naked [2]psn // PSN of the latest sequence NAK
	// earliest and latest are the lowest and highest frame numbers, by capture, of packets that
	// both captures have.
	earliest, latest [2]int
	lost             lostPSN // latest request that was lost before the second capture point
	// timeouts are those that no response has followed, and resent the PSN after the highest that
	// was sent again since the first of them.
	timeouts [2][]*event
	resent   [2]psn
}

// lostPSN is a PSN and the time of its event in the clock of capture A.
type lostPSN struct {
	psn
	at int64
}

// both notes that both captures have a packet of d, with these frame numbers.
func (d *direction) both(frames [2]int) {
	for s, n := range frames {
		if d.earliest[s] == 0 {
			d.earliest[s] = n
		}
		d.earliest[s], d.latest[s] = min(d.earliest[s], n), max(d.latest[s], n)
	}
}

// psn is a PSN that may be unknown.
type psn struct {
	bth.PSN
	known bool
}

// directionOf returns the direction of p, nil at the limit.
func (j *joiner) directionOf(p *trace.Packet) *direction {
	k := directionKey{p.Src.Addr(), p.Dst.Addr(), p.BTH.DestQP}
	d := j.directions[k]
	if d == nil && len(j.directions) < maxDirections {
		d = &direction{Direction: Direction{Src: k.src, Dst: k.dst, QPN: k.to}}
		d.pair, d.fromX = j.pairOf(p)
		j.directions[k] = d
		j.report.Directions = append(j.report.Directions, &d.Direction)
		j.ordered = append(j.ordered, d)
	}
	if d != nil && d.back == nil && p.Flow != nil {
		j.connect(d, p.Flow)
	}
	return d
}

// connect finds the direction of the responses to d.
func (j *joiner) connect(d *direction, f *trace.Flow) {
	for i, e := range f.Ends {
		o := f.Ends[1-i]
		if e.QPN == 0 || o.QPN != d.QPN || o.Addr != d.Dst || e.Addr != d.Src {
			continue
		}
		d.SrcQPN = e.QPN
		if b := j.directions[directionKey{d.Dst, d.Src, e.QPN}]; b != nil {
			d.back, b.back = b, d
			b.SrcQPN = d.QPN
		}
		return
	}
}

// maxInFlight is the maximum number of PSNs by which a response is behind the latest request.
const maxInFlight = 1 << 14

// answered returns the direction whose requests p, a response of d in the capture of side, answers.
// It returns nil if the direction is unknown, or does not have the PSN: the Analyzer may have
// paired d with another one.
func (d *direction) answered(side int, p *trace.Packet) *direction {
	b := d.back
	if b == nil {
		return nil
	}
	n := b.expected(side, requests)
	first := b.first[side]
	if !n.known || n.Diff(p.BTH.PSN) < 0 || n.Diff(p.BTH.PSN) > maxInFlight || p.BTH.PSN.Diff(first.PSN) < 0 {
		return nil
	}
	return b
}

// covers reports whether the capture of side has a response that covers PSN s.
func (d *direction) covers(side int, s bth.PSN) bool {
	a := d.acked[side]
	return a.known && a.Diff(s) > 0
}

// order returns the order in which packets of d pass the capture points.
func (d *direction) order() order { return d.pair.of(d.fromX) }

// follow updates the expected PSNs of d in the capture of side with p.
func (d *direction) follow(side int, p *trace.Packet, c class) {
	if c > responses {
		return
	}
	d.next[side][c] = psn{p.BTH.PSN.Add(1), true}
	if c == requests {
		if f := &d.first[side]; !f.known {
			*f = psn{p.BTH.PSN, true}
		} else if p.BTH.PSN.Diff(f.PSN) > maxInFlight {
			f.PSN = p.BTH.PSN.Sub(maxInFlight)
		}
		d.read[side] = nil
		if p.BTH.Opcode.Info().Op == bth.OpReadRequest && p.Message != nil {
			d.read[side] = p.Message
		}
	}
}

// expected returns the PSN that was expected instead of that of a packet of class c.
func (d *direction) expected(side int, c class) psn {
	if m := d.read[side]; c == requests && m != nil {
		return psn{m.Last.Add(1), true}
	}
	return d.next[side][min(c, responses)]
}
