//go:build linux && (amd64 || arm64)

package programs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/gorxe/gorxe/internal/serve/ucma"
	"github.com/gorxe/gorxe/internal/serve/uverbs"
	"github.com/gorxe/gorxe/internal/trap"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// openChannel answers an open of rdma_cm.
func (h *handler) openChannel(c *trap.Call, flags int) {
	var key trap.Inode // guarded by mu
	server := c.Server()
	p, err := (*Host)(h).takeChannel(c.Proc())
	var ch *ucma.Channel
	if err == nil {
		ch, err = h.cm.Open(func(ch *ucma.Channel) {
			h.mu.Lock()
			delete(h.channels, key)
			h.mu.Unlock()
			server.Forget(ch)
			(*Host)(h).giveChannel(p)
		})
		if err != nil {
			(*Host)(h).giveChannel(p)
		}
	}
	if err != nil {
		_ = c.ReplyErrno(errnoOf(err)) // the caller may have been killed
		return
	}
	err = ch.Program(func(fd int) error {
		i, err := trap.InodeOf(fd)
		if err := errors.Join(err, unix.SetNonblock(fd, flags&unix.O_NONBLOCK != 0)); err != nil {
			_ = c.ReplyErrno(errnoOf(err)) // likewise
			return err
		}
		h.mu.Lock()
		key = i
		h.channels[key] = ch
		h.mu.Unlock()
		return c.ReplyFD(trap.FD{File: fd, Object: ch})
	})
	if err != nil {
		h.log.Debug("a channel of rdma_cm ends at once", "pid", c.Proc().PID, "err", err)
	}
}

// Write implements [trap.Handler] for commands of rdma_cm. Doorbells of queues are written
// natively, see package ringfile.
func (h *handler) Write(c *trap.Call, o trap.Object, data []byte, size uint64) {
	ch, ok := o.(*ucma.Channel)
	if !ok {
		_ = c.ReplyErrno(unix.EINVAL)
		return
	}
	ch.Write(&writer{c, h}, data, func(err error) {
		// An error of a reply means that the caller was killed.
		switch {
		case err == nil:
			_ = c.Reply(int64(size))
		case errors.Is(err, ucma.ErrInterrupted):
			_ = c.ReplyInterrupted()
		default:
			if !errors.Is(err, uapi.EAGAIN) {
				h.log.Debug("a command of a program fails", "pid", c.Proc().PID, "err", err)
			}
			_ = c.ReplyErrno(unix.Errno(uapi.ErrnoOf(err)))
		}
	})
}

// writer is a thread of a program that writes a command, for package ucma.
type writer struct {
	call *trap.Call
	host *handler
}

// Read implements [ucma.Caller].
func (w *writer) Read(addr uint64, p []byte) error { return w.call.Read(addr, p) }

// Write implements [ucma.Caller].
func (w *writer) Write(addr uint64, p []byte) error { return w.call.Write(addr, p) }

// OnInterrupt implements [ucma.Caller].
func (w *writer) OnInterrupt(f func()) { w.call.OnInterrupt(func(error) { f() }) }

// NonBlocking implements [ucma.Caller].
func (w *writer) NonBlocking() bool { return nonBlocking(w.call) }

// nonBlocking reports whether the descriptor of a write(2) has O_NONBLOCK. /proc contains the
// flags of an open file, in octal.
func nonBlocking(c *trap.Call) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", c.TID(), int32(c.Arg(0))))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(b) {
		if value, ok := bytes.CutPrefix(line, []byte("flags:")); ok {
			flags, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 8, 64)
			return err == nil && flags&unix.O_NONBLOCK != 0
		}
	}
	return false
}

// Channel implements [ucma.Caller].
func (w *writer) Channel(fd int32) *ucma.Channel {
	i, open := w.call.Inode(int(fd))
	if !open {
		return nil
	}
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	return w.host.channels[i]
}

// QP implements [ucma.Caller].
func (w *writer) QP(n verbs.QPN) *verbs.QP {
	w.host.mu.Lock()
	var contexts []*uverbs.Context
	if p := w.host.processes[w.call.Proc()]; p != nil {
		contexts = slices.Collect(maps.Keys(p.contexts))
	}
	w.host.mu.Unlock()
	for _, c := range contexts {
		if q := c.QP(n); q != nil {
			return q
		}
	}
	return nil
}
