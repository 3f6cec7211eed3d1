package rings

import (
	"fmt"
	"runtime/debug"
)

// NewBuffer returns a buffer for a ring of layout g that replaces another ring: at least g.Size
// bytes that are not visible to the program yet. It is called with the locks of the ring held,
// so a caller that must map memory does it earlier and only returns the buffer here.
type NewBuffer func(g Geometry) ([]byte, error)

// moveTo moves m to a new buffer of layout g. It copies the n elements from index from on to the
// first slots and sets the indexes accordingly. After an error nothing has changed. provide returns
// the new buffer. The program uses the old buffer until the caller reports the new one; librxe does
// not post or poll meanwhile.
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

// copyTo copies n elements from index from on to the first slots of to, and stores the producer
// index of to.
func (m *memory) copyTo(to *memory, from uint32, n int) {
	defer m.endAccess(debug.SetPanicOnFault(true))
	defer to.endAccess(true)
	for i := range n {
		copy(to.slot(uint32(i)), m.slot(m.advance(from, i)))
	}
	to.producer.Store(uint32(n))
}
