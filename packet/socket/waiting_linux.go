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
// A frame is passed to the kernel if its neighbour is known to be reachable. Otherwise the number
// of bytes in use in the whole buffer decides, for all destinations and including this frame:
//
//   - If the neighbour is known to be missing, they may be an eighth of the buffer.
//   - If its state is not known yet, they may be a quarter.
//   - Beyond that, a missing neighbour gets one frame per second, which triggers neighbour
//     discovery. The frames sent by this rule have budgets of their own, for each period of
//     kernelHoldTime: an eighth of the buffer for all destinations that are not held (others), a
//     quarter for held destinations (held; see [packet.Holder]).
//
// The kernel can therefore always resolve a reachable peer, despite absent hosts, a flood of
// packets from many forged addresses, or a buffer full of datagrams for known neighbours.
type waiting struct {
	size       int         // send buffer size in bytes
	building   int         // bytes of messages being built to neighbours not known to be reachable
	stateWaits pace.Bucket // limits how often Send waits for the state of a neighbour
	others     discoveryBudget
	held       discoveryBudget
}

// discoveryBudget limits the frames sent to trigger neighbour discovery, in units of discoveryUnit
// bytes.
type discoveryBudget struct {
	rate  pace.Rate
	spent pace.Bucket
}

const (
	discoveryUnit = 256
	// kernelHoldTime is how long the kernel keeps datagrams for a neighbour that does not answer.
	kernelHoldTime = 3 * time.Second
)

// init sets the limits for a send buffer of size bytes.
func (w *waiting) init(size int) {
	w.size = size
	w.others.init(size / 8)
	w.held.init(size / 4)
}

// init sets the budget to the given number of bytes per kernelHoldTime.
func (a *discoveryBudget) init(bytes int) {
	n := max(bytes/discoveryUnit, 1)
	a.rate = pace.Rate{Burst: n, Interval: kernelHoldTime / time.Duration(n)}
}

// admits reports whether a frame that takes n bytes of the buffer may be sent to trigger discovery
// of dst's next hop. If so, it subtracts the frame from the budget.
func (a *discoveryBudget) admits(hops nextHops, dst netip.Addr, n int) bool {
	now, units := time.Now(), min((n+discoveryUnit-1)/discoveryUnit, a.rate.Burst)
	if a.spent.Wait(a.rate, now, units) > 0 || !hops.Due(dst, now) {
		return false
	}
	a.spent.Take(a.rate, now, units)
	return true
}

// stateWaitRate limits how often Send waits for the state of a neighbour: a burst of 50 waits, then
// one per 20 ms. As one wait takes at most maxStateWait, Send waits at most a twentieth of the
// time, even under a flood of forged addresses. A wait usually takes about 50 µs.
var stateWaitRate = pace.Rate{Burst: 50, Interval: 20 * time.Millisecond}

const maxStateWait = time.Millisecond

// bufferOverhead is the maximum number of bytes that the kernel charges to the send buffer for a
// datagram in addition to twice its length: the sk_buff, and the rounding of short lengths by
// kmalloc.
const bufferOverhead = 1024

// errNoNeighbour is the error of a frame that must not be sent before its next hop is known.
var errNoNeighbour = errors.New("packet: the link-layer address of the next hop is not known")

// admits reports whether frames to dst may be passed to the kernel now; bytes is their total UDP
// payload. If so, it adds what they take of the send buffer to waiting.building.
func (l *udp) admits(dst netip.Addr, frames, bytes int) bool {
	if l.hops == nil || dst.IsMulticast() {
		return true
	}
	t := &l.tx
	if dst == t.reached {
		return true
	}
	missing, followed := l.hops.Missing(dst)
	if !followed && t.waiting.stateWaits.TryTake(stateWaitRate, time.Now()) {
		l.hops.Await(dst, maxStateWait)
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

// taken returns the bytes in use in the send buffer, as the kernel counts them; 0 if the link is
// closed.
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
