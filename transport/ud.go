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

// GSIQKey is the Q_Key of QP1, the general services interface.
const GSIQKey = 0x8001_0000

// privilegedQKeyBit is the bit in the Q_Key of a work request that selects the queue pair's own
// Q_Key instead (IBA 3.5.3). Programs without privileges cannot send with a Q_Key that has this
// bit, such as that of QP1. Linux rxe does not know this rule.
const privilegedQKeyBit = 1 << 31

// UD is a queue pair of unreliable datagrams (IBA 9.8.3). QP1, the queue pair of the connection
// manager, is one too. Each message is one packet, goes to the destination in its work request, and
// may come from any sender that knows the Q_Key. There are no acknowledgements.
type UD struct {
	unreliable
}

// NewUD returns the machine of q; see [NewRC].
func NewUD(q *qp.QP, keys *mr.Table) *UD { return &UD{newUnreliable(q, keys)} }

// Modified applies the current state and attributes of the queue pair.
func (c *UD) Modified(Time) {
	was := c.takeState()
	switch {
	case c.state == qp.RESET:
		c.reset()
		c.restart()
	// RTS after SQD or SQE continues with the next PSN.
	case c.state == qp.RTS && was == qp.RTR:
		c.next = c.qp.Attr.SQPSN
		c.restart()
	case c.state == qp.ERR && was != qp.ERR:
		c.flush()
	}
	c.drained()
}

// Link returns the index of the link for the next datagram, or false if there is none to send. For
// a datagram that will fail because it has no address handle, the index is 0.
func (c *UD) Link() (int, bool) {
	if c.state != qp.RTS || c.cur == c.qp.SQ.Tail() {
		return 0, false
	}
	if ah, _ := c.qp.SQ.At(c.cur).AH.(*AH); ah != nil {
		return ah.link, true
	}
	return 0, true
}

// Transmit appends datagrams to dst, up to limit, as long as they use the link that [UD.Link]
// returns. The path of each is that of its address handle; the path argument is ignored. Work
// requests complete in [UD.Sent], as after [UC.Transmit].
func (c *UD) Transmit(now Time, _ *packet.Path, dst *packet.Batch, limit int) (more bool) {
	x := transmission{core: &c.core, now: now, dst: dst, framesLeft: limit}
	link, _ := c.Link()
	for c.state == qp.RTS && c.cur != c.qp.SQ.Tail() {
		w := c.qp.SQ.At(c.cur)
		if w.FailStatus != qp.WCSuccess {
			c.failAt(w.FailStatus)
			break
		}
		ah, _ := w.AH.(*AH)
		// UD supports SEND only, with and without immediate data (IBA 9.8.3).
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

// udOps has the opcode of each kind of work request, 0 for those that UD does not support.
var udOps = [256]bth.Opcode{qp.WRSend: bth.UDSendOnly, qp.WRSendImm: bth.UDSendOnlyImm}

// sendDatagram sends the packet of w. It returns true if the packet was appended, or if w succeeds
// without a packet, and false if there is no room or w fails. The DETH has the Q_Key and the number
// of this queue pair, to which the receiver may reply (IBA 9.3.2).
func (c *UD) sendDatagram(x *transmission, w *qp.SendWQE, ah *AH) bool {
	if w.Length > uint64(ah.mtu) {
		// The work request completes with success and no packet is sent (IBA C10-93.1.1), as in
		// Linux rxe.
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
	// If the payload changed while the packet is sent, its ICRC would be wrong, and UD never sends
	// it again.
	f.Volatile = true
	return true
}

// qkeyOf returns the Q_Key of the packet of w.
func (c *UD) qkeyOf(w *qp.SendWQE) uint32 {
	if w.RemoteQKey&privilegedQKeyBit != 0 || c.qp.Type == qp.GSI {
		return c.qkey()
	}
	return w.RemoteQKey
}

// qkey returns the queue pair's own Q_Key.
func (c *UD) qkey() uint32 {
	if c.qp.Type == qp.GSI {
		return GSIQKey
	}
	return c.qp.Attr.QKey
}

// Receive is ReceiveFrom for a datagram without a known network header.
func (c *UD) Receive(now Time, p *bth.Packet) Verdict { return c.ReceiveFrom(now, p, &GRH{}) }

// ReceiveFrom processes one packet for this queue pair, with the network header grh that it arrived
// with. Both are borrowed for the call. The PSN is not checked, since datagrams of several senders
// arrive. The Q_Key must be that of the queue pair; for QP1 it is GSIQKey. A datagram without a
// receive is dropped.
func (c *UD) ReceiveFrom(_ Time, p *bth.Packet, grh *GRH) Verdict {
	c.count.ReceivedPackets++
	info := p.Opcode.Info()
	// An opcode of another service, or a reserved one, is an invalid field (IBA C9-165).
	if !info.Valid || info.Service != bth.ServiceUD {
		return WrongService
	}
	switch c.state {
	case qp.RTR, qp.RTS, qp.SQD, qp.SQE:
	default:
		return WrongState
	}
	// The Q_Key protects against datagrams of strangers. A wrong one is counted, and the datagram
	// is dropped silently.
	if p.DETH.QKey != c.qkey() {
		c.count.QKeyViolations++
		return BadQKey
	}
	// hasRecv is true if an earlier datagram was too long for the receive that it took.
	if !c.hasRecv && !c.takeReceive() {
		return NoReceive
	}
	if resolve(&c.keys, c.qp.Recv.PD(), c.recv.SG, mr.LocalWrite) != mr.OK {
		return c.failReceive()
	}
	// The network header takes 40 bytes of the receive in any case, even if the header is unknown.
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

// tooLong drops a datagram that is longer than the receive. As in Linux rxe, the receive serves the
// next datagram, except that a receive from an SRQ, which other queue pairs would miss, completes
// with an error. The queue pair keeps its state.
func (c *UD) tooLong() Verdict {
	if c.qp.Recv.Shared() {
		c.completeReceive(qp.WC{Status: qp.WCRemInvReqErr})
	}
	return TooLong
}

// failReceive completes a receive with invalid memory with LOC_PROT_ERR and puts the queue pair
// into ERR.
func (c *UD) failReceive() Verdict {
	c.completeReceive(qp.WC{Status: qp.WCLocProtErr})
	c.enterError()
	return LocalError
}

// AH is the address handle of a UD. It is immutable: work requests and frames being sent point to
// it, and the last of them releases it.
type AH struct {
	pd     *mr.PD
	vector qp.AddressVector
	path   packet.Path
	link   int    // index of the link
	mtu    uint32 // maximum payload of a datagram in bytes
	ref    any    // kept from garbage collection by the handle
}

// NewAH returns the handle for a vector whose path leads over the link with the given index. mtu is
// the maximum payload of a datagram in bytes. keep is any value that must live as long as the
// handle, or nil.
func NewAH(pd *mr.PD, vector qp.AddressVector, link int, path packet.Path, mtu qp.MTU, keep any) *AH {
	return &AH{pd: pd, vector: vector, path: path, link: link, mtu: uint32(mtu), ref: keep}
}

// PD returns the protection domain of the handle; nil for a nil handle.
func (a *AH) PD() *mr.PD {
	if a == nil {
		return nil
	}
	return a.pd
}

// Vector returns the address vector that the handle was created from; the zero vector for a nil
// handle.
func (a *AH) Vector() qp.AddressVector {
	if a == nil {
		return qp.AddressVector{}
	}
	return a.vector
}

// Multicast reports whether the destination is a multicast group; false for a nil handle.
func (a *AH) Multicast() bool { return a != nil && a.path.Dst.IsMulticast() }

// GRHLen is the length in bytes of the network header before the payload in a receive of a
// datagram queue pair.
const GRHLen = 40

// GRH is the network header of a received datagram as Linux rxe and RNICs store it in the receive:
// an IPv6 header, or 20 bytes and an IPv4 header (IBA A17.4.5.2). The 20 bytes are zero here. Byte
// order is that of the network.
type GRH [GRHLen]byte

const (
	protocolUDP = 17
	ip4At       = GRHLen - bth.IPv4HeaderLen
)

// Set sets g to the header of a frame. Fields that the link does not report have the values that
// RoCEv2 senders use: no options, flow label 0.
func (g *GRH) Set(f *packet.Received) {
	*g = GRH{}
	be := binary.BigEndian
	length := bth.UDPHeaderLen + len(f.Data)
	if !f.Src.Is4() {
		src, dst := f.Src.As16(), f.Dst.As16()
		// Version, traffic class, flow label; then payload length, next header and hop limit.
		be.PutUint32(g[0:], 6<<28|uint32(f.TrafficClass)<<20)
		be.PutUint16(g[4:], uint16(length))
		g[6], g[7] = protocolUDP, f.HopLimit
		copy(g[8:], src[:])
		copy(g[24:], dst[:])
		return
	}
	h := g[ip4At:]
	src, dst := f.Src.As4(), f.Dst.As4()
	// Version 4 and a header of 5 words (IBA CA17-3), then the type of service.
	h[0], h[1] = 0x45, f.TrafficClass
	be.PutUint16(h[2:], uint16(bth.IPv4HeaderLen+length))
	be.PutUint16(h[4:], f.ID)
	be.PutUint16(h[6:], f.FlagsFragment)
	h[8], h[9] = f.HopLimit, protocolUDP
	copy(h[12:], src[:])
	copy(h[16:], dst[:])
	be.PutUint16(h[10:], ^sum16(h))
}

// sl returns the service level of a completion with this header, from which a program learns the
// IP version.
func (g *GRH) sl() uint8 {
	if g[0]>>4 == 6 {
		return qp.SLIPv6
	}
	return qp.SLIPv4
}

// sum16 returns the ones' complement sum of an IPv4 header (RFC 1071).
func sum16(h []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(h); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	sum = sum&0xffff + sum>>16
	return uint16(sum + sum>>16)
}

var errNoGRH = errors.New("the first 40 bytes of the receive are not the network header of a datagram")

// Origin returns the source address, the destination address and the traffic class of the datagram
// with this header. A header from [GRH.Set] begins with zeros for IPv4 and with the version for
// IPv6, so the two cannot be confused. ibv_init_ah_from_wc must look for an IPv4 header first,
// because RNICs may leave any bytes before an IPv4 header; an IPv6 sender can choose addresses that
// look like an IPv4 header.
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
