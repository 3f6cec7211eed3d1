//go:build linux && (amd64 || arm64)

package trap

import "golang.org/x/sys/unix"

// An Object is what a Handler keeps for a descriptor that it installed. It must be comparable.
type Object any

// A ProcID identifies a process. Its number may be used again, with another start time.
type ProcID struct {
	PID   int    // thread group id, in the PID namespace of this process
	Start uint64 // clock ticks after boot, field 22 of /proc/PID/stat
}

// An Attr is what fstat reports of an object in place of the attributes of the real file.
type Attr struct {
	Mode         uint32 // type and permissions, 0: those of the file
	Major, Minor uint32 // device number
}

// A Handler answers the calls on devices and objects. Its methods are called by the goroutines
// of a [Server], several at once. Open, Ioctl and Write must have the call answered exactly
// once, before they return or later from any goroutine; a thread of the program waits for that.
type Handler interface {
	// Open is called when a program opens a device, with the flags of open(2). The answer is
	// usually Call.ReplyFD.
	Open(c *Call, d *Device, flags int)
	// Ioctl is called for the RDMA verbs command on any descriptor of o, copies made by dup,
	// fork or SCM_RIGHTS included.
	Ioctl(c *Call, o Object, cmd uint32, arg uint64)
	// Write is called for a write of size bytes to a reserved descriptor of o. data has the
	// first Config.MaxWrite bytes of it, and is the handler's to keep. The answer is the number
	// of bytes.
	Write(c *Call, o Object, data []byte, size uint64)
	// Stat may change what fstat reports of o. a is set from the device that o was opened as,
	// or zero. It must not block.
	Stat(o Object, a *Attr)
	// Exec is called before a process executes another program, if it has made a call on a device or an object. The
	// program is executed once the handler has called Call.Continue, which it must do exactly once, before Exec returns
	// or later. The execution may fail: the process then goes on as it was.
	Exec(c *Call, p ProcID)
	// Exit is called after the end of a process that made a call on a device or an object. It
	// does not say that descriptors are closed: another process may share them.
	Exit(p ProcID)
}

// An Inode identifies an open file for as long as it is open somewhere.
type Inode struct {
	Dev, Ino uint64
}

func inodeOf(st *unix.Stat_t) Inode { return Inode{Dev: st.Dev, Ino: st.Ino} }

// InodeOf returns what the descriptor fd of this process is open for.
func InodeOf(fd int) (Inode, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return inodeOf(&st), err
}

// Inode returns what the descriptor fd of the caller is open for, false if it is not open.
func (c *Call) Inode(fd int) (Inode, bool) {
	var st unix.Stat_t
	_, err := c.s.procs.stat(c, fd, 0, &st)
	return inodeOf(&st), err == nil
}
