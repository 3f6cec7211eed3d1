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

// A Service answers the calls on one device file of a device. Its methods are called by several goroutines at once.
type Service interface {
	// Open answers open(2). It owns the space, also when it fails, and closes it when the object has ended. The error
	// wraps a [uapi.Errno].
	Open(s Space) (Object, error)
}

// A Space is the memory of a program; see [uverbs.Space].
type Space interface {
	Read(p []byte, addr uint64) error
	Write(p []byte, addr uint64) error
	Register(addr, length uint64, access mr.Access) (mr.Memory, error)
	// Owner names the program for people: its PID and the name of its executable.
	Owner() string
	Close() error
}

// An Object is what an open of a device file has made.
type Object interface {
	// Program calls use with the descriptor that the program is to get a duplicate of.
	Program(use func(fd int) error) error
	// Call answers a call. It may block until ctx ends, which is when the call was interrupted or its program has gone.
	// The error wraps a [uapi.Errno].
	Call(ctx context.Context, from Caller, c Call) (result int64, err error)
	// Drop says that the process that has opened the file has ended. Others may still have its descriptor.
	Drop() error
	// Close ends the object; it does so too when the last descriptor of the program was closed after Drop.
	Close() error
}

// A Call is a system call on an object.
type Call struct {
	Write bool // write(2), not ioctl(2)
	// NonBlock says that the descriptor that is written to has O_NONBLOCK.
	NonBlock bool
	Cmd      uint32 // of ioctl
	Arg      uint64 // of ioctl; address of what is written
	Data     []byte // what is written, at most [MaxWrite] bytes of it
	Size     uint64 // number of bytes to write
}

// A Caller is the thread of a program whose call is answered; see [uverbs.Caller].
type Caller interface {
	Install(f *os.File, o any) (fd int, err error)
	Object(fd int32) any
	// Opened returns what the caller's process has open of the device, in no order.
	Opened() []Object
}
