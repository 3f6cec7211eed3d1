//go:build linux && (amd64 || arm64)

package programs

import (
	"maps"

	"github.com/gorxe/gorxe/internal/host/procmem"
	"github.com/gorxe/gorxe/internal/serve/uverbs"
	"github.com/gorxe/gorxe/internal/trap"
)

// open is the state of an open of the device until the context is closed. A child of the process
// that opened the device may keep the file open, but cannot make calls on it. The lock of the Host
// guards it.
type open struct {
	process *process // process that opened the device
	space   *space   // its memory at that time
	// events are the event files installed in programs, by their inodes: a program refers to them
	// by descriptors.
	events map[trap.Inode]any
	// pruneAt is the number of event files at which add removes the ended ones: twice the number
	// that remained the last time.
	pruneAt int
}

// minPruneAt is the minimum of pruneAt.
const minPruneAt = 16

// add adds an event file.
func (o *open) add(i trap.Inode, file any) {
	if len(o.events) >= o.pruneAt {
		maps.DeleteFunc(o.events, func(_ trap.Inode, file any) bool { return hasEnded(file) })
		o.pruneAt = max(minPruneAt, 2*len(o.events))
	}
	o.events[i] = file
}

func hasEnded(file any) bool {
	e, ok := file.(interface{ Ended() bool })
	return ok && e.Ended()
}

// process is the state of a process that has opened a device file, or is opening one. The lock of
// the Host guards it, except atomics.
type process struct {
	id       trap.ProcID
	uses     int // number of contexts, of channels and of opens in progress
	contexts map[*uverbs.Context]struct{}
	channels int // of rdma_cm
	// atomics makes RDMA atomics through all contexts of the process atomic with respect to each
	// other. It remains the same after execve: later contexts belong to another address space, to
	// which sharing the lock does no harm.
	atomics procmem.Atomics
}

// hold returns the process with the given ID and increments uses. Host.release, or Host.leave after
// Host.enter, decrements uses.
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

// release decrements uses.
func (h *Host) release(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unuse(p)
}

// unuse decrements uses. At zero it removes p. The caller holds the lock.
func (h *Host) unuse(p *process) {
	if p.uses--; p.uses == 0 && h.processes[p.id] == p {
		delete(h.processes, p.id)
	}
}

// enter adds a context that a process has opened; the context takes over the use of p.
func (h *Host) enter(ctx *uverbs.Context, p *process, s *space) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opens[ctx] = &open{process: p, space: s, events: map[trap.Inode]any{}, pruneAt: minPruneAt}
	p.contexts[ctx] = struct{}{}
}

// leave removes a closed context.
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

// opened reports whether ctx belongs to an open of the device by the process id.
func (h *Host) opened(ctx *uverbs.Context, id trap.ProcID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.opens[ctx]
	return o != nil && o.process.id == id
}
