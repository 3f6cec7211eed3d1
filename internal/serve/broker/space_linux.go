package broker

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/gorxe/gorxe/internal/host/procmem"
	"github.com/gorxe/gorxe/mr"
)

// process is the state of a process with open device files.
type process struct {
	users int // number of opens in progress and of objects; guarded by the session's mu
	// atomics makes RDMA atomics through all contexts of the process atomic with respect to each
	// other. It remains the same after execve: later contexts belong to another address space, to
	// which sharing the lock does no harm.
	atomics procmem.Atomics
}

// hold returns the process with the client's number and adds a user to it.
func (c *session) hold(number uint32) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[number]
	if p == nil {
		if err := c.server.quota.acquire(Processes, c.from.uid, &c.counts); err != nil {
			return nil, err
		}
		p = &process{}
		c.processes[number] = p
	}
	p.users++
	return p, nil
}

// leave removes a user that hold added; the process is removed with its last user.
func (c *session) leave(number uint32, p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.users--; p.users > 0 {
		return
	}
	if c.processes[number] == p { // EXIT may have removed it
		delete(c.processes, number)
	}
	c.server.quota.release(Processes, c.from.uid, &c.counts)
}

// space is the memory of one object: the address space that its process had when it opened the
// device file. Objects do not share a space, because it is unknown whether the address space is
// still that of an earlier open, which may survive in another process after execve (CLONE_VM).
type space struct {
	*procmem.AddressSpace
	owner string
	user  uint32
	of    *process
	close func() // called once, before the address space is closed
	once  sync.Once
	err   error // error of Close
}

// openSpace returns the memory that the descriptors of OPEN refer to, and the process with the
// client's number, to which it adds a user. ended is called when the memory is closed.
func (c *session) openSpace(number uint32, files []int, ended func()) (*space, *process, error) {
	verified, err := verify(files, c.from)
	if err != nil {
		return nil, nil, err
	}
	p, err := c.hold(number)
	if err != nil {
		return nil, nil, errors.Join(err, verified.files.Close())
	}
	s, err := procmem.NewWith(verified.pid, verified.files, &p.atomics)
	if err != nil {
		c.leave(number, p)
		return nil, nil, err
	}
	if c.from.uid == uint32(os.Geteuid()) {
		_ = s.AllowDirect(verified.pid) // if it fails, copies are slower
	}
	owner := fmt.Sprintf("%d %s", verified.pid, verified.name)
	return &space{AddressSpace: s, owner: owner, user: c.from.uid, of: p, close: func() {
		ended()
		c.leave(number, p)
	}}, p, nil
}

// Owner implements [CallerMemory].
func (s *space) Owner() string { return s.owner }

// Account implements [uverbs.Accounted].
func (s *space) Account() (program, user any) { return s.of, s.user }

// Close implements [CallerMemory].
func (s *space) Close() error {
	s.once.Do(func() {
		s.close()
		s.err = s.AddressSpace.Close()
	})
	return s.err
}

// Register implements [CallerMemory].
func (s *space) Register(addr, length uint64, access mr.Access) (mr.Memory, error) {
	return s.Region(addr, length, access)
}
