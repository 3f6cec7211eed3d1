//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/gorxe/gorxe/internal/serve/ucma"
	"github.com/gorxe/gorxe/internal/serve/uverbs"
	"github.com/gorxe/gorxe/internal/trap"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// A Host presents one device to programs, and answers their calls: in this process, or by a
// daemon. All methods are safe for concurrent use.
type Host struct {
	// remote forwards the calls if a daemon owns the device. If remote is nil, server and cm answer
	// them.
	remote *remote
	log    *slog.Logger
	server *uverbs.Server
	cm     *ucma.Server
	tree   *trap.Tree

	mu        sync.Mutex                   // guards the following fields
	opens     map[*uverbs.Context]*open    // until the context is closed
	processes map[trap.ProcID]*process     // running processes that have opened a device file, or are opening one
	channels  map[trap.Inode]*ucma.Channel // of rdma_cm, by the inodes of their files
	cmOpen    int                          // number of channels of rdma_cm, including those without a file yet
}

// NewHost returns a host for dev, which programs see under the given name. The name must start
// with "rxe", by which librxe recognizes its devices. log receives failed calls, at level debug.
func NewHost(dev *verbs.Device, name string, log *slog.Logger) (*Host, error) {
	s, err := uverbs.New(dev)
	if err != nil {
		return nil, err
	}
	cm, err := ucma.New(dev)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	h := &Host{
		log: log, server: s, cm: cm, opens: map[*uverbs.Context]*open{}, processes: map[trap.ProcID]*process{},
		channels: map[trap.Inode]*ucma.Channel{},
	}
	if h.tree, err = newDeviceTree(name); err != nil {
		return nil, errors.Join(err, cm.Close(), s.Close())
	}
	r := &rendering{name: name, tree: h.tree, files: map[string]string{}}
	s.OnPortEvent(func() {
		if err := r.update(dev); err != nil {
			log.Warn("files that describe the device are not up to date", "err", err)
		}
	})
	if err := r.update(dev); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Close ends all objects of programs.
func (h *Host) Close() error {
	if h.remote != nil {
		return errors.Join(h.remote.close(), h.tree.Close())
	}
	return errors.Join(h.cm.Close(), h.server.Close(), h.tree.Close())
}

// Serve answers the calls from the listener of programs; see [trap.Serve].
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

// handler implements [trap.Handler] for a Host.
type handler Host

// Open implements [trap.Handler].
func (h *handler) Open(c *trap.Call, d *trap.Device, flags int) {
	if d.Path == cmFile {
		h.openChannel(c, flags)
		return
	}
	go func() { // it may block, and must not delay other calls
		ctx, err := h.open(c)
		if err != nil {
			_ = c.ReplyErrno(errnoOf(err)) // the caller may have been killed
			return
		}
		err = ctx.File().Program(func(fd int) error { return c.ReplyFD(trap.FD{File: fd, Object: ctx}) })
		if err != nil {
			ctx.Released()
		}
	}()
}

// open creates a context for the caller's process.
func (h *handler) open(c *trap.Call) (*uverbs.Context, error) {
	p := (*Host)(h).hold(c.Proc())
	space, err := openSpace(c, p)
	var ctx *uverbs.Context
	if err == nil {
		ctx, err = h.server.Open(space)
	}
	if err != nil {
		(*Host)(h).release(p)
		return nil, err
	}
	(*Host)(h).enter(ctx, p, space)
	if c.Executing() { // Exec did not know of the context yet
		space.EndDirect()
	}
	s := c.Server()
	ctx.OnClose(func() {
		s.Forget(ctx)
		(*Host)(h).leave(ctx)
	})
	return ctx, nil
}

// Ioctl implements [trap.Handler].
func (h *handler) Ioctl(c *trap.Call, o trap.Object, cmd uint32, arg uint64) {
	ctx, ok := o.(*uverbs.Context)
	if !ok || cmd != uapi.VerbsIoctl {
		_ = c.ReplyErrno(unix.ENOTTY)
		return
	}
	// A call accesses the memory of the process that opened the device: another process with the
	// descriptor, such as a child with fewer rights, would use addresses of that memory.
	if !(*Host)(h).opened(ctx, c.Proc()) {
		_ = c.ReplyErrno(unix.EPERM)
		return
	}
	if err := ctx.Ioctl(&caller{c, h, ctx}, arg); err != nil {
		h.log.Debug("a call of a program fails", "pid", c.Proc().PID, "err", err)
		_ = c.ReplyErrno(unix.Errno(uapi.ErrnoOf(err)))
		return
	}
	_ = c.Reply(0)
}

// Stat implements [trap.Handler].
func (h *handler) Stat(trap.Object, *trap.Attr) {}

// Exec implements [trap.Handler].
func (h *handler) Exec(c *trap.Call, id trap.ProcID) {
	h.mu.Lock()
	var spaces []*space
	if p := h.processes[id]; p != nil {
		for ctx := range p.contexts {
			spaces = append(spaces, h.opens[ctx].space)
		}
	}
	h.mu.Unlock()
	go func() { // the memory of the program can delay a copy
		for _, s := range spaces {
			s.EndDirect()
		}
		_ = c.Continue() // the caller may have been killed
	}()
}

// Exit implements [trap.Handler]. Objects of the process may survive in a child.
func (h *handler) Exit(id trap.ProcID) {
	h.mu.Lock()
	var contexts []*uverbs.Context
	if p := h.processes[id]; p != nil {
		contexts = slices.Collect(maps.Keys(p.contexts))
	}
	delete(h.processes, id)
	h.mu.Unlock()
	for _, c := range contexts {
		_ = c.File().Drop() // from then on the context ends with its last descriptor
	}
}

// caller is a thread of a program, for package uverbs.
type caller struct {
	call *trap.Call
	host *handler
	ctx  *uverbs.Context
}

// Install implements [uverbs.Caller].
func (c *caller) Install(f *os.File, o any) (int, error) {
	i, err := trap.InodeOf(int(f.Fd()))
	if err != nil {
		return 0, err
	}
	fd, err := c.call.InstallFD(trap.FD{File: int(f.Fd()), CloseOnExec: true})
	if err != nil {
		return 0, err
	}
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if p := c.host.opens[c.ctx]; p != nil {
		p.add(i, o)
	}
	return fd, nil
}

// Object implements [uverbs.Caller].
func (c *caller) Object(fd int32) any {
	i, open := c.call.Inode(int(fd))
	if !open {
		return nil
	}
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	if p := c.host.opens[c.ctx]; p != nil {
		return p.events[i]
	}
	return nil
}

// errnoOf returns the error number in err, EIO if there is none.
func errnoOf(err error) unix.Errno {
	var e unix.Errno
	if errors.As(err, &e) {
		return e
	}
	return unix.Errno(uapi.ErrnoOf(err))
}
