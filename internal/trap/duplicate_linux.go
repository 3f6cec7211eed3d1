//go:build linux && (amd64 || arm64)

package trap

import "golang.org/x/sys/unix"

// duplicate answers dup, or fcntl with F_DUPFD or F_DUPFD_CLOEXEC, of a reserved descriptor with
// another reserved number, the first free one from least up: fstat on the duplicate must be trapped
// too, because ibv_import_device calls it. If no reserved number can be used, the kernel answers
// the call.
func (s *Server) duplicate(c *Call, least int, closeOnExec bool) {
	fd := int(int32(c.Arg(0)))
	var st unix.Stat_t
	if _, ok := s.find(c, fd, &st); !ok || least < 0 {
		_ = c.Continue()
		return
	}
	file, err := s.fetch(c, fd, &st)
	if err != nil {
		_ = c.Continue()
		return
	}
	defer unix.Close(file)
	if !c.take() {
		return
	}
	a := addFD{id: c.n.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, srcFD: uint32(file)}
	if closeOnExec {
		a.newFDFlags = unix.O_CLOEXEC
	}
	if _, err := s.installReserved(c, &a, s.cfg.Descriptors.slotOf(fd), least); err != nil {
		_ = s.listener.respond(&response{id: c.n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
	}
}

// fetch returns a duplicate, in this process, of descriptor fd of the caller. It returns EBADF if
// the descriptor does not refer to the file with the attributes st.
func (s *Server) fetch(c *Call, fd int, st *unix.Stat_t) (int, error) {
	pidfd, err := unix.PidfdOpen(c.proc.PID, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pidfd)
	file, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return -1, err
	}
	// The process may have replaced the file meanwhile, or the thread may have its own descriptor
	// table.
	if got, err := InodeOf(file); err != nil || got != inodeOf(st) {
		_ = unix.Close(file)
		return -1, unix.EBADF
	}
	return file, nil
}
