package broker

import (
	"context"
	"os"

	"github.com/gorxe/gorxe/mr"
)

// A File is a device file that programs open.
type File uint32

// Device files.
const (
	Verbs File = iota // /dev/infiniband/uverbs0
	CM                // /dev/infiniband/rdma_cm
)

// A Service answers the calls on one device file of a device. Its methods are called
// concurrently.
type Service interface {
	// Open answers open(2). It takes ownership of s, also if it fails, and closes s when the object
	// has ended. The error wraps a [uapi.Errno].
	Open(s CallerMemory) (Object, error)
}

// A CallerMemory is the memory of a program; see [uverbs.CallerMemory].
type CallerMemory interface {
	Read(p []byte, addr uint64) error
	Write(p []byte, addr uint64) error
	Register(addr, length uint64, access mr.Access) (mr.Memory, error)
	// Owner returns the PID of the program and the name of its executable, for display.
	Owner() string
	Close() error
}

// An Object is the state of an open device file.
type Object interface {
	// Program calls use with the descriptor of which the program is to get a duplicate.
	Program(use func(fd int) error) error
	// Call answers a call. It may block until ctx ends: when the caller has a signal or has ended,
	// or when the client disconnects. The error wraps a [uapi.Errno].
	Call(ctx context.Context, from Caller, c Call) (result int64, err error)
	// Drop reports that the process that opened the file has ended. Other processes may still
	// have its descriptor.
	Drop() error
	// Close ends the object. After Drop, the object also ends when the last descriptor of the
	// program is closed.
	Close() error
}

// A Call is a system call on an object.
type Call struct {
	Write bool // write(2), not ioctl(2)
	// NonBlock reports that the descriptor has O_NONBLOCK.
	NonBlock bool
	Cmd      uint32 // command of an ioctl
	Arg      uint64 // argument of an ioctl; address of the written data
	Data     []byte // first bytes of the written data, up to [MaxWrite]
	Size     uint64 // number of bytes that the program asks to write; may exceed len(Data)
}

// A Caller is the thread of a program whose call is answered; see [uverbs.Caller].
type Caller interface {
	Install(f *os.File, o any) (fd int, err error)
	Object(fd int32) any
	// Opened returns the objects of the device that the caller's process has open, in no order.
	Opened() []Object
}
