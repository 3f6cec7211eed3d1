package mr_test

import "fmt"

// remote is memory that is accessed by offset only, such as that of another process. It records
// the writes.
type remote struct {
	b      []byte
	writes []span
	broken error
}

type span struct{ off, n uint64 }

func (m *remote) Size() uint64 { return uint64(len(m.b)) }

func (m *remote) ReadAt(p []byte, off uint64) error {
	if m.broken != nil {
		return m.broken
	}
	if off+uint64(len(p)) > uint64(len(m.b)) {
		return fmt.Errorf("read of %d bytes at %d in %d", len(p), off, len(m.b))
	}
	copy(p, m.b[off:])
	return nil
}

func (m *remote) WriteAt(p []byte, off uint64) error {
	if m.broken != nil {
		return m.broken
	}
	if off+uint64(len(p)) > uint64(len(m.b)) {
		return fmt.Errorf("write of %d bytes at %d in %d", len(p), off, len(m.b))
	}
	m.writes = append(m.writes, span{off, uint64(len(p))})
	copy(m.b[off:], p)
	return nil
}
