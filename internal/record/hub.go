package record

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/packet"
)

// Hub adds and removes recorders while links are in use. Without a recorder the links have no
// overhead. Its methods are safe for concurrent use.
type Hub struct {
	on atomic.Bool

	mu        sync.Mutex
	recorders []*Recorder
	all       atomic.Pointer[[]*Recorder] // immutable copy of recorders
}

// Wrap returns l with a tap: the recorders of the hub record its packets. name is the interface
// name in the capture; "" selects the address of l.
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

// Add starts the recording by r.
func (h *Hub) Add(r *Recorder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recorders = append(h.recorders, r)
	h.changed()
}

// Remove ends the recording by r.
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
