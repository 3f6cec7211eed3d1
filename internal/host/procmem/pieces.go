package procmem

import (
	"sync"

	"github.com/gorxe/gorxe/mr"
)

// stageSize is the size of a staging buffer in bytes: the maximum that the transport stores in one
// call.
const stageSize = 64 << 10

// stages are the staging buffers. pwritev needs none, but on /proc/PID/mem the kernel repeats the
// preparation of a call for each piece: 64 KiB in pieces of 1 KiB take 52 µs with pwritev and 11
// µs copied together, in pieces of 4 KiB 14 µs and 11 µs (Linux 6.18).
var stages = sync.Pool{New: func() any { return new([stageSize]byte) }}

// writePieces stores the pieces in order, with offsets relative to base, and returns the number of
// stored pieces.
func (s *AddressSpace) writePieces(pieces []mr.Piece, base uint64) (stored int, err error) {
	for direct := true; stored < len(pieces); {
		rest := pieces[stored:]
		if direct {
			if n := s.direct.write(rest, base); n > 0 {
				stored += n
				continue
			}
			direct = false // if direct cannot store a piece, writeRun may
		}
		n, err := s.writeRun(rest, base)
		stored += n
		if err != nil {
			return stored, err
		}
	}
	return stored, nil
}

// writeRun stores the first piece and the next pieces that the same system call can store, with
// offsets relative to base. It returns the number of stored pieces.
func (s *AddressSpace) writeRun(pieces []mr.Piece, base uint64) (stored int, err error) {
	first, at := &pieces[0], base+pieces[0].Off
	if first.Final {
		if err := s.writeWords(opWrite, first.Data, at); err != nil {
			return 0, err
		}
		return 1, nil
	}
	n, size := run(pieces, stageSize)
	data := first.Data
	if n > 1 {
		stage := stages.Get().(*[stageSize]byte)
		defer stages.Put(stage)
		data = stage[:0]
		for i := range pieces[:n] {
			data = append(data, pieces[i].Data...)
		}
	}
	err = s.move(opWrite, true, data, at)
	if err == nil {
		return n, nil
	}
	e := err.(*Error)
	for i := range pieces[:n] {
		if e.At < base+pieces[i].Off+uint64(len(pieces[i].Data)) {
			break
		}
		stored++
	}
	e.Length = size
	return stored, err
}

// run returns the number of leading pieces that writeRun can store together, and their total size
// in bytes: one piece, or several that are contiguous in memory, not final, and at most limit bytes
// in total.
func run(pieces []mr.Piece, limit uint64) (n int, size uint64) {
	for n < len(pieces) {
		p := &pieces[n]
		more := uint64(len(p.Data))
		if n > 0 && (p.Final || p.Off != pieces[0].Off+size || size+more > limit) {
			break
		}
		size += more
		n++
	}
	return n, size
}
