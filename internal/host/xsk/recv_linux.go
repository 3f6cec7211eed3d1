package xsk

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Held is what Recv fills: frames in the memory of the kernel's, which are given back when Recv is called again. It belongs
// to one goroutine at a time. One that is dropped gives them back when the garbage collector finds it.
type Held struct {
	// Frames are the frames of the last Recv, from the header of Ethernet on, in the order in which they came. They are
	// there as long as the Held is, and until the next Recv with it.
	Frames [][]byte

	loan *loan
}

// loan is what a Held holds; it is apart from it to outlive it.
type loan struct {
	queue  *queue
	chunks []uint64
	// gathered is room for frames whose chunks are not side by side.
	gathered []byte
}

// NewHeld returns an empty one.
func NewHeld() *Held {
	h := &Held{loan: new(loan)}
	runtime.AddCleanup(h, func(l *loan) { l.end() }, h.loan)
	return h
}

// Release gives the frames back.
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

// Recv takes up to most frames that have come, of one queue. It does not wait: there may be none. After Close there are none.
func (e *Endpoint) Recv(h *Held, most int) {
	h.Release()
	e.receiving.Lock()
	defer e.receiving.Unlock()
	if e.closed.Load() {
		return
	}
	e.taking = true
	for range e.sockets {
		s, q := e.sockets[e.turn], e.ifc.queues[e.turn]
		if e.turn++; e.turn == len(e.sockets) {
			e.turn = 0
		}
		if s.rx.ready(1) > 0 && h.take(s, q, most) {
			return
		}
	}
	e.taking = false
}

// Pending reports whether frames have come that may not have been dealt with: they wait for Recv, or Recv has taken some
// and was not called again to find that no more are there.
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

// take takes frames out of the receive ring of s, and reports whether there were any.
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

// pieces returns of how many entries the next frame is, 0 when its end is not among the ready ones.
func pieces(s *socket, ready int) int {
	for i := range ready {
		if s.rxDesc[s.rx.peek(i)].Options&unix.XDP_PKT_CONTD == 0 {
			return i + 1
		}
	}
	return 0
}

// frame takes the n entries of a frame out of the ring, and returns the frame in one piece.
func (l *loan) frame(s *socket, mem []byte, n int) []byte {
	first := len(l.chunks)
	d := s.rxDesc[s.rx.get()]
	l.chunks = append(l.chunks, d.Addr)
	at, end := d.Addr, d.Addr+uint64(d.Len)
	side := true // what was taken so far is in one piece in mem
	from := 0    // or else in gathered, from here on
	for i := 1; i < n; i++ {
		d := s.rxDesc[s.rx.get()]
		l.chunks = append(l.chunks, d.Addr)
		more := mem[d.Addr : d.Addr+uint64(d.Len)]
		if side && d.Addr&^(chunkLen-1) == l.chunks[first+i-1]&^(chunkLen-1)+chunkLen {
			// The next chunk in memory: it takes no more than to close the gap, which is small.
			end += uint64(copy(mem[end:], more))
			continue
		}
		if side {
			side, from = false, len(l.gathered)
			l.gathered = append(l.gathered, mem[at:end]...)
		}
		l.gathered = append(l.gathered, more...)
	}
	if side {
		return mem[at:end:end]
	}
	return l.gathered[from:len(l.gathered):len(l.gathered)]
}
