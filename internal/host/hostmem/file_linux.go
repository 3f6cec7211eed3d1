package hostmem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// File maps a regular file. It refuses a path whose last element is a symbolic link, because any
// user with write access to the directory could redirect the link to another file.
func File(path string, o FileOptions) (*Memory, error) {
	if err := o.validate(path); err != nil {
		return nil, err
	}
	f, err := o.open(path)
	if err != nil {
		return nil, fmt.Errorf("hostmem: %w", err)
	}
	m, err := mapFile(path, f, o)
	if err != nil {
		f.Close()
		return nil, err
	}
	return m, nil
}

// Shared maps POSIX shared memory: the object that shm_open opens for the same name. As with
// shm_open, an object that Shared creates persists until the host restarts or the object is
// removed.
func Shared(name string, o FileOptions) (*Memory, error) {
	path, err := sharedPath(name)
	if err != nil {
		return nil, err
	}
	return File(path, o)
}

const defaultMode fs.FileMode = 0o600

// openFlags prevent side effects of opening a file that is not regular.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY

// open opens the file, and creates it if it does not exist and o.Create is set.
func (o *FileOptions) open(path string) (*os.File, error) {
	flags := openFlags | os.O_RDWR
	if o.ReadOnly {
		flags = openFlags | os.O_RDONLY
	}
	for range 10 {
		f, err := os.OpenFile(path, flags, 0)
		if errors.Is(err, unix.ELOOP) {
			return nil, fmt.Errorf("%s is a symbolic link; name the file that it leads to", path)
		}
		if err == nil || !o.Create || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		f, err = o.create(path)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s is created and removed repeatedly", path)
}

// create creates the file with o.Size bytes. If that fails, it removes the file.
func (o *FileOptions) create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, openFlags|os.O_RDWR|os.O_CREATE|os.O_EXCL, defaultMode)
	if err != nil {
		return nil, err
	}
	if err := o.fill(f); err != nil {
		os.Remove(path)
		f.Close()
		return nil, fmt.Errorf("making %s of %d bytes: %w", path, o.Size, err)
	}
	return f, nil
}

// fill sets the size and mode of a new file and syncs the file and its directory entry to disk,
// so a later flush writes content only.
func (o *FileOptions) fill(f *os.File) error {
	if o.Size > maxFile {
		return unix.EFBIG
	}
	err := unix.Fallocate(int(f.Fd()), 0, 0, int64(o.Size))
	for err == unix.EINTR {
		err = unix.Fallocate(int(f.Fd()), 0, 0, int64(o.Size))
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = f.Truncate(int64(o.Size))
	}
	if err != nil {
		return err
	}
	mode := o.Mode
	if mode == 0 {
		mode = defaultMode
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.Name()))
}

// maxFile is the largest possible size of a file in bytes (loff_t).
const maxFile = 1<<63 - 1

func syncDir(path string) error {
	d, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil // the directory may be writable without being readable
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// mapFile checks the opened file and maps it.
func mapFile(path string, f *os.File, o FileOptions) (*Memory, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("hostmem: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("hostmem: %s is not a regular file (%s)", path, info.Mode())
	}
	size, want := uint64(info.Size()), o.Size
	switch {
	case size == 0:
		return nil, fmt.Errorf("hostmem: %s is empty; give it a size (truncate -s) first", path)
	case want == 0:
		want = size
	case want > size:
		return nil, fmt.Errorf(
			"hostmem: %s has %d bytes, %d are asked for; ask for less or make it longer (truncate -s) first",
			path, size, want)
	}
	if err := checkMappable(path, want); err != nil {
		return nil, err
	}
	prot := unix.PROT_READ | unix.PROT_WRITE
	if o.ReadOnly {
		prot = unix.PROT_READ
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(want), prot, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("hostmem: mapping %d bytes of %s: %w", want, path, err)
	}
	m, err := newMemory(path, b, f, o.ReadOnly)
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(b))
	}
	return m, nil
}

func mapAnonymous(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

// Mappable returns an error if the process cannot map another size bytes of a file into its address
// space.
func Mappable(size uint64) error {
	if err := checkMappable("a file", size); err != nil {
		return err
	}
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("hostmem: a file of %d bytes is more than the process can map: %w", size, err)
	}
	return unmap(b)
}

func unmap(b []byte) error { return unix.Munmap(b) }

// sizeNow returns the size of the file. It uses lseek, which costs half as much as fstat. It may
// move the file's offset, because nothing uses the offset.
func sizeNow(fd int) (uint64, error) {
	n, err := unix.Seek(fd, 0, unix.SEEK_END)
	return uint64(n), err
}

// sync writes the pages that contain the n bytes at off to disk.
func (m *Memory) sync(off, n uint64) error {
	start := off &^ uint64(os.Getpagesize()-1)
	err := unix.Msync(m.mapping()[start:off+n], unix.MS_SYNC)
	for err == unix.EINTR {
		err = unix.Msync(m.mapping()[start:off+n], unix.MS_SYNC)
	}
	if err == nil {
		return nil
	}
	return m.keep(fmt.Errorf("hostmem: %s: writing %d bytes at offset %d to disk: %w", m.name, n, off, err))
}
