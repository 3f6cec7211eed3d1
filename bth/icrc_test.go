package bth_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// testHeader4 is an outer header for packets of n bytes including the ICRC.
func testHeader4(n int) bth.Header4 {
	return bth.Header4{
		Src: [4]byte{198, 18, 0, 2}, Dst: [4]byte{198, 18, 0, 3}, ID: 0x1234, FlagsFragment: 0x4000,
		SrcPort: 0xc123, DstPort: 4791, UDPLen: bth.UDPHeaderLen + n,
	}
}

func testHeader6(n int) bth.Header6 {
	return bth.Header6{
		Src: [16]byte{0xfd, 0, 0, 0x18, 15: 2}, Dst: [16]byte{0xfd, 0, 0, 0x18, 15: 3},
		SrcPort: 0xc123, DstPort: 4791, UDPLen: bth.UDPHeaderLen + n,
	}
}

// datagram4 builds the IPv4 datagram h describes, variant fields included.
func datagram4(h *bth.Header4, packet []byte) []byte {
	be := binary.BigEndian
	b := []byte{0x45, 0x02}
	b = be.AppendUint16(b, uint16(20+h.UDPLen))
	b = be.AppendUint16(b, h.ID)
	b = be.AppendUint16(b, h.FlagsFragment)
	b = append(b, 64, 17, 0xab, 0xcd)
	b = append(append(b, h.Src[:]...), h.Dst[:]...)
	return appendUDP(b, h.SrcPort, h.DstPort, h.UDPLen, packet)
}

func datagram6(h *bth.Header6, packet []byte) []byte {
	b := []byte{0x60, 0x12, 0x34, 0x56}
	b = binary.BigEndian.AppendUint16(b, uint16(h.UDPLen))
	b = append(b, 17, 64)
	b = append(append(b, h.Src[:]...), h.Dst[:]...)
	return appendUDP(b, h.SrcPort, h.DstPort, h.UDPLen, packet)
}

func appendUDP(b []byte, src, dst uint16, length int, packet []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint16(b, src)
	b = be.AppendUint16(b, dst)
	b = be.AppendUint16(b, uint16(length))
	b = append(b, 0x12, 0x34)
	return append(b, packet...)
}

// randomPacket returns a WRITE with n bytes of payload and pad, without ICRC.
func randomPacket(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	p := bth.Packet{
		Opcode: bth.RCWriteOnly, MigReq: true, PKey: 0xffff, DestQP: bth.QPN(r.Uint32() & 0xffffff), AckReq: true,
		PSN:  bth.PSN(r.Uint32()) & bth.MaxPSN,
		RETH: bth.RETH{VA: r.Uint64(), RKey: r.Uint32(), DMALen: uint32(n)}, Payload: make([]byte, n),
	}
	for i := range p.Payload {
		p.Payload[i] = byte(r.Uint32())
	}
	return p.Append(nil)
}

func TestICRCAgreesWithTheBitwiseOne(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 63, 64, 65, 255, 256, 1023, 1024, 4095, 4096, 9000} {
		body := randomPacket(1, n)
		t.Run(fmt.Sprintf("IPv4/%d", n), func(t *testing.T) {
			h := testHeader4(len(body) + bth.ICRCLen)
			packet := bth.AppendICRC(body[:len(body):len(body)], bth.ICRC(h.Seed(), body))
			if got, want := bth.ReadICRC(packet), bitwiseICRC(datagram4(&h, packet)); got != want {
				t.Errorf("ICRC = %#08x, want %#08x", got, want)
			}
			seed, payload, err := bth.SeedIP(datagram4(&h, packet))
			if err != nil || seed != h.Seed() || len(payload) != len(packet) {
				t.Errorf("SeedIP = %#08x, %d bytes, %v, want %#08x, %d bytes", seed, len(payload), err,
					h.Seed(), len(packet))
			}
		})
		t.Run(fmt.Sprintf("IPv6/%d", n), func(t *testing.T) {
			h := testHeader6(len(body) + bth.ICRCLen)
			packet := bth.AppendICRC(body[:len(body):len(body)], bth.ICRC(h.Seed(), body))
			if got, want := bth.ReadICRC(packet), bitwiseICRC(datagram6(&h, packet)); got != want {
				t.Errorf("ICRC = %#08x, want %#08x", got, want)
			}
			seed, payload, err := bth.SeedIP(datagram6(&h, packet))
			if err != nil || seed != h.Seed() || len(payload) != len(packet) {
				t.Errorf("SeedIP = %#08x, %d bytes, %v, want %#08x, %d bytes", seed, len(payload), err,
					h.Seed(), len(packet))
			}
		})
	}
}

func TestICRCOfThePiecesIsTheICRCOfTheWhole(t *testing.T) {
	body := randomPacket(2, 333)
	h := testHeader4(len(body) + bth.ICRCLen)
	want := bth.ICRC(h.Seed(), body)
	for cut := bth.BTHLen; cut <= len(body); cut++ {
		state := bth.ICRCStart(h.Seed(), body[:cut])
		middle := cut + (len(body)-cut)/2
		state = bth.ICRCContinue(state, body[cut:middle])
		state = bth.ICRCContinue(state, nil)
		state = bth.ICRCContinue(state, body[middle:])
		if state != want {
			t.Fatalf("cut at %d and %d: %#08x, want %#08x", cut, middle, state, want)
		}
	}
}

func TestICRCOfHeadersAndPayloadInOneStepIsThatInTwo(t *testing.T) {
	headers, payload := randomPacket(3, 80), randomPacket(4, 600)
	for h := range len(headers) + 1 {
		for n := range len(payload) + 1 {
			seed := uint32(h)<<16 | uint32(n)
			// The headers end, and the payload begins, at each offset from an aligned address.
			headers, payload := headers[len(headers)-h:], payload[len(payload)-n:]
			want := bth.ICRCContinue(bth.ICRCStart(seed, headers), payload)
			if got := bth.ICRCStartWith(seed, headers, payload); got != want {
				t.Fatalf("headers of %d bytes, payload of %d: %#08x, want %#08x", h, n, got, want)
			}
		}
	}
}

// Changes that a router or congestion control may make do not change the ICRC; all others do.
func TestICRCCoversExactlyTheInvariantBits(t *testing.T) {
	body := randomPacket(3, 8)
	n := len(body) + bth.ICRCLen
	h4, h6 := testHeader4(n), testHeader6(n)
	tests := []struct {
		name    string
		ip      []byte
		variant map[int]byte // byte of the datagram: the bits that may change
	}{
		{"IPv4", datagram4(&h4, bth.AppendICRC(body[:len(body):len(body)], bth.ICRC(h4.Seed(), body))), map[int]byte{
			1: 0xff, 8: 0xff, 10: 0xff, 11: 0xff, 26: 0xff, 27: 0xff, 32: 0xff,
		}},
		{"IPv6", datagram6(&h6, bth.AppendICRC(body[:len(body):len(body)], bth.ICRC(h6.Seed(), body))), map[int]byte{
			0: 0x0f, 1: 0xff, 2: 0xff, 3: 0xff, 7: 0xff, 46: 0xff, 47: 0xff, 52: 0xff,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.ip {
				for bit := range 8 {
					tt.ip[i] ^= 1 << bit
					seed, packet, err := bth.SeedIP(tt.ip)
					good := err == nil && bth.CheckICRC(seed, packet)
					if want := tt.variant[i]&(1<<bit) != 0; good != want {
						t.Errorf("bit %d of byte %d changed: ICRC good %t, want %t", bit, i, good, want)
					}
					tt.ip[i] ^= 1 << bit
				}
			}
		})
	}
}

// The register after the eight bytes of ones, before the final complement, is
// 0xdebb20e3.
func TestSeedStartsAfterEightBytesOfOnes(t *testing.T) {
	ones := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	if got := ^crc32.ChecksumIEEE(ones); got != 0xdebb20e3 {
		t.Fatalf("register %#08x", got)
	}
	ip := make([]byte, 28)
	h := bth.Header4{}
	copy(ip, []byte{0x45, 0xff, 0, 20, 0, 0, 0, 0, 0xff, 17, 0xff, 0xff})
	ip[26], ip[27] = 0xff, 0xff
	if got, want := h.Seed(), crc32.ChecksumIEEE(append(ones, ip...)); got != want {
		t.Errorf("Seed of the zero header = %#08x, want %#08x", got, want)
	}
}

func TestICRCOfShortInputsDoesNotPanic(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	for n := range b {
		masked := append([]byte(nil), b[:n]...)
		if n > 4 {
			masked[4] = 0xff
		}
		if got, want := bth.ICRC(7, b[:n]), crc32.Update(7, crc32.IEEETable, masked); got != want {
			t.Errorf("ICRC of %d bytes = %#08x, want %#08x", n, got, want)
		}
		if bth.CheckICRC(7, b[:n]) {
			t.Errorf("CheckICRC accepts %d bytes", n)
		}
	}
	if got := bth.ReadICRC(b[:3]); got != 0 {
		t.Errorf("ReadICRC of 3 bytes = %#x, want 0", got)
	}
	if got := bth.ReadICRC(b[:4]); got != 0x04030201 {
		t.Errorf("ReadICRC = %#x, want the bytes from the least significant on", got)
	}
}
