//go:build linux && (amd64 || arm64)

package programs

import (
	"maps"

	"github.com/gorxe/gorxe/internal/serve/uverbs"
	"github.com/gorxe/gorxe/internal/trap"
)

// open is what a Host keeps of an open of the device until the context is closed. A child of the process that
// opened the device may use it, too. The lock of the Host guards it.
type open struct {
	proc trap.ProcID // that opened the device
	// events are the event files that programs were given, by their inodes: a program names them by descriptors.
	events map[trap.Inode]any
	room   int // number of event files at which those that have ended are looked for
}

// minRoom is the least room. More event files that have ended are kept only beside as many that have not.
const minRoom = 16

// add enters an event file.
func (o *open) add(i trap.Inode, file any) {
	if len(o.events) >= o.room {
		maps.DeleteFunc(o.events, func(_ trap.Inode, file any) bool { return hasEnded(file) })
		o.room = max(minRoom, 2*len(o.events))
	}
	o.events[i] = file
}

func hasEnded(file any) bool {
	e, ok := file.(interface{ Ended() bool })
	return ok && e.Ended()
}

// enter takes note of a context that a process has opened.
func (h *Host) enter(ctx *uverbs.Context, proc trap.ProcID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opens[ctx] = &open{proc: proc, events: map[trap.Inode]any{}, room: minRoom}
	contexts := h.processes[proc]
	if contexts == nil {
		contexts = map[*uverbs.Context]struct{}{}
		h.processes[proc] = contexts
	}
	contexts[ctx] = struct{}{}
}

// leave forgets a context that is closed.
func (h *Host) leave(ctx *uverbs.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.opens[ctx]
	if o == nil {
		return
	}
	delete(h.opens, ctx)
	contexts := h.processes[o.proc]
	if delete(contexts, ctx); len(contexts) == 0 {
		delete(h.processes, o.proc)
	}
}
