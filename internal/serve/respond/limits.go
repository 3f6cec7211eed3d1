package respond

import (
	"net/netip"
	"time"
)

// Limits bound what clients can take, and say what they must bring. A zero means the default.
type Limits struct {
	Sessions    int    // at one time, in all: 64
	PerPeer     int    // at one time, of one address: 16
	PerNetwork  int    // at one time, of one IPv6 /64 (of one link, if link-local) or 127.0.0.0/8: 3/4 of Sessions, or PerPeer if that is more
	QPs         int    // of one session: 64
	Memory      uint64 // of one session, in bytes: 64 MiB; the longest message, too
	TotalMemory uint64 // that all sessions have written to, in bytes: 1 GiB, and that of two sessions at least

	Hello time.Duration // for the first item, and for each that has begun: 5 s
	First time.Duration // from the connection of a queue pair to its first packet: 10 s
	Quiet time.Duration // without progress, of perftest, and from the first bytes to the first packet: 30 s
	Over  time.Duration // without a packet, of a pingpong: 10 s

	// ForeignGIDs are the networks of GIDs that a client may name although its TCP connection comes from another address.
	ForeignGIDs []netip.Prefix

	// Payload is what clients of perftest write and send, over and over, as their --payload_file_path
	// says; see [CheckPayload]. Without one nothing is looked at.
	Payload []byte
}

// DefaultMemory is the memory of one session.
const DefaultMemory = 64 << 20

func (l Limits) withDefaults() Limits {
	def := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	def(&l.Sessions, 64)
	def(&l.PerPeer, 16)
	def(&l.PerNetwork, max(l.Sessions*3/4, l.PerPeer))
	def(&l.QPs, 64)
	if l.Memory == 0 {
		l.Memory = DefaultMemory
	}
	if l.TotalMemory == 0 {
		l.TotalMemory = max(1<<30, 2*l.Memory)
	}
	for _, t := range []struct {
		of    *time.Duration
		value time.Duration
	}{{&l.Hello, 5 * time.Second}, {&l.First, 10 * time.Second}, {&l.Quiet, 30 * time.Second}, {&l.Over, 10 * time.Second}} {
		if *t.of == 0 {
			*t.of = t.value
		}
	}
	return l
}

// hesitant is how long a client must not have gone on with the exchange to make room for another
// session. It is longer than watchTick, after which progress is seen.
const hesitant = 500 * time.Millisecond

// displaced is how long a pingpong must have been silent to make room for another session.
const displaced = time.Second
