package record

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
)

// buffer holds frames that wait to be written.
type buffer struct {
	entries []entry
	data    []byte
}

// entry is a frame in a buffer.
type entry struct {
	at       time.Time
	name     string
	dir      packet.Direction
	frame    packet.TapFrame // frame without its Data, which is in buffer.data
	off, len int             // offset and length of the data in bytes
	lost     uint64          // number of frames dropped before this one
	qpn      bth.QPN         // queue pair that sent it; set by an Observer
	taken    bool            // an Observer has reported that the queue pair processes it
	notes    []string        // notes of an Observer
}

// entryCost is the cost of an entry without its data against the limit of add, about its size in
// bytes.
const entryCost = 200

// since moves the entries from time at on, and the newest in any case, to another buffer. It
// returns true if the buffer is empty or all entries are older than at.
func (b *buffer) since(at time.Time, to *buffer) (old bool) {
	n := max(0, len(b.entries)-1)
	old = n == len(b.entries) || b.entries[n].at.Before(at)
	for n > 0 && !b.entries[n-1].at.Before(at) {
		n--
	}
	for i := range b.entries[n:] {
		e := &b.entries[n+i]
		data := b.data[e.off : e.off+e.len]
		e.off = len(to.data)
		to.data = append(to.data, data...)
		to.entries = append(to.entries, *e)
	}
	b.entries = b.entries[:n]
	return old
}

// add copies e with its data. It returns false, without a copy, if the buffer would exceed limit
// bytes.
func (b *buffer) add(limit int, e *entry) bool {
	if (len(b.entries)+1)*entryCost+len(b.data)+len(e.frame.Data) > limit {
		return false
	}
	e.off, e.len = len(b.data), len(e.frame.Data)
	b.data = append(b.data, e.frame.Data...)
	e.frame.Data = nil
	b.entries = append(b.entries, *e)
	return true
}

func (b *buffer) reset() {
	clear(b.entries)
	b.entries, b.data = b.entries[:0], b.data[:0]
}
