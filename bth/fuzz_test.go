package bth_test

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// FuzzDecode: Append reproduces every packet that Decode accepts, except reserved bits; every
// rejected packet has a reason and leaves no payload.
func FuzzDecode(f *testing.F) {
	for _, g := range readGolden(f, "testdata/rxe.txt") {
		if _, packet, err := bth.SeedIP(g.ip); err == nil && len(packet) < 128 {
			f.Add(packet)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p bth.Packet
		if err := p.Decode(b); err != nil {
			reason := bth.ReasonOf(err)
			if reason == bth.ReasonNone || reason >= bth.ReasonIPVersion {
				t.Fatalf("refused for reason %s", reason)
			}
			if p.Payload != nil {
				t.Fatalf("payload %x after %s", p.Payload, reason)
			}
			if bth.Explain(b) == nil {
				t.Fatalf("no explanation of %s", reason)
			}
			return
		}
		want := withoutReserved(&p, b[:len(b)-bth.ICRCLen])
		pad := p.Pad
		if got := p.Append(nil); !bytes.Equal(got, want) {
			t.Fatalf("%s: Append(Decode(b))\n got %x\nwant %x", p.Opcode, got, want)
		}
		if p.Pad != pad {
			t.Fatalf("%s: pad count %d of %d payload bytes", p.Opcode, pad, len(p.Payload))
		}
	})
}

// withoutReserved returns the packet b, decoded as p, with reserved bits and pad bytes cleared.
func withoutReserved(p *bth.Packet, b []byte) []byte {
	b = bytes.Clone(b)
	b[4] &= 0xc0
	b[8] &= 0x80
	extensions := b[bth.BTHLen:p.Opcode.Info().HeaderLen]
	switch p.Opcode {
	case bth.UDSendOnly, bth.UDSendOnlyImm:
		extensions[4] = 0
	case bth.RCFlush:
		extensions[0], extensions[1], extensions[2] = 0, 0, 0
		extensions[3] &= 0x3f
	case bth.CNP:
		clear(extensions)
	}
	clear(b[len(b)-int(p.Pad):])
	return b
}

// FuzzICRC: the ICRC equals the bitwise one however the packet is split, and SolveID returns
// the identification.
func FuzzICRC(f *testing.F) {
	for i, n := range []int{0, 1, 8, 100, 700, 4096} {
		f.Add(uint16(i*0x1111), uint16(n/2), randomPacket(uint64(i), n))
	}
	f.Fuzz(func(t *testing.T, id, cut uint16, body []byte) {
		if len(body) < bth.BTHLen || len(body) > bth.MaxPacketLen {
			return
		}
		h := testHeader4(len(body) + bth.ICRCLen)
		h.ID = id
		v := bth.ICRC(h.Seed(), body)
		packet := bth.AppendICRC(bytes.Clone(body), v)
		ip := datagram4(&h, packet)
		if want := bitwiseICRC(ip); v != want {
			t.Fatalf("ICRC %#08x, want %#08x", v, want)
		}
		at := bth.BTHLen + int(cut)%(len(body)-bth.BTHLen+1)
		if got := bth.ICRCContinue(bth.ICRCStart(h.Seed(), body[:at]), body[at:]); got != v {
			t.Fatalf("ICRC cut at %d: %#08x, want %#08x", at, got, v)
		}
		if got, ok := bth.SolveID(&h, packet); !ok || got != id {
			t.Fatalf("SolveID = %#04x, %t, want %#04x", got, ok, id)
		}
		h6 := testHeader6(len(packet))
		packet = bth.AppendICRC(bytes.Clone(body), bth.ICRC(h6.Seed(), body))
		if got, want := bth.ReadICRC(packet), bitwiseICRC(datagram6(&h6, packet)); got != want {
			t.Fatalf("IPv6: ICRC %#08x, want %#08x", got, want)
		}
	})
}

// FuzzSeedIP: for every datagram that SeedIP accepts, the seed equals the bitwise one and the
// payload lies within the datagram.
func FuzzSeedIP(f *testing.F) {
	for _, g := range readGolden(f, "testdata/published.txt") {
		f.Add(g.ip)
	}
	f.Fuzz(func(t *testing.T, ip []byte) {
		seed, packet, err := bth.SeedIP(ip)
		if err != nil {
			if r := bth.ReasonOf(err); r < bth.ReasonIPVersion || int(r) >= bth.NumReasons {
				t.Fatalf("refused for reason %s", r)
			}
			return
		}
		if len(packet) < bth.BTHLen+bth.ICRCLen {
			return
		}
		headers := 28
		if ip[0]>>4 == 6 {
			headers = 48
		}
		whole := ip[:headers+len(packet)]
		if got, want := bth.ICRC(seed, packet[:len(packet)-bth.ICRCLen]), bitwiseICRC(whole); got != want {
			t.Fatalf("ICRC %#08x, want %#08x", got, want)
		}
	})
}
