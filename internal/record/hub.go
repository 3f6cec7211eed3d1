package record

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/packet"
)

// Hub lets recorders come and go while links are used. While there is none the links do not notice. Its methods may be called
// by many goroutines.
type Hub struct {
	on atomic.Bool

	mu        sync.Mutex
	recorders []*Recorder
	all       atomic.Pointer[[]*Recorder] // of recorders, never changed
}

// Wrap returns l with what it sends and receives recorded by whoever is there, under the name of an interface; empty is the
// address of l.
func (h *Hub) Wrap(name string, l packet.Link) packet.Link {
	name = cmp.Or(name, l.Local().String())
	return packet.TapWhile(l, &h.on, func(dir packet.Direction, f packet.TapFrame) {
		if all := h.all.Load(); all != nil {
			for _, r := range *all {
				r.see(name, dir, &f)
			}
		}
	})
}

// Add lets r record from now on.
func (h *Hub) Add(r *Recorder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recorders = append(h.recorders, r)
	h.changed()
}

// Remove lets r record no more.
func (h *Hub) Remove(r *Recorder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recorders = slices.DeleteFunc(h.recorders, func(o *Recorder) bool { return o == r })
	h.changed()
}

func (h *Hub) changed() {
	all := slices.Clone(h.recorders)
	h.all.Store(&all)
	h.on.Store(len(all) > 0)
}
