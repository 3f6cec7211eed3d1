//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of a listener (include/uapi/linux/seccomp.h) that x/sys/unix lacks.
const (
	ioctlValid    = 0x40082102
	ioctlAddFD    = 0x40182103
	ioctlSetFlags = 0x40082104
)

// A notification is struct seccomp_notif: a system call that waits for an answer.
type notification struct {
	id    uint64
	tid   uint32 // thread id, as seen in the PID namespace of this process
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// A response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	err   int32 // negative errno
	flags uint32
}

// An addFD is struct seccomp_notif_addfd.
type addFD struct {
	id         uint64
	flags      uint32
	srcFD      uint32
	newFD      uint32
	newFDFlags uint32
}

// A listener is the descriptor that a filter's notifications come from. Answers may come after
// the end of the server, so a closed one returns ErrGone.
type listener struct {
	mu sync.RWMutex
	fd int // -1: closed
}

func (l *listener) ioctl(cmd uintptr, arg unsafe.Pointer) (int, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.fd < 0 {
		return 0, ErrGone
	}
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), cmd, uintptr(arg))
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}

// receive takes a notification. ENOENT: its caller was killed meanwhile. EINTR: a signal came; there may be no
// notification any more, and the call would wait for the next one with the lock held.
func (l *listener) receive(n *notification) error {
	*n = notification{} // the kernel refuses a buffer that is not zeroed
	_, err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n))
	return err
}

// respond answers a notification. A signal can interrupt it, and the caller would wait for ever.
func (l *listener) respond(r *response) error {
	_, err := retry(func() (int, error) { return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(r)) })
	return goneError(err)
}

// valid reports whether the caller of a notification still waits for its answer.
func (l *listener) valid(id uint64) bool {
	_, err := retry(func() (int, error) { return l.ioctl(ioctlValid, unsafe.Pointer(&id)) })
	return err == nil
}

// addFD installs a descriptor in the caller and returns its number.
//
// The thread takes no signals meanwhile, such as those with which the runtime preempts goroutines. A signal makes the
// kernel give the installation up, but with SECCOMP_ADDFD_FLAG_SEND the call counts as answered then, and returns 0
// (seccomp_notify_addfd, Linux 6.18). The caller installs the descriptor itself and at once, so this mostly does not
// take long.
func (l *listener) addFD(a *addFD) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return 0, err
	}
	n, err := l.ioctl(ioctlAddFD, unsafe.Pointer(a))
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) // the arguments are valid
	return n, goneError(err)
}

// setSyncWakeUp asks for wake-ups on the same processor, Linux 6.6 or newer.
func (l *listener) setSyncWakeUp() {
	const flags = unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP // passed by value
	_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(l.fd), ioctlSetFlags, flags)
}

// goneError translates the errors that say that nobody waits for an answer.
func goneError(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return err
}

// A news is what an event of the listener says.
type news uint8

const (
	noNews     news = iota
	newCall         // a notification is to be received
	noPrograms      // no task has the filter any more
)

// newsOf returns what the events of the listener say. EPOLLERR alone says nothing: the kernel returns it also when a
// signal comes while it waits for a lock of the filter (seccomp_notify_poll).
func newsOf(events uint32) news {
	switch {
	case events&unix.EPOLLIN != 0:
		return newCall
	case events&unix.EPOLLHUP != 0:
		return noPrograms
	}
	return noNews
}

// receive waits for a call. It returns nil if its caller is gone, and false at the end. One worker at a time looks at
// the listener and takes what it has, so that listener.receive never blocks.
func (s *Server) receive(buf *scratch) (c *Call, ok bool) {
	var found news
	var failed error
	c = &Call{s: s}
	err := s.calls.Wait(buf.events[:], func(events []unix.EpollEvent) bool {
		if found = newsOf(events[0].Events); found == newCall {
			failed = s.listener.receive(&c.n)
		}
		return found != noNews
	})
	switch {
	case err != nil: // the server ends
		return nil, false
	case failed != nil:
		return nil, true
	case found == noPrograms:
		s.end.Do(func() { close(s.ended) })
		s.wake()
		return nil, false
	}
	s.received.Add(1)
	s.executing.over(c.TID())
	c.group = s.groups.of(c.TID())
	return c, true
}
