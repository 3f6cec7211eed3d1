package bth_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// solvable returns a packet with a correct ICRC and its header.
func solvable(seed uint64, n int, id uint16) (bth.Header4, []byte) {
	body := randomPacket(seed, n)
	h := testHeader4(len(body) + bth.ICRCLen)
	h.ID = id
	return h, bth.AppendICRC(body, bth.ICRC(h.Seed(), body))
}

func TestSolveIDFindsTheIdentification(t *testing.T) {
	// Lengths on both sides of the limits of the tables.
	for _, n := range []int{0, 4, 64, 1024, 4096, 8192 - 80, 8192 - 64, 8192 - 60, 8192, 9000, 16384, 65400} {
		for _, id := range []uint16{0, 1, 0x0100, 0x8000, 0x00ff, 0xff00, 0xabcd, 0xffff} {
			h, packet := solvable(1, n, id)
			h.ID = ^id
			if got, ok := bth.SolveID(&h, packet); !ok || got != id {
				t.Errorf("%d bytes: SolveID = %#04x, %t, want %#04x", n, got, ok, id)
			}
			if h.ID != ^id {
				t.Fatal("SolveID changed the caller's header")
			}
			for _, guess := range []uint16{0, id, id - 1, 0x5555} {
				h.ID = guess
				computed := bth.ICRC(h.Seed(), packet[:len(packet)-bth.ICRCLen])
				got, ok := bth.SolveIDFrom(guess, computed, bth.ReadICRC(packet), len(packet))
				if !ok || got != id {
					t.Errorf("%d bytes: SolveIDFrom(%#04x) = %#04x, %t, want %#04x", n, guess, got, ok, id)
				}
			}
		}
	}
}

// bruteID tries every identification.
func bruteID(h bth.Header4, packet []byte) (ids []uint16) {
	wire := bth.ReadICRC(packet)
	for id := range 1 << 16 {
		h.ID = uint16(id)
		if bth.ICRC(h.Seed(), packet[:len(packet)-bth.ICRCLen]) == wire {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

func TestSolveIDAgreesWithTryingEveryIdentification(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 8 {
		h, packet := solvable(uint64(i), 4*i, uint16(r.Uint32()))
		if i%2 == 1 { // corrupt it
			packet[r.IntN(len(packet))] ^= 1 << r.IntN(8)
		}
		checkAgainstBruteForce(t, h, packet)
	}
}

// A corrupt packet that is indistinguishable from one with another identification: the same
// bits are changed in the identification and compensated through the ICRC.
func TestSolveIDTakesTheOneIdentificationThatFitsACorruptPacket(t *testing.T) {
	h, packet := solvable(9, 8, 77)
	other := h
	other.ID = 4242
	body := packet[:len(packet)-bth.ICRCLen]
	forged := bth.AppendICRC(append([]byte(nil), body...), bth.ICRC(other.Seed(), body))
	checkAgainstBruteForce(t, h, forged)
	if id, ok := bth.SolveID(&h, forged); !ok || id != 4242 {
		t.Errorf("SolveID = %d, %t, want 4242", id, ok)
	}
}

func checkAgainstBruteForce(t *testing.T, h bth.Header4, packet []byte) {
	t.Helper()
	ids := bruteID(h, packet)
	if len(ids) > 1 {
		t.Fatalf("%d identifications fit: %x", len(ids), ids)
	}
	id, ok := bth.SolveID(&h, packet)
	if ok != (len(ids) == 1) || ok && id != ids[0] {
		t.Errorf("SolveID = %#04x, %t, trying them all finds %x", id, ok, ids)
	}
}

// Only the congestion bits of the BTH, which the ICRC does not cover, may change.
func TestSolveIDRefusesSingleBitErrors(t *testing.T) {
	h, packet := solvable(3, 64, 5)
	for i := range packet {
		for bit := range 8 {
			packet[i] ^= 1 << bit
			id, ok := bth.SolveID(&h, packet)
			if want := i == 4; ok != want || ok && id != 5 {
				t.Errorf("bit %d of byte %d wrong: SolveID = %#04x, %t", bit, i, id, ok)
			}
			packet[i] ^= 1 << bit
		}
	}
}

func TestSolveIDAcceptsFewCorruptPackets(t *testing.T) {
	const tries = 1 << 18
	r := rand.New(rand.NewPCG(4, 5))
	accepted := 0
	for range tries {
		if _, ok := bth.SolveIDFrom(0, r.Uint32(), r.Uint32(), 1048); ok {
			accepted++
		}
	}
	// 4 of 2^18 are expected; the seed is fixed, so the result is deterministic.
	if accepted > 16 {
		t.Errorf("%d of %d random ICRCs accepted, expected about %d", accepted, tries, tries>>16)
	}
}

func TestSolveIDOfLengthsNoPacketHas(t *testing.T) {
	h := testHeader4(0)
	for n := range bth.BTHLen + bth.ICRCLen {
		if id, ok := bth.SolveID(&h, make([]byte, n)); ok {
			t.Errorf("SolveID of %d bytes = %#04x", n, id)
		}
	}
	for _, n := range []int{-1, 0, 3, 1<<16 - 28, 1 << 16, 1 << 30} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if id, ok := bth.SolveIDFrom(0, 1, 2, n); ok {
				t.Errorf("SolveIDFrom = %#04x", id)
			}
		})
	}
}
