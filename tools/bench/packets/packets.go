// Package packets encodes and checks the few packets that the bare loops exchange: a BTH,
// possibly a RETH or AETH, and an ICRC, without an RDMA transport.
package packets

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
)

// Overhead is the number of bytes of a packet besides its payload: BTH and ICRC.
const Overhead = bth.BTHLen + bth.ICRCLen

// AckLen is the length in bytes of an acknowledgement: BTH, AETH, ICRC.
const AckLen = bth.BTHLen + bth.AETHLen + bth.ICRCLen

// RequestLen is the length in bytes of a READ request: BTH, RETH, ICRC.
const RequestLen = bth.BTHLen + bth.RETHLen + bth.ICRCLen

// Seed returns the CRC over the IP and UDP headers of packets with n bytes of UDP payload.
//
// Addresses and ports are 0. They do not matter for the cost, because gorxe computes the seed
// once for each path.
func Seed(n int) uint32 {
	h := bth.Header4{FlagsFragment: 0x4000, UDPLen: bth.UDPHeaderLen + n}
	return h.Seed()
}

// Seeds of acknowledgements and of READ requests.
var (
	seedOfAck     = Seed(AckLen)
	seedOfRequest = Seed(RequestLen)
)

// New returns a packet of n bytes with a BTH and zeros after it. n is at least the length of a
// BTH.
func New(o bth.Opcode, n int) []byte {
	p := bth.Packet{Opcode: o, PKey: 0xffff, DestQP: 0x11}
	return p.AppendHeaders(make([]byte, 0, max(n, bth.MaxHeaderLen)))[:n:n]
}

// PutPSN sets the PSN of a packet and clears its acknowledge request bit.
func PutPSN(packet []byte, psn bth.PSN) { binary.BigEndian.PutUint32(packet[8:], uint32(psn)) }

// PSN returns the PSN of a packet, which contains at least a BTH.
func PSN(packet []byte) bth.PSN { return bth.PSN(binary.BigEndian.Uint32(packet[8:])) & bth.MaxPSN }

// Seal writes the ICRC into the last bytes of a packet. seed is the seed for its length.
func Seal(seed uint32, packet []byte) {
	covered := packet[:len(packet)-bth.ICRCLen]
	bth.AppendICRC(covered, bth.ICRC(seed, covered))
}

// SealAck makes a packet of AckLen bytes an acknowledgement of a PSN.
func SealAck(ack []byte, psn bth.PSN) {
	PutPSN(ack, psn)
	Seal(seedOfAck, ack)
}

// ReadAck returns the PSN of an acknowledgement; ok is false for other packets.
func ReadAck(b []byte) (psn bth.PSN, ok bool) {
	if len(b) != AckLen || !bth.CheckICRC(seedOfAck, b) {
		return 0, false
	}
	return PSN(b), true
}

// PutSyndrome sets the syndrome of an acknowledgement.
func PutSyndrome(ack []byte, s bth.Syndrome) { ack[bth.BTHLen] = byte(s) }

// Syndrome returns the syndrome of an acknowledgement.
func Syndrome(ack []byte) bth.Syndrome { return bth.Syndrome(ack[bth.BTHLen]) }

// SealRequest makes a packet of RequestLen bytes a READ request for the responses from a PSN on.
func SealRequest(request []byte, psn bth.PSN, r bth.RETH) {
	PutPSN(request, psn)
	reth := request[bth.BTHLen:]
	binary.BigEndian.PutUint64(reth, r.VA)
	binary.BigEndian.PutUint32(reth[8:], r.RKey)
	binary.BigEndian.PutUint32(reth[12:], r.DMALen)
	Seal(seedOfRequest, request)
}

// ReadRequest returns PSN and RETH of a READ request; ok is false for other packets.
func ReadRequest(b []byte) (psn bth.PSN, r bth.RETH, ok bool) {
	if len(b) != RequestLen || !bth.CheckICRC(seedOfRequest, b) {
		return 0, bth.RETH{}, false
	}
	reth := b[bth.BTHLen:]
	return PSN(b), bth.RETH{
		VA:     binary.BigEndian.Uint64(reth),
		RKey:   binary.BigEndian.Uint32(reth[8:]),
		DMALen: binary.BigEndian.Uint32(reth[12:]),
	}, true
}
