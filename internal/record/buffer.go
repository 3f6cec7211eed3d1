package record

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
)

// buffer is frames that wait to be written.
type buffer struct {
	entries []entry
	data    []byte
}

// entry is a frame in a buffer.
type entry struct {
	at       time.Time
	name     string
	dir      packet.Direction
	frame    packet.TapFrame // its Data is not valid
	off, len int             // of its data
	lost     uint64          // frames that were left out before it
	qpn      bth.QPN         // that sent it, where an Observer says so
	taken    bool            // an Observer was told that the queue pair takes it
	notes    []string        // of an Observer
}

// entryCost is what an entry counts for besides its data, about its size in bytes.
const entryCost = 200

// since moves the entries from time at on to another buffer, and the newest in any case. It is true if all of them but the newest
// are older.
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

// add copies e with its data, and is false if that would be more than limit bytes.
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
