package bth

import "math/bits"

// SolveID returns the IPv4 identification of a received packet. h describes the packet except
// the identification: h.ID is ignored. b is the UDP payload including the ICRC. ok reports
// whether an identification exists for which the ICRC is correct; there is at most one.
//
// SolveID replaces the ICRC check in a receiver that does not see the IP header. It is a weaker
// check: 16 of the 32 bits determine the identification, so one in 65536 randomly corrupted
// packets passes. In datagrams of up to 9000 bytes, single-bit errors never pass. If the
// identification can be predicted, compare it with the prediction.
//
// The IPv4 flags are not solved for: every RoCEv2 packet over IPv4 has only "don't fragment"
// set (CA17-7), and a receiver drops any other (CA17-24).
func SolveID(h *Header4, b []byte) (id uint16, ok bool) {
	if len(b) < BTHLen+ICRCLen {
		return 0, false
	}
	guess := *h
	guess.ID = 0
	v := ICRC(guess.Seed(), b[:len(b)-ICRCLen])
	return SolveIDFrom(0, v, ReadICRC(b), len(b))
}

// SolveIDFrom is [SolveID] for a caller that has already computed the ICRC with the identification
// guess; it makes no second pass over the packet. computed is the computed ICRC, wire the received
// ICRC, and n the length of the UDP payload in bytes, including the ICRC.
func SolveIDFrom(guess uint16, computed, wire uint32, n int) (id uint16, ok bool) {
	if computed == wire {
		return guess, true
	}
	if n < ICRCLen || n > maxUDPPayload {
		return 0, false
	}
	// The identification is followed by the rest of the IPv4 header, the UDP header and the
	// packet. A difference D in the identification changes the CRC by D * x^(8*after+32) modulo
	// the generator. Division by that power yields D, a polynomial of degree below 16, or shows
	// that there is no solution.
	after := IPv4HeaderLen - 6 + UDPHeaderLen + n - ICRCLen
	d := divideByPower(computed^wire, after+4)
	if d&0xffff != 0 {
		return 0, false
	}
	return guess ^ bits.ReverseBytes16(uint16(d>>16)), true
}

// maxUDPPayload is the maximum length of a UDP payload over IPv4.
const maxUDPPayload = 1<<16 - 1 - IPv4HeaderLen - UDPHeaderLen
