package wire

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// No frame makes the link panic, and what it returns lies within the frame.
func FuzzReceivedFrame(f *testing.F) {
	four, six := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	ethernet := func(kind uint16, b []byte) []byte {
		return append(append(make([]byte, 12), byte(kind>>8), byte(kind)), b...)
	}
	for _, p := range []*Packet{
		{Packet: bth.Packet{Opcode: bth.RCWriteOnly, Payload: make([]byte, 40)}},
		{Packet: bth.Packet{Opcode: bth.RCAck}, SkipICRC: true},
		{Packet: bth.Packet{Opcode: bth.UDSendOnly}, V1: true},
	} {
		for _, a := range []netip.Addr{four, six} {
			b, _ := p.Encode(a, a.Next(), 7)
			kind := uint16(0x86dd)
			switch {
			case p.V1:
				kind = etherTypeV1
			case a.Is4():
				kind = 0x0800
			}
			f.Add(make([]byte, vnetLen), ethernet(kind, b), true)
			f.Add([]byte{vnetNeedsSum, gsoUDP, 0, 0, 16, 0, 0, 0, 0, 0}, ethernet(kind, b), true)
			f.Add(make([]byte, vnetLen), b, false)
		}
	}
	f.Fuzz(func(t *testing.T, vnet, frame []byte, ether bool) {
		link := 0
		if ether {
			link = etherLen
		}
		if len(vnet) != vnetLen || len(frame) < link {
			return // Recv drops it
		}
		before := bytes.Clone(frame)
		for _, r := range receivedFrame(vnet, frame, link) {
			if len(r.Bytes) > len(r.IP) || len(r.IP) > len(frame) {
				t.Errorf("%d bytes of payload in an IP packet of %d in a frame of %d", len(r.Bytes), len(r.IP),
					len(frame))
			}
			r.To()
		}
		if !bytes.Equal(frame, before) {
			t.Error("the frame was changed")
		}
	})
}
