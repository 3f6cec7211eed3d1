package nic

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/transport"
)

// UDP payloads of FLUSHes of Linux rxe 6.12, with their IP headers' fields.
var rxeFlushes = map[string]struct {
	src, dst string
	srcPort  uint16
	id       uint16
	payload  string
}{
	"IPv4": {"198.18.0.1", "198.18.0.2", 0xd834, 0xaeb1,
		"1c00ffff00e21f9480de122f0000000100000b1832c90000882f938c00000fa056cb4e04"},
	"IPv6": {"fd00:18:0:1::1", "fd00:18:0:1::2", 0xe4aa, 0,
		"1c00ffff0012850980d248f80000000100002ad69343200058bf8e9300010000c995d97f"},
}

func TestFlushOfRxeIsTaken(t *testing.T) {
	for name, c := range rxeFlushes {
		t.Run(name, func(t *testing.T) {
			payload, err := hex.DecodeString(c.payload)
			if err != nil {
				t.Fatal(err)
			}
			frame := func() *packet.Received {
				return &packet.Received{
					Data: payload, Src: netip.MustParseAddr(c.src), Dst: netip.MustParseAddr(c.dst),
					SrcPort: c.srcPort, FlagsFragment: packet.DontFragment,
				}
			}
			blind := frame()
			if !new(inbox).icrcRight(blind) || blind.ID != c.id {
				t.Errorf("without its IP header: refused, or identification %#04x, want %#04x", blind.ID, c.id)
			}
			seen := frame()
			seen.HeaderSeen, seen.ID = true, c.id
			if !new(inbox).icrcRight(seen) {
				t.Error("with its IP header: refused")
			}
			payload[20] ^= 1
			if new(inbox).icrcRight(frame()) {
				t.Error("with another address: taken")
			}
		})
	}
}

func TestFlushForRxeIsSealedAsRxeDoes(t *testing.T) {
	g := &gid{local: netip.MustParseAddr("fd00:18:0:1::1")}
	b := packet.NewBatch(1)
	f := b.AppendFrame()
	f.Path = &packet.Path{Dst: netip.MustParseAddr("fd00:18:0:1::2")}
	f.SrcPort, f.Seal = 0xe4aa, transport.SealRxeFlushICRC
	want, err := hex.DecodeString(rxeFlushes["IPv6"].payload)
	if err != nil {
		t.Fatal(err)
	}
	f.Header = append(f.Header, want[:len(want)-bth.ICRCLen]...)
	(&outbox{gid: g, batch: b}).seal(f)
	if got := binary.LittleEndian.Uint32(f.Trailer); got != bth.ReadICRC(want) {
		t.Errorf("ICRC %#08x, want %#08x", got, bth.ReadICRC(want))
	}
}
