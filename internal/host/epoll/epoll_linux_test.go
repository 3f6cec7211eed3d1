package epoll

import (
	"errors"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func instance(t *testing.T) *Instance {
	t.Helper()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() }) // a test may have closed it
	return e
}

// counter returns an eventfd that an instance watches.
func counter(t *testing.T, e *Instance, events uint32) int {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_SEMAPHORE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := e.Control(unix.EPOLL_CTL_ADD, fd, unix.EpollEvent{Events: events, Fd: int32(fd)}); err != nil {
		t.Fatal(err)
	}
	return fd
}

func add(t *testing.T, fd int) {
	t.Helper()
	if _, err := unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Error(err)
	}
}

func take(fd int) { _, _ = unix.Read(fd, make([]byte, 8)) }

// Each event occurs while the waiters are about to wait, wait, or process the previous event.
func TestEachEventWakesAWaiter(t *testing.T) {
	e := instance(t)
	fd := counter(t, e, unix.EPOLLIN)
	taken := make(chan struct{})
	var waiters sync.WaitGroup
	for range 3 {
		waiters.Go(func() {
			events := make([]unix.EpollEvent, 1)
			for e.Wait(events, func([]unix.EpollEvent) bool { take(fd); return true }) == nil {
				taken <- struct{}{}
			}
		})
	}
	for range 10_000 {
		add(t, fd)
		<-taken
	}
	e.Stop()
	waiters.Wait()
}

func TestAOneShotEventComesAgainWhenItIsAskedFor(t *testing.T) {
	e := instance(t)
	fd := counter(t, e, unix.EPOLLIN|unix.EPOLLONESHOT)
	seen := make(chan struct{})
	over := make(chan error)
	go func() {
		over <- e.Wait(make([]unix.EpollEvent, 4), func([]unix.EpollEvent) bool { seen <- struct{}{}; return false })
	}()
	add(t, fd)
	<-seen
	again := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(fd)}
	if err := e.Control(unix.EPOLL_CTL_MOD, fd, again); err != nil {
		t.Fatal(err)
	}
	<-seen
	e.Stop()
	if err := <-over; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Wait returns %v", err)
	}
}

func TestNothingIsWaitedForAfterStopOrClose(t *testing.T) {
	e := instance(t)
	events := make([]unix.EpollEvent, 1)
	never := func([]unix.EpollEvent) bool { t.Error("an event is taken"); return true }
	e.Stop()
	if err := e.Wait(events, never); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after Stop: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e.Stop()
	if err := e.Wait(events, never); err == nil {
		t.Error("Wait after Close returns no error")
	}
	if err := e.Control(unix.EPOLL_CTL_ADD, 0, unix.EpollEvent{}); err == nil {
		t.Error("Control after Close returns no error")
	}
}
