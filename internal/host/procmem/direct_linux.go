package procmem

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/mr"
)

// ownerOf returns the user ID of the owner of a file, -1 with an error.
func ownerOf(f *os.File) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return -1, err
	}
	return int(st.Uid), nil
}

// directFrom is the length in bytes from which a direct copy is faster.
const directFrom = 4 << 10

// directRuns is the number of separate memory ranges from which a direct copy is faster: it takes
// two system calls for all ranges together, other copies take one for each range.
const directRuns = 4

// one copies p from or to the memory at addr and reports whether all of p was copied. If not, a
// part may have been copied.
func (d *direct) one(write bool, p []byte, addr uint64) bool {
	if len(p) < directFrom || !d.begin() {
		return false
	}
	defer d.mu.RUnlock()
	v := vectorPool.Get().(*vectors)
	defer v.putBack()
	v.start(addr)
	v.add(p)
	return d.copy(write, v) == len(p)
}

// write stores pieces in order, with offsets relative to base, up to the number that fits in one
// system call. It returns the number of stored pieces, 0 if a direct copy is not possible or not
// faster. A part of the next piece may also be stored. The kernel copies the ranges in order: see
// "Order and atomicity" in the package comment.
func (d *direct) write(pieces []mr.Piece, base uint64) (stored int) {
	if len(pieces) < directRuns && sizeOf(pieces) < directFrom || !d.begin() {
		return 0
	}
	defer d.mu.RUnlock()
	v := vectorPool.Get().(*vectors)
	defer v.putBack()
	n := v.take(pieces, base)
	if v.places() < directRuns && v.size < directFrom {
		return 0
	}
	copied := d.copy(true, v)
	for stored < n && copied >= len(pieces[stored].Data) {
		copied -= len(pieces[stored].Data)
		stored++
	}
	return stored
}

func sizeOf(pieces []mr.Piece) (n int) {
	for i := range pieces {
		n += len(pieces[i].Data)
	}
	return n
}

// begin begins a copy, unless direct copies are not allowed or EndDirect waits. After success the
// caller must unlock d.mu for reading.
func (d *direct) begin() bool {
	if d.refused.Load() || !d.mu.TryRLock() {
		return false
	}
	if d.pid == 0 {
		d.mu.RUnlock()
		return false
	}
	return true
}

// copy copies between the buffers and the memory ranges of v, and returns the number of bytes
// copied, from the start of v on. The caller holds d.mu for reading.
//
// A process that has not ended keeps its PID. copy checks whether the process has ended: after a
// read, because it can discard the result, but before a write, which it cannot undo.
func (d *direct) copy(write bool, v *vectors) int {
	if write && ended(d.pidfd) {
		return 0
	}
	n, denied := v.transfer(d.pid, write)
	if denied {
		d.refused.Store(true)
	}
	if !write && ended(d.pidfd) {
		return 0
	}
	return n
}
