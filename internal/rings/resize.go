package rings

import (
	"fmt"
	"runtime/debug"
)

// NewBuffer returns the buffer for a ring of shape g that takes the place of another: at least
// g.Size bytes that the program does not see yet. It is called with the locks that guard the ring,
// so a caller that must map memory does so before, and only hands the buffer out here.
type NewBuffer func(g Geometry) ([]byte, error)

// moveTo moves m to a new buffer of shape g. The n elements from index from on are copied to its
// first slots, and the indices are those of n filled slots from slot 0 on. Nothing is changed after
// an error. The program uses the old buffer until it learns of the new one; librxe does not post or
// poll meanwhile.
func (m *memory) moveTo(g Geometry, provide NewBuffer, from uint32, n int) error {
	switch {
	case m.lost.Load():
		return errLost
	case provide == nil:
		return fmt.Errorf("rings: resize: the ring was made without NewBuffer, so its depth cannot change")
	case n > g.Depth():
		return fmt.Errorf("rings: resize: a ring for %d elements is too small for the %d it has", g.Depth(), n)
	}
	buf, err := provide(g)
	if err != nil {
		return fmt.Errorf("rings: resize: %w", err)
	}
	var moved memory
	if err := moved.format(g, buf); err != nil {
		return err
	}
	m.copyTo(&moved, from, n)
	if m.lost.Load() || moved.lost.Load() {
		return errLost
	}
	m.geo, m.buf, m.producer, m.consumer = moved.geo, moved.buf, moved.producer, moved.consumer
	return nil
}

// copyTo copies n elements from index from on to the first slots of to, and stores its producer
// index.
func (m *memory) copyTo(to *memory, from uint32, n int) {
	defer m.leave(debug.SetPanicOnFault(true))
	defer to.leave(true)
	for i := range n {
		copy(to.slot(uint32(i)), m.slot(m.advance(from, i)))
	}
	to.producer.Store(uint32(n))
}
