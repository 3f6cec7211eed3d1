package self

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
)

// frame is a datagram on its way between the tester and the endpoint. A hook may change any field;
// if it changes the embedded packet, the datagram is encoded again with a right ICRC.
type frame struct {
	bth.Packet
	err error // of the decoder; the fields of Packet are then not valid

	src, dst  netip.Addr
	port      uint16 // UDP source port
	tos, ttl  uint8
	id, flags uint16 // IPv4 identification, flags and fragment offset
	data      []byte // UDP payload, from the BTH to the ICRC
	raw       []byte // the IP packet of an incoming datagram

	// badIP is the error in the IP or UDP header of an incoming datagram, which the endpoint drops.
	badIP error
	noSum bool // the UDP checksum of an incoming datagram is 0
	// badICRC means that the ICRC is wrong, or that deliver must make it wrong.
	badICRC bool
	// header changes the IP packet of an outgoing datagram; the IPv4 header checksum is not
	// computed again.
	header func(ip []byte) []byte

	// ahead is the distance of an RC request from the PSN that the endpoint expects: negative for a
	// duplicate. It is 0 for other packets.
	ahead int32
	// flow is the state of the connection that the frame belongs to, nil if there is none.
	flow *flow

	dropped   bool
	canonical []byte // encoding of Packet before the hook
	icrcBad   bool   // badICRC before the hook
}

// drop makes the frame disappear.
func (f *frame) drop() { f.dropped = true }

// newFrame returns a frame with the payload data, which it copies.
func newFrame(data []byte) *frame {
	f := &frame{data: bytes.Clone(data)}
	f.decode()
	return f
}

func (f *frame) decode() {
	if f.err = f.Packet.Decode(f.data); f.err == nil {
		f.canonical = f.Append(nil)
	}
}

// clone returns a copy that shares nothing with f that a hook changes.
func (f *frame) clone() *frame {
	g := *f
	g.data, g.dropped = bytes.Clone(f.data), false
	g.Payload = bytes.Clone(f.Payload)
	return &g
}

// request reports whether f is a valid request of the service, at the endpoint or the tester.
func (f *frame) request(s bth.Service) bool {
	return f.err == nil && f.Opcode.Info().Request() && f.Opcode.Info().Service == s
}

// rcRequest reports whether f is an RC request.
func (f *frame) rcRequest() bool { return f.request(bth.ServiceRC) }

// is reports whether f is a decoded packet with one of the operations.
func (f *frame) is(ops ...bth.Operation) bool {
	if f.err != nil {
		return false
	}
	for _, op := range ops {
		if f.Opcode.Info().Op == op {
			return true
		}
	}
	return false
}

// ack, nak and rnr report whether f is a positive, negative or RNR acknowledgement.
func (f *frame) ack() bool { return f.is(bth.OpAck) && f.AETH.Syndrome.IsAck() }
func (f *frame) nak() bool { return f.is(bth.OpAck) && f.AETH.Syndrome.IsNak() }
func (f *frame) rnr() bool { return f.is(bth.OpAck) && f.AETH.Syndrome.IsRNR() }

// hasAETH reports whether f has an AETH.
func (f *frame) hasAETH() bool {
	return f.err == nil && f.Opcode.Info().Headers&bth.HasAETH != 0
}

// seed returns the ICRC seed for n bytes of UDP payload.
func (f *frame) seed(n int) uint32 {
	h := bth.Header4{Src: f.src.As4(), Dst: f.dst.As4(), ID: f.id, FlagsFragment: f.flags, SrcPort: f.port,
		DstPort: wire.Port, UDPLen: bth.UDPHeaderLen + n}
	return h.Seed()
}

// seal computes the ICRC of b, which has none.
func (f *frame) seal(b []byte) []byte {
	return bth.AppendICRC(b, bth.ICRC(f.seed(len(b)+bth.ICRCLen), b))
}

// encode returns the UDP payload of f after a hook.
func (f *frame) encode() []byte {
	data := f.data
	changed := false
	if f.err == nil {
		if b := f.Append(nil); !bytes.Equal(b, f.canonical) {
			data, changed = f.seal(b), true
		}
	}
	n := len(data) - bth.ICRCLen
	switch {
	case n < bth.BTHLen:
	case f.badICRC && (changed || !f.icrcBad):
		data = bytes.Clone(data)
		data[len(data)-1] ^= 1
	case !f.badICRC && f.icrcBad && !changed:
		data = f.seal(bytes.Clone(data[:n]))
	}
	return data
}

// ip returns the IP packet of f with the payload data.
func (f *frame) ip(data []byte) []byte {
	h := encap.Header{Src: f.src, Dst: f.dst, SrcPort: f.port, ID: f.id, FlagsFragment: f.flags, TrafficClass: f.tos,
		HopLimit: f.ttl}
	b := make([]byte, h.Len(), h.Len()+len(data))
	h.Put(b, len(data))
	b = append(b, data...)[encap.EthernetLen:]
	if f.header != nil {
		b = f.header(b)
	}
	return b
}

// Errors of incoming headers.
var (
	errOptions = errors.New("the IPv4 header has options")
	errLength  = errors.New("the lengths of the IP and the UDP header differ")
	errV1      = errors.New("the packet is a RoCEv1 frame")
	errSum     = errors.New("the UDP checksum is wrong")
)

// parseIP returns the frame in an IPv4 packet. badIP is why the endpoint drops it (CA17-24).
func parseIP(ip []byte) *frame {
	d, err := encap.DecodeIP(ip)
	switch {
	case len(ip) > 0 && ip[0]>>4 == 4 && ip[0]&15 > 5:
		err = errOptions
	case err == nil:
		switch udp := ip[encap.IPv4Len:]; {
		case int(binary.BigEndian.Uint16(ip[2:])) != encap.IPv4Len+encap.UDPLen+len(d.Data):
			err = errLength
		case binary.BigEndian.Uint16(udp[6:]) != 0 && udpSum(ip, udp[:8+len(d.Data)]) != 0xffff:
			err = errSum
		}
	}
	if err != nil && d.Data == nil && len(ip) > encap.IPv4Len+encap.UDPLen {
		header := int(ip[0]&15) * 4
		if header < encap.IPv4Len || header+encap.UDPLen > len(ip) {
			header = encap.IPv4Len
		}
		d = encap.Datagram{Data: ip[header+encap.UDPLen:], SrcPort: binary.BigEndian.Uint16(ip[header:]),
			Src: netip.AddrFrom4([4]byte(ip[12:16])), Dst: netip.AddrFrom4([4]byte(ip[16:20])),
			ID: binary.BigEndian.Uint16(ip[4:]), FlagsFragment: packet.DontFragment, TrafficClass: ip[1],
			HopLimit: ip[8]}
	}
	f := newFrame(d.Data)
	f.src, f.dst, f.port, f.tos, f.ttl = d.Src, d.Dst, d.SrcPort, d.TrafficClass, d.HopLimit
	f.id, f.flags, f.badIP = d.ID, d.FlagsFragment, err
	f.raw = ip
	f.noSum = err == nil && ip[26]|ip[27] == 0
	f.checkICRC()
	return f
}

func (f *frame) checkICRC() {
	f.badICRC = len(f.data) < bth.BTHLen+bth.ICRCLen || !f.src.Is4() || !bth.CheckICRC(f.seed(len(f.data)), f.data)
	f.icrcBad = f.badICRC
}

// udpSum returns the one's complement sum of a UDP datagram with its pseudo header, 0xffff if the
// checksum is right (RFC 768).
func udpSum(ip, udp []byte) uint16 {
	s := uint32(17) + uint32(len(udp))
	for _, b := range [][]byte{ip[12:20], udp} {
		for i, x := range b {
			if i%2 == 0 {
				s += uint32(x) << 8
			} else {
				s += uint32(x)
			}
		}
	}
	for s>>16 != 0 {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// reseal computes a new ICRC for f, after a change outside the packet.
func (f *frame) reseal() { f.badICRC, f.icrcBad = false, true }

// accept removes the error in the IP and UDP headers of f: the endpoint gets the datagram as if
// they were right.
func (f *frame) accept() {
	f.badIP = nil
	f.reseal()
}

// link is the tester's end of a world. It behaves as a raw link.
type link struct {
	w     *world
	local netip.Addr
	// latency is the time that the tester takes for each packet that it receives.
	latency time.Duration
	id      atomic.Uint32 // last IPv4 identification
}

func (l *link) Local() netip.Addr { return l.local }
func (*link) Raw() bool           { return true }
func (*link) MTU() int            { return linkMTU }

// Close does nothing: the world closes its links.
func (*link) Close() error { return nil }

func (l *link) Send(dst netip.Addr, p *wire.Packet) ([]byte, error) {
	id := uint16(l.id.Add(1))
	ip, data := p.Encode(l.local, dst, id)
	f := parseIP(ip)
	if p.V1 {
		f = newFrame(data)
		f.src, f.port = p.Source(l.local)
		f.dst, f.badIP, f.flags = dst, errV1, packet.DontFragment
	}
	return data, l.w.fromTester(f)
}

func (l *link) Recv(deadline time.Time) (*wire.Received, error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case r := <-l.w.recv:
		time.Sleep(l.latency)
		return r, nil
	case <-timer.C:
		return nil, wire.ErrTimeout
	case <-l.w.done:
		return nil, net.ErrClosed
	}
}

// putIPSum writes the header checksum of an IPv4 packet, if it is long enough.
func putIPSum(ip []byte) {
	if len(ip) < 20 {
		return
	}
	n := min(max(int(ip[0]&15)*4, 20), len(ip)) &^ 1
	binary.BigEndian.PutUint16(ip[10:], 0)
	var s uint32
	for i := 0; i < n; i += 2 {
		s += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	for s>>16 != 0 {
		s = s>>16 + s&0xffff
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(s))
}
