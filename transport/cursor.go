package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// A cursor is the position in the send queue of a packet that is to be emitted.
type cursor struct {
	psn    bth.PSN
	index  uint32 // of the work request in the send queue, free-running
	packet uint32 // of the work request, from 0
	repair bool   // sent again out of turn: new packets go on behind it
}

// span is the PSNs from first up to but not end. It is empty where they are equal.
type span struct{ first, end bth.PSN }

func (s span) empty() bool { return s.first == s.end }

// locate returns the position of psn, which was sent and is not acknowledged.
func (c *RC) locate(psn bth.PSN) (at cursor, w *qp.SendWQE) {
	at = cursor{psn: psn, index: c.qp.SQ.Head()}
	for {
		w = c.qp.SQ.At(at.index)
		if at.packet = distance(w.FirstPSN, psn); at.packet < w.Packets {
			return at, w
		}
		at.index++
	}
}
