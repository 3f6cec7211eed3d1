package procmem

import (
	"fmt"
	"io/fs"
	"syscall"
)

// Kind is the kind of an [Error]. It is an error itself, so that errors.Is(err, procmem.Gone)
// works.
type Kind uint8

const (
	// System: a system call failed; [Error.Err] is its error.
	System Kind = iota + 1
	// BadRange: the range is empty or exceeds the address space. EINVAL.
	BadRange
	// Unmapped: a page was not mapped at registration. EFAULT.
	Unmapped
	// NotReadable: a page had no read permission at registration. EFAULT.
	NotReadable
	// NotWritable: a page had no write permission at registration. EFAULT.
	NotWritable
	// Inaccessible: the kernel finds no page: it was unmapped, lies beyond the end of a file, or
	// is device memory. EFAULT.
	Inaccessible
	// OutOfBounds: the access lies outside the region. EINVAL.
	OutOfBounds
	// WriteToReadOnly: the region was registered without an access flag that permits writes.
	// EACCES.
	WriteToReadOnly
	// Gone: the process has ended or has executed another program. ESRCH.
	Gone
	// Closed: the region or the address space was closed. fs.ErrClosed.
	Closed

	numKinds
)

var kinds = [numKinds]struct {
	text     string
	sentinel error // error that errors.Is matches besides the Kind; nil for System
}{
	0:               {"no error", nil},
	System:          {"system call failed", nil},
	BadRange:        {"invalid range", syscall.EINVAL},
	Unmapped:        {"not mapped", syscall.EFAULT},
	NotReadable:     {"no read permission", syscall.EFAULT},
	NotWritable:     {"no write permission", syscall.EFAULT},
	Inaccessible:    {"no accessible page", syscall.EFAULT},
	OutOfBounds:     {"outside the region", syscall.EINVAL},
	WriteToReadOnly: {"region is read-only", syscall.EACCES},
	Gone:            {"process has ended or executed another program", syscall.ESRCH},
	Closed:          {"closed", fs.ErrClosed},
}

// Error returns a description of the kind.
func (k Kind) Error() string {
	if k < numKinds {
		return kinds[k].text
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is the error of a registration or an access. errors.Is matches its Kind, and the errno
// that the kernel's verbs return in its place, such as EFAULT.
type Error struct {
	Op           string // "register", "read", "write" or "atomic"
	PID          int
	Addr, Length uint64 // range of the registration or the access, in the process's address space
	At           uint64 // first address to which Kind applies; bytes below it may have been written
	Kind         Kind
	Err          error // error of the system call; nil if there is none
}

// Error returns a text with the operation, the range, the process and the first bad address.
func (e *Error) Error() string {
	s := fmt.Sprintf("procmem: %s of %d bytes at %#x of process %d: %v", e.Op, e.Length, e.Addr, e.PID, e.Kind)
	switch e.Kind {
	case Unmapped, NotReadable, NotWritable:
		return fmt.Sprintf("%s at %#x; map the whole buffer with that permission before registering it", s, e.At)
	case Inaccessible:
		return fmt.Sprintf("%s at %#x; it was unmapped, its file was truncated, or it is device memory", s, e.At)
	case System:
		return fmt.Sprintf("%s at %#x: %v", s, e.At, e.Err)
	}
	return s
}

// Unwrap returns the Kind, its errno and the error of the system call.
func (e *Error) Unwrap() []error {
	errs := []error{e.Kind}
	if e.Kind < numKinds && kinds[e.Kind].sentinel != nil {
		errs = append(errs, kinds[e.Kind].sentinel)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}
