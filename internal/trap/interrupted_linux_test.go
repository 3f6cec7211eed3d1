//go:build linux && (amd64 || arm64)

package trap

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// openProgram opens a file of the tree and a device many times.
func openProgram([]string) error {
	for i := range 5000 {
		p := abiPath
		if i%8 == 0 {
			p = devicePath
		}
		fd, err := unix.Open(p, unix.O_RDONLY, 0)
		if err != nil || fd < 3 {
			return fmt.Errorf("open %d of %s: descriptor %d, %w", i, p, fd, err)
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}

// interrupt sends signals to all threads of this process until done is closed. The runtime sends
// such signals itself, to preempt goroutines.
func interrupt(t *testing.T, done <-chan struct{}) {
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Error(err)
			return
		}
		for _, task := range tasks {
			if tid, err := strconv.Atoi(task.Name()); err == nil {
				_ = unix.Tgkill(os.Getpid(), tid, unix.SIGURG) // the thread may have ended
			}
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func TestSignalsOfTheServerDoNotChangeAnswers(t *testing.T) {
	r := startProgram(t, "open")
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		interrupt(t, done)
	}()
	r.mustSucceed()
	close(done)
	<-over
}

// The kernel also returns EPOLLERR alone if a signal arrives while it waits for a lock of the
// filter.
func TestOnlyAHangUpSaysThatNoProgramIsLeft(t *testing.T) {
	for events, want := range map[uint32]listenerEvent{
		unix.EPOLLERR:                   eventNone,
		unix.EPOLLIN:                    eventCall,
		unix.EPOLLIN | unix.EPOLLHUP:    eventCall,
		unix.EPOLLHUP:                   eventNoPrograms,
		unix.EPOLLHUP | unix.EPOLLERR:   eventNoPrograms,
		unix.EPOLLIN | unix.EPOLLRDNORM: eventCall,
	} {
		if got := eventOf(events); got != want {
			t.Errorf("events %#x: %d, want %d", events, got, want)
		}
	}
}
