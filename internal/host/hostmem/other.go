//go:build !linux

package hostmem

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// File returns an error: it needs Linux.
func File(path string, o FileOptions) (*Memory, error) {
	if err := o.validate(path); err != nil {
		return nil, err
	}
	return nil, unsupported(path)
}

// Shared returns an error: it needs Linux.
func Shared(name string, _ FileOptions) (*Memory, error) {
	path, err := sharedPath(name)
	if err != nil {
		return nil, err
	}
	return nil, unsupported(path)
}

func unsupported(path string) error {
	return fmt.Errorf(
		"hostmem: %s: %w: files and shared memory are mapped on Linux only, this is %s; use anonymous memory",
		path, errors.ErrUnsupported, runtime.GOOS)
}

// mapAnonymous allocates whole words, so that atomics are aligned. A size that the system cannot
// provide ends the process, as with every large slice; a size that no process can have is an
// error.
func mapAnonymous(size int) (b []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	const word = 8
	words := make([]uint64, (size-1)/word+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size), nil
}

func unmap([]byte) error { return nil }

func sizeNow(int) (uint64, error) { return 0, errors.ErrUnsupported }

func (m *Memory) sync(uint64, uint64) error { return nil }

// Mappable returns an error if size is 0 or no process can map size bytes of a file.
func Mappable(size uint64) error { return checkMappable("a file", size) }
