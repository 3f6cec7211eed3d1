package socket

import (
	"errors"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
	"golang.org/x/sys/unix"
)

// waiting limits the part of a socket's send buffer that is used for neighbours without a known
// link-layer address. The kernel queues such datagrams during neighbour discovery, mcast_solicit
// (3) times retrans_time_ms (1 s), see arp(7). Attackers forge addresses of hosts that do not
// exist, and hosts disappear: without a limit, datagrams for them fill the buffer and block all
// others.
//
// A frame to such a neighbour is passed to the kernel if little of the buffer is in use, for
// whatever destination: an eighth if the neighbour is missing, a quarter if it is not yet known
// whether it is. Beyond that, each missing neighbour gets one frame per second, which triggers
// neighbour discovery, as long as the frames sent so, within the time that the kernel keeps them,
// take less than another eighth of the buffer. Held destinations, those of queue pairs that have
// heard from their peers, have a quarter of their own instead. A reachable peer can therefore
// always be resolved, despite absent hosts, a flood that names many of them, or a buffer full of
// datagrams for known neighbours.
type waiting struct {
	size     int         // send buffer size in bytes
	building int         // bytes of the admitted messages being built to neighbours not known to be reachable
	looks    pace.Bucket // limits how often Send waits for the state of a neighbour
	others   asking
	held     asking
}

// asking limits the frames sent to trigger neighbour discovery, in units of askingUnit bytes.
type asking struct {
	rate  pace.Rate
	spent pace.Bucket
}

const (
	askingUnit = 256
	// kept is how long the kernel keeps datagrams for a neighbour that does not answer.
	kept = 3 * time.Second
)

// init sets the limits for a send buffer of size bytes.
func (w *waiting) init(size int) {
	w.size = size
	w.others.init(size / 8)
	w.held.init(size / 4)
}

// init sets the limit to the given number of bytes per kept.
func (a *asking) init(bytes int) {
	n := max(bytes/askingUnit, 1)
	a.rate = pace.Rate{Burst: n, Interval: kept / time.Duration(n)}
}

// admits reports whether a frame that takes n bytes of the buffer may be sent to trigger
// discovery of dst's next hop. If so, it counts the frame.
func (a *asking) admits(hops nextHops, dst netip.Addr, n int) bool {
	now, units := time.Now(), min((n+askingUnit-1)/askingUnit, a.rate.Burst)
	if a.spent.Wait(a.rate, now, units) > 0 || !hops.Due(dst, now) {
		return false
	}
	a.spent.Take(a.rate, now, units)
	return true
}

// looks limits how often Send waits for the state of a neighbour. With longestLook it limits the
// waiting to a twentieth of the time, even under a flood of forged addresses. A wait usually
// takes about 50 µs.
var looks = pace.Rate{Burst: 50, Interval: 20 * time.Millisecond}

const longestLook = time.Millisecond

// bufferOverhead is the maximum in bytes that the kernel charges to the send buffer for a
// datagram, on top of twice its length: the sk_buff, and the rounding of short lengths by
// kmalloc.
const bufferOverhead = 1024

// errNoNeighbour is the error of a frame that must not be sent before its next hop is known.
var errNoNeighbour = errors.New("packet: the link-layer address of the next hop is not known")

// admits reports whether frames to dst may be passed to the kernel now. If so, it counts their
// bytes.
func (l *udp) admits(dst netip.Addr, frames, bytes int) bool {
	if l.hops == nil || dst.IsMulticast() {
		return true
	}
	t := &l.tx
	if dst == t.reached {
		return true
	}
	missing, followed := l.hops.Missing(dst)
	if !followed && t.waiting.looks.TryTake(looks, time.Now()) {
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

// taken returns the bytes of the send buffer in use, as the kernel counts them.
func (l *udp) taken() (n int) {
	// If the link is closed, the next send reports it.
	_ = withFD(l.raw, func(fd int) error {
		if taken, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ); err == nil {
			n = taken
		}
		return nil
	})
	return n
}
