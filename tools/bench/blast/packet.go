package blast

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/tools/bench/packets"
)

// Sizes in bytes: the window is the payload that may be unacknowledged, the region is the memory
// that payload is read from and copied to. gorxe perf has a region of one message for each queue
// pair too.
const (
	windowBytes = 1 << 20
	regionBytes = 64 << 10
	maxRegions  = 1 << 14
)

// payload returns the length in bytes of a packet's payload.
func (c Config) payload() int { return c.Segment - packets.Overhead }

// window returns the number of packets that may be unacknowledged, at least one train.
func (c Config) window() uint32 { return uint32(max(c.train(), windowBytes/c.payload())) }

// places returns the number of payloads that all regions hold.
func (c Config) places() int { return max(1, regionBytes/c.payload()*max(1, c.Regions)) }

// region returns memory for payloads, filled with a pattern.
func (c Config) region() []byte {
	b := make([]byte, c.places()*c.payload())
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// place returns the part of a region that the payload of a packet is read from or copied to.
func (c Config) place(region []byte, psn bth.PSN) []byte {
	n := c.payload()
	return region[int(psn)%c.places()*n:][:n:n]
}
