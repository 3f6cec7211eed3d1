//go:build linux && (amd64 || arm64)

package programs

import (
	"maps"

	"github.com/gorxe/gorxe/internal/host/procmem"
	"github.com/gorxe/gorxe/internal/serve/uverbs"
	"github.com/gorxe/gorxe/internal/trap"
)

// open is what a Host keeps of an open of the device until the context is closed. A child of the process that
// opened the device may keep it open, but makes no calls on it. The lock of the Host guards it.
type open struct {
	process *process // that opened the device
	space   *space   // its memory at that time
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

// process is what a Host keeps of a process with opens of the device. The lock of the Host guards it, except atomics.
type process struct {
	id       trap.ProcID
	uses     int // contexts, and opens under way
	contexts map[*uverbs.Context]struct{}
	channels int // of rdma_cm
	// atomics make RDMA atomics through all contexts of the process atomic towards each other. After execve the
	// process keeps them: its contexts are of another address space then, to which the lock does no harm.
	atomics procmem.Atomics
}

// hold returns the process with the given number, for [Host.enter] or [Host.release].
func (h *Host) hold(id trap.ProcID) *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.processes[id]
	if p == nil {
		p = &process{id: id, contexts: map[*uverbs.Context]struct{}{}}
		h.processes[id] = p
	}
	p.uses++
	return p
}

// release gives back what hold returned.
func (h *Host) release(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unuse(p)
}

// unuse ends one use of p. The lock is held.
func (h *Host) unuse(p *process) {
	if p.uses--; p.uses == 0 && h.processes[p.id] == p {
		delete(h.processes, p.id)
	}
}

// enter takes note of a context that a process has opened; the use of p is the context's from then on.
func (h *Host) enter(ctx *uverbs.Context, p *process, s *space) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opens[ctx] = &open{process: p, space: s, events: map[trap.Inode]any{}, room: minRoom}
	p.contexts[ctx] = struct{}{}
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
	delete(o.process.contexts, ctx)
	h.unuse(o.process)
}

// opened reports whether a process has opened the device as ctx.
func (h *Host) opened(ctx *uverbs.Context, id trap.ProcID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.opens[ctx]
	return o != nil && o.process.id == id
}
