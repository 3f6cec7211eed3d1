//go:build linux && (amd64 || arm64)

package trap

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// openFlags are the flags of a program's open that the open of the rendered file keeps.
const openFlags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_PATH

// A scratch holds the buffers of one worker.
type scratch struct {
	path, clean [maxPath]byte
	events      [1]unix.EpollEvent
}

// path answers a call that names a file. A call that does not concern a path of the tree
// continues in the kernel, which also finds the right errno for arguments that cannot be read.
func (s *Server) path(c *Call, k call, buf *scratch) {
	row := &callTable[k]
	var p []byte
	err := c.access(func() (err error) {
		p, err = readPath(c.TID(), c.Arg(row.path), &buf.path)
		return err
	})
	if err == ErrGone {
		_ = c.Continue()
		return
	}
	if len(p) == 0 || err != nil {
		s.emptyPath(c, k, err == nil)
		return
	}
	if p[0] != '/' && row.dir != absent && int32(c.Arg(row.dir)) != unix.AT_FDCWD {
		p = s.relative(c, int(int32(c.Arg(row.dir))), p)
	}
	p, dir := s.cfg.Tree.resolve(buf.clean[:0], p)
	if p == nil || outside(c, k) {
		_ = c.Continue()
		return
	}
	if !c.Valid() {
		return
	}
	n := s.cfg.Tree.lookup(p)
	switch {
	case n == nil && s.cfg.Tree.underFile(p), n != nil && dir && !n.dir:
		_ = c.ReplyErrno(unix.ENOTDIR)
	case n == nil:
		_ = c.ReplyErrno(unix.ENOENT)
	default:
		s.node(c, k, n)
	}
}

// emptyPath answers a call whose path is empty or cannot be read; readable is true for an empty
// path. With AT_EMPTY_PATH, a stat call with an empty path concerns the descriptor; so does one
// with a null pointer, which is invalid before Linux 6.11.
func (s *Server) emptyPath(c *Call, k call, readable bool) {
	flags := -1
	switch k {
	case callNewfstatat:
		flags = int(int32(c.Arg(3)))
	case callStatx:
		flags = int(int32(c.Arg(2)))
	}
	fd := int(int32(c.Arg(0)))
	null := callTable[k].path != absent && c.Arg(callTable[k].path) == 0
	ofDescriptor := flags >= 0 && flags&unix.AT_EMPTY_PATH != 0 && (readable || null)
	if !ofDescriptor || !s.cfg.Descriptors.Contains(fd) {
		_ = c.Continue()
		return
	}
	if k == callStatx {
		s.fstat(c, fd, flags, int(uint32(c.Arg(3))), c.Arg(4))
		return
	}
	s.fstat(c, fd, flags, -1, c.Arg(2))
}

// relative returns the absolute path of p if the caller's descriptor fd is a directory of the tree,
// otherwise p.
func (s *Server) relative(c *Call, fd int, p []byte) []byte {
	link, err := s.procs.link(c, fd)
	if err != nil {
		return p
	}
	base, ok := s.cfg.Tree.virtual(link)
	if !ok {
		return p
	}
	return append([]byte(base+"/"), p...)
}

// outside reports whether an openat2 restricts the resolution of an absolute path so that it
// cannot reach the tree.
func outside(c *Call, k call) bool {
	if k != callOpenat2 {
		return false
	}
	var how [24]byte
	if c.Arg(3) < uint64(len(how)) || c.access(func() error { return c.Read(c.Arg(2), how[:]) }) != nil {
		return true // the kernel returns the right errno
	}
	resolve := binary.LittleEndian.Uint64(how[16:])
	return resolve&(unix.RESOLVE_BENEATH|unix.RESOLVE_IN_ROOT) != 0
}

// node answers a call that concerns an existing node of the tree.
func (s *Server) node(c *Call, k call, n *node) {
	real, attr := s.cfg.Tree.real(n.path), deviceAttr(n.device)
	switch k {
	case callOpen:
		s.open(c, n, c.Arg(1))
	case callOpenat:
		s.open(c, n, c.Arg(2))
	case callOpenat2:
		var flags [8]byte
		if err := c.access(func() error { return c.Read(c.Arg(2), flags[:]) }); err != nil {
			c.fail(err)
			return
		}
		s.open(c, n, binary.LittleEndian.Uint64(flags[:]))
	case callStat, callLstat:
		c.replyStat(real, 0, attr, c.Arg(1))
	case callNewfstatat:
		c.replyStat(real, 0, attr, c.Arg(2))
	case callStatx:
		flags := int(int32(c.Arg(2))) & (unix.AT_STATX_FORCE_SYNC | unix.AT_STATX_DONT_SYNC)
		c.replyStatx(real, flags, int(uint32(c.Arg(3))), attr, c.Arg(4))
	case callAccess, callFaccessat, callFaccessat2:
		_ = c.Reply(0)
	case callReadlink, callReadlinkat:
		_ = c.ReplyErrno(unix.EINVAL)
	case callGetxattr, callLgetxattr:
		_ = c.ReplyErrno(unix.ENODATA)
	case callListxattr, callLlistxattr:
		_ = c.Reply(0)
	default:
		_ = c.Continue()
	}
}

// open answers an open of an existing node. how holds the flags of open(2).
func (s *Server) open(c *Call, n *node, how uint64) {
	flags := int(uint32(how))
	writes := flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0
	c.exec = flags&unix.O_CLOEXEC != 0
	switch {
	case flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		_ = c.ReplyErrno(unix.EEXIST)
	case n.dir && (writes || flags&unix.O_CREAT != 0) && flags&unix.O_PATH == 0:
		_ = c.ReplyErrno(unix.EISDIR)
	case !n.dir && flags&unix.O_DIRECTORY != 0:
		_ = c.ReplyErrno(unix.ENOTDIR)
	case n.device != nil && flags&unix.O_PATH == 0:
		id, err := s.procs.identify(c)
		if err != nil {
			c.fail(err)
			return
		}
		c.proc = id
		// If the process cannot be watched, the handler would miss its execve.
		if err := s.procs.watch(c, s.exit); err != nil {
			c.fail(err)
			return
		}
		c.open = n.device
		s.cfg.Handler.Open(c, n.device, flags)
	case writes && flags&unix.O_PATH == 0:
		_ = c.ReplyErrno(unix.EACCES)
	default:
		fd, err := unix.Open(s.cfg.Tree.real(n.path), unix.O_RDONLY|unix.O_CLOEXEC|flags&openFlags, 0)
		if err != nil {
			c.fail(err)
			return
		}
		_ = c.ReplyFD(FD{File: fd, CloseOnExec: c.exec})
		_ = unix.Close(fd)
	}
}
