// Package copies recognizes packets that a capture contains several times because it was made at
// several points: on the pseudo-interface "any", on several interfaces of a host, or merged from
// several captures.
package copies

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"slices"
	"time"
)

const (
	// slots is the number of packets that a Table remembers, by hash: a later packet with the same
	// slot replaces the earlier one. Copies are at most a few thousand packets apart.
	slots = 1 << 13
	// MaxPoints is the number of capture points that are told apart.
	MaxPoints = 8
	// maxHashed is the number of bytes from the BTH on that are compared. With the ICRC, which is
	// compared, too, they identify a packet.
	maxHashed = 64
	// unnumbered is the maximum time after which the same bytes are the same packet, if it is not
	// Numbered.
	unnumbered = time.Millisecond
	// maxAge is the maximum time between a packet and its copy.
	maxAge = time.Second
)

// Point identifies where a packet was captured.
type Point struct {
	Interface int // number of the interface in the capture or on the host; 0 if unknown
	Out       bool
	In        bool
}

// Sighting is a packet at a capture point.
type Sighting struct {
	Point    Point
	Src, Dst netip.Addr
	Bytes    []byte // from the BTH on, as far as captured
	Len      int    // from BTH to ICRC, on the wire
	ID       uint16 // IP identification
	Frame    int
	Time     time.Time // zero if unknown
	// Numbered reports whether ID identifies the datagram, so that a retransmission has another
	// one.
	Numbered bool
	// AnyPoint means that Point does not distinguish all points: a packet with the same bytes at
	// the same point is a copy, too, if it is Numbered or comes within a millisecond.
	AnyPoint bool
}

// Table recognizes copies. The zero value is ready to use.
type Table struct {
	seed   maphash.Seed
	points []Point // at most MaxPoints; further ones count as the last
	latest int     // index of the latest point
	slot   []slot

	// Repeated is the number of packets that would be copies with AnyPoint: packets that the
	// network duplicated, or all packets of a merged capture that does not tell points apart.
	Repeated uint64
}

// slot is a packet with its copies.
type slot struct {
	hash  uint64
	frame int              // of the latest packet that is no copy
	at    time.Time        // of frame
	most  uint8            // number of sightings that are no copies: the maximum of count
	count [MaxPoints]uint8 // number of sightings at each point
}

// Original returns the frame of which s is a copy, 0 if it is none. A packet is a copy if another
// point saw the same bytes more often than its own so far: a retransmission, or a packet that the
// network duplicated, reaches all points again.
func (t *Table) Original(s *Sighting) (frame int) {
	if t.slot == nil {
		*t = Table{seed: maphash.MakeSeed(), slot: make([]slot, slots)}
	}
	n := t.point(s.Point)
	h := t.hash(s)
	e := &t.slot[h%slots]
	if e.hash != h || s.Time.Sub(e.at) > maxAge || e.most == 255 {
		*e = slot{hash: h}
	}
	e.count[n]++
	if e.count[n] <= e.most {
		return e.frame
	}
	if e.frame > 0 && (s.Numbered || s.Time.Sub(e.at) <= unnumbered) {
		if s.AnyPoint {
			return e.frame
		}
		t.Repeated++
	}
	e.most, e.frame, e.at = e.count[n], s.Frame, s.Time
	return 0
}

// point returns the index of p.
func (t *Table) point(p Point) int {
	if t.latest < len(t.points) && t.points[t.latest] == p {
		return t.latest
	}
	i := slices.Index(t.points, p)
	switch {
	case i < 0 && len(t.points) == MaxPoints:
		i = MaxPoints - 1
	case i < 0:
		i = len(t.points)
		t.points = append(t.points, p)
	}
	t.latest = i
	return i
}

// ends identifies a packet of which the ICRC was not captured.
type ends struct {
	src, dst netip.Addr
	id       uint16
}

// hash returns the hash of the compared bytes.
func (t *Table) hash(s *Sighting) uint64 {
	h := maphash.Bytes(t.seed, s.Bytes[:min(len(s.Bytes), maxHashed)])
	switch n := len(s.Bytes); {
	case n < s.Len: // without the ICRC, which covers the IP header
		h ^= maphash.Comparable(t.seed, ends{s.Src, s.Dst, s.ID})
	case n > maxHashed:
		h ^= uint64(binary.BigEndian.Uint32(s.Bytes[n-4:])) * 0x9e3779b97f4a7c15
	}
	return h | 1 // 0 is an empty slot
}
