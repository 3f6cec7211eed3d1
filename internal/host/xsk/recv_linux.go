package xsk

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Held receives the frames of Recv, in chunks that the next Recv returns to the kernel. Only
// one goroutine at a time may use it. If a Held becomes unreachable, a cleanup returns its
// chunks.
type Held struct {
	// Frames are the frames of the last Recv, from the Ethernet header on, in order of arrival.
	// They are valid until the next Recv with this Held, and only while the Held is reachable.
	Frames [][]byte

	loan *loan
}

// loan is the set of chunks of a Held. It is a separate object, so that it outlives the Held.
type loan struct {
	queue  *queue
	chunks []uint64
	// gathered holds frames whose chunks are not contiguous.
	gathered []byte
}

// NewHeld returns an empty Held.
func NewHeld() *Held {
	h := &Held{loan: new(loan)}
	runtime.AddCleanup(h, func(l *loan) { l.end() }, h.loan)
	return h
}

// Release returns the chunks of the frames to the kernel.
func (h *Held) Release() {
	h.Frames = h.Frames[:0]
	h.loan.end()
}

func (l *loan) end() {
	if l.queue != nil {
		l.queue.giveBack(l.chunks)
	}
	l.queue, l.chunks, l.gathered = nil, l.chunks[:0], l.gathered[:0]
}

// Recv sets h.Frames to up to most frames from one queue. It does not wait, so h.Frames may be
// empty; after Close it always is.
func (e *Endpoint) Recv(h *Held, most int) {
	h.Release()
	e.receiving.Lock()
	defer e.receiving.Unlock()
	if e.closed.Load() {
		return
	}
	e.taking = true
	for range e.sockets {
		s, q := e.sockets[e.nextQueue], e.ifc.queues[e.nextQueue]
		if e.nextQueue++; e.nextQueue == len(e.sockets) {
			e.nextQueue = 0
		}
		if s.rx.ready(1) > 0 && h.take(s, q, most) {
			return
		}
	}
	e.taking = false
}

// Pending reports whether received frames may be unprocessed: frames wait for Recv, or the latest
// Recv returned frames, which may still be in use.
func (e *Endpoint) Pending() bool {
	e.receiving.Lock()
	defer e.receiving.Unlock()
	if e.closed.Load() {
		return false
	}
	for _, s := range e.sockets {
		if s.rx.ready(1) > 0 {
			return true
		}
	}
	return e.taking
}

// take takes frames from the receive ring of s, and reports whether there were any.
func (h *Held) take(s *socket, q *queue, most int) bool {
	l := h.loan
	for ready := s.rx.ready(1); len(h.Frames) < most; {
		n := pieces(s, ready)
		if n == 0 {
			break
		}
		ready -= n
		h.Frames = append(h.Frames, l.frame(s, q.mem, n))
	}
	if len(l.chunks) == 0 {
		return false
	}
	l.queue = q
	q.lend(len(l.chunks))
	s.rx.release()
	return true
}

// pieces returns the number of ring entries of the next frame, 0 if its last entry is not ready.
// ready is the number of ready entries.
func pieces(s *socket, ready int) int {
	for i := range ready {
		if s.rxDesc[s.rx.peek(i)].Options&unix.XDP_PKT_CONTD == 0 {
			return i + 1
		}
	}
	return 0
}

// frame takes the n entries of a frame from the receive ring of s, and returns the frame in one
// piece.
func (l *loan) frame(s *socket, mem []byte, n int) []byte {
	first := len(l.chunks)
	d := s.rxDesc[s.rx.get()]
	l.chunks = append(l.chunks, d.Addr)
	at, end := d.Addr, d.Addr+uint64(d.Len)
	contiguous := true // the frame so far is contiguous in mem
	start := 0         // otherwise it starts at gathered[start]
	for i := 1; i < n; i++ {
		d := s.rxDesc[s.rx.get()]
		l.chunks = append(l.chunks, d.Addr)
		more := mem[d.Addr : d.Addr+uint64(d.Len)]
		if contiguous && d.Addr&^(chunkLen-1) == l.chunks[first+i-1]&^(chunkLen-1)+chunkLen {
			// The next chunk in memory: move its data to close the small gap.
			end += uint64(copy(mem[end:], more))
			continue
		}
		if contiguous {
			contiguous, start = false, len(l.gathered)
			l.gathered = append(l.gathered, mem[at:end]...)
		}
		l.gathered = append(l.gathered, more...)
	}
	if contiguous {
		return mem[at:end:end]
	}
	return l.gathered[start:len(l.gathered):len(l.gathered)]
}
