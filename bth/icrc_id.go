package bth

import "math/bits"

// SolveID finds the IPv4 identification of a received packet. h describes the
// packet except that h.ID is not known and not read; b is the UDP payload with
// its ICRC. ok reports that an identification exists with which the ICRC is
// right; it is then the only one.
//
// This takes the place of the check of the ICRC for a receiver that does not
// see the IP header, and is weaker: of the 32 bits, 16 go into the
// identification, so of packets corrupt at random one in 65536 passes. A single
// wrong bit never does in a datagram of up to 9000 bytes. Where the
// identification can be predicted, compare it with the prediction.
//
// The flags are not solved for: every RoCEv2 packet over IPv4 carries "don't
// fragment" alone (CA17-7), and one that does not shall be dropped (CA17-24).
func SolveID(h *Header4, b []byte) (id uint16, ok bool) {
	if len(b) < BTHLen+ICRCLen {
		return 0, false
	}
	guess := *h
	guess.ID = 0
	v := ICRC(guess.Seed(), b[:len(b)-ICRCLen])
	return SolveIDFrom(0, v, ReadICRC(b), len(b))
}

// SolveIDFrom is [SolveID] for a caller who has already computed the ICRC with
// a guessed identification: it costs no second pass over the packet. computed
// is that ICRC, wire the received one, n the length of the UDP payload with its
// ICRC in bytes.
func SolveIDFrom(guess uint16, computed, wire uint32, n int) (id uint16, ok bool) {
	if computed == wire {
		return guess, true
	}
	if n < ICRCLen || n > maxUDPPayload {
		return 0, false
	}
	// Between the identification and the end of the covered bytes lie the rest
	// of the IPv4 header, the UDP header and the packet. A difference D in the
	// identification shows in the CRC as D * x^(8*after+32) modulo the
	// generator, so dividing by that power gives D back: a polynomial of degree
	// below 16, or no solution.
	after := IPv4HeaderLen - 6 + UDPHeaderLen + n - ICRCLen
	d := divideByPower(computed^wire, after+4)
	if d&0xffff != 0 {
		return 0, false
	}
	return guess ^ bits.ReverseBytes16(uint16(d>>16)), true
}

// maxUDPPayload is the longest UDP payload in IPv4.
const maxUDPPayload = 1<<16 - 1 - IPv4HeaderLen - UDPHeaderLen
