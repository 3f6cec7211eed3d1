package record

import (
	"cmp"
	"io"
	"sync"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/trace/pcapng"
)

// Recent keeps the latest frames of links in memory, for the diagnosis of a failure. Its methods
// are safe for concurrent use.
type Recent struct {
	limit int

	mu       sync.Mutex
	old, now *buffer
	lost     uint64 // frames larger than half the limit
}

// NewRecent returns a Recent that keeps the latest frames, between limit/2 and limit bytes in
// total, or all frames while they have fewer bytes.
func NewRecent(limit int) *Recent { return &Recent{limit: limit / 2, old: &buffer{}, now: &buffer{}} }

// Wrap returns l with a tap: r keeps its packets. name is the interface name in the capture; ""
// selects the address of l.
func (r *Recent) Wrap(name string, l packet.Link) packet.Link {
	name = cmp.Or(name, l.Local().String())
	return packet.Tap(l, func(dir packet.Direction, f packet.TapFrame) { r.see(name, dir, &f) })
}

func (r *Recent) see(name string, dir packet.Direction, f *packet.TapFrame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := entry{at: time.Now(), name: name, dir: dir, frame: *f, lost: r.lost}
	if !r.now.add(r.limit, &e) {
		r.old, r.now = r.now, r.old
		r.now.reset()
		if !r.now.add(r.limit, &e) {
			r.lost++
			return
		}
	}
	r.lost = 0
}

// Write writes the kept frames to w as pcapng.
func (r *Recent) Write(w io.Writer, application string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := pcapng.NewWriter(w, pcapng.Options{Application: application, Description: description})
	var m framer
	for _, b := range []*buffer{r.old, r.now} {
		for i := range b.entries {
			f, comment := m.make(b, &b.entries[i])
			if err := out.Frame(f, comment); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}
