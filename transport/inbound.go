package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
)

// This file has the message in progress at the receiving end of a connection, and the checks of its
// packets that reliable and unreliable connections share. RC answers a failed check with the NAK
// that these functions return; UC drops the packet silently.

// inbound is the SEND or WRITE message being received, of a reliable or an unreliable connection.
type inbound struct {
	inside        bool          // between the FIRST and the LAST packet of the message
	op            bth.Operation // operation of the last executed packet
	receivedBytes uint64        // bytes of the message received so far, 0 to 2^31

	va     uint64     // remote address of a WRITE
	length uint64     // DMA length of a WRITE
	region *mr.Region // region of a WRITE, nil if length is 0
}

// maxMessage is the maximum DMA length of a message in bytes: 2 GiB (IBA C9-94). A longer one is an
// invalid request.
const maxMessage = 1 << 31

// startMessage starts a message of operation op.
func (m *inbound) startMessage(op bth.Operation) { m.op, m.receivedBytes = op, 0 }

// continues reports whether a packet that does not start a message continues this one: MIDDLE and
// LAST must follow FIRST or MIDDLE of the same operation (IBA 9.7.4.1.3; for UC C9-167).
func (m *inbound) continues(op bth.Operation) bool { return m.inside && m.op == op }

// beginWrite checks the RETH of a WRITE and looks up its region. It returns the NAK that refuses
// the WRITE, or noNAK. A WRITE of length 0 needs neither a valid address nor a valid key
// (IBA C9-88).
func (c *core) beginWrite(m *inbound, h bth.RETH) bth.Syndrome {
	m.va, m.length, m.region = h.VA, uint64(h.DMALen), nil
	if c.qp.Attr.Access&mr.RemoteWrite == 0 || m.length > maxMessage {
		return bth.NakInvalidRequest
	}
	if m.length > 0 {
		if m.region = c.lookupRemote(h, mr.RemoteWrite); m.region == nil {
			return bth.NakRemoteAccess
		}
	}
	return noNAK
}

// writeFits reports whether n bytes are a valid payload of a packet of a WRITE: all that is left of
// the DMA length in the last packet (ends), less in the others (IBA 9.7.4.1.6). So the packets of a
// WRITE cannot write beyond the range that was checked with its RETH.
func (m *inbound) writeFits(n int, ends bool) bool {
	left := m.length - m.receivedBytes
	if ends {
		return uint64(n) == left
	}
	return uint64(n) < left
}

// write stores the payload of a packet of a WRITE. It returns the NAK that refuses the packet, or
// noNAK.
//
// Memory that fails is answered with NAK remote operational error, whatever the operation: key,
// rights and bounds were right. Linux rxe, whose pages are pinned, has no such case and answers
// remote access error. The RC then enters ERR; other queue pairs that use the region do not. A UC
// only drops the message.
func (m *inbound) write(g *StoreBatch, o storeOwner, p *bth.Packet, ends bool) bth.Syndrome {
	payload := p.Payload
	if len(payload) == 0 {
		return noNAK
	}
	// The region may have been deregistered since the packet with the RETH, the only packet whose
	// key is checked.
	if !m.region.Valid() {
		return bth.NakRemoteAccess
	}
	if g.store(o, p.PSN, m.region, m.va+m.receivedBytes, payload, ends) != nil {
		return bth.NakRemoteOperational
	}
	m.receivedBytes += uint64(len(payload))
	return noNAK
}

// lookupRemote returns the region that the RETH names, if it exists, belongs to the protection
// domain or the queue pair, and permits the access to the whole range (IBA 9.7.4.1.5). Otherwise it
// returns nil, and the answer of an RC is NAK remote access error.
func (c *core) lookupRemote(h bth.RETH, need mr.Access) *mr.Region {
	region := c.keys.Lookup(h.RKey)
	if region == nil || region.CheckRemote(c.qp.PD, uint32(c.qp.Num), h.VA, uint64(h.DMALen), need) != mr.OK {
		return nil
	}
	return region
}

// payloadFits reports whether a packet at this position of a message may have n bytes of payload:
// FIRST and MIDDLE exactly the path MTU, LAST 1 byte up to the path MTU, ONLY 0 bytes up to the
// path MTU (IBA 9.7.4.1.6, C9-92; for UC 9.8.2.1). Both ends must therefore agree on the path MTU.
func payloadFits(pos bth.Position, n int, mtu uint32) bool {
	switch pos {
	case bth.First, bth.Middle:
		return n == int(mtu)
	case bth.Last:
		return n > 0 && n <= int(mtu)
	}
	return n <= int(mtu)
}
