package broker

import (
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/host/procmem"
	"github.com/gorxe/gorxe/mr"
)

// memory is the address space of a program. Its contexts share it, because atomics are atomic within one
// [procmem.AddressSpace] only. It ends with the last user.
type memory struct {
	*procmem.AddressSpace
	owner string
	ended func() // called once, at the end

	mu    sync.Mutex
	users int // guarded by mu
}

// newMemory returns the memory of a program with one user. It owns the program's files, also when it fails.
func newMemory(p *program, ended func()) (*memory, error) {
	s, err := procmem.New(p.pid, p.files)
	if err != nil {
		return nil, err
	}
	return &memory{AddressSpace: s, owner: fmt.Sprintf("%d %s", p.pid, p.name), ended: ended, users: 1}, nil
}

// alive reports whether the address space is there: the process has not ended and has not executed another program.
func (m *memory) alive() bool { return m.State() == procmem.Alive }

// use counts one more user.
func (m *memory) use() {
	m.mu.Lock()
	m.users++
	m.mu.Unlock()
}

// release counts one user less. The last one closes it; regions keep what they need.
func (m *memory) release() error {
	m.mu.Lock()
	m.users--
	last := m.users == 0
	m.mu.Unlock()
	if !last {
		return nil
	}
	m.ended()
	return m.AddressSpace.Close()
}

// space is the use of a memory by one object.
type space struct {
	*memory
	user  uint32
	close func() error // called once
	once  sync.Once
	err   error // of close
}

// Owner implements [Space].
func (s *space) Owner() string { return s.owner }

// Account implements [uverbs.Accounted].
func (s *space) Account() (program, user any) { return s.memory, s.user }

// Close implements [Space].
func (s *space) Close() error {
	s.once.Do(func() { s.err = s.close() })
	return s.err
}

// Register implements [Space].
func (m *memory) Register(addr, length uint64, access mr.Access) (mr.Memory, error) {
	return m.Region(addr, length, access)
}
