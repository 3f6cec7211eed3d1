package trace_test

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Ends of the packets in tests.
var (
	addr4 = [2]netip.Addr{netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.0.3")}
	addr6 = [2]netip.Addr{netip.MustParseAddr("fd00:18::2"), netip.MustParseAddr("fd00:18::3")}
)

const (
	testPort = 50000
	testID   = 700
)

func header4(step, n int) *bth.Header4 {
	return &bth.Header4{
		Src: addr4[0].As4(), Dst: addr4[1].As4(), ID: uint16(testID + step), FlagsFragment: 0x4000,
		SrcPort: testPort, DstPort: trace.Port, UDPLen: bth.UDPHeaderLen + n,
	}
}

func header6(n int) *bth.Header6 {
	return &bth.Header6{Src: addr6[0].As16(), Dst: addr6[1].As16(), SrcPort: testPort, DstPort: trace.Port,
		UDPLen: bth.UDPHeaderLen + n}
}

// roce4 returns a packet with its ICRC, as segment number step of an IPv4 datagram.
func roce4(step int, p bth.Packet) []byte {
	b := p.Append(nil)
	return bth.AppendICRC(b, bth.ICRC(header4(step, len(b)+bth.ICRCLen).Seed(), b))
}

func roce6(p bth.Packet) []byte {
	b := p.Append(nil)
	return bth.AppendICRC(b, bth.ICRC(header6(len(b)+bth.ICRCLen).Seed(), b))
}

func udp(payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, testPort)
	b = binary.BigEndian.AppendUint16(b, trace.Port)
	b = binary.BigEndian.AppendUint16(b, uint16(bth.UDPHeaderLen+len(payload)))
	return append(append(b, 0, 0), payload...)
}

// ip4 prepends an IPv4 header with the given options to b.
func ip4(options, b []byte) []byte {
	h := []byte{0x45 + byte(len(options)/4), 2, 0, 0, testID >> 8, testID & 0xff, 0x40, 0, 64, 17, 0, 0}
	binary.BigEndian.PutUint16(h[2:], uint16(20+len(options)+len(b)))
	h = append(h, addr4[0].AsSlice()...)
	h = append(h, addr4[1].AsSlice()...)
	return append(append(h, options...), b...)
}

// ip6 prepends an IPv6 header and the given extension headers, the first of type next, to b.
func ip6(next byte, extensions, b []byte) []byte {
	h := []byte{0x60, 0x20, 0, 0, 0, 0, next, 64}
	binary.BigEndian.PutUint16(h[4:], uint16(len(extensions)+len(b)))
	h = append(h, addr6[0].AsSlice()...)
	h = append(h, addr6[1].AsSlice()...)
	return append(append(h, extensions...), b...)
}

func ether(kind uint16, b []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 2}, kind), b...)
}

// frameOf returns a complete Ethernet frame with an IPv4 datagram with the given UDP payload.
func frameOf(payload []byte) *capture.Frame {
	b := ether(0x0800, ip4(nil, udp(payload)))
	return &capture.Frame{Number: 1, Time: time.Unix(1, 0).UTC(), Link: capture.LinkEthernet, Length: len(b), Data: b}
}

// snap truncates the captured UDP payload to n bytes.
func snap(f *capture.Frame, n int) *capture.Frame {
	f.Data = f.Data[:14+20+8+n]
	return f
}

// write returns a WRITE packet with n bytes of payload that depend on psn.
func write(op bth.Opcode, psn bth.PSN, n int) bth.Packet {
	p := bth.Packet{Opcode: op, PKey: 0xffff, DestQP: 0x11, PSN: psn,
		RETH: bth.RETH{VA: 0x1000, RKey: 0x22, DMALen: 9999}, Payload: make([]byte, n)}
	for i := range p.Payload {
		p.Payload[i] = byte(i*7 + int(psn))
	}
	return p
}

// shown is the part of a packet that tests compare.
type shown struct {
	Part, Parts int
	Len, Got    int
	PSN         bth.PSN
	Op          bth.Opcode
	ICRC        trace.Verdict
	Payload     int
	Err         string
	Doubt       bool
}

func decode(d *trace.Decoder, f *capture.Frame) (out []shown) {
	d.Decode(f, func(p *trace.Packet) {
		s := shown{p.Part, p.Parts, p.Len, len(p.Bytes), p.BTH.PSN, p.BTH.Opcode, p.ICRC.Verdict, len(p.BTH.Payload),
			"", p.Doubtful}
		if p.Err != nil {
			s.Err = p.Err.Error()
		}
		out = append(out, s)
	})
	return out
}
