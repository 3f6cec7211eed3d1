package xsk

import (
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Lane sends the frames of an endpoint through one queue of the interface, in order.
type Lane struct {
	end    *Endpoint
	queue  *queue
	socket *socket
}

// Lane returns one of the endpoint's lanes; equal n give the same lane.
func (e *Endpoint) Lane(n uint32) *Lane { return &e.lanes[n%uint32(len(e.lanes))] }

// Lock locks the lane for the caller. If the endpoint is closed, it returns net.ErrClosed and
// does not lock.
func (l *Lane) Lock() error {
	l.queue.sending.Lock()
	if l.end.closed.Load() {
		l.queue.sending.Unlock()
		return net.ErrClosed
	}
	return nil
}

// Unlock unlocks the lane.
func (l *Lane) Unlock() { l.queue.sending.Unlock() }

// Put returns n bytes for a frame, including the Ethernet header. It returns nil if there is no
// free slot: the caller must then flush the lane. n is at most [Endpoint.MaxFrame].
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
		// The ring has space for all slots.
		l.socket.txDesc[l.socket.tx.put()] = d
		if q.inFlight[i]++; left <= 0 {
			break
		}
	}
	return q.mem[at : at+n : at+q.slotLen]
}

// Flush passes the frames put so far to the kernel and, in copy mode, waits until it has taken all
// of them. calls is the number of system calls. After an error of the kernel, some frames remain in
// the ring, and the kernel takes them later or never.
func (l *Lane) Flush() (calls int, err error) {
	s := l.socket
	s.tx.publish()
	for l.end.ifc.mode.ZeroCopy {
		// The driver takes frames asynchronously and requests a wake-up when it has stopped.
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

// The pauses of Wait increase from minWait to maxWait. The kernel does not report every event that
// frees space, and polling without a pause would take processor time from the work that frees
// space.
const (
	minWait = 20 * time.Microsecond
	maxWait = time.Millisecond
)

// Wait waits briefly for the kernel to take or return frames; the pause increases with tries.
func (l *Lane) Wait(tries int) {
	if l.queue.reap() {
		return
	}
	pause := unix.NsecToTimespec(int64(min(minWait<<min(tries, 16), maxWait)))
	_ = unix.Nanosleep(&pause, nil) // an early return on a signal is harmless
}
