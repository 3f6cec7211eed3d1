package nic

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
)

func TestASeedThatIsRememberedIsOfThatHeaderAlone(t *testing.T) {
	third := netip.MustParseAddr("192.0.2.3")
	a6, b6 := netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2")
	type header struct {
		src, dst        netip.Addr
		port, id, flags uint16
		n               int
	}
	usual := header{addrA, addrB, packet.Port, 0, packet.DontFragment, 96}
	var s seeds
	for _, change := range []func(h *header){
		func(*header) {},
		func(h *header) { h.src = third },
		func(h *header) { h.dst = third },
		func(h *header) { h.src, h.dst = h.dst, h.src },
		func(h *header) { h.port = 49152 },
		func(h *header) { h.id = 1 },
		func(h *header) { h.id = 0xabcd },
		func(h *header) { h.flags = 0 },
		func(h *header) { h.n += 4 * seedSlots },
		func(h *header) { h.n += 4 },
		func(h *header) { h.src, h.dst = a6, b6 },
		func(h *header) { h.src, h.dst = b6, a6 },
		func(h *header) { h.src, h.dst = a6.WithZone("eth0"), b6 },
	} {
		other := usual
		change(&other)
		for range 2 {
			for _, h := range []header{other, usual} {
				var want uint32
				if h.src.Is4() {
					whole := bth.Header4{
						Src: h.src.As4(), Dst: h.dst.As4(), ID: h.id, FlagsFragment: h.flags,
						SrcPort: h.port, DstPort: packet.Port, UDPLen: bth.UDPHeaderLen + h.n,
					}
					want = whole.Seed()
				} else {
					whole := bth.Header6{
						Src: h.src.As16(), Dst: h.dst.As16(), SrcPort: h.port, DstPort: packet.Port,
						UDPLen: bth.UDPHeaderLen + h.n,
					}
					want = whole.Seed()
				}
				if got := s.of(h.src, h.dst, h.port, h.id, h.flags, h.n); got != want {
					t.Errorf("%+v: seed %#08x, want %#08x", h, got, want)
				}
			}
		}
	}
}
