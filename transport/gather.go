package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

const (
	// maxGather is the most that is held back, in bytes: as much as is read at once, see maxStage.
	maxGather = 64 << 10
	// maxPieces is the most that is held back, in pieces.
	maxPieces = 128
)

// A Gather holds back what packets bring for [mr.Vectored] memory, so that one call stores up to 64
// KiB of it: of one message, and of successive messages of a reliable connection. The queue pairs
// of a shard share one. What completes with a message completes when it is stored, and in the order
// of the messages.
//
// Payloads are borrowed: Settle has to be called before they are reused, before anything is
// transmitted, because an acknowledgement says that what it covers is stored, and before a key is
// taken away. All methods do their work without holding back where the Gather is nil.
type Gather struct {
	// Single makes each message be stored at its end.
	Single bool

	owner    gatherOwner
	region   *mr.Region
	size     uint64
	pieces   []mr.Piece
	messages []heldMessage // those that are complete
	psn      bth.PSN       // of the first packet held back of the message that is not
}

// heldMessage is a complete message that is held back.
type heldMessage struct {
	end   int     // of its pieces
	psn   bth.PSN // of the first packet held back, at the responder
	msn   uint32  // before the message, at the responder
	tells bool    // wc is to be pushed when it is stored
	wc    qp.WC
}

// A gatherOwner is a machine whose payloads are held back.
type gatherOwner interface {
	// unwritten tells that they could not be stored, when their packets were accepted already: psn
	// is that of the first. lost are the complete messages from there on.
	unwritten(psn bth.PSN, lost []heldMessage)
	// completions is where complete messages complete.
	completions() qp.Completer
	base() *core
}

func (c *core) base() *core { return c }

// complete returns the number of pieces of complete messages.
func (g *Gather) complete() int {
	if n := len(g.messages); n > 0 {
		return g.messages[n-1].end
	}
	return 0
}

// Settle stores what is held back.
func (g *Gather) Settle() {
	if g != nil && len(g.pieces) > 0 {
		_ = g.settle() // the owner knows
	}
}

// settle is Settle where something is held back. The error is known to the owner.
func (g *Gather) settle() error {
	o, psn, messages := g.owner, g.psn, g.messages
	n, err := g.region.WritePieces(g.pieces)
	g.reset()
	for i := range messages {
		m := &messages[i]
		if err != nil && m.end > n {
			o.unwritten(m.psn, messages[i:])
			return err
		}
		if m.tells {
			o.completions().Complete(&m.wc)
		}
	}
	if err != nil {
		o.unwritten(psn, nil)
	}
	return err
}

// settleOther stores what is held back of the other half of a connection than the one that takes a
// packet, a request or a response: if it fails, the queue pair does, and not in the middle of that
// packet.
func (g *Gather) settleOther(c *RC, request bool) {
	if !g.holds(&c.core) {
		return
	}
	if _, requests := g.owner.(*respondingRC); requests != request {
		g.Settle()
	}
}

// drop forgets what is held back of a message of c that ends in an error: the memory may be the
// program's again. Complete messages are stored.
func (g *Gather) drop(c *core) {
	if !g.holds(c) {
		return
	}
	n := g.complete()
	if n == 0 {
		g.reset()
		return
	}
	g.cut(n)
	g.Settle()
}

// forget forgets all that is held back of c.
func (g *Gather) forget(c *core) {
	if g.holds(c) {
		g.reset()
	}
}

// holds reports whether something is held back of c.
func (g *Gather) holds(c *core) bool { return g != nil && len(g.pieces) > 0 && g.owner.base() == c }

// cut forgets the pieces from n on.
func (g *Gather) cut(n int) {
	clear(g.pieces[n:])
	g.pieces = g.pieces[:n]
}

func (g *Gather) reset() {
	g.cut(0)
	g.owner, g.region, g.size, g.messages = nil, nil, 0, g.messages[:0]
}

// put stores b, or holds it back. final says that its bytes become visible last. An error is about
// b, or about what was held back of the same owner, which knows of it then.
func (g *Gather) put(o gatherOwner, psn bth.PSN, region *mr.Region, addr uint64, b []byte, final bool) error {
	if g == nil {
		return write(region, addr, b, final)
	}
	n, same := uint64(len(b)), g.owner == o
	if !region.Vectored() {
		if same {
			if err := g.settle(); err != nil {
				return err
			}
		}
		return write(region, addr, b, final)
	}
	if len(g.pieces) > 0 && (!same || g.region != region || g.size+n > maxGather || len(g.pieces) == maxPieces) {
		if err := g.settle(); err != nil && same {
			return err
		}
	}
	if len(g.pieces) == g.complete() {
		g.owner, g.region, g.psn = o, region, psn
	}
	g.pieces = append(g.pieces, mr.Piece{Off: addr, Data: b, Final: final})
	g.size += n
	return nil
}

func write(region *mr.Region, addr uint64, b []byte, final bool) error {
	if final {
		return region.WriteFinal(addr, b)
	}
	return region.Write(addr, b)
}

// end is called at the end of a message of o. It stores what is held back of o, except messages of
// a reliable connection: see finish.
func (g *Gather) end(o gatherOwner) error {
	if g == nil || len(g.pieces) == 0 || g.owner != o {
		return nil
	}
	if _, ok := o.(*UC); !ok && !g.Single {
		return nil
	}
	return g.settle()
}

// finish ends a message of o and returns what is held back of it, nil if all of it and of the
// messages before it is stored. A message without a piece is lost with the one before it.
func (g *Gather) finish(o gatherOwner) *heldMessage {
	if g == nil || len(g.pieces) == 0 || g.owner != o {
		return nil
	}
	g.messages = append(g.messages, heldMessage{psn: g.psn, end: len(g.pieces)})
	return &g.messages[len(g.messages)-1]
}

// store writes the payload of an RDMA WRITE into region at addr. final means that it is the
// message's end, whose last bytes become visible last: programs poll for them.
func (g *Gather) store(o gatherOwner, psn bth.PSN, region *mr.Region, addr uint64, b []byte, final bool) error {
	if !final {
		return g.put(o, psn, region, addr, b, false)
	}
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

// scatter copies b to offset off of the message described by sg. ends means that it is the
// message's end. Whose memory that is learns of it from a completion, so nothing is said of the
// order in which bytes become visible, and no byte beside them is touched.
func (g *Gather) scatter(o gatherOwner, psn bth.PSN, sg []qp.Segment, off uint64, b []byte, ends bool) mr.Fault {
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

// respondingRC and requestingRC are the halves of an RC as owners.
type (
	respondingRC RC
	requestingRC RC
)

func (o *respondingRC) completions() qp.Completer { return o.qp.RecvCQ }

// unwritten refuses the packet, and with it what was executed since. The receive of the first of
// the lost messages is in error, those of the others are flushed.
func (o *respondingRC) unwritten(psn bth.PSN, lost []heldMessage) {
	c := (*RC)(o)
	c.rsp.expected = psn
	c.rsp.early.drop()
	if len(lost) == 0 {
		c.refuse(bth.NakRemoteOperational, qp.WCLocProtErr)
		return
	}
	c.rsp.msn = lost[0].msn
	for i := range lost {
		if m := &lost[i]; m.tells {
			m.wc = qp.WC{WRID: m.wc.WRID, Status: lostStatus(i), Opcode: qp.WCRecv, QPN: m.wc.QPN, SrcQP: m.wc.SrcQP}
			c.qp.RecvCQ.Complete(&m.wc)
		}
	}
	c.refuse(bth.NakRemoteOperational, qp.WCSuccess)
	c.rsp.reply.told = lost[0].tells
}

func (o *requestingRC) completions() qp.Completer { return o.qp.SendCQ }

// unwritten fails the first READ that could not be stored: the first of the lost, or the oldest
// request, for it is not complete before its last response is stored.
func (o *requestingRC) unwritten(_ bth.PSN, lost []heldMessage) {
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

// lostStatus is the status of the message with index i among those that are lost.
func lostStatus(i int) qp.WCStatus {
	if i == 0 {
		return qp.WCLocProtErr
	}
	return qp.WCWRFlushErr
}

// unwritten drops the message, as one of which a packet is lost.
func (c *UC) unwritten(bth.PSN, []heldMessage) { c.inside = false }

func (c *UC) completions() qp.Completer { return c.qp.RecvCQ }
