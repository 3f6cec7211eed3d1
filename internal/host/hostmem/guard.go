package hostmem

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// enter begins an access of n bytes at off. On success, the caller must call [Memory.leave].
// Every access has this form:
//
//	if err := m.enter(off, n); err != nil { return err }
//	defer m.leave(debug.SetPanicOnFault(true), off, n, &err)
func (m *Memory) enter(off, n uint64) error {
	if size := m.Size(); off > size || n > size-off {
		return fmt.Errorf("hostmem: %s: %d bytes at offset %d do not fit in %d", m.name, n, off, size)
	}
	for {
		users := m.users.Load()
		if users == 0 {
			return fmt.Errorf("hostmem: %s: %w", m.name, os.ErrClosed)
		}
		if m.users.CompareAndSwap(users, users+1) {
			return nil
		}
	}
}

// enterWrite calls enter for an access that changes bytes; read-only memory is an error.
func (m *Memory) enterWrite(off, n uint64) error {
	if m.readOnly {
		return fmt.Errorf("hostmem: %s: %w: it was opened for reading only", m.name, os.ErrPermission)
	}
	return m.enter(off, n)
}

// leave ends an access. It must be deferred directly, because it calls recover: a fault inside the
// mapping becomes an error in *err. panics is the result of debug.SetPanicOnFault.
//
// Not every access beyond the end of a file faults: the rest of the last page is mapped but not
// part of the file. So leave checks the file size after each access. Bytes that are inside the file
// at that time were also inside during the access.
func (m *Memory) leave(panics bool, off, n uint64, err *error) {
	debug.SetPanicOnFault(panics)
	r := recover()
	switch {
	case r != nil && !m.faulted(r):
		_ = m.release()
		panic(r)
	case r != nil || *err == nil && !m.reaches(off+n):
		*err = m.lost(off, n)
	}
	if e := m.release(); *err == nil && e != nil {
		*err = e
	}
}

// faulted reports whether the panic r is a fault at an address of the mapping.
func (m *Memory) faulted(r any) bool {
	f, ok := r.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		return false
	}
	start := uintptr(m.start)
	return f.Addr() >= start && uint64(f.Addr()-start) < m.size
}

// reaches reports whether the file now has at least end bytes. For anonymous memory it returns
// true.
func (m *Memory) reaches(end uint64) bool {
	if m.file == nil {
		return true
	}
	size, err := sizeNow(m.fd)
	return err == nil && size >= end
}

// lost returns the error of a failed access of n bytes at off, and stores it for [Memory.Err].
func (m *Memory) lost(off, n uint64) error {
	return m.keep(fmt.Errorf("hostmem: %s: %w: %d bytes at offset %d: %s", m.name, ErrLost, n, off, m.diagnosis(off+n)))
}

// keep stores err for [Memory.Err] and returns err.
func (m *Memory) keep(err error) error {
	m.fault.Store(&err)
	return err
}

func (m *Memory) diagnosis(end uint64) string {
	if m.file == nil {
		return "the page is broken"
	}
	size, err := sizeNow(m.fd)
	switch {
	case err != nil:
		return fmt.Sprintf("the file's size cannot be read: %v", err)
	case size < end:
		return fmt.Sprintf("the file has %d bytes, it had %d", size, m.Size())
	}
	return "the disk is full or fails"
}

// release drops one reference; the last one unmaps the memory and closes the file.
func (m *Memory) release() error {
	if m.users.Add(-1) > 0 {
		return nil
	}
	err := unmap(m.mapping())
	if m.file != nil {
		if e := m.file.Close(); err == nil {
			err = e
		}
	}
	return err
}
