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
	lost     uint64          // number of frames dropped between the previous entry and this one
	qpn      bth.QPN         // queue pair that sent the frame; set by an Observer
	taken    bool            // an Observer has reported that the queue pair processes the frame
	notes    []string        // notes of an Observer
}

// entryCost is the number of bytes that an entry without its data counts towards the limit of add,
// about its size in memory.
const entryCost = 200

// since moves the entries that are not older than at, and in any case the newest entry, to the
// buffer to. old is true if the buffer is empty or all its entries are older than at.
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

// add copies e and its data into the buffer. It returns false, and copies nothing, if the buffer
// would exceed limit bytes.
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
