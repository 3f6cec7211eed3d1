package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
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
