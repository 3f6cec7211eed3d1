// Package packets encodes and checks the few packets that the bare loops exchange: a BTH,
// possibly an AETH, and an ICRC, without an RDMA transport.
package packets

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
)

// Overhead is the number of bytes of a packet besides its payload: BTH and ICRC.
const Overhead = bth.BTHLen + bth.ICRCLen

// AckLen is the length in bytes of an acknowledgement: BTH, AETH, ICRC.
const AckLen = bth.BTHLen + bth.AETHLen + bth.ICRCLen

// Seed returns the CRC over the IP and UDP headers of packets with n bytes of UDP payload.
//
// Addresses and ports are 0. They do not matter for the cost, because gorxe computes the seed
// once for each path.
func Seed(n int) uint32 {
	h := bth.Header4{FlagsFragment: 0x4000, UDPLen: bth.UDPHeaderLen + n}
	return h.Seed()
}

// seedOfAck is the seed of acknowledgements.
var seedOfAck = Seed(AckLen)

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
