package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// inbound is the SEND or WRITE being received, of a reliable or an unreliable connection.
type inbound struct {
	inside bool          // between the FIRST and the LAST packet of the message
	op     bth.Operation // operation of the packet that was executed last
	got    uint64        // bytes of the message stored so far

	va     uint64     // remote address of a WRITE
	length uint64     // DMA length of it
	region *mr.Region // memory it goes to, nil if the length is 0
}

// maxMessage is the length of the longest message in bytes, 2^31 (IBA C9-5).
const maxMessage = 1 << 31

// begins starts a message with its first packet.
func (m *inbound) begins(op bth.Operation) { m.op, m.got = op, 0 }

// continues reports whether a packet that does not start a message goes on with this one.
func (m *inbound) continues(op bth.Operation) bool { return m.inside && m.op == op }

// beginWrite checks the RETH of a WRITE and looks up its memory. It returns the NAK that refuses the
// WRITE, or nakNothing.
func (c *core) beginWrite(m *inbound, h bth.RETH) bth.Syndrome {
	m.va, m.length, m.region = h.VA, uint64(h.DMALen), nil
	if c.qp.Attr.Access&mr.RemoteWrite == 0 || m.length > maxMessage {
		return bth.NakInvalidRequest
	}
	if m.length > 0 {
		if m.region = c.reach(h, mr.RemoteWrite); m.region == nil {
			return bth.NakRemoteAccess
		}
	}
	return nakNothing
}

// writeFits reports whether a packet of a WRITE carries as many bytes as are left of its DMA
// length, or fewer if it is not the last.
func (m *inbound) writeFits(n int, ends bool) bool {
	left := m.length - m.got
	if ends {
		return uint64(n) == left
	}
	return uint64(n) < left
}

// write stores the payload of a packet of a WRITE. It returns the NAK that refuses the packet, or
// nakNothing.
func (m *inbound) write(g *Gather, o gatherOwner, p *bth.Packet, ends bool) bth.Syndrome {
	payload := p.Payload
	if len(payload) == 0 {
		return nakNothing
	}
	if !m.region.Valid() {
		return bth.NakRemoteAccess
	}
	if g.store(o, p.PSN, m.region, m.va+m.got, payload, ends) != nil {
		return bth.NakRemoteOperational
	}
	m.got += uint64(len(payload))
	return nakNothing
}

// reach returns the region that the RETH names, if it permits all of the access.
func (c *core) reach(h bth.RETH, need mr.Access) *mr.Region {
	region := c.keys.Lookup(h.RKey)
	if region == nil || region.CheckRemote(c.qp.PD, uint32(c.qp.Num), h.VA, uint64(h.DMALen), need) != mr.OK {
		return nil
	}
	return region
}

// fits reports whether a packet at this place of a message may carry n bytes (IBA 9.7.4.1.6,
// 9.8.2.1).
func fits(pos bth.Position, n int, mtu uint32) bool {
	switch pos {
	case bth.First, bth.Middle:
		return n == int(mtu)
	case bth.Last:
		return n > 0 && n <= int(mtu)
	}
	return n <= int(mtu)
}

// maxGather is the most that is held back, in bytes: as much as is read at once, see maxStage.
const maxGather = 64 << 10

// A Gather holds back what the packets of one message bring for [mr.Vectored] memory, so that one call
// stores up to 64 KiB of it. The queue pairs of a shard share one. The end of a message stores all of it
// before anything tells of the message.
//
// Payloads are borrowed: Settle has to be called before they are reused, before anything is transmitted,
// because an acknowledgement says that what it covers is stored, and before a key is taken away. All
// methods do their work without holding back where the Gather is nil.
type Gather struct {
	owner  gatherOwner
	psn    bth.PSN // of the first packet
	region *mr.Region
	addr   uint64 // where the first packet's payload goes
	size   uint64
	pieces [][]byte
}

// A gatherOwner is a machine whose payloads are held back.
type gatherOwner interface {
	// unwritten tells that they could not be stored, when their packets were accepted already; psn is
	// that of the first.
	unwritten(psn bth.PSN)
	base() *core
}

func (c *core) base() *core { return c }

// Settle stores what is held back.
func (g *Gather) Settle() {
	if g == nil || g.size == 0 {
		return
	}
	owner, psn := g.owner, g.psn
	if g.flush() != nil {
		owner.unwritten(psn)
	}
}

// settleOther stores what is held back of the other half of a connection than the one that takes a packet, a
// request or a response: if it fails, the queue pair does, and not in the middle of that packet.
func (g *Gather) settleOther(c *RC, request bool) {
	if g == nil || g.size == 0 || g.owner.base() != &c.core {
		return
	}
	if _, requests := g.owner.(*respondingRC); requests != request {
		g.Settle()
	}
}

func (g *Gather) flush() error {
	err := g.region.WriteV(g.addr, g.pieces)
	g.reset()
	return err
}

// drop forgets what is held back of a queue pair whose message ends in an error: the memory may be the
// program's again.
func (g *Gather) drop(c *core) {
	if g != nil && g.size > 0 && g.owner.base() == c {
		g.reset()
	}
}

func (g *Gather) reset() {
	clear(g.pieces)
	g.owner, g.region, g.size, g.pieces = nil, nil, 0, g.pieces[:0]
}

// put stores b, or holds it back. An error is about b or what was held back of the same owner.
func (g *Gather) put(o gatherOwner, psn bth.PSN, region *mr.Region, addr uint64, b []byte) error {
	if g == nil || !region.Vectored() {
		return region.Write(addr, b)
	}
	n := uint64(len(b))
	if g.size > 0 && (g.owner != o || g.region != region || g.addr+g.size != addr || g.size+n > maxGather) {
		if err := g.makeRoom(o); err != nil {
			return err
		}
	}
	if g.size == 0 {
		g.owner, g.psn, g.region, g.addr = o, psn, region, addr
	}
	g.pieces = append(g.pieces, b)
	g.size += n
	return nil
}

// makeRoom stores what is held back before a packet of o.
func (g *Gather) makeRoom(o gatherOwner) error {
	if g.owner == o {
		return g.flush()
	}
	g.Settle()
	return nil
}

// end stores what is held back of o.
func (g *Gather) end(o gatherOwner) error {
	if g == nil || g.size == 0 || g.owner != o {
		return nil
	}
	return g.flush()
}

// store writes the payload of an RDMA WRITE into region at addr. final means that it is the message's
// end, whose last bytes become visible last: programs poll for them.
func (g *Gather) store(o gatherOwner, psn bth.PSN, region *mr.Region, addr uint64, b []byte, final bool) error {
	if !final {
		return g.put(o, psn, region, addr, b)
	}
	if g == nil || !region.Vectored() {
		return region.WriteFinal(addr, b)
	}
	body := len(b) - min(len(b), mr.FinalBytes)
	if body > 0 {
		if err := g.put(o, psn, region, addr, b[:body]); err != nil {
			return err
		}
	}
	if err := g.end(o); err != nil {
		return err
	}
	return region.WriteFinal(addr+uint64(body), b[body:])
}

// scatter copies b to offset off of the message described by sg. ends means that it is the message's end.
// Whose memory that is learns of it from a completion, so nothing is said of the order in which bytes
// become visible, and no byte beside them is touched.
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
		if g.put(o, psn, s.Region, s.Addr+off, b[:take]) != nil {
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

// unwritten refuses the packet, and with it what was executed since.
func (o *respondingRC) unwritten(psn bth.PSN) {
	c := (*RC)(o)
	c.rsp.expected = psn
	c.rsp.early.drop()
	c.refuse(bth.NakRemoteOperational, qp.WCLocProtErr)
}

// unwritten fails the READ whose responses were held back: it is the oldest request, for it is not
// complete before its last response is stored.
func (o *requestingRC) unwritten(bth.PSN) { (*RC)(o).fail(qp.WCLocProtErr) }

// unwritten drops the message, as one of which a packet is lost.
func (c *UC) unwritten(bth.PSN) { c.inside = false }
