package conformance

import (
	"cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

// defaultMTU is the path MTU in bytes if the program does not tell it.
const defaultMTU = 1024

// MTU returns the path MTU of the connection in bytes.
func (c *Conn) MTU() int { return cmp.Or(c.Target.MTU, defaultMTU) }

// CmpSwap returns a compare and swap at offset off of the device's region.
func (c *Conn) CmpSwap(off, compare, swap uint64) *wire.Packet {
	p := c.Request(bth.RCCmpSwap)
	p.AtomicETH = bth.AtomicETH{VA: c.Target.VA + off, RKey: c.Target.RKey, SwapAdd: swap, Compare: compare}
	return p
}

// WriteParts returns the packets of a WRITE of data to offset off of the device's region, with
// consecutive PSNs from that of c. Only the last one has AckReq.
func (c *Conn) WriteParts(off uint64, data []byte) []*wire.Packet {
	all := c.parts(data, bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteLast, bth.RCWriteOnly)
	all[0].RETH = bth.RETH{VA: c.Target.VA + off, RKey: c.Target.RKey, DMALen: uint32(len(data))}
	return all
}

// MessageParts returns the packets of a SEND of data, like WriteParts.
func (c *Conn) MessageParts(data []byte) []*wire.Packet {
	return c.parts(data, bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLast, bth.RCSendOnly)
}

func (c *Conn) parts(data []byte, first, middle, last, only bth.Opcode) []*wire.Packet {
	mtu := c.MTU()
	if len(data) <= mtu {
		p := c.Request(only)
		p.Payload = data
		return []*wire.Packet{p}
	}
	var all []*wire.Packet
	for op := first; len(data) > 0; op = middle {
		n := min(mtu, len(data))
		if n == len(data) {
			op = last
		}
		p := c.Request(op)
		p.Payload = data[:n]
		data = data[n:]
		all = append(all, p)
	}
	return c.InOrder(all...)
}

// InOrder gives the packets consecutive PSNs from that of c; a READ takes as many as its response
// has packets. It clears AckReq in all except the last one, and returns them. It does not change
// the PSN of c.
func (c *Conn) InOrder(packets ...*wire.Packet) []*wire.Packet {
	psn := c.PSN
	for i, p := range packets {
		p.PSN = psn
		p.AckReq = i == len(packets)-1
		psn = psn.Add(c.span(p))
	}
	return packets
}

// span returns the number of PSNs of a request packet.
func (c *Conn) span(p *wire.Packet) uint32 {
	if p.Opcode == bth.RCReadRequest {
		return uint32(c.responses(int(p.RETH.DMALen)))
	}
	return 1
}

// responses returns the number of packets of the response to a READ of n bytes.
func (c *Conn) responses(n int) int { return max(1, (n+c.MTU()-1)/c.MTU()) }

// SendAll sends the packets.
func (c *Conn) SendAll(packets ...*wire.Packet) {
	for _, p := range packets {
		c.Send(p)
	}
}

// Do sends packets, the last of which is a SEND or WRITE with AckReq, waits until it is
// acknowledged, and makes the PSN behind it that of c.
func (c *Conn) Do(packets ...*wire.Packet) *wire.Received {
	c.SendAll(packets...)
	last := packets[len(packets)-1]
	r := c.Acked(last.PSN)
	c.PSN = last.PSN.Add(1)
	return r
}

// Acked waits for an ACK of psn or a later PSN, like Await.
func (c *Conn) Acked(psn bth.PSN) *wire.Received { return c.Await(AckFrom(psn), psn) }

// Await returns the next response, except that it skips ACKs of PSNs before psn, which a device may
// send unasked and repeat, and fails the case unless the response matches within the timeout.
func (c *Conn) Await(m Match, psn bth.PSN) *wire.Received {
	return c.expect(m, func(r *wire.Received) bool {
		return r.Opcode == bth.RCAck && r.AETH.Syndrome.IsAck() && r.PSN.Before(psn) && !m.Is(r)
	})
}

// Data receives the response to a READ of n bytes whose first PSN is psn, and returns the bytes and
// the MSN of the response. The case fails unless opcodes, PSNs, lengths and MSNs are right.
func (c *Conn) Data(psn bth.PSN, n int) ([]byte, uint32) {
	var data []byte
	var msn uint32
	for i, k := 0, c.responses(n); i < k; i++ {
		op := responseOp(i, k)
		r := c.Await(DataOf(psn.Add(uint32(i)), op), psn)
		if want := min(c.MTU(), n-len(data)); len(r.Payload) != want {
			c.t.Fail("packet %d of %d of the response has %d bytes instead of %d", i+1, k, len(r.Payload), want)
		}
		data = append(data, r.Payload...)
		if op == bth.RCReadResponseMiddle {
			continue
		}
		if !r.AETH.Syndrome.IsAck() {
			c.t.Fail("a READ response has the syndrome %v", r.AETH.Syndrome)
		}
		if i == 0 {
			msn = r.AETH.MSN
		} else if r.AETH.MSN != msn {
			c.t.Fail("the MSN changes within a READ response, from %d to %d", msn, r.AETH.MSN)
		}
	}
	return data, msn
}

// responseOp returns the opcode of packet i of the k packets of a READ response.
func responseOp(i, k int) bth.Opcode {
	switch {
	case k == 1:
		return bth.RCReadResponseOnly
	case i == 0:
		return bth.RCReadResponseFirst
	case i == k-1:
		return bth.RCReadResponseLast
	}
	return bth.RCReadResponseMiddle
}

// Fetch performs a READ of n bytes from offset off of the device's region, and returns the bytes
// and the MSN.
func (c *Conn) Fetch(off uint64, n int) ([]byte, uint32) {
	p := c.Read(off, uint32(n))
	c.Send(p)
	data, msn := c.Data(p.PSN, n)
	c.PSN = p.PSN.Add(c.span(p))
	return data, msn
}

// Atomic sends an atomic, waits for its response, and makes the PSN behind it that of c. It returns
// the value before the operation and the MSN.
func (c *Conn) Atomic(p *wire.Packet) (old uint64, msn uint32) {
	c.Send(p)
	r := c.Await(DataOf(p.PSN, bth.RCAtomicAck), p.PSN)
	c.PSN = p.PSN.Add(1)
	return r.AtomicAck, r.AETH.MSN
}
