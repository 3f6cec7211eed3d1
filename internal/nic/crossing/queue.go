// Package crossing implements the queue in which one shard of a device receives loopback frames
// from the other shards.
package crossing

import (
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
)

// Queue holds the frames that queue pairs of other shards have sent to queue pairs of one shard,
// until this shard receives them. Frames are copied, because a frame borrows memory of the sender,
// and the receiver does not hold the sender's lock. The zero value is an empty queue.
type Queue struct {
	mu      sync.Mutex
	waiting Frames // guarded by mu
	taken   Frames // owned by the receiver until its next Take
}

// Frames is a list of frames, oldest first.
type Frames struct {
	frames []Frame
	data   []byte
}

// Frame has the source and the destination of a frame.
type Frame struct {
	From       bth.QPN    // queue pair that sent it
	Src        netip.Addr // address that it was sent from
	To         int        // index of the destination address in the GID table
	begin, end int        // position of header and payload in Frames.data
}

const (
	// Limit is the maximum size of the frames in a queue, in bytes. A queue may keep twice as much
	// memory, for the waiting and the taken frames.
	Limit = 4 << 20
	// copyAlign is the alignment, in bytes, at which long copies of payload are fast.
	copyAlign = 16
)

// Put appends a copy of f without padding and ICRC; from, src and to are as in [Frame]. It returns
// false if there is no space: the frame is lost, as on a socket whose buffer is full. Any goroutine
// may call it.
func (q *Queue) Put(f *packet.Frame, from bth.QPN, src netip.Addr, to int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &q.waiting
	header := len(f.Header)
	// The payload begins at a multiple of copyAlign.
	begin := (len(w.data)+header+copyAlign-1)/copyAlign*copyAlign - header
	if begin+f.Len() > Limit {
		return false
	}
	w.data = append(w.data, gap[:begin-len(w.data)]...)
	w.data = append(w.data, f.Header...)
	for _, p := range f.Payload {
		w.data = append(w.data, p...)
	}
	w.frames = append(w.frames, Frame{From: from, Src: src, To: to, begin: begin, end: len(w.data)})
	return true
}

// gap has the bytes that Put inserts before a header to align the payload.
var gap [copyAlign]byte

// Take returns the waiting frames, which remain valid until the next Take. Only one goroutine at
// a time may call it.
func (q *Queue) Take() *Frames {
	q.taken.frames, q.taken.data = q.taken.frames[:0], q.taken.data[:0]
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.taken = q.taken, q.waiting
	return &q.taken
}

// Len returns the number of frames.
func (l *Frames) Len() int { return len(l.frames) }

// At returns frame i and its header and payload.
func (l *Frames) At(i int) (*Frame, []byte) {
	f := &l.frames[i]
	return f, l.data[f.begin:f.end]
}
