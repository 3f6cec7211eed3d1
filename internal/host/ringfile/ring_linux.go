package ringfile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// A Ring is a part of a file that both sides map.
type Ring struct {
	Offset uint64 // of the part in the file, for the program's mmap; a multiple of the page size
	Bytes  []byte // the part, in this process; the program may change it at any time, or take it away
	file   *File
}

// Map makes a ring of at least size bytes, all zero. The error is [ErrTooLarge], or ENOSPC if the file system is full.
func (f *File) Map(size int) (*Ring, error) {
	if size < 1 || size > maxRing {
		return nil, fmt.Errorf("%w: a ring of %d bytes, the limit is %d", ErrTooLarge, size, maxRing)
	}
	size = (size + f.page - 1) / f.page * f.page
	offset, err := f.reserve(size)
	if err != nil {
		return nil, err
	}
	// Memory that is not there when it is touched ends a process, so it is allocated now.
	err = allocate(int(f.own.Fd()), offset, int64(size))
	var b []byte
	if err == nil {
		b, err = unix.Mmap(int(f.own.Fd()), offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		f.release(offset, size)
		return nil, fmt.Errorf("ringfile: memory for a ring of %d bytes: %w", size, err)
	}
	f.mu.Lock()
	f.backed += int64(size)
	f.mu.Unlock()
	return &Ring{Offset: uint64(offset), Bytes: b, file: f}, nil
}

// allocatedAtOnce is how many bytes allocate asks for in one call. tmpfs clears them in a
// fraction of a millisecond; a profiler sends a signal every ten.
const allocatedAtOnce = 1 << 20

// allocate gives a part of a file on tmpfs its memory. Before Linux 6.9 any signal to the thread
// ends fallocate with EINTR and frees what that call has allocated (shmem_fallocate, mm/shmem.c):
// one call for a large ring might never succeed.
func allocate(fd int, offset, size int64) error {
	for size > 0 {
		n := min(size, allocatedAtOnce)
		switch err := unix.Fallocate(fd, 0, offset, n); err {
		case nil:
			offset, size = offset+n, size-n
		case unix.EINTR:
		default:
			return err
		}
	}
	return nil
}

// reserve returns the offset of a part that no ring has.
func (f *File) reserve(size int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.used+int64(size) > maxRings {
		return 0, fmt.Errorf("%w: %d bytes are in use, the limit is %d", ErrTooLarge, f.used, int64(maxRings))
	}
	f.used += int64(size)
	if parts := f.free[size]; len(parts) > 0 {
		f.free[size] = parts[:len(parts)-1]
		return parts[len(parts)-1], nil
	}
	offset := f.end
	f.end += int64(size)
	return offset, nil
}

// release gives a part and its memory back.
func (f *File) release(offset int64, size int) {
	// If this fails, the memory stays until the file is closed.
	_ = unix.Fallocate(int(f.own.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, int64(size))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used -= int64(size)
	f.free[size] = append(f.free[size], offset)
}

// Close ends the ring. Nothing may use its bytes any more.
func (r *Ring) Close() error {
	size := len(r.Bytes)
	err := unix.Munmap(r.Bytes)
	r.Bytes = nil
	r.file.mu.Lock()
	r.file.backed -= int64(size)
	r.file.mu.Unlock()
	r.file.release(int64(r.Offset), size)
	return err
}
