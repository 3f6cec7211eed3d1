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

// WriteAt stores p at off. After an error a part of p may be stored.
func (m *Memory) WriteAt(p []byte, off uint64) (err error) {
	n := uint64(len(p))
	if err := m.enterWrite(off, n); err != nil {
		return err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, n, &err)
	return m.words.Write(off, p)
}

// WriteFinalAt stores p at off so that the last bytes of p become visible last; see
// [mr.Region.WriteFinal].
func (m *Memory) WriteFinalAt(p []byte, off uint64) (err error) {
	n := uint64(len(p))
	if err := m.enterWrite(off, n); err != nil {
		return err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, n, &err)
	return m.words.WriteFinal(off, p)
}

// CompareSwapAt stores swap at off if the value there is compare, and returns the previous value;
// see [mr.Region.CompareSwap].
func (m *Memory) CompareSwapAt(off, compare, swap uint64) (old uint64, err error) {
	if err := m.enterWrite(off, wordBytes); err != nil {
		return 0, err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, wordBytes, &err)
	return m.words.CompareSwap(off, compare, swap)
}

// FetchAddAt adds add to the value at off and returns the previous value; see
// [mr.Region.FetchAdd].
func (m *Memory) FetchAddAt(off, add uint64) (old uint64, err error) {
	if err := m.enterWrite(off, wordBytes); err != nil {
		return 0, err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, wordBytes, &err)
	return m.words.FetchAdd(off, add)
}

// StoreUint64At stores v at off atomically; see [mr.Region.WriteAtomic].
func (m *Memory) StoreUint64At(off, v uint64) (err error) {
	if err := m.enterWrite(off, wordBytes); err != nil {
		return err
	}
	defer m.leave(debug.SetPanicOnFault(true), off, wordBytes, &err)
	if off%wordBytes == 0 { // mappings are page-aligned, so the address is aligned too
		atomic.StoreUint64((*uint64)(unsafe.Add(m.start, off)), v)
		return nil
	}
	var b [wordBytes]byte
	binary.NativeEndian.PutUint64(b[:], v)
	return m.words.WriteAtomic(off, &b)
}

// LoadByteAt reads the byte at off while another goroutine may write it; see
// [mr.Region.LoadByte].
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

// Flush flushes n bytes at off. With persist, it writes the bytes of a file to its disk, as msync
// does. It does nothing for shared and anonymous memory, which do not survive a restart of the
// host. It also does nothing without persist, because writes are visible at once.
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
