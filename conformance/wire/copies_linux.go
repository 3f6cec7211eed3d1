package wire

import (
	"hash/maphash"
	"time"
)

// copies finds the copies of a frame. A packet socket of all interfaces receives a frame at a port
// of a bridge or of a bond, or at an interface with VLANs, and once more at the interface above it.
// All copies have the time of arrival that the kernel gave to the first one.
type copies struct {
	seed   maphash.Seed
	recent [recentFrames]seenFrame
	next   int
}

// recentFrames is the number of frames that other processors may deliver between two copies.
const recentFrames = 64

type seenFrame struct {
	at    time.Time
	hash  uint64
	index int // of the interface
}

func newCopies() copies { return copies{seed: maphash.MakeSeed()} }

// is reports whether a frame that arrived at a time is a copy of one at another interface.
func (c *copies) is(at time.Time, index int, frame []byte) bool {
	f := seenFrame{at, maphash.Bytes(c.seed, frame), index}
	for _, x := range &c.recent {
		if x.hash == f.hash && x.index != index && x.at.Equal(at) {
			return true
		}
	}
	c.recent[c.next] = f
	c.next = (c.next + 1) % recentFrames
	return false
}
