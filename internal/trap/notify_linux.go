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
	tid   uint32 // thread ID, in the PID namespace of this process
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

// A listener is the descriptor that delivers a filter's notifications. Answers may be given after
// the end of the server, so a closed listener returns ErrGone.
type listener struct {
	mu sync.RWMutex
	fd int // -1: closed. mu guards it.
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

// receive takes a notification. It returns ENOENT if the caller was killed meanwhile, and EINTR
// after a signal. It does not retry after EINTR: the notification may be gone, and the retry
// would wait for the next one with the lock held.
func (l *listener) receive(n *notification) error {
	*n = notification{} // the kernel requires a zeroed buffer
	_, err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n))
	return err
}

// respond answers a notification. It retries after EINTR: otherwise the caller would wait
// forever.
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
// It blocks all signals of the thread, such as those by which the runtime preempts goroutines: a
// signal makes the kernel cancel the installation, but with SECCOMP_ADDFD_FLAG_SEND the call then
// returns 0 as if it were answered (seccomp_notify_addfd, Linux 6.18). The caller installs the
// descriptor itself and immediately, so the signals are usually blocked for a short time only.
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
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) // cannot fail: the arguments are valid
	return n, goneError(err)
}

// setSyncWakeUp makes the kernel wake callers on the processor of the answering thread. Kernels
// before Linux 6.6 ignore the request.
func (l *listener) setSyncWakeUp() {
	const flags = unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP // passed by value
	_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(l.fd), ioctlSetFlags, flags)
}

// goneError translates the errors of a notification whose caller is gone to ErrGone.
func goneError(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return err
}

// A listenerEvent is the meaning of an epoll event of the listener.
type listenerEvent uint8

const (
	eventNone       listenerEvent = iota
	eventCall                     // a notification is pending
	eventNoPrograms               // no task has the filter any more
)

// eventOf returns the meaning of epoll events of the listener. EPOLLERR alone means nothing: the
// kernel also returns it when a signal arrives while it waits for a lock of the filter
// (seccomp_notify_poll).
func eventOf(events uint32) listenerEvent {
	switch {
	case events&unix.EPOLLIN != 0:
		return eventCall
	case events&unix.EPOLLHUP != 0:
		return eventNoPrograms
	}
	return eventNone
}

// receive waits for a call. It returns a nil call and true if none could be received, mostly
// because the caller was killed. ok is false at the end of the server. Only one worker at a time
// waits for the listener and receives from it, so listener.receive never blocks.
func (s *Server) receive(buf *scratch) (c *Call, ok bool) {
	var found listenerEvent
	var failed error
	c = &Call{s: s}
	err := s.calls.Wait(buf.events[:], func(events []unix.EpollEvent) bool {
		if found = eventOf(events[0].Events); found == eventCall {
			failed = s.listener.receive(&c.n)
		}
		return found != eventNone
	})
	switch {
	case err != nil: // the server ends
		return nil, false
	case failed != nil:
		return nil, true
	case found == eventNoPrograms:
		s.end.Do(func() { close(s.ended) })
		s.wake()
		return nil, false
	}
	s.received.Add(1)
	s.pendingExecs.end(c.TID())
	c.group = s.groups.of(c.TID())
	return c, true
}
