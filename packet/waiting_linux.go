package packet

import (
	"errors"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
	"golang.org/x/sys/unix"
)

// waiting bounds what is in the send buffer of a socket for neighbours whose link-layer address the
// kernel does not know. It keeps such datagrams while it asks for the neighbour, mcast_solicit (3)
// times retrans_time_ms (1 s), see arp(7). Senders forge addresses of hosts that do not exist, and
// hosts that exist go away: without a bound what is for them fills the buffer, and nothing else
// leaves.
//
// What may wait goes to the kernel while no more than a part of the buffer is taken, by whatever:
// an eighth for neighbours that are missing, a quarter as long as it is not known whether there is
// one. One frame each second makes the kernel ask for the neighbour; it goes up to a quarter as
// well, and up to a half if queue pairs are connected to its destination. So neither absent hosts
// nor a flood that names many keep out those that answer when they are asked.
type waiting struct {
	size     int         // of the send buffer
	building int         // what the messages being built will take that may wait
	looks    pace.Bucket // how often Send waits until it is known whether there is a neighbour
}

// Send waits for a look at most so often, and so long: a twentieth of the time, if senders forge
// addresses as fast as they can. A look takes some 50 µs, unless others are before it.
var looks = pace.Rate{Burst: 50, Interval: 20 * time.Millisecond}

const longestLook = time.Millisecond

// bufferOverhead is the most that the kernel counts of a send buffer for a datagram besides twice
// its length: the sk_buff, and what rounding up a short length to what kmalloc gives adds.
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
	if !followed && t.waiting.looks.TakeIfThere(looks, time.Now()) {
		l.hops.Await(dst, longestLook)
		missing, followed = l.hops.Missing(dst)
	}
	if followed && !missing {
		t.reached = dst
		return true
	}
	n := frames*bufferOverhead + 2*bytes
	with := l.taken() + t.waiting.building + n
	most := t.waiting.size / 8
	switch {
	case !followed:
		most *= 2
	case with > most && frames == 1:
		if due, held := l.hops.Due(dst, time.Now()); due {
			if most *= 2; held {
				most *= 2
			}
		}
	}
	if with > most {
		return false
	}
	t.waiting.building += n
	return true
}

// taken is what the kernel counts as taken of the send buffer, in bytes.
func (l *udp) taken() (n int) {
	// A link that is closed says so when it sends.
	_ = withFD(l.raw, func(fd int) error {
		if taken, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ); err == nil {
			n = taken
		}
		return nil
	})
	return n
}
