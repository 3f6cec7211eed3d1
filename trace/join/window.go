package join

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// maxPending is the maximum number of packets that wait for their counterpart in the other
// capture. At the limit, the oldest is taken as one that only its capture has.
const maxPending = 1 << 18

// none is the index of no entry.
const none = -1

// entry is a packet that only one capture has so far.
type entry struct {
	key      uint64
	at       int64 // time in its own capture in nanoseconds since 1970
	dir      *direction
	frame    int
	psn      bth.PSN
	icrc     uint32 // 0 unless the ICRC is right
	side     uint8  // 0: capture A, 1: capture B
	class    class
	hop, tos uint8             // hop limit; traffic class
	wrong    bool              // wrong ICRC
	again    bool              // retransmission
	way      capture.Direction // of the frame at the capturing host

	newer      int32 // next later entry with the same key
	same       int32 // next earlier entry with the same key
	prev, next int32 // list in order of arrival; next is also the list of free entries
}

// window holds the entries, found by key and in order of arrival.
type window struct {
	all         []entry
	byKey       map[uint64]int32 // latest entry of each key
	first, last int32            // ends of the list
	free        int32
	n           int
}

func newWindow() *window {
	return &window{byKey: map[uint64]int32{}, first: none, last: none, free: none}
}

// add adds e as the latest entry.
func (w *window) add(e *entry) {
	i := w.free
	if i != none {
		w.free = w.all[i].next
	} else {
		i = int32(len(w.all))
		w.all = append(w.all, entry{})
	}
	e.newer, e.same, e.prev, e.next = none, none, w.last, none
	if s, ok := w.byKey[e.key]; ok {
		e.same, w.all[s].newer = s, i
	}
	w.all[i] = *e
	w.byKey[e.key] = i
	if w.last != none {
		w.all[w.last].next = i
	} else {
		w.first = i
	}
	w.last = i
	w.n++
}

// remove removes entry i.
func (w *window) remove(i int32) {
	e := &w.all[i]
	switch {
	case e.newer != none:
		w.all[e.newer].same = e.same
	case e.same == none:
		delete(w.byKey, e.key)
	default:
		w.byKey[e.key] = e.same
	}
	if e.same != none {
		w.all[e.same].newer = e.newer
	}
	if e.prev != none {
		w.all[e.prev].next = e.next
	} else {
		w.first = e.next
	}
	if e.next != none {
		w.all[e.next].prev = e.prev
	} else {
		w.last = e.prev
	}
	*e = entry{next: w.free}
	w.free = i
	w.n--
}

// maxSame is the maximum number of entries with the same key that find examines.
const maxSame = 64

// find returns the entry of the other capture for p, which the capture of side has at the time at:
// of several, the one for which distance is smallest. It returns none if there is no entry.
func (w *window) find(p *trace.Packet, key uint64, side uint8, distance func(*entry) int64) int32 {
	best, least := int32(none), int64(0)
	i, ok := w.byKey[key]
	if !ok {
		return none
	}
	for n := 0; i != none && n < maxSame; i, n = w.all[i].same, n+1 {
		e := &w.all[i]
		if e.side == side || e.icrc != 0 && p.ICRC.Verdict == trace.Right && e.icrc != p.ICRC.Wire {
			continue
		}
		if d := distance(e); best == none || d <= least {
			best, least = i, d
		}
	}
	return best
}

// class is the part of a connection that a packet belongs to.
type class uint8

const (
	requests  class = iota // requests and datagrams, in the PSNs of the sender
	responses              // responses of READs and atomics, in the PSNs of the requester
	acks                   // ACKs and NAKs, in the PSNs of the requester
	others                 // CM messages and CNPs, whose PSNs do not count
)

var classNames = [...]string{"request", "response", "ack", "other"}

// classOf returns the class of p, whose Role an Analyzer has set.
func classOf(p *trace.Packet) class {
	switch p.Role {
	case trace.Request, trace.Datagram:
		return requests
	case trace.Response:
		return responses
	case trace.Ack:
		return acks
	}
	return others
}
