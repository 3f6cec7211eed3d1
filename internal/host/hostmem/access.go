package hostmem

import (
	"encoding/binary"
	"runtime/debug"
	"sync/atomic"
	"unsafe"
)

const wordBytes = 8

// ReadAt fills p with the bytes at off.
func (m *Memory) ReadAt(p []byte, off uint64) (err error) {
	n := uint64(len(p))
	if err := m.enter(off, n); err != nil {
		return err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, n, &err)
	return m.words.Read(p, off)
}

// WriteAt stores p at off. After an error some of it may be stored.
func (m *Memory) WriteAt(p []byte, off uint64) (err error) {
	n := uint64(len(p))
	if err := m.enterWrite(off, n); err != nil {
		return err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, n, &err)
	return m.words.Write(off, p)
}

// WriteFinalAt stores p at off, the last bytes last; see [mr.Region.WriteFinal].
func (m *Memory) WriteFinalAt(p []byte, off uint64) (err error) {
	n := uint64(len(p))
	if err := m.enterWrite(off, n); err != nil {
		return err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, n, &err)
	return m.words.WriteFinal(off, p)
}

// CompareSwapAt stores swap at off if compare is there, and returns what was there; see
// [mr.Region.CompareSwap].
func (m *Memory) CompareSwapAt(off, compare, swap uint64) (old uint64, err error) {
	if err := m.enterWrite(off, wordBytes); err != nil {
		return 0, err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, wordBytes, &err)
	return m.words.CompareSwap(off, compare, swap)
}

// FetchAddAt adds to the value at off and returns what was there; see [mr.Region.FetchAdd].
func (m *Memory) FetchAddAt(off, add uint64) (old uint64, err error) {
	if err := m.enterWrite(off, wordBytes); err != nil {
		return 0, err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, wordBytes, &err)
	return m.words.FetchAdd(off, add)
}

// StoreUint64At stores v at off in one piece; see [mr.Region.WriteAtomic].
func (m *Memory) StoreUint64At(off, v uint64) (err error) {
	if err := m.enterWrite(off, wordBytes); err != nil {
		return err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, wordBytes, &err)
	if off%wordBytes == 0 { // mappings begin at a page
		atomic.StoreUint64((*uint64)(unsafe.Add(m.start, off)), v)
		return nil
	}
	var b [wordBytes]byte
	binary.NativeEndian.PutUint64(b[:], v)
	return m.words.WriteAtomic(off, &b)
}

// LoadByteAt reads the byte at off, beside a writer; see [mr.Region.LoadByte].
func (m *Memory) LoadByteAt(off uint64) (b byte, err error) {
	if err := m.enter(off, 1); err != nil {
		return 0, err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, 1, &err)
	return m.words.LoadByte(off), nil
}

// LoadUint64At reads 8 bytes at off in the byte order of the host; see [mr.Region.LoadUint64].
func (m *Memory) LoadUint64At(off uint64) (v uint64, err error) {
	if err := m.enter(off, wordBytes); err != nil {
		return 0, err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, wordBytes, &err)
	return m.words.LoadUint64(off), nil
}

// Flush brings n bytes at off where they last: with persist a file is written to its disk, as
// by msync. What is written is visible to all without it. Shared and anonymous memory do not
// outlast the host, and nothing is done for them.
func (m *Memory) Flush(off, n uint64, persist bool) (err error) {
	if err := m.enter(off, n); err != nil {
		return err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, n, &err)
	if !persist || m.file == nil || n == 0 {
		return nil
	}
	return m.sync(off, n)
}
