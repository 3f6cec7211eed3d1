package trace_test

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// ip4in returns an IPv4 datagram of the given protocol.
func ip4in(protocol byte, b []byte) []byte {
	d := ip4(nil, b)
	d[9] = protocol
	return d
}

// grh returns a global route header before a packet.
func grh(packet []byte) []byte {
	h := []byte{0x60, 0, 0, 0, 0, byte(len(packet)), 0x1b, 64}
	return append(append(h, addr6[0].AsSlice()...), addr6[1].AsSlice()...)
}

// FuzzDecoder checks that each byte of a frame belongs to at most one packet, and that the fields
// of the packets are consistent.
func FuzzDecoder(f *testing.F) {
	var many []byte
	for i := range 4 {
		many = append(many, roce4(i, write(bth.RCWriteMiddle, bth.PSN(i), 256))...)
	}
	one := roce4(0, write(bth.RCWriteOnlyImm, 5, 19))
	six := ip6(60, []byte{17, 0, 1, 4, 0, 0, 0, 0}, udp(roce6(write(bth.RCReadRequest, 5, 0))))
	for _, s := range []struct {
		link capture.LinkType
		b    []byte
		more int
	}{
		{capture.LinkRaw, ip4(nil, udp(one)), 0}, {capture.LinkEthernet, ether(0x0800, ip4(nil, udp(many))), 0},
		{capture.LinkEthernet, ether(0x8100, append([]byte{0, 1, 0x86, 0xdd}, six...)), 0},
		{capture.LinkIPv4, ip4([]byte{1, 1, 1, 1}, udp(many[:300])), 772},
		{capture.LinkNull, append([]byte{2, 0, 0, 0}, ip4(nil, udp(one))...), 0},
		{capture.LinkRaw, ip4in(4, ip4(nil, udp(one))), 0},
		{capture.LinkEthernet, ether(0x8847, append([]byte{0, 1, 1, 64}, ip4(nil, udp(one))...)), 9},
		{capture.LinkEthernet, ether(0x8915, append(grh(one), one...)), 0},
		{capture.LinkInfiniBand, append([]byte{0, 2, 0, 5, 0, byte(2 + len(one)/4), 0, 9}, one...), 0},
		{capture.LinkERF, append([]byte{8: 21, 15: 0}, append([]byte{0, 2, 0, 5, 0, byte(2 + len(one)/4), 0, 9},
			one...)...), 0},
		{capture.LinkLinuxSLL2, append([]byte{8, 0, 18: 0, 19: 0}, ip4(nil, udp(one))...), 0},
	} {
		f.Add(uint16(s.link), s.b, uint16(s.more))
	}
	f.Fuzz(func(t *testing.T, link uint16, b []byte, more uint16) {
		frame := &capture.Frame{Number: 3, Link: capture.LinkType(link), Data: b, Length: len(b) + int(more)}
		d := trace.Decoder{Foreign: func(f *trace.Foreign) {
			if f.Meaning == "" || len(f.Outer) > 8 {
				t.Fatalf("%+v", f)
			}
			f.Fields()
			f.Ends()
		}}
		n, length := 0, 0
		d.Decode(frame, func(p *trace.Packet) {
			n++
			length += len(p.Bytes)
			switch {
			case p.Part != n || p.Parts < n || p.Number != 3 || !p.Src.IsValid() || !p.Dst.IsValid():
				t.Fatalf("%+v", p)
			case len(p.Bytes) > p.Len && p.Err == nil:
				t.Fatalf("%d bytes of %d", len(p.Bytes), p.Len)
			case len(p.BTH.Payload) > len(p.Bytes) || p.Err == nil && len(p.Bytes) < bth.BTHLen:
				t.Fatalf("payload of %d bytes in %d, error %v", len(p.BTH.Payload), len(p.Bytes), p.Err)
			case p.Doubtful && p.Err == nil:
				t.Fatal("in doubt without a reason")
			case p.ICRC.Verdict == trace.Right && p.ICRC.Wire != p.ICRC.Want:
				t.Fatalf("%+v", p.ICRC)
			}
		})
		skipped := uint64(0)
		for _, v := range d.Counts.Skipped {
			skipped += v
		}
		if length > len(b) || d.Counts.Packets != uint64(n) || (n == 0) != (skipped == 1) {
			t.Fatalf("%d packets of %d bytes: %+v", n, length, d.Counts)
		}
	})
}
