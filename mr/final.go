package mr

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// FinalBytes is the number of bytes at the end of a message that become visible after all
// others: programs poll a flag or a counter of up to this size.
const FinalBytes = 8

// WriteFinal writes the end of a message. It is [Region.Write], except that the last bytes, up
// to [FinalBytes], become visible to a poller after all others. They become visible in
// ascending order of the aligned 8-byte words that contain them, each word at once.
//
// If only a part of a word is written, a compare-and-swap preserves the other bytes: no
// concurrent store is lost, but the race detector sees an access to the whole word. If such a
// word crosses the edge of the region, WriteFinal uses the aligned 4-byte word instead, or
// plain stores of single bytes if that crosses the edge too.
//
// Memory that is neither addressable nor [AtomicMemory] is written in two calls, the last bytes in
// the second.
func (r *Region) WriteFinal(addr uint64, src []byte) error {
	n := uint64(len(src))
	if f := r.checkRange(addr, n); f != OK {
		return r.accessError("write", f, addr, n)
	}
	if n == 0 {
		return nil
	}
	off, body := addr-r.iova, n-min(n, FinalBytes)
	if r.atomicMem != nil {
		return r.atomicMem.WriteFinalAt(src, r.memOffset(addr))
	}
	if !r.addressable {
		off = r.memOffset(addr)
		if body > 0 {
			if err := r.mem.WriteAt(src[:body], off); err != nil {
				return err
			}
		}
		return r.mem.WriteAt(src[body:], off+body)
	}
	copy(r.bytes[off:], src[:body])
	storeOrdered(r.bytes, off+body, src[body:])
	return nil
}

// LoadByte reads the byte at addr so that a goroutine may poll for data that WriteFinal writes
// concurrently: once LoadByte returns a byte that WriteFinal stored in the last word, the goroutine
// may read the whole message with plain loads. It returns 0 if addr is out of bounds, the region is
// no longer valid, or the memory cannot be read.
//
// LoadByte loads the aligned word of 8 bytes that contains the byte. WriteFinal stores the last
// FinalBytes bytes of a message with atomic operations on such words, and all earlier bytes, as
// Write does, with a plain copy. So a poller has no data race if the word of the polled byte gets
// only last bytes while it polls. If earlier bytes of a message fall into the word, such as the
// begin of the next message in a ring of unaligned messages, the result is still a byte that the
// memory had, but it orders no other access, and the race detector reports a race.
//
// If the aligned word crosses the edge of the region, the aligned word of 4 bytes takes its place.
// Bytes that neither word inside the region contains are loaded plainly. There are up to three of
// them at each end of a region that does not start or end at a multiple of 4.
func (r *Region) LoadByte(addr uint64) byte {
	if r.checkRange(addr, 1) != OK {
		return 0
	}
	off := addr - r.iova
	if r.atomicMem != nil {
		if b, err := r.atomicMem.LoadByteAt(r.memOffset(addr)); err == nil {
			return b
		}
		return 0
	}
	if !r.addressable {
		var b [1]byte
		if r.mem.ReadAt(b[:], r.memOffset(addr)) != nil {
			return 0
		}
		return b[0]
	}
	return loadByte(r.bytes, off)
}

// LoadUint64 reads the 8 bytes at addr in host byte order, as LoadByte does. It reads the value
// at once if it is 8-byte aligned in memory; otherwise it reads the bytes from the last to the
// first, so those that WriteFinal makes visible last are read first. Then two words must get only
// last bytes, and a message longer than FinalBytes has earlier bytes in the first one.
func (r *Region) LoadUint64(addr uint64) uint64 {
	if r.checkRange(addr, 8) != OK {
		return 0
	}
	off := addr - r.iova
	if r.atomicMem != nil {
		if v, err := r.atomicMem.LoadUint64At(r.memOffset(addr)); err == nil {
			return v
		}
		return 0
	}
	if !r.addressable {
		var b [8]byte
		if r.mem.ReadAt(b[:], r.memOffset(addr)) != nil {
			return 0
		}
		return binary.NativeEndian.Uint64(b[:])
	}
	if address(r.bytes, off)%8 == 0 {
		return atomic.LoadUint64(word64(r.bytes, off))
	}
	var b [8]byte
	for i := 7; i >= 0; i-- {
		b[i] = loadByte(r.bytes, off+uint64(i))
	}
	return binary.NativeEndian.Uint64(b[:])
}

// storeOrdered stores src at b[off:], word by word in ascending order.
func storeOrdered(b []byte, off uint64, src []byte) {
	for len(src) > 0 {
		start, width := wordAt(b, off)
		skip := off - start
		n := min(width-skip, uint64(len(src)))
		switch width {
		case 8:
			merge64(word64(b, start), skip, src[:n])
		case 4:
			merge32(word32(b, start), skip, src[:n])
		default:
			b[off] = src[0]
		}
		off += n
		src = src[n:]
	}
}

// loadByte returns b[off]. It loads the same word that storeOrdered stores.
func loadByte(b []byte, off uint64) byte {
	start, width := wordAt(b, off)
	var w [8]byte
	switch width {
	case 8:
		binary.NativeEndian.PutUint64(w[:], atomic.LoadUint64(word64(b, start)))
	case 4:
		binary.NativeEndian.PutUint32(w[:], atomic.LoadUint32(word32(b, start)))
	default:
		return b[off]
	}
	return w[off-start]
}

// wordAt returns offset and width of the widest aligned word inside b that contains b[off]: width
// is 8 or 4, or 1 if there is no such word. Store and load must choose the same word, because the
// race detector synchronizes goroutines by the address of the word they share.
func wordAt(b []byte, off uint64) (start, width uint64) {
	for width = 8; width >= 4; width /= 2 {
		skip := uint64(address(b, off)) % width
		if skip <= off && width-skip <= uint64(len(b))-off {
			return off - skip, width
		}
	}
	return off, 1
}

// merge64 stores src in w after the first skip bytes. The other bytes of w keep their values.
func merge64(w *uint64, skip uint64, src []byte) {
	var b [8]byte
	if len(src) == 8 {
		atomic.StoreUint64(w, binary.NativeEndian.Uint64(src))
		return
	}
	for {
		old := atomic.LoadUint64(w)
		binary.NativeEndian.PutUint64(b[:], old)
		copy(b[skip:], src)
		if atomic.CompareAndSwapUint64(w, old, binary.NativeEndian.Uint64(b[:])) {
			return
		}
	}
}

// merge32 is merge64 for a word of 4 bytes.
func merge32(w *uint32, skip uint64, src []byte) {
	var b [4]byte
	for {
		old := atomic.LoadUint32(w)
		binary.NativeEndian.PutUint32(b[:], old)
		copy(b[skip:], src)
		if atomic.CompareAndSwapUint32(w, old, binary.NativeEndian.Uint32(b[:])) {
			return
		}
	}
}

// address returns the address of b[off].
func address(b []byte, off uint64) uintptr { return uintptr(unsafe.Pointer(&b[off])) }

func word64(b []byte, off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&b[off : off+8][0])) }

func word32(b []byte, off uint64) *uint32 { return (*uint32)(unsafe.Pointer(&b[off : off+4][0])) }
