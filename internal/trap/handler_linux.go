//go:build linux && (amd64 || arm64)

package trap

import "golang.org/x/sys/unix"

// An Object is the handler's value for a descriptor that it installed. It must be comparable.
type Object any

// A ProcID identifies a process. The kernel may reuse the PID, but with another start time.
type ProcID struct {
	PID   int    // thread group ID, in the PID namespace of this process
	Start uint64 // clock ticks after boot, field 22 of /proc/PID/stat
}

// An Attr holds the attributes that fstat of an object reports in place of those of the real file.
type Attr struct {
	Mode         uint32 // type and permissions; 0: all attributes are those of the file
	Major, Minor uint32 // device number
}

// A Handler answers the calls on devices and objects. The goroutines of a [Server] call its
// methods concurrently. Open, Ioctl and Write must answer the call exactly once, before they
// return or later from any goroutine; a thread of the program waits for the answer.
type Handler interface {
	// Open is called when a program opens a device, with the flags of open(2). The answer is
	// usually Call.ReplyFD.
	Open(c *Call, d *Device, flags int)
	// Ioctl is called for the RDMA verbs command on any descriptor of o, including duplicates by
	// dup, fork or SCM_RIGHTS.
	Ioctl(c *Call, o Object, cmd uint32, arg uint64)
	// Write is called for a write of size bytes to a reserved descriptor of o. data holds at most
	// the first Config.MaxWrite bytes; the handler may keep data. The answer is the number of bytes
	// written.
	Write(c *Call, o Object, data []byte, size uint64)
	// Stat may change the result of fstat on o. a holds the attributes of the device whose open
	// created o, or zero if no open did. Stat must not block.
	Stat(o Object, a *Attr)
	// Exec is called before a process that has made a call on a device or an object executes
	// another program. The handler must call Call.Continue exactly once, before Exec returns or
	// later; the kernel then executes the program. The execution may fail: the old program then
	// continues.
	Exec(c *Call, p ProcID)
	// Exit is called after the end of a process that made a call on a device or an object. Its
	// descriptors may still be open: another process may share them.
	Exit(p ProcID)
}

// An Inode identifies an open file while any descriptor of it is open.
type Inode struct {
	Dev, Ino uint64
}

func inodeOf(st *unix.Stat_t) Inode { return Inode{Dev: st.Dev, Ino: st.Ino} }

// InodeOf returns the inode of descriptor fd of this process.
func InodeOf(fd int) (Inode, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return inodeOf(&st), err
}

// Inode returns the inode of descriptor fd of the caller, or false if fd is not open.
func (c *Call) Inode(fd int) (Inode, bool) {
	var st unix.Stat_t
	_, err := c.s.procs.stat(c, fd, 0, &st)
	return inodeOf(&st), err == nil
}
