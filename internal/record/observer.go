package record

import (
	"fmt"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/trace"
)

// hold is how long a frame waits for what is to be noted on it before it is written, unless there is much to write. It is long
// for a host that is short of processors. The latest frame waits for the next.
const hold = 50 * time.Millisecond

// Bounds on what waits for its frame.
const (
	maxNotes   = 64 // of a frame
	maxLeaving = 4096
	maxBack    = 1024 // entries that are looked through
)

// key names a packet among those of late: opcode, destination and PSN.
type key [7]byte

func keyOf(b []byte) (k key, ok bool) {
	if len(b) < bth.BTHLen {
		return k, false
	}
	k[0] = b[0]
	copy(k[1:4], b[5:8])
	copy(k[4:7], b[9:12])
	return k, true
}

// leaving is what is known of a packet that is going to be sent.
type leaving struct {
	qpn  bth.QPN
	note string
}

// Observer notes on the frames of a Recorder which work requests they belong to, which completions they led to, and what states
// queue pairs got into. It is for one device: see the Observer of its Config.
type Observer struct {
	r         *Recorder
	receiving bool
	current   key

	// The latest work request.
	qpn   bth.QPN
	first bth.PSN
	id    uint64
	note  string
}

// Observer returns one for a device whose links r records.
func (r *Recorder) Observer() *Observer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving == nil {
		r.leaving = map[key]leaving{}
	}
	return &Observer{r: r}
}

// Sending notes the work request of a packet.
func (o *Observer) Sending(q bth.QPN, f *packet.Frame, wr *qp.SendWQE) {
	k, ok := keyOf(f.Header)
	if !ok {
		return
	}
	if o.note == "" || o.qpn != q || o.first != wr.FirstPSN || o.id != wr.ID {
		o.qpn, o.first, o.id = q, wr.FirstPSN, wr.ID
		o.note = requestNote(wr)
	}
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	if len(o.r.leaving) >= maxLeaving { // refused by the link, and never seen
		clear(o.r.leaving)
	}
	o.r.leaving[k] = leaving{q, o.note}
}

func requestNote(wr *qp.SendWQE) string {
	if wr.Opcode == qp.WRWrite && wr.Chunk < wr.Packets {
		return trace.SplitNote(requestText(wr), wr.Length, wr.FirstPSN)
	}
	return trace.RequestNote(requestText(wr))
}

func requestText(wr *qp.SendWQE) string {
	text := fmt.Sprintf("wr_id %d %v %d bytes", wr.ID, wr.Opcode, wr.Length)
	if wr.Flags&qp.Signaled != 0 {
		text += ", signaled"
	}
	return text
}

// Receiving says which packet the following comes of.
func (o *Observer) Receiving(_ bth.QPN, p *bth.Packet) {
	o.receiving = true
	q := p.DestQP
	o.current = key{byte(p.Opcode), byte(q >> 16), byte(q >> 8), byte(q), byte(p.PSN >> 16), byte(p.PSN >> 8), byte(p.PSN)}

	// Of several that are alike it is the first that was not taken yet.
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	var first *entry
	for e, k := range o.r.latest {
		if e.dir == packet.Incoming && k == o.current {
			if e.taken {
				break
			}
			first = e
		}
	}
	if first != nil {
		first.taken = true
	}
}

// Received ends what Receiving began.
func (o *Observer) Received(bth.QPN) { o.receiving = false }

// Completed notes a completion, unless it is that of something that never had to do with a packet.
func (o *Observer) Completed(q bth.QPN, wc *qp.WC, wr *qp.SendWQE) {
	switch {
	case wc.Status == qp.WCWRFlushErr && (wr == nil || !wr.Started):
		// All that was posted and not used when the queue pair went into error, which is noted.
	case wr != nil && wr.Started:
		text := trace.CompletionNote(wr.FirstPSN, fmt.Sprintf("wr_id %d %v", wc.WRID, wc.Status))
		if o.receiving || !o.tellSent(q, wr.FirstPSN.Add(wr.Packets-1), text) {
			o.tell(q, text)
		}
	case wr != nil:
		o.tell(q, fmt.Sprintf("completion of a work request that was not sent: wr_id %d %v", wc.WRID, wc.Status))
	default:
		o.tell(q, fmt.Sprintf("completion of a receive: wr_id %d %v %v %d bytes", wc.WRID, wc.Opcode, wc.Status, wc.ByteLen))
	}
}

// Changed notes another state.
func (o *Observer) Changed(q bth.QPN, from, to qp.State) {
	o.tell(q, fmt.Sprintf("queue pair %#06x: %v to %v", uint32(q), from, to))
}

// add adds a note, as long as there are not too many.
func (e *entry) add(text string) {
	if len(e.notes) < maxNotes {
		e.notes = append(e.notes, text)
	}
}

// tellSent notes on the packet of q with that PSN that it is complete now that it was sent. It is false if that was written already.
func (o *Observer) tellSent(q bth.QPN, psn bth.PSN, text string) bool {
	r := o.r
	r.mu.Lock()
	defer r.mu.Unlock()
	for e, k := range r.latest {
		if e.dir == packet.Outgoing && e.qpn == q && psn == bth.PSN(k[4])<<16|bth.PSN(k[5])<<8|bth.PSN(k[6]) {
			e.add(text)
			return true
		}
	}
	return false
}

// latest are the latest entries, the newest first. The lock is held.
func (r *Recorder) latest(yield func(*entry, key) bool) {
	all := r.filling.entries
	for i := len(all) - 1; i >= max(0, len(all)-maxBack); i-- {
		e := &all[i]
		k, _ := keyOf(r.filling.data[e.off : e.off+e.len])
		if !yield(e, k) {
			return
		}
	}
}

// tell notes something on the frame that it comes of or, where it comes of none, on the latest of the queue pair. If that was
// written already it is the latest of the trace, and while there is none the first.
func (o *Observer) tell(q bth.QPN, text string) {
	r := o.r
	r.mu.Lock()
	defer r.mu.Unlock()
	for e, k := range r.latest {
		at := e.qpn
		if e.dir == packet.Incoming {
			at = bth.QPN(k[1])<<16 | bth.QPN(k[2])<<8 | bth.QPN(k[3])
		}
		if o.receiving && e.taken && k == o.current || !o.receiving && at == q {
			e.add(text)
			return
		}
	}
	if n := len(r.filling.entries); n > 0 {
		e := &r.filling.entries[n-1]
		e.add(text)
		return
	}
	if len(r.pending) < maxNotes && !r.closed {
		r.pending = append(r.pending, text)
	}
}

// notes puts what is known of an outgoing frame, or waits for a frame, on e. The lock is held.
func (r *Recorder) note(e *entry) {
	if r.leaving == nil {
		return
	}
	e.notes, r.pending = r.pending, nil
	if k, ok := keyOf(e.frame.Data); ok && e.dir == packet.Outgoing {
		if l, ok := r.leaving[k]; ok {
			e.qpn, e.notes = l.qpn, append(e.notes, l.note)
			delete(r.leaving, k)
		}
	}
}
