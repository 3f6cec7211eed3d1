package broker

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/internal/uapi"
	"golang.org/x/sys/unix"
)

// An object is what a client can refer to by number: an open device file, or a file that a call on
// a device file has installed.
type object struct {
	value  any    // Object of an open device file, or the installed value
	opened Object // nil for an installed file
	// released is true once RELEASE was received or open has failed; guarded by the session's mu.
	released bool
	owner    uint32 // number of the device file whose call installed it; 0 for device files

	// Of device files:
	process uint32 // number of the process that opened it
	of      *process
	space   *space
	program string // for display; see [CallerMemory]
}

// open answers OPEN. It runs in the receiving goroutine, so that an EXIT of the process is
// handled after it.
func (c *session) open(f *frame, files []int) {
	number, o, err := c.openFile(f, files)
	if err != nil {
		c.server.cfg.Log.Debug("a program cannot open the device", "user", c.from.uid, "error", err)
		c.send(&frame{kind: kindReply, call: f.call, errno: errnoOf(err)})
		return
	}
	own := -1 // a duplicate: sending may block, and Program calls its argument with a lock of the file held
	err = o.Program(func(fd int) (err error) {
		own, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		c.release(number)
		c.send(&frame{kind: kindReply, call: f.call, errno: errnoOf(err)})
		return
	}
	c.send(&frame{kind: kindReply, call: f.call, object: number}, own)
	_ = unix.Close(own) // cannot fail: it is open
}

func (c *session) openFile(f *frame, files []int) (number uint32, _ Object, err error) {
	service := c.device.Files[File(f.cmd)]
	if service == nil {
		closeAll(files)
		return 0, nil, fmt.Errorf("device file %d: %w", f.cmd, uapi.ENODEV)
	}
	quota := c.server.quota
	if err := quota.acquire(Contexts, c.from.uid, &c.counts); err != nil {
		closeAll(files)
		return 0, nil, err
	}
	c.mu.Lock()
	number = c.number()
	c.mu.Unlock()
	s, p, err := c.openSpace(f.process, files, func() {
		// Release the unit before the client is notified, because the client may then open another
		// device file.
		quota.release(Contexts, c.from.uid, &c.counts)
		c.forget(number)
	})
	if err != nil {
		quota.release(Contexts, c.from.uid, &c.counts)
		return 0, nil, err
	}
	o, err := service.Open(s)
	if err != nil {
		return 0, nil, errors.Join(err, s.Close())
	}
	c.mu.Lock()
	c.objects[number] = &object{value: o, opened: o, process: f.process, of: p, space: s, program: s.owner}
	c.mu.Unlock()
	return number, o, nil
}

// number returns a number that no object has. The caller holds mu.
func (c *session) number() uint32 {
	for {
		c.last = max(1, c.last+1)
		if _, used := c.objects[c.last]; !used {
			return c.last
		}
	}
}

// forget removes an ended object and everything installed on it, and notifies the client.
func (c *session) forget(number uint32) {
	c.mu.Lock()
	_, known := c.objects[number]
	delete(c.objects, number)
	var installed int
	for n, o := range c.objects {
		if o.owner == number {
			delete(c.objects, n)
			installed++
		}
	}
	ended := c.ended
	c.mu.Unlock()
	for range installed {
		c.server.quota.release(Installed, c.from.uid, &c.counts)
	}
	if known && !ended {
		c.send(&frame{kind: kindEnded, object: number})
	}
}
