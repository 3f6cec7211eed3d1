// Package packets makes and checks the few packets that the bare loops exchange: a BTH, perhaps an
// AETH, and an ICRC, without an RDMA transport.
package packets

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
)

// Overhead is the number of bytes of a packet beside its payload: BTH and ICRC.
const Overhead = bth.BTHLen + bth.ICRCLen

// AckLen is the length in bytes of an acknowledgement: BTH, AETH, ICRC.
const AckLen = bth.BTHLen + bth.AETHLen + bth.ICRCLen

// Seed returns the CRC of the IP and UDP headers of packets with n bytes of UDP payload.
//
// Addresses and ports are 0: gorxe computes the seed once for each path, so they cost nothing.
func Seed(n int) uint32 {
	h := bth.Header4{FlagsFragment: 0x4000, UDPLen: bth.UDPHeaderLen + n}
	return h.Seed()
}

// seedOfAck is the seed of acknowledgements.
var seedOfAck = Seed(AckLen)

// New returns a packet of n bytes with a BTH and the rest 0. n is at least the length of a BTH.
func New(o bth.Opcode, n int) []byte {
	p := bth.Packet{Opcode: o, PKey: 0xffff, DestQP: 0x11}
	return p.AppendHeaders(make([]byte, 0, max(n, bth.MaxHeaderLen)))[:n:n]
}

// PutPSN writes the PSN of a packet, without a request for an acknowledgement.
func PutPSN(packet []byte, psn bth.PSN) { binary.BigEndian.PutUint32(packet[8:], uint32(psn)) }

// PSN returns the PSN of a packet, of which the BTH is there.
func PSN(packet []byte) bth.PSN { return bth.PSN(binary.BigEndian.Uint32(packet[8:])) & bth.MaxPSN }

// Seal writes the ICRC of a packet behind the rest of it. seed is that of its length.
func Seal(seed uint32, packet []byte) {
	covered := packet[:len(packet)-bth.ICRCLen]
	bth.AppendICRC(covered, bth.ICRC(seed, covered))
}

// SealAck makes a packet of AckLen bytes an acknowledgement with a PSN.
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
