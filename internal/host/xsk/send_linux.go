package xsk

import (
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Lane is how an endpoint sends by one of the interface's queues. What is put into a lane leaves in that order.
type Lane struct {
	end    *Endpoint
	queue  *queue
	socket *socket
}

// Lane returns one of the endpoint's lanes; equal numbers give the same one.
func (e *Endpoint) Lane(n uint32) *Lane { return &e.lanes[n%uint32(len(e.lanes))] }

// Lock waits until the lane is the caller's, who unlocks it. The error is net.ErrClosed once the endpoint is closed, and
// then there is nothing to unlock.
func (l *Lane) Lock() error {
	l.queue.sending.Lock()
	if l.end.closed.Load() {
		l.queue.sending.Unlock()
		return net.ErrClosed
	}
	return nil
}

// Unlock lets others send.
func (l *Lane) Unlock() { l.queue.sending.Unlock() }

// Put returns n bytes to write a frame to, from the header of Ethernet on, nil while there is no room: what was put in before
// is to be flushed then. n is at most [Endpoint.MaxFrame].
func (l *Lane) Put(n int) []byte {
	q := l.queue
	if len(q.free) == 0 {
		if q.reap(); len(q.free) == 0 {
			return nil
		}
	}
	i := q.free[len(q.free)-1]
	q.free = q.free[:len(q.free)-1]
	at := q.slotAt(i)
	for left, piece := n, at; ; {
		d := unix.XDPDesc{Addr: uint64(piece), Len: uint32(min(left, chunkLen))}
		piece, left = piece+chunkLen, left-chunkLen
		if left > 0 {
			d.Options = unix.XDP_PKT_CONTD
		}
		// There is room for all slots.
		l.socket.txDesc[l.socket.tx.put()] = d
		if q.flying[i]++; left <= 0 {
			break
		}
	}
	return q.mem[at : at+n : at+q.slotLen]
}

// Flush hands to the kernel what was put in, and waits until it has taken all of it. The error is the kernel's, which has not
// taken the last unsent of the frames' pieces then; it takes them later or never.
func (l *Lane) Flush() (calls int, err error) {
	s := l.socket
	s.tx.publish()
	for l.end.ifc.mode.ZeroCopy {
		// The driver works at its own pace, and says when it has stopped.
		if atomic.LoadUint32(s.txFlag)&unix.XDP_RING_NEED_WAKEUP == 0 {
			return calls, nil
		}
		calls++
		switch errno := s.kick(); errno {
		case unix.EINTR:
			continue
		case 0, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS:
			return calls, nil
		default:
			return calls, errno
		}
	}
	for before, tries := s.tx.untaken(), 0; before > 0; {
		errno := s.kick()
		calls++
		switch errno {
		case 0, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS, unix.EINTR:
		default:
			return calls, errno
		}
		left := s.tx.untaken()
		if left == before && errno != unix.EINTR {
			if l.end.closed.Load() {
				return calls, net.ErrClosed
			}
			l.Wait(tries)
			tries++
		} else {
			tries = 0
		}
		before = left
	}
	return calls, nil
}

// Waits for the kernel begin with shortestWait and get longer up to longestWait: it is not told of everything that makes room, and
// who looks without a pause takes the processor from what the interface is waiting for.
const (
	shortestWait = 20 * time.Microsecond
	longestWait  = time.Millisecond
)

// Wait waits for the kernel to take or give back something, for a moment, which is longer after more tries in vain.
func (l *Lane) Wait(tries int) {
	if l.queue.reap() {
		return
	}
	pause := unix.NsecToTimespec(int64(min(shortestWait<<min(tries, 16), longestWait)))
	_ = unix.Nanosleep(&pause, nil) // a signal ends it early, which is as well
}
