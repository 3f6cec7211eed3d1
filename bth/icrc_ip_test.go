package bth_test

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

func TestSeedIPRefuses(t *testing.T) {
	body := randomPacket(4, 8)
	n := len(body) + bth.ICRCLen
	h4, h6 := testHeader4(n), testHeader6(n)
	packet := bth.AppendICRC(body, bth.ICRC(h4.Seed(), body))
	good4, good6 := datagram4(&h4, packet), datagram6(&h6, packet)
	set := func(b []byte, i int, v ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[i:], v)
		return b
	}
	tests := []struct {
		name   string
		ip     []byte
		reason bth.Reason
	}{
		{"nothing", nil, bth.ReasonIPTruncated},
		{"IP version 0", []byte{0x05}, bth.ReasonIPVersion},
		{"IP version 15", set(good4, 0, 0xf5), bth.ReasonIPVersion},

		{"IPv4 header cut", good4[:19], bth.ReasonIPTruncated},
		{"IPv4 with options", set(good4, 0, 0x46), bth.ReasonIPOptions},
		{"IPv4 header length 4 words", set(good4, 0, 0x44), bth.ReasonIPOptions},
		{"IPv4 first fragment", set(good4, 6, 0x20, 0), bth.ReasonIPFragment},
		{"IPv4 last fragment", set(good4, 6, 0, 1), bth.ReasonIPFragment},
		{"IPv4 with TCP", set(good4, 9, 6), bth.ReasonNotUDP},
		{"IPv4 total length beyond the end", good4[:len(good4)-1], bth.ReasonIPTruncated},
		{"IPv4 total length 0", set(good4, 2, 0, 0), bth.ReasonUDPLength},
		{"IPv4 total length without UDP header", set(good4, 2, 0, 27), bth.ReasonUDPLength},
		{"IPv4 with UDP length 0", set(good4, 24, 0, 0), bth.ReasonUDPLength},
		{"IPv4 with UDP length one more", set(good4, 25, good4[25]+1), bth.ReasonUDPLength},
		{"IPv4 with UDP length one less", set(good4, 25, good4[25]-1), bth.ReasonUDPLength},

		{"IPv6 header cut", good6[:39], bth.ReasonIPTruncated},
		{"IPv6 with a hop-by-hop header", set(good6, 6, 0), bth.ReasonIPOptions},
		{"IPv6 with a fragment header", set(good6, 6, 44), bth.ReasonIPOptions},
		{"IPv6 with TCP", set(good6, 6, 6), bth.ReasonNotUDP},
		{"IPv6 payload length beyond the end", good6[:len(good6)-1], bth.ReasonIPTruncated},
		{"IPv6 payload length 0", set(good6, 4, 0, 0), bth.ReasonUDPLength},
		{"IPv6 with UDP length 7", set(good6, 44, 0, 7), bth.ReasonUDPLength},
	}
	seen := map[bth.Reason]bool{}
	for _, tt := range tests {
		seen[tt.reason] = true
		t.Run(tt.name, func(t *testing.T) {
			seed, payload, err := bth.SeedIP(tt.ip)
			if got := bth.ReasonOf(err); got != tt.reason {
				t.Errorf("SeedIP = %v, reason %s, want %s", err, got, tt.reason)
			}
			if seed != 0 || payload != nil {
				t.Errorf("SeedIP = %#x, %x beside an error", seed, payload)
			}
		})
	}
	for r := bth.ReasonIPVersion; int(r) < bth.NumReasons; r++ {
		if !seen[r] {
			t.Errorf("no datagram for reason %s", r)
		}
	}
}

func TestSeedIPIgnoresFramePadding(t *testing.T) {
	body := randomPacket(5, 0)
	h4, h6 := testHeader4(len(body)+bth.ICRCLen), testHeader6(len(body)+bth.ICRCLen)
	for name, ip := range map[string][]byte{
		"IPv4": datagram4(&h4, bth.AppendICRC(bytes.Clone(body), bth.ICRC(h4.Seed(), body))),
		"IPv6": datagram6(&h6, bth.AppendICRC(bytes.Clone(body), bth.ICRC(h6.Seed(), body))),
	} {
		t.Run(name, func(t *testing.T) {
			seed, packet, err := bth.SeedIP(append(ip, 0xde, 0xad, 0xbe))
			if err != nil {
				t.Fatal(err)
			}
			if !bth.CheckICRC(seed, packet) {
				t.Errorf("ICRC wrong, packet %x", packet)
			}
		})
	}
}

func TestTheSeedForAnIdentificationComesFromThatForNone(t *testing.T) {
	h := testHeader4(92)
	h.ID = 0
	none := h.Seed()
	for id := range 1 << 16 {
		h.ID = uint16(id)
		if got, want := none^bth.IDSeed(h.ID), h.Seed(); got != want {
			t.Fatalf("identification %#04x: seed %#08x, want %#08x", id, got, want)
		}
	}
}
