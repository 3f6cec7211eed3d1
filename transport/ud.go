package transport

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// GSIQKey is the Q_Key of the general services interface, QP1.
const GSIQKey = 0x8001_0000

// ownQKey is the bit of a request's Q_Key that asks for the queue pair's own instead: a
// program without privileges cannot send with a Q_Key that has it.
const ownQKey = 1 << 31

// UD is a queue pair of unreliable datagrams (IBA 9.8.3), or QP1, which is one. Each
// message is one packet, goes where its work request says, and comes from anybody who
// knows the Q_Key; none is acknowledged.
type UD struct {
	unreliable
}

// NewUD returns the machine of q; see [NewRC].
func NewUD(q *qp.QP, keys *mr.Table) *UD { return &UD{newUnreliable(q, keys)} }

// Modified takes over the attributes and the state that the queue pair has now.
func (c *UD) Modified(Time) {
	was := c.entered()
	switch {
	case c.state == qp.RESET:
		c.forget()
		c.restart()
	case c.state == qp.RTS && was == qp.RTR:
		c.next = c.qp.Attr.SQPSN
		c.restart()
	case c.state == qp.ERR && was != qp.ERR:
		c.flush()
	}
	c.drained()
}

// Link returns the index of the link by which the next datagram wants to leave; false
// means that there is none to send.
func (c *UD) Link() (int, bool) {
	if c.state != qp.RTS || c.cur == c.qp.SQ.Tail() {
		return 0, false
	}
	if ah, _ := c.qp.SQ.At(c.cur).AH.(*AH); ah != nil {
		return ah.link, true
	}
	return 0, true
}

// Transmit appends to dst the datagrams that leave by the link that [UD.Link] names, up to
// limit and up to the first that wants another link. Their paths are those of their address
// handles; the argument is not looked at. What it has put into dst completes with [UD.Sent],
// as with [UC.Transmit].
func (c *UD) Transmit(now Time, _ *packet.Path, dst *packet.Batch, limit int) (more bool) {
	x := transmission{core: &c.core, now: now, dst: dst, left: limit}
	link, _ := c.Link()
	for c.state == qp.RTS && c.cur != c.qp.SQ.Tail() {
		w := c.qp.SQ.At(c.cur)
		if w.Refused != qp.WCSuccess {
			c.failAt(w.Refused)
			break
		}
		ah, _ := w.AH.(*AH)
		if ah == nil || udOps[w.Opcode] == 0 {
			c.failAt(qp.WCLocQPOpErr)
			break
		}
		if ah.link != link || !c.sendDatagram(&x, w, ah) {
			break
		}
		w.Started, w.FirstPSN, w.Packets = true, c.next, 1
		c.next = c.next.Add(1)
		c.cur++
		c.sent = c.cur
	}
	return x.full
}

// udOps is the table from work request to wire opcode.
var udOps = [256]bth.Opcode{qp.WRSend: bth.UDSendOnly, qp.WRSendImm: bth.UDSendOnlyImm}

// sendDatagram emits the packet of w and reports whether w is dealt with.
func (c *UD) sendDatagram(x *transmission, w *qp.SendWQE, ah *AH) bool {
	if w.Length > uint64(ah.mtu) {
		// No packet leaves and no error tells of it (IBA C10-93.1.1), as on rxe.
		c.count.OversizeDatagrams++
		return true
	}
	if w.Flags&qp.Inline == 0 {
		if f := resolve(&c.keys, c.qp.PD, w.SG, 0); f != mr.OK {
			c.failAt(qp.WCLocProtErr)
			return false
		}
	}
	p := c.packetOf(udOps[w.Opcode], c.next)
	p.DestQP, p.Imm, p.Solicited = w.RemoteQPN, w.Imm, w.Flags&qp.Solicited != 0
	p.DETH = bth.DETH{QKey: c.qkeyOf(w), SrcQP: c.qp.Num}
	x.path = &ah.path
	f := x.frame(p, w.Length)
	if f == nil {
		return false
	}
	if !x.payload(f, w, 0, w.Length, w.Length) {
		x.dst.Drop()
		c.failAt(qp.WCLocProtErr)
		return false
	}
	f.Volatile = true // nothing is sent again if it changes while it is sent
	return true
}

// qkeyOf is the Q_Key that goes out with w.
func (c *UD) qkeyOf(w *qp.SendWQE) uint32 {
	if w.RemoteQKey&ownQKey != 0 || c.qp.Type == qp.GSI {
		return c.qkey()
	}
	return w.RemoteQKey
}

// qkey is the queue pair's own Q_Key.
func (c *UD) qkey() uint32 {
	if c.qp.Type == qp.GSI {
		return GSIQKey
	}
	return c.qp.Attr.QKey
}

// Receive is ReceiveFrom for a datagram whose network header nobody saw.
func (c *UD) Receive(now Time, p *bth.Packet) Verdict { return c.ReceiveFrom(now, p, &GRH{}) }

// ReceiveFrom takes one packet for this queue pair, which came with the network header grh.
// Both are borrowed for the call.
func (c *UD) ReceiveFrom(_ Time, p *bth.Packet, grh *GRH) Verdict {
	c.count.ReceivedPackets++
	info := p.Opcode.Info()
	if !info.Valid || info.Service != bth.ServiceUD {
		return WrongService
	}
	switch c.state {
	case qp.RTR, qp.RTS, qp.SQD, qp.SQE:
	default:
		return WrongState
	}
	if p.DETH.QKey != c.qkey() {
		c.count.QKeyViolations++
		return BadQKey
	}
	if !c.holding && !c.takeReceive() {
		return NoReceive
	}
	if resolve(&c.keys, c.qp.Recv.PD(), c.recv.SG, mr.LocalWrite) != mr.OK {
		return c.failReceive()
	}
	n := GRHLen + uint64(len(p.Payload))
	if n > c.recv.Length {
		return c.tooLong()
	}
	if scatter(c.recv.SG, 0, grh[:]) != mr.OK || scatter(c.recv.SG, GRHLen, p.Payload) != mr.OK {
		return c.failReceive()
	}
	wc := qp.WC{
		Status: qp.WCSuccess, Opcode: qp.WCRecv, ByteLen: uint32(n), Solicited: p.Solicited,
		Flags: qp.GRH, SrcQP: p.DETH.SrcQP, SL: grh.sl(),
	}
	if info.Headers&bth.HasImmDt != 0 {
		wc.Flags |= qp.WithImm
		wc.Imm = p.Imm
	}
	c.completeReceive(wc)
	return Accepted
}

// tooLong drops a datagram for which the receive is too small. As on rxe the receive
// serves the next one, unless it was taken from a shared source and would be missing there: then it
// completes with an error. The queue pair goes on.
func (c *UD) tooLong() Verdict {
	if c.qp.Recv.Shared() {
		c.completeReceive(qp.WC{Status: qp.WCRemInvReqErr})
	}
	return TooLong
}

// failReceive ends a receive whose memory is not what it has to be.
func (c *UD) failReceive() Verdict {
	c.completeReceive(qp.WC{Status: qp.WCLocProtErr})
	c.enterError()
	return LocalError
}

// AH is the address handle of the datagram machines. It never changes: frames in flight
// and any number of work requests point to it at once, and the last of them lets go of it.
type AH struct {
	pd     *mr.PD
	vector qp.AddressVector
	path   packet.Path
	link   int
	mtu    uint32
	keep   any
}

// NewAH returns the handle for a vector that leads by the link with the given index over
// path, with a payload of up to mtu bytes a datagram. What keep points to is held as long as
// somebody has the handle.
func NewAH(pd *mr.PD, vector qp.AddressVector, link int, path packet.Path, mtu qp.MTU, keep any) *AH {
	return &AH{pd: pd, vector: vector, path: path, link: link, mtu: uint32(mtu), keep: keep}
}

// PD returns the domain that the handle was made in.
func (a *AH) PD() *mr.PD {
	if a == nil {
		return nil
	}
	return a.pd
}

// Vector returns what the handle was made from.
func (a *AH) Vector() qp.AddressVector {
	if a == nil {
		return qp.AddressVector{}
	}
	return a.vector
}

// Multicast is true when the way leads to a multicast group.
func (a *AH) Multicast() bool { return a != nil && a.path.Dst.IsMulticast() }

// GRHLen is the length in bytes of what stands before the payload in a receive of a
// datagram queue pair.
const GRHLen = 40

// GRH is the network header a datagram came with, as Linux rxe and RNICs lay it into the
// receive: an IPv6 header, or 20 zero bytes and an IPv4 header.
type GRH [GRHLen]byte

const (
	protocolUDP = 17
	ip4At       = GRHLen - bth.IPv4HeaderLen
)

// Set makes the header of a frame. What the link does not see of it is as senders of
// RoCEv2 set it: no options, flow label 0; the IPv4 identification is that of f.
func (g *GRH) Set(f *packet.Received) {
	*g = GRH{}
	be := binary.BigEndian
	length := bth.UDPHeaderLen + len(f.Data)
	if !f.Src.Is4() {
		src, dst := f.Src.As16(), f.Dst.As16()
		be.PutUint32(g[0:], 6<<28|uint32(f.TrafficClass)<<20)
		be.PutUint16(g[4:], uint16(length))
		g[6], g[7] = protocolUDP, f.HopLimit
		copy(g[8:], src[:])
		copy(g[24:], dst[:])
		return
	}
	h := g[ip4At:]
	src, dst := f.Src.As4(), f.Dst.As4()
	h[0], h[1] = 0x45, f.TrafficClass
	be.PutUint16(h[2:], uint16(bth.IPv4HeaderLen+length))
	be.PutUint16(h[4:], f.ID)
	be.PutUint16(h[6:], f.FlagsFragment)
	h[8], h[9] = f.HopLimit, protocolUDP
	copy(h[12:], src[:])
	copy(h[16:], dst[:])
	be.PutUint16(h[10:], ^sum16(h))
}

// sl is the service level of a completion with this header.
func (g *GRH) sl() uint8 {
	if g[0]>>4 == 6 {
		return qp.SLIPv6
	}
	return qp.SLIPv4
}

// sum16 is the ones' complement sum of an IPv4 header (RFC 1071).
func sum16(h []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(h); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	sum = sum&0xffff + sum>>16
	return uint16(sum + sum>>16)
}

var errNoGRH = errors.New("the first 40 bytes of the receive are not the network header of a datagram")

// Origin tells where the datagram with this header came from: its source, the address it
// was sent to, and its traffic class. What [GRH.Set] makes of IPv4 begins with zeros, and of IPv6
// with the version. ibv_init_ah_from_wc, where RNICs leave anything before an IPv4 header, looks for
// one first: a sender of IPv6 can choose addresses that look like one.
func (g *GRH) Origin() (src, dst netip.Addr, trafficClass uint8, err error) {
	h := g[ip4At:]
	switch {
	case g[0]>>4 == 6:
		class := uint8(binary.BigEndian.Uint16(g[:]) >> 4)
		return netip.AddrFrom16([16]byte(g[8:])), netip.AddrFrom16([16]byte(g[24:])), class, nil
	case h[0] == 0x45 && sum16(h) == 0xffff:
		return netip.AddrFrom4([4]byte(h[12:])), netip.AddrFrom4([4]byte(h[16:])), h[1], nil
	}
	return netip.Addr{}, netip.Addr{}, 0, errNoGRH
}
