package epoll

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An Instance is an instance of epoll(7). All methods are safe for concurrent use.
type Instance struct {
	file *os.File
	conn syscall.RawConn
}

// New returns an instance that watches no descriptor.
func New() (*Instance, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	// os.NewFile registers only non-blocking descriptors with the runtime's poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(fmt.Errorf("epoll: %w", err), unix.Close(fd))
	}
	i := &Instance{file: os.NewFile(uintptr(fd), "epoll")}
	if i.conn, err = i.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, i.file.Close())
	}
	return i, nil
}

// Control calls epoll_ctl(2) for the instance.
func (i *Instance) Control(op, fd int, event unix.EpollEvent) error {
	var err error
	if closed := i.conn.Control(func(epoll uintptr) {
		err = unix.EpollCtl(int(epoll), op, fd, &event)
	}); closed != nil {
		return closed
	}
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// Wait passes events of the instance to take, up to len(events) in a call, until take returns
// true. Only one caller at a time waits and takes events; other callers wait for it. After Stop
// or Close it returns an error.
func (i *Instance) Wait(events []unix.EpollEvent, take func([]unix.EpollEvent) (done bool)) error {
	var failed error
	err := i.conn.Read(func(epoll uintptr) bool {
		for {
			n, err := unix.EpollWait(int(epoll), events, 0)
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil:
				failed = err
				return true
			case n == 0:
				return false
			case take(events[:n]):
				return true
			}
		}
	})
	return errors.Join(err, failed)
}

// Stop ends all running and later calls of Wait.
func (i *Instance) Stop() { _ = i.file.SetReadDeadline(time.Unix(1, 0)) } // fails after Close

// Close stops the instance and releases it.
func (i *Instance) Close() error { return i.file.Close() }
