package respond

import (
	"net/netip"
	"time"
)

// Limits configures what clients may use and must send. A zero value means the default, which the
// comment of the field gives after the colon.
type Limits struct {
	Sessions int // maximum at a time, in total: 64
	PerPeer  int // maximum at a time, of one address: 16
	// PerNetwork is the maximum number of sessions at a time of one IPv6 /64 (of one link, if
	// link-local) or of 127.0.0.0/8: 3/4 of Sessions, or PerPeer if that is more.
	PerNetwork int
	QPs        int    // maximum of one session: 64
	Memory     uint64 // of one session, in bytes; also the maximum message: 64 MiB
	// TotalMemory is the maximum memory that all sessions together have written to, in bytes: 1
	// GiB, or twice Memory if that is more.
	TotalMemory uint64

	Hello time.Duration // timeout of the first item, and of the rest of an item that has begun: 5 s
	First time.Duration // maximum time from the connection of a queue pair to its first packet: 10 s
	// Quiet is the maximum time without progress of perftest, and from the first bytes of any
	// client to its first packet: 30 s.
	Quiet time.Duration
	Over  time.Duration // time without a packet after which a pingpong has ended: 10 s

	// ForeignGIDs are the networks of GIDs that a client may use although its TCP connection
	// comes from another address.
	ForeignGIDs []netip.Prefix

	// Payload is the repeated payload that perftest clients write and send, from their
	// --payload_file_path; see [CheckPayload]. If it is empty, nothing is compared.
	Payload []byte
}

// DefaultMemory is the default memory of one session in bytes.
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
	}{{&l.Hello, 5 * time.Second}, {&l.First, 10 * time.Second}, {&l.Quiet, 30 * time.Second},
		{&l.Over, 10 * time.Second}} {
		if *t.of == 0 {
			*t.of = t.value
		}
	}
	return l
}

// minHandshakeStall is the time without an item after which the session of a client that has no
// queue pair yet can be displaced. It is longer than watchTick, in which progress is detected.
const minHandshakeStall = 500 * time.Millisecond

// minSilence is the time without a packet after which the session of a pingpong can be displaced.
const minSilence = time.Second
