// Package pipetest lets tests do what a hostile program can do to its end of a pipe.
package pipetest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Hold holds the kernel's lock of a pipe, as a program can, by splicing the pipe to a full socket.
// pipe is the read end; the pipe must not be empty. The lock is held until free is called or the
// test ends.
func Hold(t testing.TB, pipe int) (free func()) {
	t.Helper()
	s, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = unix.SetNonblock(s[0], true)
	for b := make([]byte, 1<<16); err == nil; _, err = unix.Write(s[0], b) {
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(s[0], false); err != nil {
		t.Fatal(err)
	}
	tid, ended := make(chan int, 1), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the thread ends with the goroutine
		tid <- unix.Gettid()
		_, _ = unix.Splice(pipe, nil, s[0], nil, 4096, 0) // fails when free closes the socket
		unix.Close(s[0])
	}()
	// Wait until the thread is in splice. The pipe is not empty, so splice can only wait for the
	// socket.
	in := fmt.Sprintf("/proc/self/task/%d/syscall", <-tid)
	for late := time.Now().Add(time.Minute); ; runtime.Gosched() {
		b, err := os.ReadFile(in)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(b), fmt.Sprint(unix.SYS_SPLICE, " ")) {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("the program does not hold the lock, it is in %s", b)
		}
	}
	free = sync.OnceFunc(func() {
		unix.Close(s[1])
		<-ended
	})
	t.Cleanup(free)
	return free
}
