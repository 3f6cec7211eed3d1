package procmem

import "syscall"

// memory is the file through which an address space is read and written. Each method transfers p
// or a part of it, from the start; 0 bytes without an error mean that the address space is gone.
// Addresses are below maxAddress.
type memory interface {
	read(p []byte, addr uint64) (int, error)
	write(p []byte, addr uint64) (int, error)
}

// maxAddress is the first address that is not a file offset (loff_t). User space ends below it on
// every architecture.
const maxAddress = 1 << 63

// An op is the operation of an access, as named in [Error].
type op string

const (
	opRegister op = "register"
	opRead     op = "read"
	opWrite    op = "write"
	opAtomic   op = "atomic"
)

// Read fills p with the bytes at addr. The error is an [*Error] of kind BadRange, Inaccessible,
// Gone, Closed or System.
func (s *AddressSpace) Read(p []byte, addr uint64) error { return s.access(opRead, false, p, addr) }

// Write stores p at addr. It returns the same errors as Read.
func (s *AddressSpace) Write(p []byte, addr uint64) error { return s.access(opWrite, true, p, addr) }

func (s *AddressSpace) access(o op, write bool, p []byte, addr uint64) error {
	size := uint64(len(p))
	if addr >= maxAddress || size > maxAddress-addr {
		return s.error(o, BadRange, addr, size, addr, nil)
	}
	if s.closed.Load() || !s.acquire() {
		return s.error(o, Closed, addr, size, addr, nil)
	}
	err := s.move(o, write, p, addr)
	_ = s.release() // an error of closing the files does not concern the access
	return err
}

// move reads or writes all of p at addr. o is the operation for the error.
func (s *AddressSpace) move(o op, write bool, p []byte, addr uint64) error {
	if s.direct.one(write, p, addr) {
		return nil
	}
	size, done := uint64(len(p)), uint64(0)
	for done < size {
		part := p[done : done+firstPart(addr+done, size-done)]
		var n int
		var err error
		if write {
			n, err = s.mem.write(part, addr+done)
		} else {
			n, err = s.mem.read(part, addr+done)
		}
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return s.failed(o, addr, size, addr+done, err)
		}
		done += uint64(n)
	}
	return nil
}

const (
	pageSize = 4096
	// alignedFrom is the length in bytes from which a separate call up to the page boundary is
	// faster.
	alignedFrom = 8 * pageSize
)

// firstPart returns how many of the n bytes at addr the next system call should transfer: all, or
// those up to the page boundary. The kernel copies 4 KiB at a time, counted from addr, and looks
// up two pages for each 4 KiB that crosses a boundary: 64 KiB at an unaligned address take 16 µs
// in one call and 11 µs in two (Linux 6.18). With larger pages the split does no harm.
func firstPart(addr, n uint64) uint64 {
	if head := -addr % pageSize; head > 0 && n >= alignedFrom {
		return head
	}
	return n
}

// failed returns the error of an access whose system call at address at failed with err, or
// transferred no byte if err is nil.
func (s *AddressSpace) failed(o op, addr, length, at uint64, err error) error {
	switch err {
	case nil:
		return s.error(o, Gone, addr, length, at, nil)
	case syscall.EIO:
		return s.error(o, Inaccessible, addr, length, at, err)
	}
	return s.error(o, System, addr, length, at, err)
}

func (s *AddressSpace) error(o op, k Kind, addr, length, at uint64, err error) error {
	return &Error{Op: string(o), PID: s.pid, Addr: addr, Length: length, At: at, Kind: k, Err: err}
}
