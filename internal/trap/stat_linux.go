//go:build linux && (amd64 || arm64)

package trap

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deviceMode is the mode of all devices of the tree.
const deviceMode = unix.S_IFCHR | 0o666

func deviceAttr(d *Device) Attr {
	if d == nil {
		return Attr{}
	}
	return Attr{Mode: deviceMode, Major: d.Major, Minor: d.Minor}
}

// override replaces attributes of the real file by those of a, if a has any. unix.Stat_t and
// unix.Statx_t are the kernel's structures on amd64 and arm64, which have only 64-bit system calls.
func (a Attr) override(st *unix.Stat_t) {
	if a.Mode != 0 {
		st.Mode, st.Rdev = a.Mode, unix.Mkdev(a.Major, a.Minor)
		st.Size, st.Blocks = 0, 0
	}
}

func (a Attr) overrideX(st *unix.Statx_t) {
	if a.Mode != 0 {
		st.Mode, st.Rdev_major, st.Rdev_minor = uint16(a.Mode), a.Major, a.Minor
		st.Size, st.Blocks = 0, 0
	}
}

// replyStat writes the attributes of the file real, overridden by a, to the caller's memory at out.
// flags are those of fstatat(2).
func (c *Call) replyStat(real string, flags int, a Attr, out uint64) {
	var st unix.Stat_t
	if err := unix.Fstatat(unix.AT_FDCWD, real, &st, flags); err != nil {
		c.fail(err)
		return
	}
	a.override(&st)
	c.replyOut(out, unsafe.Slice((*byte)(unsafe.Pointer(&st)), unsafe.Sizeof(st)))
}

func (c *Call) replyStatx(real string, flags, mask int, a Attr, out uint64) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, real, flags, mask, &st); err != nil {
		c.fail(err)
		return
	}
	a.overrideX(&st)
	c.replyOut(out, unsafe.Slice((*byte)(unsafe.Pointer(&st)), unsafe.Sizeof(st)))
}

// replyOut writes p to the caller's memory at addr and answers 0.
func (c *Call) replyOut(addr uint64, p []byte) {
	if err := c.access(func() error { return c.Write(addr, p) }); err != nil {
		c.fail(err)
		return
	}
	_ = c.Reply(0)
}

// fail answers with the errno of err, EIO if it has none.
func (c *Call) fail(err error) {
	errno, ok := err.(unix.Errno)
	switch {
	case err == ErrGone:
		return
	case !ok:
		errno = unix.EIO
	}
	_ = c.ReplyErrno(errno)
}

// fstat answers a stat of a reserved descriptor. out is the address of the result in the caller.
// mask is the mask of statx; -1 for other calls.
func (s *Server) fstat(c *Call, fd int, flags, mask int, out uint64) {
	var st unix.Stat_t
	o, ok := s.find(c, fd, &st)
	if !ok {
		_ = c.Continue()
		return
	}
	a := deviceAttr(o.device)
	s.cfg.Handler.Stat(o.object, &a)
	if mask < 0 {
		a.override(&st)
		c.replyOut(out, unsafe.Slice((*byte)(unsafe.Pointer(&st)), unsafe.Sizeof(st)))
		return
	}
	var stx unix.Statx_t
	err := s.procs.with(c, func(t *thread) error {
		return unix.Statx(t.dir, "fd/"+strconv.Itoa(fd), flags&^unix.AT_EMPTY_PATH, mask, &stx)
	})
	if err != nil {
		c.fail(err)
		return
	}
	a.overrideX(&stx)
	c.replyOut(out, unsafe.Slice((*byte)(unsafe.Pointer(&stx)), unsafe.Sizeof(stx)))
}
