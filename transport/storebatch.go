package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// This file stores received payload. Memory of another process is reached only by a system call,
// which costs more than copying a packet, so the payloads of many packets are stored by one call.
// The order visible to a program does not change: data before its completion, the last bytes of a
// WRITE after all others, one message after the other.

const (
	// maxStoreBatch is the maximum number of bytes held back. It equals maxStage, the maximum
	// length of one read.
	maxStoreBatch = 64 << 10
	// maxPieces is the maximum number of pieces held back.
	maxPieces = 128
)

// A StoreBatch holds back payloads for [mr.Vectored] memory, so that one call stores up to 64 KiB:
// of one message, or of successive messages to the responder or to the requester of one RC. All
// queue pairs whose calls the caller serializes can share one. The completion of a message is held
// back with its data, and completions keep the order of the messages.
//
// Payloads are borrowed: Settle must be called before they are reused; before anything is
// transmitted, because an acknowledgement says that the data is stored; and before a key is
// invalidated. On a nil StoreBatch all methods work without holding anything back.
type StoreBatch struct {
	// PerMessage stores each message when it is complete, not together with later ones.
	PerMessage bool

	owner    storeOwner // owner of what is held back
	region   *mr.Region // region of all pieces
	size     uint64     // bytes in pieces, up to maxStoreBatch
	pieces   []mr.Piece
	messages []heldMessage // complete messages, oldest first
	psn      bth.PSN       // PSN of the first held-back packet of the message in progress
}

// heldMessage is a complete message that is held back.
type heldMessage struct {
	end       int     // index in pieces behind its last piece
	psn       bth.PSN // PSN of its first held-back packet, at the responder
	msn       uint32  // MSN before the message, at the responder
	completes bool    // wc becomes a completion when the message is stored
	wc        qp.WC
}

// A storeOwner is the receiver of held-back payloads: a UC, or the responder or requester of an RC.
type storeOwner interface {
	// storeFailed reports that held-back data could not be stored although its packets were
	// accepted. psn is the PSN of the first held-back packet of the message that failed. lost are
	// the complete messages from that one on; it is empty if the message in progress failed.
	storeFailed(psn bth.PSN, lost []heldMessage)
	// completions returns the CQ of the complete messages.
	completions() qp.CompletionSink
	// base returns the core of the machine.
	base() *core
}

func (c *core) base() *core { return c }

// complete returns the number of pieces that belong to complete messages.
func (g *StoreBatch) complete() int {
	if n := len(g.messages); n > 0 {
		return g.messages[n-1].end
	}
	return 0
}

// Settle stores what is held back.
func (g *StoreBatch) Settle() {
	if g != nil && len(g.pieces) > 0 {
		_ = g.settle() // storeFailed has reported the error to the owner
	}
}

// settle stores what is held back; there must be something. storeFailed has already reported the
// returned error to the owner.
func (g *StoreBatch) settle() error {
	o, psn, messages := g.owner, g.psn, g.messages
	// g is reset before the owner learns of an error, because storeFailed calls drop.
	n, err := g.region.WritePieces(g.pieces)
	g.reset()
	for i := range messages {
		m := &messages[i]
		if err != nil && m.end > n {
			o.storeFailed(m.psn, messages[i:])
			return err
		}
		// The data of m is stored, so its completion may be seen now.
		if m.completes {
			o.completions().Complete(&m.wc)
		}
	}
	if err != nil {
		o.storeFailed(psn, nil)
	}
	return err
}

// settleOther is called before the responder (request is true) or the requester (request is false)
// of c processes a packet. It stores what is held back of the other of the two. If that fails, the
// queue pair fails before the packet, not in the middle of it.
func (g *StoreBatch) settleOther(c *RC, request bool) {
	if !g.holds(&c.core) {
		return
	}
	if _, requests := g.owner.(*respondingRC); requests != request {
		g.Settle()
	}
}

// drop discards what is held back of the message in progress of c, which ends in an error: from now
// on the program may own the memory again. Complete messages are stored.
func (g *StoreBatch) drop(c *core) {
	if !g.holds(c) {
		return
	}
	n := g.complete()
	if n == 0 {
		g.reset()
		return
	}
	g.truncate(n)
	g.Settle()
}

// forget discards all that is held back of c.
func (g *StoreBatch) forget(c *core) {
	if g.holds(c) {
		g.reset()
	}
}

// holds reports whether something is held back of c: of its responder or of its requester.
func (g *StoreBatch) holds(c *core) bool { return g != nil && len(g.pieces) > 0 && g.owner.base() == c }

// truncate discards the pieces from index n on.
func (g *StoreBatch) truncate(n int) {
	clear(g.pieces[n:])
	g.pieces = g.pieces[:n]
}

// reset discards everything.
func (g *StoreBatch) reset() {
	g.truncate(0)
	g.owner, g.region, g.size, g.messages = nil, nil, 0, g.messages[:0]
}

// put stores b or holds it back. psn is the PSN of its packet. final means that the bytes of b
// become visible after all others. An error concerns b, or data of the same owner that was held
// back before; in the second case o.storeFailed has been called already.
func (g *StoreBatch) put(o storeOwner, psn bth.PSN, region *mr.Region, addr uint64, b []byte, final bool) error {
	if g == nil {
		return write(region, addr, b, final)
	}
	n, same := uint64(len(b)), g.owner == o
	// Memory that is not Vectored is written at once, but after the data that is held back of the
	// same owner: messages are stored in order.
	if !region.Vectored() {
		if same {
			if err := g.settle(); err != nil {
				return err
			}
		}
		return write(region, addr, b, final)
	}
	if len(g.pieces) > 0 && (!same || g.region != region || g.size+n > maxStoreBatch || len(g.pieces) == maxPieces) {
		if err := g.settle(); err != nil && same {
			return err
		}
	}
	// This is the first piece of a message.
	if len(g.pieces) == g.complete() {
		g.owner, g.region, g.psn = o, region, psn
	}
	g.pieces = append(g.pieces, mr.Piece{Off: addr, Data: b, Final: final})
	g.size += n
	return nil
}

// write stores b at addr at once.
func write(region *mr.Region, addr uint64, b []byte, final bool) error {
	if final {
		return region.WriteFinal(addr, b)
	}
	return region.Write(addr, b)
}

// end marks the end of a message of o. It stores what is held back of o, except messages of a
// reliable connection, for which finish follows.
func (g *StoreBatch) end(o storeOwner) error {
	if g == nil || len(g.pieces) == 0 || g.owner != o {
		return nil
	}
	if _, ok := o.(*UC); !ok && !g.PerMessage {
		return nil
	}
	return g.settle()
}

// finish completes a message of o and returns its record, or nil if this message and all earlier
// ones are stored. A message without pieces is lost if the message before it is lost.
func (g *StoreBatch) finish(o storeOwner) *heldMessage {
	if g == nil || len(g.pieces) == 0 || g.owner != o {
		return nil
	}
	g.messages = append(g.messages, heldMessage{psn: g.psn, end: len(g.pieces)})
	return &g.messages[len(g.messages)-1]
}

// store writes the payload of an RDMA WRITE to region at addr. final means that b is the end of the
// message, whose last bytes become visible last.
func (g *StoreBatch) store(o storeOwner, psn bth.PSN, region *mr.Region, addr uint64, b []byte, final bool) error {
	if !final {
		return g.put(o, psn, region, addr, b, false)
	}
	// The last bytes, up to FinalBytes, become a piece of their own behind the rest of the message,
	// because programs poll them to learn that a WRITE has arrived.
	body := 0
	if g != nil && region.Vectored() {
		body = len(b) - min(len(b), mr.FinalBytes)
	}
	if body > 0 {
		if err := g.put(o, psn, region, addr, b[:body], false); err != nil {
			return err
		}
	}
	if err := g.put(o, psn, region, addr+uint64(body), b[body:], true); err != nil {
		return err
	}
	return g.end(o)
}

// scatter copies b to offset off of the message described by sg. ends means that b is the end of
// the message. The result is mr.OutOfBounds if the segments are too short, and mr.Gone if a region
// was deregistered or could not be written. A completion tells the program that the data is there,
// so the order in which bytes become visible does not matter. Bytes outside of the message are
// never touched.
func (g *StoreBatch) scatter(o storeOwner, psn bth.PSN, sg []qp.Segment, off uint64, b []byte, ends bool) mr.Fault {
	for i := range sg {
		if len(b) == 0 {
			break
		}
		s := &sg[i]
		if off >= uint64(s.Length) {
			off -= uint64(s.Length)
			continue
		}
		take := min(uint64(s.Length)-off, uint64(len(b)))
		if s.Region == nil || !s.Region.Valid() {
			return mr.Gone
		}
		if g.put(o, psn, s.Region, s.Addr+off, b[:take], false) != nil {
			return mr.Gone
		}
		b = b[take:]
		off = 0
	}
	if len(b) > 0 {
		return mr.OutOfBounds
	}
	if ends && g.end(o) != nil {
		return mr.Gone
	}
	return mr.OK
}

// respondingRC and requestingRC are the responder and the requester of an RC as storeOwners.
type (
	respondingRC RC
	requestingRC RC
)

func (o *respondingRC) completions() qp.CompletionSink { return o.qp.RecvCQ }

// storeFailed refuses the first packet that could not be stored, and all requests executed since.
// The receive of the first lost message completes with an error, those of the others are flushed.
// No acknowledgement of them was sent, because Settle comes before Transmit; so the responder may
// go back to that packet.
func (o *respondingRC) storeFailed(psn bth.PSN, lost []heldMessage) {
	c := (*RC)(o)
	c.rsp.expected = psn
	c.rsp.early.clear()
	if len(lost) == 0 {
		c.queueErrorNAK(bth.NakRemoteOperational, qp.WCLocProtErr)
		return
	}
	c.rsp.msn = lost[0].msn
	for i := range lost {
		if m := &lost[i]; m.completes {
			m.wc = qp.WC{WRID: m.wc.WRID, Status: lostStatus(i), Opcode: qp.WCRecv, QPN: m.wc.QPN, SrcQP: m.wc.SrcQP}
			c.qp.RecvCQ.Complete(&m.wc)
		}
	}
	c.queueErrorNAK(bth.NakRemoteOperational, qp.WCSuccess)
	c.rsp.reply.errReported = lost[0].completes
}

func (o *requestingRC) completions() qp.CompletionSink { return o.qp.SendCQ }

// storeFailed fails the first READ that could not be stored: the first lost message or, if there is
// none, the oldest work request, whose READ is in progress.
func (o *requestingRC) storeFailed(_ bth.PSN, lost []heldMessage) {
	c := (*RC)(o)
	if len(lost) == 0 {
		c.fail(qp.WCLocProtErr)
		return
	}
	for i := range lost {
		m := &lost[i]
		m.wc.Status, m.wc.ByteLen = lostStatus(i), 0
		c.qp.SendCQ.Complete(&m.wc)
	}
	c.enterError()
}

// lostStatus returns the completion status of the lost message with index i.
func lostStatus(i int) qp.WCStatus {
	if i == 0 {
		return qp.WCLocProtErr
	}
	return qp.WCWRFlushErr
}

// storeFailed drops the message, as if one of its packets had been lost.
func (c *UC) storeFailed(bth.PSN, []heldMessage) { c.inside = false }

func (c *UC) completions() qp.CompletionSink { return c.qp.RecvCQ }
