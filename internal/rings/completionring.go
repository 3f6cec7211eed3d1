package rings

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/gorxe/gorxe/qp"
)

// CompletionElemSize is the size of a slot of a [CompletionRing] in bytes. librxe rejects slots
// smaller than a completion, 48 bytes.
const CompletionElemSize = 64

// CompletionRing is a completion queue that a program polls. It is the [qp.CompletionStore] of
// a completion queue.
//
// No completion goes unnoticed if the program requests a notification ([CompletionRing.Arm]) before
// it polls: Push stores the completion and the producer index before it checks for a request, so
// either Push finds the request or the poll finds the completion.
type CompletionRing struct {
	mem        memory
	newBuffer  NewBuffer
	producer   uint32 // index of the next slot to fill
	room       int    // slots known to be free: the program may have freed more
	overflowed bool
	armed      atomic.Uint32 // a notice
	encoded    [wcSize]byte  // buffer for the completion of a Push
}

// notice is the kind of completion for which the program has requested a notification (IBA
// 11.4.2.2).
type notice = uint32

const (
	noticeNone      notice = iota
	noticeSolicited        // the next solicited receive, or completion in error
	noticeNext             // the next completion
)

// NewCompletionRing formats buf, which must not be visible to the program yet, and returns the
// ring in it. g must have elements of [CompletionElemSize] bytes and a depth of at least 1.
// newBuffer provides the buffer for Resize; if it is nil, the depth cannot change.
func NewCompletionRing(g Geometry, buf []byte, newBuffer NewBuffer) (*CompletionRing, error) {
	if g.ElemSize() != CompletionElemSize || g.Depth() < 1 {
		return nil, fmt.Errorf("rings: completion ring for %d elements of %d bytes: it needs 1 or more of %d bytes",
			g.Depth(), g.ElemSize(), CompletionElemSize)
	}
	r := &CompletionRing{newBuffer: newBuffer, room: g.Depth()}
	if err := r.mem.format(g, buf); err != nil {
		return nil, err
	}
	return r, nil
}

// Push appends a copy of wc. If the ring is full, it overflows: wc is lost and the ring accepts no
// more completions. notify reports whether wc satisfies the request for a notification, which ends
// the request; a lost completion satisfies it too.
func (r *CompletionRing) Push(wc *qp.WC) (notify bool) {
	r.store(wc)
	for {
		armed := r.armed.Load()
		if !due(armed, wc) {
			return false
		}
		if r.armed.CompareAndSwap(armed, noticeNone) {
			return true
		}
	}
}

// due reports whether wc satisfies the request armed.
func due(armed notice, wc *qp.WC) bool {
	return armed == noticeNext || armed == noticeSolicited && (wc.Solicited || wc.Status != qp.WCSuccess)
}

// store fills the next slot and publishes it.
func (r *CompletionRing) store(wc *qp.WC) {
	if r.Overflowed() {
		return
	}
	defer r.mem.endAccess(debug.SetPanicOnFault(true))
	if r.room == 0 {
		if r.room = r.mem.geo.Depth() - r.used(); r.room == 0 {
			r.overflowed = true
			return
		}
	}
	encodeWC(&r.encoded, wc)
	copy(r.mem.slot(r.producer), r.encoded[:])
	r.producer = r.mem.advance(r.producer, 1)
	r.room--
	r.mem.producer.Store(r.producer)
}

// used loads the consumer index and returns the number of completions that the program has not
// polled: 0 to Depth, whatever the program stored.
func (r *CompletionRing) used() int {
	return r.mem.distance(r.mem.consumer.Load()&r.mem.geo.mask(), r.producer)
}

// Arm requests a notification of the next completion or, with solicitedOnly, of the next
// completion that is solicited or in error. Completions that are already in the ring do not
// trigger it. A request for solicited completions does not replace an earlier request for any
// completion (IBA 11.4.2.2). Arm may run concurrently with the other methods.
func (r *CompletionRing) Arm(solicitedOnly bool) {
	if solicitedOnly {
		r.armed.CompareAndSwap(noticeNone, noticeSolicited)
	} else {
		r.armed.Store(noticeNext)
	}
}

// Len returns the number of completions that the program has not polled.
func (r *CompletionRing) Len() (n int) {
	if r.mem.lost.Load() {
		return 0
	}
	defer r.mem.endAccess(debug.SetPanicOnFault(true))
	return r.used()
}

// Depth returns the capacity in completions.
func (r *CompletionRing) Depth() int { return r.mem.geo.Depth() }

// Overflowed reports whether a completion was lost because the ring was full or its buffer
// lost.
func (r *CompletionRing) Overflowed() bool { return r.overflowed || r.mem.lost.Load() }

// Lost reports whether an access to the buffer faulted. It may be called at any time.
func (r *CompletionRing) Lost() bool { return r.mem.lost.Load() }

// Resize moves the completions that were not polled to a new buffer for at least depth
// completions, 1 to [qp.MaxDepth] and not less than Len. Resize does not clear Overflowed.
func (r *CompletionRing) Resize(depth int) error {
	if depth < 1 {
		return fmt.Errorf("rings: resize: depth %d is out of range: it must be 1 to %d", depth, qp.MaxDepth)
	}
	n := r.Len()
	if depth < n {
		return fmt.Errorf("rings: resize: depth %d is less than the %d completions in the ring; poll them first",
			depth, n)
	}
	g, err := r.mem.geo.withDepth(depth)
	if err != nil {
		return err
	}
	from := (r.producer - uint32(n)) & r.mem.geo.mask()
	if err := r.mem.moveTo(g, r.newBuffer, from, n); err != nil {
		return err
	}
	r.producer, r.room = uint32(n), g.Depth()-n
	return nil
}
