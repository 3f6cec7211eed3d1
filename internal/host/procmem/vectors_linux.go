package procmem

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/mr"
)

// maxVectors is the maximum number of buffers, and of memory ranges, in one call: enough for 64
// messages, whatever the alignment of their last bytes.
const maxVectors = 64 * (1 + endPieces)

// endPieces is the maximum number of aligned pieces in which the last bytes of a message are
// stored.
const endPieces = 4

// vectors holds the arguments of a direct copy.
type vectors struct {
	local           [maxVectors]unix.Iovec
	remote          [maxVectors]unix.RemoteIovec
	locals, remotes int
	size            int // total length of the buffers in bytes
}

var vectorPool = sync.Pool{New: func() any { return new(vectors) }}

// start begins a new memory range at addr.
func (v *vectors) start(addr uint64) {
	v.remote[v.remotes] = unix.RemoteIovec{Base: uintptr(addr)}
	v.remotes++
}

// add appends the buffer p, which is copied from or to the next bytes of the current memory range.
func (v *vectors) add(p []byte) {
	if len(p) == 0 {
		return
	}
	v.local[v.locals].Base = &p[0]
	v.local[v.locals].SetLen(len(p))
	v.locals++
	v.remote[v.remotes-1].Len += len(p)
	v.size += len(p)
}

// places returns the number of memory ranges.
func (v *vectors) places() int { return v.remotes }

// take adds leading pieces, with offsets relative to base, and returns how many fit. Each aligned
// part of a final piece is a separate range.
func (v *vectors) take(pieces []mr.Piece, base uint64) (n int) {
	next, joins := uint64(0), false
	for ; n < len(pieces) && v.locals+endPieces <= maxVectors; n++ {
		p, addr := pieces[n].Data, base+pieces[n].Off
		if !pieces[n].Final {
			if !joins || addr != next {
				v.start(addr)
			}
			v.add(p)
			next, joins = addr+uint64(len(p)), true
			continue
		}
		for len(p) > 0 {
			k := alignedPiece(addr, len(p))
			v.start(addr)
			v.add(p[:k])
			p, addr = p[k:], addr+uint64(k)
		}
		joins = false
	}
	return n
}

// transfer copies in one system call and returns the number of bytes copied. denied reports that
// the kernel does not permit such copies.
func (v *vectors) transfer(pid int, write bool) (n int, denied bool) {
	var err error
	local, remote := v.local[:v.locals], v.remote[:v.remotes]
	if write {
		n, err = unix.ProcessVMWritev(pid, local, remote, 0)
	} else {
		n, err = unix.ProcessVMReadv(pid, local, remote, 0)
	}
	return max(n, 0), err == unix.EPERM || err == unix.ENOSYS
}

// putBack empties v, so that it keeps no buffer alive, and returns it to the pool.
func (v *vectors) putBack() {
	clear(v.local[:v.locals])
	v.locals, v.remotes, v.size = 0, 0, 0
	vectorPool.Put(v)
}
