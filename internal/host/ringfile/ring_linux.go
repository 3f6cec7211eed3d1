package ringfile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// A Ring is a part of a file that both processes map.
type Ring struct {
	Offset uint64 // offset in the file, for the program's mmap; a multiple of the page size
	Bytes  []byte // mapping in this process; the program may change it or remove its memory at any time
	file   *File
}

// Map makes a ring of at least size bytes, all zero. The error is [ErrTooLarge], or ENOSPC if the
// file system is full.
func (f *File) Map(size int) (*Ring, error) {
	if size < 1 || size > maxRing {
		return nil, fmt.Errorf("%w: a ring of %d bytes, the limit is %d", ErrTooLarge, size, maxRing)
	}
	size = (size + f.page - 1) / f.page * f.page
	offset, err := f.reserve(size)
	if err != nil {
		return nil, err
	}
	// Allocate the memory now: if it were missing when it is accessed, SIGBUS would end the
	// process.
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

// allocatedAtOnce is the number of bytes that allocate requests in one call. tmpfs clears them in
// a fraction of a millisecond; a profiler sends a signal every 10 ms.
const allocatedAtOnce = 1 << 20

// allocate allocates memory for a part of a file on tmpfs. Before Linux 6.9 any signal to the
// thread ends fallocate with EINTR and frees what that call has allocated (shmem_fallocate,
// mm/shmem.c), so one call for a large ring might never succeed.
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

// reserve returns the file offset of size bytes that no ring uses.
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

// release returns the size bytes at offset to f.free and frees their memory.
func (f *File) release(offset int64, size int) {
	// If this fails, the memory stays allocated until the file is closed.
	_ = unix.Fallocate(int(f.own.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, int64(size))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used -= int64(size)
	f.free[size] = append(f.free[size], offset)
}

// Close unmaps and frees the ring. Its bytes must not be accessed any more.
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
