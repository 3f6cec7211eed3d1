package socket

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
// one. Beyond that one frame each second goes to each of them, which makes the kernel ask for the
// neighbour, for as long as what was sent so in the time that the kernel keeps it is less than
// another eighth of the buffer; and less than another quarter, of its own, for destinations that are
// held, which are those of queue pairs whose peers have been heard of. So neither absent hosts, nor
// a flood that names many, nor what fills the buffer for neighbours that are known, keep out a peer
// that answers when it is asked.
type waiting struct {
	size     int         // of the send buffer
	building int         // what the messages being built will take that may wait
	looks    pace.Bucket // how often Send waits until it is known whether there is a neighbour
	others   asking
	held     asking
}

// asking bounds the frames that make the kernel ask for neighbours, in units of askingUnit bytes.
type asking struct {
	rate  pace.Rate
	spent pace.Bucket
}

const (
	askingUnit = 256
	// kept is how long the kernel keeps what is for a neighbour that does not answer.
	kept = 3 * time.Second
)

// init makes w that of a buffer of size bytes.
func (w *waiting) init(size int) {
	w.size = size
	w.others.init(size / 8)
	w.held.init(size / 4)
}

// init lets a be asked with so many bytes while the kernel keeps them.
func (a *asking) init(bytes int) {
	n := max(bytes/askingUnit, 1)
	a.rate = pace.Rate{Burst: n, Interval: kept / time.Duration(n)}
}

// admits reports whether a frame that takes n bytes of the buffer may ask for the neighbour, and
// takes note of it.
func (a *asking) admits(hops nextHops, dst netip.Addr, n int) bool {
	now, units := time.Now(), min((n+askingUnit-1)/askingUnit, a.rate.Burst)
	if a.spent.Wait(a.rate, now, units) > 0 || !hops.Due(dst, now) {
		return false
	}
	a.spent.Take(a.rate, now, units)
	return true
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
	most := t.waiting.size / 8
	if !followed {
		most *= 2
	}
	if l.taken()+t.waiting.building+n > most {
		by := &t.waiting.others
		if followed && l.hops.Held(dst) {
			by = &t.waiting.held
		}
		if frames > 1 || !followed || !by.admits(l.hops, dst, n) {
			return false
		}
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
