package broker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/gorxe/gorxe/internal/host/procmem"
	"github.com/gorxe/gorxe/mr"
	"golang.org/x/sys/unix"
)

// memory is the address space of a program. Its contexts share it, because atomics are atomic within one
// [procmem.AddressSpace] only. It ends with the last user.
type memory struct {
	owner   string
	regions *procmem.AddressSpace
	mem     *os.File // for arguments and results of calls
	ended   func()   // called once, at the end

	mu    sync.Mutex
	users int // guarded by mu
}

// newMemory returns the memory of a program with one user. It owns the program's files, also when it fails.
func newMemory(p *program, ended func()) (*memory, error) {
	fd, err := unix.FcntlInt(p.files.Mem.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, p.files.Close())
	}
	m := &memory{owner: fmt.Sprintf("%d %s", p.pid, p.name), mem: os.NewFile(uintptr(fd), "mem"), ended: ended, users: 1}
	if m.regions, err = procmem.New(p.pid, p.files); err != nil {
		return nil, errors.Join(err, m.mem.Close())
	}
	return m, nil
}

// alive reports whether the address space is there: the process has not ended and has not executed another program.
func (m *memory) alive() bool { return m.regions.State() == procmem.Alive }

// use counts one more user.
func (m *memory) use() {
	m.mu.Lock()
	m.users++
	m.mu.Unlock()
}

// release counts one user less. The last one closes the files; regions keep what they need.
func (m *memory) release() error {
	m.mu.Lock()
	m.users--
	last := m.users == 0
	m.mu.Unlock()
	if !last {
		return nil
	}
	m.ended()
	return errors.Join(m.mem.Close(), m.regions.Close())
}

// space is the use of a memory by one object.
type space struct {
	*memory
	close func() error // called once
	once  sync.Once
	err   error // of close
}

// Owner implements [Space].
func (s *space) Owner() string { return s.owner }

// Close implements [Space].
func (s *space) Close() error {
	s.once.Do(func() { s.err = s.close() })
	return s.err
}

// Read implements [Space].
func (m *memory) Read(p []byte, addr uint64) error {
	return whole(m.mem.ReadAt(p, int64(addr)))(len(p))
}

// Write implements [Space].
func (m *memory) Write(p []byte, addr uint64) error {
	return whole(m.mem.WriteAt(p, int64(addr)))(len(p))
}

// Register implements [Space].
func (m *memory) Register(addr, length uint64, access mr.Access) (mr.Memory, error) {
	return m.regions.Region(addr, length, access)
}

// whole is the error of a transfer that has to be complete.
func whole(n int, err error) func(int) error {
	return func(want int) error {
		switch {
		case n == want:
			return nil
		case err == nil || errors.Is(err, io.EOF):
			return fmt.Errorf("%d of %d bytes", n, want)
		}
		return err
	}
}
