package blast

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
)

// overhead is the number of bytes of a packet beside its payload: BTH and ICRC.
const overhead = bth.BTHLen + bth.ICRCLen

// Sizes in bytes: the window is the payload that may be unacknowledged, the region is the memory
// that payload is read from and copied to. gorxe perf has a region of one message, too.
const (
	windowBytes = 1 << 20
	regionBytes = 64 << 10
)

// payload returns the length in bytes of a packet's payload.
func (c Config) payload() int { return c.Segment - overhead }

// window returns the number of packets that may be unacknowledged, at least one train.
func (c Config) window() uint32 { return uint32(max(c.train(), windowBytes/c.payload())) }

// places returns the number of payloads that a region has room for.
func (c Config) places() int { return max(1, regionBytes/c.payload()) }

// region returns memory for payloads, filled with a pattern.
func (c Config) region() []byte {
	b := make([]byte, c.places()*c.payload())
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// place returns the part of a region that the payload of a packet belongs to.
func (c Config) place(region []byte, psn bth.PSN) []byte {
	n := c.payload()
	return region[int(psn)%c.places()*n:][:n:n]
}

// seed returns the CRC of the IP and UDP headers of packets with n bytes of UDP payload.
//
// Addresses and ports are 0: gorxe computes the seed once for each path, so they cost nothing.
func seed(n int) uint32 {
	h := bth.Header4{FlagsFragment: 0x4000, UDPLen: bth.UDPHeaderLen + n}
	return h.Seed()
}

// ackLen is the length of an acknowledgement: BTH, AETH, ICRC.
const ackLen = bth.BTHLen + bth.AETHLen + bth.ICRCLen

// newBTH returns the BTH of a packet with room for what follows it, up to n bytes.
func newBTH(o bth.Opcode, n int) []byte {
	p := bth.Packet{Opcode: o, PKey: 0xffff, DestQP: 0x11}
	return p.AppendHeaders(make([]byte, 0, n))[:n]
}

// putPSN writes the PSN of a BTH, without a request for an acknowledgement.
func putPSN(header []byte, psn bth.PSN) { binary.BigEndian.PutUint32(header[8:], uint32(psn)) }

func readPSN(header []byte) bth.PSN { return bth.PSN(binary.BigEndian.Uint32(header[8:])) & bth.MaxPSN }

// sealAck makes an acknowledgement one of all packets before next.
func sealAck(ack []byte, next bth.PSN) {
	putPSN(ack, next)
	covered := ack[:ackLen-bth.ICRCLen]
	bth.AppendICRC(covered, bth.ICRC(seed(ackLen), covered))
}

// readAck returns the PSN up to which an acknowledgement is valid; ok is false for other datagrams.
func readAck(b []byte) (next bth.PSN, ok bool) {
	if len(b) != ackLen || !bth.CheckICRC(seed(ackLen), b) {
		return 0, false
	}
	return readPSN(b), true
}
