package record

import (
	"fmt"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/trace"
)

// hold is the time for which a frame waits for notes before it is written, unless the buffer is
// more than half full. It is long enough even if the host's processors are overloaded. The newest
// frame waits until another frame is recorded.
const hold = 50 * time.Millisecond

// Limits on memory and on search time.
const (
	maxNotes   = 64 // notes of one frame
	maxLeaving = 4096
	maxBack    = 1024 // entries that latest yields
)

// key identifies a recent packet: opcode, destination QP and PSN.
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

// outgoing holds the notes for a packet that is about to be sent.
type outgoing struct {
	qpn  bth.QPN
	note string
}

// Observer annotates the frames of a Recorder with their work requests, with the completions that
// they caused, and with the state changes of queue pairs. It serves one device: set it as the
// Observer of the device's Config.
type Observer struct {
	r         *Recorder
	receiving bool
	current   key

	// The work request of the latest call of Sending, and its note.
	qpn   bth.QPN
	first bth.PSN
	id    uint64
	note  string
}

// Observer returns an Observer for a device whose links r records.
func (r *Recorder) Observer() *Observer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outgoing == nil {
		r.outgoing = map[key]outgoing{}
	}
	return &Observer{r: r}
}

// Sending notes that queue pair q is about to send f, a packet of the work request wr.
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
	if len(o.r.outgoing) >= maxLeaving { // entries of rejected packets remain
		clear(o.r.outgoing)
	}
	o.r.outgoing[k] = outgoing{q, o.note}
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

// Receiving sets p as the packet that causes the following notes, until Received.
func (o *Observer) Receiving(_ bth.QPN, p *bth.Packet) {
	o.receiving = true
	q := p.DestQP
	o.current = key{byte(p.Opcode), byte(q >> 16), byte(q >> 8), byte(q), byte(p.PSN >> 16),
		byte(p.PSN >> 8), byte(p.PSN)}

	// Of several identical packets, select the oldest that was not taken yet.
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

// Received ends the effect of Receiving.
func (o *Observer) Received(bth.QPN) { o.receiving = false }

// Completed notes the completion wc of queue pair q. wr is its send work request, nil for a
// receive. It ignores WR_FLUSH_ERR completions of receives and of send work requests that were
// never started.
func (o *Observer) Completed(q bth.QPN, wc *qp.WC, wr *qp.SendWQE) {
	switch {
	case wc.Status == qp.WCWRFlushErr && (wr == nil || !wr.Started):
		// Work requests that were posted but not started when the queue pair entered the error
		// state. That state change is noted.
	case wr != nil && wr.Started:
		text := trace.CompletionNote(wr.FirstPSN, fmt.Sprintf("wr_id %d %v", wc.WRID, wc.Status))
		if o.receiving || !o.tellSent(q, wr.FirstPSN.Add(wr.Packets-1), text) {
			o.annotate(q, text)
		}
	case wr != nil:
		o.annotate(q, fmt.Sprintf("completion of a work request that was not sent: wr_id %d %v", wc.WRID, wc.Status))
	default:
		o.annotate(q, fmt.Sprintf("completion of a receive: wr_id %d %v %v %d bytes", wc.WRID, wc.Opcode,
			wc.Status, wc.ByteLen))
	}
}

// Changed notes a state change of a queue pair.
func (o *Observer) Changed(q bth.QPN, from, to qp.State) {
	o.annotate(q, fmt.Sprintf("queue pair %#06x: %v to %v", uint32(q), from, to))
}

// add adds a note, unless the entry has maxNotes notes.
func (e *entry) add(text string) {
	if len(e.notes) < maxNotes {
		e.notes = append(e.notes, text)
	}
}

// tellSent adds a note to the latest packet that q sent with the PSN psn. It returns false if that
// packet is not in the buffer any more.
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

// latest yields the latest entries, up to maxBack, newest first, and their keys. The caller holds
// r.mu.
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

// annotate adds a note to the frame that Receiving selected or, if there is none, to the latest
// frame of the queue pair. If that frame is not in the buffer any more, it uses the latest frame in
// the buffer, or the next frame if the buffer is empty.
func (o *Observer) annotate(q bth.QPN, text string) {
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

// note adds the pending notes to e and, if e is an outgoing frame, the note of Sending for it. The
// caller holds r.mu.
func (r *Recorder) note(e *entry) {
	if r.outgoing == nil {
		return
	}
	e.notes, r.pending = r.pending, nil
	if k, ok := keyOf(e.frame.Data); ok && e.dir == packet.Outgoing {
		if l, ok := r.outgoing[k]; ok {
			e.qpn, e.notes = l.qpn, append(e.notes, l.note)
			delete(r.outgoing, k)
		}
	}
}
