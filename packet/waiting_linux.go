package packet

import (
	"errors"
	"net/netip"
	"time"
)

// neighbourTime is how long Linux asks for a neighbour: mcast_solicit (3) times retrans_time_ms (1 s), see arp(7).
const neighbourTime = 3 * time.Second

// waiting bounds what is in the send buffer of a socket for neighbours whose link-layer address the kernel does not know. It
// keeps such datagrams for neighbourTime at most. Senders forge addresses of hosts that do not exist, and hosts that
// exist go away: without a bound what is for them fills the buffer, and nothing else leaves.
type waiting struct {
	room  bucket // bytes of the send buffer
	looks bucket // how often Send waits until it is known whether there is a neighbour
}

// Send waits for a look at most so often, and so long: a twentieth of the time, if senders forge addresses as fast as they can. A
// look takes some 50 µs, unless others are before it.
const (
	looksASecond = 50
	longestLook  = time.Millisecond
)

// init makes w that of a buffer of size bytes. Whatever the moment that is looked at, at most a quarter of the buffer is
// taken: an eighth that was left, and an eighth that has come since.
func (w *waiting) init(size int) {
	w.room = bucket{most: size / 8, left: size / 8, fills: neighbourTime}
	w.looks = bucket{most: looksASecond, left: looksASecond, fills: time.Second}
}

// bucket is a token bucket.
type bucket struct {
	most, left int
	fills      time.Duration // from empty
	at         time.Time     // of left
}

// take takes n tokens if so many are there, and reports whether they were.
func (b *bucket) take(now time.Time, n int) bool {
	passed := min(now.Sub(b.at), b.fills)
	if come := int(int64(b.most) * int64(passed) / int64(b.fills)); come > 0 {
		b.at, b.left = now, min(b.most, b.left+come)
	}
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

// bufferOverhead is the most that the kernel counts of a send buffer for a datagram besides twice its length: the sk_buff, and
// what rounding up a short length to what kmalloc gives adds.
const bufferOverhead = 1024

// errNoNeighbour is a frame for which there is no room until its neighbour is known.
var errNoNeighbour = errors.New("packet: the link-layer address of the next hop is not known")

// admits reports whether frames to dst may go to the kernel now.
func (l *udp) admits(dst netip.Addr, frames, bytes int) bool {
	if l.hops == nil || dst.IsMulticast() {
		return true
	}
	t := &l.tx
	if dst == t.reached {
		return true
	}
	missing, followed := l.hops.Missing(dst)
	if !followed && t.waiting.looks.take(time.Now(), 1) {
		l.hops.Await(dst, longestLook)
		missing, followed = l.hops.Missing(dst)
	}
	if missing || !followed {
		return t.waiting.room.take(time.Now(), frames*bufferOverhead+2*bytes)
	}
	t.reached = dst
	return true
}
