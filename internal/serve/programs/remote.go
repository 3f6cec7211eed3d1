//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/internal/serve/broker"
	"github.com/gorxe/gorxe/internal/trap"
	"golang.org/x/sys/unix"
)

// remote forwards the calls of programs to a daemon: it is the [trap.Handler] of a host whose
// device another process owns.
type remote struct {
	client *broker.Client
	log    *slog.Logger
	files  *rendering

	mu        sync.Mutex
	servers   []*trap.Server
	processes map[trap.ProcID]uint32 // numbers by which the daemon knows them
	last      uint32
	// objects are the files installed in programs, by their inodes: a program refers to them by
	// descriptors. An entry may be of a file that has been closed.
	objects map[trap.Inode]uint32
}

// remoteObject is the daemon's number of an open device file.
type remoteObject uint32

// NewRemoteHost returns a host for the device of a daemon. Closing it disconnects from the
// daemon. See [NewHost] for name and log.
func NewRemoteHost(c *broker.Client, name string, log *slog.Logger) (*Host, error) {
	tree, err := newDeviceTree(name)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	r := &remote{
		client: c, log: log, files: &rendering{name: name, tree: tree, files: map[string]string{}},
		processes: map[trap.ProcID]uint32{}, objects: map[trap.Inode]uint32{},
	}
	if err := r.files.update(c.Description()); err != nil {
		return nil, errors.Join(err, c.Close(), tree.Close())
	}
	c.Start(r)
	return &Host{log: log, remote: r, tree: tree}, nil
}

// farewell is the timeout of the last ping, which a daemon does not answer if it has ended before
// the programs.
const farewell = time.Second

// close disconnects. It pings first: afterwards the client knows whether the daemon has ended
// before that.
func (r *remote) close() error {
	r.client.Ping(farewell)
	err := r.client.Close()
	<-r.client.Done()
	return err
}

// serving adds a server to notify when objects end.
func (r *remote) serving(s *trap.Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers = append(r.servers, s)
}

// Ended implements [broker.Events].
func (r *remote) Ended(object uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range r.objects {
		if o == object {
			delete(r.objects, i)
		}
	}
	for _, s := range r.servers {
		s.Forget(remoteObject(object))
	}
}

// Changed implements [broker.Events]: it updates the files that programs see.
func (r *remote) Changed(d broker.Description) {
	if err := r.files.update(&d); err != nil {
		r.log.Warn("a change of the device is not shown to programs", "err", err)
	}
}

// Open implements [trap.Handler]. It waits in its own goroutine: a daemon that does not answer
// must not delay other calls.
func (r *remote) Open(c *trap.Call, d *trap.Device, flags int) {
	go func() {
		f, object, err := r.open(c, d)
		if err != nil {
			r.log.Debug("a program cannot open the device", "pid", c.Proc().PID, "err", err)
			_ = c.ReplyErrno(errnoOf(err)) // the caller may have been killed
			return
		}
		err = r.recordObject(f, object)
		fd := int(f.Fd())
		if err == nil && fileOf(d) == broker.CM {
			// The flags are those of the open file description, which the program is about to
			// share.
			err = unix.SetNonblock(fd, flags&unix.O_NONBLOCK != 0)
		}
		if err == nil {
			err = c.ReplyFD(trap.FD{File: fd, Object: remoteObject(object)})
		}
		_ = f.Close() // the program has a duplicate
		if err != nil {
			r.client.Release(object)
		}
	}()
}

// open opens a device file of the daemon for the caller. The files of its memory belong to one
// address space: the caller cannot execute another program before it has an answer, and Valid
// checks afterwards that it still waits.
func (r *remote) open(c *trap.Call, d *trap.Device) (*os.File, uint32, error) {
	pid, files, err := openMemory(c)
	if err != nil {
		return nil, 0, err
	}
	defer files.Close()
	dir, err := os.OpenFile(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	if !c.Valid() {
		return nil, 0, trap.ErrGone
	}
	n := r.process(c.Proc())
	f, object, err := r.client.Open(n, fileOf(d), dir, files.Mem, files.Maps)
	if err == nil && c.Executing() { // the daemon did not know of the file when it handled Exec
		if err = r.client.Exec(n); err != nil {
			_ = f.Close()
			r.client.Release(object)
		}
	}
	return f, object, err
}

// fileOf returns the device file of a node of the tree.
func fileOf(d *trap.Device) broker.File {
	if d.Slot == trap.SlotChannel {
		return broker.CM
	}
	return broker.Verbs
}

// process returns the number of a process for the daemon.
func (r *remote) process(id trap.ProcID) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, known := r.processes[id]
	if !known {
		r.last++
		n = r.last
		r.processes[id] = n
	}
	return n
}

// recordObject records the object of an installed file.
func (r *remote) recordObject(f *os.File, object uint32) error {
	i, err := trap.InodeOf(int(f.Fd()))
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[i] = object
	return nil
}

// Ioctl implements [trap.Handler].
func (r *remote) Ioctl(c *trap.Call, o trap.Object, cmd uint32, arg uint64) {
	r.call(c, o, broker.Call{Cmd: cmd, Arg: arg})
}

// Write implements [trap.Handler].
func (r *remote) Write(c *trap.Call, o trap.Object, data []byte, size uint64) {
	r.call(c, o, broker.Call{
		Write: true, NonBlock: nonBlocking(c), Arg: c.Arg(1), Data: data[:min(len(data), broker.MaxWrite)], Size: size,
	})
}

func (r *remote) call(c *trap.Call, o trap.Object, what broker.Call) {
	object, ok := o.(remoteObject)
	if !ok {
		_ = c.ReplyErrno(unix.ENOTTY)
		return
	}
	t := &thread{remote: r, call: c}
	interrupt := r.client.Call(uint32(object), r.process(c.Proc()), what, t)
	if what.Write { // only writes block: a thread that waits for an event must be able to handle signals
		c.OnInterrupt(func(error) {
			t.interrupted.Store(true)
			go interrupt()
		})
	}
}

// Stat implements [trap.Handler].
func (r *remote) Stat(trap.Object, *trap.Attr) {}

// Exec implements [trap.Handler]. The daemon must be notified first: see
// [procmem.AddressSpace.AllowDirect].
func (r *remote) Exec(c *trap.Call, id trap.ProcID) {
	r.mu.Lock()
	n, known := r.processes[id]
	r.mu.Unlock()
	if !known {
		_ = c.Continue() // the caller may have been killed, here and below
		return
	}
	go func() {
		if err := r.client.Exec(n); err != nil {
			_ = c.ReplyErrno(unix.EAGAIN)
			return
		}
		_ = c.Continue()
	}()
}

// Exit implements [trap.Handler]. Objects of the process may survive in a child.
func (r *remote) Exit(id trap.ProcID) {
	r.mu.Lock()
	n, known := r.processes[id]
	delete(r.processes, id)
	r.mu.Unlock()
	if known {
		r.client.Exit(n)
	}
}

// thread is a thread of a program, for package broker.
type thread struct {
	remote      *remote
	call        *trap.Call
	interrupted atomic.Bool
}

// Install implements [broker.Thread].
func (t *thread) Install(f *os.File, object uint32, closeOnExec bool) (int, error) {
	if err := t.remote.recordObject(f, object); err != nil {
		return 0, err
	}
	return t.call.InstallFD(trap.FD{File: int(f.Fd()), CloseOnExec: closeOnExec})
}

// Find implements [broker.Thread].
func (t *thread) Find(fd int32) uint32 {
	i, open := t.call.Inode(int(fd))
	if !open {
		return 0
	}
	t.remote.mu.Lock()
	defer t.remote.mu.Unlock()
	return t.remote.objects[i]
}

// Answer implements [broker.Thread].
func (t *thread) Answer(result int64, errno unix.Errno) {
	c := t.call
	switch {
	case errno == unix.EINTR && t.interrupted.Load():
		if c.ReplyInterrupted() == trap.ErrNotInterrupted {
			_ = c.ReplyErrno(unix.EINTR)
		}
	case errno != 0:
		_ = c.ReplyErrno(errno) // the caller may have been killed
	default:
		_ = c.Reply(result)
	}
}
