package rings

import (
	"encoding/binary"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"unsafe"
)

// Offsets in struct rxe_queue_buf.
const (
	offLog2Elem  = 0
	offIndexMask = 4
	offProducer  = 128
	offConsumer  = 256
	headerSize   = 384 // offset of the first slot
)

// bufferAlign is the necessary alignment of a buffer in bytes, because its slots have 64-bit
// fields.
const bufferAlign = 8

// memory is the buffer of a ring. Every access to it has this form:
//
//	if m.lost.Load() { return }
//	defer m.endAccess(debug.SetPanicOnFault(true))
type memory struct {
	geo      Geometry
	buf      []byte // length geo.size
	producer *atomic.Uint32
	consumer *atomic.Uint32
	lost     atomic.Bool // an access faulted
}

// format initializes buf as a ring of layout g: it writes the header and sets both indexes to 0. It
// ignores bytes of buf beyond g.Size. The program must not see buf yet. g must not be the zero
// value; callers exclude it, because its elements are too small for any ring.
func (m *memory) format(g Geometry, buf []byte) error {
	switch {
	case len(buf) < g.size:
		return fmt.Errorf("rings: buffer of %d bytes, the ring needs %d", len(buf), g.size)
	case uintptr(unsafe.Pointer(&buf[0]))%bufferAlign != 0:
		return fmt.Errorf("rings: the buffer does not begin at a multiple of %d bytes", bufferAlign)
	}
	m.geo, m.buf = g, buf[:g.size:g.size]
	m.producer = (*atomic.Uint32)(unsafe.Pointer(&m.buf[offProducer]))
	m.consumer = (*atomic.Uint32)(unsafe.Pointer(&m.buf[offConsumer]))
	m.lost.Store(false)
	m.writeHeader()
	if m.lost.Load() {
		return errLost
	}
	return nil
}

func (m *memory) writeHeader() {
	defer m.endAccess(debug.SetPanicOnFault(true))
	binary.NativeEndian.PutUint32(m.buf[offLog2Elem:], uint32(m.geo.log2Elem))
	binary.NativeEndian.PutUint32(m.buf[offIndexMask:], m.geo.mask())
	m.producer.Store(0)
	m.consumer.Store(0)
}

// errLost is the error of methods on a ring whose buffer has faulted.
var errLost = fmt.Errorf("rings: the buffer of the ring is no longer backed by memory")

// slot returns the bytes of slot i, which must be at most the mask.
func (m *memory) slot(i uint32) []byte {
	from := headerSize + int(i)<<m.geo.log2Elem
	to := from + m.geo.ElemSize()
	return m.buf[from:to:to]
}

// distance returns the number of slots in [from, to). Both indexes must be at most the mask.
func (m *memory) distance(from, to uint32) int { return int((to - from) & m.geo.mask()) }

// advance returns the index n slots after i.
func (m *memory) advance(i uint32, n int) uint32 { return (i + uint32(n)) & m.geo.mask() }

// endAccess ends an access. It must be deferred directly, because it recovers: after a fault inside
// the buffer the ring is lost. It re-panics any other panic. old is the result of
// debug.SetPanicOnFault.
func (m *memory) endAccess(old bool) {
	debug.SetPanicOnFault(old)
	if r := recover(); r != nil {
		if !m.faulted(r) {
			panic(r)
		}
		m.lost.Store(true)
	}
}

// faulted reports whether r is the panic of a fault inside the buffer.
func (m *memory) faulted(r any) bool {
	f, ok := r.(interface{ Addr() uintptr })
	return ok && f.Addr()-uintptr(unsafe.Pointer(&m.buf[0])) < uintptr(len(m.buf))
}
