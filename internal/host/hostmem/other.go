//go:build !linux

package hostmem

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// File is for Linux only.
func File(path string, o FileOptions) (*Memory, error) {
	if err := o.validate(path); err != nil {
		return nil, err
	}
	return nil, unsupported(path)
}

// Shared is for Linux only.
func Shared(name string, _ FileOptions) (*Memory, error) {
	path, err := sharedPath(name)
	if err != nil {
		return nil, err
	}
	return nil, unsupported(path)
}

func unsupported(path string) error {
	return fmt.Errorf("hostmem: %s: %w: files and shared memory are mapped on Linux only, this is %s; use anonymous memory",
		path, errors.ErrUnsupported, runtime.GOOS)
}

// mapAnonymous makes memory of whole words, so that atomics find them aligned. A size that the
// system has not got ends the process, as with every large slice; one that no process can have
// is an error.
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

// Mappable says why no process has room among its addresses for size bytes of a file.
func Mappable(size uint64) error { return mappable("a file", size) }
