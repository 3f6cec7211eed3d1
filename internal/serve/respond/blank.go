package respond

import (
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/mr"
)

// chunk is the unit in which memory is made blank, and compared, in bytes. It is much less than a
// piece of [touched], because the first packet in a chunk waits for the whole chunk.
const chunk = 32 << 10

// blankMemory is the memory of a session whose payload is checked. It reads as the complement of
// the payload until it is written, but the complement is stored in a chunk only before the first
// write to it: a client that only connects costs neither pages nor the time to fill them.
//
// It implements [mr.Memory] but not [mr.AtomicMemory], which requires that words are stored at once
// for programs that read them: no program reads this memory, and when payload is checked, atomics
// are rejected.
//
// Shards call ReadAt and WriteAt concurrently, each under its own lock. WriteAt acquires mu after
// that lock, only for the first write to a chunk, and the lock of [shares] after mu. ReadAt
// acquires none.
type blankMemory struct {
	mem   mr.Memory
	blank []byte // complement of the payload, at least a chunk

	mu sync.Mutex // held while a chunk is filled
	// filled reports for each chunk whether mem contains it. It is set under mu, after the
	// complement is stored, and loaded without mu: a write that sees it set cannot be overwritten
	// by the complement.
	filled []atomic.Bool
}

var _ mr.Memory = (*blankMemory)(nil)

// newBlankMemory returns memory that stores in mem, to which nothing has been written yet. Until it
// is written, it reads as the complement of the payload.
func newBlankMemory(mem mr.Memory, blank []byte) *blankMemory {
	return &blankMemory{mem: mem, blank: blank, filled: make([]atomic.Bool, (mem.Size()+chunk-1)/chunk)}
}

// Size implements [mr.Memory], as do ReadAt and WriteAt.
func (b *blankMemory) Size() uint64 { return b.mem.Size() }

// outside reports whether n bytes at off are not all inside the memory. mem rejects such a range.
func (b *blankMemory) outside(off, n uint64) bool {
	size := b.mem.Size()
	return off >= size || n > size-off
}

// ReadAt fills p with the bytes at off. It fills no chunk.
func (b *blankMemory) ReadAt(p []byte, off uint64) error {
	if b.outside(off, uint64(len(p))) {
		return b.mem.ReadAt(p, off)
	}
	for len(p) > 0 {
		at := off % chunk
		n := min(uint64(len(p)), chunk-at)
		if !b.filled[off/chunk].Load() {
			copy(p[:n], b.blank[at:])
		} else if err := b.mem.ReadAt(p[:n], off); err != nil {
			return err
		}
		p, off = p[n:], off+n
	}
	return nil
}

// WriteAt stores p at off. Before the first write to a chunk it stores the complement.
func (b *blankMemory) WriteAt(p []byte, off uint64) error {
	n := uint64(len(p))
	if n > 0 && !b.outside(off, n) {
		for i := off / chunk; i <= (off+n-1)/chunk; i++ {
			if b.filled[i].Load() {
				continue
			}
			if err := b.fill(i); err != nil {
				return err
			}
		}
	}
	return b.mem.WriteAt(p, off)
}

// fill stores the complement in chunk i, unless another shard has done so.
func (b *blankMemory) fill(i uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.filled[i].Load() {
		return nil
	}
	off, n := b.place(i)
	if err := b.mem.WriteAt(b.blank[:n], off); err != nil {
		return err
	}
	b.filled[i].Store(true)
	return nil
}

// place returns the offset and the length of chunk i. The last chunk may be shorter than the
// others.
func (b *blankMemory) place(i uint64) (off, n uint64) {
	off = i * chunk
	return off, min(chunk, b.mem.Size()-off)
}

// eachFilled calls f with the offset and length of each chunk that was written, until an error.
func (b *blankMemory) eachFilled(f func(off, n uint64) error) error {
	for i := range b.filled {
		if !b.filled[i].Load() {
			continue
		}
		if err := f(b.place(uint64(i))); err != nil {
			return err
		}
	}
	return nil
}
