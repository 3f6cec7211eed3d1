package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

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
