package respond

import (
	"net/netip"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/host/hostmem"
	"github.com/gorxe/gorxe/mr"
)

// pieceSize is the unit in which a session's memory is counted, in bytes: the kernel may allocate
// a huge page for one byte.
const pieceSize = 2 << 20

// touched is the memory of a session. The kernel allocates a page when it is first written, so a
// piece counts as memory of the host from then on. A write to a piece that exceeds the host's
// share fails, and ends the session.
type touched struct {
	mem    *hostmem.Memory
	host   netip.Addr
	shares *shares
	beyond func(error) // called with the error of a piece that cannot be allocated
	pieces []atomic.Bool
	taken  atomic.Uint64 // bytes of the counted pieces
}

var _ mr.AtomicMemory = (*touched)(nil)

// newTouched returns size zero bytes for a session of host. No piece is counted yet.
func newTouched(size uint64, host netip.Addr, s *shares, beyond func(error)) (*touched, error) {
	mem, err := hostmem.Anonymous(size)
	if err != nil {
		return nil, err
	}
	return &touched{mem: mem, host: host, shares: s, beyond: beyond,
		pieces: make([]atomic.Bool, (size+pieceSize-1)/pieceSize)}, nil
}

// touch counts the pieces of n bytes at off. mem rejects ranges outside of it.
func (t *touched) touch(off, n uint64) error {
	size := t.mem.Size()
	if n == 0 || off >= size || n > size-off {
		return nil
	}
	for i := off / pieceSize; i <= (off+n-1)/pieceSize; i++ {
		if t.pieces[i].Load() {
			continue
		}
		if err := t.takePiece(i, min(pieceSize, size-i*pieceSize)); err != nil {
			t.beyond(err)
			return err
		}
	}
	return nil
}

// takePiece counts piece i, of n bytes, once: shards may touch it concurrently.
func (t *touched) takePiece(i, n uint64) error {
	if err := t.shares.acquire(t.host, n); err != nil {
		return err
	}
	if t.pieces[i].Swap(true) {
		t.shares.release(t.host, n)
		return nil
	}
	t.taken.Add(n)
	return nil
}

// Close releases the memory, which must not be used afterwards.
func (t *touched) Close() error {
	err := t.mem.Close()
	t.shares.release(t.host, t.taken.Swap(0))
	return err
}

// Size implements [mr.Memory], as do ReadAt and WriteAt.
func (t *touched) Size() uint64 { return t.mem.Size() }

// ReadAt fills p with the bytes at off. Reading allocates no pages.
func (t *touched) ReadAt(p []byte, off uint64) error { return t.mem.ReadAt(p, off) }

// WriteAt stores p at off.
func (t *touched) WriteAt(p []byte, off uint64) error {
	if err := t.touch(off, uint64(len(p))); err != nil {
		return err
	}
	return t.mem.WriteAt(p, off)
}

// WriteFinalAt implements [mr.AtomicMemory], as do the methods below.
func (t *touched) WriteFinalAt(p []byte, off uint64) error {
	if err := t.touch(off, uint64(len(p))); err != nil {
		return err
	}
	return t.mem.WriteFinalAt(p, off)
}

// wordBytes is the operand size of an atomic in bytes.
const wordBytes = 8

// CompareSwapAt stores swap at off if the value there equals compare.
func (t *touched) CompareSwapAt(off, compare, swap uint64) (uint64, error) {
	if err := t.touch(off, wordBytes); err != nil {
		return 0, err
	}
	return t.mem.CompareSwapAt(off, compare, swap)
}

// FetchAddAt adds add to the value at off.
func (t *touched) FetchAddAt(off, add uint64) (uint64, error) {
	if err := t.touch(off, wordBytes); err != nil {
		return 0, err
	}
	return t.mem.FetchAddAt(off, add)
}

// StoreUint64At stores v at off in a single access.
func (t *touched) StoreUint64At(off, v uint64) error {
	if err := t.touch(off, wordBytes); err != nil {
		return err
	}
	return t.mem.StoreUint64At(off, v)
}

// LoadByteAt reads the byte at off, concurrently with a writer.
func (t *touched) LoadByteAt(off uint64) (byte, error) { return t.mem.LoadByteAt(off) }

// LoadUint64At reads 8 bytes at off in the byte order of the host.
func (t *touched) LoadUint64At(off uint64) (uint64, error) { return t.mem.LoadUint64At(off) }
