// Package crossing has the queue of frames that the shards of a device leave for one of them by loopback.
package crossing

import (
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
)

// Queue has the frames that queue pairs of other shards send to those of one shard, until that receives them. They are
// copied: what a frame borrows is the sender's, and the receiver does not have the sender's lock. The zero value is an
// empty queue.
type Queue struct {
	mu      sync.Mutex
	waiting Frames // guarded by mu
	taken   Frames // the receiver's, until it takes the next
}

// Frames is a list of frames, oldest first.
type Frames struct {
	frames []Frame
	data   []byte
}

// Frame tells where a frame comes from and where it goes.
type Frame struct {
	From       bth.QPN    // the queue pair that sent it
	Src        netip.Addr // and the address that it sent it from
	To         int        // entry of the GID table with the address that it was sent to
	begin, end int        // header and payload, in the data of the list
}

const (
	// Limit bounds what waits in a queue, in bytes. A queue may keep twice as much memory.
	Limit = 4 << 20
	// copyAlign is the alignment at which long copies of payload are fast, in bytes.
	copyAlign = 16
)

// Put appends a copy of f, without padding and ICRC. It is false if there is no room: the frame is lost, as on a socket
// whose buffer is full. Any goroutine may call it.
func (q *Queue) Put(f *packet.Frame, from bth.QPN, src netip.Addr, to int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &q.waiting
	header := len(f.Header)
	// The payload begins at a multiple.
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

var gap [copyAlign]byte

// Take returns what waits, which stays as it is until the next Take. One goroutine at a time may call it.
func (q *Queue) Take() *Frames {
	q.taken.frames, q.taken.data = q.taken.frames[:0], q.taken.data[:0]
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.taken = q.taken, q.waiting
	return &q.taken
}

// Len is the number of frames.
func (l *Frames) Len() int { return len(l.frames) }

// At returns frame i, and its header and payload.
func (l *Frames) At(i int) (*Frame, []byte) {
	f := &l.frames[i]
	return f, l.data[f.begin:f.end]
}
