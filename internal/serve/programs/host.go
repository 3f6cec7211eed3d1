//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/gorxe/gorxe/internal/serve/uverbs"
	"github.com/gorxe/gorxe/internal/trap"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// A Host has what programs see of one device, and answers their calls: in this process, or by a daemon. All methods are
// safe for concurrent use.
type Host struct {
	remote *remote // of a device that a daemon owns; nil: server answers, and what follows server is used
	log    *slog.Logger
	server *uverbs.Server
	tree   *trap.Tree

	mu        sync.Mutex
	processes map[trap.ProcID]*process
}

// process is one that has opened the device.
type process struct {
	contexts []*uverbs.Context
	// events are the event files it was given, by their inodes: a program names them by descriptors.
	events map[trap.Inode]any
}

// NewHost returns a host for dev, which programs find under the given name. It must begin with "rxe": librxe recognizes its
// devices so. log gets calls that fail, at level debug.
func NewHost(dev *verbs.Device, name string, log *slog.Logger) (*Host, error) {
	s, err := uverbs.New(dev)
	if err != nil {
		return nil, err
	}
	h := &Host{log: log, server: s, processes: map[trap.ProcID]*process{}}
	if h.tree, err = newTree(dev, name); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return h, nil
}

// Close ends all objects of programs.
func (h *Host) Close() error {
	if h.remote != nil {
		return errors.Join(h.remote.close(), h.tree.Close())
	}
	return errors.Join(h.server.Close(), h.tree.Close())
}

// Serve answers the calls that come from the listener of programs; see [trap.Serve].
func (h *Host) Serve(listener *os.File, d trap.Descriptors) (*trap.Server, error) {
	if h.remote != nil {
		s, err := trap.Serve(listener, trap.Config{Handler: h.remote, Tree: h.tree, Descriptors: d})
		if err == nil {
			h.remote.serving(s)
		}
		return s, err
	}
	return trap.Serve(listener, trap.Config{Handler: (*handler)(h), Tree: h.tree, Descriptors: d})
}

// handler are the methods that package trap calls.
type handler Host

// Open implements [trap.Handler].
func (h *handler) Open(c *trap.Call, _ *trap.Device, _ int) {
	ctx, err := h.open(c)
	if err != nil {
		_ = c.ReplyErrno(errnoOf(err)) // nobody is left to tell
		return
	}
	err = ctx.File().Program(func(fd int) error { return c.ReplyFD(trap.FD{File: fd, Object: ctx}) })
	if err != nil {
		ctx.Released()
	}
}

// open makes a context for the caller's process.
func (h *handler) open(c *trap.Call) (*uverbs.Context, error) {
	space, err := openSpace(c)
	if err != nil {
		return nil, err
	}
	ctx, err := h.server.Open(space)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.processes[c.Proc()]
	if p == nil {
		p = &process{events: map[trap.Inode]any{}}
		h.processes[c.Proc()] = p
	}
	p.contexts = append(p.contexts, ctx)
	return ctx, nil
}

// Ioctl implements [trap.Handler].
func (h *handler) Ioctl(c *trap.Call, o trap.Object, cmd uint32, arg uint64) {
	ctx, ok := o.(*uverbs.Context)
	if !ok || cmd != uapi.VerbsIoctl {
		_ = c.ReplyErrno(unix.ENOTTY)
		return
	}
	if err := ctx.Ioctl(&caller{c, h}, arg); err != nil {
		h.log.Debug("a call of a program fails", "pid", c.Proc().PID, "err", err)
		_ = c.ReplyErrno(unix.Errno(uapi.ErrnoOf(err)))
		return
	}
	_ = c.Reply(0)
}

// Write implements [trap.Handler]. Doorbells are written natively, see package ringfile.
func (h *handler) Write(c *trap.Call, _ trap.Object, _ []byte, _ uint64) {
	_ = c.ReplyErrno(unix.EINVAL)
}

// Stat implements [trap.Handler].
func (h *handler) Stat(trap.Object, *trap.Attr) {}

// Exit implements [trap.Handler]. What the process has opened may live on in a child.
func (h *handler) Exit(id trap.ProcID) {
	h.mu.Lock()
	p := h.processes[id]
	delete(h.processes, id)
	h.mu.Unlock()
	if p == nil {
		return
	}
	for _, c := range p.contexts {
		_ = c.File().Drop() // from then on its last descriptor ends it
	}
}

// caller is a thread of a program, for package uverbs.
type caller struct {
	call *trap.Call
	host *handler
}

// Install implements [uverbs.Caller].
func (c *caller) Install(f *os.File, o any) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, err
	}
	fd, err := c.call.InstallFD(trap.FD{File: int(f.Fd()), CloseOnExec: true})
	if err != nil {
		return 0, err
	}
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if p := c.host.processes[c.call.Proc()]; p != nil {
		p.events[trap.Inode{Dev: st.Dev, Ino: st.Ino}] = o
	}
	return fd, nil
}

// Object implements [uverbs.Caller].
func (c *caller) Object(fd int32) any {
	var st unix.Stat_t
	if fd < 0 || unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", c.call.Proc().PID, fd), &st) != nil {
		return nil
	}
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if p := c.host.processes[c.call.Proc()]; p != nil {
		return p.events[trap.Inode{Dev: st.Dev, Ino: st.Ino}]
	}
	return nil
}

// errnoOf returns the number of an error of the system, EIO without one.
func errnoOf(err error) unix.Errno {
	var e unix.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.Errno(uapi.ErrnoOf(err))
}
